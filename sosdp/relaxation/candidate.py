"""What steps find, and the state that they share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from ..conic.choose import behind
from ..model.options import Options
from .assemble.identity import RawSolution
from .certify.bound import Certified
from .change import Built
from .judge import Theorem
from .statement import Statement

_PATIENCE = 10.0  # seconds at least


@dataclass(frozen=True, eq=False)
class Measured:
    """What was computed for the solutions of many programs together, of one of them: its certificate, or its
    unknowns and certificate after the constant was lifted, where these were looked for; how far the value may
    be from the relaxation's, in units of the program, and by how much moments miss a constraint."""

    certified: Certified | None
    lifted: tuple[np.ndarray, Certified] | None
    missed: float
    violated: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """What one step found. All values are those of the maximisation form, in the given units.

    ``theorem``: what is proven; ``above``: the objective at ``point``, which satisfies the constraints (what
    it
    misses is charged); ``missed``: how far the value may be from the relaxation's, ``violated``: by how much
    moments miss a constraint; ``settled``: nothing better can be found; ``doubt``: why it is not known
    whether the set has a point; ``full``: a point shows that cliques lost nothing; ``measured``: what was
    computed for it together with others.
    """

    step: str
    built: Built
    raw: RawSolution
    status: str = "inaccurate"
    reason: str = ""
    value: float = math.nan
    theorem: Theorem | None = None
    above: float = math.inf
    point: dict[int, Fraction] | None = None
    violated: float = math.inf
    missed: float = math.inf
    settled: bool = False
    inner: np.ndarray | None = None
    other: Theorem | None = None
    doubt: str = ""
    full: bool = False
    measured: Measured | None = None

    @property
    def best_theorem(self) -> Theorem | None:
        """What is proven: by this candidate's multipliers, or by those of another one (``other``)."""
        return self.other or self.theorem

    @property
    def proven(self) -> Fraction | None:
        """The proven bound, or None."""
        return None if self.best_theorem is None else self.best_theorem.value

    def width(self, upper: float) -> float:
        """How far the value may be below this, relative to it or to the objective's size."""
        lower = self.value - self.missed if self.proven is None else float(self.proven)
        return (min(upper, self.above) - lower) / max(abs(self.value), min(1.0, self.built.height))

    @property
    def doubtful(self) -> bool:
        """Whether another step may do better."""
        return not self.settled and self.status not in ("optimal", "infeasible", "unbounded")

    @property
    def worth(self) -> tuple[bool, bool, bool, Fraction | float, float]:
        """What is proven counts: theorems, then closed brackets, then bounds."""
        proven: Fraction | float = -math.inf if self.proven is None else self.proven
        return self.settled, self.status == "optimal", self.raw.has_values, proven, -self.missed


@dataclass(frozen=True)
class Ran:
    """What one step did: its name, the solver, seconds, the status after it, and the bound that it proved
    (of the minimisation form where a minimum is asked)."""

    name: str
    solver: str
    seconds: float
    status: str
    proven: float | None = None

    def __str__(self) -> str:
        known = "" if self.proven is None else f", {self.proven:.9g} proven"
        return f"{self.name} ({self.solver}, {self.seconds:.2g} s): {self.status}{known}"


def patience(raw: RawSolution, deadline: float) -> float:
    """Seconds that another solver or a proof gets: some times what the first solver took, within the time
    limit (``deadline`` of time.perf_counter); not positive where that is over."""
    return min(max(_PATIENCE, 3 * raw.seconds), deadline - time.perf_counter())


@dataclass(eq=False)
class State:
    """A statement with what was found so far. ``started``: of ``time.perf_counter``; ``without``: names of
    steps that are left out."""

    statement: Statement
    options: Options
    started: float = field(default_factory=time.perf_counter)
    without: Collection[str] = ()
    judging: Callable[[State, Candidate], Candidate] = field(default=lambda state, candidate: candidate)
    running: Callable[[State], Candidate] = field(default=lambda state: state.best)
    solve: Callable[[Built], RawSolution | None] | None = None  # in place of the first solver
    candidates: list[Candidate] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=lambda: {"build": 0.0, "solve": 0.0, "certify": 0.0})
    at: float = 0.0
    beside: dict[str, Candidate] = field(default_factory=dict)  # what was asked beside: is the set empty?

    def __post_init__(self) -> None:
        options = self.options
        if options.reductions:
            self.options = replace(options, solver=behind(options.solver, options.reductions), reductions=())

    @property
    def deadline(self) -> float:
        """When the time limit ends."""
        limit = self.options.time_limit
        return math.inf if limit is None else self.started + limit

    @property
    def late(self) -> bool:
        """Whether the time limit is over."""
        return time.perf_counter() > self.deadline

    @property
    def best(self) -> Candidate:
        """The candidate that is worth most."""
        return max(self.candidates, key=lambda c: c.worth)

    def patience(self) -> float:
        """Seconds that another solver gets."""
        return max(patience(self.best.raw, self.deadline), 0.01)

    def stage(self, name: str, before: str = "") -> None:
        """A stage begins; the time since the last one belongs to ``before``."""
        now = time.perf_counter()
        if before:
            self.times[before] += now - self.at
        self.at = now
        self.options.report(name, self.started)

    def ask(self, name: str, statement: Statement) -> Candidate:
        """The answer to another statement, which is asked once."""
        if name not in self.beside:
            inner = State(statement, self.options, self.started, self.without)
            self.beside[name] = self.running(inner)
            self.ran += [replace(r, name=f"{name}: {r.name}") for r in inner.ran]
        return self.beside[name]

    def judged(
        self, step: str, built: Built, raw: RawSolution, measured: Measured | None = None
    ) -> Candidate:
        """What a raw solution is worth; ``measured``: what is known of it."""
        self.stage("certify", "solve")
        result = self.judging(self, Candidate(step, built, raw, measured=measured))
        self.times["certify"] += time.perf_counter() - self.at
        return result
