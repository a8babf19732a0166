"""A case of a peer's suite, and how its answer is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RIGHT, WRONG, NONE = "right", "wrong", "no answer"


@dataclass(frozen=True)
class Case:
    """``run()`` answers; ``expected`` is a number (the optimum, of relaxation and problem alike unless
    ``relaxation``) or one of ``proved``, ``refuted``, ``feasible``, ``infeasible``, ``unbounded``.

    ``tolerance``: of the peer's own test, relative to max(1, |expected|). ``slow``: takes over a second.
    """

    suite: str
    name: str
    run: Callable[[], Any]
    expected: float | str
    tolerance: float = 1e-5
    slow: bool = False


def judge(case: Case) -> tuple[str, str]:
    """Right, wrong or no answer, and what was answered."""
    try:
        result = case.run()
    except (ValueError, TypeError, ArithmeticError) as error:
        return NONE, f"{type(error).__name__}: {error}"
    known = f"{result.status}, {result.bound}, certified {result.certified_bound} {result.reason}"
    if isinstance(case.expected, str):
        return _verdict(case.expected, result.status), known
    scale = max(1.0, abs(case.expected))
    allowed = case.tolerance * scale
    kind = getattr(result, "bound_kind", None) or result.real.bound_kind
    proven = result.certified_bound
    if proven is not None:
        beyond = proven - case.expected if kind == "lower" else case.expected - proven
        if beyond > allowed:
            return WRONG, known
    if result.status != "optimal":
        return NONE, known
    return (RIGHT if abs(result.bound - case.expected) <= allowed else WRONG), known


def _verdict(expected: str, status: str) -> str:
    wanted = {"feasible": "optimal"}.get(expected, expected)
    if status == wanted:
        return RIGHT
    decided = {"proved", "refuted", "optimal", "infeasible", "unbounded"}
    return WRONG if status in decided else NONE
