"""Answers do not depend on units of variables, objectives, constraints, unknowns, nor on where 0 is."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.relaxation.steps import exact

x, y, c, p, q, r = sd.variables("x y c p q r")
CAMEL = (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2
BOX = [x**2 <= 9, y**2 <= 4]
LEAST = -1.0316284534898774


def agrees(result, value, unit=1.0, digits=1e-5):
    """Optimal, near the value (known to 8 digits), and proven on the right side and near it."""
    assert result.status == "optimal", result
    assert abs(result.bound - value) <= digits * unit
    sign = -1 if getattr(result, "bound_kind", "lower") == "upper" else 1
    assert -digits * unit <= sign * (result.certified_bound - value) <= 1e-8 * unit


@pytest.mark.parametrize(
    "function",
    [
        lambda s: sd.minimize(s * CAMEL, BOX, 6),
        lambda s: sd.maximize(s * (x - x * y), [x**2 + y**2 <= 1]),
        lambda s: sd.minimize_trigonometric([0, -s, 0, 2 * s, 0, s], [0, 0.5 * s]),
        lambda s: sd.minimize(s * sd.chebyshev(x, 20), sd.System(1 - x**2 >= 0)),
    ],
)
@pytest.mark.parametrize("power", [-40, 3, 40])
def test_a_power_of_two_times_the_objective_gives_exactly_so_many_times_the_answer(function, power):
    one, many = function(1.0), function(2.0**power)
    assert (many.status, many.bound) == (one.status, 2.0**power * one.bound)
    assert many.certified_bound == 2.0**power * one.certified_bound


@pytest.mark.slow
@pytest.mark.parametrize("length", [1e-7, 1e-9, 1e-10])
@pytest.mark.parametrize("price", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("degree", [2, 4])
def test_a1_nanometres_times_euros(length, price, degree):
    u, v = x / length, y / price
    f = (u - 3) ** 2 + (v - 0.4) ** 2 + (u - 3) * (v - 0.4)
    box = [x >= length, x <= 5 * length, y >= 0.1 * price, y <= price]
    agrees(sd.minimize(f, box, degree=degree), 0.0)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-6, 1e-3, 1e6, 1e8, 1e12])
def test_a3_b1_objectives_in_odd_units(unit):
    answer = sd.minimize(unit * CAMEL, BOX, 6)
    agrees(answer, unit * LEAST, unit)
    assert answer.exact and np.allclose(np.abs(answer.atoms()), [[0.0898, 0.7126]] * 2, atol=1e-3)


@pytest.mark.parametrize("unit", [1e-9, 1e12])
def test_a3_b1_other_kinds_of_problems(unit):
    graph = np.triu(np.random.default_rng(3).random((8, 8)) < 0.5, 1)
    v = sd.variables("v", 8)
    cut = sum((1 - v[i] * v[j]) / 2 for i, j in zip(*np.nonzero(graph), strict=True))
    wanted = sd.maximize(cut, sd.System(v**2 == 1), 4)
    agrees(sd.maximize(unit * cut, sd.System(v**2 == 1), 4), unit * round(wanted.bound), unit, 1e-4)
    z, w = sd.complex_variables("z w")
    f = (z * w.conj()).real + (z**2).imag
    ball = [z.abs2() + w.abs2() == 1]
    plain = sd.minimize(f, ball, degree=4, tolerance=1e-12)
    agrees(sd.minimize(unit * f, ball, degree=4), unit * plain.bound, unit)
    trigonometric = sd.minimize_trigonometric([0, -unit, 0, 2 * unit, 0, unit], [0, 0.5 * unit])
    agrees(trigonometric, unit * -3.3284271247741, unit)
    agrees(sd.minimize(unit * sd.chebyshev(x, 60), sd.System(1 - x**2 >= 0)), -unit, unit)


def test_a9_atoms_attain_the_bound():
    f = (y - 1e12) ** 2 + (x - 1e-9) ** 2
    answer = sd.minimize(f, sd.System(y**2 <= 1e26, x**2 <= 1), degree=4)
    # 1e-5 of 1e24 is more than doubles resolve: both ends are told, and a point attains the upper one
    assert answer.status in ("optimal", "inaccurate") and answer.certified_bound <= 0
    assert answer.certified_bound >= -1e-10 * 1e24 and answer(y) == pytest.approx(1e12, rel=1e-3)


def test_a9_no_atoms_of_a_bound_that_nothing_proves():
    answer = sd.minimize(CAMEL, BOX, 6)
    assert len(answer.atoms()) == 2
    assert not len(replace(answer, status="inaccurate", certified_bound=None).atoms())
    assert not len(replace(answer, status="inaccurate", certified_bound=-2.0).atoms())
    assert len(replace(answer, status="inaccurate").atoms()) == 2


def test_a9_bounds_show_the_atoms_that_a_higher_degree_does_not():
    himmelblau = (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2
    assert "higher degree and bounds on x, y" in sd.minimize(himmelblau).atoms_reason
    assert len(sd.minimize(himmelblau, [x**2 <= 100, y**2 <= 100], 6).atoms()) == 4


@pytest.mark.parametrize("proves", [True, False])
def test_unbounded_needs_a_proof(proves, monkeypatch):
    if not proves:
        monkeypatch.setattr(exact, "is_unbounded", lambda *args: False)
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2  # its leading form is not negative
    assert sd.minimize(motzkin).status == ("unbounded" if proves else "inaccurate")


def test_random_problems_in_random_units():
    rng = np.random.default_rng(7)
    monomials = sd.monomials([x, y], 4)
    same = 0
    for k in range(16):
        q = sum(int(a) * m for a, m in zip(rng.integers(-5, 6, size=len(monomials)), monomials, strict=True))
        a, b, s, g, h = (10.0 ** rng.integers(-12, 13) for _ in range(5))
        plain = [x**2 <= 1, y**2 <= 1] if k % 2 else [x**2 + y**2 <= 1]
        odd = [g * x**2 <= g * a * a, h * y**2 <= h * b * b]
        odd = odd if k % 2 else [g * ((x / a) ** 2 + (y / b) ** 2) <= g]
        one = sd.minimize(q, plain, degree=4)
        other = sd.minimize(s * q.subs({x: x / a, y: y / b}), odd, degree=4)
        assert one.status == "optimal" and other.status in ("optimal", "inaccurate", "failed")
        near = abs(other.bound / s - one.bound) <= 1e-4 * max(5.0, abs(one.bound))
        assert near or other.status != "optimal"
        assert other.certified_bound is None or other.certified_bound / s <= one.bound + 1e-4
        same += near and other.status == "optimal"
    assert same >= 15


def test_small_variables_do_not_make_an_objective_look_large():
    # coefficients up to 500 of an objective whose values are near 1e-9: nothing is near relative to 500
    f = -(x**4) + 2 * x**3 * y + 5 * x**2 * y**2 + 2 * y**4 - 2 * x**3 - 2 * x**2 * y - x * y**2
    f = f + 5 * x**2 - x * y - 5 * y**2 + x - 5 * y + 3
    box = [1e-4 * x >= -1e-7, x <= 1e-3, 1e-8 * y >= -1e-11, y <= 1e-3]
    answer = sd.minimize(1e-10 * f.subs({x: 1e3 * x, y: 1e3 * y}), box, degree=4)
    assert answer.status in ("unbounded", "inaccurate")


def test_least_squares_in_mixed_units():
    rng = np.random.default_rng(5)
    for _ in range(20):
        units = 10.0 ** rng.integers(-8, 9, size=2)
        a, truth = rng.integers(-3, 4, size=(4, 2)) + 0.5, rng.integers(-3, 4, size=2)
        f = sum((r[0] * units[0] * x + r[1] * units[1] * y - float(r @ truth)) ** 2 for r in a)
        agrees(sd.minimize(f, sd.System()), 0.0, 100.0, digits=1e-6)


@pytest.mark.parametrize("loose", [1e3, 1e6, 1e9])
def test_loose_bounds_of_amounts_do_not_matter(loose):
    """Nothing is negative: at 1e9 the cheapest mixture was said to cost 7.5."""
    mixture = [x >= 0, x <= loose, y >= 0, y <= loose, x + 2 * y >= 4, 3 * x + y >= 3]
    agrees(sd.minimize(2 * x + 3 * y, mixture), 6.2, digits=1e-4)
    negative = [p.subs({x: -x, y: -y}) for p in (x, loose - x, y, loose - y, x + 2 * y - 4, 3 * x + y - 3)]
    agrees(sd.maximize(2 * x + 3 * y, [p >= 0 for p in negative]), -6.2, digits=1e-4)


def test_bounds_of_variables_that_do_not_occur():
    """x is zero: it is in no moment, and its id is above that of all others."""
    last = sd.variables("of_no_moment", 3)
    for system in ([last[2].equals(0)], [last[2] >= 0, last[2] <= 0, last[0] >= 1]):
        assert sd.minimize(last[0] ** 2 + 1, system).status == "optimal"
        assert sd.minimize(sd.polynomial(2), system).bound == pytest.approx(2)


TRUTH = 2.1012182  # of the linear part, whatever the stiffness


def stiff(k):
    """The smallest quadratic Lyapunov function of a system with cubic damping of strength k."""
    program = sd.SosProgram([p, q, r])
    v = p * x**2 + 2 * q * x * y + r * y**2
    f = (-x - k * x**3 + y, -x - k * y**3)
    program.require(v - x**2 - y**2)
    decrease = -(v.diff(x) * f[0] + v.diff(y) * f[1])
    return program.require(decrease - Fraction(1, 10) * (x**2 + y**2))


@pytest.mark.parametrize("power", [0, 4, 6, 8, 10, 14])
def test_stiff_systems_have_the_same_lyapunov_function(power):
    answer = stiff(10**power).minimize(p + r)
    assert answer.status == "optimal"
    assert answer.bound == pytest.approx(TRUTH, rel=1e-6)
    assert answer.certified_bound == pytest.approx(TRUTH, rel=1e-6)


def test_signs_keep_their_unit():
    """x**2 = 1 is no longer so in other units of x."""
    program = sd.SosProgram([c])
    program.require(10**5 * x + 10**8 * y**4 + y**2 - c, on=sd.System((x**2).equals(1)))
    answer = program.maximize(c)
    assert answer.status == "optimal" and answer.bound == pytest.approx(-1e5, rel=1e-6)


def test_a_coarse_value_is_no_optimum():
    """0 is the largest c; what is found of it, to 1e-8 of the 1e9 that the constraint speaks of, is 5."""
    small = sd.SosProgram([c]).require(1 + x**2 - c * Fraction(1, 10**9) * x**4)
    on_the_boundary = sd.SosProgram([c]).require((x + y - 1) ** 4 * 10**10 + (x - y) ** 2 * (1 - c) - c)
    for program in (small, on_the_boundary):
        answer = program.maximize(c)
        assert answer.certified_bound is None or answer.certified_bound <= 0
        assert abs(answer.bound) < 1e-4 or (answer.status == "inaccurate" and "is proven" in answer.reason)


@pytest.mark.parametrize("c", [1e-14, 1e-16, 2.0**-46])
def test_a_bound_with_a_small_coefficient(c):
    """x - c g is a square for g = 0: -1.3 / c was called optimal."""
    t, g = sd.variables("t g")
    answer = sd.SosProgram([g]).require(t - c * g, on=[t >= 0, t <= 1], degree=2).maximize(g)
    assert -1e-6 < answer.bound * c <= 1e-6 and answer.certified_bound * c > -1e-6


YEARS = sd.System(x >= 1990, x <= 2020)
DOUBLE = (x - 2003) ** 2 * (x - 2015) ** 2


def test_what_is_proven_is_below_every_value():
    rng = np.random.default_rng(2)
    for _ in range(10):
        a, b = (int(v) for v in rng.integers(10**3, 10**7, size=2))
        w = Fraction(int(rng.integers(1, 100)), 10)
        f = (x - a) ** 2 + w * (y - b) ** 2 + (x - a) * (y - b) * Fraction(1, 5) + Fraction(1, 3)
        answer = sd.minimize(f)
        assert answer.status == "optimal" and abs(answer.bound - 1 / 3) < 1e-5
        assert Fraction(answer.certified_bound) <= Fraction(1, 3)
        assert answer.atoms()[0] == pytest.approx([a, b], abs=1e-3)


def test_the_answer_is_one_in_the_given_variables():
    answer = sd.minimize(DOUBLE, YEARS)
    assert answer.centre is not None and 1990 < answer(x) < 2020 and answer.certified_bound > -0.1
    assert answer.moment_matrix()[0, 1] == pytest.approx(answer(x)) and answer(x * x) >= answer(x) ** 2 - 1e-3
    assert answer.atoms() == pytest.approx(np.array([[2003.0], [2015.0]]), abs=1e-2)
    again = pickle.loads(pickle.dumps(answer))
    assert again.atoms() == pytest.approx(answer.atoms()) and again(DOUBLE) == answer(DOUBLE)
    assert -0.1 <= certificates.extract(answer).exact().bound <= 0


def test_a_groebner_quotient_of_no_equations_is_moved_as_any_set():
    empty = [y >= (x - 2000) ** 2, y <= Fraction(-1, 1000), (x - 2000) ** 2 <= 100, y**2 <= 100]
    assert sd.minimize(x, empty, quotient="groebner").status == "infeasible"


def test_a_constant_that_two_identities_share_an_unknown_with_is_no_part_of_it():
    x, y, g = sd.variables("x y g")
    for constant, value in ((10**9, 2.75), (0, 0.0)):
        program = sd.SosProgram([g]).require(x**2 + constant - g).require(y**2 - y + 3 - g)
        result = program.maximize(g)
        assert result.status == "optimal" and value - 1e-4 <= result.certified_bound <= value


@pytest.mark.parametrize("low", [1, 4, 9])
@pytest.mark.parametrize("powers", [(0, 0, 0), (-1, 5, -5), (-4, 7, -5), (3, 3, 3), (4, 6, 0)])
def test_bounded_variables_say_how_large_the_others_are(low, powers):
    """``x <= 20`` and ``y >= x**2`` choose a unit of y in which answers, and proofs where y has no bound,
    are as good as in any other."""
    i, j, k = (Fraction(10) ** n for n in powers)
    answer = sd.minimize(k * j * y, [j * y >= (i * x) ** 2, i * x >= low, i * x <= 20])
    truth = low**2 * k
    assert answer.status == "optimal" and answer.certified_bound is not None
    assert Fraction(answer.certified_bound) <= truth
    assert answer.bound == pytest.approx(float(truth), rel=5e-6)
    assert answer.certified_bound == pytest.approx(float(truth), rel=5e-6)


@pytest.mark.parametrize("power", [0, 3, 9, 30])
def test_rows_of_a_matrix_have_units_of_their_own(power):
    """Times ``diag(s, 1/s)`` from both sides it is the same inequality: 4 - y**2 >= (x - y)**2."""
    s = Fraction(10) ** power
    left = sd.minimize(x, [sd.PSD([[s * (2 - y), x - y], [x - y, (2 + y) / s]])])
    agrees(left, -2 * 2**0.5)


@pytest.mark.parametrize("s", [1, 10**4, 10**8])
def test_a_row_whose_diagonal_is_zero_has_the_unit_of_its_other_entries(s):
    """x is 0: at the size of s it missed next to nothing anywhere, and -1 was optimal."""
    matrices = (
        sd.PSD([[s, x], [x, 0]]),
        sd.for_all([p, q], s * p**2 + 2 * x * p * q >= 0),
        sd.PSD([[s, x, 0], [x, 0, x], [0, x, 1]]),
    )
    for matrix in matrices:
        agrees(sd.minimize(x, [matrix, x**2 <= 1]), 0.0)
    relaxation = sd.Relaxation([x**2 <= 1], 2)
    mean = relaxation.E(np.array([[s + 0 * x, x], [x, 0 * x]])).psd()
    assert relaxation.minimize(relaxation.E(x), [mean]).bound > -1e-5


@pytest.mark.parametrize("s", [1, 100, 1000])
def test_quantified_variables_have_units_of_their_own(s):
    """For all w >= 0 1 + 2 x w + w**2 >= 0; at 1000 -2 was optimal."""
    agrees(sd.minimize(x, [sd.for_all([p], s**4 + 2 * s**2 * x * p**2 + p**4 >= 0), x**2 <= 4]), -1.0)
    assert sd.minimize(x, [sd.for_all([p, q], s**2 * p**4 + x * p**3 * q >= 0), x**2 <= 1]).bound > -0.1


@pytest.mark.parametrize("unit", [1, 10, 100])
def test_distances_of_a_known_place_give_it_in_any_unit(unit):
    """At the place all residuals are zero, and slopes are but for the roundings of the squares."""
    place, anchors = np.array([3.2, 4.1]), np.array([[0, 0], [10, 0], [0, 8], [7, 9]])
    squares = ((place - anchors) ** 2).sum(axis=1) * unit**2
    every = zip((anchors * unit).tolist(), squares.tolist())
    result = sd.minimize(sum(((x - a) ** 2 + (y - b) ** 2 - s) ** 2 for (a, b), s in every))
    assert result.status == "optimal" and result.certified_bound > -1e-5
    assert result.atoms()[0] == pytest.approx(place * unit, abs=1e-3 * unit)
