"""Packing programs: the mean of features of a record, drawn exactly by a score of sums of squares.

Nothing has to be proven by the user: the score changes by at most 1 with one record, whatever the features.

Proof: docs/proofs/gaussian_scores.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.consensus import DrawPlan, plan_draw
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.packing_problem import CLIP, DIGITS, FeatureMap, PackingProblem
from sosdp.laboratory.packing_sampler import DyadicBoxes
from sosdp.laboratory.packing_score import QUANTUM, PackingScore
from sosdp.laboratory.tracing import posed
from sosdp.privacy.arguments import integer, positive, settle
from sosdp.privacy.scores.score import Lattice

Features = Callable[[list[Polynomial]], Sequence[Any]]
"""record -> at most 4 polynomials, whose mean is estimated"""


@dataclass(frozen=True)
class PackingProgram:
    """Find the mean of polynomial features of the records that are right, whatever the others are.

    The score of a candidate t is the least number of records to give up, in parts, so that the rest can be
    completed to n points with mean exactly t and variance at most `spread` in every direction: a packing
    program over the sums of squares of degree 2, solved within a proven bracket at 10^5 records.

    Attributes:
        features: of one record, see `Features`.
        records, dimension: public number of records, and coordinates of one.
        spread: the variance of the features of right records in any direction, at most; a little less than
            the truth is better than more.
        lattice: of candidates, bounded, one coordinate a feature; its spacing is a power of two.
        reach: records are clipped to [-reach, reach] in every coordinate; an entry that is no number is 0.

    Raises:
        NotAPolynomial: the features are not the polynomials that they returned for symbols.
        ValueError: numbers out of range, more than 4 features, features that could leave the range in which
            differences are exact (take a coarser lattice or a smaller reach), or no bounded lattice.
    """

    features: Features
    records: int
    dimension: int
    spread: float
    lattice: Lattice
    reach: float = CLIP

    _score: PackingScore = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("records", "dimension"):
            settle(self, **{name: integer(getattr(self, name), name)})
        for name in ("reach", "spread"):
            settle(self, **{name: float(positive(getattr(self, name), name))})
        reach, spread = self.reach, self.spread
        features = self._traced(reach)
        if self.lattice.box is None:
            raise ValueError("a packing program takes a bounded lattice: give it a box")
        largest = features.largest(reach)
        if not largest <= DIGITS * self.lattice.spacing:
            raise ValueError(
                f"features could be as large as {largest:.3g}, more than 2^51 steps of the lattice: take a "
                "coarser lattice, or a smaller reach"
            )
        problem = PackingProblem(features, self.dimension, spread, clip=reach)
        object.__setattr__(self, "_score", PackingScore(problem, self.lattice, self.records))

    @property
    def ends(self) -> tuple[float, float]:
        """Public bounds of a record's coordinates."""
        return -self.reach, self.reach

    @property
    def sampler(self) -> DyadicBoxes:
        """Draws exactly from this score's law."""
        return DyadicBoxes()

    def score_function(self) -> PackingScore:
        """The score for the exponential mechanism."""
        return self._score

    def _traced(self, reach: float) -> FeatureMap:
        """The features as terms of floats, in the coordinates of a record."""
        record: list[Polynomial] = [variables(f"record_{k}") for k in range(self.dimension)]
        inside = Domain(self.dimension, -reach, reach)
        (polynomials,) = posed(
            "features (of a record)",
            self.features,
            [record],
            [[inside]],
            lambda made: [made if isinstance(made, (list, tuple)) else [made]],
        )
        place = {v.name: k for k, v in enumerate(record)}

        def term(coefficient: Any, powers: Mapping[str, int]) -> tuple[float, tuple[int, ...]]:
            return float(coefficient), tuple(place[v] for v, power in powers.items() for _ in range(power))

        return FeatureMap(tuple(tuple(starmap(term, p.terms())) for p in polynomials))

    def plan(
        self, epsilon: float, *, failure: float = 0.05, examples: Iterable[tuple[Any, Any]] = ()
    ) -> DrawPlan:
        """What to expect at this epsilon, by public numbers and made-up data; see `ConsensusProgram.plan`."""
        draw = plan_draw(self, epsilon, failure, examples)
        # a level is a 64th of a record, and brackets are a 64th wide
        return DrawPlan(math.ceil((draw.missing + 2) * QUANTUM), draw.failure, draw.error, draw.seconds)
