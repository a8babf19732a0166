"""Standard output belongs to the result, standard error to everything else; files are read or refused in a
line."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sosdp.read import opened
from sosdp.write import keep, write_whole

ANSWERED = 0
NOT_ANSWERED = 1
BAD_INPUT = 2
LONGEST = 1000  # characters of a complaint
SHORT = 220  # of a reason that JSON has in full
LARGEST = 1 << 26  # characters of a JSON file


class InputError(Exception):
    """Bad input: one line that names the file (or option), the key and the reason; exit code 2."""


def one_line(error: BaseException) -> str:
    """An exception's message on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def said(error: BaseException) -> str:
    """What the system says of a file, or the message, on one line."""
    return getattr(error, "strerror", None) or one_line(error)


def brief(line: str) -> str:
    """The line, its middle left out where a hostile value makes it very long."""
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def gist(error: BaseException) -> str:
    """An exception's message in at most ``SHORT`` characters."""
    import textwrap

    return textwrap.shorten(str(error), SHORT, placeholder=" ...")


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


class OutputLost(Exception):
    """Standard output did not take a result; what is left of it is silenced."""


def write_out(text: str) -> None:
    """Write to standard output and see that it arrives.

    Raises:
        OutputLost: it did not: a full disk, a closed descriptor. BrokenPipeError: the reader has gone.
    """
    reason = ""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError, AttributeError) as error:  # no space; closed; none at all
        reason = said(error) if sys.stdout else "closed"
    if reason:
        silence_stdout()
        raise OutputLost(f"standard output: {reason}")


def silence_stdout() -> None:
    """What the interpreter still holds for standard output is not written at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of standard output."""
    write_out(_line(value))


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(plain(value), allow_nan=False) + "\n"


def publish(arguments: Namespace, release: Mapping[str, Any], fields: Callable[[], Fields]) -> int:
    """Print a release, as JSON or as the fields that people read, and write it to the file of `--out`.

    It has cost its budget: where it cannot be written as asked, it is kept on another path, which is named.
    """
    from sosdp.privacy.guarantee.release import with_digest

    surprise = surprising(release)
    if surprise:
        warn(f"warning: {surprise}")
    line = _line(with_digest(plain(release)))
    lost = []
    if arguments.out is not None:
        try:
            write_whole(arguments.out, line)
        except (OSError, ValueError) as error:
            lost.append(f"{arguments.out}: {said(error)}")
    try:
        write_out(line if arguments.json else aligned(fields()))
    except (OutputLost, BrokenPipeError) as error:
        if arguments.out is None or lost:
            lost.append(one_line(error) if isinstance(error, OutputLost) else "standard output was closed")
        elif isinstance(error, BrokenPipeError):
            raise
        else:
            raise InputError(f"{one_line(error)}; the release is in {arguments.out}") from None
    if not lost:
        return ANSWERED
    silence_stdout()
    kept = keep(line)
    where = f"the release is kept in {kept}" if kept else "the release is lost, and its budget spent"
    raise InputError(f"{'; '.join(lost)}; {where}")


LARGE_EPSILON = 20.0


def surprising(release: Mapping[str, Any]) -> str:
    """What of the public numbers of a release is unusual, in one line; "" if nothing."""
    from sosdp.privacy.calibrate import large_delta

    epsilon, delta = (release["guarantee"].get(name) or 0.0 for name in ("epsilon", "delta"))
    n = release["public"].get("n")
    large = f"epsilon = {epsilon:g} promises almost nothing (it is usually at most 10)"
    lines = [large if epsilon > LARGE_EPSILON else "", large_delta(delta, n if isinstance(n, int) else 1)]
    return "; ".join(filter(None, lines))


def check_out(arguments: Namespace) -> None:
    """Before the budget is spent: that the file of `--out` can be begun where it is to lie."""
    if arguments.out is None:
        return
    check_folder(arguments.out, "--out")
    if not os.access(os.path.dirname(os.path.abspath(arguments.out)), os.W_OK):
        raise InputError(f"{arguments.out}: --out: the folder cannot be written to")


Fields = Mapping[str, str | None]


def print_fields(fields: Fields) -> None:
    """`name  value` lines on standard output."""
    write_out(aligned(fields))


