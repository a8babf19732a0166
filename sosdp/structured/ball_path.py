"""Path following in ball arithmetic: the last resort of a search that has to end on every input.

Damped Newton steps on a self-concordant barrier, on the middles of balls; what is proven at the end is proven
by balls around the middles. With enough bits every program with interior points on both sides is settled; how
many bits and hours that takes depends on the input. Proof: docs/proofs/sbm_certificate.md, "The ladder"
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, log
from typing import TypeVar

import flint
import numpy as np

FIRST_BITS = 128

Proven = TypeVar("Proven")

Derivatives = Callable[[list[flint.arb], flint.arb], tuple[flint.arb_mat, flint.arb_mat]]
"""(dual, barrier) to the gradient, a column, and the Hessian of cost + barrier * self-concordant function."""


def follow_path(
    start: list[flint.arb],
    barrier: flint.arb,
    gap: float | Fraction,
    parameter: int,
    derivatives: Derivatives,
    accept: Callable[[list[flint.arb]], Proven | None],
) -> Proven | None:
    """What `accept` proves at a dual point near the centre of barrier gap / (4 parameter); None if nothing.

    start: an interior point, at most 2 parameter + 3 barriers above the optimum of the first barrier.
    parameter: of the self-concordant barrier. None means that the current precision does not suffice, or that
    `accept` refused as many full steps as there are bits.
    """
    dual, target = start, (_ball(gap) / (4 * parameter)).mid()
    levels = 2 + max(0, ceil(float((barrier / target).log()) / log(5.0)))
    refused = 0
    for _ in range(levels * (100 * parameter + 100)):
        try:
            gradient, hessian = derivatives(dual, barrier)
            newton = hessian.solve(gradient)
        except ZeroDivisionError:  # not invertible with this many bits
            return None
        size = len(dual)
        decrement = (sum((gradient[i, 0] * newton[i, 0] for i in range(size)), flint.arb(0)) / barrier).mid()
        decrement = flint.arb(0) if decrement < 0 else decrement.sqrt().mid()
        near = bool(decrement <= flint.arb(0.25))
        if near and barrier <= target:
            result = accept(dual)
            refused += 1
            if result is not None or refused > flint.ctx.prec:
                return result
        elif near:
            fifth = (barrier / 5).mid()
            barrier = fifth if fifth > target else target
        damping = flint.arb(1) if near else 1 + decrement
        dual = [(dual[i] - newton[i, 0] / damping).mid() for i in range(size)]
        if not all(value.is_finite() for value in dual):
            return None
    return None


def exact(matrix: np.ndarray) -> flint.arb_mat:
    """A float matrix as balls of radius 0."""
    return flint.arb_mat([[flint.arb(float(entry)) for entry in row] for row in matrix])


def diagonal(values: list[flint.arb]) -> flint.arb_mat:
    """The diagonal matrix of some balls."""
    n = len(values)
    return flint.arb_mat([[values[i] if i == j else flint.arb(0) for j in range(n)] for i in range(n)])


def _ball(number: float | Fraction) -> flint.arb:
    value = Fraction(number)
    return flint.arb(value.numerator) / flint.arb(value.denominator)
