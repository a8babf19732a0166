"""Offline construction: prices add up, the noise has the scale they buy, selection has its exact law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from problems.cuts import CutQuery, OfflineRelease, PrivateGraph, RankOneQuery, offline_budget
from problems.cuts.model import block_graph, block_queries
from sosdp.privacy.mechanisms.interaction import offline
from sosdp.privacy.mechanisms.interaction.offline import (
    DataAccess,
    FiniteList,
    NoisySigns,
    PaperPlan,
    plan_offline,
    run_offline,
)
from sosdp.privacy.randomness.bits import open_bits
from sosdp.structured.disjoint_cut import bound_disjoint_cut
from tests.refusals import each, refusals, refuse


def test_the_plan_does_not_overspend():
    for rho, rounds, share in itertools.product((0.1, 1 / 3, 2.0), (1, 3, 7), (0.2, 0.7)):
        plan = plan_offline(rho, rounds, share)
        assert rounds * (Fraction(plan.select) + Fraction(plan.answer)) <= Fraction(rho)
        assert plan.rho == pytest.approx(rho)


def test_selection_is_private_on_all_small_graphs(monkeypatch):
    """Exact probabilities of the exponential mechanism on all graphs with three vertices and their
    neighbours."""
    queries = [
        CutQuery(3, [0], [1]),
        CutQuery(3, [0], [1, 2]),
        CutQuery(3, [0, 1], [2]),
        CutQuery(3, [0, 1, 2], [0, 1, 2]),
    ]
    seen = []
    monkeypatch.setattr(offline, "choose", lambda levels, rate, bits: (seen.append((levels, rate)), 0)[1])
    rho, bits = 0.5, open_bits(1)
    epsilon = math.sqrt(8 * rho)
    pairs = [(0, 1), (0, 2), (1, 2)]

    def guess(query):  # too low for one, too high for the others: scores move in opposite directions
        return 0.37 if query is queries[1] else 2.9

    def law(edges):
        matrix = np.zeros((3, 3), dtype=int)
        for (i, j), bit in zip(pairs, edges, strict=True):
            matrix[i, j] = matrix[j, i] = bit
        graph = PrivateGraph(matrix)
        FiniteList(queries).select(DataAccess(graph.count, graph.image), guess, None, rho, bits)
        levels, rate = seen[-1]
        weights = np.exp(-float(rate) * np.array(levels, dtype=float))
        return weights / weights.sum()

    worst = spread = 0.0
    for edges in itertools.product((0, 1), repeat=3):
        for k in range(3):
            other = tuple(bit ^ (i == k) for i, bit in enumerate(edges))
            loss = np.log(law(edges) / law(other))
            worst, spread = max(worst, np.abs(loss).max()), max(spread, loss.max() - loss.min())
    assert 0.5 * epsilon < spread <= epsilon  # a range of epsilon is what makes it epsilon^2 / 8
    assert worst <= epsilon


def test_variances_are_what_the_prices_buy(monkeypatch):
    """Discrete Gaussian: rho = Delta^2 / (2 s^2), with l2 sensitivity sqrt 2 for a product and 2 for a sign
    query."""
    wanted = []
    monkeypatch.setattr(
        offline.exact, "discrete_gaussian", lambda variance, bits: (wanted.append(variance), 0)[1]
    )
    graph = PrivateGraph(block_graph([3, 3], 1.0, 0.0, 1)[0])
    plan = plan_offline(1.0, 1, 0.5)
    result = []
    run_offline(
        plan, DataAccess(graph.count, graph.image), NoisySigns(6, RankOneQuery, steps=3), lambda q: 0.0,
        lambda: None, lambda query, answer, noise: result.append((query, answer, noise)), open_bits(1),
    )  # fmt: skip
    steps, last = wanted[:-1], wanted[-1]
    assert len(steps) == 18 and sum(Fraction(2) / (2 * v) for v in steps[::6]) == Fraction(plan.select)
    query, _, noise = result[0]
    assert float(query.sensitivity * query.unit) == 2.0
    assert Fraction(query.sensitivity) ** 2 / (2 * last) == Fraction(plan.answer)
    assert noise == pytest.approx(2 / math.sqrt(2 * plan.answer))


def test_with_a_large_budget_it_learns():
    graph, labels = block_graph([15, 15], 0.8, 0.1, 2)
    truth = graph.toarray().astype(float)
    queries = block_queries(labels, 30, 1)

    def worst(matrix):
        return max(abs(q.apply(truth - matrix)) for q in queries)

    flat = np.full((30, 30), truth.sum() / 870) * (1 - np.eye(30))
    listed = OfflineRelease(200.0, rounds=10, queries=queries, insecure_seed=1).fit(graph)
    signs = OfflineRelease(2000.0, rounds=4, insecure_seed=1).fit(graph)
    assert worst(listed.graph_.weights) < 0.5 * worst(flat)
    assert worst(signs.graph_.weights) < 0.7 * worst(flat)


def test_the_guarantee():
    graph = block_graph([5, 5], 0.8, 0.1, 2)[0]
    release = OfflineRelease(0.1, rounds=2).fit(graph)
    assert release.guarantee_.rho == 0.1 and release.guarantee_.kind == "exact"
    assert OfflineRelease(0.1, insecure_seed=1).fit(graph).guarantee_.kind == "none"
    refuse((lambda: OfflineRelease(0.0).fit(graph),))


def test_the_published_parameters():
    assert PaperPlan(5, 1.0, 1e-6).step == pytest.approx(1 / (4 * math.sqrt(5 * math.log(1e6))))


def test_the_least_budget_is_said_in_advance():
    """Two dense blocks: it learns at the forecast budget, and nothing at a twentieth of it."""
    graph, _ = block_graph([100, 100], 0.6, 0.2, 1)
    least = offline_budget(200, 40.0, 0.4, rounds=2)
    assert 0.05 < least < 0.2

    def error(release):
        return bound_disjoint_cut(graph.toarray() - release.graph_.weights, gap=100.0).attained

    constant = np.full((200, 200), graph.sum() / (200 * 199)) * (1 - np.eye(200))
    base = bound_disjoint_cut(graph.toarray() - constant, gap=100.0).attained
    assert error(OfflineRelease(least, rounds=2, insecure_seed=1).fit(graph)) < 0.5 * base
    assert error(OfflineRelease(least / 20, rounds=2, insecure_seed=1).fit(graph)) > 0.9 * base
    assert offline_budget(200, 8.0, 0.4) == math.inf


test_refusals = refusals(
    *each(lambda wrong: plan_offline(*wrong), ((0.0, 1), (1.0, 0), (1.0, 1, 1.0))),
    *each(
        lambda refused: refused(),
        (
            lambda: FiniteList([CutQuery(3, [0, 1], [0, 1], count="bilinear")]),
            lambda: FiniteList([]),
        ),
        "sensitivity",
    ),
    (lambda: PaperPlan(1, 50.0, 1e-6).step, "proven"),
    *each(
        lambda wrong: offline_budget(**({"n": 200, "signal": 40.0, "density": 0.4} | wrong)),
        ({"signal": 0.0}, {"density": 1.0}, {"n": 1}),
    ),
)
