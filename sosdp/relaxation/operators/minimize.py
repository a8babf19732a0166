"""The door of operators: from a Hamiltonian or a Bell expression to a certified bound."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ...algebra.build import polynomial
from ...model.options import Options, read_options
from ...model.system import System
from ...progress import shown
from ..answers import bounds_of
from ..candidate import Candidate, State
from ..ladder import run
from .answer import GramOfWords, OperatorExpectation, WordMultiplier
from .demand import WordDemand
from .statement import OperatorStatement, read
from .symmetry import with_symmetry

OWN = ("level", "trace", "sparsity", "symmetry", "basis", "complete")
_TRAP = (
    "of operators without norm ({}) values of levels may be artefacts of rounding, even beyond the truth, "
    "and only a certified bound counts (a constraint R**2 - x.H*x >= 0, or norm=, bounds them)"
)


@shown("relaxation")
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
def minimize_operators(
    objective: Any, constraints: Any, sense: str, given: Mapping[str, Any], degree: int | None = None
) -> OperatorExpectation:
    """Lower bound on the least expectation of a Hermitian polynomial in operators (``sense="maximize"``:
    upper, on the greatest), over all Hilbert spaces, operators that satisfy the constraints, and states.

    ``given``: the options of the door, see `sosdp.minimize`. ``degree``: twice the level, in place of it.
    Raises ValueError for a statement that is mixed, not Hermitian or not understood.
    """
    began = time.perf_counter()
    own = {name: given[name] for name in OWN if name in given}
    solving = {name: value for name, value in given.items() if name not in own}
    options = read_options(sense, solving, ["solve"], more=("degree", *OWN))
    if degree is not None:
        if "level" in own:
            raise ValueError("give level, or degree (twice the level), not both")
        own["level"] = (degree + 1) // 2
    trace, complete = own.get("trace", False), own.get("complete", False)
    for name, value in (("trace", trace), ("complete", complete)):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False, not {value!r}")
    statement = read(objective, constraints, sense, trace=trace, complete=_most(own) if complete else None)
    statement = with_symmetry(statement, own.get("symmetry"))
    level = own.get("level")
    if level is None:
        level = (max([1, *(len(w) for p in (statement.target, *statement.operators) for w in p)]) + 1) // 2
    demand = WordDemand(
        (polynomial(0), polynomial(-1)), System(), 2, Options(sparsity="dense"), price=Fraction(1),
        valued=False, statement=statement, level=level, chosen=own.get("basis"), sparsity=own.get("sparsity"),
    )  # fmt: skip
    state = demand.first_state(options, began)
    named = "basis" if own.get("basis") is not None else level
    return _answered(state, run(state), demand, objective, named)


def _most(own: Mapping[str, Any]) -> int:
    """The degree up to which relations are completed: that of all products."""
    level = own.get("level")
    if isinstance(level, str):
        return 2 * max(int(t) if t.isdecimal() else len(t) for t in level.replace(" ", "").split("+"))
    return 2 * level if isinstance(level, int) else 8


def _answered(
    state: State, best: Candidate, demand: WordDemand, objective: Any, level: Any
) -> OperatorExpectation:
    built, raw, theorem = best.built, best.raw, best.best_theorem
    # what a refutation is about has a target of its own
    about = built.statement.demands[0]
    assert isinstance(about, WordDemand)
    identity, layout = about.both
    gram, free, unknowns = raw.gram, raw.free, raw.unknowns
    if theorem is not None and len(theorem.certified) == 1:
        gram, free, unknowns = theorem.gram, theorem.free, theorem.unknowns
    scaling = built.scalings[0]
    gram, free = scaling.gram_of(gram), scaling.free_of(free)
    known = raw.has_values and best.status in ("optimal", "inaccurate")
    statement, (bound, proven) = demand.statement, bounds_of(state, best)
    return OperatorExpectation(
        status=best.status,
        sense="minimize" if statement.sign > 0 else "maximize",
        objective=objective,
        bound=bound,
        certified_bound=proven,
        reason=_reason(best, statement),
        solver=raw.solver,
        level=level,
        sizes={**about.sizes, "hierarchy": f"{level}" + (f", {layout.cut}" if layout.cut else "")},
        times=state.times,
        statement=statement,
        gamma=float(scaling.unknowns_of(unknowns)[0]),
        blocks=tuple(GramOfWords.read(identity, gram, statement.real)),
        multipliers=tuple(WordMultiplier.read(layout.pairs, free)),
        layout=layout,
        moments=built.moments_of(raw.moments)[0] if known else None,
        steps=tuple(state.ran),
    )


def _reason(best: Candidate, statement: OperatorStatement) -> str:
    """Why nothing better is known; of letters without norm always that levels are not to be trusted."""
    letters = statement.unbounded
    named = ", ".join(letters[:4]) + (", ..." if len(letters) > 4 else "")
    return "; ".join(filter(None, (best.reason, _TRAP.format(named) if letters else "")))
