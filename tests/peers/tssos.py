"""TSSOS: test/runtests.jl, test/cpop_test.jl and examples with printed values."""

from collections.abc import Iterator
from fractions import Fraction as F

import numpy as np

import sosdp as sd

from .case import Case

S = sd.System
SUITE = "TSSOS"
x = sd.variables("x", 6)
a, b, c, d = x[:4]
one = sd.polynomial(1)


def case(name, run, expected, tolerance=2e-6):
    return Case(SUITE, name, run, expected, tolerance)


def cases() -> Iterator[Case]:
    yield from polynomials()
    yield from equations()
    yield from matrices()
    yield from symmetric()
    yield from complex_cases()


def polynomials():
    f = 1 + a**4 + b**4 + c**4 + a * b * c + b
    for options in ({}, {"sparsity": "term"}, {"sparsity": "chordal"}, {"prune": False}):
        yield case(f"unconstrained {options}", lambda o=options: sd.minimize(f, None, 4, **o), 0.4752748)
    on = S(F(1, 2) - a**2 - 2 * b**2 >= 0, a**2 + b**2 + c**2 == 1)
    for options in (
        {},
        {"sparsity": "term"},
        {"sparsity": "chordal"},
        {"quotient": "groebner"},
        {"quotient": False},
    ):
        yield case(f"constrained {options}", lambda o=options: sd.minimize(f, on, 4, **o), 0.9555474)
    floudas = S(
        2 * a**4 - 8 * a**3 + 8 * a**2 + 2 - b >= 0,
        4 * a**4 - 32 * a**3 + 88 * a**2 - 96 * a + 36 - b >= 0,
        (3 - a) * a >= 0,
        (4 - b) * b >= 0,
    )
    yield case("two quartic curves", lambda: sd.minimize(-a - b, floudas, 6), -5.508013)
    p = a**2 * b**2 * (a**2 + b**2 - 3 * c**2) + c**6
    yield case("a form in the ball", lambda: sd.minimize(p, S(a**2 + b**2 + c**2 <= 1), 6), -0.0045964)
    quadric = 3 - a**2 - c**2 + a * b**2 + 2 * b * c * d - a * d**2
    on4 = S(b >= 0, (a**2 + 3 * c**2 - 2).equals(0), d.equals(0), (a**2 + b**2 + c**2 + d**2 - 3).equals(0))
    yield case("four variables", lambda: sd.minimize(quadric, on4, 4), -(2**0.5) + 1, 1e-5)
    six = -25 * (a - 2) ** 2 - (b - 2) ** 2 - (c - 1) ** 2 - (d - 4) ** 2 - (x[4] - 1) ** 2 - (x[5] - 4) ** 2
    floudas31 = S(
        (c - 3) ** 2 + d - 4 >= 0,
        (x[4] - 3) ** 2 + x[5] - 4 >= 0,
        2 - a + 3 * b >= 0,
        2 + a - b >= 0,
        6 - a - b >= 0,
        a + b - 2 >= 0,
        (5 - c) * (c - 1) >= 0,
        (6 - d) * d >= 0,
        (5 - x[4]) * (x[4] - 1) >= 0,
        (10 - x[5]) * x[5] >= 0,
        a >= 0,
        b >= 0,
    )
    for options in ({}, {"sparsity": "term"}, {"sparsity": "correlative"}):
        yield case(
            f"six variables {options}", lambda o=options: sd.minimize(six, floudas31, 4, **o), -310.0, 1e-5
        )
    chain = (
        1 + sum(v**4 for v in x) + a * b * c + c * d * x[4] + c * d * x[5] + c * x[4] * x[5] + d * x[4] * x[5]
    )
    balls = S(a**2 + b**2 + c**2 <= 1, sum(v**2 for v in x[2:]) == 1)
    for sparsity in ("correlative", "correlative+term", "correlative+chordal", "dense"):
        yield case(
            f"two cliques {sparsity}", lambda s=sparsity: sd.minimize(chain, balls, 4, sparsity=s), 0.71742533
        )


