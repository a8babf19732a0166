"""Forty relaxations with default settings against every single setting: what the automatic choice costs.

A setting counts where its proven bound is within 1e-5 of the best that any setting proved. The regret of an
instance is the CPU time of the default over that of the best single setting; each is the better of two runs
in a process of its own, with a limit. It is not `ok` where the default proves clearly less.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.harness import Table, timed
from sosdp.conic.program import ProblemTooLarge

LIMIT = 10.0  # CPU seconds of one run
SAME = 1e-5  # relative distance of proven bounds that counts as none
SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {},
    "dense": {"sparsity": "dense"},
    "cliques": {"sparsity": "correlative"},
    "dense, scs": {"sparsity": "dense", "solver": "scs"},
    "dense, clarabel": {"sparsity": "dense", "solver": "clarabel"},
}
Program = tuple[Any, list[Any], int]


def _variables(n: int) -> Any:

    return np.array(sd.variables("x", n), dtype=object)


def _signs(x: Any) -> list[Any]:
    return [v**2 == 1 for v in x]


def _quadratic(x: Any, weights: np.ndarray) -> Any:
    return sum(float(weights[i, j]) * x[i] * x[j] for i, j in np.argwhere(weights).tolist())


def max_cut(n: int, density: float) -> Program:
    """The Laplacian of a random graph over signs."""
    rng, x = np.random.default_rng(0), _variables(n)
    return _quadratic(x, np.triu(rng.random((n, n)) < density, 1) / 2), _signs(x), 2


def grid(k: int) -> Program:
    """A spin glass on a grid."""
    rng, x = np.random.default_rng(k), _variables(k * k)
    weights = np.zeros((k * k, k * k))
    for i in range(k):
        for j in range(k - 1):
            weights[i * k + j, i * k + j + 1] = rng.choice([-1, 1])
            weights[j * k + i, j * k + k + i] = rng.choice([-1, 1])
    return _quadratic(x, weights), _signs(x), 2


def chain(n: int, width: int, degree: int) -> Program:
    """Spins with normal weights along a band."""
    rng, x = np.random.default_rng(n), _variables(n)
    weights = np.triu(rng.standard_normal((n, n)), 1) * (
        np.subtract.outer(np.arange(n), np.arange(n)) > -width
    )
    return _quadratic(x, weights), _signs(x), degree


def theta(n: int, density: float) -> Program:
    """Lovasz's theta of a random graph."""
    rng, x = np.random.default_rng(1), _variables(n)
    edges = np.argwhere(np.triu(rng.random((n, n)) < density, 1)).tolist()
    return -x.sum(), [*(v**2 == v for v in x), *((x[i] * x[j]).equals(0) for i, j in edges)], 2


def rotations(n: int) -> Program:
    """Rotation averaging on a cycle with random chords."""
    rng = np.random.default_rng(0)
    x = _variables(9 * n).reshape(n, 3, 3)
    frames = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(n)]
    chords = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(n)]
    p: Any = 0
    for i, j in [*((i, (i + 1) % n) for i in range(n)), *chords]:
        seen = frames[i].T @ frames[j] + 0.1 * rng.standard_normal((3, 3))
        p = p + ((x[j] - x[i] @ seen) ** 2).sum()
    pairs = [(a, b) for a in range(3) for b in range(a, 3)]
    return p, [(x[i].T @ x[i])[a, b].equals(int(a == b)) for i in range(n) for a, b in pairs], 2


def band(n: int, width: int, where: str) -> Program:
    """Random quartics of neighbours on a box, a ball or a sphere."""

    rng, x = np.random.default_rng(n), _variables(n)
    p: Any = 0
    for i in range(n - width + 1):
        basis = sd.monomials(list(x[i : i + width]), 4)
        p = p + rng.standard_normal(len(basis)) @ basis
    square = (x**2).sum()
    sets = {"box": [v**2 <= 1 for v in x], "ball": [square <= 1], "sphere": [square.equals(1)]}
    return p, sets[where], 4


def rosenbrock(n: int, box: bool) -> Program:
    """Rosenbrock's chain, free or on a box."""
    x = _variables(n)
    p = sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(n - 1))
    return p, [v**2 <= 4 for v in x] if box else [], 4


def least_squares(n: int) -> Program:
    """Least squares over signs."""
    rng, x = np.random.default_rng(n), _variables(n)
    rows = rng.standard_normal((n + 5, n))
    at = rows @ rng.choice([-1, 1], n) + 0.3 * rng.standard_normal(n + 5)
    return ((rows @ x - at) ** 2).sum(), _signs(x), 2


def box_qp(n: int, density: float) -> Program:
    """A quadratic program on a box."""
    rng, x = np.random.default_rng(n), _variables(n)
    weights = np.triu((rng.random((n, n)) < density) * rng.standard_normal((n, n)), 1)
    return _quadratic(x, weights) + rng.standard_normal(n) @ x, [v**2 <= 1 for v in x], 2


