"""Units of variables: exponents of two by which a variable u stands for 2**e u.

Variables with a bound live in a box of about unit size. Others keep their unit, but where constraints do not
let them reach it, or where coefficients of one polynomial are far from each other: then least squares of
logarithms bring them near. What another term outgrows says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...algebra import monomials as mono
from ...algebra.coefficients import to_float
from ...algebra.polynomial import Polynomial
from ...conic.choose import INTERIOR_POINT_SIDE
from ...reduction.bounds import VariableBounds
from .balance import Balance
from .identity import Identity

_WORTH = 2  # exponents below it are left alone
_LIMIT = 20  # the largest exponent of leading terms
_SPREAD = 1e8  # ratio of the coefficients of an objective up to which unbounded variables are left alone
_NEAR = (
    32.0  # from which on y >= x**2 and x <= 1e-3 say that y is small, and other terms that one is outgrown
)
_WHOLE = 0.03  # weight of what terms in other variables say of one, constants among them
_MOST_ENTRIES = 1_000_000  # of the table of least squares


@dataclass(frozen=True, eq=False)
class SetUnits:
    """What a set says about units of variables, by id: which are left open, which of these stay away from 0,
    and exponents of all. ``factors``: of coefficients in these units, 0 of those in which nothing is open
    (None: the set has chosen units of open ones, or coefficients of a constraint are far apart)."""

    open: np.ndarray
    away: np.ndarray
    exponent: np.ndarray
    factors: np.ndarray | None

    @cached_property
    def compares(self) -> bool:
        """Whether the size of a variable is known, or that it stays away from 0."""
        return not self.open[1:].all() or bool(self.away.any())

    @cached_property
    def complete(self) -> bool:
        """Whether no coefficient has anything open."""
        return self.factors is not None and not self.factors.any()

    def suffices(self, target: np.ndarray) -> np.ndarray:
        """Whether targets (last axis) leave the exponents as they are."""
        if self.factors is None:
            return np.zeros(target.shape[:-1], dtype=bool)
        low, high = ends(target * self.factors)
        return np.asarray(np.log2(high) - np.log2(low) <= math.log2(_SPREAD))


def choosing(identity: Identity, bounds: VariableBounds) -> np.ndarray:
    """What of the target chooses units: neither a constant that is large beside all else nor a term that
    another one outgrows, as x**2 does 1e-9*x: from where x begins, or where both are nothing beside terms in
    variables whose size is known."""
    target = identity.varying(identity.target)
    units = identity.derive(set_units, bounds)
    if units.complete or not units.compares:
        return target
    used = np.flatnonzero(target)
    columns = identity.columns[used]
    ids = np.unique(columns[columns > 0])
    fixed, away = ~units.open[ids], units.away[ids]
    if not (fixed | away).any() or used.size**2 * ids.size > _MOST_ENTRIES:
        return target
    degree = (columns[:, :, None] == ids).sum(axis=1)
    log = np.log2(np.abs(target[used])) + units.exponent[columns].sum(axis=1)
    loose = degree[:, ~fixed & ~away].sum(axis=1)
    known = log[(loose == 0) & degree.any(axis=1)].max(initial=-np.inf)
    rise, more = log - log[:, None], loose - loose[:, None]
    # of both where they are alike, in variables that come as near to 0 as one likes
    height = log[:, None] - loose[:, None] * rise / np.where(more > 0, more, 1)
    faint = np.where(more > 0, height < known - math.log2(_SPREAD), rise > math.log2(_NEAR))
    alike = np.where(fixed, degree[:, None] >= degree, degree[:, None] <= degree).all(axis=2)
    target[used[(faint & alike).any(axis=1)]] = 0.0
    return target


def variable_exponents(identity: Identity, bounds: VariableBounds, target: np.ndarray) -> np.ndarray:
    """The exponents of variables; ``target``: what of it chooses units."""
    units = identity.derive(set_units, bounds)
    exponent = units.exponent.copy()
    if not units.suffices(target):
        for v in np.flatnonzero(units.open & (exponent != 0)).tolist():
            degrees = (identity.columns[target != 0] == v).sum(axis=1)
            if np.unique(degrees[degrees > 0]).size > 1:  # the objective itself says how large it is
                exponent[v] = 0.0
        polynomials = [(identity.columns, target), *identity.derive(constraint_terms)]
        exponent = _balanced(polynomials, exponent, units.open, _SPREAD)
    if has_large_block(identity):
        # first-order methods suffer from moments of all sizes: a dense quartic of side 66 is lost without
        free = units.open & (exponent == 0)
        exponent[free] = _growth_exponent(identity, free)
    return exponent


def set_units(identity: Identity, bounds: VariableBounds) -> SetUnits:
    """What bounds and constraints choose."""
    columns, constraints = identity.columns, identity.derive(constraint_terms)
    monos = [columns, *(b.basis for b in identity.blocks), *(m for m, _ in constraints)]
    monos += [rows.multipliers for rows in identity.equalities]
    rewritten = set(identity.quotient.power)
    limited = [v for v, size in bounds.largest.items() if 0 < size < np.inf and v not in rewritten]
    top = max([*(int(m.max(initial=0)) for m in monos), *limited, *rewritten])
    free, away = np.zeros(top + 1, dtype=bool), np.zeros(top + 1, dtype=bool)
    free[columns] = True  # what no moment has is nowhere
    # a variable of the quotient has x**2 = x or 1: its scale is fixed
    free[[0, *limited, *rewritten]] = False
    exponent = np.zeros(top + 1)
    exponent[limited] = np.ceil(np.log2([bounds.largest[v] for v in limited]) - 1e-9)
    if identity.hermitian or not free.any():
        return SetUnits(free, away, exponent, np.zeros(len(columns)))
    most = _balanced([*_reached(constraints, exponent, ~free)], exponent, free, _NEAR)
    for v in np.flatnonzero(free).tolist():
        low, high = bounds.ranges.get(v, (-np.inf, np.inf))
        away[v] = max(low, -high) > 0
        exponent[v] = min(most[v], 0.0)
    for p in identity.without_origin:
        ids = np.unique(p.monos[p.monos > 0])
        away[ids] |= free[ids].all()
    factors = np.where(free[columns].any(axis=1), np.exp2(exponent[columns].sum(axis=1)), 0.0)
    own = exponent[free].any() or _balanced(constraints, exponent, free, _SPREAD) is not exponent
    return SetUnits(free, away, exponent, None if own else factors)


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


def of_orbits(identity: Identity, exponent: np.ndarray) -> np.ndarray:
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
        size, units = np.log2(np.abs(coefs[used])), exponent[rows]
        unusual = unusual or bool(np.ptp(size + units.sum(axis=1)) > np.log2(spread))
        parts.append((rows, size + np.where(free[rows], 0.0, units).sum(axis=1)))
    if not unusual:
        return exponent
    # those that occur: variables of other programs of this process have ids below the largest too
    ids = np.unique(np.concatenate([rows[free[rows]] for rows, _ in parts]))
    if (ids.size + sum(rows.size + len(rows) for rows, _ in parts)) * ids.size > _MOST_ENTRIES:
        return exponent
    balance = Balance()
    for number, (rows, size) in enumerate(parts):
        for row, log in zip(rows.tolist(), size.tolist(), strict=True):
            own = [v for v in row if free[v]]
            balance.add([(number,), *own], log, _WHOLE)
            for v in set(own):
                balance.add([(number, v), *own], log)
    power, chosen = balance.solve(dict(enumerate(exponent.tolist()))), exponent.copy()
    chosen[ids] = [power[v] for v in ids.tolist()]
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


def ends(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest size of the coefficients (last axis), and of one."""
    size = np.abs(coefficients)
    return np.where(size > 0, size, 1.0).min(axis=-1, initial=1.0), size.max(axis=-1, initial=1.0)


def has_large_block(identity: Identity) -> bool:
    """Whether a block is beyond what interior-point methods solve."""
    return max(identity.solved_sides, default=0) > INTERIOR_POINT_SIDE
