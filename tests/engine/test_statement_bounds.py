"""Bounds of polynomials in exact numbers and floats, far apart in size, against enumeration in fractions."""

import itertools
import random
from fractions import Fraction

import pytest

import sosdp as sd
from tests.fuzz.instances import value

x, y, z = XS = sd.variables("x y z")
CUBE = sd.System([v**2 == 1 for v in XS])
POINTS = [dict(zip("xyz", p, strict=True)) for p in itertools.product((Fraction(-1), Fraction(1)), repeat=3)]


def random_polynomial(rng, exact):
    def number():
        if exact:
            thirds = Fraction(rng.randint(-9, 9), 3)
            return rng.choice(
                [thirds, rng.randint(-(10**18), 10**18), 10**17 - 1, -(10**17), Fraction(1, 10**20)]
            )
        return rng.choice([rng.uniform(-3, 3), 0.1, rng.uniform(-1, 1) * 10.0 ** rng.randint(-5, 17)])

    monomials = sd.monomials(XS, 2).tolist()
    return sum((number() * rng.choice(monomials) for _ in range(3)), sd.polynomial(0))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
def test_mixed_polynomials_are_bounded_as_they_were_stated(seed):
    rng = random.Random(seed)
    for _ in range(15):
        f, e = random_polynomial(rng, False), random_polynomial(rng, True)
        small = e.is_exact and max((abs(c) for c in e.coefs.tolist()), default=0) < 2**53
        small = small and all(Fraction(c).denominator == 1 for c in e.coefs.tolist())
        low, high = [value(f, t) for t in POINTS], [value(e, t) for t in POINTS]
        p, wanted = rng.choice(
            [
                (f + e, [a + b for a, b in zip(low, high, strict=True)]),
                (e - f, [b - a for a, b in zip(low, high, strict=True)]),
                (f * e, [a * b for a, b in zip(low, high, strict=True)]),
                (sum([e, f, e]), [2 * b + a for a, b in zip(low, high, strict=True)]),
            ]
        )
        values = [value(p, t) for t in POINTS]
        assert small or values == wanted
        answer = sd.minimize(p, CUBE, 6 if p.degree > 2 else 4)
        assert answer.certified_bound is not None, answer
        proven, truth = Fraction(answer.certified_bound), min(values)
        size = max([Fraction(1), *(abs(Fraction(c)) for c, _ in p.terms())])
        assert truth - size / 10**4 <= proven <= truth


@pytest.mark.parametrize("power", [10, 12, 14, 17])
def test_large_coefficients_are_no_rays(power):
    """Clarabel takes them for unbounded or infeasible: points of the cube lie low, but E[1] = 1 there."""
    for p in (10**power * x * y + 3 * x, 3 * 10**power * x + 5 * 10**power * y * z - 10**power + x):
        assert sd.minimize(p, CUBE, 4, solver="clarabel").status not in ("unbounded", "infeasible")
        answer = sd.minimize(p, CUBE, 4)
        truth = min(value(p, t) for t in POINTS)
        assert answer.status == "optimal" and answer.certified_bound <= truth
        assert truth - Fraction(answer.certified_bound) <= Fraction(abs(truth), 10**5)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-6, 1e-3, 1e6, 1e9, 1e12])
def test_the_unit_of_the_objective_says_nothing(unit):
    """The six-hump camel's minimum in other units, and no point but its two minimisers."""
    camel = (4 - Fraction(21, 10) * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2
    answer = sd.minimize(Fraction(unit) * camel, sd.System(x**2 <= 9, y**2 <= 4), 6)
    assert answer.certified_bound / unit <= -1.03162845 and abs(answer.bound / unit + 1.0316285) < 1e-4
    for point in answer.atoms().tolist():
        assert abs(abs(point[0]) - 0.0898) < 1e-3 and abs(abs(point[1]) - 0.7127) < 1e-3


def test_what_is_unbounded_is_still_said_to_be():
    assert sd.minimize(10**12 * x, sd.System(), 2).status == "unbounded"
    assert sd.minimize(10**12 * x**2 - 10**13 * y, sd.System(x**2 <= 1), 2).status == "unbounded"
