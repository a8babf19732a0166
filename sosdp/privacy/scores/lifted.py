"""Scores known through brackets: a callable says lo <= s(theta; data) <= hi, and the width is charged.

This is how the value of a relaxation becomes a level: the bracket is computed elsewhere (rigorous dual bound
below, a feasible point above) and only the integer level leaves it.

Proof: docs/proofs/bracket_scores.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.arguments import nonnegative, positive
from sosdp.privacy.guarantee.condition import Charged, Condition, Fact, resting_on
from sosdp.privacy.guarantee.guarantee import ONE_RECORD_REPLACED
from sosdp.privacy.scores.levels import level_of, level_sensitivity
from sosdp.privacy.scores.score import Box, Lattice, Levels, Point, ScoreFunction, intersect
from sosdp.privacy.silence import contained

Bracket = Callable[[Any, np.ndarray], tuple[float, float]]
"""(data, candidate) -> certified (lo, hi); any failure may be reported as (0, largest)."""


class BracketScore(ScoreFunction):
    """A score in [0, largest] of proven sensitivity, evaluated by certified brackets.

    The level is ceil(hi / quantum), of sensitivity ceil((sensitivity + width) / quantum). An `integral` score
    whose bracket contains one integer has that integer as its exact level, and the width is not charged.

    Args:
        bracket: called with the data and a candidate's coordinates; an exception counts as (0, largest).
        lattice, records: public.
        largest: the score is at most this for every data set (n, typically).
        proof: why neighbours' scores differ by at most `sensitivity`; goes into the guarantee. A `Fact` is
            one that the library has proven; any other sentence is a claim, and the release is heuristic.
        sensitivity, width: Delta and xi.
        quantum: q; by default sensitivity + width, so that levels have sensitivity 1.
        integral: the true score is an integer (width must be below 1 and sensitivity an integer).
        width_proof: a `Fact`, why every bracket has width at most `width`; without it, or with a mere
            sentence, the guarantee is conditional.
        enclosure: optional (data, k) -> box containing all points of level <= k.

    Raises:
        ValueError: no proof, or numbers out of range.
    """

    def __init__(
        self,
        bracket: Bracket,
        lattice: Lattice,
        records: int,
        *,
        largest: float | Fraction,
        proof: str,
        sensitivity: float | Fraction = 1,
        width: float | Fraction,
        quantum: float | Fraction | None = None,
        integral: bool = False,
        width_proof: str = "",
        enclosure: Callable[[Any, int], Box] | None = None,
        quasi_convex: bool = False,
        adjacency: str = ONE_RECORD_REPLACED,
    ) -> None:
        if not proof.strip():
            raise ValueError("no sensitivity proof: say in a sentence why neighbours' scores are close")
        delta, most = positive(sensitivity, "sensitivity"), positive(largest, "largest")
        xi = nonnegative(width, "width")
        if integral:
            if quantum is not None or delta.denominator != 1 or not 0 <= xi < 1:
                raise ValueError("an integral score takes an integer sensitivity, width < 1 and no quantum")
            unit, charged = Fraction(1), Fraction(0)
        else:
            unit, charged = delta + xi if quantum is None else positive(quantum, "quantum"), xi
        moved = level_sensitivity(delta, charged, unit)
        near = f"sensitivity of the score at most {float(delta):.3g}: {proof}"
        narrow = f"width at most {float(xi):.3g}" + (" and contains one integer" if integral else "")
        if isinstance(width_proof, Fact):
            width_holds: str = Charged(f"every bracket has {narrow}: {width_proof}")
        else:
            said = f" (said to hold: {width_proof})" if width_proof.strip() else ""
            width_holds = Condition(
                f"condition: on both neighbouring data sets every bracket has {narrow}{said}"
            )
        super().__init__(
            lattice=lattice,
            records=records,
            sensitivity=moved,
            max_level=level_of(most, unit),
            quasi_convex=quasi_convex,
            adjacency=adjacency,
            assumptions=(resting_on(proof, near), width_holds),
        )
        vars(self).update(
            bracket=bracket, largest=most, quantum=unit, width=xi, integral=integral, enclosure=enclosure
        )

    bracket: Bracket
    largest: Fraction
    quantum: Fraction
    width: Fraction
    integral: bool
    enclosure: Callable[[Any, int], Box] | None

    def on(self, data: Any) -> Levels:
        """Levels that call the bracket when asked; each point once."""
        return _BracketLevels(self, data)


class _BracketLevels(Levels):
    def __init__(self, score: BracketScore, data: Any) -> None:
        self.score, self.data = score, data
        self.known: dict[Point, int] = {}

    def level(self, point: Point) -> int:
        if point not in self.known:
            self.known[point] = self._level(point)
        return self.known[point]

    def _level(self, point: Point) -> int:
        score = self.score
        low, high = self.contained(point)
        if score.integral:
            return max(0, min(math.floor(high), score.top))
        return max(0, min(level_of(high, score.quantum), score.top))

    def contained(self, point: Point) -> tuple[Fraction, Fraction]:
        """The bracket in exact rationals, inside [0, largest]; the trivial one for whatever went wrong."""
        trivial = (Fraction(0), self.score.largest)

        def bracket() -> tuple[float, float]:
            low, high = self.score.bracket(self.data, self.score.lattice.value(point))
            return float(low), float(high)

        low, high = contained(bracket, (math.nan, math.nan))
        if math.isnan(low) or math.isnan(high) or low > high:
            return trivial
        lower = trivial[0] if low < 0 else min(Fraction(low), trivial[1]) if low < math.inf else trivial[0]
        upper = trivial[1] if high == math.inf else max(Fraction(0), min(Fraction(high), trivial[1]))
        return (lower, upper) if lower <= upper else trivial

    def in_level(self, point: Point, k: int) -> bool:
        return k >= self.score.top or self.level(point) <= k

    def box(self, k: int) -> Box | None:
        enclosure, whole = self.score.enclosure, self.score.lattice.box
        if enclosure is None or k >= self.score.top:
            return whole

        def box() -> Box | None:
            result = enclosure(self.data, k)
            return intersect(None if result is None else tuple((int(a), int(b)) for a, b in result), whole)

        return contained(box, whole)  # the lattice's own box contains every level
