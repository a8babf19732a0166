"""Consensus programs: polynomial tests of a record at a candidate become an exactly private estimator.

Nothing has to be proven by the user: a score that counts records has sensitivity 1.

Proof: docs/proofs/consensus.md
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.domain import Domain, claimed_as
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.tracing import posed
from sosdp.privacy.arguments import integer, positive, settle
from sosdp.privacy.scores.consensus import Alternatives, ConsensusScore, Exponents, Test
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.partition import LazyPartition
from sosdp.privacy.scores.score import Lattice

Tests = Callable[[list[Polynomial], list[Polynomial]], Sequence[Any]]
"""(parameters, record) -> polynomials that are all >= 0 at a record that passes, or a list of such lists, one
of which has to hold"""

MOST_PARAMETERS = 4
MOST_POINTS = 10**10
STEPS = (16, 15, 14, 13, 12, 11, 10, 9, 8)


@dataclass(frozen=True)
class DrawPlan:
    """What a release will be worth, from public numbers and made-up data.

    Attributes:
        missing: the score of the point drawn is at most so many records above the best one, but for
            `failure`.
        failure: probability of the opposite.
        error: mean over the examples of the largest error of a coordinate; None without examples.
        seconds: mean time of one; None without.
        most_tests: no draw evaluates more tests of a record than this, whatever the records; None where
            no such bound is proven.
    """

    missing: int
    failure: float
    error: float | None = None
    seconds: float | None = None
    most_tests: int | None = None


@dataclass(frozen=True)
class ConsensusProgram:
    """Find parameters at which as many records as possible pass polynomial tests.

    Attributes:
        tests: of one record, see `Tests`. Give constants as fractions.
        records, dimension: public number of records, and coordinates of one.
        lattice: of candidates, bounded, of at most 4 dimensions and 10^10 points.
        low, high: public bounds of a record's coordinates, numbers or one a coordinate; records are clipped.
        need: records that have to pass for level 0; by default all.
        unit: records are rounded to multiples of it; by default the finest power of two for which all
            integers stay exact, at most 2^16 steps an interval.
        limit: refuse, from public numbers alone, a program whose draws might evaluate more than so many
            tests (`most_tests`). None: no limit; draws of structured data evaluate a tiny part of the bound.

    Raises:
        NotAPolynomial: the tests are not the polynomials that they returned for symbols.
        ValueError: numbers out of range, too many parameters or points, or tests that need longer integers.
    """

    tests: Tests
    records: int
    dimension: int
    lattice: Lattice
    low: float | Sequence[float] = -1.0
    high: float | Sequence[float] = 1.0
    need: int | None = None
    unit: Fraction | None = None
    limit: float | None = None

    def __post_init__(self) -> None:
        for name in ("records", "dimension", "need"):
            if getattr(self, name) is not None:
                settle(self, **{name: integer(getattr(self, name), name)})
        size = self.lattice.size
        if size is None or size > MOST_POINTS or self.lattice.dimension > MOST_PARAMETERS:
            raise ValueError(
                f"a consensus program takes a bounded lattice of at most {MOST_PARAMETERS} dimensions and "
                f"{MOST_POINTS:.0e} points: the work grows exponentially with the dimension"
            )
        for name in ("low", "high"):
            if np.shape(getattr(self, name)) not in ((), (self.dimension,)):
                raise ValueError(f"{name} is a number, or one for each of {self.dimension} coordinates")
        for end in (*self.ends[0], *self.ends[1]):
            if not math.isfinite(end):
                raise ValueError(f"the bounds of a record are finite public numbers, got {end!r}")
        if any(low >= high for low, high in zip(*self.ends, strict=True)):
            raise ValueError("low must be below high in every coordinate")
        if not all(self._traced):
            raise ValueError("a consensus program needs at least one test")
        object.__setattr__(self, "_score", self._made())
        if self.limit is not None and self.most_tests > self.limit:
            raise ValueError(
                f"a draw might evaluate {self.most_tests:.3g} tests, more than the limit {self.limit:.3g}: "
                "take a coarser lattice or fewer records, or no limit"
            )

    _score: ConsensusScore = field(init=False, repr=False, compare=False)

    @property
    def most_tests(self) -> int:
        """A proven bound on the tests that one draw evaluates, whatever the records: 8 a point and a record.

        Source: docs/proofs/consensus.md, "Time".
        """
        every = sum(len(group) for group in self._score.alternatives)
        return 8 * (self.lattice.size or 1) * self.records * every

    @property
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """low and high, one number a coordinate."""
        shape = (self.dimension,)
        low, high = (np.broadcast_to(np.asarray(end, dtype=float), shape) for end in (self.low, self.high))
        return tuple(low.tolist()), tuple(high.tolist())

    @property
    def sampler(self) -> LazyPartition:
        """Draws exactly from this score's law."""
        return LazyPartition()

    def stability(
        self, *, records: int | None = None, claim: Any = None, degree: int | None = None
    ) -> StabilityReport:
        """One record is one summand in {0, 1}: 1, whatever the tests are."""
        return StabilityReport(
            upper=Fraction(1),
            claimed=claimed_as(claim),
            records=self.records,
            statement="one record is one summand in {0, 1} of the count (docs/proofs/consensus.md)",
        )

    def score_function(self) -> ConsensusScore:
        """The score for the exponential mechanism."""
        return self._score

    def _made(self) -> ConsensusScore:
        lows, highs = self.ends
        widest = max(high - low for low, high in zip(lows, highs, strict=True))
        units = [Fraction(2) ** (math.ceil(math.log2(widest)) - step) for step in STEPS]
        refused: ValueError | None = None
        for unit in units if self.unit is None else [positive(self.unit, "unit")]:
            ends = [
                (math.ceil(Fraction(low) / unit), math.floor(Fraction(high) / unit))
                for low, high in zip(lows, highs, strict=True)
            ]
            try:
                return ConsensusScore(
                    self.lattice,
                    self.records,
                    need=self.records if self.need is None else self.need,
                    alternatives=self.integer_tests(unit),
                    units=[float(unit)] * self.dimension,
                    ends=ends,
                )
            except ValueError as error:
                refused = error
        assert refused is not None
        raise refused

    def integer_tests(self, unit: Fraction) -> Alternatives:
        """The tests in lattice points and records counted in units, with integer coefficients.

        Multiplied by the common denominator of all coefficients but the constant one, the rest of a test is
        an integer, so rounding its constant down changes no answer.
        """
        return tuple(tuple(self._integer_test(q, unit) for q in group) for group in self._traced)

    @cached_property
    def _traced(self) -> list[list[Polynomial]]:
        """The tests, compared with the function that returned them."""
        step, box = self.lattice.spacing, self.lattice.box or ()
        candidates = [Domain(1, step * low, step * max(high, low + 1)) for low, high in box]
        sets = [candidates, [Domain(1, low, high) for low, high in zip(*self.ends, strict=True)]]
        return posed("tests (of parameters and a record)", self.tests, self._variables, sets, _alternatives)

    @property
    def _variables(self) -> tuple[list[Polynomial], list[Polynomial]]:
        """Parameters and coordinates of a record."""
        theta, record = range(self.lattice.dimension), range(self.dimension)
        return [variables(f"theta_{k}") for k in theta], [variables(f"record_{k}") for k in record]

    def _integer_test(self, polynomial: Polynomial, unit: Fraction) -> Test:
        theta, record = self._variables
        table: dict[tuple[Exponents, Exponents], Fraction] = {}
        for coefficient, powers in polynomial.terms():
            alpha, beta = (tuple(powers.get(v.name, 0) for v in row) for row in (theta, record))
            scale = self.lattice.spacing ** sum(alpha) * unit ** sum(beta)
            table[alpha, beta] = Fraction(coefficient) * scale
        constant = ((0,) * len(theta), (0,) * len(record))
        others = [c for key, c in table.items() if key != constant]
        factor = Fraction(math.lcm(*(c.denominator for c in others)))
        factor /= math.gcd(*(int(c * factor) for c in others)) or 1
        terms: dict[Exponents, list[tuple[int, Exponents]]] = {}
        for (alpha, beta), c in table.items():
            terms.setdefault(alpha, []).append((math.floor(c * factor), beta))
        return Test(tuple((alpha, tuple(parts)) for alpha, parts in terms.items()))

    def plan(
        self, epsilon: float, *, failure: float = 0.05, examples: Iterable[tuple[Any, Any]] = ()
    ) -> DrawPlan:
        """What to expect at this epsilon.

        Args:
            examples: made-up pairs (records, true parameters) to try it on; never private ones.
            failure: of the statement about `missing`.

        Source: docs/proofs/consensus.md, "What is missed". No release is made and nothing is spent.
        """
        return replace(plan_draw(self, epsilon, failure, examples), most_tests=self.most_tests)


