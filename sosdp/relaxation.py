"""The moment / sum-of-squares relaxation of a polynomial program, solved and certified."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .algebra import monomials as mono
from .algebra.polynomial import Polynomial
from .assembly import ONE, Identity, assemble
from .blocks import Options, Plan, least_degree, plan
from .certify import Certified, certify, mixture_for_margin, unused_columns
from .conic.choose import backend, check_memory, choose
from .conic.program import ProblemTooLarge, smat, svec_length, triangle
from .conic.rigorous import round_down
from .forms import GramProgram, RawSolution, gram_form, moment_form, read_gram_form, read_moment_form
from .pseudoexpectation import DualData, GramBlock, PseudoExpectation
from .reduction.bounds import VariableBounds, deduce_bounds
from .scaling import Scaling, find_scaling, scale
from .system import System

_MOMENT_SOLVERS = ("scs",)
_CENTRE_WORK = (
    3e9  # sum of R^3 up to which a second, centring solve is made without being asked (a few seconds)
)
_RETRY_WORK = 1e12  # sum of R^3 up to which an inaccurate first-order answer is solved again (minutes)
_AGREE = 1e-6
_ESCAPE = 10.0


class Relaxation:
    """Degree-t relaxation of a constraint system: all pseudo-expectations of degree ``degree`` that satisfy
    it.

    Parameters
    ----------
    system
        The constraints; every one is enforced as ``satisfies``: E[p^2 g] >= 0 for all p that fit, E[q h] = 0.
    degree
        Degree t of the pseudo-expectations (even; half of it is the order in Lasserre's hierarchy).
    products, sparsity, symmetry, prune, quotient
        See ``sosdp.blocks.Options``. Every reduction keeps the bound, except that ``sparsity='correlative'``
        (and ``'auto'`` when the dense block would have side above 60) may weaken it; ``sizes`` reports what
        was done.

    Raises ValueError for a degree that is odd or too small. Source: Lasserre 2001, Parrilo 2003; forms and
    reductions as argued in the modules ``forms``, ``blocks`` and ``reduction``.
    """

    def __init__(
        self,
        system: System,
        degree: int,
        *,
        products: str = "putinar",
        sparsity: str = "auto",
        symmetry: str = "sign",
        prune: bool = True,
        quotient: bool = True,
    ) -> None:
        self.system = system
        self.degree = degree
        self.options = Options(products, sparsity, symmetry, prune, quotient)

    def __repr__(self) -> str:
        return f"Relaxation(degree={self.degree}, {self.options}, {self.system!r})"

    @cached_property
    def bounds(self) -> VariableBounds:
        """A-priori bounds on the variables deduced from the system."""
        return deduce_bounds(self.system.equalities, self.system.inequalities, self.system.matrices)

    def minimize(self, objective: Polynomial, **solver_options) -> PseudoExpectation:
        """Least pseudo-expectation of ``objective``; solver options as in ``sosdp.minimize``."""
        return self._bound(objective, "minimize", **solver_options)

    def maximize(self, objective: Polynomial, **solver_options) -> PseudoExpectation:
        """Largest pseudo-expectation of ``objective``; solver options as in ``sosdp.minimize``."""
        return self._bound(objective, "maximize", **solver_options)

    def feasible(self, **solver_options) -> PseudoExpectation:
        """A pseudo-expectation that satisfies the system, or a refutation (status ``infeasible``)."""
        return self._bound(None, "feasible", **solver_options)

    def assemble(self, objective: Polynomial) -> tuple[Identity, Plan]:
        """The assembled identity ``objective - gamma = ...`` (no solver is called)."""
        layout = plan(self.system, self.degree, [objective], self.options)
        identity = assemble(
            layout.blocks, layout.equalities, objective, [-1.0 * ONE], layout.quotient, layout.ids
        )
        return identity, layout

    def _bound(
        self,
        objective: Polynomial | None,
        sense: str,
        *,
        solver: str = "auto",
        tolerance: float | None = None,
        time_limit: float | None = None,
        certify_bound: bool = True,
        verbose: bool = False,
    ) -> PseudoExpectation:
        started = time.perf_counter()
        target = ZERO if objective is None else (-objective if sense == "maximize" else objective)
        identity, layout = self.assemble(target)
        # with nothing to minimise, a refutation of any size proves the same: gamma <= 1 keeps the program
        # bounded
        upper = np.array([1.0 if sense == "feasible" else np.inf])
        scaling = find_scaling(identity, self.bounds)
        program = GramProgram(scale(identity, scaling), np.ones(1), upper)
        built = time.perf_counter()
        missing = unused_columns(identity)
        if missing.shape[0]:
            raw = unproducible(identity, missing)
        else:
            raw = solve_program(
                program, solver=solver, tolerance=tolerance, time_limit=time_limit, verbose=verbose
            )
        solved = time.perf_counter()
        answer = _Answer(self, identity, scaling, program, raw, sense, objective, certify_bound)
        result = answer.judge()
        finished = time.perf_counter()
        times = {"build": built - started, "solve": solved - built, "certify": finished - solved}
        sizes = {
            "moments": int(identity.columns.shape[0]),
            "blocks": sorted((b.side for b in identity.blocks), reverse=True),
            "equalities": int(identity.free.shape[0]),
            "degree": int(self.degree),
            **layout.report,
        }
        return replace(result, times=times, sizes=sizes)


ZERO = Polynomial.from_arrays(np.zeros((0, 1), dtype=np.int32), np.zeros(0))


def solve_program(
    program: GramProgram,
    *,
    solver: str = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> RawSolution:
    """Solve in the form that suits the solver: Gram form for interior point, moment form for first order.

    With ``solver="auto"`` a first-order answer that is not accurate is tried again with an interior-point
    method when memory allows. Raises SolverUnavailable, ProblemTooLarge.
    """
    name = choose(program.identity.sides) if solver == "auto" else solver
    options = {"tolerance": tolerance, "time_limit": time_limit, "verbose": verbose}
    raw = _solve_with(program, name, options)
    if solver == "auto" and raw.status in ("failed", "almost") and name == "scs":
        work = sum(float(svec_length(n)) ** 3 for n in program.identity.sides)
        if work <= _RETRY_WORK:
            try:
                again = _solve_with(program, "clarabel", options)
            except ProblemTooLarge:
                return raw
            if again.status == "solved" or raw.status == "failed":
                return again
    return raw


def _solve_with(program: GramProgram, name: str, options: dict) -> RawSolution:
    module = backend(name)
    if name in _MOMENT_SOLVERS:
        form = moment_form(program)
        check_memory(name, form.conic)
        return read_moment_form(program, form, module.solve(form.conic, **options))
    conic = gram_form(program)
    check_memory(name, conic)
    return read_gram_form(program, module.solve(conic, **options))


def unproducible(identity: Identity, missing: np.ndarray) -> RawSolution:
    """A coefficient that no multiplier can produce: the functional that reads it decides, without a
    solver."""
    moments = np.zeros(identity.columns.shape[0])
    column = int(np.flatnonzero(mono.keys(identity.columns) == mono.keys(missing)[0])[0])
    moments[column] = -np.sign(identity.target[column])
    rows, free = identity.gram.shape[0], identity.free.shape[0]
    return RawSolution(
        status="no_gram",
        gram=np.zeros(rows),
        free=np.zeros(free),
        unknowns=np.zeros(identity.unknown.shape[0]),
        moments=moments,
        value=-np.inf,
        solver="none",
        iterations=0,
        seconds=0.0,
        message="a monomial of the polynomial is not a product of two basis elements",
    )


def centre(program: GramProgram, bound: float) -> tuple[RawSolution, float] | None:
    """Multipliers well inside the cone at a fixed bound: maximise t <= 1 with every Gram matrix >= t I.

    Returns the solution (Gram matrices with t I added back) and t, or None when the solver did not converge.
    Cost: about that of the first solve.
    """
    identity = program.identity
    fixed = identity.target + bound * identity.unknown[0].toarray()[0]
    trace = sp.csr_matrix(-identity.trace_vector())
    shifted = replace(identity, target=fixed, unknown=trace)
    raw = solve_program(GramProgram(shifted, np.ones(1), np.ones(1)))
    if raw.status not in ("solved", "almost"):
        return None
    t = float(raw.unknowns[0])
    return replace(raw, gram=raw.gram + t * block_identity_vector(identity), unknowns=np.array([bound])), t


def block_identity_vector(identity: Identity) -> np.ndarray:
    """Vector form of the identity matrix in every block."""
    parts = [np.where(np.equal(*triangle(n)), 1.0, 0.0) for n in identity.sides]
    return np.concatenate(parts) if parts else np.zeros(0)


class _Answer:
    """Turns a solver's answer into a result whose claims are checked."""

    def __init__(
        self,
        relaxation: Relaxation,
        identity: Identity,
        scaling: Scaling,
        program: GramProgram,
        raw: RawSolution,
        sense: str,
        objective: Polynomial | None,
        certify_bound: bool,
    ) -> None:
        self.relaxation = relaxation
        self.original = identity
        self.scaling = scaling
        self.program = program
        self.raw = raw
        self.sense = sense
        self.objective = objective
        self.certify_bound = certify_bound
        self.sign = -1.0 if sense == "maximize" else 1.0

    def judge(self) -> PseudoExpectation:
        status = self.raw.status
        if status == "no_moments":
            return self._refuted()
        if status in ("no_gram", "failed"):
            # on an empty set both sides of the program fail: the emptiness is what the user needs to know
            return self._empty() or (self._unbounded() if status == "no_gram" else self._failed())
        gamma = float(self.raw.unknowns[0])
        if self.sense == "feasible":
            return self._feasibility(gamma)
        certified, reason, dual = self._certified_bound(gamma)
        label = "optimal"
        if status == "almost" and (self._escaping() or not self._close(certified, gamma)):
            label = "inaccurate"
            reason = reason or (
                "the relaxation does not bound its moments although the set is bounded: its value is "
                "ill-conditioned; add a redundant ball or box constraint"
                if self._escaping()
                else f"the solver stopped early ({self.raw.message}); try another solver, or scale the data"
            )
        bound = self.sign * gamma
        return self._result(label, bound, None if certified is None else self.sign * certified, reason, dual)

    def _escaping(self) -> bool:
        """Pseudo-moments far above what the deduced box allows: the optimum is not attained."""
        size = self.scaling.bounds.magnitude(self.program.identity.columns)
        finite = np.isfinite(size)
        return bool((np.abs(self.raw.moments[finite]) > _ESCAPE * size[finite] + 1e-6).any())

    def _close(self, certified: float | None, gamma: float) -> bool:
        return certified is not None and abs(gamma - certified) <= 1e-5 * max(1.0, abs(gamma))

    def _certified_bound(self, gamma: float) -> tuple[float | None, str, Certified | None]:
        identity, raw = self.program.identity, self.raw
        if not self.certify_bound:
            return None, "not asked for (certify_bound=False)", None
        unknowns = np.array([gamma])
        first = certify(identity, raw.gram, raw.free, unknowns, self.scaling.bounds)
        best = round_down(gamma - first.loss) if np.isfinite(first.loss) else None
        scale = max(1.0, abs(gamma))
        work = sum(float(svec_length(n)) ** 3 for n in identity.sides)
        if (best is None or gamma - best > _AGREE * scale) and work <= _CENTRE_WORK:
            mixed = self._by_mixture(gamma, scale)
            if mixed is not None and (best is None or mixed > best):
                best = mixed
        reason = "" if best is not None else first.reason
        return (None if best is None else float(best)), reason, first

    def _by_mixture(self, gamma: float, scale: float) -> float | None:
        """A bound that needs nothing of the set: move a little towards multipliers inside the cone."""
        for slack in (1e-3, 1e-1):
            inside = centre(self.program, gamma - slack * scale)
            if inside is None or inside[1] <= 0:
                continue
            solution = inside[0]
            near = (self.raw.gram, self.raw.free, np.array([gamma]))
            far = (solution.gram, solution.free, solution.unknowns)
            found = mixture_for_margin(self.program.identity, near, far, self.scaling.bounds)
            if found is not None:
                return float(found[0][0])
        return None

    def _feasibility(self, gamma: float) -> PseudoExpectation:
        if gamma <= 0.5:
            # gamma = 0 up to accuracy: a pseudo-expectation exists unless a refutation is merely hard to see
            label = "optimal" if gamma <= 1e-5 and self.raw.status == "solved" else "inaccurate"
            return self._result(label, np.nan, None, "")
        return self._refutation(self.raw.gram / gamma, self.raw.free / gamma)

    def _refuted(self) -> PseudoExpectation:
        gamma = float(self.raw.unknowns[0])
        if not gamma > 0:
            return self._empty() or self._result("failed", np.nan, None, "the solver's ray does not check")
        found = self._refutation(self.raw.gram / gamma, self.raw.free / gamma)
        if found.status == "infeasible":
            return found
        # variables of the objective alone may hide the proof: ask for emptiness without them
        return self._empty() or found

    def _refutation(self, gram: np.ndarray, free: np.ndarray) -> PseudoExpectation:
        """-1 = sum of the multipliers, approximately: accepted when it is proven, or provable by centring."""
        identity = replace(self.program.identity, target=np.zeros_like(self.program.identity.target))
        program = GramProgram(identity, np.ones(1), np.ones(1))
        checked = certify(identity, gram, free, np.ones(1), self.scaling.bounds)
        label, reason = "infeasible", ""
        if not checked.loss < 1:
            inside = centre(program, 1.0)
            if inside is not None:
                checked = certify(identity, inside[0].gram, inside[0].free, np.ones(1), self.scaling.bounds)
            if not checked.loss < 1:
                label, reason = "inaccurate", checked.reason or "the refutation found could not be proven"
        raw = replace(self.raw, gram=checked.gram, free=checked.free, unknowns=np.ones(1))
        self.raw, self.program = raw, program
        return self._result(label, np.nan, None, reason, checked)

    def _empty(self) -> PseudoExpectation | None:
        if self.sense == "feasible" or len(self.relaxation.system) == 0:
            return None
        answer = self.relaxation.feasible()
        if answer.status != "infeasible":
            return None
        return replace(answer, sense=self.sense, objective=self.objective)

    def _failed(self) -> PseudoExpectation:
        return self._result("failed", np.nan, None, f"the solver gave up ({self.raw.message})")

    def _unbounded(self) -> PseudoExpectation:
        """No certificate with any finite bound: the solver's ray must be a pseudo-moment direction that
        checks."""
        identity, y = self.program.identity, self.raw.moments
        descent = float(identity.target @ y)
        if not descent < 0:
            return self._result("failed", np.nan, None, "the solver's ray does not decrease the objective")
        y = y / -descent
        residual = 0.0
        for block, rows in zip(identity.blocks, identity.slices(), strict=True):
            residual = max(residual, -float(np.linalg.eigvalsh(smat(identity.gram[rows] @ y, block.side))[0]))
        if identity.free.shape[0]:
            residual = max(residual, float(np.abs(identity.free @ y).max()))
        label = "unbounded" if residual <= 1e-6 * max(1.0, float(np.abs(y).max())) else "inaccurate"
        reason = (
            "no sum-of-squares certificate of this degree exists for any bound; try a higher degree, "
            "or bound the set by a ball or by products such as (x - a)*(b - x) >= 0"
        )
        return self._result(label, -self.sign * np.inf, None, reason)

    def _result(
        self,
        status: str,
        bound: float,
        certified: float | None,
        reason: str,
        dual: Certified | None = None,
    ) -> PseudoExpectation:
        raw = self.raw
        gram = raw.gram if dual is None else dual.gram
        free = raw.free if dual is None else dual.free
        moments = raw.moments * self.scaling.column if status in ("optimal", "inaccurate") else None
        multiplier = float(raw.unknowns[0]) if raw.unknowns.size else 0.0
        return PseudoExpectation(
            status=status,
            sense=self.sense,
            objective=self.objective,
            system=self.relaxation.system,
            degree=self.relaxation.degree,
            bound=bound,
            certified_bound=certified,
            reason=reason,
            solver=raw.solver,
            solver_message=raw.message,
            iterations=raw.iterations,
            sizes={},
            times={},
            identity=self.original,
            moments=moments,
            dual=dual_data(self.original, gram / self.scaling.gram, free / self.scaling.free, multiplier),
            program=self.program,
            scaling=self.scaling,
        )


def dual_data(
    identity: Identity, gram: np.ndarray, free: np.ndarray, bound: float, margin: float | None = None
) -> DualData:
    """Multipliers as Gram blocks and equality polynomials."""
    blocks = tuple(
        GramBlock(b.kind, b.index, b.basis, b.entry, smat(gram[rows], b.side))
        for b, rows in zip(identity.blocks, identity.slices(), strict=True)
    )
    multipliers, cursor = [], 0
    for rows_of in identity.equalities:
        count = rows_of.multipliers.shape[0]
        poly = Polynomial.from_arrays(rows_of.multipliers, free[cursor : cursor + count])
        multipliers.append((rows_of.index, poly))
        cursor += count
    return DualData(blocks, tuple(multipliers), bound, margin)


def relaxation_for(system: System, objective: Polynomial | None, degree: int | None, **options) -> Relaxation:
    """The relaxation of the given degree, or of the least degree at which the program can be stated."""
    if degree is None:
        degree = least_degree(system, [] if objective is None else [objective])
    return Relaxation(system, degree, **options)
