"""What a user reads off an answer: values without noise, multipliers by constraint, measures with weights;
and what a pseudo-expectation is made into."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.functionals import (
    covariance,
    gaussian,
    gram_factor,
    mix,
    push_forward,
    reweight,
    violations,
)
from tests.refusals import each, refuse

x, y, c, t = sd.variables("x y c t")


def gap(p):
    """The largest coefficient of an identity that holds in floats."""
    return float(np.abs(sd.polynomial(p).as_float().coefs).max(initial=0.0))


@pytest.mark.parametrize(
    ("p", "chopped"),
    [
        (x + 1e-9 * y, x),
        (1e-9 * x + 1e-20 * y, 1e-9 * x),
        (x + 1e-7 * y, x + 1e-7 * y),
        (Fraction(1, 3) * x + Fraction(1, 10**12), Fraction(1, 3) * x),
        (sd.polynomial(0), sd.polynomial(0)),
    ],
)
def test_chop_is_relative_to_the_largest_term(p, chopped):
    assert p.chop(1e-8) == chopped
    assert sd.PolynomialArray([p, y]).chop(1e-8).tolist() == [chopped, y]


def test_rounded_is_exact():
    p = (0.1 + 0.2) * x**2 - 2.0004 * y + 1e-9
    assert p.rounded(3) == Fraction(3, 10) * x**2 - 2 * y and p.rounded(3).is_exact
    assert (1234 * x).rounded(-2) == 1200 * x
    refuse(
        (lambda: p.chop(2), "part of the largest"),
        (lambda: p.rounded(0.5), None, TypeError),
    )


def test_the_multipliers_of_a_bound_by_the_constraints_of_the_user():
    edge = x * y >= Fraction(-1, 4)
    link = x + y == 1
    system = sd.System(x**2 <= 1, edge, link)
    objective = x**4 + y**4 - 3 * x * y
    pe = sd.minimize(objective, system, degree=4)
    sides = [pe.multiplier(), pe.multiplier(x**2 <= 1), pe.multiplier(edge), pe.multiplier(link)]
    total = sides[0] + sides[1] * (1 - x**2) + sides[2] * (x * y + Fraction(1, 4)) + sides[3] * (x + y - 1)
    assert gap(objective - pe.bound - total) < 1e-6
    square = pe.gram_matrix(x**2 <= 1)
    assert gap(square.basis @ square.matrix @ square.basis - sides[1]) < 1e-12
    assert gap(square.polynomial - sides[1]) == 0 and "least eigenvalue" in repr(square)
    refuse(
        *each(pe.multiplier, (x**2 <= 2, sd.PSD([[x, 0], [0, 1]])), "not a constraint"),
        (lambda: pe.gram_matrix(link), "free polynomial"),
        (lambda: sd.minimize(x, x**2 == x).multiplier(x**2 == x), "rewrite"),
    )


def test_multipliers_of_matrices_products_and_expectations():
    M = sd.PSD([[1, x], [x, 2]])
    pe = sd.minimize(-x, M, degree=4)
    S = pe.multiplier(M)
    trace = sum(S[i, j] * M.matrix[i, j] for i in range(2) for j in range(2))
    assert gap(-x - pe.bound - pe.multiplier() - trace) < 1e-6
    first, second = x >= 0, y >= 0
    pair = sd.minimize(x * y, sd.System(first, second), degree=2, products="schmudgen")
    assert pair.multiplier([second, first]).constant == pytest.approx(1, abs=1e-6)
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    mean = relax.E(x) >= Fraction(1, 2)
    assert relax.minimize(x**2, [mean]).multiplier(mean).constant == pytest.approx(1, abs=1e-3)


def test_nodes_and_weights_of_gauss():
    relax = sd.Relaxation(sd.System(x**2 <= 1), 8)
    moments = [relax.E(x**k) == Fraction((1 + (-1) ** k), 2 * (k + 1)) for k in range(8)]
    rule = relax.minimize(x**8, moments).atomic_measure()
    nodes, weights = np.polynomial.legendre.leggauss(4)
    np.testing.assert_allclose(rule.points[:, 0], nodes, atol=1e-3)
    np.testing.assert_allclose(rule.weights, weights / 2, atol=1e-3)
    assert rule(x**6 + x) == pytest.approx(1 / 7, abs=1e-5) and rule.mass == pytest.approx(1, abs=1e-6)
    assert len(rule) == 4 and "4 points" in repr(rule)


def test_a_measure_has_the_moments_that_a_symmetry_hides():
    result = sd.minimize(x**4 + y**4 - 3 * x * y, sd.System(x**2 <= 1, y**2 <= 1)).atomic_measure()
    np.testing.assert_allclose(result.weights, [0.5, 0.5], atol=1e-4)
    assert result(x) == pytest.approx(0, abs=1e-5)


def test_no_measure_is_made_up():
    refuse((lambda: sd.feasible(sd.System(x >= 1, x <= 0)).atomic_measure(), "status"))
    flat = sd.minimize(x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1, x**2 + y**2 <= 3, degree=6)
    refuse((lambda: flat.atomic_measure(rank=1),))
    refuse(*each(lambda rank: flat.atomic_measure(rank), (0, -1, True, "2"), "rank must be a positive"))
    circle = sd.minimize(x**2 + y**2, x**2 + y**2 == 1)._repr_html_()
    assert "not known, as no minimiser is: the moment matrix is not flat" in circle
    assert "a point attains the bound" in sd.minimize(x**2 - x)._repr_html_()


def test_measures_of_a_program_have_their_mass():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x**2 <= 1), mass=2)
    mean = mu(x) == 1
    program.require(mean)
    answer = program.minimize(mu(x**2))
    atoms = answer.atomic_measure(mu)
    np.testing.assert_allclose(atoms.points, [[0.5]], atol=1e-3)
    np.testing.assert_allclose(atoms.weights, [2], atol=1e-5)
    assert answer.multiplier(mean) == answer.multiplier(2 * mu(x) - 1 == mu(x)) == pytest.approx(1, abs=1e-3)
    assert len(repr(answer)) < 200 and "mass 2" in repr(answer) and "mass of mu0" in answer._repr_html_()
    refuse(
        (lambda: answer.multiplier(mu(x) == 2), "not a constraint"),
        (lambda: sd.MeasureProgram(degree=4), "give it to minimize", TypeError),
    )


def test_values_of_a_program():
    p = x**4 - c * x**2 + 1
    program = sd.SosProgram(c).require(p)
    answer = program.maximize(c)
    assert answer[c] == answer["c"] == answer(c) == answer.value(2 * c) / 2 == pytest.approx(2, abs=1e-6)
    assert answer[c] == answer.certified_values["c"]
    assert answer(p).rounded(3) == x**4 - 2 * x**2 + 1 and answer(x) == x
    np.testing.assert_allclose(answer.value([[c, 1], [1, c]]), [[answer[c], 1], [1, answer[c]]])
    square = answer.gram_matrix(p)
    assert gap(square.polynomial - p.subs({c: answer.values["c"]})) < 1e-6
    assert gap(answer.multiplier(0) - square.polynomial) == 0
    assert repr(program) == "SosProgram(1 unknowns, 1 sums of squares)"
    refuse(
        (lambda: answer[x], None, KeyError),
        (lambda: answer.gram_matrix(x**2), "not required", ValueError),
        (lambda: sd.SosProgram(c).require(-(x**2) + 0 * c).feasible()(c), "no values", ValueError),
    )


def test_gram_matrices_of_a_program_on_a_set():
    disc = sd.System(x**2 + y**2 <= 1)
    p = x + y - c
    program = sd.SosProgram(c).require(p, on=disc)
    program.require_psd([[2, c], [c, 3]])
    answer = program.maximize(c)
    level = answer.values["c"]
    rest = answer.multiplier(p) + answer.multiplier(p, of=x**2 + y**2 <= 1) * (1 - x**2 - y**2)
    assert gap(rest - (x + y - level)) < 1e-6
    np.testing.assert_allclose(
        answer.gram_matrix([[2, c], [c, 3]]).matrix, [[2, level], [level, 3]], atol=1e-6
    )


@pytest.mark.parametrize("unit", [1, 2**-40, 2**40])
def test_noise_is_what_is_small_in_the_units_of_the_program(unit):
    """V = a x^2 + b x y + d y^2 of least trace above (x/unit)^2 + y^2: b is noise, whatever the unit of x."""
    program = sd.SosProgram()
    V = program.polynomial("V", [x, y], 2, even=True, lowest=2)
    program.require(V - (x / unit) ** 2 - y**2)
    result = program.minimize(sd.integrate(V, {x: (-unit, unit), y: (-1, 1)}))(V)
    assert len(result.coefs) == 2
    assert result.coefficient(x**2) * unit**2 == pytest.approx(1, abs=1e-4)


def test_a_measure_far_from_0_has_its_points():
    m = sd.MeasureProgram()
    mu = m.measure([x], on=sd.System((x - 1900) * (2020 - x) >= 0), mass=1)
    m.require(mu(x) == 1980, mu((x - 1980) ** 2) <= 100)
    best = m.maximize(mu((x - 1980) ** 3), degree=4).atomic_measure(mu)
    assert np.sort(best.points[:, 0]) == pytest.approx([1977.5, 2020], abs=1e-2)
    assert np.sort(best.weights) == pytest.approx([1 / 17, 16 / 17], abs=1e-4)


def test_a_measure_without_a_set_is_read_off():
    """Of mean 0 and variance 1, half the mass at most is at 1 and beyond: 1/2 at 1 and at -1 (Chebyshev)."""
    program = sd.MeasureProgram()
    distant, rest = program.measure([x], on=sd.System(x >= 1)), program.measure([x])
    program.require([distant(x**k) + rest(x**k) == (1, 0, 1)[k] for k in range(3)])
    answer = program.maximize(distant(1), degree=4)
    for measure, place in ((distant, 1), (rest, -1)):
        atoms = answer.atomic_measure(measure)
        assert atoms.points == pytest.approx(np.array([[place]]), abs=1e-4)
        assert atoms.weights == pytest.approx([0.5], abs=1e-5)


def cut_of_a_cycle(n=5, degree=4):
    s = sd.variables("tk", n)
    objective = sum(s[i] * s[(i + 1) % n] for i in range(n))
    return s, sd.minimize(objective, sd.System(s**2 == 1), degree)


def test_conditioning_fixes_what_is_conditioned_on():
    s, pe = cut_of_a_cycle()
    given = reweight(pe, (1 + s[0]) * (1 + s[0]))
    assert given.degree == 2
    assert given(s[0]) == pytest.approx(1, abs=1e-6)
    assert given(s[0] * s[1]) == pytest.approx(given(s[1]), abs=1e-6)
    moments = given(np.multiply.outer(np.array([1, *s], dtype=object), np.array([1, *s], dtype=object)))
    assert np.linalg.eigvalsh(moments)[0] > -1e-6
    refuse(
        (lambda: reweight(pe, sd.polynomial(0) * s[0]), "positive"),
        (lambda: reweight(pe, s[0] ** 4), "start from a higher one"),
        (lambda: given(s[0] * s[1] * s[2]), "raise the degree"),
    )


def test_mixing_and_pushing_forward():
    s, pe = cut_of_a_cycle()
    up = reweight(pe, (1 + s[0]) * (1 + s[0]))
    down = reweight(pe, (1 - s[0]) * (1 - s[0]))
    half = mix(up, down, 0.5)
    for p in (s[0], s[1], s[0] * s[2], s[1] * s[2]):
        assert half(p) == pytest.approx(pe(p), abs=1e-6)
    t = sd.polynomial("tk_image")
    square = push_forward(pe, {t: s[0] * s[1]})
    assert square.degree == 2
    assert square(t) == pytest.approx(pe(s[0] * s[1]), abs=1e-12)
    assert square(t**2) == pytest.approx(1, abs=1e-9)
    refuse((lambda: mix(up, down, 1.5), "lies in"))


def test_second_moments_round():
    s, pe = cut_of_a_cycle()
    vectors = gram_factor(pe, list(s))
    assert np.allclose(vectors @ vectors.T, pe(np.multiply.outer(s, s)), atol=1e-6)
    cov = covariance(pe, list(s))
    sample = gaussian(pe, list(s), 4000, np.random.default_rng(0))
    assert np.allclose(np.cov(sample.T, bias=True), cov, atol=0.12)
    # rounding by signs: the best cut of the cycle of five is found among the samples
    signs = np.sign(sample)
    values = sum(signs[:, i] * signs[:, (i + 1) % 5] for i in range(5))
    best = min(sum(a[i] * a[(i + 1) % 5] for i in range(5)) for a in itertools.product([-1, 1], repeat=5))
    assert values.min() == best


def test_violations_are_those_of_the_solver():
    _, pe = cut_of_a_cycle()
    assert violations(pe).worst < 1e-6
    x, y = sd.variables("x y")
    pe = sd.minimize(x, sd.System(x**2 + y**2 <= 1, x * y == 0.25), degree=4)
    assert violations(pe).worst < 1e-6
    broken = pe.moments.copy()
    broken[np.argmax(np.abs(broken))] += 0.5
    from dataclasses import replace

    assert violations(replace(pe, moments=broken)).worst > 1e-3


def test_threshold_of_a_disc_and_a_line():
    x, y, t = sd.variables("x y t_par")
    relax = sd.Relaxation(sd.System(x**2 + y**2 <= t, x + y == 1), 2)
    bracket = relax.bisect("t_par", Fraction(0), 2.0, tolerance=1e-3)
    assert bracket.low < 0.5 <= bracket.high + 1e-6
    assert bracket.high - bracket.low <= 2e-3
    assert bracket.refutation.status == "infeasible"
    assert bracket.violation < 1e-6
    everything = relax.bisect(t, 1.0, 2.0)
    assert everything.high == 1.0 and everything.low == -np.inf
    nothing = relax.bisect(t, 0.1, 0.2)
    assert nothing.low == 0.2 and nothing.high == np.inf
    to_the_end = relax.bisect(t, 0.25, 1.0, tolerance=1e-300)  # of the floats
    assert to_the_end.solves < 70
    refuse(
        (lambda: relax.bisect(t, 2.0, 1.0), "low < high"),
        *each(lambda p: relax.bisect(p, 0, 1), ["unused_parameter", 1, 2 * t], "is no"),
    )
