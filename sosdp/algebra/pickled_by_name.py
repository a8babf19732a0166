"""Pickles of what holds variable ids: names travel, since ids differ between processes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .monomials import MONOMIAL
from .variables import variable_ids, variable_name

_INTEGER = (int, np.integer)


class PickledByName:
    """An object whose pickle (and deep copy) has names in the place of variable ids.

    ``_of_ids``: its attributes of ids: arrays (the rows of two-dimensional ones are monomials), dictionaries
    by id, tuples and sets (integers in them are ids, floats are not). ``_by_id``: arrays with a number for
    each id, 0 where there is nothing to say. What is computed from attributes when it is asked for is left
    out.
    """

    _of_ids: ClassVar[tuple[str, ...]] = ()
    _by_id: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> tuple[dict[str, Any], list[str]]:
        kept = getattr(self, "__dataclass_fields__", self.__dict__)
        state = {name: value for name, value in self.__dict__.items() if name in kept}
        for name in self._by_id:
            state[name] = {i: v for i, v in enumerate(state[name].tolist()) if v}
        held = {name: state[name] for name in (*self._of_ids, *self._by_id)}
        used = sorted(set().union(*map(_ids_in, held.values())) - {0})
        number = np.zeros(used[-1] + 1 if used else 1, dtype=MONOMIAL)
        number[used] = np.arange(1, len(used) + 1)
        state |= {name: _renumbered(value, number) for name, value in held.items()}
        return state, [variable_name(i) for i in used]

    def __setstate__(self, given: tuple[dict[str, Any], list[str]]) -> None:
        state, names = given
        number = np.append(MONOMIAL(0), variable_ids(names))
        result = {name: _renumbered(state[name], number) for name in (*self._of_ids, *self._by_id)}
        for name in self._by_id:
            values = np.array(list(result[name].values()))
            table = np.zeros(max(result[name], default=0) + 1, values.dtype)
            table[list(result[name])] = values
            result[name] = table
        self.__dict__.update(state | result)


def _ids_in(value: Any) -> set[int]:
    if isinstance(value, np.ndarray):
        return set(np.unique(value).tolist())
    if isinstance(value, (tuple, frozenset)):
        return set().union(*map(_ids_in, value))
    if isinstance(value, dict):
        return set(value)
    return {int(value)} if isinstance(value, _INTEGER) else set()


def _renumbered(value: Any, number: np.ndarray) -> Any:
    """The value with ``number[i]`` for each id i; monomials and tuples of ids stay in ascending order."""
    if isinstance(value, np.ndarray):
        return np.sort(number[value], axis=1) if value.ndim == 2 else number[value]
    if isinstance(value, dict):
        return {int(number[i]): entry for i, entry in value.items()}
    if isinstance(value, (tuple, frozenset)):
        moved = [_renumbered(entry, number) for entry in value]
        return type(value)(sorted(moved) if all(isinstance(i, _INTEGER) for i in moved) else moved)
    return int(number[value]) if isinstance(value, _INTEGER) else value
