"""Neighbours through the shell: one line of a file is replaced by whatever bytes, and nobody can tell.

Every reader, every hostile line, every position: exit code, standard output but for the released value,
standard error, warnings and attributes are those of the usual file. The value is private by its own proof.
"""

import contextlib
import gzip
import io
import json
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from sosdp.cli import main
from sosdp.privacy import files
from sosdp.privacy.files import Form, InputFileError
from sosdp.privacy.table.whole import read_table

NUMBERS = [
    b"", b" ", b"\r", b"\x0b", b"\x0c1", b"1\r2", b"\x00", b"1\x00", b"\xff", b"\xff\xfe1", b"\xed\xa0\x80",
    b'"', b'"abc', b'"1"', b'"1', b'1"', b'""', b'"a\r', b"'", b"1,2", b"1,2,secret", b"1,2,3,4", b",",
    b",,,", b";", b"\t", b"9" * 200_000, b"-" + b"9" * 5000, b"0." + b"0" * 9000 + b"1", b"nan", b"NaN",
    b"inf", b"-inf", b"Infinity", b"1e999", b"1e-999", b"1_0", b"0x10", b"1,5", b"1.5.5", b"true", b"TRUE",
    b"#", b"# secret", b"%", b"{", b"=1+1", b"--5", b"+", b"e", b"1e", b"a,b", b"x", b"height",
    b"\xef\xbb\xbf1", "\u0661\u0662".encode(), "\u2028".encode(), "\x85".encode(), "\U0001f600".encode(),
    b"\x1a", b"\x1b[2J", b"x" * (files.LONGEST_LINE + 5),
]  # fmt: skip
PAIRS = [
    b"0 0", b"1 2 3", b"1 2 nan", b"1,2,secret", b"1;2;-5", b"1 2 {'weight': 7}", b"1 2 {", b"1 2 {'\\d': 1}",
    b"1 2 {'weight': __import__('os')}", b"-1 2", b"0 99999999999", b"0 8388608", b"0 7", b"source,target",
    b"from to", b"a b c d", b"a,b", b"a\tb", b"a,a", b"secret,adam", b"1\t\t2", b"007 0008", b"1.0 2.0",
    b"0 1", b"1 0", b"1 2 1e999",
]  # fmt: skip
HOSTILE = {"numbers": NUMBERS, "pairs": [*NUMBERS, *PAIRS]}

ROWS = [f"{2 + 0.01 * (i % 7)}".encode() for i in range(60)]
TWO = [f"{i % 3},{i % 5}".encode() for i in range(60)]
MANY = [f"{i % 3},{i % 5}".encode() for i in range(400)]
LARGE = ["--epsilon", "8", "--delta", "1e-6", "--header"]  # a budget at which 400 records are enough
PURE = ["--epsilon", "10", "--header"]
EDGES = [f"{i} {j}".encode() for i in range(6) for j in range(i) if (i + j) % 3]
NAMED = [f"{'abcdef'[i]},{'abcdef'[j]}".encode() for i in range(6) for j in range(i) if (i + j) % 3]
BUDGET = ["--epsilon", "1", "--delta", "1e-6"]
MEAN = ["private", "gaussian", "{file}", "--epsilon", "1", "--estimate", "mean", "--radius", "9"]
SBM = ["private", "sbm", "{file}", *BUDGET]
CUTS = ["private", "cuts", "{file}", "--epsilon", "1", "--method", "constant"]
SCHEMA = {
    "height": {"type": "number", "low": 0, "high": 9},
    "region": {"type": "category", "values": ["0", "1", "2"]},
    "wage": {"type": "integer", "low": 0, "high": 9},
}

