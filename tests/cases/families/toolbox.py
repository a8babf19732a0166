"""A known case, and the checks of its value: multistart search, enumeration, and an independent relaxation.

Nothing here uses the engine. `enumerate_binary` and `multistart` solve no semidefinite program; `oracle`
writes Lasserre's relaxation in cvxpy, moment by moment, for values of relaxations without a closed form.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import sosdp as sd

P = sd.Polynomial


@dataclass(frozen=True)
class Case:
    """A problem with a known answer: its `optimum` and the value of its `relaxation`, or a `status`."""

    name: str
    source: str
    sense: str = "minimize"
    objective: P | None = None
    inequalities: Sequence[P] = ()
    equalities: Sequence[P] = ()
    psd: Sequence[Any] = ()
    sos: Sequence[P] = ()
    unknowns: Sequence[P] = ()
    degree: int | None = None
    optimum: float | None = None
    relaxation: float | None = None
    status: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def polynomials(self) -> list[P]:
        """Everything that mentions variables."""
        entries = [sd.polynomial(e) for m in self.psd for row in m for e in row]
        own = [] if self.objective is None else [self.objective]
        return [*own, *self.inequalities, *self.equalities, *self.sos, *entries]

    def variables(self) -> list[str]:
        """Names, without the unknowns, in the order of the first appearance in the process."""
        names = {int(v.variable_ids[0]): str(v) for p in self.polynomials() for v in p.variables}
        hidden = {str(u) for u in self.unknowns}
        return [names[k] for k in sorted(names) if names[k] not in hidden]

    def problem(self) -> dict[str, Any]:
        """The problem file's content."""
        constraints = [f"{g} >= 0" for g in self.inequalities] + [f"{h} == 0" for h in self.equalities]
        found: dict[str, Any] = {
            "format": "sosdp-problem/1",
            "name": self.name,
            "variables": self.variables(),
            "subject_to": constraints,
        }
        if self.unknowns:
            found["unknowns"] = [str(u) for u in self.unknowns]
        if self.sos:
            found["sos"] = [str(p) for p in self.sos]
        if self.objective is not None:
            found[self.sense] = str(self.objective)
        elif not self.sos:
            found["feasible"] = True
        if self.psd:
            found["psd"] = [[[str(sd.polynomial(e)) for e in row] for row in m] for m in self.psd]
        if self.degree is not None:
            found["degree"] = self.degree
        if self.options:
            found["options"] = self.options
        return found

    def expected(self) -> dict[str, Any]:
        """The entry of expected.json."""
        found: dict[str, Any] = {}
        for key in ("optimum", "relaxation", "status"):
            if getattr(self, key) is not None:
                found[key] = getattr(self, key)
        return {**found, "source": self.source}


def evaluate(p: P, names: Sequence[str], point: np.ndarray) -> np.ndarray:
    """Values of a polynomial at points, shape (..., len(names))."""
    point = np.asarray(point, dtype=float)
    return np.broadcast_to(
        p.as_float().evaluate({v: point[..., k] for k, v in enumerate(names)}), point.shape[:-1]
    )


def enumerate_binary(case: Case, values: tuple[int, int]) -> float:
    """The optimum over {values}^n by brute force."""
    names = case.variables()
    points = np.array(list(itertools.product(values, repeat=len(names))), dtype=float)
    keep = np.ones(points.shape[0], dtype=bool)
    for g in case.inequalities:
        keep &= evaluate(g, names, points) >= -1e-9
    for h in case.equalities:
        keep &= np.abs(evaluate(h, names, points)) <= 1e-9
    assert case.objective is not None and keep.any()
    found = evaluate(case.objective, names, points[keep])
    return float(found.max() if case.sense == "maximize" else found.min())


def multistart(case: Case, low: float, high: float, starts: int = 60) -> float:
    """The best value of a local search (SLSQP) from random points of a cube; an upper bound on a minimum."""
    from scipy.optimize import minimize

    names = case.variables()
    assert case.objective is not None
    sign = -1.0 if case.sense == "maximize" else 1.0
    objective = case.objective
    constraints = [
        {"type": kind, "fun": lambda x, p=p: float(evaluate(p, names, x))}
        for kind, ps in (("ineq", case.inequalities), ("eq", case.equalities))
        for p in ps
    ]
    rng = np.random.default_rng(0)
    best = np.inf
    for _ in range(starts):
        start = rng.uniform(low, high, len(names))
        found = minimize(
            lambda x: sign * float(evaluate(objective, names, x)),
            start,
            method="SLSQP",
            constraints=constraints,
            options={"maxiter": 400, "ftol": 1e-14},
        )
        slack = [float(evaluate(g, names, found.x)) for g in case.inequalities]
        slack += [-abs(float(evaluate(h, names, found.x))) for h in case.equalities]
        if min(slack, default=0.0) >= -1e-7 and np.isfinite(found.fun):
            best = min(best, float(found.fun))
    return sign * best


