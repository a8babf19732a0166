"""Several measures in one program: known values, linear programs over finite sets, and what is charged."""

import math
from dataclasses import replace
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import certificates
import sosdp as sd
from sosdp.algebra.build import polynomial
from sosdp.relaxation import measure_problems
from sosdp.relaxation.certify.bound import Certified
from sosdp.relaxation.certify.measures import masses
from tests.refusals import each, refusals, refuse

x, y, t, u = sd.variables("x y t u")
S = sd.System
SEGMENT = S(x**2 <= 1)


def test_masses_other_than_one():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=SEGMENT, mass=2)
    program.require(mu(x) == 1)
    answer = program.minimize(mu(x**2))
    assert answer.status == "optimal" and answer.bound_kind == "lower"
    assert answer.bound == pytest.approx(0.5, abs=1e-6)
    assert 0.5 - 1e-6 <= answer.certified_bound <= 0.5
    assert answer.mass(mu) == pytest.approx(2, abs=1e-6) and answer(2 * mu(x**2) + 1) == pytest.approx(
        2, abs=1e-5
    )
    np.testing.assert_allclose(answer.law(mu).atoms(), [[0.5]], atol=1e-4)
    # the dual polynomial is the square that touches zero at the atom, and its multipliers the slopes
    np.testing.assert_allclose(answer.multipliers, [-0.25, 1.0], atol=1e-3)
    assert answer.slack(mu).subs({x: 0.5}).constant == pytest.approx(0, abs=1e-4)
    above = program.maximize(mu(x**2))
    assert above.certified_bound >= 2.0 and above.bound == pytest.approx(2.0, abs=1e-6)
    assert above.bound_kind == "upper"


def test_the_dual_is_a_program_with_an_exact_certificate():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=SEGMENT, mass=2)
    nu = program.measure([x], on=SEGMENT)
    program.require(mu(x) + nu(x) == 1, nu.mass <= 1)
    both = mu(x**2) + nu(x**2)
    for sense, truth in (("minimize", F(1, 3)), ("maximize", F(3))):
        sos, value = program.dual(both, sense)
        solved = (sos.maximize if sense == "minimize" else sos.minimize)(value)
        assert solved.bound == pytest.approx(float(truth), abs=1e-6)
        direct = getattr(program, sense)(both)
        assert direct.bound == pytest.approx(float(truth), abs=1e-6)
        assert (direct.certified_bound <= truth) == (sense == "minimize")
    sos, value = program.dual(both)
    assert certificates.extract(sos.maximize(value)).exact().verify()


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(12))
def test_against_linear_programs_on_finite_sets(seed):
    # measures on finite sets are vectors of weights: a linear program over them is the truth
    rng = np.random.default_rng(seed)
    points = [[F(int(a)) for a in rng.choice(np.arange(-3, 4), size=size, replace=False)] for size in (3, 4)]
    program = sd.MeasureProgram()
    mus = [program.measure([x], on=S(math.prod((x - a) for a in p).equals(0))) for p in points]
    sizes = [len(p) for p in points]

    def random_polynomial():
        coefficients = rng.integers(-3, 4, size=3).tolist()
        return sum((c * x**k for k, c in enumerate(coefficients)), polynomial(0))

    equal, right, below, limit = [], [], [], []
    weights = rng.integers(0, 3, size=sum(sizes))
    program.require(
        mus[0].mass + 2 * mus[1].mass == (total := int(weights[:3].sum() + 2 * weights[3:].sum()))
    )
    equal.append([1] * 3 + [2] * 4), right.append(total)

    def row(polynomials):
        return [float(p.subs({x: a}).constant) for p, chosen in zip(polynomials, points) for a in chosen]

    for k in range(3):
        ps = [random_polynomial(), random_polynomial()]
        values = row(ps)
        value = int(np.dot(values, weights))
        body = mus[0](ps[0]) + mus[1](ps[1])
        if k == 0:
            program.require(body == value)
            equal.append(values), right.append(value)
        else:
            program.require(body >= value - k)
            below.append([-v for v in values]), limit.append(k - value)
    ps = [random_polynomial(), random_polynomial()]
    truth = linprog(row(ps), A_ub=below, b_ub=limit, A_eq=equal, b_eq=right)
    answer = program.minimize(mus[0](ps[0]) + mus[1](ps[1]), degree=6)
    assert truth.status == 0 and answer.status == "optimal", answer.reason
    assert answer.bound == pytest.approx(truth.fun, abs=1e-5)
    assert truth.fun - 1e-4 <= answer.certified_bound <= truth.fun + 1e-9
    # one unit less than the least value is proven impossible
    program.require(mus[0](ps[0]) + mus[1](ps[1]) <= math.floor(truth.fun) - 1)
    assert program.feasible(degree=6).status == "infeasible"


