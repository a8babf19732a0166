"""Calling a solver on a Gram program, in the form that suits it, and finding points well inside the cone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...conic import newton_cg
from ...conic.choose import INTERIOR_POINT_SIDE, backend, check_memory, choose, is_installed
from ...conic.program import ConicProgram, ProblemTooLarge
from ...conic.svec import svec_length, triangle
from ..build.identity import GramProgram, Identity, RawSolution
from .forms import gram_form, moment_form, read_gram_form, read_moment_form
from .sos_cone.choose import prefers, rescues, trial
from .sos_cone.solve import NAME as SOS_CONE
from .sos_cone.solve import at_points, solve_at_points

_NEWTON_COLUMNS = 12  # a side, from which on our Newton-CG method is not slower than SCS
_PATIENCE_SIDE = 400  # beyond it one eigendecomposition alone takes about 0.1 s, and there are thousands
_SDPA_SIDE, _SDPA_COLUMNS = 28, 600
_SMALL_SIDE, _SMALL_COLUMNS = 40, 500
_LARGE, _SMALL = 1e8, 1e-2
_RETRY_WORK = 1e12  # sum of R^3 up to which an inaccurate first-order answer is solved again (minutes)


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
    if side <= INTERIOR_POINT_SIDE or identity.dominance is not None or program.quadratic is not None:
        return False
    return identity.columns.shape[0] >= _NEWTON_COLUMNS * side


def solve_program(
    program: GramProgram,
    *,
    solver: str = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> RawSolution:
    """Solve in the form that suits the solver: Gram form for interior point, moment form for first order.

    With ``solver="auto"`` our own methods are used where they are measured to be faster (``sos_cone`` at
    points, ``newton_cg``; ``"borrowed"`` is ``"auto"`` without them), after a short trial of SCS where that
    may be faster still; and a first-order answer that is not accurate is tried again with an interior-point
    method when memory allows.
    A symmetric identity is solved reduced and its answer mapped back, and so is one whose Gram matrices are
    in a smaller cone. Raises SolverUnavailable and ProblemTooLarge.
    """
    smaller = program.identity.symmetry or program.identity.dominance
    if solver == SOS_CONE and program.identity.dominance is None:
        smaller = None  # points take care of symmetry themselves
    if smaller is not None:
        reduced = replace(program, identity=smaller.reduce(program.identity))
        if solver == "auto" and program.identity.dominance is None and prefers(reduced):
            ours = at_points(program, tolerance=tolerance, time_limit=time_limit, verbose=verbose)
            if ours is not None and ours.status == "optimal":
                return ours
        # a reduced identity has no monomials left that points could have values for
        name = "borrowed" if solver == "auto" else solver
        raw = solve_program(reduced, solver=name, tolerance=tolerance, time_limit=time_limit, verbose=verbose)
        return smaller.lift(program, raw)
    options: Any = {"tolerance": tolerance, "time_limit": time_limit, "verbose": verbose}
    early: RawSolution | None = None
    if solver == "auto" and suits_newton_cg(program):
        early = _solve_with(program, newton_cg.NAME, options)
        if early.status == "optimal":
            return early
    if solver == "auto" and prefers(program):
        enough = trial(program)
        if enough:
            raw = _solve_with(program, "scs", options, max_iterations=enough)
            if raw.status == "optimal":
                return raw
        ours = at_points(program, **options)
        if ours is not None and ours.status == "optimal":
            return ours
    name = choose(program.identity.sides) if solver in ("auto", "borrowed") else solver
    if solver in ("auto", "borrowed") and name == "clarabel" and time_limit is None and _suits_sdpa(program):
        raw = _solve_with(program, "sdpa", options)
        if raw.status == "optimal":
            return raw
    raw = _solve_with(program, name, options)
    if (
        solver == "auto"
        and name == "clarabel"
        and raw.status in ("failed", "inaccurate")
        and rescues(program)
    ):
        ours = at_points(program, **options)
        if ours is not None and ours.status == "optimal":
            return ours
    if (
        solver in ("auto", "borrowed")
        and raw.status in ("failed", "inaccurate")
        and name == "scs"
        and is_installed("clarabel")
    ):
        if cubic_work(program.identity) <= _RETRY_WORK:
            try:
                again = _solve_with(program, "clarabel", options)
            except ProblemTooLarge:
                return raw
            if again.status == "optimal" or raw.status == "failed":
                return again
    if early is not None and early.status == "inaccurate" and raw.status == "failed":
        return early
    return raw


def _suits_sdpa(program: GramProgram) -> bool:
    """Whether SDPA is there and was measured to be two to six times as fast as Clarabel: one unknown, no
    equations, a block of side 28 or more. (It cannot be stopped, and is not asked where there is a limit.)"""
    identity = program.identity
    if not is_installed("sdpa") or program.quadratic is not None or identity.dominance is not None:
        return False
    if identity.unknown.shape[0] != 1 or identity.free.shape[0] or identity.hermitian:
        return False
    return max(identity.sides, default=0) >= _SDPA_SIDE and identity.columns.shape[0] <= _SDPA_COLUMNS


def solve_at_unit_scale(program: GramProgram, options: Mapping[str, Any]) -> RawSolution | None:
    """The answer of borrowed solvers to the same program with its target divided by a power of two
    (``options``: those of ``solve_program``).

    For coefficients so large that solvers take points for rays, or stop too early, and so small that they are
    below the tolerances: None where they are neither, and where no solver has an answer.
    """
    size = float(np.abs(program.identity.target).max(initial=0.0))
    if program.quadratic is not None or np.isfinite(program.upper).any():
        return None
    if not np.isfinite(size) or size < 1e-280 or _SMALL <= size <= _LARGE:
        return None
    power = 2.0 ** np.floor(np.log2(size))
    scaled = replace(program, identity=replace(program.identity, target=program.identity.target / power))
    best: RawSolution | None = None
    for name in ("borrowed", *(() if options.get("time_limit") else small_solvers(program))):
        raw = solve_program(scaled, **{**options, "solver": name})
        if raw.inside is None and (raw.status == "optimal" or raw.status == "inaccurate" and best is None):
            best = raw
        if raw.status == "optimal":
            break
    if best is None:
        return None
    return replace(
        best, **{name: getattr(best, name) * power for name in ("gram", "free", "unknowns", "value")}
    )


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
    return read_moment_form(program, form, backend(name).solve(form.conic, time_limit=time_limit))


def _solve_with(program: GramProgram, name: str, options: dict, **more: int) -> RawSolution:
    if name == SOS_CONE:
        if program.identity.blocks:
            return solve_at_points(program, **options)
        name = choose([])  # linear equations alone
    module = backend(name)
    side = max(program.identity.solved_sides, default=0)
    if side > _PATIENCE_SIDE and options["time_limit"] is None:
        warnings.warn(
            f"a matrix block of side {side} can keep {name} busy for hours: give a time_limit (in seconds), "
            "a lower degree, or a sparsity or symmetry option",
            stacklevel=2,
        )
    if module.FORM == "moment":
        form = moment_form(program)
        check_memory(name, form.conic)
        unit = _unit_of_cost(form.conic) if name == "scs" else 1.0
        conic = replace(form.conic, q=form.conic.q / unit) if unit > 1 else form.conic
        found = module.solve(conic, **options, **more)
        if found.status not in ("infeasible", "unbounded"):  # a ray has no scale
            found = replace(found, z=found.z * unit)
        return read_moment_form(program, form, found)
    conic = gram_form(program)
    check_memory(name, conic)
    return read_gram_form(program, module.solve(conic, **options))


def _unit_of_cost(conic: ConicProgram) -> float:
    """The power of two by which a linear cost is divided for SCS, so that no entry is above two: at costs of
    100 it takes up to three times as many iterations, and its accuracy is relative to the cost's size."""
    size = float(np.abs(conic.q).max(initial=0.0))
    if conic.P is not None or not 1.0 < size < np.inf:
        return 1.0
    return float(np.exp2(np.floor(np.log2(size))))


