"""``optimal`` is a claim too: answers that look right in floats, and are not (tables: program, door)."""

from fractions import Fraction as F

import pytest

import sosdp as sd

x, y, c, d = sd.variables("x y c d")
z = sd.complex_variables("z")
SIGNS = sd.variables("sign", 22)
GAPS = [F(1, 10**6), F(1, 10**7), F(1, 10**8)]


def program(*polynomials, matrices=()):
    """With unknowns that have nothing to do with it."""
    result = sd.SosProgram([c, d]).require(x**2 + c * x + d)
    for p in polynomials:
        result.require(p)
    for m in matrices:
        result.require_psd(m)
    return result.minimize(d)


def distant(place):
    u, v = x - place, y - place
    return {
        "coupled": lambda: program((u - v) ** 4 + (u + v) ** 2 - 7),
        "factor": lambda: program((1 + x**2) * u**4 - 7),
        "matrix": lambda: program(matrices=[[[u**2 - 1, u], [u, u**2 + 5]]]),
        "diagonal": lambda: program(matrices=[[[u**2 - 1, 0], [0, 1]]]),
    }


@pytest.mark.parametrize("place", [0, 2000, 800004])
@pytest.mark.parametrize("name", distant(0))
def test_no_coefficients_exist_wherever_the_polynomials_are(name, place):
    result = distant(place)[name]()
    assert result.status == "infeasible" and result.steps


@pytest.mark.parametrize("place", [2000, 800004])
def test_a_bound_is_found_wherever_the_polynomial_is(place):
    u, v = x - place, y - place
    result = sd.minimize((u - v) ** 4 + (u + v) ** 2 - 7)
    assert result.status == "optimal" and result.bound == pytest.approx(-7, abs=1e-5)


def measures(first, second, mass, *wanted, objective=lambda mu, nu: mu(x**4)):
    result = sd.MeasureProgram()
    mu, nu = result.measure([x], on=first, mass=mass), result.measure([y], on=second, mass=1)
    return result.require(*(w(mu, nu) for w in wanted)).minimize(objective(mu, nu))


def spread(mass):
    return lambda mu, nu: mu(x**2) == mass


NO_SECOND = {  # what the second of two measures cannot satisfy
    "variance": (lambda mu, nu: nu(y) == F(11, 10), lambda mu, nu: nu(y**2) == F(6, 5)),
    "square": (lambda mu, nu: nu((y - 1) ** 2) == -F(1, 1000),),
    "little": (lambda mu, nu: nu(y) == 1, lambda mu, nu: nu(y**2) == F(999, 1000)),
}
SUPPORTS = {"line": (None, None), "box": (x**2 <= 4, y**2 <= 4), "half-line": (x >= -2, y >= -2)}


@pytest.mark.few(9)
@pytest.mark.parametrize("mass", [10**4, 10**6, 10**8])
@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("name", NO_SECOND)
def test_a_large_measure_hides_no_small_one(name, support, mass):
    result = measures(*SUPPORTS[support], mass, spread(mass), *NO_SECOND[name])
    assert result.status in ("infeasible", "inaccurate")


@pytest.mark.parametrize("mass", [10**4, F(1, 10**6)])
@pytest.mark.parametrize("support", SUPPORTS)
def test_measures_of_different_sizes_have_their_optimum(support, mass):
    both = (spread(mass), lambda mu, nu: nu(y) == 1)
    result = measures(*SUPPORTS[support], mass, *both, objective=lambda mu, nu: mu(x**4) + nu(y**4))
    assert result.status == "optimal" and result.bound == pytest.approx(float(mass + 1), rel=1e-5)


@pytest.mark.parametrize("end", [1e-9, 1e-12])
@pytest.mark.parametrize("support", [y**2 <= 1, (y >= -10, y <= 10)], ids=str)
def test_a_measure_from_a_tiny_end_on_is_not_nothing(end, support):
    means = (lambda mu, nu: mu(x) == 5, lambda mu, nu: nu(y) == 1)
    result = measures(x >= end, support, 1, *means, objective=lambda mu, nu: mu(x**2) + nu(y**2))
    assert result.status != "optimal" or result.bound == pytest.approx(26, rel=1e-4)


