"""How entries are written: marks, units, truths, codes of what is missing, dates with and without a time."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from sosdp.cli import main
from sosdp.privacy import Table
from sosdp.privacy.schema import Schema, SchemaError
from sosdp.privacy.table.whole import by_schema
from tests.refusals import each, refuse

NUMBER = {"type": "number", "low": -5000, "high": 5000}
DATE = {"type": "date", "low": "1990-01-01", "high": "2030-01-01"}


def column(**entry):
    return Schema.of({"format": "sosdp-schema/1", "columns": {"x": entry}}).column("x")


WRITTEN = [
    ({**NUMBER, "thousands": ",", "unit": ["$", "USD"]},
     ["$1,200", "-$5", "$-5", "$ 3.5", "1,200.25 USD", "1200", "0,12,345", "1,5", "1,2000", ",200", "$$5",
      "$"],
     [1200, -5, -5, 3.5, 1200.25, 1200, 5000] + [None] * 5),
    ({**NUMBER, "thousands": ".", "decimal": ",", "unit": "€"},
     ["1.200,50 €", "€1.200", "1.5", "1,5", "1.2,5"], [1200.5, 1200, None, 1.5, None]),
    ({**NUMBER, "thousands": " "},
     ["1 200", "1\u202f200.5", "1\u00a0000", "1 2"], [1200, 1200.5, 1000, None]),
    ({**NUMBER, "unit": "%"}, ["12%", "12 %", "12"], [12, 12, 12]),
    ({**NUMBER, "na_values": [-999, "N/A", "1e3"]},
     ["-999", "-999.0", "N/A", "1000", "999"], [None] * 4 + [999]),
    ({"type": "boolean", "true_values": ["yes", "Y"], "false_values": ["no"]},
     ["yes", " Y ", "no", "1", "true", ""], [1, 1, 0, None, None, None]),
    ({"type": "boolean", "true_values": [2], "false_values": [1], "na_values": [9]},
     ["2", "2.0", "1", "0", "9"], [1, 1, 0, None, None]),
    ({"type": "boolean", "na_values": [-9]}, ["-9", "-8", "true"], [None, 0, 1]),
    ({"type": "category", "values": ["a", "b"], "na_values": ["?"]}, ["b", "?"], [1, None]),
    ({"type": "integer", "low": 0, "high": 9, "unit": "kg"}, ["3 kg", "2.5 kg"], [3, None]),
    ({**DATE, "na_values": ["9999-12-31"]},
     ["1990-01-02", "1990-01-02 12:00", "1990-01-02T12:00:00Z", "9999-12-31", "19900102", "1990-W01-1",
      "1990-01-02x", "1990-13-02", "1990-01-02 99:00"], [7306, 7306.5, 7306.5] + [None] * 6),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "texts", "numbers"), WRITTEN)
def test_entries_as_people_write_them(entry, texts, numbers):
    """In a file as in a frame; each entry by itself, and none of them raises."""
    wanted = [math.nan if number is None else number for number in numbers]
    read = column(**entry)
    assert [read.read(text) for text in texts] == pytest.approx(wanted, nan_ok=True)
    schema = Schema((read,))
    assert by_schema({"x": texts}, schema).values[:, 0] == pytest.approx(wanted, nan_ok=True)
    for hostile in ("\x00", "9" * 5000, "1" + ",000" * 2000, "\ud800", "$" * 4096, "٣٬٠٠٠"):
        read.read(hostile)


def test_codes_of_stored_columns():
    """Of frames whose columns are numbers, truths or times."""
    coded = Schema((column(**NUMBER, na_values=[-999]),))
    assert np.isnan(by_schema({"x": np.array([-999.0, 1.0])}, coded).values[:, 0]).tolist() == [True, False]
    # as their type holds the code: of 32 bits -999.9 is another number
    near = Schema((column(**NUMBER, na_values=[-999.9]),))
    for kind in (np.float16, np.float32, "Float32", "float[pyarrow]", np.float64):
        read = by_schema(pd.DataFrame({"x": pd.Series([-999.9, 1.0], dtype=kind)}), near).values[:, 0]
        assert np.isnan(read).tolist() == [True, False], kind
    # truths are truths, whatever texts stand for them in a file
    truths = Schema((column(type="boolean", true_values=["yes"], false_values=["no"]),))
    for kind in (bool, "boolean", "bool[pyarrow]", object):
        read = by_schema(pd.DataFrame({"x": pd.Series([True, False], dtype=kind)}), truths).values[:, 0]
        assert read.tolist() == [1, 0], kind
    truths = Schema((column(type="boolean", true_values=[2], false_values=[1]),))
    given = pd.DataFrame({"x": pd.array([2, 1, None, 0], dtype="Int64")})
    assert by_schema(given, truths).values[:, 0] == pytest.approx([1, 0, np.nan, np.nan], nan_ok=True)
    dates = Schema((column(**DATE, na_values=["2000-01-01"]),))
    times = pd.DataFrame({"x": np.array(["2000-01-01", "1990-01-02T12"], dtype="M8[h]")})
    assert by_schema(times, dates).values[:, 0] == pytest.approx([np.nan, 7306.5], nan_ok=True)


def test_times_are_answered_where_the_bounds_have_some():
    assert column(**DATE).shown(7306.5) == "1990-01-02" and not column(**DATE).is_timed
    timed = column(**{**DATE, "low": "1990-01-01T06:00"})
    assert timed.is_timed and timed.shown(7306.5) == "1990-01-02T12:00:00"


def test_what_is_read_is_public(tmp_path, capsys):
    """The release says how entries are written that can be read, whatever they are."""
    columns = {
        "pay": {**NUMBER, "thousands": ",", "unit": "$"},
        "kids": {"type": "integer", "low": 0, "high": 9},
    }
    columns |= {"ill": {"type": "boolean", "true_values": ["yes"], "false_values": ["no"]}, "born": DATE}
    schema = {"format": "sosdp-schema/1", "columns": columns}
    lines = ['"$1,200",2,yes,1999-01-01 10:00', '"$1,400",2.5,no,2001-01-01'] * 400
    (tmp_path / "t.csv").write_text("\n".join(["pay,kids,ill,born", *lines, ""]))
    (tmp_path / "s.json").write_text(json.dumps(schema))
    question = Table(str(tmp_path / "t.csv"), schema, 50.0).mean("pay").mean("ill").mean("born")
    release = question.count("kids").release()
    pay, ill, born, kids = (row["value"] for row in release.value["rows"])
    assert pay == pytest.approx(1300, abs=20) and ill == pytest.approx(0.5, abs=0.02) and abs(kids - 400) < 9
    assert born.startswith(("1999-12", "2000-01"))
    assert release.public["reads"] == {
        "pay": "numbers as 1,234.5, $",
        "ill": "one of no, yes",
        "born": "dates as 2030-01-31, or with a time",
        "kids": "whole numbers, none as 2.5",
    }
    named = {**schema, "columns": {**columns, "kids": {"type": "category", "values": ["2", "3"]}}}
    by = Table(str(tmp_path / "t.csv"), named, 50.0).by("kids").count().release()
    assert (
        by.public["reads"]
        == {"kids": "one of 2, 3"}
        == (Table(str(tmp_path / "t.csv"), named, 50.0).histogram("kids").release().public["reads"])
    )
    files = [str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.json")]
    assert main(["private", "mean", *files, "--column", "kids", "--epsilon", "1"]) == 0
    assert "whole numbers, none as 2.5" in capsys.readouterr().out
    chosen = "--columns", "pay,kids", "--epsilon", "5", "--delta", "1e-5"
    assert main(["private", "gaussian", *files, *chosen]) == 0
    assert "pay: numbers as 1,234.5, $; kids: whole" in capsys.readouterr().out
    assert main(["private", "gaussian", files[0], "--header", *chosen, "--json"]) == 0
    public = json.loads(capsys.readouterr().out)["public"]
    assert public["reads"].startswith("numbers as 1234.5, true and false; others")


def test_spellings_that_cannot_be_meant():
    words = [(["y"], None), (["y"], ["y"]), (["y"], []), (["y"], "n"), (["y"], ["?"])]
    refuse(
        *each(
            lambda mark: column(**NUMBER, thousands=mark), (".", "a", ",,", "-", 3), "thousands", SchemaError
        ),
        *each(lambda unit: column(**NUMBER, unit=unit), ("", "5", "-", ["$", 1], 7), "unit", SchemaError),
        *each(lambda codes: column(**NUMBER, na_values=codes), ("NA", [], [None]), "na_values", SchemaError),
        *each(
            lambda two: column(type="boolean", true_values=two[0], false_values=two[1], na_values=["?"]),
            words,
            "true_values and false_values",
            SchemaError,
        ),
        (lambda: column(type="boolean", true_values=["y"]), "true_values and false_values", SchemaError),
        (lambda: column(type="category", values=["a"], na_values=["a"]), "none of the values", SchemaError),
        (lambda: column(**DATE, thousands=","), "unknown key", SchemaError),
    )
