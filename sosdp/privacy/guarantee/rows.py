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

    Rows that are no answers (`public` lists no statistics), such as synthetic ones, stay as they are.
    """
    if "statistics" not in public:
        return list(rows)
    statistic, _, column = public["statistics"][0].partition("(")  # where there is one, rows do not say which
    full = [{"column": column[:-1] or None, "statistic": statistic, **row} for row in rows]
    names = [name for name in ORDER if any(name in row for row in full)]
    starts = {(row["column"], row["bin"][0]) for row in full if "bin" in row}
    return [
        {name: _held(row, starts, public) if name == "bin" else row.get(name) for name in names}
        for row in full
    ]


def _held(row: dict[str, Any], starts: set[tuple[str | None, Any]], public: Mapping[str, Any]) -> Any:
    """A whole number, or a truth, or several as a text, in place of a bin of them; other bins as they are."""
    ends, column = row.get("bin"), row["column"]
    if not isinstance(ends, list) or any(type(end) is not int for end in ends):
        return ends
    low, high = public["bounds"][column]
    whole = (column, ends[1]) not in starts and ends[1] <= high  # the last bin holds its upper edge
    last = ends[1] if whole else ends[1] - 1
    first, last = (bool(k) if low is False else k for k in (ends[0], last))
    return first if first == last else f"{first} to {last}"
