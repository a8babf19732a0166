"""What a problem file states: numbers, polynomials, and the constraints of a set, read exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certificates.checker.reading import (
    MAX_BITS,
    MAX_POWER,
    Meter,
    Monomial,
    Terms,
    Unreadable,
    brief,
    decimal,
    list_of,
)

Polynomial = dict[Monomial, Fraction]
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|[-+*/()]))"
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "keep": 3, "**": 4}


def problem_number(value: Any) -> Fraction:
    """A number of a problem file: an integer, a decimal or p/q, read exactly."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise Unreadable(f"problem: expected a number, got {brief(value)}")
    top, slash, bottom = (value if isinstance(value, str) else repr(value)).strip().partition("/")
    found = Fraction(*decimal(top.strip()))
    if slash:
        divisor = Fraction(*decimal(bottom.strip()))
        if divisor == 0:
            raise Unreadable("problem: division by zero")
        found /= divisor
    return found


class Expressions:
    """Parses the polynomials of a problem file; evaluates nothing but + - * / ** on polynomials."""

    def __init__(self, names: list[str], meter: Meter) -> None:
        self.index = {name: k for k, name in enumerate(names)}
        self.meter = meter

    def _spend(self, count: int, *numbers: Fraction) -> None:
        bits = max((max(n.numerator.bit_length(), n.denominator.bit_length()) for n in numbers), default=0)
        if bits > MAX_BITS:
            raise Unreadable("problem: a coefficient is absurdly long")
        self.meter.spend(count * (60 + (bits >> 3) * (1 + (bits >> 11))))

    def add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The sum; the larger operand is reused, so a sum of n terms costs n steps."""
        if len(left) < len(right):
            left, right = right, left
        for monomial, value in right.items():
            old = left.get(monomial)
            self._spend(1, value, old or value)
            new = value if old is None else old + value
            if new:
                left[monomial] = new
            else:
                left.pop(monomial, None)
        return left

    def multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The product."""
        if left and right:
            longest = [max(p.values(), key=lambda v: abs(v.numerator) + v.denominator) for p in (left, right)]
            self._spend(len(left) * len(right), *longest)
        out: Polynomial = {}
        for a, p in left.items():
            for b, q in right.items():
                powers = dict(a)
                self.meter.spend(len(a) + len(b))
                for v, e in b:
                    powers[v] = powers.get(v, 0) + e
                    if powers[v] > MAX_POWER:
                        raise Unreadable(f"problem: a power above {MAX_POWER}")
                monomial = tuple(sorted(powers.items()))
                new = out.get(monomial, 0) + p * q
                if new:
                    out[monomial] = Fraction(new)
                else:
                    out.pop(monomial, None)
        return out

    def constant(self, value: Polynomial) -> Fraction | None:
        """The value of a constant polynomial; None for others."""
        if not value:
            return Fraction(0)
        return value.get(()) if len(value) == 1 else None

    def power(self, base: Polynomial, exponent: Polynomial) -> Polynomial:
        """A polynomial to an integer power (a number to a negative one too)."""
        count = self.constant(exponent)
        if count is None or count.denominator != 1:
            raise Unreadable("problem: an exponent is not an integer")
        times, number = int(count), self.constant(base)
        if times < 0:
            if not number:
                raise Unreadable("problem: a negative power of something that is not a nonzero constant")
            base, times = {(): 1 / number}, -times
        if times > MAX_POWER:
            raise Unreadable(f"problem: a power above {MAX_POWER}")
        for value in base.values():
            if max(abs(value.numerator), value.denominator).bit_length() * times > MAX_BITS + times:
                raise Unreadable("problem: a coefficient is absurdly long")
        out: Polynomial = {(): Fraction(1)}
        while times:
            if times & 1:
                out = self.multiply(out, base)
            times >>= 1
            if times:
                base = self.multiply(base, base)
        return out

    def divide(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """A polynomial divided by a number."""
        number = self.constant(right)
        if not number:
            raise Unreadable("problem: division by zero or by a polynomial")
        return self.multiply(left, {(): 1 / number})

    def _apply(self, op: str, values: list[Polynomial]) -> None:
        right = values.pop()
        if op in ("negate", "keep"):
            if op == "negate":
                self.meter.spend(len(right))
                right = {m: -v for m, v in right.items()}
            values.append(right)
            return
        left = values.pop()
        if op == "-":
            self.meter.spend(len(right))
            values.append(self.add(left, {m: -v for m, v in right.items()}))
        else:
            step = {"+": self.add, "*": self.multiply, "/": self.divide, "**": self.power}[op]
            values.append(step(left, right))

    def text(self, source: str) -> Polynomial:
        """The polynomial that an expression spells."""
        values: list[Polynomial] = []
        waiting: list[str] = []  # operators and open parentheses; an explicit stack, so depth costs nothing
        position, operand_next = 0, True
        source = source.rstrip()
        while position < len(source):
            match = _TOKEN.match(source, position)
            if not match:
                raise Unreadable(f"problem: cannot read {brief(source[position : position + 20])}")
            position = match.end()
            self.meter.spend(10)
            op = match["op"]
            if op is None or op == "(":
                if not operand_next:
                    raise Unreadable(f"problem: an operator is missing before {brief(match[0].strip())}")
                if op == "(":
                    waiting.append(op)
                    continue
                if match["name"] is not None:
                    if match["name"] not in self.index:
                        raise Unreadable(f"problem: unknown name {brief(match['name'])}")
                    values.append({((self.index[match["name"]], 1),): Fraction(1)})
                else:
                    number = Fraction(*decimal(match["number"]))
                    values.append({(): number} if number else {})
                operand_next = False
            elif operand_next:
                if op not in "+-":
                    raise Unreadable(f"problem: {brief(op)} where a number or a name is expected")
                waiting.append("negate" if op == "-" else "keep")
            elif op == ")":
                while waiting and waiting[-1] != "(":
                    self._apply(waiting.pop(), values)
                if not waiting:
                    raise Unreadable("problem: unbalanced parentheses")
                waiting.pop()
            else:
                level = _PRECEDENCE[op] + (op == "**")  # ** groups to the right
                while waiting and waiting[-1] != "(" and _PRECEDENCE[waiting[-1]] >= level:
                    self._apply(waiting.pop(), values)
                waiting.append(op)
                operand_next = True
        if operand_next or "(" in waiting:
            raise Unreadable("problem: an expression ends too early")
        while waiting:
            self._apply(waiting.pop(), values)
        return values[0]

    def read(self, value: Any) -> Polynomial:
        """Claim, multipliers and names of a certificate."""
        if isinstance(value, str):
            return self.text(value)
        out: Polynomial = {}
        for term in list_of(value, "problem: polynomial"):
            if not isinstance(term, list) or len(term) != 2 or not isinstance(term[1], dict):
                raise Unreadable("problem: a term must be [coefficient, {name: power, ...}]")
            powers = []
            for name, power in term[1].items():
                if name not in self.index:
                    raise Unreadable(f"problem: unknown name {brief(name)}")
                count = problem_number(power)
                if count.denominator != 1 or not 0 <= count <= MAX_POWER:
                    raise Unreadable(
                        f"problem: the power of {brief(name)} is not an integer in 0..{MAX_POWER}"
                    )
                if count:
                    powers.append((self.index[name], int(count)))
            number = problem_number(term[0])
            if number:
                out = self.add(out, {tuple(sorted(powers)): number})
        return out

    def constraint(self, value: Any) -> tuple[str, Polynomial]:
        """("==" or ">=", p) for a constraint p == 0 or p >= 0."""
        if isinstance(value, str):
            parts = re.split(r"(<=|>=|==)", value)
            if len(parts) != 3:
                raise Unreadable("problem: a constraint needs exactly one of <=, >=, ==")
            left, op, right = self.text(parts[0]), parts[1], self.text(parts[2])
            if op == "<=":
                left, right, op = right, left, ">="
            return op, self.add(left, {m: -v for m, v in right.items()})
        if not isinstance(value, list) or len(value) != 2 or value[1] not in (">= 0", "== 0", "<= 0"):
            raise Unreadable('problem: a constraint must be a string, [TERMS, ">= 0"] or [TERMS, "== 0"]')
        polynomial = self.read(value[0])
        if value[1] == "<= 0":
            polynomial = {m: -v for m, v in polynomial.items()}
        return value[1][:2].replace("<", ">"), polynomial


@dataclass
class Constraints:
    """The set that a problem file (or a measure in it) describes: what counts, up to positive factors."""

    plain: set[tuple]
    matrices: list[tuple]


def constraints_in(stated: dict, read: Expressions) -> Constraints:
    """The constraints that an object of a problem file lists."""
    listed = [read.constraint(c) for c in list_of(stated.get("subject_to") or [], "problem: subject_to")]
    matrices = []
    for rows in list_of(stated.get("psd") or [], "problem: psd"):
        matrix = [
            [read.read(p) for p in list_of(row, "problem: psd")] for row in list_of(rows, "problem: psd")
        ]
        if len(matrix) == 1 and len(matrix[0]) == 1:
            listed.append((">=", matrix[0][0]))  # a matrix of side 1 is an inequality
        else:
            matrices.append(tuple(tuple(frozen(p) for p in row) for row in matrix))
    return Constraints(_up_to_factors(listed), matrices)


def constraints_of(
    equalities: list[Polynomial], inequalities: list[Polynomial], matrices: list[list[list[Polynomial]]]
) -> Constraints:
    """The same of constraints that a claim states."""
    listed = [("==", p) for p in equalities] + [(">=", p) for p in inequalities]
    listed += [(">=", rows[0][0]) for rows in matrices if len(rows) == 1]
    several = [rows for rows in matrices if len(rows) > 1]
    return Constraints(
        _up_to_factors(listed), [tuple(tuple(frozen(p) for p in row) for row in rows) for rows in several]
    )


def renamed(terms: Terms, names: list[str], read: Expressions) -> Polynomial:
    """A claim's polynomial over the problem's variables; names the problem lacks get numbers of their own."""
    out: Polynomial = {}
    for monomial, (num, den) in terms.items():
        read.meter.spend(30)
        for v, _ in monomial:
            read.index.setdefault(names[v], len(read.index))
        out[tuple(sorted((read.index[names[v]], p) for v, p in monomial))] = Fraction(num, den)
    return out


def _up_to_factors(listed: list[tuple[str, Polynomial]]) -> set[tuple]:
    return {(k, _direction(p, k == ">=")) for k, p in listed if not _always(k, p)}


def _direction(polynomial: Polynomial, signed: bool) -> tuple:
    """A polynomial up to a positive factor (with `signed` false: up to any nonzero factor), hashable."""
    if not polynomial:
        return ()
    ordered = sorted(polynomial.items())
    lead = ordered[0][1]
    lead = abs(lead) if signed else lead
    return tuple((m, v / lead) for m, v in ordered)


def _always(kind: str, polynomial: Polynomial) -> bool:
    """Whether a constraint holds for trivial reasons, so that leaving it out changes nothing."""
    if not polynomial:
        return True
    return kind == ">=" and polynomial.keys() == {()} and polynomial[()] >= 0


def looks_like_terms(value: Any) -> bool:
    """Whether a value is one polynomial as a list of terms, not a list of polynomials."""
    return isinstance(value, list) and all(
        isinstance(t, list) and len(t) == 2 and isinstance(t[1], dict) for t in value
    )


def frozen(polynomial: Polynomial) -> tuple:
    """The polynomial, hashable."""
    return tuple(sorted(polynomial.items()))
