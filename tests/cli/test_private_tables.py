"""`sosdp private gaussian|gmm`: values, refusals, and errors about the form of the input only."""

import json
import math

import numpy as np
import pytest

from sosdp.cli import main, private_gaussian
from sosdp.cli.tables import TableFileError, read_table


def _run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    return code, *capsys.readouterr()


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


def test_tuples_and_promises_about_clusters(tmp_path, capsys):
    generator = np.random.default_rng(0)
    centres = 50.0 * np.eye(3)[:, :2]
    np.save(tmp_path / "c.npy", centres[generator.integers(3, size=3000)] + generator.normal(size=(3000, 2)))
    budget = ("--epsilon", 8, "--delta", 1e-3, "--clusters", 3, "--least-weight", 0.3, "--insecure-seed", 1)
    for more in ((), ("--sigma", 1, "--separation", 40)):
        code, out, _ = _run(capsys, "private", "tuples", tmp_path / "c.npy", *budget, *more, "--json")
        release = json.loads(out)
        assert code == 0 and release["mechanism"] == "tuples.kmeans" and release["value"]["released"]
        found = np.array(release["value"]["centers"])
        assert np.linalg.norm(found[:, None] - centres[None], axis=2).min(axis=0).max() < 1.0
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
def test_bad_input_is_one_line(table, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(table)
    code, out, err = _run(capsys, "private", *arguments, "--epsilon", 1)
    assert code == 2 and not out and err.count("\n") == 1 and words in err


def test_entries_never_raise(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\nx,\n3,nan\n")
    assert read_table(str(tmp_path / "a.csv")).shape == (3, 2)
    (tmp_path / "b.txt").write_text("1 2\n3 4\n\n")
    assert read_table(str(tmp_path / "b.txt")).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    for name, text in (("c.csv", "0,0\n1,2\n3\n"), ("d.csv", ""), ("e.tsv", "name\tage\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(TableFileError):
            read_table(str(tmp_path / name), header=True)


def test_a_first_row_without_numbers_is_a_record_unless_it_is_said_to_be_a_header(tmp_path):
    """The number of rows is public: it must not depend on what the first one holds."""
    (tmp_path / "a.csv").write_text("NA,NA\n1,2\n3,4\n")
    assert read_table(str(tmp_path / "a.csv")).shape == (3, 2)
    assert read_table(str(tmp_path / "a.csv"), header=True).shape == (2, 2)
    (tmp_path / "f.npy").write_bytes(b"nothing")
    with pytest.raises(TableFileError, match="npy"):
        read_table(str(tmp_path / "f.npy"))


def test_columns_are_chosen_by_their_names(table, capsys):
    rows = "\n".join(f"P{i},{70000 + i % 7},x,{(1 + i % 5) * 1e-9!r}" for i in range(400))
    (table / "w.csv").write_text("patient,weight,ward,mol\n" + rows + "\n")
    assert read_table(str(table / "w.csv"), True, ["mol", "weight"])[0].tolist() == [1e-9, 70000.0]
    code, out, err = _run(
        capsys, "private", "gaussian", table / "w.csv", "--header", "--columns", "weight, mol",
        "--epsilon", 20, "--delta", "1e-6", "--estimate", "mean", "--bounds", "0:300000,0:1e-8", "--json",
    )  # fmt: skip
    assert code == 0 and not err
    mean = json.loads(out)["value"]["mean"]
    assert abs(mean[0] - 70003) < 3000 and abs(mean[1] - 3e-9) < 1e-9
    for columns, header, words in (
        (["age"], True, "age: no such column; there are: patient"),
        (["age"], False, "--header"),
    ):
        with pytest.raises(TableFileError, match=words):
            read_table(str(table / "w.csv"), header, columns)
    (table / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(TableFileError, match="several columns"):
        read_table(str(table / "twice.csv"), True, ["a"])
    with pytest.raises(TableFileError, match="--columns"):
        read_table(str(table / "t.npy"), True, ["a"])


def test_columns_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"name": ["x", "y"], "age": [1.0, 2.0]}).to_parquet(tmp_path / "t.parquet")
    assert read_table(str(tmp_path / "t.parquet"), False, ["age"]).tolist() == [[1.0], [2.0]]
    with pytest.raises(TableFileError, match="no such column"):
        read_table(str(tmp_path / "t.parquet"), False, ["size"])


@pytest.mark.parametrize("mark", [";", "\t"])
def test_the_separator_is_that_of_the_column_names(tmp_path, mark):
    """Spreadsheets of half the world write semicolons; the names are public, so they may decide."""
    (tmp_path / "a.csv").write_text(f"\ufeffa{mark}b\n1{mark}2\n3{mark}4\n", encoding="utf-8")
    assert read_table(str(tmp_path / "a.csv"), header=True).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert read_table(str(tmp_path / "a.csv")).shape == (3, 1)


def test_truths_are_numbers_each_by_itself(tmp_path):
    """What an entry is read as does not depend on the other records: every table of one of them."""
    read = {
        "True": 1.0, "TRUE": 1.0, "true": 1.0, " true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0,
        "tRUE": "tRUE", "yes": "yes", "T": "T", "": "", "nan ": math.nan, "1e3": 1000.0,
    }  # fmt: skip
    for others in (["0", "1"], ["True", "False"], ["x", "-"]):
        for text, number in read.items():
            (tmp_path / "t.csv").write_text("".join(f"{entry},0\n" for entry in (text, *others)))
            found = read_table(str(tmp_path / "t.csv"))[0, 0]
            assert found == number or (isinstance(number, float) and number != number and found != found)
            assert type(found) is type(number)


@pytest.fixture
def people(tmp_path):
    g = np.random.default_rng(7)
    rows = zip(g.lognormal(10.0, 1.0, 3000).tolist(), (g.random(3000) < 0.2).tolist(), strict=True)
    (tmp_path / "p.csv").write_text("salary,smoker\n" + "".join(f"{a!r},{b}\n" for a, b in rows))
    return tmp_path / "p.csv"


def _mean_of(table, epsilon):
    named = ["private", "gaussian", table, "--header", "--estimate", "mean"]
    return [*named, "--epsilon", epsilon, "--insecure-seed", 1]


def test_shares_logarithms_and_names_from_the_shell(people, capsys):
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
    assert code == 0 and "folded mean " in out and "columns " in out and "salary" in out
    code, out, _ = _run(capsys, *ask, "--columns", "smoker", "--method", "median", "--bounds", "0:1")
    assert code == 0 and "\nmedian " in out
    wrong = [
        (["--log", "wage"], "--log: wage: no such column; there are: salary, smoker"),
        (["--estimate", "covariance", "--log", "salary"], "only --estimate mean has it"),
    ]
    for options, words in wrong:
        code, out, err = _run(capsys, *ask, *options)
        assert code == 2 and not out and words in err and err.count("\n") == 1
    code, _, err = _run(capsys, *[a for a in ask if a != "--header"], "--log", "salary")
    assert code == 2 and "--log all" in err


def test_bounds_far_from_the_records_are_told(people, capsys):
    """Post-processing: an interval that ends at a bound which is not meant literally."""
    ask = _mean_of(people, 1)
    for bounds in ("0:100000000", "0.1:1"):
        code, out, _ = _run(
            capsys, *ask, "--columns", "salary", "--contamination", "0", "--bounds", bounds, "--json"
        )
        value = json.loads(out)["value"]
        low, high = map(float, bounds.split(":"))
        assert code == 0 and low <= value["mean"][0] <= high
        ends = [e for pair in value["interval"] if pair for e in pair]
        assert all(low <= e <= high for e in ends)
        assert value.get("at_bounds", []) == ([0] if low > 0 else [])  # the mean is near 36 000


def test_a_mean_at_its_bound_is_named():
    from types import SimpleNamespace

    public = {"bounds": [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], "tight": [False, True, False]}
    model = SimpleNamespace(release_=SimpleNamespace(public=public), estimates_=("mean",) * 3)
    mean, ends = np.array([0.7, 0.7, 0.3]), np.array([[0.5, 1.0], [0.5, 1.0], [0.2, 0.4]])
    assert private_gaussian._reached(model, mean, ends) == [0]
    none = np.full((3, 2), np.nan)
    assert private_gaussian._reached(model, mean, none) == private_gaussian._reached(model, mean, None) == []
    assert private_gaussian._reached(model, np.array([0.5, 1.0, 0.995]), none) == [2]
    model.estimates_ = ("exp(mean of logarithms)", "mean", "mean")
    assert private_gaussian._reached(model, mean + 1.0, ends + np.array([[1.0], [0.0], [0.0]])) == []
    public["bounds"] = [[-math.inf, math.inf]] * 3
    assert private_gaussian._reached(model, mean, ends) == []
