"""Parameters of estimators, declared once: default, check and sentence make constructor, checks and help.

    epsilon: float = Field(budget, "budget of one fit")
    rounds: int = Field(whole(0), "rounds of majority voting", default=30, kw_only=True)

A type checker reads the same lines (`typing.dataclass_transform`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter
from typing import Any, Literal

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import Number, finite, integer

Check = Callable[[Any, str], Any]
"""(value, name) -> the value as estimators use it; raises ValueError for one out of range."""


@dataclass(frozen=True)
class Declared:
    """What was declared of one parameter.

    Attributes
    ----------
    check
        Refuses values out of range, and returns numbers of Python's own; None where the estimator checks it
        together with others.
    text
        What it is, in a sentence.
    default
        ``inspect.Parameter.empty`` where it has to be given.
    kw_only
        Whether it is given by its name only.
    annotation
        Its type, as it is written in the class.
    """

    check: Check | None
    text: str
    default: Any
    kw_only: bool
    annotation: Any = Parameter.empty

    def parameter(self, name: str) -> Parameter:
        """The constructor's parameter."""
        kind = Parameter.KEYWORD_ONLY if self.kw_only else Parameter.POSITIONAL_OR_KEYWORD
        return Parameter(name, kind, default=self.default, annotation=self.annotation)


def Field(
    check: Check | None = None,
    text: str = "",
    *,
    default: Any = Parameter.empty,
    kw_only: bool = False,
) -> Any:
    """Declare a parameter, see `Declared`; ValueError for a default that all would share (a list)."""
    if isinstance(default, list | dict | set):
        raise ValueError(
            f"mutable default {default!r} would be shared by all estimators: use None or a tuple"
        )
    return Declared(check, text, default, kw_only)


@dataclass(frozen=True)
class Result:
    """What was declared of an attribute that `fit` sets.

    Attributes
    ----------
    part
        The part of a released value that it is; "" for its own name without the underscore, None for none.
    make
        What makes it from that part, where there is one; None where they are the same.
    """

    part: str | None
    make: Callable[[Any], Any] | None


def Fitted(
    part: str | None = "", make: Callable[[Any], Any] | None = None, *, init: Literal[False] = False
) -> Any:
    """Declare an attribute that `fit` sets, see `Result`."""
    return Result(part, make)


def budget(value: Any, name: str) -> Number:
    """A finite epsilon > 0, an exact rational rounded down."""
    number = positive(value, name)
    down = calibrate.check_epsilon(number)
    return down if isinstance(number, Fraction) else number


def privacy_delta(value: Any, name: str) -> float:
    """0 < delta < 1, an exact rational rounded down."""
    return calibrate.check_delta(value)


def privacy_delta_or_zero(value: Any, name: str) -> Number:
    """0, or 0 < delta < 1, an exact rational rounded down."""
    return calibrate.check_delta(value) if value != 0 else finite(value, name)


def positive(value: Any, name: str) -> Number:
    """A finite number > 0."""
    return finite(value, name, "> 0")


def nonnegative(value: Any, name: str) -> Number:
    """A finite number >= 0."""
    return finite(value, name, ">= 0")


def within(interval: str) -> Check:
    """A number in an interval written as usual: ``(0, 1]``."""

    def check(value: Any, name: str) -> Number:
        inside = calibrate.between(value, name, interval)
        number = finite(value, name)
        return number if number == inside else inside

    return check


share = within("(0, 1)")
part = within("(0, 1]")


def whole(least: int = 1) -> Check:
    """An integer that is at least so large."""
    return lambda value, name: integer(value, name, least)


def choice(*words: Any) -> Check:
    """One of some words."""
    return lambda value, name: calibrate.one_of(value, name, words)


def optional(check: Check) -> Check:
    """None, or what the check takes."""
    return lambda value, name: None if value is None else check(value, name)
