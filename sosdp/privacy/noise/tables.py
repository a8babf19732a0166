"""Alias tables with exact integer thresholds, and the weights they are made from.

A table draws the index a with probability exactly q_a / 2^192 from one 32-bit word, and from further bits
only when the word's comparison bits agree with the threshold's.

Proof: docs/proofs/noise.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sosdp.privacy.exact import exp_bounds
from sosdp.privacy.words import Words

TABLE_BITS = 192
WEIGHT_BITS = 256


@dataclass(frozen=True)
class Design:
    """Sizes of a construction; other values than the default starve it, to exercise rare branches in tests.

    Attributes:
        index_bits: m; tables have 2^m cells.
        compare_bits: how many bits of a word are compared before a tie is declared.
        tail: the Gaussian laws are cut at this many standard deviations.
        cover: the Laplace tables reach this many scales before their overflow entry.
        margin: least margin of the float64 comparison; 1 sends every hard case to integers.
    """

    index_bits: int = 10
    compare_bits: int = 22
    tail: int = 14
    cover: int = 16
    margin: float = 0.0


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Walker's alias table: index i of 2^m cells keeps its cell if the next bits are below its threshold.

    Attributes:
        masses: q_a, integers of sum 2^192; the law is exactly q_a / 2^192.
        thresholds: one integer of 192 - m bits (or 2^(192-m), a full cell) per cell.
        aliases: what the rest of a cell goes to.
        packed: uint32 per cell: first comparison bits of the threshold, then the alias.
        index_bits, compare_bits: as in `Design`.
    """

    masses: tuple[int, ...]
    thresholds: tuple[int, ...]
    aliases: tuple[int, ...]
    packed: npt.NDArray[np.uint32]
    index_bits: int
    compare_bits: int

    def draw(self, count: int, words: Words) -> npt.NDArray[np.uint32]:
        """`count` independent indices."""
        cells = 1 << self.index_bits
        word = words.u32(count)
        if self.index_bits + self.compare_bits < 32:
            word = word & np.uint32((cells << self.compare_bits) - 1)
        entry = self.packed.take(word & np.uint32(cells - 1), mode="wrap")
        # One minimum compares and selects: the smaller comparison bits bring their own low bits along.
        index = np.minimum(word, entry)
        index &= np.uint32(cells - 1)
        entry ^= word
        tied = entry < cells
        if tied.any():
            for at in np.flatnonzero(tied):
                index[at] = self.settle(int(word[at]), words)
        return index

    def settle(self, word: int, words: Words) -> int:
        """The index for a word whose comparison bits equal those of the threshold."""
        cell = word & ((1 << self.index_bits) - 1)
        further = TABLE_BITS - self.index_bits - self.compare_bits
        value = word >> self.index_bits << further | words.bits(further)
        return cell if value < self.thresholds[cell] else self.aliases[cell]

    def draw_one(self, words: Words) -> int:
        """One index, by the comparison at full length."""
        cell = words.bits(self.index_bits)
        value = words.bits(TABLE_BITS - self.index_bits)
        return cell if value < self.thresholds[cell] else self.aliases[cell]


def alias_table(weights: list[int], design: Design) -> AliasTable:
    """Table for integer weights (at most 2^m of them), rounded to 192 bits: the rest goes to the largest.

    Raises:
        ArithmeticError: the table does not reproduce its masses (cannot happen).
    """
    cells = 1 << design.index_bits
    total = sum(weights)
    masses = [(weight << TABLE_BITS) // total for weight in weights]
    masses[weights.index(max(weights))] += (1 << TABLE_BITS) - sum(masses)
    capacity = 1 << (TABLE_BITS - design.index_bits)
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
    shift = TABLE_BITS - design.index_bits - design.compare_bits
    highest = (1 << design.compare_bits) - 1
    packed = np.array(
        [
            min(threshold >> shift, highest) << design.index_bits | alias
            for threshold, alias in zip(thresholds, aliases, strict=True)
        ],
        dtype=np.uint32,
    )
    table = AliasTable(
        tuple(masses), tuple(thresholds), tuple(aliases), packed, design.index_bits, design.compare_bits
    )
    if reconstructed(table) != masses:
        raise ArithmeticError("an alias table does not add up to its masses")
    return table


def reconstructed(table: AliasTable) -> list[int]:
    """The masses that the thresholds and aliases of a table stand for."""
    cells = 1 << table.index_bits
    capacity = 1 << (TABLE_BITS - table.index_bits)
    masses = [0] * cells
    for cell in range(cells):
        masses[cell] += table.thresholds[cell]
        masses[table.aliases[cell]] += capacity - table.thresholds[cell]
    return masses[: len(table.masses)] if not any(masses[len(table.masses) :]) else masses


def gaussian_weights(count: int, step: Fraction) -> list[int]:
    """2^256 exp(-step a^2) for a < count, each too small by at most 2 a (a + 1)."""
    ratio = exp_bounds(step.numerator, step.denominator, WEIGHT_BITS)[0]
    factor = exp_bounds(2 * step.numerator, step.denominator, WEIGHT_BITS)[0]
    weights = [1 << WEIGHT_BITS]
    for _ in range(count - 1):
        weights.append(weights[-1] * ratio >> WEIGHT_BITS)
        ratio = ratio * factor >> WEIGHT_BITS
    return weights


def geometric_weights(count: int, step: Fraction) -> list[int]:
    """2^256 exp(-step a) for a < count, each too small by at most 4 a."""
    ratio = exp_bounds(step.numerator, step.denominator, WEIGHT_BITS)[0]
    weights = [1 << WEIGHT_BITS]
    for _ in range(count - 1):
        weights.append(weights[-1] * ratio >> WEIGHT_BITS)
    return weights
