"""A proven bracket of the optimal value of any conic program, in the manner of Jansson's VSDP.

Upper bound: a point x whose slack ``b - A x`` is proven to be in the cone, rounding included. Lower bound: a
dual vector z with ``A'z = -q`` exactly; the floats miss that by a residual r, but an exact solution lies
within ``|r| / sigma`` of them, sigma a proven lower bound on the least singular value of A, and it is in the
dual cone when the floats are inside by more than that distance. Solvers end on the boundary of the cones;
the same program with both cones shrunk by a little (one more solve) has its solution inside. Where equations
of the dual say that Z has a kernel (a column with cost zero and a positive semidefinite matrix), Z = V W V'
is substituted first, V exact. Source: Jansson, Chaykin, Keil, SIAM J. Numer. Anal. 46 (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .program import Cones, ConicProgram, ConicSolution
from .rigorous import UNIT, least_eigenvalue_bound, norm
from .svec import smat, svec, svec_length, triangle

_OUTWARD = 1 + 1e-11
_UNDERFLOW = 1e-300
_COLUMNS = 4000  # the dense test of independence beyond it is not made (minutes)
_SHRINK = (1e-8, 1e-7, 1e-6, 3e-6)  # of the value, what each cone's shrinking may cost
_FACE_SIDE = 400


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


def upper_bound(program: ConicProgram, x: np.ndarray) -> float:
    """A proven upper bound on the optimal value from a point, infinite when it is not proven feasible."""
    if not np.isfinite(x).all():
        return np.inf
    A, cones = sp.csr_matrix(program.A), program.cones
    slack = program.b - A @ x
    error = _product_error(A, program.b, x)
    moved = 0.0  # how far from x an exact solution of the equations is
    if cones.zero:
        equations = A[: cones.zero].toarray()
        floor = _least_singular_value(equations.T)
        if not floor > 0:
            return np.inf
        moved = norm(np.abs(slack[: cones.zero]) + error[: cones.zero]) / floor * _OUTWARD
    error = error + moved * np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel()) * _OUTWARD
    if not _inside(cones, slack, error):
        return np.inf
    value = float(program.q @ x)
    rounding = (x.size + 4) * UNIT * float(np.abs(program.q) @ np.abs(x)) + moved * norm(program.q)
    return float(
        np.nextafter(value + program.constant + (rounding + UNIT * abs(program.constant)) * 2, np.inf)
    )


def lower_bound(
    program: ConicProgram, z: np.ndarray, errors: tuple[np.ndarray, np.ndarray] | None = None
) -> float:
    """A proven lower bound on the optimal value of a linear program from a dual vector; minus infinity when
    none is proven. ``errors``: what the entries of A and b are off by at most."""
    exact = _exactly(program, z, -program.q, None if errors is None else errors[0])
    if exact is None:
        return -np.inf
    z, distance = exact
    if not _inside(program.cones, _without_zero(program, z), np.full(z.size, distance), whole=distance):
        return -np.inf
    value = -float(program.b @ z)
    rounding = (z.size + 4) * UNIT * float(np.abs(program.b) @ np.abs(z)) + distance * norm(program.b)
    rounding = rounding * 2 + UNIT * abs(program.constant) * 2
    if errors is not None:
        rounding += float(errors[1] @ np.abs(z)) + distance * norm(errors[1])
    return float(np.nextafter(value + program.constant - rounding, -np.inf))


def is_empty(program: ConicProgram, ray: np.ndarray) -> bool:
    """Whether a dual vector near the given one proves that no point is feasible: ``A'z = 0``, z in the dual
    cone, ``b'z < 0``."""
    exact = _exactly(program, ray, np.zeros(program.q.size))
    if exact is None:
        return False
    z, distance = exact
    if not _inside(program.cones, _without_zero(program, z), np.full(z.size, distance), whole=distance):
        return False
    value = float(program.b @ z)
    rounding = (z.size + 4) * UNIT * float(np.abs(program.b) @ np.abs(z)) + distance * norm(program.b)
    return bool(value + 2 * rounding < 0)


