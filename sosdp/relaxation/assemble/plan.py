"""Which Gram matrices a relaxation has: bases, constraint multipliers, cliques, symmetry classes.

Everything here is decided before a matrix is built; the result is a list of ``Block`` and ``EqualityRows``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...algebra import monomials as mono
from ...algebra.constraint import Equality, Inequality
from ...algebra.polynomial import Polynomial
from ...algebra.terms import distinct_ids
from ...model.expectation import ExpectationConstraint
from ...model.options import Options
from ...model.system import System
from ...reduction.groebner import groebner_ideal
from ...reduction.newton import prune
from ...reduction.permutation import (
    Action,
    Data,
    check_symmetry,
    find_symmetries,
    read_generators,
)
from ...reduction.quotient import NO_QUOTIENT, Quotient, find_quotient
from ...reduction.symmetry import find_sign_symmetry
from .chosen_basis import check_represented, chosen_basis
from .cliques import cliques_of, symmetry_preferred
from .identity import ONE, Block, EqualityRows
from .multipliers import add_expectations, constraint_blocks, equality_rows, ideal_rows
from .sizes import check_sizes
from .splitting import split_by_signs
from .supports import constraint_support, data_support, symmetry_support, whole_support


@dataclass(frozen=True, eq=False)
class Plan:
    """Blocks and equality rows of one identity, and what the reductions did; ``terms``: the monomials of the
    data, where blocks are to be split by them."""

    blocks: list[Block]
    equalities: list[EqualityRows]
    quotient: Quotient
    ids: np.ndarray
    cliques: list[np.ndarray]
    report: dict = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    terms: np.ndarray | None = None
    faster: bool = False  # whether cliques that were not used would take much less time

    def about(self, system: System) -> Plan:
        """The plan of the same system with other numbers in its inequalities and matrices."""
        given = {"inequality": system.inequalities, "psd": system.matrices}
        blocks = [
            replace(b, multiplier=given[b.kind][b.index[0]]) if b.kind in given else b for b in self.blocks
        ]
        return replace(self, blocks=blocks, report=dict(self.report))


def plan(
    system: System,
    degree: int,
    data: list[Polynomial],
    options: Options,
    closed: bool = True,
    in_expectation: Sequence[ExpectationConstraint] = (),
    linear_in: Sequence[int] = (),
) -> Plan:
    """Plan the identity ``data[0] + sum u_k data[k] = ...`` on ``system`` at the given degree.

    ``closed``: the constant is part of the data (a bound is subtracted). ``linear_in``: variables y in which
    the data are quadratic forms and the system says nothing; multipliers are then sums of squares of elements
    linear in y, and nothing is lost. A product of a square and a constraint has at most the given degree:
    with an odd one, constraints of odd degree use all of it, squares alone one less. Raises ValueError for a
    degree that is not positive, or too small for the data or a constraint.
    """
    everything = Data(data, system, in_expectation)
    data = everything.polynomials
    _check_degree(system, degree, data)
    ids = _all_ids(system, data)
    quotient = find_quotient(system.equalities) if options.quotient else NO_QUOTIENT
    found_cliques = cliques_of(everything, degree, options, quotient, ids)
    cliques = found_cliques.used
    ideal = None
    if options.quotient == "groebner" and system.equalities and len(cliques) == 1:
        result = groebner_ideal(system.equalities)
        # the rows of the basis carry the proof that nothing is lost, so they must be there
        if not result.empty and not result.missing(system.equalities, degree):
            ideal, quotient = result, replace(quotient, standard=result.standard)
    actions = _permutations(everything, options, ids)
    if len(cliques) > 1 and actions and options.symmetry == "auto":
        # cliques break the symmetry: use the better of the two
        if options.sparsity == "auto" and symmetry_preferred(actions, ids, degree):
            cliques = [ids]
        else:
            actions = []
    check_sizes(system, degree, quotient, cliques)
    labels = np.array(linear_in, dtype=mono.MONOMIAL)
    plain = [_of_degree(quotient.basis(c, degree // 2), labels, 1) for c in cliques]
    if options.basis is not None:
        plain = [chosen_basis(options.basis, degree, ids, labels, quotient)]
    constraints = constraint_blocks(system, degree, options, quotient, cliques)
    if labels.size:
        constraints = _linear_in(labels, constraints)
    if ideal is None:
        equalities = equality_rows(system, degree, quotient, cliques)
    else:
        equalities = ideal_rows(system, degree, quotient, ideal, ids)
    if labels.size:
        equalities = [replace(e, multipliers=_of_degree(e.multipliers, labels, 2)) for e in equalities]
        equalities = [e for e in equalities if e.multipliers.shape[0]]
    report: dict = {"variables": int(ids.size), "cliques": len(cliques)}
    report["hierarchy"] = hierarchy(cliques, found_cliques.exact, options)
    report["dense_side"] = max((b.shape[0] for b in plain), default=0)
    support = data_support(data, closed, quotient)
    if options.basis is not None:
        # a coefficient with an unknown in it may be zero; that of the constant, less a bound, is always asked
        unknown = [] if closed else [q.monos for q in data[1:] if len(q.coefs)]
        produced = mono.concatenate([constraint_support(constraints, equalities, quotient), *unknown])
        check_represented(support, plain[0], produced, quotient)
    elif options.prune and ids.size:
        produced = constraint_support(constraints, equalities, quotient)
        anchors = mono.concatenate([support, produced]) if produced.shape[0] else support
        kept = prune(plain, anchors, quotient.normal_form)
        plain = [b[mask] for b, mask in zip(plain, kept, strict=True)]
    report["pruned_side"] = max((b.shape[0] for b in plain), default=0)
    blocks = [Block("sos", (), basis, ONE) for basis in plain if basis.shape[0]] + constraints
    blocks = [b for b in blocks if b.side]
    if options.symmetry != "none" and ids.size:
        signs = find_sign_symmetry(symmetry_support(system, support), ids)
        if not signs.trivial:
            blocks, equalities = split_by_signs(blocks, equalities, signs)
            report["sign_symmetries"] = int(ids.size - signs.rank)
    add_expectations(blocks, equalities, in_expectation)
    ids = distinct_ids(np.concatenate([ids, *(b.null.ids for b in blocks if b.null is not None)]))
    terms = whole_support(system, support) if options.sparsity.endswith(("term", "chordal")) else None
    return Plan(blocks, equalities, quotient, ids, cliques, report, actions, terms, found_cliques.faster)


def _linear_in(labels: np.ndarray, blocks: list[Block]) -> list[Block]:
    """The blocks with the elements of their bases that are linear in these variables."""
    kept = [np.isin(b.basis, labels).sum(axis=1) == 1 for b in blocks]
    return [b.part(k) for b, k in zip(blocks, kept, strict=True)]


def hierarchy(cliques: list[np.ndarray], exact: bool, options: Options) -> str:
    """What is solved, in words: the full relaxation of its degree, or something that may be weaker."""
    weaker = []
    if len(cliques) > 1 and not exact:
        weaker.append(f"{len(cliques)} cliques of {max(c.size for c in cliques)} variables at most")
    if options.sparsity.endswith("chordal"):
        weaker.append("chordal blocks of terms")
    if options.sparsity.endswith("term") and options.term_steps is not None:
        weaker.append(f"terms after {options.term_steps} steps")
    if weaker:
        return f"sparse ({', '.join(weaker)})"
    return "full" if len(cliques) == 1 else f"full ({len(cliques)} cliques, exact at degree 2)"


def has_faster_cliques(
    system: System,
    degree: int,
    data: list[Polynomial],
    options: Options,
    in_expectation: Sequence[ExpectationConstraint] = (),
) -> bool:
    """Whether a plan would be one block over all variables though cliques, perhaps weaker ones, would take
    much less time."""
    everything = Data(data, system, in_expectation)
    _check_degree(system, degree, everything.polynomials)
    if options.sparsity != "auto" or options.symmetry not in ("sign", "none") or degree <= 2:
        return False
    quotient = find_quotient(system.equalities) if options.quotient else NO_QUOTIENT
    return cliques_of(everything, degree, options, quotient, _all_ids(system, everything.polynomials)).faster


def _of_degree(rows: np.ndarray, labels: np.ndarray, degree: int) -> np.ndarray:
    """The monomials of this degree in the labels; all where there are none."""
    return rows[np.isin(rows, labels).sum(axis=1) == degree] if labels.size else rows


def _permutations(data: Data, options: Options, ids: np.ndarray) -> list[Action]:
    """Permutation symmetries: those given, checked, or those found."""
    if data.system.foralls or any(c.kind == "forall" for c in data.in_expectation):
        if options.symmetry == "permutation":
            raise ValueError(
                "permutation symmetry cannot be combined with for-all constraints: their free directions "
                "break it; leave out symmetries"
            )
        return []
    if options.symmetry == "permutation":
        return [check_symmetry(image, data) for image in read_generators(options.symmetries, ids)]
    broken = options.sparsity.endswith("chordal") or options.quotient == "groebner"
    if options.symmetry == "auto" and not broken:
        return find_symmetries(data, ids)
    return []


def _check_degree(system: System, degree: int, data: list[Polynomial]) -> None:
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)) or degree < 1:
        several = (
            " (constraints go into one list, or a System)"
            if isinstance(degree, Equality | Inequality)
            else ""
        )
        raise ValueError(f"degree must be an integer >= 1, not {degree!r}{several}")
    largest = max((p.degree for p in data), default=0)
    if largest > degree:
        raise ValueError(
            f"degree {degree} is below the degree {largest} of the objective; use degree={_even(largest)}"
        )
    if system.degree > degree:
        raise ValueError(
            f"degree {degree} is below the degree {system.degree} of a constraint; "
            f"use degree={_even(system.degree)}"
        )


def _even(degree: int) -> int:
    return max(2, degree + degree % 2)


def by_default(products: str, system: System, data: list[Polynomial]) -> tuple[int, str]:
    """The degree where none is given, the least one, and the products of constraints there: those of the ends
    of intervals where the data have that degree, since linear constraints alone may then allow no bound."""
    degree = _even(max([system.degree, *(p.degree for p in data)]))
    reached = any(p.degree == degree for p in data)
    return degree, "intervals" if products == "auto" and reached else products


def _all_ids(system: System, data: list[Polynomial]) -> np.ndarray:
    return distinct_ids(np.concatenate([system.variable_ids, *(p.monos.reshape(-1) for p in data)]))
