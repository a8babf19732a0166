"""The kernel: what a theorem is, and the only ways of making one.  Read this file and trust nothing else.

    python kernel.py PROBLEM.sos.json PROOF.json

A `Theorem` says that a polynomial is nonnegative (or zero) at every real point that meets its hypotheses;
some variables may be moments of measures.  Each rule that makes one is a line of mathematics, its docstring.
`state` reads a problem and says what there is to prove, `settle` compares that with theorems, and `replay`
applies the rules as a certificate says: a wrong multiplier makes the last comparison fail.
No floats, no tolerances.  Values are made by the rules, hold immutable ones and never change; arguments have
exact types and are read once.  (Python has no walls: private names of this file break it.)
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from math import gcd, lcm
from pathlib import Path
from types import MappingProxyType
from typing import Any

_KEY = object()  # it makes values
NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,199}")
_NUMERAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?0*(?:1000|[0-9]{1,3})(?![0-9]))?"
_NUMBER = re.compile(rf"[ \t\r\n]*([-+]?{_NUMERAL})[ \t\r\n]*(?:/[ \t\r\n]*([0-9]+)[ \t\r\n]*)?")
_TOKEN = re.compile(rf"[ \t\r\n]*({_NUMERAL}|[A-Za-z_][A-Za-z0-9_]*|\*\*|[-+*/()]|\Z)")
_RELATION = re.compile(r"[ \t\r\n]*(<=|>=|==)[ \t\r\n]*([^ \t\r\n]+)[ \t\r\n]*")
_LEVEL = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_ASKED, _MEASURE = {"minimize", "maximize", "feasible", "sos"}, {"subject_to", "variables", "mass", "psd"}
_PLAIN = {"format", "name", "description", "comment", "source", "variables", "degree", "products", "options"}
DEGREE, BITS, DEPTH, WORK, LONG = 1000, 14000, 400, 1 << 22, 1 << 26  # limits; LONG: steps and bits of proofs
PLACES = 64  # binary places of eliminations that are rounded
FREE = "sosdp_free_"  # variables of for-all constraints
MULTIPLIER = "sosdp_multiplier_"  # in certificates about measures: of the relations, masses first


class NotProven(ValueError):
    """A rule does not cover what it was applied to, or what is proven is not what was asked."""


class TooLong(NotProven):
    """A limit of this file is reached, so nothing is said."""


_LEFT: ContextVar[list[int]] = ContextVar("left")


@contextmanager
def within(work: int) -> Iterator[list[int]]:
    """What is done inside takes at most so many steps, each about a microsecond (storing a term is five)."""
    before = _LEFT.set(left := [work])
    try:
        yield left
    finally:
        _LEFT.reset(before)


def _spend(steps: int) -> None:
    if left := _LEFT.get([]):
        left[0] -= steps
        if left[0] < 0:
            raise TooLong("this takes more work than the limit allows")


class _Sealed:
    """Made only with the key of this file, and never changed: nothing but `_CELL` reaches the values."""

    __slots__ = ("_values",)

    def __init__(self, key: object, *values: Any) -> None:
        if key is not _KEY:
            raise TypeError(f"a {type(self).__name__} is made by the rules of the kernel only")
        _CELL.__set__(self, values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(f"a {type(self).__name__} does not change")

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} is not copied")


_CELL = _Sealed.__dict__["_values"]
type.__delattr__(_Sealed, "_values")


def _fields(count: int) -> Any:
    return tuple(property(lambda self, k=k: _CELL.__get__(self)[k]) for k in range(count))  # type: ignore[misc]


class Polynomial(_Sealed):
    """A polynomial: `pairs` of a monomial, ("x", "x", "y") for x^2 y, and an integer; all over `den`.
    `degree`, `bits`: of the longest monomial and number."""

    __slots__, (pairs, den, degree, bits) = (), _fields(4)

    @property
    def terms(self) -> Mapping[tuple[str, ...], Fraction]:
        """The coefficients by monomial."""
        return MappingProxyType({m: Fraction(c, self.den) for m, c in self.pairs})

    def __eq__(self, other: object) -> bool:
        return type(other) is Polynomial and (self.den, self.pairs) == (other.den, other.pairs)

    def __hash__(self) -> int:
        return hash((self.den, self.pairs))

    def __add__(self, other: Polynomial) -> Polynomial:
        return _sum([(1, self), (1, other)])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return _sum([(1, self), (-1, other)])

    def __mul__(self, other: Polynomial) -> Polynomial:
        out: dict[tuple[str, ...], int] = {}
        left, right = sorted((_is(self, Polynomial).pairs, _is(other, Polynomial).pairs), key=len)
        _spend(1)
        cost = 1 + (self.degree + other.degree >> 5) + (self.bits + other.bits >> 7)
        cost += (self.bits >> 11) * (other.bits >> 11)
        for a, p in left:
            before = len(out)
            for b, q in right:
                m = tuple(sorted(a + b))
                out[m] = out.get(m, 0) + p * q
            _spend(cost * (len(right) + 4 * (len(out) - before)))
        return _made(out, self.den * other.den)

    def __str__(self) -> str:
        out = ""
        for m, c in sorted(self.pairs, key=lambda pair: (-len(pair[0]), pair[0])):
            size, text = Fraction(abs(c), self.den), _shown(m)
            out += (" - " if c < 0 else " + ") + (text if size == 1 and m else f"{size} {text}".rstrip())
        return out.removeprefix(" + ").lstrip() or "0"


def _shown(m: tuple[str, ...]) -> str:
    return " ".join(n if (k := m.count(n)) == 1 else f"{n}^{k}" for n in dict.fromkeys(m))


def _need(condition: Any, otherwise: str) -> None:
    if not condition:
        raise NotProven(otherwise)


def _is(value: Any, kind: type) -> Any:
    _need(type(value) is kind, f"a {kind.__name__} is needed, not a {type(value).__name__}")
    return value


def _made(found: dict[tuple[str, ...], int], den: int) -> Polynomial:
    common = gcd(den, *found.values())
    pairs = tuple(sorted((m, c // common) for m, c in found.items() if c))
    bits = max([den // common, *(abs(c) for _, c in pairs)]).bit_length()
    return Polynomial(_KEY, pairs, den // common, max((len(m) for m, _ in pairs), default=0), bits)


def _common(dens: set[int], count: int) -> int:
    """The common denominator of so many numbers, paid for."""
    _spend(sum(d.bit_length() for d in dens) >> 4)
    den = lcm(*dens)
    _spend(count * (1 + (den.bit_length() >> 7)))
    return den


def _sum(pairs: Iterable[tuple[Any, Polynomial]]) -> Polynomial:
    listed, out = [(w, _is(p, Polynomial)) for w, p in pairs], dict[tuple[str, ...], int]()
    dens = {w.denominator * p.den for w, p in listed}
    den = _common(dens, sum(1 + len(p.pairs) for _, p in listed))
    for w, p in listed:
        factor = w.numerator * (den // (w.denominator * p.den))
        for m, c in p.pairs:
            out[m] = out.get(m, 0) + factor * c
    return _made(out, den)


def polynomial(terms: Mapping[tuple[str, ...], Any]) -> Polynomial:
    """The polynomial with these coefficients (see `number`) of these monomials (tuples of names)."""
    listed = [(tuple(monomial), number(c)) for monomial, c in terms.items()]
    names = [n for m, _ in listed for n in m]
    _need(all(type(n) is str and NAME.fullmatch(n) for n in names), "a name is an ASCII identifier")
    return _sum([(c, _made({tuple(sorted(m)): 1}, 1)) for m, c in listed])


def number(value: Any) -> Fraction:
    """An integer, a Fraction, or text such as "-1/3" or "0.1", exactly; floats are refused."""
    if type(value) is str:
        top, bottom = _is(_NUMBER.fullmatch(value if len(value) <= 9000 else ""), re.Match).groups()
        _need(int(bottom or 1), "a number is divided by 0")
        return Fraction(top) / int(bottom or 1)
    _need(type(value) in (int, Fraction), "a number is an integer, a Fraction or text")  # nor subclasses
    return Fraction(_is(value.numerator, int), _is(value.denominator, int))


ZERO, ONE = polynomial({}), polynomial({(): 1})


class Theorem(_Sealed):
    """At every real point where all `hypotheses` hold, `conclusion` >= 0 (or == 0, says `relation`).  These
    are (">=", p), ("==", p), ("psd", rows of p), and of the points of a measure ("on mu", h)."""

    __slots__, (hypotheses, relation, conclusion) = (), _fields(3)


def assume(relation: str, p: Polynomial) -> Theorem:
    """p >= 0 gives p >= 0; p == 0 gives p == 0.  (Hypotheses are kept up to factors, true ones are none.)"""
    _need(_is(relation, str) in (">=", "=="), "a hypothesis is p >= 0 or p == 0")
    lead = Fraction(p.pairs[-1][1], p.den) if _is(p, Polynomial).pairs else Fraction(0)
    scaled = _sum([(1 / (lead if relation == "==" else abs(lead)), p)]) if lead else ZERO
    trivial = scaled == ZERO or (scaled == ONE and relation == ">=")
    return Theorem(_KEY, frozenset() if trivial else frozenset({(relation, scaled)}), relation, p)


def square(p: Polynomial) -> Theorem:
    """p^2 >= 0."""
    return Theorem(_KEY, frozenset(), ">=", _is(p, Polynomial) * p)


def weighted_sum(pairs: Iterable[tuple[Any, Theorem]]) -> Theorem:
    """p_k >= 0 and w_k >= 0 give sum w_k p_k >= 0; where p_k == 0, w_k is any number."""
    found = [(number(w), _is(t, Theorem)) for w, t in pairs]
    _need(all(w >= 0 or t.relation == "==" for w, t in found), "the weight of an inequality is negative")
    relation = "==" if all(t.relation == "==" for _, t in found) else ">="
    hypotheses: frozenset = frozenset().union(*(t.hypotheses for _, t in found))
    return Theorem(_KEY, hypotheses, relation, _sum([(w, t.conclusion) for w, t in found]))


def product(left: Theorem, right: Theorem) -> Theorem:
    """p >= 0 and q >= 0 give p q >= 0."""
    hypotheses = _is(left, Theorem).hypotheses | _is(right, Theorem).hypotheses
    return Theorem(_KEY, hypotheses, ">=", left.conclusion * right.conclusion)


def multiple(equality: Theorem, p: Polynomial) -> Theorem:
    """h == 0 gives p h == 0."""
    _need(_is(equality, Theorem).relation == "==", "only an equality may be multiplied by any polynomial")
    return Theorem(_KEY, equality.hypotheses, "==", equality.conclusion * _is(p, Polynomial))


def _names(about: Any) -> set[str]:
    """The variables of a polynomial, a hypothesis, or rows of polynomials."""
    if type(about) is Polynomial:
        return {n for m, _ in about.pairs for n in m}
    return set[str]().union(*map(_names, about)) if type(about) is tuple else set()


def root(theorem: Theorem, name: str, low: Any, high: Any) -> Theorem:
    """What follows from m(a) == 0 and low <= a <= high alone, of all hypotheses about a, and is not about a,
    holds without them if m changes sign between low and high: m then has a real root a there."""
    a, ends = polynomial({(_is(name, str),): 1}), [number(low), number(high)]
    box = [assume(">=", _sum([(s, a), (-s * end, ONE)])) for s, end in zip((1, -1), ends, strict=True)]
    rest = _is(theorem, Theorem).hypotheses.difference(*(t.hypotheses for t in box))
    about = [h for h in rest if name in _names(h)]
    _need(len(about) == 1 and about[0][0] == "==", "a number is a root of one polynomial")
    m = about[0][1]
    _need(_names(m) == {name} and name not in _names(theorem.conclusion), "something else is about a number")
    bits = max((abs(end.numerator) + end.denominator).bit_length() for end in ends)
    _need(bits * max(len(k) for k, _ in m.pairs) < LONG >> 8, "the ends of an interval are too long")
    left, right = (sum(c * end ** len(k) for k, c in m.pairs) for end in ends)
    _need(ends[0] <= ends[1] and left * right <= 0, "a polynomial does not change sign")
    return Theorem(_KEY, rest - {about[0]}, theorem.relation, theorem.conclusion)


def gram(matrix: Any, vector: Iterable[Polynomial]) -> Theorem:
    """v^T Q v >= 0 for a positive semidefinite matrix Q of numbers and a vector v of polynomials."""
    factors = tuple(vector)
    return quadratic_form([[ONE]], factors, matrix, [0] * len(factors))


def quadratic_form(matrix: Any, vector: Any, weights: Any = None, places: Any = None) -> Theorem:
    """G positive semidefinite gives v^T G v >= 0 for a vector v of polynomials; and, for a positive
    semidefinite Q of numbers (`weights`), sum Q_ij v_i v_j H_ij >= 0, H_ij (places[i], places[j]) of G."""
    rows = tuple(tuple(_is(p, Polynomial) for p in row) for row in matrix)
    _need(rows and rows == tuple(zip(*rows, strict=True)), "a matrix inequality is about a symmetric matrix")
    v = tuple(_is(p, Polynomial) for p in vector)
    at = tuple(range(len(rows)) if places is None else places)
    _need(all(type(k) is int and 0 <= k < len(rows) for k in at), "a matrix has no such row")
    q = _semidefinite([[1] * len(v)] * len(v) if weights is None else weights)
    _need(len(q) == len(v) == len(at), "a form has one number for each entry of its vector")
    columns = [(k, [j for j, a in enumerate(at) if a == k]) for k in sorted({*at})]
    inner = [_sum([(1, _sum([(line[j], v[j]) for j in js]) * rows[a][k]) for k, js in columns])
             for line, a in zip(q, at, strict=True)]  # fmt: skip
    hypotheses = frozenset({("psd", rows)}) if len(rows) > 1 else assume(">=", rows[0][0]).hypotheses
    return Theorem(_KEY, hypotheses, ">=", _sum([(1, p * s) for p, s in zip(v, inner, strict=True)]))


def _semidefinite(matrix: Iterable[Iterable[Any]]) -> tuple[tuple[Fraction, ...], ...]:
    """The matrix of numbers, if it is symmetric and positive semidefinite."""
    rows = tuple(tuple(number(v) for v in row) for row in matrix)
    _need(rows == tuple(zip(*rows, strict=True)), "a Gram matrix is symmetric")
    den = _common({v.denominator for row in rows for v in row}, len(rows) ** 2)
    whole = [[v.numerator * (den // v.denominator) for v in row] for row in rows]
    good = rank(whole, PLACES) is not None or rank(whole) is not None
    _need(good, "a Gram matrix is not positive semidefinite")
    return rows


def rank(whole: list[list[int]], places: int | None = None) -> int | None:
    """The rank of a symmetric matrix of integers, None if elimination without fractions (Bareiss) finds a
    negative minor.  With `places`, entries are rounded down to so many binary ones, and the diagonal pays for
    what that adds, less than 1 an entry: a rank is then no more than the true one, and None says nothing."""
    bits = max((abs(v).bit_length() for row in whole for v in row), default=0)
    left, last, count = [[v << (places or 0) for v in row[i:]] for i, row in enumerate(whole)], 1, 0
    while left:  # rows from the diagonal on
        words = (bits * (count + 1) if places is None else bits + places) >> 6
        _spend(len(left) ** 2 * (30 + words + (words * words >> 2)) // 100)
        (p, *top), *rest = left
        if p < 0 or any(c * c > p * row[0] for c, row in zip(top, rest, strict=True)):
            return None
        for i, (c, row) in enumerate(zip(top, rest, strict=True) if p else ()):
            if places is None:
                rest[i] = [(p * v - c * t) // last for v, t in zip(row, top[i:], strict=True)]
            else:
                rest[i] = [v - c * t // p for v, t in zip(row, top[i:], strict=True)]
                rest[i][0] -= len(rest)
        left, last, count = rest, p or last, count + (p > 0)
    return count


def integral(p: Polynomial, measure: str = "E") -> Polynomial:
    """mu[p], linear in the moments mu[x^2 y], which are variables; E is a probability measure: E[1] is 1.  (A
    measure that a problem calls E is E'.)"""
    named = NAME.fullmatch(_is(measure, str).removesuffix("'"))
    _need(named and not any("[" in n for n in _names(_is(p, Polynomial))), "moments have no integral")
    moments = {(f"{measure}[{_shown(m) or 1}]",) * bool(m or measure != "E"): c for m, c in p.pairs}
    return _made(moments, p.den)


def average(theorem: Theorem, measure: str = "E") -> Theorem:
    """p >= 0 (== 0) gives mu[p] >= 0 (== 0) for all measures mu, with moments, on points where that holds."""
    hypotheses = frozenset((f"on {measure}", h) for h in _is(theorem, Theorem).hypotheses)
    return Theorem(_KEY, hypotheses, theorem.relation, integral(theorem.conclusion, measure))


def for_all(q: Polynomial, over: Iterable[str], tag: str) -> tuple[tuple[Polynomial, ...], ...]:
    """Rows of M + sum t_k N_k, positive semidefinite for some t_k (new variables) exactly where q is a sum of
    squares of polynomials in `over`: q = b^T M b for the monomials b of half its degree (or of at most half),
    and the N_k span the symmetric matrices with b^T N b = 0."""
    names, parts = sorted({_is(n, str) for n in over}), dict[tuple[str, ...], Polynomial]()
    for m, c in _is(q, Polynomial).pairs:
        inner, rest = (tuple(n for n in m if (n in names) is among) for among in (True, False))
        parts[inner] = parts.get(inner, ZERO) + _made({rest: c}, q.den)
    degrees = {len(m) for m in parts}
    half = max(degrees, default=0) // 2
    _need(half and max(degrees) == 2 * half, "the degree in the quantified variables is odd, or 0")
    sizes = range(half if degrees == {2 * half} else 0, half + 1)
    basis = [m for d in sizes for m in combinations_with_replacement(names, d)]
    _need(len(basis) <= DEPTH, "a for-all constraint is too large")
    first, entries = dict[tuple[str, ...], tuple[int, int]](), dict[tuple[int, int], Polynomial]()
    for i, j in combinations_with_replacement(range(len(basis)), 2):  # what b_i b_j adds, both ways
        m = tuple(sorted(basis[i] + basis[j]))
        entries[i, j] = parts.get(m, ZERO)
        if (place := first.setdefault(m, (i, j))) != (i, j):
            entries[i, j] = polynomial({(f"{FREE}{tag}_{len(entries)}",): 1})
            entries[place] -= entries[i, j]
    halves = {(i, j): _sum([(Fraction(1, 1 + (i < j)), p)]) for (i, j), p in entries.items()}
    places = range(len(basis))
    return tuple(tuple(halves[min(i, j), max(i, j)] for j in places) for i in places)


class Goal(_Sealed):
    """What there is to prove for all `about`: that the `parts` (text, polynomial, hypotheses) are >= 0; for
    "minimize" and "maximize" >= or <= a bound; for "feasible" that the hypotheses fail. `given`, `so`:
    the values of unknowns, and what follows; `more`: the objective's value, or relations between moments."""

    __slots__, (question, about, parts, given, so, more) = (), _fields(6)

    def show(self, end: Fraction | None) -> str:
        """What is said with this bound (None: that nothing is feasible): every hypothesis, every number."""
        lines = dict[str, list[str]]()
        for text, _, hypotheses in self.parts:
            where = " and ".join(sorted(map(spelled, hypotheses)))
            lines.setdefault(f" where {where}" if where else "", []).append(text)
        if end is None:
            return f"there are no {self.about}{' and no '.join(lines)}"
        said = f"{'<=' if self.question == 'maximize' else '>='} {end}"
        shown = [f"for all {self.about}{w}: {f' {said}; '.join(ts)} {said}" for w, ts in lines.items()]
        return self.given + "; and ".join(shown) + self.so


class Answer(_Sealed):
    """A goal that is settled: its `bound` (0 if none was asked for), None if nothing is feasible."""

    __slots__, (goal, bound) = (), _fields(2)

    def show(self) -> str:
        """The whole statement, which is proven."""
        return str(self.goal.show(self.bound))


def spelled(hypothesis: tuple[str, Any]) -> str:
    """A hypothesis in words."""
    kind, body = hypothesis
    if kind == "psd":
        return f"[{'; '.join(', '.join(map(str, row)) for row in body)}] is positive semidefinite"
    return f"{kind[3:]} is on {spelled(body)}" if kind[:3] == "on " else f"{body} {kind} 0"


def settle(goal: Goal, facts: Iterable[Theorem], bound: Any = None, empty: bool = False) -> Answer:
    """The answer that theorems give, one for each part of the goal; or theorems that -1 >= 0, if it asks
    whether the hypotheses contradict each other (or if they do: `empty`).  NotProven when they give none."""
    refuted = _is(goal, Goal).question == "feasible" or empty is True
    asked = goal.question in ("minimize", "maximize") and not refuted
    _need(asked == (bound is not None), "minimize and maximize, and nothing else, are answered by a bound")
    end, sign = number(bound or 0), -1 if goal.question == "maximize" else 1
    targets = [(_sum([(sign, p), (-sign * end, ONE)]), h) for _, p, h in goal.parts]
    targets = [*dict.fromkeys((ZERO - ONE, h) for _, h in targets)] if refuted else targets
    for fact, (target, hypotheses) in zip(tuple(facts), targets, strict=True):
        known = _is(fact, Theorem).hypotheses <= hypotheses
        _need(known, "a theorem has a hypothesis that the problem does not have")
        rest = fact.conclusion - target
        where, by = next(((_shown(m) or 1, c) for m, c in rest.pairs), (1, 0))
        size = Fraction(by, rest.den) if rest.bits < BITS else f"a number of {rest.bits} bits"
        _need(not rest.pairs, f"the identity fails at the monomial {where}: the two sides differ by {size}")
    return Answer(_KEY, goal, None if refuted else end)


class _Reader:
    """Reads the polynomials of a problem, in `known` names, by the grammar of docs/certificates.md alone."""

    def __init__(self, known: Mapping[str, Polynomial]) -> None:
        self.known = known

    def read(self, source: Any) -> Polynomial:
        """The polynomial that text, a number, a list of [coefficient, {name: power}] or a series spells."""
        if type(source) is str:
            found = [*_TOKEN.finditer(source)]
            tokens = ["", *(m[1] for m in reversed(found) if m[1])]
            _need("".join(m[0] for m in found) == source, "a polynomial has a letter of no grammar")
            value = self.text(tokens)
            _need(tokens == [""], f"a polynomial does not go on with {tokens[-1]}")
            return value
        series, pairs = type(source) is dict and source.keys() == {"chebyshev"}, []
        rule, source = (self.chebyshev, source["chebyshev"]) if series else (self.power, source)
        for w, m in [[source, {}]] if type(source) in (int, Fraction) else _is(source, list):
            value = ONE
            for name, k in _is(m, dict).items():
                _need(_is(name, str) in self.known, f"{name!r} is no variable")
                value = self.times(value, rule(self.known[name], number(k)))
            pairs.append((number(w), value))
        return _sum(pairs)

    def text(self, t: list[str], level: int = 0, depth: int = DEPTH) -> Polynomial:
        """The polynomial at the end of the tokens, with the operators that bind more tightly than `level`."""
        token = t.pop()
        _need(depth and len(token) < 1017, "a polynomial is nested too deeply, or a numeral is too long")
        if token in ("+", "-"):
            value = _sum([(-1 if token == "-" else 1, self.text(t, 2, depth - 1))])
        elif token == "(":
            value = self.text(t, 0, depth - 1)
            _need(t.pop() == ")", "a parenthesis is not closed")
        elif token[:1] in (*"0123456789", "."):
            value = _sum([(number(token), ONE)])
        else:
            _need(token in self.known, f"{token or 'the end'} is no variable")
            value = self.known[token]
        pairs = [(1, value)]
        while _LEVEL.get(t[-1], 0) > level:
            op = t.pop()
            right = self.text(t, _LEVEL[op] - (op == "**"), depth - 1)
            if op in ("+", "-"):
                pairs.append((1 if op == "+" else -1, right))
            elif op == "**":
                _need(right.terms.keys() <= {()}, "a power is a number")
                pairs = [(1, self.power(pairs[0][1], right.terms.get((), Fraction(0))))]
            else:
                right = right if op == "*" else self.power(right, Fraction(-1))
                pairs = [(1, self.times(pairs[0][1], right))]
        return _sum(pairs)

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if left is ONE or right is ONE:
            return right if left is ONE else left
        good = left.degree + right.degree <= DEGREE and left.bits + right.bits <= BITS
        _need(good, "a polynomial is too large")
        return left * right

    def power(self, base: Polynomial, k: Fraction) -> Polynomial:
        if [m for m, _ in base.pairs] == [()]:
            c = base.terms[()]
            base, k = _sum([(c if k >= 0 else 1 / c, ONE)]), k % 2 if c in (1, -1) else abs(k)
        _need(k.denominator == 1 and 0 <= k <= WORK, "a power is a whole number, negative only of a number")
        out = ONE
        for bit in f"{k.numerator:b}":
            out = self.times(self.times(out, out), base if bit == "1" else ONE)
        return out

    def chebyshev(self, x: Polynomial, k: Fraction) -> Polynomial:
        """T_k(x), by its recurrence."""
        one, two = ONE, x
        _need(k >= 0 and k.denominator == 1, "a degree is a whole number that is not negative")
        for _ in range(k.numerator):
            one, two = two, self.times(_sum([(2, x)]), two) - one
        return one

    def set(self, stated: Any, mean: bool = False) -> frozenset:
        """The hypotheses that "subject_to", "psd", "for_all" state, of points or (`mean`) of expectations."""
        of, matrices = integral if mean else (lambda p: p), list[Any]()
        for rows in _is(_is(stated, dict).get("psd", []), list):
            matrices.append([[self.read(p) for p in _is(row, list)] for row in _is(rows, list)])
        for k, (over, q) in enumerate(_is(stated.get("for_all", []), list)):
            _need({_is(n, str) for n in _is(over, list)} <= {*self.known}, "a quantified name is no variable")
            _need(not any(n.startswith(FREE) for n in self.known), "a name is reserved")
            matrices.append(for_all(self.read(q), over, f"{'se'[mean]}{k}"))
        facts = [quadratic_form([[of(p) for p in row] for row in rows], (), (), ()) for rows in matrices]
        for item in _is(stated.get("subject_to", []), list):
            text = type(item) is str
            parts = re.split("(<=|>=|==)", item) if text else _is(item, list)
            _need(len(parts) == (3 if text else 2), "a constraint is p <= q or [p, '>= 0']")
            left, said, right = parts if text else (parts[0], *_relation(parts[1]))
            _need(text or right == "0", "a constraint is p <= q or [p, '>= 0']")
            relation, p = _compared(self.read(left), said, self.read(right))
            facts.append(assume(relation, of(p)))
        return frozenset().union(*(fact.hypotheses for fact in facts))


def _relation(text: Any) -> tuple[str, ...]:
    return _is(_RELATION.fullmatch(_is(text, str)), re.Match).groups()


def _compared(left: Polynomial, said: str, right: Polynomial) -> tuple[str, Polynomial]:
    """left <=, >= or == right as p >= 0 or p == 0."""
    sign = -1 if said == "<=" else 1
    return "==" if said == "==" else ">=", _sum([(sign, left), (-sign, right)])


def plain(value: Any) -> Any:
    """A copy in exact types of JSON and fractions, read once: what it says it goes on saying."""
    if isinstance(value, dict):
        return {_is(key, str): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    _need(value is None or type(value) in (bool, int, float, str, Fraction), "this is no JSON")
    return value


@within(WORK)
def state(problem: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> Goal:
    """The goal of a problem ("sosdp-problem/1", decimals as fractions), with `values` for its unknowns; keys
    beside the engine's: "in_expectation", "squares" and "on" (docs/certificates.md)."""
    stated = plain(dict(problem))
    given = {_is(n, str): number(v) for n, v in dict(values or {}).items()}
    about = {"measures", "subject_to"} if "measures" in stated else {"subject_to", "psd", "for_all"}
    mean = stated.keys() & {"in_expectation", "squares"}
    more = mean or {"unknowns", "on"} if "psd" in about else set()
    others = stated.keys() - (_PLAIN | _ASKED | about | more)
    _need(not others, f"a problem has no keys {sorted(others)} here")
    _need(stated.get("format", "sosdp-problem/1") == "sosdp-problem/1", "this is no problem")
    inner = [*_is(stated.get("on", []), list), stated.get("in_expectation", {})]
    _need(all(_is(part, dict).keys() <= about for part in inner), "a part of a problem has an unknown key")
    names, unknowns = (_is(stated.get(k, []), list) for k in ("variables", "unknowns"))
    every = [_is(n, str) for n in [*names, *unknowns]]
    _need(all(map(NAME.fullmatch, every)) and len({*every}) == len(every), "names are not names")
    known = {n: polynomial({(n,): 1}) for n in every}
    asked = sorted(_ASKED & stated.keys())
    question = asked.pop() if asked else ""
    _need(not asked or ("unknowns" in stated and asked != ["feasible"]), "a problem asks one question")
    _need(question and (question == "sos" or not unknowns), "unknowns are those of sums of squares")
    _need(given.keys() == {*unknowns}, "all unknowns, and nothing else, have values")
    wanted = stated[question]
    if "measures" in stated:
        return _measured(stated, question, known)
    _need(question != "feasible" or wanted is True, "feasible is true")
    reader, full = _Reader({n: known[n] for n in names}), _Reader(known)
    fixed = _Reader(known | {n: _sum([(v, ONE)]) for n, v in given.items()})
    points = reader.set(stated)
    listed = [0] if question == "feasible" else [wanted]
    if question == "sos" and not all(type(t) is list and [*map(type, t)][1:] == [dict] for t in wanted):
        listed = _is(wanted, list) if type(wanted) is not str else [wanted]
    _need(listed, "there is nothing to prove")
    sets = [reader.set(s) for s in stated["on"]] if "on" in stated else [points] * len(listed)
    parts = tuple((str(full.read(p)), fixed.read(p), h) for p, h in zip(listed, sets, strict=True))
    if mean:
        means = reader.set(stated.get("in_expectation", {}), True) | {("on E", h) for h in points}
        squares = [(number(w), integral(reader.read(q))) for w, q in stated.get("squares", [])]
        _need(all(w > 0 and question == "minimize" for w, _ in squares), "weights of squares are positive")
        _need(len(parts) == 1, "expectations are those of one polynomial")
        p = _sum([(1, integral(parts[0][1])), *((w, reader.times(q, q)) for w, q in squares)])
        return Goal(_KEY, question, "probability distributions", ((str(p), p, means),), "", "", (None,))
    shown = ", ".join(f"{n} = {v}" for n, v in given.items())
    so, value, before = "", None, f"with {shown}: " if given else ""
    for sense in asked:
        words = ("least", "most") if sense == "minimize" else ("largest", "least")
        value = fixed.read(stated[sense])
        _need({m for m, _ in value.pairs} <= {()}, "an objective is one of the unknowns")
        so = f"; so the {words[0]} value of {full.read(stated[sense])} is at {words[1]} {value}"
    return Goal(_KEY, question, "real points", parts, before, so, (value,))


def _measured(stated: dict, question: str, known: dict) -> Goal:
    """The goal of a problem about measures: integrals are linear in the moments."""
    readers, hypotheses, more = dict[str, _Reader](), frozenset[Any](), []
    labels = {n: "E'" if n == "E" else n for n in _is(stated["measures"], dict)}
    for name, about in stated["measures"].items():
        _need(_is(about, dict).keys() <= _MEASURE, "a measure has a key that is not known")
        _need(NAME.fullmatch(name) and name not in known, "the name of a measure is none, or taken")
        readers[name] = _Reader({n: known[n] for n in about.get("variables", stated["variables"])})
        hypotheses |= {(f"on {labels[name]}", h) for h in readers[name].set(about)}
        if about.get("mass") is not None:
            more.append(("==", integral(ONE, labels[name]) - _sum([(number(about["mass"]), ONE)])))

    def moments(parts: dict) -> Polynomial:
        return _sum([(1, integral(readers[name].read(p), labels[name])) for name, p in parts.items()])

    for parts, said in _is(stated.get("subject_to", []), list):
        relation, right = _relation(said)
        more.append(_compared(moments(_is(parts, dict)), relation, _sum([(number(right), ONE)])))
    _need(question in ("minimize", "maximize") or stated[question] is True, "measures are for one objective")
    wanted = ZERO if question == "feasible" else moments(_is(stated[question], dict))
    hypotheses = hypotheses.union(*(assume(*m).hypotheses for m in more))
    parts = ((str(wanted), wanted, hypotheses),)
    return Goal(_KEY, question, f"measures {', '.join(labels.values())}", parts, "", "", tuple(more))


def replay(problem: Any, proof: Mapping[str, Any]) -> Answer:
    """The answer that a certificate ("sosdp-certificate/1") gives to a problem, or to its goal."""
    good = proof.get("format", "sosdp-certificate/1") == "sosdp-certificate/1"
    _need(good, "this is no certificate of polynomials (for operators: kernel_words.py)")
    claim, names = proof["claim"], proof["variables"]
    _need(claim["kind"] != "no_certificate", "there is no rule for the absence of certificates")
    unknowns = [_pick(names, v) for v in claim.get("unknowns", [])]
    values = dict(zip(unknowns, claim.get("values", []), strict=True))
    goal = problem
    if type(problem) is not Goal:
        goal = state(problem, {n: values.get(n, 0) for n in problem.get("unknowns", [])})
    proven, means = [list[Any]() for _ in claim.get("objectives", [0])], list[Any]()
    used = [block["index"] for block in proof["multipliers"] if block["kind"] == "square"]
    rest = [[k] for k in range(len(claim.get("squares", []))) if [k] not in used]
    unused = [{"kind": "square", "index": index, "polynomial": []} for index in rest]
    for place, block in enumerate([*proof["multipliers"], *unused]):
        mean = block["kind"].startswith("expectation") or block["kind"] == "square"
        try:
            fact = (1, _multiplier(block, claim, names, mean))
        except NotProven as why:
            raise type(why)(f"multiplier {place} ({block['kind']}): {why}") from None
        (means if mean else _pick(proven, block.get("target", 0))).append(fact)
    facts = [weighted_sum(found) for found in proven]
    if "root" in claim:
        _need(len(_is(claim["root"], list)) == 3, "a root is a variable, and two numbers around it")
        k, low, high = claim["root"]
        facts = [root(fact, _pick(names, k), low, high) for fact in facts]
    bound, empty = claim.get("bound"), claim["kind"] == "infeasible"
    if goal.about == "probability distributions":
        facts = [weighted_sum([(1, average(fact)), *means]) for fact in facts]
    if goal.about.startswith("measures "):
        constants = any(() in p.terms for _, p in goal.more)
        empty = goal.question == "feasible" or (claim["objective"] == [] and constants)
        weights = [number(values.get(f"{MULTIPLIER}{k}", 0)) for k in range(len(goal.more))]
        facts = [_dual(goal, weights, facts, empty)]
    elif goal.more[0] is not None:
        _need(number(bound) == goal.more[0].terms.get((), 0), "the value of the objective is another")
    bounded = goal.question in ("minimize", "maximize") and not empty
    return settle(goal, facts, bound if bounded else None, empty)


def _dual(goal: Goal, weights: list[Fraction], facts: list[Theorem], empty: bool) -> Theorem:
    """Weak duality: weighted relations, and what they leave, which `facts` prove on every support."""
    sign = -1 if goal.question == "maximize" and not empty else 1
    total = weighted_sum([(sign * w, assume(*m)) for w, m in zip(weights, goal.more, strict=True)])
    left = (ZERO if empty else _sum([(sign, goal.parts[0][1])])) - total.conclusion
    for name in goal.about.removeprefix("measures ").split(", "):
        p = _made({m: c for m, c in left.pairs if m and m[0].startswith(f"{name}[")}, left.den)
        of = next((a for f in facts if (a := average(f, name)).conclusion == p), weighted_sum([]))
        total = weighted_sum([(1, total), (1, of)])
    value = abs(total.conclusion.terms.get((), 0)) if empty else 1
    return weighted_sum([(1 / number(value or 1), total)])


def _pick(listed: Any, k: Any) -> Any:
    _need(type(k) is int and 0 <= k < len(listed), "this is no place in a list")
    return listed[k]


def _multiplier(block: dict, claim: dict, names: list[str], mean: bool) -> Theorem:
    """What one multiplier of a certificate proves."""
    source = claim.get("in_expectation", {}) if mean else claim
    kind, index = re.sub("expectation(_|$)", "", block["kind"]) or "inequality", block.get("index", [])

    def listed(p: list) -> Polynomial:
        places = [(c, [(_pick(names, v), _is(k, int)) for v, k in m]) for c, m in p]
        degrees = [sum(k for _, k in m if 0 < k) for _, m in places]
        good = all(len(dict(m)) == len(m) and all(0 < k for _, k in m) for _, m in places)
        _need(good and max(degrees, default=0) <= DEGREE, "this is no monomial")
        _spend(5 * sum(1 + (k >> 5) for k in degrees))
        return _sum([(1, polynomial({tuple(n for n, k in m for _ in range(k)): c})) for c, m in places])

    def read(p: list) -> Polynomial:
        return integral(listed(p)) if mean else listed(p)

    if kind == "square":
        w, p = _pick(claim["squares"], *index)
        _need(number(w) > 0, "the weight of a square is positive")
        half = _sum([(1 / (2 * number(w)), listed(block["polynomial"]))])
        return weighted_sum([(w, square(read(p) - half))])
    if kind == "equality":
        return multiple(assume("==", read(_pick(source["equalities"], *index))), listed(block["polynomial"]))
    basis = [listed([["1", m]]) for m in block["basis"]]
    if kind == "psd":
        rows = [[read(p) for p in row] for row in _pick(source["psd"], *index)]
        return quadratic_form(rows, basis, block["gram"], block["entry"])
    _need(kind in ("sos", "inequality", "product"), "a multiplier is of another kind")
    fact = gram(block["gram"], basis)
    for k in index:
        fact = product(fact, assume(">=", read(_pick(source["inequalities"], k))))
    return fact


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len(dict(pairs)) == len(pairs), "a key occurs twice")
    return dict(pairs)


if __name__ == "__main__":
    _exact = partial(json.loads, parse_float=number, parse_constant=number, object_pairs_hook=_once)
    try:
        _need(len(sys.argv) == 3, "it takes two files: python kernel.py PROBLEM.sos.json PROOF.json")
        with within(LONG):
            print(replay(*(_exact(Path(name).read_text("utf-8-sig")) for name in sys.argv[1:])).show())
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError) as why:
        sys.exit(f"not proven: {why} ({type(why).__name__})")
