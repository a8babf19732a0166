"""Partitions as labels 0..k-1: k-means on released rows, numbering, and the error up to names."""

from __future__ import annotations

import numpy as np

from sosdp.extras import need


def check_clustering() -> None:
    """Raise MissingPackage where k-means is not installed: to be called before anything is spent."""
    need("sklearn", "recovering communities by k-means")


def cluster(points: np.ndarray, count: int) -> np.ndarray:
    """k-means labels 0..count-1 of the rows, numbered in order of first appearance."""
    need("sklearn", "recovering communities by k-means")
    from sklearn.cluster import KMeans

    result = KMeans(n_clusters=count, n_init=10, random_state=0).fit(points).labels_
    return renumbered(result)


def renumbered(labels: np.ndarray) -> np.ndarray:
    """The same partition with communities numbered in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]


def partition_error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Fraction of vertices labelled wrongly under the best matching of community names."""
    from scipy.optimize import linear_sum_assignment

    first, second = renumbered(np.asarray(estimate)), renumbered(np.asarray(truth))
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    rows, columns = linear_sum_assignment(-table)
    return 1.0 - float(table[rows, columns].sum()) / len(first)
