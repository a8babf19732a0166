"""The identity of a proof as sympy expressions: target = sum of weighted squares times constraints."""

from __future__ import annotations

from typing import Any

from certificates.identity import Identity, Summand, summands
from sosdp.extras import need


def proof_sympy(proof: Identity, target: int = 0) -> Any:
    """``sympy.Eq(left, right)`` of one target, unevaluated: the right side shows every square.

    ``sympy.expand(equation.lhs - equation.rhs)`` is 0 for a valid proof. Raises ValueError for claims whose
    summands are no squares times polynomials (matrix inequalities, distributions, refusals), and for a target
    that is not there. Cost: an exact LDL^T for each Gram matrix, cubic in its side with growing rationals.
    """
    need("sympy", "the bridge to sympy")
    import sympy

    def times(*factors: Any) -> Any:
        return sympy.Mul(*factors, evaluate=False)

    def written(part: Summand) -> Any:
        squares = [
            times(sympy.Rational(w.numerator, w.denominator), sympy.Pow(q.to_sympy(), 2, evaluate=False))
            for w, q in part.squares
        ]
        first = part.cofactor.to_sympy() if part.cofactor is not None else sympy.Add(*squares, evaluate=False)
        return times(first, *(factor.to_sympy() for factor in part.factors)) if part.factors else first

    parts = [p for p in summands(proof, target) if p.squares or p.cofactor is not None]
    right = sympy.Add(*map(written, parts), evaluate=False)
    return sympy.Eq(proof.claim.targets[target].to_sympy(), right, evaluate=False)
