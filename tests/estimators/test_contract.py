"""What every estimator promises: scikit-learn's contract; nothing but the release gets out."""

import inspect
import json
import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import problems.cuts as cuts
import problems.gaussian as gaussian
import problems.gmm as gmm
import problems.mrf as mrf
import problems.sbm as sbm
import problems.tuples as tuples
from sosdp.estimator.scaler import PrivateScaler
from tests.refusals import each, refuse

BOTH = {"epsilon": 1.0, "delta": 1e-6}
PLANTED = sbm.StochasticBlockModel(60, 30, 0.9).sample(0).adjacency
STATES = mrf.grid(2, 2, 0.4).sample(400, 3)
NUMBERS = np.random.default_rng(4).standard_normal((900, 2))


class Labelled(mrf.PrivateSparseLogistic):
    """The classifier, its labels alternating, so that it can be treated like the others."""

    def fit(self, X, y=None):
        return super().fit(X, np.arange(X.shape[0]) % 2)


READY: dict[str, tuple[Any, Any]] = {
    "certificate": (sbm.CertificateRecovery(**BOTH), PLANTED),
    "projection": (sbm.ProjectionRecovery(1.0, 1e-6, 0.8, 10.0), PLANTED),
    "flips": (sbm.RandomizedResponseRecovery(1.0), PLANTED),
    "voting": (sbm.VotingRecovery(1.0, 1e-6, 0.8, 10.0), PLANTED),
    "voting, split": (sbm.VotingRecovery(1.0, 1e-6, 0.8, 10.0, split=0.5), PLANTED),
    "rounds": (sbm.RoundsRecovery(1.0, 1e-6, 0.9, 30.0), PLANTED),
    "communities": (sbm.CommunitiesRecovery(1.0, 3), PLANTED),
    "cut": (cuts.CutRelease(1.0), PLANTED),
    "mean": (gaussian.PrivateMean(1.0, bounds=(-9, 9), contamination=0.0), NUMBERS),
    "gaussian": (
        gaussian.PrivateGaussian(4.0, delta=1e-3, bounds=(-9, 9), contamination=0.0),
        NUMBERS[:, :1],
    ),
    "scaler": (PrivateScaler(1.0, bounds=(-9, 9)), NUMBERS),
    "mixture": (gmm.PrivateGaussianMixture(2, solver="kmeans", **BOTH), NUMBERS),
    "k-means": (tuples.PrivateKMeans(2, **BOTH), NUMBERS),
    "mixture fit": (tuples.PrivateGaussianMixtureFit(2, **BOTH), NUMBERS),
    "tree": (mrf.ChowLiuTree(), STATES),
    "correlations": (mrf.CorrelationGraph(0.3), STATES),
    "Frank-Wolfe": (mrf.FrankWolfeIsing(0.8, threshold=0.1, iterations=5), STATES),
    "pairwise": (mrf.FrankWolfePairwise(0.8, 3, iterations=4, threshold=0.1), STATES),
    "gradient": (mrf.GradientIsing(0.8, threshold=0.1, iterations=5), STATES),
    "moments": (mrf.MomentsIsing(0.8, threshold=0.1), STATES),
    "t-wise": (mrf.FrankWolfeTWise(0.8, 3, target="maximal", iterations=4), STATES),
    "logistic": (Labelled(iterations=4), STATES),
    "voted": (mrf.VotedStructure(0.8, 0.1, blocks=4, iterations=5), STATES),
}


def text(release):
    return json.dumps(release.to_dict())


@pytest.mark.parametrize("name", READY)
def test_contract(name):
    made, data = READY[name]
    fresh = clone(made)
    assert fresh is not made and fresh.get_params() == made.get_params()
    names = set(inspect.signature(type(made)).parameters)
    assert set(made.get_params()) == names >= {"epsilon", "insecure_seed"}
    assert "epsilon" in repr(fresh.set_params(epsilon=2.5)) and fresh.epsilon == 2.5 != made.epsilon
    fresh = clone(made)
    for attribute in ("guarantee_", "release_", "released_"):
        assert not hasattr(fresh, attribute)
        with pytest.raises(AttributeError, match="call fit first"):
            getattr(fresh, attribute)
    assert pickle.loads(pickle.dumps(fresh)).get_params() == fresh.get_params()

    assert fresh.fit(data) is fresh and not hasattr(made, "release_")
    promise = fresh.guarantee_
    assert promise.is_private and promise.epsilon <= made.epsilon and promise == fresh.release_.guarantee
    assert json.loads(text(fresh.release_))["format"] == "sosdp-release/1"
    again = pickle.loads(pickle.dumps(fresh))
    assert text(again.release_) == text(fresh.release_)
    assert again.release_.private_diagnostics == {}


