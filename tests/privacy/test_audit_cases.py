"""The published cases: an audit refutes every wrong mechanism and no right one, at the runs they name."""

import pytest

from sosdp.privacy.verification.cases import CASES


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_audit_tells_right_from_wrong(name):
    case = CASES[name]
    result = case.audit()
    assert result.refuted == (not case.private), result.statement()
    assert result.pair[0] in case.neighbours and case.source


def test_too_few_runs_show_nothing():
    """The number of runs is what decides: at a fiftieth of it the subtle variant passes."""
    assert not CASES["sparse vector 3"].audit(runs=4000).refuted
    assert {case.name for case in CASES.values() if case.private} == {"sparse vector 1", "sparse vector 2"}
    for case in CASES.values():
        gaps = [abs(a - b) for a, b in zip(*case.neighbours, strict=True)]
        assert all(gap <= 1.0 or gap != gap for gap in gaps)  # neighbours move an answer by at most 1
