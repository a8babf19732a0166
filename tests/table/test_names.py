"""Names of columns: blanks at their ends are no part of them, in every door."""

import numpy as np
import pandas as pd
import pyarrow as arrow
import pytest

from sosdp.privacy import Table
from sosdp.privacy.entries import listed
from sosdp.privacy.files import InputFileError
from sosdp.privacy.schema import Schema, SchemaError
from sosdp.privacy.table.whole import by_schema, named_in, read_table
from tests.refusals import each, refuse

AGE = {"type": "number", "low": 0, "high": 120}
FRAME = pd.DataFrame({"age ": [1.0, 2.0, 500.0], " town": ["N", "S", "N"]})


def schema(*names):
    return Schema.of({"format": "sosdp-schema/1", "columns": dict.fromkeys(names, AGE)})


@pytest.fixture
def doors(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    FRAME.to_excel(tmp_path / "t.xlsx", index=False)
    files = [str(tmp_path / name) for name in ("t.parquet", "t.csv", "t.xlsx")]
    return [*files, FRAME, FRAME.to_dict("list"), FRAME.to_dict("records")]


@pytest.mark.parametrize("name", ["age", "age "])
def test_blanks_at_the_ends_of_names(doors, name):
    for source in doors:
        assert by_schema(source, schema(name)).values.tolist() == [[1.0], [2.0], [120.0]]
        assert Table(source, schema(name), 1.0).count("age").release().released
    assert read_table(doors[0], columns=["age"]).values.tolist() == [[1.0], [2.0], [500.0]]
    assert named_in(FRAME[["age "]], schema(name)) == ["age"]


def test_texts_of_arrow_are_read_part_by_part():
    """One array holds texts of 2 GB at most: a column of more was refused for what its entries hold."""
    parts = arrow.chunked_array([["N", None], [], ["S", "\u00e9"]])
    assert parts.num_chunks == 3 and [*listed(parts)][::2] == ["N", "S"] and listed(parts)[3] == "\u00e9"
    kept = Schema.of(
        {"format": "sosdp-schema/1", "columns": {"x": {"type": "category", "values": ["N", "S"]}}}
    )
    table = arrow.table({"x": parts}).to_pandas(types_mapper=pd.ArrowDtype)
    assert by_schema(table, kept).values[:, 0] == pytest.approx([0, np.nan, 1, np.nan], nan_ok=True)


def test_names_that_differ_by_blanks_are_refused(tmp_path):
    twice = pd.DataFrame(np.ones((2, 2)), columns=["age", "age "])
    twice.to_parquet(tmp_path / "t.parquet")
    refuse(
        *each(
            lambda source: by_schema(source, schema("age")),
            (twice, str(tmp_path / "t.parquet")),
            "several columns have this name",
            InputFileError,
        ),
        (lambda: read_table(str(tmp_path / "t.parquet"), columns=["age"]), "several columns", InputFileError),
        (lambda: schema("age", "age "), "differ by blanks", SchemaError),
    )
