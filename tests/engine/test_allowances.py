"""Allowances for rounding one by one, each where it alone stands between a bound and the truth.

Their mutants are in tests/mutants/engine.toml. Where a larger allowance beside it would hide one, the other
is taken away, or the function that makes the allowance is asked itself.
"""

import random
from fractions import Fraction as F
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic.rigorous import UNIT, norm
from sosdp.conic.svec import svec
from sosdp.reduction import bounds as bounds_module
from sosdp.reduction import redundant
from sosdp.reduction.bounds import VariableBounds, _principal_minors, _propagate, _Propagation, _root
from sosdp.relaxation.assemble import scaling
from sosdp.relaxation.assemble.entries import Coefficients
from sosdp.relaxation.assemble.forall import interior_matrix
from sosdp.relaxation.certify import bound, free_directions
from sosdp.relaxation.certify.bound import certify
from sosdp.relaxation.certify.free_directions import NullConditions

x, y = sd.variables("ax ay")
X, Y = (int(v.variable_ids[0]) for v in (x, y))
S = sd.System
BOX = VariableBounds({X: 1.0, Y: 1.0}, ())


def identity_of(p, degree=2, system=None, **options):
    return sd.Relaxation(S() if system is None else system, degree, **options).assemble(p)[0]


def zeros(identity):
    return np.zeros(identity.gram.shape[0]), np.zeros(identity.free.shape[0]), np.zeros(1)


# ------------------------------------------------------------------------------------ what certify charges


def test_a_negative_multiplier_of_an_inequality_is_not_believed():
    """x - 1 = -1 (1 - x), and x is -1 somewhere."""
    identity = identity_of(x, 2, S(x <= 1, x >= -1))
    gram, free, unknowns = zeros(identity)
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        if block.kind != "sos" and str(block.multiplier) == str(1 - x):
            gram[rows] = -1.0
    assert gram.min() == -1.0
    assert certify(identity, gram, free, np.array([1.0]), BOX).loss >= 2.0


def test_an_indefinite_multiplier_of_an_inequality_is_not_believed():
    """x**4 - 1 = (1 - x**2)(-1 - x**2), which is -1 at 0."""
    identity = identity_of(x**4 - 1, 4, S(1 - x**2 >= 0), symmetry="none")
    gram, free, unknowns = zeros(identity)
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        if block.kind != "sos":
            assert block.side == 2
            gram[rows] = svec(-np.eye(2))
    assert certify(identity, gram, free, unknowns, BOX).loss >= 1.0


def test_what_a_plain_block_lacks_is_paid_for():
    identity = identity_of(-(x**2))
    assert certify(identity, *zeros(identity), BOX).loss >= 1.0


def test_what_no_block_can_produce_is_paid_for():
    identity = identity_of(x**3 + x**2, 4)
    reached = np.asarray(abs(identity.gram).sum(axis=0)).ravel() > 0
    assert not reached.all()  # nothing squares to x**3
    assert certify(identity, *zeros(identity), BOX).loss >= 1.0


def test_multipliers_too_large_to_be_added_up_prove_nothing():
    identity = identity_of(x**4, 4, S(1 - x**2 >= 0), symmetry="none")
    gram, free, unknowns = zeros(identity)
    gram[:] = 1e200
    assert certify(identity, gram, free, unknowns, BOX).loss == np.inf


def test_only_the_square_of_the_constant_can_spare_a_constant():
    """e x**3 + d (x**2 + 1) + y**2 is negative at (-1, 0): what y**2 has to spare does not help there."""
    p = F(1, 1000) * x**3 + F(1, 10**6) * (x**2 + 1) + y**2
    identity = identity_of(p, 4)
    gram = np.zeros(identity.gram.shape[0])
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        gram[rows] = svec(np.eye(block.side) * (1.0 if (block.basis == Y).any() else 1e-6))
    result = certify(identity, gram, np.zeros(0), np.zeros(1), BOX)
    assert result.margin > 0 and 1e-3 <= result.loss < 1e-2
    assert not result.proves


