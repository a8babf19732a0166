"""Spherical Gaussian mixtures with planted centres, and ways to spoil a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampledMixture:
    """Points (n, d) with the component of each, -1 for an outlier, and the true means (k, d)."""

    points: Array
    labels: npt.NDArray[np.int64]
    means: Array


@dataclass(frozen=True)
class SphericalMixture:
    """Uniform mixture of k Gaussians N(mu_l, I) in d dimensions whose means are `separation` apart.

    The means are a regular simplex (d >= k - 1) with every pairwise distance equal to the separation, moved
    by a common offset; a random rotation hides the coordinates.

    Attributes:
        clusters, dimension, separation: k, d, Delta.
        offset: size of the common shift of every coordinate.

    Raises:
        ValueError: d < k - 1, or numbers out of range.
    """

    clusters: int
    dimension: int
    separation: float
    offset: float = 100.0

    def __post_init__(self) -> None:
        if self.clusters < 1 or self.dimension < max(1, self.clusters - 1) or self.separation < 0.0:
            raise ValueError("a regular simplex of k means needs k >= 1, d >= k - 1 and separation >= 0")

    def sample(self, n: int, seed: int, *, outliers: float = 0.0, reach: float = 60.0) -> SampledMixture:
        """n points from a seed; a fraction `outliers` of them replaced by N(0, reach^2 I)."""
        generator = np.random.default_rng(seed)
        k, d = self.clusters, self.dimension
        simplex = np.eye(k) * self.separation / np.sqrt(2.0)
        simplex -= simplex.mean(axis=0)
        directions = np.linalg.svd(simplex)[2][: max(k - 1, 1)]
        flat = simplex @ directions.T
        rotation = np.linalg.qr(generator.normal(size=(d, d)))[0]
        means = flat @ rotation[: flat.shape[1]] + self.offset * generator.uniform(-1.0, 1.0, size=d)
        labels = generator.integers(k, size=n)
        points = means[labels] + generator.normal(size=(n, d))
        spoiled = generator.permutation(n)[: int(round(outliers * n))]
        points[spoiled] = means.mean(axis=0) + reach * generator.normal(size=(len(spoiled), d))
        labels[spoiled] = -1
        return SampledMixture(points, labels.astype(np.int64), means)


def centre_error(found: npt.ArrayLike, means: npt.ArrayLike) -> float:
    """Largest Euclidean distance between matched centres, over the matching with the least total."""
    from scipy.optimize import linear_sum_assignment

    a, b = np.asarray(found, dtype=np.float64), np.asarray(means, dtype=np.float64)
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    row, column = linear_sum_assignment(distance)
    return float(distance[row, column].max())


def cluster_matrix(labels: npt.ArrayLike) -> Array:
    """(n, n) 0/1 matrix of pairs with the same label; outliers (-1) belong to nothing."""
    z = np.asarray(labels)
    return ((z[:, None] == z[None, :]) & (z[:, None] >= 0)).astype(np.float64)
