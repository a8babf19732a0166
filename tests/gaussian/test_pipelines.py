"""Whole pipelines on three records and all their neighbours: replay a transcript on the neighbour, price it.

A run on one table is recorded; the same code then runs on a neighbour, every question answered as before, so
that frames and radii are the same and only the integer images differ. The loss of an order statistic is
computed from both level sets, that of a sum from the distance of both sums: they may not exceed the budget.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian import budgets as opening
from problems.gaussian import means
from problems.gaussian.budgets import Budget, checked_budget
from problems.gaussian.columns import public_columns
from problems.gaussian.planning import MeanTask, Plan
from sosdp.privacy.mechanisms.integer_queries import (
    SPANS,
    SQUARED,
    IntegerQueries,
    level_cap,
    level_sets,
    squares_apart,
)

KINDS = {"cube": "cube", "gaussian": "sum", "ball": "ball"}
PURE = {"cube", "vector", "matrix"}
ENTRIES = [-3.0, 0.0, 0.25, 1.0, 1e308, math.nan]


class Transcript(IntegerQueries):
    """Questions that remember what they saw; with `script`, answers are those of another run."""

    script: list | None = None
    seen: list = []

    def __init__(self, n, **options):
        super().__init__(n, **{**options, "insecure_seed": len(Transcript.seen) + 1})
        Transcript.seen = []

    def _answer(self, kind, price, data, images, draw):
        """images: one row a record, of which a neighbour may change one."""
        answer = draw() if Transcript.script is None else Transcript.script[len(Transcript.seen)][3]
        Transcript.seen.append((kind, price, data, answer, np.array(images, ndmin=2).reshape(self.n, -1)))
        return answer

    def order_statistic(self, values, rank, *, low, high, epsilon):
        cap = level_cap(self.n, high - low + 1, Fraction(epsilon))
        data = (level_sets(np.sort(np.clip(values, low, high)), rank, low, high, cap), epsilon)
        make = super().order_statistic
        return self._answer(
            "order", epsilon, data, values, lambda: make(values, rank, low=low, high=high, epsilon=epsilon)
        )

    def noisy_sum(self, counts, bound, price, *, shape="ball"):
        make, squared = super().noisy_sum, SQUARED[shape]
        rows = self._inside(counts, bound, shape)
        squared = bound**2 * squared(rows.shape[1])
        kind, size = ("sum", Fraction(squared) / (2 * Fraction(price))) if not self.pure else (
            ("cube", SPANS[shape] * bound) if shape in SPANS else ("vector", math.sqrt(squared))
        )  # fmt: skip
        data = (rows.sum(axis=0), size)
        return self._answer(kind, price, data, rows, lambda: make(counts, bound, price, shape=shape))

    def ball_sum(self, counts, bound):
        make = super().ball_sum
        data = (self._inside(counts, bound, "ball").sum(axis=0), bound)
        return self._answer("ball", 0, data, counts, lambda: make(counts, bound))

    def squares(self, counts, bound, price):
        make = super().squares
        rows = self._inside(counts, bound, "ball").astype(object)
        data = (rows.T @ rows, squares_apart(rows.shape[1]) * bound**4)
        kind = "matrix" if self.pure else "squares"
        return self._answer(kind, price, data, rows, lambda: make(counts, bound, price))


def log_law(sets, epsilon, answer):
    lows, highs = sets
    sizes = [b - a + 1 for a, b in zip(lows, highs, strict=True)]
    total = sum(
        (size - (sizes[k - 1] if k else 0)) * math.exp(-float(epsilon) / 2 * k)
        for k, size in enumerate(sizes)
    )
    level = next(k for k in range(len(lows)) if lows[k] <= answer <= highs[k])
    return -float(epsilon) / 2 * level - math.log(total)


class OthersMoved(AssertionError):
    """The image of a record depends on another record."""


def loss(first, second, *, moved: int = 1) -> float:
    """What one transcript reveals: pure loss, or zCDP, of two recorded runs with the same answers.

    moved: records by which the tables differ; more images may not differ.
    """
    pure = concentrated = 0.0
    assert len(first) == len(second)
    for (kind, price, one, answer, rows), (_, _, two, _, others) in zip(first, second, strict=True):
        if (rows != others).any(axis=1).sum() > moved:
            raise OthersMoved(kind)
        if kind == "order":
            change = abs(log_law(*one, answer) - log_law(*two, answer))
            assert change <= float(price) + 1e-9
            pure += change
            concentrated += float(price) ** 2 / 8
        elif kind in ("cube", "vector"):
            change = (one[0] - two[0]).astype(float)
            length = np.abs(change).max() if kind == "cube" else np.linalg.norm(change)
            pure += float(length) * float(price) / one[1]
        elif kind == "sum":
            concentrated += float(Fraction(int(((one[0] - two[0]) ** 2).sum())) / (2 * one[1]))
        elif kind == "ball":
            assert int(((one[0] - two[0]) ** 2).sum()) <= (2 * one[1]) ** 2  # what its rate was proven for
        else:  # |change|_F^2 over its largest, of the square of a pure price or of zCDP
            share = Fraction(int(((one[0] - two[0]) ** 2).sum()), one[1])
            if kind == "matrix":
                pure += float(price) * math.sqrt(share)
            else:
                concentrated += float(share * Fraction(price))
    return pure if concentrated == 0 or PURE & {kind for kind, *_ in first} else concentrated


def transcripts(run, table, other, tries: int = 12):
    """Recorded runs on two tables with the same answers, by `tries` draws of the noise."""
    for seed in range(tries):
        Transcript.seen, Transcript.script = [None] * seed, None
        Transcript.script = first = run(table)
        yield first, run(other)


def plan_for(method: str, d: int, tight: int, budget: Budget, interval: bool) -> Plan:
    """Shares as the planner would have them, without its refusal: three records are too few for accuracy."""
    total = budget.total
    robust = d - tight
    if method == "cube":
        frame = total / 4 if robust else Fraction(0)
        extra = total / 20 if interval else Fraction(0)
        each = frame / (2 * robust) if robust else Fraction(0)
        return Plan("cube", each, {"frame": frame, "sum": total - frame - extra, "interval": extra}, 0, 0, 0)
    each = Fraction(math.sqrt(float(total) / robust)) * Fraction(9, 10) if robust else Fraction(0)
    frame = 2 * robust * each**2 / 8
    radius = total * 3 / 100 if robust else Fraction(0)
    extra = total / 20 if interval else Fraction(0)
    spent = {"frame": frame, "radius": radius, "interval": extra, "sum": total - frame - radius - extra}
    if method == "ball":  # the sum takes what epsilon and delta leave
        del spent["sum"]
    return Plan(method, each, spent, 0, 0, 0, kappa=1.2)


def run_mean(table, columns, task, budget, plan):
    means.private_mean(columns.clipped(np.array(table, dtype=float)), columns, task, budget, plan, 1)
    return Transcript.seen


def worst_loss(run, tables, neighbours) -> float:
    worst = 0.0
    for table in tables:
        Transcript.script = None
        own = run(table)
        Transcript.script = own
        for other in neighbours(table):
            worst = max(worst, loss(own, run(other)))
    return worst


def one_column():
    return [[[a], [b], [c]] for a, b, c in itertools.combinations_with_replacement(ENTRIES, 3)]


def two_columns():
    rows = [(0.0, 1.0), (0.25, -3.0), (1e308, 0.5), (math.nan, math.nan), (1.0, 1.0)]
    return [[list(a), list(b), list(c)] for a, b, c in itertools.combinations(rows, 3)]


def replaced(table):
    others = [[e] for e in ENTRIES] if len(table[0]) == 1 else [[0.0, 0.0], [-3.0, 1e308], [0.7, math.nan]]
    for i, row in itertools.product(range(3), others):
        yield [row if k == i else table[k] for k in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [None, (-4.0, 4.0)])
@pytest.mark.parametrize(("method", "tight"), [
    ("cube", 0), ("gaussian", 0), ("gaussian", 1), ("cube", 2), ("ball", 0), ("ball", 1), ("ball", 2),
])  # fmt: skip
def test_means_keep_their_budget(monkeypatch, bounds, method, tight):
    monkeypatch.setattr(opening, "IntegerQueries", Transcript)
    if bounds is None and tight:
        pytest.skip("tight columns have bounds")
    d = 2 if tight else 1
    tables = two_columns()[::3] if d == 2 else one_column()[::9]
    budgets = {"cube": (2.0, 0.0, None), "gaussian": (None, 0.0, 0.5), "ball": (9.0, 1e-6, None)}
    budget = checked_budget(*budgets[method])
    columns = public_columns(bounds, np.arange(d) < tight, d)
    task = MeanTask(3, d, tight, bounds is not None, 0.1, 0.95)
    plan = plan_for(method, d, tight, budget, True)
    allowed = sum(plan.spent.values())
    assert allowed == budget.total or method == "ball"
    assert {kind for kind, *_ in run_mean(tables[1], columns, task, budget, plan)} >= {KINDS[method]}
    worst = worst_loss(lambda table: run_mean(table, columns, task, budget, plan), tables, replaced)
    assert 0 < worst <= float(allowed) + 1e-9


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("bounds", [None, (0.2, 4.0)])
def test_medians_of_logarithms_keep_their_budget(monkeypatch, pure, bounds):
    """The entries that have no logarithm are missing ones: placed by their position alone."""
    monkeypatch.setattr(opening, "IntegerQueries", Transcript)
    budget = checked_budget(*((2.0, 0.0, None) if pure else (None, 0.0, 0.5)))
    columns = public_columns(bounds, False, 1, True)
    task = MeanTask(3, 1, 0, bounds is not None, 0.1, 0.0)
    frame = budget.total / 4
    each = frame / 2 if pure else Fraction(math.sqrt(4.0 * float(frame))) * Fraction(9, 10)
    plan = Plan("median", each, {"frame": frame, "medians": budget.total - frame}, 0, 0, 0)
    worst = worst_loss(
        lambda table: run_mean(table, columns, task, budget, plan), one_column()[::8], replaced
    )
    assert 0 < worst <= float(budget.total) + 1e-9


def test_a_map_that_looks_at_other_records_is_caught(monkeypatch):
    """Control: records scaled by the largest of them."""
    monkeypatch.setattr(opening, "IntegerQueries", Transcript)
    monkeypatch.setattr(
        means, "integers", lambda y, unit: np.trunc(y / np.abs(y).max() / unit).astype(np.int64)
    )
    budget = checked_budget(2.0, 0.0, None)
    columns, task = public_columns((-4.0, 4.0), True, 1), MeanTask(3, 1, 1, True, 0.1, 0.0)
    plan = plan_for("cube", 1, 1, budget, False)
    with np.errstate(all="ignore"), pytest.raises(OthersMoved):
        worst_loss(
            lambda table: run_mean(table, columns, task, budget, plan),
            [[[0.25], [0.25], [1.0]]],
            lambda table: [[[0.25], [0.25], [0.25]]],
        )
