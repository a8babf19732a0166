"""An interior-point method in numbers of many digits, for small programs that doubles do not solve, and for
certificates to many digits.

Where a program or its dual has no interior, iterates grow and double precision ends at half of its digits
(the control problems of SDPLIB: values wrong in the fifth digit). The same method in 300 bits goes on; what
its answer, rounded to doubles, is worth is proven elsewhere. Infeasible path following with the search
direction of Helmberg, Rendl, Vanderbei and Wolkowicz (SIAM J. Optim. 6, 1996) and of Kojima, Shindoh and
Hara (SIAM J. Optim. 7, 1997).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .program import ConicProgram, ConicSolution
from .reformulate import solve_reduced, unsolved
from .svec import smat, svec

NAME = "multiprecision"
_BITS = 300
_WORK = 3e7  # products of many digits in one iteration: some seconds
_SECONDS = 1e-7  # each
_ITERATIONS, _USUAL = 80, 30
_START = 1000.0
_CENTRING = 0.2
_BACK = 0.95
_GAP, _MISSED = 1e-12, 1e-15


def suits(program: ConicProgram) -> bool:
    """Whether an iteration takes at most some seconds."""
    return program.P is None and program.q.size > 0 and _work(program) <= _WORK


def _work(program: ConicProgram) -> float:
    return work_of(program.q.size, program.cones.psd) + float(program.q.size) ** 2 * program.cones.nonnegative


def work_of(count: int, sides: Iterable[int]) -> float:
    """Products of numbers in one iteration, with so many variables and matrices of these sides."""
    return float(sum(2 * count * n**3 + count**2 * n**2 for n in (*sides, 1)))


def begins_within(program: ConicProgram, seconds: float) -> bool:
    """Whether the equations are eliminated and an iteration is done in about this time."""
    return _SECONDS * _work(program) + 3e-10 * program.cones.zero * program.q.size**2 <= seconds


def seconds(program: ConicProgram) -> float:
    """About how long a program takes."""
    return _USUAL * _SECONDS * _work(program)


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
    limit = _ITERATIONS if max_iterations is None else max_iterations
    return solve_reduced(
        program, NAME, lambda reduced: _solved(reduced, tolerance or _GAP, time_limit, limit, verbose)
    )


def _solved(
    program: ConicProgram, tolerance: float, time_limit: float | None, iterations: int, verbose: bool
) -> ConicSolution:
    started, count, solved = time.perf_counter(), 0, False
    try:
        with precision(_BITS):
            path = CentralPath(program.q.tolist(), _blocks(program))
            for _ in path.follow(iterations):
                count += 1
                gap, missed = path.gap / max(1.0, abs(path.value)), path.missed
                if verbose:
                    said = f"gap {float(gap):.1e} missed {float(missed):.1e}"
                    print(f"{count:3d} {float(path.value):+.12e} {said}")
                solved = bool(gap <= tolerance and missed <= _MISSED)
                took = (time.perf_counter() - started) / count  # an iteration
                if solved or time_limit is not None and (count + 1) * took > time_limit:
                    break
            x = np.array([float(v) for v in path.y.entries()])
            z = np.concatenate([svec(_floats(matrix)) for matrix in path.Z])
    except ZeroDivisionError as error:  # a singular matrix in 300 bits
        return unsolved(program, "failed", message=str(error), solver=NAME)
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        return unsolved(program, "failed", message="the iterates left the range of doubles", solver=NAME)
    return ConicSolution(
        status="optimal" if solved else "inaccurate",
        x=x,
        s=program.b - program.A @ x,
        z=z,
        value=float(program.q @ x) + program.constant,
        iterations=count,
        solver=NAME,
        seconds=time.perf_counter() - started,
        message="optimal" if solved else "inaccurate",
    )


def precision(bits: int) -> Any:
    """Within it, numbers have so many binary digits."""
    from flint import ctx

    return ctx.workprec(bits)


def fraction_of(value: Any) -> Fraction:
    """The middle of a ball as a fraction."""
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@dataclass(frozen=True, eq=False)
class Block:
    """A matrix ``constant + sum_i y_i F_i`` of this side: entries (i, j, value) with i <= j, of numbers that
    ``arb`` takes, for the constant and for each column that has any."""

    side: int
    constant: list[tuple[int, int, Any]]
    columns: dict[int, list[tuple[int, int, Any]]]


def _blocks(program: ConicProgram) -> list[Block]:
    """The slack ``b - A x``, scalar by scalar and matrix by matrix."""
    cones, dense = program.cones, program.A.toarray()
    rows = [(1, slice(r, r + 1)) for r in range(cones.nonnegative)]
    result = []
    for side, here in [*rows, *zip(cones.psd, cones.psd_slices(), strict=True)]:
        used = np.flatnonzero(dense[here].any(axis=0)).tolist()
        columns = {i: _entries(-smat(dense[here, i], side)) for i in used}
        result.append(Block(side, _entries(smat(program.b[here], side)), columns))
    return result


def _entries(matrix: np.ndarray) -> list[tuple[int, int, Any]]:
    return [(int(i), int(j), float(matrix[i, j])) for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True)]


class CentralPath:
    """Minimise ``cost'y`` with every block positive semidefinite: multipliers Z and slacks S, a matrix a
    block, and the point y, in numbers of the present precision."""

    def __init__(self, cost: Sequence[Any], blocks: Sequence[Block]) -> None:
        from flint import arb, arb_mat

        count, self.mat, self._half = len(cost), arb_mat, arb(0.5)
        self.cost, self.y = arb_mat(count, 1, list(map(arb, cost))), arb_mat(count, 1)
        self.sides = [block.side for block in blocks]
        self.F = [{i: self._matrix(b.side, v) for i, v in b.columns.items()} for b in blocks]
        self.B = [self._matrix(block.side, block.constant) for block in blocks]
        self.flat = self._rows([{i: m.entries() for i, m in columns.items()} for columns in self.F])
        self.Z = self.S = [self._matrix(n, [(i, i, _START) for i in range(n)]) for n in self.sides]

    def follow(self, iterations: int) -> Iterator[CentralPath]:
        """The path after each of at most so many iterations, until one does not move it. ZeroDivisionError at
        a singular matrix."""
        for _ in range(iterations):
            if not self._step():
                return
            yield self

    def _matrix(self, side: int, entries: list[tuple[int, int, Any]]) -> Any:
        from flint import arb

        result = self.mat(side, side)
        for i, j, value in entries:
            result[i, j] = result[j, i] = arb(value)
        return result

    def _rows(self, blocks: list[dict[int, list[Any]]]) -> Any:
        """A row for each column of the program: the entries that it has in all blocks, one after another."""
        nothing = [[0 * self._half] * n**2 for n in self.sides]
        count, width = self.cost.nrows(), sum(map(len, nothing))
        rows = [own.get(i, none) for i in range(count) for own, none in zip(blocks, nothing, strict=True)]
        return self.mat(count, width, [v for row in rows for v in row])

    def _products(self, matrices: list[Any]) -> Any:
        """``<F_i, M>`` of every column, shape (columns, 1)."""
        return (self.flat * _stacked(self.mat, matrices)).mid()

    def _sums(self, y: Any) -> list[Any]:
        """``sum_i y_i F_i``, block by block."""
        entries = iter((self.flat.transpose() * y).mid().entries())
        return [self.mat(n, n, [next(entries) for _ in range(n * n)]) for n in self.sides]

    @property
    def missed(self) -> Any:
        """The largest violation of the equations of Z."""
        return max(map(abs, (self._products(self.Z) - self.cost).entries())).mid()

    @property
    def off(self) -> Any:
        """The largest violation of the equations of S."""
        return max(abs(v) for m in self._rest() for v in m.entries()).mid()

    def _rest(self) -> list[Any]:
        """What S lacks of the matrices at the point."""
        return [(b + a - s).mid() for a, b, s in zip(self._sums(self.y), self.B, self.S, strict=True)]

    @property
    def value(self) -> Any:
        """The objective at the point."""
        return (self.cost.transpose() * self.y)[0, 0].mid()

    @property
    def gap(self) -> Any:
        """Complementarity: what the multipliers prove is less than the value by so much."""
        return (_stacked(self.mat, self.Z).transpose() * _stacked(self.mat, self.S))[0, 0].mid()

    def _step(self) -> bool:
        """One iteration; whether it moved."""
        mu = (self.gap * _CENTRING / sum(self.sides)).mid()
        inverse, off = [s.inv().mid() for s in self.S], self._rest()
        ends = list(zip(self.Z, inverse, strict=True))
        normal = (
            self.flat
            * self._rows(
                [
                    {i: (z * f * s).mid().transpose().entries() for i, f in columns.items()}
                    for columns, (z, s) in zip(self.F, ends, strict=True)
                ]
            ).transpose()
        )
        normal = ((normal + normal.transpose()) * self._half).mid()
        wanted = self._products([(s * mu - z * r * s).mid() for (z, s), r in zip(ends, off, strict=True)])
        dy = normal.solve((wanted - self.cost).mid(), algorithm="approx").mid()
        if not all(v.is_finite() for v in dy.entries()):
            return False
        dS = [(a + r).mid() for a, r in zip(self._sums(dy), off, strict=True)]
        changes = [(s * mu - z - z * d * s).mid() for (z, s), d in zip(ends, dS, strict=True)]
        self.Z, first = _moved(self.Z, [((m + m.transpose()) * self._half).mid() for m in changes])
        self.S, second = _moved(self.S, dS)
        self.y = (self.y + dy * second).mid()
        return max(first, second) > 1e-3


def _stacked(mat: Any, matrices: list[Any]) -> Any:
    """The entries of matrices in one column."""
    entries = [v for m in matrices for v in m.entries()]
    return mat(len(entries), 1, entries)


def _moved(at: list[Any], direction: list[Any]) -> tuple[list[Any], float]:
    """The matrices a step on, the whole one at most, with room to the boundary of their cones; its length."""
    from flint import arb

    size = 1 / _BACK
    while size > 1e-6:
        if all(is_positive_definite((m + d * arb(size)).mid()) for m, d in zip(at, direction, strict=True)):
            size *= _BACK
            return [(m + d * arb(size)).mid() for m, d in zip(at, direction, strict=True)], size
        size *= 0.9
    return at, 0.0


def is_positive_definite(matrix: Any) -> bool:
    """Whether elimination proves a symmetric matrix of balls positive definite: all pivots > 0."""
    n, rows = matrix.nrows(), matrix.table()
    for k in range(n):
        if not rows[k][k] > 0:
            return False
        for i in range(k + 1, n):
            factor = rows[k][i] / rows[k][k]  # the upper triangle is what is read
            for j in range(i, n):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
    return True


def _floats(matrix: Any) -> np.ndarray:
    result = np.array([[float(v) for v in row] for row in matrix.tolist()])
    return 0.5 * (result + result.T)
