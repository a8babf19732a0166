"""Every mechanism, one a file; those that need no program (counts, choices, averages) in `basic`.

Each is listed, with the page that proves it, in `sosdp.privacy.registry.REGISTRY`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sosdp.privacy.registry import REGISTRY

if TYPE_CHECKING:
    from sosdp.privacy.mechanisms.basic.average import bounded_average
    from sosdp.privacy.mechanisms.basic.columns import private_count, private_mean, private_sum
    from sosdp.privacy.mechanisms.basic.histogram import private_histogram
    from sosdp.privacy.mechanisms.basic.interior_point import interior_point
    from sosdp.privacy.mechanisms.basic.multiplicative_weights import multiplicative_weights
    from sosdp.privacy.mechanisms.basic.noisy_max import report_noisy_max
    from sosdp.privacy.mechanisms.basic.quantile import private_quantile
    from sosdp.privacy.mechanisms.basic.sparse_vector import SparseVector, above_threshold

__all__ = [
    "SparseVector",
    "above_threshold",
    "bounded_average",
    "interior_point",
    "multiplicative_weights",
    "private_count",
    "private_histogram",
    "private_mean",
    "private_quantile",
    "private_sum",
    "report_noisy_max",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return REGISTRY[name].load()
