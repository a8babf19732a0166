"""Rough frames for three coordinates and more: what is released, how well it fits, and at what cost."""

import numpy as np
import pytest

from problems.gaussian import RobustPrivateCovariance
from problems.gaussian.preconditioner import (
    MOST_SPENT,
    ROUGH,
    frame_share,
    inside,
    release_correlations,
    release_frame,
    release_scales,
    root,
)

TRUTH = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, -0.2], [0.0, -0.2, 0.3]])
X = np.random.default_rng(1).normal(size=(6000, 3)) @ np.linalg.cholesky(TRUTH).T


def test_a_generous_budget_finds_scales_and_correlations():
    scales = np.asarray(release_scales(X, 30.0, 10.0, 1).value)
    assert scales == pytest.approx(np.sqrt(np.diag(TRUTH)), rel=0.06)
    unit = np.sqrt(np.diag(TRUTH))
    found = np.asarray(release_correlations(X / unit, 30.0, 1).value)
    assert found == pytest.approx(TRUTH / np.outer(unit, unit), abs=0.05)


def test_the_frame_whitens_within_a_domain_that_the_last_step_covers():
    for seed in range(5):
        parts, frame = release_frame(X, 0.15, 10.0, seed)
        inverse = np.linalg.inv(frame)
        values = np.linalg.eigvalsh(inverse @ TRUTH @ inverse.T)
        assert 0.4 < values[0] and values[-1] < 2.5
        assert sum(part.guarantee.epsilon or 0.0 for part in parts) <= 0.15


def test_five_percent_of_garbage_does_not_move_it_far():
    bad = X.copy()
    bad[:300] = [1e6, -1e6, 0.0]
    _, frame = release_frame(bad, 5.0, 10.0, 3)
    inverse = np.linalg.inv(frame)
    values = np.linalg.eigvalsh(inverse @ TRUTH @ inverse.T)
    assert 0.5 < values[0] and values[-1] < 2.0


def test_the_share_is_public_and_falls_with_the_number_of_records():
    assert frame_share(50, 1.0) == MOST_SPENT
    assert frame_share(2000, 1.0) == pytest.approx(0.2) and frame_share(8000, 1.0) == pytest.approx(0.1)


def test_records_of_zeros_and_clipping():
    found = np.asarray(release_correlations(np.zeros((50, 3)), 1.0, 2).value)
    assert np.isfinite(found).all()
    values = np.linalg.eigvalsh(inside(np.diag([-1.0, 2.0, 99.0]), ROUGH))
    assert values == pytest.approx([ROUGH[0], 2.0, ROUGH[1]])
    assert root(TRUTH) @ root(TRUTH) == pytest.approx(TRUTH)


@pytest.mark.slow
def test_three_coordinates_are_found_in_pairs_within_the_budget():
    found = RobustPrivateCovariance(2.0, condition=10.0).fit(X)
    inverse = np.linalg.inv(np.linalg.cholesky(TRUTH))
    assert np.linalg.norm(inverse @ found.covariance_ @ inverse.T - np.eye(3)) < 0.15
    assert 1.99 < found.guarantee_.epsilon <= 2.0 and len(found.guarantee_.composition) == 5
