"""`sosdp private count|sum|mean|quantile|histogram|table`: answers, every neighbour, warnings, bad input."""

import gzip
import itertools
import json
import os
import shlex

import numpy as np
import pytest

from problems.gaussian import PrivateMean
from sosdp.cli import main
from sosdp.cli.output import surprising
from sosdp.privacy import Table
from sosdp.privacy.verification.release_check import check_release

SCHEMA = {
    "format": "sosdp-schema/1",
    "columns": {
        "age": {"type": "integer", "low": 0, "high": 120},
        "pay": {"type": "number", "low": 0, "high": 1000, "decimal": ","},
        "region": {"type": "category", "values": ["N", "S"]},
        "born": {"type": "date", "low": "1900-01-01", "high": "2030-01-01", "format": "%d.%m.%Y"},
    },
    "separator": ";",
}
SECRET = "Xenophilius"
LINES = ["age;note;region;pay;born"] + [
    f"{k % 90};{SECRET};{'NS'[k % 2]};{k % 1000},5;0{k % 9 + 1}.02.19{k % 80 + 10}" for k in range(2000)
]


def run(capsys, *arguments):
    code = main(["private", *map(str, arguments)])
    return code, *capsys.readouterr()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "t.csv").write_text("\n".join(LINES) + "\n")
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("\n".join(LINES) + "\n")
    return tmp_path


QUERIES = {
    "count": ({"value": 2000}, 12),
    "count --column pay": ({"value": 2000}, 12),
    "sum --column pay": ({"value": 1_000_000}, 9000),
    "mean --column age": ({"value": 44.3}, 2),
    "quantile --column age --quantiles 0.5": ({"value": 44, "quantile": 0.5}, 4),
}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_have_the_stated_form(files, capsys, name):
    command, *options = name.split()
    expected, near = QUERIES[name]
    code, out, err = run(
        capsys, command, "t.csv.gz", "--schema", "s.json", "--epsilon", 2, *options, "--json"
    )
    assert code == 0 and not err and out.count("\n") == 1
    release = json.loads(out)
    assert release["format"] == "sosdp-release/1" and check_release(release).status == "valid"
    (row,) = release["value"]["rows"]
    assert set(row) == {"key", "value", "low", "high"} | set(expected) and row["key"] is None
    assert abs(row["value"] - expected["value"]) < near and row["low"] <= row["value"] <= row["high"]
    assert "n" not in release["public"] and "2000" not in json.dumps(release["public"])


def test_groups_histograms_and_dates(files, capsys):
    def rows(*arguments):
        code, out, err = run(capsys, *arguments, "--schema", "s.json", "--epsilon", 5, "--json")
        assert code == 0 and not err
        return json.loads(out)["value"]["rows"]

    keys = [row["key"] for row in rows("mean", "t.csv", "--column", "pay", "--by", "region")]
    assert keys == ["N", "S"]
    result = rows("quantile", "t.csv", "--column", "born", "--quantiles", "0.25,0.5", "--by", "region")
    assert [(row["key"], row["quantile"]) for row in result] == list(itertools.product("NS", (0.25, 0.5)))
    assert all(row["low"] <= row["value"] <= row["high"] and len(row["value"]) == 10 for row in result)
    assert [row["bin"] for row in rows("histogram", "t.csv", "--column", "region")] == ["N", "S"]
    bins = rows("histogram", "t.csv", "--column", "age", "--bins", "0,18,65")
    assert [row["bin"] for row in bins] == [[0, 18], [18, 65], [65, 120]]
    born = rows("histogram", "t.csv", "--column", "born", "--bins", "1950-01-01,2000-01-01")
    assert [row["bin"][0] for row in born] == ["1900-01-01", "1950-01-01", "2000-01-01"]
    assert abs(bins[0]["value"] - sum(k % 90 < 18 for k in range(2000))) < 12
    table = rows("table", "t.csv", "--by", "region")
    assert {row["statistic"] for row in table} == {"count", "mean", "quantile"}


def test_text_and_out(files, capsys):
    options = ("--schema", "s.json", "--epsilon", 1, "--by", "region", "--out", "r.json")
    code, out, _ = run(capsys, "mean", "t.csv", "--column", "age", *options)
    assert code == 0 and "epsilon = 1" in out and "key" in out and "95%" in out
    assert json.loads((files / "r.json").read_text())["value"]["rows"][0]["key"] == "N"
    assert main(["check-release", "r.json"]) == 0


