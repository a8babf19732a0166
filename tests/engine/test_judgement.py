"""Single terms of what is judged, each where it decides: see tests/mutants/engine.toml and measures.toml."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra.build import polynomial
from sosdp.model.options import Options
from sosdp.relaxation import judge, ladder
from sosdp.relaxation.attained import _charge, _descended, _encloses, at, feasible_point, near
from sosdp.relaxation.certify.bound import absorbed
from sosdp.relaxation.change import Change, build
from sosdp.relaxation.solve.solve import solve_program
from sosdp.relaxation.statement import BOUND, FEASIBLE, MEASURES, PROGRAM, Demand, Statement

x, y = sd.variables("x y")
S = sd.System


def statement_of(p, *system, kind=BOUND, price=F(1), upper=np.inf, **more):
    demand = Demand((p, polynomial(-1)), S(*system), 2, Options(), price=price, **more)
    return Statement(kind, (demand,), (F(1),), (upper,))


def solved(statement):
    built = build(statement, Change.none(statement))
    return built, solve_program(built.program, solver="clarabel")


def ids(*variables):
    return [int(v.variable_ids[0]) for v in variables]


def test_a_measure_of_any_mass_proves_nothing_with_a_shortfall():
    built, raw = solved(statement_of(x**2, x**2 <= 1, kind=MEASURES, price=None))
    theorem = judge.proven(built, raw.gram, raw.free, raw.unknowns + 0.25 / built.slopes)
    assert theorem.value is None and "no bound on the mass" in theorem.reason


def test_equations_that_hold_to_rounding_prove_nothing():
    """3 u = 1 is not satisfied by the float next to 1/3."""
    demand = Demand((polynomial(-1), polynomial(3)), S(), 2, Options(), equations=True)
    statement = Statement(PROGRAM, (demand,), (F(1),), (np.inf,))
    built = build(statement, Change.none(statement))
    theorem = judge.proven(built, np.zeros(0), np.zeros(0), np.array([1 / 3]) / built.slopes)
    assert theorem.value is None and "rounding" in theorem.reason


@pytest.mark.parametrize("e", [9, 10, 11])
def test_no_moments_are_inside_of_equations_that_contradict_each_other(e):
    """Three signs whose sum is nearly 1: the equations determine all moments, and no moments satisfy them."""
    z = sd.variables("z")
    signs = [sd.Equality(v**2 - 1) for v in (x, y, z)]
    answer = sd.feasible([*signs, sd.Equality(x + y + z - 1 - F(1, 10**e))], 4)
    assert answer.status in ("inaccurate", "infeasible"), answer.reason
    assert sd.feasible([*signs, sd.Equality(x + y + z - 1)], 4).status == "optimal"


@pytest.mark.few(3)
@pytest.mark.parametrize("e", [3, 5, 8])
@pytest.mark.parametrize("place", [0, 2000, 40_000])
def test_no_set_that_is_empty_by_little_is_feasible(place, e):
    u, v = x - place, y - place
    gap = F(1, 10**e)
    sets = [
        [(u**2 - 1) ** 2 + (u - v) ** 2 <= -gap],
        [(u**2 + v**2).equals(1), u * v >= F(1, 2) + gap],
        [u**4 + v**4 <= 1, u + v >= F(1681792831, 10**9) * (1 + gap)],
    ]
    assert not any(sd.feasible(s).status == "optimal" for s in sets)


def test_moments_that_miss_a_constraint_close_nothing():
    built, raw = solved(statement_of(x**2, x**2 <= 1))
    candidate = ladder.Candidate("first", built, raw, value=0.0, missed=0.0, violated=0.0)
    assert ladder.closed(candidate).status == "optimal"
    assert ladder.closed(replace(candidate, violated=1e-3)).status == "inaccurate"


@pytest.mark.parametrize(
    ("p", "system", "point"),
    [
        (x + y, [(x + y).equals(1), x**2 <= 4, y**2 <= 4], (1, F(-1, 4))),
        (x + 0 * y, [x >= 0, x <= 1, y**2 <= 1], (F(-1, 4), 0)),
    ],
)
def test_what_a_point_misses_costs_its_multipliers(p, system, point):
    """A point outside has an objective a quarter below the minimum: it is charged as much, or more."""
    built, raw = solved(statement_of(p, *system))
    theorem = judge.proven(built, raw.gram, raw.free, raw.unknowns)
    where = dict(zip(ids(x, y), map(F, point), strict=True))
    charge = _charge(built, theorem, where)
    assert at(p, where) == pytest.approx(float(theorem.value) - 0.25, abs=1e-5)
    assert 0.25 - 1e-5 <= charge < 1


def test_a_feasible_point_is_exact():
    """x**2 + y**2 = 3 has real points only, no rational ones; x = 30 is far from the matrix's interval."""
    built, raw = solved(
        statement_of(polynomial(0), (x**2 + y**2).equals(3), x >= 1, y >= 1, kind=FEASIBLE, upper=1.0)
    )
    assert feasible_point(built, raw) is None
    matrix = sd.PSD([[1, x], [x, 2 - x]])
    built, raw = solved(statement_of(polynomial(0), matrix, kind=FEASIBLE, upper=1.0))
    (k,) = ids(x)
    assert -2 <= feasible_point(built, raw)[k] <= 1
    (factors,) = built.moments_of(np.ones_like(raw.moments))
    powers = (built.pieces[0].columns > 0).sum(axis=1)
    assert feasible_point(built, replace(raw, moments=30.0**powers / factors)) is None


