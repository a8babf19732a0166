"""Which Gram matrices a relaxation has: bases, constraint multipliers, cliques, symmetry classes.

Everything here is decided before a matrix is built; the result is a list of ``Block`` and ``EqualityRows``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np

from ...algebra import monomials as mono
from ...algebra.constraint import Equality, ForAll, Inequality
from ...algebra.polynomial import Polynomial
from ...conic.program import ProblemTooLarge
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
    orbit_numbers,
    read_generators,
)
from ...reduction.quotient import NO_QUOTIENT, Quotient, find_quotient
from ...reduction.sparsity import adjacency, variable_cliques
from ...reduction.symmetry import SignSymmetry, find_sign_symmetry, split
from ...reduction.term_sparsity import TermBlock, term_sparsity
from .chosen_basis import check_represented, chosen_basis
from .entries import product_error
from .forall import expand
from .identity import ONE, Block, EqualityRows

DENSE_SIDE = 60  # sparsity="auto" takes cliques whenever the dense block would be larger than this,
QUICK_SIDE = (
    36  # and small ones already above this: below it a dense block is a matter of a tenth of a second
)
_SMALL = 3  # how many times smaller the largest clique's block then has to be
LARGEST_SIDE = 5000  # of a Gram matrix before any reduction by its entries
LARGEST_ROWS = 2_000_000
SYMMETRIC_SIDE = 300  # symmetry="auto" gives up cliques for a dense block up to this side


@dataclass(frozen=True, eq=False)
class Plan:
    """Blocks and equality rows of one identity, and what the reductions did."""

    blocks: list[Block]
    equalities: list[EqualityRows]
    quotient: Quotient
    ids: np.ndarray
    cliques: list[np.ndarray]
    report: dict = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)


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
    data = data + [p for c in in_expectation for p in c.polynomials()]
    _check_degree(system, degree, data)
    ids = _all_ids(system, data)
    quotient = find_quotient(system.equalities) if options.quotient else NO_QUOTIENT
    cliques = _cliques(system, degree, data, options, quotient, ids) if options.basis is None else [ids]
    ideal = None
    if options.quotient == "groebner" and system.equalities and len(cliques) == 1:
        found = groebner_ideal(system.equalities)
        # the rows of the basis carry the proof that nothing is lost, so they must be there
        if not found.empty and not found.missing(system.equalities, degree):
            ideal, quotient = found, replace(quotient, standard=found.standard)
    fixed = data[: len(data) - sum(len(c.polynomials()) for c in in_expectation)]
    actions = _permutations(Data(fixed, system, in_expectation), options, ids)
    if len(cliques) > 1 and actions and options.symmetry == "auto":
        # cliques break the symmetry: use the better of the two
        if options.sparsity == "auto" and _rich(actions, ids, degree):
            cliques = [ids]
        else:
            actions = []
    _check_sizes(system, degree, quotient, cliques)
    labels = np.array(linear_in, dtype=mono.MONOMIAL)
    plain = [_of_degree(quotient.basis(c, degree // 2), labels, 1) for c in cliques]
    if options.basis is not None:
        plain = [chosen_basis(options.basis, degree, ids, labels, quotient)]
    constraints = _constraint_blocks(system, degree, options, quotient, cliques)
    if labels.size:
        kept = [np.isin(b.basis, labels).sum(axis=1) == 1 for b in constraints]
        constraints = [
            replace(b, basis=b.basis[k], entry=None if b.entry is None else b.entry[k])
            for b, k in zip(constraints, kept, strict=True)
        ]
    if ideal is None:
        equalities = _equality_rows(system, degree, quotient, cliques)
    else:
        equalities = _ideal_rows(system, degree, quotient, ideal, ids)
    if labels.size:
        equalities = [replace(e, multipliers=_of_degree(e.multipliers, labels, 2)) for e in equalities]
        equalities = [e for e in equalities if e.multipliers.shape[0]]
    report: dict = {"variables": int(ids.size), "cliques": len(cliques)}
    report["dense_side"] = max((b.shape[0] for b in plain), default=0)
    support = _data_support(data, closed, quotient)
    if options.basis is not None:
        # a coefficient with an unknown in it may be zero; that of the constant, less a bound, is always asked
        unknown = [] if closed else [q.monos for q in data[1:] if len(q.coefs)]
        produced = mono.concatenate([_constraint_support(constraints, equalities, quotient), *unknown])
        check_represented(support, plain[0], produced, quotient)
    elif options.prune and ids.size:
        produced = _constraint_support(constraints, equalities, quotient)
        anchors = mono.concatenate([support, produced]) if produced.shape[0] else support
        kept = prune(plain, anchors, quotient.normal_form)
        plain = [b[mask] for b, mask in zip(plain, kept, strict=True)]
    report["pruned_side"] = max((b.shape[0] for b in plain), default=0)
    blocks = [Block("sos", (), basis, ONE) for basis in plain if basis.shape[0]] + constraints
    blocks = [b for b in blocks if b.side]
    if options.symmetry != "none" and ids.size:
        signs = find_sign_symmetry(_symmetry_support(system, support), ids)
        if not signs.trivial:
            blocks, equalities = _split(blocks, equalities, signs)
            report["sign_symmetries"] = int(ids.size - signs.rank)
    if options.sparsity.endswith(("term", "chordal")) and blocks:
        blocks, equalities, report["term_steps"] = _split_by_terms(
            blocks, equalities, _whole_support(system, support), quotient, options
        )
    _add_expectations(blocks, equalities, in_expectation)
    free = [b.null.ids for b in blocks if b.null is not None]
    if free:
        ids = np.unique(np.concatenate([ids, *free])).astype(mono.MONOMIAL)
    return Plan(blocks, equalities, quotient, ids, cliques, report, actions)


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


def _rich(actions: list[Action], ids: np.ndarray, degree: int) -> bool:
    """Few orbits of variables and a dense block of moderate size: symmetry beats cliques, and is stronger."""
    orbits = np.unique(orbit_numbers([a.image for a in actions])[ids]).size
    return 3 * orbits <= ids.size and comb(int(ids.size) + degree // 2, degree // 2) <= SYMMETRIC_SIDE


def _add_expectations(
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
            side = body.shape[0]
            entry = np.arange(side)
            blocks.append(Block("expectation", (k,), np.repeat(one, side, axis=0), body, entry, null))


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


def _check_sizes(system: System, degree: int, quotient: Quotient, cliques: list[np.ndarray]) -> None:
    """Raise ProblemTooLarge, with the sizes, before anything is enumerated."""
    count = max(ids.size for ids in cliques)
    ids = next(c for c in cliques if c.size == count)
    squares = sum(1 for v in ids.tolist() if quotient.power.get(v, (3,))[0] == 2)
    side = monomial_count(count - squares, squares, degree // 2)
    moments = monomial_count(count - squares, squares, degree)
    if side > LARGEST_SIDE:
        raise ProblemTooLarge(
            f"the moment matrix of {count} variables at degree {degree} would have side {_round(side)} "
            f"({_round(moments)} moments), and at most {LARGEST_SIDE} can be built: take a lower degree, or "
            "sparsity='correlative' where the constraints split the variables"
        )
    rows = sum(
        monomial_count(count - squares, squares, degree - h.degree)
        for k, h in enumerate(system.equalities)
        if k not in quotient.used and h.degree <= degree
    )
    if rows > LARGEST_ROWS and len(cliques) == 1:
        raise ProblemTooLarge(
            f"the equalities have {_round(rows)} multiples of degree {degree}, at most {LARGEST_ROWS} can "
            "be built: take a lower degree"
        )


def monomial_count(free: int, squares: int, degree: int) -> int:
    """Number of monomials of at most this degree in ``free`` variables and ``squares`` more that occur at
    most once. Cost: at most ``squares`` binomial coefficients."""
    if squares == 0:
        return comb(free + degree, min(free, degree))
    return sum(
        comb(squares, k) * comb(free + degree - k, min(free, degree - k))
        for k in range(min(squares, degree) + 1)
    )


def _round(count: int) -> str:
    if count < 10**7:
        return str(count)
    return f"10^{len(str(count)) - 1}" if count.bit_length() < 10**4 else "more than 10^3000"


def _even(degree: int) -> int:
    return max(2, degree + degree % 2)


def least_degree(system: System, data: list[Polynomial]) -> int:
    """The smallest even degree at which the program can be stated."""
    return _even(max([system.degree, *(p.degree for p in data)]))


def _all_ids(system: System, data: list[Polynomial]) -> np.ndarray:
    ids = [np.asarray(system.variable_ids), *(np.asarray(p.variable_ids) for p in data)]
    return np.unique(np.concatenate(ids)).astype(mono.MONOMIAL)


def _cliques(system, degree, data, options, quotient, ids) -> list[np.ndarray]:
    dense = [ids]
    if options.sparsity in ("dense", "term", "chordal") or ids.size <= 1:
        return dense
    if options.sparsity == "auto" and options.symmetry == "permutation":
        return dense
    side = comb(int(ids.size) + degree // 2, degree // 2)
    if options.sparsity == "auto" and side <= (QUICK_SIDE if quotient.trivial else DENSE_SIDE):
        return dense
    groups = [np.asarray(h.variable_ids) for h in system.equalities]
    groups += [np.asarray(g.variable_ids) for g in system.inequalities]
    for matrix in system.matrices:
        used = [np.asarray(p.variable_ids) for p in np.asarray(matrix, dtype=object).reshape(-1)]
        groups.append(np.unique(np.concatenate(used)))
    groups += [c.outer_ids for c in system.foralls]
    if options.products == "schmudgen" and len(system.inequalities) > 1:
        groups.append(np.unique(np.concatenate([np.asarray(g.variable_ids) for g in system.inequalities])))
    graph = adjacency([p.monos for p in data], groups, ids)
    if graph.nnz == ids.size**2:
        return dense
    cliques = variable_cliques(graph, ids)
    largest = max(c.size for c in cliques)
    if options.sparsity == "auto" and side <= DENSE_SIDE:
        small = _SMALL * comb(largest + degree // 2, degree // 2) <= side
        return cliques if small else dense
    return cliques if largest < ids.size else dense


class _Homes:
    """The first clique that contains given variables, without a search through all cliques."""

    def __init__(self, cliques: list[np.ndarray]) -> None:
        self.cliques = cliques
        self.found: dict[int, set[int]] = {}
        for k, clique in enumerate(cliques):
            for variable in clique.tolist():
                self.found.setdefault(variable, set()).add(k)

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        lists = sorted((self.found.get(v, set()) for v in np.asarray(ids).tolist()), key=len)
        common = set.intersection(*lists) if lists else {0}
        if not common:
            raise AssertionError("the clique decomposition lost a constraint")
        return self.cliques[min(common)]


def _constraint_blocks(system, degree, options, quotient, cliques) -> list[Block]:
    blocks = []
    homes = _Homes(cliques)
    for index, g in enumerate(system.inequalities):
        home = homes(g.variable_ids)
        blocks.append(Block("inequality", (index,), quotient.basis(home, (degree - g.degree) // 2), g))
    if options.products == "schmudgen":
        blocks += _products(system, degree, quotient, cliques)
    for index, matrix in enumerate(system.matrices):
        entries = np.asarray(matrix, dtype=object)
        ids = np.unique(np.concatenate([np.asarray(p.variable_ids) for p in entries.reshape(-1)]))
        home = homes(ids)
        top = max(p.degree for p in entries.reshape(-1))
        basis = quotient.basis(home, (degree - top) // 2)
        side = entries.shape[0]
        blocks.append(
            Block(
                "psd",
                (index,),
                np.repeat(basis, side, axis=0),
                entries,
                np.tile(np.arange(side), basis.shape[0]),
            )
        )
    for index, constraint in enumerate(system.foralls):
        home = homes(constraint.outer_ids)
        basis = quotient.basis(home, (degree - max(1, constraint.outer_degree)) // 2)
        entries, null = expand(constraint, f"s{index}")
        side = entries.shape[0]
        rows = np.repeat(basis, side, axis=0)
        entry = np.tile(np.arange(side), basis.shape[0])
        blocks.append(Block("forall", (index,), rows, entries, entry, null))
    return blocks


def _products(system, degree, quotient, cliques) -> list[Block]:
    """Products of two or more inequalities (each at most once) whose degree fits."""
    blocks = []
    homes = _Homes(cliques)
    frontier: list[tuple[tuple[int, ...], Polynomial]] = [
        ((k,), g) for k, g in enumerate(system.inequalities)
    ]
    while frontier:
        grown = []
        for index, g in frontier:
            for k in range(index[-1] + 1, len(system.inequalities)):
                other = system.inequalities[k]
                if g.degree + other.degree <= degree:
                    # exact, so that a coefficient is rounded once, which the certified bound accounts for
                    grown.append(((*index, k), g.as_exact() * other.as_exact()))
        for index, g in grown:
            home = homes(g.variable_ids)
            basis = quotient.basis(home, (degree - g.degree) // 2)
            fits, error = product_error(g, [system.inequalities[k] for k in index])
            if fits:
                blocks.append(Block("product", index, basis, g, error=error))
        frontier = grown
    return blocks


def _ideal_rows(system, degree, quotient, ideal, ids) -> list[EqualityRows]:
    """One multiple of the Groebner basis for every monomial that is not standard."""
    monos = replace(quotient, standard=None).basis(ids, degree)
    monos = monos[~ideal.standard(monos)]
    rows = []
    multiples = ideal.multipliers(monos, ids)
    for index, multipliers in zip(ideal.number(system.equalities), multiples, strict=True):
        if index >= 0 and multipliers.shape[0]:
            rows.append(EqualityRows(index, system.equalities[index], multipliers))
    return rows


def _equality_rows(system, degree, quotient, cliques) -> list[EqualityRows]:
    rows = []
    homes = _Homes(cliques)
    for index, h in enumerate(system.equalities):
        if index in quotient.used and quotient.confluent:
            continue
        home = homes(h.variable_ids)
        # a rule of a system that is not confluent is multiplied by every monomial: the overlaps are the point
        whole = index in quotient.used
        multipliers = (mono.basis if whole else quotient.basis)(home, degree - h.degree)
        rows.append(EqualityRows(index, h, multipliers))
    return rows


def _data_support(data: list[Polynomial], closed: bool, quotient: Quotient) -> np.ndarray:
    parts = [p.monos for p in data if len(p.coefs)]
    if closed:
        parts.append(mono.constant(1))
    raw = mono.concatenate(parts) if parts else mono.constant(0)
    if quotient.trivial:
        return raw
    coefs, normal = quotient.normal_form(raw)
    return mono.unique(normal[coefs != 0])[0]


def _constraint_support(
    blocks: list[Block], equalities: list[EqualityRows], quotient: Quotient
) -> np.ndarray:
    parts = []
    for block in blocks:
        basis = mono.unique(block.basis)[0]
        i, j = np.triu_indices(basis.shape[0])
        products = mono.unique(mono.multiply(basis[i], basis[j]))[0]
        polys = [block.multiplier] if block.entry is None else list(np.asarray(block.multiplier).reshape(-1))
        terms = mono.unique(mono.concatenate([p.monos for p in polys]))[0]
        parts.append(mono.unique(mono.multiply_outer(products, terms))[0])
    for rows in equalities:
        parts.append(mono.unique(mono.multiply_outer(rows.multipliers, rows.polynomial.monos))[0])
    if not parts:
        return mono.constant(0)
    coefs, normal = quotient.normal_form(mono.concatenate(parts))
    return mono.unique(normal[coefs != 0])[0]


def _symmetry_support(system: System, support: np.ndarray) -> np.ndarray:
    """Monomials whose parities every symmetry must respect; equalities only need to keep their sign
    pattern."""
    parts = [support]
    parts += [g.monos for g in system.inequalities]
    for matrix in system.matrices:
        parts += [p.monos for p in np.asarray(matrix, dtype=object).reshape(-1)]
    parts += [_outer(c) for c in system.foralls]
    for h in system.equalities:
        # h may change sign as a whole: only the quotients of its monomials matter
        parts.append(mono.multiply(h.monos, np.broadcast_to(h.monos[:1], h.monos.shape)))
    return mono.concatenate(parts)


def _split(
    blocks: list[Block], equalities: list[EqualityRows], signs: SignSymmetry
) -> tuple[list[Block], list[EqualityRows]]:
    pieces = []
    for block in blocks:
        for members in split(signs.signature(block.basis)):
            entry = None if block.entry is None else block.entry[members]
            pieces.append(replace(block, basis=block.basis[members], entry=entry))
    rows = []
    for equality in equalities:
        lead = np.broadcast_to(
            equality.polynomial.monos[:1], (equality.multipliers.shape[0], equality.polynomial.monos.shape[1])
        )
        invariant = signs.signature(mono.multiply(equality.multipliers, lead)) == 0
        if invariant.any():
            rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[invariant]))
    return pieces, rows


def _whole_support(system: System, support: np.ndarray) -> np.ndarray:
    """Monomials of the objective and of every constraint: where term sparsity starts."""
    parts = [support, *(g.monos for g in system.inequalities), *(h.monos for h in system.equalities)]
    for matrix in system.matrices:
        parts += [p.monos for p in np.asarray(matrix, dtype=object).reshape(-1)]
    for k, constraint in enumerate(system.foralls):
        parts += [p.monos for p in expand(constraint, f"s{k}")[0].reshape(-1)]
    return mono.concatenate(parts)


def _outer(constraint: ForAll) -> np.ndarray:
    """The monomials of a for-all constraint without their quantified part."""
    monos = constraint.polynomial.monos
    outer = np.where(np.isin(monos, constraint.over_ids), 0, monos)
    outer.sort(axis=1)
    return outer


def _split_by_terms(
    blocks: list[Block],
    equalities: list[EqualityRows],
    support: np.ndarray,
    quotient: Quotient,
    options: Options,
) -> tuple[list[Block], list[EqualityRows], int]:
    completion = "chordal" if options.sparsity.endswith("chordal") else "components"
    found = term_sparsity(
        [TermBlock(b.kind == "sos", b.basis, _terms_of(b), b.entry) for b in blocks],
        [(e.multipliers, e.polynomial.monos) for e in equalities],
        support,
        quotient.normal_form,
        completion,
        options.term_steps,
    )
    pieces = []
    for block, groups in zip(blocks, found.members, strict=True):
        for members in groups:
            entry = None if block.entry is None else block.entry[members]
            pieces.append(replace(block, basis=block.basis[members], entry=entry))
    rows = [
        EqualityRows(e.index, e.polynomial, e.multipliers[kept])
        for e, kept in zip(equalities, found.kept_rows, strict=True)
        if kept.size
    ]
    return pieces, rows, found.steps


def _terms_of(block: Block) -> Callable[[int, int], np.ndarray]:
    if block.entry is None:
        return lambda a, b: block.multiplier.monos
    return lambda a, b: block.multiplier[a, b].monos
