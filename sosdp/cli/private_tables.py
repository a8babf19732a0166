"""`sosdp private gaussian`, `gmm` and `tuples`: releases about the records of a table."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from sosdp.cli import private_gaussian
from sosdp.cli.output import (
    ANSWERED,
    InputError,
    one_line,
    print_fields,
    print_json,
    promise_fields,
    quiet_stdout,
)
from sosdp.cli.tables import TableFileError, named, read_named_table

MIXTURE = (("clusters", "delta"), ("separation", "sigma", "least_weight", "elongation"))
TUPLES = (("clusters", "delta"), ("separation", "sigma", "least_weight"))


def run(arguments: Namespace) -> int:
    """Fit the estimator on the table and print its release; exit 0 also when the release is a refusal."""
    gaussian = arguments.name == "gaussian"
    if gaussian:
        arguments.estimate = arguments.estimate or "gaussian"
    if not gaussian:
        estimator = {"gmm": _mixture, "tuples": _tuples}[arguments.name](arguments)
    try:
        table, names = read_named_table(arguments.input, bool(arguments.header), named(arguments.columns))
    except TableFileError as error:
        raise InputError(one_line(error)) from error
    if gaussian:
        estimator = private_gaussian.estimator(arguments, names)
    try:
        with quiet_stdout():
            if gaussian:
                release = private_gaussian.fit(estimator, table, arguments.estimate)
            else:
                estimator.fit(table)
                release = estimator.release_.to_dict()
                release["value"] = {**_mixture_value(estimator), "released": bool(estimator.released_)}
    except (ValueError, TypeError) as error:
        raise InputError(f"sosdp private {arguments.name}: {one_line(error)}") from error
    release["public"] = {**release["public"], "n": int(table.shape[0]), "dimension": int(table.shape[1])}
    if names is not None:
        release["public"]["columns"] = names
    if arguments.json:
        print_json(release)
    else:
        _print(release)
    return ANSWERED


def _options(arguments: Namespace, needed: tuple[str, ...], taken: tuple[str, ...]) -> dict[str, Any]:
    name = arguments.name
    found: dict[str, Any] = {"epsilon": arguments.epsilon}
    for option in needed + taken:
        value = getattr(arguments, option)
        if value is None and option in needed:
            raise InputError(f"sosdp private {name}: --{option}: {name} cannot do without it")
        if value is not None:
            found[option] = value
    if arguments.insecure_seed is not None:
        found["insecure_seed"] = arguments.insecure_seed
    return found


def _mixture(arguments: Namespace) -> Any:
    from problems import gmm

    options = _options(arguments, *MIXTURE)
    return gmm.PrivateGaussianMixture(options.pop("clusters"), **options)


def _tuples(arguments: Namespace) -> Any:
    from problems import tuples

    options = _options(arguments, *TUPLES)
    return tuples.PrivateKMeans(options.pop("clusters"), **options)


def _listed(values: Any) -> Any:
    return None if values is None else np.asarray(values).tolist()


def _mixture_value(estimator: Any) -> dict[str, Any]:
    centers = estimator.means_ if hasattr(estimator, "means_") else estimator.cluster_centers_
    return {"centers": _listed(centers), "weights": _listed(estimator.weights_)}


def _print(release: dict[str, Any]) -> None:
    fields: dict[str, str | None] = {
        **promise_fields(release),
        "records": f"{release['public']['n']} of {release['public']['dimension']} coordinates (public)",
    }
    value = dict(release["value"])
    if not value.pop("released"):
        untouched = release["guarantee"]["epsilon"] == 0
        fields["released"] = (
            "nothing: public facts say that it would be declined, so the records were not read"
            if untouched
            else "nothing: at this budget the mechanism declines, and that is the release"
        )
        fields["advice"] = release["public"].get("advice")
        value = {}
    names = release["public"].get("columns")
    if names is not None:
        fields["columns"] = " ".join(names)
    estimates = release["public"].get("estimates")
    for name in ("mostly_one_value", "skewed", "at_bounds"):  # indices of columns
        if name in value:
            value[name] = [str(k) if names is None else names[k] for k in value[name]]
    if estimates is not None and "mean" in value:
        told = estimates[0] if len(set(estimates)) == 1 else "mean"
        value = {told if name == "mean" else name: numbers for name, numbers in value.items()}
        if told == "mean" and len(set(estimates)) > 1:
            fields["estimates"] = ", ".join(estimates)
    for name, numbers in value.items():
        rows = numbers if numbers and (numbers[0] is None or isinstance(numbers[0], list)) else [numbers]
        fields[name] = "\n".join(
            "none" if row is None else " ".join(x if isinstance(x, str) else f"{x:.6g}" for x in row)
            for row in rows
        )
    print_fields(fields)
