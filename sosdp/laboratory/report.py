"""What is known about a sensitivity: proven, refuted by two neighbours, or undecided and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.domain import Domain
from sosdp.privacy.guarantee.rounding import float_up

PROVEN, REFUTED, UNDECIDED = "proven", "refuted", "undecided"


class NotAPolynomial(TypeError, ValueError):
    """A function is not the polynomial that it would have to be; the message says what to use."""


class Undecided(ValueError):
    """Nothing is proven and nothing refuted; the message names what has no certificate."""


@dataclass(frozen=True, kw_only=True, repr=False)
class StabilityReport:
    """The sensitivity of a program between neighbouring data sets.

    Attributes
    ----------
    upper
        A theorem: no two neighbours' values differ by more. None where nothing is proven.
    lower
        Two neighbours differ by this much, evaluated exactly; infinite where one of them has no value; 0
        where none were looked for.
    claimed
        The sensitivity that was to be proven, None where the least provable one was wanted.
    neighbours
        The two data sets that differ by `lower`.
    symmetric
        Whether the order of the records is without influence, decided exactly; None where it plays no part.
    positions
        Which record was replaced in the proofs: one of each class of positions that are alike and matter.
    records
        The number of records that the theorem is about; None for every number.
    certificates
        Exact certificates, one a position, as objects that ``sosdp verify`` checks; None where the bound is
        certified in floats only.
    statement
        The theorem in words.
    missing
        What has no certificate; empty where nothing is missing.
    polynomial
        What the theorem is about, and what a private estimator evaluates; None for programs.
    program
        Of `Means`, `Ratio`, `SumOfPieces` and `Largest`: what is evaluated in the place of a polynomial.
    domain
        The public set of a record of a statistic.
    made
        Whether the engine made this report as it stands (`as_made`); False for one typed or edited by hand.
    """

    upper: Fraction | None
    lower: Fraction | float = Fraction(0)
    claimed: Fraction | None = None
    neighbours: tuple[Any, Any] | None = None
    symmetric: bool | None = None
    positions: tuple[int, ...] = ()
    records: int | None = None
    certificates: tuple[Mapping[str, Any] | None, ...] = ()
    statement: str = ""
    missing: str = ""
    polynomial: Polynomial | None = None
    program: Any = None
    domain: Domain | None = None
    made: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.upper is not None and self.lower > self.upper:
            raise AssertionError(
                f"a proof of {float(self.upper)!r} and neighbours that differ by {float(self.lower)!r}: this "
                "is a defect of sosdp; please report it with the program"
            )

    def as_made(self) -> StabilityReport:
        """This report, marked as the engine's own; `dataclasses.replace` makes one without the mark."""
        object.__setattr__(self, "made", True)
        return self

    @property
    def status(self) -> str:
        """``"proven"``, ``"refuted"`` or ``"undecided"``, of the claim if there is one."""
        if self.claimed is not None and self.lower > self.claimed:
            return REFUTED
        limit = self.upper if self.claimed is None else self.claimed
        if self.upper is not None and limit is not None and self.upper <= limit:
            return PROVEN
        return UNDECIDED

    @property
    def sensitivity(self) -> Fraction:
        """What a mechanism may use: the claim, or the least that is proven.

        Raises
        ------
        Undecided
            The status is not ``"proven"``.
        """
        if self.status != PROVEN or self.upper is None:
            raise Undecided(
                f"{self.status}: {self.missing or 'two neighbours differ by more than the claim'}"
            )
        return self.upper

    @property
    def gap(self) -> float:
        """upper / lower: 1 if the sensitivity is known exactly, infinite where one of the two is unknown."""
        return math.inf if self.upper is None or self.lower == 0 else float(self.upper / self.lower)

    def to_dict(self) -> dict[str, Any]:
        """For the evidence of a release: the bound, the neighbours that come near, and the certificates."""
        return {
            "upper": None if self.upper is None else float_up(self.upper),
            "unit": "1",
            "lower": str(self.lower),
            "neighbours": None if self.neighbours is None else _texts(self.neighbours),
            "positions": list(self.positions),
            "certificates": [item for item in self.certificates if item is not None],
        }

    def __repr__(self) -> str:
        return f"<StabilityReport: {self}>"

    def __str__(self) -> str:
        known = f"at most {float(self.upper):.6g}" if self.upper is not None else "no upper bound"
        claim = "" if self.claimed is None else f" (claimed {float(self.claimed):.6g})"
        shown = f"{self.status}{claim}: {known}, at least {float(self.lower):.6g}; {self.statement}"
        return f"{shown}; missing: {self.missing}" if self.missing else shown


def _texts(data: Any) -> Any:
    return [_texts(item) for item in data] if isinstance(data, (tuple, list)) else str(data)