def test_ranges_are_rounded_outwards_when_moved():
    statement = statement_of(x, x >= 0.1, x <= 1000)
    (k,) = ids(x)
    low, high = statement.demands[0].bounds.ranges[k]
    for n in range(1, 60):
        origin = F(n, 7)
        moved = Change(({k: origin},)).forwards(statement).demands[0].known[0].ranges[k]
        assert F(moved[0]) <= F(low) - origin and F(high) - origin <= F(moved[1])


def test_more_equalities_than_variables_end_no_process():
    """SLSQP (scipy 1.17) ends the process on many of them; sixty missing edges of a graph are ordinary."""
    n = 16
    v = sd.variables("v", n)
    missing = [v[i] * v[j] == 0 for i in range(n) for j in range(i) if (i * j + i) % 2]
    answer = sd.maximize(v.sum(), sd.System(v**2 == v, missing), degree=4)
    assert len(missing) > 2 * n and answer.status == "optimal"


def test_a_ball_is_carried_along_only_where_it_is_not_moved():
    """x^2 + y^2 <= 1 is no ball about (5, 0), and z^2 + w^2 <= 1 stays one when only x moves."""
    x, y, z, w = sd.variables("x y z w")
    names = [int(v.variable_ids[0]) for v in (x, y, z, w)]
    statement = statement_of(x + y + z + w, x**2 + y**2 <= 1, z**2 + w**2 <= 1)
    assert len(statement.demands[0].bounds.balls) == 2
    moved = Change(({names[0]: F(5)},)).forwards(statement).demands[0].bounds
    assert [ball for ball, _ in moved.balls] == [frozenset(names[2:])]
    low, high = moved.ranges[names[0]]
    assert low <= -6 and high >= -4


def test_a_point_below_the_value_contradicts_it():
    """Beside 1e12 no solver sees (x - 1)^2, and moments of size 1e-11 hide what its multipliers miss."""
    answer = sd.minimize(1e12 * (x - y) ** 2 + (x - 1) ** 2)
    assert answer.status == "inaccurate" or abs(answer.bound) <= 1e-5


@pytest.mark.parametrize("k", [1, 1000, 10**7])
def test_no_value_is_above_that_of_the_origin(k):
    """Chains of squares with a small slope, in boxes: what is gained on the origin is next to nothing."""
    a, b, c = sd.variables("a b c")
    box = [v for u in (a, b, c) for v in (u >= -1, u <= 1)]
    p = k * (a**2 + (a - b) ** 2 + (b - c) ** 2) + 1e-8 * k * (a - 2 * b + c) + k
    answer = sd.minimize(p, box)
    assert answer.status == "optimal" and k - 1e-6 * k <= answer.certified_bound <= answer.bound <= k


@pytest.mark.parametrize("low", [F(1, 10**5), F(1, 10**9), F(1, 10**12)])
def test_moments_do_not_satisfy_two_lines_that_contradict_each_other(low):
    assert sd.feasible([x + y >= 2000 + low, x + y <= 2000]).status in ("inaccurate", "infeasible")
    assert sd.feasible([x + y >= 2000, x + y <= 2000]).status == "optimal"


