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

import math

import numpy as np
import scipy.linalg as la

from ...conic.rigorous import UNIT
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
from .bound import Certified, Group, absorbed, certify, in_cones, make_parts

_ROUNDS = 12


def lift_constant(
    identity: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray, bounds: VariableBounds
) -> tuple[np.ndarray, Certified] | None:
    """Unknowns with a lower bound (the first of them) and a certificate without loss, or None.

    The multipliers are near an optimum at these unknowns. Cost: a few batched linear solves and
    certifications; no solver is called.
    """
    settled = in_cones(identity, gram)
    if isinstance(settled, str):
        return None
    gram = absorbed(identity, np.concatenate([settled[0], free, unknowns]))[: gram.size]
    scale = 1.0 + float(np.abs(gram).max(initial=0.0))
    if not math.isfinite(scale):
        return None
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
    result, paid = gram.copy(), 0.0
    for group in identity.derive(make_parts).squares:
        amounts = _amounts(group, gram, margin)
        if amounts is None:
            return None
        result[group.around_ones[1]] += amounts
        paid += float(amounts.sum())
    return result, paid


def _amounts(group: Group, gram: np.ndarray, margin: float) -> np.ndarray | None:
    """Of every block with a monomial 1 the least d >= 0 with ``Q + d e e' >= margin I``, or a little more, e
    the unit vector of its place; None where no d will do, or a block without a 1 is not that large."""
    matrices, (bare, _, corner, edges, rest) = group.matrices(gram), group.around_ones
    if bare.size and not (np.linalg.eigvalsh(matrices[bare])[:, 0] >= margin).all():
        return None
    needed = 2.0 * margin - matrices.take(corner)
    if group.side > 1:
        body, edge = matrices.take(rest) - 2.0 * margin * np.eye(group.side - 1), matrices.take(edges)
        for k, (matrix, column) in enumerate(zip(body, edge, strict=True)):
            if la.lapack.dpotrf(matrix, lower=1, clean=0)[1]:
                return None
            needed[k] += (column * la.lapack.dgesv(matrix, column)[2]).sum()
    return np.maximum(needed, 0.0)
