"""Sensitivities proven over all neighbours, against the ones known; attack and proof bracket the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import certificates
from sosdp.estimator.certify_sensitivity import certify_sensitivity
from sosdp.privacy.guarantee.evidence import Evidence
from sosdp.privacy.mechanisms import bounded_average
from sosdp.privacy.verification.release_check import check_release

N = 3
QUERIES = {
    "mean": (lambda r: sum(r) * Fraction(1, N), Fraction(1, N)),
    "squares": (lambda r: sum(x * x for x in r), Fraction(1)),
    "pairs": (lambda r: r[0] * r[1] + r[0] * r[2] + r[1] * r[2], Fraction(2)),
    "variance": (
        lambda r: (
            sum(x * x for x in r) * Fraction(1, N) - (sum(r) * Fraction(1, N)) * (sum(r) * Fraction(1, N))
        ),
        Fraction(2, 9),
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_known_sensitivities(name):
    query, truth = QUERIES[name]
    result = certify_sensitivity(query, records=N, low=0, high=1)
    assert result.lower <= truth <= Fraction(result.upper) + Fraction(1, 10**12)
    assert result.upper <= float(truth) * (1 + 1e-5) + 1e-6 and result.gap < 1 + 1e-4
    assert abs(Fraction(query(result.neighbours[0])) - Fraction(query(result.neighbours[1]))) == result.lower
    # negative control: a claim below is refuted by the two data sets, which differ in one record
    assert sum(a != b for a, b in zip(*result.neighbours, strict=True)) == 1
    assert result.lower > truth * Fraction(99, 100)


def test_an_exact_certificate_travels_with_the_bound():
    query, truth = QUERIES["mean"]
    result = certify_sensitivity(
        query, records=N, low=0, high=1, prove=lambda pe: certificates.extract(pe).exact(slack=1e-9)
    )
    proof = result.certificates[0]
    assert proof.verify() and abs(float(proof.bound) - float(truth)) < 1e-6
    assert Evidence("docs/proofs/certify_sensitivity.md", (), {"upper": result.upper}).to_dict()[
        "sensitivity"
    ]


def test_order_matters_where_it_is_said_to():
    def weighted(records):
        return records[0] + 5 * records[1]

    first = certify_sensitivity(weighted, records=2, low=-1, high=1)
    both = certify_sensitivity(weighted, records=2, low=-1, high=1, symmetric=False)
    assert first.upper == both.upper and first.positions == (0, 1)  # seen, whatever the caller believes
    assert both.upper == pytest.approx(10.0, abs=1e-4) and both.positions == (0, 1)
    assert both.lower == 10
    constant = certify_sensitivity(lambda records: 7, records=2, low=0, high=1)
    assert constant.upper == 0.0 and constant.lower == 0 and constant.gap == math.inf
    for bad in ({"records": 0}, {"low": 1}):
        with pytest.raises(ValueError, match="interval"):
            certify_sensitivity(weighted, **{"records": 2, "low": 0, "high": 1, **bad})


def test_attack_and_proof_bracket_the_claim_of_a_release():
    """The average's law uses the range of one record; the engine proves that this is the sensitivity."""
    release = bounded_average([0.2, 0.4, 0.9], low=0, high=1, epsilon=0.5)
    law = release.evidence.laws[0]
    result = certify_sensitivity(lambda r: sum(r), records=3, low=0, high=1)
    assert result.upper == pytest.approx(1.0, abs=1e-6) and law.numbers[1] == 1 << 20
    assert check_release(release.to_dict()).status == "valid"
