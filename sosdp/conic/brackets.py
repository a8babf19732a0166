"""A proven bracket of the optimal value of any conic program, in the manner of Jansson's VSDP.

Upper bound: a point x whose slack ``b - A x`` is proven to be in the cone, rounding included. Lower bound: a
dual vector z with ``A'z = -q`` exactly; the floats miss that by a residual r, but an exact solution lies
within ``|r| / sigma`` of them, sigma a proven lower bound on the least singular value of A, and it is in the
dual cone when the floats are inside by more than that distance. Which programs to solve for such points and
vectors is in ``strategies``. Source: Jansson, Chaykin, Keil, SIAM J. Numer. Anal. 46 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .clock import otherwise, reserve
from .exact.integers import rounded
from .program import Cones, ConicProgram
from .rigorous import UNIT, least_eigenvalue_bound, norm
from .svec import smat, units

_OUTWARD = 1 + 1e-11
_UNDERFLOW = 1e-300
_QUOTIENT = 1e-323  # what a quotient and its product may lose to underflow: two units
_SQUARES = 1e-150  # what the norm of a row may lose by squares that vanish
_EIGENVALUE, _FACTOR = 2e-10, 1e-10  # seconds for side^3, and for rows times columns^2
_COLUMNS = 4000  # the dense test of independence beyond it is not made (minutes)


@dataclass(frozen=True)
class Bracket:
    """Proven bounds on the optimal value (infinite where nothing is proven), or ``empty``: a proof that no
    point exists. ``reason`` says what is missing."""

    lower: float
    upper: float
    empty: bool = False
    reason: str = ""

    def agrees(self, relative: float) -> bool:
        """Whether the two bounds are within ``relative`` of one another."""
        if not (np.isfinite(self.lower) and np.isfinite(self.upper)):
            return False
        return self.upper - self.lower <= relative * max(1.0, abs(self.lower))

    @property
    def middle(self) -> float:
        """The number between the two bounds, finite where they are."""
        total = self.lower + self.upper
        return total / 2 if np.isfinite(total) else self.lower / 2 + self.upper / 2


@otherwise(np.inf)
def upper_bound(
    program: ConicProgram, x: np.ndarray, errors: tuple[np.ndarray, np.ndarray] | None = None
) -> float:
    """A proven upper bound on the optimal value from a point, infinite when it is not proven feasible.
    ``errors``: what the entries of A and b are off by at most."""
    result = _upper_bound(program, x, errors)
    if not np.isfinite(result):
        return np.inf
    return rounded(Fraction(result) + Fraction(program.constant), 1) if program.q.any() else program.constant


def _upper_bound(program: ConicProgram, x: np.ndarray, errors: tuple[np.ndarray, np.ndarray] | None) -> float:
    if not np.isfinite(x).all():
        return np.inf
    A, cones = sp.csr_matrix(program.A), program.cones
    slack = program.b - A @ x
    error = _product_error(A, program.b, x)
    lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel()) + _SQUARES
    off = np.zeros((1, 1))  # of the equations
    if errors is not None:
        error += (errors[0] @ np.abs(x) + errors[1]) * _OUTWARD
        lengths += np.sqrt((errors[0] ** 2).sum(axis=1))
        off = errors[0][: cones.zero]
    moved = 0.0  # how far from x an exact solution of the equations is
    if cones.zero:
        equations = A[: cones.zero].toarray()
        floor = _least_singular_value(equations.T) - norm(off) * _OUTWARD
        if not floor > 0:
            return np.inf
        moved = norm(np.abs(slack[: cones.zero]) + error[: cones.zero]) / floor * _OUTWARD + _QUOTIENT
    error = error + moved * lengths * _OUTWARD
    if not _inside(cones, slack, error):
        return np.inf
    value = float(program.q @ x)
    rounding = (x.size + 4) * UNIT * float(np.abs(program.q) @ np.abs(x)) + moved * norm(program.q)
    bound = np.nextafter(value + rounding * 2 + x.size * _UNDERFLOW, np.inf)
    return float(bound) if np.isfinite(bound) else np.inf


@otherwise(-np.inf)
def lower_bound(
    program: ConicProgram,
    z: np.ndarray,
    errors: tuple[np.ndarray, np.ndarray] | None = None,
    off: np.ndarray | None = None,
) -> float:
    """A proven lower bound on the optimal value of a linear program from a dual vector; minus infinity when
    none is proven. ``errors``: what the entries of A and b are off by at most; ``off``: those of q."""
    if off is None and not program.q.any():
        return program.constant  # no multipliers at all
    result = _dual_value(program, z, -program.q, errors, off)
    return rounded(Fraction(program.constant) - Fraction(result), -1) if np.isfinite(result) else -np.inf


def _dual_value(
    program: ConicProgram,
    z: np.ndarray,
    target: np.ndarray,
    errors: tuple[np.ndarray, np.ndarray] | None,
    off: np.ndarray | None = None,
) -> float:
    """A proven upper bound on ``b'z`` of a vector of the dual cone near z with ``A'z = target``; infinity
    where none is proven to exist."""
    exact = _exactly(program, z, target, None if errors is None else errors[0], off)
    if exact is None:
        return np.inf
    z, distance = exact
    if not _inside(
        program.cones, program.cones.without_equations(z), np.full(z.size, distance), whole=distance
    ):
        return np.inf
    value = float(program.b @ z)
    rounding = (z.size + 4) * UNIT * float(np.abs(program.b) @ np.abs(z)) + distance * norm(program.b)
    rounding = rounding * 2 + z.size * _UNDERFLOW
    if errors is not None:
        rounding += float(errors[1] @ np.abs(z)) * _OUTWARD + distance * norm(errors[1])
    bound = np.nextafter(value + rounding, np.inf)
    return float(bound) if np.isfinite(bound) else np.inf


@otherwise(-np.inf)
def bounded_lower_bound(program: ConicProgram, z: np.ndarray, largest: float) -> float:
    """A proven lower bound on the value of every feasible point whose entries are at most ``largest`` in
    absolute value, from any dual vector: what its equations miss is paid for.

    With z in the dual cone ``q'x = r'x - z'Ax = r'x - b'z + z's >= -|r|'|x| - b'z``, r = q + A'z.
    """
    if not np.isfinite(z).all():
        return -np.inf
    z, scalars = z.copy(), program.cones.scalars
    z[scalars] = np.maximum(z[scalars], 0.0)
    for side, rows in zip(program.cones.psd, program.cones.psd_slices(), strict=True):
        reserve(_EIGENVALUE * side**3)
        rounding = 4 * UNIT * norm(z[rows])
        least = least_eigenvalue_bound(smat(z[rows], side)) - rounding * _OUTWARD
        if not np.isfinite(least):
            return -np.inf
        if least < 0:
            z[rows] += -2.0 * least * units([side])
            rounding = 4 * UNIT * norm(z[rows])
            if not least_eigenvalue_bound(smat(z[rows], side)) >= rounding * _OUTWARD:
                return -np.inf
    up = sp.csr_matrix(program.A.T)
    missed = np.abs(program.q + up @ z) + _product_error(up, program.q, z)
    value = -float(program.b @ z)
    rounding = (z.size + 4) * UNIT * float(np.abs(program.b) @ np.abs(z)) + UNIT * abs(program.constant)
    paid = float(missed.sum()) * largest * _OUTWARD
    bound = np.nextafter(value + program.constant - paid - 2 * rounding, -np.inf)
    return float(bound) if np.isfinite(bound) else -np.inf


@otherwise(False)
def is_empty(
    program: ConicProgram, ray: np.ndarray, errors: tuple[np.ndarray, np.ndarray] | None = None
) -> bool:
    """Whether a dual vector near the given one proves that no point is feasible: ``A'z = 0``, z in the dual
    cone, ``b'z < 0``."""
    return _dual_value(program, ray, np.zeros(program.q.size), errors) < 0


