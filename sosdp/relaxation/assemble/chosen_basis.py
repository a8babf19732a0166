"""A Gram basis that the user chose: read, and what it cannot represent refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial, coerce
from ...reduction.quotient import Quotient


def chosen_basis(
    basis: Any, degree: int, ids: np.ndarray, labels: np.ndarray, quotient: Quotient
) -> np.ndarray:
    """The monomials as rows, in normal form and each once; times each of ``labels`` where there are any.

    ValueError for something that is no monomial, in variables that the program does not have, or of more than
    half the degree.
    """
    flat = [coerce(b) for b in np.asarray(basis, dtype=object).reshape(-1).tolist()]
    if not flat:
        raise ValueError("the basis is empty")
    for b in flat:
        if b.coefs.size != 1 or b.coefs[0] != 1:
            raise ValueError(f"a Gram basis consists of monomials, and {b} is none")
        if not np.isin(b.variable_ids, ids).all():
            raise ValueError(f"{b} of the basis has a variable that does not occur in the program")
        if 2 * b.degree > degree - (2 if labels.size else 0):
            raise ValueError(f"the square of {b} of the basis has a degree above {degree}; raise the degree")
    rows = mono.concatenate([b.monos for b in flat])
    coefs, rows = quotient.normal_form(rows)
    rows = mono.unique(rows[coefs != 0])[0]
    if labels.size:
        rows = mono.multiply_outer(rows, labels[:, None].astype(mono.MONOMIAL))
    return rows[mono.grade_order(rows)]


def check_represented(
    support: np.ndarray, basis: np.ndarray, produced: np.ndarray, quotient: Quotient
) -> None:
    """ValueError, with the monomial, where the data have one (a row of ``support``) that is neither a product
    of two elements of the basis nor in a multiple of a constraint."""
    coefs, products = quotient.normal_form(mono.multiply_outer(basis, basis))
    known = mono.concatenate([products[coefs != 0], produced])
    missing = mono.Index(known).find(support) < 0
    if missing.any():
        row = support[np.flatnonzero(missing)[:1]]
        shown = Polynomial.from_arrays(row, np.ones(1, dtype=np.int64))
        raise ValueError(
            f"{shown} is not a product of two elements of the basis, nor in a multiple of a constraint: the "
            "polynomial is no sum of squares in this basis; add to it"
        )
