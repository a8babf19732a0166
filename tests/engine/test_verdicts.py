"""A ray in floats is no verdict: what is said of programs without an optimum is proven, or `inaccurate`."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation import candidate, ladder
from sosdp.relaxation.certify import without_optimum
from sosdp.relaxation.certify.leading_form import descends_without_bound
from sosdp.relaxation.steps import exact, first
from tests.fuzz.verdicts import answering

x, y, z = sd.variables("x y z")
c, d = sd.variables("c d")
NEAR = "that could not be proven"
LATE = "the time limit ended before it could be proven"


def endless_coefficients(**options):
    return sd.SosProgram([c]).require(x**2 + 3 * c).maximize(c, **options)


def no_coefficients(**options):
    return sd.SosProgram([c]).require(-(x**2) - c).maximize(c, **options)


def endless_measure(**options):
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x >= 0), mass=1)
    return program.maximize(mu(x**2), **options)


def endless_relaxation(**options):
    return sd.minimize(-(x**2), sd.System(x >= 0), **options)


CLAIMS = [
    (endless_coefficients, "unbounded"),
    (no_coefficients, "infeasible"),
    (endless_measure, "unbounded"),
    (endless_relaxation, "unbounded"),
]


@pytest.mark.parametrize("ask, status", CLAIMS)
def test_what_is_proven_is_said(ask, status):
    result = ask()
    assert result.status == status
    assert ask is not no_coefficients or "at this degree" in result.reason


@pytest.mark.parametrize("ask, status", CLAIMS)
def test_a_ray_without_a_proof_is_no_verdict(ask, status, monkeypatch):
    monkeypatch.setattr(exact, "is_unbounded", lambda *given: False)
    monkeypatch.setattr(exact, "is_dual_infeasible", lambda *given: False)
    monkeypatch.setattr(without_optimum, "refute", lambda *given: None)
    result = ask()
    assert result.status == "inaccurate" and NEAR in result.reason
    assert math.isnan(result.bound) and result.certified_bound is None


@pytest.mark.parametrize("ask, status", CLAIMS)
def test_past_the_time_limit_nothing_is_decided_by_floats(ask, status, monkeypatch):
    """Nor is a proof begun: these would be found at once."""
    monkeypatch.setattr(exact, "is_unbounded", lambda *given: True)
    monkeypatch.setattr(exact, "is_dual_infeasible", lambda *given: True)
    monkeypatch.setattr(candidate, "time", SimpleNamespace(perf_counter=lambda: 1e300))
    result = ask(time_limit=100)
    assert result.status == "inaccurate" and LATE in result.reason


def proving_nothing(monkeypatch):
    """Refutations prove the value 0, which refutes nothing."""
    refute = without_optimum.refute
    monkeypatch.setattr(without_optimum, "refute", lambda *given: replace(refute(*given), value=Fraction(0)))
    for name in ("is_unbounded", "is_dual_infeasible", "find_point"):
        monkeypatch.setattr(exact, name, lambda *given: False)


def test_a_refutation_that_proves_nothing_is_none(monkeypatch):
    assert sd.feasible([x >= 1, x <= 0]).status == "infeasible"
    proving_nothing(monkeypatch)
    assert sd.feasible([x >= 1, x <= 0]).status == "inaccurate"


def test_a_direction_that_is_not_proven_improves_nothing(monkeypatch):
    proving_nothing(monkeypatch)
    assert endless_coefficients().status == "inaccurate"


def test_coefficients_without_end_are_proven_on_the_boundary_and_of_rounded_numbers():
    """In exact arithmetic where equations hold between coefficients, by multipliers where numbers are not
    floats."""
    programs = (
        sd.SosProgram([c, d]).require(c + x**2).require_zero((d - c) * x),
        sd.SosProgram([c, d]).require(c * x**2 + d * x).require(1 - d),
        sd.SosProgram([c], symmetries=[{x: y, y: x}]).require(
            (x**2 + y**2) * c + x * y + 1, x**2 + y**2 <= Fraction(10**20 + 1, 3**40)
        ),
        # moved to the end of the half line, the numbers are long: only those given are found again
        sd.SosProgram([c]).require(-(x**3) * Fraction(1, 7) - c, [x >= 123456 + Fraction(1, 7)]),
    )
    assert [p.maximize(c).status for p in programs] == ["unbounded"] * 3 + ["infeasible"]


def test_a_ray_has_no_values():
    """The arrays of a ray are neither coefficients nor moments."""
    saved = exact.is_unbounded
    exact.is_unbounded = lambda *given: False
    try:
        result, law = endless_coefficients(), endless_measure()
    finally:
        exact.is_unbounded = saved
    assert not result.values and law.laws[0].moments is None


def test_measures_that_do_not_exist_are_not_unbounded():
    """A direction without end, and no measure to start from."""
    program = sd.MeasureProgram()
    mu = program.measure([x, y], on=sd.System(y >= 0))
    program.require(mu(1) == 1, mu(y) == -1)
    assert program.maximize(mu(x**2)).status in ("infeasible", "inaccurate", "failed")
    endless = sd.SosProgram([c, d]).require(d + x**2).require(-(x**2) - c)
    assert endless.maximize(d).status == "infeasible"


def constant(number):
    """A backend that solves everything by one number."""

    def answer(solve, program, **options):
        result = solve(program, **options)
        x, s, z = (np.full_like(v, number) for v in (result.x, result.s, result.z))
        return replace(result, status="optimal", x=x, s=s, z=z, value=float(program.q @ x))

    return answer


def impossible_measure():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x**2 <= 4), mass=1)
    program.require(mu(x) == 3)
    return program.minimize(mu(x**2))


NOTHING = {
    "relaxation": (0.0, lambda: sd.minimize(2 * x**2 + 1, solver="clarabel")),
    "coefficients": (1.0, lambda: sd.SosProgram([c]).require(x**2 + c).maximize(c)),
    "measures": (0.0, impossible_measure),
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_no_optimum(name):
    """Multipliers that prove too little, and moments that are none but agree with them."""
    number, ask = NOTHING[name]
    with answering(constant(number)):
        # our own method, which no backend answers for, proves that coefficients have no largest
        assert ask().status in ("inaccurate", "failed", *(["unbounded"] if name == "coefficients" else []))


def possible_measure():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x**2 <= 4), mass=1)
    return program.minimize(mu((x - 1) ** 2 + 1))


@pytest.mark.parametrize(
    "ask",
    [possible_measure, lambda: sd.SosProgram([c]).require((x - 1) ** 2 + 1 - c).maximize(c)],
)
def test_a_proven_point_is_not_the_best(ask, monkeypatch):
    """Multipliers that prove a hundredth less, and honest moments, which say that there is better."""
    assert ask().status == "optimal"
    solve = first.solve_program

    def weaker(program, **options):
        result, identity = solve(program, **options), program.identity
        gram, less = result.gram.copy(), 0.01 * result.unknowns
        gram[0] -= float((identity.unknown.T @ less)[identity.constant_column()])
        return replace(result, gram=gram, unknowns=result.unknowns - less)

    monkeypatch.setattr(first, "solve_program", weaker)
    monkeypatch.setattr(ladder, "STEPS", ())
    result = ask()
    assert result.status == "inaccurate" and result.certified_bound == pytest.approx(0.99, abs=1e-4)


def test_numbers_that_are_none_are_a_failed_answer():
    touching = [((x - 1) ** 2).equals(0), y**2 <= 1]
    with answering(constant(np.nan)):
        for ask in (impossible_measure, endless_coefficients, lambda: sd.minimize(x + y, touching, 4)):
            assert ask().status in ("failed", *(["unbounded"] if ask is endless_coefficients else []))


def test_many_threads_at_once():
    """Variables declared and programs solved side by side."""

    def ask(k):
        u, v = sd.variables(f"thread{k % 7}_u thread{k}_v")
        answer = sd.minimize(u**2 + (v - k) ** 2 - u, [u**2 <= 1, v**2 <= (k + 1) ** 2])
        return answer.status, answer.bound, float(answer(v)), str(u)

    with ThreadPoolExecutor(8) as pool:
        known = list(pool.map(ask, range(24)))
    for k, (status, bound, at, name) in enumerate(known):
        assert (status, name) == ("optimal", f"thread{k % 7}_u")
        assert bound == pytest.approx(-0.25, abs=1e-5) and (at - k) ** 2 < 1e-5


def test_a_program_on_an_empty_set_is_unbounded_only_where_it_has_coefficients():
    """y has no bound that sums of squares show, though no point is left."""
    answer = sd.SosProgram(c).require(y - c, sd.System(x >= 1, x <= 0)).maximize(c)
    assert answer.status not in ("unbounded", "optimal")
    assert sd.SosProgram(c).require(x - c, sd.System(x >= 1, x <= 0)).maximize(c).status == "unbounded"


def test_a_matrix_of_zeros_says_nothing():
    x = sd.variables("x")
    answer = sd.minimize(x, [sd.PSD([[0 * x, 0 * x], [0 * x, 0 * x]]), x >= 0])
    assert answer.status == "optimal" and answer.bound == pytest.approx(0, abs=1e-6)


def missed_by_signs(n, weights, gap=Fraction(1, 10**9)):
    """Signs and an inequality that all of them miss by ``gap``, and an objective."""
    z = sd.variables("z", n)
    given = sum(w * v for w, v in zip(weights, z, strict=True))
    return sum((-1) ** k * v for k, v in enumerate(z)), [
        *(v**2 == 1 for v in z),
        given >= sum(map(abs, weights)) + gap,
    ]


@pytest.mark.parametrize(
    ("n", "degree", "status"),
    [
        (2, 2, "infeasible"),
        (5, 2, "infeasible"),
        (4, 4, "infeasible"),
        (3, 6, "infeasible"),
        pytest.param(6, 4, None, marks=pytest.mark.slow),
    ],
)
def test_signs_that_miss_an_inequality_by_next_to_nothing(n, degree, status):
    """They were `optimal`: moments miss by 1e-9 what solvers miss anyway. Many digits refute them, and of a
    finite set that is almost too large for these it is known at least that none of its points was found."""
    for weights in ([1] * n, [Fraction(31 * k + 7, 90 - k) * (-1) ** k for k in range(n)]):
        answer = sd.minimize(*missed_by_signs(n, weights), degree=degree)
        assert answer.status in ((status,) if status else ("inaccurate", "infeasible"))
        met = sd.minimize(*missed_by_signs(n, weights, 0), degree=degree)
        assert met.status == "optimal" and met.bound == pytest.approx(
            sum((-1) ** k * math.copysign(1, w) for k, w in enumerate(weights)), abs=1e-5
        )


def test_moments_of_a_set_without_points_are_an_optimum():
    """No signs have the sum 1/2, which degree 2 does not see: the moments are proven."""
    z = sd.variables("z", 3)
    assert (
        sd.minimize(z[0], [*(v**2 == 1 for v in z), sum(z) == Fraction(1, 2)], degree=2).status == "optimal"
    )


def test_no_polynomial_that_is_bounded():
    rng = np.random.default_rng(1)
    for _ in range(60):
        a = rng.integers(-4, 5, size=(2, 3))
        units = [Fraction(10) ** int(k) for k in rng.integers(-12, 13, size=3)]
        forms = [sum(int(c) * u * v for c, u, v in zip(row, units, (x, y, z))) for row in a]
        assert not descends_without_bound(forms[0] ** 2 + forms[1] ** 2)
        assert not descends_without_bound((forms[0] ** 2 + forms[1]) ** 2)
    assert not descends_without_bound(sd.polynomial(-3)) and not descends_without_bound(0 * x)
    assert descends_without_bound(-1e300 * x**2 * y**2) and not descends_without_bound(1e-300 * x**2 * y**2)


def test_a_value_at_moments_without_end_is_no_optimum():
    """``x*y`` on ``x**2 <= 1`` was `optimal` at -4e14: no constraint has y, whose moments were believed."""
    x, y = sd.variables("x y")
    assert sd.minimize(x * y, [x**2 <= 1], degree=4).status in ("inaccurate", "unbounded", "failed")
    distant = sd.minimize((y - 10**5) ** 4 + x * y, [x**2 <= 1], degree=4)
    assert distant.status == "optimal" and distant.bound == pytest.approx(-100000.4724704, rel=1e-8)


@pytest.mark.parametrize(
    ("on", "status"),
    [
        ([x**2 <= 1], "unbounded"),
        ([(x**2 + y**2).equals(2), x + y >= 2], "unbounded"),
        ([sd.PSD([[1, x], [x, 1]])], "unbounded"),
        ([x**2 <= 1, x >= 1 + Fraction(1, 10**9)], "infeasible"),
    ],
)
@pytest.mark.parametrize("degree", [2, 4])
def test_a_variable_that_no_constraint_has_is_named(on, status, degree):
    result = sd.minimize(z + x, on, degree)
    assert result.status == status and (status == "infeasible" or "nothing limits z" in result.reason)


def two_measures_of_any_mass(program):
    on = sd.System(x**2 <= 9)
    m, n = program.measure([x], on=on), program.measure([x], on=on)
    return [
        m(x**2 - x) + n(-3 * x**2 - x - 3) >= -5,
        m(3 * x**2) + n(-(x**2) + 3 * x + 3) >= -1,
        m(5 * x**2 - 2 * x + 3) + n(2 * x**2 - x - 1) >= 11,
    ]


def large_moments(program):
    m = program.measure([x], on=sd.System(x**2 <= 9))
    return [m(x**2) == 1250000, m(x) == 100000]


def no_measures(program):
    """Half the first line and the second integrate 4096 (x**2 + y**2) - 9 - 8192 (x - y)**2 to 1/2."""
    m = program.measure([x, y], on=sd.System(4096 * (x**2 + y**2) <= 9))
    return [
        m(-320 * y - 2) >= 0,
        m(-4096 * x**2 + 16384 * x * y - 4096 * y**2 + 160 * y - 8) >= Fraction(1, 2),
    ]


@pytest.mark.parametrize(
    ("statement", "status"),
    [(two_measures_of_any_mass, "optimal"), (large_moments, "optimal"), (no_measures, "infeasible")],
)
def test_whether_there_are_measures_of_any_mass_is_decided(statement, status):
    """A yes or no has no value to miss, and inequalities alone may refute: exact arithmetic decides."""
    program = sd.MeasureProgram()
    program.require(statement(program))
    mu = program.measures[0]
    for result in (program.feasible(), program.minimize(mu(0 * x)), program.minimize(mu.mass)):
        assert result.status == status, result.reason
    result = program.feasible()
    assert np.isnan(result.bound) and result.certified_bound is None
    if status == "optimal":
        assert result.mass(mu) > 0 and str(status) in repr(result)


@pytest.mark.parametrize("mass", [1, 1000, Fraction(1, 1000), Fraction(10**20 + 1, 10**19)])
@pytest.mark.parametrize("missing", [0, Fraction(1, 10**7), Fraction(1, 10**9)])
def test_measures_that_are_refuted_by_next_to_nothing(mass, missing):
    """Floats do not tell a mean of 1 from one of 1 + 1e-9 on [-1, 1]; exact arithmetic does."""
    program = sd.MeasureProgram()
    mu, nu = (
        program.measure([x], on=sd.System(x * (1 - x) >= 0)),
        program.measure([y], on=sd.System(y**2 <= 1)),
    )
    program.require(mu.mass + nu.mass == mass, mu(x) >= mass * (1 + missing))
    for result in (program.feasible(), program.minimize(mu(0 * x)), program.minimize(nu(y) + mu(x))):
        assert result.status == ("infeasible" if missing else "optimal"), result.reason
    if not missing:
        exists, least = program.feasible(), program.minimize(mu(0 * x) + 2)
        masses = [exists.mass(mu), exists.mass(nu), exists(mu(x))]
        near = 1e-15 if Fraction(mass).denominator <= 1000 else 1e-6  # in exact arithmetic, or in floats
        assert masses == pytest.approx([float(mass), 0.0, float(mass)], abs=near)
        assert 2 - max(near, 1e-9) <= least.certified_bound <= least.bound <= 2 + max(near - 1e-9, 0)


@pytest.mark.parametrize("missing", [Fraction(1, 10**6), Fraction(1, 10**9), 0, -Fraction(1, 10**9)])
@pytest.mark.parametrize("shift", [0, 1000, Fraction(10**20 + 1, 10**19)])
def test_coefficients_that_are_refuted_by_next_to_nothing(shift, missing):
    """Floats do not tell c <= 1 and c >= 1 from c >= 1 + 1e-9; exact arithmetic does."""
    beyond = c - shift - 1
    for square, side in ((x**2 - 2 * x + 1 - beyond, beyond), ((beyond + 1) * x**2 + 2 * x + 1, -beyond)):
        program = sd.SosProgram([c]).require(square).require(side - missing)
        result = program.minimize(c)
        if missing > 0:
            assert result.status == "infeasible" and "at this degree" in result.reason
            assert result.values == {}
        else:
            assert result.status == "optimal" and result.bound == pytest.approx(shift + 1, abs=1e-5)


@pytest.mark.parametrize("missing", [Fraction(1, 10**8), Fraction(1, 10**10), -Fraction(1, 10**8)])
def test_measures_of_long_data_whose_refutation_is_on_a_face(missing):
    """The second moment on [0, 1] is free, so that no multiplier has a square: signs show it, not digits."""
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x >= 0.1, x <= 1.1))
    nu = program.measure([y], on=sd.System((y - 0.9) ** 2 <= 1))
    program.require(mu.mass == 0.6, mu(x - 0.1) == nu.mass, nu.mass >= Fraction(0.6) + missing)
    assert program.maximize(nu(y - 0.9)).status == ("infeasible" if missing > 0 else "optimal")


@pytest.mark.parametrize("missing", [Fraction(1, 10**9), 0, -Fraction(1, 10**9)])
@pytest.mark.parametrize("place", [0, 0.1, Fraction(10**20 + 1, 10**19)])
def test_a_square_that_is_none_by_next_to_nothing(place, missing):
    """Of a polynomial that has no unknown; the program has one, which moves nothing."""
    result = sd.SosProgram([c]).require((x - place) ** 2 - missing).feasible()
    assert result.status == ("infeasible" if missing > 0 else "optimal")


@pytest.mark.parametrize("unit", [1, Fraction(1, 10**8)])
def test_an_optimum_of_0_is_right_beside_its_units(unit):
    for more in (0, c):
        matrix = [[x**2 * unit + c, x * unit], [x * unit, unit + more]]
        result = sd.SosProgram([c]).require_psd(matrix).minimize(c)
        assert result.status == "optimal" and abs(result.bound) <= 1e-3 * unit


@pytest.mark.parametrize("factor", [1, Fraction(1, 1000), 1000])
def test_a_factor_of_an_identity_is_no_unit_of_its_unknowns(factor):
    matrix = [[(c - 1000) * factor, x * factor], [x * factor, (1 + x**2) * factor]]
    result = sd.SosProgram([c]).require_psd(matrix).minimize(c)
    assert result.status == "optimal" and result.bound == pytest.approx(1001, abs=1e-3)


def test_a_point_is_looked_for_where_nothing_is_known_of_its_variables():
    result = sd.minimize(x * y + 3, [x * y == 2])
    assert result.status == "optimal" and result.certified_bound == pytest.approx(5, abs=1e-7)
