"""A proof in words: the claim, what each multiplier is, and the verdict."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from certificates.check import Verdict
from certificates.identity import Claim, Identity, Multiplier
from sosdp.algebra.polynomial import Polynomial


def describe(identity: Identity, verdict: Verdict) -> str:
    """The claim, the multipliers and the verdict in words."""
    lines, claim = [f"Claim: {verdict.claim}"], identity.claim
    if identity.functional is not None:
        lines.append(
            f"Proof: a linear functional, given by its values on {identity.functional.coefs.size} monomials, "
            "is nonnegative on everything a certificate is made of and negative on the polynomial."
        )
    else:
        lines.append(f"Proof: {_target_words(claim)} equals the sum of")
        lines += [f"  - {_multiplier_words(claim, multiplier)}" for multiplier in identity.multipliers]
        sizes = [math.ceil(m.denominator.bit_length() * 0.30103) for m in identity.multipliers]
        digits = f"{max(sizes, default=1)} digit{'s' * (max(sizes, default=1) != 1)}"
        lines.append(f"Degree {identity.degree}; denominators of at most {digits}.")
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


_PHRASES = {
    "sos": "{squares}",
    "inequality": "{squares} times {factors}, nonnegative on the set",
    "product": "{squares} times {factors}, nonnegative on the set",
    "psd": "a matrix sum of squares of degree {degree} (Gram matrix of side {side}) paired with matrix {k}",
    "equality": "a polynomial of degree {degree} times the equality {it} = 0",
    "expectation": "{weight:.6g} times {it}, nonnegative on average",
    "expectation_equality": "{number} times {it}, zero on average",
    "expectation_psd": "a constant matrix of side {side} paired with a matrix that is positive semidefinite "
    "on average",
    "square": "u^2/(4 w) - u p, at least -w E[p]^2 on average, for u = {number}, w = {of_square}, p = {it}",
}


def _multiplier_words(claim: Claim, multiplier: Multiplier) -> str:
    kind, side = multiplier.kind, len(multiplier.basis)
    factors = [claim.multiplied(kind)[k] for k in multiplier.index]
    weight = Fraction(multiplier.matrix.sum())
    plain = [] if kind.endswith("psd") else [_short(p) for p in factors]
    said = _PHRASES[kind].format(
        squares=f"a sum of squares of degree {multiplier.degree} (Gram matrix of side {side})",
        degree=multiplier.degree,
        side=side,
        k=multiplier.index[0] if multiplier.index else "",
        it=plain[0] if plain else "",
        factors=" times ".join(f"({p})" for p in plain),
        weight=Decimal(weight.numerator) / weight.denominator,
        number="" if multiplier.polynomial is None else _short(multiplier.polynomial),
        of_square=claim.squares[multiplier.index[0]][0] if kind == "square" else "",
    )
    return said + (f" (objective {multiplier.target})" if len(claim.objectives) > 1 else "")
