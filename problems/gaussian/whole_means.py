"""The mean of all records: every one counts, clipped at public bounds, or at released points and then
called so.

Nothing is folded away. A column with bounds is averaged between them. One without is averaged between two
order statistics near its ends, which are published with the number of records that they clip: what is
estimated is the mean clipped there.

Privacy: docs/proofs/gaussian_whole_means.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries

from .budgets import Budget
from .columns import Columns
from .fold import integers
from .frame import between_octaves, each_epsilon, release_frame
from .planning import MeanTask, Plan, clip_rank

UNITS = 1 << 20  # steps from the middle to a bound
CUBE_TAILS = 1.17  # cube noise has heavier tails than a Gaussian of its variance
BALL_TAILS = 0.34  # and so has ball noise, 1.17 in one dimension
MISSES = 20.0  # one over the chance that a share is above its bound
FARTHEST = 202  # octaves of a scale at which records lie at most
NEAREST = 10  # octaves below a scale that are told from 0


class Ends(NamedTuple):
    """Where columns are clipped, low and high (d,), and upper bounds (d,) of the share of records beyond."""

    low: np.ndarray
    high: np.ndarray
    share: np.ndarray


def whole_mean(
    entries: np.ndarray,
    columns: Columns,
    task: MeanTask,
    budget: Budget,
    plan: Plan,
    insecure_seed: int | None,
) -> Release:
    """The planned mean of all (n, d) entries that `columns` has clipped; a missing one counts as the middle.

    Value of the release: mean (d,); interval (d, 2) or None; noise_scale (d,), standard deviation of the
    noise; clipped_to (d, 2), the bounds, or clip points; clipped_share (d,), 95 % upper bounds of the share
    of records beyond clip points, 0 where there are bounds.
    """
    ball = plan.spent if plan.method == "ball" else None
    pure = plan.method == "cube"
    queries = budget.queries(task.n, insecure_seed, pure=pure, ball=ball, dimension=task.d)
    ends = release_ends(queries, entries, columns, task, plan)
    middle, half = (ends.low + ends.high) / 2.0, (ends.high - ends.low) / 2.0
    y = np.where(np.isnan(entries), 0.0, np.clip((entries - middle) / half, -1.0, 1.0))
    seconds, spread = _seconds(queries, y, plan)
    average, noise, tails = _average(queries, y, plan)
    value = {
        "mean": columns.raw(np.clip(middle + half * average, ends.low, ends.high)),
        "interval": None,
        "noise_scale": half * noise,
        "frame": None,
        "skewed": np.zeros(task.d, dtype=bool),
        "clipped_to": np.stack([ends.low, ends.high], axis=1),
        "clipped_share": ends.share,
    }
    if plan.spent["interval"]:
        variance = np.maximum(seconds - average**2, 0.0) + 2.0 * spread + noise**2
        width = float(ndtri((1.0 + task.interval) / 2.0)) * np.sqrt(variance / task.n + tails * noise**2)
        interval = middle[:, None] + half[:, None] * np.stack([average - width, average + width], axis=1)
        value["interval"] = columns.raw(np.clip(interval, ends.low[:, None], ends.high[:, None]))
    public = {
        "records": task.n,
        "dimension": task.d,
        "method": plan.method,
        "contamination": 0.0,
        "bounds": columns.bounds,
        "tight": columns.tight,
        "estimates": whole_targets(columns),
    }
    return queries.seal(value, mechanism="gaussian.whole_mean", public=public)


def whole_targets(columns: Columns) -> tuple[str, ...]:
    """What each number estimates, by public facts."""
    words = ["mean" if known else "clipped mean" for known in columns.known.tolist()]
    return tuple(
        f"exp({word} of logarithms)" if log else word
        for word, log in zip(words, columns.log.tolist(), strict=True)
    )


def release_ends(
    queries: IntegerQueries, entries: np.ndarray, columns: Columns, task: MeanTask, plan: Plan
) -> Ends:
    """Bounds where there are any; otherwise the frame's column, two order statistics in it, and a count."""
    low, high, share = columns.low.copy(), columns.high.copy(), np.zeros(task.d)
    learnt = np.flatnonzero(~columns.known)
    if not learnt.size:
        return Ends(low, high, share)
    frame = release_frame(queries, entries, columns.all_counted(), plan.frame_epsilon, 0.0)
    y = frame.into(entries)  # a missing entry at the median: it moves neither end
    epsilon = each_epsilon(plan.spent["clip"], 2 * learnt.size, queries.pure)
    rank = clip_rank(epsilon)
    price = plan.spent["count"] / learnt.size
    for j in learnt:
        points = [
            between_octaves(queries, y[:, j], place, (-NEAREST, FARTHEST), epsilon)
            for place in (rank, task.n + 1 - rank)
        ]
        first, last = sorted(frame.centre[j] + frame.scale[j] * point for point in points)
        room = max(abs(first), abs(last), 2.0**-300) * 2.0**-40  # ends that are the same leave no width
        low[j], high[j] = first - room, last + room
        beyond = (entries[:, j] < low[j]) | (entries[:, j] > high[j])
        share[j] = _count_bound(queries, beyond, price) / task.n
    return Ends(low, high, np.minimum(share, 1.0))


