"""What a proof consists of: a claim about polynomials, multipliers, and the identity they should satisfy.

Data only: `certificates.proof.Proof` verifies and shows it, `certificates.write` has the formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from flint import fmpq, fmpq_mat

from certificates.exact import Monomial, Square, Terms, exact_squares, rational, terms_of
from sosdp.algebra.calculus import substitute
from sosdp.algebra.monomials import padded
from sosdp.algebra.pickled_by_name import PickledByName
from sosdp.algebra.polynomial import Polynomial, variable
from sosdp.algebra.sparse import union_of_ids

KINDS = ("lower_bound", "upper_bound", "infeasible", "sos", "program", "no_certificate")
FREE_KINDS = ("equality", "expectation_equality", "square")
BOUNDED = ("lower_bound", "upper_bound", "program")

Matrices = tuple[tuple[tuple[Polynomial, ...], ...], ...]


@dataclass(frozen=True)
class InExpectation:
    """Constraints on a distribution: E[p] = 0, E[p] >= 0, E[M] positive semidefinite."""

    equalities: tuple[Polynomial, ...] = ()
    inequalities: tuple[Polynomial, ...] = ()
    matrices: Matrices = ()

    def __bool__(self) -> bool:
        return bool(self.equalities or self.inequalities or self.matrices)

    def polynomials(self) -> Iterator[Polynomial]:
        """Every polynomial whose expectation is constrained."""
        yield from chain(self.equalities, self.inequalities, *chain(*self.matrices))


@dataclass(frozen=True)
class Uses:
    """The constraints that one polynomial of a program may use: numbers into the claim's lists."""

    equalities: tuple[int, ...] = ()
    inequalities: tuple[int, ...] = ()
    matrices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Claim:
    """What a proof is about, in exact polynomials.

    kind "lower_bound" / "upper_bound": objective >= / <= bound on the set; "infeasible": the set is empty;
    "sos": every objective is a sum of squares (nonnegative on the set when there are constraints);
    "no_certificate": the objective has none of this `degree` (a functional separates it).  The set:
    equalities = 0, inequalities >= 0, symmetric matrices positive semidefinite.

    "program": with the `values` of its unknown coefficients (variable id, number), every polynomial of
    `objectives` has a certificate on the constraints that `on` lists for it, and the linear `goal`, of the
    given `sense`, has the value `bound`.

    Bounds may be about distributions: `expectations` constrains them, and `squares` (weight, p) add weight *
    E[p]^2 to the objective.  `point` (variable id, number): where the bound is attained; `unique`: nowhere
    else.

    `root` (variable id, low, high): that variable is a number, a root of an equality in low..high, so that
    nothing is assumed of it; the constraints on it say so, and nothing else is about it.
    """

    kind: str
    objectives: tuple[Polynomial, ...] = ()
    bound: Fraction | None = None
    equalities: tuple[Polynomial, ...] = ()
    inequalities: tuple[Polynomial, ...] = ()
    matrices: Matrices = ()
    expectations: InExpectation = InExpectation()
    squares: tuple[tuple[Fraction, Polynomial], ...] = ()
    point: tuple[tuple[int, Fraction], ...] | None = None
    unique: bool = False
    goal: Polynomial | None = None
    sense: str = ""
    values: tuple[tuple[int, Fraction], ...] = ()
    on: tuple[Uses, ...] = ()
    degree: int | None = None
    root: tuple[int, Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"claim kind {self.kind!r}: choose one of {', '.join(KINDS)}")
        about, count = f"a claim of kind {self.kind!r}", len(self.objectives)
        wanted = self.kind != "infeasible"
        if count < wanted or (count != wanted and self.kind not in ("sos", "program")):
            raise ValueError(f"{about} cannot have {count} objectives")
        if (self.goal is not None) != (self.kind == "program") or len(self.on) not in (0, count):
            raise ValueError("a program alone has a goal, and the constraints of every polynomial")
        if (self.bound is not None) != (self.kind in BOUNDED):
            raise ValueError(f"{about} {'needs a' if self.bound is None else 'has no'} bound")
        if not all(p.is_exact for p in self.polynomials()):
            raise ValueError("a claim needs exact coefficients: use Polynomial.as_exact()")

    @property
    def objective(self) -> Polynomial | None:
        """The polynomial of the claim; None for a refutation."""
        return self.objectives[0] if self.objectives else None

    @property
    def sign(self) -> int:
        """-1 for upper bounds, which are lower ones on the negative."""
        return -1 if self.kind == "upper_bound" else 1

    @property
    def targets(self) -> tuple[Polynomial, ...]:
        """The polynomials that the identity writes as combinations."""
        if self.kind == "infeasible":
            return (Polynomial(-1),)
        if self.kind in ("sos", "no_certificate"):
            return self.objectives
        if self.kind == "program":
            return tuple(with_values(p, dict(self.values)) for p in self.objectives)
        assert self.bound is not None
        return (self.sign * (self.objectives[0] - self.bound),)

    def multiplied(self, kind: str) -> tuple[Any, ...]:
        """What the indices of a multiplier of this kind count: polynomials, or matrices."""
        of = self.expectations if kind.startswith("expectation") else self
        if kind == "square":
            return tuple(p for _, p in self.squares)
        return (
            of.matrices if kind.endswith("psd") else of.equalities if kind in FREE_KINDS else of.inequalities
        )

    @property
    def is_scalar(self) -> bool:
        """Whether it is about the points of a set that polynomials alone describe: no matrices, no means."""
        return not (self.matrices or self.expectations or self.squares)

    @property
    def ids(self) -> list[int]:
        """The ids of the variables of its polynomials, ascending."""
        return [int(v) for v in union_of_ids([*self.polynomials()])]

    def polynomials(self) -> Iterator[Polynomial]:
        """Every polynomial of the claim."""
        yield from self.objectives
        yield from InExpectation(self.equalities, self.inequalities, self.matrices).polynomials()
        yield from self.expectations.polynomials()
        yield from (p for _, p in self.squares)
        if self.goal is not None:
            yield self.goal


