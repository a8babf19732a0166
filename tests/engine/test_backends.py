"""The optional solvers against Clarabel: random programs, known cases, rays, refusals, missing modules."""

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from benchmarks.cases import PRINTED
from sosdp.conic import choose, clarabel, reformulate
from sosdp.conic.other_solvers import OTHERS, borrowed, by_cvxpy
from sosdp.conic.program import Cones, ConicProgram, SolverUnavailable
from sosdp.conic.svec import svec
from tests.engine.programs import random_program
from tests.refusals import refuse

CASES = Path(__file__).parent.parent / "cases"
EXPECTED = json.loads((CASES / "expected.json").read_text())
OPTIONAL = ("cvxopt", "sdpa")
TRIED = (*OPTIONAL, "newton_cg")


def module(name):
    if not choose.is_installed(name):
        pytest.skip(f"{choose.SOLVERS[name][1]} is not installed")
    return choose.backend(name)


def symmetric(P, columns):
    return np.zeros((columns, columns)) if P is None else (P + sp.triu(P, 1).T).toarray()


def assert_optimal(program, answer, accuracy):
    """Feasibility of both sides, stationarity and no gap: checked on the original program alone."""
    scale = 1 + np.abs(answer.z).max() + np.abs(answer.s).max()
    P = symmetric(program.P, program.q.size)
    assert np.allclose(program.A @ answer.x + answer.s, program.b, atol=accuracy * scale)
    assert np.allclose(P @ answer.x + program.q + program.A.T @ answer.z, 0, atol=accuracy * scale)
    free = answer.z.copy()
    free[: program.cones.zero] = 0
    assert reformulate.cone_violation(program.cones, answer.s) <= accuracy * scale
    assert reformulate.cone_violation(program.cones, free) <= accuracy * scale
    value = program.q @ answer.x + answer.x @ P @ answer.x / 2 + program.constant
    assert answer.value == pytest.approx(value, rel=1e-5, abs=1e-5)


SHAPES = [(0, 3, (2,)), (3, 0, (5,)), (0, 0, (3, 3)), (0, 12, ())]
RANDOM = [{"seed": seed, "rank": rank} for rank in (0, 1, 3) for seed in range(3)] + [
    {"seed": 1, "zero": zero, "nonnegative": nonnegative, "sides": sides, "columns": 5}
    for zero, nonnegative, sides in SHAPES  # without some kind of row
]


@pytest.mark.few(19)
@pytest.mark.parametrize("options", RANDOM, ids=str)
@pytest.mark.parametrize("name", TRIED)
def test_random_programs(name, options):
    program = random_program(**options)
    answer, expected = module(name).solve(program), clarabel.solve(program)
    assert answer.status == "optimal" and answer.solver == name
    assert answer.value == pytest.approx(expected.value, rel=1e-6)
    assert_optimal(program, answer, 1e-4)
    assert answer.iterations > 0 and answer.seconds > 0


@pytest.mark.parametrize("name", OPTIONAL)
def test_redundant_equations_are_dropped_and_contradictory_ones_refuted(name):
    program = random_program(2, zero=3)
    A, b = program.A.toarray(), program.b
    doubled = ConicProgram(
        program.q,
        sp.csc_matrix(np.vstack([A[:3], A[0] - 2 * A[1], A[3:]])),
        np.concatenate([b[:3], [b[0] - 2 * b[1]], b[3:]]),
        Cones(zero=4, nonnegative=program.cones.nonnegative, psd=program.cones.psd),
        constant=program.constant,
    )
    answer = module(name).solve(doubled)
    assert answer.status == "optimal"
    assert answer.value == pytest.approx(clarabel.solve(program).value, rel=1e-6)
    assert_optimal(doubled, answer, 1e-4)
    wrong = doubled.b.copy()
    wrong[3] += 1
    answer = module(name).solve(ConicProgram(doubled.q, doubled.A, wrong, doubled.cones))
    assert answer.status == "infeasible" and "contradict" in answer.message
    assert wrong @ answer.z < 0 and np.allclose(doubled.A.T @ answer.z, 0, atol=1e-9)


def infeasible_program():
    """x psd with trace -1, in a corner of a larger program."""
    A = np.vstack([svec(np.eye(2)), -np.eye(3)])
    return ConicProgram(np.ones(3), sp.csc_matrix(A), np.array([-1.0, 0, 0, 0]), Cones(zero=1, psd=(2,)))


