"""`RoundsRecovery` on every small graph (exact laws, negative controls), its parts, plans and inputs."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import rounds_law as exact
from graphs import largest_loss, worst_delta

from problems.sbm import (
    EdgeList,
    GaussianRounds,
    MajorityVoteRecovery,
    RoundsRecovery,
    SplitRounds,
    StarsRecovery,
    StochasticBlockModel,
    error_rate,
    rounds,
)
from sosdp.privacy.calibrate import delta_at_most
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_rule
from sosdp.privacy.randomness.bits import open_bits
from tests.refusals import each, refuse

KEY = 0x1234_5678_9ABC_DEF0


def table(make):
    """(64, outcomes) array of the exact laws of all graphs on four vertices."""
    laws = [make(code) for code in exact.GRAPHS]
    outcomes = sorted(set().union(*laws))
    out = np.array([exact.vector(law, outcomes) for law in laws])
    assert np.allclose(out.sum(axis=1), 1, atol=1e-9)
    return out


# ------------------------------------------------------------------------------------------------------------
# Exact privacy loss


@pytest.mark.parametrize(
    "epsilon, again", [(1.0, (0, 1)), (1.0, (1, 4)), (1.0, (1, 2)), (0.25, (1, 4)), (4.0, (3, 4))]
)
def test_split_plan_loses_epsilon_on_all_graphs_with_four_vertices(epsilon, again):
    """Every pair in every part once; the loss is attained, so the noise is no larger than needed."""
    plan = SplitRounds((0.5,), again)
    maps = [
        (0, 1, 0, 1, 1, 0),
        (1, 1, 1, 0, 0, 0),
        (0, 0, 0, 0, 0, 0),
        (1, 1, 1, 1, 1, 1),
        (0, 1, 1, 1, 1, 1),
    ]
    losses = [
        largest_loss(table(lambda code, part=part: exact.split_law(code, plan, epsilon, KEY, part)), 4)
        for part in maps
    ]
    assert max(losses) <= epsilon * (1 + 1e-9)
    assert max(losses) > 0.97 * epsilon


@pytest.mark.slow
def test_split_plan_with_two_rounds_and_every_pair_anywhere():
    plan = SplitRounds((0.3, 0.3), (1, 2))
    generator = np.random.default_rng(0)
    for part in [tuple(generator.integers(0, 3, 6).tolist()) for _ in range(4)]:
        laws = table(lambda code, part=part: exact.split_law(code, plan, 1.0, KEY, part))
        assert largest_loss(laws, 4) <= 1 + 1e-9


@pytest.mark.slow
def test_gaussian_plan_on_all_graphs_with_four_vertices():
    plan, budget, delta = GaussianRounds(2, 0.5), (0.5, 0.5), 1e-3
    laws = table(lambda code: exact.gaussian_law(code, plan, budget, delta, KEY))
    assert worst_delta(laws, 4, 1.0) <= delta
    # The vote alone spends epsilon_2: with a tenth of its noise the whole is no longer private.
    wrong = table(lambda code: exact.gaussian_law(code, plan, budget, delta, KEY, vote_factor=0.1))
    assert worst_delta(wrong, 4, 1.0) > 10 * delta


def test_an_edge_moves_two_counts_by_one_on_all_graphs_and_labels():
    """The sensitivity behind every scale: l1 norm 2, l2 norm sqrt(2), for all graphs, edges and labels."""
    for z in exact.SIGNS:
        counts = np.array([exact.graph(code).counts(z) for code in exact.GRAPHS])
        for g, h in exact.NEIGHBOURS:
            assert np.array_equal(np.sort(np.abs(counts[g] - counts[h])), [0, 0, 1, 1])


@pytest.mark.parametrize("queries, epsilon, delta", [(1, 1.0, 1e-2), (2, 1.0, 1e-2), (1, 0.5, 1e-3)])
def test_rounded_gaussian_counts_of_all_rounds_spend_at_most_delta(queries, epsilon, delta):
    """The noisy counts themselves: 2 T entries move by 1 each, exact hockey-stick divergence."""
    sigma = rounds.gaussian_scale(epsilon, delta, queries)
    reach = math.ceil(7 * sigma)
    ends = np.arange(-reach, reach + 2) - 0.5
    from scipy.special import ndtr

    def spent(s):
        p = ndtr(ends[1:] / s) - ndtr(ends[:-1] / s)
        q = ndtr((ends[1:] - 1) / s) - ndtr((ends[:-1] - 1) / s)
        p, q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
        if queries == 2:
            kept = p > 1e-9
            p, q = np.outer(p[kept], p[kept]), np.outer(q[kept], q[kept])
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())

    assert 0.9 * delta < spent(sigma) <= delta * (1 + 1e-6)
    assert spent(0.7 * sigma) > 2 * delta  # negative control


def test_gaussian_scale_is_the_proven_multiplier_times_the_root():
    sigma = Fraction(rounds.gaussian_scale(1.0, 1e-6, 7))
    assert delta_at_most(1.0, 14 / sigma**2, Fraction(1e-6))
    assert not delta_at_most(1.0, 14 / (sigma * Fraction(99, 100)) ** 2, Fraction(1e-6))


@pytest.mark.parametrize("k", [2, 3])
def test_group_vote_loses_epsilon_on_all_graphs_with_four_vertices(k):
    """Law of the winner at a vertex from counts and geometric noise, independent over the vertices."""
    epsilon = 1.0

    noise = np.array(list(itertools.product(range(50), repeat=k)))
    order = np.array([2, 1, 3])[:k]

    def winner_law(counts, factor):
        a = math.exp(-1 / float(rounds.laplace_scale(epsilon) * factor))
        votes = 4 * (noise + counts) + order  # a tie is broken by the order
        return np.bincount(votes.argmax(axis=1), (1 - a) ** k * a ** noise.sum(axis=1), k)

    groups = [np.array(g) for g in itertools.product(range(k), repeat=4)][:: 5 if k == 3 else 1]
    known = {}

    def law_of(counts, factor=1.0):
        label = (tuple(counts), factor)
        if label not in known:
            known[label] = winner_law(np.array(counts), factor)
        return known[label]

    def loss(factor):
        worst = 0.0
        for assigned in groups:
            counts = [rounds.group_counts(exact.graph(code), assigned, k) for code in exact.GRAPHS]
            for g, h in exact.NEIGHBOURS:
                per_vertex = [
                    np.abs(np.log(law_of(a, factor) / law_of(b, factor))).max()
                    for a, b in zip(counts[g], counts[h])
                ]
                worst = max(worst, sum(per_vertex))
        return worst

    truncation = 1e-6  # noise up to 50: e^{-25} is left out
    assert 0.9 * epsilon < loss(1.0) <= epsilon + truncation
    assert loss(0.5) > 1.2 * epsilon


def test_a_plan_has_the_noise_of_all_its_rounds():
    """Numbers of small types of numpy wrapped around: 2 * 200 was 144."""
    plan, wanted = GaussianRounds(np.uint8(200), np.float32(0.5)), GaussianRounds(200, 0.5)
    assert plan == wanted and GaussianRounds(np.uint8(255), 0.5, by_degree=True).queries == 256
    assert rounds.gaussian_scale(1.0, 1e-6, plan.queries) == rounds.gaussian_scale(1.0, 1e-6, 200)
    assert rounds.laplace_scale(np.uint8(1), np.uint8(200)) == 400
    again = SplitRounds((np.float32(0.5),), (np.uint8(1), np.uint8(2))).again
    assert rounds.rounds_epsilon(np.uint8(255), again) == Fraction(255, 2)


def test_geometric_law_from_folded_laplace():
    counts = rounds.geometric(np.arange(-5, 6))
    assert np.array_equal(counts, [4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5])  # P(j) = P(L = j) + P(L = -j - 1)


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_rows_are_never_longer_than_their_bound(width):
    generator = np.random.default_rng(width)
    values = generator.standard_normal((400, width)) * 10.0 ** generator.integers(-300, 300, (400, 1))
    values[:5] = [[0.0], [np.nan], [np.inf], [-np.inf], [1e-320]]
    rows = rounds.unit_rows(values, rounds.ROW)
    assert rows.dtype == np.int64 and (rows**2).sum(axis=1).max() <= rounds.ROW**2
    # n = 2, k = 4: whitening a covariance of rank one gives no NaN that reaches the counts
    tiny = rounds.unit_rows(rounds.whitened(np.array([[1.0] * width, [2.0] * width])), rounds.ROW)
    assert (tiny**2).sum(axis=1).max() <= rounds.ROW**2


# ------------------------------------------------------------------------------------------------------------
# The code draws the laws above


@pytest.mark.slow
def test_runs_follow_the_exact_law():
    """2000 runs of the code on one graph with four vertices: chi-square of the labels against the law."""
    plan, epsilon, runs = SplitRounds((0.5,), (1, 2)), 1.0, 2000
    code = 0b101101
    edges = exact.graph(code)
    part = rounds.part_of(
        np.array([i for i, _ in exact.PAIRS]),
        np.array([j for _, j in exact.PAIRS]),
        4,
        KEY,
        plan.thresholds(),
    )
    gauss, budget = GaussianRounds(2, 0.5), (2.0, 1.0)
    for law, run in (
        (
            exact.split_law(code, plan, epsilon, KEY, tuple(part.tolist())),
            lambda bits: rounds.split_rounds(edges, plan, epsilon, KEY, bits),
        ),
        (
            exact.gaussian_law(code, gauss, budget, 1e-2, KEY),
            lambda bits: rounds.gaussian_rounds(edges, gauss, budget, 1e-2, KEY, bits),
        ),
    ):
        seen = Counter(tuple(run(open_bits(seed)).tolist()) for seed in range(runs))
        labels = Counter()
        for outcome, chance in law.items():
            labels[outcome[-1]] += chance
        # 15 degrees of freedom: 1 in 10^4
        assert sum((seen[z] - runs * p) ** 2 / (runs * p) for z, p in labels.items()) < 45


def test_parts_are_symmetric_disjoint_and_of_their_size():
    n, plan = 2000, SplitRounds((0.1, 0.25, 0.25))
    generator = np.random.default_rng(0)
    u, v = generator.integers(0, n, (2, 100_000))
    part = rounds.part_of(u, v, n, KEY, plan.thresholds())
    assert np.array_equal(part, rounds.part_of(v, u, n, KEY, plan.thresholds()))
    shares = np.bincount(part, minlength=4) / len(part)
    assert np.abs(shares - [0.1, 0.25, 0.25, 0.4]).max() < 0.006
    assert np.mean(part == rounds.part_of(u, v, n, KEY + 1, plan.thresholds())) < 0.35


def test_halves_and_start_are_balanced():
    for n in (2, 3, 10, 101):
        z = rounds.start(n, KEY)
        assert z.sum() == n % 2 and set(z.tolist()) == {1, -1}
        order = rounds.public_words(n, KEY, 3)
        values = np.random.default_rng(n).integers(-2, 3, n)
        signs = rounds.halves(values, order)
        expected = np.ones(n)
        expected[np.lexsort((order, values))[: n // 2]] = -1
        assert np.array_equal(signs, expected)
    assert len(set(rounds.public_words(40_000, KEY, 0).tolist())) == 40_000
    assert abs(np.mean(rounds.signs_with_coin(np.zeros(40_000), KEY))) < 0.03


# ------------------------------------------------------------------------------------------------------------
# Exact or nothing


def test_the_check_loses_its_epsilon_on_all_graphs_with_four_vertices():
    """Law of the bit for every graph and every fixed labelling; half the noise is noticed."""
    epsilon, beta = 0.7, 0.02
    rule = accept_rule(epsilon, beta, 1)

    def passing(statistic, units):
        a, need = math.exp(-1 / units), rule.margin - statistic
        return a**need / (1 + a) if need >= 1 else 1 - a ** (1 - need) / (1 + a)

    worst = {1.0: 0.0, 0.5: 0.0}
    for x in exact.SIGNS[:8]:
        votes = [rounds.least_vote(exact.graph(code), x) for code in exact.GRAPHS]
        for factor in worst:
            chance = np.array([passing(s, factor * rule.units) for s in votes])
            for g, h in exact.NEIGHBOURS:
                assert abs(votes[g] - votes[h]) <= 1
                for p, q in ((chance[g], chance[h]), (1 - chance[g], 1 - chance[h])):
                    worst[factor] = max(worst[factor], abs(math.log(p / q)))
    assert 0.9 * epsilon < worst[1.0] <= epsilon * (1 + 1e-9)
    assert worst[0.5] > 1.2 * epsilon
    assert passing(0, rule.units) <= beta < passing(1, rule.units)


def test_the_check_draws_this_law_and_knows_its_unit():
    rule = accept_rule(1.0, 0.05, 1)
    need = rule.margin - 2
    expected = math.exp(-need) / (1 + math.exp(-1))
    share = np.mean([rounds.passes(2, 1, 1.0, 0.05, open_bits(seed)) for seed in range(1500)])
    assert abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / 1500)
    weighted = [rounds.passes(2 << 20, 1 << 20, 1.0, 0.05, open_bits(seed)) for seed in range(1500)]
    assert abs(np.mean(weighted) - 0.5 * math.exp(2 - math.log(10))) < 0.06  # nearly continuous


def test_wrong_labels_are_withheld_and_right_ones_come_out():
    sample = StochasticBlockModel(20_000, 120, 0.8).sample_edges(3)
    options = {"exact_or_nothing": True, "false_pass": 1e-4}
    right = RoundsRecovery(2.5, 1e-6, 0.8, 120, insecure_seed=1, **options).fit(sample.edges)
    assert right.released_ and error_rate(right.labels_, sample.labels) == 0
    short = RoundsRecovery(2.5, 1e-6, 0.8, 120, plan=GaussianRounds(1, 0.5), insecure_seed=1, **options)
    assert not short.fit(sample.edges).released_ and short.labels_ is None
    spent = RoundsRecovery(2.5, 1e-6, 0.8, 120, exact_or_nothing=True).fit(EdgeList(40, []))
    assert not spent.released_ and spent.guarantee_.epsilon == 2.5
    refuse(
        *each(
            lambda bad: RoundsRecovery(1.0, 1e-6, 0.8, 10, **bad).fit(EdgeList(5, [])),
            ({"check_share": 1.0}, {"false_pass": 0.7}, {"communities": 3, "exact_or_nothing": True}),
            "check_share|false_pass|two communities",
        )
    )


@pytest.mark.parametrize("epsilon", [19.0, 20.0, 45.0, 400.0])
def test_a_huge_budget_meets_the_least_noise_of_the_sampler(epsilon):
    """Noise scales never fall below what the sampler takes: more noise than needed is private too."""
    graph = EdgeList(40, [(u, v) for u in range(40) for v in range(u) if (u < 20) == (v < 20)])
    for made in (
        RoundsRecovery(epsilon, 1e-6, 0.9, 19),
        RoundsRecovery(epsilon, 0.0, 0.9, 19),
        RoundsRecovery(epsilon, 1e-6, 0.4, 19, communities=3),
        StarsRecovery(epsilon, 0.9, 19),
        MajorityVoteRecovery(epsilon, np.ones(40, dtype=int)),
    ):
        assert made.fit(graph).released_
