"""Odd degrees, on both sides and in files; and the least value in one variable, whatever its degree."""

import math
import time
from fractions import Fraction as F

import numpy as np
import pytest
from flint import fmpq_poly

import certificates
import sosdp as sd
from sosdp.conic.choose import opinion
from sosdp.conic.strategies import dual_bound
from sosdp.model.options import Options
from sosdp.relaxation.change import Change, build
from sosdp.relaxation.descent import moved_polynomial
from sosdp.relaxation.statement import BOUND, Demand, Statement
from sosdp.relaxation.steps.exact import exact_bound
from sosdp.relaxation.univariate import enclosed, wells
from tests.refusals import refuse

x, y, t = sd.variables("x y t")
S = sd.System
INTERVAL = S(x >= -1, x <= 1)


@pytest.mark.parametrize("degree", [3, 5, 7, 9])
def test_chebyshev(degree):
    program = sd.SosProgram([])
    p = program.polynomial(f"cheb{degree}_", [x], degree)
    program.require(1 - p, on=INTERVAL, degree=degree).require(1 + p, on=INTERVAL, degree=degree)
    answer = program.maximize(sd.coefficient(p, x**degree, [x]))
    best = 2 ** (degree - 1)
    assert answer.status == "optimal" and answer.bound == pytest.approx(best, rel=1e-6)
    assert best * (1 - 1e-6) <= answer.certified_bound <= best
    # the certified coefficients stay within one everywhere on the interval
    grid = np.linspace(-1, 1, 2001)
    values = sum(answer.certified_values[f"cheb{degree}_{k}"] * grid**k for k in range(degree + 1))
    assert np.abs(values).max() <= 1


def test_bounds_grow_with_every_degree():
    # Handelman's question on the square: each degree contains the one before
    square = S(x >= 0, 1 - x >= 0, y >= 0, 1 - y >= 0)
    bounds = [sd.minimize(x * y**2 - x**2 * y, square, t).certified_bound for t in (3, 4, 5, 6)]
    assert all(a <= b + 1e-7 for a, b in zip(bounds, bounds[1:])) and bounds[-1] <= -0.25


def test_certificates_and_files(tmp_path):
    assert str(certificates.extract(sd.minimize(x**3 - x, INTERVAL, 3)).exact().verify()) == "valid"
    path = tmp_path / "cubic.sos.json"
    path.write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x**3 - x",'
        ' "subject_to": ["x >= -1", "x <= 1"], "degree": 3}'
    )
    assert sd.load_problem(path).degree == 3
    for degree in (0, -3, "3"):
        path.write_text(
            '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x",'
            f' "subject_to": ["x >= -1", "x <= 1"], "degree": {degree!r}}}'.replace("'", '"')
        )
        refuse((lambda: sd.load_problem(path), "positive integer", sd.ProblemFileError))


def test_coefficients_that_floats_do_not_hold_are_charged():
    """The minimum of (1 + e) x**3 - 3 x on the half line is -2 / sqrt(1 + e), above -2; with -e below."""
    for e in (F(1, 10**30), -F(1, 10**30), F(1, 3)):
        result = sd.minimize((1 + e) * x**3 - 3 * x, sd.System(x >= 0), 3).certified_bound
        assert result is not None and F(result) ** 2 * (1 + e) >= 4


def test_a_face_of_exact_entries_proves_a_bound_where_no_dual_vector_does():
    """Robinson's form of order 3: its leading form has zeros, so no multiplier is definite. With x^6 less of
    it by what no float holds there is no bound."""
    rest = y**6 + 1 - (x**4 * y**2 + x**4 + x**2 * y**4 + y**4 + x**2 + y**2) + 3 * x**2 * y**2
    best = sd.minimize(x**6 + rest, degree=6)
    assert best.status == "optimal" and -0.93384 < best.certified_bound < -0.9338375
    assert sd.minimize((1 - F(1, 10**30)) * x**6 + rest, degree=6).certified_bound is None


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
    demand = Demand((x**4 + x * y, sd.polynomial(-1)), S(x**2 + y >= 1, y <= 3), 4, Options(), price=F(1))
    statement = Statement(BOUND, (demand,), (F(1),), (np.inf,))
    built = build(statement, Change.none(statement))
    identity = built.pieces[0]
    before = identity.gram.indices.copy(), identity.free.indices.copy()
    exact_bound(identity, statement.demands[0], 5.0)
    assert (identity.gram.indices == before[0]).all() and (identity.free.indices == before[1]).all()


