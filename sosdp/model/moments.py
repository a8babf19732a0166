"""A generalised moment problem as a problem file states it: measures and linear constraints on integrals."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ..algebra.polynomial import Polynomial
from .system import System

Parts = tuple[tuple[str, Polynomial], ...]  # what is integrated against each measure, by name


@dataclass(frozen=True)
class MeasureSpec:
    """An unknown measure on the points of a system, of a mass that is given or free (None)."""

    name: str
    variables: tuple[str, ...]
    system: System = field(default_factory=System)
    mass: int | Fraction | None = None


@dataclass(frozen=True)
class MomentConstraint:
    """A sum of integrals, a relation (``<=``, ``>=`` or ``==``) and a number."""

    parts: Parts
    relation: str
    right: int | Fraction

    def __str__(self) -> str:
        return f"{_text(self.parts)} {self.relation} {self.right}"


@dataclass(frozen=True)
class MomentProblem:
    """The measures, the objective (nothing where moments are only to exist), and the constraints."""

    measures: tuple[MeasureSpec, ...]
    objective: Parts
    constraints: tuple[MomentConstraint, ...]

    def polynomials(self) -> list[Polynomial]:
        """Everything that is integrated."""
        return [p for parts in (self.objective, *(c.parts for c in self.constraints)) for _, p in parts]

    def variable_ids(self) -> set[int]:
        """The variables that occur."""
        used = [p.variable_ids for p in self.polynomials()] + [m.system.variable_ids for m in self.measures]
        return {int(v) for ids in used for v in ids}

    def __str__(self) -> str:
        return f"{_text(self.objective)} over {', '.join(m.name for m in self.measures)}"


def _text(parts: Parts) -> str:
    return " + ".join(f"{name}({p})" for name, p in parts) or "0"
