"""What is solved to prove a bracket of a conic program: shrunk cones, faces, rays, points.

Solvers end on the boundary of the cones, where rounding proves nothing; the same program with its cones
shrunk by a little has its solution inside. Where there is no inside, the program is restricted to a face: to
one that integers show (``restrict`` for the points, ``exact_face`` for the dual vectors), and then
to one that a solver's numbers suggest (``exact.guesses``). Last, for small programs, dual vectors are points
of the dual program (``dual_program``). Every number that comes out is proven by ``brackets`` or in exact
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from . import multiprecision
from .brackets import Bracket, bounded_lower_bound, is_empty, lower_bound, upper_bound
from .clock import OutOfTime, gave_up, otherwise, reserve
from .exact.dual_face import exact_face
from .exact.dual_program import dual_program, ray_program
from .exact.guesses import lifted, primal_face, relaxed
from .exact.integers import rounded
from .exact.restriction import Point, Restricted, near, restrict
from .program import ConicProgram, ConicSolution
from .reformulate import unsolved

_ROUNDS = 3  # of facial reduction by guesses
_GUESSED = 300_000  # entries of a program for which faces are guessed: some seconds
_MARGIN = 1e-6  # of a relaxed program, below which doubles do not tell whether there is any
_MANY_DIGITS = 10.0  # seconds that it may take to find out
_LEAST_GAP = 1e-20  # of its values: dual vectors of what misses a cone by 1e-13 are rays
_SHRINK = (1e-8, 1e-7, 1e-6, 3e-6)  # of the value, what each cone's shrinking may cost

EMPTY = Bracket(np.inf, np.inf, empty=True)

Solve = Callable[[ConicProgram], ConicSolution]


def bracket(
    program: ConicProgram,
    solution: ConicSolution,
    solve: Solve,
    relative: float,
    largest: float | None = None,
) -> Bracket:
    """A bracket of the optimal value of a linear program from a solver's answer; with ``largest`` the lower
    bound is over the points whose entries are at most that in absolute value.

    ``solve`` is called for the shrunk programs, until the bracket is within ``relative``, and then for the
    faces that numbers suggest. Cost: a dense factorisation of the columns, and at most as many solves as
    there are sizes of shrinking, on the program and on each face.
    """
    # what floats prove: often nothing, at little cost beside exact arithmetic
    side = _Side(program, solution)
    upper = side.upper()
    as_found = Bracket(side.lower() if upper < np.inf else -np.inf, upper)
    if as_found.agrees(relative):
        return as_found
    inner = restrict(program)
    if inner is True:
        return EMPTY
    if solution.status == "infeasible":
        if _is_ray(program, solution.z) or find_point(program, solve) is True:
            return EMPTY
        return Bracket(-np.inf, np.inf, reason="the ray of infeasibility could not be proven")
    above = start = side
    if isinstance(inner, Restricted) and inner.changed:
        above = _restricted(inner, solve)
        # what is exact shows its face; a program whose entries were rounded shows none
        start = above if above.exact else start
    elif isinstance(inner, Restricted):
        above = start = _Side(program, solution, None, inner)
    face = exact_face(start.program)
    below = start
    if face is not None:
        below = replace(start, program=face.program, answer=_answer(face.program, solve), errors=face.errors)
    if not (below.usable or above.usable):
        point = find_point(program, solve)
        if point is True:
            return EMPTY
        upper = np.inf if point is False else point[0].upper_bound(point[1])
        return Bracket(-np.inf, upper, reason=f"the solver gave no point ({solution.message})")
    best = as_found
    if largest is not None and solution.status in ("optimal", "inaccurate"):
        best = replace(best, lower=max(best.lower, bounded_lower_bound(program, solution.z, largest)))
    best = _closer(best, below, above, solve, relative)
    if not best.agrees(relative):
        best = _on_faces(best, above.inner, solve, relative)
    if not best.agrees(relative):
        best = replace(best, lower=max(best.lower, _exact_lower(program, best.upper, solve, relative)))
    if best.upper == np.inf and _has_exact_ray(program, solve):
        return EMPTY
    reason = "" if best.agrees(relative) else _missing(best)
    if largest is None and not np.isfinite(best.lower) and solution.status in ("optimal", "inaccurate"):
        size = float(f"{10 * max(1.0, float(np.abs(solution.x).max(initial=0.0))):.0e}")
        within = bounded_lower_bound(program, solution.z, size)
        if np.isfinite(within):
            reason += f" (entries of x up to {size:g} give at least {within:.9g}: say so by largest={size:g})"
    return replace(best, reason=reason)


def _answer(program: ConicProgram, solve: Solve) -> ConicSolution:
    """A solver's answer; where there are no variables, the only point, which is not looked at here."""
    if program.q.size:
        return solve(program)
    return replace(unsolved(program, "optimal"), s=program.b.copy(), value=program.constant)


