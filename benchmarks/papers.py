"""The papers' statements, one row each: what runs, at which size, with which guarantee, how far from best.

A row is a function of `quick` that returns one `Row` for each size it measures. `MEASURES` lists them all.
`quick` takes the least size of each: a sample.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np

from benchmarks.harness import Table, timed
from problems.cuts import CutRelease, OfflineRelease, offline_budget
from problems.cuts.model import block_graph
from problems.gaussian import DyadicBoxes, PackingProblem, PackingScore, PrivateCovariance, PrivateMean
from problems.gaussian.published import truncated
from problems.gmm import centre_error
from problems.mrf import FrankWolfePairwise, MomentsIsing, VotedStructure, grid
from problems.mrf.model import alphabet_grid
from problems.sbm import (
    ExponentialRecovery,
    RandomizedResponseRecovery,
    StochasticBlockModel,
    VertexRecovery,
    error_rate,
)
from problems.tuples import PrivateKMeans
from sosdp.laboratory import fits
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.score import cube
from sosdp.structured.disjoint_cut import bound_disjoint_cut


@dataclass(frozen=True)
class Row:
    """What a paper states and what was measured of it.

    Attributes:
        paper, statement: which, and what it says.
        runs: what runs here.
        size: of the measured case.
        kind: of the guarantee.
        error: what was measured; best_known: the same of the best other method, None without one.
        cpu_s: seconds of one release. as_wanted: whether it meets its bar.
    """

    paper: str
    statement: str
    runs: str
    size: str
    kind: str
    error: float | None
    best_known: float | None
    cpu_s: float
    as_wanted: bool


# ------------------------------------------------------------------------------------------------------------
# "Robustness implies privacy": means and covariances by sum-of-squares scores, and least records

ROBUST = "robustness implies privacy"
REACH = 12
SPACING = {2: 128, 3: 64, 4: 8}  # steps of the rival's lattice, which has at most 10^10 points
CASES = (  # n, d, share of wrong records, runs
    (1000, 2, 0.05, 5),
    (1000, 2, 0.1, 5),
    (10_000, 2, 0.1, 8),
    (10_000, 2, 0.3, 3),
    (1000, 3, 0.1, 3),
    (10_000, 3, 0.1, 1),
    (1000, 4, 0.1, 1),
    (100_000, 2, 0.1, 1),
)


def records(n: int, d: int, wrong: float, seed: int) -> np.ndarray:
    """(n, d) standard normal records about 0, a fraction of them replaced by one point 8 away."""
    generator = np.random.default_rng([n, d, seed])
    table = generator.normal(size=(n, d))
    table[: round(wrong * n)] = 8.0 / np.sqrt(d)
    return np.clip(table, -REACH, REACH)


def mean(n: int, d: int, wrong: float, runs: int) -> Row:
    """The packing score of degree 2 against the count of records near a candidate, and folded records."""
    problem = PackingProblem("identity", d, 0.75 * (1.0 - wrong))
    score = PackingScore(problem, cube(Fraction(1, 1024), REACH, d), n)
    near = fits.location(n, dimension=d, tolerance=1, spacing=Fraction(1, SPACING[d]), reach=REACH)
    errors, counted, folded, spent, kind = [], [], [], [], ""
    for seed in range(runs):
        table: Any = records(n, d, wrong, seed)
        release, seconds = timed(pure_exponential, score, table, epsilon=1.0, sampler=DyadicBoxes())
        spent.append(seconds)
        errors.append(float(np.linalg.norm(release.value)))
        kind = str(release.guarantee.kind)
        counted.append(
            float(np.linalg.norm(pure_exponential(near.score_function(), table, epsilon=1.0).value))
        )
        other = PrivateMean(1.0, bounds=(-REACH, REACH), contamination=min(wrong, 0.2)).fit(table)
        folded.append(float(np.linalg.norm(other.mean_)))
    error, cpu = float(np.mean(errors)), float(np.mean(spent))
    rivals = float(np.mean(counted)), float(np.mean(folded))
    good = error <= 1.5 * rivals[0] and (cpu < 60 or n > 10_000)
    runs_here = f"packing score, exact draw (count of near records {rivals[0]:.3g}, folded {rivals[1]:.3g})"
    size = f"d = {d}, n = {n}, {wrong:.0%} wrong, epsilon 1"
    said = "Theorems 4.1, 5.1: the exponential mechanism on a score of the mean"
    return Row(ROBUST, said, runs_here, size, kind, error, min(rivals), cpu, good)


def means(quick: bool) -> list[Row]:
    """All cases, or one."""
    return [mean(*case) for case in (((1000, 2, 0.1, 2),) if quick else CASES)]


def covariances(quick: bool) -> list[Row]:
    """Two columns, pure, against noise at delta = 1e-6; errors relative to the truth, Frobenius."""
    result = []
    for n in (2000,) if quick else (2000, 10_000):
        errors: list[float] = []
        others: list[float] = []
        spent, kind = [], ""
        truth = np.array([[1.0, 0.6], [0.6, 1.0]])
        for seed in range(1 if quick else 3):
            table = np.random.default_rng([n, seed]).multivariate_normal([0, 0], truth, size=n)
            options: dict[str, Any] = {"bounds": (-20, 20), "contamination": 0.05}
            model, seconds = timed(PrivateCovariance(1.0, **options).fit, table)
            spent.append(seconds)
            kind = str(model.guarantee_.kind)
            other = PrivateCovariance(1.0, delta=1e-6, **options).fit(table)
            for made, into in ((model, errors), (other, others)):
                root = np.linalg.inv(np.linalg.cholesky(truth))
                into.append(float(np.linalg.norm(root @ made.covariance_ @ root.T - np.eye(2))))
        error, best, cpu = float(np.mean(errors)), float(np.mean(others)), float(np.mean(spent))
        said = "Theorems 6.1, 7.1: covariances in pure privacy"
        size = f"d = 2, n = {n}, epsilon 1"
        runs = "frame and noise of an exact law (best known: noise, with delta = 1e-6)"
        result.append(Row(ROBUST, said, runs, size, kind, error, best, cpu, kind in ("exact", "certified")))
    return result


def least(quick: bool) -> list[Row]:
    """Theorem 4.2 in one column: the least number of records in the column of errors."""
    result = []
    tasks: tuple[tuple[truncated.Task, float, int], ...] = (("mean", 0.1, 5056), ("variance", 0.03, 16_768))
    for task, eta, before in tasks:
        records, spent = timed(truncated.least_records, task, 1.0, 1e-6, eta)
        size = f"one column, eta = {eta}, (1, 1e-6)"
        said = "Theorem 4.2: approximate privacy without bounds"
        runs = f"least number of records of a {task} (best known: by separation and slow growth alone)"
        result.append(Row(ROBUST, said, runs, size, "conditional", records, before, spent, records < before))
    return result


# ------------------------------------------------------------------------------------------------------------
# Cuts, communities and Markov fields

CUTS, COMMUNITIES, FIELDS = "iterative constructions", "communities", "Markov random fields"


def cuts(quick: bool) -> list[Row]:
    """Error bars of synthetic graphs: all runs certified, and the bound over the largest error found."""
    graphs = []
    for n in (10,) if quick else (10, 30, 60, 120, 200):
        graphs += [nx.path_graph(n), nx.complete_graph(n), nx.star_graph(n - 1), nx.empty_graph(n)]
        graphs += [nx.cycle_graph(n), nx.barbell_graph(n // 2, 0), nx.gnp_random_graph(n, 0.1, seed=1)]
        graphs += [nx.random_regular_graph(4, n, seed=2)]
    spent, kinds, ratios = 0.0, set(), []
    for graph in graphs:
        fitted, seconds = timed(CutRelease(1.0).fit, graph)
        spent += seconds / len(graphs)
        kinds.add(str(fitted.guarantee_.kind))
        assert fitted.cut_error_ is not None
        missed = nx.to_numpy_array(graph) - fitted.graph_.weights
        ratios.append(fitted.cut_error_["bound"] / max(bound_disjoint_cut(missed, gap=1.0).attained, 1.0))
    said, size = "Section 6: a synthetic graph for all cuts", f"{len(graphs)} graphs, epsilon 1"
    runs = "flips, posterior, error bar (bound over error found; best: 1)"
    return [
        Row(
            CUTS,
            said,
            runs,
            size,
            "/".join(kinds),
            float(np.median(ratios)),
            1.0,
            spent,
            kinds == {"certified"},
        )
    ]


def offline(quick: bool) -> list[Row]:
    """The offline construction at the budget that its forecast names, against one density."""
    graph, _ = block_graph([100, 100], 0.6, 0.2, 1)
    rho, n = offline_budget(200, 40.0, 0.4, rounds=2), 200
    flat = np.full((n, n), graph.sum() / (n * (n - 1))) * (1 - np.eye(n))
    fitted, spent = timed(OfflineRelease(rho, rounds=2).fit, graph)
    error = bound_disjoint_cut(graph.toarray() - fitted.graph_.weights, gap=100.0).attained
    best = bound_disjoint_cut(graph.toarray() - flat, gap=100.0).attained
    size = f"n = 200, two blocks .6/.2, rho {rho:.2g}"
    runs, kind = "noisy signs (largest cut error; best: one density)", str(fitted.guarantee_.kind)
    return [Row(CUTS, "Section 7: offline release", runs, size, kind, error, best, spent, error < best)]


def vertices(quick: bool) -> list[Row]:
    """Each vertex its own label, on dense graphs: wrong labels, against the plan's forecast of them."""
    result = []
    for n, d in ((1000, 500.0),) if quick else ((1000, 500.0), (3000, 1000.0)):
        errors, spent, kind = [], [], ""
        for seed in range(2 if quick else 8):
            sample = StochasticBlockModel(n, d, 0.8).sample(seed)
            fitted, seconds = timed(VertexRecovery(4.0, 1e-6, 0.8, d).fit, sample.adjacency)
            spent.append(seconds)
            known = np.array([fitted.label_of(v) for v in range(n)])
            errors.append(min((known != sample.labels).sum(), (known == sample.labels).sum()))
            kind = str(fitted.guarantee_.kind)
        forecast = n * fitted.plan_.wrong_share
        size = f"n = {n}, d = {d:g}, epsilon 4, delta 1e-6"
        runs = f"VertexRecovery (wrong labels; forecast {forecast:.2g}, failure {fitted.plan_.failure:.1g})"
        said = "labels under privacy for vertices: impossible to publish"
        wrong, cpu = float(np.mean(errors)), float(np.mean(spent))
        result.append(
            Row(COMMUNITIES, said, runs, size, kind, wrong, 0.0, cpu, wrong <= forecast + 0.005 * n)
        )
    return result


