"""Is a polynomial a sum of squares, modulo a system: proved, refuted, or too close to tell."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from ..algebra.polynomial import Polynomial
from ..conic.choose import behind
from ..model.options import SolveOptions, read_options
from ..progress import shown
from ..reduction.bounds import VariableBounds
from ..reduction.facial import find_zeros
from .answers import Asked, answered
from .assemble.identity import GramProgram, Identity
from .assemble.scaling import find_scaling
from .certify.face import find_face
from .ladder import State, run
from .pseudoexpectation import PseudoExpectation, dual_data
from .relaxation import Relaxation
from .solve.solve import solve_program, unproducible
from .statement import PROOF, Demand, Statement


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
    on_face = _prove_on_face(relaxation, demand, zeros, started, solving)
    if on_face is not None:
        return on_face
    # first all moments, from which a refutation is read; then, on the boundary, what the identity leaves
    best, smaller = None, replace(demand, reduced=True)
    for stated in (demand, smaller):
        if best is not None and smaller.identity.sides == demand.identity.sides:
            break
        state = State(Statement(PROOF, (stated,), (Fraction(1),), (1.0,)), options, started)
        best = run(state)
        if best.status != "unknown":
            break
    assert best is not None
    asked = Asked("sos", p, relaxation.system, relaxation.degree, cone=demand.options.cone)
    answer = answered(state, best, asked)
    return replace(answer, program=_without_bound(answer.program.identity))


def _without_bound(identity: Identity) -> GramProgram:
    """The identity alone, with an unknown that is nowhere in it."""
    none = sp.csr_matrix((1, identity.columns.shape[0]))
    return GramProgram(replace(identity, unknown=none), np.ones(1), np.ones(1))


def _prove_on_face(
    relaxation: Relaxation, demand: Demand, zeros: Any, started: float, solving: dict[str, Any]
) -> PseudoExpectation | None:
    """The proof on the face of the polynomial's exact zeros, or None where that does not decide."""
    (identity, layout), p = demand.assembled, demand.parts[0]
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
            **({} if layout is None else layout.report),
            "exact_zeros": found.zeros,
        },
        times={"build": built - started, "solve": solved - built, "certify": finished - solved},
        identity=identity,
        moments=None,
        dual=dual_data(identity, gram, np.zeros(0), 0.0),
        program=_without_bound(identity),
        scaling=find_scaling(identity, VariableBounds({}, ())),
    )
