"""Every lemma says what its docstring says, at its degree, and the checker agrees; false variants fail."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from certificates.derive import lemmas
from certificates.derive.calculus import NotDerived, square
from certificates.find.rounding import CertificateError
from tests.certificates.independent import proves
from tests.refusals import refuse

x = sd.variables("x", 6)
y = sd.variables("y", 6)
w = sd.variables("w", 6)
v = sd.variables("v", 3)
ZERO = sd.Polynomial(0)


def _total(values):
    return sum(values, start=ZERO)


def _proves(derivation, statement, degree):
    assert derivation.conclusion == statement
    assert derivation.degree == degree <= derivation.bound
    assert not derivation.equality
    proof = derivation.proof()
    verdict = proof.verify()
    assert verdict, verdict.reason
    assert proves(proof.to_dict())
    # and a stronger statement with the same multipliers is refused
    refuse((lambda: replace(derivation, conclusion=statement - 1), None, NotDerived))
    assert not replace(proof, claim=replace(proof.claim, objectives=(statement - 1,))).verify()


def _mean(n):
    return _total(p ** (2 * n) for p in x[:n]) / n - math.prod((p * p for p in x[:n]), start=sd.Polynomial(1))


def _weighted(n):
    first, second = (_total(u * p * p for u, p in zip(w, q)) for q in (x[:n], y[:n]))
    return first * second - _total(u * p * q for u, p, q in zip(w, x[:n], y[:n])) ** 2


def _young(j, n, p=x[0], q=x[1]):
    means = p ** (2 * n) * Fraction(j, n) + q ** (2 * n) * Fraction(n - j, n)
    return means - p ** (2 * j) * q ** (2 * (n - j))


def _triangle(r, t):
    return r ** (t - 1) * _total(p**t for p in x[:r]) - x[:r].sum() ** t


def _split(n):
    return x[:n] @ x[:n] * Fraction(3, 4) + y[:n] @ y[:n] / 3 - x[:n] @ y[:n]


# lemma, arguments, statement, degree
LEMMAS = [
    *((lemmas.cauchy_schwarz, (x[:n], y[:n]), (x[:n] @ x[:n]) * (y[:n] @ y[:n]) - (x[:n] @ y[:n]) ** 2,
       4 if n > 1 else 0) for n in (1, 2, 3, 5)),
    *((lemmas.weighted_cauchy_schwarz, (list(w[:n]), x[:n], y[:n]), _weighted(n), 6 if n > 1 else 0)
      for n in (1, 2, 3, 5)),
    *((lemmas.cauchy_schwarz_split, (x[:n], y[:n], "3/2"), _split(n), 2) for n in (1, 2, 3, 5)),
    *((lemmas.am_gm, (x[:n],), _mean(n), 2 * n if n > 1 else 0) for n in (1, 2, 3, 4)),
    *((lemmas.young, (x[0], x[1], j, n), _young(j, n), 2 * n if 0 < j < n else 0)
      for n in range(1, 6) for j in range(n + 1)),
    *((lemmas.product_of_powers, (x[:t],), _total(p**t for p in x[:t]) / t - math.prod(list(x[:t])), t)
      for t in (2, 4, 6)),
    *((lemma, (x[:r], t), _triangle(r, t), t if r > 1 else 0)
      for lemma in (lemmas.triangle, lemmas.separation)
      for r, t in [(2, 2), (3, 2), (5, 2), (2, 4), (3, 4), (2, 6), (3, 6), (1, 4)]),
    (lemmas.weighted_triangle, (x[0], y[0], 3), 4 * x[0]**2 + y[0]**2 * Fraction(4, 3) - (x[0] + y[0])**2, 2),
    (lemmas.nonnegative, (x[0],), x[0], 2),
    (lemmas.at_most_one, (x[0],), 1 - x[0], 2),
    (lemmas.row_sum, ([[x[i], y[i]] for i in range(3)], 0, 2),
     2 * x[0] + 2 * y[0] - _total(x[0] * x[j] + y[0] * y[j] for j in range(3)), 3),
    *((lemmas.outlier_mass, (x[:n], y[:n], 2),
       2 * (y[:n] @ y[:n]) - _total((1 - p) * q for p, q in zip(x, y[:n])) ** 2, 6 if n > 1 else 5)
      for n in (1, 3, 4)),
    *((lemmas.kept_mass, (w[:n], x[:n]), _total(q * q - p * q * q for p, q in zip(w, x[:n])), 4)
      for n in (1, 3)),
    *((lemmas.shared_mass, (w[:2], y[:2], x[:r], t),
       _triangle(r, t) * _total(a * b for a, b in zip(w, y[:2])), t + 4)
      for t, r in [(2, 2), (2, 3), (4, 3)]),
]  # fmt: skip


@pytest.mark.few(30)
@pytest.mark.parametrize(("lemma", "arguments", "statement", "degree"), LEMMAS)
def test_a_lemma_says_what_its_docstring_says(lemma, arguments, statement, degree):
    _proves(lemma(*arguments), statement, degree)


@pytest.mark.few(4)
@pytest.mark.parametrize(("n", "t"), [(2, 2), (3, 2), (4, 2), (2, 4), (3, 4)])
@pytest.mark.parametrize("weights", ["nonnegative", "boolean"])
def test_holder(n, t, weights):
    a, f = w[:n], x[:n]
    statement = a.sum() ** (t - 1) * _total(p * q**t for p, q in zip(a, f)) - (a @ f) ** t
    result = lemmas.holder(a, f, t, weights=weights)
    # with 0/1 weights the squares and cofactors go up to the square of the product of the distinct ones
    degree = 2 * t if weights == "nonnegative" else {2: 6, 4: 9 if n == 2 else 10}[t]
    _proves(result, statement, degree)
    assert bool(result.equalities) == (weights == "boolean")


@pytest.mark.parametrize("t", [2, 4, 6])
@pytest.mark.parametrize("c", [3, Fraction(1, 2)])
def test_cancelling(t, c):
    p = x[0]
    result = lemmas.root(p, c, t)
    assert result.inequalities[0] == c**t - p**t
    _proves(result, c - p, t)
    both = lemmas.cancel(p, c), lemmas.cancel_nonnegative(p, c)
    assert all(d.inequalities[0] == c * p - p * p for d in both)
    _proves(both[0], c - p, 2)
    _proves(both[1], p, 2)


@pytest.mark.parametrize("t", [1, 2, 3])
def test_gaussian_moments(t):
    double_factorial = math.prod(range(2 * t - 1, 0, -2))
    norm = v @ v
    # of independent Gaussians E g^k = (k - 1)!!, and odd moments vanish
    assert double_factorial * norm**t == _total(
        math.prod(v[i] for i in k) * math.prod(math.prod(range(k.count(i) - 1, 0, -2)) for i in {*k})
        for k in itertools.product(range(3), repeat=2 * t)
        if not any(k.count(i) % 2 for i in k)
    )
    _proves(lemmas.gaussian_moment_bound(v, t), ((2 * t) ** t - double_factorial) * norm**t, 2 * t)
    exact = lemmas.gaussian_moment_bound(v, t, double_factorial)
    assert exact.conclusion == ZERO and exact.proof().verify()
    refuse((lambda: lemmas.gaussian_moment_bound(v, t, double_factorial - Fraction(1, 10**9)), "too small"))


@pytest.mark.parametrize("t", [1, 2])
def test_moments_of_a_sample(t):
    points = np.random.default_rng(0).integers(-2, 3, (8, 2)).tolist()
    largest = max(
        sum((a * math.cos(s) + b * math.sin(s)) ** (2 * t) for a, b in points) / 8
        for s in np.linspace(0, 3.15, 400)
    )
    bound = Fraction(math.ceil(largest * 1.05 * 100), 100)
    u = v[:2]
    statement = bound * (u @ u) ** t - _total((a * u[0] + b * u[1]) ** (2 * t) for a, b in points) / 8
    _proves(lemmas.moment_bound(points, u, t, bound), statement, 2 * t)
    refuse(
        (
            lambda: lemmas.moment_bound(points, u, t, Fraction(math.floor(largest * 0.95 * 100), 100)),
            None,
            CertificateError,
        )
    )


def test_entries_of_the_overlap_matrix():
    low, high = lemmas.overlap_bounds(x[:3], y[:3])
    _proves(low, x[:3] @ y[:3], 4)
    _proves(high, x[:3].sum() - x[:3] @ y[:3], 4)
    assert all(any(h == p * p - p for p in (*x[:3], *y[:3])) for h in high.equalities)


def test_a_step_of_robust_estimation_chained():
    """Dropping 2 of 5 samples moves their sum by at most sqrt(2 sum (x_i - m)^2): lemma, slack, root."""
    data = [Fraction(k) for k in (0, 1, 3, 4, 7)]
    centred = [value - sum(data) / 5 for value in data]
    moved = _total((1 - p) * c for p, c in zip(x, centred))
    spread = 2 * sum(c * c for c in centred)  # 60
    premise = lemmas.outlier_mass(x[:5], centred, 2) + square(1, 64 - spread)
    chained = lemmas.root(moved, 8).given(premise)
    assert chained.conclusion == 8 - moved
    assert chained.degree == 4 < chained.bound == 2 * premise.bound
    assert chained.proof().verify()
    # what it says is true of every choice, and sharp enough to say something
    worst = max(
        sum((1 - b) * c for b, c in zip(kept, centred))
        for kept in itertools.product((0, 1), repeat=5)
        if sum(1 - b for b in kept) <= 2
    )
    assert worst == 5


def test_separation_of_clusters_times_overlap():
    """D^4 W <= 27 W (d1^4 + d2^4 + d3^4) for labels z, z' in {0, 1}: how far centres share no samples."""
    d, (p, q) = x[:3], y[:2]
    step = lemmas.separation(d, 4) * (lemmas.nonnegative(p) * lemmas.nonnegative(q))
    _proves(step, (27 * _total(u**4 for u in d) - d.sum() ** 4) * p * q, 8)


