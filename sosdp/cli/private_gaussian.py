"""`sosdp private` of raw tables (gaussian, regressions, pca): what the shell adds to their estimators."""

from __future__ import annotations

import csv
import math
from argparse import Namespace
from typing import Any

import numpy as np

from sosdp.cli.output import InputError
from sosdp.cli.tables import TARGETED, given_schema
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.schema import Column, texts_at
from sosdp.privacy.table.whole import Table

CONTAMINATION = 0.05  # unless told otherwise; the release says so
POSITIVE = ("radius", "sigma", "covariance_range")  # the last two for scripts only: scales are learnt


def prepare(arguments: Namespace) -> None:
    """Before the table is read: InputError for options out of range, and the target among the columns."""
    if arguments.name in TARGETED:
        if arguments.target is None:
            raise InputError(
                f"sosdp private {arguments.name}: --target is needed: the column to be explained"
            )
        if arguments.columns is not None and arguments.target not in next(csv.reader([arguments.columns])):
            quoted = arguments.target.replace('"', '""')
            arguments.columns += f',"{quoted}"'
    for name in POSITIVE:
        value = getattr(arguments, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(
                f"sosdp private gaussian: --{name.replace('_', '-')}: must be a number > 0, got {value!r}"
            )


def facts(arguments: Namespace, table: Table) -> dict[str, Any]:
    """Parameters that follow from the options and from public names and bounds of the table; InputError for
    options out of range."""
    given = arguments.contamination
    result: dict[str, Any] = {"contamination": CONTAMINATION if given is None else given}
    result["bounds"] = bounds(arguments) or table.bounds
    if arguments.name not in TARGETED:
        flags = ("tight", "log") if arguments.estimate == "mean" else ("tight",)
        return result | {name: flagged(arguments, name, table.names) for name in flags}
    place = _place(table, arguments)
    d = table.values.shape[1]
    literal = np.array(table.literal or [False] * d)
    tight = np.broadcast_to(flagged(arguments, "tight", table.names), (d,)) | literal
    pairs: list[Any] = [None] * d if table.bounds is None else list(table.bounds)
    others = [pair for j, pair in enumerate(pairs) if j != place] if table.bounds else None
    result |= {"bounds": others, "tight": np.delete(tight, place), "schema": None}  # the table was read by it
    if arguments.name == "regression":
        result |= {"y_bounds": pairs[place], "y_tight": bool(tight[place])}
    if arguments.name == "logistic":
        column = given_schema(arguments.schema).column(arguments.target) if arguments.schema else None
        result["classes"] = _classes(arguments.classes, column)
    return result


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


def bounds(arguments: Namespace) -> Any:
    """The public bounds that the options state, a pair or a list of pairs; None where they state none."""
    radius, given = arguments.radius, arguments.bounds
    if radius is not None and given is not None:
        raise InputError("sosdp private gaussian: --bounds: give --bounds or --radius, not both")
    if radius is not None:
        return (-radius, radius)
    if given is None:
        return None
    try:
        pairs = [(float(low), float(high)) for low, high in (text.split(":") for text in given.split(","))]
    except ValueError:
        raise InputError(
            f"sosdp private {arguments.name}: --bounds: {given!r} is not LOW:HIGH (one for all columns, or "
            "one a column, separated by commas)"
        ) from None
    return pairs[0] if len(pairs) == 1 else pairs


def _classes(given: str | None, column: Column | None) -> Any:
    """The two labels, numbers or categories of the target; None where neither the option nor a schema says
    which. InputError for others."""
    categories = () if column is None else column.values
    kind = f"two of {', '.join(categories)}" if categories else "two different numbers"
    if given is None:
        if column is not None and column.labels is None:
            raise InputError(f"sosdp private logistic: --classes: which {kind}? the schema does not say")
        return None if column is None else column.labels
    pair: list[Any] = [text.strip() for text in next(csv.reader([given]))]
    if not categories:
        try:
            pair = [float(text) for text in pair]
        except ValueError:
            pair = []
    known = all(one in categories if categories else math.isfinite(one) for one in pair)
    if len(pair) != 2 or not known or pair[0] == pair[1]:
        raise InputError(f"sosdp private logistic: --classes: {given!r} is not A,B: {kind}")
    return pair


def _place(table: Table, arguments: Namespace) -> int:
    """Index of the target among the named columns; InputError for another name."""
    name, target = arguments.name, arguments.target
    if table.names is None or table.names.count(target) != 1:
        held = "the columns have no names" if table.names is None else f"there are: {', '.join(table.names)}"
        raise InputError(f"sosdp private {name}: --target: {target}: no such column; {held}")
    if len(table.names) < 2:
        raise InputError(f"sosdp private {name}: --columns: no column is left to explain the target")
    return table.names.index(target)


def fit(model: Any, table: Table, arguments: Namespace) -> tuple[Release, dict[str, Any]]:
    """The release and its value; a refusal, which rests on public numbers, has none."""
    from problems.gaussian import NotOffered

    what = arguments.estimate or arguments.name
    parts = {"pca": ["components"], "gaussian": ["mean", "covariance"]}
    parts |= dict.fromkeys(TARGETED, ["coefficients"])
    names = parts.get(what, [what])
    try:
        if what in TARGETED:
            place = _place(table, arguments)
            target: Any = table.values[:, place]
            if table.categories and (texts := table.categories[place]):
                target = texts_at(target, texts)
            model.fit(np.delete(table.values, place, axis=1), target)
        else:
            model.fit(table.values)
    except NotOffered as refusal:
        public = {"advice": str(refusal), "contamination": float(model.contamination)}
        untouched = Guarantee(epsilon=0.0, delta=0.0, mechanism="gaussian.refused")
        return Release(None, untouched, public=public), {**dict.fromkeys(names), "released": False}
    if what in TARGETED:
        return model.release_, {**_coefficients(model, table, arguments), "released": True}
    if what == "pca":
        return model.release_, {**_axes(model), "released": True}
    return model.release_, _moments(model, names)


def _moments(model: Any, names: list[str]) -> dict[str, Any]:
    alone = names == ["mean"]
    value = {name: np.asarray(getattr(model, f"{name}_")).tolist() for name in names}
    interval = getattr(model, "interval_", None) if alone else None
    if interval is not None:
        value["interval"] = [None if np.isnan(pair).any() else pair.tolist() for pair in interval]
    if not alone:
        value |= {"error": model.error_, "condition": model.condition_, "within_plan": model.within_plan_}
    if model.clipped_share_ is not None:
        value["clipped_share"] = np.asarray(model.clipped_share_).tolist()
    value["released"] = True
    result = {
        "at_bounds": _reached(model, model.mean_, interval) if alone else [],
        "mostly_one_value": np.flatnonzero(model.degenerate_).tolist(),
        "skewed": np.flatnonzero(getattr(model, "skewed_", [])).tolist(),
    }
    return value | {name: columns for name, columns in result.items() if columns}


def _coefficients(model: Any, table: Table, arguments: Namespace) -> dict[str, Any]:
    names = [name for name in table.names or () if name != arguments.target]
    ends = [None if np.isnan(pair).any() else pair.tolist() for pair in model.interval_]
    explained = {"r2": "r2_", "residual_deviation": "sigma_"} if arguments.name == "regression" else {}
    return {
        "coefficients": dict(zip(names, np.ravel(model.coef_).tolist(), strict=True)),
        "intercept": float(np.ravel(model.intercept_)[0]),
        "interval": dict(zip(names, ends, strict=True)),
        **{part: getattr(model, attribute) for part, attribute in explained.items()},
        "left_out": [name for name, out in zip(names, model.left_out_, strict=True) if out],
        "unseen": [name for name, seen in zip(names, model.seen_, strict=True) if not seen],
    }


def _axes(model: Any) -> dict[str, Any]:
    return {
        "components": model.components_.tolist(),
        "explained_variance": model.explained_variance_.tolist(),
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "angle": model.angle_.tolist(),
        "told_apart": model.told_apart_.tolist(),
        "mean": model.mean_.tolist(),
    }


def _reached(model: Any, mean: np.ndarray, interval: np.ndarray | None) -> list[int]:
    """Columns whose interval ends at a bound that is not meant literally, or that have none and a mean within
    a hundredth of the width from one: perhaps the records lie beyond.

    Post-processing of released numbers, (d,) and (d, 2), and public bounds.
    """
    statement = model.release_.public.get("bounds")
    if statement is None:
        return []
    logarithms = np.array(["logarithms" in word for word in model.estimates_], dtype=bool)
    bounds = np.asarray(statement, dtype=np.float64)
    low, high = np.where(logarithms[:, None], np.exp(np.clip(bounds, -700.0, 700.0)), bounds).T
    ends = np.full((len(low), 2), np.nan) if interval is None else interval
    room = np.where(np.isfinite(high - low), 0.01 * (high - low), 0.0)
    near = np.isnan(ends).any(axis=1) & ((mean <= low + room) | (mean >= high - room))
    result = near | (ends[:, 0] <= low) | (ends[:, 1] >= high)
    return np.flatnonzero(result & ~np.asarray(model.release_.public["tight"], dtype=bool)).tolist()
