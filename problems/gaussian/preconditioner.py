"""A rough private frame for three coordinates or more, in which records have a covariance near the identity:
so that matrices found pair by pair fit together.

The scale of every coordinate (medians of log |x|, exact level sets), then correlations from the directions of
pairs (averages of bounded numbers; for two coordinates this is a step of Tyler's (1987) estimator of shape).
Privacy: docs/proofs/scores.md, bounded_average.md; every function takes records one by one, and every later
frame is a public function of earlier releases (gaussian_scores.md, 6).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.basic.average import bounded_average
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.location import coordinate_max, median_weights
from sosdp.privacy.scores.score import cube

MEDIAN_LOG = -0.3932  # median of log |g| for g ~ N(0, 1)
ROUGH = (0.05, 6.0)  # eigenvalues of a rough correlation matrix, public
LOG_SPACING = Fraction(1, 64)
SPENT = 0.2  # share of the budget at n epsilon = 2000
MOST_SPENT = 0.3


def frame_share(n: int, epsilon: float) -> float:
    """The public share of epsilon that goes into the frame: less where records are many."""
    return min(MOST_SPENT, SPENT * math.sqrt(2000.0 / (n * epsilon)))


def release_frame(
    rows: np.ndarray, epsilon: float, condition: float, insecure_seed: int | None
) -> tuple[list[Release], np.ndarray]:
    """Two releases that cost epsilon together, and a matrix F, (d, d), with F^-1 x about of covariance I."""
    first, second = split(epsilon, (0.6, 0.4))
    scales = release_scales(rows, first, condition, insecure_seed)
    frame = np.diag(np.asarray(scales.value))
    part = release_correlations(rows / np.diag(frame), second, insecure_seed)
    return [scales, part], frame @ root(np.asarray(part.value))


def release_scales(rows: np.ndarray, epsilon: float, condition: float, insecure_seed: int | None) -> Release:
    """Standard deviations of all coordinates, (d,): medians of log |x_j|, within a factor exp(1/64)."""
    logs = np.log(np.maximum(np.abs(rows), 2.0**-60)) - MEDIAN_LOG
    lattice = cube(LOG_SPACING, Fraction(0.5 * math.log(condition) + 0.5), rows.shape[1])
    score = coordinate_max(median_weights(rows.shape[0]), lattice, refine=16)
    found = pure_exponential(
        score, logs, epsilon=epsilon, mechanism="gaussian.scales", insecure_seed=insecure_seed
    )
    return Release(np.exp(np.asarray(found.value)), found.guarantee, public=found.public)


def release_correlations(rows: np.ndarray, epsilon: float, insecure_seed: int | None) -> Release:
    """A correlation matrix of coordinates of about unit variance, (d, d), eigenvalues in a public range.

    The mean m of 2 x y / (x^2 + y^2), the sine of the doubled angle, is tan(asin(r) / 2) at correlation r, so
    r = 2 m / (1 + m^2). The vector of all pairs has l1 norm at most d (d - 1) / 2.
    """
    n, d = rows.shape
    i, j = np.triu_indices(d, 1)
    squares = rows[:, i] ** 2 + rows[:, j] ** 2
    sines = 2.0 * rows[:, i] * rows[:, j] / np.where(squares > 0, squares, 1.0)
    found = bounded_average(
        sines, radius=math.sqrt(i.size) * (1 + 1e-9), epsilon=epsilon, insecure_seed=insecure_seed
    )
    mean = np.clip(np.asarray(found.value), -0.7, 0.7)
    matrix = np.eye(d)
    matrix[i, j] = matrix[j, i] = np.clip(2.0 * mean / (1.0 + mean**2), -0.95, 0.95)
    return Release(inside(matrix, ROUGH), found.guarantee, public=found.public)


def inside(matrix: np.ndarray, domain: tuple[float, float]) -> np.ndarray:
    """The symmetric matrix with eigenvalues clipped to the domain (post-processing)."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.clip(values, *domain)) @ vectors.T


def root(matrix: np.ndarray) -> np.ndarray:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values)) @ vectors.T
