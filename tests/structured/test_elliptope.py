"""The linear program over the elliptope: values, certified gaps, both methods."""

import networkx
import numpy as np
import pytest

from sosdp.structured import maximise_over_elliptope
from sosdp.structured.elliptope import _interior_point, certified_gap
from tests.refusals import refusals


def random_symmetric(n, seed):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(n, n))
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("n", [2, 3, 8, 20])
def test_against_clarabel(n):
    import cvxpy

    matrix = random_symmetric(n, n)
    variable = cvxpy.Variable((n, n), PSD=True)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(matrix @ variable)), [cvxpy.diag(variable) == 1])
    problem.solve(solver="CLARABEL")
    ours = maximise_over_elliptope(matrix, tolerance=1e-4)
    assert ours.certified
    assert ours.value <= problem.value + 1e-5
    assert problem.value <= ours.value + ours.gap + 1e-5


def test_closed_forms():
    assert maximise_over_elliptope(np.ones((7, 7)), tolerance=1e-6).value == pytest.approx(49, abs=1e-6)
    # The pentagon: max over the elliptope of -A is 5 (1 + sqrt 5) / 2.
    pentagon = networkx.to_numpy_array(networkx.cycle_graph(5))
    optimum = maximise_over_elliptope(-pentagon, tolerance=1e-6)
    assert optimum.certified
    assert optimum.value == pytest.approx(5 * (1 + np.sqrt(5)) / 2, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_gap_covers_the_truth(seed):
    """At random feasible points and random duals the gap is an upper bound; at zero it would not be."""
    matrix = random_symmetric(12, seed)
    best = maximise_over_elliptope(matrix, tolerance=1e-7)
    generator = np.random.default_rng(seed)
    for _ in range(20):
        rows = generator.normal(size=(12, 3))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        dual = best.dual + generator.normal(size=12) * generator.choice([0.0, 0.1, 3.0])
        value = float(((matrix @ rows) * rows).sum())
        missing = best.value - value
        assert missing > 1e-3
        assert certified_gap(matrix, rows, dual) >= missing - 1e-6


@pytest.mark.parametrize("name", ["empty", "complete", "star", "random"])
def test_interior_point_alone(name):
    n = 30
    graph = {
        "empty": networkx.empty_graph(n),
        "complete": networkx.complete_graph(n),
        "star": networkx.star_graph(n - 1),
        "random": networkx.gnp_random_graph(n, 0.2, seed=1),
    }[name]
    matrix = networkx.to_numpy_array(graph) - 0.5 * (1 - np.eye(n))
    factor, dual = _interior_point(matrix, 1e-3)
    assert certified_gap(matrix, factor, dual) < 1e-3
    assert maximise_over_elliptope(matrix, tolerance=1e-3).certified


def test_starved_low_rank_method_hands_over():
    matrix = random_symmetric(40, 3)
    optimum = maximise_over_elliptope(matrix, tolerance=1e-3, max_iterations=1)
    assert optimum.certified and optimum.method == "interior-point"


def test_extreme_values_never_raise():
    for matrix in (np.full((4, 4), 1e200), np.full((3, 3), -1e300), np.zeros((2, 2)), np.zeros((1, 1))):
        optimum = maximise_over_elliptope(matrix, tolerance=1.0)
        assert optimum.certified == (optimum.gap < 1.0)


test_refusals = refusals(
    (lambda: maximise_over_elliptope(np.eye(2), tolerance=0.0), "tolerance"),
    (lambda: maximise_over_elliptope(np.triu(np.ones((3, 3))), tolerance=1.0), "symmetric"),
)
