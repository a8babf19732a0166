"""Minimisers from a flat moment matrix (Henrion and Lasserre 2005), each one checked.

If the moment matrix M of degree d has the rank r of its part of degree d - v, it is the moment matrix of r
points: with M = V V', the rows of x_i * b are the rows of b times a common r x r matrix N_i, and the N_i
commute. Their joint eigenvalues are the points. Nothing is believed: a point counts only if it satisfies the
constraints, and they explain the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from ..algebra import monomials as mono
from ..algebra.polynomial import Polynomial, variable

RANK = 1e-4  # eigenvalues below this fraction of the largest count as zero
THRESHOLDS = RANK, 1e-3  # the other one where the points of the first rank do not check
_FEASIBLE = 1e-4
_ATTAINS = 1e-6
_NAMED = 5  # variables that a reason names
_NOTHING = 1e-300  # size of a constraint without terms


@dataclass(frozen=True, eq=False)
class Atoms:
    """Points (count, variables), why there are none, and whether one of them attains the bound."""

    points: np.ndarray
    reason: str
    attains: bool


def extract_atoms(pe: Any, rank: int | None = None) -> Atoms:
    """Points of a solved relaxation (a ``PseudoExpectation``); never raises on numerical grounds.

    ``rank``: how many points to read off, by default the numerical rank of the moment matrix.
    """
    none = np.zeros((0, pe.variable_ids.size))
    if pe.moments is None:
        return Atoms(none, f"the status is {pe.status!r}", False)
    if pe.cone != "sos":
        return Atoms(none, f"moments with cone={pe.cone!r} need not form a positive matrix", False)
    if pe.in_expectation or not (pe.objective is None or isinstance(pe.objective, Polynomial)):
        return Atoms(none, "an optimum over expectations is a distribution, not a list of minimisers", False)
    failed = None
    for threshold in THRESHOLDS if rank is None else (RANK,):
        points, reason = candidates(pe, rank, threshold)
        result = Atoms(none, reason, False) if points is None else checked(pe, points)
        if len(result.points):
            return result
        failed = failed or result
    assert failed is not None
    return failed


def checked(pe: Any, points: np.ndarray) -> Atoms:
    """Points (count, variables) as atoms if every one of them satisfies the constraints and attains the
    bound."""
    none = np.zeros((0, pe.variable_ids.size))
    good = np.array([violation_at(pe, x) <= _FEASIBLE for x in points], dtype=bool)
    if not good.all():
        return Atoms(none, "the points read off the moments violate a constraint", False)
    if not isinstance(pe.objective, Polynomial):
        return Atoms(points, "", False)
    values = np.array([_value(pe.objective, x) for x in _as_points(pe, points)])
    scale = size_of_bound(pe)
    # the value of a solver that stopped early says nothing: then only a proven bound can be attained
    bound = pe.bound if pe.status != "inaccurate" else pe.certified_bound
    if bound is None:
        return Atoms(none, "no bound is proven that the points read off the moments could attain", False)
    if not np.abs(values - bound).max() <= 1e-3 * scale:
        return Atoms(none, "the points read off the moments do not attain the bound", False)
    return Atoms(points, "", bool(np.abs(values - bound).min() <= _ATTAINS * scale))


def size_of_bound(pe: Any) -> float:
    """What a difference from the bound is relative to: the size of the scaled objective, or the bound."""
    return max(pe.scaling.unit, abs(pe.bound)) if np.isfinite(pe.bound) else pe.scaling.unit


def _as_points(pe: Any, points: np.ndarray) -> list[dict[int, float]]:
    """Points as dictionaries from ids of variables to values."""
    return [dict(zip(pe.variable_ids.tolist(), x.tolist(), strict=True)) for x in points]


def violation_at(pe: Any, x: np.ndarray) -> float:
    """By how much a point misses the system, in the sizes of its constraints."""
    system, (known,) = pe.system, _as_points(pe, x[None, :])
    groups = [[p] for p in (*system.equalities, *system.inequalities)]
    groups += [m.reshape(-1).tolist() for m in system.matrices] + [[c.polynomial] for c in system.foralls]
    sizes = np.array([max(_size(pe, p) for p in group) for group in groups])
    missed = system.violation({v: known[v.variable_ids.item()] for v in system.variables})
    return float((missed / sizes).max(initial=0.0))


def value_at(pe: Any, x: np.ndarray) -> float | None:
    """The objective at a point, in the order of the variables; None where it is no polynomial."""
    return (
        _value(pe.objective, _as_points(pe, x[None, :])[0]) if isinstance(pe.objective, Polynomial) else None
    )


def _value(p: Polynomial, assignment: dict[int, float]) -> float:
    """The value at a point; only the variables of the polynomial are gone through."""
    return float(p({variable(i): assignment[i] for i in p.variable_ids.tolist()}))


def _size(pe: Any, p: Polynomial) -> float:
    """The largest coefficient in the scaled variables."""
    factors = np.prod(pe.scaling.points(p.monos), axis=1)
    return float((np.abs(p.coefs.astype(float)) * factors).max(initial=_NOTHING))


def candidates(pe: Any, wanted: int | None, threshold: float) -> tuple[np.ndarray | None, str]:
    """Points (count, variables) read off the moments, unchecked, or None with the reason.

    ``wanted``: how many; ValueError unless it is a positive integer or None.
    """
    if wanted is not None and (
        isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or wanted < 1
    ):
        raise ValueError(f"rank must be a positive integer or None, not {wanted!r}")
    ids = pe.variable_ids
    if ids.size == 0:
        return None, "there are no variables"
    linear = ids[:, None].astype(mono.MONOMIAL)
    basis = pe.basis
    index = mono.Index(basis)
    has_all = (index.find(linear) >= 0).all()
    # one row of the matrix first: with thousands of cliques the whole of it is far too large
    has_all = has_all and pe._moment_values(mono.multiply(basis, basis[-1:]))[1].all()
    matrix = pe.moment_matrix() if has_all else np.full((1, 1), np.nan)
    if np.isnan(matrix).any():
        return _mean(pe, linear, "the moment matrix lacks some entries (cliques or pruning)", wanted)
    weight = np.prod(pe.scaling.points(basis), axis=1)
    if wanted is not None and wanted > basis.shape[0]:
        return None, f"a moment matrix of side {basis.shape[0]} has no {wanted} points"
    factor = factored(matrix / weight[:, None] / weight, threshold, wanted)
    rank = factor.shape[1]
    if not rank:
        return None, "no moment of a square is positive"
    degree = mono.degrees(basis)
    for top in range(int(degree.max()) - 1, -1, -1):
        inner = np.flatnonzero(degree <= top)
        shifts = _shift_rows(pe, basis[inner], linear, index)
        if shifts is None:
            continue
        base = factor[inner]
        # with a rank that was asked for, the checks of the points decide
        if not spans(base, 0.0 if wanted is not None else threshold):
            break
        result, why = real_points(
            joint_eigenvalues([factor[r] * coefs[:, None] for r, coefs in shifts], base)
        )
        return (None if result is None else result * pe.scaling.points(ids)), why
    known = "is not flat (numerical rank {})" if wanted is None else "does not determine {} points"
    bounds = pe.scaling.bounds
    loose = ", ".join(map(bounds.name, bounds.missing(linear)[:_NAMED]))
    # without bounds no other squares can be used, so that a higher degree is the same program
    cure = "try a higher degree" + (f" and bounds on {loose}" if loose else "")
    return _mean(pe, linear, f"the moment matrix {known.format(rank)}; {cure}", wanted)


def factored(matrix: np.ndarray, threshold: float, rank: int | None = None) -> np.ndarray:
    """V with the matrix V V*, shape (side, rank); ``threshold``: of the largest eigenvalue, what counts as
    zero where no rank is given."""
    eigenvalues, vectors = la.eigh(matrix)
    if rank is None:
        rank = int((eigenvalues > threshold * max(eigenvalues[-1], 1e-300)).sum())
    first = len(matrix) - rank
    factor: np.ndarray = vectors[:, first:] * np.sqrt(np.maximum(eigenvalues[first:], 0.0))
    return factor


def spans(base: np.ndarray, threshold: float) -> bool:
    """Whether some rows of such a factor span all: the matrix is flat."""
    rank, singular = base.shape[1], la.svdvals(base)
    least = 1e-2 * np.sqrt(threshold) * singular.max(initial=0.0)
    return singular.size >= rank and bool(singular[rank - 1] > least)


def _shift_rows(pe, inner: np.ndarray, linear: np.ndarray, index: mono.Index):
    """Signed row indices of x_i * b for all b in the inner basis, or None if one is missing."""
    out = []
    for single in linear:
        product = mono.multiply(inner, single[None, :])
        coefs, normal = pe.identity.quotient.normal_form(product)
        rows = index.find(normal)
        if ((rows < 0) & (coefs != 0)).any():
            return None
        out.append((rows, coefs))
    return out


def joint_eigenvalues(targets: list[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Points (rank, variables), complex, from rows of the inner basis (rows, rank) and their multiples."""
    tables = [la.lstsq(base, target)[0] for target in targets]
    # a fixed combination with irrational ratios: generic, and the same on every run
    weights = np.sqrt(np.arange(2, len(tables) + 2)) % 1.0 + 0.5
    combination = sum(w * t for w, t in zip(weights / weights.sum(), tables, strict=True))
    _, unitary = la.schur(combination, output="complex")
    columns = [np.einsum("kj,kl,lj->j", unitary.conj(), t.astype(complex), unitary) for t in tables]
    return np.stack(columns, axis=1)


def real_points(points: np.ndarray) -> tuple[np.ndarray | None, str]:
    """The points without their imaginary parts, in lexicographic order; None if these are not small."""
    sizes = np.maximum(1.0, np.abs(points).max(axis=0, initial=0.0))
    if (np.abs(points.imag) > 1e-3 * sizes).any():
        return None, "the multiplication matrices have complex eigenvalues: the moments are not flat enough"
    result = np.ascontiguousarray(points.real)
    return result[np.lexsort(result.T[::-1])], ""


def _mean(pe: Any, linear: np.ndarray, reason: str, wanted: int | None) -> tuple[np.ndarray | None, str]:
    """The point of first moments: the minimiser when it is unique, whatever the block structure."""
    values, known = pe._moment_values(linear)
    if not known.all() or wanted not in (None, 1):
        return None, reason
    point = values[None, :]
    if not isinstance(pe.objective, Polynomial):
        return None, reason
    attained = _value(pe.objective, _as_points(pe, point)[0])
    if abs(attained - pe.bound) <= 1e-4 * size_of_bound(pe):
        return point, ""
    return None, reason
