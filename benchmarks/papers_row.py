"""One measured statement of a paper."""

from __future__ import annotations

from dataclasses import dataclass


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
