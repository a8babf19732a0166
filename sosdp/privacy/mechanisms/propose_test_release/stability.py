"""Propose-test-release: the certified answer itself, where the data are far from any change of it.

A problem offers a statistic f >= 0 of the data, the distance to instability, such that

    (1) f changes by at most 1 between neighbouring data sets, and
    (2) an answer exists wherever f > 0, and neighbours have the same answer as soon as one of them has f > 1.

The answer is released when a noisy version of f is large; nothing is released otherwise. No noise is added
to the answer. Numerical error in f, rounding to a grid and an incomplete search are charged as described in
the proof.

Proof: docs/proofs/certificate_stability.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sosdp.privacy.calibrate as calibrate
import sosdp.privacy.randomness as noise
from sosdp.model.gathering import gathering
from sosdp.privacy.arguments import nonnegative
from sosdp.privacy.guarantee.condition import Charged, Condition, given
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_up
from sosdp.privacy.inputs import number
from sosdp.privacy.mechanisms.propose_test_release import acceptance as accept
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms, on_terms

DEFAULT_GRID = 2.0**-20

SMALLEST_COIN = 1e-3
"""Least epsilon for an acceptance curve, whose list has about (2 / epsilon) log(1 / delta) entries."""

MOVES = (
    "the exact statistic moves by at most 1 between neighbours, and they share their answer as soon as that "
    "of one of them is above 1"
)
_LARGEST_COUNT = 1 << 60
_LARGEST_NOISE = 3 << 61


@dataclass(frozen=True)
class StabilityRule:
    """The public part of a stability release: how a computed statistic becomes a decision.

    Attributes:
        accept: the integer rule (noise, threshold).
        error: public bound mu on |computed statistic - f|.
        shift: tau0 >= mu, subtracted from the statistic; below it no answer needs to be found.
        grid: the statistic is rounded to multiples of this.
    """

    accept: accept.AcceptRule
    error: float
    shift: float
    grid: float

    def count(self, statistic: float | Fraction | None) -> int:
        """Integer statistic F = max(0, floor((statistic - shift) / grid + 1/2)); 0 for None, NaN. Never
        raises.
        """
        plain = number(statistic)
        if not isinstance(plain, Fraction):  # an infinity, NaN, or no number at all
            return _LARGEST_COUNT if plain is not None and plain > 0 else 0
        exact = (plain - Fraction(self.shift)) / Fraction(self.grid)
        return min(max(0, math.floor(exact + Fraction(1, 2))), _LARGEST_COUNT)

    def release_probability(self, statistic: float | Fraction | None) -> float:
        """Probability that a data set with this computed statistic gets its answer released."""
        return self.accept.release_probability(self.count(statistic))

    def steps(self, statistic: float | Fraction | None) -> int:
        """Integer statistic of the acceptance curve: max(0, ceil((statistic - shift) / (1 + 2 error)) - 1).

        0 for None and NaN. Neighbours differ by at most 1 and share the answer where both are positive. Never
        raises.
        """
        plain = number(statistic)
        if not isinstance(plain, Fraction):  # an infinity, NaN, or no number at all
            return _LARGEST_COUNT if plain is not None and plain > 0 else 0
        whole = (plain - Fraction(self.shift)) / (1 + 2 * Fraction(self.error))
        return min(max(0, math.ceil(whole) - 1), _LARGEST_COUNT)

    def statistic_needed(self, failure: float = 0.01) -> float:
        """Smallest statistic (before the shift) released with probability at least 1 - `failure`; for
        planning.

        Raises:
            ValueError: failure outside (0, 1/2].
        """
        return self.accept.statistic_needed(failure) * self.grid + self.shift


def stability_rule(
    epsilon: float, delta: float, *, error: float = 0.0, shift: float = 0.0, grid: float = DEFAULT_GRID
) -> StabilityRule:
    """Calibrate a stability release from public numbers.

    The integer statistic of neighbours differs by at most S = ceil((1 + 2 error) / grid) where the
    answer agrees, and is at most S where it may differ.

    Args:
        epsilon, delta: budget; delta in (0, 1/2].
        error: bound on the error of the computed statistic, fixed before the data are seen (0: exact).
        shift: at least `error`; the search must settle every data set with f > shift.
        grid: rounding of the statistic.

    Raises:
        ValueError: budget out of range, shift < error, or a grid too coarse or too fine for the budget.
    """
    # bounds from above: what they bound is no less where they are no floats
    error, shift = (
        float_up(nonnegative(bound, name)) for bound, name in ((error, "error"), (shift, "shift"))
    )
    grid = calibrate.check_positive(grid, "grid")
    if shift < error:
        raise ValueError(
            f"shift ({shift}) must be at least the error bound ({error}): otherwise an answer that is not "
            "really "
            "certified could be released"
        )
    if grid > 1.0:
        raise ValueError(f"grid must be at most 1 (the sensitivity of the statistic), got {grid}")
    step = math.ceil((1 + 2 * Fraction(error)) / Fraction(grid))
    return StabilityRule(accept=accept.accept_rule(epsilon, delta, step), error=error, shift=shift, grid=grid)


@dataclass(frozen=True)
class Statistic:
    """How a statistic is computed and used, all of it public; see `release_if_stable`."""

    error: float = 0.0
    shift: float = 0.0
    grid: float = DEFAULT_GRID
    search_complete: bool = False
    noisy_statistic: bool = False
    decision: str = "noise"


@gathering(Statistic, "plan")
@on_terms("stability", needs="epsilon delta adjacency", takes="proof")
def release_if_stable(
    terms: Terms,
    value: Any,
    statistic: float | Fraction | None,
    *,
    resolved: bool = True,
    plan: Statistic,
) -> Release:
    """Release `value` if the statistic, with noise, is large enough; else release that nothing is released.

    Args:
        terms: epsilon, delta in (0, 1/2], adjacency; without a proof of (1) and (2) they are a condition.
        value: the certified answer (private until released); must be exactly equal, as a value, on data sets
            that share the answer (fix signs and order by a rule). Ignored where the statistic is None.
        statistic: computed value of f for this data set, within `error` of the truth, together with `value`;
            or None when it is proven that f <= shift + error.
        resolved: private; False when the search ended with neither a statistic nor a proof. Nothing is
            released then.
        plan: the fields of `Statistic`, as keywords:
        error, shift, grid: public constants, see `stability_rule`.
        search_complete: public; True only if it is proven that the search always resolves. Otherwise the
            guarantee rests on the condition that it does.
        noisy_statistic: also release the noisy statistic (same budget), as `public["noisy_statistic"]`; only
            with noise.
        decision: public; "noise": compare the noisy statistic with a threshold; "coin": one Bernoulli test of
            the largest private probability (`accept_profile`), which releases more from epsilon about .7
            downwards (epsilon at least 1e-3).

    Returns:
        Release whose value is `value` or None. `private_diagnostics` has the statistic and what was resolved.

    Raises:
        ValueError: public arguments out of range; never because of `value`, `statistic` or `resolved`.
    """
    epsilon, delta = terms.approximate
    rule = stability_rule(epsilon, delta, error=plan.error, shift=plan.shift, grid=plan.grid)
    _check_decision(plan.decision, epsilon, plan.noisy_statistic)
    bits = terms.bits(keystream=False)
    shown = {}
    if plan.decision == "coin":
        count = rule.steps(statistic) if resolved else 0
        accepted = accept.accept_profile(epsilon, delta).accepts(count, bits)
    else:
        count = rule.count(statistic) if resolved else 0
        # Drawn in every case, so that neither the randomness used nor the time depends on the decision.
        # One draw: the exact scalar sampler has no error to account for.
        drawn = exact.discrete_laplace(rule.accept.units, bits)
        accepted = rule.accept.accepts(count, drawn)
    if plan.noisy_statistic:
        shown["noisy_statistic"] = (
            int(noise.add(count, max(min(drawn, _LARGEST_NOISE), -_LARGEST_NOISE))) * rule.grid
        )
    if plan.decision == "coin":
        law = Law("acceptance curve", (Fraction(epsilon), Fraction(delta)))
    else:
        law = Law(
            "laplace threshold", (Fraction(rule.accept.units), rule.accept.sensitivity, rule.accept.margin)
        )
    return terms.seal(
        value if accepted else None,
        terms.guarantee(given(MOVES, terms.proof), *_assumptions(rule, plan.search_complete)),
        bits,
        evidence=proven_by("certificate_stability", law),
        public=shown,
        private={"statistic": statistic, "count": count, "resolved": resolved},
    )


def _check_decision(decision: str, epsilon: float, noisy_statistic: bool) -> None:
    if decision not in ("noise", "coin"):
        raise ValueError(f'decision must be "noise" or "coin", got {decision!r}')
    if decision == "coin" and noisy_statistic:
        raise ValueError('there is no noisy statistic with a coin: use decision="noise"')
    if decision == "coin" and epsilon < SMALLEST_COIN:
        raise ValueError(
            f'the list of a coin is too long below epsilon = {SMALLEST_COIN}: use decision="noise"'
        )


def _assumptions(rule: StabilityRule, search_complete: bool) -> tuple[str, ...]:
    lines: list[str] = []
    if rule.error > 0.0:
        lines.append(Charged(f"the computed statistic is within {rule.error!r} of the exact one (charged)"))
    if not search_complete:
        lines.append(
            Condition(
                "condition: on both neighbouring data sets the search ends with a certified answer or with a "
                f"proof that the statistic is at most {rule.shift!r}; a search that ends with neither "
                "releases nothing, and such data sets are outside the claim"
            )
        )
    return tuple(lines)
