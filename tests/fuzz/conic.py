"""Random conic programs whose optimal value is known exactly: brackets must contain it.

Slack and multiplier are sums of integer squares on complementary vectors, so that they are optimal; or a ray
shows that there is no point. Sizes of the numbers, dependent columns, missing interiors and free variables
vary. The entries of A and b are integers times sqrt 2 off the diagonal, which is the program that is meant.
"""

import random
import traceback
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from sosdp.conic.choose import solve_conic
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import svec

KINDS = ("interior", "boundary", "dependent", "empty", "feasible")


@dataclass(frozen=True)
class Known:
    """A program and its optimal value (None: no point is feasible; ``at_most``: a value that is attained)."""

    program: ConicProgram
    value: Fraction | None
    at_most: bool = False


def _integers(draw: random.Random, shape: tuple[int, ...], size: int = 3) -> np.ndarray:
    return np.array([draw.randint(-size, size) for _ in range(int(np.prod(shape)))], dtype=object).reshape(
        shape
    )


def _symmetric(draw: random.Random, side: int) -> np.ndarray:
    matrix = _integers(draw, (side, side))
    return matrix + matrix.T


def _stored(scalars: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([scalars.astype(float), *(svec(m.astype(float)) for m in matrices)])


def known(seed: int) -> Known:
    """The program of a seed."""
    draw = random.Random(f"conic {seed}")
    kind = KINDS[seed % len(KINDS)]
    count, equations, inequalities = draw.randint(1, 5), draw.choice((0, 0, 1, 2)), draw.choice((0, 2, 4))
    sides = tuple(draw.randint(1, 5) for _ in range(draw.choice((1, 1, 2))))
    scale = draw.choice((1, 1, 1, 10**4, 10**7))
    top = equations + inequalities
    data = [
        _integers(draw, (top, count)),
        *(np.array([_symmetric(draw, n) for _ in range(count)]) for n in sides),
    ]
    data = [part * scale for part in data]
    if kind == "dependent" and count > 1:
        data[0][:, -1] = -data[0][:, 0]
        for stack in data[1:]:
            stack[-1] = -stack[0]
    x = _integers(draw, (count,))
    # complementary: each scalar is tight or has no multiplier, each matrix splits the space
    tight = np.array([True] * equations + [draw.random() < 0.5 for _ in range(inequalities)])
    slack = np.array([0 if t else draw.randint(1, 9) for t in tight], dtype=object)
    multiplier = np.array([draw.randint(1, 9) if t else 0 for t in tight], dtype=object)
    multiplier[:equations] = _integers(draw, (equations,))
    S, Z = [], []
    for n in sides:
        rank = draw.randint(0, n)
        basis = np.eye(n, dtype=object) * 1
        if n > 1 and draw.random() < 0.7:
            vector = _integers(draw, (n,), 1)
            vector[0] = 1
            basis = int(vector @ vector) * basis - 2 * np.outer(vector, vector)  # a reflection, scaled
        weights = [draw.randint(1, 5) for _ in range(n)]
        dropped = {draw.randrange(n)} if kind == "boundary" else set()
        zero = np.zeros((n, n), dtype=object)
        S.append(
            sum((weights[k] * np.outer(basis[k], basis[k]) for k in range(rank) if k not in dropped), zero)
        )
        Z.append(
            sum((weights[k] * np.outer(basis[k], basis[k]) for k in range(rank, n) if k not in dropped), zero)
        )
    if kind == "empty":
        return _empty(draw, data, multiplier, Z, equations, inequalities, sides)
    b = [
        slack + data[0] @ x,
        *(s + np.tensordot(x, stack, axes=1) for s, stack in zip(S, data[1:], strict=True)),
    ]
    q = -np.array(
        [
            int(multiplier @ data[0][:, i])
            + sum(int((z * stack[i]).sum()) for z, stack in zip(Z, data[1:], strict=True))
            for i in range(count)
        ],
        dtype=object,
    )
    if kind == "feasible":  # a point with any cost: nothing but the point is known
        q = _integers(draw, (count,), 9)
    columns = [_stored(data[0][:, i], [stack[i] for stack in data[1:]]) for i in range(count)]
    program = ConicProgram(
        q=q.astype(float),
        A=sp.csc_matrix(np.array(columns).T),
        b=_stored(b[0], b[1:]),
        cones=Cones(equations, inequalities, sides),
    )
    return Known(program, Fraction(int(q @ x)), kind == "feasible")


def _empty(draw, data, multiplier, Z, equations, inequalities, sides) -> Known:
    """Columns orthogonal to a multiplier whose product with b is negative."""
    if not any(z.any() for z in Z):
        Z[0][0, 0] = 1
    total = int(multiplier @ multiplier) + sum(int((z * z).sum()) for z in Z)
    columns = []
    for i in range(data[0].shape[1]):
        off = int(multiplier @ data[0][:, i]) + sum(
            int((z * s[i]).sum()) for z, s in zip(Z, data[1:], strict=True)
        )
        columns.append(
            _stored(
                total * data[0][:, i] - off * multiplier,
                [total * s[i] - off * z for z, s in zip(Z, data[1:], strict=True)],
            )
        )
    b = _stored(-multiplier, [-z for z in Z])
    program = ConicProgram(
        q=_integers(draw, (len(columns),)).astype(float),
        A=sp.csc_matrix(np.array(columns).T),
        b=b,
        cones=Cones(equations, inequalities, sides),
    )
    return Known(program, None)


def false_brackets(seed: int, solver: str = "auto") -> list[str]:
    """What is claimed of the program of a seed and is not so."""
    case = known(seed)
    try:
        answer = solve_conic(case.program, solver, time_limit=1)
    except Exception:
        return [traceback.format_exc()]
    if case.value is None:
        return (
            [f"{answer.status}, but there is no point"] if answer.status in ("optimal", "unbounded") else []
        )
    wrong = []
    if answer.status == "infeasible":
        wrong.append("infeasible, but there is a point")
    if Fraction(answer.lower if answer.lower > -np.inf else -(10**300)) > case.value:
        wrong.append(f"lower bound {answer.lower!r}, value {case.value}")
    if case.at_most:
        return wrong
    if answer.status == "unbounded":
        wrong.append("unbounded, but there is an optimum")
    if Fraction(answer.upper if answer.upper < np.inf else 10**300) < case.value:
        wrong.append(f"upper bound {answer.upper!r}, value {case.value}")
    if answer.status == "optimal" and abs(answer.value - float(case.value)) > 1e-4 * max(
        1.0, abs(float(case.value))
    ):
        wrong.append(f"solved: {answer.value!r}, value {case.value}")
    return wrong
