"""Permutation symmetry of an assembled identity: a much smaller program for the solver, and the way back.

Moments of one orbit are equal, Gram matrices may be averaged over the group. Blocks in one orbit share one
Gram matrix, which commutes with the stabiliser of the block; that algebra of matrices is block diagonalised:
eigenspaces of a generic symmetric element are irreducible, a vector v of one of them generates under the
algebra a small invariant subspace with orthonormal basis W, and an invariant matrix M is positive
semidefinite on all copies of the irreducible representation iff W'MW is (Murota, Kanno, Kojima, Kojima 2010;
Gatermann and Parrilo 2004).

Nothing that is claimed depends on the floating-point decomposition. Whatever W is, the average over the group
of W Q W' is positive semidefinite with Q; a solver's answer is mapped back to the monomial bases and
certified there like any other. That nothing was lost is checked by counting: the dimensions of the pieces
must add up to that of the algebra (Wedderburn); otherwise the block stays whole and only its moments merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.pickled_by_name import PickledByName
from ...conic.svec import position, roots, smat, svec_length, triangle
from ...reduction.permutation import Action, orbit_numbers
from ...reduction.rows import distinct_rows
from .identity import ONE, Block, GramProgram, Identity, RawSolution

_WORK = 4e9  # products in one change of basis beyond which a block is left whole
_ZERO = 1e-12


@dataclass(frozen=True, eq=False)
class Piece:
    """One block of the reduced program: subspace ``basis`` (N, m) of the block with number ``block``; None
    for the whole space."""

    block: int
    basis: np.ndarray | None
    side: int


@dataclass(frozen=True, eq=False)
class Symmetry(PickledByName):
    """Orbits of an identity under a group of permutations of its variables.

    ``variables``: orbit of each variable id, 0 where nothing moves it; ``column``: orbit of each column;
    ``pair``: orbit of each row of ``gram``, numbered so that the orbits met in one block are those of no
    block outside its orbit.
    """

    _by_id: ClassVar = ("variables",)

    generators: int
    variables: np.ndarray
    column: np.ndarray
    pair: np.ndarray
    pieces: tuple[Piece, ...]

    @property
    def sides(self) -> list[int]:
        """Sides of the blocks that a solver sees."""
        return [p.side for p in self.pieces]

    @property
    def report(self) -> dict:
        """What ``sizes`` says about it."""
        return {
            "permutation_generators": self.generators,
            "orbit_moments": int(self.column.max(initial=-1)) + 1,
        }

    def reduce(self, identity: Identity) -> Identity:
        """The identity of the reduced program; its blocks have sides but no monomial bases."""
        fold = _fold(self.column)
        first = np.unique(self.column, return_index=True)[1]
        parts = []
        slices = identity.slices()
        for piece in self.pieces:
            rows = slices[piece.block]
            folded = sp.csr_matrix(identity.gram[rows] @ fold)
            if piece.basis is None:
                parts.append(folded)
                continue
            labels, local = np.unique(self.pair[rows], return_inverse=True)
            representative = np.unique(local, return_index=True)[1]
            row, column = triangle(identity.blocks[piece.block].side)
            scale = roots(identity.blocks[piece.block].side)
            coefficients = sp.diags_array(1 / scale[representative]) @ folded[representative]
            parts.append(_compressed(piece.basis, row, column, local, labels.size) @ coefficients)
        free, _ = self._free(identity, fold)
        blocks = tuple(Block("sos", (), mono.constant(p.side), ONE) for p in self.pieces)
        dominance = identity.dominance
        if dominance is not None:
            numbers = [p.block for p in self.pieces]
            orbits = np.concatenate([np.zeros(0, dtype=int), *(self.pair[slices[k]] for k in numbers)])
            dominance = dominance.select(identity, numbers, orbits)
        unknown = sp.csr_matrix(identity.unknown @ fold) if identity.unknown.shape[0] else None
        return replace(
            identity,
            blocks=blocks,
            equalities=(),
            columns=identity.columns[first],
            gram=sp.csr_matrix(sp.vstack(parts)) if parts else sp.csr_matrix((0, first.size)),
            free=free,
            target=fold.T @ identity.target,
            unknown=sp.csr_matrix((0, first.size)) if unknown is None else unknown,
            symmetry=None,
            dominance=dominance,
        )

    def lift(self, program: GramProgram, raw: RawSolution) -> RawSolution:
        """A solution of the reduced program as one of the whole: multipliers spread evenly over the group."""
        identity = program.identity
        total = np.zeros(int(self.pair.max(initial=-1)) + 1)
        slices = identity.slices()
        cursor = 0
        for piece in self.pieces:
            part = raw.gram[cursor : cursor + svec_length(piece.side)]
            cursor += part.size
            rows = slices[piece.block]
            row, column = triangle(identity.blocks[piece.block].side)
            matrix = smat(part, piece.side)
            if piece.basis is not None:
                matrix = piece.basis @ matrix @ piece.basis.T
            # both triangles count: each off-diagonal pair twice, in the matrix and in the size of its orbit
            weight = np.where(row == column, 1.0, 2.0)
            np.add.at(total, self.pair[rows], weight * matrix[row, column])
        size = np.zeros_like(total)
        scale = np.zeros(identity.gram.shape[0])
        for block, rows in zip(identity.blocks, slices, strict=True):
            row, column = triangle(block.side)
            np.add.at(size, self.pair[rows], np.where(row == column, 1.0, 2.0))
            scale[rows] = roots(block.side)
        gram = scale * (total / np.maximum(size, 1.0))[self.pair]
        _, spread = self._free(identity, _fold(self.column))
        return replace(raw, gram=gram, free=spread @ raw.free, moments=raw.moments[self.column])

    def _free(self, identity: Identity, fold: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Equality rows on the orbits without repetition, and the matrix that spreads their multipliers."""
        folded = sp.csr_matrix(identity.free @ fold)
        kept, owner, factor = distinct_rows(folded, digits=11)
        rows = np.flatnonzero(owner >= 0)
        count = np.bincount(owner[rows], minlength=kept.size)
        values = 1 / (factor[rows] * count[owner[rows]])
        spread = sp.csr_matrix((values, (rows, owner[rows])), shape=(folded.shape[0], kept.size))
        return sp.csr_matrix(folded[kept]), spread


