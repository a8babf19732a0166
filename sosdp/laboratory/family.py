"""Programs written as sums over records and pairs, and the proof that their value moves little, for all n.

A substitution T carries every feasible point of one data set to one of its neighbour; each constraint is one
exact identity that bounds its degree in the solver's variables, so the same holds of the relaxations.

Proof: docs/proofs/witness_transfer.md
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.estimator.score_program import ScoreProgram, Witness
from sosdp.laboratory.counterexamples import far_neighbours
from sosdp.laboratory.domain import AsProven, Domain, claimed_as
from sosdp.laboratory.identities import LEAST, MOST, Facts, NoIdentity, degree_in, least_growth, nonnegative
from sosdp.laboratory.report import NotAPolynomial, StabilityReport, called
from sosdp.laboratory.tracing import evaluate, fingerprint, same, stated
from sosdp.model.system import System
from sosdp.privacy.guarantee.condition import Proof, all_fields
from sosdp.privacy.guarantee.rounding import float_up
from sosdp.privacy.scores.score import Lattice

Vector = Sequence[Polynomial]


@dataclass(frozen=True)
class Part:
    """A constraint of a family: constant(n) + sum of single(z_i, x_i) + sum over i < j of pair(...), >= 0.

    Attributes
    ----------
    name
        For reports.
    constant
        n -> number; n is public.
    single
        (own variables, record) -> polynomial, or None.
    pair
        (z, x, other z, other x) -> polynomial, or None; symmetric in the two records.
    equality
        The sum is 0 instead.
    """

    name: str
    constant: Callable[[int], Any] = field(default=lambda n: 0)
    single: Callable[[Vector, Vector], Any] | None = None
    pair: Callable[[Vector, Vector, Vector, Vector], Any] | None = None
    equality: bool = False


@dataclass(frozen=True)
class Family:
    """Minimise the sum of objective(z_i, x_i) subject to local constraints of each record and to parts.

    Attributes
    ----------
    own
        Number of solver variables of a record.
    record
        Public set of a record.
    local
        (z, x) -> (polynomials that are 0, polynomials that are >= 0), of each record.
    parts
        Constraints that sum over the records.
    objective
        (z, x) -> polynomial.
    dropped
        z -> what becomes of the own variables of a replaced record: affine in z, without the data.
    products
        (z, other z) -> polynomials that are >= 0 for every pair of records, also constraints of the program;
        the same ones for the pair in the other order.
    parameters, about
        Candidates, directions: any public numbers, on which these polynomials, of the parameters alone, are
        >= 0.
    """

    own: int
    record: Domain
    local: Callable[[Vector, Vector], tuple[Sequence[Any], Sequence[Any]]]
    parts: tuple[Part, ...]
    objective: Callable[[Vector, Vector], Any]
    dropped: Callable[[Vector], Sequence[Any]]
    products: Callable[[Vector, Vector], Sequence[Any]] | None = None
    parameters: tuple[Polynomial, ...] = ()
    about: tuple[Any, ...] = ()

    @cached_property
    def written(self) -> Written:
        """Its polynomials: the functions are called once, so that what is proven is what is used."""
        return Written(self)


@dataclass(frozen=True)
class FixedSet(AsProven):
    """Minimise the sum over the records of objective(z, x) over a set of z that no record changes.

    For graphs a record is the weight of one pair, and z the variables that its summand mentions: the same
    polynomial and the same constraints for every pair.

    Attributes
    ----------
    own
        Number of variables that a summand mentions.
    record
        Public set of a record.
    inside
        z -> (polynomials that are 0, polynomials that are >= 0), constraints of the program.
    objective
        (z, x) -> polynomial.
    """

    own: int
    record: Domain
    inside: Callable[[Vector], tuple[Sequence[Any], Sequence[Any]]]
    objective: Callable[[Vector, Vector], Any]

    def stability(
        self, *, records: int | None = None, claim: Any = None, degree: int | None = None
    ) -> StabilityReport:
        """Bound how far the value moves, for every number of records: s with s >= what one summand can gain.

        Undecided where no identity of degree 2 in z bounds it, or where a function is not the polynomial that
        it returned for symbols (`tracing.stated`); nothing is refuted.
        """
        z = [variables(f"z_a{k}") for k in range(self.own)]
        x, new = ([variables(f"x_{tag}{k}") for k in range(self.record.dimension)] for tag in "ac")
        upper, certificate, missing, about = None, None, "", ""
        try:
            free = [Domain(self.own, -1, 1)]
            equal, above = stated("the set", self.inside, [z], [free], tuple)
            ((summand,),) = stated("the objective", self.objective, [z, x], [free, [self.record]])
            about = f", of the traced summand {fingerprint(summand)}"
            public = [*_inside(self.record, x), *_inside(self.record, new)]
            names = frozenset(v.name for v in z)
            if any(degree_in(p, names) > MOST for p in (summand, *above, *equal)):
                raise NoIdentity(f"a polynomial has more than degree {MOST} in the program's variables")
            facts = Facts(names, (*above, *public), tuple(equal))
            growth = summand.subs(dict(zip(x, new, strict=True))) - summand
            upper, certificate = least_growth(growth, facts, claimed_as(claim))
        except (NoIdentity, NotAPolynomial) as error:
            missing = str(error)
        return StabilityReport(
            upper=None if upper is None else max(upper, Fraction(0)),
            claimed=claimed_as(claim),
            certificates=() if certificate is None else (certificate,),
            statement="the value of the program, and of its relaxations of even degree >= 2, for every n"
            + about,
            missing=missing,
        )


class Written:
    """The polynomials of a family in the variables of two records.

    z, u: their own variables; x, y: their data. Each polynomial mentions its arguments and the parameters
    alone.
    """

    def __init__(self, family: Family) -> None:
        size = family.record.dimension
        self.z, self.u = ([variables(f"z_{tag}{k}") for k in range(family.own)] for tag in "ab")
        self.x, self.y = ([variables(f"x_{tag}{k}") for k in range(size)] for tag in "ab")
        z, u, x, y = self.z, self.u, self.x, self.y
        _apart(family, [*z, *u, *x, *y, variables(LEAST)])
        parameters = {v.name for v in family.parameters}
        one = parameters | {v.name for v in [*z, *x]}
        two = one | {v.name for v in [*u, *y]}
        self.moved = _affine(list(called("dropped", family.dropped, z)), z)
        equal, above = called("local", family.local, z, x)
        self.equal, self.above = _polynomials(equal, one), _polynomials(above, one)
        self.objective = _polynomials([called("the objective", family.objective, z, x)], one)[0]
        both = parameters | {v.name for v in [*z, *u]}
        self.products = (
            [] if family.products is None else _polynomials(called("products", family.products, z, u), both)
        )
        self.about = _polynomials(family.about, parameters)
        if any(p.degree <= 0 and p.constant < 0 for p in self.about):
            raise NoIdentity("the conditions on the parameters (about) contradict each other")
        self.singles = [
            None if p.single is None else _polynomials([called(p.name, p.single, z, x)], one)[0]
            for p in family.parts
        ]
        self.pairs = [
            None if p.pair is None else _polynomials([called(p.name, p.pair, z, x, u, y)], two)[0]
            for p in family.parts
        ]

    def at(self, p: Polynomial, z: Vector, x: Vector, u: Vector = (), y: Vector = ()) -> Polynomial:
        """A polynomial with these in the place of its variables."""
        values = dict(zip([*self.z, *self.x], [*z, *x], strict=True))
        if u:
            values |= dict(zip(self.u, u, strict=True))
        if y:
            values |= dict(zip(self.y, y, strict=True))
        return p.subs(values)


def transfer(family: Family, claim: Any = None) -> StabilityReport:
    """Prove that the value, of the program and of its relaxations, moves by at most s, for every n.

    Parameters
    ----------
    claim
        s; None for the least that is provable.

    Returns
    -------
    StabilityReport
        Proven; refuted by two small data sets of a program in 0/1 variables; or undecided with the constraint
        and the change that has no certificate: that this transfer fails refutes no sensitivity.
    """
    claimed = claimed_as(claim)
    try:
        upper, certificates = _transferred(family, claimed)
        missing = ""
    except NoIdentity as error:
        upper, certificates, missing = None, (), str(error)
    lower: Fraction | float = Fraction(0)
    neighbours: tuple[Any, Any] | None = None
    with contextlib.suppress(NoIdentity):  # a family that is none has no values
        lower, neighbours = far_neighbours(family)
    return StabilityReport(
        upper=upper,
        lower=lower,
        neighbours=neighbours,
        claimed=claimed,
        certificates=certificates,
        statement="the value of the program, and of its relaxations of even degree >= 2, for every n",
        missing=missing,
    )


def _transferred(family: Family, claimed: Fraction | None) -> tuple[Fraction, tuple[Any, ...]]:
    own = family.written
    z, u, x, y, moved = own.z, own.u, own.x, own.y, own.moved
    new = [variables(f"x_c{k}") for k in range(family.record.dimension)]
    _apart(family, new)
    names = frozenset(v.name for v in [*z, *u])
    equal_new, above_new = ([own.at(p, moved, new) for p in part] for part in (own.equal, own.above))
    equal_other, above_other = ([own.at(p, u, y) for p in part] for part in (own.equal, own.above))
    public = [*own.about, *_inside(family.record, x), *_inside(family.record, new)]
    alone = Facts(names, (*own.above, *public), tuple(own.equal))
    _symmetric(own.products, [own.at(p, u, x, z) for p in own.products])
    others = (*above_other, *_inside(family.record, y), *own.products)
    together = Facts(names, (*alone.inequalities, *others), (*own.equal, *equal_other))
    proofs: list[Any] = []
    for h_new, h in zip(equal_new, own.equal, strict=True):
        if not (same(h_new, coerce(0)) or same(h_new, h)):
            raise NoIdentity(f"a local equality becomes {h_new}, which is neither 0 nor the one it was")
    for g in above_new:
        proofs.append(nonnegative(g, alone, f"local constraint {g} >= 0 of the replaced record"))
    for g in (own.at(p, moved, x, u) for p in own.products):
        proofs.append(nonnegative(g, together, f"product {g} >= 0"))
    for part, single, pair in zip(family.parts, own.singles, own.pairs, strict=True):
        for kind, change in _changes(part, single, pair, own, new, names):
            if part.equality:
                if not same(change, coerce(0)):
                    raise NoIdentity(f"{part.name} ({kind}): the equality changes by {change}")
                continue
            facts = alone if kind == "single" else together
            proofs.append(nonnegative(change, facts, f"{part.name} ({kind})"))
    if degree_in(own.objective, names) > 2:
        raise NoIdentity("the objective has more than degree 2 in the solver's variables")
    growth = own.at(own.objective, moved, new) - own.objective
    upper, last = least_growth(growth, alone, claimed)
    return max(upper, Fraction(0)), tuple(item for item in [*proofs, last] if item is not None)


@dataclass(frozen=True)
class FamilyProgram:
    """`build` of a `ScoreProgram` for a family: its own polynomials with numbers in the place of the data."""

    family: Family
    records: int

    @cached_property
    def constants(self) -> list[Polynomial]:
        """The constants of the parts, called once: a number of the public n alone."""
        return [coerce(part.constant(self.records)).as_exact() for part in self.family.parts]

    def __call__(self, records: Any, candidate: Any) -> tuple[System, Polynomial]:
        """The system and objective for these records and this candidate (the family's parameters)."""
        family, own, n = self.family, self.family.written, self.records
        z = [[variables(f"z{i}_{k}") for k in range(family.own)] for i in range(n)]
        values = {v: Fraction(c) for v, c in zip(family.parameters, candidate, strict=True)}
        x = [[coerce(Fraction(float(c))) for c in np.ravel(record)] for record in records]
        constraints: list[Any] = []

        def at(p: Polynomial, i: int, j: int | None = None) -> Polynomial:
            other = () if j is None else (z[j], x[j])
            return own.at(p.subs(values) if values else p, z[i], x[i], *other)

        for i in range(n):
            constraints += [at(p, i).equals(0) for p in own.equal] + [at(p, i) >= 0 for p in own.above]
        pairs = list(combinations(range(n), 2))
        constraints += [at(p, i, j) >= 0 for i, j in pairs for p in own.products]
        for part, total, single, pair in zip(
            family.parts, self.constants, own.singles, own.pairs, strict=True
        ):
            if single is not None:
                total = sum((at(single, i) for i in range(n)), total)
            if pair is not None:
                total = sum((at(pair, i, j) for i, j in pairs), total)
            constraints.append(total.equals(0) if part.equality else total >= 0)
        objective = sum((at(own.objective, i) for i in range(n)), coerce(0))
        return System(*constraints), objective


def score_program(
    family: Family,
    records: int,
    lattice: Lattice,
    *,
    largest: float,
    width: float = 0.5,
    witness: Witness | None = None,
    degree: int = 2,
    integral: bool = False,
) -> ScoreProgram:
    """The family as a score whose sensitivity is proven; its parameters are the candidates of the lattice.

    Parameters
    ----------
    largest, width, witness, degree, integral
        See `ScoreProgram`.

    Raises
    ------
    Undecided
        The transfer is not proven.
    ValueError
        Records in a ball, other numbers of parameters, a candidate at which `about` fails, an odd degree.
    """
    if family.record.radius is not None or len(family.parameters) != lattice.dimension:
        raise ValueError("a score needs records in a box and a lattice of its parameters")
    if degree < 2 or degree % 2:
        raise ValueError(f"the theorem is about relaxations of even degree >= 2, got {degree}")
    limits = [coerce(p).as_exact() for p in family.about]
    for point in lattice.points():
        values = {v.name: lattice.spacing * t for v, t in zip(family.parameters, point, strict=True)}
        if any(evaluate(p, values) < 0 for p in limits):
            raise ValueError(f"the candidate {point} violates a condition on the parameters (about)")
    report = transfer(family)
    made = ScoreProgram(
        FamilyProgram(family, records),
        records,
        lattice,
        largest=largest,
        low=float_up(family.record.low),
        high=-float_up(-family.record.high),
        shape=() if family.record.dimension == 1 else (family.record.dimension,),
        width=width,
        witness=witness,
        degree=degree,
        sensitivity=float_up(report.sensitivity),
        integral=integral,
    )
    text = f"exact identities: {report.statement} (docs/proofs/witness_transfer.md)"
    return replace(made, proof=Proof(text, all_fields(made)))


def _apart(family: Family, ours: Sequence[Polynomial]) -> None:
    """Refuse parameters that have the name of a variable of ours, which a proof would take for the same."""
    taken = {v.name for v in ours} & {v.name for v in family.parameters}
    if taken:
        raise NoIdentity(f"parameters need other names than {', '.join(sorted(taken))}")


def _affine(moved: list[Any], z: Vector) -> list[Polynomial]:
    """The images, checked: affine in the record's own variables, and nothing else in them."""
    own = {v.name for v in z}
    result = [coerce(p).as_exact() for p in moved]
    if len(result) != len(z):
        raise NoIdentity("dropped must give as many values as a record has own variables")
    if any(p.degree > 1 or {v.name for v in p.variables} - own for p in result):
        raise NoIdentity("dropped must be affine in the record's own variables and must not mention data")
    return result


def _polynomials(items: Sequence[Any], known: set[str]) -> list[Polynomial]:
    """Exact polynomials in the family's own variables, records and parameters alone."""
    result = [coerce(item).as_exact() for item in items]
    for p in result:
        if strangers := [v.name for v in p.variables if v.name not in known]:
            raise NoIdentity(f"{', '.join(strangers)} is in no record and no parameter")
    return result


def _inside(domain: Domain, record: Vector) -> list[Polynomial]:
    return [g.polynomial.as_exact() for g in domain.constraints(record)]


def _symmetric(products: Sequence[Polynomial], swapped: Sequence[Polynomial]) -> None:
    """Refuse products that say other things of a pair in the other order: which record is replaced, the first
    or the second, is not known."""
    for one, other in ((products, swapped), (swapped, products)):
        for p in one:
            if not any(same(p, q) for q in other):
                raise NoIdentity(f"the products are not symmetric in the two records: {p} >= 0")


def _changes(
    part: Part,
    single: Polynomial | None,
    pair: Polynomial | None,
    own: Written,
    new: Vector,
    names: frozenset[str],
) -> list[tuple[str, Polynomial]]:
    """How the summands of a part change: of the record alone, and of one pair; checked to be symmetric and of
    degree at most 2 in the solver's variables."""
    result = []
    if single is not None:
        result.append(("single", single, own.at(single, own.moved, new)))
    if pair is not None:
        if not same(pair, own.at(pair, own.u, own.y, own.z, own.x)):
            raise NoIdentity(f"{part.name}: the pair is not symmetric in its two records")
        result.append(("pair", pair, own.at(pair, own.moved, new, own.u, own.y)))
    if any(degree_in(p, names) > 2 for _, one, after in result for p in (one, after)):
        raise NoIdentity(f"{part.name} has more than degree 2 in the solver's variables")
    return [(kind, after - one) for kind, one, after in result]
