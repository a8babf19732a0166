"""`RoundsRecovery` on every small graph (exact laws, negative controls), its parts, plans and inputs."""

import itertools
import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
import rounds_law as exact
import scipy.sparse as sp

from problems.sbm import (
    EdgeList,
    GaussianRounds,
    GraphInputError,
    MajorityVoteRecovery,
    PlantedPartition,
    RoundsRecovery,
    SplitRounds,
    StarsRecovery,
    StochasticBlockModel,
    afterwards,
    error_rate,
    forecast_rounds,
    partition_error,
    plan_rounds,
    rounds,
    rounds_groups,
)
from problems.sbm.edges import canonical_edges
from problems.sbm.votes import count_law, group_law
from sosdp.privacy.calibrate import delta_at_most
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_rule
from sosdp.privacy.randomness.bits import open_bits

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
        exact.largest_loss(table(lambda code, part=part: exact.split_law(code, plan, epsilon, KEY, part)))
        for part in maps
    ]
    assert max(losses) <= epsilon * (1 + 1e-9)
    assert max(losses) > 0.97 * epsilon


def test_split_plan_with_two_rounds_and_every_pair_anywhere():
    plan = SplitRounds((0.3, 0.3), (1, 2))
    generator = np.random.default_rng(0)
    for part in [tuple(generator.integers(0, 3, 6).tolist()) for _ in range(4)]:
        laws = table(lambda code, part=part: exact.split_law(code, plan, 1.0, KEY, part))
        assert exact.largest_loss(laws) <= 1 + 1e-9


@pytest.mark.parametrize("fault", ["half the noise", "key drawn again"])
def test_negative_controls_of_the_split_plan(fault):
    plan = SplitRounds((0.5,), (0, 1))
    part, later = (0, 1, 0, 1, 1, 0), (1, 0, 1, 0, 0, 1)
    options = {"noise_factor": 0.5} if fault == "half the noise" else {"late": later}
    laws = table(lambda code: exact.split_law(code, plan, 1.0, KEY, part, **options))
    assert exact.largest_loss(laws) > 1.2  # a pair in two parts, or too little noise


def test_gaussian_plan_on_all_graphs_with_four_vertices():
    plan, budget, delta = GaussianRounds(2, 0.5), (0.5, 0.5), 1e-3
    laws = table(lambda code: exact.gaussian_law(code, plan, budget, delta, KEY))
    assert exact.worst_delta(laws, 1.0) <= delta
    # The vote alone spends epsilon_2: with a tenth of its noise the whole is no longer private.
    wrong = table(lambda code: exact.gaussian_law(code, plan, budget, delta, KEY, vote_factor=0.1))
    assert exact.worst_delta(wrong, 1.0) > 10 * delta


def test_an_edge_moves_two_counts_by_one_on_all_graphs_and_labels():
    """The sensitivity behind every scale: l1 norm 2, l2 norm sqrt(2), for all graphs, edges and labels."""
    for z in exact.SIGNS:
        counts = np.array([exact.graph(code).counts(z) for code in exact.GRAPHS])
        for g, h in exact.NEIGHBOURS:
            moved = np.abs(counts[g] - counts[h])
            assert np.array_equal(np.sort(moved), [0, 0, 1, 1])


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
    root = rounds.root_up(1.0, 2)
    assert Fraction(root) ** 2 >= 2 > Fraction(math.nextafter(root, 0)) ** 2


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
            counts = [rounds_groups.group_counts(exact.graph(code), assigned, k) for code in exact.GRAPHS]
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


def test_geometric_law_from_folded_laplace():
    counts = rounds_groups.geometric(np.arange(-5, 6))
    assert np.array_equal(counts, [4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5])  # P(j) = P(L = j) + P(L = -j - 1)


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_rows_are_never_longer_than_their_bound(width):
    generator = np.random.default_rng(width)
    values = generator.standard_normal((400, width)) * 10.0 ** generator.integers(-300, 300, (400, 1))
    values[:5] = [[0.0], [np.nan], [np.inf], [-np.inf], [1e-320]]
    rows = rounds_groups.unit_rows(values)
    assert rows.dtype == np.int64 and (rows**2).sum(axis=1).max() <= rounds_groups.ROW**2
    # n = 2, k = 4: whitening a covariance of rank one gives no NaN that reaches the counts
    tiny = rounds_groups.unit_rows(rounds_groups.whitened(np.array([[1.0] * width, [2.0] * width])))
    assert (tiny**2).sum(axis=1).max() <= rounds_groups.ROW**2


