"""Measures in odd units: answers are the same times the units, and what is optimal is near what is proven."""

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.algebra.build import polynomial
from sosdp.reduction.bounds import deduce_bounds
from sosdp.relaxation import measure_problems
from sosdp.relaxation.build.assemble import assemble
from sosdp.relaxation.build.identity import GramProgram
from sosdp.relaxation.build.measure_units import Units, find_units, in_units, no_units
from sosdp.relaxation.build.plan import plan
from sosdp.relaxation.certify import measure_verdict as module
from sosdp.relaxation.certify.measures import Piece, proven_value
from sosdp.relaxation.solve.solve import solve_program

x, y = sd.variables("x y")
S = sd.System
SEGMENT = S(x**2 <= 1)
SIZES = [1e-6, 1e-3, 1, 1e3, 1e6]


def piece(target, unknowns, mass):
    layout = plan(SEGMENT, 2, [target, *unknowns], sd.MeasureProgram().options)
    identity = assemble(layout.blocks, layout.equalities, target, unknowns, layout.quotient, layout.ids)
    return Piece(identity, deduce_bounds((), SEGMENT.inequalities, ()), mass)


@pytest.mark.parametrize("stokes", [True, False])
def test_volumes_in_other_units(stokes):
    found = {}
    for s in SIZES:
        disc, box = S(x**2 + y**2 <= s * s), {x: (-1.2 * s, 1.2 * s), y: (-1.2 * s, 1.2 * s)}
        found[s] = sd.volume(disc, box, 6, stokes=stokes)
        assert found[s].status == "optimal" and found[s].certified_bound >= found[s].bound * (1 - 1e-12)
    for s, volume in found.items():
        assert volume.certified_bound / s**2 == pytest.approx(found[1].certified_bound, rel=1e-6)
        assert volume.bound / s**2 == pytest.approx(found[1].bound, rel=1e-6)
    assert math.pi < found[1].certified_bound < (3.3 if stokes else 5.03)


def test_volumes_far_from_the_origin_and_of_odd_sides():
    reference = sd.volume(S(x**2 + y**2 <= 1), {x: (-1, 1), y: (-1, 1)}, 6).certified_bound
    for a, b, far in ((1e-6, 1e6, 0), (1e-3, 1, 5), (1, 1e6, -3)):
        ellipse = S((F(str(a)) ** -2 * (x - far) ** 2 + F(str(b)) ** -2 * y**2) <= 1)
        box = {x: (far - F(str(a)), far + F(str(a))), y: (-b, b)}
        found = sd.volume(ellipse, box, 6)
        assert found.status == "optimal"
        assert found.certified_bound / (a * b) == pytest.approx(reference, rel=1e-6)


def test_a_volume_in_other_units_has_an_exact_certificate():
    found = sd.volume(S(x**2 <= 1e-6), {x: (-0.0012, 0.0012)}, 4)
    proof = certificates.extract(found).exact()
    assert proof.verify() and 0.002 <= proof.bound <= found.certified_bound * 1.1
    assert found.objective.of(found.program.measures[0]).constant == F(24, 10_000)


def test_both_readings_of_a_set_are_inside():
    box = {x: (F(-3), F(3))}
    g = measure_problems._in_unit_box(0.1 - x**2, box)
    for reading in (F(1, 10), F(0.1)):
        # 9 is the largest coefficient; at the boundary of either set the inequality holds
        assert g.coefficient(x**2) == -1 and F(g.constant) * 9 >= reading
    assert measure_problems._in_unit_box(1 - x**2, box).constant == F(1, 9)


def test_a_volume_is_rounded_upwards():
    third = measure_problems._up(F(1, 3))
    assert third >= F(1, 3) and measure_problems._up(F(2, 3)) >= F(2, 3) and measure_problems._up(F(5)) == 5.0
    assert all(measure_problems._up(F(k, 7)) >= F(k, 7) for k in range(1, 50))


@pytest.mark.parametrize("s", SIZES)
def test_masses_objectives_and_supports_in_other_units(s):
    small = sd.MeasureProgram()
    mu = small.measure([x], on=SEGMENT, mass=2 * s)
    small.require(mu(x) == s)
    least, most = small.minimize(mu(x**2)), small.maximize(mu(x**2) * s)
    for found, truth, sign in ((least, s / 2, 1), (most, 2 * s * s, -1)):
        assert found.status == "optimal" and abs(found.bound - truth) <= 1e-6 * truth
        assert 0 <= sign * (truth - found.certified_bound) <= 1e-6 * truth
    assert least.mass(mu) == pytest.approx(2 * s, rel=1e-5)
    np.testing.assert_allclose(least.multipliers, [-0.25, 1.0], atol=1e-3)
    np.testing.assert_allclose(least.law(mu).atoms(), [[0.5]], atol=1e-3)
    wide = sd.MeasureProgram()
    nu = wide.measure([x], on=S(x**2 <= s * s), mass=1)
    wide.require(nu(x) == s / 2)
    found = wide.minimize(nu(x**2))
    assert found.status == "optimal" and found.bound == pytest.approx(s * s / 4, rel=1e-6)
    assert s * s / 4 * (1 - 1e-6) <= found.certified_bound <= s * s / 4
    nothing = sd.MeasureProgram()
    nu = nothing.measure([x], on=SEGMENT, mass=s)
    nothing.require(nu(x) == 2 * s)
    assert nothing.feasible().status == "infeasible"


