"""Faces that integers show: brackets of programs without interior, and sums of squares with zeros."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq

import sosdp as sd
from sosdp.conic import brackets, choose, multiprecision
from sosdp.conic.clock import limited
from sosdp.conic.exact.corrected import Equations
from sosdp.conic.exact.dual_face import _independent_rows, _integral, exact_face
from sosdp.conic.exact.integers import is_semidefinite
from sosdp.conic.exact.restriction import restrict
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import svec
from sosdp.relaxation.minimize import prove_sos as in_floats
from tests.engine import programs
from tests.engine.programs import unit
from tests.engine.test_brackets import SDPLIB
from tests.refusals import refuse


def lmi(cost, columns, constant):
    """Minimise cost'x with ``sum_i x_i F_i - F_0`` positive semidefinite."""
    return programs.lmi(cost, columns, -constant)


def laplacian(side, seed):
    weights = np.triu(np.random.default_rng(seed).random((side, side)) < 0.4, 1).astype(float)
    weights += weights.T
    return np.diag(weights.sum(axis=1)) - weights


def max_cut(side=8, seed=0):
    return lmi(np.ones(side), [unit(side, k, k) for k in range(side)], laplacian(side, seed) / 4)


def assignment(size, seed):
    """The gangster relaxation of a quadratic assignment problem, and the optimum of the problem itself."""
    rng = np.random.default_rng(seed)
    flow, distance = (np.triu(rng.integers(1, 9, (size, size)), 1).astype(float) for _ in range(2))
    flow, distance = flow + flow.T, distance + distance.T
    side = size**2 + 1
    cost = np.zeros((side, side))
    cost[1:, 1:] = np.kron(flow, distance)
    columns, right = [unit(side, 0, 0)], [1.0]
    for k in range(1, side):
        columns.append(2 * unit(side, k, k) - unit(side, 0, k))
        right.append(0.0)
    rows = np.zeros((2 * size, side))
    rows[:, 0] = -1
    for i in range(size):
        rows[i, 1 + i * size : 1 + (i + 1) * size] = 1
        rows[size + i, 1 + i :: size] = 1
    columns.append(rows.T @ rows)
    right.append(0.0)
    for i in range(size):
        for a in range(size):
            for b in range(a):
                columns += [unit(side, 1 + i * size + a, 1 + i * size + b)]
                columns += [unit(side, 1 + a * size + i, 1 + b * size + i)]
                right += [0.0, 0.0]
    best = min(
        sum(flow[i, j] * distance[p[i], p[j]] for i in range(size) for j in range(size))
        for p in permutations(range(size))
    )
    return lmi(right, columns, -cost), best


def width(answer):
    return (answer.upper - answer.lower) / max(1.0, abs(answer.value))


