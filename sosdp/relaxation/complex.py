"""Minima of polynomials in complex variables: Hermitian or real relaxations, certified alike."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from ..algebra import monomials as mono
from ..algebra.complex import (
    ComplexConstraint,
    ComplexPolynomial,
    as_complex,
    conjugate_id,
    in_real_variables,
    own_id,
    real_parts,
)
from ..algebra.polynomial import Polynomial, variable
from ..model.options import SolveOptions, read_options
from ..model.system import System
from ..progress import shown
from ..reduction.bounds import VariableBounds, deduce_bounds
from .build.hermitian import hermitian_identity, order_of
from .build.identity import GramProgram
from .build.scaling import find_scaling, scale
from .certify.classify import Answer, Question
from .pseudoexpectation import PseudoExpectation
from .relaxation import Relaxation
from .solve.solve import solve_program, unproducible

BASES = ("holomorphic", "real")


@dataclass(frozen=True, eq=False)
class ComplexExpectation:
    """The answer to a complex program: ``status``, ``bound``, ``certified_bound`` and ``reason`` as those of
    a ``PseudoExpectation`` (``real``, in the variables that were solved for), and the moments of z.
    """

    real: PseudoExpectation
    basis: str
    ids: tuple[int, ...]
    parts: dict[int, tuple[Polynomial, Polynomial]] = field(repr=False)

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

    def __call__(self, p: Any) -> complex:
        """The pseudo-expectation of a polynomial in z and its conjugate; ValueError where a moment is not
        part of the relaxation."""
        q = as_complex(p)
        if q is None:
            raise TypeError(f"expected a polynomial in complex variables, not {type(p).__name__}")
        if self.basis == "real":
            turned = q * as_complex(-1j)
            return complex(
                self.real(in_real_variables(q, self.parts)), self.real(in_real_variables(turned, self.parts))
            )
        total = 0j
        for source, unit in ((q.first, 1), (q.second, 1j)):
            for row, coef in zip(source.monos.tolist(), source.coefs.tolist(), strict=True):
                total += unit * float(coef) * self._moment([i for i in row if i])
        return total

    def _moment(self, row: list[int]) -> complex:
        """The moment of one monomial in variables and conjugates."""
        own = tuple(i for i in row if own_id(i) == i)
        other = tuple(sorted(own_id(i) for i in row if own_id(i) != i))
        if not row:
            return 1.0 + 0j
        flipped = (len(own), own) > (len(other), other)
        a, b = (other, own) if flipped else (own, other)
        re = self._slot(a, b)
        if a == b:
            return complex(re)
        value = complex(re / 2, -self._slot(b, a, optional=True) / 2)
        return value.conjugate() if flipped else value

    def _slot(self, left: tuple[int, ...], right: tuple[int, ...], optional: bool = False) -> float:
        row = sorted([*left, *(conjugate_id(i) for i in right)])
        values, known = self.real._moment_values(np.array([row], dtype=mono.MONOMIAL))
        if not known[0] and not optional:
            raise ValueError("this moment is not part of the relaxation; raise the degree")
        return float(values[0]) if known[0] else 0.0

    def moment_matrix(self, degree: int | None = None) -> np.ndarray:
        """The Hermitian matrix E[z^b conj(z)^a] of the monomials of at most this degree (by default half that
        of the relaxation), in the order of ``monomials``."""
        from ..algebra.build import monomials

        top = self.real.degree // 2 if degree is None else degree
        basis = [ComplexPolynomial(m, Polynomial(0)) for m in monomials([variable(i) for i in self.ids], top)]
        return np.array([[self(b * a.conj()) for b in basis] for a in basis])


@shown("relaxation")
def minimize_complex(
    objective: Any,
    constraints: Any = (),
    degree: int | None = None,
    *,
    sense: str = "minimize",
    basis: str = "holomorphic",
    **solver_options: Unpack[SolveOptions],
) -> ComplexExpectation:
    """Lower bound on the minimum (``sense="maximize"``: upper, on the maximum) of a real-valued polynomial in
    complex variables and their conjugates.

    Parameters
    ----------
    objective
        A ``ComplexPolynomial`` (``complex_variables``) that equals its conjugate.
    constraints
        ``p >= 0`` for such p, ``p == q`` for any, in nested lists.
    degree
        Twice the order: powers of z, and of conj(z), in a product go up to half of it. By default the least.
    basis
        ``holomorphic``: squares |q(z)|**2 of polynomials in z alone, the complex hierarchy, small matrices;
        ``real``: all squares, that is the real relaxation in the parts of z, larger and never weaker.

    Raises ValueError for an objective that is not real or a degree too small. Source: Josz and Molzahn 2018;
    Wang and Magron, TSSOS for complex polynomials (2021).
    """
    began = time.perf_counter()
    options = read_options("minimize", {**solver_options}, ["solve"], more=("degree", "basis"))
    if basis not in BASES:
        raise ValueError(f"basis={basis!r} is not known; choose one of {', '.join(map(repr, BASES))}")
    target = as_complex(objective)
    if target is None:
        raise TypeError(f"expected a polynomial in complex variables, not {type(objective).__name__}")
    if not target.is_real:
        raise ValueError(f"the objective {target!r} is not real everywhere: it must equal its conjugate")
    inequalities, equalities = _collected(constraints)
    data = [target, *inequalities, *equalities]
    ids = sorted({i for p in data for i in p.variable_ids})
    if not ids:
        raise ValueError("there is no complex variable")
    least = max(1, *(order_of(p) for p in data))
    order = least if degree is None else degree // 2
    if order < least:
        raise ValueError(f"degree {degree} is too small for powers up to {least}; use degree={2 * least}")
    parts = real_parts(ids)
    system = System.from_parts(
        [in_real_variables(h, parts) for h in equalities],
        [in_real_variables(g, parts) for g in inequalities],
    )

    def in_parts(since: float | None = None) -> PseudoExpectation:
        whole = in_real_variables(target, parts)
        top = max([whole.degree, system.degree, 2 * order])
        relaxation = Relaxation(system, top + top % 2)
        ask = relaxation.minimize if sense == "minimize" else relaxation.maximize
        limited = solver_options.copy()
        if since is not None and options.time_limit is not None:
            limited["time_limit"] = max(options.time_limit - (time.perf_counter() - since), 0.01)
        return ask(whole, **limited)

    if basis == "real":
        return ComplexExpectation(in_parts(), basis, tuple(ids), parts)
    if options.solver == "sos_cone":
        raise ValueError("solver='sos_cone' is for real variables: use basis='real', or another solver")
    solver = replace(options, solver="borrowed" if options.solver == "auto" else options.solver)
    signed = target if sense == "minimize" else -target
    bounds = _bounds(ids, parts, system)

    def solve(p: ComplexPolynomial, what: str) -> PseudoExpectation:
        started = time.perf_counter()
        options.report("build", started)
        identity = hermitian_identity(p, inequalities, equalities, ids, order)
        scaling = find_scaling(identity, bounds)
        upper = np.array([1.0 if what == "feasible" else np.inf])
        program = GramProgram(scale(identity, scaling), np.ones(1), upper)
        built = time.perf_counter()
        options.report("solve", started)
        raw = unproducible(identity) or solve_program(program, **solver.solving())
        solved = time.perf_counter()
        options.report("certify", started)
        nothing = as_complex(0)
        assert nothing is not None
        stated = in_real_variables(p if what != "maximize" else -p, parts) if what != "feasible" else None
        question = Question(
            system, 2 * order, "sos", what, stated, (), solver, lambda: solve(nothing, "feasible")
        )
        found = Answer(question, identity, scaling, program, raw).judge()
        times = {"build": built - started, "solve": solved - built, "certify": time.perf_counter() - solved}
        sizes = {
            "moments": int(identity.columns.shape[0]),
            "blocks": sorted(identity.sides, reverse=True),
            "degree": 2 * order,
        }
        return replace(found, times=times, sizes=sizes)

    solved = solve(signed, sense)
    late = options.time_limit is not None and time.perf_counter() - began >= options.time_limit
    if solved.status in ("failed", "inaccurate") and solved.certified_bound is None and not late:
        # Hermitian squares are squares of the parts: where no bound has a certificate of these, none has of
        # those, and a ray shows it here (moments of z grow with the square of their size, along no ray)
        wider = in_parts(began)
        if wider.status in ("unbounded", "infeasible"):
            solved = replace(solved, status=wider.status, bound=wider.bound, reason=wider.reason)
    return ComplexExpectation(solved, basis, tuple(ids), parts)


def _collected(constraints: Any) -> tuple[list[ComplexPolynomial], list[ComplexPolynomial]]:
    """Inequalities and equalities, the latter as real polynomials (a complex one has two parts)."""
    inequalities: list[ComplexPolynomial] = []
    equalities: list[ComplexPolynomial] = []
    stack = [constraints]
    while stack:
        item = stack.pop()
        if item is None:
            continue
        if isinstance(item, ComplexConstraint):
            if item.kind == "inequality":
                inequalities.append(item.polynomial)
            elif item.polynomial.is_real:
                equalities.append(item.polynomial)
            else:
                equalities += [item.polynomial.real, item.polynomial.imag]
        elif isinstance(item, Iterable) and not isinstance(item, str):
            stack.extend(reversed(list(item)))
        else:
            raise TypeError(f"expected constraints between complex polynomials, not {type(item).__name__}")
    return inequalities, [h for h in equalities if h.first or h.second]


def _bounds(
    ids: list[int], parts: dict[int, tuple[Polynomial, Polynomial]], system: System
) -> VariableBounds:
    """Bounds on |z_k|, for z_k and its conjugate, from those on the real and imaginary parts."""
    real = deduce_bounds(system.equalities, system.inequalities, ())
    largest: dict[int, float] = {}
    for i in ids:
        pair = np.array([[int(p.variable_ids[0])] for p in parts[i]], dtype=mono.MONOMIAL)
        square = real.squared_norm(pair)
        if math.isfinite(square):
            largest[i] = largest[conjugate_id(i)] = math.sqrt(square) * (1 + 1e-12)
    return VariableBounds(largest, ())