def test_volumes_from_above():
    disc = S(x**2 + y**2 <= 1)
    box = {x: (-1.2, 1.2), y: (F(-6, 5), F(6, 5))}
    bounds = [sd.volume(disc, box, degree) for degree in (2, 4, 6, 8)]
    proven = [b.certified_bound for b in bounds]
    assert all(b.status == "optimal" for b in bounds)
    assert all(a >= b >= math.pi for a, b in zip(proven, proven[1:])) and proven[-1] < math.pi + 0.04
    assert proven[2] + 1 < sd.volume(disc, box, 6, stokes=False).certified_bound < 2.4**2
    interval = [sd.volume([x * (F(1, 2) - x) >= 0], {x: (-1, 1)}, d).certified_bound for d in (4, 8, 12)]
    assert interval[0] > interval[1] > interval[2] > 0.5 and interval[2] < 0.58
    # a set cut by the box: half of it
    assert 1 <= sd.volume(S(x >= 0), {x: (-1, 1)}, 10, stokes=False).certified_bound < 1.4
    refuse(
        (lambda: sd.volume(S(x >= 0), {x: (-1, 1)}, 4), "larger box"),
        (lambda: sd.volume(S(x.equals(0)), {x: (-1, 1)}, 4), "inequalities"),
    )


def test_ratios():
    ratios = [(x**2 + 1, x**2 + 2), (1 - x, 2 + x)]
    grid = np.linspace(-1, 1, 20001)
    truth = ((grid**2 + 1) / (grid**2 + 2) + (1 - grid) / (2 + grid)).min()
    result = sd.minimize_ratios(ratios, SEGMENT, 6)
    assert truth - 1e-5 <= result.certified_bound <= truth + 1e-12
    assert sd.minimize_ratios(ratios, SEGMENT, 2).certified_bound <= result.certified_bound
    line = sd.minimize_ratios([(x, 1 + x**2)])
    assert line.certified_bound <= -0.5 and line.bound == pytest.approx(-0.5, abs=1e-6)
    open_end = sd.minimize_ratios([(1 + x, x)], S(x * (2 - x) >= 0))
    assert open_end.certified_bound is None and "not proven positive" in open_end.reason
    v = sd.variables("v", 6)
    chain = [(-1, 1 + (v[i] - v[i + 1]) ** 2 + v[i] ** 2) for i in range(5)]
    sparse = sd.minimize_ratios(chain, S([w**2 <= 4 for w in v]), 4, sparse=True)
    assert sparse.bound == pytest.approx(-5, abs=1e-5) and max(sparse.sizes["blocks"]) <= 6
    assert -5.001 <= sparse.certified_bound <= -5


@pytest.mark.parametrize("sparse", [False, True])
def test_ratios_are_of_a_set_with_its_for_alls(sparse):
    inside = sd.for_all([t], t**2 - 2 * x * t + 1 >= 0)  # x**2 <= 1, beyond which x/(x**2 + 4) is less
    result = sd.minimize_ratios([(x, x**2 + 4)], S(inside), sparse=sparse)
    assert result.status == "optimal" and result.bound == pytest.approx(-0.2, abs=1e-6)


def control(running, final, sets, start, degree):
    """min of the integral of ``running`` + ``final`` at time 1 for x' = u, as occupation measures."""
    program = sd.MeasureProgram()
    occupation = program.measure([t, x, u], on=S(t * (1 - t) >= 0, *sets, x**2 <= 4))
    end = program.measure([x], on=S(x**2 <= 4))
    for v in sd.monomials([t, x], degree):
        flow = v.diff(t) + v.diff(x) * u
        if flow.degree <= degree:
            at_start = v.subs({t: 0, x: start}).constant
            program.require(end(v.subs({t: 1})) - at_start == occupation(flow))
    return program.minimize(occupation(running) + end(final), degree=degree)


