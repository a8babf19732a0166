"""Term sparsity and cliques: published values, stable blocks, true bounds; degree d means degree d."""

import itertools
import math

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import monomials as mono
from sosdp.reduction.sparsity import merged, variable_cliques
from tests.refusals import refuse


def wang_chordal_example():
    x1, x2, x3 = sd.variables("x1 x2 x3")
    return (
        x1**2 - 2 * x1 * x2 + 3 * x2**2 - 2 * x1**2 * x2 + 2 * x1**2 * x2**2 - 2 * x2 * x3
        + 6 * x3**2 + 18 * x2**2 * x3 - 54 * x2 * x3**2 + 142 * x2**2 * x3**2
    )  # fmt: skip


def rosenbrock(n):
    x = sd.variables("tsr", n)
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(n - 1))


def broyden_tridiagonal(n):
    x = sd.variables("tsb", n)
    parts = []
    for i in range(n):
        below = x[i - 1] if i else 0
        above = x[i + 1] if i + 1 < n else 0
        parts.append(((3 - 2 * x[i]) * x[i] - below - 2 * above + 1) ** 2)
    return sum(parts)


def test_published_values_of_both_completions():
    # Wang, Magron, Lasserre, "Chordal-TSSOS": the chordal blocks give about -0.00355, the whole block gives 0
    f = wang_chordal_example()
    whole = sd.minimize(f, sparsity="term")
    chordal = sd.minimize(f, sparsity="chordal")
    assert whole.sizes["blocks"] == [6] and abs(whole.bound) < 1e-7
    assert chordal.sizes["blocks"] == [3, 3, 3, 3]
    assert chordal.bound == pytest.approx(-0.00355, abs=5e-6)
    # the example of "TSSOS" with optimum 0.4753: already exact after one step
    x1, x2, x3 = sd.variables("x1 x2 x3")
    g = 1 + x1**4 + x2**4 + x3**4 + x1 * x2 * x3 + x2
    first = sd.minimize(g, sparsity="term", term_steps=1)
    assert first.sizes["blocks"] == [6, 2, 2]
    assert first.bound == pytest.approx(0.47527, abs=1e-5)
    assert sd.minimize(g, sparsity="chordal", term_steps=1).sizes["blocks"] == [4, 2, 2, 2, 2]


