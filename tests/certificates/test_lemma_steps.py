"""The steps of the clustering and robust-mean arguments: what they conclude, from which hypotheses."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from certificates.derive import lemmas
from certificates.derive.calculus import assume, sum_of_squares
from certificates.exact import terms_of, value_at
from certificates.find.rounding import CertificateError
from tests.certificates.test_lemmas import _proves, _total, v, w, x, y
from tests.refusals import refuse


def _hypotheses(derivation, equalities, inequalities):
    """Every hypothesis used is one of those the lemma names."""
    assert all(any(h == p for p in equalities) for h in derivation.equalities)
    assert all(any(g == p for p in inequalities) for g in derivation.inequalities)


@pytest.mark.few(3)
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(("n", "most", "spread"), [(2, 1, 1), (3, 1, 2), (4, 2, "3/2"), (3, "1/2", 0)])
def test_robust_mean(n, most, spread, symbolic):
    ws, xs = w[:n], x[:n]
    data = y[:n] if symbolic else [sd.Polynomial(c) for c in (0, 3, -1, 2)[:n]]
    t, bound = Fraction(most), Fraction(spread)
    m, a = (sum(values, start=sd.Polynomial(0)) / n for values in (xs, data))
    result = lemmas.robust_mean(ws, xs, data, most, spread)
    right = 2 * t * (n * bound + _total((q - a) ** 2 for q in data))
    _proves(result, right - n * (n - t) * (m - a) ** 2, 6)
    _hypotheses(
        result,
        [p * p - p for p in ws] + [p * (q - r) for p, q, r in zip(ws, xs, data)],
        [t - _total(1 - p for p in ws), n * bound - _total((q - m) ** 2 for q in xs)],
    )


def test_robust_mean_in_every_direction():
    """The program as it is stated: vectors, and a matrix M with covariance + M M^T = L I."""
    n, d, bound = 2, 2, 3
    points = [[sd.variables(f"p{i}{j}") for j in range(d)] for i in range(n)]
    slack = [[sd.variables(f"M{i}{j}") for j in range(d)] for i in range(d)]
    data = [[1, 0], [0, 2]]
    u = v[:d]
    mean = [_total(points[i][j] for i in range(n)) / n for j in range(d)]
    along = [lemmas.inner(p, u) for p in points]
    known = [lemmas.inner([sd.Polynomial(c) for c in row], u) for row in data]
    step = lemmas.robust_mean(w[:n], along, known, 1, bound * lemmas.inner(u, u))
    premises = []
    for i in range(n):
        parts = [assume(w[i] * (points[i][j] - data[i][j]), equality=True).times(u[j]) for j in range(d)]
        premises.append(parts[0] + parts[1])
    spread = sum_of_squares([(n, lemmas.inner([slack[j][k] for j in range(d)], u)) for k in range(d)])
    entries = []
    for j, k in itertools.product(range(d), repeat=2):
        covariance = _total((points[i][j] - mean[j]) * (points[i][k] - mean[k]) for i in range(n)) / n
        entry = covariance + lemmas.inner(slack[j], slack[k]) - bound * (j == k)
        entries.append(entry)
        spread = spread + assume(entry, equality=True).times(-n * u[j] * u[k])
    result = step.given(*premises, spread)
    centre = lemmas.inner([sd.Polynomial(sum(row[j] for row in data)) / n for j in range(d)], u)
    moved = lemmas.inner(mean, u) - centre
    right = 2 * (n * bound * lemmas.inner(u, u) + _total((q - centre) ** 2 for q in known))
    _proves(result, right - n * (n - 1) * moved**2, 8)
    given = [p * p - p for p in w[:n]] + entries
    given += [w[i] * (points[i][j] - data[i][j]) for i in range(n) for j in range(d)]
    _hypotheses(result, given, [1 - _total(1 - p for p in w[:n])])


def test_robust_mean_on_numbers():
    """Evaluated where the hypotheses hold, the conclusion holds; with three corrupted it does not."""
    n, data, bound = 4, [Fraction(k) for k in (0, 1, -1, 0)], Fraction(4)
    result = lemmas.robust_mean(w[:n], x[:n], data, 1, bound)
    terms = terms_of(result.conclusion)
    ids = [int(p.variable_ids[0]) for p in (*w[:n], *x[:n])]
    seen, below = 0, 0
    for dropped, moved in itertools.product(range(n), range(-12, 13)):
        values = [Fraction(moved) if k == dropped else data[k] for k in range(n)]
        mean = sum(values) / n
        if sum((q - mean) ** 2 for q in values) > n * bound:
            continue
        kept = [Fraction(k != dropped) for k in range(n)]
        assert value_at(terms, dict(zip(ids, [*kept, *values]))) >= 0
        seen += 1
    for values in itertools.product(range(-12, 13, 3), repeat=3):  # three samples moved: T = 3, not 1
        everything = [Fraction(c) for c in (*values, 0)]
        mean = sum(everything) / n
        if sum((q - mean) ** 2 for q in everything) <= n * bound:
            below += value_at(terms, dict(zip(ids, [*[Fraction(0)] * n, *everything]))) < 0
    assert seen > 20 and below > 0  # more corruption than T, and the conclusion fails


@pytest.mark.parametrize("c", [1, 2, "7/3"])
def test_error_of_the_overlap_matrix(c):
    labels = [0, 1, 0, 1]
    names = [sd.variables(f"W{i}{j}") for i in range(4) for j in range(4)]
    overlap = [names[4 * i : 4 * i + 4] for i in range(4)]
    truth = [[int(a == b) for b in labels] for a in labels]
    error = _total((overlap[i][j] - truth[i][j]) ** 2 for i in range(4) for j in range(4))
    off = _total(overlap[i][j] for i in range(4) for j in range(4) if not truth[i][j])
    result = lemmas.overlap_error(overlap, labels, c)
    _proves(result, 2 * off - error, 2)
    c = Fraction(c)
    value = _total((p - c) ** 2 for p in names)
    best = sum((t - c) ** 2 for row in truth for t in row)
    _hypotheses(result, [], [best - value, 8 - _total(names)])
    refuse(
        (lambda: lemmas.overlap_error(overlap, labels, "1/2"), "below it"),
        (lambda: lemmas.overlap_error(overlap, [0, 0, 0, 1]), "equal sizes"),
    )


@pytest.mark.parametrize("power", [2, 4])
def test_jensen(power):
    numbers = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    mean = _total(c * p for c, p in zip(numbers, x))
    result = lemmas.holder(numbers, x[:3], power, weights="numbers")
    _proves(result, _total(c * p**power for c, p in zip(numbers, x)) - mean**power, power)
    assert not result.equalities and not result.inequalities
    refuse((lambda: lemmas.holder([1, -1], x[:2], 2, weights="numbers"), ">= 0"))


def test_fourth_moments_of_a_sample():
    points = np.random.default_rng(1).integers(-3, 4, (10, 2)).tolist()
    u = v[:2]
    forms = [a * u[0] + b * u[1] for a, b in points]
    second = _total(f * f for f in forms) / 10
    worst = 0.0
    for s in np.linspace(0, 3.15, 400):
        values = np.array([a * np.cos(s) + b * np.sin(s) for a, b in points]) ** 2
        worst = max(worst, float(values.var() / values.mean() ** 2))
    bound = Fraction(round(worst * 1.05 * 1000), 1000)
    statement = bound * second**2 - _total((f * f - second) ** 2 for f in forms) / 10
    _proves(lemmas.fourth_moment_bound(points, u, bound), statement, 4)
    refuse(
        (
            lambda: lemmas.fourth_moment_bound(points, u, Fraction(round(worst * 0.95 * 1000), 1000)),
            None,
            CertificateError,
        )
    )
