"""A conic solve of which private records may see nothing outside: no exception, no line on standard error.

The solver is written in Rust; where an eigenvalue computation inside it breaks down it panics, which prints a
trace to file descriptor 2 and raises an exception that is no `Exception`. Both would depend on the records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def solve_quietly(solver: Any) -> Any:
    """``solver.solve()``, or None where the solver panics; every other exception passes.

    While it runs, standard error of the process goes nowhere.
    """
    with _muted():
        try:
            return solver.solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            return None


@contextmanager
def _muted() -> Iterator[None]:
    try:
        kept = os.dup(2)
    except OSError:  # the process has no standard error: nothing can be seen there
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
