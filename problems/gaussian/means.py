"""The mean of folded records: a private frame, integers in a cube or ball, one noise.

Privacy: docs/proofs/gaussian_frame.md (every step is a question of docs/proofs/integer_queries.md)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtri

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries
from sosdp.privacy.scores.location import coordinate_max, trimmed_weights
from sosdp.privacy.scores.score import cube

from .columns import Columns
from .fold import cells, integers, norms, to_ball
from .frame import Frame, frame_dict, radius_quantile, release_frame
from .planning import (
    CELL_REACH,
    Budget,
    MeanTask,
    Plan,
    ball_kappa,
    cube_reach,
    quantile_epsilon,
    trimmed_share,
)

UNITS = 1 << 20  # steps from 0 to the edge of the cube or ball
LEAST_VARIANCE = 0.05  # of a folded column in units of its scale, in intervals
POOLED = 0.35  # noise of a variance beyond which all columns share one
LATTICE = 30  # bits of the trimmed score's lattice over half a width
CUBE_TAILS = 1.17  # cube noise has heavier tails than a Gaussian of its variance


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
    added, frame (arrays by name) or None.
    """
    if plan.method == "trimmed":
        return _trimmed(entries, columns, task, budget, insecure_seed)
    pure = plan.method == "cube"
    queries = IntegerQueries(
        task.n,
        epsilon=budget.epsilon,
        delta=0.0 if pure else budget.delta,
        rho=None if budget.epsilon is not None else budget.rho,
        insecure_seed=insecure_seed,
    )
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    run = _cube if pure else _gaussian
    mean, half, noise = run(queries, frame.into(entries), columns, frame, task, plan)
    interval = None if half is None else np.stack([mean - half, mean + half], axis=1)
    value = {"mean": mean, "interval": interval, "noise_scale": noise, "frame": frame_dict(frame)}
    return queries.seal(value, mechanism="gaussian.mean", public=_public(task, plan.method, columns))


def _public(task: MeanTask, method: str, columns: Columns) -> dict[str, Any]:
    return {
        "records": task.n,
        "dimension": task.d,
        "method": method,
        "contamination": task.contamination,
        "bounds": columns.bounds,
        "tight": columns.tight,
    }


