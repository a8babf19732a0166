"""What all private estimators share: scikit-learn's contract, silence, releases that become attributes."""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.not_fitted import FitFirst
from sosdp.estimator.parameters import Parameters
from sosdp.estimator.planner import Forecasts, Outlook, outlook
from sosdp.estimator.records import as_records, column_names
from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import large_delta
from sosdp.privacy.guarantee.condition import Condition
from sosdp.privacy.guarantee.guarantee import ONE_RECORD_REPLACED, Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.rows import counted_width
from sosdp.privacy.silence import no_warnings
from sosdp.privacy.terms import Terms
from sosdp.progress import announced, shown

# What a numerical routine may throw at bad luck; anything else is a bug and should be seen. How much memory
# it takes depends on which solver the data ask for, so running out of it must not be seen either.
NUMERICAL_FAILURES = (ArithmeticError, ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError)


ON_TERMS = ("epsilon", "delta", "rho", "calibration", "insecure_seed")
"""Parameters of estimators that are terms of their releases."""

OUTSIDE = (
    "the pipeline fitted {steps} to the records before this estimator: what they learnt is outside its "
    "guarantee (use sosdp.estimator.scaler.PrivateScaler, or scale by public numbers)"
)

UNSEEN = Condition(
    "condition: the steps before this one have guarantees, and what these rest on holds (a thread or process "
    "of its own does not see them: fit with n_jobs=None)"
)


class FittedBefore(UserWarning):
    """A step of a pipeline was fitted to the private records without a guarantee."""


