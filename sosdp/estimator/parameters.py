"""The constructor's half of scikit-learn's contract, without importing scikit-learn.

Importing ``sklearn.base`` takes longer than everything else in a private estimator, and an installation may
lack it. What ``clone``, pipelines, searches and cross-validation ask of an estimator are the methods below.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from sosdp.estimator.field import Declared, Field, Fitted, Result
from sosdp.extras import need
from sosdp.model.option_names import did_you_mean
from sosdp.privacy.inputs import plain
from sosdp.show import html_table


@dataclass_transform(field_specifiers=(Field, Fitted))
class Parameters:
    """Base of estimators whose constructor only stores its arguments: one `Field` each (see `field.py`).

    Attributes
    ----------
    _estimator_type
        ``"classifier"``, ``"regressor"``, ``"clusterer"`` or None: what scikit-learn's tags say of the
        estimator.
    _without
        Parameters of the bases that this estimator does not have.
    """

    _estimator_type: ClassVar[str | None] = None
    _without: ClassVar[tuple[str, ...]] = ()
    _declared: ClassVar[dict[str, Declared]] = {}
    _results: ClassVar[dict[str, Result]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        types = inspect.get_annotations(cls)
        own = {
            name: replace(value, annotation=types[name])
            for name, value in vars(cls).items()
            if isinstance(value, Declared)
        }
        results = {name: value for name, value in vars(cls).items() if isinstance(value, Result)}
        for name in (*own, *results):
            delattr(cls, name)  # the values are the instances' own
        inherited = [vars(base).get("_results", {}) for base in reversed(cls.__mro__[1:])]
        cls._results = {name: item for base in (*inherited, results) for name, item in base.items()}
        bases = [vars(base).get("_declared", {}) for base in reversed(cls.__mro__[1:])]
        kept = {name: item for base in bases for name, item in base.items() if name not in cls._without}
        if own or (kept and "__init__" not in vars(cls)):
            cls._declared = {**kept, **own}
            cls.__init__ = _constructor(cls._declared)  # type: ignore[method-assign]
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\n{_table(cls._declared)}"

    def _check_parameters(self) -> None:
        """Keep the parameters as their checks return them: a number of numpy as Python's own of its value.

        ValueError for one out of range; more where parameters depend on each other.
        """
        for name, declared in self._declared.items():
            check = declared.check or _own
            setattr(self, name, check(getattr(self, name), name))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The constructor's parameters, sorted (scikit-learn's name for it)."""
        return sorted(_defaults(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of parameters that are estimators, ``a__b``."""
        result: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                result.update((f"{name}__{inner}", v) for inner, v in value.get_params().items())
            result[name] = value
        return result

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, ``a__b`` for those of a parameter that is an estimator; returns self.

        ValueError for a name that the constructor does not have.
        """
        known = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, inside, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}."
                )
            if inside:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():
            getattr(self, name).set_params(**inner_params)
        return self

    def _changed(self) -> dict[str, str]:
        """Parameters that are not at their defaults, as they are written."""
        defaults = _defaults(type(self))
        given = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        return {name: text for name, text in given.items() if text != repr(defaults[name])}

    def __repr__(self) -> str:
        shown = {
            name: text if len(text) <= 80 else text[:77] + "..." for name, text in self._changed().items()
        }
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in shown.items())})"

    def _repr_html_(self) -> str:
        guarantee = vars(self).get("guarantee_")
        facts: dict[str, object] = dict(self._changed())
        if guarantee is not None:
            facts |= {"released": vars(self).get("released_"), "guarantee": guarantee.statement()}
        return html_table(type(self).__name__, facts)

    def __sklearn_tags__(self) -> Any:
        tags = need("sklearn.utils", "a tag of scikit-learn")
        classifier = tags.ClassifierTags(multi_class=False) if self._estimator_type == "classifier" else None
        regressor = tags.RegressorTags(poor_score=True) if self._estimator_type == "regressor" else None
        return tags.Tags(
            # what is missing has a fixed meaning, and noise is of the operating system
            input_tags=tags.InputTags(sparse=True, allow_nan=True),
            non_deterministic=True,
            estimator_type=self._estimator_type,
            target_tags=tags.TargetTags(required=bool(classifier or regressor)),
            transformer_tags=tags.TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=classifier,
            regressor_tags=regressor,
        )


def _own(value: Any, name: str) -> Any:
    """A scalar of numpy as one of Python's own; everything else as it is."""
    return plain(value) if isinstance(value, np.integer | np.floating | np.bool_) else value


def _constructor(declared: dict[str, Declared]) -> Callable[..., None]:
    """The constructor that stores its arguments; positional ones first, each kind in order of declaration."""
    parameters = [item.parameter(name) for name, item in declared.items()]
    signature = inspect.Signature(sorted(parameters, key=lambda item: item.kind))

    known = list(signature.parameters)

    def _construct(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}, it has {', '.join(known)}"
                    f"{did_you_mean(name, known)}"
                )
        try:
            bound = signature.bind(*args, **given)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    _construct.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()]
    )
    _construct.__name__ = "__init__"
    return _construct


def _table(declared: dict[str, Declared]) -> str:
    """The parameters as numpydoc writes them."""
    lines = ["Parameters", "----------"]
    for name, item in declared.items():
        default = "" if item.default is inspect.Parameter.empty else f", default {item.default!r}"
        lines += [
            f"{name}{default}",
            *textwrap.wrap(item.text, 100, initial_indent="    ", subsequent_indent="    "),
        ]
    return "\n".join(lines)


def _defaults(made: type) -> dict[str, Any]:
    """Default of every constructor parameter; those without one have ``inspect.Parameter.empty``."""
    parameters = list(inspect.signature(made).parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise TypeError(f"the constructor of {made.__name__} must name its parameters")
    return {p.name: p.default for p in parameters}
