"""Robust and private covariance of mean-zero (or paired) records, by the packing score of their squares.

Three releases, each in the frame of the one before: the scale of every coordinate (medians of log |x|, exact
level sets), correlations from the scales of sums and differences of coordinates (the same score), and the
final matrix by the completion score on svec(x x^T). Source:
Hopkins, Kamath, Majid and Narayanan (2023), Theorems 6.1 and 7.1 (preconditioning, then Frobenius norm), with
the score of docs/proofs/gaussian_scores.md, 4 in place of the degree-12 programs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.release import Release
from sosdp.privacy.roads.exponential import pure_exponential
from sosdp.privacy.score import Lattice, cube
from sosdp.privacy.scores.location import coordinate_max, median_weights

from .boxes import DyadicBoxes
from .estimator import RecordEstimator, joined, silenced
from .scores import PackingProblem, PackingScore, smat

LARGEST = 6  # coordinates: beyond two they are estimated in pairs, each with its share of the budget
MEDIAN_LOG = -0.3932  # median of log |g| for g ~ N(0, 1)
SHARES = {False: (0.0, 0.0, 1.0), True: (0.08, 0.12, 0.8)}
DOMAIN = (0.4, 2.5)  # eigenvalues in the last frame, public
ROUGH = (0.05, 6.0)  # and of a correlation matrix
SPECTRAL = 0.03  # public guess of the spectral error of a frame
LOG_SPACING = Fraction(1, 64)


def default_lam(n: int, size: int) -> float:
    """Public bound on the covariance of svec(x x^T) for x ~ N(0, I): 2 (1 + 1.5 sqrt(D/n))."""
    return 2.0 * (1.0 + 1.5 * math.sqrt(size / n))


class RobustPrivateCovariance(RecordEstimator):
    """Covariance matrix of (n, d) records, robust to a fraction of them being anything.

    Args:
        epsilon: budget, pure.
        condition: public K >= 1 with I/K <= Sigma <= K I; 1.5 or less skips the two preparing releases. Only
            its logarithm costs.
        paired: True: records have an unknown mean, and differences of consecutive ones are used, n/2 of them.
        contamination: fraction of records expected to be arbitrary; widens the bound on the fourth moments.
        insecure_seed: tests only; voids the guarantee.

    After fit: covariance_ (d, d), positive definite; see `RecordEstimator`.

    Privacy: one record replaced changes one row (paired or not), the frames are released before they are
    used, and the guarantees compose. Up to two coordinates are one exact draw; more (at most six) are drawn
    in pairs that share the budget. Cost: seconds a pair.
    """

    covariance_: np.ndarray

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        condition: float = 10.0,
        paired: bool = False,
        contamination: float = 0.0,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.condition = condition
        self.paired = paired
        self.contamination = contamination
        self.insecure_seed = insecure_seed

    def fit(self, X: Any, y: Any = None) -> RobustPrivateCovariance:
        """Release the covariance once. Raises ValueError or TypeError from public facts only."""
        check_epsilon(self.epsilon)
        check_positive(self.condition, "condition")
        if self.condition < 1.0:
            raise ValueError(f"condition must be >= 1, got {self.condition!r}")
        if not 0.0 <= float(self.contamination) < 0.5:
            raise ValueError(f"contamination must lie in [0, 1/2), got {self.contamination!r}")
        rows = self._records(X)
        if rows.shape[1] > LARGEST:
            raise ValueError(
                f"at most {LARGEST} coordinates, {rows.shape[1]} would take {math.comb(rows.shape[1], 2)} "
                "draws: project the records to fewer by a public map"
            )
        with silenced():
            used = pairs_of(rows) if self.paired else rows
            if used.shape[0] < 2:
                raise ValueError("paired records: at least four are needed")
            parts, found = release_covariance(
                used,
                epsilon=float(self.epsilon),
                condition=float(self.condition),
                contamination=float(self.contamination),
                insecure_seed=self.insecure_seed,
            )
        release = joined(
            parts,
            found,
            "gaussian.covariance",
            None,
            {"records": rows.shape[0], "dimension": rows.shape[1], "condition": float(self.condition)},
        )
        self.covariance_ = found
        self._keep(release)
        return self


def pairs_of(rows: np.ndarray) -> np.ndarray:
    """(x_2i - x_(2i-1)) / sqrt 2 by position: mean 0, the same covariance; a record is in one pair."""
    half = rows.shape[0] // 2
    return (rows[1 : 2 * half : 2] - rows[0 : 2 * half : 2]) / math.sqrt(2.0)


def release_covariance(
    rows: np.ndarray,
    *,
    epsilon: float,
    condition: float,
    contamination: float = 0.0,
    insecure_seed: int | None,
) -> tuple[list[Release], np.ndarray]:
    """The releases whose composition is the guarantee, and the matrix made of them.

    Source: docs/proofs/gaussian_scores.md, 6 (every frame is a fixed linear map once it is released).
    """
    n, d = rows.shape
    frame = np.eye(d)
    parts: list[Release] = []
    prepare = condition > 1.5
    scale_share, rough_share, last = SHARES[prepare]
    if d == 1 and prepare:
        scale_share, rough_share, last = 0.15, 0.0, 0.85
    if prepare:
        part = release_scales(rows, scale_share * epsilon, condition, insecure_seed)
        parts.append(part)
        frame = np.diag(np.asarray(part.value))
    if rough_share:
        part = release_correlations(rows / np.diag(frame), rough_share * epsilon, insecure_seed)
        parts.append(part)
        frame = frame @ _root(np.asarray(part.value))
    lam = default_lam(n, min(d * (d + 1) // 2, 3)) * ((1 + SPECTRAL) ** 2 if prepare else condition**2)
    found, matrix = _release_matrix(
        rows @ np.linalg.inv(frame).T,
        last * epsilon * (1 - 1e-12),
        lam=lam,
        domain=DOMAIN if prepare else (1.0 / condition, condition),
        contamination=contamination,
        insecure_seed=insecure_seed,
    )
    return parts + found, frame @ matrix @ frame.T


def release_scales(rows: np.ndarray, epsilon: float, condition: float, insecure_seed: int | None) -> Release:
    """Standard deviations of all coordinates, (d,): medians of log |x_j|, within a factor exp(1/64)."""
    radius = Fraction(0.5 * math.log(condition) + 0.5)
    found = release_log_scales(rows, epsilon, radius, "gaussian.scales", insecure_seed)
    return Release(np.exp(np.asarray(found.value)), found.guarantee, public=found.public)


def release_correlations(rows: np.ndarray, epsilon: float, insecure_seed: int | None) -> Release:
    """A correlation matrix of coordinates of about unit variance, (d, d), eigenvalues in a public range.

    The variances of (z_i + z_j) / sqrt 2 and (z_i - z_j) / sqrt 2, read off medians of logarithms, differ by
    twice the correlation.
    """
    n, d = rows.shape
    i, j = np.triu_indices(d, 1)
    both = np.hstack([rows[:, i] + rows[:, j], rows[:, i] - rows[:, j]]) / math.sqrt(2.0)
    found = release_log_scales(both, epsilon, Fraction(2), "gaussian.correlations", insecure_seed)
    variances = np.exp(2.0 * np.asarray(found.value))
    matrix = np.eye(d)
    matrix[i, j] = matrix[j, i] = np.clip((variances[: i.size] - variances[i.size :]) / 2.0, -0.95, 0.95)
    return Release(_inside(matrix, ROUGH), found.guarantee, public=found.public)


def release_log_scales(
    rows: np.ndarray, epsilon: float, radius: Fraction, mechanism: str, insecure_seed: int | None
) -> Release:
    """log of the standard deviation of every column, (columns,): medians of log |x| on a public lattice."""
    logs = np.log(np.maximum(np.abs(rows), 2.0**-60)) - MEDIAN_LOG
    lattice = cube(LOG_SPACING, radius, rows.shape[1])
    score = coordinate_max(median_weights(rows.shape[0]), lattice, refine=16)
    return pure_exponential(score, logs, epsilon=epsilon, mechanism=mechanism, insecure_seed=insecure_seed)


def _release_matrix(
    rows: np.ndarray,
    epsilon: float,
    *,
    lam: float,
    domain: tuple[float, float],
    contamination: float,
    insecure_seed: int | None,
) -> tuple[list[Release], np.ndarray]:
    """A covariance matrix with eigenvalues in the domain: one draw for d <= 2, else one for every pair."""
    n, d = rows.shape
    if contamination > 0:
        lam = lam * (1.0 + 3.0 * contamination * math.log(1.0 / contamination) ** 2)
    blocks: list[Sequence[int]] = [list(range(d))] if d <= 2 else [list(p) for p in combinations(range(d), 2)]
    total, seen = np.zeros((d, d)), np.zeros((d, d))
    releases = []
    for number, columns in enumerate(blocks):
        seed = None if insecure_seed is None else insecure_seed + 1000 + number
        release = _draw(rows[:, columns], epsilon / len(blocks) * (1 - 1e-12), lam, domain, seed)
        releases.append(release)
        place = np.ix_(columns, columns)
        total[place] += smat(np.asarray(release.value))
        seen[place] += 1.0
    return releases, _inside(total / seen, domain)


def _draw(
    rows: np.ndarray, epsilon: float, lam: float, domain: tuple[float, float], seed: int | None
) -> Release:
    """svec of one matrix of side 1 or 2 by the exact sampler."""
    n, d = rows.shape
    size = d * (d + 1) // 2
    spacing = Fraction(2) ** math.floor(math.log2(math.sqrt(lam) / (100.0 * n)))
    diagonal = (math.ceil(Fraction(domain[0]) / spacing), math.floor(Fraction(domain[1]) / spacing))
    reach = math.floor(Fraction(math.sqrt(2.0) * domain[1]) / spacing)
    i, j = np.triu_indices(d)
    box = tuple(diagonal if a == b else (-reach, reach) for a, b in zip(i.tolist(), j.tolist(), strict=True))
    problem = PackingProblem("covariance", d, lam)
    score = PackingScore(problem, Lattice(spacing, size, box), n, domain=domain)
    return pure_exponential(
        score,
        rows,
        epsilon=epsilon,
        sampler=DyadicBoxes(),
        mechanism="gaussian.covariance.block",
        insecure_seed=seed,
    )


def _inside(matrix: np.ndarray, domain: tuple[float, float]) -> np.ndarray:
    """The symmetric matrix with eigenvalues clipped to the domain (post-processing)."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.clip(values, *domain)) @ vectors.T


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values)) @ vectors.T
