"""Change of variables x_i = s_i u_i, normalised constraints and objective; every factor a power of two, so
that nothing is rounded.

Solvers' tolerances, and what is judged of their answers, are relative to numbers of size one. Where the
system bounds a variable by B, the scaled variable lives in a box of about unit size, moments are of size one,
and an a-priori bound on |b(u)|^2 is small; where it does not, exponents are chosen (least squares) that
bring the coefficients of each polynomial near each other. The scaled program is the same matrix with rows and
columns multiplied by powers of two: Gram matrices by congruence, so cones are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.coefficients import to_float
from ...algebra.pickled_by_name import PickledByName
from ...algebra.polynomial import Polynomial
from ...conic.choose import INTERIOR_POINT_SIDE
from ...conic.svec import triangle
from ...reduction.bounds import VariableBounds
from .entries import TINY
from .identity import Identity

_WORTH = 2  # exponents below it are left alone
_SMALLEST = 2.0**-400
_LIMIT = 20  # the largest exponent of leading terms
_SPREAD = 1e8  # ratio of the coefficients of an objective up to which unbounded variables are left alone
_NEAR = (
    32.0  # from which on y >= x**2 and x <= 1e-3 say that y is small, and other terms that one is outgrown
)
_PULL = 1e-3  # of an exponent towards zero (or its bound), where the coefficients say nothing
_WHOLE = 0.03  # weight of what terms in other variables say of one, constants among them
_MOST_ENTRIES = 1_000_000  # of the table of least squares


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
) -> Scaling:
    """Scaling of the variables to a box of half-width between 1/2 and 1, and of every constraint to size one.

    Variables without a bound are scaled where coefficients of one polynomial are far from each other.
    ``wanted``: exponents that others chose, by variable.
    """
    smallest, largest = _ends(identity.target)
    exponent = _variable_exponents(identity, bounds)
    if wanted:
        exponent = np.pad(exponent, (0, max(0, max(wanted) + 1 - exponent.size)))
        exponent[list(wanted)] = list(wanted.values())
    exponent = _alike(identity, exponent)
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


def _ends(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest size of the coefficients (last axis), and of one."""
    size = np.abs(coefficients)
    return np.where(size > 0, size, 1.0).min(axis=-1, initial=1.0), size.max(axis=-1, initial=1.0)


def _is_near(coefficients: np.ndarray) -> np.ndarray:
    """Whether the coefficients (last axis) and one are near each other."""
    low, high = _ends(coefficients)
    return np.asarray(np.log2(high) - np.log2(low) <= math.log2(_SPREAD))


def is_scaled_alike(
    identity: Identity, bounds: VariableBounds, scaling: Scaling, target: np.ndarray
) -> np.ndarray:
    """For which targets, one row each, ``find_scaling`` returns this scaling, which it returned last; none
    where that is another one."""
    _, _, exponent, constraints, factors = identity.derive(_settled, bounds)
    known: Any = identity.derived.get(find_scaling) or (b"", None, None)
    own = known[0] == _alike(identity, exponent.copy()).tobytes() and known[1] is bounds
    if not own or known[2] is None or known[2].column is not scaling.column or _is_wide(identity):
        return np.zeros(len(target), dtype=bool)
    smallest, largest = _ends(target)
    exact = (smallest * known[3] > TINY) & (largest * known[4] < 1 / TINY) | known[2].trivial
    if constraints is not None:
        exact &= factors is not None and _is_near(identity.varying(target) * factors)
    return exact


def _is_wide(identity: Identity) -> bool:
    return max(identity.solved_sides, default=0) > INTERIOR_POINT_SIDE


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
        largest = _largest(_times(identity.gram, 1 / gram, column))
        for block, rows in zip(identity.blocks, identity.slices(), strict=True):
            if block.kind != "sos":
                gram[rows] *= power_of_two(float(largest[rows].max(initial=0.0)))
    if free.size:
        top = _largest(_times(identity.free, 1 / free, column))
        free *= np.exp2(np.round(np.log2(np.where(top > 0, top, 1.0))))
    result = Scaling(column, gram, free, _scaled_bounds(bounds, exponent), exponent)
    return result if result.trivial or _is_exact(identity, result, ends) else None, *ends


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


def _largest(matrix: sp.csr_matrix) -> np.ndarray:
    """The largest absolute value of each row."""
    result = np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        result[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[:-1][filled])
    return result


