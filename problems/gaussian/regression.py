"""Linear regression of a raw table: whiten, one question for the curvature, one bounded-influence Newton
step.

Every question is asked of rows of a ball: a row's leverage is bounded by a weight that depends on the
regressors alone, its residual by a function that is held (and, with wrong rows promised, returns to 0). The
last question is a sum in a ball.

Privacy: docs/proofs/gaussian_regression.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries, sum_deviation

from .budgets import Budget
from .columns import Columns
from .fold import combined, image, integers, norms
from .frame import WRONG, Frame, frame_dict, log_quantile, radius_quantile, release_frame
from .planning import MeanTask, Plan, last_deviation, noise_tails
from .regression_planning import HELD, SCALES, left_for_polish, leverage_quantile, slope_of
from .whitening import (
    CLEAR,
    RADIUS_RANK,
    UNITS,
    Whitening,
    entry_deviation,
    noise_norm,
    radius_price,
    rank_epsilon,
    without_heaps,
)

WIDEST = 8.0
ROOM = 0.35  # of the sampling error, for the noise of a wider hold; and of the noise of the scores' squares
SCALE_RANK = 0.6
LEAST_CURVATURE = 0.3
LEAST_VARIANCE = 0.2
BIG = 1 << 20  # steps of a radius of the last ball
UNSEEN_SHARE = 0.01  # of a coefficient's variance along directions that were not seen


def held(e: np.ndarray, k: float, *, redescend: bool) -> np.ndarray:
    """Residuals e up to k; then k, or down to 0 at 3 k. At most k in size."""
    size = np.abs(e)
    result = np.sign(e) * np.minimum(size, k)
    return result * np.clip(3.0 - size / k, 0.0, 1.0) if redescend else result


def leverage_weights(sizes: np.ndarray, radius: float, *, redescend: bool) -> np.ndarray:
    """min(1, C^2 / |z|^2), and with wrong rows promised to 0 at 3 C: a weight (n,) of each row."""
    weights = np.minimum(1.0, (radius / np.maximum(sizes, radius)) ** 2)
    return weights * np.clip(3.0 - sizes / radius, 0.0, 1.0) if redescend else weights


@dataclass(frozen=True)
class Pilot:
    """Where whitening left the kept regressors and the target, in the frame.

    root: (d, d) upper triangular, root^T root their covariance; coef: (d,) regression in the frame; scale:
    residual deviation; centre: (d + 1,) of regressors and target.
    """

    root: np.ndarray
    coef: np.ndarray
    scale: float
    centre: np.ndarray

    @classmethod
    def of(cls, whitening: Whitening) -> Pilot:
        """By an orthogonal factor of the transform: no matrix is squared."""
        last = whitening.transform[-1]
        q, root = _rooted(whitening.transform[:-1])
        along = q.T @ last
        length = float(np.linalg.norm(last))
        scale = math.sqrt(max(length**2 - float(along @ along), (1e-12 * length) ** 2))
        return cls(root, solve_triangular(root, along), scale, whitening.centre)

    @classmethod
    def without_target(cls, whitening: Whitening) -> Pilot:
        """Of a whitening of the regressors alone, for a target of its own law: at 0."""
        root = _rooted(whitening.transform)[1]
        return cls(root, np.zeros(len(root)), 1.0, np.append(whitening.centre, 0.0))

    def inverse(self) -> np.ndarray:
        """(d, d): z = inverse (x - centre) has covariance 1."""
        return np.asarray(solve_triangular(self.root.T, np.eye(len(self.root)), lower=True))


def _rooted(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal and triangular factors of the transpose of a transform, no diagonal entry near 0."""
    q, root = np.linalg.qr(rows.T)
    diagonal = np.diag(root).copy()
    least = 1e-14 * np.abs(root).max(axis=0, initial=1e-250)
    root[np.diag_indices_from(root)] = np.where(np.abs(diagonal) < least, least, diagonal)
    return q, root


