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

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from ...conic.breakdown import OTHER_UNITS
from ...conic.rigorous import UNIT, least_eigenvalue_bounds, norms, shift_to_positive_semidefinite
from ...conic.svec import smat, svec, svec_length
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
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
    """

    gram: np.ndarray
    free: np.ndarray
    loss: float
    margin: float
    reason: str
    unbounded_residual: bool = False
    spare: float = -np.inf

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
    (found,) = certify_each(identity, identity.target[None], gram[None], free[None], unknowns[None], bounds)
    return found


def certify_each(
    identity: Identity,
    targets: np.ndarray,
    gram: np.ndarray,
    free: np.ndarray,
    unknowns: np.ndarray,
    bounds: VariableBounds,
) -> list[Certified]:
    """The proven shortfalls of multipliers, a row each, of identities that differ in their targets alone.

    Cost: that of one, and next to nothing for each other one of a small identity.
    """
    finite = [np.isfinite(v).all(axis=1) for v in (targets, gram, free, unknowns)]
    good = np.logical_and.reduce(finite)
    why = np.where(good, "", "the solver returned non-finite numbers").astype(object)
    targets, gram, free, unknowns = (np.where(good[:, None], v, 0.0) for v in (targets, gram, free, unknowns))
    parts = _parts(identity)
    plain, reached, inverse = parts.plain, parts.reached, parts.inverse
    inexact = np.zeros(len(gram))  # how far exact Gram matrices of for-all blocks are from these
    for row in range(len(gram)):
        settled = (gram[row], 0.0) if parts.null is None else parts.null.settle(identity, gram[row])
        if settled is None:
            why[row] = (
                why[row] or "the multipliers of a for-all constraint could not be moved into their cone"
            )
        else:
            gram[row], inexact[row] = settled
    for group in parts.others:
        if group.side == 1:
            gram[:, group.rows] = np.maximum(gram[:, group.rows], 0.0)
            continue
        least = group.least(gram)
        for k, j in np.argwhere(least < 0):
            here = group.rows[j]
            if np.isneginf(least[k, j]):
                why[k] = why[k] or _TOO_LARGE
            else:
                gram[k, here] = svec(shift_to_positive_semidefinite(smat(gram[k, here], group.side)))
    for _ in range(2):  # the second pass removes the rounding of the first
        missed = inverse * parts.residual(targets, gram, free, unknowns)
        gram[:, plain] += (parts.absorb @ missed.T).T
    uncertain = np.abs(parts.residual(targets, gram, free, unknowns))
    uncertain += parts.error(targets, gram, free, unknowns)
    if parts.null is not None:
        uncertain += inexact[:, None] * parts.null.weight
        uncertain[:, parts.null_columns] = 0.0  # exact multipliers have no residual there
    for k in np.flatnonzero(~np.isfinite(uncertain).all(axis=1)):
        why[k], gram[k], uncertain[k] = why[k] or _TOO_LARGE, 0.0, 0.0
    # exact multipliers exist within this distance of the plain Gram matrices
    wide = np.zeros(gram.shape)
    wide[:, plain] = (parts.absorb_size @ (inverse[:, None] * uncertain.T)).T
    least_of = [_least_after(group, gram, wide) for group in parts.squares]
    loose = ~reached & (uncertain > 0)
    found = []
    for k, reason in enumerate(why):
        here = gram[k], free[k]
        rest = [least[k] for least in least_of], np.where(loose[k], uncertain[k], 0.0)
        failed = Certified(*here, np.inf, -np.inf, reason)
        found.append(failed if reason else _paid(identity, parts.squares, bounds, here, *rest))
    return found


def _least_after(group: _Group, gram: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Proven least eigenvalues of the plain blocks of a side, wherever the exact multipliers are."""
    moved = norms(wide[:, group.rows]) * _OUTWARD
    # the vector form rounds each off-diagonal entry once when divided by sqrt(2)
    rounding = 4 * UNIT * norms(gram[:, group.rows])
    least = group.least(gram) - (moved + rounding) * _OUTWARD
    return np.where(np.isnan(least), -np.inf, least)


def _paid(
    identity: Identity,
    squares: list[_Group],
    bounds: VariableBounds,
    multipliers: tuple[np.ndarray, np.ndarray],
    least_of: list[np.ndarray],
    unpaid: np.ndarray,
) -> Certified:
    """What plain blocks lack, and coefficients that none of them produces (``unpaid``), paid for with bounds
    on the set."""
    loss, margin, spare = 0.0, np.inf, -np.inf
    missing: set[int] = set()
    for group, least in zip(squares, least_of, strict=True):
        margin = min(margin, float(least.min()))
        for k in np.flatnonzero(least > 0):
            if not identity.blocks[group.blocks[k]].basis.any(axis=1).all():
                spare = max(spare, float(least[k]))
        for k in np.flatnonzero(least < 0):
            if len(missing) >= _NAMED:
                break  # nothing is proven, and enough is said about why
            basis = identity.blocks[group.blocks[k]].basis
            norm = bounds.squared_norm(basis)
            if not np.isfinite(norm):
                missing.update(bounds.missing(basis))
            loss += -float(least[k]) * norm * _OUTWARD
    unbounded_residual = False
    loose = unpaid > 0
    if loose.any():
        sizes = bounds.magnitude(identity.columns[loose])
        unbounded_residual = not np.isfinite(sizes).all()
        if unbounded_residual:
            missing.update(bounds.missing(identity.columns[loose]))
        loss += float((unpaid[loose] * sizes).sum()) * _OUTWARD
    reason = ""
    if not np.isfinite(loss):
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
    return Certified(*multipliers, loss * _OUTWARD, margin, reason, unbounded_residual, spare)


