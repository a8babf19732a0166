"""Float multipliers of one relaxation mixed: near the optimum and well inside the cone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosdp.algebra.polynomial import Polynomial


@dataclass(frozen=True, eq=False)
class MixedBlock:
    """A float Gram block (see `certificates.find.rounding.FloatBlock`)."""

    kind: str
    index: tuple[int, ...]
    basis: np.ndarray
    entry: np.ndarray | None
    gram: np.ndarray
    target: int = 0


@dataclass(frozen=True, eq=False)
class MixedDual:
    """Float multipliers (see `certificates.find.rounding.FloatDual`)."""

    blocks: tuple[MixedBlock, ...]
    equality_multipliers: tuple[tuple[int, Polynomial], ...]
    margin: float | None = None


def mixture(near: Any, inner: Any, weight: float) -> Any:
    """(1 - weight) * near + weight * inner of two float duals with the same blocks."""
    blocks = tuple(
        MixedBlock(
            a.kind,
            tuple(a.index),
            a.basis,
            a.entry,
            (1 - weight) * np.asarray(a.gram) + weight * np.asarray(b.gram),
            int(getattr(a, "target", 0) or 0),
        )
        for a, b in zip(near.blocks, inner.blocks, strict=True)
    )
    pairs = zip(near.equality_multipliers, inner.equality_multipliers, strict=True)
    free = tuple((a[0], (1 - weight) * a[1] + weight * b[1]) for a, b in pairs)
    return MixedDual(blocks, free)
