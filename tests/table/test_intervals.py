"""Intervals hold with the stated probability: exactly on small laws, by simulation on twelve laws of data."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import tables_coverage
from sosdp.privacy.table.intervals import margin, quotient, ratio_beyond
from sosdp.privacy.table.quantiles import Widths, reach

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
    """The exact probability that the interval misses numpy's quantile, the largest over all values."""
    truth, cell = float(np.quantile(table, float(share))), np.stack(np.unique(table, return_counts=True))
    result = []
    for place in range(size):
        widths = Widths(share, size, place, away)
        first, last, level = widths.weighted(cell)
        weights = (last - first + 1) * np.exp(-rate * level.astype(float))
        wrong = [not low <= truth <= high for low, high in map(widths.ends, widths.lengths)]
        result.append(weights[wrong].sum() / weights.sum())
    return max(result)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)])
@pytest.mark.parametrize(("size", "rate"), [(4, 3.0), (24, 0.5)])
def test_the_interval_of_a_quantile_holds_exactly(share, size, rate):
    """On every table of up to four entries, and on larger ones of these, wherever its value was drawn."""
    away = reach(Fraction(rate), ALPHA, share.denominator)
    places = (0, 1, size // 2, size - 1)
    tables = [t for k in range(1, 5) for t in itertools.combinations_with_replacement(places, k)]
    tables += [t * k for t in tables for k in (5, 40)]
    assert max(missed(table, size, rate, share, away) for table in tables) <= ALPHA
    assert max(missed(table, size, rate / 10, share, away) for table in tables) > ALPHA  # control


def test_the_interval_of_a_quantile_misses_as_often_as_it_may():
    """Two values, each half of the records: about a place between them no record says how long it must be."""
    rate, share, size = 0.05, Fraction(1, 2), 1000
    table, away = (100,) * 501 + (800,) * 500, reach(Fraction(rate), ALPHA, 1)
    assert 0.8 * ALPHA < missed(table, size, rate, share, away) <= ALPHA


@pytest.mark.parametrize("away", [0, 7, 2**61, 2**62, 2**63 - 1, 2**63 + 10**6, 2**70])
def test_scores_of_intervals_are_their_definition_however_far_out(away):
    """Beyond 64 bits no score fails: an error that one record decides would tell two tables apart."""
    share, size = Fraction(333333, 10**6), 7
    a, b = share.numerator, share.denominator
    for table in itertools.combinations_with_replacement(range(size), 3):
        cell = np.stack(np.unique(table, return_counts=True))
        for place in range(size):
            widths, gaps = Widths(share, size, place, away), []
            for low, high in map(widths.ends, widths.lengths):
                below, above = sum(x < low for x in table), sum(x > high for x in table)
                gaps.append(max(b * below - a * 3 if low else -math.inf,
                                b * above - (b - a) * 3 if high < size - 1 else -math.inf))  # fmt: skip
            assert gaps[-1] == -math.inf and sorted(gaps, reverse=True) == gaps
            right = [
                max(0, gap + away, -(gaps[k - 1] if k else math.inf) - away) if gap > -math.inf
                else max(0, -gaps[k - 1] - away if k else 0)
                for k, gap in enumerate(gaps)
            ]  # fmt: skip
            assert widths.scores(cell) == right
            assert 0 in right


@pytest.mark.slow
def test_coverage_on_two_laws():
    assert tables_coverage.run(quick=True)["ok"]
