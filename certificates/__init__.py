"""Exact, independently checkable proofs from solved relaxations.

`check_certificate` and `check_file` need nothing but the standard library; everything else is loaded when
it is first used, so that ``python -m certificates.check`` works where numpy is not installed.  The public
names and their homes are those of ``__init__.pyi``.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_HOME = {
    alias.name: f"certificates.{node.module}"
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOME)
PART_OF = "sosdp"  # tells this package from another one of the name


def __getattr__(name: str) -> Any:
    if name == "check":
        return import_module("certificates.check")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'certificates' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
