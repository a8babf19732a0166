"""Parameters of estimators, declared once: default, check and sentence make constructor, checks and help.

    epsilon: float = Field(budget, "budget of one fit")
    rounds: int = Field(whole(0), "rounds of majority voting", default=30, kw_only=True)

A type checker reads the same lines (`typing.dataclass_transform`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Literal

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer

Check = Callable[[Any, str], object]
"""(value, name) -> anything; raises ValueError for a value out of range."""


@dataclass(frozen=True)
class Declared:
    """What was declared of one parameter.

    Attributes
    ----------
    check
        Refuses values out of range; None where the estimator checks it together with others.
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


def budget(value: Any, name: str) -> None:
    """A finite epsilon > 0."""
    calibrate.check_epsilon(value)


def privacy_delta(value: Any, name: str) -> None:
    """0 < delta < 1."""
    calibrate.check_delta(value)


def privacy_delta_or_zero(value: Any, name: str) -> None:
    """0, or 0 < delta < 1."""
    if value != 0:
        calibrate.check_delta(value)


def positive(value: Any, name: str) -> None:
    """A finite number > 0."""
    calibrate.check_positive(value, name)


def nonnegative(value: Any, name: str) -> None:
    """A finite number >= 0."""
    calibrate.check_positive(value, name, zero=True)


def finite(value: Any, name: str) -> None:
    """A finite number."""
    calibrate.check_positive(abs(float(value)), name, zero=True)


def within(interval: str) -> Check:
    """A number in an interval written as usual: ``(0, 1]``."""
    return lambda value, name: calibrate.between(value, name, interval)


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
