"""Schemas: what is public about a table, stated in one JSON object ("sosdp-schema/1").

Every entry has one meaning, a function of its own text: a number within the bounds, or missing.
Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

import datetime as dates
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from sosdp.privacy.inputs import TRUTHS, number_in, plain
from sosdp.privacy.spelling import KEYS, Spelling, texts_of

FORMAT = "sosdp-schema/1"

_KEYS = {"format", "columns", "separator", "header", "encoding", "owner"}
_COLUMN_KEYS = {
    "integer": {"low", "high", "na_values", *KEYS},
    "number": {"low", "high", "na_values", *KEYS},
    "category": {"values", "na_values"},
    "date": {"low", "high", "format", "na_values"},
    "boolean": {"true_values", "false_values", "na_values"},
}
_MEANT = {  # names that other tools have for types
    **dict.fromkeys(("float", "double", "numeric", "decimal"), "number"),
    **dict.fromkeys(("string", "str", "text", "categorical", "object"), "category"),
    **dict.fromkeys(("datetime", "timestamp"), "date"),
    "int": "integer",
    "bool": "boolean",
}
EPOCH = dates.datetime(1970, 1, 1)
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
_TIMES = ("%H", "%I", "%M", "%S", "%f", "%X", "%c")


def days(time: dates.datetime) -> float:
    """Days since 1970, in UTC where the time has a zone; it is in the difference: the year may be 10000."""
    epoch = EPOCH if time.tzinfo is None else EPOCH.replace(tzinfo=dates.UTC)
    return (time - epoch) / dates.timedelta(1)


def day(value: Any) -> float:
    """Days since 1970 of a public date or its ISO text; ValueError for what is none."""
    return days(dates.datetime.fromisoformat("" if isinstance(value, int) else str(value)))


def _spelled(text: str) -> Decimal | str:
    """The number that a text spells, exactly; the text where it spells none.

    An exponent beyond those of decimal numbers raises nothing: the result is NaN, which equals no number.
    """
    return text if text in TRUTHS or math.isnan(number_in(text)) else Decimal(text, Context(traps=[]))


@lru_cache
def _spellings(names: tuple[str, ...]) -> dict[Decimal | str, str]:
    """The names by their texts, and by the numbers that exactly one of them spells."""
    times = Counter(map(_spelled, names))
    return {_spelled(name): name for name in names if times[_spelled(name)] == 1} | dict(zip(names, names))


def named(text: str, names: tuple[str, ...]) -> str | None:
    """The name that an entry stands for: the same text, else the only one that spells the same number, else
    the same truth.

    Programs write 1.0 for 1 into text files where a column of whole numbers has missing entries, and True,
    true or 1 for one truth.
    """
    word, spelling = text.strip(), _spellings(names)
    known = spelling.get(word, spelling.get(_spelled(word)))
    return _truths(names).get(number_in(word)) if known is None else known


@lru_cache
def _truths(names: tuple[str, ...]) -> dict[float, str]:
    """The only name of 1 and the only one of 0, where no name is of another number."""
    numbers = [number_in(name) for name in names]
    known = {t: name for name, t in zip(names, numbers) if t in (0.0, 1.0) and numbers.count(t) == 1}
    return known if all(math.isnan(number) or number in (0.0, 1.0) for number in numbers) else {}


def texts_at(places: Any, names: tuple[str, ...]) -> list[str | None]:
    """The names at places as `Column.read` gives them; None for NaN."""
    return [None if place != place else names[int(place)] for place in places]


class SchemaError(ValueError):
    """Not a schema: names the key and the reason."""


@dataclass(frozen=True)
class Column:
    """One column: its name, its type ("integer", "number", "category" or "date") and what is public of it.

    A "boolean" of a schema is an integer 0 or 1, so that its mean is the share of what is true.

    Attributes:
        low, high: bounds, of integers whole numbers; of dates in days since 1970; of a category 0 and the
            last place.
        values: the categories. format: of dates, for `strptime`; "" for ISO texts. spelling: of numbers.
        truths: whether it was stated as a "boolean"; words: its own texts of false and true, if any.
        missing: texts, and codes: numbers (of dates days), that say that an entry is missing.
    """

    name: str
    type: str
    low: float
    high: float
    values: tuple[str, ...] = ()
    format: str = ""
    spelling: Spelling = Spelling()
    truths: bool = False
    words: tuple[tuple[str, ...], ...] = ()
    missing: tuple[str, ...] = ()
    codes: tuple[float, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether an entry is one of some names, whatever its type."""
        return self.type == "category" or bool(self.words)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that `read` gives."""
        return self.low, self.high

    def read(self, text: str) -> float:
        """The entry as a number within the bounds, NaN where it cannot be read: a function of this text."""
        if self.missing and text.strip() in self.missing:
            return math.nan
        return self.within(self._spelled(text))

    def within(self, number: float) -> float:
        """A number as an entry: within the bounds; NaN for codes of what is missing, for what is not finite,
        and of integers for what is not whole."""
        if not math.isfinite(number) or number in self.codes:
            return math.nan
        if self.type == "integer" and number != math.floor(number):
            return math.nan
        return min(max(number, self.low), self.high)

    def _spelled(self, text: str) -> float:
        """The number that a text spells, NaN for none."""
        if self.type == "date":
            return self._date(text.strip())
        if not self.is_named:
            return self.spelling.number(text)
        name = named(text, self.values or sum(self.words, ()))
        if name is None:
            return math.nan
        return float(self.values.index(name) if self.values else name in self.words[1])

    @property
    def form(self) -> str:
        """How entries are written that can be read, in a few words."""
        numbers = ", ".join((f"1234{self.spelling.decimal}5", *self.spelling.units))
        if self.spelling.thousands:
            numbers = numbers.replace("1234", f"1{self.spelling.thousands}234", 1)
        if self.is_named:
            return "one of " + ", ".join(self.values or sum(self.words, ()))
        if self.type == "date":
            return f"dates as {self.format or '2030-01-31, or with a time'}"
        if self.truths:
            return "true, false, 1 or 0"
        return (
            f"whole numbers, none as 2{self.spelling.decimal}5"
            if self.type == "integer"
            else f"numbers as {numbers}"
        )

    @property
    def ends(self) -> list[Any]:
        """The bounds as people read them."""
        return [False, True] if self.truths else [*map(self.shown, self.bounds)]

    @property
    def labels(self) -> tuple[Any, Any] | None:
        """The two labels that are public of a column of these: the only two values, else 0 and 1 where they
        lie within the bounds; None where neither is so."""
        if self.type == "category":
            return (self.values[0], self.values[1]) if len(self.values) == 2 else None
        if self.type == "integer" and self.high == self.low + 1:
            return int(self.low), int(self.high)
        return (0, 1) if self.type != "date" and self.low <= 0 and self.high >= 1 else None

    @property
    def is_timed(self) -> bool:
        """Whether its dates have a time of the day: by the format, or by the bounds where there is none."""
        timed = any(mark in self.format for mark in _TIMES)
        return self.type == "date" and (timed or not (self.format or self.low % 1 == self.high % 1 == 0))

    def shown(self, value: float, side: int = 0) -> Any:
        """A number as people read it: dates as ISO texts; side -1 and 1 round ends of intervals outwards."""
        if self.type != "date":
            return value
        parts = 86400 if self.is_timed else 1
        turned = (round, math.ceil, math.floor)[side](Fraction(value) * parts)
        least, most = (Fraction(end) * parts for end in self.bounds)
        kept = min(max(turned, math.floor(least)), math.ceil(most))
        day = EPOCH + dates.timedelta(seconds=kept * (86400 // parts))
        return day.isoformat() if self.is_timed else day.date().isoformat()

    def _date(self, text: str) -> float:
        try:
            if self.format:
                return days(dates.datetime.strptime(text, self.format))
            return days(dates.datetime.fromisoformat(text)) if _ISO.fullmatch(text) else math.nan
        except (ValueError, OverflowError):  # not a date of this form
            return math.nan


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order, and how its lines are written; `owner`: column and bound of records.

    Raises:
        SchemaError: from `from_dict`, for whatever is no schema.
    """

    columns: tuple[Column, ...]
    separator: str = ","
    header: bool = True
    encoding: str = "utf-8"
    owner: tuple[str, int] | None = None

    def column(self, name: str) -> Column:
        """The column of this name; raises SchemaError where there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise SchemaError(f"the schema has no column {name!r}; it has {known}")

    @classmethod
    def of(cls, given: Schema | Mapping[str, Any] | str | Path) -> Schema:
        """A schema, the object of its JSON file, or the path of that file."""
        if isinstance(given, str | Path):
            given = json.loads(Path(given).read_text(encoding="utf-8-sig"))
        return given if isinstance(given, Schema) else cls.from_dict(given)

    @classmethod
    def from_dict(cls, data: Any) -> Schema:
        """Read the JSON object of a schema file."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise SchemaError(f'format: "{FORMAT}" is expected')
        _known(data, _KEYS, "")
        listed = data.get("columns")
        if not isinstance(listed, Mapping) or not listed:
            raise SchemaError("columns: names with their types are expected")
        separator, encoding = data.get("separator", ","), data.get("encoding", "utf-8")
        header = data.get("header", True)
        if not isinstance(separator, str) or not isinstance(encoding, str) or not isinstance(header, bool):
            raise SchemaError("separator and encoding are texts, header is true or false")
        columns = tuple(_column(str(name).strip(), entry) for name, entry in listed.items())
        if len({column.name for column in columns}) < len(columns):
            raise SchemaError("columns: two names differ by blanks at their ends only")
        return cls(columns, separator, header, encoding, _owner(data.get("owner")))


