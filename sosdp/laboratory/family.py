"""Programs written as sums over records and pairs, and the proof that their value moves little, for all n.

A substitution T carries every feasible point of one data set to one of its neighbour; each constraint is one
exact identity that bounds its degree in the solver's variables, so the same holds of the relaxations.

Proof: docs/proofs/witness_transfer.md
"""

from __future__ import annotations

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
from sosdp.laboratory.identities import (
    LEAST,
    MOST,
    Facts,
    NoIdentity,
    affine,
    degree_in,
    exact_terms,
    least_growth,
    nonnegative,
    quotient,
    refuse_names,
)
from sosdp.laboratory.report import NotAPolynomial, StabilityReport
from sosdp.laboratory.tracing import evaluate, factor_of_n, fingerprint, posed, same
from sosdp.model.system import System
from sosdp.privacy.guarantee.condition import Proof, all_fields
from sosdp.privacy.guarantee.rounding import float_up
from sosdp.privacy.scores.score import Lattice

Vector = Sequence[Polynomial]
ROOT = "root_of_share"
"""Its square is 1 / (n - 1)."""


@dataclass(frozen=True)
class Part:
    """A constraint of a family: constant(n) + sum of single(z_i, x_i) + sum over i < j of pair(...), >= 0.

    Where n times a number is the constant, a transfer that shares out may use that the sum is 0 or >= 0.

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
    kept
        (z, other z) -> n - 1 times what is added to the own variables of each other record when record z is
        replaced, as many polynomials of degree 1; None: they stay. ``lambda z, u: [z[0]]`` shares out the
        weight of the replaced record. Then n >= 2.
    shared
        Number of solver variables that belong to no record, which stay: the last entries of each first
        argument z. Of graphs a record is the weight of one pair of vertices, its own variables are those of
        the edge, and shared ones those of its vertices that its summands mention.
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
    kept: Callable[[Vector, Vector], Sequence[Any]] | None = None
    shared: int = 0

    @cached_property
    def rates(self) -> list[Fraction | None]:
        """Of a family that shares out the factors of n in constants, traced once; None: other numbers."""
        plain = [p if p.pair is None and self.kept is not None else None for p in self.parts]
        return [None if p is None else factor_of_n(p.name, p.constant) for p in plain]

    def constants(self, n: int) -> list[Polynomial]:
        """The constants of the parts for n records: what is proven is what is used."""
        return [
            coerce(part.constant(n) if rate is None else rate * n).as_exact()
            for part, rate in zip(self.parts, self.rates, strict=True)
        ]

    @cached_property
    def written(self) -> Written:
        """Its polynomials, traced once, so that what is proven is what is used.

        Raises
        ------
        NotAPolynomial
            A function is not the polynomial that it returned for symbols (`tracing.posed`).
        """
        return Written(self)

    def stability(
        self, *, records: int | None = None, claim: Any = None, degree: int | None = None
    ) -> StabilityReport:
        """Prove that the value, of the program and of its relaxations, moves by at most s, for every n.

        Parameters
        ----------
        claim
            s; None for the least that is provable.

        Returns
        -------
        StabilityReport
            Proven; refuted by two small data sets of a program in 0/1 variables; or undecided with the
            constraint and the change without a certificate: that a transfer fails refutes no sensitivity.
        """
        claimed = claimed_as(claim)
        upper, certificates, missing, about = None, (), "", ""
        lower: Fraction | float = Fraction(0)
        neighbours: tuple[Any, Any] | None = None
        try:
            about = f", of the traced objective {fingerprint(self.written.objective)}"
            lower, neighbours = far_neighbours(self)
            upper, certificates = _transferred(self, claimed)
        except (NoIdentity, NotAPolynomial) as error:
            missing = str(error)
        every = f"for every n{'' if self.kept is None else ' >= 2'}{about}"
        return StabilityReport(
            upper=upper,
            lower=lower,
            neighbours=neighbours,
            claimed=claimed,
            certificates=certificates,
            statement=f"the value of the program, and of its relaxations of even degree >= 2, {every}",
            missing=missing,
        )


@dataclass(frozen=True)
class FixedSet(AsProven):
    """Minimise the sum over the records of objective(z, x) over a set of z that no record changes.

    For graphs see `Family.shared`.

    Attributes
    ----------
    own, record
        Number of variables that a summand mentions, and the public set of a record.
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

        It is the family whose variables are all shared. Undecided where no identity of degree 2 in z bounds
        it; nothing is refuted.
        """
        inside = self.inside  # what a function holds is looked into, and this one's object holds more
        family = Family(
            0, self.record, lambda z, x: inside(z), (), self.objective, lambda z: [], shared=self.own
        )
        return family.stability(claim=claim)


class Written:
    """The polynomials of a family in the variables of two records.

    z, u: their own variables; s: the shared ones; x, y: their data. Each polynomial mentions its arguments
    and the parameters alone.
    """

    def __init__(self, family: Family) -> None:
        size = family.record.dimension
        self.z, self.u = ([variables(f"z_{tag}{k}") for k in range(family.own)] for tag in "ab")
        self.x, self.y = ([variables(f"x_{tag}{k}") for k in range(size)] for tag in "ab")
        self.s = [variables(f"s{k}") for k in range(family.shared)]
        z, u, x, y = [*self.z, *self.s], self.u, self.x, self.y
        refuse_names(family.parameters, [*z, *u, *x, *y, variables(LEAST), variables(ROOT)])

        def of(what: str, function: Any, vectors: Any, lists: Any, known: Any = family.parameters) -> Any:
            free = Domain(1, -1, 1)
            sets = [[family.record] if v is x or v is y else [free] * len(v) for v in vectors]
            return posed(what, function, vectors, sets, lists, known)

        def value(what: str, function: Any, vectors: Any) -> Any:
            return None if function is None else of(what, function, vectors, lambda made: [[made]])[0][0]

        def several(what: str, function: Any, vectors: Any, known: Any = ()) -> list[Polynomial]:
            return [] if function is None else of(what, function, vectors, lambda made: [made], known)[0]

        self.equal, self.above = of("local", family.local, [z, x], tuple)
        self.objective = value("the objective", family.objective, [z, x])
        self.products = several("products", family.products, [z, u], family.parameters)
        self.singles = [value(part.name, part.single, [z, x]) for part in family.parts]
        self.pairs = [value(part.name, part.pair, [z, x, u, y]) for part in family.parts]
        self.moved = affine("dropped", several("dropped", family.dropped, [z]), self.z)
        self.added = affine("kept", several("kept", family.kept, [z, u]) or [coerce(0)] * len(u), u)
        self.about = [coerce(p).as_exact() for p in family.about]
        known = {v.name for v in family.parameters}
        if any({v.name for v in p.variables} - known for p in self.about):
            raise NoIdentity("the conditions on the parameters (about) mention something else")
        if any(p.degree <= 0 and p.constant < 0 for p in self.about):
            raise NoIdentity("the conditions on the parameters (about) contradict each other")

    def at(self, p: Polynomial, z: Vector, x: Vector, u: Vector = (), y: Vector = ()) -> Polynomial:
        """A polynomial with these in the place of its variables."""
        places = ((self.z, z), (self.x, x), (self.u if u else (), u), (self.y if y else (), y))
        return p.subs({v: value for own, new in places for v, value in zip(own, new, strict=True)})


def _transferred(family: Family, claimed: Fraction | None) -> tuple[Fraction, tuple[Any, ...]]:
    """The bound and the certificates of one transfer, of the replaced record and of one other."""
    own = family.written
    z, u, x, y, moved = own.z, own.u, own.x, own.y, own.moved
    new = [variables(f"x_c{k}") for k in range(family.record.dimension)]
    refuse_names(family.parameters, new)
    names = frozenset(v.name for v in [*z, *u, *own.s])
    share = variables(ROOT) ** 2  # 1 / (n - 1), in (0, 1]
    kept = [v + share * more for v, more in zip(u, own.added, strict=True)]
    public = [*own.about, *family.record.bodies(x), *family.record.bodies(new)]
    alone = Facts(names, (*own.above, *public), tuple(own.equal))
    if {*map(exact_terms, own.products)} != {exact_terms(own.at(p, u, x, z)) for p in own.products}:
        raise NoIdentity("products are not symmetric: the replaced record may be either of a pair")
    equal_other, above_other = ([own.at(p, u, y) for p in part] for part in (own.equal, own.above))
    others = (*above_other, *family.record.bodies(y), *own.products)
    together = Facts(names, (*alone.inequalities, *others), (*own.equal, *equal_other))
    gains = alone
    if family.kept is not None:
        if own.products or any(own.pairs):
            raise NoIdentity("sharing out is not covered where pairs of records have constraints")
        sums = [
            (part.equality, _average(rate, b, own, share))
            for part, rate, b in zip(family.parts, family.rates, own.singles, strict=True)
            if b is not None and rate is not None
        ]
        together = replace(together, inequalities=(*together.inequalities, 1 - share))
        gains = replace(
            together,
            sums_above=tuple(p for equality, p in sums if not equality),
            sums_equal=tuple(p for equality, p in sums if equality),
            one=frozenset(v.name for v in [*u, *y]),
        )
    proofs: list[Any] = []
    places = (
        (moved, new, own.equal, own.above, alone, "replaced"),
        (kept, y, equal_other, above_other, together, "kept"),
    )
    for image, data, equal, above, facts, whose in places:
        for h, old in zip(own.equal, equal, strict=True):
            h_new = own.at(h, image, data)
            if not (same(h_new, coerce(0)) or same(h_new, old)):
                raise NoIdentity(f"a local equality becomes {h_new}, which is neither 0 nor the one it was")
        for g, old in zip(own.above, above, strict=True):
            g_new = own.at(g, image, data)
            if not same(g_new, old):
                what = f"local constraint {g_new} >= 0 of the {whose} record"
                proofs.append(nonnegative(g_new, facts, what))
    for g in (own.at(p, moved, x, u) for p in own.products):
        proofs.append(nonnegative(g, together, f"product {g} >= 0"))

    def small(what: str, *polynomials: Polynomial) -> None:
        if any(degree_in(p, names) > MOST for p in polynomials):
            raise NoIdentity(f"{what} has more than degree {MOST} in the solver's variables")

    def gain(what: str, summand: Polynomial) -> Polynomial:
        """What a sum gains: with the replaced summand, and 1 / (n - 1) of it with each other one."""
        after, other = own.at(summand, moved, new), own.at(summand, kept, y)
        small(what, summand, after, other)
        more = quotient(other - own.at(summand, u, y), share)
        assert more is not None
        return after - summand + more

    for part, single, pair in zip(family.parts, own.singles, own.pairs, strict=True):
        changes = [] if single is None else [("single", gain(part.name, single), gains)]
        if pair is not None:
            if not same(pair, own.at(pair, own.u, own.y, own.z, own.x)):
                raise NoIdentity(f"{part.name}: the pair is not symmetric in its two records")
            after = own.at(pair, moved, new, u, y)
            small(part.name, pair, after)
            changes.append(("pair", after - pair, together))
        for kind, change, known in changes:
            if not part.equality:
                proofs.append(nonnegative(change, known, f"{part.name} ({kind})"))
            elif not same(change, coerce(0)):
                raise NoIdentity(f"{part.name} ({kind}): the equality changes by {change}")
    upper, last = least_growth(gain("the objective", own.objective), gains, claimed)
    return max(upper, Fraction(0)), tuple(item for item in [*proofs, last] if item is not None)


def _average(rate: Fraction, single: Polynomial, own: Written, share: Polynomial) -> Polynomial:
    """A polynomial of the replaced and one other record whose sum over the others is the part."""
    return share * (rate + single) + rate + own.at(single, own.u, own.y)


@dataclass(frozen=True)
class FamilyProgram:
    """`build` of a `ScoreProgram` for a family: its own polynomials with numbers in the place of the data."""

    family: Family
    records: int

    @cached_property
    def constants(self) -> list[Polynomial]:
        """The constants of the parts: those that were traced, others called once."""
        return self.family.constants(self.records)

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
        Records in a ball, other numbers of parameters, a candidate at which `about` fails, an odd degree, one
        record whose weight nobody can take.
    """
    if family.kept is not None and records < 2:
        raise ValueError(f"the theorem is about at least 2 records, got {records}")
    if family.record.radius is not None or len(family.parameters) != lattice.dimension:
        raise ValueError("a score needs records in a box and a lattice of its parameters")
    if degree < 2 or degree % 2:
        raise ValueError(f"the theorem is about relaxations of even degree >= 2, got {degree}")
    limits = [coerce(p).as_exact() for p in family.about]
    for point in lattice.points():
        values = {v.name: lattice.spacing * t for v, t in zip(family.parameters, point, strict=True)}
        if any(evaluate(p, values) < 0 for p in limits):
            raise ValueError(f"the candidate {point} violates a condition on the parameters (about)")
    report = family.stability()
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
