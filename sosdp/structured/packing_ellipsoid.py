"""The packing program by the ellipsoid method in integers: slow, and proven to end within a public width.

The dual has k(k+1)/2 unknowns however many records there are. Every cut is a theorem whatever floats are
(weights of records may be any numbers in [0, 1]), centres and ellipsoids are integers, and the number of
steps is a function of n and k. Used where a faster method missed its width, so that a bracket never does.

Proof: docs/proofs/gaussian_scores.md, 2
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from .packing_bound import Limit

WIDTH = Fraction(63, 4096)
"""s is at most this above the best dual value, whatever the records are."""
MOST = 1 << 22  # records, for which the roundings are summed on the page
LONG = 512  # times k: records of a larger |b|^2 are given up
CENTRE = 32  # binary digits of a centre that is looked at
SPARE = 2.0**-15  # added to the diagonal: pays for every rounding of a factor
_LIMB = 18


def steps(n: int, k: int) -> int:
    """After so many cuts an ellipsoid is smaller than the set of points within 2^-9 of the best."""
    size = k * (k + 1) // 2
    ratio = size * math.log(2.0 * math.sqrt(2.0) * k * 2.25 * n * 2.0**9)
    return math.ceil(2 * (size + 1) * (ratio + 1.0 / 16.0)) + 1


def best_dual(
    rows: np.ndarray, limit: Limit, price: Callable[[np.ndarray], float], enough: float
) -> tuple[float, np.ndarray]:
    """(low, factor V): s <= low + `WIDTH` is a theorem unless low >= enough was found, which ends it.

    Args:
        rows: (n, k) floats, n at most `MOST`. price: a proven lower bound of s from V (k, k).
    """
    n, k = rows.shape
    scaled = limit.whiten(rows)
    near = scaled[limit.usable(rows) & ((scaled**2).sum(axis=1) <= LONG * k)]
    largest = math.ceil(1.1 * n)  # trace of an optimum
    digits = math.ceil(math.log2(2.0 * n * math.sqrt(k * largest))) + 11
    integers = np.rint(near * 2.0**digits).astype(np.int64)
    floor = math.ceil(2**CENTRE * (1.01 / (LONG * k) + SPARE))
    number = steps(n, k)
    body = Ellipsoid(k * (k + 1) // 2, largest, number)
    pairs = [(a, b) for a in range(k) for b in range(a, k)]
    best, factor = 0.0, np.zeros((k, k))
    for _ in range(number):
        centre = body.rounded(CENTRE)
        matrix = [[centre[pairs.index((min(a, b), max(a, b)))] for b in range(k)] for a in range(k)]
        direction, _ = eliminated(
            [[x + (a == b) * k for b, x in enumerate(row)] for a, row in enumerate(matrix)]
        )
        if direction is not None:
            normal = [[x * y for y in direction] for x in direction]
        elif sum(body.centre[pairs.index((a, a))] for a in range(k)) > largest << body.digits:
            normal = [[-int(a == b) for b in range(k)] for a in range(k)]
        else:
            _, root = eliminated(
                [[x + (a == b) * floor for b, x in enumerate(row)] for a, row in enumerate(matrix)]
            )
            V = np.array(root) * 2.0 ** (-CENTRE / 2)
            low = price(limit.unwhiten(V))
            if low > best:
                best, factor = low, limit.unwhiten(V)
            if best >= enough:
                break
            counted = ((near @ V) ** 2).sum(axis=1) < 1.0
            normal = gram(integers[counted])
            for a in range(k):
                normal[a][a] -= 1 << 2 * digits
        if not body.cut([normal[a][b] * (1 + (a != b)) for a, b in pairs]):
            break
    return best, factor


def eliminated(matrix: list[list[int]]) -> tuple[list[int] | None, list[list[float]]]:
    """Of a symmetric matrix: integers v with v^T M v <= 0, or None and L D^(1/2), rounded."""
    k = len(matrix)
    left = [[Fraction(x) for x in row] for row in matrix]
    made = [[Fraction(int(a == b)) for b in range(k)] for a in range(k)]
    root = [[0.0] * k for _ in range(k)]
    for j in range(k):
        pivot = left[j][j]
        if pivot <= 0:
            whole = math.lcm(*(x.denominator for x in made[j]))
            return [int(x * whole) for x in made[j]], root
        for i in range(j, k):
            share = left[i][j] / pivot
            root[i][j] = float(share) * math.sqrt(pivot)
            if i > j:
                left[i] = [x - share * y for x, y in zip(left[i], left[j], strict=True)]
                made[i] = [x - share * y for x, y in zip(made[i], made[j], strict=True)]
    return None, root


def gram(integers: np.ndarray) -> list[list[int]]:
    """X^T X of int64 below 2^54 in size, exactly: at most 2^22 rows, limbs of 18 digits."""
    limbs = [(integers >> _LIMB * s) & ((1 << _LIMB) - 1) for s in range(2)] + [integers >> 2 * _LIMB]
    k = integers.shape[1]
    total = [[0] * k for _ in range(k)]
    for s, one in enumerate(limbs):
        for t, two in enumerate(limbs):
            for a, row in enumerate((one.T @ two).tolist()):
                for b, x in enumerate(row):
                    total[a][b] += x << _LIMB * (s + t)
    return total


class Ellipsoid:
    """{x: (x - c)^T A^-1 (x - c) <= 1}, c and A integers over 2^digits; every cut contains what it should.

    A step shrinks the least eigenvalue of A by (N/(N+1))^2 at most, so that with these digits the roundings
    stay below the inflation by 1 + 1/Z of every step, which costs e^(1/16) of volume in all.
    """

    def __init__(self, size: int, radius: int, number: int) -> None:
        self.size, self.spread = size, 8 * size * number
        self.digits = 2 * math.ceil(number * math.log2(1.0 + 1.0 / size)) + 64
        self.centre = [0] * size
        one = radius * radius << self.digits
        self.shape = [[one * (a == b) for b in range(size)] for a in range(size)]

    def rounded(self, digits: int) -> list[int]:
        """The centre with so many binary digits."""
        return [x >> self.digits - digits for x in self.centre]

    def cut(self, normal: list[int]) -> bool:
        """Keep what has <normal, x> at least that of the centre; False if the normal is 0."""
        N, Z = self.size, self.spread
        moved = [sum(a * g for a, g in zip(row, normal, strict=True)) for row in self.shape]
        square = sum(g * m for g, m in zip(normal, moved, strict=True))
        if square == 0:
            return False
        length = math.isqrt(square) * (N + 1)
        half = self.digits // 2
        self.centre = [c + (m << half) // length for c, m in zip(self.centre, moved, strict=True)]
        if N == 1:
            self.shape = [[self.shape[0][0] * (Z + 1) // (4 * Z)]]
            return True
        times, over = N * N * (Z + 1), square * (N + 1) * (N * N - 1) * Z
        self.shape = [
            [
                ((N + 1) * square * x - 2 * m * other) * times // over
                for x, other in zip(row, moved, strict=True)
            ]
            for row, m in zip(self.shape, moved, strict=True)
        ]
        return True
