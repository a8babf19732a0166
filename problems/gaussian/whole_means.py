"""Where the mean of all records clips them: at public bounds, or at released points, and then it says so.

No row gets weight 0. A column with bounds is averaged between them. One without is averaged between two
order statistics near its ends, which are published with the number of records that they clip: what is
estimated is the mean clipped there.

Privacy: docs/proofs/gaussian_whole_means.md
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sosdp.privacy.mechanisms.integer_queries import IntegerQueries

from .columns import Columns
from .frame import between_octaves, each_epsilon, release_frame
from .planning import MeanTask, Plan, clip_rank

MISSES = 20.0  # one over the chance that a share is above its bound
FARTHEST = 202  # octaves of a scale at which records lie at most
NEAREST = 10  # octaves below a scale that are told from 0
GRID = 2.0**-10  # of an end: at least a step of its grid, so that a value that many records share is inside
DISTANT = 4.0  # records so many widths beyond an end are lost, not clipped
MOST_SHARE = 1.0 / 3.0  # of records beyond the ends, from which on they say nothing of the mean


class Ends(NamedTuple):
    """Where columns are clipped, low and high (d,), upper bounds (d,) of the share of records beyond, and
    where many of them lie beyond, or some far beyond, so that there is no interval, (d,) bool."""

    low: np.ndarray
    high: np.ndarray
    share: np.ndarray
    degenerate: np.ndarray


def release_ends(
    queries: IntegerQueries, entries: np.ndarray, columns: Columns, task: MeanTask, plan: Plan
) -> Ends:
    """Bounds where there are any; otherwise the frame's column, two order statistics in it, two counts."""
    low, high = columns.low.copy(), columns.high.copy()
    share, distant = np.zeros((2, task.d))
    learnt = np.flatnonzero(~columns.known)
    if not learnt.size:
        return Ends(low, high, share, distant > 0.0)
    frame = release_frame(queries, entries, replace(columns, tight=columns.known), plan.frame_epsilon, 0.0)
    y = frame.into(entries)  # a missing entry at the median: it moves neither end
    epsilon = each_epsilon(plan.spent["clip"], 2 * learnt.size, queries.pure)
    rank = clip_rank(epsilon)
    price = plan.spent["count"] / (2 * learnt.size)
    for j in learnt:
        points = [
            between_octaves(queries, y[:, j], place, (-NEAREST, FARTHEST), epsilon)
            for place in (rank, task.n + 1 - rank)
        ]
        first, last = sorted(frame.centre[j] + frame.scale[j] * point for point in points)
        step = GRID * float(frame.scale[j]) * max(map(abs, points))
        room = (
            step + max(abs(first), abs(last), 2.0**-300) * 2.0**-40
        )  # ends that are the same leave no width
        low[j], high[j] = first - room, last + room
        beyond = np.maximum(low[j] - entries[:, j], entries[:, j] - high[j])  # NaN where an entry is missing
        share[j] = count_bound(queries, beyond > 0.0, price) / task.n
        distant[j] = count_bound(queries, beyond > DISTANT * (high[j] - low[j]), price)
    return Ends(
        low,
        high,
        np.minimum(share, 1.0),
        (share > MOST_SHARE) | (distant > 3 * count_noise(price, queries.pure)),
    )


def count_bound(queries: IntegerQueries, flags: np.ndarray, price: Fraction) -> int:
    """A number above the count of flags (n,), but for a chance of 1 / MISSES."""
    counts = flags.astype(np.int64)[:, None]
    count = queries.noisy_sum(counts, 1, price, shape="positive")[0]
    return max(0, count + count_noise(price, queries.pure))


def count_noise(price: Fraction, pure: bool, misses: float = MISSES) -> int:
    """What the noise of a count is above, downwards, but for a chance of 1 / misses; upwards as well.

    Two-sided geometric noise is below -t with chance r^(t+1)/(1+r), r = e^-price; a discrete Gaussian of
    variance v below it with at most e^(-t^2/2v).
    """
    if pure:
        return math.ceil(math.log(misses / 2.0) / price)
    return math.ceil(math.sqrt(math.log(misses) / float(price)))
