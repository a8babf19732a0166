"""Points without interior and points of the dual program, in exact arithmetic."""

import time
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import clarabel
from sosdp.conic.brackets import lower_bound
from sosdp.conic.clock import limited
from sosdp.conic.exact import guesses
from sosdp.conic.exact.dual_program import dual_program, ray_program
from sosdp.conic.exact.integers import rounded
from sosdp.conic.exact.restriction import Face, restrict
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.strategies import _exact_lower, _Side, find_point, find_point_within
from sosdp.conic.svec import svec, triangle
from tests.engine.programs import conic, lmi, unit
from tests.fuzz.conic import false_brackets, known


def on_a_line(sense):
    x, y = sd.variables("x y")
    objective = x**4 + y**4 - x * y if sense == "minimize" else x * y - x**4
    return sd.Relaxation(sd.System((x + y).equals(1)), 4).to_conic(objective, sense=sense)


@pytest.mark.parametrize("sense, value", [("minimize", -0.125), ("maximize", None)])
def test_moments_on_a_line(sense, value):
    """A linear equation leaves a moment matrix no interior: it took 6 s and ended `inaccurate`, or 50 s."""
    x, y = sd.variables("x y")
    relax = sd.Relaxation(sd.System((x + y).equals(1)), 4)
    program = relax.to_conic(x**4 + y**4 - x * y, sense=sense)
    inner = restrict(program)
    assert inner.program.q.size == 4 and inner.program.cones == Cones(0, 0, (3,))
    started = time.process_time()
    answer = sd.solve_conic(program)
    assert time.process_time() - started < 2
    if value is None:
        assert answer.status == "unbounded"
    else:
        assert answer.status == "optimal" and answer.lower <= value <= answer.upper


def test_points_satisfy_the_equations_exactly():
    program = on_a_line("minimize")
    inner = restrict(program)
    t = np.array([0.1, -0.3, 1 / 3, 7.7])
    x = inner.point(t)
    rows = program.A.toarray()[: program.cones.zero]
    for row, right in zip(rows, program.b, strict=False):
        assert sum(F(a) * v for a, v in zip(row.tolist(), x, strict=True)) == F(float(right))
    # the slack takes the kernels to zero, so that this is the smallest face
    assert inner.kernels[0] and inner.upper_bound(t) == np.inf


def test_an_upper_bound_is_not_below_the_exact_value():
    third = lmi([1 / 3], [unit(1, 0, 0)], np.zeros((1, 1)))
    for t in (3.0, 0.1, 7e-200, 1e300):
        assert F(restrict(third).upper_bound(np.array([t]))) >= F(1 / 3) * F(t)
    assert restrict(third).upper_bound(np.array([-5e-324])) == np.inf
    assert rounded(F(1, 3), 1) > F(1, 3) > rounded(F(1, 3), -1)
    assert rounded(F(10) ** 400, 1) == np.inf and rounded(F(10) ** 400, -1) < np.inf
    assert rounded(F(-(10**400)), 1) > -np.inf


def test_the_boundary_counts_and_a_hair_beyond_does_not():
    program = lmi([1.0], [unit(3, 0, 0)], np.ones((3, 3)) + unit(3, 1, 1) + unit(3, 2, 2))
    inner = restrict(program)
    assert inner.upper_bound(np.array([-1 / 3])) < np.inf  # the float is above -1/3
    assert inner.upper_bound(np.array([np.nextafter(-1 / 3, -1)])) == np.inf
    # the same with entries that may be off by their rounding: nothing on the boundary is proven
    inexact = ConicProgram(program.q, program.A * 0.1, program.b * 0.1, program.cones)
    assert restrict(inexact).upper_bound(np.array([-1 / 3])) == np.inf
    assert restrict(inexact).upper_bound(np.array([-0.33])) < np.inf


def test_inexact_entries_show_no_kernel():
    onto = 0.1 * (4 * np.eye(4) - np.ones((4, 4)))
    inner = restrict(lmi([1], [onto], -onto))
    assert inner.program.cones.psd == (4,) and not inner.kernels[0]
    assert restrict(lmi([1], [onto], -onto), Face([[[1, 1, 1, 1]]], ())) is False