@pytest.mark.parametrize("size", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_quadratic_assignment_has_a_face_of_higher_rank_and_dependent_equations(size):
    program, best = assignment(size, 3)
    face = exact_face(program)
    assert face is not None and face.program.cones.psd[0] == (size - 1) ** 2 + 1
    assert face.program.q.size < program.q.size - 1
    answer = sd.solve_conic(program)
    assert answer.status == "optimal" and width(answer) <= 1e-5
    assert -answer.upper <= best


def test_free_variables_that_were_split():
    plain = max_cut()
    truth = sd.solve_conic(plain)
    doubled = sp.hstack([plain.A, plain.A[:, :1], -plain.A[:, :1]], format="csc")
    split = ConicProgram(np.append(plain.q, [plain.q[0], -plain.q[0]]), doubled, plain.b, plain.cones)
    answer = sd.solve_conic(split)
    assert answer.status == "optimal" and answer.value == pytest.approx(truth.value, rel=1e-6)
    # with another price the two copies contradict each other: nothing bounds the value
    wrong = ConicProgram(np.append(plain.q, [plain.q[0] - 1, -plain.q[0]]), doubled, plain.b, plain.cones)
    assert sd.solve_conic(wrong).status == "unbounded"
    rows = np.array([[1.0, 0, 1], [1, 0, 2], [2, 0, 2]])
    assert _independent_rows(rows).tolist() == [0, 1] and _independent_rows(rows[::2]).tolist() == [0]


def test_dependent_equations_of_the_primal():
    plain = max_cut()
    rows = np.zeros((3, 8))
    rows[0, :2], rows[1, :2], rows[2, 2:4] = (1, -1), (2, -2), (1, -1)
    A = sp.vstack([sp.csr_matrix(rows), plain.A], format="csc")
    both = Cones(3, 0, plain.cones.psd)
    answer = sd.solve_conic(ConicProgram(plain.q, A, np.append(np.zeros(3), plain.b), both))
    assert answer.status == "optimal" and width(answer) <= 1e-5
    # a contradiction among them is never dropped
    right = np.append([0.0, 1.0, 0.0], plain.b)
    assert restrict(ConicProgram(plain.q, A, right, both)) is True
    assert sd.solve_conic(ConicProgram(plain.q, A, right, both)).status == "infeasible"


def test_a_zero_on_the_diagonal_is_an_equation():
    """Minimise y with [[0, x, 0], [x, y, 0], [0, 0, x + 1]] positive semidefinite: 0; its dual says -1."""
    columns = [unit(3, 0, 1) + unit(3, 2, 2), unit(3, 1, 1)]
    program = lmi([0, 1], columns, -unit(3, 2, 2))
    statement = restrict(program).program
    assert statement.q.size == 1 and statement.cones.psd == (2,)
    answer = sd.solve_conic(program)
    assert answer.status == "optimal" and answer.lower <= 0 <= answer.upper < 1e-5


def test_a_kernel_that_all_matrices_share_is_cut_off():
    onto = 4 * np.eye(4) - np.ones((4, 4))
    program = lmi([1], [onto], -onto)
    assert restrict(program).program.cones.psd == (3,)
    answer = sd.solve_conic(program)
    assert answer.status == "optimal" and answer.lower <= -1 <= answer.upper


def test_definite_matrices_and_priced_columns_show_no_face():
    assert is_semidefinite(_integral(np.array([[1.0, 1.0], [1.0, 1.0]])))
    assert not is_semidefinite(_integral(np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-19]])))
    assert not is_semidefinite(_integral(np.array([[0.0, 1.0], [1.0, 1.0]])))
    ones = np.ones((3, 3))
    assert exact_face(lmi([1, 1], [np.eye(3), ones], ones)) is None  # the column of ones has a price
    assert exact_face(lmi([1, 0], [np.eye(3), ones], ones)) is not None
    nearly = np.diag([1.0, 1e-16, 0.0])
    assert exact_face(lmi([1, 0], [np.eye(3), nearly], ones)) is None  # no dyadic number of few digits
    mixed = ones - 2 * unit(3, 0, 0)
    assert exact_face(lmi([1, 0], [np.eye(3), mixed], ones)) is None  # indefinite


def test_costs_that_are_a_square_show_a_face():
    """(a, b) with a**2 - 2ab + b**2 = 0 is (1, 1): <(1, 1; 1, 1), Z> = 0."""
    parts = [unit(2, 0, 0), unit(2, 0, 1), unit(2, 1, 1)]
    face = exact_face(lmi([1, -2, 1], parts, np.eye(2)))
    assert face is not None and face.program.cones.psd == (1,) and face.program.q.size == 1
    for cost in ([1, -1, 1], [1, -2, 2], [1, 2, -1], [1, -2 - 2**-30, 1], [0.1, -0.2, 0.1]):
        assert exact_face(lmi(cost, parts, np.eye(2))) is None
    wider = [np.pad(part, (0, 1)) for part in parts]
    wider[0] += unit(3, 1, 2)  # no part of its own: indefinite
    assert exact_face(lmi([1, -2, 1], wider, np.eye(3))) is None


