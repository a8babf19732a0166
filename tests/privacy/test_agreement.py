"""Votes, pairwise agreement and margins: exhaustively on small inputs, with controls that fail."""

import itertools
import math
import random
import sys
import tracemalloc
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms.propose_test_release import block_vote as agreement
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile
from sosdp.privacy.mechanisms.propose_test_release.block_vote import (
    h_score,
    release_by_vote,
    release_with_margin,
    vote_margin,
)
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refuse


def close(first: dict, second: dict, factor: Fraction, delta: Fraction) -> bool:
    """Exact test of (log factor, delta)-closeness of two laws in rationals, in one direction."""
    return sum(max(Fraction(0), p - factor * second.get(y, 0)) for y, p in first.items()) <= delta


# -- votes


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_votes_exhaustively(number):
    curve = accept_profile(1.0, 0.1)

    def law(votes, distance=lambda d, margin: d):
        winner, d = vote_margin(votes)
        accepted = curve.probability(distance(d, votes))
        return {winner: accepted, "nothing": 1 - accepted} if accepted else {"nothing": Fraction(1)}

    def unhalved(_, votes):
        top = Counter(votes).most_common(2)
        return top[0][1] - (top[1][1] if len(top) > 1 else 0)

    control = False
    for votes, other in neighbour_pairs({v: v for v in itertools.product("abc", repeat=number)}, "abc"):
        (x, d), (y, e) = vote_margin(votes), vote_margin(other)
        assert abs(d - e) <= 1 if x == y else max(d, e) <= 1
        assert close(law(votes), law(other), curve.factor, curve.delta)
        control |= not close(law(votes, unhalved), law(other, unhalved), curve.factor, curve.delta)
    assert control == (number > 1)  # control: the margin without halving


def test_vote_table():
    """Distances for 95 % acceptance, and even numbers of blocks right with probability .67, .8, .9, .99."""
    table = {
        (2, 1e-6): (9, [96, 44, 30, 20]),
        (1, 1e-6): (16, [148, 72, 48, 34]),
        (1, 1e-9): (23, [198, 98, 68, 50]),
        (0.5, 1e-6): (30, [246, 124, 86, 64]),
    }
    for (epsilon, delta), (reach, blocks) in table.items():
        assert accept_profile(epsilon, delta).reach(0.95) == reach
        assert [agreement.blocks_needed(epsilon, delta, q) for q in (0.67, 0.8, 0.9, 0.99)] == blocks
    assert [accept_profile(e, 1e-6).length for e in (2, 1, 0.5)] == [15, 28, 51]
    assert agreement.blocks_needed(2, 1e-6, 0.67, even=False) == 91
    refuse((lambda: agreement.blocks_needed(1.0, 1e-6, 0.5), "right"))


