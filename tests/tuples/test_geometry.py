"""Far balls and distances between tuples: F1 to F6 by search and at the boundary; exact products."""

import itertools
import math
from fractions import Fraction

import facts as theory
import numpy as np
import pytest

from sosdp.privacy.mechanisms.propose_test_release import tuple_geometry as geometry
from sosdp.privacy.mechanisms.propose_test_release.block_vote import h_score
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refuse


def random_tuple(generator: np.random.Generator, k: int, d: int, size: int) -> list[tuple[int, ...]]:
    return [tuple(int(v) for v in row) for row in generator.integers(-size, size + 1, size=(k, d))]


def near(points, generator: np.random.Generator, size: int) -> list[tuple[int, ...]]:
    moved = np.array(points) + generator.integers(-size, size + 1, size=np.shape(points))
    return [tuple(int(v) for v in row) for row in generator.permutation(moved)]


def balls(points, ratio) -> list[Fraction]:
    """Radii a_i / ratio rounded down to rationals with denominator 1000 (so at least as far)."""
    return [
        Fraction(math.isqrt(int(gap * 10**6 / Fraction(ratio) ** 2)), 1000)
        for gap in theory.squared_gaps(points)
    ]


@pytest.mark.parametrize("ratio", [Fraction(21, 10), 4, 7])
def test_f1_one_number_answers_for_all_ratios(ratio):
    generator = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(300):
        x = random_tuple(generator, 3, 2, 60)
        y = near(x, generator, int(generator.integers(1, 12)))
        if min(theory.squared_gaps(x)) == 0:
            continue
        gaps = theory.squared_gaps(x)
        one_each = all(
            sum(theory.squared_distance(a, b) * Fraction(ratio) ** 2 <= gap for b in y) == 1
            for a, gap in zip(x, gaps, strict=True)
        )
        assert theory.partitions(x, y, ratio) == one_each
        seen[one_each] += 1
    assert min(seen.values()) > 20
    assert not theory.partitions([(0, 0), (0, 0)], [(0, 0), (0, 0)], ratio)
    refuse((lambda: theory.squared_gaps([(0,)]), "one point"))


def test_f1_at_the_boundary():
    """Points exactly on the sphere count as inside; one step further out they do not."""
    x = [(0, 0), (70, 0)]
    assert theory.partitions(x, [(0, 10), (60, 0)], 7)
    assert not theory.partitions(x, [(0, 11), (60, 0)], 7)
    assert theory.relative_distance(x, [(0, 10), (60, 0)]) == Fraction(1, 49)


@pytest.mark.slow
def test_f2_f3_points_of_touching_balls_have_the_same_nearest_centre():
    generator = np.random.default_rng(2)
    tried = 0
    for _ in range(1000):
        x = random_tuple(generator, 3, 2, 100)
        other = near(x, generator, int(generator.integers(0, 18)))
        if min(theory.squared_gaps(x)) == 0 or min(theory.squared_gaps(other)) == 0:
            continue
        ratio = Fraction(601, 100)
        r, s = balls(x, ratio), balls(other, ratio)
        assert theory.are_far(x, r, ratio)
        match = [theory.nearest(c, other) for c in x]
        touching = len(set(match)) == 3 and all(
            theory.squared_distance(x[i], other[j]) <= (r[i] + s[j]) ** 2 for i, j in enumerate(match)
        )
        if not touching:
            continue
        tried += 1
        for i, j in enumerate(match):
            for centre, radius in ((x[i], r[i]), (other[j], s[j])):
                angle = generator.uniform(0, 2 * math.pi)
                step = (
                    Fraction(math.cos(angle)) * Fraction(999, 1000),
                    Fraction(math.sin(angle)) * Fraction(999, 1000),
                )
                point = [c + radius * v for c, v in zip(centre, step, strict=True)]
                assert theory.nearest(point, x) == i and theory.nearest(point, other) == j
    assert tried > 20


