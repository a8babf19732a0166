"""From an approximate dual solution to a bound that is true.

Given approximate multipliers of the identity, (1) every Gram matrix of a constraint is shifted until it is
provably positive semidefinite, (2) the residual of the coefficient matching is absorbed into the Gram
matrices of the plain blocks (one division, because every entry belongs to one monomial), (3) their least
eigenvalues are bounded below rigorously, rounding included, and (4) what is missing to positive
semidefiniteness is paid for with an a-priori bound on ``|b(x)|^2`` over the set. Result: a number ``loss``
such that

    target(x) + sum_k u_k unknown_k(x) >= -loss      for every x in the set,

whatever the solver's status was. Cost: a few matrix-vector products and one Cholesky factorisation a block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...conic.breakdown import OTHER_UNITS
from ...conic.rigorous import UNIT, least_eigenvalue_bounds, norms, shift_to_positive_semidefinite
from ...conic.svec import diagonal, smat, svec, svec_length
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity, Table, by_side, times
from .free_directions import NullConditions, null_conditions

_OUTWARD = 1 + 1e-12
_UNDERFLOW = 1e-300  # more than any product loses that is no normal float
_TOO_LARGE = f"the numbers are too large to be added up; {OTHER_UNITS}"
_NAMED = 5  # variables that a reason names


@dataclass(frozen=True, eq=False)
class Certified:
    """Multipliers after absorption and what is proven about them.

    ``loss``: the proven shortfall (infinite if nothing is proven, and then ``reason`` says what is missing);
    ``margin``: the least proven eigenvalue over the plain blocks. ``unbounded_residual``: a coefficient that
    no plain block can produce belongs to a monomial without a bound, so that not even its rounding error can
    be paid for: no other multipliers would do better. ``spare``: the proven least eigenvalue of the plain
    block that has the constant in its basis; so much may be taken from the square of the constant.
    ``lacking``: what plain blocks lack to be positive semidefinite, shape (blocks,).
    """

    gram: np.ndarray
    free: np.ndarray
    loss: float
    margin: float
    reason: str
    unbounded_residual: bool = False
    spare: float = -np.inf
    lacking: np.ndarray | float = 0.0

    @property
    def proves(self) -> bool:
        """Whether the shortfall is nothing, or is covered by what the square of the constant has to spare:
        then what was certified is non-negative on the set."""
        return self.loss == 0.0 or (self.margin > 0 and self.loss <= self.spare)


def _ball(bounds: VariableBounds, ids: list[int]) -> str:
    """The squared norm of the variables (at most three) that a ball is wanted for, as one writes it."""
    shown = " + ".join(f"{bounds.name(v)}**2" for v in ids[:3])
    return shown + " + ..." * (len(ids) > 3) if shown else "x**2 + y**2"


def certify(
    identity: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray, bounds: VariableBounds
) -> Certified:
    """The proven shortfall of approximate multipliers (vector form ``gram``, ``free``, and the unknowns
    used)."""
    if not np.isfinite(np.concatenate([identity.target, gram, free, unknowns])).all():
        reason = "the solver returned non-finite numbers"
        return Certified(np.zeros_like(gram), np.zeros_like(free), np.inf, -np.inf, reason)
    return certify_each(identity, identity.target[None], gram[None], free[None], unknowns[None], bounds)[0]


def certify_each(
    identity: Identity,
    target: np.ndarray,
    gram: np.ndarray,
    free: np.ndarray,
    unknowns: np.ndarray,
    bounds: VariableBounds,
) -> list[Certified]:
    """``certify`` of many targets and multipliers of one identity, arrays with one row each. Every row is
    computed as it is alone, bit for bit."""
    parts = identity.derive(make_parts)
    settled, inexact, reasons = in_cones(identity, gram)
    every = absorbed(identity, target, np.concatenate([settled, free, unknowns], axis=1))
    absorbing = every[:, : gram.shape[1]]
    uncertain = np.abs(parts.residual(target, every))
    uncertain += parts.error(target, every)
    if parts.null is not None:
        uncertain += inexact[:, None] * parts.null.weight
        uncertain[:, parts.null_columns] = 0.0  # exact multipliers have no residual there
    # exact multipliers exist within this distance of the plain Gram matrices
    broad = np.zeros(gram.shape)
    broad[:, parts.plain] = times(parts.absorb_size, parts.inverse * uncertain)
    least_of = [_least_after(group, absorbing, broad) for group in parts.squares]
    unpaid, result = uncertain[:, parts.unreached], []
    known = np.isfinite(uncertain)
    if not known.all():
        reasons = [r or ("" if row.all() else _TOO_LARGE) for r, row in zip(reasons, known, strict=True)]
    for k, reason in enumerate(reasons):
        if reason:
            result.append(Certified(gram[k], free[k], np.inf, -np.inf, reason))
        else:
            own = [least[k] for least in least_of]
            result.append(_paid(identity, bounds, (absorbing[k], free[k]), own, unpaid[k]))
    return result


def in_cones(identity: Identity, gram: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Gram matrices, one row each, with those of constraints shifted until they are provably positive
    semidefinite, how far exact ones of for-all blocks are from these, and why there are none, or nothing."""
    parts, gram = identity.derive(make_parts), gram.copy()
    inexact, reasons = np.zeros(len(gram)), [""] * len(gram)
    for k in range(len(gram)):
        if parts.null is None:
            break
        moved = parts.null.settle(identity, gram[k])
        if moved is None:
            reasons[k] = "the multipliers of a for-all constraint could not be moved into their cone"
        else:
            gram[k], inexact[k] = moved
    for group in parts.others:
        if group.side == 1:
            gram[:, group.rows] = np.maximum(gram[:, group.rows], 0.0)
            continue
        least = group.least(gram)
        for k, j in np.argwhere(least < 0).tolist():
            here = group.rows[j]
            if np.isneginf(least[k, j]):
                reasons[k] = reasons[k] or _TOO_LARGE
            else:
                gram[k, here] = svec(shift_to_positive_semidefinite(smat(gram[k, here], group.side)))
    return gram, inexact, reasons


