"""Coverage of 95 % intervals: linear, logistic and Poisson regression, and means of twelve laws.

At (1, 1e-6), and at epsilon alone for means. Wanted: .93 to .99. "se": the standard error of a rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.gaussian_regression import DELTA, OPTIONS, drawn
from benchmarks.harness import Table
from problems.gaussian import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivatePoissonRegression,
)

SEED = 34
LINEAR = (
    (5000, 3, "normal"), (5000, 5, "normal"), (20000, 5, "normal"), (20000, 10, "normal"), (20000, 3, "t3"),
    (20000, 3, "unequal"), (20000, 5, "wrong"), (20000, 3, "indicators"),
)  # fmt: skip
LIKELIHOODS = (  # constant, size of the coefficients
    ("logistic", 10000, 3, "normal", 0.0, 1.5), ("logistic", 20000, 5, "t3", 0.0, 1.0),
    ("Poisson", 10000, 3, "normal", 0.4, 0.5), ("Poisson", 10000, 3, "normal", 5.0, 0.5),
    ("Poisson", 20000, 5, "t3", 0.4, 0.3),
)  # fmt: skip
Law = Callable[[Any, Any], np.ndarray]
LAWS: dict[str, tuple[Law, float, tuple[float, float]]] = {
    "normal": (lambda g, n: g.normal(size=n), 0.0, (-20, 20)),
    "uniform": (lambda g, n: g.uniform(-1, 1, n), 0.0, (-1, 1)),
    "Laplace": (lambda g, n: g.laplace(size=n), 0.0, (-30, 30)),
    "Student t3": (lambda g, n: g.standard_t(3, n), 0.0, (-100, 100)),
    "exponential": (lambda g, n: g.exponential(size=n), 1.0, (0, 30)),
    "lognormal": (lambda g, n: g.lognormal(size=n), math.exp(0.5), (0, 200)),
    "85 % zeros": (lambda g, n: np.where(g.random(n) < 0.85, 0.0, g.exponential(20, n)), 3.0, (0, 400)),
    "2 % at 99": (lambda g, n: np.where(g.random(n) < 0.02, 99.0, g.normal(size=n)), 1.98, (-10, 100)),
    ".5 % at 1000": (lambda g, n: np.where(g.random(n) < 0.005, 1e3, g.normal(size=n)), 5.0, (-10, 1000)),
    "Poisson .3": (lambda g, n: g.poisson(0.3, n).astype(float), 0.3, (0, 10)),
    "binary .03": (lambda g, n: (g.random(n) < 0.03).astype(float), 0.03, (0, 1)),
    "two clusters": (lambda g, n: np.where(g.random(n) < 0.5, -3, 3) + 0.3 * g.normal(size=n), 0.0, (-5, 5)),
}


def regressions(runs: int) -> Iterator[list[Any]]:
    """A row a setting: rates, and widths over those of least squares for linear ones."""
    for n, d, law in LINEAR:
        indicators = law == "indicators"
        model = PrivateLinearRegression(
            1.0,
            delta=DELTA,
            bounds=[(0.0, 2.5)] + [None] * (d - 1) if indicators else None,
            tight=[indicators] + [False] * (d - 1),
            contamination=0.05 if law == "wrong" else 0.0,
        )
        tables = (drawn(n, d, 1.0 if indicators else 1e2, law, SEED * 1000 + run) for run in range(runs))
        yield ["linear", n, d, law, runs, *_rates(model, ((X, y, b) for X, y, b, _ in tables), linear=True)]
    for kind, n, d, law, constant, size in LIKELIHOODS:
        made = PrivateLogisticRegression if kind == "logistic" else PrivatePoissonRegression
        tables = (_labelled(kind, (n, d), law, (constant, size), run) for run in range(runs))
        mean = f", mean about {math.exp(constant):.2g}" if kind == "Poisson" else ""
        yield [kind, n, d, law + mean, runs, *_rates(made(1.0, contamination=0.0, **OPTIONS), tables)]


def _labelled(kind: str, shape: tuple[int, int], law: str, truth: tuple[float, float], run: int) -> Any:
    """Regressors of condition 100, labels or counts of the model, and the coefficients."""
    X, _, b, _ = drawn(*shape, 1e2, law, SEED * 1000 + run)
    g, (constant, size) = np.random.default_rng([SEED, *shape, run]), truth
    b = b * size / 1.5
    eta = constant + np.clip(X @ b, -12.0, 12.0)
    if kind == "logistic":
        return X, (g.random(len(X)) < 1.0 / (1.0 + np.exp(-eta))).astype(float), b
    return X, g.poisson(np.exp(eta)).astype(float), b


def _rates(model: Any, tables: Iterator[Any], *, linear: bool = False) -> list[Any]:
    """The share of coefficients within their intervals, its standard error, how many have none, widths."""
    held, missing, widths = [], 0, []
    for X, y, b in tables:
        low, high = model.fit(X, y).interval_.T
        there = ~np.isnan(low)
        held += [float(((low <= b) & (b <= high))[there].mean())] if there.any() else []
        missing += int((~there).sum())
        if linear:
            spread = 1.96 * np.sqrt(np.diag(np.linalg.inv(np.cov(X.T).reshape(len(b), -1))) / len(y))
            widths.append(float(np.nanmedian((high - low) / (2 * spread))) if there.any() else np.nan)
    rate = float(np.mean(held))
    error = math.sqrt(max(rate * (1.0 - rate), 1e-9) / (len(held) * len(b)))
    return [
        round(rate, 3),
        round(error, 3),
        missing,
        round(float(np.nanmedian(widths)), 2) if widths else None,
    ]


def means(runs: int) -> Table:
    """All rows counted: coverage of the mean and half-width over the sample's, pure and with delta."""
    rows = []
    for name, (law, mean, bounds) in LAWS.items():
        row: list[Any] = [name, str(bounds)]
        for n in (500, 5000):
            for delta in (0.0, DELTA):
                model = PrivateMean(1.0, delta=delta, bounds=bounds, contamination=0.0)
                held, widths = 0, []
                for run in range(runs):
                    X = law(np.random.default_rng([SEED, run, n]), n)
                    low, high = np.asarray(model.fit(X[:, None]).interval_)[0]
                    held += int(low <= mean <= high)
                    widths.append((high - low) / (2 * 1.96 * X.std() / math.sqrt(n)))
                row += [round(held / runs, 2), round(float(np.median(widths)), 2)]
        rows.append(row)
    kinds = [f"{n}, {kind}" for n in (500, 5000) for kind in ("pure", "delta")]
    cells = [f"{what}, {kind}" for kind in kinds for what in ("held", "width")]
    return Table(f"The mean of all rows, twelve laws, {runs} tables each", ("law", "bounds", *cells), rows)


def run(quick: bool) -> dict[str, Any]:
    """All tables; `ok` is false where a regression holds less than .93 by two standard errors."""
    columns = (
        "model", "n", "d", "law", "tables", "coverage", "se", "without interval", "width / least squares",
    )  # fmt: skip
    rows: Sequence[list[Any]] = list(regressions(1 if quick else 32))
    tables = [
        Table("Regressions: coverage of 95 % intervals", columns, rows),
        means(2 if quick else 60),
    ]
    low = [row for row in rows if row[5] + 2 * row[6] < 0.93]
    return {"tables": [table.to_dict() for table in tables], "ok": bool(quick or not low)}