def structures(quick: bool) -> list[Row]:
    """A grid's graph by votes, at the number of records said in advance."""
    model = grid(2, 2, 0.5) if quick else grid(3, 3, 0.4)
    voted = VotedStructure(model.width, 0.2, iterations=60)
    records, blocks = voted.required_records(model)
    fitted, spent = timed(voted.set_params(blocks=blocks).fit, model.sample(records, 3))
    wrong = float(len(set(fitted.edges_ or ()) ^ set(model.edges)))
    size = f"{model.nodes} nodes, n = {records}, {blocks} blocks, (1, 1e-6)"
    runs, kind = "votes of blocks on pairs (wrong pairs)", str(fitted.guarantee_.kind)
    good = fitted.edges_ == model.edges
    return [Row(FIELDS, "Section 6: structure by stability", runs, size, kind, wrong, 0.0, spent, good)]


def labellings(quick: bool) -> list[Row]:
    """Algorithm 5.19: the exponential mechanism on all labellings, drawn exactly; wrong labels."""
    result = []
    for n, d, epsilon in ((30, 15.0, 1.0),) if quick else ((30, 15.0, 1.0), (40, 12.0, 1.0), (40, 20.0, 0.5)):
        errors, flipped, spent, kind = [], [], [], ""
        for seed in range(5):
            sample = StochasticBlockModel(n, d, 0.8).sample(seed)
            fitted, seconds = timed(ExponentialRecovery(epsilon, d).fit, sample.adjacency)
            spent.append(seconds)
            other = RandomizedResponseRecovery(epsilon).fit(sample.adjacency)
            errors.append(n * error_rate(np.asarray(fitted.labels_), sample.labels))
            flipped.append(n * error_rate(np.asarray(other.labels_), sample.labels))
            kind = str(fitted.guarantee_.kind)
        wrong, best, cpu = float(np.mean(errors)), float(np.mean(flipped)), float(np.mean(spent))
        said, runs = (
            "Algorithm 5.19: exponential mechanism on labellings",
            "exact draw (wrong labels; best: flips)",
        )
        size = f"n = {n}, d = {d:g}, epsilon {epsilon:g}"
        result.append(Row(COMMUNITIES, said, runs, size, kind, wrong, best, cpu, wrong <= best and cpu < 60))
    return result


