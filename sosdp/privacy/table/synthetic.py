"""Synthetic tables: a tree of columns is chosen privately, its pairs are counted with noise, rows drawn.

The route of McKenna, Miklau and Sheldon 2021 (MST), for one replaced record. Every column is a finite one:
categories, or bins of numbers and dates between public edges, and entries that cannot be read.

Proof: docs/proofs/synthetic_tables.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.calibrate import root_up
from sosdp.privacy.files import ROWS
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import root_down
from sosdp.privacy.inputs import choose
from sosdp.privacy.mechanisms.basic.histogram import as_shares
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.schema import Column, Schema
from sosdp.privacy.table.plan import TENTH, Plan
from sosdp.privacy.table.question import histogram
from sosdp.privacy.table.records import Chunk
from sosdp.privacy.table.statistics import MISSING, Histogram, column_of
from sosdp.privacy.terms import Terms, on_terms

Codes = npt.NDArray[np.int64]
BINS = 16
MOVED = Fraction(root_up(Fraction(2)))
"""l2 sensitivity of the counts of a column, or of a pair: a replaced record leaves a cell and enters one."""
SCORE = 2
"""How far the score of a pair moves: a sum of |count - public guess|, of whose counts two move by 1."""


def binned(schema: Schema, name: str, bins: int) -> Histogram:
    """A column with its public codes: categories, whole numbers where they are few, or `bins` equal bins."""
    return histogram(schema, name, None if schema.column(name).values else bins)


def encoded(chunks: Iterable[Chunk], columns: Sequence[Histogram]) -> Codes:
    """(n, d) codes, each a function of one entry; `width` for an entry that cannot be read."""
    named = [(one, one.column.name) for one in columns if one.column is not None]
    parts = [np.column_stack([one.code(chunk.numbers[name]) for one, name in named]) for chunk in chunks]
    whole = np.concatenate([np.zeros((0, len(columns)), dtype=np.int64), *parts])
    return np.where(whole == MISSING, [one.width for one in columns], whole)


@dataclass(frozen=True, eq=False)
class Tree:
    """A released field: `single[j]` noisy counts of a column; `pairs` (parent, child, noisy table), of which
    every parent comes before its children."""

    single: list[npt.NDArray[np.float64]]
    pairs: list[tuple[int, int, npt.NDArray[np.float64]]]

    def sample(self, count: int, bits: RandomBits) -> Codes:
        """(count, d) codes drawn from the field (post-processing); the first column is the root.

        Every row has the law of the field; together they are as close to its shares as rounding allows.
        """
        shares = [as_shares(counts) for counts in self.single]
        drawn = np.zeros((count, len(shares)), dtype=np.int64)
        drawn[:, 0] = _places(np.broadcast_to(shares[0], (count, len(shares[0]))), _spread(drawn[:, 0], bits))
        for parent, child, table in self.pairs:
            rows = np.array([as_shares(row) if row.max() > 0 else shares[child] for row in table])
            drawn[:, child] = _places(rows[drawn[:, parent]], _spread(drawn[:, parent], bits))
        return drawn


@on_terms("private synthetic table", needs="", takes="epsilon delta rho", adjacency=ONE_RECORD_REPLACED)
def release_tree(terms: Terms, codes: Codes, sizes: Sequence[int]) -> Release:
    """The field of a table of codes; a third of the zCDP each for columns, choice of the tree, and pairs.

    Parameters
    ----------
    terms
        Epsilon and delta, or rho.
    codes
        (n, d) integers, n public.
    sizes
        How many codes each column has, public.
    """
    rho, bits, d = Fraction(terms.concentrated) / 3, terms.bits(), len(sizes)
    links, noise = max(1, d - 1), _variances(terms, d)
    single = [_noisy(codes[:, j], size, noise[0], bits) for j, size in enumerate(sizes)]
    shares = [as_shares(counts) for counts in single]
    rate = root_down(8 * rho / links) / (2 * SCORE)
    pairs: list[tuple[int, int, npt.NDArray[np.float64]]] = []
    joined, left = [0], list(range(1, d))
    scores = {(i, j): _score(codes, i, j, shares) for j in range(d) for i in range(j)}
    while left:
        open_ = [(parent, child) for parent in joined for child in left]
        parent, child = open_[choose([-scores[min(pair), max(pair)] for pair in open_], rate, bits)]
        cells = codes[:, parent] * sizes[child] + codes[:, child]
        counts = _noisy(cells, sizes[parent] * sizes[child], noise[1], bits)
        pairs.append((parent, child, counts.reshape(sizes[parent], sizes[child])))
        joined.append(child)
        left.remove(child)
    tree = Law("exponential", (rate, 2 * SCORE), links), Law("discrete gaussian", (noise[1], MOVED), links)
    laws = [Law("discrete gaussian", (noise[0], MOVED), d), *(tree if pairs else ())]
    promise = terms.guarantee(epsilon=terms.epsilon, delta=terms.delta, rho=terms.concentrated)
    evidence = proven_by("synthetic_tables", *laws)
    return terms.seal(Tree(single, pairs), promise, bits, evidence=evidence, public={"n": len(codes)})


def _variances(terms: Terms, d: int) -> list[Fraction]:
    """Of the noise of a count of a column, and of a pair, of d columns."""
    return [MOVED**2 / (2 * Fraction(terms.concentrated) / 3 / parts) for parts in (d, max(1, d - 1))]


def planned(terms: Terms, columns: Sequence[Histogram], n: int) -> Plan:
    """By column, the share of its entries that are noise, even within the bounds, at most about.

    It is what the noise of cells is above 0, beside n records: of the first column, which is drawn from its
    own counts, or of a pair of which nearly all cells are empty and whose parent's records evenly divided.
    """
    sizes, variances = [one.width + 1 for one in columns], _variances(terms, len(columns))
    alone, pair = (math.sqrt(variance / (2 * math.pi)) for variance in variances)
    others = [max([*sizes[:k], *sizes[k + 1 :]]) for k in range(1, len(sizes))]
    above = [sizes[0] * alone, *(pair * a * b for a, b in zip(sizes[1:], others, strict=True))]
    rows = (
        {
            "column": column_of(one).name,
            "statistic": "share of noise",
            "answers": one.width,
            "error": noise / (n + noise),
            "enough": math.ceil((TENTH - 1) * noise),
        }
        for one, noise in zip(columns, above, strict=True)
    )
    return Plan(n, tuple(rows))


def rows_of(tree: Tree, count: int, columns: Sequence[Histogram], bits: RandomBits) -> list[dict[str, Any]]:
    """Rows from a field: numbers and dates evenly spread over their bins, None for what cannot be read."""
    drawn = tree.sample(count, bits)
    taken = {
        one.column.name: [_entry(one, one.column, *pair) for pair in zip(codes, _uniform(count, bits))]
        for one, codes in zip(columns, drawn.T.tolist(), strict=True)
        if one.column is not None
    }
    return [dict(zip(taken, row, strict=True)) for row in zip(*taken.values(), strict=True)]


def _entry(one: Histogram, column: Column, code: int, u: float) -> Any:
    if code == one.width:
        return None
    if column.values:
        return column.values[code]
    low, high = one.edges[code : code + 2]
    if column.type == "integer":  # the last bin holds its upper edge
        high = math.floor(high) + (code == one.width - 1)
        return int(min(max(low + math.floor(u * (high - low)), column.low), column.high))
    return column.shown(min(max(low + u * (high - low), column.low), column.high))


def _uniform(count: int, bits: RandomBits) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1), with 53 digits."""
    pieces = [bits.u64(min(ROWS, count - start)) >> np.uint64(11) for start in range(0, count, ROWS)]
    return np.concatenate([np.zeros(0, np.uint64), *pieces]) * 2.0**-53


