"""Refusals as rows of a table: which call is refused, with which words and which error."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest


def each(call: Callable[[Any], Any], cases: Iterable[Any], *rest: Any) -> list[tuple[Any, ...]]:
    """A row for each case: the call with it alone."""
    return [(partial(call, case), *rest) for case in cases]


def spread(call: Callable[..., Any], cases: Iterable[Any], *rest: Any) -> list[tuple[Any, ...]]:
    """A row for each case: the call with its parts."""
    return [(partial(call, *case), *rest) for case in cases]


def refuse(*rows: tuple[Any, ...]) -> None:
    """Every row (call, words of the message or None, error if no ValueError) is refused."""
    for row in rows:
        call, words, error = (*row, *(None, ValueError)[len(row) - 1 :])
        with pytest.raises(error, match=words):
            call()


def refusals(*rows: tuple[Any, ...]) -> Callable[..., None]:
    """A test with a case for each row of `refuse`."""

    @pytest.mark.parametrize("row", rows)
    def test(row: tuple[Any, ...]) -> None:
        refuse(row)

    return test
