"""The dual slack of large sparse graphs: bracket, rounding and luck; the private test on all small graphs."""

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
import rounds_law as exact
import scipy.sparse as sp

from problems.sbm import EdgeList, RoundsRecovery, StochasticBlockModel, sparse_slack
from problems.sbm.edges import canonical_edges
from problems.sbm.program import dual_slack
from problems.sbm.sparse_slack import ERROR, GRID, SENSITIVITY, SlackTest, plan_slack_test, slack_statistic
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_rule
from sosdp.privacy.randomness.bits import open_bits
from sosdp.structured import least_eigenvalue
from sosdp.structured.least_eigenvalue import SymmetricOperator, bracket_least_eigenvalue, drift
from tests.refusals import refuse

TEST = SlackTest(4, 0.5, 3, 1e-6)
LABELS = exact.SIGNS[:8]


def true_statistic(code, x, cap=TEST.degree_cap, tau=TEST.tau):
    """f by dense eigenvalues."""
    adjacency = exact.graph(code).adjacency()
    largest = int(adjacency.sum(axis=1).max())
    return max(0.0, min(dual_slack(adjacency, x, tau) / 2, cap - largest))


@pytest.fixture(scope="module")
def statistics():
    """f and the reported counts of all graphs on four vertices and all labellings: two (8, 64) arrays."""
    truth = np.array([[true_statistic(code, x) for code in exact.GRAPHS] for x in LABELS])
    counts = np.array(
        [
            [slack_statistic(exact.graph(code), x, TEST, open_bits(code)) for code in exact.GRAPHS]
            for x in LABELS
        ]
    )
    return truth, counts


def test_the_statistic_is_lipschitz_and_reported_within_its_error(statistics):
    truth, counts = statistics
    for g, h in exact.NEIGHBOURS:
        assert np.abs(truth[:, g] - truth[:, h]).max() <= 1 + 1e-9
        assert np.abs(counts[:, g] - counts[:, h]).max() <= SENSITIVITY
    assert truth.max() > 0.9
    assert np.abs(counts / GRID + ERROR - truth).max() <= ERROR + 2 / GRID
    assert np.all(counts[truth < 1e-9] <= 0)  # what is not certified passes with probability at most beta