def choosing(identity: Identity, bounds: VariableBounds) -> np.ndarray:
    """What of the target chooses units: neither a constant that is large beside all else nor a term that
    another one outgrows, as x**2 does 1e-9*x: from where x begins, or where both are nothing beside terms in
    variables whose size is known."""
    target = identity.varying(identity.target)
    settled, away, exponent, constraints, _ = identity.derive(_settled, bounds)
    if constraints is None:
        return target
    used = np.flatnonzero(target)
    columns = identity.columns[used]
    ids = np.unique(columns[columns > 0])
    fixed = settled[ids]
    if not (fixed | away[ids]).any() or used.size**2 * ids.size > _MOST_ENTRIES:
        return target
    degree = (columns[:, :, None] == ids).sum(axis=1)
    log = np.log2(np.abs(target[used])) + exponent[columns].sum(axis=1)
    loose = degree[:, ~fixed & ~away[ids]].sum(axis=1)
    known = log[(loose == 0) & degree.any(axis=1)].max(initial=-np.inf)
    rise, more = log - log[:, None], loose - loose[:, None]
    # of both where they are alike, in variables that come as near to 0 as one likes
    height = log[:, None] - loose[:, None] * rise / np.where(more > 0, more, 1)
    faint = np.where(more > 0, height < known - math.log2(_SPREAD), rise > math.log2(_NEAR))
    alike = np.where(fixed, degree[:, None] >= degree, degree[:, None] <= degree).all(axis=2)
    target[used[(faint & alike).any(axis=1)]] = 0.0
    return target


def _variable_exponents(identity: Identity, bounds: VariableBounds) -> np.ndarray:
    """The exponents of variables."""
    settled, _, exponent, constraints, factors = identity.derive(_settled, bounds)
    target, exponent = choosing(identity, bounds), exponent.copy()
    if constraints is not None and (factors is None or not _is_near(target * factors)):
        for v in np.flatnonzero(~settled & (exponent != 0)).tolist():
            degrees = (identity.columns[target != 0] == v).sum(axis=1)
            if np.unique(degrees[degrees > 0]).size > 1:  # the objective itself says how large it is
                exponent[v] = 0.0
        exponent = _balanced([(identity.columns, target), *constraints], exponent, ~settled, _SPREAD)
    if _is_wide(identity):
        # first-order methods suffer from moments of all sizes: a dense quartic of side 66 is lost without
        free = ~settled & (exponent == 0)
        exponent[free] = _growth_exponent(identity, free)
    return exponent


def _settled(
    identity: Identity, bounds: VariableBounds
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]] | None, np.ndarray | None]:
    """Of a set: which variables have settled exponents, and which of the others are away from 0; all
    exponents as bounds choose them; the constraints (None where nothing is left to be chosen), and the
    factors of coefficients then, 0 of those in which nothing is left to be chosen (None: bounds chose units
    of others, or coefficients of a constraint are far apart)."""
    columns = identity.columns
    constraints = constraint_terms(identity)
    monos = [columns, *(b.basis for b in identity.blocks), *(m for m, _ in constraints)]
    monos += [rows.multipliers for rows in identity.equalities]
    rewritten = set(identity.quotient.power)
    limited = [v for v, size in bounds.largest.items() if 0 < size < np.inf and v not in rewritten]
    top = max([*(int(m.max(initial=0)) for m in monos), *limited, *rewritten])
    settled, away = np.ones(top + 1, dtype=bool), np.zeros(top + 1, dtype=bool)
    settled[columns] = False  # what no moment has is nowhere
    # a variable of the quotient has x**2 = x or 1: its scale is fixed
    settled[[0, *limited, *rewritten]] = True
    exponent = np.zeros(top + 1)
    exponent[limited] = np.ceil(np.log2([bounds.largest[v] for v in limited]) - 1e-9)
    if identity.hermitian or settled[columns].all():
        return settled, away, exponent, None, None
    most = _balanced([*_reached(constraints, exponent, settled)], exponent, ~settled, _NEAR)
    for v in np.flatnonzero(~settled).tolist():
        low, high = bounds.ranges.get(v, (-np.inf, np.inf))
        away[v] = max(low, -high) > 0
        exponent[v] = min(most[v], 0.0)
    for p in identity.without_origin:
        ids = np.unique(p.monos[p.monos > 0])
        away[ids] |= not settled[ids].any()
    free = ~settled[columns].all(axis=1)
    factors = np.where(free, np.exp2(exponent[columns].sum(axis=1)), 0.0)
    own = exponent[~settled].any() or _balanced(constraints, exponent, ~settled, _SPREAD) is not exponent
    return settled, away, exponent, constraints, None if own else factors


