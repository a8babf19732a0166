"""The optional solvers against Clarabel: random programs, known cases, rays, refusals, missing modules."""

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from benchmarks.cases import PRINTED
from sosdp.conic import choose, clarabel, mosek, reformulate
from sosdp.conic.formats.files import read_program
from sosdp.conic.program import Cones, ConicProgram, SolverUnavailable
from sosdp.conic.svec import smat, svec

CASES = Path(__file__).parent.parent / "cases"
EXPECTED = json.loads((CASES / "expected.json").read_text())
OPTIONAL = ("cvxopt", "sdpa")
TRIED = (*OPTIONAL, "newton_cg")


def module(name):
    if not choose.is_installed(name):
        pytest.skip(f"{choose.SOLVERS[name][1]} is not installed")
    return choose.backend(name)


def random_program(seed, *, zero=2, nonnegative=5, sides=(4, 1, 3), columns=9, rank=0):
    """Strictly feasible on both sides, with a constant; ``rank`` squares in the objective."""
    rng = np.random.default_rng(seed)
    cones = Cones(zero=zero, nonnegative=nonnegative, psd=sides)
    A = rng.standard_normal((cones.rows, columns)) * (rng.random((cones.rows, columns)) < 0.7)
    s, z = [np.zeros(zero), rng.random(nonnegative) + 0.5], [np.ones(zero), rng.random(nonnegative) + 0.5]
    for side in sides:
        for target in (s, z):
            root = rng.standard_normal((side, side))
            target.append(svec(root @ root.T + np.eye(side)))
    P = None
    if rank:
        root = rng.standard_normal((rank, columns))
        P = sp.csc_matrix(np.triu(root.T @ root))
    b = A @ rng.standard_normal(columns) + np.concatenate(s)
    return ConicProgram(-A.T @ np.concatenate(z), sp.csc_matrix(A), b, cones, P, 0.75)


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


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TRIED)
def test_random_programs(name, seed, rank):
    program = random_program(seed, rank=rank)
    answer, expected = module(name).solve(program), clarabel.solve(program)
    assert answer.status == "optimal" and answer.solver == name
    assert answer.value == pytest.approx(expected.value, rel=1e-6)
    assert_optimal(program, answer, 1e-4)
    assert answer.iterations > 3 and answer.seconds > 0


@pytest.mark.parametrize("shape", [(0, 3, (2,)), (3, 0, (5,)), (0, 0, (3, 3)), (0, 12, ())])
@pytest.mark.parametrize("name", TRIED)
def test_programs_without_some_kind_of_row(name, shape):
    zero, nonnegative, sides = shape
    program = random_program(1, zero=zero, nonnegative=nonnegative, sides=sides, columns=5)
    answer = module(name).solve(program)
    assert answer.status == "optimal"
    assert answer.value == pytest.approx(clarabel.solve(program).value, rel=1e-6)
    assert_optimal(program, answer, 1e-4)


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


@pytest.mark.parametrize("name", TRIED)
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


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_time_limit_that_cannot_be_kept_is_refused(name):
    with pytest.raises(ValueError, match="cannot stop at a time limit; use max_iterations"):
        module(name).solve(random_program(0), time_limit=1.0)


@pytest.mark.parametrize("name", TRIED)
def test_nothing_is_printed_unless_asked_for(name, capfd):
    program = random_program(0)
    module(name).solve(program, tolerance=1e-13)  # out of reach: SDPA remarks on it whatever its options
    assert capfd.readouterr().out == ""
    module(name).solve(program, verbose=True)
    assert capfd.readouterr().out != ""


# What each cannot do, and says so: moments that escape, and equations that fill in when eliminated.
DECLINES = {
    "sdpa": {"gloptipoly_concave_d3", "robust_mean_6_4"},
    "cvxopt": {"gloptipoly_concave_d2", "gloptipoly_concave_d3", "robust_mean_6_4"},
    "newton_cg": {"gloptipoly_concave_d2", "gloptipoly_concave_d3", "robinson_ball", "rosenbrock20"},
}
LONG = {"rosenbrock100", "box_indef_qp6", "broyden_tri20"}


def solve_case(name, solver):
    problem = sd.load_problem(CASES / f"{name}.sos.json")
    if problem.unknowns:
        program = sd.SosProgram([sd.polynomial(u) for u in problem.unknowns])
        for p in problem.sos:
            program.require(p, on=problem.system)
        return getattr(program, "maximize" if problem.sense == "maximize" else "minimize")(
            problem.objective, solver=solver
        )
    if problem.sos:
        return sd.prove_sos(problem.sos[0], problem.system, problem.degree, solver=solver)
    if problem.sense == "feasible":
        return sd.feasible(problem.system, problem.degree, solver=solver)
    return getattr(sd, problem.sense)(problem.objective, problem.system, problem.degree, solver=solver)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in sorted(EXPECTED)]
)
@pytest.mark.parametrize("solver", TRIED)
def test_no_case_comes_out_wrong(solver, name):
    module(solver)
    expected = EXPECTED[name]
    result = solve_case(name, solver)
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


