"""The point of {-1, 1}^p where a weighted sum of parities is largest: from a list, or by integer programming.

Source: Zhang, Kamath, Kulkarni and Wu 2020, section 4 (the optimisation oracle); HiGHS through scipy.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sosdp.structured.parities import walsh_hadamard

LISTED = 20
"""All 2^p points are listed up to this p."""


def best_point(p: int, weights: Mapping[int, float]) -> int:
    """Code of a point x where sum over I of weights[I] x^I is largest; I are bit masks.

    Raises:
        ValueError: a mask out of range.
        RuntimeError: the mixed-integer solver found no point (p > 20).
    """
    if any(not 0 <= place < 1 << p for place in weights):
        raise ValueError(f"monomials are bit masks below 2^{p}")
    return _listed(p, weights) if p <= LISTED else mixed_integer_point(p, weights)


def _listed(p: int, weights: Mapping[int, float]) -> int:
    spectrum = np.zeros(1 << p)
    for place, value in weights.items():
        spectrum[place] += value
    return int(walsh_hadamard(spectrum).argmax())


def mixed_integer_point(p: int, weights: Mapping[int, float]) -> int:
    """The same for any p: one binary a coordinate, one a monomial, its parity by an integer slack."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_array

    terms = [(place, value) for place, value in weights.items() if place and value]
    m = len(terms)
    # variables: p bits, m parities b_I, m slacks k_I with sum of bits in I = b_I + 2 k_I
    objective = np.concatenate([np.zeros(p), [2.0 * value for _, value in terms], np.zeros(m)])
    equal = lil_array((max(m, 1), p + 2 * m))
    upper = np.ones(p + 2 * m)
    for row, (place, _) in enumerate(terms):
        for i in range(p):
            if place >> i & 1:
                equal[row, i] = 1.0
        equal[row, p + row], equal[row, p + m + row] = -1.0, -2.0
        upper[p + m + row] = place.bit_count() // 2
    result = milp(
        objective,
        constraints=LinearConstraint(equal.tocsr(), 0.0, 0.0),
        bounds=Bounds(0.0, upper),
        integrality=np.ones(p + 2 * m),
    )
    if result.x is None:
        raise RuntimeError(f"no point found: {result.message}")
    return sum(1 << i for i in range(p) if result.x[i] > 0.5)
