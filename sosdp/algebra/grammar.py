"""The grammar of texts: the arithmetic part of Python's syntax, and numbers that are read exactly.

Names, integers, decimals, ``+ - * / **``, parentheses, and one relation; nothing is evaluated. What values
are, subclasses of ``Grammar`` say: commuting polynomials (``parse``), polynomials in operators, Chebyshev
series. Every limit keeps hostile input (``1e999999999``, ``(x+y)**100000``, a million parentheses) from
costing more than a moment.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

from sosdp.algebra.coefficients import plain

MAX_DEPTH = 200  # nested parentheses
MAX_DIGITS = 1000  # of one number in the text
MAX_EXPONENT = 1000  # decimal exponent of one number
MAX_BITS = 14_000  # of a numerator or denominator while reading: 4215 digits, fewer than Python prints
_BIG = 1 << 62
_MOST_FACTORS = 64  # of a power, where values are not those of ``parse``
_MOST_PAIRS, _MOST_IN_ALL = 100_000, 300_000  # of terms in a product, and in all of a file, likewise
RELATIONS = ("<=", ">=", "==")
NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RATIONAL = re.compile(rf"[ \t\r\n]*+([+-]?)({NUMBER})(?:[ \t\r\n]*+/[ \t\r\n]*+([0-9]+))?[ \t\r\n]*+\Z")


def tokens(number: str = "", part: str = "(?!)") -> re.Pattern[str]:
    """The pattern of one token: ``number``: what may end a number; ``part``: what follows a name."""
    return re.compile(
        rf"[ \t\r\n]*(?:(?P<number>{NUMBER}{number})|(?P<name>[^\W\d]\w*)|(?P<part>{part})"
        r"|(?P<operator>\*\*|<=|>=|==|[-+*/()])|(?P<bad>[^ \t\r\n])|(?P<end>\Z))"
    )


class ParseError(ValueError):
    """A text or term list that is not a polynomial; the message is one line."""


def read_number(text: str) -> int | Fraction:
    """The exact value of an unsigned decimal literal such as ``12``, ``0.5`` or ``1e-3``."""
    if len(text) > MAX_DIGITS + 16:
        raise ParseError(f"a number of {len(text)} characters is too long (at most {MAX_DIGITS} digits)")
    if text.isdigit():
        return int(text)
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(exponent.lstrip("+-0")) > 6 or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise ParseError(f"the exponent of {clip(text)} is too large (at most {MAX_EXPONENT})")
    shift = int(exponent or 0) - len(fraction)
    digits = int(whole + fraction)
    return digits * 10**shift if shift >= 0 else plain(Fraction(digits, 10**-shift))


def read_rational(text: str) -> int | Fraction:
    """The exact value of a signed decimal or a fraction such as ``-1/3``; ParseError for anything else."""
    match = _RATIONAL.match(text) if len(text) <= 2 * MAX_DIGITS + 32 else None
    if match is None:
        raise ParseError(f"{clip(text)} is not a number")
    sign, numerator, denominator = match.groups()
    return divided(read_number(numerator) * (-1 if sign == "-" else 1), read_number(denominator or "1"))


def divided(value: int | Fraction, divisor: int | Fraction) -> int | Fraction:
    """The quotient; ParseError for a division by zero or too many digits."""
    if divisor == 0:
        raise ParseError("division by zero")
    return value if divisor == 1 else bounded(Fraction(value) / divisor)


def bounded(value: int | Fraction) -> int | Fraction:
    """The number, or ParseError when its digits get out of hand."""
    if type(value) is int:
        if -_BIG < value < _BIG or value.bit_length() <= MAX_BITS:
            return value
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS:
        return plain(value)  # type: ignore[arg-type]
    raise ParseError("a coefficient has too many digits")


def number_power(base: int | Fraction, exponent: int) -> int | Fraction:
    """The power of a number with an integer exponent; ParseError before one with too many digits is made."""
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size > 1 and size * abs(exponent) > 2 * MAX_BITS:
        raise ParseError("a coefficient has too many digits")
    times = abs(exponent) if size > 1 else min(abs(exponent), 2 + exponent % 2)  # of 0, 1 and -1
    power = bounded(base**times)
    return divided(1, power) if exponent < 0 else power


def clip(text: str) -> str:
    """The text as a complaint shows it."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _explain(character: str) -> str:
    if character == "^":
        return "'^' is not a power: write **"
    if character in "<>=!":
        return f"{character!r} is not a relation: use one of <=, >=, =="
    return f"unexpected character {character!r}"


