"""Conic programs to and from cvxpy and picos: for users who model there, and as independent oracles in tests.

Both modelling languages are imported when a function is called, never before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sosdp.extras import need

from .choose import solve_conic
from .plugins import Solver
from .program import Cones, ConicProgram, ConicSolution
from .reformulate import unpacked
from .svec import SQRT2, roots, svec_length, triangle
from .to_cvxpy import to_cvxpy

if TYPE_CHECKING:
    import cvxpy
    import picos

__all__ = ["from_cvxpy", "from_picos", "solve_cvxpy", "to_cvxpy", "to_picos"]


def from_cvxpy(problem: cvxpy.Problem) -> ConicProgram:
    """The conic program that cvxpy would hand to Clarabel, its constant included.

    A maximisation becomes the minimisation of minus its objective, so the value of its solution is minus the
    maximum (``solve_cvxpy`` writes the maximum into the problem); a second-order cone of size k becomes a
    matrix inequality of side k, so its cost grows with the square of k. cvxpy's own auxiliary variables are
    part of x. Raises ValueError for a problem that is not convex by cvxpy's rules, that has no variables,
    integer variables or parameters without a value, or that needs exponential or power cones; the message
    names the cone.
    """
    return _read_cvxpy(problem)[0]


def solve_cvxpy(
    problem: cvxpy.Problem,
    solver: str | Solver = "auto",
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve a cvxpy problem with ``solve_conic`` and write the answer back into it.

    ``problem.value``, ``problem.status``, the values of its variables and the dual values of its constraints
    are then what ``problem.solve()`` would have set; where no solver found anything they are left alone.
    What is returned has proven bounds besides (of a maximisation: on minus its objective). Raises as
    ``from_cvxpy`` and ``solve_conic``.
    """
    program, back, finish = _read_cvxpy(problem)
    result = solve_conic(program, solver, tolerance=tolerance, time_limit=time_limit, verbose=verbose)
    words = {
        "optimal": "Solved",
        "inaccurate": "AlmostSolved",
        "infeasible": "PrimalInfeasible",
        "unbounded": "DualInfeasible",
    }
    if result.status not in words:
        return result
    answer = SimpleNamespace(
        status=words[result.status],
        x=result.x,
        z=back.T @ result.z,
        obj_val=result.value - program.constant,
        solve_time=result.seconds,
        iterations=result.iterations,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status says so
        finish(answer)
    return result


def _read_cvxpy(problem: cvxpy.Problem) -> tuple[ConicProgram, sp.csr_matrix, Callable[[Any], None]]:
    """The program, the matrix from cvxpy's rows to ours, and what writes an answer of Clarabel back."""
    need("cvxpy", "the bridge to cvxpy")
    import cvxpy as cp

    if problem.is_mixed_integer():
        raise ValueError("the cvxpy problem has integer variables; only continuous conic programs are taken")
    if not problem.variables():
        raise ValueError("the cvxpy problem has no variables")
    missing = [str(p) for p in problem.parameters() if p.value is None]
    if missing:
        raise ValueError(f"the cvxpy problem has parameters without a value: {', '.join(missing)}")
    try:
        data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={})
    except cp.error.DCPError as error:
        raise ValueError(f"cvxpy does not find the problem convex: {str(error).splitlines()[0]}") from error
    dims = data["dims"]
    foreign = {"exponential": int(dims.exp), "power": len(dims.p3d) + len(getattr(dims, "pnd", ()))}
    for name, count in foreign.items():
        if count:
            raise ValueError(
                f"the cvxpy problem needs {count} {name} cone(s); only zero, nonnegative, second-order and "
                "positive semidefinite cones are taken"
            )
    sides = tuple(int(n) for n in dims.psd)
    plain, matrices = int(dims.zero) + int(dims.nonneg), sum(svec_length(n) for n in sides)
    arrows = [_arrow(int(size)) for size in dims.soc]
    to_rows = sp.block_diag([sp.identity(plain), *arrows, sp.identity(matrices)], format="csr")
    P = data.get("P")
    program = ConicProgram(
        q=np.asarray(data["c"], dtype=float),
        A=sp.csc_matrix(to_rows @ sp.csr_matrix(data["A"])),
        b=to_rows @ np.asarray(data["b"], dtype=float),
        cones=Cones(
            zero=int(dims.zero),
            nonnegative=int(dims.nonneg),
            psd=(*(int(size) for size in dims.soc), *sides),
        ),
        P=None if P is None or P.nnz == 0 else sp.csc_matrix(sp.triu(P)),
        rounded=True,  # constants were added, and entries multiplied, in floats
        constant=float(inverse[-1]["offset"]),
    )
    return program, to_rows, lambda answer: problem.unpack_results(answer, chain, inverse)


