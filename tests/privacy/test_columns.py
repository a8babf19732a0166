"""Count, sum, mean and quantile of a column: every neighbour of small tables, exact losses, and controls."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.contributions import ONE_ROW_A_USER, Unit, averaged_by_user, kept, unit_of
from sosdp.privacy.guarantee.adjacency import (
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_USER_ADDED,
    ONE_USER_REPLACED,
)
from sosdp.privacy.guarantee.composition import for_users, replaced_from_added
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.mechanisms import (
    bounded_average,
    private_count,
    private_mean,
    private_quantile,
    private_sum,
)
from sosdp.privacy.mechanisms.basic import columns
from sosdp.privacy.mechanisms.basic.quantile import grid, quantile_level, runs, tallied
from sosdp.privacy.verification.release_check import check_release
from tests.neighbours import of_unit
from tests.refusals import each, refuse

RECORDS = (ONE_RECORD_REPLACED, ONE_RECORD_ADDED)
USERS = (ONE_USER_REPLACED, ONE_USER_ADDED)
EPSILON = 1.0


def tables(values, size, owners=None):
    """All tables of up to `size` rows (value, owner)."""
    rows = [(v, o) for v in values for o in (owners or [None])]
    return [t for k in range(size + 1) for t in itertools.product(rows, repeat=k)]


def counted(table, unit):
    users = None if unit.adjacency.unit == "record" else [owner for _, owner in table]
    return kept([value for value, _ in table], users, unit)


UNITS = [Unit(adjacency, 1) for adjacency in RECORDS] + [Unit(a, m) for a in USERS for m in (1, 2)]


def worst(unit, statistics, scales, values=(-1.0, 2.0, None)):
    """The largest sum of |change| / scale over neighbours: the exact log likelihood ratio of the noise."""
    owners = None if unit.adjacency.unit == "record" else "ab"
    every = tables(values, 3, owners)
    result = {t: statistics(counted(t, unit)) for t in every}
    return max(
        sum(abs(Fraction(x - y)) / s for x, y, s in zip(result[t], result[o], scales, strict=True))
        for t, o in of_unit(every, unit.adjacency)
    )


def laws_of(release):
    return [Fraction(law.numbers[0]) for law in release.evidence.laws]


def released(mechanism, unit, **more):
    users = {} if unit.adjacency.unit == "record" else {"users": [], "most": unit.most}
    return mechanism([], epsilon=EPSILON, adjacency=unit.adjacency, **users, **more)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_count_exhaustively(unit):
    release = released(private_count, unit)
    loss = worst(unit, lambda e: [sum(v is not None for v in e)], laws_of(release))
    assert loss == EPSILON
    assert check_release(release.to_dict()).status == "valid"


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (1.0, 2.0), (-2.0, -1.0)])
def test_sum_exhaustively(unit, low, high, monkeypatch):
    monkeypatch.setattr(columns, "STEPS", 8)
    step, least, highest = columns._steps(low, high)
    release = released(private_sum, unit, low=low, high=high)
    loss = worst(
        unit, lambda e: [columns.summed(e, step, least, highest)], laws_of(release), (low, high, None)
    )
    assert loss == EPSILON
    # control: the noise of a unit that is added or removed is too little where it is replaced
    if unit.replaced and (low, high) == (-1.0, 2.0):
        added = unit.most * columns.contribution(least, highest, replaced=False)
        few = [added / Fraction(EPSILON)]
        assert worst(unit, lambda e: [columns.summed(e, step, least, highest)], few) > EPSILON
    assert check_release(release.to_dict()).status == "valid"


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_mean_exhaustively(unit, monkeypatch):
    monkeypatch.setattr(columns, "STEPS", 8)
    step = columns._steps(-1.0, 2.0)[0]

    def statistics(entries):
        return columns.deviations(entries, step, Fraction(1, 2))

    release = released(private_mean, unit, low=-1.0, high=2.0)
    scales = laws_of(release)
    assert worst(unit, statistics, scales) == EPSILON
    for smaller in ([scales[0] / 2, scales[1]], [scales[0], scales[1] / 2]):  # controls
        assert worst(unit, statistics, smaller) > EPSILON
    assert check_release(release.to_dict()).status == "valid"


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 3), Fraction(1)])
def test_quantile_exhaustively(unit, share):
    """Loss of the exponential mechanism by enumeration of its law over the grid."""
    points = grid(-1.0, 2.0, 1.0)
    owners = None if unit.adjacency.unit == "record" else "ab"
    every = tables((-1.0, 2.0, None), 3, owners)

    def law(table, moved=None):
        entries = [entry for entry in counted(table, unit) if entry is not None]
        level, sensitivity = quantile_level(share, len(entries), unit)
        rate = EPSILON / (2 * (moved or sensitivity))
        weights = [
            math.exp(-rate * height)
            for first, last, height in zip(
                *runs(tallied(points.counts(entries), points.size), points.size, level)
            )
            for _ in range(first, last + 1)
        ]
        return np.array(weights) / math.fsum(weights)

    def loss(moved=None):
        laws = {t: law(t, moved) for t in every}
        return max(np.abs(np.log(laws[t] / laws[o])).max() for t, o in of_unit(every, unit.adjacency))

    assert loss() <= EPSILON + 1e-12
    sensitivity = quantile_level(share, 3, unit)[1]
    assert loss(sensitivity / 6) > EPSILON  # control


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 3), Fraction(0), Fraction(1)])
def test_the_sensitivity_of_a_quantile_score_is_attained(unit, share):
    owners = None if unit.adjacency.unit == "record" else "ab"
    every = tables((0, 2), 3, owners)

    def score(table):
        entries = counted(table, unit)
        level, moved = quantile_level(share, len(entries), unit)
        return level(sum(v < 1 for v in entries), sum(v > 1 for v in entries)), moved

    gap = max(abs(score(t)[0] - score(o)[0]) for t, o in of_unit(every, unit.adjacency))
    assert gap <= score(())[1]
    # a score never goes below zero, so replacing one of few records moves it by less than b
    assert unit.replaced or gap == score(())[1]


def test_releases_are_near_and_say_what_they_are():
    values = [10.0] * 300 + [30.0] * 100 + [math.nan, "x", None, object()]
    users = [i // 4 for i in range(404)]
    added = {"epsilon": 2.0, "adjacency": "one record (add or remove)"}
    assert abs(private_count(values, **added).value - 401) < 40  # the text is an entry
    assert abs(private_count(values, equal_to=30, **added).value - 100) < 40
    assert abs(private_sum(values, low=0, high=50, **added).value - 6000) < 1500
    mean = private_mean(values, low=0, high=50, **added)
    assert abs(mean.value - 15) < 5 and 0 <= mean.value <= 50
    assert mean.guarantee.statement() == "2-DP for one record (add or remove) [exact]"
    assert "n" not in mean.public  # how many records there are is private
    assert private_quantile(values[:400], q=0.5, low=0, high=50, step=1, **added).value in range(8, 13)
    owned = private_sum(values, low=0, high=50, epsilon=2.0, users=users, most=2)
    assert owned.guarantee.adjacency == ONE_USER_REPLACED and abs(owned.value - 3000) < 2000
    assert isinstance(private_count(["a", "b"], epsilon=1.0).value, int)
    assert 0 <= private_mean([], low=0, high=1, epsilon=1.0).value <= 1  # no record is no error


def test_old_arguments_of_the_quantile_still_work():
    assert private_quantile([1, 2, 3] * 100, 150, low=0, high=5, step=1, epsilon=5.0).public["rank"] == 150
    refuse(
        *each(
            lambda bad: private_quantile([1, 2], low=0, high=5, epsilon=1.0, **bad),
            (
                {},
                {"rank": 1, "q": 0.5},
                {"q": 1.5},
                {"q": "half"},
                {"rank": 1, "adjacency": ONE_RECORD_ADDED},
            ),
            r"q|rank",
        )
    )


def test_truncation_is_by_user_and_in_order():
    unit = Unit(ONE_USER_ADDED, 2)
    ids = ["a", "b", "a", "a", math.nan, 1, True, 1.0, [1]]
    assert kept(range(9), ids, unit) == [
        0,
        1,
        2,
        5,
        6,
    ]  # 1, True and 1.0 are one user
    refuse(
        *each(
            lambda bad: unit_of(None, **bad),
            ({"users": ids, "most": None}, {"users": None, "most": 2}, {"users": ids, "most": 0}),
            r"most",
        ),
        (lambda: unit_of(ONE_RECORD_ADDED, ids, 2), "with users"),
        (lambda: kept([1, 2], ["a"], unit), "one user a record"),
    )


def test_one_row_a_user():
    X = [[1.0, 0.0], [5.0, 5.0], [3.0, 2.0], [9.0, 9.0]]
    rows = averaged_by_user(X, ["b", "a", "b", None], dimension=2)
    assert rows.tolist() == [
        [9.0, 9.0],
        [5.0, 5.0],
        [2.0, 1.0],
    ]  # by ids, of which None is one
    # what one user holds moves one row, wherever the records stand
    other = averaged_by_user([X[1], X[3], [7.0, 7.0]], ["a", None, "b"], dimension=2)
    assert (rows != other).any(axis=1).tolist() == [False, False, True]
    assert np.isnan(averaged_by_user([["x"], [1.0]], [1, 2], dimension=1)[0, 0])
    refuse(
        (lambda: averaged_by_user(X, [math.nan] * 4, dimension=2), "no user"),
        (lambda: averaged_by_user(X, ["b", "a", "b", None]), "dimension="),
        (lambda: averaged_by_user(np.array(X), ["b", "a", "b", None], dimension=3), r"\(4, 2\)"),
    )
    # a user with most of the records decides nothing about the others
    for width in (2, 3):
        longer = averaged_by_user([[1.0] * width, [2.0] * width, [5.0, 6.0]], ["a", "a", "b"], dimension=2)
        assert longer.shape == (2, 2) and longer[1].tolist() == [5.0, 6.0]


def test_conversions_between_units():
    added = Guarantee(epsilon=1.0, delta=1e-6, adjacency=ONE_RECORD_ADDED)
    users = for_users(added, 3)
    assert users.adjacency == ONE_USER_ADDED and users.epsilon == 3.0
    assert math.isclose(users.delta, 1e-6 * (1 + math.e + math.e**2))
    assert replaced_from_added(users).adjacency == ONE_USER_REPLACED
    assert replaced_from_added(users).epsilon == 6.0
    one = for_users(Guarantee(rho=0.5, adjacency=ONE_RECORD_REPLACED))
    assert one.rho == 0.5 and one.adjacency == ONE_USER_REPLACED
    assert any("public" in fact for fact in one.assumptions)
    # records do not say whose they are: the bound is a condition, unless a fact makes it true of all data
    assert one.kind == users.kind == "conditional" and "at most 3 records" in users.conditions[0]
    averaged = for_users(Guarantee(rho=0.5, adjacency=ONE_RECORD_REPLACED), bounded=ONE_ROW_A_USER)
    assert averaged.kind == "exact" and not averaged.conditions
    refuse(
        *each(lambda most: for_users(added, most), (0, True, 1.5), "most"),
        *each(
            lambda wrong: for_users(Guarantee(rho=0.5, adjacency=wrong)),
            ("one edge", ONE_USER_ADDED),
            "one record",
        ),
    )


def test_what_is_no_column_is_refused_by_its_schema():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "name": ["x", "y"], "seen": [True, False]})
    mechanisms = {
        "sum": lambda x: private_sum(x, low=0, high=5, epsilon=1.0),
        "mean": lambda x: private_mean(x, low=0, high=5, epsilon=1.0),
        "quantile": lambda x: private_quantile(x, q=0.5, low=0, high=5, epsilon=1.0),
        "rank": lambda x: private_quantile(x, 1, low=0, high=5, step=1, epsilon=1.0),
        "average": lambda x: bounded_average(x, low=0, high=5, epsilon=1.0),
    }
    for mechanism in mechanisms.values():
        for column in (frame["age"], frame[["age"]], frame["seen"], frame["age"].astype("Float64")):
            assert isinstance(mechanism(column).value, float)
        for wrong in (frame, frame["name"], frame[["age", "seen"]], np.zeros((2, 2)), {"age": [1]}, "12"):
            with pytest.raises(TypeError, match=r"column|records"):
                mechanism(wrong)
    assert isinstance(private_count(frame["name"], equal_to="x", epsilon=1.0).value, int)
    refuse((lambda: private_count(frame, epsilon=1.0), "one column", TypeError))


def test_an_entry_outside_moves_no_more():
    step, least, highest = columns._steps(0.0, 2.0)
    for entry in (1e300, math.inf, 10**400, 2.5):
        assert columns.summed([entry], step, least, highest) == highest
        assert columns.deviations([entry], step, Fraction(1)) == (columns.STEPS // 2, 1)
    assert columns.summed([-math.inf], step, least, highest) == least == 0
    refuse((lambda: columns.interval(1.0, math.nan), "low < high"))


class Foul:
    """Raises wherever it is looked at."""

    def __getattr__(self, name):
        raise RuntimeError("secret")

    __eq__ = __lt__ = __float__ = __hash__ = lambda *arguments: 1 / 0  # type: ignore[assignment]


@pytest.mark.parametrize("hostile", [Foul(), math.nan, None, [1], "x", 1j, b"1"], ids=range(7))
def test_a_hostile_record_is_a_record_that_is_missing(hostile):
    """Draw for draw the release without it: nothing is raised, nothing else moves."""
    kept_values, more = [1.0, 2.0, 3.0], {"epsilon": 1.0, "adjacency": ONE_RECORD_ADDED, "insecure_seed": 4}
    for mechanism in (
        lambda x: private_sum(x, low=0, high=5, **more),
        lambda x: private_mean(x, low=0, high=5, **more),
        lambda x: private_quantile(x, q=0.5, low=0, high=5, **more),
        lambda x: private_count(x, equal_to=2, **more),
    ):
        assert mechanism([*kept_values, hostile]).value == mechanism(kept_values).value
    owners = ["a", "b", hostile]
    if not isinstance(hostile, str | bytes | None):  # texts and None are ids
        owned = {**more, "adjacency": ONE_USER_ADDED, "most": 1}
        with_it = private_sum(kept_values, low=0, high=5, users=owners, **owned)
        without = private_sum(kept_values[:2], low=0, high=5, users=owners[:2], **owned)
        assert with_it.value == without.value


def test_a_column_of_true_and_false_counted_whole_gets_a_warning():
    with pytest.warns(UserWarning, match="equal_to=True"):
        private_count(np.array([True, False] * 500), epsilon=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert abs(private_count(np.array([True, False] * 500), equal_to=True, epsilon=1.0).value - 500) < 60
        private_count([True, False], epsilon=1.0)


def test_a_step_beyond_the_grid_is_refused():
    """A step of 1 for a column of 1e-9 left one point, 0, for an answer."""
    refuse(
        (
            lambda: private_quantile([1e-9] * 10, q=0.5, low=0, high=1e-8, step=1, epsilon=1.0),
            "wider than the grid",
        )
    )
    assert private_quantile([1.0] * 10, q=0.5, low=0, high=1, step=1, epsilon=50.0).value == 1.0
    # of 1000 points it was 0
    assert abs(private_quantile([3e8] * 1000, q=0.5, low=0, high=1e12, epsilon=1.0).value - 3e8) < 1e6


def test_a_scale_beyond_float64_is_refused_whatever_the_records():
    for values in ([], [0.0], [1e308, math.nan]):
        with pytest.raises(ValueError, match="beyond the range of float64"):
            private_sum(values, low=-1e308, high=1e308, epsilon=1.0)
        with pytest.raises(ValueError, match="beyond the range of float64"):
            private_count(values, epsilon=1e-310)
