"""`sosdp private gaussian`: means, covariances and whole Gaussians of a raw table."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

import numpy as np

from sosdp.cli.output import InputError
from sosdp.privacy.files import Table
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release

ESTIMATES = ("mean", "covariance", "gaussian")
CONTAMINATION = 0.05  # unless told otherwise; the release says so
UNUSED = ("sigma", "covariance_range")  # accepted for scripts: scales are learnt


def estimator(arguments: Namespace, table: Table) -> Any:
    """The estimator that the options ask for, of this table's public names and bounds; InputError for options
    out of range."""
    from problems import gaussian

    what = arguments.estimate
    if what not in ESTIMATES:
        raise InputError(f"sosdp private gaussian: --estimate: {what!r} is not one of {', '.join(ESTIMATES)}")
    for name in UNUSED:
        value = getattr(arguments, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(
                f"sosdp private gaussian: --{name.replace('_', '-')}: must be a number > 0, got {value!r}"
            )
    options: dict[str, Any] = {
        "delta": arguments.delta or 0.0,
        "bounds": _bounds(arguments) or table.bounds,
        "contamination": CONTAMINATION if arguments.contamination is None else arguments.contamination,
        "insecure_seed": arguments.insecure_seed,
    }
    if what == "mean":
        options |= {"tight": flagged(arguments, "tight", table.names)}
        options |= {"log": flagged(arguments, "log", table.names)}
        method = arguments.method or "auto"
        return gaussian.PrivateMean(arguments.epsilon, method=method, **options)
    for name in ("method", "tight", "log"):
        if getattr(arguments, name) is not None:
            raise InputError(f"sosdp private gaussian: --{name}: only --estimate mean has it")
    if what == "covariance":
        return gaussian.PrivateCovariance(arguments.epsilon, **options)
    return gaussian.PrivateGaussian(arguments.epsilon, **options)


def flagged(arguments: Namespace, option: str, names: list[str] | None) -> Any:
    """The columns that an option names, (d,) bool, or True for 'all'; InputError for other names."""
    given = getattr(arguments, option)
    if given is None or given == "all":
        return given is not None
    if names is None:
        raise InputError(
            f"sosdp private {arguments.name}: --{option}: only a text table with --header, and Parquet, name "
            f"their columns; --{option} all means every one"
        )
    wanted = [name.strip() for name in given.split(",")]
    for name in wanted:
        if names.count(name) != 1:
            reason = "several columns have this name" if name in names else "no such column"
            raise InputError(
                f"sosdp private {arguments.name}: --{option}: {name}: {reason}; there are: {', '.join(names)}"
            )
    return [name in wanted for name in names]


def _bounds(arguments: Namespace) -> Any:
    radius, given = arguments.radius, arguments.bounds
    if radius is not None and given is not None:
        raise InputError("sosdp private gaussian: --bounds: give --bounds or --radius, not both")
    if radius is not None:
        if not (math.isfinite(radius) and radius > 0):
            raise InputError(f"sosdp private gaussian: --radius: must be a number > 0, got {radius!r}")
        return (-radius, radius)
    if given is None:
        return None
    pairs = []
    for text in given.split(","):
        low, colon, high = text.partition(":")
        try:
            pairs.append((float(low), float(high)))
        except ValueError:
            raise InputError(
                f"sosdp private gaussian: --bounds: {text!r} is not LOW:HIGH (one for all columns, or one a "
                "column, separated by commas)"
            ) from None
    return pairs[0] if len(pairs) == 1 else pairs


def fit(model: Any, table: np.ndarray, what: str) -> tuple[Release, dict[str, Any]]:
    """The release and its value as a JSON object; a refusal, which rests on public numbers, has no value."""
    from problems.gaussian import NotOffered

    names = {"mean": ("mean",), "covariance": ("covariance",)}.get(what, ("mean", "covariance"))
    refusal = ""
    try:
        model.fit(table)
    except NotOffered as error:
        refusal = str(error)
    if refusal:
        public = {"advice": refusal, "contamination": float(model.contamination)}
        untouched = Guarantee(epsilon=0.0, delta=0.0, mechanism="gaussian.refused")
        return Release(None, untouched, public=public), {**dict.fromkeys(names), "released": False}
    value = {name: np.asarray(getattr(model, f"{name}_")).tolist() for name in names}
    interval = getattr(model, "interval_", None) if what == "mean" else None
    if interval is not None:
        value["interval"] = [None if np.isnan(pair).any() else pair.tolist() for pair in interval]
    if what != "mean":
        value |= {"error": model.error_, "condition": model.condition_, "within_plan": model.within_plan_}
    value["released"] = True
    result = {
        "at_bounds": _reached(model, model.mean_, interval) if what == "mean" else [],
        "mostly_one_value": np.flatnonzero(model.degenerate_).tolist(),
        "skewed": np.flatnonzero(getattr(model, "skewed_", [])).tolist(),
    }
    return model.release_, value | {name: columns for name, columns in result.items() if columns}


def _reached(model: Any, mean: np.ndarray, interval: np.ndarray | None) -> list[int]:
    """Columns whose interval ends at a bound that is not meant literally, or that have none and a mean within
    a hundredth of the width from one: perhaps the records lie beyond.

    Post-processing of released numbers, (d,) and (d, 2), and public bounds.
    """
    stated = model.release_.public.get("bounds")
    if stated is None:
        return []
    logarithms = np.array(["logarithms" in word for word in model.estimates_], dtype=bool)
    bounds = np.asarray(stated, dtype=np.float64)
    low, high = np.where(logarithms[:, None], np.exp(np.clip(bounds, -700.0, 700.0)), bounds).T
    ends = np.full((len(low), 2), np.nan) if interval is None else interval
    room = np.where(np.isfinite(high - low), 0.01 * (high - low), 0.0)
    near = np.isnan(ends).any(axis=1) & ((mean <= low + room) | (mean >= high - room))
    result = near | (ends[:, 0] <= low) | (ends[:, 1] >= high)
    return np.flatnonzero(result & ~np.asarray(model.release_.public["tight"], dtype=bool)).tolist()
