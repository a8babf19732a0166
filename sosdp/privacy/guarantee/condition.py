"""What a guarantee rests on, as types: conditions on the data, and facts that hold whatever the data are.

Which combinator carries which: docs/proofs/composition.md
"""

from __future__ import annotations

from enum import StrEnum


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


def typed(kind: str, assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences with a type each: of a conditional guarantee, whatever is not said to be a fact is a
    condition; of any other, whatever is not said to be a condition is a fact."""
    default = Condition if kind == Kind.CONDITIONAL else Fact
    return tuple(text if isinstance(text, Condition | Fact) else default(text) for text in assumptions)
