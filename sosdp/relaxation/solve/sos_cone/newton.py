"""One step of the method at points: Nesterov and Todd's metric, predictor, corrector, longest steps.

With ``V_i = P_i E_i`` and ``E_i' X_i E_i = E_i^-1 S_i E_i^-T = diag(s_i)`` the scaled Newton system has the
Schur matrix ``sum_i (V_i V_i')**2`` and nothing is inverted (Nesterov and Todd 1998; Mehrotra 1992 for the
corrector). The metric is carried from iterate to iterate: with ``diag(s) + step dS = R R'`` the next one is
``E R A s_next^(-1/2)``, where ``R' (diag(s) + step dX) R = A diag(s_next)^2 A'``, so that no moment matrix is
formed again, and X keeps its small eigenvalues to full relative accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf

from .normal import Factored, NotDefinite, squares
from .polish import Centre
from .sampled import SampledProgram
from .stacks import diagonals, stacked

_STEP_TOLERANCE = 0.01  # three times as much for large sides
_ROUGH = 0.02  # for the predictor, whose step only says how much to centre
_LARGE = 200
_SPECTRAL = 24  # sides up to which eigenvalues are found faster than steps by bisection, and exactly
_ALIKE = 1e-7  # squared singular values: their relative error is then below 1e-8
_START_TOLERANCE = 0.03  # of max |f|
_HIGHEST = 1e6
_SLACK = 3.0  # kappa at the start over what is central
_INSIDE = 1e-2  # least eigenvalue from which a moment matrix at the start counts as inside


@dataclass(eq=False)
class State:
    """An iterate in its own metric. By stack: ``E``, shape (B, L, L); singular values ``s``, (B, L); rows
    ``V = P E``, (B, R, L); ``separate``: X where it is not Lambda(x) yet."""

    x: np.ndarray
    u: np.ndarray
    tau: float
    kappa: float
    E: list[np.ndarray]
    s: list[np.ndarray]
    V: list[np.ndarray]
    separate: list[np.ndarray | None]


@dataclass(frozen=True)
class Residuals:
    """What an iterate misses: moment side p, Gram side d, gap g; ``made``: ``sum_i A_i(S_i)``."""

    p: np.ndarray
    d: np.ndarray
    g: float
    made: np.ndarray


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
        self.stacks = stacked(program)
        self.f = program.f / self.size
        self.H = program.H / self.heights
        c = program.c / self.heights
        self.goal = float(np.abs(c).max(initial=0.0)) or 1.0
        self.c = c / self.goal * program.points
        self.unit = self.goal / program.points
        self.order = sum(b.side for b in program.blocks)

    def start(self, at: Centre | None = None) -> State:
        """``x = 1``, and identities beside moment matrices that are not inside the cone there.

        Given the centre of the first unknown's part, Gram matrices of f that lie inside the cone once that
        unknown is low enough, so that the Gram side has no residual from the beginning; else multiples of
        identities.
        """
        points = self.f.size
        kappa = points / max(self.order, 1)
        x = np.ones(points)
        u = np.zeros(self.c.size)
        within = None if at is None else self._inside(at)
        if within is not None:
            u[0] = -within[1] * np.sign(self.c[0])
        E, s, V = [], [], []
        separate: list[np.ndarray | None] = []
        for k, stack in enumerate(self.stacks):
            moments = stack.moment(x)
            inside = float(np.linalg.eigvalsh(moments).min()) > _INSIDE
            identity = np.tile(np.eye(stack.side), (len(stack.members), 1, 1))
            separate.append(None if inside else identity)
            half = np.sqrt(kappa) * identity if within is None else within[0][k]
            change, values = _diagonal(half, moments if inside else identity)
            E.append(change)
            s.append(values)
            V.append(stack.rows @ change)
        if within is not None:
            kappa = _SLACK * sum(float(np.vdot(v, v)) for v in s) / self.order
        return State(x, u, 1.0, kappa, E, s, V, separate)

    def _inside(self, at: Centre) -> tuple[list[np.ndarray], float] | None:
        """Cholesky factors of ``S + t S1`` with ``sum_i A_i(S_i) = f``, and t: a little more than the least
        one for which they exist, by bisection; None where there is none."""
        y, unit = at.factor.solve(self.f), at.point / self.heights[0]
        pairs = [(stack.moment(y), stack.moment(unit)) for stack in self.stacks]

        def halves(t: float) -> list[np.ndarray] | None:
            try:
                return [np.linalg.cholesky(s + t * one) for s, one in pairs]
            except np.linalg.LinAlgError:
                return None

        low, high = -1.0, 1.0
        while halves(high) is None and high < _HIGHEST:
            low, high = high, 2 * high
        while high - low > _START_TOLERANCE:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if halves(middle) is None else (low, middle)
        result = halves(high + _START_TOLERANCE)
        return None if result is None else (result, high + _START_TOLERANCE)

    def drift(self, state: State) -> float:
        """How far the matrices that are kept apart are from ``Lambda(x)``."""
        pairs = zip(self.stacks, state.separate, strict=True)
        return max([0.0, *(float(np.abs(b.moment(state.x) - a).max()) for b, a in pairs if a is not None)])

    def produced(self, state: State) -> np.ndarray:
        """``sum_i A_i(S_i)`` at an iterate."""
        total = np.zeros(self.f.size)
        for stack, v, s in zip(self.stacks, state.V, state.s, strict=True):
            total += stack.diagonal(v, s, total.size)
        return total

    def grams(self, state: State) -> list[np.ndarray]:
        """The Gram matrices of the blocks, in the order of the program."""
        result: list[np.ndarray] = [np.zeros(0)] * len(self.given.blocks)
        for stack, e, s in zip(self.stacks, state.E, state.s, strict=True):
            for k, gram in zip(stack.members, (e * s[:, None, :]) @ e.transpose(0, 2, 1), strict=True):
                result[k] = gram
        return result


def _diagonal(half: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The change T of basis with ``T' X T = T^-1 S T^-T = diag(s)``, for ``S = half half'``, and s.

    Near the central path the singular values of ``half' chol(X)`` are all alike, so that the squared matrix,
    in a third of the time, loses nothing; where they are not, it is the end of accuracy.
    """
    turned = half.transpose(0, 2, 1)
    squared, left = np.linalg.eigh(turned @ moments @ half)
    if not (squared[:, 0] > _ALIKE * squared[:, -1]).all():
        raise NotDefinite
    values = np.sqrt(squared)
    return (half @ left) / np.sqrt(values)[:, None, :], values


