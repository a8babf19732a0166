"""Margins of trees and correlation graphs over all neighbours, and what is released."""

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from problems.mrf import ChowLiuTree, CorrelationGraph, VotedStructure, grid, matching, random_tree, structure
from problems.mrf.structure import chow_liu, correlated_pairs, product_sums
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile
from sosdp.privacy.mechanisms.propose_test_release.block_vote import blocks_needed
from tests.neighbours import neighbour_pairs, replaced
from tests.refusals import refuse


def tree_of(rows):
    return chow_liu(product_sums(np.array(rows, dtype=np.int8)))


def violations(answer, neighbours, step):
    """Pairs of neighbours that break the condition of a margin, and how many changed their answer."""
    broken = changed = 0
    for first, second in neighbours:
        (e, g), (f, h) = answer(first), answer(second)
        if e == f:
            broken += abs(g - h) > step if g != h else False
        else:
            changed += 1
            broken += g > step or h > step
    return broken, changed


def all_neighbours(p, n):
    every = list(itertools.product((-1, 1), repeat=p))
    for rows in itertools.combinations_with_replacement(every, n):
        yield from ((rows, other) for other in replaced(rows, every))


def random_neighbours(p, most, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(2, most))
        rows = np.where(rng.random((n, p)) < rng.uniform(0.3, 0.7), 1, -1)
        rows[:, 1] = np.where(rng.random(n) < 0.8, rows[:, 0], rows[:, 1])
        other = rows.copy()
        other[rng.integers(n)] = np.where(rng.random(p) < 0.5, 1, -1)
        yield rows, other


def cached(answer):
    seen = {}

    def look(rows):
        key = tuple(sorted(map(tuple, np.asarray(rows).tolist())))
        if key not in seen:
            seen[key] = answer(rows)
        return seen[key]

    return look


def test_tree_margin_over_all_neighbours():
    pairs = [pair for n in (1, 2, 3, 4) for pair in all_neighbours(3, n)]
    broken, changed = violations(cached(tree_of), pairs, structure.TREE_STEP)
    assert len(pairs) > 10_000 and changed > 1000
    assert broken == 0


def test_tree_margin_of_larger_trees():
    pairs = [*random_neighbours(4, 25, 600, 1), *random_neighbours(5, 25, 600, 2)]
    broken, changed = violations(tree_of, pairs, structure.TREE_STEP)
    assert broken == 0 and changed > 200
    smaller, _ = violations(tree_of, pairs, structure.TREE_STEP - 1)
    assert smaller > 0  # the step 4 is needed


@pytest.mark.parametrize("tau", [Fraction(1, 3), Fraction(0.35), Fraction(1, 2)])
def test_threshold_margin_over_neighbours(tau):
    def answer(rows):
        return correlated_pairs(product_sums(np.array(rows, dtype=np.int8)), len(rows), tau)

    pairs = [pair for n in (2, 3, 4) for pair in all_neighbours(3, n)]
    broken, changed = violations(cached(answer), pairs, structure.THRESHOLD_STEP)
    assert broken == 0 and changed > 1000
    smaller, _ = violations(cached(answer), pairs, structure.THRESHOLD_STEP - 1)
    assert smaller > 0


def test_the_tree_is_that_of_networkx_and_the_margin_is_the_least_gap():
    rng = np.random.default_rng(0)
    for _ in range(60):
        p = int(rng.integers(3, 9))
        sums = np.triu(rng.integers(-40, 41, size=(p, p)), 1)
        sums = sums + sums.T
        edges, margin = chow_liu(sums)
        graph = nx.from_numpy_array(np.abs(sums) + 1)  # networkx leaves out edges of weight 0
        best = nx.maximum_spanning_tree(graph).size("weight") - (p - 1)
        assert sum(abs(int(sums[e])) for e in edges) == best
        tree = nx.Graph(list(edges))
        gaps = []
        for f in itertools.combinations(range(p), 2):
            if f not in edges:
                path = nx.shortest_path(tree, *f)
                gaps += [abs(int(sums[a, b])) - abs(int(sums[f])) for a, b in itertools.pairwise(path)]
        assert margin == min(gaps)


