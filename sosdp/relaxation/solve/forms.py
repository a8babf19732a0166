"""The two conic forms of an assembled identity, and the way back from a solver's answer.

Gram form (interior point):  maximise c'u  over Gram matrices z, multipliers nu, unknowns u, with the
identity as equations. The bound is an explicit variable with its own constant-term row, never folded into
the objective: solvers' relative tolerances then apply to the number the user reads. Infeasible systems come
back clean.

Moment form (first order):  minimise target'y  over moments y with ``gram @ y`` in the cones: its normal
matrix is diagonal on plain blocks. When the only unknown is the bound, y_0 is eliminated.

Both return the same ``RawSolution``; the dual of one is the primal of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...conic.program import Cones, ConicProgram, ConicSolution, Kept
from ..assemble.identity import GramProgram, Identity, RawSolution


def _row_split(identity: Identity) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Rows of 1 x 1 blocks, rows of larger blocks, sides of the larger blocks."""
    scalar, matrix, sides = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], []
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        place = np.arange(rows.start, rows.stop)
        if block.side == 1:
            scalar.append(place)
        else:
            matrix.append(place)
            sides.append(block.side)
    return np.concatenate(scalar), np.concatenate(matrix), tuple(sides)


def gram_form(program: GramProgram) -> ConicProgram:
    """The sum-of-squares program: columns are (gram rows, free rows, unknowns)."""
    identity = program.identity
    limited = np.isfinite(program.upper)
    key, known = (gram_form, limited.tobytes()), identity.derived
    if key not in known:
        A, cones = _gram_equations(identity, np.flatnonzero(limited))
        # presolving looks at limits: then nothing is kept
        kept = None if limited.any() else Kept()
        q, b = np.zeros(A.shape[1]), np.zeros(A.shape[0])
        known[key] = ConicProgram(q=q, A=A, b=b, cones=cones, kept=kept)
    others = identity.gram.shape[0] + identity.free.shape[0]
    b = np.concatenate([identity.target, program.upper[limited], np.zeros(identity.gram.shape[0])])
    q = np.concatenate([np.zeros(others), -program.objective])
    P = None
    if program.quadratic is not None:
        P = sp.csc_matrix(sp.diags_array(np.concatenate([np.zeros(others), program.quadratic])))
    conic: ConicProgram = known[key]
    return conic.again(q, b, P)


def _gram_equations(identity: Identity, bounded: np.ndarray) -> tuple[sp.csc_matrix, Cones]:
    """Matrix and cones of the Gram form; ``bounded``: unknowns with an upper limit."""
    scalar, matrix, sides = _row_split(identity)
    rows, free, unknowns = (m.shape[0] for m in (identity.gram, identity.free, identity.unknown))
    equations = identity.columns.shape[0]
    # column by column: a Gram entry has its coefficients and one -1 in its cone
    cone_row = np.empty(rows, dtype=np.int64)
    cone_row[np.concatenate([scalar, matrix])] = np.arange(rows) + equations + bounded.size
    gram = identity.gram
    lengths = np.diff(gram.indptr)
    own = np.arange(gram.nnz) + np.repeat(np.arange(rows), lengths)
    last = gram.indptr[1:] + np.arange(rows)
    gram_indices = np.empty(gram.nnz + rows, dtype=np.int64)
    gram_indices[own], gram_indices[last] = gram.indices, cone_row
    gram_data = np.empty(gram.nnz + rows)
    gram_data[own], gram_data[last] = gram.data, -1.0
    indices = [gram_indices, identity.free.indices]
    data = [gram_data, identity.free.data]
    counts = [lengths + 1, np.diff(identity.free.indptr)]
    for k in range(unknowns):
        here = slice(identity.unknown.indptr[k], identity.unknown.indptr[k + 1])
        limit = np.flatnonzero(bounded == k)
        indices += [identity.unknown.indices[here], equations + limit]
        data += [-identity.unknown.data[here], np.ones(limit.size)]
        counts.append(np.array([here.stop - here.start + limit.size]))
    pointers = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    shape = (equations + bounded.size + rows, rows + free + unknowns)
    A = sp.csc_matrix((np.concatenate(data), np.concatenate(indices), pointers), shape=shape)
    A.sort_indices()
    return A, Cones(zero=equations, nonnegative=bounded.size + scalar.size, psd=sides)


def _finite(solution: ConicSolution) -> ConicSolution:
    """The solution with zeros in the place of a vector that is not finite: then it has ``failed``, unless it
    is a ray, which has the other vector only."""
    if np.isfinite(np.concatenate([solution.x, solution.z])).all():
        return solution
    vectors = {"x": solution.x, "z": solution.z}
    unknown = {name for name, v in vectors.items() if not np.isfinite(v).all()}
    x, z = (np.zeros_like(v) if name in unknown else v for name, v in vectors.items())
    cleaned = replace(solution, x=x, z=z)
    if unknown == {{"unbounded": "z", "infeasible": "x"}.get(solution.status)}:
        return cleaned
    return replace(cleaned, status="failed", message="it answered with infinities or NaN")


def read_gram_form(program: GramProgram, solution: ConicSolution) -> RawSolution:
    """Translate a solution of ``gram_form``."""
    solution = _finite(solution)
    identity = program.identity
    rows, others = identity.gram.shape[0], identity.gram.shape[0] + identity.free.shape[0]
    unknowns = solution.x[others:]
    status = {"infeasible": "unbounded", "unbounded": "infeasible"}.get(solution.status, solution.status)
    return RawSolution(
        status=status,
        gram=solution.x[:rows],
        free=solution.x[rows:others],
        unknowns=unknowns,
        moments=solution.z[: identity.columns.shape[0]],
        value=program.value(unknowns),
        solver=solution.solver,
        iterations=solution.iterations,
        seconds=solution.seconds,
        message=solution.message,
    )


