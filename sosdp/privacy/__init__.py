"""Guarantees, noise, calibration, and the ways from a program to a private release.

Names beyond the first three load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sosdp.lazy import lazily
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release

_HOMES = {
    "guarantee.adjacency": ["Adjacency"],
    "guarantee.budget": ["Budget", "BudgetExceeded"],
    "guarantee.loss": ["PrivacyLoss"],
    "mechanisms.propose_test_release.acceptance": ["accept_profile"],
    "verification.audit": ["audit"],
    "verification.strongly_convex": ["falsify_program"],
    "guarantee.composition": ["halting", "parallel", "random_split", "subsample"],
    "mechanisms.exponential": ["pure_exponential", "truncated_exponential"],
    "mechanisms.propose_test_release.friendly_core": ["release_by_friends"],
    "mechanisms.propose_test_release.block_vote": ["release_by_vote", "release_with_margin"],
    "mechanisms.propose_test_release.tuple_averages": ["release_tuple_averages"],
    "verification.sensitivity": ["verify_sensitivity"],
    "table.records": ["Parts"],
    "table.table": ["Table"],
}

__all__ = [
    "Adjacency",
    "Budget",
    "BudgetExceeded",
    "Guarantee",
    "Parts",
    "PrivacyLoss",
    "Release",
    "Table",
    "accept_profile",
    "audit",
    "compose",
    "falsify_program",
    "halting",
    "parallel",
    "pure_exponential",
    "random_split",
    "release_by_friends",
    "release_by_vote",
    "release_tuple_averages",
    "release_with_margin",
    "subsample",
    "truncated_exponential",
    "verify_sensitivity",
]

if TYPE_CHECKING:
    from sosdp.privacy.guarantee.adjacency import Adjacency
    from sosdp.privacy.guarantee.budget import Budget, BudgetExceeded
    from sosdp.privacy.guarantee.composition import halting, parallel, random_split, subsample
    from sosdp.privacy.guarantee.loss import PrivacyLoss
    from sosdp.privacy.mechanisms.exponential import pure_exponential, truncated_exponential
    from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile
    from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote, release_with_margin
    from sosdp.privacy.mechanisms.propose_test_release.friendly_core import release_by_friends
    from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import release_tuple_averages
    from sosdp.privacy.table.records import Parts
    from sosdp.privacy.table.table import Table
    from sosdp.privacy.verification.audit import audit
    from sosdp.privacy.verification.sensitivity import verify_sensitivity
    from sosdp.privacy.verification.strongly_convex import falsify_program


__getattr__, __dir__ = lazily(__name__, _HOMES)
