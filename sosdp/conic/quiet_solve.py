"""A conic solve of which private records may see nothing outside: no exception, no line on standard error.

The solver is written in Rust; where an eigenvalue computation inside it breaks down it panics, which prints a
trace to file descriptor 2 and raises an exception that is no `Exception`. Both would depend on the records.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from . import clarabel
from .breakdown import STANDARD_ERROR
from .program import Cones, ConicProgram


def matrix_program(
    cost: np.ndarray, A: sp.csc_matrix, b: np.ndarray, linear: int, sides: Sequence[int]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Minimise cost'x with b - A x in R_+^linear times positive semidefinite cones of these sides, quietly.

    Returns x and the multipliers z as Clarabel left them, or None where it panicked or they are not finite:
    what they are worth is for the caller to prove. Rows of a matrix are its upper triangle column by column,
    off the diagonal times sqrt 2. While it runs, standard error of the process goes nowhere.
    """
    program = ConicProgram(cost, A, b, Cones(0, linear, tuple(sides)))
    with STANDARD_ERROR.held() as drop:
        drop()
        answer = clarabel.solve(program, tolerance=1e-9, max_iterations=100)
    usable = answer.iterations and np.isfinite(answer.x).all() and np.isfinite(answer.z).all()
    return (answer.x, answer.z) if usable else None
