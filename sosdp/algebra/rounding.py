"""Fewer digits: terms that are noise beside the largest, and decimals of a stated length."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.algebra.coefficients import as_coefs
from sosdp.algebra.sparse import Sparse


def chopped(p: Any, tolerance: float) -> Any:
    """The terms whose coefficients are larger than ``tolerance`` times the largest; they stay as they are."""
    if not 0 <= tolerance < 1:
        raise ValueError(f"a tolerance lies in [0, 1), not {tolerance!r}: it is a part of the largest term")
    sizes = [abs(c) for c in p.coefs.tolist()]
    limit = Fraction(tolerance) * Fraction(max(sizes, default=0))
    kept = np.array([c > limit for c in sizes], dtype=bool)
    return p if kept.all() else p.from_arrays(p.monos[kept], p.coefs[kept])


def rounded(p: Any, digits: int) -> Any:
    """The nearest polynomial with coefficients of ``digits`` decimals, exact numbers."""
    if isinstance(digits, bool) or not isinstance(digits, int | np.integer):
        raise TypeError(f"digits must be an integer, not {digits!r}")
    exact: Sparse = p.as_exact()
    coefs = [round(Fraction(c), int(digits)) for c in exact.coefs.tolist()]
    return p.from_arrays(exact.monos, as_coefs(coefs))
