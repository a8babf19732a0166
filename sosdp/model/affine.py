"""What programs are linear in: sums, multiples and comparisons, element by element with numpy's arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..algebra.coefficients import as_number


class Affine(ABC):
    """Supports +, - with its like and numbers, * and / by numbers, and comparisons; all with arrays too."""

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

    def _each(self, operation: Callable[[Any], Any], other: Any, kind: Any = np.ndarray) -> Any:
        return over(other, operation, kind) if isinstance(other, np.ndarray) else operation(other)

    def __add__(self, other: Any) -> Any:
        return self._each(self._plus, other, self._array)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, factor: Any) -> Any:
        return self._each(self._scaled, factor, self._array)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Any:
        number = as_number(factor)
        return NotImplemented if number is None else self * (1 / Fraction(number))

    def __ge__(self, other: Any) -> Any:
        return self._each(lambda entry: self._compared("inequality", self - entry), other)

    def __le__(self, other: Any) -> Any:
        return self._each(lambda entry: self._compared("inequality", (-self) + entry), other)

    def __eq__(self, other: Any) -> Any:
        return self._each(lambda entry: self._compared("equality", self - entry), other)

    def _compared(self, kind: str, difference: Any) -> Any:
        return difference if difference is NotImplemented else self._constraint(kind, difference)

    __hash__ = object.__hash__


def compare(ufunc: Any, left: Any, right: Any) -> np.ndarray:
    """The constraints of arrays that are compared entry by entry."""
    plain = (np.asarray(side, dtype=object).view(np.ndarray) for side in (left, right))
    return np.asarray(ufunc(*plain, dtype=object))


def over(array: Any, operation: Callable[[Any], Any], kind: type[np.ndarray]) -> Any:
    """The results for all entries, in an array of the same shape."""
    result = np.empty(np.shape(array), dtype=object)
    result.reshape(-1)[:] = [operation(entry) for entry in np.asarray(array, dtype=object).reshape(-1)]
    return result.view(kind)
