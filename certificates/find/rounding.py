"""From float multipliers to an exact identity.

Every multiplier is rounded to dyadic rationals; what the rounded multipliers miss is computed exactly,
divided by the rewriting rules of the system (the cofactors join the equality multipliers), and the rest is
absorbed into ONE entry per monomial of the plain sum-of-squares Gram matrices, so denominators stay those of
the data (Peyrl and Parrilo 2008 spread it over all entries instead, which divides by the number of entries).
Where no plain square reaches a monomial, `certificates.find.facial` solves the whole identity exactly.
Positive definiteness is screened in floating point here and proven exactly by the checker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from flint import fmpq

from certificates.exact import (
    Monomial,
    Rules,
    Terms,
    add_to,
    below_one,
    binary,
    monomials_of,
    multiply,
    polynomial_of,
    rational,
    terms_of,
    times,
)
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial
from sosdp.conic.exact.integers import as_floats
from sosdp.relaxation.duals import DualData, GramBlock

Gram = list[list[fmpq]]
Result = TypeVar("Result")


class CertificateError(Exception):
    """Base of what this package raises on purpose."""


class NotCertifiable(CertificateError):
    """No exact certificate was found; the message says why and what to try.

    ``attempts``: where several ways were tried, what each ended with.
    """

    def __init__(self, message: str, *, attempts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


def checked(claim: Claim, multipliers: Iterable[Multiplier]) -> Proof:
    """The proof, if the checker accepts it; raises NotCertifiable."""
    proof = Proof(claim, tuple(multipliers))
    if not proof.verdict:
        raise NotCertifiable(f"the checker says {proof.verdict}")
    return proof


def first(way: Callable[[Any], Result], options: Sequence[Any], said: str = "") -> Result:
    """The proof of the first option that has one; NotCertifiable with what stopped the last, and which."""
    for option in options:
        try:
            return way(option)
        except NotCertifiable as error:
            reason = f"{error}{said.format(option)}"
    raise NotCertifiable(reason)


class Rounder:
    """Rounds one set of float multipliers to proofs of `claim`; what needs no bits is done once."""

    def __init__(self, claim: Claim, dual: DualData, squares: Sequence[Fraction] = ()) -> None:
        self.claim = claim
        (target,) = claim.targets
        self.target = terms_of(target)
        self.squares = tuple(squares)
        for u, (weight, p) in zip(self.squares, claim.squares, strict=bool(self.squares)):
            add_to(self.target, terms_of(p), rational(u))
            add_to(self.target, {(): -rational(u * u / (4 * weight))})
        self.height = below_one(self.target.values())
        self.unit = max(0, self.height)
        # equalities in expectation are equalities with a constant multiplier
        self.equalities = [terms_of(p) for p in (*claim.equalities, *claim.expectations.equalities)]
        self.blocks = [b for b in dual.blocks if np.asarray(b.gram).size]
        self.bases = [monomials_of(b.basis) for b in self.blocks]
        for block, basis in zip(self.blocks, self.bases, strict=True):
            if np.asarray(block.gram).shape != (len(basis), len(basis)):
                raise ValueError(f"a Gram matrix of shape {block.gram.shape} for a basis of {len(basis)}")
            if block.gram.dtype != object and not np.isfinite(block.gram).all():
                raise NotCertifiable("the multipliers hold NaN or infinite numbers: the solver failed")
        self.free = [(int(j), p) for j, p in dual.equality_multipliers]
        self.rules = Rules(self.equalities[: len(claim.equalities)])
        self.factors = [self._factor(b) for b in self.blocks]
        self.entry = [[0] * len(b.basis) if b.entry is None else b.entry.tolist() for b in self.blocks]

    def _factor(self, block: GramBlock) -> list[list[Terms]]:
        """The rows of the matrix that multiplies a block; of a polynomial that is its only entry."""
        of = self.claim.multiplied(block.kind)
        if block.kind.endswith("psd"):
            return [[terms_of(p) for p in row] for row in of[block.index[0]]]
        factors = [of[k] for k in block.index] if block.kind != "sos" else []
        return [[terms_of(math.prod(factors, start=Polynomial(1)))]]

    def products(self, k: int) -> Iterator[tuple[int, int, Monomial]]:
        """The entries (i, j), j <= i, of block k, and the product of their monomials."""
        basis = self.bases[k]
        return ((i, j, times(u, basis[j])) for i, u in enumerate(basis) for j in range(i + 1))

    @cached_property
    def places(self) -> dict[Monomial, tuple[int, int, int, fmpq, Monomial]]:
        """For every monomial in normal form that a plain block reaches one entry (i, j), i >= j: block, i, j,
        and the factor times that monomial which its product is, with the product itself."""
        result: dict[Monomial, tuple[int, int, int, fmpq, Monomial]] = {}
        for k, block in enumerate(self.blocks):
            if block.kind != "sos":
                continue
            for i, j, product in self.products(k):
                factor, normal = self.rules.normal(product)
                known = result.get(normal)
                # an off-diagonal entry moves by half of what it absorbs: those first
                if factor and (known is None or (i != j and known[1] == known[2])):
                    result[normal] = k, i, j, factor, product
        return result

    def multipliers(self, bits: int) -> tuple[Multiplier, ...]:
        """Exact multipliers with entries rounded to `bits` binary places, more in the unit of a small target;
        the identity holds exactly.

        Raises NotCertifiable when some monomial cannot be matched or a Gram matrix is not positive
        semidefinite in floating point (the exact proof is left to the checker).
        """
        bits += self.unit
        grams = [_dyadic(b.gram, bits) for b in self.blocks]
        cofactors: dict[int, Terms] = {}
        for j, polynomial in self.free:
            pairs = zip(monomials_of(polynomial.monos), polynomial.coefs.tolist(), strict=True)
            rounded = {row: rational(binary(float(c), bits)) for row, c in pairs}
            add_to(cofactors.setdefault(j, {}), rounded)
        rest = self.missing((self.contribution(k, gram) for k, gram in enumerate(grams)), cofactors)
        loose = next((row for row in rest if row not in self.places), None)
        if loose is not None:
            raise NotCertifiable(
                f"no plain square reaches the monomial {polynomial_of({loose: fmpq(1)})}, whose coefficient "
                "is rounded (try a higher degree)"
            )
        for k, i, j, change in self._absorbed(rest, cofactors):
            grams[k][i][j] += change
            grams[k][j][i] = grams[k][i][j]
        out = [self._screened(k, gram) for k, gram in enumerate(grams)]
        return (*(m for m in out if m is not None), *self.others(cofactors))

    def missing(self, parts: Iterable[Terms], cofactors: dict[int, Terms]) -> Terms:
        """What the target has beyond these parts and multiples of equalities, in normal form; what brings it
        there joins the cofactors."""
        rest = dict(self.target)
        for part in (*parts, *(multiply(p, self.equalities[j]) for j, p in cofactors.items())):
            add_to(rest, part, -1)
        return self.rules.divide(rest, cofactors)

    def others(self, cofactors: dict[int, Terms]) -> list[Multiplier]:
        """Multipliers without Gram matrix: cofactors of equalities, numbers for squares of expectations."""
        out, plain = [], len(self.claim.equalities)
        for j, terms in sorted(cofactors.items()):
            if terms:
                kind, index = ("equality", j) if j < plain else ("expectation_equality", j - plain)
                out.append(Multiplier(kind, (index,), polynomial=polynomial_of(terms)))
        out += [Multiplier("square", (k,), polynomial=Polynomial(u)) for k, u in enumerate(self.squares) if u]
        return out

    def multiplier(self, k: int, gram: Gram) -> Multiplier | None:
        """Block k with a matrix of rationals, zero rows left out; None when nothing is left."""
        block = self.blocks[k]
        index = map(int, block.index) if block.kind != "sos" else ()
        entry = () if block.entry is None else self.entry[k]
        return Multiplier.weighing(block.kind, index, self.bases[k], gram, entry).trimmed()

    def proof(self, places: Sequence[int]) -> Proof:
        """The proof at the first of these numbers of bits that the checker accepts; raises NotCertifiable."""
        return first(lambda bits: checked(self.claim, self.multipliers(bits)), places, " ({} bits)")

    def contribution(self, k: int, gram: Gram) -> Terms:
        """Exactly what block k adds to its target."""
        squares, out, entry = dict[tuple[int, int], Terms](), Terms(), self.entry[k]
        for i, j, product in self.products(k):
            if value := gram[i][j]:
                part = squares.setdefault((entry[i], entry[j]), {})
                part[product] = part.get(product, 0) + (value if i == j else 2 * value)
        for (e, f), part in squares.items():
            add_to(out, multiply(part, self.factors[k][e][f]))
        return out

    def _absorbed(self, rest: Terms, cofactors: dict[int, Terms]) -> Iterator[tuple[int, int, int, fmpq]]:
        """What entries of blocks change by, one a monomial of a remainder in normal form, to take it in;
        rewriting joins the cofactors."""
        left = dict(rest)
        for row, value in rest.items():
            block, i, j, factor, product = self.places[row]
            share = value / factor
            add_to(left, {product: share}, -1)
            yield block, i, j, share if i == j else share / 2
        if self.rules.divide(left, cofactors):
            raise RuntimeError("rewriting is not deterministic: please report this problem")

    def entry_effect(self, k: int, i: int, j: int, change: fmpq) -> Terms:
        """What changing entries (i, j) and (j, i) of block k by `change` adds to the target."""
        basis, entry = self.bases[k], self.entry[k]
        square = {times(basis[i], basis[j]): change * (1 if i == j else 2)}
        return multiply(square, self.factors[k][entry[i]][entry[j]])

    def _screened(self, k: int, gram: Gram) -> Multiplier | None:
        """Block k, if it may be positive semidefinite, zero rows left out; None when nothing is left."""
        result = self.multiplier(k, gram)
        if result is not None and not positive_in_floats(result.gram):
            raise NotCertifiable(
                "a Gram matrix is not positive semidefinite after rounding: the multipliers are too close to "
                "the boundary of the cone for this number of bits"
            )
        return result


@dataclass(frozen=True, eq=False)
class Linear:
    """All numbers that may vary, exactly: entries of Gram matrices, coefficients of equality multipliers.

    `rows`: the monomials in normal form; `effects[k][e]`: what one unit of lower-triangle entry e of block k
    adds, by row number; `free`: (equality, monomial) with its effect; `goal`: what is to be matched.
    """

    rounder: Rounder
    rows: list[Monomial]
    effects: list[list[dict[int, fmpq]]]
    free: list[tuple[tuple[int, Monomial], dict[int, fmpq]]]
    goal: list[fmpq]


def linear(rounder: Rounder) -> Linear:
    """The identity as linear equations in the numbers of its multipliers."""
    numbers: dict[Monomial, int] = {}

    def by_number(terms: Terms) -> dict[int, fmpq]:
        normal = rounder.rules.divide(terms, {})
        return {numbers.setdefault(row, len(numbers)): value for row, value in normal.items()}

    effects = [
        [by_number(rounder.entry_effect(k, i, j, fmpq(1))) for i, j, _ in rounder.products(k)]
        for k in range(len(rounder.blocks))
    ]
    free = []
    for j, polynomial in rounder.free:
        for row in monomials_of(polynomial.monos):
            free.append(((j, row), by_number(multiply({row: fmpq(1)}, rounder.equalities[j]))))
    goal = by_number(rounder.target)
    return Linear(rounder, list(numbers), effects, free, [goal.get(n, fmpq(0)) for n in range(len(numbers))])


def _dyadic(gram: np.ndarray, bits: int) -> Gram:
    """Floats (made symmetric), or an object array of rationals, rounded to so many binary places."""
    numbers = gram if gram.dtype == object else gram / 2 + gram.T / 2
    return [[rational(binary(v, bits)) for v in row] for row in numbers.tolist()]


def positive_in_floats(whole: Sequence[Sequence[int]]) -> bool:
    """Quick screen by Cholesky in doubles; singular matrices may pass or fail, the checker decides."""
    dense, size = as_floats(whole), len(whole)
    if size == 1:
        return bool(dense[0, 0] >= 0)
    # Small singular matrices may pass: deciding those exactly costs little.
    shift = (1e-13 if size <= 40 else 1e-15) * float(np.trace(dense))
    try:
        np.linalg.cholesky(dense + np.eye(size) * shift)
    except np.linalg.LinAlgError:
        return False
    return True
