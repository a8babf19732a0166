"""What is remembered of a structure changes no answer: 500 random programs, asked with and without it."""

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation import ladder
from sosdp.relaxation.assemble import structure
from tests.refusals import refuse

x, y, z = sd.variables("structure_x structure_y structure_z")
MONOMIALS = [x, y, x * y, x**2, y**2, x**3, x * y**2, x**2 * y, sd.polynomial(1)]
SETS = [
    [],
    [x**2 <= 1, y**2 <= 1],
    [x**2 + y**2 <= 4],
    [x**2 + y**2 + x * y == 1],
    [x**2 == 1, y**2 == 1],
    [x**2 == x],
    [x * y == 0],
    [(x - 2000) * (2001 - x) >= 0, (y - 300) * (301 - y) >= 0],
    [sd.PSD([[1, x], [x, y]]), y <= 2],
    [x >= 0, y >= 0, x + y <= 1],
    [x**2 + y**2 <= Fraction(1, 3)],
    [z**2 + x**2 + y**2 <= 1],
]


def objectives(rng, count):
    """Quartics whose coefficients are often 0, equal, fractions, or of other sizes."""
    for _ in range(count):
        numbers = rng.normal(size=len(MONOMIALS)) * 10.0 ** rng.integers(-3, 4)
        numbers *= rng.random(numbers.size) < rng.choice([0.3, 0.6, 1.0])
        if rng.random() < 0.3:  # symmetric
            numbers[1], numbers[4], numbers[7] = numbers[0], numbers[3], numbers[6]
            numbers[5:7] = 0
        coefs = [Fraction(c).limit_denominator(30) if rng.random() < 0.2 else float(c) for c in numbers]
        lead = float(rng.choice([1.0, 2.5]))
        yield lead * (x**4 + y**4) + sum(c * m for c, m in zip(coefs, MONOMIALS, strict=True) if c)


def facts(result):
    """All that an answer says, in numbers."""
    moments = None if result.moments is None else result.moments.tobytes()
    return result.status, result.bound, result.certified_bound, result.iterations, moments, result.reason


def alone(p, system, **options):
    structure.forget()
    return sd.minimize(p, system, **options)


@pytest.mark.parametrize("cone", ["dsos", "sdsos"])
def test_many_programs_in_smaller_cones(cone):
    relax = sd.Relaxation([x**2 <= 1, y**2 <= 1], 4, cone=cone)
    wanted = [x**2 - y**2 + 3, x**2 - 2 * y**2, 3 * x**2 - y**2]
    assert relax.minimize_many(wanted).bounds.tolist() == [relax.minimize(p).bound for p in wanted]


def test_answers_do_not_depend_on_what_is_remembered():
    wanted = [
        (p, SETS[k % len(SETS)], {"symmetry": "auto"} if k % 7 == 3 else {})
        for k, p in enumerate(objectives(np.random.default_rng(34), 60))
    ]
    structure.forget()
    together = [str(facts(sd.minimize(p, system, **o))) for p, system, o in wanted]
    assert together == [str(facts(alone(p, system, **o))) for p, system, o in wanted]


@pytest.mark.parametrize("terms", [(-1, Fraction(-5, 6)), (Fraction(1, 10), Fraction(2, 10))])
def test_terms_that_rules_merge_are_added_exactly(terms):
    """Those of a known structure were added in floats, and the sum was not said to be rounded."""
    system = [x**2 == x, y**2 == y]
    p = terms[0] * x**2 + 3 * x * y + y**2 + terms[1] * x + y / 3
    expected = str(facts(alone(p, system, degree=4)))
    alone(2 * x**2 + 3 * x * y + y**2 + x + y, system, degree=4)
    assert str(facts(sd.minimize(p, system, degree=4))) == expected