@pytest.mark.parametrize("unit, safe", [(SENSITIVITY, True), (GRID, False)], ids=["charged", "left out"])
def test_loss_of_the_bit_on_all_graphs_with_four_vertices(statistics, unit, safe):
    """Exact law of the bit, errors at their worst; without the error in the sensitivity it fails."""
    epsilon, truth = 0.7, statistics[0]
    rule = accept_rule(epsilon, 0.05, unit)
    worst = 0.0
    for g, h in exact.NEIGHBOURS:
        for row in truth:
            for first, second in ((g, h), (h, g)):
                high = math.floor(row[first] * GRID) - rule.margin
                low = math.floor((row[second] - 2 * ERROR) * GRID) - rule.margin
                p, q = rule.tail(-high), rule.tail(-low)
                worst = max(worst, abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
    assert (worst <= epsilon * (1 + 1e-9)) is safe
    assert worst > 0.7 * epsilon


def test_a_cap_on_degrees_is_part_of_the_statistic():
    """Where the largest degree reaches D, the statistic is 0 on the graph and small on its neighbours."""
    star = canonical_edges(EdgeList(8, [(0, v) for v in range(1, 8)]))
    test = replace(SlackTest(8, 0.0, 8, 1e-6), degree_cap=7)
    ones = np.ones(8, dtype=np.int64)
    assert dual_slack(star.adjacency(), ones, 0.0) == pytest.approx(1)
    assert slack_statistic(star, ones, test, open_bits(1)) == sparse_slack.reported(0.0) == -ERROR * GRID
    clique = canonical_edges(EdgeList(8, [(u, v) for u in range(8) for v in range(u)]))
    high = slack_statistic(clique, ones, replace(test, degree_cap=9), open_bits(1))
    assert abs(high / GRID + ERROR - 2) <= ERROR  # lambda / 2 = 4, but D - degree = 2


# ------------------------------------------------------------------------------------------------------------
# Luck


def test_two_unlucky_neighbours_are_charged_to_delta():
    for delta in (1e-9, 1e-6 / 64, 0.01):
        test = SlackTest(50, 0.25, 40, delta)
        assert 2 * Fraction(test.unlucky) ** sparse_slack.COUNT <= Fraction(delta)
        assert 2.001 * test.unlucky**sparse_slack.COUNT > delta
    made = RoundsRecovery(1.0, 1e-6, 0.8, 20, exact_or_nothing="slack")
    labels, check = made._deltas()
    assert Fraction(labels) + Fraction(check) <= Fraction(1e-6) and check > 0.015e-6
    assert RoundsRecovery(1.0, 1e-6, 0.8, 20)._deltas() == (1e-6, 0.0)


@pytest.mark.parametrize("n, direction", [(4, "spread"), (4, "one"), (40_000, "spread")])
def test_a_start_is_unlucky_as_often_as_claimed(n, direction):
    """|<u, v>| below the promised component: probability d', almost attained; entries are rounded."""
    test = SlackTest(n, 0.0, 4, 2 * 0.2**sparse_slack.COUNT * (1 + 1e-12))
    assert test.unlucky == pytest.approx(0.2)
    u = np.ones(n) / math.sqrt(n) if direction == "spread" else np.eye(1, n)[0]
    repeats = 5000 if n < 100 else 50
    result = np.concatenate(
        [np.abs(u @ sparse_slack.draw_starts(test, open_bits(seed)).vectors) for seed in range(repeats)]
    )
    share = np.mean(result < test.component)
    spread = math.sqrt(0.2 * 0.8 / len(result))
    assert share <= 0.2 + 4 * spread
    assert share >= 0.195 - 4 * spread  # the inequality sqrt(2 / pi) t loses little


def test_rounded_entries_cost_half_the_root_of_n(monkeypatch):
    """The promise with a coarse grid: what rounding takes off is sqrt(n) / 2 at most, and it is taken off."""
    monkeypatch.setattr(sparse_slack, "SPREAD", 1 << 12)
    component = object.__new__(SlackTest)
    for name, value in (("n", 10_000), ("tau", 0.0), ("degree_cap", 4), ("delta", 2 * 0.2**4)):
        object.__setattr__(component, name, value)
    assert component.component <= 1.2533141 * 0.2 * 4096 - 50


# ------------------------------------------------------------------------------------------------------------
# Rounding


def test_products_err_by_less_than_their_bound():
    """K v in floats against exact rationals, for entries of very different sizes."""
    sample = StochasticBlockModel(60, 20, 0.8).sample(2)
    edges = canonical_edges(sample.adjacency)
    test = SlackTest(60, 21 / 64, 60, 1e-6)
    x, largest = sample.labels, int(sample.adjacency.sum(axis=1).max())
    operator = sparse_slack.slack_operator(test, edges.adjacency(), x, largest)
    dense = sample.adjacency.toarray()
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(60, 3)) * 10.0 ** rng.integers(-6, 7, (60, 3))
    computed = operator.apply(vectors)
    skew, kappa = int(x.sum()), Fraction(test.bounds(largest, int(x.sum()))[0] * sparse_slack.OUTWARD / 60)
    tau = Fraction(test.tau)
    worst = 0.0
    for column in range(3):
        v = [Fraction(value) for value in vectors[:, column].tolist()]
        along = sum(int(s) * w for s, w in zip(x, v))
        everything = sum(v)
        errors = []
        for i in range(60):
            diagonal = int(x[i]) * int(dense[i] @ x) - tau * skew * int(x[i])
            value = diagonal * v[i] - sum(v[j] for j in np.flatnonzero(dense[i]))
            value += tau * everything + kappa * int(x[i]) * along
            errors.append(float(value - Fraction(computed[i, column])))
        worst = max(worst, np.linalg.norm(errors) / np.linalg.norm(vectors[:, column]))
    assert 0 < worst <= operator.rounding
    lowest = np.linalg.eigvalsh(operator.apply(np.eye(60)))
    assert lowest[0] == pytest.approx(dual_slack(sample.adjacency, x, test.tau), abs=1e-9)
    assert np.abs(lowest).max() <= operator.bound and 2 * lowest[0] <= operator.bound


@pytest.mark.parametrize("psi", [1.0, 1.0005, 1.05])
def test_the_drift_of_a_recurrence_with_errors_of_the_worst_sign(psi):
    """v_{k+1} = 2 psi v_k - v_{k-1} plus an allowed error: at psi = 1 the bound is attained."""
    rounding, steps = 1e-7, 200
    operator = SymmetricOperator(2, np.asarray, 4.0, rounding)  # slope 1: errors of 2e-7 a step
    before, now = 1.0, psi + 2e-7
    for _ in range(steps - 1):
        before, now = now, 2 * psi * now - before + 2e-7 * (now + before)
    growth = math.cosh(steps * math.acosh(psi))
    rho = drift(operator, steps)
    assert now / growth - 1 <= rho
    if psi == 1:
        assert now / growth - 1 > 0.9 * rho


