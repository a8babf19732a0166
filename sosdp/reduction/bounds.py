"""A-priori bounds on the variables, deduced from the system: what makes a numerical bound rigorous.

If ``p - gamma = <Q, b b'> + ...`` with Q only nearly positive semidefinite, least eigenvalue at least
-lambda, then ``p >= gamma - lambda * sup |b(x)|^2`` on the set. This module bounds ``|x_i|``, ``|x^a|`` and
``|b(x)|^2`` over the set from the constraints, by interval propagation and by completing squares. All
rounding is outward: every bound is inflated by far more than the rounding of the few operations behind it,
constraints are first divided (exactly) by a power of two so that their largest coefficient is of size one,
and whatever is too small to be a normal float counts as an interval around zero.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from ..algebra import monomials as mono
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_name
from ..conic.rigorous import UNIT, least_eigenvalue_bound, norm

INFLATE = 1e-12
TINY = 1e-290  # nothing smaller is trusted
_ROUNDS = 4
_MINORS = 12  # matrices up to this side are mined for 2 x 2 minors
_MINOR_TERMS = 30
_HIGHEST = 1000  # roots of a higher degree would round by more than what is added
_LARGEST = 4000  # constraints with more terms are not mined for bounds: the propagation is a loop over terms


@dataclass(frozen=True)
class VariableBounds(PickledByName):
    """Bounds valid on the whole feasible set: ``|x_i| <= largest[i]``; ``balls``: (ids, r**2) with sum
    x_i**2 <= r**2; ``ranges``: the interval of each x_i, as far as it is known."""

    _of_ids: ClassVar = ("largest", "balls", "ranges")

    largest: dict[int, float]
    balls: tuple[tuple[frozenset[int], float], ...]
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    names: tuple[str, ...] = ()  # of letters, which are no variables, from the id 1 on

    def name(self, variable: int) -> str:
        """What one writes for a variable."""
        return self.names[variable - 1] if self.names else variable_name(variable)

    @cached_property
    def _table(self) -> np.ndarray:
        """The bound of every variable id; the last entry stands for all ids beyond."""
        table = np.full(max(self.largest, default=0) + 2, np.inf)
        table[0] = 1.0
        for variable, value in self.largest.items():
            table[variable] = value
        return table

    @cached_property
    def _balls_around(self) -> dict[int, list[tuple[frozenset[int], float]]]:
        """The balls that each variable is in."""
        result: dict[int, list[tuple[frozenset[int], float]]] = {}
        for ball in self.balls:
            for variable in ball[0]:
                result.setdefault(variable, []).append(ball)
        return result

    def missing(self, monos: np.ndarray) -> list[int]:
        """Variables of these monomials without a finite bound."""
        ids = np.unique(monos[monos > 0])
        return [int(v) for v in ids if not math.isfinite(self.largest.get(int(v), math.inf))]

    def magnitude(self, monos: np.ndarray) -> np.ndarray:
        """Upper bounds on ``|x^a|`` over the set, one a row, shape (m,); infinite where a variable is
        unbounded."""
        if monos.size == 0:
            return np.zeros(monos.shape[0])
        table = self._table
        factors = table[np.minimum(monos, table.size - 1)]
        with np.errstate(invalid="ignore", over="ignore"):
            product = np.prod(factors, axis=1)
        product[np.isnan(product)] = np.inf  # 0 * infinity: claim nothing
        return np.maximum(product * (1 + INFLATE), TINY)

    def squared_norm(self, basis: np.ndarray) -> float:
        """An upper bound on ``sum_i b_i(x)**2`` over the set, for distinct monomials b_i (rows)."""
        with np.errstate(over="ignore"):  # infinite is what an overflow should be
            boxed = float((self.magnitude(basis) ** 2).sum()) * (1 + INFLATE)
        ids = frozenset(np.unique(basis[basis > 0]).tolist())
        best = boxed
        if not ids:
            return best  # the constant alone: no ball says more
        around = [self._balls_around.get(v, ()) for v in ids]
        for members, radius in min(around, key=len):
            if ids <= members:
                degree = mono.degrees(basis)
                powers = np.unique(degree)
                # distinct monomials of degree k contribute at most (sum x_i^2)^k together
                with np.errstate(over="ignore"):
                    best = min(best, float((radius ** powers.astype(float)).sum()) * (1 + INFLATE))
        return best

    def least(self, p: Polynomial) -> Fraction:
        """A lower bound on a polynomial over the set, each of its terms bounded by itself, or 0 where none is
        positive."""
        state = _Propagation()
        for variable, (low, high) in self.ranges.items():
            state.low[variable], state.high[variable] = low, high
        ends = [state.term(c, factors)[0] for c, factors in _terms(p, 1.0)]
        low = sum(ends) - INFLATE * sum(map(abs, ends))
        return Fraction(low) * Fraction(2) ** _normalised(p.coefs)[1] if low > 0 else Fraction(0)


class _Propagation:
    def __init__(self) -> None:
        self.low: dict[int, float] = {}
        self.high: dict[int, float] = {}
        self.balls: dict[tuple[frozenset[int], float], None] = {}  # in the order in which they were found

    def interval(self, variable: int) -> tuple[float, float]:
        return self.low.get(variable, -math.inf), self.high.get(variable, math.inf)

    def tighten(self, variable: int, low: float, high: float) -> None:
        pad_low = abs(low) * INFLATE + TINY if math.isfinite(low) and low else 0.0
        pad_high = abs(high) * INFLATE + TINY if math.isfinite(high) and high else 0.0
        old_low, old_high = self.interval(variable)
        self.low[variable] = max(old_low, low - pad_low)
        self.high[variable] = min(old_high, high + pad_high)

    def power(self, variable: int, exponent: int) -> tuple[float, float]:
        low, high = self.interval(variable)
        ends = _hull(_power(low, exponent), _power(high, exponent))
        if exponent % 2 == 0:
            return (0.0 if low <= 0.0 <= high else max(ends[0], 0.0)), ends[1]
        return ends

    def term(self, coefficient: float, factors: dict[int, int]) -> tuple[float, float]:
        low, high = 1.0, 1.0
        for variable, exponent in factors.items():
            a, b = self.power(variable, exponent)
            low, high = _hull(_times(low, a), _times(low, b), _times(high, a), _times(high, b))
        ends = _hull(_times(coefficient, low), _times(coefficient, high))
        return ends if abs(coefficient) > TINY else _hull((0.0, 0.0), ends)


def _power(value: float, exponent: int) -> tuple[float, float]:
    """An interval around a power; its rounding is paid for by ``INFLATE``."""
    try:
        result = value**exponent
    except OverflowError:
        result = math.inf if value > 0 or exponent % 2 == 0 else -math.inf
    return _around(result, value == 0.0)


def _times(a: float, b: float) -> tuple[float, float]:
    """An interval around a product."""
    return (0.0, 0.0) if a == 0.0 or b == 0.0 else _around(a * b, False)


def _around(value: float, zero: bool) -> tuple[float, float]:
    """A number that is no normal float (and no true zero) is somewhere between -TINY and TINY."""
    return (value, value) if zero or abs(value) >= TINY else (-TINY, TINY)


def _hull(*intervals: tuple[float, float]) -> tuple[float, float]:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def deduce_bounds(
    equalities: tuple[Polynomial, ...],
    inequalities: tuple[Polynomial, ...],
    matrices: tuple = (),
    known: VariableBounds | None = None,
    about: Set[int] = frozenset(),
) -> VariableBounds:
    """Bounds implied by the constraints; variables about which nothing is found are absent (unbounded).

    Uses interval propagation through every constraint with a pure power of a variable, ellipsoids from
    concave quadratics, and the diagonal entries of matrix inequalities. Cost: a few passes over the terms.
    ``known``: ranges and balls that hold already; only constraints that mention a variable of ``about`` are
    then read.
    """
    sources: list[tuple[Polynomial, float]] = [(g, 1.0) for g in inequalities if _mentions(g, known, about)]
    for matrix in matrices:
        if known is None or any(_mentions(p, known, about) for p in matrix.reshape(-1)):
            sources += [(p, 1.0) for p in _principal_minors(matrix)]
    for h in equalities:
        sources += [(h, 1.0), (h, -1.0)] if _mentions(h, known, about) else []
    state = _Propagation()
    if known is not None:
        state.low = {v: low for v, (low, _) in known.ranges.items()}
        state.high = {v: high for v, (_, high) in known.ranges.items()}
        state.balls = dict.fromkeys(known.balls)
    rows = [_Row(_terms(p, sign)) for p, sign in sources if 0 < len(p.coefs) <= _LARGEST]
    for _ in range(_ROUNDS):
        changed = False
        for row in rows:
            seen = [state.interval(v) for v in row.ids]
            if seen == row.seen:  # it has said all it knows
                continue
            row.seen, changed = seen, True
            _propagate(state, row.terms)
            _ellipsoid(state, row.terms)
        if not changed:
            break
    ranges = {variable: state.interval(variable) for variable in set(state.low) | set(state.high)}
    largest = {variable: max(abs(low), abs(high)) for variable, (low, high) in ranges.items()}
    return VariableBounds(largest, tuple(state.balls), ranges)


class _Row:
    """A constraint's terms, their variables, and the intervals of these when it was last read."""

    def __init__(self, terms: list[tuple[float, dict[int, int]]]) -> None:
        self.terms = terms
        self.ids = sorted({v for _, factors in terms for v in factors})
        self.seen: list[tuple[float, float]] | None = None