def fields(quick: bool) -> list[Row]:
    """Parameters from noisy moments beyond 16 nodes: Bethe against mean field, largest error of a weight."""
    model = grid(5, 5, 0.3)
    table = model.sample(20_000, 3)
    errors, spent, kind = [], [], ""
    for inference in ("bethe", "mean field"):
        fitted, seconds = timed(MomentsIsing(model.width, epsilon=4.0, inference=inference).fit, table)
        spent.append(seconds)
        errors.append(float(np.abs(fitted.weights_ - model.weights).max()))
        kind = str(fitted.guarantee_.kind)
    size = "grid 5 x 5, weight .3, n = 20000, (4, 1e-6)"
    runs = "Bethe free energy of noisy moments (best: mean field)"
    said = "Section 3: parameters of Ising models"
    return [Row(FIELDS, said, runs, size, kind, errors[0], errors[1], spent[0], errors[0] <= errors[1])]


def symbols(quick: bool) -> list[Row]:
    """Largest error of a table W_ij(a, b) over k symbols: the l_{2,1} ball beside the l1 ball."""
    result = []
    cases = ((2, 20_000), (3, 20_000), (4, 20_000), (4, 100_000), (6, 100_000))
    for k, n in cases[1:2] if quick else cases:
        model = alphabet_grid(2, 3, k, 0.3, seed=1)
        truth, spent, kind = model.centred().weights, 0.0, ""
        errors: dict[str, list[float]] = {"groups": [], "l1": []}
        for seed, ball in itertools.product(range(3 if quick else 5), errors):
            table = model.sample(n, seed)
            fitted, spent = timed(FrankWolfePairwise(model.width, alphabet=k, ball=ball).fit, table)
            errors[ball].append(float(np.abs(fitted.weights_ - truth).max()))
            kind = str(fitted.guarantee_.kind)
        grouped, listed = (float(np.mean(values)) for values in errors.values())
        runs = "Frank-Wolfe by groups of symbols (best: over the l1 ball)"
        size = f"2 x 3 grid, k = {k}, largest weight {np.abs(truth).max():.2g}, n = {n}, (1, 1e-6)"
        said, good = "Section 4: the l_{2,1} ball", grouped <= 1.4 * listed
        result.append(Row(FIELDS, said, runs, size, kind, grouped, listed, spent, good))
    return result


