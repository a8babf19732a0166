"""Change of variables x_i = s_i u_i (s_i a power of two, so that nothing is rounded) and normalised
constraints.

Solvers' tolerances are relative to numbers of size one. Where the system bounds a variable by B, the scaled
variable lives in a box of about unit size, moments are of size one, and an a-priori bound on |b(u)|^2 is
small. The scaled program is the same matrix with rows and columns multiplied by powers of two: Gram matrices
by congruence, so cones are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...conic.choose import INTERIOR_POINT_SIDE
from ...conic.svec import triangle
from ...reduction.bounds import VariableBounds
from .entries import TINY
from .identity import Identity, RoundingErrors

_WORTH = 2  # exponents below it are left alone
_SMALLEST = 2.0**-400
_LIMIT = 20  # factors outside 2**-20 .. 2**20 would trade one bad scaling for another


@dataclass(frozen=True, eq=False)
class Scaling:
    """Powers of two: per column (moment), per Gram row, per free row; ``bounds`` are those of the scaled
    variables."""

    column: np.ndarray
    gram: np.ndarray
    free: np.ndarray
    bounds: VariableBounds

    @property
    def trivial(self) -> bool:
        """Whether nothing is scaled."""
        return bool((self.column == 1).all() and (self.gram == 1).all() and (self.free == 1).all())


def find_scaling(identity: Identity, bounds: VariableBounds, stretch: int = 0) -> Scaling:
    """Scaling to a box of half-width between 2**-(stretch+1) and 2**-stretch; variables without a bound are
    left alone.

    ``stretch=0`` is what measured best: a larger one makes moments, and with them what a solver's tolerance
    means, tiny.
    """
    exponent = _variable_exponents(identity, bounds, stretch)
    column = np.exp2(exponent[identity.columns].sum(axis=1))
    gram_parts = []
    for block in identity.blocks:
        row, col = triangle(block.side)
        power = exponent[block.basis].sum(axis=1)
        gram_parts.append(np.exp2(power[row] + power[col]))
    gram = np.concatenate(gram_parts) if gram_parts else np.ones(0)
    free_parts = [np.exp2(exponent[e.multipliers].sum(axis=1)) for e in identity.equalities]
    free = np.concatenate(free_parts) if free_parts else np.ones(0)
    extreme = np.concatenate([column, gram, free])
    if not ((extreme > _SMALLEST) & (extreme < 1 / _SMALLEST)).all():
        return unscaled(identity, bounds)  # powers beyond what floats hold would not be exact
    # constraints: divide each block by its largest scaled coefficient
    if any(block.kind != "sos" for block in identity.blocks):
        largest = _largest(_times(identity.gram, 1 / gram, column))
        for block, rows in zip(identity.blocks, identity.slices(), strict=True):
            if block.kind != "sos":
                gram[rows] *= _power_of_two(float(largest[rows].max(initial=0.0)))
    if free.size:
        top = _largest(_times(identity.free, 1 / free, column))
        free *= np.exp2(np.round(np.log2(np.where(top > 0, top, 1.0))))
    found = Scaling(column, gram, free, _scaled_bounds(bounds, exponent))
    return found if _is_exact(identity, found) else unscaled(identity, bounds)


def _is_exact(identity: Identity, scaling: Scaling) -> bool:
    """Whether no scaled entry leaves the range of normal floats."""
    if scaling.trivial:
        return True
    factors = np.concatenate([scaling.gram, scaling.free])
    if not ((factors > TINY) & (factors < 1 / TINY)).all():
        return False
    column = scaling.column.min(initial=1.0), scaling.column.max(initial=1.0)
    rows = [
        (identity.gram.data, 1 / scaling.gram.max(initial=1.0), 1 / scaling.gram.min(initial=1.0)),
        (identity.free.data, 1 / scaling.free.max(initial=1.0), 1 / scaling.free.min(initial=1.0)),
        (identity.target, 1.0, 1.0),
        (identity.unknown.data, 1.0, 1.0),
    ]
    for data, low, high in rows:
        size = np.abs(data[data != 0])
        smallest, largest = size.min(initial=1.0) * low * column[0], size.max(initial=1.0) * high * column[1]
        if not (smallest > TINY and largest < 1 / TINY):
            return False
    return True


def unscaled(identity: Identity, bounds: VariableBounds) -> Scaling:
    """No change of variables."""
    columns, rows = identity.gram.shape[1], identity.gram.shape[0]
    return Scaling(np.ones(columns), np.ones(rows), np.ones(identity.free.shape[0]), bounds)


def _times(matrix: sp.csr_matrix, row: np.ndarray, column: np.ndarray) -> sp.csr_matrix:
    """``diag(row) @ matrix @ diag(column)`` with the same pattern (shared, not copied)."""
    data = matrix.data * np.repeat(row, np.diff(matrix.indptr)) * column[matrix.indices]
    return sp.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _largest(matrix: sp.csr_matrix) -> np.ndarray:
    """The largest absolute value of each row."""
    found = np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        found[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[:-1][filled])
    return found


def _variable_exponents(identity: Identity, bounds: VariableBounds, stretch: int) -> np.ndarray:
    top = int(identity.columns.max(initial=0))
    for block in identity.blocks:
        top = max(top, int(block.basis.max(initial=0)))
    for rows in identity.equalities:
        top = max(top, int(rows.multipliers.max(initial=0)))
    exponent = np.zeros(top + 1)
    rewritten = set(identity.quotient.power)
    for variable, size in bounds.largest.items():
        # a variable of the quotient has x**2 = x or 1: its scale is fixed
        if variable <= top and variable not in rewritten and 0 < size < np.inf:
            power = np.ceil(np.log2(size) - 1e-9) + stretch
            if abs(power) <= _LIMIT:
                exponent[variable] = power
    if max(identity.solved_sides, default=0) > INTERIOR_POINT_SIDE:
        # first-order methods suffer from moments of all sizes; interior-point methods scale themselves
        free = np.ones(top + 1, dtype=bool)
        free[[v for v in (*bounds.largest, *rewritten, 0) if v <= top]] = False
        exponent[free] = _growth_exponent(identity, free)
    if identity.symmetry is not None:
        # interval propagation need not treat the variables of an orbit alike; the scaling must
        orbit = identity.symmetry.variables[: exponent.size]
        largest = np.full(int(orbit.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(largest, orbit, exponent[: orbit.size])
        exponent[: orbit.size] = largest[orbit]
    return exponent


def _growth_exponent(identity: Identity, free: np.ndarray) -> int:
    """Common exponent for variables that nothing bounds: where the leading terms of the objective outgrow the
    others.

    Fujiwara's bound on the roots of a polynomial, with norms of homogeneous parts for coefficients. Only what
    is at least four times too large or too small is scaled.
    """
    columns = np.flatnonzero(identity.target)
    monos = identity.columns[columns]
    columns = columns[(free[monos] | (monos == 0)).all(axis=1)]
    degree = mono.degrees(identity.columns[columns])
    if not degree.size or degree.max() < 2:
        return 0
    top = int(degree.max())
    size = np.sqrt(np.bincount(degree, weights=identity.target[columns] ** 2, minlength=top + 1))
    lower = np.arange(1, top)
    radius = float(((size[1:top] / size[top]) ** (1.0 / (top - lower))).max(initial=0.0))
    if not 0 < radius < np.inf:
        return 0
    power = int(np.clip(np.ceil(np.log2(2.0 * radius)), -_LIMIT, _LIMIT))
    return power if abs(power) >= _WORTH else 0


def _power_of_two(value: float) -> float:
    return float(np.exp2(np.round(np.log2(value)))) if value > 0 else 1.0


def _scaled_bounds(bounds: VariableBounds, exponent: np.ndarray) -> VariableBounds:
    def factor(variable: int) -> float:
        return float(np.exp2(exponent[variable])) if variable < exponent.size else 1.0

    largest = {v: size / factor(v) for v, size in bounds.largest.items()}
    balls = []
    for members, radius in bounds.balls:
        scales = {factor(v) for v in members}
        if len(scales) == 1:
            balls.append((members, radius / scales.pop() ** 2))
    ranges = {v: (low / factor(v), high / factor(v)) for v, (low, high) in bounds.ranges.items()}
    return VariableBounds(largest, tuple(balls), ranges)


def scale(identity: Identity, scaling: Scaling) -> Identity:
    """The identity in the scaled variables (same blocks and columns, read as monomials in u)."""
    if scaling.trivial:
        return identity
    column = scaling.column
    same = np.ones(identity.unknown.shape[0])
    errors = identity.errors
    if errors is not None:
        errors = RoundingErrors(
            gram=_times(errors.gram, 1 / scaling.gram, column),
            free=_times(errors.free, 1 / scaling.free, column),
            target=errors.target * column,
            unknown=_times(errors.unknown, same, column),
        )
    return replace(
        identity,
        errors=errors,
        gram=_times(identity.gram, 1 / scaling.gram, column),
        free=_times(identity.free, 1 / scaling.free, column),
        target=identity.target * column,
        unknown=_times(identity.unknown, same, column),
        dominance=None if identity.dominance is None else identity.dominance.scaled(identity, scaling.gram),
    )
