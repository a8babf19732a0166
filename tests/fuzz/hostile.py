"""The command line on hostile files and options: a documented exit code, and one line of complaint.

A case is a valid call (a problem, a certificate, a release, a table, a graph) with something wrong in it:
other types, huge or non-finite numbers, keys twice or missing, deep nesting, odd names, bytes cut or changed.
Whatever comes in, no exception leaves the command, the exit code is one of its own, code 2 comes with exactly
one line on standard error, and ``--json`` prints one object. The seed says everything about a case.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.cli import main
from sosdp.privacy.guarantee.evidence import LAWS
from tests.certificates.classics import CLASSICS
from tests.certificates.forgeries import places

LONGEST = 5.0  # CPU seconds of one case
CODES = {"solve": {0, 1, 2}, "verify": {0, 1, 2}, "check-release": {0, 1, 2, 3}, "private": {0, 2}}


@dataclass(frozen=True)
class Case:
    """A call of the command: what it is about, its arguments, and the files that it names."""

    about: str
    argv: list[str]
    files: dict[str, bytes] = field(repr=False)


class Raw(str):
    """Text that stands in a JSON file as it is: 1e400, NaN, a number of a thousand digits."""


def written(value: Any, draw: random.Random, twice: float = 0.02) -> str:
    """JSON text of a tree; now and then a key twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        items = [(k, v) for k, v in value.items()]
        if items and draw.random() < twice:
            items.append(draw.choice(items))
        return "{" + ", ".join(f"{json.dumps(k)}: {written(v, draw, twice)}" for k, v in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(v, draw, twice) for v in value) + "]"
    return json.dumps(value)


