"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism

REGISTRY = {
    "release_mixture": Mechanism("release_mixture", "problems.gmm.aggregate", "docs/proofs/gmm_aggregate.md"),
    "declined": Mechanism("declined", "problems.gmm.estimators.mixture", "docs/proofs/gmm_aggregate.md"),
}
