"""What is expected of the values in a file, and the complaint in one line where it is something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from sosdp.algebra.grammar import ParseError
from sosdp.model.option_names import did_you_mean


def short(value: Any) -> str:
    """The value as a complaint shows it."""
    text = str(value) if isinstance(value, Fraction) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def require(condition: Any, otherwise: str) -> None:
    """A complaint where the condition does not hold."""
    if not condition:
        raise ParseError(otherwise)


def refuse(stray: Iterable[Any], said: str) -> None:
    """A complaint about the first of what should not be there."""
    for name in stray:
        raise ParseError(f"{short(name)} {said}")


def check_known(key: Any, known: Sequence[str], said: str, names: str) -> None:
    """A complaint about a key that is not known, with the one that was perhaps meant."""
    if key not in known:
        raise ParseError(f"{said}{did_you_mean(key, known) or ';'} {names} {', '.join(known)}")


def expect(value: Any, kinds: Any, what: str) -> Any:
    """The value, which is of one of these kinds, or a complaint that it is not what is expected."""
    require(isinstance(value, kinds), f"expected {what}, found {kind_of(value)}")
    return value


def kind_of(value: Any) -> str:
    """What JSON calls a value of this type."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float | Fraction) else type(value).__name__
    )
