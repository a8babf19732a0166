"""The identity of a proof as sympy expressions: target = sum of weighted squares times constraints."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from certificates.identity import Identity, Multiplier
from sosdp.extras import need

_SQUARES = ("sos", "inequality", "product")


def proof_sympy(proof: Identity, target: int = 0) -> Any:
    """``sympy.Eq(left, right)`` of one target, unevaluated: the right side shows every square.

    ``sympy.expand(equation.lhs - equation.rhs)`` is 0 for a valid proof. Raises ValueError for claims whose
    summands are no squares times polynomials (matrix inequalities, distributions, refusals), and for a target
    that is not there. Cost: an exact LDL^T for each Gram matrix, cubic in its side with growing rationals.
    """
    need("sympy", "the bridge to sympy")
    import sympy

    claim = proof.claim
    if claim.kind == "no_certificate" or claim.expectations or claim.squares or claim.matrices:
        raise ValueError(
            "only proofs that are squares times polynomials have a sympy form: not those about matrices, "
            "distributions or refusals"
        )
    if not 0 <= target < len(claim.targets):
        raise ValueError(f"the claim has {len(claim.targets)} targets; there is no number {target}")
    summands = [_summand(proof, m) for m in proof.multipliers if m.target == target]
    right = sympy.Add(*[s for s in summands if s != 0], evaluate=False)
    return sympy.Eq(claim.targets[target].to_sympy(), right, evaluate=False)


def _summand(proof: Identity, multiplier: Multiplier) -> Any:
    need("sympy", "the bridge to sympy")
    import sympy

    claim = proof.claim
    if multiplier.polynomial is not None:
        factor = claim.equalities[multiplier.index[0]].to_sympy()
        return sympy.Mul(multiplier.polynomial.to_sympy(), factor, evaluate=False)
    squares = []
    for weight, q in multiplier.squares():
        w = Fraction(weight)
        square = sympy.Pow(q.to_sympy(), 2, evaluate=False)
        squares.append(sympy.Mul(sympy.Rational(w.numerator, w.denominator), square, evaluate=False))
    if not squares:
        return sympy.Integer(0)
    total = sympy.Add(*squares, evaluate=False)
    factors = [claim.inequalities[k].to_sympy() for k in multiplier.index]
    return sympy.Mul(total, *factors, evaluate=False) if factors else total
