"""Faces that a solver's numbers suggest, rounded to fractions: guesses, of which exact arithmetic makes use.

Where a program has no interior, the least size ``tau`` by which its slack must be relaxed to have one is
zero, and the multipliers of that question show a face: ``A'z = 0, b'z = 0`` with z in the dual cone says that
``S(x) U = 0`` for the range U of every block of z (Borwein and Wolkowicz 1981). A path-following method ends
at multipliers of the largest rank. The same for the dual: a direction d with ``-A d`` in the cone and ``q'd =
0``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .clock import otherwise
from .exact_data import read
from .exact_points import Face, Kernels, Restricted
from .integer_matrices import is_semidefinite, reserve_elimination
from .program import Cones, ConicProgram, ConicSolution
from .svec import smat, triangle

_INTERIOR = 1e-5  # a larger tau is an interior
_RANGE = 1e-4  # eigenvalues below this multiple of the largest belong to the kernel
_UNKNOWNS = 30_000  # times equations, of the proof that a face is implied: some seconds
_NEAR = 1e-5  # how near a fraction must be
_DENOMINATORS = (12, 1000)

Solve = Callable[[ConicProgram], ConicSolution]


def relaxed(program: ConicProgram) -> ConicProgram:
    """The largest tau, at most one, by which the slack of a program without equations can be inside the cone;
    tau is the last variable, and the first row its limit."""
    inside = interior(program.cones)
    A = sp.hstack([program.A, sp.csc_matrix(inside[:, None])], format="csr")
    limit = sp.csr_matrix(([1.0], ([0], [program.q.size])), shape=(1, program.q.size + 1))
    return ConicProgram(
        q=np.append(np.zeros(program.q.size), -1.0),
        A=sp.vstack([limit, A], format="csc"),
        b=np.append(1.0, program.b),
        cones=replace(program.cones, nonnegative=program.cones.nonnegative + 1),
    )


def primal_face(program: ConicProgram, answer: ConicSolution) -> Face | None:
    """A face to which the slacks of a program without equations seem to be confined, from the answer to
    ``relaxed``; None where they have an interior or none is seen."""
    if answer.status not in ("optimal", "inaccurate") or not abs(answer.x[-1]) <= _INTERIOR:
        return None
    face = _face(program.cones, answer.z[1:])
    return None if face is None else replace(face, implied=_is_implied(program, face, answer.z[1:]))


@otherwise(False)
def _is_implied(program: ConicProgram, face: Face, z: np.ndarray) -> bool:
    """Whether multipliers near the given ones, positive definite on the ranges of the face, satisfy
    ``A'z = 0, b'z = 0`` exactly: then the slacks of all points are on the face."""
    from flint import fmpz_mat

    data = read(program)
    unknowns = len(face.scalars) + sum(len(found) ** 2 for found in face.kernels)
    if any(data.errors) or unknowns * program.q.size > _UNKNOWNS:
        return False
    columns: list[list[int]] = []
    near: list[Fraction] = []
    parts: list[tuple[int, int, list[tuple[int, int]]]] = []
    for i in face.scalars:
        columns.append(data.scalars[i])
        near.append(Fraction(float(z[i])))
    for k, (side, rows) in enumerate(zip(program.cones.psd, program.cones.psd_slices(), strict=True)):
        basis = np.array(face.kernels[k], dtype=object).reshape(-1, side)
        if not len(basis):
            continue
        back = np.linalg.pinv(basis.astype(float))
        weights = back.T @ smat(z[rows], side) @ back
        low, high = (v.tolist() for v in triangle(side))
        stack = np.zeros((program.q.size + 1, side, side), dtype=object)
        table = np.array(data.blocks[k].tolist(), dtype=object)
        stack[:, low, high] = stack[:, high, low] = table
        inner = basis @ stack @ basis.T
        pairs = [(a, b) for b in range(len(basis)) for a in range(b + 1)]
        parts.append((len(columns), len(basis), pairs))
        for a, b in pairs:
            columns.append([int(v) * (1 if a == b else 2) for v in inner[:, a, b]])
            near.append(Fraction(float(weights[a, b])) / 2 ** data.exponents[k])
    reserve_elimination(columns)
    reduced, common, rank = fmpz_mat(columns).transpose().rref()
    echelon = [[Fraction(int(v), int(common)) for v in row] for row in reduced.tolist()[:rank]]
    found = list(near)
    for row in reversed(echelon):
        p = next(j for j, v in enumerate(row) if v)
        found[p] = -sum((v * found[j] for j, v in enumerate(row) if j != p and v), Fraction(0))
    if any(v <= 0 for v in found[: len(face.scalars)]):
        return False
    for start, side, pairs in parts:
        matrix = [[Fraction(0)] * side for _ in range(side)]
        for (a, b), v in zip(pairs, found[start:], strict=False):
            matrix[a][b] = matrix[b][a] = v
        shared = math.lcm(*(v.denominator for row in matrix for v in row))
        whole = [[int(v * shared) for v in row] for row in matrix]
        if not (is_semidefinite(whole) and fmpz_mat(whole).rank() == side):
            return False
    return True


def dual_face(program: ConicProgram, solve: Solve) -> Face | None:
    """A face to which the dual vectors seem to be confined, by a direction that costs nothing."""
    at = program.cones.zero
    inside = interior(program.cones)
    whole = np.asarray(inside @ program.A).reshape(1, -1)
    rows = sp.csr_matrix(program.A)
    stated = ConicProgram(
        q=program.q,
        A=sp.vstack([rows[:at], sp.csr_matrix(-whole), rows[at:]], format="csc"),
        b=np.append(np.zeros(at), np.append(1.0, np.zeros(program.b.size - at))),
        cones=replace(program.cones, zero=at + 1),
    )
    answer = solve(stated)
    if answer.status not in ("optimal", "inaccurate"):
        return None
    if not abs(float(program.q @ answer.x)) <= _INTERIOR * max(
        1.0, float(np.abs(program.q).max(initial=0.0))
    ):
        return None
    return _face(program.cones, -(program.A @ answer.x))


def interior(cones: Cones) -> np.ndarray:
    """A point inside the cone: ones and identity matrices (zeros for equations)."""
    parts = [np.zeros(cones.zero), np.ones(cones.nonnegative)]
    parts += [np.where(np.equal(*triangle(side)), 1.0, 0.0) for side in cones.psd]
    return np.concatenate(parts)


def _face(cones: Cones, z: np.ndarray) -> Face | None:
    """The ranges of a vector of the cone, in fractions."""
    if not np.isfinite(z).all():
        return None
    first = cones.zero
    largest = float(np.abs(z[first:]).max(initial=0.0))
    if not largest > 0:
        return None
    scalars = np.flatnonzero(z[first : first + cones.nonnegative] > _RANGE * largest)
    kernels: Kernels = []
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        values, vectors = np.linalg.eigh(smat(z[rows], side))
        found = _fractions(vectors[:, values > _RANGE * largest])
        if found is None:
            return None
        kernels.append(found)
    if not scalars.size and not any(kernels):
        return None
    return Face(kernels, tuple(scalars.tolist()))


def _fractions(vectors: np.ndarray) -> list[list[int]] | None:
    """A basis in integers of a space near the span of orthonormal columns; None when there is none near."""
    side, rank = vectors.shape
    if rank == 0:
        return []
    _, _, order = la.qr(vectors.T, pivoting=True, mode="economic")
    pivots = np.sort(order[:rank])
    echelon = vectors @ np.linalg.inv(vectors[pivots])
    for size in _DENOMINATORS:
        rounded = [[Fraction(float(v)).limit_denominator(size) for v in column] for column in echelon.T]
        away = max(
            abs(float(f) - v)
            for row, column in zip(rounded, echelon.T, strict=True)
            for f, v in zip(row, column)
        )
        if away <= _NEAR:
            found = []
            for row in rounded:
                common = int(np.lcm.reduce([f.denominator for f in row]))
                found.append([int(f * common) for f in row])
            return found
    return None


def lifted(face: Face, inner: Restricted) -> Face:
    """The face of the whole program of which this is one in the restricted program."""
    kernels: Kernels = [list(found) for found in inner.kernels]
    for k, found in zip(inner.blocks, face.kernels, strict=True):
        side = inner.whole.cones.psd[k]
        for u in found:
            whole = [0] * side
            for i, v in zip(inner.kept[k], u, strict=True):
                whole[i] = v
            kernels[k].append(whole)
    rows = tuple(inner.scalars[i] for i in face.scalars)
    return Face(kernels, (*inner.tight, *rows), face.implied and inner.implied and inner.exact)
