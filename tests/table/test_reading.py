"""No record decides how another one is read: whatever one is, it moves every integer by what it may add."""

import datetime
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from sosdp.cli import main
from sosdp.privacy import Budget, Parts, Table
from sosdp.privacy.entries import listed
from sosdp.privacy.files import InputFileError
from sosdp.privacy.inputs import LEFT_OUT, canonical, floats, members
from sosdp.privacy.rows import counted_width, numbers
from sosdp.privacy.schema import Schema
from sosdp.privacy.table.records import all_chunks, text_of
from sosdp.privacy.table.state import fold, totals
from sosdp.privacy.table.whole import by_schema
from tests.refusals import each, refuse

pandas = pytest.importorskip("pandas")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NUMBER = {"type": "number", "low": 0, "high": 100}
DATE = {"type": "date", "low": "2000-01-01", "high": "2020-01-01", "format": "%Y-%m-%d"}
# a number whose exponent no decimal number of Python has
BEYOND = "1e-99999999999999999999"
# records beside the one that is more: enough to see that all of them moved
MANY = 60


def schema(column, owner=None):
    said = {"format": "sosdp-schema/1", "columns": {"x": column}}
    return said | ({"owner": {"column": owner, "records": 1}} if owner else {})


def cells(source, said):
    """Records, readable entries, and, of numbers and dates, the sum of the deviations."""
    table = Table(source, said, 1.0).count().count("x").mean("x")
    (result,) = totals(fold(table.question, all_chunks(source, table.question))).values()
    half = table.question.statistics[-1].half
    return int(result[0][0]), int(result[1][0]), Fraction(int(result[2][0]), half)


def moved(more, less, said):
    """Whether two tables are as near as neighbours: one record, one entry, one deviation."""
    changes = [abs(a - b) for a, b in zip(cells(more, said), cells(less, said), strict=True)]
    return changes[0] == 1 and max(changes) <= 1


class Raises(dict):
    def get(self, *_):
        raise RuntimeError("private")


class Key(str):
    """A name with code of its own, which a look-up of this name would run."""

    __hash__ = str.__hash__

    def __eq__(self, _):
        raise RuntimeError("private")


class Nameless(type):
    @property
    def __module__(cls):
        raise RuntimeError("private")


def test_a_class_that_says_nothing_of_itself_is_no_date():
    for odd in (type("Odd", (), {"__module__": 5})(), Nameless("Odd", (), {})(), pandas.NaT):
        assert cells({"x": [datetime.date(2010, 1, 1), odd]}, schema(DATE))[:2] == (2, 1)


class Computed:
    """What Dask hands over: a computation, which fails for one record."""

    def __init__(self, texts):
        self.texts = texts

    def compute(self):
        import warnings

        warnings.warn(f"{self.texts} seen", stacklevel=2)
        return [{"x": int(text)} for text in self.texts]


def test_a_computation_that_fails_quotes_nothing(recwarn):
    """Whether it fails may depend on one record: a release rests on its not failing."""
    table = Table(Computed(["1", "2"]), schema(NUMBER), 1.0, adjacency="replace", delta=1e-6)
    question = table.count()
    one, two = question.fold(table.source), question.fold({"x": ["1", "2"]})
    with ThreadPoolExecutor(1) as pool:
        releases = [question.release(), question.release(executor=pool), table.synthetic()]
    drawn = Table(table.source, schema(NUMBER), Budget(epsilon=1.0, adjacency="one record (replace)"))
    releases += [question.release(question.merge(*states)) for states in ((one, two), (two, one))]
    for release in (*releases, drawn.count().release()):
        assert "Dask" in release.guarantee.conditions[0]
    assert not question.release(two).guarantee.conditions
    with pytest.raises(InputFileError) as failed:
        Table(Computed(["1", "secret"]), schema(NUMBER), 1.0).count().release()
    assert "secret" not in str(failed.value) and failed.value.__context__ is None and not recwarn.list


def test_a_column_that_is_a_computation_is_refused():
    class Lazy(Computed):
        shape = (2,)

        def __len__(self):
            return len([int(text) for text in self.texts])

        def __iter__(self):
            return iter([int(text) for text in self.texts])

    for texts in (["1", "2"], ["1", "secret"]):
        table = Table({"x": Lazy(texts)}, schema(NUMBER), 1.0)
        for question in (
            table.count(),
            table.count("x"),
        ):  # how many there are is question of the first column
            refuse((question.release, "is a computation", TypeError))


