"""The mean of folded records: a private frame, integers in a cube or ball, one noise.

Privacy: docs/proofs/gaussian_frame.md (every step is a question of docs/proofs/integer_queries.md)
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtri

from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_sampler import DyadicBoxes
from sosdp.laboratory.packing_score import PackingScore
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries
from sosdp.privacy.scores.location import coordinate_max, trimmed_weights
from sosdp.privacy.scores.score import cube
from sosdp.privacy.terms import join

from .budgets import Budget
from .columns import Columns
from .fold import cells, integers, norms, to_ball
from .frame import (
    Frame,
    frame_dict,
    quantile_epsilon,
    radius_quantile,
    release_frame,
    scale_quantile,
    spread_missing,
)
from .planning import CELL_REACH, CUBE_REACH, MeanTask, Plan, trimmed_share
from .whole_means import BALL_TAILS, CUBE_TAILS, whole_mean, whole_targets

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
    added, frame (arrays by name) or None, skewed (d,) bool (see `skewed`).
    """
    if plan.method == "packing":
        return _packing(entries, columns, task, plan, insecure_seed)
    if plan.method == "trimmed":
        return _trimmed(entries, columns, task, budget, insecure_seed)
    if plan.noise:
        return whole_mean(entries, columns, task, budget, plan, insecure_seed)
    if plan.method == "median":
        return _medians(entries, columns, task, budget, plan, insecure_seed)
    pure = plan.method == "cube"
    ball = plan.spent if plan.method == "ball" else None
    queries = budget.queries(task.n, insecure_seed, pure=pure, ball=ball, dimension=task.d)
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    run = _cube if pure else _in_a_ball
    mean, half, noise = run(queries, frame.into(entries), columns, frame, task, plan)
    if half is not None:
        frame = replace(frame, degenerate=frame.degenerate | (np.isnan(half) & ~columns.tight))
    interval = None if half is None else columns.raw(np.stack([mean - half, mean + half], axis=1))
    value = {
        "mean": columns.raw(mean),
        "interval": interval,
        "noise_scale": noise,
        "frame": frame_dict(frame),
        "skewed": skewed(mean, frame, columns, task, plan),
    }
    return queries.seal(value, mechanism="gaussian.mean", public=_public(task, plan.method, columns))


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
    if task.contamination == 0 and method not in ("median", "trimmed", "packing"):
        return whole_targets(columns)
    middle = {"median": "median", "trimmed": "trimmed mean", "packing": "robust mean"}.get(
        method, "folded mean"
    )
    return tuple(
        f"exp({middle} of logarithms)" if log else "mean" if tight else middle
        for log, tight in zip(columns.log.tolist(), columns.tight.tolist(), strict=True)
    )


