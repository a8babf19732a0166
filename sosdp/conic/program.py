"""The one problem every solver backend translates, and the one answer every backend returns.

    minimise    1/2 x'Px + q'x + constant      subject to   A x + s = b,   s in K,
    K = {0}^zero x R_+^nonnegative x PSD(side_1) x PSD(side_2) x ...      (rows in this order)

Symmetric matrices are vectors in the order of ``sosdp.conic.svec``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from .svec import smat, svec, svec_length, units


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

    @property
    def scalars(self) -> slice:
        """Row range of the inequalities."""
        return slice(self.zero, self.zero + self.nonnegative)

    def psd_slices(self) -> list[slice]:
        """Row range of each matrix cone."""
        start = self.scalars.stop
        slices = []
        for side in self.psd:
            slices.append(slice(start, start + svec_length(side)))
            start += svec_length(side)
        return slices

    @property
    def unit(self) -> np.ndarray:
        """A point inside the cone: ones and identity matrices (zeros for equations)."""
        return np.concatenate([np.zeros(self.zero), np.ones(self.nonnegative), units(self.psd)])

    def without_equations(self, z: np.ndarray) -> np.ndarray:
        """A vector of its rows with zeros in the place of multipliers of equations, which are free."""
        return np.concatenate([np.zeros(self.zero), z[self.zero :]])

    def project(self, s: np.ndarray) -> np.ndarray:
        """The point of the cone that is nearest to a vector of its rows."""
        result = np.zeros(self.rows)
        result[self.scalars] = np.maximum(s[self.scalars], 0.0)
        for side, rows in zip(self.psd, self.psd_slices(), strict=True):
            values, vectors = np.linalg.eigh(smat(s[rows], side))
            result[rows] = svec((vectors * np.maximum(values, 0.0)) @ vectors.T)
        return result


class Kept(dict[Any, Any]):
    """What was made of a program, for others like it; copies and pickles are empty."""

    def __reduce__(self) -> Any:
        return Kept, ()


@dataclass(frozen=True)
class ConicProgram:
    """A conic program in the form of the module docstring; ``P`` is upper triangular or None; ``rounded``:
    its entries are near those that were meant, so nothing is proven of it in exact arithmetic; ``kept``: what
    backends keep for programs that have all but ``b`` and ``q`` in common.

    Raises ValueError for shapes that do not fit, for numbers that doubles do not hold, and for a matrix with
    two entries at one place (their sum would be rounded).
    """

    q: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    cones: Cones
    P: sp.csc_matrix | None = None
    constant: float = 0.0
    rounded: bool = False
    kept: Kept | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        rows, columns = self.A.shape
        if (rows,) != self.b.shape or (columns,) != self.q.shape or rows != self.cones.rows:
            raise ValueError(
                f"inconsistent conic program: A is {self.A.shape}, b {self.b.shape}, q {self.q.shape}, "
                f"cones have {self.cones.rows} rows"
            )
        for name in ("q", "b"):
            object.__setattr__(self, name, _doubles(name, getattr(self, name)))
        for name, matrix in (("A", self.A), ("P", self.P)):
            if matrix is None:
                continue
            if not _once(matrix):
                raise ValueError(f"{name} has several entries at one place: add them")
            if matrix.dtype != np.float64:
                _doubles(name, matrix.data)
                object.__setattr__(self, name, matrix.astype(np.float64))
        if self.constant == self.constant and float(self.constant) != self.constant:
            raise ValueError(f"constant: doubles do not hold {self.constant!r}")

    def again(self, q: np.ndarray, b: np.ndarray, P: sp.csc_matrix | None) -> ConicProgram:
        """The same matrix and cones with other numbers, doubles of these shapes."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__, q=q, b=b, P=P)
        return result

    def __repr__(self) -> str:
        cones = self.cones
        sides = f", {len(cones.psd)} blocks up to side {max(cones.psd)}" if cones.psd else ""
        return (
            f"ConicProgram({self.q.size} variables, {cones.zero} equations, {cones.nonnegative} inequalities"
            f"{sides})"
        )


def _doubles(name: str, values: np.ndarray) -> np.ndarray:
    """The same numbers as doubles; ValueError where that would change one."""
    if values.dtype == np.float64:
        return values
    result = values.astype(np.float64)
    if np.can_cast(values.dtype, np.float32) or np.can_cast(values.dtype, np.int32):
        return result
    for given, double in zip(values.astype(object).reshape(-1), result.reshape(-1).tolist(), strict=True):
        if not given == double:  # of Python's numbers, which compares them exactly
            raise ValueError(f"{name}: doubles do not hold {given!r}")
    return result


def _once(matrix: sp.csc_matrix) -> bool:
    """Whether no place has two stored entries."""
    if getattr(matrix, "has_canonical_format", False):
        return True
    entries = matrix.tocoo()
    places = entries.row.astype(np.int64) * matrix.shape[1] + entries.col
    return bool(np.unique(places).size == places.size)


STATUSES = ("optimal", "inaccurate", "infeasible", "unbounded", "failed")
"""The words of every solver, of raw solutions and of results; sums of squares add ``proved``, ``refuted`` and
``unknown``."""


def check_status(status: str) -> None:
    """ValueError for a status that is not one of ``STATUSES``."""
    if status not in STATUSES:
        raise ValueError(f"status {status!r}: a solver answers with one of {', '.join(STATUSES)}")


@dataclass(frozen=True)
class ConicSolution:
    """What a backend returns; ``x``, ``s``, ``z`` may be a certificate of infeasibility, as ``status`` says.

    ``status`` is one of ``optimal``, ``inaccurate`` (reduced accuracy), ``infeasible`` (z is a ray of the
    dual), ``unbounded`` (x is a ray of the primal), ``failed``. Of a backend it is
    the solver's opinion, never a proof; ``solve_conic`` proves it and adds ``lower`` and ``upper``, proven
    bounds on the optimal value, and ``reason``.
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
    lower: float = -np.inf
    upper: float = np.inf
    reason: str = ""

    def __post_init__(self) -> None:
        check_status(self.status)

    def __repr__(self) -> str:
        proven = f", proven in [{self.lower:.9g}, {self.upper:.9g}]" if self.lower <= self.upper else ""
        if self.lower == -np.inf and self.upper == np.inf:
            proven = ", nothing proven"
        value = f"value {self.value:.9g}{proven}" if self.status in ("optimal", "inaccurate") else self.reason
        return f"ConicSolution({self.status}{f': {value}' if value else ''}; {self.solver})"


class SolverUnavailable(RuntimeError):
    """The requested solver is not installed or has no licence; the message says what to do."""


class ProblemTooLarge(MemoryError):
    """The solver would need more memory than this machine can give; the message says how much and what to
    try."""
