"""Bounds and verdicts are about the numbers that were stated, not about the floats next to them."""

import itertools
import random
from fractions import Fraction
from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic.rigorous import least_eigenvalue_bound, least_eigenvalue_bounds, norms
from sosdp.reduction.bounds import deduce_bounds
from sosdp.reduction.quotient import find_quotient
from sosdp.relaxation.certify.exact_data import as_stated
from tests.fuzz.instances import value
from tests.refusals import each, refusals

x, y, z, u, v = sd.variables("x y z u v")
S = sd.System
THIRD, LITTLE = F(1, 3), F(1, 10**30)


def odd_part(value):
    whole = abs(F(value).numerator)
    return whole // (whole & -whole)


def test_entries_are_whole_numbers_times_powers_of_two():
    relax = sd.Relaxation(S(x.equals(THIRD), x * y * F(2, 7) <= F(3, 5)), 2)
    program = relax.minimize(y * F(1, 9) + x).program
    exact = as_stated(program, [F(1, 9), 1], [[1]])
    assert exact.off == 0 and exact.factor == F(9, 16)
    identity = exact.program.identity
    assert {odd_part(c) for c in identity.free.data.tolist()} == {1, 3}
    assert {odd_part(c) for c in identity.target[identity.target != 0].tolist()} == {1, 9}
    assert {odd_part(c) for c in identity.gram.data[-2:].tolist()} == {5, 21}
    assert as_stated(program, [THIRD, LITTLE], [[1]]).target_off > 0
    assert as_stated(program, [F(1, 9), 1], [[10**17 + 1]]).off > 0


def test_equations_that_only_floats_make_alike_are_kept():
    relax = sd.Relaxation(S(x.equals(THIRD), x.equals(THIRD + LITTLE)), 2)
    identity = relax.minimize(x).identity
    assert {e.index for e in identity.equalities} == {0, 1}
    assert np.array_equal(*(e.polynomial.as_float().coefs for e in identity.equalities))


@pytest.mark.few(1)
@pytest.mark.parametrize("a", [0.1 + 1.1 + 0.3, 1.75 - 2**-52])
def test_a_point_of_numbers_that_are_stored_as_short_ones(a):
    """1.5000000000000002 and 1.5 are one float times sqrt(2): x = 1 / a was proven not to be there."""
    (w,), (X, Y) = [sd.complex_variables("w")], sd.operators("X Y", hermitian=True, party="P")
    real = w + w.conj()
    for answer in (
        sd.feasible([(a * x).equals(1), a * x >= 1], 4),
        sd.minimize(real, [a * real == 2, a * real >= 2], 4),
        sd.minimize(-Y, [a * X == 1, a * X >= 1], level=2),
    ):
        assert answer.status != "infeasible"


@pytest.mark.few(1)
@pytest.mark.parametrize("a", ["1.7499999999999998", "0.7"])
def test_a_file_with_numbers_that_are_stored_as_short_ones(tmp_path, a):
    """[[1, a x], [a x, 1]] is semidefinite and a x - 1 not negative: x = 1 / a."""
    text = f"1\n2\n-1 2\n1.0\n0 1 1 1 1.0\n1 1 1 1 {a}\n0 2 1 1 -1.0\n0 2 2 2 -1.0\n1 2 1 2 {a}\n"
    path, again = tmp_path / "p.dat-s", tmp_path / "p.cbf"
    path.write_text(text, encoding="utf-8")
    sd.write_program(sd.read_program(path), again)
    for answer in (sd.solve(path), sd.solve(again)):
        assert answer.status != "infeasible" and answer.upper >= 1 / float(a) - 1e-15


def test_a_mass_is_what_was_stated():
    """A mass of 1/10 was a moment of 1/10 in floats, and the set was proven empty."""
    g, on = sd.polynomial("g"), S((1000 * x).equals(7 * y), (7 * y).equals(11), 1000 * x >= 11)
    measures = sd.MeasureProgram()
    mu = measures.measure([x, y], on=on)
    measures.require(10 * mu.mass == 1)
    assert measures.minimize(mu(x**2), 2).status == "optimal"
    assert sd.SosProgram([g]).require(x - 10 * g, on=on, degree=2).maximize(g).status == "optimal"
    t, c, d = -0.284, 0.001, -0.283  # the exact sum of the first two is less than the third
    measures = sd.MeasureProgram()
    mu = measures.measure([x, y], on=S(x.equals(t)), mass=1)
    measures.require(mu(x + c) >= d)
    assert F(t) + F(c) < F(d) and measures.minimize(mu(y)).status == "infeasible"


