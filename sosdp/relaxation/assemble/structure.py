"""What demands of one structure share: all but the coefficients of what is bounded.

Of small programs the last structures are remembered, whatever door asks: a sweep, ``minimize_many``, one more
call with other numbers assembles nothing, and what solvers and proofs need of the matrices is made once
(``Identity.derived``). The coefficients of a set are part of its structure; those of inequalities and
matrices are not part of its plan (``Plan.about``), which a set with other ones takes over. An answer does not
depend on what was remembered: the same functions were called with the same arguments, or plan the same.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from ...algebra import monomials as mono
from ...algebra.coefficients import binary
from ...algebra.polynomial import Polynomial
from .entries import Coefficients, sums
from .identity import Identity
from .plan import Plan

_MOST = 64  # structures that are remembered
_LARGE = 20_000  # entries of one that is not


@dataclass(frozen=True, eq=False)
class Structure:
    """A demand (``statement.Demand``) about some polynomial, and what was made of it."""

    demand: Any
    identity: Identity
    layout: Plan

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Numbers and signs of the polynomial's terms that do not vanish, by columns; these columns, and
        where the terms of each begin."""
        signs, normal = self.identity.quotient.normal_form(self.demand.parts[0].monos)
        places = np.where(signs != 0, mono.Index(self.identity.columns).find(normal), -1)
        kept = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
        columns, starts = np.unique(places[kept], return_index=True)
        return kept, signs[kept].astype(np.int64), columns, starts

    def assembled(self, target: Polynomial) -> tuple[Identity, Plan] | None:
        """Identity and plan for another polynomial of the same monomials; None where it is not known whether
        entries are rounded."""
        kept, signs, columns, starts = self._places
        known, rounded = Coefficients(target.coefs), False
        values = known.floats[kept] * signs
        if starts.size < kept.size:
            exact = np.full(kept.size, known.exact)
            values, rounded = sums(values, starts, exact, lambda k: binary(known.given)[kept[k]] * signs[k])
            if self.identity.rounded and not rounded:  # by its own target, or by another entry
                return None
        row = np.zeros(self.identity.columns.shape[0])
        row[columns] = values
        return self.identity.with_target(row, rounded or self.identity.rounded), self.layout


_kept: dict[Hashable, Structure] = {}
_lock = Lock()


def recalled(key: Hashable) -> Structure | None:
    """The structure of this key, if it is remembered."""
    with _lock:
        structure = _kept.pop(key, None)
        if structure is not None:
            _kept[key] = structure  # the last one again
        return structure


def remember(key: tuple[Hashable, Hashable], made: Structure) -> Structure | None:
    """Remember a small structure, and as the last one of its plan, in the place of those that were asked for
    longest ago; None where it is too large."""
    if made.identity.gram.nnz > _LARGE:
        return None
    with _lock:
        _kept.pop(key[0], None)
        _kept.update({key: made, key[0]: made})
        while len(_kept) > _MOST:
            del _kept[next(iter(_kept))]
    return made


def forget() -> None:
    """Nothing is remembered."""
    with _lock:
        _kept.clear()


def monomials(p: Polynomial) -> Hashable:
    """Those of a polynomial as a key."""
    return p.monos.shape, p.monos.tobytes()


def written(p: Polynomial) -> Hashable:
    """A polynomial as a key: monomials and exact coefficients."""
    return monomials(p), tuple(p.coefs.tolist())
