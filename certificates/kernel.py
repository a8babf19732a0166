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
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from itertools import combinations_with_replacement, groupby
from math import gcd, isfinite, lcm
from pathlib import Path
from types import MappingProxyType
from typing import Any

_KEY = object()  # it makes values
NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,199}")
_NUMERAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?0*(?:1000|[0-9]{1,3})(?![0-9]))?"
_NUMBER = re.compile(rf"[ \t\r\n]*([-+]?{_NUMERAL})[ \t\r\n]*(?:/[ \t\r\n]*([0-9]+)[ \t\r\n]*)?")
_TOKEN = re.compile(rf"[ \t\r\n]*({_NUMERAL}|[A-Za-z_][A-Za-z0-9_]*|\*\*|[-+*/()]|\Z)")
_RELATION = re.compile(r"[ \t\r\n]*(<=|>=|==)[ \t\r\n]*(.*?)[ \t\r\n]*", re.DOTALL)
RATIONAL = re.compile("-?[0-9]{1,4000}(?:/(?=0*[1-9])[0-9]{1,4000})?")  # in certificates
_LEVEL = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_JSON = (bool, str, list, dict, Fraction, type(None))  # beside numbers
DEGREE, BITS, DEPTH, WORK, LONG, BYTES = 1000, 14000, 400, 1 << 22, 1 << 26, 1 << 26  # LONG: steps of proofs
PLACES = 64  # binary places of eliminations that are rounded
FREE = "sosdp_free_"  # variables of for-all constraints
MULTIPLIER = "sosdp_multiplier_"  # in certificates about measures: of the relations, masses first
Monomial = tuple[str, ...]  # ("x", "x", "y") for x^2 y


class NotProven(ValueError):
    """A rule does not cover what it was applied to, or what is proven is not what was asked."""


class Malformed(NotProven):
    """This is no problem, or no proof, that this file reads; or a limit of it is reached."""


_LEFT: ContextVar[list[int]] = ContextVar("left")


@contextmanager
def within(work: int, reading: bool = False) -> Iterator[None]:
    """What is done inside takes at most so many steps, each about a microsecond, or 20 bytes that are kept.
    While `reading`, what is not accepted is malformed: nothing false is said of it."""
    outer = _LEFT.get([])
    before = _LEFT.set(left := [start := min([work, *outer])])
    try:
        yield
    except RecursionError:
        raise Malformed("this is nested too deeply") from None
    except NotProven as why:
        raise Malformed(str(why)) if reading and not isinstance(why, Malformed) else why from None
    finally:
        _LEFT.reset(before)
        outer[:] = [steps - start + left[0] for steps in outer]


def spend(steps: int) -> None:
    """Pay for so many steps, before they are done; Malformed if fewer are left."""
    if left := _LEFT.get([]):
        left[0] -= steps
        need(left[0] >= 0, "this takes more work than the limit allows", Malformed)


def need(condition: Any, otherwise: str, error: type[NotProven] = NotProven) -> None:
    """NotProven, or another error, where a condition fails."""
    if not condition:
        raise error(otherwise)


def exactly(value: Any, kind: type) -> Any:
    """The value, if it is of this type; Malformed for others, subclasses among them."""
    need(type(value) is kind, f"a {kind.__name__} is needed, not a {type(value).__name__}", Malformed)
    return value


def pick(listed: Any, k: Any) -> Any:
    """The k-th of a list, or what has a name."""
    kind: Any = str if type(listed) is dict else int
    good = type(k) is kind and (k in listed if kind is str else 0 <= k < len(listed))
    need(good, f"{_brief(k)} is no place in a list, or no name", Malformed)
    return listed[k]


class _Sealed:
    """Made only with the key of this file, and never changed: nothing but `_CELL` reaches the values."""

    __slots__ = ("_values",)

    def __init__(self, key: object, *values: Any) -> None:
        if key is not _KEY:
            raise TypeError(f"a {type(self).__name__} is made by the rules of the kernel only")
        _CELL.__set__(self, values)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} is not copied")


_CELL = _Sealed.__dict__["_values"]
type.__delattr__(_Sealed, "_values")


def _fields(count: int) -> Any:
    return tuple(property(lambda self, k=k: _CELL.__get__(self)[k]) for k in range(count))  # type: ignore[misc]


class Polynomial(_Sealed):
    """A polynomial: `pairs` of a monomial and an integer; all over `den`.  `degree`, `bits`: of the longest
    monomial and number."""

    __slots__, (pairs, den, degree, bits) = (), _fields(4)

    @property
    def terms(self) -> Mapping[Monomial, Fraction]:
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
        left, right = sorted((exactly(p, Polynomial).pairs for p in (self, other)), key=len)
        out, degree = dict[Monomial, int](), self.degree + other.degree
        spend(1)
        cost = 1 + (degree >> 5) + (self.bits + other.bits >> 7) + (self.bits >> 11) * (other.bits >> 11)
        for a, p in left:
            before = len(out)
            for b, q in right:
                m = tuple(sorted(a + b))
                out[m] = out.get(m, 0) + p * q
            spend(cost * len(right) + (4 * cost + 10 + (degree >> 1)) * (len(out) - before))
        return _made(out, self.den * other.den)

    def __str__(self) -> str:
        out = ""
        need(self.bits <= BITS, "a number has more digits than are shown", Malformed)
        _inside(self)
        for m, c in sorted(self.pairs, key=lambda pair: (-len(pair[0]), pair[0])):
            size, text = Fraction(abs(c), self.den), _shown(m)
            out += (" - " if c < 0 else " + ") + (text if size == 1 and m else f"{size} {text}".rstrip())
        return out.removeprefix(" + ").lstrip() or "0"


def _shown(m: Monomial) -> str:
    powers = [(n, len([*same])) for n, same in groupby(m)]
    return " ".join(n if k == 1 else f"{n}^{k}" for n, k in powers)