def test_a_new_solver_answers_as_one_that_was_kept():
    """Clarabel scales the right side of a new program in other steps than that of a known one."""
    p = -89.56409003895887 * x**2 * y + 2068.863622015453 * y**2 + 8.516509530957971e-12 * x**4
    p = p - 2.2170405585565333e-13 * y**3 - 3.797431728930578e-13 * x**2 * y**2
    assert str(facts(alone(p, SETS[9]))) == str(facts(sd.minimize(p, SETS[9])))


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ([x**2 <= 1, y**2 <= 2], [x**2 <= 3, y**2 <= Fraction(1, 3)]),
        ([x + y <= 1, x**2 + y**2 <= 4], [3 * x + y <= 2, x**2 + y**2 <= 1]),
        ([x * y == 1, x**2 + y**2 <= 4], [x * y == 1, x**2 + 2 * y**2 <= 9]),
        ([sd.PSD([[1, x], [x, y]]), y <= 2], [sd.PSD([[2, x], [x, y]]), y <= 1]),
    ],
)
def test_other_numbers_of_a_set_plan_nothing(first, other, monkeypatch):
    p = x**4 + y**4 - 3 * x * y + x
    expected, before = facts(alone(p, other)), facts(alone(p, first))
    monkeypatch.setattr("sosdp.relaxation.statement.plan", None)
    assert str(facts(sd.minimize(p, other))) == str(expected) != str(before)


def test_what_is_part_of_a_structure():
    """Zeros, numbers of the set, its kinds of constraints, degrees and options are told apart."""
    p, ball = x**4 + y**4 + x * y + x, x**2 + y**2
    programs = [
        (p, [ball <= 1], {}),
        (p - x, [ball <= 1], {}),
        (p, [ball <= 2], {}),
        (p, [ball == 1], {}),
        (p, [ball >= 1], {}),
        (p, [ball <= 1], {"degree": 6}),
        (p, [ball <= 1], {"cone": "sdsos"}),
        (p, [x <= 1, y <= 1, ball <= 1], {"products": "schmudgen"}),
        (-p, [x <= 2, y <= 3, ball <= 4], {"products": "schmudgen"}),
        (-p, [x <= 1, y <= 1, ball <= 1], {"products": "schmudgen"}),
        (p, [x <= 1, y <= 1, ball <= 1], {}),
        (p, [sd.PSD([[1, x], [x, 1]]), y**2 <= 1], {}),
        (p, [sd.PSD([[1, x], [x, 2]]), y**2 <= 1], {}),
    ]
    separate = [str(facts(alone(q, system, **options))) for q, system, options in programs]
    structure.forget()
    for _ in range(2):
        assert [str(facts(sd.minimize(q, system, **o))) for q, system, o in programs] == separate
    refuse((lambda: sd.minimize(x, [x**2 <= 1], True), "integer"))


