"""Tolerances tau T: enumeration, all neighbours, controls; what is decided of matrices by the engine."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from types import SimpleNamespace

import numpy as np
import pytest

from problems.gaussian.published import numerical
from problems.gaussian.published.numerical import NumericalScore
from problems.gaussian.published.program import LiteralSoSScore
from problems.gaussian.published.thresholds import decided, least_threshold
from sosdp.algebra import variables
from sosdp.privacy.mechanisms.exponential import exact_law
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import cube
from tests.neighbours import neighbour_pairs
from tests.refusals import refusals

ENTRIES = [-1.0, 0.3, 1e308, math.nan]  # the last is read as 0


def test_it_is_at_most_the_enumerated_score_and_tends_to_it():
    """One record: 0 where it is within alpha, else 1; with small tau nearly so."""
    fine, rough = (NumericalScore(1, tau=tau, lam=0.5) for tau in (1e-4, 3e-2))
    assert fine.integral([0.2], [0.25]) == 0 == fine.bracket([0.2], [0.25], width=0.5)[0]
    assert fine.integral([-1.0], [0.25]) == 1
    low, high = fine.bracket([-1.0], [0.25], width=0.1)
    broad = rough.bracket([-1.0], [0.25], width=0.1)
    assert 0.9 <= low <= 1 and high >= 0.98 and broad[0] <= high + 1e-9  # tolerances only lower it
    assert broad[1] < 0.95


def test_whole_records_by_brute_force():
    """The enumeration against every completion on a grid."""
    generator = np.random.default_rng(0)
    score = NumericalScore(2, degree=2, lam=0.4, alpha=0.2)
    grid = np.linspace(-4, 4, 81)
    for _ in range(25):
        y = np.round(generator.uniform(-2, 2, size=2), 1)
        theta = float(np.round(generator.uniform(-1.5, 1.5), 1))
        result = score.integral(y, [theta])

        def fits(x, theta=theta):
            return abs(np.mean(x) - theta) <= 0.2 + 1e-12 and np.var(x) <= 0.4 + 1e-12

        if fits(y):
            assert result == 0
        elif any(fits([y[i], x]) for i in (0, 1) for x in grid):
            assert result <= 1
        else:
            assert result == 2 or result == 1  # one that no grid point shows


@pytest.mark.slow
def test_two_records_between_their_bounds():
    score = NumericalScore(2, tau=1e-4, lam=0.5)
    literal = LiteralSoSScore(2, degree=4, lam=0.5, reach=2.0)
    for y, candidate, width in (([-0.5, 1.0], 0.9, 0.01), ([0.2, 0.2], 0.25, 0.5)):
        low, high = score.bracket(y, [candidate], width)
        assert low <= score.integral(y, [candidate]) and high - low <= width
        assert low <= literal.bracket(y, [candidate], tolerance=0.05).numerical + 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("n", "degree", "tau"), [(1, 4, 1e-2), (2, 2, 0.1)])
def test_one_record_moves_it_by_at_most_one(n, degree, tau):
    """All tables over a hostile alphabet, all neighbours, certified ends."""
    score = NumericalScore(n, degree=degree, tau=tau, lam=0.3)
    result = {
        table: score.bracket([ENTRIES[k] for k in table], [0.25 if n == 1 else 1.5], width=0.05)
        for table in combinations_with_replacement(range(len(ENTRIES)), n)
    }
    assert all(low - high <= 1 for (low, _), (_, high) in neighbour_pairs(result, range(len(ENTRIES))))
    assert numerical.SLACK >= 2 + math.sqrt(math.comb(4, 2))


@pytest.mark.long
@pytest.mark.slow
def test_exact_laws_of_neighbours_and_a_control():
    epsilon = 1.0
    score = NumericalScore(1, tau=1e-2, lam=0.5).score_function(cube(1, 1, 1))
    levels = [score.on(np.array([y])) for y in (-1.0, math.nan)]
    known = SimpleNamespace(lattice=score.lattice, on=levels.__getitem__)

    def worst(base):
        laws = [exact_law(known, k, base) for k in (0, 1)]
        return max(abs(math.log(float(a[p] / b[p]))) for a in laws for b in laws for p in a)

    assert 0.1 < worst(rational_base(epsilon, score.sensitivity)) <= epsilon
    assert worst(rational_base(4 * epsilon, score.sensitivity)) > epsilon  # a step four times too small


def test_a_functional_that_is_known_is_never_refuted():
    """The moments of (w, x, M) = (1, y, sqrt lam) satisfy every constraint, up to rounding, exactly at T."""
    score = NumericalScore(1, tau=1e-2, lam=0.5)
    program = numerical.Functionals(score, np.array([0.2]), 0.25)
    point = {"w0": 1.0, "x0": 0.2, "slack0": math.sqrt(0.5)}
    values = {
        moment: monomial.subs(point)
        for moment, monomial in zip(program.moments, program.all[1:], strict=True)
    }
    for matrix in program.at(0.05):
        rows = [[float(p.subs({str(v): values[v] for v in p.variables})) for p in row] for row in matrix]
        assert np.linalg.eigvalsh(rows)[0] >= 0
    assert sum(float(v) ** 2 for v in values.values()) <= program.reach(0.05) ** 2
    assert program.decide(0.05) == 1 and score.bracket([0.2], [0.25], width=0.5)[0] == 0.0


def test_what_is_decided_is_proven():
    (v,) = variables("v", 1)

    def entry(p):
        return np.array([[p]], dtype=object)

    for matrices, expected in (
        ([entry(v - 1), entry(2 - v)], 1),
        ([entry(v - 2), entry(1 - v)], -1),
        ([entry(v - 20), entry(30 - v)], -1),  # beyond the reach
        ([np.array([[1, v], [v, 1]], dtype=object) + 0 * v, entry(v - Fraction(9, 8))], -1),
        ([entry(3 * v - 1), entry(1 - 3 * v)], 0),  # no float is a third
    ):
        assert decided(matrices, [v], Fraction(10)) == expected
    assert least_threshold(lambda T: 1 if T >= 0.7 else -1, 4, 1e-3) == pytest.approx((0.7, 0.7), abs=1e-3)
    assert least_threshold(lambda T: 0, 4, 1e-3) == (0.0, 4.0)


test_refusals = refusals(
    (lambda: NumericalScore(3), "moments"),
    (lambda: NumericalScore(1, degree=3), "degree"),
    (lambda: NumericalScore(2).bracket([1.0], [0.0]), "records"),
)
