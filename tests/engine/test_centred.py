"""Answers do not depend on where 0 is: years, coordinates of maps, measurements with an offset."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd

x, y = sd.variables("x y")
YEARS = sd.System(x >= 1990, x <= 2020)
DOUBLE = (x - 2003) ** 2 * (x - 2015) ** 2


def test_what_is_proven_is_below_every_value():
    rng = np.random.default_rng(2)
    for _ in range(25):
        a, b = (int(v) for v in rng.integers(10**3, 10**7, size=2))
        w = Fraction(int(rng.integers(1, 100)), 10)
        f = (x - a) ** 2 + w * (y - b) ** 2 + (x - a) * (y - b) * Fraction(1, 5) + Fraction(1, 3)
        answer = sd.minimize(f)
        assert answer.status == "optimal" and abs(answer.bound - 1 / 3) < 1e-5
        assert Fraction(answer.certified_bound) <= Fraction(1, 3)
        assert answer.atoms()[0] == pytest.approx([a, b], abs=1e-3)


def test_the_answer_is_one_in_the_given_variables():
    answer = sd.minimize(DOUBLE, YEARS)
    assert answer.centre is not None and 1990 < answer(x) < 2020 and answer.certified_bound > -0.1
    assert answer.moment_matrix()[0, 1] == pytest.approx(answer(x)) and answer(x * x) >= answer(x) ** 2 - 1e-3
    assert answer.atoms() == pytest.approx(np.array([[2003.0], [2015.0]]), abs=1e-2)
    again = pickle.loads(pickle.dumps(answer))
    assert again.atoms() == pytest.approx(answer.atoms()) and again(DOUBLE) == answer(DOUBLE)
    assert -0.1 <= certificates.extract(answer).exact().bound <= 0


@pytest.mark.parametrize("power", [-20, 20])
def test_the_unit_of_the_objective_does_not_matter(power):
    f = (x - 10**6) ** 2 + (y - 3000) ** 2 + 1
    one, other = sd.minimize(f), sd.minimize(Fraction(2) ** power * f)
    assert other.status == "optimal" and other.bound / 2.0**power == pytest.approx(one.bound, rel=1e-6)


def test_a_groebner_quotient_of_no_equations_is_moved_as_any_set():
    empty = [y >= (x - 2000) ** 2, y <= Fraction(-1, 1000), (x - 2000) ** 2 <= 100, y**2 <= 100]
    assert sd.minimize(x, empty, quotient="groebner").status == "infeasible"