def _closer(
    best: Bracket,
    below: _Side,
    above: _Side,
    solve: Solve,
    relative: float,
) -> Bracket:
    """The bracket with what the answers on both sides prove, and those of the programs shrunk ever more."""
    best = Bracket(max(best.lower, below.lower()), min(best.upper, above.upper()))
    for shrink in _SHRINK:
        if best.agrees(relative):
            break
        low = high = below.shrunk(shrink, solve) if below is above else below
        if below is not above or not low.usable:
            # where one side has no interior, shrinking both spoils the other
            low = below.shrunk(shrink, solve, point=False)
            high = above.shrunk(shrink, solve, dual=False)
        best = Bracket(max(best.lower, low.lower()), min(best.upper, high.upper()))
    return best


def _on_faces(best: Bracket, inner: Restricted | None, solve: Solve, relative: float) -> Bracket:
    """The bracket with what the faces prove that a solver's numbers suggest."""
    if inner is None or inner.program.A.shape[0] * inner.program.q.size > _GUESSED:
        return best
    for _ in range(_ROUNDS):
        seen = primal_face(inner.program, solve(relaxed(inner.program)))
        narrow = False if seen is None else restrict(inner.whole, lifted(seen, inner))
        if not isinstance(narrow, Restricted):
            return EMPTY if narrow is True else best
        above = _restricted(narrow, solve)
        best = _closer(best, above, above, solve, relative)
        if best.agrees(relative):
            return best
        inner = narrow
    return best


@otherwise(-np.inf)
def _exact_lower(program: ConicProgram, upper: float, solve: Solve, relative: float) -> float:
    """A lower bound from points of the dual program that are proven in exact arithmetic."""
    dual = dual_program(program)
    inner = False if dual is None else restrict(dual)
    if not isinstance(inner, Restricted):
        return -np.inf
    side = _restricted(inner, solve)
    known = Bracket(program.constant - upper, np.inf)  # a guess of where to stop, no more
    result = _closer(known, side, side, solve, relative)
    if not result.agrees(relative):
        result = _on_faces(result, inner, solve, relative)
    if not np.isfinite(result.upper):
        return -np.inf
    return rounded(Fraction(program.constant) - Fraction(result.upper), -1)


def _has_exact_ray(program: ConicProgram, solve: Solve) -> bool:
    """Whether a ray that is proven in exact arithmetic shows that no point exists."""
    rays = ray_program(program)
    return rays is not None and not isinstance(_near_answers(rays, solve), bool)


def _is_ray(program: ConicProgram, z: np.ndarray) -> bool:
    """Whether a ray near z, on the face that integers show, proves that a program has no point."""
    face = exact_face(replace(program, q=np.zeros_like(program.q)))
    return is_empty(program, z) if face is None else is_empty(face.program, face.dual(z), face.errors)


