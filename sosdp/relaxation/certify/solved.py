"""A question, a solver's answer to it, and what numbers of that answer are compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...algebra.coefficients import Number
from ...algebra.polynomial import Polynomial
from ...model.expectation import ExpectationConstraint
from ...model.options import Options
from ...model.system import System
from ..build.identity import GramProgram, Identity, RawSolution
from ..build.scaling import Scaling
from ..pseudoexpectation import PseudoExpectation, dual_data
from .bound import Certified
from .misfit import shortfall
from .rays import patience

ENOUGH = 1e-5  # relative distance up to which two values agree
_ESCAPE = 10.0
_CLOSED = 1e-3  # size of the objective relative to its large coefficients, above which a closed gap counts


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

    def coefficients(self, unknowns: int) -> tuple[list[Number], list[list[Number]]]:
        """All coefficients of the objective, and of each unknown: the bound, whose only one is 1, and those
        of constraints in expectation, which are not told apart."""
        asked = [self.objective] if isinstance(self.objective, Polynomial) else self.objective.polynomials()
        inside = [p for c in self.subject_to for p in c.polynomials()]
        inside += [c.body.polynomial for c in self.subject_to if c.kind == "forall"]
        every = [c for p in inside for c in p.coefs.tolist()]
        return [c for p in asked for c in p.coefs.tolist()], [[1], *([every] * (unknowns - 1))]


@dataclass(frozen=True, eq=False)
class Solved:
    """A question and a solver's answer: ``identity`` is unscaled, ``program`` and ``raw`` are in the units of
    ``scaling``. ``deadline``: of time.perf_counter, for proofs and second opinions.
    """

    question: Question
    identity: Identity
    scaling: Scaling
    program: GramProgram
    raw: RawSolution
    deadline: float = np.inf

    @property
    def value(self) -> float:
        """The solver's value of the scaled minimisation form."""
        return self.program.value(self.raw.unknowns)

    @property
    def sign(self) -> float:
        """What turns the minimisation form into what was asked."""
        return -1.0 if self.question.sense == "maximize" else 1.0

    @property
    def late(self) -> bool:
        """Whether the time limit is over."""
        return time.perf_counter() > self.deadline

    @property
    def patience(self) -> float:
        """Seconds that a second solver gets: some times the first one's, within the time limit."""
        return max(patience(self.raw, self.deadline), 0.01)

    @property
    def allowed(self) -> float:
        """Relative distance of value and certified bound up to which they agree: the errors of many blocks
        add up."""
        return ENOUGH * max(1.0, len(self.identity.blocks) / 100)

    def size(self, value: float) -> float:
        """What differences of scaled bounds are relative to."""
        return max(self.scaling.size, abs(value))

    def close(self, certified: float | None, value: float) -> bool:
        """Whether a proven value is near another."""
        return certified is not None and abs(value - certified) <= self.allowed * self.size(value)

    def near(self, found: PseudoExpectation) -> bool:
        """Whether the bound of another result is proven to the digits that count."""
        proven = found.certified_bound
        value = self.scaling.value
        return proven is not None and self.close(proven * value, found.bound * value)

    def stated(self, proven: float) -> float:
        """A proven bound in the units and the sense of what was asked."""
        return self.sign * self.scaling.proven(proven)

    @property
    def escaping(self) -> bool:
        """Pseudo-moments far above what the deduced box allows: the optimum is not attained."""
        size = self.scaling.bounds.magnitude(self.program.identity.columns)
        finite = np.isfinite(size)
        return bool((np.abs(self.raw.moments[finite]) > _ESCAPE * size[finite] + 1e-6).any())

    @property
    def agreed(self) -> bool:
        """Whether both sides of the program agree: a certified bound says nothing about a better one."""
        if self.compared_at_points:
            return True
        return shortfall(self.program, self.raw) <= self.allowed * self.size(self.value)

    @property
    def compared_at_points(self) -> bool:
        """Whether the solver closed the gap in bases in which a violation means what it says (of degree 80,
        multipliers in monomials do not). With a loose tolerance it closed none."""
        closed = self.raw.status == "optimal" and (self.question.options.tolerance or 0.0) <= ENOUGH
        return self.raw.inside is not None and closed and self.scaling.size >= _CLOSED

    def result(
        self,
        status: str,
        bound: float,
        certified: float | None,
        reason: str,
        dual: Certified | None = None,
    ) -> PseudoExpectation:
        """The result, from a bound and a certified bound of the scaled minimisation form."""
        raw, scaling, question = self.raw, self.scaling, self.question
        gram = raw.gram if dual is None else dual.gram
        free = raw.free if dual is None else dual.free
        known = raw.has_values and status in ("optimal", "inaccurate")
        multiplier = float(scaling.unknowns_of(raw.unknowns)[0]) if raw.unknowns.size else 0.0
        return PseudoExpectation(
            status=status,
            sense=question.sense,
            objective=question.objective,
            system=question.system,
            degree=question.degree,
            bound=self.sign * bound / scaling.value,
            certified_bound=None if certified is None else self.stated(certified),
            reason=reason,
            solver=raw.solver,
            solver_message=raw.message,
            iterations=raw.iterations,
            sizes={},
            times={},
            identity=self.identity,
            moments=raw.moments * scaling.column if known else None,
            dual=dual_data(self.identity, scaling.gram_of(gram), scaling.free_of(free), multiplier),
            program=self.program,
            scaling=scaling,
            in_expectation=question.subject_to,
            cone=question.cone,
            inside=raw.inside if status == "optimal" else None,
        )
