"""One statement, one list of steps, one judge: what is proven, what closes a bracket, what each step adds;
no solver is called elsewhere."""

import ast
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import sosdp
import sosdp as sd
from benchmarks.regret import grid
from sosdp.algebra.build import polynomial
from sosdp.model.options import Options
from sosdp.relaxation import judge, ladder
from sosdp.relaxation.assemble.identity import RawSolution
from sosdp.relaxation.attained import at, attained, feasible_point
from sosdp.relaxation.change import Change, build, centre_of_data, lighter
from sosdp.relaxation.solve.solve import solve_program
from sosdp.relaxation.statement import BOUND, MEASURES, PROGRAM, Demand, Statement

x, y, z, c = sd.variables("x y z c")
S = sd.System


def bound_on(p, *system, degree=2, price=F(1)):
    demand = Demand((p, polynomial(-1)), S(*system), degree, Options(), price=price)
    return Statement(BOUND, (demand,), (F(1),), (np.inf,))


def solved(statement, change=None):
    built = build(statement, change or Change.none(statement))
    return built, solve_program(built.program, solver="clarabel")


def theorem(built, raw):
    return judge.proven(built, raw.gram, raw.free, raw.unknowns)


def three_doors(p, degree=None, *system):
    on = S(*system)
    program = sd.SosProgram([c]).require(p - c, on=on, degree=degree).maximize(c)
    measures = sd.MeasureProgram()
    mu = measures.measure(sorted({*p.variables, *on.variables}, key=str), on=on, mass=1)
    return sd.minimize(p, on, degree), program, measures.minimize(mu(p), degree)


# ---------------------------------------------------------------- the one function that proves


def test_a_shortfall_costs_its_price():
    """The unknown is raised by 1/4 above the optimum: so much is missing, and is paid for with the mass."""
    values = {}
    for mass in (1, 3):
        built, raw = solved(bound_on(x**2, x**2 <= 1, price=F(mass)))
        unknowns = raw.unknowns + 0.25 / built.slopes
        values[mass] = judge.proven(built, raw.gram, raw.free, unknowns).value
    assert values[1] <= 1e-9 and values[1] == pytest.approx(0, abs=1e-6)
    # value 1/4 less three times 1/4: what the square of the constant has to spare is not asked for
    assert float(values[3]) == pytest.approx(0.25 - 0.75, abs=1e-6)


def test_an_unknown_beyond_its_limit_proves_nothing():
    statement = replace(bound_on(x**2, x**2 <= 1), upper=(-1.0,))
    built, raw = solved(bound_on(x**2, x**2 <= 1))
    limited = build(statement, Change.none(statement))
    assert judge.proven(limited, raw.gram, raw.free, raw.unknowns).value is None
    assert judge.proven(built, np.full_like(raw.gram, np.nan), raw.free, raw.unknowns).value is None


def test_costs_cancel_exactly():
    """10^17 u + v - 10^17 w at u = v = w = 1 is 1, in fractions; in floats it is 0."""
    demand = Demand((x**2 + 3, *(polynomial(-1),) * 3), S(x**2 <= 1), 2, Options(), price=F(1))
    prices = (F(10**17), F(1), F(-(10**17)))
    statement = Statement(MEASURES, (demand,), prices, (np.inf,) * 3)
    assert statement.value([F(1), F(1), F(1)]) == 1
    assert replace(statement, curves=(F(0), F(1, 4), F(0))).value([F(1), F(2), F(1)]) == 1


def test_bounds_are_rounded_outwards():
    assert judge.outwards(F(1, 3), 1) < F(1, 3) < -judge.outwards(F(-1, 3), 1)
    assert F(judge.outwards(F(1, 3), -1)) > F(-1, 3)
    assert judge.outwards(F(1, 2), 1) == 0.5
    assert judge.outwards(F(10) ** 400, 1) is None


# ---------------------------------------------------------------- moments


