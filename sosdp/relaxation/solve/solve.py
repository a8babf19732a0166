"""Calling a solver on a Gram program, in the form that suits it, and finding points well inside the cone."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...conic import newton_cg
from ...conic.choose import INTERIOR_POINT_SIDE, backend, check_memory, choose, is_installed
from ...conic.clock import within
from ...conic.plugins import name_of
from ...conic.svec import svec_length, units
from ..assemble.identity import GramProgram, Identity, RawSolution, unanswered
from .forms import gram_form, moment_form, read_gram_form, read_moment_form
from .sos_cone.choose import prefers
from .sos_cone.points import NotSampled
from .sos_cone.solve import NAME as SOS_CONE
from .sos_cone.solve import at_points, solve_at_points

LOW_RANK = "low_rank"
NO_LOW_RANK = (
    "solver='low_rank' is for degree 2 and the equations x_i**2 == a_i > 0 of all variables alone, "
    "or those of matrices with orthonormal rows or columns, with numbers from 1e-90 to 1e90"
)
_NEWTON_COLUMNS = 12  # a side, from which on our Newton-CG method is not slower than SCS
_SCS_SIDES = 30, 100  # of the largest block, between which SCS gets a trial:
_TRIAL, _TRIAL_COLUMNS = 600, 350  # iterations, and moments, where our method at points is next,
_LONG_TRIAL, _TRIAL_RATE = 1000, 0.016  # else at most so many, and this times the cube of the side: about
# half of what an interior-point method takes
_PATIENCE_SIDE = 400  # beyond it one eigendecomposition alone takes about 0.1 s, and there are thousands
_SMALL_SIDE, _SMALL_COLUMNS = 40, 500
_FEW_MOMENTS, _LARGE_WORK = 2000, 2e11  # moments, and sum of R^3, up to which an interior point beats SCS


def cubic_work(identity: Identity) -> float:
    """Sum of R^3 over the blocks, R = N(N+1)/2: what an interior-point iteration costs."""
    if identity.dominance is not None:
        # pieces of side 1 or 2 are sparse rows: an iteration is far below the cube of their number
        return float(sum(svec_length(n) for n in identity.sides)) ** 2
    return sum(float(svec_length(n)) ** 3 for n in identity.solved_sides)


def suits_newton_cg(program: GramProgram) -> bool:
    """Whether our Newton-CG method is tried first: blocks too large for Clarabel, many columns a side."""
    identity = program.identity
    side = max(identity.sides, default=0)
    large = side > INTERIOR_POINT_SIDE and program.quadratic is None
    return large and identity.columns.shape[0] >= _NEWTON_COLUMNS * side


def suits_scs(program: GramProgram, ours: bool) -> bool:
    """Whether SCS gets a trial before the next method (``ours``: at points): few blocks, one of them large,
    with a moment for most of their entries, so that its steps cost next to nothing beside those of that; of
    larger ones, with one for all of the largest (box programs of degree 2, sides 61 to 101: .4 to .8 of the
    time of Newton-CG; a theta program took 11,300 steps). Where nothing is minimised, there may be no
    interior, and it takes very many."""
    identity = program.identity
    side = max(identity.sides, default=0)
    if not _SCS_SIDES[0] <= side <= _SCS_SIDES[1] or program.quadratic is not None:
        return False
    if np.isfinite(program.upper).any() or ours and identity.columns.shape[0] < _TRIAL_COLUMNS:
        return False
    columns, entries = identity.columns.shape[0], sum(svec_length(n) for n in identity.sides)
    few = len(identity.sides) <= 3 or 2 * columns >= entries
    return is_installed("scs") and (few if side <= INTERIOR_POINT_SIDE else columns >= svec_length(side))


def solve_program(
    program: GramProgram,
    *,
    solver: Any = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> RawSolution:
    """The answer of one solver, in the form that suits it: Gram form for interior point, moment form for
    first order; what to do where that is doubtful is the ladder's.

    With ``solver="auto"`` our own methods are used where they are measured to be faster (``sos_cone`` at
    points, ``newton_cg``; ``"borrowed"`` is ``"auto"`` without them). A symmetric identity is solved reduced
    and its answer mapped back, and so is one whose Gram matrices are in a smaller cone. Of a polynomial whose
    constant is large beside its other terms, the digits are those of what it varies by: the constant is
    added to the unknown that takes it. Raises SolverUnavailable and ProblemTooLarge.
    """
    options: Any = {"tolerance": tolerance, "time_limit": time_limit, "verbose": verbose}
    lifted = _lifted(program)
    if lifted is not None:
        return _lowered(program, solve_program(lifted, solver=solver, **options))
    smaller = program.identity.symmetry or program.identity.dominance
    # at points a symmetric identity is solved as it is
    if smaller is not None and (solver != SOS_CONE or program.identity.dominance is not None):
        seen = replace(program, identity=smaller.reduce(program.identity))
        name = "borrowed" if solver == "auto" else solver
        return smaller.lift(program, solve_program(seen, solver=name, **options))
    ours = solver == "auto" and prefers(program)
    if solver == "auto" and suits_scs(program, ours):
        trial = _TRIAL if ours else min(_LONG_TRIAL, int(_TRIAL_RATE * max(program.identity.sides) ** 3))
        soon = _solve_with(program, "scs", {**options, "max_iterations": trial})
        if soon.status == "optimal":
            return soon
    if solver == "auto" and suits_newton_cg(program):
        return _solve_with(program, newton_cg.NAME, options)
    if ours:
        sampled = at_points(program, **options)
        if sampled is not None:
            return sampled
    name = _suited(program) if solver in ("auto", "borrowed") else solver
    return _solve_with(program, name, options)


def _lifted(program: GramProgram) -> GramProgram | None:
    """The program without constants that are large beside all else, where none of it is rounded."""
    identity, varying = program.identity, program.identity.varying(program.identity.target)
    if program.quadratic is not None or np.array_equal(varying, identity.target):
        return None
    target = identity.target + identity.unknown.T @ program.settled
    exact = np.array_equal(target, varying)
    return replace(program, identity=identity.with_target(target, identity.rounded)) if exact else None


def _lowered(program: GramProgram, raw: RawSolution) -> RawSolution:
    """The solution with the constants in its unknowns; a proof of the solver's own is of another identity."""
    if not raw.has_values:
        return raw
    inside = raw.inside
    if inside is not None:
        inside = replace(inside, unknowns=inside.unknowns + program.settled, proof=None)
    unknowns = raw.unknowns + program.settled
    return replace(raw, unknowns=unknowns, value=program.value(unknowns), inside=inside)


