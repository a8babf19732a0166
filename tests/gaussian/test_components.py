"""Private principal components: eigenvectors of the released covariance, and forecasts that hold."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from problems.gaussian import PrivateGaussian, PrivatePCA
from tests.refusals import refuse

OPTIONS = {"delta": 1e-6, "bounds": None, "contamination": 0.03}


def spread(n: int, d: int, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Records with eigenvalues 9, 5, 3, 1, ..., 1, and the eigenvectors (d, d) as columns."""
    g = np.random.default_rng([run, n, d])
    axes = np.linalg.qr(g.standard_normal((d, d)))[0]
    values = np.concatenate([[9.0, 5.0, 3.0], np.ones(d - 3)])
    return g.standard_normal((n, d)) * np.sqrt(values) @ axes.T + 50.0, axes


def sine(components: np.ndarray, axes: np.ndarray) -> float:
    return float(np.linalg.norm(components - components @ axes @ axes.T, 2))


def test_angles_are_what_was_forecast():
    angles, forecasts = [], []
    for run in range(5):
        X, axes = spread(20000, 6, run)
        X[:300] = 1e4
        model = PrivatePCA(1.0, n_components=3, **OPTIONS).fit(X)
        angles.append(sine(model.components_, axes[:, :3]))
        forecasts.append(model.subspace_angle_)
        assert model.told_apart_.all() and model.within_plan_
    assert 0.4 * np.median(forecasts) < np.median(angles) < 1.5 * np.median(forecasts) < 0.1
    assert model.explained_variance_ == pytest.approx([9.0, 5.0, 3.0], rel=0.15)
    assert model.explained_variance_ratio_.sum() == pytest.approx(17.0 / 20.0, abs=0.03)


def test_components_that_are_alike_are_not_told_apart():
    X, _ = spread(20000, 6, 7)
    model = PrivatePCA(1.0, n_components=5, **OPTIONS).fit(X)
    assert model.told_apart_.tolist() == [True, True, True, False, False]


def test_it_is_a_function_of_the_release_of_a_gaussian():
    X, _ = spread(20000, 4, 8)
    whole = PrivateGaussian(1.0, insecure_seed=1, **OPTIONS).fit(X)
    model = PrivatePCA(1.0, insecure_seed=1, n_components=2, **OPTIONS).fit(X)
    assert np.array_equal(model.covariance_, whole.covariance_)
    for row, value in zip(model.components_, model.explained_variance_, strict=True):
        assert whole.covariance_ @ row == pytest.approx(value * row, abs=1e-9)
    units = np.array([1e-3, 1.0, 1e4, 10.0])
    scaled = PrivatePCA(1.0, insecure_seed=1, n_components=2, standardise=True, **OPTIONS).fit(X * units)
    assert scaled.scale_ / units == pytest.approx(np.sqrt(np.diag(whole.covariance_)), rel=0.1)


def test_contract():
    X, _ = spread(20000, 3, 9)
    model = PrivatePCA(1.0, n_components=2, **OPTIONS)
    coordinates = make_pipeline(FunctionTransformer(), model).fit_transform(X)
    assert coordinates.shape == (20000, 2) and np.abs(np.median(coordinates, axis=0)).max() < 0.3
    X[0] = np.nan
    assert np.array_equal(model.transform(X[:1]), [[0.0, 0.0]])
    refuse(
        (lambda: PrivatePCA(1.0, n_components=4, **OPTIONS).plan(20000, 3), "more than the 3 columns"),
        (lambda: model.transform(X[:, :1]), "features"),
    )
