"""The process-wide registry of variable names.

A variable is its name: the same name is the same variable everywhere in a process, as with sympy's symbols.
Names that begin with ``sosdp_`` are the library's own, and no user's: a letter that it adds to a statement is
none of the statement's.
Ids are handed out in the order of first use, from 1 (0 stands for the number 1 in monomial arrays), so they
differ between processes: pickles, files and certificates carry names, never ids.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from sosdp.algebra.monomials import MONOMIAL

RESERVED = "sosdp_"
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
    if name.startswith(RESERVED):
        raise ValueError(
            f"{name[:60]!r} cannot be a name: the library keeps names that begin with {RESERVED} for itself"
        )
    return name


def variable_id(name: str) -> int:
    """Id of the variable that a user calls ``name`` (at least 1); TypeError or ValueError as `check_name`."""
    return known_id(check_name(name))


def known_id(name: str) -> int:
    """Id of a name that was checked, or that the library gives; it is registered if it is new."""
    with _lock:
        if name not in _ids:
            _ids[name] = len(_names)
            _names.append(name)
        return _ids[name]


def variable_ids(names: Iterable[str]) -> np.ndarray:
    """Ids of names that the library wrote, in the order given, int32."""
    return np.array([known_id(name) for name in names], dtype=MONOMIAL)


def variable_name(identifier: int) -> str:
    """Name of the variable with this id; KeyError if there is none."""
    if not 0 < identifier < len(_names):
        raise KeyError(f"no variable has the id {identifier}")
    return _names[identifier]
