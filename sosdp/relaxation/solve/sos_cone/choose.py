"""When the method at points is chosen: public sizes only, calibrated by ``python -m benchmarks sos_cone``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....conic.choose import INTERIOR_POINT_SIDE, available_memory
from ....conic.svec import svec_length

if TYPE_CHECKING:
    from ...assemble.identity import GramProgram, Identity

_LEAST_WORK = 2e6  # sum of R^3 below which Clarabel takes milliseconds, for up to three blocks
_BLOCKS = 3
_SHARE = 0.25  # of Clarabel's work that ours may be
_MOST_COLUMNS = 6000
_RESCUED_COLUMNS = 1000
_RESCUED_BLOCKS = 60
_WORTH = 3.0  # times SCS' good case: it often is not so good
_ARRAYS = 4  # of columns x columns doubles at a time
_VARIETY = 1.5  # how much slower ours is where points on a variety must be found


def prefers(program: GramProgram) -> bool:
    """Whether the method at points is worth its arrays for this program; no solver is called."""
    identity = program.identity
    if program.quadratic is not None or identity.hermitian:
        return False
    sides = identity.sides
    columns = identity.columns.shape[0]
    if not 0 < columns <= _MOST_COLUMNS or identity.unknown.shape[0] != 1 or np.isfinite(program.upper).any():
        return False
    borrowed = sum(float(svec_length(n)) ** 3 for n in sides)
    ours = columns**3 / 3 + float(columns) ** 2 * sum(sides)
    if borrowed < _LEAST_WORK * max(1.0, len(sides) / _BLOCKS) or ours > _SHARE * borrowed:
        return False
    if 8.0 * _ARRAYS * columns**2 > 0.5 * available_memory() or _is_mixed(identity):
        return False
    if max(sides) <= INTERIOR_POINT_SIDE:
        return True
    return our_milliseconds(identity) <= _WORTH * scs_milliseconds(identity)


def _is_mixed(identity: Identity) -> bool:
    """Whether equations join variables of few values (b**2 = b) and others: their points span too little, as
    those of x (1 - b) = 0, and to find that out takes as long as Clarabel."""
    ruled = [*identity.quotient.power]
    others = np.setdiff1d(identity.columns, [0, *ruled])
    return bool(identity.free.shape[0] and ruled and others.size)


def our_milliseconds(identity: Identity) -> float:
    """Rough time of the method at points, build, points and certificate included.

    Fitted, like ``scs_milliseconds``, to the cases of the benchmark on the machine of docs/sos_cone.md; only
    their ratio counts.
    """
    columns, sides = float(identity.columns.shape[0]), np.array(identity.sides, dtype=float)
    work = 1.2 * columns**3 / 3 + 0.48 * columns**2 * sides.sum() + 29.0 * (sides**3).sum()
    searched = _VARIETY if identity.free.shape[0] else 1.0
    return float(19.0 + 0.84 * sides.size + 1e-6 * searched * work)


def scs_milliseconds(identity: Identity) -> float:
    """Rough time of SCS 3.2 where it converges well: an eigendecomposition a block and iteration."""
    columns, sides = float(identity.columns.shape[0]), np.array(identity.sides, dtype=float)
    entries = (sides * (sides + 1)).sum() / 2
    return float(3.0 + 0.3 * sides.size + 0.12 * columns + 0.018 * entries + 2.3e-4 * (sides**3).sum())


def rescues(program: GramProgram) -> bool:
    """Whether it is worth trying where Clarabel was not accurate: seconds at most."""
    identity = program.identity
    small = identity.columns.shape[0] <= _RESCUED_COLUMNS and len(identity.blocks) <= _RESCUED_BLOCKS
    return small and identity.unknown.shape[0] == 1