def test_text_names_bins_and_says_what_a_synthetic_table_is(files, capsys):
    def text(command, *options, path="t.csv"):
        code, out, err = run(capsys, command, path, "--schema", "s.json", "--epsilon", 5, *options)
        assert code == 0 and not err
        return out

    bins = text("histogram", "--column", "age", "--bins", 61)
    assert "0 to 1" in bins and " 120 " in bins and "statistic" not in bins
    synthetic = text("synthetic", "--delta", "1e-8", "--column", "region,age", "--bins", 4)
    for said in (
        "2000 records (public)",
        "region - age",
        "at most 4 of a column",
        "region 0.0",
        "20 rows of 2000",
    ):
        assert said in synthetic
    (files / "t.csv").write_text("age;region;pay;born\n")
    assert "from 0 records" in text("synthetic", "--delta", "1e-8")


def test_the_last_row_that_is_shown_is_no_last_bin(files, capsys):
    """Of 2000 bins of one whole number each the last shown, 999, was said to hold 999 to 1000."""
    columns = {"age": {"type": "integer", "low": 0, "high": 1999}}
    (files / "s.json").write_text(json.dumps({**SCHEMA, "columns": columns}))
    options = ("--schema", "s.json", "--epsilon", 1, "--column", "age", "--bins", 2000)
    code, out, _ = run(capsys, "histogram", "t.csv", *options)
    assert code == 0 and "1000 rows of 2000" in out and "\n" in out
    assert " 999 " in out and "999 to" not in out


def test_standard_input(files, capsys):
    read, write = os.pipe()
    os.write(write, ("\n".join(LINES[:300]) + "\n").encode())
    os.close(write)
    kept = os.dup(0)
    try:
        os.dup2(read, 0)
        code, out, _ = run(capsys, "count", "-", "--schema", "s.json", "--epsilon", 10, "--json")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)
    assert code == 0 and abs(json.loads(out)["value"]["rows"][0]["value"] - 299) < 5


