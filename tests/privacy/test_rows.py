"""How many columns a list of records has: stated, or a condition of the release."""

import array

import numpy as np
import pytest

from problems.gaussian import PrivateMean
from problems.gaussian.published.coordinates import published_coordinate_mean
from problems.gaussian.published.spectral import published_spectral_covariance
from problems.gmm import PrivateGaussianMixture
from problems.mrf import MomentsIsing
from sosdp.estimator.scaler import PrivateScaler
from sosdp.privacy.mechanisms import bounded_average
from sosdp.privacy.mechanisms.parities import parity_weights
from tests.refusals import refuse

ON_TABLES = {
    "mean": lambda X: PrivateMean(2.0, 1e-6, bounds=(-5, 5), contamination=0.0).fit(X).release_,
    "field": lambda X: MomentsIsing(1.0, epsilon=1.0, delta=1e-3).fit(X).release_,
    "mixture": lambda X: PrivateGaussianMixture(2).fit(X).release_,
    "scaler": lambda X: PrivateScaler().fit(X).release_,
    "ball": lambda X: bounded_average(X, radius=1.0, rho=0.5),
    "parities": lambda X: parity_weights(X, 2, rounds=1, rho=0.5),
    "spectral": lambda X: published_spectral_covariance(X[:8], 1.0, condition=2.0, steps=1),
    "coordinates": lambda X: published_coordinate_mean(X[:2], 1.0, alpha=1.0),
}


@pytest.mark.parametrize("door", ON_TABLES)
def test_the_number_of_columns_is_stated_or_a_condition(door):
    """One list more of two entries makes a table of two columns, so the promise rests on its being one; not
    where the container says how many columns there are."""
    even = [[0.5, 0.25]] * 4 + [[0.5]] * 4
    even = [row for pair in zip(even[:4], even[4:], strict=True) for row in pair] * 5
    listed = ON_TABLES[door]([[0.5, 0.25], *even])
    (condition,) = [text for text in listed.guarantee.conditions if "more than half" in text]
    assert "lists of 2" in condition and listed.guarantee.kind == "conditional"
    refuse((lambda: ON_TABLES[door](even), "most records"))
    for array_of in (np.full((41, 2), 0.25), np.full((41, 2), 0.25, dtype=object)):
        assert not any("more than half" in text for text in ON_TABLES[door](array_of).guarantee.conditions)


def test_a_stated_number_of_columns_is_no_condition():
    numbers = [0.1, 0.2, 0.3] * 20
    assert "are numbers" in ON_TABLES["mean"](numbers).guarantee.conditions[0]
    for column in (np.array(numbers), array.array("d", numbers), range(60)):
        assert not ON_TABLES["mean"](column).guarantee.conditions
    for rows in ([[0.5, 0.25]] * 3, [[0.5, 0.25], [0.5], [0.5]]):
        release = bounded_average(rows, radius=1.0, dimension=2, rho=0.5)
        assert release.guarantee.kind == "exact" and release.value.shape == (2,)


class Lazy(list):
    """An array of Dask: its members are computations, no numbers."""

    shape, dtype = (2, 2), np.dtype("float64")

    def compute(self):
        return np.zeros(self.shape)


def test_what_is_not_computed_yet_is_refused():
    """All its records would count as missing."""
    for door in (ON_TABLES["mean"], ON_TABLES["ball"], ON_TABLES["parities"]):
        refuse((lambda door=door: door(Lazy([[0.5, 0.5]] * 2)), "compute", TypeError))


def test_a_generator_is_read_once():
    table = [[k / 100, k / 50] for k in range(100)]
    for estimator in (PrivateScaler(100.0, insecure_seed=1), MomentsIsing(1.0, epsilon=1.0, insecure_seed=1)):
        first, second = (estimator.fit(X).release_.to_dict() for X in (table, (row for row in table)))
        assert first == second
