"""Alias tables with exact integer thresholds, and the weights they are made from.

A table draws the index a with probability exactly q_a / 2^192 from one 32-bit word, and from further bits
only when the word's comparison bits agree with the threshold's. What rounding to 2^-192 loses, and what lies
beyond the table, has an entry of its own and is drawn exactly when that entry comes up.

Proof: docs/proofs/noise.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.randomness.exact import Interval, categorical_lazy, exp_bounds

WEIGHT_BITS = 256


@dataclass(frozen=True)
class Design:
    """Sizes of a construction; other values than the default starve it, to exercise rare branches in tests.

    Attributes:
        index_bits: m; tables have 2^m cells.
        compare_bits: how many bits of a word are compared before a tie is declared.
        table_bits: masses of a table are multiples of 2^-table_bits; what that loses is drawn on its own.
        tail: the Gaussian tables reach this many standard deviations.
        cover: the Laplace tables reach this many scales before their overflow entry.
        margin: least margin of the float64 comparison; 1 sends every hard case to integers.
    """

    index_bits: int = 10
    compare_bits: int = 22
    table_bits: int = 192
    tail: int = 14
    cover: int = 16
    margin: float = 0.0


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Walker's alias table: index i of 2^m cells keeps its cell if the next bits are below its threshold.

    The masses round the ideal law down; the entry `rest` has what they miss, and `draw_rest` draws from
    exactly that, so that both together have the ideal law without error.

    Attributes:
        masses: integers of sum 2^table_bits, the last one for `rest`.
        weights: the ideal weights to any number of places, see `Weights`.
        thresholds: one integer of table_bits - m bits (or 2^(table_bits - m), a full cell) per cell.
        aliases: what the rest of a cell goes to.
        packed: uint32 per cell: first comparison bits of the threshold, then the alias.
        design: its sizes.
    """

    masses: tuple[int, ...]
    weights: Weights
    thresholds: tuple[int, ...]
    aliases: tuple[int, ...]
    packed: npt.NDArray[np.uint32]
    design: Design

    @property
    def rest(self) -> int:
        """Index of the entry that stands for `draw_rest`."""
        return len(self.masses) - 1

    def draw(self, count: int, bits: RandomBits) -> npt.NDArray[np.uint32]:
        """`count` independent indices."""
        cells = 1 << self.design.index_bits
        word = bits.u32(count)
        if self.design.index_bits + self.design.compare_bits < 32:
            word = word & np.uint32((cells << self.design.compare_bits) - 1)
        entry = self.packed.take(word & np.uint32(cells - 1), mode="wrap")
        # One minimum compares and selects: the smaller comparison bits bring their own low bits along.
        index = np.minimum(word, entry)
        index &= np.uint32(cells - 1)
        entry ^= word
        tied = entry < cells
        if tied.any():
            for at in np.flatnonzero(tied):
                index[at] = self.settle(int(word[at]), bits)
        return index

    def settle(self, word: int, bits: RandomBits) -> int:
        """The index for a word whose comparison bits equal those of the threshold."""
        cell = word & ((1 << self.design.index_bits) - 1)
        further = self.design.table_bits - self.design.index_bits - self.design.compare_bits
        value = word >> self.design.index_bits << further | bits.integer(further)
        return cell if value < self.thresholds[cell] else self.aliases[cell]

    def draw_one(self, bits: RandomBits) -> int:
        """One index, by the comparison at full length."""
        cell = bits.integer(self.design.index_bits)
        value = bits.integer(self.design.table_bits - self.design.index_bits)
        return cell if value < self.thresholds[cell] else self.aliases[cell]

    def draw_rest(self, bits: RandomBits) -> int:
        """An index with probability proportional to ideal minus mass; from `rest` on it counts the entries
        that
        are too far out for the table. Needed once in 2^140 draws."""
        places = 3 * self.design.table_bits + 128
        return categorical_lazy(
            lambda digits: _missing(self, digits), bits, places=places, open_ended=self.weights.open_ended
        )

    def missing(self, places: int) -> list[Interval]:
        """Bounds on (ideal probability - mass) 2^places, entry by entry, places >= table_bits."""
        bounds = self.weights.bounds(places)
        least = sum(low for low, _ in bounds)
        most = sum(high for _, high in bounds)
        result = []
        for index, (low, high) in enumerate(bounds):
            mass = self.masses[index] << (places - self.design.table_bits) if index < self.rest else 0
            result.append(
                (max((low << places) // most - mass, 0), max(-((-high << places) // least) - mass, 0))
            )
        return result


@lru_cache(maxsize=8)
def _missing(table: AliasTable, places: int) -> list[Interval]:
    return table.missing(places)


@dataclass(frozen=True)
class Weights:
    """Ideal weights: places -> bounds on weight 2^places for every entry of a table, then for those beyond
    it.

    With `open_ended` the last interval bounds the sum of all entries that are not listed.
    """

    bounds: Callable[[int], list[Interval]]
    entries: int
    open_ended: bool


def alias_table(weights: Weights, design: Design) -> AliasTable:
    """Table for the first `weights.entries` weights (fewer than 2^m), rounded down, and its rest.

    Raises:
        ArithmeticError: the table does not reproduce its masses (cannot happen).
    """
    cells = 1 << design.index_bits
    bounds = weights.bounds(WEIGHT_BITS)
    most = sum(high for _, high in bounds)
    masses = [(low << design.table_bits) // most for low, _ in bounds[: weights.entries]]
    masses.append((1 << design.table_bits) - sum(masses))
    capacity = 1 << (design.table_bits - design.index_bits)
    thresholds = masses + [0] * (cells - len(masses))
    aliases = list(range(cells))
    small = [i for i, mass in enumerate(thresholds) if mass < capacity]
    large = [i for i, mass in enumerate(thresholds) if mass > capacity]
    while small:
        poor, rich = small.pop(), large[-1]
        aliases[poor] = rich
        thresholds[rich] -= capacity - thresholds[poor]
        if thresholds[rich] <= capacity:
            large.pop()
            if thresholds[rich] < capacity:
                small.append(rich)
    shift = design.table_bits - design.index_bits - design.compare_bits
    highest = (1 << design.compare_bits) - 1
    packed = np.array(
        [
            min(threshold >> shift, highest) << design.index_bits | alias
            for threshold, alias in zip(thresholds, aliases, strict=True)
        ],
        dtype=np.uint32,
    )
    table = AliasTable(tuple(masses), weights, tuple(thresholds), tuple(aliases), packed, design)
    if reconstructed(table) != masses:
        raise ArithmeticError("an alias table does not add up to its masses")
    return table


def reconstructed(table: AliasTable) -> list[int]:
    """The masses that the thresholds and aliases of a table stand for."""
    cells = 1 << table.design.index_bits
    capacity = 1 << (table.design.table_bits - table.design.index_bits)
    masses = [0] * cells
    for cell in range(cells):
        masses[cell] += table.thresholds[cell]
        masses[table.aliases[cell]] += capacity - table.thresholds[cell]
    return masses[: len(table.masses)] if not any(masses[len(table.masses) :]) else masses


def gaussian_bounds(entries: int, step: Fraction, places: int) -> list[Interval]:
    """Bounds on 2^places exp(-step a^2) for a = 0, 1, ..., at least `entries` of them and until nothing is
    left;
    the last interval bounds the sum of all that follow."""
    ratio = exp_bounds(step.numerator, step.denominator, places)[0]
    factor = exp_bounds(2 * step.numerator, step.denominator, places)[0]
    weight, a = 1 << places, 0
    result = []
    while a < entries or weight:
        result.append((weight, weight + 2 * a * (a + 1)))
        weight = weight * ratio >> places
        ratio = ratio * factor >> places
        a += 1
    # Ratios of successive weights fall, so the rest is below a geometric series.
    high_ratio = ratio + 4 * a + 3
    result.append((0, ((weight + 2 * a * (a + 1)) << places) // ((1 << places) - high_ratio) + 1))
    return result


def geometric_bounds(entries: int, step: Fraction, places: int) -> list[Interval]:
    """Bounds on 2^places exp(-step a) for a < entries."""
    ratio = exp_bounds(step.numerator, step.denominator, places)[0]
    weight = 1 << places
    result = []
    for a in range(entries):
        result.append((weight, weight + 4 * a))
        weight = weight * ratio >> places
    return result