@pytest.mark.parametrize("name", ["clarabel", "scs", *TRIED])
def test_any_conic_program_is_solved_by_name_or_by_choice(name):
    module(name)
    program = random_program(3)
    expected = sd.solve_conic(program)
    assert expected.solver == "clarabel"
    assert sd.solve_conic(program, name).value == pytest.approx(expected.value, rel=1e-5)


def test_the_choice_is_among_what_is_installed(monkeypatch):
    monkeypatch.setattr(choose, "is_installed", lambda name: name == "scs")
    assert choose.choose([10]) == "scs" and choose.installed() == ("scs",)
    monkeypatch.setattr(choose, "is_installed", lambda name: name == "clarabel")
    assert choose.choose([100]) == "clarabel"
    monkeypatch.setattr(choose, "is_installed", lambda name: name == "cvxopt")
    with pytest.raises(SolverUnavailable, match="pip install clarabel scs"):
        choose.choose([10])
    with pytest.raises(
        SolverUnavailable, match="'sdpa' is not installed; try: pip install sdpa-python, or one of"
    ):
        choose.backend("sdpa")


def test_every_solver_has_its_file_and_is_named_in_the_help(capsys):
    from sosdp.cli import main

    assert main(["solve", "--help"]) == 0
    text = capsys.readouterr().out
    program = random_program(0)
    for name in choose.SOLVERS:
        assert name in text
        if choose.is_installed(name):
            backend = choose.backend(name)
            assert backend.FORM in ("gram", "moment")
            assert 0 < backend.memory(program) < 1e8


def test_a_quadratic_objective_that_is_not_convex_is_refused():
    program = random_program(0)
    P = sp.csc_matrix(np.diag([1.0, -1.0] + [0.0] * 7))
    with pytest.raises(ValueError, match="not convex: P has the eigenvalue -1"):
        reformulate.linear_objective(ConicProgram(program.q, program.A, program.b, program.cones, P))


# MOSEK: without a licence the task can be built, read back and written, but not solved.


def test_the_mosek_task_is_the_program(tmp_path):
    pytest.importorskip("mosek")
    program = random_program(7, zero=2, nonnegative=3, sides=(3, 2), columns=6)
    with mosek.build_task(program) as task:
        assert task.getnumcon() == 6 and task.getnumvar() == 5 and task.getnumbarvar() == 2
        assert [task.getdimbarvarj(k) for k in range(2)] == [3, 2]
        right = np.array([task.getconbound(i)[1:] for i in range(6)])
        assert np.array_equal(right, np.stack([-program.q, -program.q], axis=1))
        assert np.array_equal([task.getcj(j) for j in range(5)], program.b[:5])
        lower = [str(task.getvarbound(j)[0]).rsplit(".", maxsplit=1)[-1] for j in range(5)]
        assert lower == ["fr", "fr", "lo", "lo", "lo"]
        found = np.array([[task.getaij(i, j) for j in range(5)] for i in range(6)])
        assert np.array_equal(found, program.A.toarray()[:5].T)
        # bar coefficients: as symmetric matrices, column by column
        _, i, j, k, l, value = task.getbarablocktriplet()
        for column in range(6):
            for block, rows in enumerate(program.cones.psd_slices()):
                side = program.cones.psd[block]
                expected = smat(program.A.toarray()[rows, column], side)
                matrix = np.zeros((side, side))
                for ii, jj, kk, ll, v in zip(i, j, k, l, value, strict=True):
                    if ii == column and jj == block:
                        matrix[kk, ll] = matrix[ll, kk] = v
                assert np.allclose(matrix, expected, rtol=1e-15)


def test_what_mosek_writes_is_solved_to_the_same_value(tmp_path):
    pytest.importorskip("mosek")
    program = random_program(9)
    with mosek.build_task(program) as task:
        task.writedata(str(tmp_path / "task.cbf"))
    dual = read_program(tmp_path / "task.cbf")
    assert set(dual.cones.psd) >= {3, 4}
    expected = clarabel.solve(program).value - program.constant
    assert -clarabel.solve(dual).value == pytest.approx(expected, rel=1e-6)


