"""Operators in problem files: letters declared by family, and polynomials in them as text.

Text is read as Python's syntax tree and walked; nothing is evaluated. Letters are written ``A[0][1]``,
``s[2].x``,
``x``, the adjoint ``u.H``, the imaginary unit ``1j``; decimals are read exactly.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sosdp.algebra import letters
from sosdp.algebra.operator import IMAGINARY_UNIT, OperatorPolynomial, relation
from sosdp.algebra.parse import ParseError, read_number
from sosdp.model.expectation import Expectation, expectation

OPERATOR_KEYS = ("operators", "relations", "level", "trace", "state")
_LONGEST, _MOST_FACTORS = 200_000, 64
_MOST_LETTERS, _MOST_PRODUCTS, _MOST_BITS = 500, 100_000, 20_000
_FAMILIES: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "projectors": (("inputs", "outputs", "party"), lambda n, **o: letters.projectors(n, **o)),
    "observables": (("count", "party"), lambda n, **o: letters.observables(n, **o)),
    "unitaries": (("count", "party"), lambda n, **o: letters.unitaries(n, **o)),
    "hermitian": (("party", "norm"), lambda n, **o: letters.operators(n, **o)),
    "operator": (("party", "norm"), lambda n, **o: letters.operators(n, hermitian=False, **o)),
    "paulis": (("count",), lambda n, **o: letters.paulis(name=n, **o)),
    "fermions": (("count",), lambda n, **o: letters.fermions(name=n, **o)),
    "bosons": (("count",), lambda n, **o: letters.bosons(name=n, **o)),
}


@dataclass(frozen=True, eq=False)
class OperatorProblem:
    """What a file says about operators; ``given``: its keys as they were, for saving."""

    objective: OperatorPolynomial
    constraints: tuple[Any, ...]
    level: int | str | None
    trace: bool
    given: dict[str, Any] = field(repr=False)


def read_operators(data: Mapping[str, Any], sense: str, at: Callable[[str], Any]) -> OperatorProblem:
    """The problem; ``at(key)`` is a context in which what goes wrong is a complaint about the key."""
    names: dict[str, Any] = {}
    with at("operators"):
        if not isinstance(data["operators"], Mapping) or not data["operators"]:
            raise ParseError('expected families by name, such as {"A": {"kind": "observables", "count": 2}}')
        for name, family in data["operators"].items():
            names[name] = _family(name, family)
    with at(sense):
        objective = OperatorPolynomial._of(_read(data[sense], names))
        if objective is None:
            raise ParseError("expected a polynomial in operators")
    constraints: list[Any] = []
    for key in ("subject_to", "state", "relations"):
        with at(key):
            if not isinstance(data.get(key, []), list | tuple):
                raise ParseError("expected a list of texts")
        for k, text in enumerate(data.get(key, [])):
            with at(f"{key}[{k}]"):
                constraints.append(_constraint(text, names, key))
    with at("level"):
        level = data.get("level")
        if level is not None and (isinstance(level, bool) or not isinstance(level, int | str)):
            raise ParseError('expected an integer or a text such as "1+AB"')
    with at("trace"):
        trace = data.get("trace", False)
        if not isinstance(trace, bool):
            raise ParseError("expected true or false")
    given = {k: data[k] for k in ("name", *OPERATOR_KEYS, sense, "subject_to", "options") if k in data}
    return OperatorProblem(objective, tuple(constraints), level, trace, given)


def _family(name: str, family: Any) -> Any:
    if not isinstance(family, Mapping) or family.get("kind") not in _FAMILIES:
        raise ParseError(f"{name}: kind is one of {', '.join(_FAMILIES)}")
    sizes = (family.get(key, 1) for key in ("count", "inputs", "outputs"))
    counts = (max([1, *(v for v in (s if isinstance(s, list) else [s]) if type(v) is int)]) for s in sizes)
    if math.prod(counts) > _MOST_LETTERS:
        raise ParseError(f"{name}: a family in a file has at most {_MOST_LETTERS} letters")
    known, make = _FAMILIES[family["kind"]]
    options = {k: v for k, v in family.items() if k != "kind"}
    stray = sorted(set(options) - set(known))
    if stray:
        raise ParseError(
            f"{name}: {stray[0]!r} is not a key of {family['kind']}; it takes {', '.join(known)}"
        )
    return make(name, **options)


def _constraint(text: Any, names: Mapping[str, Any], key: str) -> Any:
    tree = _tree(text)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise ParseError("expected one of <=, >=, ==")
    left, right = (_value(node, names, str(text)) for node in (tree.left, tree.comparators[0]))
    if not any(isinstance(v, OperatorPolynomial | Expectation) for v in (left, right)):
        raise ParseError("there is no operator in it")
    inside = isinstance(left, Expectation) or isinstance(right, Expectation)
    if (key == "state") != inside:
        said = (
            "is about the state: write E(...)"
            if key == "state"
            else "is about operators: give E(...) in state"
        )
        raise ParseError(f"a constraint of {key} {said}")
    if isinstance(tree.ops[0], ast.Eq):
        return relation(left, right) if key == "relations" else left - right == 0
    if key == "relations" or not isinstance(tree.ops[0], ast.LtE | ast.GtE):
        raise ParseError("expected ==" if key == "relations" else "expected one of <=, >=, ==")
    return left - right >= 0 if isinstance(tree.ops[0], ast.GtE) else right - left >= 0


def _tree(text: Any) -> ast.expr:
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParseError(f"expected a text of at most {_LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ParseError(f"cannot be read: {getattr(error, 'msg', error)}") from None


def _read(text: Any, names: Mapping[str, Any]) -> Any:
    """The value of a text, summand by summand: Python's parser takes no long sums."""
    if not isinstance(text, str):
        return _value(_tree(text), names, str(text))
    return _total([_value(_tree(part), names, part) for part in _summands(text)])


