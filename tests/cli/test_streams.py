"""Standard input ("-") and pipes: problems, releases, and tables by a schema; columns beyond a schema."""

import json
import os
import threading

import pytest

from sosdp.cli import main
from sosdp.privacy import Table
from sosdp.privacy.files import InputFileError
from sosdp.privacy.schema import Schema
from sosdp.privacy.table.whole import read_table

SCHEMA = {"format": "sosdp-schema/1", "columns": {"x": {"type": "integer", "low": 0, "high": 9}}}


@pytest.fixture
def fed():
    """Gives standard input some text, which fits in the buffer of a pipe."""
    kept = os.dup(0)

    def give(text):
        reads, writes = os.pipe()
        os.write(writes, text.encode())
        os.close(writes)
        os.dup2(reads, 0)
        os.close(reads)

    yield give
    os.dup2(kept, 0)
    os.close(kept)


def test_standard_input(tmp_path, capsys, fed):
    schema = tmp_path / "s.json"
    schema.write_text(json.dumps(SCHEMA))
    fed(json.dumps({"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x**2 - 2*x"}))
    assert main(["solve", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bound"] == pytest.approx(-1.0, abs=1e-6)
    fed("x\n" + "5\n" * 50)
    options = ["--schema", str(schema), "--epsilon", "2", "--json"]
    assert main(["private", "gaussian", "-", "--estimate", "mean", *options]) == 0
    release = capsys.readouterr().out
    assert json.loads(release)["public"]["n"] == 50
    fed(release)
    assert main(["check-release", "-"]) in (0, 3)
    assert "guarantee.digest" in capsys.readouterr().out


def test_a_pipe_is_read_once(tmp_path):
    """As `<(zcat t.csv.gz)` in a shell; whether its last line is ended cannot be looked at."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for read in (
        lambda: Table(path, SCHEMA, 1e3).count("x").release().value["rows"][0]["value"],
        lambda: len(read_table(str(path), schema=Schema.of(SCHEMA)).values),
    ):
        writer = threading.Thread(target=path.write_text, args=("x\n" + "5\n" * 30,))
        writer.start()
        assert read() == 30
        writer.join()
    with pytest.raises(InputFileError, match="--schema"):
        read_table(str(path))


def test_columns_beyond_those_of_the_schema_are_ignored_without_a_header_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("3,N,7,text\n" * 40 + "3\n" + '3,"N\n')  # too few fields, an open quote: nothing in them
    columns = SCHEMA["columns"] | {"r": {"type": "category", "values": ["N", "S"]}}
    schema = {**SCHEMA, "header": False, "columns": columns}
    for column, count in ((None, 42), ("x", 40), ("r", 40)):
        assert Table(path, schema, 1e3).count(column).release().value["rows"][0]["value"] == count
