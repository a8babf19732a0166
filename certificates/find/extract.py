"""What a solved relaxation claims, in exact polynomials, and the ways of proving it put together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from certificates.exact import exact_number, fraction, nice_fraction
from certificates.find.float_certificate import FloatCertificate
from certificates.find.for_all import matrices_of
from certificates.find.program import ProgramCertificate, of_measures
from certificates.find.rounding import CertificateError, NotCertifiable
from certificates.find.univariate import SeriesCertificate, local_minima, of_series
from certificates.find.ways import Outcome, outcome
from certificates.find.words import WordCertificate
from certificates.identity import Claim, InExpectation
from certificates.proof import Proof, WordProof
from sosdp.algebra.chebyshev import ChebyshevPolynomial
from sosdp.algebra.polynomial import Polynomial, coerce, variable
from sosdp.algebra.variables import variable_name
from sosdp.conic.exact.corrected import dyadic
from sosdp.conic.exact.integers import rounded
from sosdp.model.system import System

Result = TypeVar("Result")
PROVED = "an exact certificate was found and checked"
_SLOPE = 1e-5  # of a slope, up to which it is a short fraction
_SCALAR = ("equality", "inequality")


def extract(result: Any) -> Any:
    """The float certificate of a solved relaxation, ready for `.exact()`.

    `result`: what sosdp.minimize, maximize, feasible or prove_sos return (about operators too), or what a
    SosProgram or a MeasureProgram does. A complex problem is certified in the real and imaginary parts of its
    variables (and solved in them first, where it was not). Raises NotCertifiable when the result claims
    nothing (a feasible system, an unbounded relaxation, a failed solve).
    """
    if hasattr(result, "gamma"):
        return WordCertificate(result)
    if hasattr(result, "in_reals"):
        return extract(result.in_reals())
    if hasattr(result, "multipliers") and hasattr(result, "laws"):
        return of_measures(result, extract)
    if hasattr(result, "certified_values"):
        return ProgramCertificate(result, extract)
    if hasattr(result, "raw") and hasattr(result, "certified_bound"):
        single = hasattr(result, "angle") or len(result.variable_ids) == 1
        return of_series(result) if single else extract(_in_monomials(result))
    if not hasattr(result, "recentre"):
        raise TypeError(f"extract() takes a solved relaxation, not {type(result).__name__}")
    system, sense, status = result.system.as_exact(), result.sense, result.status
    parts: dict[str, Any] = {
        "equalities": system.equalities,
        "inequalities": system.inequalities,
        "matrices": (*map(_rows, system.matrices), *matrices_of(system.foralls, "s")),
        "expectations": _in_expectation(result.in_expectation),
    }
    objective = result.objective
    quadratic = objective is not None and not isinstance(objective, Polynomial)
    squares: tuple[Fraction, ...] = ()
    if quadratic and status != "infeasible":
        parts["squares"] = tuple((Fraction(w), coerce(p).as_exact()) for w, p in objective.squares if w > 0)
        if result.moments is not None:
            # w E[p]^2 >= u E[p] - u^2 / (4 w), with equality at u = 2 w E[p]
            slopes = np.array([2 * float(w) * result(p) for w, p in parts["squares"]])
            # without bounds on the set, exactly right slopes alone may leave something bounded
            short = [nice_fraction(u, _SLOPE * abs(u)) for u in slopes.tolist()]
            rounded_slopes = map(fraction, dyadic(slopes, 24))
            squares = tuple(v if u is None else u for u, v in zip(short, rounded_slopes, strict=True))
        objective = objective.linear
    if status == "unbounded":
        raise NotCertifiable(
            f"there is no bound to certify: {result.reason or 'the relaxation is unbounded'}"
        )
    if status == "infeasible" or (sense == "feasible" and status != "optimal"):
        # if not refuted in floating point, perhaps as nothing bounds the moments: exact multipliers may exist
        return FloatCertificate(result, Claim("infeasible", **parts), None)
    if sense == "sos":
        return FloatCertificate(result, Claim("sos", (coerce(objective).as_exact(),), **parts), None)
    if sense in ("minimize", "maximize") and np.isfinite(result.bound):
        kind = "lower_bound" if sense == "minimize" else "upper_bound"
        value = float(result.bound)
        claim = Claim(kind, (coerce(objective).as_exact(),), Fraction(0), **parts)
        ends = [float(claim.objectives[0].evaluate({result.variables[0]: z})) for z in local_minima(claim)]
        value = (min if sense == "minimize" else max)(ends, default=value)  # of one variable: the optimum
        return FloatCertificate(result, claim, value, squares)
    if sense == "feasible":
        raise NotCertifiable(
            "the relaxation found no contradiction in the system, so there is nothing to certify"
        )
    raise NotCertifiable(
        f"the solver gave no usable answer (status {status}): {result.reason or 'no reason given'}"
    )


def decide(result: Any, bound: Any = None, slack: float | None = None) -> Outcome:
    """Proved, refuted or undecided, for what `extract` takes: never raises for want of a proof."""
    try:
        best = extract(result)
    except NotCertifiable as error:
        status = getattr(result, "status", "")
        if bound is not None and status == "unbounded" and result.sense in ("minimize", "maximize"):
            return _no_bound(result, bound, str(error))
        return Outcome("undecided", None, str(error))
    if isinstance(best, FloatCertificate):
        return best.decide(bound=bound, slack=slack)
    answers = {SeriesCertificate: (bound, slack), WordCertificate: (bound,)}  # a program answers no bound
    return outcome(partial(best.exact, *answers.get(type(best), ())))


def with_proof(result: Result) -> tuple[Result, Proof | WordProof | None]:
    """A result with the better of its ``certified_bound`` and of what an exact proof proves, and the proof.

    ``result``: what ``extract`` takes. A refutation or a sum of squares that only the proof shows changes the
    status. Where no proof is found, the result as it is, and None: ``decide(result).reason`` says why. Cost:
    that of ``extract(result).exact()``.
    """
    try:
        proof: Any = extract(result).exact()
    except (CertificateError, ArithmeticError, ValueError):
        return result, None
    return _bettered(result, proof), proof


def _bettered(result: Any, proof: Any) -> Any:
    """The result with what a proof of it says, where that is more."""
    if hasattr(result, "real"):
        return replace(result, real=_bettered(result.real, proof))
    program, known = hasattr(result, "certified_values"), result.certified_bound
    said = {"sos": "proved", "feasible": "infeasible"}.get(result.sense)
    if said is not None and not program:
        # Gram matrices of a smaller cone are looked at elsewhere
        right = result.status == said or (said == "proved" and result.cone != "sos")
        return result if right else replace(result, status=said, reason=PROVED)
    # a measure's bound may be about ratios, which another condition holds back
    if proof.bound is None or result.status == "infeasible" or (known is None and hasattr(result, "laws")):
        return result
    lower = (result.sense == "maximize") == program  # a program's value is attained
    bound = rounded(proof.bound, -1 if lower else 1)
    if known is not None and (bound <= known if lower else bound >= known):
        return result
    if not program:
        return replace(result, certified_bound=bound)
    named = [(variable_name(v), c) for v, c in proof.claim.values]
    values = {name: c for name, c in named if name in result.values}
    return replace(result, certified_bound=bound, certified_values=values)


def _no_bound(result: Any, bound: Any, reason: str) -> Outcome:
    """A bound where no bound has a certificate: the functional that shows it is that of a sum of squares."""
    if result.in_expectation or not isinstance(result.objective, Polynomial) or result.system.foralls:
        return Outcome("undecided", None, reason)
    from sosdp.relaxation.minimize import prove_sos

    gap = result.objective - exact_number(bound)
    return decide(prove_sos(gap if result.sense == "minimize" else -gap, result.system, degree=result.degree))


def _in_expectation(constraints: Any) -> InExpectation:
    """Constraints in expectation as a claim states them."""
    of = {kind: [c.body for c in constraints if c.kind == kind] for kind in (*_SCALAR, "psd", "forall")}
    equal, least = (tuple(p.as_exact() for p in of[kind]) for kind in _SCALAR)
    matrices = (*map(_rows, of["psd"]), *matrices_of(of["forall"], "e"))
    return InExpectation(equal, least, matrices)


def _in_monomials(result: Any) -> Any:
    """The solved relaxation in monomials of a bound on a Chebyshev polynomial in several variables."""
    from sosdp.relaxation import minimize

    statement = ChebyshevPolynomial({t: Fraction(c) for t, c in result.objective.terms.items()})
    p = statement.to_polynomial()
    box = [1 - variable(int(v)) ** 2 >= 0 for v in result.variable_ids]
    ask = minimize.maximize if result.sense == "maximize" else minimize.minimize
    return ask(p, System(box), max(result.degree, p.degree + p.degree % 2))


def _rows(matrix: Any) -> tuple[tuple[Polynomial, ...], ...]:
    return tuple(tuple(p.as_exact() for p in row) for row in matrix)