MAP = (x - 498123, y - 5400321)


@pytest.mark.parametrize("gap", [F(1, 10**4), F(1, 10**5)])
def test_a_set_is_empty_wherever_it_lies(gap):
    """u^2 <= v <= 2 u - 1 - gap on a map: -gap = (v - u^2) + (2 u - 1 - gap - v) + (u - 1)^2."""
    u, v = MAP
    assert sd.feasible([v >= u * u, v <= 2 * u - 1 - gap, u <= 5, u >= -5], 2).status == "infeasible"


def test_a_constant_of_the_objective_closes_no_bracket():
    """The minimum is 498123.99; 498118 is what u >= -5 says, and near enough relative to the value."""
    u, v = MAP
    answer = sd.minimize(x, [v >= u * u, v <= 2 * u - 1 + F(1, 10**4), u <= 5, u >= -5], 4)
    assert answer.status != "optimal" or abs(answer.bound - 498123.99) <= 1e-3


def test_a_bracket_that_floats_of_its_size_cannot_close_further_is_closed():
    """The objective is a constant on the set, with more digits than a float has."""
    result = sd.minimize((10**39 + 10**21 + 22) * x**2, [x**2 == 1, 7 * x**2 - 13 * x >= 3])
    assert result.status == "optimal" and result.bound == pytest.approx(1e39)


@pytest.mark.parametrize("well", [300, 2000])
def test_moments_in_one_well_do_not_hide_the_other(well):
    p = (x * (x - well)) ** 2 - x
    for answer in (sd.minimize(p), sd.minimize(p + (y - 3) ** 2)):
        assert answer.status != "optimal" or abs(answer.bound + well) <= 1e-3


def test_small_moments_hide_nothing_that_they_miss():
    """The same moments, and the same equations of them, in a unit of 2**-12."""
    built, raw = solved(statement_of(x, x >= x**2))
    off, small = replace(raw, moments=raw.moments * 1.001), 2.0**-12
    tiny = replace(built, program=replace(built.program, objective=small * built.program.objective))
    missed = judge.violation(built, off)
    assert missed > 1e-4
    assert judge.violation(tiny, replace(off, moments=small * off.moments)) == pytest.approx(missed, rel=0.01)
    assert judge.violation(tiny, replace(off, moments=0.0 * off.moments)) <= 1.0


def test_multipliers_fit_in_the_identity_and_in_the_cone():
    built, raw = solved(statement_of((x - 1) ** 2, x**2 <= 4))
    assert judge.own_misfit(built, raw) < 1e-5
    assert judge.own_misfit(built, replace(raw, unknowns=raw.unknowns + 0.1)) > 0.01
    identity, gram = built.program.identity, raw.gram.copy()
    (row,) = [r.start for b, r in zip(identity.blocks, identity.slices()) if b.kind == "inequality"]
    gram[row] = -0.1
    # the identity holds, with a negative multiplier
    every = np.concatenate([gram, raw.free, raw.unknowns])
    gram = absorbed(identity, identity.target, every)[: gram.size]
    assert judge.own_misfit(built, replace(raw, gram=gram)) > 0.01


def test_values_at_points_are_exact():
    i, j = ids(x, y)
    p = 0.1 * x**3 * y - F(2, 7) * y**2 + 10**20 * x - F(1, 3)
    here = {i: F(-2.7), j: F(5, 11)}
    a, b = here[i], here[j]
    assert at(p, here) == F(0.1) * a**3 * b - F(2, 7) * b**2 + 10**20 * a - F(1, 3)
    assert at(polynomial(0), here) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("p", [1e10 * x, 1e10 * x + y, 1e300 * x * y + x, 1e300 * x**4 + 1e300 * y**3])
def test_no_step_where_nothing_bends_or_values_leave_the_floats(p):
    start = dict.fromkeys(ids(x, y), 1e5)
    result = _descended(p, start)
    assert all(map(np.isfinite, result.values()))
    assert at(p, {v: F(c) for v, c in result.items()}) <= at(p, {v: F(c) for v, c in start.items()})
    assert near(F(10) ** 400) == np.inf and near(-(F(10) ** 400)) == -np.inf


