"""Bounds on trigonometric polynomials ``c_0 + sum_k (c_k cos kt + s_k sin kt)``, proven, for any degree."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..algebra.coefficients import Number, as_numbers
from ..model.options import read_options
from .assemble.sizes import check_tables
from .descent import near
from .pseudoexpectation import Result
from .solve.sos_cone.unit_box import SampledBound
from .steps.sampled import on_circle


@dataclass(frozen=True, eq=False)
class TrigonometricBound(Result):
    """A bound on a trigonometric polynomial over all angles.

    ``status``: ``optimal``, ``inaccurate`` or ``failed``; ``bound``: the solver's value; ``certified_bound``:
    a theorem, or None; ``angle``: where the pseudo-expectation of e^(it) points, the minimiser where there is
    one (None where it vanishes); ``coefficients``: of the cosines and of the sines, as they were given;
    ``steps``: what ran.
    """

    degree: int
    iterations: int
    seconds: float
    raw: SampledBound = field(repr=False)
    coefficients: tuple[tuple[Number, ...], tuple[Number, ...]] = field(repr=False)

    def __repr__(self) -> str:
        return f"TrigonometricBound({self.status}, degree {self.degree}: {self._bounds})"

    def __call__(self, k: int) -> complex:
        """The pseudo-expectation of ``e^(ikt)``; ValueError above the degree."""
        if abs(k) > self.degree:
            raise ValueError(f"this pseudo-expectation is of degree {self.degree}")
        return complex(self.raw.weights @ np.exp(1j * k * self.raw.points))

    @property
    def angle(self) -> float | None:
        """The direction of the mean of e^(it) in [0, 2 pi), or None where its length is below 1e-3."""
        first = self(1) if self.degree else 0.0
        return float(np.angle(first) % (2 * np.pi)) if abs(first) > 1e-3 else None


def minimize_trigonometric(
    cosines: Sequence[float | Fraction | int],
    sines: Sequence[float | Fraction | int] = (),
    *,
    sense: str = "minimize",
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> TrigonometricBound:
    """The least value (or with ``sense="maximize"`` the largest) of a trigonometric polynomial, with a proof.

    Parameters
    ----------
    cosines
        c_0, c_1, ..., the constant first.
    sines
        s_1, s_2, ..., not necessarily as many.

    Sums of squares are exact here (Fejer and Riesz), for every degree. ValueError for a coefficient that is
    not finite or another sense, TypeError for one that is no real number, ProblemTooLarge for a degree that
    memory or the time limit does not allow.
    """
    if sense not in ("minimize", "maximize"):
        raise ValueError(f"sense must be 'minimize' or 'maximize', not {sense!r}")
    sign = -1 if sense == "maximize" else 1
    given = {"tolerance": tolerance, "time_limit": time_limit}
    options = read_options("minimize_trigonometric", given, ["solve"], more=("sines", "sense"))
    coefficients = tuple(as_numbers(cosines)), tuple(as_numbers(sines))
    c = [sign * v for v in coefficients[0]] or [0]
    s = [sign * v for v in coefficients[1]]
    degree = max(len(c) - 1, len(s))
    check_tables(f"a trigonometric polynomial of degree {degree}", 2 * degree + 3, degree + 2, time_limit)
    if not all(math.isfinite(near(v)) for v in (*c, *s)):
        raise ValueError("a coefficient is not finite")
    began = time.perf_counter()
    constant, *others = map(Fraction, c)
    raw, status, proven, ran = on_circle(others, [Fraction(v) for v in s], constant, sign, options)
    return TrigonometricBound(
        status=status,
        sense=sense,
        degree=degree,
        bound=sign * raw.value,
        certified_bound=proven,
        reason="" if status == "optimal" else f"the solver ended with {raw.solution.status}",
        solver=ran.solver,
        sizes={"moments": int(raw.points.size), "blocks": [g.shape[0] for g in raw.grams], "degree": degree},
        times={"solve": raw.solution.seconds},
        iterations=raw.solution.iterations,
        seconds=time.perf_counter() - began,
        raw=raw,
        coefficients=coefficients,
        steps=(ran,),
    )
