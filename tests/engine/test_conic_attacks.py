"""Programs that were once answered wrongly, as an adversary found them: numbers that rounding, underflow or
addition takes away, and wrong theorems, each with the exact reason why it was one.

Mutants of the guards are in tests/mutants/conic.toml.
"""

from dataclasses import replace
from fractions import Fraction
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import choose, clarabel, judge
from sosdp.conic.brackets import Bracket, _upper_bound, is_empty
from sosdp.conic.choose import solve_conic
from sosdp.conic.exact.dual_face import exact_face
from sosdp.conic.exact.restriction import Restricted, read, restrict
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import SQRT2, svec, svec_length, triangle
from tests.engine.programs import conic
from tests.refusals import refuse

COLLIDING = (1.75, 1.4375, 1.515625, 1.984375)  # the float below is stored as the same float


def long_entry(short):
    """``p == e t`` with e the float below: [[t + y + 1, p], [p, short^2 t + y + 1]]; the least y is -inf, and
    it would be -1 if e were short, the matrix of t being singular then."""
    e = np.nextafter(short, 0)
    assert e * SQRT2 == short * SQRT2
    A = [[e, -1, 0], [-1, 0, -1], [0, -SQRT2, 0], [-short * short, 0, -1]]
    return conic([0, 0, 1], A, [0, 1, 0, 1], Cones(1, 0, (2,)))


@pytest.mark.parametrize("short", COLLIDING)
def test_an_entry_of_53_digits_is_not_read_as_a_shorter_one(short):
    program = long_entry(short)
    t, e = F(2) ** 80, F(float(np.nextafter(short, 0)))
    assert (t - 999) * (F(short) ** 2 * t - 999) > (e * t) ** 2  # y = -1000 is possible
    inner = restrict(program)
    assert isinstance(inner, Restricted) and not inner.exact
    assert solve_conic(program, "clarabel").lower == -np.inf


@pytest.mark.slow
@pytest.mark.parametrize("short", COLLIDING)
def test_no_face_is_implied_by_an_entry_that_is_read_as_a_shorter_one(short):
    """[[1, e], [e, short^2]] is inside the cone, e being less than short; y >= 1 is all there is."""
    side = 20
    row, column = triangle(side)
    A, b = np.zeros((2 + svec_length(side), 2)), np.zeros(2 + svec_length(side))
    A[0, 0], b[0] = 1, np.nextafter(short, 0)
    A[1, 1] = b[1] = -1
    b[2:] = row == column
    A[2:, 1] = -((row == column) & (row > 1)).astype(float)
    A[3, 0], b[4] = -SQRT2, short * short
    answer = solve_conic(conic([0, 1], A, b, Cones(1, 1, (side,))), "clarabel")
    assert answer.status != "infeasible" and answer.lower <= 1 <= answer.upper


@pytest.mark.parametrize("power", [550, 600])
def test_an_entry_that_vanishes_within_its_row_is_still_there(power):
    """y <= c, h x + (y - c) / h >= 0 with h = 2^-power, 1 <= x <= 5: x = 1, y = c is feasible."""
    H, h, c = 2.0**power, 2.0**-power, 0.12345678
    program = conic([0, 1], [[0, 1], [-h, -H], [-1, 0], [1, 0]], [c, -H * c, -1, 5], Cones(0, 4))
    assert restrict(program) is False
    assert solve_conic(program, "clarabel").status != "infeasible"


def test_an_entry_that_vanishes_within_its_block_is_still_there():
    tiny, huge = 2.0**-600, 2.0**600
    assert restrict(conic([1], [[0], [0], [-tiny]], [huge, 0, 0], Cones(0, 0, (2,)))) is False


def test_a_cost_that_vanishes_is_still_there():
    """x_1 == 2^-600 x_2 and a cost of 2^-500 for x_1."""
    program = conic([2.0**-500, 0], [[1, -(2.0**-600)], [0, 1]], [0, 1], Cones(1, 1))
    assert restrict(program) is False


def test_a_row_whose_numbers_differ_by_450_powers_of_ten():
    """1e-150 x <= -1e300 has solutions; the least 1e300 x with 1e150 x >= -1e-300 is -1e-150."""
    assert solve_conic(conic([1e-150], [[1e-150]], [-1e300], Cones(0, 1)), "clarabel").status != "infeasible"
    answer = solve_conic(conic([1e300], [[-1e150], [0]], [1e-300, 1e-300], Cones(0, 2)), "clarabel")
    assert F(float(answer.lower)) <= -F(1e300) * F(1e-300) / F(1e150) <= F(float(answer.upper))


