"""What a private regression will do and how well, from public numbers alone.

Source: docs/proofs/gaussian_regression.md (the shares add up; errors are forecasts, measured in the pages)
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from scipy.stats import norm

from sosdp.privacy.mechanisms.integer_queries import sum_deviation

from .budgets import Budget
from .planning import (
    MeanTask,
    NotOffered,
    Plan,
    TooFewRecords,
    enough,
    frame_share,
    last_deviation,
    too_few,
)
from .whitening import HEAPS, entry_deviation, noise_norm, radius_price, schedule

BEFORE = tuple(Fraction(part, 100) for part in (30, 45, 60, 70))  # of zCDP, for all but the last question
FRAME = 0.10  # of that
COARSE, POLISH = Fraction(50, 100), Fraction(35, 100)  # of what the frame leaves; the rest is for intervals
SHARP, DULL = 0.2, 0.4  # relative noise of the curvature: enough, and too much
LEAST_REACH, ENOUGH_REACH = 30.0, 1e4  # condition of the correlations
HELD = 2.5  # residual scales at which a residual is held
LEVERAGE = 0.9  # quantile of chi^2_d at which leverage is held
LARGEST = 50  # regressors
ROUNDS = tuple(Fraction(part, 64) for part in (2, 2, 4, 8, 16))  # of the polish, for scores of a pilot
SCALES = 3  # questions about residuals of a line: two order statistics, and a count for the slope


class Law:
    """What plans know of the law of a target.

    variance: of the target of an average record. questions: about the target and its residuals, at the price
    of a radius each.
    """

    variance: float
    questions: int = 0


def plan_regression(task: MeanTask, budget: Budget, law: Law | None = None) -> Plan:
    """Shares and predicted error of a regression on task.d - 1 columns; task counts the target as a column.

    private_error and sampling_error are excess errors sqrt((b' - b)^T Sigma (b' - b)) in residual deviations;
    of a likelihood in its linear predictor, where the target of an average record has the law's variance.

    Raises:
        TooFewRecords: with the n that would do. NotOffered: nothing is left for the last sum. ValueError:
            over 50 columns.
    """
    if task.d - 1 > LARGEST:
        raise ValueError(f"at most {LARGEST} regressors, got {task.d - 1}: project to fewer by a public map")
    return enough(task, f"records of {task.d - 1} regressors", lambda more: _planned(more, budget, law))


def _planned(task: MeanTask, budget: Budget, law: Law | None) -> Plan:
    shares = _shares(task, budget, law)
    n, d, spent, steps = task.n, task.d - 1, shares.spent, shares.steps
    deviation = last_deviation(budget, spent, d + 1)
    if not deviation:
        raise NotOffered(
            "this delta leaves no budget for the last sum: choose a larger delta "
            "(above 1e-4 a smaller one, or a larger epsilon)"
        )
    radius = math.sqrt(leverage_quantile(d) + 1.0) * HELD
    private = radius * deviation / n * math.sqrt(d) * (1.0 + shares.noise)
    private /= slope_of(HELD, redescend=task.contamination > 0)
    variance = law.variance if law else 1.0
    private /= math.sqrt(variance)
    seconds = 0.3 + steps * (4e-7 * n * d + 1e-8 * n * d * d + 3e-4 * d * d) + 2e-3 * d
    sampling = math.sqrt(d / n / variance)
    return Plan(
        "one step", shares.each, spent, private, sampling, seconds, condition=shares.reach, steps=steps
    )


class _Shares(NamedTuple):
    """Prices by name, epsilon of the frame's questions, coarse steps, their reach, noise of the curvature."""

    spent: dict[str, Fraction]
    each: Fraction
    steps: int
    reach: float
    noise: float


def _shares(task: MeanTask, budget: Budget, law: Law | None) -> _Shares:
    """The least share before the last question at which the curvature is seen."""
    best: _Shares | None = None
    for share in BEFORE:
        with suppress(TooFewRecords):
            best = _with_share(task, budget, budget.total * share, law)
            if best.noise <= SHARP and best.reach >= ENOUGH_REACH:
                break
    if best is None or best.noise > DULL or best.reach < LEAST_REACH:
        raise too_few(task.n, "records", task.n + 1)
    return best


def _with_share(task: MeanTask, budget: Budget, before: Fraction, law: Law | None) -> _Shares:
    n, d, pure = task.n, task.d - 1, budget.pure
    frame, each = frame_share(task, before, FRAME, pure=pure)
    rest = before - frame
    steps, reach = schedule(n, d + 1, rest * COARSE, pure)
    heaps = rest * HEAPS * bool(task.robust)
    spent = {"frame": frame, "heaps": heaps, "coarse": rest * COARSE, "polish": rest * POLISH}
    spent["interval"] = before - sum(spent.values(), Fraction(0))
    if not task.interval:
        spent["polish"], spent["interval"] = spent["polish"] + spent["interval"], Fraction(0)
    questions = law.questions if law else SCALES
    polish = float(left_for_polish(n, spent, frame + heaps + spent["coarse"], questions, pure))
    if not steps or polish <= 0:
        raise too_few(n, "records", n + 1)
    if not budget.delta:
        spent["sum"] = budget.total - before
    squared = leverage_quantile(d) + 1.0
    if law is None:
        noise = noise_norm(d + 2, entry_deviation(n, d + 2, squared + HELD**2, polish, pure))
        return _Shares(spent, each, steps, reach, noise)
    price = polish * float(1 - sum(ROUNDS))
    curvature = noise_norm(d + 1, entry_deviation(n, d + 1, squared, price, pure))
    score = math.sqrt(squared / law.variance) * most_held(HELD) / n * math.sqrt(d + 1)
    pilot = score * sum_deviation(d + 1, polish * float(ROUNDS[-1]), pure=pure)
    return _Shares(spent, each, steps, reach, max(curvature, pilot))


def left_for_polish(
    n: int, spent: dict[str, Fraction], used: Fraction, questions: int, pure: bool
) -> Fraction:
    """What frame, counts, coarse steps and polish leave after `used`, the order statistic of the leverage and
    so many questions at its price. Those before use their shares at most: what is left then is left in every
    history."""
    parts = sum((spent[name] for name in ("frame", "heaps", "coarse", "polish")), Fraction(0))
    return parts - used - (1 + questions) * radius_price(n, pure)


def most_held(k: float) -> float:
    """The most that a residual of variance 1, held at k, is from its mean a: k, and |a| <= E (|r| - k)+ <=
    E r^2 / 4k = 1 / 4k."""
    return k + 1.0 / (4.0 * k)


def leverage_quantile(d: int) -> float:
    """The square of the radius at which leverage is held, of Gaussian regressors."""
    from scipy.stats import chi2

    return float(chi2.ppf(LEVERAGE, d))


def slope_of(k: float, *, redescend: bool) -> float:
    """Average slope of `held` at standard normal residuals."""
    inner = norm.cdf(k) - norm.cdf(-k)
    return float(inner - (2.0 * (norm.cdf(3.0 * k) - norm.cdf(2.0 * k)) if redescend else 0.0))
