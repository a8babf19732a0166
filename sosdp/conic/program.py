"""The one problem every solver backend translates, and the one answer every backend returns.

    minimise    1/2 x'Px + q'x + constant      subject to   A x + s = b,   s in K,
    K = {0}^zero x R_+^nonnegative x PSD(side_1) x PSD(side_2) x ...      (rows in this order)

A symmetric matrix of side N is a vector of length N(N+1)/2: upper triangle, column by column, off-diagonal
entries times sqrt(2), so that inner products of vectors are inner products of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

SQRT2 = float(np.sqrt(2.0))


@lru_cache(maxsize=256)
def triangle(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column indices (i <= j) of the vector form of a symmetric matrix, in its order."""
    column, row = np.tril_indices(side)
    row.flags.writeable = column.flags.writeable = False
    return row, column


def svec(matrix: np.ndarray) -> np.ndarray:
    """Vector form of a symmetric matrix (side, side) -> (side (side + 1) / 2,)."""
    row, column = triangle(matrix.shape[0])
    return matrix[row, column] * np.where(row == column, 1.0, SQRT2)


def smat(vector: np.ndarray, side: int) -> np.ndarray:
    """Symmetric matrix (side, side) from its vector form."""
    row, column = triangle(side)
    entries = vector / np.where(row == column, 1.0, SQRT2)
    matrix = np.empty((side, side))
    matrix[row, column] = entries
    matrix[column, row] = entries
    return matrix


def svec_length(side: int) -> int:
    """Number of entries of the vector form of a matrix of the given side."""
    return side * (side + 1) // 2


@dataclass(frozen=True)
class Cones:
    """The cone K: sizes of its parts in row order."""

    zero: int = 0
    nonnegative: int = 0
    psd: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """Total number of rows."""
        return self.zero + self.nonnegative + sum(svec_length(n) for n in self.psd)

    def psd_slices(self) -> list[slice]:
        """Row range of each matrix cone."""
        start = self.zero + self.nonnegative
        slices = []
        for side in self.psd:
            slices.append(slice(start, start + svec_length(side)))
            start += svec_length(side)
        return slices


@dataclass(frozen=True)
class ConicProgram:
    """A conic program in the form of the module docstring; ``P`` is upper triangular or None."""

    q: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    cones: Cones
    P: sp.csc_matrix | None = None
    constant: float = 0.0

    def __post_init__(self) -> None:
        rows, columns = self.A.shape
        if (rows,) != self.b.shape or (columns,) != self.q.shape or rows != self.cones.rows:
            raise ValueError(
                f"inconsistent conic program: A is {self.A.shape}, b {self.b.shape}, q {self.q.shape}, "
                f"cones have {self.cones.rows} rows"
            )

    @classmethod
    def from_file(cls, path: str | Path) -> ConicProgram:
        """The program in a ``.dat-s`` or ``.cbf`` file; see ``sosdp.conic.formats.files.read_program``."""
        from .formats.files import read_program

        return read_program(path)

    def to_file(self, path: str | Path, *, comment: str = "sosdp") -> None:
        """Write a ``.dat-s`` or ``.cbf`` file; see ``sosdp.conic.formats.files.write_program``."""
        from .formats.files import write_program

        write_program(self, path, comment=comment)


@dataclass(frozen=True)
class ConicSolution:
    """What a backend returns; ``x``, ``s``, ``z`` may be a certificate of infeasibility, as ``status`` says.

    ``status`` is one of ``solved``, ``almost`` (reduced accuracy), ``primal_infeasible`` (z is a ray of the
    dual), ``dual_infeasible`` (x is a ray of the primal), ``failed``. It is the solver's opinion, never a
    proof.
    """

    status: str
    x: np.ndarray
    s: np.ndarray
    z: np.ndarray
    value: float
    iterations: int
    solver: str
    seconds: float
    message: str = ""
    details: dict = field(default_factory=dict, repr=False)


def full_position(side: int) -> np.ndarray:
    """Place in the vector form of every entry of the matrix, shape (side, side)."""
    row, column = triangle(side)
    place = np.empty((side, side), dtype=np.int64)
    place[row, column] = place[column, row] = np.arange(row.size)
    return place


def unpacking(side: int) -> sp.csr_matrix:
    """Matrix that turns a vector form into all side**2 entries (the same row and column by column)."""
    place = full_position(side).reshape(-1)
    row, column = triangle(side)
    weight = np.where(row == column, 1.0, 1.0 / SQRT2)[place]
    return sp.csr_matrix((weight, place, np.arange(place.size + 1)), shape=(place.size, row.size))


class SolverUnavailable(RuntimeError):
    """The requested solver is not installed or has no licence; the message says what to do."""


class ProblemTooLarge(MemoryError):
    """The solver would need more memory than this machine can give; the message says how much and what to
    try."""
