"""One connected part of an identity: its points, and its blocks as signed squares at them.

The value of a multiplier at a point is what the rows of its block produce there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ....algebra import monomials as mono
from ....conic.clock import reserve
from ....conic.svec import position, smat, svec_length, triangle, units
from .box_proof import BoxFrame
from .points import (
    Domain,
    NotSampled,
    box_points,
    chebyshev_in_monomials,
    chebyshev_products,
    in_basis,
    monomial_values,
    pivot_rows,
)
from .variety import on_variety

if TYPE_CHECKING:
    from ...assemble.identity import Block, Identity

_DEPENDENT = 1e-10  # columns of a basis below this (relative) are combinations of the others at the points
_RANK = 1e-11  # eigenvalues of a matrix constraint at a point below this (relative) are zero
_MANY = 6  # candidates a column
_ROUNDS = 60  # of three candidates a column, until enough satisfy the inequalities


@dataclass(frozen=True, eq=False)
class Factor:
    """A pivoted QR factorisation of a basis at the points: ``Q = R^-1 S R^-T`` on the kept columns.

    ``change``: the basis of the factorisation (products of Chebyshev polynomials) in terms of the monomials,
    or None where it is the monomials.
    """

    upper: np.ndarray
    kept: np.ndarray
    side: int
    change: np.ndarray | None

    def gram(self, matrix: np.ndarray) -> np.ndarray:
        """The Gram matrix in the basis of the factorisation, shape (side, side)."""
        result = np.zeros((self.side, self.side))
        result[np.ix_(self.kept, self.kept)] = in_basis(matrix, self.upper)
        return result

    @cached_property
    def _down(self) -> np.ndarray:
        """The kept columns of the basis in the monomials, over the triangular factor, (side, rank)."""
        rows = np.eye(self.side)[:, self.kept] if self.change is None else self.change.T[:, self.kept]
        return np.asarray(la.solve_triangular(self.upper, rows.T, trans="T")).T

    def back(self, matrix: np.ndarray) -> np.ndarray:
        """The Gram matrix in the monomials, shape (side, side)."""
        result = self._down @ matrix @ self._down.T
        return 0.5 * (result + result.T)


class Piece:
    """One component: its points and the values of its columns."""

    def __init__(self, identity: Identity, columns: np.ndarray, blocks: list[int]) -> None:
        self.identity, self.columns, self.blocks = identity, columns, blocks
        monos = identity.columns[columns]
        bases = [identity.blocks[k].basis for k in blocks]
        used = [np.unique(monos), *(np.unique(b) for b in bases)]
        ids = np.unique(np.concatenate(used))
        self.ids = ids[ids > 0]
        self.exponents = mono.exponents(monos, self.ids)
        self.free = identity.free
        if self.free.shape[0]:
            everywhere = np.ones(self.free.shape[0], dtype=bool)
            everywhere[in_expectation(identity)] = False
            free = sp.csr_matrix(self.free[everywhere][:, columns])
            self.free = sp.csr_matrix(free[np.diff(free.indptr) > 0])
        self.known: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray | None]] = {}
        self.constraints = {k: self._constraint(k) for k in blocks}
        self.points = self._choose()
        self.values = monomial_values(self.points, self.exponents)

    def _choose(self) -> np.ndarray:
        domain = self._domain()
        count = self.columns.size
        order = np.lexsort([*self.exponents.T, self.exponents.sum(axis=1)])
        if self.free.shape[0]:
            return on_variety(domain.candidates(3 * count), self.exponents, self.free, self._equations())
        degree = int(self.exponents.sum(axis=1).max(initial=0))
        plain = self._box and not (domain.choices or domain.zeros)
        if plain and self.columns.size == math.comb(self.ids.size + degree, degree):  # the whole box
            return self.middle + self.half * box_points(self.ids.size, degree)
        candidates = self._inside(domain, count)
        exponents = self.exponents[order]
        if self.quotiented or not closed(exponents, self.middle):
            table = monomial_values(candidates, exponents)
        else:
            table = chebyshev_products((candidates - self.middle) / self.half, exponents)
        chosen = pivot_rows(table)
        if chosen.size < count:
            raise NotSampled("the monomials are dependent on the points that the rules leave")
        return candidates[chosen]

    def _equations(self) -> sp.csr_matrix:
        """One row of each equation, the one with the least multiplier: the others are its multiples."""
        free = self.identity.free[:, self.columns]
        size, chosen = np.diff(free.indptr), []
        for equality, part in zip(self.identity.equalities, self.identity.free_slices(), strict=True):
            rows = np.flatnonzero(size[part]) + part.start
            if equality.index >= 0 and rows.size:
                chosen.append(min(rows, key=lambda k: self.exponents[free[[k]].indices].sum(axis=1).max()))
        return sp.csr_matrix(free[chosen])

    def _inside(self, domain: Domain, count: int) -> np.ndarray:
        """Candidates that satisfy the inequalities where enough do, else all."""
        wanted = 3 * count
        if domain.choices:
            return np.unique(domain.candidates(_MANY * count), axis=0)
        constraints = []
        for rows in filter(sp.issparse, self.constraints.values()):
            used = np.unique(rows.indices)
            table = rows.toarray()[:, used].T
            constraints.append((self.exponents[used], table, math.isqrt(2 * rows.shape[0])))

        def satisfying(candidates: np.ndarray) -> np.ndarray:
            for exponents, table, side in constraints:
                entries = monomial_values(candidates, exponents) @ table
                least = entries[:, 0] if side == 1 else np.linalg.eigvalsh(smat(entries, side))[:, 0]
                candidates = candidates[least > 0]
            return candidates

        kept = np.zeros((0, domain.low.size))
        for seed in range(_ROUNDS):
            kept = np.concatenate([kept, satisfying(domain.candidates(wanted, seed=seed))])
            if kept.shape[0] >= wanted:
                return kept[:wanted]
        return kept if kept.shape[0] >= 2 * count else domain.candidates(_MANY * count)

    def _constraint(self, number: int) -> sp.csr_matrix | None:
        """The multiplier of an inequality, a matrix (vector form) or a number: a row over the columns for
        every entry; None where no multiplier is positive on the set, or it is not among the entries."""
        block = self.identity.blocks[number]
        one = np.flatnonzero(mono.degrees(block.basis) == 0)
        if block.kind in ("sos", "expectation") or not one.size:
            return None
        i, j = triangle(one.size)
        return self._rows(self.identity.slices()[number].start + position(one[i], one[j]))

    def _domain(self) -> Domain:
        quotient = self.identity.quotient
        count = self.ids.size
        self.quotiented = not quotient.trivial or self.free.shape[0] > 0
        choices = {}
        for j, variable in enumerate(self.ids.tolist()):
            if variable in quotient.power:
                choices[j] = _roots(*quotient.power[variable])
        zeros = []
        for row in quotient.zero:
            members = row[row > 0]
            if np.isin(members, self.ids).all():
                zeros.append(tuple(np.searchsorted(self.ids, members).tolist()))
        self._bounding_box(count)
        return Domain(self.low, self.high, choices, tuple(zeros))

    def _bounding_box(self, count: int) -> None:
        """The box that univariate constraints of degree at most two give, [-1, 1] where they give none."""
        low, high = np.full(count, -np.inf), np.full(count, np.inf)
        others = 0
        for number in self.blocks:
            rows = self.constraints[number]
            if rows is None or rows.shape[0] > 1:
                others += self.identity.blocks[number].kind != "sos"
                continue
            used = self.exponents[rows.indices]
            variables = np.flatnonzero(used.any(axis=0))
            if variables.size != 1 or used.max() > 2:
                others += 1
                continue
            j = int(variables[0])
            coefs = np.zeros(3)
            np.add.at(coefs, used[:, j], rows.data)
            a, b, c = coefs[2], coefs[1], coefs[0]
            if a == 0 and b != 0:
                if b > 0:
                    low[j] = max(low[j], -c / b)
                else:
                    high[j] = min(high[j], -c / b)
            elif a < 0 and b * b > 4 * a * c:
                root = np.sqrt(b * b - 4 * a * c)
                low[j] = max(low[j], (-b + root) / (2 * a))
                high[j] = min(high[j], (-b - root) / (2 * a))
        good = np.isfinite(low) & np.isfinite(high) & (low < high)
        self.bounded = bool(good.all())
        self._box = self.bounded and others == 0
        self.low = np.where(np.isfinite(low), low, -1.0)
        self.high = np.where(np.isfinite(high), high, 1.0)
        wrong = self.low >= self.high
        self.low[wrong], self.high[wrong] = -1.0, 1.0
        self.middle, self.half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)

    def block(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, Factor]:
        """Orthonormal rows, their points, signs, and the factor that leads back to the basis."""
        block = self.identity.blocks[number]
        if block.entry is None:
            monomials, basis, change = self._bases(mono.exponents(block.basis, self.ids))
            weight = self._weight(number, monomials)
            table, owner = np.sqrt(np.abs(weight))[:, None] * basis, np.arange(self.points.shape[0])
        else:
            change = None
            table, owner, weight = self._matrix_rows(block, self._rows(self.identity.slices()[number]))
        sign = np.where(weight < 0, -1.0, 1.0)
        q, r, pivots = la.qr(table, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(r.diagonal())
        rank = int((size > _DEPENDENT * size.max(initial=0.0)).sum())
        if rank == 0:
            raise NotSampled("a multiplier vanishes at all points")
        factor = Factor(r[:rank, :rank], pivots[:rank], block.side, change)
        return np.ascontiguousarray(q[:, :rank]), owner, None if (sign > 0).all() else sign, factor

    def _bases(self, exponents: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Values at the points of monomials and of the basis of the factorisation, and what this is in terms
        of them. It is products of Chebyshev polynomials where they span the same space, else the monomials
        (None). Kept, for blocks often have the same basis."""
        key = exponents.tobytes()
        if key not in self.known:
            monomials = basis = monomial_values(self.points, exponents)
            change = None
            if not self.quotiented and closed(exponents, self.middle):
                basis = chebyshev_products((self.points - self.middle) / self.half, exponents)
                change = self._change(exponents)
            self.known[key] = monomials, basis, change
        return self.known[key]

    def _rows(self, places: slice | np.ndarray) -> sp.csr_matrix:
        """Rows of the identity over the columns of this piece."""
        rows = self.identity.gram[places]
        return rows if self.columns.size == rows.shape[1] else sp.csr_matrix(rows[:, self.columns])

    def frame(self, factors: list[Factor]) -> BoxFrame | None:
        """What a proof in Chebyshev coefficients needs, where every block is in them and a box is known."""
        if self.quotiented or not self.bounded or any(f.change is None for f in factors):
            return None
        return BoxFrame(self.identity, self.ids, self.middle, self.half, self.exponents)

    def _change(self, exponents: np.ndarray) -> np.ndarray:
        """Products of Chebyshev polynomials in terms of the monomials of the same exponents, (L, L)."""
        change = np.ones((exponents.shape[0],) * 2)
        for j in range(exponents.shape[1]):
            top = int(exponents[:, j].max(initial=0))
            table = chebyshev_in_monomials(top, float(self.middle[j]), float(self.half[j]))
            change *= table[exponents[:, None, j], exponents[None, :, j]]
        return change

    @cached_property
    def _traces(self) -> np.ndarray:
        """What the diagonal of each block produces at all points, shape (points, blocks)."""
        gram, sides = self._rows(slice(None)), self.identity.sides
        owner = np.repeat(np.arange(len(sides)), [svec_length(n) for n in sides])
        diagonal = sp.csr_matrix((units(sides), owner, np.arange(owner.size + 1)), (owner.size, len(sides)))
        return np.asarray(self.values @ (gram.T @ diagonal).toarray())

    def _weight(self, number: int, basis: np.ndarray) -> np.ndarray:
        """The multiplier's value at every point: what the diagonal produces over the squares of the basis."""
        size = np.einsum("ij,ij->i", basis, basis)
        weight = np.divide(self._traces[:, number], size, out=np.zeros_like(size), where=size > 0)
        weight[np.abs(weight) <= 1e-13 * np.abs(weight).max(initial=0.0)] = 0.0
        return weight

    def _matrix_rows(self, block: Block, rows: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The matrix that a point gives is a few signed squares: its eigenvectors."""
        produced = rows @ self.values.T
        tables, owners, weights = [], [], []
        for point in range(self.points.shape[0]):
            reserve()
            values, vectors = np.linalg.eigh(smat(produced[:, point], block.side))
            kept = np.abs(values) > _RANK * max(float(np.abs(values).max(initial=0.0)), 1e-300)
            tables.append((vectors[:, kept] * np.sqrt(np.abs(values[kept]))).T)
            owners.append(np.full(int(kept.sum()), point))
            weights.append(values[kept])
        return np.concatenate(tables), np.concatenate(owners), np.concatenate(weights)


def closed(exponents: np.ndarray, middle: np.ndarray) -> bool:
    """Whether products of Chebyshev polynomials of these exponents span the same space as the monomials:
    lowering an exponent by two stays in the set, and by one where the box is not centred."""
    present = set(map(tuple, exponents.tolist()))
    steps = np.diag(np.where(middle == 0, 2, 1))
    lowered = exponents[:, None, :] - steps
    return present.issuperset(map(tuple, lowered[(lowered >= 0).all(axis=2)].tolist()))


def in_expectation(identity: Identity) -> np.ndarray:
    """Rows of ``free`` that belong to equations in expectation."""
    chosen = np.zeros(identity.free.shape[0], dtype=bool)
    for equality, rows in zip(identity.equalities, identity.free_slices(), strict=True):
        chosen[rows] = equality.index < 0
    return np.flatnonzero(chosen)


def _roots(high: int, low: int, factor: float) -> np.ndarray:
    """Real zeros of ``x**high - factor x**low``; refuses multiple or complex ones."""
    step = high - low
    result = [] if low == 0 else [0.0]
    if factor == 1.0:
        result += [1.0, -1.0] if step % 2 == 0 else [1.0]
    elif factor == -1.0 and step % 2:
        result.append(-1.0)
    if len(result) < high:
        raise NotSampled("a rewriting rule with multiple or complex zeros")
    return np.array(result)