def private_regression(
    entries: np.ndarray,
    columns: Columns,
    task: MeanTask,
    budget: Budget,
    plan: Plan,
    insecure_seed: int | None,
    likelihood: Callable[[Step, np.ndarray, Columns], dict[str, object]] | None = None,
) -> Release:
    """Coefficients of the last column of (n, d + 1) entries, which `columns` has clipped, on the others.

    With a likelihood (whose target is a tight column) they are its answer. Value: see `Step.answer`. A
    regressor that is mostly one value is left out: its column of the last ball is zeros. A record that misses
    a tight column has no target: the middle of the bounds of an indicator is no typical value.
    """
    lost = np.isnan(entries[:, columns.tight]).any(axis=1)
    entries = np.column_stack([entries[:, :-1], np.where(lost, np.nan, entries[:, -1])])
    ball = None if "sum" in plan.spent else plan.spent
    queries = budget.queries(task.n, insecure_seed, ball=ball, dimension=task.d)
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    y = frame.into(entries)
    wrong = max(WRONG, task.contamination)
    frame = without_heaps(frame, queries, y, columns, wrong, plan.spent["heaps"])
    kept = np.flatnonzero(~frame.degenerate[:-1])
    if likelihood is not None:  # its target stays in its own units
        frame = Frame(np.append(frame.centre[:-1], 0.0), np.append(frame.scale[:-1], 1.0), frame.degenerate)
        y[:, -1] = entries[:, -1]
    else:
        y[np.isnan(entries[:, -1]), -1] = np.nan
    if frame.degenerate[-1] or not kept.size:
        value = nothing(frame)
    else:
        step = Step(queries, frame, kept, task, plan)
        value = step.answer(y, columns) if likelihood is None else likelihood(step, y, columns)
    public = {
        "records": task.n,
        "dimension": task.d - 1,
        "method": plan.method,
        "contamination": task.contamination,
        "bounds": columns.bounds,
    }
    name = "regression" if likelihood is None else "likelihood"
    return queries.seal(value, mechanism=f"gaussian.{name}", public=public)


def nothing(frame: Frame) -> dict[str, object]:
    """The answer where the target, or every regressor, is mostly one value: its median, and no
    coefficient."""
    d = len(frame.scale) - 1
    return {
        "coef": np.zeros(d),
        "intercept": float(frame.centre[-1]),
        "interval": np.full((d, 2), np.nan),
        "noise_scale": np.full(d, np.nan),
        "sigma": float(frame.scale[-1]),
        "r2": 0.0,
        "left_out": np.ones(d, dtype=bool),
        "seen": np.zeros(d, dtype=bool),
        "covariance": np.diag(frame.scale[:-1] ** 2),
        "centre": frame.centre[:-1],
        "frame": frame_dict(frame),
    }


