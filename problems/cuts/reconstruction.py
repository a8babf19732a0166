"""From a noisy graph to a synthetic one: post-processing of what was released, never of the data.

Methods and what is known of their error: docs/proofs/cuts_synthetic_graph.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sosdp.structured.cut_linear_program import nearest_in_cut_norm
from sosdp.structured.cut_projection import project_in_cut_norm
from sosdp.structured.spectral_band import shrink_spectrum, smoothest_in_band, soft_threshold

GRID = 2.0**-20
"""Entries of a synthetic graph are multiples of this, so that differences from the private weights are
exact."""

EXPONENTIAL_LIMIT = 36
"""Cutting planes of the exponential linear program take seconds up to this many vertices, then minutes."""
_HUGE = 1e100  # squares of larger noise, of an epsilon of next to nothing, may overflow


@dataclass(frozen=True, eq=False)
class NoisyGraph:
    """A released, unbiased graph on [0, 1]-scaled weights.

    values: W (n, n), symmetric, zero diagonal, E W = A; deviation: standard deviation of the noise of a pair;
    bits: the flipped 0/1 graph, or None for Laplace noise; flip: probability of a flip (0 for Laplace noise).
    """

    values: np.ndarray
    deviation: float
    bits: np.ndarray | None = None
    flip: float = 0.0

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.values.shape[0]

    @property
    def density(self) -> float:
        """Mean weight of a pair, clipped into (0, 1)."""
        pairs = self.n * (self.n - 1)
        mean = self.values.sum() / pairs
        # noise beyond the largest float (epsilon of 1e-308) says nothing
        return float(np.clip(mean if np.isfinite(mean) else 0.5, 0.5 / pairs, 1.0 - 0.5 / pairs))

    @property
    def band(self) -> float:
        """1.02 times the asymptotic spectral norm of the noise, 2 deviation sqrt(n)."""
        return 1.02 * 2.0 * self.deviation * math.sqrt(self.n)


def constant(noisy: NoisyGraph) -> np.ndarray:
    """The released density for every pair."""
    result = np.full(noisy.values.shape, noisy.density)
    np.fill_diagonal(result, 0.0)
    return result


def smooth(noisy: NoisyGraph) -> np.ndarray:
    """The flattest graph in the spectral band around the noisy one."""
    return smoothest_in_band(noisy.values, noisy.band, noisy.density)


def spectral(noisy: NoisyGraph) -> np.ndarray:
    """Eigenvalue soft-thresholding, clipped to the box."""
    return np.clip(_symmetric(soft_threshold(noisy.values, noisy.band, noisy.density)), 0.0, 1.0)


def cut_sdp(noisy: NoisyGraph) -> np.ndarray:
    """Nearest graph in cut norm, by the compact semidefinite program."""
    return project_in_cut_norm(noisy.values).graph


def linear_program(noisy: NoisyGraph) -> np.ndarray:
    """Nearest graph in cut norm, by cutting planes of the exponential linear program; small graphs only.

    Raises:
        ValueError: more than 36 vertices (public).
    """
    if noisy.n > EXPONENTIAL_LIMIT:
        raise ValueError(
            f"the exponential linear program is for at most {EXPONENTIAL_LIMIT} vertices, this graph has "
            f'{noisy.n}: use method="cut_sdp" (the compact equivalent) or the default'
        )
    return nearest_in_cut_norm(noisy.values).graph


def posterior(noisy: NoisyGraph) -> np.ndarray:
    """Mean of every pair given its noisy value and a low-rank belief: shrunk spikes, then Bayes' rule pair
    by pair."""
    density = noisy.density
    spread = math.sqrt(noisy.deviation**2 + density * (1.0 - density))
    belief = np.clip(
        shrink_spectrum(noisy.values, spread, density), 0.05 * density, 1.0 - 0.05 * (1.0 - density)
    )
    if noisy.bits is None:
        rest = max(float(np.mean((noisy.values - belief) ** 2)) - noisy.deviation**2, 0.0)
        weight = rest / (rest + noisy.deviation**2)
        return np.clip(belief + weight * (noisy.values - belief), 0.0, 1.0)
    stay = 1.0 - noisy.flip
    one = belief * stay / (belief * stay + (1.0 - belief) * noisy.flip)
    zero = belief * noisy.flip / (belief * noisy.flip + (1.0 - belief) * stay)
    return np.where(noisy.bits == 1, one, zero)


METHODS: dict[str, Callable[[NoisyGraph], np.ndarray]] = {
    "posterior": posterior,
    "smooth": smooth,
    "cut_sdp": cut_sdp,
    "lp": linear_program,
    "spectral": spectral,
    "constant": constant,
}


def reconstruct(noisy: NoisyGraph, method: str) -> np.ndarray:
    """The synthetic graph of a method, symmetric (n, n), in [0, 1], on the grid, zero diagonal.

    Raises:
        ValueError: an unknown method, or one that does not take a graph of this size.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    try:
        result = METHODS[method](noisy)
    except (ArithmeticError, ValueError):
        if np.abs(noisy.values).max(initial=0.0) < _HUGE:
            raise
        result = constant(noisy)
    if not np.isfinite(result).all():
        result = constant(noisy)
    result = np.rint(_symmetric(np.clip(result, 0.0, 1.0)) / GRID) * GRID
    np.fill_diagonal(result, 0.0)
    return result


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)
