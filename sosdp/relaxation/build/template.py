"""Solving again with other numbers: the structure of an identity, filled without planning or sorting anew.

Planning (bases, cliques, pruning) and the sort of all monomials depend on which monomials occur, not on their
coefficients. A template keeps for every entry of the matrix its place; new coefficients are one pass of
multiplications. It serves a new objective with the same monomials, and a system whose right-hand sides, or
any coefficients, changed while no monomial was added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...algebra.polynomial import Polynomial
from ...reduction.quotient import find_quotient
from ...model.system import System
from .assemble import (Block, EqualityRows, Identity, gather, partition, place)
from .plan import Plan
from .forall import expand


@dataclass(frozen=True, eq=False)
class Template:
    """A plan, the place of every entry, and what the numbers must fit to.

    ``slots``: sorted keys of the monomials of each polynomial in the order of use; ``scales``: factors of its
    entries; ``position``: index in the matrix's data (-1: vanishes); ``factor``: from rewriting, or None.
    """

    layout: Plan
    slots: list[np.ndarray]
    scales: list[np.ndarray]
    position: np.ndarray
    factor: np.ndarray | None
    indices: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    heights: tuple[int, int, int]
    target_keys: np.ndarray
    shape: tuple[int, ...]

    def fill(self, system: System, target: Polynomial, unknowns: list[Polynomial]) -> Identity | None:
        """The identity with the numbers of this system and target, or None where the structure differs."""
        if _shape(system, unknowns) != self.shape or not np.array_equal(target.keys, self.target_keys):
            return None
        quotient = self.layout.quotient
        if not quotient.trivial or quotient.used:
            now = find_quotient(system.equalities)
            if now.power != quotient.power or now.used != quotient.used:
                return None
        blocks = [_renewed(block, system) for block in self.layout.blocks]
        equalities = [replace(e, polynomial=system.equalities[e.index]) for e in self.layout.equalities]
        values = []
        polynomials = _in_order(blocks, equalities, target, unknowns)
        if len(polynomials) != len(self.slots):
            return None
        for poly, slot, scale in zip(polynomials, self.slots, self.scales, strict=True):
            coefs = np.zeros(slot.size)
            at = np.searchsorted(slot, poly.keys)
            if (at == slot.size).any() or not np.array_equal(slot[at], poly.keys):
                return None  # a monomial that was not there
            coefs[at] = poly.coefs.astype(float)
            values.append((scale[:, None] * coefs[None, :]).reshape(-1))
        flat = np.concatenate(values) if values else np.zeros(0)
        if self.factor is not None:
            flat = flat * self.factor
        there = self.position >= 0
        data = np.bincount(self.position[there], weights=flat[there], minlength=self.indices.size)
        matrix = (data, self.indices, self.indptr)
        if not data.all():
            # a copy: what is removed here must stay in the template
            whole = sp.csr_matrix(matrix, shape=(self.heights[-1], self.columns.shape[0]), copy=True)
            whole.eliminate_zeros()
            matrix = (whole.data, whole.indices, whole.indptr)
        return partition(matrix, self.columns, self.heights, blocks, equalities, quotient)


@dataclass
class Warm:
    """What a relaxation remembers between solves: how often it planned, how often it only filled."""

    planned: int = 0
    reused: int = 0
    template: Template | None = None


def make_template(
    layout: Plan, system: System, target: Polynomial, unknowns: list[Polynomial]
) -> Template | None:
    """The template of a planned identity; None where a reduction depends on the numbers (permutations,
    Groebner bases, constraints in expectation). Cost: that of assembling once, and one more sort."""
    blocks, equalities, quotient = layout.blocks, layout.equalities, layout.quotient
    expected = any(b.kind == "expectation" for b in blocks) or any(e.index < 0 for e in equalities)
    if layout.actions or quotient.standard is not None or expected:
        return None
    collect, heights = gather(blocks, equalities, target, unknowns, layout.ids)
    if not collect.raw:
        return None
    rows, column, factor, columns = place(collect, quotient)
    width = columns.shape[0]
    position = np.full(rows.size, -1)
    there = column >= 0
    code, position[there] = np.unique(
        rows[there].astype(np.int64) * width + column[there], return_inverse=True
    )
    counts = np.bincount((code // width).astype(np.int64), minlength=heights[-1])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    indices = (code % width).astype(np.int32)
    for shared in (position, indices, indptr, columns):
        shared.flags.writeable = False
    return Template(
        layout,
        [p.keys for p in _in_order(blocks, equalities, target, unknowns)],
        collect.scales,
        position,
        factor,
        indices,
        indptr,
        columns,
        heights,
        target.keys,
        _shape(system, unknowns),
    )


def _shape(system: System, unknowns: Sequence[Polynomial]) -> tuple[int, ...]:
    sides = [m.shape[0] for m in system.matrices]
    return (len(system.equalities), len(system.inequalities), len(system.foralls), len(unknowns), *sides)


def _renewed(block: Block, system: System) -> Block:
    """The block with the numbers of another system."""
    if block.kind == "inequality":
        return replace(block, multiplier=system.inequalities[block.index[0]])
    if block.kind == "product":
        exact = system.inequalities[block.index[0]].as_exact()
        for k in block.index[1:]:
            exact = exact * system.inequalities[k].as_exact()
        return replace(block, multiplier=exact)
    if block.kind == "psd":
        return replace(block, multiplier=np.asarray(system.matrices[block.index[0]], dtype=object))
    if block.kind == "forall":
        matrix, null = expand(system.foralls[block.index[0]], f"s{block.index[0]}")
        return replace(block, multiplier=matrix, null=null)
    return block


def _in_order(
    blocks: list[Block], equalities: list[EqualityRows], target: Polynomial, unknowns: list[Polynomial]
) -> list[Polynomial]:
    """Polynomials in the order in which ``gather`` uses them."""
    found: list[Polynomial] = []
    for block in blocks:
        if block.entry is None:
            found.append(block.multiplier)
            continue
        entries = np.unique(block.entry)
        for a in range(block.multiplier.shape[0]):
            for b in range(block.multiplier.shape[0]):
                poly = block.multiplier[a, b]
                if len(poly.coefs) and _meet(block.entry, a, b, entries):
                    found.append(poly)
    found += [rows.polynomial for rows in equalities]
    found += [p for p in (target, *unknowns) if len(p.coefs)]
    return found


def _meet(entry: np.ndarray, a: int, b: int, entries: np.ndarray) -> bool:
    """Whether some row with entry a stands before (or is) one with entry b: the upper triangle has the
    pair."""
    if a not in entries or b not in entries:
        return False
    first = int(np.flatnonzero(entry == a)[0])
    last = int(np.flatnonzero(entry == b)[-1])
    return first <= last
