"""Approximate privacy without bounds, as published: a test of the least score, then a truncated draw.

Theorem 4.2 of Hopkins, Kamath, Majid and Narayanan (2023), for the mean of one column of known variance
(their Theorem 5.2), the variance of one column, and both (Theorem 1.4): with eta the share of records up
to which the score means something, the draw is cut at T = eta n, is safe where the least score is below
.7 eta n, and is never refused where it is at most .5 eta n. Whether that can be is decided by public
numbers, and the number of records that would do is named.

Proof: docs/proofs/gaussian_published.md, 2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sosdp.estimator.planner import least
from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import between, check_delta, check_epsilon
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import floats
from sosdp.privacy.mechanisms.exponential import VolumeTheorem, truncated_exponential
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.scores.levels import RationalBase, rational_base
from sosdp.privacy.scores.sampling import Sampler, draw_listed
from sosdp.privacy.scores.score import Levels, Point, ScoreFunction
from sosdp.privacy.terms import join

from ..planning import TooFewRecords
from ..pure import pairs_of
from ..theory import level_diameter, level_radius
from .line import Candidates, LineScore, points_of

LAYER, SAFE, INNER, SURE = Fraction(1), Fraction(7, 10), Fraction(8, 10), Fraction(1, 2)  # of eta n
SHARE = 0.43  # of epsilon, for the test: least records at (1, 1e-6)
MOST_RECORDS = 1 << 26
VARIANCE_SHARE = 0.03  # eta of a variance: beyond .05 no two candidates are proven to be close
WHITENED = Fraction(3, 2)  # public bound on sigma over its estimate, for the mean after the variance

Task = Literal["mean", "variance"]


@dataclass(frozen=True)
class Truncation:
    """The public numbers of one truncated draw.

    Attributes:
        task, n, epsilon, delta, eta: what was asked for. lam: bound of the score (1 + .. or 2 + ..).
        threshold: T. safe: b, the draw is safe where the least level is below. inner: t.
        sure: accepted for certain where the least level is at most this.
        log_ratio: bound on ln(N(T) / N(t)) for every table whose least level is below b.
        log_mass: the boundary layer has at most this log-probability.
    """

    task: Task
    n: int
    epsilon: float
    delta: float
    eta: float
    lam: Fraction
    threshold: int
    safe: int
    inner: int
    sure: int
    log_ratio: float
    log_mass: float

    @property
    def holds(self) -> bool:
        """Whether the theorem applies: enough room for the test, and a light boundary layer."""
        half = math.log(self.delta / 2.0)
        return self.sure >= SURE * Fraction(self.eta) * self.n and self.log_mass <= half

    @property
    def statement(self) -> str:
        """The volume theorem, in a line."""
        return (
            f"whenever some candidate gives up fewer than {self.safe} of {self.n} records, the draw cut at "
            f"{self.threshold} has at most {math.exp(self.log_mass):.3g} of its mass in the last level "
            "(docs/proofs/gaussian_published.md, 2)"
        )


def truncation(
    task: Task, n: int, epsilon: float, delta: float, eta: float = 0.1, widened: Fraction = Fraction(1)
) -> Truncation:
    """The numbers of Theorem 4.2 at n records, whether or not they suffice; lam is `widened` times usual."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    n, eta = integer(n, "n"), float(between(eta, "eta", "(0, 1)"))
    lam = bound_of(task, n) * widened
    whole = Fraction(eta) * n
    T, b, t = math.floor(LAYER * whole), math.ceil(SAFE * whole), math.floor(INNER * whole)
    half = Fraction(delta) / 2
    profile = accept_profile(epsilon * SHARE, half)
    ratio = log_ratio(grid_of(task, n), float(lam), n, (T, t, b))
    try:
        rest = Fraction(epsilon) - Fraction(profile.epsilon)
        rate = rational_base(float(rest), 1, half).rate
    except ValueError:  # so small a budget does not pay for the mass
        rate = 0.0
    mass = ratio - rate * (T - t)
    return Truncation(task, n, epsilon, delta, eta, lam, T, b, t, b - profile.length, ratio, mass)


def bound_of(task: Task, n: int) -> Fraction:
    """lam: the variance of a standard Gaussian's features and what sampling adds, rounded up to 1/1024."""
    base = 1.0 if task == "mean" else 2.0
    return Fraction(math.ceil(1024 * base * (1.0 + 1.5 / math.sqrt(n))), 1024)


