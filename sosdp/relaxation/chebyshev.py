"""Bounds for polynomials in Chebyshev coefficients on [-1, 1]^n: degree 1000 in one variable is everyday."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.polynomial import chebyshev

from ..algebra import monomials as mono
from ..algebra.chebyshev import ChebyshevPolynomial, from_polynomial
from ..algebra.coefficients import to_float
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..conic.rigorous import UNIT
from ..model.options import read_options
from ..model.system import System
from .assemble.sizes import check_sampled
from .descent import near, terms_of
from .pseudoexpectation import Result
from .solve.sos_cone.points import chebyshev_products
from .solve.sos_cone.unit_box import SampledBound
from .steps.sampled import on_unit_box


@dataclass(frozen=True, eq=False)
class ChebyshevBound(Result, PickledByName):
    """A bound on a polynomial in Chebyshev coefficients over [-1, 1]^n, and the pseudo-expectation beside it.

    ``status``: ``optimal``, ``inaccurate`` or ``failed``; ``bound``: the solver's value;
    ``certified_bound``: a theorem, or None and then ``reason`` says why; ``result(p)``: the
    pseudo-expectation of a polynomial of at most ``degree``; ``steps``: what ran.
    """

    _of_ids: ClassVar = ("variable_ids",)

    objective: ChebyshevPolynomial
    degree: int
    iterations: int
    variable_ids: np.ndarray = field(repr=False)
    raw: SampledBound = field(repr=False)

    def __repr__(self) -> str:
        return f"ChebyshevBound({self.status}, degree {self.degree}: {self._bounds})"

    def _facts(self) -> dict[str, object]:
        return {"size": f"degree {self.degree}"}

    def atoms(self) -> np.ndarray:
        """Points of [-1, 1] where the objective attains the bound, to 1e-6 of its largest coefficient (the
        constant apart), shape (count, 1).

        In one variable, from the zeros of the derivative; empty in several, and where no point attains it:
        ``atoms_reason`` says why.
        """
        return self._atoms[0]

    @property
    def atoms_reason(self) -> str:
        """Why ``atoms`` is empty ('' when it is not)."""
        return self._atoms[1]

    @cached_property
    def _atoms(self) -> tuple[np.ndarray, str]:
        none = np.zeros((0, self.variable_ids.size))
        if self.variable_ids.size != 1:
            return none, "points are read off in one variable only; evaluate the bound at your candidates"
        if not np.isfinite(self.bound):
            return none, f"the status is {self.status!r}"
        exponents = self.objective.exponents(self.variable_ids)[:, 0].tolist()
        exact = {k: Fraction(c) for k, c in zip(exponents, self.objective.terms.values(), strict=True)}
        constant, sign = exact.pop(0, Fraction(0)), -1.0 if self.sense == "maximize" else 1.0
        size = max(map(abs, exact.values()), default=Fraction(1))
        series = np.zeros(self.objective.degree + 1)
        series[[*exact]] = [sign * float(c / size) for c in exact.values()]
        turns = chebyshev.chebroots(chebyshev.chebder(chebyshev.chebtrim(series, UNIT)))
        flat = turns.real[np.abs(turns.imag) <= 1e-6]
        points = np.unique(np.concatenate([flat[np.abs(flat) < 1.0], [-1.0, 1.0]]))
        values = chebyshev.chebval(points, series)
        least, level = float(values.min()), sign * near((Fraction(self.bound) - constant) / size)
        # the digits of a bound beside a large constant are allowed for
        off = abs(least - level) - 4 * UNIT * near(abs(Fraction(self.bound)) / size)
        kept = points[np.maximum(values - least, off) <= 1e-6 * max(1.0, abs(least))]
        kept = kept[
            np.diff(kept, prepend=-np.inf) > 1e-7
        ]  # a zero of the derivative may be several times there
        if not kept.size:
            return none, "no point attains the bound to 1e-6"
        return kept[:, None], ""

    def __call__(self, p: ChebyshevPolynomial | Polynomial) -> float:
        """The pseudo-expectation of a polynomial; ValueError above ``degree`` or for other variables."""
        series = p if isinstance(p, ChebyshevPolynomial) else from_polynomial(p)
        if series.degree > self.degree or not np.isin(series.variable_ids, self.variable_ids).all():
            raise ValueError(f"this pseudo-expectation is of degree {self.degree} in its own variables")
        values = chebyshev_products(self.raw.points, series.exponents(self.variable_ids))
        return float(self.raw.weights @ (values @ np.array([float(c) for c in series.terms.values()])))


def minimize_chebyshev(
    objective: ChebyshevPolynomial,
    system: System,
    degree: int | None = None,
    *,
    sense: str = "minimize",
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> ChebyshevBound:
    """The sum-of-squares bound of the given even degree (by default the least) over [-1, 1]^n.

    ``system`` must say that every variable lies in [-1, 1] (``1 - x**2 >= 0``, or ``x >= -1`` and ``x <= 1``)
    and nothing else. ValueError otherwise, and for a degree that is odd or too small; ProblemTooLarge for one
    that memory or the time limit does not allow.
    """
    given = {"tolerance": tolerance, "time_limit": time_limit, "verbose": verbose}
    options = read_options(sense, given, ["solve"])
    ids = np.unique(np.concatenate([objective.variable_ids, system.variable_ids])).astype(mono.MONOMIAL)
    if not ids.size:
        raise ValueError("a constant needs no bound")
    _check_unit_box(system, ids)
    least = max(2, objective.degree + objective.degree % 2)
    wanted = least if degree is None else degree
    whole = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
    if not whole or wanted % 2 or wanted < least:
        raise ValueError(f"degree must be even and at least {least}, not {wanted!r}")
    check_sampled(int(ids.size), wanted, options.time_limit)
    began = time.perf_counter()
    signed = -objective if sense == "maximize" else objective
    exponents = signed.exponents(ids)
    varying = np.asarray(exponents.any(axis=1), dtype=bool)
    numbers = [Fraction(c) for c in signed.terms.values()]
    others = [c for c, other in zip(numbers, varying.tolist(), strict=True) if other]
    sign, constant = -1 if sense == "maximize" else 1, sum(numbers, Fraction(0)) - sum(others)
    to_float(constant)  # refused where no float is near it
    raw, status, proven, ran = on_unit_box(exponents[varying], others, wanted // 2, constant, sign, options)
    reason = "" if status == "optimal" else f"the solver ended with {raw.solution.status}"
    sizes = {
        "moments": int(raw.points.shape[0]),
        "blocks": sorted((g.shape[0] for g in raw.grams), reverse=True),
        "degree": int(wanted),
    }
    took = time.perf_counter() - began
    times = {"solve": raw.solution.seconds, "certify": took - raw.solution.seconds}
    return ChebyshevBound(
        status=status,
        sense=sense,
        objective=objective,
        degree=wanted,
        bound=sign * raw.value,
        certified_bound=proven,
        reason=reason,
        solver=ran.solver,
        iterations=raw.solution.iterations,
        sizes=sizes,
        times=times,
        variable_ids=ids,
        raw=raw,
        steps=(ran,),
    )


def _check_unit_box(system: System, ids: np.ndarray) -> None:
    """ValueError unless the system is -1 <= x <= 1 for these variables."""
    low, high = set(), set()
    other = len(system.equalities) + len(system.matrices) + len(system.foralls)
    for g in system.inequalities:
        exact = g.as_exact()
        result = terms_of(exact)
        one = result.pop((), 0)
        variable = int(exact.variable_ids[0]) if len(exact.variable_ids) == 1 else 0
        if result == {(variable, variable): -one} and one > 0:
            low.add(variable)
            high.add(variable)
        elif result == {(variable,): one} and one > 0:
            low.add(variable)
        elif result == {(variable,): -one} and one > 0:
            high.add(variable)
        else:
            other += 1
    if other or not set(ids.tolist()) <= low & high:
        raise ValueError(
            "a polynomial in Chebyshev coefficients is bounded on the box -1 <= x <= 1 of all its variables, "
            "without other constraints: give 1 - x**2 >= 0 for each; for another interval substitute "
            "x = (a + b)/2 + (b - a)/2*t"
        )
