"""The least feasible threshold of a system with a scalar parameter, bracketed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algebra.constraint import ForAll
from ..algebra.polynomial import Polynomial
from ..model.option_names import check_options
from ..model.system import System
from .functionals import violations
from .pseudoexpectation import PseudoExpectation
from .relaxation import SOLVING, Relaxation


@dataclass(frozen=True, eq=False)
class Threshold:
    """Bracket of the least feasible value.

    ``low``: the largest tested value that is *proven* infeasible (minus infinity if none is); ``high``: the
    smallest at which a pseudo-expectation was found, satisfying the system to ``violation``; ``undecided``:
    values between them at which the solver decided nothing. Feasibility is monotone by assumption; ``low <=
    true threshold`` needs only the proof.
    """

    low: float
    high: float
    violation: float
    solution: PseudoExpectation | None = field(repr=False)
    refutation: PseudoExpectation | None = field(repr=False)
    undecided: tuple[float, ...] = ()
    solves: int = 0


def bisect(
    relaxation: Relaxation,
    parameter: Polynomial,
    low: float,
    high: float,
    *,
    tolerance: float = 1e-3,
    **solver_options: Any,
) -> Threshold:
    """Least value of ``parameter`` in [low, high] at which the relaxation is feasible, by bisection.

    The parameter is a variable of the system that is no unknown but a number to be chosen; feasibility must
    be monotone in it (larger is easier). Stops when the bracket is shorter than ``tolerance`` (absolute) or
    the solver can no longer decide. Cost: about log2((high - low) / tolerance) feasibility solves; the
    structure is planned twice at most, then only numbers are filled in. ValueError for an empty interval, or
    a parameter that does not occur.
    """
    check_options("bisect", solver_options, ("subject_to", *SOLVING))
    if not (np.isfinite(low) and np.isfinite(high) and low < high and tolerance > 0):
        raise ValueError(
            f"bisect needs finite low < high and a positive tolerance, not {low}, {high}, {tolerance}"
        )
    if int(parameter.variable_ids[0]) not in relaxation.system.variable_ids:
        raise ValueError(f"the parameter {parameter} does not occur in the system")
    found: PseudoExpectation | None = None
    refuted: PseudoExpectation | None = None
    undecided: list[float] = []
    solves = 0

    def ask(value: float) -> str:
        nonlocal found, refuted, solves
        solves += 1
        answer = _at(relaxation, parameter, value).feasible(**solver_options)
        if answer.status == "optimal":
            found = answer
        elif answer.status == "infeasible":
            refuted = answer
        else:
            undecided.append(value)
        return answer.status

    proven, feasible = -np.inf, np.inf
    first = ask(high)
    if first == "optimal":
        feasible = high
        second = ask(low)
        if second == "optimal":
            feasible = low
        elif second == "infeasible":
            proven = low
        bottom = low
        while feasible > low and feasible - bottom > tolerance and len(undecided) < 3:
            middle = (bottom + feasible) / 2
            status = ask(middle)
            if status == "optimal":
                feasible = middle
            else:
                bottom = middle
                proven = middle if status == "infeasible" else proven
    elif first == "infeasible":
        proven = high
    worst = violations(found).worst if found is not None else np.inf
    return Threshold(proven, feasible, worst, found, refuted, tuple(undecided), solves)


def _at(relaxation: Relaxation, parameter: Polynomial, value: float) -> Relaxation:
    system = relaxation.system
    fixed = System.from_parts(
        [h.subs({parameter: value}) for h in system.equalities],
        [g.subs({parameter: value}) for g in system.inequalities],
        [
            np.array([[p.subs({parameter: value}) for p in row] for row in m.tolist()], dtype=object)
            for m in system.matrices
        ],
        [ForAll(c.over, c.polynomial.subs({parameter: value})) for c in system.foralls],
    )
    options = relaxation.options
    at_value = Relaxation(
        fixed,
        relaxation.degree,
        products=options.products,
        sparsity=options.sparsity,
        symmetry=options.symmetry,
        prune=options.prune,
        quotient=options.quotient,
        term_steps=options.term_steps,
        symmetries=options.symmetries,
        cone=options.cone,
    )
    at_value._warm = relaxation._warm  # the same structure: only numbers change from value to value
    return at_value