def bracket(
    program: ConicProgram,
    found: ConicSolution,
    solve: Callable[[ConicProgram], ConicSolution],
    relative: float,
) -> Bracket:
    """A bracket of the optimal value of a linear program from a solver's answer.

    ``solve`` is called for the shrunk programs, until the bracket is within ``relative``. Cost: a dense
    factorisation of the columns, and at most as many solves as there are sizes of shrinking.
    """
    face = _face(program)
    if found.status == "infeasible":
        if is_empty(program, found.z):
            return Bracket(np.inf, np.inf, empty=True)
        ray = _inner_ray(program, found, solve)
        if ray is not None and is_empty(program, ray):
            return Bracket(np.inf, np.inf, empty=True)
        return Bracket(-np.inf, np.inf, reason="the ray of infeasibility could not be proven")
    if found.status not in ("optimal", "inaccurate"):
        return Bracket(-np.inf, np.inf, reason=f"the solver gave no point ({found.message})")
    inner = program if face is None else face.program
    errors = None if face is None else face.errors
    dual = found.z if face is None else face.dual(found.z)
    best = Bracket(lower_bound(inner, dual, errors), upper_bound(program, found.x))
    for shrink in _SHRINK:
        if best.agrees(relative):
            break
        x, z = _shrunk(program, found.value, found.s, found.z, shrink, solve)
        if face is not None:
            _, z = _shrunk(inner, found.value, face.slack(found.s), dual, shrink, solve)
        high = np.inf if x is None else upper_bound(program, x)
        low = -np.inf if z is None else lower_bound(inner, z, errors)
        best = Bracket(max(best.lower, low), min(best.upper, high))
    reason = "" if best.agrees(relative) else _missing(best)
    return replace(best, reason=reason)


def _missing(best: Bracket) -> str:
    sides = [name for name, value in (("lower", best.lower), ("upper", best.upper)) if not np.isfinite(value)]
    if sides:
        return f"no {' and no '.join(sides)} bound was proven: there seems to be no interior on that side"
    return f"the proven bounds {best.lower:.9g} and {best.upper:.9g} do not agree"


