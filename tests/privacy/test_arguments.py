"""Public numbers of numpy are what they are: nothing wraps around, and no record shows their type."""

import math
import warnings
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy

from sosdp.estimator.field import budget
from sosdp.laboratory.domain import Domain
from sosdp.privacy.arguments import finite, integer, interval, positive
from sosdp.privacy.calibrate import between, check_epsilon, check_positive
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.mechanisms import above_threshold, bounded_average, interior_point, private_quantile
from sosdp.privacy.mechanisms.basic.columns import private_mean
from sosdp.privacy.mechanisms.basic.sparse_vector import SparseVector
from sosdp.privacy.mechanisms.output_perturbation import (
    ProjectionProgram,
    StrongConvexProgram,
    release_symmetric,
    release_vector,
)
from sosdp.privacy.scores.levels import level_sensitivity, rational_base
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.score import cube
from sosdp.privacy.verification.release_check import check_release
from tests.refusals import each, refuse

SMALL = (np.uint8, np.int16, np.int64, np.float32, np.longdouble)


@pytest.fixture(autouse=True)
def no_overflow():
    """A warning of numpy's is a failure: it is what is left of a number that wrapped around."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("monotone", [False, True])
def test_a_sparse_vector_adds_the_noise_of_all_its_answers(monotone):
    for count in (np.uint8(129), np.int8(100), np.uint8(255)):
        given = {"epsilon": 1.0, "insecure_seed": 1, "monotone": monotone}
        seen, wanted = (SparseVector(5, positives=c, **given) for c in (count, int(count)))
        assert seen._scale == wanted._scale and seen.evidence == wanted.evidence
    release = above_threshold([0] * 3, 5, positives=np.uint8(129), epsilon=1.0)
    assert check_release(release.to_dict()).status == "valid"


def test_a_group_is_promised_the_square_of_its_size():
    one = Guarantee(epsilon=1.0, delta=1e-9, rho=0.5, adjacency="one record (replace)")
    for size in (np.uint8(17), np.int8(17), np.int64(17)):
        assert one.for_group(size).to_dict() == one.for_group(17).to_dict()
    three = Guarantee(epsilon=1.0, delta=0.0, rho=0.5, adjacency="3 records (replace)")
    assert three.for_group(np.uint8(100)).adjacency == "300 records (replace)"
    refuse(*each(one.for_group, (0, 1.5, True, np.float64(2.0)), "the size of a group"))


def test_a_minimiser_moves_by_its_lipschitz_constant():
    for kind in SMALL:
        moved = StrongConvexProgram(kappa=0.5, lipschitz=kind(200)).sensitivity()
        assert moved == 400.0
        moved = StrongConvexProgram(kappa=kind(1), fixed_set=False, alpha=kind(200), radius=kind(200))
        assert moved.sensitivity() == StrongConvexProgram(1.0, False, 200.0, 200.0).sensitivity()
    for low, high in ((np.int8(-100), np.int8(100)), (np.float32(-100), np.longdouble(100))):
        made = ProjectionProgram(shift_l1=np.uint16(200), low=low, high=high)
        assert made.sensitivity() == 200.0
    # more digits than a float has are rounded up, not to the nearest
    third = np.longdouble(1) / 3
    exact = Fraction(*third.as_integer_ratio())
    assert Fraction(StrongConvexProgram(kappa=1.0, lipschitz=third).sensitivity()) >= exact


def test_levels_have_the_sensitivity_of_their_score():
    for kind in SMALL:
        assert level_sensitivity(kind(200), 100, 1) == 300
        score = BracketScore(
            lambda data, candidate: (0, 0),
            cube(kind(1), kind(3), 1),
            5,
            largest=kind(200),
            proof=Fact("public"),
            sensitivity=kind(200),
            width=kind(100),
            quantum=kind(1),
        )
        assert score.sensitivity == 300 and score.max_level == 200
    assert rational_base(1.0, np.uint8(200)) == rational_base(1.0, 200)


HOSTILE = (50.0, 0.001, 1e-30, 1e300, 10**30, Fraction(1, 10**40), math.nan, "x")


def test_no_record_decides_whether_a_release_raises():
    table = [float(x) for x in range(18, 90)] * 10
    for kind in (np.int8, np.uint8, np.int64, np.float32, np.longdouble):
        low, high = kind(18), kind(90)
        for last in HOSTILE:
            records = [*table[:-1], last]
            calls = (
                lambda a, b, s, r=records: private_mean(r, low=a, high=b, epsilon=1.0, insecure_seed=1),
                lambda a, b, s, r=records: private_quantile(
                    r, q=0.5, low=a, high=b, step=s, epsilon=1.0, insecure_seed=1
                ),
                lambda a, b, s, r=records: interior_point(
                    r, low=a, high=b, step=s, epsilon=1.0, insecure_seed=1
                ),
            )
            for call in calls:
                seen, wanted = call(low, high, kind(1)), call(18, 90, 1)
                assert seen.value == wanted.value and seen.evidence == wanted.evidence


def test_a_check_returns_an_exact_number_of_python():
    for kind in (*SMALL, np.float16, np.float64, int, float, Fraction):
        for check in (finite, positive, lambda value, name: interval(value, 200)[0]):
            number = check(kind(100), "x")
            assert number == 100 and type(number) in (int, float, Fraction)
            assert type(Fraction(number).numerator) is int
    assert type(integer(np.uint8(3), "x")) is int
    odd = type("Odd", (int,), {"__index__": lambda self: 5, "__int__": lambda self: -5})
    refuse((lambda: integer(odd(0), "x"), "x must be an integer >= 1"))
    assert integer(odd(3), "x") == 3 and type(integer(odd(3), "x")) is int
    held = finite(Fraction(np.int64(1), np.int64(3)), "x")
    assert (type(held.numerator), type(held.denominator)) == (int, int)
    assert finite(np.float32(0.1), "x") == Fraction(float(np.float32(0.1)))
    bad = (math.nan, math.inf, True, np.True_, np.array(True), "1", None, 1j, [1])
    refuse(*each(lambda value: finite(value, "x"), bad, "x must be a finite number, got"))
    refuse(
        *each(lambda value: finite(value, "x", ">= 0"), (-1, np.int8(-1)), "x must be a finite number >= 0")
    )


def test_public_numbers_beyond_float64_are_refused_by_a_value_error():
    made = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "one edge"}
    refuse(
        *each(
            lambda box: release_vector([1.0], sensitivity=1, **box, **made),
            ({"low": -(10**400), "high": 1}, {"low": 0, "high": 10**400}),
            "beyond the range of float64",
        ),
        (
            lambda: release_symmetric(
                np.eye(2), sensitivity_frobenius=1, eta_max=0, certified_eta=0, diagonal=10**400, **made
            ),
            "beyond the range of float64",
        ),
        (lambda: budget(10**400, "epsilon"), "beyond the range of float64"),
    )
    for given in ({"epsilon": 5e-324}, {"rho": 1e-300}):  # noise beyond it is shown as the largest float
        assert math.isfinite(bounded_average([[0.5]], radius=1, dimension=1, **given).public["scale"])
    assert budget(3, "epsilon") == 3 and budget(Fraction(1, 3), "epsilon") <= Fraction(1, 3)


def test_budgets_and_fallbacks_of_any_size_are_read_exactly():
    """An integer of numpy has no ratio, and was read as the nearest float, which may be above it."""
    for large in (2**53 + 3, 2**60 + 1):
        wanted = check_epsilon(large)
        assert Fraction(wanted) <= large
        for given in (np.int64(large), np.array(large), Fraction(np.int64(large), np.int64(1))):
            assert check_epsilon(given) == check_positive(given, "rho") == wanted
            assert between(given, "rho", "[0, inf)") == finite(given, "rho") == large
    tenth = Fraction(1, 10)
    digits = mpmath.mpf("0.1"), sympy.Float("0.1"), mpmath.mpf(-3) * 2**60, sympy.Float(7)
    wanted = Fraction(0.1), Fraction(0.1), Fraction(-3 * 2**60), Fraction(7)
    assert [finite(one, "rho") for one in digits] == list(wanted)
    longer = sympy.Float("0.1", 40)
    assert abs(finite(longer, "rho") - tenth) < Fraction(1, 10**40) and check_epsilon(longer) <= 0.1
    assert between(Fraction(10**400, 3), "rho", "[0, inf)") == Fraction(10**400, 3)
    endless = (
        mpmath.inf,
        mpmath.nan,
        sympy.oo,
        sympy.nan,
        sympy.Float("inf"),
        sympy.pi,
        mpmath.mpf(2) ** 2**30,
    )
    refuse(*each(lambda given: finite(given, "rho"), endless, "rho must be a finite number"))
    refuse(
        *each(lambda given: between(given, "rho", "[0, 1]"), (10**400, -(10**400), mpmath.inf), "must lie")
    )
    for given in (sympy.Rational(1, 10), flint.fmpq(1, 10)):  # numbers without as_integer_ratio
        assert Fraction(check_epsilon(given)) <= tenth == finite(given, "rho") == Domain(1, 0, given).high
    refuse((lambda: finite(np.timedelta64(3), "rho"), "rho must be a finite number"))
    table = [[1.0, 0.5], [0.5, 1.0]]
    known = {"epsilon": 1.0, "delta": 1e-6, "sensitivity_frobenius": 1.0, "eta_max": 1.0}
    known["adjacency"] = "one record (replace)"
    for wrong in (10**400, math.nan, math.inf, "x", None, [[0.0, math.nan]] * 2):
        for eta in (0.5, None):
            refuse(
                (
                    lambda w=wrong, e=eta: release_symmetric(table, certified_eta=e, fallback=w, **known),
                    "fallback must be a finite number",
                )
            )
