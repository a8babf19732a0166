"""Minima of polynomials in complex variables: Hermitian or real relaxations, certified alike."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Unpack

import numpy as np

from ..algebra.build import polynomial
from ..algebra.complex import (
    ComplexPolynomial,
    complex_variable,
    conjugate_id,
    in_real_variables,
    real_parts,
)
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_ids, variable_name
from ..algebra.words import ONE, Word
from ..model.options import Options, SolveOptions, read_options
from ..model.system import System
from ..progress import shown
from .answers import Question, answered
from .atoms import RANK, checked, factored, joint_eigenvalues, size_of_bound, spans, value_at
from .hermitian import modulus_bounds, stated_in_words, words_of
from .ladder import run
from .operators.bases import level_words
from .operators.demand import WordDemand
from .operators.statement import OperatorStatement, by_kind
from .operators.symmetry import with_symmetry
from .pseudoexpectation import PseudoExpectation
from .relaxation import Relaxation

BASES = ("auto", "holomorphic", "real")
_SMALL_SIDE = 60  # of a block in the parts up to which it is tried too


@dataclass(frozen=True, eq=False)
class ComplexExpectation(PickledByName):
    """The answer to a complex program: ``status``, ``bound``, ``certified_bound`` and ``reason`` as those of
    a ``PseudoExpectation`` (``real``, in the variables that were solved for), and the moments of z.
    """

    _of_ids: ClassVar = ("parts",)

    real: PseudoExpectation
    basis: str
    names: tuple[str, ...]
    parts: dict[int, tuple[Polynomial, Polynomial]] = field(repr=False)
    layout: Any = field(default=None, repr=False)

    @property
    def ids(self) -> list[int]:
        """Ids of the complex variables, in the order of their names in ``names``."""
        return variable_ids(list(self.names)).tolist()

    def __repr__(self) -> str:
        return (
            f"ComplexExpectation({self.status}, {self.basis}, {self.real._solved()}: {self.real._summary()})"
        )

    @property
    def status(self) -> str:
        """``optimal``, ``infeasible``, ``unbounded``, ``inaccurate`` or ``failed``."""
        return self.real.status

    @property
    def bound(self) -> float:
        """The solver's value."""
        return self.real.bound

    @property
    def certified_bound(self) -> float | None:
        """A proven bound for the complex program, or None."""
        return self.real.certified_bound

    @property
    def reason(self) -> str:
        """What there is to say about the status or a missing certified bound."""
        return self.real.reason

    @property
    def sizes(self) -> dict[str, Any]:
        """Number of moments and sides of the (real) blocks that were solved."""
        return self.real.sizes

    @property
    def variables(self) -> tuple[ComplexPolynomial, ...]:
        """The complex variables, in the order of the columns of ``atoms``."""
        return tuple(map(complex_variable, self.ids))

    def in_reals(self) -> PseudoExpectation:
        """The answer to the same problem in the real and imaginary parts of its variables: ``real`` itself
        with ``basis="real"``, otherwise solved now, of the same degree (never weaker, larger matrices)."""
        statement = self.real
        if self.basis == "real" or not isinstance(statement.objective, Polynomial):
            return statement
        return _in_parts(statement.objective, statement.system, statement.degree, statement.sense, {})

    def atoms(self) -> np.ndarray:
        """Minimisers read off the moments, complex, shape (count, variables) in the order of ``variables``.

        Empty where the moment matrix is not flat (as with every problem that no common phase of all
        variables changes) or what was read off does not check; ``atoms_reason`` says why. With
        ``"holomorphic"`` the joint eigenvalues are those of a Hermitian moment matrix; every atom is checked
        against the constraints and the bound. Source: Henrion and Lasserre 2005; Josz and Molzahn 2018.
        """
        return self._atoms[0]

    @property
    def atoms_reason(self) -> str:
        """Why ``atoms`` is empty ('' when it is not)."""
        return self._atoms[1]

    @cached_property
    def _atoms(self) -> tuple[np.ndarray, str]:
        none = np.zeros((0, len(self.ids)), dtype=complex)
        if self.basis == "real":
            points, reason = self.real.atoms(), self.real.atoms_reason
        else:
            candidates, reason = self._candidates()
            if candidates is None:
                return none, reason
            result = checked(self.real, self._split(candidates))
            points, reason = result.points, result.reason
        return (self._joined(points), "") if len(points) else (none, reason)

    def _candidates(self) -> tuple[np.ndarray | None, str]:
        """Points (count, variables) that a flat Hermitian moment matrix determines, or the first moments."""
        if self.real.moments is None:
            return None, f"the status is {self.status!r}"
        rows = self._words(self._order)
        matrix = self.moment_matrix().conj()
        if np.isnan(matrix).any():
            return None, "the relaxation is sparse: it has no whole moment matrix"
        factor = factored(matrix, RANK)
        place = {row: k for k, row in enumerate(rows)}
        inner = [row for row in rows if len(row) < self._order]
        base = factor[: len(inner)]
        if spans(base, RANK):
            letters = range(0, 2 * len(self.ids), 2)
            targets = [factor[[place[tuple(sorted([*row, i]))] for row in inner]] for i in letters]
            points = joint_eigenvalues(targets, base)
            return points[np.lexsort(np.hstack([points.imag, points.real]).T[::-1].round(6))], ""
        mean = np.array([[self(v) for v in self.variables]])
        value = value_at(self.real, self._split(mean)[0])
        if value is not None and abs(value - self.bound) <= 1e-4 * size_of_bound(self.real):
            return mean, ""
        flat = f"the moment matrix is not flat (numerical rank {factor.shape[1]})"
        return None, f"{flat}; try a higher degree, or basis='real'"

    @property
    def _order(self) -> int:
        return self.real.degree // 2

    @property
    def _places(self) -> list[int]:
        """Of every variable of ``real`` its place among the parts of all complex ones."""
        parts = [int(p.variable_ids[0]) for i in self.ids for p in self.parts[i]]
        return [parts.index(v) for v in self.real.variable_ids.tolist()]

    def _split(self, points: np.ndarray) -> np.ndarray:
        """Complex points in the real variables of ``real``."""
        both = np.stack([points.real, points.imag], axis=2).reshape(len(points), -1)
        return both[:, self._places]

    def _joined(self, points: np.ndarray) -> np.ndarray:
        """Real points as complex ones; 0 for a part that the problem never uses."""
        both = np.zeros((len(points), 2 * len(self.ids)))
        both[:, self._places] = points
        return both[:, ::2] + 1j * both[:, 1::2]

    def __call__(self, p: Any) -> complex:
        """The pseudo-expectation of a polynomial in z and its conjugate; ValueError where a moment is not
        part of the relaxation."""
        q = ComplexPolynomial._of(p)
        if q is None:
            raise TypeError(f"expected a polynomial in complex variables, not {type(p).__name__}")
        if self.basis == "real":
            turned = q * -1j
            return complex(
                self.real(in_real_variables(q, self.parts)), self.real(in_real_variables(turned, self.parts))
            )
        try:
            value = self.layout.value(words_of(q, self.ids), self.real._lookup[1])
        except KeyError:
            value = complex(math.nan)
        if math.isnan(value.real):
            raise ValueError("this moment is not part of the relaxation; raise the degree")
        return value

    def _words(self, degree: int) -> list[Word]:
        return level_words(self.layout.tables.words, degree, range(0, 2 * len(self.ids), 2))

    def moment_matrix(self, degree: int | None = None) -> np.ndarray:
        """The Hermitian matrix E[z^b conj(z)^a] of the monomials of at most this degree (by default half that
        of the relaxation), in the order of ``monomials``; NaN where a sparse relaxation does not know it."""
        top = self._order if degree is None else degree
        if self.basis != "real":
            return self.layout.matrix(self._words(top), self.real._lookup[1])
        letters = [2 * i for i in sorted(self.ids)]
        words = [w for n in range(top + 1) for w in combinations_with_replacement(letters, n)]
        basis = [ComplexPolynomial({w: ONE}) for w in words]
        return np.array([[self(b * a.conj()) for b in basis] for a in basis])


