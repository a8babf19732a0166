"""Verdicts are about the numbers that were stated, not about the floats next to them."""

from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.certify.stated import as_stated

x, y, z, u, v = sd.variables("x y z u v")
S = sd.System
THIRD, LITTLE = F(1, 3), F(1, 10**30)


def measures(left, right, relation="=="):
    """Minus infinity if a measure on [-1, 1] integrates x to both numbers; none does if they differ."""
    program = sd.MeasureProgram()
    mu, nu = program.measure([x], on=S(x**2 <= 1)), program.measure([y], on=S(y**2 <= 1))
    if relation == "==":
        program.require(mu(x) == left, mu(x) == right)
    else:
        program.require(mu(x) <= left, mu(x) >= right)
    return program.minimize(nu(y))


def unknowns(low, high):
    """v without end, if there is a u from low to high."""
    program = sd.SosProgram([u, v])
    program.require(u - low).require(high - u)
    return program.maximize(v)


def expectations(low, high):
    relax = sd.Relaxation(S(x**2 <= 9), 2)
    return relax.minimize(y, subject_to=[relax.E(x) >= low, relax.E(x) <= high])


EMPTY = [
    lambda: sd.minimize(y, S(x.equals(THIRD), x.equals(THIRD + LITTLE)), 2),
    lambda: sd.minimize(y, S(x <= THIRD, x >= THIRD + LITTLE), 2),
    lambda: sd.minimize(y, S((x * (1 + LITTLE)).equals(1), x.equals(1)), 2),
    lambda: sd.minimize(y, S(x * z >= 10**17 + 1, x * z <= 10**17), 2),
    lambda: measures(THIRD, THIRD + LITTLE),
    lambda: measures(10**17, 10**17 + 1),
    lambda: measures(THIRD, THIRD + LITTLE, "<="),
    lambda: unknowns(THIRD, THIRD - LITTLE),
    lambda: expectations(THIRD + LITTLE, THIRD),
]
REACHED = [
    lambda: sd.minimize(y * THIRD, S(x.equals(THIRD), (3 * x).equals(1)), 2),
    lambda: sd.minimize(y * F(2, 7), S(x * THIRD <= F(1, 5), x >= F(1, 5)), 2),
    lambda: sd.minimize(y * F(2, 7), S(x**2 * THIRD - x * F(1, 7) <= F(1, 5)), 2),
    lambda: sd.minimize(0.1 * y, S(0.3 * x <= 0.7), 2),
    lambda: measures(THIRD, THIRD),
    lambda: measures(THIRD, THIRD, "<="),
    lambda: unknowns(THIRD, F(2, 3)),
    lambda: expectations(0.1, 0.3),
]


@pytest.mark.parametrize("ask", EMPTY)
def test_what_floats_cannot_tell_apart_is_not_unbounded(ask):
    """Nothing meets the constraints, so that every bound has a certificate; in floats there is no bound."""
    assert ask().status in ("inaccurate", "infeasible")


@pytest.mark.parametrize("ask", REACHED)
def test_small_fractions_are_found_again(ask):
    assert ask().status == "unbounded"


def odd_part(value):
    whole = abs(F(value).numerator)
    return whole // (whole & -whole)


def test_entries_are_whole_numbers_times_powers_of_two():
    relax = sd.Relaxation(S(x.equals(THIRD), x * y * F(2, 7) <= F(3, 5)), 2)
    program = relax.minimize(y * F(1, 9) + x).program
    exact = as_stated(program, [F(1, 9), 1], [[1]])
    assert exact is not None
    identity = exact.identity
    assert {odd_part(c) for c in identity.free.data.tolist()} == {1, 3}
    assert {odd_part(c) for c in identity.target[identity.target != 0].tolist()} == {1, 9}
    assert {odd_part(c) for c in identity.gram.data[-2:].tolist()} == {5, 21}
    assert as_stated(program, [THIRD, LITTLE], [[1]]) is None
    assert as_stated(program, [F(1, 9), 1], [[10**17 + 1]]) is None


def test_equations_that_only_floats_make_alike_are_kept():
    relax = sd.Relaxation(S(x.equals(THIRD), x.equals(THIRD + LITTLE)), 2)
    identity = relax.minimize(x).identity
    assert {e.index for e in identity.equalities} == {0, 1}
    assert np.array_equal(*(e.polynomial.as_float().coefs for e in identity.equalities))
