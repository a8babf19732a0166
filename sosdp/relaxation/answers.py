"""What a user reads off a state of the ladder: the pseudo-expectation of a relaxation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algebra.polynomial import Polynomial, variable
from ..model.expectation import ExpectationConstraint
from ..model.system import System
from .assemble.diagonal_dominance import sizes_of
from .assemble.identity import GramProgram
from .assemble.plan import Plan
from .assemble.scaling import find_scaling, scale
from .attained import is_full
from .back import given_dual, given_moments
from .candidate import Candidate, State
from .judge import outwards
from .pseudoexpectation import Centre, PseudoExpectation


@dataclass(frozen=True, eq=False)
class Question:
    """What a relaxation was asked, in the words of its answer."""

    sense: str
    objective: Any
    system: System
    degree: int
    in_expectation: tuple[ExpectationConstraint, ...] = ()
    cone: str = "sos"


def bounds_of(state: State, best: Candidate) -> tuple[float, float | None]:
    """The value in the sense of what was asked, never beyond the certified bound, and that bound."""
    sign, theorem = state.statement.sign, best.proven
    if best.status == "unbounded":
        return -sign * math.inf, None
    if state.statement.kind == "feasible" or best.status not in ("optimal", "inaccurate"):
        return math.nan, None
    proven = None if theorem is None else outwards(theorem, sign)
    return sign * (best.value if proven is None else max(best.value, sign * proven)), proven


def answered(state: State, best: Candidate, wanted: Question) -> PseudoExpectation:
    """The answer about a relaxation; where variables were moved, that in the moved ones is its ``centre``."""
    built, raw = best.built, best.raw
    scaling, program = built.scalings[0], built.program
    theorem = best.theorem
    gram, free, unknowns = raw.gram, raw.free, raw.unknowns
    if theorem is not None and len(theorem.certified) == 1:
        gram, free = theorem.gram, theorem.free
    if best.status == "infeasible" and theorem is not None:
        unknowns = theorem.unknowns
    dual = given_dual(built, gram, free, unknowns)[0]
    moments = None
    if raw.has_values and best.status in ("optimal", "inaccurate") or best.status == "refuted":
        moments = built.moments_of(raw.moments)[0]
    if moments is not None and best.status == "refuted":  # a functional of any size
        one = built.pieces[0].constant_column()
        mass = float(moments[one]) if one >= 0 else 0.0
        moments = moments / (mass if mass > 0 else float(np.abs(moments).max()))
    identity, layout = built.statement.demands[0].assembled
    bound, certified_bound = bounds_of(state, best)
    result = PseudoExpectation(
        status=best.status,
        sense=wanted.sense,
        objective=wanted.objective,
        system=wanted.system,
        degree=wanted.degree,
        bound=bound,
        certified_bound=certified_bound,
        reason=best.reason,
        solver=raw.solver,
        solver_message=raw.message,
        iterations=sum(c.raw.iterations for c in state.candidates),
        sizes=sizes_of(identity, wanted.degree, wanted.cone, _report(state, best, layout)),
        times=state.times,
        identity=identity,
        moments=moments,
        dual=dual,
        program=program,
        scaling=scaling,
        in_expectation=wanted.in_expectation,
        cone=wanted.cone,
        inside=raw.inside if best.status == "optimal" else None,
        steps=tuple(state.ran),
    )
    return result if built.change.trivial else _in_given_variables(best, result)


def _report(state: State, best: Candidate, layout: Plan | None) -> dict[str, Any]:
    """What the reductions did; of cliques that nobody asked for also whether they lost anything."""
    report = {} if layout is None else dict(layout.report)
    auto = state.statement.demands[0].options.sparsity == "auto"
    if auto and report.get("hierarchy", "full").startswith("sparse") and is_full(best):
        report["hierarchy"] = f"full ({report['cliques']} cliques, attained at a feasible point)"
    return report


def _in_given_variables(best: Candidate, inner: PseudoExpectation) -> PseudoExpectation:
    """The answer in the given variables from one in the moved ones."""
    built = best.built
    demand = built.given.demands[0]
    identity = demand.identity
    plain = replace(find_scaling(identity, demand.bounds), value=inner.scaling.value, size=inner.scaling.size)
    wanted, origin = inner.objective, built.change.origins[0]
    moved = replace(
        inner,
        objective=built.change.polynomial(wanted) if isinstance(wanted, Polynomial) else wanted,
        system=built.statement.demands[0].system,
    )
    layout, moments = demand.assembled[1], None
    report = {} if layout is None else {**layout.report, "hierarchy": inner.hierarchy}
    if inner.moments is not None:
        moments = given_moments(identity.columns, moved._moment_values, origin)
    return replace(
        inner,
        identity=identity,
        moments=moments,
        sizes=sizes_of(identity, inner.degree, inner.cone, report),
        program=GramProgram(scale(identity, plain), np.ones(1), np.full(1, np.inf)),
        scaling=plain,
        inside=None,
        centre=Centre(moved, tuple((variable(v), c) for v, c in origin.items() if c)),
    )
