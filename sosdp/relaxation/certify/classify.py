"""What a solver's answer is worth: every claim of a result is checked here before it is made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...conic.breakdown import OTHER_UNITS
from ...conic.newton_cg import NAME as NEWTON_CG
from ...conic.program import SolverUnavailable
from ...conic.rigorous import round_down
from ...conic.svec import smat
from ...model.expectation import ExpectationConstraint
from ...model.options import Options
from ...model.system import System
from ..build.diagonal_dominance import least_eigenvalues
from ..build.identity import GramProgram, Identity, Inside, RawSolution
from ..build.scaling import Scaling
from ..pseudoexpectation import PseudoExpectation, dual_data
from ..solve.from_solution import inward
from ..solve.orthonormal import solve_orthonormal
from ..solve.solve import centre, cubic_work, prefers, small_solvers, solve_moments, solve_program
from ..solve.sos_cone.choose import rescues
from ..solve.sos_cone.solve import at_points
from .bound import Certified, certify, mixture_for_margin
from .interior import interior_bound
from .rays import misfit, patience, priced_misfit, provably_unbounded, unproven
from .shift_constant import lift_constant

# sum of R^3 up to which a second, centring solve is made without being asked (a few seconds)
_CENTRE_WORK = 3e9
_REFUTATION = (
    "an identity -1 = sum of squares, multipliers and constraints, checked in floats with all rounding "
    "bounded; certificates.extract(result).exact() writes it in rational numbers"
)
_CHEAP_WORK = 1e6  # up to it (milliseconds) that solve is made for the sixth digit, beyond it for the fifth
_SLACK = 1e-3
_AGREE = 1e-6
_NOTHING = 1e-7  # a proven loss for which no other proof is tried
_ESCAPE = 10.0
_CLOSED = 1e-3  # size of the objective relative to its large coefficients, above which a closed gap counts
_ENOUGH = 1e-5


def shortfall(program: GramProgram, raw: RawSolution) -> float:
    """Estimate of how far a solver's value is from the optimum of the relaxation, to first order.

    What the moments violate, priced with the multipliers found, plus the difference of the two objectives.
    """
    identity, y = program.identity, raw.moments
    if not np.isfinite(y).all():
        return np.inf
    missed = float(np.abs(raw.free) @ np.abs(identity.free @ y)) if identity.free.shape[0] else 0.0
    least_of = least_eigenvalues(identity, y)
    for block, rows, least in zip(identity.blocks, identity.slices(), least_of, strict=True):
        if least < 0:
            missed -= least * abs(float(np.trace(smat(raw.gram[rows], block.side))))
    if program.quadratic is None and not np.isfinite(program.upper).any():
        missed += abs(float(identity.target @ y) - program.value(raw.unknowns))
    return missed


def _certificate(cone: str) -> str:
    return "sum-of-squares certificate" if cone == "sos" else f"certificate with cone={cone!r}"


@dataclass(frozen=True)
class Question:
    """What was asked: the relaxation, the objective and the options.

    ``is_empty``: asks for a refutation of the system alone (a feasibility problem of the same relaxation).
    """

    system: System
    degree: int
    cone: str
    sense: str
    objective: Any
    subject_to: tuple[ExpectationConstraint, ...]
    options: Options
    is_empty: Callable[[], PseudoExpectation]


class Answer:
    """Turns a solver's answer into a result whose claims are checked."""

    def __init__(
        self,
        question: Question,
        identity: Identity,
        scaling: Scaling,
        program: GramProgram,
        raw: RawSolution,
        second_opinion: bool = False,
        deadline: float = np.inf,
    ) -> None:
        self.question = question
        self.original = identity
        self.scaling = scaling
        self.program = program
        self.raw = raw
        self.sense = question.sense
        self.deadline = deadline  # of time.perf_counter, for second opinions and centring
        self.second_opinion = second_opinion and not self._late()
        self.sign = -1.0 if self.sense == "maximize" else 1.0

    def judge(self) -> PseudoExpectation:
        """The result, with the status that could be checked."""
        status = self.raw.status
        if status == "infeasible":
            return self._refuted()
        if status in ("unbounded", "failed"):
            # on an empty set both sides of the program fail: the emptiness is what the user needs to know
            return self._empty() or (self._unbounded() if status == "unbounded" else self._failed())
        if self.sense == "feasible":
            return self._feasibility(float(self.raw.unknowns[0]))
        value = self.program.value(self.raw.unknowns)
        elsewhere = self._other_form() if status == "inaccurate" else None
        if elsewhere is not None:
            return elsewhere
        certified, reason, dual = self._certified_bound(value)
        inside = self._inside(value) if certified is None else None
        if inside is not None:
            certified, reason = inside, ""
        label = "optimal"
        early = status == "inaccurate" and (self._escaping() or not self._close(certified, value))
        far = certified is not None and not self._close(certified, value)
        # without a proven bound both sides of the program must agree to the fifth digit, however many blocks
        missed = shortfall(self.program, self.raw) / self._size(value)
        if certified is not None and self._compared_at_points():
            missed = 0.0
        if certified is None:
            priced = priced_misfit(self.program, self.raw) / self._size(value)
            missed = max(missed, misfit(self.program, self.raw), priced)
        apart = missed > (_ENOUGH if certified is None else self._allowed())
        other = self._small() if early or far or apart else None
        if other is not None and self._weaker(other, certified, value):
            other = None
        other = self._borrowed(certified, value) if other is None else other
        if other is not None:
            return other
        if not (early or far or apart) and certified is None and self.question.options.certify_bound:
            reason += f"; the value rests on moments and multipliers that agree to {max(missed, 1e-16):.1g}"
        if early or far or apart:
            label = "inaccurate"
            proven = np.nan if certified is None else self._stated(certified)
            reason = (
                "the relaxation does not bound its moments although the set is bounded: its value is "
                "ill-conditioned; add a redundant ball or box constraint"
                if self._escaping()
                else f"the solver stopped early ({self.raw.message}); try another solver, or {OTHER_UNITS}"
                if early
                else f"the bound that is proven ({proven:.6g}) is not near the value"
                if far and not apart
                else "moments and multipliers disagree about the value: the relaxation is ill-conditioned"
            ) + (f"; no certified bound: {reason}" if reason else "")
            other = None if self._escaping() else self._other_solver()
            if other is not None and not self._weaker(other, certified, value):
                return other
        return self._result(label, value, certified, reason, dual)

    def _inside(self, value: float) -> float | None:
        """The bound that multipliers inside their cones prove, where it is near the value."""
        question = self.question
        asked = question.options.certify_bound and question.cone == "sos" and not question.subject_to
        if not asked or self.program.quadratic is not None or question.objective is None or self._late():
            return None
        found = interior_bound(self.original, question.system, question.objective, self._patience())
        found = None if found is None else found * self.scaling.value
        return found if self._close(found, value) else None

    def _weaker(self, other: PseudoExpectation, certified: float | None, value: float) -> bool:
        """Whether another answer proves clearly less than is proven already: its optimum is none then."""
        if certified is None or other.certified_bound is None:
            return False
        proven = self.sign * other.certified_bound * self.scaling.value
        return proven < certified - self._allowed() * self._size(value)

    def _borrowed(self, certified: float | None, value: float) -> PseudoExpectation | None:
        """The answer of a borrowed solver where the bound of the method at points was not proven to the fifth
        digit, if that one's is proven better; and the other way round where SCS was tried before it."""
        ours = self.raw.solver in ("sos_cone", NEWTON_CG)
        if not self.second_opinion or not self.question.options.certify_bound:
            return None
        if self._close(certified, value) or not (ours or self.raw.solver == "scs" and prefers(self.program)):
            return None
        if self.raw.solver == NEWTON_CG and certified is None:
            return None  # it was moved inside its cone already: a set without bounds is what is missing
        name = "borrowed" if ours else "sos_cone"
        try:
            again = self._again(solve_program(self.program, solver=name, time_limit=self._patience()))
        except SolverUnavailable:
            return None
        if again is None or again.certified_bound is None:
            return None
        better = certified is None or self.sign * again.certified_bound > self.scaling.proven(certified)
        return again if better else None

    def _other_form(self) -> PseudoExpectation | None:
        """The answer of the moment form where an interior point stopped early in the Gram form, if a
        certificate confirms it and nothing cheap confirms the first one.

        Long chains without interior are where the two forms differ most. It comes before a centring solve:
        an early stop is seldom mended by one.
        """
        if not self.second_opinion or self.raw.solver != "clarabel" or self._escaping():
            return None
        if self.question.options.certify_bound:
            value = self.program.value(self.raw.unknowns)
            best, _, _ = self._without_second_solve(value)
            if self._close(best, value) and self._agreed(value):
                return None
        again = self._again(solve_moments(self.program, "clarabel", self._patience()))
        return again if again is not None and self._near(again) else None

    def _other_solver(self) -> PseudoExpectation | None:
        """The answer of another method where an interior point was not accurate, if that one is: badly scaled
        univariate programs and sums of squares without interior are where the two methods differ."""
        if not self.second_opinion or self.raw.solver != "clarabel":
            return None
        if self.raw.status == "optimal" and rescues(self.program):  # otherwise points were tried at once
            at_once = at_points(self.program, time_limit=self._patience())
            again = None if at_once is None else self._again(at_once)
            if again is not None and self._near(again):
                return again
        elsewhere = solve_orthonormal(self.program, self.scaling.bounds, self._patience())
        again = None if elsewhere is None else self._again(elsewhere)
        if again is not None and self._near(again):
            return again
        if self.raw.status != "inaccurate":  # otherwise it was tried at once
            again = self._again(solve_moments(self.program, "clarabel", self._patience()))
            if again is not None and self._near(again):
                return again
        return self._again(solve_program(self.program, solver="scs", time_limit=self._patience()))

    def _small(self) -> PseudoExpectation | None:
        """The answer of CVXOPT or SDPA where the first one is doubtful, if theirs is not.

        Other methods end early on other programs. For programs so small that they take a moment; they cannot
        be stopped, so not under a time limit.
        """
        if not self.second_opinion or np.isfinite(self.deadline):
            return None
        for name in small_solvers(self.program):
            raw = solve_program(self.program, solver=name)
            if raw.status != "optimal":
                continue
            again = Answer(self.question, self.original, self.scaling, self.program, raw)
            found = again.judge()
            close = self._near(found)
            if found.status == "optimal" and (close or not again._escaping()):
                return found
        return None

    def _stated(self, proven: float) -> float:
        """A proven bound in the units and the sense of what was asked."""
        return self.sign * self.scaling.proven(proven)

    def _late(self) -> bool:
        return time.perf_counter() > self.deadline

    def _patience(self) -> float:
        """Seconds that a second solver gets: some times the first one's, within the time limit."""
        return max(patience(self.raw, self.deadline), 0.01)

    def _again(self, raw: RawSolution) -> PseudoExpectation | None:
        """What another raw solution is worth, or None when it is not accurate."""
        if raw.status != "optimal":
            return None
        again = Answer(self.question, self.original, self.scaling, self.program, raw)
        agreed = again._agreed(again.program.value(raw.unknowns))
        return again.judge() if agreed and not again._escaping() else None

    def _escaping(self) -> bool:
        """Pseudo-moments far above what the deduced box allows: the optimum is not attained."""
        size = self.scaling.bounds.magnitude(self.program.identity.columns)
        finite = np.isfinite(size)
        return bool((np.abs(self.raw.moments[finite]) > _ESCAPE * size[finite] + 1e-6).any())

    def _close(self, certified: float | None, value: float) -> bool:
        return certified is not None and abs(value - certified) <= self._allowed() * self._size(value)

    def _size(self, value: float) -> float:
        """What differences of scaled bounds are relative to."""
        return max(self.scaling.size, abs(value))

    def _near(self, found: PseudoExpectation) -> bool:
        """Whether the bound of another result is proven to the digits that count."""
        proven = found.certified_bound
        value = self.scaling.value
        return proven is not None and self._close(proven * value, found.bound * value)

    def _allowed(self) -> float:
        """Relative distance of value and certified bound up to which they agree: the errors of many blocks
        add up."""
        return _ENOUGH * max(1.0, len(self.original.blocks) / 100)

    def _agreed(self, value: float) -> bool:
        """Whether both sides of the program agree: a certified bound says nothing about a better one."""
        return self._compared_at_points() or shortfall(
            self.program, self.raw
        ) <= self._allowed() * self._size(value)

    def _compared_at_points(self) -> bool:
        """Whether the solver closed the gap in bases in which a violation means what it says (of degree 80,
        multipliers in monomials do not). With a loose tolerance it closed none."""
        closed = self.raw.status == "optimal" and (self.question.options.tolerance or 0.0) <= _ENOUGH
        return self.raw.inside is not None and closed and self.scaling.size >= _CLOSED

    def _certified_bound(self, value: float) -> tuple[float | None, str, Certified | None]:
        identity = self.program.identity
        if not self.question.options.certify_bound:
            return None, "not asked for (certify_bound=False)", None
        scale = self._size(value)
        best, first, lifted = self._without_second_solve(value)
        work = cubic_work(identity)
        # lifting pays about what the solver's errors cost; a large program is not solved twice for a digit
        allowed = (self._allowed() if lifted or work > _CHEAP_WORK else _AGREE) * scale
        if (best is None or value - best > allowed) and not first.adrift and not self._late():
            moved = inward(self.program, self.raw, self._patience())
            if moved is not None:
                near = certify(identity, moved.gram, moved.free, moved.unknowns, self.scaling.bounds)
                proven = self._proven_value(moved.unknowns, near.loss) if np.isfinite(near.loss) else None
                if proven is not None and (best is None or proven > best):
                    best = proven
        if (best is None or value - best > allowed) and work <= _CENTRE_WORK and not first.adrift:
            mixed = self._by_mixture(scale)
            if mixed is not None and (best is None or mixed > best):
                best = mixed
        reason = "" if best is not None else first.reason
        return (None if best is None else float(best)), reason, first

    def _without_second_solve(self, value: float) -> tuple[float | None, Certified, bool]:
        """The best proven value of the multipliers found, those multipliers, and whether they were lifted."""
        identity, raw = self.program.identity, self.raw
        if raw.inside is not None and raw.inside.proof is not None:
            # the exact residual of multipliers in good bases: nothing else comes near it
            inside, loss = raw.inside, raw.inside.proof.loss()
            if np.isfinite(loss):
                exact = self._proven_value(inside.unknowns, loss)
                if value - exact <= _NOTHING * self._size(value):
                    return exact, Certified(inside.gram, inside.free, loss, -np.inf, ""), False
        first = certify(identity, raw.gram, raw.free, raw.unknowns, self.scaling.bounds)
        best = self._proven_value(raw.unknowns, first.loss) if np.isfinite(first.loss) else None
        if raw.inside is not None:
            proven, inner = self._proven_inside(raw.inside)
            if proven is not None and (best is None or proven > best):
                best, first = proven, inner
        if first.adrift or (best is not None and value - best <= _AGREE * self._size(value)):
            return best, first, False
        lifted = lift_constant(identity, first, raw.unknowns, self.scaling.bounds)
        if lifted is None:
            return best, first, False
        proven = self._proven_value(lifted[0], 0.0)
        return (proven, lifted[1], True) if best is None or proven > best else (best, first, True)

    def _proven_inside(self, inside: Inside) -> tuple[float | None, Certified]:
        """The proven value of multipliers inside the cone, by the better of two proofs."""
        identity = self.program.identity
        found = certify(identity, inside.gram, inside.free, inside.unknowns, self.scaling.bounds)
        loss = found.loss
        if inside.proof is not None:
            loss = min(loss, inside.proof.loss())
        return (self._proven_value(inside.unknowns, loss) if np.isfinite(loss) else None), found

    def _proven_value(self, unknowns: np.ndarray, loss: float) -> float:
        """The value that multipliers with this proven shortfall show, rounded down."""
        value = self.program.value(unknowns) - loss
        terms = np.abs(self.program.objective * unknowns).sum() + loss
        if self.program.quadratic is not None:
            terms += float(self.program.quadratic @ unknowns**2)
        return round_down(value - 4e-16 * (unknowns.size + 2) * float(terms) * (unknowns.size > 1))

    def _by_mixture(self, scale: float) -> float | None:
        """A bound that needs nothing of the set: move a little towards multipliers inside the cone."""
        # what it gives away is proportional to slack / t, and t is concave in the slack: small is good, as
        # long as t is above the solver's noise
        if self._late():
            return None
        slack = _SLACK * max(1.0, len(self.original.blocks) / 10) * scale
        inside = centre(self.program, self.raw.unknowns - slack * self._bound_unit())
        if inside is None or inside[1] <= 0:
            return None
        near = (self.raw.gram, self.raw.free, self.raw.unknowns)
        far = (inside[0].gram, inside[0].free, inside[0].unknowns)
        found = mixture_for_margin(self.program.identity, near, far, self.scaling.bounds)
        return None if found is None else self._proven_value(found[0], 0.0)

    def _bound_unit(self) -> np.ndarray:
        """The unknowns with bound 1 and nothing else."""
        return np.eye(1, self.program.objective.size)[0]

    def _feasibility(self, gamma: float) -> PseudoExpectation:
        if gamma <= 0.5:
            # gamma = 0 up to accuracy: a pseudo-expectation exists unless a refutation is merely hard to see
            missed = self._violation()
            if gamma <= _ENOUGH and self.raw.status == "optimal" and missed <= _ENOUGH:
                reason = f"moments that violate nothing by more than {missed:.1g}"
                return self._result("optimal", np.nan, None, reason)
            reason = f"the moments found violate a constraint by {missed:.1g}"
            return self._result("inaccurate", np.nan, None, reason)
        return self._refutation(self.raw.gram / gamma, self.raw.free / gamma)

    def _violation(self) -> float:
        """How far the moments are from a pseudo-expectation of the (scaled) system: the largest violation."""
        identity, y = self.program.identity, self.raw.moments
        constant = identity.constant_column()
        if constant < 0 or not np.isfinite(y).all() or not y[constant] > 0:
            return np.inf
        y = y / y[constant]
        worst = float(np.abs(identity.free @ y).max(initial=0.0))
        return max([worst, *(-least for least in least_eigenvalues(identity, y))]) / max(1.0, np.abs(y).max())

    def _refuted(self) -> PseudoExpectation:
        gamma = float(self.raw.unknowns[0])
        if not gamma > 0:
            return self._empty() or self._result("failed", np.nan, None, "the solver's ray does not check")
        found = self._refutation(self.raw.gram / gamma, self.raw.free / gamma)
        if found.status == "infeasible":
            return found
        # variables of the objective alone may hide the proof: ask for emptiness without them
        return self._empty() or found

    def _refutation(self, gram: np.ndarray, free: np.ndarray) -> PseudoExpectation:
        """-1 = sum of the multipliers, approximately: accepted when it is proven, or provable by centring."""
        whole = self.program.identity
        nothing = np.zeros_like(whole.target)
        errors = whole.errors
        if errors is not None:
            errors = replace(errors, target=nothing, unknown=errors.unknown[:1])
        identity = replace(whole, target=nothing, unknown=whole.unknown[:1], errors=errors)
        program = GramProgram(identity, np.ones(1), np.ones(1))
        checked = certify(identity, gram, free, np.ones(1), self.scaling.bounds)
        label, reason = "infeasible", _REFUTATION
        if not checked.loss < 1:
            inside = centre(program, np.ones(1))
            if inside is not None:
                checked = certify(identity, inside[0].gram, inside[0].free, np.ones(1), self.scaling.bounds)
            if not checked.loss < 1:
                label, reason = "inaccurate", checked.reason or "the refutation found could not be proven"
        raw = replace(self.raw, gram=checked.gram, free=checked.free, unknowns=np.ones(1))
        self.raw, self.program = raw, program
        self.scaling = replace(self.scaling, value=1.0, unknown=None, size=1.0)  # it is about no objective
        return self._result(label, np.nan, None, reason, checked)

    def _empty(self) -> PseudoExpectation | None:
        question = self.question
        if self.sense == "feasible" or (len(question.system) == 0 and not question.subject_to):
            return None
        answer = question.is_empty()
        if answer.status != "infeasible":
            return None
        return replace(answer, sense=self.sense, objective=question.objective)

    def _failed(self) -> PseudoExpectation:
        return self._result("failed", np.nan, None, f"the solver gave up ({self.raw.message})")

    def _unbounded(self) -> PseudoExpectation:
        """No certificate with any finite bound: the solver's ray must be a pseudo-moment direction that
        checks."""
        identity, y = self.program.identity, self.raw.moments
        descent = float(identity.target @ y)
        if not descent < 0:
            return self._result("failed", np.nan, None, "the solver's ray does not decrease the objective")
        y = y / -descent
        residual = max([0.0, *(-least for least in least_eigenvalues(identity, y))])
        if identity.free.shape[0]:
            residual = max(residual, float(np.abs(identity.free @ y).max()))
        # a direction has E[1] = 0: moments of points are none, however low the objective is at them
        residual = max([residual, *np.abs((identity.unknown @ y)[~np.isfinite(self.program.upper)])])
        # relative to the ray itself: against a coefficient of 1e12 a ray of size 1e-12 is no ray
        if residual > 1e-6 * float(np.abs(y).max()):
            reason = f"the solver claims that no bound exists, but its ray does not check; {OTHER_UNITS}"
            return self._result("inaccurate", np.nan, None, reason)
        left = patience(self.raw, self.deadline)
        if not (left > 0 and provably_unbounded(self.program, left)):
            reason = f"the solver claims that no bound exists; {unproven(left)}"
            return self._result("inaccurate", np.nan, None, reason)
        reason = (
            f"no {_certificate(self.question.cone)} of this degree exists for any bound; "
            "try a higher degree, or bound the set by a ball or by products such as (x - a)*(b - x) >= 0"
        )
        return self._result("unbounded", -np.inf, None, reason)

    def _result(
        self,
        status: str,
        bound: float,
        certified: float | None,
        reason: str,
        dual: Certified | None = None,
    ) -> PseudoExpectation:
        """The result, from a bound and a certified bound of the scaled minimisation form."""
        raw, scaling = self.raw, self.scaling
        gram = raw.gram if dual is None else dual.gram
        free = raw.free if dual is None else dual.free
        known = raw.has_values and status in ("optimal", "inaccurate")
        moments = raw.moments * self.scaling.column if known else None
        multiplier = float(scaling.unknowns_of(raw.unknowns)[0]) if raw.unknowns.size else 0.0
        return PseudoExpectation(
            status=status,
            sense=self.sense,
            objective=self.question.objective,
            system=self.question.system,
            degree=self.question.degree,
            bound=self.sign * bound / scaling.value,
            certified_bound=None if certified is None else self._stated(certified),
            reason=reason,
            solver=raw.solver,
            solver_message=raw.message,
            iterations=raw.iterations,
            sizes={},
            times={},
            identity=self.original,
            moments=moments,
            dual=dual_data(self.original, scaling.gram_of(gram), scaling.free_of(free), multiplier),
            program=self.program,
            scaling=self.scaling,
            in_expectation=self.question.subject_to,
            cone=self.question.cone,
            inside=raw.inside if status == "optimal" else None,
        )