def test_a_frame_may_have_any_names_for_columns_and_rows():
    """Attributes of a frame are its columns, those of a column its labels: its class says what it is."""
    for name, labels in itertools.product(
        ("compute", "to_delayed", "dtype", "array", "shape", "levels", "toarray", "to_pylist"),
        (None, ["a", "tz"], ["categories", "a"], ["pyarrow_dtype", "storage"]),
    ):
        frame = pandas.DataFrame({name: [1.0, 2.0], "z": [3.0, 4.0]}, index=labels)
        assert numbers(frame).tolist() == [[1, 3], [2, 4]] and not counted_width(frame, 2)
        said = {"format": "sosdp-schema/1", "columns": {name: NUMBER}}
        (row,) = Table(frame, said, 1e12).sum(name).release().value["rows"]
        assert round(row["value"], 6) == 3


def test_a_list_is_one_of_records_whatever_they_are():
    people = [{"x": text} for text in ("10", "20", "77")]
    odd = [
        {Key("x"): 3}, {"x": [0]}, {"x": [5] * 99}, {"x": np.zeros(9)}, {}, Raises(x=3), None, 5, "10", b"10",
        "no/such/file.csv", [1, 2], [], {"x"}, pandas.DataFrame({"x": [1, 2, 3]}), Parts([{"x": [1, 2]}]),
        object(), math.nan,
    ]  # fmt: skip
    for container in (list, tuple):
        for record in odd:
            for place in range(4):
                more = container([*people[:place], record, *people[place:]])
                assert moved(more, people, schema(NUMBER)), record
        assert cells(container([odd[1]]), schema(NUMBER)) == (1, 0, 0)


def test_parts_are_named():
    people = [{"x": 10}, {"x": 20}]
    for part in (people, {"x": [10, 20]}, pandas.DataFrame({"x": [10, 20]})):
        source = Parts([part, people])
        release = Table(source, schema(NUMBER), 1e9, interval=None).count("x").release()
        assert release.value["rows"][0]["value"] == 4
    refuse(
        *each(
            lambda source: Table(source, schema(NUMBER), 1.0).count("x").release(),
            (Parts([Parts([people])]), {"x": "10"}),
            None,
            TypeError,
        )
    )


def stored(path, entries, kind):
    """A Parquet file of one column beside its owners, and the entries as they are stored."""
    whole = arrow.array(entries, kind[0])
    parquet.write_table(arrow.table({"x": whole.view(kind[1]) if kind[1] is not None else whole}), path)
    return path


ENTRIES = [
    (arrow.uint64(), None, NUMBER, range(MANY), [None, 2**64 - 1]),
    (arrow.int64(), None, NUMBER, range(MANY), [None, -(2**63)]),
    (arrow.int8(), None, NUMBER, range(MANY), [None]),
    (arrow.int64(), None, DATE, range(11000, 11000 + MANY), [None]),
    (arrow.float32(), None, NUMBER, range(MANY), [None, math.inf, math.nan]),
    (arrow.decimal128(20, 2), None, NUMBER, range(MANY), [None, 10**17]),
    (arrow.bool_(), None, NUMBER, [True] * MANY, [None]),
    (arrow.binary(), arrow.string(), NUMBER, [b"5"] * MANY, [None, b"\xff", b"\x00", b"\xed\xa0\x80"]),
    (arrow.large_binary(), arrow.large_string(), NUMBER, [b"5"] * MANY, [None, b"\xff"]),
    (arrow.int32(), arrow.date32(), DATE, range(11000, 11000 + MANY), [None, 2**31 - 1, -(2**31)]),
    (arrow.int64(), arrow.date64(), DATE, [86_400_000 * 11000] * MANY, [None, 2**62, -(2**63)]),
    (arrow.int64(), arrow.timestamp("ms"), DATE, [86_400_000 * 11000] * MANY, [None, 2**62]),
    (arrow.int64(), arrow.timestamp("us", "Asia/Tokyo"), DATE, [10**15] * MANY, [None, 2**62, -(2**63)]),
]


@pytest.mark.parametrize(("kind", "view", "column", "entries", "odd"), ENTRIES, ids=lambda k: str(k)[:12])
def test_an_entry_of_parquet_decides_about_no_other(tmp_path, kind, view, column, entries, odd):
    less = stored(tmp_path / "less.parquet", list(entries), (kind, view))
    for entry in odd:
        more = stored(tmp_path / "more.parquet", [*entries, entry], (kind, view))
        assert moved(more, less, schema(column)), entry
    frame = pandas.read_parquet(less, dtype_backend="pyarrow")  # and as columns of Arrow in pandas
    assert cells(frame, schema(column)) == cells(less, schema(column))


