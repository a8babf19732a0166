"""Communities of large graphs: rounds over size, degree, contrast and budget, with forecast, time and memory.

Planted graphs from fixed seeds, noise from seeded generators (insecure_seed). Where dense matrices fit, the
certificate and edge flips run on the same graphs. Unequal communities, uneven degrees and four communities
have tables of their own. Peak memory is of the process so far, graph included: cells are in order of size.
"""

from __future__ import annotations

import resource
from typing import Any

import numpy as np

from benchmarks.harness import Table, timed
from problems.sbm import (
    CertificateRecovery,
    PlantedPartition,
    RandomizedResponseRecovery,
    RoundsRecovery,
    SparseFlipsRecovery,
    StarsRecovery,
    StochasticBlockModel,
    canonical_graph,
    error_rate,
    partition_error,
    recommend,
)
from problems.sbm.edges import canonical_edges
from problems.sbm.model import planted_edges
from problems.sbm.sparse_slack import slack_needed

DELTA, GAMMA = 1e-6, 0.8
SMALL = [
    (500, 50, 1.0), (500, 50, 2.0), (500, 100, 0.5), (500, 100, 1.0), (500, 200, 0.25), (500, 200, 0.5),
    (1000, 50, 1.0), (1000, 50, 2.0), (1000, 100, 0.5), (1000, 100, 0.75), (1000, 100, 1.0),
    (1000, 200, 0.25), (1000, 200, 0.5), (1000, 400, 0.25),
]  # fmt: skip
LARGE = [
    (10_000, 50, 0.8, 2.0), (10_000, 100, 0.8, 0.75), (10_000, 100, 0.8, 1.0), (10_000, 200, 0.8, 0.25),
    (10_000, 200, 0.8, 0.5), (10_000, 200, 0.3, 2.0), (10_000, 500, 0.8, 0.25), (100_000, 50, 0.8, 4.0),
    (100_000, 100, 0.8, 1.0), (100_000, 200, 0.8, 0.5), (100_000, 400, 0.8, 1.0), (1_000_000, 20, 0.8, 4.0),
    (1_000_000, 50, 0.8, 4.0),
]  # fmt: skip

GROWTH = [(50, 0.8, 4.0), (50, 0.4, 4.0), (50, 0.8, 2.0), (100, 0.8, 1.0), (100, 0.8, 2.0)]
SIZES = [1000, 3000, 10_000, 30_000, 100_000, 1_000_000]
CHECKED = [(10_000, 200, 1.5, 0.3, 5.0), (100_000, 200, 1.5, 0.4, 7.0)]


def wrong(labels: Any, truth: np.ndarray) -> int | None:
    """Number of wrong labels; None for a refusal."""
    return None if labels is None else round(error_rate(np.asarray(labels), truth) * len(truth))


def small(cells: list[tuple[int, int, float]], graphs: int) -> tuple[Table, bool]:
    """Share of runs with every label right, and forecasts, on the same graphs."""
    rows, ok = [], True
    for n, d, epsilon in cells:
        runs: dict[str, list[int | None]] = {"certificate": [], "rounds": [], "pure rounds": [], "flips": []}
        for seed in range(graphs):
            sample = StochasticBlockModel(n, d, GAMMA).sample(77 + seed)
            graph, edges = canonical_graph(sample.adjacency), canonical_edges(sample.adjacency)
            certificate = CertificateRecovery(epsilon, DELTA, average_degree=d)
            searched = certificate._search(graph)
            for draw in range(2):
                noise = 2 * seed + draw
                certificate.insecure_seed = noise
                labels = certificate._publish(graph, *searched).value["labels"]
                runs["certificate"].append(wrong(labels, sample.labels))
                for name, delta in (("rounds", DELTA), ("pure rounds", 0.0)):
                    made = RoundsRecovery(epsilon, delta, GAMMA, d, insecure_seed=noise)
                    runs[name].append(wrong(made._release(edges).value["labels"], sample.labels))
            flips = RandomizedResponseRecovery(epsilon, average_degree=d, insecure_seed=seed)
            runs["flips"].append(wrong(flips.fit(sample.adjacency).labels_, sample.labels))
        shares = {name: float(np.mean([r == 0 for r in result])) for name, result in runs.items()}
        forecast = {f.method: f for f in recommend(n, d, GAMMA, epsilon, DELTA).forecasts}
        best = recommend(n, d, GAMMA, epsilon, DELTA, goal="exact").best.method
        ok &= all(r in (None, 0) for r in runs["certificate"])
        mean = {
            name: float(np.mean([n / 2 if r is None else r for r in result])) for name, result in runs.items()
        }
        rows.append(
            [n, d, epsilon, shares["certificate"], forecast["certificate"].exact, shares["rounds"],
             forecast["rounds"].exact, shares["pure rounds"], shares["flips"], forecast["edge flips"].exact,
             mean["rounds"], mean["flips"], best]
        )  # fmt: skip
    return Table(
        f"Every label right: share of runs, gamma = {GAMMA}, delta = {DELTA:g}", "n | d | epsilon | "
        "certificate | forecast | rounds | forecast  | pure rounds | "
"edge flips | forecast   | wrong, rounds | wrong, flips | recommended", rows,
        (f"{graphs} graphs a cell, two draws of the noise (one of the flips).",),
    ), ok  # fmt: skip


