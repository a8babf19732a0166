"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.gmm.{module}", "docs/proofs/gmm_aggregate.md")


REGISTRY = dict(
    (
        _entry("PrivateGaussianMixture", "estimators.mixture"),
        _entry("release_mixture", "aggregate"),
        _entry("declined", "estimators.mixture"),
    )
)
