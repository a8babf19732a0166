"""Reductions: rewriting, pruning, sign symmetry, cliques, deduced bounds."""

import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import monomials as mono
from sosdp.reduction.bounds import deduce_bounds
from sosdp.reduction.newton import prune
from sosdp.reduction.quotient import NO_QUOTIENT, find_quotient
from sosdp.reduction.redundant import with_redundant
from sosdp.reduction.sparsity import adjacency, variable_cliques
from sosdp.reduction.symmetry import find_sign_symmetry, split
from tests.refusals import refuse


def ids(*variables):
    return np.array([int(v.variable_ids[0]) for v in variables])


def test_exponents_round_trip_and_keys_are_additive():
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 4, size=(50, 6))
    names = np.array([2, 4, 5, 7, 8, 11])
    rows = mono.from_exponents(matrix, names)
    assert np.array_equal(mono.exponents(rows, names), matrix)
    product = mono.multiply(rows[:25], rows[25:])
    assert np.array_equal(mono.keys(product), mono.keys(rows[:25]) + mono.keys(rows[25:]))
    radix = mono.RadixKeys.build(names, int(matrix.sum(axis=1).max()) * 2)
    assert np.array_equal(radix(product), radix(rows[:25]) + radix(rows[25:]))


@pytest.mark.parametrize("rule", ["x**2 - 1", "x**2 - x", "x**2", "x**3 - x", "3*x**2 - 3", "x**4 + x**2"])
def test_power_rules_agree_with_division(rule):
    import sympy

    x = sympy.Symbol("x")
    p = sd.polynomial(rule)
    quotient = find_quotient((p,))
    assert quotient.power and quotient.confluent
    variable = int(p.variable_ids[0])
    for power in range(9):
        row = np.full((1, max(power, 1)), variable, dtype=np.int32) if power else mono.constant(1)
        coefs, normal = quotient.normal_form(row)
        remainder = sympy.rem(x**power, sympy.sympify(rule), x)
        got = coefs[0] * x ** int(mono.degrees(normal)[0]) if coefs[0] else 0
        assert sympy.simplify(got - remainder) == 0


def test_binary_bases_never_list_what_is_rewritten():
    b = sd.variables("qb", 6)
    quotient = find_quotient(sd.System(b**2 == b).equalities)
    assert (
        quotient.basis(np.unique(np.concatenate([v.variable_ids for v in b])), 3).shape[0] == 1 + 6 + 15 + 20
    )
    edge = find_quotient(sd.System(b**2 == b, b[0] * b[1] == 0).equalities)
    assert edge.basis(ids(*b), 2).shape[0] == 1 + 6 + 14
    assert edge.confluent


def test_vanishing_products_with_sign_variables_keep_their_rows():
    s, t = sd.variables("qs qt")
    assert not find_quotient(sd.System(s**2 == 1, t**2 == 1, s * t == 0).equalities).confluent
    assert sd.feasible(sd.System(s**2 == 1, t**2 == 1, s * t == 0), degree=4).status == "infeasible"


def test_pruning_leaves_the_newton_polytope_of_motzkin():
    x, y = sd.variables("x y")
    p = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
    basis = mono.basis(ids(x, y), 3)
    (mask,) = prune([basis], p.monos, NO_QUOTIENT.normal_form)
    kept = {str(sd.Polynomial.from_arrays(r[None, :], np.ones(1, dtype=np.int64))) for r in basis[mask]}
    assert kept == {"1", "x*y", "x**2*y", "x*y**2"}


def test_pruning_never_drops_what_a_sum_of_squares_needs():
    rng = np.random.default_rng(11)
    xs = sd.variables("x y z")
    basis = mono.basis(ids(*xs), 3)
    for _ in range(30):
        chosen = rng.choice(basis.shape[0], size=4, replace=False)
        q = sd.Polynomial.from_arrays(basis[chosen], rng.integers(1, 9, size=4))
        p = q * q
        (mask,) = prune([basis], p.monos, NO_QUOTIENT.normal_form)
        assert set(chosen.tolist()) <= set(np.flatnonzero(mask).tolist())


