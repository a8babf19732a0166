"""Every public mechanism with the page that proves it.

A test holds the list complete: whatever in this package returns a `Release` is in it. What a guarantee says:
docs/proofs/composition.md
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
        function: its name.
        module: its home.
        proof: page of the documentation, relative to the root of the repository.
    """

    function: str
    module: str
    proof: str

    def load(self) -> Callable[..., Any]:
        """The mechanism itself."""
        return getattr(importlib.import_module(self.module), self.function)


def _entry(function: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return function, Mechanism(function, f"sosdp.privacy.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("private_histogram", "mechanisms.histogram", "private_histogram"),
        _entry("report_noisy_max", "mechanisms.noisy_max", "noisy_max"),
        _entry("SparseVector", "mechanisms.sparse_vector", "sparse_vector"),
        _entry("above_threshold", "mechanisms.sparse_vector", "sparse_vector"),
        _entry("multiplicative_weights", "mechanisms.weights", "multiplicative_weights"),
        _entry("private_quantile", "mechanisms.quantile", "private_quantile"),
        _entry("interior_point", "mechanisms.interior", "interior_point"),
        _entry("bounded_average", "mechanisms.average", "bounded_average"),
        _entry("release_vector", "roads.projection", "gaussian_release"),
        _entry("release_symmetric", "roads.projection", "strongly_convex"),
        _entry("pure_exponential", "roads.exponential", "exponential_mechanism"),
        _entry("truncated_exponential", "roads.exponential", "truncated_mechanism"),
        _entry("release_if_stable", "roads.stability", "certificate_stability"),
        _entry("release_by_vote", "roads.agreement", "agreement"),
        _entry("release_with_margin", "roads.agreement", "agreement"),
        _entry("release_by_friends", "roads.friends", "friends"),
        _entry("release_through", "opendp_bridge", "opendp_bridge"),
    )
)