def empty(gap):
    disc = [x + y >= 2 + gap, x**2 + y**2 <= 2]
    return {
        "complex disc": lambda: sd.minimize(z + z.conj(), [z.abs2() <= 1, z + z.conj() >= 2 + gap]),
        "complex ring": lambda: sd.minimize(z + z.conj(), [z.abs2() <= 1, z.abs2() >= 1 + gap]),
        "symmetric": lambda: sd.minimize(x**2 + y**2, disc, symmetries=[{x: y, y: x}]),
        "boolean": lambda: sd.minimize(x - y, [x**2 == x, y**2 == y, x + y >= 1 + gap, x + y <= 1]),
        "signs": lambda: sd.minimize(x - y, [x**2 == 1, y**2 == 1, x * y >= 1 + gap]),
        "many signs": lambda: sd.minimize(
            SIGNS[0] + SIGNS[1], [*(v**2 == 1 for v in SIGNS), sum(SIGNS) >= len(SIGNS) + gap]
        ),
        "double root": lambda: sd.minimize(x - y, [(x - 1) ** 2 == 0, y**2 <= 1, x * y >= 1 + gap]),
        "double zero": lambda: sd.minimize(x - y, [x**2 == 0, y**2 <= 1, x + y >= 1 + gap]),
        "matrix": lambda: sd.minimize(x - y, [sd.PSD([[x, 1], [1, y]]), x + y <= 2 - gap]),
    }


@pytest.mark.few(6)
@pytest.mark.parametrize("gap", GAPS, ids=str)
@pytest.mark.parametrize("name", empty(0))
def test_no_optimum_on_a_confined_set_that_is_empty(name, gap):
    assert empty(gap)[name]().status in ("infeasible", "inaccurate")


@pytest.mark.parametrize("name", [n for n in empty(0) if n not in ("matrix", "complex disc", "complex ring")])
def test_an_optimum_on_a_confined_set_that_has_a_point(name):
    assert empty(F(0))[name]().status == "optimal"


@pytest.mark.parametrize("place", [10**3, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("width", [1, F(1, 10**3), F(1, 10**8)], ids=str)
def test_a_narrow_box_is_measured_in_its_width(place, width):
    p = (x - place - width / 4) * (x - place - width)
    least, on = -((F(3, 8) * width) ** 2), [x >= place, x <= place + width]
    for result in (sd.minimize(p, on), sd.SosProgram([c]).require(p - c, on=on).maximize(c)):
        assert result.status == "optimal" and result.bound == pytest.approx(float(least), rel=1e-4)
        assert result.certified_bound <= least


@pytest.mark.parametrize("place", [0, F(4049, 2)], ids=str)
@pytest.mark.parametrize("unit", [1, F(1, 10**4), F(1, 10**8)], ids=str)
def test_several_unknowns_are_right_beside_what_they_say_in_any_unit(unit, place):
    """The tangent of a square; measures of a given mean are the dual."""
    p, mean, least = unit * (x - place) ** 2 / 2, place + F(3, 10), unit * F(9, 200)
    result = sd.SosProgram([c, d]).require(p - c - d * x).maximize(c + d * mean)
    assert result.status == "optimal" and result.bound == pytest.approx(float(least), rel=1e-3)


def test_an_objective_of_many_terms_varies_by_all_of_them():
    """A chain of 400 spins, whose bracket is open by 4e-8 of the value."""
    spins = sd.variables("spin", 400)
    result = sd.minimize(
        sum(v * ((-1) ** (k * k % 7 // 2) * w + k % 3 - 1) for k, (v, w) in enumerate(zip(spins, spins[1:]))),
        [v**2 == 1 for v in spins],
    )
    assert result.status == "optimal" and result.bound == pytest.approx(result.certified_bound, rel=1e-6)
