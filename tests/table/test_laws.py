"""Every statistic, with and without groups, for every unit: all neighbours of small tables, exact losses."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms.basic.quantile import quantile_level, runs
from sosdp.privacy.table.answers import NOTHING, shares
from sosdp.privacy.table.keys import law_of
from sosdp.privacy.table.quantiles import Widths, reach
from sosdp.privacy.table.state import totals
from sosdp.privacy.table.statistics import Histogram
from sosdp.privacy.verification.release_check import check_release
from tests.neighbours import of_unit
from tests.table.small import UNITS, records, table_of, tables

LAPLACE = {
    "count": lambda t: t.count(),
    "readable": lambda t: t.count("v"),
    "missing": lambda t: t.count("v", missing=True),
    "sum": lambda t: t.sum("v"),
    "mean": lambda t: t.mean("v"),
    "sampled": lambda t: t.mean("v"),
    "histogram": lambda t: t.histogram("v", 3),
    "categories": lambda t: t.histogram("g"),
    "two": lambda t: t.count("v").sum("v"),
}


# every run of a cut at the entries -1 and 2 of a column in [-1, 2] holds one of these
PLACES = [0, 1, 2, 3, 4, 349_525, (1 << 20) - 2, (1 << 20) - 1]


def vectors(question, table, keys):
    """The integers of a table, statistic by statistic, over all keys."""
    cells = totals(question.fold(records(table)))
    return [
        [written(one, cells[key][i] if key in cells else one.tally(NOTHING, NOTHING, 1)[0]) for key in keys]
        for i, one in enumerate(question.question.statistics)
    ]


def written(statistic, cell):
    """All integers of a cell, also those that are 0."""
    return np.bincount(*cell, minlength=statistic.width) if isinstance(statistic, Histogram) else cell


def worst(question, adjacency, every, factor=1):
    """The largest sum of |change| / scale over neighbours: the exact privacy loss of the noise."""
    keys = question.question.groups.public if question.question.groups else [None]
    scales = []
    for share in shares(question.question, 1.0):
        width = share.statistic.width
        own = [law.numbers[0] for law in share.laws]
        scales.append([Fraction(scale) / factor for scale in own * (width // len(own))])
    integers = {table: vectors(question, table, keys) for table in every}
    return max(
        sum(
            abs(Fraction(int(a - b))) / scale
            for one, other, own in zip(integers[t], integers[s], scales, strict=True)
            for row, others in zip(one, other, strict=True)
            for a, b, scale in zip(row, others, own, strict=True)
        )
        for t, s in of_unit(every, adjacency)
    )


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", LAPLACE)
@pytest.mark.parametrize(("adjacency", "most"), UNITS, ids=str)
def test_noise_exhaustively(adjacency, most, name, grouped):
    question = LAPLACE[name](table_of(adjacency, most, interval="sample" if name == "sampled" else "noise"))
    question = question.by("g") if grouped else question
    every = tables(adjacency)
    loss = worst(question, adjacency, every)
    assert loss <= 1
    # a replaced record leaves the number of records as it is, and a replaced one of another group leaves -1
    # behind for 2 at most; else no noise is wasted
    least = 0 if name == "count" and adjacency.endswith("(replace)") and not grouped else Fraction(3, 4)
    assert loss >= least
    assert worst(question, adjacency, every, factor=2) > 1 or not least  # control
    assert check_release(question.release().to_dict()).status == "valid"


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("interval", "column"), [(None, "v"), ("noise", "v"), (None, "x"), ("noise", "x")])
@pytest.mark.parametrize(("adjacency", "most"), UNITS, ids=str)
def test_quantiles_exhaustively(adjacency, most, interval, column, grouped):
    """The exact laws of all draws of two quantiles together, of a grid of 4 points and of one of 2^20; of
    intervals about every place of their value."""
    question = table_of(adjacency, most, interval=interval).quantiles(column, [0.5, "1/3"])
    question = question.by("g") if grouped else question
    every = tables(adjacency)
    keys = question.question.groups.public if grouped else [None]
    integers = {table: vectors(question, table, keys)[0] for table in every}
    (share,) = shares(question.question, 1.0)
    unit, size = question.question.shared[0], share.statistic.width
    assert size == (4 if column == "v" else 1 << 20)

    def losses(t, s, factor=1):
        return sum(
            np.abs(law - other).max()
            for row, others in zip(integers[t], integers[s], strict=True)
            for law, other in zip(laws(row, factor), laws(others, factor), strict=True)
        )

    def log_law(drawn, rate):
        weights = np.log(drawn.last - drawn.first + 1) - float(rate) * drawn.level.astype(float)
        return weights - math.log(math.fsum(np.exp(weights)))

    @functools.cache
    def laws_of(places, times, factor):
        """Logarithms of probabilities, at every place that occurs in a table, and between these."""
        cell, result, n = np.array([places, times], dtype=np.int64), [], sum(times)
        rates = iter(law.numbers[0] for law in share.laws)
        for q in share.statistic.shares:
            level, _ = quantile_level(q, n, unit)
            parts = [(runs(cell, size, level), next(rates) * factor)]
            if interval:
                rate = next(rates) * factor
                away = reach(rate, 0.05, q.denominator)
                about = [Widths(q, size, int(place), away).weighted(cell) for place in PLACES if place < size]
                result.append(np.concatenate([log_law(drawn, rate) for drawn in about]))
            for (first, last, levels), rate in parts:
                weights = np.exp(-float(rate) * levels.astype(float)) * (last - first + 1)
                here = np.searchsorted(last, np.unique(np.minimum(PLACES, size - 1)))
                result.append(-float(rate) * levels[here].astype(float) - math.log(math.fsum(weights)))
        return result

    def laws(row, factor):
        return laws_of(*map(tuple, row.tolist()), factor)

    pairs = of_unit(every, adjacency)[:: 5 if interval else 1]
    assert max(losses(t, s) for t, s in pairs) <= 1 + 1e-12
    assert max(losses(t, s, 8) for t, s in pairs) > 1  # control
    assert check_release(question.release().to_dict()).status == "valid"


@pytest.mark.parametrize(("adjacency", "most"), UNITS, ids=str)
def test_private_keys_exhaustively(adjacency, most):
    """(epsilon, delta) of the list of keys, over all neighbours of tables of up to two records."""
    epsilon, delta = 1.0, 0.05
    law = law_of(epsilon, delta, table_of(adjacency, most).question.unit)
    question = table_of(adjacency, most, delta=delta).by("place").count()
    a = math.exp(-1 / law.units)
    tail = sum(a ** abs(k) for k in range(-400, law.top + 1))

    def shown(size):
        return sum(a**k for k in range(law.top + 1 - size, law.top + 1)) / tail if size else 0.0

    def law_of_keys(table):
        rows = [{**record, "place": record["g"]} for record in records(table)]
        cells = totals(question.fold(rows))
        odds = [shown(int(cells[key][-1][0])) if key in cells else 0.0 for key in "NS"]
        one, two = np.array([1 - odds[0], odds[0]]), np.array([1 - odds[1], odds[1]])
        return np.outer(one, two).ravel()

    every = tables(adjacency, values=("2",))
    result = {table: law_of_keys(table) for table in every}

    def charge(scale):
        return max(
            float(np.maximum(result[x] - scale * result[y], 0).sum())
            for pair in of_unit(every, adjacency)
            for x, y in (pair, pair[::-1])
        )

    assert charge(math.exp(epsilon)) <= delta + 1e-12
    assert charge(math.exp(epsilon)) > delta / 20  # a control: most of delta is used by the worst pair
    released = table_of(adjacency, most, delta=delta).by("place").count().release()
    assert released.guarantee.delta == delta and released.guarantee.epsilon == 1.0
    assert check_release(released.to_dict()).status == "valid"


def test_a_top_for_one_record_is_too_low_for_the_records_of_a_user():
    """Negative control of the charge for several new units under one key."""
    from sosdp.privacy.mechanisms.basic.histogram import truncation

    units, one = truncation(1.0, 1e-3, 5, 1)
    _, five = truncation(1.0, 1e-3, 5, 5)
    a = math.exp(-1 / units)

    def charge(top):
        tail = sum(a ** abs(k) for k in range(-2000, top + 1))
        return sum(a**k for k in range(top - 4, top + 1)) / tail

    assert charge(five) <= 1e-3 * (1 + 1e-9) < charge(five - 1)
    assert charge(one) > 4e-3
