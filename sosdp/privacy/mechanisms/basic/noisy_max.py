"""The candidate with a nearly highest score: report-noisy-max with Gumbel noise, or permute-and-flip.

Proof: docs/proofs/noisy_max.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sosdp.privacy.arguments import positive
from sosdp.privacy.calibrate import one_of, range_rho
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.condition import given
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_up
from sosdp.privacy.inputs import choose, wholes
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms, on_terms

LARGEST = 1 << 62


@on_terms("noisy max", takes="adjacency proof", adjacency=ONE_RECORD_REPLACED)
def report_noisy_max(
    terms: Terms,
    scores: Sequence[Any],
    *,
    sensitivity: float | Fraction,
    unit: float | Fraction = 1,
    monotone: bool = False,
    noise: str = "gumbel",
) -> Release:
    """The index of a candidate, chosen with a probability that grows with its score.

    Scores are counted in whole units (rounded down, clipped to 2^62; NaN is the lowest). With s the integer
    sensitivity in these units, "gumbel" has exactly the law P(i) ~ exp(epsilon score_i / (2 s)), that of the
    largest score plus Gumbel noise; it is epsilon-DP and (epsilon^2 / 8)-zCDP. "permute-and-flip" is
    never worse on average, epsilon-DP, and (epsilon^2 / 2)-zCDP.

    Args:
        terms: epsilon, and adjacency; without a proof of the sensitivity it is a condition of the release.
        scores: one a candidate; their number is public.
        sensitivity: public bound on the change of any one score between neighbours.
        unit: public size of a whole unit; a fraction of the sensitivity loses nothing.
        monotone: between any two neighbours all scores change in the same direction (counts under adding a
            record); of scores in whole units, more generally, the changes lie in one interval of length
            `sensitivity`: half the noise.

    Raises:
        ValueError: public arguments out of range, or no candidate; never because of the scores.

    Source: McSherry and Talwar 2007; McKenna and Sheldon 2020; the zCDP bound is that of the proof page.
    """
    epsilon = terms.pure
    step = positive(unit, "unit")
    bound = positive(sensitivity, "sensitivity")
    whole_sensitivity = math.ceil(bound / step)
    if len(scores) == 0:
        raise ValueError("there must be at least one candidate")
    one_of(noise, "noise", ("gumbel", "permute-and-flip"))
    rate = Fraction(epsilon) / (whole_sensitivity * (1 if monotone else 2))
    bits = terms.bits()
    counted = wholes(scores, step, Fraction(0), -LARGEST, LARGEST)
    if noise == "gumbel":
        highest = max(counted)
        chosen = choose([highest - score for score in counted], rate, bits)
        rho = range_rho(epsilon)
    else:
        chosen = exact.permute_and_flip(counted, rate, bits)
        rho = float_up(Fraction(epsilon) ** 2 / 2)
    moves = given(
        f"no score changes by more than {float_up(bound)!r} between neighbours"
        + (", and all change in the same direction" if monotone else ""),
        terms.proof,
    )
    name = "exponential" if noise == "gumbel" else "permute and flip"
    return terms.seal(
        chosen,
        terms.guarantee(moves, epsilon=epsilon, rho=rho),
        bits,
        evidence=proven_by("noisy_max", Law(name, (rate, whole_sensitivity * (1 if monotone else 2)))),
        public={"candidates": len(scores)},
    )