def _mentions(p: Polynomial, known: VariableBounds | None, about: Set[int]) -> bool:
    """Whether a constraint is to be read."""
    return known is None or not about.isdisjoint(p.variable_ids.tolist())


def _principal_minors(matrix) -> list[Polynomial]:
    """Diagonal entries and, for small matrices, 2 x 2 principal minors: all non-negative on the set."""
    side = matrix.shape[0]
    minors = [matrix[k, k] for k in range(side)]
    if side <= _MINORS and max(len(p.coefs) for p in matrix.reshape(-1)) <= _MINOR_TERMS:
        pairs = combinations(range(side), 2)
        minors += [matrix[i, i] * matrix[j, j] - matrix[i, j] * matrix[i, j] for i, j in pairs]
    return minors


def _terms(p: Polynomial, sign: float) -> list[tuple[float, dict[int, int]]]:
    """Coefficients and exponents, divided by a power of two. TINY stands for every coefficient between 0 and
    TINY, -TINY for those between -TINY and 0."""
    out = []
    coefs, _ = _normalised(p.coefs)
    for row, c in zip(p.monos.tolist(), coefs, strict=True):
        factors: dict[int, int] = {}
        for v in row:
            if v:
                factors[v] = factors.get(v, 0) + 1
        out.append((sign * c, factors))
    return out


