"""`sosdp private`: a release with its guarantee, and nothing else about the data.

What is printed is the release, public parameters, and errors about the form of the input.  No timing, no
stage, no solver status: those are functions of private data. Which options an estimator takes and needs
follows from its declared parameters.
"""

from __future__ import annotations

import importlib
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

from sosdp.cli.output import (
    Fields,
    InputError,
    cell,
    check_out,
    columned,
    fitting,
    plain,
    promise_fields,
    publish,
)
from sosdp.cli.tables import FORM, TARGETED, given_table
from sosdp.model.option_names import did_you_mean

AGGREGATE = ("schema", "column", "by", "adjacency", "delta")
COMMON = ("command", "name", "input", "epsilon", "json", "insecure_seed", "out")


@dataclass(frozen=True)
class Family:
    """What stands behind a name: estimators of a problem package, and how the shell speaks of them.

    Attributes
    ----------
    package
        Of ``problems``; "" where there are no estimators.
    methods
        Class by the value of the selecting option; the first is the default.
    own
        Options that are no parameters.
    without
        Parameters that are no options here.
    names
        Parameters by options of other names, which have to be given.
    variants
        Another class of a method where an option is given. Without a method, an option that the default does
        not take selects the one that has it.
    selector
        The option that selects the method.
    parts
        Of the value, those that are shown; all of them by default.
    module
        Of ``sosdp.cli``, with a ``run`` of its own.
    """

    package: str = ""
    methods: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[tuple[str, str], str] = field(default_factory=dict)
    selector: str = "method"
    parts: tuple[str, ...] = ()
    module: str = ""

    def takes(self, made: str) -> set[str]:
        """Options that are parameters of a class."""
        declared = getattr(importlib.import_module(f"problems.{self.package}"), made)._declared
        renamed = {parameter: option for option, parameter in self.names.items()}
        return {renamed.get(name, name) for name in declared} - set(self.without)


TABLE = ("centers", "weights", "released")
MEANS = {"gaussian": "PrivateGaussian", "mean": "PrivateMean", "covariance": "PrivateCovariance"}
FAMILIES = {
    **dict.fromkeys(("count", "sum", "mean", "table"), Family(own=AGGREGATE, module="private_aggregates")),
    "synthetic": Family(own=("schema", "column", "adjacency", "delta", "bins"), module="private_aggregates"),
    "quantile": Family(own=(*AGGREGATE, "quantiles"), module="private_aggregates"),
    "histogram": Family(own=(*AGGREGATE, "bins"), module="private_aggregates"),
    "sbm": Family(
        "sbm",
        {
            "auto": "AutoRecovery",
            "certificate": "CertificateRecovery",
            "rounds": "RoundsRecovery",
            "projection": "ProjectionRecovery",
            "randomized-response": "RandomizedResponseRecovery",
            "voting": "VotingRecovery",
            "exponential": "ExponentialRecovery",
        },
        ("method", "nodes", "header"),
        variants={("auto", "tau"): "CertificateRecovery"},
    ),
    "cuts": Family(
        "cuts",
        {"": "CutRelease", "queries": "QueryRelease"},
        ("nodes", "header", "queries"),
        module="private_cuts",
    ),
    "gaussian": Family(
        "gaussian", MEANS, ("estimate", "radius", "sigma", "covariance_range", *FORM), selector="estimate"
    ),
    "regression": Family("gaussian", {"": "PrivateLinearRegression"}, ("target", *FORM), ("bounds",)),
    "logistic": Family("gaussian", {"": "PrivateLogisticRegression"}, ("target", *FORM), ("bounds",)),
    "poisson": Family("gaussian", {"": "PrivatePoissonRegression"}, ("target", *FORM), ("bounds",)),
    "pca": Family("gaussian", {"": "PrivatePCA"}, FORM, ("bounds",), {"components": "n_components"}),
    "gmm": Family(
        "gmm", {"": "PrivateGaussianMixture"}, FORM, names={"clusters": "n_components"}, parts=TABLE
    ),
    "tuples": Family("tuples", {"": "PrivateKMeans"}, FORM, names={"clusters": "n_clusters"}, parts=TABLE),
    "mrf": Family(
        "mrf",
        {
            "moments": "MomentsIsing",
            "frank-wolfe": "FrankWolfeIsing",
            "gradient": "GradientIsing",
            "structure": "CorrelationGraph",
            "tree": "ChowLiuTree",
        },
        ("method", *FORM),
        variants={
            ("frank-wolfe", "alphabet"): "FrankWolfePairwise",
            ("structure", "width"): "VotedStructure",
        },
        parts=("weights", "edges", "field", "released"),
    ),
}
"""What `sosdp private NAME` runs."""


def check_name(name: str) -> None:
    """Raise InputError unless `name` is an estimator of this version."""
    if name not in FAMILIES:
        near = did_you_mean(name, FAMILIES) or ";"
        raise InputError(
            f"sosdp private: {name}: no such estimator{near} the names are: {', '.join(FAMILIES)}"
        )


