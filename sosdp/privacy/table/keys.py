"""Private keys: which groups are shown, by counts with truncated noise.

Proof: docs/proofs/tables.md, "Private keys"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sosdp.privacy.contributions import Unit
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.mechanisms.basic.histogram import truncated, truncation
from sosdp.privacy.randomness.bits import RandomBits


@dataclass(frozen=True)
class KeyLaw:
    """The noise with which keys are chosen: scale, top, and its law."""

    units: Fraction
    top: int
    law: Law


def law_of(epsilon: float, delta: float, unit: Unit) -> KeyLaw:
    """The noise for this budget: a unit owns at most `most` records, each under one key.

    Raises:
        ValueError: a budget outside what is proven.
    """
    moves = unit.most * (2 if unit.replaced else 1)
    units, top = truncation(epsilon, delta, moves, unit.most)
    return KeyLaw(units, top, Law("truncated geometric", (units, top, moves, unit.most)))


def chosen(sizes: Mapping[str, int], law: KeyLaw, bits: RandomBits) -> list[str]:
    """The keys whose noisy number of records is beyond the top, in the order of their texts."""
    return [
        key
        for key in sorted(sizes)
        if sizes[key] >= 1 and sizes[key] + truncated(law.units, law.top, bits) > law.top
    ]
