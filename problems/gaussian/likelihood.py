"""Logistic and Poisson regression of a raw table: whiten, noisy scores for a pilot, one Newton step.

The score of a record is g u (psi - a): u = sqrt(v) R (z, 1), v the variance of the target at the pilot, R a
released matrix, psi the residual in standard deviations, held at k, a its mean under the model, and g a
leverage weight of u. As g and a look at the regressors and the pilot alone, the scores have mean 0 at the
truth whatever the law of X.

Privacy: docs/proofs/gaussian_likelihood.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, pdtr, pdtrc

from .columns import Columns
from .fold import combined, image, integers, norms
from .frame import log_quantile, positions
from .regression import BIG, LEAST_CURVATURE, Pilot, Step, leverage_weights, tilted, z_and_one
from .regression_planning import HELD, ROUNDS, Law, most_held
from .whitening import RADIUS_RANK, Whitening, rank_epsilon

LONGEST = 1.5  # step of a round, in standard deviations of the regressors
SHORT = 0.5  # a last step beyond it, of the linear predictor, began too far away for its curvature
NODES = np.polynomial.hermite_e.hermegauss(61)


class Family(Law, ABC):
    """A law of the target, by its linear predictor eta."""

    reach: tuple[float, float]

    def held(self, eta: np.ndarray) -> np.ndarray:
        """eta within the reach, where all below are finite."""
        return np.clip(eta, *self.reach)

    @abstractmethod
    def spread(self, eta: np.ndarray) -> np.ndarray:
        """Variance of the target."""

    @abstractmethod
    def residuals(self, eta: np.ndarray, y: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
        """(psi - a, kappa): the residual held at k less its mean, and the mean of psi times the residual."""

    def start(self, step: Step, y: np.ndarray) -> float:
        """A first constant."""
        return 0.0

    def scale(self, step: Step, eta: np.ndarray, y: np.ndarray) -> float:
        """How many standard deviations of the model residuals are wide, at least 1."""
        return 1.0


class Logistic(Family):
    """Two classes: y is 1 with probability expit(eta)."""

    reach = (-30.0, 30.0)
    variance = 0.2

    def spread(self, eta: np.ndarray) -> np.ndarray:
        """p (1 - p)."""
        p = expit(eta)
        return np.asarray(p * (1.0 - p))

    def residuals(self, eta: np.ndarray, y: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Family`; two terms, exactly."""
        p = expit(eta)
        up, down = np.exp(-eta / 2.0), np.exp(eta / 2.0)  # sizes of the residuals of 1 and 0
        psi_up, psi_down = np.minimum(up, k), -np.minimum(down, k)
        mean = p * psi_up + expit(-eta) * psi_down
        slope = p * psi_up * up - expit(-eta) * psi_down * down
        return np.where(y > 0.5, psi_up, psi_down) - mean, slope


