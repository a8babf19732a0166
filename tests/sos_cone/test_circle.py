"""Trigonometric polynomials: values against grids, exact series, and what a proof must pay for."""

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic.program import ProblemTooLarge
from sosdp.relaxation.solve.sos_cone import circle
from tests.refusals import each, refusals, refuse


def grid_minimum(cosines, sines):
    t = np.linspace(0, 2 * np.pi, 40001)
    values = np.cos(np.multiply.outer(t, np.arange(len(cosines)))) @ np.asarray(cosines, dtype=float)
    return values + np.sin(np.multiply.outer(t, 1 + np.arange(len(sines)))) @ np.asarray(sines, dtype=float)


def test_known_minima():
    wave = sd.minimize_trigonometric([0, 1], [1])
    assert wave.status == "optimal" and wave.bound == pytest.approx(-np.sqrt(2), abs=1e-8)
    assert wave.certified_bound <= -np.sqrt(2) + 1e-15 and wave.angle == pytest.approx(
        5 * np.pi / 4, abs=1e-3
    )
    high = sd.minimize_trigonometric([Fraction(1, 3), 0, 2], [], sense="maximize")
    assert high.bound == pytest.approx(7 / 3, abs=1e-8) and high.certified_bound >= 7 / 3
    assert high.angle is None  # two maximisers, opposite each other
    assert sd.minimize_trigonometric([2.5]).certified_bound == pytest.approx(2.5, abs=1e-8)


@pytest.mark.parametrize("degree", [3, 8, 61])
def test_random_polynomials_against_a_grid(degree):
    generator = np.random.default_rng(degree)
    c, s = generator.standard_normal(degree + 1), generator.standard_normal(degree - 1)
    result = sd.minimize_trigonometric(c.tolist(), s.tolist())
    seen = grid_minimum(c, s).min()
    assert result.status == "optimal" and result.iterations <= 12
    assert seen - 1e-3 * degree <= result.certified_bound <= seen
    assert result.bound - result.certified_bound <= 1e-7 * degree
    assert result(0) == pytest.approx(1) and abs(result(degree)) <= 1 + 1e-6
    refuse((lambda: result(degree + 1), "degree"))


def test_series_of_a_gram_matrix_are_exact():
    generator = np.random.default_rng(0)
    half = 3
    big = generator.integers(2**51, 2**52, (2 * half + 1,) * 2) | 1  # their sums are no doubles
    big = np.triu(big) + np.triu(big, 1).T
    result = circle.gram_series(big.astype(float), 0)
    wanted_even, wanted_odd = [0] * (2 * half + 1), [0] * (2 * half + 1)
    k = [*range(half + 1), *range(1, half + 1)]
    for i in range(2 * half + 1):
        for j in range(2 * half + 1):
            q, a, b = int(big[i, j]), k[i], k[j]
            if i <= half and j <= half:
                wanted_even[a + b] += q
                wanted_even[abs(a - b)] += q
            elif i > half and j > half:
                wanted_even[abs(a - b)] += q
                wanted_even[a + b] -= q
            else:
                cosine, sine = (a, b) if i <= half else (b, a)
                wanted_odd[cosine + sine] += q
                wanted_odd[abs(sine - cosine)] += q * (1 if sine > cosine else -1 if sine < cosine else 0)
    assert result.scale == 1 and [result.terms[k] for k in range(2 * half + 1)] == wanted_even
    assert [result.terms[-k] for k in range(1, 2 * half + 1)] == wanted_odd[1:]


