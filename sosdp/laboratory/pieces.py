"""Statistics that are no polynomial but made of some: ratios, sums of pieces, the largest of several.

Proof: docs/proofs/stability_statistics.md, sections "Ratios" and "Pieces"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.domain import AsProven, Domain, Record, claimed_as, shaped
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import (
    Bound,
    alike,
    attained,
    bounded,
    certify_sensitivity,
    neighbours_of,
    symbols,
)
from sosdp.laboratory.tracing import Statistic, as_polynomial, evaluate, fingerprint
from sosdp.privacy.arguments import finite, integer

GOALS = (Fraction(0), Fraction(1, 10**6), Fraction(1, 10**3), Fraction(1, 10))
"""A ratio is tried at what was attained, and so much above it."""


@dataclass(frozen=True)
class Ratio(AsProven):
    """above(records) / below(records), two polynomials; below is proven positive on the public set.

    Attributes
    ----------
    above, below
        Functions of n records, as a statistic.
    record
        Public set of one record.
    """

    above: Statistic
    below: Statistic
    record: Domain

    def value(self, records: Sequence[Record]) -> Fraction:
        """The exact value at exact records."""
        top, under = (_at(p, records) for p in self.traced(len(records)))
        return top / under

    def traced(self, records: int) -> tuple[Polynomial, Polynomial]:
        """The two polynomials, made once for a number of records."""
        known = self._made.get(records)
        if known is None:
            data = symbols("r", records, self.record.dimension)
            top, under = (as_polynomial(f, data, self.record) for f in (self.above, self.below))
            known = self._made.setdefault(records, (top, under))
        return known

    @cached_property
    def _made(self) -> dict[int, tuple[Polynomial, Polynomial]]:
        return {}

    def stability(self, *, records: int, claim: Any = None, degree: int | None = None) -> StabilityReport:
        """Bound the change when one of n records is replaced.

        |P / Q - P' / Q'| <= t + b / q^2 where P Q' - P' Q - t Q Q' <= b and Q >= q > 0.
        """
        records = integer(records, "records", 1)
        top, under = self.traced(records)
        domain, data = self.record, symbols("r", records, self.record.dimension)
        (new,) = symbols("r_new", 1, domain.dimension)
        least = bounded(-under, domain, data, degree, ())
        claimed = claimed_as(claim)
        symmetric, positions = _alike_both(top, under, data)
        lower, pair, bounds = Fraction(0), None, [least]
        whole: Fraction | None = Fraction(0)
        missing = "" if least.upper is not None and least.upper < 0 else "the denominator is not proven > 0"
        for i in positions:
            swap = dict(zip(data[i], new, strict=True))
            numerator = (top * under.subs(swap) - top.subs(swap) * under).as_exact()
            denominator = (under * under.subs(swap)).as_exact()
            reached, point = _largest(numerator, denominator, [*data, new], domain)
            if pair is None or reached > lower:
                both = [numerator, denominator]
                lower, pair = max(lower, reached), neighbours_of(point, both, data, new, i)
            if missing or least.upper is None:
                continue
            bound = _quotient(numerator, denominator, domain, [*data, new], reached, -least.upper, degree)
            bounds.append(bound)
            whole = None if whole is None or bound.upper is None else max(whole, bound.upper)
            missing = missing or bound.why
        text = f"{fingerprint(top)} / {fingerprint(under)}"
        return StabilityReport(
            upper=None if missing else whole,
            lower=lower,
            claimed=claimed,
            neighbours=pair,
            symmetric=symmetric,
            positions=positions,
            records=records,
            certificates=tuple(bound.certificate for bound in bounds),
            statement=f"one of {records} records replaced, of the ratio of traced polynomials {text}",
            missing=missing,
            program=self,
            domain=domain,
        ).as_made()


def _alike_both(
    top: Polynomial, under: Polynomial, data: list[list[Polynomial]]
) -> tuple[bool, tuple[int, ...]]:
    """Whether no order matters to both, and otherwise all positions."""
    if alike(top, data)[0] and alike(under, data)[0]:
        return True, (0,)
    return False, tuple(range(len(data)))


def _largest(
    numerator: Polynomial, denominator: Polynomial, rows: list[list[Polynomial]], domain: Domain
) -> tuple[Fraction, dict[str, Fraction]]:
    """A large value of a ratio at exact records, by Dinkelbach's iteration over local searches."""
    best, where = Fraction(0), {v.name: x for row in rows for v, x in zip(row, domain.centre, strict=True)}
    for _ in range(8):
        gained, point = attained(numerator - best * denominator, rows, domain)
        below = evaluate(denominator, point)
        if gained <= 0 or below <= 0:
            break
        best, where = evaluate(numerator, point) / below, point
    return best, where


def _quotient(
    numerator: Polynomial,
    denominator: Polynomial,
    domain: Domain,
    rows: list[list[Polynomial]],
    reached: Fraction,
    least: Fraction,
    degree: int | None,
) -> Bound:
    """The least of some goals t, with what is missing of numerator <= t denominator added."""
    best = Bound(None)
    for more in GOALS:
        goal = reached + more * (1 + reached)
        if best.upper is not None and best.upper <= goal:
            break
        bound = bounded(numerator - goal * denominator, domain, rows, degree, (Fraction(0),))
        if bound.upper is None:
            best = best if best.upper is not None else bound
            continue
        upper = goal + max(bound.upper, Fraction(0)) / least**2
        if best.upper is None or upper < best.upper:
            best = Bound(upper, bound.certificate)
    return best


