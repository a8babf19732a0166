"""A conic solve of which private records may see nothing outside: no exception, no line on standard error.

The solver is written in Rust; where an eigenvalue computation inside it breaks down it panics, which prints a
trace to file descriptor 2 and raises an exception that is no `Exception`. Both would depend on the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .breakdown import STANDARD_ERROR, is_panic


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
    with STANDARD_ERROR.held() as drop:
        drop()
        try:
            return solver.solve()
        except BaseException as error:
            if not is_panic(error):
                raise
            return None