@dataclass(frozen=True, eq=False)
class _Side:
    """A program with a solver's answer to it: for bounds from below, or from above. ``inner``: where it is a
    program restricted to a face of another."""

    program: ConicProgram
    answer: ConicSolution
    errors: tuple[np.ndarray, np.ndarray] | None = None
    inner: Restricted | None = None

    @property
    def usable(self) -> bool:
        """Whether there is a point to start from."""
        return self.answer.status in ("optimal", "inaccurate")

    def lower(self) -> float:
        """The lower bound that the dual vector proves."""
        if not self.usable or self.inner is not None and not self.inner.implied:
            return -np.inf
        if self.inner is None:
            return lower_bound(self.program, self.answer.z, self.errors)
        result = 0.0  # without variables all points have one value
        if self.program.q.size:
            result = lower_bound(replace(self.program, constant=0.0), self.answer.z, self.errors)
        return rounded(Fraction(result) + self.inner.constant, -1) if np.isfinite(result) else result

    def upper(self) -> float:
        """The upper bound that the point proves."""
        if not self.usable:
            return np.inf
        if self.inner is None:
            return upper_bound(self.program, self.answer.x)
        return min(self.inner.upper_bound(t) for t in near(self.answer.x))

    @property
    def exact(self) -> bool:
        """Whether the entries of the program are what they are meant to be."""
        return self.errors is not None and not any(e.any() for e in self.errors)

    def shrunk(
        self,
        shrink: float,
        solve: Solve,
        point: bool = True,
        dual: bool = True,
    ) -> _Side:
        """The same program with point and dual vector of the one whose cones are shrunk so that each costs
        about ``shrink`` of the value: the cone of the slacks (``point``), of the dual vectors (``dual``)."""
        if not self.usable or not self.program.q.size:
            return self
        program, result = self.program, self.answer
        inside = program.cones.unit
        size = shrink * max(1.0, abs(result.value) if np.isfinite(result.value) else 1.0)
        primal_step = size / max(1e-6, float(inside @ np.abs(result.z))) if point else 0.0
        dual_step = size / max(1e-6, float(inside @ np.abs(result.s))) if dual else 0.0
        q = program.q + dual_step * (program.A.T @ inside)
        b = program.b - primal_step * inside
        if not (np.isfinite(b).all() and np.isfinite(q).all()):  # values near the largest float
            return self
        answer = solve(replace(program, b=b, q=q))
        return replace(self, answer=replace(answer, z=answer.z + dual_step * inside))


def _restricted(inner: Restricted, solve: Solve) -> _Side:
    """A program on a face with a solver's answer to it."""
    return _Side(inner.program, _answer(inner.program, solve), inner.errors, inner)


def _missing(best: Bracket) -> str:
    sides = [name for name, value in (("lower", best.lower), ("upper", best.upper)) if not np.isfinite(value)]
    if sides:
        return f"no {' and no '.join(sides)} bound was proven: " + (
            "no time for a step of the proof" if gave_up() else "there seems to be no interior on that side"
        )
    return f"the proven bounds {best.lower:.9g} and {best.upper:.9g} do not agree"


def is_unbounded(program: ConicProgram, solve: Solve, cost: float = 0.0) -> bool | None:
    """Whether a feasible point and a direction that improves it are both proven; None: proven to have no
    point. ``cost``: what entries of q are off by at most, beside their size."""
    point = find_point(replace(program, q=np.zeros_like(program.q)), solve)
    if point is True:
        return None
    return point is not False and is_dual_infeasible(program, solve, cost=cost)


@otherwise(False)
def is_dual_infeasible(program: ConicProgram, solve: Solve, relative: float = 0.0, cost: float = 0.0) -> bool:
    """Whether a direction is proven that leads from any feasible point to others of ever lower value: then
    the dual program has no point. (Whether this one has any is not asked.) ``relative``: what entries of A
    and q are off by at most, beside their size; where they are, only a direction inside the cones proves it.
    ``cost``: the same of q alone.
    """
    row = sp.csr_matrix(program.q.reshape(1, -1))
    falls = replace(
        program,
        q=np.zeros_like(program.q),
        A=sp.vstack([row, program.A], format="csc"),
        b=np.append(-1.0, np.zeros(program.b.size)),
        cones=replace(program.cones, zero=program.cones.zero + 1),
        constant=0.0,
    )
    if not relative:
        best = _near_answers(falls, solve)
        if isinstance(best, bool):
            return False
        inner, at = best
        terms = (abs(Fraction(c) * v) for c, v in zip(program.q.tolist(), inner.point(at), strict=True))
        return cost * sum(terms) < 1
    if falls.A.shape[0] * falls.q.size > _GUESSED:
        return False
    errors = (abs(falls.A).toarray() * relative, np.zeros(falls.b.size))
    return upper_bound(falls, solve(relaxed(falls)).x[:-1], errors) < np.inf


def find_point(program: ConicProgram, solve: Solve) -> tuple[Restricted, Point] | bool:
    """A point that is proven feasible, in the coordinates of a restricted program; True where it is proven
    that there is none, False where nothing is. A ray on a face of the cone is not near those of a solver: a
    -1 on the diagonal of a matrix, under moments of a degree that it does not need."""
    result = _near_answers(program, solve)
    return _has_exact_ray(program, solve) if result is False else result


