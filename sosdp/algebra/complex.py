"""Polynomials in complex variables and their conjugates: combinations of words in which all letters commute.

The letter 2i is the variable with the id i, 2i + 1 its conjugate; coefficients are exact complex numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from sosdp.algebra.build import own_variables, variables
from sosdp.algebra.coefficients import object_array
from sosdp.algebra.monomials import padded
from sosdp.algebra.operator import WordConstraint, WordPolynomial
from sosdp.algebra.polynomial import Polynomial, variable
from sosdp.algebra.variables import known_id, variable_name
from sosdp.algebra.words import ONE, Monomials, Number, Word

_SUFFIX = "_conj"


class Conjugates(Monomials):
    """Monomials in complex variables and their conjugates."""

    def adjoint(self, word: Word) -> tuple[Number, Word]:
        """Variables and conjugates exchanged."""
        return ONE, tuple(letter ^ 1 for letter in word)

    def name(self, letter: int) -> str:
        """The variable, or its conjugate."""
        return variable_name(letter // 2) + ".conj()" * (letter % 2)


class ComplexPolynomial(WordPolynomial):
    """A polynomial in complex variables and their conjugates.

    ``p.conj()``, ``p.real``, ``p.imag``, ``p.abs2()``; +, -, * with numbers (complex ones too), ** and
    comparisons: ``p >= 0`` for a p that is real everywhere, ``p == q`` for any.
    """

    __slots__ = ()
    monoid = Conjugates()
    mixed = "complex variables and others are not mixed: a real one is complex with z.imag == 0"

    def conj(self) -> Self:
        """The conjugate."""
        return self.adjoint

    conjugate = conj  # what numpy calls, of arrays

    @property
    def real(self) -> ComplexPolynomial:
        """The real part, a polynomial in variables and conjugates."""
        result: ComplexPolynomial = (self + self.conj()) / 2
        return result

    @property
    def imag(self) -> ComplexPolynomial:
        """The imaginary part."""
        result: ComplexPolynomial = (self - self.conj()) / 2j
        return result

    def abs2(self) -> ComplexPolynomial:
        """The squared absolute value."""
        result: ComplexPolynomial = self * self.conj()
        return result

    @property
    def is_real(self) -> bool:
        """Whether it equals its conjugate, term by term: real at every point."""
        return self.is_hermitian

    @property
    def variable_ids(self) -> list[int]:
        """Sorted ids of the variables (not of conjugates) that occur."""
        return sorted({letter // 2 for word in self.terms for letter in word})

    @staticmethod
    def _constraint(kind: str, difference: Any) -> WordConstraint:
        if kind == "inequality" and not difference.is_real:
            raise ValueError(
                f"{difference!r} is not real everywhere: an inequality is about one that equals its conjugate"
            )
        return WordConstraint(kind, difference)

    def __reduce__(self) -> tuple:
        named = [([(variable_name(i // 2), i % 2) for i in word], c) for word, c in self.terms.items()]
        return _restored, (named,)


def _restored(named: list[tuple[list[tuple[str, int]], Number]]) -> ComplexPolynomial:
    return ComplexPolynomial(
        {tuple(sorted(2 * known_id(name) + bar for name, bar in word)): c for word, c in named}
    )


def complex_variable(identifier: int) -> ComplexPolynomial:
    """The complex variable with this id; ValueError for a name that conjugates have."""
    name = variable_name(identifier)
    if name.endswith(_SUFFIX):
        raise ValueError(f"{name!r} would be the conjugate of a variable: choose another name")
    return ComplexPolynomial({(2 * identifier,): ONE})


def complex_variables(names: str | Sequence[str], shape: int | None = None) -> Any:
    """Complex variables by name, as ``variables`` makes real ones: a tuple, one, or an array."""
    made = variables(names, shape)
    if isinstance(made, Polynomial):
        return complex_variable(int(made.variable_ids[0]))
    result = [complex_variable(int(v.variable_ids[0])) for v in made]
    return tuple(result) if shape is None else object_array(result)


def conjugate_id(identifier: int) -> int:
    """The id by which the engine knows the conjugate of a variable."""
    return known_id(variable_name(identifier) + _SUFFIX)


def in_real_variables(p: ComplexPolynomial, parts: dict[int, tuple[Polynomial, Polynomial]]) -> Polynomial:
    """The real part of ``p`` with ``z = x + i y``; ``parts``: x and y of every variable by id."""
    (unit,) = own_variables("i_", 1)
    letters = sorted({letter for word in p.terms for letter in word})
    place = {letter: conjugate_id(letter // 2) if letter % 2 else letter // 2 for letter in letters}
    values = {
        variable(place[letter]): parts[letter // 2][0] + (-1) ** letter * unit * parts[letter // 2][1]
        for letter in letters
    }
    monos = padded([[place[i] for i in w] for w in p.terms])
    first, second = ([c[k] for c in p.terms.values()] for k in (0, 1))
    both = Polynomial.from_arrays(monos, first) + unit * Polynomial.from_arrays(monos, second)
    whole = both.subs(values)
    powers = (whole.monos == unit.variable_ids[0]).sum(axis=1)
    even = powers % 2 == 0  # of i: its odd powers are imaginary
    monos = np.where(whole.monos == unit.variable_ids[0], 0, whole.monos)[even]
    return Polynomial.from_arrays(np.sort(monos, axis=1), whole.coefs[even] * (1 - powers[even] % 4))


def real_parts(ids: Iterable[int]) -> dict[int, tuple[Polynomial, Polynomial]]:
    """New real variables ``z_re``, ``z_im`` for every complex variable."""
    return {i: tuple(variables(f"{variable_name(i)}_{part}") for part in ("re", "im")) for i in ids}  # type: ignore[misc]