@pytest.mark.parametrize("index", [arrow.int8(), arrow.uint16(), arrow.int32(), arrow.int64()], ids=str)
def test_an_entry_of_a_dictionary_of_parquet_decides_about_no_other(tmp_path, index):
    """Also of several row groups that together have more texts than the type of the file counts."""
    plain = [str(k).encode() for k in range(100)]
    results = []
    for odd in (b"\xff", b"\xed\xa0\x80", b"y", None):
        texts = arrow.array([*plain, odd or b"z"], arrow.binary()).view(arrow.string())
        more = arrow.array([f"{k}.5" for k in range(99)] + ["7", "7"])
        where = [arrow.array([*range(100), last], index) for last in (None if odd is None else 100, 100)]
        path = tmp_path / "t.parquet"
        groups = [
            arrow.table({"x": arrow.DictionaryArray.from_arrays(*one)}) for one in zip(where, (texts, more))
        ]
        with parquet.ParquetWriter(path, groups[0].schema) as file:
            for group in groups:
                file.write_table(group)
        results.append(cells(path, schema(NUMBER)))
    assert results[0][:2] == (202, 201) and len(set(results)) == 1


@pytest.mark.parametrize("blank", ["", " "])
def test_a_text_of_a_dictionary_takes_the_memory_of_one(tmp_path, blank):
    """A file of 50 kB with a text of a megabyte, named by 5000 records, was a MemoryError."""
    named = arrow.DictionaryArray.from_arrays([0] * 5000, ["x" * (1 << 20) + blank])
    assert len({id(text_of(one)) for one in listed(named)}) == 1
    parquet.write_table(arrow.table({"x": named}), tmp_path / "t.parquet")
    assert cells(tmp_path / "t.parquet", schema(NUMBER)) == (5000, 0, 0)


def test_times_are_read_in_their_own_unit(tmp_path):
    """The last day that Parquet can say is after the upper bound, in every unit and calendar."""
    late = stored(tmp_path / "t.parquet", [2**31 - 1], (arrow.int32(), arrow.date32()))
    distant = [
        np.array([2**62], f"datetime64[{unit}]") for unit in ("D", "h", "s", "ms", "W", "M", "Y", "25s")
    ]
    distant.append([pandas.Timestamp(np.datetime64(2**40, "s"))])
    for source in (late, *({"x": times} for times in distant)):
        assert cells(source, schema(DATE)) == (1, 1, 1), source
    noon = datetime.datetime(2010, 1, 1, 12)
    same = [np.array([noon], f"datetime64[{unit}]") for unit in ("h", "m", "s", "ms", "us", "ns", "2h")]
    assert (
        len({cells({"x": times}, schema(DATE)) for times in [[noon], [pandas.Timestamp(noon)], *same]}) == 1
    )


class Nowhere(datetime.tzinfo):
    def utcoffset(self, _):
        return None


class Exits(datetime.tzinfo):
    def utcoffset(self, _):
        raise SystemExit("the record is 7")


@pytest.mark.parametrize("zone", [Nowhere, Exits])
def test_a_time_of_an_unknown_zone_is_missing(zone):
    assert cells({"x": [datetime.datetime(2010, 1, 1, tzinfo=zone())]}, schema(DATE)) == (1, 0, 0)


@pytest.mark.parametrize("kind", ["uint64", "int64", "string", "dictionary"])
def test_an_owner_who_is_missing_merges_nobody(tmp_path, kind):
    ids = [2**60 + k for k in range(MANY)]
    typed = {"uint64": arrow.uint64(), "int64": arrow.int64()}.get(kind, arrow.string())
    ids = ids if kind.endswith("64") else [f"p{k}" for k in ids]
    sources = []
    for more in (ids, [*ids, None]):
        path = tmp_path / f"{len(more)}.parquet"
        owners = arrow.array(more, typed)
        owners = owners.dictionary_encode() if kind == "dictionary" else owners
        parquet.write_table(arrow.table({"who": owners, "x": [5.0] * len(more)}), path)
        sources += [path, pandas.read_parquet(path, dtype_backend="numpy_nullable")]
        sources.append(pandas.read_parquet(path, dtype_backend="pyarrow"))
    for source in sources:
        assert cells(source, schema(NUMBER, "who"))[0] == MANY