def _made(result: dict[Monomial, int], den: int) -> Polynomial:
    spend(len(result) * ((den.bit_length() >> 6) ** 2 >> 8))
    common = gcd(den, *result.values())
    pairs = tuple(sorted((m, c // common) for m, c in result.items() if c))
    bits = max([den // common, *(abs(c) for _, c in pairs)]).bit_length()
    return Polynomial(_KEY, pairs, den // common, max((len(m) for m, _ in pairs), default=0), bits)


def whole(ratios: Iterable[tuple[int, int]]) -> tuple[list[int], int]:
    """Numbers, each an integer over another, as integers over a common denominator, paid for."""
    listed, den = [*ratios], 1
    for d in {d for _, d in listed}:
        spend(1 + ((den.bit_length() >> 6) * (d.bit_length() >> 6) >> 6))
        den = lcm(den, d)
    spend(len(listed) * (1 + (den.bit_length() >> 7)))
    return [c * (den // d) for c, d in listed], den


def _sum(pairs: Iterable[tuple[Any, Polynomial]]) -> Polynomial:
    listed, out = [(w, exactly(p, Polynomial)) for w, p in pairs], dict[Monomial, int]()
    factors, den = whole((w.numerator, w.denominator * p.den) for w, p in listed)
    spend(sum(len(p.pairs) for _, p in listed) * (1 + (den.bit_length() >> 7)))
    for factor, (_, p) in zip(factors, listed, strict=True):
        for m, c in p.pairs:
            out[m] = out.get(m, 0) + factor * c
    return _made(out, den)


def polynomial(terms: Mapping[tuple[str, ...], Any]) -> Polynomial:
    """The polynomial with these coefficients (see `number`) of these monomials (tuples of names)."""
    listed, out = [(tuple(m), number(c)) for m, c in terms.items()], dict[Monomial, int]()
    names = {n if type(n) is str else "" for m, _ in listed for n in m}
    need(all(map(NAME.fullmatch, names)), "a name is an ASCII identifier")
    coefficients, den = whole(c.as_integer_ratio() for _, c in listed)
    for (m, _), c in zip(listed, coefficients, strict=True):
        ordered = tuple(sorted(m))
        out[ordered] = out.get(ordered, 0) + c
    return _made(out, den)


def number(value: Any) -> Fraction:
    """An integer, a Fraction, or text such as "-1/3" or "0.1", exactly; floats are refused."""
    if type(value) is str:
        match: Any = _NUMBER.fullmatch(value if len(value) <= 9000 else "")
        need(match, f"{_brief(value)} is no number", Malformed)
        top, bottom = match.groups("1")
        need(max(len(top), len(bottom)) < 4300, "a number has too many digits", Malformed)
        need(int(bottom), "a number is divided by 0", Malformed)
        return Fraction(top) / int(bottom)
    need(type(value) in (int, Fraction), "a number is an integer, a Fraction or text")  # nor subclasses
    return Fraction(exactly(value.numerator, int), exactly(value.denominator, int))


ZERO, ONE = polynomial({}), polynomial({(): 1})


class Theorem(_Sealed):
    """At every real point where all `hypotheses` hold, `conclusion` >= 0 (or == 0, says `relation`).  These
    are (">=", p), ("==", p), ("psd", rows of p), and of the points of a measure ("on mu", h)."""

    __slots__, (hypotheses, relation, conclusion) = (), _fields(3)


def assume(relation: str, p: Polynomial) -> Theorem:
    """p >= 0 gives p >= 0; p == 0 gives p == 0.  (Hypotheses are kept up to factors, true ones are none.)"""
    need(exactly(relation, str) in (">=", "=="), "a hypothesis is p >= 0 or p == 0")
    lead = Fraction(p.pairs[-1][1], p.den) if exactly(p, Polynomial).pairs else Fraction(0)
    scaled = _sum([(1 / (lead if relation == "==" else abs(lead)), p)]) if lead else ZERO
    trivial = scaled == ZERO or (scaled == ONE and relation == ">=")
    return Theorem(_KEY, frozenset() if trivial else frozenset({(relation, scaled)}), relation, p)


def square(p: Polynomial) -> Theorem:
    """p^2 >= 0."""
    return Theorem(_KEY, frozenset(), ">=", exactly(p, Polynomial) * p)


def weighted_sum(pairs: Iterable[tuple[Any, Theorem]]) -> Theorem:
    """p_k >= 0 and w_k >= 0 give sum w_k p_k >= 0; where p_k == 0, w_k is any number."""
    result = [(number(w), exactly(t, Theorem)) for w, t in pairs]
    need(all(w >= 0 or t.relation == "==" for w, t in result), "the weight of an inequality is negative")
    relation = "==" if all(t.relation == "==" for _, t in result) else ">="
    hypotheses: frozenset = frozenset().union(*(t.hypotheses for _, t in result))
    return Theorem(_KEY, hypotheses, relation, _sum([(w, t.conclusion) for w, t in result]))


def product(left: Theorem, right: Theorem) -> Theorem:
    """p >= 0 and q >= 0 give p q >= 0."""
    hypotheses = exactly(left, Theorem).hypotheses | exactly(right, Theorem).hypotheses
    return Theorem(_KEY, hypotheses, ">=", left.conclusion * right.conclusion)


def multiple(equality: Theorem, p: Polynomial) -> Theorem:
    """h == 0 gives p h == 0."""
    need(exactly(equality, Theorem).relation == "==", "only an equality may be multiplied by any polynomial")
    return Theorem(_KEY, equality.hypotheses, "==", equality.conclusion * exactly(p, Polynomial))


def quadratic_form(matrix: Any, vector: Any, weights: Any = None, places: Any = None) -> Theorem:
    """G positive semidefinite gives v^T G v >= 0 for a vector v of polynomials; and, for a positive
    semidefinite Q of numbers (`weights`), sum Q_ij v_i v_j H_ij >= 0, H_ij (places[i], places[j]) of G."""
    rows = tuple(tuple(exactly(p, Polynomial) for p in row) for row in matrix)
    need(all(len(row) == len(rows) for row in rows), "a matrix is square", Malformed)
    need(rows and rows == tuple(zip(*rows, strict=True)), "a matrix inequality is about a symmetric matrix")
    v = tuple(exactly(p, Polynomial) for p in vector)
    at = [pick(range(len(rows)), k) for k in (range(len(rows)) if places is None else places)]
    spend(len(v) ** 2)
    q = semidefinite([[1] * len(v)] * len(v) if weights is None else weights)
    need(len(q) == len(v) == len(at), "a form has one number for each entry of its vector", Malformed)
    columns = [(k, [j for j, a in enumerate(at) if a == k]) for k in sorted({*at})]
    inner = [_sum([(1, _sum([(line[j], v[j]) for j in js]) * rows[a][k]) for k, js in columns])
             for line, a in zip(q, at, strict=True)]  # fmt: skip
    hypotheses = frozenset({("psd", rows)}) if len(rows) > 1 else assume(">=", rows[0][0]).hypotheses
    return Theorem(_KEY, hypotheses, ">=", _sum([(1, p * s) for p, s in zip(v, inner, strict=True)]))


def semidefinite(matrix: Iterable[Iterable[Any]]) -> list[list[Fraction]]:
    """The matrix of numbers, if it is symmetric and positive semidefinite."""
    rows = [[number(v) for v in row] for row in matrix]
    need(all(len(row) == len(rows) for row in rows), "a Gram matrix is square", Malformed)
    need(rows == [[*row] for row in zip(*rows, strict=True)], "a Gram matrix is symmetric", Malformed)
    need(rank(rows) is not None, "a Gram matrix is not positive semidefinite")
    return rows


def rank(matrix: Any) -> int | None:
    """The rank of a symmetric matrix of integers and fractions; None if it is not positive semidefinite."""
    kept = [k for k, row in enumerate(matrix) if any(row)]
    entries, _ = whole(matrix[i][j].as_integer_ratio() for i in kept for j in kept)
    rows = [entries[i : i + len(kept)] for i in range(0, len(entries), len(kept) or 1)]
    quick = eliminated(rows, PLACES)
    return quick if quick == len(rows) else eliminated(rows)


def eliminated(matrix: list[list[int]], places: int | None = None) -> int | None:
    """The rank of a symmetric matrix of integers, None if elimination without fractions (Bareiss) finds a
    negative minor.  With `places`, entries are rounded down to so many binary ones, and the diagonal pays for
    what that adds, less than 1 an entry: a rank is then no more than the true one, and None says nothing."""
    bits = max((abs(v).bit_length() for row in matrix for v in row), default=0)
    left = [[v << (places or 0) for v in row[i:]] for i, row in enumerate(matrix)]
    last, count = 1, 0
    while left:  # rows from the diagonal on
        words = (bits * (count + 1) if places is None else bits + places) >> 6
        spend(len(left) ** 2 * (30 + words + (words * words >> 2)) // (100 if places else 40))
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


def _inside(about: Any) -> set[str]:
    """The variables of a polynomial, of hypotheses, or of rows of polynomials; every number is paid for."""
    if type(about) is Polynomial:
        spend(len(about.pairs) * (5 + (about.degree >> 2) + (about.bits >> 7)))
        return {n for m, _ in about.pairs for n in m}
    return set[str]().union(*map(_inside, about)) if type(about) in (tuple, frozenset) else set()


def root(theorem: Theorem, name: str, low: Any, high: Any) -> Theorem:
    """What follows from m(a) == 0 and low <= a <= high alone, of all hypotheses about a, and is not about a,
    holds without them if m changes sign between low and high: m then has a real root a there."""
    a, ends = polynomial({(exactly(name, str),): 1}), [number(low), number(high)]
    box = [assume(">=", _sum([(s, a), (-s * end, ONE)])) for s, end in zip((1, -1), ends, strict=True)]
    rest = exactly(theorem, Theorem).hypotheses.difference(*(t.hypotheses for t in box))
    about = [h for h in rest if name in _inside(h)]
    need(len(about) == 1 and about[0][0] == "==", "a number is a root of one polynomial")
    m = about[0][1]
    need(_inside(m) == {name} and name not in _inside(theorem.conclusion), "something else is about a number")
    words = max((abs(end.numerator) + end.denominator).bit_length() for end in ends) * m.degree >> 6
    need(words < LONG >> 14, "the ends of an interval are too long")
    spend(len(m.pairs) * (1 + words + (words * words >> 6)))
    left, right = (sum(c * end ** len(k) for k, c in m.pairs) for end in ends)
    need(ends[0] <= ends[1] and left * right <= 0, "a polynomial does not change sign")
    return Theorem(_KEY, rest - {about[0]}, theorem.relation, theorem.conclusion)


def integral(p: Polynomial, measure: str = "E") -> Polynomial:
    """mu[p], linear in the moments mu[x^2 y], which are variables; E is a probability measure: E[1] is 1.  (A
    measure that a problem calls E is E'.)"""
    named = NAME.fullmatch(exactly(measure, str).removesuffix("'"))
    need(named and not any("[" in n for n in _inside(exactly(p, Polynomial))), "moments have no integral")
    moments = {(f"{measure}[{_shown(m) or 1}]",) * bool(m or measure != "E"): c for m, c in p.pairs}
    return _made(moments, p.den)


def average(theorem: Theorem, measure: str = "E") -> Theorem:
    """p >= 0 (== 0) gives mu[p] >= 0 (== 0) for all measures mu, with moments, on points where that holds."""
    _inside(exactly(theorem, Theorem).hypotheses)
    hypotheses = frozenset((f"on {measure}", h) for h in theorem.hypotheses)
    return Theorem(_KEY, hypotheses, theorem.relation, integral(theorem.conclusion, measure))


def for_all(q: Polynomial, over: Iterable[str], tag: str) -> tuple[tuple[Polynomial, ...], ...]:
    """Rows of M + sum t_k N_k, positive semidefinite for some t_k (new variables) exactly where q is a sum of
    squares of polynomials in `over`: q = b^T M b for the monomials b of half its degree (or of at most half),
    and the N_k span the symmetric matrices with b^T N b = 0."""
    names, parts = sorted({exactly(n, str) for n in over}), dict[Monomial, Polynomial]()
    for m, c in exactly(q, Polynomial).pairs:
        inner, rest = (tuple(n for n in m if (n in names) is among) for among in (True, False))
        parts[inner] = parts.get(inner, ZERO) + _made({rest: c}, q.den)
    degrees = {len(m) for m in parts}
    half = max(degrees, default=0) // 2
    need(half and max(degrees) == 2 * half, "the degree in the quantified variables is odd, or 0")
    sizes = range(half if degrees == {2 * half} else 0, half + 1)
    basis = [m for d in sizes for m in combinations_with_replacement(names, d)]
    need(len(basis) <= DEPTH, "a for-all constraint is too large")
    first, entries = dict[Monomial, tuple[int, int]](), dict[tuple[int, int], Polynomial]()
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
    refuted = exactly(goal, Goal).question == "feasible" or empty is True
    wanted = goal.question in ("minimize", "maximize") and not refuted
    need(wanted == (bound is not None), "minimize and maximize, and nothing else, are answered by a bound")
    end, sign = number(bound or 0), -1 if goal.question == "maximize" else 1
    targets = [(_sum([(sign, p), (-sign * end, ONE)]), h) for _, p, h in goal.parts]
    targets = [*dict.fromkeys((ZERO - ONE, h) for _, h in targets)] if refuted else targets
    listed = tuple(facts)
    need(len(listed) == len(targets), "a goal has a theorem for each part")
    for fact, (target, hypotheses) in zip(listed, targets, strict=True):
        known = exactly(fact, Theorem).hypotheses <= hypotheses
        need(known, "a theorem has a hypothesis that the problem does not have")
        rest = fact.conclusion - target
        where = next((_shown(m) or "1" for m, _ in rest.pairs), "")
        need(not where, f"the identity fails at the monomial {where}: the two sides differ there")
    return Answer(_KEY, goal, None if refuted else end)


class _Reader:
    """Reads the polynomials of a problem, in `known` names, by the grammar of docs/certificates.md alone."""

    def __init__(self, known: Mapping[str, Polynomial]) -> None:
        self.known = known

    def read(self, source: Any, series: bool = False) -> Polynomial:
        """The polynomial that text, a number or a list of [coefficient, {name: power}] spells, or such a list
        of Chebyshev polynomials, {"chebyshev": list} (`series`)."""
        if type(source) is str:
            spend(len(source) >> 1)
            result = [*_TOKEN.finditer(source)]
            tokens = ["", *(m[1] for m in reversed(result) if m[1])]
            need("".join(m[0] for m in result) == source, "a polynomial has a letter of no grammar")
            value = self.text(tokens)
            need(tokens == [""], f"a polynomial does not go on with {tokens[-1]}")
            return value
        series = series and type(source) is dict and source.keys() == {"chebyshev"}
        source, pairs = source["chebyshev"] if series else source, []
        source = [[source, {}]] if type(source) in (int, Fraction) and not series else source
        for w, m in shaped(source, [(object, dict)], "a polynomial"):
            value = ONE
            for name, k in m.items():
                need(name in self.known, f"{_brief(name)} is no variable")
                value = self.times(value, self.power(self.known[name], _integer(k), series))
            pairs.append((number(w), value))
        return _sum(pairs)

    def text(self, t: list[str], level: int = 0, depth: int = DEPTH) -> Polynomial:
        """The polynomial at the end of the tokens, with the operators that bind more tightly than `level`."""
        token = t.pop()
        need(depth and len(token) < 1017, "a polynomial is nested too deeply, or a numeral is too long")
        if token in ("+", "-"):
            value = _sum([(-1 if token == "-" else 1, self.text(t, 2, depth - 1))])
        elif token == "(":
            value = self.text(t, 0, depth - 1)
            need(t.pop() == ")", "a parenthesis is not closed")
        elif token[:1] in (*"0123456789", "."):
            value = _sum([(number(token), ONE)])
        else:
            need(token in self.known, f"{token or 'the end'} is no variable")
            value = self.known[token]
        pairs = [(1, value)]
        while _LEVEL.get(t[-1], 0) > level:
            op = t.pop()
            right = self.text(t, _LEVEL[op] - (op == "**"), depth - 1)
            if op in ("+", "-"):
                pairs.append((1 if op == "+" else -1, right))
            elif op == "**":
                need(right.terms.keys() <= {()}, "a power is a number")
                pairs = [(1, self.power(pairs[0][1], right.terms.get((), Fraction(0))))]
            else:
                right = right if op == "*" else self.power(right, Fraction(-1))
                pairs = [(1, self.times(pairs[0][1], right))]
        return _sum(pairs)

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if left is ONE or right is ONE:
            return right if left is ONE else left
        good = left.degree + right.degree <= DEGREE and left.bits + right.bits <= BITS
        need(good, "a polynomial is too large")
        return left * right

    def power(self, base: Polynomial, k: Fraction, series: bool = False) -> Polynomial:
        """base^k; T_k(base), by its recurrence, of a `series`."""
        if [m for m, _ in base.pairs] == [()] and not series:
            c = base.terms[()]
            base, k = _sum([(c if k >= 0 else 1 / c, ONE)]), k % 2 if c in (1, -1) else abs(k)
        need(k.denominator == 1 and 0 <= k <= WORK, "a power is a whole number, negative only of a number")
        out, after = ONE, base
        for _ in range(k.numerator if series else 0):
            out, after = after, self.times(_sum([(2, base)]), after) - out
        for bit in "" if series else f"{k.numerator:b}":
            out = self.times(self.times(out, out), base if bit == "1" else ONE)
        return out

    def set(self, source: Any, mean: bool = False) -> frozenset:
        """The hypotheses that "subject_to", "psd", "for_all" state, of points or (`mean`) of expectations."""
        of = integral if mean else (lambda p: p)
        matrices: list[Any] = [[[self.read(p) for p in r] for r in rows] for rows in source.get("psd", [])]
        listed = dict.fromkeys((frozenset(over), self.read(q)) for over, q in source.get("for_all", []))
        for k, (over, q) in enumerate(listed):  # each once
            good = over <= {*self.known} and not any(n.startswith(FREE) for n in self.known)
            need(good, "a quantified name is no variable, or a name is reserved")
            matrices.append(for_all(q, over, f"{'se'[mean]}{k}"))
        facts = [quadratic_form([[of(p) for p in row] for row in rows], (), (), ()) for rows in matrices]
        for item in source.get("subject_to", []):
            text = type(item) is str
            parts = re.split("(<=|>=|==)", item) if text else exactly(item, list)
            need(len(parts) == (3 if text else 2), "a constraint is p <= q or [p, '>= 0']")
            p = self.read(parts[0]) - (self.read(parts[2]) if text else ZERO)
            facts.append(assume(*_related(of(p), f"{parts[1]} 0" if text else parts[1], "0")))
        return frozenset().union(*(fact.hypotheses for fact in facts))


def _related(p: Polynomial, said: Any, only: str = "") -> tuple[str, Polynomial]:
    """p <=, >= or == a number (this one only, if any) as q >= 0 or q == 0."""
    match: Any = _RELATION.fullmatch(exactly(said, str))
    need(match and only in ("", match[2]), f"{_brief(said)} is no relation")
    sign = -1 if match[1] == "<=" else 1
    return match[1].replace("<", ">"), _sum([(sign, p), (-sign * number(match[2]), ONE)])


def _integer(value: Any) -> Fraction:
    """An integer of a problem, which may be written 1.0."""
    good = type(value) is int or (type(value) is Fraction and value.denominator == 1)
    need(good, f"{_brief(value)} is no integer", Malformed)
    return Fraction(value)


def _brief(value: Any) -> str:
    """A short ASCII form of anything, for messages."""
    if type(value) is str:
        return ascii(value[:40] + "..." * (len(value) > 40))
    small = type(value) in (bool, float, type(None)) or type(value) is int and value.bit_length() < 200
    return ascii(value) if small else f"a {type(value).__name__}"


def shaped(value: Any, shape: Any = object, where: str = "it", names: Any = ()) -> Any:
    """A copy in exact types, read once, of a value that has a shape: a type (`object`: JSON and fractions;
    `Polynomial` and `Monomial`: a list that spells one in these `names`), a pattern of text, {one of these},
    [shape of each item], (shapes of the items), or {key: shape}, where "key?" may be missing."""
    if shape is Polynomial:
        return _listed(shaped(value, _TERMS, where), names)
    if shape is Monomial:
        return _listed([["1", shaped(value, [(int, int)], where)]], names).pairs[0][0]
    if isinstance(value, dict):
        value = {exactly(key, str): item for key, item in value.items()}
    value = [*value] if isinstance(value, list | tuple) else value
    kind, is_a = type(shape), type(value)
    base = {type: shape, re.Pattern: str, dict: dict, set: object}.get(kind, list)
    good = isfinite(value) if is_a is float else value.bit_length() < 13_000 if is_a is int else is_a in _JSON
    good = good and base in (object, is_a) and (kind is not tuple or len(value) == len(shape))
    good = good and (kind is not set or any(is_a is type(v) and value == v for v in shape))
    if not good or (kind is re.Pattern and not shape.fullmatch(value)):
        expected = " or ".join(sorted(map(repr, shape))) if kind is set else f"a {base.__name__}"
        expected += f" of {len(shape)}" if kind is tuple else ' like "-3/8"' if kind is re.Pattern else ""
        raise Malformed(f"{where}: expected {expected}, got {_brief(value)}")
    spend(len(value) if type(value) in (dict, list) else 1)
    if type(value) is dict:
        shape = shape if kind is dict else {"?": object}
        of = {key.removesuffix("?"): inner for key, inner in shape.items()}
        wrong = [k for k in value if k not in of and "" not in of]
        wrong += [k for k in shape if k[-1] != "?" and k not in value]
        need(not wrong, f"{where}: the key {_brief(min(wrong, default=''))} is unknown or missing", Malformed)
        return {k: shaped(v, of.get(k, of.get("")), f"{where}.{k}", names) for k, v in value.items()}
    if type(value) is list:
        inner = shape if kind in (list, tuple) else [object]
        return [shaped(v, inner[k % len(inner)], where, names) for k, v in enumerate(value)]
    return value


def _listed(p: Any, names: list[str]) -> Polynomial:
    """The polynomial of a certificate, [[coefficient, [[variable, power], ...]], ...]."""
    out = dict[Monomial, Any]()
    for c, m in p:
        places, degree = [v for v, _ in m], sum(k for _, k in m)
        good = all(0 < k for _, k in m) and degree <= DEGREE and places == sorted({*places})
        need(good, "a monomial has ascending variables, with powers in 1..1000", Malformed)
        spend(5 + (degree >> 2))
        monomial = tuple(n for v, k in m for n in (pick(names, v),) * k)
        need(monomial not in out and number(c), "a monomial occurs twice, or with coefficient 0", Malformed)
        out[monomial] = c
    return polynomial(out)


_SET = {"subject_to?": list, "psd?": [[list]], "for_all?": [([str], object)]}
_MEASURE = {"subject_to?": list, "psd?": [[list]], "variables?": [str], "mass?": object}
_PROBLEM = {
    **dict.fromkeys(("name?", "description?", "comment?", "source?"), str),
    "format?": {"sosdp-problem/1"}, "variables": [str], "unknowns?": [str], "degree?": object,
    "products?": {"auto", "putinar", "intervals", "schmudgen"}, "options?": dict,
    "minimize?": object, "maximize?": object, "feasible?": {True}, "sos?": object,
}  # fmt: skip
_MEAN = _PROBLEM | _SET | {"in_expectation?": _SET, "squares?": [(object, object)]}
_MEASURES = _PROBLEM | {"measures": {"?": _MEASURE}, "subject_to?": [(dict, str)]}
_POINTS = _PROBLEM | _SET | {"on?": [_SET]}
_KINDS = {"measures": _MEASURES, "in_expectation": _MEAN, "squares": _MEAN, "": _POINTS}


@within(WORK, reading=True)
def state(problem: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> Goal:
    """The goal of a problem ("sosdp-problem/1", decimals as fractions), with `values` for its unknowns; keys
    beside the engine's: "in_expectation", "squares" and "on" (docs/certificates.md)."""
    kind = next(kind for kind in _KINDS if kind in {"", *(problem if isinstance(problem, dict) else ())})
    statement = shaped(problem, _KINDS[kind], "problem")
    given = {exactly(n, str): number(v) for n, v in dict(values or {}).items()}
    asks = [question for question in ("minimize", "maximize", "feasible", "sos") if question in statement]
    names, unknowns, degree = statement["variables"], statement.get("unknowns", []), statement.get("degree")
    best = asks[0] if asks[1:] == ["sos"] and asks[0] != "feasible" and unknowns else ""
    need(len(asks) == 1 or best, f"a problem asks one question, not {' and '.join(asks) or 'none'}")
    question = asks[-1]
    need(question == "sos" or not unknowns, "unknowns are those of sums of squares")
    need(degree is None or _integer(degree) > 0, "a degree is a positive integer")
    every = [*names, *unknowns]
    need(all(map(NAME.fullmatch, every)) and len({*every}) == len(every), "names are not names")
    known = {n: polynomial({(n,): 1}) for n in every}
    need(given.keys() == {*unknowns}, "all unknowns, and nothing else, have values")
    if kind == "measures":
        return _measured(statement, question, known)
    reader, full = _Reader({n: known[n] for n in names}), _Reader(known)
    fixed = _Reader(known | {n: _sum([(v, ONE)]) for n, v in given.items()})
    wanted, points = statement[question], reader.set(statement)
    listed = [0] if question == "feasible" else [wanted]
    terms = type(wanted) is list and all(type(t) is list and [*map(type, t)][1:] == [dict] for t in wanted)
    if question == "sos" and type(wanted) is not str and not (terms and wanted):
        listed = exactly(wanted, list)
    need(listed, "there is nothing to prove")
    sets = [reader.set(s) for s in statement["on"]] if "on" in statement else [points] * len(listed)
    need(len(sets) == len(listed), "each polynomial has a set")
    read = [[r.read(p, question != "sos") for r in (full, fixed)] for p in listed]
    need(all(sum(n in unknowns for n in m) <= 1 for p, _ in read for m, _ in p.pairs),
         "a polynomial is linear in the unknowns")  # fmt: skip
    parts = tuple((str(text), p, h) for (text, p), h in zip(read, sets, strict=True))
    if kind:
        means = reader.set(statement.get("in_expectation", {}), True) | {("on E", h) for h in points}
        squares = [(number(w), integral(reader.read(q))) for w, q in statement.get("squares", [])]
        need(all(w > 0 and question == "minimize" for w, _ in squares), "weights of squares are positive")
        need(len(parts) == 1, "expectations are those of one polynomial")
        p = _sum([(1, integral(parts[0][1])), *((w, reader.times(q, q)) for w, q in squares)])
        return Goal(_KEY, question, "probability distributions", ((str(p), p, means),), "", "", (None,))
    shown = ", ".join(f"{n} = {v}" for n, v in given.items())
    so, value, before = "", None, f"with {shown}: " if given else ""
    if best:
        words = ("least", "most") if best == "minimize" else ("largest", "least")
        aim, value = full.read(statement[best]), fixed.read(statement[best])
        need(aim.degree <= 1 and _inside(aim) <= {*unknowns}, "an objective is linear in the unknowns")
        so = f"; so the {words[0]} value of {aim} is at {words[1]} {value}"
    return Goal(_KEY, question, "real points", parts, before, so, (value,))


def _measured(statement: dict, question: str, known: dict) -> Goal:
    """The goal of a problem about measures: integrals are linear in the moments."""
    readers, hypotheses, more = dict[str, _Reader](), frozenset[Any](), []
    labels = {n: "E'" if n == "E" else n for n in statement["measures"]}
    for name, about in statement["measures"].items():
        need(NAME.fullmatch(name) and name not in known, "the name of a measure is none, or taken")
        own = about.get("variables", statement["variables"])
        need(own and {*own} <= known.keys() and len({*own}) == len(own), "a measure is of variables")
        readers[name] = _Reader({n: known[n] for n in own})
        hypotheses |= {(f"on {labels[name]}", h) for h in readers[name].set(about)}
        if about.get("mass") is not None:
            more.append(("==", integral(ONE, labels[name]) - _sum([(number(about["mass"]), ONE)])))

    def moments(parts: Any) -> Polynomial:
        need(exactly(parts, dict).keys() <= labels.keys(), "this is integrated against no measure")
        return _sum([(1, integral(readers[name].read(p), labels[name])) for name, p in parts.items()])

    more += [_related(moments(parts), said) for parts, said in statement.get("subject_to", [])]
    need(labels and question != "sos", "measures are for one objective")
    wanted = ZERO if question == "feasible" else moments(statement[question])
    hypotheses = hypotheses.union(*(assume(*m).hypotheses for m in more))
    parts = ((str(wanted), wanted, hypotheses),)
    return Goal(_KEY, question, f"measures {', '.join(labels.values())}", parts, "", "", tuple(more))


_TERMS, _COUNTS = [(RATIONAL, [(int, int)])], [int]
_SETS = {"equalities": [Polynomial], "inequalities": [Polynomial], "psd": [[[Polynomial]]]}
_KEYS: dict[str, Any] = _SETS | {  # what stands under the keys of a certificate
    "kind": str, "objective": Polynomial, "objectives": [Polynomial], "squares": [(RATIONAL, Polynomial)],
    "degree": int, "bound": RATIONAL, "values": [RATIONAL], "sense": {"minimize", "maximize"},
    "root": (int, RATIONAL, RATIONAL), "attained_at": [RATIONAL], "unique": {True}, "unknowns": _COUNTS,
    "on": [{f"{key}?": _COUNTS for key in _SETS}], "in_expectation": {f"{k}?": _SETS[k] for k in _SETS},
    "index": _COUNTS, "target": int, "entry": _COUNTS, "basis": [Monomial], "gram": [[RATIONAL]],
    "polynomial": Polynomial,
}  # fmt: skip
_GIVEN = "equalities? inequalities? psd?"
_BOUND = f"kind objective bound root? in_expectation? attained_at? unique? {_GIVEN}"
_CLAIMS = {
    "lower_bound": f"{_BOUND} squares?",
    "upper_bound": _BOUND,
    "infeasible": f"kind in_expectation? {_GIVEN}",
    "sos": f"kind objective? objectives? root? {_GIVEN}",
    "program": f"kind objective objectives bound unknowns values sense on? {_GIVEN}",
    "no_certificate": f"kind objective degree {_GIVEN}",
}
_BLOCKS = {
    **dict.fromkeys(("equality", "expectation_equality", "square"), "kind index target? polynomial"),
    **dict.fromkeys(("sos", "inequality", "product", "expectation"), "kind index? target? basis gram"),
    **dict.fromkeys(("psd", "expectation_psd"), "kind index target? basis gram entry"),
}
_FILE = {
    "format?": {"sosdp-certificate/1"}, "claim": dict, "variables": [str], "multipliers": [dict],
    "functional?": _TERMS, "digest?": str, "note?": str,
}  # fmt: skip


class Certificate(_Sealed):
    """What a certificate file holds: its `claim` with polynomials in place of lists and `unknowns` {name:
    value}, `names` of variables, `blocks` (multipliers), and a `functional` that shows that there is none."""

    __slots__, (claim, names, blocks, functional) = (), _fields(4)


@within(LONG, reading=True)
def certified(proof: Any) -> Certificate:
    """The certificate in the object of a file ("sosdp-certificate/1"); Malformed if there is none."""
    proof = shaped(proof, _FILE, "certificate")
    claim, names, blocks = proof["claim"], proof["variables"], proof["multipliers"]
    good = all(map(NAME.fullmatch, names)) and len({*names}) == len(names)
    need(good, "variables: names are ASCII identifiers, at most 200 letters long, each once")
    inside = [(block, _BLOCKS, f"multipliers[{k}]") for k, block in enumerate(blocks)]
    read = []
    for what, among, where in [(claim, _CLAIMS, "claim"), *inside]:
        allowed = among[shaped(what.get("kind"), {*among}, f"{where}.kind")].split()
        read.append(shaped(what, {key: _KEYS[key.removesuffix("?")] for key in allowed}, where, names))
    claim, *blocks = read
    kind, keys, one = claim["kind"], claim.keys(), claim.keys() & {"objective", "objectives"}
    at, mean = claim.get("attained_at"), any(claim.get("in_expectation", {}).values())
    unknowns, values, several, on = (claim.get(k, []) for k in ("unknowns", "values", "objectives", "on"))
    matrices = [m for part in (claim, claim.get("in_expectation", {})) for m in part.get("psd", [])]
    for key, k in ((key, k) for uses in on for key, used in uses.items() for k in used):
        pick(claim.get(key, []), k)
    for good, otherwise in (
        (kind != "sos" or len(one) == 1, "objective or objectives"),
        ("root" not in keys or not (at or mean or "squares" in keys), "root: there is a point or mean"),
        (at is None or not mean, "attained_at: a bound on expectations is not attained at a point"),
        (at is None or len(at) == len(names), "attained_at: another number of coordinates"),
        (at or "unique" not in keys, "unique: may only be true, together with attained_at"),
        (0 <= claim.get("degree", 0) <= DEGREE, "degree: out of range"),
        (all(0 <= b.get("target", 0) < max(1, len(several)) for b in blocks), "a target is no polynomial"),
        (all(m and len(row) == len(m) for m in matrices for row in m or [m]), "a matrix is square"),
        (len(unknowns) == len(values) == len({*unknowns}), "values: one number for each unknown"),
        ("on" not in keys or len(on) == len(several), "on: one set for each polynomial"),
    ):
        need(good, f"claim.{otherwise}")
    shown = ("functional" in proof) == (kind == "no_certificate") and not ("functional" in proof and blocks)
    need(shown, "a claim of kind 'no_certificate', and no other, is shown by a functional, and by it alone")
    claim |= {"unknowns": dict(zip([pick(names, k) for k in unknowns], values, strict=True))}
    value = polynomial({(): claim["bound"]}) if kind == "program" and not unknowns else None
    need(value in (None, claim.get("objective")), "claim.bound: the objective has another value")
    return Certificate(_KEY, claim, names, blocks, _listed(proof.get("functional", []), names))


def replay(problem: Any, proof: Any) -> Answer:
    """The answer that a certificate, or the object of its file, gives to a problem, or to its goal."""
    proof = proof if type(proof) is Certificate else certified(proof)
    claim, names = proof.claim, proof.names
    need(claim["kind"] != "no_certificate", "there is no rule for the absence of certificates")
    values, goal = claim["unknowns"], problem
    if type(problem) is not Goal:
        problem = shaped(problem, dict, "problem")
        goal = state(problem, {n: values.get(n, 0) for n in shaped(problem.get("unknowns", []), [str])})
    proven, means = [list[Any]() for _ in claim.get("objectives", [0])], list[Any]()
    used = [block["index"] for block in proof.blocks if block["kind"] == "square"]
    unused = [[k] for k in range(len(claim.get("squares", []))) if [k] not in used]
    blocks = [*proof.blocks, *({"kind": "square", "index": index} for index in unused)]
    for block in blocks:
        mean = block["kind"].startswith("expectation") or block["kind"] == "square"
        fact = (1, _multiplier(block, claim, names, mean))
        (means if mean else pick(proven, block.get("target", 0))).append(fact)
    facts = [weighted_sum(result) for result in proven]
    if "root" in claim:
        k, low, high = claim["root"]
        facts = [root(fact, pick(names, k), low, high) for fact in facts]
    bound, empty = claim.get("bound"), claim["kind"] == "infeasible"
    if goal.about == "probability distributions":
        facts = [weighted_sum([(1, average(fact)), *means]) for fact in facts]
    if goal.about.startswith("measures "):
        constants = any(() in p.terms for _, p in goal.more)
        empty = goal.question == "feasible" or (claim.get("objective") == ZERO and constants)
        weights = [number(values.get(f"{MULTIPLIER}{k}", 0)) for k in range(len(goal.more))]
        facts = [_dual(goal, weights, facts, empty)]
    elif goal.more[0] is not None:
        same = bound is not None and number(bound) == goal.more[0].terms.get((), 0)
        need(same, "the value of the objective is another")
    bounded = goal.question in ("minimize", "maximize") and not empty
    need(bound is not None or not bounded, "a claim without a bound is no answer")
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


def _multiplier(block: dict, claim: dict, names: list[str], mean: bool) -> Theorem:
    """What one multiplier of a certificate proves."""
    kind, index = re.sub("expectation(_|$)", "", block["kind"]) or "inequality", block.get("index", [])
    source = claim.get("in_expectation", {}) if mean and kind != "square" else claim
    of = {"square": "squares", "equality": "equalities", "psd": "psd"}.get(kind, "inequalities")
    good = index if kind == "product" else len(index) == (kind != "sos")
    need(good, f"a multiplier of this kind cannot have {len(index)} indices", Malformed)
    picked = [pick(source.get(of, []), k) for k in index]
    free, basis = block.get("polynomial", ZERO), [polynomial({m: 1}) for m in block.get("basis", [])]
    constant = not (mean and any(m for p in (free, *basis) for m, _ in p.pairs))
    need(constant, "only a number may multiply an expectation", Malformed)
    read = integral if mean else (lambda p: p)
    if kind == "square":
        w, p = picked[0]
        need(number(w) > 0, "the weight of a square is positive", Malformed)
        return weighted_sum([(w, square(read(p) - _sum([(1 / (2 * number(w)), free)])))])
    if kind == "equality":
        return multiple(assume("==", read(picked[0])), free)
    rows = [[read(p) for p in row] for row in picked.pop()] if kind == "psd" else [[ONE]]
    fact = quadratic_form(rows, basis, block["gram"], block.get("entry", [0] * len(basis)))
    for p in picked:
        fact = product(fact, assume(">=", read(p)))
    return fact


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len(dict(pairs)) == len(pairs), "an object has the same key twice", Malformed)
    return dict(pairs)


def load(path: str, most: int = BYTES, problem: bool = False) -> Any:
    """The object that a JSON file of at most `most` bytes holds, its decimals as fractions.  A `problem` may
    begin with a byte order mark, as for the engine; a proof may not."""
    try:
        # a pipe or a device may never end, so it is not even opened
        need(stat.S_ISREG(os.stat(exactly(path, str)).st_mode), "not a regular file")
        need(os.path.getsize(path) <= most, f"it has more than {most} bytes (--max-bytes)")
        data = Path(path).read_bytes()
        # a list or an object takes about 100 bytes in memory, a string or an item about 50, 1e1000 about 600
        stored = 100 * (data.count(b"[") + data.count(b"{")) + 50 * (data.count(b'"') // 2 + data.count(b","))
        stored += 600 * len(re.findall(rb"[0-9.][eE]", data))
        need(stored <= 8 * BYTES, "reading this takes more memory than the limit allows")
        text = data.decode("utf-8-sig" if problem else "utf-8")
        content = json.loads(text, object_pairs_hook=_once, parse_float=number, parse_constant=number)
        need(content is not None, "it holds null in place of an object")  # which says that there is none
        return content
    except (OSError, ValueError, RecursionError) as why:
        said = {json.JSONDecodeError: "not JSON: ", RecursionError: "nested too deeply: "}.get(type(why), "")
        raise Malformed(f"{path}: {said}{why}") from None


def main(arguments: list[str], formats: Any = None, prove: Any = None) -> int:
    """The command: 0 where the proof answers the problem, 1 where it does not, 2 for what is unreadable."""
    formats = formats or ("sosdp-problem/1", "sosdp-certificate/1")
    try:
        count, names = len(formats), " ".join(formats)
        need(len(arguments) == count, f"it takes {count} file(s): {names}", Malformed)
        with within(LONG):
            files = [load(file, problem="problem" in name) for file, name in zip(arguments, formats)]
            for content, name in zip(files, formats, strict=True):
                shaped(exactly(content, dict).get("format"), {name}, "format")
            print(prove(*files) if prove else replay(*files).show())
        return 0
    except NotProven as why:
        code = 1 + isinstance(why, Malformed)
        print(f"{('not proven', 'unreadable')[code - 1]}: {why}", file=sys.stderr)
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
