"""Exact sampling from a pairwise model of small treewidth by eliminating one variable after another.

Trees, grids up to width 12 or so, and two hubs joined to everything (the diamond) are all cases of it.
Source: Koller and Friedman 2009, sections 9.3 and 12.3 (forward elimination, backward sampling).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LARGEST_TABLE = 1 << 20


@dataclass(frozen=True, eq=False)
class Step:
    """One eliminated variable: log weights of its values (last axis) for every value of its separator."""

    variable: int
    separator: tuple[int, ...]
    logits: Array


@dataclass(frozen=True, eq=False)
class Elimination:
    """A model with k values a variable, ready to be sampled.

    Attributes:
        steps: in the order of elimination; sampled backwards.
        log_partition: log of the normaliser.
    """

    size: int
    values: int
    steps: tuple[Step, ...]
    log_partition: float

    def sample(self, n: int, generator: Any) -> npt.NDArray[np.int64]:
        """(n, size) values 0..k-1; `generator` is a numpy Generator."""
        out = np.zeros((n, self.size), dtype=np.int64)
        for step in reversed(self.steps):
            code = np.zeros(n, dtype=np.int64)
            for other in step.separator:
                code = code * self.values + out[:, other]
            table = step.logits.reshape(-1, self.values)
            weights = np.exp(table - table.max(axis=1, keepdims=True))
            ends = weights.cumsum(axis=1)
            ends /= ends[:, -1:]
            drawn = generator.random(n)
            out[:, step.variable] = (drawn[:, None] >= ends[code][:, :-1]).sum(axis=1)
        return out


def elimination_order(size: int, edges: list[tuple[int, int]]) -> tuple[list[int], int]:
    """A greedy order (fewest neighbours first, then least fill) and the largest separator it meets."""
    graph: dict[int, set[int]] = {v: set() for v in range(size)}
    for a, b in edges:
        graph[a].add(b)
        graph[b].add(a)
    order, widest = [], 0
    while graph:
        variable = min(graph, key=lambda v: (len(graph[v]), _fill(graph, v), v))
        around = graph.pop(variable)
        widest = max(widest, len(around))
        for a in around:
            graph[a] |= around
            graph[a] -= {a, variable}
        order.append(variable)
    return order, widest


def _fill(graph: dict[int, set[int]], variable: int) -> int:
    """Number of pairs of neighbours that are no edge; an upper bound on it beyond 12 neighbours."""
    around = sorted(graph[variable])
    if len(around) > 12:
        return len(around) ** 2
    return sum(b not in graph[a] for i, a in enumerate(around) for b in around[i + 1 :])


def eliminate(pairs: dict[tuple[int, int], Array], fields: Array) -> Elimination:
    """Eliminate all variables of exp(sum pairs[i, j][z_i, z_j] + sum fields[i, z_i]).

    Args:
        pairs: (k, k) tables by pair i < j. fields: (size, k).

    Raises:
        ValueError: a table of more than 2^20 entries would be needed (the graph's treewidth is too large).
    """
    size, k = fields.shape
    order, widest = elimination_order(size, list(pairs))
    if k ** (widest + 1) > LARGEST_TABLE:
        raise ValueError(f"separators of {widest} variables with {k} values: too many for exact elimination")
    factors: list[tuple[tuple[int, ...], Array]] = [((i,), fields[i]) for i in range(size)]
    factors += [(pair, np.asarray(table, dtype=np.float64)) for pair, table in pairs.items()]
    steps = []
    for variable in order:
        touched = [factor for factor in factors if variable in factor[0]]
        factors = [factor for factor in factors if variable not in factor[0]]
        scope = tuple(sorted({v for names, _ in touched for v in names} - {variable})) + (variable,)
        table = np.zeros((k,) * len(scope))
        for names, part in touched:
            ordered = sorted(range(len(names)), key=lambda axis: scope.index(names[axis]))
            shape = [k if v in names else 1 for v in scope]
            table = table + part.transpose(ordered).reshape(shape)
        steps.append(Step(variable, scope[:-1], table))
        factors.append((scope[:-1], np.logaddexp.reduce(table, axis=-1)))
    total = sum(float(part) for names, part in factors if not names)
    return Elimination(size, k, tuple(steps), total)