def _normalised(coefs: np.ndarray) -> tuple[list[float], int]:
    """The coefficients over a power of two, the largest between 1/2 and 2, rounded once; its exponent."""
    items = coefs.tolist()
    if all(isinstance(c, (int, float)) and 2.0**-500 < abs(c) < 2.0**500 for c in items):
        top = math.frexp(max(abs(float(c)) for c in items))[1]
        return [math.ldexp(float(c), -top) for c in items], top
    exact = [Fraction(c) for c in items]
    largest = max(abs(c) for c in exact)
    top = largest.numerator.bit_length() - largest.denominator.bit_length()
    unit = Fraction(2) ** -top
    tiny = Fraction(TINY)
    return [float(c * unit) if abs(c * unit) > tiny else math.copysign(TINY, c) for c in exact], top


def _propagate(state: _Propagation, terms: list[tuple[float, dict[int, int]]]) -> None:
    """From ``sum of terms >= 0``: bound each variable that stands alone in a term."""
    ranges = [state.term(c, f) for c, f in terms]
    tops = [r[1] for r in ranges]
    unbounded = sum(math.isinf(t) for t in tops)
    if unbounded > 1:
        return
    finite = sum(t for t in tops if math.isfinite(t))
    size = sum(abs(t) for t in tops if math.isfinite(t))
    for (c, factors), top in zip(terms, tops, strict=True):
        if len(factors) != 1 or abs(c) <= TINY or (unbounded == 1 and math.isfinite(top)):
            continue
        ((variable, exponent),) = factors.items()
        if exponent > _HIGHEST:
            continue
        rest = finite - (top if math.isfinite(top) else 0.0)
        rest += INFLATE * size
        # c x^k >= -rest
        level = -rest / c
        if c > 0:
            if exponent % 2 == 1:
                state.tighten(variable, _root(level, exponent), math.inf)
        elif exponent % 2 == 1:
            state.tighten(variable, -math.inf, _root(level, exponent))
        elif level >= 0.0:
            radius = _root(level, exponent)
            state.tighten(variable, -radius, radius)


