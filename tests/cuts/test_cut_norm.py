"""Cut norm: brackets against enumeration, the padding identity, certificates that reject, level sets."""

import importlib
import itertools
import math

import numpy as np
import pytest

from sosdp.structured.cut_norm import (
    cut_norm,
    cut_norm_exact,
    dual_bound,
    largest_normalised_cut,
    padded,
)
from tests.refusals import each, refusals


@pytest.mark.parametrize("n", [1, 2, 5, 9, 14])
def test_brackets_hold_the_enumerated_norm(n):
    rng = np.random.default_rng(n)
    for trial in range(6):
        matrix = rng.standard_normal((n, n + trial % 3)) if trial % 2 else rng.choice([-1.0, 1.0], (n, n))
        exact, rows, columns = cut_norm_exact(matrix)
        assert exact == pytest.approx(abs(matrix[np.ix_(rows, columns)].sum()))
        result = cut_norm(matrix, tolerance=1e-5)
        assert result.lower <= exact * (1 + 1e-12) and exact <= result.upper * (1 + 1e-12)
        assert result.gap < 1e-5
        assert result.lower >= 0.56 * result.upper
        assert result.upper <= 1.7823 * exact * (1 + 1e-5)  # Grothendieck's constant


def test_the_enumeration_against_a_second_one():
    rng = np.random.default_rng(0)
    matrix = rng.integers(-3, 4, (5, 4)).astype(float)

    def subsets(n):
        return [np.array(s) for s in itertools.product((0.0, 1.0), repeat=n)]

    slow = max(abs(s @ matrix @ t) for s in subsets(5) for t in subsets(4))
    assert cut_norm_exact(matrix)[0] == slow


def test_padding_multiplies_the_norm_by_four():
    rng = np.random.default_rng(1)
    for _ in range(10):
        matrix = rng.integers(-4, 5, (4, 5)).astype(float)
        big = padded(matrix)
        assert not big.sum(axis=0).any() and not big.sum(axis=1).any()

        def signs(n):
            return [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=n)]

        largest = max(x @ big @ y for x in signs(5) for y in signs(6))
        assert largest == 4 * cut_norm_exact(matrix)[0] == 4 * cut_norm_exact(big)[0]


def test_any_weights_prove_a_bound_and_none_proves_too_little():
    rng = np.random.default_rng(2)
    for _ in range(200):
        matrix = rng.standard_normal((3, 4))
        y, z = rng.random(3) + 0.05, rng.random(4) + 0.05

        def signs(n):
            return [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=n)]

        largest = max(a @ matrix @ b for a in signs(3) for b in signs(4))
        assert largest <= dual_bound(matrix, y, z)
    assert dual_bound(np.eye(2), np.array([1.0, -1.0]), np.ones(2)) == math.inf
    assert dual_bound(np.array([[math.nan]]), np.ones(1), np.ones(1)) == math.inf


def test_a_wrong_certificate_is_not_believed(monkeypatch):
    """Whatever the guess of the largest singular value, only the factorisation decides."""
    module = importlib.import_module("sosdp.structured.cut_norm")

    matrix = np.random.default_rng(3).standard_normal((40, 40))
    honest = dual_bound(matrix, np.ones(40), np.ones(40))
    monkeypatch.setattr(module, "_spectral_guess", lambda gram: 0.01 * float(np.linalg.eigvalsh(gram)[-1]))
    assert dual_bound(matrix, np.ones(40), np.ones(40)) >= honest * (1 - 1e-6)


def test_rank_one_has_a_closed_form():
    rng = np.random.default_rng(4)
    for _ in range(20):
        x, y = rng.standard_normal(30), rng.standard_normal(25)
        sides = [max(v[v > 0].sum(), -v[v < 0].sum()) for v in (x, y)]
        result = cut_norm(np.outer(x, y))
        assert result.lower == pytest.approx(sides[0] * sides[1])
        assert result.upper == pytest.approx(result.lower, rel=2e-3)


def test_constant_and_zero_matrices():
    assert cut_norm(np.zeros((3, 4))).upper == 0.0
    assert cut_norm(np.full((3, 4), -2.0)).lower == pytest.approx(24.0)


def test_level_sets_are_within_the_proven_factor():
    rng = np.random.default_rng(5)
    for n in (2, 5, 8, 40):
        for trial in range(5):
            matrix = rng.standard_normal((n, n)) * (1 + trial * np.outer(np.arange(n), np.arange(n)))
            value, rows, columns = largest_normalised_cut(matrix)
            assert value == pytest.approx(
                abs(matrix[np.ix_(rows, columns)].sum()) / math.sqrt(len(rows) * len(columns))
            )
            sigma = float(np.linalg.norm(matrix, 2))
            harmonic = sum(1 / k for k in range(1, n))
            assert value <= sigma * (1 + 1e-12) and sigma <= 2 * (1 + harmonic / 4) * value


test_refusals = refusals(
    *each(cut_norm, (np.zeros(3), np.zeros((0, 3)), np.array([[math.inf]]))),
    (lambda: cut_norm(np.eye(2), tolerance=0), "tolerance"),
    (lambda: cut_norm_exact(np.zeros((20, 20))), None),
)
