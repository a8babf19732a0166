"""Proven brackets of conic programs: true on random ones, no backend's wrong word passes, and allowances for
rounding one by one, each where it alone decides (their mutants: tests/mutants/conic.toml)."""

import math
import random
import types
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import brackets, choose, clarabel
from sosdp.conic.brackets import lower_bound, upper_bound
from sosdp.conic.choose import opinion
from sosdp.conic.exact.dual_face import exact_face
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.rigorous import UNIT
from sosdp.conic.strategies import is_dual_infeasible
from sosdp.conic.svec import svec
from tests.engine.programs import conic, random_program

SDPLIB = Path(__file__).resolve().parents[3] / "shared" / "sdplib"
OPTIMA = {
    "arch0": 5.66517e-01,
    "control1": 17.784627,
    "gpp100": -44.94355,
    "hinf1": 2.0326,
    "mcp100": 226.1574,
    "theta1": 23.0,
    "truss1": -8.999996,
}
NO_INTERIOR = {"hinf1"}  # its dual has none: see test_hinf1


@pytest.mark.parametrize("seed", range(8))
def test_a_bracket_around_the_optimum(seed):
    program = random_program(seed)
    answer = sd.solve_conic(program)
    reference = clarabel.solve(program, tolerance=1e-10).value
    assert answer.status == "optimal"
    assert answer.lower - 1e-7 <= reference <= answer.upper + 1e-7
    assert answer.upper - answer.lower <= 1e-5 * max(1, abs(reference))
    # weak duality between the two proven bounds
    assert answer.lower <= answer.upper


@pytest.mark.parametrize("seed", range(3))
def test_the_wrong_word_of_a_backend_does_not_pass(seed, monkeypatch):
    program = random_program(seed)
    truth = clarabel.solve(program).value

    def liar(given, **options):
        answer = clarabel.solve(given, **options)
        return replace(answer, x=answer.x * 1.01, z=answer.z * 1.01, value=answer.value + 0.1)

    fake = types.SimpleNamespace(FORM="gram", memory=lambda p: 0.0, solve=liar)
    monkeypatch.setattr(choose, "backend", lambda name: fake)
    answer = sd.solve_conic(program, "clarabel")
    assert answer.status == "inaccurate" and answer.reason
    assert answer.lower <= truth + 1e-7 and answer.upper >= truth - 1e-7


def test_a_claimed_infeasibility_needs_its_ray(monkeypatch):
    program = random_program(1)

    def liar(given, **options):
        answer = clarabel.solve(given, **options)
        return replace(answer, status="infeasible")

    fake = types.SimpleNamespace(FORM="gram", memory=lambda p: 0.0, solve=liar)
    monkeypatch.setattr(choose, "backend", lambda name: fake)
    assert sd.solve_conic(program, "clarabel").status not in ("infeasible", "optimal")


def test_empty_and_unbounded_programs_are_proven():
    one = sp.csc_matrix(np.array([[1.0], [-1.0]]))
    empty = ConicProgram(np.ones(1), one, np.array([-1.0, -1.0]), Cones(nonnegative=2))
    assert sd.solve_conic(empty).status == "infeasible"
    assert brackets.is_empty(empty, np.array([1.0, 1.0]))
    free = ConicProgram(-np.ones(1), -one[:1], np.array([0.0]), Cones(nonnegative=1))
    assert sd.solve_conic(free).status == "unbounded"
    full = ConicProgram(np.ones(1), one, np.array([1.0, 1.0]), Cones(nonnegative=2))
    assert not brackets.is_empty(full, np.array([1.0, 1.0]))
    assert not brackets.is_empty(full, np.array([-1.0, -1.0]))


def test_an_infeasible_program_has_no_value():
    """[[t, 1], [1, 0]] is positive semidefinite for no t, nearly so for large t: solvers end at 3e9."""
    column = sp.csc_matrix(np.array([[-1.0], [0.0], [0.0]]))
    weak = ConicProgram(np.ones(1), column, np.array([0.0, np.sqrt(2), 0.0]), Cones(psd=(2,)))
    assert clarabel.solve(weak).value > 1e6
    for solver in ("clarabel", "scs"):
        answer = sd.solve_conic(weak, solver)
        assert answer.status == "infeasible" and np.isnan(answer.value)
        assert answer.lower == answer.upper == np.inf


def test_a_slack_that_rounding_calls_zero_is_no_proof():
    result = 0
    for k in range(1, 400):
        a, x = float(np.float64(1) / k), float(k) / 7
        b = a * x  # as rounded
        if F(b) < F(a) * F(x):
            program = ConicProgram(np.ones(1), sp.csc_matrix([[a]]), np.array([b]), Cones(nonnegative=1))
            assert b - a * x == 0.0
            assert brackets.upper_bound(program, np.array([x])) == np.inf
            result += 1
    assert result > 20


