"""Proof objects: a claim about polynomials, multipliers, and the identity that makes them a proof."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certificates.check import Verdict, check_certificate
from certificates.exact import Row, Terms, add_to, monos_of, polynomial_of, rational, terms_of
from sosdp.algebra.polynomial import Polynomial

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
        yield from self.equalities
        yield from self.inequalities
        for matrix in self.matrices:
            for row in matrix:
                yield from row


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

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"claim kind {self.kind!r}: choose one of {', '.join(KINDS)}")
        wanted = 0 if self.kind == "infeasible" else 1
        several = self.kind in ("sos", "program")
        if len(self.objectives) < wanted or (len(self.objectives) != wanted and not several):
            raise ValueError(f"a claim of kind {self.kind!r} cannot have {len(self.objectives)} objectives")
        if (self.goal is not None) != (self.kind == "program") or len(self.on) not in (
            0,
            len(self.objectives),
        ):
            raise ValueError(
                "a program, and nothing else, has a goal and the constraints of every polynomial"
            )
        if (self.bound is not None) != (self.kind in BOUNDED):
            raise ValueError(
                f"a claim of kind {self.kind!r} {'needs a' if self.bound is None else 'has no'} bound"
            )
        if not all(p.is_exact for p in self.polynomials()):
            raise ValueError("a claim needs exact coefficients: use Polynomial.as_exact()")

    @property
    def objective(self) -> Polynomial | None:
        """The polynomial of the claim; None for a refutation."""
        return self.objectives[0] if self.objectives else None

    @property
    def targets(self) -> tuple[Polynomial, ...]:
        """The polynomials that the identity writes as combinations."""
        if self.kind == "infeasible":
            return (Polynomial(-1),)
        if self.kind in ("sos", "no_certificate"):
            return self.objectives
        if self.kind == "program":
            return tuple(with_values(p, dict(self.values)) for p in self.objectives)
        difference = self.objectives[0] - self.bound
        return (difference if self.kind == "lower_bound" else -difference,)

    def polynomials(self) -> Iterator[Polynomial]:
        """Every polynomial of the claim."""
        yield from self.objectives
        yield from self.equalities
        yield from self.inequalities
        for matrix in self.matrices:
            for row in matrix:
                yield from row
        yield from self.expectations.polynomials()
        yield from (p for _, p in self.squares)
        if self.goal is not None:
            yield self.goal


def with_values(polynomial: Polynomial, values: Mapping[int, Fraction]) -> Polynomial:
    """The polynomial with rational numbers put in for some variables (by id)."""
    out: Terms = {}
    for row, coefficient in terms_of(polynomial).items():
        for variable in row:
            if variable in values:
                coefficient = coefficient * rational(values[variable])
        add_to(out, {tuple(v for v in row if v not in values): coefficient})
    return polynomial_of(out)


@dataclass(frozen=True, eq=False)
class Multiplier:
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

    kind: str
    index: tuple[int, ...] = ()
    basis: tuple[Row, ...] = ()
    gram: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    denominator: int = 1
    entry: tuple[int, ...] = ()
    polynomial: Polynomial | None = None
    target: int = 0

    @property
    def matrix(self) -> np.ndarray:
        """The Gram matrix as an (N, N) object array of Fractions."""
        out = np.empty((len(self.basis), len(self.basis)), dtype=object)
        for i, row in enumerate(self.gram):
            for j, value in enumerate(row):
                out[i, j] = Fraction(value, self.denominator)
        return out

    @property
    def basis_polynomials(self) -> tuple[Polynomial, ...]:
        """The basis monomials as polynomials."""
        return tuple(Polynomial.from_arrays(monos_of([row]), [1]) for row in self.basis)

    def picture(self) -> Any:
        """The Gram matrix and its squares as a matplotlib figure (see `certificates.write.picture`)."""
        from certificates.write.picture import gram_picture

        return gram_picture(self)

    @property
    def degree(self) -> int:
        """Degree of the multiplier itself (not of what it multiplies)."""
        if self.polynomial is not None:
            return self.polynomial.degree
        return 2 * max((len(row) for row in self.basis), default=0)

    def squares(self) -> list[tuple[Fraction, Polynomial]]:
        """[(d, q), ...], d > 0, with sum of d q^2 equal to the multiplier, by exact LDL^T.

        Raises ValueError for kinds "psd" and "equality", and when the matrix is not positive semidefinite.
        Cost: cubic in the side with growing rationals; meant for small proofs.
        """
        if self.kind in ("psd", "expectation_psd") or self.kind in FREE_KINDS:
            raise ValueError(f"a multiplier of kind {self.kind!r} is not a single sum of squares")
        rest = self.matrix
        out: list[tuple[Fraction, Polynomial]] = []
        for k in range(len(self.basis)):
            pivot = rest[k, k]
            if pivot < 0 or pivot == 0 and any(rest[k, k:]):
                raise ValueError("the Gram matrix is not positive semidefinite")
            if pivot == 0:
                continue
            column = rest[k, k:] / pivot
            out.append((pivot, Polynomial.from_arrays(monos_of(list(self.basis[k:])), list(column))))
            rest[k:, k:] = rest[k:, k:] - pivot * np.outer(column, column)
        return out


@dataclass(frozen=True, eq=False)
class Proof:
    """A claim with multipliers: target = sum of the multipliers' contributions, over the rationals.

    Nothing about a Proof is trusted until `verify()` says so; a file written by `save` can be checked by
    anyone with `python -m certificates.check`.
    """

    claim: Claim
    multipliers: tuple[Multiplier, ...]
    note: str = ""
    functional: Polynomial | None = (
        None  # of a claim that there is no certificate: its value on each monomial
    )

    def verify(self) -> Verdict:
        """Check the identity and every Gram matrix exactly; the verdict is true when the proof is valid."""
        return check_certificate(self.to_dict())

    @property
    def verdict(self) -> Verdict:
        """The verdict of `verify()`, computed once."""
        return self._verdict

    @cached_property
    def _verdict(self) -> Verdict:
        return self.verify()

    @property
    def bound(self) -> Fraction | None:
        """The proven bound; None for claims without one."""
        return self.claim.bound

    @property
    def degree(self) -> int:
        """Largest degree of a summand: multiplier times what it multiplies."""
        return max((m.degree + _degree_of(self.claim, m) for m in self.multipliers), default=0)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of a certificate file, digest included (docs/certificates.md)."""
        from certificates.write.json import to_dict

        return to_dict(self)

    def save(self, path: str | os.PathLike) -> None:
        """Write the certificate file."""
        from certificates.write.json import save

        save(self, path)

    def describe(self) -> str:
        """The claim, the multipliers and the verdict in words."""
        verdict = self.verdict
        lines = [f"Claim: {verdict.claim}"]
        if self.functional is not None:
            lines.append(
                f"Proof: a linear functional, given by its values on {self.functional.coefs.size} monomials, "
                "is nonnegative on everything a certificate is made of and negative on the polynomial."
            )
            lines.append(f"Checked exactly: {verdict}.")
            return "\n".join(lines)
        lines.append(f"Proof: {_target_words(self.claim)} equals the sum of")
        for multiplier in self.multipliers:
            lines.append(f"  - {_multiplier_words(self.claim, multiplier)}")
        digits = max((math.ceil(m.denominator.bit_length() * 0.30103) for m in self.multipliers), default=1)
        lines.append(f"Degree {self.degree}; denominators of at most {digits} digit{'s' * (digits != 1)}.")
        lines.append(f"Checked exactly: {verdict}.")
        return "\n".join(lines)

    def latex(self, largest: int = 6, environment: str = "aligned") -> str:
        """The identity as LaTeX: weighted squares for Gram matrices of side <= `largest`, else names.

        `environment`: "aligned" (inside a displayed formula) or "align*" (stands alone).
        """
        from certificates.write.latex import proof_latex

        return proof_latex(self, largest, environment)

    def to_sympy(self, target: int = 0) -> Any:
        """The identity of one target as an unevaluated ``sympy.Eq`` (see `certificates.write.sympy`)."""
        from certificates.write.sympy import proof_sympy

        return proof_sympy(self, target)

    def lean(self, name: str = "claim") -> str:
        """Lean 4 source (with Mathlib) of a theorem with its proof; raises NoLean where there is no such
        form."""
        from certificates.write.lean import proof_lean

        return proof_lean(self, name)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def __repr__(self) -> str:
        what = {
            "lower_bound": f"objective >= {self.bound}",
            "upper_bound": f"objective <= {self.bound}",
            "infeasible": "no feasible point",
            "sos": "sum of squares",
            "program": f"found coefficients, value {self.bound}",
            "no_certificate": "no certificate",
        }[self.claim.kind]
        sides = [len(m.basis) for m in self.multipliers if m.kind not in FREE_KINDS] or [0]
        shown = str(sides) if len(sides) <= 8 else f"<= {max(sides)} ({len(sides)} of them)"
        return f"Proof({what}; Gram matrices of sides {shown})"