def test_the_entries_of_gram_matrices_are_rounded_once_more(monkeypatch):
    """Off the diagonal the vector form is divided by sqrt(2)."""
    identity = identity_of((x + y) ** 2, symmetry="none")
    none = np.zeros(identity.columns.shape[0])
    monkeypatch.setattr(bound._Parts, "error", lambda *_: none[None])
    monkeypatch.setattr(bound._Parts, "residual", lambda *_: none[None])
    monkeypatch.setattr(bound, "least_eigenvalue_bounds", lambda stack: np.zeros(len(stack)))
    gram = np.ones(identity.gram.shape[0])
    assert certify(identity, gram, np.zeros(0), np.zeros(1), BOX).margin <= -4 * UNIT * norm(gram)


def parts(up):
    up = sp.csr_matrix(up)
    return SimpleNamespace(up=up, size=abs(up), rounding=bound.roundings(np.diff(up.indptr)))


def test_every_term_of_a_residual_rounds():
    count = 1000
    gram = np.array([1.0] + [0.9 * UNIT] * count)  # each sum rounds back to 1
    given = parts(np.ones((1, count + 1)))
    wanted = np.zeros(1), gram
    missed = bound._Parts.residual(given, *wanted)
    truth = -sum(map(F, gram.tolist()))
    off = abs(F(float(missed[0])) - truth)
    assert off > 100 * F(UNIT)
    assert F(float(bound._Parts.error(given, *wanted)[0])) >= off


def test_products_that_vanish_are_still_there():
    given = parts([[2.0**-900]])
    wanted = np.zeros(1), np.array([2.0**-900])
    assert bound._Parts.residual(given, *wanted)[0] == 0.0
    assert F(float(bound._Parts.error(given, *wanted)[0])) >= F(2) ** -1800


# ------------------------------------------------------------------------------------ for-all constraints


def conditions(matrix):
    matrix = sp.csr_matrix(matrix)
    return NullConditions(np.arange(matrix.shape[1]), (0,), matrix, 1.0, np.zeros(0))


def test_the_distance_to_exact_multipliers_includes_rounding():
    here = np.array([0.1, 0.2, 0.1 + 0.2])
    truth = abs(F(0.1) + F(0.2) - F(0.1 + 0.2))
    assert truth > 0
    assert F(conditions([[1.0, 1.0, -1.0]])._distance(here)) >= truth


def test_the_least_eigenvalue_of_a_settled_matrix_includes_rounding(monkeypatch):
    monkeypatch.setattr(free_directions, "least_eigenvalue_bound", lambda matrix: 0.0)
    gram = svec(np.ones((2, 2)))
    assert NullConditions._least(gram, slice(0, 3), 2) <= -4 * UNIT * norm(gram)


def forall_identity():
    """A for-all block with free directions."""
    v = sd.variables("av", 2)
    form = v[0] ** 4 + v[1] ** 4 + x * v[0] ** 2 * v[1] ** 2
    system = S(sd.for_all(v, form >= 0), x**2 + y**2 <= 4)
    return identity_of(x + y, 2, system)


def test_multipliers_that_are_near_exact_ones_are_charged_the_distance(monkeypatch):
    identity = forall_identity()
    null = free_directions.null_conditions(identity)
    assert null is not None and null.weight.max() > 0
    losses = []
    for distance in (0.0, 1e-3):
        with monkeypatch.context() as patch:
            patch.setattr(NullConditions, "settle", lambda self, i, gram, d=distance: (gram, d))
            losses.append(certify(identity, *zeros(identity), VariableBounds({X: 2.0, Y: 2.0}, ())).loss)
    assert losses[1] >= losses[0] + 1e-4


