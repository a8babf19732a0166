"""The solver at points against Clarabel, SCS and SDPA: boxes, named polynomials, cubes, spheres.

Every contestant gets the same statement through this library: build, solve and certified bound, CPU seconds
of one process in one run. Random coefficients are dense and normal, with a fixed seed; the named polynomials
are those of the `polymin` list of Hypatia's examples. `published` are the seconds that Coey, Kapelevich and
Vielma (2022) print for Hypatia, on another machine: for orientation only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sosdp as sd

LIMIT = 60.0  # seconds a borrowed solver gets
PUBLISHED = {"box (1,200)": 0.32, "box (2,30)": 10.0, "box (3,9)": 3.1, "box (4,6)": 4.8, "box (8,2)": 0.46}
# what the study of the prototype measured: default solver's seconds over the prototype's
STUDY = {
    "box (1,40)": 25.0,
    "box (2,6)": 5.7,
    "box (2,8)": 39.0,
    "box (2,10)": 2.8,
    "box (2,15)": 4.6,
    "box (3,5)": 50.0,
    "box (3,7)": 3.9,
    "box (6,2)": 1.5,
    "box (8,2)": 4.0,
    "box (10,2)": 0.3,
    "rosenbrock 5": 101.0,
    "schwefel 4": 8.8,
    "heart 2": 4.9,
    "caprasse 4": 0.2,
}


@dataclass(frozen=True)
class Case:
    """A polynomial on a system, at a degree."""

    name: str
    state: Callable[[], tuple[Any, Any]]
    degree: int


def box(n: int, d: int) -> Case:
    """Dense random coefficients of degree 2d on [-1, 1]^n."""

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", n)
        basis = sd.monomials(x, 2 * d)
        p = np.random.default_rng(1000 * n + d).standard_normal(len(basis)) @ basis
        return p, sd.System(*[1 - v**2 >= 0 for v in x])

    return Case(f"box ({n},{d})", state, 2 * d)


def named(name: str, d: int) -> Case:
    """One of the named polynomials on its box."""
    count, make, low, high = NAMED[name]

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", count)
        sides = [(v - a) * (b - v) >= 0 for v, a, b in zip(x, low, high, strict=True)]
        return make(x), sd.System(*sides)

    return Case(f"{name} {d}", state, 2 * d)


def cut(n: int) -> Case:
    """Order 2 of a maximum cut with normal weights, in the quotient."""

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", n)
        w = np.random.default_rng(n).standard_normal((n, n))
        p = sum(float(w[i, j]) * x[i] * x[j] for i in range(n) for j in range(i))
        return p, sd.System(*[v**2 == 1 for v in x])

    return Case(f"cut {n}", state, 4)


def sphere(n: int) -> Case:
    """A random quartic form on the unit sphere."""

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", n)
        basis = [b for b in sd.monomials(x, 4) if b.degree == 4]
        c = np.random.default_rng(n).standard_normal(len(basis))
        return sum(float(a) * b for a, b in zip(c, basis, strict=True)), sd.System(x @ x == 1)

    return Case(f"sphere {n}", state, 4)


def _goldstein_price(x: Any) -> Any:
    a, b = x
    one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    other = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return one * other


def _heart(x: Any) -> Any:
    p, q, r, s, t, u, v, w = x
    first = p * u**3 - 3 * p * u * v**2 + r * v**3 - 3 * r * v * u**2
    second = q * t**3 - 3 * q * t * w**2 + s * w**3 - 3 * s * w * t**2
    return first + second + 0.9563453


def _caprasse(x: Any) -> Any:
    a, b, c, d = x
    quartic = -a * c**3 + 4 * b * c**2 * d + 4 * a * c * d**2 + 2 * b * d**3
    return quartic + 4 * a * c + 4 * c**2 - 10 * b * d - 10 * d**2 + 2


def _butcher(x: Any) -> Any:
    a, b, c, d, e, f = x
    return f * b**2 + e * c**2 - a * d**2 + d**3 + d**2 - a / 3 + 4 * d / 3


def _robinson(x: Any) -> Any:
    a, b = x
    high = a**6 + b**6 - a**4 * b**2 - a**2 * b**4 + 3 * a**2 * b**2
    return 1 + high + a**4 + b**4 - a**2 + b**2


NAMED: dict[str, tuple[int, Callable[[Any], Any], list[float], list[float]]] = {
    "butcher": (6, _butcher, [-1, -0.1, -0.1, -1, -0.1, -0.1], [0, 0.9, 0.5, -0.1, -0.05, -0.03]),
    "caprasse": (4, _caprasse, [-0.5] * 4, [0.5] * 4),
    "goldstein-price": (2, _goldstein_price, [-2] * 2, [2] * 2),
    "heart": (
        8,
        _heart,
        [-0.1, 0.4, -0.7, -0.7, 0.1, -0.1, -0.3, -1.1],
        [0.4, 1, -0.4, 0.4, 0.2, 0.2, 1.1, -0.3],
    ),
    "lotka-volterra": (
        4,
        lambda x: x[0] * (x[1] ** 2 + x[2] ** 2 + x[3] ** 2 - 1.1) + 1,
        [-2] * 4,
        [2] * 4,
    ),
    "motzkin": (
        2,
        lambda x: 1 - 48 * x[0] ** 2 * x[1] ** 2 + 64 * x[0] ** 2 * x[1] ** 4 + 64 * x[0] ** 4 * x[1] ** 2,
        [-1] * 2,
        [1] * 2,
    ),
    "robinson": (2, _robinson, [-1] * 2, [1] * 2),
    "rosenbrock": (2, lambda x: (1 - x[0]) ** 2 + 100 * (x[0] ** 2 - x[1]) ** 2, [-5] * 2, [10] * 2),
    "schwefel": (
        3,
        lambda x: (x[0] - x[1] ** 2) ** 2 + (x[1] - 1) ** 2 + (x[0] - x[2] ** 2) ** 2 + (x[2] - 1) ** 2,
        [-10] * 3,
        [10] * 3,
    ),
}


def measure(case: Case, solver: str, repeats: int = 1) -> dict[str, Any]:
    """Build, solve and certify once (least CPU seconds of the repeats)."""
    p, system = case.state()
    best: dict[str, Any] = {}
    for _ in range(repeats):
        began = time.process_time()
        try:
            found = sd.minimize(p, system, case.degree, solver=solver, time_limit=LIMIT)
        except sd.SolverUnavailable as error:
            return {"status": str(error), "cpu": None, "bound": None, "loss": None, "solver": solver}
        cpu = time.process_time() - began
        if not best or cpu < best["cpu"]:
            proven = found.certified_bound
            best = {
                "status": found.status,
                "solver": found.solver,
                "cpu": cpu,
                "solve": found.times["solve"],
                "bound": found.bound,
                "certified": proven,
                "loss": None if proven is None else found.bound - proven,
                "side": max(found.sizes["blocks"]),
                "columns": found.sizes["moments"],
            }
    return best
