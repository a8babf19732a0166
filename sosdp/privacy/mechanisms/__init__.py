"""Mechanisms that need no program: counts, choices, tests, order statistics and averages, all exact.

`REGISTRY` lists every public one with the page that proves it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mechanism:
    """Where a mechanism lives and what proves it.

    Attributes:
        name: as in `Guarantee.mechanism`.
        module, function: its home.
        proof: page in the documentation, relative to the root of the repository.
    """

    name: str
    module: str
    function: str
    proof: str

    def load(self) -> Callable[..., Any]:
        """The mechanism itself."""
        return getattr(importlib.import_module(self.module), self.function)


def _own(module: str, function: str, proof: str) -> Mechanism:
    return Mechanism(proof.replace("_", " "), f"{__name__}.{module}", function, f"docs/proofs/{proof}.md")


REGISTRY = {
    mechanism.function: mechanism
    for mechanism in (
        _own("histogram", "private_histogram", "private_histogram"),
        _own("noisy_max", "report_noisy_max", "noisy_max"),
        _own("sparse_vector", "SparseVector", "sparse_vector"),
        _own("sparse_vector", "above_threshold", "sparse_vector"),
        _own("weights", "multiplicative_weights", "multiplicative_weights"),
        _own("quantile", "private_quantile", "private_quantile"),
        _own("interior", "interior_point", "interior_point"),
        _own("average", "bounded_average", "bounded_average"),
    )
}

__all__ = ["REGISTRY", "Mechanism", *REGISTRY]


def __getattr__(name: str) -> Any:
    if name not in REGISTRY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return REGISTRY[name].load()
