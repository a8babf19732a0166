"""The certificate release on every small graph: stability of the statistic, and the exact privacy loss."""

import functools
import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
from graphs import (
    all_adjacencies,
    all_labellings,
    all_resistances,
    all_slacks,
    hockey_stick,
    neighbours,
    worst_delta,
)

from problems.sbm import CertificateRecovery, canonical_graph, release_probability, required_slack
from problems.sbm.certificate import (
    CertifiedBisection,
    candidate,
    certified_bisection,
    proven_gap,
    public_grid,
    quotient_bound,
    resistance,
)
from problems.sbm.labelling import canonical_signs
from problems.sbm.ladder import settled_by_ladder
from problems.sbm.program import STATISTIC_ERROR, dual_slack, slack_matrix
from sosdp.privacy.mechanisms.propose_test_release.acceptance import AcceptRule, accept_profile
from sosdp.privacy.mechanisms.propose_test_release.stability import StabilityRule, stability_rule
from sosdp.structured.elliptope import _interior_point

TAUS = tuple(public_grid(tau, 6) for tau in (-0.3, 0.2, 0.5, 0.7))
TAU_LOW, TAU_HIGH = TAUS[0], TAUS[3]
CUTS = [  # (tau, tau0)
    (TAU_HIGH, 0.02),
    pytest.param(0.5, 1.0, marks=pytest.mark.slow),
    pytest.param(public_grid(0.35, 5), 0.01, marks=pytest.mark.slow),
]


@functools.cache
def exact_statistics(n, tau):
    """f(G) = max_x r(G, x), its labelling's index, and all slacks, for every graph."""
    result = all_resistances(n, tau)
    return result.max(axis=1), result.argmax(axis=1), all_slacks(n, tau)


def output_laws(release, winner, labellings):
    """(graphs, 1 + labellings): probability of FAIL, then of each labelling."""
    laws = np.zeros((len(release), 1 + labellings))
    laws[:, 0] = 1 - release
    laws[np.arange(len(release)), 1 + winner] = release
    return laws


@pytest.mark.parametrize(
    ("n", "tau"),
    [(n, tau) for n in (4, 5) for tau in TAUS]
    + [pytest.param(6, t, marks=pytest.mark.slow) for t in TAUS[1::2]],
)
def test_statistic_is_stable_and_unique(n, tau):
    statistic, winner, slacks = exact_statistics(n, tau)
    first, second = neighbours(n)
    # Every labelling's slack is 2-Lipschitz, not only the best one's.
    assert np.abs(slacks[first] - slacks[second]).max() <= 2 + 1e-9
    assert np.abs(statistic[first] - statistic[second]).max() == pytest.approx(1.0, abs=0.02)
    assert np.abs(statistic[first] - statistic[second]).max() <= 1 + 1e-9
    assert (slacks > 1e-9).sum(axis=1).max() <= 1
    strong = (statistic[first] > 1 + 1e-9) | (statistic[second] > 1 + 1e-9)
    assert np.array_equal(winner[first][strong], winner[second][strong])


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("n", [4, 5])
def test_dual_slack_agrees_with_the_definition(n, tau):
    _, _, slacks = exact_statistics(n, tau)
    adjacencies, labellings = all_adjacencies(n), all_labellings(n)
    generator = np.random.default_rng(0)
    for code in generator.choice(len(adjacencies), 60, replace=False):
        adjacency = sp.csr_array(adjacencies[code])
        for index, labels in enumerate(labellings):
            computed = dual_slack(adjacency, labels, tau)
            assert abs(computed - slacks[code, index]) <= 1e-12 * n * 2.0 * n * (1.0 + abs(tau))
            assert np.abs(slack_matrix(adjacency, labels, tau) @ labels).max() < 1e-12


