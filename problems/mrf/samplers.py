"""Samplers of Ising models: exact by listing, by elimination or from the past; else Gibbs sweeps.

All take arrays and a numpy Generator; `problems.mrf.model` makes the generator.
Source: Propp and Wilson 1996 (coupling from the past); Gonzalez et al. 2011 (chromatic Gibbs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]


def colour_classes(weights: Array) -> list[npt.NDArray[np.intp]]:
    """Independent sets of the graph that cover all nodes (greedy colouring, largest degrees first)."""
    joined = weights != 0
    colours = np.full(len(weights), -1)
    for node in np.argsort(-joined.sum(axis=1), kind="stable"):
        taken = set(colours[joined[node]].tolist())
        colours[node] = next(colour for colour in range(len(weights)) if colour not in taken)
    return [np.flatnonzero(colours == colour) for colour in range(int(colours.max()) + 1)]


def _sweep(
    signs: Array, weights: Array, field: Array, classes: list[npt.NDArray[np.intp]], uniforms: Array
) -> None:
    """One sweep over all colour classes, in place, for (chains, p) signs and uniform numbers."""
    for members in classes:
        logits = 2.0 * (signs @ weights[:, members] + field[members])
        signs[:, members] = np.where(uniforms[:, members] < 1.0 / (1.0 + np.exp(-logits)), 1.0, -1.0)


def gibbs_samples(weights: Array, field: Array, n: int, sweeps: int, generator: Any) -> Signs:
    """(n, p) states of n chains started at random after so many sweeps; approximate."""
    p = len(field)
    classes = colour_classes(weights)
    signs = np.where(generator.random((n, p)) < 0.5, 1.0, -1.0)
    for _ in range(sweeps):
        _sweep(signs, weights, field, classes, generator.random((n, p)))
    return signs.astype(np.int8)


def coupled_samples(
    weights: Array, field: Array, n: int, generator: Any, *, most: int = 1 << 12
) -> tuple[Signs, int]:
    """(n, p) exact states of a ferromagnetic model by monotone coupling from the past, and the sweeps taken.

    The chains from all +1 and all -1 use the same uniforms; the run starts ever further in the past, and the
    uniforms of a time stay what they were.

    Raises:
        ValueError: a negative weight, or no coupling within `most` sweeps.
    """
    if (weights < 0).any():
        raise ValueError("coupling from the past needs a ferromagnetic model: all weights >= 0")
    p = len(field)
    classes = colour_classes(weights)
    drawn: list[Array] = []  # drawn[t - 1] holds the uniforms of time -t
    sweeps = 2
    while sweeps <= most:
        drawn += [generator.random((n, p)) for _ in range(sweeps - len(drawn))]
        top, bottom = np.ones((n, p)), -np.ones((n, p))
        for uniforms in reversed(drawn):
            _sweep(top, weights, field, classes, uniforms)
            _sweep(bottom, weights, field, classes, uniforms)
        if (top == bottom).all():
            return top.astype(np.int8), sweeps
        sweeps *= 2
    raise ValueError(f"the chains did not meet within {most} sweeps: the interactions are too strong")


# ------------------------------------------------------------------------------------------------------------
# Elimination of one variable after another, for small treewidth (Koller and Friedman 2009, 9.3 and 12.3)


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
