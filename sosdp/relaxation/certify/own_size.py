"""What several identities in common unknowns miss, each in its own size: estimates in floats, no proofs.

One number for the whole, relative to its largest coefficient, hides an identity of size one beside another of
size 1e8, and terms of size one beside terms of size 1e8 in the same identity.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...conic.svec import smat, triangle
from ..build.diagonal_dominance import least_eigenvalues
from ..build.identity import GramProgram, Identity, RawSolution


def own_misfit(pieces: list[Identity], raw: RawSolution) -> float:
    """How far the multipliers are from satisfying the worst of the identities (stacked in this order): the
    residual of a term relative to what it is the sum of, and the least eigenvalue of a Gram matrix whose rows
    are measured by the terms of their squares."""
    if not all(np.isfinite(p).all() for p in (raw.gram, raw.free, raw.unknowns)):
        return np.inf
    worst, row, cursor = 0.0, 0, 0
    for piece in pieces:
        r, f = piece.gram.shape[0], piece.free.shape[0]
        worst = max(
            worst, _misfit(piece, raw.gram[row : row + r], raw.free[cursor : cursor + f], raw.unknowns)
        )
        row, cursor = row + r, cursor + f
    return worst


def _misfit(piece: Identity, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray) -> float:
    residual = piece.target + piece.unknown.T @ unknowns - piece.gram.T @ gram - piece.free.T @ free
    # an unknown near zero counts as one of size one: what is zero is found to the solver's accuracy only
    least = np.maximum(np.abs(unknowns), 1.0)
    size = np.abs(piece.target) + _absolute(piece.unknown).T @ least
    smallest = float(size[size > 0].min(initial=np.inf))
    smallest = smallest if np.isfinite(smallest) else 1.0
    size = np.maximum(size, smallest)
    sum_of = _absolute(piece.gram).T @ np.abs(gram) + _absolute(piece.free).T @ np.abs(free)
    worst = float((np.abs(residual) / np.maximum(size, sum_of)).max(initial=0.0))
    for block, rows in zip(piece.blocks, piece.slices(), strict=True):
        i, j = triangle(block.side)
        squares = piece.gram[rows][np.flatnonzero(i == j)]
        terms = np.full(block.side, smallest)
        for k in range(block.side):
            hit = squares.indices[squares.indptr[k] : squares.indptr[k + 1]]
            terms[k] = float(size[hit].min(initial=np.inf)) if hit.size else smallest
        matrix = smat(gram[rows], block.side)
        length = np.sqrt(np.maximum(np.abs(np.diag(matrix)), terms))
        worst = max(worst, -float(np.linalg.eigvalsh(matrix / np.outer(length, length))[0]))
    return worst if np.isfinite(worst) else np.inf


def own_moment_violation(program: GramProgram, pieces: list[Identity], raw: RawSolution) -> float:
    """By how much moments miss what the worst of the identities asks of them (cones and equations, relative
    to its own largest moment or to one), and the equations that the unknowns state, relative to their terms.
    """
    y = raw.moments
    if not np.isfinite(y).all():
        return np.inf
    slopes = np.abs(program.objective + program.identity.unknown @ y)
    terms = np.abs(program.objective) + _absolute(program.identity.unknown) @ np.abs(y)
    worst = float((slopes / np.maximum(terms, 1.0)).max(initial=0.0))
    start = 0
    for piece in pieces:
        part = y[start : start + piece.columns.shape[0]]
        start += piece.columns.shape[0]
        missed = [float(np.abs(piece.free @ part).max(initial=0.0))]
        missed += [-v for v in least_eigenvalues(piece, part)]
        worst = max(worst, max(missed) / max(1.0, float(np.abs(part).max(initial=0.0))))
    return worst


def missed_of_own(sums: float, moments: float, enough: float) -> str:
    """What to say where an identity (``sums``) or its moments miss more than ``enough``; else nothing."""
    if not max(sums, moments) > enough:
        return ""
    if sums > moments:
        return f"a constraint is missed by {sums:.1g} of the size of its own terms; try other units"
    return f"the moments of a constraint miss what it asks by {moments:.1g} of their own size"


def _absolute(matrix: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix(abs(matrix))
