"""Multipliers beyond double precision: the central path of the moment relaxation in ball arithmetic.

A solver's multipliers satisfy the identity to about 1e-9, so no slack below that can be proven from them. The
barrier problem on the moment side,

    minimise  f(y) - mu * sum_k log det M_k(y)      over y with y_1 = 1,

has no equations left once monomials are in normal form, so Newton's method converges quadratically at any
precision; at its solution the Gram matrices ``Q_k = mu M_k(y)^-1`` are positive definite and satisfy the
identity for the bound ``f(y) - mu * sum_k N_k``. Decreasing mu brings that bound as near to the optimum as
is asked for. What comes out is rounded to rationals and judged by the checker like everything else.

Supported: claims about points whose equalities are rewriting rules (one or two terms), with sum-of-squares,
inequality and product multipliers, that have moments of full rank. Cost: an iteration takes
sum_k (n N_k^3 + n N_k^2 / 2 * n) operations of the precision used, n the number of moments in the block; a
handful of iterations for every digit. Twelve digits take .2 s with blocks of side 6 to 10 and 40 s with one
of side 21.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from certificates.exact import Monomial, monomials_of, multiply, rational
from certificates.find.rounding import NotCertifiable, Rounder
from certificates.identity import Claim
from certificates.proof import Proof

LARGEST_WORK = 30_000  # inner products in one Newton step: there about a second, and a hundred steps
QUICK_WORK = 2_000  # up to it precision is raised without being asked for
_WEIGHTS = (1e-3, 1e-2, 0.1, 0.5, 1.0)  # of points of the set, mixed into the solver's moments
_SCALES = (1.0, 3.0, 0.3, 0.1, 10.0)  # of their spread, in units of the solver's second moments
_DRAWS = 4000
_SHRINK = 10
_STEPS = 60  # of Newton's method for one mu
_INSIDE = 1e-10  # least eigenvalue, relative, of moment matrices to start from
MOST_DIGITS = 120


@dataclass(frozen=True, eq=False)
class _Block:
    """A matrix linear in the moments: for every moment its entries (i, j >= i, rational coefficient)."""

    side: int
    parts: dict[int, list[tuple[int, int, Any]]]


@dataclass(frozen=True, eq=False)
class Centred:
    """A point of the central path: the bound that its multipliers prove (up to rounding), the value of the
    moments (no bound above it is provable at this degree), and the Gram matrices as rationals."""

    bound: Fraction
    ceiling: Fraction
    grams: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class _ExactBlock:
    kind: str
    index: tuple[int, ...]
    basis: np.ndarray
    entry: Any
    gram: np.ndarray
    target: int = 0


@dataclass(frozen=True, eq=False)
class _ExactDual:
    blocks: tuple[_ExactBlock, ...]
    equality_multipliers: tuple = ()


def refined_proof(
    result: Any,
    claim: Claim,
    dual: Any,
    slack: Fraction | None = None,
    bound: Fraction | None = None,
    quick: bool = False,
) -> Proof:
    """A proof within ``slack`` (absolute) of the relaxation's value, or of exactly ``bound``.

    ``result`` is the solved relaxation, ``dual`` its multipliers as ``claim`` numbers them; ``quick``
    declines what takes long. Raises NotCertifiable where the claim is of a kind that is not supported
    (module docstring), where the moments have no interior, or where the bound is above the value.
    """
    path = _Path(result, claim, dual)
    if quick and path.work > QUICK_WORK:
        raise NotCertifiable("higher precision would take long: ask for it by a slack below 1e-10")
    sign = -1 if claim.kind == "upper_bound" else 1
    if bound is not None:
        wanted = sign * bound
        centred = path.follow(lambda low, high, gap: low > wanted or high < wanted)
        if centred.bound < wanted:
            raise NotCertifiable(
                f"the bound {bound} is on the wrong side of the value {float(sign * centred.ceiling):.17g} "
                "of the relaxation, so this degree cannot prove it"
            )
    else:
        assert slack is not None
        room = slack
        centred = path.follow(lambda low, high, gap: gap * 2 < room)
        wanted = shortest_decimal(centred.bound - slack / 2, centred.bound)
    exact = replace(claim, bound=sign * wanted)
    return path.rounded(exact, centred)


def shortest_decimal(low: Fraction, high: Fraction) -> Fraction:
    """The decimal with the fewest places in [low, high], the highest of these; ValueError for low >= high."""
    if low >= high:
        raise ValueError(f"no decimal was asked for between {low} and {high}")
    power = 1
    while True:
        found = Fraction(math.floor(high * power), power)
        if found >= low:
            return found
        power *= 10


def simplest_fraction(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in [low, high], by continued fractions; ValueError for low > high."""
    if low > high:
        raise ValueError(f"no fraction was asked for between {low} and {high}")
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(min(max(whole, 0), math.floor(high)) if low <= 0 <= high else whole)
    below = math.floor(low)
    rest = simplest_fraction(1 / (high - below), 1 / (low - below))
    return below + 1 / rest