def test_a_dual_vector_on_the_boundary_is_no_proof_where_its_equations_round():
    # 3 z_1 = 1 and z_1 + z_2 = the float next to 1/3, which is smaller: z_2 < 0, but in floats it is zero
    A = sp.csc_matrix(np.array([[3.0, 1.0], [0.0, 1.0]]))
    program = ConicProgram(np.array([-1.0, -1 / 3]), A, np.ones(2), Cones(nonnegative=2))
    z = np.array([1 / 3, 0.0])
    assert (A.T @ z == -program.q).all()
    assert brackets.lower_bound(program, z) == -np.inf


def test_the_least_singular_value_is_a_lower_bound():
    rng = np.random.default_rng(5)
    for _ in range(50):
        matrix = rng.normal(size=(9, 4)) * 10.0 ** rng.integers(-6, 6, size=4)
        truth = np.linalg.svd(matrix)[1][-1]
        assert brackets._least_singular_value(matrix) <= truth * (1 + 1e-12)
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-16], [0.0, 0.0]])
    assert brackets._least_singular_value(matrix) <= 0


def test_a_column_without_cost_shows_the_face():
    # e'Ze = 0: Z has no interior, and without the face there is no lower bound
    rng = np.random.default_rng(3)
    side = 5
    ones = np.ones((side, side))
    matrices = [np.diag(np.eye(side)[k]) for k in range(side)] + [ones]
    A = -np.stack([svec(m) for m in matrices], axis=1)
    cost, noise = np.append(np.ones(side), 0.0), rng.normal(size=(side, side))
    program = ConicProgram(cost, sp.csc_matrix(A), -svec(noise + noise.T), Cones(psd=(side,)))
    face = exact_face(program)
    assert face is not None and face.program.cones.psd == (side - 1,) and face.program.q.size == side
    answer = sd.solve_conic(program)
    assert math.isfinite(answer.lower)
    # the interior point that SDPA finds is sharper than the others'; without it the bracket stays open
    sharp = choose.is_installed("sdpa")
    assert answer.upper - answer.lower <= (1e-5 if sharp else 1e-4) * max(1, abs(answer.value))
    assert (answer.status == "optimal") == (answer.upper - answer.lower <= 1e-5 * max(1, abs(answer.value)))


@pytest.mark.skipif(not SDPLIB.is_dir(), reason="the problems of SDPLIB are not here")
@pytest.mark.skipif(not choose.is_installed("sdpa"), reason="needs sdpa-python")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in NO_INTERIOR else n for n in sorted(OPTIMA)]
)
def test_sdplib(name):
    answer = sd.solve_conic(sd.read_program(SDPLIB / f"{name}.dat-s"))
    optimum = OPTIMA[name]
    scale = max(1.0, abs(optimum))
    assert answer.lower <= optimum + 1e-5 * scale and answer.upper >= optimum - 1e-5 * scale
    if name in NO_INTERIOR:
        assert answer.status == "inaccurate" and answer.lower == 0 < answer.upper < 1.00001 * optimum
        return
    assert answer.status == "optimal"
    assert answer.upper - answer.lower <= 1e-5 * scale


@pytest.mark.skipif(not SDPLIB.is_dir(), reason="the problems of SDPLIB are not here")
def test_sdplib_infeasible():
    assert sd.solve_conic(sd.read_program(SDPLIB / "infp1.dat-s")).status == "infeasible"


def linear(q, rows, right, equations=0):
    return conic(q, rows, right, Cones(equations, len(right) - equations))


def test_a_point_is_moved_onto_the_equations_before_it_is_feasible():
    """x == 1 and x <= 1 - 5e-10: nothing is feasible, and 1 - 1e-9 is only nearly so."""
    assert upper_bound(linear([1], [[1], [1]], [1, 1 - 5e-10], 1), np.array([1 - 1e-9])) == np.inf


def test_moving_a_point_onto_the_equations_costs():
    """x == 1: the value is 1, and not that of 1 - 1e-9."""
    assert upper_bound(linear([1], [[1]], [1], 1), np.array([1 - 1e-9])) >= 1.0


def test_the_value_of_a_point_is_rounded_up():
    draw = random.Random(1)
    for _ in range(300):
        count = draw.randint(2, 20)
        q = [draw.uniform(-1, 1) for _ in range(count)]
        x = np.array([draw.uniform(-1, 1) * 10 ** draw.randint(0, 12) for _ in range(count)])
        x[0] = -float(np.array(q[1:]) @ x[1:]) / q[0]
        truth = sum((F(a) * F(b) for a, b in zip(q, x.tolist(), strict=True)), F(0))
        assert F(upper_bound(linear(q, np.zeros((1, count)), [1]), x)) >= truth


def test_every_term_of_a_slack_rounds():
    """1 + 20 u less a sum of a thousand numbers that is 1 in floats and 1 + 900 u in truth."""
    count = 1000
    program = linear([0] * (count + 1), [[1.0] * (count + 1)], [1 + 20 * UNIT])
    x = np.array([1.0] + [0.9 * UNIT] * count)
    assert F(1) + 20 * F(UNIT) < sum(map(F, x.tolist()))
    assert upper_bound(program, x) == np.inf


