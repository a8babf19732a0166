"""Before a fit: every estimator says what to expect, from which n or budget on, and what would work now."""

import importlib
import inspect
import math
import pkgutil
import time

import numpy as np
import pytest

import problems.cuts as cuts
import problems.gaussian as gaussian
import problems.gmm as gmm
import problems.mrf as mrf
import problems.sbm as sbm
import problems.tuples as tuples
from sosdp.estimator.base import ReleasingEstimator
from sosdp.estimator.planner import MOST_RECORDS
from sosdp.privacy import Table

BOTH = {"epsilon": 1.0, "delta": 1e-6}
FRAME = {"bounds": (-9, 9), "contamination": 0.05}
GRAPH = {"average_degree": 100.0, "gamma": 0.8}
STRONG = {"average_degree": 300.0, "gamma": 0.8}
WEAK = {"average_degree": 4.0, "gamma": 0.3}
DENSE = {"edges": 2e6, "contrast": 0.8}

# an estimator, what it is asked about, and n or a budget at which it is hopeless
OUTLOOKS = {
    "mean": (gaussian.PrivateMean(**BOTH, **FRAME), 5000, {"d": 3}, {"n": 20}),
    "covariance": (gaussian.PrivateCovariance(**BOTH, **FRAME), 50_000, {"d": 3}, {"n": 20}),
    "gaussian": (gaussian.PrivateGaussian(**BOTH, **FRAME), 50_000, {"d": 3}, {"n": 20}),
    "pca": (gaussian.PrivatePCA(**BOTH, **FRAME), 50_000, {"d": 3}, {"n": 20}),
    "linear": (gaussian.PrivateLinearRegression(**BOTH, **FRAME), 50_000, {"d": 3}, {"n": 20}),
    "logistic": (gaussian.PrivateLogisticRegression(**BOTH, **FRAME), 50_000, {"d": 3}, {"n": 20}),
    "poisson": (gaussian.PrivatePoissonRegression(**BOTH, **FRAME), 50_000, {"d": 3}, {"n": 20}),
    "mixture": (gmm.PrivateGaussianMixture(3, **BOTH), 50_000, {"d": 2}, {"n": 150}),
    "k-means": (tuples.PrivateKMeans(3, **BOTH), 50_000, {"d": 2}, {"n": 150}),
    "mixture fit": (tuples.PrivateGaussianMixtureFit(3, **BOTH), 50_000, {"d": 2}, {"n": 150}),
    "moments": (mrf.MomentsIsing(1.0, **BOTH), 50_000, {"d": 8}, {"n": 20}),
    "gradient": (mrf.GradientIsing(1.0, **BOTH), 50_000, {"d": 8}, {"n": 20}),
    "Frank-Wolfe": (mrf.FrankWolfeIsing(1.0, **BOTH), 50_000, {"d": 8}, {"n": 20}),
    "pairwise": (mrf.FrankWolfePairwise(0.5, 3, **BOTH), 200_000, {"d": 5}, {"n": 20}),
    "t-wise": (mrf.FrankWolfeTWise(0.8, 3, **BOTH), 50_000, {"d": 5}, {"n": 20}),
    "sparse logistic": (mrf.PrivateSparseLogistic(2.0, **BOTH), 50_000, {"d": 20}, {"n": 20}),
    "tree": (mrf.ChowLiuTree(**BOTH), 20_000, {"d": 8}, {"n": 20}),
    "correlations": (mrf.CorrelationGraph(0.3, **BOTH), 20_000, {"d": 8, "strength": 0.1}, {"n": 20}),
    "voted": (mrf.VotedStructure(1.0, 0.2, **BOTH), 100_000, {"d": 8}, {"n": 20}),
    "certificate": (sbm.CertificateRecovery(**BOTH), 1000, STRONG, {"epsilon": 0.02}),
    "flips": (sbm.RandomizedResponseRecovery(1.0), 1000, GRAPH, WEAK),
    "sparse flips": (sbm.SparseFlipsRecovery(4.0), 1000, GRAPH, WEAK),
    "projection": (sbm.ProjectionRecovery(1.0, 1e-6, 0.8, 200.0), 1000, {}, {"epsilon": 0.01}),
    "voting": (sbm.VotingRecovery(1.0, 1e-6, 0.8, 200.0), 1000, {}, {"epsilon": 0.01}),
    "exponential": (sbm.ExponentialRecovery(1.0, 16.0), 30, {"gamma": 0.8}, {"epsilon": 0.01}),
    "rounds": (sbm.RoundsRecovery(**BOTH, **GRAPH), 1000, {}, {"epsilon": 0.01}),
    "rounds, three": (sbm.RoundsRecovery(**BOTH, gamma=0.8, average_degree=100.0, communities=3), 9000, {},
                      {"epsilon": 0.01}),
    "communities": (sbm.CommunitiesRecovery(2.0, 3), 1000, {**GRAPH, "gamma": 0.45}, WEAK),
    "stars": (sbm.StarsRecovery(2.0, gamma=0.8, average_degree=100.0), 1000, {}, {"epsilon": 0.01}),
    "vertex": (sbm.VertexRecovery(4.0, 1e-6, 0.8, 3000.0), 10_000, {}, {"epsilon": 0.05}),
    "votes": (sbm.MajorityVoteRecovery(1.0, np.ones(1000)), 1000, GRAPH, {"epsilon": 0.001}),
    "auto": (sbm.AutoRecovery(**BOTH), 1000, STRONG, {"epsilon": 0.01}),
    "cut": (cuts.CutRelease(1.0), 4000, DENSE, {"edges": 8000.0}),
    "cut queries": (cuts.QueryRelease(10.0, 1e-6), 4000, DENSE, {"edges": 100.0}),
    "offline": (cuts.OfflineRelease(1.0), 4000, DENSE, {"edges": 8000.0}),
}  # fmt: skip