def equations():
    system = S(
        (5 * a**9 - 6 * a**5 * b + a * b**4 + 2 * a * c).equals(0),
        (-2 * a**6 * b + 2 * a**2 * b**3 + 2 * b * c).equals(0),
        (a**2 + b**2 - F(265625, 1000000)).equals(0),
    )
    yield case("equations of degree 9", lambda: sd.minimize(one, system, 10), 1.0)
    system3 = S(
        (a**2 - 2 * a * c + 5).equals(0), (a * b**2 + b * c + 1).equals(0), (3 * b**2 - 8 * a * c).equals(0)
    )
    yield case("three equations", lambda: sd.minimize(one, system3, 6), 1.0)
    x1, x2, x3, x4, x5, x6 = x
    katsura = [
        2 * x6**2 + 2 * x5**2 + 2 * x4**2 + 2 * x3**2 + 2 * x2**2 + x1**2 - x1,
        x6 * x5 + x5 * x4 + 2 * x4 * x3 + 2 * x3 * x2 + 2 * x2 * x1 - x2,
        2 * x6 * x4 + 2 * x5 * x3 + 2 * x4 * x2 + x2**2 + 2 * x3 * x1 - x3,
        2 * x6 * x3 + 2 * x5 * x2 + 2 * x3 * x2 + 2 * x4 * x1 - x4,
        x3**2 + 2 * x6 * x1 + 2 * x5 * x1 + 2 * x4 * x1 - x5,
        2 * x6 + 2 * x5 + 2 * x4 + 2 * x3 + 2 * x2 + x1 - 1,
    ]
    yield case("katsura", lambda: sd.minimize(one, S([h.equals(0) for h in katsura], x1 >= F(1, 2)), 4), 1.0)


def matrices():
    yield case("attractor", attractor, 3.437648, 1e-5)
    yield case("a quadratic form on a variety", eigenvalue, 0.29289321, 1e-5)
    yield case("sum of ratios", ratios, -0.346510, 1e-5)
    yield case("sum of ratios, order 3", lambda: ratios(6), -0.346510, 1e-3)
    roots = np.array(
        [
            [1 / 2**0.5, -1 / 3**0.5, 1 / 6**0.5],
            [0, 1 / 3**0.5, 2 / 6**0.5],
            [1 / 2**0.5, 1 / 3**0.5, -1 / 6**0.5],
        ]
    )
    entries = [-(a**2) - b**2, -((a + 1) ** 2) / 4 - (b - 1) ** 2 / 4, -((a - 1) ** 2) / 4 - (b + 1) ** 2 / 4]
    matrix = [
        [sum(float(roots[i, k] * roots[j, k]) * entries[k] for k in range(3)) for j in range(3)]
        for i in range(3)
    ]
    curved = S(sd.PSD([[1 - 4 * a * b, a], [a, 4 - a**2 - b**2]]))
    yield case(
        "least eigenvalue on a matrix set", lambda m=matrix, s=curved: least_eigenvalue(m, s, 4), -4.0, 1e-5
    )
    quartic = [[1 + a**2, a**2, b**2], [a**2, sd.polynomial(1), c**2], [b**2, c**2, sd.polynomial(1)]]
    on3 = S(sd.PSD([[2 - a**2, 1, a + b + c], [1, 2 - b**2, 1], [a + b + c, 1, 2 - c**2]]))
    yield case(
        "least eigenvalue in three variables",
        lambda: least_eigenvalue(quartic, on3, 4),
        -0.67070657,
        1e-4,
    )


def symmetric():
    cubic = a + b + c + a**4 + b**4 + c**4
    ball = S(a**2 + b**2 + c**2 <= 1)
    sphere = S(a**2 + b**2 + c**2 == 1)
    for symmetry in ("auto", "sign"):
        yield case(
            f"symmetric ball {symmetry}",
            lambda s=symmetry: sd.minimize(cubic, ball, 4, symmetry=s),
            -1.3987174,
        )
        yield case(
            f"symmetric sphere {symmetry}",
            lambda s=symmetry: sd.minimize(cubic, sphere, 4, symmetry=s),
            -1.3987174,
        )
        box = S(1 - a**2 >= 0, 1 - b**2 >= 0, 1 - c**2 >= 0)
        yield case(
            f"symmetric box {symmetry}",
            lambda s=symmetry, k=box: sd.minimize(cubic, k, 4, symmetry=s),
            -1.4174111,
        )
        cube = S(a**2 == 1, b**2 == 1, c**2 == 1)
        yield case(
            f"symmetric cube {symmetry}", lambda s=symmetry, k=cube: sd.minimize(cubic, k, 4, symmetry=s), 0.0
        )
    yield case(
        "product on the box",
        lambda: sd.minimize(a * b * c, S(1 - a**2 >= 0, 1 - b**2 >= 0, 1 - c**2 >= 0), 4),
        -1.0,
    )


