"""Tolerances tau T: enumeration, all neighbours, the ellipsoid method against the conic solver, controls."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from problems.gaussian.published import numerical
from problems.gaussian.published.numerical import NumericalScore
from problems.gaussian.published.program import LiteralSoSScore
from sosdp.conic.svec import svec
from sosdp.privacy.mechanisms.exponential import exact_law
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import cube

CANDIDATES = (-1.0, 0.0, 0.25, 1.5)
ENTRIES = [-1.0, 0.0, 0.3, 1e308, math.nan]


def test_it_is_at_most_the_enumerated_score_and_tends_to_it():
    """One record: 0 where it is within alpha, else 1; with small tau to a hundredth."""
    for y, candidate in product((-1.0, 0.2), CANDIDATES[1:]):
        fine, rough = (NumericalScore(1, tau=tau, lam=0.5) for tau in (1e-4, 3e-2))
        whole = fine.integral([y], [candidate])
        assert whole == (0 if abs(y - candidate) <= 0.1 else 1)
        low, high = fine.bracket([y], [candidate])
        assert low <= whole and high >= whole - 0.02
        wide = rough.bracket([y], [candidate])
        assert wide[0] <= high + 1e-9  # tolerances only lower it
        if whole:
            assert wide[1] < 0.95


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
    for y, candidate in (([-0.5, 1.0], 0.9), ([0.2, 0.2], 0.25)):
        low, high = score.bracket(y, [candidate])
        assert low <= score.integral(y, [candidate]) and high - low <= 0.01
        assert low <= literal.bracket(y, [candidate], tolerance=0.05).found + 0.02


def test_degree_two_is_worthless():
    score = NumericalScore(2, degree=2, tau=1e-3, lam=0.5)
    assert score.bracket([1.0, 1.0], [0.0])[1] < 0.1 < score.integral([1.0, 1.0], [0.0])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "degree", "tau"), [(1, 4, 1e-2), (1, 4, 0.3), (3, 2, 0.1)])
def test_one_record_moves_it_by_at_most_one(n, degree, tau):
    """All tables over a hostile alphabet, all neighbours, certified ends."""
    score = NumericalScore(n, degree=degree, tau=tau, lam=0.3)
    tables = list(combinations_with_replacement(range(len(ENTRIES)), n))
    result = {
        table: score.bracket([ENTRIES[k] for k in table], [0.25 if n == 1 else 1.5], width=0.05)
        for table in tables
    }
    for table in tables:
        for i, other in product(range(n), range(len(ENTRIES))):
            near = result[tuple(sorted((*table[:i], other, *table[i + 1 :])))]
            assert result[table][0] - near[1] <= 1
    assert numerical.SLACK >= 2 + math.sqrt(math.comb(4, 2))


def test_exact_laws_of_neighbours_and_a_control():
    epsilon = 1.0
    score = NumericalScore(1, tau=1e-2, lam=0.5).score_function(cube(1, 1, 1))
    tables = [np.array([y]) for y in (-1.0, 0.0, math.nan)]

    def worst(base):
        laws = [exact_law(score, table, base) for table in tables]
        return max(abs(math.log(float(a[p] / b[p]))) for a in laws for b in laws for p in a)

    assert 0.1 < worst(rational_base(epsilon, score.sensitivity)) <= epsilon
    assert worst(rational_base(4 * epsilon, score.sensitivity)) > epsilon  # a step four times too small


@pytest.mark.parametrize(("degree", "width"), [(2, 0.1), pytest.param(4, 0.25, marks=pytest.mark.slow)])
def test_the_ellipsoid_method_agrees(degree, width):
    score = NumericalScore(1, degree=degree, tau=3e-2, lam=0.5, bound=20.0)
    for y, candidate in (([0.2], [0.25]), ([-1.0], [3.9])):
        low, high = score.bracket(y, candidate)
        least, most, steps = score.bisection(y, candidate, width=width)
        assert least <= high + 1e-9 and low <= most + 1e-9 and most - least <= 3 * width
        assert steps <= score.most_steps(width)


def test_every_cut_keeps_what_is_feasible():
    """The half-spaces of the method never cut off a point that is feasible."""
    score = NumericalScore(1, degree=2, tau=3e-2, lam=0.5, bound=20.0)
    program = score._program([0.2], [0.25])
    moments = np.array([np.prod(np.array([1.0, 0.2, math.sqrt(0.5)]) ** m) for m in program.all])[1:]
    assert program.holds(0.1, moments)
    result, _ = program.ellipsoid(0.1, 0.05)
    assert result
    far = score._program([1.0], [3.9])  # infeasible at 0.2: nothing is found, in no more steps than allowed
    result, steps = far.ellipsoid(0.2, 0.1)
    assert not result and steps <= far.steps(0.2, 0.1)


def test_a_feasible_threshold_is_never_refuted():
    score = NumericalScore(1, tau=1e-2, lam=0.5)
    program = score._program([0.2], [0.25])
    moments = np.array([np.prod(np.array([1.0, 0.2, math.sqrt(0.5)]) ** m) for m in program.all])[1:]
    assert program.holds(0.05, moments) and not program.holds(0.05, moments + 0.3)
    generator = np.random.default_rng(1)
    for _ in range(100):
        multipliers = [np.zeros(1 + 2 * program.size)]
        for block in program.blocks:
            a = generator.normal(size=(block.base.shape[1],) * 2) * 10.0 ** generator.integers(-3, 3)
            multipliers.append(svec(a @ a.T))
        assert not program.refuted(0.05, np.concatenate(multipliers))


def test_refusals():
    with pytest.raises(ValueError, match="moments"):
        NumericalScore(3)
    with pytest.raises(ValueError, match="degree"):
        NumericalScore(1, degree=3)
    with pytest.raises(ValueError, match="records"):
        NumericalScore(2).bracket([1.0], [0.0])
