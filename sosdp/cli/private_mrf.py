"""`sosdp private mrf`: parameters or the graph of a Markov random field of the columns of a table."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sosdp.cli.output import Fields, InputError, fitting, promise_fields, publish
from sosdp.cli.private_tables import public_facts
from sosdp.cli.tables import FORM, given_table

# class and, by the names of the parsed arguments, what each method needs and takes
METHODS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "moments": ("MomentsIsing", ("delta", "width"), ("threshold",)),
    "frank-wolfe": ("FrankWolfeIsing", ("width",), ("delta", "threshold", "calibration")),
    "gradient": ("GradientIsing", ("delta", "width"), ("threshold",)),
    "structure": ("CorrelationGraph", ("delta", "threshold"), ()),
    "tree": ("ChowLiuTree", ("delta",), ()),
}
OTHERS = {
    # with --alphabet, and with --width: another class of the same method
    ("frank-wolfe", "alphabet"): (
        "FrankWolfePairwise",
        ("width", "alphabet"),
        ("delta", "threshold", "calibration"),
    ),
    ("structure", "width"): ("VotedStructure", ("delta", "width", "threshold"), ()),
}
ALWAYS = ("command", "name", "input", "epsilon", "method", "json", "insecure_seed", "out", *FORM)


def run(arguments: Namespace) -> int:
    """Fit the estimator on the table and print its release; exit 0 also when the release is a refusal."""
    estimator = _estimator(arguments)
    table = given_table(arguments)
    with fitting(arguments):
        estimator.fit(table.values)
    release = estimator.release_.resting_on(table.assumptions).to_dict()
    value = release["value"]
    release["value"] = {name: value.get(name) for name in ("weights", "edges", "field", "released")}
    release["public"] |= public_facts(table)
    return publish(arguments, release, lambda: _fields(release))


def _estimator(arguments: Namespace) -> Any:
    """The chosen method's estimator with its public parameters; InputError for what is missing or foreign."""
    from problems import mrf

    method = arguments.method or "moments"
    if method not in METHODS:
        raise InputError(f"sosdp private mrf: --method: {method!r} is not one of {', '.join(METHODS)}")
    name, needed, taken = METHODS[method]
    for (other, option), choice in OTHERS.items():
        if method == other and getattr(arguments, option) is not None:
            name, needed, taken = choice
    result: dict[str, Any] = {}
    for option, value in vars(arguments).items():
        if option in ALWAYS:
            continue
        shown = "--" + option.replace("_", "-")
        if value is None and option in needed:
            raise InputError(f"sosdp private mrf: {shown}: the method {method} cannot do without it")
        if value not in (None, False) and option not in needed + taken:
            raise InputError(f"sosdp private mrf: {shown}: the method {method} has no such parameter")
        if value is not None and option in needed + taken:
            result[option] = value
    if "delta" in taken and arguments.delta is None:
        result["delta"] = 0.0
    if arguments.insecure_seed is not None:
        result["insecure_seed"] = arguments.insecure_seed
    return getattr(mrf, name)(epsilon=arguments.epsilon, **result)


def _fields(release: dict[str, Any]) -> Fields:
    value = release["value"]
    fields: dict[str, str | None] = {
        **promise_fields(release),
        "records": f"{release['public']['n']} of {release['public']['dimension']} columns (public)",
    }
    names = release["public"].get("columns")
    fields["columns"] = None if names is None else " ".join(f"{k}:{name}" for k, name in enumerate(names))
    if not value["released"]:
        fields["released"] = "nothing: at this budget the mechanism declines, and that is the release"
    if value["edges"] is not None:
        fields["edges"] = " ".join(f"{i}-{j}" for i, j in value["edges"]) or "none"
    if value["field"] is not None:
        rows = value["field"] if isinstance(value["field"][0], list) else [value["field"]]
        fields["field"] = "\n".join(" ".join(f"{entry:.4g}" for entry in row) for row in rows)
    if value["weights"] is not None and not isinstance(value["weights"][0][0], list):
        fields["weights"] = "\n".join(" ".join(f"{entry:.4g}" for entry in row) for row in value["weights"])
    return fields