def test_one_constraint_missed_beside_large_moments_is_seen():
    built, raw = solved(bound_on(x**2 + y**2, x == 1, y**2 <= 1))
    assert judge.violation(built, raw) < 1e-6
    place = (
        built.pieces[0].columns.tolist().index([0, 1]) if [0, 1] in built.pieces[0].columns.tolist() else 1
    )
    moments = raw.moments.copy()
    moments[place] *= 1 + 1e-3
    assert judge.violation(built, replace(raw, moments=moments)) > 1e-5
    assert judge.violation(built, replace(raw, moments=raw.moments * np.nan)) == np.inf


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "system",
    [
        [x * y >= 1, -(y**2) >= 0],
        [x**2 * y >= 1, -(y**2) >= 0],
        [(x * y).equals(1), -(y**2) >= 0],
        [x * y >= 1, (y**2).equals(0)],
        [x * y >= F(1, 10**12), -(y**2) >= 0],
        [x * y >= 1, y * z >= 1, -(z**2) >= 0],
    ],
)
def test_weakly_infeasible_sets_are_never_optimal(system):
    assert sd.feasible(system).status != "optimal"
    assert sd.minimize(x, system).status != "optimal"
    program = sd.MeasureProgram()
    program.measure([x, y, z], on=S(system), mass=1)
    assert program.feasible().status != "optimal"


def test_moments_that_are_far_out_close_no_bracket():
    empty = [sd.PSD([[x, 1], [1, y]]), -y >= 0]  # y falls to 0 as x grows: no point is looked for
    assert sd.minimize(y, empty, 2).status != "optimal"


@pytest.mark.few(4)
@pytest.mark.parametrize("place", [0, 100, 2000, F(8000044, 10)])
@pytest.mark.parametrize(
    ("level", "status"), [(7, "infeasible"), (F(1, 1000), "infeasible"), (-1, "optimal")]
)
def test_a_program_without_coefficients_is_infeasible_wherever_it_is(place, level, status):
    c, u = z, (x - place) ** 4 * (1 + (y - 3 * place) ** 2)
    program = sd.SosProgram([c]).require(u - level).require(5 - c).require(c + 7)
    answer = program.minimize(c)
    assert answer.status == status
    assert status == "infeasible" or answer.certified_bound == pytest.approx(-7, abs=1e-4)


@pytest.mark.parametrize(("bend", "slope"), [(-2.525, -0.796), (-2.904, -0.237), (-1.292, -0.102)])
@pytest.mark.parametrize("place", [100, 2000.3])
def test_wells_beside_each_other_are_seen_from_between_them(bend, slope, place):
    u = np.array([x, y]) - place
    best = sd.minimize(sum(u**4) + bend * sum(u**2) + slope * sum(u))
    least = min(np.polyval([1, 0, bend, slope, 0], t) for t in np.roots([4, 0, 2 * bend, slope]).real)
    assert best.status == "optimal" and best.bound == pytest.approx(2 * least, rel=1e-5)


@pytest.mark.parametrize("place", [100, -1000, F(4001, 2), -80000412])
@pytest.mark.parametrize("side", [1, -1])
def test_half_lines_far_from_0_have_no_coefficients(place, side):
    """A functional is not found everywhere; the terms hide nothing."""
    program = sd.SosProgram([z]).require((x - place) ** 4 - 7, [side * (x - place) >= 0]).require(5 - z)
    assert program.maximize(z).status in ("infeasible", "inaccurate")


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("factor", [0, 2, 4])
def test_a_negative_mass_is_no_optimum(k, factor):
    """Units of 1e-5 made a mass of -1, or a square's mean, next to nothing beside the other demand's."""
    program = sd.SosProgram([y, z]).require(x**2 + 1 - y).require(4 - z)
    best = program.require(x**factor * ((x - F(1, 10**4)) ** k + y)).maximize(y + z)
    assert best.status != "optimal" or best.bound == pytest.approx(5, abs=1e-4)


