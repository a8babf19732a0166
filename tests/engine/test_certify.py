"""The certified bound is a theorem about ANY multipliers: garbage in, a weak but true bound out; and single
terms of its proof, each where it decides (tests/mutants/engine.toml)."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import monomials as mono
from sosdp.conic.svec import SQRT2, svec, triangle
from sosdp.reduction.bounds import VariableBounds, deduce_bounds
from sosdp.relaxation.assemble.assemble import assemble
from sosdp.relaxation.assemble.entries import Coefficients
from sosdp.relaxation.assemble.identity import ONE, Block
from sosdp.relaxation.assemble.scaling import find_scaling, scale
from sosdp.relaxation.certify.bound import certify
from tests.refusals import each, refuse


def setting(name, rng):
    """(objective, system, feasible points with all values)."""
    x, y, z = sd.variables("x y z")
    basis = mono.basis(np.sort([int(v.variable_ids[0]) for v in (x, y, z)]).astype(np.int32), 4)
    chosen = rng.choice(basis.shape[0], size=10, replace=False)
    objective = sd.Polynomial.from_arrays(basis[chosen], rng.normal(size=10))
    if name == "signs":
        points = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
        system = sd.System(x**2 == 1, y**2 == 1, z**2 == 1)
    elif name == "bits":
        points = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
        system = sd.System(x**2 == x, y**2 == y, z**2 == z, x * y == 0)
        points = points[points[:, 0] * points[:, 1] == 0]
    elif name == "ball":
        points = rng.normal(size=(4000, 3))
        points *= 2 * rng.random((4000, 1)) ** (1 / 3) / np.linalg.norm(points, axis=1, keepdims=True)
        system = sd.System(x**2 + y**2 + z**2 <= 4)
    else:
        points = rng.uniform([-1, 0, -3], [2, 1, 3], size=(4000, 3))
        system = sd.System((x + 1) * (2 - x) >= 0, y * (1 - y) >= 0, z**2 <= 9)
    values = objective.evaluate(dict(zip("xyz", points.T, strict=True))) + np.zeros(len(points))
    return objective, system, values


@pytest.mark.parametrize("name", ["signs", "bits", "ball", "box"])
def test_arbitrary_multipliers_give_true_bounds(name):
    rng = np.random.default_rng(17)
    violated_without_payment = 0
    for _ in range(12):
        objective, system, values = setting(name, rng)
        relaxation = sd.Relaxation(system, 4, symmetry="none")
        solved = relaxation.minimize(objective)
        identity, _ = relaxation.assemble(objective)
        scaling = find_scaling(identity, relaxation.bounds)
        scaled = scale(identity, scaling)
        for size in (0.0, 1e-9, 1e-4, 1e-1, 3.0):
            good = np.concatenate([svec(b.gram) for b in solved.dual.blocks]) * scaling.gram
            gram = good + size * rng.normal(size=good.size)
            free = size * rng.normal(size=identity.free.shape[0])
            gamma = solved.bound + size * abs(rng.normal())
            result = certify(scaled, gram, free, np.array([gamma]), scaling.bounds)
            assert np.isfinite(result.loss)
            assert gamma - result.loss <= values.min()
            violated_without_payment += gamma > values.min()
    # the negative control: had nothing been paid, some of these would have been wrong
    assert violated_without_payment > 0


def test_non_finite_multipliers_prove_nothing():
    x, _ = sd.variables("x y")
    relaxation = sd.Relaxation(sd.System(x**2 <= 1), 2)
    identity, _ = relaxation.assemble(x)
    bad = np.full(identity.gram.shape[0], np.nan)
    result = certify(identity, bad, np.zeros(0), np.zeros(1), relaxation.bounds)
    assert result.loss == np.inf and "non-finite" in result.reason


def test_scaling_is_exact_and_reversible():
    x, y = sd.variables("x y")
    relaxation = sd.Relaxation(sd.System(x**2 <= 100, y**2 <= 0.01), 4)
    identity, _ = relaxation.assemble(x**3 * y - x**2)
    scaling = find_scaling(identity, relaxation.bounds)
    scaled = scale(identity, scaling)
    assert not scaling.trivial
    back = (np.diag(scaling.gram) @ scaled.gram.toarray()) / scaling.column
    assert np.array_equal(back, identity.gram.toarray())  # powers of two: nothing is rounded
    assert np.array_equal(scaled.target / scaling.column, identity.target)
    # evaluating a scaled monomial at u = x / s gives the monomial at x
    assert scaling.bounds.magnitude(identity.columns).max() <= 1.0 + 1e-9


def test_a_key_collision_does_no_harm(monkeypatch):
    xs = sd.variables("kc", 40)
    ids = np.array([int(v.variable_ids[0]) for v in xs])
    basis = mono.basis(ids, 1)
    table = mono.keys.weights(int(ids.max())).copy()
    table[ids[1]] = table[ids[0]]
    monkeypatch.setattr(mono.keys, "table", table)
    result = assemble([Block("sos", (), basis, ONE)], [], ONE, [])
    assert result.columns.shape[0] == 21 * 41 and (result.gram != 0).sum() == 21 * 41


x, y = sd.variables("x y")
S = sd.System


def identity_of(p, degree=2, system=None, **options):
    relaxation = sd.Relaxation(S() if system is None else system, degree, **options)
    return relaxation.assemble(p)[0]


def test_a_residual_that_rounds_to_zero_is_charged():
    # x**2 + 1/3 - gamma with gamma the float next to 1/3: the float residual is exactly zero, and the block
    # of the constant is the number zero; what the float is off by must be charged
    identity = identity_of(x**2 + F(1, 3))
    assert [b.side for b in identity.blocks] == [1, 1]
    gram = np.array([1.0 if b.basis.any() else 0.0 for b in identity.blocks])
    gamma = identity.target[identity.constant_column()]
    result = certify(identity, gram, np.zeros(0), np.array([gamma]), VariableBounds({}, ()))
    assert 0.0 < result.loss < 1e-14
    # with a gamma that leaves room nothing is lost
    assert certify(identity, gram, np.zeros(0), np.array([0.3]), VariableBounds({}, ())).loss == 0.0


def test_gram_matrices_pay_for_what_the_residual_rounds_away():
    """Large multipliers cancel in the constant, whose Gram matrix is zero: what floats lose of the sum, and
    the identity lacks, is at most what is charged."""
    rng, ball = np.random.default_rng(1), S(x**2 <= 1)
    bounds, most = deduce_bounds((), ball.inequalities), 0.0
    for _ in range(200):
        m, gamma = 2.0**25 * (1 + rng.uniform()), 2.0**24 * (1 + rng.uniform())
        identity = identity_of((m + gamma) - m * x**2, 2, ball)
        gram = np.array([m if b.kind == "inequality" else 0.0 for b in identity.blocks])
        result = certify(identity, gram, np.zeros(0), np.array([gamma]), bounds)
        # at x = 1 the polynomial is m + gamma, rounded, less m and gamma
        below = F(m) + F(gamma) - F(m + gamma)
        assert result.loss >= below
        most = max(most, float(below))
    assert most > 3e-9


def test_a_coefficient_too_small_for_a_float_is_refused():
    refuse(
        *each(identity_of, (x**2 - F(1, 10**400), x**2 + 2.0**-1010 * y), "too small for a float"),
        # x**2 is 1: the sum of two coefficients is what is too small
        (lambda: identity_of((1 + F(1, 10**400)) * x**2 - 1 + y, 2, S(x**2 == 1)), "too small for a float"),
    )


@pytest.mark.parametrize("seed", range(5))
def test_entries_are_exact_sums_rounded_once(seed):
    """Rewriting with x**2 == 1 and y**2 == y adds up coefficients, which may cancel."""
    rng = np.random.default_rng(seed)
    numbers = [0.1, 0.3, -0.4, 1e16, -1e16, 1.0, F(1, 3), F(-1, 3), 10**17 + 1, 2.0**-60, 7]
    ones = sd.monomials([x, y], 4)
    for _ in range(20):
        p, g = (
            sum((numbers[k] * m for k, m in zip(rng.integers(0, 11, ones.size), ones)), sd.polynomial(0))
            for _ in range(2)
        )
        system = S(x**2 == 1, y**2 == y, g >= 0)
        identity = identity_of(p, 4, system, prune=False, symmetry="none", sparsity="dense")
        wanted, rounded = _entries(identity, p), False
        for row, column, value in wanted:
            stored = identity.target[column] if row < 0 else identity.gram[row, column]
            factor = 1.0 if row < 0 else _factors(identity)[row]
            assert stored == float(value) * factor
            rounded = rounded or F(float(value)) != value
        assert len(wanted) == np.count_nonzero(identity.target) + identity.gram.nnz
        assert identity.rounded or not rounded or any(type(c) is F for q in (p, g) for c in q.coefs.tolist())


def _factors(identity):
    return np.concatenate([np.where(np.equal(*triangle(b.side)), 1.0, SQRT2) for b in identity.blocks])


def _entries(identity, p):
    """(row, -1 for the target, column, value) of every entry, in Fractions."""
    names = [tuple(sorted(v for v in row if v)) for row in identity.columns.tolist()]
    place = {name: k for k, name in enumerate(names)}

    def normal(row):
        power = {v: row.count(v) for v in row if v}
        a, b = (int(v.variable_ids[0]) for v in (x, y))
        power = {a: power.get(a, 0) % 2, b: min(power.get(b, 0), 1)}
        return place.get(tuple(sorted(v for v, k in power.items() for _ in range(k))))

    result, start = [], 0
    rows = [(-1, [], p)]
    for block in identity.blocks:
        for k, (i, j) in enumerate(zip(*(t.tolist() for t in triangle(block.side)))):
            rows.append((start + k, block.basis[i].tolist() + block.basis[j].tolist(), block.multiplier))
        start += block.side * (block.side + 1) // 2
    for row, pair, q in rows:
        total = {}
        for mono_row, c in zip(q.monos.tolist(), q.coefs.tolist()):
            column = normal(pair + mono_row)
            total[column] = total.get(column, F(0)) + F(c)
        result += [(row, column, value) for column, value in total.items() if value]
    return result


def test_a_float_is_the_binary_number_that_it_is():
    given = Coefficients(np.array([0.1, 0.5, 3.0]))
    assert given.exact and given.floats[0] == 0.1
    third = Coefficients(np.array([F(1, 3)], dtype=object))
    assert not third.exact and third.floats[0] == 1 / 3


@pytest.mark.parametrize("power", [-900, -530, 0, 530, 900])
def test_bounds_of_a_scaled_constraint(power):
    g = 3 * x - 2 * x**2
    scaled = g * (F(2) ** power if abs(power) > 500 else 2.0**power)
    (low, high) = deduce_bounds((), (scaled,)).ranges[int(x.variable_ids[0])]
    assert low <= 0 and 1.5 <= high <= 1.5000001
    (low, high) = deduce_bounds((), (g * 2.0**-490,)).ranges[int(x.variable_ids[0])]
    assert low <= 0 and 1.5 <= high <= 1.5000001
    disc = 1 - x**2 - x + y - y**2  # about (-1/2, 1/2)
    low, high = deduce_bounds((), (disc * F(2) ** power,)).ranges[int(x.variable_ids[0])]
    assert -1.72475 < low < -0.5 - 1.5**0.5 and 1.5**0.5 - 0.5 < high < 0.72475


def test_propagation_rounds_outward():
    rng = np.random.default_rng(2)
    for _ in range(200):
        a, b, c = (float(v) for v in rng.uniform(0.1, 10, size=3))
        # c - a x - b y >= 0 with y >= -1/3: x <= (c + b / 3) / a
        g, h = c - a * x - b * y, y + F(1, 3)
        _, high = deduce_bounds((), (h, g)).ranges[int(x.variable_ids[0])]
        assert F(high) >= (F(c) + F(b) / 3) / F(a)


def test_products_that_vanish_are_intervals():
    # z**3 y z**-like products: 1e-200 * 1e-200 is zero in floats and not in truth
    tiny = F(1, 10**200)
    (z,) = sd.variables("z", 1)
    result = deduce_bounds((), (tiny - y, y + tiny, tiny - z, z + tiny, -(x**2) + y * z))
    low, high = result.ranges[int(x.variable_ids[0])]
    assert F(high) ** 2 >= F(1, 10**400) and low < 0
