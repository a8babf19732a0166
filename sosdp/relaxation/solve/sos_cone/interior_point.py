"""Homogeneous self-dual interior point, Nesterov and Todd's metric, Mehrotra's predictor and corrector.

Because every constraint matrix of a ``SampledProgram`` has rank one, the Schur matrix of the scaled Newton
system is an entrywise square, ``M = sum_i (V_i V_i')**2`` with ``V_i = P_i E_i``: nothing is inverted and all
work is matrix products. Sources: Nesterov and Todd 1998; Papp and Yildiz 2019 and Coey, Kapelevich and Vielma
2023 (the cone at points, there with a barrier for one side only); Loefberg and Parrilo 2004 (rank one).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....conic.breakdown import interruptible
from .newton import Residuals, Scaled, State, advance
from .normal import NotDefinite
from .polish import Centre
from .sampled import SampledProgram

_ITERATIONS = 80
_PATIENCE = 5  # iterations without a better point before the floor of accuracy is called
_CLOSED = 1e-2
_RAY_TAU = 1e-3
_LOOSER = 10.0


@dataclass(frozen=True, eq=False)
class SampledSolution:
    """What the method ends with, in the units of the program.

    ``status``: ``optimal``, ``floor`` (no better point within the accuracy of the arithmetic), ``unbounded``
    (a ray ``x`` of the moment side: no Gram matrices exist), ``infeasible`` (a ray of the Gram side),
    ``stopped`` (time or iterations). ``gap``, ``residual``: relative gap and largest relative residual.
    """

    status: str
    x: np.ndarray
    unknowns: np.ndarray
    grams: list[np.ndarray]
    gap: float
    residual: float
    iterations: int
    seconds: float


def solve_sampled(
    program: SampledProgram,
    tolerance: float = 1e-8,
    time_limit: float | None = None,
    verbose: bool = False,
    at: Centre | None = None,
) -> SampledSolution:
    """Solve a sampled program; never raises for what the numbers do. Cost an iteration: U**3/3 + U**2 sum L.

    ``at``: the centre of the first unknown's part, if it is known: the method starts from there, without a
    residual. ``tolerance``: of the relative gap and of both relative residuals. Ctrl-C ends it after the
    iteration with what it has, a second one raises.
    """
    with interruptible() as pressed:
        return _solve(program, tolerance, time_limit, verbose, at, pressed)


def _solve(
    program: SampledProgram,
    tolerance: float,
    time_limit: float | None,
    verbose: bool,
    at: Centre | None,
    pressed: Callable[[], bool],
) -> SampledSolution:
    began = time.perf_counter()
    solver = Scaled(program)
    best: tuple[float, float, float, State] | None = None
    since, status, count = 0, "stopped", 0
    state = solver.start(at)
    for count in range(_ITERATIONS):
        if count and (pressed() or time_limit is not None and time.perf_counter() - began > time_limit):
            break
        rp = solver.c * state.tau - solver.H.T @ state.x
        made = solver.produced(state)
        spent = solver.H @ state.u
        rd = solver.f * state.tau - spent - made
        value, dual = float(solver.f @ state.x), float(solver.c @ state.u)
        rg = state.kappa + value - dual
        mu = (sum(float(np.vdot(s, s)) for s in state.s) + state.kappa * state.tau) / (solver.order + 1)
        scale = max(abs(value), abs(dual), state.tau / (solver.size * solver.unit))
        gap = abs(value - dual) / scale
        worst_d = float(np.abs(rd).max(initial=0.0)) / state.tau
        goal = max(1.0, float(np.abs(solver.c).max(initial=0.0)))
        worst_p = max(float(np.abs(rp).max(initial=0.0)) / goal, solver.drift(state)) / state.tau
        if verbose:
            print(
                f"{count:3d} {value / state.tau * solver.size * solver.unit:+.10e} gap {gap:.1e} residuals "
                f"{worst_d:.1e} {worst_p:.1e} tau {state.tau:.1e} kappa {state.kappa:.1e} mu {mu:.1e}"
            )
        ray = _ray(solver, state, (value, dual), spent + made, 100 * tolerance)
        if ray:
            status = ray
            break
        # what is left of the identity is polished away afterwards: it need not be perfect where it does not
        # count, and what it moves the bound by is what the functional makes of it (waves of degree 61: 9
        # iterations, else 15 to the floor)
        worth = abs(float(rd @ state.x)) / state.tau / scale
        allowed = _LOOSER * tolerance if gap + worth <= tolerance else tolerance
        merit = max(gap, 10 * worth, 10 * worst_d, worst_p)
        optimal = gap <= tolerance and worst_d <= allowed and worst_p <= tolerance
        if best is None or optimal or merit < best[0]:
            best, since = (merit, gap, max(worst_d, worst_p), state), 0
        else:
            # else a ray is on its way, or a gap between numbers that are still large
            since += state.tau > state.kappa and gap <= _CLOSED
            if since >= _PATIENCE:
                status = "floor"
                break
        if optimal:
            status = "optimal"
            break
        try:
            state = advance(solver, state, Residuals(rp, rd, rg, made), mu)
        except (NotDefinite, np.linalg.LinAlgError):
            status = "floor"
            break
    seconds = time.perf_counter() - began
    if status in ("unbounded", "infeasible"):
        return _ray_solution(solver, state, status, count, seconds)
    assert best is not None
    _, gap, residual, state = best
    return SampledSolution(
        status=status,
        x=state.x / state.tau * solver.unit,
        unknowns=state.u / state.tau * solver.size / solver.heights,
        grams=[g * (solver.size / state.tau) for g in solver.grams(state)],
        gap=gap,
        residual=residual,
        iterations=count,
        seconds=seconds,
    )


def _ray(
    solver: Scaled,
    state: State,
    values: tuple[float, float],
    produced: np.ndarray,
    allowed: float,
) -> str:
    """``unbounded`` or ``infeasible`` when the iterate shows a ray, else ''."""
    if state.tau >= _RAY_TAU * min(1.0, state.kappa):
        return ""
    value, dual = values
    missed = max(float(np.abs(solver.H.T @ state.x).max(initial=0.0)), solver.drift(state))
    if value < 0 and missed <= allowed * -value:
        return "unbounded"
    if dual > 0 and np.abs(produced).max() * float(np.abs(solver.c).max()) <= allowed * dual:
        return "infeasible"
    return ""


def _ray_solution(solver: Scaled, state: State, status: str, count: int, seconds: float) -> SampledSolution:
    """The ray, of unit size: a functional (``unbounded``), or Gram matrices and unknowns (``infeasible``)."""
    scale = 1.0 / max(float(solver.c @ state.u), 1e-300) if status == "infeasible" else 0.0
    return SampledSolution(
        status=status,
        x=state.x * solver.unit,
        unknowns=state.u * scale / solver.heights,
        grams=[g * scale for g in solver.grams(state)],
        gap=np.inf,
        residual=np.inf,
        iterations=count,
        seconds=seconds,
    )
