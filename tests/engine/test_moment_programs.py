"""Moment programs: constraints in expectation, quadratic objectives, against cvxpy and closed forms."""

from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from tests.refusals import each, refuse


def test_in_expectation_is_weaker_than_satisfied():
    x = sd.polynomial("x")
    interval = sd.System(x**2 <= 1)
    satisfied = sd.minimize(x**2, interval & sd.System(x >= 0.5), degree=2)
    relax = sd.Relaxation(interval, 2)
    held = relax.minimize(relax.E(x**2), subject_to=[relax.E(x) >= 0.5])
    assert satisfied.bound == pytest.approx(0.25, abs=1e-6)
    assert held.bound == pytest.approx(0.25, abs=1e-6)
    # where they differ: E[x^2] >= 0.9 does not force |x| up, it allows a mixture
    mixture = relax.minimize(x, subject_to=[relax.E(x**2) <= 0.81])
    assert mixture.bound == pytest.approx(-0.9, abs=1e-6)
    assert mixture.certified_bound <= -0.9 + 1e-12
    assert mixture.certified_bound == pytest.approx(-0.9, abs=1e-5)
    balanced = relax.maximize(x**2, subject_to=[relax.E(x) == 0])
    assert balanced.bound == pytest.approx(1, abs=1e-6)
    assert balanced(x) == pytest.approx(0, abs=1e-6)


def test_quadratic_objectives_against_cvxpy():
    import cvxpy as cp

    x = sd.polynomial("x")
    relax = sd.Relaxation(sd.System(x**2 <= 4), 4)
    m = [1, 1.5, 2.2, 9.0, 8.0]  # wanted moments 0..4, not consistent
    weights = [2.0, 1.0, 0.5, 3.0]
    objective = sum(w * (relax.E(x**k) - m[k]) ** 2 for k, w in enumerate(weights, start=1)) + relax.E(x)
    result = relax.minimize(objective)
    y = cp.Variable(5)
    H = cp.bmat([[y[0], y[1], y[2]], [y[1], y[2], y[3]], [y[2], y[3], y[4]]])
    L = cp.bmat([[4 * y[0] - y[2], 4 * y[1] - y[3]], [4 * y[1] - y[3], 4 * y[2] - y[4]]])
    cost = sum(w * cp.square(y[k] - m[k]) for k, w in enumerate(weights, start=1)) + y[1]
    expected = cp.Problem(cp.Minimize(cost), [H >> 0, L >> 0, y[0] == 1]).solve(solver=cp.CLARABEL)
    assert result.bound == pytest.approx(expected, rel=1e-5)
    assert result.certified_bound <= expected + 1e-5
    assert np.allclose([result(x**k) for k in range(1, 5)], y.value[1:], atol=1e-3)


def test_matrix_constraints_in_expectation():
    x, y = sd.variables("x y")
    relax = sd.Relaxation(sd.System(x**2 + y**2 <= 1), 2)
    second = relax.E(np.array([[x**2, x * y], [x * y, y**2]], dtype=object))
    spread = np.array([[0.2, 0.0], [0.0, 0.2]], dtype=object)
    result = relax.minimize(x, subject_to=[(second - spread).psd()])
    # E[y^2] >= 0.2 leaves E[x^2] <= 0.8
    assert result.bound == pytest.approx(-np.sqrt(0.8), abs=1e-5)
    assert result.certified_bound <= -np.sqrt(0.8) + 1e-12


def test_contradictory_expectations_are_refuted():
    x = sd.polynomial("x")
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    assert relax.feasible(subject_to=[relax.E(x) >= 2]).status == "infeasible"
    assert relax.minimize(x, subject_to=[relax.E(x) >= 0.5, relax.E(x) <= 0.4]).status == "infeasible"
    assert relax.feasible(subject_to=[relax.E(x) >= 0.5]).status == "optimal"


