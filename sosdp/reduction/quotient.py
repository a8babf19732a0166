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

    def count_of_squares(self, ids: np.ndarray) -> int:
        """How many of the variables have a square that is rewritten."""
        return sum(1 for v in ids.tolist() if self.power.get(v, (3,))[0] == 2)

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
    def _rules(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each variable id up to the largest with a rule, and of all beyond: the power that is replaced
        (0: none is), the one that replaces it, and the factor."""
        high, low = np.zeros((2, max(self.power, default=0) + 2), dtype=mono.MONOMIAL)
        factor = np.ones(high.size)
        for variable, rule in self.power.items():
            high[variable], low[variable], factor[variable] = rule
        return high, low, factor

    @cached_property
    def _zero_by_degree(self) -> list[tuple[int, mono.Index]]:
        """Vanishing monomials by degree."""
        degrees = mono.degrees(self.zero)
        return [(d, mono.Index(self.zero[degrees == d])) for d in np.unique(degrees).tolist()]

    def _apply_powers(self, monos: np.ndarray, coefs: np.ndarray) -> None:
        high, low, factor = self._rules
        rows = np.arange(len(monos))
        while rows.size and monos.shape[1] > 1:
            rows = rows[((monos[rows, 1:] == monos[rows, :-1]) & (monos[rows, 1:] > 0)).any(axis=1)]
            own = monos[rows]
            known = np.minimum(own, high.size - 1)
            copies = np.ones_like(own)  # of the same factor, up to and with this one
            for j in range(1, own.shape[1]):
                copies[:, j] += copies[:, j - 1] * (own[:, j] == own[:, j - 1])
            here, last = np.nonzero((copies == high[known]) & (own > 0))
            ids = known[here, last]
            np.multiply.at(coefs, rows[here], factor[ids])
            gone = high[ids] - low[ids]
            for back in range(int(gone.max(initial=0))):
                of = back < gone
                own[here[of], last[of] - back] = 0
            own.sort(axis=1)
            monos[rows], rows = own, rows[np.unique(here)]

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
