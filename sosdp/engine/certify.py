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

import numpy as np

from ..algebra import monomials as mono
from ..algebra.variables import variable_name
from ..conic.program import smat, svec
from ..conic.rigorous import UNIT, least_eigenvalue_bound, shift_to_positive_semidefinite
from ..reduction.bounds import VariableBounds
from .assembly import Identity

_OUTWARD = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class Certified:
    """Multipliers after absorption and what is proven about them.

    ``loss``: the proven shortfall (infinite if nothing is proven, and then ``reason`` says what is missing);
    ``margin``: the least proven eigenvalue over the plain blocks.
    """

    gram: np.ndarray
    free: np.ndarray
    loss: float
    margin: float
    reason: str


def certify(
    identity: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray, bounds: VariableBounds
) -> Certified:
    """The proven shortfall of approximate multipliers (vector form ``gram``, ``free``, and the unknowns
    used)."""
    if not (np.isfinite(gram).all() and np.isfinite(free).all() and np.isfinite(unknowns).all()):
        return Certified(gram, free, np.inf, -np.inf, "the solver returned non-finite numbers")
    gram = gram.copy()
    plain = np.zeros(gram.size, dtype=bool)
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        if block.kind == "sos":
            plain[rows] = True
        elif block.side == 1:
            gram[rows] = max(gram[rows.start], 0.0)
        else:
            gram[rows] = svec(shift_to_positive_semidefinite(smat(gram[rows], block.side)))
    weight = np.asarray(identity.gram[plain].multiply(identity.gram[plain]).sum(axis=0)).ravel()
    weight = weight if weight.size else np.zeros(identity.columns.shape[0])
    reached = weight > 0
    inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=reached)
    for _ in range(2):  # the second pass removes the rounding of the first
        residual, _ = _residual(identity, gram, free, unknowns)
        gram[plain] += identity.gram[plain] @ (inverse * residual)
    residual, error = _residual(identity, gram, free, unknowns)
    uncertain = np.abs(residual) + error
    # exact multipliers exist within this distance of the plain Gram matrices
    distance = abs(identity.gram[plain]) @ (inverse * uncertain)
    loss, margin, missing = 0.0, np.inf, set()
    cursor = 0
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        if block.kind != "sos":
            continue
        length = rows.stop - rows.start
        wobble = float(np.linalg.norm(distance[cursor : cursor + length])) * _OUTWARD
        cursor += length
        least = least_eigenvalue_bound(smat(gram[rows], block.side))
        # the vector form rounds each off-diagonal entry once when divided by sqrt(2)
        rounding = 4 * UNIT * float(np.linalg.norm(gram[rows]))
        least -= wobble + rounding
        margin = min(margin, least)
        if least < 0:
            norm = bounds.squared_norm(block.basis)
            if not np.isfinite(norm):
                missing.update(bounds.missing(block.basis))
            loss += -least * norm * _OUTWARD
    loose = ~reached & (uncertain > 0)
    if loose.any():
        sizes = bounds.magnitude(identity.columns[loose])
        if not np.isfinite(sizes).all():
            missing.update(bounds.missing(identity.columns[loose]))
        loss += float((uncertain[loose] * sizes).sum()) * _OUTWARD
    reason = ""
    if not np.isfinite(loss):
        names = ", ".join(variable_name(v) for v in sorted(missing)[:5]) or "some variables"
        reason = (
            f"the system gives no bound on {names}; add a ball or box constraint that you can justify "
            "(for example x**2 + y**2 <= R**2)"
        )
        loss = np.inf
    return Certified(gram, free, loss * _OUTWARD, margin, reason)


def _residual(
    identity: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Residual of every coefficient, and a bound on the rounding in it (data conversion included)."""
    produced = identity.gram.T @ gram + identity.free.T @ free
    wanted = identity.target + identity.unknown.T @ unknowns
    size = (
        abs(identity.gram).T @ np.abs(gram)
        + abs(identity.free).T @ np.abs(free)
        + np.abs(identity.target)
        + abs(identity.unknown).T @ np.abs(unknowns)
    )
    terms = identity.gram.getnnz(axis=0) + identity.free.getnnz(axis=0) + identity.unknown.getnnz(axis=0)
    # one rounding a product, one a sum, one for each coefficient converted to double, one for sqrt(2)
    return wanted - produced, (terms + 8) * UNIT * size * _OUTWARD


def mixture_for_margin(
    identity: Identity,
    near: tuple[np.ndarray, np.ndarray, np.ndarray],
    inside: tuple[np.ndarray, np.ndarray, np.ndarray],
    bounds: VariableBounds,
) -> tuple[np.ndarray, Certified] | None:
    """The least weight on the inside point (found by halving) at which the mixture is proven without any
    a-priori bound.

    ``near`` is the optimum, ``inside`` a point whose Gram matrices are well inside the cone; both are (gram,
    free, unknowns). Returns the unknowns of the mixture and the certificate, or None when even the inside
    point is not proven.
    """
    best: tuple[np.ndarray, Certified] | None = None
    weight = 1.0
    for _ in range(40):
        point = [(1 - weight) * a + weight * b for a, b in zip(near, inside, strict=True)]
        result = certify(identity, point[0], point[1], point[2], bounds)
        if result.loss > 0:
            break
        best = (point[2], result)
        weight /= 4
    return best


def unused_columns(identity: Identity) -> np.ndarray:
    """Monomials of the target or the unknowns that no block and no equality can produce (rows of
    monomials)."""
    produced = identity.gram.getnnz(axis=0) + identity.free.getnnz(axis=0)
    wanted = (identity.target != 0) | (identity.unknown.getnnz(axis=0) > 0)
    hits = np.flatnonzero((produced == 0) & wanted)
    return identity.columns[hits] if hits.size else mono.constant(0)
