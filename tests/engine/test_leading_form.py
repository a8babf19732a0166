"""A polynomial that falls without end is unbounded in every unit, and no other one is."""

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.certify.leading_form import falls_without_end

x, y, z = sd.variables("x y z")
NEARLY = Fraction(10**9 + 1, 10**9)


@pytest.mark.parametrize(
    "p",
    [
        10**8 * x**2 - x**4,
        x**2 - Fraction(1, 10**8) * x**4,
        x**2 - 2 * NEARLY * x * y + y**2,
        x**4 + y**4 - 2 * NEARLY * x**2 * y**2,
        x**2 - 40 * y**2 - x / 31250000 + y / 62500000 + Fraction(1, 3932500000000000),
        10000000 * x**2 - 400000000 * y**2 - 8 * x / 25 + 4 * y / 25 + Fraction(159, 62500000000),
        x**2 - y**2 + y / 10**8,
        100000 * x**2 - 3 * y**2 / 10**11 - 440000 * x + 484000,
        1e-300 * x**3 + x**2 + 7,
        x**2 + y**2 + z**2 - Fraction(11, 10) * (x * y + y * z + z * x),
        x**2 + 10**12 * y**2 + Fraction(1, 10**12) * z**2 - 3 * x * z / 10**6 + y,
        x * y + y**2,
        10**12 * x**4 + Fraction(1, 10**12) * y**4 - 3 * x**2 * y**2,
    ],
)
def test_falling(p):
    assert falls_without_end(p)
    for found, bound in ((sd.minimize(p), -np.inf), (sd.maximize(-p), np.inf)):
        assert found.status == "unbounded" and found.bound == bound and found.certified_bound is None


def test_no_polynomial_that_is_bounded():
    rng = np.random.default_rng(1)
    for _ in range(60):
        a = rng.integers(-4, 5, size=(2, 3))
        units = [Fraction(10) ** int(k) for k in rng.integers(-12, 13, size=3)]
        forms = [sum(int(c) * u * v for c, u, v in zip(row, units, (x, y, z))) for row in a]
        assert not falls_without_end(forms[0] ** 2 + forms[1] ** 2)
        assert not falls_without_end((forms[0] ** 2 + forms[1]) ** 2)
    assert not falls_without_end(sd.polynomial(-3)) and not falls_without_end(0 * x)
    assert falls_without_end(-1e300 * x**2 * y**2) and not falls_without_end(1e-300 * x**2 * y**2)
    assert sd.minimize(x**4 - x, [x >= -1]).status == "optimal"
    assert sd.minimize(x, [x >= -1]).status == "optimal"
