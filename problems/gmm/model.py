"""Spherical Gaussian mixtures with planted centres, and ways to spoil a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampledMixture:
    """Points (n, d) with the component of each, -1 for an outlier, and the true means (k, d)."""

    points: Array
    labels: npt.NDArray[np.int64]
    means: Array


@dataclass(frozen=True)
class SphericalMixture:
    """Mixture of k Gaussians in d dimensions whose means are `separation` apart; spherical ones by default.

    The means are a regular simplex with every pairwise distance equal to the separation (in too few
    dimensions: neighbours on a circle or a line), moved by a common offset and hidden by a random rotation.

    Attributes:
        clusters, dimension, separation: k, d, Delta.
        offset: size of the common shift of every coordinate.
        weights: of the components; equal ones if None.
        elongation: standard deviation of every cluster along the line that joins the first two means.
        scales: a factor on all standard deviations of each cluster; 1 if None.

    Raises:
        ValueError: numbers out of range.
    """

    clusters: int
    dimension: int
    separation: float
    offset: float = 100.0
    weights: tuple[float, ...] | None = None
    elongation: float = 1.0
    scales: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.clusters < 1 or self.dimension < 1 or self.separation < 0.0 or not self.elongation > 0.0:
            raise ValueError("a mixture needs k >= 1, d >= 1, separation >= 0 and elongation > 0")
        for numbers in (self.weights, self.scales):
            if numbers is not None and (len(numbers) != self.clusters or min(numbers) <= 0.0):
                raise ValueError(f"weights and scales are {self.clusters} numbers > 0")

    def means(self) -> Array:
        """(k, d) means about 0, before rotation and offset."""
        k, d, far_by = self.clusters, self.dimension, self.separation
        result = np.zeros((k, d))
        if d >= k - 1:
            simplex = np.eye(k) * far_by / np.sqrt(2.0)
            simplex -= simplex.mean(axis=0)
            directions = np.linalg.svd(simplex)[2][: max(k - 1, 1)]
            flat = simplex @ directions.T
            result[:, : flat.shape[1]] = flat[:, :d]
        elif d == 1:
            result[:, 0] = far_by * (np.arange(k) - (k - 1) / 2.0)
        else:
            turns = 2.0 * np.pi * np.arange(k) / k
            circle = far_by / (2.0 * np.sin(np.pi / k))
            result[:, :2] = circle * np.column_stack([np.cos(turns), np.sin(turns)])
        return result

    def sample(self, n: int, seed: int, *, outliers: float = 0.0, reach: float = 60.0) -> SampledMixture:
        """n points from a seed; a fraction `outliers` of them replaced by N(0, reach^2 I)."""
        generator = np.random.default_rng(seed)
        k, d = self.clusters, self.dimension
        plain = self.means()
        rotation = np.linalg.qr(generator.normal(size=(d, d)))[0]
        means = plain @ rotation + self.offset * generator.uniform(-1.0, 1.0, size=d)
        share = None if self.weights is None else np.array(self.weights) / np.sum(self.weights)
        labels = generator.integers(k, size=n) if share is None else generator.choice(k, size=n, p=share)
        noise = generator.normal(size=(n, d))
        if self.elongation != 1.0:
            axis = plain[1] - plain[0] if k > 1 and self.separation > 0.0 else np.eye(d)[0]
            axis = (axis / np.linalg.norm(axis)) @ rotation
            noise += (self.elongation - 1.0) * np.outer(noise @ axis, axis)
        if self.scales is not None:
            noise *= np.array(self.scales)[labels][:, None]
        points = means[labels] + noise
        spoiled = generator.permutation(n)[: int(round(outliers * n))]
        points[spoiled] = means.mean(axis=0) + reach * generator.normal(size=(len(spoiled), d))
        labels[spoiled] = -1
        return SampledMixture(points, labels.astype(np.int64), means)


def light_share(k: int, least_weight: float | None) -> float:
    """The promised least weight of a cluster, by default 1 / (2 k).

    Raises:
        ValueError: more than 1 / k.
    """
    light = 1.0 / (2 * k) if least_weight is None else calibrate.check_positive(least_weight, "least_weight")
    if light * k > 1.0 + 1e-9:
        raise ValueError(f"least_weight is at most 1/k = {1 / k:.4g}, got {light}")
    return light


def least_favourable(k: int, light: float) -> tuple[float, float]:
    """The least favourable weights of k clusters none of which is lighter: all are so light but one."""
    return light, max(light, 1.0 - (k - 1) * light)


@dataclass(frozen=True)
class Facts:
    """What is known publicly of the mixture, in units of sigma.

    Attributes:
        dimension, clusters, separation: d, k, least distance of two means.
        least_weight: no cluster has a smaller share of the records.
        elongation: no cluster is longer than this along one axis, nor than 1 along the others.
    """

    dimension: int
    clusters: int
    separation: float
    least_weight: float
    elongation: float

    def mixture(self) -> SphericalMixture:
        """The least favourable mixture within the promise: k - 1 light clusters, all long towards another."""
        weights = (*[self.least_weight] * (self.clusters - 1), 1.0 - (self.clusters - 1) * self.least_weight)
        return SphericalMixture(
            self.clusters, self.dimension, self.separation, weights=weights, elongation=self.elongation
        )


def simulated_answers(
    mixture: SphericalMixture,
    size: int,
    blocks: int,
    seed: int,
    efficiency: tuple[float, ...],
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """What a solver returns on blocks of `size` records: means with errors of the size that theory says.

    The number of records of a component in a block is binomial; the error of its mean is Gaussian with
    `efficiency` times the covariance of that many records.

    Returns:
        (blocks, k, d) answers and (blocks,) booleans: every component had a record.
    """
    generator = np.random.default_rng(seed)
    k, d = mixture.clusters, mixture.dimension
    plain = mixture.means()
    share = np.full(k, 1.0 / k) if mixture.weights is None else np.array(mixture.weights)
    counts = generator.multinomial(size, share / share.sum(), size=blocks)
    noise = generator.normal(size=(blocks, k, d))
    if mixture.elongation != 1.0:
        axis = plain[1] - plain[0] if k > 1 and mixture.separation > 0.0 else np.eye(d)[0]
        axis = axis / np.linalg.norm(axis)
        noise += (mixture.elongation - 1.0) * (noise @ axis)[:, :, None] * axis
    spread = np.sqrt(np.array(efficiency) / np.maximum(counts, 1))
    return plain + noise * spread[:, :, None], np.asarray(counts.min(axis=1) >= 1)


def centre_error(centres: npt.ArrayLike, means: npt.ArrayLike) -> float:
    """Largest Euclidean distance between matched centres, over the matching with the least total."""
    from scipy.optimize import linear_sum_assignment

    a, b = np.asarray(centres, dtype=np.float64), np.asarray(means, dtype=np.float64)
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    row, column = linear_sum_assignment(distance)
    return float(distance[row, column].max())


def expected_largest(light: float, heavy: float, d: int, k: int) -> float:
    """E max_i s_i |N_i| of k independent standard normal N_i in R^d, all but one of the scale `light`, to
    three digits: the integral of 1 - prod_i P(s_i |N_i| <= x)."""
    from scipy.stats import chi

    x = np.linspace(0.0, float(chi.isf(1e-9 / k, d)) * max(light, heavy), 2001)
    return float(np.trapezoid(1.0 - chi.cdf(x / light, d) ** (k - 1) * chi.cdf(x / heavy, d), x))


def cluster_matrix(labels: npt.ArrayLike) -> Array:
    """(n, n) 0/1 matrix of pairs with the same label; outliers (-1) belong to nothing."""
    z = np.asarray(labels)
    return ((z[:, None] == z[None, :]) & (z[:, None] >= 0)).astype(np.float64)
