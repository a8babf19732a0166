"""Tables as people use them: answers near the truth, plans, budgets, entries of every kind, refusals."""

import datetime
import json
import math
from decimal import Decimal

import numpy as np
import pytest

from sosdp.privacy import Budget, BudgetExceeded, Release, Table
from sosdp.privacy.files import InputFileError
from sosdp.privacy.schema import SchemaError
from sosdp.privacy.table import Query
from sosdp.privacy.table.state import totals
from sosdp.privacy.verification.release_check import check_release
from tests.refusals import each, refuse
from tests.table.test_parts import OWNED, SCHEMA, frame, table_of

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def people():
    return frame(6000, 2)


def test_answers_are_near_and_have_every_key(people):
    release = table_of(people, budget=20.0).release()
    result = release.frame().set_index(["statistic", "column", "key"])
    assert isinstance(release, Release) and {"value", "low", "high"} <= set(result.columns)
    inside = people[people.region == "N"]
    near = result.loc[("mean", "age", "N")]
    assert abs(near.value - inside.age.mean()) < 1 and near.low <= near.value <= near.high
    assert abs(result.loc[("sum", "pay", "S")].value / people[people.region == "S"].pay.sum() - 1) < 0.05
    median = result.loc[("quantile", "born", "N")]
    assert median.low <= f"{inside.born.median():%Y-%m-%d}" <= median.high and len(median.value) == 10
    assert check_release(release.to_dict()).status == "valid"
    json.dumps(release.to_dict())


def test_groups_with_and_without_public_keys(people):
    def keys(table):
        return set(table.release().frame().key)

    assert keys(Table(people, SCHEMA, 1.0).by("region").count()) == {"N", "S"}  # the others count nowhere
    assert keys(Table(people, SCHEMA, 1.0).by("region", ["S"]).count()) == {"S"}
    assert keys(Table(people, SCHEMA, 1.0).by("who", ["p1", "nobody"]).count()) == {"p1", "nobody"}
    columns = {**SCHEMA["columns"]}
    columns.pop("region")
    private = Table(people, {**SCHEMA, "columns": columns}, 1.0, delta=1e-6).by("region").mean("age")
    assert keys(private) == {"N", "S", "elsewhere"} and private.plan().least > 10
    refuse(
        (lambda: Table(people, {**SCHEMA, "columns": columns}, 1.0).by("region").count().release(), "delta")
    )


def test_a_plan_is_public_and_costs_nothing():
    budget = Budget(epsilon=2.0, adjacency="one user (add or remove)")
    table = table_of("/no/such/file.csv", OWNED, budget=budget)
    plan = table.plan(n=500)
    assert not budget.spent and len(plan.rows) == 7 and "nothing is read" in repr(plan)
    assert sum(row["epsilon"] for row in plan.rows) <= 2.0
    assert math.isclose(sum(row["epsilon"] for row in plan.rows), 2.0, rel_tol=1e-9)
    by_name = {(row["statistic"], row["column"]): row for row in plan.frame().to_dict("records")}
    assert by_name["histogram", "age"]["answers"] == 8
    refuse((lambda: table.release(), None, InputFileError))
    assert not budget.spent


def test_a_plan_foresees_the_errors(people):
    table = Table(people, SCHEMA, 1.0).count().sum("pay").mean("pay").quantiles("age", [0.5])
    plan = {row["statistic"]: row["error"] for row in table.plan(n=5400).rows}
    truth = {"count": 6000, "sum": people.pay.clip(-50, 1e5).sum(), "mean": people.pay.clip(-50, 1e5).mean(),
             "quantile": people.age.median()}  # fmt: skip
    errors = {name: [] for name in truth}
    for _ in range(60):
        for row in table.release().value["rows"]:
            errors[row["statistic"]].append(abs(row["value"] - truth[row["statistic"]]))
    for name in ("count", "sum", "mean"):
        assert 0.4 < np.mean(errors[name]) / plan[name] < 1.8, name
    assert np.mean(errors["quantile"]) < 2 + 2 * plan["quantile"]


