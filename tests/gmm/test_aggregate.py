"""The aggregate mechanism: exact laws on small inputs, sensitivities on all neighbours, failing controls."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from problems.gmm import aggregate
from problems.gmm.blocks import SumOfSquaresBlocks, kmeans_blocks, near_means
from problems.gmm.estimators.mixture import PrivateGaussianMixture
from problems.gmm.model import SphericalMixture, centre_error
from problems.gmm.planning import aggregate_plan, required_n
from sosdp.estimator.records import as_records
from sosdp.privacy.mechanisms.basic import clipped_moments as refine
from sosdp.privacy.randomness.bits import InsecureBits
from tests.refusals import each, refusals, refuse

# ------------------------------------------------------------------------------------------------------------
# Clipped sums


def squared_change(first, second) -> float:
    sums = sum((a - b) ** 2 for x, y in zip(first[0], second[0]) for a, b in zip(x, y))
    counts = sum((a - b) ** 2 for a, b in zip(first[1], second[1]))
    return sums / refine.RESOLUTION**2 + counts


HOSTILE = [0.0, 1.0, -1.0, 2.5, 2.500001, 5.0, 1e12, -1e12, 1e-300, math.nan, math.inf]


def test_clipped_sums_move_by_at_most_two():
    centres = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1e-9]])
    rows = [list(pair) for pair in itertools.product(HOSTILE, repeat=2)]
    statistics = [refine.integer_totals(as_records([row, [1.0, 1.0]]), centres, 3.0) for row in rows]
    worst = max(squared_change(a, b) for a, b in itertools.combinations(statistics, 2))
    assert 3.9 < worst <= 4.0  # attained by opposite offsets from one centre
    unclipped = [
        ([list(map(int, (np.array(row) * refine.RESOLUTION)))], [1, 0, 0])
        for row in rows
        if np.abs(row).max() < 10
    ]
    assert max(squared_change(a, b) for a, b in itertools.combinations(unclipped, 2)) > 4.0  # control


def test_clipped_integers_are_short_and_nearly_right():
    generator = np.random.default_rng(0)
    points = generator.normal(size=(2000, 7)) * 10.0 ** generator.uniform(-6, 12, size=(2000, 1))
    centres = generator.normal(size=(3, 7))
    nearest, whole = refine.clipped_integers(points, centres, 4.0)
    lengths = [sum(int(x) ** 2 for x in row) for row in whole]
    assert max(lengths) <= refine.RESOLUTION**2
    offsets = points - centres[nearest]
    short = np.linalg.norm(offsets, axis=1) < 3.99
    assert np.abs(whole[short] / refine.RESOLUTION * 4.0 - offsets[short]).max() < 1e-5
    distant = np.linalg.norm(offsets, axis=1) > 4.0
    assert min(np.sqrt(np.array(lengths, dtype=float)[distant])) > 0.99999 * refine.RESOLUTION


def test_refinement_noise_has_the_variance_that_the_proof_uses():
    records, centres, rho = np.zeros((40, 1)), np.zeros((1, 1)), 0.5
    bits = InsecureBits(1)
    counts = np.array([refine.refine(records, centres, 2.0, rho, bits).counts[0] for _ in range(1500)])
    assert abs(counts.mean() - 40.0) < 5.5 * math.sqrt(2.0 / rho / 1500)
    # variance 2/rho = 4; the estimate's standard deviation is 4 sqrt(2/1500)
    assert abs(counts.var() - 2.0 / rho) < 5.5 * (2.0 / rho) * math.sqrt(2.0 / 1500)


def test_records():
    rows = [[1, 2.5], [math.nan, 1], [math.inf, 0], ["x", 1], [None, 2], [10**400, 1], [2**39, -1]]
    assert as_records(rows).tolist() == [[1, 2.5], *[[0, 0]] * 5, [2.0**39, -1]]
    assert as_records(np.array([1.0, 2.0])).shape == (2, 1)


# ------------------------------------------------------------------------------------------------------------
# Plans and the whole


@pytest.mark.slow
def test_plans_depend_on_public_facts_and_add_up():
    plan = aggregate_plan(16000, 2, 2, 8, 1.0, 1e-6)
    assert plan.feasible and plan.blocks * plan.block_size <= 16000 and plan.seconds > 0.0
    guarantee = aggregate.aggregate_guarantee(plan)
    assert guarantee.kind == "exact" and 0.999 < guarantee.epsilon <= 1.0
    assert 0.99e-6 < guarantee.delta <= 1e-6
    assert plan.blocks >= 3 * plan.rule().reach + 3
    hopeless = aggregate_plan(400, 2, 2, 9, 8.0, 1e-3)
    assert not hopeless.feasible and "records" in hopeless.advice
    assert not aggregate_plan(12, 2, 3, 8, 1.0, 1e-6).feasible
    needed = required_n(2, 2, 9, 8.0, 1e-3)
    assert needed is not None and 1000 < needed < 2000
    assert required_n(2, 2, 9, 8.0, 1e-3, least_weight=0.5) < 0.7 * needed
    grid = aggregate_plan(30000, 2, 2, 8, 1.0, 1e-6, sigma=(1.0, 2.0, 4.0))
    total = aggregate.aggregate_guarantee(grid)
    assert grid.epsilon_test * 3 < 1.0 and total.epsilon <= 1.0 and total.delta <= 1e-6
    refuse(
        *each(
            lambda bad: aggregate_plan(20000, 2, 2, 8, 1.0, 1e-6, **bad),
            ({"sigma": (1.0, 1.0)}, {"least_weight": 0.6}, {"elongation": 0.5}, {"solver": "magic"}),
            r"sigma|least_weight|solver",
        )
    )


FAST = {"epsilon": 8.0, "delta": 1e-3, "separation": 9.0, "least_weight": 0.5}


@pytest.mark.slow
def test_it_finds_planted_clusters_far_from_the_origin():
    sample = SphericalMixture(2, 2, 9.0, offset=1e9).sample(1200, 1)
    est = PrivateGaussianMixture(2, **FAST, insecure_seed=3).fit(sample.points)
    assert est.released_ and centre_error(est.means_, sample.means) < 0.5
    assert est.guarantee_.kind == "none" and est.weights_.sum() == pytest.approx(1.0)
    agree = est.predict(sample.points) == sample.labels
    assert max(agree.mean(), 1 - agree.mean()) > 0.999
    moved = PrivateGaussianMixture(2, **FAST, insecure_seed=3).fit(sample.points + 2.0**30)
    assert np.abs(moved.means_ - 2.0**30 - est.means_).max() < 1e-4  # float64 of the records, and the grid


@dataclass
class Halves:
    """A solver that has parameters, and so no hash."""

    share: float = 0.5

    def __call__(self, points):
        order = np.argsort(points[:, 0])
        half = round(self.share * len(points))
        return [points[order[:half]].mean(axis=0), points[order[half:]].mean(axis=0)]


def test_a_solver_needs_no_hash():
    """That of a dataclass raised a TypeError in the memory of plans."""
    facts = {"n": 3000, "d": 1, "k": 2, "separation": 12.0, "epsilon": 2.0, "delta": 1e-5, "sigma": 1.0}
    plans = [
        aggregate_plan(**facts, solver=solver, tried=t) for solver in (Halves(), Halves()) for t in (1, 0)
    ]
    assert plans[0] == plans[2] and plans[1] == plans[3]


@pytest.mark.slow
def test_any_block_solver_and_failures_stay_in_their_block():
    sample = SphericalMixture(2, 2, 9.0).sample(1200, 2)

    def moody(points):
        if points[0, 0] > np.median(points[:, 0]) + 5.0:
            raise RuntimeError(f"a secret {points[0]}")
        if points[1, 1] > np.median(points[:, 1]) + 3.0:
            print("a secret")
            return "nonsense"
        order = np.argsort(points @ np.array([1.0, 0.3]))
        half = len(points) // 2
        return [points[order[:half]].mean(axis=0), points[order[half:]].mean(axis=0)]

    for solver in ("kmeans", "mixture"):
        est = PrivateGaussianMixture(2, **FAST, solver=solver, insecure_seed=4).fit(sample.points)
        assert est.released_ and centre_error(est.means_, sample.means) < 0.5
    PrivateGaussianMixture(2, **FAST, solver=moody).fit(sample.points)  # says nothing, raises nothing
    refuse((lambda: PrivateGaussianMixture(2, solver="magic").fit(sample.points), "solver"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uniform", "identical", "enormous", "cauchy", "nan", "one cluster"])
def test_structureless_data_are_refused(name):
    generator = np.random.default_rng(0)
    data = {
        "uniform": generator.uniform(-30, 30, size=(1200, 2)),
        "identical": np.full((1200, 2), 7.0),
        "enormous": generator.normal(size=(1200, 2)) * 1e300,
        "cauchy": generator.standard_cauchy(size=(1200, 2)),
        "nan": np.full((1200, 2), np.nan),
        "one cluster": generator.normal(size=(1200, 2)),
    }[name]
    est = PrivateGaussianMixture(2, **FAST).fit(data)
    assert not est.released_ and est.means_ is None and est.weights_ is None
    assert est.guarantee_.kind == "exact" and est.guarantee_.epsilon == pytest.approx(8.0)
    refuse((lambda: est.predict(data), "nothing to predict"))


def test_before_fit():
    est = PrivateGaussianMixture(2, **FAST)
    refuse(
        (lambda: est.means_, "'means_' yet: call fit first", AttributeError),
        (lambda: est.predict(np.zeros((3, 2))), "not fitted yet", NotFittedError),
    )


@pytest.mark.slow
def test_a_hopeless_plan_spends_nothing():
    data = SphericalMixture(2, 2, 9.0).sample(200, 0).points
    est = PrivateGaussianMixture(2, epsilon=4.0, separation=9.0, solver="kmeans").fit(data)
    assert not est.released_ and est.guarantee_.epsilon == 0.0 and "records" in est.plan_.advice
    forced = PrivateGaussianMixture(2, epsilon=4.0, separation=9.0, solver="kmeans", force=True).fit(data)
    assert not forced.released_ and forced.guarantee_.epsilon == 0.0  # its test could never pass
    few = SphericalMixture(2, 2, 9.0).sample(1000, 0).points
    forced = PrivateGaussianMixture(2, 8.0, 1e-3, 9.0, solver="kmeans", force=True).fit(few)
    assert not forced.plan_.feasible and forced.guarantee_.epsilon == pytest.approx(8.0)
    assert forced.released_ or "refusal was to be expected" in forced.advice_


@pytest.mark.slow
def test_unknown_sigma_is_found_on_a_public_grid():
    sample = SphericalMixture(2, 2, 9.0).sample(2000, 5)
    est = PrivateGaussianMixture(2, **FAST, sigma=(0.5, 1.0, 3.0), insecure_seed=6)
    est.fit(3.0 * sample.points)
    assert est.released_ and est.sigma_ == 3.0
    assert centre_error(est.means_, 3.0 * sample.means) < 1.5


@pytest.mark.slow
def test_photographs():
    """A dahlia before leaves is two colours; a temple is not. Every eighth pixel, k-means in the blocks."""
    pytest.importorskip("PIL")
    from problems.gmm.datasets import photograph_pixels

    est = PrivateGaussianMixture(
        2, 4.0, 1e-6, 4.0, sigma=40.0, solver="kmeans", block_size=150, radius=0.7, force=True
    )
    flower = est.fit(photograph_pixels("flower")[::8])
    assert flower.released_ and centre_error(flower.means_, [[-49.4, -20.8], [74.3, 91.8]]) < 4.0
    assert not est.fit(photograph_pixels("china")[::8]).released_
    refuse((lambda: photograph_pixels("cat"), "photographs"))


def test_gross_outliers_do_not_reach_a_block():
    """8 % of a block at sixty sigmas: below 1 with sums of squares, above 50 with k-means (medians)."""
    samples = [SphericalMixture(3, 5, 10.0).sample(100, seed, outliers=0.08) for seed in range(7)]
    robust, plain = (
        float(np.median([centre_error(solve(s.points), s.means) for s in samples]))
        for solve in (SumOfSquaresBlocks(3), kmeans_blocks(3))
    )
    assert robust < 1.0 and plain > 50.0
    lonely = near_means(np.zeros((4, 2)), np.array([[0.5, 0.0], [100.0, 0.0]]))
    assert lonely.tolist() == [[0.0, 0.0], [100.0, 0.0]]  # nothing is near to the second: it stays


test_refusals = refusals(
    *each(as_records, ([], [[1, 2], [3]], np.zeros((2, 2, 2)), np.zeros((0, 3))), "table"),
    (lambda: SumOfSquaresBlocks(2)(np.ones((10, 2))), "equal"),
    (lambda: SumOfSquaresBlocks(3, polish=0)(np.array([[0.0], [0.1], [9.0], [9.1]])), "groups"),
)