def _near_answers(program: ConicProgram, solve: Solve) -> tuple[Restricted, Point] | bool:
    """``find_point``, near a solver's points and rays."""
    inner = restrict(program)
    for _ in range(_ROUNDS):
        if not isinstance(inner, Restricted):
            return inner
        if not inner.program.q.size:
            at: Point = []
            return (inner, at) if inner.upper_bound(at) < np.inf else inner.implied and inner.excludes(at)
        for answer in _margins(inner.program, solve):
            for t in near(answer.x[:-1]):
                if inner.upper_bound(t) < np.inf:
                    return inner, t
            if answer.x[-1] < 0 and inner.implied:
                z = answer.z[1:]
                if _is_ray(inner.program, z) if inner.exact else is_empty(inner.program, z, inner.errors):
                    return True
        face = primal_face(inner.program, answer)
        if face is None:
            return False
        inner = restrict(program, lifted(face, inner))
    return False


def find_point_within(
    program: ConicProgram, relative: tuple[float, float], solve: Solve
) -> np.ndarray | bool:
    """A point near which every program has one whose entries of A and of b are off by at most ``relative``,
    beside their size; True where it is proven that none of them has any, False where nothing is."""
    if program.A.shape[0] * program.q.size > _GUESSED:
        return False
    # a variable that moves nothing is 0: beside it no dual vector is the only one
    moving = np.asarray(abs(program.A).sum(axis=0)).ravel() > 0
    point, program = np.zeros(moving.size), replace(program, A=program.A[:, moving], q=program.q[moving])
    errors = abs(program.A).toarray() * relative[0], np.abs(program.b) * relative[1]
    for answer in _margins(program, solve):
        if upper_bound(program, answer.x[:-1], errors) < np.inf:
            point[moving] = answer.x[:-1]
            return point
        if is_empty(program, np.delete(answer.z, program.cones.zero), errors):
            return True
    return False


def _margins(program: ConicProgram, solve: Solve) -> Iterator[ConicSolution]:
    """Answers to the relaxed program: a solver's, and where that has next to no margin, one in many digits,
    and one whose dual vector is inside the cone, at the cost of half of what is missing: signs that miss an
    inequality by 1e-9 miss a margin by 1e-10, which doubles do not tell from nothing."""
    wanted = relaxed(program)
    first = solve(wanted)
    yield first
    if abs(first.x[-1]) <= _MARGIN:
        finer = _in_many_digits(wanted)
        yield finer
        if finer.x[-1] < 0:
            half = -float(finer.x[-1]) / 2
            yield _Side(wanted, finer).shrunk(half, _in_many_digits, point=False).answer


def _in_many_digits(program: ConicProgram) -> ConicSolution:
    """The answer in many digits; ``failed`` where that takes too long."""
    try:
        reserve(multiprecision.seconds(program), _MANY_DIGITS)
    except OutOfTime:
        return unsolved(program, "failed", message="no time left")
    return multiprecision.solve(program, tolerance=_LEAST_GAP)


def dual_bound(
    program: ConicProgram, errors: tuple[np.ndarray, np.ndarray, np.ndarray] | None, solve: Solve
) -> float:
    """A proven lower bound on the value of a program (its constant left out) whose entries of A, b and q are
    off by at most ``errors``; None: by nothing but the rounding of factors sqrt(2). Exact points of the dual
    program are looked for where no dual vector proves anything. Cost: a few solves."""
    program = whole = replace(program, constant=0.0)
    known, off = (None, None) if errors is None else (errors[:2], errors[2])
    face = exact_face(program) if errors is None else None
    if face is not None:
        program, known = face.program, face.errors
    side = _Side(program, _answer(program, solve), known)
    best = -np.inf
    for shrink in (0.0, *_SHRINK):
        low = side.shrunk(shrink, solve, point=False) if shrink else side
        best = max(best, lower_bound(low.program, low.answer.z, low.errors, off) if low.usable else -np.inf)
        if not side.usable or best > -np.inf and side.answer.value - best <= 1e-6 * max(1.0, abs(best)):
            break
    done = best > -np.inf or errors is not None or not side.usable
    return best if done else _exact_lower(whole, side.answer.value, solve, 1e-6)
