"""Programs of constraints with coefficients far from each other: right where they can be, else honest."""

from fractions import Fraction

import pytest

import sosdp as sd

c, p, q, r, x, y = sd.variables("c p q r x y")
TRUTH = 2.1012182  # of the linear part, whatever the stiffness


def stiff(k):
    """The smallest quadratic Lyapunov function of a system with cubic damping of strength k."""
    program = sd.SosProgram([p, q, r])
    v = p * x**2 + 2 * q * x * y + r * y**2
    f = (-x - k * x**3 + y, -x - k * y**3)
    program.require(v - x**2 - y**2)
    decrease = -(v.diff(x) * f[0] + v.diff(y) * f[1])
    return program.require(decrease - Fraction(1, 10) * (x**2 + y**2))


@pytest.mark.parametrize("power", [0, 4, 6, 8, 10, 14])
def test_stiff_systems_have_the_same_lyapunov_function(power):
    answer = stiff(10**power).minimize(p + r)
    assert answer.status == "optimal"
    assert answer.bound == pytest.approx(TRUTH, rel=1e-6)
    assert answer.certified_bound == pytest.approx(TRUTH, rel=1e-6)


def test_signs_keep_their_unit():
    """x**2 = 1 is no longer so in other units of x."""
    program = sd.SosProgram([c])
    program.require(10**5 * x + 10**8 * y**4 + y**2 - c, on=sd.System((x**2).equals(1)))
    answer = program.maximize(c)
    assert answer.status == "optimal" and answer.bound == pytest.approx(-1e5, rel=1e-6)


def test_a_coarse_value_is_no_optimum():
    """0 is the largest c; what is found of it, to 1e-8 of the 1e9 that the constraint speaks of, is 5."""
    small = sd.SosProgram([c]).require(1 + x**2 - c * Fraction(1, 10**9) * x**4)
    on_the_boundary = sd.SosProgram([c]).require((x + y - 1) ** 4 * 10**10 + (x - y) ** 2 * (1 - c) - c)
    for program in (small, on_the_boundary):
        answer = program.maximize(c)
        assert answer.certified_bound is None or answer.certified_bound <= 0
        assert abs(answer.bound) < 1e-4 or (answer.status == "inaccurate" and "is proven" in answer.reason)


@pytest.mark.parametrize("c", [1e-14, 1e-16, 2.0**-46])
def test_a_bound_with_a_small_coefficient(c):
    """x - c g is a square for g = 0: -1.3 / c was called optimal."""
    t, g = sd.variables("t g")
    answer = sd.SosProgram([g]).require(t - c * g, on=[t >= 0, t <= 1], degree=2).maximize(g)
    assert -1e-6 < answer.bound * c <= 1e-6 and answer.certified_bound * c > -1e-6
