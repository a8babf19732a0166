"""Sparse multivariate polynomials with exact or float coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import (
    INT_LIMIT,
    SMALL_LIMIT,
    Number,
    are_small,
    as_coefs,
    as_equal_floats,
    as_number,
    floats,
    object_array,
    peak,
    read_as_floats,
    settle,
    shortest_decimal,
)
from sosdp.algebra.coefficients import binary as binary_values
from sosdp.algebra.multiply import multiply
from sosdp.algebra.variables import variable_id, variable_ids, variable_name

if TYPE_CHECKING:
    from sosdp.algebra.array import PolynomialArray
    from sosdp.algebra.constraint import Equality, Inequality

_set = object.__setattr__

_MOST_PRODUCTS = 10**9  # products of two terms in one power: about a minute
_LARGEST_DEGREE = 1 << 24  # a row of a monomial array is as long as the degree

_CHAIN = 64  # from so many terms on, sums with far smaller polynomials are merged later, many at once
_CHAIN_SHARE = 8

_CONSTANT = mono.constant()
_ZERO_KEY = np.zeros(1, dtype=np.uint64)


class Polynomial:
    """An immutable sparse polynomial.

    ``monos`` (t, w) int32: one sorted, left-padded row of variable ids per term; ``keys`` (t,) uint64: the
    additive hash of each row, in increasing order; ``coefs`` (t,): int64, object (Python integers and
    Fractions) or float64. No coefficient is zero; the zero polynomial has t = 0. Exact with exact stays
    exact, float with float is float arithmetic; where they meet nothing exact is rounded (``_across``).
    ``Polynomial(value)`` reads a number, a string or a sympy expression.
    """

    __slots__ = ("monos", "coefs", "keys", "_hash", "_bound", "_second", "_summands")
    __array_ufunc__ = None  # numpy arrays defer to the operators below

    monos: np.ndarray
    coefs: np.ndarray
    keys: np.ndarray
    _hash: int | None
    _bound: int | None  # at least the largest absolute value, for int64 coefficients
    _second: np.ndarray | None  # the second keys, when they were wanted
    # of a sum that was not looked at yet: a list shared by the partial sums of one chain, and how many of its
    # elements are this one's; the arrays are made when they are first read (``__getattr__``)
    _summands: tuple[list[Polynomial], int] | None

    def __new__(cls, value: Any = 0) -> Polynomial:
        return coerce(value)

    @classmethod
    def _make(
        cls, monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray, bound: int | None = None
    ) -> Polynomial:
        """Wrap arrays that already satisfy every invariant of the class; they become read-only."""
        self = object.__new__(cls)
        monos.flags.writeable = False
        coefs.flags.writeable = False
        keys.flags.writeable = False
        _set(self, "monos", monos)
        _set(self, "coefs", coefs)
        _set(self, "keys", keys)
        _set(self, "_hash", None)
        _set(self, "_bound", bound)
        _set(self, "_second", None)
        _set(self, "_summands", None)
        return self

    @classmethod
    def _later(cls, summands: list[Polynomial], count: int) -> Polynomial:
        """The sum of the first elements of a list, which is merged when it is first looked at."""
        self = object.__new__(cls)
        _set(self, "_hash", None)
        _set(self, "_second", None)
        _set(self, "_summands", (summands, count))
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in ("monos", "coefs", "keys", "_bound"):
            raise AttributeError(f"a polynomial has no attribute {name!r}")
        from sosdp.algebra.linear import total

        summands, count = self._summands or ([], 0)
        with np.errstate(over="ignore"):  # infinities are reported by ``finish``
            merged = total(summands[:count])
        for slot in ("monos", "coefs", "keys", "_bound"):
            _set(self, slot, getattr(merged, slot))
        _set(self, "_summands", None)
        return getattr(self, name)

    @classmethod
    def from_arrays(cls, monos: np.ndarray, coefs: Any) -> Polynomial:
        """Polynomial from monomial rows (m, w) of variable ids, 0 for padding, in any order and with
        repetitions.

        ValueError for rows and coefficients that do not match, unknown ids, NaN or infinite coefficients.
        """
        given, numbers = np.asarray(monos), coefs
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"monomial rows hold integer ids, not {given.dtype}")
        monos = np.array(given, dtype=mono.MONOMIAL, ndmin=2)
        coefs = as_coefs(coefs)
        if monos.ndim != 2 or monos.shape[0] != coefs.size:
            raise ValueError(
                f"{coefs.size} coefficients need a monomial array with as many rows, not shape {monos.shape}"
            )
        if monos.size:
            if int(monos.min()) < 0:
                raise ValueError("a variable id is negative")
            largest = int(monos.max())
            if largest:
                variable_name(largest)
        monos.sort(axis=1)
        if monos.shape[1] == 0:
            monos = np.zeros((monos.shape[0], 1), dtype=mono.MONOMIAL)
        found = cls._merged(mono.trim(monos), coefs, mono.keys(monos))
        if coefs.dtype == np.float64 and found.coefs.size < coefs.size and not within_floats(found.coefs):
            if any(type(as_number(c)) is not float for c in numbers):  # an integer may have vanished
                return as_float_again(cls.from_arrays(given, binary_values(coefs)))
        return found

    @classmethod
    def _merged(cls, monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray) -> Polynomial:
        """Polynomial from sorted rows with their keys, in any order and with repetitions."""
        coefs = merging.safe_sum_dtype(coefs, coefs.size)
        first, keys, coefs = merging.merge(keys, coefs, monos)
        return cls._make(*merging.finish(monos[first], coefs, keys))

    @classmethod
    def from_sympy(cls, expression: Any) -> Polynomial:
        """Polynomial from a sympy expression: its symbols become the variables of the same names, exactly."""
        from sosdp.algebra.sympy_bridge import from_sympy

        return from_sympy(expression)

    # ------------------------------------------------------------------ properties

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("polynomials are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("polynomials are immutable")

    def __len__(self) -> int:
        raise TypeError("a polynomial has no len(); the number of its terms is p.coefs.size")

    def __bool__(self) -> bool:
        return self.coefs.size > 0

    def _peak(self, tight: bool = False) -> int:
        """A bound on the absolute values of the coefficients if they are int64, the best one if ``tight``."""
        if self._bound is None or tight:
            _set(self, "_bound", peak(self.coefs) or 0)
        return self._bound  # type: ignore[return-value]

    def _is_small(self) -> bool:
        """Whether the coefficients are integers below 2**53."""
        return self.coefs.dtype == np.int64 and (
            self._peak() < SMALL_LIMIT or self._peak(tight=True) < SMALL_LIMIT
        )

    @property
    def second_keys(self) -> np.ndarray:
        """Keys of the rows from the secret weights of this process, by which ``keys`` are checked."""
        if self._second is None:
            _set(self, "_second", mono.second_keys(self.monos))
        return self._second  # type: ignore[return-value]

    @property
    def degree(self) -> int:
        """Total degree; 0 for constants, the zero polynomial included."""
        return 0 if self.is_constant else self.monos.shape[1]

    @property
    def variable_ids(self) -> np.ndarray:
        """Sorted ids of the variables that occur, int32."""
        return merging.distinct_ids(self.monos)

    @property
    def variables(self) -> tuple[Polynomial, ...]:
        """The variables that occur, ordered by id (the order in which they were first named)."""
        return tuple(variable(i) for i in self.variable_ids.tolist())

    @property
    def is_exact(self) -> bool:
        """Whether the coefficients are integers and fractions, not floats."""
        return self.coefs.dtype != np.float64

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs."""
        return self.coefs.size == 0 or (self.coefs.size == 1 and self.monos.item(-1) == 0)

    @property
    def is_variable(self) -> bool:
        """Whether this is a single variable with coefficient 1."""
        return self.monos.shape == (1, 1) and bool(self.coefs[0] == 1) and bool(self.monos[0, 0])

    @property
    def constant(self) -> Number:
        """Coefficient of the monomial 1."""
        position = int(np.searchsorted(self.keys, np.uint64(0)))
        if position < self.keys.size and self.keys[position] == 0 and not self.monos[position].any():
            return _item(self.coefs, position)
        return 0

    @property
    def name(self) -> str:
        """Name of the variable; ValueError when the polynomial is not a single variable."""
        if not self.is_variable:
            raise ValueError(f"{self!r} is not a variable")
        return variable_name(int(self.monos[0, 0]))

    def coefficient(self, monomial: Any) -> Number:
        """Coefficient of one monomial, given as a polynomial with a single term of coefficient 1."""
        wanted = coerce(monomial)
        if wanted.coefs.size != 1 or wanted.coefs[0] != 1:
            raise ValueError(f"coefficient() takes one monomial with coefficient 1, not {wanted!r}")
        position = int(np.searchsorted(self.keys, wanted.keys[0]))
        if position < self.keys.size and self.keys[position] == wanted.keys[0]:
            if not mono.same(self.monos[position : position + 1], wanted.monos)[0]:
                return 0  # another monomial with the same key: no two are in one polynomial
            return _item(self.coefs, position)
        return 0

    def terms(self) -> Iterator[tuple[Number, dict[str, int]]]:
        """The terms as (coefficient, {variable name: power}), highest degree first, then lexicographic."""
        order = display_order(self.monos)
        for row, coef in zip(self.monos[order].tolist(), self.coefs[order].tolist()):
            powers: dict[str, int] = {}
            for identifier in row:
                if identifier:
                    name = variable_name(identifier)
                    powers[name] = powers.get(name, 0) + 1
            yield coef, powers

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: self + q)
        return _add(self, operand)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: self - q)
        return _add(self, operand, negate=True)

    def __rsub__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: q - self)
        return _add(operand, self, negate=True)

    def __neg__(self) -> Polynomial:
        return self._make(self.monos, -self.coefs, self.keys, self._bound)

    def __pos__(self) -> Polynomial:
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Polynomial):
            return _multiply(self, other)
        number = as_number(other)
        if number is not None:
            return self._scaled(number)
        operand = _operand(other)
        return _apply(other, lambda q: self * q) if operand is None else _multiply(self, operand)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def _scaled(self, number: Number) -> Polynomial:
        """This polynomial times a number."""
        floating = self.coefs.dtype == np.float64
        if number == 1 and (type(number) is int or floating):
            return self
        small = type(number) is int and -SMALL_LIMIT < number < SMALL_LIMIT if floating else self._is_small()
        if floating != (type(number) is float) and not small:
            return _across(self, constant(number), _multiply)
        if floating or type(number) is float:
            with np.errstate(over="ignore"):  # infinities are reported by ``finish``
                coefs = self.coefs * float(number)
        elif (
            type(number) is int
            and self.coefs.dtype == np.int64
            and max(self._peak(), 1) * abs(number) < INT_LIMIT
        ):
            coefs = self.coefs * number
        else:
            coefs = self.coefs.astype(object) * number
        return self._make(*merging.finish(self.monos, coefs, self.keys))

    def __truediv__(self, other: Any) -> Any:
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
        floating = self.coefs.dtype == np.float64
        small = type(number) is int and -SMALL_LIMIT < number < SMALL_LIMIT if floating else self._is_small()
        if floating != (type(number) is float) and not small:
            return _across(self, constant(number), Polynomial.__truediv__)
        if floating or type(number) is float:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                coefs = self.coefs / float(number)
        else:
            coefs = object_array(exact_quotient(c, number) for c in self.coefs.tolist())
        return self._make(*merging.finish(self.monos, coefs, self.keys))

    def __rtruediv__(self, other: Any) -> Any:
        if not self.is_constant:
            raise TypeError(
                "a polynomial can be divided by a number only: division by a polynomial is not defined "
                "(sd.minimize_ratios([(p, q)], system) bounds the ratio p/q)"
            )
        return coerce(other) / self.constant if _operand(other) is not None else NotImplemented

    def __pow__(self, exponent: Any) -> Polynomial:
        if type(exponent) is not int:
            if isinstance(exponent, Polynomial) and exponent.is_constant:
                exponent = exponent.constant
            number = as_number(exponent)
            if type(number) is float and number.is_integer():
                number = int(number)
            if type(number) is not int:
                raise ValueError(
                    f"the power of a polynomial must be a non-negative integer, not {exponent!r}"
                )
            exponent = number
        if exponent < 0:
            raise ValueError(f"the power of a polynomial must be a non-negative integer, not {exponent!r}")
        return _power(self, exponent)

    # ------------------------------------------------------------------ comparisons

    def __le__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: self <= q, constraints=True)
        return _inequality(_add(operand, self, negate=True))

    def __ge__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: self >= q, constraints=True)
        return _inequality(_add(self, operand, negate=True))

    def __lt__(self, other: Any) -> Any:
        raise TypeError("strict inequalities are not supported: use <= or >=, or add a margin yourself")

    __gt__ = __lt__

    def __eq__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: self == q, constraints=True)
        return self.equals(operand)

    def __ne__(self, other: Any) -> Any:
        operand = _operand(other)
        if operand is None:
            return _apply(other, lambda q: bool(self != q), constraints=True)
        return not self.equals(operand)

    def __hash__(self) -> int:
        if self._hash is None:
            if self.is_constant:
                value = hash(self.constant)
            else:
                value = hash((self.keys.tobytes(), tuple(map(hash, self.coefs.tolist()))))
            _set(self, "_hash", value)
        return self._hash  # type: ignore[return-value]

    def equals(self, other: Any) -> Equality:
        """The constraint that this polynomial equals ``other`` (a polynomial or number)."""
        from sosdp.algebra.constraint import Equality

        other = coerce(other)
        difference = _add(self, other, negate=True)
        same = not difference
        if (
            same and self.is_exact != other.is_exact
        ):  # a float and a fraction that rounds to it are not the same
            same = self.coefs.tolist() == other.coefs.tolist()
        return Equality(difference, same)

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
        from sosdp.algebra.evaluate import evaluate

        return evaluate(self, points)

    def diff(self, variable: Any, order: int = 1) -> Polynomial:
        """Partial derivative with respect to a variable (or its name), ``order`` times."""
        from sosdp.algebra.calculus import diff

        return diff(self, variable, order)

    def gradient(self, variables: Any = None) -> PolynomialArray:
        """Array of partial derivatives with respect to ``variables`` (default: those that occur)."""
        from sosdp.algebra.calculus import gradient

        return gradient(self, variables)

    def subs(self, values: Mapping[Any, Any]) -> Polynomial:
        """Replace variables (or names) by polynomials or numbers, all at once."""
        from sosdp.algebra.calculus import substitute

        return substitute(self, values)

    def as_float(self) -> Polynomial:
        """The same polynomial with float64 coefficients; ValueError if one is too large for a float."""
        if not self.is_exact:
            return self
        return self._make(*merging.finish(self.monos, floats(self.coefs), self.keys))

    def as_exact(self, binary: bool = False) -> Polynomial:
        """The same polynomial with exact coefficients: a float is read as the shortest decimal that denotes
        it, or, with ``binary``, as the binary number that it is.
        """
        if self.is_exact:
            return self
        if binary:
            return self._make(self.monos, binary_values(self.coefs), self.keys)
        coefs = settle(object_array(map(shortest_decimal, self.coefs.tolist())))
        return self._make(self.monos, coefs, self.keys)

    # ------------------------------------------------------------------ other forms

    def to_sympy(self) -> Any:
        """The same polynomial as an expanded sympy expression: exact coefficients stay exact."""
        from sosdp.algebra.sympy_bridge import to_sympy

        return to_sympy(self)

    def _sympy_(self) -> Any:
        return self.to_sympy()

    def conjugate(self) -> Polynomial:
        """The polynomial itself: variables and coefficients are real."""
        return self

    def latex(self) -> str:
        """LaTeX, highest degree first."""
        from sosdp.algebra.printing import polynomial_latex

        return polynomial_latex(self)

    def _repr_latex_(self) -> str | None:
        return f"$\\displaystyle {self.latex()}$" if self.coefs.size <= 200 else None

    def __str__(self) -> str:
        from sosdp.algebra.printing import polynomial_text

        return polynomial_text(self)

    def __repr__(self) -> str:
        from sosdp.algebra.printing import polynomial_repr

        return polynomial_repr(self)

    def __float__(self) -> float:
        if not self.is_constant:
            raise TypeError(
                f"{self!r} is not a number; for the sine and cosine of an angle take variables c and s with "
                "c**2 + s**2 == 1, or sd.minimize_trigonometric"
            )
        return float(self.constant)

    def __copy__(self) -> Polynomial:
        return self

    def __deepcopy__(self, memo: dict) -> Polynomial:
        return self

    def __reduce__(self) -> tuple:
        ids = self.variable_ids
        table = np.concatenate(([0], ids))
        local = np.searchsorted(table, self.monos).astype(mono.MONOMIAL)
        return _restore, (tuple(variable_name(i) for i in ids.tolist()), local, self.coefs)