@pytest.mark.parametrize(
    "program",
    [
        lmi([1], [unit(2, 0, 0)], unit(2, 0, 1)),
        lmi([1, 0], [unit(2, 0, 0), unit(2, 1, 1)], unit(2, 0, 1), [([0, 1], 0)]),
        lmi([0, 1], [unit(3, 0, 1) + unit(3, 2, 2), unit(3, 1, 1)], -unit(3, 2, 2)),
    ],
    ids=["a zero on the diagonal", "a diagonal that must vanish", "a contradiction on the face"],
)
def test_weak_infeasibility_is_proven(program):
    """No ray proves it: the points come as near to feasible as one likes."""
    assert sd.solve_conic(program).status == "infeasible"


def test_a_value_that_is_not_attained():
    answer = sd.solve_conic(lmi([1, 0], [unit(2, 0, 0), unit(2, 1, 1)], unit(2, 0, 1)))
    assert answer.status == "optimal" and answer.lower <= 0 <= answer.upper < 1e-6


def hidden(seed):
    """Slacks that the data confine to the complement of (1, 2, -1), which no single matrix shows."""
    rng = np.random.default_rng(seed)
    u = np.array([1, 2, -1.0])

    def onto(matrix):
        return 36 * matrix - (u @ matrix @ u) * np.outer(u, u)

    def draw():
        matrix = rng.integers(-3, 4, (3, 3)).astype(float)
        return onto(matrix + matrix.T)

    columns = [draw() for _ in range(4)]
    basis = np.array([[1, 0, 1.0], [0, 1, 2]])
    inside = basis.T @ np.array([[3, 1], [1, 2]]) @ basis
    dual = 2 * np.eye(3) + np.ones((3, 3))
    return lmi([float((f * dual).sum()) for f in columns], columns, inside)


@pytest.mark.parametrize("seed", range(3))
def test_a_slack_that_is_forced_to_a_face(seed):
    program = hidden(seed)
    answer = sd.solve_conic(program)
    assert answer.status == "optimal" and answer.upper - answer.lower <= 1e-5 * max(1, abs(answer.lower))
    inner = restrict(program)
    face = guesses.primal_face(inner.program, clarabel.solve(guesses.relaxed(inner.program), tolerance=None))
    assert face.implied and np.linalg.matrix_rank(np.array(face.kernels[0] + [[1, 2, -1]])) == 1


def test_a_face_that_is_only_a_guess_proves_nothing_empty():
    """Minimise x with [[x, 1], [1, y]] positive semidefinite: with y = 0 there is no point, but y > 0."""
    program = lmi([1, 0], [unit(2, 0, 0), unit(2, 1, 1)], unit(2, 0, 1))
    assert restrict(program, Face([[[0, 1]]], ())) is False
    assert restrict(program, Face([[[0, 1]]], (), implied=True)) is True
    multipliers = np.append(0.0, svec(unit(2, 1, 1)))
    assert not guesses._is_implied(program, Face([[[0, 1]]], ()), multipliers[1:])
    # minimise x - y with x >= -2 and 0 <= y <= 1: where y = 0 is guessed, -2 is no bound from below
    broad = lmi([1, -1], [unit(2, 0, 0), unit(2, 1, 1)], 2 * unit(2, 0, 0), [([0, 1], 1)])
    for implied in (False, True):
        guessed = restrict(broad, Face([[[0, 1]]], (), implied))
        side = _Side(guessed.program, clarabel.solve(guessed.program), guessed.errors, guessed)
        assert side.lower() == (pytest.approx(-2, abs=1e-6) if implied else -np.inf)


def test_a_point_that_is_proven():
    inner, at = find_point(on_a_line("maximize"), clarabel.solve)
    assert inner.upper_bound(at) < np.inf
    assert find_point(lmi([1], [unit(2, 0, 0)], unit(2, 0, 1)), clarabel.solve) is True


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("quantified", [False, True])
def test_a_ray_on_a_face_shows_that_there_is_no_point(quantified, degree):
    """-1 on a diagonal: a higher degree adds moments under which no ray is inside the cone."""
    x, v = sd.variables("x v")
    matrix = sd.PSD([[-1, x + 4], [x + 4, -x]])
    system = sd.System(sd.for_all([v], -1 + x * v - x * v**2 >= 0) if quantified else matrix)
    answer = sd.feasible(system, degree)
    assert answer.status == "infeasible", answer.reason
    assert sd.minimize(x, system, degree).status == "infeasible"
    conic = sd.Relaxation(system, degree).to_conic()
    assert quantified or find_point(conic, clarabel.solve) is True