def _reached(
    constraints: list[tuple[np.ndarray, np.ndarray]], exponent: np.ndarray, settled: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of constraints in settled variables and others: the terms in others, and as a constant the largest of
    the rest, which they reach."""
    for monos, coefs in constraints:
        size = np.abs(coefs) * np.exp2(exponent[monos].sum(axis=1))
        rest = settled[monos].all(axis=1)
        if not rest.all() and (size[rest & monos.any(axis=1)] > 0).any():
            constant = np.zeros_like(monos[:1])
            yield np.concatenate([monos[~rest], constant]), np.append(coefs[~rest], size[rest].max())


def _alike(identity: Identity, exponent: np.ndarray) -> np.ndarray:
    """The exponents, the largest of each orbit for all of it."""
    if identity.symmetry is not None:
        # interval propagation need not treat the variables of an orbit alike; the scaling must
        orbits = identity.symmetry.variables[: exponent.size]
        moved = np.flatnonzero(orbits)
        largest = np.full(int(orbits.max(initial=0)) + 1, -np.inf)
        np.maximum.at(largest, orbits[moved], exponent[moved])
        exponent[moved] = largest[orbits[moved]]
    return exponent


def constraint_terms(identity: Identity) -> list[tuple[np.ndarray, np.ndarray]]:
    """Monomials and coefficients of the constraints."""
    result: dict[tuple, list[Polynomial]] = {}
    for block in identity.blocks:
        if block.kind != "sos":
            result[(block.kind, block.index)] = list(np.asarray(block.multiplier, dtype=object).reshape(-1))
    for rows in identity.equalities:
        result[("equality", rows.index)] = [rows.polynomial]
    every = [p for polynomials in result.values() for p in polynomials]
    return [(p.monos, np.array([to_float(c) for c in p.coefs])) for p in every if len(p.coefs)]


def _balanced(
    polynomials: list[tuple[np.ndarray, np.ndarray]], exponent: np.ndarray, free: np.ndarray, spread: float
) -> np.ndarray:
    """The exponents with those of the free variables chosen by least squares so that the coefficients of the
    terms that have one of them, of each polynomial, are near each other; unchanged where their ratios are
    below ``spread`` already."""
    parts, unusual = [], False
    for monos, coefs in polynomials:
        touched = free[monos].any(axis=1)
        used = (coefs != 0) & (touched | (monos == 0).all(axis=1))
        rows = monos[used]
        if len(rows) < 2 or not touched[used].any():
            continue
        size = np.log2(np.abs(coefs[used])) + exponent[rows].sum(axis=1)
        unusual = unusual or bool(np.ptp(size) > np.log2(spread))
        parts.append((rows, size))
    if not unusual:
        return exponent
    # those that occur: variables of other programs of this process have ids below the largest too
    ids = np.unique(np.concatenate([rows[free[rows]] for rows, _ in parts]))
    place = np.zeros(exponent.size, dtype=np.intp)
    place[ids] = np.arange(ids.size)
    lines = ids.size + sum(rows.size + len(rows) for rows, _ in parts)  # at most so many
    if lines * ids.size > _MOST_ENTRIES:
        return exponent
    tables, sizes = [], []
    for rows, size in parts:
        table = np.zeros((len(rows), ids.size))
        at, factor = np.nonzero(free[rows])
        np.add.at(table, (at, place[rows[at, factor]]), 1.0)
        having = [table[:, k] > 0 for k in np.unique(place[rows[at, factor]])]
        for group, weight in [(np.ones(len(rows), dtype=bool), _WHOLE), *((g, 1.0) for g in having)]:
            tables.append(weight * (table[group] - table[group].mean(axis=0)))
            sizes.append(weight * (size[group] - size[group].mean()))
    pull = _PULL * np.eye(ids.size)
    right = np.concatenate([*(-size for size in sizes), _PULL * exponent[ids]])
    result = np.linalg.lstsq(np.vstack([*tables, pull]), right, rcond=None)[0]
    chosen = exponent.copy()
    chosen[ids] = np.round(result)
    return chosen


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
