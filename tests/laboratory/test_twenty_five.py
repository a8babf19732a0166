"""Twenty-five programs as a user might bring them: fifteen with right claims, ten with wrong or hidden ones.

No wrong one may be proven; of the right ones at least ten must be. (All fifteen are.)
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.laboratory import fits
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import Family, FixedSet, Part
from sosdp.laboratory.means import Means
from sosdp.laboratory.pieces import Largest, Piece, Ratio, SumOfPieces

F = Fraction
THETA = sd.variables("theta")
MODE = {"honest": True}
CALLS = itertools.count()
UNIT = Domain(1, 0, 1)


def location(reach):
    parts = (
        Part("up", lambda n: F(3, 20) * n, lambda z, x: reach * (1 - z[0]) + z[0] * (x[0] - THETA)),
        Part("down", lambda n: F(3, 20) * n, lambda z, x: reach * (1 - z[0]) - z[0] * (x[0] - THETA)),
    )
    return Family(
        1, Domain(1, -3, 3), lambda z, x: ([z[0] ** 2 - z[0]], []), parts, lambda z, x: 1 - z[0],
        lambda z: [0], parameters=(THETA,), about=(3 - THETA, 3 + THETA),
    )  # fmt: skip


def inner(z, x):
    return -(sum(a * b for a, b in zip(z, x, strict=True)) ** 2)


def ball(z):
    return [], [1 - sum(v * v for v in z)]


def loss(x, r):
    return (r[1] - x[0] * r[0]) ** 2 * F(1, 2)


def ridge(weight):
    return sd.ConvexLoss(
        loss, lambda x: x[0] ** 2 * weight, Domain(1, radius=F(3, 2)), (Domain(1, radius=1), Domain(1, -1, 1))
    )


def capped(otherwise=0):
    return SumOfPieces((Piece(lambda x: x * x, lambda x: [F(1, 2) - x]),), UNIT, otherwise)


RIGHT = {
    "squares": (lambda r: sum(x * x for x in r), {"records": 12, "claim": 1}),
    "numpy's variance": (np.var, {"records": 6, "claim": F(5, 36)}),
    "numpy's unbiased variance": (lambda r: np.var(np.array(r), ddof=1), {"records": 4, "claim": F(1, 4)}),
    "mean of cubes": (lambda r: sum(x**3 for x in r) * F(1, 5), {"records": 5, "claim": F(1, 5)}),
    "a product": (lambda r: r[0] * r[1] * r[2], {"records": 3, "claim": 1}),
    "weights that differ": (lambda r: r[0] + 2 * r[1] - 3 * r[2], {"records": 3, "claim": 3}),
    "inner products of pairs": (
        lambda x, y: sum(a * b for a, b in zip(x, y, strict=True)) ** 2,
        {"records": 10**5, "pairs": True, "dimension": 2, "radius": 1, "claim": 10**5},
    ),
    "variance at every n": (Means(lambda u, h: u[1] - u[0] ** 2, lambda x: [x, x * x], UNIT), {"claim": 1}),
    "a ratio": (
        Ratio(sum, lambda r: 1 + sum(x * x for x in r), UNIT), {"records": 2, "claim": F(51, 100)},
    ),
    "pieces": (capped(), {"records": 10**6, "claim": F(1, 4)}),
    "the largest": (
        Largest((lambda r: sum(r), lambda r: r[0] - r[1]), UNIT), {"records": 3, "claim": 1},
    ),
    "robust location": (location(6), {"claim": 1}),
    "leading direction": (FixedSet(2, Domain(2, radius=1), ball, inner), {"claim": F(1001, 1000)}),
    "ridge": (ridge(F(1, 4)), {"records": 20, "claim": F(3, 10)}),
    "line by consensus": (fits.linear(100, tolerance=F(1, 10), spacing=F(1, 8)), {"claim": 1}),
}  # fmt: skip


def by_flag(r):
    """Turns dishonest at its second data set, by a global."""
    MODE["honest"] = next(CALLS) < 1
    return sum(r) if MODE["honest"] else 5 * sum(r)


def by_hash(r):
    return sum(r) + (4 if hash(tuple(map(str, r))) % 3 == 0 else 0)


def by_type(r):
    return sum(3 * x if isinstance(x, np.float64) else x for x in r)


LATER = itertools.count()


def by_calls(r):
    return sum(r) * (1 if next(LATER) < 12 else 2)


WRONG = {
    "a global flag": (by_flag, {"records": 3, "claim": 1}),
    "a hash": (by_hash, {"records": 3, "claim": 1}),
    "a type of floats": (by_type, {"records": 3, "claim": 1}),
    "the number of calls": (by_calls, {"records": 3, "claim": 1}),
    "the order of the records": (
        lambda r: sum((i + 1) * x for i, x in enumerate(r)), {"records": 4, "claim": 1},
    ),
    "a variance, a little less": (np.var, {"records": 6, "claim": F(5, 36) - F(1, 10**4)}),
    "a kernel of ordered pairs": (
        lambda x, y: x * x - y, {"records": 50, "pairs": True, "claim": 49},
    ),
    "a reach that is too short": (location(5), {"claim": 1}),
    "a claim below the truth": (FixedSet(2, Domain(2, radius=1), ball, inner), {"claim": F(99, 100)}),
    "pieces that jump": (capped(F(2)), {"records": 10, "claim": F(1, 4)}),
}  # fmt: skip


def verdict(program, facts) -> str:
    """The status; a program that is refused by name counts as undecided."""
    try:
        return sd.stability(program, **facts).status
    except sd.NotAPolynomial:
        return "undecided"


@pytest.mark.slow
def test_at_least_ten_of_fifteen_right_ones_are_proven():
    missed = {name: result for name, case in RIGHT.items() if (result := verdict(*case)) != "proven"}
    assert len(RIGHT) == 15 and len(missed) <= 5, missed
    assert "refuted" not in missed.values()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", WRONG)
def test_no_wrong_one_is_proven(name):
    assert len(WRONG) == 10 and verdict(*WRONG[name]) in ("refuted", "undecided")