class Newton:
    """The factored system of one iterate."""

    def __init__(self, solver: Scaled, state: State, residuals: Residuals) -> None:
        self.solver, self.state, self.residuals = solver, state, residuals
        every = zip(solver.stacks, state.V, strict=True)
        self.system = Factored(squares(solver.f.size, ((stack.first, p) for stack, v in every for p in v)))
        self.MH = self.system.solve(solver.H)
        self.Mf = self.system.solve(solver.f)
        self.K = solver.H.T @ self.MH
        self.ub = self._unknowns(solver.c + solver.H.T @ self.Mf)
        self.b = self.MH @ self.ub - self.Mf
        # E'(Lambda(x) - X)E of the stacks whose X is apart, and what it adds to the residual
        self.drift: list[np.ndarray | None] = []
        self.residual = residuals.d
        for stack, separate, v, e in zip(solver.stacks, state.separate, state.V, state.E, strict=True):
            drift = None
            if separate is not None:
                drift = stack.moment(state.x, rows=v) - e.transpose(0, 2, 1) @ separate @ e
                self.residual = self.residual + stack.produced(v, drift, solver.f.size)
            self.drift.append(drift)

    def _unknowns(self, right: np.ndarray) -> np.ndarray:
        if right.size == 1 and self.K[0, 0] > 0:  # least squares of one number end four iterations later
            return right / self.K[0]
        if not (np.isfinite(self.K).all() and np.isfinite(right).all()):  # LAPACK would print a line
            raise NotDefinite
        return np.linalg.lstsq(self.K, right, rcond=1e-15)[0] if right.size else right

    def affine(self) -> Direction:
        """The predictor: towards ``dX + dS = -diag(s)``, without residuals."""
        return self._direction(-self.residuals.made, None, 1.0, -self.state.kappa * self.state.tau)

    def towards(self, targets: list[np.ndarray], eta: float, t: float) -> Direction:
        """Towards ``dX + dS = targets`` (scaled), residuals times 1 - eta, and
        ``kappa dtau + tau dkappa = t``."""
        q = np.zeros(self.solver.f.size)
        for stack, v, r in zip(self.solver.stacks, self.state.V, targets, strict=True):
            q += stack.produced(v, r, q.size)
        return self._direction(q, targets, eta, t)

    def _direction(self, q: np.ndarray, targets: list[np.ndarray] | None, eta: float, t: float) -> Direction:
        solver, state, rest = self.solver, self.state, self.residuals
        g = self.system.solve(q - eta * self.residual)
        ua = self._unknowns(eta * rest.p - solver.H.T @ g)
        a = g + self.MH @ ua
        f, c = solver.f, solver.c
        top = eta * rest.g + f @ a - c @ ua + t / state.tau
        dtau = float(top / (c @ self.ub - f @ self.b + state.kappa / state.tau))
        dx = a + dtau * self.b
        dX, dS = [], []
        for k, (stack, v) in enumerate(zip(solver.stacks, state.V, strict=True)):
            moved, drift = stack.moment(dx, rows=v), self.drift[k]
            if drift is not None:
                moved += eta * drift
            if targets is None:
                change = -moved
                diagonals(change)[:] -= state.s[k]
            else:
                change = targets[k] - moved
            dX.append(moved)
            dS.append(change)
        dkappa = (t - state.kappa * dtau) / state.tau
        return Direction(dx, ua + dtau * self.ub, dtau, dkappa, dX, dS)

    def longest(self, direction: Direction, most: float, tolerance: float = _STEP_TOLERANCE) -> float:
        """The longest step up to ``most`` that stays in the cones, from below, up to a share of ``most``."""
        step = most
        for value, change in ((self.state.tau, direction.tau), (self.state.kappa, direction.kappa)):
            if change < 0:
                step = min(step, -value / change)
        for s, moved, made in zip(self.state.s, direction.X, direction.S, strict=True):
            step = longest(s, made, longest(s, moved, step, tolerance), tolerance)
        return step


