"""Regression, components and ill-conditioned covariances: errors, plans, rivals.

Regression: residual deviation 1, signal deviation 1.5, excess error sqrt((b' - b)^T Sigma (b' - b)),
medians of runs at (epsilon, 1e-6), and at epsilon alone; ours is given no bounds. Rivals are given exact
bounds, centres and scales for nothing, CoinPress the mean and the largest deviation of any direction.
"wrong": 3 % of the rows are far and lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.diffprivlib_peer import diffprivlib
from benchmarks.gaussian_baselines import covariance_coinpress
from benchmarks.harness import Table
from problems.gaussian import PrivateGaussian, PrivateLinearRegression, PrivatePCA, TooFewRecords
from sosdp.privacy.calibrate import gaussian_sigma_tight, zcdp_rho

DELTA = 1e-6
SEED = 33
RHO = zcdp_rho(1.0, DELTA)  # what CoinPress may spend
OPTIONS: dict[str, Any] = {"delta": DELTA, "bounds": None}
REGRESSIONS = (
    (2000, 1, 1.0, "normal", 1.0), (5000, 3, 1.0, "normal", 1.0), (5000, 5, 1.0, "normal", 1.0),
    (5000, 10, 1.0, "normal", 1.0), (20000, 5, 1.0, "normal", 1.0), (20000, 10, 1.0, "normal", 1.0),
    (20000, 20, 1.0, "normal", 1.0), (20000, 10, 1.0, "normal", 0.5), (20000, 10, 1.0, "normal", 2.0),
    (20000, 10, 1e2, "normal", 1.0), (20000, 10, 1e4, "normal", 1.0), (20000, 5, 1.0, "t3", 1.0),
    (20000, 10, 1e2, "wrong", 1.0), (50000, 10, 1.0, "normal", 1.0),
)  # fmt: skip
CONDITIONS = (
    (20000, 10, 1.0), (20000, 10, 1e2), (20000, 10, 1e4), (20000, 10, 1e6), (20000, 20, 1e4), (5000, 5, 1e3),
    (5000, 10, 1e2), (5000, 10, 1e4), (5000, 10, 1e6), (100000, 10, 1e6),
)  # fmt: skip


def drawn(n: int, d: int, condition: float, law: str, run: int) -> tuple[np.ndarray, ...]:
    """Regressors (n, d), target (n,), coefficients (d,), and a root (d, d) of the covariance of the
    regressors."""
    g = np.random.default_rng([SEED, n, d, run])
    root = np.linalg.qr(g.normal(size=(d, d)))[0] * np.sqrt(np.geomspace(1.0, 1.0 / condition, d))
    heavy = law == "t3"
    z = g.standard_t(3, (n, d)) / math.sqrt(3.0) if heavy else g.normal(size=(n, d))
    if law == "indicators":
        z[:, 0], root = (g.random(n) < 0.2) * 2.5, np.eye(d)
    X, b = z @ root.T, g.normal(size=d)
    b = np.linalg.solve(root.T, 1.5 * b / np.linalg.norm(b))
    e = g.standard_t(3, n) / math.sqrt(3.0) if heavy else g.normal(size=n)
    if law == "unequal":
        e = e * np.sqrt(0.25 + 0.75 * z[:, 0] ** 2)
    y = X @ b + e
    if law == "wrong":
        X[: 3 * n // 100], y[: 3 * n // 100] = 50.0 * root[:, 0], -300.0
    return X, y, b, root


# ------------------------------------------------------------------------------------------------------------
# Rivals, with exact bounds, centres and scales for nothing: AdaSSP (Wang 2018), Tukey EM (Amin, Joseph,
# Ribero, Vassilvitskii 2023), clipped gradient descent with noise for exact Gaussian accounting, and Analyze
# Gauss (Dwork, Talwar, Thakurta, Zhang 2014). Noise is seeded and in floating point.

Array = np.ndarray
STEPS, RATE = 30, 0.6


def _centred(X: Array, y: Array) -> tuple[Array, Array, Array]:
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / scale, y - y.mean(), scale


def _symmetric(d: int, g: np.random.Generator) -> Array:
    noise = g.normal(size=(d, d))
    return np.triu(noise) + np.triu(noise, 1).T


def adassp(X: Array, y: Array, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """Sufficient statistics with a ridge that adapts."""
    Z, v, scale = _centred(X, y)
    d = Z.shape[1]
    radius, target = np.linalg.norm(Z, axis=1).max(), np.abs(v).max()
    log, part, gram = math.log(6.0 / delta), epsilon / 3.0, Z.T @ Z
    unit = math.sqrt(log) / part * radius**2
    least = max(np.linalg.eigvalsh(gram)[0] + unit * g.normal() - log / part * radius**2, 0.0)
    ridge = max(0.0, math.sqrt(d * log * math.log(2 * d * d / 0.05)) * radius**2 / part - least)
    moments = Z.T @ v + unit * target / radius * g.normal(size=d)
    return np.asarray(np.linalg.solve(gram + unit * _symmetric(d, g) + ridge * np.eye(d), moments) / scale)


def gradient_descent(X: Array, y: Array, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """Full gradients, clipped at sqrt(d)."""
    Z, v, scale = _centred(X, y)
    n, d = Z.shape
    clip, b = math.sqrt(d), np.zeros(d)
    sigma = 2.0 * clip * gaussian_sigma_tight(epsilon, delta) * math.sqrt(STEPS)
    for _ in range(STEPS):
        rows = Z * (v - Z @ b)[:, None]
        rows *= np.minimum(1.0, clip / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))[:, None]
        b = b + RATE * (rows.sum(axis=0) + sigma * g.normal(size=d)) / n
    return b / scale


def tukey_em(X: Array, y: Array, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """A draw by approximate Tukey depth among fits of disjoint parts; NaN where its test refuses."""
    n, d = X.shape
    parts = max(4, min(1000, n // (d + 1)))
    full = np.column_stack([X, np.ones(n)])
    order = g.permutation(n)[: n // parts * parts].reshape(parts, -1)
    fits = np.sort(np.array([np.linalg.lstsq(full[i], y[i], rcond=None)[0] for i in order]), axis=0)
    half, t, share = parts // 2, parts // 4, epsilon / 2.0
    with np.errstate(divide="ignore"):
        volumes = np.array([np.log(fits[parts - i] - fits[i - 1]).sum() for i in range(1, half + 1)])
    if _distance(volumes, t, share, delta) + g.laplace(0, 1 / share) <= math.log(1 / (2 * delta)) / share:
        return np.full(d, np.nan)
    depths = np.arange(t, half)
    outer, inner = volumes[depths - 1], np.append(volumes[depths[1:] - 1], -np.inf)
    weights = share * depths / 2.0 + outer + np.log1p(-np.exp(np.minimum(inner - outer, -1e-12)))
    chances = np.exp(weights - weights.max())
    j = int(g.choice(depths, p=chances / chances.sum()))
    low, high = fits[j - 1], fits[parts - j]
    for _ in range(1000):
        point = low + g.random(d + 1) * (high - low)
        if j + 1 > half or not ((point >= fits[j]) & (point <= fits[parts - j - 1])).all():
            break
    return np.asarray(point[:d])


def _distance(volumes: Array, t: int, share: float, delta: float) -> int:
    """Lower bound on the distance to a table without a stable depth."""
    half, result = len(volumes), -1
    for k in range(t - 1):
        gaps = np.arange(1, half - t - k - 1)
        losses = volumes[max(0, t - k - 2)] - volumes[t + k + gaps] - share * gaps / 2.0
        if not (gaps.size and (losses <= math.log(delta / (8.0 * math.exp(share)))).any()):
            break
        result = k
    return result


def analyze_gauss(X: Array, k: int, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """Leading eigenvectors (k, d) of the centred second moments with noise for the largest norm."""
    away = X - X.mean(axis=0)
    radius = np.linalg.norm(away, axis=1).max()
    noisy = away.T @ away + gaussian_sigma_tight(epsilon, delta) * radius**2 * _symmetric(X.shape[1], g)
    return np.asarray(np.linalg.eigh(noisy)[1][:, ::-1][:, :k].T)


RIVALS = {"AdaSSP": adassp, "gradient descent": gradient_descent, "Tukey EM": tukey_em}


# ------------------------------------------------------------------------------------------------------------
# Tables


def regressions(runs: int) -> Table:
    """Median excess errors of ours, the plan, least squares and rivals."""
    rows = []
    for n, d, condition, law, epsilon in REGRESSIONS:
        wrong = 0.05 if law == "wrong" else 0.0
        model = PrivateLinearRegression(epsilon, contamination=wrong, **OPTIONS)
        pure = PrivateLinearRegression(epsilon, contamination=wrong, bounds=None)
        without = planned(pure, n, d)
        errors: dict[str, list[float]] = {name: [] for name in ("ours", "pure", "least squares", *RIVALS)}
        tables = []
        for run in range(runs):
            X, y, b, root = drawn(n, d, condition, law, run)
            tables.append((np.column_stack([X, y]), b, root))
            g = np.random.default_rng([run, 9])
            away = {"ours": model.fit(X, y).coef_ - b, "least squares": least_squares(X, y) - b}
            away["pure"] = pure.fit(X, y).coef_ - b if without else np.full(d, np.nan)
            away |= {name: rival(X, y, epsilon, DELTA, g) - b for name, rival in RIVALS.items()}
            for name, vector in away.items():
                errors[name].append(float(np.linalg.norm(root.T @ vector)))
        peer = diffprivlib("line", [table for table, _, _ in tables], epsilon)
        for (_, b, root), coef in zip(tables, peer if peer is not None else (), strict=peer is not None):
            errors.setdefault("diffprivlib", []).append(float(np.linalg.norm(root.T @ (coef - b))))
        medians = {name: _median(v) for name, v in errors.items()}
        medians.setdefault("diffprivlib", None)
        ours = [medians.pop("ours"), planned(model, n, d), medians.pop("pure"), without]
        rows.append([n, d, condition, law, epsilon, *ours, *medians.values()])
    names = ("ours", "plan", "epsilon alone", "its plan", "least squares", *RIVALS, "diffprivlib")
    return Table(
        "Regression: median excess error",
        ("n", "d", "condition", "law", "epsilon", *names),
        rows,
        (
            f"medians of {runs}; none: the rival's own test, or the plan of epsilon alone, refused",
            "diffprivlib has epsilon alone",
        ),
    )


def planned(model: Any, n: int, d: int) -> float | None:
    """The forecast error; None where the plan refuses."""
    try:
        return round(model.plan(n, d).total_error, 3)
    except TooFewRecords:
        return None


def _median(values: list[float]) -> float | None:
    return round(float(np.median(values)), 3) if np.isfinite(values).all() else None


def least_squares(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sample's own coefficients."""
    full = np.column_stack([X, np.ones(len(y))])
    return np.asarray(np.linalg.lstsq(full, y, rcond=None)[0][:-1])