@dataclass(frozen=True, eq=False)
class _Group:
    """Blocks of one side: their numbers, shape (k,), and their rows of ``gram``, shape (k, entries)."""

    side: int
    blocks: np.ndarray
    rows: np.ndarray

    def matrices(self, gram: np.ndarray) -> np.ndarray:
        """The Gram matrices, shape (..., k, side, side)."""
        return smat(gram[..., self.rows], self.side)

    def least(self, gram: np.ndarray) -> np.ndarray:
        """Proven lower bounds of their least eigenvalues, a row for each of several Gram vectors."""
        matrices = self.matrices(gram)
        flat = matrices.reshape(-1, self.side, self.side)
        return least_eigenvalue_bounds(flat).reshape(matrices.shape[:-2])


def _groups(identity: Identity, chosen: list[int]) -> list[_Group]:
    """The chosen blocks by side."""
    sides = np.array(identity.sides)
    starts = np.array([rows.start for rows in identity.slices()])
    groups = []
    for side in np.unique(sides[chosen]).tolist():
        blocks = np.array([k for k in chosen if sides[k] == side])
        rows = starts[blocks][:, None] + np.arange(svec_length(side))[None, :]
        groups.append(_Group(side, blocks, rows))
    return groups


@dataclass(frozen=True, eq=False)
class _Parts:
    """What every certification of one identity needs: the transposed matrix of all multipliers (``gram``,
    ``free``, minus ``unknown``) and its absolute values, the rows of plain blocks and, for each coefficient,
    the inverse of what the plain entries can absorb."""

    up: sp.csr_matrix
    size: sp.csr_matrix
    plain: np.ndarray
    absorb: sp.csr_matrix
    absorb_size: sp.csr_matrix
    reached: np.ndarray
    inverse: np.ndarray
    terms: np.ndarray
    squares: list[_Group]
    others: list[_Group]
    null: NullConditions | None
    null_columns: np.ndarray

    def residual(
        self, targets: np.ndarray, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray
    ) -> np.ndarray:
        """What the multipliers, a row each, miss of every coefficient."""
        return targets - (self.up @ np.hstack([gram, free, unknowns]).T).T

    def error(
        self, targets: np.ndarray, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray
    ) -> np.ndarray:
        """A bound on the rounding in ``residual`` (data conversion included)."""
        multipliers = np.abs(np.hstack([gram, free, unknowns])).T
        size = np.abs(targets).T + self.size @ multipliers
        if not (size > _UNDERFLOW).all():  # products may have vanished that are not zero
            size += _UNDERFLOW / UNIT * ((self.size != 0) @ (multipliers > 0))
        # one rounding a product, one a sum, one for each coefficient converted to double, one for sqrt(2)
        return (self.terms + 8) * UNIT * size.T * _OUTWARD


def plain_groups(identity: Identity) -> list[_Group]:
    """The plain blocks of an identity, by side."""
    return _parts(identity).squares


_remembered: WeakKeyDictionary[Identity, _Parts] = WeakKeyDictionary()  # nothing in them depends on targets


def _parts(identity: Identity) -> _Parts:
    """The parts of an identity; the last ones are remembered, since mixtures are certified many times."""
    found = _remembered.get(identity)
    if found is None:
        found = _make_parts(identity)
        _remembered.clear()  # one is enough, and large ones are as large as the program
        _remembered[identity] = found
    return found


def _make_parts(identity: Identity) -> _Parts:
    plain = np.zeros(identity.gram.shape[0], dtype=bool)
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        if block.kind == "sos":
            plain[rows] = True
    absorb = identity.gram if plain.all() else sp.csr_matrix(identity.gram[plain])
    absorb_size = abs(absorb)
    weight = np.zeros(identity.columns.shape[0])
    weight += np.bincount(absorb.indices, weights=absorb.data**2, minlength=weight.size)
    reached = weight > 0
    up = _upright(identity)
    return _Parts(
        up=up,
        size=abs(up),
        plain=plain,
        absorb=absorb,
        absorb_size=absorb_size,
        reached=reached,
        inverse=np.divide(1.0, weight, out=np.zeros_like(weight), where=reached),
        terms=np.diff(up.indptr),
        squares=_groups(identity, [k for k, b in enumerate(identity.blocks) if b.kind == "sos"]),
        others=_groups(
            identity,
            [k for k, b in enumerate(identity.blocks) if b.kind != "sos" and not b.has_free_directions],
        ),
        null=null_conditions(identity),
        null_columns=identity.null_columns(),
    )


def _upright(identity: Identity) -> sp.csr_matrix:
    """The transposed matrix of all multipliers: one product instead of three."""
    gram, free, unknown = identity.gram, identity.free, identity.unknown
    data = np.concatenate([gram.data, free.data, -unknown.data])
    indices = np.concatenate([gram.indices, free.indices, unknown.indices])
    ends = (gram.indptr, free.indptr[1:] + gram.nnz, unknown.indptr[1:] + (gram.nnz + free.nnz))
    pointers = np.concatenate(ends)
    return sp.csc_matrix((data, indices, pointers), shape=(gram.shape[1], pointers.size - 1)).tocsr()
