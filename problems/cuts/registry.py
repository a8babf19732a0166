"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.cuts.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("CutRelease", "estimators.cut_release", "cuts_error_bar"),
        _entry("OfflineRelease", "estimators.offline_release", "cuts_offline"),
        _entry("QueryRelease", "estimators.query_release", "cuts_online"),
    )
)
