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
import scipy.linalg as la
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from ....conic.interrupt import interruptible
from .sampled import SampledProgram, mirrored

_PATIENCE = 5  # iterations without a better point before the floor of accuracy is called
_RAY_TAU = 1e-3
_LANCZOS_SIDE = 60
_LOOSER = 5.0
_SQUARED_SIDE = 100
_ALIKE = 1e-7  # squared singular values: their relative error is then below 1e-8
_SHORTER = 15  # times a step that left the cone is shortened
_INSIDE = 1e-2  # least eigenvalue from which a moment matrix at the start counts as inside
_FIRST_REGULARISATION = 1e-15  # 1e-14 already stops refinement
_LAST_REGULARISATION = 1e-4


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


@dataclass(eq=False)
class _State:
    x: np.ndarray
    u: np.ndarray
    tau: float
    kappa: float
    factors: list[np.ndarray]
    apart: list[np.ndarray | None]  # X where it is not Lambda(x) yet
    lowers: list[np.ndarray]  # Cholesky factors of X


@dataclass(eq=False)
class _Metric:
    """Scaling of one iterate: ``E``, singular values s, rows V = P E."""

    E: list[np.ndarray]
    s: list[np.ndarray]
    V: list[np.ndarray]


class _Lost(ArithmeticError):
    """A matrix that must be positive definite is not: the end of accuracy."""


class _Solver:
    def __init__(self, program: SampledProgram, tolerance: float) -> None:
        self.size = float(np.abs(program.f).max(initial=0.0)) or 1.0
        heights = np.abs(program.H).max(axis=0, initial=0.0) if program.H.size else np.zeros(program.c.size)
        self.heights = np.where(heights > 0, heights, 1.0)
        self.given = program
        self.blocks = program.blocks
        self.f = program.f / self.size
        self.H = program.H / self.heights
        c = program.c / self.heights
        self.goal = float(np.abs(c).max(initial=0.0)) or 1.0
        self.c = c / self.goal * program.points  # then x = 1 is feasible when the unknown is the bound
        self.unit = self.goal / program.points
        self.order = sum(b.side for b in program.blocks)
        self.tolerance = tolerance

    def start(self) -> _State:
        points = self.f.size
        kappa = points / max(self.order, 1)
        x = np.ones(points)
        if any(b.sign is not None for b in self.blocks):
            x = self._most_central()
        factors = [np.sqrt(kappa) * np.eye(b.side) for b in self.blocks]
        apart: list[np.ndarray | None] = []
        lowers = []
        for block in self.blocks:
            matrix = block.moment(x)
            inside = float(np.linalg.eigvalsh(matrix)[0]) > _INSIDE
            apart.append(None if inside else np.eye(block.side))
            lowers.append(_factor(matrix) if inside else np.eye(block.side))
        return _State(x, np.zeros(self.c.size), 1.0, kappa, factors, apart, lowers)

    def _most_central(self) -> np.ndarray:
        """The x whose moment matrices are nearest to identities: where signs differ, x = 1 may be outside."""
        matrix = mirrored(self.given.normal_matrix([b.rows for b in self.blocks]))
        wanted = self.given.produced([np.eye(b.side) for b in self.blocks])
        matrix.flat[:: matrix.shape[0] + 1] *= 1 + 1e-12
        return np.asarray(la.solve(matrix, wanted, assume_a="pos"))

    def metric(self, state: _State) -> _Metric:
        E, s, V = [], [], []
        for block, factor, lower in zip(self.blocks, state.factors, state.lowers, strict=True):
            left, values = _left_singular(factor.T @ lower)
            if not values[-1] > 0:
                raise _Lost
            scaled = (factor @ left) / np.sqrt(values)
            E.append(scaled)
            s.append(values)
            V.append(block.rows @ scaled)
        return _Metric(E, s, V)

    def drift(self, state: _State) -> float:
        """How far the matrices that are kept apart are from ``Lambda(x)``."""
        pairs = zip(self.blocks, state.apart, strict=True)
        return max([0.0, *(float(np.abs(b.moment(state.x) - a).max()) for b, a in pairs if a is not None)])

    def produced(self, metric: _Metric) -> np.ndarray:
        total = np.zeros(self.f.size)
        for block, v, s in zip(self.blocks, metric.V, metric.s, strict=True):
            total += block.spread(np.einsum("ij,ij->i", v * s, v), total.size)
        return total