class Grammar(ABC):
    """Reads sums of products of factors by recursive descent; values are Python's objects with operators.

    A subclass says what names are (``_named``); ``parse.Reader`` has values of its own.
    """

    _tokens: ClassVar[re.Pattern[str]] = tokens()
    _most_degree: ClassVar[int] = 1000
    _text = _kind = _token = ""
    _start = _end = _pairs = 0

    def read(self, text: str) -> tuple[list[Any], str | None]:
        """Both sides of a relation with it, or the one value there is; ParseError names the column."""
        self._text, self._end = text, 0
        try:
            self._next()
            sides, relation = [self._sum(0)], None
            if self._token in RELATIONS:
                relation = self._token
                self._next()
                sides.append(self._sum(0))
            if self._kind != "end":
                self._stray("a constraint has exactly one of <=, >=, ==")
        except ValueError as error:
            raise ParseError(f"{error} (column {max(self._end, 1)})") from None
        return sides, relation

    def value(self, text: str) -> Any:
        """The value written in ``text``."""
        sides, relation = self.read(text)
        if relation is not None:
            raise ParseError(f"expected a polynomial, found a constraint with {relation}")
        return sides[0]

    # ------------------------------------------------------------------ what is written

    def _next(self) -> None:
        match = self._tokens.match(self._text, self._end)
        assert match is not None  # the pattern matches every character and the end
        self._kind = match.lastgroup or ""
        self._token, self._start, self._end = match[self._kind], self._end, match.end()
        if self._kind == "bad":
            raise ParseError(_explain(self._token))

    def _stray(self, relation: str) -> NoReturn:
        """Refuse what stands where an operator or an end is expected."""
        if self._token in RELATIONS:
            raise ParseError(relation)
        raise ParseError(
            "'(' without ')'" if self._kind == "end"
            else "')' without '('" if self._token == ")"
            else f"an operator is missing before {clip(self._token)}"
        )  # fmt: skip

    def _sum(self, depth: int) -> Any:
        values: list[Any] = []
        while True:
            value = self._factor(depth)
            while self._token in ("*", "/"):
                combine = self._times if self._token == "*" else self._over
                self._next()
                value = combine(value, self._factor(depth))
            values.append(value)
            if self._token not in ("+", "-"):
                return values[0] if len(values) == 1 else self._total(values)

    def _factor(self, depth: int) -> Any:
        """A value with its signs, or a power."""
        negative = False
        while self._token in ("+", "-"):
            negative ^= self._token == "-"
            self._next()
        kind, token = self._kind, self._token
        if kind == "number":
            self._next()
            value = self._number(token)
        elif kind == "name":
            self._next()
            value = self._named(token, depth)
        elif token == "(":
            value = self._inside(depth)
        elif kind == "end":
            raise ParseError(
                "the text ends where a value is missing" if self._text.strip() else "the text is empty"
            )
        else:
            raise ParseError(f"a value is missing before {token!r}")
        if self._token == "**":
            self._deeper(depth)
            value = self._power(value, self._factor(depth + 1))
        return self._times(self._number("1"), value, -1) if negative else value

    def _inside(self, depth: int) -> Any:
        """The value in parentheses, which begin here."""
        self._deeper(depth)
        value = self._sum(depth + 1)
        if self._token != ")":
            self._stray(f"{self._token!r} inside parentheses")
        self._next()
        return value

    def _deeper(self, depth: int) -> None:
        if depth == MAX_DEPTH:
            raise ParseError(f"parentheses are nested deeper than {MAX_DEPTH}")
        self._next()

    # ------------------------------------------------------------------ what it means

    @abstractmethod
    def _named(self, name: str, depth: int) -> Any:
        """The value of a name, behind which the text goes on."""

    def _number(self, text: str) -> Any:
        return read_number(text)

    def _times(self, left: Any, right: Any, sign: int = 1) -> Any:
        """The product with a sign; ParseError before one that takes long is made."""
        if not (hasattr(left, "terms") and hasattr(right, "terms")):
            product = left * right * sign
            return bounded(product) if isinstance(product, int | Fraction) else product
        pairs = len(left.terms) * len(right.terms)
        self._pairs += pairs
        if (
            pairs > _MOST_PAIRS
            or self._pairs > _MOST_IN_ALL
            or left.degree + right.degree > self._most_degree
        ):
            raise ParseError(
                f"a product has at most {self._most_degree} letters in a word and {_MOST_PAIRS} products of "
                f"terms, all of a file {_MOST_IN_ALL}"
            )
        return left * right * sign

    def _over(self, left: Any, right: Any) -> Any:
        if not isinstance(right, int | Fraction):
            raise ParseError("a divisor must be a number")
        return self._times(left, divided(1, right))

    def _power(self, base: Any, exponent: Any) -> Any:
        if isinstance(base, int | Fraction) and isinstance(exponent, int):
            return number_power(base, exponent)
        if type(exponent) is not int or not 0 <= exponent <= _MOST_FACTORS:
            raise ParseError(f"a power is an integer from 0 to {_MOST_FACTORS}")
        power: Any = 1
        for _ in range(exponent):
            power = self._times(power, base)
        return power

    def _total(self, values: list[Any]) -> Any:
        """The sum, in halves: what is added up is copied."""
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        return self._total(values[:half]) + self._total(values[half:])
