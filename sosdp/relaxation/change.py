"""Exact changes of a statement, and the one program that a solver gets: centre, lighter parts, units.

A proof of the changed statement is a proof of the given one: variables are moved, x = c + u with rational
c, and multiples of equations are subtracted, in exact arithmetic; powers of two of variables, demands and
unknowns are applied to the assembled matrices, where they round nothing. The way back, for moments,
points and multipliers, is here too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..algebra import monomials as mono
from ..algebra.coefficients import to_float
from ..algebra.polynomial import Polynomial, variable
from ..algebra.words import order
from ..conic.clock import otherwise, reserve
from ..conic.exact.integers import rounded
from ..model.expectation import ExpectationConstraint
from ..reduction.bounds import VariableBounds
from .assemble.identity import GramProgram, Identity
from .assemble.program_units import objective_sizes, program_scalings, unit_costs
from .assemble.scaling import Scaling, find_scaling, power_of_two, row_sizes, scale
from .assemble.stack import stack
from .assemble.variable_units import has_large_block
from .certify.exact_data import ExactData, as_stated
from .descent import MOVE, centre_of_forms, in_floats, low_points, moved_polynomial, near, terms_of, unit_of
from .solve.solve import with_margin
from .statement import PROOF, Demand, Statement, tallest

_DISTANT = 1.25  # |middle| over half-width of a deduced range from which a variable is moved
_FAR_END = 1e2  # size of the one end of a range from which on a variable is measured from there
_NARROW = 2.0**-30  # width of a range beside its middle, from which on that is looked for twice
_OUT = 4.0  # times the size of the data
_LIGHTER = 2**10  # by how much multiples of equations must lower a polynomial's largest coefficient
_DIGITS = 6  # binary digits of a centre relative to the half-width: data keep short coefficients
_UNSEEN = 2.0**-44  # of what a coefficient is the sum of: that it is there is noise
_MOST_TERMS = 2000  # a longer polynomial is not moved
_MOST_TALL, _MOST_DIVISIONS = 50, 200  # large terms, and divisions by equations, that are looked at

Origin = Mapping[int, Fraction]


@dataclass(frozen=True)
class Change:
    """x = origin + u, one origin a demand."""

    origins: tuple[Origin, ...]

    @classmethod
    def none(cls, statement: Statement) -> Change:
        """Nothing is moved."""
        return cls(tuple({} for _ in statement.demands))

    @property
    def trivial(self) -> bool:
        """Whether nothing is moved."""
        return not any(c for o in self.origins for c in o.values())

    def after(self, first: Change) -> Change:
        """Another change, then this one."""
        pairs = zip(first.origins, self.origins, strict=True)
        return Change(
            tuple({v: a.get(v, Fraction(0)) + b.get(v, Fraction(0)) for v in {*a, *b}} for a, b in pairs)
        )

    def forwards(self, statement: Statement) -> Statement:
        """The same statement about u."""
        if self.trivial:
            return statement
        pairs = zip(statement.demands, self.origins, strict=True)
        return replace(statement, demands=tuple(_moved(d, o) for d, o in pairs))

    def polynomial(self, p: Polynomial, demand: int = 0) -> Polynomial:
        """A polynomial of a demand in u."""
        return moved_polynomial(p, self.origins[demand])

    def point(self, u: Mapping[int, Fraction], demand: int = 0) -> dict[int, Fraction]:
        """A point of a demand in the given variables."""
        return {v: self.origins[demand].get(v, Fraction(0)) + c for v, c in u.items()}


def _moved(demand: Demand, origin: Origin) -> Demand:
    shift: Any = {variable(v): variable(v) + c for v, c in origin.items() if c}
    if not shift:
        return demand
    there = frozenset(v for v, c in origin.items() if c)
    ranges = dict(demand.bounds.ranges)
    for v in there & ranges.keys():
        low, high = ranges[v]
        ranges[v] = _outwards(low, origin[v], -1), _outwards(high, origin[v], 1)
    balls = tuple(ball for ball in demand.bounds.balls if not ball[0] & there)
    return replace(
        demand,
        parts=tuple(moved_polynomial(p, origin) for p in demand.parts),
        system=demand.system.subs(shift),
        in_expectation=tuple(_moved_constraint(c, origin) for c in demand.in_expectation),
        known=(VariableBounds({}, balls, ranges), there),
        like=tuple(moved_polynomial(p, origin) for p in demand.like),
    )


def _moved_constraint(constraint: ExpectationConstraint, origin: Origin) -> ExpectationConstraint:
    if constraint.kind != "psd":
        return replace(constraint, body=moved_polynomial(constraint.body, origin))
    body = np.empty(constraint.body.shape, dtype=object)
    for place in np.ndindex(body.shape):
        body[place] = moved_polynomial(constraint.body[place], origin)
    return replace(constraint, body=body)


def _outwards(end: float, centre: Fraction, direction: int) -> float:
    """An end of a range after the move, rounded outwards."""
    return rounded(Fraction(end) - centre, direction) if np.isfinite(end) else end


def shortened(centre: float, width: float) -> Fraction:
    """The centre to some digits of the width, so that data stay short."""
    least = max(width, abs(centre) * 2.0**-40, 1e-300)
    unit = unit_of(least, _DIGITS)
    return round(Fraction(centre) / unit) * unit


def centre_of_data(statement: Statement) -> Change:
    """To the centre of every demand; of a box that floats about it hardly tell from its middle, in two
    steps."""
    change = _centred(statement)
    ranges = () if change.trivial else (r for d in statement.demands for r in d.bounds.ranges.values())
    if not any(abs(high - low) < _NARROW * abs(high + low) for low, high in ranges):
        return change
    return _centred(change.forwards(statement)).after(change)


def _centred(statement: Statement) -> Change:
    """To the middle of the box that the constraints imply, for variables that are far from 0 beside its
    size; of variables without a box, to where a polynomial is least, if that makes it much smaller."""
    origins: list[Origin] = []
    for demand in statement.demands:
        distant = {**centre_of_descent(demand)} if demand.movable else {}
        # bounds that were propagated on an empty set may be anywhere: data say how far out they can be
        most = _OUT * demand.data_size if demand.bounds.ranges else 0.0
        for v, (low, high) in demand.bounds.ranges.items():
            half, middle = abs(high - low) / 2, (low + high) / 2
            if math.isfinite(half) and most >= abs(middle) > _DISTANT * half:
                distant[v] = shortened(middle, half)
            elif math.isfinite(low) != math.isfinite(high):  # one end is known: from there
                end = low if math.isfinite(low) else high
                if most >= abs(end) > _FAR_END and (end > 0) == math.isfinite(low):
                    distant.setdefault(v, shortened(end, abs(end)))
        if not demand.movable or max(len(p.coefs) for p in demand.parts) > _MOST_TERMS:
            distant = {}
        origins.append({v: c for v, c in distant.items() if v not in demand.fixed})
    return Change(tuple(origins))


@otherwise(cast(dict[int, Fraction], {}))
def centre_of_descent(demand: Demand) -> dict[int, Fraction]:
    """Where a polynomial is least, or the centre of its highest form, which has short digits and wells on all
    sides: where its terms are smallest, if they are much smaller there; by variable without a box."""
    p, ends = demand.parts[0], demand.bounds.ranges
    every = p.coefs.tolist()
    leads = (c for c, v in zip(every, p.monos[:, 0].tolist(), strict=True) if v)  # no move changes these
    if max(map(abs, leads), default=0) * _LIGHTER >= max(map(abs, every), default=0):
        return {}
    boxed = {v: Fraction(sum(r)) / 2 for v, r in ends.items() if np.isfinite(r).all()}
    free = p.subs({variable(v): c for v, c in boxed.items() if v in p.variable_ids})
    lows = low_points(free)
    places = [*lows, centre_of_forms(free) or {}] if lows else [{}]
    height, best = min(((_height(p, c), k) for k, c in enumerate(places)), default=(math.inf, 0))
    return places[best] if height * _LIGHTER < tallest(p) else {}


def _height(p: Polynomial, place: Origin) -> float | Fraction:
    """The largest coefficient of a polynomial that is moved; infinite where one is no float."""
    reserve(MOVE * len(p.coefs))
    there = moved_polynomial(p, place)
    return tallest(there) if in_floats(there) else math.inf


Multiples = tuple[
    tuple[tuple[int, Polynomial], ...], ...
]  # of each part: numbers of equations, and multipliers


def lighter(demand: Demand) -> tuple[Demand, Multiples]:
    """The demand less multiples of its equations, where large terms of its parts are nothing on the set:
    exact, since an equation's multiplier is free; and what was subtracted."""
    equations = demand.system.equalities
    if not equations or demand.equations or demand.options.quotient == "groebner":
        return demand, ()
    parts, taken = [], []
    for p in demand.parts:
        q, used = _divided(p, equations)
        worth = used and tallest(q) * _LIGHTER < tallest(p)
        parts.append(q if worth else p)
        taken.append(tuple(used.items()) if worth else ())
    if not any(taken):
        return demand, ()
    return replace(demand, parts=tuple(parts)), tuple(taken)


