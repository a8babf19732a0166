"""Intervals hold with the stated probability: exactly on small laws, by simulation on twelve laws of data."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.contributions import Unit
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_ADDED
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.table import Table
from sosdp.privacy.table.answers import priced
from sosdp.privacy.table.intervals import margin, quotient, ratio_beyond
from sosdp.privacy.table.quantiles import Ends, cut, reach
from sosdp.privacy.table.statistics import Noise

ALPHA = 0.05


def laplace(scale, reach):
    a = math.exp(-1 / scale)
    return {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-reach, reach + 1)}


@pytest.mark.parametrize("scale", [0.1, 0.7, 1.0, 3.0, 40.0, 1e6, 1e15])
def test_the_margin_of_a_count_is_the_least(scale):
    away, a = margin(Fraction(scale), ALPHA), math.exp(-1 / scale)

    def outside(t):
        return 2 * math.exp(-(t + 1) / scale) / (1 + a)

    assert outside(away) <= ALPHA * (1 + 1e-9)
    assert away == 0 or outside(away - 1 - 1e-9 * away) > ALPHA


@pytest.mark.parametrize(("total", "count"), [(0, 3), (-4, 1), (7, 5)])
def test_the_interval_of_a_mean_holds_exactly(total, count):
    """All outcomes of small discrete noise, with their probabilities."""
    half, scales = 4, (Fraction(3, 2), Fraction(1, 2))
    first, second = laplace(1.5, 14), laplace(0.5, 5)
    truth = total / count
    missed = 2e-4  # what lies beyond
    for (one, p), (two, q) in itertools.product(first.items(), second.items()):
        low, high = quotient((total + one, count + two), scales, half, ALPHA)
        missed += p * q * (not low - 1e-9 <= truth <= high + 1e-9)
    assert missed <= ALPHA


def test_tails_of_the_quotient_are_bounds_and_near():
    """Against sums over both discrete laws, on both sides of the change to the continuous one."""
    for second in (0.5, 20.0, 130.0):
        first, ratios = 3 * second, np.array([0.0, 0.3, 1.0, 2.5])
        one, two = laplace(first, int(12 * first)), laplace(second, int(12 * second))
        values, weight = np.array(list(one)), np.array(list(one.values()))
        for ratio in ratios:
            for x in (0.0, first, 3 * first):
                exact = sum(
                    p * weight[np.abs(values - ratio * k) >= x].sum()
                    for k, p in list(two.items())
                    if p > 1e-9
                )
                bound = ratio_beyond((first, second), np.array([ratio]), np.array([x]))[0]
                assert exact - 1e-6 <= bound <= exact * (1 + 3 / first) + 1e-6


def missed(table, size, rate, share, away):
    """The exact probability that an end of the interval misses numpy's quantile, the larger of the two."""
    truth, result = float(np.quantile(table, float(share))), []
    ends = Ends(share, len(table), away)
    for level, first in ((ends.low, True), (ends.high, False)):
        weights = np.zeros(size)
        for run in cut(Counter(table), size, level, first=first):
            weights[run.first : run.last + 1] = np.exp(-rate * run.level)
        points = np.arange(size)
        wrong = points > truth if first else points < truth
        result.append(float(weights[wrong].sum() / weights.sum()))
    return max(result)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)])
@pytest.mark.parametrize(("size", "rate"), [(4, 3.0), (60, 0.2)])
def test_the_ends_of_a_quantile_hold_exactly(share, size, rate):
    """On every table of up to four entries, and on larger ones of these."""
    alpha, unit = 0.025, share.denominator
    away = reach(size, Fraction(rate), alpha, unit)
    places = (0, 1, size // 2, size - 1)
    tables = [t for k in range(1, 5) for t in itertools.combinations_with_replacement(places, k)]
    tables += [t * k for t in tables for k in (5, 40)]
    assert max(missed(table, size, rate, share, away) for table in tables) <= alpha
    assert max(missed(table, size, rate / 10, share, away) for table in tables) > alpha  # control


LAWS = {
    "normal": lambda g, n: g.normal(50, 10, n),
    "uniform": lambda g, n: g.uniform(0, 100, n),
    "exponential": lambda g, n: g.exponential(10, n),
    "gamma": lambda g, n: g.gamma(3, 8, n),
    "lognormal": lambda g, n: g.lognormal(3, 0.7, n),
    "two values": lambda g, n: g.choice([10.0, 90.0], n),
    "one value": lambda g, n: np.full(n, 42.0),
    "at a bound": lambda g, n: np.zeros(n),
    "heavy tails": lambda g, n: 50 + 5 * g.standard_cauchy(n),
    "mixture": lambda g, n: np.where(g.random(n) < 0.8, g.normal(20, 2, n), g.normal(80, 5, n)),
    "few records": lambda g, n: g.normal(50, 10, 25),
    "missing": lambda g, n: np.where(g.random(n) < 0.3, np.nan, g.normal(50, 20, n)),
}
SCHEMA = {"format": "sosdp-schema/1", "columns": {"v": {"type": "number", "low": 0, "high": 100}}}


def covered(law, runs, seed=0):
    """How often the intervals of a release hold the table's own statistics, by statistic."""
    values = LAWS[law](np.random.default_rng(seed), 2000)
    asked = Table({"v": values}, SCHEMA, 2.0).count("v").sum("v").mean("v").histogram("v", 4)
    asked = asked.quantiles("v", [0.5])
    clipped = np.clip(values[~np.isnan(values)], 0, 100)
    bins = np.histogram(clipped, np.linspace(0, 100, 5))[0]
    truth = [len(clipped), clipped.sum(), clipped.mean(), *bins, np.median(clipped)]
    shares = priced(asked.question, asked.terms)[0]
    cells = asked.fold({"v": values}).cells[None]
    bits, unit = open_bits(seed + 1), Unit(ONE_RECORD_ADDED, 1)
    hits = np.zeros(len(truth))
    for _ in range(runs):
        rows = []
        for share, cell in zip(shares, cells, strict=True):
            rows += share.statistic.rows(cell.tolist(), Noise(unit, share.epsilon, ALPHA, bits))
        slack = 1e-6
        hits += [
            row["low"] - slack <= true <= row["high"] + slack for row, true in zip(rows, truth, strict=True)
        ]
    return hits / runs


def test_coverage_on_two_laws():
    for law in ("normal", "at a bound"):
        assert covered(law, 60).min() > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_coverage_on_twelve_laws(law):
    rates = covered(law, 400)
    assert rates.min() > 0.91  # four standard deviations below .95
    # counts, sums and means no more than they should; quantiles are on the safe side
    if law not in ("at a bound", "few records", "heavy tails"):
        assert rates[:3].max() < 0.985


def test_intervals_for_a_population_hold_about_right():
    """Means and counts of fresh samples: the parameters of the law are inside in about .95 of the runs."""
    for draw, mean in (
        (lambda g, n: g.exponential(10, n), 10.0),
        (lambda g, n: g.choice([10.0, 90.0], n, p=[0.9, 0.1]), 18.0),
    ):
        g, hits = np.random.default_rng(7), np.zeros(2)
        for run in range(200):
            values = {"v": draw(g, g.poisson(1500))}
            asked = Table(values, SCHEMA, 1.0, interval="sample", insecure_seed=run).mean("v").count()
            rows = asked.release().value["rows"]
            truth = (mean, 1500)
            hits += [row["low"] <= true <= row["high"] for row, true in zip(rows, truth, strict=True)]
        assert 0.89 < (hits / 200).min() and (hits / 200).max() < 1
