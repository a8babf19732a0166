"""`sosdp private gaussian|gmm`: values, refusals, and errors about the form of the input only."""

import datetime
import gzip
import json
import math

import numpy as np
import pytest

from problems.gaussian import PrivateMean
from sosdp.privacy.files import Form, InputFileError
from sosdp.privacy.guarantee.condition import Kind, kind_of
from sosdp.privacy.table.whole import read_table
from tests.cli.test_emit import _run
from tests.refusals import refuse


@pytest.fixture
def table(tmp_path):
    rows = np.random.default_rng(0).standard_normal((400, 1)) + 2.0
    np.save(tmp_path / "t.npy", rows)
    lines = ["height"] + [f"{v!r}" for v in rows[:, 0].tolist()]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_mean_of_a_table(table, capsys):
    code, out, err = _run(
        capsys, "private", "gaussian", table / "t.csv", "--epsilon", 1, "--estimate", "mean", "--radius", 50,
        "--header", "--json",
    )  # fmt: skip
    assert code == 0 and not err
    release = json.loads(out)
    assert release["format"] == "sosdp-release/1" and release["public"]["n"] == 400
    assert release["value"]["released"] and abs(release["value"]["mean"][0] - 2.0) < 0.5
    assert release["guarantee"]["epsilon"] <= 1 and release["guarantee"]["kind"] == "exact"
    assert "private" not in out.replace("sosdp private", "")


def test_the_packing_score_is_the_same_in_both_doors(table, capsys):
    options = ["--epsilon", 2, "--estimate", "mean", "--radius", 50, "--method", "packing"]
    command = ["private", "gaussian", table / "t.npy", *options, "--contamination", 0.1, "--json"]
    code, out, err = _run(capsys, *command, "--insecure-seed", 3)
    model = PrivateMean(
        2.0, bounds=(-50, 50), contamination=0.1, method="packing", interval=None, insecure_seed=3
    ).fit(np.load(table / "t.npy"))
    assert code == 0 and json.loads(out)["value"]["mean"] == model.mean_.tolist()
    code, out, err = _run(capsys, *command)
    assert code == 0 and json.loads(out)["guarantee"]["kind"] == "certified"


def test_mean_and_covariance_and_plain_text(table, capsys):
    code, out, _ = _run(
        capsys, "private", "gaussian", table / "t.npy", "--epsilon", 2, "--radius", 50, "--condition", 4
    )
    assert code == 0 and "mean" in out and "covariance" in out and "epsilon = 2" in out


def test_raw_columns_with_and_without_bounds(tmp_path, capsys):
    scales = np.array([14.0, 0.003])
    np.save(tmp_path / "raw.npy", np.random.default_rng(1).standard_normal((2000, 2)) * scales)
    for bounds in ([], ["--bounds", "-1e4:1e4,-5:5"], ["--bounds=-1e4:1e4"], ["--radius", 1e5]):
        code, out, _ = _run(
            capsys,
            "private",
            "gaussian",
            tmp_path / "raw.npy",
            "--epsilon",
            1,
            "--delta",
            1e-6,
            *bounds,
            "--json",
        )
        release = json.loads(out)
        assert code == 0 and release["value"]["released"]
        assert np.all(np.abs(release["value"]["mean"]) < 0.2 * scales)
        covariance = np.array(release["value"]["covariance"]) / np.outer(scales, scales)
        assert np.linalg.norm(covariance - np.eye(2)) < 0.5
        assert release["public"]["contamination"] == 0.05


@pytest.mark.slow
def test_tuples_and_promises_about_clusters(tmp_path, capsys):
    generator = np.random.default_rng(0)
    centres = 50.0 * np.eye(3)[:, :2]
    np.save(tmp_path / "c.npy", centres[generator.integers(3, size=3000)] + generator.normal(size=(3000, 2)))
    budget = ("--epsilon", 8, "--delta", 1e-3, "--clusters", 3, "--least-weight", 0.3, "--insecure-seed", 1)
    for more in ((), ("--sigma", 1, "--separation", 40), ("--bounds", "-60:60,-70:70")):
        code, out, _ = _run(capsys, "private", "tuples", tmp_path / "c.npy", *budget, *more, "--json")
        release = json.loads(out)
        assert code == 0 and release["mechanism"] == "tuples.kmeans" and release["value"]["released"]
        result = np.array(release["value"]["centers"])
        assert np.linalg.norm(result[:, None] - centres[None], axis=2).min(axis=0).max() < 1.0
        assert abs(sum(release["value"]["weights"]) - 1.0) < 1e-9
    few = ("--epsilon", 1, "--delta", 1e-6, "--clusters", 3)
    code, out, _ = _run(capsys, "private", "tuples", tmp_path / "c.npy", *few)
    assert code == 0 and "records are needed" in out
    promises = ("--separation", 40, "--elongation", 2, "--least-weight", 0.2, "--json")
    code, out, _ = _run(capsys, "private", "gmm", tmp_path / "c.npy", *few, *promises)
    assert code == 0 and "released" in json.loads(out)["value"]


