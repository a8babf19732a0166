"""Irrational zeros: which integer relations the monomials satisfy at a minimiser known to hundreds of digits.

Where the target of a proof vanishes, every Gram matrix whose factor does not must annihilate the vector of
monomials there. If the zero is irrational, a rational Gram matrix is orthogonal to it only through its rows:
each row is an integer relation between the monomials, such as the one that ``x y - 1 = 0`` makes. Minimisers
are refined by Newton's method on the optimality conditions in ball arithmetic, and the relations found by
lattice reduction. A relation that is misread can only make the search for a proof fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpz_mat
from scipy import optimize

from certificates.exact import Terms, terms_of, value_at
from certificates.find.rounding import Rounder
from certificates.identity import Claim
from sosdp.algebra.monomials import MONOMIAL
from sosdp.algebra.polynomial import Polynomial

LARGEST_SIDE = 60  # of a Gram matrix whose relations are looked for
MOST_VARIABLES = 40  # Newton's method needs all second derivatives, as polynomials
_BITS = 40  # of the monomials, for every one of them
_SHORT = 20  # bits of the integers of a relation
_ACTIVE = 1e-3  # inequalities closer to zero than this hold with equality
_STEPS = 60
_MOST_ZEROS = 8
_DESCENTS = 6
_SEARCHES = 12


@dataclass(frozen=True, eq=False)
class Zero:
    """A point in ball arithmetic (by variable id) where the optimality conditions hold to `bits` bits."""

    point: dict[int, Any]
    bits: int

    def value(self, terms: Terms) -> Any:
        """The value of a polynomial there."""
        return arb(value_at(terms, self.point))

    def small(self, value: Any) -> bool:
        """Whether a value is zero to half of the bits."""
        return bool(abs(value) < arb(2) ** (-self.bits // 2))

    def __str__(self) -> str:
        shown = ", ".join(f"{float(v.mid()):.9g}" for v in list(self.point.values())[:4])
        return f"({shown}{', ...' if len(self.point) > 4 else ''})"


def minimisers(result: Any, claim: Claim, value: float) -> tuple[dict[int, float], ...]:
    """Minimisers of a solved relaxation in floating point, by variable id.

    Its atoms where the moments show them; otherwise, without constraints, where descent from the means and
    from points around them ends at the relaxation's value; with constraints, the means. None for more
    than 40 variables.
    """
    ids = [int(v) for v in result.variable_ids]
    if len(ids) > MOST_VARIABLES:
        return ()
    rows = np.asarray(result.atoms(), dtype=float).reshape(-1, len(ids)).tolist()
    if rows:
        return tuple(dict(zip(ids, row, strict=True)) for row in rows)
    single = np.array(ids, dtype=MONOMIAL)[:, None]
    mean = result._moment_values(single)[0]
    if len(result.system):
        return (dict(zip(ids, mean.tolist(), strict=True)),)
    squares, known = result._moment_values(np.repeat(single, 2, axis=1))
    spread = np.sqrt(np.maximum(np.where(known, squares, 1.0) - mean**2, 0.0))
    generator = np.random.default_rng(0)
    starts = [mean, *(mean + spread * generator.standard_normal(len(ids)) for _ in range(_DESCENTS - 1))]
    distinct: list[dict[int, float]] = []
    for end in local_minimisers(claim, ids, value, starts):
        if all(max(abs(end[v] - other[v]) for v in ids) > 1e-3 for other in distinct):
            distinct.append(end)
    return tuple(distinct)


def local_minimisers(
    claim: Claim, ids: Sequence[int], value: float, starts: Iterable[np.ndarray] | None = None
) -> Iterator[dict[int, float]]:
    """Points that meet the constraints (matrices are not looked at) where local searches end at a value.

    For claims whose moments show no atoms, such as those with several minimisers; at most 40 variables.
    Cost: a descent or a sequential quadratic program from every start (without ``starts`` a few random ones).
    """
    if len(ids) > MOST_VARIABLES or claim.matrices:
        return
    sign = -1.0 if claim.kind == "upper_bound" else 1.0

    def function(p: Polynomial, factor: float = 1.0) -> dict[str, Any]:
        terms, slopes = terms_of(p), [terms_of(_slope(p, v)) for v in ids]

        def put(of: Terms, x: np.ndarray) -> float:
            return factor * _value(of, dict(zip(ids, x.tolist(), strict=True)))

        return {"fun": lambda x: put(terms, x), "jac": lambda x: np.array([put(s, x) for s in slopes])}

    constraints = [{"type": "ineq", **function(g)} for g in claim.inequalities]
    constraints += [{"type": "eq", **function(h)} for h in claim.equalities]
    objective = function(claim.objectives[0], sign)
    generator = np.random.default_rng(0)
    for start in starts or (generator.standard_normal(len(ids)) for _ in range(_SEARCHES)):
        end = optimize.minimize(**objective, x0=start, constraints=constraints)
        if constraints and not end.success:
            continue
        if abs(float(end.fun) - sign * value) <= 1e-5 * max(1.0, abs(value)):
            yield dict(zip(ids, end.x.tolist(), strict=True))


def value_to(claim: Claim, starts: Sequence[dict[int, float]], digits: int) -> Fraction | None:
    """The least value of the objective (largest for upper bounds) at a refined minimiser, to ``digits``
    places; None when Newton's method finds none that meets the constraints (with matrices: never)."""
    bits = int(3.4 * digits) + 40
    before = ctx.prec
    try:
        ctx.prec = bits + 64
        refined = (_refined(claim, start, bits) for start in starts[:_MOST_ZEROS])
        objective = terms_of(claim.objectives[0])
        inside = (z for z in refined if z is not None and _meets(claim, z))
        values = [Fraction(_integer(z.value(objective), bits), 1 << bits) for z in inside]
    finally:
        ctx.prec = before
    return (max if claim.kind == "upper_bound" else min)(values, default=None)


