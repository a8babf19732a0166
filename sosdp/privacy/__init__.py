"""Guarantees, noise, calibration and the roads from a program to a private release.

Names beyond the first three load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sosdp.privacy.guarantee import Guarantee, compose
from sosdp.privacy.release import Release

_HOME = {
    "Adjacency": "adjacency",
    "Budget": "budget",
    "BudgetExceeded": "budget",
    "PrivacyLoss": "loss",
    "accept_profile": "accept",
    "falsify_program": "roads.strongly_convex",
    "halting": "composition",
    "parallel": "composition",
    "pure_exponential": "roads.exponential",
    "random_split": "composition",
    "release_by_friends": "roads.friends",
    "release_by_vote": "roads.agreement",
    "release_with_margin": "roads.agreement",
    "subsample": "composition",
    "truncated_exponential": "roads.exponential",
    "verify_sensitivity": "verify",
}

__all__ = [
    "Adjacency",
    "Budget",
    "BudgetExceeded",
    "Guarantee",
    "PrivacyLoss",
    "Release",
    "accept_profile",
    "compose",
    "falsify_program",
    "halting",
    "parallel",
    "pure_exponential",
    "random_split",
    "release_by_friends",
    "release_by_vote",
    "release_with_margin",
    "subsample",
    "truncated_exponential",
    "verify_sensitivity",
]

if TYPE_CHECKING:
    from sosdp.privacy.accept import accept_profile
    from sosdp.privacy.adjacency import Adjacency
    from sosdp.privacy.budget import Budget, BudgetExceeded
    from sosdp.privacy.composition import halting, parallel, random_split, subsample
    from sosdp.privacy.loss import PrivacyLoss
    from sosdp.privacy.roads.agreement import release_by_vote, release_with_margin
    from sosdp.privacy.roads.exponential import pure_exponential, truncated_exponential
    from sosdp.privacy.roads.friends import release_by_friends
    from sosdp.privacy.roads.strongly_convex import falsify_program
    from sosdp.privacy.verify import verify_sensitivity


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
