"""``sosdp.problems`` and ``sosdp.certificates``: two packages by names that nothing else has.

They lie beside this one as ``problems`` and ``certificates``, which a folder of yours or another package may
be called too. Under the longer names the same modules are found, not copies: ``sosdp.problems.sbm is
problems.sbm``, and a pickle written under either name is read under both. Where something else has the short
name, importing says what is in the way.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module, util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGES = ("problems", "certificates")


class ForeignPackage(ImportError):
    """Another package, or a folder, has the name of one of ours; the message says where it lies."""


def ours(package: str) -> ModuleType:
    """The top-level package of this name, if it is sosdp's.

    Raises ForeignPackage for another one, ImportError where there is none.
    """
    try:
        module = import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(
            f"the package {package!r} of sosdp is not installed: install sosdp again"
        ) from error
    if getattr(module, "PART_OF", None) != "sosdp":
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        place = next((str(where) for where in places if where), "something unknown")
        raise ForeignPackage(
            f"{place} has the name {package!r} of a package of sosdp and is found in its place: rename or "
            "uninstall it, or start Python in another folder"
        )
    return module


class _Same(Loader):
    """Loads nothing: hands out the module that is there under the short name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module under its short name, imported if it was not."""
        package, _, inner = self.name.partition(".")
        ours(package)
        module = import_module(self.name) if inner else sys.modules[package]
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module keeps its own specification, which the import system has just replaced."""
        module.__spec__ = self.spec


class _Finder(MetaPathFinder):
    """Finds ``sosdp.problems...`` and ``sosdp.certificates...``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A specification for names below the two packages; None for every other name."""
        top, _, short = fullname.partition(".")
        package = short.partition(".")[0]
        if top != "sosdp" or package not in PACKAGES:
            return None
        ours(package)
        if short != package and util.find_spec(short) is None:
            return None
        return ModuleSpec(fullname, _Same(short), is_package=False)


def install() -> None:
    """Make the longer names importable; called once, by ``sosdp``."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
