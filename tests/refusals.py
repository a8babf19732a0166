"""Refusals as rows of a table: which call is refused, with which words and which error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest


def each(call: Callable[[Any], Any], cases: Iterable[Any], *rest: Any) -> list[tuple[Any, ...]]:
    """A row for each case: the call with it alone."""
    return [(partial(call, case), *rest) for case in cases]


def refusals(*rows: tuple[Any, ...]) -> Callable[..., None]:
    """A test with a case for each row (call, words of the message or None, error if no ValueError)."""

    @pytest.mark.parametrize("row", rows)
    def test(row: tuple[Any, ...]) -> None:
        call, words, error = (*row, *(None, ValueError)[len(row) - 1 :])
        with pytest.raises(error, match=words):
            call()

    return test
