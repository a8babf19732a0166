"""The estimators on raw tables: units, wrong rows, hostile entries, refusals from public facts, intervals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from problems.gaussian import (
    PrivateCovariance,
    PrivateGaussian,
    PrivateMean,
    TooFewRecords,
)
from problems.gaussian.budgets import Budget
from problems.gaussian.fold import cells, redescending, to_ball
from problems.gaussian.frame import MixedGrid, _read, _spelled
from problems.gaussian.planning import MeanTask, plan_mean
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries
from tests.refusals import each, refuse


def raw_table(n: int, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four columns of scales 14, 4, .003, 900, one of them Student's t3; their means and deviations."""
    g = np.random.default_rng([run, n])
    scales, centres = np.array([14.0, 4.0, 0.003, 900.0]), np.array([120.0, -3.0, 0.021, 5e4])
    noise = g.standard_normal((n, 4))
    noise[:, 1] = g.standard_t(3, n) / math.sqrt(3.0)
    return centres + scales * noise, centres, scales


def test_four_raw_columns_and_nothing_else_given():
    for run in range(6):
        X, centres, scales = raw_table(2000, run)
        result = PrivateMean(1.0, delta=1e-6, bounds=None, contamination=0.05).fit(X)
        assert np.all(np.abs(result.mean_ - centres) < 0.15 * scales)
        assert result.guarantee_.epsilon == 1.0 and result.guarantee_.delta == 1e-6
        assert result.guarantee_.kind == "exact" and result.released_
        assert np.all(result.interval_[:, 0] < result.mean_) and not result.degenerate_.any()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_far_rows_do_not_move_it(delta):
    g = np.random.default_rng(1)
    X = g.standard_normal((2000, 3)) + 5.0
    X[:100] = 1e6
    result = PrivateMean(2.0, delta=delta, bounds=(-1e7, 1e7), contamination=0.05).fit(X)
    assert np.linalg.norm(result.mean_ - 5.0) < 0.25


def test_tight_columns_are_averaged_as_they_are():
    g = np.random.default_rng(2)
    X = np.column_stack([g.random(2000) < 0.1, g.integers(1, 6, 2000), g.standard_normal(2000)]).astype(float)
    bounds = [(0, 1), (1, 5), (-50, 50)]
    for options in ({"delta": 1e-6}, {}):
        result = PrivateMean(2.0, bounds=bounds, contamination=0.0, tight=[True, True, False], **options).fit(
            X
        )
        assert np.all(np.abs(result.mean_ - X.mean(axis=0)) < 7 * result.noise_scale_)
        assert np.all(result.noise_scale_ < [0.02, 0.06, 0.5])
    few = PrivateMean(1.0, bounds=(0, 1), contamination=0.0, tight=True).fit(X[:30, :1])
    assert few.method_ == "cube" and few.frame_ is None and few.estimates_ == ("mean",)


def test_a_column_of_one_value_says_so():
    X = np.zeros((3000, 2))
    X[:, 1] = np.random.default_rng(3).standard_normal(3000)
    result = PrivateMean(4.0, delta=1e-6, bounds=(-10, 10), contamination=0.05).fit(X)
    assert result.degenerate_.tolist() == [True, False]


class Foul:
    def __float__(self):
        raise RuntimeError("secret")

    __array__ = __index__ = __eq__ = __lt__ = __float__


HOSTILE = [
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    10**400,
    None,
    "secret",
    b"x",
    [1],
    Foul(),
    1j,
]


@pytest.mark.parametrize("make", [
    lambda: PrivateMean(2.0, bounds=(-10, 10), contamination=0.05, insecure_seed=1),
    lambda: PrivateMean(2.0, delta=1e-6, bounds=None, contamination=0.05, insecure_seed=1),
    lambda: PrivateMean(0.7, bounds=(-10, 10), contamination=0.0, method="trimmed", insecure_seed=1),
    lambda: PrivateGaussian(4.0, delta=1e-6, bounds=(-10, 10), contamination=0.05, insecure_seed=1),
])  # fmt: skip
def test_hostile_entries_move_one_record(make):
    X = np.random.default_rng(4).standard_normal((900, 2))
    clean = make().fit(X)
    for entry in HOSTILE:
        rows = X.astype(object)
        rows[7, 1] = entry
        result = make().fit(rows)
        assert np.isfinite(result.mean_).all()
        assert np.abs(result.mean_ - clean.mean_).max() < 0.5  # one record of 900, the same noise
        assert result.guarantee_ == clean.guarantee_


