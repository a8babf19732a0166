"""Programs whose relaxation of degree 2 is min <C, X> over X psd with diagonal blocks that are given.

Two kinds, by their equations alone; numbers are compared exactly:

- every variable has x_i^2 = a_i > 0: X is the moment matrix, with one more row for 1 where the objective has
  linear terms;
- copies: the variables fall into groups of equal data that no product joins, without linear terms, and the
  equations say sum over the copies c of x_ci x_cj = delta_ij on disjoint sets of indices (rotations: the rows
  of a matrix are the copies). Sign flips of a copy keep everything, so moments between copies vanish, data
  see the sum X of the copies' moment matrices only, and any X is the sum of its equal shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...algebra.polynomial import Polynomial
from ..statement import BOUND, Statement

_SMALLEST, _LARGEST = 1e-90, 1e90  # of coefficients: quotients of two, and these times a third, have doubles


@dataclass(frozen=True, eq=False)
class UnitBlocks:
    """min ``constant`` + <C, X>: ``matrix`` C in doubles, off by E with <E, X> at most ``error``; ``side``:
    of the diagonal blocks of X, whose entries are ``levels``; ``ids``: of the variables, ``place`` their rows
    of X, ``copy`` the copies they belong to; ``head``: whether row 0 belongs to 1; ``equations``: the rows
    that each equation is about (the same twice on the diagonal), and its factor."""

    matrix: sp.csr_array
    side: int
    levels: list[Fraction]
    constant: Fraction
    error: Fraction
    ids: np.ndarray
    place: np.ndarray
    copy: np.ndarray
    head: bool
    equations: list[tuple[int, int, Fraction]]

    @property
    def copies(self) -> int:
        """Number of copies."""
        return int(self.copy.max(initial=0)) + 1


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """A polynomial of degree 2: its terms by position of the variables (-1: none), exactly."""

    left: np.ndarray
    right: np.ndarray
    coefs: list[Fraction]

    @classmethod
    def of(cls, p: Polynomial, ids: np.ndarray) -> _Quadratic:
        width = p.monos.shape[1]
        two = p.monos[:, -2:] if width > 1 else np.column_stack([np.zeros_like(p.monos), p.monos])
        result = np.where(two > 0, np.searchsorted(ids, two), -1)
        return cls(result[:, 0], result[:, 1], [Fraction(c) for c in p.coefs.tolist()])

    def part(self, kept: np.ndarray) -> _Quadratic:
        rows = np.flatnonzero(kept)
        return _Quadratic(self.left[rows], self.right[rows], [self.coefs[k] for k in rows.tolist()])

    @property
    def constant(self) -> Fraction:
        return sum((self.coefs[k] for k in np.flatnonzero(self.right < 0).tolist()), Fraction(0))

    @property
    def linear(self) -> np.ndarray:
        return (self.left < 0) & (self.right >= 0)


def unit_blocks(statement: Statement) -> UnitBlocks | None:
    """The structure of a statement; None where it has another."""
    demand = statement.demands[0]
    system, options = demand.system, demand.options
    plain = statement.kind == BOUND and not statement.curves and not demand.in_expectation
    plain = plain and demand.degree == 2 and options.cone == "sos" and options.quotient is True
    plain = plain and options.basis is None and options.symmetries is None
    plain = plain and not options.reductions
    if not plain or system.inequalities or system.matrices or system.foralls or not system.equalities:
        return None
    ids, objective = np.asarray(system.variable_ids), demand.parts[0]
    every = objective, *system.equalities  # nobody has checked the degree yet
    quadratic = all(
        p.degree <= 2 and all(c == 0 or _SMALLEST <= abs(c) <= _LARGEST for c in p.coefs.tolist())
        for p in every
    )
    if not quadratic or not np.isin(objective.variable_ids, ids).all():
        return None
    data = _Quadratic.of(objective, ids)
    if all(len(h.coefs) == 2 for h in system.equalities):
        return _squares(data, system.equalities, ids)
    return _copies(data, [_Quadratic.of(h, ids) for h in system.equalities], ids)


def _matrix(data: _Quadratic, side: int) -> tuple[sp.csr_array, Fraction]:
    """The symmetric matrix of products, and the sum of what its entries are off."""
    floats = [float(c) for c in data.coefs]
    error = sum(
        (abs(c - Fraction(f)) for c, f in zip(data.coefs, floats, strict=True) if c != f), Fraction(0)
    )
    values = np.array(floats) / np.where(data.left == data.right, 1.0, 2.0)
    off = data.left != data.right
    rows = np.concatenate([data.left, data.right[off]]), np.concatenate([data.right, data.left[off]])
    entries = np.concatenate([values, values[off]])
    return sp.csr_array(sp.coo_array((entries, rows), shape=(side, side))), error


def _squares(data: _Quadratic, equations: tuple[Polynomial, ...], ids: np.ndarray) -> UnitBlocks | None:
    levels: dict[int, Fraction] = {}
    head, place = bool(data.linear.any()), {v: k for k, v in enumerate(ids.tolist())}
    result = []
    for h in equations:
        *before, v = h.monos[1].tolist()  # the constant comes first
        if before != [v] or place[v] in levels:
            return None
        i, square = place[v], Fraction(h.coefs.item(1))
        levels[i] = -Fraction(h.constant) / square
        result.append((i + head, i + head, square))
    if len(levels) != ids.size or min(levels.values()) <= 0:
        return None
    same = (data.left == data.right) & (data.left >= 0)
    squares = [levels[int(i)] * c for i, c in zip(data.left[same], data.part(same).coefs, strict=True)]
    terms = data.part((data.right >= 0) & ~same)
    left, right = (terms.left + 1, terms.right + 1) if head else (terms.left, terms.right)
    matrix, error = _matrix(_Quadratic(left, right, terms.coefs), ids.size + head)
    every = [*([Fraction(1)] if head else []), *(levels[i] for i in range(ids.size))]
    return UnitBlocks(
        matrix,
        1,
        every,
        data.constant + sum(squares, Fraction(0)),
        error * max(every),
        ids,
        np.arange(ids.size) + head,
        np.zeros(ids.size, dtype=int),
        head,
        result,
    )


def _copies(data: _Quadratic, equations: list[_Quadratic], ids: np.ndarray) -> UnitBlocks | None:
    every = [data, *equations]
    if any(q.linear.any() for q in every):
        return None
    left, right = (np.concatenate([getattr(q, side) for q in every]) for side in ("left", "right"))
    met = sp.coo_array(
        (np.ones((left >= 0).sum()), (left[left >= 0], right[left >= 0])), shape=(ids.size,) * 2
    )
    copies, of = connected_components(met, directed=False)
    if copies < 2 or ids.size % copies or (np.bincount(of) != ids.size // copies).any():
        return None
    count = ids.size // copies
    local = np.empty(ids.size, dtype=int)
    local[np.argsort(of, kind="stable")] = np.tile(np.arange(count), copies)
    pairs = [_pair(h, local, of, copies) for h in equations]
    order = _ordered([p for p in pairs if p is not None], count)
    if None in pairs or order is None:
        return None
    rank, side = order
    terms = data.part(data.left >= 0)
    shares = []
    for c in range(copies):
        part = terms.part(of[terms.left] == c)
        rows = np.sort(np.column_stack([rank[local[part.left]], rank[local[part.right]]]), axis=1)
        shares.append({(i, j): v for (i, j), v in zip(rows.tolist(), part.coefs, strict=True)})
    if any(share != shares[0] for share in shares):
        return None
    rows = np.array(list(shares[0]), dtype=int).reshape(-1, 2)
    matrix, error = _matrix(_Quadratic(rows[:, 0], rows[:, 1], list(shares[0].values())), count)
    result = [(int(rank[i]), int(rank[j]), v) for i, j, v in (p for p in pairs if p is not None)]
    one = [Fraction(1)] * count
    return UnitBlocks(matrix, side, one, data.constant, error, ids, rank[local], of, False, result)


def _pair(h: _Quadratic, local: np.ndarray, of: np.ndarray, copies: int) -> tuple[int, int, Fraction] | None:
    """The indices i, j and the factor v of an equation v (sum over copies of x_ci x_cj - delta_ij) = 0."""
    terms = h.part(h.left >= 0)
    places = {
        (min(p), max(p)) for p in zip(local[terms.left].tolist(), local[terms.right].tolist(), strict=True)
    }
    every = sorted(of[terms.left].tolist()) == list(range(copies))
    if len(places) != 1 or not every or len({*terms.coefs}) != 1:
        return None
    (i, j), factor = next(iter(places)), terms.coefs[0]
    return (i, j, factor) if -h.constant == factor * (i == j) else None


def _ordered(pairs: list[tuple[int, int, Fraction]], count: int) -> tuple[np.ndarray, int] | None:
    """The rank of each index, such that the disjoint sets of the equations follow each other, and their size;
    None where a set is not whole, or larger sets than copies leave no matrix with orthonormal rows."""
    listed = {(i, j) for i, j, _ in pairs}
    rows = np.array(sorted(listed), dtype=int).reshape(-1, 2)
    graph = sp.coo_array((np.ones(len(rows)), (rows[:, 0], rows[:, 1])), shape=(count, count))
    number, of = connected_components(graph, directed=False)
    side = count // number
    whole = len(listed) == len(pairs) == number * side * (side + 1) // 2
    if not whole or (np.bincount(of) != side).any():
        return None
    rank = np.empty(count, dtype=int)
    rank[np.argsort(of, kind="stable")] = np.arange(count)
    return rank, side
