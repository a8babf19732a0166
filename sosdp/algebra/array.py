"""Numpy arrays whose elements are polynomials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sosdp.algebra import evaluate as at_points
from sosdp.algebra import linear, printing
from sosdp.algebra.affine import over
from sosdp.algebra.coefficients import as_number
from sosdp.algebra.polynomial import Polynomial, above, coerce, variable

_COMPARISONS = (np.equal, np.less_equal, np.greater_equal, np.less, np.greater)


class PolynomialArray(np.ndarray):
    """An object array of polynomials with numpy semantics.

    Arithmetic is elementwise and broadcasts; ``@`` adds up terms in one pass; ``<=``,
    ``>=`` and ``==`` give plain object arrays of constraints. ``PolynomialArray(data)`` reads nested
    sequences or arrays of polynomials, numbers and strings.
    """

    def __new__(cls, data: Any) -> PolynomialArray:
        if isinstance(data, PolynomialArray):
            return data.copy()
        raw = np.array(data, dtype=object)
        return over(raw, coerce, cls)  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError as error:
            shape = " x ".join(map(str, self.shape))
            raise IndexError(f"{error}: there are {shape} entries, counted from 0") from None

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, np.ndarray | list | tuple):
            value = np.asarray(PolynomialArray(value))
        else:
            value = coerce(value)
        super().__setitem__(index, value)

    # ------------------------------------------------------------------ numpy protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if any(
            getattr(item, "__array_ufunc__", 0) is None for item in inputs if not isinstance(item, Polynomial)
        ):
            return NotImplemented
        plain = tuple(_plain(item) for item in inputs)
        if ufunc is np.matmul and method == "__call__":
            result = linear.matmul(*plain)
        elif ufunc is np.add and method == "reduce":
            options.setdefault("axis", 0)
            result = PolynomialArray.sum(plain[0].view(PolynomialArray), **options)
        else:
            if ufunc in _COMPARISONS and method in ("__call__", "outer"):
                options["dtype"] = object
            result = getattr(ufunc, method)(*plain, **options)
        if out is not None:
            target = out[0] if isinstance(out, tuple) else out
            target[...] = result
            return target
        return result if ufunc in _COMPARISONS else _wrap(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.dot and len(args) == 2 and not kwargs:
            left, right = (np.asarray(a) for a in args)
            if left.ndim == 0 or right.ndim == 0:
                return args[0] * args[1]
            if right.ndim <= 2:
                return _wrap(linear.matmul(left, right))
        result = super().__array_function__(func, types, args, kwargs)
        if isinstance(result, np.ndarray) and result.dtype == object and result.ndim:
            result = _without_numbers(result)  # np.block, np.where, np.diag fill in plain numbers
        return _wrap(result)

    def __matmul__(self, other: Any) -> Any:
        if _is_sparse(other):
            return _wrap(linear.matmul_sparse(other.T, np.asarray(self).T).T)
        return super().__matmul__(other)

    def __rmatmul__(self, other: Any) -> Any:
        if _is_sparse(other):
            return _wrap(linear.matmul_sparse(other, np.asarray(self)))
        return super().__rmatmul__(other)

    def dot(self, other: Any, out: None = None) -> Any:  # type: ignore[override]
        """Matrix product, as ``@``."""
        return np.dot(self, other)

    def sum(  # type: ignore[override]
        self,
        axis: Any = None,
        dtype: None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """Sum over ``axis`` (default: all elements)."""
        start = Polynomial(0) if initial is None or initial is np._NoValue else coerce(initial)
        options: dict[str, Any] = {"keepdims": keepdims, "initial": start, "where": where}
        result = _wrap(np.add.reduce(np.asarray(self), axis, **options))
        if out is None:
            return result
        out[...] = result
        return out

    def mean(self, axis: Any = None, dtype: None = None, out: None = None, keepdims: bool = False) -> Any:  # type: ignore[override]
        """Mean over ``axis``; exact coefficients stay exact. ValueError for an empty mean."""
        total = self.sum(axis=axis, keepdims=keepdims)
        count = self.size // (total.size if isinstance(total, np.ndarray) else 1) if self.size else 0
        if count == 0:
            raise ValueError("the mean of no polynomials is not defined")
        return total / count

    # ------------------------------------------------------------------ elementwise polynomial operations

    @property
    def degree(self) -> int:
        """Largest total degree among the elements."""
        return max((p.degree for p in self.reshape(-1).tolist()), default=0)

    @property
    def variable_ids(self) -> np.ndarray:
        """Sorted ids of all variables that occur, int32."""
        return linear.union_of_ids(self.reshape(-1).tolist())

    @property
    def variables(self) -> tuple[Polynomial, ...]:
        """All variables that occur, ordered by id."""
        return tuple(variable(i) for i in self.variable_ids.tolist())

    @property
    def is_exact(self) -> bool:
        """Whether every element has exact coefficients."""
        return all(p.is_exact for p in self.reshape(-1).tolist())

    def _map(self, function: Any) -> PolynomialArray:
        return over(self, function, PolynomialArray)  # type: ignore[no-any-return]

    def __call__(self, *points: Any, **values: Any) -> np.ndarray:
        """Values at points, as for a polynomial; an array of points is in the order of ``self.variables``."""
        if len(points) > 1 or bool(points) == bool(values):
            raise TypeError("call array(points), array({'x': 1, ...}) or array(x=1, ...)")
        return self.evaluate(points[0] if points else values)

    def evaluate(self, points: Any) -> np.ndarray:
        """Values at ``points``, shape (shape of the points, shape of this array); see
        ``Polynomial.evaluate``.
        """
        return at_points.evaluate_array(np.asarray(self), points)

    def diff(self, variable: Any, order: int = 1) -> PolynomialArray:
        """Elementwise partial derivative."""
        return self._map(lambda p: p.diff(variable, order))

    def jacobian(self, variables: Any = None) -> PolynomialArray:
        """Partial derivatives of every element, shape (shape of this array, number of variables)."""
        chosen = list(
            self.variables if variables is None else np.asarray(variables, dtype=object).reshape(-1)
        )
        columns = [np.asarray(self.diff(v)) for v in chosen]
        if not columns:
            return np.empty((*self.shape, 0), dtype=object).view(PolynomialArray)
        return np.stack(columns, axis=-1).view(PolynomialArray)

    def subs(self, values: Mapping[Any, Any]) -> PolynomialArray:
        """Elementwise substitution."""
        return self._map(lambda p: p.subs(values))

    def as_float(self) -> PolynomialArray:
        """Elementwise ``as_float``."""
        return self._map(lambda p: p.as_float())

    def as_exact(self) -> PolynomialArray:
        """Elementwise ``as_exact``."""
        return self._map(lambda p: p.as_exact())

    def chop(self, tolerance: float = 1e-8) -> PolynomialArray:
        """Elementwise ``chop``: each element beside its own largest coefficient."""
        return self._map(lambda p: p.chop(tolerance))

    def rounded(self, digits: int) -> PolynomialArray:
        """Elementwise ``rounded``."""
        return self._map(lambda p: p.rounded(digits))

    def latex(self) -> str:
        """LaTeX of a vector or matrix. ValueError for more than two dimensions."""
        return printing.array_latex(self)

    def _repr_latex_(self) -> str | None:
        if self.ndim > 2 or self.size > 100:
            return None
        return f"$\\displaystyle {self.latex()}$"


def _plain(item: Any) -> Any:
    return item.view(np.ndarray) if isinstance(item, PolynomialArray) else item


def _is_sparse(item: Any) -> bool:
    return hasattr(item, "tocsr") and hasattr(item, "nnz")


def _without_numbers(array: np.ndarray) -> np.ndarray:
    """The array with numbers among polynomials turned into constant polynomials."""
    kinds = {isinstance(item, Polynomial) for item in array.reshape(-1).tolist()}
    if kinds != {True, False}:
        return array
    items = [item if isinstance(item, Polynomial) else as_number(item) for item in array.reshape(-1).tolist()]
    return array if any(item is None for item in items) else PolynomialArray(array)


def _wrap(result: Any) -> Any:
    """View arrays of polynomials as PolynomialArray, unpack 0-d arrays, leave everything else alone."""
    if isinstance(result, tuple | list):
        return type(result)(_wrap(item) for item in result)
    if not isinstance(result, np.ndarray):
        return result
    if result.dtype != object:
        return result.view(np.ndarray)
    if result.ndim == 0:
        return result[()]
    if all(isinstance(item, Polynomial) for item in result.reshape(-1).tolist()):
        return result if isinstance(result, PolynomialArray) else result.view(PolynomialArray)
    return result.view(np.ndarray)


above["array"] = lambda array: array.view(PolynomialArray)
