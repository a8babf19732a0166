"""Exact laws of the transcripts of the rounds on a few vertices: the code's own counts, ties and scales."""

import itertools
import math

import numpy as np
from scipy.special import ndtr

from problems.sbm import rounds
from problems.sbm.edges import CanonicalEdges

PAIRS = list(itertools.combinations(range(4), 2))
GRAPHS = range(1 << len(PAIRS))
NEIGHBOURS = [(g, g | 1 << b) for b in range(len(PAIRS)) for g in GRAPHS if not g >> b & 1]
SIGNS = [np.array(z) for z in itertools.product((1, -1), repeat=4)]


def graph(code, n=4):
    """The graph whose edge number b is there iff bit b of code is set."""
    pairs = list(itertools.combinations(range(n), 2))
    chosen = [pair for b, pair in enumerate(pairs) if code >> b & 1]
    first, second = (np.array([pair[k] for pair in chosen], dtype=np.int32) for k in (0, 1))
    return CanonicalEdges(first, second, None, range(n))


def laplace_pmf(scale):
    """Probabilities of -r..r under the discrete Laplace law, r so large that 1e-15 is left out."""
    a, reach = math.exp(-1 / float(scale)), math.ceil(36 * scale)
    return (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))


def gaussian_pmf(sigma):
    """Probabilities of -r..r under a rounded normal law, r so large that 1e-15 is left out."""
    reach = math.ceil(8.5 * sigma)
    ends = np.arange(-reach, reach + 2) - 0.5
    upper = np.where(ends[1:] > 0, ndtr(-ends[:-1] / sigma) - ndtr(-ends[1:] / sigma), 0.0)
    return np.where(ends[1:] > 0, upper, ndtr(ends[1:] / sigma) - ndtr(ends[:-1] / sigma))


def halves_law(counts, pmf, order):
    """Law of `rounds.halves(counts + noise, order)` for independent noise: {signs: probability}.

    The n // 2 smallest in the order (value, public word) are a set S iff its largest member is below the
    smallest other one: a sum over which member is the largest, and its value.
    """
    n = len(counts)
    density = np.zeros((n, len(pmf) + 40))
    for v, count in enumerate(counts):
        density[v, 20 + count : 20 + count + len(pmf)] = pmf
    below = np.cumsum(density, axis=1) - density  # P(value < place)
    rank = np.argsort(np.argsort(order, kind="stable"))
    law = {}
    for chosen in itertools.combinations(range(n), n // 2):
        total = np.zeros(len(pmf) + 40)
        for top in chosen:
            product = density[top].copy()
            for u in range(n):
                if u == top:
                    continue
                before = below[u] + (density[u] if rank[u] < rank[top] else 0)
                product *= before if u in chosen else 1 - before
            total += product
        law[tuple(-1 if v in chosen else 1 for v in range(n))] = float(total.sum())
    return law


def vote_law(counts, scale, key):
    """Law of the signs of counts + discrete Laplace noise with the public coin: {signs: probability}."""
    pmf = laplace_pmf(scale)
    values = np.arange(len(pmf)) - len(pmf) // 2
    coin = rounds.signs_with_coin(np.zeros(len(counts)), key)
    up = []
    for v, count in enumerate(counts):
        up.append(
            float(pmf[values + count > 0].sum() + (pmf[values + count == 0].sum() if coin[v] > 0 else 0))
        )
    return {tuple(z.tolist()): float(np.prod([p if s > 0 else 1 - p for p, s in zip(up, z)])) for z in SIGNS}


def split_law(code, plan, epsilon, key, part):
    """Joint law of (signs of every round, labels) under the split plan with this map of pairs to parts."""
    edges = graph(code)
    present = [b for b in range(len(PAIRS)) if code >> b & 1]
    p, q = plan.again
    scale = rounds.laplace_scale(rounds.rounds_epsilon(epsilon, plan.again))
    law = {(tuple(rounds.start(4, key).tolist()),): 1.0}
    for number in range(plan.rounds):
        mask = np.array([part[b] == number for b in present], dtype=bool)
        following = {}
        for history, chance in law.items():
            counts = edges.counts(np.array(history[-1]), mask)
            order = rounds.public_words(4, key, number + 1)
            for z, share in halves_law(counts, laplace_pmf(scale), order).items():
                following[(*history, z)] = chance * share
        law = following
    last = np.array([part[b] == plan.rounds for b in present], dtype=bool)
    out = {}
    for history, chance in law.items():
        z = np.array(history[-1])
        counts = q * edges.counts(z, last) + p * edges.counts(z, ~last)
        final = vote_law(counts, rounds.laplace_scale(epsilon, q), key)
        for labels, share in final.items():
            out[(*history[1:], labels)] = chance * share
    return out


def gaussian_law(code, plan, epsilons, delta, key, *, vote_factor=1.0):
    """Joint law of (signs of every round, labels) under the Gaussian plan."""
    edges = graph(code)
    sigma = rounds.gaussian_scale(epsilons[0], delta, plan.queries)
    law = {(tuple(rounds.start(4, key).tolist()),): 1.0}
    for number in range(1, plan.rounds + 1):
        following = {}
        for history, chance in law.items():
            order = rounds.public_words(4, key, number)
            counts = edges.counts(np.array(history[-1]))
            for z, share in halves_law(counts, gaussian_pmf(sigma), order).items():
                following[(*history, z)] = chance * share
        law = following
    out = {}
    for history, chance in law.items():
        counts = edges.counts(np.array(history[-1]))
        final = vote_law(counts, rounds.laplace_scale(epsilons[1]) * vote_factor, key)
        for labels, share in final.items():
            out[(*history[1:], labels)] = chance * share
    return out


def vector(law, outcomes):
    return np.array([law.get(outcome, 0.0) for outcome in outcomes])
