"""The exponential mechanism on integer levels, pure on a bounded lattice, truncated on any.

Proofs: docs/proofs/exponential_mechanism.md (pure), docs/proofs/truncated_mechanism.md (truncated)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer, settle
from sosdp.privacy.guarantee.condition import Condition, Kind, given, kind_of
from sosdp.privacy.guarantee.evidence import proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.acceptance import AcceptCurve, accept_profile
from sosdp.privacy.scores.levels import BITS, RationalBase, rational_base
from sosdp.privacy.scores.partition import LazyPartition
from sosdp.privacy.scores.sampling import BoxLattice, FiniteGrid, Layered, PermuteAndFlip, Sampler
from sosdp.privacy.scores.score import Levels, Point, ScoreFunction
from sosdp.privacy.terms import Terms, on_terms


def default_sampler(score: ScoreFunction) -> Sampler:
    """BoxLattice where level sets are boxes, LazyPartition where cells have bounds, FiniteGrid on small
    lattices, else Layered."""
    if score.exact_boxes:
        return BoxLattice()
    if score.cells:
        return LazyPartition()
    size = score.lattice.size
    return FiniteGrid() if size is not None and size <= 4096 else Layered()


@on_terms("exponential.pure")
def pure_exponential(
    terms: Terms, score: ScoreFunction, data: Any, *, sampler: Sampler | None = None
) -> Release:
    """Draw a lattice point with probability proportional to r^level: epsilon-DP and (epsilon^2/8)-zCDP.

    Args:
        terms: epsilon; 2 sensitivity ln(1/r) <= epsilon is certified.
        score: public description; its lattice must be bounded and its levels at most `max_level`.
        data: private records, as the score takes them.
        sampler: exact ones keep the guarantee's kind; default by `default_sampler`.

    Returns:
        Release whose value is the point's coordinates, float64.

    Raises:
        ValueError: public arguments out of range or of the wrong shape; never because of the records.
    """
    lattice = score.lattice
    if lattice.box is None:
        raise ValueError(
            "the pure mechanism needs a bounded lattice (a public range of the parameter): give it a box, or "
            "use truncated_exponential with delta > 0"
        )
    top = score.top
    sampler = default_sampler(score) if sampler is None else sampler
    sampler.check(score)
    epsilon = terms.pure
    base = rational_base(epsilon, score.sensitivity)
    bits = terms.bits(keystream=False)
    rho = math.nextafter(sampler.concentrated(epsilon), math.inf)
    promise = _of_score(terms, score, sampler).guarantee(*sampler.assumptions, epsilon=epsilon, rho=rho)
    point = sampler.draw(score, score.on(data), base, top, bits)
    evidence = proven_by("exponential_mechanism", *sampler.laws(base))
    return terms.seal(lattice.value(point), promise, bits, evidence=evidence, public=_facts(score, sampler))


def _of_score(terms: Terms, score: ScoreFunction, sampler: Sampler) -> Terms:
    """The terms of a release by a score, which knows what neighbours are and what is proven of it; what a
    class of somebody else's says is a condition."""
    said = (given(LEVELS, score), given(EXACTLY, sampler))
    foreign = [text for text in said if isinstance(text, Condition)]
    known = terms.proven_for(score.adjacency, "the sensitivity of this score")
    return known.assuming(*score.assumptions, *foreign)


LEVELS = "the levels of the score move by at most its sensitivity between neighbours"
EXACTLY = "the sampler draws exactly its law, whatever the levels are"


def _facts(score: ScoreFunction, sampler: Sampler) -> dict[str, Any]:
    return {
        "records": score.records,
        "spacing": float(score.lattice.spacing),
        "sampler": type(sampler).__name__,
    }


# ------------------------------------------------------------------------------------------------------------
# Truncated law behind a safety test


@dataclass(frozen=True)
class VolumeTheorem:
    """Safe test A: a proof that the truncated law is safe wherever the least level is below `level`.

    The user asserts, and `statement` cites the proof: for EVERY data set with least level < `level`, the law
    truncated at the threshold has at most the mass mu in its boundary layer. The release is conditional on
    it.
    """

    level: int
    statement: str

    def __post_init__(self) -> None:
        settle(self, level=integer(self.level, "level", 0))


