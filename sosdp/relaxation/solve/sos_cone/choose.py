"""When the method at points is chosen: public sizes only, calibrated by ``python -m benchmarks sos_cone``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....conic.choose import INTERIOR_POINT_SIDE, available_memory
from ....conic.svec import svec_length

if TYPE_CHECKING:
    from ...build.identity import GramProgram, Identity

_LEAST_WORK = 2e6  # sum of R^3 below which Clarabel takes milliseconds, for up to three blocks
_BLOCKS = 3
_SHARE = 0.25  # of Clarabel's work that ours may be
_COLUMNS_A_SIDE = 8  # beyond the interior-point side: so few columns that SCS is slower
_CUBE_COLUMNS = 3500
_MOST_COLUMNS = 6000
_RESCUED_COLUMNS = 1000
_RESCUED_BLOCKS = 60
_ARRAYS = 6  # of columns x columns doubles at a time


def prefers(program: GramProgram) -> bool:
    """Whether the method at points is the faster one for this program; no solver is called."""
    identity = program.identity
    if identity.dominance is not None or program.quadratic is not None:
        return False
    sides = identity.sides
    columns = identity.columns.shape[0]
    largest = max(sides, default=0)
    if not 0 < columns <= _MOST_COLUMNS or identity.unknown.shape[0] != 1 or np.isfinite(program.upper).any():
        return False
    if 8.0 * _ARRAYS * columns**2 > 0.5 * available_memory():
        return False
    borrowed = sum(float(svec_length(n)) ** 3 for n in sides)
    ours = columns**3 / 3 + float(columns) ** 2 * sum(sides)
    if borrowed < _LEAST_WORK * max(1.0, len(sides) / _BLOCKS) or ours > _SHARE * borrowed:
        return False
    if largest <= INTERIOR_POINT_SIDE:
        return True
    return columns <= _COLUMNS_A_SIDE * largest or (_on_cube(identity) and columns <= _CUBE_COLUMNS)


def rescues(program: GramProgram) -> bool:
    """Whether it is worth trying where Clarabel was not accurate: seconds at most."""
    identity = program.identity
    if identity.dominance is not None or program.quadratic is not None or identity.unknown.shape[0] != 1:
        return False
    return identity.columns.shape[0] <= _RESCUED_COLUMNS and len(identity.blocks) <= _RESCUED_BLOCKS


def _on_cube(identity: Identity) -> bool:
    """Whether every variable is +1 or -1."""
    ids = np.unique(identity.columns)
    power = identity.quotient.power
    return all(power.get(v) == (2, 0, 1.0) for v in ids[ids > 0].tolist())