def _root(value: float, degree: int) -> float:
    return math.copysign(abs(value) ** (1.0 / degree) * (1 + 4e-16 * degree if value else 1.0), value)


def _ellipsoid(state: _Propagation, terms: list[tuple[float, dict[int, int]]]) -> None:
    """From ``c + b'x - x'Ax >= 0`` with A positive definite: a box and, when centred, a ball."""
    diagonal: dict[int, float] = {}
    mixed: list[tuple[int, int, float]] = []
    rest: list[tuple[float, dict[int, int]]] = []
    if any(abs(c) <= TINY for c, _ in terms):
        return
    for c, factors in terms:
        degree = sum(factors.values())
        if degree > 2:
            return
        if degree < 2:
            rest.append((c, factors))
        elif len(factors) == 1:
            if c >= 0:  # a square with the wrong sign: A is not positive definite
                return
            (variable,) = factors
            diagonal[variable] = -c
        else:
            i, j = factors
            mixed.append((i, j, -c / 2))
    if not diagonal or any(i not in diagonal or j not in diagonal for i, j, _ in mixed):
        return
    linear = dict.fromkeys(diagonal, 0.0)
    level, size = 0.0, 0.0
    for c, factors in rest:
        if len(factors) == 1 and next(iter(factors)) in linear:
            linear[next(iter(factors))] += c
            continue
        top = state.term(c, factors)[1]
        if not math.isfinite(top):
            return
        level, size = level + top, size + abs(top)
    if mixed:
        place = {v: k for k, v in enumerate(sorted(diagonal))}
        matrix = np.diag([diagonal[v] for v in sorted(diagonal)])
        for i, j, value in mixed:
            matrix[place[i], place[j]] = matrix[place[j], place[i]] = value
        # the matrix itself carries the rounding of its coefficients
        least = least_eigenvalue_bound(matrix) - 8 * UNIT * norm(matrix)
        diagonal = dict.fromkeys(diagonal, float(least))
    smallest = min(diagonal.values())
    if not smallest > 0.0:
        return
    gain = sum(b / (2 * diagonal[v]) * (b / 2) for v, b in linear.items())
    radius = level + gain + INFLATE * (size + gain) + TINY
    if radius < 0.0:  # the set is empty: every bound is true, and says nothing about its data
        return
    for variable, curvature in diagonal.items():
        centre = linear[variable] / (2 * curvature)
        half = math.sqrt(radius / curvature) * (1 + INFLATE)
        slack = INFLATE * (abs(centre) + half)
        state.tighten(variable, centre - half - slack, centre + half + slack)
    if not any(linear.values()):
        state.balls[frozenset(diagonal), radius / smallest * (1 + INFLATE) + TINY] = None
