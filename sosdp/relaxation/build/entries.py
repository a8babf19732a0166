"""Coefficients on their way into the matrix, and what is lost on it.

A coefficient is exact (an integer, a Fraction, a decimal of a file) or a float. A float stands for two
numbers at once: the binary one that it is, and the shortest decimal that is read as it, by which exact
certificates understand it. Everything certified holds for both, so that their distance is charged wherever
they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.coefficients import floats, object_array
from ...algebra.polynomial import Polynomial

TINY = 2.0**-1000
"""Smaller numbers may be no normal floats: they count as unknown up to this much."""
_WHOLE = 2.0**53


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a polynomial as they were given; ``given_error``: what they may be off by, or
    None."""

    given: np.ndarray
    given_error: np.ndarray | None = None

    @classmethod
    def together(cls, parts: list[np.ndarray]) -> Coefficients:
        """The coefficients of several polynomials, one after the other."""
        kinds = {part.dtype for part in parts}
        if len(kinds) == 1:
            return cls(np.concatenate(parts))
        return cls(object_array([c for part in parts for c in part.tolist()]))

    @cached_property
    def floats(self) -> np.ndarray:
        """Each coefficient rounded once; ValueError for one beyond the largest float."""
        if self.given.dtype == object and any(type(c) is float for c in self.given.tolist()):
            return np.array([float(c) for c in self.given.tolist()])
        return floats(self.given)

    @cached_property
    def exact(self) -> bool:
        """Whether the floats are the coefficients, however a float is read."""
        if self.given_error is not None:
            return False
        if self.given.dtype == np.int64:
            return bool((np.abs(self.floats) < _WHOLE).all())
        values = self.floats
        if self.given.dtype == np.float64 and (values == np.rint(values)).all():
            return bool((np.abs(values) < _WHOLE).all())
        return all(
            Fraction(c) == Fraction(f) and self.reading(k) == 0.0
            for k, (c, f) in enumerate(zip(self.given.tolist(), values.tolist(), strict=True))
        )

    @property
    def rounded(self) -> bool:
        """Whether a float is not the number that was given (itself a float, its binary value)."""
        if self.given.dtype == np.float64:
            return False
        pairs = zip(self.given.tolist(), self.floats.tolist(), strict=True)
        return any(Fraction(c) != Fraction(f) for c, f in pairs)

    @property
    def object(self) -> bool:
        """Whether exact arithmetic is worth its time where the coefficients cancel."""
        return self.given.dtype == object or (self.given.dtype == np.int64 and not self.exact)

    @cached_property
    def uncertain(self) -> bool:
        """Whether a coefficient is further from its float than one rounding of a normal number."""
        return self.given_error is not None or bool((np.abs(self.floats) < TINY).any())

    @cached_property
    def error(self) -> np.ndarray:
        """What the floats are off by beyond one relative rounding: underflow, and errors that were given."""
        found = np.where(np.abs(self.floats) < TINY, TINY, 0.0)
        return found if self.given_error is None else found + self.given_error

    def fraction(self, term: int) -> Fraction:
        """A coefficient exactly (a float as the binary number that it is)."""
        return Fraction(self.given[term])

    def reading(self, term: int) -> float:
        """How far apart the two numbers are at most that a coefficient stands for."""
        value = self.given[term]
        slack = 0.0 if self.given_error is None else float(self.given_error[term])
        if not isinstance(value, float) or Fraction(repr(float(value))) == Fraction(value):
            return slack
        return slack + 2.0**-52 * abs(float(value)) + TINY


def product_error(product: Polynomial, factors: list[Polynomial]) -> tuple[bool, np.ndarray | None]:
    """What the coefficients of an exact product of polynomials are off by at most, however the floats among
    the coefficients of its factors are read; None where that is nothing.

    First of the pair: whether the product has every monomial that it may have; where floats cancel by one
    reading and not by the other, it is no multiplier.
    """
    if all(factor.is_exact or Coefficients(factor.coefs).exact for factor in factors):
        return True, None
    size = Polynomial.from_arrays(mono.constant(1), np.ones(1))
    for factor in factors:
        size = size * Polynomial.from_arrays(factor.monos, np.abs(Coefficients(factor.coefs).floats))
    if not np.array_equal(size.monos, product.monos):
        return False, None
    # a coefficient of a factor is read with one relative error of 2 ** -53, and the sizes round as well
    return True, (len(factors) + size.coefs.size) * 2.0**-52 * size.coefs + TINY


@dataclass(frozen=True, eq=False)
class Entries:
    """A sparse matrix by rows, and None or a matrix of bounds on the errors of its entries."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    error: sp.csr_matrix | None = None

    @classmethod
    def empty(cls, height: int) -> Entries:
        """A matrix without entries."""
        return cls(np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(height + 1, dtype=np.int32))

    def row(self, index: int, width: int) -> tuple[np.ndarray, np.ndarray | None]:
        """One row of the matrix and of the bounds, with the zeros."""
        start, stop = self.indptr[index], self.indptr[index + 1]
        values = np.zeros(width)
        np.add.at(values, self.indices[start:stop], self.data[start:stop])
        return values, None if self.error is None else self.error[index : index + 1].toarray()[0]

    def part(self, low: int, high: int, width: int) -> tuple[sp.csr_matrix, sp.csr_matrix | None]:
        """Rows ``low`` to ``high`` of the matrix and of the bounds."""
        start, stop = self.indptr[low], self.indptr[high]
        pointers = self.indptr[low : high + 1] - start
        matrix = sp.csr_matrix(
            (self.data[start:stop], self.indices[start:stop], pointers), shape=(high - low, width)
        )
        return matrix, None if self.error is None else sp.csr_matrix(self.error[low:high])