def _shrunk(
    program: ConicProgram,
    value: float,
    s: np.ndarray,
    z: np.ndarray,
    shrink: float,
    solve: Callable[[ConicProgram], ConicSolution],
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Point and dual vector of the program whose cones are shrunk so that each costs about ``shrink`` of the
    value."""
    inside = _interior(program.cones)
    size = shrink * max(1.0, abs(value) if np.isfinite(value) else 1.0)
    primal_step = size / max(1e-6, float(inside @ np.abs(z)))
    dual_step = size / max(1e-6, float(inside @ np.abs(s)))
    q = program.q + dual_step * (program.A.T @ inside)
    answer = solve(replace(program, b=program.b - primal_step * inside, q=q))
    if answer.status not in ("optimal", "inaccurate"):
        return None, None
    return answer.x, answer.z + dual_step * inside


def _inner_ray(
    program: ConicProgram, found: ConicSolution, solve: Callable[[ConicProgram], ConicSolution]
) -> np.ndarray | None:
    """A ray inside the dual cone: maximise t with ``A'z = 0``, ``b'z = -1``, ``z - t J`` in the cone, J the
    identity; stated as the dual of a program in (x, y)."""
    inside = _interior(program.cones)
    matrix = sp.hstack([program.A, sp.csc_matrix(program.b[:, None])], format="csr")
    at = program.cones.zero
    stacked = sp.vstack([matrix[:at], sp.csr_matrix(inside @ matrix), matrix[at:]], format="csc")
    right = np.zeros(program.b.size + 1)
    right[at] = -1.0
    cost = np.append(np.zeros(program.q.size), 1.0)
    cones = replace(program.cones, nonnegative=program.cones.nonnegative + 1)
    answer = solve(ConicProgram(q=cost, A=stacked, b=right, cones=cones))
    if answer.status not in ("optimal", "inaccurate"):
        return None
    return np.delete(answer.z, at) + answer.z[at] * inside


def _interior(cones: Cones) -> np.ndarray:
    """A point inside the cone: ones and identity matrices (zeros for equations)."""
    parts = [np.zeros(cones.zero), np.ones(cones.nonnegative)]
    parts += [np.where(np.equal(*triangle(side)), 1.0, 0.0) for side in cones.psd]
    return np.concatenate(parts)


def _product_error(A: sp.csr_matrix, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rounding in ``b - A x``, that of factors sqrt(2) in the data included."""
    size = np.abs(b) + abs(A) @ np.abs(x)
    return (np.diff(A.indptr) + 6) * (UNIT * size * _OUTWARD + _UNDERFLOW)


def _without_zero(program: ConicProgram, z: np.ndarray) -> np.ndarray:
    """The dual vector with zeros in the place of multipliers of equations, which are free."""
    z = z.copy()
    z[: program.cones.zero] = 0.0
    return z


def _inside(cones: Cones, s: np.ndarray, error: np.ndarray, whole: float | None = None) -> bool:
    """Whether every vector within ``error`` of s, entry by entry, is in the cone (equations aside).

    ``whole``: where given, the norm of the whole error, so that a block's is at most that.
    """
    scalars = slice(cones.zero, cones.zero + cones.nonnegative)
    if (s[scalars] < error[scalars]).any():
        return False
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
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
    found = float(np.sqrt(least)) * (1 - 1e-12) - 8 * UNIT * np.sqrt(2.0 * columns)
    return found * float(scale.min())


def _exactly(
    program: ConicProgram, z: np.ndarray, target: np.ndarray, error: np.ndarray | None = None
) -> tuple[np.ndarray, float] | None:
    """A vector near z, and how far from it at most an exact solution of ``A'z = target`` is; or None."""
    if not np.isfinite(z).all() or program.q.size > _COLUMNS:
        return None
    dense = program.A.toarray()
    floor = _least_singular_value(dense) - (0.0 if error is None else norm(error) * _OUTWARD)
    if not floor > 0:
        return None
    up = sp.csr_matrix(program.A.T)
    orthogonal, triangular = la.qr(dense, mode="economic")
    for _ in range(3):
        residual = target - up @ z
        z = z + orthogonal @ la.solve_triangular(triangular, residual, trans="T")
    missed = np.abs(target - up @ z) + _product_error(up, target, z)
    if error is not None:
        missed += error.T @ np.abs(z) * _OUTWARD
    distance = norm(missed) / floor * _OUTWARD
    return (z, distance) if np.isfinite(distance) else None


# ---------------------------------------------------------------------- faces that single columns show


@dataclass(frozen=True, eq=False)
class _Face:
    """The program on ``Z = V W V'`` (block by block), and what its entries of A and b are off by."""

    program: ConicProgram
    errors: tuple[np.ndarray, np.ndarray]
    whole: Cones
    bases: tuple[np.ndarray | None, ...]

    def dual(self, z: np.ndarray) -> np.ndarray:
        """The part of a dual vector of the whole program on the face."""
        return self._mapped(z, [None if v is None else la.pinv(v) for v in self.bases])

    def slack(self, s: np.ndarray) -> np.ndarray:
        """The slack ``V' S V`` of the program on the face."""
        return self._mapped(s, [None if v is None else v.T for v in self.bases])

    def _mapped(self, vector: np.ndarray, maps: list[np.ndarray | None]) -> np.ndarray:
        parts = [vector[: self.whole.zero + self.whole.nonnegative]]
        for side, rows, m in zip(self.whole.psd, self.whole.psd_slices(), maps, strict=True):
            parts.append(vector[rows] if m is None else svec(m @ smat(vector[rows], side) @ m.T))
        return np.concatenate(parts)


def _face(program: ConicProgram) -> _Face | None:
    """The face of the dual cone that columns with cost zero and a semidefinite matrix show, or None.

    For such a column i, ``<F_i, Z> = q_i = 0`` with F_i and Z semidefinite: the range of Z is in the kernel
    of F_i. Kernels are exact (F_i of rank one with small integers), and what substituting rounds is charged.
    """
    cones = program.cones
    bases: list[np.ndarray | None] = [None] * len(cones.psd)
    shown: list[int] = []
    A = sp.csc_matrix(program.A)
    starts = np.array([rows.start for rows in cones.psd_slices()])
    for column in np.flatnonzero(program.q == 0).tolist():
        here = slice(A.indptr[column], A.indptr[column + 1])
        rows, values = A.indices[here], A.data[here]
        if not rows.size or rows.min() < cones.zero + cones.nonnegative:
            continue
        block = int(np.searchsorted(starts, rows[0], side="right")) - 1
        part, side = cones.psd_slices()[block], cones.psd[block]
        if (
            bases[block] is not None
            or side > _FACE_SIDE
            or rows.max() >= part.stop
            or rows.min() < part.start
        ):
            continue
        vector = np.zeros(svec_length(side))
        vector[rows - part.start] = values
        kernel = _kernel_of_rank_one(smat(vector, side))
        if kernel is not None:
            bases[block] = kernel
            shown.append(column)
    if all(basis is None for basis in bases):
        return None
    return _on_face(program, tuple(bases), shown)


def _kernel_of_rank_one(matrix: np.ndarray) -> np.ndarray | None:
    """An integer basis, as columns, of the kernel of ``+-c vv'`` with a small integer v; None for any other
    matrix. (Off-diagonal entries carry one rounding of sqrt(2).)"""
    row = int(np.argmax(np.abs(matrix.diagonal())))
    lead = matrix[row, row]
    if lead == 0:
        return None
    vector = np.round(matrix[row] / lead * 720720) / 720720
    fractions = [Fraction(float(v)).limit_denominator(1000) for v in vector]
    common = np.lcm.reduce([f.denominator for f in fractions])
    whole = np.array([float(f * int(common)) for f in fractions])
    rebuilt = np.outer(whole, whole) * (lead / whole[row] ** 2)
    if np.abs(whole).max() > 1000:
        return None
    # an entry is rounded once, and only off the diagonal (sqrt 2): zeros and the diagonal are what they are,
    # or a positive definite matrix such as diag(1, 1e-16) would pass for one of rank one
    allowed = 8 * UNIT * np.abs(rebuilt)
    lead_exact = Fraction(float(lead)) / int(whole[row]) ** 2
    diagonal = all(
        Fraction(float(matrix[k, k])) == lead_exact * int(whole[k]) ** 2 for k in range(whole.size)
    )
    if not diagonal or (np.abs(rebuilt - matrix) > allowed).any():
        return None
    kernel = []
    for k in range(whole.size):
        if k == row:
            continue
        vector = np.zeros(whole.size)
        vector[k], vector[row] = whole[row], -whole[k]
        kernel.append(vector if whole[k] else np.eye(whole.size)[k])
    return np.array(kernel).T


def _on_face(program: ConicProgram, bases: tuple[np.ndarray | None, ...], shown: list[int]) -> _Face:
    cones = program.cones
    top = cones.zero + cones.nonnegative
    data = sp.hstack([program.A, sp.csc_matrix(program.b[:, None])], format="csr")
    parts, errors, sides = [data[:top].toarray()], [np.zeros((top, data.shape[1]))], []
    for side, rows, basis in zip(cones.psd, cones.psd_slices(), bases, strict=True):
        dense = data[rows].toarray()
        sides.append(side if basis is None else basis.shape[1])
        if basis is None:
            parts.append(dense)
            errors.append(np.zeros_like(dense))
            continue
        size = np.abs(basis)
        columns = [smat(dense[:, k], side) for k in range(dense.shape[1])]
        parts.append(np.column_stack([svec(basis.T @ m @ basis) for m in columns]))
        sizes = np.column_stack([svec(size.T @ np.abs(m) @ size) for m in columns])
        errors.append((2 * side + 8) * UNIT * sizes * 2)
    kept = np.setdiff1d(np.arange(program.q.size), shown)
    stacked, error = np.concatenate(parts), np.concatenate(errors)
    reduced = ConicProgram(
        q=program.q[kept],
        A=sp.csc_matrix(stacked[:, kept]),
        b=stacked[:, -1],
        cones=replace(cones, psd=tuple(sides)),
        constant=program.constant,
    )
    return _Face(reduced, (error[:, kept], error[:, -1]), cones, bases)
