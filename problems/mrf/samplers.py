"""Samplers of Ising models: exact by listing, by elimination or from the past; else Gibbs sweeps.

All take arrays and a numpy Generator; `problems.mrf.model` makes the generator.
Source: Propp and Wilson 1996 (coupling from the past); Gonzalez et al. 2011 (chromatic Gibbs).
"""

from __future__ import annotations

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
