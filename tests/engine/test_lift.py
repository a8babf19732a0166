"""Bounds without any a-priori bound on the variables: tight, true for any multipliers, in one solve."""

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic.rigorous import least_eigenvalue_bound, least_eigenvalue_bounds
from sosdp.relaxation.certify.shift_constant import lift_constant

x = sd.variables("x", 4)


def _setting(f, degree=4):
    relaxation = sd.Relaxation(sd.System(), degree)
    return relaxation.assemble(f)[0], relaxation.bounds


@pytest.mark.parametrize(
    ("f", "least"),
    [
        ((x**4).sum() - (x**2).sum(), -1.0),
        ((x[0] * x[1] - 1) ** 2 + (x[0] - 1) ** 2, 0.0),
    ],
)
def test_unbounded_sets_get_tight_bounds(f, least):
    result = sd.minimize(f)
    assert result.certified_bound <= least + 1e-12
    assert result.certified_bound >= least - 2e-6


def test_noise_never_proves_too_much():
    f = (x[0] ** 2 - 1) ** 2 + (x[1] - x[0]) ** 2
    identity, bounds = _setting(f)
    rng = np.random.default_rng(3)
    result = 0
    for size in (0.0, 1e-6, 1e-2, 1.0, 30.0):
        for _ in range(10):
            gram = size * rng.standard_normal(identity.gram.shape[0])
            lifted = lift_constant(identity, gram, np.zeros(0), np.zeros(1), bounds)
            if lifted is not None:
                result += 1
                assert lifted[1].loss == 0.0
                assert lifted[0][0] <= 0.0  # the minimum
    assert 0 < result


def test_nothing_where_nothing_can_be_moved():
    """x*y has no finite bound: whatever is tried, no certificate without loss may come out."""
    identity, bounds = _setting(x[0] ** 2 * x[1] ** 2 + 1e-3 * x[0] ** 3, 4)
    gram = np.zeros(identity.gram.shape[0])
    assert lift_constant(identity, gram, np.zeros(0), np.zeros(1), bounds) is None


@pytest.mark.parametrize("side", [1, 2, 5, 12, 41])
def test_many_matrices_at_once_are_bounded_as_one_by_one(side):
    rng = np.random.default_rng(side)
    stack = rng.standard_normal((25, side, side))
    stack = stack + np.swapaxes(stack, 1, 2)
    low = rng.standard_normal((5, side, max(1, side - 1)))
    stack[:5] = low @ np.swapaxes(low, 1, 2)  # singular up to rounding
    stack[7, 0, 0] = np.nan
    together = least_eigenvalue_bounds(stack)
    assert together[7] == -np.inf
    for bound, matrix in zip(np.delete(together, 7), np.delete(stack, 7, axis=0), strict=True):
        alone = least_eigenvalue_bound(matrix)
        assert bound == alone
        assert bound <= np.linalg.eigvalsh(matrix)[0] + 1e-15 * np.abs(matrix).sum()
