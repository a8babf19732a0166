"""Blocks in pieces: by sign symmetries, and by the terms that occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...algebra import monomials as mono
from ...model.options import Options
from ...reduction.quotient import Quotient
from ...reduction.symmetry import SignSymmetry, split
from ...reduction.term_sparsity import TermBlock, term_sparsity
from .identity import Block, EqualityRows


def split_by_signs(
    blocks: list[Block], equalities: list[EqualityRows], signs: SignSymmetry
) -> tuple[list[Block], list[EqualityRows]]:
    """Blocks of equal sign classes, and the multiples of equalities that no sign flip changes."""
    pieces = []
    for block in blocks:
        for members in split(signs.signature(block.basis)):
            entry = None if block.entry is None else block.entry[members]
            pieces.append(replace(block, basis=block.basis[members], entry=entry))
    rows = []
    for equality in equalities:
        lead = np.broadcast_to(
            equality.polynomial.monos[:1], (equality.multipliers.shape[0], equality.polynomial.monos.shape[1])
        )
        invariant = signs.signature(mono.multiply(equality.multipliers, lead)) == 0
        if invariant.any():
            rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[invariant]))
    return pieces, rows


def split_by_terms(
    blocks: list[Block],
    equalities: list[EqualityRows],
    support: np.ndarray,
    quotient: Quotient,
    options: Options,
) -> tuple[list[Block], list[EqualityRows], int]:
    """Blocks of the graph of terms, the multiples of equalities that are left, and the steps it took."""
    completion = "chordal" if options.sparsity.endswith("chordal") else "components"
    found = term_sparsity(
        [TermBlock(b.kind == "sos", b.basis, _terms_of(b), b.entry) for b in blocks],
        [(e.multipliers, e.polynomial.monos) for e in equalities],
        support,
        quotient.normal_form,
        completion,
        options.term_steps,
    )
    pieces = []
    for block, groups in zip(blocks, found.members, strict=True):
        for members in groups:
            entry = None if block.entry is None else block.entry[members]
            pieces.append(replace(block, basis=block.basis[members], entry=entry))
    rows = [
        EqualityRows(e.index, e.polynomial, e.multipliers[kept])
        for e, kept in zip(equalities, found.kept_rows, strict=True)
        if kept.size
    ]
    return pieces, rows, found.steps


def _terms_of(block: Block) -> Callable[[int, int], np.ndarray]:
    if block.entry is None:
        return lambda a, b: block.multiplier.monos
    return lambda a, b: block.multiplier[a, b].monos
