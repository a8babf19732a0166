"""Reading polynomials from text and term lists: exact, in linear time, with nothing evaluated.

The text form is the arithmetic part of Python's syntax: names, integers, decimals, ``+ - * / **`` and
parentheses. Decimals are read exactly. Every limit below keeps hostile input (``1e999999999``,
``(x+y)**100000``, a million parentheses) from costing more than a moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from sosdp.algebra import linear
from sosdp.algebra import monomials as mono
from sosdp.algebra.coefficients import plain
from sosdp.algebra.polynomial import Polynomial, above
from sosdp.algebra.variables import variable_id

MAX_DEPTH = 200  # nested parentheses
MAX_DEGREE = 1000
MAX_DIGITS = 1000  # of one number in the text
MAX_EXPONENT = 1000  # decimal exponent of one number
MAX_BITS = 14_000  # of a numerator or denominator while reading: 4215 digits, fewer than Python prints
MAX_PRODUCTS = 50_000_000  # products of two terms needed to expand what is written in factors
MAX_CELLS = 1 << 26  # terms times degree

_BIG = 1 << 62
_SLOW = 10  # products of numpy in the time of one product of the interpreter

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<operator>\*\*|<=|>=|==|[-+*/()])|(?P<bad>\S)|(?P<end>\Z))"
)
# one plain term, up to the next sign, relation, ')' or the end; atomic groups: nothing is matched twice
_NUMBER = r"(?>(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)"
_SPACE = r"[ \t\r\n]*+"  # all there is: other characters that look like it are refused
_FACTOR = rf"(?>{_NUMBER}|\([ \t]*+[-+]?{_NUMBER}[ \t]*+\)|[^\W\d]\w*+(?:{_SPACE}\*\*{_SPACE}[0-9]++)?)"
_TERM = re.compile(
    rf"{_SPACE}([-+]?){_SPACE}(?>({_FACTOR}(?:{_SPACE}\*(?!\*){_SPACE}{_FACTOR})*+))"
    rf"(?:{_SPACE}/{_SPACE}([0-9]++))?+{_SPACE}(?=[-+)]|[<>=]=|\Z)"
)
_RATIONAL = re.compile(
    rf"{_SPACE}([+-]?)((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?:{_SPACE}/{_SPACE}([0-9]+))?{_SPACE}\Z"
)


class ParseError(ValueError):
    """A text or term list that is not a polynomial; the message is one line."""


# ---------------------------------------------------------------------- numbers


def read_number(text: str) -> int | Fraction:
    """The exact value of an unsigned decimal literal such as ``12``, ``0.5`` or ``1e-3``."""
    if len(text) > MAX_DIGITS + 16:
        raise ParseError(f"a number of {len(text)} characters is too long (at most {MAX_DIGITS} digits)")
    if text.isdigit():
        return int(text)
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(exponent.lstrip("+-0")) > 6 or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise ParseError(f"the exponent of {_clip(text)} is too large (at most {MAX_EXPONENT})")
    shift = int(exponent or 0) - len(fraction)
    digits = int(whole + fraction)
    return digits * 10**shift if shift >= 0 else plain(Fraction(digits, 10**-shift))


def read_rational(text: str) -> int | Fraction:
    """The exact value of a signed decimal or a fraction such as ``-1/3``; ParseError for anything else."""
    match = _RATIONAL.match(text) if len(text) <= 2 * MAX_DIGITS + 32 else None
    if match is None:
        raise ParseError(f"{_clip(text)} is not a number")
    sign, numerator, denominator = match.groups()
    value: int | Fraction = read_number(numerator)
    if denominator is not None:
        divisor = read_number(denominator)
        if divisor == 0:
            raise ParseError(f"division by zero in {_clip(text)}")
        value = plain(Fraction(value) / divisor)
    return -value if sign == "-" else value


def _bounded(value: int | Fraction) -> int | Fraction:
    """The number, or ParseError when its digits get out of hand."""
    if type(value) is int:
        if -_BIG < value < _BIG or value.bit_length() <= MAX_BITS:
            return value
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS:
        return plain(value)  # type: ignore[arg-type]
    raise ParseError("a coefficient has too many digits")


def _clip(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


# ---------------------------------------------------------------------- values while reading


class _Value:
    """``coef * prod(ids) * rest`` with ``rest`` 1 (None) or a sum of terms (coef, ids) and polynomials.

    Factors stay outside the sum until it is added to something, so that a chain of products or sums costs
    each term a bounded number of steps.
    """

    __slots__ = ("coef", "ids", "small", "large")

    def __init__(self, coef: int | Fraction, ids: list[int]) -> None:
        self.coef = coef
        self.ids = ids
        self.small: list[tuple[int | Fraction, list[int]]] | None = None
        self.large: list[Polynomial] = []


class Reader:
    """Reads polynomials over given names, with one budget for all of them.

    ``ids`` maps each allowed name to its id; None allows every identifier.
    """

    def __init__(self, ids: Mapping[str, int] | None = None) -> None:
        self.ids = ids
        self.products = 0

    def polynomial(self, text: str) -> Polynomial:
        """The polynomial written in ``text``."""
        sides, relation = self._read(text)
        if relation is not None:
            raise ParseError(f"expected a polynomial, found a constraint with {relation}")
        return sides[0]

    def constraint(self, text: str) -> tuple[Polynomial, str]:
        """Left minus right side and the relation (``<=``, ``>=`` or ``==``) of the constraint in ``text``."""
        sides, relation = self._read(text)
        if relation is None:
            raise ParseError("expected a constraint with one of <=, >=, ==")
        return sides[0] - sides[1], relation

    def term_list(self, terms: Any) -> Polynomial:
        """The polynomial written as ``[[coefficient, {name: power, ...}], ...]``."""
        if not isinstance(terms, list | tuple):
            raise ParseError(f"expected a list of terms, found {type(terms).__name__}")
        merged: dict[tuple[int, ...], int | Fraction] = {}
        for k, term in enumerate(terms):
            try:
                coef, ids = self._term(term)
            except ParseError as error:
                raise ParseError(f"term {k}: {error}") from None
            _accumulate(merged, ids, coef)
        return assemble(merged)

    # ------------------------------------------------------------------ term lists

    def _term(self, term: Any) -> tuple[int | Fraction, list[int]]:
        if not isinstance(term, list | tuple) or len(term) != 2 or not isinstance(term[1], Mapping):
            raise ParseError('expected [coefficient, {"x": power, ...}]')
        ids: list[int] = []
        for name, power in term[1].items():
            if type(power) is not int or power < 0:
                raise ParseError(f"the power of {_clip(str(name))} must be a non-negative integer")
            if power + len(ids) > MAX_DEGREE:
                raise ParseError(f"the degree exceeds {MAX_DEGREE}")
            ids.extend([self._name(name)] * power)
        return read_coefficient(term[0]), ids

    def _name(self, name: Any) -> int:
        if not isinstance(name, str):
            raise ParseError(f"a variable name must be a string, not {type(name).__name__}")
        if self.ids is None:
            try:
                return variable_id(name)
            except ValueError as error:
                raise ParseError(str(error)) from None
        found = self.ids.get(name)
        if found is None:
            raise ParseError(f"unknown variable {_clip(name)}")
        return found

    # ------------------------------------------------------------------ text

    def _read(self, text: str) -> tuple[list[Polynomial], str | None]:
        """Both sides of a relation, or the one polynomial there is: an operator-precedence parser.

        Runs of plain terms such as ``3*x**2*y`` are read by one regular expression a term (``_run``): that is
        what large files consist of.
        """
        values: list[_Value] = []
        operators: list[str] = []
        sides: list[Polynomial] = []
        relation: str | None = None
        depth = 0
        operand_next = True
        position = 0
        try:
            while True:
                if operand_next and (not operators or operators[-1] == "("):
                    run, position = self._run(text, position)
                    if run is not None:
                        values.append(run)
                        operand_next = False
                match = _TOKEN.match(text, position)
                if match is None:  # unreachable: the pattern matches every character and the end
                    raise ParseError("unreadable text")
                kind = match.lastgroup or ""
                token = match[kind]
                before, position = position, match.end()
                if kind == "end":
                    break
                if kind == "bad":
                    raise ParseError(_explain(token))
                if kind != "operator":
                    if not operand_next:
                        raise ParseError(f"an operator is missing before {_clip(token)}")
                    value = (
                        _Value(read_number(token), []) if kind == "number" else _Value(1, [self._name(token)])
                    )
                    values.append(value)
                    operand_next = False
                elif operand_next:
                    if token == "(":
                        depth += 1
                        if depth > MAX_DEPTH:
                            raise ParseError(f"parentheses are nested deeper than {MAX_DEPTH}")
                        operators.append(token)
                    elif token == "-":
                        # two signs in a row cancel: a long run of them must not cost a pass each
                        if operators and operators[-1] == "neg":
                            operators.pop()
                        else:
                            operators.append("neg")
                    elif token != "+":
                        raise ParseError(f"a value is missing before {token!r}")
                elif token == ")":
                    self._reduce(values, operators, 0)
                    if not operators:
                        raise ParseError("')' without '('")
                    operators.pop()
                    depth -= 1
                elif token == "(":
                    raise ParseError("an operator is missing before '('")
                elif token in _RELATIONS:
                    if depth:
                        raise ParseError(f"{token!r} inside parentheses")
                    if relation is not None:
                        raise ParseError("a constraint has exactly one of <=, >=, ==")
                    relation = token
                    self._reduce(values, operators, 0)
                    sides.append(self._finish(values.pop()))
                    operand_next = True
                else:
                    self._reduce(values, operators, _PRECEDENCE[token])
                    run = None
                    if token in "+-":
                        run, position = self._run(text, before, position)
                    if run is not None:
                        values.append(self._add(values.pop(), run))
                    else:
                        operators.append(token)
                        operand_next = True
            if operand_next:
                raise ParseError(
                    "the text ends where a value is missing" if text.strip() else "the text is empty"
                )
            if depth:
                raise ParseError("'(' without ')'")
            self._reduce(values, operators, 0)
            sides.append(self._finish(values.pop()))
        except ValueError as error:
            raise ParseError(f"{error} (column {max(position, 1)})") from None
        return sides, relation

    def _run(self, text: str, start: int, otherwise: int | None = None) -> tuple[_Value | None, int]:
        """The sum of the plain terms that begin at ``start``, and where it ends.

        (None, ``otherwise``) when there is none.
        """
        terms: list[tuple[int | Fraction, list[int]]] = []
        known = self.ids or {}
        while (match := _TERM.match(text, start)) is not None:
            sign, body, divisor = match.groups()
            coef: int | Fraction = -1 if sign == "-" else 1
            ids: list[int] = []
            for factor in body.replace("**", "^").split("*"):
                factor = factor.strip()
                if factor[0] in "(.0123456789":
                    number = read_number(factor) if factor[0] != "(" else read_rational(factor[1:-1])
                    coef = number * coef if coef in (1, -1) else _bounded(coef * number)
                    continue
                name, _, power = factor.partition("^")
                identifier = known.get(name) or self._name(name.rstrip())
                if not power:
                    ids.append(identifier)
                elif len(power) > 8 or len(ids) + int(power) > MAX_DEGREE:
                    raise ParseError(f"the degree exceeds {MAX_DEGREE}")
                else:
                    ids.extend([identifier] * int(power))
            if divisor is not None:
                number = read_number(divisor)
                if number == 0:
                    raise ParseError("division by zero")
                coef = _bounded(Fraction(coef) / number)
            terms.append((coef, _degree_checked(ids)))
            start = match.end()
        if not terms:
            return None, start if otherwise is None else otherwise
        run = _Value(1, [])
        run.small = terms
        return run, start

    def _reduce(self, values: list[_Value], operators: list[str], precedence: int) -> None:
        """Apply the operators on the stack that bind at least as tightly as the one that comes next."""
        while operators and operators[-1] != "(":
            operator = operators[-1]
            if _PRECEDENCE[operator] < precedence or (operator == "**" and precedence == _PRECEDENCE["**"]):
                return
            operators.pop()
            right = values.pop()
            if operator == "neg":
                right.coef = -right.coef
                values.append(right)
            else:
                values.append(self._apply(operator, values.pop(), right))

    def _apply(self, operator: str, left: _Value, right: _Value) -> _Value:
        if operator == "+":
            return self._add(left, right)
        if operator == "-":
            right.coef = -right.coef
            return self._add(left, right)
        if operator == "*":
            return self._multiply(left, right)
        if operator == "/":
            divisor = self._number(right, "a divisor must be a number")
            if divisor == 0:
                raise ParseError("division by zero")
            left.coef = _bounded(Fraction(left.coef) / divisor)
            return left
        return self._power(left, right)

    def _add(self, left: _Value, right: _Value) -> _Value:
        left, right = self._opened(left), self._opened(right)
        assert left.small is not None and right.small is not None
        if len(left.small) + len(left.large) < len(right.small) + len(right.large):
            left, right = right, left
        assert left.small is not None and right.small is not None
        left.small.extend(right.small)
        left.large.extend(right.large)
        return left

    def _opened(self, value: _Value) -> _Value:
        """The same value as a plain sum, with the factors multiplied in."""
        if value.small is None:
            value.small = [(value.coef, value.ids)]
        elif value.coef != 1 or value.ids:
            coef, ids = value.coef, value.ids
            self._charge(_SLOW * len(value.small))
            value.small = [(_bounded(c * coef), _degree_checked(i + ids)) for c, i in value.small]
            if value.large:
                factor = assemble({tuple(sorted(ids)): coef})
                value.large = [self._product(p, factor) for p in value.large]
        value.coef, value.ids = 1, []
        return value

    def _multiply(self, left: _Value, right: _Value) -> _Value:
        if left.small is None:
            left, right = right, left
        if right.small is not None:
            a, b = self._rest(left), self._rest(right)
            left.small, left.large = [], [self._product(a, b)]
        left.coef = _bounded(left.coef * right.coef)
        left.ids.extend(right.ids)
        _degree_checked(left.ids)
        return left

    def _power(self, base: _Value, exponent: _Value) -> _Value:
        number = self._number(exponent, "an exponent must be a number")
        if number < 0 and not base.ids and (rest := self._rest(self._opened(base))).is_constant:
            base = _Value(Fraction(rest.constant), [])  # a number written as a sum, or in parentheses
        plain = base.small is None and not base.ids
        if type(number) is not int or (number < 0 and not plain):
            raise ParseError("an exponent must be a non-negative integer")
        if number < 0 and base.coef == 0:
            raise ParseError("division by zero")
        size = max(base.coef.numerator.bit_length(), base.coef.denominator.bit_length())
        if size > 1 and size * abs(number) > 2 * MAX_BITS:
            raise ParseError("a coefficient has too many digits")
        result = _Value(base.coef if number >= 0 else Fraction(base.coef), [])
        result.coef = _bounded(result.coef ** min(abs(number), 2 + number % 2 if size <= 1 else abs(number)))
        if number < 0:
            result.coef = _bounded(1 / Fraction(result.coef))
        if number == 0:
            result.coef = 1
            return result
        if len(base.ids) * number > MAX_DEGREE:
            raise ParseError(f"the degree exceeds {MAX_DEGREE}")
        result.ids = base.ids * number if base.ids else []
        if base.small is not None:
            rest = self._rest(base)
            if rest.degree * number > MAX_DEGREE:
                raise ParseError(f"the degree exceeds {MAX_DEGREE}")
            result.small, result.large = [], [self._polynomial_power(rest, number)]
        return result

    def _polynomial_power(self, base: Polynomial, exponent: int) -> Polynomial:
        if base.is_constant:
            value = Fraction(base.constant)
            size = max(value.numerator.bit_length(), value.denominator.bit_length())
            if value not in (0, 1, -1) and size * exponent > 2 * MAX_BITS:
                raise ParseError("a coefficient has too many digits")
            return base**exponent if value not in (0, 1, -1) else base ** (1 + (exponent + 1) % 2)
        result = None
        while True:
            if exponent & 1:
                result = base if result is None else self._product(result, base)
            exponent >>= 1
            if not exponent:
                assert result is not None
                return result
            base = self._product(base, base)

    def _product(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The product, if the budget allows it and the result is not absurdly large."""
        pairs = left.coefs.size * right.coefs.size
        degree = left.degree + right.degree
        if degree > MAX_DEGREE:
            raise ParseError(f"the degree exceeds {MAX_DEGREE}")
        if pairs * max(degree, 1) > 64 * MAX_CELLS:
            raise ParseError("the expanded polynomial is too large; write it out, or build it in Python")
        self._charge(pairs * (1 if left.coefs.dtype == right.coefs.dtype == np.int64 else 5 * _SLOW))
        result = left * right
        if result.monos.size > MAX_CELLS:
            raise ParseError("the expanded polynomial is too large; write it out, or build it in Python")
        if result.coefs.dtype == object:
            for c in result.coefs.tolist():
                _bounded(c)
        return result

    def _charge(self, products: int) -> None:
        self.products += products
        if self.products > MAX_PRODUCTS:
            raise ParseError("expanding the products takes too long; write them out, or build them in Python")

    def _rest(self, value: _Value) -> Polynomial:
        """The sum part of a value as a polynomial."""
        merged: dict[tuple[int, ...], int | Fraction] = {}
        for coef, ids in value.small or ():
            _accumulate(merged, ids, coef)
        small = assemble(merged)
        return linear.total([small, *value.large]) if value.large else small

    def _number(self, value: _Value, complaint: str) -> int | Fraction:
        """The value as a number, which divisors and exponents must be."""
        if value.small is None and not value.ids:
            return value.coef
        p = self._finish(value)
        if not p.is_constant:
            raise ParseError(complaint)
        return p.constant  # type: ignore[return-value]

    def _finish(self, value: _Value) -> Polynomial:
        return self._rest(self._opened(value))


