"""Exact proofs that there is no certificate: a rational functional that a pseudo-expectation rounds to.

A linear functional that is nonnegative on all squares (times constraints, up to a degree) and negative on a
polynomial shows that the polynomial has no certificate of that degree.  The solver's moments are rounded,
and a little of a functional well inside the cone is added: the rounded moments of the same relaxation without
an objective.  The checker decides, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, compress
from typing import Any

import numpy as np
from flint import fmpq

from certificates.exact import (
    Monomial,
    Rules,
    Terms,
    binary,
    polynomial_of,
    rational,
    terms_of,
    times,
    value_at,
)
from certificates.find.rounding import NotCertifiable, first
from certificates.find.univariate import local_minima
from certificates.identity import Claim
from certificates.proof import Proof
from sosdp.algebra.monomials import padded
from sosdp.algebra.polynomial import Polynomial
from sosdp.reduction.newton import prune

LARGEST = 20_000  # monomials of the functional
_SHARES = (0.5, 0.1, 0.01, 1e-3)  # of the separation that the functional inside may cost
_BITS = 50  # binary places of moments
_RADII = (4, 100)  # of balls that bound the moments where those of the problem do not separate


def separate(result: Any, claim: Claim) -> Proof:
    """A proof that the target of `claim` has no certificate of the degree of the solved `result`.

    Where the relaxation multiplies constraints, their products are constraints of the claim. Raises
    NotCertifiable with the reason when the solver's moments do not separate.  Cost: a few solves, and exact
    arithmetic with all monomials up to the degree.
    """
    if claim.expectations or claim.squares or len(claim.objectives) != 1 or claim.kind == "program":
        raise NotCertifiable("functionals are made for one polynomial on one set")
    target = claim.targets[0]
    indices = dict.fromkeys(tuple(b.index) for b in result.identity.blocks if b.kind == "product")
    multiplied = [math.prod(claim.inequalities[k] for k in index) for index in indices]
    constraints = (claim.equalities, (*claim.inequalities, *multiplied), claim.matrices)
    constrained = any(constraints)
    degree = result.degree if constrained else target.degree
    statement = Claim("no_certificate", (target,), None, *constraints, degree=degree)
    monomials = _monomials(claim.ids, degree, terms_of(target), constrained)
    for point in _points(result, claim):
        if value_at(terms_of(target), point) < 0:
            at = {row: value_at({row: fmpq(1)}, point) for row in monomials}
            proof = Proof(statement, (), functional=polynomial_of({row: v for row, v in at.items() if v}))
            if proof.verdict:
                return proof

    def of_moments(radius: int | None) -> Proof:
        solved = _having_moments(result if radius is None else _again(result, target, degree, radius))
        inside = _having_moments(_again(result, Polynomial(0), degree, radius))
        return _rounded(solved, inside, statement, monomials)

    return first(of_moments, (None, *_RADII))


def _having_moments(result: Any) -> Any:
    """The result, or NotCertifiable."""
    if result.moments is None:
        raise NotCertifiable(f"there are no moments (status {result.status})")
    return result


def _again(result: Any, objective: Polynomial, degree: int, radius: int | None) -> Any:
    """The relaxation with another objective, whose moments satisfy a ball's constraint too where it has a
    radius: they are bounded, and none is missing."""
    from sosdp.model.system import System
    from sosdp.relaxation.minimize import minimize

    squares = sum((v**2 for v in result.variables), Polynomial(0))
    ball = System() if radius is None else System(radius**2 - squares >= 0)
    products: Any = "schmudgen" if any(b.kind == "product" for b in result.identity.blocks) else "putinar"
    return minimize(objective, result.system & ball, degree, products=products)


def _rounded(result: Any, inner: Any, claim: Claim, monomials: list[Monomial]) -> Proof:
    """The proof from the moments of a relaxation, and of one without an objective; NotCertifiable."""
    (target,) = claim.targets
    rules = Rules([terms_of(p) for p in claim.equalities])
    normal = {row: rules.normal(row) for row in monomials}
    wanted = sorted({m for c, m in normal.values() if c})
    rows = padded(wanted)
    values, inside = (dict(zip(wanted, of._moment_values(rows)[0].tolist(), strict=True))  # or 0
                      for of in (result, inner))  # fmt: skip
    reduced = rules.divide(terms_of(target), {})
    separation = -float(sum((float(c) * values[m] for m, c in reduced.items()), 0.0))
    if not separation > 0:
        raise NotCertifiable("the solver's moments are not negative on the polynomial")
    cost = abs(float(sum((float(c) * inside[m] for m, c in reduced.items()), 0.0)))
    chosen, central = ({m: binary(of[m], _BITS) for m in wanted} for of in (values, inside))
    for share in _SHARES:
        weight = Fraction(share * separation / max(cost, separation, 1e-12)).limit_denominator(1 << 30)
        mixed = {row: c * rational(chosen[m] + weight * central[m]) for row, (c, m) in normal.items() if c}
        functional = polynomial_of({row: value for row, value in mixed.items() if value})
        proof = Proof(claim, (), functional=functional)
        if proof.verdict:
            return proof
    raise NotCertifiable(f"the rounded moments do not separate: {proof.verdict}")


def _points(result: Any, claim: Claim) -> Iterator[dict[int, Fraction]]:
    """Rational points where the target may be negative: evaluation there is a functional, if in the set."""
    ids = claim.ids
    rows = [[z] for z in local_minima(claim)]
    if result.moments is not None and ids == [int(v) for v in result.variable_ids]:
        rows += [[Fraction(v).limit_denominator(1 << 20) for v in row] for row in result.atoms().tolist()]
    for row in rows:
        yield dict(zip(ids, row, strict=True))


def _monomials(ids: list[int], degree: int, target: Terms, constrained: bool) -> list[Monomial]:
    """Monomials on which the functional is needed: all up to the degree, or the products of those that a
    square in the polynomial may have."""
    top = degree if constrained else degree // 2
    if math.comb(len(ids) + top, top) > LARGEST:
        raise NotCertifiable(f"a functional of more than {LARGEST} monomials is not made")
    every = [row for d in range(top + 1) for row in combinations_with_replacement(ids, d)]
    if constrained:
        return every
    kept = prune([padded(every)], padded(list(target)), lambda rows: (np.ones(len(rows)), rows))[0]
    basis = list(compress(every, kept))
    return sorted({times(a, b) for a in basis for b in basis} | set(target))
