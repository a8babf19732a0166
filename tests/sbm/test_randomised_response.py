"""Edge flipping, also by geometric skips: exact laws, the safe side of the probability, large graphs."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import rounds_law as exact
import scipy.sparse as sp
from graphs import all_adjacencies, largest_loss

from problems.sbm import EdgeList, SparseFlipsRecovery, StochasticBlockModel, error_rate
from problems.sbm.edges import canonical_edges, pair_at, position_of
from problems.sbm.estimators import flips as flipping
from problems.sbm.estimators.flips import RandomizedResponseRecovery
from sosdp.privacy.mechanisms import edge_noise
from sosdp.privacy.mechanisms.edge_noise import (
    FlipRule,
    SkipRule,
    flip_edges,
    flip_rule,
    flipped_positions,
    skip_rule,
)
from sosdp.privacy.randomness import bits as words
from sosdp.privacy.randomness.bits import open_bits
from tests.refusals import refusals, refuse

EPSILONS = [1e-6, 0.1, 0.5, 1.0, math.log(3), 2.0, 8.0, 40.0, 300.0, 1000.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_probability_is_the_least_one_on_the_safe_side(epsilon):
    import flint

    def loss(threshold):
        share = Fraction(threshold, 2**64)
        odds = (1 - share) / share
        return flint.arb(odds.numerator) / odds.denominator

    with flint.ctx.workprec(2000):
        limit = flint.arb(epsilon).exp()
        threshold = flip_rule(epsilon).threshold
        assert 1 <= threshold <= 2**63
        assert loss(threshold) <= limit
        if threshold > 1:
            assert loss(threshold - 1) > limit  # one step lower would already break epsilon


def exact_loss(q, n=3):
    """Largest |log ratio| over all neighbouring graphs and all outputs, from the product law."""
    adjacencies = all_adjacencies(n)
    upper = np.triu_indices(n, 1)
    bits = adjacencies[:, upper[0], upper[1]]
    different = (bits[:, None, :] != bits[None, :, :]).sum(axis=2)
    law = q**different * (1 - q) ** (len(upper[0]) - different)
    assert np.allclose(law.sum(axis=1), 1)
    return largest_loss(law, n)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 8.0])
def test_exact_loss_on_three_vertices(epsilon):
    q = float(flip_rule(epsilon).probability)
    assert exact_loss(q) == pytest.approx(epsilon, abs=1e-12 * math.exp(epsilon))
    assert exact_loss(q * 0.99) > epsilon  # negative control


def feed(monkeypatch, values):
    """Make the operating system's generator return these words, in order."""
    left = list(values)

    def urandom(count):
        taken = [left.pop(0) for _ in range(count // 8)]
        return np.array(taken, dtype=np.uint64).tobytes()

    monkeypatch.setattr(words.os, "urandom", urandom)
    return left


def test_every_pair_reads_one_word_and_compares_it_with_the_threshold(monkeypatch):
    threshold = 12345
    empty = sp.csr_array((4, 4), dtype=np.int64)
    left = feed(monkeypatch, [threshold - 1, threshold, 0, 2**64 - 1, threshold + 1, threshold - 1])
    noisy = flip_edges(empty, FlipRule(threshold))
    assert not left
    assert noisy[np.triu_indices(4, 1)].tolist() == [1, 0, 1, 0, 0, 1]
    assert np.array_equal(noisy, noisy.T) and not noisy.diagonal().any()
    complete = sp.csr_array(1 - np.eye(4, dtype=np.int64))
    feed(monkeypatch, [threshold - 1, threshold, 0, 2**64 - 1, threshold + 1, threshold - 1])
    assert flip_edges(complete, FlipRule(threshold))[np.triu_indices(4, 1)].tolist() == [0, 1, 0, 1, 1, 0]


def test_fresh_randomness_every_time():
    graph = np.zeros((40, 40))
    first = RandomizedResponseRecovery(1.0).fit(graph).noisy_graph_
    assert not np.array_equal(first, RandomizedResponseRecovery(1.0).fit(graph).noisy_graph_)


def test_guarantee_is_pure_and_exact():
    guarantee = RandomizedResponseRecovery(0.7).fit(np.zeros((5, 5))).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (0.7, 0.0, "exact")
    assert guarantee.adjacency == "one edge"


def folded(units, count, fold=1):
    """P(G = 0), ..., P(G = count-1) and P(G >= count) of the skip, from the Laplace law by folding."""
    a = math.exp(-1 / units)
    laplace = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-3000, 3001)}
    law = np.zeros(count + 1)
    for k, p in laplace.items():
        law[min(k if k >= 0 else -k - fold, count)] += p
    return law


def flip_law(units, count=6, fold=1):
    """Law of the set of flipped positions, as 64 probabilities by bit mask, following skip after skip."""
    skip = folded(units, count, fold)
    law, open_ = np.zeros(1 << count), {(-1, 0): 1.0}
    while open_:
        following = {}
        for (last, mask), p in open_.items():
            for stay, q in enumerate(skip):
                place = last + 1 + stay
                if place >= count:
                    law[mask] += p * q
                else:
                    key = (place, mask | 1 << place)
                    following[key] = following.get(key, 0.0) + p * q
        open_ = following
    return law