def sparse_program(rng, kind):
    y = sd.variables("tsp", 4)
    ids = np.sort([int(v.variable_ids[0]) for v in y]).astype(np.int32)
    basis = mono.basis(ids, 4)
    chosen = rng.choice(basis.shape[0], size=5, replace=False)
    f = sd.Polynomial.from_arrays(basis[chosen], rng.integers(-4, 5, size=5))
    if kind == "ball":
        system = sd.System(sum(v**2 for v in y) <= 2, y[0] * y[1] >= -1)
        points = rng.normal(size=(3000, 4))
        points *= (np.sqrt(2) * rng.random((3000, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
        points = points[points[:, 0] * points[:, 1] >= -1]
    elif kind == "signs":
        system = sd.System(y**2 == 1, y[0] * y[1] * y[2] == y[3])
        points = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
        points = points[points[:, :3].prod(axis=1) == points[:, 3]]
    else:
        matrix = [[2 - y[0] ** 2, y[1] * y[2]], [y[1] * y[2], 2 - y[3] ** 2]]
        system = sd.System(sd.PSD(matrix), *(v**2 <= 2 for v in y))
        points = rng.uniform(-1.4, 1.4, size=(3000, 4))
        a, b, c = 2 - points[:, 0] ** 2, points[:, 1] * points[:, 2], 2 - points[:, 3] ** 2
        points = points[a * c >= b**2]
    values = f.evaluate(dict(zip([str(v) for v in y], points.T, strict=True))) + np.zeros(len(points))
    return f, system, values


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ball", "signs", "matrix"])
def test_stable_components_keep_the_bound_and_nothing_exceeds_it(kind):
    rng = np.random.default_rng({"ball": 1, "signs": 2, "matrix": 3}[kind])
    smaller = 0
    for _ in range(4):
        f, system, values = sparse_program(rng, kind)
        dense = sd.minimize(f, system, 4, sparsity="dense", symmetry="none")
        signs = sd.minimize(f, system, 4, sparsity="dense")
        scale = 1e-6 * max(1.0, abs(dense.bound))
        stable = sd.minimize(f, system, 4, sparsity="term", symmetry="none")
        assert stable.bound == pytest.approx(dense.bound, abs=scale)
        assert stable.bound == pytest.approx(signs.bound, abs=scale)
        smaller += max(stable.sizes["blocks"]) < max(dense.sizes["blocks"])
        previous = -np.inf
        for steps in (1, 2, None):
            result = sd.minimize(f, system, 4, sparsity="term", symmetry="none", term_steps=steps)
            assert previous - scale <= result.bound <= dense.bound + scale
            assert result.certified_bound <= values.min()
            previous = result.bound
        chordal = sd.minimize(f, system, 4, sparsity="chordal")
        assert chordal.bound <= dense.bound + scale
        assert chordal.certified_bound <= values.min()
        assert max(chordal.sizes["blocks"]) <= max(signs.sizes["blocks"])
    assert smaller >= 1


@pytest.mark.parametrize("problem", [rosenbrock, broyden_tridiagonal])
def test_chains_with_cliques_and_terms(problem):
    f = problem(8)
    reference = sd.minimize(f, sparsity="correlative")
    for sparsity in ("correlative+term", "correlative+chordal"):
        result = sd.minimize(f, sparsity=sparsity)
        assert result.status == "optimal"
        assert abs(result.bound) < 1e-5  # both minima are 0 (Broyden: a root exists)
        assert result.bound <= reference.bound + 1e-5
        assert max(result.sizes["blocks"]) <= max(reference.sizes["blocks"])
        assert result.sizes["cliques"] == reference.sizes["cliques"] > 1
    assert max(sd.minimize(rosenbrock(8), sparsity="correlative+chordal").sizes["blocks"]) == 3


def test_rows_of_equalities_that_nothing_needs_are_left_out():
    y = sd.variables("tse", 3)
    system = sd.System((y[0] ** 2 + y[1] ** 2).equals(2), (y[1] * y[2]).equals(y[0]), y[2] ** 2 <= 4)
    f = y[0] ** 4 - y[1] ** 2
    dense = sd.minimize(f, system, 4, symmetry="none", sparsity="dense")
    sparse = sd.minimize(f, system, 4, symmetry="none", sparsity="term")
    assert sparse.sizes["equalities"] < dense.sizes["equalities"]
    assert sparse.bound == pytest.approx(dense.bound, abs=1e-6)


def test_certificates_and_refutations_survive_the_split():
    from certificates import extract

    proof = extract(sd.minimize(wang_chordal_example() + 1, sparsity="chordal")).exact(slack=1e-4)
    assert proof.verdict and float(proof.claim.bound) > 0.995
    x, y = sd.variables("x y")
    for sparsity in ("term", "chordal"):
        assert sd.feasible(sd.System(x >= y**2, y >= x**2 + 1), 2, sparsity=sparsity).status == "infeasible"
        assert sd.prove_sos(wang_chordal_example() + 1, sparsity=sparsity).status == "proved"


def test_wrong_options_are_named():
    x = sd.variables("x y")[0]
    refuse(
        (lambda: sd.minimize(x**2, sparsity="term", term_steps=0), "term_steps must be a positive integer"),
        (lambda: sd.minimize(x**2, sparsity="blocks"), "sparsity='blocks' is not known"),
    )


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
    # where nothing is bounded a proof takes exact points, of which one block of side 28 has none in a second
    p = sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(5))
    answer = sd.minimize(p, degree=4)
    assert answer.hierarchy.startswith("full (5 cliques, attained") and -1e-5 <= answer.certified_bound <= 0
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
