"""The same relaxation stated in other libraries: a pair (build, solve) of functions a peer.

A program is plain data: terms as {exponents: coefficient}. Each `build()` returns what its `solve(built)`
needs, and `solve` returns the bound. Everything is dense: Putinar multipliers of full degree, no reductions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

Terms = dict[tuple[int, ...], float]
Peer = tuple[Callable[[], Any], Callable[[Any], float]]


@dataclass(frozen=True)
class Program:
    """Minimise the objective subject to g >= 0 and h = 0; the relaxation has the given even degree."""

    names: tuple[str, ...]
    objective: Terms
    inequalities: tuple[Terms, ...]
    equalities: tuple[Terms, ...]
    degree: int
    cliques: tuple[tuple[int, ...], ...] = ()

    @property
    def side(self) -> int:
        """Side of the largest matrix without reductions."""
        n = max((len(c) for c in self.cliques), default=len(self.names))
        return math.comb(n + self.degree // 2, n)


def of_polynomials(objective: Any, system: Any, degree: int, cliques: Any = ()) -> Program:
    """A Program from this library's polynomials."""
    polys = [objective, *system.inequalities, *system.equalities]
    numbered = {int(v.variable_ids[0]): str(v) for p in polys for v in p.variables}
    names = tuple(numbered[k] for k in sorted(numbered))
    place = {v: k for k, v in enumerate(names)}

    def terms(p: Any) -> Terms:
        result = {}
        for c, powers in p.terms():
            exponents = [0] * len(names)
            for v, k in powers.items():
                exponents[place[v]] = k
            result[tuple(exponents)] = float(c)
        return result

    inequalities = tuple(terms(g) for g in system.inequalities)
    equalities = tuple(terms(h) for h in system.equalities)
    return Program(names, terms(objective), inequalities, equalities, degree, tuple(cliques))


def _degree(terms: Terms) -> int:
    return max((sum(e) for e in terms), default=0)