def _suited(program: GramProgram) -> str:
    """The solver by the work: of a large block with few moments (words of projectors, orbits) an interior
    point is found by equations in the moments, which SDPA solves; Clarabel's are in the entries, and still
    sooner done than thousands of steps of SCS (I3322 at level 3, side 88 and 868 moments: 3, 22 and more
    than 280 s)."""
    identity = program.identity
    side, columns = max(identity.sides, default=0), identity.columns.shape[0]
    few = columns < _NEWTON_COLUMNS * sum(identity.sides) and program.quadratic is None
    if side > INTERIOR_POINT_SIDE and few:
        if columns <= _FEW_MOMENTS and not identity.free.shape[0] and is_installed("sdpa"):
            return "sdpa"
        if cubic_work(identity) <= _LARGE_WORK and is_installed("clarabel"):
            return "clarabel"
    return choose(identity.sides)


def small_solvers(program: GramProgram) -> tuple[str, ...]:
    """Installed solvers for a second opinion on a program so small that they take a moment: they work with
    dense matrices, and cannot be stopped at a time limit."""
    identity = program.identity
    if max(identity.solved_sides, default=0) > _SMALL_SIDE or identity.columns.shape[0] > _SMALL_COLUMNS:
        return ()
    return tuple(name for name in ("cvxopt", "sdpa") if is_installed(name))


def solve_moments(program: GramProgram, name: str, time_limit: float | None = None) -> RawSolution:
    """The moment form by a solver that gets the Gram form otherwise: long chains of squares that an
    interior-point method leaves early in one form are often solved in the other."""
    identity = program.identity
    smaller = identity.symmetry or identity.dominance
    if smaller is not None:
        raw = solve_moments(replace(program, identity=smaller.reduce(identity)), name, time_limit)
        return smaller.lift(program, raw)
    form = moment_form(program)
    check_memory(name, form.conic)
    return read_moment_form(program, form, backend(name).solve(form.conic, time_limit=within(time_limit)))


def _solve_with(program: GramProgram, name: Any, options: dict) -> RawSolution:
    if name == LOW_RANK:
        raise ValueError(NO_LOW_RANK)
    if name == SOS_CONE:
        if program.identity.blocks:
            try:
                return solve_at_points(program, **options)
            except NotSampled as error:
                return unanswered(program.identity, "failed", str(error), SOS_CONE)
        name = choose([])  # linear equations alone
    options = {**options, "time_limit": within(options["time_limit"])}
    module = backend(name)
    side = max(program.identity.solved_sides, default=0)
    if side > _PATIENCE_SIDE and options["time_limit"] is None:
        warnings.warn(
            f"a matrix block of side {side} can keep {name_of(name)} busy for hours: give a time_limit (in "
            "seconds), a lower degree, or a sparsity or symmetry option",
            stacklevel=2,
        )
    if module.FORM == "moment":
        form = moment_form(program)
        check_memory(name, form.conic)
        result = module.solve(form.conic, **options)
        return read_moment_form(program, form, result)
    conic = gram_form(program)
    check_memory(name, conic)
    return read_gram_form(program, module.solve(conic, **options))


def unproducible(identity: Identity) -> RawSolution | None:
    """A coefficient of the target or the unknowns that no block and no equality can produce: the functional
    that reads it decides, without a solver. None where there is no such coefficient."""
    column = next((k for k, wanted in identity.derive(_unproduced) if wanted or identity.target[k]), None)
    if column is None:
        return None
    moments = np.zeros(identity.columns.shape[0])
    moments[column] = -np.sign(identity.target[column])
    known = "a monomial of the polynomial is not a product of two basis elements"
    return replace(unanswered(identity, "unbounded", known), moments=moments, value=-np.inf)


def _unproduced(identity: Identity) -> list[tuple[int, bool]]:
    """The coefficients that no block and no equality can produce, and whether an unknown asks for them."""
    made = np.concatenate([identity.gram.indices, identity.free.indices])
    missing = np.setdiff1d(np.arange(identity.columns.shape[0]), made)
    return list(zip(missing.tolist(), np.isin(missing, identity.unknown.indices).tolist(), strict=True))


def with_margin(identity: Identity, keep_unknowns: bool = False) -> Identity:
    """The identity with one more unknown t (the last): every Gram matrix is t I plus a positive semidefinite
    one."""
    trace = sp.csr_matrix(-(identity.gram.T @ units(identity.sides)))
    unknown = sp.vstack([identity.unknown, trace], format="csr") if keep_unknowns else trace
    return replace(identity, unknown=unknown)
