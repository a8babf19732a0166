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
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_poly
from scipy.optimize import least_squares

from certificates.exact import (
    Monomial,
    Terms,
    add_to,
    fraction,
    monomials_of,
    polynomial_of,
    powers_of,
    terms_of,
    times,
)
from certificates.find.optimum import newton, relations
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Affine, Claim, Multiplier, translated
from certificates.proof import Proof
from sosdp.algebra.variables import known_id
from sosdp.conic.multiprecision import fraction_of, precision

_DIGITS, _STEPS, _HALVINGS = 120, 12, 200
_LARGEST_SIDE, _LARGEST_DEGREE, _STARTS = 12, 6, 12


def field_proof(claim: Claim, dual: Any) -> Proof:
    """The proof that the target of a claim without constraints is a sum of squares over a real number field.

    ``dual``: multipliers, of which the monomials are taken.  Raises NotCertifiable where no Gram matrix of
    least rank is isolated, or in a field of degree at most 6.  Cost: local searches, lattice reductions.
    """
    if dual is None or claim.equalities or claim.inequalities or not claim.is_scalar:
        raise NotCertifiable("number fields are for squares alone, without constraints")
    basis = list(dict.fromkeys(row for block in dual.blocks for row in monomials_of(block.basis)))
    if len(basis) > _LARGEST_SIDE:
        raise NotCertifiable(f"number fields are for Gram matrices up to side {_LARGEST_SIDE}")
    units = _units(terms_of(claim.targets[0]))
    if any(w != 1 for _, w in units.values()):
        back = {v: (c, 1 / w) for v, (c, w) in units.items()}
        proof = field_proof(translated(claim, units), dual).translated(back)
        return checked(proof.claim, proof.multipliers)
    target = terms_of(claim.targets[0])
    size = max(map(abs, target.values()), default=fmpq(1))
    minimal, near, gram = _in_a_field(_least_rank(basis, {row: c / size for row, c in target.items()}))
    low, high, squares = _squares([[p * size for p in row] for row in gram], minimal, near)
    number = known_id("sosdp_root")
    written = partial(powers_of, number)
    lines = [{times(power, b): c for b, p in zip(basis, v, strict=True) for power, c in written(p).items()}
             for _, _, v in squares]  # fmt: skip
    multipliers, rest = [], {row: fmpq_poly([c]) for row, c in target.items()}
    for k in range(len(squares[0][1])):  # of the interval's ends
        index = (0,) * k + (1,) * (len(squares[0][1]) - 1 - k)
        pairs = [(weights[k], line) for (_, weights, _), line in zip(squares, lines, strict=True)]
        kind = "product" if len(index) > 1 else "inequality" if index else "sos"
        multipliers.append(Multiplier.of_squares(kind, index, pairs))
    for pivot, _, vector in squares:
        for (a, v), (b, w) in product(zip(basis, vector, strict=True), repeat=2):
            rest[times(a, b)] = rest.get(times(a, b), fmpq_poly()) - pivot * v * w
    cofactor: Terms = {}
    for monomial, p in rest.items():
        add_to(cofactor, {times(power, monomial): c for power, c in written(p // minimal).items()})
    multipliers.append(Multiplier("equality", (0,), polynomial=polynomial_of(cofactor)))
    ends = fmpq_poly([-low, fmpq(1)]), fmpq_poly([high, fmpq(-1)])
    statement = replace(
        claim,
        equalities=(polynomial_of(written(minimal)),),
        inequalities=tuple(polynomial_of(written(end)) for end in ends),
        root=(number, fraction(low), fraction(high)),
    )
    return checked(statement, multipliers)


def _units(target: Terms) -> Affine:
    """Whole numbers of the variables, or one by them, with which the coefficients of highest powers are near
    1."""
    powers = {row[0]: (len(row), c) for row, c in sorted(target.items(), key=lambda term: len(term[0]))
              if len({*row}) == 1}  # fmt: skip
    sizes = {v: math.exp((math.log(abs(int(c.p))) - math.log(int(c.q))) / n) for v, (n, c) in powers.items()}
    return {
        v: (Fraction(0), Fraction(1, round(t)) if t > 1 else Fraction(round(1 / t))) for v, t in sizes.items()
    }


def _least_rank(basis: list[Monomial], target: Terms) -> list[list[Fraction]]:
    """A Gram matrix of least rank, to many digits, of a target whose largest coefficient is 1; NotCertifiable
    where others are near."""
    side, places = len(basis), dict[Monomial, int]()
    where = np.array([[places.setdefault(times(a, b), len(places)) for b in basis] for a in basis])
    if not target.keys() <= places.keys():
        raise NotCertifiable("the squares do not reach every monomial")
    goal = [target.get(row, fmpq(0)) for row in places]
    wanted = np.array([float(c) for c in goal])
    generator = np.random.default_rng(0)

    def missed(v: np.ndarray) -> np.ndarray:
        factor = v.reshape(-1, side)
        return np.bincount(where.ravel(), (factor.T @ factor).ravel()) - wanted

    for rank in range(1, side):
        if rank * side - rank * (rank - 1) // 2 > len(places):
            break  # more numbers than equations: a matrix of this rank has others near it
        for _ in range(_STARTS):
            end = least_squares(
                missed, generator.standard_normal(rank * side), xtol=1e-15, ftol=1e-15, gtol=1e-15
            )
            if np.abs(end.fun).max() < 1e-9:
                return _refined(end.x.reshape(rank, side), where, goal)
    raise NotCertifiable("no isolated Gram matrix of lower rank was found")


def _refined(factor: np.ndarray, where: np.ndarray, goal: list[fmpq]) -> list[list[Fraction]]:
    """The Gram matrix to many digits, by Newton's method on a factor; NotCertifiable with others near."""
    rank, side = factor.shape
    columns = np.argsort(-np.abs(factor).max(axis=0))[:rank]
    factor = np.linalg.qr(factor[:, columns])[0].T @ factor  # zeros below the diagonal fix the rotation
    below = {(a, int(columns[b])) for a in range(rank) for b in range(a)}
    free = [(a, i) for a in range(rank) for i in range(side) if (a, i) not in below]
    with precision(int(3.4 * _DIGITS) + 200):

        def equations(numbers: list[arb]) -> tuple[arb_mat, arb_mat]:
            at = dict(zip(free, numbers, strict=True))
            jacobian, off = arb_mat(len(goal), len(free)), arb_mat([[-arb(c)] for c in goal])
            for k, (a, i) in enumerate(free):
                for j in range(side):
                    jacobian[int(where[i, j]), k] += 2 * at.get((a, j), arb(0))
                    off[int(where[i, j]), 0] += at[a, i] * at.get((a, j), arb(0))
            turned = jacobian.transpose()
            return turned * jacobian, turned * off

        end = newton(equations, [float(factor[place]) for place in free], _STEPS, _DIGITS)
        if end is None:
            raise NotCertifiable("Gram matrices of least rank are not isolated")
        at = dict(zip(free, end, strict=True))
        rows = arb_mat([[at.get((a, i), arb(0)) for i in range(side)] for a in range(rank)])
        return [[fraction_of(v) for v in row] for row in (rows.transpose() * rows).mid().tolist()]


def _in_a_field(gram: list[list[Fraction]]) -> tuple[fmpq_poly, Fraction, list[list[fmpq_poly]]]:
    """A minimal polynomial, its root among the entries, and the entries as polynomials in it."""
    entries = sorted({v for row in gram for v in row}, key=abs)
    for degree, near in product(range(2, _LARGEST_DEGREE + 1), entries):
        powers = [near**k for k in range(degree)]
        lines = [relations([[*powers, v]], _DIGITS - 10) for v in (near**degree, *entries)]
        if any(len(line) != 1 or not line[0][-1] for line in lines):
            continue
        minimal, *read = (fmpq_poly([fmpq(c, line[-1]) for c in line[:-1]]) for (line,) in lines)
        minimal += fmpq_poly([0] * degree + [1])
        if len(minimal.factor()[1]) == 1:
            of = dict(zip(entries, read, strict=True))
            return minimal, near, [[-of[v] for v in row] for row in gram]
    raise NotCertifiable(f"the entries are in no number field of degree {_LARGEST_DEGREE} or less")


def _squares(
    gram: list[list[fmpq_poly]], minimal: fmpq_poly, near: Fraction
) -> tuple[fmpq, fmpq, list[tuple[fmpq_poly, list[fmpq], list[fmpq_poly]]]]:
    """(d, weights, v) with sum d v v^T the matrix, by elimination in the field, and an interval around the
    root, at whose ends the minimal polynomial has different signs: every d is the sum of weights > 0 times
    (t - low)^k (high - t)^(n-k), by k."""
    point, parts, rest = fmpq(near.numerator, near.denominator), [], gram
    while any(p for row in rest for p in row):
        k = max(range(len(rest)), key=lambda i: rest[i][i](point))
        pivot = rest[k][k]
        if not pivot(point) > 0:
            raise NotCertifiable("the Gram matrix that was read is not positive semidefinite")
        inverse = pivot.xgcd(minimal)[1]
        vector = [p * inverse % minimal for p in rest[k]]
        parts.append((pivot, vector))
        rest = [[(p - pivot * v * w) % minimal for p, w in zip(row, vector, strict=True)]
                for row, v in zip(rest, vector, strict=True)]  # fmt: skip
    n = max(pivot.degree() for pivot, _ in parts)
    for halvings in range(_HALVINGS):
        width = fmpq(1, 1 << halvings)
        low = fmpq(math.floor(near / Fraction(1, 1 << halvings))) * width
        # s = (t - low) / (high - t): d(t) (1 + s)^n is a polynomial in s
        inner, outer = fmpq_poly([low, low + width]), fmpq_poly([1, 1])
        moved = [sum((c * inner**k * outer ** (n - k) for k, c in enumerate(d.coeffs())), fmpq_poly())
                 for d, _ in parts]  # fmt: skip
        weights = [[p[k] / width**n for k in range(n + 1)] for p in moved]
        if minimal(low) * minimal(low + width) < 0 and min(map(min, weights)) > 0:
            return low, low + width, [(d, w, v) for (d, v), w in zip(parts, weights, strict=True)]
    raise NotCertifiable("a pivot is not seen to be positive")