class Hostile:
    """Raises wherever it is touched."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    def __deepcopy__(self, memo):
        raise RuntimeError("secret")

    __hash__ = None  # type: ignore[assignment]


class HostileList(list):
    def __iter__(self):
        raise RuntimeError("secret")


def misbehaves(block):
    """Every block fails in its own way."""
    kind = int(block[0])
    print("secret", kind)
    print("secret", file=sys.stderr)
    warnings.warn("secret", stacklevel=1)
    nested: list = []
    nested.append(nested)
    np.float64(1.0) / np.float64(0.0)
    outcomes = [
        lambda: 1 / 0,
        lambda: sys.exit(3),
        lambda: misbehaves(block),
        lambda: nested,
        lambda: HostileList([1]),
        lambda: object(),
        lambda: math.nan,
        lambda: {"a": 1},
        lambda: Hostile(),
    ]
    return outcomes[kind % len(outcomes)]()


def test_what_blocks_do_stays_in_blocks(capsys, recwarn):
    records = np.repeat(np.arange(9.0), 2)
    assert release_by_vote(misbehaves, records, blocks=9, epsilon=1.0, delta=1e-6).value is None
    captured = capsys.readouterr()
    assert captured.out == captured.err == "" and len(recwarn) == 0
    assert release_by_vote(lambda b: 1, [Hostile()] * 50, blocks=50, epsilon=1.0, delta=0.1).value is None

    def mutates(block):
        block[:] = -1.0
        return 0

    release_by_vote(mutates, records, blocks=9, epsilon=1.0, delta=1e-6)
    assert records.max() == 8.0
    refuse(
        (
            lambda: agreement.run_blocks(lambda b: (_ for _ in ()).throw(KeyboardInterrupt), [1], [[0]]),
            None,
            KeyboardInterrupt,
        )
    )


def test_a_block_has_random_numbers_of_its_own():
    """Generators of the process, with a seed of the caller's: how much one block draws from them changes
    nothing about the next blocks, nor about what the caller draws."""

    def draws(block):
        return [sum(source() for _ in range(1 + block[0])) for source in (random.random, np.random.random)]

    def outcome(first):
        random.seed(7)
        np.random.seed(7)
        results = agreement.run_blocks(draws, [first, 1, 2], [[0], [1], [2]])
        return results[1:], random.random(), np.random.random()

    assert outcome(0) == outcome(5)


def test_blocks_use_one_thread():
    """Two that wait for each other took thirty times the processor's time."""
    pools = pytest.importorskip("threadpoolctl")

    def threads(_=None):
        return {library["num_threads"] for library in pools.threadpool_info()}

    with pools.threadpool_limits(2):
        assert agreement.run_blocks(threads, [1, 2], [[0], [1]]) == [{1}, {1}] and 2 in threads()


def test_release_by_vote():
    records = np.arange(600.0)
    release = release_by_vote(
        lambda block: np.sign(block - 100).astype(int).sum() > 0, records, blocks=60, epsilon=2.0, delta=1e-6
    )
    assert release.value == 1 and release.public["block_size"] == 10
    assert release.guarantee.statement() == "(2, 1e-06)-DP for one record (replace) [conditional]"
    assert "uses nothing but its block" in release.guarantee.conditions[0] and release.guarantee.chains
    tuples = release_by_vote(
        lambda block: np.array([[1.0, 2.5]]), records, blocks=60, epsilon=2.0, delta=1e-6
    )
    assert tuples.value == ((1, 2.5),)
    split = release_by_vote(lambda block: block[0], records, blocks=60, epsilon=2.0, delta=1e-6)
    assert split.value is None
    refuse(
        (lambda: release_by_vote(len, records, blocks=601, epsilon=1.0, delta=1e-6), "blocks"),
        *each(
            lambda adjacency: release_by_vote(
                len, records, blocks=60, epsilon=1.0, delta=1e-6, adjacency=adjacency
            ),
            ("one record (add or remove)", "2 records (replace)"),
            "one vote",
        ),
    )
    pandas = pytest.importorskip("pandas")
    labelled = pandas.Series([*range(11), 99], index=[*range(11), 0])  # two records with the label 0
    parts = agreement.split_blocks(12, 4)
    assert agreement.run_blocks(list, labelled, parts) == agreement.run_blocks(list, [*range(11), 99], parts)
    refuse(
        (
            lambda: release_by_vote(len, labelled.to_frame(), blocks=4, epsilon=1.0, delta=1e-6),
            "frame",
            TypeError,
        )
    )
    parts = agreement.split_blocks(10, 3)
    assert [len(part) for part in parts] == [3, 3, 3] and len(set().union(*parts)) == 9


# -- pairwise agreement


def test_h_score_exhaustively():
    n = 4
    pairs = list(itertools.combinations(range(n), 2))
    jumps, smallest_jumps = 0, 0
    tables = {}
    for bits in itertools.product((False, True), repeat=len(pairs)):
        table = np.eye(n, dtype=bool)
        for (i, j), bit in zip(pairs, bits, strict=True):
            table[i, j] = table[j, i] = bit
        losses = n - table.sum(axis=1)
        assert h_score(table) == min(a for a in range(n + 1) if (losses <= a).sum() >= n - a)
        tables[bits] = (h_score(table), int(losses.min()))
    for bits, (h, smallest) in tables.items():
        for v in range(n):
            own = [index for index, pair in enumerate(pairs) if v in pair]
            for new in itertools.product((False, True), repeat=len(own)):
                other = list(bits)
                for index, bit in zip(own, new, strict=True):
                    other[index] = bit
                jumps = max(jumps, abs(h - tables[tuple(other)][0]))
                smallest_jumps = max(smallest_jumps, abs(smallest - tables[tuple(other)][1]))
    assert jumps == 1
    assert smallest_jumps >= 2  # control: the obvious score has no such bound
    assert h_score(np.ones((7, 7))) == 0 and h_score(np.zeros((7, 7))) == 7