def test_a_solution_in_mosek_s_layout_is_read_back():
    real = pytest.importorskip("mosek")
    program = random_program(4)
    known = clarabel.solve(program)
    rows = program.cones.psd_slices()
    matrices = [smat(known.z[r], n) for r, n in zip(rows, program.cones.psd, strict=True)]
    scalars = program.cones.zero + program.cones.nonnegative

    class Task:
        def getsolsta(self, which):
            return real.solsta.optimal

        def getxxslice(self, which, low, high):
            return known.z[:scalars][low:high]

        def getbarxj(self, which, k):
            side = matrices[k].shape[0]
            return [matrices[k][row, column] for column in range(side) for row in range(column, side)]

        def getyslice(self, which, low, high):
            return known.x[low:high]

        def getprimalobj(self, which):
            return program.b @ known.z

        def getintinf(self, item):
            return 11

    answer = mosek._read(real, Task(), program, "rescode.ok")
    assert (answer.status, answer.iterations, answer.message) == ("optimal", 11, "optimal (ok)")
    assert np.allclose(answer.x, known.x) and np.allclose(answer.z, known.z)
    assert np.allclose(answer.s, known.s, atol=1e-6)
    assert answer.value == pytest.approx(known.value, rel=1e-6)


def test_mosek_without_a_licence_says_so_in_one_sentence(monkeypatch, tmp_path):
    real = pytest.importorskip("mosek")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    try:
        answer = mosek.solve(random_program(0))
    except SolverUnavailable as error:
        text = str(error)
        assert "\n" not in text and "MOSEKLM_LICENSE_FILE" in text and "solver='auto'" in text
    else:
        # this machine has a licence: then it must be right
        assert answer.value == pytest.approx(clarabel.solve(random_program(0)).value, rel=1e-6)
    # any other error of MOSEK's passes unchanged
    other = types.SimpleNamespace(errno=real.rescode.err_space)
    assert mosek._licence_error(real, other) is None


def test_mosek_without_the_module_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mosek", None)
    with pytest.raises(SolverUnavailable, match="pip install mosek, or solver='auto'"):
        mosek.build_task(random_program(0))
    monkeypatch.setattr(choose, "is_installed", lambda name: name != "mosek")
    x = sd.polynomial("x")
    with pytest.raises(
        SolverUnavailable, match="'mosek' is not installed; try: pip install mosek, or one of"
    ):
        sd.minimize(x**2, solver="mosek")


def fake_mosek(monkeypatch, raised):
    """A module of MOSEK's shape whose optimizer raises this number of an error, or this exception."""

    class Error(Exception):
        errno = raised

    class Anything:
        def __getattr__(self, name):
            return Anything()

        def __call__(self, *arguments):
            return Anything()

        def __enter__(self):
            return self

        def __exit__(self, *arguments):
            return False

    class Task(Anything):
        def optimize(self):
            raise Error(raised) if isinstance(raised, str) else raised

    fake = types.ModuleType("mosek")
    fake.Task, fake.Error = Task, Error
    for name in ("objsense", "boundkey", "iparam", "dparam", "streamtype"):
        setattr(fake, name, Anything())
    monkeypatch.setitem(sys.modules, "mosek", fake)


def test_the_licence_error_is_told_by_a_module_that_has_none(monkeypatch):
    fake_mosek(monkeypatch, "rescode.err_missing_license_file")
    with pytest.raises(SolverUnavailable, match=r"no usable licence here \(err_missing_license_file\); put"):
        mosek.solve(random_program(0), tolerance=1e-9, time_limit=5, max_iterations=50, verbose=True)


