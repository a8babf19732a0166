"""Rows of the papers on cuts, communities and Markov fields."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np

from benchmarks.harness import timed
from benchmarks.papers_row import Row
from problems.cuts import CutRelease, OfflineRelease, offline_budget
from problems.cuts.model import block_graph
from problems.mrf import FrankWolfePairwise, MomentsIsing, VotedStructure, grid
from problems.mrf.model import alphabet_grid
from problems.sbm import (
    ExponentialRecovery,
    RandomizedResponseRecovery,
    StochasticBlockModel,
    VertexRecovery,
    error_rate,
)
from sosdp.structured.disjoint_cut import bound_disjoint_cut

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
        ratios.append(fitted.cut_error_["bound"] / max(bound_disjoint_cut(missed, gap=1.0).found, 1.0))
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
    error = bound_disjoint_cut(graph.toarray() - fitted.graph_.weights, gap=100.0).found
    best = bound_disjoint_cut(graph.toarray() - flat, gap=100.0).found
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
            told = np.array([fitted.label_of(v) for v in range(n)])
            errors.append(min((told != sample.labels).sum(), (told == sample.labels).sum()))
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


MEASURES = (cuts, offline, vertices, labellings, structures, fields, symbols)
