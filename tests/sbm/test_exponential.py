"""The exponential mechanism: exact laws over all small graphs, its sampler, and what it refuses."""

import copy
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from graphs import all_adjacencies, largest_loss

from problems.sbm import ExponentialRecovery, StochasticBlockModel, error_rate, labellings
from problems.sbm.labellings import STEP, Labellings
from sosdp.privacy.randomness.bits import InsecureBits
from tests.neighbours import p_value
from tests.refusals import refusals


def labelling(number, n):
    return np.concatenate([[1], 1 - 2 * ((number >> np.arange(n - 1)) & 1)])


def number_of(labels):
    return int(((1 - labels[1:]) // 2) @ (1 << np.arange(len(labels) - 1)))


def law(adjacency, epsilon, degree, rate_factor=1.0):
    """Exact law over the 2^(n-1) labellings, from the integer levels the sampler uses."""
    n = len(adjacency)
    made = Labellings(adjacency, Fraction(degree) / n, Fraction(1))
    levels = [made.level(code) for code in made.listed(np.ones((1, 1), dtype=int))[0].tolist()]
    exponent = np.array([-rate_factor * epsilon * level / (2 * made.scale) for level in levels])
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
    return largest_loss(laws, n)


@pytest.mark.parametrize("degree", [0.25, 1.0, 2.7])
def test_law_agrees_with_the_definition(degree):
    generator = np.random.default_rng(0)
    for n in (2, 3, 5, 7):
        adjacency = np.triu(generator.random((n, n)) < 0.5, 1).astype(int)
        adjacency += adjacency.T
        assert np.allclose(law(adjacency, 1.3, degree), definition(adjacency, 1.3, degree), rtol=1e-10)


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
    fits = (ExponentialRecovery(1.5, 1.6, insecure_seed=seed).fit(adjacency) for seed in range(600))
    assert p_value((number_of(fit.labels_) for fit in fits), dict(enumerate(law(adjacency, 1.5, 1.6)))) > 1e-6


def made_of_cells(n, degree, cells, seed=0, epsilon=1.0):
    """A random graph's law in cells: at most so many are listed, of four labellings each."""
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < 0.5, 1).astype(int)
    density = Fraction(degree) / n
    made = Labellings(upper + upper.T, density, Fraction(epsilon) / (4 * density.denominator), listed=2)
    made.cells = cells
    made.make()
    return made, upper + upper.T


def misplaced(made, lowered=0):
    """How often each labelling is in a cell, and how many levels lie below the bound of their cell."""
    seen, below = Counter(), 0
    for prefixes in made.pieces():
        for prefix, codes in zip(prefixes, made.listed(prefixes), strict=True):
            for number, code in enumerate(codes.tolist()):
                z = made.completed(prefix, number)
                seen[tuple(z)] += 1
                below += code != made.code(z)
    for bound, groups in made.bounded.items():
        for prefix, number in ((p, k) for g in groups for p in g for k in range(1 << (made.n - len(p)))):
            z = made.completed(prefix, number)
            seen[tuple(z)] += 1
            below += made.level(made.code(z)) < bound + lowered * made.scale / STEP
    return seen, below


@pytest.mark.parametrize("degree", [0.5, 2.7, 4.0])
@pytest.mark.parametrize("cells", [1, 3, 1 << 12])
def test_cells_hold_every_labelling_once_below_its_level(degree, cells):
    """So the law is exact, whatever is listed; with bounds half an edge lower it would not be (control)."""
    tight = 0
    for n, seed in itertools.product((4, 7, 9), range(4)):
        made, _ = made_of_cells(n, degree, cells, seed)
        seen, below = misplaced(made)
        assert below == 0 and set(seen.values()) == {1} and len(seen) == 2 ** (n - 1)
        assert sum(made.counts.values()) == 2 ** (n - 1)
        tight += misplaced(made, STEP // 2)[1]
    assert (tight > 0) == (cells < 1 << 12)


def test_draws_from_cells_follow_the_law():
    """One cell is listed at first, so that draws reject, and cells are made anew."""
    made, adjacency = made_of_cells(6, 2.0, 1, 3, epsilon=1.5)
    bits = InsecureBits(5)
    drawn = (number_of(made.draw(bits)) for _ in range(1500))
    assert p_value(drawn, dict(enumerate(law(adjacency, 1.5, 2.0)))) > 1e-6


def test_a_draw_ends_after_a_public_number_of_rejections(monkeypatch):
    """All labellings are listed then, each once, and draws follow the law; no other draw lists them."""
    made, adjacency = made_of_cells(7, 2.0, 1, 3, epsilon=1.5)
    made.open = 3  # more cells than are taken at a time
    monkeypatch.setattr(labellings, "most_rounds", lambda n: 1)
    runs, bits, seen, ended = 1500, InsecureBits(6), Counter(), 0
    made.make()
    for _ in range(runs):
        drawn = copy.copy(made)
        seen[number_of(drawn.draw(bits))] += 1
        ended += drawn.kept is None
    assert 0.2 * runs < ended < runs
    made.list_all()
    places, below = misplaced(made)
    assert below == 0 and set(places.values()) == {1} and len(places) == sum(made.counts.values()) == 64
    assert p_value(seen, dict(enumerate(law(adjacency, 1.5, 2.0)))) > 1e-6


@pytest.mark.parametrize("n, whole", [(7, 22), (9, 4)])
def test_the_labellings_that_a_draw_lists_are_bounded(n, whole, monkeypatch):
    """Whatever is rejected, its rounds counted as `ROUND` each; with small constants."""
    for name, value in {
        "WHOLE": whole,
        "LISTED": 2,
        "FIRST": 1,
        "LAST": 16,
        "PATIENCE": 2,
        "ROUND": 8,
    }.items():
        monkeypatch.setattr(labellings, name, value)
    monkeypatch.setattr(labellings.exact, "bernoulli_exp", lambda rate, bits: False)
    sizes, rounds, listed, member = [], [], Labellings.listed, Labellings.member

    def counted(self, prefixes):
        sizes.append(len(prefixes) << (self.n - prefixes.shape[1]))
        return listed(self, prefixes)

    def drawn(self, level, place):
        before = len(sizes)
        result = member(self, level, place)
        if self.kept is not None and n > whole:
            sizes[before:] = []
            rounds.append(labellings.ROUND)
        return result

    monkeypatch.setattr(Labellings, "listed", counted)
    monkeypatch.setattr(Labellings, "member", drawn)
    for seed in range(20):
        sizes[:], rounds[:] = [], []
        Labellings(np.zeros((n, n), dtype=int), Fraction(1, 3), Fraction(1, 100)).draw(InsecureBits(seed))
        total = sum(sizes) + sum(rounds)
        assert 1 << (n if n <= whole else 0) <= total <= labellings.most_listed(n)


@pytest.mark.parametrize("n, d, epsilon", [(22, 11.0, 8.0), (23, 11.0, 4.0), (40, 20.0, 1.0)])
def test_up_to_forty_vertices_are_recovered(n, d, epsilon):
    sample = StochasticBlockModel(n, d, 1.0).sample(0)
    fitted = ExponentialRecovery(epsilon, d, insecure_seed=0).fit(sample.adjacency)
    assert error_rate(fitted.labels_, sample.labels) == 0
    assert fitted.release_.value["method"] == "exponential"


def test_guarantee():
    guarantee = ExponentialRecovery(2.0, 3.0).fit(np.zeros((6, 6))).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.rho, guarantee.kind) == (2.0, 0.0, 0.5, "exact")


test_refusals = refusals(
    (lambda: ExponentialRecovery(8.0, 11.0).fit(np.zeros((41, 41))), "up to n = 40.*CertificateRecovery"),
    (lambda: ExponentialRecovery(8.0, 31.0).fit(np.zeros((30, 30))), "at most the number of vertices"),
    (lambda: ExponentialRecovery(1.0, 0.0).fit(np.zeros((6, 6))), "average_degree"),
)
