"""The method at points on bounds whose values are known, against the borrowed solvers, and its rays."""

from __future__ import annotations

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic.program import SolverUnavailable


def bound(p, system, degree, **options):
    return sd.minimize(p, system, degree, solver="sos_cone", **options)


def box(xs):
    return sd.System(*[1 - x**2 >= 0 for x in xs])


@pytest.mark.parametrize(("n", "degree"), [(1, 10), (2, 6), (3, 4), (4, 4)])
def test_boxes_agree_with_a_borrowed_solver(n, degree):
    generator = np.random.default_rng(n)
    x = sd.variables("x", n)
    basis = sd.monomials(x, degree)
    p = generator.standard_normal(len(basis)) @ basis
    ours, theirs = bound(p, box(x), degree), sd.minimize(p, box(x), degree, solver="clarabel")
    assert ours.status == "optimal" and ours.solver == "sos_cone"
    assert ours.bound == pytest.approx(theirs.bound, abs=1e-5)
    assert theirs.certified_bound - 1e-5 <= ours.certified_bound <= ours.bound + 1e-6
    assert ours.bound - ours.certified_bound <= 1e-6
    assert ours(x[0] ** 2) == pytest.approx(theirs(x[0] ** 2), abs=1e-3)


def test_known_minima():
    x, y = sd.variables("x y")
    motzkin = 1 - 3 * x**2 * y**2 + x**2 * y**4 + x**4 * y**2
    ball = bound(motzkin, sd.System(x**2 + y**2 <= 2), 8)
    assert ball.bound == pytest.approx(0, abs=1e-6) and -1e-6 <= ball.certified_bound <= 1e-12
    plane = bound(x**4 + y**4 - 4 * x * y, sd.System(), 4)
    assert plane.bound == pytest.approx(-2, abs=1e-6) and -2 - 1e-6 <= plane.certified_bound <= -2 + 1e-12


def test_rewriting_rules_and_equations():
    x = sd.variables("x", 5)
    cycle = sum(x[i] * x[(i + 1) % 5] for i in range(5))
    cube = bound(cycle, sd.System(*[v**2 == 1 for v in x]), 4)
    assert cube.bound == pytest.approx(-3, abs=1e-6)
    stable = bound(-sum(x), sd.System(*[v**2 == v for v in x], *[x[i] * x[i - 1] == 0 for i in range(5)]), 4)
    assert stable.bound == pytest.approx(-2, abs=1e-6)
    weights = np.array([1.0, 2.0, 3.0, -1.5, 0.5])
    sphere = bound(weights @ x**2 + 0.0, sd.System(x @ x == 1), 2)
    assert sphere.bound == pytest.approx(-1.5, abs=1e-6) and sphere.certified_bound <= -1.5 + 1e-12


def test_points_outside_the_set_are_signed():
    x, y = sd.variables("x y")
    system = sd.System(x**2 + y**2 <= 4, x * y >= 1)
    ours, theirs = (sd.minimize(x**3 + y, system, 4, solver=s) for s in ("sos_cone", "clarabel"))
    assert ours.bound == pytest.approx(theirs.bound, abs=1e-6)


def test_rays_are_proven_statuses():
    x, y = sd.variables("x y")
    assert bound(x**6 + y**6 - 3 * x**5 * y, sd.System(), 6).status == "unbounded"
    assert bound(x + y, sd.System(x**2 + y**2 <= 1, x * y >= 1), 4).status == "infeasible"
    assert sd.feasible(sd.System(1 - x**2 >= 0, x - 2 >= 0), 4, solver="sos_cone").status == "infeasible"


def test_what_points_do_not_determine_is_refused():
    x, y = sd.variables("x y")
    with pytest.raises(SolverUnavailable, match="multiple"):
        bound(x + y**2, sd.System(x**2 == 0), 4)
    with pytest.raises(SolverUnavailable, match="variety"):
        bound(x + y**2, sd.System((x - y) ** 2 * 1.0 == 0), 4)
