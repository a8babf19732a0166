"""Several ways to a proof: the first that has one, and what stopped the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from certificates.find.rounding import NotCertifiable
from certificates.proof import Proof, WordProof
from sosdp.relaxation.assemble.identity import is_large_constant

SLACKS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # relative to the value or the size of the objective, see `exact`
_DIGITS = 1e-15  # of the value
Way = tuple[str, Callable[[], Proof | None]]  # in words, and None or NotCertifiable where it has no proof


def room(slack: float, value: float, constant: float, others: Iterable[float], unit: float) -> float:
    """How much a slack is: relative to one, or a smaller unit, and the value, less a constant that is large
    beside all other coefficients, which the solver never saw; no less than floats of the value tell apart.
    ValueError for a slack that is no positive number."""
    size = abs(value)
    if is_large_constant(abs(constant), max(map(abs, others), default=0.0)):
        size = min(size, abs(value - constant))
    result = max(slack * max(min(1.0, unit), size), _DIGITS * abs(value))
    if not (slack > 0 and result < float("inf")):
        raise ValueError(f"slack must be a positive number, not {slack!r}")
    return result


@dataclass(frozen=True)
class Outcome:
    """What became of a claim: `status` is "proved", "refuted" or "undecided"; `reason` in words.

    `proof`: of the claim, or of the claim that there is no certificate of this degree; None when undecided.
    """

    status: str
    proof: Proof | WordProof | None
    reason: str


def outcome(way: Callable[[], Proof | WordProof]) -> Outcome:
    """Proved by this way, or undecided with the reason."""
    try:
        return Outcome("proved", way(), "")
    except NotCertifiable as error:
        return Outcome("undecided", None, str(error))


def proven(ways: Sequence[Way], advice: str = "") -> Proof:
    """The proof of the first way that has one; NotCertifiable with what stopped that way and with the advice,
    and with what stopped each of them as `attempts`."""
    reasons = []
    for words, way in ways:
        try:
            if (proof := way()) is not None:
                return proof
        except NotCertifiable as error:
            reasons.append(f"{words}: {error}" if words else str(error))
    said = "; ".join(filter(None, (reasons[0], advice)))
    raise NotCertifiable(f"no exact certificate found: {said}", attempts=tuple(dict.fromkeys(reasons)))