def test_f4_tuples_in_balls_that_are_far_enough_partition_each_other():
    generator = np.random.default_rng(3)
    ratio = 7
    broad = 2 * ratio + 2
    for _ in range(200):
        r = 10
        centres = [(0, 0), (broad * r, 0), (0, broad * r)]  # exactly 16-far
        tuples = []
        for _ in range(4):
            angle = generator.integers(0, 4, size=3)
            steps = [((r, 0), (-r, 0), (0, r), (0, -r))[a] for a in angle]  # on the spheres
            tuples.append([tuple(np.add(c, s).tolist()) for c, s in zip(centres, steps, strict=True)])
        assert all(theory.partitions(a, b, ratio) for a, b in itertools.product(tuples, repeat=2))
    # control: 2 ratio + 1 is not enough
    centres = [(0, 0), ((broad - 1) * r, 0)]
    first = [(r, 0), ((broad - 1) * r - r, 0)]
    second = [(-r, 0), ((broad - 1) * r + r, 0)]
    assert all(theory.partitioned(centres, [r, r], t) for t in (first, second))
    assert not theory.partitions(first, second, ratio)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [7, 20, 100])
def test_f5_centres_and_gaps_are_stable(ratio):
    generator = np.random.default_rng(4)
    growth, shift = Fraction(ratio + 2, ratio - 2), Fraction(2, ratio - 2)
    worst = [0.0, 0.0]
    for _ in range(3000):
        z = [(0,), (1000 * ratio,)]
        gap = 1000 * ratio
        moves = generator.integers(-1100, 1101, size=(2, 2))
        if generator.random() < 0.5:
            moves = np.where(moves > 0, 1, -1) * generator.integers(950, 1100, size=(2, 2))
        x = [(int(moves[0, 0]),), (gap + int(moves[0, 1]),)]
        y = [(int(moves[1, 0]),), (gap + int(moves[1, 1]),)]
        if not (theory.partitions(x, z, ratio) and theory.partitions(y, z, ratio)):
            continue
        a, b = (theory.squared_gaps(t)[0] for t in (x, y))
        largest = max(theory.squared_distance(x[i], y[i]) for i in range(2))
        assert max(a, b) <= growth**2 * min(a, b) and largest <= shift**2 * min(a, b)
        worst[0] = max(worst[0], math.sqrt(max(a, b) / min(a, b)) / float(growth))
        worst[1] = max(worst[1], math.sqrt(largest / min(a, b)) / float(shift))
    assert worst[0] > 0.7 and worst[1] > 0.7


def test_f6_one_matching_at_a_fixed_radius():
    generator = np.random.default_rng(5)
    r, tried = 10, 0
    for _ in range(400):
        base = [(0, 0), (52, 0), (0, 52)]
        x, y, z, u = (near(base, generator, 5) for _ in range(4))
        if min(min(theory.squared_gaps(t)) for t in (x, y)) <= (4 * r) ** 2:
            continue
        common = [t for t in (z, u) if all(theory.partitioned(c, [r] * 3, t) for c in (x, y))]
        orders = set()
        for t in common:
            to_x = [theory.nearest(p, x) for p in t]
            to_y = [theory.nearest(p, y) for p in t]
            orders.add(tuple(to_y[to_x.index(i)] for i in range(3)))
        if len(common) < 2:
            continue
        tried += 1
        assert len(orders) == 1
        order = orders.pop()
        bound = (2 * r) ** 2
        assert all(theory.squared_distance(x[i], y[j]) <= bound for i, j in enumerate(order))
    assert tried > 50


# ------------------------------------------------------------------------------------------------------------
# The arrays that mechanisms use


def by_definition(first: np.ndarray, second: np.ndarray, cap: int) -> list:
    return [
        [
            [min(cap, *(sum((int(a) - int(b)) ** 2 for a, b in zip(x, y)) for y in other)) for x in one]
            for other in second
        ]
        for one in first
    ]


