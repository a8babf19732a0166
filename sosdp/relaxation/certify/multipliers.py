"""Multipliers that prove a value: those found, and others near them, as long as these prove clearly less.

At an optimum Gram matrices are singular, and what a solver returns is a little indefinite. In this order,
the cheap first: multipliers that the solver left inside the cone; those found; the constant lifted
(``shift_constant``); a mixture with a point well inside every cone, one more solve; the conic program's own
proof (``interior``).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from ...conic.clock import left
from ..assemble.identity import RawSolution, traces
from ..candidate import Measured, State, patience
from ..change import Built
from ..judge import ENOUGH, Theorem, proven, tolerance
from ..solve.solve import cubic_work
from ..statement import BOUND, PROGRAM
from ..steps.exact import exact_bound
from ..steps.inside import centre
from .bound import Certified
from .shift_constant import lift_constant

# sum of R^3 up to which a second, centring solve is made without being asked (a few seconds)
_CENTRE_WORK = 3e9
_CHEAP_WORK = 1e6  # up to it (milliseconds) that solve is made for the sixth digit, beyond it for the fifth
_SLACK = 1e-3  # of the value that a point inside may cost
_FINER = 0.1  # of the tolerance: the sixth digit
_NOTHING = 0.01  # of the tolerance, below which no other proof is tried
_STEPS = 40

_Point = tuple[np.ndarray, np.ndarray, np.ndarray]


def prove(
    state: State, built: Built, raw: RawSolution, known: Measured | None = None
) -> tuple[Theorem, np.ndarray | None]:
    """The best theorem of multipliers near those found, and unknowns well inside every cone where such were
    looked for; ``known``: certificates that were found already. Cost: some more solves where the first
    multipliers prove clearly less than the value."""
    program, identity, deadline = built.program, built.program.identity, state.deadline
    value = _value(built, raw.unknowns)
    allowance = max(tolerance(built, value), 1e-300)

    def missing(theorem: Theorem) -> float:
        """How much less than the value is proven, in tolerances."""
        if theorem.value is None:
            return np.inf
        return (value - float(theorem.value)) / allowance

    own = _from_own_proof(built, raw)
    if own is not None and missing(own) <= _NOTHING:
        return own, None
    stopped_early, lifted = not raw.inside and has_nothing_to_pay_with(built), None
    if stopped_early and known is not None:
        lifted = _lifted(built, raw.free, known.lifted)
    elif stopped_early:
        lifted = _lifted(built, raw.free, _moved(built, raw))
    if lifted is not None and missing(lifted) <= _FINER:
        return lifted, None
    shown = None if known is None else known.certified
    first = best = proven(built, raw.gram, raw.free, np.minimum(raw.unknowns, program.upper), shown)
    if own is not None:
        best = _best([best, own])
    if not stopped_early and missing(best) > _FINER and not first.final:
        lifted = _lifted(built, raw.free, _moved(built, raw))
    best = best if lifted is None else _best([best, lifted])
    work = cubic_work(identity)
    allowed = 1.0 if lifted or work > _CHEAP_WORK else _FINER
    inner = None
    short = missing(best)
    if short > allowed and best.value is not None and built.statement.single and raw.status == "optimal":
        # less what other multipliers pay, too, for positive semidefinite matrices: traces of moments
        prices = traces(identity, identity.tables.gram @ raw.moments)
        short -= built.unit * float((best.certified[0].lacking * prices).sum()) / allowance
    # coefficients well inside every constraint are part of the answer of a program
    wanted = built.statement.kind == PROGRAM or short > allowed and work <= _CENTRE_WORK
    if wanted and not first.final and time.perf_counter() < deadline:
        mixed, inner = _mixture(state, built, raw)
        best = best if mixed is None else _best([best, mixed])
    if best.value is None and built.statement.single and time.perf_counter() < deadline:
        best = _by_conic_program(built, raw, best, patience(raw, deadline))
    return best, inner


def _value(built: Built, unknowns: np.ndarray) -> float:
    return float(built.statement.constant) + built.program.value(unknowns) * built.unit


def _best(result: list[Theorem]) -> Theorem:
    return max(result, key=lambda t: (t.value is not None, t.value or 0))


def _from_own_proof(built: Built, raw: RawSolution) -> Theorem | None:
    """A proof of the solver's own: the exact residual of multipliers in good bases, near which nothing
    comes."""
    inside = raw.inside
    if inside is None or inside.proof is None or len(built.scaled) > 1:
        return None
    shown = Certified(inside.gram, inside.free, inside.proof.loss(), -np.inf, "")
    result = proven(built, inside.gram, inside.free, inside.unknowns, shown)
    return None if result.value is None else result


def has_nothing_to_pay_with(built: Built) -> bool:
    """Whether multipliers of a bound on the boundary prove nothing as they are, for nothing is bounded, and
    there is anything but constants."""
    bounds, varies = built.scalings[0].bounds, built.program.identity.columns.any()
    return bool(built.statement.kind == BOUND and varies and not (bounds.largest or bounds.balls))


def _moved(built: Built, raw: RawSolution) -> tuple[np.ndarray, Certified] | None:
    """Unknowns and multipliers after the constant was lifted; None of several identities."""
    if not built.statement.single:
        return None
    bounds = built.scalings[0].bounds
    return lift_constant(built.program.identity, raw.gram, raw.free, raw.unknowns, bounds)


def _lifted(built: Built, free: np.ndarray, moved: tuple[np.ndarray, Certified] | None) -> Theorem | None:
    """What multipliers prove after the constant was lifted."""
    return None if moved is None else proven(built, moved[1].gram, free, moved[0], moved[1])


def _mixture(state: State, built: Built, raw: RawSolution) -> tuple[Theorem | None, np.ndarray | None]:
    """The best mixture of the optimum with a point well inside every cone, and the unknowns of that point.

    What it gives away is proportional to slack / t, and t is concave in the slack: of a bound, whose value
    may be lowered by itself, a small slack is good as long as t is above the solver's noise."""
    program = built.program
    lower = None
    if built.statement.single:
        slack = _SLACK * tolerance(built, _value(built, raw.unknowns)) / ENOUGH / built.unit
        slack *= max(1.0, len(program.identity.blocks) / 10)
        lower = raw.unknowns - slack * np.eye(1, program.objective.size)[0]
    result = centre(program, lower, state.ran)
    if result is None or not result[1] > 0:
        return None, None
    distant = result[0].gram, result[0].free, result[0].unknowns
    return _least_mixture(built, (raw.gram, raw.free, raw.unknowns), distant), distant[2]


