"""Exact identities whose degree in the solver's variables is at most 2, so that relaxations obey them too.

q = sum of squares + sum of (sum of squares) g + sum of (polynomial) h, every summand of degree <= 2 in the
solver's variables: with numbers in the place of the data, every pseudo-expectation of degree 2 has E[q] >= 0.

Proof: docs/proofs/witness_transfer.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.optimize import linprog

import certificates
from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.laboratory.tracing import same
from sosdp.model.system import System
from sosdp.relaxation.sos_program import SosProgram

LEAST = "least_s"
MOST = 2
"""Degree in the solver's variables: what relaxations of every even degree obey for constraints of degree 1 or
2, whatever the data make of them."""


class NoIdentity(ValueError):
    """No identity of the required form was found, or a family is not of the form that the theorem takes."""


@dataclass(frozen=True)
class Facts:
    """Hypotheses of an identity.

    Attributes
    ----------
    names
        The solver's variables.
    inequalities, equalities
        Polynomials that are >= 0, and that are 0.
    sums_above, sums_equal
        Polynomials whose sum over the other records is so; their multipliers do not mention the other record.
    one
        The variables of the other record.
    """

    names: frozenset[str]
    inequalities: tuple[Polynomial, ...]
    equalities: tuple[Polynomial, ...]
    sums_above: tuple[Polynomial, ...] = ()
    sums_equal: tuple[Polynomial, ...] = ()
    one: frozenset[str] = frozenset()

    def about(self, names: set[str]) -> Facts:
        """Those that mention these variables alone."""

        def few(part: tuple[Polynomial, ...]) -> tuple[Polynomial, ...]:
            return tuple(p for p in part if {v.name for v in p.variables} <= names)

        return replace(
            self,
            inequalities=few(self.inequalities),
            equalities=few(self.equalities),
            sums_above=few(self.sums_above),
            sums_equal=few(self.sums_equal),
        )

    @property
    def about_data(self) -> list[Polynomial]:
        """The inequalities without solver's variables."""
        return [g for g in self.inequalities if degree_in(g, self.names) == 0]

    @property
    def booleans(self) -> list[Polynomial]:
        """Solver's variables v with v^2 = v among the equalities."""
        return [
            v
            for h in self.equalities
            for v in h.variables
            if v.name in self.names and (same(h, v * v - v) or same(h, v - v * v))
        ]


def degree_in(p: Polynomial, names: frozenset[str]) -> int:
    """Degree in these variables, 0 for the polynomial 0."""
    return max((sum(k for v, k in powers.items() if v in names) for _, powers in p.terms()), default=0)


def nonnegative(q: Polynomial, facts: Facts, what: str) -> dict[str, Any] | None:
    """An exact certificate that q >= 0; None where it needs none (q is a number >= 0).

    Raises
    ------
    NoIdentity
        None was found with degree at most 2 in the solver's variables.
    """
    numbers = [c for c, powers in q.terms() if c]
    if not numbers or (q.degree == 0 and numbers[0] > 0):
        return None
    # q = v^2 r modulo v^2 = v, or q = g r with a monomial hypothesis g: r >= 0 about the data is enough
    for g in (*facts.booleans, *facts.inequalities):
        rest = quotient(q, g)
        if rest is not None and degree_in(g, facts.names) <= MOST and degree_in(rest, facts.names) == 0:
            return about_data(rest, facts, what)
    if degree_in(q, facts.names) == 0:
        return about_data(q, facts, what)
    try:
        return _bounded(q, facts, None)[1]
    except certificates.CertificateError as error:
        raise NoIdentity(f"{what}: no certificate of degree {MOST} that {q} >= 0") from error


