"""A conic program as a cvxpy problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import scipy.sparse as sp

from sosdp.extras import need

from .program import ConicProgram
from .reformulate import unpacked

if TYPE_CHECKING:
    import cvxpy


def to_cvxpy(program: ConicProgram) -> tuple[cvxpy.Problem, cvxpy.Variable]:
    """The program as a cvxpy problem and its variable x, shape (columns,).

    The problem's constraints are, in this order and where present: equations, inequalities, one matrix
    inequality a block. Cost: one sparse product a block.
    """
    need("cvxpy", "the bridge to cvxpy")
    import cvxpy as cp

    x = cp.Variable(program.q.size, name="x")
    objective = program.q @ x + program.constant
    if program.P is not None:
        symmetric = program.P + sp.triu(program.P, 1).T
        objective = objective + 0.5 * cp.quad_form(x, cp.psd_wrap(sp.csc_matrix(symmetric)))
    (zero, right), (scalars, limits), *matrices = unpacked(program)
    constraints = [zero @ x == right] if right.size else []
    constraints += [scalars @ x <= limits] if limits.size else []
    for side, (A, b) in zip(program.cones.psd, matrices, strict=True):
        constraints.append(cp.reshape(b - A @ x, (side, side), order="F") >> 0)
    return cp.Problem(cp.Minimize(objective), constraints), x