def _fold(column: np.ndarray) -> sp.csr_matrix:
    count = int(column.max(initial=-1)) + 1
    return sp.csr_matrix((np.ones(column.size), (np.arange(column.size), column)), shape=(column.size, count))


def _compressed(
    basis: np.ndarray, row: np.ndarray, column: np.ndarray, orbit: np.ndarray, count: int
) -> sp.csr_matrix:
    """Vector forms of W'AW for the indicator matrix A of every orbit of pairs, as columns."""
    side = basis.shape[1]
    out = np.empty((svec_length(side), count))
    for k, (a, b) in enumerate(zip(*triangle(side), strict=True)):
        products = basis[row, a] * basis[column, b] + basis[column, a] * basis[row, b]
        products[row == column] /= 2
        out[k] = np.bincount(orbit, weights=products, minlength=count)
    out *= roots(side)[:, None]
    out[np.abs(out) < _ZERO * max(1.0, float(np.abs(out).max(initial=0.0)))] = 0.0
    return sp.csr_matrix(out)


def with_symmetry(identity: Identity, actions: Sequence[Action]) -> Identity:
    """The identity with its orbits and the block diagonalisation of its Gram matrices.

    Raises ValueError when the blocks are not mapped to blocks (cliques and chordal blocks break the symmetry,
    and so do rewriting rules for some variables of an orbit only). Cost: a pass over all rows a generator,
    one eigendecomposition an orbit of blocks.
    """
    if not actions or not identity.blocks:
        return identity
    sites = Sites(identity)
    moves = [sites.image(action) for action in actions]
    columns = mono.Index(identity.columns)
    column_edges = [_find(columns, action(identity.columns), "monomials") for action in actions]
    column = orbit_numbers(column_edges)
    _check_data(identity, column_edges)
    variables = orbit_numbers([a.image for a in actions])
    variables[np.bincount(variables)[variables] == 1] = 0
    pair, pieces = diagonalised(identity, sites, moves)
    return replace(identity, symmetry=Symmetry(len(actions), variables, column, pair, pieces))


