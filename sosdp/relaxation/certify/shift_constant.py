"""A bound that needs nothing of the set, from the multipliers of an optimum alone.

At an optimum the Gram matrix Q of a plain block is singular: its kernel holds b(x) for the minimisers x.
What a solver returns is a little indefinite there. Adding d to the entry of the monomial 1 lowers the bound
by d and, because b(x) has a 1 in that place, makes ``Q + d e e'`` positive definite with d about the size of
the error times ``|b(x)|**2``: as cheap as a bound can be made true. By a Schur complement the least d for a
given margin is a number, so no search and no second solve is needed.

Where Q is singular in other directions (minimisers at infinity, blocks without the monomial 1) the answer is
None.
"""

from __future__ import annotations

import numpy as np

from ...algebra import monomials as mono
from ...conic.rigorous import UNIT
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
from .bound import Certified, absorbed, certify, in_cones, plain_groups

_ROUNDS = 12


def lift_constant(
    identity: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray, bounds: VariableBounds
) -> tuple[np.ndarray, Certified] | None:
    """Unknowns with a lower bound (the first of them) and a certificate without loss, or None.

    The multipliers are near an optimum at these unknowns. Cost: a few batched linear solves and
    certifications; no solver is called.
    """
    settled = in_cones(identity, gram) if all(np.isfinite(v).all() for v in (gram, free, unknowns)) else ""
    if isinstance(settled, str):
        return None
    gram = absorbed(identity, settled[0], free, unknowns)
    if not np.isfinite(gram).all():
        return None
    scale = 1.0 + float(np.abs(gram).max(initial=0.0))
    margin = 256.0 * UNIT * scale
    for _ in range(_ROUNDS):
        lifted = _lifted(identity, gram, margin)
        if lifted is None:
            return None
        moved = unknowns.copy()
        moved[0] -= lifted[1]
        result = certify(identity, lifted[0], free, moved, bounds)
        if result.loss == 0.0:
            return moved, result
        if not np.isfinite(result.margin) or result.unbounded_residual:
            return None
        margin = max(4.0 * margin, 2.0 * margin - 2.0 * min(result.margin, 0.0))
    return None


def _lifted(identity: Identity, gram: np.ndarray, margin: float) -> tuple[np.ndarray, float] | None:
    """Every plain block lifted at its monomial 1 until its least eigenvalue is about the margin, and what it
    costs; None where that does not mend a block."""
    result, places = gram.copy(), identity.derive(_places_of_one)
    paid = 0.0
    for group in plain_groups(identity):
        ones = places[group.blocks]
        amounts = _amounts(group.matrices(gram), ones, margin)
        if not np.isfinite(amounts).all():
            return None
        # the diagonal entry of the vector form; of a block without a 1 nothing is added
        result[group.rows[np.arange(ones.size), np.maximum(ones * (ones + 3) // 2, 0)]] += amounts
        paid += float(amounts.sum())
    return result, paid


def _places_of_one(identity: Identity) -> np.ndarray:
    """Where each block's basis has the monomial 1, or -1."""
    sides = np.array(identity.sides, dtype=int)
    found = np.full(sides.size, -1)
    if sides.size:
        place = np.flatnonzero(mono.degrees(mono.concatenate([b.basis for b in identity.blocks])) == 0)[::-1]
        owner = np.searchsorted(np.cumsum(sides), place, side="right")
        found[owner] = place - (np.cumsum(sides) - sides)[owner]
    return found


def _amounts(matrices: np.ndarray, ones: np.ndarray, margin: float) -> np.ndarray:
    """The least d >= 0 with ``Q + d e e' >= margin I``, or a little more, shape (k,), e the unit vector of
    each place (-1: none); infinite where no d will do."""
    count, side = matrices.shape[:2]
    found = np.full(count, np.inf)
    able, bare = np.flatnonzero(ones >= 0), np.flatnonzero(ones < 0)
    if bare.size:
        found[bare[np.linalg.eigvalsh(matrices[bare])[:, 0] >= margin]] = 0.0
    if side == 1:
        found[able] = np.maximum(2.0 * margin - matrices[able, 0, 0], 0.0)
        return found
    if not able.size:
        return found
    at = ones[able]
    rest = (at[:, None] + np.arange(1, side)) % side
    corner = matrices[able, at, at]
    edge = matrices[able[:, None], rest, at[:, None]]
    body = matrices[able[:, None, None], rest[:, :, None], rest[:, None, :]] - 2.0 * margin * np.eye(side - 1)
    definite = np.linalg.eigvalsh(body)[:, 0] > 0
    solved = np.linalg.solve(body[definite], edge[definite][:, :, None])[:, :, 0]
    needed = 2.0 * margin - corner[definite] + (edge[definite] * solved).sum(axis=1)
    found[able[definite]] = np.maximum(needed, 0.0)
    return found
