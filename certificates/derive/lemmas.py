"""The lemmas that papers prove once and use everywhere, as exact derivations with their degrees.

Every function returns a `certificates.derive.calculus.Derivation` for the arguments it is given, which may be
variables or polynomials: substitute, add, multiply and chain them. The docstring states the general lemma;
the identity is written down, not searched for (except `moment_bound`, which asks a solver and then proves).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from certificates.derive.calculus import (
    ZERO,
    Derivation,
    Upper,
    _exact,
    assume,
    from_proof,
    square,
    sum_of_squares,
)
from certificates.derive.inequalities import (
    _multisets,
    _polynomials,
    _positive,
    _total,
    am_gm,
    at_most_one,
    boolean,
    cancel,
    cancel_nonnegative,
    cauchy_schwarz,
    cauchy_schwarz_split,
    holder,
    inner,
    nonnegative,
    product_of_powers,
    root,
    triangle,
    weighted_cauchy_schwarz,
    weighted_triangle,
    young,
)
from sosdp.algebra.polynomial import Polynomial


def gaussian_moment_bound(v: Sequence[Any], t: int, constant: Any = None) -> Derivation:
    """``E <g, v>^(2t) <= B |v|^(2t)`` for g ~ N(0, I), with B = (2t)^t by default; degree 2t.

    The difference is a combination of squares of monomials with weights >= 0. ValueError for B < (2t-1)!!.
    """
    x = _polynomials(v)
    if not x or not isinstance(t, int) or t < 1:
        raise ValueError("a moment bound needs at least one direction and an integer t >= 1")
    exact = math.prod(range(2 * t - 1, 0, -2))
    b = Fraction((2 * t) ** t) if constant is None else _exact(constant)
    if b < exact:
        raise ValueError(f"the moment of order {2 * t} is {exact} |v|^{2 * t}: the constant {b} is too small")
    return sum_of_squares(
        ((b - exact) * ways, math.prod((x[k] for k in chosen), start=Polynomial(1)))
        for chosen, ways in _multisets(len(x), t)
    )


def empirical_moment(points: Sequence[Sequence[Any]], v: Sequence[Any], t: int) -> Polynomial:
    """``(1/n) sum_i <y_i, v>^(2t)`` for rational points (floats are read as their shortest decimal)."""
    x = _polynomials(v)
    rows = [[_exact(value) for value in row] for row in points]
    if not rows or any(len(row) != len(x) for row in rows):
        raise ValueError(f"points must be non-empty rows of {len(x)} numbers")
    return sum((inner(row, x) ** (2 * t) for row in rows), start=ZERO) / len(rows)


def moment_bound(
    points: Sequence[Sequence[Any]], v: Sequence[Polynomial], t: int, constant: Any
) -> Derivation:
    """``(1/n) sum_i <y_i, v>^(2t) <= B |v|^(2t)`` for given points, as a sum of squares in v; degree 2t.

    This is "2t-explicitly bounded" of the clustering papers, for a sample and a number B. The squares are
    found by a solver and proven exactly; raises NotCertifiable when there are none that it can find.
    """
    return _derived(_exact(constant) * inner(v, v) ** t - empirical_moment(points, v, t))


def fourth_moment_bound(
    points: Sequence[Sequence[Any]], v: Sequence[Polynomial], constant: Any
) -> Derivation:
    """``(1/n) sum_i (<y_i, v>^2 - q)^2 <= C q^2`` with ``q = (1/n) sum_i <y_i, v>^2``, for given points, as
    a sum of squares in v; degree 4.

    "Certified in v": the constraint of the covariance programs (for a Gaussian, C = 2 with equality). The
    squares are those of `moment_bound`.
    """
    second = empirical_moment(points, v, 1)
    return _derived((_exact(constant) + 1) * second**2 - empirical_moment(points, v, 2))


def overlap_bounds(
    first: Sequence[Polynomial], second: Sequence[Polynomial]
) -> tuple[Derivation, Derivation]:
    """For labels z_il of two samples: ``0 <= W_12`` and ``W_12 <= W_11`` with ``W_ij = sum_l z_il z_jl`` and
    ``W_11 = sum_l z_1l``, from ``z^2 = z``; degree 4.

    The entries of the overlap matrix that the clustering program of Hopkins and Li (2018) is about.
    """
    a, b = _polynomials(first), _polynomials(second)
    inner(a, b)
    low = _total(nonnegative(p) * nonnegative(q) for p, q in zip(a, b, strict=True))
    return low, _total(nonnegative(p) * at_most_one(q) for p, q in zip(a, b, strict=True))


def row_sum(labels: Sequence[Sequence[Polynomial]], row: int, size: Any) -> Derivation:
    """``sum_j W_ij <= s W_ii`` from ``z^2 = z`` and ``sum_j z_jl <= s`` for every cluster l; degree 3."""
    z = [_polynomials(r) for r in labels]
    s = _positive(size, "size")
    sizes = [assume(s - sum((r[k] for r in z), start=ZERO)) for k in range(len(z[row]))]
    return _total(nonnegative(p) * size for p, size in zip(z[row], sizes, strict=True))


def separation(between: Sequence[Any], power: int) -> Derivation:
    """``D^t <= r^(t-1) sum d_a^t`` when ``D = d_1 + ... + d_r``: far centres need a long step somewhere.

    With r = 3 and the steps mu_a -> y_i -> y_j -> mu_b in the direction of mu_a - mu_b this bounds the mass
    that two far clusters share. It is `triangle`, named as the clustering argument uses it.
    """
    return triangle(between, power)


def shared_mass(
    first: Sequence[Polynomial], second: Sequence[Polynomial], steps: Sequence[Any], power: int
) -> Derivation:
    """``D^t W <= r^(t-1) W sum d_a^t`` for ``D = d_1 + ... + d_r``, ``W = sum_l z_l z'_l`` and t even, from
    ``z^2 = z``: samples of far clusters share little. Degree t + 4."""
    low, _ = overlap_bounds(first, second)
    return separation(steps, power) * low


def overlap_error(overlap: Sequence[Sequence[Any]], labels: Sequence[int], weight: Any = 1) -> Derivation:
    """``|W - W*|^2 <= 2 (mass of W between different clusters)``, for W* the 0/1 matrix of equal clusters.

    From two hypotheses: ``f(W) <= f(W*)`` with ``f(W) = |W - c J|^2``, and ``sum_ij W_ij <= n s`` with s the
    size of a cluster; c >= 1 a number. The difference is the first plus 2 (c - 1) times the second; degree 2.
    ValueError for c < 1 or clusters of different sizes.
    """
    w = [_polynomials(row) for row in overlap]
    n, c = len(w), _exact(weight)
    sizes = {labels.count(label) for label in labels}
    if n == 0 or len(labels) != n or any(len(row) != n for row in w) or len(sizes) != 1:
        raise ValueError("an overlap matrix is square, with one label a row and clusters of equal sizes")
    if c < 1:
        raise ValueError(f"the weight must be >= 1, not {c}: below it the statement is false")
    total = n * sizes.pop()
    pairs = [(w[i][j], labels[i] == labels[j]) for i in range(n) for j in range(n)]
    every = sum((p for p, _ in pairs), start=ZERO)
    squared = sum((p * p for p, _ in pairs), start=ZERO)
    better = assume(2 * c * every - squared - (2 * c - 1) * total)
    return _total([better, assume(total - every) * (2 * (c - 1))])


def kept_mass(w: Sequence[Polynomial], f: Sequence[Any]) -> Derivation:
    """``sum_i w_i f_i^2 <= sum_i f_i^2`` from ``w_i^2 = w_i``; degree 4 for variables."""
    ws, fs = _polynomials(w), _polynomials(f)
    inner(ws, fs)
    return _total(at_most_one(p) * square(q) for p, q in zip(ws, fs, strict=True))


def robust_mean(
    w: Sequence[Polynomial], x: Sequence[Polynomial], data: Sequence[Any], most: Any, spread: Any
) -> Derivation:
    """Identifiability of a mean under corruption, in one direction: with m, a the means of x_i and y_i,

    ``n (n - T) (m - a)^2 <= 2 T (n L + sum (y_i - a)^2)``

    from ``w_i^2 = w_i``, ``w_i (x_i - y_i) = 0``, ``sum (1 - w_i) <= T`` and ``sum (x_i - m)^2 <= n L``. The
    program of robust mean estimation has such x_i, so every solution's mean is within
    sqrt(2 T / (n - T) (L + variance)) of a.

    Steps: n (m - a) = sum (x_i - y_i) = sum (1 - w_i)(x_i - y_i); `outlier_mass`; and
    sum (x_i - y_i)^2 = sum ((x_i - m) - (y_i - a))^2 + n (m - a)^2 with (p - q)^2 <= 2 p^2 + 2 q^2. Degree 6.
    For vectors take x_i, y_i as inner products with a direction v and ``spread`` as L |v|^2; degree 8.
    ``data`` and ``spread`` may be numbers or polynomials. ValueError for different lengths, T <= 0 or T > n.
    """
    ws, xs, ys = _polynomials(w), _polynomials(x), _polynomials(data)
    n, t, bound = len(ws), _positive(most, "most"), _polynomials([spread])[0]
    inner(ws, xs), inner(xs, ys)
    if not 0 < t <= n:
        raise ValueError(f"most must be in (0, {n}], not {t}")
    f = [p - q for p, q in zip(xs, ys, strict=True)]
    mean, centre = (sum(v, start=ZERO) * Fraction(1, n) for v in (xs, ys))
    # (sum f)^2 - (sum (1 - w) f)^2 = (sum w f)(sum f + sum (1 - w) f), which vanishes
    dropped = inner([1 - p for p in ws], f)
    chain = Upper(n * n * (mean - centre) ** 2)
    for p, q in zip(ws, f, strict=True):
        chain.use(assume(p * q, equality=True).times(-(sum(f, start=ZERO) + dropped)))
    chain.use(outlier_mass(ws, f, t))  # <= T sum f^2
    for p, q in zip(xs, ys, strict=True):
        chain.use(weighted_triangle(p - mean, centre - q, 1), times=t)
    chain.use(assume(n * bound - sum(((p - mean) ** 2 for p in xs), start=ZERO)), times=2 * t)
    left = sum(((q - centre) ** 2 for q in ys), start=ZERO)
    goal = 2 * t * (n * bound + left) + t * n * (mean - centre) ** 2
    return chain.to(goal).derivation


def outlier_mass(w: Sequence[Polynomial], f: Sequence[Any], most: Any) -> Derivation:
    """``(sum_i (1 - w_i) f_i)^2 <= T sum_i f_i^2`` from ``w_i^2 = w_i`` and ``sum_i (1 - w_i) <= T``.

    The step by which robust estimators pay for the samples they drop: Cauchy-Schwarz with the 0/1 weights
    1 - w_i, then 1 - w_i <= 1 and the bound on their number. Degree 6 for variables.
    """
    ws, fs = _polynomials(w), _polynomials(f)
    inner(ws, fs)
    t = _positive(most, "most")
    dropped = [1 - p for p in ws]
    number = assume(t - sum(dropped, start=ZERO))
    squares = [square(q) for q in fs]
    chain = Upper(inner(dropped, fs) ** 2)
    # (sum u f)^2 <= (sum u)(sum u f^2): the weights u = 1 - w are nonnegative because w <= 1
    chain.use(weighted_cauchy_schwarz([at_most_one(p) for p in ws], [1] * len(fs), fs))
    # (sum u)(sum u f^2) <= T sum u f^2 <= T sum f^2
    chain.use(number, times=_total(at_most_one(p) * part for p, part in zip(ws, squares, strict=True)))
    for p, part in zip(ws, squares, strict=True):
        chain.use(nonnegative(p) * part, times=t)
    return chain.to(t * inner(fs, fs)).derivation


def _derived(target: Polynomial) -> Derivation:
    """That a polynomial is a sum of squares, as a solver finds it."""
    from certificates.find.extract import extract
    from sosdp.prove import prove_sos

    return from_proof(extract(prove_sos(target)).exact())