def bracket(result: Any, claim: Claim, dual: Any, digits: int) -> tuple[Fraction, Fraction]:
    """The relaxation's value to ``digits`` places (relative to max(1, |value|)), as an interval.

    Raises NotCertifiable as `refined_proof` does, and for what would take more than a second.
    """
    path = _Path(result, claim, dual)
    if path.work > QUICK_WORK:
        raise NotCertifiable("higher precision would take long")
    room = Fraction(1, 10**digits) * max(Fraction(1), abs(Fraction(float(result.bound))))
    centred = path.follow(lambda low, high, gap: gap * 4 < room)
    low, high = centred.bound, 2 * centred.ceiling - centred.bound  # once more the gap, for rounding
    return (low, high) if path.sign > 0 else (-high, -low)


class _Path:
    """The barrier problem of one claim, in exact data."""

    def __init__(self, result: Any, claim: Claim, dual: Any) -> None:
        self.result = result
        self.dual = dual
        if (
            claim.matrices
            or claim.expectations
            or claim.squares
            or claim.kind not in ("lower_bound", "upper_bound")
        ):
            raise NotCertifiable("higher precision serves bounds on a set of scalar constraints only")
        sign = -1 if claim.kind == "upper_bound" else 1
        # the bound of the claim does not matter here: the objective alone, minimised
        self.claim = replace(claim, bound=Fraction(0))
        rounder = Rounder(self.claim, dual)
        if any(not 1 <= len(h) <= 2 for h in rounder.equalities):
            raise NotCertifiable("higher precision needs equalities with one or two terms")
        if any(b.kind not in ("sos", "inequality", "product") for b in rounder.blocks):
            raise NotCertifiable("higher precision serves scalar constraints only")
        self.equalities, self.inequalities = rounder.equalities, rounder.lists["inequality"]
        self.numbers: dict[Monomial, int] = {}
        self.blocks = [self._block(rounder, k) for k in range(len(rounder.blocks))]
        self.objective: dict[int, Any] = {}
        for row, value in rounder.targets[0].items():
            factor, normal = rounder.rules.normal(row)
            if factor:
                number = self._number(normal)
                self.objective[number] = self.objective.get(number, 0) + value * factor
        reached = {m for b in self.blocks for m in b.parts}
        if not set(self.objective) <= reached | {self._number(())}:
            raise NotCertifiable("a monomial of the objective is in no block")
        self.work = sum(len(b.parts) * sum(map(len, b.parts.values())) // 2 for b in self.blocks)
        if self.work > LARGEST_WORK:
            raise NotCertifiable(
                f"{len(self.numbers)} moments in blocks of side up to {max(b.side for b in self.blocks)} are "
                "too many for higher precision"
            )
        self.one = self._number(())
        self.free = [m for m in range(len(self.numbers)) if m != self.one]
        self.size = sum(b.side for b in self.blocks)
        self.sign = sign

    def _number(self, row: Monomial) -> int:
        return self.numbers.setdefault(row, len(self.numbers))

    def _block(self, rounder: Rounder, k: int) -> _Block:
        factor = rounder.factors[k]
        assert factor is not None
        parts: dict[int, dict[tuple[int, int], Any]] = {}
        row_of, column_of = rounder.triangles[k]
        for i, j, number in zip(
            row_of.tolist(), column_of.tolist(), rounder.numbers[k].tolist(), strict=True
        ):
            for row, value in multiply({rounder.rows[number]: rational(1)}, factor).items():
                scale, normal = rounder.rules.normal(row)
                if scale:
                    entries = parts.setdefault(self._number(normal), {})
                    entries[j, i] = entries.get((j, i), 0) + value * scale
        listed = {m: [(i, j, c) for (i, j), c in found.items() if c] for m, found in parts.items()}
        return _Block(len(rounder.bases[k]), listed)

    def _start(self) -> list[float]:
        """Moments well inside the cone: those of the solver, mixed with the moments of points of the set."""
        rows = monomials_of(self.result.identity.columns)
        moments = dict(zip(rows, np.asarray(self.result.moments).tolist(), strict=True))
        if any(row not in moments for row in self.numbers):
            raise NotCertifiable("the relaxation has other moments than its certificate: symmetry or cliques")
        solved = np.array([moments[row] for row in self.numbers]) / moments[()]
        points = self._points(moments)
        if points is not None:
            spread = np.array(
                [np.prod(points[:, list(row)], axis=1).mean() if row else 1.0 for row in self.numbers]
            )
            for weight in _WEIGHTS:
                y = (1 - weight) * solved + weight * spread
                if all(self._inside(b, y.tolist()) for b in self.blocks):
                    return y.tolist()
        raise NotCertifiable("no moments of full rank were found: the set seems to have no interior")

    def _points(self, moments: dict[Monomial, float]) -> np.ndarray | None:
        """Points of the set in floating point, one column for each variable id (column 0 is not used), or
        None when too few are found; around the solver's means first, then farther out and nearer in."""
        ids = sorted({v for row in self.numbers for v in row})
        terms_of_set = [*self.inequalities, *self.equalities]
        top = max([*ids, *(v for terms in terms_of_set for row in terms for v in row)], default=0)
        mean = np.array([moments.get((v,), 0.0) for v in ids])
        size = np.sqrt(np.array([max(moments.get((v, v), 1.0), 0.0) for v in ids])) + 1e-3
        generator = np.random.default_rng(0)
        wanted = 3 * len(self.numbers)
        every: list[np.ndarray] = []
        for scale in _SCALES:
            drawn = mean * min(1.0, 1.0 / scale) + scale * size * generator.standard_normal(
                (_DRAWS, len(ids))
            )
            roots = self._roots(ids)
            for k, choices in roots.items():
                drawn[:, k] = generator.choice(choices, _DRAWS)
            table = np.zeros((_DRAWS, top + 1))
            table[:, ids] = drawn
            good = np.ones(_DRAWS, dtype=bool)
            for terms, equality in [(t, False) for t in self.inequalities] + [
                (t, True) for t in self.equalities
            ]:
                value = sum(_float(c) * np.prod(table[:, list(row)], axis=1) for row, c in terms.items())
                good &= np.abs(value) < 1e-9 if equality else value > 0
            every.append(table[good][:wanted])
            if sum(map(len, every)) >= wanted:
                return np.concatenate(every)
        return None

    def _roots(self, ids: list[int]) -> dict[int, list[float]]:
        """The values of variables with x^2 = x or x^2 = c, by place."""
        found: dict[int, list[float]] = {}
        for terms in self.equalities:
            for k, v in enumerate(ids):
                if set(terms) == {(v, v), (v,)}:
                    found[k] = [0.0, _float(-terms[(v,)] / terms[(v, v)])]
                elif set(terms) == {(v, v), ()} and -terms[()] / terms[(v, v)] > 0:
                    radius = math.sqrt(_float(-terms[()] / terms[(v, v)]))
                    found[k] = [-radius, radius]
        return found

    def _inside(self, block: _Block, y: list[float]) -> bool:
        matrix = np.zeros((block.side, block.side))
        for m, entries in block.parts.items():
            for i, j, c in entries:
                matrix[i, j] += _float(c) * y[m]
        whole = np.triu(matrix) + np.triu(matrix, 1).T
        eigenvalues = np.linalg.eigvalsh(whole)
        return bool(eigenvalues[0] > _INSIDE * max(1.0, eigenvalues[-1]))

    def follow(self, enough: Callable[[Fraction, Fraction, Fraction], bool]) -> Centred:
        """Decrease mu until ``enough(bound, ceiling, their distance)``; NotCertifiable at 120 digits."""
        start = self._start()
        before = ctx.prec
        digits = 40
        try:
            ctx.prec = _bits(digits)
            matrices = self._matrices()
            y = [arb(value) for value in start]
            mu = arb(max(1.0, abs(float(self.result.bound))) / self.size)
            while True:
                y, grams = self._centre(y, mu, matrices)
                ceiling = self._value(y)
                low, high = _fraction(ceiling - mu * self.size), _fraction(ceiling)
                if enough(low, high, high - low):
                    return Centred(low, high, [_rationals(g, mu) for g in grams])
                mu = mu / _SHRINK
                digits += 2
                if digits > MOST_DIGITS:
                    raise NotCertifiable(
                        f"{MOST_DIGITS} digits do not decide it: the bound may be the optimum itself"
                    )
                ctx.prec = _bits(digits)
                matrices = self._matrices()
                mu, y = mu.mid(), [v.mid() for v in y]
        finally:
            ctx.prec = before

    def _matrices(self) -> list[dict[int, arb_mat]]:
        """The coefficient matrices of every block at the present precision."""
        found = []
        for block in self.blocks:
            of = {}
            for m, entries in block.parts.items():
                matrix = arb_mat(block.side, block.side)
                for i, j, c in entries:
                    matrix[i, j] = matrix[j, i] = arb(c.p) / arb(c.q)
                of[m] = matrix
            found.append(of)
        return found

    def _value(self, y: list[arb]) -> arb:
        return sum((arb(c.p) / arb(c.q) * y[m] for m, c in self.objective.items()), arb(0))

    def _moment_matrix(self, of: dict[int, arb_mat], side: int, y: list[arb]) -> arb_mat:
        total = arb_mat(side, side)
        for m, matrix in of.items():
            total = total + matrix * y[m]
        return total.mid()

    def _centre(
        self, y: list[arb], mu: arb, matrices: list[dict[int, arb_mat]]
    ) -> tuple[list[arb], list[arb_mat]]:
        """Newton's method for one mu; returns the moments and the inverses of the moment matrices."""
        place = {m: a for a, m in enumerate(self.free)}
        cost = arb_mat(len(self.free), 1)
        for m, c in self.objective.items():
            if m != self.one:
                cost[place[m], 0] = arb(c.p) / arb(c.q) / mu
        goal = arb(2) ** (-ctx.prec // 3)
        for _ in range(_STEPS):
            gradient, hessian = arb_mat(cost), arb_mat(len(self.free), len(self.free))
            inverses = []
            for block, of in zip(self.blocks, matrices, strict=True):
                try:
                    inverse = self._moment_matrix(of, block.side, y).inv().mid()
                except ZeroDivisionError as error:
                    raise NotCertifiable("a moment matrix became singular at this precision") from error
                inverses.append(inverse)
                moved = {m: (inverse * of[m] * inverse).mid() for m in of if m != self.one}
                for m, matrix in moved.items():
                    a = place[m]
                    gradient[a, 0] = (gradient[a, 0] - _pair(block.parts[m], inverse)).mid()
                    for n, entries in block.parts.items():
                        if n != self.one and place[n] <= a:
                            b = place[n]
                            hessian[a, b] = (hessian[a, b] + _pair(entries, matrix)).mid()
            for a in range(len(self.free)):
                for b in range(a):
                    hessian[b, a] = hessian[a, b]
            try:
                step = hessian.solve(gradient).mid()
            except ZeroDivisionError as error:
                raise NotCertifiable(
                    "the moments are not determined: the barrier has no unique centre"
                ) from error
            decrement = sum((step[a, 0] * gradient[a, 0] for a in range(len(self.free))), arb(0)).mid()
            if not decrement >= 0:
                raise NotCertifiable("Newton's method lost the cone at this precision")
            factor = 1.0
            if not decrement < 0.1:
                slope = float((-(cost.transpose() * step))[0, 0].mid())
                factor = _line_search(slope, self._speeds(matrices, inverses, step, place))
            y = list(y)
            for m, a in place.items():
                y[m] = (y[m] - factor * step[a, 0]).mid()
            if decrement < goal:
                return y, inverses
        raise NotCertifiable("Newton's method did not converge: the optimum may not be attained")

    def _speeds(
        self,
        matrices: list[dict[int, arb_mat]],
        inverses: list[arb_mat],
        step: arb_mat,
        place: dict[int, int],
    ) -> np.ndarray:
        """Eigenvalues of every moment matrix's relative change along minus the step."""
        found = []
        for of, inverse in zip(matrices, inverses, strict=True):
            change = arb_mat(inverse.nrows(), inverse.nrows())
            for m, matrix in of.items():
                if m != self.one:
                    change = change - matrix * step[place[m], 0]
            product = (inverse * change).mid()
            dense = [[float(product[i, j]) for j in range(product.ncols())] for i in range(product.nrows())]
            found.append(np.linalg.eigvals(np.array(dense)).real)
        return np.concatenate(found)

    def rounded(self, claim: Claim, centred: Centred) -> Proof:
        """The proof of ``claim`` by the multipliers of a central point, at the fewest bits that work."""
        rounder = Rounder(claim, self.dual)
        blocks = tuple(
            _ExactBlock(b.kind, b.index, b.basis, getattr(b, "entry", None), gram)
            for b, gram in zip(rounder.blocks, centred.grams, strict=True)
        )
        gap = centred.ceiling - centred.bound
        least = 20 + max(0, math.ceil(-math.log2(float(gap)))) if gap > 0 else 53
        reason = ""
        dual: Any = _ExactDual(blocks)
        exact = Rounder(claim, dual)
        for bits in (least, 2 * least, 3 * least):
            try:
                proof = Proof(claim, exact.multipliers(bits))
            except NotCertifiable as error:
                reason = f"{error} ({bits} bits)"
                continue
            if proof.verdict:
                return proof
            reason = f"the checker says {proof.verdict} ({bits} bits)"
        raise NotCertifiable(f"in higher precision: {reason}")


def _line_search(slope: float, speeds: np.ndarray) -> float:
    """The minimiser of ``slope * a - sum log(1 + a * speeds)`` over a > 0, by bisection of its derivative."""
    fastest = float(-speeds.min())
    high = 0.95 / fastest if fastest > 0 else 1e3
    low = 0.0
    if slope - float((speeds / (1 + high * speeds)).sum()) <= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        if slope - float((speeds / (1 + middle * speeds)).sum()) > 0:
            high = middle
        else:
            low = middle
    return low


def _pair(entries: list[tuple[int, int, Any]], matrix: arb_mat) -> arb:
    """The inner product of a sparse symmetric matrix (upper entries) with a symmetric one."""
    total = arb(0)
    for i, j, c in entries:
        value = matrix[i, j] * c.p / c.q
        total += value if i == j else 2 * value
    return total


def _bits(digits: int) -> int:
    return int(digits * 3.33) * 2 + 64


def _float(value: Any) -> float:
    return float(Fraction(int(value.p), int(value.q)))


def _fraction(value: arb) -> Fraction:
    """The midpoint of a ball as a rational."""
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _rationals(inverse: arb_mat, mu: arb) -> np.ndarray:
    side = inverse.nrows()
    out = np.empty((side, side), dtype=object)
    for i in range(side):
        for j in range(i + 1):
            out[i, j] = out[j, i] = _fraction(inverse[i, j] * mu)
    return out
