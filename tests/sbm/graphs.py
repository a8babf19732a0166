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


def all_slacks(n, tau):
    """(graphs, labellings) dual slacks lambda(G, x), straight from the definition, in batches."""
    adjacencies = all_adjacencies(n)
    tilted = adjacencies - tau * (1 - np.eye(n))
    columns = []
    for labels in all_labellings(n):
        slack = -tilted.copy()
        slack[:, np.arange(n), np.arange(n)] += labels * (tilted @ labels)
        basis = np.linalg.qr(np.column_stack([labels, np.eye(n)[:, 1:]]))[0][:, 1:]
        columns.append(np.linalg.eigvalsh(basis.T @ slack @ basis)[:, 0])
    return np.array(columns).T


def neighbours(n):
    """Pairs of codes (G, G') that differ in one edge, each unordered pair once: two arrays."""
    count = len(pairs(n))
    codes = np.arange(2**count)
    first = np.concatenate([codes[(codes >> bit) & 1 == 0] for bit in range(count)])
    second = np.concatenate([codes[(codes >> bit) & 1 == 0] | (1 << bit) for bit in range(count)])
    return first, second