def _degree_of(claim: Claim, multiplier: Multiplier) -> int:
    """Degree of what a multiplier multiplies."""
    if multiplier.kind in ("psd", "expectation_psd"):
        matrices = claim.matrices if multiplier.kind == "psd" else claim.expectations.matrices
        return max(p.degree for row in matrices[multiplier.index[0]] for p in row)
    lists = {
        "equality": claim.equalities,
        "expectation": claim.expectations.inequalities,
        "expectation_equality": claim.expectations.equalities,
        "square": tuple(p for _, p in claim.squares),
    }
    if multiplier.kind in lists:
        return lists[multiplier.kind][multiplier.index[0]].degree
    return sum(claim.inequalities[k].degree for k in multiplier.index)


def _target_words(claim: Claim) -> str:
    if claim.kind == "infeasible":
        return "-1"
    if claim.kind in ("sos", "program"):
        return "the polynomial" if len(claim.objectives) == 1 else "each polynomial"
    return "objective - bound" if claim.kind == "lower_bound" else "bound - objective"


def _short(polynomial: Polynomial, limit: int = 60) -> str:
    if polynomial.coefs.size > 12:
        return f"a polynomial of degree {polynomial.degree} with {polynomial.coefs.size} terms"
    text = str(polynomial)
    return text if len(text) <= limit else text[:limit] + "..."


