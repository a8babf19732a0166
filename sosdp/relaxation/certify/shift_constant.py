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

from dataclasses import dataclass

import numpy as np

from ...algebra import monomials as mono
from ...conic.rigorous import UNIT
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
from .bound import Certified, certify, plain_groups

_ROUNDS = 12


@dataclass
class _State:
    """A trial: the Gram vector, what it costs, and the numbers of the blocks that lifting does not mend."""

    gram: np.ndarray
    paid: float
    stuck: list[int]


def lift_constant(
    identity: Identity, near: Certified, unknowns: np.ndarray, bounds: VariableBounds
) -> tuple[np.ndarray, Certified] | None:
    """Unknowns with a lower bound (the first of them) and a certificate without loss, or None.

    ``near``: multipliers near an optimum, residual absorbed, at these unknowns. Cost: a few batched linear
    solves and certifications; no solver is called.
    """
    gram = near.gram.copy()
    if not np.isfinite(gram).all():
        return None
    scale = 1.0 + float(np.abs(gram).max(initial=0.0))
    margin = 256.0 * UNIT * scale
    ones = _places_of_one(identity)
    for _ in range(_ROUNDS):
        state = _lifted(identity, gram, margin, ones)
        if state.stuck:
            return None
        moved = unknowns.copy()
        moved[0] -= state.paid
        found = certify(identity, state.gram, near.free, moved, bounds)
        if found.loss == 0.0:
            return moved, found
        if not np.isfinite(found.margin):
            return None
        margin = max(4.0 * margin, 2.0 * margin - 2.0 * min(found.margin, 0.0))
    return None


def lifted(identity: Identity, gram: np.ndarray, roundings: float) -> tuple[np.ndarray, float]:
    """Gram matrices lifted at the monomial 1 by a margin of so many roundings, and what that costs: the given
    ones where it does not help, or where they are not finite."""
    if not np.isfinite(gram).all():
        return gram, 0.0
    margin = roundings * UNIT * (1.0 + float(np.abs(gram).max(initial=0.0)))
    state = _lifted(identity, gram, margin, _places_of_one(identity))
    return (gram, 0.0) if state.stuck else (state.gram, state.paid)


def _lifted(identity: Identity, gram: np.ndarray, margin: float, places: np.ndarray) -> _State:
    """Every plain block lifted at its monomial 1 until its least eigenvalue is about the margin."""
    state = _State(gram.copy(), 0.0, [])
    slices = identity.slices()
    for group in plain_groups(identity):
        matrices = group.matrices(gram)
        chosen = np.flatnonzero(np.linalg.eigvalsh(matrices)[:, 0] < margin)
        if not chosen.size:
            continue
        ones = places[group.blocks[chosen]]
        amounts = _amounts(matrices[chosen], ones, margin)
        for k, one, amount in zip(chosen.tolist(), ones.tolist(), amounts.tolist(), strict=True):
            number = int(group.blocks[k])
            if not np.isfinite(amount):
                state.stuck.append(number)
                continue
            # the diagonal entry of the vector form
            state.gram[slices[number].start + one * (one + 3) // 2] += amount
            state.paid += amount
    return state


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
    """The least d >= 0 with ``Q + d e e' >= margin I``, shape (k,), e the unit vector of each place (-1:
    none); infinite where no d will do."""
    count, side = matrices.shape[:2]
    found = np.full(count, np.inf)
    able = np.flatnonzero(ones >= 0)
    if side == 1:
        found[able] = np.maximum(2.0 * margin - matrices[able, 0, 0], 0.0)
        return found
    if not able.size:
        return found
    at = ones[able]
    rest = np.array([np.delete(np.arange(side), one) for one in at])
    corner = matrices[able, at, at]
    edge = matrices[able[:, None], rest, at[:, None]]
    body = matrices[able[:, None, None], rest[:, :, None], rest[:, None, :]] - 2.0 * margin * np.eye(side - 1)
    definite = np.linalg.eigvalsh(body)[:, 0] > 0
    solved = np.linalg.solve(body[definite], edge[definite][:, :, None])[:, :, 0]
    needed = 2.0 * margin - corner[definite] + np.einsum("ki,ki->k", edge[definite], solved)
    found[able[definite]] = np.maximum(needed, 0.0)
    return found
