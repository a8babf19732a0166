"""The kernel: what a theorem is, and the only ways of making one.  Read this file and trust nothing else.

A `Theorem` says that a polynomial is nonnegative (or zero) at every real point that meets its hypotheses;
six rules make theorems: `assume`, `square`, `weighted_sum`, `product`, `multiple`, `quadratic_form`.  An
`Average` says the same of expectations, for every distribution on such points; five rules make these.  Every
rule is one line of mathematics, its docstring.  `state` reads a problem and says what there is to prove;
`settle` compares that with theorems.  So a certificate supplies multipliers only: names, constraints and the
question come from the problem, and a wrong multiplier makes the last comparison fail.  No floats, tolerances,
factorisations or files; Python's fractions and standard library.  Objects are made by the rules and never
change (though Python has no walls: ``object.__setattr__``, or the key of this file, breaks them).
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from types import MappingProxyType
from typing import Any

Monomial = tuple[str, ...]  # names in order, with repetition: x^2 y is ("x", "x", "y")
Hypothesis = tuple[str, Any]  # (">=", p), ("==", p) or ("psd", a symmetric matrix of polynomials)
Matrix = Sequence[Sequence["Polynomial"]]
_KEY = object()
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NUMERAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
MOST = 10_000  # the largest power in a problem


class NotProven(ValueError):
    """A rule does not cover what it was applied to, or what is proven is not what was asked."""


class _Sealed:
    """Made only with the key of this file, and never changed."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, key: object, *values: Any) -> None:
        if key is not _KEY:
            raise TypeError(f"a {type(self).__name__} is made by the rules of the kernel only")
        for name, value in zip(type(self).__slots__, values, strict=True):
            object.__setattr__(self, name, MappingProxyType(value) if type(value) is dict else value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(f"a {type(self).__name__} does not change")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a {type(self).__name__} has no {name}")


class Polynomial(_Sealed):
    """A polynomial: `terms` maps monomials to fractions other than 0."""

    __slots__ = ("terms",)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other: Polynomial) -> Polynomial:
        return _sum([(1, self), (1, other)])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return _sum([(1, self), (-1, other)])

    def __mul__(self, other: Polynomial) -> Polynomial:
        out: dict[Monomial, Fraction] = {}
        for a, p in self.terms.items():
            for b, q in other.terms.items():
                m = tuple(sorted(a + b))
                out[m] = out[m] + p * q if m in out else p * q
        return Polynomial(_KEY, {m: c for m, c in out.items() if c})

    def __str__(self) -> str:
        parts = []
        for monomial, c in sorted(self.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            names = [n if (k := monomial.count(n)) == 1 else f"{n}^{k}" for n in dict.fromkeys(monomial)]
            size = [str(abs(c))] if abs(c) != 1 or not names else []
            parts.append(("- " if c < 0 else "+ ") + " ".join(size + names))
        return " ".join(parts).removeprefix("+ ") or "0"


def _sum(pairs: Iterable[tuple[Any, Polynomial]]) -> Polynomial:
    out: dict[Monomial, Fraction] = {}
    for weight, p in pairs:
        for m, c in p.terms.items():
            out[m] = out[m] + weight * c if m in out else weight * c
    return Polynomial(_KEY, {m: c for m, c in out.items() if c})


def polynomial(terms: Mapping[Monomial, Any]) -> Polynomial:
    """The polynomial with these coefficients (see `number`) of these monomials (tuples of names)."""
    pairs = [(tuple(sorted(monomial)), number(c)) for monomial, c in terms.items()]
    if not all(type(n) is str and _NAME.fullmatch(n) for monomial, _ in pairs for n in monomial):
        raise NotProven("a variable is called by an ASCII identifier")
    return _sum((c, Polynomial(_KEY, {m: Fraction(1)})) for m, c in pairs)


def number(value: Any) -> Fraction:
    """An integer, a Fraction, or text such as "-1/3" or "0.1", exactly; floats are refused."""
    if type(value) not in (int, Fraction, str):  # nor subclasses, whose arithmetic may be their own
        raise NotProven(f"{value!r} is not an exact number")
    return Fraction(value)


ONE = polynomial({(): 1})
_OPERATORS: dict[type, Any] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


class Theorem(_Sealed):
    """At every real point where all `hypotheses` hold, `conclusion` >= 0 (or == 0, says `relation`)."""

    __slots__ = ("hypotheses", "relation", "conclusion")


def assume(relation: str, p: Polynomial) -> Theorem:
    """p >= 0 gives p >= 0; p == 0 gives p == 0."""
    if type(relation) is not str or relation not in (">=", "=="):
        raise NotProven("a hypothesis is p >= 0 or p == 0")
    return Theorem(_KEY, frozenset({(relation, _is(p, Polynomial))}), relation, p)


def square(p: Polynomial) -> Theorem:
    """p^2 >= 0."""
    return Theorem(_KEY, frozenset(), ">=", _is(p, Polynomial) * p)


def weighted_sum(pairs: Iterable[tuple[Any, Theorem]]) -> Theorem:
    """p_k >= 0 and w_k >= 0 give sum w_k p_k >= 0; where p_k == 0, w_k is any number."""
    _, hypotheses, relation, conclusion = _linear(pairs, Theorem)
    return Theorem(_KEY, hypotheses, relation, conclusion)


def _linear(pairs: Iterable[tuple[Any, Any]], kind: type) -> tuple[list, frozenset, str, Polynomial]:
    found = [(number(w), _is(t, kind)) for w, t in pairs]
    if any(w < 0 and t.relation != "==" for w, t in found):
        raise NotProven("an inequality may not be multiplied by a negative number")
    relation = "==" if all(t.relation == "==" for _, t in found) else ">="
    hypotheses: frozenset[Hypothesis] = frozenset().union(*(t.hypotheses for _, t in found))
    return found, hypotheses, relation, _sum((w, t.conclusion) for w, t in found)


def product(left: Theorem, right: Theorem) -> Theorem:
    """p >= 0 and q >= 0 give p q >= 0."""
    hypotheses = _is(left, Theorem).hypotheses | _is(right, Theorem).hypotheses
    return Theorem(_KEY, hypotheses, ">=", left.conclusion * right.conclusion)


def multiple(equality: Theorem, p: Polynomial) -> Theorem:
    """h == 0 gives p h == 0."""
    if _is(equality, Theorem).relation != "==":
        raise NotProven("only an equality may be multiplied by any polynomial")
    return Theorem(_KEY, equality.hypotheses, "==", _is(p, Polynomial) * equality.conclusion)


def quadratic_form(matrix: Matrix, vector: Sequence[Polynomial]) -> Theorem:
    """G positive semidefinite gives v^T G v >= 0, for a vector v of polynomials."""
    return Theorem(_KEY, frozenset({_psd(matrix)}), ">=", _form(matrix, vector))


def _psd(matrix: Matrix) -> Hypothesis:
    rows = tuple(tuple(_is(p, Polynomial) for p in row) for row in matrix)
    if not rows or any(len(row) != len(rows) for row in rows) or rows != tuple(zip(*rows, strict=True)):
        raise NotProven("a matrix inequality is about a symmetric matrix")
    return "psd", rows


def _form(matrix: Matrix, vector: Sequence[Polynomial]) -> Polynomial:
    (_, rows), factors = _psd(matrix), [_is(v, Polynomial) for v in vector]
    pairs = [(v, zip(factors, row, strict=True)) for v, row in zip(factors, rows, strict=True) if v.terms]
    return _sum((1, v * w * g) for v, row in pairs for w, g in row if w.terms)


def _is(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise NotProven(f"a {kind.__name__} is needed, not a {type(value).__name__}")
    return value


class Average(_Sealed):
    """For every probability distribution on the points where `hypotheses` hold, with finite moments, and with
    `means` true of expectations: E[conclusion] + sum of w E[p]^2 over `squares` >= 0 (or == 0)."""

    __slots__ = ("hypotheses", "means", "squares", "relation", "conclusion")


def average(theorem: Theorem) -> Average:
    """What holds at every point holds on average."""
    t = _is(theorem, Theorem)
    return Average(_KEY, t.hypotheses, frozenset(), {}, t.relation, t.conclusion)


def assume_mean(relation: str, p: Polynomial) -> Average:
    """E[p] >= 0 gives E[p] >= 0; E[p] == 0 gives E[p] == 0."""
    return Average(_KEY, frozenset(), assume(relation, p).hypotheses, {}, relation, p)


def mean_form(matrix: Matrix, numbers: Sequence[Any]) -> Average:
    """E[M] positive semidefinite gives E[c^T M c] >= 0, for a vector c of numbers."""
    form = _form(matrix, [_sum([(number(c), ONE)]) for c in numbers])
    return Average(_KEY, frozenset(), frozenset({_psd(matrix)}), {}, ">=", form)


def mean_square(weight: Any, p: Polynomial, u: Any) -> Average:
    """w E[p]^2 - u E[p] + u^2 / (4 w) = w (E[p] - u / (2 w))^2 >= 0, for w > 0."""
    w, of = number(weight), number(u)
    if w <= 0:
        raise NotProven("the weight of a square must be positive")
    linear = _sum([(-of, _is(p, Polynomial)), (of**2 / (4 * w), ONE)])
    return Average(_KEY, frozenset(), frozenset(), {p: w}, ">=", linear)


def average_sum(pairs: Iterable[tuple[Any, Average]]) -> Average:
    """Expectations are linear: `weighted_sum` on average."""
    found, hypotheses, relation, conclusion = _linear(pairs, Average)
    means: frozenset[Hypothesis] = frozenset().union(*(a.means for _, a in found))
    squares: dict[Polynomial, Fraction] = {}
    for w, a in found:
        for p, weight in a.squares.items():
            squares[p] = squares.get(p, 0) + w * weight
    return Average(_KEY, hypotheses, means, squares, relation, conclusion)


class Goal(_Sealed):
    """What there is to prove on the set of `hypotheses`: "minimize" or "maximize" a polynomial, "feasible"
    (it is not), or "sos" (every polynomial >= 0); on average where there are `means` or `squares`."""

    __slots__ = ("question", "polynomials", "hypotheses", "means", "squares")


class Answer(_Sealed):
    """A goal that is settled; `bound` answers minimize and maximize."""

    __slots__ = ("goal", "bound")

    def show(self) -> str:
        """The whole statement: every hypothesis, every number."""
        goal, points, means = self.goal, _conditions(self.goal.hypotheses), _conditions(self.goal.means)
        mean = bool(goal.means or goal.squares)
        head = "for every probability distribution on the real points" if mean else "for all real points"
        head += (f" where {points}" if points else "") + (f", if on average {means}" if means else "")
        tail = "".join(f" + {w} E[{p}]^2" for p, w in goal.squares.items())
        end = f" <= {self.bound}" if goal.question == "maximize" else f" >= {self.bound or 0}"
        shown = [f"{f'E[{p}]' if mean else p}{tail}{end}" for p in goal.polynomials]
        return f"{head}: {'; '.join(shown) or 'there are none'}"


def _conditions(hypotheses: Iterable[Hypothesis]) -> str:
    def show(h: Hypothesis) -> str:
        rows = [", ".join(map(str, row)) for row in h[1]] if h[0] == "psd" else []
        return f"[{'; '.join(rows)}] is positive semidefinite" if rows else f"{h[1]} {h[0]} 0"

    return " and ".join(sorted(map(show, hypotheses)))


def state(problem: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> Goal:
    """The goal of a problem ("sosdp-problem/1", decimals read as fractions), with `values` for its unknowns.
    Two more keys: "in_expectation", an object with "subject_to" and "psd" about expectations, and "squares",
    pairs [weight, p] that add weight * E[p]^2 to what is minimized."""
    plain = {name: polynomial({(name,): 1}) for name in problem["variables"]}
    known = {name: _sum([(number(value), ONE)]) for name, value in (values or {}).items()} | plain
    questions = [q for q in ("minimize", "maximize", "feasible", "sos") if problem.get(q) is not None]
    question = "sos" if values and "sos" in questions else " ".join(questions)
    if set(values or ()) != set(problem.get("unknowns") or ()) or question not in questions:
        raise NotProven("a problem asks one question, and all its unknowns, and nothing else, have values")
    asked = [] if question == "feasible" else problem[question]
    terms = type(asked) is list and any(type(t) is list and [*map(type, t[-1:])] == [dict] for t in asked)
    several = question == "feasible" or (question == "sos" and isinstance(asked, list) and not terms)
    wanted = tuple(_read(p, known) for p in (asked if several else [asked]))
    squares: dict[Polynomial, Fraction] = {}
    for weight, p in problem.get("squares") or ():
        squares[_read(p, known)] = squares.get(_read(p, known), 0) + number(weight)
    if (squares and question != "minimize") or any(w <= 0 for w in squares.values()):
        raise NotProven("squares of expectations, with positive weights, belong to what is minimized")
    means = _constraints(problem.get("in_expectation") or {}, plain)
    return Goal(_KEY, question, wanted, _constraints(problem, plain), means, squares)


def _constraints(problem: Mapping[str, Any], known: Mapping[str, Polynomial]) -> frozenset[Hypothesis]:
    found = {_psd([[_read(p, known) for p in row] for row in m]) for m in problem.get("psd") or ()}
    for stated in problem.get("subject_to") or ():
        parts = re.split("(<=|>=|==)", stated) if isinstance(stated, str) else [stated[0], stated[1][:2], "0"]
        if len(parts) != 3 or parts[1] not in ("<=", ">=", "=="):
            raise NotProven(f"{stated!r} is not one of p <= q, p >= q, p == q")
        sign = -1 if parts[1] == "<=" else 1
        p = _sum([(sign, _read(parts[0], known)), (-sign, _read(parts[2], known))])
        found.add(("==" if parts[1] == "==" else ">=", p))
    return frozenset(found)


def _read(source: Any, known: Mapping[str, Polynomial]) -> Polynomial:
    """A polynomial written as text or as a list of [coefficient, {name: power}]."""
    if not isinstance(source, str):
        powers = ((c, (_power(known[n], k) for n, k in m.items())) for c, m in source)
        return _sum((number(c), prod(factors, start=ONE)) for c, factors in powers)
    if not source.isascii() or "\n" in source.strip():
        raise NotProven("a polynomial is one line of ASCII")
    return _walk(ast.parse(source.strip(), mode="eval").body, source.strip(), known)


def _walk(node: ast.expr, text: str, known: Mapping[str, Polynomial]) -> Polynomial:
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Constant) and _NUMERAL.fullmatch(text[node.col_offset : node.end_col_offset]):
        return polynomial({(): text[node.col_offset : node.end_col_offset]})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _sum([(-1 if isinstance(node.op, ast.USub) else 1, _walk(node.operand, text, known))])
    if isinstance(node, ast.BinOp):
        left, right = _walk(node.left, text, known), _walk(node.right, text, known)
        if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](left, right)
        value = right.terms.get((), 0)
        if isinstance(node.op, ast.Div | ast.Pow) and right.terms.keys() <= {()}:
            return _power(left, value) if isinstance(node.op, ast.Pow) else _sum([(1 / value, left)])
    raise NotProven(f"{text!r} is not a polynomial in the variables of the problem")


def _power(p: Polynomial, k: Any) -> Polynomial:
    if number(k).denominator != 1 or not 0 <= k <= MOST:
        raise NotProven(f"{k} is not a power in 0..{MOST}")
    return prod([p] * int(k), start=ONE)


def settle(goal: Goal, facts: Sequence[Theorem | Average], bound: Any = None) -> Answer:
    """The answer that theorems (one for each polynomial of the goal) give; NotProven when they do not."""
    if (bound is None) == (_is(goal, Goal).question in ("minimize", "maximize")):
        raise NotProven("minimize and maximize, and nothing else, are answered by a bound")
    sign, end = -1 if goal.question == "maximize" else 1, number(bound or 0)
    targets = [_sum([(sign, p), (-sign * end, ONE)]) for p in goal.polynomials]
    if goal.question == "feasible":
        targets = [_sum([(-1, ONE)])]
    kind = Average if goal.means or goal.squares else Theorem
    for fact, target in zip(facts, targets, strict=True):
        if not _is(fact, kind).hypotheses <= goal.hypotheses:
            raise NotProven("a theorem has a hypothesis that the problem does not have")
        more = kind is Average and any(w > goal.squares.get(p, 0) for p, w in fact.squares.items())
        if more or (kind is Average and not fact.means <= goal.means):
            raise NotProven("a theorem has expectations, or squares of them, that the problem does not have")
        if fact.conclusion != target:
            raise NotProven(f"a theorem is about something else, by {fact.conclusion - target}")
    return Answer(_KEY, goal, None if bound is None else end)