def _multiplier_words(claim: Claim, multiplier: Multiplier) -> str:
    of = f" (objective {multiplier.target})" if len(claim.objectives) > 1 else ""
    if multiplier.kind in ("expectation_equality", "square"):
        assert multiplier.polynomial is not None
        number = _short(multiplier.polynomial)
        if multiplier.kind == "square":
            weight, p = claim.squares[multiplier.index[0]]
            given = f"u = {number}, w = {weight}, p = {_short(p)}"
            return f"u^2/(4 w) - u p, at least -w E[p]^2 on average, for {given}"
        return f"{number} times {_short(claim.expectations.equalities[multiplier.index[0]])}, zero on average"
    if multiplier.kind == "expectation":
        weight = multiplier.matrix.sum()
        p = claim.expectations.inequalities[multiplier.index[0]]
        return f"{float(weight):.6g} times {_short(p)}, nonnegative on average"
    if multiplier.kind == "expectation_psd":
        side = len(multiplier.basis)
        return (
            f"a constant matrix of side {side} paired with a matrix that is positive semidefinite on average"
        )
    if multiplier.kind == "equality":
        assert multiplier.polynomial is not None
        return (
            f"a polynomial of degree {multiplier.polynomial.degree} times the equality "
            f"{_short(claim.equalities[multiplier.index[0]])} = 0{of}"
        )
    squares = f"a sum of squares of degree {multiplier.degree} (Gram matrix of side {len(multiplier.basis)})"
    if multiplier.kind == "sos":
        return squares + of
    if multiplier.kind == "psd":
        return (
            f"a matrix sum of squares of degree {multiplier.degree} "
            f"(Gram matrix of side {len(multiplier.basis)}) paired with matrix {multiplier.index[0]}{of}"
        )
    factors = " times ".join(f"({_short(claim.inequalities[k])})" for k in multiplier.index)
    return f"{squares} times {factors}, nonnegative on the set{of}"
