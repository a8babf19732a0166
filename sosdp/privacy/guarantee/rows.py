"""The rows of a released table as people read them, from the release alone.

Proof of what is released: docs/proofs/tables.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ORDER = ("key", "column", "statistic", "quantile", "bin", "value", "low", "high")
"""Of the columns of answers. Which of them there are depends on the question alone."""


def readable(rows: Sequence[dict[str, Any]], public: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Answers in one order of their columns, with the numbers that a bin of whole numbers holds for the bin.

    Rows that are no answers (`public` lists no statistics), such as synthetic ones, stay as they are. Where
    no key occurred often enough there are none.
    """
    if "statistics" not in public or not rows:
        return list(rows)
    statistic, _, column = public["statistics"][0].partition("(")  # where there is one, rows do not say which
    full = [{"column": column[:-1] or None, "statistic": statistic, **row} for row in rows]
    names = [name for name in ORDER if any(name in row for row in full)]
    return [
        {name: _held(row, after, public) if name == "bin" else row.get(name) for name in names}
        for row, after in zip(full, [*full[1:], {}], strict=True)
    ]


def columns_of(public: Mapping[str, Any]) -> list[str]:
    """The columns of answers, of which there may be none: by the question alone."""
    wanted = {name.partition("(")[0] for name in public["statistics"]}
    left = {name for name in ("quantile", "histogram") if name not in wanted}
    left |= set() if "interval" in public else {"low", "high"}
    return [name for name in ORDER if {"bin": "histogram"}.get(name, name) not in left]


def _held(row: dict[str, Any], after: dict[str, Any], public: Mapping[str, Any]) -> Any:
    """A whole number, or a truth, or several as a text, in place of a bin of them; other bins as they are.

    A bin holds its upper edge if it is the last of its histogram. The edges of another histogram of the
    column start at its low end or below, so the row after the bin that ends at the high end tells.
    """
    ends, column = row.get("bin"), row["column"]
    if not isinstance(ends, list) or any(type(end) is not int for end in ends):
        return ends
    low, high = public["bounds"][column]
    same = all(after.get(name) == row[name] for name in ("key", "column"))
    whole = ends[1] <= high and not (same and "bin" in after and after["bin"][0] == ends[1])
    last = ends[1] if whole else ends[1] - 1
    first, last = (bool(k) if low is False else k for k in (ends[0], last))
    return first if first == last else f"{first} to {last}"
