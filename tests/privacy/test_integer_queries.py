"""Laws of the questions by enumeration, their prices, and the bounds that are enforced in integers."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms import integer_queries
from sosdp.privacy.mechanisms.integer_queries import (
    SPANS,
    IntegerQueries,
    level_cap,
    level_sets,
    squares_deviation,
    sum_deviation,
)
from sosdp.privacy.randomness.cube import cube_noise, kept
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refuse


def level_law(
    values: tuple[int, ...], rank: int, size: int, epsilon: float, cap: int, rate: float
) -> list[float]:
    lows, highs = level_sets(np.sort(np.array(values)), rank, 0, size - 1, cap)
    levels = [next(k for k in range(cap + 1) if lows[k] <= t <= highs[k]) for t in range(size)]
    weights = [math.exp(-rate * epsilon * level) for level in levels]
    return [w / sum(weights) for w in weights]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_levels_count_the_values_to_replace(rank):
    for values in itertools.product(range(4), repeat=3):
        lows, highs = level_sets(np.sort(np.array(values)), rank, 0, 3, 4)
        for t in range(4):
            level = next(k for k in range(5) if lows[k] <= t <= highs[k])
            fewest = min(
                sum(a != b for a, b in zip(values, other, strict=True))
                for other in itertools.product(range(4), repeat=3)
                if sorted(other)[rank - 1] == t
            )
            assert level == fewest


@pytest.mark.parametrize("cap", [1, 2, 4])
def test_order_statistics_keep_their_epsilon_for_all_neighbours(cap):
    epsilon = 0.7

    def worst(rate):
        every = itertools.product(range(5), repeat=3)
        laws = {values: level_law(values, 2, 5, epsilon, cap, rate) for values in every}
        return max(
            math.log(a / b) for law in neighbour_pairs(laws, range(5)) for a, b in zip(*law, strict=True)
        )

    assert worst(0.5) <= epsilon + 1e-12
    assert worst(1.0) > epsilon  # twice the rate is not epsilon-DP


def test_an_order_statistic_has_the_law_of_its_levels():
    values, draws = np.array([1, 4, 4, 7]), 4000
    queries = IntegerQueries(4, epsilon=1e6, insecure_seed=3)
    seen = Counter(
        queries.order_statistic(values, 2, low=0, high=9, epsilon=Fraction(3, 2)) for _ in range(draws)
    )
    law = level_law((1, 4, 4, 7), 2, 10, 1.5, level_cap(4, 10, Fraction(3, 2)), 0.5)
    for t, p in enumerate(law):
        assert abs(seen[t] - draws * p) < 5 * math.sqrt(draws * p) + 3


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_cube_noise_is_geometric_in_the_largest_entry(d):
    def mass(k: int, keep: bool) -> Fraction:  # of one point with max |z_j| <= k from the size k, over r^k
        share = kept(k, d) if keep else Fraction(1)
        return math.comb(k + d, d) * share / (2 * k + 1) ** d

    assert len({mass(k, True) for k in range(60)}) == 1  # so that P(z) ~ sum of r^k over k >= max |z_j|
    assert len({mass(k, False) for k in range(60)}) > 1  # without the acceptance step it is another law
    assert all(0 < kept(k, d) <= 1 for k in range(60))


@pytest.mark.slow
def test_cube_noise_is_drawn_from_its_law():
    scale, draws = Fraction(3, 2), 6000
    queries = IntegerQueries(1, epsilon=1.0, insecure_seed=5)
    seen = Counter(max(abs(z) for z in cube_noise(2, scale, queries._bits)) for _ in range(draws))
    weights = [((2 * k + 1) ** 2 - (2 * k - 1) ** 2 if k else 1) * math.exp(-k / 1.5) for k in range(40)]
    for k in range(8):
        p = weights[k] / sum(weights)
        assert abs(seen[k] - draws * p) < 5 * math.sqrt(draws * p) + 3


ROWS = list(itertools.product(range(-3, 4), repeat=2))


def noise_of(monkeypatch, query, rows):
    """Answers of one record each without noise, as arrays of integers, and the laws that were asked for."""
    laws = []
    monkeypatch.setattr(integer_queries.exact, "discrete_gaussian", lambda v, bits: laws.append(v) or 0)
    for module, name in ((integer_queries.cube, "cube_noise"), (integer_queries.ball, "ball_noise")):
        monkeypatch.setattr(module, name, lambda d, scale, bits: laws.append(scale) or [0] * d)
    return np.array([query(np.array([row])) for row in rows], dtype=object), set(laws)


def farthest(answers: np.ndarray, largest: bool = False) -> int:
    """The square of the l2 distance, or the distance in the largest entry, of any two answers."""
    flat = answers.reshape(len(answers), -1)
    moved = np.abs(flat[:, None] - flat[None])
    return moved.max() if largest else (moved**2).sum(axis=2).max()


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(("shape", "squared"), [("ball", 16), ("orthant", 8), ("box", 32), ("positive", 8)])
def test_sums_move_by_what_the_noise_is_made_for(monkeypatch, shape, squared, pure):
    """All pairs of rows, also those that break their promise; the noise is for their distance, no more."""
    price = Fraction(1, 3)

    def query(row):
        queries = IntegerQueries(1, **{"epsilon" if pure else "rho": 1.0})
        result = queries.noisy_sum(row, 2, price, shape=shape)
        assert queries.spent == price
        return result

    answers, laws = noise_of(monkeypatch, query, ROWS)
    assert farthest(answers) == squared
    if not pure:
        assert laws == {Fraction(squared) / (2 * price)}
    elif shape in SPANS:
        assert laws == {farthest(answers, largest=True) / price}
    else:
        assert laws == {math.ceil(math.sqrt(squared)) / price}


@pytest.mark.parametrize("d", [1, 2])
def test_squares_cost_what_they_say(monkeypatch, d):
    """|Delta|^2 on the diagonal over 2 v plus off it over v is at most rho for all pairs of rows."""
    rho, rows = Fraction(1, 5), list(itertools.product(range(-3, 4), repeat=d))
    answers, laws = noise_of(monkeypatch, lambda row: IntegerQueries(1, rho=1.0).squares(row, 2, rho), rows)
    diagonal = max(laws)
    assert laws == ({diagonal, diagonal / 2} if d > 1 else {diagonal})
    assert Fraction(farthest(answers)) / (2 * diagonal) == rho  # attained: less noise would not do


@pytest.mark.parametrize(("d", "bound"), [(1, 5), (2, 4), (2, 17), (3, 2)])
def test_pure_squares_cost_what_they_say(monkeypatch, d, bound):
    """All pairs of rows of a ball: the integers that get noise are at most price times its scale moved."""
    price = Fraction(1, 7)
    rows = [
        row for row in itertools.product(range(-bound, bound + 1), repeat=d) if np.dot(row, row) <= bound**2
    ]
    query = lambda row: IntegerQueries(1, epsilon=1.0).squares(row, bound, price)  # noqa: E731
    answers, (scale,) = noise_of(monkeypatch, query, rows)
    monkeypatch.setattr(integer_queries.ball, "ball_noise", lambda d, scale, bits: [1] * d)
    weights = 1 / (np.array(query(np.zeros((1, d))), dtype=object))  # of the integers in the released entries
    i, j = np.triu_indices(d)
    images = (answers * weights)[:, i, j].astype(np.int64)
    moved = max(((images - image) ** 2).sum(axis=1).max() for image in images)
    assert moved <= (price * scale) ** 2 < moved * Fraction(101, 100) + 1000
    assert moved > (price * scale / 2) ** 2  # control: half the noise is not enough


def test_pure_squares_are_integers_with_noise_at_every_place():
    """99 S_ii + z and 140 S_ij + z leave no residue out: nothing of S is published as it is."""
    rows = np.array([[3 << 15, 1 << 16]])
    drawn = np.array([
        IntegerQueries(1, epsilon=1.0, insecure_seed=run).squares(rows, 1 << 18, Fraction(1, 2))
        for run in range(800)
    ], dtype=object)  # fmt: skip
    for (i, j), weight in {(0, 0): 99, (0, 1): 140, (1, 1): 99}.items():
        integers = drawn[:, i, j] * weight
        assert all(entry.denominator == 1 for entry in integers)
        for modulus in range(2, 65):
            assert len({int(entry) % modulus for entry in integers}) == modulus
    deviation = squares_deviation(2, 0.5, pure=True) * 4.0**18
    assert drawn[:, 0, 0].astype(float).std() == pytest.approx(deviation, rel=0.15)
    assert drawn[:, 0, 1].astype(float).std() == pytest.approx(deviation / math.sqrt(2.0), rel=0.15)


@pytest.mark.parametrize(("pure", "shape"), [(True, "ball"), (True, "box"), (False, "ball"), (False, "box")])
def test_deviations_of_sums(pure, shape):
    price, draws = 0.5, 600
    queries = IntegerQueries(1, **{"epsilon" if pure else "rho": 1e6}, insecure_seed=2)
    drawn = np.array([queries.noisy_sum(np.zeros((1, 2)), 1 << 20, price, shape=shape) for _ in range(draws)])
    deviation = (1 << 20) * sum_deviation(2, price, pure=pure, shape=shape)
    assert drawn.astype(float).std() == pytest.approx(deviation, rel=0.12)


def test_squares_are_exact_sums():
    rows = np.random.default_rng(0).integers(-150000, 150000, size=(70000, 2))
    queries = IntegerQueries(70000, rho=1e9, insecure_seed=1)
    noisy = queries.squares(rows, 1 << 18, 1e8)
    exact = rows.astype(object).T @ rows.astype(object)
    deviation = squares_deviation(2, 1e8, pure=False) * 4.0**18
    assert all(abs(noisy[i][j] - exact[i, j]) < 8 * deviation for i in range(2) for j in range(2))
    assert noisy[0][1] == noisy[1][0]


def test_sums_of_squares_do_not_wrap_around():
    rows = np.broadcast_to(np.array([[1 << 18]]), (1 << 27, 1))  # takes no memory
    assert integer_queries.squares_of(rows)[0, 0] == 1 << 63


def test_the_budget_adds_up_and_is_kept():
    values = np.array([1, 2, 3])
    pure = IntegerQueries(3, epsilon=1.0)
    pure.order_statistic(values, 2, low=0, high=9, epsilon=Fraction(1, 2))
    pure.noisy_sum(values[:, None], 4, Fraction(1, 4), shape="box")
    pure.squares(values[:, None], 4, Fraction(1, 4))
    assert pure.spent == 1
    refuse((lambda: pure.order_statistic(values, 2, low=0, high=9, epsilon=Fraction(1, 10**9)), "overdrawn"))
    concentrated = IntegerQueries(3, rho=0.5)
    concentrated.order_statistic(values, 2, low=0, high=9, epsilon=Fraction(1, 2))
    assert concentrated.spent == Fraction(1, 32)
    refuse(
        (lambda: concentrated.squares(values[:, None], 4, 0.5), "overdrawn"),
        *each(
            lambda bad: IntegerQueries(3, **bad),
            ({}, {"epsilon": 1.0, "rho": 1.0}, {"rho": 1.0, "delta": 1e-6}, {"epsilon": -1.0}),
        ),
    )


def test_what_is_sealed_is_the_whole_budget():
    release = IntegerQueries(3, epsilon=1.0, delta=1e-6).seal(1.0, mechanism="m", public={})
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)
    assert release.guarantee.rho is not None and release.guarantee.kind == "exact"
    assert IntegerQueries(3, rho=0.25).seal(1.0, mechanism="m", public={}).guarantee.rho == 0.25
    assert (
        not IntegerQueries(3, epsilon=1.0, insecure_seed=1)
        .seal(1, mechanism="m", public={})
        .guarantee.is_private
    )
