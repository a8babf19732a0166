"""Change of variables x_i = s_i u_i, normalised constraints and objective; every factor a power of two, so
that nothing is rounded.

Solvers' tolerances, and what is judged of their answers, are relative to numbers of size one. Where the
system bounds a variable by B, the scaled variable lives in a box of about unit size, moments are of size one,
and an a-priori bound on |b(u)|^2 is small; elsewhere `variable_units` chooses exponents that
bring the coefficients of each polynomial near each other. The scaled program is the same matrix with rows and
columns multiplied by powers of two: Gram matrices by congruence, so cones are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...algebra.pickled_by_name import PickledByName
from ...conic.svec import triangle
from ...reduction.bounds import VariableBounds
from .balance import Balance
from .entries import TINY
from .identity import Block, Identity
from .variable_units import choosing, ends, has_large_block, of_orbits, set_units, variable_exponents

_SMALLEST = 2.0**-400
_SPREAD = 1e4  # ratio of the diagonal entries of a matrix up to which they are left alone
_OUTER = 1e-2  # weight of an entry off the diagonal, for units of rows


@dataclass(frozen=True, eq=False)
class Scaling(PickledByName):
    """Powers of two: per column (moment), per Gram row, per free row; ``bounds`` are those of the scaled
    variables and ``exponent``, by variable id, the powers of two in them.

    ``value``: the factor of the target; ``size``: what differences of bounds of the scaled identity are
    relative to; ``unknown``: factors of the unknowns' rows (None: all one). Unknowns u_k stand for
    ``value / unknown[k] * u_k``, and multipliers for ``value`` times what they are.
    """

    _by_id: ClassVar = ("exponent",)

    column: np.ndarray
    gram: np.ndarray
    free: np.ndarray
    bounds: VariableBounds
    exponent: np.ndarray
    value: float = 1.0
    unknown: np.ndarray | None = None
    size: float = 1.0

    @property
    def trivial(self) -> bool:
        """Whether nothing is scaled."""
        same = self.value == 1.0 and (self.unknown is None or bool((self.unknown == 1).all()))
        return bool(same and all((v == 1).all() for v in (self.column, self.gram, self.free)))

    @property
    def unit(self) -> float:
        """The size of the objective: what differences of bounds are relative to, unless a bound is larger."""
        return self.size / self.value

    def gram_of(self, gram: np.ndarray) -> np.ndarray:
        """Gram matrices (vector form) of the given identity from those of the scaled one."""
        return np.asarray(gram / self.gram / self.value)

    def free_of(self, free: np.ndarray) -> np.ndarray:
        """Multipliers of equations of the given identity from those of the scaled one."""
        return np.asarray(free / self.free / self.value)

    def unknowns_of(self, unknowns: np.ndarray) -> np.ndarray:
        """Unknowns of the given identity from those of the scaled one."""
        factors = 1.0 if self.unknown is None else self.unknown
        return np.asarray(unknowns * factors / self.value)

    def scaled_unknowns(self, unknowns: np.ndarray) -> np.ndarray:
        """Unknowns of the scaled identity from those of the given one."""
        factors = 1.0 if self.unknown is None else self.unknown
        return np.asarray(unknowns * self.value / factors)

    def points(self, ids: np.ndarray) -> np.ndarray:
        """The factor of each of these variables: x = factor * u."""
        known = ids < self.exponent.size
        return np.exp2(np.where(known, self.exponent[np.where(known, ids, 0)], 0.0))


def find_scaling(
    identity: Identity,
    bounds: VariableBounds,
    wanted: Mapping[int, float] | None = None,
    target: np.ndarray | None = None,
) -> Scaling:
    """Scaling of the variables to a box of half-width between 1/2 and 1, and of every constraint to size one.

    Variables without a bound are scaled where coefficients of one polynomial are far from each other.
    ``wanted``: exponents that others chose, by variable; ``target``: ``choosing``'s, where it is known.
    """
    smallest, largest = ends(identity.target)
    target = choosing(identity, bounds) if target is None else target
    exponent = variable_exponents(identity, bounds, target)
    if wanted:
        exponent = np.pad(exponent, (0, max(0, max(wanted) + 1 - exponent.size)))
        exponent[list(wanted)] = list(wanted.values())
    exponent = of_orbits(identity, exponent)
    known = identity.derived.get(find_scaling)
    if known is None or known[1] is not bounds or known[0] != exponent.tobytes():
        known = exponent.tobytes(), bounds, *_scaling(identity, bounds, exponent)
        identity.derived[find_scaling] = known
    _, _, scaling, least, most = known
    exact = smallest * least > TINY and largest * most < 1 / TINY
    if scaling is not None and (exact or scaling.trivial):
        return scaling
    return Scaling(
        np.ones(identity.columns.shape[0]),
        np.ones(identity.gram.shape[0]),
        np.ones(identity.free.shape[0]),
        bounds,
        np.zeros(1),
    )


def is_scaled_alike(
    identity: Identity, bounds: VariableBounds, scaling: Scaling, target: np.ndarray
) -> np.ndarray:
    """For which targets, one row each, ``find_scaling`` returns this scaling, which it returned last; none
    where that is another one."""
    units = identity.derive(set_units, bounds)
    known: Any = identity.derived.get(find_scaling) or (b"", None, None)
    own = known[0] == of_orbits(identity, units.exponent.copy()).tobytes() and known[1] is bounds
    if not own or known[2] is None or known[2].column is not scaling.column or has_large_block(identity):
        return np.zeros(len(target), dtype=bool)
    smallest, largest = ends(target)
    exact = (smallest * known[3] > TINY) & (largest * known[4] < 1 / TINY) | known[2].trivial
    return np.asarray(exact & units.suffices(identity.varying(target)))


def _scaling(
    identity: Identity, bounds: VariableBounds, exponent: np.ndarray
) -> tuple[Scaling | None, float, float]:
    """Factors by the exponents of variables (None where powers or scaled entries leave the range of normal
    floats), and the least and the largest factor of a coefficient of the target."""
    column = np.exp2(exponent[identity.columns].sum(axis=1))
    gram_parts = []
    for block in identity.blocks:
        row, col = triangle(block.side)
        power = exponent[block.basis].sum(axis=1)
        gram_parts.append(np.exp2(power[row] + power[col]))
    gram = np.concatenate(gram_parts) if gram_parts else np.ones(0)
    free_parts = [np.exp2(exponent[e.multipliers].sum(axis=1)) for e in identity.equalities]
    free = np.concatenate(free_parts) if free_parts else np.ones(0)
    ends = float(column.min(initial=1.0)), float(column.max(initial=1.0))
    extreme = np.concatenate([column, gram, free])
    if not ((extreme > _SMALLEST) & (extreme < 1 / _SMALLEST)).all():
        return None, *ends  # powers beyond what floats hold would not be exact
    # constraints: divide each block by its largest scaled coefficient
    if any(block.kind != "sos" for block in identity.blocks):
        null = identity.null_columns()
        largest = row_sizes(identity.gram, 1 / gram, np.where(null, 0.0, column))
        for block, rows in zip(identity.blocks, identity.slices(), strict=True):
            if block.kind != "sos":
                row, col = triangle(block.side)
                units = _matrix_rows(block, largest[rows])
                own = units[row] * units[col]
                gram[rows] *= own * power_of_two(float((largest[rows] / own).max(initial=0.0)))
        if null.any():  # free directions have units of their own
            top = row_sizes(sp.csr_matrix(identity.gram[:, null].T), 1 / column[null], 1 / gram)
            column[null] /= np.exp2(np.rint(np.log2(top)))
    if free.size:
        top = row_sizes(identity.free, 1 / free, column)
        free *= np.exp2(np.round(np.log2(np.where(top > 0, top, 1.0))))
    result = Scaling(column, gram, free, _scaled_bounds(bounds, exponent), exponent)
    return result if result.trivial or _is_exact(identity, result, ends) else None, *ends


def _matrix_rows(block: Block, largest: np.ndarray) -> np.ndarray:
    """Factors of the rows of a matrix's multiplier, which bring the entries of that matrix to size one, where
    they are of sizes far from each other: those on the diagonal, and others of rows where that is zero; of a
    for-all constraint with free directions by units of the quantified variables. ``largest``: the size of
    every entry of the multiplier's matrix."""
    if block.entry is None:
        return np.ones(block.side)
    row, column = block.entry[np.stack(triangle(block.side))]
    size = np.zeros((row.max() + 1, row.max() + 1))
    np.maximum.at(size, (np.r_[row, column], np.r_[column, row]), np.r_[largest, largest])
    own = size.diagonal()
    if own.max() < _SPREAD * own.min() or not own.any():
        return np.ones(block.side)
    null = block.null
    factors = null.basis if null is not None and null.ids.size else np.arange(len(size))[:, None]
    balance = Balance()
    for i, j in np.argwhere(np.triu(size)).tolist():
        balance.add([*factors[i], *factors[j]], math.log2(size[i, j]), 1.0 if i == j else _OUTER)
    power = balance.solve({})
    return np.exp2([-sum(power.get(v, 0.0) for v in factors[i]) for i in block.entry.tolist()])


