"""The identity of a proof in LaTeX, as it would stand in a paper."""

from __future__ import annotations

from fractions import Fraction

from certificates.proof import Claim, Multiplier, Proof
from sosdp.algebra.polynomial import Polynomial


def proof_latex(proof: Proof, largest: int = 6) -> str:
    """An aligned environment: target = summands.  Gram matrices of side above `largest` are named Q_k.

    A named summand reads b_k^T Q_k b_k; its entries are in the certificate file.
    """
    claim = proof.claim
    parts = []
    for target, polynomial in enumerate(claim.targets):
        summands = [
            _summand(claim, m, k, largest) for k, m in enumerate(proof.multipliers) if m.target == target
        ]
        body = r" \\ &\quad + ".join(s for s in summands if s) or "0"
        parts.append(f"{polynomial.latex()} &= {body}")
    return "\\begin{aligned}\n" + " \\\\\n".join(parts) + "\n\\end{aligned}"


def _summand(claim: Claim, multiplier: Multiplier, k: int, largest: int) -> str:
    if multiplier.kind == "equality":
        assert multiplier.polynomial is not None
        return _parenthesised(multiplier.polynomial) + _parenthesised(claim.equalities[multiplier.index[0]])
    if multiplier.kind == "expectation_equality":
        assert multiplier.polynomial is not None
        of_mean = claim.expectations.equalities[multiplier.index[0]]
        return _parenthesised(multiplier.polynomial) + _parenthesised(of_mean)
    if multiplier.kind == "square":
        assert multiplier.polynomial is not None
        weight, of_mean = claim.squares[multiplier.index[0]]
        u = Fraction(multiplier.polynomial.constant)
        paid = number_latex(u * u / (4 * weight))
        return rf"\Bigl({paid} - \left({number_latex(u)}\right){_parenthesised(of_mean)}\Bigr)"
    if multiplier.kind == "psd":
        squares = rf"b_{{{k}}} b_{{{k}}}^{{\mathsf T}} \otimes G_{{{multiplier.index[0]}}}"
        return rf"\bigl\langle Q_{{{k}}},\, {squares} \bigr\rangle"
    if multiplier.kind == "expectation_psd":
        return rf"\bigl\langle Q_{{{k}}},\, M_{{{multiplier.index[0]}}} \bigr\rangle"
    listed = claim.expectations.inequalities if multiplier.kind == "expectation" else claim.inequalities
    factors = "".join(_parenthesised(listed[i]) for i in multiplier.index)
    if len(multiplier.basis) > largest:
        return rf"b_{{{k}}}^{{\mathsf T}} Q_{{{k}}}\, b_{{{k}}}" + factors
    squares = " + ".join(_square(weight, polynomial) for weight, polynomial in multiplier.squares())
    return rf"\bigl({squares}\bigr){factors}" if factors else squares


def _square(weight: Fraction, polynomial: Polynomial) -> str:
    front = "" if weight == 1 else number_latex(weight) + r"\,"
    return front + _parenthesised(polynomial) + "^{2}"


def _parenthesised(polynomial: Polynomial) -> str:
    return rf"\left({polynomial.latex()}\right)"


def number_latex(value: Fraction) -> str:
    """A rational number in LaTeX."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}"
