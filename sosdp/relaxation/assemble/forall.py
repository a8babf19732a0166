"""For-all constraints as matrix inequalities with free directions.

``q(x, v) = b(v)' (M(x) + sum_k t_k N_k) b(v)`` for every t, where b are the monomials of half the degree in
v and the N_k span the symmetric matrices with ``b' N b = 0``. So q is a sum of squares in v, with
coefficients that may depend on x, iff the matrix is positive semidefinite for some t. A pseudo-expectation
satisfies the constraint when the localizing matrix of ``M + sum t_k N_k`` is positive semidefinite for some
values of its moments ``E[m t_k]``, which occur nowhere else. On the side of multipliers, the Gram matrix Q
of that block must be orthogonal to every ``m N_k``; the Gaussian moment matrix of b is, and is positive
definite, so there is always room to move into the cone. See docs/proofs/for_all.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from ...algebra import monomials as mono
from ...algebra.build import ids_of, own_variables
from ...algebra.constraint import ForAll, coefficients_in
from ...algebra.polynomial import Polynomial
from .identity import NullSpace


def expand(constraint: ForAll, tag: str) -> tuple[np.ndarray, NullSpace]:
    """The matrix ``M(x) + sum t_k N_k``, shape (s, s) of polynomials, and its free directions.

    s is the number of monomials of half the degree in the quantified variables (of exactly half, where the
    polynomial is homogeneous in them). ``tag`` keeps the unknowns t of different constraints apart. Cost:
    s^2.
    """
    over, basis = constraint.over_ids.astype(mono.MONOMIAL), inner_basis(constraint)
    side = basis.shape[0]
    row, column = np.triu_indices(side)
    products = mono.multiply(basis[row], basis[column])
    first, place = mono.group(products)
    matrix = np.empty((side, side), dtype=object)
    matrix[...] = Polynomial(0)
    inner, coefficients = coefficients_in(constraint.polynomial, over)
    for at, coefficient in zip(first[mono.Index(products[first]).find(inner)], coefficients, strict=True):
        _add(
            matrix,
            row[at],
            column[at],
            coefficient if row[at] == column[at] else coefficient * Fraction(1, 2),
        )
    extra = np.setdiff1d(np.arange(row.size), first)
    free = own_variables(f"null_{tag}_", extra.size, [constraint.polynomial])
    for t, at in zip(free, extra.tolist(), strict=True):
        base = int(first[place[at]])
        # twice an entry on the diagonal counts as much as the two of one off it
        _add(matrix, row[at], column[at], t * (2 if row[at] == column[at] else 1))
        _add(matrix, row[base], column[base], t * (-2 if row[base] == column[base] else -1))
    return matrix, NullSpace(ids_of(free), basis)


def inner_basis(constraint: ForAll) -> np.ndarray:
    """The monomials b, shape (s, half the degree)."""
    degrees = constraint.inner_degrees
    half = int(degrees.max()) // 2
    basis = mono.basis(constraint.over_ids.astype(mono.MONOMIAL), half)
    return basis[mono.degrees(basis) == half] if (degrees == 2 * half).all() else basis


def _add(matrix: np.ndarray, i: int, j: int, p: Polynomial) -> None:
    matrix[i, j] = matrix[i, j] + p
    if i != j:
        matrix[j, i] = matrix[i, j]


def interior_matrix(block: Any) -> np.ndarray:
    """``I (x) K`` over the basis of a for-all block, K positive definite: orthogonal to all its free
    directions. K holds the Gaussian moments of products of two monomials in the quantified variables."""
    basis, (_, place) = block.null.basis, mono.group(block.basis)
    pairs = mono.multiply(np.repeat(basis, len(basis), axis=0), np.tile(basis, (len(basis), 1)))
    power = mono.exponents(pairs, np.unique(basis[basis > 0])).reshape(len(basis), len(basis), -1)
    gaussian = np.where(power % 2, 0.0, special.factorial2(np.maximum(power - 1, 1))).prod(axis=2)
    return np.where(place[:, None] == place[None, :], gaussian[np.ix_(block.entry, block.entry)], 0.0)