NUMBERS = (
    *(Raw(t) for t in ("1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "1e999999999", "-0.0")),
    *(
        Raw(t)
        for t in ("9" * 400, "9" * 5000, "-" + "9" * 30, "0." + "0" * 400 + "1", "1E+3", "01", "1.", "+1")
    ),
    *(0, 1, -1, -2, 3, 0.5, 2.0, 10**9, 10**18, 2**63, 1e308, 5e-324, True, False),
)
TEXTS = (
    *(
        "",
        " ",
        "0",
        "1/0",
        "0/0",
        "1/3",
        "-1/3",
        "1e400",
        "1e-400",
        "1e999999999",
        "1e-999999999",
        "nan",
        "inf",
    ),
    *(
        "9" * 900,
        "9" * 5000,
        "0x10",
        "1_000",
        "\u0661",
        "\u221e",
        "x\u00b2",
        "x**1000000000",
        "x**-1",
        "x**0.5",
        "x**y",
    ),
    *("(x+y)**200", "(x+y+1)**1000", "((x)", "x)", "x y", "x..y", "x**2**3**4", "-" * 2000 + "x", "(" * 3000),
    *("x+" * 3000 + "x", "__import__('os')", "lambda: 1", "x if y else 1", "x = 1", "x <= y <= 1", "x >= "),
    *(">= 0", "x == x", "0 >= 1", "1 >= 0", "0 == 0", "0 == 1", "x >= 1e400", "1e-400*x**2 - 1e-400 == 0"),
    *("x**2 + 1e400*y", "1e308*x**2 + 1e308*x**2", "x*1/0", "y/x", "x & y", "x\x00y", "\ud800", "\u200b"),
    *("x > 0", "x != 0", "z", "sin(x)", "10**10**10", "2**100000*x", "x" * 300, "e1", "1e", "\n", "x\n>= 0"),
    *("auto", "dense", "scs", "sosdp-problem/1", "sosdp-certificate/1", "../x", "a/b", "%s", "{0}"),
)
NAMES = (
    "x",
    "",
    " ",
    "x y",
    "1x",
    "\u00e9",
    "x\u0301",
    "\ud800",
    "lambda",
    "x" * 500,
    "__proto__",
    "x**2",
    "\x00",
)


def junk(draw: random.Random) -> Any:
    """Something that a place of a file was not made for."""
    deep = draw.choice((30, 30, 900, 3000, 100_000))
    choice = draw.randrange(8)
    if choice < 3:
        return draw.choice(NUMBERS)
    if choice < 5:
        return draw.choice(TEXTS)
    if choice == 5:
        return copy.deepcopy(
            draw.choice((None, [], {}, [[]], [[[]]], [None], {"x": 1}, {"": []}, [0], ["1"]))
        )
    if choice == 6:
        return [draw.choice(TEXTS), draw.choice(NUMBERS)]
    return Raw("[" * deep + "]" * deep) if draw.random() < 0.3 else {draw.choice(NAMES): draw.choice(NUMBERS)}


def damage(content: Any, draw: random.Random) -> None:
    """One to three changes of the tree of a file."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        paths = [p for p in places(content) if p]
        if not paths:
            return
        path = draw.choice(paths)
        place = content
        for key in path[:-1]:
            place = place[key]
        old, action = place[path[-1]], draw.randrange(8)
        if action < 4:
            place[path[-1]] = junk(draw)
        elif action == 4:
            del place[path[-1]]
        elif action == 5 and isinstance(place, list):
            place.insert(path[-1], copy.deepcopy(old))
        elif action == 6 and isinstance(place, dict):
            place[draw.choice((*NAMES, "options", "degree", "unknowns", "psd"))] = junk(draw)
        elif isinstance(old, str) and old:
            k = draw.randrange(len(old))
            place[path[-1]] = (
                old[:k] + draw.choice(("", "9" * 40, "/0", "**9", "-", "\u00e9", "e400", "(")) + old[k:]
            )
        elif type(old) is int:
            place[path[-1]] = draw.choice((-old, old + 1, old * 10**6, float(old), str(old)))
        else:
            place[path[-1]] = junk(draw)


def broken(data: bytes, draw: random.Random) -> bytes:
    """The bytes of a file cut short, changed, or in another coding."""
    action = draw.randrange(8)
    if action < 3:
        return data[: draw.randrange(len(data) + 1)]
    if action == 3:
        return data.decode("utf-8", "ignore").encode("utf-16")
    if action == 4:
        return b"\xef\xbb\xbf" + data
    out = bytearray(data)
    for _ in range(draw.randint(1, 5)):
        k = draw.randrange(len(out) + 1)
        out[k : k + draw.randrange(3)] = draw.choice(
            (
                b"",
                bytes([draw.randrange(256)]),
                b"[" * 50,
                b"{",
                b'"',
                b",,",
                b"\x00",
                b"1e999",
                b"-",
                b"[" * 200_000,
            )
        )
    return bytes(out)


PROBLEMS: tuple[dict, ...] = (
    {
        "variables": ["x", "y"],
        "minimize": "x**4 + y**4 - 3*x*y",
        "subject_to": ["x**2 + y**2 <= 2"],
        "degree": 4,
    },
    {
        "variables": ["x", "y"],
        "maximize": [["1/3", {"x": 1, "y": 1}]],
        "subject_to": ["x**2 == 1", "y**2 == y"],
    },
    {
        "variables": ["x"],
        "feasible": True,
        "subject_to": ["x**2 == -1"],
        "degree": 2,
        "products": "schmudgen",
    },
    {"variables": ["x", "y"], "sos": "x**4 + 2*x**2*y**2 + y**4"},
    {"variables": ["x"], "sos": ["x**2 - 2*x + c", "1 + c*x**2"], "unknowns": ["c"], "minimize": "c"},
    {"variables": ["x", "y"], "minimize": "x", "psd": [[["1 - x", "y"], ["y", "1 + x"]]], "degree": 2},
    {
        "variables": ["x"],
        "minimize": {"chebyshev": [[1, {"x": 3}], ["1/2", {}]]},
        "subject_to": ["x**2 <= 1"],
    },
    {
        "variables": ["x", "y"],
        "minimize": [[1, {"x": 2}], [-0.5, {"x": 1, "y": 1}], ["2/7", {"y": 2}]],
        "subject_to": [[[[1, {}], [-1, {"x": 2}]], ">= 0"], [[[1, {"y": 1}]], "== 0"]],
        "degree": 2,
        "options": {
            "sparsity": "dense",
            "symmetry": "auto",
            "tolerance": 1e-7,
            "time_limit": 2,
            "prune": False,
        },
    },
    {
        "variables": ["x"],
        "minimize": "x",
        "subject_to": ["x >= 0"],
        "options": {"redundant": "box", "cone": "dsos"},
    },
)
OPTIONS = (
    "solver",
    "sparsity",
    "symmetry",
    "prune",
    "quotient",
    "term_steps",
    "redundant",
    "cone",
    "tolerance",
)


def problem_case(draw: random.Random) -> Case:
    """`sosdp solve` of a damaged problem, or with odd options."""
    content = {"format": "sosdp-problem/1", **copy.deepcopy(draw.choice(PROBLEMS))}
    files, argv = {}, ["solve", "p.sos.json"]
    if draw.random() < 0.8:
        damage(content, draw)
    if isinstance(content, dict) and draw.random() < 0.15:
        content["options"] = {draw.choice((*OPTIONS, "time_limit", "basis", "x")): junk(draw)}
    files["p.sos.json"] = written(content, draw).encode("utf-8", "surrogatepass")
    if draw.random() < 0.15:
        files["p.sos.json"] = broken(files["p.sos.json"], draw)
    for option, values in (
        ("--degree", ("0", "-2", "3", "4", "1000000000", "99999999999999999999", "two", "4.0", "")),
        ("--solver", ("scs", "auto", "mosek", "", "os", "clarabel;")),
        ("--sparsity", ("dense", "term", "chordal", "", "None", "auto ")),
        ("--certificate", ("c.json", "", "no/such/c.json", ".", "p.sos.json/x", "\u00e9.json")),
        ("--latex", ("p.tex", ".")),
        ("--lean", ("p.lean", "")),
        ("--export", ("p.dat-s", "p.cbf", "p.mps", "", ".dat-s")),
    ):
        if draw.random() < 0.12:
            argv += [option, draw.choice(values)]
    argv += [flag for flag in ("--json", "--optimum") if draw.random() < 0.3]
    return Case("solve", argv, files)


def certificate_case(draw: random.Random) -> Case:
    """`sosdp verify` of a damaged certificate, against problems that are damaged too."""
    content = CLASSICS[draw.choice(sorted(CLASSICS))]()
    if draw.random() < 0.8:
        damage(content, draw)
    data = written(content, draw).encode("utf-8", "surrogatepass")
    if draw.random() < 0.2:
        data = broken(data, draw)
    files, argv = {"c.json": data}, ["verify", "c.json"]
    if draw.random() < 0.4:
        problem = {"format": "sosdp-problem/1", **copy.deepcopy(draw.choice(PROBLEMS))}
        damage(problem, draw)
        files["p.sos.json"] = written(problem, draw).encode("utf-8", "surrogatepass")
        argv += ["--against", draw.choice(("p.sos.json", "p.sos.json", "c.json", "none.json", "."))]
    argv += [flag for flag in ("--full", "--kernel") if draw.random() < 0.3]
    for option, values in (("--latex", ("p.tex", ".", "no/p.tex")), ("--lean", ("p.lean", "."))):
        if draw.random() < 0.3:
            argv += [option, draw.choice(values)]
    return Case("verify", argv, files)


@functools.cache
def releases() -> tuple[str, ...]:
    """Some releases as JSON text, made by the command itself; the values, which are random, left out."""
    result = []
    for argv in (
        ["gaussian", "builtin:iris", "--epsilon", "1", "--estimate", "mean", "--bounds", "0:10"],
        ["sbm", "builtin:karate", "--epsilon", "2", "--method", "randomized-response"],
        ["cuts", "builtin:karate", "--epsilon", "1", "--method", "posterior"],
        ["mrf", "builtin:iris", "--epsilon", "1", "--delta", "1e-6", "--width", "1"],
    ):
        code, out, err = called(["private", *argv, "--json"])
        assert code == 0, err
        result.append(json.dumps({**json.loads(out), "value": {"released": True}}))
    return tuple(result)


LAW_NUMBERS = (
    *("1", "1/2", "0", "-1", "1e999", "9" * 900, "1/" + "9" * 900, "1e999999999", "1/1000000000000", "nan"),
    *("", "4096", "4097", "999999999999", "1e-9", 1e308, 10**40, 0.1),
)


def release_case(draw: random.Random) -> Case:
    """`sosdp check-release` of a damaged release."""
    content = json.loads(draw.choice(releases()))
    if draw.random() < 0.5:
        name = draw.choice(sorted(LAWS))
        law = {"law": name, **{key: draw.choice(LAW_NUMBERS) for key in LAWS[name]}, "times": 1}
        content["guarantee"]["evidence"] = {"proof": "", "laws": [law]}
        content["guarantee"]["epsilon"] = draw.choice((0.0, 1e-300, 1.0, 1e308))
        content["guarantee"]["delta"] = draw.choice((0.0, 1e-300, 1e-6, 0.999))
    if draw.random() < 0.7:  # most of it in the guarantee, which is what is checked
        damage(content if draw.random() < 0.3 else content["guarantee"], draw)
    data = written(content, draw).encode("utf-8", "surrogatepass")
    if draw.random() < 0.2:
        data = broken(data, draw)
    return Case("check-release", ["check-release", "r.json"], {"r.json": data})


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


KINDS: tuple[Callable[[random.Random], Case], ...] = (
    problem_case,
    certificate_case,
    release_case,
    private_case,
)


def case_of(seed: int) -> Case:
    """The case of a seed."""
    return KINDS[seed % len(KINDS)](random.Random(f"hostile {seed}"))


@contextlib.contextmanager
def _streams() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Standard output and error as a terminal has them: text that is coded strictly, and with escapes."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def called(argv: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command."""
    with _streams() as (out, err):
        code = main(argv)
    texts = [stream.detach().getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[union-attr]
    return code, texts[0], texts[1]


def complaints(seed: int, folder: Path) -> list[str]:
    """What is wrong with how the command answered the case of a seed, in a folder of its own."""
    case = case_of(seed)
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    began = time.process_time()
    with contextlib.chdir(folder):
        try:
            code, out, err = called(case.argv)
        except BaseException as error:  # whatever it is, it should not have left the command
            return [f"{' '.join(case.argv)}: {type(error).__name__}: {str(error)[:300]}"]
    seconds = time.process_time() - began
    wrong = []
    if seconds > LONGEST:
        wrong.append(f"{seconds:.1f} s")
    if code not in CODES[case.about]:
        wrong.append(f"exit code {code}")
    if "Traceback" in err + out or "Warning" in err:
        wrong.append(f"a trace or a warning: {err[-300:]}")
    complaint = [line for line in err.splitlines() if ": not written: " not in line]  # of another option
    if code == 2 and (len(complaint) != 1 or not complaint[0].strip() or len(err) > 2500):
        wrong.append(f"code 2 with {err.count(chr(10))} lines of {len(err)} characters: {err[:300]!r}")
    if code == 2 and out and case.about != "verify":
        wrong.append(f"code 2 and output: {out[:200]!r}")
    if code in (0, 1) and "--json" in case.argv:
        try:
            if out.count("\n") != 1 or not isinstance(json.loads(out), dict):
                wrong.append(f"not one object: {out[:200]!r}")
        except ValueError as error:
            wrong.append(f"not JSON: {error}: {out[:200]!r}")
    return [f"{' '.join(case.argv)}: {what}" for what in wrong]
