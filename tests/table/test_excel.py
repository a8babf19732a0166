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

    def made(*cells):
        book = excel.Workbook()
        book.active.append(["x", None, "y"])
        for k in range(2, 12):
            book.active.append([k, "row", 1])
        for row, column, value in cells:
            book.active.cell(row, column).value = value
        book.save(tmp_path / "t.xlsx")
        return str(tmp_path / "t.xlsx")

    plain = read_table(made())
    assert plain.names == ["x", "y"] and plain.values.shape == (10, 2)
    assert "every record has a value" in plain.assumptions[0]
    for more in ([(5, 4, "note")], [(5, 2, "other")], [(7, 4, 1), (7, 9, 2)], [(300, 2, "row"), (300, 9, 1)]):
        assert np.array_equal(read_table(made(*more)).values, plain.values), more
    said = {"format": "sosdp-schema/1", "columns": {"x": NUMBER}}
    for cells, count in (([], 10), ([(300, 1, 5)], 11), ([(11, 1, None), (11, 3, None)], 9)):
        table = Table(made(*cells), said, 1.0).count()
        (result,) = totals(fold(table.question, all_chunks(table.source, table.question))).values()
        assert int(result[0][0]) == count
    assert read_table(made((300, 3, 4))).values.shape == (11, 2)  # a record further down is one record
    assert read_table(made((5, 1, None), (5, 3, None))).values.shape == (9, 2)  # and a blank row is none


def sheet(folder, *changes):
    """A sheet of six records, with texts of its XML changed."""
    book = excel.Workbook()
    for row in (["x", "y"], *([k, 10 + k] for k in range(6))):
        book.active.append(row)
    book.save(folder / "t.xlsx")
    with zipfile.ZipFile(folder / "t.xlsx") as whole, zipfile.ZipFile(folder / "u.xlsx", "w") as other:
        for name in whole.namelist():
            text = whole.read(name)
            for old, new in changes:
                text = text.replace(old, new)
            other.writestr(name, text)
    return str(folder / "u.xlsx")


RECORDS = [[k, 10 + k] for k in range(6)]


@pytest.mark.parametrize("range_", ["A1", "A1:A3", "A1:B9", "A1:Z1", "nonsense", "A1:XFD99999999"])
def test_all_rows_are_read_whatever_range_the_file_states(tmp_path, range_):
    """Some programs state a smaller one than they fill: five of six records were lost."""
    changed = sheet(tmp_path, (b'ref="A1:B7"', f'ref="{range_}"'.encode()))
    assert read_table(changed).values.tolist() == RECORDS


@pytest.mark.parametrize("number", [b"50000000", b"9" * 5000, b"-1", b"2", b"x", b"1e9"])
def test_the_number_of_a_row_says_nothing(tmp_path, number):
    """As many blank rows were listed: half a minute for a row of 50 million."""
    assert read_table(sheet(tmp_path, (b'<row r="7"', b'<row r="%s"' % number))).values.tolist() == RECORDS


@pytest.mark.parametrize(
    "cell",
    [
        *(
            b't="inlineStr"><is><t>a%s</t></is>' % odd
            for odd in (b"&#xD800;", b"\xed\xa0\x80", b"\1", b"\xff")
        ),
        *(
            b't="inlineStr"><is><t>a%s</t></is>' % odd
            for odd in (b"&#1;", b"&#1114112;", b"&#x%s;" % (b"9" * 500))
        ),
        *(b't="%s"><v>nonsense</v>' % kind for kind in (b"n", b"s", b"b", b"d", b"e", b"str")),
        b't="n"><v>%s</v>' % (b"9" * 5000),
        b't="n" s="x"><v>1</v>',
        b't="s"><v>99</v>',
        b't="inlineStr"><is><t>a</t><sheetData/></is>',
        b't="n" r="nonsense"><v>1</v>',
        b't="inlineStr"><is><r><rPr><sz val="x"/></rPr><t>a</t></r></is>',
    ],
    ids=lambda cell: ascii(cell)[:60],
)
def test_a_cell_that_cannot_be_read_is_missing(tmp_path, cell):
    """A lone surrogate, or an index of no text, in one record of a sheet refused the file."""
    place = b'<c r="B3"' if b" r=" not in cell else b"<c"
    changed = sheet(tmp_path, (b'<c r="B3" t="n"><v>11</v>', place + b" " + cell))
    values = read_table(changed).values
    assert np.isnan(values[1, 1]) and values[1, 0] == 1
    assert [*values[:1].tolist(), *values[2:].tolist()] == [RECORDS[0], *RECORDS[2:]]


@pytest.mark.parametrize("within", [b"<sheetData/>", b"<row><c><v>7</v></c></row>", b"<row/><sheetData/>"])
def test_what_stands_within_a_row_is_a_part_of_it(tmp_path, within):
    """A record that is no cell ended the sheet for all after it, or was two."""
    old = b'<c r="B3" t="n"><v>11</v></c>'
    assert read_table(sheet(tmp_path, (old, old + within))).values.tolist() == RECORDS


def test_texts_that_cells_share_are_read_one_by_one(tmp_path):
    kind = excel.reader.excel.SHARED_STRINGS.encode()
    said = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%s"/></Types>' % kind
    path = sheet(
        tmp_path,
        (b"</Types>", said),
        *((b'<c r="B%d" t="n"><v>%d<' % (k + 2, 10 + k), b'<c t="s"><v>%d<' % k) for k in range(4)),
        (b'<c r="B6" t="n"><v>14<', b'<c t="s"><v>-1<'),
    )
    texts = [
        b"<t>17.5</t>",
        b"<t>&#xDFFF;</t>",
        b'<r><rPr><sz val="x"/></rPr><t>1</t></r>',
        b"<r><t>18</t></r>",
    ]
    entries = b"".join(b"<si>%s</si>" % text for text in texts)
    with zipfile.ZipFile(path, "a") as file:
        space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        file.writestr("xl/sharedStrings.xml", b'<sst xmlns="%s">%s</sst>' % (space, entries))
    schema = Schema.from_dict({"format": "sosdp-schema/1", "columns": {"x": NUMBER, "y": NUMBER}})
    values = read_table(path, schema=schema).values[:, 1]
    assert np.array_equal(values, [17.5, np.nan, np.nan, 18.0, np.nan, 15.0], equal_nan=True)


@pytest.mark.parametrize("encoding", ["us-ascii", "windows-1252", "UTF8", "UTF-16"])
def test_no_record_refuses_a_sheet_of_another_encoding(tmp_path, encoding):
    path = sheet(tmp_path, (b'<c r="B3" t="n"><v>11</v>', b'<c t="inlineStr"><is><t>a&#1;</t></is>'))
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "v.xlsx", "w") as other:
        for name in whole.namelist():
            text = whole.read(name)
            if name.endswith("sheet1.xml"):
                declared = f'<?xml version="1.0" encoding="{encoding}"?>{text.decode()}'
                text = declared.encode(encoding)
            other.writestr(name, text)
    values = read_table(str(tmp_path / "v.xlsx")).values
    assert np.isnan(values[1, 1]) and values[[0, *range(2, 6)]].tolist() == [RECORDS[0], *RECORDS[2:]]


def test_a_sheet_of_another_encoding_is_read(tmp_path):
    path = sheet(
        tmp_path, (b"<worksheet", b'<?xml version="1.0" encoding="latin-1"?><worksheet'), (b">x<", b">\xe4<")
    )
    assert read_table(path).names == ["\u00e4", "y"]
    path = sheet(tmp_path, (b'<row r="1"', b'<row r="2"'))
    refuse((lambda: read_table(path), "columns"))


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
