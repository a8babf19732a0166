"""GloptiPoly 3 and its manuals, MomentOpt, ncpol2sdpa (commutative), MultivariateMoments, YALMIP."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np

import sosdp as sd

from .case import Case

S = sd.System
x, y, z = sd.variables("x y z")
CAMEL = 4 * x**2 + x * y - 4 * y**2 - F(21, 10) * x**4 + 4 * y**4 + x**6 / 3


@dataclass(frozen=True)
class Atoms:
    """An answer about extracted points."""

    status: str
    bound: float = math.nan
    certified_bound: None = None
    reason: str = ""


def atoms_are(result, expected, tolerance=1e-3):
    """``proved`` if exactly these points were extracted."""
    points = result.atoms()
    wanted = np.array(sorted(expected), dtype=float)
    if points.shape != wanted.shape:
        return Atoms("unknown", reason=f"{points.tolist()} {result.atoms_reason}")
    order = np.lexsort(points.round(2).T[::-1])
    close = np.abs(points[order] - wanted).max() <= tolerance
    return Atoms("proved" if close else "refuted", reason=str(points.tolist()))


def cases() -> Iterator[Case]:
    yield from gloptipoly()
    yield from momentopt()
    yield from ncpol2sdpa()
    yield from multivariate_moments()
    yield from yalmip()


def gloptipoly() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-5):
        return Case("GloptiPoly 3", name, run, expected, tolerance)

    yield from polynomials(case)
    yield from measures(case)


def polynomials(case):
    yield case("six-hump camel", lambda: sd.minimize(CAMEL, None, 6), -1.0316285)
    yield case(
        "six-hump camel, minimisers",
        lambda: atoms_are(
            sd.minimize(CAMEL, S(x**2 + y**2 <= 4), 8, prune=False),
            [(-0.0898420, 0.7126564), (0.0898420, -0.7126564)],
        ),
        "proved",
    )
    # manual of GloptiPoly 2, section 3.2: orders 1 to 4
    concave = -2 * x + y - z
    on = S(
        24 - 20 * x + 9 * y - 13 * z + 4 * x**2 - 4 * x * y + 4 * x * z + 2 * y**2 - 2 * y * z + 2 * z**2
        >= 0,
        x + y + z <= 4,
        3 * y + z <= 6,
        x >= 0,
        x <= 2,
        y >= 0,
        z >= 0,
        z <= 3,
    )
    for degree, value in ((2, -6.0), (4, -5.6923), (6, -4.0684), (8, -4.0)):
        yield case(
            f"concave quadratic of degree {degree}", lambda n=degree: sd.minimize(concave, on, n), value, 1e-3
        )
    # manual of GloptiPoly 3: mean, variance, and Chebyshev inequalities by moments
    yield case(
        "motzkin in a ball",
        lambda: sd.minimize(x**2 * y**2 * (x**2 + y**2 - 1), S(x**2 + y**2 <= 4), 8),
        -1 / 27,
    )
    yield case(
        "motzkin in a ball, minimisers",
        lambda: atoms_are(
            sd.minimize(x**2 * y**2 * (x**2 + y**2 - 1), S(x**2 + y**2 <= 4), 10, prune=False),
            [(i / 3**0.5, j / 3**0.5) for i in (-1, 1) for j in (-1, 1)],
            1e-2,
        ),
        "proved",
    )
    yield case(
        "quadratic on a disc",
        lambda: sd.maximize(
            (x - 1) ** 2 + (x - y) ** 2 + (y - 3) ** 2,
            S(1 - (x - 1) ** 2 >= 0, 1 - (x - y) ** 2 >= 0, 1 - (y - 3) ** 2 >= 0),
            4,
        ),
        2.0,
    )
    partition = [1, 2, 3]
    v = sd.variables("v", 3)
    yield case(
        "a partition",
        lambda: sd.minimize(sum(c * w for c, w in zip(partition, v)) ** 2, S([w**2 == 1 for w in v]), 4),
        0.0,
    )
    yield case(
        "a system of equations",
        lambda: sd.feasible(
            S(
                (x**2 + y**2 - 1).equals(0),
                (x**3 + (2 + z) * x * y + y**3 - 1).equals(0),
                (z**2 - 2).equals(0),
            ),
            6,
        ),
        "feasible",
    )
    yield case(
        "two circles that do not meet",
        lambda: sd.feasible(S(x**2 + y**2 == 1, (x - 3) ** 2 + y**2 == 1), 2),
        "infeasible",
    )


def measures(case):
    for degree in (2, 4, 6):
        yield case(
            f"rational function {degree}",
            lambda n=degree: sd.minimize_ratios([(x**2 - x, x**2 + 2 * x + 2)], None, n),
            (3 - 10**0.5) / 2,
        )
    yield case(
        "rational, two variables",
        lambda: sd.minimize_ratios([(x**2 + y**2 - x * y, 1 + x**2 + y**2)], S(x**2 + y**2 <= 4), 4),
        0.0,
    )
    for degree, value in ((4, 3.4610704), (6, 3.2783402), (8, 3.1753207)):
        yield case(f"volume of a disc {degree}", lambda n=degree: disc_volume(n), value, 1e-4)
    for p in (1, 2, 3, 4):
        yield case(f"a mass of {p}", lambda m=p: mass(m), 1 / p)
    yield case("control: linear and quadratic", lambda: control(x**2, 2, 4), 1.0, 1e-4)
    yield case("probability that x >= 4, mean 1, variance 1/4", lambda: tail(4), 1 / 37)
    yield case("probability that x >= 3, mean 1, variance 1/4", lambda: tail(3), 1 / 17)
    yield case("probability that x >= 2, mean 1, variance 1/4", lambda: tail(2), 1 / 5)


def disc_volume(degree):
    box = {x: (F(-6, 5), F(6, 5)), y: (F(-6, 5), F(6, 5))}
    return sd.volume(S(x**2 + y**2 <= 1), box, degree)


def mass(m):
    """min of the integral of x**2, mass m, first moment 1: 1 / m."""
    program = sd.MeasureProgram()
    mu = program.measure([x], on=S(x**2 <= 4), mass=m)
    return program.require(mu(x) == 1).minimize(mu(x**2))


def control(final, bound, degree):
    t, u = sd.variables("t u")
    program = sd.MeasureProgram()
    occupation = program.measure([t, x, u], on=S(t * (1 - t) >= 0, x**2 <= bound**2, u**2 <= bound**2))
    end = program.measure([x], on=S(x**2 <= bound**2))
    for v in sd.monomials([t, x], degree):
        flow = v.diff(t) + v.diff(x) * u
        if flow.degree <= degree:
            program.require(end(v.subs({t: 1})) - v.subs({t: 0, x: 1}).constant == occupation(flow))
    return program.minimize(occupation(x**2 + u**2) + end(final), degree=degree)


def tail(level):
    """The largest mass beyond a level: two measures, on [level, 5] and on [0, 5]."""
    program = sd.MeasureProgram()
    high = program.measure([x], on=S(x >= level, x <= 5))
    low = program.measure([x], on=S(x >= 0, x <= 5))
    program.require(high.mass + low.mass == 1, high(x) + low(x) == 1, high(x**2) + low(x**2) == F(5, 4))
    return program.maximize(high.mass)


def momentopt() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-5):
        return Case("MomentOpt", name, run, expected, tolerance)

    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
    on = S(1 - x**2 >= 0, 1 - y**2 >= 0)
    yield case("motzkin of degree 8", lambda: single(motzkin, [x, y], on, 8), 0.0)
    yield case("motzkin of degree 10", lambda: single(motzkin, [x, y], on, 10), 0.0)
    first = S((x * y - 1).equals(0), (x**2 - 2).equals(0), 2 * x - x**2 >= 0)
    yield case("mom1", lambda: single(y, [x, y], first, 6), 1 / 2**0.5)
    second = S((x**2 - 2).equals(0), ((y**2 - 3) * (x * y - 2)).equals(0), x >= 0, 2 - y >= 0)
    yield case("mom2", lambda: single(x, [x, y], second, 8, "maximize"), 2**0.5)
    third = S(1 - x**2 - y**2 >= 0, x**3 - y**2 >= 0)
    yield case("mom3 with x >= 0", lambda: single(x, [x, y], third & S(x >= 0), 8), 0.0)
    for degree in (8, 12):
        # the disc of its example, with Stokes' theorem and a larger box: pi up to what the degree allows
        yield case(f"volume {degree}", lambda n=degree: disc_volume(n), math.pi, {8: 2e-2, 12: 4e-3}[degree])


def single(p, variables, on, degree, sense="minimize"):
    program = sd.MeasureProgram()
    mu = program.measure(variables, on=on, mass=1)
    return getattr(program, sense)(mu(p), degree)


def ncpol2sdpa() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-4):
        return Case("ncpol2sdpa", name, run, expected, tolerance)

    binary = S(x**2 == x, -(y**2) + y + F(1, 2) >= 0)
    yield case("commutative example", lambda: sd.minimize(2 * x * y, binary, 4), -0.7320505)
    yield case("camel", lambda: sd.minimize(CAMEL, None, 6), -1.0316283)
    w = sd.variables("w", 9)
    edges = [(k, k + 1) for k in range(8)] + [(k, k + 2) for k in range(7)] + [(0, 7), (1, 8), (0, 8)]
    cut = sum(F(1, 2) * (1 - w[i] * w[j]) for i, j in edges)
    yield case("maximum cut", lambda: sd.maximize(cut, S([v**2 == 1 for v in w]), 2), 13.5, 1e-4)
    sparse = S(1 - x**2 - y**2 >= 0, 1 - y**2 - z**2 >= 0)
    for sparsity in ("correlative", "dense", "term"):
        yield case(
            f"chordal extension {sparsity}",
            lambda s=sparsity: sd.minimize(y - 2 * x * y + y * z, sparse, 4, sparsity=s),
            -2.2443690,
        )


def multivariate_moments() -> Iterator[Case]:
    def case(name, run, expected="proved"):
        return Case("MultivariateMoments", name, run, expected)

    grids = {
        "one point": [(1, 2)],
        "two points": [(1, 2), (2, 1)],
        "three points": [(1, 2), (2, 2), (2, 3)],
        "four corners": [(-1, -1), (-1, 1), (1, -1), (1, 1)],
        "a line of three": [(0, 0), (1, 1), (2, 2)],
    }
    for name, points in grids.items():
        p = vanishing(points)
        on = S(x**2 + y**2 <= 20)
        degree = max({1: 2, 2: 4, 3: 6, 4: 6}[len(points)], p.degree)
        yield case(
            name,
            lambda q=p, k=on, n=degree, e=points: atoms_are(sd.minimize(q, k, n, prune=False), e, 2e-2),
        )
    for roots in ([1], [-1, 2], [-2, 0, 1], [-1, 0, 1, 2]):
        q = math.prod((x - r) ** 2 for r in roots)
        yield case(
            f"roots {roots}",
            lambda p=q, e=roots: atoms_are(
                sd.minimize(p, S(x**2 <= 9), 2 * len(e) + 2, prune=False), [(r,) for r in e], 2e-2
            ),
        )


def vanishing(points):
    """A sum of squares that vanishes at the points: squares of polynomials on each coordinate and a curve."""
    first = sorted({p[0] for p in points})
    second = sorted({p[1] for p in points})
    if len(first) == len(points):
        curve = np.polynomial.polynomial.polyfit(first, [dict(points)[f] for f in first], len(first) - 1)
        graph = y - sum(round(float(c), 9) * x**k for k, c in enumerate(curve))
        return math.prod(x - f for f in first) ** 2 + graph**2
    p = math.prod(x - f for f in first) ** 2 + math.prod(y - s for s in second) ** 2
    missing = [(f, s) for f in first for s in second if (f, s) not in points]
    for f, s in missing:
        away = [(x - g) for g in first if g != f] + [(y - r) for r in second if r != s]
        p = p + math.prod(away) ** 2
    return p


def yalmip() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-5):
        return Case("YALMIP", name, run, expected, tolerance)

    g = sd.variables("g")
    p = (1 + x) ** 4 + (1 - y) ** 2
    yield case("a first decomposition", lambda: sd.prove_sos(p), "proved")
    yield case("a lower bound", lambda: sd.SosProgram([g]).require(p - g).maximize(g), 0.0)
    matrix = [[1 + x**2, -x + y + x**2], [-x + y + x**2, 2 * x**2 - 2 * x * y + y**2]]
    yield case("a matrix", lambda: sd.prove_sos(matrix), "proved")
    q = 4 * x**4 + 4 * x**3 * y - 7 * x**2 * y**2 - 2 * x * y**3 + 10 * y**4
    yield case("Parrilo's quartic", lambda: sd.prove_sos(q), "proved")
    mccormick = S(x + y >= 0, x <= 1, y <= 1, x >= -1, y >= -1)
    yield case("a bilinear problem", lambda: sd.minimize(x * y, mccormick, 4), -1.0)
    yield case(
        "integers by sums of squares",
        lambda: sd.minimize((x - F(3, 10)) ** 2 + (y - F(8, 10)) ** 2, S(x**2 == x, y**2 == y), 2),
        0.13,
    )
    first, second = (
        -2 * x + y - z,
        S(
            x * (4 * x - 4 * y + 4 * z - 20) + y * (2 * y - 2 * z + 9) + z * (2 * z - 13) + 24 >= 0,
            4 - (x + y + z) >= 0,
            6 - (3 * y + z) >= 0,
            x >= 0,
            2 - x >= 0,
            y >= 0,
            z >= 0,
            3 - z >= 0,
        ),
    )
    for degree, value in ((2, -6.0), (4, -5.6923), (6, -4.0684), (8, -4.0)):
        yield case(f"moment relaxation {degree}", lambda n=degree: sd.minimize(first, second, n), value, 1e-3)
    t = sd.variables("t")
    robust = S(1 - z**2 >= 0)
    yield case(
        "robust linear program",
        lambda: sd.SosProgram([t]).require(t - 1 - z, on=robust, degree=2).minimize(t),
        2.0,
    )
    yield case("Lyapunov function", lyapunov, "feasible")
    for n in (2, 3, 4):
        v = sd.variables("v", n)
        gap = sum(w ** (2 * n) for w in v) / n - math.prod(w**2 for w in v)
        yield case(f"arithmetic and geometric mean {n}", lambda r=gap: sd.prove_sos(r), "proved")


def lyapunov():
    program = sd.SosProgram([])
    v = program.polynomial("V", [x, y], 4, even=True)
    flow = -v.diff(x) * (-x + (1 + x) * y) - v.diff(y) * (-(1 + x) * x)
    program.require(v - F(1, 100) * (x**2 + y**2)).require(flow, on=S(x**2 + y**2 <= F(1, 4)), degree=6)
    return program.feasible()