def test_small_files_have_the_quantiles_of_the_library(tmp_path, capsys):
    """All files of up to two lines: the shell draws what the library draws, whose laws are enumerated."""
    age = {"type": "number", "low": -10, "high": 80}
    schema = {**SCHEMA, "columns": {"age": age, "region": SCHEMA["columns"]["region"]}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    path = tmp_path / "t.csv"
    for lines in (lines for k in range(3) for lines in itertools.product(ENTRIES, repeat=k)):
        path.write_text("\n".join(["age;region", *lines, ""]))
        options = ("--epsilon", 1, "--column", "age", "--by", "region", "--insecure-seed", 7, "--json")
        code, out, err = run(capsys, "quantile", path, "--schema", tmp_path / "s.json", *options)
        assert code == 0 and not err
        records = [dict(zip(("age", "region"), line.split(";"), strict=False)) for line in lines]
        records = [one if line.count(";") == 1 else {} for one, line in zip(records, lines, strict=True)]
        table = Table(records, schema, 1.0, insecure_seed=7).by("region").quantiles("age")
        assert json.loads(out)["value"] == table.release().value


ENTRIES = ("-90;N", "80;S", "x;N", "1;2;3", '"', "99;N")


def test_neighbouring_files_exhaustively(tmp_path, capsys):
    """All files of up to two lines: what the shell prints is the exact sum of the lines that can be read plus
    noise that is the same for all files, and one line more moves one sum by no more than is paid for."""
    age = {"type": "integer", "low": -10, "high": 80}
    columns = {"age": age, "region": SCHEMA["columns"]["region"]}
    (tmp_path / "s.json").write_text(json.dumps({**SCHEMA, "columns": columns}))
    path, noises, sums = tmp_path / "t.csv", set(), {}
    for lines in (lines for k in range(3) for lines in itertools.product(ENTRIES, repeat=k)):
        path.write_text("\n".join(["age;region", *lines, ""]))
        options = ("--epsilon", 1, "--column", "age", "--by", "region", "--insecure-seed", 7, "--json")
        code, out, err = run(capsys, "sum", path, "--schema", tmp_path / "s.json", *options)
        assert code == 0 and not err
        release = json.loads(out)
        exact = {"N": 0, "S": 0}
        for age_text, _, region in (line.partition(";") for line in lines):
            if region in exact and age_text.lstrip("-").isdecimal():
                exact[region] += min(max(int(age_text), -10), 80)
        noises.add(tuple(row["value"] - exact[row["key"]] for row in release["value"]["rows"]))
        sums[lines] = exact
        (law,) = release["guarantee"]["evidence"]["laws"]
    assert len(noises) == 1
    moved = max(
        sum(abs(sums[lines][key] - sums[lines[:i] + lines[i + 1 :]][key]) for key in "NS")
        for lines in sums
        for i in range(len(lines))
    )
    assert moved == float(law["sensitivity"]) == float(law["scale"]) == 80  # epsilon 1, and no less


def test_warnings_are_one_line_about_public_numbers(files, capsys):
    code, out, err = run(capsys, "count", "t.csv", "--schema", "s.json", "--epsilon", "1e9", "--json")
    assert code == 0 and json.loads(out) and err.count("\n") == 1 and "epsilon" in err
    (files / "g.csv").write_text("1.5\n" * 200)
    options = ("--epsilon", 1, "--delta", 0.5, "--columns", 1, "--estimate", "mean", "--radius", 5)
    code, _, err = run(capsys, "gaussian", "g.csv", *options, "--json")
    assert code == 0 and err.count("\n") == 1 and "delta" in err
    options = ("t.csv", "--schema", "s.json", "--epsilon", 1)
    code, out, err = run(capsys, "count", *options, "--delta", 1e-6)
    assert code == 0 and "delta = 0" in out and err == "--delta: not needed here, and not spent\n"
    with pytest.warns(UserWarning, match="delta = 0.5 is above 0.001"):
        PrivateMean(1.0, delta=0.5, bounds=None, contamination=0.0).fit(np.eye(2000, 1))
    for delta, n, warned in ((1e-4, 200, True), (1e-6, 200, False), (1e-4, None, False), (0.1, None, True)):
        assert bool(surprising({"guarantee": {"epsilon": 1, "delta": delta}, "public": {"n": n}})) == warned


def schema(**changes):
    return lambda: json.dumps({**SCHEMA, **changes})


def column(name, **changes):
    def text():
        columns = {**SCHEMA["columns"], name: {**SCHEMA["columns"].get(name, {}), **changes}}
        return json.dumps({**SCHEMA, "columns": columns})

    return text


MEAN = "mean t.csv --schema s.json --epsilon 1 --column age"
WRONG = {
    # the command line
    "no schema": "count t.csv --epsilon 1",
    "no column": "mean t.csv --schema s.json --epsilon 1",
    "no epsilon": "count t.csv --schema s.json",
    "no file": "count none.csv --schema s.json --epsilon 1",
    "a folder without files": "count empty --schema s.json --epsilon 1",
    "no schema file": "count t.csv --schema none.json --epsilon 1",
    "a schema that is a folder": "count t.csv --schema empty --epsilon 1",
    "epsilon 0": "count t.csv --schema s.json --epsilon 0",
    "epsilon below 0": "count t.csv --schema s.json --epsilon=-1",
    "epsilon nan": "count t.csv --schema s.json --epsilon nan",
    "epsilon infinite": "count t.csv --schema s.json --epsilon inf",
    "epsilon too small": "count t.csv --schema s.json --epsilon 1e-310",
    "epsilon a word": "count t.csv --schema s.json --epsilon much",
    "delta 2": f"{MEAN} --delta 2",
    "delta below 0": f"{MEAN} --delta=-1e-6",
    "delta nan": f"{MEAN} --delta nan",
    "unknown column": "mean t.csv --schema s.json --epsilon 1 --column wages",
    "a column of the file that the schema lacks": "count t.csv --schema s.json --epsilon 1 --column note",
    "mean of categories": "mean t.csv --schema s.json --epsilon 1 --column region",
    "sum of dates": "sum t.csv --schema s.json --epsilon 1 --column born",
    "quantile of categories": "quantile t.csv --schema s.json --epsilon 1 --column region",
    "by an unknown column": f"{MEAN} --by place",
    "by numbers": f"{MEAN} --by pay",
    "quantiles of a mean": f"{MEAN} --quantiles 0.5",
    "bins of a mean": f"{MEAN} --bins 3",
    "clusters of a mean": f"{MEAN} --clusters 3",
    "quantile 2": "quantile t.csv --schema s.json --epsilon 1 --column age --quantiles 2",
    "quantile a word": "quantile t.csv --schema s.json --epsilon 1 --column age --quantiles half",
    "quantile nothing": "quantile t.csv --schema s.json --epsilon 1 --column age --quantiles ,",
    "quantile without any": "quantile t.csv --schema s.json --epsilon 1 --column age --quantiles ''",
    "bins a word": "histogram t.csv --schema s.json --epsilon 1 --column age --bins many",
    "bins 0": "histogram t.csv --schema s.json --epsilon 1 --column age --bins 0",
    "bins that fall": "histogram t.csv --schema s.json --epsilon 1 --column age --bins 9,3",
    "bins of categories": "histogram t.csv --schema s.json --epsilon 1 --column region --bins 3",
    "adjacency of edges": f"{MEAN} --adjacency 'one edge'",
    "adjacency of users without owners": f"{MEAN} --adjacency 'one user (replace)'",
    "an unknown statistic": "median t.csv --schema s.json --epsilon 1 --column age",
    "a folder for the result that is not there": f"{MEAN} --out no/r.json",
    # estimators of tables
    "a column of texts for an estimator": "gaussian t.csv --schema s.json --epsilon 1 --columns region",
    "a target that the schema lacks": "regression t.csv --schema s.json --epsilon 1 --target wages",
    "a column that an estimator lacks": "pca t.csv --schema s.json --epsilon 1 --columns wages",
    # the file
    "broken gz": "count broken.csv.gz --schema s.json --epsilon 1",
    "broken zst": "count broken.csv.zst --schema s.json --epsilon 1",
    "broken parquet": "mean broken.parquet --schema s.json --epsilon 1 --column age",
    "a picture": "count t.png --schema s.json --epsilon 1",
    "a column missing in the header": "count short.csv --schema s.json --epsilon 1",
    "a column twice in the header": "count twice.csv --schema s.json --epsilon 1",
    "no header": "count nothing.csv --schema s.json --epsilon 1",
    "a column that Parquet lacks": "count other.parquet --schema s.json --epsilon 1",
    # the schema
    "not json": lambda: "{",
    "a list": lambda: "[]",
    "another format": schema(format="sosdp-schema/2"),
    "an unknown key": schema(sep=";"),
    "no columns": schema(columns={}),
    "a long separator": schema(separator="ab"),
    "an unknown encoding": schema(encoding="utf-99"),
    "an encoding of two bytes": schema(encoding="utf-16"),
    "header as a word": schema(header="yes"),
    "an owner without a bound": schema(owner={"column": "note"}),
    "an owner of 0 records": schema(owner={"column": "note", "records": 0}),
    "an owner that the file lacks": schema(owner={"column": "who", "records": 1}),
    "an unknown type": column("age", type="whole"),
    "low above high": column("age", low=200),
    "a bound that is a word": column("age", low="0"),
    "no bound": column("age", high=None),
    "categories twice": column("region", values=["N", "N"]),
    "categories that are none": column("region", values=3),
    "a date without a format": column("born", format=""),
    "a date bound that is none": column("born", low="yesterday"),
    "an unknown key of a column": column("age", mean=3),
    "a decimal mark that is none": column("pay", decimal="x"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_bad_input_is_one_line_and_shows_nothing(files, complaint, kind):
    (files / "empty").mkdir()
    (files / "broken.csv.gz").write_text(SECRET)
    (files / "broken.csv.zst").write_text(SECRET)
    (files / "broken.parquet").write_text(SECRET)
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"age": [1, 2], "note": [SECRET] * 2}).to_parquet(files / "other.parquet")
    (files / "t.png").write_text(SECRET)
    (files / "short.csv").write_text("age;region\n" + SECRET)
    (files / "twice.csv").write_text("age;age;region;pay;born\n" + SECRET)
    (files / "nothing.csv").write_text("")
    command = WRONG[kind]
    if callable(command):
        (files / "s.json").write_text(command())
        command = "count t.csv --schema s.json --epsilon 1"
    there = {path: path.is_file() and path.read_bytes() for path in files.rglob("*")}
    err = complaint("private", *shlex.split(command))
    assert SECRET not in err and len(err) < 300 and len(WRONG) >= 48
    assert {path: path.is_file() and path.read_bytes() for path in files.rglob("*")} == there  # nothing lost


@pytest.mark.parametrize("options", ["--column no", "--column region", "--column pay --by pay"])
def test_what_the_schema_does_not_offer_names_its_file(files, complaint, options):
    command = ("private", "mean", "t.csv", "--schema", "s.json", "--epsilon", 1)
    assert "s.json: " in complaint(*command, *options.split())


def test_hostile_lines_are_records_that_are_missing(files, capsys):
    """No line changes the form of the answer, or is shown."""
    for line in (
        "",
        '"',
        "\x00" * 9,
        ";" * 99,
        "9" * 5000 + ";;N;;",
        "nan;;N;inf;",
        f"{SECRET};;;;",
        "é;;N;1;",
    ):
        (files / "t.csv").write_bytes(
            ("\n".join(LINES[:50]) + "\n").encode() + line.encode("latin-1") + b"\n"
        )
        for options in (
            ("count",),
            ("mean", "--column", "pay", "--by", "region"),
            ("histogram", "--column", "born"),
        ):
            code, out, err = run(
                capsys, options[0], "t.csv", "--schema", "s.json", "--epsilon", 1, *options[1:], "--json"
            )
            assert code == 0 and not err and SECRET not in out
