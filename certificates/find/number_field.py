"""Sums of squares whose Gram matrices have entries in a real number field, as Scheiderer's quartic needs.

A Gram matrix of least rank that no other is near is refined to many digits; lattice reduction reads one of
its entries, a, as a root of a polynomial m, and the others as polynomials in a.  Elimination in Q(a) gives
sum d_k (v_k^T b)^2 with d_k > 0, and on a short interval [l, u] around a all d_k are positive combinations of
(t - l)^i (u - t)^j (Bernstein).  So the identity holds modulo m(t), in a variable t with m(t) = 0 and
l <= t <= u: an ordinary certificate, and the kernel's rule `root` drops what it assumes of t.

Source: Scheiderer, *Sums of squares of polynomials with rational coefficients*, 2016; Kaltofen, Li, Yang and
Zhi, *Exact certification in global polynomial optimization via sums-of-squares of rational functions with
rational coefficients*, 2012 (Newton's method, then lattice reduction).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat, fmpq_poly, fmpz_poly
from scipy.optimize import least_squares

from certificates.exact import Monomial, Terms, add_to, fraction, monomials_of, polynomial_of, terms_of, times
from certificates.find.numbers import over_common
from certificates.find.rounding import NotCertifiable, checked
from certificates.find.zeros import relations
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.variables import variable_id, variable_name
from sosdp.conic.multiprecision import fraction_of, precision

_DIGITS, _STEPS, _HALVINGS = 120, 12, 200
_LARGEST_SIDE, _LARGEST_DEGREE, _STARTS = 12, 6, 12


def field_proof(claim: Claim, dual: Any) -> Proof:
    """The proof that the target of a claim without constraints is a sum of squares over a real number field.

    ``dual``: float multipliers, of which the monomials are taken.  Raises NotCertifiable where no Gram matrix
    of least rank is isolated, or where its entries are in no field of degree at most 6.  Cost: a few local
    searches, and a lattice reduction for every entry.
    """
    constrained = claim.equalities or claim.inequalities or claim.matrices or claim.squares
    if dual is None or constrained or claim.expectations:
        raise NotCertifiable("number fields are for squares alone, without constraints")
    basis = list(dict.fromkeys(row for block in dual.blocks for row in monomials_of(block.basis)))
    if len(basis) > _LARGEST_SIDE:
        raise NotCertifiable(f"number fields are for Gram matrices up to side {_LARGEST_SIDE}")
    target = terms_of(claim.targets[0])
    minimal, near, gram = _in_a_field(_least_rank(basis, target))
    pivots, factors = _eliminated(gram, minimal, near)
    low, high, weights = _positive(pivots, minimal, near)
    names = {variable_name(int(v)) for p in claim.polynomials() for v in p.variable_ids}
    number = int(variable_id(next(n for k in range(99) if (n := f"root{k or ''}") not in names)))

    def written(p: fmpq_poly) -> Terms:
        return {(number,) * k: c for k, c in enumerate(p.coeffs()) if c}

    multipliers = []
    for k, row in enumerate(weights):
        index = (0,) * k + (1,) * (len(weights) - 1 - k)
        kind = "product" if len(index) > 1 else "inequality" if index else "sos"
        multipliers.append(_squares(kind, index, row, factors, basis, number))
    rest: dict[Monomial, fmpq_poly] = {row: fmpq_poly([c]) for row, c in target.items()}
    for pivot, factor in zip(pivots, factors, strict=True):
        for a, v in zip(basis, factor, strict=True):
            for b, w in zip(basis, factor, strict=True):
                rest[times(a, b)] = rest.get(times(a, b), fmpq_poly()) - pivot * v * w
    cofactor: Terms = {}
    for monomial, p in rest.items():
        for power, c in written(p // minimal).items():
            add_to(cofactor, {times(power, monomial): c})
    multipliers.append(Multiplier("equality", (0,), polynomial=polynomial_of(cofactor)))
    ends = [fmpq_poly([-low, fmpq(1)]), fmpq_poly([high, fmpq(-1)])]
    stated = replace(
        claim,
        equalities=(polynomial_of(written(minimal)),),
        inequalities=tuple(polynomial_of(written(end)) for end in ends),
        root=(number, fraction(low), fraction(high)),
    )
    return checked(stated, multipliers)


def _least_rank(basis: list[Monomial], target: Terms) -> list[list[Fraction]]:
    """A Gram matrix of least rank, to many digits: Newton's method on its triangular factor."""
    side, places = len(basis), dict[Monomial, int]()
    where = [[places.setdefault(times(a, b), len(places)) for b in basis] for a in basis]
    if not target.keys() <= places.keys():
        raise NotCertifiable("the squares do not reach every monomial")
    goal = [fmpq(0)] * len(places)
    for row, c in target.items():
        goal[places[row]] = c
    wanted, spread = np.array([float(int(c.p) / int(c.q)) for c in goal]), np.zeros((len(places), side, side))
    for i in range(side):
        for j in range(side):
            spread[where[i][j], i, j] = 1.0
    generator = np.random.default_rng(0)
    for rank in range(1, side):
        if rank * side - rank * (rank - 1) // 2 > len(places):
            break  # more numbers than equations: a matrix of this rank has others near it
        for _ in range(_STARTS):
            start = generator.standard_normal(rank * side)

            def missed(v: np.ndarray, rank: int = rank) -> np.ndarray:
                factor = v.reshape(rank, side)
                return np.einsum("kij,ij->k", spread, factor.T @ factor) - wanted

            end = least_squares(missed, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
            if np.abs(end.fun).max() < 1e-9 * max(1.0, float(np.abs(wanted).max())):
                return _refined(end.x.reshape(rank, side), where, goal)
    raise NotCertifiable("no Gram matrix of lower rank was found")


def _refined(factor: np.ndarray, where: list[list[int]], goal: list[fmpq]) -> list[list[Fraction]]:
    """The Gram matrix to many digits; NotCertifiable where others are near."""
    rank, side = factor.shape
    columns = np.argsort(-np.abs(factor).max(axis=0))[:rank]
    factor = np.linalg.qr(factor[:, columns])[0].T @ factor  # zeros below the diagonal fix the rotation
    below = {(a, int(columns[b])) for a in range(rank) for b in range(a)}
    free = [(a, i) for a in range(rank) for i in range(side) if (a, i) not in below]
    with precision(int(3.4 * _DIGITS) + 200):
        at = {place: arb(float(factor[place])) for place in free}
        for _ in range(_STEPS):
            jacobian, off = arb_mat(len(goal), len(free)), arb_mat(len(goal), 1)
            for k, c in enumerate(goal):
                off[k, 0] = -arb(c)
            for k, (a, i) in enumerate(free):
                for j in range(side):
                    if (a, j) in at:
                        jacobian[where[i][j], k] += 2 * at[a, j]
                        off[where[i][j], 0] += at[a, i] * at[a, j]
            turned = jacobian.transpose()
            try:
                step = (turned * jacobian).mid().solve((turned * off).mid()).mid().entries()
            except ZeroDivisionError:
                raise NotCertifiable("Gram matrices of least rank are not isolated") from None
            at = {place: (at[place] - d).mid() for place, d in zip(free, step, strict=True)}
            if max(abs(d) for d in step) < arb(10) ** -_DIGITS:
                rows = [[at.get((a, i), arb(0)) for i in range(side)] for a in range(rank)]
                inner = [[sum((r[i] * r[j] for r in rows), arb(0)) for j in range(side)] for i in range(side)]
                return [[fraction_of(v.mid()) for v in row] for row in inner]
    raise NotCertifiable("Gram matrices of least rank are not isolated, or not refined")


def _in_a_field(gram: list[list[Fraction]]) -> tuple[fmpq_poly, Fraction, list[list[fmpq_poly]]]:
    """A minimal polynomial, its root among the entries, and the entries as polynomials in it."""
    entries = {v for row in gram for v in row}
    digits = _DIGITS - 10
    for degree in range(2, _LARGEST_DEGREE + 1):
        for near in sorted(entries, key=abs):
            powers = [near**k for k in range(degree)]
            short = relations([[*powers, near**degree]], digits)
            if len(short) != 1 or len(fmpz_poly(short[0]).factor()[1]) != 1 or not short[0][-1]:
                continue
            read: dict[Fraction, fmpq_poly] = {}
            for v in entries:
                lines = relations([[*powers, v]], digits)
                if len(lines) != 1 or not lines[0][-1]:
                    break
                read[v] = fmpq_poly([fmpq(-c, lines[0][-1]) for c in lines[0][:-1]])
            else:
                minimal = fmpq_poly(short[0]) / short[0][-1]
                return minimal, near, [[read[v] for v in row] for row in gram]
    raise NotCertifiable(f"the entries are in no number field of degree {_LARGEST_DEGREE} or less")


def _at(p: fmpq_poly, point: Fraction) -> fmpq:
    return p(fmpq(point.numerator, point.denominator))


def _eliminated(
    gram: list[list[fmpq_poly]], minimal: fmpq_poly, near: Fraction
) -> tuple[list[fmpq_poly], list[list[fmpq_poly]]]:
    """Pivots d and vectors v of the field with sum d v v^T the matrix; NotCertifiable for negative pivots."""
    rest, pivots, factors = [list(row) for row in gram], [], []
    while any(p for row in rest for p in row):
        k = max(range(len(rest)), key=lambda i: _at(rest[i][i], near))
        pivot = rest[k][k]
        if not _at(pivot, near) > 0:
            raise NotCertifiable("the Gram matrix that was read is not positive semidefinite")
        inverse = pivot.xgcd(minimal)[1]
        pivots.append(pivot)
        factors.append([p * inverse % minimal for p in rest[k]])
        rest = [
            [(p - pivot * v * w) % minimal for p, w in zip(row, factors[-1], strict=True)]
            for row, v in zip(rest, factors[-1], strict=True)
        ]
    return pivots, factors


def _positive(
    pivots: list[fmpq_poly], minimal: fmpq_poly, near: Fraction
) -> tuple[fmpq, fmpq, list[list[fmpq]]]:
    """An interval around the root, at whose ends the minimal polynomial has different signs, and coefficients
    > 0 of (t - low)^k (high - t)^(n-k) for every pivot, by k."""
    n = max(p.degree() for p in pivots)
    for halvings in range(_HALVINGS):
        unit = 1 << halvings
        low = fmpq(math.floor(near * unit), unit)
        high, width = low + fmpq(1, unit), fmpq(1, unit)
        if not minimal(low) * minimal(high) < 0:
            continue
        rows = []
        for p in pivots:
            # s = (t - low) / (high - t): p(t) (1 + s)^n is a polynomial in s
            inner, outer = fmpq_poly([low, high]), fmpq_poly([1, 1])
            moved = sum((c * inner**k * outer ** (n - k) for k, c in enumerate(p.coeffs())), fmpq_poly())
            rows.append([moved[k] / width**n for k in range(n + 1)])
        if all(c > 0 for row in rows for c in row):
            return low, high, [[row[k] for row in rows] for k in range(n + 1)]
    raise NotCertifiable("a pivot is not seen to be positive")


def _squares(
    kind: str,
    index: tuple[int, ...],
    weights: list[fmpq],
    factors: list[list[fmpq_poly]],
    basis: list[Monomial],
    number: int,
) -> Multiplier:
    """The sum of w (v^T b)^2, monomials of b and powers of the number as one basis."""
    lines = [
        {
            times((number,) * k, b): c
            for b, p in zip(basis, v, strict=True)
            for k, c in enumerate(p.coeffs())
            if c
        }
        for v in factors
    ]
    wide = sorted({row for line in lines for row in line}, key=lambda row: (len(row), row))
    roots = fmpq_mat([[line.get(row, fmpq(0)) for row in wide] for line in lines])
    scale = fmpq_mat([[w if i == j else fmpq(0) for j in range(len(weights))] for i, w in enumerate(weights)])
    gram, common = over_common(roots.transpose() * scale * roots)
    return Multiplier(kind, index, tuple(wide), tuple(map(tuple, gram)), common)