def test_sums_that_floats_round_show_no_face():
    """A row that is negative by one unit in direction (m**2, m, 1), and zero in floats, is no part of a sum
    of terms of one sign."""
    m, grid = 2**14 - 1, 2.0**-20
    t = next(
        t for t in range(2**32 + 1, 2**33, 2) if float(m * m * t) - float(m * (m * t + 1)) + (m - 1) >= 0
    )
    row = np.array([t, -(m * t + 1), m - 1]) * grid
    assert sum(Fraction(v) * w for v, w in zip(row.tolist(), (m * m, m, 1), strict=True)) < 0
    parts = [unit(2, 0, 0), unit(2, 0, 1), unit(2, 1, 1)]
    program = programs.lmi([1, -2 * m, m * m], parts, -np.eye(2), [(-row, 1.0)])
    assert exact_face(program) is None
    longer = programs.lmi([1, -2 * m, m * m], parts, -np.eye(2), [(np.array([-1.0, 0, 0]), 1.0)])
    assert exact_face(longer) is not None


@pytest.mark.parametrize("n", [6, 10, pytest.param(20, marks=pytest.mark.slow)])
def test_the_last_square_of_a_chain_has_no_interior(n):
    """Rosenbrock's function was optimal and unproven from eight variables on."""
    x = sd.variables("x", n)
    squares = ((x[i + 1] - 2 * x[i] ** 2) ** 2 * 25 + (Fraction(1, 2) - x[i]) ** 2 for i in range(n - 1))
    result = sd.minimize(sum(squares) + 7)
    assert result.status == "optimal" and 7 - 1e-5 < result.certified_bound <= 7


def test_semidefinite_matrices_are_those_of_nonnegative_minors():
    sets = list(chain.from_iterable(combinations(range(3), n) for n in (1, 2, 3)))
    for a, b, c, d, e, f in product((-1, 0, 1), (-1, 0, 1, 2), (-1, 0, 1), (0, 1), (-1, 0, 1), (0, 1)):
        matrix = [[d, a, b], [a, f, c], [b, c, e]]
        minors = [round(np.linalg.det(np.array(matrix)[np.ix_(s, s)])) for s in sets]
        assert is_semidefinite(matrix) == (min(minors) >= 0)
    assert is_semidefinite([])


def test_large_matrices_away_from_the_boundary_are_decided_in_floats():
    """Of side 150 the signs of the characteristic polynomial take seconds to half a minute."""
    rng = np.random.default_rng(0)
    factor = rng.integers(-(2**26), 2**26, (40, 80)).astype(object)
    definite = (factor @ factor.T).tolist()
    indefinite = [[v - 2**57 * (i == j) for j, v in enumerate(row)] for i, row in enumerate(definite)]
    with limited(lambda: 1e-3):  # no time for those
        assert is_semidefinite(definite) and not is_semidefinite(indefinite)
    singular = (factor[:, :39] @ factor[:, :39].T).tolist()
    assert is_semidefinite(singular)
    singular[0][0] -= 1
    assert not is_semidefinite(singular)


def test_nearly_semidefinite_shows_no_face():
    nearly = np.ones((3, 3)) - 2.0**-19 * unit(3, 0, 0)
    broad = np.kron(np.diag([0.0, 2.0**14]), np.ones((3, 3)))
    broad[:3, :3] = nearly  # small against the rest: floats do not tell
    assert np.linalg.eigvalsh(broad)[0] > -1e-9 * 2.0**14 and not is_semidefinite(_integral(broad))
    identity = np.eye(6)
    assert exact_face(lmi([1, 0], [identity, np.diag([1.0, 0, 0, 0, 0, 0])], identity)) is not None
    assert exact_face(lmi([1, 0], [identity, np.kron(np.diag([1.0, 0.0]), nearly)], identity)) is None
    assert exact_face(lmi([1, 0], [identity, broad], identity)) is None


