"""The minimiser of a strongly convex polynomial loss with a proven distance to it, from records of any kind.

Proof: docs/proofs/strongly_convex.md, section "The minimiser"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.laboratory.domain import Domain, Record
from sosdp.laboratory.release import placed
from sosdp.laboratory.tracing import evaluate, term
from sosdp.privacy.calibrate import root_up
from sosdp.privacy.guarantee.rounding import float_down, float_up
from sosdp.privacy.inputs import floats

STEPS = 3000
"""Projected gradient steps, public."""

END = Fraction(1, 10**12)
"""A coordinate so near to an end of its interval, of whose length this is a part, is taken to be there."""

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Minimiser:
    """data -> (point, proven distance to the minimiser of regulariser + mean of the losses).

    Attributes
    ----------
    loss, regulariser
        Exact polynomials in x_k and in the coordinates d_k of a record.
    inside
        Public set of the parameters.
    parts
        Public sets of the parts of a record.
    records
        n, public.
    kappa
        Certified modulus of strong convexity.
    """

    loss: Polynomial
    regulariser: Polynomial
    inside: Domain
    parts: tuple[Domain, ...]
    records: int
    kappa: Fraction

    def check(self, data: Any) -> list[Record]:
        """The records as exact points of their public set, each by itself.

        Raises
        ------
        ValueError
            The shape is not the public one.
        """
        width = sum(part.dimension for part in self.parts)
        table = floats(data, (width,))
        if table.shape != (self.records, width):
            raise ValueError(f"data must have the public shape {(self.records, width)}, got {table.shape}")
        columns, first = [], 0
        for part in self.parts:
            columns.append(placed(part, table[:, first : first + part.dimension].tolist()))
            first += part.dimension
        return [tuple(v for part in record for v in part) for record in zip(*columns, strict=True)]

    def __call__(self, data: Any) -> tuple[Vector, float]:
        """The point and its distance, rounded up."""
        objective = self.objective(self.check(data))
        point = self._descended(objective)
        return point, self.distance(objective, point)

    def objective(self, records: Sequence[Record]) -> Polynomial:
        """The exact objective of these records, a polynomial in the parameters."""
        terms: dict[tuple[tuple[str, int], ...], list[tuple[Any, dict[str, int]]]] = {}
        for c, powers in self.loss.terms():
            own = tuple(sorted((v, k) for v, k in powers.items() if v.startswith("x_")))
            terms.setdefault(own, []).append((c, {v: k for v, k in powers.items() if not v.startswith("x_")}))
        sums = dict.fromkeys(terms, Fraction(0))
        for record in records:
            seen = {f"d_{k}": v for k, v in enumerate(record)}
            for own, parts in terms.items():
                sums[own] += sum((term(c, powers, seen) for c, powers in parts), Fraction(0))
        known = {v.name: v for v in [*self.loss.variables, *self.regulariser.variables]}
        result = coerce(0)
        for own, total in sums.items():
            product = coerce(total / self.records)
            for v, k in own:
                product = product * known[v] ** k
            result = result + product
        return (self.regulariser + result).as_exact()

    def gradient(self, objective: Polynomial, point: Sequence[Fraction]) -> list[Fraction]:
        """The exact gradient at an exact point."""
        at = {f"x_{k}": v for k, v in enumerate(point)}
        known = {v.name: v for v in objective.variables}
        return [evaluate(objective.diff(known[x]), at) if x in known else Fraction(0) for x in at]

    def distance(self, objective: Polynomial, point: Vector) -> float:
        """A proven bound on the distance of a point of the set to the minimiser."""
        x = [Fraction(v) for v in point.tolist()]
        g = self.gradient(objective, x)
        pulls, gap = self._outward(x, g)
        left = sum(((d + v) ** 2 for d, v in zip(g, pulls, strict=True)), Fraction(0))
        outer = Fraction(root_up(left / self.kappa**2)) + Fraction(root_up(gap / self.kappa))
        inner = root_up(sum((d * d for d in g), Fraction(0)) / self.kappa**2)
        return min(float_up(outer), inner)

    def _outward(self, x: list[Fraction], g: list[Fraction]) -> tuple[list[Fraction], Fraction]:
        """A vector v that points out of the set, and b with <v, x - y> >= -b for every y of the set."""
        zero = Fraction(0)
        if self.inside.radius is not None:
            squared, along = (
                sum((v * v for v in x), zero),
                sum((a * b for a, b in zip(g, x, strict=True)), zero),
            )
            pull = max(zero, -along / squared) if squared else zero
            return [pull * v for v in x], pull * (self.inside.radius**2 - squared) / 2
        low, high = self.inside.low, self.inside.high
        near = (high - low) * END
        pulls = [-d if (high - v if d < 0 else v - low) <= near else zero for v, d in zip(x, g, strict=True)]
        rooms = [high - v if p > 0 else v - low for v, p in zip(x, pulls, strict=True)]
        return pulls, sum((abs(p) * room for p, room in zip(pulls, rooms, strict=True)), zero)

    def _descended(self, objective: Polynomial) -> Vector:
        """A point of the set near the minimiser, by projected gradient steps; in floats."""
        size = self.inside.dimension
        slopes = [objective.diff(v) for v in objective.variables if v.name.startswith("x_")]
        places = [int(v.name[2:]) for v in objective.variables if v.name.startswith("x_")]
        tables = [
            [(float(c), [(int(v[2:]), k) for v, k in powers.items()]) for c, powers in p.terms()]
            for p in slopes
        ]

        def slope(x: Vector) -> Vector:
            result = np.zeros(size)
            for place, table in zip(places, tables, strict=True):
                for c, powers in table:
                    for k, power in powers:
                        c *= x[k] ** power
                    result[place] += c
            return result

        x, step = self._projected(np.zeros(size)), 1.0
        g = slope(x)
        for _ in range(STEPS):
            moved = self._projected(x - step * g)
            change, bent = moved - x, slope(moved)
            length = float(change @ change)
            if length == 0.0:
                break
            curved = float(change @ (bent - g)) / length
            if step * curved > 1.0:  # too long: the curvature along the step says how much
                step = 0.9 / curved
                continue
            x, g, step = moved, bent, min(1.5 * step, 0.95 / max(curved, 1e-12))
        return x

    def _projected(self, x: Vector) -> Vector:
        """The nearest point of the set, up to rounding, and in it exactly."""
        if self.inside.radius is None:
            low, high = float_up(self.inside.low), float_down(self.inside.high)
            return np.clip(x, low, high)
        length = float(np.linalg.norm(x))
        if length > float(self.inside.radius):
            x = x * (float(self.inside.radius) / length)
        while sum((Fraction(v) ** 2 for v in x.tolist()), Fraction(0)) > self.inside.radius**2:
            x = x * (1 - 1e-15)
        return x
