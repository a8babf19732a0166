"""The best value that a solver's multipliers prove, moved inside their cones where that is worth a solve."""

from __future__ import annotations

import numpy as np

from ...conic.rigorous import round_down
from ..build.identity import GramProgram, Inside
from ..solve.from_solution import inward
from ..solve.solve import centre, cubic_work
from .bound import Certified, certify, mixture_for_margin
from .interior import interior_bound
from .shift_constant import lift_constant
from .solved import Solved

# sum of R^3 up to which a second, centring solve is made without being asked (a few seconds)
_CENTRE_WORK = 3e9
_CHEAP_WORK = 1e6  # up to it (milliseconds) that solve is made for the sixth digit, beyond it for the fifth
_SLACK = 1e-3
_AGREE = 1e-6
_NOTHING = 1e-7  # a proven loss for which no other proof is tried


def certified_value(solved: Solved, value: float) -> tuple[float | None, str, Certified | None]:
    """The best proven value of the scaled minimisation form (None, with the reason, where there is none), and
    the multipliers found. Cost: some more solves where the first multipliers prove less than ``value``."""
    identity, bounds = solved.program.identity, solved.scaling.bounds
    if not solved.question.options.certify_bound:
        return None, "not asked for (certify_bound=False)", None
    scale = solved.size(value)
    best, first, lifted = without_second_solve(solved, value)
    work = cubic_work(identity)
    # lifting pays about what the solver's errors cost; a large program is not solved twice for a digit
    allowed = (solved.allowed if lifted or work > _CHEAP_WORK else _AGREE) * scale
    if (best is None or value - best > allowed) and not first.adrift and not solved.late:
        moved = inward(solved.program, solved.raw, solved.patience)
        if moved is not None:
            near = certify(identity, moved.gram, moved.free, moved.unknowns, bounds)
            proven = value_of(solved.program, moved.unknowns, near.loss) if np.isfinite(near.loss) else None
            if proven is not None and (best is None or proven > best):
                best = proven
    if (best is None or value - best > allowed) and work <= _CENTRE_WORK and not first.adrift:
        mixed = _by_mixture(solved, scale)
        if mixed is not None and (best is None or mixed > best):
            best = mixed
    reason = "" if best is not None else first.reason
    return (None if best is None else float(best)), reason, first


def without_second_solve(solved: Solved, value: float) -> tuple[float | None, Certified, bool]:
    """The best proven value of the multipliers found, those multipliers, and whether they were lifted."""
    identity, raw, bounds = solved.program.identity, solved.raw, solved.scaling.bounds
    if raw.inside is not None and raw.inside.proof is not None:
        # the exact residual of multipliers in good bases: nothing else comes near it
        inside, loss = raw.inside, raw.inside.proof.loss()
        if np.isfinite(loss):
            exact = value_of(solved.program, inside.unknowns, loss)
            if value - exact <= _NOTHING * solved.size(value):
                return exact, Certified(inside.gram, inside.free, loss, -np.inf, ""), False
    first = certify(identity, raw.gram, raw.free, raw.unknowns, bounds)
    best = value_of(solved.program, raw.unknowns, first.loss) if np.isfinite(first.loss) else None
    if raw.inside is not None:
        proven, inner = _proven_inside(solved, raw.inside)
        if proven is not None and (best is None or proven > best):
            best, first = proven, inner
    if first.adrift or (best is not None and value - best <= _AGREE * solved.size(value)):
        return best, first, False
    lifted = lift_constant(identity, first, raw.unknowns, bounds)
    if lifted is None:
        return best, first, False
    proven = value_of(solved.program, lifted[0], 0.0)
    return (proven, lifted[1], True) if best is None or proven > best else (best, first, True)


def value_of(program: GramProgram, unknowns: np.ndarray, loss: float) -> float:
    """The value that multipliers with this proven shortfall show, rounded down."""
    value = program.value(unknowns) - loss
    terms = np.abs(program.objective * unknowns).sum() + loss
    if program.quadratic is not None:
        terms += float(program.quadratic @ unknowns**2)
    return round_down(value - 4e-16 * (unknowns.size + 2) * float(terms) * (unknowns.size > 1))


def inside_value(solved: Solved, value: float) -> float | None:
    """The bound that multipliers inside their cones prove, where it is near the value."""
    question = solved.question
    asked = question.options.certify_bound and question.cone == "sos" and not question.subject_to
    if not asked or solved.program.quadratic is not None or question.objective is None or solved.late:
        return None
    found = interior_bound(solved.identity, question.system, question.objective, solved.patience)
    found = None if found is None else found * solved.scaling.value
    return found if solved.close(found, value) else None


def _proven_inside(solved: Solved, inside: Inside) -> tuple[float | None, Certified]:
    """The proven value of multipliers inside the cone, by the better of two proofs."""
    identity, bounds = solved.program.identity, solved.scaling.bounds
    found = certify(identity, inside.gram, inside.free, inside.unknowns, bounds)
    loss = found.loss
    if inside.proof is not None:
        loss = min(loss, inside.proof.loss())
    return (value_of(solved.program, inside.unknowns, loss) if np.isfinite(loss) else None), found


def _by_mixture(solved: Solved, scale: float) -> float | None:
    """A bound that needs nothing of the set: move a little towards multipliers inside the cone."""
    # what it gives away is proportional to slack / t, and t is concave in the slack: small is good, as
    # long as t is above the solver's noise
    if solved.late:
        return None
    program, raw = solved.program, solved.raw
    slack = _SLACK * max(1.0, len(solved.identity.blocks) / 10) * scale
    bound_alone = np.eye(1, program.objective.size)[0]
    inside = centre(program, raw.unknowns - slack * bound_alone)
    if inside is None or inside[1] <= 0:
        return None
    near = (raw.gram, raw.free, raw.unknowns)
    far = (inside[0].gram, inside[0].free, inside[0].unknowns)
    found = mixture_for_margin(program.identity, near, far, solved.scaling.bounds)
    return None if found is None else value_of(program, found[0], 0.0)
