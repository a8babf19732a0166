"""Sensitivities proven, refuted or undecided by the engine, and private estimators made of programs."""

from sosdp.lazy import lazily

_MODULES = (
    "consensus",
    "convex",
    "counterexamples",
    "domain",
    "family",
    "fits",
    "identities",
    "means",
    "packing",
    "packing_problem",
    "packing_sampler",
    "packing_score",
    "pieces",
    "release",
    "report",
    "stability",
    "statistic",
    "tracing",
)
__all__: list[str] = []
__getattr__, __dir__ = lazily(__name__, {}, _MODULES)
