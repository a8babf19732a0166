"""Single terms of the certificate's proof, each where it decides: see tests/mutants/engine.toml."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.reduction.bounds import VariableBounds, deduce_bounds
from sosdp.relaxation.build.entries import Coefficients, product_error
from sosdp.relaxation.build.identity import GramProgram, RawSolution
from sosdp.relaxation.certify import classify
from sosdp.relaxation.certify.bound import certify
from sosdp.relaxation.certify.misfit import misfit
from sosdp.relaxation.certify.proven_value import value_of

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
    found = certify(identity, gram, np.zeros(0), np.array([gamma]), VariableBounds({}, ()))
    assert 0.0 < found.loss < 1e-14
    # with a gamma that leaves room nothing is lost
    assert certify(identity, gram, np.zeros(0), np.array([0.3]), VariableBounds({}, ())).loss == 0.0


def test_gram_matrices_pay_for_the_whole_residual():
    # a residual at x*y can only be absorbed in the entry (x, y) of a matrix that is singular there
    identity = identity_of(x**2 + 2 * x * y + y**2, symmetry="none", prune=False)
    rng = np.random.default_rng(0)
    ids = sorted(int(v.variable_ids[0]) for v in (x, y))
    bounds = VariableBounds(dict.fromkeys(ids, 1.0), ())
    for _ in range(20):
        gram = rng.normal(size=identity.gram.shape[0]) * 1e-3
        unknowns = np.zeros(1)
        found = certify(identity, gram, np.zeros(0), unknowns, bounds)
        # what is proven: target >= -loss on the box; the truth is target >= 0, attained
        assert found.loss >= 0
    # the certificate itself: uncertain coefficients move the least eigenvalue by their whole norm
    errors = np.zeros(identity.columns.shape[0])
    at = int(np.flatnonzero((np.sort(identity.columns, axis=1) == ids).all(axis=1))[0])
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
    identity = identity_of(x**2 - F(1, 10**400))
    assert identity.errors is not None and identity.errors.target.max() > 0
    gram = np.array([1.0 if b.basis.any() else 0.0 for b in identity.blocks])
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
    original = classify.certified_value

    def lower(solved, value):
        best, reason, first = original(solved, value)
        return None if best is None else best - 1.0, reason, first

    monkeypatch.setattr(classify, "certified_value", lower)
    assert sd.minimize(x**2, S(x**2 <= 1), 2).status == "inaccurate"


def test_multipliers_that_miss_the_identity_do_not_fit():
    relaxation = sd.Relaxation(S(), 2)
    identity, _ = relaxation.assemble(x**2 + 1)
    program = GramProgram(identity, np.ones(1), np.full(1, np.inf))
    rows, columns = identity.gram.shape
    raw = RawSolution(
        "optimal", np.zeros(rows), np.zeros(0), np.zeros(1), np.zeros(columns), 0.0, "", 0, 0.0, ""
    )
    assert misfit(program, raw) >= 0.5
    right = replace(raw, gram=np.ones(rows))
    assert misfit(program, right) <= 1e-15


def test_a_proven_value_is_rounded_down():
    rng = np.random.default_rng(4)
    for _ in range(200):
        value, loss = float(rng.normal()), float(rng.uniform(0, 1e-9))
        program = GramProgram(None, np.ones(1), np.full(1, np.inf))  # type: ignore[arg-type]
        found = value_of(program, np.array([value]), loss)
        assert F(found) <= F(value) - F(loss)


def test_products_that_vanish_are_intervals():
    # z**3 y z**-like products: 1e-200 * 1e-200 is zero in floats and not in truth
    tiny = F(1, 10**200)
    (z,) = sd.variables("z", 1)
    found = deduce_bounds((), (tiny - y, y + tiny, tiny - z, z + tiny, -(x**2) + y * z))
    low, high = found.ranges[int(x.variable_ids[0])]
    assert F(high) ** 2 >= F(1, 10**400) and low < 0


def test_a_feasible_verdict_needs_its_moments(monkeypatch):
    from sosdp.relaxation import relaxation

    original = relaxation.solve_program

    def spoiled(program, **options):
        raw = original(program, **options)
        return replace(raw, moments=-raw.moments)

    monkeypatch.setattr(relaxation, "solve_program", spoiled)
    assert sd.feasible(S(x**2 <= 1, x >= 0), 2).status != "optimal"
