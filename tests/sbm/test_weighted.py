"""Weighted graphs: every graph with weights 0, 1/2 and 1 of the bound, and every change of one weight."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import hockey_stick, pairs, resistances_of

from problems.sbm import CertificateRecovery, EdgeList, ProjectionRecovery, canonical_graph
from problems.sbm.certificate import certified_bisection, public_grid
from problems.sbm.graph_input import WEIGHT_UNITS, GraphInputError, scaled_weights
from problems.sbm.program import STATISTIC_ERROR, centred_matrix, projection_sensitivity
from sosdp.privacy.mechanisms.propose_test_release.stability import stability_rule
from sosdp.structured import nearest_correlation
from tests.neighbours import neighbour_pairs

STEPS = (0.0, 0.5, 1.0)


def weighted_graphs(n):
    """All (n, n) matrices with weights 0, 1/2, 1, and the pairs of positions that differ in one weight."""
    codes = list(itertools.product(range(3), repeat=len(pairs(n))))
    index = {code: k for k, code in enumerate(codes)}
    matrices = np.zeros((len(codes), n, n))
    for k, code in enumerate(codes):
        for (i, j), step in zip(pairs(n), code):
            matrices[k, i, j] = matrices[k, j, i] = STEPS[step]
    changed = [pair for pair in neighbour_pairs(index, range(3)) if pair[0] != pair[1]]
    return matrices, np.array(changed)


def statistics(n, tau):
    """f and its labelling for every weighted graph, by trying all labellings."""
    matrices, changed = weighted_graphs(n)
    result = resistances_of(matrices, tau)
    return result.max(axis=1), result.argmax(axis=1), changed, matrices


@pytest.mark.parametrize(
    "tau", [public_grid(0.2, 4), pytest.param(public_grid(0.6, 4), marks=pytest.mark.slow)]
)
def test_certificate_statistic_over_every_weighted_graph(tau):
    n, tau0 = 4, 0.02
    statistic, winner, changed, matrices = statistics(n, tau)
    first, second = changed.T
    assert np.abs(statistic[first] - statistic[second]).max() <= 1 + 1e-9
    strong = statistic[first] > 1 + 1e-9
    assert np.array_equal(winner[first][strong], winner[second][strong])
    # what the estimator computes, and the exact loss of the whole mechanism
    rule = stability_rule(1.0, 0.2, error=STATISTIC_ERROR, shift=tau0)
    laws = np.zeros((len(matrices), 1 + 2 ** (n - 1)))
    for k, matrix in enumerate(matrices):
        result = certified_bisection(sp.csr_array(matrix), tau, tau0, STATISTIC_ERROR)
        assert result.resolved
        above = result.statistic is not None and result.statistic > tau0 + 1e-9
        assert above == (statistic[k] > tau0 + 1e-9)
        release = rule.release_probability(result.statistic)
        laws[k, 0] = 1 - release
        laws[k, 1 + winner[k]] = release
    assert 0.1 * 0.2 < hockey_stick(laws[first], laws[second], 1.0) <= 0.2 * (1 + 1e-9)
    # Negative control: weights up to 3 taken for weights up to 1.
    assert np.abs(3 * (statistic[first] - statistic[second])).max() > 1.5


def test_projection_over_every_weighted_graph():
    n, d, gamma = 3, 1.0, 0.9
    matrices, changed = weighted_graphs(n)
    answers = np.array(
        [
            nearest_correlation(centred_matrix(sp.csr_array(a), d, gamma), tolerance=2e-5).matrix
            for a in matrices
        ]
    )
    first, second = changed.T
    largest = np.linalg.norm(answers[first] - answers[second], axis=(1, 2)).max()
    bound = projection_sensitivity(n, d, gamma)
    assert bound / 2 < largest <= bound + 4e-5


def test_weights_become_multiples_of_the_grid_within_the_bound():
    raw = np.array([0.0, 1.0, 2.9, 3.0, 3.1, 1e308, -1.0, np.nan, np.inf, -np.inf])
    scaled = scaled_weights(raw, 3.0)
    assert scaled.tolist()[3:] == [1, 1, 1, 0, 0, 1, 0]
    assert np.array_equal(scaled * WEIGHT_UNITS, np.rint(scaled * WEIGHT_UNITS))
    assert np.abs(scaled[:3] * 3 - raw[:3]).max() < 3 / WEIGHT_UNITS


def test_inputs_of_a_weighted_graph_agree():
    weights = np.zeros((5, 5))
    edges = np.array([[0, 1], [3, 1], [2, 4]])
    values = np.array([0.5, 2.0, 7.0])
    for (i, j), value in zip(edges, values):
        weights[i, j] = weights[j, i] = value
    dense = canonical_graph(weights, 4.0).adjacency
    for other in (sp.coo_array(weights), EdgeList(5, edges, values)):
        assert (canonical_graph(other, 4.0).adjacency != dense).nnz == 0
    assert dense[2, 4] == 1.0 and dense[0, 1] == 0.125
    split = EdgeList(5, np.vstack([edges, [[1, 0]]]), np.append(values, 0.25))
    assert canonical_graph(split, 4.0).adjacency[0, 1] == 0.1875  # weights of a repeated pair add up
    for bad, bound in [(EdgeList(5, edges), 4.0), (EdgeList(5, edges, values), None),
                       (EdgeList(5, edges, values[:2]), 4.0), (EdgeList(1, []), None),
                       (EdgeList(5, edges / 2), None), (EdgeList(2.5, edges), None),
                       (EdgeList(5, np.zeros((0, 3))), None), (EdgeList(5, np.ones((2, 3), object)), None),
                       (edges.tolist(), 4.0), ([*map(tuple, edges), (0, 2)], 4.0), ([0, 1], 4.0), ([], 4.0),
                       (["01", "10"], 4.0), ([[0, 1], [1]], 4.0), (np.ones((2, 2, 2), object), 4.0),
                       ]:  # fmt: skip
        with pytest.raises(GraphInputError):
            canonical_graph(bad, bound)
    for odd, counted in ((None, 0.0), ("x", 0.0), (np.nan, 0.0), (1 << 70, 1.0), (True, 0.25), ([1], 0.0)):
        entries = weights.tolist()
        entries[0][1] = entries[1][0] = odd
        for rows in (entries, tuple(entries), tuple(map(tuple, entries))):
            assert canonical_graph(rows, 4.0).adjacency[0, 1] == counted  # also a weight that is no number
    # a private row that is no edge of these vertices is nothing: it is neither refused nor told
    assert canonical_graph(EdgeList(3, edges)).adjacency.nnz == 2
    assert canonical_graph(EdgeList(5, [[1, 1]])).adjacency.nnz == 0
    for nothing in ([], (), np.array([]), np.zeros((0, 2)), np.zeros((0, 2), object)):
        assert canonical_graph(EdgeList(3, nothing)).adjacency.nnz == 0


@pytest.mark.parametrize("made", [sp.coo_array, EdgeList])
def test_one_more_row_changes_no_other_weight(made):
    """Parts of a weight whose sum lies between two multiples of the grid, in a row of many entries: the order
    in which a sparse matrix adds them up changes with the other entries."""
    parts = [0.287, 0.045, 592034.5 / WEIGHT_UNITS - 0.287 - 0.045]  # of the pair (0, 1)
    ends = np.array([[0, 1]] * 3 + [[0, j] for j in range(2, 60)])
    values = np.concatenate([parts, np.full(58, 0.5)])
    seen = set()
    for order in (np.random.default_rng(k).permutation(61) for k in range(40)):
        pairs, weights = ends[order], values[order]
        if made is EdgeList:
            graph = EdgeList(60, pairs, weights)
        else:
            both = np.concatenate([pairs, pairs[:, ::-1]]).T
            graph = sp.coo_array((np.append(weights, weights), both), shape=(60, 60))
        seen.add(canonical_graph(graph, 1.0).adjacency[0, 1])
    assert len(seen) == 1


@pytest.mark.parametrize(
    "estimator",
    [
        CertificateRecovery(1.0, 1e-6, weight_bound=2.0),
        ProjectionRecovery(1.0, 1e-6, 0.5, 3.0, weight_bound=2.0),
    ],
)
def test_nothing_but_the_bound_is_in_the_guarantee(estimator, recwarn):
    shown = []
    for matrix in (np.zeros((6, 6)), np.ones((6, 6)) - np.eye(6), 1e300 * (np.ones((6, 6)) - np.eye(6))):
        fitted = estimator.fit(matrix)
        shown.append((fitted.guarantee_, fitted.release_.public))
    assert shown[0] == shown[1] == shown[2] and shown[0][1]["weight_bound"] == 2.0
    assert not recwarn.list
