"""What is asked: identities in common unknowns with a cost, in exact numbers, whatever door asks it.

A statement is

    maximise  constant + sum_k prices[k] u_k - sum_k curves[k] u_k**2    subject to, for every demand,
    parts[0] + sum_k u_k parts[k]  =  sums of squares on the demand's set,       u_k <= upper[k].

``minimize p on K`` has one demand (p, -1): the largest gamma with p - gamma a sum of squares on K.
``feasible`` has (0, -1): a positive gamma refutes the set, and is then as large as one likes. A
``SosProgram`` has one demand a constraint, a ``MeasureProgram`` one a measure and one unknown a constraint.
``prove_sos`` has (p): the unknown is the least eigenvalue of the Gram matrices in the solver's units, at
most one. Numbers are those that were written; a float is the binary number that it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..algebra.build import polynomial
from ..algebra.coefficients import to_float
from ..algebra.monomials import degrees
from ..algebra.polynomial import Polynomial
from ..model.expectation import ExpectationConstraint
from ..model.options import Options
from ..model.system import System
from ..reduction.bounds import VariableBounds, deduce_bounds
from ..reduction.quotient import find_quotient
from .assemble.assemble import assemble
from .assemble.diagonal_dominance import with_cone
from .assemble.forall import expand
from .assemble.forced_zeros import without_forced_zeros
from .assemble.identity import Identity, T
from .assemble.multipliers import has_products
from .assemble.plan import Plan, plan
from .assemble.splitting import split_by_terms
from .assemble.structure import Structure, monomials, recalled, remember, written
from .assemble.symmetry import with_symmetry

_SHORT = 1000  # denominators of values that rules leave
BOUND, FEASIBLE, PROGRAM, MEASURES, PROOF = "bound", "feasible", "program", "measures", "proof"


def _of_first(make: Callable[[Demand], T]) -> cached_property[T]:
    """A property that demands of one structure share."""
    return cached_property(
        lambda self: make(self) if self.first is self else getattr(self.first, make.__name__)
    )


@dataclass(frozen=True, eq=False)
class Demand:
    """One identity (see the module docstring).

    ``price``: what a shortfall of one costs, a bound on the mass of the measure that pairs with the
    identity (None: it is to be proven in full). ``closed``: the constant is part of what is asked.
    ``labels``: ids of the y of a matrix constraint y'My. ``in_expectation``: constraints that hold in
    expectation. ``equations``: every coefficient is to vanish, no squares. ``reduced``: elements of bases
    that the identity forces to zero are left out where it is not closed. ``known``: bounds that were
    deduced before a change, of its variables, and which of these it moved. ``like``: polynomials that the
    identity could have as well. ``valued``: whether the parts have values at points (not so of operators).
    """

    parts: tuple[Polynomial, ...]
    system: System
    degree: int
    options: Options
    price: Fraction | None = None
    closed: bool = True
    labels: tuple[int, ...] = ()
    in_expectation: tuple[ExpectationConstraint, ...] = ()
    equations: bool = False
    reduced: bool = True
    known: tuple[VariableBounds, frozenset[int]] | tuple[()] = ()
    like: tuple[Polynomial, ...] = ()
    valued: bool = True

    @cached_property
    def key(self) -> tuple[Hashable, Hashable] | None:
        """What the plan depends on, and the numbers that the structure depends on besides; None where that is
        more than can be compared."""
        o, system, degree = self.options, self.system, self.degree
        plain = self.closed and not (self.equations or self.labels or self.in_expectation or self.known)
        plain = plain and o.basis is None and o.symmetry in ("sign", "none") and o.quotient != "groebner"
        if not plain or system.foralls or type(degree) is not int:
            return None
        target, *others = self.parts
        exactly = tuple(tuple(written(p) for p in kind) for kind in (others, self.like, system.equalities))
        bodies = system.polynomials[len(system.equalities) :]  # entries of matrices come last
        numbers = tuple(tuple(p.coefs.tolist()) for p in bodies)
        shapes = [monomials(target), *map(monomials, bodies)]
        shapes += [len(bodies), *(m.shape for m in system.matrices)]
        chosen = o.products, o.sparsity, o.symmetry, o.prune, o.quotient, o.term_steps, o.cone
        fixed = numbers if has_products(system, o) else ()  # whose terms may cancel
        return (exactly, tuple(shapes), fixed, degree, self.reduced, chosen), numbers

    @cached_property
    def shared(self) -> Structure | None:
        """What is remembered of demands of this structure."""
        return None if self.key is None else recalled(self.key)

    def with_target(self, target: Polynomial) -> Demand:
        """The same about a polynomial of the same monomials: all is known of it but what depends on its
        coefficients."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__, parts=(target, *self.parts[1:]))
        result.__dict__.pop("assembled", None)
        return result

    @property
    def first(self) -> Demand:
        """The demand of this structure that is remembered, or this one."""
        return self if self.shared is None else self.shared.demand

    @cached_property
    def similar(self) -> Structure | None:
        """The last structure whose plan, but for the numbers of inequalities, is that of this demand."""
        return self.shared or (None if self.key is None else recalled(self.key[0]))

    @_of_first
    def bounds(self) -> VariableBounds:
        """A-priori bounds on the variables."""
        return deduce_bounds(self.system.equalities, self.system.inequalities, self.matrices, *self.known)

    @cached_property
    def matrices(self) -> tuple[np.ndarray, ...]:
        """Matrices that are semidefinite on the set: for-all constraints without free directions are some."""
        every = [expand(c, f"s{k}") for k, c in enumerate(self.system.foralls)]
        return *self.system.matrices, *(matrix for matrix, free in every if not free.ids.size)

    @_of_first
    def data_size(self) -> float:
        """The size of variables at which terms of different degrees of a constraint balance."""
        quantified = self.matrices[len(self.system.matrices) :]
        return data_size(self.system, *(p for m in quantified for p in m.reshape(-1).tolist()))

    @_of_first
    def has_origin(self) -> bool:
        """Whether 0 satisfies every constraint, exactly: where variables were moved, the middle of their
        box."""
        if self.system.matrices or self.system.foralls or self.in_expectation or not self.valued:
            return False
        return not any(h.constant for h in self.system.equalities) and all(
            g.constant >= 0 for g in self.system.inequalities
        )

    @cached_property
    def assembled(self) -> tuple[Identity, Plan | None]:
        """The identity as matrices, in the given units, and what the reductions did; no solver is called."""
        target, unknowns = self.parts[0], list(self.parts[1:])
        if self.equations:
            return assemble([], [], target, unknowns), None
        known = None if self.shared is None else self.shared.assembled(target)
        if known is not None:
            return known
        options = self.options
        layout = (
            self.similar.layout.about(self.system)
            if self.similar is not None
            else plan(
                self.system,
                self.degree,
                [*self.like, target, *(p for p in unknowns if not p.is_constant or not self.closed)],
                options,
                closed=self.closed,
                in_expectation=self.in_expectation,
                linear_in=self.labels,
            )
        )
        result = assemble(layout.blocks, layout.equalities, target, unknowns, layout.quotient, layout.ids)
        if layout.terms is not None:
            result, layout.report["term_steps"] = split_by_terms(result, layout.terms, options)
        if self.reduced and not self.closed and options.prune and options.basis is None:
            result = without_forced_zeros(result)
        result = with_symmetry(with_cone(result, options.cone), layout.actions)
        if self.key is not None:
            self.__dict__["shared"] = remember(self.key, Structure(self.first, result, layout))
        return result, layout

    @property
    def identity(self) -> Identity:
        """The identity as matrices."""
        return self.assembled[0]

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Variables that are not moved: those of rewriting rules (x**2 = x), and labels."""
        return frozenset({*self.roots, *self.labels})

    @_of_first
    def roots(self) -> dict[int, Fraction]:
        """Of each variable with a rewriting rule x**k = c x**l the size of its values that are not 0, where
        that is a short number: those are whole multiples of it."""
        rules = find_quotient(self.system.equalities).power if self.options.quotient else {}
        return {
            v: Fraction(abs(to_float(c)) ** (1 / (high - low))).limit_denominator(_SHORT)
            for v, (high, low, c) in rules.items()
        }

    @property
    def halves(self) -> Mapping[int, tuple[int, int, int]]:
        """Of every complex variable the ids of its conjugate, and of the real variables that are its
        parts."""
        return {}

    @property
    def constrained(self) -> bool:
        """Whether there is anything that a set may be empty by."""
        return len(self.system) > 0 or bool(self.in_expectation)

    @property
    def cure(self) -> str:
        """What to try where no bound has a certificate."""
        return "try a higher degree, or bound the set by a ball or by products such as (x - a)*(b - x) >= 0"

    def emptied(self) -> Demand:
        """The demand without an objective: what refutes its set."""
        return replace(self, parts=(self.parts[0] * 0, self.parts[1]))

    @property
    def has_free_directions(self) -> bool:
        """Whether a constraint that holds for all values is no matrix: no point is shown to satisfy it."""
        most = len(self.system.matrices) + len(self.system.foralls)
        return len(self.matrices) < most or any(c.kind == "forall" for c in self.in_expectation)

    @property
    def movable(self) -> bool:
        """Whether variables may be moved: given symmetries, for-alls with free directions, smaller cones,
        chosen bases, Groebner bases and term sparsity refer to the given ones."""
        o = self.options
        plain = o.symmetries is None and o.cone == "sos" and o.basis is None
        plain = plain and (o.quotient != "groebner" or not self.system.equalities)
        plain = plain and not o.sparsity.endswith(("term", "chordal"))
        return plain and not (self.equations or self.has_free_directions)


@dataclass(frozen=True, eq=False)
class Statement:
    """What is asked (see the module docstring). ``kind``: ``bound``, ``feasible``, ``program``,
    ``measures`` or ``proof``;
    ``sign``: -1 where the door states the negative of what it is asked; ``curves``: empty, or one an
    unknown."""

    kind: str
    demands: tuple[Demand, ...]
    prices: tuple[Fraction, ...]
    upper: tuple[float, ...]
    constant: Fraction = Fraction(0)
    sign: int = 1
    curves: tuple[Fraction, ...] = ()

    def with_target(self, target: Polynomial) -> Statement:
        """The same about another polynomial of the same monomials, of one demand (``Demand.with_target``)."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__, demands=(self.demands[0].with_target(target),))
        return result

    def value(self, unknowns: list[Fraction]) -> Fraction:
        """The objective at given unknowns, exactly."""
        total = self.constant
        for k, (u, price) in enumerate(zip(unknowns, self.prices, strict=True)):
            total += u * price
            if self.curves:
                total -= self.curves[k] * u * u
        return total

    @cached_property
    def mass(self) -> Fraction | None:
        """The mass of the one measure that pairs with a statement about a bound, by whatever door: the
        objective is
        at most ``constant + mass * parts[0](x)`` for every point x of the set. None for other statements."""
        none = self.kind in (FEASIBLE, PROOF)
        if none or len(self.demands) != 1 or self.curves or len(self.prices) != 1:
            return None
        demand, (price,) = self.demands[0], self.prices
        if not demand.valued:
            return None
        level = demand.parts[1]
        if demand.in_expectation or demand.labels or demand.equations or not level.is_constant:
            return None
        return price / -Fraction(level.constant) if price.numerator > 0 > level.constant else None

    @property
    def lowest(self) -> Statement | None:
        """Of a proof: the statement about the least value of its polynomial, without which it has none; None
        of others, and of cones that are smaller."""
        demand = self.demands[0]
        if self.kind != PROOF or not self.is_full:
            return None
        parts = (demand.parts[0], polynomial(-1))
        wanted = replace(demand, parts=parts, price=Fraction(1), closed=True, reduced=True)
        return Statement(BOUND, (wanted,), (Fraction(1),), (math.inf,))

    @property
    def single(self) -> bool:
        """Whether one identity is asked, and its bound is the unknown: by whatever door, one program."""
        return self.kind in (BOUND, FEASIBLE, PROOF) or self.mass is not None

    @property
    def is_full(self) -> bool:
        """Whether the one identity is in sums of squares of the full relaxation, and nothing weaker."""
        return self.demands[0].options.cone == "sos" and self.hierarchy.startswith("full")

    @property
    def hierarchy(self) -> str:
        """What is solved: ``full``, or the first of the demands that may be weaker."""
        layouts = [d.assembled[1] for d in self.demands]
        every = [str(layout.report["hierarchy"]) for layout in layouts if layout is not None]
        return next((words for words in every if words.startswith("sparse")), "full")

    @property
    def coefficients(self) -> tuple[list[Any], list[list[Any]]]:
        """All coefficients of the constant parts, and of each unknown, its cost among them."""
        target, *rows = (
            [c for d in self.demands for c in d.parts[k].coefs.tolist()] for k in range(1 + len(self.prices))
        )
        return target, [[*row, price] for row, price in zip(rows, self.prices, strict=True)]

    @property
    def decides(self) -> bool:
        """Whether it is asked if a set has a point, or if there are measures: every value is the best."""
        return self.kind == FEASIBLE or self.kind == MEASURES and not any(d.parts[0] for d in self.demands)

    @property
    def emptiness(self) -> Statement | None:
        """The statement that refutes the sets, or that there are measures; None where that is what is asked
        already, nothing is a set, or nothing is wanted of one: the zero measure on an empty set satisfies
        mass <= 1."""
        if self.kind == MEASURES and not (self.decides or self.single):
            bare = tuple(replace(d, parts=(d.parts[0] * 0, *d.parts[1:])) for d in self.demands)
            return replace(self, demands=bare, constant=Fraction(0))
        demand = self.demands[0]
        wanted = self.single and self.kind not in (FEASIBLE, PROOF) and math.isinf(min(self.upper))
        if not wanted or not demand.constrained:
            return None
        # variables of the objective alone may hide a proof, but coefficients are to follow from it
        result = demand.emptied()
        if self.kind == PROGRAM:
            result = replace(result, like=demand.parts[:1], reduced=False)
        return Statement(FEASIBLE, (result,), (Fraction(1),), (math.inf,), sign=self.sign)


