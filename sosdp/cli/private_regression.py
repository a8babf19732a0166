"""`sosdp private regression` and `sosdp private pca`: coefficients and components of a raw table."""

from __future__ import annotations

import csv
from argparse import Namespace
from typing import Any

import numpy as np

from sosdp.cli.output import Fields, InputError, fitting, promise_fields, publish
from sosdp.cli.private_gaussian import CONTAMINATION, flagged
from sosdp.cli.private_tables import public_facts
from sosdp.cli.tables import given_table
from sosdp.privacy.files import Table
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release


def run(arguments: Namespace) -> int:
    """Fit the estimator on the table and print its release; exit 0 also when the release is a refusal."""
    regression = arguments.name == "regression"
    if regression and arguments.target is None:
        raise InputError("sosdp private regression: --target is needed: the column to be explained")
    if regression and arguments.columns is not None:
        if arguments.target not in next(csv.reader([arguments.columns])):
            arguments.columns += f",{_quoted(arguments.target)}"
    table = given_table(arguments)
    model = _regression(arguments, table) if regression else _components(arguments, table)
    with fitting(arguments):
        release, value = _fitted(model, table, arguments)
    shown = release.resting_on(table.assumptions).to_dict() | {"value": value}
    shown["public"] |= public_facts(table)
    return publish(arguments, shown, lambda: _fields(shown))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _options(arguments: Namespace) -> dict[str, Any]:
    given = arguments.contamination
    return {
        "delta": arguments.delta or 0.0,
        "contamination": CONTAMINATION if given is None else given,
        "insecure_seed": arguments.insecure_seed,
    }


def _place(table: Table, target: str) -> int:
    """Index of the target among the named columns; InputError for another name."""
    if table.names is None or table.names.count(target) != 1:
        held = "the columns have no names" if table.names is None else f"there are: {', '.join(table.names)}"
        raise InputError(f"sosdp private regression: --target: {target}: no such column; {held}")
    if len(table.names) < 2:
        raise InputError("sosdp private regression: --columns: no column is left to explain the target")
    return table.names.index(target)


def _regression(arguments: Namespace, table: Table) -> Any:
    from problems.gaussian import PrivateLinearRegression

    place = _place(table, arguments.target)
    tight = np.broadcast_to(flagged(arguments, "tight", table.names), (table.values.shape[1],))
    d = table.values.shape[1]
    pairs: list[Any] = [None] * d if table.bounds is None else list(table.bounds)
    return PrivateLinearRegression(
        arguments.epsilon,
        bounds=[pair for j, pair in enumerate(pairs) if j != place] if table.bounds else None,
        y_bounds=pairs[place],
        tight=np.delete(tight, place),
        y_tight=bool(tight[place]),
        ridge=arguments.ridge or 0.0,
        **_options(arguments),
    )


def _components(arguments: Namespace, table: Table) -> Any:
    from problems.gaussian import PrivatePCA

    if arguments.components is None:
        raise InputError("sosdp private pca: --components is needed: their number")
    return PrivatePCA(
        arguments.epsilon, n_components=arguments.components, bounds=table.bounds, **_options(arguments)
    )


def _fitted(model: Any, table: Table, arguments: Namespace) -> tuple[Release, dict[str, Any]]:
    """The release and its value; a refusal, which rests on public numbers, has none."""
    from problems.gaussian import NotOffered

    refusal = ""
    try:
        if arguments.name == "regression":
            place = _place(table, arguments.target)
            model.fit(np.delete(table.values, place, axis=1), table.values[:, place])
        else:
            model.fit(table.values)
    except NotOffered as error:
        refusal = str(error)
    main = "coefficients" if arguments.name == "regression" else "components"
    if refusal:
        public = {"advice": refusal, "contamination": float(model.contamination)}
        untouched = Guarantee(epsilon=0.0, delta=0.0, mechanism="gaussian.refused")
        return Release(None, untouched, public=public), {main: None, "released": False}
    made = _coefficients if arguments.name == "regression" else _axes
    return model.release_, {**made(model, table, arguments), "released": True}


def _coefficients(model: Any, table: Table, arguments: Namespace) -> dict[str, Any]:
    names = [name for name in table.names or () if name != arguments.target]
    ends = [None if np.isnan(pair).any() else pair.tolist() for pair in model.interval_]
    return {
        "coefficients": dict(zip(names, model.coef_.tolist(), strict=True)),
        "intercept": model.intercept_,
        "interval": dict(zip(names, ends, strict=True)),
        "r2": model.r2_,
        "residual_deviation": model.sigma_,
        "left_out": [name for name, out in zip(names, model.left_out_, strict=True) if out],
        "unseen": [name for name, seen in zip(names, model.seen_, strict=True) if not seen],
    }


def _axes(model: Any, table: Table, arguments: Namespace) -> dict[str, Any]:
    return {
        "components": model.components_.tolist(),
        "explained_variance": model.explained_variance_.tolist(),
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "angle": model.angle_.tolist(),
        "told_apart": model.told_apart_.tolist(),
        "mean": model.mean_.tolist(),
    }


def _fields(release: dict[str, Any]) -> Fields:
    value, fields = release["value"], dict(promise_fields(release))
    fields["records"] = f"{release['public']['n']} of {release['public']['dimension']} coordinates (public)"
    if not value["released"]:
        fields["released"] = (
            "nothing: public facts say that it would be declined, so the records were not read"
        )
        return fields | {"advice": release["public"].get("advice")}
    if "coefficients" in value:
        lines = []
        for name, coefficient in value["coefficients"].items():
            pair = value["interval"][name]
            ends = "no interval" if pair is None else f"[{pair[0]:.6g}, {pair[1]:.6g}]"
            lines.append(f"{name} {coefficient:.6g} {ends}")
        fields |= {"coefficients": "\n".join(lines), "intercept": f"{value['intercept']:.6g}"}
        fields |= {"r2": f"{value['r2']:.4g}", "residual": f"{value['residual_deviation']:.6g}"}
        return fields | {name: ", ".join(value[name]) for name in ("left_out", "unseen") if value[name]}
    names = release["public"].get("columns")
    if names is not None:
        fields["columns"] = " ".join(names)
    rows = zip(
        *(value[name] for name in ("components", "explained_variance", "angle", "told_apart")), strict=True
    )
    fields["components"] = "\n".join(
        " ".join(f"{x:.4g}" for x in row)
        + f"  variance {size:.4g}  angle {angle:.2g}"
        + ("" if apart else "  not separated from its neighbours")
        for row, size, angle, apart in rows
    )
    return fields