@shown("relaxation")
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
def minimize_complex(
    objective: Any,
    constraints: Any = (),
    degree: int | None = None,
    *,
    sense: str = "minimize",
    basis: str = "auto",
    sparsity: str | None = None,
    symmetry: Any = None,
    **solver_options: Unpack[SolveOptions],
) -> ComplexExpectation:
    """Lower bound on the minimum (``sense="maximize"``: upper, on the maximum) of a real-valued polynomial in
    complex variables and their conjugates.

    Parameters
    ----------
    objective
        A ``ComplexPolynomial`` (``complex_variables``) that equals its conjugate, or a number.
    constraints
        ``p >= 0`` for such p, ``p == q`` for any, in nested lists.
    degree
        Twice the order: powers of z, and of conj(z), in a product go up to half of it. By default the least.
    basis
        ``holomorphic``: squares |q(z)|**2 of polynomials in z alone, the complex hierarchy, small matrices;
        ``real``: all squares, that is the real relaxation in the parts of z, larger and never weaker;
        ``auto``: the first, and the better of the two where it is inaccurate, no minimiser is read off, or
        the first has no bound, and the second is small.
    sparsity
        ``correlative`` (cliques of variables that meet), ``term`` (blocks of squares), ``correlative+term``:
        smaller, perhaps weaker; None (``dense``, ``auto``): the full relaxation.
    symmetry
        A list of permutations ``{z: w, w: z}`` of variables, checked exactly: moments of an orbit are one.

    Raises ValueError for an objective that is not real or a degree too small. Source: Josz and Molzahn 2018;
    Wang and Magron, TSSOS for complex polynomials (2021).
    """
    began = time.perf_counter()
    sparsity = None if sparsity in ("auto", "dense") else sparsity
    more = ("degree", "basis", "sparsity", "symmetry")
    options = read_options("minimize", {**solver_options}, ["solve"], more=more)
    if basis not in BASES:
        raise ValueError(f"basis={basis!r} is not known; choose one of {', '.join(map(repr, BASES))}")
    sign = 1 if sense == "minimize" else -1
    statement, whole, system, parts = _read(objective, constraints, sign)
    ids, names, order = [*parts], tuple(map(variable_name, parts)), _order(statement, degree)
    statement = with_symmetry(statement, symmetry)
    given = ("sparsity", sparsity), ("symmetries", _symmetries(statement, parts))
    building = {name: value for name, value in given if value}
    if basis == "real" or not ids:  # of numbers alone both are the same
        best = _in_parts(whole, system, 2 * order, sense, building, **solver_options)
        return ComplexExpectation(best, "real", names, parts)
    if options.solver == "sos_cone":
        raise ValueError("solver='sos_cone' is for real variables: use basis='real', or another solver")
    demand = WordDemand(
        (whole * sign, polynomial(-1)), system, 2 * order, Options(), price=Fraction(1), statement=statement,
        level=order, sparsity=sparsity, ids=tuple(i for v in ids for i in (v, conjugate_id(v))),
    )  # fmt: skip
    best = _with_parts(_holomorphic(demand, sense, options, began), parts)
    answer = ComplexExpectation(best, "holomorphic", names, parts, demand.both[1])
    doubtful = best.status in ("failed", "inaccurate")
    small = math.comb(2 * len(ids) + order, order) <= _SMALL_SIDE
    # of order 1 both have the same value (a Hermitian covariance is that of parts without correlation), but
    # the parts are moved to their centre; of others they may prove more, or have a bound where z has none
    unattained = best.status == "optimal" and not building and small and order > 1 and not len(answer.atoms())
    other = doubtful or unattained or (order > 1 and best.status == "unbounded")
    lost = doubtful and best.certified_bound is None
    left = (options.time_limit or math.inf) - (time.perf_counter() - began)
    if left <= 0 or not (lost or (basis == "auto" and small and other)):
        return answer
    # Hermitian squares are squares of the parts: where no bound has a certificate of these, none has of
    # those, and a ray shows it here (moments of z grow with the square of their size, along no ray)
    if options.time_limit is not None:
        solver_options["time_limit"] = left
    wider = _in_parts(whole, system, 2 * order, sense, building, **solver_options)
    if basis == "auto" and _is_better(wider, best, sign):
        return ComplexExpectation(wider, "real", names, parts)
    if best.certified_bound is None and wider.status in ("unbounded", "infeasible"):
        best = replace(best, status=wider.status, bound=wider.bound, reason=wider.reason)
        return replace(answer, real=best)
    return answer


