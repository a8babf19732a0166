"""What is linear: sums, multiples and comparisons, element by element with numpy's arrays."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sosdp.algebra.coefficients import as_number, object_array


class Affine(ABC):
    """Supports +, - with its like and numbers, * and / by numbers, and comparisons; all with arrays too."""

    __slots__ = ()
    __array_ufunc__ = None

    @abstractmethod
    def _plus(self, other: Any) -> Any:
        """The sum, or NotImplemented."""

    @abstractmethod
    def _scaled(self, factor: Any) -> Any:
        """The multiple, or NotImplemented."""

    @staticmethod
    @abstractmethod
    def _constraint(kind: str, difference: Any) -> Any:
        """The constraint that a difference is >= 0 (``inequality``) or == 0 (``equality``)."""

    _array: ClassVar[type[np.ndarray]] = np.ndarray

    def _each(self, operation: Callable[[Any, Any], Any], single: Callable[[Any], Any], other: Any) -> Any:
        """``single(other)``, or the operation with every entry of an array."""
        if isinstance(other, np.ndarray) and other.ndim:
            return over(other, lambda entry: operation(self, entry), self._array)
        return single(other[()] if isinstance(other, np.ndarray) else other)

    def __add__(self, other: Any) -> Any:
        return self._each(operator.add, self._plus, other)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self._each(operator.sub, self._minus, other)

    def _minus(self, other: Any) -> Any:
        negative = _negative(other)
        return NotImplemented if negative is NotImplemented else self + negative

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, factor: Any) -> Any:
        return self._each(operator.mul, self._scaled, factor)

    def __rmul__(self, factor: Any) -> Any:
        return self._each(lambda own, entry: entry * own, self._scaled, factor)

    def __truediv__(self, factor: Any) -> Any:
        number = as_number(factor)
        return NotImplemented if number is None else self * (1 / Fraction(number))

    def __ge__(self, other: Any) -> Any:
        return self._compared("inequality", self - other)

    def __le__(self, other: Any) -> Any:
        return self._compared("inequality", (-self) + other)

    def __eq__(self, other: Any) -> Any:
        return self._compared("equality", self - other)

    def _compared(self, kind: str, difference: Any) -> Any:
        if isinstance(difference, np.ndarray):
            return over(difference, lambda entry: self._compared(kind, entry))
        return difference if difference is NotImplemented else self._constraint(kind, difference)

    __hash__ = object.__hash__


def _negative(entry: Any) -> Any:
    """Minus an operand, or NotImplemented; numpy's unsigned integers wrap around where they are negated
    themselves."""
    number = as_number(entry)
    if number is not None:
        return -number
    return -entry if hasattr(entry, "__neg__") else NotImplemented


def compare(ufunc: Any, left: Any, right: Any) -> np.ndarray:
    """The constraints of arrays that are compared entry by entry."""
    plain = (np.asarray(side, dtype=object).view(np.ndarray) for side in (left, right))
    return np.asarray(ufunc(*plain, dtype=object))


def over(array: Any, operation: Callable[[Any], Any], kind: type[np.ndarray] = np.ndarray) -> Any:
    """The results for all entries, in an array of the same shape."""
    items = object_array(map(operation, np.asarray(array, dtype=object).reshape(-1)))
    return items.reshape(np.shape(array)).view(kind)
