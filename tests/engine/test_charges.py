"""Single terms of the certificate's proof, each where it decides: see tests/mutants/engine.toml."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.reduction.bounds import VariableBounds, deduce_bounds
from sosdp.relaxation.build.entries import Coefficients, product_error
from sosdp.relaxation.certify.bound import certify
from sosdp.relaxation.certify.classify import Answer

x, y = sd.variables("x y")
S = sd.System


def identity_of(p, degree=2, system=None, **options):
    relaxation = sd.Relaxation(S() if system is None else system, degree, **options)
    return relaxation.assemble(p)[0]


def test_a_residual_that_rounds_to_zero_is_charged():
    # x**2 + (0.1 + 0.2): with the multiplier 0.1 + 0.2 of the constant the float residual is exactly zero,
    # and still a square with that Gram matrix is not exactly the polynomial: nothing without an error
    identity = identity_of(x**2 + F(1, 3), symmetry="none", prune=False)
    gram = np.zeros(identity.gram.shape[0])
    one, square = (int(np.flatnonzero((identity.columns == c).all(axis=1))[0]) for c in ([0, 0], [1, 1]))
    rows = {int(identity.gram.indices[identity.gram.indptr[r]]): r for r in (0, 2)}
    gram[rows[one]], gram[rows[square]] = identity.target[one], 1.0
    # bound 0: all of 1/3 is in the Gram matrix; it is singular in no direction but what is off is charged
    free, unknowns = np.zeros(0), np.zeros(1)
    found = certify(identity, gram, free, unknowns, VariableBounds({}, ()))
    assert found.loss == 0.0
    # the whole of 1/3 as the bound: the Gram matrix has a zero there, and 1/3 is no float
    gram[rows[one]] = 0.0
    unknowns[0] = identity.target[one]
    found = certify(identity, gram, free, unknowns, VariableBounds({}, ()))
    assert found.loss > 0.0


def test_gram_matrices_pay_for_the_whole_residual():
    # a residual at x*y can only be absorbed in the entry (x, y) of a matrix that is singular there
    identity = identity_of(x**2 + 2 * x * y + y**2, symmetry="none", prune=False)
    rng = np.random.default_rng(0)
    bounds = VariableBounds({1: 1.0, 2: 1.0}, ())
    for _ in range(20):
        gram = rng.normal(size=identity.gram.shape[0]) * 1e-3
        unknowns = np.zeros(1)
        found = certify(identity, gram, np.zeros(0), unknowns, bounds)
        # what is proven: target >= -loss on the box; the truth is target >= 0, attained
        assert found.loss >= 0
    # the certificate itself: uncertain coefficients move the least eigenvalue by their whole norm
    errors = np.zeros(identity.columns.shape[0])
    at = int(np.flatnonzero((np.sort(identity.columns, axis=1) == [1, 2]).all(axis=1))[0])
    errors[at] = 1e-3
    from sosdp.relaxation.build.identity import RoundingErrors

    zero = [m * 0.0 for m in (identity.gram, identity.free, identity.unknown)]
    charged = replace(identity, errors=RoundingErrors(zero[0], zero[1], errors, zero[2]))
    gram = np.zeros(identity.gram.shape[0])
    found = certify(charged, _exact_gram(identity), np.zeros(0), np.zeros(1), bounds)
    # (x + y)**2 + e x y with |e| <= 1e-3 is as low as -1e-3 / 4 on the box
    assert found.loss >= 1e-3 / 4


def _exact_gram(identity):
    """The Gram vector of (x + y)**2."""
    basis = identity.blocks[0].basis
    vector = np.array([1.0 if row.any() else 0.0 for row in basis])
    from sosdp.conic.svec import svec

    return svec(np.outer(vector, vector))


def test_errors_of_entries_are_charged():
    # 1e-400 is no float: its entry is zero with an error, and a Gram matrix that is zero there is no proof
    identity = identity_of(x**2 - F(1, 10**400), symmetry="none", prune=False)
    assert identity.errors is not None and identity.errors.target.max() > 0
    gram = np.zeros(identity.gram.shape[0])
    basis = identity.blocks[0].basis
    from sosdp.conic.svec import svec

    gram[:] = svec(np.diag([1.0 if row.any() else 0.0 for row in basis]))
    found = certify(identity, gram, np.zeros(0), np.zeros(1), VariableBounds({}, ()))
    assert found.loss > 0.0


def test_sums_of_floats_that_cancel_carry_an_error():
    system = S(x**2 == 1, 1e16 * x**3 + 0.3 * y - 1e16 * x + 1 >= 0, y**2 <= 1)
    identity = identity_of(y, 4, system)
    assert identity.errors is not None and identity.errors.gram.max() >= 1.0
    # exact coefficients need none
    exact = S(x**2 == 1, 10**16 * x**3 + F(3, 10) * y - 10**16 * x + 1 >= 0, y**2 <= 1)
    errors = identity_of(y, 4, exact).errors
    assert errors is None or errors.gram.max() < 1e-10


def test_a_float_stands_for_two_numbers():
    given = Coefficients(np.array([0.1, 0.5, 3.0]))
    assert given.reading(0) >= abs(F(0.1) - F(1, 10)) > 0
    assert given.reading(1) == given.reading(2) == 0.0
    assert not given.exact and Coefficients(np.array([0.5, 3.0])).exact


def test_products_that_cancel_by_one_reading_are_left_out():
    g, h = 0.1 + x, 0.3 - 3 * x  # as decimals (0.1 + x)(0.3 - 3 x) has no term in x
    product = g.as_exact() * h.as_exact()
    assert product.coefs.size == 2
    assert product_error(product, [g, h]) == (False, None)
    fits, error = product_error(g.as_exact() * g.as_exact(), [g, g])
    binary = F(0.1) ** 2
    assert fits and error is not None and error.max() >= abs(binary - F(1, 100))


@pytest.mark.parametrize("power", [-900, -530, 0, 530, 900])
def test_bounds_of_a_scaled_constraint(power):
    g = 3 * x - 2 * x**2
    scaled = g * (F(2) ** power if abs(power) > 500 else 2.0**power)
    (low, high) = deduce_bounds((), (scaled,)).ranges[int(x.variable_ids[0])]
    assert low <= 0 and 1.5 <= high <= 1.5000001
    (low, high) = deduce_bounds((), (g * 2.0**-490,)).ranges[int(x.variable_ids[0])]
    assert low <= 0 and 1.5 <= high <= 1.5000001


def test_propagation_rounds_outward():
    rng = np.random.default_rng(2)
    for _ in range(200):
        a, b, c = (float(v) for v in rng.uniform(0.1, 10, size=3))
        # c - a x - b y >= 0 with y >= -1/3: x <= (c + b / 3) / a
        g, h = c - a * x - b * y, y + F(1, 3)
        _, high = deduce_bounds((), (h, g)).ranges[int(x.variable_ids[0])]
        assert F(high) >= (F(c) + F(b) / 3) / F(a)


def test_an_optimum_needs_a_certified_gap(monkeypatch):
    original = Answer._certified_bound

    def lower(self, value):
        best, reason, first = original(self, value)
        return None if best is None else best - 1.0, reason, first

    monkeypatch.setattr(Answer, "_certified_bound", lower)
    assert sd.minimize(x**2, S(x**2 <= 1), 2).status == "inaccurate"