# ------------------------------------------------------------------------------------------------------------
# The code draws the laws above


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
    law = exact.split_law(code, plan, epsilon, KEY, tuple(part.tolist()))
    labels = {}
    for outcome, chance in law.items():
        labels[outcome[-1]] = labels.get(outcome[-1], 0.0) + chance
    seen = dict.fromkeys(labels, 0)
    for seed in range(runs):
        drawn = rounds.split_rounds(edges, plan, epsilon, KEY, open_bits(seed))
        seen[tuple(drawn.tolist())] += 1
    chi = sum((seen[z] - runs * p) ** 2 / (runs * p) for z, p in labels.items())
    assert chi < 45  # 15 degrees of freedom: 1 in 10^4

    gauss, budget = GaussianRounds(2, 0.5), (2.0, 1.0)
    law = exact.gaussian_law(code, gauss, budget, 1e-2, KEY)
    labels = {}
    for outcome, chance in law.items():
        labels[outcome[-1]] = labels.get(outcome[-1], 0.0) + chance
    seen = dict.fromkeys(labels, 0)
    for seed in range(runs):
        seen[tuple(rounds.gaussian_rounds(edges, gauss, budget, 1e-2, KEY, open_bits(seed)).tolist())] += 1
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
    words = rounds.public_words(40_000, KEY, 0)
    assert len(set(words.tolist())) == 40_000
    assert abs(np.mean(rounds.signs_with_coin(np.zeros(40_000), KEY))) < 0.03


# ------------------------------------------------------------------------------------------------------------
# Inputs


def test_edges_are_canonical_whatever_the_input():
    networked = networkx.gnp_random_graph(40, 0.2, seed=1)
    matrix = sp.csr_array(networkx.to_scipy_sparse_array(networked, dtype=np.int64))
    pairs = np.array(networked.edges)
    doubled = EdgeList(40, np.concatenate([pairs, pairs[:, ::-1], pairs[:7]]).astype(np.uint32))
    z = np.random.default_rng(0).choice([-1, 1], 40)
    for given in (networked, matrix, matrix.toarray(), doubled, EdgeList(40, pairs)):
        edges = canonical_edges(given)
        assert np.array_equal(edges.counts(z), matrix @ z)
        assert len(edges.first) == matrix.nnz // 2 and np.all(edges.first < edges.second)
        assert (edges.adjacency() != matrix).nnz == 0
    mask = np.arange(len(pairs)) % 2 == 0
    whole = canonical_edges(matrix)
    assert np.array_equal(whole.counts(z, mask) + whole.counts(z, ~mask), whole.counts(z))
    empty = canonical_edges(EdgeList(3, []))
    assert np.array_equal(empty.counts(np.ones((3, 2), dtype=int)), np.zeros((3, 2)))
    for bad in (EdgeList(2, [[0, 0]]), EdgeList(2, [[0, 2]]), EdgeList(1, []), EdgeList(2**24, [[0, 1]])):
        with pytest.raises(GraphInputError):
            canonical_edges(bad)


def test_weighted_counts_are_exact_and_hostile_weights_have_a_meaning():
    pairs, weights = [[0, 1], [1, 2], [2, 3], [0, 3]], [0.5, np.nan, 7.0, -1.0]
    edges = canonical_edges(EdgeList(4, pairs, weights), 2.0)
    unit = edges.unit
    expected = np.zeros((4, 4), dtype=np.int64)
    expected[0, 1] = expected[1, 0] = unit // 4
    expected[2, 3] = expected[3, 2] = unit
    z = np.array([1, -1, 1, 1])
    assert np.array_equal(edges.counts(z), expected @ z)
    sample = StochasticBlockModel(400, 150, 0.9).sample(3)
    weighted = sp.csr_array(sample.adjacency * 3.0)
    fitted = RoundsRecovery(3.0, 1e-6, 0.9, 450, weight_bound=3.0, insecure_seed=1).fit(weighted)
    assert error_rate(fitted.labels_, sample.labels) < 0.01
    pure = RoundsRecovery(3.0, 0, 0.9, 450, weight_bound=3.0, insecure_seed=1).fit(weighted)
    assert error_rate(pure.labels_, sample.labels) < 0.05
    assert pure.release_.public["weight_bound"] == 3.0


# ------------------------------------------------------------------------------------------------------------
# Plans


