"""Hypatia: examples/polymin, real and complex polynomials with their minima."""

from collections.abc import Iterator
from fractions import Fraction as F

import sosdp as sd

from .case import Case

S = sd.System
SUITE = "Hypatia"
x = sd.variables("x", 8)
a, b, c, d, e, f = x[:6]


def box(x, low, high):
    return S([(v - F(str(l))) * (F(str(h)) - v) >= 0 for v, l, h in zip(x, low, high)])


def ball(x, centre, square):
    return S(sum((v - c) ** 2 for v, c in zip(x, centre)) <= square)


def case(name, run, expected, tolerance=1e-5):
    return Case(SUITE, name, run, expected, tolerance)


def cases() -> Iterator[Case]:
    yield from many_variables()
    yield from two_variables()
    yield from complex_variables()


def many_variables():
    butcher = f * b**2 + e * c**2 - a * d**2 + d**3 + d**2 - a / 3 + F(4, 3) * d
    on = box(x[:6], (-1, -0.1, -0.1, -1, -0.1, -0.1), (0, 0.9, 0.5, -0.1, -0.05, -0.03))
    yield case("butcher", lambda: sd.minimize(butcher, on, 4), -1.4393333333)
    caprasse = (
        -a * c**3
        + 4 * b * c**2 * d
        + 4 * a * c * d**2
        + 2 * b * d**3
        + 4 * a * c
        + 4 * c**2
        - 10 * b * d
        - 10 * d**2
        + 2
    )
    on4 = box(x[:4], [-0.5] * 4, [0.5] * 4)
    yield case("caprasse", lambda: sd.minimize(caprasse, on4, 4), -3.1800966258, 1e-4)
    yield case("caprasse 6", lambda: sd.minimize(caprasse, on4, 6), -3.1800966258)
    heart = (
        a * f**3
        - 3 * a * f * x[6] ** 2
        + c * x[6] ** 3
        - 3 * c * x[6] * f**2
        + b * e**3
        - 3 * b * e * x[7] ** 2
        + d * x[7] ** 3
        - 3 * d * x[7] * e**2
        + F("0.9563453")
    )
    on8 = box(x, (-0.1, 0.4, -0.7, -0.7, 0.1, -0.1, -0.3, -1.1), (0.4, 1, -0.4, 0.4, 0.2, 0.2, 1.1, -0.3))
    yield case("heart", lambda: sd.minimize(heart, on8, 4), -1.36775, 1e-4)
    volterra = a * (b**2 + c**2 + d**2 - F(11, 10)) + 1
    yield case("lotkavolterra", lambda: sd.minimize(volterra, box(x[:4], [-2] * 4, [2] * 4), 4), -20.8)
    yield case("lotkavolterra 6", lambda: sd.minimize(volterra, box(x[:4], [-2] * 4, [2] * 4), 6), -20.8)
    magnetism = a**2 + 2 * sum(v**2 for v in x[1:7]) - a
    yield case("magnetism7", lambda: sd.minimize(magnetism, box(x[:7], [-1] * 7, [1] * 7), 4), -0.25)
    yield case("magnetism7_ball", lambda: sd.minimize(magnetism, ball(x[:7], [0] * 7, 7), 4), -0.25)
    yield case(
        "magnetism7 of degree 2", lambda: sd.minimize(magnetism, box(x[:7], [-1] * 7, [1] * 7), 2), -0.25
    )
    reaction = -a + 2 * b - c - F("0.835634534") * b * (1 + b)
    for degree in (2, 4):
        yield case(
            f"reactiondiffusion {degree}",
            lambda n=degree: sd.minimize(reaction, box(x[:3], [-5] * 3, [5] * 3), n),
            -36.71269068,
        )
    schwefel = (a - b**2) ** 2 + (b - 1) ** 2 + (a - c**2) ** 2 + (c - 1) ** 2
    yield case("schwefel", lambda: sd.minimize(schwefel, box(x[:3], [-10] * 3, [10] * 3), 4), 0.0)
    yield case("schwefel_ball", lambda: sd.minimize(schwefel, ball(x[:3], [0] * 3, 300), 4), 0.0)


def two_variables():
    goldstein = (1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)) * (
        30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    )
    square, disc = box(x[:2], (-2, -2), (2, 2)), ball(x[:2], (0, 0), 8)
    yield case("goldsteinprice", lambda: sd.minimize(goldstein, square, 14), 3.0, 1e-4)
    yield case("goldsteinprice_ball", lambda: sd.minimize(goldstein, disc, 12), 3.0, 1e-4)
    yield case(
        "goldsteinprice_ellipsoid", lambda: sd.minimize(goldstein, S(a**2 / 4 + b**2 / 4 <= 1), 14), 3.0, 1e-4
    )
    motzkin = 1 - 48 * a**2 * b**2 + 64 * a**2 * b**4 + 64 * a**4 * b**2
    unit = box(x[:2], (-1, -1), (1, 1))
    ellipse = S(F(11, 10) * a**2 + F(18, 10) * a * b + F(11, 10) * b**2 <= 1)
    for degree in (8, 10):
        yield case(f"motzkin {degree}", lambda n=degree: sd.minimize(motzkin, unit, n), 0.0)
        yield case(
            f"motzkin_ball {degree}", lambda n=degree: sd.minimize(motzkin, ball(x[:2], (0, 0), 2), n), 0.0
        )
    yield case("motzkin_ellipsoid", lambda: sd.minimize(motzkin, ellipse, 10), 0.0)
    robinson = 1 + a**6 + b**6 - a**4 * b**2 + a**4 - a**2 * b**4 + b**4 - a**2 + b**2 + 3 * a**2 * b**2
    for degree in (6, 8):
        yield case(f"robinson {degree}", lambda n=degree: sd.minimize(robinson, unit, n), 22 / 27)
        yield case(
            f"robinson_ball {degree}",
            lambda n=degree: sd.minimize(robinson, ball(x[:2], (0, 0), 2), n),
            22 / 27,
        )
    rosenbrock = (1 - a) ** 2 + 100 * (a**2 - b) ** 2
    for degree in (4, 6):
        yield case(
            f"rosenbrock {degree}",
            lambda n=degree: sd.minimize(rosenbrock, box(x[:2], (-5, -5), (10, 10)), n),
            0.0,
        )
        yield case(
            f"rosenbrock_ball {degree}",
            lambda n=degree: sd.minimize(rosenbrock, ball(x[:2], (F(5, 2),) * 2, F(225, 2)), n),
            0.0,
        )


def complex_variables():
    z, w = sd.complex_variables("z w")
    unit1 = [1 - z.abs2() >= 0]
    balls, boxes = [1 - z.abs2() - w.abs2() >= 0], [1 - z.abs2() >= 0, 1 - w.abs2() >= 0]
    both = z.abs2() + w.abs2()
    dense = 1 + 2 * z.real + z.abs2() + 2 * (z**2).real + 2 * (z**2 * z.conj()).real + z.abs2() ** 2
    for name, p, set_, degree, value in (
        ("abs1d", 1 + z.abs2(), [], 2, 1),
        ("absunit1d", 1 + z.abs2(), unit1, 2, 1),
        ("negabsunit1d", -z.abs2(), unit1, 2, -1),
        ("absball2d", 1 + both, balls, 2, 1),
        ("absbox2d", 1 + both, boxes, 4, 1),
        ("negabsbox2d", -both, boxes, 2, -2),
        ("denseunit1d", dense, unit1, 4, 0),
    ):
        yield case(f"complex {name}", lambda q=p, k=set_, n=degree: sd.minimize(q, k, n), float(value))
