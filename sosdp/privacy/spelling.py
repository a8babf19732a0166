"""How people write the numbers of a column: marks, units, and codes of what is missing; all of it public.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sosdp.privacy.inputs import LONGEST, number_in, plain

KEYS = {"decimal", "thousands", "unit"}
"""Of a column of numbers in a schema."""


@dataclass(frozen=True)
class Spelling:
    """How a number is written.

    Attributes:
        decimal: the mark before its fraction. thousands: the mark between groups of digits, "" for none; a
            blank stands for every blank. units: texts of which one may stand before or after the number.

    Raises:
        ValueError: marks or units that cannot be meant; the message begins with the key.
    """

    decimal: str = "."
    thousands: str = ""
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError('decimal: "." or "," is expected')
        mark = self.thousands
        if mark and (len(mark) != 1 or mark.isalnum() or mark in self.decimal + "+-"):
            raise ValueError(
                "thousands: one character is expected, not the decimal mark, a letter or a digit"
            )
        if not all(unit and not re.search(r"[\d.,+-]", unit) for unit in self.units):
            raise ValueError('unit: texts without digits, marks and signs are expected, such as "$"')

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Spelling:
        """That of a column of a schema; ValueError for marks or units that are no texts."""
        given = entry.get("unit", [])
        units = [given] if isinstance(given, str) else given
        decimal, thousands = entry.get("decimal", "."), entry.get("thousands", "")
        if not isinstance(decimal, str) or not isinstance(thousands, str):
            raise ValueError("decimal, thousands: texts are expected")
        if not isinstance(units, list | tuple) or not all(isinstance(unit, str) for unit in units):
            raise ValueError("unit: a text, or a list of texts, is expected")
        return cls(decimal, thousands, tuple(unit.strip() for unit in units))

    def number(self, text: str) -> float:
        """The finite number that a text spells, NaN for none: a function of this text alone."""
        word = text.strip() if len(text) <= LONGEST else ""
        for unit in self.units:
            sign = word[:1] if word[:1] in ("+", "-") else ""
            if word.startswith(unit, len(sign)):
                word = sign + word[len(sign) + len(unit) :].lstrip()
                break
            if word.endswith(unit):
                word = word.removesuffix(unit).rstrip()
                break
        if self.thousands:
            whole, mark, fraction = word.partition(self.decimal)
            if _grouped(self.thousands).fullmatch(whole):
                whole = re.sub(r"[^\d+-]", "", whole)
            word = whole + mark + fraction
        return number_in(word, self.decimal)


@lru_cache
def _grouped(mark: str) -> re.Pattern[str]:
    """A whole number whose last group has three digits, and those before it two or three."""
    between = r"\s" if mark.isspace() else re.escape(mark)
    return re.compile(
        rf"[+-]?\d{{1,3}}(?:{between}\d{{2,3}})*{between}\d{{3}}", re.ASCII * (not mark.isspace())
    )


def texts_of(given: Any) -> tuple[str, ...] | None:
    """Public codes, texts or numbers, as texts; None for what is no list of these."""
    codes = list(map(plain, given)) if isinstance(given, list | tuple) else []
    known = all(isinstance(code, str | int | float) and code == code for code in codes)
    return tuple(str(code).strip() for code in codes) if codes and known else None
