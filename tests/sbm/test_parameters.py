"""Private degree and contrast: sensitivity and exact loss on small graphs, accuracy on planted ones."""

import json
import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graphs import all_adjacencies, neighbours

from problems.sbm import ProjectionRecovery, StochasticBlockModel, estimate_parameters, parameters
from problems.sbm.parameters import GRID, eigenvalue_count, eigenvalue_step
from sosdp.conic.rigorous import largest_eigenvalue_bounds
from sosdp.privacy import compose
from tests.refusals import each, refusals


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("degree", [0.001, 0.5, 1.7])
def test_exact_loss_of_the_eigenvalue_over_every_graph(n, degree):
    counts = np.array([eigenvalue_count(sp.csr_array(a), degree / n) for a in all_adjacencies(n)])
    first, second = neighbours(n)
    moves = np.abs(counts[first] - counts[second])
    assert moves.max() * GRID <= 1 + 2 * GRID
    # discrete Laplace of scale S / epsilon: the loss is epsilon |F - F'| / S exactly
    loss = moves.max() / eigenvalue_step(n)
    assert loss <= 1
    assert moves.max() / (eigenvalue_step(n) / 2) > 1  # negative control: half the sensitivity
    if degree == 0.001:
        assert loss > 0.99  # an edge in the empty graph: the bound cannot be lowered


def test_an_eigenvalue_is_enclosed_and_one_that_is_not_counts_as_none(monkeypatch):
    sample = StochasticBlockModel(60, 20, 0.6).sample(0)
    matrix = sample.adjacency.toarray() - 0.25
    low, high = largest_eigenvalue_bounds(matrix)
    assert low <= np.linalg.eigvalsh(matrix)[-1] + 1e-12 and 0.0 < high - low < 2 * parameters.width(60)
    for ends in ((low - 1e-6, high), (-math.inf, high), (low, math.inf), (math.nan, high)):
        monkeypatch.setattr(parameters, "largest_eigenvalue_bounds", lambda _, estimate=ends: estimate)
        assert eigenvalue_count(sample.adjacency, 0.25) is None


def test_eigenvalue_is_that_of_the_definition():
    sample = StochasticBlockModel(60, 20, 0.6).sample(0)
    largest = np.linalg.eigvalsh(sample.adjacency.toarray() - 0.3)[-1]
    assert eigenvalue_count(sample.adjacency, 0.3) * GRID == pytest.approx(largest, abs=2 * GRID)


@pytest.mark.parametrize("n, d, gamma", [(1000, 50, 0.5), (500, 100, 0.5), (600, 100, 0.8)])
def test_planted_parameters_come_back(n, d, gamma):
    sample = StochasticBlockModel(n, d, gamma).sample(3)
    value = estimate_parameters(sample.adjacency, 2.0, insecure_seed=1).value
    assert value.average_degree == pytest.approx(d, rel=0.03)
    assert value.signal == pytest.approx(gamma * d, rel=0.1) and value.gamma == pytest.approx(gamma, rel=0.12)


def test_noise_has_the_stated_law():
    graph = nx.path_graph(12)
    edges, eigenvalues = [], []
    for seed in range(400):
        value = estimate_parameters(graph, 1.0, edge_share=0.5, insecure_seed=seed).value
        edges.append(value.edges)
        eigenvalues.append(value.eigenvalue)
    assert abs(np.median([e for e in edges if e > 1]) - 11) <= 1
    # mean absolute deviation of Laplace noise of scale 2, five standard errors
    assert np.mean(np.abs(eigenvalues - np.median(eigenvalues))) == pytest.approx(
        2, abs=5 * 2 / math.sqrt(400)
    )


def test_guarantee_composes_with_what_follows():
    sample = StochasticBlockModel(80, 30, 0.9).sample(0)
    release = estimate_parameters(sample.adjacency, 0.5)
    assert release.guarantee.epsilon <= 0.5 and release.guarantee.epsilon == pytest.approx(0.5)
    assert release.guarantee.delta == 0 and release.guarantee.kind == "conditional"
    data = json.loads(json.dumps(release.to_dict()))
    assert set(data["value"]) == {"edges", "eigenvalue", "average_degree", "signal", "gamma"}
    fitted = ProjectionRecovery(1.0, 1e-6, release.value.gamma, release.value.average_degree).fit(
        sample.adjacency
    )
    total = compose((release.guarantee, fitted.guarantee_))
    assert total.epsilon == pytest.approx(1.5) and total.delta == 1e-6
    assert estimate_parameters(sample.adjacency, 0.5, insecure_seed=0).guarantee.kind == "none"


@pytest.mark.parametrize(
    "graph", [nx.empty_graph(2), nx.empty_graph(20), nx.complete_graph(20), nx.star_graph(9)]
)
def test_hostile_graphs(graph, monkeypatch, recwarn):
    release = estimate_parameters(graph, 0.1)
    reference = estimate_parameters(nx.empty_graph(len(graph)), 0.1)
    assert release.guarantee == reference.guarantee and release.public == reference.public
    assert 0 < release.value.gamma <= 1 and release.value.average_degree > 0

    def broken(*args, **kwargs):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(parameters, "largest_eigenvalue_bounds", broken)
    assert estimate_parameters(graph, 0.1).guarantee == reference.guarantee
    assert not recwarn.list


test_bad_parameters = refusals(
    *each(
        lambda arguments: estimate_parameters(nx.path_graph(3), **arguments),
        (
            {"epsilon": 0.0},
            {"epsilon": 1.0, "edge_share": 1.0},
            {"epsilon": 1.0, "edge_share": 0.0},
        ),
    )
)
