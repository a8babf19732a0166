"""The conic layer: vector forms, refusals, and programs whose numbers are far from one."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import choose, clarabel
from sosdp.conic.program import Cones, ConicProgram, ProblemTooLarge, SolverUnavailable
from sosdp.conic.reformulate import unsolved
from sosdp.conic.svec import SQRT2, smat, svec, triangle
from sosdp.conic.units import for_a_solver, own_units
from sosdp.relaxation.assemble.scaling import _times
from tests.engine.programs import random_program
from tests.refusals import refusals, refuse


def test_vector_form_is_an_isometry_and_inverts():
    rng = np.random.default_rng(0)
    a, b = (m + m.T for m in rng.standard_normal((2, 7, 7)))
    assert np.allclose(smat(svec(a), 7), a, atol=1e-15)
    assert svec(a) @ svec(b) == pytest.approx(np.sum(a * b), rel=1e-13)
    row, column = triangle(4)
    assert list(zip(row.tolist(), column.tolist(), strict=True))[:4] == [(0, 0), (0, 1), (1, 1), (0, 2)]


def test_a_program_too_large_for_memory_is_refused_before_the_solver_runs(monkeypatch):
    program = random_program(1, sides=(60,))  # of small ones nothing is asked
    monkeypatch.setattr(choose, "available_memory", lambda: 1e5)
    refuse(
        (
            lambda: choose.check_memory("clarabel", program),
            r"clarabel would need about .* GiB .* try a lower degree",
            ProblemTooLarge,
        )
    )


test_unknown_solvers_are_named = refusals(
    (lambda: choose.backend("nope"), "unknown solver 'nope'; choose one of clarabel, scs", SolverUnavailable)
)


test_inconsistent_shapes_are_an_error = refusals(
    (
        lambda: ConicProgram(q=np.ones(2), A=sp.csc_matrix((3, 2)), b=np.zeros(3), cones=Cones(zero=2)),
        "inconsistent conic program",
    )
)


def two_by_two(cost: float, right: float) -> sd.ConicProgram:
    """min cost (a + c) with [[a, right], [right, c]] positive semidefinite: 2 cost right."""
    A = -np.array([[1.0, 0], [0, 0], [0, 1.0]])
    return sd.ConicProgram(
        q=np.full(2, cost), A=sp.csc_matrix(A), b=np.array([0.0, right * SQRT2, 0.0]), cones=Cones(0, 0, (2,))
    )


@pytest.mark.parametrize(
    "cost, right", [(1, 1), (1e-9, 1), (1, 1e-9), (1e-9, 1e-9), (1e-150, 1), (1e6, 1e-9)]
)
def test_the_value_is_right_relative_to_its_size(cost, right):
    answer = sd.solve_conic(two_by_two(cost, right))
    truth = 2 * cost * right
    assert answer.status == "optimal"
    assert answer.lower <= truth * (1 + 1e-12) and answer.upper >= truth * (1 - 1e-12)
    assert answer.upper - answer.lower <= 1e-4 * truth
    assert answer.value == pytest.approx(truth, rel=1e-4)
    assert float(two_by_two(cost, right).q @ answer.x) == pytest.approx(truth, rel=1e-4)


def test_ordinary_programs_are_left_alone():
    program = two_by_two(1.0, 0.5)
    assert own_units(program).program is program


def test_bounds_are_brought_back_outwards():
    program = two_by_two(2.0**-1000, 2.0**-60)
    unit = own_units(program)
    assert (np.ldexp(unit.program.q, -unit.cost) == program.q).all()
    answer = replace(unsolved(unit.program, "optimal"), value=1.0, lower=1 + 2.0**-52, upper=1 + 2.0**-52)
    assert (unit.cost, unit.right) == (999, 59)
    result = unit.restore(answer, program)
    assert result.lower <= 2.0**-1058 < result.upper


@pytest.mark.parametrize(
    "rows, columns, cost", [(1e-300, 1.0, 1.0), (1e200, 1e-150, 1e150), (1.0, 1e250, 1e-300)]
)
def test_programs_of_any_scale(rows, columns, cost):
    plain = random_program(3)
    truth = sd.solve_conic(replace(plain, constant=0.0)).value
    scaled = ConicProgram(
        plain.q * columns * cost, sp.csc_matrix(plain.A * (rows * columns)), plain.b * rows, plain.cones
    )
    answer = sd.solve_conic(scaled)
    assert answer.value == pytest.approx(truth * cost, rel=1e-5)
    if cost >= 1:  # a bracket is relative to one at least
        assert answer.status == "optimal"


def test_scaling_is_by_powers_of_two_and_undone():
    plain = random_program(1)
    program = replace(plain, q=plain.q * 1e30, b=plain.b * 1e-20)
    scaled = for_a_solver(program)
    assert 0.2 < np.abs(scaled.program.q).max() < 5 and 0.2 < np.abs(scaled.program.b).max() < 5
    ratio = scaled.program.A.toarray()[plain.A.toarray() != 0] / plain.A.toarray()[plain.A.toarray() != 0]
    assert (np.frexp(ratio)[0] == 0.5).all()
    answer = scaled.restore(clarabel.solve(scaled.program), program)
    assert np.abs(program.A @ answer.x + answer.s - program.b).max() < 1e-6 * np.abs(program.b).max()
    assert np.abs(program.A.T @ answer.z + program.q).max() < 1e-6 * np.abs(program.q).max()
    assert answer.value == pytest.approx(float(program.q @ answer.x) + program.constant)
    # numbers of usual size are left alone
    assert for_a_solver(plain).program.A is plain.A


@pytest.mark.parametrize(
    "b, status", [([0.0, 1.0], "optimal"), ([0.0, -1e-12], "infeasible"), ([1e-12, 1.0], "infeasible")]
)
def test_programs_without_variables(b, status):
    program = ConicProgram(np.zeros(0), sp.csc_matrix((2, 0)), np.array(b), Cones(1, 1), constant=3.0)
    answer = sd.solve_conic(program)
    assert answer.status == status
    if status == "optimal":
        assert answer.lower == answer.value == answer.upper == 3.0


def test_a_variation_too_large_is_no_error(monkeypatch):
    def check(name, program):
        if program.q.size > 5:
            raise ProblemTooLarge("too large")

    monkeypatch.setattr(choose, "check_memory", check)
    answer = sd.solve_conic(random_program(2, columns=5))
    assert answer.lower <= answer.upper


@pytest.mark.parametrize("solver", ["auto", *choose.installed()])
def test_blocks_of_side_zero(solver):
    """SDPA ended the process."""
    plain = random_program(4)
    program = replace(plain, cones=replace(plain.cones, psd=(0, *plain.cones.psd, 0)))
    answer = sd.solve_conic(program, solver)
    assert answer.lower <= sd.solve_conic(plain).value <= answer.upper


@pytest.mark.parametrize("solver", ["auto", *choose.installed()])
def test_programs_without_entries(solver):
    """What equations leave may have no entries: SDPA ended the process."""
    A = sp.csc_matrix(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    program = ConicProgram(np.array([1.0, 0.0]), A, np.array([2.0, 1.0, 1.0]), Cones(1, 2, ()))
    answer = sd.solve_conic(program, solver)
    assert answer.status != "infeasible" and answer.lower <= 2.0 <= answer.upper


def test_a_scaled_matrix_that_is_sorted_in_place_leaves_the_other_alone():
    """They shared their places: 100 - x on (x - 100)^4 <= 0 was said to have no certificate for any bound."""
    given = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    scaled = _times(given, np.ones(1), np.array([1.0, 2.0, 4.0]))
    scaled.sort_indices()
    assert given.toarray().tolist() == [[2, 3, 1]]
    assert scaled.toarray().tolist() == [[2, 6, 4]]
