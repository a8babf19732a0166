"""The batched exponential mechanism has the exact law of its scores."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from sosdp.privacy.randomness import choice
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.privacy.randomness.choice import softmax_rows
from tests.refusals import refuse


def counts(levels, rate, runs, seed=1):
    table = np.tile(np.asarray(levels), (runs, 1))
    return np.bincount(softmax_rows(table, rate, source=InsecureBits(seed)), minlength=len(levels))


def law(levels, rate):
    weights = np.exp(-float(rate) * (np.asarray(levels) - min(levels)))
    return weights / weights.sum()


@pytest.mark.parametrize("levels", [[0, 1, 5], [7, 7, 7, 7], [-3, 10**12, -2], [2**40, 2**40 + 3]])
def test_law(levels):
    rate = Fraction(1, 3)
    result, wanted = counts(levels, rate, 40000), law(levels, rate) * 40000
    seen = wanted > 5
    assert result[~seen].sum() <= 5
    assert chisquare(result[seen], wanted[seen] * result[seen].sum() / wanted[seen].sum()).pvalue > 1e-4


def test_undecided_draws_go_to_the_exact_comparison(monkeypatch):
    # with an endless margin every draw is decided in integers; the same bits give the same choices
    levels = np.random.default_rng(0).integers(0, 30, size=(300, 6))
    plain = softmax_rows(levels, Fraction(1, 7), source=InsecureBits(5))
    monkeypatch.setattr(choice, "_MARGIN", 2.0)
    assert (softmax_rows(levels, Fraction(1, 7), source=InsecureBits(5)) == plain).all()


def test_a_tie_is_split_evenly_by_the_exact_comparison(monkeypatch):
    monkeypatch.setattr(choice, "_MARGIN", 2.0)
    assert abs(counts([4, 4], 1, 2000)[0] - 1000) < 150


@pytest.mark.parametrize(
    "levels, rate", [([[]], 1), ([[0.5, 1.0]], 1), ([[1, 2]], 0), ([1, 2], 1), (np.zeros((1, 5000), int), 1)]
)
def test_refusals(levels, rate):
    refuse((lambda: softmax_rows(levels, rate),))
