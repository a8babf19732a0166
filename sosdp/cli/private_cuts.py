"""`sosdp private cuts`: a synthetic graph with a private error bound, and cut queries answered online."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sosdp.cli.graphs import GraphInput, given_graph
from sosdp.cli.output import Fields, InputError, fitting, promise_fields, publish, read_json
from sosdp.privacy.guarantee.guarantee import Guarantee, compose

WHERE = "sosdp private cuts"


def run(arguments: Namespace) -> int:
    """Release the graph (and the answers) and print the release object.

    With `--queries`, half of epsilon goes to the graph and half to the online mechanism, which also needs
    `--delta`.
    """
    from problems import cuts

    if arguments.queries is not None and arguments.delta is None:
        raise InputError(
            f"{WHERE}: --delta: needed with --queries, whose online mechanism is (epsilon, delta)-private"
        )
    if arguments.queries is None and arguments.delta is not None:
        raise InputError(
            f"{WHERE}: --delta: the synthetic graph is purely private; only --queries needs a delta"
        )
    if arguments.queries is None and arguments.calibration is not None:
        raise InputError(f"{WHERE}: --calibration: it is the online mechanism's; only --queries has one")
    given = given_graph(arguments, weighted=arguments.weight_bound is not None)
    queries = None if arguments.queries is None else _read_queries(arguments.queries, given)
    share = arguments.epsilon if queries is None else arguments.epsilon / 2.0
    options: dict[str, Any] = {"weight_bound": arguments.weight_bound}
    if arguments.insecure_seed is not None:
        options["insecure_seed"] = arguments.insecure_seed
    answers = None
    with fitting(arguments):
        release = cuts.CutRelease(share, method=arguments.method or "posterior", **options).fit(given.graph)
        if queries is not None:
            online = cuts.QueryRelease(
                share,
                arguments.delta,
                calibration=arguments.calibration or "tight",
                expected_queries=max(1, len(queries)),
                **options,
            ).fit(given.graph)
            size = len(given.nodes)
            answers = [online.answer(cuts.CutQuery(size, *pair)).value for pair in queries]
    shown = release.release_.to_dict()
    if queries is not None and answers is not None:
        guarantee: Guarantee = compose(
            [release.guarantee_, online.guarantee_], mechanism="cuts.graph and queries"
        )
        shown["guarantee"] = guarantee.to_dict()
        shown["mechanism"] = guarantee.mechanism
        shown["value"]["answers"] = answers
        if any(set(first) & set(second) for first, second in queries):  # the queries are public
            shown["public"]["overlapping sides"] = "a pair of vertices counts once"
    shown["public"] = {**shown["public"], "n": len(given.nodes), "vertex_set": given.vertex_set}
    return publish(arguments, shown, lambda: _fields(shown))


def _read_queries(path: str, given: GraphInput) -> list[tuple[list[int], list[int]]]:
    """Pairs of positions: rows of the matrix, or places in the sorted nodes of a networkx graph."""
    from problems.sbm.graph_input import sorted_nodes

    listed = read_json(path)
    if not isinstance(listed, list):
        raise InputError(f"{path}: file: expected a list of pairs [[vertices of S], [vertices of T]]")
    networked = hasattr(given.graph, "is_directed")
    ordered = sorted_nodes(list(given.graph.nodes)) if networked else list(given.nodes)
    place = {node: position for position, node in enumerate(ordered)}
    place |= {str(node): position for node, position in list(place.items())}
    result = []
    for number, pair in enumerate(listed):
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, list) for side in pair)):
            raise InputError(f"{path}: query {number}: expected [[vertices of S], [vertices of T]]")
        for vertex in (*pair[0], *pair[1]):
            if not isinstance(vertex, int | str) or vertex not in place:
                raise InputError(f"{path}: query {number}: {vertex!r} is no vertex of {given.source}")
        result.append(([place[v] for v in pair[0]], [place[v] for v in pair[1]]))
    return result


def _fields(release: dict[str, Any]) -> Fields:
    value = release["value"]
    total = sum(weight for _, _, weight in value["edges"])
    fields: dict[str, str | None] = {
        **promise_fields(release),
        "vertices": f"{release['public']['n']} ({release['public']['vertex_set']}; public)",
        "released": f"{len(value['edges'])} weighted pairs of total weight {total:.6g} (all of them: --json)",
        "cut error": (
            f"at most {value['cut_error']['bound']:g} for every pair of disjoint sets, with confidence "
            f"{value['cut_error']['confidence']:g}"
        ),
    }
    if "answers" in value:
        fields["answers"] = " ".join(f"{answer:.6g}" for answer in value["answers"])
    return fields
