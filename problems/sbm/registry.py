"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.sbm.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("AutoRecovery", "estimators.auto", "sbm_auto"),
        _entry("CertificateRecovery", "estimators.certificate", "sbm_certificate"),
        _entry("CommunitiesRecovery", "estimators.communities", "sbm_communities"),
        _entry("ExponentialRecovery", "estimators.exponential", "sbm_exponential"),
        _entry("MajorityVoteRecovery", "estimators.majority_vote", "sbm_voting"),
        _entry("ProjectionRecovery", "estimators.output_perturbation", "sbm_weak_recovery"),
        _entry("RandomizedResponseRecovery", "estimators.randomised_response", "sbm_randomized_response"),
        _entry("RoundsRecovery", "estimators.rounds", "sbm_rounds"),
        _entry("SparseFlipsRecovery", "estimators.sparse_flips", "sbm_randomized_response"),
        _entry("StarsRecovery", "estimators.stars", "sbm_stars"),
        _entry("estimate_parameters", "parameters", "sbm_parameters"),
        _entry("VotingRecovery", "estimators.vote", "sbm_voting"),
    )
)