@pytest.mark.parametrize("level", [F(1, 2), 1, 2, 3])
def test_a_multiple_of_the_unknown_is_bounded_by_what_it_is(level):
    """x^3 - level c >= 0 on x >= -1 has c <= -1 / level; -1 / level^2 was called proven."""
    c = sd.variables("c")
    program = sd.MeasureProgram()
    mu = program.measure([x], on=S(x >= -1))
    program.require(level * mu(1) == 1)
    for result in (
        sd.SosProgram([c]).require(x**3 - level * c, [x >= -1], 3).maximize(c),
        program.minimize(mu(x**3), 3),
    ):
        assert result.status == "optimal" and -1 / level - 1e-6 <= result.certified_bound <= -1 / level


@pytest.mark.parametrize("level", [F(1, 2), 2, 3])
def test_a_multiple_of_the_unknown_where_other_units_prove_it(level):
    """1e5 y - level c >= 0 on 1e5 y >= (x/1000)^2 >= 9/100: the dual vector is one in the given units."""
    c, z = sd.variables("c z")
    where = [10**5 * z >= F(1, 10**6) * x**2, x >= 300, x <= 20000]
    answer = sd.SosProgram([c]).require(10**5 * z - level * c, where, 2).maximize(c)
    assert answer.certified_bound is not None and answer.certified_bound <= F(9, 100) / level


def test_the_constants_of_a_program_that_fixes_a_quotient_are_charged():
    """Multiples c g: the moment of g is 1/c. The least value is 0, at x = -13; 5e-15 was certified."""
    g = sd.polynomial("g")
    for c in (49, 10):
        answer = sd.SosProgram([g]).require((x + 13) * (y - 1) ** 2 - c * g, [x >= -13], degree=4).maximize(g)
        assert answer.certified_bound is None or answer.certified_bound <= 0


def product(factors):
    return math.prod(factors, start=sd.polynomial(1))