def test_a_product_that_vanishes_in_a_slack_is_still_there():
    """-1e-400 >= 0 is false."""
    assert upper_bound(linear([1], [[1e-200]], [0]), np.array([1e-200])) == np.inf


def test_the_distance_to_an_exact_dual_vector_costs(monkeypatch):
    program = linear([1, 1], [[-1, 0], [0, -1]], [3, 4])
    z = np.array([1.0, 1.0])
    monkeypatch.setattr(brackets, "_exactly", lambda *_: (z, 0.5))
    assert lower_bound(program, z) <= -7 - 0.5 * 5


def test_a_dual_vector_is_inside_by_its_distance(monkeypatch):
    program = linear([1, 1], [[-1, 0], [0, -1]], [3, 4])
    z = np.array([1.0, 0.25])
    monkeypatch.setattr(brackets, "_exactly", lambda *_: (z, 0.5))
    assert lower_bound(program, z) == -np.inf


def test_the_value_of_a_dual_vector_is_rounded_down():
    draw = random.Random(2)
    for _ in range(200):
        count = draw.randint(2, 12)
        z = np.array([draw.uniform(0.5, 2) for _ in range(count)])
        b = [draw.uniform(-1, 1) * 10 ** draw.randint(0, 12) for _ in range(count)]
        b[0] = -float(np.array(b[1:]) @ z[1:]) / z[0]
        # x_k <= b_k with cost -z_k: the dual vector is z, exactly
        program = linear((-z).tolist(), np.eye(count), b)
        truth = -sum((F(c) * F(v) for c, v in zip(b, z.tolist(), strict=True)), F(0))
        assert F(lower_bound(program, z)) <= truth


def test_the_entries_of_a_matrix_inside_the_cone_are_rounded_once_more(monkeypatch):
    monkeypatch.setattr(brackets, "least_eigenvalue_bound", lambda matrix: 0.0)
    assert not brackets._inside(Cones(psd=(2,)), svec(np.ones((2, 2))), np.zeros(3))


def test_the_least_singular_value_is_less_by_factors_of_sqrt_2(monkeypatch):
    rounding = (1 + 4) * UNIT * 4
    monkeypatch.setattr(brackets, "least_eigenvalue_bound", lambda product: rounding + 1e-30)
    assert not brackets._least_singular_value(np.ones((1, 1))) > 0


def test_products_that_overflow_show_no_point():
    """x - y <= -1e-200 and y - x <= -1e-200, times 1e200: the slack at (1e200, 1e200) is no number."""
    program = linear([1, 0], [[1e200, -1e200], [-1e200, 1e200]], [-1, -1])
    with np.errstate(all="ignore"):
        assert upper_bound(program, np.array([1e200, 1e200])) == np.inf
        assert brackets._upper_bound(program, np.array([1e200, 1e200]), None) == np.inf


OFF = [
    # what is off, rows, right sides, equations, errors of both, the point
    ("a product", [[1]], [1], 0, [[1e-3]], [0], [0.9995]),
    ("a right side", [[1]], [1], 0, [[0]], [1e-3], [0.9995]),
    ("0 x == 1 has no solution", [[1e-3], [1]], [1, 1e9], 1, [[1e-3], [0]], [0, 0], [1000]),
    ("x == 1, and x <= 1/2", [[1, 0], [0, 1e-3]], [0, 0.5], 1, [[0, 0], [1, 0]], [1, 0], [0, 0]),
]


@pytest.mark.parametrize("rows, right, equations, off, off_right, at", [case[1:] for case in OFF])
def test_a_point_is_feasible_whatever_the_entries_are(rows, right, equations, off, off_right, at):
    program = linear([0] * len(at), rows, right, equations)
    off, off_right, at = (np.array(v, dtype=float) for v in (off, off_right, at))
    assert upper_bound(program, at) < np.inf
    assert upper_bound(program, at, (0.01 * off, 0.01 * off_right)) < np.inf
    assert upper_bound(program, at, (off, off_right)) == np.inf


@pytest.mark.parametrize("gap, known, rounded", [(1e-3, True, True), (2**-52, True, False)])
def test_a_direction_falls_whatever_the_entries_are(gap, known, rounded):
    """x <= y and (1 - gap) y <= x: x grows without end, if the second number is less than one."""
    program = linear([-1, 0], [[1, -1], [-1, 1 - gap]], [0, 0])
    with opinion(program, 10) as solve:
        assert is_dual_infeasible(program, solve) is known
        assert is_dual_infeasible(program, solve, 9 * UNIT) is rounded
        # along x == y, for as long as that falls
        assert (
            is_dual_infeasible(linear([-1, 1 - gap], [[1, -1], [-1, 1]], [0, 0]), solve, cost=9 * UNIT)
            is rounded
        )
