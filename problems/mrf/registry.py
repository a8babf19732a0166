"""Every private mechanism of this package with the page that proves it; a test holds the list complete."""

from __future__ import annotations

from sosdp.privacy.registry import Mechanism


def _entry(name: str, module: str, proof: str) -> tuple[str, Mechanism]:
    return name, Mechanism(name, f"problems.mrf.estimators.{module}", f"docs/proofs/{proof}.md")


REGISTRY = dict(
    (
        _entry("ChowLiuTree", "tree", "mrf_structure"),
        _entry("CorrelationGraph", "correlation_graph", "mrf_structure"),
        _entry("FrankWolfeIsing", "frank_wolfe", "mrf_frank_wolfe"),
        _entry("FrankWolfePairwise", "frank_wolfe_pairwise", "mrf_frank_wolfe"),
        _entry("GradientIsing", "gradient", "mrf_moments"),
        _entry("MomentsIsing", "moments", "mrf_moments"),
        _entry("FrankWolfeTWise", "t_wise", "mrf_parities"),
        _entry("PrivateSparseLogistic", "sparse_logistic", "mrf_frank_wolfe"),
        _entry("VotedStructure", "voted_structure", "mrf_structure"),
    )
)
