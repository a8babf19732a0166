"""The moment / sum-of-squares relaxation of a polynomial program, solved and certified."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property

import numpy as np

from .algebra.polynomial import Polynomial
from .engine.answer import Answer
from .engine.assembly import ONE, Identity, assemble
from .engine.blocks import Options, Plan, least_degree, plan
from .engine.certify import unused_columns
from .engine.forms import GramProgram
from .engine.scaling import find_scaling, scale
from .engine.solving import solve_program, unproducible
from .pseudoexpectation import PseudoExpectation
from .reduction.bounds import VariableBounds, deduce_bounds
from .system import System

ZERO = Polynomial.from_arrays(np.zeros((0, 1), dtype=np.int32), np.zeros(0))


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
        See ``sosdp.engine.blocks.Options``. Every reduction keeps the bound, except that
        ``sparsity='correlative'`` (and ``'auto'`` when the dense block would have side above 60) may weaken
        it; ``sizes`` reports what was done.

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
        answer = Answer(self, identity, scaling, program, raw, sense, objective, certify_bound)
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


def relaxation_for(system: System, objective: Polynomial | None, degree: int | None, **options) -> Relaxation:
    """The relaxation of the given degree, or of the least degree at which the program can be stated."""
    if degree is None:
        degree = least_degree(system, [] if objective is None else [objective])
    return Relaxation(system, degree, **options)
