"""Complex variables as operators: normal, z z* = z* z, and all that commute with each other.

A variable and its conjugate are the two letters of a party, and the one rule puts the variable first, so that
words are monomials ``z^a conj(z)^b`` and everything about words (`operators`) holds. Squares are of words in
variables alone, the complex hierarchy: a level bounds powers of variables, and of conjugates, in a product.

Columns are labelled by the ids of variables and conjugates, the imaginary part with the two exchanged; an
absolute value is bounded by the bounds on the |z_k|.

Source: Josz and Molzahn, SIAM J. Optim. 28 (2018); Wang and Magron, TSSOS for complex polynomials (2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..algebra import monomials as mono
from ..algebra.complex import ComplexPolynomial, conjugate_id
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_name
from ..algebra.words import ONE, Letter, Terms, Word, Words
from ..model.system import System
from ..reduction.bounds import VariableBounds, deduce_bounds
from .assemble.identity import Identity
from .assemble.plan import Plan
from .operators.assemble import Layout, assembled
from .operators.stated import Stated, checked_symmetry, permutations
from .statement import Demand

Parts = Mapping[int, tuple[Polynomial, Polynomial]]


def words_of(p: ComplexPolynomial, ids: Sequence[int]) -> Terms:
    """The polynomial in letters: 2k for the variable number k of ``ids``, 2k + 1 for its conjugate. KeyError
    for others."""
    place = {2 * i + bar: 2 * k + bar for k, i in enumerate(ids) for bar in (0, 1)}
    return {tuple(sorted(place[i] for i in word)): c for word, c in p.terms.items()}


def stated_in_words(
    target: ComplexPolynomial,
    inequalities: Iterable[ComplexPolynomial],
    equalities: Iterable[ComplexPolynomial],
    ids: Sequence[int],
    bounds: Sequence[float],
    sign: int,
) -> Stated:
    """The statement over the local algebra; ``target``: ``sign`` times the objective."""
    letters: list[Letter] = []
    rules: dict[Word, Terms] = {}
    for k, (i, norm) in enumerate(zip(ids, bounds, strict=True)):
        name = variable_name(i)
        letters += [
            Letter(name, name, (ONE, 2 * k + 1), norm),
            Letter(f"{name}.conj()", name, (ONE, 2 * k), norm),
        ]
        rules[2 * k + 1, 2 * k] = {(2 * k, 2 * k + 1): ONE}
    return Stated(
        Words(letters, rules),
        words_of(target, ids),
        sign,
        inequalities=tuple(words_of(g, ids) for g in inequalities),
        equalities=tuple(words_of(h, ids) for h in equalities),
        norms=tuple(letter.norm for letter in letters),
        given=tuple(2 * i + bar for i in ids for bar in (0, 1)),
        squares=tuple(range(0, 2 * len(ids), 2)),
    )


def with_symmetry(stated: Stated, symmetry: Any) -> Stated:
    """The statement with a symmetry ``{z: w, w: z}`` or several, after an exact check that it changes
    nothing."""
    moves = permutations(stated, symmetry)
    count = len(stated.norms)
    from_, to = np.tile(np.arange(count), len(moves)), np.concatenate([*moves, []]).astype(int)
    graph = sp.coo_matrix((np.ones(to.size), (from_, to)), shape=(count, count))
    orbit = connected_components(graph, directed=False)[1]
    largest = np.zeros(count)
    np.maximum.at(largest, orbit, stated.norms)  # interval propagation need not treat an orbit alike
    alike = replace(stated, norms=tuple(largest[orbit].tolist()))
    return replace(alike, group=tuple(checked_symmetry(alike, g) for g in moves))


@dataclass(frozen=True, eq=False)
class HermitianDemand(Demand):
    """Hermitian squares in the variables ``z``: ``stated`` in words; ``parts`` and ``system`` say the same in
    real variables."""

    z: tuple[int, ...] = ()
    stated: Stated | None = None
    sparsity: str | None = None

    @property
    def about(self) -> Stated:
        """What is stated."""
        assert self.stated is not None
        return self.stated

    @cached_property
    def bounds(self) -> VariableBounds:
        """Bounds on the |z_k|."""
        ids = [i for v in self.z for i in (v, conjugate_id(v))]
        pairs = zip(ids, self.about.norms, strict=True)
        return VariableBounds({i: norm for i, norm in pairs if math.isfinite(norm)}, ())

    @cached_property
    def both(self) -> tuple[Identity, Layout]:
        """The identity, and what its rows and columns are."""
        identity, layout = assembled(self.about, self.degree // 2, None, self.sparsity)
        label = np.array([0, *(i for v in self.z for i in (v, conjugate_id(v)))], dtype=mono.MONOMIAL)
        swapped = np.array([0, *(i for v in self.z for i in (conjugate_id(v), v))], dtype=mono.MONOMIAL)
        columns = np.where(layout.imaginary[:, None], swapped[identity.columns], label[identity.columns])
        blocks = tuple(replace(b, basis=np.sort(label[b.basis], axis=1)) for b in identity.blocks)
        return replace(identity, columns=np.sort(columns, axis=1), blocks=blocks), layout

    @cached_property
    def assembled(self) -> tuple[Identity, Plan | None]:
        """The identity in Hermitian squares."""
        return self.both[0], None

    @property
    def movable(self) -> bool:
        """Parts of one variable are not moved apart."""
        return False

    def emptied(self) -> HermitianDemand:
        """The demand without an objective."""
        return replace(self, parts=(self.parts[0] * 0, self.parts[1]), stated=replace(self.about, target={}))


def modulus_bounds(ids: Iterable[int], parts: Parts, system: System) -> list[float]:
    """Bounds on |z_k| from those on the real and imaginary parts, infinite where there is none."""
    real = deduce_bounds(system.equalities, system.inequalities, ())
    pairs = [np.array([[int(p.variable_ids[0])] for p in parts[i]], dtype=mono.MONOMIAL) for i in ids]
    return [math.sqrt(real.squared_norm(pair)) * (1 + 1e-12) for pair in pairs]
