"""What a guarantee rests on, as types: conditions on the data, and facts that hold whatever the data are.

Which combinator carries which: docs/proofs/composition.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import StrEnum
from functools import partial
from gc import get_referents
from types import FunctionType, MethodType
from typing import Any

import numpy as np


class Kind(StrEnum):
    """Strength of a guarantee, strongest first; equal to its name as a text."""

    EXACT = "exact"
    CERTIFIED = "certified"
    CONDITIONAL = "conditional"
    HEURISTIC = "heuristic"
    NONE = "none"

    def __repr__(self) -> str:
        return repr(self.value)


class Fact(str):
    """A sentence about public facts, or one that is proven: discharging a condition leaves it alone."""

    __slots__ = ()


class Proof(Fact):
    """A fact about one program, by its fields: of an edited one it is a sentence that nobody proved.

    Attributes:
        about: the fields of the program but `proof`, compared with ``==``.
    """

    __slots__ = ("about",)
    about: tuple[object, ...]

    def __new__(cls, text: str, about: tuple[object, ...]) -> Proof:
        """The proof with this text."""
        made = super().__new__(cls, text)
        made.about = about
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Proof, (str(self), self.about)


def held_for(proof: str, program: Any) -> str:
    """A proof where it is about this program, or is no `Proof`; else its text alone."""
    return str(proof) if isinstance(proof, Proof) and proof.about != all_fields(program) else proof


def all_fields(program: Any) -> tuple[object, ...]:
    """The values of the fields of a program, `proof` apart."""
    return tuple(getattr(program, f.name) for f in fields(program) if f.name != "proof")


class Charged(Fact):
    """A fact about a floating-point computation whose certified error is charged."""

    __slots__ = ()


class Claim(str):
    """A sentence that somebody wrote where a proof is wanted."""

    __slots__ = ()


class Condition(str):
    """A sentence about the data: the guarantee is claimed for neighbours that both satisfy it.

    Attributes:
        everywhere: assumed of every data set, not only of the two neighbours. A step from one data set to
            another through a third (groups, samples, random parts) carries only such a condition.
    """

    __slots__ = ("everywhere",)
    everywhere: bool

    def __new__(cls, text: str, *, everywhere: bool = False) -> Condition:
        """The condition with this text."""
        made = super().__new__(cls, text)
        made.everywhere = everywhere
        return made

    def strengthened(self) -> Condition:
        """The same sentence, assumed of every data set."""
        if self.everywhere:
            return self
        return Condition(f"on every data set: {str(self).removeprefix('condition: ')}", everywhere=True)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (str(self), self.everywhere)


def _rebuilt(text: str, everywhere: bool) -> Condition:
    return Condition(text, everywhere=everywhere)


TYPES: dict[str, Callable[[str], str]] = {
    made.__name__.lower(): made for made in (Fact, Charged, Claim, Condition)
}
"""Every type of sentence by its name in files."""


Sentence = (Fact, Claim, Condition)
"""The types that a sentence of a guarantee may have, for `isinstance`."""


def kind_of(sentences: Iterable[str]) -> Kind:
    """The strength of a guarantee that rests on these sentences: what their types allow, and no more."""
    return max(map(_allows, sentences), key=list(Kind).index, default=Kind.EXACT)


def _allows(sentence: str) -> Kind:
    """The strongest kind of a guarantee that rests on this sentence."""
    ranks = {Claim: Kind.HEURISTIC, Charged: Kind.CERTIFIED, Fact: Kind.EXACT}
    return ranks.get(type(sentence), Kind.CONDITIONAL)


def merged(sentences: Iterable[str]) -> tuple[str, ...]:
    """Each text once, in the order of its first mention, with the type that assumes most of the data."""
    result: dict[str, str] = {}
    for text in sentences:
        result[text] = max(result.get(text, text), text, key=_weight)
    return tuple(result.values())


def _weight(sentence: str) -> tuple[bool, bool, int]:
    everywhere = isinstance(sentence, Condition) and sentence.everywhere
    return everywhere, isinstance(sentence, Condition), list(Kind).index(_allows(sentence))


def resting_on(basis: str, text: str) -> str:
    """`text` as strong as the sentence that it rests on: a fact on a fact, a claim on anybody's words."""
    if isinstance(basis, Fact):
        return Charged(text) if isinstance(basis, Charged) else Fact(text)
    return Claim(f"heuristic: {text} (nobody checked this)")