def run(arguments: Namespace) -> int:
    """Fit the estimator on the input and print its release; exit 0 also when the release is a refusal.

    Raises InputError for an option of another estimator, or one that is missing.
    """
    check_name(arguments.name)
    family = FAMILIES[arguments.name]
    classes = [*family.methods.values(), *family.variants.values()]
    known = {*COMMON, *family.own, *(option for made in classes for option in family.takes(made))}
    for name, value in vars(arguments).items():
        if name not in known and value not in (None, False):
            raise complaint(arguments, name, f"{arguments.name} has no such parameter")
    check_out(arguments)
    if family.module:
        code: int = importlib.import_module(f"sosdp.cli.{family.module}").run(arguments)
        return code
    fitted = _of_a_graph(arguments, family) if family.package == "sbm" else _of_a_table(arguments, family)
    return publish(arguments, fitted[0], lambda: fields(arguments.name, *fitted))


def complaint(arguments: Namespace, option: str, reason: str) -> InputError:
    """What is wrong with an option, in a line."""
    return InputError(f"sosdp private {arguments.name}: --{option.replace('_', '-')}: {reason}")


def _of_a_graph(arguments: Namespace, family: Family) -> tuple[dict[str, Any], str]:
    """The release, and the estimator's advice, "" where it has none."""
    from sosdp.cli.graphs import given_graph

    graph = given_graph(arguments, weighted=arguments.weight_bound is not None)
    estimator = _estimator(arguments, family)
    with fitting(arguments):
        release: dict[str, Any] = estimator.fit(graph.graph).release_.to_dict()
    release["public"] |= {"n": len(graph.nodes), "vertex_set": graph.vertex_set}
    return release, estimator.advice_


def _of_a_table(arguments: Namespace, family: Family) -> tuple[dict[str, Any], str]:
    from sosdp.cli import private_gaussian as gaussian

    if family.package == "gaussian":
        gaussian.prepare(arguments)
    table = given_table(arguments)
    facts = gaussian.facts(arguments, table) if family.package == "gaussian" else {}
    if family.package == "tuples":
        facts = {"bounds": gaussian.bounds(arguments) or table.bounds}
    estimator = _estimator(arguments, family, **facts)
    with fitting(arguments):
        if family.package == "gaussian":
            release, value = gaussian.fit(estimator, table, arguments)
        else:
            release = estimator.fit(table.values).release_
            value = plain({name: release.value.get(name) for name in family.parts})
    shown: dict[str, Any] = release.resting_on(table.assumptions).to_dict() | {"value": value}
    shown["public"] |= {"n": int(table.values.shape[0]), "dimension": int(table.values.shape[1])}
    if table.names is not None:
        shown["public"]["columns"] = table.names
    if table.reads:
        shown["public"]["reads"] = table.reads
    return shown, getattr(estimator, "advice_", "")  # nothing is fitted where public facts refuse


def _estimator(arguments: Namespace, family: Family, **facts: Any) -> Any:
    """The chosen method's estimator, its parameters from facts and options; InputError for what is missing or
    foreign. The shell has no default for a budget: a delta that cannot be 0 has to be given."""
    from sosdp.estimator.field import privacy_delta_or_zero

    chosen = getattr(arguments, family.selector) if family.selector in family.own else None
    given = [name for name, value in vars(arguments).items() if value not in (None, False)]
    default = next(iter(family.methods))
    taken = family.takes(family.methods[default])
    selected = (of for of, option in family.variants if option in given and option not in taken)
    method = chosen or next(selected, default)
    if method not in family.methods:
        listed = ", ".join(family.methods)
        raise complaint(arguments, family.selector, f"{method!r} is not one of {listed}")
    variants = [made for (of, option), made in family.variants.items() if of == method and option in given]
    name = (variants or [family.methods[method]])[0]
    taken = family.takes(name)
    for option in given:
        if option not in {*COMMON, *family.own, *taken}:
            having = [m for m, made in family.methods.items() if option in family.takes(made)]
            having += [
                m if with_ == option else f"{m} with --{with_.replace('_', '-')}"
                for (m, with_), made in family.variants.items()
                if option in family.takes(made) and m not in having
            ]
            raise complaint(arguments, option, f"only --{family.selector} {', '.join(having)} has it")
    made = getattr(importlib.import_module(f"problems.{family.package}"), name)
    options = {parameter: option for option, parameter in family.names.items()}
    result, missing = dict(facts), []
    for parameter, declared in made._declared.items():
        option = options.get(parameter, parameter)
        value = getattr(arguments, option, None)
        free = declared.check is privacy_delta_or_zero or declared.default == 0
        if parameter in facts or option not in vars(arguments):
            continue
        if value is not None:
            result[parameter] = value
        elif parameter == "delta" and free:
            result[parameter] = 0.0
        elif parameter == "delta" or option != parameter or declared.default is Parameter.empty:
            missing.append(option)
    if missing:
        who = f"the method {method}" if method else arguments.name
        raise complaint(arguments, ", --".join(missing), f"{who} needs it")
    if name == "AutoRecovery" and "gamma" in result and "average_degree" not in result:
        raise complaint(arguments, "gamma", "the model needs --average-degree as well")
    return made(**result)


# ------------------------------------------------------------------------------------------------------------
# For people: names and values, a line or more each


