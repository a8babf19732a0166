"""A second look from where the variables are: far from 0, what varies is a small part of the terms.

With x between 1990 and 2020 the terms of (x - 2003)^2 (x - 2015)^2 are 10^13 and their sum is at most 10^5:
to the tenth digit, which is what a solver gives, nothing is known of it. Put x = c + u with c near the
moments found, and the same relaxation, of the same degree, is about terms of the size of their sum. The
substitution is exact, so what is proven of the one is proven of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.coefficients import to_float
from ..algebra.polynomial import Polynomial, variable
from ..conic.program import ProblemTooLarge
from ..model.system import System
from .build.box import Box
from .pseudoexpectation import Centre, PseudoExpectation
from .solve.solve import cubic_work

_FAR = 3.0  # powers of two by which a variable is larger than it varies
_DIGITS = 10  # of a centre, in bits: digits of a solver that are no data make no small coefficients
_MOST_WORK, _MOST_TERMS = 1e8, 2000  # a program is not solved twice where that takes long

Solve = Callable[[System, Polynomial], PseudoExpectation]


def from_the_centre(found: PseudoExpectation, solve: Solve) -> PseudoExpectation:
    """The answer, or a better one of the same program in variables that are measured from near its moments.

    ``solve``: solves the same relaxation of a system and an objective.
    """
    centre = _centre(found)
    if not centre:
        return found
    shift: Any = {v: v + c for v, c in centre}
    try:
        inner = solve(found.system.subs(shift), _moved(found.objective, shift))
    except (ProblemTooLarge, OverflowError):
        return found  # without symmetries and zeros a program may be too large, or its numbers
    sign = -1.0 if found.sense == "maximize" else 1.0
    proven = [b for b in (found.certified_bound, inner.certified_bound) if b is not None]
    certified = sign * max(sign * b for b in proven) if proven else None
    if inner.status != "optimal" or inner.certified_bound is None:
        return replace(found, certified_bound=certified)
    at = Centre(inner, centre)
    assert found.moments is not None
    better = [at.value(p) for p in _columns(found)]
    moments = [old if new is None else new for old, new in zip(found.moments, better, strict=True)]
    return replace(
        found,
        status="optimal",
        bound=sign * max(sign * inner.bound, sign * inner.certified_bound),
        certified_bound=certified,
        reason=inner.reason,
        solver=inner.solver,
        solver_message=inner.solver_message,
        iterations=found.iterations + inner.iterations,
        moments=np.array(moments),
        centre=at,
    )


def _moved(p: Any, shift: Any) -> Polynomial:
    assert isinstance(p, Polynomial)
    return p.subs(shift)


def _columns(found: PseudoExpectation) -> list[Polynomial]:
    one = np.ones(1, dtype=np.int64)
    return [Polynomial.from_arrays(row[None, :], one) for row in found.identity.columns]


def _centre(found: PseudoExpectation) -> tuple[tuple[Polynomial, Fraction], ...]:
    """Variables and their values near the mean of the moments; none where they are not far from 0 compared
    with the box in which the objective's minimisers are."""
    objective, identity = found.objective, found.identity
    asked = found.sense in ("minimize", "maximize") and isinstance(objective, Polynomial)
    if not asked or found.moments is None or found.in_expectation or found.system.foralls:
        return ()
    assert isinstance(objective, Polynomial)
    if found.cone != "sos" or identity.symmetry is not None or identity.hermitian:
        return ()
    terms = max(len(objective.coefs), identity.columns.shape[0])
    if terms > _MOST_TERMS or cubic_work(identity) > _MOST_WORK:
        return ()
    centre = []
    for i in found.variable_ids.tolist():
        if i in identity.quotient.power:
            continue
        values, known = found._moment_values(np.array([[i]], dtype=np.int32))
        mean = float(values[0]) if known[0] else 0.0
        if mean and np.isfinite(mean):
            unit = Fraction(2) ** (int(np.floor(np.log2(abs(mean)))) - _DIGITS)
            centre.append((variable(i), round(Fraction(mean) / unit) * unit))
    if not centre:
        return ()
    moved = objective.subs({v: v + c for v, c in centre})
    moved = -moved if found.sense == "maximize" else moved
    coefs = np.array([to_float(c) for c in moved.coefs])
    used = (coefs != 0) & np.isfinite(coefs)
    ids = [int(v.variable_ids[0]) for v, _ in centre]
    most = np.full(max([*ids, int(moved.monos.max(initial=0))]) + 1, np.inf)
    most[0] = 0.0
    ranges = found.scaling.bounds.ranges
    factors = found.scaling.points(np.array(ids))
    for (_, c), i, factor in zip(centre, ids, factors.tolist(), strict=True):
        if i in ranges:
            low, high = (float(c) - b * factor for b in ranges[i])
            most[i] = np.log2(max(abs(low), abs(high), 1e-300))
    box = Box((moved.monos[used], coefs[used]), most)
    height = max(box.least([])[0], box.constant)
    exponent = box.exponents(height)[0]
    held = np.isfinite(most[ids]) | np.isin(ids, box.variable)
    size = np.log2(np.abs([float(c) for _, c in centre]))
    far = held & (size > exponent[ids] + _FAR)
    return tuple(centre) if np.isfinite(height) and far.any() and not box.cancels(height) else ()