def test_optimal_control():
    # the Riccati equation p' = p**2 - 1, p(1) = 1 has the solution 1: the value is x**2
    linear = control(x**2 + u**2, x**2, [u**2 <= 4], 1, 4)
    assert linear.status == "optimal" and 1 - 1e-5 <= linear.certified_bound <= 1
    # as fast as one can to the origin, and then nothing: (1/2)**3 / 3
    fast = [control(x**2, polynomial(0), [u**2 <= 1], F(1, 2), d).certified_bound for d in (4, 6)]
    assert fast[0] < fast[1] < 1 / 24 < fast[1] + 6e-5


def test_statuses():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=SEGMENT, mass=1)
    program.require(mu(x) >= 2)
    refuted = program.feasible()
    assert refuted.status == "infeasible" and refuted.certified_bound is None
    refuse((lambda: refuted.mass(mu), "status is 'infeasible'"))
    ray = sd.MeasureProgram()
    nu = ray.measure([x], on=S(x >= 0))
    ray.require(nu(x) == 1)
    assert ray.maximize(nu(x**2)).status == "unbounded"
    assert ray.maximize(nu(x**2)).bound == math.inf
    more = sd.MeasureProgram()
    nu = more.measure([x], on=S(x >= 0), mass=1)
    more.require(nu(x) >= 1, nu(x**2) >= 0)
    assert more.maximize(nu(x**2)).status == "unbounded"
    # no bound on the mass, and none is needed
    free = sd.MeasureProgram()
    mu = free.measure([x], on=SEGMENT)
    free.require(mu(2 - x) == 1)
    least = free.minimize(mu.mass)
    assert least.certified_bound <= F(1, 3) <= least.certified_bound + 1e-5


def test_misuse_is_said():
    program, other = sd.MeasureProgram(), sd.MeasureProgram()
    mu, nu = program.measure([x], on=SEGMENT), other.measure([y])
    refuse(
        (lambda: mu(y), "y is not a variable of the measure", ValueError),
        (lambda: program.require(nu(y) == 1), "measure of another program", ValueError),
        (lambda: program.require(x >= 0), "constraints on integrals", TypeError),
        (lambda: program.measure([y], on=SEGMENT), "describes the support", ValueError),
        (lambda: bool(mu(x) == 1), "no truth value", TypeError),
        (lambda: bool(mu(x)), "no truth value", TypeError),
        (lambda: sd.MeasureProgram().feasible(), "no measure", ValueError),
        (lambda: sd.MeasureProgram(sparsty="dense"), "did you mean 'sparsity'", TypeError),
        (lambda: program.minimize(x), "sum of integrals", TypeError),
    )


def test_masses_are_checked_exactly():
    one, zero = polynomial(1), polynomial(0)
    assert masses([[one, one]], [3], [False]) == [3, 3]
    # the second mass is a third of what the first leaves: at most 1
    assert masses([[one, 3 * one], [one, zero]], [4, 1], [False, True]) == [4, 1]
    # -m >= -2 is a bound, m >= 2 is none
    assert masses([[-one]], [-2], [True]) == [2]
    assert masses([[one]], [2], [True]) == [None]
    assert masses([[one, -one], [zero, one]], [0, F(1, 3)], [False, False]) == [F(1, 3), F(1, 3)]
    assert masses([[one, -one]], [0], [False]) == [None, None]
    # a float is the binary number that it is
    assert masses([[polynomial(0.1)]], [1], [False]) == [10] and 10 * F(0.1) >= 1
    assert masses([[one]], [0.1], [False]) == [F(0.1)]
    # exhaustively: whatever is claimed holds at every vertex of small systems
    for a, b, c in product((-1, 0, 2), repeat=3):
        result = masses([[one, one * a], [one * b, one * c]], [2, 1], [False, True])
        for k, bound in enumerate(result):
            cost = [-1.0 if j == k else 0.0 for j in range(2)]
            most = linprog(cost, A_ub=[[-b, -c]], b_ub=[-1], A_eq=[[1, a]], b_eq=[2])
            if most.status == 3:
                assert bound is None
            elif most.status == 0:
                assert bound is not None and float(bound) >= -most.fun - 1e-9