def large(cells: list[tuple[int, int, float, float]], runs: int) -> Table:
    """Wrong labels of rounds and of edge-disjoint stars on large graphs, with CPU seconds and peak memory."""
    rows = []
    for n, d, gamma, epsilon in cells:
        sample = StochasticBlockModel(n, d, gamma).sample_edges(1)
        repeats = runs if n < 1_000_000 else 1
        result, seconds = [], []
        for seed in range(repeats):
            fitted, spent = timed(
                RoundsRecovery(epsilon, DELTA, gamma, d, insecure_seed=seed).fit, sample.edges
            )
            seconds.append(spent)
            result.append(wrong(fitted.labels_, sample.labels))
        stars = StarsRecovery(epsilon, gamma, d, insecure_seed=0).fit(sample.edges)
        forecast = next(f for f in recommend(n, d, gamma, epsilon, DELTA).forecasts if f.method == "rounds")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        rows.append(
            [n, d, gamma, epsilon, " ".join(map(str, result)), forecast.exact,
             wrong(stars.labels_, sample.labels), float(np.median(seconds)), peak]
        )  # fmt: skip
    return Table(
        f"Rounds on large graphs, delta = {DELTA:g}; stars: pure",
        "n | d | gamma | epsilon | wrong labels a run | forecast: all right | stars, wrong | CPU s | GB",
        rows,
    )


def growth(sizes: list[int]) -> Table:
    """Time and errors of rounds from 10^3 vertices on, over degree, contrast and epsilon."""
    rows = []
    for n in sizes:
        for d, gamma, epsilon in GROWTH if n < 1_000_000 else GROWTH[:1]:
            sample = StochasticBlockModel(n, d, gamma).sample_edges(2)
            fitted, seconds = timed(
                RoundsRecovery(epsilon, DELTA, gamma, d, insecure_seed=3).fit, sample.edges
            )
            error = error_rate(np.asarray(fitted.labels_), sample.labels)
            case = f"degree {d}, contrast {gamma}, epsilon {epsilon:g}"
            rows.append([n, d, gamma, epsilon, case, error, seconds])
    return Table(
        f"Rounds from 10^3 to 10^6 vertices, delta = {DELTA:g}",
        "n | d | gamma | epsilon | case | share of wrong labels | CPU s",
        rows,
        ("One graph and one run a row.",),
    )


