"""A case of a peer's suite."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """``run()`` answers; ``expected`` is a number (the optimum, of relaxation and problem alike unless
    ``relaxation``) or one of ``proved``, ``refuted``, ``feasible``, ``infeasible``, ``unbounded``.

    ``tolerance``: of the peer's own test, relative to max(1, |expected|).
    """

    suite: str
    name: str
    run: Callable[[], Any]
    expected: float | str
    tolerance: float = 1e-5