def test_squares_of_expectations_are_no_inequalities():
    """E[x**2 - 4 x] + E[x - 1]**2 has the parts that x**2 - 4 x on x >= 1 has, as other things."""
    p, relax = x**2 - 4 * x, sd.Relaxation([], 2)
    squared = relax.E(p) + sd.sum_squares([relax.E(x - 1)])
    for _ in range(2):
        structure.forget()
        assert relax.minimize(squared).bound == pytest.approx(-3.5, abs=1e-6)
        assert sd.minimize(p, [x - 1 >= 0], 2).bound == pytest.approx(-4, abs=1e-5)
        assert relax.minimize(squared).bound == pytest.approx(-3.5, abs=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("system", SETS[:4] + SETS[7:8])
def test_many_bounds_are_those_of_single_calls(system):
    relax = sd.Relaxation(sd.System(system), 4)
    wanted = [
        *objectives(np.random.default_rng(0), 6),
        x**4 + y**4,
        *([x**2 - y, sd.polynomial(3)] if system else []),
    ]
    result = relax.minimize_many(wanted)
    for k, p in enumerate(wanted):
        expected = facts(relax.minimize(p))[:3]
        assert (result.status[k], result.bounds[k], result.certified_bounds[k]) == expected
        assert not expected[2] > expected[1]
    assert result[-1].bound == result.bounds[-1] and len(result) == len(wanted)


@pytest.mark.parametrize("number", range(len(SETS)))
def test_what_is_taken_together_is_as_alone(number, monkeypatch):
    """Bit for bit, of objectives of one structure and of all sizes; few of them take the first step alone,
    but where variables are moved or multiples of equations subtracted."""
    system, alone_first = SETS[number], []
    rng, relax = np.random.default_rng(number), sd.Relaxation(sd.System(system), 4)
    numbers = rng.normal(size=(7, len(MONOMIALS))) * 10.0 ** rng.integers(-2, 1, size=(7, 1))
    leads = [1.0, 2.5, 30.0, 1.0, 0.7, 1.0, 0.2]
    thirds = [float, lambda c: Fraction(c).limit_denominator(10**6)]
    wanted = [
        lead * (x**4 + y**4) + sum(thirds[k % 2](c) * m for c, m in zip(row, MONOMIALS, strict=True))
        for k, (lead, row) in enumerate(zip(leads, numbers.tolist(), strict=True))
    ]
    structure.forget()
    expected = np.array([facts(relax.minimize(p))[1:3] for p in wanted], dtype=float)
    structure.forget()
    first = ladder.first
    monkeypatch.setattr(ladder, "first", lambda state: (alone_first.append(state.statement), first(state))[1])
    result = relax.minimize_many(wanted)
    assert np.array([result.bounds, result.certified_bounds]).T.tobytes() == expected.tobytes()
    own = [s for s in alone_first if s.kind == "bound"]
    assert len(own) <= 3 or number in (3, 6, 7)


def test_what_is_certified_of_many_is_true():
    """Minima that are known exactly, of coefficients that no float is: none is exceeded."""
    thirds = [Fraction(k, 3) for k in range(1, 40, 3)]
    result = sd.Relaxation([], 4).minimize_many([(x - a) ** 4 + (y**2 - a) ** 2 + a for a in thirds])
    assert (result.status == "optimal").all()
    for a, proven in zip(thirds, result.certified_bounds, strict=True):
        assert Fraction(float(proven)) <= a


def test_options_of_many_nothing_and_too_much():
    relax = sd.Relaxation([x**2 <= 1, y**2 <= 1], 4)
    result = relax.minimize_many([x, x**4 - y], certify_bound=False)
    assert np.isnan(result.certified_bounds).all() and (result.status == "optimal").all()
    assert repr(result) == "Bounds(2 objectives: 2 optimal)" and len(relax.minimize_many([])) == 0
    free = relax.minimize_many([x, sd.variables("structure_free")])  # which no constraint has
    assert repr(free) == "Bounds(2 objectives: 1 optimal, 1 unbounded)"
    refuse(
        (lambda: relax.minimize_many([x**2, x**6]), "degree"),
        (lambda: result[2], None, IndexError),
    )


def test_many_are_bounded_by_the_method_that_suits_them():
    """Cuts of 45 signs by the low-rank method; with a time limit one program after the other."""
    v = sd.variables("structure_v", 45)
    relax, rng = sd.Relaxation([s**2 == 1 for s in v], 2), np.random.default_rng(1)
    wanted = [
        sum(float(w) * v[i] * v[i - k] for k in (1, 7) for i, w in enumerate(row))
        for row in rng.normal(size=(2, 45))
    ]
    result = relax.minimize_many(wanted, solver="low_rank")
    assert (result.status == "optimal").all() and (result.certified_bounds <= result.bounds).all()
    assert result[1].bound == pytest.approx(result.bounds[1], rel=1e-6)
    box = sd.Relaxation([x**2 <= 1], 2)
    assert box.minimize_many([x, 2 * x + x**2], time_limit=9.0).bounds == pytest.approx([-1, -1], abs=1e-6)


@pytest.mark.slow
def test_the_first_of_many_is_answered_once():
    """Where its answer stayed inaccurate, it climbed once more from there, to another number."""
    given = [y / 10 >= (10 * x) ** 2, z >= (y / 10) ** 2, 10 * x >= 2, 10 * x <= 300]
    relax = sd.Relaxation(sd.System(given), 2)
    wanted = [
        4 * 10**11 * x**2 + Fraction(8, 10**14) * y**2 + 6 * 10**8 * y + Fraction(1, 3),
        2 * 10**8 * x**2 + Fraction(8, 10**11) * y**2 + Fraction(7, 10**9) * y + 10**9,
    ]
    alone = relax.minimize(wanted[0])
    together = relax.minimize_many(wanted)
    assert (together.status[0], together.bounds[0]) == (alone.status, alone.bound)
    assert together[0].bound == alone.bound