def test_a_fit_that_fails_changes_nothing(monkeypatch):
    """A guarantee of 1-DP stood beside an interaction that had begun at 50-DP, on another graph."""
    moments = mrf.MomentsIsing(0.8).fit(STATES)
    queries = cuts.QueryRelease(1.0, 1e-6, insecure_seed=0).fit(PLANTED)
    monkeypatch.setattr(cuts.QueryRelease, "_start", lambda self: np.zeros(1 << 50))
    for made, data, error in ((moments, STATES[:, :1], ValueError), (queries, PLANTED, MemoryError)):
        before = dict(vars(made.set_params(epsilon=0.5)))
        refuse((lambda made=made, data=data: made.fit(data), None, error))
        assert all(vars(made)[name] is value for name, value in before.items()) and vars(made).keys() == (
            before.keys()
        )


@pytest.mark.parametrize("name", READY)
def test_a_seed_voids_the_guarantee_and_repeats_the_release(name):
    made, data = READY[name]
    first, second = (clone(made).set_params(insecure_seed=3).fit(data) for _ in range(2))
    assert text(first.release_) == text(second.release_)
    spent = clone(made).fit(data).guarantee_.epsilon > 0.0  # a plan that cannot succeed spends nothing
    assert not spent or (first.guarantee_.kind == "none" and first.guarantee_.epsilon is None)


class Unread:
    """Data that may not be touched before the parameters are checked."""

    shape = (400, 4)

    def __getattr__(self, name):
        raise AssertionError("the data were read")

    __array__ = __len__ = __iter__ = lambda self, *a, **k: self.read


@pytest.mark.parametrize("name", READY)
def test_budgets_out_of_range_are_refused_before_the_data_are_read(name):
    made, data = READY[name]
    if name not in ("mean", "mixture"):  # these look at the shape first
        data = Unread()
    refuse(
        *each(
            lambda epsilon: clone(made).set_params(epsilon=epsilon).fit(data),
            (0.0, -1.0, float("nan"), float("inf"), "1", True),
            "epsilon",
        )
    )
    if "delta" in made.get_params():
        refuse(
            *each(
                lambda delta: clone(made).set_params(delta=delta).fit(data),
                (1.0, -0.1, 2.0, float("nan")),
                "delta",
            )
        )


class Rude:
    """An entry whose every conversion raises."""

    def __float__(self, *arguments, **options):
        raise RuntimeError("secret")

    __array__ = __index__ = __eq__ = __lt__ = __float__
    __hash__ = object.__hash__


ENTRIES = [np.nan, np.inf, -np.inf, 1e308, 10**400, None, "text", b"x", [1], Rude(), 1j]


@pytest.mark.parametrize("name", [n for n, (_, data) in READY.items() if isinstance(data, np.ndarray)])
def test_hostile_entries_raise_nothing_and_change_no_promise(name, recwarn):
    made, data = READY[name]
    hostile = data.astype(object)
    for row, entry in enumerate(ENTRIES):
        hostile[row, -1] = entry
    clean, fitted = (clone(made).set_params(insecure_seed=1).fit(table) for table in (data, hostile))
    assert fitted.guarantee_ == clean.guarantee_
    assert repr(fitted.release_.public) == repr(clean.release_.public)
    if data is STATES:  # a record with such an entry is the record of zeros
        fixed = data.astype(float)
        fixed[: len(ENTRIES)] = 0.0
        assert text(clone(made).set_params(insecure_seed=1).fit(fixed).release_) == text(fitted.release_)
    assert not recwarn.list