_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "**": 4}
_RELATIONS = ("<=", ">=", "==")


def _explain(character: str) -> str:
    if character == "^":
        return "'^' is not a power: write **"
    if character in "<>=!":
        return f"{character!r} is not a relation: use one of <=, >=, =="
    return f"unexpected character {character!r}"


def _degree_checked(ids: list[int]) -> list[int]:
    if len(ids) > MAX_DEGREE:
        raise ParseError(f"the degree exceeds {MAX_DEGREE}")
    return ids


def _accumulate(merged: dict[tuple[int, ...], int | Fraction], ids: list[int], coef: int | Fraction) -> None:
    if len(ids) > 1:
        ids.sort()
    key = tuple(ids)
    present = merged.get(key)
    merged[key] = coef if present is None else _bounded(present + coef)


def assemble(merged: Mapping[tuple[int, ...], int | Fraction]) -> Polynomial:
    """The polynomial with the given coefficients of sorted monomials; ParseError if it is absurdly large."""
    counts = np.fromiter(map(len, merged), dtype=np.int64, count=len(merged))
    width = max(int(counts.max(initial=0)), 1)
    if counts.size * width > MAX_CELLS:
        raise ParseError(f"a polynomial with {counts.size} terms and degree {width} is too large")
    monos = np.zeros((counts.size, width), dtype=mono.MONOMIAL)
    filled = np.arange(width) >= (width - counts)[:, None]
    monos[filled] = np.fromiter(chain.from_iterable(merged), dtype=mono.MONOMIAL, count=int(counts.sum()))
    try:
        return Polynomial.from_arrays(monos, list(merged.values()))
    except ValueError as error:  # a collision of keys, in a crafted file
        raise ParseError(str(error)) from None


def read_coefficient(value: Any) -> int | Fraction:
    """The exact value of a coefficient in a term list: a number or a rational string."""
    kind = type(value)
    if kind is int:
        return _bounded(value)
    if kind is Fraction:
        return _bounded(value)
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise ParseError(f"a coefficient must be finite, not {value!r}")
        return plain(Fraction(repr(value)))
    if kind is str:
        return read_rational(value)
    if isinstance(value, np.floating | np.integer):
        return read_coefficient(value.item())
    raise ParseError(f"a coefficient must be a number or a rational string, not {kind.__name__}")


def parse(text: str) -> Polynomial:
    """The polynomial written in ``text``; every name in it becomes a variable. ParseError (a ValueError) if
    malformed.
    """
    return Reader().polynomial(text)


above["text"] = parse
