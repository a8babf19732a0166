"""The private vote and its composition with rough labels: exact laws over every small graph."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from graphs import all_adjacencies, all_labellings, largest_loss

from problems.sbm import (
    GraphInputError,
    MajorityVoteRecovery,
    StochasticBlockModel,
    VotingRecovery,
    canonical_graph,
    error_rate,
)
from problems.sbm.estimators.vote import WORD, split_edges, vote_scale, votes
from problems.sbm.graph_input import WEIGHT_UNITS
from problems.sbm.labellings import Labellings
from sosdp.privacy.guarantee.composition import random_split
from sosdp.privacy.guarantee.composition import split as split_budget
from sosdp.privacy.guarantee.guarantee import Guarantee
from tests.refusals import refuse


def keep_probability(count, scale):
    """P(count + L >= 0) for discrete Laplace L of this scale."""
    a = math.exp(-1 / scale)
    return 1 - a ** (count + 1) / (1 + a) if count >= 0 else a**-count / (1 + a)


def vote_laws(n, epsilon, scale_factor=1.0):
    """(graphs, prior labellings, outcomes): law of the voted labels, first label NOT normalised (finer)."""
    graphs, priors = all_adjacencies(n), all_labellings(n)
    scale = float(vote_scale(epsilon, 1)) * scale_factor
    outcomes = np.array(list(itertools.product((True, False), repeat=n)))
    table = np.empty((len(graphs), len(priors), len(outcomes)))
    for g, adjacency in enumerate(graphs):
        canonical = canonical_graph(adjacency)
        for k, prior in enumerate(priors):
            kept = np.array([keep_probability(int(z), scale) for z in votes(canonical, prior, 1)])
            table[g, k] = np.where(outcomes, kept, 1 - kept).prod(axis=1)
    return table


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_exact_loss_of_the_vote_over_every_graph_and_prior(n, epsilon):
    laws = vote_laws(n, epsilon)
    assert np.allclose(laws.sum(axis=2), 1)
    assert largest_loss(laws, n) <= epsilon * (1 + 1e-9)
    if n == 4 and epsilon == 1.0:
        assert largest_loss(laws, n) > 0.99  # the budget is used up
    # Negative control: noise for a sensitivity of 1 instead of 2.
    assert largest_loss(vote_laws(n, epsilon, 0.5), n) > epsilon * 1.3


def test_votes_agree_with_counting():
    adjacency = StochasticBlockModel(30, 10, 0.7).sample(3).adjacency.toarray()
    prior = np.where(np.random.default_rng(0).random(30) < 0.5, 1, -1)
    for v in range(30):
        same = sum(adjacency[v, u] for u in range(30) if prior[u] == prior[v])
        other = sum(adjacency[v, u] for u in range(30) if prior[u] != prior[v])
        assert votes(canonical_graph(adjacency), prior, 1)[v] == same - other


def test_sampled_votes_follow_the_law():
    adjacency = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    prior, epsilon, runs = np.array([1, 1, 1, -1]), 0.7, 400
    scale = float(vote_scale(epsilon, 1))
    kept = np.array([keep_probability(int(z), scale) for z in votes(canonical_graph(adjacency), prior, 1)])
    # The output shows which vertices agree with vertex 0; vertex 1 agrees iff both kept or both flipped.
    expected = kept[0] * kept[1] + (1 - kept[0]) * (1 - kept[1])
    seen = sum(
        MajorityVoteRecovery(epsilon, prior, insecure_seed=seed).fit(adjacency).labels_[1] == 1
        for seed in range(runs)
    )
    assert abs(seen / runs - expected) < 5.5 * math.sqrt(expected * (1 - expected) / runs)


def test_a_good_prior_is_repaired_and_a_bad_epsilon_is_refused():
    sample = StochasticBlockModel(200, 80, 0.9).sample(1)
    prior = sample.labels.copy()
    prior[np.random.default_rng(2).permutation(200)[:40]] *= -1
    fitted = MajorityVoteRecovery(1.0, prior, insecure_seed=0).fit(sample.adjacency)
    assert error_rate(fitted.labels_, sample.labels) == 0 < error_rate(prior, sample.labels)
    refuse(
        (lambda: MajorityVoteRecovery(1.0, [1, 0, 1]).fit(np.zeros((3, 3))), "labels"),
        (lambda: MajorityVoteRecovery(1.0, [1, -1]).fit(np.zeros((3, 3))), "2 labels for 3"),
    )
    guarantee = MajorityVoteRecovery(0.7, prior).fit(sample.adjacency).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (0.7, 0.0, "exact")


def test_weighted_votes_move_by_the_units_of_one_edge():
    generator = np.random.default_rng(0)
    weights = np.triu(generator.random((6, 6)) * 3, 1)
    weights = weights + weights.T
    prior = np.array([1, -1, 1, 1, -1, -1])
    before = votes(canonical_graph(weights, 3.0), prior, WEIGHT_UNITS)
    changed = weights.copy()
    changed[0, 1] = changed[1, 0] = 1e9  # beyond the bound: clipped
    after = votes(canonical_graph(changed, 3.0), prior, WEIGHT_UNITS)
    assert np.abs(after - before).max() <= WEIGHT_UNITS and np.count_nonzero(after - before) == 2
    assert vote_scale(0.5, WEIGHT_UNITS) == 4 * WEIGHT_UNITS
    refuse((lambda: MajorityVoteRecovery(1.0, prior).fit(weights), "weighted", GraphInputError))
    fitted = MajorityVoteRecovery(1.0, prior, weight_bound=3.0).fit(weights)
    assert fitted.guarantee_.adjacency == "one edge (replace)"
    assert fitted.release_.public["weight_bound"] == 3.0


# -- Algorithm 5.12 and 5.19: rough step, then vote


def exponential_law(adjacency, epsilon, density):
    """Exact law (in float64) of the rough step "exponential" over all labellings with first label +1."""
    made = Labellings(adjacency, Fraction(density), Fraction(1))
    codes, scale = made.listed(np.ones((1, 1), dtype=int))[0], made.scale
    level_of = {int(code): made.level(int(code)) for code in np.unique(codes)}
    exponent = np.array([-epsilon * level_of[int(code)] / (2 * scale) for code in codes])
    weights = np.exp(exponent - exponent.max())
    return weights / weights.sum()


def joint_laws(n, epsilon1, epsilon2, share, degree=1.0):
    """(graphs, rough labels, votes): exact joint law of split, exponential mechanism and vote."""
    graphs = all_adjacencies(n)
    rough = np.array([exponential_law(a, epsilon1, share * degree / n) for a in graphs])
    # labelling k of the exponential mechanism: bit j - 1 set means vertex j is -1
    priors = [x.tolist() for x in all_labellings(n)]
    signs = [[1, *(1 - 2 * ((k >> np.arange(n - 1)) & 1)).tolist()] for k in range(2 ** (n - 1))]
    order = [priors.index(z) for z in signs]
    vote = vote_laws(n, epsilon2)[:, order]
    joint = np.zeros((len(graphs), *vote.shape[1:]))
    for code in range(len(graphs)):
        for part in range(len(graphs)):
            if part & ~code == 0:
                kept, left = bin(part).count("1"), bin(code & ~part).count("1")
                chance = share**kept * (1 - share) ** left
                joint[code] += chance * rough[part][:, None] * vote[code & ~part]
    return joint


SPLITS = [(1.0, 1.0, 0.5, 0.77), (2.0, 0.5, 0.5, 0.83), (0.5, 2.0, 0.3, 1.69), (3.0, 3.0, 0.5, 2.50)]


@pytest.mark.parametrize("epsilon1, epsilon2, share, measured", SPLITS)
def test_exact_joint_law_of_the_split_mechanism(epsilon1, epsilon2, share, measured):
    """Every graph on three vertices, exact law of (rough labels, votes), against the formula of the split."""
    n = 3
    joint = joint_laws(n, epsilon1, epsilon2, share)
    assert np.allclose(joint.sum(axis=(1, 2)), 1)
    loss = largest_loss(joint.reshape(len(joint), -1), n)
    formula = random_split(
        Guarantee(epsilon=epsilon1, delta=0.0, adjacency="one edge"),
        Guarantee(epsilon=epsilon2, delta=0.0, adjacency="one edge"),
        Fraction(share),
    ).epsilon
    assert formula == pytest.approx(
        math.log(share * math.exp(epsilon1) + (1 - share) * math.exp(epsilon2)), rel=1e-12
    )
    assert loss <= formula * (1 + 1e-9)
    assert loss == pytest.approx(measured, abs=0.01)


def test_budget_of_the_two_steps():
    split = VotingRecovery(1.0, 1e-6, 0.8, 40.0, split=0.5)
    whole = VotingRecovery(1.0, 1e-6, 0.8, 40.0)
    paper = VotingRecovery(1.0, 1e-6, 0.8, 40.0, split=0.5, calibration="paper")
    graph = StochasticBlockModel(60, 30, 0.9).sample(0).adjacency
    for estimator in (split, whole, paper):
        guarantee = estimator.fit(graph).guarantee_
        # the published calibration spends delta on the rough step, which only half of the edges reach
        assert guarantee.epsilon == 1.0 and guarantee.delta <= 1e-6
        assert guarantee.delta == pytest.approx(5e-7 if estimator is paper else 1e-6, rel=1e-9)
        assert guarantee.kind == "conditional" and len(guarantee.composition) == 2
        assert estimator.rough_labels_.shape == (60,)
    rough, vote = whole._steps()
    assert rough.epsilon == 0.75 and vote == 0.25
    rough, vote = split._steps()
    assert rough.epsilon == vote == 1.0 and rough.average_degree == 20.0
    assert rough.delta == pytest.approx(2e-6) and rough.delta < 2e-6
    assert paper._steps()[0].delta == 1e-6


@pytest.mark.parametrize("total, part", [(1.0, 0.1), (0.3, 0.1 + 0.1), (1.0, 0.7), (0.7, 0.7 / 3)])
def test_budgets_add_up_exactly(total, part):
    first, rest = split_budget(total, (part, Fraction(total) - Fraction(part)))
    assert Fraction(rest) + Fraction(first) <= Fraction(total)
    assert first == pytest.approx(part) and rest == pytest.approx(total - part)


def test_split_edges_partitions_the_pairs():
    sample = StochasticBlockModel(120, 60, 0.5).sample(4)
    graph = canonical_graph(sample.adjacency)
    first, second = split_edges(graph, WORD // 4, insecure_seed=1)
    assert (first.adjacency + second.adjacency != graph.adjacency).nnz == 0
    assert first.adjacency.multiply(second.adjacency).nnz == 0
    edges, share = graph.adjacency.nnz / 2, first.adjacency.nnz / graph.adjacency.nnz
    assert abs(share - 0.25) < 6 * math.sqrt(0.25 * 0.75 / edges)
    assert (first.adjacency != first.adjacency.T).nnz == 0
    fresh = [split_edges(graph, WORD // 2)[0].adjacency for _ in range(2)]
    assert (fresh[0] != fresh[1]).nnz


def test_pure_version_with_the_exponential_mechanism():
    graph = StochasticBlockModel(12, 5, 1.0).sample(0).adjacency
    fitted = VotingRecovery(4.0, 0.0, 1.0, 5.0, rough="exponential", split=0.5).fit(graph)
    guarantee = fitted.guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (4.0, 0.0, "exact")
    whole = VotingRecovery(4.0, 0.0, 1.0, 5.0, rough="exponential").fit(graph)
    assert whole.guarantee_.epsilon == 4.0 and whole.guarantee_.delta == 0.0


@pytest.mark.parametrize("split", [None, 0.5])
def test_strong_signals_are_recovered(split):
    sample = StochasticBlockModel(200, 100, 0.95).sample(0)
    fitted = VotingRecovery(6.0, 1e-6, 0.95, 100.0, split=split, insecure_seed=1).fit(sample.adjacency)
    assert error_rate(fitted.labels_, sample.labels) == 0
