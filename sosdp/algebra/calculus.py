"""Derivatives and substitution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.algebra import linear
from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.array import PolynomialArray
from sosdp.algebra.coefficients import INT_LIMIT, peak, reads_as_float, settle
from sosdp.algebra.polynomial import (
    Polynomial,
    as_float_again,
    coerce,
    constant,
    small_with_floats,
    to_variable_id,
    within_floats,
)


def diff(p: Polynomial, variable: Any, order: int = 1) -> Polynomial:
    """Partial derivative of ``p``, ``order`` times; ValueError for a negative order."""
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"the order of a derivative must be a non-negative integer, not {order!r}")
    identifier = to_variable_id(variable)
    for _ in range(order):
        p = _derivative(p, identifier, *np.nonzero(_run_starts(p.monos) & (p.monos == identifier)))
    return p


def gradient(p: Polynomial, variables: Any = None) -> PolynomialArray:
    """Partial derivatives of ``p`` with respect to ``variables`` (default: those that occur, by id).

    The terms are gone through once, not once for each variable.
    """
    if variables is None:
        chosen = np.array(p.variables, dtype=object)
    elif isinstance(variables, Polynomial | str):
        chosen = np.array([variables], dtype=object)
    else:
        chosen = np.asarray(variables, dtype=object)
    rows, columns = np.nonzero(_run_starts(p.monos))
    factors = p.monos[rows, columns]
    order = np.argsort(factors, kind="stable")
    rows, columns, factors = rows[order], columns[order], factors[order]
    result = np.empty(chosen.shape, dtype=object)
    flat = result.reshape(-1)
    for k, v in enumerate(chosen.reshape(-1).tolist()):
        identifier = to_variable_id(v)
        part = slice(*np.searchsorted(factors, [identifier, identifier + 1]))
        flat[k] = _derivative(p, identifier, rows[part], columns[part])
    return result.view(PolynomialArray)


def _run_starts(monos: np.ndarray) -> np.ndarray:
    """Where a variable stands for the first time in its row."""
    first = monos != 0
    first[:, 1:] &= monos[:, 1:] != monos[:, :-1]
    return first


def _derivative(p: Polynomial, identifier: int, rows: np.ndarray, columns: np.ndarray) -> Polynomial:
    """Partial derivative of ``p``; the variable stands in these rows, from these columns on."""
    monos = p.monos[rows]
    powers = np.count_nonzero(monos == identifier, axis=1)
    monos[np.arange(rows.size), columns] = 0
    monos.sort(axis=1)
    coefs = p.coefs[rows]
    if coefs.dtype == np.int64 and (peak(coefs) or 0) * p.monos.shape[1] >= INT_LIMIT:
        coefs = coefs.astype(object)
    with np.errstate(over="ignore"):  # infinities are reported by ``finish``
        coefs = coefs * (powers.astype(object) if coefs.dtype == object else powers)
    keys = p.keys[rows] - mono.weights(identifier)[identifier]
    order = np.argsort(keys)
    monos, coefs, keys = merging.finish(monos[order], coefs[order], keys[order])
    return Polynomial._make(mono.trim(monos), coefs, keys)


def substitute(p: Polynomial, values: Mapping[Any, Any]) -> Polynomial:
    """Replace variables by polynomials or numbers, all at once (``{x: y, y: x}`` swaps them).

    Terms are grouped by their factor in the replaced variables, so that each distinct factor is expanded
    once.
    """
    table = {to_variable_id(v): coerce(q) for v, q in values.items()}
    occurring = set(p.variable_ids.tolist())
    table = {i: q for i, q in table.items() if i in occurring}
    if not table:
        return p
    small = small_with_floats([p, *table.values()])
    if small is not None:
        found = _substitute(p, table) if small else None
        if found is not None and within_floats(found.coefs):
            return found
        # with exact numbers that are no small integers, and where a sum may have lost one
        precise = _substitute(p.as_exact(binary=True), {i: q.as_exact(binary=True) for i, q in table.items()})
        return as_float_again(precise) if small else precise
    return _substitute(p, table)


def _substitute(p: Polynomial, table: dict[int, Polynomial]) -> Polynomial:
    if all(q.coefs.size <= 1 for q in table.values()):
        return _substitute_terms(p, table)
    replaced = np.isin(p.monos, np.array(sorted(table), dtype=mono.MONOMIAL))
    factors = np.where(replaced, p.monos, 0).astype(mono.MONOMIAL)
    rest = np.where(replaced, 0, p.monos).astype(mono.MONOMIAL)
    factors.sort(axis=1)
    rest.sort(axis=1)
    rest_keys = mono.keys(rest)
    distinct, group = mono.unique(factors)
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=distinct.shape[0]))
    powers: dict[tuple[int, int], Polynomial] = {}
    pieces, images = [], []
    for k, row in enumerate(distinct.tolist()):
        image = constant(1)
        for key in Counter(i for i in row if i).items():
            if key not in powers:
                powers[key] = table[key[0]] ** key[1]
            image = image * powers[key]
        chosen = by_group[ends[k - 1] if k else 0 : ends[k]]
        pieces.append(Polynomial._merged(mono.trim(rest[chosen]), p.coefs[chosen], rest_keys[chosen]))
        images.append(image)
    return linear.inner(pieces, images)


def _substitute_terms(p: Polynomial, table: dict[int, Polynomial]) -> Polynomial:
    """Replace variables by numbers or single terms: every term stays one term."""
    size = int(p.monos.max()) + 1
    exact = p.is_exact and all(q.is_exact for q in table.values())
    factors = np.ones(size, dtype=object if exact else np.float64)
    rows = np.zeros((size, max(q.monos.shape[1] for q in table.values())), dtype=mono.MONOMIAL)
    rows[:, -1] = np.arange(size)
    for identifier, q in table.items():
        factors[identifier] = (q if exact else q.as_float()).coefs.item() if q else 0
        rows[identifier] = 0
        if q:
            rows[identifier, rows.shape[1] - q.monos.shape[1] :] = q.monos[0]
    coefs = p.coefs.astype(object) if exact else p.as_float().coefs
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are reported when the terms are merged
        for k in range(p.monos.shape[1]):
            coefs = coefs * factors[p.monos[:, k]]
    monos = rows[p.monos].reshape(p.coefs.size, -1)
    monos.sort(axis=1)
    return Polynomial._merged(mono.trim(monos), settle(coefs) if exact else coefs, mono.keys(monos))


def coefficient(p: Any, monomial: Any, variables: Any = None) -> Polynomial:
    """Coefficient of a monomial in some of the variables, a polynomial in the others.

    ``variables``: the variables in which ``p`` is read (default: those of the monomial). With unknown
    coefficients c it is a linear expression: ``coefficient(c0 + c1*x + c2*x**2, x) == c1``. ValueError for
    something that is no monomial with coefficient 1.
    """
    p, wanted = coerce(p), coerce(monomial)
    if wanted.coefs.size != 1 or wanted.coefs[0] != 1:
        raise ValueError(f"coefficient() takes one monomial with coefficient 1, not {wanted!r}")
    ids = wanted.variable_ids if variables is None else _ids(variables)
    if not np.isin(wanted.variable_ids, ids).all():
        raise ValueError(f"{wanted!r} has variables besides those in which the polynomial is read")
    inner, outer = _split_monomials(p.monos, ids)
    chosen = mono.same(inner, wanted.monos)
    return Polynomial.from_arrays(outer[chosen], p.coefs[chosen])


def integrate(p: Any, box: Mapping[Any, tuple[Any, Any]]) -> Polynomial:
    """Integral of a polynomial over a box, a polynomial in the variables that are not integrated over.

    ``box``: the interval (low, high) of each variable, numbers; exact where they and the coefficients are.
    """
    p = coerce(p)
    for variable, (low, high) in box.items():
        identifier = to_variable_id(variable)
        ends = [coerce(end) for end in (low, high)]
        if not all(end.is_constant for end in ends):
            raise ValueError("the ends of an interval of integration must be numbers")
        low_end, high_end = (end.constant for end in ends)
        # with an end that no float equals, a float is the binary number that it is
        floating = not all(end.is_exact for end in ends) and all(
            not end.is_exact or reads_as_float(end.constant) for end in ends
        )
        inner, outer = _split_monomials(p.monos, np.array([identifier]))
        powers = mono.degrees(inner) + 1
        total = Polynomial(0)
        for power in np.unique(powers).tolist():
            here = powers == power
            part = Polynomial.from_arrays(outer[here], p.coefs[here])
            if floating:
                factor: Any = float(high_end) ** power - float(low_end) ** power
            else:
                factor = Fraction(high_end) ** power - Fraction(low_end) ** power
            total = total + part * factor / power
        p = total
    return p


def _ids(variables: Any) -> np.ndarray:
    listed = [variables] if isinstance(variables, Polynomial | str) else variables
    flat = np.asarray(listed, dtype=object).reshape(-1)
    return np.array([to_variable_id(v) for v in flat], dtype=mono.MONOMIAL)


def _split_monomials(monos: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts of monomials in these variables and in the others."""
    here = np.isin(monos, ids)
    inner, outer = np.where(here, monos, 0), np.where(here, 0, monos)
    inner.sort(axis=1)
    outer.sort(axis=1)
    return inner, outer