def test_a_budget_is_spent_before_anything_is_drawn(people):
    budget = Budget(rho=0.5, adjacency="one record (replace)")
    release = Table(people, SCHEMA, budget).mean("age").release()
    assert release.guarantee.adjacency == "one record (replace)" and math.isclose(
        release.guarantee.epsilon, 1.0
    )
    spent = Table(people, SCHEMA, budget)
    pure = Budget(epsilon=1.0, adjacency="one record (replace)")
    Table(people, SCHEMA, pure).mean("age").release()
    refuse(
        *each(
            lambda again: again(),
            (
                spent.mean("age").release,
                spent.synthetic,
                Table(people, SCHEMA, pure).mean("age").release,
            ),
            "nothing is left",
            BudgetExceeded,
        ),
        (lambda: Table(people, OWNED, budget), "adjacency"),
    )


def test_entries_of_every_kind_have_one_meaning():
    zone = datetime.timezone(datetime.timedelta(hours=5))
    days = [
        "2000-01-02",
        datetime.date(2000, 1, 2),
        datetime.datetime(2000, 1, 2),
        datetime.datetime(2000, 1, 2, 5, tzinfo=zone),
        np.datetime64("2000-01-02"),
        pandas.Timestamp("2000-01-02"),
        "second of May", None, pandas.NaT, 5 + 1j, [1], object(), math.inf, "1e999", b"2000-01-02",
    ]  # fmt: skip
    table = Table({"born": days}, SCHEMA, 1.0).mean("born").count("born", missing=True)
    ((deviation, count), missing) = table.fold({"born": days}).cells[None]
    one = table.fold({"born": days[:1]}).cells[None][0]
    assert count == 6 and missing[0] == 9 and deviation == 6 * one[0]
    ages = [
        "7",
        7,
        7.0,
        np.int8(7),
        np.float32(7),
        True,
        "7.5",
        7.5,
        "-3",
        400,
        "x",
        math.nan,
        None,
        "",
        "inf",
    ]
    table = Table({"age": ages}, SCHEMA, 1.0).sum("age").count("age")
    cells = table.fold({"age": ages}).cells[None]
    assert int(cells[0][0]) == 5 * 7 + 1 + 0 + 120 and int(cells[1][0]) == 8
    decimal = {**SCHEMA, "columns": {"pay": {"type": "number", "low": 0, "high": 9, "decimal": ","}}}
    halves = Table({"pay": ["1,5", "1.5", "1,5,5"]}, decimal, 1.0).count("pay")
    assert int(halves.fold(halves.source).cells[None][0][0]) == 1


def test_every_entry_is_in_a_bin(people):
    """Edges that do not reach the bounds of the column drop nothing, and the release names these bounds."""
    table = Table({"age": [-9, 0, 29, 30, 49, 50, 119, 120, 500, "x"]}, SCHEMA, 1e9)
    for edges, bins, counts in (
        ([30, 40, 50], [[0, 30], [30, 40], [40, 50], [50, 120]], [3, 1, 1, 4]),
        ([0, 60], [[0, 60], [60, 120]], [6, 3]),
        ([-5, 130], [[-5, 130]], [9]),
        ([200, 300], [[0, 200], [200, 300]], [9, 0]),
        (
            None,
            [*([k, k + 13] for k in range(0, 117, 13)), [117, 120]],
            [2, 0, 2, 2, 0, 0, 0, 0, 0, 3],
        ),
        (np.int64(2), [[0, 61], [61, 120]], [6, 3]),
        (1, [[0, 120]], [9]),
    ):
        release = table.histogram("age", edges).release()
        assert [row["bin"] for row in release.value["rows"]] == bins
        assert [row["value"] for row in release.value["rows"]] == counts
        assert release.public["bounds"] == {"age": [0, 120]}
    ill = {"type": "integer", "low": 0, "high": np.int64(5)}
    table = Table({"ill": [0, 1, 1, 4, 5, 5, 5]}, {**SCHEMA, "columns": {"ill": ill}}, 1e9).histogram("ill")
    assert [(row["bin"], row["value"]) for row in table.release().value["rows"]] == list(
        zip(([k, k + 1] for k in range(6)), [1, 2, 0, 0, 1, 3], strict=True)
    )


