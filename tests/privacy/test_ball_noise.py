"""Ball noise: the law of the sampler, bounds on its loss against independent integrals, compositions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import betainc, gammainc, gammaincc

from sosdp.privacy import ball_accounting
from sosdp.privacy.ball_accounting import hockey_sticks, largest_rate, proven, total_delta
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries
from sosdp.privacy.randomness import ball
from sosdp.privacy.randomness.bits import open_bits
from tests.neighbours import p_value
from tests.refusals import each, refuse


def integral(rate: float, d: int, x: float) -> float:
    """delta(x) by a midpoint rule over length and angle, in units of Delta; d >= 2."""
    r = (np.arange(1200) + 0.5) / 1200 * (d + 14 * math.sqrt(d) + 40) / rate
    angle = (np.arange(900) + 0.5) / 900 * math.pi
    lengths = stats.gamma.pdf(r * rate, d) * rate * (r[1] - r[0])
    angles = np.sin(angle) ** (d - 2)
    loss = rate * (np.sqrt(r[:, None] ** 2 + 1 - 2 * r[:, None] * np.cos(angle)) - r[:, None])
    inside = np.maximum(0.0, -np.expm1(np.minimum(0.0, x - loss)))
    return float(lengths @ inside @ (angles / angles.sum()))


@pytest.mark.parametrize("d", [2, 3, 10, 40])
def test_losses_are_bounded_from_above_and_tightly(d):
    for rate in (0.3, 1.2):
        ends, deltas = hockey_sticks(rate, d)
        for k in (100, 500, 700, 850):
            true = integral(rate, d, ends[k])
            assert deltas[k] >= true * (1 - 2e-4)
            assert deltas[k] <= true * 1.1 + 1e-12


def test_one_dimension_is_laplace():
    for rate in (0.2, 1.0, 4.0):
        ends, deltas = hockey_sticks(rate, 1)
        at = ends[:-1]
        true = np.where(at >= -rate, 1 - np.exp((at - rate) / 2), 1.0)
        assert np.all(deltas >= true * (1 - 1e-9)) and np.all(deltas <= true + 0.01)
    assert largest_rate(1.0, 1e-6, Fraction(0), 1) == pytest.approx(1.0, rel=3e-3)


@pytest.mark.parametrize("rate", [1e-6, 1e-10, 1e-12, 1e-14])
def test_small_rates_keep_their_digits(rate):
    # one dimension: the loss is Laplace's, and delta(x) = 1 - e^((x - rate) / 2) is known to every digit
    ends, deltas = hockey_sticks(rate, 1)
    exact = -np.expm1((ends[:-1] - rate) / 2)
    assert (deltas >= exact).all() and (deltas <= exact * 1.002).all()


def test_a_laplace_of_integers_keeps_the_bound_for_all_neighbours():
    """Three rows in {-1, 0, 1}, scale 2 M / rate: the exact law of the rounded sum, all neighbours."""
    rate = 1.5
    law = rounded_law(1, 2.0 / rate, 60)

    def worst(span: int) -> float:
        tables = itertools.product((-1, 0, 1), repeat=3)
        sums = {
            (sum(t), sum(t) - t[0] + new) for t in tables for new in (-1, 0, 1) if abs(t[0] - new) <= span
        }
        return max(
            sum(max(0.0, p - math.e**0.5 * law.get((z + a - b,), 0.0)) for (z,), p in law.items())
            for a, b in sums
        )

    assert worst(2) <= total_delta(rate, 0.5, 0.0, 1)
    assert worst(2) > total_delta(rate / 2, 0.5, 0.0, 1)  # control: noise for half the distance


def test_what_came_before_is_paid_for():
    """Randomised response (rho = range^2 / 8 by its bounded range) four times, then Laplace: exact deltas."""
    rate, epsilon, range_ = 0.6, 0.9, 0.5
    rho = 4 * range_**2 / 8
    p = 1 / (1 + math.exp(-range_ / 2))  # losses +-range/2
    exact = 0.0
    for signs in itertools.product((1, -1), repeat=4):
        weight = math.prod(p if s > 0 else 1 - p for s in signs)
        x = epsilon - sum(signs) * range_ / 2
        exact += weight * (1 - math.exp((x - rate) / 2) if -rate <= x <= rate else max(0.0, 1 - math.exp(x)))
    assert exact <= total_delta(rate, epsilon, rho, 1) <= 3 * exact
    assert exact > total_delta(rate, epsilon, 0.0, 1)  # control: the first questions for nothing


def test_steps_are_rounded_up(monkeypatch):
    """With one order b, Laplace: the supremum over x of delta(x) e^(-b (epsilon - x)) on a fine grid."""
    rate, epsilon, b = 1.0, 1.0, 7.0
    monkeypatch.setattr(ball_accounting, "ORDERS", np.array([b]))
    x = np.linspace(-rate, rate, 100_001)
    true = np.max((1 - np.exp((x - rate) / 2)) * np.exp(-b * (epsilon - x)))
    assert true <= total_delta(rate, epsilon, 0.0, 1) <= 1.03 * true


def test_the_rate_found_is_proven_and_nearly_the_largest():
    for d, delta, before in (
        (2, 1e-6, Fraction(1, 400)),
        (10, 1e-9, Fraction(1, 200)),
        (60, 1e-5, Fraction(0)),
    ):
        rate = largest_rate(1.0, delta, before, d)
        assert proven(rate, 1.0, delta, before, d) and not proven(1.002 * rate, 1.0, delta, before, d)
        assert total_delta(rate, 1.0, float(before), d) <= delta
    assert 0.98 < largest_rate(1.0, 1e-30, Fraction(0), 10) < 1.1  # delta pays for no sampler
    assert largest_rate(1.0, 1e-6, Fraction(1, 10), 10) == 0.0  # all spent before
    assert largest_rate(1000.0, 1e-6, Fraction(0), 2) == 0.0
    refuse(*each(lambda d: largest_rate(1.0, 1e-6, Fraction(0), d), (0, 257), "dimension"))


def test_shorter_distances_lose_less():
    for d in (1, 4, 30):
        result = [total_delta(rate, 0.4, 0.001, d) for rate in (0.5, 0.7, 0.9, 1.1)]
        assert result == sorted(result)


def test_floating_point_special_functions_are_good_to_their_allowance():
    import flint

    for d in (2, 7, 50):
        for g in (1e-3 * d, 0.5 * d, d, 3.0 * d):
            lower = float(flint.arb(g).gamma_lower(flint.arb(d), regularized=1))
            upper = float(flint.arb(g).gamma_upper(flint.arb(d), regularized=1))
            assert gammainc(d, g) == pytest.approx(lower, rel=1e-9, abs=1e-30)
            assert gammaincc(d, g) == pytest.approx(upper, rel=1e-9, abs=1e-30)
        for k in (3, 4000, 33000, 65000):
            a, z = flint.arb(d - 1) / 2, flint.arb(k) / (1 << 16)
            true = float(z.beta_lower(a, a, regularized=1))
            assert betainc((d - 1) / 2, (d - 1) / 2, k / (1 << 16)) == pytest.approx(
                true, rel=1e-9, abs=1e-300
            )
    masses = ball_accounting._lengths(10)[1]
    assert masses.sum() >= 1.0 - 1e-15 and np.all(masses >= 0)


@pytest.mark.parametrize("d", [1, 3])
def test_noise_has_its_law(d):
    bits, scale = open_bits(5), Fraction(1 << 20)
    drawn = np.array([ball.ball_noise(d, scale, bits) for _ in range(1500)], dtype=float) / float(scale)
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(d).cdf).pvalue > 1e-4
    assert np.allclose(drawn.std(axis=0), math.sqrt(d + 1), rtol=0.12)
    if d == 3:  # on a sphere of R^3 one coordinate is uniform
        assert stats.kstest(drawn[:, 0] / lengths, stats.uniform(-1, 2).cdf).pvalue > 1e-4


def rounded_law(d: int, scale: float, reach: int) -> dict[tuple[int, ...], float]:
    """P(round(x) = z) for z in {-reach..reach}^d, x of density ~ e^(-|x| / scale) in R^d, d at most 2."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    places = np.arange(-reach, reach + 1)
    if d == 1:
        inner = np.exp(-np.maximum(np.abs(places) - 0.5, 0.0) / scale)
        outer = np.exp(-(np.abs(places) + 0.5) / scale)
        masses = np.where(places == 0, 1.0 - outer, (inner - outer) / 2.0)
        return {(int(z),): float(p) for z, p in zip(places, masses, strict=True)}
    # halves of the cells, so that the tip at 0 is a corner
    ends = places[:, None, None] + np.array([-0.25, 0.25])[:, None] + nodes / 4.0
    x, w = ends.reshape(len(places), -1), np.tile(weights / 4.0, 2)
    density = np.exp(-np.hypot(x[:, None, :, None], x[None, :, None, :]) / scale) / (2 * math.pi * scale**2)
    masses = np.einsum("ijkl,k,l->ij", density, w, w)
    return {(int(a), int(b)): float(masses[i, j]) for i, a in enumerate(places) for j, b in enumerate(places)}