def test_two_nodes_have_one_tree():
    assert tree_of([(1, 1), (1, -1)]) == (((0, 1),), math.inf)
    assert ChowLiuTree().fit([[1, 1], [1, -1]]).edges_ == ((0, 1),)


def test_hundred_nodes_from_a_thousand_records():
    right = 0
    for seed in range(10):
        model = random_tree(100, seed)
        right += ChowLiuTree(insecure_seed=seed).fit(model.sample(1000, 50 + seed)).edges_ == model.edges
    assert right >= 9


def test_refusals_release_nothing():
    rng = np.random.default_rng(0)
    table = np.where(rng.random((30, 6)) < 0.5, 1, -1)
    tree = ChowLiuTree(insecure_seed=1).fit(table)
    assert (
        tree.edges_ is None and not tree.released_ and tree.release_.to_dict()["value"]["released"] is False
    )
    assert CorrelationGraph(0.1, insecure_seed=1).fit(table).edges_ is None


def test_correlations_of_a_matching():
    model = matching(8, 0.6)
    assert CorrelationGraph(0.3, insecure_seed=3).fit(model.sample(2000, 1)).edges_ == model.edges


def test_votes_of_blocks():
    model = grid(2, 2, 0.5)
    voted = VotedStructure(model.width, 0.25, blocks=48, iterations=60, insecure_seed=2).fit(
        model.sample(48 * 150, 1)
    )
    assert voted.edges_ == model.edges
    assert voted.release_.public["blocks"] == 48


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_margins_of_votes_on_pairs(blocks):
    """All votes of up to three blocks on three nodes, failures included, and every vote that is replaced."""
    pairs = list(itertools.combinations(range(3), 2))
    graphs = [tuple(itertools.compress(pairs, bits)) for bits in itertools.product((0, 1), repeat=3)]
    choices = [*graphs, "failed"]
    known = {votes: structure.pair_majority(votes, 3) for votes in itertools.product(choices, repeat=blocks)}
    worst = max(abs(m - k) if e == f else max(m, k) for (e, m), (f, k) in neighbour_pairs(known, choices))
    assert worst <= structure.VOTE_STEP and (worst == 2 or blocks == 1)
    assert structure.pair_majority(("failed",) * blocks, 3) == ((), 0)
    assert structure.pair_majority((), 1) == ((), float("inf"))


def test_the_records_of_a_vote_are_said_in_advance():
    model = grid(2, 2, 0.5)
    voted = VotedStructure(model.width, 0.25, iterations=60, insecure_seed=4)
    records, blocks = voted.required_records(model, pilots=12)
    released = voted.set_params(blocks=blocks).fit(model.sample(records, 9))
    assert released.edges_ == model.edges and records < 10_000
    refuse(
        (
            lambda: VotedStructure(model.width, 9.0, iterations=1).required_records(model, pilots=1),
            "threshold",
        )
    )


NEEDED = {
    (2.0, 1e-6): (9, [96, 44, 30, 20]),
    (1.0, 1e-6): (16, [148, 72, 48, 34]),
    (1.0, 1e-9): (23, [198, 98, 68, 50]),
    (0.5, 1e-6): (30, [246, 124, 86, 64]),
}


@pytest.mark.parametrize("budget", NEEDED)
def test_table_of_blocks(budget):
    distance, blocks = NEEDED[budget]
    assert accept_profile(*budget).reach(0.95) == distance
    assert [blocks_needed(*budget, chance) for chance in (0.67, 0.8, 0.9, 0.99)] == blocks


def test_distance_from_which_release_is_certain():
    ends = {(1.0, 1e-6): 28, (2.0, 1e-6): 15, (0.5, 1e-6): 51, (1.0, 1e-9): 41}
    assert {budget: accept_profile(*budget).length for budget in ends} == ends
