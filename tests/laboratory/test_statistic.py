"""Sensitivities of statistics: proven above, attained below, and what is no polynomial is refused."""

import itertools
import math
import random
from fractions import Fraction

import pytest

import sosdp as sd
from sosdp.cli.check_release import proven_bound
from sosdp.laboratory.domain import Domain, shaped
from sosdp.laboratory.release import STEPS, whole_value
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import alike
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refusals, refuse

F = Fraction


def mean(r):
    return sum(r) * F(1, len(r))


def variance(r):
    return sum(x * x for x in r) * F(1, len(r)) - mean(r) ** 2


def products(r):
    return sum(a * b for a, b in itertools.combinations(r, 2))


def inner(r):
    return sum(a * b for x, y in itertools.combinations(r, 2) for a, b in zip(x, y, strict=True))


TRUE = [
    ("mean", mean, 3, {}, F(1, 3), (0,)),
    ("squares", lambda r: sum(x * x for x in r), 3, {}, F(1), (0,)),
    ("products", products, 3, {}, F(2), (0,)),
    ("variance", variance, 3, {}, F(2, 9), (0,)),
    ("variance of 8", variance, 8, {}, F(7, 64), (0,)),
    ("square of the sum", lambda r: sum(r) ** 2, 3, {}, F(5), (0,)),
    ("weights", lambda r: r[0] + 100 * r[1], 3, {}, F(100), (0, 1)),
    ("two weights", lambda r: r[0] + r[1] + 5 * r[2], 3, {"low": -1}, F(10), (0, 2)),
    ("a swap is not enough", lambda r: r[0] + r[1] + 100 * r[2], 3, {}, F(100), (0, 2)),
    (
        "a rotation is not enough",
        lambda r: r[0] ** 2 * r[1] + r[1] ** 2 * r[2] + r[2] ** 2 * r[0],
        3,
        {"low": -1},
        None,
        (0, 1, 2),
    ),
    ("constant", lambda r: 7, 2, {}, F(0), ()),
    ("ball", inner, 3, {"dimension": 2, "radius": 1}, F(4), (0,)),
    ("floats are binary numbers", lambda r: sum(0.1 * x for x in r), 2, {}, F(0.1), (0,)),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("name", "query", "n", "facts", "truth", "positions"), TRUE, ids=[t[0] for t in TRUE]
)
def test_known_sensitivities(name, query, n, facts, truth, positions):
    report = sd.stability(query, records=n, **facts)
    assert report.status == "proven" and report.positions == positions
    assert report.lower <= report.upper <= report.lower * (1 + F(1, 10**4)) + F(1, 10**6)
    if truth is not None:
        assert abs(report.upper - truth) < F(1, 10**5) and abs(report.lower - truth) < F(1, 10**3)
    if report.neighbours is not None:
        first, second = report.neighbours
        assert sum(a != b for a, b in zip(first, second, strict=True)) <= 1
        value = F(query(list(first))) - F(query(list(second)))
        assert abs(value - report.lower) < F(1, 10**12)  # exactly, but for floats in the query
    assert len(report.certificates) == len(positions)
    for certificate in report.certificates:
        assert certificate is None or proven_bound(certificate).upper <= report.upper
    below = sd.stability(query, records=n, **facts, claim=truth * F(99, 100)) if truth else None
    assert below is None or below.status == "refuted"  # negative control


@pytest.mark.parametrize(
    ("records", "low", "size"), [(4, 0, 1000), (3, 0, 1000), (3, 1000, 1), (3, -1, F(9, 7))]
)
def test_sensitivities_do_not_depend_on_units(records, low, size):
    """A variance of three numbers up to 1000 took 16 seconds, and one of numbers from 1000 to 1001 was not
    exact."""
    report = sd.stability(variance, records=records, low=low, high=low + size)
    assert report.upper == F(size) ** 2 * F(records - 1, records**2) == report.lower
    (certificate,) = report.certificates
    assert proven_bound(certificate).upper == report.upper
    fitted = sd.private_estimator(report, epsilon=1.0).fit(
        [float(low), float(low + size), float(low), float(low)][:records]
    )
    assert fitted.guarantee_.kind == "exact"  # the kernel proves it again


def test_many_records_are_pooled_where_a_change_depends_on_the_sum_of_the_others():
    """A variance of 200 records did not end in 500 s."""
    report = sd.stability(variance, records=60, low=-2, high=5)
    assert report.upper == report.lower == F(49 * 59, 3600)
    assert proven_bound(report.certificates[0]).upper == report.upper
    first, second = report.neighbours
    assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    assert variance(first) - variance(second) == report.upper


