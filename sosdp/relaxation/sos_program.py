"""Programs whose unknowns are coefficients of polynomials constrained to be sums of squares."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np

from ..algebra import monomials as mono
from ..algebra.array import PolynomialArray
from ..algebra.build import monomials, polynomial, quadratic_form, variables
from ..algebra.coefficients import Number
from ..algebra.constraint import Equality, Inequality
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_name
from ..model.options import BuildOptions, Options, SolveOptions, read_options, spelled_out
from ..model.system import System
from ..progress import shown
from ..reduction.bounds import VariableBounds, deduce_bounds
from ..reduction.groebner import with_groebner
from ..reduction.permutation import read_generators
from .build.assemble import assemble
from .build.diagonal_dominance import cone_report, with_cone
from .build.forced_zeros import without_forced_zeros
from .build.identity import GramProgram, Identity, RawSolution
from .build.plan import least_degree, plan
from .build.program_units import program_scalings
from .build.scaling import scale, size_near
from .build.stack import stack
from .build.symmetry import with_symmetry
from .build.unknowns import merged, restricted, unknown_orbits, with_labels
from .certify.measures import Piece, all_proven
from .certify.misfit import misfit, moment_violation, priced_misfit, shortfall
from .certify.mixture import proven_mixture
from .certify.own_size import missed_of_own, own_misfit, own_moment_violation
from .certify.rays import patience, verdict
from .certify.stated import as_stated
from .pseudoexpectation import dual_data
from .solve.solve import small_solvers, solve_program
from .sos_solution import SosSolution

_ENOUGH = 1e-5  # relative distance up to which two values agree, and violation of moments that counts as none


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
    def __init__(self, unknowns: Any, **options: Unpack[BuildOptions]) -> None:
        flat = (
            list(np.asarray(unknowns, dtype=object).reshape(-1))
            if not isinstance(unknowns, Polynomial)
            else [unknowns]
        )
        if any(not isinstance(u, Polynomial) or len(u.coefs) != 1 or u.degree != 1 for u in flat):
            raise ValueError("unknowns must be variables, for example SosProgram(sd.variables('a b'))")
        self.ids = np.array([int(u.variable_ids[0]) for u in flat], dtype=mono.MONOMIAL)
        if np.unique(self.ids).size != self.ids.size:
            raise ValueError("an unknown is listed twice")
        self.options = read_options("SosProgram", {**options}, ["build"], without=["redundant"])
        self.constraints: list[tuple[Polynomial, System, int | None, str]] = []
        self.vanishing: list[Polynomial] = []
        self.bases: list[tuple[list[Polynomial], list[Polynomial]]] = []
        self.gram_bases: dict[int, Any] = {}  # of constraints with one of their own
        self.labels: dict[int, Any] = {}  # of matrix constraints on a set: the variables of y in y'My

    def require(
        self,
        p: Polynomial | Inequality,
        on: System | None = None,
        degree: int | None = None,
        cone: str | None = None,
        basis: Any = None,
    ) -> SosProgram:
        """Require ``p`` to be a sum of squares, globally or on a system; returns the program.

        ``p``: a polynomial, or an inequality ``p >= q``, which stands for ``p - q``.
        ``degree``: of the whole identity, so that a multiplier of g has at most this minus that of g; by
        default the least. ``cone``: ``sos``, ``sdsos`` or ``dsos``, by default that of the program. A ``p``
        in the unknowns alone is a linear inequality ``p >= 0`` between coefficients. ``basis``: monomials of
        the Gram matrix of the plain square, in place of all of half the degree.
        """
        p = _difference(p)
        self._affine(p)
        if on is not None and np.isin(on.variable_ids, self.ids).any():
            inside = [variable_name(int(v)) for v in on.variable_ids if v in self.ids]
            raise ValueError(
                f"{inside[0]} is an unknown coefficient of the program and cannot describe the set: the set "
                "of a constraint is in the other variables"
            )
        chosen = self.options.cone if cone is None else cone
        replace(self.options, cone=chosen, basis=basis)  # refuses what is not known
        if basis is not None:
            self.gram_bases[len(self.constraints)] = basis
        self.constraints.append((p, System() if on is None else on, degree, chosen))
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
        self, matrix: Any, on: System | None = None, degree: int | None = None, cone: str | None = None
    ) -> SosProgram:
        """Require a symmetric matrix of polynomials to be a sum of squares: ``y'My`` is one, in x and y
        together.

        A matrix in the unknowns alone is a linear matrix inequality. ValueError unless square and symmetric.
        """
        name = f"sosdp_y{len(self.constraints)}_"
        form = quadratic_form(matrix, name)
        if on is not None:
            self.labels[len(self.constraints)] = variables(name, len(matrix))
        return self.require(form, on, None if degree is None else degree + 2, cone)

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
        on: System | None = None,
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
        labels = variables(f"sosdp_y{len(self.constraints)}_", side)
        self.require_psd(matrix)
        # a permutation of the variables moves the rows of the matrix as it moves the basis
        self.bases.append((list(labels), [polynomial(b) for b in basis]))
        return matrix.view(type(flat))

    def _declare(self, name: str, count: int) -> Any:
        fresh = variables(name, count)
        ids = np.array([int(v.variable_ids[0]) for v in fresh], dtype=mono.MONOMIAL)
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

    def _identities(self, cost: np.ndarray) -> tuple[np.ndarray, list[VariableBounds], list[Identity]]:
        """The orbit of each unknown, bounds, and the identity of each constraint in one unknown an orbit."""
        if not self.constraints and not self.vanishing:
            raise ValueError("the program has no constraint; call require(p) first")
        pieces, bounds = [], []
        families = [self._affine(p) for p in [*self.vanishing, *(c[0] for c in self.constraints)]]
        images = self._permutations()
        orbits = unknown_orbits(images, families, cost) if images else np.arange(self.ids.size)
        families = [merged(f, orbits) for f in families]
        for parts in families[: len(self.vanishing)]:
            pieces.append(assemble([], [], parts[0], parts[1:]))
            bounds.append(VariableBounds({}, ()))
        known = families[len(self.vanishing) :]
        for number, (parts, (_, system, degree, cone)) in enumerate(
            zip(known, self.constraints, strict=True)
        ):
            wanted = least_degree(system, parts) if degree is None else degree
            if self.options.quotient == "groebner":
                system = with_groebner(system, wanted)
            labels = [int(v.variable_ids[0]) for v in self.labels.get(number, [])]
            options = self._options_for(system, parts, images)
            if number in self.gram_bases:
                options = replace(options, basis=self.gram_bases[number])
            layout = plan(system, wanted, parts, options, closed=False, linear_in=labels)
            piece = assemble(
                layout.blocks, layout.equalities, parts[0], parts[1:], layout.quotient, layout.ids
            )
            if options.prune and options.basis is None:
                piece = without_forced_zeros(piece)
            pieces.append(with_symmetry(with_cone(piece, cone), layout.actions))
            bounds.append(deduce_bounds(system.equalities, system.inequalities, system.matrices))
        return orbits, bounds, pieces

    def _coefficients(
        self, objective: Polynomial, orbits: np.ndarray
    ) -> tuple[list[Number], list[list[Number]]]:
        """All coefficients of the constant parts, and of each unknown (or of each orbit of them), its cost
        among them."""
        families = [self._affine(p) for p in [*self.vanishing, *(c[0] for c in self.constraints)]]
        families.append(self._affine(objective))
        constant, *each = (
            [c for p in parts for c in p.coefs.tolist()] for parts in zip(*families, strict=True)
        )
        rows: list[list[Number]] = [[] for _ in range(int(orbits.max(initial=-1)) + 1)]
        for k, coefs in zip(orbits.tolist(), each, strict=True):
            rows[k] += coefs
        if orbits.size > len(rows):  # orbits are added up, in floats where coefficients are
            rows = [[Fraction(c) / 3 if isinstance(c, float) and c % 1 else c for c in row] for row in rows]
        return constant, rows

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
        cost = np.zeros(self.ids.size)
        try:
            rates = objective.coefs.astype(float)
        except OverflowError:
            raise ValueError("a coefficient of the objective is larger than any float") from None
        for row, c in zip(objective.monos, rates, strict=True):
            hit = np.flatnonzero(self.ids == row.max(initial=0))
            if hit.size:
                cost[hit[0]] = c
        offset = float(objective.constant)
        sign = -1.0 if sense == "minimize" else 1.0
        orbits, bounds, pieces = self._identities(cost)
        prices = np.bincount(orbits, weights=cost)
        scalings = program_scalings(pieces, bounds)
        scaled = [scale(p, s) for p, s in zip(pieces, scalings, strict=True)]
        units = scalings[0].unknowns_of(np.ones(prices.size))  # of the unknowns, common to all pieces
        unit = size_near(float(np.abs(prices * units).max(initial=0.0)))  # of the objective
        program = GramProgram(stack(scaled), sign * prices * units / unit, np.full(prices.size, np.inf))
        inside_of = [s.bounds for s in scalings]
        built = time.perf_counter()
        options.report("solve", started)
        raw = solve_program(program, **options.solving())
        if raw.status == "failed" and options.solver == "auto" and options.time_limit is None:
            others = (solve_program(program, solver=name) for name in small_solvers(program))
            raw = next((other for other in others if other.status == "optimal"), raw)
        solved = time.perf_counter()
        options.report("certify", started)
        label = {"optimal": "optimal", "inaccurate": "inaccurate"}.get(raw.status, "failed")
        reason = raw.message if label != "optimal" else ""
        if raw.status in ("unbounded", "infeasible"):
            deadline = np.inf if options.time_limit is None else started + options.time_limit
            stated = as_stated(program, *self._coefficients(objective, orbits), parts=pieces)
            label, reason = verdict(program, raw, stated, patience(raw, deadline))
        names = [variable_name(int(v)) for v in self.ids]
        value, values, certified, proven, inner = np.nan, {}, None, None, None
        if raw.has_values:
            chosen = raw.unknowns * units
            value = float(prices @ chosen) + offset
            values = dict(zip(names, chosen[orbits].tolist(), strict=True))
            point, inside = self._proven_point(program, raw, scaled, inside_of)
            if inside is not None:
                inner = dict(zip(names, (inside * units)[orbits].tolist(), strict=True))
            allowed = _ENOUGH * max(unit, abs(value))
            if point is None:
                equations = "equations between coefficients hold to rounding only"
                nowhere = "no coefficients strictly inside every constraint were found"
                reason = reason or (equations if self.vanishing else nowhere)
            else:
                point = point * units
                proven = dict(zip(names, point[orbits].tolist(), strict=True))
                certified = self._certified(objective, point[orbits], sense)
                # a proven point near the solver's says nothing about better ones: both sides must agree
                near = certified is not None and abs(certified - value) <= allowed
                if label == "inaccurate" and near:
                    label = "optimal"
            short = shortfall(program, raw)
            missed = max(short, misfit(program, raw)) * unit
            wide = moment_violation(program, raw)
            told = f"multipliers and moments disagree about the value by {missed:.1g}"
            if certified is None:
                # nothing is proven: every identity and its moments must be right in their own size
                sums, moments = own_misfit(scaled, raw), own_moment_violation(program, scaled, raw)
                told = missed_of_own(sums, moments, _ENOUGH) or told
                missed = max(missed, priced_misfit(program, raw) * unit)
                wide = max(wide, sums, moments)
            near = certified is not None and abs(certified - value) <= allowed
            apart = not (near or certified is None and missed <= allowed)
            if label == "optimal" and (apart or not short * unit <= allowed or wide > _ENOUGH):
                label = "inaccurate"
                reason = f"{told}; {reason}"
            elif label == "optimal" and short * unit > _ENOUGH * max(1.0, abs(value)):
                label = "inaccurate"
                coarse = (
                    f"the value is good to {short * unit:.1g} only: a unit of the objective is {unit:.1g}"
                )
                reason = f"{coarse}; {reason}" if reason else coarse
        finished = time.perf_counter()
        duals, row, free = [], 0, 0
        for piece, scaling in zip(pieces, scalings, strict=True):
            r, f = piece.gram.shape[0], piece.free.shape[0]
            gram, multipliers = raw.gram[row : row + r], raw.free[free : free + f]
            duals.append(dual_data(piece, scaling.gram_of(gram), scaling.free_of(multipliers), 0.0))
            row, free = row + r, free + f
        return SosSolution(
            status=label,
            sense=sense,
            bound=value,
            certified_bound=certified,
            reason=reason,
            values=values,
            certified_values=proven,
            duals=tuple(duals),
            solver=raw.solver,
            sizes={
                "moments": int(program.identity.columns.shape[0]),
                "blocks": sorted(program.identity.solved_sides, reverse=True),
                "equalities": int(program.identity.free.shape[0]),
                "unknowns": int(prices.size),
                **program.identity.symmetry_report,
                **cone_report(program.identity, self.options.cone),
            },
            times={"build": built - started, "solve": solved - built, "certify": finished - solved},
            inner_values=inner,
            program=self,
            objective=objective,
        )

    def _certified(self, objective: Polynomial, point: np.ndarray, sense: str) -> float | None:
        """The objective at proven coefficients, rounded so that they attain it (floats of the objective read
        as binary and as decimal); None where it is no float."""
        place = {int(v): k for k, v in enumerate(self.ids)}
        readings = []
        for exact in (objective.as_exact(), objective.as_exact(binary=True)):
            total = Fraction(0)
            for row, c in zip(exact.monos, exact.coefs.tolist(), strict=True):
                variable = int(row.max(initial=0))
                total += Fraction(c) * (Fraction(float(point[place[variable]])) if variable else 1)
            readings.append(total)
        wanted = min(readings) if sense == "maximize" else max(readings)
        try:
            found = float(wanted)
        except OverflowError:
            return None
        if found > wanted if sense == "maximize" else found < wanted:
            found = float(np.nextafter(found, -np.inf if sense == "maximize" else np.inf))
        return found if np.isfinite(found) else None

    def _proven_point(
        self, program: GramProgram, raw: RawSolution, pieces: list[Identity], bounds: list[VariableBounds]
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Coefficients near the optimum for which every constraint is proven (optimum mixed with an inner
        point), and the coefficients of the inner point."""
        known = [Piece(p, b, None) for p, b in zip(pieces, bounds, strict=True)]
        best, inner = proven_mixture(
            program, raw, lambda gram, free, point: all_proven(known, gram, free, point)
        )
        return None if best is None else best[2], inner


def _difference(p: Any) -> Polynomial:
    """What must be a sum of squares: a polynomial, or the left side of ``p >= 0``."""
    if isinstance(p, Equality):
        raise TypeError(f"{p!r} is an equality: require_zero(p) makes every coefficient vanish")
    return p.polynomial if isinstance(p, Inequality) else polynomial(p)
