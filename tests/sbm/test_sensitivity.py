"""Sensitivity of the projection: exhaustive on small graphs, the tight family, and a random sample."""

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import all_adjacencies, neighbours

from problems.sbm.estimators.output_perturbation import projection_program
from problems.sbm.program import centred_matrix, projection_sensitivity
from sosdp.structured import nearest_correlation

# (n, d, gamma, measured maximum over all graphs and neighbours, tight bound, paper bound), scaled space.
TABLE = [
    (4, 0.5, 1.0, 4.899, 5.657, 13.86),
    (4, 1.0, 0.5, 3.797, 5.657, 13.86),
    (4, 2.0, 0.5, 2.374, 4.000, 9.798),
    (4, 1.0, 1.0, 3.231, 4.000, 9.798),
    (4, 4.0, 0.9, 1.414, 1.571, 5.164),
    (4, 0.8, 1 / 3, 4.643, 7.746, 18.97),
    (4, 3.0, 2.5, 0.754, 0.754, 3.578),
    (5, 1.0, 0.8, 3.760, 5.000, 12.25),
    pytest.param(5, 0.625, 1.0, 5.042, 5.657, 13.86, marks=pytest.mark.slow),
    pytest.param(5, 2.0, 0.5, 3.407, 4.472, 10.95, marks=pytest.mark.slow),
]


def projections(adjacencies, d, gamma, tolerance):
    answers = np.empty(adjacencies.shape)
    for index, adjacency in enumerate(adjacencies):
        target = centred_matrix(sp.csr_array(adjacency), d, gamma)
        projection = nearest_correlation(target, tolerance=tolerance)
        assert projection.certified
        answers[index] = projection.matrix
    return answers


@pytest.mark.parametrize("n, d, gamma, measured, tight, paper", TABLE)
def test_every_graph_and_every_neighbour(n, d, gamma, measured, tight, paper):
    tolerance = 2e-5
    answers = projections(all_adjacencies(n), d, gamma, tolerance)
    first, second = neighbours(n)
    largest = np.linalg.norm(answers[first] - answers[second], axis=(1, 2)).max()
    bound = projection_sensitivity(n, d, gamma)
    assert bound == pytest.approx(tight, abs=1e-3)
    assert projection_sensitivity(n, d, gamma, "paper") == pytest.approx(paper, rel=1e-3)
    assert largest == pytest.approx(measured, abs=1e-3)
    assert largest - 2 * tolerance <= bound <= projection_sensitivity(n, d, gamma, "paper")
    # Negative control: the table would notice a bound that is half as large.
    assert largest - 2 * tolerance > bound / 2.2


@pytest.mark.parametrize("n, d, gamma", [(4, 0.5, 1.0), (4, 3.0, 2.5), (500, 200.0, 0.8), (1000, 1e4, 1.0)])
def test_the_released_program_claims_the_same_sensitivity(n, d, gamma):
    program = projection_program(n, d, gamma)
    for mode in ("tight", "paper"):
        formula = projection_sensitivity(n, d, gamma, mode)
        assert formula <= program.sensitivity(mode) * (1 + 1e-15)
        assert program.sensitivity(mode) == pytest.approx(formula, rel=1e-9)
    assert projection_sensitivity(n, d, gamma, "paper") >= projection_sensitivity(n, d, gamma)


def clique_ratio(m):
    """Clique of m vertices and one more vertex: isolated, or joined to it by an edge; distance over bound."""
    n, d = m + 1, (m + 1) / (2 * m)
    adjacency = np.zeros((n, n), dtype=int)
    adjacency[:m, :m] = 1 - np.eye(m, dtype=int)
    joined = adjacency.copy()
    joined[0, m] = joined[m, 0] = 1
    bound = projection_sensitivity(n, d, 1.0)
    before, after = projections(np.stack([adjacency, joined]), d, 1.0, 1e-4 * bound)
    return np.linalg.norm(before - after) / bound


@pytest.mark.parametrize(
    "m, ratio", [(2, 0.800), (3, 0.817), (5, 0.866), (10, 0.921), (40, 0.977), (80, 0.988)]
)
def test_the_constant_is_attained_in_the_limit(m, ratio):
    measured = clique_ratio(m)
    assert measured == pytest.approx(ratio, abs=2e-3)
    assert measured <= 1
