"""Covariances under hostile tables: every small table and neighbour, both roads, no warning, no exception."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian import PrivateCovariance, PrivateGaussian, budgets, covariances, pure, whitening
from problems.gaussian.budgets import checked_budget
from problems.gaussian.columns import public_columns
from problems.gaussian.planning import MeanTask, Plan
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries, order_price
from tests.gaussian.test_pipelines import Transcript, loss, worst_loss
from tests.refusals import each, refuse

HOSTILE = [0.0, -0.0, 5e-324, 1e-300, 1.0, -2.0, 1e308, -math.inf, math.nan, 2.0**100]


def tables(d):
    """Three records: ties, constant columns, denormal and huge entries; every choice in one column."""
    if d == 1:
        return [[[a], [b], [c]] for a, b, c in itertools.combinations(HOSTILE, 3)][::23]
    rows = [
        [0.0] * d,
        [-0.0, 1e308, 1.0][:d],
        [math.nan, 5e-324, -2.0][:d],
        [1.0] * d,
        [1e-300, -math.inf, 3.0][:d],
    ]
    return [list(chosen) for chosen in itertools.combinations_with_replacement(rows, 3)][::3]


def neighbours(table):
    d = len(table[0])
    others = (
        [[x] * d for x in HOSTILE[::2]] if d == 1 else [[0.0] * d, [1e308, -1e308, 1e-300][:d], [0.7] * d]
    )
    for i, row in itertools.product(range(len(table)), others):
        yield [row if k == i else table[k] for k in range(len(table))]


def whitened_plan(budget, task):
    """Shares as the planner's, for order statistics that are nearly free (`nearly_free`), in two coarse
    steps."""
    d = task.d
    each = Fraction(0.6 / (2 * d) if budget.pure else math.sqrt(0.5 * 8 * 0.3 / (2 * d)))
    frame = 2 * d * order_price(each, budget.pure)
    spent = {"frame": frame, **covariances.shares(task, budget.total - frame)}
    return Plan("whitened", each, spent, 0.0, 0.0, 0.0, steps=2)


@pytest.fixture(autouse=True)
def nearly_free(monkeypatch):
    monkeypatch.setattr(whitening, "NATS", 0.02)
    monkeypatch.setattr(whitening, "END_NATS", 0.02)


def whitened(columns, task, mean, pure=False):
    budget = checked_budget(2.0, 0.0, None) if pure else checked_budget(None, 0.0, 0.5)
    plan = whitened_plan(budget, task)

    def run(rows):
        entries = columns.clipped(np.array(rows, dtype=float))
        covariances.private_gaussian(entries, columns, task, budget, plan, mean=mean, insecure_seed=1)
        return Transcript.seen

    return run


@pytest.mark.few(6)
@pytest.mark.parametrize("bounds", [None, (-4.0, 4.0), (1e20, 1.0001e20), (0.0, 2.0**-300)])
@pytest.mark.parametrize(
    ("d", "mean", "contamination"), [(1, True, 0.2), (1, False, 0.0), (2, True, 0.1), (3, False, 0.0)]
)
@pytest.mark.parametrize("pure", [False, True])
def test_three_records_and_all_neighbours(monkeypatch, bounds, d, mean, contamination, pure):
    monkeypatch.setattr(budgets, "IntegerQueries", Transcript)
    columns = public_columns(bounds, False, d)
    task = MeanTask(3, d, 0, columns.bounded, contamination, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = worst_loss(whitened(columns, task, mean, pure), tables(d)[:: 1 if d == 1 else 2], neighbours)
    assert 0 < result <= (2.0 if pure else 0.5) + 1e-9


def test_the_pure_road_on_four_records_and_all_neighbours(monkeypatch):
    """The frame's loss is what is charged for it; then one row of the draw changes, and no more."""
    monkeypatch.setattr(pure, "IntegerQueries", Transcript)
    drawn = []

    class Stop(Exception):
        pass

    def draw(score, rows, **options):
        drawn.append((score.records, score.lattice, rows, options["epsilon"]))
        raise Stop

    monkeypatch.setattr(pure, "pure_exponential", draw)
    columns = public_columns((-4.0, 4.0), False, 2)
    task = MeanTask(4, 2, 0, True, 0.1, 0.0)
    plan = Plan("packing", Fraction(1, 8), {"frame": Fraction(1, 2), "draw": Fraction(1, 2)}, 0.0, 0.0, 0.0)

    def run(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                pure.pure_covariance(columns.clipped(np.array(rows, dtype=float)), columns, task, plan, 1)
            except Stop:
                pass
        return Transcript.seen

    rows = [[0.0, 1.0], [-0.0, 1e308], [math.nan, -2.0], [5e-324, -math.inf]]
    for table in list(itertools.permutations(rows, 4))[::5]:
        Transcript.script, drawn[:] = None, []
        own = run(table)
        Transcript.script = own
        for other in neighbours([list(row) for row in table]):
            assert loss(own, run(other)) <= 0.5 + 1e-9
            first, last = drawn[0], drawn[-1]
            assert first[:2] == last[:2] and first[3] == last[3] == 0.5
            assert (first[2] != last[2]).any(axis=1).sum() <= 1
        Transcript.script = None


@pytest.mark.parametrize("kind", ["choice", "constant", "scales", "ties"])
def test_hostile_tables_have_a_covariance(kind):
    """Whatever the entries: finite, symmetric, positive definite, no warning."""
    generator = np.random.default_rng(0)
    X = {
        "choice": generator.choice(HOSTILE, size=(900, 3)),
        "constant": np.full((900, 3), 1e308),
        "scales": generator.normal(size=(900, 3)) * [1e-28, 1e28, 1.0],
        "ties": np.round(generator.normal(size=(900, 3))),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bounds in (None, (-(2.0**99), 2.0**99)):
            est = PrivateGaussian(rho=1.0, bounds=bounds, contamination=0.1).fit(X)
            root = np.sqrt(np.diag(est.covariance_))
            assert (root > 0).all() and np.isfinite(est.mean_).all()
            assert np.linalg.eigvalsh(est.covariance_ / root[:, None] / root).min() > 0


def test_units_whose_squares_are_no_floats_are_refused():
    refuse(
        *each(
            lambda bounds: PrivateCovariance(rho=1.0, bounds=bounds, contamination=0.0).fit(
                np.zeros((900, 1))
            ),
            ((-1e200, 1e200), (0.0, 1e-200), (1e40, 3e40)),
            "out of range",
        )
    )
    assert issubclass(Transcript, IntegerQueries)
