"""Lower bounds: hand values, monotonicity, exact distances, and that nothing measured beats them."""

import itertools
import math

import numpy as np
import pytest

from problems.mrf import ChowLiuTree, MomentsIsing, matching
from problems.mrf.lower_bounds import (
    approximate_records,
    log_matchings,
    matching_distance,
    pairwise_log_packing,
    parameter_records,
    pure_records,
    zcdp_records,
)
from sosdp.privacy.calibrate import zcdp_rho
from tests.refusals import each, refuse


def test_two_graphs_by_hand():
    two = math.log(2.0)
    assert pure_records(two, 1.0, 0.9) == pytest.approx(math.log(9.0))
    assert pure_records(0.0, 1.0, 0.9) == 0.0
    assert zcdp_records(two, 1.0, 0.9) == 0.0  # Fano says nothing about two
    assert zcdp_records(8 * two, 0.5, 0.5) == pytest.approx(math.sqrt(3 * two / 0.5))
    assert approximate_records(two, 1.0, 1e-9, 0.9) == pytest.approx(math.log(9.0), rel=1e-6)
    assert parameter_records(8, 0.1, 1.0) == pytest.approx(2 / 7.2)
    assert log_matchings(6) == pytest.approx(3 * two) and pairwise_log_packing(4, 3) == pytest.approx(8 * two)


def test_monotone():
    for p, other in ((10, 20), (20, 60)):
        for bound in (
            lambda q: parameter_records(q, 0.05, 1.0),
            lambda q: pure_records(log_matchings(q), 1.0, 0.9, matching_distance(q, 0.2)),
            lambda q: zcdp_records(log_matchings(q), 0.02, 0.9, matching_distance(q, 0.2)),
            lambda q: matching_distance(q, 0.2),
        ):
            assert bound(p) <= bound(other)
    assert (
        pure_records(20.0, 1.0, 0.9, 0.1) > pure_records(20.0, 1.0, 0.9, 1.0) >= pure_records(20.0, 1.0, 0.9)
    )
    assert pure_records(20.0, 2.0, 0.9) < pure_records(20.0, 1.0, 0.9)
    assert zcdp_records(20.0, 0.1, 0.9, 0.05) > zcdp_records(20.0, 0.1, 0.9, 1.0)
    assert approximate_records(20.0, 1.0, 1e-9, 0.9) < pure_records(20.0, 1.0, 0.9)


@pytest.mark.parametrize("eta", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_distance_is_at_least_the_total_variation(blocks, eta):
    signs = np.array(list(itertools.product((-1, 1), repeat=blocks)))
    tilted = np.prod((1 + signs * math.tanh(eta)) / 2, axis=1)  # the products X_i, uniform without edges
    variation = np.abs(tilted - 0.5**blocks).sum() / 2
    bound = matching_distance(2 * blocks, eta)
    assert variation <= bound <= math.sqrt(2 * blocks) / 2 * math.tanh(eta) + 1e-12


def test_refusals():
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: parameter_records(7, 0.1, 1.0),
                lambda: parameter_records(8, 0.2, 1.0),
                lambda: pure_records(1.0, 1.0, 1.0),
            ),
        )
    )


def test_nothing_measured_beats_them():
    """Noisy moments on matchings: records against the bound for the error reached, and for the edges."""
    p, n = 12, 3000
    model = matching(p, 0.3)
    errors, right = [], 0
    for seed in range(8):
        fitted = MomentsIsing(0.4, threshold=0.15, insecure_seed=seed).fit(model.sample(n, seed))
        errors.append(np.abs(fitted.weights_ - model.weights).max())
        right += fitted.edges_ == model.edges
    assert n >= parameter_records(p, min(math.sqrt(np.mean(np.square(errors))), 54**-0.5), 1.0)
    assert right >= 6
    assert n >= zcdp_records(
        log_matchings(p), zcdp_rho(1.0, 1e-6), right / 8 - 0.01, matching_distance(p, 0.3)
    )
    assert ChowLiuTree(insecure_seed=1).fit(model.sample(n, 9)).edges_ is None  # a matching is no tree
