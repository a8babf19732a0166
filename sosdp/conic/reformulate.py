"""The same program for solvers that know less: linear objectives only, or no equations.

Each function returns a smaller language's program and the way back: primal, slack and dual of the answer are
those of the original program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .eigenvalues import least_eigenvalue
from .program import Cones, ConicProgram, ConicSolution
from .svec import SQRT2, smat, unpacking

_RANK = 1e-11  # pivots below this multiple of the largest are rounding
_CONSISTENT = 1e-9
_RAY = 1e-6
_ACCURATE, _NEARLY = 1e-6, 1e-4


@dataclass(frozen=True, eq=False)
class Reformulated:
    """A program and the function that turns its answer into one of the original program."""

    program: ConicProgram
    restore: Callable[[ConicSolution], ConicSolution]


def linear_objective(program: ConicProgram) -> Reformulated:
    """Squares in the objective become 2 x 2 matrix inequalities: u >= (l'x)^2 / 2, one for each rank of P.

    Raises ValueError when P is not positive semidefinite to working accuracy. Cost: the eigenvalues of the
    part of P that is not zero.
    """
    if program.P is None or program.P.nnz == 0:
        return Reformulated(replace(program, P=None), lambda solution: solution)
    factor = _factor(program.P)
    rank, columns = factor.shape
    rows = program.A.shape[0]
    block = 3 * np.arange(rank)
    bends = factor.tocoo()
    square = sp.csr_matrix(
        (-SQRT2 * bends.data, (block[bends.row] + 1, bends.col)), shape=(3 * rank, columns)
    )
    height = sp.csr_matrix((np.full(rank, -2.0), (block, np.arange(rank))), shape=(3 * rank, rank))
    right = np.zeros(3 * rank)
    right[block + 2] = 1.0
    A = sp.vstack([sp.hstack([program.A, sp.csc_matrix((rows, rank))]), sp.hstack([square, height])])
    lifted = ConicProgram(
        q=np.concatenate([program.q, np.ones(rank)]),
        A=sp.csc_matrix(A),
        b=np.concatenate([program.b, right]),
        cones=replace(program.cones, psd=(*program.cones.psd, *(2,) * rank)),
        constant=program.constant,
        rounded=True,
    )

    def restore(solution: ConicSolution) -> ConicSolution:
        return replace(solution, x=solution.x[:columns], s=solution.s[:rows], z=solution.z[:rows])

    return Reformulated(lifted, restore)


def _factor(P: sp.csc_matrix) -> sp.csr_matrix:
    """Rows l_k with sum_k l_k l_k' = P (given by its upper triangle)."""
    symmetric = sp.csr_matrix(P + sp.triu(P, 1).T)
    used = np.unique(symmetric.nonzero()[0])
    values, vectors = la.eigh(symmetric[used][:, used].toarray())
    top = float(np.abs(values).max())
    if values[0] < -1e-9 * top:
        raise ValueError(f"the quadratic objective is not convex: P has the eigenvalue {values[0]:.3g}")
    kept = values > 1e-14 * top
    rows = (vectors[:, kept] * np.sqrt(values[kept])).T
    rows[np.abs(rows) < 1e-15 * np.sqrt(top)] = 0.0
    place = sp.csr_matrix((np.ones(used.size), (np.arange(used.size), used)), shape=(used.size, P.shape[0]))
    return sp.csr_matrix(sp.csr_matrix(rows) @ place)


def without_equations(program: ConicProgram) -> Reformulated | ConicSolution:
    """Eliminate the zero cone by a pivoted QR factorisation of its rows (never by splitting them).

    Linear objective only. Returns an answer (``infeasible``, with its ray) when the equations
    contradict each other. Redundant equations are dropped. Cost: one dense QR of the equations.
    """
    zero = program.cones.zero
    if zero == 0:
        return Reformulated(program, lambda solution: solution)
    rows = sp.csr_matrix(program.A)
    left, right = rows[:zero], program.b[:zero]
    if not (np.isfinite(program.b).all() and np.isfinite(program.A.data).all()):
        return unsolved(program, "failed", message="the numbers are too large for floating point")
    Q, R, order = la.qr(left.toarray(), mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > _RANK * max(1.0, float(size.max(initial=0.0)))).sum())
    Q, R1, R2 = Q[:, :rank], R[:rank, :rank], R[:rank, rank:]
    basic, rest = order[:rank], order[rank:]
    start = np.zeros(program.q.size)
    start[basic] = la.solve_triangular(R1, Q.T @ right)
    gap = right - left @ start
    if np.abs(gap).max(initial=0.0) > _CONSISTENT * (1.0 + float(np.abs(right).max(initial=0.0))):
        dual = np.zeros(program.b.size)
        dual[:zero] = -gap / float(gap @ right)
        return unsolved(program, "infeasible", dual=dual, message="the equations contradict each other")
    dependent = -la.solve_triangular(R1, R2)
    dependent[np.abs(dependent) < 1e-13] = 0.0
    picks = sp.csr_matrix(
        (np.ones(rest.size), (rest, np.arange(rest.size))), shape=(program.q.size, rest.size)
    )
    fills = sp.csr_matrix((np.ones(rank), (basic, np.arange(rank))), shape=(program.q.size, rank))
    directions = sp.csr_matrix(picks + fills @ sp.csr_matrix(dependent))
    kept = rows[zero:]
    reduced = ConicProgram(
        q=directions.T @ program.q,
        A=sp.csc_matrix(kept @ directions),
        b=program.b[zero:] - kept @ start,
        cones=replace(program.cones, zero=0),
        constant=program.constant + float(program.q @ start),
        rounded=True,
    )

    def restore(solution: ConicSolution) -> ConicSolution:
        offset = 0.0 if solution.status == "unbounded" else 1.0
        pull = 0.0 if solution.status == "infeasible" else 1.0
        slope = -(pull * program.q + kept.T @ solution.z)[basic]
        if not np.isfinite(slope).all():
            return unsolved(program, "failed", message="the answer is too large for floating point")
        multipliers = Q @ la.solve_triangular(R1, slope, trans="T")
        return replace(
            solution,
            x=offset * start + directions @ solution.x,
            s=np.concatenate([np.zeros(zero), solution.s]),
            z=np.concatenate([multipliers, solution.z]),
        )

    return Reformulated(reduced, restore)


