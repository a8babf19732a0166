"""Heuristics that propose a labelling: leading eigenvector, signs, majority-vote polishing.

Nothing here is private by itself; the estimators use it on data that are already noisy, or only to propose a
candidate that is then verified.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg as sla

from sosdp.conic.eigenvalues import eigenvectors_between
from sosdp.extras import need

LARGEST_FALLBACK = 20_000
"""Most vertices of a dense matrix in place of Lanczos."""


def canonical_signs(vector: np.ndarray) -> np.ndarray:
    """The +-1 labels of a real vector, zero counted as +, flipped as a whole so that the first label is
    +1.
    """
    labels = np.where(np.asarray(vector) >= 0, 1, -1).astype(np.int64)
    return labels if labels[0] == 1 else -labels


def balanced_signs(vector: np.ndarray) -> np.ndarray:
    """+1 for the larger half of the entries (rounded up; ties by position), -1 for the rest, first label +1.

    It is what flipping the least confident signs until both sides are equal gives.
    """
    order = np.argsort(-np.asarray(vector), kind="stable")
    labels = np.full(len(order), -1, dtype=np.int64)
    labels[order[: (len(order) + 1) // 2]] = 1
    return labels if labels[0] == 1 else -labels


def leading_eigenvector(matrix: Any) -> np.ndarray:
    """Unit eigenvector of the largest eigenvalue of a symmetric matrix or operator with `shape` and `@`.

    Lanczos with a fixed start for large n, dense otherwise or when Lanczos does not converge; the all-ones
    vector if nothing converges or n is beyond `LARGEST_FALLBACK`. Never raises.
    """
    n = matrix.shape[0]
    if n >= 100:
        operator = sla.LinearOperator(
            (n, n), matvec=lambda v: np.asarray(matrix @ v.reshape(-1, 1)).ravel(), dtype=float
        )
        start = np.cos(np.arange(n) * 1.7 + 0.3)
        try:
            _, vectors = sla.eigsh(operator, k=1, which="LA", v0=start, tol=1e-8)
            if np.all(np.isfinite(vectors)):
                return vectors[:, 0]
        except (sla.ArpackError, ValueError):
            start = start / np.linalg.norm(start)
    if n > LARGEST_FALLBACK:
        return np.full(n, 1 / np.sqrt(n))
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix @ np.eye(n)
    try:
        vectors = eigenvectors_between(dense, n - 1, n - 1)
    except (np.linalg.LinAlgError, ValueError):
        return np.full(n, 1 / np.sqrt(n))
    return vectors[:, 0]


def majority_polish(matrix: Any, labels: np.ndarray, rounds: int = 30) -> np.ndarray:
    """Repeat x <- sign(M x) until nothing changes or the rounds are spent (ties keep the label)."""
    current = np.asarray(labels, dtype=float)
    for _ in range(rounds):
        field = np.asarray(matrix @ current.reshape(-1, 1)).ravel()
        following = np.where(field > 0, 1.0, np.where(field < 0, -1.0, current))
        if np.array_equal(following, current):
            break
        current = following
    return canonical_signs(current)


def _released(labels: Any) -> np.ndarray:
    """The labels as an array; ValueError for None, the `labels_` of an estimator that declined."""
    if labels is None:
        raise ValueError("there are no labels to compare: nothing was released (see released_)")
    return np.asarray(labels)


def error_rate(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Fraction of vertices that are labelled wrongly, up to a global flip: min(Ham(a, x), Ham(a, -x)) / n.

    ValueError where nothing was released (`labels_` is None).
    """
    wrong = float(np.mean(_released(estimate) != _released(truth)))
    return min(wrong, 1.0 - wrong)


# ------------------------------------------------------------------------------------------------------------
# Partitions as labels 0..k-1


def check_clustering() -> None:
    """Raise MissingPackage where k-means is not installed: to be called before anything is spent."""
    need("sklearn", "recovering communities by k-means")


def cluster(points: np.ndarray, count: int) -> np.ndarray:
    """k-means labels 0..count-1 of the rows, numbered in order of first appearance."""
    sklearn = need("sklearn.cluster", "recovering communities by k-means")
    result = sklearn.KMeans(n_clusters=count, n_init=10, random_state=0).fit(points).labels_
    return renumbered(result)


def renumbered(labels: np.ndarray) -> np.ndarray:
    """The same partition with communities numbered in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]


def partition_error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Fraction of vertices labelled wrongly under the best matching of community names.

    ValueError where nothing was released (`labels_` is None).
    """
    from scipy.optimize import linear_sum_assignment

    first, second = renumbered(_released(estimate)), renumbered(_released(truth))
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    rows, columns = linear_sum_assignment(-table)
    return 1.0 - float(table[rows, columns].sum()) / len(first)