def unproducible(identity: Identity) -> RawSolution | None:
    """A coefficient of the target or the unknowns that no block and no equality can produce: the functional
    that reads it decides, without a solver. None where there is no such coefficient."""
    produced = identity.gram.getnnz(axis=0) + identity.free.getnnz(axis=0)
    wanted = (identity.target != 0) | (identity.unknown.getnnz(axis=0) > 0)
    missing = np.flatnonzero((produced == 0) & wanted)
    if not missing.size:
        return None
    column = int(missing[0])
    moments = np.zeros(identity.columns.shape[0])
    moments[column] = -np.sign(identity.target[column])
    rows, free = identity.gram.shape[0], identity.free.shape[0]
    return RawSolution(
        status="unbounded",
        gram=np.zeros(rows),
        free=np.zeros(free),
        unknowns=np.zeros(identity.unknown.shape[0]),
        moments=moments,
        value=-np.inf,
        solver="none",
        iterations=0,
        seconds=0.0,
        message="a monomial of the polynomial is not a product of two basis elements",
    )


def centre(program: GramProgram, unknowns: np.ndarray) -> tuple[RawSolution, float] | None:
    """Multipliers well inside the cone at fixed unknowns: maximise t <= 1 with every Gram matrix >= t I.

    Returns the solution (Gram matrices with t I added back) and t, or None when the solver did not converge.
    Cost: about that of the first solve.
    """
    identity = program.identity
    fixed = identity.target + identity.unknown.T @ unknowns
    trace = sp.csr_matrix(-identity.trace_vector())
    shifted = replace(identity, target=fixed, unknown=trace)
    raw = solve_program(GramProgram(shifted, np.ones(1), np.ones(1)))
    if raw.status not in ("optimal", "inaccurate"):
        return None
    t = float(raw.unknowns[0])
    return replace(raw, gram=raw.gram + t * block_identity_vector(identity), unknowns=unknowns), t


def block_identity_vector(identity: Identity) -> np.ndarray:
    """Vector form of the identity matrix in every block."""
    parts = [np.where(np.equal(*triangle(n)), 1.0, 0.0) for n in identity.sides]
    return np.concatenate(parts) if parts else np.zeros(0)


def with_margin(identity: Identity, keep_unknowns: bool = False) -> Identity:
    """The identity with one more unknown t (the last): every Gram matrix is t I plus a positive semidefinite
    one."""
    trace = sp.csr_matrix(-identity.trace_vector())
    unknown = sp.vstack([identity.unknown, trace], format="csr") if keep_unknowns else trace
    return replace(identity, unknown=unknown)