@pytest.mark.parametrize(
    "query",
    [
        # in any order, no sum: (a - b) (x y + x z + y z - x^2 - y^2 - z^2) - (a^2 - b^2) (x + y + z)
        lambda r: (
            sum(a * b * c for a, b, c in itertools.combinations(r, 3))
            - sum(a * b**2 for a, b in itertools.permutations(r, 2))
        ),
        lambda r: r[0] * (r[1] + r[2] - 5 * r[3]),  # sums, in one order
    ],
)
def test_what_depends_on_more_than_the_sum_of_the_others_is_not_pooled(query):
    report = sd.stability(query, records=4, low=-1, high=1)
    table = {data: F(query(data)) for data in itertools.product([-1, 0, 1], repeat=4)}
    worst = max(abs(x - y) for x, y in neighbour_pairs(table, [-1, 0, 1]))
    assert worst <= report.upper and report.lower == worst


@pytest.mark.parametrize("query", [mean, variance, products, lambda r: (r[0] - r[1]) ** 3 + r[2] ** 2])
def test_every_pair_of_neighbours_is_within_the_bound(query):
    report = sd.stability(query, records=3, low=-1, high=1)
    grid = [F(k, 2) for k in range(-2, 3)]
    table = {data: F(query(data)) for data in itertools.product(grid, repeat=3)}
    worst = max(abs(x - y) for x, y in neighbour_pairs(table, grid))
    assert worst <= report.upper <= worst + F(1, 10**3) and report.lower <= worst


def test_a_claim_is_proven_exactly_refuted_or_left_undecided():
    assert sd.stability(variance, records=5, claim=F(4, 25)).status == "proven"
    assert sd.stability(variance, records=5, claim=F(15, 100)).status == "refuted"
    report = sd.stability(variance, records=5, claim=F(4, 25) + F(1, 10**12))
    assert report.sensitivity <= F(4, 25) + F(1, 10**12)
    weak = StabilityReport(upper=F(2), lower=F(1), claimed=F(3, 2), missing="a larger degree")
    assert weak.status == "undecided"
    with pytest.raises(sd.Undecided, match="a larger degree"):
        _ = weak.sensitivity


