"""Calibration of the online mechanism: the table of noise scales, the theorems behind it, and what must
fail."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import nbinom

import sosdp.privacy.mechanisms.interaction.paid_rounds as module
from sosdp.privacy.mechanisms.interaction.paid_rounds import (
    PaidRounds,
    charge,
    exact_delta,
    largest_order,
    paid_rounds,
    renyi_bound,
)
from tests.privacy.mechanism_laws import laplace, tail
from tests.refusals import each, refusals

# epsilon, B: scale of "paper", "tight-rdp", "tight", and the lower bound of one fixed adversary, at delta =
# 1e-6
TABLE = [
    (0.1, 1, 152018, 154.7, 125.3, 121.1),
    (0.1, 5, 339923, 216.5, 187.8, 184.0),
    (0.1, 20, 679845, 337.2, 301.5, 297.5),
    (0.5, 1, 30404, 36.08, 29.72, 29.03),
    (0.5, 5, 67985, 49.51, 43.48, 42.68),
    (0.5, 20, 135969, 75.91, 68.61, 67.74),
    (0.5, 100, 304036, 143.1, 131.4, 130.5),
    (1, 1, 15202, 19.38, 16.07, 15.74),
    (1, 5, 33992, 26.35, 23.25, 22.85),
    (1, 20, 67985, 40.10, 36.41, 35.96),
    (1, 100, 152018, 75.15, 69.28, 68.83),
    (2, 1, 7601, 10.53, 8.84, 8.64),
    (2, 5, 16996, 14.17, 12.56, 12.38),
    (2, 20, 33992, 21.38, 19.48, 19.29),
    (2, 100, 76009, 39.78, 36.84, 36.62),
]


ROWS = [pytest.param(*row, marks=pytest.mark.slow) if row[1] == 100 and row[0] != 1 else row for row in TABLE]


@pytest.mark.few(2)
@pytest.mark.parametrize(("epsilon", "paid", "paper", "renyi", "tight", "lower"), ROWS)
def test_the_table_of_scales(epsilon, paid, paper, renyi, tight, lower):
    for calibration, wanted in (("paper", paper), ("tight-rdp", renyi), ("tight", tight)):
        result = paid_rounds(epsilon, 1e-6, paid, calibration)
        assert abs(float(result.scale) / wanted - 1) < 1e-3
        if calibration != "paper":
            assert result.delta_at(epsilon) <= 1e-6  # the stored, rounded scale, evaluated again
    assert lower < float(result.scale)


def ones(a0, a1, h, order, s):
    """E[(p/q)^(l-1) e^(-s [paid])] of a round where a bit i is answered by no update with probability a_i."""
    keep = math.exp(h) / (1 + math.exp(h))
    p, q = keep * a0 + (1 - keep) * a1, (1 - keep) * a0 + keep * a1
    free = np.where(q > 0, p**order * np.where(q > 0, q, 1.0) ** (1 - order), 0.0)
    back = (1 - a0) * keep * math.exp(h * (order - 1)) + (1 - a1) * (1 - keep) * math.exp(-h * (order - 1))
    return free + math.exp(-s) * back


@pytest.mark.parametrize("h", [0.02, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.99])
def test_no_round_gains_more_than_its_charge(h, share):
    """The largest expectation over all rounds (401 x 401 kernels) is 1, and with a smaller charge it is
    not."""
    order = 1 + (largest_order(1 / h) - 1) * share
    a0, a1 = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))
    assert abs(float(ones(a0, a1, h, order, charge(order, 1 / h)).max()) - 1) < 1e-12
    assert float(ones(a0, a1, h, order, 0.99 * charge(order, 1 / h)).max()) > 1 + 1e-9


def test_no_charge_beyond_the_orders_of_the_theorem():
    assert charge(largest_order(10.0) * 1.001, 10.0) == math.inf
    assert charge(largest_order(10.0) * 0.999, 10.0) < math.inf


def waiting(epsilon, scale, paid):
    """delta of one adversary: rounds that are free after a 0 and paid after a 1, until `paid` are paid."""
    h = 1 / scale
    keep = math.exp(h) / (1 + math.exp(h))
    # zeros before the paid-th one: negative binomial; the ratio is e^(h (zeros - paid))
    zeros = np.arange(0, 40000)
    p, q = nbinom.pmf(zeros, paid, 1 - keep), nbinom.pmf(zeros, paid, keep)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(
    ("epsilon", "scale", "paid"), [(1, 16.07, 1), (1, 23.25, 5), (0.5, 30, 3), (2, 10, 4)]
)
def test_the_curve_lies_between_an_adversary_and_the_renyi_bound(epsilon, scale, paid):
    result = exact_delta(epsilon, scale, paid)
    assert waiting(epsilon, scale, paid) <= result
    orders = 1 + (largest_order(scale) - 1) * np.linspace(0.01, 0.99, 400)
    by_renyi = min(
        math.exp((o - 1) * (renyi_bound(o, scale, paid) - epsilon + math.log1p(-1 / o)) - math.log(o))
        for o in orders
    )
    assert result <= by_renyi


def test_one_round_is_at_most_one_laplace_round():
    for epsilon, scale in [(0.05, 10.0), (0.2, 3.0), (0.01, 50.0)]:
        h = 1 / scale
        keep = math.exp(h) / (1 + math.exp(h))
        assert max(0.0, keep - math.exp(epsilon) * (1 - keep)) <= exact_delta(epsilon, scale, 1)


# The actual mechanism with discrete Laplace noise: the best adaptive adversary over thresholds and offsets.


def round_of(h, low, high):
    """(P, Q) of no update and of the two kinds of paid outcomes, if "no update" is low <= outcome <= high."""
    result = {"free": [0.0, 0.0], 1: [0.0, 0.0], -1: [0.0, 0.0]}
    reach = 60
    for z in range(-reach, reach + 1):
        kind = "free" if low <= z <= high else (1 if z <= 0 else -1)
        result[kind][0] += laplace(z, 1 / h)
        result[kind][1] += laplace(z - 1, 1 / h)
    result[1][0] += tail(reach + 1, 1 / h)
    result[1][1] += tail(reach + 2, 1 / h)
    result[-1][0] += tail(reach + 1, 1 / h)
    result[-1][1] += tail(reach, 1 / h)
    return result


def best_adversary(h, epsilon, rounds, paid, choices):
    options = []
    for low, high in choices:
        first = round_of(h, low, high)
        options.append(first)
        options.append({k: [v[1], v[0]] for k, v in first.items()})

    @cache
    def value(k, c, log_ratio):
        """Largest sum of (P - e^epsilon Q)_+ over continuations, from masses (ratio, 1)."""
        ratio = math.exp(log_ratio)
        now = max(0.0, ratio - math.exp(epsilon))
        if k == 0 or c == 0:
            return now
        best = now
        for option in options:
            total = 0.0
            for kind, (p, q) in option.items():
                if q > 0:
                    left = c if kind == "free" else c - 1
                    total += q * value(k - 1, left, round(log_ratio + math.log(p / q), 12))
            best = max(best, total)
        return best

    return value(rounds, paid, 0.0)


@pytest.mark.parametrize(("h", "paid", "epsilon"), [(0.2, 1, 0.3), (0.7, 1, 0.8), (0.7, 2, 1.2)])
def test_the_best_adaptive_adversary_stays_below_the_curve(h, paid, epsilon):
    choices = [(low, low + width) for low in range(-6, 3) for width in (2, 6, 1000)]
    result = best_adversary(h, epsilon, 3, paid, choices)
    assert 0 < result <= exact_delta(epsilon, 1 / h, paid)
    assert result > exact_delta(epsilon, 2 / h, paid)  # the curve of twice the noise is refuted


def test_the_curve_is_exported_to_dp_accounting():
    from dp_accounting.rdp import compute_epsilon

    rounds = paid_rounds(1.0, 1e-6, 5, "tight-rdp")
    orders, bounds = zip(*rounds.renyi_curve(), strict=True)
    epsilon, _ = compute_epsilon(orders, bounds, 1e-6)
    assert (
        0.99 < epsilon < 1.02
    )  # the scale was calibrated to epsilon = 1 by the same curve, at the best order
    twice, _ = compute_epsilon(orders, [2 * bound for bound in bounds], 1e-6)
    assert epsilon < twice < 2 * epsilon


@pytest.mark.parametrize("calibration", ["tight", "tight-rdp"])
@pytest.mark.parametrize("epsilon", [150.0, 1000.0])
def test_large_budgets_have_a_scale(calibration, epsilon):
    """Below a scale of 1/2 no order is left between 1 and the largest one, in floats."""
    rounds = paid_rounds(epsilon, 1e-6, 20, calibration)
    assert 0.5 <= rounds.scale < 1 and rounds.delta_at(epsilon) <= 1e-6


def test_the_published_scale_is_private_with_room_to_spare():
    """Proposition of the page, for its constant 10 instead of 1000."""
    for delta in (0.4, 1e-3, 1e-6):
        for epsilon in (0.5, math.log(4 / delta)):
            for paid in (1, 10):
                scale = 10 * math.sqrt(paid) * math.log(4 / delta) / epsilon
                assert exact_delta(epsilon, scale, paid) < 1e-6 * delta
    assert module.PAPER_FACTOR >= 10


def test_scales_are_rounded_up():
    rounds = paid_rounds(1.0, 1e-6, 1)
    assert rounds.scale.denominator <= 2**20
    assert isinstance(rounds, PaidRounds) and rounds.scale > 16.07 * (1 - 1e-4)


test_refusals = refusals(
    (lambda: charge(1.0, 10.0), "order"),
    *each(
        lambda arguments: paid_rounds(*arguments),
        [(1.0, 1e-6, 0), (1.0, 1e-6, 5000), (1.0, 1e-20, 5), (0.0, 1e-6, 5), (1.0, 1e-6, True)],
    ),
    (lambda: paid_rounds(1.0, 1e-6, 5, "loose"), "calibration"),
    (lambda: paid_rounds(20.0, 1e-6, 5, "paper"), "epsilon <= ln"),
)
