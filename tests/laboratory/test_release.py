"""Statistics with a proof, released: exact values, exact noise, and the certificate that travels along."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import sosdp as sd
from sosdp.cli.check_release import proven_bound
from sosdp.laboratory import statistic
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.release import STEPS, inside, value_range, whole_value
from sosdp.privacy.verification.release_check import check_release
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refusals, refuse

F = Fraction


def variance(r):
    return sum(x * x for x in r) * F(1, len(r)) - (sum(r) * F(1, len(r))) ** 2


REPORT = sd.stability(variance, records=3)


def test_the_released_integer_moves_by_at_most_the_noise_covers():
    """Every pair of neighbours with records at hostile and usual numbers."""
    marks = [math.nan, -math.inf, 0.0, 0.3, 0.5, 1.0, 1e308]

    def integer(data):
        assert all(0 <= c <= 1 for (c,) in inside(REPORT, list(data)))
        counted, step = whole_value(REPORT, list(data))
        assert step * STEPS == F(2, 9)
        return counted

    every = itertools.product(range(len(marks)), repeat=3)
    table = {d: integer([marks[k] for k in d]) for d in every}
    assert STEPS * 0.9 < max(abs(v - w) for v, w in neighbour_pairs(table, range(len(marks)))) <= STEPS


def test_the_certificate_travels_and_is_checked():
    fitted = clone(sd.private_estimator(REPORT, epsilon=1.0)).fit([0.0, 0.5, 1.0])
    guarantee = fitted.guarantee_
    assert (guarantee.kind, guarantee.epsilon, guarantee.delta) == ("exact", 1.0, 0.0)
    assert check_release(fitted.release_.to_dict(), verify=proven_bound).status == "valid"
    assert fitted.release_.evidence.laws[0].numbers == (STEPS, STEPS)
    errors = [
        sd.private_estimator(REPORT, epsilon=50.0, insecure_seed=k).fit([0.0, 0.5, 1.0]).estimate_ - 1 / 6
        for k in range(20)
    ]
    assert np.abs(errors).mean() < 0.05


def test_vectors_in_a_ball_stay_in_it():
    report = sd.stability(lambda r: r[0][0] * r[1][0] + r[0][1] * r[1][1], records=2, dimension=2, radius=1)
    records = inside(report, [[3.0, 4.0], [math.nan, math.inf]])
    assert all(sum(c * c for c in record) <= 1 for record in records)
    assert abs(records[0][0] - F(3, 5)) < F(1, 1000)


def test_a_report_typed_by_hand_is_a_claim():
    typed = replace(REPORT, certificates=(), positions=(), upper=F(1, 2))
    assert sd.private_estimator(typed, epsilon=1.0).fit([0.0, 0.5, 1.0]).guarantee_.kind == "heuristic"


def kind_of(report):
    return sd.private_estimator(report, epsilon=1.0).fit([0.0, 0.5, 1.0]).guarantee_.kind


def test_a_bound_certified_in_floats_is_no_exact_one(monkeypatch):
    monkeypatch.setattr(statistic, "EXACT", 0)
    report = sd.stability(variance, records=3)
    assert report.certificates == (None,) and kind_of(report) == "certified"
    assert kind_of(replace(report, upper=F(1, 4))) == "heuristic"


OTHER = sd.stability(lambda r: r[0] + 100 * r[1], records=3)


@pytest.mark.parametrize(
    ("report", "edit"),
    [
        (REPORT, {"upper": F(1, 1000), "lower": F(0)}),
        (REPORT, {"upper": F(2, 9) - F(1, 10**30), "lower": F(0)}),
        (REPORT, {"polynomial": 100 * REPORT.polynomial}),
        (REPORT, {"polynomial": REPORT.polynomial + sd.variables("r0_0")}),
        (REPORT, {"domain": Domain(1, 0, 1000)}),
        (REPORT, {"domain": Domain(1, 0, 1, radius=1)}),
        (REPORT, {"certificates": (None,)}),
        (REPORT, {"certificates": OTHER.certificates[:1]}),
        (REPORT, {"certificates": ({"format": "sosdp-certificate/1"},)}),
        (OTHER, {"positions": (0,), "certificates": OTHER.certificates[:1], "upper": F(1), "lower": F(0)}),
        (OTHER, {"certificates": OTHER.certificates[:1] * 2, "upper": F(1), "lower": F(0)}),
    ],
)
def test_an_edited_report_is_a_claim(report, edit):
    assert kind_of(report) == kind_of(replace(report)) == "exact"  # the kernel proves it again
    assert kind_of(replace(report, upper=F(101))) == "exact"  # weaker than proven
    edited = replace(report, **edit)
    assert kind_of(edited) == "heuristic"
    assert "sensitivity" not in sd.private_estimator(edited, epsilon=1.0).fit([0, 0, 1]).release_.to_dict()[
        "guarantee"
    ].get("evidence", {})


test_refusals = refusals(
    (lambda: sd.private_estimator(replace(REPORT, records=2), epsilon=1.0), "more than its records"),
    *each(
        lambda claim: sd.private_estimator(sd.stability(variance, records=3, claim=claim), epsilon=1.0),
        (F(1, 5), F(2, 10)),
        "proven",
        sd.MissingFact,
    ),
    (lambda: sd.private_estimator(sd.stability(lambda r: 7, records=2), epsilon=1.0), "depend"),
    (lambda: sd.private_estimator(REPORT, epsilon=1.0).fit([0.0, 1.0]), "shape"),
)


def test_what_is_released_lies_between_public_ends():
    """A mean within the bounds of its records; a variance where somebody says that it is at least 0."""
    mean = sd.stability(lambda r: sum(r) * F(1, len(r)), records=3, low=-2, high=5)
    assert value_range(mean) == (-2, 5)
    assert value_range(REPORT) == (-F(2, 3), F(2, 3))  # proven by its sensitivity alone
    vectors = sd.stability(lambda r: r[0][0] * r[1][1], records=2, dimension=2, radius=1)
    low, high = value_range(vectors)
    assert low <= -0.5 and high >= 0.5
    drawn = [
        sd.private_estimator(report, epsilon=0.05, output=output, insecure_seed=seed).fit([0.1] * 3).estimate_
        for report, output in ((mean, None), (REPORT, (0, 0.25)))
        for seed in range(25)
    ]
    assert {-2.0, 5.0} < set(map(float, drawn[:25])) and -2.0 <= min(drawn[:25]) <= max(drawn[:25]) <= 5.0
    assert {0.0, 0.25} <= set(map(float, drawn[25:])) and 0.0 <= min(drawn[25:]) <= max(drawn[25:]) <= 0.25
    refuse(
        *each(
            lambda wrong: sd.private_estimator(REPORT, output=wrong, epsilon=1),
            ((1, 0), (0,), 3, "ab", (0, math.inf)),
        ),
        (lambda: sd.private_estimator(mean, output=(6, 7), epsilon=1).fit([0.1] * 3), "between other"),
    )
