"""Which steps of a scikit-learn pipeline learnt from the records before a private estimator saw them."""

from __future__ import annotations

import sys
from typing import Any


def outside() -> list[str]:
    """Names of the earlier steps of the pipeline that is being fitted which hold no guarantee of their own.

    The pipeline is found on the call stack, as the function of `sklearn.pipeline` that called `fit`: a step
    is not told by scikit-learn what stands before it. Steps without a fit (`FunctionTransformer`) are left
    out, and those that were fitted under a guarantee (`guarantee_`). Data that were transformed before they
    are handed over are not recognised. Depends on the steps alone.
    """
    frame = sys._getframe(1)
    while frame is not None:
        pipeline: Any = frame.f_locals.get("self")
        if frame.f_globals.get("__name__") == "sklearn.pipeline" and hasattr(pipeline, "steps"):
            return [name for name, step in pipeline.steps[:-1] if _learns(step)]
        frame = frame.f_back  # type: ignore[assignment]
    return []


def _learns(step: Any) -> bool:
    """Whether a step is fitted to records, and without a guarantee."""
    if step is None or step == "passthrough" or hasattr(type(step), "guarantee_") or _is_private(step):
        return False
    tags = getattr(step, "__sklearn_tags__", None)
    return bool(getattr(tags(), "requires_fit", True)) if callable(tags) else True


def _is_private(step: Any) -> bool:
    return "guarantee_" in {
        name for base in type(step).__mro__ for name in vars(base).get("__annotations__", {})
    }
