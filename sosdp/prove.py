"""Is a polynomial a sum of squares? In floating point first, and exactly where that does not decide.

On the boundary of the sums of squares (``1 - y**2`` on the circle, a square of a sum with zeros) floats prove
nothing in either direction; rounding to an exact certificate often does. The exact machinery stands above the
relaxations in the order of packages, so that the two meet here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from .model.options import AllOptions, spelled_out
from .relaxation import minimize
from .relaxation.certify.proof import CHECKED
from .relaxation.minimize import Constraints
from .relaxation.pseudoexpectation import PseudoExpectation

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
    from certificates.find.extract import with_proof

    def exactly(answer: PseudoExpectation) -> PseudoExpectation:
        wanted = answer.status == "unknown" and answer.cone == "sos" and _small(answer)
        return with_proof(answer)[0] if wanted else answer

    result = minimize.prove_sos(p, system, degree, zeros=zeros, exactly=exactly, **options)
    if result.status == "proved":
        return result
    if result.cone != "sos":
        return _in_smaller_cone(result) if _small(result) and result.status == "unknown" else result
    return unproven(decided_exactly(result) if _small(result) else result)


def _small(result: PseudoExpectation) -> bool:
    return max(result.sizes["blocks"], default=0) <= _SIDE


def _in_smaller_cone(result: PseudoExpectation) -> PseudoExpectation:
    """The result, proved if an exact certificate has Gram matrices that are (scaled) diagonally dominant."""
    from certificates.find.extract import with_proof
    from certificates.kernel import rank

    proof: Any = with_proof(result)[1]
    grams = [] if proof is None else [m.gram for m in proof.multipliers if m.gram]
    if not grams:
        return result
    for gram in grams:
        # symmetric and scaled diagonally dominant: if and only if the comparison matrix is semidefinite
        compared = [[c if i == j else -abs(c) for j, c in enumerate(row)] for i, row in enumerate(gram)]
        if result.cone == "dsos" and min(map(sum, compared)) < 0 or rank(compared) is None:
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


def decided_exactly(result: PseudoExpectation) -> PseudoExpectation:
    """The result with the verdict of an exact certificate, where there is one.

    It is about the binary numbers that floats are: 0.1*(x - y)**2 + 0.3*(x*y - 1)**2 in floats is negative at
    (1, 1). Write fractions (or use a problem file, whose decimals are read exactly) where decimals are meant.
    """
    from certificates.find.extract import PROVED, decide

    try:
        outcome = decide(result)
        status, why = outcome.status, outcome.reason
    except (ArithmeticError, ValueError) as error:
        status, why = "undecided", str(error)
    if status == "undecided":  # nothing exact contradicts a refutation
        why = f"{result.reason}; exactly: {why}"
        return result if result.status == "refuted" else replace(result, reason=why)
    return replace(
        result, status=status, reason=PROVED if status == "proved" else f"{result.reason}; {CHECKED}"
    )
