"""Certificates of programs over several measures: exact multipliers, one sum of squares a measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from certificates.find.program import WEIGHTS
from certificates.find.rounding import NotCertifiable
from certificates.proof import Proof
from sosdp.progress import shown


@dataclass(frozen=True, eq=False)
class MeasureCertificate:
    """A solved MeasureProgram, ready for `.exact()`.

    What is proven: numbers y, one a constraint, for which the objective less y times the constraints is a
    sum of squares on the support of every measure (for a maximum: minus that), and the value of their right
    sides. Integrated against measures that meet the constraints, this is a bound on the objective (weak
    duality); for an infeasible program the objective is 0 and the value at least 1. `certify` makes the
    certificate of a solved SosProgram.
    """

    solution: Any = field(repr=False)
    certify: Callable[[Any], Any] = field(repr=False)

    def __post_init__(self) -> None:
        solution = self.solution
        said = solution.reason or "no reason given"
        if solution.program is None or solution.status in ("unbounded", "failed"):
            raise NotCertifiable(f"there is no bound to certify (status {solution.status}): {said}")
        if solution.sense == "feasible" and solution.status != "infeasible":
            raise NotCertifiable(
                "the relaxation found moments that meet every constraint: nothing to certify"
            )

    def __repr__(self) -> str:
        return f"MeasureCertificate({self.solution.sense}, {self.solution.status})"

    @shown("exact certificate")
    def exact(self, values: Any = None, weights: tuple[float, ...] = WEIGHTS) -> Proof:
        """A proof that the checker accepts, with a value near the optimum; arguments as for
        `ProgramCertificate.exact`.

        The dual is solved once more, as a SosProgram of the degree of the solution. Raises NotCertifiable
        with the reason in words.
        """
        solution = self.solution
        degree = solution.sizes["degree"]
        if solution.status == "infeasible":
            dual, value = solution.program.dual(solution.objective * 0, "minimize", degree)
            found = dual.require(value - 1).feasible()
        else:
            dual, value = solution.program.dual(solution.objective, solution.sense, degree)
            found = dual.minimize(value) if solution.sense == "maximize" else dual.maximize(value)
        proof: Proof = self.certify(found).exact(values, weights)
        return proof
