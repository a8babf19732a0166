"""Blocks of one size as one array: what is done to each is done to all in one call.

From three variables on a box has many blocks of the same side, and a call costs more than the arithmetic of a
small one. Blocks with signs, with several rows a point, or on a part of the points are stacks of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .sampled import SampledBlock, SampledProgram


@dataclass(frozen=True, eq=False)
class Stack:
    """``members``: numbers of the blocks; ``rows``, shape (B, R, L); ``first``: the first block, whose points
    and signs are those of all."""

    members: tuple[int, ...]
    rows: np.ndarray
    first: SampledBlock

    @property
    def side(self) -> int:
        """Side of each Gram matrix."""
        return int(self.rows.shape[2])

    def moment(self, x: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """``Lambda(x)`` of each block, shape (B, L, L); in the basis of other ``rows`` if they are given."""
        p = self.rows if rows is None else rows
        if p.shape[0] == 1:
            return self.first.moment(x, rows=p[0])[None]
        return (p * x[:, None]).transpose(0, 2, 1) @ p

    def produced(self, rows: np.ndarray, matrices: np.ndarray, points: int) -> np.ndarray:
        """``sum_i A_i(S_i)`` in the basis of the rows, shape (U,)."""
        return self.first.spread(np.einsum("bij,bij->i", rows @ matrices, rows), points)

    def diagonal(self, rows: np.ndarray, values: np.ndarray, points: int) -> np.ndarray:
        """``produced`` of diagonal matrices, shape (B, L)."""
        return self.first.spread(((rows * rows) @ values[:, :, None]).sum(axis=0)[:, 0], points)


def stacked(program: SampledProgram) -> list[Stack]:
    """All blocks of a program, the largest first."""
    alike: dict[tuple, list[int]] = {}
    for k, block in enumerate(program.blocks):
        plain = block.sign is None and block.interval == (0, program.points)
        alike.setdefault((block.side, -1 if plain else k), []).append(k)
    result = []
    for _, members in sorted(alike.items(), reverse=True):
        rows = np.stack([program.blocks[k].rows for k in members])
        result.append(Stack(tuple(members), rows, program.blocks[members[0]]))
    return result


def diagonals(matrices: np.ndarray) -> np.ndarray:
    """The diagonals of a stack, shape (B, L): a view, whatever the order of the entries."""
    return np.einsum("bii->bi", matrices)
