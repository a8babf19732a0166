"""The mean of folded or of all records: a private frame, integers in a cube or ball, one noise.

Privacy: docs/proofs/gaussian_frame.md, docs/proofs/gaussian_whole_means.md (every step is a question of
docs/proofs/integer_queries.md)
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_sampler import DyadicBoxes
from sosdp.laboratory.packing_score import PackingScore
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries, sum_deviation
from sosdp.privacy.scores.location import coordinate_max, trimmed_weights
from sosdp.privacy.scores.score import cube
from sosdp.privacy.terms import join

from .budgets import Budget
from .columns import Columns
from .fold import cells, integers, norms, to_ball
from .frame import (
    Frame,
    each_epsilon,
    frame_dict,
    quantile_epsilon,
    radius_quantile,
    release_frame,
    scale_quantile,
    spread_missing,
)
from .planning import CELL_REACH, CUBE_REACH, MeanTask, Plan, noise_tails, trimmed_share
from .whole_means import release_ends

UNITS = 1 << 20  # steps from 0 to the edge of the cube or ball
LEAST_VARIANCE = 0.05  # of a folded column in units of its scale, in intervals
THIN = 0.3  # below this average square of a folded column its scale was that of a heap, not of the column
POOLED = 0.35  # noise of a variance beyond which all columns share one
MEDIAN_REACH = 8  # a median lies within so many scales of the centre of its frame
MEDIAN_STEPS = 1 << 16  # a scale
PACKING_REACH = 4  # a mean lies within so many scales of the centre of its frame
PACKING_CLIP = 2.0**10  # and records are clipped here
PACKING_SHARE = 0.85  # measured: least errors
LATTICE = 30  # bits of the trimmed score's lattice over half a width


def private_mean(
    entries: np.ndarray,
    columns: Columns,
    task: MeanTask,
    budget: Budget,
    plan: Plan,
    insecure_seed: int | None,
) -> Release:
    """The planned mean of (n, d) entries that `columns` has clipped.

    Value of the release: mean (d,), interval (d, 2) or None, noise_scale (d,) standard deviation of what was
    added, frame (arrays by name) or None, skewed (d,) bool (see `skewed`). Where all records count, also
    clipped_to (d, 2), the bounds, or clip points; clipped_share (d,), 95 % upper bounds of the share of
    records beyond clip points, 0 where there are bounds.
    """
    if plan.method == "packing":
        return _packing(entries, columns, task, plan, insecure_seed)
    if plan.method == "trimmed":
        return _trimmed(entries, columns, task, budget, insecure_seed)
    pure, ball = plan.method == "cube", plan.spent if plan.method == "ball" else None
    queries = budget.queries(task.n, insecure_seed, pure=pure, ball=ball, dimension=task.d)
    ends = release_ends(queries, entries, columns, task, plan) if plan.noise else None
    if ends is None:
        frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    else:
        frame = Frame((ends.low + ends.high) / 2.0, (ends.high - ends.low) / 2.0, ends.degenerate)
    y = frame.into(entries)  # a missing entry at the centre
    interval = None
    if plan.method == "median":
        mean, noise = _medians(queries, y, plan), np.full(task.d, np.nan)
    else:
        literal = columns.tight if ends is None else np.ones(task.d, dtype=bool)
        rows = (_in_a_cube if pure else _in_a_ball)(queries, y, literal, plan)
        seconds, spread = _seconds(queries, rows, plan.spent["interval"])
        mean, noise, tails = _average(queries, rows, plan)
        if plan.spent["interval"]:
            variance = np.maximum(seconds - mean**2, 0.0) + 2.0 * spread + noise**2
            others = np.maximum(seconds, LEAST_VARIANCE) + spread
            half = float(ndtri((1.0 + task.interval) / 2.0)) * np.sqrt(
                np.where(literal, variance, others) / task.n + tails * noise**2
            )
            # nearly all of such a column is one value, or has weight 0: its scale says nothing of the rest
            thin = ~literal & (seconds < np.minimum(THIN, 1.0 - 3.0 * spread))
            frame = replace(frame, degenerate=frame.degenerate | thin)
            half = np.where(frame.degenerate, np.nan, half)
            interval = np.stack([mean - half, mean + half], axis=1)
            interval = frame.centre[:, None] + frame.scale[:, None] * interval
    mean, noise = frame.centre + frame.scale * mean, frame.scale * noise
    low, high = (columns.low, columns.high) if ends is None else (ends.low, ends.high)
    folded = ends is None and plan.method != "median"
    value = {
        "mean": columns.raw(np.clip(mean, low, high)),
        "interval": None if interval is None else columns.raw(np.clip(interval.T, low, high).T),
        "noise_scale": noise,
        "frame": frame_dict(frame) if ends is None else None,
        "skewed": skewed(mean, frame, columns, task, plan) if folded else np.zeros(task.d, dtype=bool),
    }
    if ends is not None:
        value |= {
            "clipped_to": np.stack([low, high], axis=1),
            "clipped_share": ends.share,
            "degenerate": frame.degenerate,
        }
    name = "gaussian.mean" if ends is None else "gaussian.whole_mean"
    return queries.seal(value, mechanism=name, public=_public(task, plan.method, columns))


def skewed(mean: np.ndarray, frame: Frame, columns: Columns, task: MeanTask, plan: Plan) -> np.ndarray:
    """(d,) bool: columns whose mean is farther from their median than noise and wrong rows explain.

    Post-processing of a frame and a mean (d,). The noise of a median is of the order 2 / (n epsilon) ranks,
    and one near 0 may have been drawn to it, where the grid is dense.
    """
    if not columns.robust.size:
        return np.zeros(task.d, dtype=bool)
    ranks = 1.0 / (task.n * float(plan.frame_epsilon))
    room = 0.1 + 1.25 * task.contamination + 10.0 * ranks
    near = np.abs(frame.centre) < 0.01 * frame.scale
    away = np.abs(mean - frame.centre) / frame.scale
    return ~columns.tight & (away > room + np.where(near, 55.0 * ranks, 0.0))


def _public(task: MeanTask, method: str, columns: Columns) -> dict[str, Any]:
    return {
        "records": task.n,
        "dimension": task.d,
        "method": method,
        "contamination": task.contamination,
        "bounds": columns.bounds,
        "tight": columns.tight,
        "estimates": targets(columns, task, method),
    }


def targets(columns: Columns, task: MeanTask, method: str) -> tuple[str, ...]:
    """What each number of a release estimates, by public facts: intervals are intervals for that."""
    named = {"median": "median", "trimmed": "trimmed mean", "packing": "robust mean"}
    plain, middle = columns.tight, named.get(method, "folded mean")
    if task.contamination == 0 and method not in named:
        plain, middle = columns.known, "clipped mean"
    words = ["mean" if mean else middle for mean in plain.tolist()]
    logs = zip(words, columns.log.tolist(), strict=True)
    return tuple(f"exp({word} of logarithms)" if log else word for word, log in logs)


class Rows(NamedTuple):
    """Integers (n, d) of a cube or ball of radius UNITS, which is `reach` (d,) scales; `literal` (d,), the
    columns that are clipped to one scale and not folded; squared: that of the length that the others have."""

    counts: np.ndarray
    reach: np.ndarray
    literal: np.ndarray
    squared: float


def _in_a_cube(queries: IntegerQueries, y: np.ndarray, literal: np.ndarray, plan: Plan) -> Rows:
    """Every entry by itself; no question."""
    reach = np.where(literal, 1.0, CUBE_REACH)
    folded = np.where(literal, np.clip(y, -1.0, 1.0), cells(y, CUBE_REACH))
    return Rows(integers(folded / reach, 1.0 / UNITS), reach, literal, 0.0)


def _in_a_ball(queries: IntegerQueries, y: np.ndarray, literal: np.ndarray, plan: Plan) -> Rows:
    """Other columns folded to a released radius and literal ones in [-1, 1], together rows of one ball."""
    from scipy.stats import chi2

    rows, squared, others = np.clip(y, -1.0, 1.0), 0.0, int((~literal).sum())
    if others:
        z = cells(y[:, ~literal], CELL_REACH)
        price = plan.spent["radius"]
        quantile = math.sqrt(chi2.ppf(0.8, others))
        if price:
            quantile = radius_quantile(queries, norms(z), 0.8, others, quantile_epsilon(price))
        radius = plan.kappa * quantile
        squared = radius**2
        rows[:, ~literal] = to_ball(z, radius)
    reach = math.sqrt(squared + int(literal.sum())) * (1.0 + 1e-12)
    return Rows(integers(rows, reach / UNITS), np.full(y.shape[1], reach), literal, squared)


def _average(queries: IntegerQueries, rows: Rows, plan: Plan) -> tuple[np.ndarray, np.ndarray, float]:
    """Averages (d,) in scales, deviations (d,) of their noise, and how much heavier its tails are."""
    n, d = rows.counts.shape
    shape = "box" if queries.pure else "ball"
    if plan.method == "ball":
        sums, deviation = queries.ball_sum(rows.counts, UNITS)
    else:
        sums = queries.noisy_sum(rows.counts, UNITS, plan.spent["sum"], shape=shape)
        deviation = UNITS * sum_deviation(d, float(plan.spent["sum"]), pure=queries.pure, shape=shape)
    unit = rows.reach / (n * UNITS)
    tails = noise_tails(d, normal="sum" in plan.spent, shape=shape)
    return unit * np.array(sums, dtype=np.float64), unit * deviation, tails


def _seconds(queries: IntegerQueries, rows: Rows, price: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Averages of squares of the columns in squared scales, and the deviations of their noise; nothing for 0.

    A released radius may decide how zCDP is split: the pair of questions costs the price either way.
    """
    n, d = rows.counts.shape
    result, spread = np.zeros(d), np.zeros(d)
    if not price:
        return result, spread
    squares, small = rows.counts * rows.counts // UNITS, rows.reach**2 / (n * UNITS)
    if queries.pure:
        sums = queries.noisy_sum(squares, UNITS, price, shape="positive")
        return small * sums, small * UNITS * sum_deviation(d, float(price), pure=True, shape="positive")
    literal, reach = rows.literal, float(rows.reach[0])
    tight, robust = int(literal.sum()), d - int(literal.sum())
    share = Fraction(rows.squared) / (Fraction(rows.squared) + tight)
    if robust:
        bound = min(UNITS, math.ceil(rows.squared / reach**2 * UNITS))
        deviation = bound / math.sqrt(float(share * price))
        part = squares[:, ~literal]
        if deviation * small[0] <= POOLED:
            average = np.array(queries.noisy_sum(part, bound, share * price, shape="orthant")) * 1.0
        else:
            total = queries.noisy_sum(part.sum(axis=1)[:, None], bound, share * price, shape="positive")[0]
            average, deviation = np.array(total / robust), deviation / math.sqrt(2.0) / robust
        result[~literal], spread[~literal] = small[0] * average, small[0] * deviation
    if tight:
        bound = min(UNITS, math.ceil(UNITS / reach**2))
        sums = queries.noisy_sum(squares[:, literal], bound, (1 - share) * price, shape="positive")
        deviation = bound * math.sqrt(tight / (2.0 * float((1 - share) * price)))
        result[literal], spread[literal] = small[0] * np.array(sums, dtype=np.float64), small[0] * deviation
    return result, spread


