"""Quotient bases: equalities of the form ``monomial = c * monomial`` or ``monomial = 0`` become rewriting
rules.

``x**2 = x``, ``x**2 = 1``, ``x**2 = 0`` and ``x*y = 0`` shrink the basis itself and identify moments, which
is the one reduction of equalities that always pays. A rule is applied only when its equality is in the
system, so every rewritten identity holds modulo the ideal. Nothing is lost either: where the rules do not
form a Groebner basis by inspection (``confluent`` is False) the equalities are also kept as rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from ..algebra import monomials as mono
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial


@dataclass(frozen=True)
class Quotient(PickledByName):
    """Rewriting rules of a system.

    ``power``: per variable id, ``x**k -> c * x**l`` as (k, l, c); ``zero``: square-free monomials (rows)
    that vanish; ``used``: indices of the equalities the rules came from; ``confluent``: whether the rules
    alone generate every consequence, so that those equalities need no rows of their own; ``standard``: where
    given, ``basis`` keeps only the monomials of which it is true (standard monomials of a Groebner basis).
    """

    _of_ids: ClassVar = ("power", "zero")

    power: dict[int, tuple[int, int, float]]
    zero: np.ndarray
    used: frozenset[int]
    confluent: bool
    standard: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def trivial(self) -> bool:
        """Whether there is no rule."""
        return not self.power and self.zero.shape[0] == 0

    def normal_form(self, monos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewrite rows until no rule applies: coefficients (m,) and monomials (m, w); ``row = c * row'`` in
        the quotient."""
        coefs = np.ones(monos.shape[0])
        if self.trivial or monos.size == 0:
            return coefs, monos
        monos = monos.copy()
        self._apply_powers(monos, coefs)
        if self.zero.shape[0]:
            coefs[self._vanish(monos)] = 0.0
        return coefs, mono.trim(monos)

    def _vanish(self, monos: np.ndarray) -> np.ndarray:
        """Which rows a vanishing monomial divides: every choice of as many factors is looked up."""
        hit = np.zeros(monos.shape[0], dtype=bool)
        for degree, index in self._zero_by_degree:
            for chosen in combinations(range(monos.shape[1]), degree):
                hit |= index.find(monos[:, chosen]) >= 0
        return hit

    @cached_property
    def _squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each variable id: the exponent that its square is replaced by (-1: no rule), and the factor."""
        squares = {v: rule for v, rule in self.power.items() if rule[0] == 2}
        table = np.full(max(squares, default=-1) + 1, -1)
        factor = np.zeros(table.size)
        for variable, (_, low, c) in squares.items():
            table[variable], factor[variable] = low, c
        return table, factor

    @cached_property
    def _higher_powers(self) -> list[tuple[int, tuple[int, int, float]]]:
        return [(v, rule) for v, rule in self.power.items() if rule[0] != 2]

    @cached_property
    def _zero_by_degree(self) -> list[tuple[int, mono.Index]]:
        """Vanishing monomials by degree."""
        degrees = mono.degrees(self.zero)
        return [(d, mono.Index(self.zero[degrees == d])) for d in np.unique(degrees).tolist()]

    def _apply_powers(self, monos: np.ndarray, coefs: np.ndarray) -> None:
        table, factor = self._squares
        if table.size and monos.shape[1] > 1:
            top = int(monos.max(initial=0))
            if top >= table.size:
                table = np.concatenate([table, np.full(top + 1 - table.size, -1)])
                factor = np.concatenate([factor, np.zeros(top + 1 - factor.size)])
            changed = True
            while changed:
                changed = False
                for j in range(monos.shape[1] - 1, 0, -1):
                    factors = monos[:, j]
                    doubled = (factors > 0) & (monos[:, j - 1] == factors)
                    rows = np.flatnonzero(doubled & (table[factors] >= 0))
                    if rows.size:
                        hit = monos[rows, j]
                        coefs[rows] *= factor[hit]
                        monos[rows, j - 1] = 0
                        monos[rows, j] = np.where(table[hit] == 1, hit, 0)
                        changed = True
                monos.sort(axis=1)
        for variable, (high, low, c) in self._higher_powers:
            while True:
                rows = np.flatnonzero((monos == variable).sum(axis=1) >= high)
                if rows.size == 0:
                    break
                coefs[rows] *= c
                place = np.cumsum(monos[rows] == variable, axis=1)
                erase = (monos[rows] == variable) & (place <= high - low)
                monos[rows] = np.where(erase, 0, monos[rows])
                monos.sort(axis=1)

    def is_normal(self, monos: np.ndarray) -> np.ndarray:
        """Which rows no rule can rewrite, shape (m,)."""
        coefs, reduced = self.normal_form(monos)
        same = mono.degrees(reduced) == mono.degrees(monos)
        return same & (coefs != 0)

    def basis(self, ids: np.ndarray, degree: int) -> np.ndarray:
        """Monomials in ``ids`` of degree at most ``degree`` that are in normal form (never enumerates the
        others)."""
        if self.trivial and self.standard is None:
            return mono.basis(ids, degree)
        ids = np.sort(np.asarray(ids, dtype=mono.MONOMIAL))
        rules = [self.power.get(v) for v in ids.tolist()]
        if all(rules):  # no power is as high as the one that its rule replaces: there is a largest degree
            degree = min(degree, sum(rule[0] - 1 for rule in rules if rule))
        levels = [mono.constant(1, max(degree, 1))]
        last = np.zeros(1, dtype=np.int64)
        rows = levels[0]
        for _ in range(degree):
            rows, last = mono.extend(rows, last, ids)
            if not self.trivial:
                keep = self.is_normal(rows)
                rows, last = rows[keep], last[keep]
            levels.append(rows)
        rows = np.concatenate(levels, axis=0)
        return rows if self.standard is None else rows[self.standard(rows)]


NO_QUOTIENT = Quotient({}, mono.constant(0), frozenset(), True)


def find_quotient(equalities: tuple[Polynomial, ...]) -> Quotient:
    """Read rewriting rules off the equalities: at most one power rule a variable, any number of vanishing
    monomials."""
    power: dict[int, tuple[int, int, float]] = {}
    zero: list[np.ndarray] = []
    used: set[int] = set()
    for index, h in enumerate(equalities):
        rule = _power_rule(h)
        if rule is not None and rule[0] not in power:
            power[rule[0]] = rule[1:]
            used.add(index)
        elif len(h.coefs) == 1 and h.degree >= 1 and _square_free(h.monos[0]):
            zero.append(mono.trim(h.monos))
            used.add(index)
    zeros = mono.concatenate(zero) if zero else mono.constant(0)
    # x**2 - 1 and x*y = 0 imply y = 0, which the rules alone do not see; x**2 = x or 0 is compatible with
    # any monomial
    touched = set(zeros[zeros > 0].tolist())
    confluent = all(power[v][1] >= 1 or power[v][2] == 0 for v in touched & set(power))
    return Quotient(power, zeros, frozenset(used), confluent)


def _power_rule(h: Polynomial) -> tuple[int, int, int, float] | None:
    """(variable, k, l, c) when h is proportional to x**k - c x**l with k > l >= 0, k >= 2; x = 0 counts as k
    = 1."""
    ids = h.variable_ids
    if len(ids) != 1 or len(h.coefs) > 2:
        return None
    degree = mono.degrees(h.monos)
    order = np.argsort(degree)
    high = int(degree[order[-1]])
    if high < 2:
        return None
    if len(order) == 1:
        return int(ids[0]), high, 0, 0.0
    lead, last = Fraction(h.coefs[order[-1]]), Fraction(h.coefs[order[0]])
    # a factor other than 0, 1, -1 would put rounding and growth into every rewritten coefficient
    if abs(last) != abs(lead):
        return None
    return int(ids[0]), high, int(degree[order[0]]), 1.0 if last == -lead else -1.0


def _square_free(row: np.ndarray) -> bool:
    factors = row[row > 0]
    return len(set(factors.tolist())) == factors.size
