"""More than two communities: sensitivity on every small graph, recovery, and the estimator's contract."""

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.base
from graphs import all_adjacencies, neighbours

from problems.sbm import CommunitiesRecovery, PlantedPartition, error_rate, partition_error
from problems.sbm.estimators.communities import partition_program, renumbered, vote
from sosdp.structured import StructuredMatrix, nearest_correlation
from tests.refusals import each, refuse


@pytest.mark.parametrize("p_in, p_out", [(0.5, 0.1), (1.0, 0.0), (0.9, 0.6)])
def test_sensitivity_over_every_graph(p_in, p_out):
    contrast = p_in - p_out
    answers = []
    for adjacency in all_adjacencies(4):
        target = StructuredMatrix(sp.csr_array(adjacency), 1 / contrast, -p_out / contrast)
        projection = nearest_correlation(target, tolerance=2e-5)
        assert projection.certified
        answers.append(projection.matrix)
    answers = np.array(answers)
    first, second = neighbours(4)
    largest = np.linalg.norm(answers[first] - answers[second], axis=(1, 2)).max()
    bound = partition_program(contrast).sensitivity("tight")
    assert bound == pytest.approx(min(2 / np.sqrt(contrast), np.sqrt(2) / contrast), rel=1e-9)
    assert largest - 4e-5 <= bound
    assert largest - 4e-5 > bound / 2  # negative control: half the bound would be noticed


def test_partition_error_and_numbering():
    truth = np.array([0, 0, 1, 1, 2, 2])
    for names in itertools.permutations(range(3)):
        assert partition_error(np.array(names)[truth], truth) == 0
    assert partition_error(np.array([0, 1, 1, 1, 2, 2]), truth) == pytest.approx(1 / 6)
    assert partition_error(np.zeros(6, dtype=int), truth) == pytest.approx(2 / 3)
    refuse(*each(lambda error: error(None, truth), (error_rate, partition_error), "nothing was released"))
    assert renumbered(np.array([5, 5, 2, 7, 2])).tolist() == [0, 0, 1, 2, 1]


def test_voting_repairs_a_clear_partition():
    truth = np.repeat([0, 1, 2], 8)
    adjacency = np.equal.outer(truth, truth) - np.eye(24)
    start = truth.copy()
    start[[0, 9]] = 2
    assert np.array_equal(vote(adjacency, start, 3, 10), truth)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_planted_communities_are_found(k):
    sample = PlantedPartition(240, k, 0.7, 0.1).sample(k)
    flips = CommunitiesRecovery(2.0, k, insecure_seed=0).fit(sample.adjacency)
    assert partition_error(flips.labels_, sample.labels) == 0
    assert flips.guarantee_.kind == "none"
    projection = CommunitiesRecovery(
        20.0, k, mechanism="projection", delta=1e-6, p_in=0.7, p_out=0.1, insecure_seed=0
    ).fit(sample.adjacency)
    assert partition_error(projection.labels_, sample.labels) < 0.02


ESTIMATORS = [
    CommunitiesRecovery(1.0, 3),
    CommunitiesRecovery(1.0, 3, mechanism="projection", delta=1e-6, p_in=0.5, p_out=0.1),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["flips", "projection"])
@pytest.mark.parametrize(
    "graph",
    [nx.empty_graph(3), nx.empty_graph(12), nx.complete_graph(12), nx.star_graph(11), nx.path_graph(9)],
)
def test_hostile_graphs(estimator, graph, recwarn):
    fitted = sklearn.base.clone(estimator).fit(graph)
    reference = sklearn.base.clone(estimator).fit(nx.empty_graph(len(graph)))
    assert fitted.guarantee_ == reference.guarantee_ and fitted.release_.public == reference.release_.public
    assert fitted.guarantee_.epsilon == 1.0 and fitted.guarantee_.adjacency == "one edge"
    assert set(fitted.labels_) <= {0, 1, 2} and fitted.labels_[0] == 0
    assert not recwarn.list


def test_model_errors():
    refuse(
        *each(
            lambda arguments: PlantedPartition(*arguments),
            [(1, 2, 0.5, 0.1), (10, 1, 0.5, 0.1), (10, 2, 0.1, 0.5), (10, 2, 1.5, 0.1)],
        )
    )
    sample = PlantedPartition(200, 4, 0.5, 0.1).sample(0)
    assert np.bincount(sample.labels).tolist() == [50] * 4
    adjacency = sample.adjacency.toarray()
    assert np.array_equal(adjacency, adjacency.T) and not adjacency.diagonal().any()
