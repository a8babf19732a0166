"""Everything that promises privacy is registered with a proof that names its code and tests."""

import importlib
import inspect
import pkgutil
import re

import pytest

from sosdp.estimator.base import ReleasingEstimator
from sosdp.privacy.registry import REGISTRY
from tests.repo.house import ROOT

# Public things that release nothing by themselves: baselines without privacy, parts of others.
NO_MECHANISMS = {
    "sosdp.privacy": {"join"},
    "problems.sbm": {"RecoveryEstimator", "SpectralRecovery", "LinearProgramRecovery", "noisy_vote"},
}
# Mechanisms that return other types: states of an interaction.
OTHERS = {"SparseVector", "OnlineInteraction"}


def releasing(package: str) -> dict[str, str]:
    """Concrete estimators and public functions that return a Release, with their modules."""
    names = {}
    for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isclass(thing) and issubclass(thing, ReleasingEstimator):
                if not inspect.isabstract(thing):
                    names[name] = module.__name__
            elif inspect.isfunction(thing) and thing.__annotations__.get("return") == "Release":
                names[name] = module.__name__
    return {name: home for name, home in names.items() if name not in NO_MECHANISMS.get(package, ())}


PACKAGES = ["sosdp.privacy", *(f"problems.{p}" for p in ("cuts", "gaussian", "gmm", "mrf", "sbm", "tuples"))]


MECHANISMS = [pair for package in PACKAGES for pair in releasing(package).items()]


def test_the_registry_is_complete():
    homes = {name: entry.module for name, entry in REGISTRY.items() if name not in OTHERS}
    assert releasing("sosdp.privacy") == homes


@pytest.mark.parametrize(
    ("name", "module"), [*MECHANISMS, *((n, REGISTRY[n].module) for n in sorted(OTHERS))]
)
def test_a_mechanism_has_a_proof(name, module):
    """Its module names the page; the page names it, what is proven, and tests that exist."""
    proofs = re.findall(r"docs/proofs/\w+\.md", importlib.import_module(module).__doc__ or "")
    pages = [(ROOT / proof).read_text(encoding="utf-8") for proof in proofs]
    page = "\n".join(page for page in pages if name in page or module.replace(".", "/") in page)
    assert re.search(r"Proof|Assumed, and not covered|what is not claimed", page)
    tests = re.findall(r"tests/\w+/test_\w+\.py", page)
    assert tests and all((ROOT / test).is_file() for test in tests)
    assert not [e for e in REGISTRY.values() if e.module == module and e.proof not in proofs]