def test_a_refusal_is_a_release(table, capsys):
    code, out, _ = _run(
        capsys, "private", "gmm", table / "t.npy", "--epsilon", 1, "--delta", 1e-6, "--clusters", 3, "--json"
    )
    release = json.loads(out)
    assert code == 0 and release["value"] == {"centers": None, "weights": None, "released": False}
    code, out, _ = _run(
        capsys, "private", "gaussian", table / "t.npy", "--epsilon", 0.01, "--delta", 1e-9,
        "--estimate", "mean", "--json",
    )  # fmt: skip
    assert code == 0 and json.loads(out)["value"] == {"mean": None, "released": False}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gaussian", "t.npy", "--estimate", "mode"), "--estimate"),
        (("gaussian", "t.npy", "--bounds", "low"), "--bounds"),
        (("gaussian", "t.npy", "--bounds", "0:1", "--radius", "5"), "not both"),
        (("gaussian", "t.npy", "--bounds", "5:1"), "low < high"),
        (("gaussian", "t.npy", "--sigma", "-1"), "--sigma"),
        (("gaussian", "t.npy", "--radius", "5", "--clusters", "2"), "no such parameter"),
        (("gaussian", "t.npy", "--radius", "5", "--tau", "2"), "no such parameter"),
        (("gaussian", "t.npy", "--radius", "-5"), "radius"),
        (("gaussian", "none.npy", "--radius", "5"), "no such file"),
        (("gaussian", "t.doc", "--radius", "5"), "no such file"),
        (("gaussian", "builtin:moon", "--radius", "5"), "no such table"),
        (("gmm", "t.npy", "--delta", "1e-6"), "--clusters"),
        (("tuples", "t.npy", "--delta", "1e-6"), "--clusters"),
        (("tuples", "t.npy", "--delta", "1e-6", "--clusters", "3", "--elongation", "2"), "--elongation"),
        (("gmm", "t.npy", "--delta", "1e-6", "--clusters", "3", "--least-weight", "0.5"), "least_weight"),
        (("sbm", "builtin:karate", "--delta", "1e-6", "--least-weight", "0.2"), "--least-weight"),
        (("sbm", "builtin:karate", "--delta", "1e-6", "--clusters", "2"), "no such parameter"),
        (("cuts", "t.npy"), "graph file"),
    ],
)
def test_bad_input_is_one_line(table, complaint, monkeypatch, arguments, words):
    monkeypatch.chdir(table)
    assert words in complaint("private", *arguments, "--epsilon", 1)


def read(path, header=False, columns=None, **form):
    return read_table(str(path), Form(header=header, **form), columns=columns).values