@dataclass(frozen=True)
class TruncatedPlan:
    """Everything public about a truncated mechanism, fixed before the data are read.

    Attributes:
        threshold: T; base: r; profile: accept probabilities by distance to unsafe; mass: mu.
        epsilon, delta: totals.
    """

    threshold: int
    base: RationalBase
    profile: AcceptCurve
    mass: Fraction
    sensitivity: int
    level0_count: int
    epsilon: float
    delta: float

    def distance(self, counts: Sequence[int | None] | Mapping[int, int | None]) -> int:
        """Safe test B: D, with sensitivity 1, from the level counts N(0), N(1), ..., N(T + m (K* - 1)).

        D = 0 if the boundary mass may exceed mu; else 1 + the largest k < K* such that it stays within mu for
        all data sets at distance k, as far as the counts show. Integers only. None stands for infinity.
        """
        k = 0
        while k < self.profile.length and self._safe(counts, k):
            k += 1
        return k

    def _safe(self, counts: Sequence[int | None] | Mapping[int, int | None], k: int) -> bool:
        """mubar_k <= mu, that is b_k (1 - mu) <= mu I_k with I_k > 0, multiplied by 2^(40 (T+1))."""
        t, m, a = self.threshold, self.sensitivity, self.base.numerator

        def count(j: int) -> int | None:
            return 0 if j < 0 else counts[j]

        def power(j: int) -> int:
            return a**j << BITS * (t + 1 - j)  # r^j in units 2^(-40 (T+1))

        inner, outer = count(t - m - m * k), count(t + m * k)
        if outer is None or inner is None:
            return False
        layer = (outer - inner) * power(t - m + 1)
        interior = inner * power(t - m) if t >= m else 0
        for j in range(m * k, t - m):
            weight = count(j - m * k)
            if weight is None:
                return False
            interior += weight * (power(j) - power(j + 1))
        interior = max(interior, (self.level0_count if t >= m else 0) << BITS * (t + 1))
        mu = self.mass
        return interior > 0 and layer * (mu.denominator - mu.numerator) <= mu.numerator * interior


def plan_truncated(
    score: ScoreFunction,
    *,
    epsilon: float | None,
    delta: float | None,
    threshold: int | None = None,
    share: float = 0.25,
) -> TruncatedPlan:
    """The public part of `truncated_exponential`: delta is halved between the accept bit and the boundary.

    Args:
        share: part of epsilon for the accept bit.
        threshold: T; by default ceil((ln(1/mu) + d ln 200) / ln(1/r)), plus sensitivity * K* without slack.

    Raises:
        ValueError: a budget out of range, or so small that it cannot pay for the truncated mass.
    """
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    share = float(calibrate.between(share, "share", "(0, 1)"))
    half = Fraction(delta) / 2
    profile = accept_profile(epsilon * share, half)
    rest = Fraction(epsilon) - Fraction(profile.epsilon)
    base = rational_base(calibrate.float_down(rest), score.sensitivity, half)
    if threshold is None:
        wanted = math.log(1.0 / float(half)) + score.lattice.dimension * math.log(200.0)
        threshold = math.ceil(wanted / base.rate)
        if score.level0_count == 0:
            threshold += score.sensitivity * profile.length
    threshold = integer(threshold, "threshold, at least the level's sensitivity,", score.sensitivity)
    return TruncatedPlan(
        threshold, base, profile, half, score.sensitivity, score.level0_count, float(epsilon), float(delta)
    )


