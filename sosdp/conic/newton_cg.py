"""Newton and conjugate gradients on an augmented Lagrangian: our own method for matrices of side 100 to 500.

An interior point forms a matrix with a row for every moment (10626 for a quartic in 20 variables). Here

    L(y; z) = q'y + (|Pi(z + sigma (A y - b))|^2 - |z|^2) / (2 sigma),      Pi: projection onto the dual cone,

is minimised over y by Newton's method, its linear systems ``sigma A' Pi' A`` by conjugate gradients, and then
``z = Pi(z + sigma (A y - b))``. At a solution most eigenvalues of every matrix have one sign, so that a
product with Pi' costs a few products of tall matrices; on sums of squares A'A is diagonal, and the systems
are well conditioned when the multipliers have full rank but for the minimisers. So its last digits come at
the speed of Newton's method, where an operator splitting (SCS) crawls. A splitting is used for the start, and
again where Newton's steps are cut short.

Sources: Zhao, Sun, Toh 2010 (the method); Nie, Wang 2012 (on sums of squares); Povh, Rendl, Wiegele 2006 and
Wen, Goldfarb, Yin 2010 (the start). What it returns is a guess like every solver's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .breakdown import interruptible
from .conjugate_gradients import Leg, conjugate_gradients, newton_path
from .positive_part import PositivePart, layout, positive_part
from .program import ConicProgram, ConicSolution
from .reformulate import checked_ray, constant_program, linear_objective, unsolved
from .scaled_program import balancing_rows, scaled_program

NAME = "newton_cg"
FORM = "moment"

_TOLERANCE = 1e-10  # the last digits cost Newton's method little
_SOLVED = 1e-8  # an error that is good enough where they cannot be had
_NEARLY = 1e-5  # an error up to which an early end is `inaccurate` and not `failed`
_FIRST_STEPS, _MORE_STEPS = 100, 200  # of the splitting, before and after the rows are rescaled
_COSTLY = 2  # times fewer where each takes conjugate gradients: Newton's method is as quick from there
_GOOD_START = 1e-5
_OVER_RELAXED = 1.618
_BALANCE = 1.4
_RAY_STEPS = 50
_PROMISING = 1e-3  # for a direction to be checked
_MULTIPLIERS = 60
_PATIENCE, _NEAR, _AT_THE_FLOOR = 10, 5, 2  # multipliers without a better one: from scratch, from a start
_FLOOR_GAIN = 0.5  # of an error that is good enough already: less is no progress
_NEWTON_STEPS = 12  # for one multiplier
_INNER = 0.2  # accuracy of the minimiser, relative to what the multiplier still moves
_REGULAR, _REGULAR_SLOPE = 1e-6, 1e-3
_ACCEPTED = 0.1  # of the decrease that the quadratic model predicts
_TRIALS = 12
_LEAST_CG, _MOST_CG = 20, 500  # products for one step
_MOST_PRODUCTS = 10_000  # in all; what was solved needed at most a third
# beyond this side everything that was ever solved had, after so many products, a smaller error than this
# (a quartic in 25 variables after 2000)
_LARGE_SIDE, _FIRST_PRODUCTS, _ON_ITS_WAY = 60, 3000, 1e-3


def memory(program: ConicProgram) -> float:
    """Estimated peak memory in bytes: A twice with all entries, eigenvectors, a dozen vectors."""
    entries = float(sum(n * n for n in program.cones.psd))
    return 60.0 * program.A.nnz + 250.0 * entries + 200.0 * sum(program.A.shape)


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
    start: ConicSolution | None = None,
) -> ConicSolution:
    """Solve with Newton's method and conjugate gradients; ``tolerance`` bounds both relative residuals and
    the gap relative to the value (default 1e-10, or 1e-8 where that
    cannot be had). ``iterations`` counts projections.

    ``start``: the solution of a program with the same rows and columns that differs little, of a linear
    objective; ValueError where it does not fit. Then Newton's method begins there.
    """
    known = constant_program(program, NAME)
    if known is not None:
        return known
    lifted = linear_objective(program)
    limits = _Limits(
        tolerance or _TOLERANCE,
        np.inf if time_limit is None else time.perf_counter() + time_limit,
        np.inf if max_iterations is None else max_iterations,
        verbose,
    )
    started = time.perf_counter()
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"), interruptible() as pressed:
            result = _Method(lifted.program, replace(limits, pressed=pressed)).run(start)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return unsolved(program, "failed", message=f"the numbers broke down ({error})", solver=NAME)
    return lifted.restore(replace(result, seconds=time.perf_counter() - started))


@dataclass(frozen=True)
class _Limits:
    tolerance: float
    deadline: float
    iterations: float
    verbose: bool
    pressed: Callable[[], bool] = lambda: False


@dataclass(frozen=True, eq=False)
class _Point:
    """An iterate (scaled) and its errors: of A'z = -q, of A y + s = b, and the gap."""

    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    dual: float
    primal: float
    gap: float

    @property
    def error(self) -> float:
        return max(self.dual, self.primal, self.gap)