def _is_exact(identity: Identity, scaling: Scaling, column: tuple[float, float]) -> bool:
    """Whether no scaled entry leaves the range of normal floats; ``column``: the ends of its factors."""
    factors = np.concatenate([scaling.gram, scaling.free])
    if not ((factors > TINY) & (factors < 1 / TINY)).all():
        return False
    rows = [
        (identity.gram.data, 1 / scaling.gram.max(initial=1.0), 1 / scaling.gram.min(initial=1.0)),
        (identity.free.data, 1 / scaling.free.max(initial=1.0), 1 / scaling.free.min(initial=1.0)),
        (identity.unknown.data, 1.0, 1.0),
    ]
    for data, low, high in rows:
        size = np.abs(data[data != 0])
        smallest, largest = size.min(initial=1.0) * low * column[0], size.max(initial=1.0) * high * column[1]
        if not (smallest > TINY and largest < 1 / TINY):
            return False
    return True


def _times(matrix: sp.csr_matrix, row: np.ndarray, column: np.ndarray) -> sp.csr_matrix:
    """``diag(row) @ matrix @ diag(column)``.

    The pattern is shared where it is sorted: scipy sorts in place, which would move the columns of one matrix
    and the numbers of the other.
    """
    if not matrix.nnz:
        return matrix
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    data = matrix.data * np.repeat(row, np.diff(matrix.indptr)) * column[matrix.indices]
    return sp.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def row_sizes(matrix: sp.csr_matrix, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The largest absolute value of each row of ``diag(row) @ matrix @ diag(column)``."""
    matrix, result = _times(matrix, row, column), np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        result[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[:-1][filled])
    return result


def power_of_two(value: float) -> float:
    """The power of two next to a size; one for nothing."""
    return float(np.exp2(np.rint(np.log2(value)))) if value > 0 else 1.0


def _scaled_bounds(bounds: VariableBounds, exponent: np.ndarray) -> VariableBounds:
    def factor(variable: int) -> float:
        return float(np.exp2(exponent[variable])) if variable < exponent.size else 1.0

    largest = {v: size / factor(v) for v, size in bounds.largest.items()}
    balls = []
    for members, radius in bounds.balls:
        scales = {factor(v) for v in members}
        scaled = radius / max(scales) / max(scales)
        if len(scales) == 1 and np.isfinite(scaled):  # equations may leave a range of 1e-180
            balls.append((members, scaled))
    ranges = {v: (low / factor(v), high / factor(v)) for v, (low, high) in bounds.ranges.items()}
    return replace(bounds, largest=largest, balls=tuple(balls), ranges=ranges)


def scale(identity: Identity, scaling: Scaling) -> Identity:
    """The identity in the scaled variables (same blocks and columns, read as monomials in u)."""
    if scaling.trivial:
        return identity
    scaled = identity.derive(_scaled, scaling.column, scaling.gram, scaling.free, scaling.unknown)
    return scaled.with_target(identity.target * scaling.column * scaling.value, identity.rounded)


def _scaled(
    identity: Identity, column: np.ndarray, gram: np.ndarray, free: np.ndarray, unknown: np.ndarray | None
) -> Identity:
    """The identity with these factors, but for its target."""
    dominance = identity.dominance
    return replace(
        identity,
        gram=_times(identity.gram, 1 / gram, column),
        free=_times(identity.free, 1 / free, column),
        unknown=_times(
            identity.unknown, np.ones(identity.unknown.shape[0]) if unknown is None else unknown, column
        ),
        dominance=None if dominance is None else dominance.scaled(identity, gram),
    )
