"""Standard output belongs to the result, standard error to everything else."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

ANSWERED = 0
NOT_ANSWERED = 1
BAD_INPUT = 2
LONGEST = 1000  # characters of a complaint
SHORT = 220  # of a reason that JSON has in full


class InputError(Exception):
    """Bad input: one line that names the file (or option), the key and the reason; exit code 2."""


def one_line(error: BaseException) -> str:
    """An exception's message on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def brief(line: str) -> str:
    """The line, its middle left out where a hostile value makes it very long."""
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def gist(error: BaseException) -> str:
    """An exception's message in at most ``SHORT`` characters: of a search for a proof that tried several
    ways, what it says first, and what the first and the last of them ended with."""
    whole = one_line(error)
    tried = getattr(error, "attempts", ())
    if len(whole) <= SHORT or not tried:
        return _cut(whole, SHORT)
    said = f"{_cut(whole.partition(' (')[0], SHORT // 4)}: "
    if len(tried) == 1:
        return said + _cut(tried[0], SHORT - len(said))
    last = "; ...; " + _cut(tried[-1], (SHORT - len(said)) // 2 - 7)
    return said + _cut(tried[0], SHORT - len(said) - len(last)) + last


def _cut(text: str, longest: int) -> str:
    import textwrap

    return textwrap.shorten(text, longest, placeholder=" ...")


def warn(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


def plain(value: Any) -> Any:
    """The value as JSON can hold it; a number that is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of standard output."""
    print(json.dumps(plain(value), allow_nan=False))


def print_fields(fields: Mapping[str, str | None]) -> None:
    """`name  value` lines, aligned and wrapped at 110 columns; fields that are None are left out."""
    import textwrap

    shown = {name: text for name, text in fields.items() if text is not None}
    width = max(len(name) for name in shown)
    indent = " " * (width + 2)
    for name, text in shown.items():
        lines = [line for part in text.split("\n") for line in textwrap.wrap(part, 108 - width) or [""]]
        print(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            print(indent + line)


@contextlib.contextmanager
def quiet_stdout() -> Iterator[None]:
    """Send whatever libraries print, from Python or from C, to standard error while a command computes."""
    with contextlib.redirect_stdout(sys.stderr):
        if sys.__stdout__ is None or sys.__stderr__ is None:
            yield
            return
        try:
            out, err = sys.__stdout__.fileno(), sys.__stderr__.fileno()
            sys.__stdout__.flush()
            kept = os.dup(out)
        except (OSError, ValueError):  # no such descriptors, as under some test runners: nothing to redirect
            yield
            return
        try:
            os.dup2(err, out)
            yield
        finally:
            os.dup2(kept, out)
            os.close(kept)


def promise_fields(release: dict[str, Any]) -> dict[str, str | None]:
    """The fields that every printed release begins with: mechanism, guarantee, assumptions."""
    guarantee = release["guarantee"]
    promise = "none"
    if guarantee["epsilon"] is not None:
        promise = f"epsilon = {guarantee['epsilon']:g}, delta = {guarantee['delta']:g}, {guarantee['kind']}"
    return {
        "mechanism": release["mechanism"],
        "guarantee": f"{promise}; neighbours differ in {guarantee['adjacency']}",
        "assumes": ";\n".join(guarantee["assumptions"]) or None,
    }
