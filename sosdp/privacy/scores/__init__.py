"""Concrete scores with proven sensitivity 1: location, depth, regression, and lifted programs."""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "coordinate_max": "location",
    "directional": "location",
    "integer_directions": "location",
    "l_statistic": "location",
    "mean_weights": "location",
    "median_weights": "location",
    "quantile_weights": "location",
    "trimmed_weights": "location",
    "TukeyDepth": "depth",
    "RegressionDepth": "depth",
    "BracketScore": "lifted",
}
__all__ = [
    "BracketScore",
    "RegressionDepth",
    "TukeyDepth",
    "coordinate_max",
    "directional",
    "integer_directions",
    "l_statistic",
    "mean_weights",
    "median_weights",
    "quantile_weights",
    "trimmed_weights",
]

if TYPE_CHECKING:
    from .depth import RegressionDepth, TukeyDepth
    from .lifted import BracketScore
    from .location import (
        coordinate_max,
        directional,
        integer_directions,
        l_statistic,
        mean_weights,
        median_weights,
        quantile_weights,
        trimmed_weights,
    )


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
