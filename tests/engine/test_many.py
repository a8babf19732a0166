"""Many objectives on one set: as good as single calls, proven, whatever the order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation import many

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
        size = 1 + abs(single.bound)
        assert found.bounds[k] == pytest.approx(single.bound, abs=2e-6 * size)
        assert found.certified_bounds[k] == pytest.approx(single.certified_bound, abs=2e-6 * size)
        assert found.certified_bounds[k] <= found.bounds[k]
    assert found[-1].bound == pytest.approx(found.bounds[-1], abs=1e-5) and len(found) == len(asked)


def test_one_structure_serves_them_all(monkeypatch):
    def alone(*_, **__):
        raise AssertionError("a single call")

    monkeypatch.setattr(sd.Relaxation, "minimize", alone)
    assert (relaxation("box").minimize_many(quartics(300)).status == "optimal").all()


def test_what_is_certified_is_true():
    """Minima that are known exactly, of coefficients that no float is: none is exceeded."""
    thirds = [Fraction(k, 3) for k in range(1, 40)]
    asked = [(x - a) ** 4 + (y**2 - a) ** 2 + a for a in thirds]
    found = relaxation("nothing").minimize_many(asked)
    assert (found.status == "optimal").all()
    for a, proven in zip(thirds, found.certified_bounds, strict=True):
        assert Fraction(float(proven)) <= a


def test_the_order_does_not_matter():
    asked = quartics(30, 1)
    there, back = (relaxation("ball").minimize_many(asked[::step]) for step in (1, -1))
    assert (there.bounds == back.bounds[::-1]).all()
    assert (there.certified_bounds == back.certified_bounds[::-1]).all()


def test_what_is_not_optimal_at_once_is_asked_alone():
    odd = [-(x**4) + y**4, 10**12 * x**4 + y**4 + x]
    found = relaxation("nothing").minimize_many([*quartics(2), *odd])
    assert found.status[2] == relaxation("nothing").minimize(odd[0]).status != "optimal"
    assert np.isnan(found.certified_bounds[2]) and (found.status[:2] == "optimal").all()
    assert Fraction(float(found.certified_bounds[3])) < 0


@pytest.mark.parametrize(
    "system",
    [[x**2 == 1, y**2 == 1], [(x - 2000) * (2001 - x) >= 0, y**2 <= 1], [sd.for_all(y, x + y**2 >= 0)]],
)
def test_other_sets_have_no_family(system):
    given = sd.Relaxation(sd.System(*system), 4)
    assert many._family(given._demand(x), [x**2 + x]) is None


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
