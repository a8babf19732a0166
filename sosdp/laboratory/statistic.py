"""The sensitivity of a polynomial statistic over all neighbouring data sets, proven and attained.

The function is traced (`sosdp.laboratory.tracing`). Everything proven is about the polynomial that comes
back, and a private estimator evaluates that polynomial.

Proof: docs/proofs/stability_statistics.md
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import certificates
from certificates.identity import Affine
from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.domain import AsProven, Domain, Record, claimed_as, shaped
from sosdp.laboratory.report import NotAPolynomial, StabilityReport
from sosdp.laboratory.tracing import Statistic, as_polynomial, evaluate, fingerprint, same
from sosdp.model.gathering import gathering
from sosdp.model.system import System
from sosdp.privacy.arguments import integer
from sosdp.progress import shown
from sosdp.relaxation.pseudoexpectation import PseudoExpectation
from sosdp.relaxation.relaxation import Relaxation

EXACT = 60
"""Gram matrices up to this side are made exact, seconds each."""

FEW = 4
"""In so many variables products of constraints are tried, too."""


@gathering(Domain, "domain")
def certify_sensitivity(
    query: Statistic,
    *,
    records: int,
    domain: Domain,
    claim: Any = None,
    degree: int | None = None,
) -> StabilityReport:
    """Bound |query(D) - query(D')| over all D, D' that differ in one record, and look for the worst pair.

    Parameters
    ----------
    query
        Polynomial in the records, called with polynomials and with numbers. A record is a number, or a list
        of `dimension` numbers.
    records
        n, public.
    low, high, dimension, radius
        Public set of one record: a box, or a ball about 0.
    claim
        A sensitivity to be proven or refuted; None for the least that can be proven.
    degree
        Of the relaxation; by default the least that takes the query.

    Raises
    ------
    NotAPolynomial
        The function compares, sorts or divides by records, or differs from its polynomial at some data.
    ValueError
        No record, or not low < high.

    Cost: one relaxation for each class of positions that are alike, in the records that the change contains,
    which are three where the order of records plays no part and the change depends on the sum of the others
    (means, variances, covariances). For many records otherwise see `Means`.
    """
    records = integer(records, "records", 1)
    data = symbols("r", records, domain.dimension)
    value = as_polynomial(query, data, domain)
    (new,) = symbols("r_new", 1, domain.dimension)
    symmetric, parts = changes(value, data, new)
    claimed = claimed_as(claim)
    lower, pair = Fraction(0), None
    bounds = []
    for position, part in parts.items():
        reached, point = attained(part, [*data, new], domain)
        if pair is None or reached > lower:
            lower, pair = max(lower, reached), neighbours_of(point, [part], data, new, position)
        bounds.append(bounded(part, domain, [*data, new], degree, (claimed, reached)))
    missing = [f"position {i}: {b.why}" for i, b in zip(parts, bounds, strict=True) if b.upper is None]
    every = [b.upper for b in bounds if b.upper is not None]
    return StabilityReport(
        upper=None if missing else max(every, default=Fraction(0)),
        lower=lower,
        claimed=claimed,
        neighbours=pair,
        symmetric=symmetric,
        positions=tuple(parts),
        records=records,
        certificates=tuple(b.certificate for b in bounds),
        statement=f"one of {records} records replaced, of the traced polynomial {fingerprint(value)}",
        missing="; ".join(missing),
        polynomial=value,
        domain=domain,
    ).as_made()


def pair_sums(
    kernel: Callable[[Any, Any], Any],
    *,
    records: int,
    domain: Domain,
    claim: Any = None,
    degree: int | None = None,
) -> StabilityReport:
    """Bound the change of the sum over all pairs of records of a symmetric kernel, for any number of records.

    The sensitivity is (n - 1) max [k(x, y) - k(x', y)] exactly: three records, whatever n is.

    Raises
    ------
    NotAPolynomial
        The kernel is none, or is not symmetric.
    ValueError
        Fewer than two records.
    """
    records = integer(records, "records of a sum over pairs", 2)
    x, y, new = symbols("r", 3, domain.dimension)
    value = as_polynomial(lambda r: kernel(r[0], r[1]), [x, y], domain)
    if not alike(value, [x, y])[0]:
        raise NotAPolynomial("the kernel of a sum over pairs must be symmetric in its two records")
    part, times = change(value, x, new), records - 1
    claimed = claimed_as(claim)
    reached, point = attained(part, [x, y, new], domain)
    bound = bounded(part, domain, [x, y, new], degree, (claimed and claimed / times, reached))
    first, second = (tuple(point[v.name] for v in row) for row in (x, new))
    others = [tuple(point[v.name] for v in y)] * times
    return StabilityReport(
        upper=None if bound.upper is None else times * bound.upper,
        lower=max(Fraction(0), times * reached),
        claimed=claimed,
        neighbours=(
            tuple(shaped([first, *others], domain.dimension)),
            tuple(shaped([second, *others], domain.dimension)),
        ),
        symmetric=True,
        positions=(0,),
        records=records,
        certificates=(bound.certificate,),
        statement=(
            f"one of {records} records replaced, of the sum over all pairs of the traced polynomial "
            f"{fingerprint(value)}"
        ),
        missing=bound.why,
        program=PairSum(value, domain.dimension),
        domain=domain,
    ).as_made()


@dataclass(frozen=True)
class PairSum(AsProven):
    """The sum over all pairs of records of a symmetric kernel, evaluated by sums over single records.

    Attributes
    ----------
    kernel
        Symmetric exact polynomial in the coordinates r0_k and r1_k of two records.
    dimension
        Of a record.
    """

    kernel: Polynomial
    dimension: int

    def value(self, records: Sequence[Record]) -> Fraction:
        """The exact value: twice the sum over pairs is the sum over all (i, j) less that over i = j.

        The first is a sum over the terms of products of two power sums, so the cost is linear in the records.
        """
        scale = math.lcm(*{x.denominator for record in records for x in record})
        rows = [[int(x * scale) for x in record] for record in records]
        names = [[f"r{i}_{k}" for k in range(self.dimension)] for i in range(2)]

        @cache
        def power_sum(powers: tuple[int, ...]) -> int:
            return sum(math.prod(map(pow, row, powers)) for row in rows)

        total = Fraction(0)
        for c, powers in self.kernel.terms():
            first, second = (tuple(powers.get(name, 0) for name in own) for own in names)
            both = tuple(a + b for a, b in zip(first, second, strict=True))
            all_pairs = power_sum(first) * power_sum(second) - power_sum(both)
            total += Fraction(c) * Fraction(all_pairs, scale ** sum(both))
        return total / 2


def symbols(name: str, count: int, dimension: int) -> list[list[Polynomial]]:
    """So many records of variables."""
    return [[variables(f"{name}{i}_{k}") for k in range(dimension)] for i in range(count)]


# ------------------------------------------------------------------------------------------------------------
# Positions


def alike(value: Polynomial, data: Sequence[Sequence[Polynomial]]) -> tuple[bool, tuple[int, ...]]:
    """Whether the order of records is without influence, and one position of each class that is alike.

    A swap of two records and a rotation of all generate every order; a polynomial that both leave as it is
    depends on no order. Otherwise a position joins another's class if their swap changes nothing.
    """
    count = len(data)
    if count == 1:
        return True, (0,)
    swap, rotation = {0: 1, 1: 0}, {i: (i + 1) % count for i in range(count)}
    if all(same(value, _reordered(value, data, order)) for order in (swap, rotation)):
        return True, (0,)
    first: list[int] = []
    for j in range(count):
        if not any(same(value, _reordered(value, data, {i: j, j: i})) for i in first):
            first.append(j)
    return False, tuple(first)


def _reordered(
    value: Polynomial, data: Sequence[Sequence[Polynomial]], order: Mapping[int, int]
) -> Polynomial:
    return value.subs({v: w for i, j in order.items() for v, w in zip(data[i], data[j], strict=True)})


def changes(
    value: Polynomial, data: Sequence[Sequence[Polynomial]], new: Sequence[Polynomial]
) -> tuple[bool, dict[int, Polynomial]]:
    """Whether the order of records is without influence, and the change that each class of positions that
    matter makes."""
    symmetric, positions = alike(value, data)
    parts = {i: change(value, data[i], new) for i in positions}
    if symmetric:
        parts = {i: pooled(part, [*data[:i], *data[i + 1 :]]) for i, part in parts.items()}
    return symmetric, {i: part for i, part in parts.items() if part.degree}


def pooled(part: Polynomial, others: Sequence[Sequence[Polynomial]]) -> Polynomial:
    """A change in which the order of the others plays no part, with one record in place of all of them where
    it depends on their sum alone: then their mean, which lies in the set as they do, says the same."""
    if len(others) < 2:
        return part
    first = others[0]
    if not all(same(part.diff(v), part.diff(w)) for v, w in zip(first, others[1], strict=True)):
        return part
    return part.subs({w: v for row in others[1:] for v, w in zip(first, row, strict=True)})


def change(value: Polynomial, record: Sequence[Polynomial], new: Sequence[Polynomial]) -> Polynomial:
    """value - value with one record replaced; terms without the record cancel."""
    return value - value.subs(dict(zip(record, new, strict=True)))


# ------------------------------------------------------------------------------------------------------------
# Above and below


@dataclass(frozen=True)
class Bound:
    """A proven maximum, its exact certificate as an object, and why there is none."""

    upper: Fraction | None
    certificate: dict[str, Any] | None = None
    why: str = ""


@shown("sensitivity")
def bounded(
    part: Polynomial,
    domain: Domain,
    rows: Sequence[Sequence[Polynomial]],
    degree: int | None,
    wanted: Sequence[Fraction | None],
    limits: Sequence[Any] = (),
) -> Bound:
    """A theorem: the polynomial is at most `upper` where every record lies in the domain, and on `limits`.

    By an exact certificate, of a wanted bound where it proves one; else by the certified bound. Records and
    the polynomial are solved in units of the domain.
    """
    used = {v.name for v in part.variables}
    kept = [row for row in rows if any(v.name in used for v in row)]
    origin, size, inside = domain.units
    unit: Any = {v: origin + size * v for row in kept for v in row} if inside != domain else {}
    system = System(*[g for row in kept for g in inside.constraints(row)]) & System(*limits).subs(unit)
    back = {int(v.variable_ids[0]): (-origin / size, 1 / size) for v in unit}
    height = size**part.degree
    needed = max(2, part.degree + part.degree % 2, degree or 0)
    width = max(1, len(system.variable_ids))
    best = Bound(None)
    for half, products in ((needed // 2, None), (needed // 2, "schmudgen"), (needed // 2 + 1, None)):
        side = math.comb(width + half, width)
        large = 2 * side > EXACT or (products is not None and width > FEW)
        if best.upper is not None and (degree is not None or large or best.upper in wanted):
            continue
        options: Any = {} if products is None else {"products": products}
        solved = Relaxation(system, 2 * half, **options).maximize(part.subs(unit) / height)
        bound = exactly(solved, side, wanted, back, height)
        if best.upper is None or (bound.upper is not None and bound.upper < best.upper):
            best = bound
    return best


def exactly(
    solved: PseudoExpectation,
    side: int,
    wanted: Sequence[Fraction | None] = (),
    back: Affine | None = None,
    height: Fraction = Fraction(1),
) -> Bound:
    """An upper bound that a solved maximum proves: the least wanted one that is proven, or what there is.

    `side` is that of the largest Gram matrix; beyond `EXACT` of them the bound certified in floats is taken.
    `back`: from the variables that were solved to those of the certificate; `height`: what the polynomial was
    divided by.
    """
    if solved.certified_bound is None:
        return Bound(None, None, f"the relaxation certifies no bound ({solved.status}: {solved.reason})")
    rounded = Fraction(solved.certified_bound)
    if side > EXACT:
        return Bound(rounded * height)
    least = rounded - (1 + abs(rounded)) / 10**5  # what is far below is not provable
    goals = sorted({bound / height for bound in wanted if bound is not None and least <= bound / height})
    tries = [lambda goal=goal: certificates.decide(solved, goal).proof for goal in goals]
    for attempt in [*tries, lambda: certificates.extract(solved).exact()]:
        try:
            proof = attempt()
        except certificates.CertificateError:
            continue
        if proof is not None and proof.bound is not None:
            given = proof.translated(back).times(height) if back else proof
            if given.verify().status == "valid":
                return Bound(Fraction(proof.bound) * height, given.to_dict())
    return Bound(rounded * height)


def attained(
    part: Polynomial, rows: Sequence[Sequence[Polynomial]], domain: Domain, starts: int = 16
) -> tuple[Fraction, dict[str, Fraction]]:
    """A large value of the polynomial at exact records in the domain, by local search, and where."""
    generator = random.Random(0)
    used = {v.name for v in part.variables}
    movable = [row for row in rows if any(v.name in used for v in row)]
    terms = [(float(c), list(powers.items())) for c, powers in part.terms()]

    def rough(point: dict[str, float]) -> float:
        total = 0.0
        for c, powers in terms:
            for name, power in powers:
                c *= point[name] ** power
            total += c
        return total

    best: tuple[Fraction, dict[str, Fraction]] | None = None
    for _ in range(starts if movable else 1):
        point = {v.name: x for row in rows for v, x in zip(row, domain.draw(generator), strict=True)}
        values = {name: float(x) for name, x in point.items()}
        now, idle, turn = rough(values), 0, 0
        budget = max(8, 4000 // max(1, len(terms)))
        while movable and idle < 3 * len(movable) and turn < budget * len(movable):
            row, before = movable[turn % len(movable)], now
            turn += 1
            here = tuple(point[v.name] for v in row)
            for k in range(8):
                near = None if k < 5 else here
                record = domain.draw(generator, near, 0.25 ** (k - 4))
                moved = values | {v.name: float(x) for v, x in zip(row, record, strict=True)}
                if (value := rough(moved)) > now:
                    now, values = value, moved
                    point |= {v.name: x for v, x in zip(row, record, strict=True)}
            idle = idle + 1 if now <= before + 1e-12 * (1 + abs(before)) else 0
        exact = evaluate(part, point)
        if best is None or exact > best[0]:
            best = (exact, point)
    assert best is not None
    return best


def neighbours_of(
    point: dict[str, Fraction],
    parts: Sequence[Polynomial],
    data: Sequence[Sequence[Polynomial]],
    new: Sequence[Polynomial],
    position: int,
) -> tuple[Any, Any]:
    """The two data sets of a point of a change, of which these are all polynomials, records as a statistic
    takes them; one of which they have nothing is a copy of the first other one that they have, which may
    stand for it (`pooled`)."""
    dimension, used = len(new), {v.name for part in parts for v in part.variables}
    there = [i == position or any(v.name in used for v in row) for i, row in enumerate(data)]
    shown = next((i for i, known in enumerate(there) if known and i != position), None)
    rows = [row if known or shown is None else data[shown] for row, known in zip(data, there, strict=True)]
    first = [tuple(point[v.name] for v in row) for row in rows]
    second = [*first[:position], tuple(point[v.name] for v in new), *first[position + 1 :]]
    return tuple(shaped(first, dimension)), tuple(shaped(second, dimension))