def _known(data: Mapping[str, Any], keys: set[str], place: str) -> None:
    unknown = sorted(set(map(str, data)) - keys)
    if unknown:
        raise SchemaError(f"{place}{unknown[0]}: unknown key; known are: {', '.join(sorted(keys))}")


def _column(name: str, entry: Any) -> Column:
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if not isinstance(kind, str) or kind not in _COLUMN_KEYS:
        meant = f"; for {kind!r} say {_MEANT[kind]!r}" if isinstance(kind, str) and kind in _MEANT else ""
        raise SchemaError(f"columns.{name}.type: one of {', '.join(_COLUMN_KEYS)} is expected{meant}")
    _known(entry, _COLUMN_KEYS[kind] | {"type"}, f"columns.{name}.")
    missing = texts_of(entry["na_values"]) if "na_values" in entry else ()
    if missing is None:
        raise SchemaError(f"columns.{name}.na_values: a list of texts or numbers is expected")
    if kind == "category":
        values = entry.get("values")
        texts = [str(value) for value in values] if isinstance(values, list) else []
        if not texts or len(set(texts)) < len(texts):
            raise SchemaError(f"columns.{name}.values: a list of distinct values is expected")
        if {*texts} & {*missing}:
            raise SchemaError(f"columns.{name}.na_values: none of the values is expected")
        return Column(name, kind, 0.0, float(len(texts) - 1), tuple(texts), missing=missing)
    if kind == "boolean":
        return _truths_of(name, entry, missing)
    form = entry.get("format", "")
    if kind == "date" and (not isinstance(form, str) or ("format" in entry and not form)):
        raise SchemaError(f"columns.{name}.format: a format of strptime is expected")
    try:
        spelling = Spelling.of(entry)
    except ValueError as error:
        raise SchemaError(f"columns.{name}.{error}") from None
    low = _bound(entry.get("low"), kind, f"columns.{name}.low", math.ceil)
    high = _bound(entry.get("high"), kind, f"columns.{name}.high", math.floor)
    if low > high:
        raise SchemaError(f"columns.{name}: low <= high is expected, of integers with one between them")
    return _coded(Column(name, kind, low, high, (), form, spelling, missing=missing))


