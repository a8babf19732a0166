"""The largest cut between disjoint sets as a polynomial program, literally: what the fast solver relaxes.

maximise sum_ij M_ij s_i t_j over s, t in {0, 1}^n with s_i t_i = 0. The pseudo-expectations of degree 2 of
this system
are the relaxation of docs/proofs/cuts_error_bar.md (a test compares the values);
`sosdp.structured.disjoint_cut` solves
it at size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sosdp as sd


def disjoint_cut_program(matrix: Any) -> tuple[sd.System, sd.Polynomial]:
    """(system, objective to maximise) for a symmetric (n, n) matrix with zero diagonal.

    Raises:
        ValueError: not a symmetric matrix with zero diagonal.
    """
    array = np.asarray(matrix, dtype=float)
    n = array.shape[0]
    if array.shape != (n, n) or (array != array.T).any() or array.diagonal().any():
        raise ValueError("needs a symmetric matrix with zero diagonal")
    s, t = sd.variables("s", n), sd.variables("t", n)
    system = sd.System(
        [x**2 == x for x in (*s, *t)],
        [x * y == 0 for x, y in zip(s, t, strict=True)],
    )
    objective = sum(
        (array[i, j] * s[i] * t[j] for i in range(n) for j in range(n) if array[i, j]), start=0.0 * s[0]
    )
    return system, objective