def test_edges_of_dates_are_dates():
    """Texts and dates were refused, though the answer has them: only days since 1970 were edges."""
    born = {"type": "date", "low": "2000-01-01", "high": "2010-01-01"}
    days = [datetime.date(2000, 6, 1), datetime.date(2001, 1, 1), datetime.date(2003, 1, 1)]
    table = Table({"born": days}, {**SCHEMA, "columns": {"born": born}}, 1e9)
    edges = ["2001-01-01", "2003-01-01"]
    kinds = [edges, [11323, 12053], [*map(datetime.date.fromisoformat, edges)], [*map(np.datetime64, edges)]]
    for given in kinds:
        rows = table.histogram("born", given).release().value["rows"]
        assert [row["value"] for row in rows] == [1, 1, 1]
        assert rows[1]["bin"] == edges
    with pytest.raises(ValueError, match="such as 2030-01-01"):
        table.histogram("born", ["spring", "summer"])


def test_columns_whose_type_the_schema_does_not_read_are_refused():
    """All of their entries were missing, and nothing said so."""
    pay = {**SCHEMA, "columns": {"pay": {"type": "number", "low": 0, "high": 9}}}
    for kind in ("timedelta64[s]", "datetime64[D]", "complex128"):
        table = Table({"pay": np.ones(3).astype("int64").astype(kind)}, pay, 1.0).count("pay")
        with pytest.raises(TypeError, match="'pay' has type"):
            table.release()
    decimals = Table({"pay": [Decimal("1.5"), Decimal(7), Decimal("NaN")]}, pay, 1e9).count("pay").sum("pay")
    assert [row["value"] for row in decimals.release().value["rows"]] == [2, pytest.approx(8.5)]


def test_quantiles_near_the_ends_are_those_that_were_asked(people):
    rows = Table(people, SCHEMA, 1.0).quantiles("age", [0.9995, 1 / 3]).release().value["rows"]
    assert [row["quantile"] for row in rows] == [0.9995, 1 / 3]


def test_a_zone_moves_a_text_as_it_moves_a_time():
    """Noon in a zone two hours ahead is ten o'clock, in a file and in a frame."""
    column = {"type": "date", "low": "2000-01-01", "high": "2020-01-01T00:00+02:00",
              "format": "%Y-%m-%d %H:%M%z"}  # fmt: skip
    said = {"format": "sosdp-schema/1", "columns": {"t": column}}
    noon = datetime.datetime.fromisoformat("2010-01-01T12:00+02:00")
    sources = [[{"t": "2010-01-01 12:00+0200"}], [{"t": noon}], pandas.DataFrame({"t": [noon]}),
               [{"t": datetime.datetime(2010, 1, 1, 10)}]]  # fmt: skip
    states = [(table := Table(source, said, 1.0).mean("t")).fold(source).cells[None] for source in sources]
    assert len({tuple(map(int, state[0])) for state in states}) == 1
    assert table.question.columns[0].high == 18262 - 2 / 24


def test_no_records_and_bounds_that_agree_have_answers():
    columns = {
        "v": {"type": "number", "low": 3, "high": 3},
        "w": {"type": "integer", "low": 0, "high": 0},
        "far": {"type": "integer", "low": 0, "high": 10**9},
    }
    for source in ({"v": [3.0] * 50, "w": [0] * 50, "far": [7] * 50}, {"v": [], "w": [], "far": []}):
        table = Table(source, {"format": "sosdp-schema/1", "columns": columns}, 1.0).sum("v").mean("v")
        rows = table.quantiles("v").histogram("v").sum("w").mean("w").quantiles("far").release().value["rows"]
        assert [row["value"] for row in rows[1:5]] == [3.0] * 4
        assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
        assert all(type(row["value"]) is int for row in rows[-3:])  # a grid of 2^20 points has fractions


def test_answers_stay_within_public_bounds():
    for seed in range(30):
        rows = table_of(frame(8), budget=0.01, insecure_seed=seed).release().value["rows"]
        for row in rows:
            assert row["low"] <= row["value"] <= row["high"]
            if row["statistic"] in ("count", "missing", "histogram"):
                assert row["low"] >= 0
            if row["column"] == "born":
                assert "1900-01-01" <= row["low"] and row["high"] <= "2030-01-01"
            if (row["statistic"], row["column"]) == ("mean", "age"):
                assert 0 <= row["low"] and row["high"] <= 120


