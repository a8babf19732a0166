"""Inequalities that need no data, as exact derivations: Cauchy-Schwarz, means, triangle, Hölder, 0/1
variables, cancelling. Import them from `certificates.derive.lemmas`, beside the steps that are built on them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import fmpz_poly

from certificates.derive.calculus import (
    ZERO,
    Derivation,
    _exact,
    _exact_polynomial,
    assume,
    nothing,
    square,
    sum_of_squares,
)
from sosdp.algebra.polynomial import Polynomial

_LARGEST = 5000  # summands up to which an identity is written down


def inner(a: Sequence[Any], b: Sequence[Any]) -> Polynomial:
    """The polynomial ``sum_i a_i b_i``; ValueError for different lengths."""
    left, right = _polynomials(a), _polynomials(b)
    if len(left) != len(right):
        raise ValueError(f"two vectors of lengths {len(left)} and {len(right)} have no inner product")
    return sum((p * q for p, q in zip(left, right, strict=True)), start=ZERO)


def cauchy_schwarz(a: Sequence[Any], b: Sequence[Any]) -> Derivation:
    """``<a, b>^2 <= |a|^2 |b|^2``, by Lagrange's identity ``sum_{i<j} (a_i b_j - a_j b_i)^2``; degree 4."""
    return weighted_cauchy_schwarz(None, a, b)


def weighted_cauchy_schwarz(weights: Sequence[Any] | None, a: Sequence[Any], b: Sequence[Any]) -> Derivation:
    """``(sum w_i a_i b_i)^2 <= (sum w_i a_i^2)(sum w_i b_i^2)`` from ``w_i >= 0``.

    ``weights``: derivations of w_i >= 0 (or polynomials, then assumed to be nonnegative); None: all 1. The
    identity is ``sum_{i<j} w_i w_j (a_i b_j - a_j b_i)^2``; degree 6 for variables.
    """
    left, right = _polynomials(a), _polynomials(b)
    given = [square(1)] * len(left) if weights is None else weights
    w = [v if isinstance(v, Derivation) else assume(v) for v in given]
    if len(w) != len(left):
        raise ValueError(f"{len(left)} terms need as many weights, not {len(w)}")
    inner(left, right)
    pairs = itertools.combinations(range(len(left)), 2)
    return _total(square(left[i] * right[j] - left[j] * right[i]) * w[i] * w[j] for i, j in pairs)


def cauchy_schwarz_split(a: Sequence[Any], b: Sequence[Any], c: Any = 1) -> Derivation:
    """``<a, b> <= c/2 |a|^2 + 1/(2c) |b|^2`` for a number c > 0; degree 2."""
    left, right, weight = _polynomials(a), _polynomials(b), _positive(c, "c")
    inner(left, right)
    return sum_of_squares([(weight / 2, p - q / weight) for p, q in zip(left, right, strict=True)])


def am_gm(xs: Sequence[Any]) -> Derivation:
    """``prod x_i^2 <= (1/n) sum x_i^(2n)``: the mean inequality for the n squares ``x_i^2``; degree 2n.

    Hurwitz's identity (1891): half the mean, over all orders of the a_i = x_i^2, of
    ``sum_k (a_1^(n-k) - a_2^(n-k))(a_1 - a_2) a_3 ... a_(k+1)``, every summand of which is a sum of squares.
    Cost: about n^3 2^n squares; ValueError for n = 0.
    """
    x = _polynomials(xs)
    n = len(x)
    if n == 0:
        raise ValueError("the mean inequality needs at least one argument")
    squares = []
    for i, j in itertools.permutations(range(n), 2):
        others = [k for k in range(n) if k not in (i, j)]
        for k in range(1, n):
            # of all n! orders, those with i and j in front and this set of k - 1 behind them
            share = Fraction(math.factorial(k - 1) * math.factorial(n - 1 - k), 2 * math.factorial(n))
            for chosen in itertools.combinations(others, k - 1):
                rest = math.prod((x[m] for m in chosen), start=Polynomial(1))
                # (a^m - b^m)(a - b) = (a - b)^2 (a^(m-1) + a^(m-2) b + ...)
                for p in range(n - k):
                    factor = (x[i] ** 2 - x[j] ** 2) * x[i] ** p * x[j] ** (n - k - 1 - p) * rest
                    squares.append((share, factor))
    return sum_of_squares(squares)


