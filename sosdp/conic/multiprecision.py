"""An interior-point method in numbers of many digits, for small programs that doubles do not solve.

Where a program or its dual has no interior, iterates grow and double precision ends at half of its digits
(the control problems of SDPLIB: values wrong in the fifth digit). The same method in 300 bits goes on. Its
answer is rounded to doubles, an opinion like that of any solver. Infeasible path following with the search
direction of Helmberg, Rendl, Vanderbei and Wolkowicz (SIAM J. Optim. 6, 1996) and of Kojima, Shindoh and
Hara (SIAM J. Optim. 7, 1997).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from .program import ConicProgram, ConicSolution
from .reformulate import constant_program, unsolved, without_equations
from .svec import smat, svec

NAME = "multiprecision"
_BITS = 300
_WORK = 3e7  # products of many digits in one iteration: some seconds
_SECONDS = 1e-7  # each
_ITERATIONS = 80
_START = 1000.0
_CENTRING = 0.2
_BACK = 0.95
_GAP = 1e-12


def suits(program: ConicProgram) -> bool:
    """Whether an iteration takes at most some seconds."""
    return program.P is None and program.q.size > 0 and _work(program) <= _WORK


def _work(program: ConicProgram) -> float:
    """Products of numbers in one iteration."""
    count = float(program.q.size)
    work = sum(2 * count * n**3 + count**2 * n**2 for n in (*program.cones.psd, 1))
    return work + count**2 * program.cones.nonnegative


def begins_within(program: ConicProgram, seconds: float) -> bool:
    """Whether the equations are eliminated and an iteration is done in about this time."""
    return _SECONDS * _work(program) + 3e-10 * program.cones.zero * program.q.size**2 <= seconds


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve a linear program in 300 bits; ``tolerance`` is of the relative gap (default 1e-12).

    The status is ``optimal`` or ``inaccurate`` (the last iterate), and nothing is said about infeasibility.
    """
    known = constant_program(program, NAME)
    if known is not None:
        return known
    reduced = without_equations(program)
    if isinstance(reduced, ConicSolution):
        return replace(reduced, solver=NAME)
    known = constant_program(reduced.program, NAME)
    if known is not None:
        return reduced.restore(known)
    limit = _ITERATIONS if max_iterations is None else max_iterations
    return reduced.restore(_path(reduced.program, tolerance or _GAP, time_limit, limit, verbose))


def _path(
    program: ConicProgram, tolerance: float, time_limit: float | None, iterations: int, verbose: bool
) -> ConicSolution:
    import flint

    before = flint.ctx.prec
    flint.ctx.prec = _BITS
    started = time.perf_counter()
    try:
        state = _State(program)
        status, count = "inaccurate", 0
        for count in range(1, iterations + 1):
            took = (time.perf_counter() - started) / max(1, count - 1)  # an iteration
            late = time_limit is not None and count * took > time_limit
            if late or not state.step():
                break
            if verbose:
                print(f"{count:3d} {state.value():+.12e} gap {state.gap():.1e} missed {state.missed():.1e}")
            if state.gap() <= tolerance and state.missed() <= 1e-15:
                status = "optimal"
                break
        x, z = state.answer()
    except ZeroDivisionError as error:  # a singular matrix in 300 bits
        return unsolved(program, "failed", message=str(error), solver=NAME)
    finally:
        flint.ctx.prec = before
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        return unsolved(program, "failed", message="the iterates left the range of doubles", solver=NAME)
    return ConicSolution(
        status=status,
        x=x,
        s=program.b - program.A @ x,
        z=z,
        value=float(program.q @ x) + program.constant,
        iterations=count,
        solver=NAME,
        seconds=time.perf_counter() - started,
        message=status,
    )


