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
import scipy.linalg as la

from ...conic.rigorous import UNIT
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
from .bound import Certified, Group, absorbed, certify_each, in_cones, make_parts

_ROUNDS = 12
_MARGIN = 16.0  # roundings a row: with so many, one round was enough in 40 of 40 polynomials


def lift_constant(
    identity: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray, bounds: VariableBounds
) -> tuple[np.ndarray, Certified] | None:
    """Unknowns with a lower bound (the first of them) and a certificate without loss, or None.

    The multipliers are near an optimum at these unknowns. Cost: a few batched linear solves and
    certifications; no solver is called.
    """
    return lift_constants(identity, identity.target[None], gram[None], free[None], unknowns[None], bounds)[0]


def lift_constants(
    identity: Identity,
    target: np.ndarray,
    gram: np.ndarray,
    free: np.ndarray,
    unknowns: np.ndarray,
    bounds: VariableBounds,
) -> list[tuple[np.ndarray, Certified] | None]:
    """``lift_constant`` of many targets and multipliers, as ``certify_each`` takes them."""
    settled, _, reasons = in_cones(identity, gram)
    gram = absorbed(identity, target, np.concatenate([settled, free, unknowns], axis=1))[:, : gram.shape[1]]
    scale = 1.0 + np.abs(gram).max(axis=1, initial=0.0)
    margin = _MARGIN * max(identity.sides, default=0) * UNIT * scale
    result: list[tuple[np.ndarray, Certified] | None] = [None] * len(gram)
    left = [k for k, known in enumerate(np.isfinite(scale).tolist()) if known and not reasons[k]]
    for _ in range(_ROUNDS):
        if not left:
            break
        lifted, paid = _lifted(identity, gram[left], margin[left])
        mended = np.isfinite(paid)
        left = [k for k, able in zip(left, mended.tolist(), strict=True) if able]
        moved = unknowns[left]
        moved[:, 0] -= paid[mended]
        shown = certify_each(identity, target[left], lifted[mended], free[left], moved, bounds)
        again = []
        for k, u, one in zip(left, moved, shown, strict=True):
            if one.loss == 0.0:
                result[k] = u, one
            elif np.isfinite(one.margin) and not one.unbounded_residual:
                margin[k] = max(4.0 * margin[k], 2.0 * margin[k] - 2.0 * min(one.margin, 0.0))
                again.append(k)
        left = again
    return result


def _lifted(identity: Identity, gram: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every plain block of every row lifted at its monomial 1 until its least eigenvalue is about the margin,
    and what it costs; not a number where that does not mend a block."""
    result, paid = gram.copy(), np.zeros(len(gram))
    for group in identity.derive(make_parts).squares:
        amounts = _amounts(group, gram, margin)
        result[:, group.around_ones[1]] += amounts
        paid += amounts.sum(axis=1)
    return result, paid


def _amounts(group: Group, gram: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Of every row and every block with a monomial 1 the least d >= 0 with ``Q + d e e' >= margin I``, or a
    little more, e the unit vector of its place; not a number in rows where no d will do, or a block without a
    1 is not that large."""
    matrices, (bare, _, corner, edges, rest) = group.matrices(gram), group.around_ones
    flat = matrices.reshape(len(gram), group.blocks.size * group.side**2)
    needed = 2.0 * margin[:, None] - flat.take(corner, axis=1)
    least = np.linalg.eigvalsh(matrices[:, bare])[:, :, 0]
    needed[(least < margin[:, None]).any(axis=1)] = np.nan
    if group.side > 1:
        body, edge = flat.take(rest, axis=1), flat.take(edges, axis=1)
        body -= 2.0 * margin[:, None, None, None] * np.eye(group.side - 1)
        for row, matrices_of, columns in zip(needed, body, edge, strict=True):
            for j, (matrix, column) in enumerate(zip(matrices_of, columns, strict=True)):
                if la.lapack.dpotrf(matrix, lower=1, clean=0)[1]:
                    row[j] = np.nan
                else:
                    row[j] += (column * la.lapack.dgesv(matrix, column)[2]).sum()
    return np.maximum(needed, 0.0)
