"""Quantiles, interior points and averages: exact laws of all neighbours, samplers, releases."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms import (
    bounded_average,
    interior_point,
    private_quantile,
)
from sosdp.privacy.mechanisms.basic.average import RESOLUTION, whole_vector
from sosdp.privacy.mechanisms.basic.interior_point import failure_bound
from sosdp.privacy.mechanisms.basic.quantile import grid, runs, tallied
from sosdp.privacy.verification import audit
from tests.neighbours import p_value, replaced
from tests.privacy.mechanism_laws import HOSTILE, laplace, renyi, softmax
from tests.refusals import each, refuse

# -- quantile and interior point


def grid_levels(indices, size: int, level) -> list[int]:
    first, last, levels = runs(tallied(indices, size), size, np.vectorize(level))
    assert first[0] == 0 and last[-1] == size - 1 and (first[1:] == last[:-1] + 1).all()
    return np.repeat(levels, last - first + 1).tolist()


def quantile_level(n: int, rank: int):
    return lambda below, above: max(0, below - rank + 1, above - n + rank)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_quantile_exhaustively(rank):
    epsilon, size, n = 1.0, 5, 3
    worst = control = concentrated = 0.0
    for values in itertools.combinations_with_replacement(range(size), n):
        levels = grid_levels(values, size, quantile_level(n, rank))
        # the score is the least number of replacements that make the point the order statistic
        for theta in range(size):
            least = min(
                sum((Counter(values) - Counter(o)).values())
                for o in itertools.combinations_with_replacement(range(size), n)
                if o[rank - 1] == theta
            )
            assert levels[theta] == least
        for other in replaced(values, range(size)):
            second = grid_levels(other, size, quantile_level(n, rank))
            laws = softmax(levels, epsilon / 2), softmax(second, epsilon / 2)
            worst = max(worst, audit.epsilon_between(*laws))
            concentrated = max(concentrated, renyi(*laws, 1.01) / 1.01, renyi(*laws, 8.0) / 8.0)
            control = max(control, audit.epsilon_between(softmax(levels, epsilon), softmax(second, epsilon)))
    assert 0.5 * epsilon < worst <= epsilon + 1e-9 < control
    assert concentrated <= epsilon**2 / 8 + 1e-12


def test_interior_point_exhaustively():
    epsilon, size, n = 1.0, 5, 4
    half = 2

    def level(below: int, above: int) -> int:
        return half - min(n - above, n - below, half)

    worst = control = 0.0
    for values in itertools.combinations_with_replacement(range(size), n):
        levels = grid_levels(values, size, level)
        assert min(levels) == 0
        assert all((levels[t] == half) == (not values[0] <= t <= values[-1]) for t in range(size))
        for other in replaced(values, range(size)):
            second = grid_levels(other, size, level)
            worst = max(
                worst, audit.epsilon_between(softmax(levels, epsilon / 2), softmax(second, epsilon / 2))
            )
            control = max(control, audit.epsilon_between(softmax(levels, epsilon), softmax(second, epsilon)))
    assert worst <= epsilon + 1e-9 < control


@pytest.mark.parametrize("name", ["quantile", "interior"])
def test_order_statistic_samplers(name):
    values, size, draws = [0.0, 0.0, 0.74, 1.0], 9, 1500
    n = len(values)
    if name == "quantile":
        release = [
            private_quantile(values, 4, low=0.0, high=1.0, step=0.125, epsilon=2.0, insecure_seed=i)
            for i in range(draws)
        ]
        level = quantile_level(n, 4)
    else:
        release = [
            interior_point(values, low=0.0, high=1.0, step=0.125, epsilon=2.0, insecure_seed=i)
            for i in range(draws)
        ]
        level = lambda below, above: 2 - min(n - above, n - below, 2)  # noqa: E731
    law = softmax(grid_levels([0, 0, 6, 8], size, level), 1.0)
    assert p_value((round(r.value / 0.125) for r in release), law) > 1e-9


def test_order_statistics_release():
    values = [*np.linspace(-1, 1, 401), *HOSTILE]
    release = private_quantile(values, 207, low=-4.0, high=4.0, step=2**-10, epsilon=1.0)
    assert abs(release.value) < 0.5 and release.guarantee.rho == 0.125
    inside = interior_point(values, low=-4.0, high=4.0, step=2**-10, epsilon=1.0)
    assert -4.0 <= inside.value <= 4.0 and inside.public["failure"] < 1e-30
    assert failure_bound(10, 1 << 20, 0.1) == 1.0
    assert grid(0, 1, Fraction(1, 3)).size == 4
    huge = 1 << 70  # more points than int64 has: nothing is rounded, the draw is inside of the only run
    places = tallied([5, huge - 2, 5], huge)
    assert [list(map(int, run)) for run in zip(*runs(places, huge, np.vectorize(quantile_level(3, 1))))] == [
        [0, 4, 1], [5, 5, 0], [6, huge - 3, 2], [huge - 2, huge - 2, 2], [huge - 1, huge - 1, 3]
    ]  # fmt: skip
    tiny = private_quantile([2.0**-40], 1, low=0, high=1, step=2.0**-70, epsilon=200.0, insecure_seed=1)
    assert tiny.value == 2.0**-40
    for bad in ({"rank": 0}, {"rank": 9}, {"low": 2.0}, {"high": math.inf}, {"step": 0.0}):
        arguments = {"values": [0.0], "rank": 1, "low": 0.0, "high": 1.0, "step": 0.5, "epsilon": 1.0, **bad}
        with pytest.raises(ValueError, match=r"[a-z]"):
            private_quantile(**arguments)
    refuse((lambda: interior_point([], low=0.0, high=1.0, step=0.5, epsilon=1.0), "at least one"))


# -- average


def test_average_of_numbers_exhaustively():
    """The integer sum moves by at most 2^20, attained; the noise is calibrated to exactly that."""
    worst = 0
    for values in itertools.product((-9.0, 0.0, 0.25, 1.0, math.nan), repeat=2):
        for other in replaced(values, (-9.0, 0.0, 0.25, 1.0, math.inf)):
            sums = [
                sum(min(max(0 if v != v else v, 0.0), 1.0) for v in x) * RESOLUTION for x in (values, other)
            ]
            worst = max(worst, abs(sums[0] - sums[1]))
    assert worst == RESOLUTION
    laws = [{k: laplace(k - shift, 1 / 1.5) for k in range(-60, 61)} for shift in (0, 1)]
    assert audit.epsilon_between(*laws) == pytest.approx(1.5)
    assert audit.epsilon_between(*laws) > 1.4  # control: the noise of epsilon = 1.5 does not give 1.4


def test_vectors_are_in_the_ball_in_integers():
    unit = Fraction(1, RESOLUTION)
    generator = np.random.default_rng(3)
    for _ in range(300):
        row = generator.standard_normal(3) * 10.0 ** generator.integers(-4, 5)
        whole = whole_vector(row.tolist(), unit)
        assert sum(k * k for k in whole) <= RESOLUTION**2
        if np.linalg.norm(row) < 0.999:
            assert np.allclose(np.array(whole) / RESOLUTION, row, atol=2 / RESOLUTION)
    assert whole_vector([math.nan, math.inf], unit) == [0, RESOLUTION]
    assert whole_vector(["a", -1.0], unit) == [0, -RESOLUTION]
    farthest = [whole_vector([s], unit)[0] for s in (1.0, -1.0)]
    assert farthest[0] - farthest[1] == 2 * RESOLUTION  # the sensitivity is attained


def test_sums_of_vectors_move_by_at_most_the_l1_bound():
    """One record replaced by an extreme one: sqrt(d) 2^21 is attained up to rounding, never passed."""
    unit = Fraction(1, RESOLUTION)
    for d in (1, 2, 3):
        corners = [np.array(signs) * 9.0 for signs in itertools.product((-1, 0, 1), repeat=d)]
        corners += [np.full(d, 0.3), np.full(d, math.nan), np.full(d, math.inf)]
        whole = [whole_vector(row.tolist(), unit) for row in corners]
        worst = max(sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x in whole for y in whole)
        assert worst**2 <= d * (2 * RESOLUTION) ** 2
        assert worst >= math.sqrt(d) * 2 * RESOLUTION - 4 * d
    # the noise of two coordinates at two shifts whose l1 distance is the unit of the scale: exactly epsilon
    law = {
        shift: {(j, k): laplace(j - shift[0], 2 / 1.5) * laplace(k - shift[1], 2 / 1.5)
                for j in range(-25, 26) for k in range(-25, 26)}
        for shift in ((0, 0), (1, 1), (2, 1))
    }  # fmt: skip
    assert audit.epsilon_between(law[0, 0], law[1, 1]) == pytest.approx(1.5)
    assert audit.epsilon_between(law[0, 0], law[2, 1]) > 1.6  # control: further than the sensitivity


def test_average_release():
    release = bounded_average([0.25] * 4000, low=0.0, high=1.0, epsilon=1.0)
    assert abs(release.value - 0.25) < 0.01 and release.guarantee.delta == 0.0
    rows = np.full((4000, 3), 0.5)
    ball = bounded_average(rows, radius=1.0, rho=0.5)
    assert np.abs(ball.value - 0.5).max() < 0.01 and ball.guarantee.rho == 0.5
    pure = bounded_average(rows, radius=1.0, epsilon=1.0)
    assert np.abs(pure.value - 0.5).max() < 0.01
    assert pure.guarantee.epsilon == 1.0 and pure.guarantee.delta == 0.0
    assert pure.public["scale"] == pytest.approx(2 * math.sqrt(3) / 4000, rel=1e-5)
    broad = [
        bounded_average([[0.0, 0.0]], radius=1.0, epsilon=1.0, insecure_seed=i).value for i in range(400)
    ]
    assert np.std(broad) == pytest.approx(2 * math.sqrt(2) * math.sqrt(2), rel=0.2)
    both = bounded_average(rows, radius=1.0, epsilon=1.0, delta=1e-6)
    assert both.guarantee.epsilon == 1.0 and both.guarantee.delta == 1e-6
    assert 0 <= abs(bounded_average(HOSTILE, low=0.0, high=1.0, epsilon=5.0).value) < 20
    assert np.isfinite(bounded_average([[h] for h in HOSTILE[:6]], radius=1.0, rho=1.0).value).all()
    spread = [
        bounded_average([0.5], low=0.0, high=1.0, epsilon=1.0, insecure_seed=i).value - 0.5
        for i in range(800)
    ]
    assert np.std(spread) == pytest.approx(math.sqrt(2), rel=0.2)
    large = [bounded_average([[0.0]], radius=1.0, rho=0.5, insecure_seed=i).value[0] for i in range(400)]
    assert np.std(large) == pytest.approx(2.0, rel=0.2)
    refuse(
        *each(
            lambda bad: bounded_average(**{"values": [0.5], "low": 0.0, "high": 1.0, "epsilon": 1.0, **bad}),
            (
                {"radius": 1.0},
                {"epsilon": None},
                {"delta": 0.1},
                {"low": 1.0},
                {"values": []},
                {"high": math.inf},
            ),
            r"[a-z]",
        ),
        *each(
            lambda bad: bounded_average(**{"values": [[0.5]], "radius": 1.0, "rho": 0.5, **bad}),
            ({"rho": None}, {"epsilon": 1.0}, {"values": [[]]}, {"rho": 0.0}),
            r"[a-z]",
        ),
    )
