"""Bounds of many objectives on one set: one structure is assembled, set up and certified for all of them.

Objectives are read in the monomials of them all. The solver is set up once; the proofs are made together
(``certify_each``). What is not ``optimal`` at once is asked the ordinary way, and so is everything where the
first program is none of a few small blocks for an interior point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import monomials as mono
from ..algebra.polynomial import Polynomial
from ..conic.choose import choose
from ..conic.clarabel import Repeated
from .assemble.entries import Coefficients
from .candidate import Candidate
from .certify.bound import Certified, certify_each
from .certify.shift_constant import lifted
from .change import Built, Change, build, centre_of_data
from .judge import outwards, proven, shortfall, violation
from .ladder import closed
from .solve.forms import gram_form, read_gram_form
from .solve.solve import unproducible
from .statement import BOUND, Demand, Statement

if TYPE_CHECKING:
    from .assemble.identity import RawSolution
    from .pseudoexpectation import PseudoExpectation

_MOST_SIDE = 60  # of all blocks together: larger programs are worth a choice of their own
_BATCH = 256  # programs that are certified together
_MARGIN = 4096.0  # roundings by which a Gram matrix is lifted: once is to be enough


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of many objectives, one entry each.

    ``bounds`` and ``certified_bounds``: shape (n,), NaN where nothing is proven; ``status``: as of single
    answers. ``answers[k]`` is the whole answer of one, which is solved for when it is asked for.
    """

    bounds: np.ndarray
    certified_bounds: np.ndarray
    status: np.ndarray
    answer: Callable[[int], PseudoExpectation]

    def __len__(self) -> int:
        return self.bounds.size

    def __getitem__(self, k: int) -> PseudoExpectation:
        return self.answer(range(len(self))[k])

    def __repr__(self) -> str:
        good = int((self.status == "optimal").sum())
        return f"Bounds({len(self)} objectives, {good} optimal)"


def minimize_many(
    base: Demand,
    objectives: Sequence[Any],
    ask: Callable[[Polynomial], PseudoExpectation],
    together: bool = True,
) -> Bounds:
    """Bounds of objectives on the set of a demand, by one structure (``together``) or by ``ask``; see
    ``Relaxation.minimize_many``."""
    asked = [p if isinstance(p, Polynomial) else Polynomial(p) for p in objectives]

    def answer(k: int) -> PseudoExpectation:
        return ask(asked[k])

    none = np.full(len(asked), np.nan)
    found = Bounds(none, none.copy(), np.full(len(asked), "", dtype=object), answer)
    family = _family(base, asked) if asked and together else None
    if family is not None:
        for start in range(0, len(asked), _BATCH):
            _settle(found, start, family, asked[start : start + _BATCH])
    for k in np.flatnonzero(found.status == ""):
        single = answer(int(k))
        proof = single.certified_bound
        found.bounds[k], found.status[k] = single.bound, single.status
        found.certified_bounds[k] = np.nan if proof is None else proof
    return found


@dataclass(frozen=True, eq=False)
class _Family:
    """One structure: its program with generic numbers, the solver, and the column of each monomial."""

    built: Built
    solver: Repeated
    columns: dict[tuple[int, ...], int]

    def row(self, p: Polynomial) -> np.ndarray:
        """Coefficients by column."""
        row = np.zeros(len(self.columns))
        places = [self.columns[tuple(v for v in m if v)] for m in p.monos.tolist()]
        row[places] = Coefficients(p.coefs).floats
        return row


def _family(base: Demand, asked: list[Polynomial]) -> _Family | None:
    """The structure that all objectives share; None where they are better asked one by one."""
    o = base.options
    if o.cone != "sos" or o.symmetries is not None or o.quotient == "groebner" or base.system.foralls:
        return None
    monos = mono.concatenate([p.monos for p in asked])
    generic = Polynomial.from_arrays(monos, np.ones(len(monos)))  # sums of ones: every monomial stays
    plain = replace(o, symmetry="none" if o.symmetry == "none" else "sign")
    demand = replace(base, parts=(generic, *base.parts[1:]), options=plain)
    statement = Statement(BOUND, (demand,), (Fraction(1),), (math.inf,))
    if not centre_of_data(statement).trivial:
        return None
    built = build(statement, Change.none(statement))
    identity = built.scaled[0]
    small = sum(identity.sides) <= _MOST_SIDE and choose(identity.sides) == "clarabel"
    usual = identity.quotient.trivial and identity.symmetry is None and identity.dominance is None
    if not (small and usual) or built.multiples[0] or unproducible(identity) is not None:
        return None
    places = {tuple(v for v in m if v): k for k, m in enumerate(identity.columns.tolist())}
    return _Family(built, Repeated(gram_form(built.program)), places)


def _settle(found: Bounds, start: int, family: _Family, asked: list[Polynomial]) -> None:
    """Bounds of a batch, where they are optimal at once."""
    pairs: list[tuple[int, Built, RawSolution]] = []
    conic = family.solver.program
    for k, p in enumerate(asked):
        built = family.built.retargeted(p, family.row(p))
        b = conic.b.copy()
        b[: built.scaled[0].target.size] = built.scaled[0].target
        answer = family.solver.solve(b) if np.isfinite(b).all() else None
        if answer is not None:
            pairs.append((start + k, built, read_gram_form(built.program, answer)))
    if not pairs:
        return
    for (k, built, raw), (unknowns, shown) in zip(pairs, _lifted(family.built, pairs), strict=True):
        theorem = proven(built, shown.gram, shown.free, unknowns, shown)
        if theorem.value is None:
            continue
        value = built.program.value(raw.unknowns) * built.unit
        missed, violated = shortfall(built.program, raw) * built.unit, violation(built, raw)
        candidate = Candidate(
            "first", built, raw, value=value, theorem=theorem, missed=missed, violated=violated
        )
        judged = closed(candidate)
        proof = outwards(theorem.value, 1)
        if judged.status == "optimal" and proof is not None:
            found.status[k], found.certified_bounds[k] = judged.status, proof
            found.bounds[k] = max(judged.value, proof)


def _lifted(
    generic: Built, pairs: list[tuple[int, Built, RawSolution]]
) -> list[tuple[np.ndarray, Certified]]:
    """Unknowns and multipliers of each, the residual absorbed and the constant lifted, and what is proven
    about them."""
    identity, bounds = generic.scaled[0], generic.scalings[0].bounds
    targets = np.array([built.scaled[0].target for _, built, _ in pairs])
    gram, free, unknowns = (
        np.array([getattr(raw, name) for _, _, raw in pairs]) for name in ("gram", "free", "unknowns")
    )
    near = certify_each(identity, targets, gram, free, unknowns, bounds)
    moved, gram = unknowns.copy(), np.array([c.gram for c in near])
    for k, row in enumerate(gram):
        gram[k], paid = lifted(identity, row, _MARGIN)
        moved[k, 0] -= paid
    shown = certify_each(identity, targets, gram, free, moved, bounds)
    return list(zip(moved, shown, strict=True))
