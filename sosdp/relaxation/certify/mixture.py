"""Unknown coefficients for which every constraint is proven: the optimum, moved a little inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..build.identity import GramProgram, RawSolution
from ..solve.solve import block_identity_vector, solve_program, with_margin

_STEPS = 40

Point = tuple[np.ndarray, np.ndarray, np.ndarray]


def proven_mixture(
    program: GramProgram, raw: RawSolution, proven: Callable[[np.ndarray, np.ndarray, np.ndarray], bool]
) -> tuple[Point | None, np.ndarray | None]:
    """The least mixture of the optimum with a point well inside every cone for which ``proven(gram, free,
    unknowns)``, as those three, and the unknowns of the inner point; None each where there is none.

    Cost: one more solve, and one proof a halving.
    """
    inner_identity = with_margin(program.identity, keep_unknowns=True)
    count = program.objective.size
    inner = solve_program(
        GramProgram(inner_identity, np.append(np.zeros(count), 1.0), np.append(program.upper, 1.0))
    )
    if inner.status not in ("optimal", "inaccurate") or not inner.unknowns[-1] > 0:
        return None, None
    inside = inner.gram + inner.unknowns[-1] * block_identity_vector(program.identity)
    best, weight = None, 1.0
    for _ in range(_STEPS):
        gram = (1 - weight) * raw.gram + weight * inside
        free = (1 - weight) * raw.free + weight * inner.free
        # rounding must not carry an unknown over its limit
        point = np.minimum((1 - weight) * raw.unknowns + weight * inner.unknowns[:-1], program.upper)
        if not proven(gram, free, point):
            break
        best, weight = (gram, free, point), weight / 4
    return best, inner.unknowns[:-1]
