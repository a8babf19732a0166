"""Sensitivities proven, refuted or undecided by the engine, and private estimators made of programs."""

from sosdp.lazy import lazily

_MODULES = (
    "consensus",
    "convex",
    "counterexamples",
    "domain",
    "falsify",
    "family",
    "fits",
    "identities",
    "means",
    "minimiser",
    "packing",
    "packing_cuts",
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
