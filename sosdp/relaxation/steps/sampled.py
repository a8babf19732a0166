"""The one step of a polynomial on the unit box, or on the circle: values at points, in bases of their own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..candidate import Ran
from ..solve.sos_cone.solve import NAME
from ..solve.sos_cone.unit_box import SampledBound

Answer = tuple[SampledBound, str, float | None, Ran]


def sampled(
    ask: Callable[..., SampledBound], *stated: Any, power: int, constant: Fraction, sign: int
) -> Answer:
    """The bound on ``2**power`` times the polynomial that is stated to a solver, and a constant: its status,
    what is proven, and what was done (``sign``: -1 where a maximum is asked)."""
    raw, status, proven = ask(*stated).of_all(power, constant)
    told = None if proven is None else sign * proven
    return raw, status, told, Ran("first", NAME, raw.solution.seconds, status, told)
