"""Raw tables: column types, missing entries, units, logarithms, medians, and what an interval is for."""

import math
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from problems.gaussian import PrivateCovariance, PrivateGaussian, PrivateLinearRegression, PrivateMean
from problems.gaussian.columns import boolean_columns, public_columns, read_table
from problems.gaussian.frame import spread_missing
from sosdp.privacy.schema import Schema
from sosdp.privacy.table.whole import by_schema
from tests.refusals import each, refusals, refuse

N = 2000


def frame() -> pd.DataFrame:
    """Columns of every numeric type, in odd units, some entries missing."""
    g = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "integers": g.integers(0, 100, N),
            "bytes": g.integers(0, 255, N).astype(np.uint8),
            "nullable": pd.array(g.integers(0, 50, N), dtype="Int64"),
            "float32": g.normal(5.0, 2.0, N).astype(np.float32),
            "seconds": 1.7e9 + 3600.0 * g.normal(size=N),
            "tiny": 1e-12 * g.normal(size=N),
            "huge": 1e12 * (5.0 + g.normal(size=N)),
            "missing": g.normal(3.0, 1.0, N),
        }
    )
    table.loc[::7, "nullable"] = pd.NA
    table.loc[::6, "missing"] = np.nan
    return table


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_numeric_type_and_unit_with_no_bounds(delta):
    table = frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = PrivateMean(4.0, delta=delta, bounds=None, contamination=0.05).fit(table)
    truth = table.astype("Float64").mean().to_numpy(dtype=float)
    deviation = table.astype("Float64").std().to_numpy(dtype=float)
    assert np.all(np.abs(result.mean_ - truth) < 0.15 * deviation)
    assert result.feature_names_in_.tolist() == list(table.columns) and not result.degenerate_.any()
    inside = (result.interval_[:, 0] <= truth) & (truth <= result.interval_[:, 1])
    assert inside.sum() >= 7


def test_missing_entries_do_not_pull():
    """A third of a column far from 0 is missing; as zeros they would move its mean by a third of 100."""
    g = np.random.default_rng(1)
    X = g.normal(100.0, 1.0, (3000, 1))
    X[::3] = np.nan
    for options in ({"bounds": None}, {"bounds": (-1e4, 1e4)}, {"bounds": (-1e4, 1e4), "method": "median"}):
        result = PrivateMean(2.0, delta=1e-6, contamination=0.05, **options).fit(X)
        assert abs(result.mean_[0] - 100.0) < 0.2
    trimmed = PrivateMean(2.0, bounds=(50, 150), contamination=0.0, method="trimmed").fit(X)
    assert abs(trimmed.mean_[0] - 100.0) < 2.0
    covariance = PrivateGaussian(2.0, delta=1e-6, bounds=None, contamination=0.05).fit(np.hstack([X, X**2]))
    assert abs(covariance.mean_[0] - 100.0) < 0.3


def test_where_a_missing_entry_goes_depends_on_its_position_alone():
    column = np.arange(9.0)
    column[[2, 5]] = np.nan
    one = spread_missing(column, 0.4, (-1.0, 99.0))
    column[[0, 1]] = np.nan  # others go missing: the places of these stay
    two = spread_missing(column, 0.4, (-1.0, 99.0))
    assert one[[2, 5]].tolist() == two[[2, 5]].tolist() and set(one[[2, 5]]) <= {-1.0, 99.0}
    assert abs(np.mean(spread_missing(np.full(1000, np.nan), 0.4, (0.0, 1.0)) == 0.0) - 0.4) < 0.01


def test_schemas_are_refused_and_entries_never():
    times = pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 50)})
    refuse(*each(read_table, (times, pd.DataFrame({"name": ["x"] * 50})), "numbers", TypeError))
    rows = [[1.0, "2.5"], [None, "x"], [3.0, 1.0]]
    entries, names = read_table(rows)
    assert names is None and np.isnan(entries[1]).all() and entries[0].tolist() == [1.0, 2.5]
    series, _ = read_table(pd.Series([1, 2, 3], dtype="Int8"))
    assert series.shape == (3, 1)