def test_every_line_is_a_record(tmp_path):
    """n is the number of lines; a line that is no record of the stated width is one of missing entries."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'1,2\nx,\n3,nan\n\n3\n1,2,3\n"\n\xff,1\n' + b"9" * 200_000 + b",5\n7,inf\n")
    result = read(path, columns=2)
    assert result.shape == (10, 2)
    assert result[0].tolist() == [1.0, 2.0] and result[2, 0] == 3.0 and result[8, 1] == 5.0
    assert np.isnan(result).sum() == 20 - 5
    path = tmp_path / "b.txt"
    path.write_text("1 2\r\n3 4\r\n\r\n5 6")  # a last line without an end counts
    assert read_table(str(path)).values[[0, 1, 3]].tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert len(read_table(str(path)).values) == 4
    for name, text in (("c.csv", ""), ("d.csv", "a,b\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputFileError, match=r"no lines|no columns"):
            read(tmp_path / name, header=True)


def test_the_number_of_columns_is_stated_or_a_condition(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n3\n5,6\n")
    counted = read_table(str(path))
    assert counted.values.shape == (3, 2) and "more than half" in counted.assumptions[0]
    assert not any("half" in text for text in read_table(str(path), columns=2).assumptions)
    assert read(path, columns=1).tolist()[1] == [3.0]  # the others have another number of fields
    path.write_text("1,2\n3\n")
    refuse((lambda: read(path), "state it", InputFileError))
    path.write_text("1;2\n3;4\n")
    assert "--separator" in read_table(str(path)).assumptions[0]
    assert read(path, separator=";").shape == (2, 2)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_whose_last_line_does_not_end_is_conditional(tmp_path, name):
    """With an empty last record, which has no byte, it would have one record less."""
    path = tmp_path / name
    for content, conditional in ((b"1\n2", True), (b"1\n2\n", False), (b"1\n\n", False)):
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        table = read_table(str(path), columns=1)
        assert len(table.values) == 2
        assert (kind_of(table.assumptions) is Kind.CONDITIONAL) == conditional


def test_names_of_columns_with_commas(tmp_path, capsys, complaint):
    path = tmp_path / "a.csv"
    path.write_text('"height, cm",b\n' + "2,3\n" * 50)
    command = ("private", "gaussian", path, "--epsilon", 1, "--estimate", "mean", "--radius", 9, "--header")
    code, out, _ = _run(capsys, *command, "--columns", '"height, cm"', "--json")
    assert code == 0 and json.loads(out)["public"]["columns"] == ["height, cm"]
    complaint(*command, "--columns", "height, cm")
    (tmp_path / "t.csv").write_text("1\n2\n" * 200)
    ask = ["private", "gaussian", tmp_path / "t.csv", "--epsilon", 1, "--estimate", "mean", "--radius", 9]
    assert "not the mean of all rows" in _run(capsys, *ask)[1]
    whole = _run(
        capsys, *ask[:3], "--epsilon", 50, "--delta", 0.001, "--estimate", "covariance", "--contamination", 0
    )[1]
    assert "covariance of all rows" in whole and "clipped_share  0.0" in whole  # of two values none is beyond
    for options, kind in (([], "conditional"), (["--columns", 1], "exact")):
        code, out, _ = _run(capsys, *ask, *options, "--json")
        assert code == 0 and json.loads(out)["guarantee"]["kind"] == kind
    complaint(*ask, "--columns", "a")


def test_a_first_row_without_numbers_is_a_record_unless_it_is_said_to_be_a_header(tmp_path):
    """The number of rows is public: it must not depend on what the first one holds."""
    (tmp_path / "a.csv").write_text("NA,NA\n1,2\n3,4\n")
    assert read(tmp_path / "a.csv").shape == (3, 2)
    assert read(tmp_path / "a.csv", header=True).shape == (2, 2)
    (tmp_path / "f.npy").write_bytes(b"nothing")
    refuse((lambda: read_table(str(tmp_path / "f.npy")), "npy", InputFileError))


def test_columns_are_chosen_by_their_names(table, capsys):
    rows = "\n".join(f"P{i},{70000 + i % 7},x,{(1 + i % 5) * 1e-9!r}" for i in range(400))
    (table / "w.csv").write_text("patient,weight,ward,mol\n" + rows + "\n")
    assert read(table / "w.csv", True, ["mol", "weight"])[0].tolist() == [1e-9, 70000.0]
    code, out, err = _run(
        capsys, "private", "gaussian", table / "w.csv", "--header", "--columns", "weight, mol",
        "--epsilon", 20, "--delta", "1e-6", "--estimate", "mean", "--bounds", "0:300000,0:1e-8", "--json",
    )  # fmt: skip
    assert code == 0 and not err
    mean = json.loads(out)["value"]["mean"]
    assert abs(mean[0] - 70003) < 3000 and abs(mean[1] - 3e-9) < 1e-9
    for columns, header, words in (
        (["age"], True, "age: no such column; there are: patient"),
        (["age"], False, "header"),
        (["mol", "mol"], True, "mol: named twice"),
        ([], True, "no column is named"),
    ):
        with pytest.raises(InputFileError, match=words):
            read(table / "w.csv", header, columns)
    (table / "twice.csv").write_text("a,a\n1,2\n")
    refuse(
        (lambda: read(table / "twice.csv", True, ["a"]), "several columns", InputFileError),
        (lambda: read_table(str(table / "t.npy"), columns=["a"]), "--columns", InputFileError),
    )


def test_columns_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"name": ["x", "y"], "age": [1.0, None]}).to_parquet(tmp_path / "t.parquet")
    ages = read_table(str(tmp_path / "t.parquet"), columns=["age"]).values[:, 0]
    assert ages[0] == 1.0 and math.isnan(ages[1])
    refuse(
        (lambda: read_table(str(tmp_path / "t.parquet"), columns=["size"]), "no such column", InputFileError),
        (
            lambda: read_table(str(tmp_path / "t.parquet"), columns=["age", "age"]),
            "named twice",
            InputFileError,
        ),
        (
            lambda: read_table(str(tmp_path / "t.parquet")),
            'no numbers in column \'name\'.*categories by a public schema=.*"decimal": "," in a schema',
            InputFileError,
        ),
    )


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_separator_is_that_of_the_column_names(tmp_path, capsys, mark):
    """Spreadsheets of half the world write semicolons; the names are public, so they may decide."""
    rows = f"1{mark}2\n3{mark}4\n" * 300
    (tmp_path / "a.csv").write_text(f"\ufeffa{mark}b\n{rows}", encoding="utf-8")
    ask = ["private", "gaussian", tmp_path / "a.csv", "--epsilon", 4, "--estimate", "mean", "--radius", 9]
    code, out, _ = _run(capsys, *ask, "--header", "--json")
    assert code == 0 and json.loads(out)["public"]["columns"] == ["a", "b"]
    assert json.loads(_run(capsys, *ask, "--json")[1])["public"]["dimension"] == 1  # nothing is guessed
    assert read(tmp_path / "a.csv", True, separator=mark).tolist()[:2] == [[1.0, 2.0], [3.0, 4.0]]
    assert "the header is one name that holds" in _run(capsys, *ask, "--header", "--separator", ",")[2]


def test_the_form_is_stated(tmp_path, capsys, complaint):
    """Separator, decimal mark and encoding by options, or all of it by a schema."""
    rows = ["größe;einkommen;ort", *(f"{170 + i % 5};1{i % 7}00,5;Köln" for i in range(2000))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n", encoding="latin-1")
    ask = ["private", "gaussian", tmp_path / "a.csv", "--epsilon", 4, "--estimate", "mean", "--json"]
    declared = ["--header", "--separator", ";", "--decimal", ",", "--encoding", "latin-1"]
    both = ["--columns", "größe,einkommen"]
    code, out, err = _run(capsys, *ask, *declared, *both, "--bounds", "0:300,0:9000")
    assert code == 0 and not err
    mean = json.loads(out)["value"]["mean"]
    assert abs(mean[0] - 172) < 2 and abs(mean[1] - 1300) < 60
    columns = {
        "größe": {"type": "integer", "low": 0, "high": 300},
        "einkommen": {"type": "number", "low": 0, "high": 9000, "decimal": ","},
    }
    form = {"format": "sosdp-schema/1", "columns": columns, "separator": ";", "encoding": "latin-1"}
    schema = tmp_path / "s.json"
    schema.write_text(json.dumps(form))
    code, out, err = _run(capsys, *ask, "--schema", schema)
    assert code == 0 and not err
    release = json.loads(out)
    assert abs(release["value"]["mean"][1] - 1300) < 60 and release["public"]["columns"] == list(columns)
    assert release["public"]["bounds"] == [[0.0, 300.0], [0.0, 9000.0]]
    assert release["guarantee"]["kind"] == "exact"
    wrong = [
        (form | {"colour": 1}, "colour: unknown key"),
        (form | {"format": "sosdp-schema/2"}, "format"),
        (
            form | {"columns": {"a": {"type": "text"}}},
            "columns.a.type: one of integer, number, category, date, "
            "boolean is expected; for 'text' say 'category'",
        ),
        (form | {"columns": {"a": {"type": "number", "low": 2, "high": 1}}}, "low <= high"),
        (form | {"columns": {"a": {"type": "integer", "low": 0.2, "high": 0.8}}}, "low <= high"),
        (form | {"columns": {"a": {"type": "number", "low": 0, "high": 1}}}, "a: no such column"),
        (form | {"columns": {"ort": {"type": "category", "values": ["Köln"]}}}, "category"),
        (form | {"encoding": "utf-16"}, "encoding"),
        (form | {"separator": "::"}, "separator"),
        (form | {"owner": {"column": "ort", "records": 2}}, "owner"),
    ]
    for content, words in wrong:
        schema.write_text(json.dumps(content))
        assert words in complaint(*ask, "--schema", schema)


def test_entries_of_a_schema_have_one_meaning():
    from sosdp.privacy.schema import Schema

    columns = {
        "age": {"type": "integer", "low": 0, "high": 120},
        "born": {"type": "date", "low": "1970-01-01", "high": "2030-01-01", "format": "%Y-%m-%d"},
        "region": {"type": "category", "values": ["N", "S"]},
        "pay": {"type": "number", "low": np.int64(0), "high": np.float32(10), "decimal": ","},
        "day": {"type": "date", "low": datetime.date(1970, 1, 1), "high": np.datetime64("2030-01-01", "ns")},
        "ill": {"type": "boolean"},
    }
    schema = Schema.from_dict({"format": "sosdp-schema/1", "columns": columns})
    meant = {
        "age": {"7": 7.0, " 7 ": 7.0, "7.0": 7.0, "7.5": None, "500": 120.0, "-3": 0.0, "x": None, "": None},
        "born": {"1970-01-02": 1.0, "1960-01-01": 0.0, "2031-01-01": 21915.0, "2.1.1970": None},
        "region": {"S": 1.0, " N\r": 0.0, "n": None},
        "pay": {"2,5": 2.5, "2.5": None, "1e1": 10.0, "inf": None, "nan": None},
        "day": {"1970-01-02": 1.0, "2031-01-01": 21915.0},
        "ill": {"true": 1.0, "False": 0.0, "1": 1.0, "0.5": None, "yes": None},
    }
    for name, entries in meant.items():
        for text, number in entries.items():
            result = schema.column(name).read(text)
            assert (math.isnan(result) and number is None) or result == number, (name, text, result)


def test_truths_are_numbers_each_by_itself(tmp_path):
    """What an entry is read as does not depend on the other records: every table of one of them."""
    known = {
        "True": 1.0, "TRUE": 1.0, "true": 1.0, " true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0,
        "tRUE": None, "yes": None, "T": None, "": None, "nan ": None, "1e3": 1000.0, "Infinity": None,
    }  # fmt: skip
    for others in (["0", "1"], ["True", "False"], ["x", "-"]):
        for text, number in known.items():
            (tmp_path / "t.csv").write_text("".join(f"{entry},0\n" for entry in (text, *others)))
            result = read(tmp_path / "t.csv")[0, 0]
            assert result == number or (number is None and result != result)


@pytest.fixture
def people(tmp_path):
    g = np.random.default_rng(7)
    rows = zip(g.lognormal(10.0, 1.0, 3000).tolist(), (g.random(3000) < 0.2).tolist(), strict=True)
    (tmp_path / "p.csv").write_text("salary,smoker\n" + "".join(f"{a!r},{b}\n" for a, b in rows))
    return tmp_path / "p.csv"


def _mean_of(table, epsilon):
    named = ["private", "gaussian", table, "--header", "--estimate", "mean"]
    return [*named, "--epsilon", epsilon, "--insecure-seed", 1]


def test_shares_logarithms_and_names_from_the_shell(people, capsys, complaint):
    ask = _mean_of(people, 4)
    code, out, err = _run(
        capsys, *ask, "--bounds", "1:1e7,0:1", "--log", "salary", "--tight", "smoker", "--json"
    )
    assert code == 0 and not err
    release = json.loads(out)
    assert release["public"]["columns"] == ["salary", "smoker"]
    middle, share = release["value"]["mean"]
    assert 20_000 < middle < 24_500 and abs(share - 0.2) < 0.05
    assert release["public"]["estimates"][0].startswith("exp(") and "at_bounds" not in release["value"]
    code, out, _ = _run(capsys, *ask, "--columns", "salary", "--bounds", "1:1e7", "--contamination", "0.05")
    assert code == 0 and "folded mean;" in out and "column  folded mean      low" in out
    code, out, _ = _run(capsys, *ask, "--columns", "smoker", "--method", "median", "--bounds", "0:1")
    assert code == 0 and "  median;" in out and "column  median" in out
    wrong = [
        (["--log", "wage"], "--log: wage: no such column; there are: salary, smoker"),
        (["--estimate", "covariance", "--log", "salary"], "only --estimate mean has it"),
    ]
    for options, words in wrong:
        assert words in complaint(*ask, *options)
    assert "--log all" in complaint(*[a for a in ask if a != "--header"], "--log", "salary")
