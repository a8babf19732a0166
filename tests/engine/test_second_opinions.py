"""Values without a proven bound: what they rest on is priced, and small programs are asked for again."""

from __future__ import annotations

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.build.identity import GramProgram
from sosdp.relaxation.certify.misfit import misfit, priced_misfit
from sosdp.relaxation.solve.solve import small_solvers, solve_program

x, y, z = sd.variables("x y z")


def chained_singular(n):
    """SparsePOP's problem: minimum 0 at the origin, coefficients up to 1e5."""
    w = sd.variables("r", n)
    return sum(
        (w[k] + 10 * w[k + 1]) ** 2
        + 5 * (w[k + 2] - w[k + 3]) ** 2
        + (w[k + 1] - 2 * w[k + 2]) ** 4
        + 10 * (w[k] - 10 * w[k + 3]) ** 4
        for k in range(0, n - 3, 2)
    )


@pytest.mark.parametrize("solver", ["auto", "sos_cone", "borrowed"])
def test_coefficients_of_1e5_hide_no_residual(solver):
    """The method at points stops at 1.4e-4, with a residual of 2e-7 of the largest coefficient."""
    found = sd.minimize(chained_singular(4), None, 4, solver=solver)
    assert found.certified_bound is None
    assert found.status == "inaccurate" or abs(found.bound) <= 1e-5


def test_a_residual_is_priced_with_the_moments():
    p = x**4 - 2 * x**2 + 1e5 * (x - y) ** 2
    identity, _ = sd.Relaxation(sd.System(), 4).assemble(p)
    program = GramProgram(identity, np.ones(1), np.array([np.inf]))
    raw = solve_program(program, solver="clarabel")
    good = priced_misfit(program, raw)
    raw.unknowns[0] += 1e-3  # a bound that the multipliers do not prove: the constant is off by it
    assert misfit(program, raw) < 1e-7 and abs(priced_misfit(program, raw) - 1e-3) < 1e-4 + good


def test_a_small_program_is_asked_for_again():
    pytest.importorskip("cvxopt")
    found = sd.minimize(chained_singular(8), None, 4)
    assert found.status == "optimal" and abs(found.bound) < 1e-6
    limited = sd.minimize(chained_singular(8), None, 4, time_limit=20)
    assert limited.status == "inaccurate" or abs(limited.bound) <= 1e-5  # CVXOPT cannot be stopped


def test_large_programs_are_not():
    identity, _ = sd.Relaxation(sd.System(), 4).assemble((1 + sum(sd.variables("m", 9))) ** 4)
    assert small_solvers(GramProgram(identity, np.ones(1), np.array([np.inf]))) == ()


SUM = x**2 + y**2 + 2 * (y - x) + 2


@pytest.mark.parametrize("cone", ["dsos", "sdsos"])
def test_cones_are_decided_exactly_on_their_boundary(cone):
    """(x - 1)**2 + (y + 1)**2 has one Gram matrix, diagonally dominant with equality in its first row."""
    assert sd.prove_sos(SUM, cone=cone).status == "proved"
    assert sd.prove_sos(1 - y**2, sd.System(x**2 + y**2 == 1), cone=cone).status == "proved"
    assert sd.prove_sos((x + y + z) ** 2, cone=cone).status == "unknown"  # a square outside both cones
    assert sd.prove_sos((x + 3 * y) ** 2, cone=cone).status == ("proved" if cone == "sdsos" else "unknown")
    assert sd.prove_sos(SUM - 1, cone=cone).status != "proved"


def test_minimisers_of_moments_that_are_flat_to_the_third_digit():
    """Of degree 10, eigenvalues of 2e-4 remain beside the four of the Motzkin polynomial's minimisers."""
    found = sd.minimize(x**2 * y**2 * (x**2 + y**2 - 1), sd.System(x**2 + y**2 <= 4), 10, prune=False)
    points = found.atoms()
    assert points.shape == (4, 2) and np.abs(np.abs(points) - 3**-0.5).max() < 1e-3
