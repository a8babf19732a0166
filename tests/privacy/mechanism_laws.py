"""Exact laws of the basic mechanisms' noise, and how draws are compared with them."""

import itertools
import math
import pathlib
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


def flip_law(levels, rate: float) -> dict:
    """Permute-and-flip as published: candidates in random order, the first head wins."""
    law = dict.fromkeys(range(len(levels)), 0.0)
    for order in itertools.permutations(law):
        left = 1.0 / math.factorial(len(levels))
        for i in order:
            head = math.exp(-rate * levels[i])
            law[i] += left * head
            left *= 1.0 - head
    return law


def renyi(first: dict, second: dict, order: float) -> float:
    return math.log(math.fsum(p**order * second[y] ** (1 - order) for y, p in first.items())) / (order - 1)
