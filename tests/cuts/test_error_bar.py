"""The private error bound: the relaxation moves by at most one, brackets hold, the released bound has its
law."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from problems.cuts.estimators.cut_release import CUT_SENSITIVITY
from sosdp.conic.multiprecision import precision
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.mechanisms import upper_bound as module
from sosdp.privacy.mechanisms.upper_bound import release_upper_bound, upper_bound_rule
from sosdp.structured import disjoint_cut, disjoint_cut_balls
from sosdp.structured.cut_norm import cut_norm
from sosdp.structured.disjoint_cut import bound_disjoint_cut
from sosdp.structured.disjoint_cut_balls import settle_disjoint_cut
from tests.refusals import each, refusals, refuse


def symmetric(rng, n, density=None):
    upper = np.triu(rng.standard_normal((n, n)) if density is None else rng.random((n, n)) < density, 1)
    return (upper + upper.T).astype(float)


def largest_disjoint_cut(matrix):
    """By all 3^n assignments to S, T and neither."""
    n = matrix.shape[0]
    sides = np.array(list(itertools.product((0, 1, 2), repeat=n)))
    first, second = (sides == 1).astype(float), (sides == 2).astype(float)
    return float(np.abs(((first @ matrix) * second).sum(axis=1)).max())


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_the_bracket_holds_by_enumeration(n):
    rng = np.random.default_rng(n)
    for trial in range(12):
        matrix = symmetric(rng, n) if trial % 2 else symmetric(rng, n, 0.5) - 0.4 * (1 - np.eye(n))
        exact = largest_disjoint_cut(matrix)
        result = bound_disjoint_cut(matrix, gap=0.01 * n)
        assert result.certified
        assert result.attained <= exact + 1e-12 and exact <= result.upper + 1e-12
        assert result.value <= result.upper
        assert not np.intersect1d(result.first, result.second).size
        assert result.attained == pytest.approx(abs(matrix[np.ix_(result.first, result.second)].sum()))


def neighbours(n, rng, count):
    """Pairs of graphs that differ in one edge; all of them where `count` is None."""
    pairs = list(itertools.combinations(range(n), 2))
    every = (
        itertools.product((0, 1), repeat=len(pairs))
        if count is None
        else (rng.integers(0, 2, len(pairs)) for _ in range(count))
    )
    for bits in every:
        matrix = np.zeros((n, n))
        for (i, j), bit in zip(pairs, bits, strict=True):
            matrix[i, j] = matrix[j, i] = bit
        for i, j in pairs:
            if matrix[i, j] == 0:
                other = matrix.copy()
                other[i, j] = other[j, i] = 1
                yield matrix, other


def moves(bound, n, graph, count=None):
    rng = np.random.default_rng(n)
    known = {}

    def cached(matrix):
        key = matrix.tobytes()
        if key not in known:
            known[key] = bound(matrix - graph)
        return known[key]

    return [cached(b) - cached(a) for a, b in neighbours(n, rng, count)]


def test_the_relaxation_moves_by_at_most_one():
    """All graphs on four vertices and their neighbours, some on eight, against fixed released graphs."""
    rng = np.random.default_rng(7)
    for n, count in ((4, None), (8, 1)):
        graph = np.clip(symmetric(rng, n) * 0.3 + 0.4, 0, 1)
        np.fill_diagonal(graph, 0)
        gap = 0.05

        def upper(matrix, gap=gap):
            result = bound_disjoint_cut(matrix, gap=gap)
            assert result.certified
            return result.upper

        largest = max(abs(move) for move in moves(upper, n, graph, count))
        assert 0.5 < largest <= CUT_SENSITIVITY + gap


def test_the_last_resort_brackets_the_same_relaxation():
    """All graphs on four vertices against a fixed released one: ball arithmetic and the ascent overlap, both
    lie above every cut, and neighbours' upper ends are within one and the gap."""
    graph = np.clip(symmetric(np.random.default_rng(3), 4) * 0.3 + 0.4, 0, 1)
    np.fill_diagonal(graph, 0)
    gap = Fraction(1, 20)

    def upper(matrix):
        low, high = settle_disjoint_cut(matrix, gap=gap, last_bits=256)
        ascent = bound_disjoint_cut(matrix, gap=0.001)
        assert 0 <= high - low <= gap and low <= ascent.upper and ascent.value <= high
        assert largest_disjoint_cut(matrix) <= high + Fraction(1, 10**12)
        return float(high)

    assert 0.5 < max(abs(move) for move in moves(upper, 4, graph)) <= CUT_SENSITIVITY + float(gap)
    refuse((lambda: settle_disjoint_cut(graph, gap=0.0), "gap"))


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), 1e-9 * (1 - np.eye(4)), 1e9 * (np.eye(4) - 1)])
def test_the_last_resort_ends_on_any_scale(matrix):
    low, high = settle_disjoint_cut(matrix, gap=1e-3)
    assert low <= Fraction(largest_disjoint_cut(matrix)) + Fraction(1, 1000) and high - low <= Fraction(
        1, 1000
    )
    assert settle_disjoint_cut(1e9 * matrix, gap=1e-300, last_bits=128) is None or not matrix.any()


