"""Raw conic programs whose cost or right side is small: bounds that agree do so relative to them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic.program import Cones
from sosdp.conic.reformulate import unsolved
from sosdp.conic.svec import SQRT2
from sosdp.conic.units import own_units


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
