"""One measured statement of a paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def timed(make: Callable[..., Any], *given: Any, **named: Any) -> tuple[Any, float]:
    """What a call makes, and the CPU seconds that it took."""
    start = time.process_time()
    return make(*given, **named), time.process_time() - start


@dataclass(frozen=True)
class Row:
    """What a paper states and what was measured of it.

    Attributes:
        paper, statement: which, and what it says.
        runs: what runs here.
        size: of the measured case.
        kind: of the guarantee.
        error: what was measured; best_known: the same of the best other method, None without one.
        cpu_s: seconds of one release. as_wanted: whether it meets its bar.
    """

    paper: str
    statement: str
    runs: str
    size: str
    kind: str
    error: float | None
    best_known: float | None
    cpu_s: float
    as_wanted: bool