UNTOUCHED = "nothing: public facts say that it would be declined, so the records were not read"
DECLINED = "nothing: at this budget the mechanism declines, and that is the release"


def fields(name: str, release: dict[str, Any], advice: str) -> Fields:
    """The fields of a release of this name."""
    public, value = release["public"], dict(release["value"])
    result: dict[str, str | None] = dict(promise_fields(release))
    if name == "sbm":
        result["vertices"] = f"{public['n']} ({public['vertex_set']}; public)"
    else:
        word = "columns" if name == "mrf" else "coordinates"
        result["records"] = f"{public['n']} of {public['dimension']} {word} (public)"
    if not value.pop("released"):
        result["released"] = UNTOUCHED if release["guarantee"]["epsilon"] == 0 else DECLINED
        value = {}
    result |= {"advice": advice or public.get("advice"), "reads": public.get("reads")}
    if name == "mrf" and "columns" in public:
        result["columns"] = ", ".join(f"{k}:{column}" for k, column in enumerate(public["columns"]))
    printers = {"sbm": _labels, "mrf": _field, "pca": _components, "gaussian": _moments}
    printers |= dict.fromkeys(TARGETED, _coefficients) | dict.fromkeys(("gmm", "tuples"), _centers)
    return {**result, **(printers[name](value, public) if value else {})}


def _labels(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    labels = value["labels"]
    sides = {sign: [str(n) for n, x in zip(value["nodes"], labels) if x == sign] for sign in (1, -1)}
    return {
        "released": f"{len(sides[1])} vertices labelled 1 and {len(sides[-1])} labelled -1",
        **{f"label {sign}": ", ".join(members) for sign, members in sides.items()},
    }


def _field(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    result: dict[str, str | None] = {}
    if value["edges"] is not None:
        result["edges"] = " ".join(f"{i}-{j}" for i, j in value["edges"]) or "none"
    if value["field"] is not None:
        rows = value["field"] if isinstance(value["field"][0], list) else [value["field"]]
        result["field"] = _rows(rows)
    if value["weights"] is not None and not isinstance(value["weights"][0][0], list):
        result["weights"] = _rows(value["weights"])
    return result


def _rows(rows: list[list[float]]) -> str:
    return "\n".join(" ".join(f"{entry + 0.0:.4g}" for entry in row) for row in rows)


def _coefficients(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    lines = [
        [name, coefficient, *(value["interval"][name] or (None, None))]
        for name, coefficient in value["coefficients"].items()
    ]
    return {
        "coefficients": columned([["column", "coefficient", "low", "high"], *lines]),
        "intercept": cell(value["intercept"]),
        "r2": f"{value['r2']:.4g}" if "r2" in value else None,
        "residual": cell(value["residual_deviation"]) if "r2" in value else None,
        **{name: ", ".join(value[name]) for name in ("left_out", "unseen") if value[name]},
    }


def _components(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    separate = ["yes" if separated else "no" for separated in value["told_apart"]]  # from its neighbours
    parts = (*zip(*value["components"], strict=True), value["explained_variance"], value["angle"], separate)
    ends = ("variance", "angle", "separate")
    lines = [[name, *row] for name, row in zip((*_columns(public), *ends), parts, strict=True)]
    return {"covariances": public["covariance"], "components": columned(lines)}


def _columns(public: dict[str, Any]) -> list[str]:
    """Names of the columns, or their numbers."""
    return public.get("columns") or [str(k) for k in range(public["dimension"])]


def _centers(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    rows = [[share, *centre] for share, centre in zip(value["weights"], value["centers"], strict=True)]
    return {"centers": columned([["weight", *_columns(public)], *rows])}


def _moments(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    """Means, a line a column, with what is said of it; covariances; every other part by its name."""
    result, names = dict[str, str | None](), _columns(public)
    for name in ("mostly_one_value", "skewed", "at_bounds"):  # indices of columns
        if name in value:
            value[name] = ", ".join(names[k] for k in value[name])
    if "mean" in value:
        estimates = public.get("estimates") or ["mean"] * len(names)
        if set(estimates) != {"mean"}:
            warning = "where columns are skewed not the mean of all rows, nor its interval"
            result["estimates"] = f"{', '.join(dict.fromkeys(estimates))}; {warning}"
        ends = [pair or (None, None) for pair in value.pop("interval", [])]
        alike = len(set(estimates)) == 1
        parts = {estimates[0] if alike else "estimate": value.pop("mean")}
        parts |= {"low": [low for low, _ in ends], "high": [end for _, end in ends]}
        if isinstance(value.get("clipped_share"), list):
            parts["clipped share"] = value.pop("clipped_share")
        parts["estimates"] = [] if alike else estimates
        lines = zip(names, *filter(None, parts.values()), strict=True)
        result["mean"] = columned([["column", *(name for name, part in parts.items() if part)], *lines])
    if "covariance" in value:
        rows = [[name, *row] for name, row in zip(names, value.pop("covariance"), strict=True)]
        result |= {"covariances": public["covariance"], "covariance": columned([["", *names], *rows])}
    return result | {name: cell(part) for name, part in value.items()}