# name: (file, first line if it is a header, lines, command, kind of hostile lines)
READERS = {
    "one column, nothing stated": ("t.csv", None, ROWS, MEAN, "numbers"),
    "one column, stated": ("t.csv", None, ROWS, [*MEAN, "--columns", "1"], "numbers"),
    "header": ("t.csv", b"height", ROWS, [*MEAN, "--header"], "numbers"),
    "schema": ("t.csv", b"height", ROWS, [*MEAN[:6], "mean", "--schema", "{schema}"], "numbers"),
    "two columns of a header": ("t.csv", b"a,b", TWO, [*MEAN, "--header", "--columns", "b"], "numbers"),
    "tabs, latin-1": ("t.tsv", None, ROWS, [*MEAN, "--columns", "1", "--encoding", "latin-1"], "numbers"),
    "blanks": ("t.txt", None, ROWS, [*MEAN, "--columns", "1"], "numbers"),
    "gzip, decimal comma": (
        "t.csv.gz", None, ROWS,
        [*MEAN, "--columns", "1", "--separator", ";", "--decimal", ","], "numbers",
    ),
    **{
        name: ("t.csv", b"a,b", MANY, ["private", name, "{file}", *LARGE, "--target", "b"], "numbers")
        for name in ("regression", "logistic", "poisson")
    },
    "regression on categories": (
        "t.csv", b"region,wage", MANY,
        ["private", "regression", "{file}", *LARGE[:4], "--target", "wage", "--schema", "{schema}"],
        "numbers",
    ),
    "covariance, pure": ("t.csv", b"a,b", MANY, [*MEAN[:3], *PURE, "--estimate", "covariance"], "numbers"),
    "packing score": (
        "t.csv", b"a,b", MANY,
        [*MEAN[:3], "--epsilon", "8", *MEAN[5:], "--header", "--method", "packing"], "numbers",
    ),
    "components": (
        "t.csv", b"a,b", MANY, ["private", "pca", "{file}", *LARGE, "--components", "1"], "numbers"
    ),
    "markov field": (
        "t.csv", None, TWO,
        ["private", "mrf", "{file}", *BUDGET, "--columns", "2", "--method", "tree"],
        "numbers",
    ),
    "clusters": (
        "t.csv", None, TWO,
        ["private", "tuples", "{file}", *BUDGET, "--columns", "2", "--clusters", "2"],
        "numbers",
    ),
    "edges of numbers": ("g.txt", None, EDGES, [*SBM, "--nodes", "6"], "pairs"),
    "edges with a header": ("g.csv", b"u,v", EDGES, [*SBM, "--nodes", "6", "--header"], "pairs"),
    "edges of names": ("g.csv", None, NAMED, [*SBM, "--nodes", "{names}"], "pairs"),
    "edges, gzip": ("g.edgelist.gz", None, EDGES, [*SBM, "--nodes", "6"], "pairs"),
    "weighted edges": ("g.tsv", None, EDGES, [*CUTS, "--nodes", "6", "--weight-bound", "3"], "pairs"),
}  # fmt: skip


def positions(count: int) -> tuple[int, ...]:
    return 0, 8, count - 1


