"""Consensus scores: how many records fail a program at a candidate, in exact integers, bounded over cells.

level(t) = max(0, need - #{i : record i passes at t}): one record is one summand in {0, 1}, so the
sensitivity is 1 whatever the tests are. Records and lattice points are integers of publicly bounded size.

Proof: docs/proofs/consensus.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import integer
from sosdp.privacy.scores.score import Box, Lattice, Levels, Point, ScoreFunction, whole_records

Integers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Exponents = tuple[int, ...]
LARGEST = 1 << 62
"""Every number that is computed is proven to stay below this in size, so that 64 bits hold it."""


@dataclass(frozen=True)
class Test:
    """One inequality q(t, k) >= 0 with integer coefficients, in a lattice point t and a record k of integers.

    Attributes:
        terms: exponents of t -> ((coefficient, exponents of k), ...).
    """

    terms: tuple[tuple[Exponents, tuple[tuple[int, Exponents], ...]], ...]

    @property
    def degree(self) -> int:
        """In t."""
        return max((sum(alpha) for alpha, _ in self.terms), default=0)

    def largest(self, box: Box, reach: Sequence[int]) -> int:
        """A bound on every number in an evaluation over cells of `box`, for records |k_j| <= reach_j."""
        total = 0
        for alpha, parts in self.terms:
            size = 1 << self.degree
            for power, (low, high) in zip(alpha, box, strict=True):
                size *= (2 * max(abs(low), abs(high)) + 1) ** power
            for coefficient, beta in parts:
                term = abs(coefficient) * size
                for power, most in zip(beta, reach, strict=True):
                    term *= max(1, most) ** power
                total += term
        return total

    def on(self, records: Integers) -> dict[Exponents, Integers]:
        """Coefficients of the powers of 2t, one a record, times 2^degree: functions of each record."""
        result = {}
        for alpha, parts in self.terms:
            value = np.zeros(len(records), dtype=np.int64)
            for coefficient, beta in parts:
                term = np.full(len(records), coefficient << (self.degree - sum(alpha)), dtype=np.int64)
                for j, power in enumerate(beta):
                    for _ in range(power):
                        term = term * records[:, j]
                value += term
            result[alpha] = value
        return result


Alternatives = tuple[tuple[Test, ...], ...]
"""A record passes if all tests of some alternative hold."""


class ConsensusScore(ScoreFunction):
    """level(t) = max(0, need - number of records that pass at t); sensitivity 1 by counting.

    Args:
        lattice: bounded.
        records: n, public.
        need: m <= n. If every record's set has a point that passes, the level is the least number of records
            to replace so that m pass.
        alternatives: the tests, in integers.
        units: records are rounded to multiples of these, one a coordinate.
        ends: and clipped to these integers (low, high), one pair a coordinate; NaN is read as low.

    Raises:
        ValueError: an unbounded lattice, numbers out of range, or integers that could leave 62 bits.
    """

    def __init__(
        self,
        lattice: Lattice,
        records: int,
        *,
        need: int,
        alternatives: Alternatives,
        units: Sequence[float],
        ends: Sequence[tuple[int, int]],
    ) -> None:
        records, need = integer(records, "records"), integer(need, "need")
        if lattice.box is None or not 1 <= need <= records:
            raise ValueError(
                "a consensus score needs a bounded lattice, records >= 1 and 1 <= need <= records, got "
                f"{records} records and need {need}"
            )
        reach = [max(abs(low), abs(high)) for low, high in ends]
        largest = max(
            (test.largest(lattice.box, reach) for tests in alternatives for test in tests), default=0
        )
        if largest >= LARGEST:
            raise ValueError(
                f"integers of {largest.bit_length()} bits could occur, 62 are exact: take a coarser unit of "
                "the records or spacing of the lattice, or coefficients that are short fractions"
            )
        super().__init__(lattice=lattice, records=records, max_level=need, cells=True)
        vars(self).update(need=need, alternatives=alternatives, units=tuple(units), ends=tuple(ends))

    need: int
    alternatives: Alternatives
    units: tuple[float, ...]
    ends: tuple[tuple[int, int], ...]

    def on(self, data: Any) -> ConsensusLevels:
        """Rounds and clips each record by itself; ValueError if the shape is not the public one."""
        lows = [low for low, _ in self.ends]
        return ConsensusLevels(self, whole_records(data, self.records, self.units, self.ends, lows))


class ConsensusLevels(Levels):
    """Levels of one data set, at points and bounded over cells: private."""

    def __init__(self, score: ConsensusScore, records: Integers) -> None:
        self.score = score
        self.tests = [[(test, test.on(records)) for test in tests] for tests in score.alternatives]
        self.everyone = np.arange(len(records), dtype=np.int32)

    def level(self, point: Point) -> int:
        """The level of one point."""
        return int(self.listed(tuple((t, t) for t in point), 0, self.everyone)[0])

    def listed(self, cell: Box, sure: int, rows: Rows) -> Integers:
        """Levels of all points of a cell, last coordinate fastest.

        `sure` records pass everywhere in it, of the others these rows may pass and no other does anywhere.
        """
        sides = [2 * np.arange(low, high + 1, dtype=np.int64) for low, high in cell]
        points = [axis.ravel() for axis in np.meshgrid(*sides, indexing="ij")]
        passed = np.zeros((len(points[0]), len(rows)), dtype=bool)
        for tests in self.tests:
            every = np.ones(passed.shape, dtype=bool)
            for _, coefficients in tests:
                value = np.zeros(passed.shape, dtype=np.int64)
                for alpha, coefficient in coefficients.items():
                    value += np.multiply.outer(_power(points, alpha), coefficient[rows])
                every &= value >= 0
            passed |= every
        return np.maximum(0, self.score.need - sure - np.count_nonzero(passed, axis=1))

    def decide(self, cell: Box, rows: Rows) -> tuple[int, Rows]:
        """How many of these records pass everywhere in the cell, and which pass somewhere but not so."""
        possible = np.zeros(len(rows), dtype=bool)
        sure = np.zeros(len(rows), dtype=bool)
        for tests in self.tests:
            some = np.ones(len(rows), dtype=bool)
            every = np.ones(len(rows), dtype=bool)
            for _, coefficients in tests:
                low, high = _range(coefficients, cell, rows)
                some &= high >= 0
                every &= low >= 0
            possible |= some
            sure |= every
        return int(np.count_nonzero(sure)), rows[possible & ~sure]


def _power(points: Sequence[Integers], alpha: Exponents) -> Integers:
    """The monomial at every point."""
    result = np.ones(len(points[0]), dtype=np.int64)
    for values, power in zip(points, alpha, strict=True):
        for _ in range(power):
            result = result * values
    return result


def _range(coefficients: dict[Exponents, Integers], cell: Box, rows: Rows) -> tuple[Integers, Integers]:
    """Integers below and above the test's values on the cell: its Taylor expansion at the cell's centre.

    In s = 2t the centre is low + high and the half width high - low, both integers.
    """
    centre, half = [low + high for low, high in cell], [high - low for low, high in cell]
    low = np.zeros(len(rows), dtype=np.int64)
    high = np.zeros(len(rows), dtype=np.int64)
    taken = {alpha: value[rows] for alpha, value in coefficients.items()}
    for beta in sorted({below for alpha in taken for below in _below(alpha)}):
        weight = math.prod(h**b for h, b in zip(half, beta, strict=True))
        if not weight:
            continue
        value = np.zeros(len(rows), dtype=np.int64)
        for alpha, coefficient in taken.items():
            if factor := _binomial(alpha, beta, centre):
                value += coefficient * factor
        if not any(beta):
            low += value
            high += value
        elif all(b % 2 == 0 for b in beta):  # an even power lies in [0, weight]
            low += np.minimum(value, 0) * weight
            high += np.maximum(value, 0) * weight
        else:
            size = np.abs(value) * weight
            low -= size
            high += size
    return low, high


def _below(alpha: Exponents) -> Iterator[Exponents]:
    return (tuple(int(b) for b in beta) for beta in np.ndindex(*[power + 1 for power in alpha]))


def _binomial(alpha: Exponents, beta: Exponents, centre: Sequence[int]) -> int:
    """The coefficient of u^beta in (centre + u)^alpha."""
    result = 1
    for a, b, c in zip(alpha, beta, centre, strict=True):
        if b > a:
            return 0
        result *= math.comb(a, b) * c ** (a - b)
    return result
