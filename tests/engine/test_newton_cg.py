"""Our Newton-CG method: the projection and its derivative, answers beside other solvers, starts, refusals."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import certificates
import sosdp as sd
from benchmarks.engine import broyden_banded, dense_quartic
from benchmarks.small_programs import box
from sosdp.conic import newton_cg
from sosdp.conic.program import Cones, ConicProgram
from tests.engine.test_backends import random_program
from tests.refusals import refuse


def test_a_start_near_the_solution_saves_the_splitting():
    program = random_program(5, sides=(8, 8), columns=20)
    first = newton_cg.solve(program)
    again = newton_cg.solve(program, start=first)
    assert again.status == "optimal" and again.iterations == 0
    near = replace(program, q=program.q * (1 + 1e-3 * np.sin(np.arange(20))))
    cold, warm = newton_cg.solve(near), newton_cg.solve(near, start=first)
    assert warm.status == cold.status == "optimal"
    assert warm.value == pytest.approx(cold.value, rel=1e-7)
    assert warm.iterations < cold.iterations / 2
    refuse((lambda: newton_cg.solve(random_program(5, columns=19), start=first), "not those of the program"))


def test_limits_are_kept():
    program = random_program(0, sides=(30,), columns=30)
    assert newton_cg.solve(program, max_iterations=20).iterations <= 25
    assert newton_cg.solve(program, time_limit=0.0).status in ("inaccurate", "failed")
    assert "failed, degree 4: time_limit is over" in repr(
        sd.minimize(*dense_quartic(3), time_limit=1e-9, solver="newton_cg")
    )


def test_numbers_that_are_too_large_break_nothing():
    program = random_program(0)
    answer = newton_cg.solve(replace(program, b=program.b * 1e300, q=program.q * 1e300))
    assert answer.status == "failed" and answer.message
    spoiled = program.A.copy()
    spoiled.data[0] = np.nan
    assert newton_cg.solve(replace(program, A=spoiled)).status == "failed"


def test_a_column_without_rows_is_no_ray_unless_it_costs_something():
    A = sp.csc_matrix(np.vstack([np.zeros((1, 2)), -np.eye(2)[:1]]))
    program = ConicProgram(np.array([1.0, 0.0]), A, np.array([0.0, -1.0]), Cones(zero=1, nonnegative=1))
    assert newton_cg.solve(program).value == pytest.approx(1.0, abs=1e-7)
    assert newton_cg.solve(replace(program, q=np.array([1.0, -1.0]))).status in ("unbounded", "failed")


@pytest.mark.parametrize(("n", "side"), [(6, 28), (8, 45)])
def test_quartics_on_a_box_are_proven_and_exact(n, side):
    case = box(n, 2)
    p, system = case.state()
    answer = sd.minimize(p, system, 4, solver="newton_cg")
    other = sd.minimize(p, system, 4, solver="clarabel")
    assert answer.status == "optimal" and answer.solver == "newton_cg" and max(answer.sizes["blocks"]) == side
    assert answer.bound == pytest.approx(other.bound, abs=1e-5)
    assert 0 <= answer.bound - answer.certified_bound < 1e-5
    if n == 6:
        assert certificates.extract(answer).exact().verdict


def test_multipliers_inside_the_cone_prove_a_bound_where_the_set_is_unbounded():
    p, system, degree = broyden_banded(8)
    answer = sd.minimize(p, system, degree)
    assert answer.solver == "newton_cg" and answer.status == "optimal"
    assert -1e-6 < answer.certified_bound <= 0.0
    assert answer.certified_bound <= answer.bound + 1e-9


def test_a_sweep_begins_each_solve_at_the_solution_before():
    p, system, degree = dense_quartic(10)
    x = sd.variables("x", 10)
    relaxation = sd.Relaxation(system, degree)
    first = relaxation.minimize(p, solver="newton_cg")
    other = p + 0.02 * (x[0] * x[1] * x[2] - x[3])
    cold, warm = relaxation.minimize(other, solver="newton_cg"), relaxation.minimize(other, near=first)
    assert warm.status == "optimal" and warm.solver == "newton_cg"
    assert warm.bound == pytest.approx(cold.bound, rel=1e-8)
    assert warm.iterations < cold.iterations / 4
    assert 0 <= warm.bound - warm.certified_bound < 1e-6 * abs(warm.bound)


def test_a_start_that_leads_nowhere_costs_no_answer():
    x = sd.variables("x", 2)
    box = sd.System(*[1 - v**2 >= 0 for v in x])
    relaxation = sd.Relaxation(box, 4)
    first = relaxation.minimize(x[0] + x[1] ** 3 + x[0] * x[1])
    distant = relaxation.minimize(-1000 * x[0] - 3 * x[1] ** 3 + x[0] * x[1], near=first)
    assert distant.status == "optimal" and distant.bound == pytest.approx(-1002.0, abs=1e-4)


def test_what_is_not_near_is_refused():
    x, y = sd.variables("x y")
    near = sd.Relaxation(sd.System(x**2 + y**2 <= 1), 2).minimize(x * y + x)
    refuse(
        (
            lambda: sd.Relaxation(sd.System(x**2 + y**2 <= 1), 4).minimize(x * y + x, near=near),
            "its blocks or its moments are others",
        ),
        (
            lambda: sd.Relaxation(sd.System(x**2 + y**2 == 1, x + y**3 == 0), 4).minimize(x * y, near=near),
            "other than rewriting rules",
        ),
    )
    empty = sd.Relaxation(sd.System(x**2 <= -1), 2).minimize(x)
    refuse(
        (lambda: sd.Relaxation(sd.System(x**2 <= 1), 2).minimize(x, near=empty), "that result is infeasible")
    )


def test_a_direction_without_curvature_ends_conjugate_gradients():
    """Two dependent equations in three variables: A'A is singular, and it divided by zero."""
    A = sp.csc_matrix(np.array([[-2.0, -1.0, 3.0], [-4.0, -2.0, 6.0]]) / 7)
    program = ConicProgram(np.array([-4.0, -3.0, 0.0]) / 7, A, np.array([-5.0, -10.0]) / 7, Cones(2))
    assert newton_cg.solve(program).status == "unbounded"
