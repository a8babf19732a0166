"""Wrong theorems that an adversary found, each with the exact reason why it was one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic import clarabel, judge
from sosdp.conic.program import Cones
from sosdp.conic.svec import svec
from tests.engine.programs import conic


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
@pytest.mark.parametrize("eps", [1e-16, 4e-16, 1e-12])
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
