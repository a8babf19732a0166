"""Units for a program over several measures: masses, constraints and the objective of size one.

What a solver's tolerance means, and what its answer is judged by, are numbers of size one. With the moments
of measure k divided by kappa_k, row i (a constraint) multiplied by rho_i and the objective by tau, the
identity

    target_k + sum_i u_i unknown_ik = sum of squares      becomes      tau kappa_k times it,

in the unknowns ``u_i' = u_i tau / rho_i``. Every factor is a power of two, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from .entries import TINY
from .identity import Identity, RoundingErrors

_HIGHEST = 400  # exponents beyond it are not used
_USUAL = (2.0**-4, 2.0**10)  # sizes that are left alone where there are no others: solvers are made for them


@dataclass(frozen=True, eq=False)
class Units:
    """Powers of two: ``masses`` (kappa, one a measure), ``rows`` (rho, one a constraint), ``value`` (tau).

    ``size``: that of the objective in the given units, its largest coefficient times the mass.
    """

    masses: np.ndarray
    rows: np.ndarray
    value: float
    size: float = 1.0

    @property
    def unknowns(self) -> np.ndarray:
        """What an unknown of the program in these units is multiplied by in the given ones."""
        return self.rows / self.value

    def cost(self, measure: int) -> Fraction:
        """What a shortfall of the identity of a measure is multiplied by in the given units."""
        return 1 / (Fraction(self.value) * Fraction(float(self.masses[measure])))


def no_units(measures: int, constraints: int, size: float = 1.0) -> Units:
    """Everything as it is."""
    return Units(np.ones(measures), np.ones(constraints), 1.0, size)


def find_units(identities: Sequence[Identity], prices: np.ndarray, equations: np.ndarray) -> Units:
    """Units of the identities (one a measure, their variables scaled already).

    ``prices``: the right sides of the constraints; ``equations``: which of them are equations, bool. A
    constraint on one measure says how large that measure is, others how large all are at most.
    """
    sizes = np.array(
        [abs(p.unknown).max(axis=1).toarray().ravel() for p in identities]
    )  # measure, constraint
    sizes = sizes.reshape(len(identities), prices.size)
    largest = sizes.max(axis=0, initial=0.0)
    own = (sizes > 0).sum(axis=0) == 1
    told = (largest > 0) & (prices != 0) & np.isfinite(prices)
    with np.errstate(all="ignore"):
        said = np.where(told, np.abs(prices) / np.where(told, largest, 1.0), 0.0)
    known = told & (equations if (told & equations).any() else True)
    common = _power(float(said[known].max(initial=0.0)))
    masses = np.full(len(identities), common)
    for k, row in enumerate(sizes):
        mine = said[known & own & (row > 0)]
        if mine.size:
            masses[k] = _power(float(mine.max()))
    rows = np.array([1.0 / _power(v) for v in (sizes * masses[:, None]).max(axis=0, initial=0.0)])
    top = [float(np.abs(p.target).max(initial=0.0)) * m for p, m in zip(identities, masses, strict=True)]
    size = _power(max(top))
    found = Units(masses, rows, 1.0 / size, size)
    every = np.concatenate([masses, 1.0 / rows, [size]])
    usual = ((every >= _USUAL[0]) & (every <= _USUAL[1])).all()
    if usual or not all(_is_exact(p, k, found) for k, p in enumerate(identities)):
        return no_units(len(identities), prices.size, size)
    return found


def in_units(identity: Identity, measure: int, units: Units) -> Identity:
    """The identity of a measure in these units."""
    mass = float(units.masses[measure])
    rows = sp.diags_array(units.rows * mass)
    errors = identity.errors
    if errors is not None:
        errors = RoundingErrors(
            gram=errors.gram,
            free=errors.free,
            target=errors.target * (units.value * mass),
            unknown=sp.csr_matrix(rows @ errors.unknown),
        )
    return replace(
        identity,
        target=identity.target * (units.value * mass),
        unknown=sp.csr_matrix(rows @ identity.unknown),
        errors=errors,
    )


def _power(size: float) -> float:
    if not 0 < size < np.inf:
        return 1.0
    return float(np.exp2(np.clip(np.round(np.log2(size)), -_HIGHEST, _HIGHEST)))


def _is_exact(identity: Identity, measure: int, units: Units) -> bool:
    """Whether no entry leaves the range of normal floats."""
    mass = float(units.masses[measure])
    factors = units.rows * mass
    entries = np.abs(identity.unknown.data) * np.repeat(factors, np.diff(identity.unknown.indptr))
    data = np.concatenate([entries, np.abs(identity.target) * (units.value * mass)])
    given = np.concatenate([identity.unknown.data, identity.target])
    kept = data[given != 0]
    return bool(((kept > TINY) & (kept < 1 / TINY)).all())
