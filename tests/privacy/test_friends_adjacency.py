"""Violation 3: the friendly core stamped any adjacency as its own."""

import pytest

from sosdp.privacy import release_by_friends
from tests.refusals import refuse

OPTIONS = {"radius": 1.0, "epsilon_test": 1.0, "delta_test": 1e-3, "epsilon": 1.0, "delta": 1e-3}


@pytest.mark.parametrize(
    "adjacency", ["one vertex", "3 records (replace)", "one record (add or remove)", "mine"]
)
def test_violation_3_another_adjacency_is_refused(adjacency):
    results = [[[0.0, 0.0]]] * 60
    refuse((lambda: release_by_friends(results, 1, 2, adjacency=adjacency, **OPTIONS), "touch one vote"))
    assert release_by_friends(results, 1, 2, **OPTIONS).guarantee.adjacency == "one record (replace)"
