"""Proven statements about the completion score against certified brackets, and the robust means."""

import math

import numpy as np
import pytest

from problems.gaussian import theory
from problems.gaussian.estimators.not_private import FilteredMean, RobustMean
from tests.gaussian.test_scores import bracket
from tests.refusals import refuse


def cases(count, seed):
    """Random and adversarial small data: equal records, far records, two clusters."""
    generator = np.random.default_rng(seed)
    for k in range(count):
        n, d = int(generator.integers(2, 9)), int(generator.integers(1, 4))
        records = generator.normal(size=(n, d)) * 10.0 ** generator.integers(-1, 2)
        if k % 4 == 1:
            records[:] = records[0]
        elif k % 4 == 2:
            records[0] = 1e3
        elif k % 4 == 3:
            records[: n // 2] += 5.0
        yield generator, records, float(generator.uniform(0.2, 3.0))


@pytest.mark.slow
def test_separation_and_slow_growth_for_all_data():
    informative = 0
    for generator, records, lam in cases(60, 11):
        n, d = records.shape
        one = records[0] + generator.normal(size=d)
        kappa, step = float(generator.uniform(0.05, 0.9)), generator.normal(size=d)
        u = theory.level_radius(kappa, lam)
        step *= u / np.linalg.norm(step)
        first, second = bracket(records, one, lam), bracket(records, one + step, lam)
        assert first.high + second.high >= theory.separation(u, n, lam) - 1e-7
        assert second.low <= first.high + kappa * (n - first.low) + 1e-7
        assert abs(first.low - second.low) <= n * u / math.sqrt(lam) + 1e-5
        informative += first.high < n - 1e-3
    assert informative > 20


@pytest.mark.slow
def test_the_defect_is_never_larger():
    generator = np.random.default_rng(2)
    checked = 0
    for _ in range(60):
        n, d = int(generator.integers(12, 40)), int(generator.integers(1, 3))
        records = generator.normal(size=(n, d))
        lam = float(generator.uniform(0.9, 1.5))
        ends = records.mean(axis=0) + generator.normal(size=(2, d)) * 0.4
        scores = [bracket(records, end, lam).high for end in ends]
        top = max(scores)
        if top <= n / 3:
            share = generator.uniform()
            between = bracket(records, share * ends[0] + (1 - share) * ends[1], lam)
            assert between.low <= top + theory.quasi_convexity_defect(top, n) + 1e-9
            checked += 1
    assert checked > 20


def test_limits():
    diameter = theory.level_diameter(0.1, 1.4)
    assert theory.separation(diameter, 100, 1.4) == pytest.approx(2 * 0.1 * 100)
    assert theory.level_diameter(0.5, 1.0) == math.inf
    refuse((lambda: theory.quasi_convexity_defect(5, 10),))


def test_robust_means_where_the_mean_breaks():
    generator = np.random.default_rng(1)
    n, d, eta = 600, 4, 0.1
    data = generator.normal(size=(n, d))
    data[: int(eta * n)] = 15.0
    plain = float(np.linalg.norm(data.mean(axis=0)))
    robust = RobustMean(contamination=eta).fit(data)
    filtered = FilteredMean(contamination=eta).fit(data)
    assert plain > 2.5
    assert np.linalg.norm(robust.mean_) < 0.3 and np.linalg.norm(filtered.mean_) < 0.3
    assert not filtered.kept_[: int(eta * n)].any()
    # the score found is the number of far records, nearly
    assert robust.score_low_ <= robust.score_high_ <= eta * n
    assert robust.score_low_ > 0.9 * eta * n and robust.weights_[: int(eta * n)].max() < 0.1


def test_robust_means_on_clean_data_are_the_mean():
    data = np.random.default_rng(4).normal(size=(500, 2)) + 3.0
    result = RobustMean(lam=1.4).fit(data)  # above the sample's covariance
    assert result.mean_ == pytest.approx(data.mean(axis=0)) and result.score_high_ < 1e-3
    assert FilteredMean(0.05).fit(data).kept_.all()
    refuse(
        (lambda: RobustMean(contamination=0.7).fit(data), "contamination"),
        (lambda: FilteredMean().fit(np.zeros((2, 2, 2))), "shape"),
    )
