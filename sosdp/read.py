"""Files that are read; "-" is standard input."""

from __future__ import annotations

import os
from typing import IO, Any

STANDARD_INPUT = "-"


def opened(source: str | os.PathLike[str], mode: str = "r", encoding: str | None = None) -> IO[Any]:
    """A file, as `open` opens it; of "-" standard input, which stays open."""
    streamed = str(source) == STANDARD_INPUT
    return open(0 if streamed else source, mode, closefd=not streamed, encoding=encoding)
