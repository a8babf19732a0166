"""Private averages of k-tuples of points at a radius that is chosen privately: the tight route of private
k-tuple clustering.

Radii grow by sqrt(2) along a public list. The exponential mechanism finds where most tuples become friends,
and the test and mean of `friendly_core.py` run at twice that radius. Noise scales with the radius, that is
with how much the tuples scatter, and not with how far clusters are apart nor with any bound on the data.

Proof: docs/proofs/tuples_averages.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import finite, integer, settle
from sosdp.privacy.calibrate import between, one_of, range_rho
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.composition import halting
from sosdp.privacy.guarantee.condition import Condition, Kind, given
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_down, float_up
from sosdp.privacy.inputs import choose
from sosdp.privacy.mechanisms.propose_test_release.block_vote import AgreementRule, agreement_rule, h_score
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import (
    mean_sensitivity,
    noisy_mean,
    spread_of,
)
from sosdp.privacy.mechanisms.propose_test_release.tuple_geometry import (
    neighbourhoods,
    tuple_table,
)
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.terms import Terms, on_terms

STEPS = (4096, 5793, 8192, 11585, 16384, 23170, 32768, 46341)
"""The radii of a group of levels in steps of its grid, sqrt(2) apart; the next grid is 16 times as wide."""

MARGIN = 2
"""Levels added to the chosen one: the choice finds h-scores of some dozens, the test wants a few."""

AVERAGES = ("friends", "members", "center")

CONDITION = Condition("at the chosen radius the h-score of the tuples is at most the reach of the test")
OWN_BLOCK = "each tuple is a function of one block of records, public facts and randomness of its own"


@dataclass(frozen=True)
class RadiusGrid:
    """Public radii least, 2^(1/2) least, 2 least, ...; the largest that can be used is `MARGIN` further.

    Attributes:
        least: the smallest, in the units of the data.
        count: J.
    """

    least: float
    count: int

    def __post_init__(self) -> None:
        settle(self, least=finite(self.least, "least radius", "> 0"))
        settle(self, count=integer(self.count, "number of radii"))

    def unit(self, group: int) -> Fraction:
        """Grid of the group's levels, in the units of the data."""
        return Fraction(self.least) * 16**group / STEPS[0]

    @property
    def radii(self) -> tuple[float, ...]:
        """The radii that can be used, J + MARGIN of them."""
        size = len(STEPS)
        return tuple(float(STEPS[j % size] * self.unit(j // size)) for j in range(self.count + MARGIN))


def check_grid(grid: Any) -> None:
    """ValueError unless it is a `RadiusGrid`."""
    if not isinstance(grid, RadiusGrid):
        raise ValueError(f"grid must be a RadiusGrid(least, count) of public radii, got {grid!r}")


ALL_RADII = RadiusGrid(2.0**-20, 80)
"""Radii from 2^-20 to 2^20: nothing known about the scale of the data costs a logarithm."""


@dataclass(frozen=True)
class TupleBudget:
    """How (epsilon, delta) is divided; all public.

    Attributes:
        epsilon_radius: of the choice of the radius, (epsilon_radius^2 / 8)-zCDP.
        rule: the test, with its own epsilon and delta.
        rho_mean: zCDP of the noisy mean.
        rho_then: zCDP of whatever follows the release.
        epsilon_then, delta_then: what radius, mean and the rest promise together.
        failure: tolerated chance that the choice of the radius goes wrong.
    """

    epsilon_radius: float
    rule: AgreementRule
    rho_mean: float
    rho_then: float
    epsilon_then: float
    delta_then: float
    failure: float


def tuple_budget(
    epsilon: float,
    delta: float,
    *,
    plateau: int = 3,
    failure: float = 0.01,
    test: float = 0.35,
    radius: float = 0.35,
    then: float = 0.0,
) -> TupleBudget:
    """Divide a budget: a share of epsilon and half of delta for the test, zCDP for the rest.

    Args:
        epsilon, delta: whole budget.
        plateau: h-scores up to this pass with probability 1 - failure.
        failure: of the choice of the radius, and of the test.
        test: share of epsilon for the test.
        radius: share of the zCDP for the choice of the radius.
        then: share of what zCDP remains for what follows the release.

    Raises:
        ValueError: numbers out of range.
    """
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    test, radius = (float(between(share, "a share", "(0, 1)")) for share in (test, radius))
    then = float(between(then, "the share of what follows", "[0, 1)"))
    failure = float_down(between(failure, "failure", "(0, 1)"))
    epsilon_test, delta_test = epsilon * test, delta / 2.0
    rule = agreement_rule(epsilon_test, delta_test, failure, plateau)
    epsilon_then = float_down(Fraction(epsilon) - Fraction(epsilon_test))
    delta_then = float_down(Fraction(delta) - Fraction(delta_test))
    total = calibrate.zcdp_rho(epsilon_then, delta_then)
    epsilon_radius = math.sqrt(8.0 * total * radius)
    left = (total - range_rho(epsilon_radius)) * (1.0 - 1e-12)
    return TupleBudget(
        epsilon_radius, rule, left * (1.0 - then), left * then, epsilon_then, delta_then, failure
    )


def averages_guarantee(budget: TupleBudget, basis: Any, *, mechanism: str = "tuples") -> Guarantee:
    """What radius, test, mean and the zCDP of what follows promise together: a function of public numbers.

    basis: the code that makes a tuple of a block, or the `Fact` that each is one of its block (`given`).

    Raises:
        ValueError: a budget that does not add up.
    """
    rule = budget.rule
    test = Guarantee(epsilon=rule.curve.epsilon, delta=float_up(rule.curve.delta), mechanism="h-score test")
    names = ["radius", "mean of friends", "then"]
    rhos = [range_rho(budget.epsilon_radius), budget.rho_mean, budget.rho_then]
    parts = tuple(Guarantee(rho=r, mechanism=m) for r, m in zip(rhos, names, strict=True) if r > 0.0)
    total = compose(parts)
    if calibrate.zcdp_epsilon(total.rho or 0.0, budget.delta_then) > budget.epsilon_then:
        raise ValueError("the zCDP parts exceed epsilon_then: make the budget with tuple_budget")
    terms = Terms(
        epsilon=budget.epsilon_then,
        delta=budget.delta_then,
        adjacency=ONE_RECORD_REPLACED,
        mechanism=f"{mechanism} release",
    )
    then = terms.guarantee(CONDITION, given(OWN_BLOCK, basis), composition=parts)
    return halting(test, then, condition=CONDITION, kind=Kind.EXACT, mechanism=mechanism)


@dataclass(frozen=True)
class TupleAverages:
    """What is drawn: private until sealed by a mechanism that accounts for it.

    Attributes:
        centres: (k, d) in random order, or None.
        radius: the chosen radius, covered by epsilon_radius.
        variance: of a coordinate's noise, in data units squared; a function of the radius and public numbers.
        disagreements: h-scores at all radii; private.
    """

    centres: npt.NDArray[np.float64] | None
    radius: float
    variance: float
    disagreements: tuple[int, ...]


def draw_averages(
    results: Sequence[Any],
    clusters: int,
    dimension: int,
    grid: RadiusGrid,
    budget: TupleBudget,
    bits: RandomBits,
    *,
    average: str = "friends",
) -> TupleAverages:
    """Choice of the radius, test, noisy mean, for mechanisms that do their own accounting.

    Raises:
        ValueError: fewer than 3 reach + 3 results, or an unknown average; never because of the results.
    """
    n = len(results)
    mean_sensitivity(n, budget.rule.reach)  # public numbers first: too few tuples for this test
    one_of(average, "average", AVERAGES)
    check_grid(grid)
    share = spread_of(clusters, clusters)
    levels = []
    for start in range(0, grid.count + MARGIN, len(STEPS)):
        unit = grid.unit(start // len(STEPS))
        table = tuple_table(results, clusters, dimension, unit)
        radii = STEPS[: grid.count + MARGIN - start]
        near = neighbourhoods(table, radii, share)
        levels += [(near, level, table, radius, unit) for level, radius in enumerate(radii)]
    scores = [h_score(near.matches(level)) for near, level, *_ in levels[: grid.count]]
    chosen = choose(radius_losses(scores, n, budget), Fraction(budget.epsilon_radius) / 2, bits)
    near, level, table, radius, unit = levels[chosen + MARGIN]
    matches = near.matches(level)
    drawn = noisy_mean(table, matches, radius, share, budget.rule, budget.rho_mean, bits, average)
    centres, variance = None if drawn.value is None else drawn.value * float(unit), drawn.variance
    return TupleAverages(centres, float(radius * unit), float(variance * unit**2), tuple(scores))


def radius_losses(scores: Sequence[int], n: int, budget: TupleBudget) -> list[int]:
    """max(h_j, t - h_(j-1)) with t = (4 / epsilon) log(J / failure): least where most tuples become friends.

    Each moves by at most 1 between neighbours, as the scores do.
    """
    wanted = 4.0 / budget.epsilon_radius * math.log(len(scores) / budget.failure)
    threshold = min(n, math.ceil(wanted))
    before = [n, *scores[:-1]]
    return [max(score, threshold - previous) for score, previous in zip(scores, before, strict=True)]


@on_terms("tuples", needs="epsilon delta", takes="proof", adjacency=ONE_RECORD_REPLACED)
def release_tuple_averages(
    terms: Terms,
    results: Sequence[Any],
    clusters: int,
    dimension: int,
    *,
    grid: RadiusGrid = ALL_RADII,
    plateau: int = 3,
    failure: float = 0.01,
    average: str = "friends",
) -> Release:
    """Release k points near which nearly all tuples have theirs, or nothing.

    Args:
        terms: epsilon and delta.
        results: n tuples, (k, d) arrays or lists in any order of their points; anything else agrees with
            nobody. One record of the data changes one entry: without a proof (`Terms`) a condition.
        clusters, dimension: k and d, public.
        grid: public radii.
        plateau, failure: all but `plateau` tuples that agree with all but `plateau` pass, except with about
            twice this probability.
        average: "friends": the weighted mean of those that have many friends (least noise); or, as
            described for private k-tuple clustering, "members": the mean of the friends of one tuple, or
            "center": that tuple.

    Returns:
        Release of {"centers": (k, d) list or None, "radius": chosen radius, "released": bool}.

    Raises:
        ValueError: public arguments out of range, or too few results (3 reach + 3 are needed); never because
            of what they are.

    Source: section 4.3 of the notes on Cohen, Kaplan, Mansour, Stemmer and Tsfadia 2021 with the friends'
    mean. Cost: O(n^2 k^2 d) for every four radii.
    """
    clusters, dimension = integer(clusters, "clusters"), integer(dimension, "dimension")
    budget = tuple_budget(*terms.approximate, plateau=integer(plateau, "plateau", 0), failure=failure)
    guarantee = averages_guarantee(budget, terms.proof, mechanism=terms.mechanism)
    bits = terms.bits()
    drawn = draw_averages(results, clusters, dimension, grid, budget, bits, average=average)
    value = {
        "centers": None if drawn.centres is None else drawn.centres.tolist(),
        "radius": drawn.radius,
        "released": drawn.centres is not None,
    }
    public = {"tuples": len(results), "scale": math.sqrt(drawn.variance), "reach": budget.rule.reach}
    private = {"disagreements": drawn.disagreements}
    return terms.seal(value, guarantee, bits, public=public, private=private)