@pytest.mark.parametrize(("d", "cells"), [(1, 0), (2, 0), (2, 40)])
def test_rounded_noise_has_the_exact_law_of_a_small_lattice(monkeypatch, d, cells):
    """At scale 3/4, where rounding matters; with cells of width 1, in which the last step often refuses."""
    monkeypatch.setattr(ball, "CELLS", cells)
    scale, bits = Fraction(3, 4), open_bits(8)
    law = rounded_law(d, float(scale), 30)
    assert sum(law.values()) == pytest.approx(1.0, abs=2e-4)
    assert p_value((tuple(ball.ball_noise(d, scale, bits)) for _ in range(1500)), law) > 1e-4


@pytest.mark.parametrize("d", [1, 2])
def test_pure_sums_keep_epsilon_for_all_neighbours(monkeypatch, d):
    """One record of a ball of radius 1, every other in its place, every answer: the exact law of the sum."""
    scales, epsilon = [], 1.5
    monkeypatch.setattr(ball, "ball_noise", lambda p, scale, bits: scales.append(scale) or [0] * p)
    rows = [row for row in itertools.product((-1, 0, 1), repeat=d) if np.dot(row, row) <= 1]
    sums = {tuple(IntegerQueries(1, epsilon=epsilon).noisy_sum([row], 1, epsilon)) for row in rows}
    (scale,) = set(scales)

    def worst(scale: float) -> float:
        law = rounded_law(d, scale, 14)
        shifted = [
            [law[tuple(z - c for z, c in zip(place, centre, strict=True))] for centre in sums]
            for place in itertools.product(range(-12, 13), repeat=d)
        ]
        return float(np.ptp(np.log(shifted), axis=1).max())

    assert epsilon - 0.1 < worst(float(scale)) <= epsilon * (1 + 1e-6)
    assert worst(float(scale) / 2) > epsilon + 0.1  # control: half the noise