@pytest.mark.parametrize(
    ("gap", "relative", "empty"), [(1e-12, 1e-14, True), (1e-12, 1e-11, False), (0, 0, False)]
)
def test_a_program_with_rounded_entries_is_empty_by_more_than_they_are_off(gap, relative, empty):
    """[[x, 1], [1, 1]] is semidefinite from 1 on, and x <= 1 - gap."""
    program = ConicProgram(
        q=np.zeros(1),
        A=sp.csc_matrix([[1.0], [-1.0], [0.0], [0.0]]),
        b=np.array([1.0 - gap, 0.0, np.sqrt(2), 1.0]),
        cones=Cones(0, 1, (2,)),
    )
    idle = replace(program, q=np.zeros(2), A=sp.hstack([program.A, sp.csc_matrix((4, 1))], format="csc"))
    for same in (program, idle):  # of which the last variable moves nothing
        assert (find_point_within(same, (relative, relative), clarabel.solve) is True) is empty
        wider = replace(same, b=program.b + [1, 0, 0, 0])
        inside = find_point_within(wider, (relative, relative), clarabel.solve)
        assert 1 < inside[0] < 2 and not inside[1:].any()
        assert find_point_within(wider, (0.5, 0.5), clarabel.solve) is False
    assert find_point_within(program, (0.0, relative), clarabel.solve) is (gap > 0 and empty)
    assert (find_point(idle, clarabel.solve) is True) is (gap > 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("top, status", [(2**35 + 1, {"optimal"}), (2**35 + 3, {"infeasible", "inaccurate"})])
def test_a_point_fixed_by_equations_is_excluded_only_by_exact_entries(top, status):
    """3 x = 1 leaves no coordinate; what x = 1/3 misses of rounded entries refutes nothing."""
    x = sd.variables("x")
    broad = 2**35 + 1
    on = [3 * x == 1, broad * x <= broad, 3 * broad * x >= top]
    assert sd.feasible(on, degree=4).status in status
    assert sd.minimize(x, on, degree=4).status in status
    conic = ConicProgram(
        q=np.zeros(1),
        A=sp.csc_matrix([[3.0], [0.0], [0.0], [-3.0 * broad]]),
        b=np.array([1.0, broad, np.sqrt(2) * broad, 0.0]),
        cones=Cones(1, 0, (2,)),
    )
    assert find_point(conic, clarabel.solve) is not True


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


def test_a_matrix_of_many_entries_is_one_constraint():
    """Points were not looked for beside more than a hundred entries: five more steps, ten times as long."""
    rng = np.random.default_rng(0)
    unknowns = sd.variables("u", 5)
    slopes = rng.integers(-9, 10, (5, 15, 15))
    matrix = 40 * np.eye(15, dtype=int) + sum(u * (a + a.T) for u, a in zip(unknowns, slopes, strict=True))
    result = sd.feasible([sd.PSD(matrix), sum(unknowns) >= F(1, 100)], 1)
    assert result.status == "optimal" and [step.name for step in result.steps] == ["first"]
    assert "a point satisfies every constraint" in result.reason


def test_points_are_checked_beside_many_constraints():
    """Nothing is moved under constraints where no objective is lowered: their number does not matter."""
    rng, unknowns = np.random.default_rng(0), sd.variables("v", 42)
    rows, centre = rng.integers(-9, 10, (120, 42)), rng.integers(-5, 6, 42)
    ends = rows @ centre - rng.integers(1, 9, 120)
    result = sd.feasible([sum(unknowns * row) >= int(end) for row, end in zip(rows, ends, strict=True)], 2)
    assert result.status == "optimal" and [step.name for step in result.steps] == ["first"]
    assert "a point satisfies every constraint" in result.reason