def test_numbers_with_two_factors(tmp_path):
    """A factor sqrt(2) times another is not 2: points were proven not to be there, in smaller cones (1, y),
    in a file [[1, 1], [1, 1]], through other packages x = 1 / a."""
    assert sd.minimize(y, [x.equals(1)], cone="dsos").status != "infeasible"
    path, text = tmp_path / "p.cbf", "VER\n1\n\nOBJSENSE\nMIN\n\nPSDVAR\n1\n2\n\nCON\n2 1\nL= 2\n\n"
    text += "OBJFCOORD\n2\n0 0 0 1.0\n0 1 1 1.0\n\nFCOORD\n2\n0 0 1 0 1.0\n1 0 1 0 3.0\n\n"
    path.write_text(text + "BCOORD\n2\n0 -2.0\n1 -6.0\n", encoding="utf-8")
    assert sd.solve(path).value == pytest.approx(2, abs=1e-6)
    cp, a = pytest.importorskip("cvxpy"), 1.75 - 2**-52
    t = cp.Variable()
    cone = cp.SOC(cp.Constant(0.0), cp.hstack([a * t - 1, 0 * t]))
    for constraint in (cone, cp.bmat([[0, a * t - 1], [a * t - 1, 1]]) >> 0):
        program = sd.from_cvxpy(cp.Problem(cp.Minimize(t), [a * t == 1, constraint]))
        assert sd.solve_conic(program).status != "infeasible"


XS = x, y, z
CUBE = sd.System([v**2 == 1 for v in XS])
POINTS = [dict(zip("xyz", p, strict=True)) for p in itertools.product((Fraction(-1), Fraction(1)), repeat=3)]


def random_polynomial(rng, exact):
    def number():
        if exact:
            thirds = Fraction(rng.randint(-9, 9), 3)
            return rng.choice(
                [thirds, rng.randint(-(10**18), 10**18), 10**17 - 1, -(10**17), Fraction(1, 10**20)]
            )
        return rng.choice([rng.uniform(-3, 3), 0.1, rng.uniform(-1, 1) * 10.0 ** rng.randint(-5, 17)])

    monomials = sd.monomials(XS, 2).tolist()
    return sum((number() * rng.choice(monomials) for _ in range(3)), sd.polynomial(0))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
def test_mixed_polynomials_are_bounded_as_they_were_stated(seed):
    rng = random.Random(seed)
    for _ in range(15):
        f, e = random_polynomial(rng, False), random_polynomial(rng, True)
        small = e.is_exact and max((abs(c) for c in e.coefs.tolist()), default=0) < 2**53
        small = small and all(Fraction(c).denominator == 1 for c in e.coefs.tolist())
        low, high = [value(f, t) for t in POINTS], [value(e, t) for t in POINTS]
        p, wanted = rng.choice(
            [
                (f + e, [a + b for a, b in zip(low, high, strict=True)]),
                (e - f, [b - a for a, b in zip(low, high, strict=True)]),
                (f * e, [a * b for a, b in zip(low, high, strict=True)]),
                (sum([e, f, e]), [2 * b + a for a, b in zip(low, high, strict=True)]),
            ]
        )
        values = [value(p, t) for t in POINTS]
        assert small or values == wanted
        answer = sd.minimize(p, CUBE, 6 if p.degree > 2 else 4)
        assert answer.certified_bound is not None, answer
        proven, truth = Fraction(answer.certified_bound), min(values)
        size = max([Fraction(1), *(abs(Fraction(c)) for c, _ in p.terms())])
        assert truth - size / 10**4 <= proven <= truth


@pytest.mark.parametrize("power", [10, 12, 14, 17])
def test_large_coefficients_are_no_rays(power):
    """Clarabel takes them for unbounded or infeasible: points of the cube lie low, but E[1] = 1 there."""
    for p in (10**power * x * y + 3 * x, 3 * 10**power * x + 5 * 10**power * y * z - 10**power + x):
        assert sd.minimize(p, CUBE, 4, solver="clarabel").status not in ("unbounded", "infeasible")
        answer = sd.minimize(p, CUBE, 4)
        truth = min(value(p, t) for t in POINTS)
        assert answer.status == "optimal" and answer.certified_bound <= truth
        assert truth - Fraction(answer.certified_bound) <= Fraction(abs(truth), 10**5)


