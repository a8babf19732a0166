"""Private regressions and `pca` in the shell: values by name, refusals from public facts, bad options."""

import json

import numpy as np
import pandas as pd
import pytest

from problems.gaussian import PrivateLinearRegression
from sosdp.cli import main, private
from tests.refusals import each, refuse

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    g = np.random.default_rng(0)
    age, smokes = g.normal(40, 10, 20000), (g.random(20000) < 0.3).astype(float)
    score = 0.5 * age - 8.0 * smokes + g.normal(0, 3, 20000)
    ill = (g.random(20000) < 1.0 / (1.0 + np.exp(-(0.1 * (age - 40) + 1.5 * smokes - 0.5)))).astype(float)
    visits = g.poisson(np.exp(0.05 * (age - 40) + 0.7 * smokes))
    rows = np.column_stack([age, smokes, score, ill, visits])
    head = "age,smokes,score,ill,visits"
    np.savetxt(folder / "t.csv", rows, fmt="%.6g", delimiter=",", header=head, comments="")
    columns = {
        "age": {"type": "number", "low": 0, "high": 120},
        "smokes": {"type": "integer", "low": 0, "high": 1},
        "score": {"type": "number", "low": -100, "high": 200},
        "ill": {"type": "integer", "low": 0, "high": 1},
        "visits": {"type": "integer", "low": 0, "high": 1000},
    }
    (folder / "s.json").write_text(json.dumps({"format": "sosdp-schema/1", "columns": columns}))
    return [str(folder / "t.csv"), "--schema", str(folder / "s.json")]


