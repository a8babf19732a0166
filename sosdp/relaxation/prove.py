"""Is a polynomial a sum of squares, modulo a system: proved, refuted, or too close to tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from ..algebra.polynomial import Polynomial
from ..model.options import SolveOptions, read_options
from ..progress import shown
from .answers import Question, answered
from .assemble.identity import GramProgram, Identity
from .ladder import STEPS, State, run
from .pseudoexpectation import PseudoExpectation
from .relaxation import Relaxation
from .statement import PROOF, Demand, Statement


@shown("relaxation")
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
def prove_sum_of_squares(
    relaxation: Relaxation,
    p: Polynomial,
    zeros: Any = "auto",
    exactly: Callable[[PseudoExpectation], PseudoExpectation] | None = None,
    **solver_options: Unpack[SolveOptions],
) -> PseudoExpectation:
    """Decide whether ``p`` is a sum of squares modulo the relaxation's system; see ``sosdp.prove_sos``.

    ``exactly``: an answer that the first solver leaves open, proven in exact arithmetic where that can be; it
    is asked before other steps are tried (Horn's form times a norm: .05 s for .4 s).
    """
    options = read_options("prove_sos", {**solver_options}, ["solve"], more=("zeros",))
    started = time.perf_counter()
    options.report("build", started)
    demand = Demand(
        (p,), relaxation.system, relaxation.degree, relaxation.options, closed=False, reduced=False
    )
    if not (zeros is None or isinstance(zeros, str)):
        _check_zeros(p, zeros)
    # first all moments, from which a refutation is read; then, on the boundary, what the identity leaves
    smaller = replace(demand, reduced=True)
    wanted = Question("sos", p, relaxation.system, relaxation.degree, cone=demand.options.cone)

    def solved(state: State) -> PseudoExpectation:
        answer = answered(state, run(state), wanted)
        return replace(answer, program=_without_bound(answer.program.identity))

    state, last = (
        State(Statement(PROOF, (d,), (Fraction(1),), (1.0,)), options, started) for d in (demand, smaller)
    )
    if exactly is not None:
        state.without = [step.name for step in STEPS]
        answer = exactly(solved(state))
        if answer.status == "proved":
            return answer
        state.without = ()
    answer = solved(state)
    if answer.status == "unknown" and smaller.identity.sides != demand.identity.sides:
        answer = solved(last)
    return answer


def _check_zeros(p: Polynomial, points: Any) -> None:
    """Raise ValueError unless p, with the binary numbers that its floats are, is zero at these points."""
    exact = p.as_exact()
    for row in points:
        point = [Fraction(str(v)) for v in np.atleast_1d(row)]
        if len(point) != (count := len(exact.variables)):
            raise ValueError(
                f"zeros need one column a variable of the polynomial ({count}), not {len(point)}"
            )
        if exact.evaluate(dict(zip(exact.variables, point, strict=True))) != 0:
            raise ValueError(f"the polynomial is not zero at {tuple(map(str, point))}")


def _without_bound(identity: Identity) -> GramProgram:
    """The identity alone, with an unknown that is nowhere in it."""
    none = sp.csr_matrix((1, identity.columns.shape[0]))
    return GramProgram(replace(identity, unknown=none), np.ones(1), np.ones(1))