def test_boolean_columns_are_shares():
    g = np.random.default_rng(2)
    flags = pd.array(g.random(N) < 0.1, dtype="boolean")
    table = pd.DataFrame({"smokes": g.random(N) < 0.3, "rare": flags, "age": g.normal(40, 10, N)})
    assert boolean_columns(table) == {"smokes", "rare"} and not boolean_columns(np.zeros((2, 2)))
    assert PrivateCovariance(4.0, bounds=None, contamination=0.0).fit(
        table[["smokes"]]
    ).covariance_.shape == (1, 1)
    for bounds in (None, [None, None, (0, 120)], (0, 120), {"smokes": (0, 1)}):  # the type is public
        result = PrivateMean(1.0, delta=1e-6, bounds=bounds, contamination=0.05).fit(table)
        assert result.estimates_ == ("mean", "mean", "folded mean")
        for d in (2, 4) if bounds is None else ():  # of other records the types of these say nothing
            other = PrivateMean(1.0, delta=1e-6, bounds=bounds, contamination=0.05)
            assert result.plan(N, d) == other.plan(N, d)
        assert (np.abs(result.mean_ - [table["smokes"].mean(), 0.1, 40.0]) < [0.1, 0.1, 3.0]).all()
        beside = PrivateCovariance(4.0, 1e-6, bounds=bounds, contamination=0.0).fit(table)
        assert np.abs(np.log(np.diag(beside.covariance_) / table.astype(float).var())).max() < 0.4


def test_a_schema_and_a_frame_may_have_their_columns_in_other_orders():
    """The bounds of one column were taken with the type of another: slopes of 97 for 3."""
    g = np.random.default_rng(0)
    x, flag = g.normal(0, 20, 20000), g.random(20000) < 0.4
    columns = {
        "x": {"type": "number", "low": -100, "high": 100},
        "b": {"type": "integer", "low": 0, "high": 1},
    }
    ask = {"delta": 1e-6, "contamination": 0.0, "schema": {"format": "sosdp-schema/1", "columns": columns}}
    model = PrivateLinearRegression(2.0, bounds=None, y_bounds=(-500, 500), **ask)
    model.fit(pd.DataFrame({"b": flag, "x": x}), 3 * x + 5 * flag + g.normal(size=20000))
    assert np.abs(model.coef_ - [3, 5]).max() < 0.3


def test_a_schema_may_state_more_columns_than_the_records_have():
    """As in the shell, where it states the target too; a misspelled column is none that was left out."""
    g = np.random.default_rng(0)
    table = pd.DataFrame({"x": g.normal(0, 20, 20000), "side": g.choice(["left", "right"], 20000)})
    y = 3 * table["x"] + 9 * (table["side"] == "right") + g.normal(size=20000)
    columns = {
        "y": {"type": "number", "low": -500, "high": 500},
        "x": {"type": "number", "low": -100, "high": 100},
        "side": {"type": "category", "values": ["left", "right"]},
    }
    ask = {"delta": 1e-6, "contamination": 0.0, "schema": {"format": "sosdp-schema/1", "columns": columns}}
    model = PrivateLinearRegression(4.0, bounds=None, y_bounds=(-500, 500), **ask).fit(table, y)
    assert np.abs(model.coef_ - [3, 9]).max() < 0.5 and list(model.feature_names_in_) == ["x", "side=right"]
    assert np.abs(model.predict(table.assign(y=y)) - y).max() < 10
    misspelled = [table.rename(columns={"side": "sides"}), table[["side"]].assign(z=1.0)]
    refuse(*each(lambda other: model.fit(other, y), misspelled, "no such column"))
    model.fit(table[["x"]], y)
    assert model.coef_.shape == (1,) and model.predict(table).shape == (20000,)
    refuse((lambda: model.predict(table[["side"]]), "x: no such column"))


