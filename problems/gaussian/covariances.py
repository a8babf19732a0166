"""Covariance, and mean, of folded records: coarse steps whiten, one last question is the answer.

Privacy: docs/proofs/gaussian_whitening.md
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.guarantee.release import Release

from .budgets import Budget
from .columns import Columns
from .frame import Frame, frame_dict, release_frame
from .means import skewed
from .planning import MeanTask, Plan, enough, frame_share, order_seconds, too_few
from .whitening import (
    COARSE_SLACK,
    HEAPS,
    Moments,
    Whitening,
    consistency,
    ends_of,
    entry_deviation,
    radius_price,
    schedule,
    without_heaps,
)
from .whole_means import count_bound, count_noise

COARSE = Fraction(3, 10)  # of what the frame leaves
MEAN_SLACK = 0.25  # a^2 / C^2 of the last question where the mean is wanted too
FRAME = 0.06  # of the budget
CLIP, COUNT = Fraction(15, 100), Fraction(6, 100)  # of that, where all records count
MOST_BEYOND = 3  # at most one over so many records beyond the outer end
UNNOTICED = 0.2  # of the noise of their count: rows beyond that a plan expects
MOST_SCALES = 3.0  # scales of the frame that a column's deviation may be by what the noise hides
THIN = 0.1  # variance of a column in squares of its scale
LARGEST = 50  # columns
MOST_PRIVATE = 0.5  # error of pure noise beyond which nothing is said
DIGITS = 1e-13  # least eigenvalue of correlations that floats can tell from 0
EVERY_ROW = "covariance of all rows, those beyond a released ellipsoid moved onto it"
NORMAL = "covariance of normal columns, by rows near the centre: heavier tails are read as smaller variances"
NAMES = {True: "gaussian.learner", False: "gaussian.covariance"}  # of releases with and without a mean
MORE = 1.25  # an error that is so many times the plan's is flagged


def plan_covariance(task: MeanTask, budget: Budget, *, mean: bool) -> Plan:
    """Shares, predicted errors and reach of a covariance (and mean).

    Raises:
        TooFewRecords: with the n that would do. ValueError: over 50 columns.
    """
    if task.d > LARGEST:
        raise ValueError(f"at most {LARGEST} columns, got {task.d}: project to fewer by a public map")
    return enough(task, f"records of d = {task.d} columns", lambda more: _planned(more, budget, mean))


def shares(task: MeanTask, rest: Fraction) -> dict[str, Fraction]:
    """What the frame leaves, by name: every question but the last has its share."""
    spent = {"coarse": rest * COARSE, "heaps": rest * HEAPS * bool(task.robust)}
    if not task.contamination:
        spent |= {"clip": rest * CLIP, "count": rest * COUNT}
    return spent | {"final": rest - sum(spent.values())}


def _planned(task: MeanTask, budget: Budget, mean: bool) -> Plan:
    from scipy.stats import chi2

    total, pure = budget.total, budget.pure
    n, d = task.n, task.d
    frame, each = frame_share(task, total, FRAME, pure=pure)
    spent = {"frame": frame, **shares(task, total - frame)}
    steps, reach = schedule(n, d, spent["coarse"], pure)
    last = spent["final"] - (radius_price(n, pure) if task.contamination else 0)
    if not steps or last <= 0:
        raise too_few(n, "records", n + 1)
    squared, gamma, charge = float(chi2.ppf(0.95, d)), consistency(d), 0.0
    if not task.contamination:
        ends = ends_of(n, d, spent["clip"], last, pure)
        if MOST_BEYOND * ends.ranks[1] > n:
            raise too_few(n, "records", n + 1)
        inner, outer = (math.sqrt(chi2.ppf(1.0 - rank / n, d)) for rank in ends.ranks)
        squared, gamma = ends.beyond(inner, outer) ** 2, 1.0
        charge = UNNOTICED * count_noise(spent["count"], pure) / n * squared

    def private(price: Fraction) -> float:
        reach = squared * (1.0 + (MEAN_SLACK if mean else COARSE_SLACK))
        deviation = entry_deviation(n, d + 1, reach, float(price), pure) / gamma
        return math.hypot(deviation * math.sqrt(d * (d + 1) / 2.0), charge)

    if pure and private(last) > MOST_PRIVATE:
        raise too_few(n, "records", n + 1)
    saved = spent["coarse"] * max(0, steps - 2) / steps
    seconds = (
        0.1 + steps * (4e-7 * n * d + 1e-8 * n * d * d + 3e-4 * d * d) + order_seconds(task, each, 2 * d)
    )
    return Plan(
        "whitened",
        each,
        spent,
        private(last),
        math.sqrt(d * (d + 1) / n),
        seconds,
        condition=reach,
        least_private_error=private(last + saved),
        steps=steps,
    )


def private_gaussian(
    entries: np.ndarray,
    columns: Columns,
    task: MeanTask,
    budget: Budget,
    plan: Plan,
    *,
    mean: bool,
    insecure_seed: int | None,
) -> Release:
    """Covariance (d, d), mean (d,) if wanted, frame and what is known of their error, of (n, d) entries that
    `columns` has clipped.

    plan: what `plan_covariance` said for the same task, budget and `mean`.
    """
    queries = budget.queries(task.n, insecure_seed)
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    y = frame.into(entries)
    frame = without_heaps(frame, queries, y, columns, task.contamination, plan.spent["heaps"])
    y = np.where(frame.degenerate, 0.0, y)
    whitening = Whitening(queries, y, task.contamination, frame.degenerate | columns.tight)
    whitening.coarse(plan.spent["coarse"], plan.steps)
    slack = MEAN_SLACK if mean else COARSE_SLACK
    left = sum(plan.spent.values(), -queries.spent)
    share, lost, normal = None, 0.0, True
    if task.contamination:
        last = whitening.moments(left - radius_price(task.n, queries.pure), slack)
    else:
        price = plan.spent["count"]
        ends = ends_of(task.n, task.d, plan.spent["clip"], plan.spent["final"], queries.pure)
        last, beyond, radius = whitening.all_moments(left - plan.spent["clip"] - price, slack, ends)
        share = min(1.0, count_bound(queries, beyond, price) / task.n)
        noise = count_noise(price, queries.pure) / task.n
        lost, normal = max(0.0, share - noise) * radius**2, share <= 2 * noise + ends.left / task.n
    value = _covariance(frame, columns, whitening, last, plan)
    value["error"] = math.hypot(value["error"], lost)
    value["within_plan"] &= normal
    value["clipped_share"] = share
    centre = frame.centre + frame.scale * (whitening.centre + whitening.transform @ last.shift)
    value["skewed"] = skewed(centre, frame, columns, task, plan) & bool(task.contamination)
    if mean:
        value["mean"] = columns.raw(centre)
    public = {
        "records": task.n,
        "dimension": task.d,
        "method": "whitened",
        "contamination": task.contamination,
        "bounds": columns.bounds,
        "tight": columns.tight,
        "estimates": ("folded mean" if task.contamination else "mean",) * task.d,
        "covariance": NORMAL if task.contamination else EVERY_ROW,
    }
    return queries.seal(value, mechanism=NAMES[mean], public=public)


def _covariance(
    frame: Frame, columns: Columns, whitening: Whitening, last: Moments, plan: Plan
) -> dict[str, Any]:
    """Everything about the covariance that follows from what was released.

    What the noise hides adds to no column's deviation beyond `MOST_SCALES` of the frame: along a direction
    that is nearly none the noise would be all of it. No deviation is more than half of the bounds.
    """
    values, vectors, seen = last.spectrum()
    values = np.maximum(values, last.noise)
    root = whitening.transform @ (vectors * np.sqrt(values))
    correlations, widths = _correlations(root @ root.T)
    widths = np.minimum(widths, np.sqrt(np.maximum((root[:, seen] ** 2).sum(axis=1), MOST_SCALES**2)))
    widths = np.minimum(widths * frame.scale, (columns.high - columns.low) / 2.0)
    covariance = widths[:, None] * correlations * widths
    inverse = 1.0 / values
    private = last.deviation * math.sqrt((inverse @ inverse + inverse.sum() ** 2) / 2.0)
    error = math.hypot(private, plan.sampling_error)
    thin = ~columns.tight & (
        widths**2 < THIN * frame.scale**2
    )  # its scale was that of a heap, not of the column
    frame = replace(frame, degenerate=frame.degenerate | thin)
    unseen = (frame.scale[:, None] * root[:, ~seen]).T
    return {
        "covariance": (covariance + covariance.T) / 2.0,
        "frame": frame_dict(frame),
        "unseen": unseen,
        **judged(covariance, error, len(unseen), plan),
    }


def judged(covariance: np.ndarray, error: float, unseen: int, plan: Plan) -> dict[str, Any]:
    """The forecast error after the fit, the condition of the correlations, and whether both are what was
    planned.

    Post-processing of a released covariance (d, d).
    """
    root = np.sqrt(np.diag(covariance))
    spectrum = np.linalg.eigvalsh(covariance / root[:, None] / root)
    condition = float(spectrum[-1] / max(spectrum[0], DIGITS))
    within = not unseen and condition <= plan.condition and error <= MORE * plan.total_error
    return {"error": error, "condition": condition, "within_plan": within}


def _correlations(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlations (d, d), positive definite in floats, and the widths (d,) of a covariance."""
    widths = np.sqrt(np.diag(matrix))
    values, vectors = np.linalg.eigh(matrix / widths[:, None] / widths)
    values = np.maximum(values, DIGITS * len(widths))
    matrix = (vectors * values) @ vectors.T
    root = np.sqrt(np.diag(matrix))
    return matrix / root[:, None] / root, widths
