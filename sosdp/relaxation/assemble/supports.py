"""Which monomials occur in the data, in the products of constraints, in all of a problem."""

from __future__ import annotations

import numpy as np

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...model.system import System
from ...reduction.quotient import Quotient
from .forall import expand
from .identity import Block, EqualityRows


def data_support(data: list[Polynomial], closed: bool, quotient: Quotient) -> np.ndarray:
    """The monomials of the data (and 1, where a bound is subtracted), in normal form."""
    parts = [p.monos for p in data if len(p.coefs)]
    if closed:
        parts.append(mono.constant(1))
    raw = mono.concatenate(parts) if parts else mono.constant(0)
    coefs, normal = quotient.normal_form(raw)
    return mono.unique(normal[coefs != 0])[0]


def constraint_support(blocks: list[Block], equalities: list[EqualityRows], quotient: Quotient) -> np.ndarray:
    """The monomials that multiples of the constraints can have, in normal form."""
    parts = []
    for block in blocks:
        basis = mono.unique(block.basis)[0]
        i, j = np.triu_indices(basis.shape[0])
        products = mono.unique(mono.multiply(basis[i], basis[j]))[0]
        polys = [block.multiplier] if block.entry is None else list(np.asarray(block.multiplier).reshape(-1))
        terms = mono.unique(mono.concatenate([p.monos for p in polys]))[0]
        parts.append(mono.unique(mono.multiply_outer(products, terms))[0])
    for rows in equalities:
        parts.append(mono.unique(mono.multiply_outer(rows.multipliers, rows.polynomial.monos))[0])
    if not parts:
        return mono.constant(0)
    coefs, normal = quotient.normal_form(mono.concatenate(parts))
    return mono.unique(normal[coefs != 0])[0]


def symmetry_support(system: System, support: np.ndarray) -> np.ndarray:
    """Monomials whose parities every symmetry must respect; equalities only need to keep their sign
    pattern."""
    parts = [support, *(g.monos for g in system.inequalities)]
    parts += [p.monos for matrix in system.matrices for p in matrix.reshape(-1)]
    parts += [mono.split(c.polynomial.monos, c.over_ids)[1] for c in system.foralls]
    for h in system.equalities:
        # h may change sign as a whole: only the quotients of its monomials matter
        parts.append(mono.multiply(h.monos, np.broadcast_to(h.monos[:1], h.monos.shape)))
    return mono.concatenate(parts)


def whole_support(system: System, support: np.ndarray) -> np.ndarray:
    """Monomials of the objective and of every constraint: where term sparsity starts."""
    parts = [support, *(p.monos for p in system.polynomials)]
    for k, constraint in enumerate(system.foralls):
        parts += [p.monos for p in expand(constraint, f"s{k}")[0].reshape(-1)]
    return mono.concatenate(parts)
