"""What cannot be done is refused at once, in one line; nothing is dropped silently."""

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sympy

import certificates
import sosdp as sd
from sosdp.conic.program import ProblemTooLarge
from sosdp.relaxation.assemble.sizes import monomial_count
from tests.refusals import each, refusals, refuse

x, y = sd.variables("x y")
S = sd.System
B = sd.variables("b", 60)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sd.minimize(x**2 * y**2 + x * y, S(), 10**9),
        lambda: sd.minimize(x**2 * y**2 + x * y, S(x * y <= 1), 200),
        lambda: sd.minimize(sum(sd.variables("z", 200)) ** 2, S(), 4),
        lambda: sd.feasible(S(sum(sd.variables("z", 200)) ** 2 == 1), 4),
        lambda: sd.minimize(sum(B) ** 2, S([b * b == b for b in B]), 8),
    ],
)
def test_sizes_are_estimated_before_anything_is_enumerated(ask):
    started = time.process_time()
    refuse((lambda: ask(), "side|multiples", ProblemTooLarge))
    assert time.process_time() - started < 5


def test_the_number_of_monomials():
    assert monomial_count(3, 0, 4) == 35
    assert monomial_count(0, 4, 2) == 1 + 4 + 6
    assert monomial_count(1, 2, 2) == 3 + 2 * 2 + 1


def test_large_powers_have_a_budget():
    refuse((lambda: (x + y + 1) ** 1000, "too large"))
    assert ((x + y + 1) ** 60).coefs.size == 1891


def test_an_unknown_does_not_describe_a_set():
    (c,) = sd.variables("c", 1)
    refuse((lambda: sd.SosProgram([c]).require(x**2 - c, on=S(x <= c)), "c0 is an unknown"))


@pytest.mark.parametrize(
    "options",
    [{"tolerance": "1e-8"}, {"prune": "no"}, {"solver": ["scs"]}, {"time_limit": True}, {"cone": None}],
)
def test_option_values_are_checked(options):
    refuse((lambda: sd.minimize(x**2, S(), 2, **options), next(iter(options))))


def test_other_things_are_no_polynomials():
    refuse((lambda: x + sympy.Function("f")(sympy.Symbol("x")), "not a polynomial"))
    for objective, on in (("1e400*x", x**2 <= 1), ("x", x <= 10**400), ("x", 10**400 * x <= 1)):
        for ask in (sd.minimize, sd.maximize):
            with pytest.raises(ValueError, match="too large for a float"):
                ask(sd.polynomial(objective), S(on, x >= 0), 2)
    relax = sd.Relaxation(S(x**2 <= 4), 2)
    refuse(
        # of a dual with one over it
        (lambda: relax.minimize(relax.E(x) + Fraction(1, 10**400) * relax.E(x) ** 2), "too large for a float")
    )
    assert sd.minimize(x, S(sd.polynomial("1e-400*x**2 - 1e-400") == 0), 2).certified_bound <= -1
    assert sd.minimize(0, S(x**2 <= 1), 2).status == "optimal"


def test_numbers_beyond_a_solver_are_a_failed_answer():
    """Found from outside: a panic of the borrowed solver, its ValueError, and overflows of our own."""
    a, b = sd.variables("a b")
    system = sd.System(a**2 + b**2 <= 1, sd.PSD([[a - 2, b], [b, -2]]))
    relax = sd.Relaxation(system, 2)
    answer = relax.minimize(relax.E(sd.polynomial(-1e308)), subject_to=[relax.E(a**2) >= 0])
    assert answer.certified_bound is None
    assert sd.maximize(sd.polynomial(1e200), sd.System(), solver="scs").status in (
        "optimal",
        "inaccurate",
        "failed",
    )
    small = sd.System(1e-200 * a >= 0, a <= 1e-200, a >= -1e-200)
    assert sd.minimize(a, small, 2, redundant="ball").status in ("optimal", "inaccurate", "failed")
    sd.prove_sos(-1e308 * a**2 * b**2 + 4.0, sd.System(1e200 * a * b - 2.0 * b >= 1))
    for name, value in [("tolerance", 10**400), ("time_limit", 10**400), ("tolerance", float("inf"))]:
        with pytest.raises(ValueError, match=name):
            sd.minimize(a**2, sd.System(), **{name: value})


def test_what_other_threads_write_during_a_solve_is_kept(capfd):
    import os

    from sosdp.conic.breakdown import STANDARD_ERROR, Breakdown, call
    from sosdp.conic.program import Cones, ConicProgram

    program = ConicProgram(np.ones(1), sp.csc_matrix([[1.0]]), np.ones(1), Cones(nonnegative=1))
    call("solver", program, lambda: os.write(2, b"kept\n"), STANDARD_ERROR)
    assert capfd.readouterr().err == "kept\n"

    def breaks():
        os.write(2, b"a trace\n")
        raise ValueError("no luck\nat all")

    refuse(
        (
            lambda: call("solver", program, breaks, STANDARD_ERROR),
            r"solver broke down \(no luck\); take other units",
            Breakdown,
        )
    )
    assert capfd.readouterr().err == ""