def grid_of(task: Task, n: int) -> Candidates:
    """Candidates about half a sampling error apart."""
    fine = 1 << max(2, math.ceil(math.log2(1.5 * math.sqrt(n))))
    return Candidates(task, spacing=Fraction(1, fine), steps=fine)


def log_ratio(grid: Candidates, lam: float, n: int, levels: tuple[int, int, int]) -> float:
    """ln of a bound on N(T) / N(t), for every table whose least level is below b; inf where none is proven.

    levels: (T, t, b). N(T): all candidates of score at most T are close (separation). N(t): around the best
    candidate the score grows slowly (Lipschitz), and by little more than a convex one towards every other.
    Counts on the grid, not volumes.
    """
    T, t, b = levels
    kappa = (t - (b - 1)) / n
    if not (0 < kappa < 1 and 0 < T < n / 2):
        return math.inf
    separate = level_diameter(T / n, lam)  # for variances, of the larger one
    share = convex_share(((b - 1) / n, T / n, t / n), 1.0 if grid.kind == "mean" else 1.0 + lam)
    if grid.kind == "mean":
        spacing = float(grid.spacing)
        outer = math.floor(separate / spacing * (1 + 1e-9)) + 1
        inner = 2 * math.floor(level_radius(kappa, lam) / spacing * (1 - 1e-9)) + 1
    elif separate >= 1:
        return math.inf
    else:
        f = kappa / (1.0 + math.sqrt(1.0 + 1.0 / lam)) * (1 - 1e-9)
        outer = math.floor(-math.log2(1 - separate) * grid.steps * (1 + 1e-9)) + 2
        inner = math.floor(math.log2(1 + f) * grid.steps) + math.floor(-math.log2(1 - f) * grid.steps) - 1
        share *= separate / -math.log1p(-separate)  # of the way in logarithms, downwards; upwards it is more
    # m candidates of level up to T make more than share (m - 1) - 2 + 1 of level up to t, and inner at least
    inner = max(1, inner)
    near = (inner + 1) / share + 1 if share > 0 else math.inf  # then separation alone bounds them
    return math.log(min(outer, near)) - math.log(inner)


def convex_share(scores: tuple[float, float, float], excess: float) -> float:
    """The part of the way, from any candidate of score s0 to any of score s1, on which it is at most s.

    scores: (s0, s1, s) as shares of n, s0 < s < s1. excess: 1, or 1 + lam where the bound moves with the
    square of the candidate. Proof: docs/proofs/gaussian_published.md, 2.
    """
    s0, s1, s = scores
    mixed = excess * (s0 + s1)
    first = min(1.0, mixed * (1.0 + math.sqrt(s1 / s0))) if s0 > 0 else 1.0
    if first <= mixed:
        return 0.0
    second = first * mixed / (first - mixed)
    part = (s - s0) / (s1 - s0 + first * s0 + second * s1)
    return min(part, 1.0 / (1.0 + second)) * (1.0 - 1e-9)


def least_records(
    task: Task, epsilon: float, delta: float, eta: float = 0.1, widened: Fraction = Fraction(1)
) -> int:
    """The least n (within .4 %) at which Theorem 4.2 applies; ValueError if none."""
    result = least(
        lambda n: truncation(task, n, epsilon, delta, eta, widened).holds, 16, MOST_RECORDS, 257 / 256
    )
    if result is None:
        raise ValueError(f"eta = {eta} proves nothing for a {task} at any number of records: lower it")
    return result


def plan_truncated_draw(
    task: Task, n: int, epsilon: float, delta: float, eta: float = 0.1, widened: Fraction = Fraction(1)
) -> Truncation:
    """The numbers of Theorem 4.2; TooFewRecords where it does not apply, with the n that would do."""
    result = truncation(task, n, epsilon, delta, eta, widened)
    if not result.holds:
        needed = least_records(task, epsilon, delta, eta, widened)
        raise TooFewRecords(
            f"Theorem 4.2 does not apply to the {task} of n = {n} records at (epsilon, delta) = ({epsilon}, "
            f"{delta}): about {needed} would do; PrivateMean and PrivateCovariance need far fewer",
            needed,
        )
    return result


