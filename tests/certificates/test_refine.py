"""Bounds to thirty digits: proven ones are true, false ones refused, and what is not supported says so."""

from fractions import Fraction

import pytest

import sosdp as sd
from certificates import NotCertifiable, extract
from certificates.exact import short_decimal
from certificates.find.refine import refined_proof
from tests.certificates.independent import proves
from tests.refusals import refuse

x, y = sd.variables("x y")
v = sd.variables("v", 5)
CAMEL = 4 * x**2 - Fraction(21, 10) * x**4 + x**6 / 3 + x * y - 4 * y**2 + 4 * y**4


def _camel_minimum():
    """The minimum recomputed: Newton on the gradient in rationals with 45 digits."""
    a, b = Fraction(-9, 100), Fraction(71, 100)
    for _ in range(8):
        g = (8 * a - Fraction(42, 5) * a**3 + 2 * a**5 + b, a - 8 * b + 16 * b**3)
        h = (8 - Fraction(126, 5) * a**2 + 10 * a**4, Fraction(1), -8 + 48 * b**2)
        det = h[0] * h[2] - h[1] ** 2
        a -= (h[2] * g[0] - h[1] * g[1]) / det
        b -= (h[0] * g[1] - h[1] * g[0]) / det
        a, b = (Fraction(round(u * 10**45), 10**45) for u in (a, b))
    return 4 * a**2 - Fraction(21, 10) * a**4 + a**6 / 3 + a * b - 4 * b**2 + 4 * b**4


PROBLEMS = {
    "camel": (lambda: sd.minimize(CAMEL), _camel_minimum),
    "upper bound on a disc": (
        lambda: sd.maximize(x * y + x, sd.System(x**2 + y**2 <= 1), 4),
        lambda: Fraction(3, 4) * Fraction("1.7320508075688772935274463415058723669428"),
    ),
    "odd cycle": (
        lambda: sd.minimize(sum(v[i] * v[(i + 1) % 5] for i in range(5)), sd.System([a**2 == 1 for a in v])),
        lambda: -5 * (1 + Fraction("2.23606797749978969640917366873127623544")) / 4,
    ),
    "motzkin": (
        lambda: sd.minimize(x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1, sd.System(x**2 + y**2 <= 3), 8),
        lambda: Fraction(0),
    ),
    "half line": (
        lambda: sd.minimize(x**4 - 4 * x, sd.System(x >= 0)),
        lambda: Fraction(-3),
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("digits", [12, 30])
def test_bounds_are_as_near_as_asked_and_on_the_right_side(name, digits):
    solve, truth = PROBLEMS[name]
    slack = 10.0**-digits
    proof = extract(solve()).exact(slack=slack)
    assert proof.verify() and proves(proof.to_dict())
    sign = -1 if proof.claim.kind == "upper_bound" else 1
    away = sign * (truth() - proof.bound)
    assert -Fraction(1, 10**38) <= away <= Fraction(slack) * max(1, abs(truth()))


@pytest.mark.slow
def test_a_bound_in_the_eighteenth_digit_is_told_apart():
    result = extract(sd.minimize(CAMEL))
    minimum = Fraction(round(_camel_minimum() * 10**20), 10**20)
    assert float(minimum) == pytest.approx(-1.031628453489877, abs=1e-14)  # as printed in the literature
    below, above = minimum - Fraction(1, 10**18), minimum + Fraction(1, 10**18)
    assert result.exact(bound=below).bound == below
    refuse(
        (lambda: result.exact(bound=above), "wrong side of the value|strictly inside", NotCertifiable),
        # the optimum itself has no inside
        (
            lambda: refined_proof(*_claim(PROBLEMS["motzkin"][0]()), bound=Fraction(0)),
            "digits|singular|cone|converge",
            NotCertifiable,
        ),
    )


def _claim(result):
    best = extract(result)
    return best.claim, best.dual


def test_what_higher_precision_does_not_serve_says_why():
    for result, words in [
        (sd.minimize(x + y, sd.System(x**2 + y**2 == 1)), "one or two terms"),
        (sd.minimize(x, sd.System(sd.PSD([[1, x], [x, 1]]))), "scalar constraints"),
    ]:
        with pytest.raises(NotCertifiable, match=words):
            extract(result).exact(slack=1e-15)
    large = sd.minimize((v**4).sum() + v[0] * v[1] - v.sum(), sd.System(v @ v <= 1), 4, symmetry="none")
    claim, dual = _claim(large)
    refuse(
        (
            lambda: refined_proof(claim, dual, slack=Fraction(1, 10**12), quick=True),
            "long",
            NotCertifiable,
        )
    )


def test_short_decimals_in_exact_arithmetic():
    assert short_decimal(Fraction(-1), Fraction(0)) == 0
    assert short_decimal(Fraction("0.12"), Fraction("0.19")) == Fraction("0.19")
    low, high = Fraction("-3.14159265358979323849"), Fraction("-3.14159265358979323842")
    assert low <= short_decimal(low, high) <= high
    assert short_decimal(low, high).denominator <= 10**20
    refuse((lambda: short_decimal(high, low), "empty interval"))
