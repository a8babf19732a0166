"""The way back from a changed statement: moments and multipliers in the variables that were given."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np

from ..algebra import monomials as mono
from ..algebra.polynomial import Polynomial
from .change import Built, Multiples, Origin
from .duals import DualData, dual_data, moved_dual


def given_dual(built: Built, gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray) -> list[DualData]:
    """Multipliers of the program by demand, in the given variables and units; ``bound``: the first
    unknown."""
    slopes, result = built.slopes * unknowns, []
    pieces, parts = built.pieces, built.parts_of(gram, free)
    for k, (piece, scaling, (q, f)) in enumerate(zip(pieces, built.scalings, parts, strict=True)):
        bound = float(slopes[0]) if built.statement.kind in ("bound", "feasible") else 0.0
        dual = dual_data(piece, scaling.gram_of(q), scaling.free_of(f), bound)
        own = slopes[: len(built.statement.demands[k].parts) - 1]  # the margin of a proof is in no part
        result.append(moved_dual(with_multiples(dual, built.multiples[k], own), built.change.origins[k]))
    return result


def with_multiples(dual: DualData, multiples: Multiples, unknowns: np.ndarray) -> DualData:
    """The multipliers with the multiples of equations that were subtracted from the parts."""
    if not multiples:
        return dual
    more: dict[int, Polynomial] = {}
    for factor, taken in zip([1.0, *unknowns.tolist()], multiples, strict=True):
        for j, multiplier in taken:
            more[j] = more.get(j, Polynomial(0)) + multiplier.as_float() * factor
    listed = tuple((j, p + more.get(j, 0.0)) for j, p in dual.equality_multipliers)
    return DualData(dual.blocks, listed, dual.bound, dual.margin)


def given_moments(
    columns: np.ndarray, moments: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], origin: Origin
) -> np.ndarray:
    """Moments of monomials (rows) in x from those in u = x - origin; NaN where they are not known."""

    @cache
    def value(given: tuple[int, ...], shifted: tuple[int, ...]) -> float:
        """E of a monomial in x times one in u."""
        if not given:
            values, known = moments(mono.padded([shifted]))
            return float(values[0]) if known[0] else np.nan
        v, rest = given[0], given[1:]
        result = value(rest, tuple(sorted((*shifted, v))))
        c = origin.get(v, Fraction(0))
        return result + float(c) * value(rest, shifted) if c else result

    return np.array([value(tuple(v for v in row if v), ()) for row in columns.tolist()])