@dataclass
class Step:
    """The questions after the frame, and the answer."""

    queries: IntegerQueries
    frame: Frame
    kept: np.ndarray
    task: MeanTask
    plan: Plan

    def answer(self, y: np.ndarray, columns: Columns) -> dict[str, object]:
        """coef (d,), intercept, interval (d, 2) or None, noise_scale (d,), sigma (residual deviation), r2,
        left_out (d,), seen (d,): coefficients that the noise did not hide; covariance (d, d) and centre
        (d,) of the regressors; frame."""
        distant, plan = self.task.contamination > 0, self.plan
        both = np.append(self.kept, len(self.frame.scale) - 1)
        heaps = (columns.tight | self.frame.degenerate)[both]
        there = ~np.isnan(y[:, -1])
        y = np.where(np.isnan(y), 0.0, y)
        whitening = Whitening(self.queries, y[:, both], self.task.contamination, heaps)
        whitening.coarse(plan.spent["coarse"], plan.steps)
        polish = self.left_for_polish(SCALES)
        pilot = Pilot.of(whitening)
        z, weights, radius = self.leverage(whitening.y[:, :-1], pilot)
        weights = weights * there
        e = combined(whitening.y - pilot.centre, np.append(-pilot.coef, 1.0) / pilot.scale)
        first = self.scale(e)
        e = e / first
        curvature, seen, vectors, score, doubt = self._curvature(
            z, weights, held(e, HELD, redescend=distant), radius, polish
        )
        step = np.linalg.solve(curvature, score) / slope_of(HELD, redescend=distant)
        e = e - step[-1] - combined(z, step[:-1])
        second = self.scale(e)
        k = self.hold(math.sqrt(radius**2 + 1.0))
        slope, unsure = self.slope(e / second, k, weights, curvature[-1, -1])
        rows = z_and_one(z) * (weights * held(e / second, k, redescend=distant))[:, None]
        reach = math.sqrt(radius**2 + 1.0) * k * (1.0 + 1e-12)
        squares = self.squares(rows, reach)
        total, deviation = self.last(rows, reach)
        newton = np.linalg.inv(curvature) / slope
        left = second * newton @ total
        theta = first * pilot.scale * (step + left)
        spread = first * second * pilot.scale * newton
        noise = deviation**2 * spread @ spread.T
        noise += tilted(first * pilot.scale * doubt * np.linalg.inv(curvature), left)
        noise += (first * pilot.scale * unsure / slope) ** 2 * np.outer(left, left)
        sampling = None if squares is None else spread @ squares @ spread.T / self.task.n
        return self.unpacked(pilot, theta, (seen, vectors), (noise, sampling), first * second * pilot.scale)

    def left_for_polish(self, questions: int) -> Fraction:
        """What the polish may use, before the order statistic of the leverage and so many more."""
        spent, queries = self.plan.spent, self.queries
        return left_for_polish(self.task.n, spent, queries.spent, questions, queries.pure)

    def leverage(self, x: np.ndarray, pilot: Pilot) -> tuple[np.ndarray, np.ndarray, float]:
        """Regressors z (n, d), a weight each, and the radius C at which their leverage is held; one
        question."""
        from scipy.stats import chi2

        d, distant = len(self.kept), self.task.contamination > 0
        z = image(x - pilot.centre[:-1], pilot.inverse())
        size = norms(z)
        rank = RADIUS_RANK * (1.0 - self.task.contamination)
        quantile = radius_quantile(self.queries, size, rank, d, rank_epsilon(self.task.n))
        radius = quantile * math.sqrt(leverage_quantile(d) / chi2.ppf(RADIUS_RANK, d))
        return z, leverage_weights(size, radius, redescend=distant), radius

    def scale(self, e: np.ndarray, grid: tuple[float, int] = (-14.0, 20)) -> float:
        """Deviation of residuals e (n,), by a quantile of the logarithm of their size, from grid[0] over
        grid[1] octaves; one question."""
        rank = SCALE_RANK * (1.0 - self.task.contamination)
        _, size = log_quantile(self.queries, np.abs(e), rank, grid, rank_epsilon(self.task.n))
        return size / float(ndtri((1.0 + rank) / 2.0))

    def slope(self, e: np.ndarray, k: float, weights: np.ndarray, total: float) -> tuple[float, float]:
        """Average slope of `held` at residuals e (n,) by weights (n,) of this average, and the deviation of
        its noise; one question, of what each residual lacks of slope 1.

        A normal law's is too large where tails are heavy: half-widths were 5 % too small for Student's t3.
        """
        size, distant, n = np.abs(e), self.task.contamination > 0, self.task.n
        most, queries = 2.0 if distant else 1.0, self.queries
        lacks = np.where((size > 2.0 * k) & (size < 3.0 * k) & distant, 2.0, np.where(size > k, 1.0, 0.0))
        price, total = radius_price(n, queries.pure), max(total, LEAST_CURVATURE)
        counts = integers((weights * lacks)[:, None], most / BIG)
        lost = most * queries.noisy_sum(counts, BIG, price, shape="positive")[0] / (BIG * n * total)
        unsure = most * sum_deviation(1, float(price), pure=queries.pure, shape="positive") / (n * total)
        return min(1.0, max(LEAST_CURVATURE, 1.0 - lost)), unsure

    def _curvature(
        self, z: np.ndarray, weights: np.ndarray, residuals: np.ndarray, radius: float, price: Fraction
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        """Average of g (z, 1)(z, 1)^T, which of its directions are seen, these, that of g (z, 1) psi, and
        the deviation of the noise of a diagonal entry; one question."""
        rows = np.column_stack([z_and_one(z), residuals]) * np.sqrt(weights)[:, None]
        reach = math.sqrt(radius**2 + 1.0 + HELD**2) * (1.0 + 1e-12)
        squares, doubt = self.squares_of(rows, reach, price)
        curvature, _, seen, vectors = self.spectrum(squares[:-1, :-1], doubt)
        return curvature, seen, vectors, squares[:-1, -1], doubt

    def squares_of(self, rows: np.ndarray, reach: float, price: Fraction) -> tuple[np.ndarray, float]:
        """Average of squares of rows (n, d) of a ball, and the deviation of the noise of a diagonal entry;
        one question."""
        (n, d), queries = rows.shape, self.queries
        squares = np.array(queries.squares(integers(rows, reach / UNITS), UNITS, price), dtype=np.float64)
        deviation = entry_deviation(n, d, reach**2, float(price), queries.pure)
        return squares * (reach / UNITS) ** 2 / n, deviation

    def spectrum(
        self, matrix: np.ndarray, doubt: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A noisy curvature with its eigenvalues raised to `LEAST_CURVATURE`, these, which were seen, and its
        directions."""
        values, vectors = np.linalg.eigh(matrix)
        seen = values >= CLEAR / 2.0 * noise_norm(len(matrix), doubt)
        return (vectors * np.maximum(values, LEAST_CURVATURE)) @ vectors.T, values, seen, vectors

    def hold(self, length: float) -> float:
        """Where residuals are held in the last question, of rows of this length in units of their spread: as
        far as noise allows where all rows count."""
        if self.task.contamination > 0:
            return HELD
        n, d = self.task.n, len(self.kept)
        broad = ROOM * math.sqrt(n * d) / (length * math.sqrt(d + 1) * self._deviation())
        return max(HELD, min(WIDEST, broad))

    def _deviation(self) -> float:
        """Deviation of the noise of the last question in radii of its ball."""
        budget = Budget(self.queries.epsilon, self.queries.delta, self.queries.rho)
        return last_deviation(budget, self.plan.spent, self.task.d)

    def squares(self, rows: np.ndarray, reach: float) -> np.ndarray | None:
        """Average of the squares of the scores (n, d + 1), raised by the deviation of its noise; pooled
        where that would hide it. None without intervals."""
        (n, d), pure = rows.shape, self.queries.pure
        price = self.plan.spent["interval"]
        if not price:
            return None
        noise = entry_deviation(n, d, reach**2, float(price), pure)
        if noise <= ROOM:
            values, vectors = np.linalg.eigh(self.squares_of(rows, reach, price)[0] + noise * np.eye(d))
            return (vectors * np.maximum(values, LEAST_VARIANCE)) @ vectors.T
        lengths = integers(norms(rows)[:, None] ** 2, reach**2 / BIG)
        total = self.queries.noisy_sum(np.minimum(lengths, BIG), BIG, price, shape="positive")[0]
        room = sum_deviation(1, float(price), pure=pure, shape="positive")
        pooled = (total / BIG + room) * reach**2 / (n * d)
        return max(pooled, LEAST_VARIANCE) * np.eye(d)

    def last(self, rows: np.ndarray, reach: float) -> tuple[np.ndarray, float]:
        """Average score (d + 1,) of kept regressors and the constant, and the deviation of its noise. In
        the ball, the regressors that are left out are columns of zeros."""
        broad = np.zeros((len(rows), self.task.d))
        broad[:, self.kept], broad[:, -1] = rows[:, :-1], rows[:, -1]
        counts = integers(broad, reach / BIG)
        if "sum" in self.plan.spent:
            sums = self.queries.noisy_sum(counts, BIG, self.plan.spent["sum"])
        else:
            sums, _ = self.queries.ball_sum(counts, BIG)
        average = np.array(sums, dtype=np.float64) * reach / (BIG * self.task.n)
        deviation = reach * self._deviation() / self.task.n
        return np.append(average[self.kept], average[-1]), deviation

    def unpacked(
        self,
        pilot: Pilot,
        theta: np.ndarray,
        spectrum: tuple[np.ndarray, np.ndarray],
        spreads: tuple[np.ndarray, np.ndarray | None],
        residual: float,
    ) -> dict[str, object]:
        """The answer in the units of the table, from the correction theta (d + 1,) of the pilot."""
        d, kept = len(self.kept), self.kept
        inverse, (seen, vectors) = pilot.inverse(), spectrum
        b = pilot.coef + inverse.T @ theta[:-1]
        hidden = np.linalg.qr(vectors[:-1, ~seen])[0] if not seen.all() else np.zeros((d, 0))
        blind = inverse.T @ hidden
        b = b - blind @ np.linalg.lstsq(blind, b, rcond=None)[0]  # the shortest with this fit
        units = self.frame.scale[-1] / self.frame.scale[kept]
        lost = ((inverse.T @ hidden) ** 2).sum(axis=1) > UNSEEN_SHARE * (inverse**2).sum(axis=0)
        jacobian = inverse.T * units[:, None]
        noise = _deviations(spreads[0], jacobian)
        level = float(ndtri((1.0 + self.task.interval) / 2.0)) if self.task.interval else 0.0
        coef = b * units
        normal = "sum" in self.plan.spent and not self.queries.pure
        widened = math.sqrt(noise_tails(self.task.d, normal=normal)) * noise
        half = None if spreads[1] is None else level * np.hypot(_deviations(spreads[1], jacobian), widened)
        middle = self.frame.centre[:-1].copy()
        middle[kept] += self.frame.scale[kept] * pilot.centre[:-1]
        explained = float(np.linalg.norm(pilot.root @ b)) ** 2
        constant = self.frame.centre[-1] + self.frame.scale[-1] * (pilot.centre[-1] + theta[-1])
        spread = self.frame.scale[kept]
        covariance = np.diag(self.frame.scale[:-1] ** 2)
        covariance[np.ix_(kept, kept)] = spread[:, None] * (pilot.root.T @ pilot.root) * spread
        broad = _spread_out(kept, len(middle))
        return {
            "coef": broad(coef, 0.0),
            "intercept": float(constant - coef @ middle[kept]),
            "interval": None
            if half is None
            else broad(np.where(lost[:, None], np.nan, np.stack([coef - half, coef + half], axis=1)), np.nan),
            "noise_scale": broad(noise, np.nan),
            "sigma": float(residual * self.frame.scale[-1]),
            "r2": explained / (explained + residual**2),
            "left_out": broad(np.zeros(d, dtype=bool), True),
            "seen": broad(~lost, False),
            "covariance": covariance,
            "centre": middle,
            "frame": frame_dict(self.frame),
        }


def tilted(tilt: np.ndarray, left: np.ndarray, root: np.ndarray | None = None) -> np.ndarray:
    """Covariance that the noise of a curvature adds to a Newton step `left` (d,): of root tilt N left, N
    symmetric of variances 1 on its diagonal and 1/2 off it."""
    spread = tilt if root is None else root @ tilt
    result: np.ndarray = spread @ (np.outer(left, left) + float(left @ left) * np.eye(len(left))) @ spread.T
    return result / 2.0


def _deviations(covariance: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Deviations (d,) of coefficients, of the covariance (d + 1, d + 1) of the correction."""
    return np.asarray(np.sqrt(np.diag(jacobian @ covariance[:-1, :-1] @ jacobian.T)))


def z_and_one(z: np.ndarray) -> np.ndarray:
    """(n, d + 1): a column of ones after the regressors."""
    return np.column_stack([z, np.ones(len(z))])


def _spread_out(kept: np.ndarray, d: int) -> Callable[[np.ndarray, float | bool], np.ndarray]:
    """Arrays of the kept columns as arrays of all of them."""

    def full(values: np.ndarray, missing: float | bool) -> np.ndarray:
        result = np.full((d, *values.shape[1:]), missing, dtype=values.dtype)
        result[kept] = values
        return result

    return full