def test_two_measures_of_sizes_far_apart():
    program = sd.MeasureProgram()
    mu, nu = program.measure([x], on=SEGMENT, mass=1e6), program.measure([x], on=SEGMENT, mass=1e-6)
    program.require(mu(x) == 5e5, nu(x) == 5e-7)
    found = program.minimize(mu(x**2) * 1e-6 + nu(x**2) * 1e6)
    assert found.status == "optimal" and found.bound == pytest.approx(0.5, rel=1e-6)
    assert 0.5 - 1e-6 <= found.certified_bound <= 0.5
    assert found.mass(nu) == pytest.approx(1e-6, rel=1e-4)


@pytest.mark.parametrize("c", [1e-12, 1e-6, 1e6, 1e12])
def test_ratios_in_other_units(c):
    ratios = [(x**2 - 2 * x + 3, x**2 + 1)]
    truth = 2 - 2**0.5
    for found, unit in (
        (sd.minimize_ratios([(c * p, q) for p, q in ratios], S(x**2 <= 25), 6), c),
        (sd.minimize_ratios([(p, c * q) for p, q in ratios], S(x**2 <= 25), 6), 1 / c),
        (sd.minimize_ratios([(c * p, c * q) for p, q in ratios], S(x**2 <= 25), 6), 1),
    ):
        assert found.status == "optimal" and found.bound / unit == pytest.approx(truth, rel=1e-6)
        assert truth * (1 - 1e-6) <= found.certified_bound / unit <= truth * (1 + 1e-14)


@pytest.mark.parametrize("s", [1e-12, 1e-9, *SIZES, 1e9])
def test_variables_of_ratios_in_other_units(s):
    truth = 2 - 2**0.5
    u = x * (1 / s)
    found = sd.minimize_ratios([(u**2 - 2 * u + 3, u**2 + 1)], S(x**2 <= 25 * s * s), 6)
    assert found.status == "optimal" and abs(found.bound - truth) <= 1e-6
    assert found.certified_bound is None or found.certified_bound <= truth


@pytest.mark.parametrize("c", [1e-9, 1, 1e9])
def test_denominators_that_change_sign_are_refused(c):
    with pytest.raises(ValueError, match=r"denominator .*x is not positive on the set: it is -.* at x = -5"):
        sd.minimize_ratios([(x**2 - 2 * x + 3, c * x)], S(x**2 <= 25), 6)
    with pytest.raises(ValueError, match=r"as \(-p, -q\)"):
        sd.minimize_ratios([(1, -3), (x, 1)], S(x**2 <= 25), 2)
    with pytest.raises(ValueError, match="x = -1, y = 1|x = 1, y = -1"):
        sd.minimize_ratios([(1, c * (x * y + 0.9))], S(x**2 + y**2 <= 2), 4)


def test_a_denominator_that_is_not_proven_positive_is_not_optimal():
    # at the end of the segment it is zero, outside it is negative: points outside do not refuse it
    touching = sd.minimize_ratios([(1 + x, x)], S(x * (2 - x) >= 0))
    assert touching.status == "inaccurate" and touching.certified_bound is None
    assert "the denominator x is not proven positive" in touching.reason
    circle = S((x**2 + y**2).equals(2))
    for system in (circle, S(x**2 + y**2 == 2)):
        lost = sd.minimize_ratios([(1, x * y + F(9, 10))], system, 4)
        assert lost.status == "inaccurate" and lost.certified_bound is None


def test_floors_by_intervals():
    least = measure_problems._least_by_intervals
    i = int(x.variable_ids[0])
    assert least(x**2 + 1, {}) == 1 and least(x + 2, {i: (-1.0, 5.0)}) == 1
    assert least(x + 2, {}) == least(x**3 + y, {i: (-1.0, 1.0)}) == -math.inf
    assert least(1 - x**2, {i: (-3.0, 2.0)}) == -8 and least(x**2, {i: (2.0, math.inf)}) == 4
    assert least(x**2, {i: (-3.0, -2.0)}) == 4 and least(-(x**3), {i: (-1.0, 2.0)}) == -8
    assert least(x**2 * y**2 - x, {i: (-1.0, 0.0)}) == 0
    j = int(y.variable_ids[0])
    grid = [F(k, 4) for k in range(-8, 9)]
    for p in (x**3 * y - 2 * x * y**2 + x, x**2 * y - y**3 * F(1, 3) + 7, -(x**4) + x * y):
        for low in (-2.0, -1.0, 0.0, 0.5):
            bound = least(p, {i: (low, 1.5), j: (-low - 2.5, 1.0)})
            inside = [(a, b) for a in grid for b in grid if low <= a <= 1.5 and -low - 2.5 <= b <= 1]
            assert all(F(p.subs({x: a, y: b}).constant) >= bound for a, b in inside)
    # 0.3 is below 3/10 as a binary number, 0.1 above 1/10
    assert measure_problems._floor(1e9 * x**2 + 0.3, S(), 2) == F(0.3)
    assert measure_problems._floor(1e9 * x**2 + 0.1, S(), 2) == F(1, 10)


