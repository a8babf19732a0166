"""What multiplies the constraints: Gram matrices of inequalities, free polynomials of equalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...model.expectation import ExpectationConstraint
from ...model.options import Options
from ...model.system import System
from ...reduction.groebner import Ideal
from ...reduction.quotient import NO_QUOTIENT, Quotient
from .cliques import CliqueIndex
from .forall import expand
from .identity import Block, EqualityRows, NullSpace

_LEAST = Fraction(1, 10**100)  # products of numbers beyond it, or beyond its inverse, are left out


def constraint_blocks(
    system: System, degree: int, options: Options, quotient: Quotient, cliques: list[np.ndarray]
) -> list[Block]:
    """A Gram matrix for every inequality (and product of these), matrix and for-all constraint."""
    blocks = []
    bases = _Bases(quotient, cliques)
    for index, g in enumerate(system.inequalities):
        blocks += [Block("inequality", (index,), b, g) for b in bases([g], (degree - g.degree) // 2)]
    if options.products == "schmudgen":
        blocks += _products(system, degree, bases)
    elif options.products == "intervals":
        for ends in intervals(system.inequalities):
            g = system.inequalities[ends[0]] * system.inequalities[ends[1]]
            blocks += [Block("product", ends, b, g) for b in bases([g], (degree - 2) // 2)]
    for index, matrix in enumerate(system.matrices):
        listed = matrix.reshape(-1).tolist()
        of_degree = (degree - max(p.degree for p in listed)) // 2
        blocks += [_of_matrix("psd", index, basis, matrix) for basis in bases(listed, of_degree)]
    for index, constraint in enumerate(system.foralls):
        clique = bases.cliques.holding(constraint.outer_ids)[0]
        basis = quotient.basis(clique, (degree - max(1, constraint.outer_degree)) // 2)
        entries, null = expand(constraint, f"s{index}")
        blocks.append(_of_matrix("forall", index, basis, entries, null))
    return blocks


class _Bases:
    """Bases of the multipliers of constraints: one in every clique that holds a constraint, or a number."""

    def __init__(self, quotient: Quotient, cliques: list[np.ndarray]) -> None:
        self.quotient, self.cliques = quotient, CliqueIndex(cliques)

    def __call__(self, polynomials: Sequence[Polynomial], degree: int) -> list[np.ndarray]:
        """Bases of at most this degree."""
        if degree <= 0:
            return [mono.constant(1)]
        ids = [p.variable_ids for p in polynomials]
        return [self.quotient.basis(c, degree) for c in self.cliques.holding(np.concatenate(ids))]


def _of_matrix(
    kind: str, index: int, basis: np.ndarray, entries: np.ndarray, null: NullSpace | None = None
) -> Block:
    """The block of a matrix constraint: every element of the basis once for every row of the matrix."""
    side = entries.shape[0]
    rows, entry = np.repeat(basis, side, axis=0), np.tile(np.arange(side), basis.shape[0])
    return Block(kind, (index,), rows, entries, entry, null)


def has_products(system: System, options: Options) -> bool:
    """Whether products of inequalities are constraints."""
    if options.products == "intervals":
        return bool(intervals(system.inequalities))
    return options.products == "schmudgen"


def intervals(inequalities: Sequence[Polynomial]) -> list[tuple[int, int]]:
    """The numbers of the closest bounds from below and from above of every variable that has both, of
    numbers that may be multiplied."""
    ends: dict[tuple[int, bool], tuple[Fraction, int]] = {}
    for index, g in enumerate(inequalities):
        sizes = [abs(Fraction(c)) for c in g.coefs.tolist()] if g.degree == 1 else []
        if sizes and len(g.variable_ids) == 1 and _LEAST < min(sizes) <= max(sizes) < 1 / _LEAST:
            slope = Fraction(g.coefs[-1])
            side = (int(g.variable_ids[0]), slope > 0)
            end = -Fraction(g.constant) / abs(slope), index
            ends[side] = max(end, ends.get(side, end))
    pairs = [(k, ends[v, False][1]) for (v, below), (_, k) in ends.items() if below and (v, False) in ends]
    return [(min(pair), max(pair)) for pair in pairs]


def _products(system: System, degree: int, bases: _Bases) -> list[Block]:
    """Products of two or more inequalities (each at most once) whose degree fits."""
    blocks = []
    frontier: list[tuple[tuple[int, ...], Polynomial]] = [
        ((k,), g) for k, g in enumerate(system.inequalities)
    ]
    while frontier:
        frontier = [
            ((*index, k), g * other)
            for index, g in frontier
            for k, other in enumerate(system.inequalities)
            if k > index[-1] and g.degree + other.degree <= degree
        ]
        for index, g in frontier:
            blocks += [Block("product", index, b, g) for b in bases([g], (degree - g.degree) // 2)]
    return blocks


def equality_rows(
    system: System, degree: int, quotient: Quotient, cliques: list[np.ndarray]
) -> list[EqualityRows]:
    """The multiples of every equality that no rewriting rule stands for."""
    rows = []
    reduced, whole = _Bases(quotient, cliques), _Bases(NO_QUOTIENT, cliques)
    for index, h in enumerate(system.equalities):
        if index in quotient.used and quotient.confluent:
            continue
        # a rule of a system that is not confluent is multiplied by every monomial: the overlaps are the point
        result = (whole if index in quotient.used else reduced)([h], degree - h.degree)
        multipliers = result[0] if len(result) == 1 else mono.unique(mono.concatenate(result))[0]
        rows.append(EqualityRows(index, h, multipliers))
    return rows


def ideal_rows(
    system: System, degree: int, quotient: Quotient, ideal: Ideal, ids: np.ndarray
) -> list[EqualityRows]:
    """One multiple of the Groebner basis for every monomial that is not standard."""
    monos = replace(quotient, standard=None).basis(ids, degree)
    monos = monos[~ideal.standard(monos)]
    rows = []
    multiples = ideal.multipliers(monos, ids)
    for index, multipliers in zip(ideal.number(system.equalities), multiples, strict=True):
        if index >= 0 and multipliers.shape[0]:
            rows.append(EqualityRows(index, system.equalities[index], multipliers))
    return rows


def add_expectations(
    blocks: list[Block], equalities: list[EqualityRows], constraints: Sequence[ExpectationConstraint]
) -> None:
    """Constraints in expectation: a multiplier that is a number (or a constant matrix), not a polynomial."""
    one = mono.constant(1)
    for k, constraint in enumerate(constraints):
        if constraint.kind == "equality":
            equalities.append(EqualityRows(-1 - k, constraint.body, one))
        elif constraint.kind == "inequality":
            blocks.append(Block("expectation", (k,), one, constraint.body))
        else:
            null = None
            body = constraint.body
            if constraint.kind == "forall":
                body, null = expand(constraint.body, f"e{k}")
            blocks.append(_of_matrix("expectation", k, one, body, null))
