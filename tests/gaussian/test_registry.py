"""Every estimator and function that promises anything is listed with its proof, and the page is there."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import pkgutil

import problems.gaussian
from problems.gaussian.registry import REGISTRY
from sosdp.estimator.base import ReleasingEstimator

ROOT = pathlib.Path(problems.gaussian.__file__).parents[2]


def mechanisms():
    """Concrete estimators, and public functions that return a Release, found by import."""
    found = set()
    for info in pkgutil.walk_packages(problems.gaussian.__path__, "problems.gaussian."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isclass(thing) and issubclass(thing, ReleasingEstimator):
                if not inspect.isabstract(thing):
                    found.add(name)
            if inspect.isfunction(thing) and thing.__annotations__.get("return") == "Release":
                found.add(name)
    return found


def test_the_list_is_complete_and_its_proofs_exist():
    assert mechanisms() == set(REGISTRY)
    for name, entry in REGISTRY.items():
        assert entry.load().__name__ == name
        text = (ROOT / entry.proof).read_text(encoding="utf-8")
        assert "what is not claimed" in text or "Assumed, and not covered" in text