def data_size(system: System, *more: Polynomial) -> float:
    """The size of variables at which terms of different degrees of a constraint, or of other polynomials,
    balance, the largest of all: those of a whole polynomial, and those in one variable alone, which may have
    a unit of its own."""
    best = 0.0
    for p in (*system.polynomials, *more):
        degree = degrees(p.monos)
        alone = np.where((p.monos == p.monos[:, -1:]) | (p.monos == 0), p.monos[:, -1:], -1).min(axis=1)
        sizes = np.array([abs(to_float(c)) for c in p.coefs.tolist()])
        best = max(best, _balance(sizes, degree))
        for v in np.unique(alone[alone > 0]).tolist():
            own = (alone == v) | (degree == 0)
            best = max(best, _balance(sizes[own], degree[own]))
    return best or 1.0


def _balance(sizes: np.ndarray, degrees: np.ndarray) -> float:
    """The largest size at which a term of lower degree is as large as the largest one of the highest."""
    top = degrees.max(initial=0)
    lead, lower = sizes[degrees == top].max(initial=0.0), degrees < top
    if not lead > 0:
        return 0.0
    return float(((sizes[lower] / lead) ** (1.0 / (top - degrees[lower]))).max(initial=0.0))


def tallest(p: Polynomial) -> Fraction:
    """The largest coefficient."""
    return Fraction(max((abs(c) for c in p.coefs.tolist()), default=0))
