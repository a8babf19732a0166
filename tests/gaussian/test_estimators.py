"""The estimators: errors, contracts, compositions, and that errors depend on public facts only."""

import numpy as np
import pytest
from sklearn.base import clone

from problems.gaussian import (
    FilteredMean,
    PrivateGaussian,
    RobustMean,
    RobustPrivateCovariance,
    RobustPrivateMean,
    plan,
)
from problems.gaussian.estimators.base import groups, shares
from problems.gaussian.estimators.covariance import pairs_of

RNG = np.random.default_rng(0)


def test_a_mean_is_found_and_five_percent_of_garbage_does_not_move_it():
    X = RNG.standard_normal((600, 1)) + 3.0
    dirty = X.copy()
    dirty[:30] = 1e5
    for data, slack in ((X, 0.15), (dirty, 0.35)):
        found = RobustPrivateMean(1.0, radius=1000.0, contamination=0.05).fit(data)
        assert abs(found.mean_[0] - 3.0) < slack + 0.15
        assert found.released_ and found.n_features_in_ == 1
        assert found.guarantee_.kind == "conditional" and found.guarantee_.epsilon <= 1.0


def test_without_a_radius_it_is_found_or_declined_under_the_same_guarantee():
    X = RNG.standard_normal((1500, 1)) + 12345.0
    found = RobustPrivateMean(1.0, delta=1e-6).fit(X)
    assert found.released_ and abs(found.mean_[0] - 12345.0) < 0.3
    few = RobustPrivateMean(0.2, delta=1e-6).fit(X[:20])
    assert not few.released_ and few.mean_ is None
    for one, epsilon in ((found, 1.0), (few, 0.2)):
        assert one.guarantee_.epsilon <= epsilon and one.guarantee_.delta <= 1e-6
        assert one.guarantee_.kind == "conditional" or not one.released_


@pytest.mark.slow
def test_seven_coordinates_share_the_budget():
    X = RNG.standard_normal((1500, 7))
    found = RobustPrivateMean(2.0, radius=10.0).fit(X)
    assert len(found.guarantee_.composition) == 3
    assert 1.9 < found.guarantee_.epsilon <= 2.0
    assert np.linalg.norm(found.mean_ - X.mean(axis=0)) < 0.3


def test_a_variance_is_found_at_any_scale():
    for scale in (0.5, 2.0):
        X = RNG.standard_normal((1200, 1)) * scale
        found = RobustPrivateCovariance(1.0, condition=10.0).fit(X)
        assert found.covariance_[0, 0] == pytest.approx(scale**2, rel=0.35)
        assert found.guarantee_.epsilon <= 1.0
    shifted = RobustPrivateCovariance(1.0, condition=10.0, paired=True).fit(X + 500.0)
    assert shifted.covariance_[0, 0] == pytest.approx(4.0, rel=0.5)


@pytest.mark.slow
def test_a_covariance_matrix_is_found():
    root = np.linalg.cholesky(np.array([[4.0, 1.5], [1.5, 1.0]]))
    X = RNG.standard_normal((3000, 2)) @ root.T
    found = RobustPrivateCovariance(1.0, condition=10.0).fit(X)
    inverse = np.linalg.inv(root)
    assert np.linalg.norm(inverse @ found.covariance_ @ inverse.T - np.eye(2)) < 0.5
    assert np.linalg.eigvalsh(found.covariance_)[0] > 0


def test_mean_and_variance_together():
    X = RNG.standard_normal((1500, 1)) * 2.0 - 7.0
    found = PrivateGaussian(1.5, radius=100.0, condition=10.0).fit(X)
    assert found.covariance_[0, 0] == pytest.approx(4.0, rel=0.4)
    assert abs(found.mean_[0] + 7.0) < 0.6
    assert found.guarantee_.epsilon <= 1.5 and len(found.guarantee_.composition) == 2


def test_groups_and_shares():
    assert groups(7, 3) == [[0, 1, 2], [3, 4], [5, 6]] and groups(3, 3) == [[0, 1, 2]]
    each, at = shares(1.0, 0.0, 4)
    assert each <= 0.25 and at is None
    more, at = shares(1.0, 1e-6, 40)
    assert more > 1.0 / 40 and at == 1e-6


