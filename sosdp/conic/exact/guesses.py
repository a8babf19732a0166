"""Faces that a solver's numbers suggest, rounded to fractions: guesses, of which exact arithmetic makes use.

Where a program has no interior, the least size ``tau`` by which its slack must be relaxed to have one is
zero, and the multipliers of that question show a face: ``A'z = 0, b'z = 0`` with z in the dual cone says that
``S(x) U = 0`` for the range U of every block of z (Borwein and Wolkowicz 1981). A path-following method ends
at multipliers of the largest rank.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ..clock import otherwise, reserve
from ..multiprecision import is_positive_definite
from ..program import Cones, ConicProgram, ConicSolution
from ..svec import smat, svec_length, triangle
from .corrected import Equations, dyadic, on_face
from .integers import square, table_of
from .restriction import Face, Kernels, Restricted, read

_INTERIOR = 1e-5  # a larger tau is an interior
_UNKNOWNS = 30_000  # times equations, of the proof that a face is implied: some seconds
_DIGITS = 53  # binary ones, of multipliers that are taken from floats
_RANGE = 1e-4  # eigenvalues below this multiple of the largest belong to the kernel
_LATTICE = (1e3, 1e2, 1e4)
_CLOSE = 2e-2  # angle between an integer vector and the span it is near


def relaxed(program: ConicProgram) -> ConicProgram:
    """The largest tau, at most one, by which the slack of a program can be inside the cone; tau is the last
    variable, and the first row behind the equations its limit."""
    first = program.cones.zero
    A = sp.hstack([program.A, sp.csc_matrix(program.cones.unit[:, None])], format="csr")
    limit = sp.csr_matrix(([1.0], ([0], [program.q.size])), shape=(1, program.q.size + 1))
    return ConicProgram(
        q=np.append(np.zeros(program.q.size), -1.0),
        A=sp.vstack([A[:first], limit, A[first:]], format="csc"),
        b=np.insert(program.b, first, 1.0),
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
    from flint import fmpq, fmpq_mat

    data = read(program)
    unknowns = len(face.scalars) + sum(len(result) ** 2 for result in face.kernels)
    if any(data.errors) or unknowns * program.q.size > _UNKNOWNS:
        return False
    # what one unit of every number of the face adds to A'z and b'z
    width, scalars = program.q.size + 1, np.array(face.scalars, dtype=int)
    table = np.column_stack([program.A[scalars].toarray(), program.b[scalars]]).tolist()
    effects = [{i: fmpq(*v.as_integer_ratio()) for i, v in enumerate(row) if v} for row in table]
    numbers = dyadic(z[scalars], _DIGITS)
    for k, (side, rows) in enumerate(zip(program.cones.psd, program.cones.psd_slices(), strict=True)):
        power, factors = 1 << data.exponents[k], np.where(np.equal(*triangle(side)), 1, 2).tolist()
        columns = zip(factors, *table_of(data.blocks[k]), strict=True)
        entries = [{i: fmpq(n * v, power) for i, v in enumerate(column) if v} for n, *column in columns]
        effects += on_face(entries, face.kernels[k])
        back = np.linalg.pinv(np.array(face.kernels[k], dtype=float).reshape(-1, side))
        numbers += dyadic((back.T @ smat(z[rows], side) @ back)[triangle(back.shape[1])], _DIGITS)
    changed = Equations(effects, width).corrected(numbers, [fmpq(0)] * width)
    if changed is None:
        return False
    left = iter(changed)
    for side in (*(1 for _ in scalars), *filter(None, map(len, face.kernels))):
        reserve()
        if not is_positive_definite(fmpq_mat(square([next(left) for _ in range(svec_length(side))], side))):
            return False
    return True


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
        result = integer_span(vectors[:, values > _RANGE * largest])
        if result is None:
            return None
        kernels.append(result)
    if not scalars.size and not any(kernels):
        return None
    return Face(kernels, tuple(scalars.tolist()))


def integer_span(vectors: np.ndarray) -> list[list[int]] | None:
    """Short integer vectors, as many as there are columns, near the span of orthonormal columns, by lattice
    reduction; None where there are none near."""
    from flint import fmpz_mat

    side, rank = vectors.shape
    identity = np.eye(side, dtype=int)
    if rank in (0, side):
        return identity[:rank].tolist()
    rest = la.null_space(vectors.T)
    for size in _LATTICE:
        penalty = np.rint(size * rest).astype(int)
        reduced = fmpz_mat(np.hstack([identity, penalty]).tolist()).lll().tolist()
        result = np.array([[int(v) for v in row[:side]] for row in reduced[:rank]], dtype=float)
        angles = np.linalg.norm(result @ rest, axis=1) / np.linalg.norm(result, axis=1)
        if angles.max() < _CLOSE and np.abs(result).max() < size / 3:
            return [[int(v) for v in row] for row in result]
    return None


def lifted(face: Face, inner: Restricted) -> Face:
    """The face of the whole program of which this is one in the restricted program."""
    kernels: Kernels = [list(result) for result in inner.kernels]
    for k, result in zip(inner.blocks, face.kernels, strict=True):
        side = inner.whole.cones.psd[k]
        for u in result:
            whole = [0] * side
            for i, v in zip(inner.kept[k], u, strict=True):
                whole[i] = v
            kernels[k].append(whole)
    rows = tuple(inner.scalars[i] for i in face.scalars)
    return Face(kernels, (*inner.tight, *rows), face.implied and inner.implied and inner.exact)
