"""Ising parameters from noisy means and pairwise moments, one Gaussian and any fit; or by noisy gradients.

Proof: docs/proofs/mrf_moments.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.field import Field, Fitted, choice
from sosdp.privacy.calibrate import root_up
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.output_perturbation import release_vector
from sosdp.privacy.mechanisms.projected_gradient import private_projected_gradient
from sosdp.structured.maximum_entropy import maximum_entropy

from ..program import ising_parameters, ising_regressions, signs
from ..theory import PARITIES, parity_sensitivity
from .base import FieldEstimator, parameter_value

Array = npt.NDArray[np.float64]

LISTED = 16
"""Maximum entropy lists the states up to this many nodes; the Bethe free energy serves beyond."""

INFERENCES = ("auto", "maximum entropy", "bethe", "mean field")


def moment_sums(table: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """Sums of z_i and of z_i z_j, i < j: p (p + 1) / 2 integers, exact."""
    # whole numbers below 2^53 in float64 are added exactly, by a fast routine
    plain = table.astype(np.float64)
    upper = np.triu_indices(table.shape[1], 1)
    return np.concatenate([plain.sum(axis=0), (plain.T @ plain)[upper]]).astype(np.int64)


def fit_moments(
    means: Array, pairs: Array, *, width: float, inference: str, noise: float = 0.0
) -> tuple[Array, Array]:
    """Weights (p, p) and field (p,) of the Ising model with nearly these moments.

    Args:
        means: (p,). pairs: (p, p) of E z_i z_j; the diagonal is ignored. width: bound on each coefficient.
        inference: "maximum entropy" (exact, p <= 24); "mean field": A = -C^-1 off the diagonal, C the
            covariance with eigenvalues of at least e^(-2 width) / 2 and 2 sqrt(p) noise; "bethe": from the
            same inverse by `bethe_weights`.
        noise: standard deviation of the errors of the moments, public.
    """
    p = len(means)
    upper = np.triu_indices(p, 1)
    if inference == "maximum entropy":
        masks = [1 << i for i in range(p)] + [1 << int(i) | 1 << int(j) for i, j in zip(*upper, strict=True)]
        wanted = np.clip(np.concatenate([means, pairs[upper]]), -1.0, 1.0)
        result = maximum_entropy(p, masks, wanted, bound=width).coefficients
        field, weights = result[:p], np.zeros((p, p))
        weights[upper] = result[p:]
        return weights + weights.T, field
    means = np.clip(means, -1.0, 1.0)
    covariance = np.clip(pairs, -1.0, 1.0) - np.outer(means, means)
    np.fill_diagonal(covariance, 1.0 - means**2)
    values, vectors = np.linalg.eigh(covariance)
    # 2 sqrt(p) noise is the norm of a matrix of noise alone
    floor = max(math.exp(-2.0 * width) / 2.0, 2.0 * noise * math.sqrt(p))
    precision = (vectors / np.maximum(values, floor)) @ vectors.T
    precision = (precision + precision.T) / 2.0
    inside = np.clip(means, -1.0 + 1e-6, 1.0 - 1e-6)
    weights = -precision if inference == "mean field" else bethe_weights(precision, inside)
    weights = np.clip(weights, -width, width)
    np.fill_diagonal(weights, 0.0)
    if inference == "mean field":
        return weights, np.clip(np.arctanh(inside) - weights @ means, -width, width)
    t = np.tanh(weights)
    from_j, at_i = inside[None, :], inside[:, None]
    rest = 1.0 - t**2
    root = np.sqrt(np.maximum(rest**2 - 4.0 * t * (from_j - at_i * t) * (at_i - from_j * t), 0.0))
    pulls = np.arctanh(np.clip(2.0 * t * (from_j - at_i * t) / (rest + root), -1.0 + 1e-9, 1.0 - 1e-9))
    return weights, np.clip(np.arctanh(inside) - pulls.sum(axis=1), -width, width)


def bethe_weights(precision: Array, means: Array) -> Array:
    """Interactions (p, p) of the Bethe free energy with this inverse covariance; exact on trees.

    Source: Ricci-Tersenghi 2012, "The Bethe approximation for solving the inverse Ising problem", equation
    (13). The diagonal means nothing.
    """
    spread, product = 1.0 - means**2, np.outer(means, means)
    root = np.sqrt(1.0 + 4.0 * np.outer(spread, spread) * precision**2)
    inner = np.sqrt(np.maximum((root - 2.0 * product * precision) ** 2 - 4.0 * precision**2, 0.0))
    # (root - inner) / (2 C^-1) without the cancellation
    ratio = 2.0 * (product * root + precision * (1.0 - product**2)) / (root + inner)
    return -np.arctanh(np.clip(ratio - product, -1.0 + 1e-9, 1.0 - 1e-9))


class MomentsIsing(FieldEstimator):
    """Weights and field of an Ising model from one noisy vector of moments; the best up to p in the hundreds.

    Further attributes after fit: means_ (p,) and moments_ (p, p), the noisy moments.
    """

    zero_field: bool = Field(
        None,
        "the field is known to be zero: only pairwise moments are released",
        default=False,
        kw_only=True,
    )
    inference: str = Field(
        choice(*INFERENCES),
        '"auto" (maximum entropy up to p = 16, then "bethe"), "maximum entropy", "bethe" (exact on trees) or '
        '"mean field"',
        default="auto",
        kw_only=True,
    )

    _forecast = "MomentsIsing"

    means_: Array = Fitted()
    moments_: Array = Fitted()

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        if p < 2:
            raise ValueError("a Markov random field needs at least two columns")
        noisy = self._noisy(signs(data))
        averages = noisy.value.values() / n  # from here on everything is post-processing
        means = np.zeros(p) if self.zero_field else averages[:p]
        pairs = np.eye(p)
        upper = np.triu_indices(p, 1)
        pairs[upper] = averages[-len(upper[0]) :]
        pairs = np.triu(pairs, 1) + np.triu(pairs).T
        inference = self.inference
        if inference == "auto":
            inference = "maximum entropy" if p <= LISTED else "bethe"
        noise = noisy.value.scale / n
        weights, field = fit_moments(means, pairs, width=float(self.width), inference=inference, noise=noise)
        if self.zero_field:
            field = np.zeros(p)
        value: dict[str, Any] = parameter_value(weights, field, self.threshold)
        value |= {"means": means, "moments": pairs}
        return noisy.postprocess(value, public={"n": n, "dimension": p, "inference": inference})

    def _noisy(self, table: npt.NDArray[np.int8]) -> Release:
        """The sums, or those of pairs alone, with Gaussian noise."""
        n, p = table.shape
        sums = moment_sums(table)
        moved = parity_sensitivity(p, 2, least=2 if self.zero_field else 1)
        return release_vector(
            self._terms(table, "mrf.moments", proof=PARITIES),
            sums[p:] if self.zero_field else sums,
            sensitivity=Fraction(root_up(Fraction(moved))),
            low=-float(n),
            high=float(n),
        )


class GradientIsing(FieldEstimator):
    """Weights and field of an Ising model by noisy projected gradients on all regressions together.

    The noise is of order p / n.
    """

    iterations: int = Field(None, "number of gradient steps", default=60, kw_only=True)
    step: float = Field(None, "size of one", default=1.0, kw_only=True)

    _forecast = "GradientIsing"

    def _release(self, data: np.ndarray) -> Release:
        release = private_projected_gradient(
            self._terms(data),
            ising_regressions(signs(data)),
            radius=2.0 * float(self.width),
            iterations=self.iterations,
            step=float(self.step),
        )
        value = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.gradient", public={"dimension": data.shape[1]})