def test_an_infeasible_dual_point_is_not_believed(monkeypatch):
    """Negative control: without elimination of the slacks an end below the largest cut, 2, is "proven"."""
    side = disjoint_cut_balls._OneSign(np.ones((3, 3)) - np.eye(3), Fraction(10))
    with precision(128):
        wrong = [flint.arb(value) for value in (0.8, 0.5, 0.4, -0.5, 0.2, 0.0, 0.0)]
        assert side._proven(wrong) is None
        monkeypatch.setattr(disjoint_cut_balls, "is_positive_definite", lambda matrix: True)
        assert side._proven(wrong)[1] < 1


def test_ends_further_apart_than_the_gap_are_refused():
    matrix = np.ones((3, 3)) - np.eye(3)
    with precision(128):
        inside = [flint.arb(value) for value in (1.5, 1.5, 1.5, 3.0, 1.5, 1.5, 1.5)]
        low, high = disjoint_cut_balls._OneSign(matrix, Fraction(100))._proven(inside)
        assert low <= 2 <= high and 1 < high - low
        assert disjoint_cut_balls._OneSign(matrix, high - low)._proven(inside) == (low, high)
        assert disjoint_cut_balls._OneSign(matrix, (high - low) * Fraction(99, 100))._proven(inside) is None


def test_the_ordinary_cut_norm_moves_by_two():
    """The negative control: the relaxation for arbitrary S and T is not covered by the constant one."""
    graph = np.zeros((4, 4))
    moved = moves(lambda m: cut_norm(m, tolerance=1e-6).upper, 4, graph)
    assert max(abs(move) for move in moved) > CUT_SENSITIVITY + 0.4


def test_certificates_do_not_trust_the_ascent():
    """A gap that cannot be reached is reported; the bound holds all the same."""
    rng = np.random.default_rng(1)
    matrix = symmetric(rng, 7)
    result = bound_disjoint_cut(matrix, gap=1e-14, max_iterations=3)
    assert not result.certified
    assert largest_disjoint_cut(matrix) <= result.upper


def test_any_point_proves_a_bound():
    """Multipliers read off random points, far from optimal: the bound pays for what they violate."""
    rng = np.random.default_rng(11)
    for _ in range(150):
        matrix = symmetric(rng, 5)
        exact = largest_disjoint_cut(matrix)
        rows = rng.standard_normal((10, 4))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        point = disjoint_cut._Point(rows[:5], rows[5:])
        assert exact <= max(disjoint_cut._dual_bound(sign * matrix, point) for sign in (1.0, -1.0)) + 1e-12
        assert disjoint_cut._value(matrix, point) <= disjoint_cut._dual_bound(matrix, point)


