"""How results look in a notebook: one small table, everything escaped, no style but the reader's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from html import escape
from typing import Any

LONGEST = 300


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """A title and a table of two columns; rows whose value is None are left out, long texts are cut."""
    cells = []
    for name, value in rows.items():
        if value is None:
            continue
        text = str(value)
        shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        cells.append(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(shown)}</td></tr>'
        )
    return f"<div><b>{escape(title)}</b><table>{''.join(cells)}</table></div>"


def short_repr(value: Any) -> str:
    """As dataclasses represent themselves, with four digits of a number and the first of many entries."""
    if is_dataclass(value):
        parts = (f"{one.name}={short_repr(getattr(value, one.name))}" for one in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {short_repr(item)}' for key, item in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join([*map(short_repr, value[:4]), *['...'] * (len(value) > 4)])})"
    return f"{float(value):.4g}" if isinstance(value, (float, Fraction)) else repr(value)


def rounded_safely(value: float | Fraction, kind: str, digits: int = 10) -> str:
    """A proven bound in few digits, still true: a lower bound is rounded down, an upper bound up."""
    direction = ROUND_FLOOR if kind == "lower" else ROUND_CEILING
    top, bottom = map(Decimal, value.as_integer_ratio())
    return f"{Context(prec=digits, rounding=direction).divide(top, bottom).normalize():.{digits}g}"


def finite(value: float) -> float | None:
    """The number, None where it is not finite: as JSON has it."""
    return float(value) if math.isfinite(value) else None