def unpacked(program: ConicProgram) -> list[tuple[sp.csr_matrix, np.ndarray]]:
    """A and b of the equations, of the scalars, and of each matrix, which has a row for every entry, column
    by column."""
    cones, A = program.cones, sp.csr_matrix(program.A)
    parts = [slice(cones.zero), cones.scalars]
    result = [(A[rows], program.b[rows]) for rows in parts]
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        unpack = unpacking(side)
        result.append((sp.csr_matrix(unpack @ A[rows]), unpack @ program.b[rows]))
    return result


def unsolved(
    program: ConicProgram,
    status: str,
    *,
    dual: np.ndarray | None = None,
    message: str = "",
    solver: str = "none",
) -> ConicSolution:
    """An answer that needed, or got, no solver run: zeros, but for the dual ray if there is one."""
    return ConicSolution(
        status=status,
        x=np.zeros(program.q.size),
        s=np.zeros(program.b.size),
        z=np.zeros(program.b.size) if dual is None else dual,
        value=float("nan"),
        iterations=0,
        solver=solver,
        seconds=0.0,
        message=message,
    )


def constant_program(program: ConicProgram, solver: str) -> ConicSolution | None:
    """The answer to a program without variables (b in K or not), None when there are variables."""
    if program.q.size:
        return None
    ray = _separating(program.cones, program.b)
    if ray is not None:
        return unsolved(program, "infeasible", dual=ray, message="no variables", solver=solver)
    answer = unsolved(program, "optimal", message="no variables", solver=solver)
    return replace(answer, s=program.b.copy(), value=program.constant)