def written(path, header, lines):
    content = b"".join(line + b"\n" for line in ([] if header is None else [header]) + lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def seen(command):
    """What an onlooker sees of one run, the released value apart."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*command, "--json"])
    shown = out.getvalue()
    release = json.loads(shown) if shown else {}
    value = release.pop("value", None)
    main_fields = sorted(set(value) - {"mostly_one_value", "skewed", "at_bounds"}) if value else value
    return code, err.getvalue(), [str(w.message) for w in caught], shown.count("\n"), release, main_fields


def differences(tmp_path, name, hostile=None) -> Iterator[str]:
    """Hostile lines and positions at which the run looks different from the usual one."""
    file, header, lines, command, kind = READERS[name]
    path, schema, names = tmp_path / file, tmp_path / "s.json", tmp_path / "names"
    columns = {name: column for name, column in SCHEMA.items() if name in str(header)}
    schema.write_text(json.dumps({"format": "sosdp-schema/1", "columns": columns}))
    names.write_text("a\nb\nc\nd\ne\nf\n")
    command = [part.format(file=path, schema=schema, names=names) for part in command]
    written(path, header, lines)
    usual = seen(command)
    assert usual[0] == 0 and not usual[1] and not usual[2], usual
    places = positions(len(lines))
    # the packing score, half a second a fit, sees every sixth line: "covariance, pure" reads them alike
    whole = HOSTILE[kind][2::6] if name == "packing score" else HOSTILE[kind]
    for k, line in enumerate(whole if hostile is None else hostile):
        # the reading is one for all commands: those that take long see each line at one of the places
        for place in places[k % 3 :: 3] if name in SLOW and hostile is None else places:
            written(path, header, [*lines[:place], line, *lines[place + 1 :]])
            result = seen(command)
            if result != usual:
                yield f"{line[:40]!r} at {place}: {result}"


SLOW = (
    "regression",
    "regression on categories",
    "logistic",
    "poisson",
    "components",
    "weighted edges",
    "clusters",
    "edges, gzip",
    "edges with a header",
    "markov field",
    "packing score",
    "covariance, pure",
)


@pytest.mark.few(11)
@pytest.mark.parametrize("name", READERS)
def test_no_line_shows(tmp_path, name):
    result = list(differences(tmp_path, name))
    assert not result, result[:3]


def test_no_category_shows(tmp_path):
    """What is none of the schema's texts counts as the first."""
    lines = [b"", b"secret,1", b"nan,3", b"2,secret", b"\xff,2", b"-1,9"]
    assert not list(differences(tmp_path, "regression on categories", lines))


@pytest.mark.parametrize("place", positions(60))
def test_one_line_changes_its_own_record_only(tmp_path, place):
    """In the library: shapes, names and all other records are those of the usual file."""
    path = tmp_path / "t.csv"
    forms = [Form(), Form(encoding="latin-1"), Form(separator=";", decimal=","), Form(separator=None)]
    for form in forms:
        written(path, None, ROWS)
        usual = read_table(str(path), form, columns=1)
        for line in NUMBERS:
            written(path, None, [*ROWS[:place], line, *ROWS[place + 1 :]])
            result = read_table(str(path), form, columns=1)
            assert result.values.shape == usual.values.shape and result.assumptions == usual.assumptions
            others = np.arange(60) != place
            assert np.array_equal(result.values[others], usual.values[others], equal_nan=True)
            entry = result.values[place, 0]
            assert np.isnan(entry) or np.isfinite(entry)


def test_nothing_of_a_file_hangs_on_an_exception(tmp_path):
    """Files that cannot be read as their format: the one line has no byte of them, nor has its context."""
    secret = b"secret 7"
    (tmp_path / "a.csv.gz").write_bytes(secret)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(secret * 999)[:-9])
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(secret * 999)[:40] + b"\x00" * 60)
    for name in ("d.npy", "e.parquet"):
        (tmp_path / name).write_bytes(secret)
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(InputFileError) as caught:
            read_table(str(path), columns=1 if ".csv" in path.name else None)
        error: BaseException | None = caught.value
        while error is not None:
            assert "secret" not in str(error) and "7" not in str(error).replace(str(tmp_path), "")
            assert isinstance(error, InputFileError)
            error = error.__context__ or error.__cause__
        code, err, _, shown, _, _ = seen(
            ["private", "gaussian", str(path), "--epsilon", "1", "--radius", "9"]
        )
        assert code == 2 and err.count("\n") == 1 and not shown and "secret" not in err


@pytest.mark.parametrize("kind", [KeyError, ZeroDivisionError, RuntimeError, AssertionError, RecursionError])
def test_a_failure_in_a_fit_says_nothing(tmp_path, monkeypatch, kind):
    """No failure is expected; if there is one, neither its text nor a traceback is printed."""
    from problems.gaussian import PrivateMean

    def fails(self, X, y=None):
        raise kind("secret")

    monkeypatch.setattr(PrivateMean, "fit", fails)
    written(tmp_path / "t.csv", None, ROWS)
    code, err, _, shown, _, _ = seen([part.format(file=tmp_path / "t.csv") for part in MEAN])
    assert code == 2 and not shown and err.count("\n") == 1 and "secret" not in err