def test_a_callback_sees_the_stages_and_may_stop_the_work():
    a = sd.polynomial("a")
    seen = []
    answer = sd.minimize(
        a**2, sd.System(a <= 3), callback=lambda stage, seconds: seen.append((stage, seconds))
    )
    assert [stage for stage, _ in seen] == ["build", "solve", "certify"]
    assert answer.status == "optimal" and sorted(s for _, s in seen) == [s for _, s in seen]

    class Enough(Exception):
        pass

    z = sd.complex_variables("z")
    measures = sd.MeasureProgram()
    mu = measures.measure([a], on=sd.System(a**2 <= 1))

    def stop(stage, seconds):
        if stage == "solve":
            raise Enough

    refuse(
        *each(
            lambda ask: ask(),
            (
                lambda: sd.minimize(a**2, sd.System(), callback=stop),
                lambda: sd.prove_sos(a**2 + 1 - a, sd.System(a >= 0), callback=stop),
                lambda: (
                    sd.SosProgram([sd.polynomial("u")])
                    .require(a**2 - sd.polynomial("u"))
                    .maximize(sd.polynomial("u"), callback=stop)
                ),
                lambda: sd.minimize(z + z.conj(), [1 - z * z.conj() >= 0], callback=stop),
                lambda: measures.minimize(mu(a**2), callback=stop),
            ),
            None,
            Enough,
        ),
        (lambda: sd.minimize(a**2, sd.System(), callback=3), "callback"),
    )


def test_points_where_a_bound_in_chebyshev_coefficients_is_attained():
    answer = sd.minimize(sd.chebyshev(x, 60), x**2 <= 1)
    truth = np.cos(np.pi * np.arange(59, 0, -2) / 60)
    assert answer.atoms_reason == "" and np.abs(answer.atoms()[:, 0] - truth).max() < 1e-6
    assert (
        np.abs(sd.minimize(sd.chebyshev(x, 2) + 1e-308 * sd.chebyshev(x, 4), x**2 <= 1).atoms()).max() < 1e-9
    )
    for tilted in (sd.chebyshev(x, 1), 10**9 + sd.chebyshev(x, 2) + sd.chebyshev(x, 1) * Fraction(1, 1000)):
        assert sd.maximize(tilted, x**2 <= 1).atoms().tolist() == [[1.0]]
    two = sd.minimize(sd.chebyshev(x, 2) + sd.chebyshev(y, 2), sd.System(x**2 <= 1, y**2 <= 1))
    assert two.atoms().shape == (0, 2) and "one variable" in two.atoms_reason
    for bound in (answer, sd.minimize_trigonometric([0, 1])):
        assert certificates.extract(bound).exact().verify()


@pytest.mark.parametrize(
    "system",
    [S(x**2 == -1), S(x**3 == x, y**2 == 2), S(x**2 == 1, y**2 == 1, x * y == 0)],
    ids=["one", "two", "contradicting"],
)
def test_a_degree_beyond_what_the_rules_leave_costs_nothing(system):
    """No power survives from the highest rule on, so that an enormous degree is a small one, or refused."""
    try:
        answer = sd.minimize(x, system, 10**9)
    except ProblemTooLarge:
        return
    assert answer.status in ("optimal", "infeasible") and answer.degree == 10**9
    small = sd.minimize(x, system, 6)
    assert answer.status == small.status and answer.bound == pytest.approx(small.bound, nan_ok=True, abs=1e-6)


test_tables_of_chebyshev_coefficients_that_no_memory_holds_are_refused = refusals(
    (lambda: sd.minimize(sd.chebyshev(x, 3), S(1 - x**2 >= 0), 10**9), "degree 1000000000", ProblemTooLarge)
)


@pytest.mark.parametrize(
    ("box", "degree", "known"),
    [
        ({x: (y - 2, 2)}, 4, "two numbers"),
        ({x: (-2,)}, 4, "two numbers"),
        ({x: 3}, 4, "two numbers"),
        ({x: (-(10**400), 1)}, 4, "too large for a float"),
        ({x: (-2, 2)}, 10**9, "would have side"),
        ({x: (-2, 2)}, 0, "an integer >= 1"),
    ],
)
def test_a_volume_that_means_nothing_is_refused(box, degree, known):
    """An interval that began at y - 2 was one that began at -2."""
    refuse((lambda: sd.volume(S(x**2 <= 1), box, degree), known, (ValueError, ProblemTooLarge)))


def test_numbers_too_long_to_be_written_out_are_refused():
    refuse(*each(lambda text: sd.polynomial(Decimal(text)), ("1e999999999", "-1e-999999999"), "exponent"))
    assert sd.polynomial(Decimal("1e-500")) * 10**500 == 1


@pytest.mark.parametrize("place", ["mass", "right side", "constant", "coefficient", "mass's coefficient"])
def test_numbers_of_measures_beyond_all_floats_are_refused(place):
    program, huge = sd.MeasureProgram(), 10**400
    mu = program.measure([x], on=S(x**2 <= 1), mass=huge if place == "mass" else 1)
    program.require(mu(x) * (huge if place == "coefficient" else 1) >= (huge if place == "right side" else 0))
    program.require(mu.mass * (huge if place == "mass's coefficient" else 1) <= 2)
    refuse((lambda: program.minimize(mu(x) + (huge if place == "constant" else 0)), "too large for a float"))