def _restore(names: tuple[str, ...], local: np.ndarray, coefs: np.ndarray) -> Polynomial:
    """Unpickle: ids are those of this process, whatever they were where the polynomial was pickled."""
    table = np.concatenate(([0], variable_ids(names))).astype(mono.MONOMIAL)
    monos = table[local]
    monos.sort(axis=1)
    keys = mono.keys(monos)
    order = mono.key_order(keys)
    return Polynomial._make(monos[order], coefs[order], keys[order])


def _item(coefs: np.ndarray, position: int) -> Number:
    value = coefs[position]
    return value if coefs.dtype == object else value.item()


def exact_quotient(numerator: Any, denominator: Any) -> Any:
    """The exact quotient of two integers or Fractions, an int when it is one."""
    from fractions import Fraction

    quotient = Fraction(numerator) / denominator
    return quotient.numerator if quotient.denominator == 1 else quotient


def display_order(monos: np.ndarray) -> np.ndarray:
    """Positions of the rows in reading order: highest degree first, then lexicographic in the variables."""
    columns = [monos[:, j] for j in range(monos.shape[1] - 1, -1, -1)]
    return np.lexsort([*columns, -mono.degrees(monos)])


_variables: dict[int, Polynomial] = {}


def variable(identifier: int) -> Polynomial:
    """The variable with this id as a polynomial."""
    found = _variables.get(identifier)
    if found is None:
        row = np.array([[identifier]], dtype=mono.MONOMIAL)
        found = Polynomial._make(row, np.ones(1, dtype=np.int64), mono.keys(row))
        _variables[identifier] = found
    return found