def test_the_proof_pays_for_bad_multipliers():
    c, s = [1.0, 0.25, -0.5], [0.75, 0.125]
    least = grid_minimum(c, s).min()
    generator = np.random.default_rng(1)
    result = circle.bound_on_circle(c, s)
    for size in (1e-6, 1e-2, 1.0):
        noise = generator.standard_normal(result.grams[0].shape) * size
        loss = circle.loss_on_circle(c, s, result.value, result.grams[0] + noise + noise.T)
        assert size / 10 < loss and result.value - loss <= least
    # the identity holds and the matrix is indefinite: only that is charged
    assert circle.loss_on_circle([0.0], [], 0.5, np.diag([-0.5, 0.0, 0.0])) >= 0.5
    assert circle.loss_on_circle([0.5], [], 0.5, np.zeros((3, 3))) <= 1e-200


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [Fraction(2) ** -1074, 1e-170, 1e150, 1e300])
def test_coefficients_far_from_one(size):
    for c, s, least in (([1], [], 1), ([0, 3], [4], -5), ([0, 3], [3], -Fraction(3 * 2**0.5))):
        c, s = [v * Fraction(size) for v in c], [v * Fraction(size) for v in s]
        result = sd.minimize_trigonometric(c, s)
        assert result.status == "optimal"
        assert Fraction(result.certified_bound) <= least * Fraction(size)
        error = Fraction(result.certified_bound) - least * Fraction(size)
        assert abs(error) <= max(Fraction(size) / 10**6, Fraction(2) ** -1070)
        most = sd.minimize_trigonometric([-v for v in c], [-v for v in s], sense="maximize")
        assert Fraction(most.certified_bound) >= -least * Fraction(size)


def test_numbers_of_numpy_do_not_wrap_around():
    """-2**63 has no negative among numpy's integers: the largest -2**63 + cos t was said to be 2**63."""
    size = 2**63
    wave = sd.minimize_trigonometric(np.array([0, 0, -size, 0, size - 1, 0, -size // 2]), sense="maximize")
    assert wave.status == "optimal" and 2.5 * size * (1 - 1e-15) <= wave.certified_bound <= 2.5001 * size
    top = sd.minimize_trigonometric([np.int64(-size), np.int64(1)], sense="maximize")
    assert -size <= top.certified_bound <= 0.99 * -size
    small = sd.minimize_trigonometric([np.int8(-128), np.float16(1)], sense="maximize")
    assert -127 <= small.certified_bound <= -126.99


def test_a_value_beyond_all_floats_is_not_optimal():
    wave = sd.minimize_trigonometric([1e308, 1e308], sense="maximize")
    assert wave.status == "failed" and wave.certified_bound is None
    assert sd.minimize_trigonometric([3]).angle is None  # a constant has no direction


@pytest.mark.parametrize("constant", [Fraction(-(10**9)), Fraction(10**15), Fraction(1, 3)])
def test_the_constant_moves_the_bound_and_nothing_else(constant):
    """3 cos t + 4 sin t and 2 T_2(x) + T_1(x): a large constant once took a tenth of the range."""
    x = sd.variables("x")
    series = 2 * sd.chebyshev(x, 2) + sd.chebyshev(x, 1) + constant
    box = [x >= -1, x <= 1]
    for sense, turned in (("minimize", -5), ("maximize", 5)):
        result = sd.minimize_trigonometric([constant, 3], [4], sense=sense)
        ask = sd.minimize if sense == "minimize" else sd.maximize
        for best, least in (
            (result, turned),
            (ask(series, box), Fraction(-33, 16) if sense == "minimize" else 3),
        ):
            assert best.status == "optimal"
            fine = Fraction(1, 10**6) + abs(constant) / 2**52
            assert abs(Fraction(best.bound) - constant - least) <= fine
            lost = (constant + least - Fraction(best.certified_bound)) * (1 if sense == "minimize" else -1)
            assert 0 <= lost <= fine


test_refusals = refusals(
    (lambda: sd.minimize_trigonometric([0, np.inf]), "finite"),
    (lambda: sd.minimize_trigonometric([0, 1], sense="least"), "sense"),
    (lambda: sd.minimize_trigonometric([10**400]), "finite"),
    *each(sd.minimize_trigonometric, ([1j], ["1"], [None], [[1, 2]]), "real number", TypeError),
    # Neither memory nor a time limit is overrun by steps that look at no clock.
    (lambda: sd.minimize_trigonometric([0] * 10**6 + [1]), "GiB", ProblemTooLarge),
    (
        lambda: sd.minimize_trigonometric([0] * 300 + [1], time_limit=0.01),
        "more than the time limit of 0.01 s",
        ProblemTooLarge,
    ),
    (lambda: sd.minimize_trigonometric([0, 1], time_limit=-1), "time_limit must be a number > 0"),
)