def _truths_of(name: str, entry: Mapping[str, Any], missing: tuple[str, ...]) -> Column:
    """A column of truths, with texts of its own where the schema gives both."""
    words = tuple(texts_of(entry[key]) or () for key in ("false_values", "true_values") if key in entry)
    if words and not (
        len(words) == 2 and all(words) and len({*words[0], *words[1], *missing}) == len(sum(words, missing))
    ):
        raise SchemaError(
            f"columns.{name}: true_values and false_values are two lists that have no text in common"
        )
    return _coded(Column(name, "integer", 0.0, 1.0, truths=True, words=words, missing=missing))


def _coded(column: Column) -> Column:
    """With the numbers among its texts for missing entries."""
    return replace(column, codes=tuple(x for x in map(column._spelled, column.missing) if x == x))


def _bound(value: Any, kind: str, place: str, inwards: Callable[[float], int]) -> float:
    """A bound as a number; of integers the next whole one inwards, since entries are clipped to it."""
    value = value if plain(value) is None else plain(value)
    if kind == "date":
        try:
            return day(value)
        except ValueError:
            raise SchemaError(f"{place}: a date such as 2030-01-01 is expected") from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SchemaError(f"{place}: a number is expected")
    return float(inwards(value) if kind == "integer" else value)


def _owner(data: Any) -> tuple[str, int] | None:
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise SchemaError("owner: column and records are expected")
    _known(data, {"column", "records"}, "owner.")
    column, records = data.get("column"), data.get("records")
    if not isinstance(column, str) or isinstance(records, bool) or not isinstance(records, int):
        raise SchemaError("owner: column is a name and records a whole number")
    if records < 1:
        raise SchemaError("owner.records: at least 1 is expected")
    return column, records