def test_a_regression_rests_on_what_the_reading_of_its_table_does(tmp_path):
    """By a schema it takes whatever tables are made of: one blank row of a sheet, or one record for which
    Dask fails, is an error, where the promise had no condition."""
    columns = {"x": {"type": "number", "low": -3, "high": 3}}
    ask = {"delta": 1e-6, "contamination": 0.0, "bounds": None, "y_bounds": (-9, 9)}
    model = PrivateLinearRegression(9.0, schema={"format": "sosdp-schema/1", "columns": columns}, **ask)
    x = np.random.default_rng(0).normal(size=3000)
    frame = pd.DataFrame({"x": x})
    (tmp_path / "ended.csv").write_text("\n".join(map(str, ["x", *x, ""])))
    (tmp_path / "open.csv").write_text("\n".join(map(str, ["x", *x])))
    sources = [(frame, 0), (str(tmp_path / "ended.csv"), 0), (str(tmp_path / "open.csv"), 1)]
    if find_spec("openpyxl"):
        frame.to_excel(tmp_path / "t.xlsx", index=False)
        sources.append((str(tmp_path / "t.xlsx"), 1))
    if find_spec("dask"):
        sources.append((pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=1), 1))
        sources.append((pytest.importorskip("dask").delayed(frame), 1))  # it has any attribute
    for source, count in sources:
        release = model.fit(source, x).release_
        rests = by_schema(source, Schema.of(model.schema)).assumptions
        assert set(rests) <= set(release.guarantee.assumptions), source
        assert len(release.guarantee.conditions) == count, source


def test_targets_are_read_in_silence():
    """One that is too large for its type was warned of, where columns of such a type are read."""
    x = np.random.default_rng(0).normal(size=3000)
    linear = PrivateLinearRegression(9.0, 1e-6, bounds=(-3, 3), contamination=0.0, y_bounds=(-9, 9))
    y = pd.Series(np.array([*["1"] * 2999, "1e4000"], dtype=np.longdouble))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in (y, y.to_frame()):
            linear.fit(x[:, None], target)


@pytest.mark.parametrize("bounds", [None, {"smoker": (0, 1)}])
def test_a_column_of_two_values_leaves_the_other_covariances_alone(bounds):
    """Not declared boolean it has its variance, or is flagged."""
    g = np.random.default_rng(6)
    X = np.column_stack([g.random(5000) < 0.3, g.normal(45, 12, 5000), g.normal(5e5, 1e3, 5000)])
    table = pd.DataFrame(X, columns=["smoker", "age", "east"])
    for seed in range(4):
        ask = {"delta": 1e-7, "contamination": 0.0, "insecure_seed": seed}
        model = PrivateCovariance(1.0, bounds=bounds, **ask).fit(table)
        off = np.abs(np.log(np.diag(model.covariance_) / X.var(axis=0)))
        assert off[1:].max() < 0.4 and not model.degenerate_[1:].any()
        assert off[0] < 0.4 or (model.degenerate_[0] and not model.within_plan_)


def test_bounds_of_some_columns_only():
    columns = public_columns([None, (0, 1), (2, 5)], [False, True, False], 3)
    assert columns.known.tolist() == [False, True, True] and not columns.bounded
    X = np.array([[1e300, 7.0, 0.0], [math.nan, -1.0, 9.0]])
    assert columns.clipped(X)[0].tolist() == [2.0**100, 1.0, 2.0]
    assert np.isnan(columns.clipped(X)[1, 0]) and columns.clipped(X)[1, 2] == 5.0
    assert public_columns(None, False, 2).bounds is None


def test_logarithms_of_skewed_columns():
    g = np.random.default_rng(3)
    X = np.column_stack([np.exp(10.0 + g.normal(size=4000)), g.normal(50.0, 5.0, 4000)])
    X[::50, 0] = [-1.0, 0.0] * 40  # no logarithm: missing
    X[:100, 0] = 1e9  # and wrong rows
    result = PrivateMean(1.0, delta=1e-6, bounds=None, contamination=0.05, log=[True, False]).fit(X)
    assert result.estimates_ == ("exp(folded mean of logarithms)", "folded mean")
    assert result.release_.public["estimates"] == result.estimates_
    assert abs(math.log(result.mean_[0]) - 10.0) < 0.15 and abs(result.mean_[1] - 50.0) < 1.0
    low, high = result.interval_[0]
    assert low < result.mean_[0] < high and abs(math.log(high * low) / 2 - 10.0) < 0.15
    refuse(
        *each(
            lambda bounds: PrivateMean(1.0, bounds=bounds, contamination=0.0, log=True).fit(X),
            ((0, 5), (-1, 5)),
            "above 0",
        ),
        (
            lambda: PrivateMean(1.0, bounds=(1, 5), contamination=0.0, log=True, tight=True).fit(X),
            "either tight",
        ),
    )
    plain = PrivateMean(1.0, bounds=(0, 9), contamination=0.0)
    assert plain.fit(X).estimates_ in (("mean", "mean"), ("trimmed mean", "trimmed mean"))


