"""`sosdp private`: a release with its guarantee, and nothing else about the data.

What is printed is the release, public parameters, and errors about the form of the input.  No timing, no
progress, no solver status: those are functions of private data.
"""

from __future__ import annotations

import importlib
from argparse import Namespace

from sosdp.cli.output import InputError, check_out
from sosdp.cli.tables import FORM

AGGREGATE = ("schema", "column", "by", "adjacency", "delta")

# Every problem package: the module of `sosdp.cli` with its `run`, and the options it takes beside COMMON.
FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "count": ("private_aggregates", AGGREGATE),
    "sum": ("private_aggregates", AGGREGATE),
    "mean": ("private_aggregates", AGGREGATE),
    "quantile": ("private_aggregates", (*AGGREGATE, "quantiles")),
    "histogram": ("private_aggregates", (*AGGREGATE, "bins")),
    "table": ("private_aggregates", AGGREGATE),
    "sbm": (
        "private_sbm",
        ("delta", "method", "calibration", "average_degree", "gamma", "tau", "nodes", "header"),
    ),
    "cuts": (
        "private_cuts",
        ("delta", "method", "calibration", "nodes", "queries", "weight_bound", "header"),
    ),
    "gaussian": (
        "private_tables",
        (
            "delta",
            "estimate",
            "radius",
            "bounds",
            "contamination",
            "sigma",
            "covariance_range",
            "method",
            "tight",
            "log",
            *FORM,
        ),
    ),
    "regression": (
        "private_regression",
        ("delta", "target", "ridge", "contamination", "tight", *FORM),
    ),
    "pca": ("private_regression", ("delta", "components", "contamination", *FORM)),
    "gmm": (
        "private_tables",
        ("delta", "clusters", "separation", "sigma", "least_weight", "elongation", *FORM),
    ),
    "tuples": (
        "private_tables",
        ("delta", "clusters", "separation", "sigma", "least_weight", *FORM),
    ),
    "mrf": (
        "private_mrf",
        ("delta", "method", "calibration", "width", "threshold", "alphabet", *FORM),
    ),
}
COMMON = ("command", "name", "input", "epsilon", "json", "insecure_seed", "out")


def check_name(name: str) -> None:
    """Raise InputError unless `name` is an estimator of this version."""
    if name not in FAMILIES:
        raise InputError(f"sosdp private: {name}: no such estimator; the names are: {', '.join(FAMILIES)}")


def run(arguments: Namespace) -> int:
    """Fit the estimator on the input and print its release; exit 0 also when the release is a refusal.

    Raises InputError for an option of another estimator.
    """
    check_name(arguments.name)
    module, takes = FAMILIES[arguments.name]
    for name, value in vars(arguments).items():
        if name not in COMMON + takes and value not in (None, False):
            option = "--" + name.replace("_", "-")
            raise InputError(
                f"sosdp private {arguments.name}: {option}: {arguments.name} has no such parameter"
            )
    check_out(arguments)
    code: int = importlib.import_module(f"sosdp.cli.{module}").run(arguments)
    return code
