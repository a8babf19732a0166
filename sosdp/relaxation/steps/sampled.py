"""The one step of a polynomial on the unit box, or on the circle: values at points, in bases of their own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...algebra.coefficients import to_float
from ...model.options import Options
from ..candidate import Ran
from ..solve.sos_cone.circle import bound_on_circle
from ..solve.sos_cone.solve import NAME
from ..solve.sos_cone.unit_box import SampledBound, bound_on_unit_box, unit_of

Answer = tuple[SampledBound, str, float | None, Ran]
Numbers = list[Fraction]


def on_circle(cosines: Numbers, sines: Numbers, constant: Fraction, sign: int, options: Options) -> Answer:
    """The bound on ``constant + sum_k (cosines[k-1] cos kt + sines[k-1] sin kt)`` over all angles."""
    limits = options.tolerance, options.time_limit, options.verbose
    return _sampled(lambda c, s: bound_on_circle([0, *c], s, *limits), (cosines, sines), constant, sign)


def on_unit_box(
    exponents: np.ndarray, numbers: Numbers, half_degree: int, constant: Fraction, sign: int, options: Options
) -> Answer:
    """The bound on a constant and Chebyshev polynomials of these exponents, shape (terms, n), on the box."""
    limits = options.tolerance, options.time_limit, options.verbose

    def ask(scaled: Numbers) -> SampledBound:
        return bound_on_unit_box(exponents, [*scaled], half_degree, *limits)

    return _sampled(ask, (numbers,), constant, sign)


def _sampled(
    ask: Callable[..., SampledBound], numbers: tuple[Numbers, ...], constant: Fraction, sign: int
) -> Answer:
    """The solution in the unit of the coefficients, its status, what is proven, and what was done (``sign``:
    -1 where a maximum is asked). ValueError for a coefficient that no float is near."""
    power = unit_of(to_float(c) for part in numbers for c in part)
    scaled = ([c / Fraction(2) ** power for c in part] for part in numbers)
    raw, status, proven = ask(*scaled).of_all(power, constant)
    known = None if proven is None else sign * proven
    return raw, status, known, Ran("first", NAME, raw.solution.seconds, status, known)
