"""Small data sets on which a family's value moves far: exact, by listing all 0/1 points.

What is found refutes a claim for every n; where nothing is found nothing is proven.
Proof: docs/proofs/witness_transfer.md, section "Counterexamples"
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.domain import Record, shaped
from sosdp.laboratory.tracing import evaluate, same

MOST = 4
"""Records of the largest data sets."""

CANDIDATES = 6
"""Values of the parameters that are tried."""

Value = Fraction | float
"""An exact number, or infinity where no point is feasible."""


def far_neighbours(family: Any) -> tuple[Value, tuple[Any, Any] | None]:
    """The largest change of a `Family`'s least value that some small neighbours make, and these neighbours.

    Infinite where one of them is infeasible; 0 and None where own variables are not all 0 or 1, variables are
    shared, or pairs are not symmetric.
    """
    own = family.written
    if own.s or not all(any(same(h, v * v - v) or same(h, v - v * v) for h in own.equal) for v in own.z):
        return Fraction(0), None
    if not all(p is None or same(p, own.at(p, own.u, own.y, own.z, own.x)) for p in own.pairs):
        return Fraction(0), None  # then the order of the records matters
    worst: Value = Fraction(0)
    where: tuple[Any, Any] | None = None
    generator = random.Random(0)
    ends = [p for m in family.record.marks() if (p := (m,) * family.record.dimension) in family.record]
    marks = list(dict.fromkeys([*ends, *(family.record.draw(generator) for _ in range(3))]))[:5]
    for parameters in _parameters(family, generator):
        small = Small(family, marks, parameters)
        for n in range(2, MOST + 1):
            values = {data: small.value(data) for data in combinations_with_replacement(range(len(marks)), n)}
            for data, value in values.items():
                for i, new in product(range(n), range(len(marks))):
                    other = values[tuple(sorted((*data[:i], new, *data[i + 1 :])))]
                    if value == other:
                        continue  # infinite ones, too
                    moved = math.inf if math.inf in (value, other) else abs(Fraction(value) - Fraction(other))
                    if moved > worst:
                        before = [marks[k] for k in data]
                        after = [*before[:i], marks[new], *before[i + 1 :]]
                        size = family.record.dimension
                        worst, where = moved, (tuple(shaped(before, size)), tuple(shaped(after, size)))
    return worst, where


def _parameters(family: Any, generator: random.Random) -> Iterator[dict[str, Fraction]]:
    """Values of the parameters at which the conditions on them hold."""
    marks = [*family.record.marks(), Fraction(1), Fraction(1, 2), Fraction(-1)]
    tried = 0
    for _ in range(20 * CANDIDATES):
        point = {v.name: generator.choice(marks) for v in family.parameters}
        if tried < CANDIDATES and all(evaluate(p, point) >= 0 for p in family.written.about):
            tried += 1
            yield point
        if not family.parameters:
            return


class Small:
    """The summands of a family at marks, at one value of the parameters."""

    def __init__(self, family: Any, marks: Sequence[Record], parameters: dict[str, Fraction]) -> None:
        own = family.written
        self.family, self.parameters = family, parameters
        self.bits = list(product((Fraction(0), Fraction(1)), repeat=family.own))
        names = [v.name for v in (*own.z, *own.x, *own.u, *own.y)]

        def at(p: Polynomial, *states: tuple[int, int]) -> Fraction:
            values = [value for b, k in states for value in (*self.bits[b], *marks[k])]
            return evaluate(p, parameters | dict(zip(names, values, strict=False)))

        every = list(product(range(len(self.bits)), range(len(marks))))
        self.allowed = {
            s: all(at(h, s) == 0 for h in own.equal) and all(at(g, s) >= 0 for g in own.above) for s in every
        }
        self.cost = {s: at(own.objective, s) for s in every}
        self.singles = [None if p is None else {s: at(p, s) for s in every} for p in own.singles]
        couples = list(product(every, every)) if any(own.pairs) or own.products else []
        self.pairs = [None if p is None else {(s, t): at(p, s, t) for s, t in couples} for p in own.pairs]
        self.together = {(s, t): all(at(p, s, t) >= 0 for p in own.products) for s, t in couples}

    def value(self, data: Sequence[int]) -> Value:
        """The least objective over all 0/1 points; infinite where none is feasible."""
        constants = [Fraction(c.constant) for c in self.family.constants(len(data))]
        least: Value = math.inf
        for chosen in product(range(len(self.bits)), repeat=len(data)):
            states = list(zip(chosen, data, strict=True))
            cost = sum((self.cost[s] for s in states), Fraction(0))
            if cost < least and self._feasible(states, constants):
                least = cost
        return least

    def _feasible(self, states: list[tuple[int, int]], constants: list[Fraction]) -> bool:
        couples = list(combinations(states, 2))
        if not all(self.allowed[s] for s in states) or not all(self.together.get(c, True) for c in couples):
            return False
        for part, total, single, pair in zip(
            self.family.parts, constants, self.singles, self.pairs, strict=True
        ):
            total += sum((single[s] for s in states), Fraction(0)) if single else 0
            total += sum((pair[c] for c in couples), Fraction(0)) if pair else 0
            if total < 0 or (part.equality and total != 0):
                return False
        return True
