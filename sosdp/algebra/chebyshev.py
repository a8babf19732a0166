"""Polynomials kept in Chebyshev coefficients: ``sum_a c_a T_a1(x_1) ... T_an(x_n)``.

Monomials of degree above 20 are so nearly dependent on [-1, 1] that their coefficients say nothing in double
precision; Chebyshev coefficients of any degree are as good as values. Where a polynomial is given in them
(approximation, filters, interpolation) it stays in them: products use ``2 T_a T_b = T_(a+b) + T_|a-b|``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.algebra.coefficients import Number, as_number, as_numbers, exact_quotient, plus, times
from sosdp.algebra.combination import Combination
from sosdp.algebra.grammar import Grammar, ParseError
from sosdp.algebra.polynomial import Polynomial, variable
from sosdp.algebra.printing import exact_text, joined
from sosdp.algebra.variables import variable_id, variable_name

Term = tuple[tuple[int, int], ...]  # (variable id, degree) with degree > 0, ids ascending; () is 1
_HALF = Fraction(1, 2)
MAX_DEGREE = 100_000


class ChebyshevPolynomial(Combination):
    """An immutable polynomial in Chebyshev coefficients; ``terms`` maps a term to its coefficient.

    Combines with +, - and * with numbers and its like, with integer powers; ``p(x=0.3)`` is a value. Exact
    coefficients stay exact under sums and products, and where they meet floats.
    """

    __slots__ = ()
    terms: dict[Term, Number]
    _times = staticmethod(times)  # type: ignore[assignment]  # of narrower types

    def __init__(self, terms: Mapping[Term, Number]) -> None:
        super().__init__({k: v for k, v in terms.items() if v != 0})

    @classmethod
    def _of(cls, value: Any) -> ChebyshevPolynomial | None:  # type: ignore[override]
        if isinstance(value, ChebyshevPolynomial):
            return value
        if isinstance(value, Polynomial):
            return from_polynomial(value)
        number = None if isinstance(value, bool) else as_number(value)
        return None if number is None else ChebyshevPolynomial({(): number})

    @staticmethod
    def _add_to(terms: dict[Term, Number], term: Term, c: Number) -> None:
        terms[term] = plus(terms[term], c) if term in terms else c

    @staticmethod
    def _constraint(kind: str, difference: Any) -> Any:
        raise TypeError("no constraint is made of Chebyshev series: give their polynomials")

    @staticmethod
    def _inverse(a: Number) -> Number:
        return exact_quotient(1, a)  # type: ignore[no-any-return]

    @classmethod
    def _product(cls, p: Mapping[Term, Number], q: Mapping[Term, Number]) -> dict[Term, Number]:
        out: dict[Term, Number] = {}
        for a, c in p.items():
            for b, d in q.items():
                for term, weight in _product(a, b):
                    cls._add_to(out, term, times(times(c, d), weight))
        return out

    def __reduce__(self) -> tuple:
        named = [(tuple((variable_name(v), k) for v, k in term), c) for term, c in self.terms.items()]
        return _restore, (named,)

    @classmethod
    def series(cls, x: Polynomial, coefficients: Iterable[Number]) -> ChebyshevPolynomial:
        """``sum_k coefficients[k] T_k(x)`` in one variable, as ``numpy.polynomial.chebyshev`` orders them."""
        identifier = _variable(x)
        return cls({((identifier, k),) if k else (): c for k, c in enumerate(as_numbers(coefficients))})

    @classmethod
    def parse(cls, text: str) -> ChebyshevPolynomial:
        """The inverse of ``str``: numbers, ``T3(x)``, ``+ - *``, ``/`` between numbers; raises ParseError."""
        value = cls._of(_Reader().value(text))
        assert value is not None
        return value

    @property
    def variable_ids(self) -> np.ndarray:
        """Ids of the variables, ascending."""
        return np.array(sorted({v for term in self.terms for v, _ in term}), dtype=np.int32)

    @property
    def degree(self) -> int:
        """Total degree; 0 for a constant."""
        return max((sum(k for _, k in term) for term in self.terms), default=0)

    @property
    def is_exact(self) -> bool:
        """Whether no coefficient is a float."""
        return not any(isinstance(c, float) for c in self.terms.values())

    def exponents(self, ids: np.ndarray) -> np.ndarray:
        """Degrees of the terms, shape (terms, ids), in the order of ``terms``."""
        place = {int(v): j for j, v in enumerate(ids)}
        table = np.zeros((len(self.terms), len(place)), dtype=np.int64)
        for row, term in enumerate(self.terms):
            for v, k in term:
                table[row, place[v]] = k
        return table

    def __call__(self, **values: Any) -> Any:
        """The value at numbers (or arrays) given by the variables' names."""
        known = {variable_id(name): np.asarray(value, dtype=float) for name, value in values.items()}
        top = {
            v: max(k for term in self.terms for w, k in term if w == v) for v in self.variable_ids.tolist()
        }
        if set(top) - set(known):
            missing = ", ".join(variable_name(v) for v in sorted(set(top) - set(known)))
            raise ValueError(f"no value was given for {missing}")
        tables = {v: chebyshev_table(known[v], degree, np.ones_like(known[v])) for v, degree in top.items()}
        total: Any = 0.0
        for term, c in self.terms.items():
            part: Any = float(c)
            for v, k in term:
                part = part * tables[v][k]
            total = total + part
        return total if np.ndim(total) else float(total)

    def to_polynomial(self) -> Polynomial:
        """The same polynomial in monomials, exactly; sensible for low degrees only."""
        total = Polynomial(0)
        for term, c in self.terms.items():
            part = Polynomial(c)
            for v, k in term:
                part = part * chebyshev_table(variable(v), k, Polynomial(1))[k]
            total = total + part
        return total

    def __eq__(self, other: object) -> bool:
        right = self._of(other)
        return NotImplemented if right is None else self.terms == right.terms

    __hash__ = Combination.__hash__

    def __str__(self) -> str:
        terms = sorted(self.terms.items(), key=lambda item: (sum(k for _, k in item[0]), item[0]))
        return joined(((c, term) for term, c in terms), _text_term)

    def __repr__(self) -> str:
        text = str(self)
        return (
            text if len(text) <= 200 else f"{text[:160]}... ({len(self.terms)} terms, degree {self.degree})"
        )