def _summands(text: str) -> list[str]:
    """The text cut before every plus and minus outside of brackets that follows a value."""
    cuts, depth, before = [0], 0, ""
    for k, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c in "+-" and not depth and before and before not in "+-*/":
            if not (before in "eE" and text[k - 2 : k - 1].isdigit()):  # 1e-3
                cuts.append(k)
        before = before if c.isspace() else c
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _value(node: ast.expr, names: Mapping[str, Any], text: str) -> Any:
    """A number, an operator, a family, or an expectation."""
    if isinstance(node, ast.Constant):
        shown = ast.get_source_segment(text.strip(), node) or ""
        if isinstance(node.value, complex):
            return IMAGINARY_UNIT * read_number(shown[:-1])
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return read_number(shown)
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ParseError(f"unknown operator {node.id!r}; there are {', '.join(names)}")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _value(node.operand, names, text)
        return inner if isinstance(node.op, ast.UAdd) else inner * -1
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "E"
        and len(node.args) == 1
    ):
        return expectation(_value(node.args[0], names, text))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        family, k = _value(node.value, names, text), node.slice.value
        if not isinstance(family, list) or type(k) is not int or not 0 <= k < len(family):
            raise ParseError(f"there is no {ast.unparse(node)}")
        return family[k]
    if isinstance(node, ast.Attribute):
        inner = _value(node.value, names, text)
        if isinstance(inner, letters.Pauli) and node.attr in ("x", "y", "z"):
            return getattr(inner, node.attr)
        if isinstance(inner, OperatorPolynomial) and node.attr in ("H", "adjoint"):
            return inner.adjoint
        raise ParseError(f"{node.attr!r} is no part of {ast.unparse(node.value)}")
    if isinstance(node, ast.BinOp):
        return _chain(node, names, text)
    raise ParseError(f"{ast.unparse(node)[:60]!r} is no polynomial in operators")


def _chain(node: ast.BinOp, names: Mapping[str, Any], text: str) -> Any:
    """A chain of operations from left to right; runs of sums are added in halves, so that long ones are
    quick."""
    spine: list[ast.BinOp] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        spine.append(first)
        first = first.left
    summands = [_value(first, names, text)]
    for step in reversed(spine):
        right = _value(step.right, names, text)
        if isinstance(step.op, ast.Add | ast.Sub) and isinstance(right, OperatorPolynomial):
            summands.append(right if isinstance(step.op, ast.Add) else -right)
        else:
            summands = [_combined(step, _total(summands), right)]
    return _total(summands)


def _total(summands: list[Any]) -> Any:
    if len(summands) == 1:
        return summands[0]
    half = len(summands) // 2
    left, right = _total(summands[:half]), _total(summands[half:])
    if any(isinstance(v, list | letters.Pauli) for v in (left, right)):
        raise ParseError("a whole family is no summand: write A[0], s[0].x")
    return left + right


def _product(left: Any, right: Any) -> Any:
    """The product; ParseError before one that takes long is made."""
    if isinstance(left, OperatorPolynomial) and isinstance(right, OperatorPolynomial):
        terms, letters_ = len(left.terms) * len(right.terms), left.degree + right.degree
        if terms > _MOST_PRODUCTS or letters_ > _MOST_LETTERS:
            raise ParseError(
                f"a product has at most {_MOST_LETTERS} letters in a word and {_MOST_PRODUCTS} products of "
                "terms"
            )
    elif isinstance(left, Fraction | int) and isinstance(right, Fraction | int):
        bits = sum(v.numerator.bit_length() + v.denominator.bit_length() for v in (left, right))
        if bits > _MOST_BITS:
            raise ParseError(f"a number has at most {_MOST_BITS} bits")
    return left * right


def _combined(node: ast.BinOp, left: Any, right: Any) -> Any:
    if any(isinstance(v, list | letters.Pauli) for v in (left, right)):
        raise ParseError(f"{ast.unparse(node)[:60]!r} uses a whole family: write A[0], s[0].x")
    if isinstance(node.op, ast.Pow):
        if type(right) is not int or not 0 <= right <= _MOST_FACTORS:
            raise ParseError(f"a power is an integer from 0 to {_MOST_FACTORS}")
        power: Any = Fraction(1)
        for _ in range(right):
            power = _product(power, left)
        return power
    if isinstance(node.op, ast.Div):
        if isinstance(right, OperatorPolynomial | Expectation) or not right:
            raise ParseError("division is by a number other than 0")
        return left * (1 / Fraction(right))
    operations = {
        ast.Add: lambda: left + right,
        ast.Sub: lambda: left - right,
        ast.Mult: lambda: _product(left, right),
    }
    if type(node.op) not in operations:
        raise ParseError(f"{ast.unparse(node)[:60]!r} is no polynomial in operators")
    return operations[type(node.op)]()
