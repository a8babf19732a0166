"""cvxpy and picos as oracles: the same program in another modelling language has the same value."""

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import clarabel, scs
from sosdp.conic.bridges import _arrow, from_cvxpy, from_picos, solve_cvxpy, to_cvxpy, to_picos
from sosdp.conic.choose import solve_conic
from sosdp.conic.program import Cones
from sosdp.conic.svec import smat, svec_length
from tests.engine.programs import random_program
from tests.refusals import refusals, refuse


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("seed", range(4))
def test_our_backends_and_cvxpy_agree(seed, rank):
    import cvxpy as cp

    program = random_program(seed, rank=rank)
    problem, x = to_cvxpy(program)
    expected = problem.solve(solver=cp.CLARABEL)
    for backend in (clarabel, scs):
        answer = backend.solve(program)
        assert answer.status == "optimal"
        assert answer.value == pytest.approx(expected, rel=1e-6, abs=1e-6)
    # with a quadratic objective the minimiser is not unique, its value is
    curved = 0.0 if program.P is None else x.value @ (program.P + sp.triu(program.P, 1).T) @ x.value / 2
    assert program.q @ x.value + curved + program.constant == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_there_and_back_through_cvxpy(seed):
    program = random_program(seed, rank=4 * (seed % 2))
    problem, _ = to_cvxpy(program)
    back = from_cvxpy(problem)
    assert back.cones.zero == 2
    assert sorted(back.cones.psd) in ([3, 4], [1, 3, 4])  # cvxpy may read a 1 x 1 block as an inequality
    expected = clarabel.solve(program)
    result = clarabel.solve(back)
    assert result.status == "optimal"
    assert result.value == pytest.approx(expected.value, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_there_and_back_through_picos(seed):
    program = random_program(seed)
    expected = clarabel.solve(program)
    problem, x = to_picos(program)
    problem.solve(solver="cvxopt")
    assert problem.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6)
    assert np.allclose(np.asarray(x.value).reshape(-1), expected.x, atol=1e-4)
    result = clarabel.solve(from_picos(problem))
    assert result.status == "optimal"
    assert result.value == pytest.approx(expected.value, rel=1e-7, abs=1e-7)


def test_from_cvxpy_reads_matrix_variables_and_maximisation():
    import cvxpy as cp

    # the Lovasz theta number of the pentagon is sqrt(5)
    X = cp.Variable((5, 5), PSD=True)
    edges = [(i, (i + 1) % 5) for i in range(5)]
    problem = cp.Problem(cp.Maximize(cp.sum(X) + 10), [cp.trace(X) == 1, *(X[i, j] == 0 for i, j in edges)])
    assert -clarabel.solve(from_cvxpy(problem)).value == pytest.approx(np.sqrt(5) + 10, abs=1e-6)


def test_from_cvxpy_names_the_cone_it_cannot_take():
    import cvxpy as cp

    x = cp.Variable(3)
    refuse(
        (lambda: from_cvxpy(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))))), "3 exponential cone"),
        (
            lambda: from_cvxpy(cp.Problem(cp.Minimize(cp.sum(cp.Variable(2, integer=True))))),
            "integer variables",
        ),
        (lambda: solve_cvxpy(cp.Problem(cp.Minimize(3))), "no variables"),
        (lambda: solve_cvxpy(cp.Problem(cp.Minimize(x[0]), [x >= cp.Parameter(name="low")])), "value: low"),
        (lambda: from_cvxpy(cp.Problem(cp.Maximize(cp.sum_squares(x)))), "does not find the problem convex"),
    )


def test_from_picos_reads_symmetric_variables_bounds_and_maximisation():
    import picos

    X = picos.SymmetricVariable("X", 5)
    t = picos.RealVariable("t", 2, lower=[0, -1], upper=3)
    problem = picos.Problem()
    problem.set_objective("max", picos.sum(X) + t[0] - t[1] + 7)
    problem.add_list_of_constraints([X >> 0, picos.trace(X) == 1])
    problem.add_list_of_constraints([X[i, (i + 1) % 5] == 0 for i in range(5)])
    program = from_picos(problem)
    assert program.cones == Cones(zero=6, nonnegative=4, psd=(5,))
    assert program.q.size == svec_length(5) + 2
    assert -clarabel.solve(program).value == pytest.approx(np.sqrt(5) + 3 + 1 + 7, abs=1e-6)


