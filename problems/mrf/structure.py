"""Graphs with exact margins: how far the data are from another graph, in integers.

Lemmas: docs/proofs/mrf_structure.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import positive

Sums = npt.NDArray[np.int64]
Edges = tuple[tuple[int, int], ...]

TREE_STEP = 4
"""Replacing a record moves the margin of a tree by at most this: both sums by at most 2."""

THRESHOLD_STEP = 2
"""Replacing a record moves | |S_ij| - n tau | by at most this."""

VOTE_STEP = 2
"""Replacing a record changes one block's vote, and with it |yes - no| of any pair by at most this."""


def product_sums(table: npt.NDArray[np.int8]) -> Sums:
    """S = Z^T Z, exact integers; the diagonal is n."""
    plain = table.astype(np.float64)  # sums of whole numbers below 2^53: exact in any order
    return (plain.T @ plain).astype(np.int64)


def chow_liu(sums: Sums) -> tuple[Edges, int | float]:
    """The maximum spanning tree of |S_ij|, and its margin; ties are broken by the order of the nodes.

    For zero-field Ising trees this is the tree of largest likelihood. The margin is the least |S_e| - |S_f|
    over pairs f outside the tree and edges e on their path; infinite with two nodes, where there is one tree.
    Cost: O(p^2).
    """
    sizes = np.abs(sums)
    p = len(sizes)
    nearest = np.zeros(p, dtype=np.intp)
    best = sizes[0].copy()
    waiting = np.ones(p, dtype=bool)
    waiting[0] = False
    bottleneck = np.full((p, p), np.iinfo(np.int64).max)
    joined = [0]
    edges = []
    margin: int | float = math.inf
    for _ in range(p - 1):
        new = int(np.where(waiting, best, -1).argmax())
        parent = int(nearest[new])
        edges.append((min(new, parent), max(new, parent)))
        down = np.minimum(bottleneck[parent, joined], best[new])
        down[joined.index(parent)] = best[new]
        bottleneck[new, joined] = bottleneck[joined, new] = down
        slack = down - sizes[new, joined]
        slack[joined.index(parent)] = np.iinfo(np.int64).max
        if len(joined) > 1:
            margin = min(margin, int(slack.min()))
        joined.append(new)
        waiting[new] = False
        closer = waiting & (sizes[new] > best)
        best[closer], nearest[closer] = sizes[new][closer], new
    return tuple(sorted(edges)), margin


def correlated_pairs(sums: Sums, n: int, threshold: Fraction) -> tuple[Edges, Fraction]:
    """Pairs with |S_ij| > n tau, and the least distance of any |S_ij| to n tau, exact."""
    p = len(sums)
    level = n * positive(threshold, "threshold")
    sizes = np.abs(sums)[np.triu_indices(p, 1)]
    # |S| > n tau for integers iff |S| > floor(n tau)
    above = np.triu(np.abs(sums) > math.floor(level), 1)
    edges = tuple((int(i), int(j)) for i, j in zip(*np.nonzero(above), strict=True))
    below = sizes[sizes <= math.floor(level)]
    over = sizes[sizes > math.floor(level)]
    gaps = [level - int(below.max())] if below.size else []
    gaps += [int(over.min()) - level] if over.size else []
    return edges, min(gaps)


def pair_majority(votes: Sequence[Any], p: int) -> tuple[Edges, int | float]:
    """The pairs that more blocks have than have not, and the least |yes - no| of any pair.

    votes: the edges that each block found; anything else is no vote for any pair. Infinite without a pair.
    """
    yes = np.zeros((p, p), dtype=np.int64)
    cast = [vote for vote in votes if isinstance(vote, tuple)]
    for vote in cast:
        for i, j in vote:
            yes[i, j] += 1
    balance = 2 * yes - len(cast)
    pairs = list(combinations(range(p), 2))
    edges = tuple((i, j) for i, j in pairs if balance[i, j] > 0)
    return edges, min((abs(int(balance[i, j])) for i, j in pairs), default=math.inf)
