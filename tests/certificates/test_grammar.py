"""One grammar: kernel and engine read the same polynomial from a text, or both refuse it."""

import contextlib
import random
from fractions import Fraction

import pytest

from certificates import kernel
from sosdp.algebra.parse import ParseError, Reader
from sosdp.algebra.variables import variable_id
from sosdp.model.problem_file import load_problem

NAMES = ("x", "y", "and", "e1", "_a", "E")
PIECES = [
    *NAMES,
    "x",
    "y",
    "x**2",
    "2",
    "3",
    "1/3",
    "0.5",
    ".25",
    "2.",
    "1e2",
    "1e-1",
    "12E+1",
    "0",
    "007",
    "+",
    "-",
    "*",
    "/",
    "**",
    "(",
    ")",
    "(x+y)",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "-",
    "- -",
    "+-",
    "**2",
    "**-1",
    "**(1+1)",
    "/2",
    "/(1+1)",
    "/(x-x)",
    "*(x - y)",
    "x*y",
    "-5",
    "z",
    "#",
    "# + 100",
    "^",
    "**0",
    "1_000",
    "0x10",
    "1j",
    "\u0663",
    "\u2212",
    "\uff0b",
    "\u00b2",
    "\u00a0",
    "\x0b",
    "\x0c",
    "\x1c",
    "\u2003",
    "x.real",
    "x(y)",
    "x[0]",
    "lambda",
    "if",
    "True",
    "1e",
    "1e5x",
    "2x",
    "x 2",
    "..",
    "1.2.3",
    "<=",
    ">=",
    "==",
    "=",
    "<",
    ";",
    ",",
    "'",
    '"',
    "\\",
    "\x00",
    "1e1000",
    "1e1001",
    "1e0001",
    "e1**2",
    "x**2**0",
    "x**1000",
    "x**1001",
]


def text(draw: random.Random) -> str:
    """Half of them are sums of terms that both should read, with a piece changed in some."""
    if draw.random() < 0.4:
        return "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 7)))
    space = lambda: draw.choice(["", "", " ", "\t", "\r", "\n"])  # noqa: E731
    atoms = [
        "x",
        "y",
        "and",
        "E",
        "3",
        "1/3",
        "0.25",
        "2.",
        ".5",
        "1e1",
        "(x - 1)",
        "(2)",
        "-y",
        "+x",
        "x**2",
        "2**3",
        "2**-1",
    ]
    out = draw.choice(atoms)
    for _ in range(draw.randint(0, 6)):
        out += (
            space()
            + draw.choice(["+", "-", "*", "*", "-", "/ 3 *", "**2 +", "**1 *", "/(1+1) -"])
            + space()
            + draw.choice(atoms)
        )
    if draw.random() < 0.2:
        place = draw.randrange(len(out) + 1)
        out = out[:place] + draw.choice(PIECES) + out[place:]
    return out


def in_kernel(source: str, names=NAMES):
    try:
        ((_, p, _),) = kernel.state({"variables": [*names], "minimize": source}).parts
    except kernel.NotProven:
        return None
    return dict(p.terms)


def in_engine(source: str, names=NAMES):
    try:
        ids = {name: variable_id("and_" if name == "and" else name) for name in names}  # no name for Python
        p = Reader(ids).polynomial(source)
    except ParseError:
        return None
    back = {identifier: name for name, identifier in ids.items()}
    rows = [tuple(sorted(back[v] for v in row if v)) for row in p.monos.tolist()]
    return {m: Fraction(c) for m, c in zip(rows, p.coefs.tolist(), strict=True) if c}


def differing(seed: int, count: int) -> list[tuple]:
    draw, result = random.Random(f"grammar {seed}"), []
    for _ in range(count):
        source = text(draw)
        mine, other = in_kernel(source), in_engine(source)
        if mine != other:
            result.append((source, mine, other))
    return result


@pytest.mark.parametrize("count", [1000, pytest.param(9000, marks=pytest.mark.slow)])
def test_kernel_and_engine_read_alike(count):
    assert differing(count, count) == []


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_hundred_thousand_texts_are_read_alike(seed):
    assert differing(seed, 10_000) == []


