"""Laws of the samplers by chi-square against enumeration; acceptance of the layered one; refusals."""

import itertools
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from sosdp.privacy.mechanisms.exponential import default_sampler, exact_law, pure_exponential
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.privacy.scores.depth import RegressionDepth, TukeyDepth
from sosdp.privacy.scores.enclosure import certified_maximum, polytope_box, polytope_is_empty
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.location import (
    coordinate_max,
    directional,
    integer_directions,
    l_statistic,
    median_weights,
    trimmed_weights,
)
from sosdp.privacy.scores.sampling import (
    BoxLattice,
    FiniteGrid,
    HitAndRun,
    Layered,
    PermuteAndFlip,
    Sampler,
)
from sosdp.privacy.scores.score import Lattice, Levels, cube
from tests.neighbours import p_value
from tests.privacy.mechanism_laws import flip_law
from tests.refusals import refuse


@dataclass(frozen=True)
class Loose(Levels):
    """Levels whose boxes are deliberately loose, not nested, and stick out of the lattice."""

    inner: Levels
    dimension: int
    exact_boxes = False

    def level(self, point):
        return self.inner.level(point)

    def box(self, k):
        extra = (k * 7) % 5
        return tuple((-5 - extra, 5 + (extra * 3) % 4) for _ in range(self.dimension))


@pytest.mark.few(4)
@pytest.mark.parametrize("sampler", [FiniteGrid(), BoxLattice(), Layered(), Layered(marks=())], ids=repr)
@pytest.mark.parametrize("top", [None, 3])
def test_law_in_one_dimension(sampler, top):
    score, base = l_statistic(trimmed_weights(9, 2), cube(1, 4, 1), refine=2), rational_base(1.0)
    data = np.random.default_rng(0).normal(size=(9, 1)) * 2
    bits, levels = InsecureBits(11), score.on(data)
    law = exact_law(score, data, base, top)
    top = score.top if top is None else top
    points = [sampler.draw(score, levels, base, top, bits) for _ in range(3000)]
    assert p_value(points, law) > 1e-6
    # negative control: another base is another law
    assert p_value(points, exact_law(score, data, rational_base(3.0), top)) < 1e-6


@pytest.mark.parametrize("d", [2, 3, 4])
def test_layered_law_is_exact(d):
    n, reach, draws = {2: (15, 6, 6000), 3: (12, 3, 5000), 4: (9, 2, 5000)}[d]
    lattice = cube(Fraction(1, 2), Fraction(reach, 2), d)
    score = directional(trimmed_weights(n, n // 4), integer_directions(d)[:13], lattice, refine=8)
    data = np.random.default_rng(d).normal(size=(n, d))
    base, bits = rational_base(1.0), InsecureBits(d)
    draw = Layered().prepare(score, score.on(data), base, score.top)
    results = [draw(bits) for _ in range(draws)]
    assert p_value((point for point, _ in results), exact_law(score, data, base)) > 1e-6
    assert draws / sum(trials for _, trials in results) > {2: 0.5, 3: 0.3, 4: 0.15}[d]


def test_layered_law_with_loose_boxes():
    lattice = cube(1, 3, 2)
    score = directional(median_weights(5), integer_directions(2), lattice)
    data = np.random.default_rng(1).normal(size=(5, 2)) * 2
    base, bits = rational_base(0.5), InsecureBits(3)
    for top in (score.top, 2):
        draw = Layered().prepare(score, Loose(score.on(data), 2), base, top)
        points = [draw(bits)[0] for _ in range(700)]
        assert p_value(points, exact_law(score, data, base, top)) > 1e-6


@pytest.mark.parametrize(
    "score", [TukeyDepth(cube(1, 2, 2), 7), coordinate_max(median_weights(7), cube(1, 2, 2))]
)
def test_law_of_other_scores(score):
    data = np.random.default_rng(2).normal(size=(7, 2))
    base, bits, levels = rational_base(2.0), InsecureBits(8), score.on(data)
    law = exact_law(score, data, base)
    samplers: list[Sampler] = [default_sampler(score), Layered()]
    for sampler in samplers:
        points = [sampler.draw(score, levels, base, score.top, bits) for _ in range(1200)]
        assert p_value(points, law) > 1e-6


def test_permute_and_flip_law():
    """As published; better than the exponential mechanism at the best."""
    score = l_statistic(median_weights(7), cube(1, 2, 1))
    data = np.array([[-2.0], [-1], [0], [0], [1], [1], [2]])
    base, bits, levels = rational_base(1.0), InsecureBits(8), score.on(data)
    points = list(score.lattice.points())
    level = [levels.level(p) for p in points]
    law = {points[i]: p for i, p in flip_law([k - min(level) for k in level], 0.5).items()}
    sampler = PermuteAndFlip()
    assert p_value((sampler.draw(score, levels, base, 7, bits) for _ in range(4000)), law) > 1e-6
    best = points[level.index(min(level))]
    assert law[best] > float(exact_law(score, data, base)[best])
    release = pure_exponential(score, data, epsilon=1.0, sampler=sampler)
    assert release.guarantee.rho == pytest.approx(0.5)  # not 1/8


# (dimension, acceptance printed for n = 400, epsilon = 1)
ACCEPTANCE = {2: 0.633, 3: 0.331, 4: 0.234, 5: 0.111, 6: 0.071}


@pytest.mark.parametrize(
    "d", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow), pytest.param(6, marks=pytest.mark.slow)]
)
def test_acceptance_of_layered_rejection(d):
    directions = integer_directions(d, 2 if d == 2 else 1)
    if d > 4:
        directions = tuple(u for u in directions if sum(map(abs, u)) <= 2)
    score = directional(trimmed_weights(400, 40), directions, cube(Fraction(1, 1000), 10, d))
    trials = 0
    for seed in range(3):
        data = np.random.default_rng(seed).normal(size=(400, d)) + 1
        bits = InsecureBits(seed)
        draw = Layered().prepare(score, score.on(data), rational_base(1.0), score.top)
        trials += sum(draw(bits)[1] for _ in range(25))
    assert 75 / trials > ACCEPTANCE[d] / 1.5


