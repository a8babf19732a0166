"""The graph in the box nearest to a matrix in cut norm: the linear program with a constraint for every cut,
by
cutting planes. For a few dozen vertices; `cut_projection` is the compact form.

Source: Gupta, Roth and Ullman 2012, section 6.1. Docs: docs/proofs/cuts_synthetic_graph.md, section 2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from .cut_norm import CutNorm, cut_norm, cut_norm_exact
from .matrix_input import as_dense, as_matrix

EXACT_UP_TO = 12
"""Up to this many vertices the separation oracle enumerates."""


@dataclass(frozen=True, eq=False)
class NearestGraph:
    """graph: X (n, n) in the box; value: the linear program's last optimum, a lower bound; cut: the
    largest cut of
    X - W that the oracle found; rounds; rows: constraints made.
    """

    graph: np.ndarray
    value: float
    cut: float
    rounds: int
    rows: int


def nearest_in_cut_norm(matrix: Any, *, tolerance: float = 0.02, max_rounds: int = 150) -> NearestGraph:
    """Minimise max over S, T of |(X - W)(S, T)| over symmetric X in [0, 1] with zero diagonal.

    Args:
        matrix: W, symmetric (n, n) with zero diagonal. tolerance: stop when the worst cut found is at most
            (1 + tolerance) times the value. max_rounds: of linear programs.

    Raises:
        ValueError: not a finite symmetric matrix.

    Cost: 1 s at n = 24, minutes at n = 50.
    """
    array = as_dense(as_matrix(matrix))
    n = array.shape[0]
    upper = np.triu_indices(n, 1)
    target = array[upper]
    sides = [(np.ones(n, dtype=bool), np.ones(n, dtype=bool))]
    sides += [(np.arange(n) == i, np.arange(n) != i) for i in range(n)]
    rows = [_row(s, t, upper) for s, t in sides]
    best = (np.inf, np.clip(target, 0.0, 1.0))
    value, rounds = 0.0, 0
    while rounds < max_rounds:
        rounds += 1
        solved = _solve(rows, target)
        if solved is None:
            break
        value, entries = solved
        graph = np.zeros((n, n))
        graph[upper] = entries
        graph += graph.T
        result = _worst(graph - array)
        worst = max(abs(float(row @ (entries - target))) for row in result)
        if worst < best[0]:
            best = (worst, entries)
        if worst <= (1.0 + tolerance) * value + 1e-9:
            break
        rows += result
    graph = np.zeros((n, n))
    graph[upper] = np.clip(best[1], 0.0, 1.0)
    return NearestGraph(graph + graph.T, value, best[0], rounds, len(rows))


def _row(first: np.ndarray, second: np.ndarray, upper: Any) -> np.ndarray:
    """Weights of the pairs i < j in M(S, T)."""
    s, t = first.astype(float), second.astype(float)
    return (np.outer(s, t) + np.outer(t, s))[upper]


def _worst(matrix: np.ndarray) -> list[np.ndarray]:
    n = matrix.shape[0]
    upper = np.triu_indices(n, 1)
    everybody = np.arange(n)
    cuts: list[tuple[np.ndarray, np.ndarray]] = []
    if n <= EXACT_UP_TO:
        _, rows, columns = cut_norm_exact(matrix)
        cuts.append((rows, columns))
    result: CutNorm = cut_norm(matrix, tolerance=1e-2, max_iterations=300, roundings=60)
    cuts.append((result.rows, result.columns))
    # the same cut of the leading eigenvectors, and of each vertex's best answer to the found one
    values, vectors = np.linalg.eigh(matrix)
    for k in np.argsort(-np.abs(values))[:4]:
        for side in (vectors[:, k] > 0, vectors[:, k] < 0):
            image = matrix @ side
            cuts += [
                (np.flatnonzero(side), np.flatnonzero(image > 0)),
                (np.flatnonzero(side), np.flatnonzero(image < 0)),
            ]
    return [_row(np.isin(everybody, s), np.isin(everybody, t), upper) for s, t in cuts]


def _solve(rows: list[np.ndarray], target: np.ndarray) -> tuple[float, np.ndarray] | None:
    """min lambda, |row (x - w)| <= lambda, 0 <= x <= 1: (lambda, x), or None."""
    table = np.array(rows)
    right = table @ target
    ones = np.ones((len(rows), 1))
    constraints = sp.csr_array(np.block([[table, -ones], [-table, -ones]]))
    cost = np.zeros(table.shape[1] + 1)
    cost[-1] = 1.0
    bounds = [(0.0, 1.0)] * table.shape[1] + [(0.0, None)]
    result = linprog(
        cost, A_ub=constraints, b_ub=np.concatenate([right, -right]), bounds=bounds, method="highs"
    )
    return None if result.x is None else (float(result.x[-1]), result.x[:-1])
