"""A proof in words: the claim, what each multiplier is, and the verdict."""

from __future__ import annotations

import math

from certificates.check import Verdict
from certificates.identity import Claim, Identity, Multiplier
from sosdp.algebra.polynomial import Polynomial


def describe(identity: Identity, verdict: Verdict) -> str:
    """The claim, the multipliers and the verdict in words."""
    lines = [f"Claim: {verdict.claim}"]
    if identity.functional is not None:
        lines.append(
            f"Proof: a linear functional, given by its values on {identity.functional.coefs.size} monomials, "
            "is nonnegative on everything a certificate is made of and negative on the polynomial."
        )
        lines.append(f"Checked exactly: {verdict}.")
        return "\n".join(lines)
    lines.append(f"Proof: {_target_words(identity.claim)} equals the sum of")
    for multiplier in identity.multipliers:
        lines.append(f"  - {_multiplier_words(identity.claim, multiplier)}")
    digits = max((math.ceil(m.denominator.bit_length() * 0.30103) for m in identity.multipliers), default=1)
    lines.append(f"Degree {identity.degree}; denominators of at most {digits} digit{'s' * (digits != 1)}.")
    lines.append(f"Checked exactly: {verdict}.")
    return "\n".join(lines)


def _target_words(claim: Claim) -> str:
    if claim.kind == "infeasible":
        return "-1"
    if claim.kind in ("sos", "program"):
        return "the polynomial" if len(claim.objectives) == 1 else "each polynomial"
    return "objective - bound" if claim.kind == "lower_bound" else "bound - objective"


def _short(polynomial: Polynomial, limit: int = 60) -> str:
    if polynomial.coefs.size > 12:
        return f"a polynomial of degree {polynomial.degree} with {polynomial.coefs.size} terms"
    text = str(polynomial)
    return text if len(text) <= limit else text[:limit] + "..."


def _multiplier_words(claim: Claim, multiplier: Multiplier) -> str:
    of = f" (objective {multiplier.target})" if len(claim.objectives) > 1 else ""
    if multiplier.kind in ("expectation_equality", "square"):
        assert multiplier.polynomial is not None
        number = _short(multiplier.polynomial)
        if multiplier.kind == "square":
            weight, p = claim.squares[multiplier.index[0]]
            given = f"u = {number}, w = {weight}, p = {_short(p)}"
            return f"u^2/(4 w) - u p, at least -w E[p]^2 on average, for {given}"
        return f"{number} times {_short(claim.expectations.equalities[multiplier.index[0]])}, zero on average"
    if multiplier.kind == "expectation":
        weight = multiplier.matrix.sum()
        p = claim.expectations.inequalities[multiplier.index[0]]
        return f"{float(weight):.6g} times {_short(p)}, nonnegative on average"
    if multiplier.kind == "expectation_psd":
        side = len(multiplier.basis)
        return (
            f"a constant matrix of side {side} paired with a matrix that is positive semidefinite on average"
        )
    if multiplier.kind == "equality":
        assert multiplier.polynomial is not None
        return (
            f"a polynomial of degree {multiplier.polynomial.degree} times the equality "
            f"{_short(claim.equalities[multiplier.index[0]])} = 0{of}"
        )
    squares = f"a sum of squares of degree {multiplier.degree} (Gram matrix of side {len(multiplier.basis)})"
    if multiplier.kind == "sos":
        return squares + of
    if multiplier.kind == "psd":
        return (
            f"a matrix sum of squares of degree {multiplier.degree} "
            f"(Gram matrix of side {len(multiplier.basis)}) paired with matrix {multiplier.index[0]}{of}"
        )
    factors = " times ".join(f"({_short(claim.inequalities[k])})" for k in multiplier.index)
    return f"{squares} times {factors}, nonnegative on the set{of}"
