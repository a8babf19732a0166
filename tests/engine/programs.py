"""Small conic programs as tests write them."""

import numpy as np
import scipy.sparse as sp

from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import svec


def conic(q, A, b, cones):
    """Minimise q'x with b - A x in the cones, from lists."""
    A = sp.csc_matrix(np.array(A, dtype=float).reshape(len(b), len(q)))
    return ConicProgram(q=np.array(q, dtype=float), A=A, b=np.array(b, dtype=float), cones=cones)


def lmi(q, columns, constant, scalars=()):
    """Minimise q'x with ``constant + sum x_i columns_i`` positive semidefinite and ``b - a'x >= 0``."""
    rows = [*(a for a, _ in scalars), *np.array([-svec(matrix) for matrix in columns]).T]
    right = [*(v for _, v in scalars), *svec(constant)]
    return conic(q, rows, right, Cones(0, len(scalars), (len(constant),)))


def unit(side, i, j):
    """The symmetric matrix of 1 at (i, j) and (j, i)."""
    matrix = np.zeros((side, side))
    matrix[i, j] = matrix[j, i] = 1.0
    return matrix
