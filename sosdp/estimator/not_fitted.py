"""What an estimator says when a result is asked for before there is one."""

from __future__ import annotations

import inspect
from importlib import util
from typing import TYPE_CHECKING, Any

from ..model.option_names import did_you_mean


class FitFirst:
    """Mix-in of estimators: an attribute such as `labels_` that `fit` has not set yet says so.

    The names are those that the class and its bases annotate or define, ending in an underscore. What is
    raised is an AttributeError, as everywhere in scikit-learn: `hasattr` stays False before `fit`.
    """

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            promised = _promised(type(self)) if name.endswith("_") and not name.startswith("_") else []
            advice = " yet: call fit first" if name in promised else did_you_mean(name, promised)
            if advice:
                # without the object, so that Python adds no guess of its own: `labels_` is not `labels`
                raise AttributeError(message + advice, name=name)
            raise AttributeError(message)


def _promised(made: type) -> list[str]:
    """Names of the attributes that a fit sets."""
    names = [name for base in made.__mro__ for name in (*inspect.get_annotations(base), *vars(base))]
    return [name for name in dict.fromkeys(names) if name.endswith("_") and not name.startswith("_")]


class NotFitted(ValueError, AttributeError):
    """A result is asked for before `fit`: as scikit-learn's NotFittedError, where that is not installed."""


def check_fitted(estimator: Any, attribute: str) -> None:
    """Raise NotFittedError (scikit-learn's where it is installed) unless `fit` has set the attribute."""
    if attribute in vars(estimator):
        return
    kind: type[Exception] = NotFitted
    if util.find_spec("sklearn") is not None:
        from sosdp.extras import need

        kind = need("sklearn.exceptions", "an estimator").NotFittedError
    raise kind(f"this {type(estimator).__name__} is not fitted yet: call fit first")