def test_medians_win_against_wrong_rows_near_the_others():
    g = np.random.default_rng(4)
    lost = {"auto": [], "median": []}
    for _ in range(6):
        X = g.normal(size=(4000, 2)) + 2.0
        X[:200, 0] += 2.4
        for method, errors in lost.items():
            result = PrivateMean(1.0, delta=1e-6, bounds=(-20, 20), contamination=0.05, method=method).fit(X)
            errors.append(float(np.linalg.norm(result.mean_ - 2.0)))
    assert np.median(lost["median"]) < 0.8 * np.median(lost["auto"])
    assert result.estimates_ == ("median", "median") and result.interval_ is None
    assert sum(result.plan_.spent.values()) == result._budget().total
    refuse(
        (
            lambda: PrivateMean(1.0, bounds=(0, 1), contamination=0.0, tight=True, method="median").fit(X),
            "tight",
        )
    )


def test_heaps_have_no_interval():
    """Most of a column is one value: its scale is that of the heap, and what is left is folded away."""
    g = np.random.default_rng(5)
    for seed in range(5):
        heap = np.where(g.random(N) < 0.85, 0.0, g.exponential(20.0, N))
        almost = np.where(g.random(N) < 0.97, 5.0, g.normal(size=N))
        X = np.column_stack([heap, almost, g.normal(size=N)])
        model = PrivateMean(4.0, delta=1e-6, bounds=None, contamination=0.05, insecure_seed=seed)
        wrong = np.isnan(model.fit(X).interval_).all(axis=1)
        assert np.array_equal(wrong, model.degenerate_) and wrong.tolist() == [True, True, False]


def test_one_record_decides_no_warning_and_no_exception():
    """Constant columns, columns without any number, infinities: answers of the same form, in silence."""
    X = np.random.default_rng(6).normal(size=(900, 3))
    X[:, 1] = np.nan
    X[:, 2] = math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"delta": 1e-6}, {}, {"delta": 1e-6, "method": "median"}):
            result = PrivateMean(4.0, bounds=None, contamination=0.05, **options).fit(X)
            assert np.isfinite(result.mean_).all()
        whole = PrivateGaussian(8.0, delta=1e-6, bounds=None, contamination=0.05).fit(X)
        assert np.isfinite(whole.covariance_).all()


def people() -> pd.DataFrame:
    g = np.random.default_rng(5)
    columns = {"salary": g.lognormal(10.0, 0.5, N), "age": g.normal(40.0, 10.0, N)}
    return pd.DataFrame({**columns, "smoker": g.random(N) < 0.2})


def test_public_facts_by_column_name_are_those_by_position():
    table, options = people(), {"delta": 1e-6, "contamination": 0.0, "insecure_seed": 3}
    pair, years = (1.0, 1e7), (0.0, 120.0)
    by_name = PrivateMean(2.0, bounds={"age": years, "salary": pair}, log=["salary"], **options)
    by_place = PrivateMean(2.0, bounds=[pair, years, None], log=[True, False, False], **options)
    assert by_name.plan(N, 3) == by_place.plan(N, 3)
    first, second = by_name.fit(table), by_place.fit(table)
    assert first.mean_.tolist() == second.mean_.tolist() and first.estimates_ == second.estimates_
    assert first.release_.public["tight"].tolist() == [False, False, True]  # declared boolean
    tight = PrivateMean(2.0, bounds={"smoker": (0, 1)}, tight="smoker", **options).fit(table)
    assert tight.release_.public["tight"].tolist() == [False, False, True]
    learner = PrivateGaussian(2.0, delta=1e-6, bounds={"age": years}, contamination=0.0, insecure_seed=3)
    same = PrivateGaussian(2.0, delta=1e-6, bounds=[None, years], contamination=0.0, insecure_seed=3)
    two = table[["salary", "age"]]
    assert np.array_equal(learner.fit(two).covariance_, same.fit(two).covariance_)