def test_settled_matrices_are_inside_by_the_distance(monkeypatch):
    identity = forall_identity()
    null = free_directions.null_conditions(identity)
    monkeypatch.setattr(NullConditions, "_distance", lambda self, gram: 0.5)
    gram = np.zeros(identity.gram.shape[0])
    for k in null.blocks:  # inside, but by less than the distance
        inside = interior_matrix(identity.blocks[k])
        gram[identity.slices()[k]] = svec(0.1 * inside / np.linalg.eigvalsh(inside)[0])
    result = null.settle(identity, gram)
    assert result is not None
    for k in null.blocks:
        rows, side = identity.slices()[k], identity.blocks[k].side
        assert NullConditions._least(result[0], rows, side) >= 0.5


# ------------------------------------------------------------------------------------ bounds of variables


def test_products_of_bounds_are_rounded_up():
    draw = random.Random(1)
    for _ in range(200):
        sizes = {k: draw.uniform(0.1, 10) for k in range(1, 7)}
        truth = F(1)
        for size in sizes.values():
            truth *= F(size)
        assert F(float(VariableBounds(sizes, ()).magnitude(np.arange(1, 7)[None, :])[0])) >= truth


def test_a_product_of_bounds_that_vanishes_is_still_there():
    result = VariableBounds({X: 1e-200, Y: 1e-200}, ()).magnitude(np.array([[X, Y]]))
    assert F(float(result[0])) >= F(1, 10**400)


def test_nothing_is_claimed_of_zero_times_infinity():
    assert VariableBounds({X: 0.0}, ()).magnitude(np.array([[X, Y]]))[0] == np.inf


def test_the_norm_of_a_basis_is_rounded_up():
    draw = random.Random(2)
    basis = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]])
    for _ in range(100):
        sizes = {k: draw.uniform(0.1, 10) for k in (1, 2, 3)}
        result = VariableBounds(sizes, ()).squared_norm(basis)
        s = {k: F(v) for k, v in sizes.items()}
        truth = s[1] ** 2 + s[2] ** 2 + s[3] ** 2 + (s[1] * s[2]) ** 2 + (s[2] * s[3]) ** 2
        assert F(result) >= truth
        radius = draw.uniform(0.01, 2)
        ball = VariableBounds(dict.fromkeys((1, 2, 3), 1000000000.0), ((frozenset({1, 2, 3}), radius),))
        assert F(ball.squared_norm(basis)) >= F(radius) + F(radius) ** 2


def test_the_square_of_a_radius_is_rounded_up():
    """Balls alone are charged no more than this."""
    for scale in range(3, 60):
        result = bounds_module.deduce_bounds((), (1 - scale * x**2 - scale * y**2,))
        assert result.balls and all(F(radius) * scale >= 1 for _, radius in result.balls)


def test_ends_of_intervals_are_moved_outward():
    state = _Propagation()
    state.tighten(X, 0.1, 0.3)
    low, high = state.interval(X)
    assert low < 0.1 and high > 0.3


def test_sums_of_an_interval_round(monkeypatch):
    monkeypatch.setattr(_Propagation, "tighten", lambda self, v, low, high: self.high.__setitem__(v, high))
    draw = random.Random(5)
    for _ in range(500):
        numbers = [draw.uniform(0.1, 1) for _ in range(4)]
        state = _Propagation()
        for k, value in enumerate(numbers, 2):
            state.low[k] = value
        constant = sum(numbers) * (1 + 2.0**-50)
        # constant - x_1 - x_2 - ... >= 0 with x_k >= value: x_1 is at most what cancels nearly
        terms = [(constant, {}), *((-1.0, {k: 1}) for k in range(1, 6))]
        _propagate(state, terms)
        assert F(state.high[1]) >= F(constant) - sum(map(F, numbers))


def test_roots_are_rounded_away_from_zero():
    draw = random.Random(6)
    for _ in range(500):
        value, degree = draw.uniform(0.1, 1e6), draw.randint(2, 9)
        assert F(_root(value, degree)) ** degree >= F(value)