@pytest.mark.few(1)
@pytest.mark.parametrize(("place", "k"), [(3, 7), (2000, 9)])
def test_no_optimum_on_a_set_that_is_empty_by_next_to_nothing(place, k):
    """Moments, multipliers and a point that nearly satisfies all agree; no point is proven."""
    e, u, v = F(1, 10**k), x - place, y - place
    for system in (
        [u * (u - 1) * (u - 3) == 0, u >= 1 + e, u <= 3 - e],
        [v**2 <= u**3, u <= -e, u**2 <= 4, v**2 <= 4],
        [u**4 + v**4 <= 1, u + v >= F(1681792831, 10**9) * (1 + e)],
        [u**2 * (v - 1) ** 2 <= -e, u**2 <= 9, v**2 <= 9],
    ):
        assert sd.minimize(u, system).status != "optimal"


@pytest.mark.parametrize(
    ("system", "holds"),
    [
        ([x * y == 0, x <= 0, y**2 <= 1], True),
        ([x + y == 0, x**2 <= -F(1, 10**9)], False),
        ([x + y == F(1, 10**9), x**2 <= 1], False),
        ([sd.PSD([[-F(1, 10**9), x], [x, 1]])], False),
    ],
)
def test_the_origin_is_a_point_of_a_set_where_it_satisfies_everything_exactly(system, holds):
    assert sd.Relaxation(system, 2)._demand(x).has_origin == holds


def test_an_irrational_point_is_proven():
    """Krawczyk's test: sqrt(2), the sphere of radius sqrt(3), the real zero of x^3 = x + 1."""
    z = sd.variables("z")
    sets = [[x**2 == 2, y**2 == 3, x * y >= 1], [x**2 + y**2 + z**2 == 3, x * y >= 1], [x**3 == x + 1]]
    for system in sets:
        answer = sd.feasible(system, 4)
        assert answer.status == "optimal" and "point" in answer.reason
    assert sd.feasible([x**2 == 2, y**2 == 3, x * y >= F(2449489743, 10**9)]).status != "optimal"


def test_no_zero_is_enclosed_where_there_is_none():
    """x^2 + 1e-13 nearly vanishes near 0; at sqrt(2) an inequality misses by 1e-12."""
    (k,) = ids(x)

    def encloses(where, *system):
        return _encloses(statement_of(0 * x, *system).demands[0], {k: where})

    assert not encloses(1e-7, x**2 + F(1, 10**13) == 0)
    assert encloses(1.41421356, x**2 == 2)
    assert not encloses(1.41421356, x**2 == 2, x >= F(1414213562374, 10**12))


def test_an_empty_set_leaves_a_program_with_coefficients():
    """x - 1990 is one of its constraints: that no coefficients exist would be false."""
    c = sd.variables("c")
    system = [F(1, 10) * (x - 2003) ** 2 * (x - 2015) ** 2 <= -100000, x >= 1990, x <= 2020]
    program = sd.SosProgram([c]).require(x - c, system, 4)
    answer = program.maximize(c)
    assert answer.status in ("unbounded", "inaccurate") and not answer.bound == -np.inf
    assert sd.minimize(x, system, 4).status in ("infeasible", "inaccurate")


@pytest.mark.parametrize("a, b, e", [(3, 8, 8), (8, 4, 9)])
def test_an_optimum_is_relative_to_what_it_gains_on_the_origin(a, b, e):
    """Terms in units that are too large are no measure: -9.4e-13 was an optimum of squares that are 1e-8 at
    the origin."""
    gain = F(1, 10**e)
    u, v = x / 10**a, y / 10**b
    answer = sd.minimize(gain * ((u - 1) ** 2 + (v - u) ** 2))
    assert answer.status != "optimal" or abs(answer.bound) <= 1e-5 * gain


def observables_of_mean(least):
    a = sd.observables("A", 1)
    return sd.minimize(a[0], [sd.E(a[0]) >= least], level=1)


def phases(least):
    w, v = sd.complex_variables("jw jv")
    product = w * v.conj() + v * w.conj()
    return sd.minimize(product, [w.abs2() <= 1, v.abs2() <= 1, product >= 2 * least], 2)