class _Method:
    """One run; ``y``, ``z``, ``s`` and the weight ``sigma`` are where it stands."""

    def __init__(self, program: ConicProgram, limits: _Limits) -> None:
        where = layout(program.cones)
        rows = where.unpack.shape[0]
        self.program, self.limits = program, limits
        self.scaled = scaled_program(program, where, np.ones(rows))
        self.y, self.z, self.s = np.zeros(program.q.size), np.zeros(rows), np.zeros(rows)
        self.sigma = 1.0
        self.most = _LEAST_CG
        self.projections = self.products = 0
        self.best: _Point | None = None

    def run(self, start: ConicSolution | None = None) -> ConicSolution:
        """Splitting, then Newton's method until the errors are small or get no smaller."""
        if start is None:
            fewer = 1 if self.scaled.orthogonal else _COSTLY
            ray = self._split(_FIRST_STEPS // fewer)
            if ray is None:
                self._rescale()
                ray = self._split(_MORE_STEPS // fewer)
            if ray is not None:
                return ray
        else:
            self._begin(start)
        since, point = 0, self._note("start")
        large = max(self.program.cones.psd, default=0) > _LARGE_SIDE
        for _ in range(_MULTIPLIERS):
            before, y, z = self.best.error if self.best else np.inf, self.y, self.z
            late = large and self.products >= _FIRST_PRODUCTS
            patience = _AT_THE_FLOOR if before <= _SOLVED else _NEAR if start else _PATIENCE
            hopeless = late and min(before, point.error) > _ON_ITS_WAY
            if point.error <= self.limits.tolerance or since > patience or hopeless or self._over():
                break
            self._minimise()
            point = self._note("Newton")
            enough = _FLOOR_GAIN * before if before <= _SOLVED else before
            since = 0 if point.error < enough else since + 1
            ray = self._ray(self.y - y, self.z - z)
            if ray is not None:
                return ray
            self._retune(point)
        return self._answer()

    def _begin(self, start: ConicSolution) -> None:
        """Stand at a solution of another program."""
        p = self.scaled
        shapes = start.x.shape, start.s.shape, start.z.shape
        if shapes != (self.program.q.shape, self.program.b.shape, self.program.b.shape):
            raise ValueError(f"the start has shapes {shapes}, which are not those of the program")
        self.y = start.x / (p.size_b * p.d)
        self.z, self.s = p.where.unpack @ start.z / p.size_q, p.where.unpack @ start.s / p.size_b
        if p.orthogonal:  # beside constraints, rows balanced for a solution make the first steps short
            self._rescale()

    def _over(self) -> bool:
        late = time.perf_counter() > self.limits.deadline or self.projections >= self.limits.iterations
        return late or self.products >= _MOST_PRODUCTS or self.limits.pressed()

    def _project(self, point: np.ndarray, derivative: bool = False) -> PositivePart:
        self.projections += 1
        return positive_part(self.scaled.where, point, derivative)

    def _rescale(self) -> None:
        """The iterate in rows that suit it."""
        old = self.scaled
        new = scaled_program(self.program, old.where, old.r * balancing_rows(old.where, self.s, self.z))
        if not (np.isfinite(new.A.data).all() and np.isfinite(new.q).all() and np.isfinite(new.b).all()):
            return
        self.y = self.y * old.d / new.d * (old.size_b / new.size_b)
        self.z = self.z * old.r / new.r * (old.size_q / new.size_q)
        self.s = self.s * new.r / old.r * (old.size_b / new.size_b)
        self.sigma *= (old.size_q / new.size_q) * (new.size_b / old.size_b)
        self.scaled = new

    def _split(self, steps: int) -> ConicSolution | None:
        """Minimise over y and s in turn (Wen, Goldfarb, Yin); an answer where a ray appears."""
        p, sigma = self.scaled, self.sigma
        last = self.y, self.z
        for step in range(steps):
            right = p.At @ (p.b - self.s - self.z / sigma) - p.q / sigma
            self.y = right if p.orthogonal else conjugate_gradients(p.normal, right, self.y)
            missed = p.A @ self.y - p.b
            shifted = self.z + sigma * missed
            self.s = (self._project(shifted).value - shifted) / sigma
            self.z = self.z + _OVER_RELAXED * sigma * (missed + self.s)
            primal = float(np.linalg.norm(missed + self.s))
            dual = float(np.linalg.norm(p.q + p.At @ self.z))
            if max(primal, dual) <= _GOOD_START or self._over():
                break
            if step % 10 == 9:
                sigma *= _BALANCE if 1.5 * dual < primal else 1 / _BALANCE if 1.5 * primal < dual else 1.0
            if step % _RAY_STEPS == _RAY_STEPS - 1:
                ray = self._ray(self.y - last[0], self.z - last[1])
                if ray is not None:
                    return ray
                last = self.y, self.z
        self.sigma = sigma
        self.z = self._project(self.z).value
        return None

    def _minimise(self) -> None:
        """Newton's method on L at this multiplier, and the next multiplier."""
        p, sigma = self.scaled, self.sigma
        shifted = self.z + sigma * (p.A @ self.y - p.b)
        part = self._project(shifted, derivative=True)
        value = self._lagrangian(part, self.y)
        for _ in range(_NEWTON_STEPS):
            gradient = p.q + p.At @ part.value
            moved = float(np.linalg.norm(part.value - self.z)) / sigma
            enough = max(_INNER * moved, 0.1 * self.limits.tolerance)
            if np.linalg.norm(gradient) <= enough or self._over():
                break

            # along directions without curvature a step goes as far as this term lets it
            small = min(_REGULAR, _REGULAR_SLOPE * float(np.linalg.norm(gradient)))

            def hessian(v: np.ndarray, part: PositivePart = part, small: float = small) -> np.ndarray:
                return sigma * (p.At @ part.derivative(p.A @ v) + small * v)

            path = newton_path(hessian, gradient, self.most)
            self.products += path[-1].products
            first = path[-1]
            for _ in range(_TRIALS):
                leg = path.pop()
                y = self.y + leg.step
                point = self.z + sigma * (p.A @ y - p.b)
                new = self._project(point, derivative=True)
                after = self._lagrangian(new, y)
                rounding = 1e-14 * max(abs(value), abs(after))
                if after - value - rounding <= _ACCEPTED * leg.change:
                    break
                half = float(np.linalg.norm(leg.step)) / 2
                while len(path) > 1 and np.linalg.norm(path[-1].step) > half:
                    path.pop()
                if not path:  # the first step of steepest descent was too long
                    path = [Leg(leg.step / 4, leg.change / 4, leg.products)]
            else:
                break
            self.y, shifted, part, value = y, point, new, after
            # systems are solved no further than steps can be gone
            self.most = min(_MOST_CG, max(_LEAST_CG, (4 if leg is first else 2) * leg.products))
        self.z, self.s = part.value, (part.value - shifted) / sigma

    def _lagrangian(self, part: PositivePart, y: np.ndarray) -> float:
        return float(self.scaled.q @ y + (part.value @ part.value - self.z @ self.z) / (2 * self.sigma))

    def _retune(self, point: _Point) -> None:
        """The weight follows the larger error: a larger one makes the multipliers move faster."""
        if point.dual < point.primal:
            self.sigma *= 3.0 if 10 * point.dual < point.primal else 2.0
        elif point.dual > 2 * point.primal:
            self.sigma /= 1.5

    def _note(self, what: str) -> _Point:
        """The errors of the iterate; the best one is kept."""
        p = self.scaled
        dual = float(np.linalg.norm(p.q + p.At @ self.z)) / 2
        primal = float(np.linalg.norm(p.A @ self.y + self.s - p.b)) / 2
        unit = p.size_q * p.size_b
        value, bound = unit * float(p.q @ self.y), -unit * float(p.b @ self.z)
        gap = abs(value - bound) / (1.0 + abs(value + self.program.constant))
        point = _Point(self.y, self.z, self.s, dual, primal, gap)
        if not np.isfinite(point.error):
            raise FloatingPointError("the iterates are not finite")
        if self.best is None or point.error < self.best.error:
            self.best = point
        if self.limits.verbose:
            errors = f"dual {dual:.1e} primal {primal:.1e} gap {gap:.1e}"
            work = f"{self.projections} projections {self.products} products"
            print(f"{NAME} {what:6s} {errors} weight {self.sigma:.1e} {work}")
        return point

    def _ray(self, y: np.ndarray, z: np.ndarray) -> ConicSolution | None:
        """An answer where the directions in which the iterates went prove that there is no solution."""
        p = self.scaled
        fall_z, fall_y = -float(p.b @ z), -float(p.q @ y)
        promising = fall_z > 0 and float(np.linalg.norm(p.At @ z)) <= _PROMISING * fall_z
        if not promising and fall_y > 0:
            promising = self._outside(-(p.A @ y)) <= _PROMISING * fall_y
        if not promising:
            return None
        x, dual = p.d * y, p.where.unpack.T @ (p.r * z)
        status = checked_ray(self.program, x, dual)
        if status == "failed":
            return None
        answer = unsolved(self.program, status, dual=dual, message="a ray", solver=NAME)
        return replace(answer, x=x, s=-(self.program.A @ x), iterations=self.projections)

    def _outside(self, s: np.ndarray) -> float:
        """How far s is from the cone K."""
        free = self.scaled.where.free
        beyond = self._project(s).value - s
        return float(np.hypot(np.linalg.norm(s[:free]), np.linalg.norm(beyond[free:])))

    def _answer(self) -> ConicSolution:
        p, best = self.scaled, self.best
        assert best is not None
        error = best.error
        stopped_early = "inaccurate" if error <= _NEARLY else "failed"
        status = "optimal" if error <= max(_SOLVED, self.limits.tolerance) else stopped_early
        x = p.size_b * p.d * best.y
        return ConicSolution(
            status=status,
            x=x,
            s=p.where.unpack.T @ (p.size_b * best.s / p.r),
            z=p.where.unpack.T @ (p.size_q * p.r * best.z),
            value=float(self.program.q @ x) + self.program.constant,
            iterations=self.projections,
            solver=NAME,
            seconds=0.0,
            message=f"error {error:.1e} after {self.products} products",
        )
