"""Bounds proven by residuals against exact rationals, and on matrices made to be hard."""

from fractions import Fraction

import numpy as np
import pytest

from sosdp.conic import rigorous
from sosdp.conic.eigenvalues import eigenvalues_between, eigenvectors_between
from sosdp.conic.rigorous import least_eigenvalue_bound
from sosdp.structured.residual_proof import inverse_proof


def is_positive_definite_exactly(matrix, shift):
    """Elimination of matrix - shift I over the rationals."""
    rows = [[Fraction(float(entry)) for entry in row] for row in matrix]
    n = len(rows)
    for i in range(n):
        rows[i][i] -= Fraction(shift)
    for k in range(n):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, n):
                rows[i][j] -= factor * rows[k][j]
    return True


def random_symmetric(generator, n, rank, scale):
    half = generator.standard_normal((n, rank))
    matrix = half @ half.T * scale
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("rank, scale", [(12, 1.0), (5, 1.0), (1, 1e6), (12, 1e-6)])
def test_least_eigenvalue_is_below_the_exact_one_and_close(rank, scale):
    generator = np.random.default_rng(rank)
    for _ in range(4):
        matrix = random_symmetric(generator, 12, rank, scale)
        bound = least_eigenvalue_bound(matrix)
        assert is_positive_definite_exactly(matrix, Fraction(bound) - Fraction(1, 10**30))
        assert np.linalg.eigvalsh(matrix)[0] - 1e-11 * np.abs(matrix).sum() <= bound


def test_least_eigenvalue_of_singular_and_odd_matrices():
    singular = np.ones((40, 40))
    bound = least_eigenvalue_bound(singular)
    assert -1e-9 < bound < 0  # the least eigenvalue is 0, exactly: anything above would be wrong
    assert least_eigenvalue_bound(np.full((3, 3), np.nan)) == -np.inf
    assert least_eigenvalue_bound(np.diag([1e-300, 1.0])) <= 1e-300


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e9])
def test_inverse_error_against_rationals(condition):
    generator = np.random.default_rng(3)
    n = 7
    turned = np.linalg.qr(generator.standard_normal((n, n)))[0]
    matrix = turned @ np.diag(np.geomspace(1.0, 1 / condition, n)) @ turned.T
    matrix = (matrix + matrix.T) / 2
    least = least_eigenvalue_bound(matrix)
    result = inverse_proof(matrix, least)
    rows = [[Fraction(float(e)) for e in row] + [Fraction(int(i == j)) for j in range(n)]
            for i, row in enumerate(matrix)]  # fmt: skip
    for k in range(n):
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k])]
    difference = np.array([[float(rows[i][n + j] - Fraction(float(result.matrix[i, j]))) for j in range(n)]
                           for i in range(n)])  # fmt: skip
    assert np.linalg.norm(difference, 2) <= result.error
    assert inverse_proof(matrix, 0.0) is None and inverse_proof(matrix, -1.0) is None
    assert inverse_proof(np.zeros((2, 2)), 1e-3) is None


@pytest.mark.parametrize("n", [16, 24, 32, 40])
def test_clusters_in_which_lapack_finds_nothing(n):
    """The empty graph: tau (I - J) has one eigenvalue n - 1 times; a search for a range comes back empty."""
    matrix = 0.5 * (np.eye(n) - np.ones((n, n)))
    for sign in (1, -1):
        top = eigenvalues_between(sign * matrix, n - 1, n - 1)[0]
        assert top == pytest.approx(0.5 if sign > 0 else (n - 1) / 2)
        vector = eigenvectors_between(sign * matrix, n - 1, n - 1)[:, 0]
        assert np.linalg.norm(vector) == pytest.approx(1)
    assert least_eigenvalue_bound(-matrix) == pytest.approx(-0.5, abs=1e-9)


@pytest.mark.parametrize("n", [48, 64])
def test_clusters_have_a_proven_bound(n):
    matrix = 0.5 * (np.eye(n) - np.ones((n, n)))
    for signed, least in ((matrix, 0.5 * (1 - n)), (-matrix, -0.5)):
        assert least - 1e-9 <= least_eigenvalue_bound(signed) <= least + 1e-12


@pytest.mark.parametrize("n", [5, 60])
def test_without_eigenvalues_there_is_still_a_bound(n, monkeypatch):
    """LAPACK finds none: a private mechanism may not raise, and what is proven is true."""

    def nothing(*args, **options):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(rigorous, "least_eigenvalue", nothing)
    monkeypatch.setattr(np.linalg, "eigvalsh", nothing)
    assert -1.001 * n <= least_eigenvalue_bound(-np.ones((n, n))) <= -n
    # nor a factor: Gershgorin's bound, its row sums rounded up
    monkeypatch.setattr(rigorous, "_cholesky_succeeds", lambda matrix: False)
    matrix = -np.ones((n, n))
    matrix[0, 0] -= 2.0**-52
    assert least_eigenvalue_bound(matrix) < -n
