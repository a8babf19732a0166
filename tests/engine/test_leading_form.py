"""A polynomial that falls without end is unbounded in every unit, and no other one is."""

from fractions import Fraction

import numpy as np

import sosdp as sd
from sosdp.relaxation.certify.leading_form import is_unbounded_below

x, y, z = sd.variables("x y z")


def test_no_polynomial_that_is_bounded():
    rng = np.random.default_rng(1)
    for _ in range(60):
        a = rng.integers(-4, 5, size=(2, 3))
        units = [Fraction(10) ** int(k) for k in rng.integers(-12, 13, size=3)]
        forms = [sum(int(c) * u * v for c, u, v in zip(row, units, (x, y, z))) for row in a]
        assert not is_unbounded_below(forms[0] ** 2 + forms[1] ** 2)
        assert not is_unbounded_below((forms[0] ** 2 + forms[1]) ** 2)
    assert not is_unbounded_below(sd.polynomial(-3)) and not is_unbounded_below(0 * x)
    assert is_unbounded_below(-1e300 * x**2 * y**2) and not is_unbounded_below(1e-300 * x**2 * y**2)