def test_wrong_arguments_are_told():
    refuse(
        (lambda: lemmas.inner(x[:2], y[:3]), "lengths"),
        (lambda: lemmas.cauchy_schwarz(x[:2], y[:3]), "lengths"),
        (lambda: lemmas.weighted_cauchy_schwarz(w[:1], x[:2], y[:2]), "as many"),
        (lambda: lemmas.cauchy_schwarz_split(x[:2], y[:2], 0), "> 0"),
        (lambda: lemmas.am_gm([]), "at least one"),
        (lambda: lemmas.young(x[0], y[0], 3, 2), "0 <= j <= n"),
        (lambda: lemmas.product_of_powers(x[:3]), "even number"),
        (lambda: lemmas.triangle(x[:2], 3), "even"),
        (lambda: lemmas.holder(w[:2], x[:2], 2, weights="any"), "choose"),
        (lambda: lemmas.holder([sd.Polynomial(1)] * 60, [x[0]] * 60, 4), "at most 5000"),
        (lambda: lemmas.root(x[0], -1), "> 0"),
        (lambda: lemmas.root(x[0], 1, 3), "even"),
        (lambda: lemmas.empirical_moment([], v, 1), "non-empty"),
        (lambda: lemmas.gaussian_moment_bound(v, 0), "t >= 1"),
    )
    refuse((lambda: lemmas.cancel(x[0], x[1]), "number is needed"))
