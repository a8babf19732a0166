"""What multiplies the constraints: Gram matrices of inequalities, free polynomials of equalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...model.expectation import ExpectationConstraint
from ...model.options import Options
from ...model.system import System
from ...reduction.groebner import Ideal
from ...reduction.quotient import Quotient
from .cliques import CliqueIndex
from .forall import expand
from .identity import Block, EqualityRows, NullSpace


def constraint_blocks(
    system: System, degree: int, options: Options, quotient: Quotient, cliques: list[np.ndarray]
) -> list[Block]:
    """A Gram matrix for every inequality (and product of these), matrix and for-all constraint."""
    blocks = []
    clique_of = CliqueIndex(cliques)
    for index, g in enumerate(system.inequalities):
        clique = clique_of(g.variable_ids)
        blocks.append(Block("inequality", (index,), quotient.basis(clique, (degree - g.degree) // 2), g))
    if options.products == "schmudgen":
        blocks += _products(system, degree, quotient, cliques)
    for index, matrix in enumerate(system.matrices):
        entries = np.asarray(matrix, dtype=object)
        ids = np.unique(np.concatenate([np.asarray(p.variable_ids) for p in entries.reshape(-1)]))
        clique = clique_of(ids)
        top = max(p.degree for p in entries.reshape(-1))
        basis = quotient.basis(clique, (degree - top) // 2)
        blocks.append(_of_matrix("psd", index, basis, entries))
    for index, constraint in enumerate(system.foralls):
        clique = clique_of(constraint.outer_ids)
        basis = quotient.basis(clique, (degree - max(1, constraint.outer_degree)) // 2)
        entries, null = expand(constraint, f"s{index}")
        blocks.append(_of_matrix("forall", index, basis, entries, null))
    return blocks


def _of_matrix(
    kind: str, index: int, basis: np.ndarray, entries: np.ndarray, null: NullSpace | None = None
) -> Block:
    """The block of a matrix constraint: every element of the basis once for every row of the matrix."""
    side = entries.shape[0]
    rows, entry = np.repeat(basis, side, axis=0), np.tile(np.arange(side), basis.shape[0])
    return Block(kind, (index,), rows, entries, entry, null)


def _products(system: System, degree: int, quotient: Quotient, cliques: list[np.ndarray]) -> list[Block]:
    """Products of two or more inequalities (each at most once) whose degree fits."""
    blocks = []
    clique_of = CliqueIndex(cliques)
    frontier: list[tuple[tuple[int, ...], Polynomial]] = [
        ((k,), g) for k, g in enumerate(system.inequalities)
    ]
    while frontier:
        grown = []
        for index, g in frontier:
            for k in range(index[-1] + 1, len(system.inequalities)):
                other = system.inequalities[k]
                if g.degree + other.degree <= degree:
                    grown.append(((*index, k), g * other))
        for index, g in grown:
            clique = clique_of(g.variable_ids)
            basis = quotient.basis(clique, (degree - g.degree) // 2)
            blocks.append(Block("product", index, basis, g))
        frontier = grown
    return blocks


def equality_rows(
    system: System, degree: int, quotient: Quotient, cliques: list[np.ndarray]
) -> list[EqualityRows]:
    """The multiples of every equality that no rewriting rule stands for."""
    rows = []
    clique_of = CliqueIndex(cliques)
    for index, h in enumerate(system.equalities):
        if index in quotient.used and quotient.confluent:
            continue
        clique = clique_of(h.variable_ids)
        # a rule of a system that is not confluent is multiplied by every monomial: the overlaps are the point
        whole = index in quotient.used
        multipliers = (mono.basis if whole else quotient.basis)(clique, degree - h.degree)
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
