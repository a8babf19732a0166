"""Bounds in very small and large units and far from 0: as near to the engine's as in units of 1."""

from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates import NotCertifiable
from tests.refusals import each, refuse

x, y = sd.variables("x y")
DISC = sd.System(x**2 + y**2 <= 1)


def bell(unit):
    a, b = sd.observables("A", 2), sd.observables("B", 2)
    return sd.maximize(unit * (a[0] * (b[0] + b[1]) + a[1] * (b[0] - b[1])), level="1+AB")


def box(unit):
    return sd.System(x >= 0, x <= unit, y >= 0, y <= unit)


@pytest.mark.parametrize(
    "state",
    [
        lambda: sd.minimize(1e-200 * x * y, DISC),
        lambda: sd.minimize(1e-300 * x * y, DISC),
        lambda: sd.minimize(1e-100 * (x**4 - 3 * x)),
        lambda: sd.minimize_trigonometric([1e-9, 1e-9], [1e-9]),
        lambda: sd.minimize_trigonometric([0, 1e-300], []),
        lambda: sd.minimize_trigonometric([1e9, 1, 1], []),
        lambda: bell(1e-9),
        # on a face of the cone: the units of the objective, of constraints, and of variables
        lambda: sd.minimize(Fraction(1, 10**100) * (x**3 / 10**6 - x * y), box(1)),
        lambda: sd.minimize(x**3 - x * y, box(Fraction(1, 10**6))),
        lambda: sd.minimize((x**3 - x * y) / 10**6, [x >= 0, x <= Fraction(1, 10**6), y >= 0, y <= 1]),
        lambda: sd.minimize(x, [sd.PSD([[1e9, x], [x, 1e-9]])]),
    ],
)
def test_a_bound_is_as_near_as_in_other_units(state):
    result = state()
    proof = certificates.extract(result).exact()
    gap = abs(Fraction(result.certified_bound) - proof.bound)
    assert proof.verify() and gap <= Fraction(1e-6) * min(abs(Fraction(result.bound)), 1)


def test_large_units_are_units_too():
    result = sd.minimize(10**100 * (x**3 - x * y), box(1))
    proof = certificates.extract(result).exact()
    assert proof.verify() and abs(result.certified_bound / float(proof.bound) - 1) <= 1e-6


def test_the_optimum_far_from_zero_is_attained():
    for p in ((x - 1000) ** 2 * (x - 1001) ** 2, (x - 10**9) ** 2):
        proof = certificates.extract(sd.minimize(p)).optimum()
        assert proof.bound == 0 and proof.claim.point is not None


def test_numbers_beyond_floats_end_in_a_sentence():
    best = certificates.extract(sd.minimize(x**4 - x))
    series = certificates.extract(sd.minimize_trigonometric([0, 1], []))
    huge = (10**400, "-1e400", Fraction(-(10**400)))
    for of in (best, series):
        refuse(*each(lambda bound, of=of: of.exact(bound=bound), huge, "finite"))
        refuse(
            *each(lambda slack, of=of: of.exact(slack=slack), (0, -1, float("inf"), float("nan")), "slack")
        )
    refuse((lambda: best.exact(bound=Fraction(1, 10**400)), "bound", NotCertifiable))
    proof = certificates.extract(sd.minimize(x**4 - 3 * x**2, sd.System(10**200 * x**2 <= 1))).exact()
    assert "times" in proof.describe()  # numbers that no float holds


@pytest.mark.parametrize(
    ("state", "end"),
    [
        (lambda: sd.minimize((x - 10**6) ** 2 + (y + 10**6) ** 2 + x - y), Fraction(3999999, 2)),
        (lambda: sd.maximize(x, sd.System((x - 10**8) ** 2 <= 1)), 10**8 + 1),
        (lambda: sd.minimize(((x - 100) ** 2 - 1) ** 2 + ((y - 200) ** 2 - 1) ** 2 + x**4 * 0), 0),
    ],
)
def test_bounds_far_from_zero_are_found_about_the_centre(state, end):
    proof = certificates.extract(state()).exact()
    assert proof.verify() and proof.bound == end


def test_multipliers_about_another_basis_are_not_mixed():
    a, b, c = sd.variables("a b c")
    p = sum(((v - 100 * k) ** 2 - 1) ** 2 for k, v in enumerate((a, b, c)))
    result = sd.minimize(p + a * b, degree=4)
    proof = certificates.extract(result).exact()
    assert 0 <= result.certified_bound - float(proof.bound) <= 1e-6 * abs(result.bound)


def test_a_fine_slack_is_tried_at_the_bound_before_a_coarse_one():
    s = sd.variables("s", 12)
    result = sd.minimize(sum((p * q - 1) ** 2 + p**4 for p, q in zip(s[:-1], s[1:], strict=True)))
    assert float(certificates.extract(result).exact().bound) >= result.certified_bound - 1e-6


@pytest.mark.parametrize(
    ("weight", "mean", "end"), [(1, 1, "3/4"), (2, 3, "23/8"), (Fraction(1, 3), 3, "9/4")]
)
def test_where_nothing_bounds_a_mean_its_multiplier_is_exactly_right(weight, mean, end):
    """w (E[x] - m)^2 + E[x] >= m - 1/(4 w): of all multipliers of E[x] - m only -1 leaves a bound."""
    result = sd.Relaxation(sd.System(), 2).minimize(weight * (sd.E(x) - mean) ** 2 + sd.E(x))
    assert certificates.extract(result).exact().bound == Fraction(end)
