"""Every estimator that promises anything is listed with its proof, and the proof names its code and tests."""

import importlib
import inspect
import pathlib
import pkgutil
import re

import problems.cuts
from problems.cuts.registry import REGISTRY
from sosdp.estimator.base import ReleasingEstimator

ROOT = pathlib.Path(problems.cuts.__file__).parents[2]


def mechanisms():
    """Concrete estimators, and public functions that return a Release, found by import."""
    found = set()
    for info in pkgutil.walk_packages(problems.cuts.__path__, "problems.cuts."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isclass(thing) and issubclass(thing, ReleasingEstimator):
                if not inspect.isabstract(thing) and "_release" in vars(thing):
                    found.add(name)
            if inspect.isfunction(thing) and thing.__annotations__.get("return") == "Release":
                found.add(name)
    return found


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
        assert "Proof" in text or "*Proof.*" in text
        assert hasattr(problems.cuts, name)
