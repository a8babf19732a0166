"""`sosdp private sbm`: communities of a graph."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sosdp.cli.graphs import given_graph
from sosdp.cli.output import Fields, InputError, fitting, promise_fields, publish

METHODS = ("auto", "certificate", "rounds", "projection", "randomized-response", "voting", "exponential")
# public parameters of each method, by the names of their options
REQUIRED: dict[str, tuple[str, ...]] = {
    "auto": (),
    "rounds": ("average_degree", "gamma"),
    "certificate": ("delta",),
    "projection": ("delta", "average_degree", "gamma"),
    "randomized-response": (),
    "voting": ("delta", "average_degree", "gamma"),
    "exponential": ("average_degree",),
}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "auto": ("delta", "average_degree", "gamma"),
    "rounds": ("delta",),
    "certificate": ("tau", "average_degree"),
    "projection": ("calibration",),
    "randomized-response": ("average_degree",),
    "voting": ("calibration",),
    "exponential": (),
}


def run(arguments: Namespace) -> int:
    """Fit the estimator on the input and print its release; exit 0 also when the release is a refusal."""
    graph = given_graph(arguments)
    estimator = _estimator(arguments)
    with fitting(arguments):
        estimator.fit(graph.graph)
    release = estimator.release_.to_dict()
    release["public"] |= {"n": len(graph.nodes), "vertex_set": graph.vertex_set}
    return publish(arguments, release, lambda: _fields(release))


def _estimator(arguments: Namespace) -> Any:
    """The chosen method's estimator with its public parameters; raises InputError for what is missing."""
    from problems import sbm

    method = arguments.method or ("auto" if arguments.tau is None else "certificate")
    if method not in METHODS:
        raise InputError(f"sosdp private sbm: --method: {method!r} is not one of {', '.join(METHODS)}")
    options: dict[str, Any] = {"epsilon": arguments.epsilon}
    required = REQUIRED[method]
    for name in ("delta", "tau", "average_degree", "gamma", "calibration"):
        value = getattr(arguments, name)
        option = "--" + name.replace("_", "-")
        if value is None and name in required:
            raise InputError(f"sosdp private sbm: {option}: the method {method} cannot do without it")
        if value is not None and name not in required + OPTIONAL[method]:
            raise InputError(f"sosdp private sbm: {option}: the method {method} has no such parameter")
        if value is not None:
            options[name] = value
    if method == "auto" and "gamma" in options and "average_degree" not in options:
        raise InputError("sosdp private sbm: --gamma: the model needs --average-degree as well")
    if arguments.insecure_seed is not None:
        options["insecure_seed"] = arguments.insecure_seed
    if method == "rounds":
        options.setdefault("delta", 0.0)
    classes = {
        "auto": "AutoRecovery",
        "rounds": "RoundsRecovery",
        "certificate": "CertificateRecovery",
        "projection": "ProjectionRecovery",
        "randomized-response": "RandomizedResponseRecovery",
        "voting": "VotingRecovery",
        "exponential": "ExponentialRecovery",
    }
    return getattr(sbm, classes[method])(**options)


def _fields(release: dict[str, Any]) -> Fields:
    labels = release["value"]["labels"]
    fields: dict[str, str | None] = {
        **promise_fields(release),
        "vertices": f"{release['public']['n']} ({release['public']['vertex_set']}; public)",
    }
    if labels is None:
        fields["released"] = (
            "nothing: at this budget the mechanism declines to answer, and that is the release"
        )
    else:
        fields["released"] = f"{labels.count(1)} vertices labelled 1 and {labels.count(-1)} labelled -1"
        for sign in (1, -1):
            members = [str(node) for node, label in zip(release["value"]["nodes"], labels) if label == sign]
            fields[f"label {sign}"] = " ".join(members)
    return fields
