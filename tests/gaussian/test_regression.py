"""Private regression: rows within their balls, the pipeline on all neighbours, coefficients, the contract."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from problems.gaussian import (
    NotOffered,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    TooFewRecords,
    budgets,
    regression,
)
from problems.gaussian.budgets import checked_budget
from problems.gaussian.columns import public_columns
from problems.gaussian.planning import MeanTask, Plan
from problems.gaussian.regression import held, leverage_weights, z_and_one
from problems.gaussian.regression_planning import plan_regression, slope_of
from sosdp.privacy.mechanisms.integer_queries import order_price
from tests.gaussian.test_pipelines import Transcript, loss
from tests.refusals import refuse

ENTRIES = [-3.0, 0.25, 1.0, 1e308, math.nan]
BEFORE = Fraction(1, 2)


BUDGETS = {"ball": (9.0, 1e-2, None), "rho": (None, 0.0, 0.75), "pure": (0.75, 0.0, None)}


def small_plan(columns, kind: str) -> Plan:
    """Shares of three records, with nearly free order statistics, in two coarse steps."""
    each = Fraction(1, 50 if kind == "pure" else 5)
    frame = 2 * int((~columns.tight).sum()) * order_price(each, kind == "pure")
    rest = BEFORE - frame
    heaps = rest * 4 / 100 * bool((~columns.tight).any())
    spent = {"frame": frame, "heaps": heaps, "coarse": rest / 2, "polish": rest * 35 / 100}
    spent["interval"] = rest - heaps - spent["coarse"] - spent["polish"]
    if kind != "ball":
        spent["sum"] = Fraction(1, 4)
    return Plan("one step", each, spent, 0.0, 0.0, 0.0, steps=2)


def run_on(table, columns, contamination, kind, likelihood=None):
    budget = checked_budget(*BUDGETS[kind])
    d = len(table[0])
    task = MeanTask(3, d, int(columns.tight.sum()), columns.bounded, contamination, 0.95)
    entries = columns.clipped(np.array(table, dtype=float))
    plan = small_plan(columns, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regression.private_regression(entries, columns, task, budget, plan, 1, likelihood)
    return Transcript.seen


def replayed(columns, contamination, kind, likelihood=None):
    """Kinds of all questions, by table, and the largest loss of any neighbour over what it may be."""
    g, d = np.random.default_rng(0), len(columns.low)
    rows = [list(row) for row in itertools.product(ENTRIES, repeat=d)]
    worst, kinds = 0.0, []
    for _ in range(6):
        table = [rows[i] for i in g.integers(0, len(rows), 3)]
        Transcript.script = None
        own = run_on(table, columns, contamination, kind, likelihood)
        kinds.append([question for question, *_ in own])
        Transcript.script = own
        for i in range(3):
            for other in g.permutation(len(rows))[:12]:
                neighbour = [rows[other] if k == i else table[k] for k in range(3)]
                worst = max(worst, loss(own, run_on(neighbour, columns, contamination, kind, likelihood)))
    return kinds, worst / float(sum(small_plan(columns, kind).spent.values()))


LAST = {"ball": {"squares", "ball"}, "rho": {"squares", "sum"}, "pure": {"matrix", "vector"}}


@pytest.mark.few(3)
@pytest.mark.parametrize(("bounds", "tight", "contamination", "kind"), [
    (None, False, 0.0, "ball"),
    (None, False, 0.1, "ball"),
    (None, False, 0.1, "rho"),
    (None, False, 0.0, "pure"),
    ([(-4.0, 4.0), None], [True, False], 0.0, "ball"),
    ([(-4.0, 4.0), None], [True, False], 0.1, "pure"),
    ([(-4.0, 4.0), (-4.0, 4.0), None], [False, False, False], 0.0, "rho"),
])  # fmt: skip
def test_every_neighbour_of_small_tables(recorded, bounds, tight, contamination, kind):
    d = 2 if bounds is None else len(bounds)
    columns = public_columns(bounds, np.array(tight) if bounds else False, d)
    kinds, worst = replayed(columns, contamination, kind)
    assert 0.01 < worst <= 1.0 + 1e-9
    assert {"order"} | LAST[kind] <= {question for run in kinds for question in run}


def test_rows_lie_in_their_balls():
    """Polish rows: g (|z|^2 + 1 + psi^2) <= C^2 + 1 + k^2; scores: g |(z, 1)| |psi| <= k sqrt(C^2 + 1)."""
    g = np.random.default_rng(1)
    for redescend in (False, True):
        for C, k in ((0.4, 0.7), (2.0, 2.5), (5.0, 8.0)):
            z = g.standard_normal((4000, 2))
            sizes = C * 10.0 ** g.uniform(-2, 2, 4000)
            z *= (sizes / np.linalg.norm(z, axis=1))[:, None]
            psi = held(k * 10.0 ** g.uniform(-2, 2, 4000) * g.choice([-1, 1], 4000), k, redescend=redescend)
            weights = leverage_weights(sizes, C, redescend=redescend)
            full = z_and_one(z)
            polish = weights * ((full**2).sum(axis=1) + psi**2)
            scores = weights * np.linalg.norm(full, axis=1) * np.abs(psi)
            most = np.array([C**2 + 1.0 + k**2, k * math.sqrt(C**2 + 1.0)])
            reached = np.array([polish.max(), scores.max()]) / most
            assert (reached <= 1.0 + 1e-12).all() and (reached > 0.95).all()


@pytest.mark.parametrize("contamination", [0.0, 0.1])
def test_the_slope_is_that_of_held_residuals(contamination):
    """Of normal ones by a formula, for plans; of any others by a count."""
    g, h, distant, k = np.random.default_rng(2), 1e-3, contamination > 0, 1.2
    for e in (g.standard_normal(400_000), g.standard_t(3, 400_000)):
        weights = np.where(np.arange(len(e)) % 2, 1.0, 0.25)
        rise = held(e + h, k, redescend=distant) - held(e - h, k, redescend=distant)
        slope = float((weights * rise).sum() / weights.sum()) / (2 * h)
        queries = regression.IntegerQueries(len(e), rho=0.1, insecure_seed=1)
        step = regression.Step(queries, None, None, MeanTask(len(e), 2, 0, False, contamination, 0.95), None)
        value, unsure = step.slope(e, k, weights, float(weights.mean()))
        assert abs(value - slope) < 4.0 * unsure + 0.005 < 0.25
        step.queries = regression.IntegerQueries(len(e), epsilon=1e6, insecure_seed=1)
        assert step.slope(e, k, weights, float(weights.mean()))[0] == pytest.approx(value, abs=5.0 * unsure)
        assert (abs(slope_of(k, redescend=distant) - slope) < 0.005) == (np.abs(e).max() < 8.0)


def linear(n: int, run: int, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regressors of condition 100 in some units, the target, and the coefficients."""
    g = np.random.default_rng([run, n])
    d = len(units)
    root = np.linalg.qr(g.standard_normal((d, d)))[0] * np.sqrt(np.geomspace(1.0, 0.01, d))
    X, b = g.standard_normal((n, d)) @ root.T, g.standard_normal(d)
    return (X + 5.0) * units, X @ b + g.standard_normal(n) + 2.0, b / units


