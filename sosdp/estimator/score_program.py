"""The value of a relaxation as a private score: from polynomial programs to the exponential mechanism.

`ScoreProgram` says, for public sizes, how data and a candidate become a system and an objective; its bracket
is [certified dual bound, value of a feasible point checked in exact rationals].

Proof: docs/proofs/bracket_scores.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_id, variable_name
from ..model.options import read_options
from ..model.system import System
from ..privacy.arguments import finite, integer, settle
from ..privacy.guarantee.condition import held_for
from ..privacy.guarantee.rounding import float_up
from ..privacy.inputs import floats
from ..privacy.scores.lifted import BracketScore
from ..privacy.scores.score import Box, Lattice
from ..relaxation.attained import at
from ..relaxation.pseudoexpectation import PseudoExpectation
from ..relaxation.relaxation import Relaxation

Point = Mapping[Polynomial, Any]
Build = Callable[[np.ndarray, np.ndarray], tuple[System, Polynomial]]
Witness = Callable[[np.ndarray, np.ndarray, PseudoExpectation], Iterable[Point]]


@dataclass(frozen=True)
class ScoreProgram:
    """min objective subject to a system, both built from the records and a candidate: a score in [0,
    largest].

    Attributes:
        build: (records (n, ...), candidate (d,)) -> (system, objective polynomial). The score is the least
            value of the objective on the system. For 0/1 or +-1 variables the same bracket holds for the
            value of the relaxation, so `proof` may be about either.
        records, shape: public number of records, and shape of one.
        lattice: of candidates, bounded.
        largest: the score is at most this for all data.
        proof: why replacing one record moves the score by at most `sensitivity`. Required. A `Fact` is what
            the library has proven, a `Proof` of this very program; with any other sentence
            the release is heuristic (`falsify_program` tries to refute it).
        width: promised length of brackets.
        witness: (records, candidate, solution) -> candidate feasible points {variable: number}; each is
            checked exactly, the best feasible one gives the upper end, and none gives `largest`.
        low, high: records are clipped to [low, high], NaN read as low: public bounds.
        degree, solver_options: of the relaxation.
        sensitivity, integral, width_proof, enclosure: see `BracketScore`.
    """

    build: Build
    records: int
    lattice: Lattice
    largest: float
    low: float
    high: float
    shape: tuple[int, ...] = ()
    proof: str = ""
    width: float = 0.5
    witness: Witness | None = None
    degree: int = 2
    sensitivity: float = 1
    integral: bool = False
    width_proof: str = ""
    enclosure: Callable[[Any, int], Box] | None = None
    solver_options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle(
            self,
            records=integer(self.records, "records"),
            largest=finite(self.largest, "largest", "> 0"),
            width=finite(self.width, "width", ">= 0"),
            sensitivity=finite(self.sensitivity, "sensitivity", "> 0"),
            low=finite(self.low, "low"),
            high=finite(self.high, "high"),
        )
        settle(self, proof=held_for(self.proof, self))
        # here, not in the first solve: what goes wrong there is contained, since it might depend on the data
        read_options(
            "ScoreProgram: Relaxation.minimize", self.solver_options, ["solve"], more=("subject_to",)
        )

    def quantise(self, data: Any) -> np.ndarray:
        """Clipped records; ValueError if the shape is not the public one."""
        table = floats(data, self.shape)
        if table.shape != (self.records, *self.shape):
            raise ValueError(
                f"data must have the public shape {(self.records, *self.shape)}, got {table.shape}"
            )
        return np.clip(np.nan_to_num(table, nan=self.low), self.low, self.high)

    def placeholder(self) -> Relaxation:
        """The relaxation of public made-up data: all records at `low`, candidate at the lattice's centre."""
        assert self.lattice.box is not None
        centre = self.lattice.value(tuple((low + high) // 2 for low, high in self.lattice.box))
        system, _ = self.build(np.full((self.records, *self.shape), self.low), centre)
        return Relaxation(system, self.degree)

    def unbounded_variables(self) -> list[str]:
        """Variables without an a-priori bound, which no dual bound could be rigorous without; on made-up
        data."""
        relaxation = self.placeholder()
        bounds = relaxation.bounds
        return [
            variable_name(int(v))
            for v in relaxation.system.variable_ids
            if not math.isfinite(bounds.largest.get(int(v), math.inf))
        ]

    def bracket(self, data: np.ndarray, candidate: np.ndarray) -> tuple[float, float]:
        """Certified (lo, hi) of one candidate: one solve of the relaxation, and the witness points."""
        system, objective = self.build(data, candidate)
        solution = Relaxation(system, self.degree).minimize(objective, **self.solver_options)
        low = solution.certified_bound
        high = float_up(Fraction(self.largest))
        for point in [] if self.witness is None else self.witness(data, candidate, solution):
            if low is not None and high - low <= self.width:
                break  # as narrow as promised
            value = value_if_feasible(system, objective, point)
            if value is not None and value < Fraction(high):
                high = math.nextafter(float(value), math.inf)
                high = float(value) if Fraction(float(value)) >= value else high
        return (0.0 if low is None else float(low)), high

    def scores(self, data: Any) -> tuple[np.ndarray, float]:
        """Middles of the brackets of all candidates of the lattice, and half the width of the widest.

        For `falsify_program`, on made-up records of the public shape.
        """
        records = self.quantise(data)
        result = [self.bracket(records, self.lattice.value(point)) for point in self.lattice.points()]
        ends = np.array(result, dtype=np.float64)
        return ends.mean(axis=1), float(np.max(ends[:, 1] - ends[:, 0])) / 2.0

    def score_function(self) -> BracketScore:
        """The score function for the exponential mechanism."""
        return BracketScore(
            lambda data, candidate: self.bracket(self.quantise(data), candidate),
            self.lattice,
            self.records,
            largest=self.largest,
            proof=self.proof,
            sensitivity=self.sensitivity,
            width=self.width,
            integral=self.integral,
            width_proof=self.width_proof,
            enclosure=self.enclosure,
        )


def value_if_feasible(system: System, objective: Polynomial, point: Point) -> Fraction | None:
    """The objective at a point, in exact rationals, if the point satisfies the system exactly; else None.

    Raises:
        ValueError: a system with matrix or for-all constraints.
    """
    if system.matrices or system.foralls:
        raise ValueError("points are checked against scalar equalities and inequalities only")
    values = {variable_id(str(v)): Fraction(number) for v, number in point.items()}
    if any(at(h, values) != 0 for h in system.equalities) or any(
        at(g, values) < 0 for g in system.inequalities
    ):
        return None
    return at(objective, values)