def conditions(runs: int) -> Table:
    """Relative Frobenius errors of a whole Gaussian by the condition of its covariance, and what is
    flagged."""
    rows = []
    for n, d, condition in CONDITIONS:
        errors, rival, alone, flags, unsure, expected = [], [], [], 0, 0, []
        pure = PrivateGaussian(1.0, contamination=0.0, bounds=None)
        without = planned(pure, n, d)
        for run in range(runs):
            X, _, _, root = drawn(n, d, condition, "normal", run)
            model = PrivateGaussian(1.0, contamination=0.0, **OPTIONS).fit(X)
            inverse = np.linalg.inv(root)
            errors.append(off(model.covariance_, inverse))
            alone.append(off(pure.fit(X).covariance_, inverse) if without else np.nan)
            unsure += int(bool(without) and not pure.within_plan_)
            g = np.random.default_rng([SEED, run, 9])
            noisy = covariance_coinpress(X / root_size(root), RHO, 1.0, g) * root_size(root) ** 2
            rival.append(off(noisy, inverse))
            flags += int(not model.within_plan_)
            expected.append(model.error_)
        plan = model.plan_
        median = float(np.median(errors))
        result = (median, max(errors), float(np.median(expected)), plan.total_error)
        rows.append(
            [
                n,
                d,
                condition,
                *(round(x, 3) for x in result),
                float(f"{plan.condition:.2g}"),
                f"{flags} of {runs}",
                _median(alone),
                without,
                f"{unsure} of {runs}" if without else None,
                _median(rival),
            ]
        )
    return Table(
        "Whole Gaussians: error by condition at epsilon 1",
        "n | d | condition | error | worst | error_ | plan | reach of the plan | flagged | "
        "epsilon alone | its plan | it flagged | CoinPress",
        rows,
    )