# value, where it is attained
CASES = {
    "a square of degree 30": (product((x - F(i, 7)) ** 2 for i in range(15)), 0),
    "irrational zeros": ((x**2 - 2) ** 2 * (x**4 + x + 1) ** 6, 0),
    "far away, floats": (0.5 * (x - 800004.5) ** 14 + 7, 7),
    "degree 50": ((x**25 - x - 1) ** 2 + 5, 5),
    "a low well far from the others": (product((x - i) ** 2 + 1 for i in range(3)) * (x - 30) ** 2, 0),
    "two zeros next to one another": ((x - 1) ** 10 * (x - 1 - F(1, 10**60)) ** 10, 0),
    "small beside its terms": (product((x - i) ** 2 for i in range(18)) + F(1, 10**20), F(1, 10**20)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_of_high_degree(name):
    p, least = CASES[name]
    answer = sd.minimize(p)
    assert answer.status == "optimal" and F(answer.certified_bound) <= least
    assert [answer.bound, answer.certified_bound] == pytest.approx([float(least)] * 2, rel=1e-6, abs=1e-300)


WELLS = product((x - F(i, 7)) ** 2 + F(1, 100) for i in range(7))


def test_moments_are_those_of_the_minimiser():
    answer = sd.minimize(WELLS)
    assert "one variable" in [s.name for s in answer.steps]
    assert answer(x**2) == pytest.approx(answer(x) ** 2) and answer(x**14) == pytest.approx(answer(x) ** 14)
    assert answer(answer.objective) == pytest.approx(answer.bound, rel=1e-6)


@pytest.mark.parametrize("d", [4, 20])
def test_the_minimiser_is_an_atom_far_from_the_other_wells(d):
    answer = sd.minimize(product((x - i) ** 2 + 1 for i in range(d // 2 - 1)) * (x - 30) ** 2)
    assert answer.atoms() == pytest.approx(np.array([[30]]))


def test_a_high_degree_takes_no_time():
    """Degree 100 took 77 s with a time limit of 3: local searches looked at no clock."""
    p, began = x**100 + sum((7 * k % 19 - 9) * x**k for k in range(1, 100)), time.process_time()
    answer = sd.minimize(p, time_limit=60)
    assert answer.status == "optimal" and time.process_time() - began < 3


def test_moves_and_wells_of_one_variable():
    p = 3 * x**5 - F(1, 3) * x**2 + F(1, 2) * x + 7
    assert moved_polynomial(p, {int(x.variable_ids[0]): F(2, 7)}) == p.subs({x: x + F(2, 7)})
    assert moved_polynomial(x**2 - 1, {int(x.variable_ids[0]): F(-1)}) == x**2 - 2 * x
    assert wells(fmpq_poly([0, 0, 3, -4, 1])) == pytest.approx([0, (3 + F(3**0.5)) / 2])
    assert wells(fmpq_poly([0, 0, 0, 1])) == wells(fmpq_poly([1, 2])) == wells(fmpq_poly([5])) == []
    assert wells(fmpq_poly([0, 0, -2, 0, 1])) == [-1, 1] and wells(fmpq_poly([0, 0, 0, 0, -1])) == []


def test_other_doors_ask_the_same():
    known = sd.minimize(WELLS).bound
    assert -sd.maximize(-WELLS).bound == known
    program = sd.SosProgram([t]).require(2 * WELLS - 3 * t).maximize(6 * t + 1)
    assert program.status == "optimal" and program[t] == pytest.approx(2 * known / 3)
    assert F(program.certified_bound) <= 4 * F(known) + 1
    assert program.certified_bound - 1 == pytest.approx(4 * known, rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("bits", [8, 16, 30])
def test_few_digits_enclose_it_too(k, bits):
    """x**4 - k x is least at (k / 4)**(1/3), x**4 - 2 k x**2 at both roots of k: there are two."""
    low, high, _ = enclosed(fmpq_poly([0, -k, 0, 0, 1]), [bits])
    cube = [(-4 * v / (3 * k)) ** 3 * F(4) for v in (low, high)]  # of the minimiser times four
    assert cube[1] <= k <= cube[0]
    low, high, place = enclosed(fmpq_poly([0, 0, -2 * k, 0, 1]), [bits])
    assert low <= -(k**2) <= high and abs(abs(place) - F(k**0.5)) <= 1


def test_what_has_no_least_value_is_left_to_others():
    for p in (x**31 + x, -(x**30) + x):
        assert sd.minimize(p).status == "unbounded"
    for p in (x**4 - 1e160 * x**2, x**4 - 1e300 * x**2):  # least at -1e320 / 4, which no float is near
        assert sd.minimize(p).certified_bound is None
    answer = sd.minimize(1e-290 * x**4 - x)  # at a point whose fourth power is none
    assert np.isfinite(answer(x**4))


@pytest.mark.parametrize(
    ("mass", "value"), [(lambda m: m == 2, 2), (lambda m: m <= 2, 0), (lambda m: m >= 2, 2)]
)
def test_a_measure_of_any_mass_may_be_none(mass, value):
    program = sd.MeasureProgram()
    mu = program.measure([x])
    answer = program.require(mass(mu(1))).minimize(mu((x**2 - 2) ** 10 + 1))
    assert answer.certified_bound is None or answer.certified_bound <= value
    assert answer.status != "optimal" or answer.bound == pytest.approx(value, abs=1e-5)
