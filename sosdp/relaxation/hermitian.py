"""Complex variables as operators: normal, z z* = z* z, and all that commute with each other.

A variable and its conjugate are the two letters of a party, and the one rule puts the variable first, so that
words are monomials ``z^a conj(z)^b`` and everything about words (`operators`) holds. Squares are of words in
variables alone, the complex hierarchy: a level bounds powers of variables, and of conjugates, in a product.

Source: Josz and Molzahn, SIAM J. Optim. 28 (2018); Wang and Magron, TSSOS for complex polynomials (2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..algebra import monomials as mono
from ..algebra.complex import ComplexPolynomial
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_name
from ..algebra.words import ONE, Letter, Terms, Word, Words
from ..model.system import System
from ..reduction.bounds import deduce_bounds
from .operators.statement import OperatorStatement

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
) -> OperatorStatement:
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
    return OperatorStatement(
        Words(letters, rules),
        words_of(target, ids),
        sign,
        inequalities=tuple(words_of(g, ids) for g in inequalities),
        equalities=tuple(words_of(h, ids) for h in equalities),
        norms=tuple(letter.norm for letter in letters),
        given=tuple(2 * i + bar for i in ids for bar in (0, 1)),
        squares=tuple(range(0, 2 * len(ids), 2)),
    )


def modulus_bounds(ids: Iterable[int], parts: Parts, system: System) -> list[float]:
    """Bounds on |z_k| from those on the real and imaginary parts, infinite where there is none."""
    real = deduce_bounds(system.equalities, system.inequalities, ())
    pairs = [np.array([[int(p.variable_ids[0])] for p in parts[i]], dtype=mono.MONOMIAL) for i in ids]
    return [math.sqrt(real.squared_norm(pair)) * (1 + 1e-12) for pair in pairs]
