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


def random_program(seed, *, zero=2, nonnegative=5, sides=(4, 1, 3), columns=9, rank=0):
    """Strictly feasible on both sides, with a constant; ``rank`` squares in the objective."""
    rng = np.random.default_rng(seed)
    cones = Cones(zero=zero, nonnegative=nonnegative, psd=sides)
    A = rng.standard_normal((cones.rows, columns)) * (rng.random((cones.rows, columns)) < 0.7)
    s, z = [np.zeros(zero), rng.random(nonnegative) + 0.5], [np.ones(zero), rng.random(nonnegative) + 0.5]
    for side in sides:
        for target in (s, z):
            root = rng.standard_normal((side, side))
            target.append(svec(root @ root.T + np.eye(side)))
    P = None
    if rank:
        root = rng.standard_normal((rank, columns))
        P = sp.csc_matrix(np.triu(root.T @ root))
    b = A @ rng.standard_normal(columns) + np.concatenate(s)
    return ConicProgram(-A.T @ np.concatenate(z), sp.csc_matrix(A), b, cones, P, 0.75)