def test_sign_symmetries_are_exactly_the_invariant_flips():
    rng = np.random.default_rng(2)
    variables = np.array([1, 2, 3, 4])
    for _ in range(20):
        support = mono.from_exponents(rng.integers(0, 3, size=(3, 4)), variables)
        signs = find_sign_symmetry(support, variables)
        flips = [
            f
            for f in itertools.product([0, 1], repeat=4)
            if not ((mono.exponents(support, variables) @ np.array(f)) % 2).any()
        ]
        assert len(flips) == 2 ** (4 - signs.rank)
        basis = mono.basis(variables, 2)
        for group in split(signs.signature(basis)):
            # two monomials share a block iff every invariant flip gives them the same sign
            parity = (mono.exponents(basis[group], variables) @ np.array(flips).T) % 2
            assert (parity == parity[0]).all()


def test_cliques_cover_the_edges_of_a_chordal_graph():
    rng = np.random.default_rng(4)
    for _ in range(10):
        graph = nx.gnp_random_graph(14, 0.2, seed=int(rng.integers(1000)))
        names = np.arange(1, 15)
        groups = [np.array(e) + 1 for e in graph.edges]
        cliques = [set(c.tolist()) for c in variable_cliques(adjacency([], groups, names), names)]
        filled = nx.Graph()
        filled.add_nodes_from(range(1, 15))
        for clique in cliques:
            filled.add_edges_from(itertools.combinations(clique, 2))
        assert nx.is_chordal(filled)
        assert all(
            {u + 1, v + 1} <= set(filled.edges) or filled.has_edge(u + 1, v + 1) for u, v in graph.edges
        )
        assert {frozenset(c) for c in cliques} == {frozenset(c) for c in nx.find_cliques(filled)}


def bounds_of(*constraints):
    system = sd.System(*constraints)
    return deduce_bounds(system.equalities, system.inequalities, system.matrices)


def test_bounds_from_the_usual_constraints():
    x, y, z = sd.variables("x y z")
    i, j, k = ids(x, y, z)
    assert bounds_of(x**2 == 1).largest[i] == pytest.approx(1, rel=1e-9)
    assert bounds_of(x**2 == x).largest[i] == pytest.approx(1, rel=1e-9)
    assert bounds_of(x - x**2 >= 0).largest[i] == pytest.approx(1, rel=1e-9)
    assert bounds_of(x >= -2, x <= 5).largest[i] == pytest.approx(5, rel=1e-9)
    assert bounds_of(x >= 0, y >= 0, x + 2 * y <= 4).largest[j] == pytest.approx(2, rel=1e-9)
    assert bounds_of(x**4 + y**4 <= 16).largest[i] == pytest.approx(2, rel=1e-9)
    ball = bounds_of(x**2 + y**2 + z**2 <= 9)
    assert ball.balls[0][1] == pytest.approx(9, rel=1e-9)
    # |b|^2 for all monomials of degree <= 2 on the ball of radius 3: at most 1 + 9 + 81
    assert ball.squared_norm(mono.basis(np.array([i, j, k]), 2)) == pytest.approx(91, rel=1e-9)
    assert bounds_of(2 * x**2 + 2 * x * y + 2 * y**2 <= 3).largest[i] >= np.sqrt(2)
    assert bounds_of(sd.PSD([[1, x], [x, 1]])).largest[i] == pytest.approx(1, rel=1e-9)
    assert bounds_of(x**2 - y**2 <= 1).largest.get(i, np.inf) == np.inf


