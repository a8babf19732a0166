"""Average degree and contrast of a private graph, where they are not public: a noisy count and eigenvalue.

Statement and proof: docs/proofs/sbm_parameters.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import sosdp.privacy.randomness as noise
from sosdp.conic.rigorous import largest_eigenvalue_bounds
from sosdp.estimator.base import NUMERICAL_FAILURES
from sosdp.privacy.calibrate import between, check_epsilon
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.condition import Condition
from sosdp.privacy.guarantee.guarantee import compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.silence import no_warnings
from sosdp.privacy.terms import Terms

from .estimators.base import ADJACENCY
from .graph_input import canonical_graph

GRID = 2.0**-20


@dataclass(frozen=True)
class ModelParameters:
    """What was released: edges (noisy count), eigenvalue (noisy), and what follows from them: average_degree,
    signal = gamma d, gamma in (0, 1]. All publishable.
    """

    edges: int
    eigenvalue: float
    average_degree: float
    signal: float
    gamma: float

    def to_dict(self) -> dict[str, float]:
        """Plain numbers, ready for json."""
        return dict(vars(self))


def width(n: int) -> float:
    """Public: half the width that an enclosure of the eigenvalue has to reach, 1e-12 n times the bound 2 n.

    Four orders of magnitude above what rounding costs, so that it is reached.
    """
    return 2e-12 * n * n


def eigenvalue_step(n: int) -> int:
    """By how many grid points the quantised eigenvalue of neighbours can differ."""
    return math.ceil((1 + 2 * Fraction(width(n))) / Fraction(GRID)) + 1


def eigenvalue_count(adjacency: Any, density: float) -> int | None:
    """The largest eigenvalue of A - density J on the grid; None where no proof encloses it. O(n^3).

    The density is rounded to a multiple of 2^-40, so that the matrix is one of exact numbers.
    """
    matrix = adjacency.toarray().astype(float) - round(density * 2.0**40) / 2.0**40
    n = matrix.shape[0]
    with no_warnings():
        try:
            low, high = largest_eigenvalue_bounds(matrix)
        except NUMERICAL_FAILURES:
            return None
    if not high - low <= 2.0 * width(n):
        return None
    return int(noise.quantise([low + (high - low) / 2.0], GRID, low=-2.0 * n, high=2.0 * n)[0])


def estimate_parameters(
    graph: Any, epsilon: float, *, edge_share: float = 0.1, insecure_seed: int | None = None
) -> Release:
    """Release average degree and contrast of a graph under a pure budget; the value is a `ModelParameters`.

    graph: as for the estimators; epsilon: the budget, of which edge_share goes to the edge count and the rest
    to the largest eigenvalue of A - (d / n) J, d as released. Use the numbers in an estimator with a budget
    of its own: the epsilons add up (`sosdp.privacy.compose`). Raises ValueError for parameters out of range
    and what `canonical_graph` raises. Noise: a few edges, a few units of eigenvalue at epsilon = 1. Cost: one
    extremal eigenvalue, O(n^3).
    """
    epsilon = check_epsilon(epsilon)
    share = between(edge_share, "edge_share", "(0, 1)")
    canonical = canonical_graph(graph)
    n = canonical.n
    first, second = split(epsilon, (share, 1 - share))
    bits = open_bits(insecure_seed)
    counted = canonical.adjacency.nnz // 2 + exact.discrete_laplace(1 / Fraction(first), bits)
    edges = min(max(counted, 1), n * (n - 1) // 2)
    degree = 2 * edges / n
    result = eigenvalue_count(canonical.adjacency, degree / n)
    drawn = exact.discrete_laplace(eigenvalue_step(n) / Fraction(second), bits)
    eigenvalue = float(np.clip(((result or 0) + drawn) * GRID, -2.0 * n, 2.0 * n))
    square = eigenvalue**2 - 4 * degree
    signal = (eigenvalue + math.sqrt(square)) / 2 if square >= 0 and eigenvalue > 0 else eigenvalue
    signal = min(max(signal, 1.0), n / 2)
    value = ModelParameters(edges, eigenvalue, degree, signal, min(1.0, signal / degree))
    terms = Terms(
        adjacency=ADJACENCY,
        assumptions=canonical.assumptions,
        insecure_seed=insecure_seed,
    )
    counting = replace(terms, mechanism="sbm.edge_count").guarantee(epsilon=first)
    enclosed = Condition(
        f"condition: on both neighbouring graphs the eigenvalue is enclosed to within {width(n):.3g}, which "
        "is charged; no graph is known on which it is not"
    )
    spectral = replace(terms, mechanism="sbm.eigenvalue").guarantee(enclosed, epsilon=second)
    promise = compose([counting, spectral], mechanism="sbm.parameters")
    return terms.seal(value, promise, bits, public={"n": n}, private={"enclosed": result is not None})