def test_a_record_is_in_one_pair():
    X = RNG.standard_normal((9, 2))
    whole = pairs_of(X)
    assert whole.shape == (4, 2)
    for i in range(9):
        other = X.copy()
        other[i] = 99.0
        assert (pairs_of(other) != whole).any(axis=1).sum() <= 1


@pytest.mark.parametrize(
    "estimator", [RobustPrivateMean(radius=5.0), RobustPrivateCovariance(), PrivateGaussian(radius=9.0)]
)
def test_contract_and_public_errors(estimator):
    assert clone(estimator).get_params() == estimator.get_params()
    for bad in (np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((3, 2, 2)), [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError):
            clone(estimator).fit(bad)
    with pytest.raises(ValueError, match="epsilon"):
        clone(estimator).set_params(epsilon=0.0).fit(np.zeros((10, 1)))
    with pytest.raises(ValueError, match="contamination"):
        clone(estimator).set_params(contamination=0.7).fit(np.zeros((10, 1)))


@pytest.mark.parametrize(
    "data",
    [
        np.full((12, 1), np.nan),
        np.full((12, 1), np.inf),
        np.zeros((12, 1)),
        np.full((12, 1), 1e300),
        np.array([["a"]] * 12, dtype=object),
        np.concatenate([np.zeros((11, 1)), [[np.nan]]]),
    ],
    ids=["nan", "infinite", "constant", "enormous", "words", "one nan"],
)
def test_any_records_are_answered(data, recwarn):
    found = RobustPrivateMean(1.0, radius=5.0).fit(data)
    assert found.mean_.shape == (1,) and abs(found.mean_[0]) <= 5.0
    variance = RobustPrivateCovariance(1.0, condition=4.0).fit(data)
    assert np.isfinite(variance.covariance_).all() and variance.covariance_[0, 0] > 0
    assert not recwarn.list


def test_parameters_out_of_range_are_told():
    X = np.zeros((10, 1))
    for estimator, words in [
        (RobustPrivateMean(), "radius"),
        (RobustPrivateMean(radius=-1.0), "radius"),
        (RobustPrivateMean(radius=1.0, group=9), "group"),
        (RobustPrivateMean(radius=1.0, sigma=0.0), "sigma"),
        (RobustPrivateMean(radius=1.0, lam=-2.0), "lam"),
        (RobustPrivateCovariance(condition=0.5), "condition"),
        (PrivateGaussian(radius=5.0, split=1.0), "split"),
        (PrivateGaussian(radius=1e12, condition=1e4), "too fine"),
        (RobustPrivateMean(radius=1e15), "at most 2.39"),
        (RobustPrivateMean(radius=1e11, sigma=1e-6), "too fine"),
        (RobustPrivateMean(radius=1.0, sigma=1e-146), "sigma"),
        (RobustPrivateMean(delta=1e-3, sigma=1e-13), "sigma"),
        (RobustPrivateCovariance(condition=1e5), "condition"),
    ]:
        with pytest.raises(ValueError, match=words):
            estimator.fit(X)
    with pytest.raises(ValueError, match="at most 6"):
        RobustPrivateCovariance().fit(np.zeros((10, 7)))


def test_plans_say_when_n_is_too_small():
    good, bad = plan(5000, 2, 1.0), plan(40, 5, 0.1)
    assert good.enough and good.private_error < good.sampling_error < good.total
    assert not bad.enough and "records would do" in bad.advice
    assert plan(4000, 2, 1.0, what="covariance").private_error > good.private_error
    assert plan(5000, 2, 1.0, contamination=0.1).private_error > 0.1
    for call in (lambda: plan(1, 1, 1.0), lambda: plan(10, 1, 1.0, what="mode"), lambda: plan(10, 1, -1.0)):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (RobustPrivateMean(radius=1.0), "mean_"),
        (RobustPrivateCovariance(), "covariance_"),
        (PrivateGaussian(radius=1.0), "covariance_"),
        (RobustPrivateMean(radius=1.0), "guarantee_"),
        (RobustMean(), "mean_"),
        (FilteredMean(), "kept_"),
    ],
)
def test_before_fit_an_attribute_says_so(estimator, name):
    assert not hasattr(estimator, name)
    with pytest.raises(AttributeError, match="call fit first"):
        getattr(estimator, name)