def _cube(
    queries: IntegerQueries, y: np.ndarray, columns: Columns, frame: Frame, task: MeanTask, plan: Plan
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    n, d = y.shape
    epsilon = plan.spent["sum"]
    reach = np.where(columns.tight, 1.0, CUBE_REACH)
    folded = np.where(columns.tight, np.clip(y, -1.0, 1.0), cells(y, CUBE_REACH))
    counts = integers(folded / reach, 1.0 / UNITS)
    sums = np.array(queries.cube_sum(counts, UNITS, epsilon), dtype=np.float64)
    unit = frame.scale * reach / (n * UNITS)
    deviation = 2.0 * UNITS / float(epsilon) * math.sqrt((d + 1) * (d + 2) / 3.0)
    noise = unit * deviation
    half = None
    if plan.spent["interval"]:
        price = plan.spent["interval"]
        squares = counts * counts // UNITS
        seconds = np.array(queries.cube_sum(squares, UNITS, price, positive=True), dtype=np.float64)
        spread = UNITS / float(price) * math.sqrt((d + 1) * (d + 2) / 3.0)
        small = reach**2 / (n * UNITS)
        noisy = noise * math.sqrt(CUBE_TAILS)
        seconds, spread = seconds * small, spread * small
        half = _half_width(task, frame, seconds, spread, noisy)
        half = np.where(_thin(seconds, spread, columns), np.nan, half)
    return frame.centre + unit * sums, half, noise


def _in_a_ball(
    queries: IntegerQueries, y: np.ndarray, columns: Columns, frame: Frame, task: MeanTask, plan: Plan
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Robust columns folded to a released radius and tight ones in [-1, 1], together rows of one ball."""
    from scipy.stats import chi2

    n, d = y.shape
    robust, tight = columns.robust, np.flatnonzero(columns.tight)
    rows, squared = np.empty((n, d)), 0.0
    if robust.size:
        z = cells(y[:, robust], CELL_REACH)
        price = plan.spent["radius"]
        quantile = math.sqrt(chi2.ppf(0.8, robust.size))
        if price:
            quantile = radius_quantile(queries, norms(z), 0.8, robust.size, quantile_epsilon(price))
        radius = plan.kappa * quantile
        squared = radius**2
        rows[:, robust] = to_ball(z, radius)
    rows[:, tight] = np.clip(y[:, tight], -1.0, 1.0)
    reach = math.sqrt(squared + tight.size) * (1.0 + 1e-12)
    counts = integers(rows, reach / UNITS)
    unit = frame.scale * reach / (n * UNITS)
    seconds, spread = _seconds(queries, counts, columns, plan.spent["interval"], (reach, squared))
    if plan.method == "ball":
        sums, deviation = queries.ball_sum(counts, UNITS)
        tails = 1.0 + BALL_TAILS / (d + 1)
    else:
        sums = queries.gaussian_sum(counts, UNITS, plan.spent["sum"])
        deviation, tails = 2.0 * UNITS / math.sqrt(2.0 * float(plan.spent["sum"])), 1.0
    mean, noise = frame.centre + unit * np.array(sums, dtype=np.float64), unit * deviation
    if seconds is None:
        return mean, None, noise
    half = _half_width(task, frame, seconds, spread, noise * math.sqrt(tails))
    return mean, np.where(_thin(seconds, spread, columns), np.nan, half), noise


def _seconds(
    queries: IntegerQueries, counts: np.ndarray, columns: Columns, rho: Fraction, lengths: tuple[float, float]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Averages of squares of the columns in squared scales, and the deviations of their noise; None for 0.

    lengths: the reach of a row, and the square of that of its robust part. The released radius may decide how
    rho is split: the pair of questions costs rho either way.
    """
    n, d = counts.shape
    if not rho:
        return None, np.zeros(d)
    robust, tight = columns.robust, np.flatnonzero(columns.tight)
    reach, squared = lengths
    share = Fraction(squared) / (Fraction(squared) + tight.size)
    squares = counts * counts // UNITS
    small = reach**2 / (n * UNITS)
    result, spread = np.zeros(d), np.zeros(d)
    if robust.size:
        bound = min(UNITS, math.ceil(squared / reach**2 * UNITS))
        deviation = bound * math.sqrt(2.0 / (2.0 * float(share * rho)))
        part = squares[:, robust]
        if deviation * small <= POOLED:
            sums = queries.gaussian_sum(part, bound, share * rho, shape="orthant")
            result[robust], spread[robust] = small * np.array(sums, dtype=np.float64), small * deviation
        else:
            pooled = queries.gaussian_sum(part.sum(axis=1)[:, None], bound, share * rho, shape="positive")[0]
            result[robust] = small * pooled / robust.size
            spread[robust] = small * bound / math.sqrt(2.0 * float(share * rho)) / robust.size
    if tight.size:
        bound = min(UNITS, math.ceil(UNITS / reach**2))
        sums = queries.gaussian_sum(squares[:, tight], bound, (1 - share) * rho, shape="positive")
        result[tight] = small * np.array(sums, dtype=np.float64)
        spread[tight] = small * bound * math.sqrt(tight.size / (2.0 * float((1 - share) * rho)))
    return result, spread


def _half_width(
    task: MeanTask, frame: Frame, seconds: np.ndarray, spread: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Half the interval: deviations of the average of folded records and of the noise, in quadrature.

    seconds, spread: average squares of the columns in squared scales, and the deviations of their noise.
    """
    variance = np.maximum(seconds, LEAST_VARIANCE) + spread
    half = float(ndtri((1.0 + task.interval) / 2.0)) * np.sqrt(frame.scale**2 * variance / task.n + noise**2)
    return np.where(frame.degenerate, np.nan, half)


def _thin(seconds: np.ndarray, spread: np.ndarray, columns: Columns) -> np.ndarray:
    """Robust columns nearly all of which is one value, or folded away: their scale says nothing of the rest.

    Post-processing of what intervals are made of; a Gaussian column is taken for one at three deviations.
    """
    return ~columns.tight & (seconds < np.minimum(THIN, 1.0 - 3.0 * spread))


def _medians(
    entries: np.ndarray, columns: Columns, task: MeanTask, budget: Budget, plan: Plan, seed: int | None
) -> Release:
    queries = budget.queries(task.n, seed)
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    # in the frame, on equal steps: those of the frame's own median are dense near 0
    price = plan.spent["medians"] / task.d
    each = price if queries.pure else quantile_epsilon(price)
    y = frame.into(entries)
    places = np.rint(np.clip(y, -MEDIAN_REACH, MEDIAN_REACH) * MEDIAN_STEPS).astype(np.int64)
    last = MEDIAN_REACH * MEDIAN_STEPS
    result = [
        queries.order_statistic(places[:, j], (task.n + 1) // 2, low=-last, high=last, epsilon=each)
        for j in range(task.d)
    ]
    medians = frame.centre + frame.scale * np.array(result) / MEDIAN_STEPS
    nothing = np.full(task.d, np.nan)
    value = {
        "mean": columns.raw(medians),
        "interval": None,
        "noise_scale": nothing,
        "frame": frame_dict(frame),
        "skewed": np.zeros(task.d, dtype=bool),
    }
    return queries.seal(value, mechanism="gaussian.mean", public=_public(task, "median", columns))


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
    value = {
        "mean": columns.raw(frame.centre + frame.scale * np.asarray(second.value)),
        "interval": None,
        "noise_scale": np.full(d, np.nan),
        "frame": frame_dict(frame),
        "skewed": np.zeros(d, dtype=bool),
    }
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
    mean = middle + half * np.asarray(result.value)
    value = {
        "mean": columns.raw(mean),
        "interval": None,
        "noise_scale": np.full(d, np.nan),
        "frame": None,
        "skewed": np.zeros(d, dtype=bool),
    }
    return Release(value, result.guarantee, public=_public(task, "trimmed", columns))
