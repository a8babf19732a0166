"""SOSTOOLS and SOSOPT (demos and their manuals), SparsePOP (its example problems)."""

import math
from collections.abc import Iterator
from fractions import Fraction as F

import sosdp as sd

from . import sumofsquares_jl as jl
from .case import Case

S = sd.System
x, y, z = sd.variables("x y z")


def cases() -> Iterator[Case]:
    yield from sostools()
    yield from sparsepop()


def sostools() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-5):
        return Case("SOSTOOLS", name, run, expected, tolerance)

    first = 2 * x**4 + 2 * x**3 * y - x**2 * y**2 + 5 * y**4
    yield case("demo 1", lambda: sd.prove_sos(first), "proved")
    yield case("demo 2", demo2, "feasible")
    goldstein = (1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)) * (
        30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    )
    yield case("demo 3", lambda: sd.minimize(goldstein), 3.0)
    v = sd.variables("w", 5)
    horn = sum(jl.HORN[i][j] * v[i] ** 2 * v[j] ** 2 for i in range(5) for j in range(5))
    yield case("demo 4", lambda: sd.prove_sos(sum(w**2 for w in v) * horn), "proved")
    yield case("demo 5", lambda: jl.singular_value(0.8724), "feasible")
    yield case("demo 6", lambda: jl.maxcut(F(4)), "feasible")
    for degree in (3, 4, 5, 6, 7):
        yield case(
            f"demo 7 of degree {degree}",
            lambda n=degree: jl.chebyshev(n, n if n % 2 else n + 1),
            2.0 ** (degree - 1),
            1e-4,
        )
    yield case("demo 8", demo8, 1 / 37)
    yield case(
        "demo 9",
        lambda: sd.prove_sos(
            [
                [x**4 + x**2 * y**2 + x**2 * z**2, -x * y * (x**2 + y**2 + z**2)],
                [-x * y * (x**2 + y**2 + z**2), x**2 * y**2 + y**2 * z**2 + (y**2 + 2 * z**2) ** 2],
            ]
        ),
        "proved",
    )
    yield case("demo 10", jl.containment, "feasible")
    for radius, expected in ((F(9, 10), "feasible"), (F(11, 10), "infeasible")):
        yield case(f"pcontain {radius}", lambda r=radius: inside(r), expected)
    bounds = {
        "a quartic": (x**4 + y**4 - 4 * x * y, -2.0),
        "Styblinski and Tang": ((x**4 - 16 * x**2 + 5 * x) / 2, -39.166165703771),
        "three humps": (2 * x**2 - F(21, 20) * x**4 + x**6 / 6 + x * y + y**2, 0.0),
        "Matyas": (F(26, 100) * (x**2 + y**2) - F(48, 100) * x * y, 0.0),
        "Booth": ((x + 2 * y - 7) ** 2 + (2 * x + y - 5) ** 2, 0.0),
        "Himmelblau": ((x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2, 0.0),
        "Beale": (
            (F(3, 2) - x + x * y) ** 2 + (F(9, 4) - x + x * y**2) ** 2 + (F(21, 8) - x + x * y**3) ** 2,
            0.0,
        ),
    }
    for name, (p, value) in bounds.items():
        yield case(f"findbound, {name}", lambda q=p: sd.minimize(q), value, 1e-5)
    yield case(
        "findbound, on a disc",
        lambda: sd.minimize(
            x + y, S(x >= 0, y >= F(1, 2), (x**2 + y**2 - 1).equals(0), (y - x**2 - F(1, 2)).equals(0)), 4
        ),
        1.3911,
        1e-3,
    )


def demo2():
    f = [
        (-(x**3) - x * z**2) * (z**2 + 1),
        (-y - x**2 * y) * (z**2 + 1),
        (-z + 3 * x**2 * z) * (z**2 + 1) - 3 * z,
    ]
    a = sd.variables("a", 3)
    program = sd.SosProgram(a)
    v = a[0] * x**2 + a[1] * y**2 + a[2] * z**2
    program.require(v - x**2 - y**2 - z**2)
    program.require(-sum(v.diff(w) * g for w, g in zip((x, y, z), f)))
    return program.feasible()


def demo8():
    """The probability of x >= 4 for a mean of 1 and a variance of 1/4, x between 0 and 5."""
    a = sd.variables("a", 3)
    p = a[0] + a[1] * x + a[2] * x**2
    program = sd.SosProgram(a)
    program.require(p - 1, on=S(x >= 4, x <= 5), degree=2).require(p, on=S(x >= 0, x <= 5), degree=2)
    return program.minimize(a[0] + a[1] + F(5, 4) * a[2])


def inside(radius):
    """Whether x**2 + y**2 <= r**2 lies in x**4 + y**2 <= 1: it does for r <= 1."""
    program = sd.SosProgram([])
    s = program.sum_of_squares("pc", [x, y], 2)
    return program.require(1 - x**4 - y**2 - s * (radius**2 - x**2 - y**2)).feasible()


def sparsepop() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-5):
        return Case("SparsePOP", name, run, expected, tolerance)

    x1, x2, x3 = v = sd.variables("x", 3)
    unknowns = sd.variables("u", 5)
    cost = sum(F(c) * w for c, w in zip((42, 44, 45, 47, F(95, 2)), unknowns)) - 50 * sum(
        w**2 for w in unknowns
    )
    knapsack = S(
        20 * unknowns[0] + 12 * unknowns[1] + 11 * unknowns[2] + 7 * unknowns[3] + 4 * unknowns[4] <= 40,
        [w * (1 - w) >= 0 for w in unknowns],
    )
    yield case("Bex2_1_1 of degree 6", lambda: sd.minimize(cost, knapsack, 6), -17.0, 1e-5)
    for n in (4, 8, 16, 40):
        w = sd.variables("r", n)
        rosenbrock = 1 + sum(100 * (w[k] - w[k - 1] ** 2) ** 2 + (1 - w[k]) ** 2 for k in range(1, n))
        box = S([q**2 <= 16 for q in w])
        yield case(f"Rosenbrock({n})", lambda p=rosenbrock, k=box: sd.minimize(p, k, 4), 1.0, 1e-4)
    for n in (4, 8, 16):
        w = sd.variables("r", n)
        four, one, two = (S([q**2 <= bound for q in w]) for bound in (16, 1, 4))
        singular = sum(
            (w[k] + 10 * w[k + 1]) ** 2
            + 5 * (w[k + 2] - w[k + 3]) ** 2
            + (w[k + 1] - 2 * w[k + 2]) ** 4
            + 10 * (w[k] - 10 * w[k + 3]) ** 4
            for k in range(0, n - 3, 2)
        )
        yield case(f"ChainedSingular({n})", lambda p=singular: sd.minimize(p, None, 4), 0.0, 1e-5)
        wood = 1 + sum(
            100 * (w[k + 1] - w[k] ** 2) ** 2
            + (1 - w[k]) ** 2
            + 90 * (w[k + 3] - w[k + 2] ** 2) ** 2
            + (1 - w[k + 2]) ** 2
            + 10 * (w[k + 1] + w[k + 3] - 2) ** 2
            + (w[k + 1] - w[k + 3]) ** 2 / 10
            for k in range(0, n - 3, 2)
        )
        yield case(f"ChainedWood({n})", lambda p=wood, k=four: sd.minimize(p, k, 4), 1.0, 1e-4)
        banded = sum(
            (
                w[k] * (2 + 5 * w[k] ** 2)
                + 1
                - sum((1 + w[j]) * w[j] for j in range(max(0, k - 1), min(n, k + 2)) if j != k)
            )
            ** 2
            for k in range(n)
        )
        if n < 16:
            yield case(
                f"BroydenBand({n})",
                lambda p=banded, k=one: sd.minimize(p, k, 6),
                0.0,
                1e-4,
            )
        tri = sum(
            ((3 - 2 * w[k]) * w[k] - (w[k - 1] if k else 0) - 2 * (w[k + 1] if k + 1 < n else 0) + 1) ** 2
            for k in range(n)
        )
        yield case(f"BroydenTri({n})", lambda p=tri, k=two: sd.minimize(p, k, 4), 0.0, 1e-5)
    st = S(-6 * x1 - 3 * x2 + 8 <= 0, 3 * x1 - x2 - 3 <= 0, x1 * (10 - x1) >= 0, x2 * (10 - x2) >= 0)
    yield case("a linear bound", lambda: sd.minimize(x1 + x2, st, 2), float(F(17, 15) + F(2, 5)), 1e-5)
    mean = S(math.prod(v) - 1 >= 0, [w * (3 - w) >= 0 for w in v])
    yield case("arithmetic and geometric mean", lambda: sd.minimize(x1 + x2 + x3, mean, 6), 3.0, 1e-4)
