"""Many keywords as one frozen value, which functions hand on and check in one place."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

Result = TypeVar("Result")


def gathering(options: type, name: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a function that takes a frozen dataclass of options be called with the fields as keywords.

    Parameters
    ----------
    options
        The dataclass.
    name
        Of the function's keyword that takes one.
    """
    names = [item.name for item in fields(options)]

    def decorated(function: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(function)
        def _call(*args: Any, **named: Any) -> Result:
            if name not in named:
                named[name] = options(**{key: named.pop(key) for key in names if key in named})
            return function(*args, **named)

        own = inspect.signature(function)
        kept = [item for item in own.parameters.values() if item.name != name]
        added = [
            item.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for item in inspect.signature(options).parameters.values()
        ]
        _call.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        return _call

    return decorated