IDS = [2**60 + k for k in range(MANY)]
TYPES = {
    **{kind: partial(pandas.Series, dtype=kind) for kind in ("Int64", "UInt64", "int64[pyarrow]", object)},
    "categories": lambda ids: pandas.Series(pandas.Categorical(ids, categories=IDS)),
    "categories of Int64": lambda ids: pandas.Series(
        pandas.Categorical(ids, pandas.array(IDS, dtype="Int64"))
    ),
    "index": lambda ids: pandas.Index(ids, dtype="Int64"),
    "array": lambda ids: pandas.array(ids, dtype="UInt64"),
    "text": lambda ids: pandas.Series([one and str(one) for one in ids], dtype="string"),
    "decimals": partial(pandas.Series, dtype=pandas.ArrowDtype(arrow.decimal128(20, 1))),
    "arrow": arrow.array,
    "chunks": lambda ids: arrow.chunked_array([ids[:7], ids[7:]], arrow.uint64()),
    "dictionary": lambda ids: arrow.array(ids).dictionary_encode(),
    "masked": lambda ids: np.ma.array([one or 0 for one in ids], mask=[one is None for one in ids]),
}


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_an_entry_that_is_missing_changes_no_other(kind):
    """In a column of every type that has missing entries, in a frame of it, and as owners of a table."""
    for ids in (IDS, [*IDS[:-1], None], [None, *IDS[1:]]):
        column = TYPES[kind](ids)
        read = [canonical(one) for one in members(column)]
        assert [one and int(one) for one in read if one is not None and one is not LEFT_OUT] == [
            *filter(None, ids)
        ]
        rows = [[*map(canonical, row)] for row in members(pandas.DataFrame({"who": column}))]
        assert kind in ("arrow", "chunks", "dictionary", "masked") or rows == [[key] for key in read]
        owned = {"x": [5.0] * MANY, "who": column}
        assert cells(owned, schema(NUMBER, "who"))[0] == MANY - ids.count(None)


def test_texts_and_truths_of_arrow_are_read_one_by_one():
    odd = arrow.array([b"a", b"\xff", None], arrow.binary()).view(arrow.string())
    distant = arrow.array([0, 2**62, None]).cast(arrow.duration("ms"))
    for column, first in (
        (odd, "a"),
        (pandas.arrays.ArrowStringArray(odd.cast(arrow.large_string(), safe=False)), "a"),
        (odd.cast(arrow.binary()).cast(arrow.binary_view()).view(arrow.string_view()), "a"),
        (distant, datetime.timedelta(0)),
        (arrow.ListArray.from_arrays([0, 1, 2, 3], odd), ["a"]),
        (pandas.Series(pandas.array(distant, dtype=pandas.ArrowDtype(distant.type))), datetime.timedelta(0)),
        (pandas.MultiIndex.from_tuples([(2**60 + 1, "a"), (None, "b"), (3, None)]), (2**60 + 1, "a")),
    ):
        assert members(column)[0] == first
        assert [canonical(one) for one in members(column)[1:]] == [LEFT_OUT, LEFT_OUT]
    assert members(arrow.array([True, None, False]), text=False)[::2] == [True, False]
    assert floats(arrow.array([Decimal("1.1"), Decimal(2)])).tolist() == [1.1, 2.0]
    refuse((lambda: members(odd, text=False), "no numbers", TypeError))


def test_types_of_parquet_that_are_not_read_are_refused_in_public(tmp_path):
    for kind, entry in ((arrow.binary(), b"5"), (arrow.list_(arrow.int64()), [5])):
        path = stored(tmp_path / "t.parquet", [entry], (kind, None))
        with pytest.raises(InputFileError, match="type"):
            Table(path, schema(NUMBER), 1.0).count("x").release()


def test_the_shell_reads_every_parquet_entry_by_itself(tmp_path, capsys):
    import json

    said = tmp_path / "schema.json"
    said.write_text(json.dumps(schema(NUMBER)))
    for entry in (b"5", b"\xff"):
        path = stored(tmp_path / "t.parquet", [b"5", entry], (arrow.binary(), arrow.string()))
        coded = tmp_path / "d.parquet"
        texts = arrow.array([b"5", entry], arrow.binary()).view(arrow.string())
        index = arrow.array([0, 1])
        parquet.write_table(arrow.table({"x": arrow.DictionaryArray.from_arrays(index, texts)}), coded)
        for file in (path, coded):
            command = ["private", "sum", str(file), "--schema", str(said), "--column", "x", "--epsilon", "1"]
            assert main(command) == 0
            assert capsys.readouterr().err == ""


