"""The process-wide registry of variable names.

A variable is its name: the same name is the same variable everywhere in a process, as with sympy's symbols.
Ids are handed out in the order of first use, from 1 (0 stands for the number 1 in monomial arrays), so they
differ between processes: pickles, files and certificates carry names, never ids.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from sosdp.algebra.monomials import MONOMIAL

_names: list[str] = ["1"]
_ids: dict[str, int] = {}
_lock = threading.Lock()


def check_name(name: str) -> str:
    """Return ``name`` if it can name a variable or operators; TypeError or ValueError says why it cannot."""
    if not isinstance(name, str):
        raise TypeError(f"a name must be a string, not {type(name).__name__}")
    if not name.isidentifier():
        raise ValueError(
            f"{name[:60]!r} cannot be a name: use letters, digits and underscores, not starting with a digit"
        )
    return name


def variable_id(name: str) -> int:
    """Id of the variable called ``name`` (at least 1), which is registered if it is new."""
    result = _ids.get(name)
    if result is not None:
        return result
    check_name(name)
    with _lock:
        result = _ids.get(name)
        if result is None:
            result = len(_names)
            _names.append(name)
            _ids[name] = result
        return result


def variable_ids(names: Iterable[str]) -> np.ndarray:
    """Ids of several variables in the order given, int32."""
    return np.array([variable_id(name) for name in names], dtype=MONOMIAL)


def variable_name(identifier: int) -> str:
    """Name of the variable with this id; KeyError if there is none."""
    if not 0 < identifier < len(_names):
        raise KeyError(f"no variable has the id {identifier}")
    return _names[identifier]
