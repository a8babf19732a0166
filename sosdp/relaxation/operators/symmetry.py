"""Symmetries of letters: read, checked, and the blocks adapted to them; moments of one orbit are one column
already (`classes`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...algebra.operator import OperatorPolynomial
from ...reduction.permutation import orbit_numbers
from ..assemble.identity import Identity
from ..assemble.symmetry import Sites, Symmetry, diagonalised
from .classes import LetterAction
from .statement import OperatorStatement, flat


def with_symmetry(statement: OperatorStatement, symmetry: Any) -> OperatorStatement:
    """The statement with symmetries, after an exact check that they change nothing; letters of an orbit get
    one bound, since interval propagation need not treat them alike.

    Raises ValueError for what is no permutation of letters, or changes something.
    """
    listed = [symmetry] if isinstance(symmetry, Mapping) else [] if symmetry is None else list(symmetry)
    if not listed:
        return statement
    if not any(isinstance(g, Mapping | Sequence | np.ndarray) for g in listed):
        listed = [listed]  # one permutation, by its images
    group = tuple(_checked(statement, _letters_of(statement, g)) for g in listed)
    orbit = orbit_numbers([g.image for g in group])
    largest = np.zeros(orbit.size)
    np.maximum.at(largest, orbit, statement.norms)
    return replace(statement, norms=tuple(largest[orbit].tolist()), group=group)


def _letters_of(statement: OperatorStatement, given: Any) -> np.ndarray:
    """A permutation of letters from a mapping of operators (or tuples of them), or from the images of all
    letters in their order, operators or their numbers."""
    letters = statement.algebra.letters
    if not isinstance(given, Mapping):
        images = flat(given)
        if len(images) == len(letters) and all(isinstance(j, int | np.integer) for j in images):
            return np.array(images)
        if len(images) != len(letters) or not all(isinstance(p, OperatorPolynomial) for p in images):
            raise ValueError(
                "a symmetry is a mapping {operator: image} or the images of all "
                f"{len(letters)} letters, operators or their numbers"
            )
        given = {statement.shown((i,)): p for i, p in enumerate(images)}
    image: dict[int, int] = {}
    for source, target in (pair for both in given.items() for pair in zip(*map(flat, both), strict=True)):
        u, v = (list(statement.local(p).items()) for p in (source, target))
        if not all(len(p) == 1 and len(p[0][0]) == 1 for p in (u, v)):
            raise ValueError(f"a symmetry permutes single operators, not {source!r} to {target!r}")
        (((i,), c),), (((j,), d),) = u, v
        if c != d or image.setdefault(i, j) != j:
            raise ValueError(
                f"a symmetry permutes operators without factors: {source!r} to {target!r} does not"
            )
    for i, j in list(image.items()):  # an adjoint goes where its operator goes
        image.setdefault(letters[i].star[1], letters[j].star[1])
    return np.array([image.get(i, i) for i in range(len(letters))])


def _checked(statement: OperatorStatement, image: np.ndarray) -> LetterAction:
    """The permutation, after an exact check that nothing stated changes; ValueError says what does."""
    a = statement.algebra
    if sorted(image) != list(range(len(a.letters))):
        raise ValueError("a symmetry must be a permutation of all letters")
    if statement.squares is not None and not {image[i] for i in statement.squares} <= {*statement.squares}:
        raise ValueError("a symmetry takes variables to conjugates")
    g = LetterAction(image, {}, a)
    g.parties()  # whole ones go to whole ones
    for letter, j in zip(a.letters, image.tolist(), strict=True):
        if a.letters[j].star != (letter.star[0], image[letter.star[1]]):
            raise ValueError(f"a symmetry changes the adjoint of {letter.name}")
        if a.letters[j].norm != letter.norm:
            raise ValueError(f"a symmetry changes the bound on the norm of {letter.name}")
    for word, value in a.rules.items():
        if a.normal(g.word(word)) != g.combination(value):
            raise ValueError(f"a symmetry changes the relation of {a.show(word)}")
    families = {
        "objective": (statement.target,),
        "inequality": statement.inequalities,
        "equality": statement.equalities,
        "expectation": statement.state_inequalities,
        "state equality": statement.state_equalities,
    }
    for kind, family in families.items():
        moved = [g.combination(p) for p in family]
        if any(p not in family for p in moved) or any(moved.count(p) != family.count(p) for p in family):
            raise ValueError("a symmetry changes the objective or a constraint")
        g.constraints[kind] = [family.index(p) for p in moved]
    return g


def with_letters_permuted(identity: Identity, statement: OperatorStatement) -> Identity:
    """The identity with blocks that the symmetry leaves; the same where words are not permuted without
    factors, where blocks overlap or are not mapped to blocks, and for complex data: then moments alone are
    merged."""
    if not statement.group or not statement.real:
        return identity
    try:
        sites = Sites(identity)
        pair, pieces = diagonalised(identity, sites, [sites.image(g) for g in statement.group])
    except ValueError:
        return identity
    column = np.arange(identity.columns.shape[0])
    return replace(
        identity, symmetry=Symmetry(len(statement.group), np.zeros(1, dtype=int), column, pair, pieces)
    )