def diagonalised(
    identity: Identity, sites: Sites, moves: Sequence[np.ndarray]
) -> tuple[np.ndarray, tuple[Piece, ...]]:
    """The orbit of each row of ``gram`` under permutations of the sites, and the pieces of every block."""
    pair = orbit_numbers([sites.rows(move) for move in moves])
    blocks = orbit_numbers([sites.blocks(move) for move in moves])
    pieces: list[Piece] = []
    slices = identity.slices()
    for k in np.unique(blocks, return_index=True)[1].tolist():
        side = identity.blocks[k].side
        # dominance is a property of matrices in the monomial basis: only interchangeable entries merge
        whole = identity.dominance is not None
        pieces += [Piece(k, None, side)] if whole else _decompose(k, side, pair[slices[k]])
    return pair, tuple(pieces)


def _find(index: mono.Index, wanted: np.ndarray, what: str) -> np.ndarray:
    place = index.find(wanted)
    if (place < 0).any():
        raise ValueError(
            f"the {what} of this relaxation are not mapped to themselves by the symmetry: cliques and "
            "chordal blocks break it (use sparsity='dense' or 'term'), and so do rewriting rules that do not "
            "respect it (use quotient=False)"
        )
    return place


def _check_data(identity: Identity, columns: list[np.ndarray]) -> None:
    """The objective and the unknowns are fixed by every generator (a guard against a wrong action)."""
    rows = sp.vstack([sp.csr_matrix(identity.target), identity.unknown], format="csc")
    size = max(1.0, float(abs(rows).max())) if rows.nnz else 1.0
    for image in columns:
        if abs(rows[:, image] - rows).max() > 1e-12 * size:
            raise ValueError("the objective is not invariant under the symmetry")


class Acts(Protocol):
    """What moves monomials, or words, and constraints (``reduction.permutation.Action``)."""

    def __call__(self, monos: np.ndarray, /) -> np.ndarray:
        """Images of rows."""

    def block_index(self, kind: str, index: tuple[int, ...], /) -> tuple[int, ...]:
        """The number of the constraint that a constraint goes to."""