def test_what_is_proven_does_not_depend_on_the_units():
    # x >= -1 on the segment, mass 3, times 1/4 in units of 2 for the mass, and y times the right side 8
    one = piece(x, [polynomial(0)], F(3))
    units = Units(np.array([2.0]), np.array([4.0]), 0.125)
    zero, point = np.zeros(one.identity.gram.shape[0]), np.array([2.0])
    inside = replace(one, identity=in_units(one.identity, 0, units))
    value, _ = proven_value([inside], zero, np.zeros(0), point, [8], 0, units)
    assert units.cost(0) == 4 and units.unknowns.tolist() == [32.0]
    assert value == pytest.approx(2 * 32 * 8 - 3, rel=1e-9) and value <= 2 * 32 * 8 - 3
    given, _ = proven_value([one], zero, np.zeros(0), point * 32, [8], 0)
    assert given == pytest.approx(value, rel=1e-9)


def test_units_are_powers_of_two_and_exact():
    pieces = [piece(1e-9 * x, [polynomial(1e6), x], None), piece(1e3 * x, [polynomial(0), 1e-7 * x], None)]
    identities = [p.identity for p in pieces]
    units = find_units(identities, np.array([1.0, 1e-5]), np.array([True, True]))
    assert all(np.log2(v) % 1 == 0 for v in (*units.masses, *units.rows, units.value))
    for k, identity in enumerate(identities):
        scaled = in_units(identity, k, units)
        assert (scaled.target / (units.value * units.masses[k]) == identity.target).all()
        back = scaled.unknown.toarray() / units.rows[:, None] / units.masses[k]
        assert (back == identity.unknown.toarray()).all()
        assert max(np.abs(scaled.target).max(), np.abs(scaled.unknown).max()) <= 2
    # what would leave the range of floats is left as it is
    tiny = piece(2.0**-990 * x + 2.0**600, [polynomial(1)], None).identity
    assert find_units([tiny], np.array([1.0]), np.array([True])).value == 1.0


def judged(size, mass, spoil=0.0):
    """What is said of x**2 >= 0 on the segment, times a size, where the mass may be as large as given."""
    one = piece(x**2 * size + x * size, [polynomial(-1)], None if mass is None else F(mass))
    program = GramProgram(one.identity, np.ones(1), np.array([np.inf]))
    units = find_units([one.identity], np.ones(1), np.array([True]))
    inside = replace(one, identity=in_units(one.identity, 0, units))
    program = GramProgram(inside.identity, units.rows, np.array([np.inf]))
    raw = solve_program(program)
    raw = replace(raw, status="optimal", unknowns=raw.unknowns * (1 - spoil))
    return module.MeasureVerdict(program, raw, [inside], [1], 0, "minimize", units).answer(True)


def test_optimal_is_what_is_proven_near_the_value(monkeypatch):
    assert judged(1, 1)[0] == "optimal"
    monkeypatch.setattr(module, "proven_mixture", lambda *a: (None, None))
    status, best, reason = judged(1, 10**40, spoil=1e-7)
    assert status == "inaccurate" and best < -1e30 and "not near" in reason


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3])
def test_near_is_relative_to_the_size_of_the_problem(size, monkeypatch):
    assert judged(size, 1)[0] == "optimal"
    monkeypatch.setattr(module, "shortfall", lambda *a: 0.0)  # which sees it too
    # the value is a quarter of the size, what is proven a thousandth of it less
    status, best, _ = judged(size, 1, spoil=1e-3)
    assert status == "inaccurate" and best <= -0.25 * size


def test_without_units_everything_is_as_it_is():
    units = no_units(2, 3)
    assert units.unknowns.tolist() == [1.0] * 3 and units.cost(1) == 1


def test_without_a_proof_both_sides_agree(monkeypatch):
    """The mass may be anything: what multipliers miss counts at the moments found."""
    monkeypatch.setattr(module, "proven_mixture", lambda *a: (None, None))
    monkeypatch.setattr(module, "shortfall", lambda *a: 0.0)
    monkeypatch.setattr(module, "misfit", lambda *a: 0.0)
    status, best, reason = judged(1, None, spoil=1e-9)
    assert status == "optimal" and best is None and "rests on moments and multipliers" in reason
    status, best, reason = judged(1, None, spoil=1e-3)
    assert status == "inaccurate" and best is None and "agree to" in reason
