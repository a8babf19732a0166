"""Robust and private mean of records with covariance near sigma^2 I.

The completion score on a public lattice, sampled exactly in groups of at most three coordinates; the groups'
guarantees compose. Without a bound on the mean, a median of every coordinate localises it first, by the
truncated mechanism. Source: Hopkins, Kamath, Majid and Narayanan (2023), Theorems 1.5 and 5.2, with the
computable score of docs/proofs/gaussian_scores.md in place of the degree-6 program.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.guarantee import weakest
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential, truncated_exponential
from sosdp.privacy.scores.location import coordinate_max, median_weights
from sosdp.privacy.scores.score import Lattice

from ..model import PackingProblem
from ..program import CONDITION, PackingScore
from ..sampler import DyadicBoxes
from ..theory import default_lam
from .base import RecordEstimator, check_fineness, groups, joined, shares, silenced, spacing_for

GROUP = 3
LOCAL = 0.3  # part of epsilon for finding the region where nothing bounds the mean
REACH = 8.0  # half-width of that region, in units of sigma


class RobustPrivateMean(RecordEstimator):
    """Mean of (n, d) records whose covariance is near sigma^2 I, robust to a fraction of them being anything.

    Args:
        epsilon: budget. delta: 0 for pure privacy; > 0 is needed where ``radius`` is None, and lets more than
            one group of coordinates share the budget better.
        radius: public: every coordinate of the mean is in [-radius, radius]. Only its logarithm costs. None:
            no bound is needed, and the answer may be declined.
        sigma: public standard deviation of a record in every direction.
        contamination: fraction of records expected to be arbitrary; widens ``lam``.
        lam: bound on the covariance of honest records over sigma^2, by default from n, d, contamination.
        group: coordinates drawn together, 1 to 4; fewer are faster, more share the budget.
        insecure_seed: tests only; voids the guarantee.

    After fit: mean_ (d,), or None where the answer was declined; see `RecordEstimator`.

    Privacy: one record replaced; every group is drawn exactly from r^level, epsilon-DP and epsilon^2/8-zCDP,
    conditional on the promised width of the brackets. Cost: seconds; a group of three takes about 150 scores
    (docs/gaussian.md has timings).
    """

    mean_: np.ndarray | None

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        radius: float | None = None,
        delta: float = 0.0,
        sigma: float = 1.0,
        contamination: float = 0.0,
        lam: float | None = None,
        group: int = GROUP,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.radius = radius
        self.delta = delta
        self.sigma = sigma
        self.contamination = contamination
        self.lam = lam
        self.group = group
        self.insecure_seed = insecure_seed

    def fit(self, X: Any, y: Any = None) -> RobustPrivateMean:
        """Release the mean once. Raises ValueError or TypeError from public facts only."""
        check_mean_parameters(self)
        rows = self._records(X)
        n, d = rows.shape
        budget, centre, parts = float(self.epsilon), np.zeros(d), []
        radius = self.radius
        lam = default_lam(n, 1) if self.lam is None else float(self.lam)
        reach = 2.0**20 if self.radius is None else float(self.radius)
        check_fineness(n, float(self.sigma) * math.sqrt(lam), reach)
        with silenced():
            if radius is None:
                found = localise(
                    rows,
                    epsilon=LOCAL * budget,
                    delta=self.delta if d <= self.group else self.delta / 2,
                    sigma=float(self.sigma),
                    insecure_seed=self.insecure_seed,
                )
                parts.append(found)
                budget = budget * (1 - LOCAL) * (1 - 1e-12)
                radius = REACH * float(self.sigma)
                if found.value is None:
                    self.mean_ = None
                    spent = _declined(found, float(self.epsilon), float(self.delta))
                    self._keep(spent)
                    return self
                centre = np.asarray(found.value)
            estimate = np.zeros(d)
            chosen = groups(d, self.group)
            rest = 0.0 if self.radius is not None and len(chosen) == 1 else float(self.delta)
            if self.radius is None:
                rest /= 2
            each, at = shares(budget, rest, len(chosen))
            draws = []
            for number, columns in enumerate(chosen):
                seed = None if self.insecure_seed is None else self.insecure_seed + number
                draws.append(self._draw(rows[:, columns], centre[columns], float(radius), each, seed))
                estimate[columns] = draws[-1].value
        release = joined(draws, estimate, "gaussian.mean", at, self._public(n, d))
        if parts:
            release = joined([*parts, release], estimate, "gaussian.mean", None, self._public(n, d))
        self.mean_ = estimate
        self._keep(release)
        return self

    def _draw(
        self, rows: np.ndarray, centre: np.ndarray, radius: float, epsilon: float, seed: int | None
    ) -> Release:
        n, d = rows.shape
        sigma = float(self.sigma)
        lam = float(self.lam) if self.lam is not None else default_lam(n, d, float(self.contamination))
        spacing = spacing_for(n, sigma * math.sqrt(lam))
        box = tuple(
            (math.ceil(Fraction(c - radius) / spacing), math.floor(Fraction(c + radius) / spacing))
            for c in centre.tolist()
        )
        problem = PackingProblem("identity", d, lam * sigma * sigma)
        score = PackingScore(problem, Lattice(spacing, d, box), n)
        return pure_exponential(
            score,
            rows,
            epsilon=epsilon,
            sampler=DyadicBoxes(),
            mechanism="gaussian.mean.group",
            insecure_seed=seed,
        )

    def _public(self, n: int, d: int) -> dict[str, Any]:
        return {"records": n, "dimension": d, "radius": self.radius, "sigma": float(self.sigma)}


def check_mean_parameters(estimator: RobustPrivateMean) -> None:
    """Raise ValueError for public parameters out of range."""
    check_epsilon(estimator.epsilon)
    check_positive(estimator.sigma, "sigma")
    if not 0.0 <= float(estimator.contamination) < 0.5:
        raise ValueError(f"contamination must lie in [0, 1/2), got {estimator.contamination!r}")
    if not (isinstance(estimator.group, int) and 1 <= estimator.group <= 4):
        raise ValueError(f"group must be an integer from 1 to 4, got {estimator.group!r}")
    if not 0.0 <= float(estimator.delta) < 1.0:
        raise ValueError(f"delta must lie in [0, 1), got {estimator.delta!r}")
    if estimator.radius is None:
        if not float(estimator.delta) > 0.0:
            raise ValueError(
                "without a radius the answer may be declined, which needs delta > 0; or give a radius"
            )
    else:
        check_positive(estimator.radius, "radius")
    if estimator.lam is not None:
        check_positive(estimator.lam, "lam")


def localise(
    rows: np.ndarray, *, epsilon: float, delta: float, sigma: float, insecure_seed: int | None = None
) -> Release:
    """A point near the coordinate-wise medians, or None: the truncated mechanism on an unbounded lattice."""
    n, d = rows.shape
    spacing = Fraction(2) ** math.floor(math.log2(sigma / 8.0))
    score = coordinate_max(
        median_weights(n), Lattice(spacing, d, None), slack=Fraction(sigma) / 2, clip=False
    )
    return truncated_exponential(
        score, rows, epsilon=epsilon, delta=delta, mechanism="gaussian.localise", insecure_seed=insecure_seed
    )


def _declined(found: Release, epsilon: float, delta: float) -> Release:
    """A refusal, under the guarantee of the whole: later steps are post-processing of the refusal."""
    from dataclasses import replace

    guarantee = found.guarantee
    if guarantee.kind != "none":
        # what it rests on must not depend on whether it was declined
        guarantee = replace(
            guarantee,
            epsilon=epsilon,
            delta=delta,
            kind=weakest((guarantee.kind, "conditional")),
            assumptions=(*guarantee.assumptions, CONDITION),
            mechanism="gaussian.mean",
        )
    return Release(None, guarantee, public=dict(found.public))
