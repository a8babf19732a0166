"""The right side of a packing program, a positive definite matrix: diagonal, or any.

Everything that is claimed is proven in float arithmetic with its rounding errors
(docs/proofs/gaussian_scores.md, 2); what is not (the whitening itself) only decides how tight the claims are.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from sosdp.conic.rigorous import UNIT, least_eigenvalue_bound

_TINY = 1e-300
LEAST = 1e-290  # of a diagonal entry: below it roundings are no longer relative


class Limit:
    """B of ``sum_i w_i a_i a_i^T <= B``: floats, its diagonal (k,), or a symmetric matrix (k, k).

    The entries are taken exactly.
    """

    def __init__(self, entries: np.ndarray) -> None:
        self.entries = np.asarray(entries, dtype=np.float64)
        self.diagonal = self.entries.ndim == 1

    def times(self, factor: float) -> Limit:
        """The multiple, rounded."""
        return Limit(self.entries * factor)

    @cached_property
    def whitener(self) -> np.ndarray:
        """D with D B D^T near I: (k,) where B is a diagonal, else (k, k)."""
        if self.diagonal:
            return 1.0 / np.sqrt(np.maximum(self.entries, _TINY))
        try:
            lower = cholesky(self.entries, lower=True)
        except (LinAlgError, ValueError):  # not definite: only trivial bounds will be proven
            return np.diag(1.0 / np.sqrt(np.maximum(np.abs(np.diag(self.entries)), _TINY)))
        return solve_triangular(lower, np.eye(lower.shape[0]), lower=True)

    def whiten(self, rows: np.ndarray) -> np.ndarray:
        """D a for every row, (n, k), finite."""
        scaled = rows * self.whitener if self.diagonal else rows @ self.whitener.T
        return np.where(np.isfinite(scaled), scaled, 0.0)

    def unwhiten(self, dual: np.ndarray) -> np.ndarray:
        """V with V V^T the dual matrix in the rows' own coordinates."""
        return dual * self.whitener[:, None] if self.diagonal else self.whitener.T @ dual

    def price(self, factor: np.ndarray) -> tuple[float, float]:
        """``<V V^T, B>`` in floats, and a bound on its rounding error."""
        if self.diagonal:
            value = float(((factor**2).sum(axis=1) * self.entries).sum())
            return value, value * (factor.size + 8) * UNIT
        value = float(((self.entries @ factor) * factor).sum())
        size = np.abs(factor)
        return value, (2 * factor.size + 16) * UNIT * float(((np.abs(self.entries) @ size) * size).sum())

    def multiple(self, rows: np.ndarray, weights: np.ndarray) -> float:
        """c, proven, with ``sum_i w_i a_i a_i^T <= c B``; infinite where none is found."""
        n, k = rows.shape
        if self.diagonal and not (self.entries >= LEAST).all():
            return np.inf
        scaled, sizes, spoiled = self._sizes(rows, weights)
        gram = (scaled * weights[:, None]).T @ scaled
        # rounding of the whitening, the products and the sums, in norm
        error = (n + 4 * k + 16) * UNIT * float((sizes * weights).sum())
        largest = -least_eigenvalue_bound(-gram) + error
        result = largest * (1 + 8 * UNIT) / (1.0 - spoiled) if spoiled < 0.5 else np.inf
        return float(result) if np.isfinite(result) else np.inf

    def usable(self, rows: np.ndarray) -> np.ndarray:
        """Which rows have a finite whitened length, (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.isfinite(self._majorant(rows))

    def _majorant(self, rows: np.ndarray) -> np.ndarray:
        """|  |D| |a|  |^2 of every row: what rounding errors are multiples of."""
        if self.diagonal:
            return ((rows * self.whitener) ** 2).sum(axis=1)
        return ((np.abs(rows) @ np.abs(self.whitener).T) ** 2).sum(axis=1)

    def _sizes(self, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Whitened rows (0 where the weight is 0), their majorants, and |D B D^T - I|."""
        used = weights > 0
        with np.errstate(over="ignore", invalid="ignore"):
            whole = rows * self.whitener if self.diagonal else rows @ self.whitener.T
            scaled, sizes = np.where(used[:, None], whole, 0.0), np.where(used, self._majorant(rows), 0.0)
        if self.diagonal:  # four roundings: in the factor 1 + 8 u of the caller
            return scaled, sizes, 0.0
        D, k = self.whitener, self.whitener.shape[0]
        away = D @ self.entries @ D.T - np.eye(k)
        rounding = (2 * k + 16) * UNIT * (np.abs(D) @ np.abs(self.entries) @ np.abs(D).T + np.eye(k))
        return scaled, sizes, float(np.linalg.norm(away) + np.linalg.norm(rounding)) * (1 + 64 * UNIT)


def as_limit(bound: np.ndarray | Limit) -> Limit:
    """The bound itself, or the one with these entries."""
    return bound if isinstance(bound, Limit) else Limit(bound)
