"""Degree d means degree d: cliques are used where they lose nothing, or say that they may."""

import itertools
import math

import numpy as np
import pytest

import sosdp as sd
from sosdp.reduction.sparsity import merged, variable_cliques


def nested(count):
    """Sums of squares of three variables that are none in the cliques of two (Klep, Magron and Povh 2022)."""
    x = sd.variables("nested", 3 * count)
    total = 0
    for a, b, c in (x[3 * i : 3 * i + 3] for i in range(count)):
        total = total + a**2 - 2 * a * b + 3 * b**2 - 2 * a**2 * b + 2 * a**2 * b**2 - 2 * b * c + 6 * c**2
        total = total + 18 * b**2 * c - 54 * b * c**2 + 142 * b**2 * c**2
    return x, total


@pytest.mark.parametrize("count", [1, 3])
def test_from_degree_four_on_cliques_are_not_used_where_they_are_weaker(count):
    x, p = nested(count)
    system = sd.System(*[v**2 <= 4 for v in x])
    answer = sd.minimize(p, system, 4, sparsity="correlative")
    assert answer.bound < -4e-4 * count
    assert answer.hierarchy.startswith("sparse") and "cliques of 2 variables" in repr(answer).splitlines()[0]
    assert "cliques of 2 variables" in answer._repr_html_().splitlines()[0]
    answer = sd.minimize(p, system, 4)
    assert answer.hierarchy == "full" == answer.sizes["hierarchy"] and "sparse" not in repr(answer)
    assert answer.certified_bound == pytest.approx(0, abs=1e-6)


def test_cliques_whose_bound_is_attained_are_the_full_relaxation():
    x = sd.variables("attained", 40)
    p = sum((x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(39))
    answer = sd.minimize(p, sd.System(*[v**2 <= 4 for v in x]), 4)
    assert answer.hierarchy.startswith("full (39 cliques, attained")
    assert answer.bound == pytest.approx(0, abs=1e-5)
    assert sd.minimize(p, degree=4, sparsity="correlative").hierarchy.startswith("sparse")
    # signs along a band: x and -x have one value and all means are 0, but second moments join the signs
    p = sum(math.cos(3 * i + j) * x[i] * x[j] for i in range(20) for j in range(i + 1, min(i + 3, 20)))
    assert sd.minimize(p, [v**2 == 1 for v in x[:20]], 4).hierarchy.startswith("full (18 cliques, attained")


def random_quadratic(seed):
    """A quadratic program along a tree, with a ball over all variables, and equations of either degree."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(13, 17))
    x = sd.variables("exact", n)
    edges = [(int(rng.integers(max(0, i - 2), i)), i) for i in range(1, n)]

    def quadratic(pairs):
        return sum(float(rng.integers(-4, 5)) * x[i] * x[j] for i, j in pairs)

    p = quadratic(edges) + quadratic([(i, i) for i in range(n)]) + rng.integers(-3, 4, n) @ x
    constraints = [sum(v**2 for v in x) <= 5]
    if seed % 2:
        constraints.append((x[0] + x[3]).equals(0.5))
    if seed % 3 == 0:
        constraints.append((x[1] * x[2] + x[2] ** 2).equals(0.25))
    if seed % 3 == 1:
        constraints.append(quadratic(edges[:4]) <= 1)
    return p, sd.System(constraints)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(8))
def test_cliques_are_exact_at_degree_two(seed):
    p, system = random_quadratic(seed)
    dense = sd.minimize(p, system, 2, sparsity="dense")
    for sparsity in ("auto", "correlative"):
        answer = sd.minimize(p, system, 2, sparsity=sparsity)
        assert answer.hierarchy.startswith("full")
        assert answer.bound == pytest.approx(dense.bound, abs=2e-6 * max(1, abs(dense.bound)))
        assert answer.certified_bound <= dense.bound + 1e-6 * max(1, abs(dense.bound))
    assert answer.sizes["cliques"] > 1


def test_smaller_cones_take_no_cliques_with_a_linear_equation():
    x = sd.variables("cone", 8)
    p = sum(x[i] * x[i + 1] for i in range(7)) + 3 * x[0] - x[5]
    system = sd.System(sum(v**2 for v in x) <= 4, (x[0] + x[3]).equals(0.5))
    dense, result = (sd.minimize(p, system, 2, cone="sdsos", sparsity=s) for s in ("dense", "correlative"))
    assert result.bound == pytest.approx(dense.bound, abs=1e-5) or result.hierarchy.startswith("sparse")


@pytest.mark.parametrize("seed", range(6))
def test_merged_cliques_cover_what_they_covered_and_have_running_intersections(seed):
    import networkx as nx
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(25, 0.12, seed=seed)
    cliques = variable_cliques(sp.csr_matrix(nx.to_scipy_sparse_array(graph)), np.arange(25))
    result = [
        set(c.tolist())
        for c in merged(cliques, lambda k: (k * (k + 1) / 2) ** 3 + 10.0 ** rng.integers(2, 5))
    ]
    assert all(any(set(c.tolist()) <= f for f in result) for c in cliques)
    for k in range(1, len(result)):
        meet = result[k] & set().union(*result[:k])
        assert any(meet <= f for f in result[:k])
    chordal = nx.Graph(e for f in result for e in itertools.combinations(f, 2))
    assert chordal.number_of_edges() == 0 or nx.is_chordal(chordal)