def test_units_do_not_matter():
    """Columns and bounds times a power of two give that multiple of the answer, digit by digit."""
    X = np.random.default_rng(5).standard_normal((1500, 2))
    factors = np.array([2.0**-20, 2.0**30])
    for options in ({}, {"delta": 1e-6}):
        one = PrivateMean(2.0, bounds=(-8, 8), contamination=0.1, insecure_seed=9, **options).fit(X)
        bounds = np.outer(factors, [-8, 8])
        two = PrivateMean(2.0, bounds=bounds, contamination=0.1, insecure_seed=9, **options).fit(X * factors)
        assert np.array_equal(one.mean_ * factors, two.mean_)
        assert np.array_equal(one.interval_ * factors[:, None], two.interval_) or one.interval_ is None


def test_too_many_records_for_brackets_are_refused_before_a_frame():
    estimator = PrivateMean(1.0, bounds=(-9, 9), method="packing", contamination=0.1)
    estimator.plan(2**22, 2)
    refuse((lambda: estimator.plan(2**22 + 1, 2), "at most"))


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_the_frame_of_a_draw_is_paid_by_a_float(columns):
    """Six questions of one price are no float: what was set aside for them did not pay for the last one."""
    task = MeanTask(1000, columns, 0, True, 0.1, 0.0, columns)
    for epsilon in np.linspace(4.0, 9.0, 30).tolist():
        plan = plan_mean(task, Budget(epsilon, 0.0, None), "packing")
        queries = IntegerQueries(task.n, epsilon=float(plan.spent["frame"]))
        assert 2 * columns * plan.frame_epsilon <= queries.budget
        assert sum(Fraction(float(part)) for part in plan.spent.values()) <= Fraction(epsilon)


def test_refusals_rest_on_shapes_and_name_the_n_that_would_do():
    for make in (
        lambda: PrivateMean(0.1, delta=1e-6, bounds=None, contamination=0.05),
        lambda: PrivateGaussian(1.0, delta=1e-6, bounds=(-1, 1), contamination=0.05),
        lambda: PrivateCovariance(0.1, bounds=(-1, 1), contamination=0.0),
    ):
        model, shape = make(), (20, 3)
        with pytest.raises(TooFewRecords, match="would do") as refusal:
            model.fit(np.full(shape, "secret", dtype=object))
        model.plan(refusal.value.needed, shape[1])
        assert not hasattr(model, "mean_")


def test_contract():
    model = PrivateMean(1.0, bounds=(-5, 5), contamination=0.0)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(AttributeError, match="fit first"):
        _ = model.mean_
    refuse(
        # bounds and contamination have no default that could ruin the answer
        (lambda: PrivateMean(1.0), None, TypeError)
    )
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": np.zeros(500), "weight": np.ones(500)})
    assert model.fit(frame).feature_names_in_.tolist() == ["height", "weight"]
    refuse(*each(lambda shape: model.fit(np.zeros(shape)), ((1, 2), (0, 2), (3, 2, 2)), "shape"))


def test_a_whole_gaussian_whatever_the_units_and_correlations():
    g = np.random.default_rng(6)
    root = np.array([[1.0, 0, 0], [0.9, 0.436, 0], [0.1, 0.2, 0.9]]) * np.array([[1e-3], [1.0], [1e4]])
    X = g.standard_normal((20000, 3)) @ root.T + [1.0, -20.0, 3e5]
    X[:1000] = [50.0, 900.0, -1e6]
    result = PrivateGaussian(1.0, delta=1e-6, bounds=(-1e7, 1e7), contamination=0.05).fit(X)
    inverse = np.linalg.inv(root)
    assert np.linalg.norm(inverse @ result.covariance_ @ inverse.T - np.eye(3)) < 0.3
    assert np.linalg.norm(inverse @ (result.mean_ - [1.0, -20.0, 3e5])) < 0.1
    alone = PrivateCovariance(rho=0.5, bounds=None, contamination=0.05).fit(X)
    assert np.linalg.norm(inverse @ alone.covariance_ @ inverse.T - np.eye(3)) < 0.3
    assert not hasattr(alone, "mean_") and np.linalg.eigvalsh(result.covariance_)[0] > 0


@pytest.mark.parametrize(
    ("n", "method", "kind"), [(300, "packing", "certified"), (3000, "whitened", "exact")]
)
def test_pure_privacy_of_one_column(n, method, kind):
    """The plan with the least error: a draw where records are few."""
    X = np.random.default_rng(7).standard_normal((n, 1)) * 40.0 + 1000.0
    result = PrivateGaussian(2.0, bounds=(0, 2000), contamination=0.0).fit(X)
    assert result.plan_.method == method and result.guarantee_.kind == kind
    assert result.covariance_[0, 0] == pytest.approx(1600.0, rel=0.5)
    assert abs(result.mean_[0] - 1000.0) < 40.0
    assert result.guarantee_.epsilon <= 2.0 and result.guarantee_.delta == 0.0


