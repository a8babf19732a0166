"""Functions of means of features of the records: a proven sensitivity at any number of records, or at all.

Proof: docs/proofs/stability_statistics.md, section "Functions of means"
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import permutations
from typing import Any

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.laboratory.domain import AsProven, Domain, Record, claimed_as, shaped
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import attained, bounded, symbols
from sosdp.laboratory.tracing import as_polynomial, evaluate, fingerprint
from sosdp.privacy.arguments import integer, settle

INVERSE = "one_over_n"


@dataclass(frozen=True)
class Means(AsProven):
    """function(u, h): u_a is the mean over the records of the a-th feature, and h is 1 / n.

    Attributes
    ----------
    function
        (means, h) -> polynomial in both.
    features
        record -> list of polynomials of one record; a record is a number, or a list of them in more than one
        dimension.
    record
        Public set of one record.
    least
        The theorem about every n is about n >= `least`.

    Raises
    ------
    NotAPolynomial
        One of the functions is none.
    ValueError
        `least` is no integer >= 1.
    """

    function: Callable[[Sequence[Any], Any], Any]
    features: Callable[[Any], Sequence[Any]]
    record: Domain
    least: int = 2

    def __post_init__(self) -> None:
        settle(self, least=integer(self.least, "least", 1))

    @cached_property
    def traced(self) -> tuple[Polynomial, list[Polynomial], list[Polynomial], Polynomial]:
        """The function and the features as polynomials, and the variables of the means and of 1 / n."""
        (x,) = symbols("x", 1, self.record.dimension)
        count = len(self.features(shaped([x], self.record.dimension)[0]))
        features = [as_polynomial(partial(self._one, a), [x], self.record) for a in range(count)]
        means: list[Polynomial] = [variables(f"mean_{a}") for a in range(count)]
        h: Polynomial = variables(INVERSE)
        unit = Domain(1, 0, 1)
        value = as_polynomial(lambda r: self.function(r[:-1], r[-1]), [[v] for v in [*means, h]], unit)
        return value, features, means, h

    def _one(self, place: int, records: Sequence[Any]) -> Any:
        """One feature of the only record."""
        return self.features(records[0])[place]

    def value(self, records: Sequence[Record]) -> Fraction:
        """The exact value at exact records."""
        value, features, means, _ = self.traced
        names = [f"x0_{k}" for k in range(self.record.dimension)]
        sums = [Fraction(0)] * len(means)
        for record in records:
            point = dict(zip(names, record, strict=True))
            sums = [s + evaluate(f, point) for s, f in zip(sums, features, strict=True)]
        inverse = Fraction(1, len(records))
        point = {v.name: s * inverse for v, s in zip(means, sums, strict=True)} | {INVERSE: inverse}
        return evaluate(value, point)

    def change(self) -> tuple[Polynomial, list[list[Polynomial]]]:
        """n times the change, in 1 / n, the record, the one in its place and others; and these rows.

        The means of the n - 1 others are averages over them, so a term of degree k in these means is an
        average, over k of the others, of its polarisation.
        """
        value, features, means, h = self.traced
        rest = [variables(f"rest_{a}") for a in range(len(means))]
        old, new = symbols("r", 2, self.record.dimension)

        def at(record: Sequence[Polynomial]) -> Polynomial:
            seen = [self._feature(f, record) for f in features]
            return value.subs({u: (1 - h) * r + h * s for u, r, s in zip(means, rest, seen, strict=True)})

        moved = at(old) - at(new)
        order = {r.name: a for a, r in enumerate(rest)}
        known = {v.name: v for v in [h, *old, *new]}
        terms = [(Fraction(c), dict(powers)) for c, powers in moved.as_exact().terms() if c]
        most = max((sum(k for v, k in powers.items() if v in order) for _, powers in terms), default=0)
        others = symbols("other", most, self.record.dimension)
        result = coerce(0)
        for c, powers in terms:
            outer = coerce(c) * h ** (powers.pop(INVERSE) - 1)  # every change is a multiple of 1 / n
            among = [order[v] for v, k in powers.items() if v in order for _ in range(k)]
            outer = math.prod((known[v] ** k for v, k in powers.items() if v in known), start=outer)
            result = result + outer * self._polarised(features, among, others)
        return result.as_exact(), [old, new, *others]

    def _polarised(
        self, features: list[Polynomial], among: list[int], others: list[list[Polynomial]]
    ) -> Polynomial:
        """The mean over all choices of different others of the product of one feature of each."""
        every = (
            math.prod(self._feature(features[a], record) for a, record in zip(among, chosen, strict=True))
            for chosen in permutations(others, len(among))
        )
        total: Any = sum(every, coerce(0))
        return total * Fraction(math.factorial(len(others) - len(among)), math.factorial(len(others)))

    def _feature(self, feature: Polynomial, record: Sequence[Polynomial]) -> Polynomial:
        return feature.subs({variables(f"x0_{k}"): v for k, v in enumerate(record)})

    def stability(
        self, *, records: int | None = None, claim: Any = None, degree: int | None = None
    ) -> StabilityReport:
        """Bound the change of a function of means: at n records, or n times the change at every n >= least.

        Parameters
        ----------
        records
            n; None for every n >= `least`: then the report is about n times the change.
        claim
            A number; without `records` also a function of h = 1 / n, a bound of n times the change.
        """
        part, rows = self.change()
        domain, h = self.record, variables(INVERSE)
        limits: list[Any] = []
        times = Fraction(1)
        if records is not None:
            records = integer(records, "records", 1)
            times = Fraction(1, records)
            part = part.subs({h: times})
            about = f"one of {records} records replaced"
        else:
            limits = [h * (Fraction(1, self.least) - h) >= 0]
            about = f"n times the change, one of n >= {self.least} records replaced"
            if callable(claim):
                part = part - coerce(claim(h)).as_exact()
                about, claim = f"{about}, less the claim, a function of 1 / n", 0
        claimed = claimed_as(claim)
        reached, point = _attained(self, part, rows, records)
        wanted = (None if claimed is None else claimed / times, reached)
        bound = bounded(part, domain, rows, degree, wanted, limits)
        neighbours: tuple[Any, Any] | None = None
        if records is not None and records <= SHOWN:
            first, second, *others = (tuple(point[v.name] for v in row) for row in rows)
            rest = [others[0] if others else domain.centre] * (records - 1)
            one, other = (tuple(shaped([row, *rest], domain.dimension)) for row in (first, second))
            neighbours = one, other
        return StabilityReport(
            upper=None if bound.upper is None else max(times * bound.upper, Fraction(0)),
            lower=max(times * reached, Fraction(0)),
            claimed=claimed,
            neighbours=neighbours,
            symmetric=True,
            positions=(0,),
            records=records,
            certificates=(bound.certificate,),
            statement=f"{about}, of the traced polynomial {fingerprint(self.traced[0])} of means",
            missing=bound.why,
            program=self,
            domain=domain,
        ).as_made()


SHOWN = 1000
"""Data sets of up to so many records are shown as neighbours."""


def _attained(
    program: Means, part: Polynomial, rows: list[list[Polynomial]], records: int | None
) -> tuple[Fraction, dict[str, Fraction]]:
    """A value that neighbours attain: the others are all one record."""
    same = {v: w for row in rows[3:] for v, w in zip(row, rows[2], strict=True)}
    part, h = part.subs(same) if same else part, variables(INVERSE)
    ends = [program.least, 10 * program.least] if records is None else [records]
    reaches = (attained(part.subs({h: Fraction(1, n)}), rows[:3], program.record) for n in ends)
    reached, point = max(reaches, key=lambda pair: pair[0])
    return reached, point | {v.name: point[w.name] for v, w in same.items()}
