"""A measure of finitely many points that has the moments of a relaxation: its atoms with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from ..algebra import monomials as mono
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial, variable
from .atoms import THRESHOLDS, candidates, violation_at

_MATCHES = 1e-4  # largest error of a moment, in scaled variables, beside the mass
_FEASIBLE = 1e-4
_NO_WEIGHT = 1e-6
_SIDE = 200  # of a moment matrix whose entries are all looked at


@dataclass(frozen=True, eq=False)
class AtomicMeasure(PickledByName):
    """Points (k, n) in the order of ``variables`` with positive weights (k,).

    ``measure(p)`` is the integral of a polynomial. ``error``: the largest difference between its moments and
    those it was read off, in scaled variables.
    """

    _of_ids: ClassVar = ("ids",)

    points: np.ndarray
    weights: np.ndarray
    ids: tuple[int, ...]
    error: float

    @property
    def variables(self) -> tuple[Polynomial, ...]:
        """The variables in the order of the columns of ``points``."""
        return tuple(variable(v) for v in self.ids)

    @property
    def mass(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def __call__(self, p: Any) -> float:
        """The integral of a polynomial in these variables."""
        q = Polynomial(p)
        values = dict(zip(self.variables, self.points.T, strict=True))
        return float(self.weights @ np.broadcast_to(q.evaluate(values), self.weights.shape))

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.variables))
        shown = [
            f"{w:.6g} at ({', '.join(f'{c:.6g}' for c in np.round(x, 9) + 0.0)})"
            for w, x in zip(self.weights[:6], self.points, strict=False)
        ]
        more = ", ..." if len(self) > 6 else ""
        return f"AtomicMeasure({len(self)} points in ({names}): {', '.join(shown)}{more})"

    def scaled(self, mass: float) -> AtomicMeasure:
        """The same measure times a number."""
        return AtomicMeasure(self.points, self.weights * mass, self.ids, self.error)


def atomic_measure(pe: Any, rank: int | None = None) -> AtomicMeasure:
    """Points and weights of a solved relaxation (a ``PseudoExpectation``); see its method of this name."""
    if pe.moments is None:
        raise ValueError(f"there are no moments to read a measure off: the status is {pe.status!r}")
    if pe.cone != "sos":
        raise ValueError(f"moments with cone={pe.cone!r} need not form a positive matrix")
    inner = pe if pe.centre is None else pe.centre.answer
    origin = {} if pe.centre is None else {i: float(c) for i, c in pe.centre.by_id.items()}
    why = ""
    for threshold in THRESHOLDS:
        points, reason = candidates(inner, rank, threshold)
        if points is None:
            why = why or reason
            continue
        weights, error = _weights(inner, points)
        kept = weights > _NO_WEIGHT
        worst = max((violation_at(inner, x) for x in points[kept]), default=0.0)
        if error <= _MATCHES and worst <= _FEASIBLE:
            ids = inner.variable_ids.tolist()
            shift = np.array([origin.get(i, 0.0) for i in ids])
            return AtomicMeasure(points[kept] + shift, weights[kept], tuple(ids), error)
        known = "do not have its moments" if error > _MATCHES else "violate a constraint"
        why = why or f"the points read off the moments {known}"
    raise ValueError(why)


def _weights(pe: Any, points: np.ndarray) -> tuple[np.ndarray, float]:
    """Non-negative weights of points by least squares over all moments, and the largest error left."""
    basis = pe.basis
    small = basis.shape[0] <= _SIDE  # else without the moments that vanish by a symmetry
    monos = mono.unique(mono.multiply_outer(basis, basis))[0] if small else pe.identity.columns
    values, known = pe._moment_values(monos)
    monos, values = monos[known], values[known]
    table = np.ones((len(points), int(max(monos.max(initial=0), pe.variable_ids.max(initial=0))) + 1))
    table[:, pe.variable_ids] = points
    units = np.prod(pe.scaling.points(monos), axis=1)
    matrix = (np.prod(table[:, monos], axis=2) / units).T
    weights, _ = nnls(matrix, values / units)
    return weights, float(np.abs(matrix @ weights - values / units).max(initial=0.0))
