"""Operators in problem files: letters declared by family, and polynomials in them as text (``grammar``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sosdp.algebra import letters
from sosdp.algebra.grammar import Grammar, ParseError, clip, read_number, tokens
from sosdp.algebra.operator import IMAGINARY_UNIT, OperatorPolynomial, relation
from sosdp.algebra.words import rewriting
from sosdp.model.expectation import Expectation, expectation
from sosdp.model.expected import require

OPERATOR_KEYS = ("operators", "relations", "level", "trace", "state")
_LONGEST, _MOST_LETTERS = 200_000, 500
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


@rewriting()
def read_operators(data: Mapping[str, Any], sense: str, at: Callable[[str], Any]) -> OperatorProblem:
    """The problem; ``at(key)`` is a context in which what goes wrong is a complaint about the key."""
    names: dict[str, Any] = {}
    with at("operators"):
        require(
            isinstance(data["operators"], Mapping) and data["operators"],
            'expected families by name, such as {"A": {"kind": "observables", "count": 2}}',
        )
        for name, family in data["operators"].items():
            names[name] = _family(name, family)
    with at(sense):
        reader = _Reader(names)
        objective = reader.polynomial(data[sense])
    constraints: list[Any] = []
    for key in ("subject_to", "state", "relations"):
        with at(key):
            require(isinstance(data.get(key, []), list | tuple), "expected a list of texts")
        for k, text in enumerate(data.get(key, [])):
            with at(f"{key}[{k}]"):
                constraints.append(reader.constraint(text, key))
    with at("level"):
        level = data.get("level")
        require(type(level) in (int, str, type(None)), 'expected an integer or a text such as "1+AB"')
    with at("trace"):
        trace = data.get("trace", False)
        require(isinstance(trace, bool), "expected true or false")
    given = {k: data[k] for k in ("name", *OPERATOR_KEYS, sense, "subject_to", "options") if k in data}
    return OperatorProblem(objective, tuple(constraints), level, trace, given)


def _family(name: str, family: Any) -> Any:
    require(
        isinstance(family, Mapping) and family.get("kind") in _FAMILIES,
        f"{name}: kind is one of {', '.join(_FAMILIES)}",
    )
    sizes = (family.get(key, 1) for key in ("count", "inputs", "outputs"))
    counts = (max([1, *(v for v in (s if isinstance(s, list) else [s]) if type(v) is int)]) for s in sizes)
    require(
        math.prod(counts) <= _MOST_LETTERS, f"{name}: a family in a file has at most {_MOST_LETTERS} letters"
    )
    known, make = _FAMILIES[family["kind"]]
    options = {k: v for k, v in family.items() if k != "kind"}
    for stray in sorted(set(options) - set(known)):
        raise ParseError(f"{name}: {stray!r} is not a key of {family['kind']}; it takes {', '.join(known)}")
    for lacking in (key for key in known if key not in (*options, "outputs", "party", "norm")):
        raise ParseError(f"{name}: {lacking!r} is missing")
    return make(name, **options)


class _Reader(Grammar):
    """Texts about operators: ``A[0][1]``, ``s[2].x``, ``x``, the adjoint ``u.H``, the imaginary unit ``1j``,
    and expectations ``E(...)``."""

    _tokens = tokens(number="j?", part=r"\[ *[0-9]{1,9} *\]|\. *[^\W\d]\w*")
    _most_degree = _MOST_LETTERS

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def polynomial(self, text: Any) -> OperatorPolynomial:
        """The polynomial in a text, or a number."""
        p = OperatorPolynomial._of(self.value(_text(text)))
        if p is None:
            raise ParseError("expected a polynomial in operators")
        return p

    def constraint(self, text: Any, key: str) -> Any:
        """The constraint in a text of the list ``key``."""
        sides, sign = self.read(_text(text))
        require(sign is not None, "expected one of <=, >=, ==")
        left, right = sides
        require(
            any(isinstance(v, OperatorPolynomial | Expectation) for v in sides), "there is no operator in it"
        )
        said = "the state: write E(...)" if key == "state" else "operators: give E(...) in state"
        about_state = any(isinstance(v, Expectation) for v in sides)
        require((key == "state") == about_state, f"a constraint of {key} is about {said}")
        if key == "relations":
            require(sign == "==", "expected ==")
            return relation(left, right)
        return left - right == 0 if sign == "==" else left - right >= 0 if sign == ">=" else right - left >= 0

    def _number(self, text: str) -> Any:
        return IMAGINARY_UNIT * read_number(text[:-1]) if text.endswith("j") else read_number(text)

    def _named(self, name: str, depth: int) -> Any:
        if name == "E" and self._token == "(":
            return expectation(self._inside(depth))
        if name not in self.names:
            raise ParseError(f"unknown operator {clip(name)}; there are {', '.join(self.names)}")
        value = self.names[name]
        while self._kind == "part":
            part, whole = self._token[1:].strip(" ]"), name
            name += self._token
            if self._token[0] == "[":
                require(isinstance(value, list) and int(part) < len(value), f"there is no {name}")
                value = value[int(part)]
            elif isinstance(value, letters.Pauli) and part in value._fields:
                value = getattr(value, part)
            elif isinstance(value, OperatorPolynomial) and part in ("H", "adjoint"):
                value = value.adjoint
            else:
                raise ParseError(f"{part!r} is no part of {whole}")
            self._next()
        good = isinstance(value, OperatorPolynomial)
        require(good, f"{name} is a whole family: write A[0], s[0].x")
        return value


def _text(value: Any) -> str:
    text = str(value) if type(value) is int else value
    good = isinstance(text, str) and len(text) <= _LONGEST
    require(good, f"expected a text of at most {_LONGEST} characters")
    return str(text)