@pytest.mark.parametrize("end", [50, 150, -4321, F(4001, 2), F(2400001, 3)])
def test_measures_on_half_lines(end):
    program = sd.MeasureProgram()
    a, b = program.measure([x], on=S(x >= end)), program.measure([y], on=S(y >= 0, y <= 2))
    program.require(a.mass == 1, a(x - end) == 5, b.mass == 1, b(y) == 1)
    best = program.minimize(a((x - end) ** 2) + b(y**2))
    assert best.status == "optimal" and best.bound == pytest.approx(26, abs=1e-4)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_equations_that_leave_a_range_of_nothing(place):
    system = [(x - place).equals(0), (2 * x - 2 * place).equals(0), (x - place) ** 2 <= 1]
    assert sd.minimize(x, system).bound == pytest.approx(place, abs=1e-6)
    assert sd.feasible(system).status == "optimal"


@pytest.mark.few(1)
@pytest.mark.parametrize("p, power", [(-x, 4), (-x, 6), (100 * (y - x), 4)])
def test_points_that_nearly_satisfy_are_charged(p, power):
    """The minimum is 0; multipliers grow without end, and what a point misses times them is not nothing."""
    form = x**power if p.variables == (x,) else x**2 + y**power
    for result in three_doors(p, power, -form >= 0):
        assert result.certified_bound is None or result.certified_bound <= 0
        assert result.status != "optimal" or abs(result.bound) <= 1e-5


@pytest.mark.parametrize("p", [-x, -100 * x])
def test_what_a_point_misses_is_charged(p):
    built, raw = solved(bound_on(p, -(x**2) >= 0))
    assert attained(built, raw, theorem(built, raw))[0] >= 0


def test_a_point_below_what_is_proven_is_discarded():
    built, raw = solved(bound_on(x, x >= 0, x <= 1))
    shown = theorem(built, raw)
    least, point = attained(built, raw, shown)
    assert abs(least) < 1e-5 and at(x, point) >= shown.value
    assert attained(built, raw, replace(shown, value=F(1, 2)))[0] >= 0.5


def test_a_value_is_between_what_is_proven_and_what_is_attained():
    built, raw = solved(bound_on(x**2, x**2 <= 1))
    candidate = ladder.Candidate("first", built, raw, value=1.0, theorem=theorem(built, raw), above=1e-9)
    result = ladder.closed(candidate)
    assert result.status == "optimal" and result.value <= 1e-9
    below = ladder.closed(replace(candidate, above=-1.0, missed=1.0))
    assert below.status == "optimal" and below.above == np.inf and below.value <= 0  # that of the origin


def test_feasible_sets_are_shown_by_exact_points():
    statement = replace(bound_on(polynomial(0), (x - 2000) ** 2 + y**2 <= 1, x + y == 2000), kind="feasible",
                        upper=(1.0,))  # fmt: skip
    built, raw = solved(statement, centre_of_data(statement))
    point = feasible_point(built, raw)
    assert point is not None
    ids = {int(v.variable_ids[0]): v for v in (x, y)}
    assert (sum(point.values())) == 2000 and set(point) == set(ids)
    assert at((x - 2000) ** 2 + y**2, point) <= 1
    assert "exactly" in sd.feasible([sd.PSD([[1, x], [x, 2]]), x >= F(1, 2)]).reason


# ---------------------------------------------------------------- changes


def test_a_change_is_undone_exactly():
    statement = bound_on((x - 2003) ** 2 * (x - 2015) ** 2, x >= 1990, x <= 2020, degree=4)
    change = centre_of_data(statement)
    there = change.forwards(statement)
    moved, origin = there.demands[0], change.origins[0]
    assert origin and all(isinstance(v, F) for v in origin.values())
    (k,) = origin
    for u in (F(0), F(1, 3), F(-7)):
        given = change.point({k: u})
        assert at(moved.parts[0], {k: u}) == at(statement.demands[0].parts[0], given)
    assert Change(({k: -origin[k]},)).after(change).trivial
    low, high = moved.bounds.ranges[k]
    assert F(low) <= 1990 - origin[k] and F(high) >= 2020 - origin[k]  # ranges that were known are kept


