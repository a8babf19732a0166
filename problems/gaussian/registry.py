"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.gaussian.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("RobustPrivateMean", "estimators.mean", "gaussian_scores"),
        _entry("RobustPrivateCovariance", "estimators.covariance", "gaussian_scores"),
        _entry("PrivateGaussian", "estimators.gaussian", "gaussian_scores"),
        _entry("localise", "estimators.mean", "truncated_mechanism"),
        _entry("release_scales", "preconditioner", "scores"),
        _entry("release_correlations", "preconditioner", "bounded_average"),
    )
)