def test_a_state_of_another_question_is_refused():
    broad, narrow = schema(NUMBER), schema({**NUMBER, "high": 1})
    one = Table([], broad, 1.0).sum("x")
    state = one.fold([{"x": 100.0}] * 50)
    assert one.release(one.merge(state, state))
    others = [
        Table([], narrow, 1000.0).sum("x"),
        Table([], broad, 1.0).mean("x"),
        Table([], broad, 1.0).sum("x").count(),
        Table([], broad, 1.0, adjacency="replace").sum("x"),
        Table([], broad, 1.0).by("who", ["a"]).sum("x"),
    ]
    for other in others:
        with pytest.raises(ValueError, match="another"):
            other.release(state)
        with pytest.raises(ValueError, match="another"):
            other.merge(other.fold([]), state)


def test_a_first_line_that_is_no_header_is_not_repeated(tmp_path, capsys):
    import json

    (tmp_path / "t.csv").write_text("12,secret\n13,other\n")
    (tmp_path / "s.json").write_text(json.dumps(schema(NUMBER)))
    for name in ("sum", "gaussian"):
        command = [
            "private",
            name,
            str(tmp_path / "t.csv"),
            "--schema",
            str(tmp_path / "s.json"),
            "--epsilon",
            "1",
        ]
        assert main([*command, *(["--column", "x"] if name == "sum" else [])]) == 2
        out, err = capsys.readouterr()
        assert not out and err.count("\n") == 1 and "no such column" in err and "secret" not in err


def test_indicators_of_categories_look_at_one_record():
    """What is none of the texts is missing; neighbours differ in one row; facts need no record."""
    columns = {
        "a": {"type": "category", "values": ["x", "y", "z"]},
        "b": {"type": "number", "low": 0, "high": 9},
    }
    columns["c"] = {"type": "category", "values": ["x"]}
    schema = Schema.of({"format": "sosdp-schema/1", "columns": columns})
    table = [{"a": text, "b": 1, "c": "x"} for text in ("z", "x", "secret", "y")]
    expected = [[0, 1, 1], [0, 0, 1], [np.nan, np.nan, 1], [1, 0, 1]]
    whole = by_schema(table, schema).with_indicators()
    assert np.array_equal(whole.values, expected, equal_nan=True) and whole.names == ["a=y", "a=z", "b"]
    assert whole.literal == [True, True, False] and whole.bounds == [(0.0, 1.0), (0.0, 1.0), (0, 9)]
    for text in ("x", "y", "secret", None, BEYOND):
        other = by_schema([{**table[0], "a": text}, *table[1:]], schema).with_indicators()
        assert np.array_equal(other.values[1:], expected[1:], equal_nan=True)
    facts = by_schema(None, schema).with_indicators()
    assert (facts.names, facts.bounds, facts.literal) == (whole.names, whole.bounds, whole.literal)
    assert by_schema(None, schema).with_indicators("a").names == ["a", "b"]
    columns["a=y"] = columns["b"]
    refuse(
        (
            lambda: by_schema(
                None, Schema.of({"format": "sosdp-schema/1", "columns": columns})
            ).with_indicators(),
            "a=y",
        )
    )


@pytest.mark.parametrize(
    ("ending", "writer", "twos"),
    [("csv", "csv", [0, 8]), ("parquet", "parquet", [8, 0]), ("xlsx", "excel", [8, 0])],
)
def test_whole_numbers_with_missing_entries_are_categories(tmp_path, ending, writer, twos):
    """In a text file pandas writes 1.0 for 1 where an entry is missing: no category was met. Where two
    categories are the same number, the text decides, also where one of them is no key."""
    path = tmp_path / f"t.{ending}"
    getattr(pandas.DataFrame({"x": [1, 2, None, 1, 3] * 8}), f"to_{writer}")(path, index=False)
    table = Table(path, schema({"type": "category", "values": [1, 2, 2.0, "3.00", "true", BEYOND]}), 1e9)
    every = [16, *twos, 8, 0, 0]
    for statistic in (table.histogram("x"), table.by("x").count(), table.by("x", ["1", "2"]).count()):
        rows = [row["value"] for row in statistic.release().value["rows"]]
        assert rows == every[: len(rows)]


def test_what_can_be_read_once_is_no_column():
    """A second release would be one of no records."""
    columns = [iter([1, 2]), (v for v in [1, 2]), 5, "12"]
    refuse(*each(lambda c: cells({"x": c}, schema(NUMBER)), columns, "one column is expected", TypeError))
