"""Classical global optimisation: test functions of the literature, pooling, univariate and trust-region problems.

Optima are closed forms or are found again by local search from many points, the roots of a derivative, or the
enumeration of vertices and faces.
"""

# one case a line, with its source
# ruff: noqa: E501

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction as F

import numpy as np
from scipy.optimize import linprog

import sosdp as sd
from families.toolbox import Case, P, close, multistart, univariate_minimum

x, y, z, w = sd.variables("x y z w")


def box(variables, low, high) -> list[P]:
    """(v - low) (high - v) >= 0: one inequality a variable."""
    return [(v - low) * (high - v) for v in variables]


def test_functions() -> Iterator[Case]:
    """Functions of two to eight variables; most are sums of squares with a zero, hence exact at once."""
    a = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    b = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    known = "Goldstein and Price 1971: 3 at (0, -1); found again by local search from 60 points"
    yield searched(Case("goldstein_price", known, objective=a * b, degree=8, inequalities=box([x, y], -2, 2), optimum=3.0, relaxation=3.0), 2)  # fmt: skip
    camel = 2 * x**2 - F(21, 20) * x**4 + x**6 / 6 + x * y + y**2
    known = "three-hump camel: 0 at the origin; local search. Exact at degree 6: two solvers"
    yield searched(Case("three_hump_camel", known, objective=camel, degree=6, inequalities=box([x, y], -5, 5), optimum=0.0, relaxation=0.0), 5)  # fmt: skip
    zero = "a sum of squares with the real zero"
    beale = (F(3, 2) - x + x * y) ** 2 + (F(9, 4) - x + x * y**2) ** 2 + (F(21, 8) - x + x * y**3) ** 2
    sums = [
        ("beale", "Beale", beale, "(3, 1/2)"),
        ("booth", "Booth", (x + 2 * y - 7) ** 2 + (2 * x + y - 5) ** 2, "(1, 3)"),
        ("himmelblau", "Himmelblau", (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2, "(3, 2)"),
        (
            "matyas",
            "Matyas",
            F(13, 50) * (x**2 + y**2) - F(12, 25) * x * y,
            "0; the form is positive definite",
        ),
        (
            "powell_singular",
            "Powell, on [-4, 4]^4",
            (x + 10 * y) ** 2 + 5 * (z - w) ** 2 + (y - 2 * z) ** 4 + 10 * (x - w) ** 4,
            "0",
        ),  # fmt: skip
    ]
    for name, who, f, where in sums:
        around = box([x, y, z, w], -4, 4) if name == "powell_singular" else []
        yield Case(
            name, f"{who}: {zero} {where}", objective=f, inequalities=around, optimum=0.0, relaxation=0.0
        )
    v = sd.variables("v", 8)
    rosen = sum(100 * (v[i + 1] - v[i] ** 2) ** 2 + (1 - v[i]) ** 2 for i in range(4))
    yield Case("rosenbrock_box5", f"Rosenbrock on [-2, 2]^5: {zero} (1, ..., 1)", objective=rosen, inequalities=box(v[:5], -2, 2), optimum=0.0, relaxation=0.0)  # fmt: skip
    s = sum((k + 1) * v[k] for k in range(4)) / 2
    zakharov = sum(t**2 for t in v[:4]) + s**2 + s**4
    yield Case("zakharov4", f"Zakharov: {zero} 0", objective=zakharov, optimum=0.0, relaxation=0.0)
    dixon = (v[0] - 1) ** 2 + sum((k + 1) * (2 * v[k] ** 2 - v[k - 1]) ** 2 for k in range(1, 5))
    yield Case("dixon_price5", f"Dixon and Price: {zero} 2^(-(2^i-2)/2^i)", objective=dixon, optimum=0.0, relaxation=0.0)  # fmt: skip
    n = 8
    trid = sum((t - 1) ** 2 for t in v) - sum(v[i] * v[i + 1] for i in range(n - 1))
    yield Case("trid8", "Neumaier's Trid: strictly convex, minimum -n(n+4)(n-1)/6 at i(n+1-i)", objective=trid, optimum=-112.0, relaxation=-112.0)  # fmt: skip
    single = univariate_minimum((x**4 - 16 * x**2 + 5 * x) / 2, -5, 5)
    for n in (3, 8):
        f = sum((t**4 - 16 * t**2 + 5 * t) / 2 for t in v[:n])
        yield Case(f"styblinski_tang{n}", "Styblinski-Tang: separable, n times a univariate minimum (roots of the derivative); univariate, so a sum of squares", objective=f, optimum=n * single, relaxation=n * single)  # fmt: skip
    bump = x**2 * y**2 * (x**2 + y**2 - 1)
    known = (
        "Lasserre 2001: -1/27 at x**2 = y**2 = 1/3 (calculus); exact on this disc at degree 8: two solvers"
    )
    yield searched(Case("lasserre_bump", known, objective=bump, inequalities=[1 - x**2 - y**2], degree=8, optimum=-1 / 27, relaxation=-1 / 27), 1)  # fmt: skip


def univariate() -> Iterator[Case]:
    """On an interval the relaxation of full degree is exact (Lukacs), so the minimum is the value."""
    listed = [
        (
            "floudas_4_3",
            sum(
                F(c) * x ** (k + 1)
                for k, c in enumerate(["0.000089248", "-0.0218343", "0.998266", "-1.6995", "0.2"])
            ),
            0,
            10,
        ),  # fmt: skip
        ("floudas_4_6", x**6 - 15 * x**4 + 27 * x**2 + 250, -5, 5),
        ("floudas_4_7", x**4 - 3 * x**3 - F(3, 2) * x**2 + 10 * x, -5, 5),
    ]
    for name, f, low, high in listed:
        yield line(name, f, low, high, "Floudas et al. 1999, chapter 4")
    chebyshev = [sd.polynomial(1), x]
    for _ in range(15):
        chebyshev.append(2 * x * chebyshev[-1] - chebyshev[-2])
    for k in (8, 16):
        case = line(f"chebyshev{k}", chebyshev[k], -1, 1, "Chebyshev polynomial: -1")
        close(case.optimum or 0.0, -1.0, 1e-12)
        yield case
    roots = sd.polynomial(1)
    for k in range(1, 9):
        roots = roots * (x - k)
    yield line("wilkinson8", roots, 1, 8, "Wilkinson's polynomial with 8 roots between its outer ones")


def line(name: str, f: P, low: int, high: int, source: str) -> Case:
    """A univariate polynomial on an interval."""
    value = univariate_minimum(f, low, high)
    degree = f.degree + f.degree % 2
    source += "; minimum from the roots of the derivative, relaxation exact by Lukacs' theorem"
    return Case(name, source, objective=f, inequalities=[(x - low) * (high - x)], degree=degree, optimum=value, relaxation=value)  # fmt: skip


def pooling() -> Iterator[Case]:
    """Haverly's three problems with the pool's quality p and scaled flows: linear once p is fixed.

    Pool flows a, b go to the products, c, d come straight from the third source; inflows are eliminated.
    """
    p, a, b, c, d = sd.variables("p a b c d")
    for name, demand, cost, optimum in HAVERLY:
        inflow = 6 * (p - 1) * (a + b) / 2 + cost * (3 - p) * (a + b) / 2
        objective = inflow + 10 * (c + d) - 9 * (a + c) - 15 * (b + d)
        quality = [F(5, 2) * (a + c) - p * a - 2 * c, F(3, 2) * (b + d) - p * b - 2 * d]
        limits = [demand - a - c, 2 - b - d, (p - 1) * (3 - p), a, b, c, d]
        limits += [t * (demand - t) for t in (a, c)] + [t * (2 - t) for t in (b, d)]
        case = Case(
            name,
            "Haverly 1978 in hundreds; optimum again by linear programming over a grid of pool qualities; "
            "exact at degree 4: two solvers",
            objective=objective, inequalities=quality + limits, degree=4, optimum=optimum, relaxation=optimum,
        )  # fmt: skip
        best = min(_flows(q, demand, cost) for q in np.linspace(1, 3, 401))
        close(best, optimum, 1e-9)
        yield case


HAVERLY = [
    ("haverly1", 1, 16, -4.0),
    ("haverly2", 6, 16, -6.0),
    ("haverly3", 1, 13, -7.5),
]


def _flows(p: float, demand: float, cost: float) -> float:
    pool = 6 * (p - 1) / 2 + cost * (3 - p) / 2
    found = linprog(
        [pool - 9, pool - 15, 1, -5],
        A_ub=[[p - 2.5, 0, -0.5, 0], [0, p - 1.5, 0, 0.5], [1, 0, 1, 0], [0, 1, 0, 1]],
        b_ub=[0, 0, demand, 2],
        bounds=[(0, None)] * 4,
    )
    return float(found.fun)


def floudas_pardalos() -> Iterator[Case]:
    """Quadratic programs with concave objectives (optimum at a vertex) and two quartic ones."""
    t = sd.variables("t", 6)
    f = 42 * t[0] + 44 * t[1] + 45 * t[2] + 47 * t[3] + F(95, 2) * t[4] - 50 * sum(v**2 for v in t[:5])
    knapsack = 40 - 20 * t[0] - 12 * t[1] - 11 * t[2] - 7 * t[3] - 4 * t[4]
    bounds = [g for v in t[:5] for g in (v, 1 - v)]
    one = Case("floudas_2_1", "Floudas and Pardalos 1990, problem 2.1: -17, again over all vertices; exact at degree 6: cvxpy with SCS, with Clarabel to 2e-5", objective=f, inequalities=[knapsack, *bounds], degree=6, optimum=-17.0, relaxation=-17.0)  # fmt: skip
    close(vertices(one), -17.0)
    yield one
    f = (
        -sum(v**2 for v in t[:5]) / 2
        - (21 * t[0] + 15 * t[1] + 7 * t[2] + 5 * t[3] + 3 * t[4]) / 2
        - 10 * t[5]
    )
    rows = [
        F(13, 2) - 6 * t[0] - 3 * t[1] - 3 * t[2] - 2 * t[3] - t[4],
        20 - 10 * t[0] - 10 * t[2] - t[5],
        t[5],
    ]
    two = Case("floudas_2_2", "Floudas and Pardalos 1990, problem 2.2: -213, again over all vertices; exact at degree 4: cvxpy with Clarabel to 1.5e-6 (SCS did not converge)", objective=f, inequalities=rows + bounds, degree=4, optimum=-213.0, relaxation=-213.0)  # fmt: skip
    close(vertices(two), -213.0)
    yield two
    curve = Case("floudas_4_8", "Floudas et al. 1999, 4.8: y = 2 - 2 x**4 leaves a univariate problem, its derivative's root; exact at degree 4: two solvers", objective=-12 * x - 7 * y + y**2, equalities=[2 * x**4 + y - 2], inequalities=[x * (2 - x), y * (3 - y)], degree=4, optimum=-16.73889318, relaxation=-16.73889318)  # fmt: skip
    reduced = -12 * x - 7 * (2 - 2 * x**4) + (2 - 2 * x**4) ** 2
    close(univariate_minimum(reduced, 0, 1), -16.73889318, 1e-9)
    yield curve
    upper = [2 + 2 * x**4 - 8 * x**3 + 8 * x**2 - y, 4 * x**4 - 32 * x**3 + 88 * x**2 - 96 * x + 36 - y]
    corner = Case("floudas_4_9_d8", "Floudas et al. 1999, 4.9 and Lasserre 2001: -5.50801 at degree 8; optimum again by local search", objective=-x - y, inequalities=[*upper, x * (3 - x), y * (4 - y)], degree=8, optimum=-5.508013271, relaxation=-5.508013271)  # fmt: skip
    yield searched(corner, 3)
    weak = Case("floudas_4_9_d4", "4.9 with the bounds as products: the degree 4 relaxation is not exact; value -20/3 by two solvers", objective=-x - y, inequalities=[*upper, x * (3 - x), y * (4 - y)], degree=4, optimum=-5.508013271, relaxation=-6.666666666)  # fmt: skip
    yield weak


def vertices(case: Case) -> float:
    """Least value over the vertices of a polytope given by linear inequalities."""
    from families.toolbox import evaluate

    names = case.variables()
    n = len(names)
    origin, units = np.zeros(n), np.eye(n)
    offsets = np.array([float(evaluate(g, names, origin)) for g in case.inequalities])
    normals = (
        np.array([[float(evaluate(g, names, e)) for e in units] for g in case.inequalities])
        - offsets[:, None]
    )
    best = math.inf
    assert case.objective is not None
    for chosen in itertools.combinations(range(len(offsets)), n):
        matrix = normals[list(chosen)]
        if abs(np.linalg.det(matrix)) < 1e-9:
            continue
        point = np.linalg.solve(matrix, -offsets[list(chosen)])
        if (normals @ point + offsets >= -1e-9).all():
            best = min(best, float(evaluate(case.objective, names, point)))
    return best


def spheres() -> Iterator[Case]:
    """Quadratics on a sphere: eigenvalues, exact at degree 2."""
    v = sd.variables("v", 8)
    path = sum(2 * v[i] * v[i + 1] for i in range(7))
    least = -2 * math.cos(math.pi / 9)
    yield Case("rayleigh_path8", "least eigenvalue of the path with 8 vertices, -2 cos(pi/9); exact at degree 2", objective=path, equalities=[sum(t**2 for t in v) - 1], degree=2, optimum=least, relaxation=least)  # fmt: skip
    f = x**4 + y**4 + z**4
    yield Case("sphere_powers3", "sum x_i**4 >= (sum x_i**2)**2 / 3 = 1/3, the difference a sum of squares", objective=f, equalities=[x**2 + y**2 + z**2 - 1], optimum=1 / 3, relaxation=1 / 3)  # fmt: skip


def searched(case: Case, radius: float) -> Case:
    """The case, once local search from points of a cube has found its optimum and nothing better."""
    assert case.optimum is not None
    close(multistart(case, -radius, radius), case.optimum, 1e-6)
    return case


def cases() -> Iterator[Case]:
    """All of this family."""
    for make in (test_functions, univariate, pooling, floudas_pardalos, spheres):
        yield from make()