def aligned(fields: Fields) -> str:
    """`name  value` lines, aligned and wrapped at 110 columns; fields that are None are left out."""
    import textwrap

    shown = {name: text for name, text in fields.items() if text is not None}
    width = max(len(name) for name in shown)
    indent = " " * (width + 2)
    out = []
    for name, text in shown.items():
        lines = [line for part in text.split("\n") for line in textwrap.wrap(part, 108 - width) or [""]]
        out += [f"{name:<{width}}  {lines[0]}", *(indent + line for line in lines[1:])]
    return "\n".join(out) + "\n"


def columned(rows: Iterable[Sequence[Any]], widest: int = 90) -> str:
    """Rows of cells as aligned lines; columns beyond so many characters follow below, each part with the
    first column."""
    columns = list(zip(*([cell(entry) for entry in row] for row in rows), strict=True))
    widths = [max(map(len, column)) for column in columns]
    columns = [tuple(text.rjust(width) for text in column) for column, width in zip(columns, widths)]
    parts, used = [[columns[0]]], widths[0]
    for column, width in zip(columns[1:], widths[1:], strict=True):
        if used + 2 + width > widest and len(parts[-1]) > 1:
            parts.append([columns[0]])
            used = widths[0]
        parts[-1].append(column)
        used += 2 + width
    return "\n".join("  ".join(line) for part in parts for line in zip(*part, strict=True))


def cell(value: Any) -> str:
    """A value of a table: numbers in six digits, ends of a bin, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, list):
        return " to ".join(map(cell, value))
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)


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


@contextlib.contextmanager
def fitting(arguments: Namespace) -> Iterator[None]:
    """Around a fit: what libraries print goes to standard error, what an estimator refuses is an InputError.

    Estimators refuse for public reasons only; of a graph, the line names the file.
    """
    problem = ""
    try:
        with quiet_stdout(), warnings.catch_warnings(action="ignore"):  # of a release `surprising` tells
            yield
    except (ValueError, TypeError) as error:
        about_graph = type(error).__name__ == "GraphInputError"
        place = f"{arguments.input}: graph" if about_graph else f"sosdp private {arguments.name}"
        problem = f"{place}: {one_line(error)}"
    except (InputError, ImportError):
        raise
    except Exception:  # none is expected; what it says may depend on the data, and a traceback quotes them
        problem = f"sosdp private {arguments.name}: the computation failed, and nothing more is said of it"
    if problem:  # outside the handler: nothing hangs on this exception
        raise InputError(problem)


def promise_fields(release: dict[str, Any]) -> dict[str, str | None]:
    """The fields that every printed release begins with: mechanism, guarantee, assumptions."""
    from sosdp.privacy.guarantee.rounding import digits_up

    guarantee = release["guarantee"]
    promise = "none"
    if guarantee["epsilon"] is not None:
        epsilon, delta = digits_up(guarantee["epsilon"]), digits_up(guarantee["delta"])
        promise = f"epsilon = {epsilon}, delta = {delta}, {guarantee['kind']}"
    return {
        "mechanism": release["mechanism"],
        "guarantee": f"{promise}; neighbours differ in {guarantee['adjacency']}",
        "assumes": ";\n".join(guarantee["assumptions"]) or None,
    }


def read_json(path: str) -> Any:
    """The JSON value in a file ("-": standard input), of at most 64 MiB; InputError, in one line, where there
    is none."""
    try:
        with opened(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise InputError(f"{path}: longer than 64 MiB")
        return json.loads(text)
    except OSError as error:
        raise InputError(f"{path}: {said(error)}") from error
    except RecursionError as error:
        raise InputError(f"{path}: is nested too deeply") from error
    except ValueError as error:  # not UTF-8, not JSON, an integer of too many digits, a zero byte in the name
        raise InputError(f"{path}: not readable as JSON: {one_line(error)}") from error


def check_folder(target: str, option: str) -> None:
    """InputError where a file that an option names has no folder to lie in, or is one."""
    if os.path.isdir(os.path.abspath(target)):  # of "", the current one
        raise InputError(f"{target}: {option}: a folder, not a file")
    if not os.path.isdir(os.path.dirname(os.path.abspath(target))):
        raise InputError(f"{target}: {option}: the folder does not exist")