def test_what_a_face_rounds_is_charged():
    rng = np.random.default_rng(2)
    side = 6
    columns = [unit(side, k, k) * float(rng.random()) for k in range(side)] + [np.ones((side, side))]
    noise = rng.normal(size=(side, side))
    program = lmi([1] * side + [0], columns, noise + noise.T)
    face = exact_face(program)
    assert face is not None and face.errors[0].max() > 0 and face.errors[1].max() > 0
    z = svec(np.eye(side - 1))
    plain = ConicProgram(-face.program.A.T @ z, face.program.A, face.program.b, face.program.cones)
    without = brackets.lower_bound(plain, z)
    assert without > -np.inf
    only_b = brackets.lower_bound(plain, z, (0 * face.errors[0], face.errors[1] * 1e9))
    assert only_b < without - 1e9 * float(face.errors[1] @ np.abs(z)) / 2
    # an error in A moves the exact solution: beyond the room there is, nothing is proven
    assert brackets.lower_bound(plain, z, (face.errors[0] + 0.02, 0 * face.errors[1])) == -np.inf
    z = svec(np.diag([1e6, 1.0, 1.0, 1.0, 1e-3]))
    plain = replace(plain, q=-face.program.A.T @ z)
    assert brackets.lower_bound(plain, z, (0 * face.errors[0], 0 * face.errors[1])) > -np.inf
    assert brackets.lower_bound(plain, z, (face.errors[0] + 1e-6, 0 * face.errors[1])) == -np.inf


def test_multipliers_of_a_bound_for_points_of_a_given_size():
    """Minimise x with x >= 0: a negative multiplier proves nothing."""
    program = ConicProgram(np.ones(1), sp.csc_matrix([[-1.0], [1.0]]), np.array([0.0, 1.0]), Cones(0, 2))
    assert brackets.bounded_lower_bound(program, np.array([0.0, -1.0]), 1e-3) <= 0
    assert brackets.bounded_lower_bound(program, np.array([1.0, 0.0]), 1e9) == pytest.approx(0, abs=1e-5)


def test_a_bound_for_points_of_a_given_size():
    program = max_cut()
    answer = sd.solve_conic(program)
    assert brackets.bounded_lower_bound(program, answer.z, 10.0) <= answer.upper
    # far outside the dual cone its equations hold, and b'z is as large as one likes
    outside = answer.z + 1e3 * svec(laplacian(8, 0) - np.diag(np.diag(laplacian(8, 0))))
    assert -program.b @ outside > answer.upper + 1
    assert brackets.bounded_lower_bound(program, outside, 10.0) <= answer.upper
    rough = answer.z + 1e-4
    assert brackets.lower_bound(program, rough) <= answer.upper
    result = brackets.bounded_lower_bound(program, rough, 10.0)
    assert result <= answer.upper
    # what the dual vector misses is paid for: r'x at the worst point of that size
    missed = np.abs(program.q + program.A.T @ rough).sum()
    assert result <= -program.b @ rough - 10.0 * missed + 1e-9
    refuse((lambda: sd.solve_conic(program, largest=-1.0), "largest"))


def test_many_digits_solve_what_doubles_solve():
    program = max_cut()
    answer = multiprecision.solve(program)
    assert answer.status == "optimal"
    proven = sd.solve_conic(program)
    assert proven.lower - 1e-9 <= answer.value <= proven.upper + 1e-9
    assert multiprecision.suits(program)
    assert not multiprecision.suits(max_cut(80))


@pytest.mark.skipif(not SDPLIB.is_dir(), reason="the problems of SDPLIB are not here")
@pytest.mark.skipif(not choose.is_installed("sdpa"), reason="needs sdpa-python")
def test_a_control_problem_whose_dual_has_no_interior():
    program = sd.read_program(SDPLIB / "hinf1.dat-s")
    answer = sd.solve_conic(program, largest=1e6)
    assert answer.status == "optimal" and answer.lower <= 2.0326 <= answer.upper + 1e-5
    assert width(answer) <= 1e-5


x, y, z = sd.variables("x y z")
MOTZKIN = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
CHOI_LAM = x**4 + y**4 + z**4 - x**2 * y * z - y**2 * x * z - z**2 * x * y

