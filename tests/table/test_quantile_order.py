"""Quantiles of one release are in order, and an interval still holds what it held."""

import itertools

import pytest

from sosdp.privacy import Table
from sosdp.privacy.table.quantiles import in_order

SCHEMA = {
    "format": "sosdp-schema/1",
    "columns": {
        "x": {"type": "integer", "low": 0, "high": 1000},
        "g": {"type": "category", "values": ["a", "b"]},
    },
}


@pytest.mark.parametrize("values", list(itertools.permutations([1.0, 4.0, 9.0])))
def test_values_are_sorted_and_intervals_grow(values):
    shares = (0.5, 0.25, 0.75)
    before = [(value - 1.0, value + 2.0) for value in values]
    rows = [
        {"quantile": q, "value": v, "low": low, "high": high}
        for q, v, (low, high) in zip(shares, values, before, strict=True)
    ]
    in_order(rows)
    assert [row["value"] for row in sorted(rows, key=lambda row: row["quantile"])] == [1.0, 4.0, 9.0]
    for row, (low, high) in zip(rows, before, strict=True):
        assert row["low"] <= min(low, row["value"]) and row["high"] >= max(high, row["value"])
    bare = [{"quantile": q, "value": v} for q, v in zip(shares, values, strict=True)]
    in_order(bare)
    assert [row["value"] for row in bare] == [4.0, 1.0, 9.0]


@pytest.mark.parametrize("interval", [None, "noise"])
def test_a_release_of_few_records_is_in_order(interval):
    """Also where the quantiles were asked for apart, and for each key by itself."""
    people = {"x": [0, 500, 1000, 20], "g": ["a", "b", "a", "b"]}
    for seed in range(20):
        question = Table(people, SCHEMA, 0.1, insecure_seed=seed, interval=interval).by("g").median("x")
        rows = question.quantiles("x", [0.9, 0.1]).mean("x").release().value["rows"]
        for key in "ab":
            own = sorted((r["quantile"], r["value"]) for r in rows if r["key"] == key and "quantile" in r)
            values = [value for _, value in own]
            assert len(values) == 3 and values == sorted(values)