def test_without_intervals_quantiles_have_the_whole_budget(people):
    with_it = Table(people, SCHEMA, 1.0).quantiles("age", [0.5, 0.9])
    without = Table(people, SCHEMA, 1.0, interval=None).quantiles("age", [0.5, 0.9])
    assert set(without.release().value["rows"][0]) == {"key", "quantile", "value"}
    median, *others = [row["error"] for table in (with_it, without) for row in table.plan(1e6).rows]
    assert np.divide(others, median) == pytest.approx([1.8, 0.5, 0.9])


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda t: t.release(), ValueError, "no statistic"),
        (lambda t: t.mean("region"), SchemaError, "categories"),
        (lambda t: t.sum("born"), SchemaError, "dates"),
        (lambda t: t.mean("nothing"), SchemaError, "no column 'nothing'; it has "),
        (lambda t: t.count(missing=True), ValueError, "name it"),
        (lambda t: t.quantiles("age", [2]), ValueError, "quantiles"),
        (lambda t: t.quantiles("age", []), ValueError, "at least one"),
        (lambda t: t.quantiles("age", [math.nan]), ValueError, "quantiles"),
        (lambda t: t.histogram("age", 0), ValueError, "bins"),
        (lambda t: t.histogram("age", [1, 1]), ValueError, "bins"),
        (lambda t: t.histogram("age", [None, 1]), ValueError, "bins"),
        (lambda t: t.histogram("age", 5.0), ValueError, "bins"),
        (lambda t: t.histogram("age", True), ValueError, "bins"),
        (lambda t: t.histogram("region", 4), ValueError, "bins"),
        (lambda t: t.histogram("age", [0, math.inf]), ValueError, "finite"),
        (lambda t: t.histogram("age", [math.nan, 1]), ValueError, "bins"),
        (lambda t: t.describe(["age", "age"]), ValueError, "twice"),
        (lambda t: t.mean("age").mean("age"), ValueError, "the mean of column 'age' is asked twice"),
        (lambda t: t.count().describe(), ValueError, "the count is asked twice"),
        (lambda t: t.quantiles("age", [0.5, "1/2"]), ValueError, "none twice"),
        (
            lambda t: t.quantiles("age", 0.5).median("age"),
            ValueError,
            "the quantile of column 'age' is asked twice",
        ),
        (lambda t: t.quantiles("age", [0.5]).quantiles("age", [0.25, 0.5]), ValueError, "twice"),
        (lambda t: t.histogram("age", 3).histogram("age", 3), ValueError, "twice"),
        (lambda t: t.by("region", "age"), ValueError, "a list of keys"),
        (lambda t: t.by("age"), SchemaError, "categories"),
        (
            lambda t: t.by("city").count().release(),
            ValueError,
            r"'city' is not in the schema: .* keys=.* delta=",
        ),
        (lambda t: t.by(["region"]).count().plan(), ValueError, r"\['region'\] is not in the schema"),
        (lambda t: t.by("region", ["N", "N"]), ValueError, "distinct"),
        (lambda t: t.by("region", ["X"]), ValueError, "no category"),
        (lambda t: t.count().plan(n=0), ValueError, "n must"),
    ],
)
def test_questions_that_are_none_are_refused(people, ask, error, words):
    refuse((lambda: ask(Table(people, SCHEMA, 1.0)), words, error))


@pytest.mark.parametrize(
    "source",
    [5, None, np.zeros((3, 2)), {"age": [1, 2], "pay": [1]}]
    + [{"age": [1], "pay": odd} for odd in (5, None, np.array(3), np.ones((3, 2)), {"a": 1})],
)
def test_what_is_no_table_is_refused(source):
    refuse(
        (lambda: Table(source, SCHEMA, 1.0).sum("age").sum("pay").release(), None, (TypeError, ValueError))
    )


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (0, 5e-324), (5e-324, 5e-324), (1e300, 2e300)])
def test_bounds_near_the_ends_of_float64_are_refused_in_public(bounds):
    column = {"type": "number", "low": bounds[0], "high": bounds[1]}
    table = Table({"v": [1.0]}, {**SCHEMA, "columns": {"v": column}}, 1.0)
    refuse(
        *each(
            lambda ask: ask("v"),
            (table.sum, table.mean, table.quantiles, table.histogram),
            "other units",
            SchemaError,
        ),
        (
            lambda: (
                Table({"v": [1.0]}, {**SCHEMA, "columns": {"v": {**column, "low": 0, "high": 1}}}, 1e-13)
                .sum("v")
                .plan()
            ),
            "too small",
        ),
    )