def _least_mixture(built: Built, near: _Point, distant: _Point) -> Theorem | None:
    """The theorem of the mixture with the least weight on the inner point that is proven, by halving
    twice."""
    best, weight = None, 1.0
    for _ in range(_STEPS):
        if not left() > 0:
            break
        gram, free, unknowns = ((1 - weight) * a + weight * b for a, b in zip(near, distant, strict=True))
        # rounding must not carry an unknown over its limit
        result = proven(built, gram, free, np.minimum(unknowns, built.program.upper))
        if result.value is None or best is not None and best.value is not None and result.value < best.value:
            break
        best, weight = result, weight / 4
    return best


def _by_conic_program(built: Built, raw: RawSolution, best: Theorem, time_limit: float) -> Theorem:
    """The better proof of the moment program as a conic program, where the set bounds nothing: in the
    program's units, and in the given ones where these are others and the sixth digit is missing."""
    demand, value = built.statement.demands[0], _value(built, raw.unknowns)
    if demand.options.cone != "sos" or built.statement.mass is None:
        return best
    shown, closed = Certified(best.gram, best.free, 0.0, np.inf, ""), tolerance(built, value)
    ways = [(built.scaled[0], np.ones(1)), (built.pieces[0], built.slopes)]
    for piece, slopes in ways if built.scalings[0].exponent.any() else ways[:1]:
        result = exact_bound(piece, demand, time_limit)
        if result is None:
            continue
        theorem = proven(built, best.gram, best.free, np.array([result]) / slopes, shown)
        if theorem.value is not None and value - theorem.value <= closed:
            best = _best([best, theorem])
            if value - theorem.value <= _FINER * ENOUGH * abs(value):
                break
    return best


def refute(state: State, built: Built, raw: RawSolution) -> Theorem | None:
    """What the multipliers of a ray, or of a feasibility problem, prove of the statement without its target:
    a positive value says that no measures meet the constraints. None for a ray that does not even improve."""
    gain = float(built.program.objective @ raw.unknowns)
    if not gain > 0 or not math.isfinite(gain):
        return None
    bare = built.without_target()
    point = np.minimum(raw.unknowns / gain, bare.program.upper)
    if built.statement.curves:
        point[1:] = 0.0
    near = replace(raw, gram=raw.gram / gain, free=raw.free / gain, unknowns=point)
    first = proven(bare, near.gram, near.free, point)
    if first.value is not None and first.value > 0:
        return first
    inside = centre(bare.program, point, state.ran)
    if inside is None:
        return first
    return _best([first, proven(bare, inside[0].gram, inside[0].free, point)])
