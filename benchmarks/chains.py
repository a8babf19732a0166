"""Sparse chained problems of any length with known optima, built from arrays in linear time.

Rosenbrock, Wood, Broyden's tridiagonal system: sums of squares with a common zero. The Ising chain and the
path's stable set are trees, so that cliques of two variables are exact: dynamic programming and n/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import sosdp as sd
from sosdp.algebra.polynomial import Polynomial
from sosdp.model.system import System
from sosdp.relaxation.pseudoexpectation import PseudoExpectation

CHAINS = ("rosenbrock", "wood", "broyden", "ising", "path")


@dataclass(frozen=True)
class Chain:
    """A chained problem: minimise the objective over the system; ``optimum`` is known."""

    objective: Polynomial
    system: System
    degree: int
    optimum: float

    def solve(self, **options) -> PseudoExpectation:
        """The library's answer."""
        return sd.minimize(self.objective, self.system, self.degree, **options)


def chain(name: str, n: int) -> Chain:
    """A chain with n variables; ValueError for a name or a length that is none."""
    if name not in CHAINS:
        raise ValueError(f"no chain is called {name!r}; choose one of {', '.join(CHAINS)}")
    if n < 4 or (name == "wood" and n % 4):
        raise ValueError(f"{name} needs at least four variables (wood: a multiple of four), not {n}")
    x = sd.variables("x", n)
    head, tail = x[:-1], x[1:]
    if name == "rosenbrock":
        return Chain((100 * (tail - head**2) ** 2 + (1 - tail) ** 2).sum(), System(), 4, 0.0)
    if name == "wood":
        a, b, c, d = (x[k::4] for k in range(4))
        first = 100 * (b - a**2) ** 2 + (1 - a) ** 2 + 90 * (d - c**2) ** 2 + (1 - c) ** 2
        second = 10 * (b + d - 2) ** 2 + (b - d) ** 2 / 10
        links = (d[:-1] - a[1:]) ** 2
        return Chain((first + second).sum() + links.sum(), System(), 4, 0.0)
    if name == "broyden":
        inner = (3 - 2 * x[1:-1]) * x[1:-1] - x[:-2] - 2 * x[2:] + 1
        first, last = (3 - 2 * x[0]) * x[0] - 2 * x[1] + 1, (3 - 2 * x[-1]) * x[-1] - x[-2] + 1
        return Chain((inner**2).sum() + first**2 + last**2, System(), 4, 0.0)
    if name == "ising":
        rng = np.random.default_rng(n)
        couplings, fields = rng.integers(-4, 5, n - 1), rng.integers(-3, 4, n)
        objective = (couplings * head * tail).sum() + (fields * x).sum()
        return Chain(objective, System(list(x**2 - 1 == 0)), 4, ising_optimum(couplings, fields))
    system = System(list(x**2 - x == 0), list(head * tail == 0))
    return Chain(-x.sum(), system, 2, -float((n + 1) // 2))


def ising_optimum(couplings: np.ndarray, fields: np.ndarray) -> float:
    """Least energy of a chain of signs, by dynamic programming."""
    best = {sign: float(sign * fields[0]) for sign in (-1, 1)}
    for coupling, field in zip(couplings, fields[1:], strict=True):
        best = {
            sign: sign * field + min(best[other] + coupling * sign * other for other in (-1, 1))
            for sign in (-1, 1)
        }
    return float(min(best.values()))