@dataclass(frozen=True, eq=False)
class MomentForm:
    """A moment program and what is needed to read its solution."""

    conic: ConicProgram
    kept: np.ndarray
    fixed: np.ndarray
    zero_rows: int
    limit_rows: np.ndarray
    equal_rows: np.ndarray
    scalar: np.ndarray
    matrix: np.ndarray


def _bent(program: GramProgram) -> np.ndarray:
    """Unknowns with a quadratic term."""
    if program.quadratic is None:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(program.quadratic > 0)


def moment_form(program: GramProgram) -> MomentForm:
    """The moment program: columns are the moments that are not fixed by ``unknown @ y = -objective``, which
    one is where no number of the program is rounded by it."""
    identity = program.identity
    scalar, matrix, sides = _row_split(identity)
    columns = identity.columns.shape[0]
    unknown = identity.unknown.tocsr()
    limited = np.flatnonzero(np.isfinite(program.upper))
    bent = _bent(program)
    equal = np.setdiff1d(np.flatnonzero(~np.isfinite(program.upper)), bent)
    fixed = np.zeros(columns)
    is_fixed = np.zeros(columns, dtype=bool)
    tight = equal
    if equal.size == 1 and unknown[equal[0]].nnz == 1:
        row, wanted = unknown[equal[0]], -program.objective[equal[0]]
        moment = wanted / row.data[0]
        share, exponent = np.frexp(moment)
        right, part = program.objective[limited], moment * unknown[limited].toarray()[:, row.indices[0]]
        total = right + part
        # 0 or a power of two, and sums without rounding: what is put in is what was stated
        whole = (moment == 0 or abs(share) == 0.5 and exponent > -20) and moment * row.data[0] == wanted
        if whole and ((total - right == part) & (total - part == right)).all():
            fixed[row.indices[0]], is_fixed[row.indices[0]] = moment, True
            tight = np.zeros(0, dtype=np.int64)
    kept = np.flatnonzero(~is_fixed)
    cost = identity.target.copy()
    for k in limited:
        cost = cost + program.upper[k] * unknown[k].toarray()[0]
    P = None
    if bent.size and program.quadratic is not None:
        # the conjugate of an unknown with a quadratic term is a square of an expectation
        curvature = 1.0 / program.quadratic[bent]
        lines = unknown[bent]
        P = sp.csc_matrix(sp.triu(lines[:, kept].T @ sp.diags_array(curvature) @ lines[:, kept]))
        cost = cost + lines.T @ (curvature * (program.objective[bent] + lines @ fixed))
    parts = [identity.free, unknown[tight], -unknown[limited], -identity.gram[scalar], -identity.gram[matrix]]
    sides_b = [
        np.zeros(identity.free.shape[0]),
        -program.objective[tight],
        program.objective[limited],
        np.zeros(scalar.size),
        np.zeros(matrix.size),
    ]
    stacked = sp.vstack(parts, format="csc")
    b = np.concatenate(sides_b) - stacked @ fixed
    cones = Cones(zero=identity.free.shape[0] + tight.size, nonnegative=limited.size + scalar.size, psd=sides)
    conic = ConicProgram(q=cost[kept], A=stacked[:, kept], b=b, cones=cones, P=P)
    return MomentForm(conic, kept, fixed, identity.free.shape[0], limited, tight, scalar, matrix)


def read_moment_form(program: GramProgram, form: MomentForm, solution: ConicSolution) -> RawSolution:
    """Translate a solution of ``moment_form``."""
    solution = _finite(solution)
    identity = program.identity
    ray = solution.status in ("infeasible", "unbounded")
    moments = form.fixed.copy() if not ray else np.zeros(form.fixed.size)
    moments[form.kept] = solution.x
    dual = solution.z
    sizes = form.zero_rows, form.equal_rows.size, form.limit_rows.size, form.scalar.size
    free, equal, limits, scalar, matrix = np.split(dual, np.cumsum(sizes))
    unknowns = np.zeros(identity.unknown.shape[0])
    unknowns[form.equal_rows] = equal
    unknowns[form.limit_rows] = (0.0 if ray else program.upper[form.limit_rows]) - limits
    bent = _bent(program)
    if bent.size and program.quadratic is not None:
        slope = identity.unknown[bent] @ moments + (0.0 if ray else program.objective[bent])
        unknowns[bent] = slope / program.quadratic[bent]
    gram = np.zeros(identity.gram.shape[0])
    gram[form.scalar], gram[form.matrix] = scalar, matrix
    eliminated = np.setdiff1d(np.arange(form.fixed.size), form.kept)
    if eliminated.size:
        # the unknown whose moment was eliminated is read off the column it alone can fix
        column = eliminated[0]
        row = np.setdiff1d(np.flatnonzero(~np.isfinite(program.upper)), bent)[0]
        target = 0.0 if ray else identity.target[column]
        produced = identity.gram.T @ gram - identity.free.T @ free - identity.unknown.T @ unknowns
        unknowns[row] = (produced[column] - target) / identity.unknown[row, column]
    return RawSolution(
        status=solution.status,
        gram=gram,
        free=-free,
        unknowns=unknowns,
        moments=moments,
        value=program.value(unknowns),
        solver=solution.solver,
        iterations=solution.iterations,
        seconds=solution.seconds,
        message=solution.message,
    )
