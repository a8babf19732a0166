"""The least value of a polynomial in one variable: enclosed, whatever its degree."""

import math
import time
from fractions import Fraction as F

import numpy as np
import pytest
from flint import fmpq_poly

import sosdp as sd
from sosdp.relaxation.descent import moved_polynomial
from sosdp.relaxation.univariate import enclosed, wells

x, t = sd.variables("x t")


def product(factors):
    return math.prod(factors, start=sd.polynomial(1))


# value, where it is attained
CASES = {
    "a square of degree 30": (product((x - F(i, 7)) ** 2 for i in range(15)), 0),
    "irrational zeros": ((x**2 - 2) ** 2 * (x**4 + x + 1) ** 6, 0),
    "far away, floats": (0.5 * (x - 800004.5) ** 14 + 7, 7),
    "degree 50": ((x**25 - x - 1) ** 2 + 5, 5),
    "a low well far from the others": (product((x - i) ** 2 + 1 for i in range(3)) * (x - 30) ** 2, 0),
    "two zeros next to one another": ((x - 1) ** 10 * (x - 1 - F(1, 10**60)) ** 10, 0),
    "small beside its terms": (product((x - i) ** 2 for i in range(18)) + F(1, 10**20), F(1, 10**20)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_of_high_degree(name):
    p, least = CASES[name]
    answer = sd.minimize(p)
    assert answer.status == "optimal" and F(answer.certified_bound) <= least
    assert [answer.bound, answer.certified_bound] == pytest.approx([float(least)] * 2, rel=1e-6, abs=1e-300)


WELLS = product((x - F(i, 7)) ** 2 + F(1, 100) for i in range(7))


def test_moments_are_those_of_the_minimiser():
    answer = sd.minimize(WELLS)
    assert "one variable" in [s.name for s in answer.steps]
    assert answer(x**2) == pytest.approx(answer(x) ** 2) and answer(x**14) == pytest.approx(answer(x) ** 14)
    assert answer(answer.objective) == pytest.approx(answer.bound, rel=1e-6)


@pytest.mark.parametrize("d", [4, 20])
def test_the_minimiser_is_an_atom_far_from_the_other_wells(d):
    answer = sd.minimize(product((x - i) ** 2 + 1 for i in range(d // 2 - 1)) * (x - 30) ** 2)
    assert answer.atoms() == pytest.approx(np.array([[30]]))


def test_a_high_degree_takes_no_time():
    """Degree 100 took 77 s with a time limit of 3: local searches looked at no clock."""
    p, began = x**100 + sum((7 * k % 19 - 9) * x**k for k in range(1, 100)), time.process_time()
    answer = sd.minimize(p, time_limit=60)
    assert answer.status == "optimal" and time.process_time() - began < 3


def test_moves_and_wells_of_one_variable():
    p = 3 * x**5 - F(1, 3) * x**2 + F(1, 2) * x + 7
    assert moved_polynomial(p, {int(x.variable_ids[0]): F(2, 7)}) == p.subs({x: x + F(2, 7)})
    assert moved_polynomial(x**2 - 1, {int(x.variable_ids[0]): F(-1)}) == x**2 - 2 * x
    assert wells(fmpq_poly([0, 0, 3, -4, 1])) == pytest.approx([0, (3 + F(3**0.5)) / 2])
    assert wells(fmpq_poly([0, 0, 0, 1])) == wells(fmpq_poly([1, 2])) == wells(fmpq_poly([5])) == []
    assert wells(fmpq_poly([0, 0, -2, 0, 1])) == [-1, 1] and wells(fmpq_poly([0, 0, 0, 0, -1])) == []


def test_other_doors_ask_the_same():
    known = sd.minimize(WELLS).bound
    assert -sd.maximize(-WELLS).bound == known
    program = sd.SosProgram([t]).require(2 * WELLS - 3 * t).maximize(6 * t + 1)
    assert program.status == "optimal" and program[t] == pytest.approx(2 * known / 3)
    assert F(program.certified_bound) <= 4 * F(known) + 1
    assert program.certified_bound - 1 == pytest.approx(4 * known, rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("bits", [8, 16, 30])
def test_few_digits_enclose_it_too(k, bits):
    """x**4 - k x is least at (k / 4)**(1/3), x**4 - 2 k x**2 at both roots of k: there are two."""
    low, high, _ = enclosed(fmpq_poly([0, -k, 0, 0, 1]), [bits])
    cube = [(-4 * v / (3 * k)) ** 3 * F(4) for v in (low, high)]  # of the minimiser times four
    assert cube[1] <= k <= cube[0]
    low, high, place = enclosed(fmpq_poly([0, 0, -2 * k, 0, 1]), [bits])
    assert low <= -(k**2) <= high and abs(abs(place) - F(k**0.5)) <= 1


def test_what_has_no_least_value_is_left_to_others():
    for p in (x**31 + x, -(x**30) + x):
        assert sd.minimize(p).status == "unbounded"
    for p in (x**4 - 1e160 * x**2, x**4 - 1e300 * x**2):  # least at -1e320 / 4, which no float is near
        assert sd.minimize(p).certified_bound is None
    answer = sd.minimize(1e-290 * x**4 - x)  # at a point whose fourth power is none
    assert np.isfinite(answer(x**4))


@pytest.mark.parametrize(
    ("mass", "value"), [(lambda m: m == 2, 2), (lambda m: m <= 2, 0), (lambda m: m >= 2, 2)]
)
def test_a_measure_of_any_mass_may_be_none(mass, value):
    program = sd.MeasureProgram()
    mu = program.measure([x])
    answer = program.require(mass(mu(1))).minimize(mu((x**2 - 2) ** 10 + 1))
    assert answer.certified_bound is None or answer.certified_bound <= value
    assert answer.status != "optimal" or answer.bound == pytest.approx(value, abs=1e-5)