SINGULAR = {
    "one square": (x - y) ** 2,
    "Motzkin times a sum of squares": MOTZKIN * (1 + x**2 + y**2),
    "arithmetic-geometric, four": x**4 + y**4 + z**4 + 1 - 4 * x * y * z,
    "arithmetic-geometric, degree six": x**6 + y**6 + z**6 - 3 * x**2 * y**2 * z**2,
    "cyclic quartic": CHOI_LAM,
    "two squares, fractions": Fraction(1, 10) * (x - y) ** 2 + Fraction(3, 10) * (x * y - 1) ** 2,
    "three squares": (x**2 - 1) ** 2 + 2 * (y**2 - 1) ** 2 + (x * y - 1) ** 2,
}


@pytest.mark.parametrize("name", SINGULAR)
def test_polynomials_with_zeros_are_proven_and_were_not_before(name):
    p = SINGULAR[name]
    assert sd.prove_sos(p).status == "proved"
    assert in_floats(p, zeros=None).status == "unknown"


def test_a_float_polynomial_is_the_binary_one():
    """In decimals it is a sum of squares; its floats make it negative at (1, 1)."""
    p = 0.3 * x**2 * y**2 + 0.1 * x**2 - 0.8 * x * y + 0.1 * y**2 + 0.3
    assert p.as_exact()(x=1, y=1) < 0
    assert sd.prove_sos(p).status != "proved"
    q = 0.1 * (x - y) ** 2 + 0.3 * (x * y - 1) ** 2
    assert q.as_exact()(x=1, y=1) == 0 and sd.prove_sos(q).status == "proved"


@pytest.mark.parametrize("p", [MOTZKIN, x**2 * y**2 - x * y, x * y, -((x - y) ** 2), MOTZKIN + (x - 1) ** 2])
def test_nothing_that_is_no_sum_of_squares_is_proven(p):
    assert sd.prove_sos(p).status in ("refuted", "unknown")


@pytest.mark.parametrize("slope", [1e-9, -1e-9, 1e-14])
def test_the_last_digit_of_a_coefficient_decides(slope):
    """A zero that is none, by less than any tolerance, must not help."""
    assert sd.prove_sos((x - y) ** 2 - abs(slope)).status != "proved"
    assert sd.prove_sos((x - y) ** 2 + slope * x).status != "proved"


def test_given_zeros():
    p = (x - 2 * y) ** 2 + (3 * x - 6 * y - 1 + 1) ** 2
    assert in_floats(p).status == "unknown"
    assert sd.prove_sos(p, zeros=[(2, 1)]).status == "proved"
    assert sd.prove_sos((x - Fraction(1, 3) * y) ** 2, zeros=[("1/3", 1)]).status == "proved"
    assert sd.prove_sos(Fraction(1, 10**30) * p, zeros=[(2, 1)]).status == "proved"
    refuse(
        (lambda: sd.prove_sos(p, zeros=[(1, 1)]), "not zero at"),
        (lambda: sd.prove_sos(p, zeros=[(1, 1, 1)]), "one column a variable"),
    )


def test_a_zero_with_a_slope_is_not_used():
    assert sd.prove_sos(x + x**2).status != "proved"


def test_equations_hold_exactly_or_nothing_is_corrected():
    """One number and two equations of it: the second one is not solved for."""
    equations = Equations([{0: fmpq(1), 1: fmpq(1)}], 2)
    assert equations.corrected([fmpq(3)], [fmpq(1), fmpq(1)]) == [1]
    assert equations.corrected([fmpq(3)], [fmpq(1), fmpq(2)]) is None


def test_numbers_too_large_for_floats():
    assert sd.prove_sos((x - 10**9 * y) ** 2, zeros=[(10**9, 1)]).status in ("unknown", "proved")


def test_many_variables_try_few_points():
    v = sd.variables("v", 12)
    p = sum(((v[k] - v[k + 1]) ** 2 for k in range(11)), sd.polynomial(0))
    assert sd.prove_sos(p).status == "proved"