BRANCHES = {
    "counting zeros": lambda r: sum(1 for x in r if x == 0),
    "counting ends": lambda r: sum(2 * x if x == 1 else x * x for x in r),
    "a number in the code": lambda r: sum(5 if x == 0.37 else x for x in r),
    "equal records": lambda r: sum(r) + (3 if r[0] == r[1] else 0),
    "the last record is 1/2": lambda r: sum(r) + (r[-1] == F(1, 2)),
    "a table": lambda r: sum({0: 9, 1: 9}.get(x, x) for x in r),
    "types": lambda r: sum(r) if not isinstance(r[0], (int, float, F)) else 2 * sum(r),
    "largest": max,
    "sorted": lambda r: sorted(r)[1],
    "absolute value": lambda r: sum(abs(x) for x in r),
    "ratio": lambda r: r[0] / (1 + r[1]),
    "foreign": lambda r: sum(r) + sd.variables("foreign"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_what_branches_is_no_polynomial(name):
    with pytest.raises(sd.NotAPolynomial) as refused:
        sd.stability(BRANCHES[name], records=3)
    known = str(refused.value)
    assert "NotAPolynomial" not in known and known.count("for medians and quantiles use") <= 1


def test_order_is_decided_for_polynomials_of_known_symmetry():
    """A sum over the orbit of a monomial under a group of positions has exactly this group's classes."""
    groups = {
        "all": (list(itertools.permutations(range(4))), True, (0,)),
        "two pairs": ([(0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)], False, (0, 2)),
        "rotations": ([tuple((i + k) % 4 for i in range(4)) for k in range(4)], False, (0, 1, 2, 3)),
        "nothing": ([(0, 1, 2, 3)], False, (0, 1, 2, 3)),
    }
    for group, symmetric, positions in groups.values():

        def query(r, group=group):
            return sum(r[g[0]] * r[g[1]] ** 2 * r[g[2]] ** 3 * (1 + r[g[3]]) for g in group)

        data = [[v] for v in sd.variables("r", 4)]
        assert alike(sd.Polynomial(0) + query([v for (v,) in data]), data) == (symmetric, positions)


PAIRS = {
    "products": (lambda x, y: x * y, 1, {"low": -1}, 2),
    "squared distances": (lambda x, y: (x - y) ** 2, 1, {}, 1),
    "squared inner products": (
        lambda x, y: sum(a * b for a, b in zip(x, y, strict=True)) ** 2,
        2,
        {"radius": 1},
        1,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_sums_over_pairs_for_any_number_of_records(name):
    kernel, dimension, facts, each = PAIRS[name]
    for n in (2, 3, 10**6):
        report = sd.stability(kernel, pairs=True, records=n, dimension=dimension, **facts)
        truth = (n - 1) * each
        assert report.status == "proven" and truth <= report.upper <= truth * (1 + F(1, 10**4))
        assert truth * (1 - F(1, 10**3)) <= report.lower
        whole = lambda r: sum(kernel(a, b) for a, b in itertools.combinations(r, 2))  # noqa: E731
        if n == 3:
            first, second = map(whole, report.neighbours)
            assert first - second == report.lower
        if n == 3 and dimension == 1:
            assert abs(sd.stability(whole, records=3, dimension=dimension, **facts).upper - truth) < F(
                1, 10**3
            )
    assert (
        sd.stability(kernel, pairs=True, records=5, dimension=dimension, claim=each, **facts).status
        == "refuted"
    )
    refuse(
        (lambda: sd.stability(lambda x, y: x, pairs=True, records=3), "symmetric", sd.NotAPolynomial),
        (
            lambda: sd.stability(lambda x, y: x * y + (x == 0.37) * (y == 0.37), pairs=True, records=3),
            "branches",
            sd.NotAPolynomial,
        ),
        (
            lambda: sd.stability(kernel, pairs=True, records=1, dimension=dimension, **facts),
            ">= 2",
            ValueError,
        ),
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PAIRS)
def test_sums_over_pairs_are_released_at_their_exact_value(name):
    kernel, dimension, facts, _ = PAIRS[name]
    domain = Domain(dimension, **({"low": 0, "high": 1} | facts))
    generator = random.Random(1)
    for n in (2, 3, 7):
        report = sd.stability(kernel, pairs=True, records=n, dimension=dimension, **facts)
        records = [domain.draw(generator) for _ in range(n)]
        truth = sum(kernel(a, b) for a, b in itertools.combinations(shaped(records, dimension), 2))
        assert report.program.value(records) == truth
        release = sd.private_estimator(report, epsilon=1e6).fit(
            [[float(v) for v in r] if dimension > 1 else float(r[0]) for r in records]
        )
        assert abs(release.estimate_ - float(truth)) < 1e-2 * float(report.upper)
        assert release.guarantee_.kind == "certified" and release.guarantee_.epsilon == 1e6


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PAIRS)
def test_released_sums_over_pairs_move_by_at_most_the_sensitivity_on_all_neighbours(name):
    kernel, dimension, facts, _ = PAIRS[name]
    report = sd.stability(kernel, pairs=True, records=3, dimension=dimension, **facts)
    marks = [float(m) for m in Domain(dimension, **({"low": 0, "high": 1} | facts)).marks()]
    rows = [list(r) if dimension > 1 else r[0] for r in itertools.product(marks, repeat=dimension)]
    values = {
        d: whole_value(report, [rows[k] for k in d])[0] for d in itertools.product(range(len(rows)), repeat=3)
    }
    moved = [abs(values[d] - values[k, *d[1:]]) for d in values for k in range(len(rows))]
    assert STEPS // 2 < max(moved) <= STEPS  # half the sensitivity would not do


def test_a_higher_degree_is_tried_where_the_least_one_proves_too_much():
    covariance = lambda x, y: (x[0] - y[0]) * (x[1] - y[1])  # noqa: E731
    facts = {"pairs": True, "records": 2, "dimension": 2, "low": -1}
    assert sd.stability(covariance, **facts, degree=2).gap > 1.1
    assert sd.stability(covariance, **facts).gap < 1.01


test_refusals = refusals(
    (lambda: StabilityReport(upper=F(0), lower=F(1)), "defect", AssertionError),
    *each(
        lambda bad: sd.stability(mean, **{"records": 2, "low": 0, "high": 1, **bad}),
        ({"records": 0}, {"low": 1}, {"dimension": 0}, {"radius": -1}, {"high": math.inf}, {"low": [0, 0]}),
    ),
    (lambda: sd.stability("a word", records=2), "takes", TypeError),
)
