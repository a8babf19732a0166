"""Reading text files line by line with errors that name the place: what the file formats share."""

from __future__ import annotations

import math
from pathlib import Path


class FormatError(ValueError):
    """A malformed file; the message is ``file:line: reason``."""


class Lines:
    """The lines of a file that are not blank, and the place of the last one read."""

    def __init__(self, path: str | Path, comment: str = "") -> None:
        self.path = str(path)
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        self._lines = text.splitlines()
        self._comment = comment
        self.number = 0

    def _skip(self) -> int:
        """Index of the next line that counts."""
        k = self.number
        while k < len(self._lines):
            line = self._lines[k].strip()
            if line and not (self._comment and line.startswith(self._comment)):
                break
            k += 1
        return k

    def more(self) -> bool:
        """Whether a line is left."""
        return self._skip() < len(self._lines)

    def peek(self) -> str:
        """The next line, not read yet."""
        return self._lines[self._skip()].strip()

    def next(self, what: str = "a line") -> str:
        """The next line; FormatError when the file ends before ``what``."""
        k = self._skip()
        if k >= len(self._lines):
            self.number = max(len(self._lines), 1)
            raise self.error(f"the file ends where {what} should be")
        self.number = k + 1
        return self._lines[k].strip()

    def error(self, reason: str) -> FormatError:
        """The error that names the line read last."""
        return FormatError(f"{self.path}:{self.number}: {reason}")


def integers(lines: Lines, words: list[str], what: str) -> list[int]:
    """The words as integers; FormatError otherwise."""
    found = []
    for word in words:
        digits = word.lstrip("+-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
            raise lines.error(f"{what}: {word[:40]!r} is not an integer")
        found.append(int(word))
    return found


def numbers(lines: Lines, words: list[str], what: str) -> list[float]:
    """The words as finite numbers; FormatError otherwise."""
    found = []
    for word in words:
        try:
            value = float(word)
        except ValueError:
            raise lines.error(f"{what}: {word[:40]!r} is not a number") from None
        if not math.isfinite(value):
            raise lines.error(f"{what}: {word[:40]!r} is not a finite number")
        found.append(value)
    return found
