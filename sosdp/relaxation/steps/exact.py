"""The exact step: the conic program of a statement, in the numbers that were stated, in exact arithmetic.

A ray in floats, or moments that nearly satisfy everything, are a reason to look for a proof, and never a
verdict: points, directions and faces are proven in exact arithmetic (``conic.strategies``), for entries that
are exact (``certify.exact_data``). Where the set bounds nothing, as for ``x**3`` on ``x >= -1`` or between
two parallel lines, multipliers must satisfy the identity exactly: a dual vector near which an exact one is
proven to exist does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...conic.brackets import upper_bound
from ...conic.choose import opinion
from ...conic.exact.integers import rounded
from ...conic.program import ConicProgram
from ...conic.strategies import (
    Solve,
    dual_bound,
    find_point,
    find_point_within,
    is_dual_infeasible,
    is_unbounded,
)
from ...conic.svec import SQRT2, triangle, unstored
from ..assemble.identity import GramProgram, Identity, RawSolution, unanswered
from ..attained import WORK
from ..candidate import Candidate, State, patience
from ..certify.exact_data import ExactData, as_stated
from ..change import Built, build
from ..descent import near
from ..judge import proven
from ..solve.forms import gram_form, moment_form
from ..solve.solve import cubic_work
from ..statement import Demand

_ROWS, _COLUMNS = 2500, 300  # larger programs are left alone: a minute
_ROOT = np.array([SQRT2])
_UNDECIDED = "exact arithmetic proves neither moments that meet the constraints nor that there are none"
UNPROVEN = "that could not be proven"
EMPTY = "no moments meet the constraints, proven in exact arithmetic"
MOMENTS = "moments satisfy every constraint, proven in exact arithmetic, perhaps no point or measure does"

Proof = Callable[[ConicProgram, Solve, ExactData], Any]
Form = Callable[[GramProgram], ConicProgram | None]


def decision(state: State, best: Candidate) -> Candidate:
    """Of a question whether a set has a point, or whether there are measures: that there are no
    pseudo-moments, or some that satisfy all of it; else the candidate, in doubt where the entries are those
    that were stated. Elements of bases that no square can use are kept: their moments may be as large as one
    likes, but where a square is zero, products with them are."""
    wanted = state.statement
    whole = [replace(d, options=replace(d.options, prune=False), reduced=False) for d in wanted.demands]
    data, built = build(replace(wanted, demands=tuple(whole)), best.built.change).exact
    shown, _ = decided(state, data, best.raw, _point, roughly=True)
    pruned = best.built.program.identity.sides != built.program.identity.sides
    if shown is False and (data.off or pruned):
        # without these: faces of rounded entries are seen by their signs alone, and beside moments without
        # end no dual vector is far inside
        shown = decided(state, best.built.exact[0], best.raw, _point, roughly=True)[0] is True
    if shown is False:
        return best if data.off else replace(best, doubt=_UNDECIDED)
    if shown is True:
        return replace(best, step="exact", status="infeasible", reason=EMPTY, settled=True)
    form, raw = moment_form(data.program), unanswered(built.program.identity, "optimal", "", best.raw.solver)
    moments = form.fixed.copy()
    moments[form.kept] = [near(v) for v in shown]
    raw, value = replace(raw, moments=moments), near(wanted.constant)
    theorem = proven(built, raw.gram, raw.free, raw.unknowns)  # without multipliers: every value is the best
    answer = replace(best, step="exact", built=built, raw=raw, theorem=theorem, value=value)
    return replace(answer, status="optimal", reason=MOMENTS, missed=0.0, violated=0.0, settled=True)


def has_moments(built: Built, raw: RawSolution) -> bool:
    """Whether moments near those found are proven to satisfy every constraint: well inside of every cone."""
    data, of = built.exact
    if of is not built or data.program.identity.dominance is not None:
        return False
    form = moment_form(data.program)
    A, b = form.conic.A, form.conic.b
    errors = (abs(A).toarray() * data.off, np.abs(b) * data.off) if data.off else None
    return upper_bound(form.conic, raw.moments[form.kept], errors) < np.inf


def _point(conic: ConicProgram, solve: Solve, exact: ExactData) -> Any:
    """A point, or True: there is none; whatever the numbers are of which these entries are roundings."""
    if exact.off:
        return find_point_within(conic, (exact.off, exact.off), solve)
    point = find_point(conic, solve)
    return point if isinstance(point, bool) else point[0].point(point[1])


def _coefficients(conic: ConicProgram, solve: Solve, exact: ExactData) -> Any:
    """``_point`` of the Gram form, whose right sides are the target."""
    if exact.target_off:
        return find_point_within(conic, (exact.off, exact.target_off), solve)
    return _point(conic, solve, exact)


def is_decidable(built: Built, kind: str) -> bool:
    """Whether it is asked if there is anything of a kind, points or measures, by a program that exact
    arithmetic reads in seconds."""
    wanted = built.statement
    return wanted.kind == kind and wanted.decides and _is_short(built.program.identity)


def is_soon_decided(built: Built) -> bool:
    """Whether exact arithmetic decides in a second or two if there are any moments: entries are exact."""
    identity = built.program.identity
    return _is_short(identity) and cubic_work(identity) < WORK


def _is_short(identity: Identity) -> bool:
    rows, columns = identity.gram.shape
    return bool(rows <= _ROWS and columns <= _COLUMNS)


def unbounded(state: State, candidate: Candidate) -> tuple[bool | None, str]:
    """Whether moments, and a direction of them that lowers the objective without end, are proven; None: it is
    proven that there are no moments. And why nothing is."""
    return decided(
        state,
        candidate.built.exact[0],
        candidate.raw,
        lambda conic, solve, exact: is_unbounded(conic, solve, exact.target_off),
    )


def improvable(state: State, candidate: Candidate) -> bool:
    """Whether coefficients, and a direction of them that improves the objective without end, are proven: of
    the Gram form, where equations between coefficients hold exactly. Lost without it: every program that is
    unbounded and has such equations, or a direction on the boundary (``c*x**2 + d*x`` and ``d <= 1``)."""
    shown, _ = decided(
        state,
        candidate.built.exact[0],
        candidate.raw,
        lambda conic, solve, _: is_unbounded(conic, solve),
        form=_plain,
    )
    return shown is True


def has_coefficients(state: State, candidate: Candidate) -> bool | None:
    """Whether some coefficients satisfy every identity, or none do, as the Gram form is solved in exact
    arithmetic (None: nothing is proven, or it would take long). A direction of the moments does not refute
    what a number misses by next to nothing: c <= -1 by a square, and c + 1 >= 1e-9."""
    if not is_soon_decided(candidate.built):
        return None
    shown, _ = decided(
        state, candidate.built.exact[0], candidate.raw, _coefficients, roughly=True, form=_plain
    )
    return None if shown is False else shown is not True


def without_coefficients(state: State, candidate: Candidate) -> tuple[bool, str]:
    """Whether it is proven that no coefficients satisfy an identity: a direction of the moments says so."""
    return decided(
        state,
        candidate.built.exact[0],
        candidate.raw,
        lambda conic, solve, exact: is_dual_infeasible(conic, solve, exact.off, exact.target_off),
        roughly=True,
    )


def decided(
    state: State,
    statement: ExactData,
    raw: RawSolution,
    proof: Proof,
    roughly: bool = False,
    form: Form | None = None,
) -> tuple[Any, str]:
    """What a proof says of the moment program (False: nothing), and why it says nothing; ``roughly``: it does
    so of entries that had to be rounded, not of the target alone; ``form``: in place of the moments."""
    left = patience(raw, state.deadline)
    if not roughly and (statement.off or form and statement.target_off):
        return False, f"{UNPROVEN}, since coefficients had to be rounded to floats: give them as fractions"
    if left <= 0:
        return False, "the time limit ended before it could be proven"
    # without symmetry, whose entries are no short numbers, and smaller cones stated
    identity = replace(statement.program.identity, symmetry=None)
    cones: tuple[str, ...] = ()
    if identity.dominance is not None:
        cones, identity = identity.dominance.cones, identity.dominance.reduce(identity)
    program = replace(statement.program, identity=identity)
    conic = moment_form(program).conic if form is None else form(program)
    if conic is None:
        return False, UNPROVEN
    # rows of numbers have products of two factors sqrt(2)
    conic = replace(conic, rounded="dsos" in cones)
    with opinion(conic, left) as solve:
        return proof(conic, solve, statement), UNPROVEN


def _plain(program: GramProgram) -> ConicProgram | None:
    """The Gram form in the entries of the matrices, which exact arithmetic can read (no factors sqrt(2) in
    the equations); None where the numbers do not show what they are."""
    identity, conic = program.identity, gram_form(program)
    sides = [np.not_equal(*triangle(n)) for n in identity.sides]
    off = np.flatnonzero(np.concatenate([*sides, np.zeros(0, dtype=bool)]))
    if not unstored(identity.gram[off].data, _ROOT)[1].all():
        return None
    columns = sp.csc_matrix(conic.A, copy=True)  # its pattern is sorted in place by whoever reads it
    inside = np.repeat(np.isin(np.arange(columns.shape[1]), off), np.diff(columns.indptr))
    equation = columns.indices < conic.cones.zero
    data = columns.data.copy()
    data[inside & equation] = 2 * unstored(data[inside & equation], _ROOT)[0]
    data[inside & ~equation] *= SQRT2
    return replace(conic, A=sp.csc_matrix((data, columns.indices, columns.indptr), shape=columns.shape))


def exact_bound(identity: Identity, demand: Demand, time_limit: float | None) -> float | None:
    """The unknown of the identity of a demand, in whatever units, for which it is proven where the set bounds
    nothing: by the dual vector of its conic program, errors of entries that were rounded charged. None where
    there is none."""
    plain = identity.symmetry is None and identity.dominance is None and not identity.hermitian
    single = identity.unknown.shape[0] == 1 and identity.unknown.nnz == 1
    if not (plain and single) or math.prod(identity.gram.shape) > _ROWS * _COLUMNS:
        return None
    program = GramProgram(identity, np.ones(1), np.full(1, np.inf))
    statement = as_stated(program, demand.parts[0].coefs.tolist(), [[*demand.parts[1].coefs.tolist(), 1]])
    form = moment_form(statement.program)
    conic, target, errors = form.conic, statement.program.identity.target, None
    if statement.target_off:
        A, b, q = abs(conic.A).toarray(), np.abs(conic.b), np.abs(conic.q)
        errors = A * statement.off, b * statement.off, q * statement.target_off
    with opinion(conic, time_limit) as solve:
        result = dual_bound(conic, errors, solve)
    if not np.isfinite(result):
        return None
    # what the fixed moment costs is no part of the program
    fixed = np.flatnonzero(form.fixed).tolist()
    constants = [Fraction(float(target[k])) * Fraction(float(form.fixed[k])) for k in fixed]
    least = Fraction(result) + sum(c - abs(c) * Fraction(statement.target_off) for c in constants)
    return rounded(least / statement.factor, -1)