@on_terms("exponential.truncated", needs="epsilon delta")
def truncated_exponential(
    terms: Terms,
    score: ScoreFunction,
    data: Any,
    *,
    threshold: int | None = None,
    share: float = 0.25,
    theorem: VolumeTheorem | None = None,
    sampler: Sampler | None = None,
) -> Release:
    """Decline, or draw from r^level on the points of level <= T, on a lattice that may be unbounded.

    Args:
        terms: epsilon and delta.
        score: with exact level counts (safe test B); or give `theorem` (safe test A).
        threshold, share: see `plan_truncated`.
        theorem: safe test A: distance max(0, level - least level) // sensitivity.
        sampler: exact; default `BoxLattice`, or `Layered`.

    Returns:
        Release whose value is the point's coordinates, or None.

    Raises:
        ValueError: public arguments out of range, or neither counts nor a theorem.
    """
    epsilon, delta = terms.approximate
    plan = plan_truncated(score, epsilon=epsilon, delta=delta, threshold=threshold, share=share)
    sampler = default_sampler(score) if sampler is None else sampler
    sampler.check(score)
    if kind_of(sampler.assumptions) != Kind.EXACT:
        raise ValueError("the truncated mechanism takes exact samplers only")
    if isinstance(sampler, PermuteAndFlip):
        raise ValueError("the truncated mechanism samples r^level: permute-and-flip has another law")
    if theorem is None and not (score.exact_boxes or score.exact_counts):
        raise ValueError(
            "this score has no exact level counts, so nothing certifies that truncation is safe: give a "
            "VolumeTheorem, or localise with a coordinate-wise score, then use pure_exponential in that box"
        )
    if theorem is not None and theorem.level > plan.threshold + 1:
        raise ValueError(
            f"the theorem's level must be at most threshold + 1 = {plan.threshold + 1}, got {theorem.level}: "
            "otherwise the truncated law could be empty"
        )
    if any(isinstance(text, Condition) for text in score.assumptions):
        raise ValueError(
            "the truncated mechanism needs levels that are one fixed function of the data set: exact scores"
        )
    bits = terms.bits(keystream=False)
    statement = () if theorem is None else (Condition(f"condition: {theorem.statement}"),)
    promise = _of_score(terms, score, sampler).guarantee(*statement)
    levels = score.on(data)
    distance = _distance(plan, levels, theorem, score)
    value = None
    if plan.profile.accepts(distance, bits):
        value = score.lattice.value(sampler.draw(score, levels, plan.base, plan.threshold, bits))
    return terms.seal(
        value,
        promise,
        bits,
        evidence=proven_by("truncated_mechanism"),
        public=_facts(score, sampler) | {"threshold": plan.threshold, "distance_needed": plan.profile.length},
        private={"distance": distance},
    )


def _distance(
    plan: TruncatedPlan, levels: Levels, theorem: VolumeTheorem | None, score: ScoreFunction
) -> int:
    last = plan.threshold + plan.sensitivity * (plan.profile.length - 1)
    if theorem is None:
        return plan.distance({j: levels.count(j) for j in range(last + 1)})
    return max(0, theorem.level - least_level(score, levels, theorem.level)) // plan.sensitivity


def least_level(score: ScoreFunction, levels: Levels, below: int = 1) -> int:
    """The exact least level over the lattice if that is less than `below`, else `below` or more.

    By counts, by listing a finite lattice, or by listing the box that holds the levels less than `below`.

    Raises:
        ValueError: none is possible.
    """
    if score.lattice.box is None and not levels.exact_boxes:
        box = levels.box(below - 1)
        if box is None:
            raise ValueError("no finite box holds the levels in question")
        points = product(*(range(low, high + 1) for low, high in box))
        return min((levels.level(point) for point in points), default=below)
    if levels.exact_boxes:
        k = 0
        while levels.count(k) == 0:
            k += 1
        return k
    return min(levels.level(point) for point in score.lattice.points())


# ------------------------------------------------------------------------------------------------------------
# For tests and planning


def exact_law(
    score: ScoreFunction, data: Any, base: RationalBase, top: int | None = None
) -> dict[Point, Fraction]:
    """The law r^level on a finite lattice (truncated at `top`) by enumeration, in exact rationals."""
    levels = score.on(data)
    result = {point: levels.level(point) for point in score.lattice.points()}
    kept = {point: level for point, level in result.items() if top is None or level <= top}
    a = base.numerator
    most = max(kept.values())
    weights = {point: a**level << BITS * (most - level) for point, level in kept.items()}
    total = sum(weights.values())
    return {point: Fraction(weight, total) for point, weight in weights.items()}
