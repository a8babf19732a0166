"""Private cuts: cut norm, synthetic graphs with private error bounds, online answers, a large graph.

Graphs, queries and noise come from fixed seeds, so the tables of errors repeat. The largest cut error is the
largest cut found, over disjoint sets by `bound_disjoint_cut`, over arbitrary sets by `cut_norm`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Table, timed
from problems.cuts import CutRelease, QueryRelease
from problems.cuts.model import block_graph, block_queries, random_queries, sparse_graph
from problems.cuts.reconstruction import NoisyGraph
from sosdp.privacy.calibrate import gaussian_sigma_tight
from sosdp.structured.cut_norm import cut_norm
from sosdp.structured.disjoint_cut import bound_disjoint_cut

DELTA = 1e-6

# (construction, B) -> (largest, root mean square) error measured at k queries when the mechanism was designed
EARLIER = {
    ("mw", 20, 100): (380, 123),
    ("fk", 20, 100): (307, 146),
    ("fk", 10, 100): (294, 141),
    ("mw", 20, 600): (453, 134),
    ("fk", 20, 600): (400, 152),
    ("fk", 10, 600): (456, 162),
    ("mw", 20, 3000): (436, 95),
    ("fk", 20, 3000): (587, 150),
    ("fk", 10, 3000): (511, 172),
}


def symmetric_gauss(n: int, seed: int = 0) -> np.ndarray:
    """A symmetric Gaussian matrix."""
    matrix = np.random.default_rng(seed).standard_normal((n, n))
    return matrix + matrix.T


def engine(quick: bool) -> Table:
    """Certified cut norm against the package `cutnorm` (which certifies nothing)."""
    rows = []
    for n in (16, 100) if quick else (16, 100, 300, 1000, 2000):
        matrix = symmetric_gauss(n)
        cut_norm(matrix[:16, :16])  # imports
        result, ours = timed(cut_norm, matrix)
        theirs, value = None, None
        if n <= 300 and harness.available("cutnorm"):
            from cutnorm import compute_cutnorm

            peer, theirs = timed(compute_cutnorm, matrix, np.zeros_like(matrix), max_round_iter=100)
            value = peer[0] * n * n
        rows.append([n, ours, result.gap, result.lower, result.upper, theirs, value])
    notes = [
        "symmetric Gaussian matrices; cutnorm is run up to n = 300 (at 1000 it did not end in 5 minutes)"
    ]
    if not harness.available("cutnorm"):
        notes.append(harness.not_installed("cutnorm"))
    return Table(
        "Cut norm: CPU seconds and value found",
        ["n", "ours s", "certified gap", "found", "proven bound", "cutnorm s", "cutnorm found"],
        rows,
        notes,
    )


def noisy_of(release: CutRelease) -> NoisyGraph:
    """The noisy graph that a release was made from."""
    noisy = release.graph_.noisy
    assert noisy is not None
    return noisy


def flat(release: CutRelease) -> np.ndarray:
    """The constant graph of the same noisy release."""
    weights = np.full(release.graph_.weights.shape, noisy_of(release).density)
    np.fill_diagonal(weights, 0.0)
    return weights


def heaviest(noisy: np.ndarray, edges: float) -> np.ndarray:
    """The noisy graph's heaviest pairs, as many as it has weight (a simple baseline for sparse graphs)."""
    upper = np.triu_indices(len(noisy), 1)
    order = np.argsort(-noisy[upper], kind="stable")[: max(0, round(edges))]
    kept = np.zeros_like(noisy)
    kept[upper[0][order], upper[1][order]] = 1.0
    return kept + kept.T