def given(text: str, basis: Any, made: type[Fact] = Fact) -> str:
    """What is said of numbers or code that a mechanism is given: a fact where the basis is one, or is code of
    this package; else a condition, assumed of every data set."""
    if isinstance(basis, Fact):
        return made(f"{text}: {basis}")
    kind = basis if isinstance(basis, type) else type(basis)
    code = isinstance(basis, FunctionType | MethodType | partial) or _package(kind) in OURS
    if code and not isinstance(basis, str) and _is_ours(basis, set()):
        return made(text)
    return Condition(f"condition: {text}", everywhere=True)


OURS = ("sosdp", "problems", "certificates")
"""The packages whose code is proven to do what it says."""

_DATA = (
    *("builtins", "collections", "decimal", "fractions", "functools", "networkx"),
    *("numpy", "pandas", "scipy", "sklearn", "_thread"),
)
"""Packages whose classes are data, or make numbers of one block."""


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _is_ours(thing: Any, seen: set[int]) -> bool:
    """Whether a thing is data, or code of this package that holds nothing else: a function by the module
    whose names it sees, whatever it is called, an object by its class and its attributes."""
    if id(thing) in seen:
        return True
    seen.add(id(thing))
    if isinstance(thing, type):
        return _package(thing) in (*OURS, *_DATA)
    if isinstance(thing, MethodType):
        parts: Iterable[Any] = (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        parts = (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        if str(thing.__globals__.get("__name__")).partition(".")[0] not in OURS:
            return False
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        parts = (*cells, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
    elif _package(type(thing)) in OURS:
        parts = get_referents(thing)
    elif callable(thing) or _package(type(thing)) not in _DATA:
        return False
    else:
        parts = thing.values() if isinstance(thing, dict) else thing
        parts = parts if isinstance(thing, dict | list | tuple | set | frozenset) else ()
        parts = np.ravel(thing).tolist() if isinstance(thing, np.ndarray) and thing.dtype.hasobject else parts
    return all(_is_ours(part, seen) for part in parts)


def typed(kind: str, assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences with a type each: of a conditional guarantee, whatever is not said to be a fact is a
    condition; of any other, whatever is not said to be a condition is a fact."""
    default = Condition if kind == Kind.CONDITIONAL else Fact
    return tuple(text if isinstance(text, Sentence) else default(text) for text in assumptions)


def read_assumptions(data: dict[str, Any]) -> tuple[str, ...]:
    """The sentences with their types; where a file does not say which are conditions, none is a fact.

    Raises:
        ValueError: types and conditions that contradict each other.
    """
    texts = tuple(data.get("assumptions", ()))
    if "conditions" not in data:
        return texts
    held = {entry["text"]: bool(entry["everywhere"]) for entry in data["conditions"]}
    kinds = data.get("types", ["condition" if text in held else "fact" for text in texts])
    if len(kinds) != len(texts) or not set(kinds) <= TYPES.keys():
        raise ValueError(f"types: one of {', '.join(TYPES)} is expected for each assumption")
    conditions = [text for text, kind in zip(texts, kinds, strict=True) if TYPES[kind] is Condition]
    if sorted(conditions) != sorted(entry["text"] for entry in data["conditions"]):
        raise ValueError("conditions: they are not the assumptions of the type condition")
    return tuple(
        Condition(text, everywhere=held[text]) if text in held else TYPES[kind](text)
        for text, kind in zip(texts, kinds, strict=True)
    )


ARITHMETIC = Charged(
    "float64 rounds to nearest, and products of matrices are conventional inner products in any order"
)
"""What proofs by residuals and factorisations of float64 matrices rest on."""

COMPLETE = Fact(
    "the search ends on every graph: what float64 proofs leave open is settled in ball arithmetic of growing "
    "precision; running time, which depends on the graph, and runs that are broken off are not covered"
)
"""Of a search with a last resort in ball arithmetic (`sosdp.structured.ball_path`)."""
