"""What the integers of a program say about its dual, exactly: dependent equations, and faces of the cone.

The dual equations ``A'z = -q`` of a program whose entries are integers (or dyadic numbers of few digits)
can be looked at exactly. A column i with cost zero whose matrices F_i are all positive semidefinite (or
all negative semidefinite) says ``<F_i, Z> = 0``, and so does a combination of columns: the range of Z lies in
the kernel of F_i, so that Z = V W V' with an integer basis V of the kernel, block by block, and again for
what is left (facial reduction; Borwein and Wolkowicz 1981). An equation that is a combination of others, its
cost included, says nothing. Without these two steps the dual has no interior or its equations no full rank,
and no lower bound can be proven.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ..clock import otherwise, reserve
from ..program import Cones, ConicProgram
from ..rigorous import UNIT
from ..svec import full_position, roots, smat, svec, triangle, unstored
from .corrected import independent_columns
from .integers import echelon, is_semidefinite, kernel, near_zero

_SIDE = 400
_ENTRIES = 4_000_000  # of the dense data that are looked at
_DIGITS = 20  # binary digits after the point of numbers that count as exact
_EXACT = 2.0**53
_PRODUCT = 1e-8  # seconds for some products of floats

_Direction = Mapping[int, Fraction]  # of some columns: their weights


@dataclass(frozen=True, eq=False)
class ExactFace:
    """The program on ``Z = V W V'`` (block by block), with independent equations, and what the entries of its
    A and b are off by at most (zero where the data are exact)."""

    program: ConicProgram
    errors: tuple[np.ndarray, np.ndarray]
    whole: Cones
    bases: tuple[np.ndarray | None, ...]
    rows: np.ndarray  # scalar rows that are left

    def dual(self, z: np.ndarray) -> np.ndarray:
        """The part of a dual vector of the whole program on the face."""
        parts = [z[self.rows]]
        for side, rows, basis in zip(self.whole.psd, self.whole.psd_slices(), self.bases, strict=True):
            if basis is None:
                parts.append(z[rows])
                continue
            back = la.pinv(basis)
            parts.append(svec(back @ smat(z[rows], side) @ back.T))
        return np.concatenate(parts)


@otherwise(None)
def exact_face(program: ConicProgram) -> ExactFace | None:
    """The smaller program, or None where nothing is found, where the data are not exact or too large or
    there is no time."""
    cones = program.cones
    rows, columns = program.A.shape
    if rows * (columns + 1) > _ENTRIES or max(cones.psd, default=0) > _SIDE:
        return None
    if program.rounded or near_zero(program.A.data) or near_zero(program.b):
        return None  # what their roundings are is not known
    state = _State(program)
    while state.reduce():
        pass
    state.drop_dependent()
    return state.result()


def _rounded(values: np.ndarray) -> np.ndarray:
    """The dyadic numbers of few digits next to the values (NaN where one is too large)."""
    if not np.abs(values).max(initial=0.0) < 2.0**30:
        return np.full_like(values, np.nan)
    return np.asarray(np.round(values * 2.0**_DIGITS) / 2.0**_DIGITS)


class _State:
    """The reduction so far: the data [A | b], entries of matrices without their sqrt(2): rows of scalars, and
    a stack of symmetric matrices (columns + 1, side, side) a block, on its face; which columns are exact:
    dyadic numbers of few digits; the columns and scalar rows that are left; bases."""

    def __init__(self, program: ConicProgram) -> None:
        cones, whole = program.cones, sp.hstack([program.A, sp.csc_matrix(program.b[:, None])], format="csr")
        self.program = program
        self.scalars = whole[: cones.scalars.stop].toarray()
        self.exact = (_rounded(self.scalars) == self.scalars).all(axis=0)
        self.exact[:-1] &= _rounded(program.q) == program.q
        self.matrices = []
        for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
            entries, known = unstored(whole[rows].toarray(), roots(side)[:, None])
            self.exact &= (known & (_rounded(entries) == entries)).all(axis=0)
            self.matrices.append(entries.T[:, full_position(side)])
        self.errors = [6 * UNIT * np.abs(stack) * ~self.exact[:, None, None] for stack in self.matrices]
        self.columns, self.rows = np.arange(program.q.size), np.arange(self.scalars.shape[0])
        self.bases: list[np.ndarray | None] = [None] * len(self.matrices)
        self.changed = False

    def reduce(self) -> bool:
        """One step of facial reduction by a direction that shows a face; whether there was one."""
        for direction in self._directions():
            kernels = self._kernels(direction)
            if kernels is None:
                continue
            at = self.program.cones.zero
            gone = (self.rows >= at) & (_sum(direction, self.scalars.T)[self.rows] != 0)
            self.rows = self.rows[~gone]
            for k, onto in enumerate(kernels):
                if onto is not None and not self._substitute(k, onto):
                    return False
            self.columns = self.columns[self.columns != max(direction)]
            self.changed = True
            return True
        return False

    def _directions(self) -> Iterator[_Direction]:
        """Directions of cost zero that may show a face: columns, and of three columns that alone contribute
        to a (2, 2) part of a block those with which it is s s', where their costs are a square: the leading
        terms of a chain of (y - x**2)**2 have one."""
        cost, known = self.program.q, np.zeros(self.program.q.size, dtype=bool)
        known[self.columns] = self.exact[self.columns]
        for column in np.flatnonzero(known & (cost == 0)).tolist():
            yield {column: Fraction(1)}
        for stack in self.matrices:
            entries = stack[self.columns]
            if not entries.size:
                continue
            which = self.columns[(entries != 0).argmax(axis=0)]
            alone = ((entries != 0).sum(axis=0) == 1) & known[which]
            price = np.where(alone, cost[which] / np.where(alone, entries.sum(axis=0), 1.0), 0.0)
            own = np.diagonal(price)
            square = np.triu((price != 0) & (price**2 == 4 * own * own[:, None]), 1)
            for i, j in np.argwhere(square).tolist():
                a, b = Fraction(-price[i, j] / own[i] / 2).as_integer_ratio()
                places = ((i, i), a * a), ((i, j), a * b), ((j, j), b * b)
                parts = {int(which[at]): Fraction(w) / Fraction(stack[which[at]][at]) for at, w in places}
                if not sum(w * Fraction(cost[k]) for k, w in parts.items()) and self._is_short(parts):
                    yield parts

    def _is_short(self, direction: _Direction) -> bool:
        """Whether sums of three columns times these weights are exact in floats."""
        size = sum(abs(w) for w in direction.values()) * 2**_DIGITS
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (self.scalars, *self.matrices))
        whole = len(direction) == 3 and all(w.denominator == 1 for w in direction.values())
        return whole and size * Fraction(largest) < 2**53

    def _kernels(self, direction: _Direction) -> list[np.ndarray | None] | None:
        """Kernels of the matrices of a direction (None: the matrix is zero), or None when they show no
        face."""
        reserve()
        scalars = _sum(direction, self.scalars.T)[self.rows]
        equations = self.rows < self.program.cones.zero
        if scalars[equations].any():
            return None
        signs = {float(s) for s in np.sign(scalars[~equations]) if s}
        kernels: list[np.ndarray | None] = []
        for stack in self.matrices:
            matrix = _sum(direction, stack)
            if not matrix.any():
                kernels.append(None)
                continue
            sign = math.copysign(1.0, float(np.trace(matrix)))
            signs.add(sign)
            if len(signs) > 1 or np.linalg.eigvalsh(sign * matrix)[0] < -1e-9 * np.abs(matrix).max():
                return None
            if not is_semidefinite(_integral(sign * matrix)):
                return None
            vectors = kernel(_integral(matrix), len(matrix))
            kernels.append(np.array(vectors, dtype=float).reshape(-1, len(matrix)).T)
        return kernels if signs and len(signs) == 1 else None

    def _substitute(self, k: int, onto: np.ndarray) -> bool:
        stack = self.matrices[k]
        if np.abs(onto).max(initial=0.0) >= _EXACT:
            return False
        reserve(_PRODUCT * len(stack) * stack.shape[1] ** 2 * onto.shape[1])
        broad = np.abs(onto)
        size = np.einsum("ai,cab,bj->cij", broad, np.abs(stack), broad, optimize=True)
        # of exact columns every partial sum is exact while it has few enough digits
        self.exact = self.exact & (size.max(axis=(1, 2), initial=0.0) * 2.0**_DIGITS < _EXACT)
        inherited = np.einsum("ai,cab,bj->cij", broad, self.errors[k], broad, optimize=True)
        made = (2 * stack.shape[1] + 8) * 2 * UNIT * size * ~self.exact[:, None, None]
        self.errors[k] = inherited * (1 + 1e-12) + made
        self.matrices[k] = np.einsum("ai,cab,bj->cij", onto, stack, onto, optimize=True)
        known = self.bases[k]
        self.bases[k] = onto if known is None else known @ onto
        return True

    def drop_dependent(self) -> None:
        """Leave out columns that are combinations of others, cost included."""
        exact = self.columns[self.exact[self.columns]]
        parts = [self.scalars[self.rows][:, exact]]
        for stack in self.matrices:
            row, column = triangle(stack.shape[1])
            parts.append(stack[exact][:, row, column].T)
        table = np.hstack([np.concatenate(parts).T, self.program.q[exact][:, None]])
        kept = _independent_rows(table)
        if kept.size < exact.size:
            self.columns = np.setdiff1d(self.columns, np.delete(exact, kept))
            self.changed = True

    def result(self) -> ExactFace | None:
        """The program that is left, or None when nothing changed."""
        if not self.changed:
            return None
        program, cones = self.program, self.program.cones
        chosen = np.append(self.columns, program.q.size)
        sides = tuple(stack.shape[1] for stack in self.matrices if stack.shape[1])
        parts = [self.scalars[self.rows][:, chosen]]
        errors = [np.zeros_like(parts[0])]
        for stack, error in zip(self.matrices, self.errors, strict=True):
            row, column = triangle(stack.shape[1])
            scale = roots(stack.shape[1])[:, None]
            parts.append(stack[chosen][:, row, column].T * scale)
            errors.append(error[chosen][:, row, column].T * (scale * (1 + 1e-12)))
        dense, error = np.concatenate(parts), np.concatenate(errors)
        zero = int((self.rows < cones.zero).sum())
        reduced = ConicProgram(
            q=program.q[self.columns],
            A=sp.csc_matrix(dense[:, :-1]),
            b=dense[:, -1],
            cones=replace(cones, zero=zero, nonnegative=self.rows.size - zero, psd=sides),
            constant=program.constant,
        )
        return ExactFace(reduced, (error[:, :-1], error[:, -1]), cones, tuple(self.bases), self.rows)


def _sum(direction: _Direction, parts: np.ndarray) -> np.ndarray:
    """The parts of the columns times their weights: exact, since these are short."""
    result: np.ndarray = sum(float(w) * parts[k] for k, w in direction.items())
    return result


def _independent_rows(rows: np.ndarray) -> np.ndarray:
    """Rows of [A | b] of which the others are combinations; those of a contradiction are left."""
    # what is left of a face has rows of zeros, and multiples of others
    whole = (rows * 2.0**_DIGITS).astype(np.int64)
    known = np.flatnonzero(whole.any(axis=1))
    whole = whole[known] // np.gcd.reduce(whole[known], axis=1, keepdims=True)
    whole *= np.sign(np.take_along_axis(whole, (whole != 0).argmax(axis=1)[:, None], axis=1))
    known = known[np.sort(np.unique(whole, axis=0, return_index=True)[1])]
    rows = rows[known]
    reserve(_PRODUCT * rows.size * min(rows.shape))
    # what floats see as independent is
    if not known.size or independent_columns(rows[:, :-1].T).size == known.size:
        return known
    integral = _integral(rows.T)
    pivots = echelon(integral[:-1])[2]
    return known if len(echelon(integral)[2]) > len(pivots) else known[pivots]


def _integral(matrix: np.ndarray) -> list[list[int]]:
    """Dyadic numbers of few digits, times a power of two."""
    return [[int(v) for v in row] for row in (matrix * 2.0**_DIGITS).tolist()]
