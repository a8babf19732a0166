"""Facial reduction from exact zeros: sums of squares with zeros are proven, nothing else is."""

from fractions import Fraction

import pytest
from flint import fmpq

import sosdp as sd
from sosdp.conic.exact.corrected import Equations
from sosdp.reduction.facial import find_zeros
from sosdp.relaxation.minimize import prove_sos as in_floats
from tests.refusals import refuse

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
    assert not len(find_zeros(p))
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
    assert in_floats(p).status == "unknown"  # its zeros are no points of {-1, 0, 1}^2 except the origin
    assert sd.prove_sos(p, zeros=[(2, 1)]).status == "proved"
    assert sd.prove_sos((x - Fraction(1, 3) * y) ** 2, zeros=[("1/3", 1)]).status == "proved"
    assert sd.prove_sos(Fraction(1, 10**30) * p, zeros=[(2, 1)]).status == "proved"
    refuse(
        (lambda: sd.prove_sos(p, zeros=[(1, 1)]), "not zero at"),
        (lambda: sd.prove_sos(p, zeros=[(1, 1, 1)]), "one column a variable"),
    )


def test_a_zero_with_a_slope_is_not_used():
    assert find_zeros(x * y - y).shape[0] > 0  # (1, 0): gradient (0, 0)
    assert find_zeros(x + x**2).shape[0] == 0
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
