"""What one does with a pseudo-expectation: condition, mix, push forward, round, check.

Every function takes a linear functional E, that is a ``PseudoExpectation`` or the result of another function
here: something with a ``degree`` that maps polynomials (or arrays of them) to numbers. Sources: Barak and
Steurer's lecture notes on proofs and beliefs (conditioning, Gaussian rounding), Barak, Raghavendra, Steurer
2011.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algebra.coefficients import object_array
from ..algebra.polynomial import Polynomial
from ..lazy import listed
from .assemble.diagonal_dominance import least_eigenvalues
from .pseudoexpectation import PseudoExpectation

__all__ = [
    "Functional",
    "Violations",
    "covariance",
    "gaussian",
    "gram_factor",
    "mix",
    "push_forward",
    "reweight",
    "violations",
]
__dir__ = listed(__name__)


@dataclass(frozen=True, eq=False)
class Functional:
    """A linear functional on polynomials of degree at most ``degree``, normalised to E[1] = 1."""

    degree: int
    evaluate: Callable[[Polynomial], float]

    def __call__(self, p: Any) -> Any:
        """Value on a polynomial, or elementwise on an array; ValueError above the degree."""
        if isinstance(p, np.ndarray):
            return np.array([self(q) for q in p.reshape(-1)], dtype=float).reshape(p.shape)
        poly = p if isinstance(p, Polynomial) else Polynomial(p)
        if poly.degree > self.degree:
            raise ValueError(
                f"this functional has degree {self.degree}, the polynomial {poly.degree}; "
                "raise the degree of the relaxation it came from"
            )
        return float(self.evaluate(poly))


Linear = PseudoExpectation | Functional


def reweight(E: Linear, weight: Polynomial) -> Functional:
    """E'[p] = E[p w] / E[w] for a sum of squares w: conditioning, of degree lower by that of w.

    With w = x for x**2 = x this is conditioning on x = 1. If E satisfies a system at its degree, so does E'
    at its own. ValueError if E[w] is not positive, or w leaves no degree. That w is a sum of squares is the
    caller's claim.
    """
    mass = E(weight)
    if not mass > 0:
        raise ValueError(f"the weight has pseudo-expectation {mass:.3g}; conditioning needs a positive one")
    rest = E.degree - weight.degree
    if rest < 2:
        raise ValueError(
            f"a weight of degree {weight.degree} leaves {rest} of degree {E.degree}: start from a higher one"
        )
    return Functional(rest, lambda p: E(p * weight) / mass)


def mix(first: Linear, second: Linear, weight: float) -> Functional:
    """(1 - weight) E_1 + weight E_2, of the smaller degree; ValueError unless the weight is in [0, 1]."""
    if not 0 <= weight <= 1:
        raise ValueError(f"the weight of a mixture lies in [0, 1], not {weight!r}")
    degree = min(first.degree, second.degree)
    return Functional(degree, lambda p: (1 - weight) * first(p) + weight * second(p))


def push_forward(E: Linear, images: Mapping[Polynomial, Polynomial]) -> Functional:
    """The law of (q_1(x), ...) under E: F[p] = E[p(q_1, ...)], of degree deg E / (largest degree of a q)."""
    top = max((q.degree for q in images.values()), default=1)
    if top == 0:
        raise ValueError("every image is constant: there is nothing to push forward")
    return Functional(E.degree // top, lambda p: E(p.subs(dict(images))))


def covariance(E: Linear, functions: Any) -> np.ndarray:
    """Matrix E[f_i f_j] - E[f_i] E[f_j] of an array of polynomials, shape (k, k)."""
    f = _column(functions)
    mean = E(f)
    return E(np.multiply.outer(f, f)) - np.outer(mean, mean)


def gram_factor(E: Linear, functions: Any) -> np.ndarray:
    """Vectors v_i (rows, shape (k, r)) with v_i . v_j = E[f_i f_j]: the factor that rounding algorithms
    start from.

    r is the numerical rank; eigenvalues below 1e-9 of the largest count as solver noise. ValueError where the
    matrix is indefinite, as it may be with a smaller cone of Gram matrices.
    """
    f = _column(functions)
    values, vectors = _spectrum(E(np.multiply.outer(f, f)))
    keep = values > 1e-9 * max(values[-1], 0.0)
    return vectors[:, keep] * np.sqrt(values[keep])


def gaussian(E: Linear, functions: Any, size: int, generator: np.random.Generator) -> np.ndarray:
    """Gaussian samples (size, k) with the mean and covariance of the functions under E, for rounding.

    The generator is the caller's: rounding is not a private release. Matching second moments always exist,
    because the covariance of a pseudo-expectation is positive semidefinite; ValueError where it is not, as
    may happen with a smaller cone of Gram matrices.
    """
    f = _column(functions)
    values, vectors = _spectrum(covariance(E, f))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return E(f) + generator.standard_normal((size, f.size)) @ root.T


@dataclass(frozen=True)
class Violations:
    """Largest violation of each part of a system by a pseudo-expectation, in absolute terms.

    ``moments``: minus the least eigenvalue of the moment matrix; ``blocks``: of each localizing matrix;
    ``equalities``: the largest |E[q h]|. Zero means satisfied exactly as far as floats tell.
    """

    moments: float
    blocks: float
    equalities: float

    @property
    def worst(self) -> float:
        """The largest of all."""
        return max(self.moments, self.blocks, self.equalities)


def violations(pe: PseudoExpectation) -> Violations:
    """To which tolerance a solved pseudo-expectation satisfies its own system."""
    if pe.moments is None:
        raise ValueError(f"there is no pseudo-expectation to check: the status is {pe.status!r}")
    constant = pe.identity.constant_column()
    y = pe.moments / pe.moments[constant] if constant >= 0 else pe.moments
    missed = -least_eigenvalues(replace(pe.identity, dominance=None), y)
    plain = np.array([block.kind == "sos" for block in pe.identity.blocks], dtype=bool)
    free = np.abs(pe.identity.free @ y)
    return Violations(*(float(part.max(initial=0.0)) for part in (missed[plain], missed[~plain], free)))


def _spectrum(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(matrix)
    if values.size and values[0] < -1e-3 * max(float(values[-1]), 0.0):
        raise ValueError(
            f"the matrix of second moments has the eigenvalue {values[0]:.3g}: no vectors have it; solve "
            "with cone='sos'"
        )
    return values, vectors


def _column(functions: Any) -> np.ndarray:
    return object_array(q if isinstance(q, Polynomial) else Polynomial(q) for q in functions)