@dataclass(frozen=True)
class ListedBox(Sampler):
    """Every level of the box that holds the levels up to the top is computed: exact, for one coordinate."""

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """A level by its number of points, then a uniform point of it."""
        box = levels.box(top)
        if box is None:
            raise ValueError("no finite box holds the levels up to the top: lower it")
        return draw_listed(points_of(box), levels, base, top, bits)


def published_location(
    x: Any, epsilon: float, delta: float, *, eta: float = 0.1, insecure_seed: int | None = None
) -> Release:
    """Mean of one column of variance 1, unbounded (Theorem 5.2 in one coordinate); value None: declined.

    Raises TooFewRecords, from public numbers, before a record is read.
    """
    rows = _column(x)
    plan = plan_truncated_draw("mean", rows.size, epsilon, delta, eta)
    return truncated_draw(plan, rows, insecure_seed=insecure_seed)


def published_variance(
    x: Any, epsilon: float, delta: float, *, eta: float = VARIANCE_SHARE, insecure_seed: int | None = None
) -> Release:
    """Variance of one column of any mean, unbounded (Theorem 6.2 in one coordinate); None: declined.

    Of differences of consecutive records. Raises TooFewRecords, as above, for half the records.
    """
    pairs = _pairs(_column(x))
    plan = plan_truncated_draw("variance", pairs.size, epsilon, delta, eta)
    return truncated_draw(plan, pairs, insecure_seed=insecure_seed)


def published_gaussian(x: Any, epsilon: float, delta: float, *, insecure_seed: int | None = None) -> Release:
    """Mean and variance of one column, unbounded (Theorem 1.4 in one coordinate): half of the budget each.

    The mean is that of x / sigma, sigma^2 released first, with a bound for sigma off by a half. Value: a
    dict, or None as soon as one of them is declined. Raises TooFewRecords, as above.
    """
    rows = _column(x)
    pairs = _pairs(rows)
    first = plan_truncated_draw("variance", pairs.size, epsilon / 2, delta / 2, VARIANCE_SHARE)
    second = plan_truncated_draw("mean", rows.size, epsilon / 2, delta / 2, widened=WHITENED**2)
    variance = truncated_draw(first, pairs, insecure_seed=insecure_seed)
    sigma = 1.0 if variance.value is None else math.sqrt(variance.value)
    with np.errstate(all="ignore"):
        scaled = rows / sigma
    mean = truncated_draw(second, scaled, insecure_seed=None if insecure_seed is None else insecure_seed + 1)
    value = None
    if variance.value is not None and mean.value is not None:
        value = {"mean": sigma * mean.value, "variance": variance.value}
    return join([variance, mean], value, mechanism="gaussian.published", public={"records": rows.size})


def truncated_draw(plan: Truncation, rows: np.ndarray, *, insecure_seed: int | None = None) -> Release:
    """The test and the draw of one plan, of (n,) records; a float, or None where it is declined.

    ValueError unless the theorem applies to the plan and the records are as many as it says.
    """
    if not plan.holds:
        raise ValueError("Theorem 4.2 does not apply to these numbers")
    score = LineScore(grid_of(plan.task, plan.n), plan.n, plan.lam)
    result = truncated_exponential(
        score,
        rows,
        epsilon=plan.epsilon,
        delta=plan.delta,
        threshold=plan.threshold,
        share=SHARE,
        theorem=VolumeTheorem(plan.safe, plan.statement),
        sampler=ListedBox(),
        mechanism=f"gaussian.published.{plan.task}",
        insecure_seed=insecure_seed,
    )
    value = None if result.value is None else float(result.value[0])
    if value is not None and plan.task == "variance":
        value = float(score.candidates.value(round(value * score.candidates.steps)))
    return Release(value, result.guarantee, public=result.public)


def _pairs(rows: np.ndarray) -> np.ndarray:
    """Differences of consecutive records over sqrt 2: a record is in one of them."""
    with np.errstate(all="ignore"):
        return pairs_of(rows)


def _column(x: Any) -> np.ndarray:
    """(n,) floats, NaN for what is no number; ValueError for another shape."""
    rows = floats(x, (1,))
    if max(rows.shape, default=0) < 2 or rows.size != len(rows):
        raise ValueError(f"one column of at least two records is needed, got shape {rows.shape}")
    return rows.reshape(-1)
