"""Blocks in pieces: by sign symmetries, and by the terms that occur."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...conic.svec import position, triangle
from ...model.options import Options
from ...reduction.symmetry import SignSymmetry, split
from ...reduction.term_sparsity import term_sparsity
from .identity import Block, EqualityRows, Identity


def split_by_signs(
    blocks: list[Block], equalities: list[EqualityRows], signs: SignSymmetry
) -> tuple[list[Block], list[EqualityRows]]:
    """Blocks of equal sign classes, and the multiples of equalities that no sign flip changes."""
    pieces = []
    for block in blocks:
        pieces += [block.part(members) for members in split(signs.signature(block.basis))]
    rows = []
    for equality in equalities:
        lead = np.broadcast_to(
            equality.polynomial.monos[:1], (equality.multipliers.shape[0], equality.polynomial.monos.shape[1])
        )
        invariant = signs.signature(mono.multiply(equality.multipliers, lead)) == 0
        rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[invariant]))
    return pieces, rows


def split_by_terms(identity: Identity, monos: np.ndarray, options: Options) -> tuple[Identity, int]:
    """The identity with the blocks of the graph of terms and the multiples of equalities that are left, and
    the steps it took; ``monos``: those of the data. Constraints in expectation stay as they are."""
    support = np.zeros(identity.columns.shape[0], dtype=bool)
    coefs, normal = identity.quotient.normal_form(monos)
    place = mono.Index(identity.columns).find(normal)
    support[place[(coefs != 0) & (place >= 0)]] = True
    squares = [np.equal(*triangle(block.side)) & (block.kind == "sos") for block in identity.blocks]
    support[sp.csr_matrix(identity.gram[np.concatenate([[], *squares]) > 0]).indices] = True
    result = term_sparsity(
        identity.sides,
        identity.gram,
        identity.free,
        support,
        chordal=options.sparsity.endswith("chordal"),
        steps=options.term_steps,
        whole=[k for k, block in enumerate(identity.blocks) if block.kind == "expectation"],
    )
    equalities, kept = [], result.rows
    for equality, part in zip(identity.equalities, identity.free_slices(), strict=True):
        kept[part] |= equality.index < 0
        equalities.append(replace(equality, multipliers=equality.multipliers[kept[part]]))
    fewer = replace(identity, equalities=tuple(equalities), free=sp.csr_matrix(identity.free[kept]))
    return cut(fewer, result.members).trimmed()[0], result.steps


def cut(identity: Identity, members: list[list[np.ndarray]]) -> Identity:
    """The identity with principal parts of every Gram matrix in its place."""
    blocks, entries = [], []
    for block, rows, groups in zip(identity.blocks, identity.slices(), members, strict=True):
        for group in groups:
            blocks.append(block.part(group))
            row, column = triangle(group.size)
            entries.append(rows.start + position(group[row], group[column]))
    gram = sp.csr_matrix(identity.gram[np.concatenate([np.zeros(0, dtype=int), *entries])])
    return replace(identity, blocks=tuple(blocks), gram=gram)
