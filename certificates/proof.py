"""Proof objects: a claim about polynomials, multipliers, and the identity that makes them a proof."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certificates.check import Verdict, check_certificate
from certificates.exact import Row, monos_of
from sosdp.algebra.polynomial import Polynomial

KINDS = ("lower_bound", "upper_bound", "infeasible", "sos")


@dataclass(frozen=True)
class Claim:
    """What a proof is about, in exact polynomials.

    kind "lower_bound" / "upper_bound": objective >= / <= bound on the set; "infeasible": the set is empty;
    "sos": every objective is a sum of squares (nonnegative on the set when there are constraints).  The set:
    equalities = 0, inequalities >= 0, symmetric matrices positive semidefinite.
    """

    kind: str
    objectives: tuple[Polynomial, ...] = ()
    bound: Fraction | None = None
    equalities: tuple[Polynomial, ...] = ()
    inequalities: tuple[Polynomial, ...] = ()
    matrices: tuple[tuple[tuple[Polynomial, ...], ...], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"claim kind {self.kind!r}: choose one of {', '.join(KINDS)}")
        wanted = 0 if self.kind == "infeasible" else 1
        if len(self.objectives) < wanted or (len(self.objectives) != wanted and self.kind != "sos"):
            raise ValueError(f"a claim of kind {self.kind!r} cannot have {len(self.objectives)} objectives")
        if (self.bound is not None) != (self.kind in ("lower_bound", "upper_bound")):
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
        if self.kind == "sos":
            return self.objectives
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


@dataclass(frozen=True, eq=False)
class Multiplier:
    """One summand of an identity.

    Kinds "sos", "inequality", "product", "psd": <gram / denominator, b b^T> times 1, one inequality, a
    product of inequalities, or a matrix (row k then belongs to basis[k] and to row entry[k] of the matrix).
    `basis`: tuples of variable ids; `gram`: symmetric integer rows.  Kind "equality": `polynomial` times
    equality index[0].  `target`: which objective the summand belongs to.
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
        if self.kind in ("psd", "equality"):
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
        from certificates.io import to_dict

        return to_dict(self)

    def save(self, path: str | os.PathLike) -> None:
        """Write the certificate file."""
        from certificates.io import save

        save(self, path)

    def describe(self) -> str:
        """The claim, the multipliers and the verdict in words."""
        verdict = self.verdict
        lines = [f"Claim: {verdict.claim}"]
        lines.append(f"Proof: {_target_words(self.claim)} equals the sum of")
        for multiplier in self.multipliers:
            lines.append(f"  - {_multiplier_words(self.claim, multiplier)}")
        digits = max((math.ceil(m.denominator.bit_length() * 0.30103) for m in self.multipliers), default=1)
        lines.append(f"Degree {self.degree}; denominators of at most {digits} digits.")
        lines.append(f"Checked exactly: {verdict}.")
        return "\n".join(lines)

    def latex(self, largest: int = 6) -> str:
        """The identity as LaTeX: weighted squares for Gram matrices of side <= `largest`, else names."""
        from certificates.latex import proof_latex

        return proof_latex(self, largest)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def __repr__(self) -> str:
        what = {
            "lower_bound": f"objective >= {self.bound}",
            "upper_bound": f"objective <= {self.bound}",
            "infeasible": "no feasible point",
            "sos": "sum of squares",
        }[self.claim.kind]
        sides = [len(m.basis) for m in self.multipliers if m.kind != "equality"]
        shown = str(sides) if len(sides) <= 8 else f"<= {max(sides)} ({len(sides)} of them)"
        return f"Proof({what}; Gram matrices of sides {shown})"


def _degree_of(claim: Claim, multiplier: Multiplier) -> int:
    """Degree of what a multiplier multiplies."""
    if multiplier.kind == "equality":
        return claim.equalities[multiplier.index[0]].degree
    if multiplier.kind == "psd":
        return max(p.degree for row in claim.matrices[multiplier.index[0]] for p in row)
    return sum(claim.inequalities[k].degree for k in multiplier.index)


def _target_words(claim: Claim) -> str:
    if claim.kind == "infeasible":
        return "-1"
    if claim.kind == "sos":
        return "the polynomial" if len(claim.objectives) == 1 else "each polynomial"
    return "objective - bound" if claim.kind == "lower_bound" else "bound - objective"


def _short(polynomial: Polynomial, limit: int = 60) -> str:
    if polynomial.coefs.size > 12:
        return f"a polynomial of degree {polynomial.degree} with {polynomial.coefs.size} terms"
    text = str(polynomial)
    return text if len(text) <= limit else text[:limit] + "..."


def _multiplier_words(claim: Claim, multiplier: Multiplier) -> str:
    of = f" (objective {multiplier.target})" if len(claim.objectives) > 1 else ""
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