def test_an_ellipsoid_is_rounded_outward(monkeypatch):
    """Without the outward rounding of every interval, its own is enough."""

    def tighten(self, variable, low, high):
        self.low[variable], self.high[variable] = low, high

    draw = random.Random(7)
    for _ in range(300):
        state = _Propagation()
        a, b, c = draw.uniform(0.1, 9), draw.uniform(-9, 9), 10 ** draw.uniform(-13, -8)
        with monkeypatch.context() as patch:
            patch.setattr(_Propagation, "tighten", tighten)
            bounds_module._ellipsoid(state, [(c - b * b / (4 * a), {}), (b, {X: 1}), (-a, {X: 2})])
        if X not in state.high:
            continue
        # the larger root r of k + b r - a r**2: the value at the found end is not positive
        k, high, low = F(c - b * b / (4 * a)), F(state.high[X]), F(state.low[X])
        assert k + F(b) * high - F(a) * high**2 <= 0 and k + F(b) * low - F(a) * low**2 <= 0


def test_the_rounding_of_a_quadratic_form_is_in_its_least_eigenvalue(monkeypatch):
    monkeypatch.setattr(bounds_module, "least_eigenvalue_bound", lambda matrix: 4 * UNIT)
    terms = [(1.0, {}), (-1.0, {X: 2}), (-1.0, {Y: 2}), (1.5, {X: 1, Y: 1})]
    state = _Propagation()
    bounds_module._ellipsoid(state, terms)
    assert not state.high  # four units are less than what the coefficients may be off by


def test_minors_of_floats_are_exact():
    matrix = np.array([[sd.polynomial(0.1), 0.3 + x], [0.3 + x, sd.polynomial(0.9)]], dtype=object)
    assert _principal_minors(matrix)[2].constant == F(0.1) * F(0.9) - F(0.3) ** 2 > 0


# ------------------------------------------------------------------------------------ entries and scaling


def test_sums_of_fractions_are_rounded_once():
    identity = identity_of(F(1, 3) * x**2 + F(1, 3) + y, 2, S(x**2 == 1))
    at = identity.constant_column()
    off = abs(F(float(identity.target[at])) - F(2, 3))
    assert identity.rounded and 0 < off <= F(2, 3) * F(2) ** -53


def test_sums_of_floats_are_rounded_once():
    identity = identity_of(0.1 * x**2 + 0.7 + y, 2, S(x**2 == 1))
    at = identity.constant_column()
    off = abs(F(float(identity.target[at])) - F(0.1) - F(0.7))
    assert identity.rounded and 0 < off <= F(2) ** -53


def test_integers_beyond_2_to_53_are_no_floats():
    assert Coefficients(np.array([2**53 - 1])).exact
    assert not Coefficients(np.array([2**53 + 1])).exact


def test_a_ball_survives_only_one_scale_for_all():
    exponent = np.zeros(max(X, Y) + 1)
    exponent[[X, Y]] = 1, 3
    ball = VariableBounds({X: 2.0, Y: 8.0}, ((frozenset({X, Y}), 64.0),))
    assert scaling._scaled_bounds(ball, exponent).balls == ()
    exponent[[X, Y]] = 3, 3
    assert scaling._scaled_bounds(ball, exponent).balls == ((frozenset({X, Y}), 1.0),)


@pytest.mark.parametrize("digits, made", [(180, True), (195, False), (220, False)])
def test_a_scaling_that_leaves_the_normal_floats_is_not_made(digits, made):
    """With |x| <= 1e-57 a coefficient 1e-195 of x**2 would be a subnormal number, which rounds."""
    p = F(1, 10**digits) * x**2 + 10**57 * x
    identity = identity_of(p, 2, S(x**2 <= F(1, 10**114)))
    result = scaling.find_scaling(identity, VariableBounds({X: 1e-57}, ()))
    assert result.trivial is not made
    assert (scaling.scale(identity, result).target / result.column == identity.target).all()


def test_redundant_constraints_are_rounded_outward():
    draw = random.Random(8)
    for _ in range(100):
        value = F(draw.randint(1, 10**9), draw.randint(1, 10**9))
        assert value <= redundant._up(value) <= value * F(1030, 1024)
    assert redundant._up(F(0)) == 0


# ------------------------------------------------------------------------------------ mixtures