def univariate_minimum(p: P, low: float, high: float) -> float:
    """The minimum of a univariate polynomial on an interval, from the roots of its derivative (60 digits)."""
    import sympy as sy

    expression = p.as_exact().to_sympy()
    (x,) = expression.free_symbols
    low_, high_ = sy.Rational(str(low)), sy.Rational(str(high))
    derivative = sy.Poly(sy.diff(expression, x), x)
    inside = [r for r in derivative.nroots(n=60, maxsteps=500) if abs(sy.im(r)) < 1e-25]
    points = [low_, high_, *(sy.re(r) for r in inside if low_ <= sy.re(r) <= high_)]
    return float(min(sy.N(expression.subs(x, v), 60) for v in points))


def close(found: float, known: float, tolerance: float = 1e-6) -> None:
    """Raise AssertionError unless the two agree, relative to max(1, |known|)."""
    assert abs(found - known) <= tolerance * max(1.0, abs(known)), (found, known)


def oracle(case: Case) -> tuple[int, dict[str, float]]:
    """Side of the largest block and the value of the case's relaxation by cvxpy with Clarabel and with SCS.

    Moments are indexed by exponents, no reduction but x**2 = 1 and x**2 = x; nothing of the engine is used.
    """
    import cvxpy as cp

    names = case.variables()
    n, degree = len(names), case.degree or max(2, 2 * -(-max(p.degree for p in case.polynomials()) // 2))
    rules: dict[int, int] = {}
    equalities = []
    for h in case.equalities:
        terms = {tuple(sorted(powers.items())): c for c, powers in h.terms()}
        squares = [v for ((v, k),) in (t for t in terms if len(t) == 1) if k == 2]
        if len(terms) == 2 and len(squares) == 1:
            place, c = names.index(squares[0]), terms[((squares[0], 2),)]
            if terms.get(()) == -c:
                rules[place] = 0
            elif terms.get(((squares[0], 1),)) == -c:
                rules[place] = 1
        equalities.append(h)

    def reduce(e: tuple[int, ...]) -> tuple[int, ...]:
        out = list(e)
        for k, rule in rules.items():
            out[k] = min(out[k], 1) if rule else out[k] % 2
        return tuple(out)

    def exponents(d: int) -> list[tuple[int, ...]]:
        found = {(0,) * n}
        for _ in range(d):
            found |= {reduce(tuple(a + (j == k) for j, a in enumerate(e))) for e in found for k in range(n)}
        return sorted(found)

    moments = exponents(degree)
    index = {e: k for k, e in enumerate(moments)}
    y = cp.Variable(len(moments))

    def terms_of(p: P) -> list[tuple[float, tuple[int, ...]]]:
        return [(float(c), tuple(w.get(v, 0) for v in names)) for c, w in p.terms()]

    def functional(entries: list[list[tuple[float, tuple[int, ...]]]]) -> Any:
        from scipy.sparse import coo_matrix

        data, rows, columns = [], [], []
        for k, entry in enumerate(entries):
            for c, e in entry:
                data.append(c)
                rows.append(k)
                columns.append(index[reduce(e)])
        return coo_matrix((data, (rows, columns)), shape=(len(entries), len(moments))).tocsr() @ y

    def times(p: list[tuple[float, tuple[int, ...]]], *shifts: tuple[int, ...]) -> list:
        shift = [sum(s) for s in zip(*shifts, strict=True)]
        return [(c, tuple(a + b for a, b in zip(e, shift, strict=True))) for c, e in p]

    constraints = [y[index[(0,) * n]] == 1]
    side = 0
    matrices: list[Any] = [[[g]] for g in [sd.polynomial(1), *case.inequalities]] + list(case.psd)
    for matrix in matrices:
        polys = [[sd.polynomial(e) for e in row] for row in matrix]
        top = max(e.degree for row in polys for e in row)
        basis = [(k, b) for b in exponents((degree - top) // 2) for k in range(len(polys))]
        entries = [times(terms_of(polys[k][j]), b, c) for k, b in basis for j, c in basis]
        side = max(side, len(basis))
        values = functional(entries)
        if len(basis) == 1:
            constraints.append(values >= 0)
        else:
            square = cp.reshape(values, (len(basis), len(basis)), order="C")
            constraints.append((square + square.T) / 2 >> 0)
    for h in equalities:
        rows = [times(terms_of(h), e) for e in exponents(degree - h.degree)]
        constraints.append(functional(rows) == 0)
    assert case.objective is not None
    value = functional([terms_of(case.objective)])[0]
    problem = cp.Problem((cp.Maximize if case.sense == "maximize" else cp.Minimize)(value), constraints)
    found = {}
    for solver, settings in ((cp.CLARABEL, {}), (cp.SCS, {"eps": 1e-8, "max_iters": 40000})):
        try:
            problem.solve(solver=solver, **settings)
            found[str(solver)] = float(problem.value)
        except cp.SolverError:
            found[str(solver)] = float("nan")
    return side, found
