"""Claims about points: values, where a bound is attained, and that it is attained nowhere else."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from certificates.checker.reading import (
    MAX_BITS,
    Invalid,
    Meter,
    Number,
    Terms,
    Unreadable,
    affordable,
    common_denominator,
    times_power,
)
from certificates.checker.semidefinite import definite, rank_of
from certificates.checker.stated import Block, Stated


def value_at(terms: Terms, point: list[Number], meter: Meter) -> Fraction:
    """The value of a polynomial at a rational point."""
    total = Fraction(0)
    for monomial, (num, den) in terms.items():
        value = Fraction(num, den)
        for v, power in monomial:
            value = times_power(value, point[v], power, meter)
        total += value
        meter.spend(10 + (total.denominator.bit_length() >> 4))
        if total.denominator.bit_length() > MAX_BITS:
            raise Unreadable("a value has an absurdly long denominator")
    return total


def integers(matrix: list[list[Fraction]], meter: Meter) -> list[list[int]]:
    """A rational matrix times a common denominator."""
    common = common_denominator({v.denominator for row in matrix for v in row}, meter)
    meter.spend(len(matrix) ** 2 * (1 + (common.bit_length() >> 4)))
    return [[v.numerator * (common // v.denominator) for v in row] for row in matrix]


def attained(claim: Stated, meter: Meter) -> None:
    """Raise Invalid unless the point satisfies every constraint and attains the bound."""
    point = claim.attained_at
    assert point is not None
    for k, p in enumerate(claim.equalities):
        if value_at(p, point, meter) != 0:
            raise Invalid(f"the point does not satisfy equality {k}")
    for k, p in enumerate(claim.inequalities):
        if value_at(p, point, meter) < 0:
            raise Invalid(f"the point does not satisfy inequality {k}")
    for k, matrix in enumerate(claim.psd):
        values = [[value_at(p, point, meter) for p in row] for row in matrix]
        if rank_of(integers(values, meter), meter) is None:
            raise Invalid(f"matrix {k} is not positive semidefinite at the point")
    value = value_at(claim.objective, point, meter)
    for weight, p in claim.squares:
        value += Fraction(*weight) * value_at(p, point, meter) ** 2
    if value != Fraction(*claim.bound):
        raise Invalid("the objective at the point is not the bound")


def determined(claim: Stated, blocks: list[Block], names: list[str], meter: Meter) -> None:
    """Raise Invalid unless the multipliers show that the bound is attained at the claimed point only.

    Where the bound is attained every summand vanishes: Q b(z) = 0 for a plain Gram matrix, S G(z) = 0 for a
    matrix constraint, p(z) = u / (2 w) for a square.  A variable x with x - c in the row space of Q (1 and x
    in b) is then c, and a kernel of dimension one fixes G(z), hence its entries.
    """
    point = claim.attained_at
    assert point is not None
    known: set[int] = {v for _, p in claim.squares for v in _solved_by(p)}
    for block in blocks:
        if block.kind == "sos" and () in block.basis:
            known.update(_fixed_by_kernel(block, point, meter))
        elif block.kind == "psd" and not any(block.basis):
            matrix = claim.psd[block.index[0]]
            if sorted(block.entry) != list(range(len(matrix))):
                continue
            row = next((i for i in range(len(matrix)) if _pinned(claim, matrix[i][i], point, meter)), None)
            if row is not None and definite(_without(block.gram, block.entry.index(row)), meter):
                known.update(v for entries in matrix for p in entries for v in _solved_by(p))
    missing = [name for v, name in enumerate(names) if v not in known]
    if missing:
        raise Invalid(f"the multipliers do not show that {ascii(missing[0])} has only one optimal value")


def _fixed_by_kernel(block: Block, point: list[Number], meter: Meter) -> list[int]:
    """Variables that Q b(z) = 0 fixes: those with x - c in the row space of Q."""
    one = block.basis.index(())
    linear = [(i, m[0]) for i, m in enumerate(block.basis) if len(m) == 1 and m[0][1] % 2]
    if definite(_without(block.gram, one), meter):
        return [v for _, (v, _) in linear]
    rank = rank_of(block.gram, meter)

    def inside(chosen: list[tuple[int, tuple[int, int]]]) -> bool:
        """Whether functionals f are in the row space: Q plus all f f^T then has the rank of Q."""
        total = [[*row] for row in block.gram]
        for i, (v, power) in chosen:
            affordable(point[v], power, meter)
            f = {i: point[v][1] ** power, one: -(point[v][0] ** power)}
            for (j, a), (k, b) in product(f.items(), repeat=2):
                total[j][k] += a * b
        return rank_of(total, meter) == rank

    every = inside(linear)
    return [at[1][0] for at in linear if every or inside([at])]


def _solved_by(polynomial: Terms) -> set[int]:
    """The variable that the value of a polynomial fixes: of a x + b with a != 0."""
    found = [m for m in polynomial if m]
    return {found[0][0][0]} if len(found) == 1 and len(found[0]) == 1 and found[0][0][1] == 1 else set()


def _without(matrix: list[list[int]], row: int) -> list[list[int]]:
    return [[v for j, v in enumerate(r) if j != row] for i, r in enumerate(matrix) if i != row]


def _pinned(claim: Stated, diagonal: Terms, point: list[Number], meter: Meter) -> bool:
    """Whether a diagonal entry has the same nonzero value all over the set, by being constant or by one
    equality."""
    value = value_at(diagonal, point, meter)
    if value == 0:
        return False
    rest = {m: Fraction(*c) for m, c in diagonal.items()}
    rest[()] = rest.get((), Fraction(0)) - value
    rest = {m: c for m, c in rest.items() if c}
    meter.spend(10 * (len(rest) + sum(len(h) for h in claim.equalities)))
    if not rest:
        return True
    for equality in claim.equalities:
        if equality.keys() == rest.keys():
            ratios = {c / Fraction(*equality[m]) for m, c in rest.items()}
            if len(ratios) == 1:
                return True
    return False
