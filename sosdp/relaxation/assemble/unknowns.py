"""Permutation symmetry of programs with unknown coefficients.

A permutation of the variables is a symmetry of the program when it maps every constraint to itself after a
permutation of the unknowns, which it determines, and the objective does not tell these unknowns apart. The
feasible coefficients are then a convex set that the permutation maps to itself, so averaging over the group
keeps them feasible and the objective's value: unknowns of one orbit may be taken equal. With equal unknowns
each polynomial is invariant, and its Gram matrices may be averaged as well (Gatermann and Parrilo 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ...algebra.build import polynomial
from ...algebra.polynomial import Polynomial, variable
from ...reduction.permutation import moved, named, orbit_numbers
from .identity import Identity
from .symmetry import Piece, Symmetry


def unknown_orbits(
    images: Sequence[np.ndarray], families: Sequence[list[Polynomial]], cost: np.ndarray
) -> np.ndarray:
    """Number of the orbit of each unknown under permutations of the variables (tables of images).

    ``families``: for every constraint the part without unknowns and the coefficient of each unknown. Raises
    ValueError for a permutation that is no symmetry. Cost: one pass over all terms a permutation.
    """
    count = cost.size
    places: dict[tuple, list[int]] = {}
    for k in range(count):
        places.setdefault((float(cost[k]), *(f[k + 1] for f in families)), []).append(k)
    edges = [np.arange(count)]
    for image in images:
        for family in families:
            if moved(image, family[0]) != family[0]:
                raise ValueError(f"{named(image)} is not a symmetry of the program: it changes {family[0]}")
        target = np.empty(count, dtype=np.int64)
        taken: dict[tuple, int] = {}
        for k in range(count):
            signature = (float(cost[k]), *(moved(image, f[k + 1]) for f in families))
            here = places.get(signature, [])
            used = taken.get(signature, 0)
            if used >= len(here):
                raise ValueError(
                    f"{named(image)} is not a symmetry of the program: no unknown can stand for the image "
                    f"of unknown number {k + 1} in every constraint and the objective"
                )
            target[k] = here[used]
            taken[signature] = used + 1
        edges.append(target)
    return orbit_numbers(edges)


def with_labels(image: np.ndarray, bases: Sequence[tuple[list[Polynomial], list[Polynomial]]]) -> np.ndarray:
    """The permutation continued to variables that label the rows of Gram matrices, one for each element of a
    basis.

    Raises ValueError when a basis is not mapped to itself.
    """
    top = max([image.size - 1, *(int(v.variable_ids[0]) for labels, _ in bases for v in labels)])
    whole = np.concatenate([image, np.arange(image.size, top + 1)])
    for labels, basis in bases:
        place = {b: int(v.variable_ids[0]) for v, b in zip(labels, basis, strict=True)}
        for label, element in zip(labels, basis, strict=True):
            target = place.get(moved(image, element))
            if target is None:
                raise ValueError(
                    f"{named(image)} does not map the basis of a Gram matrix to itself: it moves {element}"
                )
            whole[int(label.variable_ids[0])] = target
    return whole


def merged(family: list[Polynomial], orbits: np.ndarray) -> list[Polynomial]:
    """The parts of a constraint when the unknowns of each orbit are equal."""
    sums: list[Polynomial | None] = [None] * (int(orbits.max(initial=-1)) + 1)
    for orbit, part in zip(orbits.tolist(), family[1:], strict=True):
        known = sums[orbit]
        sums[orbit] = part if known is None else known + part
    return [family[0], *(p if p is not None else polynomial(0) for p in sums)]


def restricted(images: Sequence[np.ndarray], ids: np.ndarray) -> list[dict[Polynomial, Polynomial]]:
    """The permutations on some of the variables only, as dictionaries; those that move none are left out.

    Raises ValueError when one of these variables is sent outside.
    """
    result = []
    for image in images:
        pairs = [(v, int(image[v])) for v in ids.tolist() if image[v] != v]
        if not {b for _, b in pairs} <= set(ids.tolist()):
            raise ValueError(
                f"{named(image)} is not a symmetry of the program: it moves a constraint to other variables"
            )
        if pairs:
            result.append({variable(a): variable(b) for a, b in pairs})
    return result


def stacked_symmetry(pieces: Sequence[Identity]) -> Symmetry | None:
    """The symmetry of several identities side by side, each with its own; None when none has any."""
    known = [cast(Symmetry | None, p.symmetry) for p in pieces]
    if all(s is None for s in known):
        return None
    columns, pairs, blocks = [], [], []
    height = width = number = 0
    for piece, symmetry in zip(pieces, known, strict=True):
        s = symmetry if symmetry is not None else _trivial(piece)
        columns.append(s.column + width)
        pairs.append(s.pair + height)
        blocks += [Piece(b.block + number, b.basis, b.side) for b in s.pieces]
        width += int(s.column.max(initial=-1)) + 1
        height += int(s.pair.max(initial=-1)) + 1
        number += len(piece.blocks)
    generators = max(s.generators for s in known if s is not None)
    return Symmetry(
        generators, np.zeros(0, dtype=np.int64), np.concatenate(columns), np.concatenate(pairs), tuple(blocks)
    )


def _trivial(identity: Identity) -> Symmetry:
    whole = tuple(Piece(k, None, b.side) for k, b in enumerate(identity.blocks))
    rows, columns = identity.gram.shape
    return Symmetry(0, np.zeros(0, dtype=np.int64), np.arange(columns), np.arange(rows), whole)
