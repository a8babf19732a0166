"""The least value of a polynomial in one variable, without a set: at the real critical points, in balls.

Of even degree and with a positive leading coefficient it attains its least value where its derivative
vanishes, and its excess over that value is a sum of squares, as every non-negative polynomial in one variable
is: the relaxation is the minimum. Arb isolates all roots of the derivative in balls, the real ones with an
imaginary part that contains 0; the values of the polynomial on these balls enclose its critical values. A
root of both is one where the polynomial is exactly 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_poly, fmpq, fmpq_poly, fmpz_poly

from ...conic.multiprecision import fraction_of, precision
from ..candidate import Candidate, State
from ..change import Built
from ..descent import near
from ..judge import Theorem, tolerance

_DIGITS = 128, 512, 2048  # binary, of the balls
_FINE = Fraction(1, 2**60)  # of the least value: how well it is enclosed


def is_in_one_variable(state: State) -> bool:
    """Whether the least value of such a polynomial is asked, of which the relaxation is the full one."""
    statement, demand = state.statement, state.statement.demands[0]
    whole = statement.mass is not None and statement.upper == (math.inf,)  # else the mass may be less
    free = not (demand.constrained or demand.halves) and demand.parts[0].variable_ids.size == 1
    wanted = state.options.certify_bound and state.best.raw.moments.size > 0
    return whole and free and wanted and statement.is_full


def least_value(state: State) -> Candidate | None:
    """The least critical value, with the moments of the point that attains it; None where there is none, or
    where balls of many digits still leave it open."""
    statement, built = state.statement, state.best.built
    p, mass = statement.demands[0].parts[0], statement.mass or Fraction(0)
    (v,) = p.variable_ids.tolist()
    exponents = (p.monos > 0).sum(axis=1)
    coefficients = [fmpq(0)] * (int(exponents.max()) + 1)
    for k, c in zip(exponents.tolist(), p.coefs.tolist(), strict=True):
        coefficients[k] = fmpq(*c.as_integer_ratio())
    if len(coefficients) % 2 == 0 or coefficients[-1] < 0:
        return None
    least, highest, x = enclosed(fmpq_poly(coefficients))
    proven, value = statement.constant + mass * least, near(statement.constant + mass * highest)
    if not value - near(proven) <= tolerance(built, value):  # or they are no floats
        return None
    moments = _moments(built, v, x, mass)
    if not np.isfinite(moments).all():
        return None
    unknowns = near((proven - statement.constant) / statement.prices[0]) / built.slopes[:1]
    raw = replace(
        state.best.raw, status="optimal", message="", inside=None, moments=moments, unknowns=unknowns
    )
    return replace(
        state.best,
        step="one variable",
        raw=raw,
        status="optimal",
        reason="",
        value=value,
        theorem=Theorem(proven, "", raw.gram, raw.free, raw.unknowns),
        above=value,
        point={v: x},
        violated=0.0,
        missed=0.0,
        settled=True,
    )


def enclosed(q: fmpq_poly, digits: Iterable[int] = _DIGITS) -> tuple[Fraction, Fraction, Fraction]:
    """Two numbers between which the least value of a polynomial that has one is, and a point near where it is
    attained; ``digits``: precisions that are tried until the numbers are near each other."""
    rest = q.derivative()
    repeated = q.gcd(rest)
    while (shared := rest.gcd(q)).degree():
        rest //= shared
    for bits in digits:
        with precision(bits):
            critical = [(arb_poly(q)(r), r) for r in _real_roots(rest.numer())]
            critical += [(arb(0), r) for r in _real_roots(repeated.numer())]
            least = min(fraction_of(value.lower()) for value, _ in critical)
            highest, x = min((fraction_of(value.upper()), fraction_of(r)) for value, r in critical)
        if highest - least <= _FINE * abs(highest):
            break
    return least, highest, x


def _real_roots(p: fmpz_poly) -> list[arb]:
    every: Any = p.complex_roots() if p.degree() > 0 else []  # balls and multiplicities
    return [r.real for r, _ in every if r.imag.contains(0)]


def _moments(built: Built, v: int, x: Fraction, mass: Fraction) -> np.ndarray:
    """The moments of a point, in the units of the program."""
    (piece,), (scaling,) = built.pieces, built.scalings
    u = near(x - built.change.origins[0].get(v, 0))
    moments = float(mass) * u ** (piece.columns > 0).sum(axis=1)
    return moments / (scaling.column * (scaling.value * built.unit))
