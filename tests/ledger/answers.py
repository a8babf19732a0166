"""An answer as the ledger keeps it, and when another one is worse."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .entries import Entry

PATH = Path(__file__).parent / "answers.json"
UNDECIDED = ("inaccurate", "failed", "unknown", "ValueError")
TOLERANCE = 2e-5


@dataclass(frozen=True)
class Recorded:
    """Status, value, proven bound and its side (1 below, -1 above)."""

    status: str
    bound: float | None
    certified: float | None
    side: int


def answered(entry: Entry) -> Recorded:
    """The answer of the engine as it is now; what it refuses to answer is a status of its own."""
    try:
        r = entry.ask()
    except (ValueError, ArithmeticError, TypeError) as error:
        return Recorded(f"{type(error).__name__}", None, None, 1)
    r = getattr(r, "real", r) if not hasattr(r, "bound_kind") else r
    r = getattr(r, "result", r)
    upper = getattr(r, "bound_kind", None) == "upper" or getattr(r, "sense", "") == "maximize"
    if hasattr(r, "bound_kind"):
        upper = r.bound_kind == "upper"
    return Recorded(r.status, _number(r.bound), _number(r.certified_bound), -1 if upper else 1)


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{float(value):.10g}")


def load() -> dict[str, Recorded]:
    """The recorded answers."""
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    return {name: Recorded(*fields) for name, fields in kept.items()}


def save(recorded: dict[str, Recorded]) -> None:
    """One line an answer."""
    lines = (f"{json.dumps(n)}: {json.dumps(list(asdict(r).values()))}" for n, r in sorted(recorded.items()))
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def is_wrong(r: Recorded, truth: float | str | None) -> bool:
    """A decision that is known to be none."""
    if truth is None or r.status in UNDECIDED:
        return False
    if isinstance(truth, str):
        wanted = {"feasible": "optimal"}.get(truth, truth)
        return r.status != wanted
    if r.status != "optimal":
        return True
    return r.bound is None or abs(r.bound - truth) > 1e-4 * max(1.0, abs(truth))


def _open(r: Recorded) -> bool:
    """An optimum whose proven bound is a thousandth away from it: such an answer was none."""
    known = r.status == "optimal" and r.bound is not None and r.certified is not None
    return known and abs((r.bound or 0) - (r.certified or 0)) > 1e-3 * max(1.0, abs(r.bound or 0))


def worse(old: Recorded, new: Recorded, truth: float | str | None) -> list[str]:
    """In what an answer is worse than a recorded one: better is allowed, and so is what mends a wrong one."""
    both = f"was {old}, is {new}" + ("" if truth is None else f", known to be {truth}")
    if is_wrong(new, truth) and not is_wrong(old, truth):
        return [f"wrong: {both}"]
    if is_wrong(old, truth):
        return []
    if (
        new.status != old.status
        and old.status not in UNDECIDED
        and not (_open(old) and new.status in UNDECIDED)
    ):
        return [f"undecided: {both}" if new.status in UNDECIDED else f"another verdict: {both}"]
    lost = []
    values = (old.bound, new.bound)
    if old.status == "optimal" == new.status and None not in values:
        before, now = values
        known = before if truth is None or isinstance(truth, str) else truth
        if abs(now - known) > abs(before - known) + 2 * TOLERANCE * max(1.0, abs(before)):
            lost.append(f"another value: {both}")
    if old.certified is not None:
        size = max(1.0, abs(old.certified))
        if new.certified is None:
            if new.status not in ("infeasible", "unbounded"):
                lost.append(f"nothing proven: {both}")
        elif old.side * (old.certified - new.certified) > TOLERANCE * size:
            lost.append(f"proven less: {both}")
    return lost
