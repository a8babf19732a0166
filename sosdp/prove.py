"""Where the engine and exact proofs meet: sums of squares that floats do not decide, and the better bound.

On the boundary of the sums of squares (``1 - y**2`` on the circle, a square of a sum with zeros) floats prove
nothing in either direction; rounding to an exact certificate often does. The exact machinery stands above the
relaxations in the order of packages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from .algebra.variables import variable_name
from .conic.exact.integers import rounded
from .model.options import AllOptions, spelled_out
from .relaxation import minimize
from .relaxation.certify.proof import CHECKED
from .relaxation.minimize import Constraints
from .relaxation.pseudoexpectation import PseudoExpectation

if TYPE_CHECKING:
    from certificates.proof import Proof
    from certificates.words import WordProof

Result = TypeVar("Result")
_FOUND = "an exact certificate was found and checked"
_SIDE = 60  # of the largest block of which an exact certificate is sought without being asked


@spelled_out("build", "solve")
def prove_sos(
    p: Any,
    system: Constraints = None,
    degree: int | None = None,
    *,
    zeros: Any = "auto",
    **options: Unpack[AllOptions],
) -> PseudoExpectation:
    """Is the polynomial (or symmetric matrix of polynomials) a sum of squares, modulo the system as in
    Putinar's theorem?

    Status ``proved``, ``refuted`` (no certificate of this degree exists) or ``unknown``; see
    ``sosdp.relaxation.minimize.prove_sos`` for the parameters. Where floating point does not prove it, the
    exact machinery is asked (blocks up to side 60; at most the time of a few more solves), and ``reason``
    says which of the two decided.
    """

    def small(found: PseudoExpectation) -> bool:
        return max(found.sizes["blocks"], default=0) <= _SIDE

    def exactly(found: PseudoExpectation) -> PseudoExpectation:
        wanted = found.status == "unknown" and found.cone == "sos" and small(found)
        return with_proof(replace(found, zeros=zeros))[0] if wanted else found

    result = minimize.prove_sos(p, system, degree, zeros=zeros, exactly=exactly, **options)
    if result.status == "proved":
        return result
    if result.cone != "sos":
        return _in_smaller_cone(result) if small(result) and result.status == "unknown" else result
    return unproven(decided_exactly(result, zeros) if small(result) else result)


def _in_smaller_cone(result: PseudoExpectation) -> PseudoExpectation:
    """The result, proved if an exact certificate has Gram matrices that are (scaled) diagonally dominant."""
    from certificates.checker.semidefinite import is_positive_semidefinite

    proof: Any = with_proof(result)[1]
    grams = [] if proof is None else [m.gram for m in proof.multipliers if m.gram]
    if not grams:
        return result
    for gram in grams:
        # symmetric and scaled diagonally dominant: if and only if the comparison matrix is semidefinite
        compared = [[c if i == j else -abs(c) for j, c in enumerate(row)] for i, row in enumerate(gram)]
        if result.cone == "dsos" and min(map(sum, compared)) < 0 or not is_positive_semidefinite(compared):
            return result
    known = f"an exact certificate with cone={result.cone!r} was found and checked"
    return replace(result, status="proved", reason=known)


def unproven(result: PseudoExpectation) -> PseudoExpectation:
    """A refusal in floating point is no theorem: on a set, whose multipliers may be as large as they like, it
    leaves the question open; for all of R^n it stands, and says that it is not proven."""
    if result.status != "refuted" or result.reason.endswith(CHECKED):
        return result
    status = "unknown" if len(result.system) else "refuted"
    return replace(result, status=status, reason=f"{result.reason}, in floating point: not proven")


def with_proof(result: Result) -> tuple[Result, Proof | WordProof | None]:
    """A result with the better of its ``certified_bound`` and of what an exact proof proves, and the proof.

    ``result``: what ``certificates.extract`` takes: of ``minimize``, ``maximize``, ``feasible`` or
    ``prove_sos``, also about complex numbers, operators and angles, of a ``SosProgram`` or a
    ``MeasureProgram``. A refutation or a sum of squares that only the proof shows changes the status. Where
    no proof is found, the result as it is, and None: ``certificates.decide(result).reason`` says why. Cost:
    that of ``certificates.extract(result).exact()``.
    """
    from certificates import CertificateError
    from certificates.find.extract import extract

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
        return result if right else replace(result, status=said, reason=_FOUND)
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


def decided_exactly(result: PseudoExpectation, zeros: Any = "auto") -> PseudoExpectation:
    """The result with the verdict of an exact certificate, where there is one.

    It is about the binary numbers that floats are: 0.1*(x - y)**2 + 0.3*(x*y - 1)**2 in floats is negative at
    (1, 1). Write fractions (or use a problem file, whose decimals are read exactly) where decimals are meant.
    """
    from certificates import CertificateError
    from certificates.find.extract import decide

    try:
        outcome = decide(replace(result, zeros=zeros))
        status, reason = outcome.status, outcome.reason
    except (CertificateError, ArithmeticError, ValueError) as error:
        status, reason = "undecided", str(error)
    if status == "undecided":  # nothing exact contradicts a refutation
        told = result.status == "refuted"
        return result if told else replace(result, reason=f"{result.reason}; exactly: {reason}")
    said = _FOUND if status == "proved" else f"{result.reason}; {CHECKED}"
    return replace(result, status=status, reason=said)