def test_what_is_unbounded_is_still_said_to_be():
    assert sd.minimize(10**12 * x, sd.System(), 2).status == "unbounded"
    assert sd.minimize(10**12 * x**2 - 10**13 * y, sd.System(x**2 <= 1), 2).status == "unbounded"


def test_sums_of_floats_in_constraints_are_charged_what_they_round():
    a, b = 1e16, 0.3
    system = S(x**2 == 1, y**2 <= 4, a * x**2 + b - a * x**4 - y >= 0)
    result = sd.maximize(y, system, 4)
    # a * x**2 - a * x**4 is 0 on the set, so that y = b is a point
    assert result.certified_bound >= F(b)


def test_a_power_rule_is_an_exact_statement():
    nearly = (10**17 + 1) * x**2 - 10**17
    assert find_quotient((nearly,)).power == {}
    assert find_quotient(((10**17 + 1) * x**2 - 10**17 - 1,)).power != {}
    result = sd.minimize(10**20 * (x**2 - 1), S(nearly.equals(0)), 2)
    truth = F(10**20) * (F(10**17, 10**17 + 1) - 1)
    assert result.certified_bound is None or result.certified_bound <= truth


test_coefficients_beyond_floats_are_refused = refusals(
    # unbounded; negative
    *each(
        lambda p: sd.minimize(p, S(), 2),
        (x * F(1, 10**400) + y**2, sd.polynomial(F(-1, 10**400))),
        "too small for a float",
    ),
    (lambda: sd.minimize(x + y**2, S(x**2 <= 10**800), 2), "too large for a float"),
)


def test_a_tiny_radius_is_no_zero():
    tiny = F(1, 10**400)
    (bound,) = deduce_bounds((), ((tiny - x),)).ranges.values()
    assert bound[1] > 0
    (bound,) = deduce_bounds((), ((-(x**2) + tiny),)).ranges.values()
    assert bound[0] < 0 < bound[1]
    # a small coefficient takes part, whatever it multiplies
    mixed = deduce_bounds((), (y**2 * -1 + 10**280, -(x**2) + tiny * y)).largest
    assert mixed[int(x.variable_ids[0])] >= 0


def test_norms_of_small_numbers_do_not_vanish():
    rows = np.array([[3e-290, 4e-290], [0.0, 0.0], [3.0, 4.0]])
    assert norms(rows) * [1e290, 1, 1] == pytest.approx([5.0, 0.0, 5.0])


def test_large_matrices_prove_nothing():
    assert least_eigenvalue_bound(np.full((3, 3), 1e200)) == -np.inf
    assert (least_eigenvalue_bounds(np.full((6, 3, 3), 1e200)) == -np.inf).all()


@pytest.mark.parametrize("tolerance", [10.0, 0.1, 1e-3])
def test_a_tolerance_decides_no_verdict(tolerance):
    p, ball = x**4 - 3 * x**2 + x, S(x**2 <= 9)
    exact = sd.minimize(p, ball, 4).bound
    for solver in ("clarabel", "scs"):
        result = sd.minimize(p, ball, 4, tolerance=tolerance, solver=solver)
        assert result.status != "optimal" or result.bound == pytest.approx(exact, abs=1e-4)
        assert result.certified_bound is None or result.certified_bound <= exact + 1e-7
    assert sd.feasible(S(x**2 <= 1, x >= 2), 2, tolerance=tolerance).status != "optimal"
    answer = sd.SosProgram([y]).require(x**4 - 2 * x**2 + 3 - y).maximize(y, tolerance=tolerance)
    assert answer.status != "optimal" or answer.bound == pytest.approx(2, abs=1e-4)


def test_a_loose_tolerance_closes_no_gap_at_points():
    """Both sides agreed to ten, relatively, and that counted as an optimum: -5e16 for 2."""
    large = 10**17 + 1
    answer = sd.minimize(large + 2 - large * x**2, S((0.1 * x**2 - 0.1 * x).equals(0)), 2, tolerance=10.0)
    assert answer.status != "optimal" or answer.bound == pytest.approx(2, abs=1e-5 * large)
    assert answer.certified_bound is None or answer.certified_bound <= 2


def test_an_uncertified_optimum_says_on_what_it_rests():
    result = sd.minimize(x**2 * y**2 + (x - 1) ** 2, S(), 4)
    assert result.status != "optimal" or result.certified_bound is not None or "rests on" in result.reason