def _spread(groups: Codes, bits: RandomBits) -> npt.NDArray[np.float64]:
    """Numbers uniform in [0, 1), one in each of m equal parts among the m entries of a group."""
    order, sizes = np.lexsort((_uniform(len(groups), bits), groups)), np.bincount(groups)
    places = np.argsort(order) - (np.cumsum(sizes) - sizes)[groups]
    return (places + _uniform(len(groups), bits)) / sizes[groups]


def _places(shares: npt.NDArray[np.float64], at: npt.NDArray[np.float64]) -> Codes:
    """The place of a number of [0, 1) in every row, by its shares."""
    return np.sum(at[:, None] >= np.cumsum(shares, axis=1)[:, :-1], axis=1)


def _noisy(codes: Codes, size: int, variance: Fraction, bits: RandomBits) -> npt.NDArray[np.float64]:
    counts = np.bincount(codes, minlength=size).tolist()
    return np.array([count + exact.discrete_gaussian(variance, bits) for count in counts], dtype=np.float64)


def _score(codes: Codes, i: int, j: int, shares: Sequence[npt.NDArray[np.float64]]) -> int:
    """How far a pair is from independent, in records: integers beside a public guess."""
    guess = np.rint(len(codes) * np.outer(shares[i], shares[j])).astype(np.int64).ravel()
    counts = np.bincount(codes[:, i] * len(shares[j]) + codes[:, j], minlength=guess.size)
    return int(np.abs(counts - guess).sum())
