"""Reading text files line by line with errors that name the place: what the file formats share."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path


class FormatError(ValueError):
    """A malformed file; the message is ``file:line: reason``."""


LARGEST_UNPACKED = 1 << 30  # characters of a gzipped file


def _text(path: Path) -> str:
    """What is in a text file, gzipped where its name ends in .gz; OSError where it cannot be read."""
    if path.suffix.lower() != ".gz":
        return path.read_text(encoding="utf-8", errors="replace")
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            text = lines.read(LARGEST_UNPACKED + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FormatError(f"{path}:1: not a gzipped file, or cut short") from None
    if len(text) > LARGEST_UNPACKED:
        raise FormatError(f"{path}:1: more than 1 GiB when unpacked")
    return text


class Lines:
    """The lines of a file that are not blank, and the place of the last one read."""

    def __init__(self, path: str | Path, comment: str = "") -> None:
        self.path = str(path)
        lines = [line.strip() for line in _text(Path(path)).splitlines()]
        self.number, self._last = 0, max(len(lines), 1)
        skipped = [not line or bool(comment) and line.startswith(comment) for line in lines]
        self._left = [(k + 1, line) for k, line in enumerate(lines) if not skipped[k]][::-1]

    def more(self) -> bool:
        """Whether a line is left."""
        return bool(self._left)

    def peek(self) -> str:
        """The next line, not read yet."""
        return self._left[-1][1]

    def next(self, what: str = "a line") -> str:
        """The next line; FormatError when the file ends before ``what``."""
        if not self._left:
            self.number = self._last
            raise self.error(f"the file ends where {what} should be")
        self.number, line = self._left.pop()
        return line

    def error(self, reason: str) -> FormatError:
        """The error that names the line read last."""
        return FormatError(f"{self.path}:{self.number}: {reason}")


def integers(lines: Lines, words: list[str], what: str) -> list[int]:
    """The words as integers; FormatError otherwise."""
    result = []
    for word in words:
        digits = word[1:] if word[0] in "+-" else word
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
            raise lines.error(f"{what}: {word[:40]!r} is not an integer")
        result.append(int(word))
    return result


def numbers(lines: Lines, words: list[str], what: str) -> list[float]:
    """The words as finite numbers; FormatError otherwise, and where a number would be rounded to 0."""
    result = []
    for word in words:
        try:
            if "_" in word or not word.isascii():  # Python takes 1_0 for 10
                raise ValueError
            value = float(word)
        except ValueError:
            raise lines.error(f"{what}: {word[:40]!r} is not a number") from None
        if not math.isfinite(value):
            raise lines.error(f"{what}: {word[:40]!r} is not a finite number")
        if value == 0 and any(digit in "123456789" for digit in word.lower().partition("e")[0]):
            raise lines.error(f"{what}: {word[:40]!r} is too small for a floating-point number")
        result.append(value)
    return result