def checked(cells: list[tuple[int, int, float, float, float]]) -> Table:
    """Exact or nothing by the dual slack, and the flipped graph as a baseline, on large graphs."""
    rows = []
    for n, d, epsilon, share, flips in cells:
        sample = StochasticBlockModel(n, d, GAMMA).sample_edges(1)
        made = RoundsRecovery(
            epsilon, DELTA, GAMMA, d, exact_or_nothing="slack", check_share=share, insecure_seed=1
        )
        fitted, seconds = timed(made.fit, sample.edges)
        spectral, spent = timed(
            SparseFlipsRecovery(flips, average_degree=d, insecure_seed=1).fit, sample.edges
        )
        rows.append(
            [n, d, epsilon, share, wrong(fitted.labels_, sample.labels), seconds,
             slack_needed(share * epsilon, 1e-3), flips, wrong(spectral.labels_, sample.labels), spent]
        )  # fmt: skip
    return Table(
        f"Exact or nothing, gamma = {GAMMA}, delta = {DELTA:g}; sparse flips: pure",
        "n | d | epsilon | share of the check | wrong labels | CPU s | slack needed | "
        "epsilon of flips | wrong, flips | CPU s ",
        rows,
        ("No number of wrong labels: withheld. The check: the dual slack proves the labels best of all.",),
    )


def robustness(n: int) -> Table:
    """Unequal communities, uneven degrees (balanced by count and by noisy degrees), four communities."""
    d, epsilon, rows = 200.0, 1.0, []
    rng = np.random.default_rng(5)
    p_in, p_out = (1 + GAMMA) * d / n, (1 - GAMMA) * d / n
    for share in (0.5, 0.4, 0.3, 0.2, 0.1):
        labels = np.where(rng.permutation(n) < share * n, 1, -1)
        edges = planted_edges(labels, p_in, p_out, rng)
        result = [wrong(RoundsRecovery(epsilon, DELTA, GAMMA, d, insecure_seed=s).fit(edges).labels_, labels)
                 for s in range(3)]  # fmt: skip
        rows.append([f"smaller community {share:.0%}", "even", " ".join(map(str, result))])
    labels = np.where(rng.permutation(n) < n // 2, 1, -1)
    uneven = {
        "weights 1/3 to 1": rng.uniform(1 / 3, 1, n),
        "Pareto weights, largest 20 times the least": np.clip(0.05 * rng.pareto(1.5, n) + 0.05, 0, 1),
    }
    for name, weights in uneven.items():
        scale = 1 / float(np.mean(weights)) ** 2
        edges = planted_edges(labels, min(1.0, p_in * scale), min(1.0, p_out * scale), rng, weights)
        for degrees in ("even", "uneven"):
            made = [
                RoundsRecovery(epsilon, DELTA, GAMMA, d, degrees=degrees, insecure_seed=s) for s in range(3)
            ]
            result = [wrong(m.fit(edges).labels_, labels) for m in made]
            rows.append([name, degrees, " ".join(map(str, result))])
    for k, gamma in ((4, 0.3), (8, 0.2)):
        model = PlantedPartition(n, k, (1 + (k - 1) * gamma) * 500 / n, (1 - gamma) * 500 / n)
        sample = model.sample_edges(1)
        made = [RoundsRecovery(2.0, DELTA, gamma, 500, communities=k, insecure_seed=s) for s in range(2)]
        result = [
            round(partition_error(np.asarray(m.fit(sample.edges).labels_), sample.labels) * n) for m in made
        ]
        rows.append(
            [f"{k} communities, d = 500, gamma = {gamma}, epsilon = 2", "even", " ".join(map(str, result))]
        )
    return Table(
        f"Away from the model: n = {n}, d = {d:g}, gamma = {GAMMA}, epsilon = {epsilon:g}",
        ("graph", "degrees", "wrong labels a run"), rows,
    )  # fmt: skip


def run(quick: bool) -> dict[str, Any]:
    """All tables; `ok` is false if the certificate release ever published a wrong labelling."""
    first, ok = small([(200, 80, 1.0)] if quick else SMALL, 2 if quick else 4)
    tables = [
        first,
        large(LARGE[:1] if quick else LARGE, 2 if quick else 3),
        robustness(2000 if quick else 20_000),
        growth(SIZES[:1] if quick else SIZES),
        checked([(2000, 200, 1.5, 0.3, 5.0)] if quick else CHECKED),
    ]
    return {"tables": [table.to_dict() for table in tables], "ok": ok, "missing": []}
