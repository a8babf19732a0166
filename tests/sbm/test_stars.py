"""The baseline of edge-disjoint stars: exact loss on four vertices, one end an edge, and that it works."""

import math

import numpy as np
import pytest
import rounds_law as exact
from graphs import largest_loss

from problems.sbm import EdgeList, StarsRecovery, StochasticBlockModel, error_rate, rounds
from problems.sbm.estimators import stars
from sosdp.privacy.randomness.bits import open_bits

KEY = 0x0123_4567_89AB_CDEF


def law(code, epsilon, factor=1.0, both_ends=False):
    """Joint law of (signs of one round, labels) from the code's own parts and counts."""
    edges = exact.graph(code)
    part, at_first = stars.star_parts(edges, 1, KEY)
    scale = stars.star_scale(epsilon) * factor

    def counts(z, number):
        here = part == number
        first, second = (here, here) if both_ends else (here & at_first, here & ~at_first)
        return stars.star_counts(edges, z, first, second)

    out = {}
    order = rounds.public_words(4, KEY, 1)
    for z, chance in exact.halves_law(
        counts(rounds.start(4, KEY), 0), exact.laplace_pmf(scale), order
    ).items():
        for labels, share in exact.vote_law(counts(np.array(z), 1), scale, KEY).items():
            out[z, labels] = chance * share
    return out


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_loss_on_all_graphs_with_four_vertices(epsilon):
    def loss(**fault):
        laws = [law(code, epsilon, **fault) for code in exact.GRAPHS]
        outcomes = sorted(laws[0])
        return largest_loss(np.array([exact.vector(one, outcomes) for one in laws]), 4)

    assert 0.9 * epsilon < loss() <= epsilon * (1 + 1e-9)
    assert loss(factor=0.5) > 1.5 * epsilon and loss(both_ends=True) > 1.5 * epsilon  # negative controls


def test_every_edge_is_counted_at_one_end_in_one_round():
    sample = StochasticBlockModel(300, 40, 0.5).sample_edges(0)
    from problems.sbm.edges import canonical_edges

    edges = canonical_edges(sample.edges)
    part, at_first = stars.star_parts(edges, 3, KEY)
    z = np.ones(300, dtype=np.int8)
    total = sum(
        stars.star_counts(edges, z, (part == k) & at_first, (part == k) & ~at_first).sum() for k in range(4)
    )
    assert total == len(edges.first)
    assert abs(np.mean(part == 3) - 0.5) < 0.04 and abs(np.mean(at_first) - 0.5) < 0.04


def test_it_recovers_dense_communities():
    sample = StochasticBlockModel(3000, 600, 0.9).sample_edges(1)
    fitted = StarsRecovery(4.0, 0.9, 600, insecure_seed=1).fit(sample.edges)
    assert error_rate(fitted.labels_, sample.labels) < 0.01
    assert fitted.guarantee_.kind == "none"
    private = StarsRecovery(1.0, 0.5, 3, weight_bound=2.0).fit(EdgeList(5, [[0, 1]], [1.5]))
    assert len(private.labels_) == 5 and private.guarantee_.delta == 0.0
    drawn = stars.star_rounds(exact.graph(7), 2, 1.0, KEY, open_bits(1))
    assert set(drawn.tolist()) <= {1, -1} and math.isfinite(drawn.sum())