class ReleasingEstimator(FitFirst, Parameters, ABC):
    """Base of the estimators: `fit(data)` runs one mechanism and keeps only what it released.

    A subclass declares its parameters (`field.py`) and says how data are read (`_read`), what the
    mechanism is (`_release`), and which further attributes a released value gives (`_unpack`). The base runs
    them in this order, in silence; each call of `fit` spends the whole budget again.

    Attributes after fit, all publishable:
        released_: whether there is an answer (False: the mechanism released only that it declines).
        guarantee_: the `Guarantee`; a function of public facts only.
        release_: the `Release` (JSON form: `release_.to_dict()`), with private diagnostics kept apart.
    """

    insecure_seed: int | None = Field(
        None, "for tests and figures: predictable noise, no guarantee", default=None, kw_only=True
    )

    released_: bool = Fitted()
    guarantee_: Guarantee = Fitted()
    release_: Release = Fitted()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the mechanism once on private data; y is ignored (scikit-learn's signature).

        Raises:
            ValueError, TypeError: parameters out of range, or data of the wrong public form; never because
                of what a record holds. What was fitted before then stands as it was, with its guarantee.
        """
        self._check_parameters()
        if large := large_delta(float(getattr(self, "delta", None) or 0.0)):
            warnings.warn(large, stacklevel=2)
        given = conditions_before(self)
        before = dict(vars(self))
        try:
            with announced(f"{type(self).__name__}: fit"), no_warnings():  # private data are computed on
                release = self._release(self._read(X)).resting_on((*given, *self._rests(X)))
            self.release_ = release
            self.guarantee_ = release.guarantee
            self.released_ = release.released
            self._unpack(release.value)
        except BaseException:  # interrupted, too
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    @property
    def advice_(self) -> str:
        """What to try or to change, from released and public facts alone; "" where nothing is to be said."""
        return str(self.release_.public.get("advice", ""))

    _forecasts: ClassVar[Forecasts]
    """What `_expected` is about."""

    def outlook(self, n: int, *sizes: Any, **facts: Any) -> Outlook:
        """What to expect of `fit` on n records or vertices: its error, the least n and the least budget at
        which it answers, and a simpler statistic that would work now. Nothing is read or spent.

        Args:
            n: public. sizes: what `plan` takes after n; of a table d, the number of columns (1). facts:
                further public numbers, by name: `d`; `average_degree` and `gamma` of a graph where the
                estimator has no such parameters; and what the estimator's page names.

        Raises:
            ValueError: numbers out of range.
        """
        self._check_parameters()
        name = "epsilon" if getattr(self, "epsilon", None) is not None else "rho"
        given = float(getattr(self, name))

        def forecast(records: int, factor: float) -> float:
            other = type(self)(**{**self.get_params(deep=False), name: given * factor})
            return other._expected(records, *sizes, **facts)

        with shown(f"{type(self).__name__}: outlook"):
            return outlook(self._forecasts, forecast, integer(n, "n"), given)

    def _expected(self, n: int, *args: Any, **facts: Any) -> float:
        """Expected error from public numbers; infinite where nothing would be released."""
        raise TypeError(f"{type(self).__name__} has no forecast")

    _adjacency: ClassVar[str] = ONE_RECORD_REPLACED

    def _terms(self, data: Any, mechanism: str = "", *assumptions: str, **changes: Any) -> Terms:
        """The terms of a fit: what the reading of the data rests on, and the parameters that terms know."""
        said = {name: getattr(self, name) for name in ON_TERMS if hasattr(self, name)}
        said |= {"delta": said.get("delta") or None, "adjacency": self._adjacency, **changes}
        rests = (*getattr(data, "assumptions", ()), *assumptions)
        return Terms(mechanism=mechanism, assumptions=rests, **said)

    @abstractmethod
    def _read(self, X: Any) -> Any:
        """The data on the one path on which they become numbers; raises for their public form only."""

    def _rests(self, X: Any) -> tuple[str, ...]:
        """What the reading of data of this type rested on; nothing by default."""
        return ()

    @abstractmethod
    def _release(self, data: Any) -> Release:
        """The mechanism."""

    def _unpack(self, value: Any) -> None:
        """Set the attributes that the parts of a released value give (`field.Fitted`)."""
        for name, result in self._results.items():
            part = name[:-1] if result.part == "" else result.part
            if part in value:
                given = value[part]
                setattr(self, name, given if given is None or result.make is None else result.make(given))


class RecordEstimator(ReleasingEstimator):
    """Base of the estimators of (n, d) tables: n and d are public, one record replaced makes a neighbour.

    A record that holds anything but finite numbers below 2^40 counts as zero, whatever it is. Frames with
    columns of texts or dates are refused by name. Further attributes after fit: n_features_in_, d;
    feature_names_in_, (d,) texts, after a data frame with named columns.
    """

    n_features_in_: int = Fitted()
    feature_names_in_: npt.NDArray[np.object_] = Fitted()

    least_records = 1
    """Fewer records than this are refused (their number is public)."""

    def _read(self, X: Any) -> np.ndarray:
        """Checked records, (n, d) float64; ValueError for another shape, never because of an entry."""
        records = self._records(X)
        if records.shape[0] < self.least_records:
            raise ValueError(
                f"X must have shape (n, d) with n >= {self.least_records} and d >= 1, got {records.shape}, "
                f"n_samples = {records.shape[0]}"
            )
        self.n_features_in_ = records.shape[1]
        vars(self).pop("feature_names_in_", None)  # of an earlier fit
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        return records

    def _records(self, X: Any) -> np.ndarray:
        return as_records(X)

    def _rests(self, X: Any) -> tuple[str, ...]:
        return counted_width(X, self.n_features_in_)


# ------------------------------------------------------------------------------------------------------------
# Pipelines of scikit-learn


def conditions_before(step: Any) -> list[Condition]:
    """What a step of a pipeline rests on before it looks at a record: the conditions of the steps before it;
    of those that were fitted without a guarantee it warns."""
    before, unseen = earlier(step)
    promises = [(name, other.guarantee_) for name, other in before if hasattr(other, "guarantee_")]
    void = [name for name, promise in promises if promise.kind == "none"]  # noise with a seed
    outside = [*void, *(name for name, other in before if _learns(other))]
    if outside:
        warnings.warn(OUTSIDE.format(steps=", ".join(outside)), FittedBefore, stacklevel=3)
    return [*unseen, *(sentence for _, promise in promises for sentence in promise.conditions)]


def earlier(step: Any) -> tuple[list[tuple[str, Any]], list[Condition]]:
    """The steps before this one, with their names, of the pipelines that are being fitted, that of a target
    among them, and a condition where more of them may be out of sight.

    Pipelines are found on the call stack, as the functions of `sklearn.pipeline` that called `fit`: a step
    is not told by scikit-learn what stands before it. Which of their steps is being fitted is the one that
    is on the stack, too. The stack of a task that joblib runs in a thread or process of its own ends there.
    Data that were transformed before they are handed over are not recognised. Depends on the steps alone.
    """
    result: list[tuple[str, Any]] = []
    frame, inside, unseen = sys._getframe(1), {id(step)}, False
    while frame is not None:
        owner: Any = frame.f_locals.get("self")
        module = frame.f_globals.get("__name__")
        if module == "sklearn.utils.parallel":
            unseen = not hasattr(owner, "n_jobs")  # a task, until who gave it out is on the stack, too
        if module == "sklearn.pipeline" and hasattr(owner, "steps") and id(owner) not in inside:
            here = inside.union(map(id, frame.f_locals.values()))  # with a memory, copies are fitted
            fitted = [k for k, (_, one) in enumerate(owner.steps) if id(one) in here and hasattr(one, "fit")]
            result = [*_opened(owner.steps[: fitted[-1] if fitted else -1]), *result]
        if module == "sklearn.compose._target" and id(owner) not in inside:  # of what was made of the target
            result = [("transformer", vars(owner).get("transformer_")), *result]
        inside.add(id(owner))
        frame = frame.f_back  # type: ignore[assignment]
    return result, [UNSEEN] if unseen else []


def _opened(steps: Iterable[Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """Steps with their names, those of pipelines and unions one by one."""
    for name, step, *_ in steps:
        parts = [p for kind in _PARTS if isinstance(p := getattr(step, kind, None), list)]
        yield from _opened(parts[0]) if parts else [(name, step)]


_PARTS = ("steps", "transformer_list", "transformers_")  # of pipelines, unions, columns


def _learns(step: Any) -> bool:
    """Whether a step is fitted to records, and without a guarantee; `FunctionTransformer` is not."""
    bases = type(step).__mro__
    private = any("guarantee_" in {**vars(base), **vars(base).get("__annotations__", {})} for base in bases)
    if step is None or isinstance(step, str) or private:  # "passthrough", "drop"
        return False
    tags = getattr(step, "__sklearn_tags__", None)
    return bool(getattr(tags(), "requires_fit", True)) if callable(tags) else True