def constant(number: Number) -> Polynomial:
    """The constant polynomial with this value."""
    if number == 0:
        kind = np.float64 if type(number) is float else np.int64
        return Polynomial._make(_CONSTANT[:0], np.zeros(0, dtype=kind), _ZERO_KEY[:0])
    if type(number) is int and -INT_LIMIT < number < INT_LIMIT:
        return Polynomial._make(_CONSTANT, np.array([number]), _ZERO_KEY, abs(number))
    return Polynomial._make(_CONSTANT, as_coefs([number]), _ZERO_KEY)


def coerce(value: Any) -> Polynomial:
    """A polynomial from a polynomial, a number, a string or a sympy expression.

    TypeError for anything else, ValueError for a string that is not a polynomial.
    """
    if isinstance(value, Polynomial):
        return value
    if isinstance(value, str):
        from sosdp.algebra.parse import parse

        return parse(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return coerce(value[()])
    number = as_number(value)
    if number is not None:
        return constant(number)
    if hasattr(value, "free_symbols") and hasattr(value, "as_poly"):
        return Polynomial.from_sympy(value)
    raise TypeError(f"cannot make a polynomial of a {type(value).__name__}")


def to_variable_id(value: Any) -> int:
    """Id of a variable given as a polynomial or by name; TypeError or ValueError for anything else."""
    if isinstance(value, str):
        return variable_id(value)
    if isinstance(value, Polynomial):
        if value.is_variable:
            return int(value.monos[0, 0])
        raise ValueError(f"{value!r} is not a variable")
    if hasattr(value, "free_symbols"):
        return to_variable_id(coerce(value))
    raise TypeError(f"expected a variable or its name, not {type(value).__name__}")


def _operand(other: Any) -> Polynomial | None:
    """The other operand of a binary operation as a polynomial; None when it is not a scalar one."""
    if isinstance(other, Polynomial):
        return other
    number = as_number(other)
    if number is not None:
        return constant(number)
    return (
        Polynomial.from_sympy(other) if hasattr(other, "as_poly") and hasattr(other, "free_symbols") else None
    )


def _apply(other: Any, operation: Callable[[Any], Any], constraints: bool = False) -> Any:
    """An operation with each element of a numpy array; NotImplemented for any other operand."""
    if not isinstance(other, np.ndarray):
        return NotImplemented
    from sosdp.algebra.array import PolynomialArray

    result = np.empty(other.shape, dtype=object)
    result.reshape(-1)[:] = [operation(q) for q in other.reshape(-1).tolist()]
    return result if constraints else result.view(PolynomialArray)


def _add(left: Polynomial, right: Polynomial, negate: bool = False) -> Polynomial:
    """The sum, or with ``negate`` the difference; a chain of sums is merged at its end."""
    chain = left._summands
    if chain is None and left.coefs.size >= _CHAIN and right.coefs.size * _CHAIN_SHARE <= left.coefs.size:
        chain = [left], 1
    if chain is not None and right.coefs.size <= _CHAIN:
        summands, count = chain
        if len(summands) == count:  # else another sum went on from here
            last = -right if negate else right
            summands.append(last)
            if summands[count] is last:  # else another thread was faster
                return Polynomial._later(summands, count + 1)
    return add_at_once(left, right, negate)


def add_at_once(left: Polynomial, right: Polynomial, negate: bool = False) -> Polynomial:
    """The sum, or with ``negate`` the difference, merged now."""
    if right.coefs.size == 0 and (right.is_exact or not left.is_exact):
        return left
    if left.coefs.size == 0 and (left.is_exact or not right.is_exact):
        return -right if negate else right
    a, b = left.coefs, right.coefs
    mixed = a.dtype != b.dtype and np.float64 in (a.dtype, b.dtype)
    if mixed and not _are_small(left, right):
        return _across(left, right, lambda p, q: add_at_once(p, q, negate))
    bound = _bound(left, right, lambda p, q: p + q)
    if bound is not None and bound >= INT_LIMIT:
        a = a.astype(object)
    coefs = np.concatenate([a, -b if negate else b])
    width = max(left.monos.shape[1], right.monos.shape[1])
    monos = np.concatenate([mono.pad(left.monos, width), mono.pad(right.monos, width)])
    first, keys, coefs = merging.merge(np.concatenate([left.keys, right.keys]), coefs, monos)
    if mixed and coefs.size < a.size + b.size and not within_floats(coefs):
        return _across(left, right, lambda p, q: add_at_once(p, q, negate))
    return Polynomial._make(*merging.finish(monos[first], coefs, keys), bound)


def _are_small(left: Polynomial, right: Polynomial) -> bool:
    """Whether the exact one of two polynomials has integers below 2**53 only.

    These are floats, and what is done with them and floats is the user's float arithmetic, unless a sum
    leaves these bounds, where a summand could vanish.
    """
    return (left if left.is_exact else right)._is_small()


def small_with_floats(polynomials: Sequence[Polynomial], weights: np.ndarray | None = None) -> bool | None:
    """Of polynomials, and numbers that multiply them: None if all are exact or all are float.

    Otherwise whether the exact ones are integers below 2**53.
    """
    exact = [p for p in polynomials if p.coefs.dtype != np.float64]
    floats_too = len(exact) < len(polynomials)
    numbers = weights is not None and weights.dtype != np.float64
    if weights is not None and not numbers:
        floats_too = True
    if not floats_too or not (exact or numbers):
        return None
    return all(p._is_small() for p in exact) and (weights is None or not numbers or are_small(weights))


def _across(left: Polynomial, right: Polynomial, operation: Callable[[Any, Any], Polynomial]) -> Polynomial:
    """An operation between an exact polynomial and a float one, done exactly: a float is the binary number
    that it is. The result is float again if that rounds no coefficient.
    """
    exact = left if left.is_exact else right
    precise = operation(left.as_exact(binary=True), right.as_exact(binary=True))
    return as_float_again(precise) if read_as_floats(exact.coefs) else precise


def within_floats(coefs: np.ndarray) -> bool:
    """Whether sums with integers are smaller than 2**53."""
    return coefs.size == 0 or -SMALL_LIMIT < coefs.min() <= coefs.max() < SMALL_LIMIT


def as_float_again(p: Polynomial) -> Polynomial:
    """An exact polynomial with float coefficients if these are the same numbers, else as it is."""
    coefs = as_equal_floats(p.coefs)
    return p if coefs is None else Polynomial._make(p.monos, coefs, p.keys)


def _bound(left: Polynomial, right: Polynomial, combine: Callable[[int, int], int]) -> int | None:
    """A bound on the coefficients of a sum or product of polynomials; None if they are not both int64."""
    if left.coefs.dtype != np.int64 or right.coefs.dtype != np.int64:
        return None
    bound = combine(left._peak(), right._peak())
    return bound if bound < INT_LIMIT else combine(left._peak(tight=True), right._peak(tight=True))


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    if left.is_constant:
        return right._scaled(left.constant if left or left.is_exact else 0.0)
    if right.is_constant:
        return left._scaled(right.constant if right or right.is_exact else 0.0)
    if left.is_exact != right.is_exact:
        if not _are_small(left, right):
            return _across(left, right, _multiply)
        left, right = left.as_float(), right.as_float()
    fewer = min(left.coefs.size, right.coefs.size)
    bound = _bound(left, right, lambda p, q: p * q * fewer)
    return Polynomial._make(*merging.finish(*multiply(left, right, bound)), bound)


def _power(base: Polynomial, exponent: int) -> Polynomial:
    """The power with a non-negative integer exponent, by repeated squaring."""
    if exponent == 0:
        return constant(1)
    if base.coefs.size <= 1:
        if not base:
            return base
        try:
            factor = base.coefs.tolist()[0] ** exponent
        except OverflowError:
            raise ValueError("a coefficient overflows in this power: rescale, or use exact numbers") from None
        if base.is_constant:
            return constant(factor)
        if base.degree * exponent > _LARGEST_DEGREE:
            raise ValueError(f"a power of degree {base.degree * exponent} is too large")
        row = np.repeat(base.monos, exponent, axis=1)
        return Polynomial._make(*merging.finish(row, as_coefs([factor]), mono.keys(row)))
    result: Polynomial | None = None
    products = 0
    while True:
        if exponent & 1:
            products += 0 if result is None else result.coefs.size * base.coefs.size
            _check_size(products)
            result = base if result is None else _multiply(result, base)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        products += base.coefs.size**2
        _check_size(products)
        base = _multiply(base, base)


def _check_size(products: int) -> None:
    if products > _MOST_PRODUCTS:
        raise ValueError(
            f"this power needs more than {_MOST_PRODUCTS:.0e} products of two terms: the expanded polynomial "
            "is too large"
        )


def _inequality(difference: Polynomial) -> Inequality:
    from sosdp.algebra.constraint import Inequality

    return Inequality(difference)