def _arrow(size: int) -> sp.csr_matrix:
    """Vectors (t, x) to vector forms of [[t, x'], [x, t I]], which is semidefinite where |x| <= t.

    Shape (size (size + 1) / 2, size); its transpose takes dual matrices to dual vectors.
    """
    row, column = triangle(size)
    diagonal, first = np.flatnonzero(row == column), np.flatnonzero((row == 0) & (column > 0))
    places = np.concatenate([diagonal, first])
    sources = np.concatenate([np.zeros(diagonal.size, dtype=np.int64), column[first]])
    values = np.concatenate([np.ones(diagonal.size), np.full(first.size, SQRT2)])
    return sp.csr_matrix((values, (places, sources)), shape=(row.size, size))


def to_picos(program: ConicProgram) -> tuple[picos.Problem, picos.RealVariable]:
    """The program as a picos problem and its variable x, of shape (columns, 1).

    Raises ValueError for a quadratic objective: use ``sosdp.conic.reformulate.linear_objective`` first.
    """
    need("picos", "the bridge to picos")
    import picos

    if program.P is not None and program.P.nnz:
        raise ValueError(
            "this program has a quadratic objective; make it linear first with "
            "sosdp.conic.reformulate.linear_objective"
        )
    x = picos.RealVariable("x", program.q.size)
    problem = picos.Problem()
    problem.set_objective("min", (picos.Constant("q", program.q) | x) + float(program.constant))
    slacks: list[Any] = [
        picos.Constant("b", b) - picos.Constant("A", sp.csc_matrix(A)) * x if b.size else None
        for A, b in unpacked(program)
    ]
    zero, scalars, *matrices = slacks
    if zero is not None:
        problem.add_constraint(zero == 0)
    if scalars is not None:
        problem.add_constraint(scalars >= 0)
    for side, entries in zip(program.cones.psd, matrices, strict=True):
        problem.add_constraint(entries.reshaped((side, side)) >> 0)
    return problem, x


def from_picos(problem: picos.Problem) -> ConicProgram:
    """A real picos problem with linear objective, linear constraints and matrix inequalities as a program.

    A maximisation becomes the minimisation of minus its objective; a symmetric variable is its vector of
    N(N+1)/2 numbers in picos' own scaling. Raises ValueError naming the first constraint, variable or
    objective that is of another kind.
    """
    need("picos", "the bridge to picos")
    from picos.constraints import AffineConstraint, DummyConstraint, LMIConstraint
    from picos.expressions import AffineExpression

    for variable in problem.variables.values():
        kind = type(variable).__name__
        if kind in ("BinaryVariable", "IntegerVariable"):
            raise ValueError(
                f"the picos variable {variable.name!r} is of type {kind}; only real ones are taken"
            )
    offsets, columns = {}, 0
    for variable in problem.variables.values():
        offsets[variable] = columns
        columns += variable.dim

    def affine(expression: Any, what: str) -> tuple[sp.csr_matrix, np.ndarray]:
        if not isinstance(expression, AffineExpression):
            kind = type(expression).__name__
            raise ValueError(f"{what} is a {kind}; only real affine expressions are taken")
        matrix, right = expression.scipy_sparse_matrix_form(varOffsetMap=offsets, dense_b=True)
        return sp.csr_matrix(matrix), np.asarray(right, dtype=float).reshape(-1)

    direction, objective = problem.no
    cost, constant = affine(objective, "the picos objective")
    sign = -1.0 if direction == "max" else 1.0
    # slack = greater - smaller, as (matrix, constant)
    equations: list[tuple[sp.csr_matrix, np.ndarray]] = []
    scalars: list[tuple[sp.csr_matrix, np.ndarray]] = []
    blocks: list[tuple[sp.csr_matrix, np.ndarray]] = []
    sides: list[int] = []
    bounds = [v.bound_constraint for v in problem.variables.values()]
    for constraint in [*problem.constraints.values(), *(b for b in bounds if b)]:
        if isinstance(constraint, DummyConstraint):
            continue
        if not isinstance(constraint, (AffineConstraint, LMIConstraint)):
            raise ValueError(
                f"the picos constraint {constraint} is of type {type(constraint).__name__}; only linear "
                "constraints and real matrix inequalities are taken"
            )
        high, low = (affine(e, f"a side of {constraint}") for e in (constraint.greater, constraint.smaller))
        slack = (sp.csr_matrix(high[0] - low[0]), high[1] - low[1])
        if isinstance(constraint, LMIConstraint):
            side = constraint.greater.shape[0]
            row, column = triangle(side)
            weight = sp.diags_array(roots(side))
            place = row + side * column  # picos stacks columns
            blocks.append((sp.csr_matrix(weight @ slack[0][place]), weight @ slack[1][place]))
            sides.append(side)
        else:
            (equations if constraint.is_equality() else scalars).append(slack)
    parts = [*equations, *scalars, *blocks]
    return ConicProgram(
        q=sign * cost.toarray()[0],
        A=sp.csc_matrix(-sp.vstack([m for m, _ in parts])) if parts else sp.csc_matrix((0, columns)),
        b=np.concatenate([b for _, b in parts]) if parts else np.zeros(0),
        cones=Cones(
            zero=sum(b.size for _, b in equations),
            nonnegative=sum(b.size for _, b in scalars),
            psd=tuple(sides),
        ),
        constant=sign * float(constant[0]),
        rounded=True,  # as there: right sides less left sides
    )