class Poisson(Family):
    """Counts: y is Poisson of mean exp(eta)."""

    reach = (-20.0, 23.0)
    variance = 1.0
    questions = 2 + len(ROUNDS)

    def spread(self, eta: np.ndarray) -> np.ndarray:
        """exp(eta)."""
        return np.asarray(np.exp(eta))

    def residuals(self, eta: np.ndarray, y: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Family`; by the distribution function."""
        mu = np.exp(eta)
        s = np.sqrt(mu)
        low, high = np.ceil(mu - k * s) - 1.0, np.floor(mu + k * s)  # last counts below, and within
        at_low, at_high = _mass(low, mu), _mass(high, mu)
        mean = k * (pdtrc(high, mu) - _below(low, mu)) + s * (at_low - at_high)
        slope = k * s * (at_low + at_high) + _below(high - 1.0, mu) - _below(low - 1.0, mu)
        slope += (low - mu) * at_low - (high - mu) * at_high
        return np.clip((y - mu) / s, -k, k) - mean, slope

    def start(self, step: Step, y: np.ndarray) -> float:
        """The logarithm of the .8-quantile of the counts, each spread over [y, y + 1) by its position.

        A count that many records share is a single point of the grid otherwise, and empty parts beside it or
        far above have thousands. A missing count lies at the bottom: at the top it would share the nats that
        keep the quantile from there.
        """
        spread = np.where(np.isnan(y), 0.0, y) + positions(y.size)
        return math.log(log_quantile(step.queries, spread, RADIUS_RANK, (-1.0, 33), rank_epsilon(y.size))[1])

    def scale(self, step: Step, eta: np.ndarray, y: np.ndarray) -> float:
        """By a quantile of their sizes: means in the hundreds tell the coefficients to more digits than a
        pilot has, and residuals held at few of their deviations would hardly move it."""
        mu = np.exp(eta)
        return max(1.0, step.scale(np.where(np.isnan(y), 0.0, y - mu) / np.sqrt(mu), (-2.0, 44)))


def _below(j: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """P(Y <= j), Y Poisson of mean mu."""
    return np.asarray(np.where(j < 0.0, 0.0, pdtr(np.maximum(j, 0.0), mu)))


def _mass(j: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """P(Y = j)."""
    at = np.maximum(j, 0.0)
    return np.asarray(np.where(j < 0.0, 0.0, np.exp(at * np.log(mu) - mu - gammaln(at + 1.0))))


@dataclass
class Likelihood:
    """Records z (n, d) near unit covariance, their targets, and the radius C of their leverage."""

    family: Family
    z: np.ndarray
    target: np.ndarray
    radius: float
    redescend: bool

    @property
    def reach(self) -> float:
        """Where the length of a row is held."""
        return math.sqrt(self.radius**2 + 1.0) * (1.0 + 1e-12)

    def eta(self, beta: np.ndarray) -> np.ndarray:
        """(n,) linear predictors at a pilot (d + 1,), within the family's reach."""
        return self.family.held(combined(self.z, beta[:-1]) + beta[-1])

    def forecast(self, beta: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
        """(R, curvature) at a pilot (d + 1,): R (E v (z, 1)(z, 1)^T) R = 1, and E g kappa u u^T, for normal
        regressors; of released numbers alone."""
        d = self.z.shape[1]
        size = float(np.linalg.norm(beta[:-1]))
        along = beta[:-1] / size if size else np.eye(1, d)[0]
        nodes, weights = NODES[0], NODES[1] / NODES[1].sum()
        eta = self.family.held(beta[-1] + size * nodes)
        spread, (_, slope) = self.family.spread(eta), self.family.residuals(eta, np.zeros(len(eta)), k)
        both = np.column_stack([nodes, np.ones(len(nodes))])
        inner = np.linalg.inv((both * (weights * spread)[:, None]).T @ both)
        lengths = spread * (((both @ inner) * both).sum(axis=1) + (d - 1) / float(weights @ spread))
        shares = weights * spread * slope * np.minimum(1.0, self.reach**2 / lengths)
        values, vectors = np.linalg.eigh(_moments(weights * spread, nodes, along))
        root = (vectors / np.sqrt(values)) @ vectors.T
        return root, root @ _moments(shares, nodes, along) @ root

    def rows(self, beta: np.ndarray, k: float, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows sqrt(g kappa) u, of length at most `reach`, and scores g u (psi - a), at most `most_held`
        times that; both 0 where the target is missing."""
        eta, most = self.eta(beta), most_held(k)
        there = ~np.isnan(self.target)
        residuals, slope = self.family.residuals(eta, np.where(there, self.target, 0.0), k)
        full = image(z_and_one(self.z) * np.sqrt(self.family.spread(eta))[:, None], root)
        weights = leverage_weights(norms(full), self.reach, redescend=self.redescend) * there
        squares = full * np.sqrt(weights * np.clip(slope, 0.0, 1.0))[:, None]
        return squares, full * (weights * np.clip(residuals, -most, most))[:, None]


def _moments(shares: np.ndarray, nodes: np.ndarray, along: np.ndarray) -> np.ndarray:
    """E s (z, 1)(z, 1)^T, (d + 1, d + 1), where s depends on z along one direction (d,) at these nodes."""
    level, slant, bend = (float(shares @ nodes**power) for power in (0, 1, 2))
    result = level * np.eye(len(along) + 1)
    result[:-1, :-1] += (bend - level) * np.outer(along, along)
    result[:-1, -1] = result[-1, :-1] = slant * along
    return result


def likelihood(family: Family, step: Step, y: np.ndarray, columns: Columns) -> dict[str, object]:
    """The answer of `Step.answer` but for sigma and r2, of regressors and target y (n, d + 1)."""
    kept, plan = step.kept, step.plan
    heaps = (columns.tight[:-1] | step.frame.degenerate[:-1])[kept]
    whitening = Whitening(step.queries, y[:, kept], step.task.contamination, heaps)
    whitening.coarse(plan.spent["coarse"], plan.steps)
    polish = step.left_for_polish(family.questions)
    pilot = Pilot.without_target(whitening)
    z, _, radius = step.leverage(whitening.y, pilot)
    model = Likelihood(family, z, y[:, -1], radius, step.task.contamination > 0)
    beta = np.append(np.zeros(len(kept)), family.start(step, y[:, -1]))
    for share in ROUNDS:
        k = HELD * family.scale(step, model.eta(beta), model.target)
        root, curvature = model.forecast(beta, k)
        scores, most = model.rows(beta, k, root)[1], model.reach * most_held(k) * (1.0 + 1e-12)
        sums = step.queries.noisy_sum(integers(scores, most / BIG), BIG, polish * share)
        average = np.array(sums, dtype=np.float64) * most / (BIG * step.task.n)
        move = root @ np.linalg.solve(curvature, average)
        beta = beta + move * min(1.0, LONGEST / max(float(np.linalg.norm(move)), 1e-300))
    k = step.hold(model.reach) * family.scale(step, model.eta(beta), model.target)
    root, _ = model.forecast(beta, k)
    most = model.reach * most_held(k) * (1.0 + 1e-12)
    squared, scores = model.rows(beta, k, root)
    price = polish * (1 - sum(ROUNDS))
    matrix, doubt = step.squares_of(squared, model.reach * (1.0 + 1e-12), price)
    curvature, values, seen, vectors = step.spectrum(matrix, doubt)
    sampling = step.squares(scores, most)
    total, deviation = step.last(scores, most)
    newton = np.linalg.inv(curvature)
    left = newton @ total
    spread = root @ newton
    noise = deviation**2 * spread @ spread.T + tilted(doubt * newton, left, root)
    covariance, move = None if sampling is None else spread @ sampling @ spread.T / step.task.n, root @ left
    away = float(np.linalg.norm(move))
    if covariance is not None:  # what a step leaves, of second order
        covariance += (away**2 / 2.0) ** 2 * np.eye(len(move))
    result = step.unpacked(pilot, beta + move, (seen, root @ vectors), (noise, covariance), 1.0)
    hidden = not np.all(np.asarray(result["seen"])[kept])  # the others are then those of another predictor
    if away > SHORT or hidden or values[seen].min(initial=1.0) < LEAST_CURVATURE:
        result["seen"] = np.zeros(step.task.d - 1, dtype=bool)
        result["interval"] = None if covariance is None else np.full((step.task.d - 1, 2), np.nan)
    return {name: part for name, part in result.items() if name not in ("sigma", "r2")}
