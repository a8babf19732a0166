"""Accept curves: tables, closed form, the inequalities exactly, and that no curve could be larger."""

import math
from fractions import Fraction

import pytest

from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile, decay_curve
from sosdp.privacy.randomness.bits import InsecureBits
from tests.refusals import each, refuse

# (epsilon, delta): first k with pi = 1, with pi >= 1/2, with pi >= 0.999
TABLE = {
    (0.1, 1e-6): (218, 109, 171), (0.1, 1e-8): (310, 155, 217), (0.1, 1e-10): (402, 201, 263),
    (0.25, 1e-6): (95, 48, 73), (0.25, 1e-8): (132, 66, 91), (0.25, 1e-10): (169, 85, 110),
    (0.5, 1e-6): (51, 26, 38), (0.5, 1e-8): (70, 35, 47), (0.5, 1e-10): (88, 44, 57),
    (1.0, 1e-6): (28, 14, 20), (1.0, 1e-8): (37, 19, 25), (1.0, 1e-10): (46, 23, 30),
}  # fmt: skip


@pytest.mark.parametrize(("epsilon", "delta"), TABLE)
def test_table(epsilon, delta):
    curve = accept_profile(epsilon, delta)
    assert (curve.length, curve.reach(0.5), curve.reach(0.999)) == TABLE[epsilon, delta]


def closed_form(e, d, k):
    grow = math.expm1(e)
    n1 = 1 + math.floor(math.log((grow + 2 * d) / ((grow + 2) * d)) / e)
    rising = [d * math.expm1(j * e) / grow for j in range(n1 + 1)]
    if k <= n1:
        return rising[k]
    n2 = n1 + math.floor(math.log1p(grow * (1 - rising[n1]) / d) / e)
    if k > n2:
        return 1.0
    fade = math.exp(-(k - n1) * e)
    return (1 - fade) * (1 + d / grow) + fade * rising[n1]


@pytest.mark.parametrize("epsilon", [0.1, 0.37, 1.0, 2.5])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9])
def test_closed_form(epsilon, delta):
    curve = accept_profile(epsilon, delta)
    for k in range(curve.length + 2):
        assert float(curve.probability(k)) == pytest.approx(closed_form(epsilon, delta, k), abs=1e-12)


def violations(values, factor, delta):
    """Pairs of neighbouring statistics at which one of the four inequalities fails, exactly."""
    return sum(
        p > factor * q + delta or 1 - p > factor * (1 - q) + delta
        for a, b in zip(values, values[1:], strict=False)
        for p, q in ((a, b), (b, a))
    )


@pytest.mark.parametrize("epsilon", [1e-2, 0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("delta", [0.4, 1e-4, 1e-12])
def test_inequalities_hold_exactly_and_are_attained(epsilon, delta):
    for curve in (accept_profile(epsilon, delta), decay_curve(epsilon, delta, 0.025, plateau=2)):
        factor, share = curve.factor, curve.delta
        assert factor <= Fraction(math.nextafter(math.exp(epsilon), math.inf)) and share == Fraction(delta)
        assert violations(curve.values, factor, share) == 0
        # negative control: a ten millionth less delta and the curve is not private
        assert violations(curve.values, factor, share * (1 - Fraction(1, 10**7))) > 0


def test_ends():
    curve = accept_profile(1.0, 0.1)
    assert curve.values[0] == 0 and curve.values[-1] == 1 and curve.probability(10**9) == 1
    falling = decay_curve(1.0, 0.1, 0.05, plateau=3)
    assert falling.values[:4] == falling.values[:1] * 4 and falling.probability(10**9) == 0
    assert falling.values[0] <= 1 - Fraction(0.05)
    assert list(falling.values) == sorted(falling.values, reverse=True)


@pytest.mark.parametrize(
    ("epsilon", "delta", "reach"),
    [(0.3, math.exp(-28) / 2, 99), (0.3, 0.5e-6, 52), (0.15, 0.5e-6, 99), (0.6, 0.5e-6, 27)],
)
def test_decay_table(epsilon, delta, reach):
    assert decay_curve(epsilon, delta, 0.025).length - 1 == reach


def test_coin():
    curve = accept_profile(1.0, 0.2)
    bits = InsecureBits(5)
    assert not any(curve.accepts(0, bits) for _ in range(50)) and curve.accepts(curve.length, bits)
    heads = sum(curve.accepts(1, bits) for _ in range(4000))
    assert abs(heads - 800) < 6 * math.sqrt(4000 * 0.2 * 0.8)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (1.0, 0.0), (1.0, 1.0), (1e-9, 0.1), (1e4, 0.1)])
def test_refusals(epsilon, delta):
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: accept_profile(epsilon, delta),
                lambda: decay_curve(epsilon, delta, 0.05),
            ),
        )
    )
