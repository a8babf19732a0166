"""`sosdp private regression` and `pca`: values by name, refusals from public facts, bad options."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sosdp.cli import main

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    g = np.random.default_rng(0)
    age, smokes = g.normal(40, 10, 20000), (g.random(20000) < 0.3).astype(float)
    score = 0.5 * age - 8.0 * smokes + g.normal(0, 3, 20000)
    rows = np.column_stack([age, smokes, score])
    np.savetxt(folder / "t.csv", rows, fmt="%.6g", delimiter=",", header="age,smokes,score", comments="")
    columns = {
        "age": {"type": "number", "low": 0, "high": 120},
        "smokes": {"type": "integer", "low": 0, "high": 1},
        "score": {"type": "number", "low": -100, "high": 200},
    }
    (folder / "s.json").write_text(json.dumps({"format": "sosdp-schema/1", "columns": columns}))
    return [str(folder / "t.csv"), "--schema", str(folder / "s.json")]


def released(capsys, name, table, *options):
    code = main(["private", name, *table, *BUDGET, *options, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_coefficients_by_name(capsys, table):
    code, found = released(capsys, "regression", table, "--target", "score", "--tight", "smokes")
    value = found["value"]
    assert code == 0 and found["guarantee"]["kind"] == "exact" and found["guarantee"]["delta"] == 1e-6
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


def test_components(capsys, table):
    code, found = released(capsys, "pca", table, "--components", "2")
    value = found["value"]
    assert code == 0 and np.shape(value["components"]) == (2, 3) and value["told_apart"] == [True, True]
    assert value["explained_variance"][0] > value["explained_variance"][1] and len(value["angle"]) == 2
    assert main(["private", "pca", *table, *BUDGET, "--components", "2"]) == 0
    assert "angle" in capsys.readouterr().out


def test_refusals_and_bad_options(capsys, table):
    assert main(["private", "regression", *table, "--epsilon", "1", "--target", "score", "--json"]) == 0
    refused = json.loads(capsys.readouterr().out)
    assert refused["value"] == {"coefficients": None, "released": False}
    assert refused["guarantee"]["epsilon"] == 0.0 and "delta" in refused["public"]["advice"]
    for name, options in (
        ("regression", []),
        ("regression", ["--target", "wage"]),
        ("regression", ["--target", "score", "--columns", "score"]),
        ("regression", ["--target", "score", "--components", "2"]),
        ("pca", []),
        ("pca", ["--components", "9"]),
    ):
        assert main(["private", name, *table, *BUDGET, *options]) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1