def plan_draw(program: Any, epsilon: float, failure: float, examples: Iterable[tuple[Any, Any]]) -> DrawPlan:
    """A plan of a program with a score and a sampler; `missing` is in levels: at most |lattice| points have a
    level t above the least, each with odds r^t."""
    from sosdp.privacy.mechanisms.exponential import pure_exponential

    if not 0 < failure < 1:
        raise ValueError(f"failure must lie in (0, 1), got {failure}")
    score = program.score_function()
    rate = rational_base(epsilon, score.sensitivity).rate
    missing = math.ceil((math.log(score.lattice.size or 1) + math.log(1 / failure)) / rate)
    errors, seconds = [], []
    for number, (table, truth) in enumerate(examples):
        started = time.process_time()
        release = pure_exponential(
            score, table, epsilon=epsilon, sampler=program.sampler, insecure_seed=number
        )
        seconds.append(time.process_time() - started)
        errors.append(float(np.max(np.abs(release.value - np.asarray(truth, dtype=float)))))
    if not errors:
        return DrawPlan(missing, failure)
    return DrawPlan(missing, failure, float(np.mean(errors)), float(np.mean(seconds)))


def _alternatives(made: Any) -> list[list[Any]]:
    """Tests as lists of alternatives."""
    kinds = (list, tuple, np.ndarray)
    nested = {isinstance(group, kinds) for group in made} if isinstance(made, kinds) else set()
    if nested == {True, False} or not isinstance(made, kinds):
        raise ValueError("tests return a list of polynomials, or a list of such lists")
    return [list(group) for group in made] if True in nested else [list(made)]