def _meets(claim: Claim, zero: Zero) -> bool:
    """Whether a refined point meets the inequalities, as far as its bits tell; False with matrices."""
    low = -(arb(2) ** (-zero.bits // 2))
    return not claim.matrices and all(bool(zero.value(terms_of(g)) > low) for g in claim.inequalities)


def relations(
    rounder: Rounder, starts: Sequence[dict[int, float]]
) -> tuple[list[fmpz_mat], list[Zero]] | None:
    """Integer bases of the faces that the zeros of the target leave, with the zeros; None when there is none.

    ``starts``: minimisers in floating point. The rows of rational Gram matrices lie in the returned bases (as
    far as integers of 20 bits tell). Cost: lattice reduction of every block's side; .1 s at side 10.
    """
    claim = rounder.claim
    if claim.expectations or claim.squares or max((len(b) for b in rounder.bases), default=0) > LARGEST_SIDE:
        return None
    bits = _BITS * max(len(b) for b in rounder.bases) + 100
    before = ctx.prec
    try:
        ctx.prec = bits + 64
        zeros = []
        for start in starts[:_MOST_ZEROS]:
            found = _refined(claim, start, bits)
            if found is not None and found.small(found.value(rounder.target)):
                zeros.append(found)
        if not zeros:
            return None
        return [_relations_of(rounder, k, zeros) for k in range(len(rounder.blocks))], zeros
    finally:
        ctx.prec = before


def _refined(claim: Claim, start: dict[int, float], bits: int) -> Zero | None:
    """Newton's method on the optimality conditions, with active inequalities as equalities."""
    ids = sorted(start)
    names = {int(v): k for k, v in enumerate(ids)}
    at = np.array([start[v] for v in ids])
    tight = [p for p in claim.inequalities if abs(_value(terms_of(p), start)) < _ACTIVE]
    active = [*claim.equalities, *tight]
    functions = [claim.objectives[0], *active]
    if any(int(v) not in names for p in functions for v in p.variable_ids):
        return None
    slopes = [[_slope(p, v) for v in ids] for p in functions]
    curves = [[[_slope(d, v) for v in ids] for d in row] for row in slopes]
    jacobian = np.array([[_value(terms_of(d), start) for d in row] for row in slopes])
    # multipliers: the gradient of the objective as a combination of the others
    weights = np.linalg.lstsq(jacobian[1:].T, jacobian[0], rcond=None)[0] if active else np.zeros(0)
    n, m = len(ids), len(active)
    x, w = [arb(float(v)) for v in at], [arb(float(v)) for v in weights]
    exact_functions = [terms_of(p) for p in functions]
    exact_slopes = [[terms_of(d) for d in row] for row in slopes]
    exact_curves = [[[terms_of(d) for d in row] for row in table] for table in curves]
    for _ in range(_STEPS):
        here = Zero(dict(zip(ids, x, strict=True)), bits)
        table, right = arb_mat(n + m, n + m), arb_mat(n + m, 1)
        first = [[here.value(d) for d in row] for row in exact_slopes]
        for a in range(n):
            right[a, 0] = first[0][a] - sum((w[j] * first[j + 1][a] for j in range(m)), arb(0))
            for b in range(n):
                table[a, b] = here.value(exact_curves[0][a][b]) - sum(
                    (w[j] * here.value(exact_curves[j + 1][a][b]) for j in range(m)), arb(0)
                )
            for j in range(m):
                table[a, n + j] = -first[j + 1][a]
                table[n + j, a] = first[j + 1][a]
        for j in range(m):
            right[n + j, 0] = here.value(exact_functions[j + 1])
        try:
            step = table.mid().solve(right.mid()).mid()
        except ZeroDivisionError:
            return None  # not an isolated point: no Newton
        x = [(v - step[k, 0]).mid() for k, v in enumerate(x)]
        w = [(v - step[n + k, 0]).mid() for k, v in enumerate(w)]
        size = max(abs(step[k, 0]) for k in range(n + m))
        if not size < 1e3:
            return None
        if size < arb(2) ** (-bits):
            moved = max(abs(float(v.mid()) - s) for v, s in zip(x, at.tolist(), strict=True))
            near = moved <= 0.05 * max(1.0, float(np.abs(at).max()))
            return Zero(dict(zip(ids, x, strict=True)), bits) if near else None
    return None


def _relations_of(rounder: Rounder, k: int, zeros: Sequence[Zero]) -> fmpz_mat:
    """Columns: integer vectors orthogonal to the monomials of block k at every zero that reaches it."""
    basis, factor = rounder.bases[k], rounder.factors[k]
    side = len(basis)
    unit = fmpz_mat([[int(i == j) for j in range(side)] for i in range(side)])
    if factor is None or rounder.blocks[k].kind.startswith("expectation"):
        return unit
    reach = [z for z in zeros if not z.small(z.value(factor))]
    if not reach:
        return unit
    bits = _BITS * side
    table = [[_integer(z.value({row: fmpq(1)}), bits) for z in reach] for row in basis]
    lattice = fmpz_mat([[int(i == j) for j in range(side)] + table[i] for i in range(side)]).lll()
    columns = []
    for i in range(side):
        row = [int(lattice[i, j]) for j in range(side + len(reach))]
        # genuine relations miss by the rounding of the table, others are as long as the lattice makes them
        if max(map(abs, row[:side])) < 1 << _SHORT and max(map(abs, row[side:])) < side << _SHORT:
            columns.append(row[:side])
    return fmpz_mat(columns).transpose() if columns else fmpz_mat(side, 0)


def _integer(value: Any, bits: int) -> int:
    """2^bits times a ball, rounded."""
    mantissa, exponent = (value * arb(2) ** bits).mid().man_exp()
    return round(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))


def _slope(p: Polynomial, variable: int) -> Polynomial:
    exact = p if p.is_exact else p.as_exact()
    return exact.diff(Polynomial.from_arrays(np.array([[variable]], dtype=np.int32), [Fraction(1)]))


def _value(terms: Terms, point: dict[int, float]) -> float:
    return float(sum(int(c.p) / int(c.q) * math.prod([point[v] for v in row]) for row, c in terms.items()))