def test_what_is_not_convex_or_not_an_expectation_is_refused():
    x = sd.polynomial("x")
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    square = relax.E(x) ** 2
    refuse(
        (lambda: -1 * square, "not convex"),
        (lambda: relax.maximize(square), "minimised, not maximised"),
        (lambda: relax.E(x) ** 3, "only the square"),
    )
    refuse(
        (lambda: relax.minimize(x, subject_to=[x >= 0]), "belong in the System", TypeError),
        (lambda: bool(relax.E(x) >= 0), "no truth value", TypeError),
        (lambda: relax.E(x**3), "not defined in a relaxation of degree 2", ValueError),
        (lambda: sd.sum_squares([x]), "takes expectations", TypeError),
    )
    assert "distribution" in relax.minimize(square).atoms_reason


def test_a_square_of_an_expectation_has_an_exact_certificate():
    x = sd.polynomial("x")
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    proof = certificates.extract(relax.minimize((relax.E(x) - 2) ** 2)).exact()
    assert "Checked exactly: valid" in proof.describe()


@pytest.mark.parametrize("one", [np.uint8(1), np.array(1, dtype=np.uint64), np.bool_(True)])
def test_what_is_subtracted_from_an_expectation_is_not_negated_in_numpys_arithmetic(one):
    """Minus one of an unsigned integer is its largest."""
    x = sd.polynomial("x")
    for body in (sd.E(x), sd.MeasureProgram().measure([x], name="mu")(x)):
        assert str(body - one) == str(body - 1)
        assert [str(entry) for entry in np.ravel(body - np.array([one, one]))] == [str(body - 1)] * 2


def test_expectations_and_integrals_meet_arrays_entry_by_entry():
    u, v = sd.variables("u v")
    table = np.array([[1, 2], [3, 4]])
    for body in (sd.E(u), sd.MeasureProgram().measure([u], name="mu")(u)):
        for constraints, first in (
            (body >= table, body - 1),
            (table <= body, body - 1),
            (body <= table, 1 - body),
        ):
            assert constraints.shape == (2, 2) and repr(constraints[0, 0]) == repr(first >= 0)
        assert repr((body == table)[1, 1]) == repr(body - 4 == 0)
        assert repr((table + body * table)[1, 0]) == repr(3 * body + 3) == repr((body + 1) / Fraction(1, 3))
    matrix = sd.E(np.array([[u, v], [v, u * v]]))
    assert (
        isinstance(matrix - table.T @ table, type(matrix))
        and repr((matrix >= table)[1, 0]) == "E[v - 3] >= 0"
    )
    refuse((lambda: sd.E(u) ** 2 >= 1, "no constraint", TypeError))


@pytest.mark.parametrize("weight", [1e-100, 1e-20, 1e-12, 1e-8, 1.0, 1e12, 1e100])
def test_squares_of_expectations_have_units_of_their_own(weight):
    x = sd.variables("x")
    relax = sd.Relaxation(sd.System(x**2 <= 4), 2)
    answer = relax.minimize(weight * (relax.E(x) - 3) ** 2)
    assert answer.status == "optimal" and answer.certified_bound <= weight
    assert [answer.bound, answer.certified_bound] == pytest.approx([weight] * 2, rel=1e-6)


def test_sums_of_expectations_are_expectations_at_every_door():
    x = sd.variables("x")
    relax = sd.Relaxation(sd.System(x**2 <= 4), 2)
    both = relax.E(np.array([x, x**2], dtype=object))
    assert relax.minimize(both.sum()).bound == pytest.approx(-0.25, abs=1e-6)
    assert relax.minimize(both @ np.array([1.0, 2.0])).bound == pytest.approx(-0.125, abs=1e-6)
    limits = (c for c in [both.sum() >= 1, both[0] <= -1])
    assert relax.minimize(x**2, limits).bound == pytest.approx(2, abs=1e-5)
    refuse(*each(relax.minimize, [[x], both, None], "cannot make a polynomial of", TypeError))
    refuse((lambda: relax.minimize(1e300 * (relax.E(x) - 1e10) ** 2), "too large for a float"))


def test_arrays_without_axes_are_what_they_hold():
    x, y = sd.variables("x y")
    assert str(np.array(sd.E(y)) - sd.E(x)) == "E[-x + y]"
    assert str(sd.E(x) + np.array(sd.E(y))) == "E[x + y]"
    with pytest.raises(TypeError, match="unsupported operand"):
        sd.E(x) - "1"
