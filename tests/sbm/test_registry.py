"""Every estimator that promises anything is listed with its proof, and the proof names its code and tests."""

import importlib
import inspect
import pathlib
import pkgutil
import re

import problems.sbm
from problems.sbm.estimators.base import RecoveryEstimator
from problems.sbm.registry import REGISTRY

ROOT = pathlib.Path(problems.sbm.__file__).parents[2]
BASELINES = {"SpectralRecovery", "LinearProgramRecovery"}


def mechanisms():
    """Concrete estimators, and public functions that return a Release, found by import."""
    found = set()
    for info in pkgutil.walk_packages(problems.sbm.__path__, "problems.sbm."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isclass(thing) and issubclass(thing, RecoveryEstimator):
                if not inspect.isabstract(thing) and "_release" in vars(thing):
                    found.add(name)
            if inspect.isfunction(thing) and thing.__annotations__.get("return") == "Release":
                found.add(name)
    return found - {"RecoveryEstimator"} - BASELINES - {"noisy_vote"}


def test_the_list_is_complete_and_its_proofs_exist():
    assert mechanisms() == set(REGISTRY)
    for name, entry in REGISTRY.items():
        assert entry.load().__name__ == name
        module = importlib.import_module(entry.module)
        assert entry.proof in module.__doc__, f"{entry.module} does not name {entry.proof}"
        text = (ROOT / entry.proof).read_text(encoding="utf-8")
        assert entry.module.replace(".", "/") + ".py" in text
        tests = re.findall(r"tests/\w+/test_\w+\.py", text)
        assert tests and all((ROOT / test).is_file() for test in tests)
        assert "Proof" in text
        assert hasattr(problems.sbm, name)