def _divided(p: Polynomial, equations: tuple[Polynomial, ...]) -> tuple[Polynomial, dict[int, Polynomial]]:
    """The remainder of the division of the large terms of a polynomial by the equations, with the small
    ones, and the multipliers; monomials by degree, then by variables. Nothing where a large term stays."""
    terms = terms_of(p) if 1 < len(p.coefs) <= _MOST_TERMS else {}
    top = max(map(abs, terms.values()), default=0)
    tall = {m: c for m, c in terms.items() if abs(c) * _LIGHTER > top}
    if not 1 < len(tall) <= _MOST_TALL:
        return p, {}

    leads = [
        (j, max(h, key=order), h) for j, h in enumerate(map(terms_of, equations)) if 1 < len(h) <= _MOST_TALL
    ]
    used: dict[int, dict[tuple[int, ...], Fraction]] = {}
    done: set[tuple[int, ...]] = set()
    for _ in range(_MOST_DIVISIONS):
        m = max(tall.keys() - done, key=order, default=None)
        if m is None:
            break
        hit = next(((j, lead, h) for j, lead, h in leads if Counter(lead) <= Counter(m)), None)
        if hit is None:
            if abs(tall[m]) * (_LIGHTER // 2) >= top:  # no small term makes up for it
                return p, {}
            done.add(m)
            continue
        j, lead, h = hit
        rest = tuple((Counter(m) - Counter(lead)).elements())
        factor = Fraction(tall[m]) / Fraction(h[lead])
        multiplier = used.setdefault(j, {})
        multiplier[rest] = multiplier.get(rest, Fraction(0)) + factor
        for other, c in h.items():
            place = tuple(sorted((*rest, *other)))
            tall[place] = Fraction(tall.get(place, 0)) - factor * Fraction(c)
            if not tall[place]:
                del tall[place]
    multiples = {j: sum((_monomial(m) * c for m, c in q.items()), Polynomial(0)) for j, q in used.items()}
    return sum((-q * equations[j] for j, q in multiples.items()), p), multiples


def _monomial(ids: tuple[int, ...]) -> Polynomial:
    return Polynomial.from_arrays(mono.padded([ids]), np.ones(1, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Built:
    """A changed statement (``given``: as it was) as matrices: ``pieces`` in given units of u, ``scaled`` and
    ``program`` in the solver's; ``height``: the size of the objective, of its coefficients together without
    the constant in the units of u;
    ``unit``: of the objective, in which the program's is measured; ``multiples``: of the equations, that were
    subtracted from each demand's parts; ``first``: the program that was judged before this one, if any, whose
    units and origin it is judged by."""

    given: Statement
    statement: Statement
    change: Change
    multiples: tuple[Multiples, ...]
    scalings: list[Scaling]
    scaled: list[Identity]
    program: GramProgram
    unit: float
    height: float
    first: Built | None = None

    @property
    def pieces(self) -> list[Identity]:
        """The identities in given units."""
        return [d.identity for d in self.statement.demands]

    @cached_property
    def slopes(self) -> np.ndarray:
        """What an unknown of the program is multiplied by in the given units."""
        return self.scalings[0].unknowns_of(np.ones(len(self.statement.prices)))

    @cached_property
    def exact(self) -> tuple[ExactData, Built]:
        """The program with the entries that were stated, and what it is of: after the move, which is exact,
        where its entries are short, else in the variables that were given (``-x**3/7 - c`` on ``x >= 123456 +
        1/7``, which no c makes non-negative)."""
        moved = as_stated(self.program, *self.statement.coefficients, parts=self.pieces), self
        if not moved[0].target_off or self.change.trivial:
            return moved
        given = build(self.given, Change.none(self.given)).exact
        return min(moved, given, key=lambda s: (s[0].off, s[0].target_off))

    @cached_property
    def at_origin(self) -> float:
        """The value at the origin of the given variables; infinite where this does not satisfy every
        constraint."""
        mass, demand = self.given.mass, self.given.demands[0]
        if mass is None or demand.halves or not demand.has_origin:
            return math.inf
        return near(self.given.constant + mass * Fraction(demand.parts[0].constant))

    def parts_of(self, gram: np.ndarray, free: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Multipliers of the program, by demand."""
        result, row, cursor = [], 0, 0
        for piece in self.scaled:
            r, f = piece.gram.shape[0], piece.free.shape[0]
            result.append((gram[row : row + r], free[cursor : cursor + f]))
            row, cursor = row + r, cursor + f
        return result

    def moments_of(self, moments: np.ndarray) -> list[np.ndarray]:
        """Moments of the program, by demand, in the units of u."""
        result, start = [], 0
        for piece, scaling in zip(self.scaled, self.scalings, strict=True):
            part = moments[start : start + piece.columns.shape[0]]
            result.append(part * scaling.column * (scaling.value * self.unit))
            start += piece.columns.shape[0]
        return result

    def has_no_mass(self, moments: np.ndarray, demand: int) -> bool:
        """Whether the measure of a demand is next to nothing beside all moments."""
        one, every = self.pieces[demand].constant_column(), self.moments_of(moments)
        most = max(float(np.abs(y).max(initial=0.0)) for y in every)
        return one >= 0 and float(np.abs(every[demand][one])) <= 1e-9 * most

    def without_target(self) -> Built:
        """The same program with nothing but the unknowns in its identities: what a refutation is about."""
        single, whole = len(self.scaled) == 1, self.program.identity
        return replace(
            self,
            statement=replace(self.statement, constant=Fraction(0), curves=()),
            scaled=[p.with_target(np.zeros_like(p.target), p.rounded) for p in self.scaled],
            # of one identity, -1 = ... as it stands; of several a positive multiple says the same
            scalings=[replace(s, value=1.0, size=1.0) for s in self.scalings[:1]]
            if single
            else self.scalings,
            program=replace(
                self.program,
                identity=whole.with_target(np.zeros_like(whole.target), whole.rounded),
                quadratic=None,
            ),
        )


Units = Sequence[Mapping[int, float]]  # of each demand: exponents of two of variables


def build(statement: Statement, change: Change, units: Units = (), first: Built | None = None) -> Built:
    """The program of a statement after a change: the place where units are chosen; ``units``: of some
    variables, where their moments are known; ``first``: another program, by whose units it is judged."""
    height = None if first is None else first.height
    there = change.forwards(statement)
    light = [lighter(d) for d in there.demands]
    if any(taken for _, taken in light):
        there = replace(there, demands=tuple(d for d, _ in light))
    pieces = [d.identity for d in there.demands]
    resolved = pieces
    if there.single:
        resolved = [_resolved(statement.demands[0], change.origins[0], pieces[0])]
    scalings, tall = _units(there, resolved, units, height)
    known = statement, there, change, tuple(taken for _, taken in light)
    return program_of(known, pieces, scalings, tall if there.single else height, first)


def program_of(
    known: tuple[Statement, Statement, Change, tuple[Multiples, ...]],
    pieces: list[Identity],
    scalings: list[Scaling],
    height: float | None,
    first: Built | None,
) -> Built:
    """The program in these units; ``known``: the statement, the changed one, the change, and what was
    subtracted."""
    there = known[1]
    scaled = [scale(p, s) for p, s in zip(pieces, scalings, strict=True)]
    slopes = scalings[0].unknowns_of(np.ones(len(there.prices)))
    if there.kind == PROOF:  # a margin of the matrices that the solver gets
        scaled, slopes = [with_margin(p) for p in scaled], np.ones(1)
    rates = np.array([to_float(price) for price in there.prices]) * slopes
    unit = power_of_two(float(np.abs(rates).max(initial=0.0)))
    upper = np.array(there.upper) / np.where(slopes > 0, slopes, 1.0)
    bent = np.array([2.0 * to_float(c) for c in there.curves]) * slopes**2 / unit if there.curves else None
    whole = scaled[0] if len(scaled) == 1 else stack(scaled)
    program = GramProgram(whole, rates / unit, upper, bent)
    height = height or float(unit_costs(program).max(initial=0.0)) * unit or 1.0
    return Built(*known, scalings, scaled, program, unit, height, first)


def _resolved(demand: Demand, origin: Origin, piece: Identity) -> Identity:
    """The identity of a bound whose variables were moved, without slopes that are noise beside what they are
    the sum of: about a minimiser slopes are zero but for that, and choose no units. Those of higher degree
    are what the polynomial is there, however small."""
    p = demand.parts[0]
    distances = {v: abs(c) for v, c in origin.items() if c}
    if not distances or piece.hermitian or piece.quotient.used:
        return piece
    terms = moved_polynomial(Polynomial.from_arrays(p.monos, np.abs(p.coefs)), distances)
    place = mono.Index(piece.columns).find(terms.monos)
    sizes = np.zeros(piece.target.size)
    sizes[place[place >= 0]] = [near(c) for c in terms.coefs[place >= 0].tolist()]
    seen = (np.abs(piece.target) > _UNSEEN * sizes) | (mono.degrees(piece.columns) > 1)
    return piece if seen.all() else piece.with_target(np.where(seen, piece.target, 0.0), piece.rounded)


def _units(
    statement: Statement, pieces: list[Identity], known: Units, given: float | None
) -> tuple[list[Scaling], float]:
    """Powers of two by least squares of logarithms, for variables, demands and unknowns together; of a
    bound, the
    variables and one factor. A tenth of what counts of the objective's coefficients is below four."""
    bounds = [d.bounds for d in statement.demands]
    single = statement.single
    alone = single and (pieces[0].hermitian or has_large_block(pieces[0]))
    alone = alone or statement.kind == PROOF or single and bool(known)
    known = known or [{}] * len(pieces)
    if alone:
        result = [find_scaling(p, b, wanted=u) for p, b, u in zip(pieces, bounds, known, strict=True)]
    else:
        result = program_scalings(pieces, bounds, known)
    if single:
        scaling, height = with_factor(result[0], pieces[0], statement.curves, given)
        return [scaling], height
    # the limits of unknowns are 0 or none, so that all may be multiplied together
    _, power = objective_sizes(result, [s.value for s in result], pieces, statement.curves)
    return [replace(s, value=s.value * power) for s in result], 1.0


def with_factor(
    scaling: Scaling, piece: Identity, curves: Sequence[Fraction] = (), given: float | None = None
) -> tuple[Scaling, float]:
    """The units of variables with those of the bound, and the size of the objective, which may be given; of a
    constant below one its own size."""
    height, power = objective_sizes([scaling], [1.0], [piece], curves)
    if not height and 0 < (constant := float(np.abs(piece.target).max(initial=0.0))) < 1:
        height, power = constant, 1.0 / power_of_two(constant)
    height = (height if given is None else given) or 1.0
    unknown = piece.derive(_unknown_factors, scaling)
    return replace(scaling, value=power, size=min(1.0, height) * power, unknown=unknown), height


def _unknown_factors(piece: Identity, scaling: Scaling) -> np.ndarray | None:
    """Factors of the unknowns, of the bound and of squares of expectations: their largest coefficients are
    then about one."""
    largest = row_sizes(piece.unknown, np.ones(piece.unknown.shape[0]), scaling.column)
    factors = 1.0 / np.array([power_of_two(size) for size in largest.tolist()])
    return None if (factors == 1).all() else factors