NEARLY = {
    "matrix": lambda k: sd.minimize(x, [sd.PSD([[1, x], [x, 1]]), x >= k]),
    "correlations": lambda k: sd.minimize(
        y, [sd.PSD([[1, x, F(4, 5)], [x, 1, y], [F(4, 5), y, 1]]), x >= F(4, 5), F(7, 25) >= y * k]
    ),
    "for all": lambda k: sd.minimize(x, [sd.for_all([y], 1 + 2 * x * y**2 + y**4 >= 0), x <= -k]),
    "signs": lambda k: sd.minimize(x + y, [(x**2 - 1).equals(0), (y**2 - 1).equals(0), x + y >= 2 * k], 2),
    "operators": observables_of_mean,
    "phases": phases,
}


@pytest.mark.parametrize("name", NEARLY)
def test_a_set_of_any_kind_that_is_empty_by_next_to_nothing(name):
    """By 1e-8 all were `optimal`; a set that just has a point still is."""
    assert NEARLY[name](F(1)).status == "optimal"
    for power in (8, 12):
        assert NEARLY[name](1 + F(1, 10**power)).status == "infeasible", power


@pytest.mark.parametrize("power", [8, 10, 12])
def test_coefficients_that_miss_an_equation_by_next_to_nothing(power):
    """``c x**2 + 2 d x + 19/2`` with ``d == 7/5`` is non-negative from c = 98/475 on."""
    c, d = sd.variables("jc jd")
    for least, status in ((F(98, 475), "optimal"), (F(98, 475) * (1 - F(1, 10**power)), "infeasible")):
        program = sd.SosProgram([c, d]).require_zero(d - F(7, 5)).require(c * x**2 + 2 * d * x + F(19, 2))
        assert program.require(least - c).minimize(c).status == status


def test_coefficients_are_compared_with_the_constants_beside_them():
    """No c is at most 8.8e60 and at least 9.68e60; a third of that was `optimal`, where a unit was 1."""
    c = sd.variables("jc")
    program = sd.SosProgram([c]).require(8.8e60**2 * x**2 + 2 * c * x + 1).require(c - 9.68e60)
    assert program.feasible().status != "optimal"


def test_a_point_below_the_value_contradicts_it_for_good():
    """Unbounded below along y = 2 x**2, z = y**2: once that point was the value, nothing contradicted it."""
    z = sd.variables("z")
    answer = sd.minimize(100 * (y - 2 * x**2) ** 2 + (z - y**2) ** 2 + x * y / 10)
    assert answer.status == "inaccurate" and answer.certified_bound is None


@pytest.mark.parametrize("constant", [5, -3, F(1, 3), 10**30])
def test_a_constant_is_proven_to_its_last_digits(constant):
    answer = sd.minimize(constant)
    assert answer.status == "optimal" and answer.certified_bound <= constant
    assert answer.certified_bound == pytest.approx(float(constant), rel=5e-15)


def test_coefficients_without_a_set_are_not_told_to_have_one():
    """The decrease of x**2 + r y**2 along (-x**3, x - y) has no interior."""
    p, q, r = sd.variables("p q r")
    v = p * x**2 + q * x * y + r * y**2
    decrease = v.diff(x) * x**3 - v.diff(y) * (x - y)
    answer = sd.SosProgram([p, q, r]).require(v - x**2).require(decrease).minimize(p + r)
    assert answer.status == "optimal" and answer.certified_bound is None
    assert "strictly inside" in answer.reason and "exact() may prove" in answer.reason


@pytest.mark.parametrize("c", [10**6, 2024])
def test_a_variance_below_zero_is_no_optimum(c):
    """The mass, the mean and an inequality together say that the variance is -d."""
    m, d = F(1, 10**6), F(1e-3)
    program, box = sd.MeasureProgram(), sd.System((x - c) ** 2 <= 100)
    mu, nu = program.measure([x], on=box, mass=m), program.measure([x], on=box)
    program.require(mu(x) == c * m, mu(x**2) <= m * (c * c - d), nu.mass <= 1)
    assert program.minimize(mu((x - c) ** 2) + nu((x - c) ** 2)).status != "optimal"


def test_a_matrix_that_long_data_miss_by_next_to_nothing_is_refuted():
    """|x - q| <= 1 by the matrix, and x - q >= 1 + 1e-10."""
    q = 10**9
    matrix = sd.PSD([[F(1), x - q], [x - q, F(1)]])
    system = sd.System(matrix, x - q - 1 - F(1, 10**10) >= 0, (x - q) ** 2 <= 100)
    assert sd.minimize(x, system, degree=2).status == sd.feasible(system, degree=2).status == "infeasible"
