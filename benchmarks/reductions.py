"""What each reduction of the engine saves: sizes and CPU seconds, with and without, same solver choice.

Every program is solved by `sosdp.minimize` or `sosdp.maximize` with one reduction after the other switched
on. Seconds are CPU seconds of the whole call (build, solve, certify), fastest of the runs. The run is not
`ok` when a reduction that must keep the bound changes it, or a certified bound is beyond the value of
another row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.harness import Table, timed

AGREE = 1e-4  # relative; chains are badly scaled
BARE: dict[str, Any] = {"sparsity": "dense", "symmetry": "none", "prune": False, "quotient": False}


@dataclass(frozen=True)
class Program:
    """One program: how to solve it with options, and named option sets in the order of the table."""

    name: str
    solve: Callable[..., Any]
    variants: dict[str, dict[str, Any]]
    weaker: frozenset[str] = frozenset()


def even_quartic(n: int) -> Program:
    """Minimise a positive even quartic: every sign flip is a symmetry."""

    x = sd.variables("re", n)
    weights = np.random.default_rng(1).integers(0, 4, size=(n, n))
    f = sum((i + 1) * x[i] ** 4 - (n - i) * x[i] ** 2 for i in range(n))
    f = f + sum(int(weights[i, j]) * x[i] ** 2 * x[j] ** 2 for i in range(n) for j in range(i))
    variants = {
        "none": BARE,
        "pruning and sign flips": {"sparsity": "dense"},
        "term sparsity, 1 step": {"sparsity": "term", "term_steps": 1, "symmetry": "none"},
        "term sparsity, stable": {"sparsity": "term", "symmetry": "none"},
    }
    return Program(
        f"even quartic, n = {n}",
        lambda **o: sd.minimize(f, **o),
        variants,
        frozenset({"term sparsity, 1 step"}),
    )


def symmetric_quartic(n: int) -> Program:
    """Minimise a symmetric quartic: all permutations of the variables."""

    x = sd.variables("rs", n)
    pairs = sum(x[i] * x[j] for i in range(n) for j in range(i))
    f = sum(v**4 for v in x) + pairs - sum(x) - sum(v**3 for v in x) / 2
    variants = {
        "none": BARE,
        "pruning and sign flips": {"sparsity": "dense"},
        "permutations given": {"symmetries": sd.interchange(x)},
        "permutations found": {"symmetry": "auto"},
    }
    return Program(f"symmetric quartic, n = {n}", lambda **o: sd.minimize(f, **o), variants)


def circulant_cut(n: int, steps: tuple[int, ...]) -> Program:
    """Largest cut of a circulant graph at order 2."""

    s = sd.variables("rc", n)
    edges = {tuple(sorted((i, (i + d) % n))) for i in range(n) for d in steps}
    f = sum((1 - s[i] * s[j]) / 2 for i, j in sorted(edges))
    system = sd.System(s**2 == 1)
    variants = {
        "none": BARE,
        "rewriting": {**BARE, "quotient": True},
        "rewriting, sign flips": {"sparsity": "dense"},
        "and permutations found": {"sparsity": "dense", "symmetry": "auto"},
    }
    return Program(
        f"max-cut order 2, n = {n}",
        lambda **o: sd.maximize(f, system, 4, **o),
        variants,
    )


def labels(samples: int, count: int) -> Program:
    """Fewest equally labelled pairs at degree 4: samples and labels may be permuted."""

    w = sd.variables("rl", (samples, count))
    flat = w.reshape(-1)
    system = sd.System(flat**2 == flat, [w[i].sum().equals(1) for i in range(samples)])
    f = sum(w[i, k] * w[j, k] for k in range(count) for i in range(samples) for j in range(i))
    variants = {
        "rewriting, pruning": {"sparsity": "dense"},
        "and standard monomials": {"sparsity": "dense", "quotient": "groebner"},
        "rewriting, permutations found": {"sparsity": "dense", "symmetry": "auto"},
    }
    return Program(f"{samples} samples, {count} labels", lambda **o: sd.minimize(f, system, 4, **o), variants)


def chain(kind: str, n: int) -> Program:
    """Chained Rosenbrock or Broyden tridiagonal functions, sums of squares with minimum 0."""

    x = sd.variables("rx", n)
    if kind == "Rosenbrock":
        parts = [10 * (x[i + 1] - x[i] ** 2) for i in range(n - 1)] + [1 - x[i] for i in range(n - 1)]
    else:
        edge = [0 * x[0], *x, 0 * x[0]]
        parts = [(3 - 2 * edge[i]) * edge[i] - edge[i - 1] - 2 * edge[i + 1] + 1 for i in range(1, n + 1)]
    f = sum(p**2 for p in parts)
    variants: dict[str, dict[str, Any]] = {
        "cliques": {"sparsity": "correlative", "prune": False, "symmetry": "none"},
        "cliques, pruning": {"sparsity": "correlative"},
        "cliques, term sparsity": {"sparsity": "correlative+term"},
        "cliques, chordal": {"sparsity": "correlative+chordal"},
    }
    if n <= 10:
        variants = {"none": BARE, **variants}
    return Program(
        f"{kind}, n = {n}",
        lambda **o: sd.minimize(f, **o),
        variants,
        frozenset(v for v in variants if v != "none"),
    )


def measure(program: Program, repeats: int) -> tuple[list[list[Any]], list[str]]:
    """Rows of the table, and what is wrong (empty when nothing is)."""
    rows, wrong = [], []
    reference = None
    for name, options in program.variants.items():
        cpu = np.inf
        for _ in range(repeats):
            result, spent = timed(program.solve, **options)
            cpu = min(cpu, spent)
            if cpu > 5:
                break
        sizes = result.sizes
        moments = sizes.get("orbit_moments", sizes["moments"])
        blocks = sizes["blocks"]
        rows.append(
            [
                program.name,
                name,
                len(blocks),
                max(blocks, default=0),
                moments,
                sizes["equalities"],
                result.solver,
                result.bound,
                result.certified_bound,
                cpu,
            ]
        )
        if result.status != "optimal":
            wrong.append(f"{program.name}, {name}: {result.status}")
            continue
        sign = -1.0 if result.bound_kind == "upper" else 1.0
        scale = max(1.0, abs(result.bound))
        if reference is None:
            reference = result.bound
        elif name in program.weaker:
            if sign * (result.bound - reference) > AGREE * scale:
                wrong.append(f"{program.name}, {name}: {result.bound} is beyond {reference}")
        elif abs(result.bound - reference) > AGREE * scale:
            wrong.append(f"{program.name}, {name}: {result.bound}, without reductions {reference}")
        if result.certified_bound is not None:
            if sign * (result.certified_bound - reference) > AGREE * scale:
                wrong.append(f"{program.name}, {name}: certified {result.certified_bound}")
    return rows, wrong


def programs(quick: bool) -> list[Program]:
    """The programs of a full or a quick run."""
    if quick:
        return [
            even_quartic(4),
            symmetric_quartic(4),
            circulant_cut(6, (1,)),
            labels(3, 2),
            chain("Rosenbrock", 8),
        ]
    return [
        even_quartic(10),
        symmetric_quartic(10),
        circulant_cut(10, (1, 3)),
        circulant_cut(14, (1, 4)),
        labels(5, 3),
        chain("Rosenbrock", 8),
        chain("Rosenbrock", 100),
        chain("Broyden", 100),
    ]


def run(quick: bool) -> dict[str, Any]:
    """Solve every program with every set of reductions; `wrong` names disagreements."""
    rows, wrong = [], []
    for program in programs(quick):
        result, broken = measure(program, 1 if quick else 3)
        rows += result
        wrong += broken
    table = Table(
        "Reductions, one after the other",
        "program | reductions | blocks | largest | moments | rows | solver | bound | certified | CPU s",
        rows,
        ("moments: of orbits where permutations are used", *wrong),
    )
    return {"tables": [table.to_dict()], "ok": not wrong, "wrong": wrong}