def concrete():
    """Every private estimator of the six packages."""
    for package in "cuts gaussian gmm mrf sbm tuples".split():
        folder = importlib.import_module(f"problems.{package}.estimators")
        for module in pkgutil.iter_modules(folder.__path__):
            importlib.import_module(f"{folder.__name__}.{module.name}")
    left = [ReleasingEstimator]
    while left:
        made = left.pop()
        left += made.__subclasses__()
        if made.__module__.startswith("problems.") and "insecure_seed" in made._declared:
            if not inspect.isabstract(made) and made.__module__ != "problems.sbm.estimators.base":
                yield made


def test_every_estimator_is_here():
    those = {type(made) for made, *_ in OUTLOOKS.values()}
    assert {made.__name__ for made in concrete()} == {made.__name__ for made in those}


@pytest.mark.few(9)
@pytest.mark.parametrize("name", OUTLOOKS)
def test_outlook(name):
    made, n, facts, hopeless = OUTLOOKS[name]
    seen = made.outlook(n, *facts.values()) if [*facts] == ["d"] else made.outlook(n, **facts)
    assert seen.answers and 0 <= seen.error < made._forecasts.useful and seen.measure in repr(seen)
    given = made.epsilon if hasattr(made, "epsilon") else made.rho
    assert seen.least_budget <= 1.06 * given
    if made._forecasts.grows:
        assert seen.least_n is not None and seen.least_n <= 1.03 * n
        assert made.outlook(seen.least_n, **facts).answers
        assert not made.outlook(max(2, int(seen.least_n / 1.1) - 1), **facts).answers
    else:
        assert seen.least_n is None
    parameters = {key: value for key, value in hopeless.items() if key in made.get_params()}
    rest = {key: value for key, value in hopeless.items() if key not in (*parameters, "n")}
    other = type(made)(**{**made.get_params(deep=False), **parameters})
    poor = other.outlook(hopeless.get("n", n), **{**facts, **rest})
    assert not poor.answers and poor.simpler in repr(poor)
    assert made._forecasts.grows is (poor.least_n is not None) and poor.least_n != MOST_RECORDS
    assert poor.least_budget > (other.epsilon if hasattr(other, "epsilon") else other.rho)


def test_a_half_of_the_records_is_forecast_where_the_other_answers_parities():
    whole, half = (mrf.FrankWolfeTWise(0.8, 3, **BOTH, target=target) for target in ("all", "maximal"))
    assert half._expected(20_000, d=5) == whole._expected(10_000, d=5) > whole._expected(20_000, d=5)


def test_the_unit_of_a_mean_of_all_records_is_that_of_its_bounds():
    for bounds, contamination, unit in (((-9, 9), 0.0, "half-widths"), ((-9, 9), 0.05, "deviations"),
                                        (None, 0.0, "deviations")):  # fmt: skip
        made = gaussian.PrivateMean(**BOTH, bounds=bounds, contamination=contamination)
        assert unit in (measure := made.outlook(5000, d=2).measure), measure
        assert ("half-widths" in measure) is (unit == "half-widths")


HOPELESS = ["mean", "covariance", "gaussian", "pca", "mixture", "k-means", "mixture fit"]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", HOPELESS)
def test_a_hopeless_fit_is_refused_at_once_and_costs_nothing(name):
    made, data = OUTLOOKS[name][0], np.random.default_rng(0).standard_normal((20, 2))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        try:
            fitted = type(made)(**made.get_params(deep=False)).fit(data)
            assert not fitted.released_ and fitted.guarantee_.epsilon == 0 and "records" in fitted.advice_
        except gaussian.TooFewRecords as refusal:
            assert refusal.needed > 20
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1


def test_tables_say_how_many_records_are_enough():
    schema = {"format": "sosdp-schema/1", "columns": {"v": {"type": "number", "low": 0, "high": 10}}}
    those = Table([], schema, 1.0).count().sum("v").mean("v").quantiles("v", [0.5]).histogram("v")
    for row in those.plan(1000).rows:
        error, below = ({one["statistic"]: one for one in those.plan(n).rows}[row["statistic"]]["error"]
                        for n in (row["enough"], 0.9 * row["enough"]))  # fmt: skip
        whole = {"count": row["enough"], "histogram": row["enough"], "sum": 10 * row["enough"]}
        size = whole.get(row["statistic"], 10.0)
        assert error <= 0.1 * size * (1 + 1e-9) and below > 0.1 * size * 0.9 * 0.9


def test_auto_names_a_method_that_would_work_now():
    """It advised delta = 0 to whoever had that already."""
    tiny = sbm.AutoRecovery(1.0).outlook(34, average_degree=4.6, gamma=0.7)
    assert not tiny.answers and tiny.simpler.startswith("ExponentialRecovery")
    large = sbm.AutoRecovery(4.0, 1e-6).outlook(1000, average_degree=30.0, gamma=0.8)
    assert not large.answers and large.simpler.startswith("RandomizedResponseRecovery")


def test_what_is_missing_is_named():
    for made, said in (
        (sbm.RandomizedResponseRecovery(1.0), "average_degree and gamma"),
        (cuts.CutRelease(1.0), "edges must be a number, got None"),
        (mrf.FrankWolfePairwise(0.5, 3, epsilon=1.0, delta=0.0, ball="groups"), "delta > 0"),
    ):
        with pytest.raises(ValueError, match=said):
            made.outlook(100)
    assert math.isinf(gmm.PrivateGaussianMixture(3, mode="paper").outlook(10_000, d=2).least_budget)
