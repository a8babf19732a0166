"""Conic programs whose numbers are far from one, and solves that do not end: what both may cost."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import choose, clarabel
from sosdp.conic.program import Cones, ConicProgram, ProblemTooLarge
from sosdp.conic.units import for_a_solver
from sosdp.relaxation.assemble.scaling import _times
from tests.engine.test_brackets import random_program


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