def about_data(q: Polynomial, facts: Facts, what: str) -> dict[str, Any]:
    """An exact certificate that a polynomial of the data alone is >= 0 on their public set."""
    system = System(*[g >= 0 for g in facts.about_data])
    start = max(2, q.degree + q.degree % 2)
    for degree in (start, start + 2):
        try:
            proof = certificates.extract(
                SosProgram([]).require(q, on=system, degree=degree).feasible()
            ).exact()
        except certificates.CertificateError:
            continue
        if proof.verify().status == "valid":
            return proof.to_dict()
    raise NoIdentity(f"{what}: no certificate that {q} >= 0 for all data")


def quotient(q: Polynomial, g: Polynomial) -> Polynomial | None:
    """q / g for a monomial g with a coefficient > 0; None if g is none or some term is not divisible."""
    ((c, powers), *more) = list(g.terms()) or [(0, {})]
    if more or not powers or c <= 0:
        return None
    known = {v.name: v for v in q.variables}
    result = coerce(0)
    for a, own in q.terms():
        left = {name: own.get(name, 0) - powers.get(name, 0) for name in {*own, *powers}}
        if min(left.values(), default=0) < 0:
            return None
        rest = math.prod((known[name] ** power for name, power in left.items() if power), start=coerce(1))
        result = result + rest * (Fraction(a) / Fraction(c))
    return result


# ------------------------------------------------------------------------------------------------------------
# Gram matrices in monomials of bounded degree in the solver's variables


def least_growth(
    growth: Polynomial, facts: Facts, claimed: Fraction | None
) -> tuple[Fraction, dict[str, Any] | None]:
    """The least s for which s - growth >= 0 has such an identity, or the claim where that has one.

    Raises
    ------
    NoIdentity
        There is none.
    """
    if growth.degree == 0:
        return sum((Fraction(c) for c, _ in growth.terms()), Fraction(0)), None
    s = variables(LEAST)
    try:
        if claimed is not None:
            return claimed, nonnegative(coerce(claimed) - growth, facts, "objective")
        bound, certificate = _bounded(s - growth, facts, s)
        assert bound is not None
        short = bound.limit_denominator(1000)  # the number that is meant, if it can be proven
        if short < bound:
            with suppress(NoIdentity):
                return short, nonnegative(coerce(short) - growth, facts, "objective")
        return bound, certificate
    except certificates.CertificateError as error:
        raise NoIdentity("objective: no certificate bounds its growth") from error


def _bounded(
    q: Polynomial, facts: Facts, unknown: Polynomial | None
) -> tuple[Fraction | None, dict[str, Any]]:
    """An exact identity for q, its `unknown` minimised: (least value, certificate).

    First with every hypothesis, and monomials in the Newton polytope of q, the hypotheses and their products
    with squares of the solver's variables. Then without these products, and with the hypotheses in the
    variables of q: what is outside only takes the room in which an identity is rounded.
    """
    try:
        return _identity(q, facts, unknown, with_squares=True)
    except certificates.CertificateError:
        return _identity(q, facts.about({v.name for v in q.variables}), unknown, with_squares=False)


