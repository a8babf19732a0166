"""A whole Gaussian, mean and covariance, privately: the pipeline of Theorems 1.3 and 1.4 of Hopkins, Kamath,
Majid and Narayanan (2023) with computable scores.

Covariance from differences of consecutive records, then the mean in the frame that it gives. Every frame is
public once it is released, so each step is an ordinary mechanism on linearly mapped records.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sosdp.estimator.records import LARGEST_RECORD
from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.seal import join

from ..theory import default_lam
from .base import TableEstimator, check_fineness
from .covariance import LARGEST, SPECTRAL, check_condition, pairs_of, release_covariance
from .mean import RobustPrivateMean


class PrivateGaussian(TableEstimator):
    """Mean and covariance of (n, d) records, d <= 6, robust to a fraction of them being anything.

    Args:
        epsilon: budget, pure. split: part of it for the covariance.
        radius: public bound on every coordinate of the mean. condition: public K with I/K <= Sigma <= K I.
            Only their logarithms cost.
        contamination: fraction of records expected to be arbitrary.
        insecure_seed: tests only; voids the guarantee.

    After fit: mean_ (d,), covariance_ (d, d); see `TableEstimator`. Cost: that of both parts.
    """

    mean_: np.ndarray
    covariance_: np.ndarray

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        radius: float,
        condition: float = 10.0,
        split: float = 0.6,
        contamination: float = 0.0,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.radius = radius
        self.condition = condition
        self.split = split
        self.contamination = contamination
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_positive(self.radius, "radius")
        check_condition(self.condition)
        if not 0.0 < float(self.split) < 1.0:
            raise ValueError(f"split must lie in (0, 1), got {self.split!r}")
        if not 0.0 <= float(self.contamination) < 0.25:
            raise ValueError(f"contamination must lie in [0, 1/4), got {self.contamination!r}")

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape
        if d > LARGEST or n < 4:
            raise ValueError(f"needs at least 4 records of at most {LARGEST} coordinates, got {data.shape}")
        # the least eigenvalue that can be released is above .0025 / condition
        reach = 20.0 * float(self.radius) * math.sqrt(d * float(self.condition))
        check_fineness(n, 1.0, reach)
        if reach > LARGEST_RECORD / 2:
            raise ValueError(f"radius = {self.radius!r} is too large for this condition: rescale publicly")
        first, second = split(self.epsilon, (float(self.split), 1 - float(self.split)))
        parts, covariance = release_covariance(
            pairs_of(data),
            epsilon=first,
            condition=float(self.condition),
            contamination=min(0.49, 2 * float(self.contamination)),  # a bad record spoils a pair
            insecure_seed=self.insecure_seed,
        )
        values, vectors = np.linalg.eigh(covariance)
        inverse = (vectors / np.sqrt(values)) @ vectors.T
        mean = RobustPrivateMean(
            second,
            radius=float(self.radius) * math.sqrt(d) / math.sqrt(float(values[0])),
            contamination=float(self.contamination),
            lam=default_lam(n, min(d, 3), float(self.contamination)) * (1 + SPECTRAL) ** 2,
            insecure_seed=self.insecure_seed,
        ).fit(data @ inverse)
        assert mean.mean_ is not None
        value = {
            "mean": (vectors * np.sqrt(values)) @ vectors.T @ mean.mean_,
            "covariance": covariance,
        }
        public = {
            "records": n,
            "dimension": d,
            "radius": float(self.radius),
            "condition": float(self.condition),
        }
        return join([*parts, mean.release_], value, mechanism="gaussian.learner", public=public)

    def _unpack(self, value: Any) -> None:
        self.mean_, self.covariance_ = value["mean"], value["covariance"]
