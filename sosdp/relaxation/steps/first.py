"""The first step: the centre of the deduced box, lighter parts, units, one solver by sizes."""

from __future__ import annotations

from dataclasses import replace

from ..assemble.plan import has_faster_cliques
from ..attained import is_full
from ..candidate import Candidate, State
from ..change import Change, build, centre_of_data
from ..solve.solve import solve_program, unproducible
from ..statement import BOUND, FEASIBLE, Statement

_NARROW = 1e-3  # of the value, between cliques and a point: they lost nothing worth a dense block


def first(state: State) -> Candidate:
    """The statement as it is solved first: in cliques where that takes much less time, if the answer is then
    that of one block over all variables."""
    thinner = in_cliques(state.statement) if state.solve is None else None
    if thinner is not None:
        candidate = _solved(state, thinner)
        candidate = replace(candidate, full=is_full(candidate))
        # where one block could improve by next to nothing, what is left to do is digits, for the other steps
        if candidate.full or candidate.width(candidate.above) <= _NARROW:
            return candidate
    return _solved(state, state.statement)


def in_cliques(statement: Statement) -> Statement | None:
    """The statement in cliques of its variables, where that is faster; None elsewhere."""
    demand = statement.demands[0]
    wanted = demand.system, demand.degree, list(demand.parts[:1]), demand.options, demand.in_expectation
    plain = statement.kind in (BOUND, FEASIBLE) and not statement.curves
    if not (plain and (demand.similar.layout.faster if demand.similar else has_faster_cliques(*wanted))):
        return None
    options = replace(demand.options, sparsity="correlative")
    return replace(statement, demands=(replace(demand, options=options),))


def _solved(state: State, statement: Statement) -> Candidate:
    plain = "box" in state.without or state.solve is not None
    built = build(statement, Change.none(statement) if plain else centre_of_data(statement))
    state.stage("solve", "build")
    raw = unproducible(built.program.identity) if statement.single else None
    if raw is None and state.solve is not None:
        raw = state.solve(built)
    raw = raw or solve_program(built.program, **state.options.solving())
    return state.judged("first", built, raw)
