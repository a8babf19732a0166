"""Allowances in the brackets of conic programs one by one, each where it alone decides.

Their mutants are in tests/mutants/conic.toml.
"""

import random
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.conic import brackets
from sosdp.conic.brackets import lower_bound, upper_bound
from sosdp.conic.choose import opinion
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.rigorous import UNIT
from sosdp.conic.strategies import is_dual_infeasible
from sosdp.conic.svec import svec


def linear(q, rows, right, equations=0):
    A = sp.csc_matrix(np.array(rows, dtype=float))
    cones = Cones(equations, len(right) - equations)
    return ConicProgram(q=np.array(q, dtype=float), A=A, b=np.array(right, dtype=float), cones=cones)


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
