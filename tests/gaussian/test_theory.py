"""Proven statements about the completion score against certified brackets, and the robust means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from problems.gaussian import theory
from problems.gaussian.estimators.not_private import FilteredMean, RobustMean
from sosdp.structured.packing import solve


def bracket(records, candidate, lam, tolerance=1e-6):
    n, d = records.shape
    rows = np.hstack([records - candidate, np.ones((n, 1))])
    return solve(rows, np.append(np.full(d, n * lam), n), tolerance=tolerance)


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
def test_separation_and_lipschitz_for_all_data():
    informative = 0
    for generator, records, lam in cases(60, 11):
        n, d = records.shape
        one = records[0] + generator.normal(size=d)
        step = generator.normal(size=d)
        u = float(np.linalg.norm(step))
        first, second = bracket(records, one, lam), bracket(records, one + step, lam)
        assert first.high + second.high >= theory.separation(u, n, lam) - 1e-7
        kappa = theory.lipschitz(u, lam)
        assert second.low <= first.high + kappa * (n - first.low) + 1e-7
        assert abs(first.low - second.low) <= n * u / math.sqrt(lam) + 1e-5
        informative += first.high < n - 1e-3
    assert informative > 20


@pytest.mark.parametrize(("n", "T"), [(20, 2), (40, 2), (100, 5), (100, 10)])
def test_the_extremal_example(n, T):
    records, lam, c = theory.extremal_example(n, T)
    for candidate in (-c, c):
        result = bracket(records, candidate, lam)
        assert result.low == pytest.approx(T, abs=1e-6) and result.high == pytest.approx(T, abs=1e-6)
    middle = bracket(records, 0.0, lam)
    expected = T + theory.quasi_convexity_defect(T, n)
    assert middle.low == pytest.approx(expected, abs=1e-6) and middle.high == pytest.approx(
        expected, abs=1e-6
    )


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


def test_accuracy_holds_on_corrupted_data():
    # resilience is measured on the axes only; in one dimension that is all of it
    for run, eta in enumerate((0.02, 0.05, 0.1)):
        generator = np.random.default_rng(run)
        n = 400
        honest = generator.normal(size=(n, 1))
        data = honest.copy()
        data[: int(eta * n)] = 3.0
        d1, d2 = theory.trimmed_moments(honest, np.zeros(1), eta)
        lam = 1.2
        bound = theory.accuracy(eta, lam, d1, d2)
        for candidate in np.linspace(-2.0, 2.0, 21):
            if bracket(data, candidate, lam).high <= eta * n:
                assert abs(candidate) <= bound
        assert bracket(data, bound + 0.01, lam).low > eta * n


def test_resilience_of_the_normal_distribution():
    records = np.random.default_rng(0).normal(size=(100_000, 2))
    for eta in (0.01, 0.05):
        expected = theory.gaussian_resilience(eta)
        assert theory.trimmed_moments(records, np.zeros(2), eta) == pytest.approx(expected, abs=0.02)
    assert theory.gaussian_resilience(0.0) == (0.0, 0.0)


def test_inverse_functions_and_limits():
    for kappa in (0.01, 0.3, 0.9):
        assert theory.lipschitz(theory.level_radius(kappa, 1.7), 1.7) == pytest.approx(kappa)
    eta, lam = 0.1, 1.4
    diameter = theory.level_diameter(eta, lam)
    assert theory.separation(diameter, 100, lam) == pytest.approx(2 * eta * 100)
    assert theory.level_diameter(0.5, 1.0) == math.inf == theory.accuracy(0.5, 1.2, 0.0, 0.0)
    # 4.5 nats a dimension at eta = .1
    assert theory.log_volume_ratio(0.1, 1) == pytest.approx(4.506, abs=1e-3)
    assert theory.log_volume_ratio(0.1, 3) == pytest.approx(3 * 4.5055, abs=1e-3)
    with pytest.raises(ValueError):
        theory.quasi_convexity_defect(5, 10)


def test_the_radius_costs_only_its_logarithm():
    small, large = theory.least_records(3, 1.0, 10.0), theory.least_records(3, 1.0, 1e5)
    assert small < large < 5 * small
    lam = theory.default_lam(large, 3)
    near, far = (theory.score_quantile(large, 3, 1.0, radius, lam) for radius in (10.0, 1e5))
    assert math.isfinite(far) and near <= far < 1.5 * near
    assert math.isinf(theory.score_quantile(small - 1, 3, 1.0, 10.0, theory.default_lam(small - 1, 3)))


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
    with pytest.raises(ValueError, match="contamination"):
        RobustMean(contamination=0.7).fit(data)
    with pytest.raises(ValueError, match="shape"):
        FilteredMean().fit(np.zeros((2, 2, 2)))
