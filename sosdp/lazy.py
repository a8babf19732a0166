"""Packages whose public names load when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


def listed(module: str) -> Callable[[], list[str]]:
    """``__dir__`` of a module that shows its ``__all__`` and nothing that it imports."""
    return lambda: sorted(sys.modules[module].__all__)


def lazily(
    package: str,
    homes: Mapping[str, Sequence[str]],
    modules: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package: names by the submodule that has them, and submodules.

    A home is written as in an import, relative ones with their dots; one of the ``modules`` that lies
    deeper has its last name (``relaxation.functionals``: ``functionals``). What ``dir`` shows is the
    package's ``__all__`` and the ``modules``. AttributeError for another name.
    """
    home = {name: module for module, names in homes.items() for name in names}
    inner = {module.rpartition(".")[2]: module for module in modules}

    def get(name: str) -> Any:
        if name in inner:
            return import_module(f"{package}.{inner[name]}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*sys.modules[package].__all__, *inner} - {"__version__"})

    return get, names


def from_stub(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package whose ``__init__.pyi`` imports its names."""
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    homes: dict[str, list[str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            home = "." * node.level + str(node.module)
            homes.setdefault(home, []).extend(alias.name for alias in node.names)
    return sorted(name for names in homes.values() for name in names), *lazily(package, homes)
