"""From one block of records to k points: the kernel program rounded, or any other code.

Nothing here has to be right for privacy: a block decides its own vote and no other. What must hold is that a
block's points depend on that block alone, so there is no state, no clock and no memory shared between blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.extras import need
from sosdp.structured.clustering import kernel_program

from .model import Facts

Array = npt.NDArray[np.float64]
BlockSolver = Callable[[Array], Any]

HELD = 0.5
"""Entries of W from which two points count as together."""

TOUCHED = 0.1
"""Entries of W from which a point is not the seed of another cluster."""

FARTHEST = 1e4
"""Distance from the median, in median distances, beyond which a point is moved towards it in the program."""


@dataclass(frozen=True)
class SumOfSquaresBlocks:
    """Block solver: kernel program, k times the fullest row of W, and two rounds of means of what is near.

    Attributes:
        clusters: k.
        budget: B of the program.
        room: row cap in multiples of the largest cluster's expected size, for clusters that came out larger.
        least_weight: weight of the lightest cluster; 1 / k if None.
        elongation: longest axis of a cluster in units of sigma.
        tolerance, iterations: when the program's solver stops.
        polish: rounds of `near_means`, which make up for soft edges of W where clusters are close.
    """

    clusters: int
    budget: float = 1.4
    room: float = 1.15
    tolerance: float = 1e-2
    iterations: int = 40
    polish: int = 2
    least_weight: float | None = None
    elongation: float = 1.0

    def __call__(self, points: Array) -> Array:
        """(m, d) -> (k, d).

        Raises:
            ValueError: equal points, or fewer than k groups (contained in its block by the caller).
        """
        k = self.clusters
        light = 1.0 / k if self.least_weight is None else self.least_weight
        heavy = 1.0 - (k - 1) * light
        pairs = k * ((k - 1) * light**2 + heavy**2)  # sum of squared sizes over m^2 / k
        result = kernel_program(
            drawn_in(points),
            k,
            budget=self.budget * pairs * self.elongation**2,
            cap=self.room * len(points) * heavy,
            tolerance=self.tolerance,
            iterations=self.iterations,
        )
        centres = round_kernel(points, result.matrix, self.clusters)
        for _ in range(self.polish):
            centres = near_means(points, centres, reach=math.sqrt(points.shape[1]) + 3.5 * self.elongation)
        return centres


def drawn_in(points: Array) -> Array:
    """Points beyond `FARTHEST` median distances from the median, moved to that distance.

    So the program's float64 arithmetic does not see 1e300. Groups stay groups, by direction.
    """
    centre = np.median(points, axis=0)
    away = points - centre
    norms = np.linalg.norm(away, axis=1)
    limit = FARTHEST * float(np.median(norms))
    if not np.isfinite(limit) or limit <= 0.0:
        return points
    factor = np.where(norms > limit, limit / np.maximum(norms, 1e-300), 1.0)
    return centre + away * factor[:, None]


def round_kernel(points: Array, matrix: Array, clusters: int) -> Array:
    """k weighted means read off W: fullest row first, its points then taken away. O(k m^2).

    Raises:
        ValueError: no points are left for one of the k.
    """
    held = np.where(matrix >= HELD, matrix, 0.0)
    free = np.ones(len(points), dtype=bool)
    centres = []
    for _ in range(clusters):
        fullness = np.where(free, held @ free, -1.0)
        seed = int(np.argmax(fullness))
        if fullness[seed] <= 0.0:
            raise ValueError("fewer than k groups of points")
        group = held[seed] > 0.0
        weights = matrix[group].mean(axis=0)
        weights = np.where(weights >= HELD, weights, 0.0)
        if weights.sum() <= 0.0:
            weights = group.astype(np.float64)
        origin = points[seed]
        centres.append(origin + weights @ (points - origin) / weights.sum())
        free &= matrix[seed] < TOUCHED
    return np.array(centres)


def near_means(points: Array, centres: Array, reach: float | None = None) -> Array:
    """Means of the points that are nearest to each centre and within `reach` of it; points in sigmas.

    The reach is sqrt(d) + 3.5 by default.

    A centre that nothing is near to stays. So outliers, however far, count for nothing.
    """
    distances = np.linalg.norm(points[:, None, :] - centres[None, :, :], axis=2)
    nearest = np.argmin(distances, axis=1)
    limit = math.sqrt(points.shape[1]) + 3.5 if reach is None else reach
    close = distances.min(axis=1) <= limit
    moved = centres.copy()
    for label in range(len(centres)):
        mine = points[close & (nearest == label)]
        if len(mine):
            moved[label] = centres[label] + np.mean(mine - centres[label], axis=0)
    return moved


def kmeans_blocks(clusters: int) -> BlockSolver:
    """scikit-learn's k-means with a fixed seed as a block solver (not robust to far points)."""
    need("sklearn", "this clustering of blocks")  # here: a block that fails must not hide it
    from sklearn.cluster import KMeans

    return _of_sklearn(partial(KMeans, clusters, n_init=4, random_state=0), "cluster_centers_")


def mixture_blocks(clusters: int) -> BlockSolver:
    """scikit-learn's spherical Gaussian mixture with a fixed seed as a block solver."""
    need("sklearn", "this clustering of blocks")  # here: a block that fails must not hide it
    from sklearn.mixture import GaussianMixture

    spherical = partial(GaussianMixture, clusters, covariance_type="spherical", n_init=2, random_state=0)
    return _of_sklearn(spherical, "means_")


def _of_sklearn(made: Callable[[], Any], centres: str) -> BlockSolver:
    """A clustering as a block solver."""
    return lambda points: getattr(made().fit(points), centres)


SOLVERS = ("auto", "sos", "kmeans", "mixture")


def check_solver(solver: str | BlockSolver) -> None:
    """Raise ValueError unless this is a function or one of `SOLVERS`."""
    if not callable(solver) and solver not in SOLVERS:
        raise ValueError(f"solver must be a function or one of {', '.join(SOLVERS)}, got {solver!r}")


def hashed(solver: str | BlockSolver) -> str | BlockSolver:
    """The solver; one without a hash, as of a dataclass, as an object of its own that has one."""
    try:
        hash(solver)
    except TypeError:
        return solver if isinstance(solver, str) else partial(solver)
    return solver


def block_solver(solver: str | BlockSolver, facts: Facts) -> BlockSolver:
    """The function of that name, fitted to public facts; a function is returned as it is.

    Raises:
        ValueError: a name that is none of `SOLVERS` but "auto", which a plan decides.
    """
    if callable(solver):
        return solver
    check_solver(solver)
    if solver == "auto":
        raise ValueError("a plan decides between solvers: give the name of one")
    if solver == "sos":
        return SumOfSquaresBlocks(
            facts.clusters, least_weight=facts.least_weight, elongation=facts.elongation
        )
    return kmeans_blocks(facts.clusters) if solver == "kmeans" else mixture_blocks(facts.clusters)
