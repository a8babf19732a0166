"""Output perturbation under attack: the claims of a strongly convex program, tried on searched neighbours.

`StrongConvexProgram` states the claims; here are the searches that try to break them, and the isometries
that say how far the released coordinates move when the minimiser does.

Proof: docs/proofs/strongly_convex.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sosdp.model.gathering import gathering
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram
from sosdp.privacy.verification.sensitivity import Neighbours, Search, SensitivityReport, verify_sensitivity

Array = npt.NDArray[np.float64]


class Scores(Protocol):
    """A program whose values are scores: what it claims, and the scores of all its candidates."""

    @property
    def sensitivity(self) -> float:
        """The claim: no score moves by more between neighbours."""

    def scores(self, data: Any) -> tuple[Array, float]:
        """Scores of all candidates, and a bound on their error."""


@dataclass(frozen=True)
class Oracle:
    """What the falsifier may call: the objective and a feasible point near any point.

    Attributes:
        value: (data, point) -> f_D(point).
        near: (data, point) -> a point of K_D; the closer to `point`, the sharper the test. None for a set
            that is the same for all data.
    """

    value: Callable[[Any, Array], float]
    near: Callable[[Any, Array], Array] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ProgramReport:
    """Which claims of a program survived; an excess is how far beyond its claim something was found.

    Attributes:
        sensitivity: of the attack on the distance of the minimisers.
        kappa: largest violation of strong convexity, as a function value; 0 if none was found.
        alpha, radius: largest excess over these claims; None if they were not claimed or could not be tried.
        tolerance: what float64 and certified errors are allowed.
    """

    sensitivity: SensitivityReport
    kappa: float | None
    alpha: float | None
    radius: float | None
    tolerance: float

    @property
    def refuted(self) -> tuple[str, ...]:
        """Names of the claims that are disproved."""
        result = ["sensitivity"] if self.sensitivity.refuted else []
        for name in ("kappa", "alpha", "radius"):
            excess = getattr(self, name)
            if excess is not None and excess > self.tolerance:
                result.append(name)
        return tuple(result)

    def statement(self) -> str:
        """The finding in a few bits."""
        broken = ", ".join(self.refuted)
        return f"{self.sensitivity.statement()}; {f'REFUTED: {broken}' if broken else 'no claim refuted'}"

    def __repr__(self) -> str:
        return f"ProgramReport({self.statement()})"


@gathering(Search, "search")
def falsify_program(
    program: StrongConvexProgram | Scores,
    data: Sequence[Any],
    *,
    neighbours: Neighbours,
    oracle: Oracle | None = None,
    mode: str = "tight",
    tolerance: float = 1e-7,
    pairs: int = 200,
    search: Search,
) -> ProgramReport:
    """Search neighbours that break the program's sensitivity, and, given an oracle, kappa, alpha and radius.

    Args:
        program: with `solve` attached; or one of scores (`ScoreProgram`), whose claimed sensitivity is tried
            on every candidate of its lattice, with the width of brackets as certified error.
        data: made-up base data sets.
        neighbours: as for `verify_sensitivity`.
        oracle: to try the claims themselves at the computed minimisers.
        mode: "tight" or "paper": the sensitivity that is attacked.
        tolerance: allowance for solver and float64 error in the tries with the oracle.
        pairs: how many neighbours of the bases these tries use.
        search: the fields of `Search`, as keywords, as for `verify_sensitivity`.

    Raises:
        ValueError: no solver attached, or arguments out of range.
    """
    if not isinstance(program, StrongConvexProgram):
        claimed = float(program.sensitivity)
        report = verify_sensitivity(
            program.scores,
            data,
            neighbours=neighbours,
            claimed=claimed,
            distance="linf",
            with_error=True,
            search=search,
        )
        return ProgramReport(report, None, None, None, tolerance)
    solve = program.solve
    if solve is None:
        raise ValueError("this program has no solver attached: pass solve=... when making it")
    report = verify_sensitivity(
        solve,
        data,
        neighbours=neighbours,
        claimed=program.sensitivity(mode),
        with_error=True,
        search=search,
    )
    if oracle is None:
        return ProgramReport(report, None, None, None, tolerance)
    kappa = 0.0
    alpha = None if program.alpha is None else -np.inf
    radius = None if program.fixed_set or program.radius is None else -np.inf
    tried = 0
    for base in data:
        point = np.asarray(solve(base)[0], dtype=np.float64)
        value = oracle.value(base, point)
        for other in neighbours.every(base):
            if tried >= pairs:
                break
            tried += 1
            image = point if oracle.near is None else np.asarray(oracle.near(other, point))
            # strong convexity of the other objective between two points of its set
            end = np.asarray(solve(other)[0], dtype=np.float64)
            middle = oracle.value(other, (image + end) / 2.0)
            chord = (oracle.value(other, image) + oracle.value(other, end)) / 2.0
            gap = float(np.sum((image - end) ** 2))
            kappa = max(kappa, middle - chord + program.kappa / 8.0 * gap)
            if alpha is not None:
                alpha = max(alpha, abs(value - oracle.value(other, image)) - float(program.alpha or 0.0))
            if radius is not None:
                radius = max(radius, float(np.linalg.norm(point - image)) - float(program.radius or 0.0))
    return ProgramReport(report, kappa, alpha, radius, tolerance)