def off(covariance: np.ndarray, inverse: np.ndarray) -> float:
    """Frobenius error of a covariance relative to the truth, of the given inverse root."""
    return float(np.linalg.norm(inverse @ covariance @ inverse.T - np.eye(len(inverse))))


def root_size(root: np.ndarray) -> float:
    """The largest standard deviation of any direction, which CoinPress is told."""
    return float(np.linalg.norm(root, 2))


def components(runs: int) -> Table:
    """Angles of the span of three components (eigenvalues 9, 5, 3 and 1)."""
    rows = []
    names = ("ours", "forecast", "epsilon alone", "sample", "Analyze Gauss", "CoinPress")
    shapes = ((2000, 3, False), (5000, 5, False), (20000, 10, False), (20000, 10, True))
    for n, d, distant in shapes:
        result: dict[str, list[float]] = {name: [] for name in names}
        k = min(3, d - 1)
        for run in range(runs):
            g = np.random.default_rng([SEED, n, d, run])
            axes = np.linalg.qr(g.normal(size=(d, d)))[0]
            values = np.array([9.0, 5.0, 3.0] + [1.0] * (d - 3))
            X = g.normal(size=(n, d)) * np.sqrt(values) @ axes.T
            if distant:
                X[: 3 * n // 100] = 100.0 * axes[:, -1]
            options: dict[str, Any] = {"n_components": k, "contamination": 0.05 if distant else 0.0}
            model = PrivatePCA(1.0, **options, **OPTIONS).fit(X)
            pure = PrivatePCA(1.0, bounds=None, **options)
            away = X - X.mean(axis=0)
            rival = np.linalg.eigh(covariance_coinpress(away / 3.0, RHO, 1.0, g))[1][:, ::-1][:, :k].T
            spans = {
                "ours": model.components_,
                "sample": np.linalg.svd(away, full_matrices=False)[2][:k],
                "Analyze Gauss": analyze_gauss(X, k, 1.0, DELTA, g),
                "CoinPress": rival,
            }
            if planned(pure, n, d):
                spans["epsilon alone"] = pure.fit(X).components_
            for name, span in spans.items():
                result[name].append(sine(span, axes[:, :k]))
            result["forecast"].append(model.subspace_angle_)
        medians = [_median(values) if values else None for values in result.values()]
        rows.append([n, d, k, "3 % far" if distant else "normal", *medians])
    return Table("Components: sine of the largest angle, medians", ("n", "d", "k", "law", *names), rows)


def sine(result: np.ndarray, axes: np.ndarray) -> float:
    """Of the largest angle between rows (k, d) of unit length and columns (d, k)."""
    return float(np.linalg.norm(result - result @ axes @ axes.T, 2))


def run(quick: bool) -> dict[str, Any]:
    """All tables; `ok` is false where an error by condition is off and not flagged."""
    tables: Sequence[Table]
    try:
        tables = [
            regressions(1 if quick else 5),
            conditions(1 if quick else 3),
            components(1 if quick else 5),
        ]
    except TooFewRecords as refused:
        return {"tables": [], "ok": False, "missing": [str(refused)]}
    silent = [row for row in tables[1].rows if row[3] > 1.25 * row[6] and row[8].startswith("0 ")]
    silent += [row for row in tables[1].rows if row[9] and row[9] > 1.25 * row[10] and row[11][0] == "0"]
    return {"tables": [table.to_dict() for table in tables], "ok": quick or not silent}
