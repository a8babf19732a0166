"""Programs whose entries are the numbers that were stated, for verdicts that rest on exact arithmetic.

A coefficient such as 1/3 or 10**17 + 1 is rounded when its entry is complete. A bound pays for that; a
verdict about the program as it is in floats (that it is unbounded below, that it has no point) may be false
for the one that was stated: x == 1/3 and x == 1/3 + 1e-30 are one equation in floats. Here each Gram matrix,
each equation, each unknown and the objective is multiplied by a whole number that makes its entries integers
(times a power of two, from the scaling), which are then found again from the floats next to them: such
multiples change neither the cones nor their directions. Where that is not possible, the entries are off by
some roundings each, and a verdict has to hold whatever those are. A float is the binary number that it is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...algebra.coefficients import Number
from ...conic.rigorous import UNIT
from ...conic.svec import roots, stored
from ..assemble.identity import Block, GramProgram, Identity

_DIGITS = 44  # of an integer that a float next to it shows
ROUNDINGS = 9 * UNIT  # of an entry of an identity, relative: one exact sum, and factors sqrt(2)


@dataclass(frozen=True, eq=False)
class ExactData:
    """A program, by what its entries are off from those stated, beside their own size: nothing, or
    ``ROUNDINGS`` (``target_off``: those of the target), and the number that the target was multiplied by."""

    program: GramProgram
    off: float
    target_off: float
    factor: Fraction = Fraction(1)


def as_stated(
    program: GramProgram,
    target: Iterable[Number],
    unknowns: Sequence[Iterable[Number]],
    parts: Sequence[Identity] = (),
) -> ExactData:
    """The program with every block, every equation, the target and every unknown times a positive number,
    each entry exactly what was stated times that number; or as it is, where this is not known.

    ``target``: all coefficients of it; ``unknowns``: all of each, its cost among them; ``parts``: the
    identities that were stacked.
    """
    identity = program.identity
    if any(piece.rounded for piece in (identity, *parts)):
        return ExactData(program, ROUNDINGS, ROUNDINGS)
    gram, free, unknown = identity.gram.copy(), identity.free.copy(), identity.unknown.copy()
    objective = program.objective.copy()
    try:
        for block, part in zip(identity.blocks, identity.slices(), strict=True):
            _find(gram, part.start, part.stop, _coefficients(block), roots(block.side))
        for equality, part in zip(identity.equalities, identity.free_slices(), strict=True):
            _find(free, part.start, part.stop, equality.polynomial.coefs.tolist())
        for k, coefs in enumerate(unknowns):
            every = list(coefs)
            _find(unknown, k, k + 1, every)
            objective[k] = _exact(objective[k : k + 1], every)[0]
    except _Rounded:
        return ExactData(program, ROUNDINGS, ROUNDINGS)
    goal, statement = list(target), replace(identity, gram=gram, free=free, unknown=unknown)
    program = replace(program, identity=statement, objective=objective)
    try:
        aim = replace(statement, target=_exact(identity.target, goal))
    except _Rounded:
        return ExactData(program, 0.0, ROUNDINGS)
    return ExactData(replace(program, identity=aim), 0.0, 0.0, _factor(goal))


class _Rounded(Exception):
    """Numbers were rounded that are not found again."""


def _find(
    matrix: sp.csr_matrix,
    first: int,
    last: int,
    coefs: list[Number],
    factors: np.ndarray | None = None,
) -> None:
    """Write the exact entries of some rows, of which each has a factor in ``factors``, in place of those next
    to them."""
    if _are_floats(coefs):
        return
    here = slice(matrix.indptr[first], matrix.indptr[last])
    lengths = np.diff(matrix.indptr[first : last + 1])
    factor = np.ones(int(lengths.sum())) if factors is None else np.repeat(factors, lengths)
    matrix.data[here] = stored(_exact(matrix.data[here] / factor, coefs), factor)


def _are_floats(values: Iterable[Any]) -> bool:
    """Whether floats hold these numbers without rounding."""
    return all(isinstance(v, float) or abs(v) <= sys.float_info.max and float(v) == v for v in values)


def _coefficients(block: Block) -> list[Number]:
    """All coefficients of what a Gram matrix multiplies."""
    many: Any = block.multiplier.reshape(-1).tolist() if block.entry is not None else [block.multiplier]
    return [c for p in many for c in p.coefs.tolist()]


def _factor(coefs: list[Number]) -> Fraction:
    """The number, near one, times which all coefficients are integers times a power of two; one where floats
    hold them."""
    if _are_floats(coefs):
        return Fraction(1)
    exact = [Fraction(c) for c in coefs if c]
    common = math.lcm(*(c.denominator >> _twos(c.denominator) for c in exact))
    least = min(_twos(c.numerator) - _twos(c.denominator) for c in exact)
    if sum(abs(c) for c in exact) * common >= Fraction(2) ** (_DIGITS + least):
        raise _Rounded
    return Fraction(common, 2 ** common.bit_length())


def _twos(n: int) -> int:
    """How often two divides a whole number."""
    return (n & -n).bit_length() - 1


def _exact(values: np.ndarray, coefs: list[Number]) -> np.ndarray:
    """Exact entries, times a positive number, from floats next to them; the same array where those are
    exact."""
    factor = _factor(coefs)
    if factor == 1:
        return values
    return np.array([_nearest(Fraction(float(v)) * factor) for v in values.tolist()])


def _nearest(value: Fraction) -> float:
    """The number of so few binary digits that is nearest."""
    if not value:
        return 0.0
    power = math.frexp(float(value))[1] - _DIGITS
    return math.ldexp(float(round(value / Fraction(2) ** power)), power)
