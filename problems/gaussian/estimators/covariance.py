"""Robust and private covariance of mean-zero (or paired) records, by the packing score of their squares.

One exact draw for one or two coordinates. More are drawn in pairs, in a rough frame (`frames`). Source:
Hopkins, Kamath, Majid and Narayanan (2023), Theorems 6.1 and 7.1, with the completion score on svec(x x^T),
its bound relative to the candidate (docs/proofs/gaussian_scores.md, 1), in place of programs of degree 12:
nothing has to be preconditioned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.score import Lattice
from sosdp.privacy.seal import join

from ..model import PackingProblem, smat
from ..preconditioner import frame_share, inside, release_frame
from ..program import PackingScore
from ..sampler import DyadicBoxes
from .base import TableEstimator, spacing_for

LARGEST = 6  # coordinates: beyond two they are estimated in pairs, each with its share of the budget
DOMAIN = (0.3, 3.0)  # eigenvalues in a rough frame, public
NEAR = 1.5  # a condition bound up to which no frame is worth its budget
SPECTRAL = 0.03  # public guess of the spectral error of a released covariance


def default_lam(n: int, size: int) -> float:
    """Public bound on the covariance of svec(x x^T) for x ~ N(0, I), and so, relatively, for any Gaussian:
    2 (1 + 1.5 sqrt(D/n)).
    """
    return 2.0 * (1.0 + 1.5 * math.sqrt(size / n))


class RobustPrivateCovariance(TableEstimator):
    """Covariance matrix of (n, d) records, robust to a fraction of them being anything.

    Args:
        epsilon: budget, pure.
        condition: public K, 1 to 10^4, with I/K <= Sigma <= K I. Only its logarithm costs. The ratio of the
            eigenvalues of what is released is at most 10^7 / n for pairs (rounding, see `PackingScore`).
        paired: True: records have an unknown mean, and differences of consecutive ones are used, n/2 of them.
        contamination: fraction of records expected to be arbitrary; widens the bound on the fourth moments.
        insecure_seed: tests only; voids the guarantee.

    After fit: covariance_ (d, d), positive definite; see `TableEstimator`.

    Privacy: one record replaced changes one row (paired or not), a frame is released before it is used, and
    the guarantees compose. Up to two coordinates are one exact draw; more (at most six) are drawn in pairs
    that share the budget. Cost: seconds a pair (n = 2000).
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

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_condition(self.condition)
        if not 0.0 <= float(self.contamination) < 0.5:
            raise ValueError(f"contamination must lie in [0, 1/2), got {self.contamination!r}")

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape
        if d > LARGEST:
            raise ValueError(
                f"at most {LARGEST} coordinates, {d} would take {math.comb(d, 2)} "
                "draws: project the records to fewer by a public map"
            )
        used = pairs_of(data) if self.paired else data
        if used.shape[0] < 2:
            raise ValueError("paired records: at least four are needed")
        parts, found = release_covariance(
            used,
            epsilon=float(self.epsilon),
            condition=float(self.condition),
            contamination=float(self.contamination),
            insecure_seed=self.insecure_seed,
        )
        public = {"records": n, "dimension": d, "condition": float(self.condition)}
        return join(parts, found, mechanism="gaussian.covariance", public=public)

    def _unpack(self, value: Any) -> None:
        self.covariance_ = value


def check_condition(condition: float) -> None:
    """ValueError unless 1 <= K <= 10^4: records are clipped at 2^10, ten standard deviations then."""
    check_positive(condition, "condition")
    if not 1.0 <= condition <= 1e4:
        raise ValueError(f"condition must lie in [1, 10^4], got {condition!r}: rescale the records publicly")


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
    lam = default_lam(n, min(d * (d + 1) // 2, 3))
    if contamination > 0:
        lam = lam * (1.0 + 3.0 * contamination * math.log(1.0 / contamination) ** 2)
    if d <= 2 or condition <= NEAR:
        return _release_matrix(rows, epsilon, lam, (1.0 / condition, condition), insecure_seed)
    share = frame_share(n, epsilon)
    rough, rest = split(epsilon, (share, 1 - share))
    parts, frame = release_frame(rows, rough, condition, insecure_seed)
    framed = rows @ np.linalg.inv(frame).T
    found, matrix = _release_matrix(framed, rest, lam, DOMAIN, insecure_seed)
    return parts + found, frame @ matrix @ frame.T


def _release_matrix(
    rows: np.ndarray, epsilon: float, lam: float, domain: tuple[float, float], insecure_seed: int | None
) -> tuple[list[Release], np.ndarray]:
    """A covariance matrix with eigenvalues in the domain: one draw for d <= 2, else one for every pair."""
    d = rows.shape[1]
    blocks: list[Sequence[int]] = [list(range(d))] if d <= 2 else [list(p) for p in combinations(range(d), 2)]
    total, seen = np.zeros((d, d)), np.zeros((d, d))
    releases = []
    each = split(epsilon, len(blocks))[0]
    for number, columns in enumerate(blocks):
        seed = None if insecure_seed is None else insecure_seed + 1000 + number
        release = _draw(rows[:, columns], each, lam, domain, seed)
        releases.append(release)
        place = np.ix_(columns, columns)
        total[place] += smat(np.asarray(release.value))
        seen[place] += 1.0
    return releases, inside(total / seen, domain)


def _draw(
    rows: np.ndarray, epsilon: float, lam: float, domain: tuple[float, float], seed: int | None
) -> Release:
    """svec of one matrix of side 1 or 2 by the exact sampler."""
    n, d = rows.shape
    size = d * (d + 1) // 2
    # features are below 2^21: differences from a lattice of at least 2^-30 are exact floats
    spacing = max(spacing_for(n, math.sqrt(lam) * domain[0]), Fraction(1, 2**30))
    diagonal = (math.ceil(Fraction(domain[0]) / spacing), math.floor(Fraction(domain[1]) / spacing))
    reach = math.floor(Fraction(math.sqrt(2.0) * domain[1]) / spacing)
    i, j = np.triu_indices(d)
    box = tuple(diagonal if a == b else (-reach, reach) for a, b in zip(i.tolist(), j.tolist(), strict=True))
    problem = PackingProblem("covariance", d, lam, relative=True)
    score = PackingScore(problem, Lattice(spacing, size, box), n, domain=domain)
    return pure_exponential(
        score,
        rows,
        epsilon=epsilon,
        sampler=DyadicBoxes(),
        mechanism="gaussian.covariance.block",
        insecure_seed=seed,
    )