def test_the_sample_has_texts_of_both_kinds():
    draw = random.Random(0)
    read = [in_kernel(text(draw)) is not None for _ in range(1000)]
    assert 250 < sum(read) < 750


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("0+x**2-(\r9)", {("x", "x"): 1, (): -9}),
        ("x**2 # + 100", None),
        ("x\\\n+1", None),
        ("x\n+1", {("x",): 1, (): 1}),
        ("and + 1", {("and",): 1, (): 1}),
        ("x\u00b2", None),
        ("\u0663*x", None),
        ("x \u2212 1", None),
        ("\u0445", None),
        ("", None),
        (" ", None),
        ("2**-1", {(): Fraction(1, 2)}),
        ("(2)**-1", {(): Fraction(1, 2)}),
        ("-x**2", {("x", "x"): -1}),
        ("x**-1", None),
        ("x/0", None),
        ("x/(y-y)", None),
        ("0**0", {(): 1}),
        ("0**-1", None),
        ("0" * 1015 + "7", {(): 7}),
        ("0" * 1016 + "7", None),
        ("." + "0" * 1013 + "1e3*x", None),
        ("1." + "0" * 1012 + "e0*x", {("x",): 1}),
        ("1." + "0" * 1013 + "e0*x", None),
        ("x + 1e" + "0" * 1014 + "2", None),
        ("1e1000**4", {(): 10**4000}),
        ("1e1000**7", None),  # more digits than are printed
    ],
)
def test_texts_that_were_read_in_two_ways(source, read):
    assert in_kernel(source) == read == in_engine(source)


PLAIN = {"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x"}
MEASURES = {**PLAIN, "measures": {"mu": {"mass": 1}}, "minimize": {"mu": "x"}}
PROGRAM = {**PLAIN, "unknowns": ["c", "d"], "sos": "x**2 + c", "minimize": "c"}


@pytest.mark.parametrize(
    ("problem", "good"),
    [
        ({**MEASURES, "subject_to": [[{"mu": "x"}, ">= 1 / 3"]]}, True),
        ({**MEASURES, "subject_to": [[{"mu": "x"}, " >=\t-1/3\n"]]}, True),
        ({**MEASURES, "subject_to": [[{"mu": "x"}, "\u00a0>= 1/3"]]}, False),
        ({**MEASURES, "subject_to": [[{"mu": "x"}, ">= 1 3"]]}, False),
        ({**MEASURES, "subject_to": [[{"mu": "x"}, ">="]]}, False),
        ({**PLAIN, "subject_to": [[[[1, {"x": 1}]], " >=  0 "]]}, True),
        ({**PLAIN, "subject_to": [[[[1, {"x": 1}]], ">= 1"]]}, False),
        ({**PLAIN, "variables": ["x", "\u03bb"]}, False),
        ({**PLAIN, "variables": ["x", "y" * 200]}, True),
        ({**PLAIN, "variables": ["x", "y" * 201]}, False),
        (PROGRAM, True),
        ({**PROGRAM, "sos": ["x**2 + c*d", "1"]}, False),
        ({**PROGRAM, "sos": ["x**2 + c**2"]}, False),
        ({**PROGRAM, "minimize": "c**2"}, False),
        ({**PROGRAM, "minimize": "c + 0*x - 1"}, True),
        ({**PROGRAM, "minimize": "c*d"}, False),
        ({**MEASURES, "measures": {"mu": {"psd": [[["x"]]]}}}, True),
        ({**MEASURES, "measures": {"mu": {"for_all": [[["x"], "x**2"]]}}}, False),
    ],
)
def test_kernel_and_engine_read_the_same_files(problem, good):
    for read in (
        lambda: kernel.state(problem, dict.fromkeys(problem.get("unknowns", []), 0)),
        lambda: load_problem(problem),
    ):
        with contextlib.nullcontext() if good else pytest.raises(ValueError):
            read()
