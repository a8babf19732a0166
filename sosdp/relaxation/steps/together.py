"""The first step for many statements that have all in common but the coefficients of what is bounded.

Each is solved by itself. Units, certificates and what moments miss are computed for all of them at once, row
by row as they are computed alone, so that an answer is the same, bit for bit, as that of ``first``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..assemble.identity import RawSolution
from ..assemble.program_units import DISTANT, distances
from ..assemble.scaling import is_scaled_alike
from ..candidate import Measured, State
from ..certify.bound import Certified, certify_each
from ..certify.multipliers import has_nothing_to_pay_with
from ..certify.shift_constant import lift_constants
from ..change import Built, centre_of_data, lighter, program_of, with_factor
from ..judge import shortfalls, violations
from ..solve.solve import solve_program, unproducible
from ..statement import Statement
from .first import in_cliques

Solved = tuple[Built, RawSolution, Measured | None]


def first_of_each(states: Sequence[State], like: Built) -> list[Solved | None]:
    """What ``first`` makes of statements that differ from each other, and from that of a program that it
    made, in the coefficients of what is bounded: the program, its solution, and what this is worth. None for
    those that are built another way."""
    result: list[Solved | None] = [None] * len(states)
    if in_cliques(states[0].statement) is not None or like.pieces[0].dominance is not None:
        return result
    some: list[tuple[int, Built, RawSolution]] = []
    for k, built in enumerate(_programs([s.statement for s in states], like)):
        if built is None or unproducible(built.program.identity) is not None:
            continue
        raw = solve_program(built.program, **states[k].options.solving())
        result[k] = built, raw, None
        if raw.has_values and raw.inside is None and np.isfinite(raw.moments).all():
            some.append((k, built, raw))
    if some:
        _, programs, solutions = zip(*some, strict=True)
        measured = _measured(programs, solutions, states[0].options.certify_bound)
        for (k, built, raw), known in zip(some, measured, strict=True):
            result[k] = built, raw, known
    return result


def _programs(statements: Sequence[Statement], like: Built) -> list[Built | None]:
    """``build(s, centre_of_data(s))`` of each; None where variables move, terms are lighter by multiples of
    equations, or variables have other units than in ``like``."""
    result: list[Built | None] = [None] * len(statements)
    if like.statement.mass is None or not like.change.trivial or any(like.multiples):
        return result
    bounds, piece = like.statement.demands[0].bounds, like.pieces[0]
    pieces = {
        k: s.demands[0].identity
        for k, s in enumerate(statements)
        if centre_of_data(s).trivial and not lighter(s.demands[0])[1]
    }
    same = [k for k, p in pieces.items() if p.derived is piece.derived]
    if not same:
        return result
    target = np.array([pieces[k].target for k in same])
    base = replace(like.scalings[0], value=1.0, unknown=None)
    alike = is_scaled_alike(piece, bounds, base, target) & (
        distances(piece, base, piece.varying(target)) <= DISTANT
    )
    for k, able in zip(same, alike.tolist(), strict=True):
        if able:
            scaling, height = with_factor(base, pieces[k])
            known = statements[k], statements[k], like.change, like.multiples
            result[k] = program_of(known, [pieces[k]], [scaling], height, None)
    return result


def _measured(programs: Sequence[Built], solutions: Sequence[RawSolution], certified: bool) -> list[Measured]:
    """What solutions of programs are worth that differ in their targets alone; ``certified``: certificates
    are wanted."""
    built, count = programs[0], len(programs)
    identity, bounds = built.program.identity, built.scalings[0].bounds
    gram, free, unknowns, moments = (
        np.array([getattr(s, name) for s in solutions]) for name in ("gram", "free", "unknowns", "moments")
    )
    many = replace(solutions[0], gram=gram, free=free, unknowns=unknowns, moments=moments)
    target = np.array([b.program.identity.target for b in programs])
    missed, violated = shortfalls(built.program, target, many), violations(built, many)
    shown: list[Certified | None] = [None] * count
    lifted: list[tuple[np.ndarray, Certified] | None] = [None] * count
    if certified and has_nothing_to_pay_with(built):
        lifted = lift_constants(identity, target, gram, free, unknowns, bounds)
    elif certified:
        shown = [*certify_each(identity, target, gram, free, unknowns, bounds)]
    return [Measured(*each) for each in zip(shown, lifted, missed.tolist(), violated.tolist(), strict=True)]