def loss(law):
    """Largest log ratio between neighbours: the output is the graph xor the flips."""
    return largest_loss(np.array([law[np.arange(64) ^ code] for code in range(64)]), 4)


@pytest.mark.parametrize("epsilon", [0.125, 0.5, 1.0, 3.0])
def test_exact_loss_on_all_graphs_with_four_vertices(epsilon):
    rule = skip_rule(epsilon)
    law = flip_law(rule.units)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    q = rule.probability
    flips = np.array([bin(mask).count("1") for mask in range(64)])
    assert np.allclose(law, q**flips * (1 - q) ** (6 - flips), rtol=1e-10)  # every pair by itself
    assert loss(law) == pytest.approx(epsilon, rel=1e-9)


def test_negative_controls_of_the_skips():
    """Longer skips, or a fold that counts 0 twice, are not private at epsilon."""
    units = skip_rule(1.0).units
    assert loss(flip_law(units * 1.1)) > 1.05
    assert loss(flip_law(units, fold=0)) > 1.05


@pytest.mark.parametrize("epsilon", [0.125, 1.0, 8.0, 20.0, 40.0])
def test_the_scale_is_the_largest_on_the_safe_side(epsilon):
    import flint

    def enough(units):
        return 1 / flint.arb(units) >= (1 + (-flint.arb(epsilon)).exp()).log()

    units = skip_rule(epsilon).units
    with flint.ctx.workprec(500):
        assert enough(units)
        if epsilon < 27:
            assert not enough(math.nextafter(units, math.inf))
        else:
            assert units == 2.0**40  # the sampler's limit: more flips than needed
    refuse((lambda: skip_rule(0.1), "sparse flips need"))


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
def test_the_code_follows_the_law_however_the_skips_are_cut(monkeypatch, size):
    monkeypatch.setattr(edge_noise, "SKIPS", size)
    rule, runs = SkipRule(3.0), 6000
    expected = flip_law(3.0) * runs
    bits = open_bits(size)
    result = Counter(sum(1 << int(p) for p in flipped_positions(6, rule, bits)) for _ in range(runs))
    kept = expected > 5
    chi = sum((result[mask] - expected[mask]) ** 2 / expected[mask] for mask in np.flatnonzero(kept))
    degrees = int(kept.sum())
    assert chi < degrees + 5 * math.sqrt(2 * degrees)


def test_graph_xor_flips_is_what_is_released(monkeypatch):
    """All 64 graphs and some flips: the released graph differs exactly at the flipped positions."""
    for flips in ([], [0], [1, 4], [0, 1, 2, 3, 4, 5]):
        monkeypatch.setattr(flipping, "flipped_positions", lambda *_, flips=flips: np.array(flips, dtype=int))
        for code in exact.GRAPHS:
            edges = exact.graph(code)
            noisy = flipping.flip_sparse(edges, SkipRule(2.0), open_bits(1))
            before = set(position_of(edges.first, edges.second).tolist())
            assert set(position_of(noisy.first, noisy.second).tolist()) == before ^ set(flips)
            assert np.all(noisy.first < noisy.second)
            assert np.all(np.diff(noisy.first * 4 + noisy.second) > 0)


def test_positions_number_the_pairs():
    second, first = np.array([(v, u) for v in range(1, 60) for u in range(v)]).T
    assert np.array_equal(position_of(first, second), np.arange(60 * 59 // 2))
    distant = np.array([0, 1, 2, (1 << 45) - 1, 10**13])
    assert np.array_equal(position_of(*pair_at(distant)), distant)
    assert flipped_positions(0, SkipRule(3.0)).size == 0


def test_a_graph_beyond_dense_matrices():
    sample = StochasticBlockModel(25_000, 60, 0.9).sample_edges(2)
    fitted = SparseFlipsRecovery(7.0, average_degree=60, insecure_seed=1).fit(sample.edges)
    flips = 25_000 * 24_999 / 2 * skip_rule(7.0).probability
    edges = len(sample.edges.edges)
    assert abs(len(fitted.noisy_graph_.edges) - edges - flips) < 6 * math.sqrt(flips)
    assert error_rate(fitted.labels_, sample.labels) < 0.001


def test_the_guarantee_is_pure_and_any_graph_gets_an_answer():
    for pairs in ([], [(0, 1)], [(u, v) for u in range(12) for v in range(u)]):
        fitted = SparseFlipsRecovery(1.0).fit(EdgeList(12, pairs))
        assert fitted.released_ and len(fitted.labels_) == 12
        assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta, fitted.guarantee_.kind) == (
            1.0,
            0.0,
            "exact",
        )
        assert canonical_edges(fitted.noisy_graph_).n == 12


test_refusals = refusals(
    (lambda: flipped_positions(1 << 46, SkipRule(3.0)), "count"),
    (lambda: SparseFlipsRecovery(1.0).fit(EdgeList(100_000, [])), "more than"),
    (lambda: SparseFlipsRecovery(1.0, rounds=-1).fit(EdgeList(10, [])), "rounds"),
)