def drake(program: Program) -> Peer:
    """Drake: sums of squares by AddSosConstraint, or one NewSosPolynomial a clique; Clarabel."""
    from pydrake.solvers import ClarabelSolver, MathematicalProgram
    from pydrake.symbolic import Monomial, MonomialBasis, Polynomial, Variable, Variables

    xs = np.array([Variable(v) for v in program.names])

    def polynomial(terms: Terms) -> Any:
        return Polynomial(
            {Monomial({xs[k]: e[k] for k in range(len(xs)) if e[k]}): c for e, c in terms.items()}
        )

    objective = polynomial(program.objective)
    gs, hs = [[polynomial(t) for t in ts] for ts in (program.inequalities, program.equalities)]

    def build() -> Any:
        prog = MathematicalProgram()
        prog.AddIndeterminates(xs)
        gamma = prog.NewContinuousVariables(1, "gamma")[0]
        prog.AddLinearCost(-gamma)
        every = Variables(xs)
        p = objective - Polynomial(gamma, every)
        for g, terms in zip(gs, program.inequalities, strict=True):
            half = (program.degree - _degree(terms)) // 2
            p -= prog.NewSosPolynomial(MonomialBasis(every, half))[0] * g
        for h, terms in zip(hs, program.equalities, strict=True):
            p -= prog.NewFreePolynomial(every, program.degree - _degree(terms)) * h
        if program.cliques:
            parts = Polynomial()
            for clique in program.cliques:
                basis = MonomialBasis(Variables(xs[list(clique)]), program.degree // 2)
                parts += prog.NewSosPolynomial(basis)[0]
            prog.AddEqualityConstraintBetweenPolynomials(p, parts)
        else:
            prog.AddSosConstraint(p, MonomialBasis(every, program.degree // 2))
        return prog

    def solve(prog: Any) -> float:
        return -float(ClarabelSolver().Solve(prog, None, None).get_optimal_cost())

    return build, solve


def _moments(
    program: Program,
) -> tuple[list[tuple[int, ...]], list[tuple[int, sp.csr_matrix]], list[np.ndarray]]:
    """Exponents of the moments, a sparse map to each localizing matrix, and rows of the equations."""
    n = len(program.names)

    def exponents(degree: int) -> list[tuple[int, ...]]:
        rows = itertools.chain.from_iterable(
            itertools.combinations_with_replacement(range(n), d) for d in range(degree + 1)
        )
        return [tuple(np.bincount(r, minlength=n).tolist()) if r else (0,) * n for r in rows]

    every = exponents(program.degree)
    # additive keys: one sum and one lookup a matrix
    weights = (program.degree + 1) ** np.arange(n, dtype=np.int64)
    keys = np.array(every) @ weights
    order = np.argsort(keys)

    def look_up(wanted: np.ndarray) -> np.ndarray:
        return order[np.searchsorted(keys[order], wanted)]

    maps = []
    for terms in ({(0,) * n: 1.0}, *program.inequalities):
        basis = np.array(exponents((program.degree - _degree(terms)) // 2)) @ weights
        pairs = (basis[:, None] + basis[None, :]).ravel()
        shape = (pairs.size, len(every))
        total = sp.csr_matrix(shape)
        for e, c in terms.items():
            columns = look_up(pairs + int(np.array(e) @ weights))
            total = total + sp.csr_matrix((np.full(pairs.size, c), (np.arange(pairs.size), columns)), shape)
        maps.append((basis.size, total))
    equations = []
    for terms in program.equalities:
        shifts = np.array(exponents(program.degree - _degree(terms))) @ weights
        total = sp.csr_matrix((shifts.size, len(every)))
        for e, c in terms.items():
            columns = look_up(shifts + int(np.array(e) @ weights))
            total = total + sp.csr_matrix(
                (np.full(shifts.size, c), (np.arange(shifts.size), columns)), total.shape
            )
        equations.append(total)
    return every, maps, equations


def _cost(program: Program, every: list[tuple[int, ...]]) -> np.ndarray:
    return np.array([program.objective.get(e, 0.0) for e in every])


def cvxpy(program: Program) -> Peer:
    """cvxpy, vectorised: one moment vector, a sparse selection and a reshape a matrix; Clarabel."""
    import cvxpy as cp

    def build() -> Any:
        every, maps, equations = _moments(program)
        y = cp.Variable(len(every))
        constraints = [y[0] == 1]
        for side, selection in maps:
            values = selection @ y
            constraints.append(cp.reshape(values, (side, side), order="C") >> 0 if side > 1 else values >= 0)
        constraints += [rows @ y == 0 for rows in equations]
        problem = cp.Problem(cp.Minimize(_cost(program, every) @ y), constraints)
        problem.get_problem_data(cp.CLARABEL)
        return problem

    def solve(problem: Any) -> float:
        return float(problem.solve(solver=cp.CLARABEL))

    return build, solve


def picos(program: Program) -> Peer:
    """picos: the same moment program; CVXOPT."""
    import picos as pc

    def build() -> Any:
        every, maps, equations = _moments(program)
        problem = pc.Problem()
        y = pc.RealVariable("y", len(every))
        problem.add_constraint(y[0] == 1)
        for side, selection in maps:
            values = pc.Constant(selection) * y
            problem.add_constraint(values.reshaped((side, side)) >> 0 if side > 1 else values >= 0)
        for rows in equations:
            problem.add_constraint(pc.Constant(rows) * y == 0)
        problem.set_objective("min", pc.Constant(_cost(program, every)).T * y)
        return problem

    def solve(problem: Any) -> float:
        return float(problem.solve(solver="cvxopt", max_iterations=50).value)

    return build, solve


def _sympy(program: Program, xs: Any) -> tuple[Any, list[Any], list[Any]]:
    def expression(terms: Terms) -> Any:
        return sum(c * math.prod([x**k for x, k in zip(xs, e) if k], start=1) for e, c in terms.items())

    inequalities = [expression(t) for t in program.inequalities]
    return expression(program.objective), inequalities, [expression(t) for t in program.equalities]


def sum_of_squares(program: Program) -> Peer:
    """SumOfSquares: poly_opt_prob on sympy expressions; CVXOPT through picos."""
    import sympy
    from SumOfSquares import poly_opt_prob

    xs = sympy.symbols(program.names)
    objective, inequalities, equalities = _sympy(program, xs)

    def build() -> Any:
        return poly_opt_prob(list(xs), objective, eqs=equalities, ineqs=inequalities, deg=program.degree // 2)

    def solve(problem: Any) -> float:
        problem.solve(solver="cvxopt")
        return float(problem.value)

    return build, solve


def ncpol2sdpa(program: Program) -> Peer:
    """ncpol2sdpa: SdpRelaxation with commuting variables; SCS, the one installed solver that it can call."""
    from ncpol2sdpa import SdpRelaxation, generate_variables

    xs = generate_variables("x", len(program.names), commutative=True)
    objective, inequalities, equalities = _sympy(program, xs)

    def build() -> Any:
        relaxation = SdpRelaxation(xs, verbose=0)
        relaxation.get_relaxation(
            program.degree // 2, objective=objective, inequalities=inequalities, equalities=equalities
        )
        return relaxation

    def solve(relaxation: Any) -> float:
        relaxation.solve(solver="scs")
        return float(relaxation.primal)

    return build, solve


# name shown, module that must be importable, maker, largest side without reductions it is given
PEERS: tuple[tuple[str, str, Callable[[Program], Peer], int], ...] = (
    ("Drake", "pydrake", drake, 70),
    ("cvxpy", "cvxpy", cvxpy, 70),
    ("picos", "picos", picos, 21),
    ("SumOfSquares", "SumOfSquares", sum_of_squares, 21),
    ("ncpol2sdpa", "ncpol2sdpa", ncpol2sdpa, 28),
)