def _cube(
    queries: IntegerQueries, y: np.ndarray, columns: Columns, frame: Frame, task: MeanTask, plan: Plan
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    n, d = y.shape
    epsilon = plan.spent["sum"]
    c = cube_reach(task, float(epsilon))
    reach = np.where(columns.tight, 1.0, c)
    folded = cells(y, c) if task.contamination > 0 else np.clip(y, -c, c)
    folded = np.where(columns.tight, np.clip(y, -1.0, 1.0), folded)
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
        half = _half_width(task, unit, seconds, spread, noise * math.sqrt(CUBE_TAILS), reach)
    return frame.centre + unit * sums, half, noise


def _gaussian(
    queries: IntegerQueries, y: np.ndarray, columns: Columns, frame: Frame, task: MeanTask, plan: Plan
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    n, d = y.shape
    robust, tight = columns.robust, np.flatnonzero(columns.tight)
    mean, noise, half = frame.centre.copy(), np.zeros(d), np.zeros(d)
    rho, extra = plan.spent["sum"], plan.spent["interval"]
    share = Fraction(1)
    if robust.size:
        z = cells(y[:, robust], CELL_REACH) if task.contamination > 0 else y[:, robust]
        price = quantile_epsilon(plan.spent["radius"])
        quantile = radius_quantile(queries, norms(z), 0.8, robust.size, price)
        radius = ball_kappa(task, robust.size, rho) * quantile
        if tight.size:  # the released radius may decide how rho is split: the pair costs rho either way
            squared = Fraction(radius) ** 2
            share = squared / (squared + tight.size)
        counts = integers(to_ball(z, radius, redescend=task.contamination > 0), radius / UNITS)
        sums = queries.gaussian_sum(counts, UNITS, share * rho)
        unit = frame.scale[robust] * radius / (n * UNITS)
        mean[robust] += unit * np.array(sums, dtype=np.float64)
        noise[robust] = unit * 2.0 * UNITS / math.sqrt(2.0 * float(share * rho))
        if extra:
            seconds, spread = _ball_seconds(queries, counts, share * extra, n, radius)
            reach = np.full(robust.size, radius)
            half[robust] = _half_width(task, unit, seconds, spread, noise[robust], reach)
    if tight.size:
        rest = 1 - share if robust.size else Fraction(1)
        counts = integers(np.clip(y[:, tight], -1.0, 1.0), 1.0 / UNITS)
        sums = queries.gaussian_sum(counts, UNITS, rest * rho, shape="box")
        unit = frame.scale[tight] / (n * UNITS)
        mean[tight] += unit * np.array(sums, dtype=np.float64)
        noise[tight] = unit * 2.0 * UNITS * math.sqrt(tight.size / (2.0 * float(rest * rho)))
        if extra:
            squares = counts * counts // UNITS
            found = queries.gaussian_sum(squares, UNITS, rest * extra, shape="positive")
            spread = UNITS * math.sqrt(tight.size / (2.0 * float(rest * extra)))
            ones = np.ones(tight.size)
            seconds = np.array(found, dtype=np.float64)
            half[tight] = _half_width(task, unit, seconds, spread, noise[tight], ones)
    return mean, half if extra else None, noise


def _ball_seconds(
    queries: IntegerQueries, counts: np.ndarray, rho: Fraction, n: int, radius: float
) -> tuple[np.ndarray, float]:
    """Sums of squares of the columns in units of 1/UNITS squared radii, and the deviation of their noise."""
    d = counts.shape[1]
    squares = counts * counts // UNITS
    spread = UNITS * math.sqrt(2.0 / (2.0 * float(rho)))
    if radius**2 * spread / (n * UNITS) <= POOLED:
        return np.array(queries.gaussian_sum(squares, UNITS, rho, shape="orthant"), dtype=np.float64), spread
    pooled = queries.gaussian_sum(squares.sum(axis=1)[:, None], UNITS, rho, shape="positive")[0]
    return np.full(d, pooled / d), UNITS / math.sqrt(2.0 * float(rho)) / d


def _half_width(
    task: MeanTask, unit: np.ndarray, seconds: np.ndarray, spread: float, noise: np.ndarray, reach: np.ndarray
) -> np.ndarray:
    """Half the interval: deviations of the average of folded records and of the noise, in quadrature.

    unit: what one step of a sum is worth; seconds: noisy sums of squares in 1/UNITS squared reaches, spread
    the deviation of their noise.
    """
    small = reach**2 / (task.n * UNITS)
    variance = np.maximum(seconds * small, LEAST_VARIANCE) + spread * small
    scale = unit * task.n * UNITS / reach
    return float(ndtri((1.0 + task.interval) / 2.0)) * np.sqrt(scale**2 * variance / task.n + noise**2)


def _trimmed(
    entries: np.ndarray, columns: Columns, task: MeanTask, budget: Budget, insecure_seed: int | None
) -> Release:
    assert columns.low is not None and columns.high is not None and budget.epsilon is not None
    n, d = entries.shape
    half = (columns.high - columns.low) / 2.0
    middle = columns.low + half
    count = math.floor(trimmed_share(task, budget.epsilon) * n)
    lattice = cube(Fraction(1, 2**LATTICE), Fraction(1), d)
    score = coordinate_max(trimmed_weights(n, count), lattice, refine=16)
    found = pure_exponential(
        score,
        np.clip((entries - middle) / half, -1.0, 1.0),
        epsilon=budget.epsilon,
        mechanism="gaussian.mean",
        insecure_seed=insecure_seed,
    )
    mean = middle + half * np.asarray(found.value)
    value = {"mean": mean, "interval": None, "noise_scale": np.full(d, np.nan), "frame": None}
    return Release(value, found.guarantee, public=_public(task, "trimmed", columns))