def test_a_byte_order_mark_is_in_no_line(tmp_path):
    """Which line is the first is private where there is no header."""
    path = tmp_path / "t.csv"
    columns = {"x": {"type": "integer", "low": -10, "high": 10}}
    schema = {"format": "sosdp-schema/1", "header": False, "columns": columns}
    sums = []
    for text in (b"10\n\xef\xbb\xbf-10\n", b"\xef\xbb\xbf-10\n", b"\xef\xbb\xbf10\n-10\n"):
        path.write_bytes(text)
        table = Table(path, schema, 1.0).sum("x")
        ((cells,),) = totals(table.fold(path)).values()
        sums.append(int(cells[0]))
    assert sums == [0, -10, 0]


def test_a_time_at_the_end_of_years_is_a_date():
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    late = [datetime.datetime(9999, 12, 31, 23, 59, tzinfo=zone), datetime.datetime(2000, 1, 1)]
    column = {"type": "date", "low": "2000-01-01", "high": "2020-01-01", "format": "%Y-%m-%d"}
    table = Table({"t": late}, {"format": "sosdp-schema/1", "columns": {"t": column}}, 1.0).mean("t")
    assert table.release().value


def test_the_last_day_is_refused_in_public_where_it_cannot_be_rounded():
    def table_of(high):
        column = {"type": "date", "low": "2000-01-01", "high": high, "format": "%Y-%m-%d"}
        return Table({"t": []}, {**SCHEMA, "columns": {"t": column}}, 1.0)

    assert table_of("9999-12-31").mean("t").quantiles("t").histogram("t").release().value
    refuse(
        *each(
            lambda ask: ask(table_of("9999-12-31T12:00:00"), "t"),
            (Query.mean, Query.quantiles, Query.histogram),
            "bounds after",
            SchemaError,
        )
    )


def test_a_question_shows_no_record():
    for epsilon in (1.0, Decimal("1")):
        assert repr(Table({"age": [31415]}, SCHEMA, epsilon).by("region").count().mean("age")) == (
            "Table(count, mean(age), by region; epsilon 1, one record (add or remove))"
        )


@pytest.mark.parametrize("high", [5, 1e20])
def test_a_record_moves_no_other_record_into_another_bin(high):
    """With edges beyond 64 bits an unreadable entry took all later ones to another bin."""
    schema = {"format": "sosdp-schema/1", "columns": {"x": {"type": "integer", "low": 0, "high": high}}}
    for first in (0, None, "?", 3):
        rows = Table({"x": [first] + [0] * 50}, schema, 1e9).histogram("x").release().value["rows"]
        assert rows[0]["value"] in (50, 51) and sum(row["value"] for row in rows) in (50, 51)


def test_bins_of_whole_numbers_are_of_those_that_float64_has():
    """As entries are read; a column of a frame may have a number for its name."""
    column = {"type": "integer", "low": 2**60, "high": 2**60 + 4096}
    for entry in (2**60, 2**60 + 300, 2**60 + 4096):
        source = pandas.DataFrame({0: [entry] * 9})
        table = Table(source, {**SCHEMA, "columns": {"0": column}}, 1e9).histogram("0", 100)
        rows = {tuple(row["bin"]): row["value"] for row in table.release().value["rows"]}
        ((low, high),) = (ends for ends, count in rows.items() if count)
        assert low <= int(float(entry)) <= high and sum(rows.values()) == 9 and len(rows) == 17
        assert all(low < high and float(low) == low and float(high) == high for low, high in rows)
    column = {"type": "integer", "low": -2.5, "high": 10.5}  # the whole numbers between them
    table = Table([{"0": 99}], {**SCHEMA, "columns": {"0": column}}, 1e9).histogram("0", 2)
    rows = [(row["bin"], row["value"]) for row in table.release().value["rows"]]
    assert rows == [([-2, 5], 0), ([5, 10], 1)]
