"""The command line on hostile files and options: a documented exit code, and one line of complaint.

A case is a valid call (a problem, a certificate, a release, a table, a graph) with something wrong in it:
other types, huge or non-finite numbers, keys twice or missing, deep nesting, odd names, bytes cut or changed.
Whatever comes in, no exception leaves the command, the exit code is one of its own, code 2 comes with exactly
one line on standard error, and ``--json`` prints one object. The seed says everything about a case.
"""

import contextlib
import copy
import functools
import io
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sosdp.cli import main
from sosdp.privacy.guarantee.evidence import LAWS
from tests.certificates.classics import CLASSICS
from tests.fuzz.damage import Case, broken, damage, junk, written
from tests.fuzz.hostile_tables import private_case

LONGEST = 5.0  # CPU seconds of one case
CODES = {"solve": {0, 1, 2}, "verify": {0, 1, 2}, "check-release": {0, 1, 2, 3}, "private": {0, 2}}


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
