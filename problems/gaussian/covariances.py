"""Covariance, and mean, of folded records: coarse steps whiten, one last question is the answer.

Privacy: docs/proofs/gaussian_whitening.md
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sosdp.privacy.guarantee.release import Release

from .budgets import Budget
from .columns import Columns
from .frame import Frame, frame_dict, release_frame
from .planning import MeanTask, Plan, enough, frame_share, order_seconds, too_few
from .whitening import (
    COARSE_SLACK,
    Moments,
    Whitening,
    consistency,
    entry_deviation,
    radius_price,
    schedule,
)

COARSE = Fraction(3, 10)  # of what the frame leaves
MEAN_SLACK = 0.25  # a^2 / C^2 of the last question where the mean is wanted too
FRAME = 0.06  # of the budget
THIN = 0.1  # variance of a column in squares of its scale
LARGEST = 50  # columns
MOST_PRIVATE = 0.5  # error of pure noise beyond which nothing is said
DIGITS = 1e-13  # least eigenvalue of correlations that floats can tell from 0
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


def _planned(task: MeanTask, budget: Budget, mean: bool) -> Plan:
    from scipy.stats import chi2

    total, pure = budget.total, budget.pure
    n, d = task.n, task.d
    frame, each = frame_share(task, total, FRAME, pure=pure)
    rest = total - frame
    steps, reach = schedule(n, d, rest * COARSE, pure)
    spent = {"frame": frame, "coarse": rest * COARSE, "final": rest * (1 - COARSE)}
    squared = float(chi2.ppf(0.95, d)) * (1.0 + (MEAN_SLACK if mean else COARSE_SLACK))

    def private(price: Fraction) -> float:
        deviation = entry_deviation(n, d + 1, squared, float(price), pure) / consistency(d)
        return deviation * math.sqrt(d * (d + 1) / 2.0)

    last = spent["final"] - radius_price(n, pure)
    if not steps or last <= 0 or (pure and private(last) > MOST_PRIVATE):
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
    whitening = Whitening(queries, frame.into(entries), task.contamination, frame.degenerate | columns.tight)
    whitening.coarse(plan.spent["coarse"], plan.steps)
    left = sum(plan.spent.values(), -queries.spent) - radius_price(task.n, queries.pure)
    last = whitening.moments(left, MEAN_SLACK if mean else COARSE_SLACK)
    value = _covariance(frame, columns.tight, whitening, last, plan)
    if mean:
        centre = whitening.centre + whitening.transform @ last.shift
        value["mean"] = columns.raw(frame.centre + frame.scale * centre)
    public = {
        "records": task.n,
        "dimension": task.d,
        "method": "whitened",
        "contamination": task.contamination,
        "bounds": columns.bounds,
        "estimates": ("folded mean",) * task.d,
    }
    return queries.seal(value, mechanism=NAMES[mean], public=public)


def _covariance(
    frame: Frame, tight: np.ndarray, whitening: Whitening, last: Moments, plan: Plan
) -> dict[str, object]:
    """Everything about the covariance that follows from what was released."""
    values, vectors, seen = last.spectrum()
    values = np.maximum(values, last.noise)
    root = whitening.transform @ (vectors * np.sqrt(values))
    correlations, widths = _correlations(root @ root.T)
    widths = widths * frame.scale
    covariance = widths[:, None] * correlations * widths
    inverse = 1.0 / values
    private = last.deviation * math.sqrt((inverse @ inverse + inverse.sum() ** 2) / 2.0)
    error = math.hypot(private, plan.sampling_error)
    thin = ~tight & (widths**2 < THIN * frame.scale**2)  # its scale was that of a heap, not of the column
    frame = replace(frame, degenerate=frame.degenerate | thin)
    unseen = (frame.scale[:, None] * root[:, ~seen]).T
    return {
        "covariance": (covariance + covariance.T) / 2.0,
        "frame": frame_dict(frame),
        "unseen": unseen,
        **judged(covariance, error, len(unseen), plan),
    }


def judged(covariance: np.ndarray, error: float, unseen: int, plan: Plan) -> dict[str, object]:
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
