"""What a guarantee rests on, as types: conditions on the data, and facts that hold whatever the data are.

Which combinator carries which: docs/proofs/composition.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import StrEnum
from typing import Any


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
    module = "" if isinstance(basis, str) else str(getattr(basis, "__module__", ""))
    if isinstance(basis, Fact) or module.partition(".")[0] in OURS:
        return made(f"{text}: {basis}" if isinstance(basis, str) else text)
    return Condition(f"condition: {text}", everywhere=True)


OURS = ("sosdp", "problems", "certificates")
"""The packages whose code is proven to do what it says."""


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