@functools.cache
def computed_statistics(n, tau, tau0):
    """What the estimator computes, for every graph: f above tau0 (else 0), and the index of the labelling."""
    labellings = {tuple(labels): index for index, labels in enumerate(all_labellings(n))}
    statistic, winner = np.zeros(2 ** (n * (n - 1) // 2)), np.zeros(2 ** (n * (n - 1) // 2), dtype=int)
    for code, adjacency in enumerate(all_adjacencies(n)):
        result = certified_bisection(sp.csr_array(adjacency), tau, tau0, STATISTIC_ERROR)
        assert result.resolved
        if result.statistic is not None and result.statistic > tau0:
            statistic[code], winner[code] = result.statistic, labellings[tuple(result.labels.tolist())]
    return statistic, winner


@pytest.mark.slow
@pytest.mark.parametrize("tau, tau0", CUTS)
def test_the_search_finds_exactly_the_bisections_above_tau0(tau, tau0):
    n = 5
    exact, winner, _ = exact_statistics(n, tau)
    computed, result = computed_statistics(n, tau, tau0)
    tiny = 1e-9
    assert np.abs(exact - tau0).min() > tiny  # no graph sits on the cut, so the comparison is strict
    above = exact > tau0
    assert np.array_equal(computed > 0, above)
    assert np.abs(computed[above] - exact[above]).max(initial=0) <= tiny
    assert np.array_equal(result[above], winner[above])
    assert 0 < above.sum() < len(above)


def test_resistance_is_what_the_code_computes_and_the_largest_that_the_lemma_allows():
    """Brackets hold r from the definition; lambda / 2 <= r <= (n - 1) lambda / 2; no u is below."""
    n, tau = 5, TAU_HIGH
    result, slacks = all_resistances(n, tau), all_slacks(n, tau)
    good = slacks > 1e-9
    assert np.all(result[good] >= slacks[good] / 2 * (1 - 1e-9))
    assert np.all(result[good] <= (n - 1) * slacks[good] / 2 * (1 + 1e-9))
    generator, gain = np.random.default_rng(0), []
    for code in generator.choice(2**10, 120, replace=False):
        adjacency = sp.csr_array(all_adjacencies(n)[code])
        for index, labels in enumerate(all_labellings(n)):
            least, bracket = resistance(adjacency, labels, tau)
            assert least <= max(slacks[code, index], 0) + 1e-12 or not good[code, index]
            if not good[code, index]:
                assert bracket is None or slacks[code, index] > -1e-9
                assert quotient_bound(adjacency, labels, tau) <= 1e-9
                continue
            assert bracket.low - 1e-12 <= result[code, index] <= bracket.high + 1e-12
            assert bracket.high - bracket.low < 1e-10 and bracket.within(STATISTIC_ERROR)
            gain.append(2 * bracket.middle / slacks[code, index])
            u = generator.standard_normal(n)
            y = labels * (u - labels * (labels @ u) / n)
            value = (labels * y) @ slack_matrix(adjacency, labels, tau) @ (labels * y)
            assert value / (y.max() - y.min()) ** 2 >= result[code, index] - 1e-9
            assert quotient_bound(adjacency, labels, tau) >= result[code, index] - 1e-9
    assert max(gain) > 1.3


def test_the_proven_gap_and_the_candidate_of_the_search():
    """2 r (1 - x_i x_j C_ij) <= gap for every labelling with r > 0, on perturbed optima of all kinds."""
    generator, n, tau = np.random.default_rng(1), 5, TAU_HIGH
    best = exact_statistics(n, tau)[0]
    for code in np.flatnonzero(best > 0.3)[::40]:
        labels = all_labellings(n)[exact_statistics(n, tau)[1][code]]
        tilted = all_adjacencies(n)[code] - tau * (1 - np.eye(n))
        dual = labels * (tilted @ labels)
        for scale in (0.0, 0.1, 0.5):
            factor = np.column_stack([labels, scale * generator.standard_normal((n, 3))])
            factor /= np.linalg.norm(factor, axis=1)[:, None]
            gap = proven_gap(tilted, factor, dual)
            correlations = factor @ factor.T
            true_gap = labels @ tilted @ labels - (tilted * correlations).sum()
            assert true_gap - 1e-9 <= gap <= true_gap + 1e-4
            # a dual vector that is not feasible pays n times its least eigenvalue
            assert proven_gap(tilted, factor, dual - 0.5) >= true_gap - 1e-9
            assert (2 * best[code] * (1 - np.outer(labels, labels) * correlations)).max() <= gap + 1e-9
            if gap < best[code]:
                assert np.array_equal(canonical_signs(candidate(factor)), labels)
    assert candidate(np.eye(4)) is None
    assert proven_gap(tilted, np.full((n, 2), np.nan), dual) == np.inf


def stubborn(n):
    """Graphs without a stable labelling that are hard to prove so to high accuracy."""
    equal = [networkx.complete_graph(n // k) for k in (3, 4) for _ in range(k)]
    return [
        networkx.cycle_graph(n),
        networkx.disjoint_union_all(equal[:3]),
        networkx.disjoint_union_all(equal[3:]),
        networkx.barbell_graph(n // 2 - 1, 2),
        networkx.lollipop_graph(n // 2, n // 2),
        networkx.star_graph(n - 1),
        networkx.gnp_random_graph(n, 0.05, seed=1),
        networkx.random_regular_graph(4, n, seed=1),
    ]


@pytest.mark.parametrize("tau", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_search_resolves_and_agrees_with_the_ladder(n, tau):
    """Float64 proofs settle stubborn graphs; ball arithmetic, forced on them, says the same."""
    tau, tau0 = public_grid(tau, n), 0.02
    for graph in stubborn(n):
        adjacency = sp.csr_array(networkx.to_scipy_sparse_array(graph, dtype=np.int64))
        result = certified_bisection(adjacency, tau, tau0, STATISTIC_ERROR)
        assert result.resolved
        # The last resort alone must prove the gap too: nothing is proven about the others.
        tilted = adjacency.toarray() - tau * (1 - np.eye(n))
        assert proven_gap(tilted, *_interior_point(tilted, tau0 / 2)) <= tau0
        if n > 20:
            continue
        slow = settled_by_ladder(adjacency, tau, tau0, STATISTIC_ERROR, last_bits=512)
        assert slow.resolved
        one, other = (value if value is not None else 0.0 for value in (result.statistic, slow.statistic))
        assert abs(one - other) < 1e-9 or max(one, other) <= tau0
        if one > tau0:
            assert np.array_equal(result.labels, slow.labels)


BUDGETS = [(1.0, 0.3), (2.0, 0.1), (0.5, 0.01), (8.0, 0.2), (1.0, 1e-6)]


@pytest.mark.parametrize("epsilon, delta", BUDGETS)
@pytest.mark.parametrize("tau, tau0", CUTS)
def test_exact_privacy_loss_on_all_graphs_with_five_vertices(tau, tau0, epsilon, delta):
    """The law of {FAIL, labels} from the computed statistic and the real threshold, all neighbours."""
    n = 5
    computed, winner = computed_statistics(n, tau, tau0)
    rule = stability_rule(epsilon, delta, error=STATISTIC_ERROR, shift=tau0)
    release = np.array([rule.release_probability(value if value > 0 else None) for value in computed])
    first, second = neighbours(n)
    laws = output_laws(release, winner, 2 ** (n - 1))
    assert np.allclose(laws.sum(axis=1), 1)
    assert release.max() > 0
    loss = worst_delta(laws, n, epsilon)
    assert loss <= delta * (1 + 1e-9)
    if tau == TAU_HIGH and epsilon < 8:
        assert loss > 0.8 * delta  # the budget is really used: the test has teeth


@pytest.mark.parametrize("epsilon, delta", [(1.0, 0.02), (0.5, 0.01), (0.1, 0.1), (2.0, 1e-3)])
def test_exact_privacy_loss_of_the_coin_on_all_graphs_with_five_vertices(epsilon, delta):
    """The same law with the coin in place of noise and threshold, from the exact statistic."""
    n, tau, tau0 = 5, TAU_LOW, 0.01  # a tau at which statistics reach 3.25
    computed, winner, _ = exact_statistics(n, tau)
    rule = stability_rule(epsilon, delta, error=STATISTIC_ERROR, shift=tau0)
    curve = accept_profile(epsilon, delta)
    steps = np.array([rule.steps(value if value > 0 else None) for value in computed])
    release = np.array([float(curve.probability(int(step))) for step in steps])
    first, second = neighbours(n)
    assert np.abs(steps[first] - steps[second]).max() == 1 and steps.max() == 3
    loss = worst_delta(output_laws(release, winner, 2 ** (n - 1)), n, epsilon)
    assert 0.99 * delta < loss <= delta * (1 + 1e-9)
    # Negative control: steps of half the size.
    halves = [max(0, math.ceil(2 * (value - tau0)) - 1) if value > 0 else 0 for value in computed]
    wrong = np.array([float(curve.probability(step)) for step in halves])
    assert worst_delta(output_laws(wrong, winner, 2 ** (n - 1)), n, epsilon) > delta * 1.1


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.0, 1e-3, 0.05])
def test_steps_of_the_coin_under_the_worst_numerical_error(error):
    """Every statistic may be off by the bound; below shift + error it may be handed over or settled."""
    rule = stability_rule(0.5, 0.1, error=error, shift=max(error, 0.02))
    values = [Fraction(k, 20) for k in range(100)]
    for value in values:
        for other in (v for v in values if abs(v - value) <= 1):
            seen = [
                {rule.steps(v + sign * Fraction(error)) for sign in (-1, 0, 1)}
                | ({rule.steps(None)} if v <= rule.shift + error else set())
                for v in (value, other)
            ]
            assert max(seen[0]) - min(seen[1]) <= 1
        if value <= 1:
            assert rule.steps(value + Fraction(error)) == 0
    for odd, step in [(None, 0), (float("nan"), 0), (float("-inf"), 0), (float("inf"), 2**60)]:
        assert rule.steps(odd) == step


def test_coin_and_noise_in_the_estimator():
    adjacency = sp.csr_array(
        networkx.to_scipy_sparse_array(
            networkx.disjoint_union(networkx.complete_graph(48), networkx.complete_graph(48)), dtype=np.int64
        )
    )  # slack 48
    assert release_probability(48.0, 0.5, 1e-6) > release_probability(48.0, 0.5, 1e-6, decision="noise")
    assert release_probability(48.0, 1.0, 1e-6) == release_probability(48.0, 1.0, 1e-6, decision="noise")
    assert required_slack(0.25, 1e-6, 0.5) < required_slack(0.25, 1e-6, 0.5, decision="noise") - 10
    runs = 300
    for decision in ("coin", "noise"):
        expected = release_probability(48.0, 0.5, 1e-6, decision=decision)
        released = sum(
            CertificateRecovery(0.5, 1e-6, decision=decision, insecure_seed=seed)
            ._publish(
                canonical_graph(adjacency),
                CertifiedBisection(np.repeat([1, -1], 48), 24.0, True),
                None,
            )
            .released
            for seed in range(runs)
        )
        assert 0.05 < expected < 0.95
        assert abs(released / runs - expected) < 5.5 * math.sqrt(expected * (1 - expected) / runs)
    for options, message in [
        ({"decision": "dice"}, "decision"),
        ({"epsilon": 1e-4, "decision": "coin"}, "coin"),
    ]:
        with pytest.raises(ValueError, match=message):
            CertificateRecovery(**{"epsilon": 1.0, "delta": 1e-6, **options}).fit(adjacency)


@pytest.mark.parametrize("error", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("epsilon, delta", [(1.0, 0.2), (8.0, 0.01)])
def test_exact_loss_under_the_worst_numerical_error(error, epsilon, delta):
    """Every graph's statistic may be off by the public error bound, in either direction."""
    n, tau = 5, TAU_HIGH
    exact, winner, _ = exact_statistics(n, tau)
    rule = stability_rule(epsilon, delta, error=error, shift=error)
    first, second = neighbours(n)

    def laws(sign):
        computed = exact + sign * error
        return output_laws(
            np.array([rule.release_probability(value) for value in computed]), winner, 2 ** (n - 1)
        )

    low, high = laws(-1), laws(+1)
    for a, b in ((low, high), (high, low), (low, low), (high, high)):
        assert hockey_stick(a[first], b[second], epsilon) <= delta * (1 + 1e-9)
        assert hockey_stick(a[second], b[first], epsilon) <= delta * (1 + 1e-9)


def broken(rule, **changes):
    accept = rule.accept
    fields = {name: getattr(accept, name) for name in ("sensitivity", "units", "margin", "epsilon", "delta")}
    return StabilityRule(AcceptRule(**(fields | changes)), rule.error, rule.shift, rule.grid)