RULE = {"sensitivity": 1, "gap": 0.5, "confidence": 0.9, "largest": 30.0, "grid": Fraction(1, 2)}


def law(rule, count):
    """Exact law of the released count, the noise to +-4000."""
    a = math.exp(-1 / float(rule.units))
    result = {}
    for z in range(-4000, 4001):
        released = min(max(count + z + rule.margin, 0), rule.largest)
        result[released] = result.get(released, 0.0) + (1 - a) / (1 + a) * a ** abs(z)
    return result


def test_likelihood_ratios_of_neighbours():
    """Any two brackets whose relaxations are one apart, at both ends of their gaps."""
    epsilon = 0.7
    rule = upper_bound_rule(epsilon, **RULE)
    brackets = [(10.0, 10.0), (10.0, 10.5), (11.0, 11.5), (9.0, 9.0), (10.49, 10.99), (9.99, 9.99)]
    worst = 0.0
    for (low, high), (low2, high2) in itertools.permutations(brackets, 2):
        separate = max(abs(low - low2), 0) <= 1.0
        first, second = law(rule, rule.count((low, high))), law(rule, rule.count((low2, high2)))
        ratio = max(math.log(first[k] / second[k]) for k in first)
        if separate:
            worst = max(worst, ratio)
    assert epsilon * 0.5 < worst <= epsilon + 1e-9


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_bound_fails_as_rarely_as_promised(confidence):
    rule = upper_bound_rule(0.3, **(RULE | {"confidence": confidence}))
    a = math.exp(-1 / float(rule.units))
    fails = a ** (rule.margin + 1) / (1 + a)  # P(noise < -margin)
    assert fails <= (1 - confidence) * (1 + 1e-12)
    below = sum((1 - a) / (1 + a) * a**j for j in range(rule.margin + 1, 20000))
    assert below == pytest.approx(fails)
    if rule.margin > 0:  # one grid unit less would fail more often
        assert a**rule.margin / (1 + a) > 1 - confidence


def test_the_released_bound_is_above(monkeypatch):
    rule = upper_bound_rule(0.3, **RULE)
    assert rule.count((3.0, 3.3)) * rule.grid >= Fraction(3.3)
    monkeypatch.setattr(module.exact, "discrete_laplace", lambda scale, bits: -rule.margin)
    result = release_upper_bound((3.0, 3.3), epsilon=0.3, adjacency="one edge", **RULE)
    assert result.value["bound"] >= 3.3


@pytest.mark.parametrize("bracket", [None, (1.0, 2.0), (math.nan, 1.0), (0.0, math.inf)])
def test_a_bracket_that_is_too_wide_becomes_the_public_bound(bracket):
    rule = upper_bound_rule(0.3, **RULE)
    assert rule.count(bracket) == rule.largest
    release = release_upper_bound(bracket, epsilon=0.3, adjacency="one edge", **RULE)
    assert release.guarantee.kind == "conditional" and release.guarantee.epsilon == 0.3
    proven = {"search_complete": True, "proof": Fact("cut norms")}
    complete = release_upper_bound(bracket, epsilon=0.3, adjacency="one edge", **proven, **RULE)
    assert complete.guarantee.kind == "exact"
    assert "certifies" in " ".join(release.guarantee.assumptions)


test_refusals = refusals(
    *each(
        lambda wrong: bound_disjoint_cut(wrong, gap=1.0),
        (np.ones((2, 2)), np.zeros((2, 3)), np.array([[0, 1.0], [2.0, 0]]), np.full((2, 2), np.nan)),
    ),
    (lambda: bound_disjoint_cut(np.zeros((2, 2)), gap=0.0), "gap"),
    *each(
        lambda wrong: upper_bound_rule(0.3, **(RULE | wrong)),
        ({"gap": 0}, {"confidence": 1.0}, {"confidence": 0.2}, {"largest": -1}, {"sensitivity": 0}),
    ),
)
