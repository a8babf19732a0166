"""A private upper bound on a quantity that is hard to compute, from a relaxation that is not.

The relaxation's exact value moves by at most `sensitivity` between neighbours and lies above the quantity;
what is
computed is a bracket of it, whose width is charged. The released number is above the quantity with the
confidence
asked for.

Proof: docs/proofs/cuts_error_bar.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import positive
from sosdp.privacy.guarantee.condition import Condition, given
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.acceptance import tail_margin
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms, on_terms

DEFAULT_GRID = Fraction(1, 16)

Real = float | Fraction


@dataclass(frozen=True)
class UpperBoundRule:
    """Public constants of one release, all in grid units.

    Attributes:
        step: what the rounded bound moves by between neighbours. units: scale of the discrete Laplace noise.
        margin: added to the noisy bound; the noise is below -margin with probability at most 1 - confidence.
        largest: a public bound on the quantity for all data. grid, gap, confidence: as given.
    """

    step: int
    units: Fraction
    margin: int
    largest: int
    grid: Fraction
    gap: Fraction
    confidence: float

    def count(self, bracket: tuple[Real, Real] | None) -> int:
        """The upper end of the bracket in grid units, rounded up; `largest` where no bracket is narrow
        enough."""
        if bracket is None:
            return self.largest
        lower, upper = bracket
        if not (math.isfinite(lower) and math.isfinite(upper)):
            return self.largest
        if Fraction(upper) - Fraction(lower) > self.gap:
            return self.largest
        return min(max(math.ceil(Fraction(upper) / self.grid), 0), self.largest)


def upper_bound_rule(
    epsilon: float,
    *,
    sensitivity: float | Fraction,
    gap: float,
    confidence: float,
    largest: float,
    grid: Fraction = DEFAULT_GRID,
) -> UpperBoundRule:
    """The constants for a budget; see `release_upper_bound`.

    Raises:
        ValueError: numbers out of range.
    """
    epsilon = calibrate.check_epsilon(epsilon)
    width, unit = positive(gap, "gap"), positive(grid, "grid")
    confidence = float(calibrate.between(confidence, "confidence", "[0.5, 1)"))
    # both rounded up to the grid: ceilings differ by at most the ceiling of the difference
    step = math.ceil((positive(sensitivity, "sensitivity") + width) / unit)
    units = Fraction(calibrate.float_up(Fraction(step) / Fraction(epsilon)))
    # the noise is symmetric: P(noise <= -j) = P(noise >= j), and j = margin + 1 is the first one that fails
    margin = tail_margin(float(units), 1.0 - confidence) - 1
    return UpperBoundRule(
        step, units, margin, math.ceil(positive(largest, "largest") / unit), unit, width, confidence
    )


@on_terms("upper bound", needs="epsilon adjacency", takes="proof")
def release_upper_bound(
    terms: Terms,
    bracket: tuple[Real, Real] | None,
    *,
    sensitivity: float | Fraction,
    gap: float,
    largest: float,
    confidence: float = 0.95,
    grid: Fraction = DEFAULT_GRID,
    search_complete: bool = False,
) -> Release:
    """Release a number that is at least the quantity, with probability `confidence` over the noise.

    Args:
        terms: epsilon, and adjacency.
        bracket: private; certified lower and upper ends of the relaxation's value (floats or fractions), or
        None if the solver failed.
        sensitivity: what the relaxation's exact value moves by between neighbours; without a proof (`Terms`)
            a condition of the release.
        gap: public; the width every bracket has to reach; charged. A wider one counts as none.
        largest: public; no data have a larger value.
        confidence: probability in [1/2, 1) that the released bound is valid.
        grid: spacing of the released numbers.
        search_complete: it is proven that the brackets of all data reach the gap, or that none does (public).

    Returns:
        Release of {"bound", "confidence"}. The guarantee is "conditional" unless search_complete: it rests on
        every run reaching the gap.

    Raises:
        ValueError: public arguments out of range; never because of the bracket.

    Source: docs/proofs/cuts_error_bar.md, Theorem 2.
    """
    rule = upper_bound_rule(
        terms.pure,
        sensitivity=sensitivity,
        gap=gap,
        confidence=confidence,
        largest=largest,
        grid=grid,
    )
    bits = terms.bits()
    noisy = rule.count(bracket) + exact.discrete_laplace(rule.units, bits) + rule.margin
    bound = calibrate.float_up(min(max(noisy, 0), rule.largest) * rule.grid)
    moves = given(f"the exact value moves by at most {float(sensitivity):g} between neighbours", terms.proof)
    reached = Condition(
        f"condition: on every graph the solver certifies its value to within {float(rule.gap):g} (where it "
        "does not, the public largest value takes its place)"
    )
    return terms.seal(
        {"bound": bound, "confidence": rule.confidence},
        terms.guarantee(moves, *([] if search_complete else [reached])),
        bits,
        public={
            "noise_scale": float(rule.units * rule.grid),
            "margin": float(rule.margin * rule.grid),
            "gap": float(rule.gap),
        },
        private={"bracket": bracket},
    )
