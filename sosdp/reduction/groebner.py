"""Groebner bases of the equalities: bases of standard monomials only, and no polynomial normal forms needed.

Every equality follows from a Groebner basis G and every element of G from the equalities, so G may replace
them. For a degree order, any monomial b is its normal form plus a combination of elements of G in degrees
not above that of b. With the multiples of G as equality rows of the relaxation, a Gram matrix over all
monomials can therefore be rewritten over the standard ones (those that no leading monomial divides): nothing
is lost, and the block shrinks from all monomials to a basis of the quotient ring. One multiple of
G for every non-standard monomial spans the ideal in these degrees, so the rows are independent. The bound of
a given degree may even be stronger than that of the equalities as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ..algebra import monomials as mono
from ..algebra.coefficients import object_array
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..conic.exact.integers import over_one_denominator
from ..model.system import System

_VARIABLES = 40
# the naive algorithm stops when the basis has so many elements, terms in one, or bits in a coefficient
_LIMITS = (400, 2000, 4000)


@dataclass(frozen=True, eq=False)
class Ideal(PickledByName):
    """The reduced Groebner basis in degree-reverse-lexicographic order (monic, exact) and its leading
    exponents, shape (len(basis), len(ids))."""

    _of_ids: ClassVar = ("ids",)

    ids: np.ndarray
    basis: tuple[Polynomial, ...]
    leads: np.ndarray

    @property
    def empty(self) -> bool:
        """Whether the equalities have no common zero, complex ones included."""
        return bool((self.leads.sum(axis=1) == 0).any())

    def standard(self, monos: np.ndarray) -> np.ndarray:
        """Which monomials (rows) no leading monomial divides, shape (m,)."""
        table = np.zeros(max(int(monos.max(initial=0)), int(self.ids.max(initial=0))) + 1, dtype=np.int64)
        table[self.ids] = np.arange(1, self.ids.size + 1)
        exponents = np.zeros((monos.shape[0], self.ids.size + 1), dtype=np.int64)
        rows = np.broadcast_to(np.arange(monos.shape[0])[:, None], monos.shape)
        np.add.at(exponents, (rows, table[monos]), 1)
        divided = np.zeros(monos.shape[0], dtype=bool)
        for lead in self.leads:
            divided |= (exponents[:, 1:] >= lead).all(axis=1)
        return ~divided

    def multipliers(self, monos: np.ndarray, ids: np.ndarray) -> list[np.ndarray]:
        """One multiple ``q * g`` for every monomial (row, in the variables ``ids``) that some leading
        monomial divides: the q of each element g.

        Their leading monomials differ, so these multiples are independent, and they span the ideal in the
        degrees of ``monos``.
        """
        exponents = mono.exponents(monos, ids)
        leads = np.zeros((self.leads.shape[0], ids.size), dtype=np.int64)
        leads[:, np.searchsorted(ids, self.ids)] = self.leads
        waiting = np.ones(monos.shape[0], dtype=bool)
        out = []
        for lead in leads:
            here = waiting & (exponents >= lead).all(axis=1)
            waiting &= ~here
            out.append(mono.from_exponents(exponents[here] - lead, ids))
        return out

    def number(self, equalities: tuple[Polynomial, ...]) -> list[int]:
        """Number of the equality that is a multiple of each element of the basis, or -1."""
        known = {_monic(h): k for k, h in reversed(list(enumerate(equalities)))}
        return [known.get(_monic(g), -1) for g in self.basis]

    def missing(self, equalities: tuple[Polynomial, ...], degree: int) -> list[Polynomial]:
        """Elements of the basis of at most this degree that are not multiples of an equality."""
        known = zip(self.basis, self.number(equalities), strict=True)
        return [g for g, number in known if number < 0 and g.degree <= degree]


def _monic(p: Polynomial) -> Polynomial:
    exact = p.as_exact()
    return exact * (1 / Fraction(exact.coefs.tolist()[0]))


@lru_cache(maxsize=16)
def groebner_ideal(equalities: tuple[Polynomial, ...]) -> Ideal:
    """The ideal of the equalities. Floats are the binary numbers that they are: x == 0.1, y == 0.0625 and
    x - y == 0.1 - 0.0625 have a common zero, which their shortest decimals have not.

    Raises ValueError when the ideal is not small: more than 40 variables, or a basis that grows beyond 400
    elements, 2000 terms in one or 4000 bits in a coefficient. Cost: Buchberger's algorithm.
    """
    from flint import Ordering, fmpz_mpoly_ctx, fmpz_mpoly_vec

    ids = np.unique(np.concatenate([np.asarray(h.variable_ids) for h in equalities] or [np.zeros(0, int)]))
    if ids.size == 0 or ids.size > _VARIABLES:
        raise ValueError(
            f"quotient='groebner' is for equalities in 1 to {_VARIABLES} variables, not {ids.size}; "
            "use quotient=True"
        )
    context = fmpz_mpoly_ctx.get(tuple(f"v{k}" for k in range(ids.size)), Ordering.degrevlex)
    polynomials = []
    for h in equalities:
        exact = h.as_exact()
        powers = mono.exponents(exact.monos, ids).tolist()
        integers, _ = over_one_denominator(exact.coefs.tolist())
        polynomials.append(context.from_dict(dict(zip(map(tuple, powers), integers, strict=True))))
    result: Any
    result, finished = fmpz_mpoly_vec(polynomials, context).buchberger_naive(limits=_LIMITS)
    if not finished:
        raise ValueError(
            "the Groebner basis of the equalities is too large (more than 400 elements, 2000 terms in one, "
            "or 4000 bits in a coefficient); use quotient=True"
        )
    basis, leads = [], []
    for g in result.autoreduction():
        # terms come in descending order
        powers, coefficients = zip(*g.terms(), strict=True)
        lead = int(coefficients[0])
        coefs = object_array(Fraction(int(c), lead) for c in coefficients)
        basis.append(
            Polynomial.from_arrays(mono.from_exponents(np.array(powers, dtype=np.int64), ids), coefs)
        )
        leads.append(powers[0])
    return Ideal(ids, tuple(basis), np.array(leads, dtype=np.int64).reshape(len(basis), ids.size))


def with_groebner(system: System, degree: int) -> System:
    """The system with the elements of the Groebner basis of its equalities, up to ``degree``, as equalities
    too: the same set."""
    if not system.equalities:
        return system
    extra = groebner_ideal(system.equalities).missing(system.equalities, degree)
    return system & System(*(g.equals(0) for g in extra))
