"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.tuples.{module}", "docs/proofs/tuples_clustering.md")


REGISTRY = dict(
    (
        _entry("release_kmeans", "clustering"),
        _entry("release_mixture_fit", "clustering"),
        _entry("PrivateKMeans", "estimators.kmeans"),
        _entry("PrivateGaussianMixtureFit", "estimators.mixture"),
        _entry("declined", "estimators.base"),
    )
)
