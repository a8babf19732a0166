"""Bring your own program: a relaxation or a strongly convex objective becomes a private estimator.

`private_estimator(program, ...)` refuses, before any data are read, with the one fact that is missing.

Proofs: docs/proofs/consensus.md (consensus), docs/proofs/bracket_scores.md (relaxations),
docs/proofs/strongly_convex.md (strongly convex programs), docs/proofs/stability_statistics.md (statistics)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sosdp.estimator.base import conditions_before
from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.not_fitted import FitFirst
from sosdp.estimator.parameters import Parameters
from sosdp.estimator.score_program import ScoreProgram
from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.laboratory.convex import Minimiser
from sosdp.laboratory.packing import PackingProgram
from sosdp.laboratory.release import check_report, release_statistic
from sosdp.laboratory.report import StabilityReport, Undecided
from sosdp.privacy.arguments import interval
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.guarantee import ONE_RECORD_REPLACED, Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram, reaching, release_vector
from sosdp.privacy.scores.sampling import FiniteGrid, Layered, Sampler
from sosdp.privacy.silence import contained
from sosdp.privacy.terms import Terms
from sosdp.progress import announced

Program = ScoreProgram | StrongConvexProgram | ConsensusProgram | PackingProgram | StabilityReport

LISTED = 2000
"""A lattice up to this size is listed; a larger one needs an enclosure."""


class MissingFact(ValueError):
    """A program cannot be made private as it stands; `fact` names what is missing, the message says how to
    supply it."""

    def __init__(self, fact: str, message: str) -> None:
        super().__init__(f"missing: {fact}. {message}")
        self.fact = fact


@dataclass(frozen=True)
class VectorOutput:
    """What output perturbation must know in public about a strongly convex program's solver.

    Attributes:
        size: number of released coordinates. low, high: public box that contains the minimiser.
        distance: certified distance to the exact minimiser that every run must reach.
        always_reached: the `Fact` that every run reaches it. False: the guarantee is conditional. True:
            somebody says so, and the guarantee is heuristic.
    """

    size: int
    low: float
    high: float
    distance: float
    always_reached: Fact | bool = False


def private_estimator(
    program: Program,
    *,
    epsilon: float,
    delta: float = 0.0,
    output: VectorOutput | tuple[float, float] | None = None,
    sampler: Sampler | None = None,
    adjacency: str = ONE_RECORD_REPLACED,
    insecure_seed: int | None = None,
) -> PrivateEstimator:
    """An estimator with `fit(data)` whose result carries a guarantee.

    Args:
        program: a `ConsensusProgram` (records pass tests at a candidate: the exponential mechanism, pure
            epsilon, kind "exact", nothing to be proven), a `PackingProgram` (the same of a mean of features,
            kind "certified"), a `ScoreProgram` (system with data, a candidate, a
            threshold: the exponential mechanism, pure epsilon), or a `StrongConvexProgram` with a solver
            (output perturbation: Gaussian noise, needs delta > 0 and `output`); or the report of a statistic,
            `sosdp.stability(...)` (discrete Laplace noise, pure epsilon).
        epsilon, delta: budget.
        output: of output perturbation a `VectorOutput`; of a report a pair (low, high) of public numbers
            between which the statistic lies, and what is released too.
        sampler: of the exponential mechanism, exact; by default the lattice is listed, or layered rejection.
        adjacency: for the guarantee; the one that the program's proof is about, which is one record replaced
            but for a `StrongConvexProgram` that says nothing about it.
        insecure_seed: tests only; voids the guarantee.

    Raises:
        MissingFact: a sensitivity proof, a moment bound, an enclosure, a range, ... is not there; checked on
            public facts and made-up data only.
        ValueError: the program's proof is about another adjacency.
        TypeError: another kind of program.
    """
    estimator = PrivateEstimator(
        program,
        epsilon=epsilon,
        delta=delta,
        output=output,
        sampler=sampler,
        adjacency=adjacency,
        insecure_seed=insecure_seed,
    )
    estimator.check()
    return estimator


class PrivateEstimator(FitFirst, Parameters):
    """scikit-learn style: parameters in the constructor, `fit`, then `estimate_`, `release_`, `guarantee_`.

    Made by `private_estimator`; see there for the parameters.
    """

    program: Program = Field(None, "what is estimated")
    epsilon: float = Field(None, "budget", default=1.0, kw_only=True)
    delta: float = Field(None, "budget; output perturbation only", default=0.0, kw_only=True)
    output: VectorOutput | tuple[float, float] | None = Field(
        None, "of output perturbation, or of a report a public pair (low, high)", default=None, kw_only=True
    )
    sampler: Sampler | None = Field(None, "of the exponential mechanism", default=None, kw_only=True)
    adjacency: str = Field(None, "for the guarantee", default=ONE_RECORD_REPLACED, kw_only=True)
    insecure_seed: int | None = Field(None, "tests only; voids the guarantee", default=None, kw_only=True)

    estimate_: np.ndarray = Fitted()
    release_: Release = Fitted()

    def check(self) -> None:
        """Refuse what cannot be private, from public facts alone.

        Raises:
            MissingFact, ValueError, TypeError: see `private_estimator`.
        """
        if isinstance(self.program, ScoreProgram):
            _check_score_program(self.program, self.sampler)
        elif isinstance(self.program, StrongConvexProgram):
            _check_convex_program(self.program, self.output, self.delta)
        elif isinstance(self.program, StabilityReport):
            self.output = _ends(self.output)
            _check_report(self.program)
        elif not isinstance(self.program, ConsensusProgram | PackingProgram):
            raise TypeError(
                "a program is a ConsensusProgram, a PackingProgram, a ScoreProgram or a StrongConvexProgram, "
                f"got {type(self.program).__name__}"
            )
        self._terms()

    def _terms(self, **more: Any) -> Terms:
        """The terms of a fit; ValueError for neighbours that the program's proof is not about."""
        program = self.program
        known = program.adjacency if isinstance(program, StrongConvexProgram) else ONE_RECORD_REPLACED
        terms = Terms(
            epsilon=self.epsilon,
            adjacency=self.adjacency,
            insecure_seed=self.insecure_seed,
            **more,
        )
        return terms if known is None else terms.proven_for(known, "the program")

    def fit(self, X: Any, y: Any = None) -> PrivateEstimator:
        """Release the estimate for private records of the public shape.

        Raises:
            MissingFact, ValueError: public facts only.
        """
        self.check()
        given = conditions_before(self)
        with announced(f"{type(self).__name__}: fit"):
            self.release_ = self._released(X).resting_on(given)
        value = self.release_.value
        self.estimate_ = np.asarray(value.values() if hasattr(value, "values") else value)
        return self

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee of the release."""
        return self.release_.guarantee

    def _released(self, X: Any) -> Release:
        if isinstance(self.program, ScoreProgram):
            return self._by_score(self.program, X)
        if isinstance(self.program, ConsensusProgram | PackingProgram):
            return self._drawn(self.program, X)
        if isinstance(self.program, StabilityReport):
            return release_statistic(self._terms(), self.program, X, output=self.output)
        return self._by_projection(self.program, X)

    def _by_score(self, program: ScoreProgram, data: Any) -> Release:
        return pure_exponential(
            self._terms(mechanism="private_estimator.score"),
            program.score_function(),
            program.quantise(data),
            sampler=self.sampler or _default_sampler(program),
        )

    def _drawn(self, program: ConsensusProgram | PackingProgram, data: Any) -> Release:
        name = "consensus" if isinstance(program, ConsensusProgram) else "packing"
        terms = self._terms(mechanism=f"private_estimator.{name}")
        sampler = self.sampler or program.sampler
        return pure_exponential(terms, program.score_function(), data, sampler=sampler)

    def _by_projection(self, program: StrongConvexProgram, data: Any) -> Release:
        output = self.output
        assert isinstance(output, VectorOutput) and program.solve is not None
        if isinstance(program.solve, Minimiser):
            program.solve.check(data)
        centre = np.full(output.size, (float(output.low) + float(output.high)) / 2.0)
        solve = program.solve

        def solved() -> tuple[np.ndarray, bool]:
            result, error = solve(data)
            values = np.asarray(result, dtype=np.float64).ravel()
            reached = values.shape == centre.shape and float(error) <= output.distance
            return (values if reached else centre), reached

        values, reached = contained(solved, (centre, False))
        terms = self._terms(
            mechanism="private_estimator.projection",
            delta=self.delta,
            proof=program.proof,
            assumptions=(program.near(), reaching(output.distance, output.always_reached)),
        )
        return release_vector(
            terms,
            values,
            sensitivity=program.effective_sensitivity(output.distance),
            low=output.low,
            high=output.high,
            private_diagnostics={"reached": reached},
        )


def _ends(output: Any) -> tuple[Any, Any] | None:
    """The public ends of a statistic, if there are any; ValueError for what is no interval."""
    if output is None:
        return None
    if not (isinstance(output, list | tuple) and len(output) == 2):
        raise ValueError("output: of a statistic a pair (low, high) of public numbers is expected")
    return interval(*output)


def _check_report(report: StabilityReport) -> None:
    try:
        check_report(report)
    except Undecided as error:
        raise MissingFact("a proven sensitivity", str(error)) from error


def _default_sampler(program: ScoreProgram) -> Sampler:
    size = program.lattice.size
    return FiniteGrid() if size is not None and size <= LISTED else Layered()


def _check_score_program(program: ScoreProgram, sampler: Sampler | None) -> None:
    if program.lattice.box is None:
        raise MissingFact(
            "a public range",
            "The exponential mechanism draws from a bounded lattice of candidates: give the lattice a box.",
        )
    if not program.proof.strip():
        raise MissingFact(
            "a sensitivity proof",
            "Say in `proof` why replacing one record changes the score by at most `sensitivity`; "
            "for example: the relaxation with the record's weight set to 0 stays feasible.",
        )
    size = program.lattice.size or 0
    if size > LISTED and program.enclosure is None and sampler is None:
        raise MissingFact(
            "an enclosure",
            f"The lattice has {size} candidates, a solve each: give `enclosure(data, k)`, a certified "
            f"box around all candidates of level <= k, or a coarser lattice (at most {LISTED}).",
        )
    free = program.unbounded_variables()
    if free:
        raise MissingFact(
            "a moment bound",
            f"No bound on {', '.join(free[:5])} follows from the system, so no dual bound on the score is "
            "rigorous: add public constraints such as x**2 <= r**2.",
        )
    if program.witness is None and not program.width_proof.strip() and program.width < program.largest:
        raise MissingFact(
            "an upper end of the brackets",
            "Give `witness`, which proposes feasible points (they are checked exactly), or promise only "
            "width = largest.",
        )


def _check_convex_program(program: StrongConvexProgram, output: Any, delta: float) -> None:
    if program.solve is None:
        raise MissingFact(
            "a solver", "Pass solve=(data -> (minimiser, certified distance)) to the StrongConvexProgram."
        )
    if not isinstance(output, VectorOutput):
        raise MissingFact(
            "a public range and accuracy",
            "Give output=VectorOutput(size, low, high, distance): the box of the minimiser, and the "
            "distance that every run certifies.",
        )
    if not (math.isfinite(output.low) and math.isfinite(output.high) and output.low < output.high):
        raise MissingFact("a public range", "VectorOutput needs finite low < high.")
    if not delta > 0.0:
        raise MissingFact("delta", "Gaussian noise gives (epsilon, delta)-DP with delta > 0.")