def test_unknown_names_are_refused_by_public_facts_alone():
    """The same refusal whatever the records hold, and before any of them is used."""
    ask = {"delta": 1e-6, "contamination": 0.0}
    refused = [
        (PrivateMean(1.0, bounds={"salry": (0, 1)}, **ask), "no column has the name 'salry'"),
        (PrivateMean(1.0, bounds=None, log=["wage"], **ask), "log: no column has the name 'wage'"),
        (PrivateGaussian(1.0, bounds={"x": (0, 1)}, **ask), "the columns are: salary, age, smoker"),
        (PrivateGaussian(1.0, bounds={0: (0, 1)}, **ask), "no column has the name '0'"),
    ]
    for table in (people(), people() * math.nan, people() * 0.0 + 1e300):
        for model, words in refused:
            with pytest.raises(ValueError, match=words):
                model.fit(table)
    padded = people().rename(columns={"age": " age "})  # as the rest of the package reads names
    named = PrivateMean(100.0, bounds={"age ": (0, 120)}, tight=["age"], **ask)
    one, other = (str(named.fit(table).release_.public["bounds"]) for table in (padded, people()))
    assert one == other and "120" in one
    nameless = PrivateMean(1.0, bounds={"age": (0, 120)}, **ask)
    refuse((lambda: nameless.fit(people().to_numpy(dtype=float)), "have no names"))
    twice = pd.concat([people(), people()[["age"]]], axis=1)
    refuse(
        (lambda: nameless.fit(twice), "several columns have the name 'age'"),
        (
            lambda: PrivateMean(1.0, bound=None, **ask),
            "has no parameter 'bound'.*did you mean 'bounds'",
            TypeError,
        ),
    )


@pytest.mark.parametrize("log", [False, True])
def test_means_and_intervals_lie_in_the_public_bounds(log):
    """Post-processing; the records of bounds that are far from them are all at one end."""
    table = people()[["salary", "age"]]
    for bounds in ((1.0, 2.0), (1e6, 1e9), (30.0, 50.0)):
        for method in ("cube", "median"):
            if method == "median" and log:
                continue
            model = PrivateMean(
                0.5, bounds=bounds, contamination=0.0, log=log, method=method, insecure_seed=1
            )
            result = model.fit(table)
            room = 1e-12 * bounds[1]
            assert (result.mean_ >= bounds[0] - room).all() and (result.mean_ <= bounds[1] + room).all()
            ends = (
                np.zeros((0,)) if result.interval_ is None else result.interval_[~np.isnan(result.interval_)]
            )
            assert (ends >= bounds[0] - room).all() and (ends <= bounds[1] + room).all()
    columns = public_columns([(0.0, 1.0), None], False, 2)
    assert columns.raw(np.array([[-1.0, 2.0], [-5.0, 9.0]])).tolist() == [[0.0, 1.0], [-5.0, 9.0]]
    learnt = PrivateGaussian(0.3, delta=1e-3, bounds=(0.0, 1e-3), contamination=0.0, insecure_seed=1).fit(
        table
    )
    assert (learnt.mean_ >= 0.0).all() and (learnt.mean_ <= 1e-3).all()


test_refusals = refusals(
    (
        lambda: PrivateMean(1.0, bounds=None, contamination=0.0).outlook(people()),
        "n must be an integer >= 1, got an object of type DataFrame$",
    ),
    (
        lambda: PrivateMean(1.0, bounds=None, contamination=0.0).outlook(people().to_numpy(dtype=float)),
        "n must be an integer >= 1, got an object of type ndarray$",
    ),
    (lambda: read_table(np.zeros((50, 2), dtype=complex)), "Complex"),
    (lambda: read_table(np.zeros((50, 2), dtype="datetime64[s]")), "days since a public one", TypeError),
    (lambda: public_columns([None, (0, 1)], True, 2), "tight"),
    *each(
        lambda given: PrivateMean(1.0, contamination=0.0, **given).fit(
            people()[["smoker", "age"]].astype({"smoker": bool})
        ),
        ({"bounds": 3}, {"bounds": [(-3, 3)]}, {"bounds": "ab"}, {"bounds": (0, 9), "tight": None}),
        "^(bounds|tight) must be",
    ),
)
