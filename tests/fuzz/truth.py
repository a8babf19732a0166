"""Polynomials in fractions, written apart from the engine: what a text means, its values and exact minima.

A question of the fuzzer is a text, read twice: by the engine with its variables, and here with fractions,
where a float literal is the binary number that it is. Nothing of the engine is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

NAMES = ("x", "y", "z", "a", "b")
Powers = tuple[int, ...]
Point = dict[str, Fraction]


@dataclass(frozen=True, eq=False)
class Exact:
    """A polynomial in the five variables: the coefficient of each tuple of powers."""

    terms: dict[Powers, Fraction]

    def __add__(self, other: Any) -> Exact:
        result = dict(self.terms)
        for key, c in exact(other).terms.items():
            result[key] = result.get(key, Fraction(0)) + c
        return Exact({k: c for k, c in result.items() if c})

    def __mul__(self, other: Any) -> Exact:
        result: dict[Powers, Fraction] = {}
        for key, c in self.terms.items():
            for other_key, d in exact(other).terms.items():
                both = tuple(i + j for i, j in zip(key, other_key, strict=True))
                result[both] = result.get(both, Fraction(0)) + c * d
        return Exact({k: c for k, c in result.items() if c})

    def __pow__(self, power: int) -> Exact:
        return math.prod([self] * power, start=exact(1))

    def __neg__(self) -> Exact:
        return self * -1

    def __sub__(self, other: Any) -> Exact:
        return self + exact(other) * -1

    def __rsub__(self, other: Any) -> Exact:
        return exact(other) - self

    def __truediv__(self, other: Any) -> Exact:
        return self * (1 / Fraction(other))

    __radd__, __rmul__ = __add__, __mul__

    def __ge__(self, other: Any) -> Constraint:
        return Constraint(">=", self - other)

    def __le__(self, other: Any) -> Constraint:
        return Constraint(">=", exact(other) - self)

    def __eq__(self, other: Any) -> Any:
        return Constraint("==", self - other)

    def __call__(self, point: Point) -> Fraction:
        total = Fraction(0)
        for key, c in self.terms.items():
            total += math.prod((point[n] ** k for n, k in zip(NAMES, key, strict=True) if k), start=c)
        return total

    @property
    def degree(self) -> int:
        return max((sum(key) for key in self.terms), default=0)

    @property
    def names(self) -> list[str]:
        return [n for k, n in enumerate(NAMES) if any(key[k] for key in self.terms)]


@dataclass(frozen=True)
class Constraint:
    """``body >= 0`` or ``body == 0``."""

    relation: str
    body: Exact

    def holds(self, point: Point) -> bool:
        value = self.body(point)
        return value == 0 if self.relation == "==" else value >= 0


def exact(value: Any) -> Exact:
    """A number or polynomial as a polynomial."""
    if isinstance(value, Exact):
        return value
    c = Fraction(value)
    return Exact({(0,) * len(NAMES): c} if c else {})


_VARIABLES = {n: Exact({tuple(int(m == n) for m in NAMES): Fraction(1)}) for n in NAMES}


def polynomial(text: str) -> Exact:
    """The polynomial that a text means."""
    return exact(eval(text, {"F": Fraction, **_VARIABLES}))


def constraint(text: str) -> Constraint:
    """The constraint that a text means."""
    result = eval(text, {"F": Fraction, **_VARIABLES})
    assert isinstance(result, Constraint), text
    return result


def least(p: Exact, ends: Sequence[Fraction | None], near: Fraction) -> tuple[Fraction, Fraction]:
    """(value, x): the least value of a polynomial in x on an interval, at critical points refined around
    ``near``; the value is attained at x exactly, and the least one to 130 bits."""
    slope = _coefficients(_moved(p, near))
    slope = [k * c for k, c in enumerate(slope)][1:]
    while slope and not slope[-1]:
        slope.pop()
    candidates = [e for e in ends if e is not None]
    if len(slope) > 1:
        sizes = [math.log2(abs(c / slope[-1])) / (len(slope) - 1 - k) for k, c in enumerate(slope[:-1]) if c]
        unit = Fraction(2) ** round(max(sizes, default=0.0))
        candidates += [near + unit * u for u in _roots([c * unit**k for k, c in enumerate(slope)])]
    low, high = ends
    inside = [v for v in candidates if (low is None or v >= low) and (high is None or v <= high)]
    return min((p({"x": v}), v) for v in inside)


def _coefficients(p: Exact) -> list[Fraction]:
    result = [Fraction(0)] * (p.degree + 1)
    for key, c in p.terms.items():
        result[key[0]] += c
    return result


def _moved(p: Exact, by: Fraction) -> Exact:
    """p(by + x)."""
    moved, x = exact(0), _VARIABLES["x"] + by
    for c in reversed(_coefficients(p)):
        moved = moved * x + c
    return moved


def _roots(c: list[Fraction]) -> list[Fraction]:
    """Real roots, by Newton's method in fractions from those of floats."""
    top = max(abs(v) for v in c)
    rate = [k * v for k, v in enumerate(c)][1:]
    result = []
    for root in np.roots([float(v / top) for v in reversed(c)]):
        if abs(root.imag) > 1e-4 * (1 + abs(root)):
            continue
        u = Fraction(float(root.real))
        result.append(u)
        for _ in range(60):
            down = sum(v * u**k for k, v in enumerate(rate))
            step = sum(v * u**k for k, v in enumerate(c)) / down if down else Fraction(1)
            if not Fraction(1, 2**130) < abs(step) < Fraction(1, 10):
                break
            u = Fraction(round((u - step) * 2**140), 2**140)
        result.append(u)
    return result


def solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a regular system of linear equations."""
    m = [[*row, r] for row, r in zip(rows, right, strict=True)]
    for k in range(len(m)):
        pivot = next(i for i in range(k, len(m)) if m[i][k])
        m[k], m[pivot] = m[pivot], m[k]
        m[k] = [v / m[k][k] for v in m[k]]
        m = [
            row if i == k else [a - row[k] * b for a, b in zip(row, m[k], strict=True)]
            for i, row in enumerate(m)
        ]
    return [row[-1] for row in m]
