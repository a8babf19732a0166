"""The mean of all records: nothing folded, clip points said, the whole pipeline on all neighbours."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian import (
    PrivateGaussian,
    PrivateMean,
    frame,
    means,
)
from problems.gaussian.budgets import checked_budget
from problems.gaussian.columns import public_columns
from problems.gaussian.planning import MeanTask, Plan, plan_mean
from problems.gaussian.whole_means import count_bound
from tests.gaussian.test_pipelines import Transcript, loss

ENTRIES = [-3.0, 0.0, 0.25, 1e308, math.nan]
BUDGETS = {"cube": (1.0, 0.0, None), "gaussian": (None, 0.0, 0.5), "ball": (9.0, 1e-6, None)}
KINDS = [
    ((-4.0, 4.0), False, 1),
    (None, False, 1),
    ([(-4.0, 4.0), None], False, 2),
    ((0.2, 4.0), True, 1),
]


def planned(method: str, task: MeanTask) -> Plan:
    """The planner's shares, without its refusals: three records are too few for accuracy."""
    total = checked_budget(*BUDGETS[method]).total
    learnt = task.d - task.known
    spent = {"interval": total / 5, "frame": Fraction(0)}
    each = Fraction(0)
    if learnt:
        spent |= {"clip": total / 4, "count": total / 8, "frame": total / 8}
        part = spent["frame"] / (2 * learnt)
        each = part if method == "cube" else frame.quantile_epsilon(part)
    if method != "ball":
        spent["sum"] = total - sum(spent.values())
    return Plan(method, each, spent, 0.0, 0.0, 0.0, noise=0.1)


def run_on(table, columns, task, method):
    plan, budget = planned(method, task), checked_budget(*BUDGETS[method])
    entries = columns.clipped(np.array(table, dtype=float))
    means.private_mean(entries, columns, task, budget, plan, 1)
    return Transcript.seen


@pytest.mark.parametrize("method", list(BUDGETS))
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_every_neighbour_of_small_tables(recorded, method, kind):
    bounds, log, d = KINDS[kind]
    columns = public_columns(bounds, False, d, log)
    task = MeanTask(3, d, 0, columns.bounded, 0.0, 0.95, int(columns.known.sum()))
    rows = [[e] * d if d == 1 else [e, 0.25 - e] for e in ENTRIES]
    allowed = float(sum(planned(method, task).spent.values()))
    worst = 0.0
    with np.errstate(all="ignore"):
        for chosen in list(itertools.combinations_with_replacement(rows, 3))[::4]:
            Transcript.script = None
            own = run_on(chosen, columns, task, method)
            Transcript.script = own
            for i, other in itertools.product(range(3), rows):
                neighbour = [other if k == i else chosen[k] for k in range(3)]
                worst = max(worst, loss(own, run_on(neighbour, columns, task, method)))
    assert 0.05 * allowed < worst <= allowed + 1e-9


def test_every_row_counts():
    """Two per cent of the rows at 99, and a column that is mostly 0: what folding lost."""
    g = np.random.default_rng(0)
    X = np.column_stack([
        np.where(g.random(5000) < 0.02, 99.0, g.standard_normal(5000)),
        np.where(g.random(5000) < 0.85, 0.0, g.exponential(20.0, 5000)),
    ])  # fmt: skip
    for options in ({}, {"delta": 1e-6}):
        bounds = [(-10, 100), (0, 400)]
        model = PrivateMean(1.0, bounds=bounds, contamination=0.0, insecure_seed=5, **options).fit(X)
        assert model.estimates_ == ("mean", "mean") and model.frame_ is None
        assert np.all(np.abs(model.mean_ - X.mean(axis=0)) < 6.0 * model.noise_scale_)
        inside = (model.interval_[:, 0] < X.mean(axis=0)) & (X.mean(axis=0) < model.interval_[:, 1])
        assert inside.all() and np.all(model.noise_scale_ < [0.2, 0.7])