def _read(
    objective: Any, constraints: Any, sign: int
) -> tuple[OperatorStatement, Polynomial, System, dict[int, tuple[Polynomial, Polynomial]]]:
    """The statement in words; and objective and constraints in the parts of its variables, which are given by
    ids. ValueError for what is not real, or mixed."""
    target = ComplexPolynomial._of(objective)
    if target is None:
        raise TypeError(f"expected a polynomial in complex variables, not {type(objective).__name__}")
    if not target.is_real:
        raise ValueError(f"the objective {target!r} is not real everywhere: it must equal its conjugate")
    kinds = by_kind(constraints, ComplexPolynomial)
    inequalities, equalities = kinds["inequality"], [h for h in kinds["equality"] if h]
    ids = sorted({i for p in (target, *inequalities, *equalities) for i in p.variable_ids})
    parts = real_parts(ids)
    halves = [q for h in equalities for q in ([h] if h.is_real else [h.real, h.imag]) if q]
    system = System.from_parts(
        [in_real_variables(q, parts) for q in halves], [in_real_variables(g, parts) for g in inequalities]
    )
    bounds = modulus_bounds(ids, parts, system)
    statement = stated_in_words(target * sign, inequalities, equalities, ids, bounds, sign)
    return statement, in_real_variables(target, parts), system, parts


