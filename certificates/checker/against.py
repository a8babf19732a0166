"""Whether a claim is about a given problem file."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from certificates.checker.reading import (
    MAX_BITS,
    MAX_POWER,
    PROBLEM_FORMAT,
    Invalid,
    Meter,
    Monomial,
    Terms,
    Unreadable,
    brief,
    decimal,
    list_of,
)
from certificates.checker.stated import Stated, variables_of

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


def compare(claim: Stated, names: list[str], problem: Any, meter: Meter) -> None:
    """Raise Invalid unless the claim is about the problem: same constraints, objective and question."""
    if not isinstance(problem, dict) or problem.get("format") != PROBLEM_FORMAT:
        found = brief(problem.get("format")) if isinstance(problem, dict) else "no object"
        raise Unreadable(f"problem: expected an object with format {PROBLEM_FORMAT!r}, got {found}")
    variables = variables_of(problem.get("variables"))
    if bool(problem.get("unknowns")) != (claim.kind == "program"):
        raise Invalid("the claim is not about that problem: one has unknown coefficients, the other has none")
    if any(claim.expected) or claim.squares:
        raise Invalid("the claim is about expectations, which a problem file cannot ask for")
    program = claim.kind == "program"
    reader = Expressions(variables + (variables_of(problem["unknowns"]) if program else []), meter)
    senses = [key for key in ("minimize", "maximize", "feasible", "sos") if problem.get(key) is not None]
    if program and senses[-1:] == ["sos"]:
        senses = ["sos"]
    if len(senses) != 1:
        raise Unreadable("problem: needs exactly one of minimize, maximize, feasible, sos")

    def named(terms: Terms) -> Polynomial:
        """The claim's polynomial over the problem's variables (unknown names get numbers of their own)."""
        out: Polynomial = {}
        for monomial, (num, den) in terms.items():
            meter.spend(30)
            for v, _ in monomial:
                reader.index.setdefault(names[v], len(reader.index))
            out[tuple(sorted((reader.index[names[v]], p) for v, p in monomial))] = Fraction(num, den)
        return out

    stated = [reader.constraint(c) for c in list_of(problem.get("subject_to") or [], "problem: subject_to")]
    matrices = [
        tuple(
            tuple(_frozen(reader.read(p)) for p in list_of(row, "problem: psd"))
            for row in list_of(rows, "problem: psd")
        )
        for rows in list_of(problem.get("psd") or [], "problem: psd")
    ]
    question = problem[senses[0]]
    if senses[0] == "sos":
        # A list is several polynomials, unless it is the list of terms of one.
        one = isinstance(question, str) or _looks_like_terms(question)
        wanted = [reader.read(p) for p in ([question] if one else question)]
    else:
        wanted = [] if senses[0] == "feasible" else [reader.read(question)]

    for matrix in [m for m in matrices if len(m) == 1 and len(m[0]) == 1]:
        stated.append((">=", dict(matrix[0][0])))  # a matrix of side 1 is an inequality
        matrices.remove(matrix)
    there = {(k, _direction(p, k == ">=")) for k, p in stated if not _always(k, p)}
    here = [("==", named(p)) for p in claim.equalities] + [(">=", named(p)) for p in claim.inequalities]
    here += [(">=", named(m[0][0])) for m in claim.matrices if len(m) == 1]
    ours = {(k, _direction(p, k == ">=")) for k, p in here if not _always(k, p)}
    if ours - there:
        raise Invalid(
            "the claim is not about that problem: it assumes a constraint the problem does not have"
        )
    if there - ours and not program:
        raise Invalid(
            "the claim is not about that problem: the problem has a constraint the claim leaves out"
        )
    ours_psd = [
        tuple(tuple(_frozen(named(p)) for p in row) for row in rows)
        for rows in claim.matrices
        if len(rows) > 1
    ]
    if not (program and set(ours_psd) <= set(matrices)) and sorted(matrices) != sorted(ours_psd):
        raise Invalid("the claim is not about that problem: the matrix inequalities differ")
    if claim.kind == "infeasible":
        return  # a statement about the constraints alone, whatever the problem asks of them
    if program:
        asked = [key for key in ("minimize", "maximize") if problem.get(key) is not None]
        unknown = {names[v] for v in claim.unknowns}
        same = unknown <= set(problem["unknowns"]) and [named(p) for p in claim.stated] == wanted
        if asked:
            objective = reader.read(problem[asked[0]])
            same = same and asked == [claim.sense] and named(claim.objective) == objective
        if not same:
            raise Invalid("the claim is not about that problem: the polynomials or the objective differ")
        return
    if claim.kind == "no_certificate" and senses[0] == "sos" and wanted == [named(claim.objective)]:
        _same_certificates(claim, problem)
        return  # the answer to the same question is no
    answer = {"minimize": "lower_bound", "maximize": "upper_bound", "sos": "sos"}.get(senses[0])
    if claim.kind != answer:
        raise Invalid(
            f"the claim is not about that problem: a {claim.kind} for a problem that asks {senses[0]}"
        )
    shown = claim.targets if claim.kind == "sos" else [claim.objective]
    if [named(p) for p in shown] != wanted:
        raise Invalid("the claim is not about that problem: the polynomial differs")


def _same_certificates(claim: Stated, problem: dict) -> None:
    """Raise Invalid unless every certificate that the problem asks for is one that the claim excludes."""
    constrained = bool(claim.equalities or claim.inequalities or claim.matrices)
    if not constrained:
        return  # squares of polynomials end at half the degree, whatever degree was asked for
    if problem.get("products", "putinar") != "putinar":
        raise Invalid(
            "the claim is not about that problem: the problem allows products of constraints, and the claim "
            "excludes certificates without them only"
        )
    asked = problem.get("degree")
    if asked is not None and problem_number(asked) > claim.degree:
        raise Invalid(
            f"the claim is not about that problem: the problem asks for degree {problem_number(asked)}, the "
            f"claim is about degree {claim.degree}"
        )


def _looks_like_terms(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(t, list) and len(t) == 2 and isinstance(t[1], dict) for t in value
    )


def _frozen(polynomial: Polynomial) -> tuple:
    return tuple(sorted(polynomial.items()))