def unbounded_program():
    """min -x00 over matrices x psd with x01 = 1."""
    A = np.vstack([[0.0, 1.0, 0.0], -np.eye(3)])
    right = np.array([np.sqrt(2), 0, 0, 0])
    return ConicProgram(np.array([-1.0, 0, 0]), sp.csc_matrix(A), right, Cones(zero=1, psd=(2,)))


@pytest.mark.parametrize("name", ["clarabel", "scs", *TRIED])
def test_infeasible_programs_end_with_a_ray_or_without_a_verdict(name):
    program = infeasible_program()
    answer = module(name).solve(program)
    assert answer.status in ("infeasible", "failed")
    if answer.status == "infeasible":
        assert program.b @ answer.z < 0
        assert np.allclose(program.A.T @ answer.z, 0, atol=1e-5 * -(program.b @ answer.z))
    program = unbounded_program()
    answer = module(name).solve(program)
    assert answer.status in ("unbounded", "failed")
    if answer.status == "unbounded":
        fall = -(program.q @ answer.x)
        assert fall > 0
        assert reformulate.cone_violation(program.cones, -(program.A @ answer.x)) <= 1e-5 * fall


def test_a_ray_must_prove_itself():
    program, rng = infeasible_program(), np.random.default_rng(0)
    ray = np.concatenate([[1.0], svec(np.eye(2))])
    nothing = np.zeros(3)
    assert reformulate.checked_ray(program, nothing, ray) == "infeasible"
    assert reformulate.checked_ray(program, nothing, -ray) == "failed"
    assert reformulate.checked_ray(program, nothing, ray + 1e-3 * rng.standard_normal(4)) == "failed"
    program = unbounded_program()
    assert reformulate.checked_ray(program, np.array([1.0, 0, 0]), np.zeros(4)) == "unbounded"
    assert reformulate.checked_ray(program, np.array([1.0, 1e-3, 0]), np.zeros(4)) == "failed"
    assert reformulate.checked_ray(program, np.array([-1.0, 0, 0]), np.zeros(4)) == "failed"


@pytest.mark.parametrize("name", TRIED)
def test_programs_whose_variables_are_all_fixed(name):
    # x = (1, 2); then [[1, 2], [2, t]] is psd for t = 4 only from there on
    for t, status in [(5.0, "optimal"), (3.0, "infeasible")]:
        A = np.vstack([np.eye(2), -np.eye(2), np.zeros((1, 2))])
        A[2:] = [[-1, 0], [0, -np.sqrt(2)], [0, 0]]
        program = ConicProgram(
            np.array([3.0, 1.0]), sp.csc_matrix(A), np.array([1.0, 2, 0, 0, t]), Cones(zero=2, psd=(2,))
        )
        answer = module(name).solve(program)
        assert answer.status == status
        if status == "optimal":
            assert answer.value == pytest.approx(5)
            assert_optimal(program, answer, 1e-9)
        else:
            assert program.b @ answer.z < 0 and np.allclose(program.A.T @ answer.z, 0, atol=1e-9)


@pytest.mark.parametrize("name", TRIED)
def test_an_early_stop_is_never_called_solved(name):
    answer = module(name).solve(random_program(0), max_iterations=3)
    assert answer.status in ("inaccurate", "failed")
    assert answer.message


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", TRIED)
def test_nothing_is_printed_unless_asked_for(name, threads, capfd, monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: threads)  # beside others nothing is forked
    module(name).solve(random_program(0), tolerance=1e-13)  # out of reach: SDPA remarks on it in any case
    assert capfd.readouterr().out == ""
    module(name).solve(random_program(0), verbose=True)
    assert capfd.readouterr().out != ""


# What each cannot do, and says so: moments that escape, and equations that fill in when eliminated.
DECLINES = {
    "sdpa": {"gloptipoly_concave_d3", "robust_mean_6_4"},
    "cvxopt": {"gloptipoly_concave_d2", "gloptipoly_concave_d3", "robust_mean_6_4"},
    "newton_cg": {
        "gloptipoly_concave_d2",
        "gloptipoly_concave_d3",
        "robinson_ball",
        "rosenbrock20",
        "rosenbrock100",
    },
}
LONG = {"rosenbrock100", "box_indef_qp6", "broyden_tri20"}


