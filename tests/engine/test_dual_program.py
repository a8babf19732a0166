"""Lower bounds and emptiness from points of the dual program in exact arithmetic."""

from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic.brackets import lower_bound
from sosdp.conic.clock import limited
from sosdp.conic.exact.dual_program import dual_program, ray_program
from sosdp.conic.exact.restriction import restrict
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.strategies import _exact_lower
from sosdp.conic.svec import svec, triangle
from tests.engine.programs import conic
from tests.fuzz.conic import false_brackets, known


def entries(matrix):
    return matrix[triangle(len(matrix))]


def test_the_dual_says_what_multipliers_say():
    """With z = (free, non-negative, Z): the cost is <b, z>, and A'z = -q where q is chosen so."""
    rng = np.random.default_rng(0)
    free, more, basis = rng.integers(-5, 6, 2), rng.integers(0, 6, 2), rng.integers(-3, 4, (3, 3))
    Z = basis @ basis.T
    scalars, blocks = rng.integers(-9, 10, (4, 3)), rng.integers(-9, 10, (3, 3, 3))
    blocks = blocks + blocks.transpose(0, 2, 1)
    right, B = rng.integers(-9, 10, 4), blocks.sum(axis=0)
    q = [-int(np.append(free, more) @ scalars[:, i]) - int((Z * blocks[i]).sum()) for i in range(3)]
    A = np.vstack([scalars, np.array([svec(m) for m in blocks.astype(float)]).T])
    program = conic(q, A, np.concatenate([right, svec(B.astype(float))]), Cones(2, 2, (3,)))
    z = np.concatenate([free, more, entries(Z)])
    dual = dual_program(program)
    assert dual.cones == Cones(3, 2, (3,)) and (dual.A[:3] @ z == dual.b[:3]).all()
    assert dual.q @ z == np.append(free, more) @ right + (Z * B).sum()
    rays = ray_program(program)
    assert (rays.A[:3] @ z == -np.array(q)).all() and rays.A[3] @ z == dual.q @ z
    assert rays.b[:4].tolist() == [0, 0, 0, -1] and not rays.q.any()
    slack = dual.b - dual.A @ z
    assert (slack[3:5] == more).all() and slack[5:] == pytest.approx(svec(Z.astype(float)))


def test_entries_whose_coefficients_are_not_exact_are_zero():
    third = conic([1], [[-1], [0.1], [-1]], [0, 0, 0], Cones(0, 0, (2,)))
    for dual in (dual_program(third), ray_program(third)):
        last = dual.cones.zero - 1
        assert not dual.A[:last, 1].toarray().any()
        assert dual.A[last].toarray().tolist() == [[0, 1, 0]] and dual.b[last] == 0
    assert dual_program(conic([1], [[-0.1]] * 400, [0] * 400, Cones(0, 400))) is None


@pytest.mark.parametrize("seed", [8, 53, 68, 62, 87, 152])
def test_what_was_left_open_is_settled(seed):
    """Dependent columns, and rays that are single points, both without small fractions."""
    case = known(seed)
    answer = sd.solve_conic(case.program)
    assert answer.status == ("infeasible" if case.value is None else "optimal")
    assert false_brackets(seed) == []


def test_a_dual_that_is_one_point():
    """The cost is a combination of the rows, in one way only, and floats miss it by their rounding."""
    rows = np.array([[0.1, 0.7, -0.3], [0.9, -1.1, 0.123]])
    exact = [sum((F(v) for v in column), F(0)) for column in rows.T]
    short = np.round(np.array([-float(v) for v in exact]) * 2**40) / 2**40
    rows[0] = np.round(rows[0] * 2**40) / 2**40
    rows[1] = -short - rows[0]  # both exact, so that q + A'(1, 1) == 0
    program = conic(short, rows, [1, 2], Cones(0, 2))
    answer = sd.solve_conic(program)
    assert answer.status == "optimal" and answer.lower <= -3 <= answer.upper


def test_bounds_are_rounded_to_their_side():
    """Minimise x + y with 3 x + 3 y == 5 and a constant of 1e16: above it the next float is larger by 2."""
    program = conic([1, 1], [[3, 3]], [5], Cones(1, 0))
    program = ConicProgram(program.q, program.A, program.b, program.cones, constant=1e16)
    with limited(lambda: 60.0):
        lower = _exact_lower(program, np.inf, lambda p: pytest.fail("nothing to solve"), 1e-5)
    assert F(lower) <= F(5, 3) + 10**16 < F(float(np.nextafter(lower, np.inf)))


def test_without_cost_the_value_is_zero():
    for b, status in ([1.0, -0.5], "optimal"), ([-1.0, 0.5], "infeasible"):
        answer = sd.solve_conic(conic([0], [[1], [-1]], b, Cones(0, 2)))
        assert answer.status == status
        if status == "optimal":
            assert answer.lower == answer.upper == 0


def test_the_rays_of_a_program_with_points_are_none():
    program = conic([1, 0], [[-1, 0], [0, 0], [0, -1]], svec(np.array([[0, 1.0], [1, 0]])), Cones(0, 0, (2,)))
    assert restrict(ray_program(program)) is not False
    assert sd.solve_conic(program).status != "infeasible"


def test_a_cost_that_may_be_off_is_no_zero_cost():
    """x >= -10, and a cost of at most 1e-3 in absolute value: the value may be -0.01."""
    program, z = conic([0], [[-1]], [10], Cones(0, 1)), np.zeros(1)
    assert lower_bound(program, z) == 0
    assert lower_bound(program, z, off=np.array([1e-3])) <= -0.01