def absorbed(identity: Identity, target: np.ndarray, every: np.ndarray) -> np.ndarray:
    """All multipliers (entries of Gram matrices, free ones, unknowns; one row each), of which the plain Gram
    matrices have absorbed the residual of the identity with these targets, in place."""
    parts = identity.derive(make_parts)
    for _ in range(2):  # the second pass removes the rounding of the first
        every[..., parts.plain] += times(parts.absorb, parts.inverse * parts.residual(target, every))
    return every


def _least_after(group: Group, gram: np.ndarray, broad: np.ndarray) -> np.ndarray:
    """Proven least eigenvalues of the plain blocks of a side, shape (rows, blocks), wherever the exact
    multipliers are."""
    moved, sizes = norms(np.array([broad.take(group.rows, axis=1), gram.take(group.rows, axis=1)]))
    # the vector form rounds each off-diagonal entry once when divided by sqrt(2)
    rounding = 4 * UNIT * sizes
    least = group.least(gram) - (moved * _OUTWARD + rounding) * _OUTWARD
    return np.where(np.isnan(least), -np.inf, least)


def _paid(
    identity: Identity,
    bounds: VariableBounds,
    multipliers: tuple[np.ndarray, np.ndarray],
    least_of: list[np.ndarray],
    unpaid: np.ndarray,
) -> Certified:
    """What plain blocks lack, and coefficients that none of them produces (``unpaid``), paid for with bounds
    on the set."""
    parts, loss, margin, spare = identity.derive(make_parts), 0.0, np.inf, -np.inf
    missing, lacking = set[int](), np.zeros(len(identity.blocks))
    for group, values in zip(parts.squares, least_of, strict=True):
        numbers, ones, least_ones = group.blocks.tolist(), group.ones.tolist(), values.tolist()
        margin = min(margin, *least_ones)
        lacking[group.blocks] = np.maximum(-values, 0.0)
        for k, one, least in zip(numbers, ones, least_ones, strict=True):
            if least > 0 and one >= 0:
                spare = max(spare, least)
            if least >= 0 or len(missing) >= _NAMED:  # enough is said about why nothing is proven
                continue
            norm = identity.derive(_squared_norms, bounds)[k]
            if norm == np.inf:
                missing.update(bounds.missing(identity.blocks[k].basis))
            loss += -least * norm * _OUTWARD
    unbounded_residual = False
    if unpaid.any():
        monomials, unpaid = identity.columns[parts.unreached[unpaid > 0]], unpaid[unpaid > 0]
        sizes = bounds.magnitude(monomials)
        unbounded_residual = not np.isfinite(sizes).all()
        if unbounded_residual:
            missing.update(bounds.missing(monomials))
        loss += float((unpaid * sizes).sum()) * _OUTWARD
    reason = ""
    if not math.isfinite(loss):
        names = ", ".join(bounds.name(v) for v in sorted(missing)[:_NAMED]) or "some variables"
        reason = (
            f"nothing bounds the norm of {names}"
            if bounds.names
            else (
                f"the system gives no bound on {names}; add a ball or box constraint that you can justify "
                f"(for example {_ball(bounds, sorted(missing))} <= R**2 with a number for R)"
            )
        )
        loss = np.inf
    return Certified(*multipliers, loss * _OUTWARD, margin, reason, unbounded_residual, spare, lacking)


def _squared_norms(identity: Identity, bounds: VariableBounds) -> list[float]:
    """Bounds on the squared norms of the bases of plain blocks over the set, by block."""
    return [bounds.squared_norm(b.basis) if b.kind == "sos" else np.inf for b in identity.blocks]