@dataclass(frozen=True)
class Piece:
    """A polynomial of one record, where polynomials of it are >= 0.

    Attributes
    ----------
    value
        record -> polynomial.
    where
        record -> list of polynomials, all of which are >= 0 where this piece is taken.
    """

    value: Callable[[Any], Any]
    where: Callable[[Any], Sequence[Any]]


@dataclass(frozen=True)
class SumOfPieces(AsProven):
    """The sum over the records of the first piece in whose set a record lies, `otherwise` outside of all.

    Attributes
    ----------
    pieces
        In their order.
    record
        Public set of one record.
    otherwise
        The summand of a record in no piece; a float is the binary number that it is.

    Raises
    ------
    ValueError
        `otherwise` is no finite number.
    """

    pieces: tuple[Piece, ...]
    record: Domain
    otherwise: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "otherwise", Fraction(finite(self.otherwise, "otherwise")))

    @cached_property
    def traced(self) -> list[tuple[Polynomial, list[Polynomial]]]:
        """The pieces as polynomials of the variables of a record."""
        (x,) = symbols("r", 1, self.record.dimension)

        def of(function: Callable[[Any], Any]) -> Polynomial:
            return as_polynomial(lambda r: function(r[0]), [x], self.record)

        result = []
        for piece in self.pieces:
            count = len(piece.where(shaped([x], self.record.dimension)[0]))
            tests = [of(partial(_entry, piece.where, k)) for k in range(count)]
            result.append((of(piece.value), tests))
        return result

    def value(self, records: Sequence[Record]) -> Fraction:
        """The exact value at exact records."""
        return sum((self._summand(record) for record in records), Fraction(0))

    def _summand(self, record: Record) -> Fraction:
        for value, tests in self.traced:
            if all(_at(test, [record]) >= 0 for test in tests):
                return _at(value, [record])
        return self.otherwise

    def stability(self, *, records: int, claim: Any = None, degree: int | None = None) -> StabilityReport:
        """Bound the change when a record is replaced: the largest summand less the least one."""
        records = integer(records, "records", 1)
        (x,) = symbols("r", 1, self.record.dimension)
        bounds: list[Bound] = []
        result: list[list[Fraction]] = [[], []]
        ends: list[list[Fraction]] = [[self.otherwise], [-self.otherwise]]
        missing = ""
        for value, tests in self.traced:
            for side, part in enumerate((value, -value)):
                bound = bounded(part, self.record, [x], degree, (), [test >= 0 for test in tests])
                bounds.append(bound)
                missing = missing or bound.why
                if bound.upper is not None:
                    ends[side].append(bound.upper)
                _, point = attained(part, [x], self.record)
                reached = self._summand(tuple(point[v.name] for v in x))
                result[0].append(reached)
                result[1].append(-reached)
        text = ", ".join(fingerprint(value) for value, _ in self.traced)
        return StabilityReport(
            upper=None if missing else max(ends[0]) + max(ends[1]),
            lower=max(result[0]) + max(result[1]),
            claimed=claimed_as(claim),
            records=records,
            certificates=tuple(bound.certificate for bound in bounds),
            statement=f"one record replaced, of the sum over the records of the traced pieces {text}",
            missing=missing,
            program=self,
            domain=self.record,
        ).as_made()


@dataclass(frozen=True)
class Largest(AsProven):
    """The largest of several polynomial statistics: it moves by at most what one of them does.

    Attributes
    ----------
    statistics
        Functions of n records.
    record
        Public set of one record.
    """

    statistics: tuple[Statistic, ...]
    record: Domain

    def stability(self, *, records: int, claim: Any = None, degree: int | None = None) -> StabilityReport:
        """Bound the change when one of n records is replaced."""
        domain = self.record
        reports = [
            certify_sensitivity(f, records=records, domain=domain, degree=degree) for f in self.statistics
        ]
        uppers = [report.upper for report in reports if report.upper is not None]
        polynomials = tuple(report.polynomial for report in reports if report.polynomial is not None)
        whole = LargestOf(polynomials)
        pairs = [report.neighbours for report in reports if report.neighbours is not None]
        moved = [(abs(whole.value(self._rows(a)) - whole.value(self._rows(b))), (a, b)) for a, b in pairs]
        lower, pair = max(moved, key=lambda one: one[0], default=(Fraction(0), None))
        return StabilityReport(
            upper=max(uppers) if len(uppers) == len(reports) else None,
            lower=lower,
            claimed=claimed_as(claim),
            neighbours=pair,
            records=records,
            certificates=tuple(c for report in reports for c in report.certificates),
            statement=f"one of {records} records replaced, of the largest of the traced polynomials "
            + ", ".join(map(fingerprint, polynomials)),
            missing="; ".join(report.missing for report in reports if report.missing),
            program=whole,
            domain=domain,
        ).as_made()

    def _rows(self, data: Any) -> list[Record]:
        return [tuple(record) if self.record.dimension > 1 else (record,) for record in data]


@dataclass(frozen=True)
class LargestOf(AsProven):
    """The largest of polynomials that were traced."""

    polynomials: tuple[Polynomial, ...]

    def value(self, records: Sequence[Record]) -> Fraction:
        """The exact value at exact records."""
        return max(_at(p, records) for p in self.polynomials)


def _entry(function: Callable[[Any], Sequence[Any]], place: int, record: Any) -> Any:
    """One of the values of a function."""
    return function(record)[place]


def _at(p: Polynomial, records: Sequence[Record]) -> Fraction:
    return evaluate(p, {f"r{i}_{k}": x for i, record in enumerate(records) for k, x in enumerate(record)})
