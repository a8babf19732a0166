"""The time that is left for steps that cannot be stopped once they have begun.

Products, factorisations and eliminations, in floats or in integers, look at no clock. Before one begins, or
between the parts of a loop, ``reserve`` says about how many seconds it takes; where fewer are left it is not
done, and nothing is proven by it. Estimates are right within a factor of a few.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Nothing = TypeVar("Nothing")


_LEAST = 0.01  # seconds that a solver gets


class OutOfTime(Exception):
    """A step would take longer than there is time."""


class Clock:
    """How many seconds there are (``left``), and whether a step was left out for want of them."""

    def __init__(self, left: Callable[[], float] = lambda: math.inf) -> None:
        self.left = left
        self.gave_up = False


_clock: ContextVar[Clock | None] = ContextVar("sosdp_time_left", default=None)


@contextmanager
def limited(left: Callable[[], float]) -> Iterator[Clock]:
    """Within it, ``left()`` says how many seconds there are."""
    clock = Clock(left)
    token = _clock.set(clock)
    try:
        yield clock
    finally:
        _clock.reset(token)


def left() -> float:
    """How many seconds there are."""
    return (_clock.get() or Clock()).left()


def within(limit: float | None) -> float | None:
    """A time limit in seconds, or what is left where that is less; None: there is none."""
    least = min(math.inf if limit is None else limit, max(left(), _LEAST))
    return least if math.isfinite(least) else None


def reserve(seconds: float = 0.0, most: float = math.inf) -> None:
    """Raise OutOfTime where a step of about so many seconds would take longer than what is left, or than
    ``most``."""
    clock = _clock.get() or Clock()
    if seconds > most or not left() > seconds:
        clock.gave_up = True
        raise OutOfTime(f"a step of about {seconds:.2g} s")


def gave_up() -> bool:
    """Whether a step was left out for want of time."""
    clock = _clock.get()
    return clock is not None and clock.gave_up


def otherwise(nothing: Nothing) -> Callable[[Callable[P, T]], Callable[P, T | Nothing]]:
    """Makes a function answer ``nothing``, which is that nothing is proven, where the time is out."""

    def wrap(function: Callable[P, T]) -> Callable[P, T | Nothing]:
        @functools.wraps(function)
        def timed(*args: P.args, **keywords: P.kwargs) -> T | Nothing:
            try:
                return function(*args, **keywords)
            except OutOfTime:
                return nothing

        return timed

    return wrap
