"""All graphs on a few vertices, coded as bit masks over the pairs, and dual slacks of all labellings."""

import itertools

import numpy as np


def pairs(n):
    return list(itertools.combinations(range(n), 2))


def all_adjacencies(n):
    """(2^(n(n-1)/2), n, n) int64: in graph k, pair number b is an edge iff bit b of k is set."""
    chosen = pairs(n)
    codes = np.arange(2 ** len(chosen))
    matrices = np.zeros((len(codes), n, n), dtype=np.int64)
    for bit, (i, j) in enumerate(chosen):
        matrices[:, i, j] = matrices[:, j, i] = (codes >> bit) & 1
    return matrices


def all_labellings(n):
    """(2^(n-1), n) of +-1, first label +1."""
    return np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=n - 1)])


def slacks_of(adjacencies, tau):
    """(graphs, labellings) dual slacks lambda(G, x), straight from the definition, in batches."""
    n = adjacencies.shape[1]
    tilted = adjacencies - tau * (1 - np.eye(n))
    columns = []
    for labels in all_labellings(n):
        slack = -tilted.copy()
        slack[:, np.arange(n), np.arange(n)] += labels * (tilted @ labels)
        basis = np.linalg.qr(np.column_stack([labels, np.eye(n)[:, 1:]]))[0][:, 1:]
        columns.append(np.linalg.eigvalsh(basis.T @ slack @ basis)[:, 0])
    return np.array(columns).T


def resistances_of(adjacencies, tau):
    """(graphs, labellings) of r(G, x), 0 where lambda <= 0: one over the largest x-signed resistance."""
    n = adjacencies.shape[1]
    tilted, slacks = adjacencies - tau * (1 - np.eye(n)), slacks_of(adjacencies, tau)
    columns = []
    for index, labels in enumerate(all_labellings(n)):
        slack = -tilted.copy()
        slack[:, np.arange(n), np.arange(n)] += labels * (tilted @ labels)
        slack += 3 * np.outer(labels, labels)
        good = slacks[:, index] > 1e-9
        result = np.zeros(len(slack))
        inverse = np.linalg.inv(slack[good])
        diagonal = np.diagonal(inverse, axis1=1, axis2=2)
        pairs_of = diagonal[:, :, None] + diagonal[:, None, :] - 2 * inverse * np.outer(labels, labels)
        result[good] = 1 / pairs_of.max(axis=(1, 2))
        columns.append(result)
    return np.array(columns).T


def all_slacks(n, tau):
    """`slacks_of` all graphs on n vertices."""
    return slacks_of(all_adjacencies(n), tau)


def all_resistances(n, tau):
    """`resistances_of` all graphs on n vertices."""
    return resistances_of(all_adjacencies(n), tau)


def neighbours(n):
    """Pairs of codes (G, G') that differ in one edge, each unordered pair once: two arrays."""
    count = len(pairs(n))
    codes = np.arange(2**count)
    first = np.concatenate([codes[(codes >> bit) & 1 == 0] for bit in range(count)])
    second = np.concatenate([codes[(codes >> bit) & 1 == 0] | (1 << bit) for bit in range(count)])
    return first, second


def largest_loss(laws, n):
    """Largest |log ratio| over neighbouring graphs and outcomes; laws: (graphs, ...), all positive."""
    first, second = neighbours(n)
    return float(np.abs(np.log(laws[first]) - np.log(laws[second])).max())


def hockey_stick(p, q, epsilon):
    """Largest P(S) - e^eps Q(S) over events S; p, q: (pairs, outcomes)."""
    return np.maximum(p - np.exp(epsilon) * q, 0).sum(axis=1).max()


def worst_delta(laws, n, epsilon):
    """`hockey_stick` over neighbouring graphs, both ways; laws: (graphs, outcomes)."""
    first, second = (laws[codes] for codes in neighbours(n))
    return max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon))