def test_bounds_of_an_empty_set_move_nothing():
    """Propagation on it runs away: from there, its moments looked good."""
    assert sd.feasible([x - y**2 + 3 >= 0, (y + x**2 + 2).equals(0)], 2).status == "infeasible"


def test_multiples_of_equations_are_exact_and_come_back():
    p = 10**12 * (x**2 - y) ** 2 + x
    demand = Demand((p, polynomial(-1)), S((y - x**2).equals(0), x**2 <= 1), 4, Options(), price=F(1))
    light, multiples = lighter(demand)
    assert light.parts[0] == x and light.parts[1] == polynomial(-1)
    total = p
    for j, multiplier in multiples[0]:
        total = total - multiplier * demand.system.equalities[j]
    assert total == x
    result = sd.minimize(p, demand.system, 4)
    assert result.status == "optimal" and result.bound == pytest.approx(-1, abs=1e-6)
    whole = sum((b.entry is None) * float(b.gram.sum()) for b in result.dual.blocks[:1])  # a number, not NaN
    assert np.isfinite(whole)
    (_, free), *_ = result.dual.equality_multipliers
    assert max(abs(v) for v in free.coefs) > 1e11


# ---------------------------------------------------------------- doors


@pytest.mark.parametrize(
    ("p", "degree", "system", "value"),
    [
        ((10**6 * x - 3) ** 2 + (y - x) ** 2, None, [], 0),
        ((x - 2003) ** 2 * (x - 2015) ** 2, None, [x >= 1990, x <= 2020], 0),
        (0.1 * (x - 800004.4) ** 2 * (x - 800003.7) ** 2, None, [x >= 800000, x <= 800010], 0),
        (x + y, None, [x**2 <= 10**18, y**2 <= 10**18], -2e9),
        (x**4 - 3 * x + y**2, None, [x**2 + y**2 <= 1], -2.0442607),
        (2 * 10**12 * (x**2 - y**2) - F(3, 10) * (x**2 + y**2), None,
         [(x**2 - y**2).equals(0), (x**2 + y**2).equals(1)], -0.3),
        (-(x**4), None, [x >= 0, 2 * x <= 2, x <= 3], -1),  # linear constraints alone allow no bound
        (-x * y, None, [x >= 0, 1 - y >= 0, x <= 1, y >= 0], -1),
    ],
)  # fmt: skip
def test_three_doors_say_the_same(p, degree, system, value):
    answers = three_doors(p, degree, *system)
    assert [a.status for a in answers] == ["optimal"] * 3
    for a in answers:
        assert a.bound == pytest.approx(value, rel=1e-5, abs=1e-5)
        assert a.certified_bound <= value + 1e-6 * max(1, abs(value))
        assert a.bound >= a.certified_bound and a.steps


def test_three_doors_of_an_empty_set():
    system = [(x - 500000) ** 2 + (y - 4600000) ** 2 <= 16, (x - 500010) ** 2 + (y - 4600000) ** 2 <= 25]
    statuses = [a.status for a in three_doors(x + y, None, *system)]
    assert statuses == ["infeasible", "unbounded", "infeasible"]
    assert sd.feasible(system).status == "infeasible"


def test_a_door_about_one_bound_has_a_mass():
    demand = Demand((x, polynomial(-2)), S(x >= 0), 2, Options())
    assert Statement(PROGRAM, (demand,), (F(6),), (np.inf,)).mass == 3
    assert Statement(PROGRAM, (demand,), (F(-6),), (np.inf,)).mass is None
    assert Statement(PROGRAM, (replace(demand, parts=(x, y)),), (F(1),), (np.inf,)).mass is None


# ---------------------------------------------------------------- the ladder


# of signs |b(x)|**2 is one number: no second solve mends matrices for less than what is paid
@pytest.mark.parametrize("question", [(x**2 - x,), grid(7)], ids=["free", "signs"])
def test_what_ran_is_told(question):
    answer = sd.minimize(*question)
    assert [s.name for s in answer.steps] == ["first"] and "optimal" in str(answer.steps[0])
    assert answer.steps[0].proven == pytest.approx(answer.certified_bound, rel=1e-15)