@pytest.mark.parametrize(
    ("epsilon", "delta", "reach", "minimum"),
    [(1, math.exp(-28), 99, 200), (1, 1e-6, 52, 106), (0.5, 1e-6, 99, 200), (2, 1e-6, 27, 56)],
)
def test_h_score_table(epsilon, delta, reach, minimum):
    rule = agreement.agreement_rule(0.3 * epsilon, delta / 2)
    assert (rule.reach, rule.minimum) == (reach, minimum)
    curve = rule.curve
    for s in range(curve.length + 1):
        now, after = curve.probability(s), curve.probability(s + 1)
        laws = [{1: p, 0: 1 - p} for p in (now, after)]
        assert close(*laws, curve.factor, curve.delta)
    assert curve.probability(reach) > 0 == curve.probability(reach + 1)


def test_agreement_rule_passes_what_agrees():
    rule = agreement.agreement_rule(2.0, 1e-3, failure=Fraction(1, 1 << 40))
    assert rule.passes(np.ones((rule.minimum, rule.minimum)))
    assert not rule.passes(np.ones((rule.minimum - 1, rule.minimum - 1)))
    assert not rule.passes(np.eye(rule.minimum))


# -- margins


def test_margins_of_spanning_trees_exhaustively():
    """Heaviest spanning tree of three nodes from +-1 records: the gap moves by at most 4 (integers)."""
    rows = [(1, *signs) for signs in itertools.product((-1, 1), repeat=2)]  # a row and its negative are alike
    edges = [(0, 1), (0, 2), (1, 2)]

    def answer(records):
        weights = [abs(sum(r[i] * r[j] for r in records)) for i, j in edges]
        lightest = min(range(3), key=lambda e: (weights[e], e))
        return lightest, sorted(weights)[1] - weights[lightest]

    curve = accept_profile(1.0, 0.05)
    control = False
    every = {records: answer(records) for records in itertools.combinations_with_replacement(rows, 5)}
    for (x, g), (y, k) in neighbour_pairs(every, rows):
        assert abs(g - k) <= 4 if x == y else max(g, k) <= 4
        for step in (4, 1):
            laws = []
            for value, margin in ((x, g), (y, k)):
                p = curve.probability(agreement._distance(margin, Fraction(step), curve.length))
                laws.append({value: p, "nothing": 1 - p})
            holds = close(*laws, curve.factor, curve.delta)
            assert holds or step == 1
            control |= not holds
    assert control


def test_release_with_margin():
    arguments = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "one record (replace)"}
    assert release_with_margin("tree", math.inf, 4, **arguments).value == "tree"
    assert release_with_margin("tree", 4 * 28, 4, **arguments).value == "tree"
    for nothing in (None, 0, -3, math.nan):
        assert release_with_margin("tree", nothing, 4, **arguments).value is None
    refuse((lambda: release_with_margin("tree", 1, 0, **arguments), "step"))


def test_votes_of_any_size_take_little():
    """Arrays that take no memory were written out as tuples, hundreds of millions of numbers each."""
    shared = [0]
    for _ in range(60):
        shared = [shared, shared]
    empty = np.zeros((10**6, 10**3, 0))
    tracemalloc.start()
    for large in (np.broadcast_to(1.0, (10**9,)), empty, [empty[0]] * 5, shared, [0] * 4097):
        assert agreement.as_vote(large) is agreement.FAILED
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    assert agreement.as_vote([np.arange(3), (1.0, [True]), np.array(2)]) == ((0, 1, 2), (1, (1,)), 2)
    assert len(agreement.as_vote(np.zeros(4096))) == 4096
