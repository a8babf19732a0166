"""Sums of squares in one variable, short fractions by default, and bounds that have no certificate."""

import itertools
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from flint import fmpq, fmpq_poly

import certificates
import sosdp as sd
from certificates import NotCertifiable
from certificates.exact import nice_fraction
from certificates.find.univariate import sum_of_squares, univariate_proof
from certificates.identity import Claim
from tests.refusals import each, refusals, refuse

x, y = sd.variables("x y")
t = fmpq_poly([0, 1])


def product(factors):
    out = fmpq_poly([1])
    for f in factors:
        out *= f
    return out


POSITIVE = {
    "square": product((t - fmpq(i, 7)) ** 2 for i in range(1, 8)),
    "near zero": product((t - fmpq(i, 7)) ** 2 + fmpq(1, 100) for i in range(1, 11)),
    "far": product((t - i) ** 2 for i in range(1, 11)) + 1,
    "both": product((t - i) ** 2 for i in range(3)) * (t**2 - 2) ** 2 * (t**4 + t + 1),
    "constant": fmpq_poly([fmpq(1, 3)]),
    "sparse": t**30 + t + 1,
}


@pytest.mark.parametrize("name", POSITIVE)
def test_the_squares_add_up(name):
    result = sum_of_squares(POSITIVE[name])
    assert all(weight > 0 for weight, _ in result)
    assert sum((w * p * p for w, p in result), fmpq_poly([0])) == POSITIVE[name]


@pytest.mark.parametrize(
    "f", [t**2 - 1, t**3 + t, -(t**2) - 1, (t**2 - 2) * (t - 1) ** 2, t**4 - fmpq(1, 10**30)]
)
def test_what_is_negative_somewhere_has_none(f):
    refuse((lambda: sum_of_squares(f), None, NotCertifiable))


@pytest.mark.few(1)
@pytest.mark.parametrize("degree", [14, 20])
def test_high_degrees_in_one_variable_are_proven(degree):
    half = degree // 2
    p = q = r = sd.Polynomial(1)
    for i in range(1, half + 1):
        p, q, r = p * ((x - F(i, 7)) ** 2 + F(1, 100)), q * (x - i) ** 2, r * (x - F(i, 7)) ** 2
    for f in (p, q + 1, r):
        outcome = certificates.decide(sd.prove_sos(f))
        assert outcome.status == "proved" and outcome.proof.verify(), outcome.reason


def test_a_bound_of_no_certificate_is_refuted():
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
    outcome = certificates.decide(sd.minimize(motzkin), bound=0)
    assert outcome.status == "refuted" and outcome.proof.verify()
    outcome = certificates.decide(sd.maximize(-motzkin), bound=0)
    assert outcome.status == "refuted" and outcome.proof.verify()
    assert certificates.decide(sd.minimize(motzkin)).status == "undecided"


def test_short_fractions_come_first():
    disc = sd.System(x**2 + y**2 <= 1)
    assert certificates.extract(sd.minimize(x * y, disc, 2)).exact().bound == F(-1, 2)
    assert certificates.extract(sd.maximize(x * y, disc, 2)).exact().bound == F(1, 2)
    assert certificates.extract(sd.minimize(x**4 - 3 * x**2 + 1)).exact().bound == F(-5, 4)
    box = sd.System(x >= 0, x <= 1, y >= 0, y <= 1)
    assert certificates.extract(sd.minimize(x**2 - x * y + y**2 - x, box, 2)).exact().bound == F(-1, 3)
    irrational = certificates.extract(sd.minimize(x**4 + x)).exact().bound
    assert float(irrational) == pytest.approx(-0.4724703937, abs=1e-6) and irrational < F(-4724703, 10**7)


def test_a_fraction_is_short_for_how_near_it_is():
    assert nice_fraction(0.3333333, 1e-6) == F(1, 3) and nice_fraction(0.3333333, 1e-8) is None
    assert nice_fraction(0.7134982761, 1e-7) is None and nice_fraction(1e-9, 1e-7) == 0


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("on", "degree"),
    [
        *itertools.product(("1 - x**2", "3*(x + 3)*(5 - x)", "4 - 9*x**2"), (1, 2, 5, 40)),
        ("3*(x + 3)*(5 - x)", 80),
        ("1 - x**2", 160),
    ],
)
def test_squares_on_an_interval(on, degree):
    """Whatever the degree: the bound is near to the least value, and none above it has a proof."""
    interval = sd.polynomial(on)
    c = np.random.default_rng(degree).integers(-9, 10, degree + 1).tolist()
    p = sum((v * x**k for k, v in enumerate(c)), 0 * x)
    ends = [F(v) for v in {"1": (-1, 1), "3": (-3, 5), "4": ("-2/3", "2/3")}[on[0]]]
    points = [ends[0] + (ends[1] - ends[0]) * F(k, 4000) for k in range(4001)]
    values = (fmpq_poly(c)(fmpq(v.numerator, v.denominator)) for v in points)
    least = min(F(int(v.p), int(v.q)) for v in values)
    room = F(1, 100) * max(1, abs(least))
    claim = Claim("lower_bound", (p,), least - room, inequalities=(x + 100, interval))
    proof = univariate_proof(claim)
    assert proof.verdict and {m.index for m in proof.multipliers if m.kind == "inequality"} <= {(1,)}
    refuse((lambda: univariate_proof(replace(claim, bound=least + room)), "negative", NotCertifiable))


test_intervals_with_irrational_ends_are_left_to_others = refusals(
    *each(
        lambda inequality: univariate_proof(Claim("lower_bound", (x**3,), F(-9), inequalities=(inequality,))),
        (2 - x**2, x**2 - 1, x),
        "rational ends",
        NotCertifiable,
    )
)
