"""The one step of a polynomial on the unit box, or on the circle: values at points, in bases of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...algebra.coefficients import to_float
from ...model.options import Options
from ..candidate import Ran
from ..descent import near
from ..judge import outwards
from ..solve.sos_cone.circle import bound_on_circle
from ..solve.sos_cone.solve import NAME
from ..solve.sos_cone.unit_box import SampledBound, bound_on_unit_box

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
    largest = max((abs(to_float(c)) for part in numbers for c in part), default=0.0)
    power = math.frexp(largest or math.ulp(0.0))[1] - 1
    unit = Fraction(2) ** power
    raw = ask(*([c / unit for c in part] for part in numbers))
    closed = raw.value - raw.proven <= 1e-5 * max(1.0, abs(raw.value))
    value, known = raw.value, None
    if math.isfinite(value):
        value = near(Fraction(value) * unit + constant)
    if math.isfinite(raw.proven):
        known = outwards(Fraction(raw.proven) * unit + constant, sign)
    status = "failed" if known is None else "optimal" if closed and math.isfinite(value) else "inaccurate"
    with np.errstate(all="ignore"):
        grams = [np.ldexp(g, power) for g in raw.grams]
    ran = Ran("first", NAME, raw.solution.seconds, status, known)
    return replace(raw, value=value, grams=grams), status, known, ran