def releases(quick: bool) -> tuple[Table, list[str]]:
    """Releases of a three-block graph at two budgets, with their error bounds and baselines."""
    n = 60 if quick else 400
    sizes = [n - 2 * (n // 3), n // 3, n // 3]
    rows, failed = [], []
    for epsilon, runs in ((1.0, 2), (2.0, 2)) if quick else ((1.0, 20), (2.0, 5)):
        errors: dict[str, list[tuple[float, float]]] = {}
        ratios, valid, proven, gaps = [], 0, 0, 0
        for seed in range(runs):
            graph, _ = block_graph(sizes, 0.5, 0.1, 100 + seed)
            truth = graph.toarray().astype(float)
            release = CutRelease(epsilon, insecure_seed=seed).fit(graph)
            whole = CutRelease(epsilon, error_share=0.0, insecure_seed=1000 + seed).fit(graph)
            noisy = noisy_of(whole)
            candidates = {
                "release": release.graph_.weights,
                "constant": flat(whole),
                "raw flips": noisy.values,
            }
            if seed < 2:
                candidates["smooth"] = (
                    CutRelease(epsilon, method="smooth", insecure_seed=seed).fit(graph).graph_.weights
                )
                candidates["heaviest"] = heaviest(noisy.values, noisy.values.sum() / 2)
            for name, weights in candidates.items():
                disjoint = bound_disjoint_cut(truth - weights, gap=n**1.5 / 4096.0 + 0.5)
                errors.setdefault(name, []).append((disjoint.attained, cut_norm(truth - weights).lower))
                if name == "release" and release.cut_error_ is not None:
                    bound = release.cut_error_["bound"]
                    valid += bound >= disjoint.attained
                    proven += bound >= disjoint.upper
                    gaps += disjoint.certified
                    ratios.append(bound / disjoint.attained)
        better = [min(a[0], b[0]) for a, b in zip(errors["constant"], errors["raw flips"], strict=True)]
        broad = [min(a[1], b[1]) for a, b in zip(errors["constant"], errors["raw flips"], strict=True)]
        relative = [e[0] / b for e, b in zip(errors["release"], better, strict=True)]
        relative_wide = [e[1] / b for e, b in zip(errors["release"], broad, strict=True)]
        for name, result in errors.items():
            disjoint_mean, wide_mean = np.mean(result, axis=0)
            rows.append([epsilon, name, len(result), disjoint_mean, wide_mean, None, None])
        rows += [
            [
                epsilon, "release / better baseline, worst run", runs, max(relative), max(relative_wide),
                None, None,
            ],
            [
                epsilon, "bound / error found: mean, worst; held", runs, None, None, float(np.mean(ratios)),
                max(ratios),
            ],
            [
                epsilon, f"bound held {valid}, above proven {proven}, gap certified {gaps}", runs, None, None,
                None, None,
            ],
        ]  # fmt: skip
        limit = 0.9 if epsilon == 1.0 else 1.0
        if not quick and not (max(relative) <= limit and valid == runs and max(ratios) <= 4.0):
            failed.append(f"synthetic graph at epsilon = {epsilon}")
    return (
        Table(
            f"Largest cut error, n = {n}, three blocks .5/.1",
            ["epsilon", "graph", "runs", "disjoint S, T", "any S, T", "bound / error", "worst"],
            rows,
            ["errors: the largest cut found; baselines spend the whole epsilon and release no bound"],
        ),
        failed,
    )


def streams(quick: bool) -> tuple[Table, list[str]]:
    """Block queries on a sparse graph: online constructions, Gaussian noise per query, flips, a constant."""
    n, ks = (200, (50,)) if quick else (1500, (100, 600, 3000))
    graph, labels = block_graph([n // 4] * 4, 0.04, 0.0095, 5)
    dense = graph.toarray().astype(float)
    rows, failed = [], []
    flipped = CutRelease(1.0, error_share=0.0, insecure_seed=3).fit(graph)
    flips, raw = flipped.graph_, noisy_of(flipped).values
    for k in ks:
        queries = block_queries(labels, k, 7)
        truth = np.array([query.apply(dense) for query in queries])

        def add(
            name: str, answers: Any, note: Any, truth: np.ndarray = truth, k: int = k
        ) -> tuple[float, float]:
            error = np.abs(np.asarray(answers) - truth)
            result = float(error.max()), float(np.sqrt((error**2).mean()))
            rows.append([k, name, *result, note, None, None])
            return result

        density = dense.sum() / (n * (n - 1))
        add("constant density", [density * len(q.first) * len(q.second) for q in queries], None)
        sigma = gaussian_sigma_tight(1.0, DELTA) * math.sqrt(k)
        add("Gaussian per query, k known", truth + np.random.default_rng(1).normal(0, sigma, k), None)
        add("raw flips", [q.apply(raw) for q in queries], None)
        add("synthetic graph", [q.apply(flips.weights) for q in queries], None)
        for construction, paid in (("mw", 20), ("fk", 20), ("fk", 10)):
            result = []
            for seed in (1, 2) if not quick else (1,):
                online = QueryRelease(
                    1.0, DELTA, construction=construction, paid=paid, expected_queries=k, insecure_seed=seed
                ).fit(graph)
                error = np.abs(np.array([a.value for a in online.answers(queries)]) - truth)
                result.append((float(error.max()), float(np.sqrt((error**2).mean())), online.budget_["used"]))
            largest, rms, used = np.mean(result, axis=0)
            before = EARLIER.get((construction, paid, k), (math.nan, math.nan))
            rows.append(
                [
                    k,
                    f"online {construction}, B = {paid}",
                    largest,
                    rms,
                    used,
                    largest / before[0],
                    rms / before[1],
                ]
            )
            if not quick and k == 3000 and max(largest / before[0], rms / before[1]) > 1.3:
                failed.append(f"online {construction} B = {paid} at k = {k}")
    return (
        Table(
            f"Block queries, n = {n}, epsilon = 1, delta = 1e-6",
            ["queries", "mechanism", "largest", "rms", "updates", "/ earlier", "/ earlier rms"],
            rows,
            ["online: means over two seeds of the noise"],
        ),
        failed,
    )


def large(quick: bool) -> Table:
    """A graph that has no dense matrix."""
    n, edges, count = (20_000, 100_000, 20) if quick else (100_000, 1_000_000, 300)
    graph = sparse_graph(n, edges, 1)
    release = QueryRelease(1.0, DELTA, expected_queries=count, insecure_seed=1)
    online, fitting = timed(release.fit, graph)
    queries = random_queries(n, count, 2)
    answers, answering = timed(online.answers, queries)
    truth = np.array([online.private_graph_.count(query) for query in queries])
    error = np.abs(np.array([answer.value for answer in answers]) - truth)
    return Table(
        "Online answers without a matrix",
        ["vertices", "edges", "fit s", "queries", "s a query", "updates", "largest error", "median truth"],
        [
            [
                n,
                graph.nnz // 2,
                fitting,
                count,
                answering / count,
                online.budget_["used"],
                float(error.max()),
                float(np.median(truth)),
            ]
        ],
        ["random cuts between thirds of the vertices"],
    )


def run(quick: bool = False) -> dict[str, Any]:
    """All tables; `failed` names the bars that were missed."""
    cuts, failed = releases(quick)
    online, failed_online = streams(quick)
    tables = [engine(quick), cuts, online, large(quick)]
    return {"tables": [table.to_dict() for table in tables], "failed": failed + failed_online}
