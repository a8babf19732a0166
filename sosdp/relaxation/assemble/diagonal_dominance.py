"""Diagonally dominant and scaled diagonally dominant Gram matrices: linear programs and 2 x 2 blocks.

A symmetric matrix with non-negative diagonal is diagonally dominant iff it is a non-negative combination of
``e_i e_i'`` and ``(e_i +- e_j)(e_i +- e_j)'`` (Barker and Carlson 1975), and scaled diagonally dominant iff
it is a sum of positive semidefinite matrices with two rows and columns each (Boman, Chen, Parekh and Toledo
2005). Both are positive semidefinite, so a solver's pieces, added up, are an ordinary Gram matrix, and
everything that is claimed of it is proven as always. What weakens is the moment side: it satisfies the dual
conditions only, one for each piece. Source: Ahmadi and Majumdar, SIAM J. Appl. Algebra Geometry 3 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...conic.eigenvalues import least_eigenvalue
from ...conic.svec import SQRT2, diagonal, smat, svec_length, triangle
from .identity import ONE, Block, Identity, by_side, times

if TYPE_CHECKING:
    from .identity import GramProgram, RawSolution

_OVERFLOW = 1e150  # beyond it eigenvalue routines may overflow


@dataclass(frozen=True, eq=False)
class Dominance:
    """The cone of every Gram matrix of an identity.

    ``cones``: one of ``sos``, ``sdsos``, ``dsos`` for each block; ``weight``: for every basis element of all
    blocks, numbered through, the factor that it has in the scaled program (dominance is meant in the basis of
    the user; scaled dominance does not depend on it); ``orbits``: None, or for every row of ``gram`` a number
    that is the same for rows whose pieces are interchangeable.
    """

    cones: tuple[str, ...]
    weight: np.ndarray
    orbits: np.ndarray | None = None

    def scaled(self, identity: Identity, gram: np.ndarray) -> Dominance:
        """The same cones for an identity whose rows are divided by ``gram`` (entry (i, j) by s_i s_j)."""
        sizes = [gram[rows][diagonal(b.side)] for b, rows in zip(identity.blocks, identity.slices())]
        return replace(self, weight=self.weight * np.sqrt(np.concatenate([np.zeros(0), *sizes])))

    def select(self, identity: Identity, blocks: list[int], orbits: np.ndarray) -> Dominance:
        """The cones of some of the blocks, with the orbits of their rows."""
        ends = np.cumsum([0, *identity.sides])
        weight = [self.weight[ends[k] : ends[k + 1]] for k in blocks]
        return Dominance(tuple(self.cones[k] for k in blocks), np.concatenate([np.zeros(0), *weight]), orbits)

    def pieces(self, identity: Identity) -> list[tuple[sp.csr_matrix, tuple[int, ...]]]:
        """For every block the pieces that its Gram matrix is a sum of.

        A matrix whose rows are vector forms of matrices of the block's side, and the sides of the pieces: the
        Gram matrix is ``rows.T @ (vector forms of the pieces)``.
        """
        result, cursor = [], 0
        for block, rows, cone in zip(identity.blocks, identity.slices(), self.cones, strict=True):
            weight = self.weight[cursor : cursor + block.side]
            cursor += block.side
            orbit = None if self.orbits is None else self.orbits[rows]
            result.append(_pieces(cone, weight, orbit))
        return result

    def count(self, identity: Identity) -> int:
        """Number of pieces that a solver gets."""
        return sum(len(sides) for _, sides in self.pieces(identity))

    def reduce(self, identity: Identity) -> Identity:
        """The identity whose Gram matrices are the pieces; its blocks have sides but no monomial bases."""
        pieces = self.pieces(identity)
        one = {side: Block("sos", (), mono.constant(side), ONE) for _, sides in pieces for side in set(sides)}
        rows = sp.csr_matrix(_all(pieces) @ identity.gram) if pieces else identity.gram
        blocks = tuple(one[side] for _, sides in pieces for side in sides)
        return replace(identity, blocks=blocks, gram=rows, dominance=None)

    def lift(self, program: GramProgram, raw: RawSolution) -> RawSolution:
        """A solution of the reduced program as one of the whole: the pieces added up."""
        pieces = self.pieces(program.identity)
        return replace(raw, gram=_all(pieces).T @ raw.gram if pieces else raw.gram)


def with_cone(identity: Identity, cones: str | list[str]) -> Identity:
    """The identity with Gram matrices restricted to the given cone (one for all blocks, or a list)."""
    every = [cones] * len(identity.blocks) if isinstance(cones, str) else cones
    if all(c == "sos" for c in every):
        return identity
    return replace(identity, dominance=Dominance(tuple(every), np.ones(sum(identity.sides))))


def cone_report(identity: Identity, cone: str) -> dict[str, str | int]:
    """What ``sizes`` says about a smaller cone: its name and the number of pieces that the solver got."""
    if identity.dominance is None:
        return {}
    smaller = identity if identity.symmetry is None else identity.symmetry.reduce(identity)
    count = 0 if smaller.dominance is None else smaller.dominance.count(smaller)
    return {"cone": cone, "cone_pieces": count}


def sizes_of(identity: Identity, degree: int, cone: str, report: dict[str, Any]) -> dict[str, Any]:
    """What ``sizes`` says of a program: moments, blocks, equalities, and what every reduction did."""
    return {
        "moments": int(identity.columns.shape[0]),
        "blocks": sorted(identity.solved_sides, reverse=True),
        "equalities": int(identity.free.shape[0]),
        "degree": int(degree),
        **report,
        **identity.symmetry_report,
        **cone_report(identity, cone),
    }


def least_eigenvalues(identity: Identity, moments: np.ndarray) -> np.ndarray:
    """What the moment and localizing matrix of each block violates, shape (..., blocks): the least
    eigenvalue, or, where the cone is smaller, the least over the principal 2 x 2 parts or the pieces that the
    dual cone looks at (of one vector of moments only)."""
    values = times(identity.tables.gram, moments)
    if identity.dominance is None:
        least = np.zeros((*values.shape[:-1], len(identity.blocks)))
        for side, (blocks, places) in identity.derive(by_side).items():
            here = values.take(places, axis=-1)
            least[..., blocks] = here[..., 0] if side == 1 else least_of_each(smat(here, side))
        return least
    result, pieces = [], identity.dominance.pieces(identity)
    for k, (block, rows) in enumerate(zip(identity.blocks, identity.slices(), strict=True)):
        if len(pieces[k][1]) == 1:
            result.append(float(least_of_each(smat(values[rows], block.side))))
            continue
        parts = pieces[k][0] @ values[rows]
        if pieces[k][1][0] == 2:
            a, b, c = parts.reshape(-1, 3).T
            parts = (a + c - np.sqrt((a - c) ** 2 + 2 * b * b)) / 2
        result.append(float(parts.min()))
    return np.array(result)


def least_of_each(stack: np.ndarray) -> np.ndarray:
    """The least eigenvalue of each matrix, shape (..., side, side) -> (...); minus infinity where its numbers
    are too large."""
    side, shape = stack.shape[-1], stack.shape[:-2]
    if stack.size == side**2:
        small = np.abs(stack).max(initial=0.0) < _OVERFLOW
        least = least_eigenvalue(stack.reshape(side, side)) if small else -np.inf
        return np.array(least).reshape(shape)
    good = np.abs(stack).max(axis=(-2, -1), initial=0.0) < _OVERFLOW
    return np.where(good, np.linalg.eigvalsh(np.where(good[..., None, None], stack, 0.0))[..., 0], -np.inf)


def _all(pieces: list[tuple[sp.csr_matrix, tuple[int, ...]]]) -> sp.csr_matrix:
    return sp.csr_matrix(sp.block_diag([rows for rows, _ in pieces], format="csr"))


def _pieces(cone: str, weight: np.ndarray, orbit: np.ndarray | None) -> tuple[sp.csr_matrix, tuple[int, ...]]:
    side = weight.size
    length = svec_length(side)
    if cone == "sos" or side == 1:
        return sp.eye_array(length, format="csr"), (side,)
    places = diagonal(side)
    row, column = triangle(side)
    pairs = np.flatnonzero(row != column)
    single = places
    if orbit is not None:
        # pieces of one orbit may be moved onto the first of them: the answer is averaged over the group
        pairs = pairs[np.sort(np.unique(orbit[pairs], return_index=True)[1])]
        single = places[np.sort(np.unique(orbit[places], return_index=True)[1])]
    i, j = row[pairs], column[pairs]
    if cone == "sdsos":
        place = np.stack([places[i], pairs, places[j]], axis=1).reshape(-1)
        matrix = sp.csr_matrix((np.ones(place.size), place, np.arange(place.size + 1)), (place.size, length))
        return matrix, (2,) * pairs.size
    larger = np.maximum(weight[i], weight[j])
    a, b = weight[i] / larger, weight[j] / larger
    place = np.stack([places[i], pairs, places[j]] * 2, axis=1).reshape(-1)
    data = np.stack([a * a, SQRT2 * a * b, b * b, a * a, -SQRT2 * a * b, b * b], axis=1).reshape(-1)
    indices = np.concatenate([single, place])
    pointers = np.concatenate([np.arange(single.size), single.size + np.arange(0, place.size + 1, 3)])
    height = single.size + 2 * pairs.size
    matrix = sp.csr_matrix(
        (np.concatenate([np.ones(single.size), data]), indices, pointers), (height, length)
    )
    return matrix, (1,) * height
