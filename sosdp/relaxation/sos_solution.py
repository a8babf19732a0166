"""The solution of a program with unknown coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algebra.array import PolynomialArray
from ..algebra.polynomial import Polynomial
from ..show import rounded_safely
from .duals import DualData, monomial
from .gram_matrices import GramMatrix, Place, gram_matrix, multiplier, place_of
from .pseudoexpectation import Result

ACCURACY = 1e-8, 1e-6  # of a solver, at best, and the worst of which its own gap says something


@dataclass(frozen=True, eq=False)
class SosSolution(Result):
    """Solution of a SosProgram.

    ``values``: the unknown coefficients by name; ``bound``: the solver's optimal value; ``certified_bound``:
    the value at ``certified_values``, coefficients for which every constraint is proven (an upper bound on a
    minimum, a lower bound on a maximum; of one bound on a set: for which the polynomial is non-negative
    there), or None; ``duals``: the multipliers of each constraint.
    ``inner_values``: coefficients well inside every constraint, where there are any; ``program``,
    ``objective``: what was solved; ``steps``: what was tried, and what each proved.

    ``solution[c]`` is the value of an unknown, ``solution(V)`` a polynomial with its unknowns replaced, both
    without the solver's noise: ``noise`` says how far each unknown may be off for all that the solver tells,
    ten times the relative gap (from 1e-8 to 1e-6) of the largest unknown, in the units in which the program
    was solved; a coefficient that is not larger than what its unknowns may be off by is 0.
    """

    values: dict[str, float]
    certified_values: dict[str, float] | None
    duals: tuple[DualData, ...] = field(repr=False)
    inner_values: dict[str, float] | None = field(default=None, repr=False)
    program: Any = field(default=None, repr=False)
    objective: Polynomial | None = field(default=None, repr=False)
    noise: dict[str, float] = field(default_factory=dict, repr=False)

    def __getitem__(self, unknown: Polynomial | str) -> float:
        """The value of one unknown; KeyError for something that is none."""
        name = unknown if isinstance(unknown, str) else unknown.name
        result = self._known[name]
        return result if abs(result) > self.noise.get(name, 0.0) else 0.0

    def __call__(self, p: Any) -> Any:
        """``value``."""
        return self.value(p)

    def value(self, p: Any) -> Any:
        """A polynomial, or an array of them, with the unknowns replaced by their values without noise.

        The values are ``certified_values`` where there are any, else the solver's. A number where nothing
        else occurs in ``p``. What is proven is proven for ``certified_values``, not for what is left here.
        """
        if isinstance(p, (np.ndarray, list, tuple)):
            entries = np.asarray(p, dtype=object)
            flat = [self.value(entry) for entry in entries.reshape(-1)]
            if all(isinstance(entry, float) for entry in flat):
                return np.array(flat, dtype=float).reshape(entries.shape)
            array = np.empty(entries.shape, dtype=object)
            array.reshape(-1)[:] = flat
            return PolynomialArray(array)
        q = Polynomial(p)
        known = {v: self._known[v.name] for v in q.variables if v.name in self._known}
        exact = q.subs(known)
        noise = {v: self.noise.get(v.name, 0.0) for v in known}
        sizes = Polynomial.from_arrays(q.monos, np.abs(q.coefs.astype(float)))
        broad = sizes.subs({v: abs(x) + noise[v] for v, x in known.items()})
        least = broad - sizes.subs({v: abs(x) for v, x in known.items()})
        kept = [
            abs(c) > least.coefficient(monomial(row))
            for row, c in zip(exact.monos, exact.coefs.tolist(), strict=True)
        ]
        result = Polynomial.from_arrays(exact.monos[kept], exact.coefs[kept]).as_float()
        return float(result.constant) if len(known) == len(q.variables) else result

    @property
    def _known(self) -> Mapping[str, float]:
        known = self.certified_values or self.values
        if not known:
            raise ValueError(f"there are no values to read: the status is {self.status!r}")
        return known

    def gram_matrix(self, constraint: Any, of: Any = None) -> GramMatrix:
        """Gram matrix of a constraint as it was required: of its plain sum of squares, or of what multiplies
        ``of``, a constraint of its set. Of ``require_psd`` in the variables y of ``y'My``.

        ``constraint``: what ``require`` was given, or its number in the order of the calls. ValueError for
        something that was not required, or required twice.
        """
        dual, place = self._place(constraint, of)
        return gram_matrix(dual, place)

    def multiplier(self, constraint: Any, of: Any = None) -> Any:
        """The polynomial that multiplies ``of`` in the identity of a constraint; see ``gram_matrix``."""
        dual, place = self._place(constraint, of)
        return multiplier(dual, place)

    def _place(self, constraint: Any, of: Any) -> tuple[DualData, Place]:
        number = self.program.number_of(constraint)
        system = self.program.constraints[number][1]
        return self.duals[len(self.program.vanishing) + number], place_of(of, system)

    @property
    def bound_kind(self) -> str:
        """A point that is proven feasible bounds a minimum from above and a maximum from below."""
        return "upper" if self.sense == "minimize" else "lower"

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in list(self.values.items())[:6])
        more = ", ..." if len(self.values) > 6 else ""
        proven = self.certified_bound
        shown = "" if proven is None else f", {rounded_safely(proven, self.bound_kind)} proven"
        value = f"value {self.bound:.9g}{shown}" if self.values else self.reason
        return f"SosSolution({self.status}{self._less}: {value}{f'; {values}{more}' if values else ''})"

    def _solved(self) -> str:
        return self._less.removeprefix(", ")

    def _facts(self) -> dict[str, object]:
        value = f"{self.bound:.9g} (the solver's)" if self.values else None
        shown = {name: f"{value:.9g}" for name, value in list(self.values.items())[:20]}
        return {f"{self.bound_kind} bound": None, "value": value, **shown}
