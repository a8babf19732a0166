"""From the assembled identity of a relaxation to a program at points, and the way back.

The identity compares coefficients; multiplied by the values V of its columns at points it compares values.
An identity that points do not determine (rewriting rules with multiple zeros, equations whose multiples up to
the degree do not generate all that vanishes on the variety) is refused: ``sample`` raises NotSampled and says
why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ....algebra import monomials as mono
from ....conic.clock import reserve
from ....conic.svec import svec
from ...assemble.identity import GramProgram
from .box_proof import BoxFrame
from .pieces import Factor, Piece, in_expectation
from .points import NotSampled
from .sampled import SampledBlock, SampledProgram

if TYPE_CHECKING:
    from ...assemble.identity import Identity


@dataclass(frozen=True, eq=False)
class Sample:
    """A sampled program and what is needed to read its solution: values V of the columns at the points and
    the triangular factors of the bases; ``frame``: the box, where a proof in Chebyshev coefficients is
    possible. Points after the last row of V stand for upper limits of unknowns."""

    program: SampledProgram
    source: GramProgram
    values: np.ndarray
    factors: tuple[Factor, ...]
    frame: BoxFrame | None = None

    def gram_vector(self, grams: list[np.ndarray]) -> np.ndarray:
        """Vector form of all Gram matrices in the monomial bases."""
        parts = [svec(f.back(g)) for f, g in zip(self.factors, grams, strict=False)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def moments(self, x: np.ndarray) -> np.ndarray:
        """The moments of the columns."""
        return self.values.T @ x[: self.values.shape[0]]

    def multipliers(self, gram: np.ndarray, unknowns: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Free multipliers that account best for what the Gram matrices leave of every coefficient."""
        identity = self.source.identity
        left = target + identity.unknown.T @ unknowns - identity.gram.T @ gram
        return np.linalg.lstsq(identity.free.toarray().T, left, rcond=1e-12)[0]


def sample(program: GramProgram) -> Sample:
    """The program at points; raises NotSampled where points do not determine it.

    Cost: an LU factorisation of (candidates, columns) from three variables on, a QR factorisation a block.
    """
    _check(program)
    identity = program.identity
    pieces = [Piece(identity, columns, blocks) for columns, blocks in _components(identity)]
    count = sum(p.values.shape[0] for p in pieces)
    V = np.zeros((count, identity.columns.shape[0]))
    blocks: dict[int, SampledBlock] = {}
    factors: dict[int, Factor] = {}
    start = 0
    for piece in pieces:
        stop = start + piece.values.shape[0]
        V[start:stop, piece.columns] = piece.values
        for number in piece.blocks:
            reserve()
            rows, owner, sign, factor = piece.block(number)
            blocks[number] = SampledBlock(rows, owner + start, sign)
            factors[number] = factor
        start = stop
    order = range(len(identity.blocks))
    f = V @ identity.target
    # the multiplier of an equation in expectation is a number: one more unknown, without a price
    numbers = identity.free[in_expectation(identity)]
    H = np.concatenate([-(V @ identity.unknown.T.toarray()), V @ numbers.T.toarray()], axis=1)
    objective = np.concatenate([program.objective.astype(float), np.zeros(numbers.shape[0])])
    limited = np.flatnonzero(np.isfinite(program.upper))
    result = [blocks[k] for k in order]
    if limited.size:
        # u_k <= upper_k is one more point, where upper_k - u_k must be a square
        f = np.concatenate([f, program.upper[limited]])
        H = np.concatenate([H, np.eye(H.shape[1])[limited]])
        result += [SampledBlock(np.ones((1, 1)), np.array([count + k])) for k in range(limited.size)]
    sampled = SampledProgram(f, H, objective, tuple(result))
    frame = pieces[0].frame([factors[k] for k in order]) if len(pieces) == 1 else None
    return Sample(sampled, program, V, tuple(factors[k] for k in order), frame)


def _check(program: GramProgram) -> None:
    identity = program.identity
    if identity.dominance is not None:
        raise NotSampled("smaller cones have no monomial bases")
    if identity.hermitian:
        raise NotSampled("words in variables and conjugates have no values at points")
    if program.quadratic is not None:
        raise NotSampled("quadratic terms of the unknowns")
    if any(block.null is not None for block in identity.blocks):
        raise NotSampled("for-all constraints")
    if not identity.blocks:
        raise NotSampled("no Gram matrix")
    for block in identity.blocks:
        if block.entry is None and block.side > 1 and not block.basis[1].any():
            raise NotSampled("a reduced identity has no monomial bases")


def _components(identity: Identity) -> list[tuple[np.ndarray, list[int]]]:
    """Columns and blocks that belong together (the constraints of a SoS program stand side by side)."""
    columns = identity.columns.shape[0]
    slices = identity.slices()
    # one relaxation's blocks may not touch (sign classes do through the columns they share); pieces are told
    # apart by a repeated monomial
    if mono.unique(identity.columns)[0].shape[0] == columns:
        return [(np.arange(columns), list(range(len(slices))))]
    owner = np.repeat(np.arange(len(slices)), [s.stop - s.start for s in slices])
    entries = identity.gram.tocoo()
    rows = np.concatenate([owner[entries.row], identity.free.tocoo().row + len(slices)])
    cols = np.concatenate([entries.col, identity.free.tocoo().col])
    height = len(slices) + identity.free.shape[0]
    graph = sp.coo_matrix((np.ones(rows.size), (rows, cols + height)), shape=(height + columns,) * 2)
    _, label = connected_components(graph, directed=False)
    result = []
    for name in np.unique(label[height:]):
        blocks = [k for k in range(len(slices)) if label[k] == name]
        if not blocks:
            raise NotSampled("equations between coefficients")
        result.append((np.flatnonzero(label[height:] == name), blocks))
    return result