def with_values(polynomial: Polynomial, values: Mapping[int, Fraction]) -> Polynomial:
    """The polynomial with rational numbers put in for some variables (by id)."""
    return substitute(polynomial.as_exact(), {v: Polynomial(c) for v, c in values.items()})


Affine = Mapping[int, tuple[Fraction, Fraction]]  # by id: the variable is c + w times the new one


def translated(claim: Claim, by: Affine) -> Claim:
    """A claim about points, in other variables."""

    def moved(polynomials: tuple[Polynomial, ...]) -> tuple[Polynomial, ...]:
        return tuple(_replaced(p, by) for p in polynomials)

    listed = moved(claim.equalities), moved(claim.inequalities)
    made = replace(claim, objectives=moved(claim.objectives), equalities=listed[0], inequalities=listed[1])
    if claim.point is None:
        return made
    pairs = ((v, value, *by.get(v, (0, 1))) for v, value in claim.point)
    return replace(made, point=tuple((v, (value - c) / Fraction(w)) for v, value, c, w in pairs))


def _replaced(p: Polynomial, by: Affine) -> Polynomial:
    return substitute(p, {v: variable(v) * w + c for v, (c, w) in by.items()})


@dataclass(frozen=True, eq=False)
class Multiplier(PickledByName):
    """One summand of an identity.

    Kinds "sos", "inequality", "product", "psd": <gram / denominator, b b^T> times 1, one inequality, a
    product of inequalities, or a matrix (row k then belongs to basis[k] and to row entry[k] of the matrix).
    `basis`: tuples of variable ids; `gram`: symmetric integer rows.  Kind "equality": `polynomial` times
    equality index[0].  Kinds "expectation", "expectation_psd", "expectation_equality": the same for
    constraints in expectation, the multiplier being a number or a constant matrix.  Kind "square": a number
    u stands for u^2 / (4 w) - u p, whose expectation is at least -w E[p]^2, with (w, p) square index[0] of
    the claim.
    `target`: which objective the summand belongs to.
    """

    _of_ids: ClassVar = ("basis",)

    kind: str
    index: tuple[int, ...] = ()
    basis: tuple[Monomial, ...] = ()
    gram: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    denominator: int = 1
    entry: tuple[int, ...] = ()
    polynomial: Polynomial | None = None
    target: int = 0

    @classmethod
    def weighing(
        cls, kind: str, index: Iterable[int], basis: Iterable[Monomial], matrix: Any, entry: Any = ()
    ) -> Multiplier:
        """The multiplier with a Gram matrix of rationals (rows of Fractions, or FLINT's)."""
        pairs = [[(int(v.numerator), int(v.denominator)) for v in row] for row in matrix]
        common = math.lcm(*(q for row in pairs for _, q in row))
        gram = tuple(tuple(p * (common // q) for p, q in row) for row in pairs)
        return cls(kind, tuple(index), tuple(basis), gram, common, tuple(entry))

    @classmethod
    def of_squares(cls, kind: str, index: Iterable[int], squares: Iterable[tuple[Any, Terms]]) -> Multiplier:
        """The multiplier that is a sum of weight * q^2 over pairs of a weight and a polynomial."""
        pairs = [(rational(w), q) for w, q in squares]
        basis = sorted({row for _, q in pairs for row in q}, key=lambda row: (len(row), row))
        rows = [[q.get(row, fmpq(0)) for row in basis] for _, q in pairs]
        weighted = fmpq_mat(len(pairs), len(basis), [w * c for (w, _), row in zip(pairs, rows) for c in row])
        right = fmpq_mat(len(pairs), len(basis), [c for row in rows for c in row])
        return cls.weighing(kind, index, basis, (weighted.transpose() * right).tolist())

    @property
    def matrix(self) -> np.ndarray:
        """The Gram matrix as an (N, N) object array of Fractions."""
        rows = [[Fraction(int(value), self.denominator) for value in row] for row in self.gram]
        return np.array(rows, dtype=object).reshape(len(self.basis), len(self.basis))

    @property
    def degree(self) -> int:
        """Degree of the multiplier itself (not of what it multiplies)."""
        if self.polynomial is not None:
            return self.polynomial.degree
        return 2 * max((len(row) for row in self.basis), default=0)

    def trimmed(self) -> Multiplier | None:
        """The multiplier without basis elements whose row is zero; None when nothing is left of it."""
        if self.kind in FREE_KINDS:
            empty = self.polynomial is not None and not self.polynomial.coefs.size
            return None if empty and self.kind != "square" else self
        kept = [k for k, row in enumerate(self.gram) if any(row)]
        if len(kept) == len(self.gram) > 0:
            return self
        gram = tuple(tuple(self.gram[i][j] for j in kept) for i in kept)
        basis, entry = tuple(self.basis[k] for k in kept), tuple(self.entry[k] for k in kept if self.entry)
        return replace(self, basis=basis, gram=gram, entry=entry) if kept else None

    def translated(self, by: Affine) -> Multiplier:
        """The multiplier in other variables."""
        if self.polynomial is not None:
            return replace(self, polynomial=_replaced(self.polynomial, by))
        if not any(c for c, _ in by.values()):  # no monomial becomes a sum
            size = [math.prod(by[v][1] for v in row if v in by) for row in self.basis]
            rows = [[v * a * b for v, b in zip(row, size)] for row, a in zip(self.matrix.tolist(), size)]
            made = Multiplier.weighing(self.kind, self.index, self.basis, rows, self.entry)
            return replace(made, target=self.target)
        squares = [(w, terms_of(_replaced(q, by))) for w, q in self.squares()]
        return replace(Multiplier.of_squares(self.kind, self.index, squares), target=self.target)

    def times(self, factor: Fraction) -> Multiplier:
        """The multiplier in a multiple of the identity, factor > 0."""
        if self.polynomial is not None:
            return replace(self, polynomial=self.polynomial * factor)
        gram = tuple(tuple(v * factor.numerator for v in row) for row in self.gram)
        return replace(self, gram=gram, denominator=self.denominator * factor.denominator)

    def squares(self, of: Callable[[list], list[Square]] = exact_squares) -> list[tuple[Fraction, Any]]:
        """[(d, q), ...], d > 0, with sum of d q^2 equal to the multiplier, by exact LDL^T (or by `of`).

        Raises ValueError for kinds "psd" and "equality", and when the matrix is not positive semidefinite.
        Cost: cubic in the side with growing rationals; meant for small proofs.
        """
        if self.kind.endswith("psd") or self.kind in FREE_KINDS:
            raise ValueError(f"a multiplier of kind {self.kind!r} is not a single sum of squares")
        monos = padded(list(self.basis))
        return [(w, Polynomial.from_arrays(monos, row)) for w, row in of(self.matrix.tolist())]


@dataclass(frozen=True, eq=False)
class Identity:
    """A claim with multipliers: target = sum of the multipliers' contributions, if it holds.

    `functional`: of a claim that there is no certificate, its value on each monomial.
    """

    claim: Claim
    multipliers: tuple[Multiplier, ...]
    note: str = ""
    functional: Polynomial | None = None

    @property
    def bound(self) -> Fraction | None:
        """The bound of the claim; None for claims without one."""
        return self.claim.bound

    @property
    def ids(self) -> list[int]:
        """The ids of all variables, ascending."""
        others = [self.functional, *(m.polynomial for m in self.multipliers)]
        rows = [row for m in self.multipliers for row in m.basis]
        rows += [(v,) for v, _ in (*(self.claim.point or ()), *self.claim.values)]
        rows += [p.variable_ids.tolist() for p in others if p is not None]
        return sorted({*self.claim.ids}.union(*rows))

    @property
    def degree(self) -> int:
        """Largest degree of a summand: multiplier times what it multiplies."""
        return max((m.degree + _degree_of(self.claim, m) for m in self.multipliers), default=0)


def _degree_of(claim: Claim, multiplier: Multiplier) -> int:
    """Degree of what a multiplier multiplies."""
    factors = [claim.multiplied(multiplier.kind)[k] for k in multiplier.index]
    if multiplier.kind.endswith("psd"):
        return max(p.degree for row in factors[0] for p in row)
    return sum(p.degree for p in factors)


class NoForm(ValueError):
    """The proof cannot be written like that; the message says why."""


@dataclass(frozen=True, eq=False)
class Summand:
    """(sum of weight * q^2) times the product of `factors`, or `cofactor` times an equality.

    `squares`: (weight, q) pairs, empty for a cofactor; `factors`: the inequalities, or the equality;
    `numbers`: their places in the claim.
    """

    squares: tuple[tuple[Fraction, Polynomial], ...]
    cofactor: Polynomial | None
    factors: tuple[Polynomial, ...]
    numbers: tuple[int, ...]

    @property
    def polynomial(self) -> Polynomial:
        """The summand, expanded."""
        value = self.cofactor
        if value is None:
            value = sum((w * q * q for w, q in self.squares), Polynomial(0))
        for factor in self.factors:
            value = value * factor
        return value


def summands(
    proof: Identity, target: int = 0, squares: Callable[[Multiplier], list] = Multiplier.squares
) -> list[Summand]:
    """The summands whose sum is the target (claim.targets[target]), every one with its squares or cofactor.

    `squares`: how a Gram matrix becomes weighted squares.  NoForm for proofs that are no sums of squares
    times polynomials (matrix inequalities, distributions, refusals).  Cost: an exact LDL^T of each matrix.
    """
    claim = proof.claim
    if claim.kind == "no_certificate" or not claim.is_scalar:
        raise NoForm(
            "only a proof that is a sum of squares times polynomials is such a list: not one about a matrix, "
            "about distributions, or that there is no certificate"
        )
    if not 0 <= target < len(claim.targets):
        raise ValueError(f"the claim has {len(claim.targets)} targets; there is no number {target}")
    return [
        Summand(
            () if m.polynomial is not None else tuple(squares(m)),
            m.polynomial,
            tuple(claim.multiplied(m.kind)[k] for k in m.index),
            m.index,
        )
        for m in proof.multipliers
        if m.target == target
    ]


def of_inequality(
    proof: Identity, squares: Callable[[Multiplier], list] = Multiplier.squares
) -> list[Summand]:
    """The summands of a claim about one polynomial inequality; NoForm for other claims."""
    if proof.claim.kind == "program" or len(proof.claim.targets) != 1:
        raise NoForm(f"a claim of kind {proof.claim.kind!r} is not a single polynomial inequality")
    return summands(proof, squares=squares)


def squares_of(proof: Identity, target: int = 0) -> list[tuple[Fraction, Polynomial]]:
    """[(weight, q), ...], exact, with target = sum of weight * q^2; ValueError for other proofs."""
    parts = summands(proof, target)
    if any(part.numbers for part in parts):
        raise ValueError("the proof multiplies constraints too: identity() lists all its summands")
    return [pair for part in parts for pair in part.squares]