def solve_reduced(
    program: ConicProgram,
    solver: str,
    solve: Callable[[ConicProgram], ConicSolution],
    equations: bool = False,
) -> ConicSolution:
    """The answer of a solver that knows no squares and, unless ``equations``, none of these; ``solve`` gets a
    program of at least one column without them."""
    known = constant_program(program, solver)
    if known is not None:
        return known
    lifted = linear_objective(program)
    if equations:
        return lifted.restore(solve(lifted.program))
    reduced = without_equations(lifted.program)
    if isinstance(reduced, ConicSolution):
        return lifted.restore(replace(reduced, solver=solver))
    known = constant_program(reduced.program, solver)
    return lifted.restore(reduced.restore(solve(reduced.program) if known is None else known))


def _separating(cones: Cones, s: np.ndarray) -> np.ndarray | None:
    """A dual vector z with s'z < 0, or None when s is in the cone (to rounding)."""
    tolerance = 1e-9 * (1.0 + float(np.abs(s).max(initial=0.0)))
    z = cones.project(-s)  # all parts but the equations are their own duals
    z[: cones.zero] = -s[: cones.zero]
    fall = -float(s @ z)
    return z / fall if fall > tolerance * tolerance and np.abs(z).max() > tolerance else None


def checked_ray(program: ConicProgram, x: np.ndarray, z: np.ndarray) -> str:
    """What the directions x and z prove: ``infeasible``, ``unbounded`` or ``failed``.

    For solvers whose word for infeasibility cannot be relied on. z: A'z = 0, b'z < 0, z in the dual cone; x:
    -A x in K, q'x < 0; each to 1e-6 relative to the decrease.
    """
    fall = -float(program.b @ z)
    if fall > 0 and np.abs(program.A.T @ z).max(initial=0.0) <= _RAY * fall:
        if cone_violation(program.cones, program.cones.without_equations(z)) <= _RAY * fall:
            return "infeasible"
    fall = -float(program.q @ x)
    if fall > 0 and cone_violation(program.cones, -(program.A @ x)) <= _RAY * fall:
        return "unbounded"
    return "failed"


def optimality_error(program: ConicProgram, x: np.ndarray, z: np.ndarray) -> float:
    """Largest relative violation of the optimality conditions of a linear program: feasibilities and gap."""
    value, dual = float(program.q @ x), -float(program.b @ z)
    size_s = 1.0 + float(np.abs(program.b).max(initial=0.0))
    size_z = 1.0 + float(np.abs(program.q).max(initial=0.0))
    return max(
        cone_violation(program.cones, program.b - program.A @ x) / size_s,
        cone_violation(program.cones, program.cones.without_equations(z)) / size_z,
        float(np.abs(program.q + program.A.T @ z).max(initial=0.0)) / size_z,
        abs(value - dual) / (1.0 + abs(value)),
    )


def weighed(
    program: ConicProgram,
    solver: str,
    result: tuple[np.ndarray, np.ndarray, int, str],
    solved: bool,
    seconds: float,
) -> ConicSolution:
    """The answer of a solver that is not taken at its word. ``found``: x, z, iterations, what it says;
    ``solved``: whether that means an optimum. The conditions of optimality, or a ray, are checked."""
    x, z, iterations, said = result
    error = optimality_error(program, x, z)
    status = "optimal" if error <= _ACCURATE else "inaccurate"
    if not solved:
        status = checked_ray(program, x, z)
        if status == "failed" and error <= _NEARLY:
            status = "inaccurate"
    ray = status in ("unbounded", "infeasible")
    return ConicSolution(
        status=status,
        x=x,
        s=(0.0 if status == "unbounded" else 1.0) * program.b - program.A @ x,
        z=z,
        value=np.nan if ray else float(program.q @ x) + program.constant,
        iterations=iterations,
        solver=solver,
        seconds=seconds,
        message=said,
    )


def cone_violation(cones: Cones, s: np.ndarray) -> float:
    """How far s is outside the cone: the largest of |s| on equations and the negative parts elsewhere."""
    worst = float(np.abs(s[: cones.zero]).max(initial=0.0))
    worst = max(worst, -float(s[cones.scalars].min(initial=0.0)))
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        worst = max(worst, -least_eigenvalue(smat(s[rows], side)))
    return worst
