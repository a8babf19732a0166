"""One step of the method at points: Nesterov and Todd's metric, predictor, corrector, longest steps.

With ``V_i = P_i E_i`` and ``E_i' X_i E_i = E_i^-1 S_i E_i^-T = diag(s_i)`` the scaled Newton system has the
Schur matrix ``sum_i (V_i V_i')**2`` and nothing is inverted (Nesterov and Todd 1998; Mehrotra 1992 for the
corrector).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
from scipy.linalg.lapack import dpotrf

from .normal import Factored, NotDefinite, squares
from .sampled import SampledProgram

_STEP_TOLERANCE = 0.01  # three times as much for large sides
_LARGE = 200
_SQUARED_SIDE = 12
_ALIKE = 1e-7  # squared singular values: their relative error is then below 1e-8
_SHORTER = 15  # times a step that left the cone is shortened
_INSIDE = 1e-2  # least eigenvalue from which a moment matrix at the start counts as inside


@dataclass(eq=False)
class State:
    """An iterate. ``factors``: D with S = D D'; ``apart``: X where it is not Lambda(x) yet; ``lowers``: the
    Cholesky factors of X."""

    x: np.ndarray
    u: np.ndarray
    tau: float
    kappa: float
    factors: list[np.ndarray]
    apart: list[np.ndarray | None]
    lowers: list[np.ndarray]


@dataclass(eq=False)
class Metric:
    """Scaling of one iterate: ``E``, singular values s, rows V = P E."""

    E: list[np.ndarray]
    s: list[np.ndarray]
    V: list[np.ndarray]


@dataclass(frozen=True)
class Residuals:
    """What an iterate misses: moment side p, Gram side d, gap g."""

    p: np.ndarray
    d: np.ndarray
    g: float


@dataclass(eq=False)
class Direction:
    """Changes of x, u, tau, kappa and of the scaled X and S."""

    x: np.ndarray
    u: np.ndarray
    tau: float
    kappa: float
    X: list[np.ndarray]
    S: list[np.ndarray]


class Scaled:
    """The program in units where ``max |f| = 1`` and x = 1 is feasible when the unknown is the bound."""

    def __init__(self, program: SampledProgram) -> None:
        self.size = float(np.abs(program.f).max(initial=0.0)) or 1.0
        heights = np.abs(program.H).max(axis=0, initial=0.0) if program.H.size else np.zeros(program.c.size)
        self.heights = np.where(heights > 0, heights, 1.0)
        self.given = program
        self.blocks = program.blocks
        self.f = program.f / self.size
        self.H = program.H / self.heights
        c = program.c / self.heights
        self.goal = float(np.abs(c).max(initial=0.0)) or 1.0
        self.c = c / self.goal * program.points
        self.unit = self.goal / program.points
        self.order = sum(b.side for b in program.blocks)
        self.room = (np.empty((program.points,) * 2), np.empty((program.points,) * 2))

    def start(self) -> State:
        """``x = 1`` (or the most central x where weights have signs), multiples of identities."""
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
        return State(x, np.zeros(self.c.size), 1.0, kappa, factors, apart, lowers)

    def _most_central(self) -> np.ndarray:
        """The x whose moment matrices are nearest to identities: where signs differ, x = 1 may be outside."""
        lower = squares(self.given, [b.rows for b in self.blocks])
        lower.flat[:: lower.shape[0] + 1] *= 1 + 1e-12
        return Factored(lower).solve(self.given.produced([np.eye(b.side) for b in self.blocks]))

    def metric(self, state: State) -> Metric:
        """Nesterov and Todd's scaling; raises NotDefinite at the end of accuracy."""
        E, s, V = [], [], []
        for block, factor, lower in zip(self.blocks, state.factors, state.lowers, strict=True):
            left, values = _left_singular(factor.T @ lower)
            if not values.min() > 0:
                raise NotDefinite
            scaled = (factor @ left) / np.sqrt(values)
            E.append(scaled)
            s.append(values)
            V.append(block.rows @ scaled)
        return Metric(E, s, V)

    def drift(self, state: State) -> float:
        """How far the matrices that are kept apart are from ``Lambda(x)``."""
        pairs = zip(self.blocks, state.apart, strict=True)
        return max([0.0, *(float(np.abs(b.moment(state.x) - a).max()) for b, a in pairs if a is not None)])

    def produced(self, metric: Metric) -> np.ndarray:
        """``sum_i A_i(S_i)`` at the iterate of the metric."""
        total = np.zeros(self.f.size)
        for block, v, s in zip(self.blocks, metric.V, metric.s, strict=True):
            total += block.spread((v * v) @ s, total.size)
        return total


