"""Many objectives on one set: the bounds of single calls, proven, whatever the order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd

x, y = sd.variables("many_x many_y")
MONOMIALS = [x**4, x**2 * y**2, y**4, x**3, x * y**2, x**2, x * y, y**2, x, y, sd.polynomial(1)]
SETS = {
    "nothing": [],
    "box": [x**2 <= 1, y**2 <= 1],
    "ball": [x**2 + y**2 <= 4],
    "curve": [x**2 + y**2 + x * y == 1],
    "far": [(x - 2000) * (2001 - x) >= 0, (y - 300) * (301 - y) >= 0],
}


def quartics(count, seed=0):
    """Random objectives with compact level sets."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        numbers = rng.normal(size=len(MONOMIALS))
        numbers[:3] = 1 + abs(numbers[:3])
        found.append(sum(float(c) * m for c, m in zip(numbers, MONOMIALS, strict=True)))
    return found


def relaxation(name):
    return sd.Relaxation(sd.System(*SETS[name]), 4)


@pytest.mark.parametrize("name", SETS)
def test_they_are_the_bounds_of_single_calls(name):
    asked = [*quartics(6), x**4 + y**4, x**2 - y, sd.polynomial(3)]
    asked = asked if name != "nothing" else asked[:-2]
    found = relaxation(name).minimize_many(asked)
    for k, p in enumerate(asked):
        single = relaxation(name).minimize(p)
        assert found.status[k] == single.status == "optimal"
        assert (found.bounds[k], found.certified_bounds[k]) == (single.bound, single.certified_bound)
        assert found.certified_bounds[k] <= found.bounds[k]
    assert found[-1].bound == found.bounds[-1] and len(found) == len(asked)


def test_what_is_certified_is_true():
    """Minima that are known exactly, of coefficients that no float is: none is exceeded."""
    thirds = [Fraction(k, 3) for k in range(1, 40)]
    asked = [(x - a) ** 4 + (y**2 - a) ** 2 + a for a in thirds]
    found = relaxation("nothing").minimize_many(asked)
    assert (found.status == "optimal").all()
    for a, proven in zip(thirds, found.certified_bounds, strict=True):
        assert Fraction(float(proven)) <= a


def test_options_are_those_of_single_calls():
    found = relaxation("box").minimize_many(quartics(2), certify_bound=False)
    assert np.isnan(found.certified_bounds).all() and (found.status == "optimal").all()


def test_nothing_is_asked_and_too_much_is_refused():
    assert len(relaxation("box").minimize_many([])) == 0
    with pytest.raises(ValueError, match="degree"):
        relaxation("box").minimize_many([x**2, x**6])
    with pytest.raises(IndexError):
        relaxation("box").minimize_many([x])[1]
    assert repr(relaxation("box").minimize_many([x])) == "Bounds(1 objectives, 1 optimal)"
