"""The rule without a search: all graphs with 5 vertices, its statistic evaluated again, planted graphs."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import all_adjacencies, neighbours

from problems.sbm import CertificateRecovery, StochasticBlockModel, closed_form
from problems.sbm.certificate import certified_bisection, public_grid
from problems.sbm.closed_form import Quantities, closed_form_bisection, finds_its_way, safe_changes
from problems.sbm.program import DEFAULT_TAU0, STATISTIC_ERROR
from tests.refusals import refuse

LABELLINGS = np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=4)])


def all_quantities(graphs, labellings, tau):
    """The quantities of all graphs and labellings by plain eigenvalues: nothing shared but the record."""
    n = labellings.shape[1]
    tilted = (graphs - tau * (1 - np.eye(n)))[:, None]
    x = labellings[None, :, :, None]
    votes = (x * (tilted @ x))[..., 0]
    outer, mean = x * np.swapaxes(x, 2, 3), votes.mean(axis=2)
    diagonal = votes[..., None] * np.eye(n)
    kappa = 1.5 * mean
    least = np.linalg.eigvalsh(diagonal - tilted + 4 * outer)[..., 0]
    half = np.linalg.eigvalsh(diagonal / 2 - tilted + kappa[..., None, None] * outer / n)[..., 0]
    rival = np.linalg.eigvalsh(tilted - 4 * outer)[..., -1]
    negative = np.maximum(0, -np.linalg.eigvalsh(tilted)[..., 0]) + 0 * mean
    fields = (least, half, rival, negative, mean, mean, votes.std(axis=2), kappa)
    return [[Quantities(*map(float, row)) for row in rows] for rows in np.stack(fields, axis=2)]


@pytest.fixture(scope="module")
def five():
    """All graphs with five vertices, tau = .7: (largest c over labellings, its labels, how many, the code's).

    The code runs on every graph with a positive statistic and on every tenth of the others.
    """
    tau, out = 0.6999998092651367, []
    graphs = all_adjacencies(5)
    for number, (adjacency, row) in enumerate(zip(graphs, all_quantities(graphs, LABELLINGS, tau))):
        values = [safe_changes(q, 5, 1e-7, False) for q in row]
        best = int(np.argmax(values))
        if values[best] == 0 and number % 10:
            out.append((0.0, LABELLINGS[best], 0, None))
            continue
        result = closed_form_bisection(sp.csr_array(adjacency.astype(np.int64)), tau, STATISTIC_ERROR)
        out.append((values[best], LABELLINGS[best], sum(v > 0 for v in values), result))
    return out


def test_the_rule_finds_whatever_has_a_positive_statistic(five):
    assert sum(value > 0 for value, *_ in five) >= 1
    for value, labels, count, result in five:
        assert count <= 1 and (result is None or result.resolved)
        if value > 2 * STATISTIC_ERROR:
            assert np.array_equal(result.labels, labels)
            assert abs(result.statistic - value) <= STATISTIC_ERROR
        elif result is not None and result.statistic is not None:
            assert result.statistic <= 3 * STATISTIC_ERROR


def test_one_edge_moves_the_statistic_by_at_most_one(five):
    values = np.array([row[0] for row in five])
    first, second = neighbours(5)
    assert np.abs(values[first] - values[second]).max() <= 1


def test_each_quantity_moves_as_little_as_the_shift_says():
    """All graphs with four vertices, all labellings, one edge: no quantity gets worse than shifted(1)."""
    graphs = all_adjacencies(4)
    first, second = neighbours(4)
    rows = all_quantities(graphs, LABELLINGS[::2, :4], 0.5)
    for number in range(len(rows[0])):
        result = [row[number] for row in rows]
        for g, h in [*zip(first, second), *zip(second, first)]:
            worst, there = result[g].shifted(1, 4), result[h]
            for name in ("slack", "half", "mean_low"):
                assert getattr(there, name) >= getattr(worst, name) - 1e-9
            for name in ("rival", "negative", "mean_high", "spread", "kappa"):
                assert getattr(there, name) <= getattr(worst, name) + 1e-9


def test_the_norms_behind_the_shifts():
    """An edge adds (E_ii + E_jj) / 2 -+ (E_ij + E_ji) to the matrix of nu, and 3 / n of kappa."""
    norm = np.abs(np.linalg.eigvalsh([[0.5, -1.0], [-1.0, 0.5]])).max()
    moved = Quantities(0, 0, 0, 0, 0, 0, 0, 0).shifted(1, 1000)
    assert moved.half == pytest.approx(-(norm + 3 / 1000)) and moved.kappa == pytest.approx(1.5 * 2 / 1000)


@pytest.mark.parametrize("name", ["slack", "half", "rival", "negative", "mean_high", "spread", "kappa"])
def test_conditions_are_monotone(name):
    """Making one quantity worse never makes the conditions hold: what the Lipschitz proof needs."""
    rng = np.random.default_rng(4)
    better = {"slack": 1, "half": 1}
    turned = 0
    for _ in range(3000):
        q = Quantities(
            rng.uniform(20, 120), rng.uniform(5, 80), rng.uniform(5, 40), rng.uniform(5, 40),
            mean := rng.uniform(60, 200), mean, rng.uniform(2, 20), 1.5 * mean,
        )  # fmt: skip
        step = -rng.uniform(0, 30) * better.get(name, -1)
        worse = Quantities(**{**vars(q), name: getattr(q, name) + step})
        before, after = finds_its_way(q, 400), finds_its_way(worse, 400)
        assert before or not after
        turned += before and not after
    assert turned > 0


@pytest.mark.parametrize("n, d, gamma", [(60, 28, 0.95), (200, 90, 0.9)])
def test_planted_graphs_and_their_neighbours(n, d, gamma):
    """c is at most r of the search, the labels agree, and single changes move it by at most one."""
    sample = StochasticBlockModel(n, d, gamma).sample(3)
    tau = public_grid(d / n, n)
    result = closed_form_bisection(sample.adjacency, tau, STATISTIC_ERROR)
    searched = certified_bisection(sample.adjacency, tau, DEFAULT_TAU0, STATISTIC_ERROR)
    assert result.resolved and result.statistic > 1
    assert np.array_equal(result.labels, searched.labels) and result.statistic <= searched.statistic + 1e-3
    rng = np.random.default_rng(0)
    for _ in range(12):
        i, j = rng.choice(n, 2, replace=False)
        other = sample.adjacency.toarray()
        other[i, j] = other[j, i] = 1 - other[i, j]
        moved = closed_form_bisection(sp.csr_array(other), tau, STATISTIC_ERROR)
        assert abs(moved.statistic - result.statistic) <= 1 + 2 * STATISTIC_ERROR
        assert np.array_equal(moved.labels, result.labels)


def test_flips_repair_a_poor_eigenvector(monkeypatch):
    """From labels with a tenth wrong the flips come home; without proof of the residual nothing is said."""
    sample = StochasticBlockModel(200, 90, 0.9).sample(3)
    tilted = sample.adjacency.toarray() - 0.45 * (1 - np.eye(200))
    assert abs(int(closed_form.rule(tilted) @ sample.labels)) == 200
    monkeypatch.setattr(closed_form, "RESIDUAL", 1e-16)
    assert closed_form.rule(tilted) is None
    assert not closed_form_bisection(sample.adjacency, 0.4499998092651367, STATISTIC_ERROR).resolved


def test_the_estimator_with_the_rule():
    sample = StochasticBlockModel(300, 120, 0.9).sample(1)
    made = CertificateRecovery(2.0, 1e-6, average_degree=120, search="rule").fit(sample.adjacency)
    assert made.released_ and abs(int(made.labels_ @ sample.labels)) == 300
    assert made.guarantee_.kind == "conditional" and made.release_.public["search"] == "rule"
    sparse = StochasticBlockModel(300, 20, 0.9).sample(1)
    assert (
        not CertificateRecovery(2.0, 1e-6, average_degree=20, search="rule").fit(sparse.adjacency).released_
    )
    refuse((lambda: CertificateRecovery(2.0, 1e-6, search="luck").fit(sample.adjacency), "search"))
