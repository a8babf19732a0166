"""Rigorous eigenvalue bounds, judged by exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from sosdp.conic.rigorous import (
    UNIT,
    is_positive_semidefinite,
    least_eigenvalue_bound,
    least_eigenvalue_bounds,
    round_down,
    shift_to_positive_semidefinite,
)
from tests.refusals import refuse


def exactly_positive_definite(matrix, shift):
    """Whether the float matrix minus shift * I is positive definite, by exact elimination."""
    n = matrix.shape[0]
    a = [
        [Fraction(float(matrix[i, j])) - (Fraction(shift) if i == j else 0) for j in range(n)]
        for i in range(n)
    ]
    for k in range(n):
        if a[k][k] <= 0:
            return False
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k + 1, n):
                a[i][j] -= factor * a[k][j]
    return True


def matrices():
    rng = np.random.default_rng(3)
    for side in (1, 2, 5, 8):
        m = rng.standard_normal((side, side))
        yield m + m.T
        yield m @ m.T
        low = rng.standard_normal((side, max(side - 1, 1)))
        yield low @ low.T  # singular up to rounding
        yield 1e8 * (low @ low.T)
        yield 1e-8 * (low @ low.T)
    yield np.array(
        [[1.0 / (i + j + 1) for j in range(9)] for i in range(9)]
    )  # Hilbert: smallest eigenvalue 3e-12


@pytest.mark.parametrize("index", range(21))
def test_the_bound_is_below_the_truth_and_near_it(index):
    matrix = list(matrices())[index]
    bound = least_eigenvalue_bound(matrix)
    scale = np.abs(matrix).sum(axis=1).max()
    # strictly below the least eigenvalue: matrix - (bound - tiny) I is exactly positive definite
    assert exactly_positive_definite(matrix, Fraction(bound) - Fraction(1, 10**300))
    assert np.linalg.eigvalsh(matrix)[0] - bound <= 1e-12 * max(scale, 1e-290) * matrix.shape[0]


def test_no_indefinite_matrix_is_accepted():
    rng = np.random.default_rng(5)
    accepted = 0
    for _ in range(300):
        low = rng.standard_normal((6, 4))
        matrix = low @ low.T + rng.uniform(-3e-15, 3e-15) * np.eye(6)
        if is_positive_semidefinite(matrix):
            accepted += 1
            assert exactly_positive_definite(matrix, Fraction(-1, 10**300))
    assert accepted < 300


def test_non_finite_and_empty_matrices():
    assert least_eigenvalue_bound(np.array([[np.nan, 0.0], [0.0, 1.0]])) == -np.inf
    assert least_eigenvalue_bound(np.zeros((0, 0))) == np.inf


def test_shift_makes_it_provable():
    rng = np.random.default_rng(7)
    m = rng.standard_normal((6, 6))
    shifted = shift_to_positive_semidefinite(m + m.T)
    assert is_positive_semidefinite(shifted)
    off = ~np.eye(6, dtype=bool)
    assert np.array_equal(shifted[off], (m + m.T)[off])
    refuse((lambda: shift_to_positive_semidefinite(np.full((2, 2), np.nan)), "non-finite"))


def test_round_down_goes_down():
    for value in (1.0, -1.0, 1e300, 0.0, 3e-310):
        assert round_down(value) < value or value == 0.0


@pytest.mark.parametrize("many", [False, True])
def test_nothing_is_proven_that_one_rounding_would_undo(many, monkeypatch):
    # Cholesky's method may succeed on a matrix that is indefinite by a rounding: whatever guess of the least
    # eigenvalue it starts from, what is returned must be below the truth
    rng = np.random.default_rng(11)
    stack = []
    for side in (2, 3):
        for _ in range(30):
            root = rng.integers(-9, 9, size=(side, side - 1)) / 7.0
            stack.append((side, root @ root.T))
    tempted = 0
    for side, matrix in stack:
        matrix = np.tril(matrix) + np.tril(matrix, -1).T
        scale = float(np.abs(matrix).sum(axis=1).max())
        truth = np.linalg.eigvalsh(matrix)
        for step in range(-6, 12):
            # so that after the function's own margin the shift is about the eigenvalue itself
            guess = truth + (4 * side + step / 4) * UNIT * scale
            monkeypatch.setattr("sosdp.conic.rigorous.least_eigenvalue", lambda m, g=guess: float(g[0]))
            if many:
                bound = float(least_eigenvalue_bounds(matrix[None])[0])
            else:
                bound = least_eigenvalue_bound(matrix)
            monkeypatch.undo()
            assert exactly_positive_definite(matrix, Fraction(bound) - Fraction(1, 10**300))
            tempted += bound > truth[0] - 40 * side * UNIT * scale
    assert tempted > 100