def test_entries_of_a_few_denormal_units_are_not_known():
    """Nine units are read as sqrt(2) times six, off by 6 %, eight as exactly that."""
    for units in (8, 9):
        stored = [0, units * 5e-324, 0]
        program = conic([0], [[0], [0], [0]], stored, Cones(0, 0, (2,)))
        assert read(program).errors == [np.inf]
        assert restrict(program) is False and exact_face(program) is None


@pytest.mark.parametrize(
    "change",
    [
        {"b": np.array([2**53 + 1, 0])},
        {"q": np.array([2**53 + 1])},
        {"q": np.array([F(1, 3)], dtype=object)},
        {"A": sp.csc_matrix(np.array([[2**53 + 1], [1]]))},
        {"constant": 2**53 + 1},
    ],
)
def test_numbers_that_doubles_do_not_hold_are_refused(change):
    given = {"q": np.ones(1), "A": sp.csc_matrix(np.ones((2, 1))), "b": np.ones(2), "cones": Cones(0, 2)}
    refuse((lambda: ConicProgram(**{**given, **change}), "doubles do not hold"))


def test_other_numbers_become_doubles():
    A = sp.csc_matrix(np.array([[-1], [1]]))
    q, b = np.array([F(1, 2)], dtype=object), np.array([-(2**53), 2**60])
    program = ConicProgram(q=q, A=A, b=b, cones=Cones(0, 2))
    assert {v.dtype for v in (program.q, program.A, program.b)} == {np.dtype(float)}
    assert program.b.tolist() == [-(2.0**53), 2.0**60] and program.q[0] == 0.5


def test_two_entries_at_one_place_are_refused():
    """-x <= -1, x <= 5 with a 1e20 that comes and goes: added in floats the first row would be 0 <= -1."""
    data, rows = np.array([1e20, -1.0, -1e20, 1.0]), np.array([0, 0, 0, 1])
    A = sp.csc_matrix((data, rows, np.array([0, 4])), shape=(2, 1))
    refuse(
        (
            lambda: ConicProgram(q=np.ones(1), A=A, b=np.array([-1.0, 5.0]), cones=Cones(0, 2)),
            "several entries at one place",
        )
    )
    unsorted = sp.csc_matrix((np.ones(2), np.array([1, 0]), np.array([0, 2])), shape=(2, 1))
    ConicProgram(q=np.ones(1), A=unsorted, b=np.ones(2), cones=Cones(0, 2))


def test_the_value_between_bounds_near_the_largest_float_is_finite():
    assert Bracket(1.7e308, 1.7e308).middle == 1.7e308 and Bracket(5e-324, 5e-324).middle == 5e-324
    answer = solve_conic(conic([1e308], [[-1e308]], [-1.7e308], Cones(0, 1)), "clarabel")
    assert answer.status == "optimal" and np.isfinite(answer.value)


@pytest.mark.parametrize("field", ["x", "s", "z"])
def test_an_answer_of_another_length_is_a_failed_one(field, monkeypatch):
    solve = clarabel.solve

    def wrong(program, **options):
        answer = solve(program, **options)
        object.__setattr__(answer, field, np.zeros(7))
        return answer

    monkeypatch.setattr(clarabel, "solve", wrong)
    answer = choose.solve_conic(conic([1, 1], [[-1, 0], [0, -1]], [-1, -1], Cones(0, 2)), "clarabel")
    assert answer.status == "failed" and "of shape" in answer.message + answer.reason


@pytest.mark.slow
def test_multipliers_too_large_for_floats_end_in_an_answer():
    """x = 2, y = -2 is the only point of least value, 5.4e308."""
    A = [[1e308, 5e307], [-1.7e308, 0], [5.666666666666666e307, 5.666666666666666e307]]
    program = conic([1.7e308, -1e308], A, [1e308, -1.7e308, 0], Cones(1, 2))
    for name in choose.installed():
        if name not in ("mosek", "newton_cg"):
            assert solve_conic(program, name).upper == np.inf
    assert solve_conic(program).upper == np.inf


