"""Programs whose unknowns are coefficients of polynomials constrained to be sums of squares."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .algebra import monomials as mono
from .algebra.build import monomials, polynomial, variables
from .algebra.polynomial import Polynomial
from .algebra.variables import variable_name
from .engine.answer import shortfall
from .engine.assembly import EqualityRows, Identity, assemble
from .engine.blocks import Options, least_degree, plan
from .engine.certify import certify, unused_columns
from .engine.dominance import Dominance, cone_report, least_eigenvalues, with_cone
from .engine.face import find_face
from .engine.forms import GramProgram, RawSolution
from .engine.scaling import find_scaling, scale
from .engine.solving import block_identity_vector, solve_program, unproducible
from .engine.symmetric import with_symmetry
from .pseudoexpectation import DualData, PseudoExpectation, dual_data
from .reduction.bounds import VariableBounds, deduce_bounds
from .reduction.facial import find_zeros
from .relaxation import Relaxation
from .system import System

_REFUTED = 1e-6  # E[p] below minus this, relative to the coefficients, refutes


def with_margin(identity: Identity, keep_unknowns: bool = False) -> Identity:
    """The identity with one more unknown t (the last): every Gram matrix is t I plus a positive semidefinite
    one."""
    trace = sp.csr_matrix(-identity.trace_vector())
    unknown = sp.vstack([identity.unknown, trace], format="csr") if keep_unknowns else trace
    return replace(identity, unknown=unknown)


def prove_sum_of_squares(
    relaxation: Relaxation, p: Polynomial, zeros: Any = "auto", **solver_options: Any
) -> PseudoExpectation:
    """Decide whether ``p`` is a sum of squares modulo the relaxation's system; see ``sosdp.prove_sos``."""
    solver_options.pop("certify_bound", None)
    started = time.perf_counter()
    layout = plan(relaxation.system, relaxation.degree, [p], relaxation.options, closed=False)
    identity = assemble(layout.blocks, layout.equalities, p, [], layout.quotient, layout.ids)
    on_face = _prove_on_face(relaxation, p, zeros, identity, layout.report, started, solver_options)
    if on_face is not None:
        return on_face
    cone = relaxation.options.cone
    identity = with_symmetry(with_cone(identity, cone), layout.actions)
    scaling = find_scaling(identity, relaxation.bounds)
    scaled = scale(identity, scaling)
    program = GramProgram(with_margin(scaled), np.ones(1), np.ones(1))
    built = time.perf_counter()
    missing = unused_columns(identity)
    if missing.shape[0]:
        raw = unproducible(identity, missing)
    else:
        raw = solve_program(program, **solver_options)
    solved = time.perf_counter()
    status, reason, gram, free = _verdict(scaled, raw, scaling.bounds, cone)
    finished = time.perf_counter()
    no_bound = sp.csr_matrix((1, identity.columns.shape[0]))
    return PseudoExpectation(
        status=status,
        sense="sos",
        objective=p,
        system=relaxation.system,
        degree=relaxation.degree,
        bound=np.nan,
        certified_bound=None,
        reason=reason,
        solver=raw.solver,
        solver_message=raw.message,
        iterations=raw.iterations,
        sizes={
            "moments": int(identity.columns.shape[0]),
            "blocks": sorted(identity.solved_sides, reverse=True),
            "equalities": int(identity.free.shape[0]),
            "degree": int(relaxation.degree),
            **layout.report,
            **identity.symmetry_report,
            **cone_report(identity, cone),
        },
        times={"build": built - started, "solve": solved - built, "certify": finished - solved},
        identity=identity,
        moments=raw.moments * scaling.column if status == "refuted" else None,
        dual=dual_data(identity, gram / scaling.gram, free / scaling.free, 0.0),
        program=GramProgram(replace(scaled, unknown=no_bound), np.ones(1), np.ones(1)),
        scaling=scaling,
        cone=cone,
    )


