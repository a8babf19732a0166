"""Everything that promises privacy is registered with a proof that names its code and tests."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

from sosdp.estimator.base import ReleasingEstimator
from sosdp.privacy.registry import Mechanism
from tests.repo.house import ROOT

# Public things that release nothing by themselves: baselines without privacy, parts of others.
NO_MECHANISMS = {
    "sosdp.privacy": {"join"},
    "problems.sbm": {"RecoveryEstimator", "SpectralRecovery", "LinearProgramRecovery", "noisy_vote"},
}
# Mechanisms that return other types: states of an interaction.
OTHERS = {"sosdp.privacy": {"SparseVector", "OnlineInteraction"}}


def registry(package: str) -> dict[str, Mechanism]:
    return importlib.import_module(f"{package}.registry").REGISTRY


def releasing(package: str) -> set[str]:
    """Concrete estimators, and public functions that return a Release, found by import."""
    names = set()
    for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isclass(thing) and issubclass(thing, ReleasingEstimator):
                if not inspect.isabstract(thing):
                    names.add(name)
            elif inspect.isfunction(thing) and thing.__annotations__.get("return") == "Release":
                names.add(name)
    return names - NO_MECHANISMS.get(package, set())


PACKAGES = ["sosdp.privacy", *(f"problems.{p}" for p in ("cuts", "gaussian", "gmm", "mrf", "sbm", "tuples"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_registry_is_complete(package):
    assert releasing(package) | OTHERS.get(package, set()) == set(registry(package))


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in PACKAGES for name in registry(package)]
)
def test_a_mechanism_has_a_proof(package, name):
    entry = registry(package)[name]
    assert entry.load().__name__ == entry.function == name
    assert entry.proof in (importlib.import_module(entry.module).__doc__ or "")
    page = (ROOT / entry.proof).read_text(encoding="utf-8")
    assert name in page or entry.module.replace(".", "/") in page
    assert re.search(r"Proof|Assumed, and not covered|what is not claimed", page)
    tests = re.findall(r"tests/\w+/test_\w+\.py", page)
    assert tests and all((ROOT / test).is_file() for test in tests)