def test_certified_maximum_holds_for_any_multipliers():
    rng = np.random.default_rng(7)
    box = ((-3, 3), (-3, 3))
    for _ in range(100):
        rows = [
            ((int(a), int(b)), int(c))
            for a, b, c in zip(rng.integers(-2, 3, 4), rng.integers(-2, 3, 4), rng.integers(-4, 9, 4))
        ]
        factor = int(rng.integers(1, 4))
        inside = [
            t
            for t in itertools.product(range(-3, 4), repeat=2)
            if all(factor * (u[0] * t[0] + u[1] * t[1]) <= b for u, b in rows)
        ]
        target = [int(c) for c in rng.integers(-2, 3, 2)]
        multipliers = list(rng.normal(size=4) * 3)
        bound = certified_maximum(target, rows, factor, [3, 3], multipliers)
        tight = polytope_box(rows, factor, box)
        assert all(target[0] * t[0] + target[1] * t[1] <= bound for t in inside)
        assert tight is not None
        assert all(low <= x <= high for t in inside for x, (low, high) in zip(t, tight))
        assert not (inside and polytope_is_empty(rows, factor, box))
    assert polytope_is_empty([((1, 0), -4), ((-1, 0), -4)], 1, box)
    assert polytope_box([], 1, box) == box


def test_refusals_before_the_data_are_read():
    tukey, regression = (
        TukeyDepth(cube(1, 2, 2), 5),
        RegressionDepth(cube(1, 2, 2), 5, largest_x=1, largest_y=1),
    )
    unbounded = coordinate_max(median_weights(5), Lattice(Fraction(1), 1), clip=False)
    directed = directional(median_weights(5), [(1, 1), (0, 1)], Lattice(Fraction(1), 2), clip=False)
    for sampler, score, bits in [
        (BoxLattice(), tukey, "not boxes"),
        (FiniteGrid(limit=10), tukey, "limit"),
        (FiniteGrid(), unbounded, "infinitely many"),
        (Layered(), directed, "bounded lattice"),
        (HitAndRun(acknowledge_heuristic=True), regression, "not quasi-convex"),
        (HitAndRun(), tukey, "acknowledge_heuristic"),
        (HitAndRun(acknowledge_heuristic=True), unbounded, "bounded"),
    ]:
        with pytest.raises(ValueError, match=bits):
            sampler.check(score)


def test_hit_and_run_is_labelled_or_refused():
    score = coordinate_max(median_weights(9), cube(Fraction(1, 4), 4, 2))
    data = np.random.default_rng(0).normal(size=(9, 2))
    sampler = HitAndRun(steps=300, acknowledge_heuristic=True)
    if find_spec("hopsy") is None:
        refuse(
            (lambda: pure_exponential(score, data, epsilon=2.0, sampler=sampler), "mcmc", ModuleNotFoundError)
        )
        return
    release = pure_exponential(score, data, epsilon=2.0, sampler=sampler)
    assert release.guarantee.kind == "heuristic" and "heuristic" in release.guarantee.assumptions[0]
    assert release.value.shape == (2,) and np.abs(release.value).max() <= 4
