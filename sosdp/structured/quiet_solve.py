"""A conic solve of which private records may see nothing outside: no exception, no line on standard error.

The solver is written in Rust; where an eigenvalue computation inside it breaks down it panics, which prints a
trace to file descriptor 2 and raises an exception that is no `Exception`. Both would depend on the records.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def solve_quietly(solver: Any) -> Any:
    """``solver.solve()``, or None where the solver panics; every other exception passes.

    While it runs, standard error of the process goes nowhere.
    """
    with _standard_error.shut():
        try:
            return solver.solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            return None


class _StandardError:
    """File descriptor 2, shut while anybody is inside: the first thread in shuts it, the last out restores
    it (two that did so each for itself could leave the process mute).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._kept = -1

    @contextmanager
    def shut(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._kept = _replaced()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0 and self._kept >= 0:
                    os.dup2(self._kept, 2)
                    os.close(self._kept)


_standard_error = _StandardError()


def _replaced() -> int:
    """A copy of descriptor 2, which then goes nowhere; -1 where the process has none."""
    try:
        kept = os.dup(2)
    except OSError:
        return -1
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return kept