def test_from_picos_names_what_it_cannot_take():
    import picos

    x = picos.RealVariable("x", 3)
    problem = picos.Problem()
    problem.set_objective("min", x[0])
    problem.add_constraint(abs(x) <= 1)
    refuse((lambda: from_picos(problem), "of type SOCConstraint; only linear constraints and real matrix"))
    problem = picos.Problem()
    problem.set_objective("min", abs(x) ** 2)
    refuse((lambda: from_picos(problem), "the picos objective is a .*; only real affine"))
    problem = picos.Problem()
    problem.set_objective("min", picos.IntegerVariable("k"))
    refuse((lambda: from_picos(problem), "'k' is of type IntegerVariable"))


test_to_picos_refuses_a_quadratic_objective = refusals(
    (lambda: to_picos(random_program(0, rank=4)), "quadratic objective; make it linear first")
)


def test_an_entropy_of_moments_is_maximised():
    import cvxpy as cp

    # the most uncertain law on {0, 1, 2} with mean 0.7, by its exact form exp(a + b k)
    x = sd.polynomial("x")
    relax = sd.Relaxation(sd.System((x * (x - 1) * (x - 2)).equals(0)), 4)
    moments = relax.to_cvxpy()
    indicators = np.array([(x - 1) * (x - 2) / 2, x * (2 - x), x * (x - 1) / 2], dtype=object)
    law = moments.E(indicators)
    assert law.shape == (3,)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(law))), [*moments.constraints, moments.E(x) == 0.7])
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    p = law.value
    assert p.sum() == pytest.approx(1, abs=1e-6) and p[1] + 2 * p[2] == pytest.approx(0.7, abs=1e-6)
    assert p[1] ** 2 == pytest.approx(p[0] * p[2], abs=1e-5)  # geometric: log-linear in k
    assert moments.E(x**3).value == pytest.approx(p[1] + 8 * p[2], abs=1e-5)


def test_a_norm_of_moments_breaks_the_symmetry_of_the_system():
    import cvxpy as cp

    # the system is even in s; the objective is not: the moments must not be symmetrised
    s = sd.variables("brs", 3)
    moments = sd.Relaxation(sd.System(s**2 == 1), 2).to_cvxpy()
    target = np.array([0.5, -0.25, 1.5])
    problem = cp.Problem(cp.Minimize(cp.norm(moments.E(s) - target)), moments.constraints)
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(0.5, abs=1e-6)
    assert np.allclose(moments.E(s).value, [0.5, -0.25, 1.0], atol=1e-4)
    gram = moments.E(np.outer(s, s))
    assert gram.shape == (3, 3) and np.allclose(np.diag(gram.value), 1)


def test_moments_outside_the_relaxation_are_named():
    x, z = sd.variables("brx brz")
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    refuse(
        (lambda: relax.to_cvxpy().E(x**3), r"E\[brx\*\*3\] is not part of this relaxation of degree 2"),
        (lambda: relax.to_cvxpy().E(x * z), r"including=\[...\]"),
    )
    assert relax.to_cvxpy(including=[z]).E(x * z + 1).shape == ()
    refuse((lambda: relax.to_cvxpy().E(np.full((2, 2, 2), x, dtype=object)), "at most two dimensions"))


@pytest.mark.parametrize("name", ["pmi_henrion_lasserre", "sphere_quartic6", "knapsack7_d2"])
def test_known_cases_inside_cvxpy(name):
    """A matrix inequality, an equation, a quotient: the moments' constraints are the relaxation's."""
    import json
    from pathlib import Path

    import cvxpy as cp

    cases = Path(__file__).parents[1] / "cases"
    expected = json.loads((cases / "expected.json").read_text())[name]["relaxation"]
    problem = sd.load_problem(cases / f"{name}.sos.json")
    degree = problem.degree or max(problem.objective.degree, problem.system.degree)
    moments = sd.Relaxation(problem.system, degree + degree % 2).to_cvxpy()
    value = moments.E(problem.objective)
    sense = cp.Maximize if problem.sense == "maximize" else cp.Minimize
    result = cp.Problem(sense(value), moments.constraints).solve(solver=cp.CLARABEL)
    assert result == pytest.approx(expected, rel=1e-5)


