"""Odd degrees: products of squares and constraints of odd degree reach them, on both sides and in files."""

from fractions import Fraction as F

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.conic.choose import opinion
from sosdp.conic.strategies import dual_bound
from sosdp.relaxation.certify import interior

x, y = sd.variables("x y")
S = sd.System
INTERVAL = S(x >= -1, x <= 1)


@pytest.mark.parametrize("degree", [3, 5, 7, 9])
def test_chebyshev(degree):
    program = sd.SosProgram([])
    p = program.polynomial(f"cheb{degree}_", [x], degree)
    program.require(1 - p, on=INTERVAL, degree=degree).require(1 + p, on=INTERVAL, degree=degree)
    found = program.maximize(sd.coefficient(p, x**degree, [x]))
    best = 2 ** (degree - 1)
    assert found.status == "optimal" and found.bound == pytest.approx(best, rel=1e-6)
    assert best * (1 - 1e-6) <= found.certified_bound <= best
    # the certified coefficients stay within one everywhere on the interval
    grid = np.linspace(-1, 1, 2001)
    values = sum(found.certified_values[f"cheb{degree}_{k}"] * grid**k for k in range(degree + 1))
    assert np.abs(values).max() <= 1


@pytest.mark.parametrize("degree", [3, 4, 5, 7])
def test_a_cubic_on_an_interval(degree):
    truth = -2 / 3 / 3**0.5
    found = sd.minimize(x**3 - x, INTERVAL, degree, prune=False)
    assert found.status == "optimal" and found.degree == degree
    assert truth - 1e-6 <= found.certified_bound <= truth
    assert found(x**3) == pytest.approx((1 / 3) ** 1.5, abs=1e-3)
    assert max(found.sizes["blocks"]) == degree // 2 + 1
    with pytest.raises(ValueError, match="raise the degree"):
        found(x ** (degree + 1))


def test_bounds_grow_with_every_degree():
    # Handelman's question on the square: each degree contains the one before
    square = S(x >= 0, 1 - x >= 0, y >= 0, 1 - y >= 0)
    bounds = [sd.minimize(x * y**2 - x**2 * y, square, t).certified_bound for t in (3, 4, 5, 6)]
    assert all(a <= b + 1e-7 for a, b in zip(bounds, bounds[1:])) and bounds[-1] <= -0.25


def test_degree_one_is_linear_programming():
    triangle = S(x >= 0, y >= 0, x + 2 * y <= 4, 3 * x + y <= 6)
    found = sd.maximize(x + y, triangle, 1)
    assert found.bound == pytest.approx(2.8, abs=1e-6) and found.certified_bound >= 2.8
    assert sd.feasible(triangle & S(x + y >= 3), 1).status == "infeasible"


def test_what_no_product_reaches_is_unbounded():
    found = sd.minimize(x**3, None, 3)
    assert found.status == "unbounded" and found.solver == "none"


def test_certificates_and_files(tmp_path):
    proof = certificates.extract(sd.minimize(x**3 - x, INTERVAL, 3)).exact()
    assert str(proof.verify()) == "valid"
    path = tmp_path / "cubic.sos.json"
    path.write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x**3 - x",'
        ' "subject_to": ["x >= -1", "x <= 1"], "degree": 3}'
    )
    loaded = sd.load_problem(path)
    assert loaded.degree == 3
    for degree in (0, -3, "3"):
        path.write_text(
            '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x",'
            f' "subject_to": ["x >= -1", "x <= 1"], "degree": {degree!r}}}'.replace("'", '"')
        )
        with pytest.raises(sd.ProblemFileError, match="positive integer"):
            sd.load_problem(path)


def test_equalities_and_matrices_of_odd_degree():
    # on the cubic curve y = x**3 multiples of degree 5 of the equation are used
    curve = S((y - x**3).equals(0), x >= 0, x <= F(1, 2))
    found = sd.minimize(-y, curve, 5)
    assert found.certified_bound <= -F(1, 8) <= found.certified_bound + 1e-5
    matrix = S(sd.PSD(np.array([[1 - x, y], [y, 1 + x]], dtype=object)))
    disc = sd.minimize(x * y, matrix, 3)
    assert disc.certified_bound <= -0.5
    assert disc.certified_bound == pytest.approx(-0.5, abs=1e-4)


HALF_LINES = [
    (lambda x, y: x**3, lambda x, y: [x >= -1], -1),
    (lambda x, y: x**3 - 3 * x, lambda x, y: [x >= -2], -2),
    (lambda x, y: x**5, lambda x, y: [x >= -1], -1),
    (lambda x, y: x * y**2, lambda x, y: [x >= 0], 0),
    (lambda x, y: x**3 + x * y**2 - 3 * x, lambda x, y: [x >= 0], -2),
    (lambda x, y: x**3 + y**3, lambda x, y: [x >= 0, y >= -1], -1),
    (lambda x, y: 0.1 * x**3 - 0.3 * x, lambda x, y: [x >= -2.5], -0.8125),
]


@pytest.mark.parametrize("objective, constraints, truth", HALF_LINES)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_bound_on_a_set_that_bounds_nothing(objective, constraints, truth, sign):
    """A half line has no bound on x to pay with: the multipliers are inside their cones, and exact."""
    f, on = objective(x, y), S(constraints(x, y))
    found = sd.minimize(f, on, f.degree) if sign > 0 else sd.maximize(-f, on, f.degree)
    assert found.status == "optimal" and found.certified_bound is not None
    assert sign * found.certified_bound <= truth + 1e-15
    assert found.certified_bound == pytest.approx(sign * truth, abs=1e-5)


def test_coefficients_that_floats_do_not_hold_are_charged():
    """The minimum of (1 + e) x**3 - 3 x on the half line is -2 / sqrt(1 + e), above -2; with -e below."""
    for e in (F(1, 10**30), -F(1, 10**30), F(1, 3)):
        found = sd.minimize((1 + e) * x**3 - 3 * x, sd.System(x >= 0), 3).certified_bound
        assert found is not None and F(found) ** 2 * (1 + e) >= 4
        assert interior._is_short(sd.System(x >= 0), (1 + e) * x**3 - 3 * x) is False


def test_errors_of_entries_widen_the_bound():
    program = sd.Relaxation(sd.System(x >= -1), 3).to_conic(x**3)
    A, b, q = (np.zeros_like(v) for v in (program.A.toarray(), program.b, program.q))
    with opinion(program) as solve:
        exact = dual_bound(program, (A, b, q), solve)
    for part in (A, b, q):
        part[...] = 1e-6
        with opinion(program) as solve:
            assert dual_bound(program, (A, b, q), solve) < exact - 1e-7
        part[...] = 0.0


def test_the_identity_is_left_as_it_is():
    """Scaled identities share its index arrays: sorting them in place once made moments disagree."""
    relax = sd.Relaxation(S(x**2 + y >= 1, y <= 3), 4)
    identity, _ = relax.assemble(x**4 + x * y)
    before = identity.gram.indices.copy(), identity.free.indices.copy()
    interior.interior_bound(identity, relax.system, x**4 + x * y, 5.0)
    assert (identity.gram.indices == before[0]).all() and (identity.free.indices == before[1]).all()
