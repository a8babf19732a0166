"""The solution of a program with unknown coefficients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..algebra.polynomial import Polynomial
from ..show import html_table, rounded_safely
from .pseudoexpectation import DualData


@dataclass(frozen=True, eq=False)
class SosSolution:
    """Solution of a SosProgram.

    ``values``: the unknown coefficients by name; ``bound``: the solver's optimal value; ``certified_bound``:
    the value at ``certified_values``, coefficients for which every constraint is proven (an upper bound on a
    minimum, a lower bound on a maximum), or None; ``duals``: the multipliers of each constraint.
    ``inner_values``: coefficients well inside every constraint, where there are any; ``program``,
    ``objective``: what was solved; ``steps``: what was tried, and what each proved.
    """

    status: str
    sense: str
    bound: float
    certified_bound: float | None
    reason: str
    values: dict[str, float]
    certified_values: dict[str, float] | None
    duals: tuple[DualData, ...] = field(repr=False)
    solver: str = ""
    sizes: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    inner_values: dict[str, float] | None = field(default=None, repr=False)
    steps: tuple[Any, ...] = field(default=(), repr=False)
    program: Any = field(default=None, repr=False)
    objective: Polynomial | None = field(default=None, repr=False)

    @property
    def bound_kind(self) -> str:
        """A point that is proven feasible bounds a minimum from above and a maximum from below."""
        return "upper" if self.sense == "minimize" else "lower"

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in list(self.values.items())[:6])
        more = ", ..." if len(self.values) > 6 else ""
        proven = self.certified_bound
        shown = "" if proven is None else f", {rounded_safely(proven, self.bound_kind)} proven"
        value = f"value {self.bound:.9g}{shown}" if self.values else self.reason
        return f"SosSolution({self.status}: {value}{f'; {values}{more}' if values else ''})"

    def _repr_html_(self) -> str:
        proven = self.certified_bound
        facts = {
            "value": f"{self.bound:.9g} (the solver's)" if self.values else None,
            "proven": None if proven is None else rounded_safely(proven, self.bound_kind),
            **{name: f"{value:.9g}" for name, value in list(self.values.items())[:20]},
            "reason": self.reason or None,
            "solver": self.solver,
        }
        return html_table(f"SosSolution: {self.status}", facts)