def released(capsys, name, table, *options):
    code = main(["private", name, *table, *BUDGET, *options, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_coefficients_by_name(capsys, table):
    chosen = ("--columns", "age,smokes,score", "--tight", "smokes")
    code, result = released(capsys, "regression", table, "--target", "score", *chosen)
    value = result["value"]
    assert code == 0 and result["guarantee"]["kind"] == "exact" and result["guarantee"]["delta"] == 1e-6
    assert value["coefficients"] == pytest.approx({"age": 0.5, "smokes": -8.0}, rel=0.1)
    for name, (low, high) in value["interval"].items():
        assert low < value["coefficients"][name] < high
    assert value["left_out"] == value["unseen"] == [] and 0.7 < value["r2"] < 0.95
    _, fewer = released(
        capsys, "regression", table, "--target", "score", "--columns", "age,score", "--ridge", "3e6"
    )
    assert (
        list(fewer["value"]["coefficients"]) == ["age"]
        and 0.15 < fewer["value"]["coefficients"]["age"] < 0.25
    )


@pytest.mark.parametrize(("name", "target", "truth"), [
    ("logistic", "ill", {"age": 0.1, "smokes": 1.5}), ("poisson", "visits", {"age": 0.05, "smokes": 0.7}),
])  # fmt: skip
def test_coefficients_of_likelihoods_by_name(capsys, table, name, target, truth):
    chosen = ("--columns", "age,smokes", "--tight", "smokes")
    code, shown = released(capsys, name, table, "--target", target, *chosen)
    value = shown["value"]
    assert code == 0 and shown["guarantee"]["kind"] == "exact" and "r2" not in value
    assert value["coefficients"] == pytest.approx(truth, rel=0.3)
    assert all(low < value["coefficients"][name] < high for name, (low, high) in value["interval"].items())
    assert main(["private", name, *table, *BUDGET, "--target", target, *chosen]) == 0
    assert "residual" not in capsys.readouterr().out
    pure = ("private", name, *table, "--target", target, *chosen, "--json", "--epsilon")
    assert main([*pure, "4"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["value"]["coefficients"] == pytest.approx(truth, rel=0.3)
    assert (shown["guarantee"]["epsilon"], shown["guarantee"]["delta"]) == (4.0, 0.0)
    assert main([*pure, "0.01"]) == 0
    assert "would do" in json.loads(capsys.readouterr().out)["public"]["advice"]


def test_classes_are_stated(capsys, complaint, table):
    """With the labels exchanged the coefficients change their signs."""
    chosen = ("--target", "ill", "--columns", "age,smokes", "--tight", "smokes", "--classes")
    value = released(capsys, "logistic", table, *chosen, "1,0")[1]["value"]
    assert value["coefficients"] == pytest.approx({"age": -0.1, "smokes": -1.5}, rel=0.3)
    for classes in ("1", "1,1.0", "1,yes", "0,inf", "0,1,2"):
        assert "--classes" in complaint("private", "logistic", *table, *BUDGET, *chosen, classes)
    complaint("private", "poisson", *table, *BUDGET, *chosen, "1,0")


def test_classes_are_texts_of_a_category(capsys, complaint, table, tmp_path):
    """As the schema spells them; a text that it does not know counts as the first."""
    g = np.random.default_rng(1)
    age = g.normal(40, 10, 8000)
    ill = np.where(g.random(8000) < 1.0 / (1.0 + np.exp(-0.2 * (age - 40))), "yes, often", "no")
    ill[:5] = "secret"
    lines = [f'{one:.4f},"{two}"' for one, two in zip(age, ill, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["age,ill", *lines, ""]))
    columns = {"age": {"type": "number", "low": 0, "high": 120}}
    columns["ill"] = {"type": "category", "values": ["yes, often", "no", "unknown"]}
    (tmp_path / "s.json").write_text(json.dumps({"format": "sosdp-schema/1", "columns": columns}))
    texts = [str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.json")]
    for classes, slope in (('no,"yes, often"', 0.2), ('"yes, often",no', -0.2)):
        value = released(capsys, "logistic", texts, "--target", "ill", "--classes", classes)[1]["value"]
        assert value["coefficients"] == pytest.approx({"age": slope}, rel=0.3)
    for classes in ("no,maybe", "no,no", "0,1"):
        assert "two of yes, often, no, unknown" in complaint(
            "private", "logistic", *texts, *BUDGET, "--target", "ill", "--classes", classes
        )
    line = complaint("private", "logistic", *texts, *BUDGET, "--target", "ill")
    assert "--classes: which two of yes, often, no, unknown" in line


def test_categories_are_regressors(capsys, complaint, tmp_path):
    """Indicators of all values but the first, in the shell as in the library."""
    g = np.random.default_rng(2)
    age, region = g.normal(40, 10, 8000), g.choice(["N", "S", "E"], 8000, p=[0.5, 0.3, 0.2])
    score = 0.5 * age + 4.0 * (region == "S") - 6.0 * (region == "E") + g.normal(0, 3, 8000)
    frame = pd.DataFrame({"age": age, "region": region})
    frame.assign(score=score).to_csv(tmp_path / "t.csv", index=False)
    columns = {"age": {"type": "number", "low": 0, "high": 120}}
    columns["region"] = {"type": "category", "values": ["N", "S", "E"]}
    schema = {"format": "sosdp-schema/1", "columns": dict(columns)}
    columns["score"] = {"type": "number", "low": -100, "high": 200}
    (tmp_path / "s.json").write_text(json.dumps({**schema, "columns": columns}))
    texts = [str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.json")]
    truth = {"age": 0.5, "region=S": 4.0, "region=E": -6.0}
    code, shown = released(capsys, "regression", texts, "--target", "score")
    assert code == 0 and shown["value"]["coefficients"] == pytest.approx(truth, rel=0.15)
    assert shown["guarantee"]["kind"] == "exact" and shown["public"]["columns"] == [*truth, "score"]
    model = PrivateLinearRegression(1.0, delta=1e-6, bounds=None, contamination=0.0, schema=schema)
    model.fit(frame, score)
    assert dict(zip(model.feature_names_in_, model.coef_, strict=True)) == pytest.approx(truth, rel=0.15)
    assert np.abs(model.predict(frame) - score).mean() < 3.0 and model.plan(8000, 3) == model.plan_
    frame.loc[:2, "region"] = "secret"  # counts as the first
    assert model.predict(frame)[:3] == pytest.approx(model.intercept_ + model.coef_[0] * age[:3])
    for name, target in (("regression", "region"), ("poisson", "region")):
        assert "a category" in complaint("private", name, *texts, *BUDGET, "--target", target)
    refuse(
        *each(
            lambda wrong: model.set_params(**{"bounds": None, "schema": schema} | wrong).fit(frame, score),
            ({"bounds": (0, 1)}, {"schema": {**schema, "owner": {"column": "age", "records": 1}}}),
            "schema|owner",
        )
    )


def test_components(capsys, table):
    table = [*table, "--columns", "age,smokes,score"]
    code, result = released(capsys, "pca", table, "--components", "2")
    value = result["value"]
    assert code == 0 and np.shape(value["components"]) == (2, 3) and value["told_apart"] == [True, True]
    assert value["explained_variance"][0] > value["explained_variance"][1] and len(value["angle"]) == 2
    assert main(["private", "pca", *table, *BUDGET, "--components", "2"]) == 0
    assert "angle" in capsys.readouterr().out
    assert private._rows([[-0.0, 1.5]]) == "0 1.5"


def test_refusals_and_bad_options(capsys, complaint, table):
    assert main(["private", "regression", *table, "--epsilon", ".01", "--target", "score", "--json"]) == 0
    refused = json.loads(capsys.readouterr().out)
    assert refused["value"] == {"coefficients": None, "released": False}
    assert refused["guarantee"]["epsilon"] == 0.0 and "would do" in refused["public"]["advice"]
    for name, options in (
        ("regression", []),
        ("logistic", []),
        ("regression", ["--target", "wage"]),
        ("poisson", ["--target", "score", "--ridge", "1"]),
        ("regression", ["--target", "score", "--columns", "score"]),
        ("regression", ["--target", "score", "--components", "2"]),
        ("pca", []),
        ("pca", ["--components", "9"]),
    ):
        complaint("private", name, *table, *BUDGET, *options)


def test_columns_of_builtin_tables_have_names(capsys, complaint):
    """The target of a built-in table is the column `target`."""
    source = "builtin:diabetes", "--bounds", "-1:1", "--contamination", "0"
    code, shown = released(
        capsys, "regression", ("builtin:diabetes",), "--target", "target", "--columns", "bmi"
    )
    assert code == 0 and shown["public"]["columns"] == ["bmi", "target"]
    code, shown = released(capsys, "regression", source[:1], "--target", "target")
    assert code == 0 and shown["public"]["columns"][-2:] == ["s6", "target"]
    code, shown = released(capsys, "gaussian", source, "--estimate", "mean", "--columns", "bmi,age")
    assert code == 0 and shown["public"]["columns"] == ["bmi", "age"]
    code, shown = released(capsys, "gaussian", source, "--estimate", "mean")
    assert code == 0 and len(shown["public"]["columns"]) == 10
    assert "no such column" in complaint("private", "gaussian", *source, *BUDGET, "--columns", "nobody")
    assert "no such column" in complaint("private", "regression", source[0], *BUDGET, "--target", "nobody")
