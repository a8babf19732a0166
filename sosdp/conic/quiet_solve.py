"""A conic solve of which private records may see nothing outside: no exception, no line on standard error.

The solver is written in Rust; where an eigenvalue computation inside it breaks down it panics, which prints a
trace to file descriptor 2 and raises an exception that is no `Exception`. Both would depend on the records.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp


def matrix_program(
    cost: np.ndarray, A: sp.csc_matrix, b: np.ndarray, linear: int, sides: Sequence[int]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Minimise cost'x with b - A x in R_+^linear times positive semidefinite cones of these sides, quietly.

    Returns x and the multipliers z as Clarabel left them, or None where it panicked or they are not finite:
    what they are worth is for the caller to prove. Rows of a matrix are its upper triangle column by column,
    off the diagonal times sqrt 2.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.max_iter = 100
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    cones = [clarabel.NonnegativeConeT(linear), *(clarabel.PSDTriangleConeT(side) for side in sides)]
    P = sp.csc_matrix((cost.size, cost.size))
    answer = solve_quietly(clarabel.DefaultSolver(P, cost, A, b, cones, settings))
    if answer is None:
        return None
    x, z = np.asarray(answer.x), np.asarray(answer.z)
    return (x, z) if np.isfinite(x).all() and np.isfinite(z).all() else None


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