def components(n: int) -> Program:
    """A quartic of principal components on the sphere."""
    rng, x = np.random.default_rng(n), _variables(n)
    a = rng.standard_normal((n, n))
    p = -(x @ (a @ a.T / n) @ x) + sum(x[i] ** 2 * x[(i + 1) % n] ** 2 for i in range(n))
    return p, [(x**2).sum().equals(1)], 4


def quartic(n: int) -> Program:
    """A quartic with a random cubic."""

    rng, x = np.random.default_rng(n), _variables(n)
    basis = sd.monomials(list(x), 3)
    return (x**4).sum() + rng.standard_normal(len(basis)) @ basis, [], 4


FAMILIES: list[tuple[Callable[..., Program], list[tuple[Any, ...]]]] = [
    (max_cut, [(20, 0.3), (50, 0.3), (100, 0.3), (100, 0.04), (200, 0.1)]),
    (grid, [(7,), (12,)]),
    (theta, [(20, 0.3), (40, 0.3), (60, 0.3), (40, 0.08)]),
    (rotations, [(10,), (30,)]),
    (band, [(10, 4, "box"), (14, 4, "box"), (30, 4, "box"), (20, 3, "box")]),
    (band, [(8, 3, "ball"), (10, 3, "ball"), (8, 3, "sphere"), (10, 3, "sphere")]),
    (rosenbrock, [(6, False), (10, False), (100, False), (8, True), (40, True)]),
    (chain, [(100, 3, 2), (100, 6, 2), (20, 3, 4), (60, 3, 4)]),
    (least_squares, [(12,), (30,), (60,)]),
    (box_qp, [(30, 0.3), (60, 0.3), (100, 0.03)]),
    (components, [(8,), (10,)]),
    (quartic, [(6,), (8,)]),
]
QUICK = {"max_cut 50, 0.3", "theta 20, 0.3", "rotations 10", "least_squares 12", "rosenbrock 8, True"}


def instances() -> Iterator[tuple[str, Callable[..., Program], tuple[Any, ...]]]:
    """Names, makers and their arguments."""
    for make, every in FAMILIES:
        for arguments in every:
            yield f"{make.__name__} {', '.join(map(str, arguments))}", make, arguments


def measured(make: Callable[..., Program], arguments: tuple[Any, ...], setting: str) -> dict[str, Any]:
    """Bounds, solver and CPU seconds of the best of four runs, or of as many as take a second."""
    p, constraints, degree = make(*arguments)
    system = sd.System(constraints)
    seconds: list[float] = []
    while len(seconds) < 4 and sum(seconds) < 1:
        result, spent = timed(sd.minimize, p, system, degree, time_limit=LIMIT, **SETTINGS[setting])
        seconds.append(spent)
    proven = result.certified_bound
    return {"seconds": min(seconds), "bound": result.bound, "proven": proven, "solver": result.solver}


def _aside(make: Callable[..., Program], arguments: tuple[Any, ...], setting: str) -> dict[str, Any] | None:
    """The same in a process of its own; None where it does not end."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        waiting = pool.apply_async(measured, (make, arguments, setting))
        try:
            return waiting.get(6 * LIMIT)
        except (multiprocessing.TimeoutError, ProblemTooLarge):
            return None


def compared(result: dict[str, dict[str, Any] | None]) -> dict[str, Any]:
    """The regret of the default, and whether it proves as much as the best setting."""
    bounds = [a["proven"] for a in result.values() if a is not None and a["proven"] is not None]
    best = max(bounds, default=None)

    def fine(answer: dict[str, Any] | None) -> bool:
        if answer is None or best is None or answer["proven"] is None:
            return answer is not None and best is None
        return bool(best - answer["proven"] <= SAME * max(1.0, abs(best)))

    single = {k: a["seconds"] for k, a in result.items() if k != "auto" and a is not None and fine(a)}
    auto = result["auto"]
    name = min(single, key=lambda k: single[k], default=None)
    ratio = auto["seconds"] / single[name] if auto is not None and name is not None else None
    return {"best": name, "seconds": single.get(name or ""), "regret": ratio, "as_good": fine(auto)}


def run(quick: bool) -> dict[str, Any]:
    """Every instance with every setting."""
    rows, shown = [], []
    for name, make, arguments in instances():
        if quick and name not in QUICK:
            continue
        result = {setting: _aside(make, arguments, setting) for setting in SETTINGS}
        row = {"instance": name, "settings": result, **compared(result)}
        rows.append(row)
        auto = result["auto"] or {"seconds": None, "solver": "-"}
        line = [auto["seconds"], auto["solver"], row["seconds"], row["best"], row["regret"], row["as_good"]]
        shown.append([name, *line])
    regrets = [r["regret"] for r in rows if r["regret"] is not None]
    table = Table(
        "Regret of the default settings",
        "instance | auto, CPU s | by | best single | setting | regret | as good",
        shown,
    )
    return {
        "tables": [table.to_dict()],
        "rows": rows,
        "median": float(np.median(regrets)) if regrets else None,
        "above_1.3": sum(r > 1.3 for r in regrets),
        "ok": all(r["as_good"] for r in rows),
    }
