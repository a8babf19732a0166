"""The same integers whatever the parts: files, frames, pools of processes, Dask; and workers that die."""

import gzip
import os
import pickle
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import reduce

import numpy as np
import pytest

from sosdp.privacy import Budget, Parts, Table
from sosdp.privacy.entries import listed
from sosdp.privacy.files import InputFileError
from sosdp.privacy.table.records import text_of
from sosdp.privacy.table.state import totals

arrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")

SCHEMA = {
    "format": "sosdp-schema/1",
    "columns": {
        "age": {"type": "integer", "low": 0, "high": 120},
        "pay": {"type": "number", "low": -50, "high": 1e5},
        "region": {"type": "category", "values": ["N", "S"]},
        "born": {"type": "date", "low": "1900-01-01", "high": "2030-01-01", "format": "%Y-%m-%d"},
    },
}
OWNED = {**SCHEMA, "owner": {"column": "who", "records": 3}}


def frame(n=400, seed=0):
    g = np.random.default_rng(seed)
    days = np.datetime64("1950-01-01") + g.integers(0, 20000, n)
    return pandas.DataFrame(
        {
            "who": [f"p{k}" for k in g.integers(0, n // 4, n)],
            "age": pandas.array([None if k % 17 == 0 else int(a) for k, a in enumerate(g.integers(0, 99, n))],
                                dtype="Int64"),
            "pay": np.where(g.random(n) < 0.1, np.nan, g.gamma(3, 9000, n)),
            "region": g.choice(["N", "S", "elsewhere"], n),
            "born": days.astype("datetime64[s]"),
        }
    )  # fmt: skip


def table_of(source, schema=SCHEMA, budget=1.0, **more):
    table = Table(source, schema, budget, **more).by("region")
    table = table.count().count("age", missing=True).sum("pay").mean("age").histogram("age", 4)
    return table.quantiles("born", [0.5]).mean("born")


def same(one, other):
    """Equal totals: the integers that noise is added to."""
    first, second = totals(one), totals(other)
    return first.keys() == second.keys() and all(
        all(np.array_equal(a, b) for a, b in zip(first[key], second[key], strict=True)) for key in first
    )


@pytest.mark.parametrize("schema", [SCHEMA, OWNED], ids=["records", "users"])
def test_every_partition_gives_the_same_integers(schema):
    whole = frame()
    table = table_of(whole, schema)
    expected = table.fold(whole)
    g = np.random.default_rng(3)
    for pieces in (1, 2, 7, 40):
        edges = [0, *sorted(g.integers(0, len(whole), pieces - 1).tolist()), len(whole)]
        states = [table.fold(whole.iloc[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
        left = reduce(table.merge, states)
        right = reduce(lambda later, earlier: table.merge(earlier, later), states[::-1])  # associative
        assert same(left, expected) and same(right, expected)
        assert left == right and pickle.loads(pickle.dumps(left)) == left
    seeded = table_of(whole, schema, insecure_seed=5)
    assert seeded.release(left).value == seeded.release().value
    assert "0" not in repr(expected)


def test_a_user_keeps_the_first_records_of_the_table():
    rows = pandas.DataFrame({"who": ["a"] * 5 + ["b"], "age": [1, 2, 3, 50, 60, 7]})
    table = Table(rows, OWNED, 1.0).sum("age").count()
    halves = table.merge(table.fold(rows.iloc[:2]), table.fold(rows.iloc[2:]))
    (cells,) = totals(halves).values()
    assert [int(cell[0]) for cell in cells] == [1 + 2 + 3 + 7, 4]


@pytest.mark.parametrize("schema", [SCHEMA, OWNED], ids=["records", "users"])
def test_files_of_every_kind_hold_the_same_integers(tmp_path, schema):
    pytest.importorskip("pyarrow")
    whole = frame()
    lines = whole.assign(born=whole.born.dt.strftime("%Y-%m-%d")).to_csv(index=False)
    (tmp_path / "t.csv").write_text(lines)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(lines)
    import pyarrow

    with pyarrow.output_stream(str(tmp_path / "t.csv.zst"), compression="zstd") as file:
        file.write(lines.encode())
    whole.to_parquet(tmp_path / "t.parquet")
    folder = tmp_path / "folder"
    folder.mkdir()
    for part in range(4):
        whole.iloc[part * 100 : part * 100 + 100].to_parquet(folder / f"part-{part}.parquet")
    table = table_of(whole, schema)
    expected = table.fold(whole)
    for name in ("t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"):
        assert same(table.fold(tmp_path / name), expected), name
    columns = {name: whole[name].tolist() for name in whole.columns}
    for source in (columns, whole.to_dict("records")):
        assert same(table.fold(source), expected)
    seeded = table_of(whole, schema, insecure_seed=1).release().value
    for source in (folder, Parts([whole.iloc[:9], whole.iloc[9:]])):
        assert table_of(source, schema, insecure_seed=1).release().value == seeded
    with ThreadPoolExecutor(3) as pool:
        assert table_of(folder, schema, insecure_seed=1).release(executor=pool).value == seeded


def test_dask_frames_and_bags_hold_the_same_integers():
    dask_frame = pytest.importorskip("dask.dataframe")
    import dask.bag

    whole = frame()
    seeded = table_of(whole, OWNED, insecure_seed=1).release().value
    lazy = dask_frame.from_pandas(whole, npartitions=5, sort=False)
    assert table_of(lazy, OWNED, insecure_seed=1).release().value == seeded
    bag = dask.bag.from_sequence(whole.to_dict("records"), npartitions=3)
    assert table_of(bag, OWNED, insecure_seed=1).release().value == seeded


class Exits:
    """A computation whose code ends the process."""

    def compute(self):
        raise SystemExit("the record is 7")


def test_a_computation_that_exits_fails_as_others_do():
    with pytest.raises(InputFileError, match="^the table: Dask: the computation of a part failed$"):
        table_of(Exits()).release()


class Fatal(Mapping):
    """A part whose reader dies the first time."""

    def __init__(self, columns, marker):
        self.columns, self.marker = columns, marker

    def __getitem__(self, name):
        if not os.path.exists(self.marker):
            open(self.marker, "w").close()
            os._exit(9)
        return self.columns[name]

    def __iter__(self):
        return iter(self.columns)

    def __len__(self):
        return len(self.columns)


def test_a_killed_worker_loses_nothing(tmp_path):
    whole = frame(60)
    halves = [
        {name: part[name].tolist() for name in whole.columns} for part in (whole.iloc[:30], whole.iloc[30:])
    ]
    budget = Budget(epsilon=1.0, adjacency="one record (add or remove)")
    source = Parts([halves[0], Fatal(halves[1], str(tmp_path / "died"))])
    table = table_of(source, budget=budget)
    with ProcessPoolExecutor(1) as pool, pytest.raises(BrokenProcessPool):
        table.release(executor=pool)
    assert not budget.spent and os.path.exists(tmp_path / "died")
    with ProcessPoolExecutor(1) as pool:
        release = table.release(executor=pool)
    assert len(budget.spent) == 1 and release.guarantee.epsilon == 1.0
    assert same(reduce(table.merge, map(table.fold, source)), table.fold(whole))


def test_a_whole_number_beyond_all_keys_is_none():
    """Python writes no integer of more than 4300 digits: one record raised."""
    assert text_of(2**256) == str(2**256) and text_of(-(2**256)) == str(-(2**256))
    assert [text_of(n) for n in (10**5000, -(10**5000), 2**256 + 1)] == [None] * 3


def test_parts_of_a_column_have_dictionaries_of_their_own():
    """Of 128 names more than a byte tells apart, the last one raised."""
    parts = [[f"u{k}" for k in range(120)], [f"v{k}" for k in range(9)], ["u0", None]]
    kind = arrow.dictionary(arrow.int8(), arrow.string())
    column = arrow.chunked_array([arrow.array(part).dictionary_encode().cast(kind) for part in parts])
    read = listed(column)
    assert read[:-1] == [*parts[0], *parts[1], "u0"] and read[-1] != read[-1]


def test_the_memory_of_private_keys_grows_with_the_records_not_with_the_bins():
    """How many keys there are is private, and 10000 integers each of them took all memory."""
    people = {"name": [f"u{k % 300}" for k in range(600)], "pay": list(range(600))}
    table = Table(people, SCHEMA, 1.0, delta=1e-6).by("name").histogram("pay", 10_000)
    halves = [{name: column[part] for name, column in people.items()} for part in (np.s_[:450], np.s_[450:])]
    state = reduce(table.merge, map(table.fold, halves))
    assert state == table.fold(people) and len(state.cells) == 300
    assert sum(cell.nbytes for cell, _ in state.cells.values()) <= 16 * 600
