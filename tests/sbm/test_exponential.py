"""The exponential mechanism: exact laws over all small graphs, its sampler, and what it refuses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from graphs import all_adjacencies, neighbours

from problems.sbm import ExponentialRecovery, StochasticBlockModel, error_rate
from problems.sbm.estimators.exponential import agreements, labelling, levels


def law(adjacency, epsilon, degree, rate_factor=1.0):
    """Exact law over the 2^(n-1) labellings, from the integer levels the sampler uses."""
    n = len(adjacency)
    codes, level_of, scale = levels(adjacency, Fraction(degree) / n)
    exponent = np.array([-rate_factor * epsilon * level_of[int(code)] / (2 * scale) for code in codes])
    weights = np.exp(exponent - exponent.max())
    return weights / weights.sum()


def definition(adjacency, epsilon, degree):
    """The same law straight from P(z) ~ exp((eps/2) (sum_E z_i z_j - (d/n) sum_{i<j} z_i z_j))."""
    n = len(adjacency)
    weights = []
    for number in range(2 ** (n - 1)):
        z = labelling(number, n)
        pairs = list(itertools.combinations(range(n), 2))
        score = sum((adjacency[i, j] - degree / n) * z[i] * z[j] for i, j in pairs)
        weights.append(math.exp(epsilon / 2 * score))
    return np.array(weights) / sum(weights)


def loss(n, epsilon, degree, rate_factor=1.0):
    laws = np.array([law(a, epsilon, degree, rate_factor) for a in all_adjacencies(n)])
    first, second = neighbours(n)
    return np.abs(np.log(laws[first]) - np.log(laws[second])).max()


@pytest.mark.parametrize("degree", [0.25, 1.0, 2.7])
def test_law_agrees_with_the_definition(degree):
    generator = np.random.default_rng(0)
    for n in (2, 3, 5, 7):
        adjacency = np.triu(generator.random((n, n)) < 0.5, 1).astype(int)
        adjacency += adjacency.T
        assert np.allclose(law(adjacency, 1.3, degree), definition(adjacency, 1.3, degree), rtol=1e-10)


def test_agreements_by_brute_force():
    generator = np.random.default_rng(1)
    adjacency = np.triu(generator.random((9, 9)) < 0.4, 1).astype(int)
    adjacency += adjacency.T
    agreement, total = agreements(adjacency)
    for number in range(2**8):
        z = labelling(number, 9)
        assert z[0] == 1 and total[number] == z.sum()
        assert agreement[number] == (z @ adjacency @ z) // 2


@pytest.mark.parametrize(
    "n, epsilon, degree, measured",
    [(4, 1.0, 2.0, 0.571), (5, 1.0, 0.5, 0.888), (5, 3.0, 0.25, 2.9996),
     *(pytest.param(5, *case, marks=pytest.mark.slow) for case in [(1.0, 2.0, 0.705), (1.0, 1.0, 0.839),
                                                                    (3.0, 2.0, 2.970)])],
)  # fmt: skip
def test_exact_privacy_loss_over_every_graph(n, epsilon, degree, measured):
    assert loss(n, epsilon, degree) == pytest.approx(measured, abs=1e-3)
    assert loss(n, epsilon, degree) <= epsilon
    # Negative control: without the factor 1/2 the guarantee fails.
    assert loss(n, epsilon, degree, 2.0) > epsilon


def test_sampler_follows_the_law():
    adjacency = np.zeros((5, 5), dtype=int)
    for i, j in [(0, 1), (0, 2), (1, 2), (3, 4)]:
        adjacency[i, j] = adjacency[j, i] = 1
    epsilon, degree, runs = 1.5, 1.6, 600
    expected = law(adjacency, epsilon, degree) * runs
    seen = np.zeros(16)
    for seed in range(runs):
        labels = ExponentialRecovery(epsilon, degree, insecure_seed=seed).fit(adjacency).labels_
        seen[int(((1 - labels[1:]) // 2) @ (1 << np.arange(4)))] += 1
    from scipy.stats import chi2

    assert ((seen - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, 15)


def test_the_largest_size_is_recovered_and_one_more_is_refused():
    sample = StochasticBlockModel(22, 11, 1.0).sample(0)
    fitted = ExponentialRecovery(8.0, 11.0, insecure_seed=0).fit(sample.adjacency)
    assert error_rate(fitted.labels_, sample.labels) == 0
    assert fitted.release_.value["method"] == "exponential"
    with pytest.raises(ValueError, match="up to n = 22.*CertificateRecovery"):
        ExponentialRecovery(8.0, 11.0).fit(np.zeros((23, 23)))


def test_guarantee():
    guarantee = ExponentialRecovery(2.0, 3.0).fit(np.zeros((6, 6))).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.rho, guarantee.kind) == (2.0, 0.0, 0.5, "exact")
    with pytest.raises(ValueError, match="average_degree"):
        ExponentialRecovery(1.0, 0.0).fit(np.zeros((6, 6)))