def _count_bound(queries: IntegerQueries, flags: np.ndarray, price: Fraction) -> int:
    """A number above the count of flags (n,), but for a chance of 1 / MISSES.

    Two-sided geometric noise is below -t with chance r^(t+1)/(1+r), r = e^-price; a discrete Gaussian of
    variance v below it with at most e^(-t^2/2v).
    """
    counts = flags.astype(np.int64)[:, None]
    if queries.pure:
        room = math.ceil(math.log(MISSES / 2.0) / price)
        return max(0, queries.cube_sum(counts, 1, price, positive=True)[0] + room)
    room = math.ceil(math.sqrt(math.log(MISSES) / float(price)))
    return max(0, queries.gaussian_sum(counts, 1, price, shape="positive")[0] + room)


def _seconds(queries: IntegerQueries, y: np.ndarray, plan: Plan) -> tuple[np.ndarray, float]:
    """Average squares (d,) of y in [-1, 1], and the deviation of their noise."""
    n, d = y.shape
    price = plan.spent["interval"]
    if not price:
        return np.zeros(d), 0.0
    counts = integers(y, 1.0 / UNITS)
    squares = counts * counts // UNITS
    if queries.pure:
        sums = queries.cube_sum(squares, UNITS, price, positive=True)
        spread = math.sqrt((d + 1) * (d + 2) / 3.0) / (n * float(price))
    else:
        sums = queries.gaussian_sum(squares, UNITS, price, shape="positive")
        spread = math.sqrt(d / (2.0 * float(price))) / n
    return np.array(sums, dtype=np.float64) / (UNITS * n), spread


def _average(queries: IntegerQueries, y: np.ndarray, plan: Plan) -> tuple[np.ndarray, float, float]:
    """Averages (d,) of y in [-1, 1]^d, the deviation of their noise, and how much heavier its tails are."""
    n, d = y.shape
    if plan.method == "cube":
        sums = queries.cube_sum(integers(y, 1.0 / UNITS), UNITS, plan.spent["sum"])
        return np.array(sums, dtype=np.float64) / (UNITS * n), plan.noise, CUBE_TAILS
    reach = math.sqrt(d) * (1.0 + 1e-12)
    counts = integers(y, reach / UNITS)
    tails = 1.0
    if plan.method == "ball":
        sums, _ = queries.ball_sum(counts, UNITS)
        tails += BALL_TAILS / (d + 1)
    else:
        sums = queries.gaussian_sum(counts, UNITS, plan.spent["sum"])
    return np.array(sums, dtype=np.float64) * (reach / (UNITS * n)), plan.noise, tails