def longest(s: np.ndarray, change: np.ndarray, most: float, tolerance: float = _STEP_TOLERANCE) -> float:
    """The longest step up to ``most`` from the stack of ``diag(s)`` that stays definite, from below: from
    eigenvalues where sides are small, else by bisection with Cholesky factorisations, each of which is ten to
    fifty times as fast as an eigenvalue."""
    root = 1.0 / np.sqrt(s)
    relative = change * (root[:, :, None] * root[:, None, :])
    if s.shape[1] <= _SPECTRAL:
        least = float(np.linalg.eigvalsh(relative)[:, 0].min())
        return most if 1.0 + most * least > 0 else min(most, (1 - 1e-9) / -least)
    room = np.empty_like(relative[0])
    diagonal = room.reshape(-1)[:: room.shape[0] + 1]
    enough = tolerance * (3 if s.shape[1] > _LARGE else 1) * most

    def stays(matrix: np.ndarray, step: float) -> bool:
        np.multiply(matrix, step, out=room)
        np.add(diagonal, 1.0, out=diagonal)
        return bool(dpotrf(room.T, lower=1, clean=0, overwrite_a=1)[1] == 0)

    for matrix in relative:
        if stays(matrix, most):
            continue
        low, high = 0.0, most
        while high - low > enough:
            middle = 0.5 * (low + high)
            if stays(matrix, middle):
                low = middle
            else:
                high = middle
        most = low
    return most


def advance(solver: Scaled, state: State, residuals: Residuals, mu: float) -> State:
    """One predictor and corrector step; raises NotDefinite at the end of accuracy."""
    newton = Newton(solver, state, residuals)
    affine = newton.affine()
    alpha = newton.longest(affine, 1.0, _ROUGH)
    sigma = max(1e-6, (1 - alpha) ** 2 * max(1 - alpha, 1e-3))
    targets = []
    for s, dX, dS in zip(state.s, affine.X, affine.S, strict=True):
        product = dX @ dS
        target = -(product + product.transpose(0, 2, 1))
        diagonals(target)[:] += 2 * (sigma * mu - s * s)
        targets.append(target / (s[:, :, None] + s[:, None, :]))
    t = sigma * mu - state.kappa * state.tau - affine.tau * affine.kappa
    chosen = newton.towards(targets, 1 - sigma, t)
    share = 0.9 + 0.09 * alpha
    step = share * newton.longest(chosen, 1.0 / share)
    return _moved(solver, state, chosen, step, sigma)


def _moved(solver: Scaled, state: State, chosen: Direction, step: float, sigma: float) -> State:
    """The next iterate; raises LinAlgError when a matrix would not be definite there."""
    E, S, V = [], [], []
    separate_next: list[np.ndarray | None] = []
    for k, stack in enumerate(solver.stacks):
        made = _plus(state.s[k], chosen.S[k], step)
        moved = _plus(state.s[k], chosen.X[k], step)
        separate, kept = state.separate[k], None
        if separate is not None:
            # the drift shrinks by 1 - step (1 - sigma)
            change = stack.moment(chosen.x) + (1 - sigma) * (stack.moment(state.x) - separate)
            kept = separate + step * change
        change, values = _diagonal(np.linalg.cholesky(made), moved)
        E.append(state.E[k] @ change)
        S.append(values)
        V.append(stack.rows @ E[-1])
        separate_next.append(kept)
    tau, kappa = state.tau + step * chosen.tau, state.kappa + step * chosen.kappa
    return State(state.x + step * chosen.x, state.u + step * chosen.u, tau, kappa, E, S, V, separate_next)


def _plus(s: np.ndarray, change: np.ndarray, step: float) -> np.ndarray:
    """``diag(s) + step change``, symmetric."""
    result = (0.5 * step) * (change + change.transpose(0, 2, 1))
    diagonals(result)[:] += s
    return result