def complex_cases():
    z, w, v = sd.complex_variables("z w v")
    josz = 3 - z.abs2() - 0.5j * z * w.conj() ** 2 + 0.5j * w**2 * z.conj()
    on = [
        w + w.conj() >= 0,
        z.abs2() - 0.25 * z**2 - 0.25 * z.conj() ** 2 == 1,
        z.abs2() + w.abs2() == 3,
        1j * w - 1j * w.conj() == 0,
    ]
    yield case("complex 1", lambda: sd.minimize(josz, on, 6), 0.428174)
    yield case("complex 1, real basis", lambda: sd.minimize(josz, on, 4, basis="real"), 0.428174)
    balls = [1 - z.abs2() - w.abs2() >= 0, 1 - w.abs2() - v.abs2() >= 0, 1 + w + w.conj() == 0]
    p = 2 * (z**2 * w.conj() + z * w.conj() + w * v.conj()).real
    yield case("complex 2", lambda: sd.minimize(p, balls, 4), -2.682188)
    yield case("complex 2, real basis", lambda: sd.minimize(p, balls, 4, basis="real"), -2.682188)
    sphere = 1 - z.abs2() - w.abs2() == 0
    cone = ((1 + 1j) * z**2 * w.conj() + (1 - 1j) * w * z.conj() ** 2) >= 0
    q = 2 * (z + w).real
    yield case("complex 3", lambda: sd.minimize(q, [cone, sphere], 4, basis="real"), -2.7423247)
    r = 2 * (z * w).real
    yield case("complex 4", lambda: sd.minimize(r, [sphere], 4, basis="real"), -1.0)
    on5 = [
        z.abs2() ** 2 - z**2 - z.conj() ** 2 - 4 * v.abs2() + 1 >= 0,
        w.abs2() ** 2 - w**2 - w.conj() ** 2 - 4 * v.abs2() + 1 >= 0,
        z.abs2() + w.abs2() == F(2, 3),
        3 * z * w + 3 * z.conj() * w.conj() == 2,
        9 * z.abs2() * w.abs2() == 1,
    ]
    yield case("complex 5", lambda: sd.minimize(-v.abs2(), on5, 4), -4 / 9)


def attractor():
    x = sd.variables("x", 3)
    f = [
        (x[0] ** 2 + x[1] ** 2 - F(1, 4)) * x[0],
        (x[1] ** 2 + x[2] ** 2 - F(1, 4)) * x[1],
        (x[1] ** 2 + x[2] ** 2 - F(1, 4)) * x[2],
    ]
    box = S([1 - v**2 >= 0 for v in x])
    program = sd.SosProgram([])
    v = program.polynomial("att_v", list(x), 4)
    w = program.polynomial("att_w", list(x), 6)
    along = v - sum(f[k] * v.diff(x[k]) for k in range(3))
    for p in (along, w, w - v - 1):
        program.require(p, on=box, degree=6)
    return program.minimize(sd.integrate(w, dict.fromkeys(x, (-1, 1))))


def eigenvalue():
    x, y = sd.variables("x", 3), sd.variables("y", 2)
    low = sd.variables("low")
    f = x[0] ** 2 + x[0] * x[1] + x[1] ** 2 + x[1] * x[2] + x[2] ** 2
    on = S(
        (x[0] ** 2 + x[1] ** 2 + y[0] ** 2 - 1).equals(0), (x[1] ** 2 + x[2] ** 2 + y[1] ** 2 - 1).equals(0)
    )
    return sd.SosProgram([low]).require(f - low * sum(v**2 for v in x), on=on, degree=4).maximize(low)


def ratios(degree=8):
    x, y, z = sd.variables("x y z")
    p = [x**2 + y**2 - y * z, y**2 + x**2 * z, z**2 - x + y]
    q = [1 + 2 * x**2 + y**2 + z**2, 1 + x**2 + 2 * y**2 + z**2, 1 + x**2 + y**2 + 2 * z**2]
    return sd.minimize_ratios(list(zip(p, q)), S(x**2 + y**2 + z**2 <= 1), degree)


def least_eigenvalue(matrix, on, degree):
    low = sd.variables("low")
    side = len(matrix)
    shifted = np.array(
        [[matrix[i][j] - (low if i == j else 0) for j in range(side)] for i in range(side)], dtype=object
    )
    return sd.SosProgram([low]).require_psd(shifted, on=on, degree=degree).maximize(low)