def test_pure_covariances_of_many_columns():
    """Errors of three and ten columns are what was planned; too few records are refused."""
    g = np.random.default_rng(12)
    for n, d in ((8000, 3), (60000, 10)):
        root = g.standard_normal((d, d)) * 10.0 ** g.uniform(-3, 3, d)[:, None]
        X = g.standard_normal((n, d)) @ root.T + 5.0 * root[:, 0]
        model = PrivateGaussian(2.0, bounds=None, contamination=0.02, insecure_seed=1).fit(X)
        inverse = np.linalg.inv(root)
        off = np.linalg.norm(inverse @ model.covariance_ @ inverse.T - np.eye(d))
        assert off < 1.3 * model.plan_.total_error < 0.25
        assert np.linalg.norm(inverse @ (model.mean_ - X.mean(axis=0))) < 0.1
        assert (model.plan_.method, model.guarantee_.mechanism) == ("whitened", "gaussian.learner")
    refuse(
        (
            lambda: PrivateCovariance(1.0, bounds=None, contamination=0.0).plan(5000, 20),
            "would do",
            TooFewRecords,
        )
    )


def test_intervals_cover_the_mean_of_normal_columns():
    hits = total = 0
    for run in range(40):
        g = np.random.default_rng([8, run])
        X = g.standard_normal((1000, 2))
        for delta in (0.0, 1e-6):
            result = PrivateMean(2.0, delta=delta, bounds=(-20, 20), contamination=0.0).fit(X)
            if result.interval_ is not None:
                inside = (result.interval_[:, 0] <= 0) & (0 <= result.interval_[:, 1])
                hits, total = hits + int(inside.sum()), total + 2
    assert total >= 80 and hits >= 0.91 * total


def test_folding():
    assert redescending(np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0, math.inf, math.nan]), 2.0).tolist() == [
        1.0, 1.0, 1.0, 0.5, 0.2, 0.0, 0.0, 0.0,
    ]  # fmt: skip
    y = np.array([[3.0, 4.0], [300.0, -4.0], [math.inf, 0.0]])
    assert cells(y, 10.0).tolist() == [[3.0, 4.0], [0.0, -4.0], [0.0, 0.0]]
    assert np.allclose(to_ball(y[:1], 2.5), [[1.5, 2.0]])


def test_grids_of_floats_keep_their_order():
    g = np.random.default_rng(9)
    values = np.sort(np.concatenate([g.standard_normal(400) * 10.0 ** g.integers(-20, 20, 400), [0.0]]))
    digits = _spelled(values, 2.0**-100, 11)
    assert np.all(np.diff(digits) >= 0)
    for value, digit in zip(values, digits, strict=True):
        assert _read(int(digit)) == pytest.approx(value, rel=1e-11, abs=2.0**-99)
    grid = MixedGrid(-1.0, 5000.0)
    inside = np.sort(np.clip(values, -1.0, 5000.0))
    places = grid.places(inside)
    assert np.all(np.diff(places) >= 0)
    for value, place in zip(inside[::7], places[::7], strict=True):
        result = grid.value(int(place))
        assert result <= value and value - result < 1e-9 * max(1e-3, abs(value)) + 5001 * 2.0**-43


@pytest.mark.parametrize("bounds", [None, (-5, 5)])
def test_columns_that_nearly_agree_with_missing_entries_keep_their_scale(bounds):
    """The noise along the direction in which they differ was the variance of all columns: 7e4 for 1."""
    widths = []
    for seed in range(6):
        g = np.random.default_rng(seed)
        z = g.normal(size=4000)
        X = np.column_stack([z, z + 1e-5 * g.normal(size=z.size), g.normal(size=z.size)])
        X[:, :2] = np.where(g.random((z.size, 2)) < 0.1, np.nan, X[:, :2])
        options = {"delta": 1e-6, "bounds": bounds, "contamination": 0.0, "insecure_seed": seed}
        model = PrivateGaussian(1.0, **options).fit(X)
        assert np.linalg.eigvalsh(model.covariance_)[0] > 0 and not model.within_plan_
        assert len(model.unseen_) and (bounds is None or np.diag(model.covariance_).max() <= 25.0)
        widths += np.diag(model.covariance_)[:2].tolist()
    assert 0.5 < min(widths) and max(widths) < 30.0