def test_the_distance_to_an_exact_ray_does_not_vanish():
    """A ray is (-1e-150, 1, 9e-135) z, and its first number is less than nothing however small z is."""
    A = [[-1e150, 0], [-1, 2.0**53 + 2], [1e10, -1e150]]
    program = conic([0, 0], A, [5e-324, -1e300, 2.0**53 + 2], Cones(0, 3))
    assert not is_empty(program, np.full(3, 1e-300))


def test_how_far_a_point_is_moved_does_not_vanish():
    """1e150 x == 1e-180 and 1e150 x <= 1e-290: what x = 0 misses is below the least float."""
    program = conic([0], [[1e150], [1e150]], [1e-180, 1e-290], Cones(1, 1))
    assert _upper_bound(program, np.zeros(1), None) == np.inf


def test_the_norm_of_a_row_does_not_vanish():
    """2e-200 x <= 1 is off by 1e20 where x is off by 1e220."""
    program = conic([0], [[1e-150], [1e-170]], [1e20, 1], Cones(1, 1))
    assert _upper_bound(program, np.array([0.0]), None) == np.inf


def test_right_sides_whose_square_overflows_end_in_an_answer():
    assert solve_conic(conic([0], [[0]], [1e300], Cones(0, 1)), "clarabel").status == "optimal"
    answer = solve_conic(conic([0], [[0], [0]], [1e300, -1e300], Cones(1, 1)))
    assert answer.status in ("infeasible", "inaccurate", "failed")


@pytest.mark.parametrize("factor", [1, 10**10, 10**16])
def test_a_for_all_block_without_free_directions_is_proven_psd(factor):
    """(1, 1) is feasible: .2333 v^2 + .2333 v + 3 > 0 for every v; infeasible was claimed."""
    x, y, v = sd.variables("x y v")
    third = 0.3333333333333333
    q = third * x * y * v**2 - 0.1 * x * v**2 + 2.0 * y * v**2 + 0.1 * x * y
    q = q + third * x * v - 0.1 * y * v - 2.0 * v**2 + 3.0 * x - 0.1
    answer = sd.minimize(factor * x * y, sd.System(x**2 == 1, y**2 == y, sd.for_all([v], q >= 0)), 2)
    assert answer.status != "infeasible"
    if answer.certified_bound is not None:
        assert Fraction(answer.certified_bound) <= factor


@pytest.mark.slow
@pytest.mark.parametrize("eps", [1e-16, 1e-12])
def test_a_definite_matrix_is_not_one_of_rank_one(eps):
    """min x2, x2 >= -100, diag(1 - x1, x2 - 1 - eps x1) psd: x1 = -101 / eps, x2 = -100 is feasible."""
    columns = zip(svec(np.diag([1, eps])), svec(np.diag([0, -1.0])), strict=True)
    A = np.array([[0, -1.0], *([a, b] for a, b in columns)])
    program = conic([0, 1], A, [100, *svec(np.diag([1.0, -1.0]))], Cones(0, 1, (2,)))
    assert sd.solve_conic(program).lower <= -100


@pytest.mark.parametrize("scale", [1e6, 3e11])
@pytest.mark.parametrize("solver", ["auto", "clarabel"])
def test_unbounded_needs_a_direction_that_provably_improves(scale, solver):
    """The cost is a multiple of an equation, hence 0 everywhere."""
    E = np.array([[2000.0, 3000.0, -3000.0]])
    A = np.vstack([E, -np.eye(3)[:1]])
    answer = sd.solve_conic(conic(-scale * E[0], A, [0, 0], Cones(1, 1, ())), solver)
    assert answer.status != "unbounded" and answer.lower <= 0 <= answer.upper


def test_a_direction_that_misses_the_equations_does_not_improve():
    E = np.array([[2000.0, 3000.0, -3000.0]])
    program = conic(-1e6 * E[0], np.vstack([E, -np.eye(3)[:1]]), [0, 0], Cones(1, 1, ()))
    ray = np.array([3.0, 2.0, 4.0 - 1e-7])
    assert program.q @ ray < 0 and (program.A @ ray)[1] < 0
    result = replace(clarabel.solve(program), status="unbounded", x=ray)
    assert judge._unbounded(program, result, clarabel.solve).status != "unbounded"