@pytest.mark.few(12)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in sorted(EXPECTED)]
)
@pytest.mark.parametrize("solver", TRIED)
def test_no_case_comes_out_wrong(solver, name):
    module(solver)
    expected = EXPECTED[name]
    result = sd.load_problem(CASES / f"{name}.sos.json").solve(solver=solver)
    if name in DECLINES[solver] and result.status in ("failed", "inaccurate"):
        assert result.reason
        return
    if "status" in expected:
        assert result.status == expected["status"].split(" ")[0]
        return
    assert result.status == "optimal"
    value = expected["relaxation"]
    allowed = max(1e-5, (1e-4 if name in LONG else 1e-5) * abs(value)) + PRINTED.get(name, 0.0)
    assert abs(result.bound - value) <= allowed
    if result.certified_bound is not None and "optimum" in expected:
        assert result.certified_bound <= expected["optimum"] + 1e-9 * max(1.0, abs(value))


def test_the_choice_is_among_what_is_installed(monkeypatch):
    monkeypatch.setattr(choose, "is_installed", lambda name: name == "scs")
    assert choose.choose([10]) == "scs" and choose.installed() == ("scs",)
    monkeypatch.setattr(choose, "is_installed", lambda name: name == "clarabel")
    assert choose.choose([100]) == "clarabel"
    monkeypatch.setattr(choose, "is_installed", lambda name: name == "cvxopt")
    refuse(
        (lambda: choose.choose([10]), "pip install clarabel scs", SolverUnavailable),
        (
            lambda: choose.backend("sdpa"),
            "'sdpa' is not installed; try: pip install sdpa-python, or one of",
            SolverUnavailable,
        ),
    )


def test_a_quadratic_objective_that_is_not_convex_is_refused():
    program = random_program(0)
    P = sp.csc_matrix(np.diag([1.0, -1.0] + [0.0] * 7))
    refuse(
        (
            lambda: reformulate.linear_objective(
                ConicProgram(program.q, program.A, program.b, program.cones, P)
            ),
            "not convex: P has the eigenvalue -1",
        )
    )


# MOSEK is reached through cvxpy: what is read back is tried with a solver that is there.


def through_cvxpy(run):
    return borrowed("mosek", run, ("optimal", "optimal_inaccurate"), equations=True)


def test_a_solver_of_cvxpy_as_a_backend(monkeypatch):
    pytest.importorskip("cvxpy")
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    result = through_cvxpy(lambda program, *_: by_cvxpy(program, "CLARABEL", {}))
    program = random_program(4, rank=1)
    answer = result.solve(program)
    assert answer.status == "optimal" and answer.solver == "mosek"
    assert answer.value == pytest.approx(clarabel.solve(program).value, rel=1e-6)
    assert_optimal(program, answer, 1e-4)
    # what a solver calls infeasible is a ray, or no verdict
    assert result.solve(infeasible_program()).status == "failed"


def test_mosek_without_a_licence_says_so_in_one_sentence(monkeypatch):
    cvxpy = pytest.importorskip("cvxpy")

    def solve(self, **options):
        assert options["mosek_params"]["MSK_IPAR_NUM_THREADS"] == 1
        raise cvxpy.error.SolverError("rescode.err_missing_license_file(1008): no file\nat all")

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with pytest.raises(SolverUnavailable, match=r"no usable licence here \(.*\); put mosek.lic") as raised:
        OTHERS["mosek"].solve(random_program(0), tolerance=1e-9, time_limit=60, max_iterations=50)
    assert "\n" not in str(raised.value) and "solver='auto'" in str(raised.value)


@pytest.mark.parametrize("name", OPTIONAL)
def test_beside_other_threads_a_fresh_interpreter_answers(name, monkeypatch):
    """A copy of this process would wait for locks that those threads hold (of BLAS, of imports)."""
    module(name)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    program = random_program(3)
    answer = OTHERS[name].solve(program, time_limit=120)
    assert answer.status == "optimal"
    assert answer.value == pytest.approx(clarabel.solve(program).value, rel=1e-6)
    stopped = OTHERS[name].solve(program, time_limit=0.01)
    assert stopped.status == "failed" and "time limit" in stopped.message


def test_other_solvers_break_down_as_all_do(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)

    def breaks(*_):
        raise ZeroDivisionError("a division\nby zero")

    def ends(*_):
        os._exit(1)

    def hangs(*_):
        time.sleep(600)

    program, started = random_program(0), time.perf_counter()
    for run, words in ((breaks, "MOSEK broke down"), (ends, "MOSEK ended"), (hangs, "MOSEK was stopped")):
        answer = through_cvxpy(run).solve(program, time_limit=1.0)
        assert answer.status == "failed" and answer.message.startswith(words) and "\n" not in answer.message
    assert time.perf_counter() - started < 60
    huge = replace(program, b=program.b + np.inf)
    assert through_cvxpy(breaks).solve(huge).message.startswith("the numbers are too large")
