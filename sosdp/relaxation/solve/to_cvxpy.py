"""The moments of a relaxation as cvxpy expressions, for any convex objective or constraint on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sosdp.extras import need

from ...algebra import monomials as mono
from ...algebra.pickled_by_name import PickledByName
from ...algebra.polynomial import Polynomial
from ...conic.bridges import to_cvxpy
from ...reduction.quotient import Quotient
from ..assemble.identity import GramProgram, Identity
from ..assemble.scaling import Scaling, scale
from ..duals import monomial
from .forms import moment_form

if TYPE_CHECKING:
    import cvxpy


@dataclass(frozen=True, eq=False)
class CvxpyMoments(PickledByName):
    """The pseudo-expectations of a relaxation inside cvxpy.

    Attributes
    ----------
    constraints
        cvxpy constraints that say "the moments are those of a pseudo-expectation of this degree that
        satisfies the system": put them into every ``cvxpy.Problem`` that uses ``E``.
    moments
        The vector of all moments as a cvxpy expression, in the order of ``monomials``.
    """

    _of_ids: ClassVar = ("columns",)

    degree: int
    constraints: list[Any]
    moments: cvxpy.Expression = field(repr=False)
    columns: np.ndarray = field(repr=False)
    quotient: Quotient = field(repr=False)

    @property
    def monomials(self) -> list[Polynomial]:
        """The monomials whose expectations ``moments`` lists."""
        return [monomial(row) for row in self.columns]

    def E(self, p: Any) -> cvxpy.Expression:
        """Expectation of a polynomial or number (a scalar), or of an array of them (one or two dimensions).

        Raises ValueError for a monomial outside the relaxation: too high a degree, or a variable that neither
        the system nor ``including`` mentions.
        """
        need("cvxpy", "the bridge to cvxpy")
        import cvxpy as cp

        array = np.asarray(p, dtype=object)
        if array.ndim > 2:
            raise ValueError(f"cvxpy has arrays of at most two dimensions, this one has {array.ndim}")
        polys = [q if isinstance(q, Polynomial) else Polynomial(q) for q in array.reshape(-1)]
        values = self._rows(polys) @ self.moments
        return values[0] if array.ndim == 0 else cp.reshape(values, array.shape, order="C")

    def _rows(self, polys: list[Polynomial]) -> sp.csr_matrix:
        """Coefficients of the polynomials in terms of the columns, shape (polynomials, columns)."""
        sizes = [len(p.coefs) for p in polys]
        row = np.repeat(np.arange(len(polys)), sizes)
        monos = mono.concatenate([p.monos for p in polys if len(p.coefs)] or [mono.constant(0)])
        coefs = np.concatenate([np.zeros(0), *(p.coefs.astype(float) for p in polys if len(p.coefs))])
        factors, normal = self.quotient.normal_form(monos)
        place = mono.Index(self.columns).find(normal)
        known = (place >= 0) | (factors == 0)
        if not known.all():
            missing = monomial(monos[~known][0])
            raise ValueError(
                f"E[{missing}] is not part of this relaxation of degree {self.degree}: raise the degree, or, "
                "if its variables are not in the system, name it in relax.to_cvxpy(including=[...])"
            )
        return sp.csr_matrix(
            (coefs * factors, (row, np.maximum(place, 0))), shape=(len(polys), self.columns.shape[0])
        )


def cvxpy_moments(degree: int, identity: Identity, scaling: Scaling) -> CvxpyMoments:
    """The moment form of an assembled identity (with no objective) in cvxpy, scaled inside for accuracy."""
    program = GramProgram(scale(identity, scaling), np.ones(1), np.full(1, np.inf))
    form = moment_form(program)
    problem, free = to_cvxpy(form.conic)
    place = sp.csr_matrix(
        (scaling.column[form.kept], (form.kept, np.arange(form.kept.size))),
        shape=(form.fixed.size, form.kept.size),
    )
    moments = place @ free + form.fixed * scaling.column
    return CvxpyMoments(degree, problem.constraints, moments, identity.columns, identity.quotient)