def _identity(
    q: Polynomial, facts: Facts, unknown: Polynomial | None, *, with_squares: bool
) -> tuple[Fraction | None, dict[str, Any]]:
    """One attempt, within a polytope.

    Raises
    ------
    certificates.CertificateError
        There is none, or it cannot be made exact.
    """
    cones = [coerce(1), *facts.inequalities, *facts.sums_above]
    ideals = [*facts.equalities, *facts.sums_equal]
    every = {v.name: v for p in (q, *cones, *ideals) for v in p.variables}
    if unknown is not None:
        every.pop(unknown.name, None)
    order = sorted(every)
    squares = [v * v for v in every.values() if v.name in facts.names and with_squares]
    shifted = [g * v for g in (*cones, *ideals) for v in squares if degree_in(g * v, facts.names) <= MOST]
    hull = _powers([q, *cones, *ideals, *shifted], order)
    total = max(2, q.degree + q.degree % 2)

    def basis(g: Polynomial, parts: int, summed: bool) -> list[Polynomial]:
        """Monomials whose products of so many, times g, have no degree too large."""
        known = [every[name] for name in order if not (summed and name in facts.one)]
        inner, outer = ([v for v in known if (v.name in facts.names) is own] for own in (True, False))
        room, whole = (MOST - degree_in(g, facts.names)) // parts, (total - g.degree) // parts
        result = _monomials(inner, outer, room, whole)
        return [m for m in result if _contained(_powers([g * m**parts], order), hull)]

    bases = [basis(h, 1, k >= len(facts.equalities)) for k, h in enumerate(ideals)]
    free = [[variables(f"m{k}_{i}") for i in range(len(row))] for k, row in enumerate(bases)]
    program = SosProgram([*([] if unknown is None else [unknown]), *(v for row in free for v in row)])
    right = coerce(0)
    for k, g in enumerate(cones):
        row = basis(g, 2, k > len(facts.inequalities))
        if row:
            gram = program.gram(f"Q{k}_", row)
            right = right + g * sum(gram[i, j] * a * b for i, a in enumerate(row) for j, b in enumerate(row))
    for h, own, row in zip(ideals, free, bases, strict=True):
        right = right + h * sum((c * m for c, m in zip(own, row, strict=True)), coerce(0))
    program.require_zero(q - right)
    solved = program.feasible() if unknown is None else program.minimize(unknown)
    proof = certificates.extract(solved).exact()
    if proof.verify().status != "valid":
        raise certificates.CertificateError("the identity is not exact")
    return proof.bound, proof.to_dict()


def _powers(polynomials: Sequence[Polynomial], order: Sequence[str]) -> np.ndarray:
    """The different exponents of all terms, one row each."""
    terms = [powers for p in polynomials for c, powers in p.terms() if c]
    return np.unique([[powers.get(name, 0) for name in order] for powers in terms], axis=0)


def _contained(points: np.ndarray, hull: np.ndarray) -> bool:
    """Whether points lie in the convex hull of others; a wrong answer costs an identity or time, no truth."""
    sides = np.vstack([hull.T, np.ones(len(hull))])
    return all(
        linprog(np.zeros(len(hull)), A_eq=sides, b_eq=[*point, 1], method="highs").status == 0
        for point in points
    )


def _monomials(inner: Sequence[Any], outer: Sequence[Any], most: int, total: int) -> list[Polynomial]:
    """Monomials of degree at most `most` in the inner variables, `total` in all; none below 0."""
    return [
        math.prod((*first, *second), start=coerce(1))
        for a in range(min(most, total) + 1)
        for first in combinations_with_replacement(inner, a)
        for b in range(total - a + 1)
        for second in combinations_with_replacement(outer, b)
    ]


def exact_terms(p: Polynomial) -> frozenset[Any]:
    """The exact terms, to compare polynomials by."""
    return frozenset((Fraction(c), *sorted(powers.items())) for c, powers in p.terms() if c)


def refuse_names(parameters: Sequence[Polynomial], ours: Sequence[Polynomial]) -> None:
    """Refuse parameters that have the name of a variable of ours, or of coefficients of an identity (`m0_1`,
    `Q0_1`), which a proof would take for the same."""
    names = {v.name for v in parameters}
    taken = names & {v.name for v in ours} | {name for name in names if re.match(r"[mQ]\d+_", name)}
    if taken:
        raise NoIdentity(f"parameters need other names than {', '.join(sorted(taken))}")


def affine(what: str, images: list[Polynomial], z: Sequence[Polynomial]) -> list[Polynomial]:
    """The images, checked: as many as there are own variables, and affine; `posed` refuses data in them."""
    if len(images) != len(z):
        raise NoIdentity(f"{what} must give as many values as a record has own variables")
    if any(p.degree > 1 for p in images):
        raise NoIdentity(f"{what} must be affine in the records' own variables")
    return images