def test_the_filter_in_floats_stays_within_the_drift_of_exact_arithmetic():
    sample = StochasticBlockModel(24, 8, 0.8).sample(5)
    edges, test = canonical_edges(sample.adjacency), SlackTest(24, 0.25, 24, 1e-6)
    largest = int(sample.adjacency.sum(axis=1).max())
    operator = sparse_slack.slack_operator(test, edges.adjacency(), sample.labels, largest)
    start = sparse_slack.draw_starts(test, open_bits(3)).vectors[:, :1]
    alpha, slope, steps = 1.5, 2.5 / operator.bound, 150
    before, now = start, alpha * start - slope * operator.apply(start)
    flint.ctx.prec, kept = 300, flint.ctx.prec
    try:
        matrix = flint.arb_mat(operator.apply(np.eye(24)).tolist())
        psi = flint.arb_mat(24, 24, [alpha if i == j else 0 for i in range(24) for j in range(24)])
        psi = psi - matrix * flint.arb(slope)
        old, new = flint.arb_mat(start.tolist()), psi * flint.arb_mat(start.tolist())
        for _ in range(steps - 1):
            before, now = now, 2 * (alpha * now - slope * operator.apply(now)) - before
            old, new = new, psi * new * 2 - old
        error = math.sqrt(sum(float(new[i, 0] - flint.arb(float(now[i, 0]))) ** 2 for i in range(24)))
    finally:
        flint.ctx.prec = kept
    reach = max(1.0, alpha - slope * float(np.linalg.eigvalsh(operator.apply(np.eye(24)))[0]))
    scale = math.cosh(steps * math.acosh(reach)) * float(np.linalg.norm(start))
    assert 0 < error <= drift(operator, steps) * scale


# ------------------------------------------------------------------------------------------------------------
# It always ends, and the estimator


def hostile_graphs():
    """Cycles, stars, cliques, barbells, nothing: (edges, n)."""
    n = 40
    yield "empty", []
    yield "cycle", [(v, (v + 1) % n) for v in range(n)]
    yield "star", [(0, v) for v in range(1, n)]
    yield "clique", [(u, v) for u in range(n) for v in range(u)]
    yield (
        "barbell",
        [(u, v) for u in range(n) for v in range(u) if (u < n // 2) == (v < n // 2)] + [(0, n - 1)],
    )
    yield "matching", [(v, v + n // 2) for v in range(n // 2)]


@pytest.mark.parametrize(
    "name, pairs", list(hostile_graphs()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_graph_is_settled_within_the_error(name, pairs):
    edges, test = canonical_edges(EdgeList(40, pairs)), SlackTest(40, 0.25, 41, 1e-6)
    largest = int(edges.adjacency().sum(axis=1).max()) if pairs else 0
    for x in (
        np.where(np.arange(40) < 20, 1, -1),
        np.ones(40, dtype=np.int64),
        np.where(np.arange(40) < 3, 1, -1),
    ):
        counts = slack_statistic(edges, x, test, open_bits(7))
        truth = max(0.0, min(dual_slack(edges.adjacency(), x, 0.25) / 2, 41 - largest))
        assert abs(counts / GRID + ERROR - truth) <= ERROR


def test_a_poor_first_guess_costs_passes_and_nothing_else(monkeypatch):
    """Without Lanczos the upper end comes down pass by pass, to the promised width."""
    monkeypatch.setattr(least_eigenvalue, "_proposals", lambda operator, starts: [starts.vectors[:, 0]])
    sample = StochasticBlockModel(300, 60, 0.8).sample(1)
    test, largest = plan_slack_test(300, 60, 1e-8), int(sample.adjacency.sum(axis=1).max())
    operator = sparse_slack.slack_operator(
        test, sp.csr_array(sample.adjacency.astype(float)), sample.labels, largest
    )
    low, high = bracket_least_eigenvalue(operator, sparse_slack.draw_starts(test, open_bits(1)), 0.5)
    assert low <= dual_slack(sample.adjacency, sample.labels, test.tau) <= high <= low + 0.5


def test_labels_that_are_best_of_all_come_out_and_others_do_not():
    sample = StochasticBlockModel(3000, 200, 0.8).sample_edges(3)
    options = {"exact_or_nothing": "slack", "check_share": 0.3, "false_pass": 1e-3, "insecure_seed": 1}
    right = RoundsRecovery(1.5, 1e-6, 0.8, 200, **options).fit(sample.edges)
    assert right.released_ and abs(int(right.labels_ @ sample.labels)) == 3000
    short = RoundsRecovery(1.5, 1e-6, 0.1, 200, plan=right.plan_.__class__(1, 0.5), **options).fit(
        sample.edges
    )
    assert not short.released_
    options.pop("insecure_seed")
    spent = RoundsRecovery(1.5, 1e-6, 0.8, 200, **options).fit(EdgeList(600, []))
    assert not spent.released_ and (spent.guarantee_.epsilon, spent.guarantee_.delta) == (1.5, 1e-6)
    assert spent.guarantee_.kind == "certified"
    assert sparse_slack.slack_needed(0.45, 1e-3) == pytest.approx(57, abs=1)


def test_refusals_of_the_slack_test_are_public():
    for options, message in (
        ({"delta": 0.0}, "delta > 0"),
        ({"weight_bound": 1.0}, "unweighted"),
        ({"exact_or_nothing": "perhaps"}, "exact_or_nothing"),
        ({"communities": 3}, "two communities"),
    ):
        made = RoundsRecovery(**{"epsilon": 1.0, "delta": 1e-6, "gamma": 0.8, "average_degree": 5,
                                 "exact_or_nothing": "slack", **options})  # fmt: skip
        with pytest.raises(ValueError, match=message):
            made.fit(EdgeList(9, []))
    refuse((lambda: SlackTest(1_000_000, 0.01, 500_000, 1e-8), "cannot be proven"))
