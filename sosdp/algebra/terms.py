"""Merging equal monomials: the one place where terms with the same key are added up.

Everything here works on parallel arrays of keys and coefficients and returns positions, so that monomial rows
are built once per distinct monomial and not once per pair.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra.coefficients import are_exact, check_finite, settle

_FEW = 40


class Rounded(ArithmeticError):
    """Sums of floats would be rounded: integers have to take their place."""


def merge(
    keys: np.ndarray,
    coefs: np.ndarray,
    monos: np.ndarray | None,
    second: Callable[[], np.ndarray] | None = None,
    low: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up the coefficients of equal keys: (position of one representative, distinct sorted keys, sums).

    The sums keep the dtype of ``coefs``: for int64 the caller has made sure that they fit. Equal keys are
    checked to be equal monomials, by the rows ``monos`` or the ``second()`` keys; KeyCollision if not. With
    ``low`` the floats ``coefs`` are multiples of ``2**low``; Rounded if one of them or of the sums may be
    rounded.
    """
    order = keys.argsort()
    ordered = keys[order]
    if low is not None and keys.size and not are_exact(np.abs(coefs), low).all():
        raise Rounded
    if keys.size < 2:
        return order, ordered, coefs[order]
    new = ordered[1:] != ordered[:-1]
    distinct = np.count_nonzero(new) + 1  # several times faster than new.all() on short arrays
    if distinct == keys.size:
        return order, ordered, coefs[order]
    if second is not None:
        checked = second()[order]
        if np.count_nonzero((checked[1:] != checked[:-1]) > new):
            raise mono.KeyCollision
    else:
        assert monos is not None
        repeated = (~new).nonzero()[0]
        if np.count_nonzero(monos[order[repeated]] != monos[order[repeated + 1]]):
            raise mono.KeyCollision
    starts = np.zeros(distinct, dtype=np.int64)
    starts[1:] = new.nonzero()[0]
    starts[1:] += 1
    coefs = coefs[order]
    if low is not None:
        sizes = np.add.reduceat(np.abs(coefs), starts)
        if not are_exact(sizes, np.minimum.reduceat(low[order], starts)).all():
            raise Rounded
    return order[starts], ordered[starts], np.add.reduceat(coefs, starts)


def distinct_ids(monos: np.ndarray) -> np.ndarray:
    """Sorted ids of the variables that occur in the rows, int32."""
    if monos.size == 0:
        return np.zeros(0, dtype=mono.MONOMIAL)
    if monos.size <= _FEW:  # a set is faster than four array operations
        return np.array(sorted({*monos.ravel().tolist(), 0})[1:], dtype=mono.MONOMIAL)
    seen = np.zeros(int(monos.max()) + 1, dtype=bool)
    seen[monos] = True
    seen[0] = False
    return np.flatnonzero(seen).astype(mono.MONOMIAL)


def finish(
    monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drop zero coefficients, settle exact ones in their canonical dtype, trim the width.

    ValueError if a float coefficient is not finite.
    """
    if coefs.dtype == object:
        coefs = settle(coefs)
    elif coefs.dtype == np.float64:
        check_finite(coefs)
    return without_zeros(monos, coefs, keys)


def without_zeros(
    monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The terms whose coefficients are not zero."""
    if np.count_nonzero(coefs) == coefs.size:
        return monos, coefs, keys
    keep = coefs != 0
    return mono.trim(monos[keep]), coefs[keep], keys[keep]
