"""The least value of a polynomial in one variable, without a set: at the real critical points, in balls.

Of even degree and with a positive leading coefficient it attains its least value where its derivative
vanishes, and its excess over that value is a sum of squares, as every non-negative polynomial in one variable
is: the relaxation is the minimum (``univariate.enclosed``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...algebra.monomials import degrees
from ..assemble.identity import RawSolution
from ..candidate import Candidate, State
from ..change import Built, Change, build
from ..descent import at, in_floats, low_points, moved_polynomial, near
from ..judge import Theorem, tolerance
from ..solve.solve import solve_program
from ..univariate import enclosed, univariate

_DISTANT = 4.0  # units of a variable


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
    statement = state.statement
    p, mass = statement.demands[0].parts[0], statement.mass or Fraction(0)
    (v,) = p.variable_ids.tolist()
    q = univariate(p)
    if q.degree() % 2 or q.coeffs()[-1] < 0:
        return None
    least, highest, x = enclosed(q)
    proven, value = statement.constant + mass * least, near(statement.constant + mass * highest)
    if not value - near(proven) <= tolerance(state.best.built, value):  # or they are no floats
        return None
    built, raw = _solved_near(state, v, x)
    moments = _moments(built, v, x, mass)
    if not np.isfinite(moments).all():
        return None
    unknowns = near((proven - statement.constant) / statement.prices[0]) / built.slopes[:1]
    raw = replace(raw, status="optimal", message="", inside=None, moments=moments, unknowns=unknowns)
    return replace(
        state.best,
        step="one variable",
        built=built,
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


def _solved_near(state: State, v: int, x: Fraction) -> tuple[Built, RawSolution]:
    """The program and its multipliers; where the point is far out in its variable, once more from near the
    point: of high degree its moments are otherwise too far apart."""
    built, p = state.best.built, state.statement.demands[0].parts[0]
    unit = 2.0 ** float(built.scalings[0].exponent[v : v + 1].sum())  # 1 of one without an exponent
    if abs(near(x - built.change.origins[0].get(v, 0))) <= _DISTANT * unit:
        return built, state.best.raw
    origin = min(low_points(p), key=lambda c: at(p, c), default={})
    if not origin or not in_floats(moved_polynomial(p, origin)):
        return built, state.best.raw
    built = build(state.statement, Change((origin,)))
    raw = solve_program(built.program, **{**state.options.solving(), "time_limit": state.patience()})
    return (built, raw) if raw.has_values else (state.best.built, state.best.raw)


def _moments(built: Built, v: int, x: Fraction, mass: Fraction) -> np.ndarray:
    """The moments of a point, in the units of the program."""
    (piece,), (scaling,) = built.pieces, built.scalings
    u = near(x - built.change.origins[0].get(v, 0))
    moments = float(mass) * u ** degrees(piece.columns)
    return moments / (scaling.column * (scaling.value * built.unit))
