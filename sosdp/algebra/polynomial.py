"""Polynomials as users write them: operators and methods on the arrays of ``sparse.Sparse``.

The functions behind them are in modules below. What is above and needed all the same (arrays, constraints,
reading of text and of sympy's expressions) is registered in ``above`` when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, Protocol, overload

import numpy as np

from sosdp.algebra import arithmetic, calculus, printing, rounding
from sosdp.algebra import evaluate as at_points
from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import INTEGER_BITS, Number, Scale, as_number, object_array
from sosdp.algebra.sparse import Sparse, summed, to_variable_id
from sosdp.algebra.variables import variable_ids, variable_name

_CHAIN = 64  # from so many terms on, sums with far smaller polynomials are merged later, many at once
_CHAIN_SHARE = 8

above: dict[str, Callable[..., Any]] = {}
"""``array``: an object array of polynomials as a PolynomialArray; ``inequality`` (of a polynomial) and
``equality`` (of a polynomial, and whether both sides were the same); ``text`` and ``sympy``: readers."""


class Arithmetic(Protocol):
    """A bound operator, as type checkers see it: with a polynomial or a number, or element by element."""

    @overload
    def __call__(self, other: Polynomial | Number, /) -> Polynomial: ...

    @overload
    def __call__(self, other: np.ndarray[Any, Any], /) -> Any: ...


def _operator(operation: Callable[[Any, Any], Any], constraints: bool = False) -> Any:
    """An operator with polynomials, numbers, and element by element with numpy arrays."""

    def method(self: Polynomial, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: method(self, q), constraints)
        return operation(self, operand)

    return method


class Polynomial(Sparse):
    """An immutable sparse polynomial (``sparse.Sparse`` has its arrays).

    Nothing is rounded: what is computed from floats, which are binary numbers, has float coefficients only if
    these are the exact ones. ``Polynomial(value)`` reads a number, a string or a sympy expression.
    """

    __slots__ = ()
    __array_priority__ = 1000.0  # numpy arrays defer to the operators below; functions such as sqrt are none

    def __new__(cls, value: Any = 0) -> Polynomial:
        return coerce(value)

    @classmethod
    def from_sympy(cls, expression: Any) -> Polynomial:
        """Polynomial from a sympy expression: its symbols become the variables of the same names, exactly."""
        return above["sympy"](expression)

    # ------------------------------------------------------------------ properties

    @property
    def variables(self) -> tuple[Polynomial, ...]:
        """The variables that occur, ordered by id (the order in which they were first named)."""
        return tuple(variable(i) for i in self.variable_ids.tolist())

    @property
    def name(self) -> str:
        """Name of the variable; ValueError when the polynomial is not a single variable."""
        if not self.is_variable:
            raise ValueError(f"{self!r} is not a variable")
        return variable_name(int(self.monos[0, 0]))

    def coefficient(self, monomial: Any) -> Number:
        """Coefficient of one monomial, given as a polynomial with a single term of coefficient 1."""
        here = np.flatnonzero(mono.same(self.monos, as_monomial(monomial).monos))
        return self.coefs.item(here[0]) if here.size else 0

    def terms(self) -> Iterator[tuple[Number, dict[str, int]]]:
        """The terms as (coefficient, {variable name: power}), highest degree first, then lexicographic."""
        for coef, powers in printing.ordered(self):
            yield coef, dict(powers)

    # ------------------------------------------------------------------ arithmetic

    __add__: Arithmetic = _operator(lambda p, q: _add(p, q))
    __radd__: Arithmetic = __add__
    __sub__: Arithmetic = _operator(lambda p, q: _add(p, q, negate=True))
    __rsub__: Arithmetic = _operator(lambda p, q: _add(q, p, negate=True))

    def __neg__(self) -> Polynomial:
        if self._whole is not None:
            return self._of_whole(self.monos, -self._whole, self.keys, self.scale())
        if self._ratio is not None:
            return self._of_ratio(self.monos, -self._ratio[0], self.keys, self._ratio[1])
        return self._make(self.monos, -self.coefs, self.keys, self._scale)

    def __pos__(self) -> Polynomial:
        return self

    def _times(self, other: Any) -> Any:
        if isinstance(other, Polynomial):
            return arithmetic.product(self, other)
        number = as_number(other)
        if number is not None:
            return arithmetic.scaled(self, number)
        operand = _operand(other)
        return _apply(other, lambda q: self * q) if operand is None else arithmetic.product(self, operand)

    __mul__: Arithmetic = _times  # type: ignore[assignment]  # it is bound when it is looked up
    __rmul__: Arithmetic = _times  # type: ignore[assignment]

    def _over(self, other: Any) -> Any:
        if isinstance(other, Polynomial):
            if not other.is_constant:
                raise TypeError(
                    "a polynomial can be divided by a number only, not by another polynomial "
                    "(sd.minimize_ratios([(p, q)], system) bounds the ratio p/q)"
                )
            other = other.constant
        number = as_number(other)
        if number is None:
            return _apply(other, lambda q: self / q)
        if number == 0:
            raise ZeroDivisionError("a polynomial was divided by zero")
        return arithmetic.quotient(self, number)

    __truediv__: Arithmetic = _over  # type: ignore[assignment]

    def __rtruediv__(self, other: Any) -> Any:
        if not self.is_constant:
            raise TypeError(
                "a polynomial can be divided by a number only: division by a polynomial is not defined "
                "(sd.minimize_ratios([(p, q)], system) bounds the ratio p/q)"
            )
        return coerce(other) / self.constant if _operand(other) is not None else NotImplemented

    def __pow__(self, exponent: Any) -> Polynomial:
        given = exponent.constant if isinstance(exponent, Polynomial) and exponent.is_constant else exponent
        number = given if type(given) is int else as_number(given)
        if type(number) is float and number.is_integer():
            number = int(number)
        if type(number) is not int or number < 0:
            raise ValueError(f"the power of a polynomial must be a non-negative integer, not {exponent!r}")
        return arithmetic.power(self, number)

    def __xor__(self, exponent: Any) -> Any:
        raise TypeError("a power is written x**2, not x^2")

    def __abs__(self) -> Any:
        raise TypeError(
            "|p| is no polynomial: take a variable t with t >= p and t >= -p, or t**2 == p**2 and t >= 0"
        )

    # ------------------------------------------------------------------ comparisons

    __le__ = _operator(lambda p, q: above["inequality"](q - p), constraints=True)
    __ge__ = _operator(lambda p, q: above["inequality"](p - q), constraints=True)

    def __lt__(self, other: Any) -> Any:
        raise TypeError(
            "strict inequalities are not supported: use <= or >=, or add a margin yourself; for max(p, q), "
            "which compares, take a variable t with t >= p and t >= q"
        )

    __gt__ = __lt__

    __eq__ = _operator(lambda p, q: p.equals(q), constraints=True)
    __ne__ = _operator(lambda p, q: not p.equals(q), constraints=True)

    def __hash__(self) -> int:
        if self._hash is None:
            if self.is_constant:
                value = hash(self.constant)
            else:
                value = hash((self.keys.tobytes(), tuple(map(hash, self.coefs.tolist()))))
            object.__setattr__(self, "_hash", value)
        return self._hash  # type: ignore[return-value]

    def equals(self, other: Any) -> Any:
        """The constraint that this polynomial equals ``other`` (a polynomial or number)."""
        other = coerce(other)
        difference = _add(self, other, negate=True)
        return above["equality"](difference, not difference)

    # ------------------------------------------------------------------ calculus and evaluation

    def __call__(self, *points: Any, **values: Any) -> Any:
        """Value at points: ``p(points)`` or ``p(x=1, y=2)``; see ``evaluate``."""
        if len(points) > 1 or bool(points) == bool(values):
            if not points and not values and self.is_constant:
                return self.constant
            raise TypeError("call p(points), p({'x': 1, ...}) or p(x=1, ...)")
        return self.evaluate(points[0] if points else values)

    def evaluate(self, points: Any) -> Any:
        """Values at ``points``: an array (..., number of variables) in the order of ``variables``, or a
        mapping from names or variables to numbers or arrays that broadcast together.

        A single point gives a number, exact when the polynomial and the point are. ValueError for a missing
        variable or a wrong shape.
        """
        return at_points.evaluate(self, points)

    def diff(self, variable: Any, order: int = 1) -> Polynomial:
        """Partial derivative with respect to a variable (or its name), ``order`` times."""
        if isinstance(order, bool) or not isinstance(order, int) or order < 0:
            raise ValueError(f"the order of a derivative must be a non-negative integer, not {order!r}")
        result = self
        for _ in range(order):
            (result,) = calculus.derivatives(result, [to_variable_id(variable)])
        return result

    def gradient(self, variables: Any = None) -> Any:
        """Array of partial derivatives with respect to ``variables`` (default: those that occur)."""
        if variables is None:
            variables = self.variables
        chosen = np.asarray(
            [variables] if isinstance(variables, Polynomial | str) else variables, dtype=object
        )
        result = calculus.derivatives(self, [to_variable_id(v) for v in chosen.reshape(-1).tolist()])
        return above["array"](object_array(result).reshape(chosen.shape))

    def subs(self, values: Mapping[Any, Any]) -> Polynomial:
        """Replace variables (or names) by polynomials or numbers, all at once."""
        return calculus.substitute(self, {to_variable_id(v): coerce(q) for v, q in values.items()})

    # ------------------------------------------------------------------ other forms

    def chop(self, tolerance: float = 1e-8) -> Polynomial:
        """Without the terms whose coefficients are at most ``tolerance`` times the largest one."""
        return rounding.chopped(self, tolerance)

    def rounded(self, digits: int) -> Polynomial:
        """The nearest polynomial whose coefficients have ``digits`` decimals: exact numbers."""
        return rounding.rounded(self, digits)

    def to_sympy(self) -> Any:
        """The same polynomial as an expanded sympy expression: exact coefficients stay exact."""
        return printing.to_sympy(self)

    def _sympy_(self) -> Any:
        return self.to_sympy()

    def conjugate(self) -> Polynomial:
        """The polynomial itself: variables and coefficients are real."""
        return self

    def latex(self) -> str:
        """LaTeX, highest degree first."""
        return printing.polynomial_latex(self)

    def _repr_latex_(self) -> str | None:
        return f"$\\displaystyle {self.latex()}$" if self.coefs.size <= 200 else None

    def __str__(self) -> str:
        return printing.polynomial_text(self)

    def __repr__(self) -> str:
        return printing.polynomial_repr(self)

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __float__(self) -> float:
        if not self.is_constant:
            self.sin()
        return float(self.constant)

    def sin(self) -> NoReturn:
        """What numpy calls for `numpy.sin`, and so for its other functions: none of them is a polynomial."""
        raise TypeError(
            f"{self!r} is a polynomial, not a number; for the sine and cosine of an angle take variables c "
            "and s with c**2 + s**2 == 1, or sd.minimize_trigonometric; for a root of p, r with r**2 == p "
            "and r >= 0; for other functions a polynomial that is close to them (numpy.polynomial)"
        )

    cos = tan = exp = log = sqrt = sin

    def __copy__(self) -> Polynomial:
        return self

    def __deepcopy__(self, memo: dict) -> Polynomial:
        return self

    def __reduce__(self) -> tuple:
        ids = self.variable_ids
        table = np.concatenate(([0], ids))
        local = np.searchsorted(table, self.monos).astype(mono.MONOMIAL)
        names = tuple(variable_name(i) for i in ids.tolist())
        return _restore, (names, local, self.coefs, self.from_floats)


def _restore(
    names: tuple[str, ...], local: np.ndarray, coefs: np.ndarray, from_floats: bool = False
) -> Polynomial:
    """Unpickle: ids are those of this process, whatever they were where the polynomial was pickled."""
    table = np.concatenate(([0], variable_ids(names))).astype(mono.MONOMIAL)
    monos = table[local]
    monos.sort(axis=1)
    keys = mono.keys(monos)
    order = mono.key_order(keys)
    result = Polynomial._make(monos[order], coefs[order], keys[order])
    if from_floats and result.is_exact:
        scale = result.scale()
        return Polynomial._of_whole(result.monos, result.whole(scale), result.keys, scale)
    return result


_variables: dict[int, Polynomial] = {}


def variable(identifier: int) -> Polynomial:
    """The variable with this id as a polynomial."""
    result = _variables.get(identifier)
    if result is None:
        row = np.array([[identifier]], dtype=mono.MONOMIAL)
        result = Polynomial._make(row, np.ones(1, dtype=np.int64), mono.keys(row))
        _variables[identifier] = result
    return result


def coerce(value: Any) -> Polynomial:
    """A polynomial from a polynomial, a number, a string or a sympy expression.

    TypeError for anything else, ValueError for a string that is not a polynomial.
    """
    if isinstance(value, str):
        return above["text"](value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return coerce(value[()])
    operand = _operand(value)
    if operand is None:
        raise TypeError(f"cannot make a polynomial of a {type(value).__name__}")
    return operand


def as_monomial(value: Any) -> Polynomial:
    """A polynomial with a single term of coefficient 1; ValueError for another one."""
    result = coerce(value)
    if result.coefs.size != 1 or result.coefs[0] != 1:
        raise ValueError(f"coefficient() takes one monomial with coefficient 1, not {result!r}")
    return result


def _operand(other: Any) -> Polynomial | None:
    """The other operand of a binary operation as a polynomial; None when it is not a scalar one."""
    if isinstance(other, Polynomial):
        return other
    number = as_number(other)
    if number is not None:
        return Polynomial.of_number(number)
    return (
        Polynomial.from_sympy(other) if hasattr(other, "as_poly") and hasattr(other, "free_symbols") else None
    )


def _apply(other: Any, operation: Callable[[Any], Any], constraints: bool = False) -> Any:
    """An operation with each element of a numpy array; NotImplemented for any other operand."""
    if not isinstance(other, np.ndarray):
        return NotImplemented
    results = object_array(map(operation, other.reshape(-1).tolist())).reshape(other.shape)
    return results if constraints else above["array"](results)


def _add(left: Polynomial, right: Polynomial, negate: bool = False) -> Polynomial:
    """The sum, or with ``negate`` the difference; a chain of sums is merged at its end."""
    chain = left._summands
    if chain is None and left.keys.size >= _CHAIN and right.keys.size * _CHAIN_SHARE <= left.keys.size:
        chain = [left], 1
    if chain is not None and right.keys.size <= _CHAIN:
        summands, count = chain
        if len(summands) == count:  # else another sum went on from here
            last = -right if negate else right
            summands.append(last)
            if summands[count] is last:  # else another thread was faster
                return Polynomial._later(summands, count + 1)
    return add_at_once(left, right, negate)


def add_at_once(left: Polynomial, right: Polynomial, negate: bool = False) -> Polynomial:
    """The sum, or with ``negate`` the difference, merged now."""
    if right.keys.size == 0:
        return left
    if left.keys.size == 0:
        return -right if negate else right
    monos = mono.concatenate([left.monos, right.monos])
    keys = np.concatenate([left.keys, right.keys])
    if left.in_integers and right.in_integers:
        bits = max(left.scale().bits, right.scale().bits) + 1
        if bits < INTEGER_BITS:
            coefs = np.concatenate([left.coefs, -right.coefs if negate else right.coefs])
            first, keys, coefs = merging.merge(keys, coefs, monos)
            return Polynomial._make(*merging.finish(monos[first], coefs, keys), Scale(0, bits))
    return summed(monos, keys, [left, -right if negate else right])