def test_no_feasible_point_breaks_a_deduced_bound():
    rng = np.random.default_rng(9)
    x, y = sd.variables("x y")
    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-4, 4, 161)), axis=-1).reshape(-1, 2)
    checked = 0
    for _ in range(60):
        a = rng.integers(-3, 4, size=6).astype(float)
        g = a[0] + a[1] * x + a[2] * y - abs(a[3]) * x**2 - abs(a[4]) * y**2 + a[5] * x * y
        h = 3 - x - y**2
        result = bounds_of(g >= 0, h >= 0, x >= -3)
        values = np.array([p.evaluate({"x": grid[:, 0], "y": grid[:, 1]}) for p in (g, h)])
        inside = grid[(values >= 0).all(axis=0) & (grid[:, 0] >= -3)]
        for variable, column in zip(ids(x, y), (0, 1), strict=True):
            limit = result.largest.get(int(variable), np.inf)
            if inside.size and np.isfinite(limit):
                checked += 1
                assert np.abs(inside[:, column]).max() <= limit
    assert checked > 30


def test_lasserres_concave_example_is_exact_with_a_redundant_ball():
    problem = sd.load_problem(Path(__file__).parent.parent / "cases" / "gloptipoly_concave_d3.sos.json")
    for kind in ("ball", "box"):
        result = sd.minimize(problem.objective, problem.system, 6, redundant=kind)
        assert result.status == "optimal"
        assert result.bound == pytest.approx(-4, abs=2e-5)
        assert result.certified_bound <= -4 + 1e-9  # the true minimum


def test_redundant_constraints_exclude_no_point():
    rng = np.random.default_rng(12)
    x, y, z = sd.variables("x y z")
    for _ in range(20):
        a = rng.uniform(0.2, 3, size=4)
        system = sd.System(a[0] * x**2 + a[1] * y**2 <= a[2], z <= a[3], z >= x - 1, x * y <= 1)
        points = rng.uniform(-6, 6, size=(30000, 3))
        u, v, w = points.T
        inside = points[(a[0] * u**2 + a[1] * v**2 <= a[2]) & (w <= a[3]) & (w >= u - 1) & (u * v <= 1)]
        for kind in ("ball", "box"):
            larger = with_redundant(system, kind)
            assert len(larger.inequalities) == len(system.inequalities) + (1 if kind == "ball" else 3)
            for g in larger.inequalities[len(system.inequalities) :]:
                used = {str(variable) for variable in g.variables}
                values = g.evaluate({name: inside[:, "xyz".index(name)] for name in sorted(used)})
                assert inside.shape[0] > 10 and values.min() >= 0
    assert with_redundant(system, None) is system
    signs = sd.System(x**2 == 1, y**2 == 1)
    assert with_redundant(signs, "ball") is signs
    refuse(
        (lambda: with_redundant(sd.System(x**2 <= 1, y >= 0), "ball"), "none on y"),
        (
            lambda: sd.minimize(x, sd.System(x**2 <= 1), redundant="sphere"),
            "choose one of None, 'ball', 'box'",
        ),
    )


def test_repeated_equalities_are_solved_once():
    x, y = sd.variables("x y")
    once = sd.System((x + y).equals(1), x**2 <= 2)
    more = sd.System((x + y).equals(1), (3 * x + 3 * y).equals(3), (2 - 2 * x).equals(2 * y), x**2 <= 2)
    f = x**4 + y**3 - x * y
    plain, repeated = sd.minimize(f, once, 4), sd.minimize(f, more, 4)
    assert repeated.sizes["equalities"] == plain.sizes["equalities"]
    assert repeated.bound == pytest.approx(plain.bound, abs=1e-6)
    assert repeated.certified_bound <= repeated.bound + 1e-6
    # one multiplier polynomial is left for each row, and the proof still goes through
    assert sum(len(p.coefs) for _, p in repeated.dual.equality_multipliers) <= plain.sizes["equalities"]
    s, t = sd.variables("qs qt")
    # rules that do not suffice alone are also rows; those that the rules make zero are gone
    relax = sd.Relaxation(sd.System(s**2 == 1, t**2 == 1, s * t == 0), 4)
    identity, layout = relax.assemble(sd.polynomial(1))
    assert identity.free.shape[0] < sum(e.multipliers.shape[0] for e in layout.equalities)
    assert identity.free.shape[0] == sum(e.multipliers.shape[0] for e in identity.equalities)
    assert (np.abs(identity.free).sum(axis=1) > 0).all()
