"""Tables and graphs with something wrong in them, for `private`."""

import io
import json
import random
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.fuzz.damage import Case, broken, damage, written

NUMERALS = (
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e-308",
    "1e400",
    "",
    "abc",
    "1",
    "2",
    "0.5",
    "9" * 30,
    "1e-6",
)
TABLE_OPTIONS = {
    "gaussian": ("--delta", "--radius", "--contamination", "--sigma", "--covariance-range"),
    "gmm": ("--delta", "--separation", "--sigma", "--least-weight", "--elongation"),
    "tuples": ("--delta", "--separation", "--sigma", "--least-weight"),
    "mrf": ("--delta", "--width", "--threshold"),
    "sbm": ("--delta", "--average-degree", "--gamma", "--tau"),
    "cuts": ("--delta", "--weight-bound"),
}
ENTRIES = (
    "1",
    "-1",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e308",
    "-1e308",
    "",
    "abc",
    "\u00e9",
    "1e-400",
    '"',
    "0x1",
    "9" * 400,
)


def table(draw: random.Random) -> bytes:
    """A CSV table of few rows with odd entries; now and then ragged, empty or no text at all."""
    width, rows = draw.randint(1, 3), draw.choice((0, 1, 2, 12, 12, 40))
    odd = draw.choice((0.0, 0.1, 1.0))
    lines = [
        ",".join(
            draw.choice(ENTRIES) if draw.random() < odd else f"{draw.gauss(0, 1):.3f}" for _ in range(width)
        )
        for _ in range(rows)
    ]
    if draw.random() < 0.15 and lines:
        lines[-1] += ",1"
    data = "\n".join(lines).encode()
    return broken(data, draw) if draw.random() < 0.2 else data


def numpy_table(draw: random.Random) -> bytes:
    """A .npy file of odd numbers, types and shapes; now and then broken, or with pickled objects."""
    generator = np.random.default_rng(draw.randrange(10**6))
    shape = draw.choice(((12, 2), (12,), (0, 2), (3, 2, 2), (), (1, 1)))
    kind = draw.choice(("float64", "int8", "complex128", "bool", "U3", "object", "float16", "datetime64[D]"))
    array = np.asarray(generator.normal(size=shape) * draw.choice((1.0, 1e308, np.nan)))
    with np.errstate(all="ignore"):
        array = (np.zeros(shape) if kind in ("U3", "object", "datetime64[D]") else array).astype(kind)
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return broken(out.getvalue(), draw) if draw.random() < 0.3 else out.getvalue()


def graph(draw: random.Random) -> tuple[str, bytes]:
    """An edge list, a GML or a GraphML file, with something odd in it."""
    count = draw.choice((2, 5, 8))
    edges = [(draw.randrange(count), draw.randrange(count)) for _ in range(draw.choice((0, 1, 6, 12)))]
    edges = [(a, b) for a, b in edges if a != b]
    kind = draw.choice((".txt", ".csv", ".gml", ".graphml", ".npz", ".edges", ".xyz"))
    if kind == ".npz":
        shape = draw.choice(((count, count), (count, count + 1), (0, 0)))
        generator = np.random.default_rng(draw.randrange(10**6))
        dense = generator.choice([0.0, 1.0, draw.choice((1.0, np.nan, -1.0, 1e308))], size=shape)
        out = io.BytesIO()
        sp.save_npz(out, sp.csr_matrix(dense.astype(draw.choice(("float64", "int8", "complex128")))))
        return "g.npz", broken(out.getvalue(), draw) if draw.random() < 0.5 else out.getvalue()
    if kind == ".gml":
        nodes = "".join(
            f"node [ id {k} label {json.dumps(draw.choice(('a', 'b', str(k))))} ]\n" for k in range(count)
        )
        text = f"graph [\n{nodes}" + "".join(f"edge [ source {a} target {b} ]\n" for a, b in edges) + "]"
    elif kind == ".graphml":
        nodes = "".join(f'<node id="n{k}"/>' for k in range(count))
        lines = "".join(f'<edge source="n{a}" target="n{b}"/>' for a, b in edges)
        entity = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]>' if draw.random() < 0.2 else ""
        inner = f'<graph id="G" edgedefault="undirected">{nodes}{lines}</graph>'
        space = "http://graphml.graphdrawing.org/xmlns"
        text = f'<?xml version="1.0"?>{entity}<graphml xmlns="{space}">{inner}</graphml>'
    else:
        odd = (
            "a b",
            "1 1",
            "1",
            "1 2 3 4",
            "1,2",
            "-1 2",
            "0 99999999999",
            "1 2 nan",
            "1 2 {'weight': 1e400}",
            "0 1 2",
            "\u00e9 b",
        )
        lines_of = [f"{a} {b}" for a, b in edges]
        if draw.random() < 0.5:
            lines_of.insert(draw.randrange(len(lines_of) + 1), draw.choice(odd))
        text = "\n".join(lines_of)
    data = text.encode()
    return f"g{kind}", broken(data, draw) if draw.random() < 0.3 else data


def private_case(draw: random.Random) -> Case:
    """`sosdp private` on odd data with odd parameters."""
    name = draw.choice(("gaussian", "gaussian", "gmm", "tuples", "mrf", "sbm", "cuts"))
    if name in ("sbm", "cuts"):
        source, data = graph(draw)
    elif draw.random() < 0.7:
        source, data = draw.choice(("t.csv", "t.csv", "t.tsv", "t.parquet", "t.xyz")), table(draw)
    else:
        source, data = "t.npy", numpy_table(draw)
    files = {source: data}
    argv = ["private", name, draw.choice((source,) * 9 + ("none.csv", ".", "builtin:none", "")), "--epsilon"]
    argv.append("1" if draw.random() < 0.8 else draw.choice(NUMERALS))
    for option in TABLE_OPTIONS[name]:
        if draw.random() < 0.25:
            argv += [option, draw.choice(NUMERALS)]
    if draw.random() < 0.6 and "--delta" not in argv:
        argv += ["--delta", "1e-6"]
    if name in ("gmm", "tuples"):
        argv += ["--clusters", draw.choice(("1", "2", "2", "0", "-1", "1000000000", "two"))]
    if name == "gaussian" and draw.random() < 0.6 and "--radius" not in argv:
        argv += [
            "--bounds",
            draw.choice(("-1:1", "1:-1", "0:0", "nan:1", "a:b", "-inf:inf", "-1:1,0:2", ":", "1e308:-1e308")),
        ]
    if name in ("sbm", "cuts") and draw.random() < 0.5:
        argv += ["--nodes", draw.choice(("8", "8", "0", "-1", "1", "10000000000", "x"))]
    if name in ("sbm", "cuts", "mrf") and draw.random() < 0.5:
        methods = {
            "sbm": (
                "auto",
                "randomized-response",
                "voting",
                "exponential",
                "certificate",
                "rounds",
                "projection",
            ),
            "cuts": ("posterior", "smooth", "spectral", "constant", "lp", "cut_sdp"),
            "mrf": ("moments", "structure", "tree", "gradient", "frank-wolfe"),
        }[name]
        argv += ["--method", draw.choice((*methods, "", "none"))]
    if name == "cuts" and draw.random() < 0.2:
        queries: Any = [[[0, 1], [2]], [[], [3]]]
        damage(queries, draw)
        files["q.json"] = written(queries, draw).encode("utf-8", "surrogatepass")
        argv += ["--queries", "q.json"]
    argv += [flag for flag in ("--header", "--json") if draw.random() < 0.4]
    argv += ["--insecure-seed", "1"] if draw.random() < 0.2 else []
    return Case("private", argv, files)
