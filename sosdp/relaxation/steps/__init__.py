"""The steps of the ladder, one file each: a function of the state that gives a candidate, or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """One entry of the ladder: its name, when it is tried, what it does, why it should help (``source``),
    and the case that is lost without it."""

    name: str
    when: Callable[[Any], bool]
    what: Callable[[Any], Any]
    source: str
    case: str
