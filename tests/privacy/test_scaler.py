"""Pipelines: what stands before a private estimator is named, and a scaler that is inside the guarantee."""

import warnings

import numpy as np
import pytest

from problems.gaussian import PrivateLinearRegression, PrivateMean
from problems.mrf import MomentsIsing
from sosdp.estimator.base import FittedBefore
from sosdp.estimator.scaler import PrivateScaler
from sosdp.privacy.guarantee.guarantee import compose
from tests.refusals import refuse

X = np.random.default_rng(0).normal([50.0, -3.0], [10.0, 2.0], size=(4000, 2))


def test_it_centres_and_scales_within_one_budget():
    scaler = PrivateScaler(epsilon=6.0, bounds=[(0, 120), (-20, 20)], insecure_seed=1).fit(X)
    assert np.abs(scaler.center_ - [50, -3]).max() < 1 and np.abs(scaler.scale_ / [10, 2] - 1).max() < 0.15
    release = PrivateScaler(epsilon=6.0, bounds=[(0, 120), (-20, 20)]).fit(X)
    assert release.guarantee_.statement() == "6-DP and 0.75-zCDP for one record (replace) [exact]"
    assert len(release.guarantee_.composition) == 6
    missing = X.copy()
    missing[:1500, 0] = np.nan
    again = PrivateScaler(epsilon=6.0, bounds=[(0, 120), (-20, 20)], insecure_seed=1).fit(missing)
    assert abs(again.center_[0] - 50) < 1.5  # what is missing counts in no quantile
    refuse((lambda: PrivateScaler(bounds=[1, 2, 3]).fit(X), "bounds"))


def test_steps_that_learn_without_a_guarantee_are_named():
    pipeline = pytest.importorskip("sklearn.pipeline")
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    line = PrivateLinearRegression(30.0, delta=1e-6, bounds=(-99, 99), contamination=0.0)
    with pytest.warns(FittedBefore, match="the pipeline fitted transformer to"):
        TransformedTargetRegressor(line, transformer=StandardScaler()).fit(X, X[:, 0])
    mean = PrivateMean(1.0, bounds=(-9, 9), contamination=0.0, interval=None)
    with pytest.warns(FittedBefore, match="standardscaler"):
        pipeline.make_pipeline(StandardScaler(), mean).fit(X)
    with pytest.warns(FittedBefore, match="privatescaler"):
        pipeline.make_pipeline(PrivateScaler(1.0, bounds=(-99, 99), insecure_seed=1), mean).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.make_pipeline(FunctionTransformer(np.tanh), mean).fit(X)
        pipeline.make_pipeline("passthrough", mean).fit(X)
        fitted = pipeline.make_pipeline(PrivateScaler(1.0, bounds=(-99, 99)), mean).fit(X)
        TransformedTargetRegressor(line, func=np.sinh, inverse_func=np.arcsinh).fit(X, X[:, 0])
        scaler = PrivateScaler(1.0, bounds=(-99, 99))
        private = TransformedTargetRegressor(line, transformer=scaler, check_inverse=False).fit(X, X[:, 0])
        assert private.regressor_.guarantee_.kind == "exact"
        StandardScaler().fit(X)
        mean.fit(X)
    assert compose([step.guarantee_ for step in fitted.named_steps.values()]).epsilon == 2.0


def test_frames_give_names_and_frames_come_out():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "score"])
    scaler = PrivateScaler(5.0, bounds=(-150, 150)).set_output(transform="pandas")
    out = scaler.fit_transform(frame)
    assert list(out.columns) == ["age", "score"] == scaler.feature_names_in_.tolist()
    field = MomentsIsing(1.0, epsilon=1.0).fit(frame)
    assert field.feature_names_in_.tolist() == ["age", "score"]
    assert not hasattr(field.fit(X), "feature_names_in_")  # those of an earlier fit are gone
    refuse(
        (lambda: MomentsIsing(1.0, epsilon=1.0).fit(frame.assign(name="x")), "'name'", TypeError),
        (lambda: scaler.set_output(transform="polars"), "transform must be", ValueError),
        (lambda: scaler.transform(X[:, :1]), "expecting 2 features", ValueError),
    )
