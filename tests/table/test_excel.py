"""Excel files: named columns, rows that are not blank; and what the number of records rests on."""

import datetime
import zipfile

import numpy as np
import pytest

from sosdp.privacy import Parts, Table
from sosdp.privacy.files import InputFileError
from sosdp.privacy.schema import Schema
from sosdp.privacy.table.records import all_chunks
from sosdp.privacy.table.state import fold, totals
from sosdp.privacy.table.whole import by_schema, read_table
from tests.refusals import refuse

excel = pytest.importorskip("openpyxl")

NUMBER = {"type": "number", "low": 0, "high": 100}
DATE = {"type": "date", "low": "2000-01-01", "high": "2020-01-01", "format": "%Y-%m-%d"}


def test_excel_is_read_by_both_doors(tmp_path):
    """Every row after the first that is not blank is a record, every cell by itself."""

    book = excel.Workbook()
    for row in (
        ["x", "born"],
        [10, datetime.date(2010, 1, 1)],
        ["20", "2011-01-01"],
        [None, 5],
        ["#N/A", "no"],
    ):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    said = {"format": "sosdp-schema/1", "columns": {"x": NUMBER, "born": DATE}}
    table = Table(str(tmp_path / "t.xlsx"), said, 1.0).count().count("x").count("born")
    (result,) = totals(fold(table.question, all_chunks(table.source, table.question))).values()
    assert [int(cell[0]) for cell in result] == [4, 2, 2]
    whole = read_table(str(tmp_path / "t.xlsx"), schema=Schema.from_dict(said), columns=["x"])
    assert whole.values[:2, 0].tolist() == [10.0, 20.0] and np.isnan(whole.values[2:]).all()
    assert np.isnan(read_table(str(tmp_path / "t.xlsx")).values).sum() == 5 and whole.bounds == [(0.0, 100.0)]
    (tmp_path / "t.xlsx").write_bytes(b"nothing")
    refuse((lambda: read_table(str(tmp_path / "t.xlsx")), "Excel", InputFileError))


def test_a_record_of_excel_decides_about_no_other(tmp_path):
    """Not by cells beside the named columns, nor by rows that are blank until one stands below them."""

    def sheet(*cells):
        book = excel.Workbook()
        book.active.append(["x", None, "y"])
        for k in range(2, 12):
            book.active.append([k, "row", 1])
        for row, column, value in cells:
            book.active.cell(row, column).value = value
        book.save(tmp_path / "t.xlsx")
        return str(tmp_path / "t.xlsx")

    plain = read_table(sheet())
    assert plain.names == ["x", "y"] and plain.values.shape == (10, 2)
    assert "every record has a value" in plain.assumptions[0]
    for more in ([(5, 4, "note")], [(5, 2, "other")], [(7, 4, 1), (7, 9, 2)], [(300, 2, "row"), (300, 9, 1)]):
        assert np.array_equal(read_table(sheet(*more)).values, plain.values), more
    said = {"format": "sosdp-schema/1", "columns": {"x": NUMBER}}
    for cells, count in (([], 10), ([(300, 1, 5)], 11), ([(11, 1, None), (11, 3, None)], 9)):
        table = Table(sheet(*cells), said, 1.0).count()
        (result,) = totals(fold(table.question, all_chunks(table.source, table.question))).values()
        assert int(result[0][0]) == count
    assert read_table(sheet((300, 3, 4))).values.shape == (11, 2)  # a record further down is one record
    assert read_table(sheet((5, 1, None), (5, 3, None))).values.shape == (9, 2)  # and a blank row is none


@pytest.mark.parametrize("range_", ["A1", "A1:A3", "A1:B9", "A1:Z1"])
def test_all_rows_are_read_whatever_range_the_file_states(tmp_path, range_):
    """Some programs state a smaller one than they fill: five of six records were lost."""

    book = excel.Workbook()
    for row in (["x", "y"], *([k, 10 + k] for k in range(6))):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as whole, zipfile.ZipFile(tmp_path / "u.xlsx", "w") as other:
        for name in whole.namelist():
            other.writestr(name, whole.read(name).replace(b'ref="A1:B7"', f'ref="{range_}"'.encode()))
    read = [read_table(str(tmp_path / name)).values.tolist() for name in ("t.xlsx", "u.xlsx")]
    assert read[0] == read[1] == [[k, 10 + k] for k in range(6)]


def test_a_synthetic_table_rests_on_what_estimators_do(tmp_path):
    """How many records it shows is that of the file: of one without a last line end, or a sheet."""

    said = {"format": "sosdp-schema/1", "columns": {"x": {"type": "integer", "low": 0, "high": 3}}}
    book = excel.Workbook()
    for value in ("x", 1, 2):
        book.active.append([value])
    book.save(tmp_path / "sheet.xlsx")
    (tmp_path / "ended.csv").write_text("x\n1\n2\n")
    (tmp_path / "open.csv").write_text("x\n1\n2")
    for name, conditions in (("ended.csv", 0), ("open.csv", 1), ("sheet.xlsx", 1)):
        path = str(tmp_path / name)
        for source in (path, tmp_path / name, Parts([path, path])):
            release = Table(source, said, 1.0, delta=1e-6, adjacency="replace").synthetic()
            assert len(release.guarantee.conditions) == conditions, name
        rests = by_schema(path, Schema.of(said)).assumptions
        assert set(rests) <= set(release.guarantee.assumptions)
