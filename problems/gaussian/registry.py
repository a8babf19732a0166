"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.gaussian.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("PrivateMean", "estimators.mean", "gaussian_frame"),
        _entry("PrivateGaussian", "estimators.gaussian", "gaussian_whitening"),
        _entry("PrivateCovariance", "estimators.covariance", "gaussian_whitening"),
        _entry("private_mean", "means", "gaussian_frame"),
        _entry("private_gaussian", "covariances", "gaussian_whitening"),
        _entry("published_location", "published.truncated", "gaussian_published"),
        _entry("published_variance", "published.truncated", "gaussian_published"),
        _entry("published_gaussian", "published.truncated", "gaussian_published"),
        _entry("published_spectral_covariance", "published.spectral", "gaussian_published"),
        _entry("published_coordinate_mean", "published.coordinates", "gaussian_published"),
        _entry("truncated_draw", "published.truncated", "gaussian_published"),
    )
)