def _order(statement: OperatorStatement, degree: int | None) -> int:
    """Half the degree, by default the least; ValueError for less."""
    least = max(1, *(max(statement.lengths(p)) for p in (statement.target, *statement.operators)))
    if degree is not None and degree // 2 < least:
        raise ValueError(f"degree {degree} is too small for powers up to {least}; use degree={2 * least}")
    return least if degree is None else degree // 2


def _symmetries(
    statement: OperatorStatement, parts: dict[int, tuple[Polynomial, Polynomial]]
) -> list[dict[Polynomial, Polynomial]]:
    """The permutations of the parts of variables that are those of variables."""
    ids = [*parts]
    turns = [[ids[j // 2] for j in g.image[::2].tolist()] for g in statement.group]
    return [{a: b for i, j in zip(ids, turn) for a, b in zip(parts[i], parts[j])} for turn in turns]


def _holomorphic(demand: WordDemand, sense: str, options: Options, began: float) -> PseudoExpectation:
    """The bound of Hermitian squares, as that of a relaxation in the parts of the variables."""
    state = demand.first_state(options, began)
    objective = demand.parts[0] * demand.statement.sign
    best = answered(state, run(state), Question(sense, objective, demand.system, demand.degree))
    hierarchy = "full" if demand.sparsity is None else f"sparse ({demand.both[1].cut})"
    return replace(best, sizes={**demand.sizes, "degree": demand.degree, "hierarchy": hierarchy})


def _is_better(wider: PseudoExpectation, best: PseudoExpectation, sign: int) -> bool:
    """Whether squares of the parts prove more, beyond rounding, or settle what the others do not."""
    settles = wider.status == "optimal" and best.status in ("failed", "inaccurate")
    if wider.status == "infeasible" or wider.certified_bound is None:
        return wider.status == "infeasible" or (settles and best.certified_bound is None)
    if best.certified_bound is None or settles:
        return True
    gain = sign * (wider.certified_bound - best.certified_bound)
    return gain > 1e-6 * max(abs(wider.certified_bound), abs(best.certified_bound))


def _in_parts(
    objective: Polynomial,
    system: System,
    degree: int,
    sense: str,
    building: dict[str, Any],
    **solver_options: Unpack[SolveOptions],
) -> PseudoExpectation:
    """The bound in the real and imaginary parts of the variables."""
    top = max(objective.degree, system.degree, degree)
    relaxation = Relaxation(system, top + top % 2, **building)
    ask = relaxation.maximize if sense == "maximize" else relaxation.minimize
    return ask(objective, **solver_options)


def _with_parts(
    answer: PseudoExpectation, parts: dict[int, tuple[Polynomial, Polynomial]]
) -> PseudoExpectation:
    """The answer, whose scaling also knows that the parts of a variable are scaled as it is."""
    scaling = answer.scaling
    pairs = [(int(p.variable_ids[0]), i) for i, both in parts.items() for p in both]
    exponent = np.zeros(max([scaling.exponent.size - 1, *(v for v, _ in pairs)]) + 1)
    exponent[: scaling.exponent.size] = scaling.exponent
    for v, i in pairs:
        exponent[v] = scaling.exponent[i] if i < scaling.exponent.size else 0.0
    return replace(answer, scaling=replace(scaling, exponent=exponent))