def test_a_solver_that_was_named_is_the_only_one():
    answer = sd.minimize(x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1, [x**2 + y**2 <= 4], 6, solver="scs")
    assert {s.solver for s in answer.steps} == {"scs"}


def test_a_raw_solution_without_values_is_no_candidate_for_moments():
    built, raw = solved(bound_on(x**2, x**2 <= 1))
    assert isinstance(raw, RawSolution) and judge.means(built, raw)[0]
    assert judge.means(built, replace(raw, moments=raw.moments * np.nan)) == [{}]


@pytest.mark.parametrize("origin", [0, 2000, 200000, 500000])
def test_moments_that_miss_a_prescribed_variance_are_no_optimum(origin):
    """Far from 0 the equation of E[x**2] is c**2 to ten digits; the variance is what is left."""
    x = sd.variables("x")
    mean = origin + F(3, 10)

    def law(second):
        program = sd.MeasureProgram()
        mu = program.measure([x], on=sd.System((x - origin) * (origin + 1 - x) >= 0), mass=1)
        return program.require(mu(x) == mean, mu(x**2) == second), mu

    program, mu = law(mean**2 + F(1, 5))
    result = program.maximize(mu((x - origin) ** 2))
    assert result.certified_bound is None or result.certified_bound >= 0.29 - 1e-9
    assert result.status == "inaccurate" or result.bound == pytest.approx(0.29, abs=1e-4)
    empty, _ = law(mean**2 + 5)
    assert empty.feasible().status in ("infeasible", "inaccurate")


@pytest.mark.parametrize("origin", [0, 1000, 3000])
def test_an_inequality_of_moments_far_from_0_is_seen(origin):
    """The second moment is limited beside a mean that is given: what is left is a variance of 1/100."""
    x = sd.variables("x")
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System((x - origin) * (origin + 1 - x) >= 0), mass=1)
    mean = origin + F(1, 2)
    program.require(mu(x) == mean, mu(x**2) <= mean**2 + F(1, 100))
    result = program.maximize(mu((x - origin) ** 2))
    assert result.status == "inaccurate" or result.bound == pytest.approx(0.26, abs=1e-4)


PACKAGE = Path(sosdp.__file__).parent
PLACES = [*(PACKAGE / "relaxation").rglob("*.py"), *(PACKAGE / "laboratory").rglob("*.py")]
SOLVING = {
    "at_points", "backend", "bound_on_circle", "bound_on_unit_box", "opinion", "solve_at_points",
    "solve_moments", "solve_program", "solve_sampled", "staircase",
}  # fmt: skip
LADDER = ("steps", "solve", "low_rank")  # the steps, and the methods that only they call
MODULES = {"clarabel", "scs", "newton_cg", "module", "problem", "solver"}


def named(text):
    """Functions that solve, wherever they are imported, called or passed on, and methods ``solve`` of
    solvers."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from (a.name for a in node.names if a.name in SOLVING)
        if isinstance(node, ast.Name) and node.id in SOLVING:
            yield node.id
        if isinstance(node, ast.Attribute):
            name = getattr(node.value, "id", getattr(node.value, "attr", ""))
            if node.attr in SOLVING or node.attr == "solve" and name in MODULES:
                yield f"{name}.{node.attr}"


def is_ladder(path):
    inside = path.relative_to(PACKAGE).parts
    return inside[0] == "relaxation" and inside[1] in LADDER


@pytest.mark.parametrize("path", PLACES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_ladder_knows_solvers(path):
    assert is_ladder(path) or not [*named(path.read_text(encoding="utf-8"))]


def test_the_walk_sees_calls_and_what_is_passed_on():
    for text in ("raw = solve_program(p)", "ask(solve_program)", "from .solve import solve_program as s"):
        assert [*named(text)]
    assert [*named("self.solver.solve(b)")] and [*named("f = solver.solve")]
    assert any([*named(p.read_text(encoding="utf-8"))] for p in PLACES if is_ladder(p))