@dataclass(frozen=True, eq=False)
class Group:
    """Blocks of one side: their numbers, shape (b,), their rows of ``gram``, shape (b, entries), and where
    their bases have the monomial 1 (-1: nowhere), shape (b,)."""

    side: int
    blocks: np.ndarray
    rows: np.ndarray
    ones: np.ndarray

    def matrices(self, gram: np.ndarray) -> np.ndarray:
        """The Gram matrices of every row of ``gram``, shape (rows, b, side, side)."""
        return smat(gram.take(self.rows, axis=1), self.side)

    def least(self, gram: np.ndarray) -> np.ndarray:
        """Proven lower bounds of their least eigenvalues, shape (rows, b)."""
        stack = self.matrices(gram).reshape(-1, self.side, self.side)
        return least_eigenvalue_bounds(stack).reshape(len(gram), self.blocks.size)

    @cached_property
    def around_ones(self) -> tuple[np.ndarray, ...]:
        """Numbers of blocks without the monomial 1; of the others its entries of ``gram``, shape (k,), and
        in the stack of all matrices its diagonal entries, the rest of its columns, and the matrices without
        its rows and columns, shapes (k,), (k, side - 1), (k, side - 1, side - 1)."""
        side, able = self.side, np.flatnonzero(self.ones >= 0)
        one, start = self.ones[able], able[:, None] * side**2
        rest = (one[:, None] + np.arange(1, side)) % side
        entry, corner = self.rows[able, diagonal(side)[one]], start[:, 0] + one * (side + 1)
        body = start[:, :, None] + rest[:, :, None] * side + rest[:, None, :]
        return np.flatnonzero(self.ones < 0), entry, corner, start + rest * side + one[:, None], body


def _groups(identity: Identity, *chosen: np.ndarray) -> list[list[Group]]:
    """The blocks of each choice (boolean) by side."""
    ones = np.array(
        [next(iter(np.flatnonzero(~b.basis.any(axis=1))), -1) for b in identity.blocks], dtype=int
    )
    return [
        [
            Group(n, k[here[k]], rows[here[k]], ones[k[here[k]]])
            for n, (k, rows) in identity.derive(by_side).items()
            if here[k].any()
        ]
        for here in chosen
    ]


@dataclass(frozen=True, eq=False)
class _Parts:
    """What every certification of one identity needs: the transposed matrix of all multipliers (``gram``,
    ``free``, minus ``unknown``) and its absolute values, the rows of plain blocks and, for each coefficient,
    the inverse of what the plain entries can absorb."""

    up: Table
    size: Table
    plain: np.ndarray | slice
    absorb: Table
    absorb_size: Table
    unreached: np.ndarray
    inverse: np.ndarray
    rounding: np.ndarray
    squares: list[Group]
    others: list[Group]
    null: NullConditions | None
    null_columns: np.ndarray

    def residual(self, target: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """What the multipliers miss of every coefficient."""
        return np.asarray(target - times(self.up, multipliers))

    def error(self, target: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """A bound on the rounding in the residual (data conversion included)."""
        multipliers = np.abs(multipliers)
        size = np.abs(target) + times(self.size, multipliers)
        if not size.min(initial=np.inf) > _UNDERFLOW:  # products may have vanished that are not zero
            size += _UNDERFLOW / UNIT * times((self.size != 0) * 1.0, (multipliers > 0) * 1.0)
        return self.rounding * size * _OUTWARD


def roundings(terms: np.ndarray) -> np.ndarray:
    """What rounding hides of sums of so many terms, relative: one a product, one a sum, one for each
    coefficient converted to double, four for its sqrt(2)."""
    return (terms + 8) * UNIT


def make_parts(identity: Identity) -> _Parts:
    """What certifications of this identity share."""
    gram, tables = identity.gram, identity.tables
    squares = np.array([b.kind == "sos" for b in identity.blocks], dtype=bool)
    others = ~squares & np.array([not b.has_free_directions for b in identity.blocks], dtype=bool)
    plain = np.repeat(squares, np.array([svec_length(n) for n in identity.sides], dtype=int))
    first = int(plain.sum())  # plain blocks come first, but where others are made of them
    absorb, absorb_size = (m if plain.all() else m[plain] for m in (tables.gram, tables.gram_size))
    weights = np.where(np.repeat(plain, np.diff(gram.indptr)), gram.data, 0.0) ** 2
    weight = np.bincount(gram.indices, weights=weights, minlength=gram.shape[1])
    reached, terms = weight > 0, [m.indices for m in (gram, identity.free, identity.unknown)]
    plain_groups, other_groups = _groups(identity, squares, others)
    return _Parts(
        up=_upright(tables.gram, tables.free, -tables.unknown),
        size=_upright(tables.gram_size, tables.free_size, tables.unknown_size),
        plain=slice(first) if plain[:first].all() else np.flatnonzero(plain),
        absorb=absorb,
        absorb_size=absorb_size,
        unreached=np.flatnonzero(~reached),
        inverse=np.divide(
            1.0, weight, out=np.zeros(weight.size), where=reached
        ),  # of nothing they are integers
        rounding=roundings(np.bincount(np.concatenate(terms), minlength=gram.shape[1])),
        squares=plain_groups,
        others=other_groups,
        null=null_conditions(identity),
        null_columns=identity.null_columns(),
    )


def _upright(*parts: Table) -> Table:
    """The transposed matrix of all multipliers: one product instead of three."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.vstack(parts).T
    return sp.csr_matrix(sp.vstack([sp.csr_matrix(part) for part in parts]).T)
