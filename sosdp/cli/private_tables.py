"""`sosdp private gaussian`, `gmm` and `tuples`: releases about the records of a table."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from sosdp.cli import private_gaussian
from sosdp.cli.output import Fields, InputError, fitting, promise_fields, publish
from sosdp.cli.tables import given_table
from sosdp.privacy.files import Table

MIXTURE = (("clusters", "delta"), ("separation", "sigma", "least_weight", "elongation"))
TUPLES = (("clusters", "delta"), ("separation", "sigma", "least_weight"))


def run(arguments: Namespace) -> int:
    """Fit the estimator on the table and print its release; exit 0 also when the release is a refusal."""
    gaussian = arguments.name == "gaussian"
    if gaussian:
        arguments.estimate = arguments.estimate or "gaussian"
    else:
        estimator = {"gmm": _mixture, "tuples": _tuples}[arguments.name](arguments)
    table = given_table(arguments)
    if gaussian:
        estimator = private_gaussian.estimator(arguments, table)
    with fitting(arguments):
        if gaussian:
            release, value = private_gaussian.fit(estimator, table.values, arguments.estimate)
        else:
            release = estimator.fit(table.values).release_
            value = {**_mixture_value(estimator), "released": bool(estimator.released_)}
    shown = release.resting_on(table.assumptions).to_dict() | {"value": value}
    shown["public"] |= public_facts(table)
    return publish(arguments, shown, lambda: _fields(shown))


def public_facts(table: Table) -> dict[str, Any]:
    """What is public of every table: its size, and the names of its columns where they are known."""
    facts: dict[str, Any] = {"n": int(table.values.shape[0]), "dimension": int(table.values.shape[1])}
    return facts if table.names is None else {**facts, "columns": table.names}


def _options(arguments: Namespace, needed: tuple[str, ...], taken: tuple[str, ...]) -> dict[str, Any]:
    name = arguments.name
    result: dict[str, Any] = {"epsilon": arguments.epsilon}
    for option in needed + taken:
        value = getattr(arguments, option)
        if value is None and option in needed:
            raise InputError(f"sosdp private {name}: --{option}: {name} cannot do without it")
        if value is not None:
            result[option] = value
    if arguments.insecure_seed is not None:
        result["insecure_seed"] = arguments.insecure_seed
    return result


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


def _fields(release: dict[str, Any]) -> Fields:
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
        known = estimates[0] if len(set(estimates)) == 1 else "mean"
        value = {known if name == "mean" else name: numbers for name, numbers in value.items()}
        if known == "mean" and len(set(estimates)) > 1:
            fields["estimates"] = ", ".join(estimates)
    for name, given in value.items():
        numbers = given if isinstance(given, list) else [str(given) if isinstance(given, bool) else given]
        rows = numbers if numbers and (numbers[0] is None or isinstance(numbers[0], list)) else [numbers]
        fields[name] = "\n".join(
            "none" if row is None else " ".join(x if isinstance(x, str) else f"{x:.6g}" for x in row)
            for row in rows
        )
    return fields
