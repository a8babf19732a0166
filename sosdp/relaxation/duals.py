"""Float multipliers, as Gram matrices and polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..algebra import monomials as mono
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial, variable
from ..conic.svec import smat
from .assemble.identity import Identity


@dataclass(frozen=True, eq=False)
class GramBlock(PickledByName):
    """Gram matrix of one multiplier: ``<gram, b b' (x) G>``; ``sosdp.relaxation.assemble.assemble.Block``
    documents kind and index."""

    _of_ids: ClassVar = ("basis",)

    kind: str
    index: tuple[int, ...]
    basis: np.ndarray
    entry: np.ndarray | None
    gram: np.ndarray


@dataclass(frozen=True, eq=False)
class DualData:
    """Float multipliers with ``objective - bound = sum of blocks + sum lambda_j h_j``, approximately.

    The identity holds modulo the rewriting rules of the quotient (``x**2 = x`` and the like), whose own
    multipliers are not listed. ``margin``: every Gram matrix is at least this multiple of the identity, when
    known.
    """

    blocks: tuple[GramBlock, ...]
    equality_multipliers: tuple[tuple[int, Polynomial], ...]
    bound: float
    margin: float | None = None

    def __repr__(self) -> str:
        sides = [b.gram.shape[0] for b in self.blocks]
        grams = f"{len(sides)} Gram matrices up to side {max(sides, default=0)}"
        return f"DualData({grams}, {len(self.equality_multipliers)} multipliers of equalities)"


def dual_data(
    identity: Identity, gram: np.ndarray, free: np.ndarray, bound: float, margin: float | None = None
) -> DualData:
    """Multipliers as Gram blocks and equality polynomials."""
    blocks = tuple(
        GramBlock(b.kind, b.index, b.basis, b.entry, smat(gram[rows], b.side))
        for b, rows in zip(identity.blocks, identity.slices(), strict=True)
    )
    multipliers = tuple(
        (equality.index, Polynomial.from_arrays(equality.multipliers, free[rows]))
        for equality, rows in zip(identity.equalities, identity.free_slices(), strict=True)
    )
    return DualData(blocks, multipliers, bound, margin)


def moved_dual(dual: DualData, origin: Mapping[int, Fraction]) -> DualData:
    """Multipliers in u = x - origin as multipliers in x."""
    if not any(origin.values()):
        return dual
    moved = {v: variable(v) - c for v, c in origin.items() if c}

    def back(p: Polynomial) -> Polynomial:
        shift: Any = {variable(v): moved[v] for v in p.variable_ids.tolist() if v in moved}
        return p.subs(shift).as_float() if shift else p

    blocks = tuple(
        block if moved.keys().isdisjoint(block.basis.reshape(-1).tolist()) else _moved_block(block, back)
        for block in dual.blocks
    )
    free = tuple((j, back(p)) for j, p in dual.equality_multipliers)
    return DualData(blocks, free, dual.bound, dual.margin)


def _moved_block(block: GramBlock, back: Callable[[Polynomial], Polynomial]) -> GramBlock:
    """b(u)' G b(u) as a form in the monomials in x that b(u) has."""
    images = [back(monomial(row)) for row in block.basis]
    entry = np.zeros(len(images), dtype=int) if block.entry is None else block.entry
    rows = mono.concatenate([p.monos for p in images])
    owner = np.repeat(np.arange(len(images)), [p.coefs.size for p in images])
    label = (int(rows.max(initial=0)) + 1 + entry[owner])[:, None].astype(mono.MONOMIAL)
    # a factor above all variables keeps the rows of a matrix apart
    first, place = mono.group(np.concatenate([rows, label], axis=1))
    table = np.zeros((first.size, len(images)))
    np.add.at(table, (place, owner), np.concatenate([p.coefs for p in images]).astype(float))
    kept = None if block.entry is None else entry[owner[first]]
    return GramBlock(block.kind, block.index, mono.trim(rows[first]), kept, table @ block.gram @ table.T)


def monomial(row: np.ndarray) -> Polynomial:
    """The monomial of a row of ids."""
    return Polynomial.from_arrays(row[None, :], np.ones(1, dtype=np.int64))