@pytest.mark.parametrize(("digit", "expected"), [(0, [2, -2]), (1, [3, -3])])
def test_rounding_waits_until_it_is_decided(monkeypatch, digit, expected):
    """x = 2 |h| g, |h| from 1 on and g up to 5/4: the next digits, 0 or 1, say on which side of 5/2."""
    one = 1 << 40 + 64
    given = iter([(one * 5 // 4 - 1, 64)] * 2 + [(one, 64), (0, 64), (0, 64)])
    monkeypatch.setattr(ball, "_half_normal", lambda bits: next(given))
    digits = []

    class Bits:
        def integer(self, count):
            digits.append(count)
            return 0b10 if count == 2 else ((1 << count) - 1) * digit

    assert ball.ball_noise(2, Fraction(2), Bits()) == expected and 64 in digits
    refuse((lambda: ball.ball_noise(2, Fraction(0)), "scale"))


@pytest.mark.parametrize("cells", [0, 40])
def test_half_normals(monkeypatch, cells):
    monkeypatch.setattr(ball, "CELLS", cells)
    bits = open_bits(6)
    drawn = [ball._half_normal(bits) for _ in range(3000)]
    assert stats.kstest([k / 2.0 ** (cells + places) for k, places in drawn], "halfnorm").pvalue > 1e-4
    assert len({k % (1 << 20) for k, _ in drawn}) > 2980  # digits beyond the cell are drawn too


def test_the_last_question(monkeypatch):
    rows = np.array([[3, 4], [0, 0], [60, 0]])
    queries = IntegerQueries(
        3, epsilon=1.0, delta=1e-5, before=Fraction(1, 500), dimension=2, insecure_seed=1
    )
    queries.order_statistic(rows[:, 0], 2, low=0, high=9, epsilon=Fraction(1, 10))
    seen = []
    monkeypatch.setattr(ball, "ball_noise", lambda d, scale, bits: seen.append((d, scale)) or [0] * d)
    sums, deviation = queries.ball_sum(rows, 5)
    assert sums == [3, 4]  # a row outside the ball counts as 0
    rate = largest_rate(1.0, 1e-5, Fraction(1, 500), 2)
    assert seen == [(2, Fraction(10) / Fraction(rate))] and deviation == pytest.approx(
        10 / rate * math.sqrt(3)
    )
    refuse(
        *each(
            lambda again: again(),
            (lambda: queries.ball_sum(rows, 5), lambda: queries.noisy_sum(rows, 5, Fraction(1, 900))),
            "last",
        )
    )
    promise = IntegerQueries(3, epsilon=1.0, delta=1e-5, before=Fraction(0), dimension=2).seal(
        0, mechanism="m", public={}
    )
    assert promise.guarantee.rho is None and promise.guarantee.delta == 1e-5
    overdrawn = IntegerQueries(
        3, epsilon=1.0, delta=1e-5, before=Fraction(1, 500), dimension=2, insecure_seed=1
    )
    refuse(
        (lambda: overdrawn.noisy_sum(rows, 5, Fraction(1, 400)), "overdrawn"),
        (lambda: IntegerQueries(3, epsilon=1.0, before=Fraction(0), dimension=2), "delta"),
    )


def test_the_dimension_of_the_ball_is_no_answer():
    """A column that answers leave out stays, of zeros: a rate chosen by answers was up to 1.3 delta."""
    options = {"epsilon": 1.0, "delta": 1e-5, "before": Fraction(1, 500)}
    rows = np.array([[3, 4, 0], [0, 0, 0], [1, 0, 0]])
    rate = largest_rate(1.0, 1e-5, Fraction(1, 500), 3)
    _, deviation = IntegerQueries(3, **options, dimension=3, insecure_seed=1).ball_sum(rows, 5)
    assert deviation == pytest.approx(10 / rate * 2.0)
    refuse(
        (
            lambda: IntegerQueries(3, **options, dimension=3, insecure_seed=1).ball_sum(rows[:, :2], 5),
            "columns",
        ),
        (lambda: IntegerQueries(3, **options), "dimension"),
    )


# (epsilon, delta, rho before), and what the rate loses at d = 2, 10, 50, per cent
COMPOSED = [
    ((0.5, 1e-6, Fraction(1, 2000)), (2.6, 1.3, 0.7)),
    ((1.0, 1e-6, Fraction(1, 1000)), (1.8, 0.9, 0.5)),
    ((1.0, 1e-6, Fraction(1, 100)), (9.0, 4.8, 2.7)),
    ((2.0, 1e-6, Fraction(4, 100)), (9.7, 5.2, 3.0)),
]


@pytest.mark.parametrize("setting, lost", COMPOSED)
def test_what_the_rate_loses_against_an_exact_composition(setting, lost):
    """The questions before Gaussian, so that their loss is: E delta(epsilon - loss), as the page says."""
    epsilon, delta, rho = setting
    z = np.linspace(-9.0, 9.0, 4001)
    weight = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    x = epsilon - float(rho) - math.sqrt(2.0 * float(rho)) * z

    def composed(rate: float, d: int) -> float:
        ends, deltas = hockey_sticks(rate, d)
        inside = np.interp(x, ends[:-1], deltas, right=0.0)
        return float(weight @ np.where(x < -rate, -np.expm1(np.minimum(x, 0.0)), inside))

    for d, share in zip((2, 10, 50), lost, strict=True):
        rate = largest_rate(epsilon, delta, rho, d)
        best = brentq(lambda a, d=d: composed(a, d) - delta, 0.99 * rate, 1.4 * rate)
        assert 100 * (1 - rate / best) == pytest.approx(share, abs=0.2)