def _prove_on_face(
    relaxation: Relaxation,
    p: Polynomial,
    zeros: Any,
    identity: Identity,
    report: dict[str, Any],
    started: float,
    solver_options: dict[str, Any],
) -> PseudoExpectation | None:
    """The proof on the face of the polynomial's exact zeros, or None where that does not decide."""
    if zeros is None or relaxation.options.cone != "sos" or len(relaxation.system):
        return None
    if unused_columns(identity).shape[0]:
        return None
    found = find_face(identity, p, find_zeros(p, None if isinstance(zeros, str) else zeros))
    if found is None:
        return None
    program = found.program()
    built = time.perf_counter()
    raw = solve_program(program, **solver_options)
    solved = time.perf_counter()
    gram = found.prove(raw)
    if gram is None:
        return None
    finished = time.perf_counter()
    no_bound = sp.csr_matrix((1, identity.columns.shape[0]))
    return PseudoExpectation(
        status="proved",
        sense="sos",
        objective=p,
        system=relaxation.system,
        degree=relaxation.degree,
        bound=np.nan,
        certified_bound=None,
        reason="",
        solver=raw.solver,
        solver_message=raw.message,
        iterations=raw.iterations,
        sizes={
            "moments": int(identity.columns.shape[0]),
            "blocks": sorted(found.sides, reverse=True),
            "equalities": 0,
            "degree": int(relaxation.degree),
            **report,
            "exact_zeros": found.zeros,
        },
        times={"build": built - started, "solve": solved - built, "certify": finished - solved},
        identity=identity,
        moments=None,
        dual=dual_data(identity, gram, np.zeros(0), 0.0),
        program=GramProgram(replace(identity, unknown=no_bound), np.ones(1), np.ones(1)),
        scaling=find_scaling(identity, VariableBounds({}, ())),
    )


def _verdict(
    identity: Identity, raw: RawSolution, bounds: VariableBounds, cone: str
) -> tuple[str, str, np.ndarray, np.ndarray]:
    gram, free = raw.gram, raw.free
    if raw.status in ("solved", "almost"):
        t = float(raw.unknowns[0])
        gram = raw.gram + t * block_identity_vector(identity)
        checked = certify(identity, gram, free, np.zeros(0), bounds)
        if checked.loss == 0.0:
            return "proved", "", checked.gram, checked.free
        gram, free = checked.gram, checked.free
    if raw.status == "failed" or not np.isfinite(raw.moments).all():
        return "unknown", f"the solver gave no answer ({raw.message})", gram, free
    value, negative = _separation(identity, raw.moments)
    scale = float(np.abs(identity.target).max(initial=0.0)) or 1.0
    if value < -_REFUTED * scale and cone != "sos":
        return (
            "unknown",
            f"no Gram matrix of this degree with cone={cone!r} was found; a sum of squares may still exist: "
            "cone='sos'",
            gram,
            free,
        )
    if value < -_REFUTED * scale and negative <= 1e-3 * -value / scale:
        return "refuted", f"a pseudo-expectation has E[p] = {value:.3g} < 0", gram, free
    return (
        "unknown",
        "the polynomial is on or near the boundary of the sums of squares; "
        "an exact certificate may still exist: certificates.extract(result).exact()",
        gram,
        free,
    )


def _separation(identity: Identity, moments: np.ndarray) -> tuple[float, float]:
    """E[p] and the largest violation of positivity, both for moments scaled to largest absolute value 1."""
    size = float(np.abs(moments).max(initial=0.0))
    if size == 0.0:
        return 0.0, 0.0
    y = moments / size
    violation = float(np.abs(identity.free @ y).max(initial=0.0))
    least = min([0.0, *least_eigenvalues(identity, y)])
    return float(identity.target @ y), max(violation, -least)


