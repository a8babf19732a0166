"""Bounds, verdicts and refutations that rounding, underflow or a tolerance once made false."""

from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic.rigorous import least_eigenvalue_bound, least_eigenvalue_bounds, norms
from sosdp.reduction.bounds import deduce_bounds
from sosdp.reduction.quotient import find_quotient
from tests.refusals import each, refusals

x, y = sd.variables("x y")
S = sd.System


def test_sums_of_floats_in_constraints_are_charged_what_they_round():
    a, b = 1e16, 0.3
    system = S(x**2 == 1, y**2 <= 4, a * x**2 + b - a * x**4 - y >= 0)
    result = sd.maximize(y, system, 4)
    # a * x**2 - a * x**4 is 0 on the set, so that y = b is a point
    assert result.certified_bound >= F(b)


def test_a_power_rule_is_an_exact_statement():
    nearly = (10**17 + 1) * x**2 - 10**17
    assert find_quotient((nearly,)).power == {}
    assert find_quotient(((10**17 + 1) * x**2 - 10**17 - 1,)).power != {}
    result = sd.minimize(10**20 * (x**2 - 1), S(nearly.equals(0)), 2)
    truth = F(10**20) * (F(10**17, 10**17 + 1) - 1)
    assert result.certified_bound is None or result.certified_bound <= truth


test_coefficients_beyond_floats_are_refused = refusals(
    # unbounded; negative
    *each(
        lambda p: sd.minimize(p, S(), 2),
        (x * F(1, 10**400) + y**2, sd.polynomial(F(-1, 10**400))),
        "too small for a float",
    ),
    (lambda: sd.minimize(x + y**2, S(x**2 <= 10**800), 2), "too large for a float"),
)


def test_a_tiny_radius_is_no_zero():
    tiny = F(1, 10**400)
    (bound,) = deduce_bounds((), ((tiny - x),)).ranges.values()
    assert bound[1] > 0
    (bound,) = deduce_bounds((), ((-(x**2) + tiny),)).ranges.values()
    assert bound[0] < 0 < bound[1]
    # a small coefficient takes part, whatever it multiplies
    mixed = deduce_bounds((), (y**2 * -1 + 10**280, -(x**2) + tiny * y)).largest
    assert mixed[int(x.variable_ids[0])] >= 0


def test_norms_of_small_numbers_do_not_vanish():
    rows = np.array([[3e-290, 4e-290], [0.0, 0.0], [3.0, 4.0]])
    assert norms(rows) * [1e290, 1, 1] == pytest.approx([5.0, 0.0, 5.0])


def test_large_matrices_prove_nothing():
    assert least_eigenvalue_bound(np.full((3, 3), 1e200)) == -np.inf
    assert (least_eigenvalue_bounds(np.full((6, 3, 3), 1e200)) == -np.inf).all()


@pytest.mark.parametrize("tolerance", [10.0, 0.1, 1e-3])
def test_a_tolerance_decides_no_verdict(tolerance):
    p, ball = x**4 - 3 * x**2 + x, S(x**2 <= 9)
    exact = sd.minimize(p, ball, 4).bound
    for solver in ("clarabel", "scs"):
        result = sd.minimize(p, ball, 4, tolerance=tolerance, solver=solver)
        assert result.status != "optimal" or result.bound == pytest.approx(exact, abs=1e-4)
        assert result.certified_bound is None or result.certified_bound <= exact + 1e-7
    assert sd.feasible(S(x**2 <= 1, x >= 2), 2, tolerance=tolerance).status != "optimal"
    answer = sd.SosProgram([y]).require(x**4 - 2 * x**2 + 3 - y).maximize(y, tolerance=tolerance)
    assert answer.status != "optimal" or answer.bound == pytest.approx(2, abs=1e-4)


def test_a_loose_tolerance_closes_no_gap_at_points():
    """Both sides agreed to ten, relatively, and that counted as an optimum: -5e16 for 2."""
    large = 10**17 + 1
    answer = sd.minimize(large + 2 - large * x**2, S((0.1 * x**2 - 0.1 * x).equals(0)), 2, tolerance=10.0)
    assert answer.status != "optimal" or answer.bound == pytest.approx(2, abs=1e-5 * large)
    assert answer.certified_bound is None or answer.certified_bound <= 2


def test_an_uncertified_optimum_says_on_what_it_rests():
    result = sd.minimize(x**2 * y**2 + (x - 1) ** 2, S(), 4)
    assert result.status != "optimal" or result.certified_bound is not None or "rests on" in result.reason
