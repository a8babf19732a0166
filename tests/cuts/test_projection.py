"""Nearest graphs in cut norm: the compact program against the linear program with all its rows,
certificates, bands."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from sosdp.structured.cut_linear_program import nearest_in_cut_norm
from sosdp.structured.cut_norm import cut_norm_exact
from sosdp.structured.cut_projection import certificate, project_in_cut_norm
from sosdp.structured.spectral_band import shrink_spectrum, smoothest_in_band, soft_threshold
from tests.refusals import refuse

KRIVINE = math.pi / (2 * math.log(1 + math.sqrt(2)))


def noisy(rng, n):
    upper = np.triu(rng.choice([1.58, -0.58], (n, n), p=[0.45, 0.55]), 1)
    return upper + upper.T


def by_all_rows(matrix):
    """The linear program with its 4^n constraints."""
    n = matrix.shape[0]
    upper = np.triu_indices(n, 1)
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    rows = np.array(
        [
            (np.outer(s, t) + np.outer(t, s))[upper]
            for s, t in itertools.combinations_with_replacement(sets, 2)
        ]
    )
    rows = np.unique(rows, axis=0)
    right = rows @ matrix[upper]
    ones = np.ones((len(rows), 1))
    result = linprog(
        np.r_[np.zeros(len(upper[0])), 1.0], A_ub=np.block([[rows, -ones], [-rows, -ones]]),
        b_ub=np.r_[right, -right],
        bounds=[(0, 1)] * len(upper[0]) + [(0, None)],
    )  # fmt: skip
    return float(result.fun)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_the_compact_program_is_within_grothendiecks_constant(n):
    rng = np.random.default_rng(n)
    for _ in range(2):
        matrix = noisy(rng, n)
        linear = by_all_rows(matrix)
        result = project_in_cut_norm(matrix, tolerance=1e-3, max_iterations=2000)
        assert linear * (1 - 1e-6) <= result.upper
        assert result.lower <= KRIVINE * linear * (1 + 1e-6)
        assert result.gap < 0.02
        assert cut_norm_exact(result.graph - matrix)[0] <= result.upper * (1 + 1e-9)
        assert result.graph.min() >= 0 and result.graph.max() <= 1 and not result.graph.diagonal().any()


def test_cutting_planes_reach_the_linear_program():
    rng = np.random.default_rng(1)
    for n in (4, 5, 6):
        matrix = noisy(rng, n)
        result = nearest_in_cut_norm(matrix, tolerance=1e-6)
        assert result.value == pytest.approx(by_all_rows(matrix), rel=1e-6)
        assert cut_norm_exact(result.graph - matrix)[0] == pytest.approx(result.cut)
        assert result.graph.min() >= 0 and result.graph.max() <= 1


def test_any_weights_bound_every_cut():
    rng = np.random.default_rng(2)
    for _ in range(100):
        matrix = noisy(rng, 5) - 0.4
        np.fill_diagonal(matrix, 0)
        assert cut_norm_exact(matrix)[0] <= certificate(matrix, rng.random(6) + 0.05)


def test_a_graph_in_the_box_is_its_own_projection():
    rng = np.random.default_rng(3)
    upper = np.triu(rng.random((8, 8)), 1)
    graph = upper + upper.T
    assert project_in_cut_norm(graph).upper < 1e-3


def test_the_band_and_the_box():
    rng = np.random.default_rng(4)
    matrix = noisy(rng, 30)
    tau = 1.5 * math.sqrt(30)
    result = smoothest_in_band(matrix, tau, 0.4, sweeps=300)
    assert np.linalg.norm(result - matrix, 2) <= tau * 1.02
    assert result.min() >= 0 and result.max() <= 1 and not result.diagonal().any()
    # nothing nearer to the flat graph on the way to the matrix is in the band
    flat = 0.4 * (1 - np.eye(30))
    for _ in range(20):
        other = np.clip(result + 0.05 * (flat - result) + 0.01 * noisy(rng, 30), 0, 1)
        np.fill_diagonal(other, 0)
        if np.linalg.norm(other - matrix, 2) <= tau:
            assert np.linalg.norm(other - flat) >= np.linalg.norm(result - flat) * 0.98


def test_thresholds_of_a_spike():
    n, size = 100, 60.0
    vector = np.where(np.arange(n) < 50, 1.0, -1.0) / math.sqrt(n)
    rng = np.random.default_rng(5)
    noise = np.triu(rng.standard_normal((n, n)), 1)
    matrix = size * np.outer(vector, vector) + noise + noise.T
    np.fill_diagonal(matrix, 0.0)
    soft, shrunk = soft_threshold(matrix, 20.0, 0.0), shrink_spectrum(matrix, 1.0, 0.0)
    assert vector @ soft @ vector < 45 < vector @ shrunk @ vector
    assert np.linalg.norm(shrunk - size * np.outer(vector, vector), 2) < 20
    assert not shrink_spectrum(noise + noise.T, 1.2, 0.0).any()


def test_matrices_that_are_refused():
    for wrong in (np.zeros((2, 3)), np.array([[0, 1.0], [2.0, 0]]), np.full((2, 2), np.nan)):
        for function in (project_in_cut_norm, nearest_in_cut_norm, lambda m: smoothest_in_band(m, 1.0, 0.5)):
            with pytest.raises(ValueError):
                function(wrong)
    refuse((lambda: smoothest_in_band(np.zeros((2, 2)), -1.0, 0.5), "tau"))