# ------------------------------------------------------------------------------------------------------------
# Tuples: centres of private k-means in many dimensions


def centres(quick: bool) -> list[Row]:
    """Largest error of a centre against the means of the true clusters, which are not private."""
    result, k, n = [], 3, 20_000 if quick else 100_000
    for d in (4,) if quick else (4, 32):
        errors, best, spent = [], [], []
        for seed in range(1 if quick else 2):
            generator = np.random.default_rng([d, seed])
            truth = 64.0 * np.eye(k, d)
            labels = generator.integers(k, size=n)
            table = truth[labels] + generator.normal(size=(n, d))
            fitted, seconds = timed(PrivateKMeans(k, 1.0, 1e-6).fit, table)
            spent.append(seconds)
            means = np.array([table[labels == group].mean(axis=0) for group in range(k)])
            released = np.zeros_like(truth) if fitted.cluster_centers_ is None else fitted.cluster_centers_
            errors.append(centre_error(released, truth))
            best.append(centre_error(means, truth))
        said, runs = "Averages of tuples; k-means", "weighted mean of tuples (best: means, not private)"
        size, kind = f"k = {k}, d = {d}, n = {n}, separation 90, (1, 1e-6)", str(fitted.guarantee_.kind)
        error, cpu = float(np.mean(errors)), float(np.mean(spent))
        row = Row("k-tuples", said, runs, size, kind, error, float(np.mean(best)), cpu, error < 2.0)
        result.append(row)
    return result


MEASURES: tuple[Callable[[bool], list[Row]], ...] = (
    means,
    covariances,
    least,
    cuts,
    offline,
    vertices,
    labellings,
    structures,
    fields,
    symbols,
    centres,
)


def run(quick: bool) -> dict[str, Any]:
    """All rows in one table; `ok` is False when one misses its bar.

    The errors of a sample are noise, and no bar is held against them: each row must run and have a guarantee.
    """
    rows = [row for measure in MEASURES for row in measure(quick)]
    table = Table(
        "Statements of the papers, as they run here",
        [field.name.replace("_", " ") for field in dataclasses.fields(Row)],
        [dataclasses.astuple(row) for row in rows],
        notes=(
            "error: Euclidean, unless the row says otherwise; best known: what else can be run on the same "
            "data at the same budget, or without privacy where the row says so",
        ),
    )
    good = all(row.kind for row in rows) if quick else all(row.as_wanted for row in rows)
    return {"tables": [table.to_dict()], "ok": good, "missing": []}