def test_mosek_breaks_down_as_all_others_do(monkeypatch):
    for raised in ("rescode.err_inf_in_double_data", ZeroDivisionError("a division\nby zero")):
        fake_mosek(monkeypatch, raised)
        answer = mosek.solve(random_program(0))
        assert answer.status == "failed" and answer.message.startswith("MOSEK broke down")
        assert "\n" not in answer.message
    fake_mosek(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        mosek.solve(random_program(0))
    program = random_program(0)
    huge = replace(program, b=program.b + np.inf)
    assert mosek.solve(huge).message.startswith("the numbers are too large")


def test_mosek_builds_the_task_of_a_relaxation_in_the_dual_of_its_moment_form():
    pytest.importorskip("mosek")
    from sosdp.relaxation.build.identity import GramProgram
    from sosdp.relaxation.solve.forms import moment_form

    x, y = sd.variables("mkx mky")
    relax = sd.Relaxation(sd.System(x**2 + y**2 <= 1), 4)
    identity, _ = relax.assemble(x**4 + y**3 - x)
    conic = moment_form(GramProgram(identity, np.ones(1), np.full(1, np.inf))).conic
    with mosek.build_task(conic) as task:
        # one constraint a moment (the moment of 1 is fixed), one bar variable a Gram matrix
        assert task.getnumcon() == identity.columns.shape[0] - 1
        dims = sorted(task.getdimbarvarj(k) for k in range(task.getnumbarvar()))
        assert dims == sorted(b.side for b in identity.blocks if b.side > 1)


# Stopping early: what was found is worth what can be certified of it.


@pytest.fixture
def interrupts_raise():
    """Python's own handler, also where a shell started the tests in the background (it ignores SIGINT)."""
    import signal

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_keyboard_interrupt_keeps_a_certified_bound(monkeypatch, interrupts_raise):
    """Ctrl-C arrives at Clarabel's sixth iteration, as a signal would."""
    import signal

    import clarabel as solver

    class Interrupted:
        def __init__(self, *data):
            self.real = solver_class(*data)

        def set_termination_callback(self, ask):
            def at_each_iteration(info):
                if info.iterations == 6:
                    signal.raise_signal(signal.SIGINT)
                return ask(info)

            self.real.set_termination_callback(at_each_iteration)

        def solve(self):
            return self.real.solve()

    solver_class = solver.DefaultSolver
    x, y = sd.variables("kix kiy")
    objective, system = x**4 + y**4 - 3 * x * y + x, sd.System(x**2 + y**2 <= 4)
    known = sd.minimize(objective, system)
    monkeypatch.setattr(solver, "DefaultSolver", Interrupted)
    before = signal.getsignal(signal.SIGINT)
    raw = clarabel.solve(random_program(0))
    assert (raw.status, raw.message, raw.iterations) == ("inaccurate", "interrupted", 6)
    found = sd.minimize(objective, system, solver="clarabel")
    assert signal.getsignal(signal.SIGINT) is before
    assert found.certified_bound is not None
    assert found.certified_bound <= known.certified_bound + 1e-6
    assert found.status == "inaccurate" or found.certified_bound == pytest.approx(known.bound, abs=1e-4)


def test_a_second_interrupt_raises_and_foreign_handlers_are_left_alone(interrupts_raise):
    import signal

    from sosdp.conic.interrupt import interruptible

    with pytest.raises(KeyboardInterrupt):
        with interruptible() as interrupted:
            assert not interrupted()
            signal.raise_signal(signal.SIGINT)
            assert interrupted()
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with interruptible() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted() and seen == [1]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_iteration_limit_gives_an_inaccurate_answer_never_a_wrong_bound():
    program = random_program(0)
    answer = clarabel.solve(program, max_iterations=4)
    assert (answer.status, answer.message) == ("inaccurate", "MaxIterations")
    assert np.isfinite(answer.x).all() and np.isfinite(answer.z).all()


def test_an_interrupted_scs_raises(monkeypatch):
    import scs as solver

    from sosdp.conic import scs

    class Interrupted:
        def __init__(self, *data, **settings):
            pass

        def solve(self):
            return {"info": {"status": "interrupted", "pobj": 0.0, "iter": 5}}

    monkeypatch.setattr(solver, "SCS", Interrupted)
    with pytest.raises(KeyboardInterrupt, match="give it a time_limit"):
        scs.solve(random_program(0))


def test_clarabel_stops_after_few_iterations_where_each_is_long(monkeypatch):
    program = random_program(8)
    usual = clarabel.solve(program)
    assert usual.status == "optimal" and usual.iterations > 3
    monkeypatch.setattr(clarabel, "_LONG_WORK", 0.0)
    monkeypatch.setattr(clarabel, "_LONG_ITERATIONS", 3)
    short = clarabel.solve(program)
    assert short.status == "inaccurate" and short.iterations <= 3
    assert clarabel.solve(program, max_iterations=100).status == "optimal"


def test_scs_gets_costs_of_unit_size(monkeypatch):
    from sosdp.conic import scs

    x, y = sd.variables("x y")
    p = 1000 * x**4 - 300 * x * y + 700 * y**4 - 3
    relaxed = sd.Relaxation(sd.System(1 - x**2 - y**2 >= 0), 4)
    sizes, solve = [], scs.solve

    def watched(program, **options):
        sizes.append(float(np.abs(program.q).max()))
        return solve(program, **options)

    monkeypatch.setattr(scs, "solve", watched)
    found = relaxed.minimize(p, solver="scs")
    assert found.status == "optimal" and 1 <= sizes[0] < 2
    assert found.bound == pytest.approx(relaxed.minimize(p, solver="clarabel").bound, rel=1e-6)
    assert found.bound - found.certified_bound < 1e-4 * abs(found.bound)
    empty = sd.Relaxation(sd.System(1 - x**2 - y**2 >= 0, x >= 2), 2).minimize(1000 * x, solver="scs")
    assert empty.status == "infeasible"
    free = sd.Relaxation(sd.System(), 4).minimize(1000 * (x**4 - 3 * x**2 * y**2), solver="scs")
    assert free.status == "unbounded"