def test_solve_cvxpy_writes_values_and_duals_back():
    import cvxpy as cp

    x, y = cp.Variable(3, name="x"), cp.Variable(name="y")
    X = cp.Variable((2, 2), PSD=True)
    data = np.array([1.0, -2.0, 0.5])
    constraints = [
        cp.norm(x - data) <= y,
        cp.sum(x) == 2,
        x[0] >= 0.25,
        X[0, 1] == x[1],
        cp.trace(X) == 3,
        cp.SOC(y + 1, x[:2]),
    ]
    problem = cp.Problem(cp.Minimize(2 * y + cp.norm(x, 1) + X[0, 0] - 1), constraints)
    problem.solve(solver=cp.CLARABEL)
    wanted = [problem.value, x.value.copy(), float(y.value), X.value.copy()]
    duals = [
        np.hstack([np.ravel(part) for part in c.dual_value])
        if isinstance(c.dual_value, list)
        else np.ravel(c.dual_value)
        for c in constraints
    ]
    for variable in problem.variables():
        variable.value = None
    result = solve_cvxpy(problem)
    assert result.status == "optimal" and problem.status == "optimal"
    assert result.lower - 1e-5 <= wanted[0] <= result.upper + 1e-5
    assert problem.value == pytest.approx(wanted[0], abs=1e-5)
    for value, expected in zip((x.value, y.value, X.value), wanted[1:], strict=True):
        assert value == pytest.approx(expected, abs=1e-3)
    for constraint, expected in zip(constraints, duals, strict=True):
        dual = constraint.dual_value
        flat = np.hstack([np.ravel(part) for part in dual]) if isinstance(dual, list) else np.ravel(dual)
        assert flat == pytest.approx(expected, abs=1e-3), constraint


def test_solve_cvxpy_says_infeasible_and_unbounded():
    import cvxpy as cp

    x = cp.Variable(2)
    empty = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1, x[0] >= 2])
    assert solve_cvxpy(empty).status == "infeasible"
    assert empty.status == "infeasible" and empty.value == np.inf and x.value is None
    endless = cp.Problem(cp.Maximize(x[0]), [cp.norm(x[1:]) <= x[0]])
    assert solve_cvxpy(endless).status in ("unbounded", "inaccurate")
    assert endless.status == "unbounded" or "inaccurate" in endless.status


def test_what_modelling_languages_round_proves_nothing_false():
    import cvxpy as cp
    import picos

    x = cp.Variable()
    ten = cp.Problem(cp.Minimize(x), [x <= 1, sum([0.1 * x] * 10) >= 1])  # ten times the float is above 1
    assert from_cvxpy(ten).rounded and solve_cvxpy(ten).status != "infeasible"
    y, w, problem = picos.RealVariable("y"), picos.RealVariable("w"), picos.Problem()
    problem.set_objective("min", y)
    problem.add_list_of_constraints([y == 1 + w, w == 2.0**-60, y - 1 <= 2.0**-60])
    assert solve_conic(from_picos(problem)).status != "infeasible"


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_second_order_cone_is_the_arrow_matrix(size):
    vector = np.random.default_rng(size).normal(size=size)
    vector[0] = np.linalg.norm(vector[1:])  # on the boundary
    matrix = smat(_arrow(size) @ vector, size)
    wanted = vector[0] * np.eye(size)
    wanted[0, 1:] = wanted[1:, 0] = vector[1:]
    assert matrix == pytest.approx(wanted)
    assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(0.0, abs=1e-12)


def test_one_door_for_what_is_stated_already(tmp_path):
    cp = pytest.importorskip("cvxpy")
    x = sd.variables("x")
    conic = sd.Relaxation(sd.System(x**2 <= 1), 2).to_conic(x)
    sd.write_program(conic, str(tmp_path / "p.dat-s"))
    (tmp_path / "p.sos.json").write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x", "subject_to": ["x**2 <= 1"]}'
    )
    v = cp.Variable()
    problem = cp.Problem(cp.Maximize(v), [v <= 3])
    assert sd.solve(conic).value == pytest.approx(-1, abs=1e-6)
    assert sd.solve(tmp_path / "p.dat-s", solver="clarabel").value == pytest.approx(-1, abs=1e-6)
    assert sd.solve(str(tmp_path / "p.sos.json")).bound == pytest.approx(-1, abs=1e-6)
    assert sd.solve(problem).status == "optimal" and problem.value == pytest.approx(3, abs=1e-6)
    refuse((lambda: sd.solve(x), None, TypeError))