def _left_singular(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values. Near the central path these are all alike, so that the
    squared matrix, in a third of the time, loses nothing; where they are not, it is not used."""
    if matrix.shape[0] == 1:
        return np.ones((1, 1)), np.abs(matrix[0])
    if matrix.shape[0] > _SQUARED_SIDE:
        squared, left = np.linalg.eigh(matrix @ matrix.T)
        if squared[0] > _ALIKE * squared[-1]:
            return left, np.sqrt(squared)
    left, values, _ = np.linalg.svd(matrix)
    return left, values


def _factor(matrix: np.ndarray) -> np.ndarray:
    lower, info = dpotrf(matrix, lower=1, clean=1)
    if info:
        raise NotDefinite
    return lower


class Newton:
    """The factored system of one iterate."""

    def __init__(self, solver: Scaled, state: State, metric: Metric, residuals: Residuals) -> None:
        self.solver, self.state, self.metric, self.residuals = solver, state, metric, residuals
        matrix, work = solver.room
        self.system = Factored(squares(solver.given, metric.V, out=matrix), out=work)
        self.MH = self.system.solve(solver.H)
        self.Mf = self.system.solve(solver.f)
        self.K = solver.H.T @ self.MH
        self.ub = self._unknowns(solver.c + solver.H.T @ self.Mf)
        self.b = self.MH @ self.ub - self.Mf
        # E'(Lambda(x) - X)E of the blocks whose X is apart
        self.drift = [
            None if apart is None else block.moment(state.x, rows=v) - e.T @ apart @ e
            for block, apart, v, e in zip(solver.blocks, state.apart, metric.V, metric.E, strict=True)
        ]

    def _unknowns(self, right: np.ndarray) -> np.ndarray:
        if right.size == 1 and self.K[0, 0] > 0:
            return right / self.K[0]
        return np.linalg.lstsq(self.K, right, rcond=1e-15)[0] if right.size else right

    def direction(self, targets: list[np.ndarray], eta: float, t: float) -> Direction:
        """Towards ``dX + dS = targets`` (scaled; a vector stands for a diagonal), residuals times 1 - eta,
        and ``kappa dtau + tau dkappa = t``."""
        solver, state, rest = self.solver, self.state, self.residuals
        points = solver.f.size
        q = np.zeros(points)
        for block, v, r, drift in zip(solver.blocks, self.metric.V, targets, self.drift, strict=True):
            if drift is not None:
                r = (np.diag(r) if r.ndim == 1 else r) - eta * drift
            q += block.spread((v * v) @ r if r.ndim == 1 else np.einsum("ij,ij->i", v @ r, v), points)
        g = self.system.solve(q - eta * rest.d)
        ua = self._unknowns(eta * rest.p - solver.H.T @ g)
        a = g + self.MH @ ua
        f, c = solver.f, solver.c
        top = eta * rest.g + f @ a - c @ ua + t / state.tau
        dtau = float(top / (c @ self.ub - f @ self.b + state.kappa / state.tau))
        dx = a + dtau * self.b
        dX, dS = [], []
        for block, v, r, drift in zip(solver.blocks, self.metric.V, targets, self.drift, strict=True):
            moved = block.moment(dx, rows=v)
            if drift is not None:
                moved += eta * drift
            change = -moved
            if r.ndim == 1:
                change.flat[:: change.shape[0] + 1] += r
            else:
                change += r
            dX.append(moved)
            dS.append(change)
        dkappa = (t - state.kappa * dtau) / state.tau
        return Direction(dx, ua + dtau * self.ub, dtau, dkappa, dX, dS)

    def longest(self, direction: Direction, most: float) -> float:
        """The longest step up to ``most`` that stays in the cones, from below, to a hundredth of ``most``."""
        step = most
        for value, change in ((self.state.tau, direction.tau), (self.state.kappa, direction.kappa)):
            if change < 0:
                step = min(step, -value / change)
        for s, moved, made in zip(self.metric.s, direction.X, direction.S, strict=True):
            step = _longest(s, made, _longest(s, moved, step))
        return step


def _longest(s: np.ndarray, change: np.ndarray, most: float) -> float:
    """The longest step up to ``most`` from ``diag(s)`` that stays definite: bisection by Cholesky
    factorisations, each of which is ten to fifty times as fast as an eigenvalue."""
    room = np.empty_like(change)
    if _stays(s, change, most, room):
        return most
    low, high = 0.0, most
    enough = _STEP_TOLERANCE * (3 if s.size > _LARGE else 1) * most
    while high - low > enough:
        middle = 0.5 * (low + high)
        if _stays(s, change, middle, room):
            low = middle
        else:
            high = middle
    return low


def _stays(s: np.ndarray, change: np.ndarray, step: float, moved: np.ndarray) -> bool:
    np.multiply(change, step, out=moved)
    moved.flat[:: s.size + 1] += s
    return bool(dpotrf(moved.T, lower=1, clean=0, overwrite_a=1)[1] == 0)


def advance(solver: Scaled, state: State, metric: Metric, residuals: Residuals, mu: float) -> State:
    """One predictor and corrector step; raises NotDefinite at the end of accuracy."""
    newton = Newton(solver, state, metric, residuals)
    affine = newton.direction([-s for s in metric.s], 1.0, -state.kappa * state.tau)
    alpha = newton.longest(affine, 1.0)
    sigma = max(1e-6, (1 - alpha) ** 2 * max(1 - alpha, 1e-3))
    targets = []
    for s, dX, dS in zip(metric.s, affine.X, affine.S, strict=True):
        product = dX @ dS
        target = -(product + product.T)
        target.flat[:: s.size + 1] += 2 * (sigma * mu - s * s)
        targets.append(target / (s[:, None] + s))
    t = sigma * mu - state.kappa * state.tau - affine.tau * affine.kappa
    chosen = newton.direction(targets, 1 - sigma, t)
    share = 0.9 + 0.09 * alpha
    step = share * newton.longest(chosen, 1.0 / share)
    for _ in range(_SHORTER):
        moved = _moved(solver, state, metric, chosen, step, sigma)
        if moved is not None:
            return moved
        step *= 0.8
    raise NotDefinite


def _moved(
    solver: Scaled, state: State, metric: Metric, chosen: Direction, step: float, sigma: float
) -> State | None:
    """The next iterate, or None when a matrix would not be definite there."""
    x = state.x + step * chosen.x
    factors, lowers = [], []
    apart_next: list[np.ndarray | None] = []
    for e, s, change in zip(metric.E, metric.s, chosen.S, strict=True):
        inner = (0.5 * step) * (change + change.T)
        inner.flat[:: s.size + 1] += s
        lower, info = dpotrf(inner, lower=1, clean=1)
        if info:
            return None
        factors.append(e @ lower)
    for block, apart in zip(solver.blocks, state.apart, strict=True):
        matrix, kept = block.moment(x), None
        if apart is not None:
            # the drift shrinks by 1 - step (1 - sigma); once the moment matrix itself will do, it is used
            change = block.moment(chosen.x) + (1 - sigma) * (block.moment(state.x) - apart)
            kept = apart + step * change
            if _near(matrix, kept):
                kept = None
        lower, info = dpotrf(matrix if kept is None else kept, lower=1, clean=1)
        if info:
            return None
        lowers.append(lower)
        apart_next.append(kept)
    tau, kappa = state.tau + step * chosen.tau, state.kappa + step * chosen.kappa
    return State(x, state.u + step * chosen.u, tau, kappa, factors, apart_next, lowers)


def _near(moved: np.ndarray, apart: np.ndarray) -> bool:
    """Whether ``Lambda(x)`` is definite and close to X in X's own metric, so that it may take its place."""
    lower, info = dpotrf(apart, lower=1, clean=1)
    if info or dpotrf(moved, lower=1, clean=0)[1]:
        return False
    inner = la.solve_triangular(lower, la.solve_triangular(lower, moved - apart, lower=True).T, lower=True)
    return float(np.abs(inner).max()) < 0.1