def test_several_measures_without_any_constraint():
    program = sd.MeasureProgram()
    mu, nu = program.measure([x], on=SEGMENT), program.measure([x], on=SEGMENT)
    answer = program.minimize(mu(x**2) + nu(1 + x**2))
    assert answer.status == "optimal" and -1e-6 <= answer.certified_bound <= 0
    assert program.minimize(mu(x**2) - nu(1 + x**2)).certified_bound is None


def test_a_constant_denominator_is_a_binary_number():
    # 0.3 is below 3/10: a mass of 10/3 would be too small for it
    assert 0 < measure_problems._floor(polynomial(0.3), sd.System(), 2) == F(0.3) < F(3, 10)


def test_a_volume_is_rounded_upwards():
    assert measure_problems.rounded_up(F(5)) == 5.0
    assert all(F(measure_problems.rounded_up(F(k, 7))) >= F(k, 7) for k in range(1, 50))


@pytest.mark.parametrize("big", [10**16, 10**20])
def test_cancellation_and_underflow(big):
    program = sd.MeasureProgram()
    mu = program.measure([x], on=S(x**2 == 1), mass=1)
    answer = program.minimize(mu((big - 1) * x**2 - big))
    assert answer.certified_bound is None or answer.certified_bound <= -1
    floats = program.minimize(mu(1e4 * x**4 - 0.3 - 1e4 * x**2), 4)
    assert F(floats.certified_bound) <= F(-3, 10) and floats.certified_bound > -0.3001
    tiny = sd.MeasureProgram()
    nu = tiny.measure([x], on=S(x >= 0), mass=1)
    refuse(
        # unbounded: the support is
        (lambda: tiny.minimize(nu(-x * F(1, 10**400))), "too small")
    )


def test_loss_within_the_spare_of_the_constant_is_a_proof():
    assert Certified(None, None, 0.0, -1.0, "").proves
    assert Certified(None, None, 1e-9, 1e-3, "", spare=1e-3).proves
    assert not Certified(None, None, 1e-2, 1e-3, "", spare=1e-3).proves
    assert not Certified(None, None, 1e-9, -1e-3, "", spare=1e-3).proves
    assert not Certified(None, None, 1e-9, 1e-3, "").proves


def test_a_failed_combination_bounds_nothing(monkeypatch):
    # a linear program that is wrong about its answer proves nothing
    from types import SimpleNamespace

    import scipy.optimize

    monkeypatch.setattr(scipy.optimize, "linprog", lambda *a, **k: SimpleNamespace(x=np.array([0.5])))
    assert masses([[polynomial(1)]], [3], [False]) == [None]


def test_a_box_is_a_mapping():
    t = sd.polynomial("t")
    refuse(
        (lambda: sd.volume(sd.System(t**2 <= 1), [(-2, 2)], 4), "the box says", TypeError),
        (lambda: sd.volume("t**2 <= 1", {t: (-2, 2)}, 4), "without quotes", TypeError),
    )


def test_a_box_may_touch_the_set():
    """The unit disc in its own square; and walls that were rounded into the set are moved out of it."""
    disc = S(x**2 + y**2 <= 1)
    result = sd.volume(disc, {x: (-1, 1), y: (-1, 1)}, 8)
    assert result.status == "optimal" and math.pi <= result.certified_bound < math.pi + 0.01
    root = 3**0.5
    low, high = measure_problems._around(S(x**2 <= 3), {x: (F(-root), F(root))})[x]
    assert F(root) ** 2 < 3 and low**2 >= 3 and high**2 >= 3 and low < 0 < high < F(root) + F(1, 10**8)
    refuse(
        (
            lambda: sd.volume(disc, {x: (-1, 1), y: (-1, F(999_999, 1_000_000))}, 4),
            r"only show that y lies in \[-1, 1\]",
        )
    )
    # the inequality has no solution: nothing about x is known, but that is not what x lies in
    empty = x**2 + y**2 <= -1
    refuse((lambda: sd.volume(empty, {x: (-1, 1), y: (-1, 1)}, 4), r"\[-inf, inf\] \(of an empty set"))