def excess(model, X, y, b) -> float:
    away = (X - X.mean(axis=0)) @ (model.coef_ - b)
    return float(np.sqrt((away**2).mean()))


def test_coefficients_in_any_units():
    units = np.array([1e-6, 1.0, 1e5, 3.0])
    X, y, b = linear(20000, 0, units)
    for options in ({"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.2}, {"epsilon": 4.0}):
        model = PrivateLinearRegression(bounds=None, contamination=0.0, **options).fit(X, y)
        assert excess(model, X, y, b) < 3.0 * model.plan_.total_error < 0.12
        assert np.all(np.abs(model.coef_ - b) < 2.5 * (model.interval_[:, 1] - model.interval_[:, 0]))
        assert model.sigma_ == pytest.approx(1.0, abs=0.25) and model.seen_.all()
        assert np.abs(model.predict(X) - y).mean() < 1.0 and model.score(X, y) > 0.2
        assert model.guarantee_.kind == "exact" and not model.left_out_.any()


@pytest.mark.parametrize("contamination", [0.0, 0.05])
def test_records_without_their_target_count_for_nothing(contamination):
    """Read at the centre of their column they shrank all coefficients by their share."""
    X, y, b = linear(40000, 2, np.ones(4))
    y[np.random.default_rng(3).random(len(y)) < 0.15] = np.nan
    options = {"delta": 1e-6, "bounds": None, "contamination": contamination, "insecure_seed": 1}
    model = PrivateLinearRegression(2.0, **options).fit(X, y)
    assert excess(model, X, y, b) < 0.024 and model.seen_.all()  # .033 at the centre


def test_wrong_rows_do_not_move_it():
    X, y, b = linear(20000, 1, np.ones(4))
    X[:600], y[:600] = 40.0, -500.0
    model = PrivateLinearRegression(1.0, delta=1e-6, bounds=None, contamination=0.05).fit(X, y)
    assert excess(model, X[600:], y[600:], b) < 0.1


def test_a_column_of_one_value_is_left_out_and_the_rate_stays():
    """Its column of the last ball is zeros: the noise is that of the dimension said in public."""
    X, y, b = linear(20000, 2, np.ones(4))
    options = {"delta": 1e-6, "bounds": None, "contamination": 0.0, "insecure_seed": 1}
    model = PrivateLinearRegression(1.0, **options)
    full = model.fit(X, y).noise_scale_
    X[:, 2] = 7.0
    part = model.fit(X, y)
    assert part.left_out_.tolist() == [False, False, True, False] and part.coef_[2] == 0.0
    assert np.isnan(part.interval_[2]).all() and np.isfinite(part.interval_[[0, 1, 3]]).all()
    assert 0.2 < (part.noise_scale_ / full)[[0, 1, 3]].max() < 5.0
    constant = model.fit(X, np.full(20000, 3.0))
    assert constant.left_out_.all() and constant.intercept_ == pytest.approx(3.0, abs=1e-6)


@pytest.mark.parametrize(("made", "budget"), [
    (PrivateLinearRegression, {"epsilon": 1.0, "delta": 1e-6}),
    (PrivateLinearRegression, {"epsilon": 4.0}),
    (PrivateLogisticRegression, {"epsilon": 1.0, "delta": 1e-6}),
])  # fmt: skip
def test_an_indicator_without_bounds_does_not_lose_the_others(made, budget):
    """Its scale may lie anywhere between its two values: coefficients of 1e30 were seen, and the others 0."""
    for run in range(2):
        X, _, b = linear(20000, run, np.ones(4))
        X[:, 3] = np.random.default_rng(run).random(20000) < 0.26
        y = X @ (b := 0.5 * b) + np.random.default_rng(run + 9).logistic(size=20000)
        y = y if made is PrivateLinearRegression else y > np.median(y)
        model = made(bounds=None, contamination=0.0, insecure_seed=run, **budget).fit(X, y)
        low, high = model.interval_.T
        assert np.all(np.abs(np.ravel(model.coef_) - b) < 1.5 * (high - low), where=~model.left_out_)
        assert model.seen_.tolist() == [True] * 3 + [not model.left_out_[3]] and not model.left_out_[:3].any()


def test_indicators_with_their_bounds():
    g = np.random.default_rng(3)
    frame = pd.DataFrame({"age": g.normal(40, 10, 20000), "smokes": g.random(20000) < 0.2})
    y = 0.5 * frame["age"] - 8.0 * frame["smokes"] + 3.0 * g.standard_normal(20000)
    model = PrivateLinearRegression(1.0, delta=1e-6, bounds=None, contamination=0.0).fit(frame, y)
    assert model.coef_ == pytest.approx([0.5, -8.0], rel=0.1) and model.feature_names_in_[1] == "smokes"
    ridge = PrivateLinearRegression(
        1.0, delta=1e-6, bounds=None, contamination=0.0, ridge=1e5, insecure_seed=1
    ).fit(frame, y)
    assert abs(ridge.coef_[1]) < 2.0  # 20000 records of variance .16, against a penalty of 1e5
    assert np.abs(ridge.predict(frame).mean() - y.mean()) < 1.0


def test_refusals_rest_on_public_facts():
    unread = np.full((500, 5), "secret", dtype=object)
    model = PrivateLinearRegression(1.0, delta=1e-6, bounds=None, contamination=0.0)
    with pytest.raises(TooFewRecords, match="would do") as refusal:
        model.fit(unread, unread[:, 0])
    model.plan(refusal.value.needed, 5)
    refuse(
        *(
            (refused, said, error)
            for error, said, refused in (
                (
                    TooFewRecords,
                    None,
                    lambda: PrivateLinearRegression(1.0, bounds=None, contamination=0.0).fit(
                        unread, unread[:, 0]
                    ),
                ),
                # before a ball nothing is left
                (
                    NotOffered,
                    "larger delta",
                    lambda: PrivateLinearRegression(0.05, delta=0.01, bounds=None, contamination=0.0).plan(
                        200000, 5
                    ),
                ),
                (ValueError, "at most 50", lambda: model.plan(10**6, 51)),
                (ValueError, "inconsistent", lambda: model.fit(np.zeros((9, 2)), np.zeros(8))),
            )
        )
    )


@pytest.mark.parametrize("delta", [1e-4, 1e-9, 3.7e-11, 1e-30])
def test_more_epsilon_is_no_reason_to_refuse(delta):
    """All of epsilon is spent, up to the largest that the accounting of a last ball knows."""
    errors = []
    for epsilon in (0.5, 1.0, 4.0, 8.0, 15.0, 30.0, 60.0):
        model = PrivateLinearRegression(epsilon, delta=delta, bounds=None, contamination=0.0)
        errors.append(model.plan(20000, 5).private_error)
    assert errors == sorted(errors, reverse=True)
    fitted = model.fit(*linear(20000, 5, np.ones(5))[:2])
    assert fitted.guarantee_.epsilon == 50.0 and fitted.guarantee_.delta == delta


@pytest.mark.parametrize("interval", [0.95, None])
def test_shares_add_up(interval):
    for budget in (
        checked_budget(1.0, 1e-6, None),
        checked_budget(None, 0.0, 0.1),
        checked_budget(4.0, 0.0, None),
    ):
        task = MeanTask(30000, 6, 0, False, 0.0, interval or 0.0)
        spent = plan_regression(task, budget).spent
        total = sum(spent.values())
        assert total == budget.total if "sum" in spent else total < budget.total


def test_the_rows_of_the_last_ball_are_not_lost(monkeypatch):
    """Rows at the edge of their ball reach the sum: a radius without the constant would count them as 0."""
    seen = []

    class Counting(regression.IntegerQueries):
        def ball_sum(self, counts, bound):
            inside = self._inside(counts, bound, "ball")
            seen.append((np.any(counts, axis=1) & ~np.any(inside, axis=1)).sum())
            return super().ball_sum(counts, bound)

    monkeypatch.setattr(budgets, "IntegerQueries", Counting)
    X, y, _ = linear(5000, 5, np.ones(1))
    y[::20] += 1000.0 * np.sign(y[::20])  # residuals that are held
    PrivateLinearRegression(4.0, delta=1e-6, bounds=None, contamination=0.0).fit(X, y)
    assert seen == [0]