def _product_error(A: sp.csr_matrix, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rounding in ``b - A x``, that of factors sqrt(2) in the data included."""
    size = np.abs(b) + abs(A) @ np.abs(x)
    return (np.diff(A.indptr) + 6) * (UNIT * size * _OUTWARD + _UNDERFLOW)


def _inside(cones: Cones, s: np.ndarray, error: np.ndarray, whole: float | None = None) -> bool:
    """Whether every vector within ``error`` of s, entry by entry, is in the cone (equations aside).

    ``whole``: where given, the norm of the whole error, so that a block's is at most that.
    """
    if not (s[cones.scalars] >= error[cones.scalars]).all():  # nor where products overflowed and say nothing
        return False
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        reserve(_EIGENVALUE * side**3)
        off = norm(error[rows]) if whole is None else whole
        rounding = 4 * UNIT * norm(s[rows])
        if not least_eigenvalue_bound(smat(s[rows], side)) >= (off + rounding) * _OUTWARD:
            return False
    return True


def _least_singular_value(matrix: np.ndarray) -> float:
    """A proven lower bound on the least singular value of a tall matrix, or something not positive."""
    rows, columns = matrix.shape
    if columns == 0:
        return np.inf
    if columns > _COLUMNS or rows < columns:
        return 0.0
    reserve(_FACTOR * rows * columns**2)
    scale = np.sqrt((matrix**2).sum(axis=0))
    if not (scale > 0).all() or not np.isfinite(scale).all():
        return 0.0
    scale = np.exp2(np.round(np.log2(scale)))  # columns of size one: exact, and better conditioned
    matrix = matrix / scale
    product = matrix.T @ matrix
    rounding = (rows + 4) * UNIT * columns * float(np.abs(product.diagonal()).max()) * 4
    least = least_eigenvalue_bound(product) - rounding
    if not least > 0:
        return 0.0
    # the data carry factors sqrt(2), each rounded
    result = float(np.sqrt(least)) * (1 - 1e-12) - 8 * UNIT * np.sqrt(2.0 * columns)
    return result * float(scale.min())


def _exactly(
    program: ConicProgram,
    z: np.ndarray,
    target: np.ndarray,
    error: np.ndarray | None = None,
    off: np.ndarray | None = None,
) -> tuple[np.ndarray, float] | None:
    """A vector near z, and how far from it at most an exact solution of ``A'z = target`` is; or None."""
    if not np.isfinite(z).all() or program.q.size > _COLUMNS:
        return None
    reserve(_FACTOR * 3 * program.A.shape[0] * program.q.size**2)
    dense = program.A.toarray()
    floor = _least_singular_value(dense) - (0.0 if error is None else norm(error) * _OUTWARD)
    if not floor > 0:
        return None
    up = sp.csr_matrix(program.A.T)
    orthogonal, triangular = la.qr(dense, mode="economic")
    for _ in range(3):
        residual = target - up @ z
        if not np.isfinite(residual).all():  # an iterate beyond what products can hold
            return None
        z = z + orthogonal @ la.solve_triangular(triangular, residual, trans="T")
    missed = np.abs(target - up @ z) + _product_error(up, target, z)
    if error is not None:
        missed += error.T @ np.abs(z) * _OUTWARD
    if off is not None:
        missed += off * _OUTWARD
    distance = norm(missed) / floor * _OUTWARD + _QUOTIENT
    return (z, distance) if np.isfinite(distance) else None
