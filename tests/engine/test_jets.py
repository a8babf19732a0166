"""Values and derivatives of polynomials in floats, against symbolic ones."""

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.jets import Jets

x, y, z = sd.variables("jx jy jz")
POLYNOMIALS = [3 * x**4 - 2 * x * y**2 + z, 0.5 * y * z * x - 7, x**2 * y**2 + 10**400 * z, 0 * x + 5]


@pytest.mark.parametrize("point", [(0.5, -2.0, 3.0), (0.0, 0.0, 0.0), (-1.0, 1.5, 0.0)])
def test_derivatives_are_the_symbolic_ones_in_units_of_the_largest_coefficient(point):
    ids = [int(v.variable_ids[0]) for v in (x, y, z)]
    jets, here = Jets(POLYNOMIALS, ids), np.array(point)
    given = dict(zip((x, y, z), map(Fraction, point), strict=True))

    def at(p, size):
        return float(Fraction(sd.polynomial(p).subs(given).constant) / size)

    pairs = list(zip(POLYNOMIALS, jets.sizes, strict=True))
    assert jets.values(here) == pytest.approx([at(p, s) for p, s in pairs])
    assert jets.slopes(here) == pytest.approx(
        np.array([[at(p.diff(v), s) for v in (x, y, z)] for p, s in pairs])
    )
    weights = np.array([1.0, -2.0, 0.25, 3.0])
    wanted = [
        [
            sum(w * at(p.diff(v).diff(u), s) for w, (p, s) in zip(weights, pairs, strict=True))
            for u in (x, y, z)
        ]
        for v in (x, y, z)
    ]
    assert jets.bends(here, weights) == pytest.approx(np.array(wanted))