def test_rows_at_the_bounds_are_no_less():
    """The corner of the box lies in the ball and in the cube: no row counts as 0."""
    X = np.tile([3.0, -2.0, 1.0], (4000, 1))
    for options in ({"epsilon": 20.0}, {"epsilon": 20.0, "delta": 1e-6}, {"rho": 20.0}):
        model = PrivateMean(bounds=[(-3, 3), (-2, 2), (0, 1)], contamination=0.0, **options).fit(X)
        assert np.all(np.abs(model.mean_ - [3.0, -2.0, 1.0]) < 8.0 * model.noise_scale_)
        assert np.all(model.noise_scale_ < 0.01)


def test_without_bounds_it_is_the_mean_between_published_points():
    g = np.random.default_rng(1)
    share = g.random((20000, 2)) < [0.3, 0.015]  # the ends lose the second one
    X = np.column_stack([g.lognormal(size=20000), 1e9 + g.standard_normal(20000), share])
    for options in ({}, {"delta": 1e-6}, {"log": [True, False, False, False]}):
        model = PrivateMean(4.0, bounds=None, contamination=0.0, insecure_seed=5, **options).fit(X)
        assert all("clipped to [" in word for word in model.estimates_)
        (low, high), values = model.clipped_to_[0], np.log(X[:, 0]) if "log" in options else X[:, 0]
        mean = math.log(model.mean_[0]) if "log" in options else model.mean_[0]
        assert abs(mean - np.clip(values, low, high).mean()) < 0.03
        assert (np.abs(model.mean_[1:3] - [1e9, 0.3]) < [0.1, 0.02]).all() and model.clipped_share_[2] < 0.1
        assert np.isnan(model.interval_).any(axis=1).tolist() == [False, False, False, True]
        beyond = ((values < low) | (values > high)).mean()
        assert beyond <= model.clipped_share_[0] < beyond + 0.05


def test_a_share_is_below_its_bound():
    """The exact chance that geometric noise makes the bound too small, and the frequency for both noises."""
    for price in (Fraction(1, 10), Fraction(1), Fraction(4)):
        room, r = math.ceil(math.log(10.0) / price), math.exp(-float(price))
        assert r ** (room + 1) / (1.0 + r) <= 0.05 < r ** (room - 1) / (1.0 + r) + 0.05
    flags = np.arange(300) < 40
    for budget in ({"epsilon": 0.5}, {"rho": 0.02}):
        price = Fraction(1, 2) if "epsilon" in budget else Fraction(1, 50)
        low = 0
        for seed in range(400):
            queries = planning_queries(300, seed, budget)
            low += count_bound(queries, flags, price) < 40
        assert low <= 36  # .05 of 400, and four deviations


def planning_queries(n, seed, budget):
    from sosdp.privacy.mechanisms.integer_queries import IntegerQueries

    return IntegerQueries(n, insecure_seed=seed, **budget)


@pytest.mark.parametrize("method", list(BUDGETS))
def test_shares_add_up(method):
    for known in (0, 1, 3):
        task = MeanTask(20000, 3, 0, known == 3, 0.0, 0.95, known)
        budget = checked_budget(*BUDGETS[method])
        plan = plan_mean(task, budget, method)
        spent = sum(plan.spent.values())
        assert spent == budget.total if method != "ball" else spent < budget.total
        assert plan.noise > 0


def test_the_mean_of_a_pure_gaussian_is_that_of_folded_rows():
    X = np.random.default_rng(2).standard_normal((1500, 1))
    assert abs(PrivateGaussian(2.0, bounds=(-1e5, 1e5), contamination=0.0).fit(X).mean_[0]) < 0.3


def test_intervals_are_as_wide_as_the_records():
    """With little noise the half-width is 1.96 standard errors."""
    X = np.random.default_rng(3).uniform(-1.0, 1.0, (20000, 1))
    for options in ({}, {"delta": 1e-6}):
        model = PrivateMean(8.0, bounds=(-1, 1), contamination=0.0, **options).fit(X)
        width = (model.interval_[0, 1] - model.interval_[0, 0]) / 2.0
        assert width == pytest.approx(1.96 * X.std() / math.sqrt(len(X)), rel=0.05)
