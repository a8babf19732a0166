"""Is a polynomial a sum of squares, modulo a system: proved, refuted, or too close to tell."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from ..algebra.polynomial import Polynomial
from ..conic.choose import behind
from ..model.options import SolveOptions, read_options
from ..progress import shown
from ..reduction.bounds import VariableBounds
from ..reduction.facial import find_zeros
from .assemble.diagonal_dominance import least_eigenvalues, sizes_of
from .assemble.identity import GramProgram, Identity, RawSolution
from .assemble.scaling import find_scaling
from .certify.bound import certify
from .certify.face import find_face
from .change import Change, build
from .pseudoexpectation import PseudoExpectation, dual_data
from .relaxation import Relaxation
from .solve.solve import block_identity_vector, solve_program, unproducible, with_margin
from .statement import BOUND, Demand, Statement

NOWHERE = Change(({},))
_REFUTED = 1e-6  # E[p] below minus this, relative to the coefficients, refutes


@shown("relaxation")
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
def prove_sum_of_squares(
    relaxation: Relaxation, p: Polynomial, zeros: Any = "auto", **solver_options: Unpack[SolveOptions]
) -> PseudoExpectation:
    """Decide whether ``p`` is a sum of squares modulo the relaxation's system; see ``sosdp.prove_sos``."""
    options = read_options("prove_sos", {**solver_options}, ["solve"], more=("zeros",))
    solving = {**options.solving(), "solver": behind(options.solver, options.reductions)}
    started = time.perf_counter()
    options.report("build", started)
    demand = Demand(
        (p,), relaxation.system, relaxation.degree, relaxation.options, closed=False, reduced=False
    )
    identity, layout = demand.assembled
    report = {} if layout is None else layout.report
    on_face = _prove_on_face(relaxation, p, zeros, identity, report, started, solving)
    if on_face is not None:
        return on_face
    cone, built_at = relaxation.options.cone, 0.0
    # first all moments, from which a refutation is read; then, on the boundary, what the identity leaves
    smaller = replace(demand, reduced=True)
    for stated in (demand, smaller):
        if stated is smaller and smaller.identity.sides == demand.identity.sides:
            break
        identity = stated.identity
        built = build(Statement(BOUND, (stated,), (), ()), NOWHERE)
        scaled, scaling = built.scaled[0], built.scalings[0]
        program = GramProgram(with_margin(scaled), np.ones(1), np.ones(1))
        built_at = built_at or time.perf_counter()
        options.report("solve", started)
        raw = unproducible(identity) or solve_program(program, **solving)
        solved = time.perf_counter()
        options.report("certify", started)
        status, reason, gram, free = _verdict(scaled, raw, scaling.bounds, cone)
        if status != "unknown":
            break
    finished = time.perf_counter()
    no_bound = sp.csr_matrix((1, identity.columns.shape[0]))
    return PseudoExpectation(
        status=status,
        sense="sos",
        objective=p,
        system=relaxation.system,
        degree=relaxation.degree,
        bound=np.nan,
        certified_bound=None,
        reason=reason,
        solver=raw.solver,
        solver_message=raw.message,
        iterations=raw.iterations,
        sizes=sizes_of(identity, relaxation.degree, cone, report),
        times={
            "build": built_at - started,
            "solve": solved - built_at,
            "certify": finished - solved,
        },
        identity=identity,
        moments=raw.moments * scaling.column if status == "refuted" else None,
        dual=dual_data(identity, scaling.gram_of(gram), scaling.free_of(free), 0.0),
        program=GramProgram(replace(scaled, unknown=no_bound), np.ones(1), np.ones(1)),
        scaling=scaling,
        cone=cone,
    )


def _prove_on_face(
    relaxation: Relaxation,
    p: Polynomial,
    zeros: Any,
    identity: Identity,
    report: dict[str, Any],
    started: float,
    solving: dict[str, Any],
) -> PseudoExpectation | None:
    """The proof on the face of the polynomial's exact zeros, or None where that does not decide."""
    if zeros is None or relaxation.options.cone != "sos" or len(relaxation.system):
        return None
    if unproducible(identity) is not None:
        return None
    found = find_face(identity, p, find_zeros(p, None if isinstance(zeros, str) else zeros))
    if found is None:
        return None
    program = found.program()
    built = time.perf_counter()
    raw = solve_program(program, **solving)
    solved = time.perf_counter()
    gram = found.prove(raw)
    if gram is None:
        return None
    finished = time.perf_counter()
    no_bound = sp.csr_matrix((1, identity.columns.shape[0]))
    return PseudoExpectation(
        status="proved",
        sense="sos",
        objective=p,
        system=relaxation.system,
        degree=relaxation.degree,
        bound=np.nan,
        certified_bound=None,
        reason="",
        solver=raw.solver,
        solver_message=raw.message,
        iterations=raw.iterations,
        sizes={
            "moments": int(identity.columns.shape[0]),
            "blocks": sorted(found.sides, reverse=True),
            "equalities": 0,
            "degree": int(relaxation.degree),
            **report,
            "exact_zeros": found.zeros,
        },
        times={"build": built - started, "solve": solved - built, "certify": finished - solved},
        identity=identity,
        moments=None,
        dual=dual_data(identity, gram, np.zeros(0), 0.0),
        program=GramProgram(replace(identity, unknown=no_bound), np.ones(1), np.ones(1)),
        scaling=find_scaling(identity, VariableBounds({}, ())),
    )


def _verdict(
    identity: Identity, raw: RawSolution, bounds: VariableBounds, cone: str
) -> tuple[str, str, np.ndarray, np.ndarray]:
    gram, free = raw.gram, raw.free
    if raw.status in ("optimal", "inaccurate"):
        t = float(raw.unknowns[0])
        gram = raw.gram + t * block_identity_vector(identity)
        checked = certify(identity, gram, free, np.zeros(0), bounds)
        if checked.loss == 0.0:
            return "proved", "", checked.gram, checked.free
        gram, free = checked.gram, checked.free
    if raw.status == "failed" or not np.isfinite(raw.moments).all():
        return "unknown", f"the solver gave no answer ({raw.message})", gram, free
    value, negative = _separation(identity, raw.moments)
    scale = float(np.abs(identity.target).max(initial=0.0)) or 1.0
    if value < -_REFUTED * scale and cone != "sos":
        return (
            "unknown",
            f"no Gram matrix of this degree with cone={cone!r} was found; a sum of squares may still exist: "
            "cone='sos'",
            gram,
            free,
        )
    if value < -_REFUTED * scale and negative <= 1e-3 * -value / scale:
        return "refuted", f"a pseudo-expectation has E[p] = {value:.3g} < 0", gram, free
    return (
        "unknown",
        "the polynomial is on or near the boundary of the sums of squares; "
        "an exact certificate may still exist: certificates.extract(result).exact()",
        gram,
        free,
    )


def _separation(identity: Identity, moments: np.ndarray) -> tuple[float, float]:
    """E[p] and the largest violation of positivity, both for moments scaled to largest absolute value 1."""
    size = float(np.abs(moments).max(initial=0.0))
    if size == 0.0:
        return 0.0, 0.0
    y = moments / size
    violation = float(np.abs(identity.free @ y).max(initial=0.0))
    least = min([0.0, *least_eigenvalues(identity, y)])
    return float(identity.target @ y), max(violation, -least)
