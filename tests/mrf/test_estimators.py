"""scikit-learn's contract, hostile records, what is published, and the registry."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import pickle
import pkgutil
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import problems.mrf
from problems.mrf.registry import REGISTRY
from sosdp.estimator.base import ReleasingEstimator
from sosdp.privacy.guarantee.guarantee import ONE_RECORD_REPLACED

ROOT = pathlib.Path(problems.mrf.__file__).parents[2]


class Labelled(problems.mrf.PrivateSparseLogistic):
    """The classifier, its labels alternating, so that it can be treated like the others."""

    def fit(self, X, y=None):
        return super().fit(X, np.arange(len(X)) % 2)


def made(seed=None):
    """One of each estimator, quick settings."""
    from problems import mrf

    return {
        "ChowLiuTree": mrf.ChowLiuTree(insecure_seed=seed),
        "CorrelationGraph": mrf.CorrelationGraph(0.3, insecure_seed=seed),
        "FrankWolfeIsing": mrf.FrankWolfeIsing(0.8, threshold=0.1, iterations=5, insecure_seed=seed),
        "FrankWolfePairwise": mrf.FrankWolfePairwise(0.8, 3, iterations=4, threshold=0.1, insecure_seed=seed),
        "GradientIsing": mrf.GradientIsing(0.8, threshold=0.1, iterations=5, insecure_seed=seed),
        "MomentsIsing": mrf.MomentsIsing(0.8, threshold=0.1, insecure_seed=seed),
        "FrankWolfeTWise": mrf.FrankWolfeTWise(0.8, 3, target="maximal", iterations=4, insecure_seed=seed),
        "PrivateSparseLogistic": Labelled(iterations=4, insecure_seed=seed),
        "VotedStructure": mrf.VotedStructure(0.8, 0.1, blocks=4, iterations=5, insecure_seed=seed),
    }


@pytest.fixture(scope="module")
def table():
    return problems.mrf.grid(2, 2, 0.4).sample(400, 3)


@pytest.mark.parametrize("name", REGISTRY)
def test_contract(name, table):
    estimator = made()[name]
    assert set(clone(estimator).get_params()) == set(inspect.signature(type(estimator)).parameters)
    with pytest.raises(AttributeError, match="call fit first"):
        estimator.coef_ if name == "PrivateSparseLogistic" else estimator.edges_
    fitted = estimator.fit(table)
    guarantee = fitted.guarantee_
    assert guarantee.is_private and str(guarantee.adjacency) == ONE_RECORD_REPLACED
    assert guarantee.epsilon <= 1.0 and guarantee.delta <= 1e-6 and guarantee.kind == "exact"
    assert fitted.n_features_in_ == 4
    stored = fitted.release_.to_dict()
    json.dumps(stored)
    wanted = {"coef", "intercept"} if name == "PrivateSparseLogistic" else {"weights", "edges", "field"}
    assert set(stored["value"]) >= wanted and stored["value"]["released"] in (True, False)
    assert not pickle.loads(pickle.dumps(fitted.release_)).private_diagnostics


@pytest.mark.parametrize("name", REGISTRY)
def test_a_seed_voids_the_guarantee_and_repeats_the_release(name, table):
    first, second = (made(7)[name].fit(table).release_.to_dict() for _ in range(2))
    assert first == second and first["guarantee"]["kind"] == "none"


class Rude:
    """An entry whose every conversion raises."""

    def __float__(self):
        raise RuntimeError("secret")

    def __array__(self, *a, **k):
        raise RuntimeError("secret")


@pytest.mark.parametrize("name", REGISTRY)
def test_hostile_records_raise_nothing_and_are_fixed_records(name, table):
    hostile = table.astype(object)
    for row, entry in enumerate((np.nan, np.inf, "text", None, Rude(), 10**400, [1], 1e300, 1j)):
        hostile[row, 1] = entry
    fixed = table.astype(float)
    fixed[:9] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = made(3)[name].fit(hostile).release_.to_dict()
        second = made(3)[name].fit(fixed).release_.to_dict()
    assert first == second


@pytest.mark.parametrize("name", REGISTRY)
def test_parameters_out_of_range_are_refused_before_the_records_are_read(name):
    with pytest.raises(ValueError):
        made()[name].set_params(epsilon=-1.0).fit("not read")
    with pytest.raises(ValueError):
        made()[name].set_params(delta=2.0).fit("not read")
    with pytest.raises(ValueError):
        made()[name].fit(np.zeros((0, 3)))


def test_pure_budgets(table):
    fitted = problems.mrf.FrankWolfeIsing(0.8, epsilon=2.0, delta=0.0, iterations=4).fit(table)
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (2.0, 0.0)


def test_estimates_improve_with_records():
    model = problems.mrf.diamond(6)
    errors = []
    for n in (2000, 200000):
        found = problems.mrf.FrankWolfeIsing(model.width, iterations=60, insecure_seed=1).fit(
            model.sample(n, 2)
        )
        errors.append(np.abs(found.weights_ - model.weights).max())
    assert errors[1] < 0.05 < errors[0]


def test_pairs_of_symbols_are_learnt():
    model = problems.mrf.alphabet_grid(2, 2, 3, 0.4, seed=0)
    states = model.sample(60000, 1)
    fitted = problems.mrf.FrankWolfePairwise(
        model.width, 3, epsilon=4.0, delta=1e-6, threshold=0.2, iterations=80, insecure_seed=1
    ).fit(states)
    assert fitted.edges_ == model.edges
    assert np.abs(fitted.weights_ - model.weights).max() < 0.2


def mechanisms():
    """Concrete estimators that release, found by import."""
    found = set()
    for info in pkgutil.walk_packages(problems.mrf.__path__, "problems.mrf."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            mine = getattr(thing, "__module__", None) == module.__name__
            if mine and inspect.isclass(thing) and issubclass(thing, ReleasingEstimator):
                if not inspect.isabstract(thing):
                    found.add(name)
            if mine and inspect.isfunction(thing) and not name.startswith("_"):
                if thing.__annotations__.get("return") == "Release":
                    found.add(name)
    return found


def test_the_registry_is_complete_and_its_proofs_name_code_and_tests():
    assert mechanisms() == set(REGISTRY) == set(made())
    for name, entry in REGISTRY.items():
        assert entry.load().__name__ == name
        module = importlib.import_module(entry.module)
        assert entry.proof in (module.__doc__ or ""), f"{entry.module} does not name {entry.proof}"
        text = (ROOT / entry.proof).read_text(encoding="utf-8")
        assert entry.module.replace(".", "/") + ".py" in text
        assert all((ROOT / test).is_file() for test in re.findall(r"tests/\w+/test_\w+\.py", text))
        assert "Assumed, and not covered" in text
        assert hasattr(problems.mrf, name)
