"""A proven bound where the set bounds nothing: from multipliers inside their cones, as for any conic program.

What is missing of approximate multipliers is usually paid for with a bound on the variables (``bound``).
Where the set has none, as for ``x**3`` on ``x >= -1``, the multipliers must satisfy the identity exactly: the
moment program is a conic program, and a dual vector of it near which an exact one is proven to exist proves a
bound (``sosdp.conic.strategies``). Errors of the assembled entries are charged; where all coefficients are
small dyadic numbers there are none, and faces of the multipliers may be read off them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...algebra.polynomial import Polynomial
from ...conic.choose import opinion
from ...conic.exact.integers import rounded
from ...conic.strategies import dual_bound
from ...conic.svec import SQRT2
from ...model.system import System
from ..assemble.identity import GramProgram, Identity
from ..solve.forms import moment_form
from .stated import ROUNDINGS

_ROWS, _COLUMNS = 2500, 300  # larger programs are left alone: a minute
_DIGITS, _LARGEST = 2**10, 2**20


def interior_bound(
    identity: Identity, system: System, objective: Polynomial, time_limit: float | None
) -> float | None:
    """A proven lower bound on the target of the identity over the set, or None."""
    rows, columns = identity.gram.shape
    plain = identity.symmetry is None and identity.dominance is None and not identity.hermitian
    single = identity.unknown.shape[0] == 1 and identity.unknown.nnz == 1
    if not (plain and single) or rows > _ROWS or columns > _COLUMNS:
        return None
    if any(block.null is not None for block in identity.blocks):
        return None
    # scaled identities share index arrays with this one, which sums and products would sort in place
    identity = replace(identity, gram=identity.gram.copy(), free=identity.free.copy())
    form = moment_form(_stated(identity))
    off = moment_form(_stated(_errors(identity))).conic
    exact = not identity.rounded and _is_short(system, objective)
    exact = exact and all(_are_short(v) for v in (identity.gram.data, identity.free.data, identity.target))
    errors = None if exact else (abs(off.A).toarray(), np.abs(off.b), np.abs(off.q))
    with opinion(form.conic, time_limit) as solve:
        found = dual_bound(form.conic, errors, solve)
    if not np.isfinite(found):
        return None
    column = np.flatnonzero(form.fixed)
    parts = (Fraction(float(identity.target[j])) * Fraction(float(form.fixed[j])) for j in column)
    constant = sum(parts, Fraction(0))
    error = Fraction(0) if exact else abs(constant) * Fraction(ROUNDINGS)
    return rounded(Fraction(found) + constant - error, -1)


def _stated(identity: Identity) -> GramProgram:
    return GramProgram(identity, np.ones(1), np.full(1, np.inf))


def _errors(identity: Identity) -> Identity:
    """What the entries of an identity are off by at most, as an identity."""
    gram, free = abs(identity.gram) * ROUNDINGS, abs(identity.free) * ROUNDINGS
    target = np.abs(identity.target) * ROUNDINGS
    return replace(identity, gram=sp.csr_matrix(gram), free=sp.csr_matrix(free), target=target)


def _is_short(system: System, objective: Polynomial) -> bool:
    """Whether all coefficients are dyadic numbers of few digits, so that no entry was rounded."""
    if system.matrices or system.foralls:
        return False
    return all(
        abs(c) < _LARGEST and (Fraction(c) * _DIGITS).denominator == 1
        for p in (objective, *system.equalities, *system.inequalities)
        for c in p.coefs.tolist()
    )


def _are_short(values: np.ndarray) -> bool:
    """Whether all entries are such numbers, or sqrt(2) times such (rewriting rules may have divided)."""
    short = np.round(values * _DIGITS) / _DIGITS
    root = np.round(values / SQRT2 * _DIGITS) / _DIGITS * SQRT2
    return bool(((short == values) | (root == values)).all())