def test_laws_of_counts_by_simulation():
    generator = np.random.default_rng(0)
    n, d, gamma, theta, draws = 600, 60, 0.6, 0.1, 200_000
    law, offset = count_law(n, d, gamma, theta)
    p_in, p_out = (1 + gamma) * d / n, (1 - gamma) * d / n
    draw = generator.binomial
    seen = draw(270, p_in, draws) + draw(30, p_out, draws) - draw(30, p_in, draws) - draw(270, p_out, draws)
    values = np.arange(len(law)) - offset
    assert values @ law == pytest.approx(seen.mean(), abs=0.1)
    assert (values**2) @ law == pytest.approx((seen**2.0).mean(), rel=0.01)
    assert law[values < 10].sum() == pytest.approx(np.mean(seen < 10), abs=0.005)
    two, at = group_law(n, d, gamma, 2, theta)
    assert at == offset and np.allclose(two, law, atol=1e-12)


@pytest.mark.parametrize(
    "n, d, gamma, epsilon, rounds_, share, forecast",
    [(1000, 100, 0.8, 0.75, 10, 0.65, 0.78), (1000, 50, 0.8, 1.5, 9, 0.65, 0.53),
     (10_000, 200, 0.8, 0.5, 12, 0.65, 0.99), (10_000, 100, 0.8, 0.75, 9, 0.65, 0.20),
     (10_000, 500, 0.8, 0.25, 11, 0.5, 1.0), (10_000, 200, 0.3, 2.0, 12, 0.5, 0.81)],
)  # fmt: skip
def test_forecasts_of_the_table(n, d, gamma, epsilon, rounds_, share, forecast):
    plan = GaussianRounds(rounds_, share)
    assert forecast_rounds(n, d, gamma, epsilon, 1e-6, plan).exact == pytest.approx(forecast, abs=0.02)
    planned = plan_rounds(n, d, gamma, epsilon, 1e-6, kind="gauss")
    assert planned.plan == GaussianRounds(rounds_ + 1, share)  # one round more than the optimum
    assert plan_rounds(n, d, gamma, epsilon, 1e-6, kind="gauss") is planned  # remembered


def test_measured_shares_stay_near_the_forecast():
    n, d, gamma, epsilon, runs = 1000, 100, 0.8, 0.75, 24
    right = 0
    for seed in range(runs):
        sample = StochasticBlockModel(n, d, gamma).sample_edges(seed % 6)
        fitted = RoundsRecovery(epsilon, 1e-6, gamma, d, insecure_seed=seed).fit(sample.edges)
        right += error_rate(fitted.labels_, sample.labels) == 0
    forecast = plan_rounds(n, d, gamma, epsilon, 1e-6).exact
    assert abs(right / runs - forecast) < 0.2 + 2.5 * math.sqrt(forecast * (1 - forecast) / runs)


# ------------------------------------------------------------------------------------------------------------
# The estimator


@pytest.mark.parametrize("options", [{}, {"plan": "split"}, {"degrees": "uneven"}, {"communities": 4}])
def test_ten_thousand_vertices(options):
    """Both plans, uneven degrees and four communities, from an edge list."""
    k = options.get("communities", 2)
    if k == 2:
        sample = StochasticBlockModel(10_000, 150, 0.8).sample_edges(1)
    else:
        sample = PlantedPartition(10_000, 4, (1 + 3 * 0.5) * 150 / 10_000, 0.5 * 150 / 10_000).sample_edges(1)
    fitted = RoundsRecovery(2.0, 1e-6, 0.8 if k == 2 else 0.5, 150, insecure_seed=2, **options).fit(
        sample.edges
    )
    assert partition_error(fitted.labels_, sample.labels) < 0.002
    assert fitted.released_ and fitted.guarantee_.kind == "none"


def test_guarantee_says_what_was_spent():
    sample = StochasticBlockModel(60, 20, 0.9).sample(1)
    fitted = RoundsRecovery(1.0, 1e-6, 0.9, 20, plan="gauss").fit(sample.adjacency)
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta, fitted.guarantee_.kind) == (
        1.0,
        1e-6,
        "exact",
    )
    pure = RoundsRecovery(1.0, 1e-6, 0.9, 20, plan="split").fit(sample.adjacency)
    assert (pure.guarantee_.epsilon, pure.guarantee_.delta) == (1.0, 0.0)
    again = RoundsRecovery(1.0, 0.0, 0.9, 20).fit(sample.adjacency)
    assert again.release_.public["key"] != pure.release_.public["key"]
    assert again.labels_[0] == 1 and "plan" in again.release_.to_dict()["public"]


