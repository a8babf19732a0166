"""Units for a program of several identities in common unknowns: every term of every identity of size one.

An identity ``target + sum_k u_k unknown_k = sum of squares`` may be multiplied by a number, its variables may
be measured in units of their own (each identity is one of polynomials by itself), and an unknown has one unit
in all of them. Where the coefficients of one identity are far apart, as those of a stiff system of equations,
a solver that is right relative to the largest says nothing about the others. Exponents of two are chosen by
least squares of the logarithms of all coefficients, and used where they bring these clearly nearer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...algebra.coefficients import TOO_LARGE, to_float
from ...reduction.bounds import VariableBounds
from .balance import Balance
from .identity import GramProgram, Identity
from .scaling import Scaling, find_scaling, power_of_two
from .variable_units import choosing, constraint_terms

DISTANT = 10.0  # powers of two: coefficients that are nearer one are left alone
_MOST_ENTRIES = 1_000_000  # of the table of least squares
_LARGE = 1000  # moments
_COUNTED = 1e-3  # of the largest coefficient of an objective: what counts for its unit

_Term = tuple[list[tuple[str, Any]], list[int], float]  # what multiplies it, its monomial, its size


def program_scalings(
    identities: list[Identity], bounds: list[VariableBounds], known: Sequence[Mapping[int, float]]
) -> list[Scaling]:
    """Scalings of identities in common unknowns (same order): of their variables (``known``: exponents that
    others chose), of each identity as a whole, and of the unknowns."""
    targets = [choosing(p, b) for p, b in zip(identities, bounds, strict=True)]
    parts = zip(identities, bounds, known, targets, strict=True)
    result = [find_scaling(p, b, wanted=u, target=t) for p, b, u, t in parts]
    if len(identities) > 1:
        targets = [p.target for p in identities]
    worst = farthest(identities, targets, result)
    if worst <= DISTANT:
        return result
    balanced = _balanced(identities, bounds, targets, result, known)
    return balanced if balanced and farthest(identities, targets, balanced) < worst else result


def farthest(identities: list[Identity], targets: list[np.ndarray], scalings: list[Scaling]) -> float:
    """How far the coefficients of the scaled identities are from one, as a power of two; ``targets``: what of
    theirs chooses units."""
    every = zip(identities, scalings, targets, strict=True)
    return max(float(distances(p, scaling, target[None])[0]) for p, scaling, target in every)


def distances(identity: Identity, scaling: Scaling, target: np.ndarray) -> np.ndarray:
    """The same of one identity with each of these targets, one row each."""
    least, most = identity.derive(_ends, scaling.column, scaling.unknown)
    sizes = np.abs(target * (scaling.column * scaling.value))
    high, low = sizes.max(axis=1, initial=most), np.where(sizes > 0, sizes, 1.0).min(axis=1, initial=least)
    return np.maximum(np.log2(high), -np.log2(low))


def _ends(identity: Identity, column: np.ndarray, factors: np.ndarray | None) -> tuple[float, float]:
    """The least and the largest coefficient of unknowns in these units, or one."""
    unknown = identity.unknown
    every = np.abs(unknown.data) * column[unknown.indices]
    if factors is not None:
        every = every * np.repeat(factors, np.diff(unknown.indptr))
    return float(every[every > 0].min(initial=1.0)), float(every.max(initial=1.0))


def _balanced(
    identities: list[Identity],
    bounds: list[VariableBounds],
    targets: list[np.ndarray],
    scalings: list[Scaling],
    known: Sequence[Mapping[int, float]],
) -> list[Scaling] | None:
    """Scalings by least squares; None where the table would be too large."""
    if sum(p.unknown.nnz + p.target.size for p in identities) * 8 > _MOST_ENTRIES:
        return None
    balance = Balance()
    for number, (identity, limits, target) in enumerate(zip(identities, bounds, targets, strict=True)):
        fixed = {0, *identity.quotient.power, *known[number]}
        fixed |= {v for v, s in limits.largest.items() if 0 < s < np.inf}
        given = scalings[number].exponent
        for factors, monomial, size in _terms(identity, target, number):
            powers = [(number, v) for v in monomial if v not in fixed]
            settled = sum(float(given[v]) for v in monomial if v in fixed and v < given.size)
            balance.add([*factors, *powers], math.log2(abs(size)) + settled)
    power = balance.solve({})
    units = np.exp2([power.get(("unknown", k), 0.0) for k in range(identities[0].unknown.shape[0])])
    result = []
    for number, (identity, limits) in enumerate(zip(identities, bounds, strict=True)):
        own = {v: e for (of, v), e in power.items() if of == number}
        scaling = find_scaling(identity, limits, wanted={**known[number], **own})
        value = float(np.exp2(power.get(("scale", number), 0.0)))
        result.append(replace(scaling, value=value, unknown=value * units))
    return result


def _terms(identity: Identity, target: np.ndarray, number: int) -> Iterator[_Term]:
    """The terms of an identity and of its constraints (each of which has a factor of its own)."""
    scale: tuple[str, Any] = "scale", number
    for column in np.flatnonzero(target):
        yield [scale], identity.columns[column].tolist(), float(target[column])
    rows, columns, data = sp.find(identity.unknown)
    for row, column, entry in zip(rows.tolist(), columns.tolist(), data.tolist(), strict=True):
        yield [scale, ("unknown", row)], identity.columns[column].tolist(), entry
    for k, (monos, coefs) in enumerate(identity.derive(constraint_terms)):
        for monomial, coef in zip(monos.tolist(), coefs.tolist(), strict=True):
            yield [("constraint", (number, k))], monomial, coef


def unit_costs(program: GramProgram) -> np.ndarray:
    """What each unknown costs in the unit in which its largest coefficient is one."""
    sizes = abs(program.identity.unknown).max(axis=1).toarray().ravel()
    return np.abs(program.objective) / np.where(sizes > 0, sizes, 1.0)


def objective_sizes(
    result: list[Scaling], values: list[float], pieces: list[Identity], curves: Sequence[Fraction]
) -> tuple[float, float]:
    """Of objectives in scaled variables, squares of expectations included: how much they vary, the Euclidean
    norm of all coefficients but the constant, and the factor that brings what counts of them below four, but
    for a tenth; of large ones on bounded sets, whose values are of the size of the largest, all of it below
    one (networks of 89 to 500 buses: 1e-5 of the value)."""
    counted = np.concatenate(
        [
            np.abs(p.target * s.column * value)[p.columns.any(axis=1)]
            for s, value, p in zip(result, values, pieces, strict=True)
        ]
        + [_of_square(k, c, result[0], pieces[0]) for k, c in enumerate(curves) if c]
    )
    top = float(counted.max(initial=0.0)) or 1.0
    height = top * float(np.linalg.norm(counted / top))
    if not math.isfinite(height):
        raise ValueError(TOO_LARGE)
    if counted.size > _LARGE and all(_is_bounded(s, p) for s, p in zip(result, pieces, strict=True)):
        return height, 1.0 / power_of_two(top)
    counted = np.sort(counted[counted > _COUNTED * top])
    power = 4.0 / power_of_two(float(counted[(counted.size - 1) // 10])) if counted.size else 1.0
    return height, power


def _of_square(k: int, curve: Fraction, scaling: Scaling, piece: Identity) -> np.ndarray:
    """What the moments of w E[p]**2 are multiplied by but for the constant, where u p - u**2 / (4 w) stands
    for it; ``k``: the row of p."""
    size = np.abs(piece.unknown[[k]].toarray()[0]) * scaling.column
    moments = piece.columns.any(axis=1)
    return to_float(1 / (4 * curve)) * size[moments] * (size[moments] + 2 * size[~moments].sum())


def _is_bounded(scaling: Scaling, piece: Identity) -> bool:
    """Whether every variable of an objective has a bound."""
    ids = np.unique(piece.columns[piece.target != 0])
    return all(math.isfinite(scaling.bounds.largest.get(v, math.inf)) for v in ids.tolist() if v)
