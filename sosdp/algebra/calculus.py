"""Derivatives and substitution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.arithmetic import inner, power, product
from sosdp.algebra.coefficients import (
    Number,
    Scale,
    as_equal_floats,
    binary,
    settle,
)
from sosdp.algebra.sparse import P


def derivatives(p: P, ids: Sequence[int]) -> list[P]:
    """Partial derivatives with respect to variables; the terms are gone through once for all."""
    rows, columns = np.nonzero(mono.run_starts(p.monos))
    factors = p.monos[rows, columns]
    order = np.argsort(factors, kind="stable")
    rows, columns, factors = rows[order], columns[order], factors[order]
    result = []
    for identifier in ids:
        part = slice(*np.searchsorted(factors, [identifier, identifier + 1]))
        result.append(_derivative(p, identifier, rows[part], columns[part]))
    return result


def _derivative(p: P, identifier: int, rows: np.ndarray, columns: np.ndarray) -> P:
    """Partial derivative of ``p``; the variable stands in these rows, from these columns on."""
    monos = p.monos[rows]
    powers = np.count_nonzero(monos == identifier, axis=1)
    monos[np.arange(rows.size), columns] = 0
    monos.sort(axis=1)
    keys = p.keys[rows] - mono.weights(identifier)[identifier]
    order = np.argsort(keys)
    monos, keys, powers = monos[order], keys[order], powers[order]
    scale = p.scale().times(Scale(0, p.monos.shape[1].bit_length()))
    if not p.from_floats or (scale.fits_floats and p.scale().fits_floats):
        coefs = p.coefs[rows][order]
        if coefs.dtype == np.int64 and not scale.fits_integers:
            coefs = coefs.astype(object)
        coefs = coefs * (powers.astype(object) if coefs.dtype == object else powers)
        monos, coefs, keys = merging.finish(monos, coefs, keys)
        return p._make(mono.trim(monos), coefs, keys)
    k = p.whole(p.scale())[rows][order].astype(object) * powers.astype(object)
    return p._of_whole(mono.trim(monos), k, keys, scale)


def substitute(p: P, values: Mapping[int, P]) -> P:
    """Replace variables, by id, by polynomials, all at once.

    Terms are grouped by their factor in the replaced variables, so that each distinct factor is expanded
    once.
    """
    occurring = set(p.variable_ids.tolist())
    table = {i: q for i, q in values.items() if i in occurring}
    if not table:
        return p
    if all(q.coefs.size <= 1 for q in table.values()):
        return _substitute_terms(p, table)
    factors, rest = mono.split(p.monos, np.array(sorted(table), dtype=mono.MONOMIAL))
    rest_keys = mono.keys(rest)
    distinct, group = mono.unique(factors)
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=distinct.shape[0]))
    powers: dict[tuple[int, int], P] = {}
    pieces, images = [], []
    for k, row in enumerate(distinct.tolist()):
        image = p.of_number(1)
        for key in Counter(i for i in row if i).items():
            if key not in powers:
                powers[key] = power(table[key[0]], key[1])
            image = product(image, powers[key])
        chosen = by_group[ends[k - 1] if k else 0 : ends[k]]
        pieces.append(p._merged(mono.trim(rest[chosen]), p.coefs[chosen], rest_keys[chosen]))
        images.append(image)
    return inner(pieces, images, type(p))


def _substitute_terms(p: P, table: Mapping[int, P]) -> P:
    """Replace variables by numbers or single terms: every term stays one term."""
    size = int(p.monos.max(initial=0)) + 1
    rows = np.zeros((size, max(q.monos.shape[1] for q in table.values())), dtype=mono.MONOMIAL)
    rows[:, -1] = np.arange(size)
    for identifier, q in table.items():
        rows[identifier] = 0
        if q:
            rows[identifier, rows.shape[1] - q.monos.shape[1] :] = q.monos[0]
    kept = ~np.isin(p.monos, [i for i, q in table.items() if not q]).any(axis=1)
    old = p.monos[kept]
    monos = rows[old].reshape(old.shape[0], old.shape[1] * rows.shape[1])
    monos.sort(axis=1)
    factors = {i: q.coefs.item() for i, q in table.items() if q}
    coefs = _times(p.coefs[kept], old, {i: f for i, f in factors.items() if f != 1})
    return p._merged(mono.trim(monos), coefs, mono.keys(monos))


def _times(coefs: np.ndarray, monos: np.ndarray, factors: dict[int, Number]) -> np.ndarray:
    """Coefficients times the value of their monomials, where the variables have these values."""
    if not factors or not coefs.size:
        return coefs
    exact = np.ones(max(int(monos.max()), *factors) + 1, dtype=object)
    exact[list(factors)] = [Fraction(f) for f in factors.values()]
    values = binary(coefs).astype(object)
    for column in monos.T:
        values = values * exact[column]
    floating = coefs.dtype == np.float64 or any(type(f) is float for f in factors.values())
    narrow = as_equal_floats(values) if floating else None
    return settle(values) if narrow is None else narrow
