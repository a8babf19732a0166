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

from sosdp.estimator.records import LARGEST_RECORD
from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.guarantee import weakest
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential, truncated_exponential
from sosdp.privacy.scores.location import coordinate_max, median_weights
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.privacy.seal import join

from ..model import CLIP, PackingProblem
from ..program import CONDITION, PackingScore
from ..sampler import DyadicBoxes
from ..theory import default_lam
from .base import TableEstimator, check_fineness, groups, shares, spacing_for

GROUP = 3
SCALES = (2.0**-40, LARGEST_RECORD)  # of sigma; records beyond count as zero
LOCAL = 0.3  # part of epsilon for finding the region where nothing bounds the mean
REACH = 8.0  # half-width of that region, in units of sigma


class RobustPrivateMean(TableEstimator):
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

    After fit: mean_ (d,), or None where the answer was declined; see `TableEstimator`.

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

    def _check_parameters(self) -> None:
        check_mean_parameters(self)

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape
        sigma, epsilon, delta = float(self.sigma), float(self.epsilon), float(self.delta)
        chosen = groups(d, self.group)
        lam = default_lam(n, 1) if self.lam is None else float(self.lam)
        radius = REACH * sigma if self.radius is None else float(self.radius)
        check_fineness(n, sigma * math.sqrt(lam), radius)
        if self.radius is not None:
            rest = delta if len(chosen) > 1 else 0.0
            return self._drawn(data, np.zeros(d), epsilon, rest, radius)
        local, epsilon = split(epsilon, (LOCAL, 1 - LOCAL))
        halves = split(delta, 2) if d > self.group else (delta, 0.0)
        found = localise(data, epsilon=local, delta=halves[0], sigma=sigma, insecure_seed=self.insecure_seed)
        if found.value is None:
            return _declined(found, float(self.epsilon), delta)
        centre = np.asarray(found.value)
        # a map of each record by itself, the centre being released
        release = self._drawn(data - centre, centre, epsilon, halves[1], radius)
        return join([found, release], release.value, mechanism="gaussian.mean", public=release.public)

    def _drawn(
        self, rows: np.ndarray, centre: np.ndarray, epsilon: float, delta: float, radius: float
    ) -> Release:
        """The centre plus a draw in the cube of this radius about 0, group by group."""
        n, d = rows.shape
        chosen = groups(d, self.group)
        each, at = shares(epsilon, delta, len(chosen))
        estimate, draws = np.zeros(d), []
        for number, columns in enumerate(chosen):
            seed = None if self.insecure_seed is None else self.insecure_seed + number
            draws.append(self._draw(rows[:, columns], radius, each, seed))
            estimate[columns] = draws[-1].value
        public = {"records": n, "dimension": d, "radius": self.radius, "sigma": float(self.sigma)}
        return join(draws, centre + estimate, mechanism="gaussian.mean", delta=at, public=public)

    def _unpack(self, value: Any) -> None:
        self.mean_ = value

    def _draw(self, rows: np.ndarray, radius: float, epsilon: float, seed: int | None) -> Release:
        n, d = rows.shape
        sigma = float(self.sigma)
        lam = float(self.lam) if self.lam is not None else default_lam(n, d, float(self.contamination))
        spacing = spacing_for(n, sigma * math.sqrt(lam))
        problem = PackingProblem("identity", d, lam * sigma * sigma, clip=max(CLIP, 2 * radius))
        score = PackingScore(problem, cube(spacing, radius, d), n)
        return pure_exponential(
            score,
            rows,
            epsilon=epsilon,
            sampler=DyadicBoxes(),
            mechanism="gaussian.mean.group",
            insecure_seed=seed,
        )


def check_mean_parameters(estimator: RobustPrivateMean) -> None:
    """Raise ValueError for public parameters out of range."""
    check_epsilon(estimator.epsilon)
    if not SCALES[0] <= check_positive(estimator.sigma, "sigma") <= SCALES[1]:
        raise ValueError(
            f"sigma must lie in [2^-40, 2^40], got {estimator.sigma!r}: rescale the records publicly"
        )
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
    elif not check_positive(estimator.radius, "radius") <= SCALES[1] / 2:
        raise ValueError(
            f"radius must be at most 2^39, got {estimator.radius!r}: records beyond 2^40 count as zero, "
            "so rescale them publicly"
        )
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