@pytest.mark.parametrize("size", [100, 1 << 23, 1 << 40, 1 << 60])
def test_nearest_distances_are_exact_at_every_size(size):
    """Small numbers go through a product of matrices, large ones through clipped differences."""
    generator = np.random.default_rng(size % 97)
    centres = generator.integers(-size, size + 1, size=(1, 3, 5))
    first = np.clip(centres + generator.integers(-3000, 3001, size=(6, 3, 5)), -size, size)
    second = np.clip(centres + generator.integers(-3000, 3001, size=(4, 3, 5)), -size, size)
    second[0] = -second[0]
    cap = 10**8
    result = geometry.nearest_squared(first, second, cap)
    assert result.tolist() == by_definition(first, second, cap)


def test_the_largest_numbers_of_the_product_are_exact():
    """At 4 d R^2 just below 2^53 opposite corners come out exactly."""
    d = 4
    reach = math.isqrt((2**53 - 1) // (4 * d))
    corner = np.full((1, 1, d), reach, dtype=np.int64)
    cap = (1 << 53) - 1
    assert geometry.nearest_squared(corner, -corner, cap)[0, 0, 0] == min(cap, 4 * d * reach**2)
    odd = corner.copy()
    odd[0, 0, 0] -= 1
    assert geometry.nearest_squared(odd, -corner, cap)[0, 0, 0] == 4 * d * reach**2 - 4 * reach + 1


def test_friends_do_not_depend_on_who_else_is_there():
    generator = np.random.default_rng(8)
    centres = np.array([[0, 0], [400, 0], [0, 400]])
    points = centres + generator.integers(-90, 91, size=(30, 3, 2))
    points[4] += 10**9
    points[5] += 1 << 59
    table = geometry.TupleTable(points.astype(np.int64), np.arange(30) != 7)
    radii = [30, 60, 90]
    whole = geometry.neighbourhoods(table, radii, Fraction(2))
    order = generator.permutation(30)[:17]
    part = geometry.neighbourhoods(
        geometry.TupleTable(points[order], table.usable[order]), radii, Fraction(2)
    )
    for level in range(3):
        full = whole.matches(level)
        assert (full == full.T).all() and not full[7].any()
        assert (part.matches(level) == full[np.ix_(order, order)]).all()
        r = radii[level]
        for a, b in itertools.product(range(30), repeat=2):
            x, y = points[a].tolist(), points[b].tolist()
            sound = all(min(theory.squared_gaps(t)) > (geometry.SEPARATION * r) ** 2 for t in (x, y))
            separate = [min(theory.squared_distance(p, q) for q in y) for p in x]
            fits = max(separate) <= r * r and sum(separate) <= 2 * r * r
            assert full[a, b] == (sound and fits and 7 not in (a, b))


def test_unusable_tuples_and_public_errors():
    table = geometry.tuple_table([None, [[0.0], [9.0]], "x", [[np.nan], [1.0]]], 2, 1, Fraction(1))
    assert table.usable.tolist() == [False, True, False, False] and len(table) == 4
    assert not geometry.neighbourhoods(table, [1], Fraction(1)).matches(0)[0].any()
    refuse(
        *each(
            lambda bad: geometry.neighbourhoods(table, bad, Fraction(1)),
            ([], [2, 1], [0], [1 << 26]),
            r"radi",
        )
    )


def test_h_score_moves_by_at_most_one_and_the_least_disagreement_does_not():
    """All databases of three tuples over five points on a line; the obvious score jumps by more (control)."""
    places = list(itertools.combinations_with_replacement(range(5), 2))
    friends = {
        (x, y): abs(x[0] - x[1]) >= 2 and all(min(abs(p - q) for q in y) <= 1 for p in x)
        for x, y in itertools.product(places, repeat=2)
    }

    def score(chosen):
        return h_score(np.array([[friends[x, y] for y in chosen] for x in chosen]))

    known = {c: score(c) for c in itertools.combinations_with_replacement(places, 3)}
    assert {abs(one - two) for one, two in neighbour_pairs(known, places)} == {0, 1}

    def least(line):
        x = np.array(line)
        return int((np.abs(x[:, None] - x[None, :]) > 1).sum(axis=1).min())

    first, second = [0, *[-1] * 4, *[1] * 3], [-1, *[-1] * 4, *[1] * 3]
    assert abs(least(first) - least(second)) >= 2