class Sites:
    """Basis elements of all blocks, numbered through."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.offsets = np.cumsum([0, *identity.sides])
        self.block = np.repeat(np.arange(len(identity.blocks)), identity.sides)
        self.groups: dict[tuple, tuple[mono.Index, np.ndarray]] = {}
        self.above = 1 + max(int(block.basis.max(initial=0)) for block in identity.blocks)
        gathered: dict[tuple, list[int]] = {}
        for k, block in enumerate(identity.blocks):
            gathered.setdefault((block.kind, block.index), []).append(k)
        for name, numbers in gathered.items():
            rows = mono.concatenate([self._rows(identity.blocks[k], None) for k in numbers])
            places = np.concatenate([np.arange(self.offsets[k], self.offsets[k + 1]) for k in numbers])
            if mono.unique(rows)[0].shape[0] < rows.shape[0]:
                raise ValueError(
                    "overlapping blocks (cliques, chordal term sparsity) cannot be combined with permutation "
                    "symmetry; use sparsity='dense' or sparsity='term'"
                )
            self.groups[name] = (mono.Index(rows), places)

    def _rows(self, block: Block, action: Acts | None) -> np.ndarray:
        rows = block.basis if action is None else action(block.basis)
        if block.entry is None:
            return rows
        # a factor above all variables keeps the entries of a matrix apart
        label = (self.above + block.entry[:, None]).astype(mono.MONOMIAL)
        return np.concatenate([rows, label], axis=1)

    def image(self, action: Acts) -> np.ndarray:
        """Where each site goes."""
        moved = np.empty(self.block.size, dtype=np.int64)
        for k, block in enumerate(self.identity.blocks):
            name = (block.kind, action.block_index(block.kind, block.index))
            index, places = self.groups.get(name, (mono.Index(mono.constant(0)), np.zeros(0, dtype=int)))
            result = _find(index, self._rows(block, action), "bases")
            moved[self.offsets[k] : self.offsets[k + 1]] = places[result]
        return moved

    def blocks(self, move: np.ndarray) -> np.ndarray:
        """Where each block goes; ValueError when one is torn apart."""
        target = self.block[move]
        first = target[self.offsets[:-1]]
        sides = np.array(self.identity.sides)
        if not np.array_equal(first[self.block], target) or not np.array_equal(sides[first], sides):
            raise ValueError("the symmetry does not map blocks to blocks; use sparsity='dense'")
        return first

    def rows(self, move: np.ndarray) -> np.ndarray:
        """Where each row of ``gram`` goes."""
        self.blocks(move)
        out, slices = [], self.identity.slices()
        for k, block in enumerate(self.identity.blocks):
            row, column = triangle(block.side)
            low, high = move[self.offsets[k] + row], move[self.offsets[k] + column]
            target = int(self.block[move[self.offsets[k]]])
            start = self.offsets[target]
            out.append(slices[target].start + position(low - start, high - start))
        return np.concatenate(out)


def _decompose(block: int, side: int, pair: np.ndarray) -> list[Piece]:
    """Pieces of one block whose matrices are constant on the given orbits of pairs."""
    whole = [Piece(block, None, side)]
    labels, local = np.unique(pair, return_inverse=True)
    if labels.size == pair.size:
        return whole
    row, column = triangle(side)
    size = np.bincount(local, weights=np.where(row == column, 1.0, 2.0))
    # one for the eigenspaces; three, because two maps between quaternionic copies generate only C
    bases, dimension = _irreducible([_generic(k, size, local, row, column, side) for k in range(4)])
    if dimension == labels.size and sum(b.shape[1] ** 2 for b in bases) * side**2 <= 2 * _WORK:
        return [Piece(block, b, b.shape[1]) for b in bases]
    return whole


def _generic(
    seed: int, size: np.ndarray, local: np.ndarray, row: np.ndarray, column: np.ndarray, side: int
) -> np.ndarray:
    """A symmetric element of the algebra with coefficients in no special position, the same on every run."""
    k = np.arange(1, size.size + 1)
    values = (np.cos(np.sqrt(2.0 + seed) * k * k + seed) + 0.1 * np.sin(np.sqrt(3.0) * k)) / np.sqrt(size)
    matrix = np.zeros((side, side))
    matrix[row, column] = values[local]
    matrix[column, row] = values[local]
    return matrix


def _irreducible(elements: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """A subspace for each isotypic component, and the dimension of the algebra of symmetric matrices that
    they account for (-1: it cannot be told)."""
    values, vectors = np.linalg.eigh(elements[0])
    spread = max(1e-300, float(values[-1] - values[0]))
    cuts = np.flatnonzero(np.diff(values) > 1e-7 * spread) + 1
    spaces = np.split(vectors, cuts, axis=1)
    gaps = np.diff(values)
    if ((gaps > 1e-10 * spread) & (gaps <= 1e-7 * spread)).any():
        return [], -1  # too close to say whether two eigenvalues are one
    norms = [np.linalg.norm(e, 2) for e in elements[1:]]
    open_spaces = list(range(len(spaces)))
    bases, dimension = [], 0
    while open_spaces:
        first = open_spaces[0]
        members: dict[int, list[np.ndarray]] = {first: [spaces[first][:, 0]]}
        queue = [spaces[first][:, 0]]
        while queue:
            vector = queue.pop()
            for element, norm in zip(elements[1:], norms, strict=True):
                moved = element @ vector
                for k in open_spaces:
                    part = spaces[k] @ (spaces[k].T @ moved)
                    for known in members.get(k, []):
                        part = part - known * (known @ part)
                    length = float(np.linalg.norm(part))
                    if length > 1e-6 * norm:
                        members.setdefault(k, []).append(part / length)
                        queue.append(part / length)
        multiplicity = len(members)
        counts = {len(v) for v in members.values()}
        dimensions = {spaces[k].shape[1] for k in members}
        copies = counts.pop()
        if counts or len(dimensions) > 1 or copies not in (1, 2, 4):
            return [], -1
        # real, complex and quaternionic type: symmetric, Hermitian matrices over the reals, C and H
        dimension += multiplicity + copies * multiplicity * (multiplicity - 1) // 2
        bases.append(np.column_stack([v for k in sorted(members) for v in members[k]]))
        open_spaces = [k for k in open_spaces if k not in members]
    return bases, dimension
