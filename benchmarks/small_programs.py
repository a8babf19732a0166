"""Programs on which the solver at points is measured, boxes, named polynomials, cubes, spheres, and how.

Random coefficients are dense and normal, with a fixed seed; the named polynomials are those of the `polymin`
list of Hypatia's examples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.engine import broyden_banded, dense_quartic
from benchmarks.harness import timed
from sosdp.relaxation.solve.sos_cone import chebyshev
from sosdp.relaxation.solve.sos_cone.points import box_points, total_degree

LIMIT = 60.0  # seconds a borrowed solver gets
LONG = 2.0  # seconds beyond which nothing is repeated


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


def family(quick: bool) -> list[Case]:
    """The fourteen rows of the study."""
    if quick:
        return [box(1, 10), box(2, 4), named("rosenbrock", 3)]
    boxes = [(1, 40), (2, 6), (2, 8), (2, 10), (2, 15), (3, 5), (3, 7), (6, 2), (8, 2), (10, 2)]
    more = [("rosenbrock", 5), ("schwefel", 4), ("heart", 2), ("caprasse", 4)]
    return [*(box(*size) for size in boxes), *(named(*case) for case in more)]


def others(quick: bool) -> list[Case]:
    """Named polynomials, cubes and spheres besides."""
    if quick:
        return [cut(6), sphere(4)]
    listed = [
        ("butcher", 2), ("caprasse", 2), ("goldstein-price", 4), ("lotka-volterra", 3), ("motzkin", 6),
        ("robinson", 8), ("rosenbrock", 8), ("schwefel", 2),
    ]  # fmt: skip
    cubes = [cut(n) for n in (8, 10, 12, 14)]
    return [*(named(*case) for case in listed), *cubes, *(sphere(n) for n in (4, 6, 8, 10))]


def many_variables(quick: bool) -> list[Case]:
    """Blocks too large for points: dense quartics, boxes of degree four, Broyden's banded system."""
    quartics = [6] if quick else [16, 20, 25]
    boxes = [] if quick else [12, 16, 20]
    banded = [] if quick else [10, 20]
    made = [
        *(Case(f"quartic {n}", lambda n=n: dense_quartic(n)[:2], 4) for n in quartics),  # type: ignore[misc]
        *(box(n, 2) for n in boxes),
    ]
    return [*made, *(Case(f"broyden {n}", lambda n=n: broyden_banded(n)[:2], 6) for n in banded)]  # type: ignore[misc]


def forty() -> list[Case]:
    """Forty small cases whose digits are compared between processors' kernels."""
    sizes = [(1, d) for d in range(3, 19)] + [(2, d) for d in range(2, 9)] + [(3, 2), (3, 3), (4, 2), (5, 2)]
    listed = [("goldstein-price", 4), ("motzkin", 4), ("robinson", 4), ("rosenbrock", 4), ("schwefel", 2)]
    return [
        *(box(*size) for size in sizes),
        *(named(*case) for case in listed),
        *(cut(n) for n in (5, 6, 7, 8, 9)),
        *(sphere(n) for n in (3, 4, 5)),
    ]


def forget() -> None:
    """Nothing kept of structures solved before: points of boxes, exponents, products of pairs."""
    for kept in (box_points, total_degree, chebyshev._pairs):
        kept.cache_clear()


def measure(
    case: Case, solver: str, repeats: int = 1, kept: bool = False, limit: float = LIMIT
) -> dict[str, Any]:
    """Build, solve and certify (least CPU seconds of the repeats), each time as if it were the first of its
    structure, unless ``kept``."""
    p, system = case.state()
    best: dict[str, Any] = {}
    for turn in range(repeats):
        if turn and best["cpu"] > LONG:
            break
        if not kept:
            forget()
        try:
            # SDPA cannot stop at one, and the library's way does not ask it where there is one
            given = None if solver in ("sdpa", "borrowed", "auto") else limit
            result, cpu = timed(sd.minimize, p, system, case.degree, solver=solver, time_limit=given)
        except (sd.SolverUnavailable, sd.ProblemTooLarge) as error:
            return {"status": type(error).__name__, "cpu": None, "loss": None, "solver": solver}
        if not best or cpu < best["cpu"]:
            proven = result.certified_bound
            times = result.times
            best = {
                "status": result.status,
                "solver": result.solver,
                "cpu": cpu,
                "built": times["build"] / max(sum(times.values()), 1e-9) * cpu,
                "bound": result.bound,
                "certified": proven,
                "loss": None if proven is None else result.bound - proven,
                "side": max(result.sizes["blocks"]),
                "columns": result.sizes["moments"],
                "work": sum(float(n * (n + 1) // 2) ** 3 for n in result.sizes["blocks"]),
            }
    return best


def good(answer: dict[str, Any]) -> bool:
    """Whether an answer is worth its seconds: optimal, and proven to a relative 1e-5."""
    if answer["status"] != "optimal" or answer["loss"] is None:
        return False
    return bool(answer["loss"] <= 1e-5 * max(1.0, abs(answer["bound"])))