PATH, SOME = nx.path_graph(4), np.zeros((99, 2))
REFUSED: list[tuple[Callable[..., Any], dict[str, Any], list[dict[str, Any]], Any]] = [
    (sbm.CertificateRecovery, BOTH, [
        {"delta": 0.6}, {"delta": 0.0}, {"tau": 0.5, "average_degree": 3.0}, {"tau": float("nan")},
        {"average_degree": -1.0}, {"tau0": 0.0}, {"tau0": 1e-15}, {"weight_bound": 0.0}], PATH),
    (sbm.ProjectionRecovery, {**BOTH, "gamma": 0.5, "average_degree": 10.0}, [
        {"gamma": 0.0}, {"average_degree": 0.0}, {"calibration": "loose"}, {"tolerance": 0.0}, {"delta": 0.0},
        {"epsilon": 10.0, "calibration": "paper"}], PATH),
    (sbm.RandomizedResponseRecovery, {"epsilon": 1.0}, [{"rounds": -1}, {"average_degree": 0.0}], PATH),
    (sbm.VotingRecovery, {**BOTH, "gamma": 0.5, "average_degree": 3.0}, [
        {"rough": "guess"}, {"split": 0.0}, {"split": 1.0}, {"rough_share": 1.5}, {"rough": "exponential"},
        {"delta": 0.0}, {"rough": "exponential", "delta": 0.0, "weight_bound": 2.0}], PATH),
    (sbm.VotingRecovery, {"epsilon": 1.0, "delta": 0.0, "gamma": 0.5, "average_degree": 3.0}, [
        {"rough": "exponential"}], nx.empty_graph(41)),
    (sbm.CommunitiesRecovery, {"epsilon": 1.0, "communities": 2}, [
        {"communities": 1}, {"communities": 50}, {"mechanism": "guess"}, {"delta": 0.1}, {"rounds": -1},
        {"mechanism": "projection", "delta": 1e-6},
        {"mechanism": "projection", "delta": 0.0, "p_in": 0.5, "p_out": 0.1}], PATH),
    (cuts.CutRelease, {"epsilon": 1.0}, [
        {"noise": "none"}, {"method": "magic"}, {"error_share": 1.0}, {"gap": 0.0}, {"confidence": 1.0},
        {"weight_bound": -1.0}], PATH),
    (cuts.QueryRelease, BOTH, [
        {"delta": 0.0}, {"paid": 0}, {"beta": 1.0}, {"construction": "best"}, {"calibration": "loose"},
        {"density_share": 0.0}, {"expected_queries": 0}, {"refit": -1}], PATH),
    (gaussian.PrivateMean, {"epsilon": 1.0, "bounds": (0, 1), "contamination": 0.0}, [
        {"contamination": 0.3}, {"contamination": -0.1}, {"bounds": (1, 1)}, {"bounds": (0, float("inf"))},
        {"bounds": [(0, 1)]}, {"interval": 1.0}, {"method": "median"}, {"tight": [True]}, {"tight": "yes"},
        {"bounds": None, "tight": True}, {"epsilon": None}, {"rho": 1.0},
        {"bounds": (1e300, 1.0000001e300)}], SOME),
    (tuples.PrivateKMeans, {"n_clusters": 3, **BOTH}, [{"clusterer": "magic"}, {"least_weight": 0.9}], SOME),
    (mrf.MomentsIsing, {"width": 0.8}, [{"threshold": -1.0}], np.zeros((0, 3))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "base", "change", "data"),
    [
        pytest.param(make, base, change, data, id=f"{make.__name__} {change}")
        for make, base, changes, data in REFUSED
        for change in changes
    ],
)
def test_parameters_out_of_range_are_refused(make, base, change, data):
    refuse((lambda: make(**{**base, **change}).fit(data), r"[a-z]{3}"))


INTEGERS = (np.uint8, np.int8, np.int32, np.int64)
FLOATS = (np.float32, np.longdouble, np.float64, np.float16)


def in_numpy(value: Any, kinds: tuple[type, ...]) -> Any:
    """The number in the first of these types that holds it; anything else as it is."""
    if type(value) not in (int, float):
        return value
    for kind in kinds:
        whole = issubclass(kind, np.integer)
        if whole and not (value == int(value) and np.iinfo(kind).min <= value <= np.iinfo(kind).max):
            continue
        made = kind(value)
        if whole or float(made) == value:
            return made
    return value


@pytest.mark.parametrize("name", READY)
def test_numbers_of_numpy_are_the_numbers_that_they_are(name):
    (made, data), turn = READY[name], list(READY).index(name) % len(INTEGERS)
    given = clone(made).set_params(insecure_seed=3)
    numbers = {n: v for n, v in given.get_params(deep=False).items() if type(v) in (int, float)}
    integers, floats = ((*kinds[turn:], *kinds[:turn]) for kinds in (INTEGERS, FLOATS))
    changed = {
        n: in_numpy(v, integers if type(v) is int else (*integers, *floats)) for n, v in numbers.items()
    }
    assert any(isinstance(v, np.generic) for v in changed.values())
    wanted, seen = (clone(given).set_params(**params).fit(data) for params in (numbers, changed))
    assert seen.release_ == wanted.release_ and seen.get_params() == wanted.get_params()
    assert not any(isinstance(v, np.generic) for v in seen.get_params().values())
