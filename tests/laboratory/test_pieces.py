"""Functions of means for every n, ratios, pieces and maxima: bounds hold and are reached."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.means import Means
from sosdp.laboratory.pieces import Largest, Piece, Ratio, SumOfPieces
from sosdp.laboratory.release import STEPS, whole_value
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refusals, refuse

F = Fraction
UNIT = Domain(1, 0, 1)
VARIANCE = Means(lambda u, h: u[1] - u[0] ** 2, lambda x: [x, x * x], UNIT)
COVARIANCE = Means(lambda u, h: u[2] - u[0] * u[1], lambda x: [x[0], x[1], x[0] * x[1]], Domain(2, -1, 1))
THIRD = Means(lambda u, h: u[2] - 3 * u[0] * u[1] + 2 * u[0] ** 3, lambda x: [x, x * x, x**3], UNIT)
UNBIASED = Means(lambda u, h: (u[1] - u[0] ** 2) * (1 + h + h**2), lambda x: [x, x * x], UNIT)
SHARE = Ratio(sum, lambda r: 1 + sum(x * x for x in r), UNIT)
SLOPE = Ratio(lambda r: sum(x * y for x, y in r), lambda r: 1 + sum(x * x for x, _ in r), Domain(2, -1, 1))
FIRST = Ratio(lambda r: r[0], lambda r: 1 + r[1], UNIT)
LONG = Domain(1, -3, 3)
HUBER = SumOfPieces(
    (
        Piece(lambda x: x * x * F(1, 2), lambda x: [1 - x * x]),
        Piece(lambda x: x - F(1, 2), lambda x: [x - 1]),
        Piece(lambda x: -x - F(1, 2), lambda x: [-1 - x]),
    ),
    LONG,
)
CLIPPED = SumOfPieces(
    (Piece(lambda x: x, lambda x: [1 - x * x]), Piece(lambda x: 1, lambda x: [x])), LONG, F(-1)
)
HOLES = SumOfPieces((Piece(lambda x: x * x, lambda x: [x - 1]),), LONG, F(-5))
LARGEST = Largest((sum, lambda r: sum(x * x for x in r) * 2 - 1), UNIT)


def worst(value, n, marks, dimension=1):
    points = list(itertools.product(marks, repeat=dimension))
    table = {d: value(list(d)) for d in itertools.product(points, repeat=n)}
    return max(abs(v - w) for v, w in neighbour_pairs(table, points))


CASES = {
    "variance": (VARIANCE, 3, (0, F(1, 2), 1), F(2, 9), 1e-6),
    "covariance": (COVARIANCE, 3, (-1, 0, 1), None, 0.02),
    "third": (THIRD, 3, (0, F(1, 3), F(1, 2), 1), None, 3.0),
    "unbiased": (UNBIASED, 3, (0, F(1, 2), 1), None, 1e-6),
    "share": (SHARE, 3, (0, F(1, 2), 1), F(1, 2), 1e-5),
    "slope": (SLOPE, 2, (-1, -F(1, 2), 0, 1), None, 0.2),
    "two places": (FIRST, 3, (0, F(1, 2), 1), F(1), 1e-5),
    "huber": (HUBER, 2, (-3, -1, 0, F(1, 2), 1, 3), F(5, 2), 1e-6),
    "clipped": (CLIPPED, 2, (-3, -1, 0, F(1, 2), 1, 3), F(2), 1e-6),
    "holes": (HOLES, 2, (-3, 1, 2, 3), F(14), 1e-6),
    "largest": (LARGEST, 3, (0, F(1, 2), 1), None, 0.2),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("low", "high"), [(12, 60), (1990, 2030)])
def test_variances_far_from_0_are_as_wide_as_their_interval(low, high):
    report = sd.stability(replace(VARIANCE, record=Domain(1, low, high)), records=442)
    truth = (high - low) ** 2 * F(441, 442**2)
    assert truth <= report.upper <= truth * (1 + F(1, 10**6)) and report.lower >= truth * (1 - F(1, 10**6))


@pytest.mark.parametrize("name", CASES)
def test_every_pair_of_neighbours_is_within_the_bound(name):
    program, n, marks, truth, slack = CASES[name]
    report = sd.stability(program, records=n)
    assert report.status == "proven", report.missing
    dimension = report.domain.dimension
    value = report.program.value
    result = worst(value, n, marks, dimension)
    assert result <= report.upper and report.lower <= report.upper
    assert max(result, report.lower) * (1 + F(slack)) + F(1, 10**6) >= report.upper
    if truth is not None:
        assert abs(report.upper - truth) <= truth * F(1, 10**4)
        assert sd.stability(program, records=n, claim=truth * F(9, 10)).status == "refuted"
    if report.neighbours is not None:
        first, second = ([tuple(x) if dimension > 1 else (x,) for x in data] for data in report.neighbours)
        assert abs(value(first) - value(second)) == report.lower
        assert sum(a != b for a, b in zip(first, second, strict=True)) <= 1


def test_a_function_of_means_at_any_number_of_records_and_at_all():
    for n in (2, 3, 8, 1000, 10**6):
        report = sd.stability(VARIANCE, records=n)
        truth = F(1, n) * (1 - F(1, n))
        assert report.status == "proven" and truth <= report.upper <= truth * (1 + F(1, 10**5))
        assert report.lower == truth
    report = sd.stability(VARIANCE)
    assert report.status == "proven" and report.upper == 1 and "n times" in str(report)
    exact = sd.stability(VARIANCE, claim=lambda h: 1 - h)
    assert exact.status == "proven" and exact.upper == 0
    assert certificates.check_certificate(exact.certificates[0]).status == "valid"
    assert sd.stability(VARIANCE, claim=lambda h: F(99, 100) - h).status == "refuted"
    assert sd.stability(VARIANCE, claim=F(1, 2)).status == "refuted"
    covariance = sd.stability(COVARIANCE, records=10**6)
    assert 4 * (1 - F(1, 10**6)) <= covariance.upper * 10**6 <= F(402, 100)


def test_functions_of_means_agree_with_the_statistic_itself():
    for n in (3, 4):
        direct = sd.stability(
            lambda r: sum(x * x for x in r) * F(1, len(r)) - (sum(r) * F(1, len(r))) ** 2, records=n
        )
        assert abs(direct.upper - sd.stability(VARIANCE, records=n).upper) < F(1, 10**6)


@pytest.mark.parametrize("program", [VARIANCE, SHARE, HUBER, LARGEST], ids=lambda p: type(p).__name__)
def test_what_is_proven_is_released(program):
    report = sd.stability(program, records=3)
    data = [0.25, 0.5, 1.0]
    exact = report.program.value([(F(x),) for x in data])
    fitted = sd.private_estimator(report, epsilon=1e4, insecure_seed=1).fit(data)
    assert abs(fitted.estimate_ - float(exact)) < 0.01
    assert sd.private_estimator(report, epsilon=1.0).fit(data).guarantee_.kind == "certified"
    edited = replace(report, upper=report.upper / 2, lower=F(0))
    assert sd.private_estimator(edited, epsilon=1.0).fit(data).guarantee_.kind == "heuristic"
    marks = (float("nan"), -9.0, 0.0, 0.3, 1.0, 9.0)
    table = {d: whole_value(report, list(d))[0] for d in itertools.product(marks, repeat=3)}
    assert STEPS / 4 < max(abs(v - w) for v, w in neighbour_pairs(table, marks)) <= STEPS


def test_refusals():
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: sd.stability(Means(lambda u, h: max(u), lambda x: [x, x * x], UNIT), records=3),
                lambda: sd.stability(SumOfPieces((Piece(abs, lambda x: [x]),), UNIT), records=3),
            ),
            None,
            sd.NotAPolynomial,
        )
    )
    undecided = sd.stability(Ratio(sum, lambda r: sum(r) - 1, UNIT), records=2)
    assert undecided.status == "undecided" and "denominator" in undecided.missing
    refuse(
        *each(sd.stability, (SHARE, HUBER, LARGEST), "records", TypeError),
        (lambda: sd.stability(VARIANCE, records=0), "record"),
        (lambda: sd.private_estimator(sd.stability(VARIANCE), epsilon=1.0), "every number"),
    )


def test_the_least_number_of_records_and_the_rest_value_are_exact_public_numbers():
    refuse(
        *each(
            lambda least: Means(lambda u, h: u[0], lambda x: [x], UNIT, least=least),
            (0, -1, 0.5, True),
            "least must be an integer >= 1",
        ),
        *each(
            lambda wrong: SumOfPieces(HOLES.pieces, LONG, wrong), (float("nan"), float("inf"), None), "finite"
        ),
    )
    rounded = SumOfPieces(HOLES.pieces, LONG, 0.1)
    assert rounded.value([(F(2, 3),)] * 10) == 10 * F(0.1)  # floats would add up to another number


@pytest.mark.parametrize("program", [VARIANCE, SHARE, HUBER, LARGEST], ids=lambda p: type(p).__name__)
def test_what_is_evaluated_cannot_be_overridden(program):
    refuse(
        (
            lambda: type("Other", (type(program),), {"value": lambda self, records: 10**6 * records[0][0]}),
            "no subclasses",
            TypeError,
        )
    )


test_a_record_s_set_cannot_be_overridden = refusals(
    (lambda: type("Other", (Domain,), {"constraints": lambda self, record: []}), "no subclasses", TypeError)
)


@pytest.mark.parametrize(
    "program, records",
    [(VARIANCE, 100), (COVARIANCE, 100), (SHARE, 3), (CLIPPED, 3), (LARGEST, 3)],
    ids=["variance", "covariance", "share", "clipped", "largest"],
)
def test_numbers_of_numpy_do_not_wrap_around_in_a_proof(program, records):
    """A variance of np.int8(100) records was proven to move by 6."""
    plain = sd.stability(program, records=records, claim=100)
    other = sd.stability(program, records=np.int8(records), claim=np.int8(100))
    assert (plain.upper, plain.lower, plain.claimed) == (other.upper, other.lower, other.claimed)
    refuse(
        *each(
            lambda wrong: sd.stability(program, records=wrong),
            (0, 2.5, True),
            "records must be an integer >= 1",
        )
    )


def test_ends_of_numpy_are_python_s():
    broad = Domain(1, np.int64(0), np.int64(3 * 10**9))
    assert type(broad.high.numerator) is int and broad == Domain(1, 0, 3 * 10**9)
    squares = [
        sd.stability(lambda r: sum(x * x for x in r), records=2, low=0, high=kind(4 * 10**9))
        for kind in (int, np.int64)
    ]  # beyond 64 bits
    assert squares[0].upper == squares[1].upper >= squares[1].lower == 16 * 10**18


def test_neighbours_of_a_ratio_keep_records_that_the_denominator_alone_has():
    """Numerators cancel squares of a third record, which was then overwritten: the pair differed by 1/4."""
    of = Ratio(lambda r: r[0] * (1 + r[1]) + r[2] ** 2, lambda r: 1 + r[0] * (1 + r[1]) + r[2] ** 2, UNIT)
    report = sd.stability(of, records=3)
    first, second = ([Fraction(x) for x in row] for row in report.neighbours)
    ratios = [(r[0] * (1 + r[1]) + r[2] ** 2) / (1 + r[0] * (1 + r[1]) + r[2] ** 2) for r in (first, second)]
    assert abs(ratios[0] - ratios[1]) == report.lower == Fraction(2, 3)
