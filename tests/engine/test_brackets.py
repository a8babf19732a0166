"""Proven brackets of conic programs: true on random ones, and no backend's wrong word passes."""

import math
import types
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import brackets, choose, clarabel
from sosdp.conic.exact.dual_face import exact_face
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import svec

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


def symmetric(rng, side):
    matrix = rng.normal(size=(side, side))
    return matrix + matrix.T


def random_program(seed, sides=(4, 3), columns=5, scalars=3, equations=2):
    """A program with points inside on both sides, so that it has an optimum."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(equations + scalars, columns))]
    rows += [np.stack([svec(symmetric(rng, n)) for _ in range(columns)], axis=1) for n in sides]
    A = np.concatenate(rows)
    inside = [rng.uniform(0.5, 2, scalars)]
    for n in sides:
        root = rng.normal(size=(n, n))
        inside.append(svec(root @ root.T + 0.1 * np.eye(n)))
    s = np.concatenate([np.zeros(equations), *inside])
    z = np.concatenate(
        [rng.normal(size=equations), *(part[::-1] if part.size == scalars else part for part in inside)]
    )
    b = A @ rng.normal(size=columns) + s
    cones = Cones(zero=equations, nonnegative=scalars, psd=sides)
    return ConicProgram(q=-A.T @ z, A=sp.csc_matrix(A), b=b, cones=cones, constant=0.5)


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
    cost = np.append(np.ones(side), 0.0)
    program = ConicProgram(cost, sp.csc_matrix(A), -svec(symmetric(rng, side)), Cones(psd=(side,)))
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
