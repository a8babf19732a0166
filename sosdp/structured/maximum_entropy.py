"""The distribution of largest entropy on {-1, 1}^p with given expected parities.

Source: Wainwright and Jordan 2008, section 3.6; the dual by L-BFGS with Walsh-Hadamard transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp

from sosdp.structured.parities import gibbs, walsh_hadamard

Array = npt.NDArray[np.float64]

LARGEST = 24
"""Coordinates whose 2^p states are listed at most."""


@dataclass(frozen=True, eq=False)
class ParityModel:
    """Pr(z) proportional to exp(sum_I coefficients[I] z^I) on {-1, 1}^p.

    Attributes:
        coefficients: as in `monomials`, which are bit masks.
        residual: largest |expected - wanted| parity (of the fit, float64).
    """

    p: int
    monomials: tuple[int, ...]
    coefficients: Array
    residual: float

    @property
    def probabilities(self) -> Array:
        """(2^p,) probabilities of the states by code."""
        spectrum = np.zeros(1 << self.p)
        spectrum[list(self.monomials)] = self.coefficients
        return gibbs(walsh_hadamard(spectrum))


def maximum_entropy(
    p: int, monomials: Sequence[int], parities: npt.ArrayLike, *, bound: float, iterations: int = 500
) -> ParityModel:
    """The distribution of largest entropy with these expected parities; coefficients within +-bound.

    With parities that no distribution has (noisy ones), coefficients end at the bound; without noise and with
    a bound that holds for a Gibbs distribution with these monomials it is that distribution.

    Args:
        p: number of coordinates, at most LARGEST.
        monomials: bit masks, not 0. parities: their wanted expectations. bound: on every coefficient.

    Raises:
        ValueError: p out of range, an empty monomial, lengths that differ, or a bound <= 0.
    """
    wanted = np.asarray(parities, dtype=np.float64)
    places = np.asarray(monomials, dtype=np.int64)
    if not 1 <= p <= LARGEST:
        raise ValueError(f"all states of p <= {LARGEST} coordinates are listed, got p = {p}")
    if wanted.shape != places.shape or places.ndim != 1 or (places <= 0).any() or (places >= 1 << p).any():
        raise ValueError("one parity for each monomial, which are bit masks between 1 and 2^p - 1")
    if not bound > 0.0:
        raise ValueError(f"bound must be > 0, got {bound!r}")

    def dual(coefficients: Array) -> tuple[float, Array]:
        spectrum = np.zeros(1 << p)
        spectrum[places] = coefficients
        heights = walsh_hadamard(spectrum)
        normaliser = float(logsumexp(heights))
        expected = walsh_hadamard(np.exp(heights - normaliser))[places]
        return normaliser - float(coefficients @ wanted), expected - wanted

    result = minimize(
        dual,
        np.zeros(len(places)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * len(places),
        options={"maxiter": iterations, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20},
    )
    return ParityModel(p, tuple(int(i) for i in places), result.x, float(np.abs(dual(result.x)[1]).max()))
