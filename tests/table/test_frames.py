"""Answers as frames of pandas: their columns are known from the question, whatever the records hold."""

import pytest

from sosdp.privacy import Table
from tests.refusals import refuse
from tests.table.test_parts import SCHEMA

pytest.importorskip("pandas")


def test_a_table_without_frequent_keys_is_an_empty_frame():
    """Whether a frame could be made depended on how often a key occurs."""
    schema = {**SCHEMA, "columns": {"age": {"type": "number", "low": 0, "high": 120}}}
    rare = {"person": [f"P{i}" for i in range(100)], "age": [1.0] * 100}
    often = {"person": ["P"] * 100, "age": [1.0] * 100}
    for ask in (
        lambda table: table.count(),
        lambda table: table.mean("age"),
        lambda table: table.histogram("age", 2).median("age"),
        lambda table: table.quantiles("age", [0.5]),
    ):
        none, some = (
            ask(Table(data, schema, 50.0, delta=1e-8).by("person")).release().frame()
            for data in (rare, often)
        )
        assert len(none) == 0 < len(some) and list(none) == list(some)


def test_a_frame_has_the_numbers_that_a_bin_holds_and_columns_by_the_question_alone():
    """Bins of single integers and of booleans were intervals; one statistic had other columns than two."""
    columns = {"ill": {"type": "integer", "low": 0, "high": 5}, "old": {"type": "boolean"}}
    columns["pay"] = {"type": "number", "low": 0, "high": 2}
    table = Table(
        {"ill": [0, 5, 5], "old": [True, False, True], "pay": [0, 1, 2]}, {**SCHEMA, "columns": columns}, 1e9
    )
    for question, bins in (
        (table.histogram("ill"), [0, 1, 2, 3, 4, 5]),
        (table.histogram("old"), [False, True]),
        (table.histogram("ill", 4), ["0 to 1", "2 to 3", "4 to 5"]),
        (table.histogram("ill", 5), ["0 to 1", "2 to 3", "4 to 5"]),
        (table.histogram("ill", [0, 1, 3]), [0, "1 to 2", "3 to 5"]),
        (table.histogram("ill", [0, 2.5, 5]), [[0, 2.5], [2.5, 5]]),
        (table.histogram("pay", 2), [[0, 1], [1, 2]]),
        (
            table.histogram("ill", [0, 3, 5]).histogram("ill", [0, 5, 9]),
            ["0 to 2", "3 to 5", "0 to 4", "5 to 8"],
        ),
        (
            table.histogram("ill", [0, 5, 9]).histogram("ill", [0, 3, 5]),
            ["0 to 4", "5 to 8", "0 to 2", "3 to 5"],
        ),
        (table.histogram("ill").histogram("old"), [0, 1, 2, 3, 4, 5, False, True]),
    ):
        release = question.release()
        frame = release.frame()
        assert frame.bin.tolist() == bins and [*map(type, frame.bin)] == [*map(type, bins)]
        assert list(frame) == ["key", "column", "statistic", "bin", "value", "low", "high"]
        assert frame.value.tolist() == [row["value"] for row in release.value["rows"]]
    assert release.public["bounds"] == {"ill": [0, 5], "old": [False, True]}
    constant = {**SCHEMA, "columns": {"k": {"type": "integer", "low": 3, "high": 3}}}
    one = Table({"k": [3, 3]}, constant, 1e9)
    for edges, bins in (([2, 3], ["2 to 3"]), ([2, 3, 4], [2, 3]), ([3, 3], [3])):
        assert one.histogram("k", edges).release().frame().bin.tolist() == bins
    refuse((lambda: one.histogram("k", [2, 3]).histogram("k", [3, 4]), "asked twice"))
    frame = table.mean("pay").release().frame()
    assert list(frame) == ["key", "column", "statistic", "value", "low", "high"]
    assert (frame.column[0], frame.statistic[0]) == ("pay", "mean")
    frame = table.count().quantiles("pay", 0.5).release().frame()
    assert list(frame) == ["key", "column", "statistic", "quantile", "value", "low", "high"]
    assert table.count().release().frame().column.tolist() == [None]
    mixed = table.count().histogram("ill").release().frame()  # beside a row without a bin 3 was 3.0
    assert repr(mixed.bin.tolist()) == "[None, 0, 1, 2, 3, 4, 5]"
