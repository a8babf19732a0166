"""Edge flipping: exact law on three vertices, the safe side of the probability, and the words it reads."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import all_adjacencies, largest_loss

from problems.sbm.estimators.flips import RandomizedResponseRecovery
from sosdp.privacy.mechanisms.edge_noise import FlipRule, flip_edges, flip_rule
from sosdp.privacy.randomness import bits as words

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


def test_flip_rate_of_the_real_generator():
    rule = flip_rule(1.0)
    noisy = flip_edges(sp.csr_array((1200, 1200), dtype=np.int64), rule)
    count, q = 1200 * 1199 // 2, float(rule.probability)
    deviation = abs(noisy[np.triu_indices(1200, 1)].sum() - count * q) / math.sqrt(count * q * (1 - q))
    assert deviation < 6  # p = 2e-9


def test_fresh_randomness_every_time():
    graph = np.zeros((40, 40))
    first = RandomizedResponseRecovery(1.0).fit(graph).noisy_graph_
    assert not np.array_equal(first, RandomizedResponseRecovery(1.0).fit(graph).noisy_graph_)


def test_guarantee_is_pure_and_exact():
    guarantee = RandomizedResponseRecovery(0.7).fit(np.zeros((5, 5))).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (0.7, 0.0, "exact")
    assert guarantee.adjacency == "one edge"