test_ratios_are_pairs = refusals(
    (lambda: sd.minimize_ratios((x, x**2 + 1), S(x**2 <= 1)), r"one ratio is \[\(p, q\)\]", TypeError),
    *each(
        lambda divide: divide(),
        (lambda: x / (x**2 + 1), lambda: 1 / (x**2 + 1)),
        "minimize_ratios",
        TypeError,
    ),
)


def test_a_measure_that_nothing_is_asked_of_does_not_stand_in_the_way_of_a_proof():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x**2 <= 1), mass=2)
    program.measure([x], on=sd.System(x**2 <= 1))  # of any mass
    program.require(mu(x) >= 3)
    assert program.feasible().status == "infeasible"


class FailsFirst:
    """A solver that gives up once: what the program falls back on is seen, whatever a solver can do."""

    FORM = "gram"

    def __init__(self):
        self.calls = 0

    def solve(self, program, **options):
        from sosdp.conic import clarabel

        self.calls += 1
        result = clarabel.solve(program, **options)
        return replace(result, status="failed", z=0 * result.z, x=0 * result.x) if self.calls == 1 else result


UNIT = {"segment": SEGMENT, "interval": S(x >= 1, x <= 2)}


@pytest.mark.parametrize(
    ("on", "statement", "empty"),
    [
        ("segment", lambda m: [m.mass == 2, m(x) == 1], False),
        ("segment", lambda m: [m(x) == 1, m(x**2) >= 1], False),
        ("segment", lambda m: [m(x) == 1, m(x**2) <= F(1, 2), m.mass <= 1], True),
        ("segment", lambda m: [m(x) == 1, m(x**2) <= F(1, 2), m.mass <= 3], False),
        ("interval", lambda m: [m(x) == -1], True),
        ("interval", lambda m: [m(x) == 1, m(x**2) >= 3], True),
        ("interval", lambda m: [m(x) == 1, m(x**2) >= F(3, 2)], False),
        ("interval", lambda m: [m(x) == 1, m(x**2) >= F(1, 2)], False),
        ("interval", lambda m: [m(x) == 1, m(x**2) <= F(3, 2)], False),
        ("interval", lambda m: [m(x) == -3, m(x + 1) >= -5], True),
    ],
)
def test_measures_that_do_not_exist_are_refuted_without_their_mass(on, statement, empty, monkeypatch):
    """As in programs that are too large to be decided in exact arithmetic."""
    monkeypatch.setattr("sosdp.relaxation.ladder.is_decidable", lambda *given: False)
    program = sd.MeasureProgram()
    mu = program.measure([x], on=UNIT[on])
    program.require(statement(mu))
    assert (program.feasible(degree=4, solver=FailsFirst()).status == "infeasible") == empty


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("on", "masses"),
    [(S(x >= 1, x <= 0), [1]), (S(x**2 <= -1e-9), [1, 2]), (S(x >= 1 + 1e-7, x <= 1), [1])],
)
def test_the_zero_measure_satisfies_bounds_on_the_mass_of_an_empty_set(on, masses):
    for door in ("feasible", "minimize", "maximize"):
        program = sd.MeasureProgram()
        mu = program.measure([x], on=on)
        program.require([mu.mass <= m for m in masses])
        wanted = () if door == "feasible" else (mu(x),)
        result = getattr(program, door)(*wanted, degree=2)
        assert result.status in ("optimal", "inaccurate")
        if result.certified_bound is not None:
            assert result.certified_bound * (-1 if door == "maximize" else 1) <= 0


def test_a_matrix_that_is_not_completely_positive():
    """The cycle of five with a diagonal that is too small, on the simplex: solvers break down on it."""
    A = np.array([[1, 1, 0, 0, 1], [1, 2, 1, 0, 0], [0, 1, 2, 1, 0], [0, 0, 1, 1, 1], [1, 0, 0, 1, 3]])
    z = sd.variables("z", 5)
    program = sd.MeasureProgram()
    mu = program.measure(z, on=S(z >= 0, z.sum() == 1))
    program.require([mu(z[i] * z[j]) == int(A[i, j]) for i in range(5) for j in range(i, 5)])
    for result in (program.feasible(degree=4), program.minimize(mu.mass, degree=4)):
        assert result.status == "infeasible" and result.certified_bound is None