class _State:
    """The iterate: multipliers Z and slacks S (a matrix a block, 1 x 1 for scalars), the point y."""

    def __init__(self, program: ConicProgram) -> None:
        from flint import arb, arb_mat

        self.program = program
        self.arb, self.mat = arb, arb_mat
        cones, dense = program.cones, program.A.toarray()
        count = program.q.size
        blocks = [
            (1, dense[r : r + 1].T[:, :, None], program.b[r].reshape(1, 1)) for r in range(cones.nonnegative)
        ]
        for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
            stack = np.array([smat(dense[rows, i], side) for i in range(count)])
            blocks.append((side, stack, smat(program.b[rows], side)))
        self.sides = [side for side, _, _ in blocks]
        # minus A, one matrix a column, and flattened: the slack is B + sum_i y_i F_i
        self.F = [[self._matrix(-m) for m in stack] for _, stack, _ in blocks]
        self.flat = [self._matrix(-stack.reshape(count, side * side)) for side, stack, _ in blocks]
        self.B = [self._matrix(b) for _, _, b in blocks]
        self.q = [arb(float(v)) for v in program.q]
        self.y = arb_mat(count, 1)
        self.Z = [self._eye(n) for n in self.sides]
        self.S = [self._eye(n) for n in self.sides]
        self.order = sum(self.sides)

    def _matrix(self, values: np.ndarray) -> Any:
        height, width = values.shape
        return self.mat(height, width, [self.arb(float(v)) for v in values.reshape(-1).tolist()])

    def _eye(self, side: int) -> Any:
        entries = [self.arb(_START if i == j else 0) for i in range(side) for j in range(side)]
        return self.mat(side, side, entries)

    def _products(self, matrices: list[Any]) -> Any:
        """``<F_i, M>`` of every column, shape (columns, 1)."""
        total = self.mat(len(self.q), 1)
        for flat, m, n in zip(self.flat, matrices, self.sides, strict=True):
            total = total + flat * self.mat(n * n, 1, m.entries())
        return total.mid()

    def _sums(self, y: Any) -> list[Any]:
        """``sum_i y_i F_i``, block by block."""
        return [
            self.mat(n, n, (flat.transpose() * y).mid().entries())
            for flat, n in zip(self.flat, self.sides, strict=True)
        ]

    def _inner(self, left: list[Any], right: list[Any]) -> Any:
        total = self.arb(0)
        for a, b, n in zip(left, right, self.sides, strict=True):
            total = total + (self.mat(1, n * n, a.entries()) * self.mat(n * n, 1, b.entries()))[0, 0]
        return total.mid()

    def missed(self) -> float:
        """The largest violation of the equations of Z."""
        found = self._products(self.Z)
        return max(abs(float(found[i, 0] - q)) for i, q in enumerate(self.q))

    def value(self) -> float:
        """The objective at the point."""
        return float(sum((q * self.y[i, 0] for i, q in enumerate(self.q)), self.arb(0)))

    def gap(self) -> float:
        """Relative complementarity."""
        return float(self._inner(self.Z, self.S)) / max(1.0, abs(self.value()))

    def step(self) -> bool:
        """One iteration; whether it moved."""
        arb = self.arb
        mu = (self._inner(self.Z, self.S) * _CENTRING / self.order).mid()
        inverse = [s.inv().mid() for s in self.S]
        off = [(b + a - s).mid() for a, b, s in zip(self._sums(self.y), self.B, self.S, strict=True)]
        normal = self.mat(len(self.q), len(self.q))
        for columns, flat, z, s, n in zip(self.F, self.flat, self.Z, inverse, self.sides, strict=True):
            rows = [v for f in columns for v in (z * f * s).mid().transpose().entries()]
            normal = normal + (flat * self.mat(len(self.q), n * n, rows).transpose()).mid()
        normal = ((normal + normal.transpose()) * arb(0.5)).mid()
        wanted = self._products(
            [(s * mu - z * r * s).mid() for z, s, r in zip(self.Z, inverse, off, strict=True)]
        )
        right = self.mat(len(self.q), 1, [wanted[i, 0] - q for i, q in enumerate(self.q)]).mid()
        dy = normal.solve(right, algorithm="approx").mid()
        if not all(v.is_finite() for v in dy.entries()):
            return False
        dS = [(a + r).mid() for a, r in zip(self._sums(dy), off, strict=True)]
        dZ = []
        for z, s, d in zip(self.Z, inverse, dS, strict=True):
            m = (s * mu - z - z * d * s).mid()
            dZ.append(((m + m.transpose()) * arb(0.5)).mid())
        first, second = self._longest(self.Z, dZ), self._longest(self.S, dS)
        self.Z = [(z + d * arb(first)).mid() for z, d in zip(self.Z, dZ, strict=True)]
        self.S = [(s + d * arb(second)).mid() for s, d in zip(self.S, dS, strict=True)]
        self.y = (self.y + dy * arb(second)).mid()
        return max(first, second) > 1e-3

    def _longest(self, at: list[Any], direction: list[Any]) -> float:
        """A step that stays inside the cone."""
        size = 1.0
        while size > 1e-6:
            if all(_definite((m + d * self.arb(size)).mid()) for m, d in zip(at, direction, strict=True)):
                return size if size == 1.0 else _BACK * size
            size *= 0.9
        return 0.0

    def answer(self) -> tuple[np.ndarray, np.ndarray]:
        """Point and multipliers in doubles."""
        x = np.array([float(self.y[i, 0]) for i in range(len(self.q))])
        parts = []
        for z, n in zip(self.Z, self.sides, strict=True):
            matrix = np.array([float(v) for v in z.entries()]).reshape(n, n)
            parts.append(svec(0.5 * (matrix + matrix.T)))
        return x, np.concatenate(parts)


def _definite(matrix: Any) -> bool:
    """Whether Cholesky's method runs to completion."""
    side = matrix.nrows()
    rows: list[list[Any]] = []
    for i in range(side):
        row: list[Any] = []
        for j in range(i):
            total = matrix[i, j]
            for a, b in zip(row, rows[j][:j], strict=False):
                total = total - a * b
            row.append((total / rows[j][j]).mid())
        total = matrix[i, i]
        for a in row:
            total = total - a * a
        total = total.mid()
        if not total > 0:
            return False
        rows.append([*row, total.sqrt().mid()])
    return True