def _medians(queries: IntegerQueries, y: np.ndarray, plan: Plan) -> np.ndarray:
    """Medians (d,) in the frame, on equal steps: those of the frame's own median are dense near 0."""
    n, d = y.shape
    each = each_epsilon(plan.spent["medians"], d, queries.pure)
    places = np.rint(np.clip(y, -MEDIAN_REACH, MEDIAN_REACH) * MEDIAN_STEPS).astype(np.int64)
    last = MEDIAN_REACH * MEDIAN_STEPS
    medians = [
        queries.order_statistic(column, (n + 1) // 2, low=-last, high=last, epsilon=each)
        for column in places.T
    ]
    return np.array(medians) / MEDIAN_STEPS


def _packing(entries: np.ndarray, columns: Columns, task: MeanTask, plan: Plan, seed: int | None) -> Release:
    """The frame, and a candidate in it by the packing score (docs/proofs/gaussian_scores.md)."""
    queries = IntegerQueries(task.n, epsilon=float(plan.spent["frame"]), insecure_seed=seed)
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    first = queries.seal(frame_dict(frame), mechanism="gaussian.frame", public={})
    n, d = entries.shape
    spacing = Fraction(2) ** -math.ceil(math.log2(64.0 * math.sqrt(n)))
    q = scale_quantile(n, float(plan.frame_epsilon), task.contamination)
    lam = packing_bound(q, task.contamination)
    problem = PackingProblem("identity", d, lam, clip=PACKING_CLIP)
    second = pure_exponential(
        PackingScore(problem, cube(spacing, PACKING_REACH, d), n),
        frame.into(entries),
        epsilon=float(plan.spent["draw"]),
        sampler=DyadicBoxes(),
        mechanism="gaussian.mean.draw",
        insecure_seed=None if seed is None else seed + 1,
    )
    value = _drawn(columns.raw(frame.centre + frame.scale * np.asarray(second.value)), frame)
    public = _public(task, "packing", columns)
    return join([first, second], value, mechanism="gaussian.mean", public=public)


def packing_bound(q: float, contamination: float) -> float:
    """lam: a little below the variance of the rows that are right, in a frame of the q-quantile.

    Wrong rows widen the frame. With a larger lam what was given up could be completed, at no cost, to any
    mean near by; with this one the score is least at one place.
    """
    right = ndtri((1.0 + q) / 2.0) / ndtri((1.0 + q / (1.0 - contamination)) / 2.0)
    return float(PACKING_SHARE * (1.0 - contamination) * right**2)


def _trimmed(
    entries: np.ndarray, columns: Columns, task: MeanTask, budget: Budget, insecure_seed: int | None
) -> Release:
    assert budget.epsilon is not None
    n, d = entries.shape
    half = (columns.high - columns.low) / 2.0
    middle = columns.low + half
    count = math.floor(trimmed_share(task, budget.epsilon) * n)
    lattice = cube(Fraction(1, 2**LATTICE), Fraction(1), d)
    score = coordinate_max(trimmed_weights(n, count), lattice, refine=16)
    filled = [
        spread_missing(entries[:, j], 0.5, (float(columns.low[j]), float(columns.high[j]))) for j in range(d)
    ]
    result = pure_exponential(
        score,
        np.clip((np.stack(filled, axis=1) - middle) / half, -1.0, 1.0),
        epsilon=budget.epsilon,
        mechanism="gaussian.mean",
        insecure_seed=insecure_seed,
    )
    value = _drawn(columns.raw(middle + half * np.asarray(result.value)), None)
    return Release(value, result.guarantee, public=_public(task, "trimmed", columns))


def _drawn(mean: np.ndarray, frame: Frame | None) -> dict[str, Any]:
    """The value of a release whose mean is one draw: no noise, no interval."""
    nothing = np.full(mean.shape, np.nan)
    return {
        "mean": mean,
        "interval": None,
        "noise_scale": nothing,
        "frame": frame_dict(frame),
        "skewed": np.zeros(mean.shape, dtype=bool),
    }