def _left_singular(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values. Near the central path these are all alike, so that for large
    matrices the squared matrix, in a third of the time, loses nothing; where they are not, it is not used."""
    if matrix.shape[0] > _SQUARED_SIDE:
        squares, left = np.linalg.eigh(matrix @ matrix.T)
        if squares[0] > _ALIKE * squares[-1]:
            return left, np.sqrt(squares)
    left, values, _ = np.linalg.svd(matrix)
    return left, values


def _factor(matrix: np.ndarray) -> np.ndarray:
    lower, info = dpotrf(matrix, lower=1, clean=1)
    if info:
        raise _Lost
    return lower


class _Newton:
    """The factored system of one iterate."""

    def __init__(self, solver: _Solver, state: _State, metric: _Metric, residuals: tuple) -> None:
        self.solver, self.state, self.metric = solver, state, metric
        self.rp, self.rd, self.rg = residuals
        lower = solver.given.normal_matrix(metric.V)
        points = lower.shape[0]
        diagonal = lower.diagonal().copy()
        extra = _FIRST_REGULARISATION
        while True:
            trial = lower.copy(order="F")
            trial.flat[:: points + 1] = diagonal * (1 + extra)
            self.factor, info = dpotrf(trial, lower=1, overwrite_a=1, clean=0)
            if info == 0:
                break
            extra *= 100
            if extra > _LAST_REGULARISATION:
                raise _Lost
        self.matrix = mirrored(lower)
        self.MH = self.solve(solver.H)
        self.Mf = self.solve(solver.f)
        self.K = solver.H.T @ self.MH
        self.ub = self._unknowns(solver.c + solver.H.T @ self.Mf)
        self.b = self.MH @ self.ub - self.Mf
        # E'(Lambda(x) - X)E of the blocks whose X is apart
        self.drift = [
            None if apart is None else block.moment(state.x, rows=v) - e.T @ apart @ e
            for block, apart, v, e in zip(solver.blocks, state.apart, metric.V, metric.E, strict=True)
        ]

    def solve(self, right: np.ndarray) -> np.ndarray:
        if right.ndim == 2 and right.shape[1] == 0:
            return right.copy()
        found = dpotrs(self.factor, right, lower=1)[0]
        return found + dpotrs(self.factor, right - self.matrix @ found, lower=1)[0]

    def _unknowns(self, right: np.ndarray) -> np.ndarray:
        if not right.size:
            return right
        return np.linalg.lstsq(self.K, right, rcond=1e-15)[0]

    def direction(self, targets: list[np.ndarray], eta: float, t: float) -> tuple:
        solver, state = self.solver, self.state
        points = solver.f.size
        shifted = [
            r if drift is None else r - eta * drift for r, drift in zip(targets, self.drift, strict=True)
        ]
        q = np.zeros(points)
        for block, v, r in zip(solver.blocks, self.metric.V, shifted, strict=True):
            rows = v * r if r.ndim == 1 else v @ r
            q += block.spread(np.einsum("ij,ij->i", rows, v), points)
        g = self.solve(q - eta * self.rd)
        ua = self._unknowns(eta * self.rp - solver.H.T @ g)
        a = g + self.MH @ ua
        f, c = solver.f, solver.c
        top = eta * self.rg + f @ a - c @ ua + t / state.tau
        dtau = top / (c @ self.ub - f @ self.b + state.kappa / state.tau)
        dx = a + dtau * self.b
        du = ua + dtau * self.ub
        dkappa = (t - state.kappa * dtau) / state.tau
        dX = []
        for block, v, drift in zip(solver.blocks, self.metric.V, self.drift, strict=True):
            moved = block.moment(dx, rows=v)
            dX.append(moved if drift is None else moved + eta * drift)
        dS = []
        for r, m in zip(targets, dX, strict=True):
            change = -m
            if r.ndim == 1:
                change.flat[:: change.shape[0] + 1] += r
            else:
                change += r
            dS.append(change)
        return dx, du, dtau, dkappa, dX, dS

    def longest(self, direction: tuple) -> float:
        _, _, dtau, dkappa, dX, dS = direction
        step = np.inf
        for s, a, b in zip(self.metric.s, dX, dS, strict=True):
            h = 1.0 / np.sqrt(s)
            for change in (a, b):
                step = min(step, _room(h[:, None] * change * h))
        for value, change in ((self.state.tau, dtau), (self.state.kappa, dkappa)):
            if change < 0:
                step = min(step, -value / change)
        return step


def _room(change: np.ndarray) -> float:
    """The longest step from the identity along ``change`` that stays positive semidefinite (to a thousandth
    where the matrix is large: what is too long is found out by the factorisations)."""
    side = change.shape[0]
    least = None
    if side > _LANCZOS_SIDE:
        start = np.cos(np.arange(side) * np.sqrt(2.0))
        try:
            least = float(eigsh(change, k=1, which="SA", tol=1e-3, v0=start, return_eigenvectors=False)[0])
        except ArpackNoConvergence:
            least = None
    if least is None:
        least = float(np.linalg.eigvalsh(change)[0])
    return -1.0 / least if least < 0 else np.inf


def solve_sampled(
    program: SampledProgram,
    tolerance: float = 1e-8,
    time_limit: float | None = None,
    iterations: int = 80,
    verbose: bool = False,
) -> SampledSolution:
    """Solve a sampled program; never raises for what the numbers do. Cost an iteration: U**3/3 + U**2 sum L.

    ``tolerance``: of the relative gap and of both relative residuals. Ctrl-C ends it after the iteration with
    what it has, a second one raises.
    """
    with interruptible() as pressed:
        return _solve(program, tolerance, time_limit, iterations, verbose, pressed)


def _solve(
    program: SampledProgram,
    tolerance: float,
    time_limit: float | None,
    iterations: int,
    verbose: bool,
    pressed: Callable[[], bool],
) -> SampledSolution:
    began = time.perf_counter()
    solver = _Solver(program, tolerance)
    state = solver.start()
    best: tuple | None = None
    since, status, count = 0, "stopped", 0
    for count in range(iterations):
        if count and (pressed() or time_limit is not None and time.perf_counter() - began > time_limit):
            break
        try:
            metric = solver.metric(state)
        except (_Lost, np.linalg.LinAlgError):
            status = "floor"
            break
        rp = solver.c * state.tau - solver.H.T @ state.x
        made = solver.produced(metric)
        spent = solver.H @ state.u
        rd = solver.f * state.tau - spent - made
        value, dual = float(solver.f @ state.x), float(solver.c @ state.u)
        rg = state.kappa + value - dual
        drifting = any(a is not None for a in state.apart)
        mu = (sum(float(s @ s) for s in metric.s) + state.kappa * state.tau) / (solver.order + 1)
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
        ray = _ray(solver, state, value, dual, spent + made, drifting)
        if ray:
            status = ray
            break
        merit = max(gap, 100 * worst_d, worst_p)
        if best is None or merit < best[0]:
            snapshot = (state.x, state.u, state.tau, state.factors)
            best, since = (merit, gap, max(worst_d, worst_p), snapshot), 0
        else:
            since += state.tau > state.kappa  # else a ray is on its way
            if since >= _PATIENCE:
                status = "floor"
                break
        # what is left of the identity is polished away afterwards; with the gap closed it need not be perfect
        allowed = _LOOSER * tolerance if gap <= 0.01 * tolerance else tolerance
        if gap <= tolerance and worst_d <= allowed and worst_p <= tolerance:
            status = "optimal"
            break
        try:
            state = _advance(solver, state, metric, (rp, rd, rg), mu)
        except (_Lost, np.linalg.LinAlgError):
            status = "floor"
            break
    seconds = time.perf_counter() - began
    if status in ("unbounded", "infeasible"):
        return _ray_solution(solver, state, status, count, seconds)
    assert best is not None
    _, gap, residual, (x, u, tau, factors) = best
    return SampledSolution(
        status=status,
        x=x / tau * solver.unit,
        unknowns=u / tau * solver.size / solver.heights,
        grams=[d @ d.T * (solver.size / tau) for d in factors],
        gap=gap,
        residual=residual,
        iterations=count,
        seconds=seconds,
    )


def _ray(
    solver: _Solver, state: _State, value: float, dual: float, produced: np.ndarray, drifting: bool
) -> str:
    """``unbounded`` or ``infeasible`` when the iterate shows a ray, else ''."""
    if state.tau >= _RAY_TAU * min(1.0, state.kappa):
        return ""
    allowed = 100 * solver.tolerance
    if not drifting and value < 0 and np.abs(solver.H.T @ state.x).max(initial=0.0) <= allowed * -value:
        return "unbounded"
    if dual > 0 and np.abs(produced).max() * float(np.abs(solver.c).max()) <= allowed * dual:
        return "infeasible"
    return ""


def _ray_solution(solver: _Solver, state: _State, status: str, count: int, seconds: float) -> SampledSolution:
    """The ray, of unit size: a functional (``unbounded``), or Gram matrices and unknowns (``infeasible``)."""
    scale = 1.0 / max(float(solver.c @ state.u), 1e-300) if status == "infeasible" else 0.0
    return SampledSolution(
        status=status,
        x=state.x * solver.unit,
        unknowns=state.u * scale / solver.heights,
        grams=[d @ d.T * scale for d in state.factors],
        gap=np.inf,
        residual=np.inf,
        iterations=count,
        seconds=seconds,
    )


def _advance(solver: _Solver, state: _State, metric: _Metric, residuals: tuple, mu: float) -> _State:
    """One predictor and corrector step."""
    newton = _Newton(solver, state, metric, residuals)
    affine = newton.direction([-s for s in metric.s], 1.0, -state.kappa * state.tau)
    alpha = min(1.0, newton.longest(affine))
    sigma = max(1e-6, (1 - alpha) ** 2 * max(1 - alpha, 1e-3))
    targets = []
    for s, dX, dS in zip(metric.s, affine[4], affine[5], strict=True):
        product = dX @ dS
        target = -(product + product.T)
        target.flat[:: s.size + 1] += 2 * (sigma * mu - s * s)
        targets.append(target / (s[:, None] + s[None, :]))
    t = sigma * mu - state.kappa * state.tau - affine[2] * affine[3]
    chosen = newton.direction(targets, 1 - sigma, t)
    step = min(1.0, (0.9 + 0.09 * alpha) * newton.longest(chosen))
    for _ in range(_SHORTER):
        moved = _moved(solver, state, metric, chosen, step, sigma)
        if moved is not None:
            return moved
        step *= 0.8
    raise _Lost


def _moved(
    solver: _Solver, state: _State, metric: _Metric, direction: tuple, step: float, sigma: float
) -> _State | None:
    """The next iterate, or None when a matrix would not be definite there."""
    dx, du, dtau, dkappa, _, dS = direction
    x = state.x + step * dx
    factors, lowers = [], []
    apart_next: list[np.ndarray | None] = []
    for e, s, change in zip(metric.E, metric.s, dS, strict=True):
        inner = 0.5 * step * (change + change.T)
        inner.flat[:: s.size + 1] += s
        lower, info = dpotrf(inner, lower=1, clean=1)
        if info:
            return None
        factors.append(e @ lower)
    for block, apart in zip(solver.blocks, state.apart, strict=True):
        matrix, kept = block.moment(x), None
        if apart is not None:
            # the drift shrinks by 1 - step (1 - sigma); once the moment matrix itself will do, it is used
            change = block.moment(dx) + (1 - sigma) * (block.moment(state.x) - apart)
            kept = apart + step * change
            if _near(matrix, kept):
                kept = None
        lower, info = dpotrf(matrix if kept is None else kept, lower=1, clean=1)
        if info:
            return None
        lowers.append(lower)
        apart_next.append(kept)
    tau, kappa = state.tau + step * dtau, state.kappa + step * dkappa
    return _State(x, state.u + step * du, tau, kappa, factors, apart_next, lowers)


def _near(moved: np.ndarray, apart: np.ndarray) -> bool:
    """Whether ``Lambda(x)`` is definite and close to X in X's own metric, so that it may take its place."""
    lower, info = dpotrf(apart, lower=1, clean=1)
    if info or not _definite(moved):
        return False
    inner = la.solve_triangular(lower, la.solve_triangular(lower, moved - apart, lower=True).T, lower=True)
    return float(np.abs(inner).max()) < 0.1


def _definite(matrix: np.ndarray) -> bool:
    return dpotrf(matrix, lower=1, clean=0)[1] == 0