def young(x: Any, y: Any, j: int, n: int) -> Derivation:
    """``x^(2j) y^(2(n-j)) <= (j/n) x^(2n) + ((n-j)/n) y^(2n)`` for 0 <= j <= n; degree 2n.

    With u = x^2, v = y^2 the difference is (u - v)^2 times a form in u and v with positive coefficients.
    """
    if not (isinstance(n, int) and isinstance(j, int) and 0 <= j <= n and n >= 1):
        raise ValueError(f"young needs integers 0 <= j <= n and n >= 1, not j={j}, n={n}")
    p, q = _exact_polynomial(x), _exact_polynomial(y)
    t = fmpz_poly([0, 1])
    form = (j * t**n - n * t**j + (n - j)) // (t - 1) ** 2
    weights = [(k, Fraction(int(c), n)) for k, c in enumerate(form.coeffs()) if c]
    return sum_of_squares((w, (p * p - q * q) * p**k * q ** (n - 2 - k)) for k, w in weights)


def product_of_powers(xs: Sequence[Any]) -> Derivation:
    """``x_1 x_2 ... x_t <= (1/t) sum x_i^t`` for real x_i and t even; degree t.

    Half of ``(P - Q)^2`` with P, Q the products of the two halves, then the mean inequality for P^2 and Q^2.
    """
    x = _polynomials(xs)
    t = len(x)
    if t == 0 or t % 2:
        raise ValueError(f"the product of {t} factors has any sign: an even number >= 2 is needed")
    first, second = x[: t // 2], x[t // 2 :]
    p, q = (math.prod(half, start=Polynomial(1)) for half in (first, second))
    half = Fraction(1, 2)
    return square(p - q, half) + am_gm(first) * half + am_gm(second) * half


def triangle(xs: Sequence[Any], power: int = 2) -> Derivation:
    """``(x_1 + ... + x_r)^t <= r^(t-1) (x_1^t + ... + x_r^t)`` for t even; degree t (Fact E.2 of Chen,
    Cohen-Addad, d'Orsi, Epasto, Imola, Steurer and Tiegel 2023)."""
    x = _polynomials(xs)
    return holder([1] * len(x), x, power, weights="numbers")


def weighted_triangle(a: Any, b: Any, c: Any = 1) -> Derivation:
    """``(a + b)^2 <= (1 + c) a^2 + (1 + 1/c) b^2`` for a number c > 0; degree 2."""
    p, q, weight = _exact_polynomial(a), _exact_polynomial(b), _positive(c, "c")
    return square(p * weight - q, 1 / weight)


def holder(w: Sequence[Any], f: Sequence[Any], power: int, weights: str = "nonnegative") -> Derivation:
    """``(sum w_i f_i)^t <= (sum w_i)^(t-1) sum w_i f_i^t`` for t even.

    ``weights="nonnegative"``: from w_i >= 0, with products of t of them (degree 2t for variables);
    ``"boolean"``: from w_i^2 = w_i, with plain squares and cofactors; ``"numbers"``: numbers >= 0 (with sum 1
    this is Jensen's inequality for a distribution on n points; degree t). Summed over all multi-indices
    (i_1, ..., i_t), the identity is ``prod w_i`` times what `product_of_powers` says of the f_i. Cost:
    C(n+t-1, t) terms; ValueError beyond 5000, for an odd power, or for different lengths.
    """
    _half(power)
    if weights not in ("nonnegative", "boolean", "numbers"):
        raise ValueError(f"weights={weights!r}: choose 'nonnegative', 'boolean' or 'numbers'")
    ws, fs = _polynomials(w), _polynomials(f)
    n = len(ws)
    if n == 0 or n != len(fs):
        raise ValueError(f"holder needs as many weights as functions, at least one: got {n} and {len(fs)}")
    if math.comb(n + power - 1, power) > _LARGEST:
        raise ValueError(
            f"{n} functions to the power {power} need {math.comb(n + power - 1, power)} terms "
            f"(at most {_LARGEST}): prove it for fewer and substitute sums"
        )
    signs = [assume(p) if weights == "nonnegative" else square(1, p) for p in ws if weights != "boolean"]
    total = nothing()
    for chosen, orders in _multisets(n, power):
        part = product_of_powers([fs[k] for k in chosen]) * orders
        if weights == "boolean":  # w^c >= 0 from w >= 0, by w^c - w = (w^2 - w)(1 + ... + w^(c - 2))
            for k, c in Counter(chosen).items():
                powers = sum((ws[k] ** m for m in range(c - 1)), start=ZERO)
                part = part * (nonnegative(ws[k]) + boolean(ws[k]).times(powers))
        else:
            part = math.prod((signs[k] for k in chosen), start=part)
        total = total + part
    return _total([total])


def boolean(w: Polynomial) -> Derivation:
    """``w^2 = w``, as an assumption (an equality)."""
    p = _exact_polynomial(w)
    return assume(p * p - p, equality=True)


def nonnegative(w: Polynomial) -> Derivation:
    """``w >= 0`` from ``w^2 = w``; degree 2."""
    return square(w) + boolean(w) * -1


def at_most_one(w: Polynomial) -> Derivation:
    """``w <= 1`` from ``w^2 = w``; degree 2."""
    return square(1 - _exact_polynomial(w)) + boolean(w) * -1


def root(x: Any, bound: Any, power: int = 2) -> Derivation:
    """``x <= C`` from ``x^t <= C^t``, for t even and a number C > 0; degree t.

    With `young`: C^2 - x^2 is at least (2/t)(C^t - x^t) / C^(t-2); and 2 C (C - x) = (C^2 - x^2) + (C - x)^2.
    """
    p, c, half = _exact_polynomial(x), _positive(bound, "bound"), _half(power)
    given = assume(c**power - p**power)
    below = young(p, Polynomial(c), 1, half) * (1 / c ** (power - 2)) if half > 1 else nothing()
    squared = given * (Fraction(1, half) / c ** (power - 2)) + below
    return (squared + square(c - p)) * (1 / (2 * c))


def cancel(x: Any, bound: Any, power: int = 2) -> Derivation:
    """``x <= C`` from ``x^t <= C x^(t-1)``, for t even and a number C > 0; degree t.

    C^(t-1) (C - x) = (C x^(t-1) - x^t) + (C - x)^2 H with H = sum_k C^(t-2-k) x^k, which is half of
    C^(t-2) + x^(t-2) + (C + x)^2 sum_j C^(t-4-2j) x^(2j).
    """
    p, c, half = _exact_polynomial(x), _positive(bound, "bound"), _half(power) - 1
    weight = Fraction(1, 2) if half else Fraction(1)
    parts = [(weight * c ** (2 * half), c - p)] + ([(weight, (c - p) * p**half)] if half else [])
    parts += [(weight * c ** (2 * (half - 1 - j)), (c - p) * (c + p) * p**j) for j in range(half)]
    return (sum_of_squares(parts) + assume(c * p ** (power - 1) - p**power)) * (1 / c ** (power - 1))


def cancel_nonnegative(x: Any, bound: Any) -> Derivation:
    """``x >= 0`` from ``x^2 <= C x``, for a number C > 0; degree 2: C x = (C x - x^2) + x^2."""
    p, c = _exact_polynomial(x), _positive(bound, "bound")
    return (square(p) + assume(c * p - p * p)) * (1 / c)


def _polynomials(values: Sequence[Any]) -> list[Polynomial]:
    return [_exact_polynomial(v) for v in values]


def _positive(value: Any, name: str) -> Fraction:
    number = _exact(value)
    if number <= 0:
        raise ValueError(f"{name} must be a number > 0, not {number}")
    return number


def _half(power: Any) -> int:
    if not isinstance(power, int) or power < 2 or power % 2:
        raise ValueError(f"power must be an even integer >= 2, not {power!r}")
    return power // 2


def _multisets(n: int, size: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every choice of so many of n things, with repetition, and the number of its orders."""
    for chosen in itertools.combinations_with_replacement(range(n), size):
        yield chosen, math.factorial(size) // math.prod(map(math.factorial, Counter(chosen).values()))


def _total(parts: Iterable[Derivation]) -> Derivation:
    """The sum; one that happens to be empty (one term, zero) is still an inequality."""
    return replace(sum(parts, start=nothing()), equality=False)