@dataclass(frozen=True, eq=False)
class SosSolution:
    """Solution of a SosProgram.

    ``values``: the unknown coefficients by name; ``bound``: the solver's optimal value; ``certified_bound``:
    the value at ``certified_values``, coefficients for which every constraint is proven (an upper bound on a
    minimum, a lower bound on a maximum), or None; ``duals``: the multipliers of each constraint.
    ``inner_values``: coefficients well inside every constraint, where there are any; ``program``,
    ``objective``: what was solved.
    """

    status: str
    sense: str
    bound: float
    certified_bound: float | None
    reason: str
    values: dict[str, float]
    certified_values: dict[str, float] | None
    duals: tuple[DualData, ...] = field(repr=False)
    solver: str = ""
    sizes: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    inner_values: dict[str, float] | None = field(default=None, repr=False)
    program: SosProgram | None = field(default=None, repr=False)
    objective: Polynomial | None = field(default=None, repr=False)

    @property
    def bound_kind(self) -> str:
        """A point that is proven feasible bounds a minimum from above and a maximum from below."""
        return "upper" if self.sense == "minimize" else "lower"


class SosProgram:
    """Unknown coefficients, constraints "this polynomial is a sum of squares", a linear objective.

    >>> c, x, y = sd.variables("c x y")
    >>> program = sd.SosProgram([c]).require(x**4 + y**4 - c*x**2*y**2)
    >>> program.maximize(c).bound        # 2

    Raises ValueError when a constraint is not affine in the unknowns. Every constraint may have its own
    system, degree and cone. ``options`` are those of ``sosdp.engine.blocks.Options`` for all constraints:
    ``products='schmudgen'`` for multipliers of products of inequalities, ``cone='sdsos'``, ...
    """

    def __init__(self, unknowns: Any, **options: Any) -> None:
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
        self.options = Options(**options)
        self.constraints: list[tuple[Polynomial, System, int | None, str]] = []
        self.vanishing: list[Polynomial] = []

    def require(
        self, p: Polynomial, on: System | None = None, degree: int | None = None, cone: str | None = None
    ) -> SosProgram:
        """Require ``p`` to be a sum of squares, globally or on a system; returns the program.

        ``degree``: of the whole identity, so that a multiplier of g has at most this minus that of g; by
        default the least. ``cone``: ``sos``, ``sdsos`` or ``dsos``, by default that of the program. A ``p``
        in the unknowns alone is a linear inequality ``p >= 0`` between coefficients.
        """
        self._affine(p)
        chosen = self.options.cone if cone is None else cone
        replace(self.options, cone=chosen)  # refuses what is not known
        self.constraints.append((p, System() if on is None else on, degree, chosen))
        return self

    def require_zero(self, p: Polynomial) -> SosProgram:
        """Require every coefficient of ``p`` to vanish; returns the program.

        Equations between coefficients hold to the solver's accuracy only, so such a program has no
        ``certified_bound``; where you can, write the equation into the polynomials instead.
        """
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
        entries = np.asarray(matrix, dtype=object)
        if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
            raise ValueError(f"require_psd needs a square matrix, not shape {entries.shape}")
        side = entries.shape[0]
        entries = np.array([[polynomial(e) for e in row] for row in entries.tolist()] + [[None] * side])[:-1]
        if any(entries[i, j] != entries[j, i] for i in range(side) for j in range(i)):
            raise ValueError("require_psd needs a symmetric matrix")
        y = variables("sosdp_y", side)
        form = sum((entries[i, j] * y[i] * y[j] for i in range(side) for j in range(side)), polynomial(0))
        return self.require(form, on, None if degree is None else degree + 2, cone)

    def polynomial(self, name: str, xs: Any, degree: int, even: bool = False) -> Polynomial:
        """A polynomial in ``xs`` with new unknown coefficients ``name0``, ``name1``, ...; only even degrees
        on request."""
        every = monomials(xs, degree)
        basis = every[np.array([b.degree % 2 == 0 or not even for b in every])]
        return self._declare(name, len(basis)) @ basis

    def gram(self, name: str, basis: Any) -> Any:
        """A new symmetric positive semidefinite matrix of unknowns, shape (k, k): ``basis @ gram @ basis``
        is SoS."""
        side = len(basis)
        flat = self._declare(name, side * (side + 1) // 2)
        matrix = np.empty((side, side), dtype=object)
        row, column = np.triu_indices(side)
        matrix[row, column] = flat
        matrix[column, row] = flat
        self.require_psd(matrix)
        return matrix.view(type(flat))

    def _declare(self, name: str, count: int) -> Any:
        fresh = variables(name, count)
        ids = np.array([int(v.variable_ids[0]) for v in fresh], dtype=mono.MONOMIAL)
        if np.isin(ids, self.ids).any():
            raise ValueError(f"the program already has unknowns named {name}0, ...; choose another name")
        self.ids = np.concatenate([self.ids, ids])
        return fresh

    def minimize(self, objective: Polynomial, **solver_options: Any) -> SosSolution:
        """Minimise a linear function of the unknowns."""
        return self._solve(objective, "minimize", **solver_options)

    def maximize(self, objective: Polynomial, **solver_options: Any) -> SosSolution:
        """Maximise a linear function of the unknowns."""
        return self._solve(objective, "maximize", **solver_options)

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

    def _identity(self) -> tuple[Identity, list[slice], list[VariableBounds], list[Identity]]:
        if not self.constraints:
            raise ValueError("the program has no constraint; call require(p) first")
        pieces, bounds = [], []
        for p in self.vanishing:
            parts = self._affine(p)
            pieces.append(assemble([], [], parts[0], parts[1:]))
            bounds.append(VariableBounds({}, ()))
        for p, system, degree, cone in self.constraints:
            parts = self._affine(p)
            wanted = least_degree(system, parts) if degree is None else degree
            layout = plan(system, wanted, parts, self.options, closed=False)
            piece = assemble(
                layout.blocks, layout.equalities, parts[0], parts[1:], layout.quotient, layout.ids
            )
            pieces.append(with_cone(piece, cone))
            bounds.append(deduce_bounds(system.equalities, system.inequalities, system.matrices))
        return stack(pieces), column_slices(pieces), bounds, pieces

    def _solve(self, objective: Polynomial, sense: str, **solver_options: Any) -> SosSolution:
        if objective.degree > 1 or not np.isin(np.asarray(objective.variable_ids), self.ids).all():
            raise ValueError("the objective of a SosProgram must be linear in its unknowns")
        started = time.perf_counter()
        cost = np.zeros(self.ids.size)
        for row, c in zip(objective.monos, objective.coefs.astype(float), strict=True):
            hit = np.flatnonzero(self.ids == row.max(initial=0))
            if hit.size:
                cost[hit[0]] = c
        offset = float(objective.constant)
        sign = -1.0 if sense == "minimize" else 1.0
        identity, _, bounds, pieces = self._identity()
        program = GramProgram(identity, sign * cost, np.full(self.ids.size, np.inf))
        built = time.perf_counter()
        raw = solve_program(program, **solver_options)
        solved = time.perf_counter()
        status = {
            "solved": "optimal",
            "almost": "inaccurate",
            "no_gram": "infeasible",
            "no_moments": "unbounded",
        }
        label = status.get(raw.status, "failed")
        names = [variable_name(int(v)) for v in self.ids]
        value, values, certified, proven, inner = np.nan, {}, None, None, None
        reason = raw.message if label in ("failed", "inaccurate") else ""
        if label in ("optimal", "inaccurate"):
            value = float(cost @ raw.unknowns) + offset
            values = dict(zip(names, raw.unknowns.tolist(), strict=True))
            point, inside = self._proven_point(program, raw, pieces, bounds)
            if inside is not None:
                inner = dict(zip(names, inside.tolist(), strict=True))
            if point is None:
                equations = "equations between coefficients hold to rounding only"
                nowhere = "no coefficients strictly inside every constraint were found"
                reason = reason or (equations if self.vanishing else nowhere)
            else:
                proven = dict(zip(names, point.tolist(), strict=True))
                certified = float(cost @ point) + offset
                allowed = 1e-5 * max(1.0, abs(value))
                # a proven point near the solver's says nothing about better ones: both sides must agree
                if label == "inaccurate" and abs(certified - value) <= allowed >= shortfall(program, raw):
                    label = "optimal"
        finished = time.perf_counter()
        duals, row, free = [], 0, 0
        for piece in pieces:
            r, f = piece.gram.shape[0], piece.free.shape[0]
            duals.append(dual_data(piece, raw.gram[row : row + r], raw.free[free : free + f], 0.0))
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
                "moments": int(identity.columns.shape[0]),
                "blocks": sorted(identity.sides, reverse=True),
                "equalities": int(identity.free.shape[0]),
            },
            times={"build": built - started, "solve": solved - built, "certify": finished - solved},
            inner_values=inner,
            program=self,
            objective=objective,
        )

    def _proven_point(
        self, program: GramProgram, raw: RawSolution, pieces: list[Identity], bounds: list[VariableBounds]
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Coefficients near the optimum for which every constraint is proven (optimum mixed with an inner
        point), and the coefficients of the inner point."""
        inner_identity = with_margin(program.identity, keep_unknowns=True)
        count = self.ids.size
        objective = np.append(np.zeros(count), 1.0)
        upper = np.append(np.full(count, np.inf), 1.0)
        inner = solve_program(GramProgram(inner_identity, objective, upper))
        if inner.status not in ("solved", "almost") or inner.unknowns[-1] <= 0:
            return None, None
        inside = inner.gram + inner.unknowns[-1] * block_identity_vector(program.identity)
        best, weight = None, 1.0
        for _ in range(40):
            gram = (1 - weight) * raw.gram + weight * inside
            free = (1 - weight) * raw.free + weight * inner.free
            point = (1 - weight) * raw.unknowns + weight * inner.unknowns[:-1]
            if not self._all_proven(pieces, bounds, gram, free, point):
                break
            best, weight = point, weight / 4
        return best, inner.unknowns[:-1]

    @staticmethod
    def _all_proven(pieces, bounds, gram, free, point) -> bool:
        row = cursor = 0
        for piece, bound in zip(pieces, bounds, strict=True):
            r, f = piece.gram.shape[0], piece.free.shape[0]
            if certify(piece, gram[row : row + r], free[cursor : cursor + f], point, bound).loss > 0:
                return False
            row, cursor = row + r, cursor + f
        return True


def stack(pieces: list[Identity]) -> Identity:
    """Several identities in the same unknowns as one (columns side by side; quotients act inside each
    piece)."""
    equalities: list[EqualityRows] = [e for p in pieces for e in p.equalities]
    return Identity(
        blocks=tuple(b for p in pieces for b in p.blocks),
        equalities=tuple(equalities),
        columns=mono.concatenate([p.columns for p in pieces]),
        gram=sp.csr_matrix(sp.block_diag([p.gram for p in pieces], format="csr")),
        free=sp.csr_matrix(sp.block_diag([p.free for p in pieces], format="csr")),
        target=np.concatenate([p.target for p in pieces]),
        unknown=sp.csr_matrix(sp.hstack([p.unknown for p in pieces], format="csr")),
        quotient=pieces[0].quotient,
        dominance=_stacked_cones(pieces),
    )


def _stacked_cones(pieces: list[Identity]) -> Dominance | None:
    if all(p.dominance is None for p in pieces):
        return None
    parts = [p.dominance or Dominance(("sos",) * len(p.blocks), np.ones(sum(p.sides))) for p in pieces]
    weight = np.concatenate([d.weight for d in parts])
    return Dominance(tuple(c for d in parts for c in d.cones), weight)


def column_slices(pieces: list[Identity]) -> list[slice]:
    """Columns of each piece in the stacked identity."""
    ends = np.cumsum([p.columns.shape[0] for p in pieces])
    return [slice(int(e - p.columns.shape[0]), int(e)) for e, p in zip(ends, pieces, strict=True)]
