"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.sbm.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("CertificateRecovery", "certificate_recovery", "sbm_certificate"),
        _entry("CommunitiesRecovery", "communities", "sbm_communities"),
        _entry("ExponentialRecovery", "exponential", "sbm_exponential"),
        _entry("MajorityVoteRecovery", "voting", "sbm_voting"),
        _entry("ProjectionRecovery", "projection_recovery", "sbm_weak_recovery"),
        _entry("RandomizedResponseRecovery", "randomised_response", "sbm_randomized_response"),
        _entry("estimate_parameters", "parameters", "sbm_parameters"),
        _entry("VotingRecovery", "vote_recovery", "sbm_voting"),
    )
)
