"""Every public mechanism of this package with the page that proves it (of others, their modules name it).

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
        _entry("private_histogram", "mechanisms.basic.histogram", "private_histogram"),
        _entry("report_noisy_max", "mechanisms.basic.noisy_max", "noisy_max"),
        _entry("SparseVector", "mechanisms.basic.sparse_vector", "sparse_vector"),
        _entry("above_threshold", "mechanisms.basic.sparse_vector", "sparse_vector"),
        _entry("multiplicative_weights", "mechanisms.basic.multiplicative_weights", "multiplicative_weights"),
        _entry("private_quantile", "mechanisms.basic.quantile", "private_quantile"),
        _entry("interior_point", "mechanisms.basic.interior_point", "interior_point"),
        _entry("private_count", "mechanisms.basic.columns", "columns"),
        _entry("private_sum", "mechanisms.basic.columns", "columns"),
        _entry("private_mean", "mechanisms.basic.columns", "columns"),
        _entry("release_table", "table.answers", "tables"),
        _entry("release_tree", "table.synthetic", "synthetic_tables"),
        _entry("bounded_average", "mechanisms.basic.average", "bounded_average"),
        _entry("release_vector", "mechanisms.output_perturbation", "gaussian_release"),
        _entry("release_symmetric", "mechanisms.output_perturbation", "strongly_convex"),
        _entry("pure_exponential", "mechanisms.exponential", "exponential_mechanism"),
        _entry("truncated_exponential", "mechanisms.exponential", "truncated_mechanism"),
        _entry("release_if_stable", "mechanisms.propose_test_release.stability", "certificate_stability"),
        _entry("release_by_vote", "mechanisms.propose_test_release.block_vote", "agreement"),
        _entry("release_with_margin", "mechanisms.propose_test_release.block_vote", "agreement"),
        _entry("release_by_friends", "mechanisms.propose_test_release.friendly_core", "friends"),
        _entry("private_frank_wolfe", "mechanisms.frank_wolfe", "mrf_frank_wolfe"),
        _entry("parity_points", "mechanisms.parities", "mrf_parities"),
        _entry("parity_weights", "mechanisms.parities", "mrf_parities"),
        _entry("private_projected_gradient", "mechanisms.projected_gradient", "mrf_moments"),
        _entry("release_tuple_averages", "mechanisms.propose_test_release.tuple_averages", "tuples_averages"),
        _entry("OnlineInteraction", "mechanisms.interaction.online", "cuts_online"),
        _entry("release_upper_bound", "mechanisms.upper_bound", "cuts_error_bar"),
        _entry("release_through", "opendp_bridge", "opendp_bridge"),
    )
)