def test_hostile_graphs_get_an_answer():
    for n, edges in [(2, []), (2, [[0, 1]]), (3, [[0, 1]]), (50, []), (50, [[0, k] for k in range(1, 50)])]:
        for options in ({}, {"plan": "split"}, {"degrees": "uneven"}, {"communities": 2}):
            assert len(RoundsRecovery(1.0, 1e-6, 0.5, 3, **options).fit(EdgeList(n, edges)).labels_) == n
    for n in (4, 9):
        assert len(RoundsRecovery(1.0, 1e-6, 0.5, 3, communities=4).fit(EdgeList(n, [[0, 1]])).labels_) == n


@pytest.mark.parametrize(
    "options, message",
    [({"delta": 0.0, "plan": "gauss"}, "delta"), ({"communities": 1}, "communities"),
     ({"plan": "luck"}, "plan"),
     ({"communities": 3, "plan": "split"}, "two communities"), ({"degrees": "odd"}, "degrees"),
     ({"delta": 0.0, "degrees": "uneven"}, "delta"), ({"communities": 9}, "vertices"),
     ({"plan": SplitRounds((0.5,)), "communities": 3}, "two communities"), ({"gamma": 0.0}, "gamma")],
)  # fmt: skip
def test_parameters_out_of_range(options, message):
    arguments = {"epsilon": 1.0, "delta": 1e-6, "gamma": 0.5, "average_degree": 2.0, **options}
    with pytest.raises(ValueError, match=message):
        RoundsRecovery(**arguments).fit(EdgeList(5, [[0, 1]]))
    for bad in [(), (0.6, 0.6), (1.0,)]:
        with pytest.raises(ValueError):
            SplitRounds(bad)
    for rounds_, share in [(0, 0.5), (3, 1.0)]:
        with pytest.raises(ValueError):
            GaussianRounds(rounds_, share)


def test_sampled_edges_follow_the_model():
    model = StochasticBlockModel(300, 40, 0.5)
    counts = np.zeros(2)
    for seed in range(40):
        sample = model.sample_edges(seed)
        pairs = np.asarray(sample.edges.edges)
        assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs)
        same = sample.labels[pairs[:, 0]] == sample.labels[pairs[:, 1]]
        counts += [same.sum(), (~same).sum()]
    expected = 40 * np.array([2 * 150 * 149 / 2 * model.p_in, 150 * 150 * model.p_out])
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))
    groups = PlantedPartition(90, 3, 0.5, 0.1).sample_edges(1)
    assert np.bincount(groups.labels).tolist() == [30, 30, 30] and groups.edges.n == 90


@pytest.mark.slow
def test_a_million_vertices():
    """The largest cell: every label right at degree 50, epsilon 4."""
    sample = StochasticBlockModel(1_000_000, 50, 0.8).sample_edges(1)
    fitted = RoundsRecovery(4.0, 1e-6, 0.8, 50, insecure_seed=1).fit(sample.edges)
    assert error_rate(fitted.labels_, sample.labels) <= 1e-5


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
        votes = [afterwards.least_vote(exact.graph(code), x) for code in exact.GRAPHS]
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
    share = np.mean([afterwards.passes(2, 1, 1.0, 0.05, open_bits(seed)) for seed in range(1500)])
    assert abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / 1500)
    weighted = [afterwards.passes(2 << 20, 1 << 20, 1.0, 0.05, open_bits(seed)) for seed in range(1500)]
    assert abs(np.mean(weighted) - 0.5 * math.exp(2 - math.log(10))) < 0.06  # nearly continuous
    assert afterwards.vote_needed(1.0, 0.05, 0.05) == pytest.approx(2 * math.log(1 / 0.1), abs=0.02)


def test_wrong_labels_are_withheld_and_right_ones_come_out():
    sample = StochasticBlockModel(20_000, 120, 0.8).sample_edges(3)
    options = {"exact_or_nothing": True, "false_pass": 1e-4}
    right = RoundsRecovery(2.5, 1e-6, 0.8, 120, insecure_seed=1, **options).fit(sample.edges)
    assert right.released_ and error_rate(right.labels_, sample.labels) == 0
    short = RoundsRecovery(2.5, 1e-6, 0.8, 120, plan=GaussianRounds(1, 0.5), insecure_seed=1, **options)
    assert not short.fit(sample.edges).released_ and short.labels_ is None
    spent = RoundsRecovery(2.5, 1e-6, 0.8, 120, exact_or_nothing=True).fit(EdgeList(40, []))
    assert not spent.released_ and spent.guarantee_.epsilon == 2.5
    for bad in ({"check_share": 1.0}, {"false_pass": 0.7}, {"communities": 3, "exact_or_nothing": True}):
        with pytest.raises(ValueError, match="check_share|false_pass|two communities"):
            RoundsRecovery(1.0, 1e-6, 0.8, 10, **bad).fit(EdgeList(5, []))


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
