"""Programs whose unknowns are coefficients of polynomials constrained to be sums of squares."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np

from ..algebra.array import PolynomialArray
from ..algebra.build import ids_of, monomials, own_variables, polynomial, quadratic_form, variables
from ..algebra.coefficients import to_float
from ..algebra.constraint import Equality, Inequality
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_name
from ..model.options import BuildOptions, Options, SolveOptions, read_options, spelled_out
from ..model.system import System, as_system
from ..progress import shown
from ..reduction.groebner import with_groebner
from ..reduction.permutation import read_generators
from .answers import bounds_of
from .assemble.diagonal_dominance import cone_report
from .assemble.plan import by_default
from .assemble.unknowns import merged, restricted, unknown_orbits, with_labels
from .back import given_dual
from .judge import Theorem, outwards
from .ladder import State, run
from .sos_solution import ACCURACY, SosSolution
from .statement import PROGRAM, Demand, Statement


class SosProgram(PickledByName):
    """Unknown coefficients, constraints "this polynomial is a sum of squares", a linear objective.

    >>> c, x, y = sd.variables("c x y")
    >>> program = sd.SosProgram([c]).require(x**4 + y**4 - c*x**2*y**2)
    >>> program.maximize(c).bound        # 2

    Raises ValueError when a constraint is not affine in the unknowns. Every constraint may have its own
    system, degree and cone. ``options`` are those of
    ``sosdp.model.options.Options`` for all constraints:
    ``products='schmudgen'`` for multipliers of products of inequalities, ``cone='sdsos'``, ...
    """

    _of_ids: ClassVar = ("ids",)

    @spelled_out("build", without=["redundant"])
    def __init__(self, unknowns: Any = (), **options: Unpack[BuildOptions]) -> None:
        flat = (
            list(np.asarray(unknowns, dtype=object).reshape(-1))
            if not isinstance(unknowns, Polynomial)
            else [unknowns]
        )
        if any(not isinstance(u, Polynomial) or len(u.coefs) != 1 or u.degree != 1 for u in flat):
            raise ValueError("unknowns must be variables, for example SosProgram(sd.variables('a b'))")
        self.ids = ids_of(flat)
        if np.unique(self.ids).size != self.ids.size:
            raise ValueError("an unknown is listed twice")
        self.options = read_options("SosProgram", {**options}, ["build"], without=["redundant"])
        self.constraints: list[tuple[Polynomial, System, int | None, str]] = []
        self.vanishing: list[Polynomial] = []
        self.bases: list[tuple[list[Polynomial], list[Polynomial]]] = []
        self.gram_bases: dict[int, Any] = {}  # of constraints with one of their own
        self.labels: dict[int, Any] = {}  # of matrix constraints on a set: the variables of y in y'My

    def __repr__(self) -> str:
        sets = sum(1 for _, system, _, _ in self.constraints if len(system))
        on = f", {sets} of them on a set" if sets else ""
        zero = f", {len(self.vanishing)} that vanish" if self.vanishing else ""
        return f"SosProgram({self.ids.size} unknowns, {len(self.constraints)} sums of squares{on}{zero})"

    def require(
        self,
        p: Polynomial | Inequality,
        on: Any = None,
        degree: int | None = None,
        cone: str | None = None,
        basis: Any = None,
    ) -> SosProgram:
        """Require ``p`` to be a sum of squares, globally or on a system; returns the program.

        ``p``: a polynomial, or an inequality ``p >= q``, which stands for ``p - q``. ``on``: a system, or its
        constraints. ``degree``: of the whole identity, so that a multiplier of g has at most this minus that
        of g; by default the least. ``cone``: ``sos``, ``sdsos`` or ``dsos``, by default that of the program.
        A ``p`` in the unknowns alone is a linear inequality ``p >= 0`` between coefficients. ``basis``:
        monomials of the Gram matrix of the plain square, in place of all of half the degree.
        """
        p = _difference(p)
        self._affine(p)
        where = as_system(on)
        if np.isin(where.variable_ids, self.ids).any():
            inside = [variable_name(int(v)) for v in where.variable_ids if v in self.ids]
            raise ValueError(
                f"{inside[0]} is an unknown coefficient of the program and cannot describe the set: the set "
                "of a constraint is in the other variables"
            )
        chosen = self.options.cone if cone is None else cone
        replace(self.options, cone=chosen, basis=basis)  # refuses what is not known
        if basis is not None:
            self.gram_bases[len(self.constraints)] = basis
        self.constraints.append((p, where, degree, chosen))
        return self

    def require_zero(self, p: Polynomial | Equality) -> SosProgram:
        """Require every coefficient of ``p`` to vanish; returns the program.

        ``p``: a polynomial, or an equality ``p == q``, which stands for ``p - q``.
        Equations between coefficients hold to the solver's accuracy only, so such a program has no
        ``certified_bound``; where you can, write the equation into the polynomials instead.
        """
        p = p.polynomial if isinstance(p, Equality) else _difference(p)
        self._affine(p)
        self.vanishing.append(p)
        return self

    def require_psd(
        self, matrix: Any, on: Any = None, degree: int | None = None, cone: str | None = None
    ) -> SosProgram:
        """Require a symmetric matrix of polynomials to be a sum of squares: ``y'My`` is one, in x and y
        together.

        A matrix in the unknowns alone is a linear matrix inequality. ValueError unless square and symmetric.
        """
        name = _labels(len(self.constraints))
        form = quadratic_form(matrix, name, as_system(on).variables)
        if on is not None:
            self.labels[len(self.constraints)] = own_variables(name, len(matrix))
        return self.require(form, on, None if degree is None else degree + 2, cone)

    def number_of(self, constraint: Any) -> int:
        """The number of a constraint as it was required; ValueError for none, or for one of several."""
        if isinstance(constraint, (int, np.integer)) and not isinstance(constraint, bool):
            return range(len(self.constraints))[int(constraint)]
        matrix = np.ndim(np.asarray(constraint, dtype=object)) == 2
        result = [
            k
            for k, (p, *_) in enumerate(self.constraints)
            if bool(p == (quadratic_form(constraint, _labels(k)) if matrix else _difference(constraint)))
        ]
        if len(result) != 1:
            known = (
                f"was required {len(result)} times; give the number of one" if result else "was not required"
            )
            raise ValueError(f"{constraint!r} {known}")
        return result[0]

    def polynomial(self, name: str, xs: Any, degree: int, even: bool = False, lowest: int = 0) -> Polynomial:
        """A polynomial in ``xs`` with new unknown coefficients ``name0``, ``name1``, ...; on request only of
        even degrees, or of degrees from ``lowest`` on (2: it vanishes at 0 with its gradient)."""
        every = monomials(xs, degree)
        chosen = np.array([b.degree >= lowest and (b.degree % 2 == 0 or not even) for b in every])
        basis = every[chosen]
        return self._declare(name, len(basis)) @ basis

    def sum_of_squares(
        self,
        name: str,
        xs: Any,
        degree: int,
        even: bool = False,
        on: Any = None,
        cone: str | None = None,
    ) -> Polynomial:
        """A polynomial with new unknown coefficients, required to be a sum of squares (on a system)."""
        unknown = self.polynomial(name, xs, degree, even)
        self.require(unknown, on, cone=cone)
        return unknown

    def sos_matrix(self, name: str, side: int, xs: Any, degree: int, cone: str | None = None) -> Any:
        """A symmetric matrix of polynomials with new unknown coefficients, required to be a sum of squares.

        Shape (side, side); the coefficients of entry (i, j), i <= j, are ``name_i_j_0``, ...
        """
        matrix = np.empty((side, side), dtype=object)
        for i in range(side):
            for j in range(i, side):
                matrix[i, j] = matrix[j, i] = self.polynomial(f"{name}_{i}_{j}_", xs, degree)
        self.require_psd(matrix, cone=cone)
        return matrix.view(PolynomialArray)

    def gram(self, name: str, basis: Any) -> Any:
        """A new symmetric positive semidefinite matrix of unknowns, shape (k, k): ``basis @ gram @ basis``
        is SoS."""
        side = len(basis)
        flat = self._declare(name, side * (side + 1) // 2)
        matrix = np.empty((side, side), dtype=object)
        row, column = np.triu_indices(side)
        matrix[row, column] = flat
        matrix[column, row] = flat
        labels = own_variables(_labels(len(self.constraints)), side)
        self.require_psd(matrix)
        # a permutation of the variables moves the rows of the matrix as it moves the basis
        self.bases.append((labels, [polynomial(b) for b in basis]))
        return matrix.view(type(flat))

    def _declare(self, name: str, count: int) -> Any:
        fresh = variables(name, count)
        ids = ids_of(fresh)
        if np.isin(ids, self.ids).any():
            raise ValueError(f"the program already has unknowns named {name}0, ...; choose another name")
        self.ids = np.concatenate([self.ids, ids])
        return fresh

    @spelled_out("solve", without=["certify_bound"])
    def minimize(self, objective: Polynomial | float, **solver_options: Unpack[SolveOptions]) -> SosSolution:
        """Minimise a linear function of the unknowns; a number (0, say) where any coefficients will do."""
        return self._solve(objective, "minimize", **solver_options)

    @spelled_out("solve", without=["certify_bound"])
    def maximize(self, objective: Polynomial | float, **solver_options: Unpack[SolveOptions]) -> SosSolution:
        """Maximise a linear function of the unknowns."""
        return self._solve(objective, "maximize", **solver_options)

    @spelled_out("solve", without=["certify_bound"])
    def feasible(self, **solver_options: Unpack[SolveOptions]) -> SosSolution:
        """Coefficients that satisfy every constraint (status ``optimal``), or ``infeasible``."""
        return self._solve(polynomial(0), "minimize", **solver_options)

    def _affine(self, p: Polynomial) -> list[Polynomial]:
        """[part without unknowns, coefficient polynomial of each unknown]."""
        matches = np.isin(p.monos, self.ids) & (p.monos > 0)
        count = matches.sum(axis=1)
        if (count > 1).any():
            raise ValueError("a constraint is not affine in the unknowns: a term has two of them")
        parts = [Polynomial.from_arrays(p.monos[count == 0], p.coefs[count == 0])]
        for unknown in self.ids:
            rows = (p.monos == unknown).any(axis=1)
            monos = p.monos[rows].copy()
            monos[monos == unknown] = 0
            monos.sort(axis=1)
            parts.append(Polynomial.from_arrays(monos, p.coefs[rows]))
        return parts

    def _statement(self, objective: Polynomial, sense: str) -> tuple[np.ndarray, Statement]:
        """The orbit of each unknown, and the program in one unknown an orbit."""
        if not self.constraints and not self.vanishing:
            raise ValueError("the program has no constraint; call require(p) first")
        cost = [Fraction(0)] * self.ids.size
        place = {int(v): k for k, v in enumerate(self.ids)}
        for row, c in zip(objective.monos, objective.coefs.tolist(), strict=True):
            if row.max(initial=0):
                cost[place[int(row.max())]] = Fraction(c)
        families = [self._affine(p) for p in [*self.vanishing, *(c[0] for c in self.constraints)]]
        images = self._permutations()
        orbits = np.arange(self.ids.size)
        if images:
            orbits = unknown_orbits(images, families, np.array([to_float(c) for c in cost]))
        families = [merged(f, orbits) for f in families]
        sign = -1 if sense == "minimize" else 1
        prices = [Fraction(0)] * (int(orbits.max(initial=-1)) + 1)
        for k, c in zip(orbits.tolist(), cost, strict=True):
            prices[k] += sign * c
        demands = [
            Demand(tuple(f), System(), 0, self.options, closed=False, equations=True)
            for f in families[: len(self.vanishing)]
        ]
        known = zip(families[len(self.vanishing) :], self.constraints, strict=True)
        for number, (parts, (_, system, degree, cone)) in enumerate(known):
            wanted, products = degree, self.options.products
            if wanted is None:
                wanted, products = by_default(products, system, parts)
            if self.options.quotient == "groebner":
                system = with_groebner(system, wanted)
            labels = tuple(int(v.variable_ids[0]) for v in self.labels.get(number, []))
            options = replace(self._options_for(system, parts, images), cone=cone, products=products)
            if number in self.gram_bases:
                options = replace(options, basis=self.gram_bases[number])
            demands.append(Demand(tuple(parts), system, wanted, options, closed=False, labels=labels))
        upper = (np.inf,) * len(prices)
        constant = sign * Fraction(objective.constant)
        statement = Statement(PROGRAM, tuple(demands), tuple(prices), upper, constant, sign)
        if statement.mass is not None:  # a bound, by this door: a shortfall lowers the one unknown
            statement = replace(statement, demands=(replace(demands[0], price=statement.mass),))
        return orbits, statement

    def _permutations(self) -> list[np.ndarray]:
        """The permutations of variables that were given, as tables of images."""
        if self.options.symmetries is None:
            return []
        used = [p.variable_ids for p in [*self.vanishing, *(c[0] for c in self.constraints)]]
        used += [system.variable_ids for _, system, _, _ in self.constraints]
        ids = np.setdiff1d(np.concatenate(used), self.ids)
        return [with_labels(image, self.bases) for image in read_generators(self.options.symmetries, ids)]

    def _options_for(self, system: System, parts: list[Polynomial], images: list[np.ndarray]) -> Options:
        """The options of one constraint: permutations of the variables that it has."""
        if not images:
            return self.options
        ids = np.unique(np.concatenate([system.variable_ids, *(p.variable_ids for p in parts)]))
        inner = restricted(images, ids)
        if inner:
            return replace(self.options, symmetries=inner)
        return replace(self.options, symmetry="sign", symmetries=None)

    @shown("relaxation")
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
    def _solve(
        self, objective: Polynomial | float, sense: str, **solver_options: Unpack[SolveOptions]
    ) -> SosSolution:
        options = read_options(
            f"SosProgram.{sense}", {**solver_options}, ["solve"], without=["certify_bound"]
        )
        objective = polynomial(objective)
        if objective.degree > 1 or not np.isin(np.asarray(objective.variable_ids), self.ids).all():
            raise ValueError("the objective of a SosProgram must be linear in its unknowns")
        started = time.perf_counter()
        options.report("build", started)
        try:
            objective.coefs.astype(float)
        except OverflowError:
            raise ValueError("a coefficient of the objective is larger than any float") from None
        orbits, statement = self._statement(objective, sense)
        state = State(statement, options, started)
        best = run(state)
        built, raw = best.built, best.raw
        slopes = built.slopes
        names = [variable_name(int(v)) for v in self.ids]

        def named(unknowns: np.ndarray | None) -> dict[str, float] | None:
            if unknowns is None:
                return None
            return dict(zip(names, (unknowns * slopes)[orbits].tolist(), strict=True))

        proven = None
        if best.best_theorem is not None and best.proven is not None:
            chosen = _proven_unknowns(statement, best.proven, best.best_theorem)
            proven = {name: chosen[k] for name, k in zip(names, orbits.tolist(), strict=True)}
        identity, (value, theorem) = built.program.identity, bounds_of(state, best)
        gap = math.inf if theorem is None or not value else abs(value - theorem) / abs(value)
        largest = 10 * float(np.clip(gap, *ACCURACY)) * float(np.abs(raw.unknowns).max(initial=0.0))
        return SosSolution(
            status=best.status,
            sense=sense,
            bound=value if raw.has_values and best.status != "unbounded" else np.nan,
            certified_bound=theorem,
            reason=best.reason,
            values=(named(raw.unknowns) or {}) if raw.has_values and best.status != "unbounded" else {},
            certified_values=proven,
            duals=tuple(given_dual(built, raw.gram, raw.free, raw.unknowns)),
            solver=raw.solver,
            sizes={
                "moments": int(identity.columns.shape[0]),
                "blocks": sorted(identity.solved_sides, reverse=True),
                "equalities": int(identity.free.shape[0]),
                "unknowns": len(statement.prices),
                "hierarchy": built.statement.hierarchy,
                **identity.symmetry_report,
                **cone_report(identity, self.options.cone),
            },
            times=state.times,
            inner_values=named(best.inner),
            steps=tuple(state.ran),
            program=self,
            objective=objective,
            noise=named(np.full(raw.unknowns.shape, largest)) or {},
        )


def _proven_unknowns(statement: Statement, value: Fraction, theorem: Theorem) -> list[float]:
    """Unknowns for which every constraint is proven; of a bound, what the proven value says, rounded
    downwards."""
    if statement.mass is None:
        return [float(u) for u in theorem.given]
    result = outwards((value - statement.constant) / statement.prices[0], 1)
    return [-math.inf if result is None else result]


def _labels(number: int) -> str:
    """The name of the own variables y of a matrix constraint y'My, by its number."""
    return f"y{number}_"


def _difference(p: Any) -> Polynomial:
    """What must be a sum of squares: a polynomial, or the left side of ``p >= 0``."""
    if isinstance(p, Equality):
        raise TypeError(f"{p!r} is an equality: require_zero(p) makes every coefficient vanish")
    return p.polynomial if isinstance(p, Inequality) else polynomial(p)
