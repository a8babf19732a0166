"""Claims about points: values, where a bound is attained, and that it is attained nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from certificates.kernel import (
    Certificate,
    Monomial,
    Polynomial,
    assume,
    need,
    number,
    polynomial,
    rank,
    spend,
)

Point = Mapping[str, Fraction]


def point_of(certificate: Certificate) -> dict[str, Fraction]:
    """The point where the bound is claimed to be attained."""
    return dict(zip(certificate.names, map(number, certificate.claim["attained_at"]), strict=True))


def value_at(p: Polynomial, point: Point) -> Fraction:
    """The value of a polynomial at a rational point, paid for before it is computed."""
    total = Fraction(0)
    sizes = {n: v.numerator.bit_length() + v.denominator.bit_length() for n, v in point.items()}
    for monomial, c in p.pairs:
        words = (sum(sizes[n] for n in monomial) + c.bit_length() + total.denominator.bit_length()) >> 6
        spend((10 + words) * (1 + len(monomial)) + (words * words >> 2))
        value = Fraction(c, p.den)
        for n in monomial:
            value *= point[n]
        total += value
    return total


def attained(certificate: Certificate) -> None:
    """Raise NotProven unless the point satisfies every constraint and attains the bound."""
    claim, point = certificate.claim, point_of(certificate)
    for k, p in enumerate(claim.get("equalities", [])):
        need(value_at(p, point) == 0, f"the point does not satisfy equality {k}")
    for k, p in enumerate(claim.get("inequalities", [])):
        need(value_at(p, point) >= 0, f"the point does not satisfy inequality {k}")
    for k, matrix in enumerate(claim.get("psd", [])):
        known = rank([[value_at(p, point) for p in row] for row in matrix])
        need(known is not None, f"matrix {k} is not positive semidefinite at the point")
    squares = ((number(w), value_at(p, point)) for w, p in claim.get("squares", []))
    value = value_at(claim["objective"], point) + sum(w * v**2 for w, v in squares)
    need(value == number(claim["bound"]), "the objective at the point is not the bound")


def determined(certificate: Certificate) -> None:
    """Raise NotProven unless the multipliers show that the bound is attained at the claimed point only.

    Where the bound is attained every summand vanishes: Q b(z) = 0 for a plain Gram matrix, S G(z) = 0 for a
    matrix constraint, p(z) = u / (2 w) for a square.  A variable x with x - c in the row space of Q (1 and x
    in b) is then c, and a kernel of dimension one fixes G(z), hence its entries.
    """
    claim, point = certificate.claim, point_of(certificate)
    known: set[str] = {n for _, p in claim.get("squares", []) for n in _solved_by(p)}
    for block in certificate.blocks:
        basis, gram = block.get("basis", []), [[number(v) for v in row] for row in block.get("gram", [])]
        if block["kind"] == "sos" and () in basis:
            known.update(_fixed_by_kernel(basis, gram, point))
        elif block["kind"] == "psd" and not any(basis):
            matrix, entry = claim["psd"][block["index"][0]], block["entry"]
            if sorted(entry) != list(range(len(matrix))):
                continue
            row = next((i for i in range(len(matrix)) if _pinned(claim, matrix[i][i], point)), None)
            others = [i for i, e in enumerate(entry) if e != row]
            if row is not None and rank([[gram[i][j] for j in others] for i in others]) == len(others):
                known.update(n for entries in matrix for p in entries for n in _solved_by(p))
    missing = next((name for name in certificate.names if name not in known), "")
    need(not missing, f"the multipliers do not show that {missing!r} has only one optimal value")


def _fixed_by_kernel(basis: list[Monomial], gram: list[list[Fraction]], point: Point) -> list[str]:
    """Variables that Q b(z) = 0 fixes: those with x - c in the row space of Q."""
    one = basis.index(())
    linear = [(i, m[0], len(m)) for i, m in enumerate(basis) if len({*m}) == 1 and len(m) % 2]
    side = rank(gram)

    def inside(chosen: list[tuple[int, str, int]]) -> bool:
        """Whether functionals f are in the row space: Q plus all f f^T then has the rank of Q."""
        total = [[*row] for row in gram]
        for i, n, power in chosen:
            words = (point[n].numerator.bit_length() + point[n].denominator.bit_length()) * power >> 6
            spend(10 + (words * words >> 2))
            f = {i: Fraction(1), one: -(point[n] ** power)}
            for (j, a), (k, b) in product(f.items(), repeat=2):
                total[j][k] += a * b
        return rank(total) == side

    every = inside(linear)
    return [at[1] for at in linear if every or inside([at])]


def _solved_by(p: Polynomial) -> set[str]:
    """The variable that the value of a polynomial fixes: of a x + b with a != 0."""
    result = [m for m, _ in p.pairs if m]
    return {result[0][0]} if len(result) == 1 and len(result[0]) == 1 else set()


def _pinned(claim: Mapping[str, Any], diagonal: Polynomial, point: Point) -> bool:
    """Whether a diagonal entry is a constant other than 0 all over the set, by one equality or as it is."""
    value = value_at(diagonal, point)
    same = assume("==", diagonal - polynomial({(): value})).hypotheses  # up to factors
    return value != 0 and (
        not same or any(assume("==", h).hypotheses == same for h in claim.get("equalities", []))
    )