def chebyshev(x: Polynomial, k: int) -> ChebyshevPolynomial:
    """The Chebyshev polynomial ``T_k`` of the variable ``x``: ``cos(k t)`` at ``x = cos(t)``.

    ValueError unless ``x`` is a variable and ``k`` an integer from 0 to 100000.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= MAX_DEGREE:
        raise ValueError(
            f"the degree of a Chebyshev polynomial is an integer from 0 to {MAX_DEGREE}, not {k!r}"
        )
    identifier = _variable(x)
    return ChebyshevPolynomial({((identifier, int(k)),) if k else (): 1})


def _variable(x: Any) -> int:
    if not isinstance(x, Polynomial) or len(x.coefs) != 1 or x.degree != 1 or x.coefs[0] != 1:
        raise ValueError(f"a Chebyshev polynomial is of a variable, not of {x}")
    return int(x.variable_ids[0])


def from_polynomial(p: Polynomial) -> ChebyshevPolynomial:
    """A polynomial in monomials, in Chebyshev coefficients; exact where its coefficients are."""
    total = ChebyshevPolynomial({})
    for row, c in zip(p.monos.tolist(), p.coefs.tolist(), strict=True):
        part = ChebyshevPolynomial({(): c})
        for v in row:
            if v:
                part = part * ChebyshevPolynomial({((v, 1),): 1})
        total = total + part
    return total


def _product(a: Term, b: Term) -> list[tuple[Term, Number]]:
    """``T_a T_b`` as terms with weights."""
    left, right = dict(a), dict(b)
    result: list[tuple[dict[int, int], Number]] = [({}, 1)]
    for v in sorted({*left, *right}):
        i, j = left.get(v, 0), right.get(v, 0)
        if not i or not j:
            result = [({**t, v: i + j}, w) for t, w in result]
        else:
            split = []
            for t, w in result:
                split += [({**t, v: i + j}, w * _HALF), ({**t, v: abs(i - j)}, w * _HALF)]
            result = split
    return [(tuple((v, k) for v, k in t.items() if k), int(w) if w == int(w) else w) for t, w in result]


def chebyshev_table(x: Any, degree: int, one: Any) -> list[Any]:
    """``T_0(x) = one``, ``T_1(x)``, ... up to a degree."""
    table = [one, x]
    for _ in range(2, degree + 1):
        table.append(2 * x * table[-1] - table[-2])
    return table


def _text_term(size: Number, term: Term) -> str:
    names = [f"T{k}({variable_name(v)})" for v, k in term]
    return "*".join(names if names and size == 1 else [exact_text(size), *names])


def _restore(named: list) -> ChebyshevPolynomial:
    return ChebyshevPolynomial(
        {tuple(sorted((variable_id(name), k) for name, k in term)): c for term, c in named}
    )


class _Reader(Grammar):
    """Reads series: a name is ``T3`` and has a variable in parentheses."""

    _most_degree = MAX_DEGREE

    def _named(self, name: str, depth: int) -> ChebyshevPolynomial:
        match = re.fullmatch("T([0-9]{1,6})", name)
        if match is None or self._token != "(":
            raise ParseError(f"{name!r} is not part of a Chebyshev series: write T1({name})")
        self._next()
        x = variable(variable_id(self._token))
        self._next()
        if self._token != ")":
            raise ParseError(f"{name} is of one variable: write {name}({x})")
        self._next()
        return chebyshev(x, int(match[1]))
