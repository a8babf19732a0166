"""Products and powers of polynomials."""

from __future__ import annotations

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.polynomial import Polynomial, constant


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """The product; exact coefficients stay exact."""
    if left.is_constant:
        return right._scaled(left.constant) if left or left.is_exact else right._scaled(0.0)
    if right.is_constant:
        return left._scaled(right.constant) if right or right.is_exact else left._scaled(0.0)
    keys = np.add.outer(left.keys, right.keys).reshape(-1)
    coefs = merging.outer_coefs(left.coefs, right.coefs, min(left.coefs.size, right.coefs.size))
    first, keys, coefs = merging.merge(keys, coefs)
    i, j = np.divmod(first, right.coefs.size)
    monos = np.concatenate([left.monos[i], right.monos[j]], axis=1)
    monos.sort(axis=1)
    return Polynomial._make(*merging.finish(monos, coefs, keys))


def power(base: Polynomial, exponent: int) -> Polynomial:
    """The power with a non-negative integer exponent, by repeated squaring."""
    if exponent == 0:
        return constant(1)
    if base.coefs.size == 1 and base.degree:
        row = np.repeat(base.monos, exponent, axis=1)
        monomial = Polynomial._make(row, np.ones(1, dtype=np.int64), mono.keys(row))
        return (
            monomial
            if base.coefs[0] == 1 and base.is_exact
            else monomial._scaled(_number_power(base, exponent))
        )
    if base.is_constant:
        return constant(_number_power(base, exponent)) if base else base
    result: Polynomial | None = None
    square = base
    while True:
        if exponent & 1:
            result = square if result is None else multiply(result, square)
        exponent >>= 1
        if not exponent:
            return result if result is not None else constant(1)
        square = multiply(square, square)


def _number_power(base: Polynomial, exponent: int):
    value = base.coefs.tolist()[0]
    try:
        return value**exponent
    except OverflowError:
        raise ValueError("a coefficient overflows in this power: rescale, or use exact numbers") from None
