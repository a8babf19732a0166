"""Exact laws of the basic mechanisms' noise, and how draws are compared with them."""

from __future__ import annotations

import math
import pathlib
from collections import Counter
from fractions import Fraction

import sosdp.privacy

PACKAGE = pathlib.Path(sosdp.privacy.__file__).parent
ROOT = PACKAGE.parent.parent


class Foul:
    """Raises wherever it is looked at."""

    @property
    def shape(self):
        raise RuntimeError("secret")

    item = __eq__ = __lt__ = shape


HOSTILE = [
    Foul(),
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    -(10**400),
    1e308,
    "3",
    None,
    b"x",
    object(),
    [1],
    Fraction(1, 3),
]


def replaced(records: tuple, values) -> list[tuple]:
    """All neighbours by replacing one record."""
    return [
        (*records[:i], new, *records[i + 1 :])
        for i in range(len(records))
        for new in values
        if new != records[i]
    ]


def tail(j: int, scale: float) -> float:
    """P(L >= j) of the discrete Laplace law."""
    a = math.exp(-1 / scale)
    return a**j / (1 + a) if j >= 1 else 1 - a ** (1 - j) / (1 + a)


def laplace(k: int, scale: float) -> float:
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(k)


def softmax(levels, rate: float) -> dict:
    weights = [math.exp(-rate * level) for level in levels]
    return {i: w / math.fsum(weights) for i, w in enumerate(weights)}


def renyi(first: dict, second: dict, order: float) -> float:
    return math.log(math.fsum(p**order * second[y] ** (1 - order) for y, p in first.items())) / (order - 1)


def chi_square_ok(counts: Counter, law: dict, draws: int) -> bool:
    """Pearson's statistic within the 1 - 1e-9 quantile (outcomes expected at least five times)."""
    from scipy.stats import chi2

    kept = {y: p for y, p in law.items() if p * draws >= 5}
    rest = 1 - math.fsum(kept.values())
    statistic = sum((counts[y] - p * draws) ** 2 / (p * draws) for y, p in kept.items())
    assert sum(counts[y] for y in kept) <= draws
    if rest * draws >= 5:
        other = draws - sum(counts[y] for y in kept)
        statistic += (other - rest * draws) ** 2 / (rest * draws)
    return statistic < chi2.ppf(1 - 1e-9, len(kept))
