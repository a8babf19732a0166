"""Verdicts are about the numbers that were stated, not about the floats next to them."""

from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.certify.exact_data import as_stated

x, y, z, u, v = sd.variables("x y z u v")
S = sd.System
THIRD, LITTLE = F(1, 3), F(1, 10**30)


def odd_part(value):
    whole = abs(F(value).numerator)
    return whole // (whole & -whole)


def test_entries_are_whole_numbers_times_powers_of_two():
    relax = sd.Relaxation(S(x.equals(THIRD), x * y * F(2, 7) <= F(3, 5)), 2)
    program = relax.minimize(y * F(1, 9) + x).program
    exact = as_stated(program, [F(1, 9), 1], [[1]])
    assert exact.off == 0 and exact.factor == F(9, 16)
    identity = exact.program.identity
    assert {odd_part(c) for c in identity.free.data.tolist()} == {1, 3}
    assert {odd_part(c) for c in identity.target[identity.target != 0].tolist()} == {1, 9}
    assert {odd_part(c) for c in identity.gram.data[-2:].tolist()} == {5, 21}
    assert as_stated(program, [THIRD, LITTLE], [[1]]).target_off > 0
    assert as_stated(program, [F(1, 9), 1], [[10**17 + 1]]).off > 0


def test_equations_that_only_floats_make_alike_are_kept():
    relax = sd.Relaxation(S(x.equals(THIRD), x.equals(THIRD + LITTLE)), 2)
    identity = relax.minimize(x).identity
    assert {e.index for e in identity.equalities} == {0, 1}
    assert np.array_equal(*(e.polynomial.as_float().coefs for e in identity.equalities))


@pytest.mark.few(1)
@pytest.mark.parametrize("a", [0.1 + 1.1 + 0.3, 0.1 * 3 * 10, 1.75 - 2**-52])
def test_a_point_of_numbers_that_are_stored_as_short_ones(a):
    """1.5000000000000002 and 1.5 are one float times sqrt(2): x = 1 / a was proven not to be there."""
    (w,), (X, Y) = [sd.complex_variables("w")], sd.operators("X Y", hermitian=True, party="P")
    real = w + w.conj()
    for answer in (
        sd.feasible([(a * x).equals(1), a * x >= 1], 4),
        sd.minimize(real, [a * real == 2, a * real >= 2], 4),
        sd.minimize(-Y, [a * X == 1, a * X >= 1], level=2),
    ):
        assert answer.status != "infeasible"


@pytest.mark.few(1)
@pytest.mark.parametrize("a", ["1.7499999999999998", "1.5000000000000002", "0.7"])
def test_a_file_with_numbers_that_are_stored_as_short_ones(tmp_path, a):
    """[[1, a x], [a x, 1]] is semidefinite and a x - 1 not negative: x = 1 / a."""
    text = f"1\n2\n-1 2\n1.0\n0 1 1 1 1.0\n1 1 1 1 {a}\n0 2 1 1 -1.0\n0 2 2 2 -1.0\n1 2 1 2 {a}\n"
    path, again = tmp_path / "p.dat-s", tmp_path / "p.cbf"
    path.write_text(text, encoding="utf-8")
    sd.write_program(sd.read_program(path), again)
    for answer in (sd.solve(path), sd.solve(again)):
        assert answer.status != "infeasible" and answer.upper >= 1 / float(a) - 1e-15


def test_a_mass_is_what_was_stated():
    """A mass of 1/10 was a moment of 1/10 in floats, and the set was proven empty."""
    g, on = sd.polynomial("g"), S((1000 * x).equals(7 * y), (7 * y).equals(11), 1000 * x >= 11)
    measures = sd.MeasureProgram()
    mu = measures.measure([x, y], on=on)
    measures.require(10 * mu.mass == 1)
    assert measures.minimize(mu(x**2), 2).status == "optimal"
    assert sd.SosProgram([g]).require(x - 10 * g, on=on, degree=2).maximize(g).status == "optimal"
    t, c, d = -0.284, 0.001, -0.283  # the exact sum of the first two is less than the third
    measures = sd.MeasureProgram()
    mu = measures.measure([x, y], on=S(x.equals(t)), mass=1)
    measures.require(mu(x + c) >= d)
    assert F(t) + F(c) < F(d) and measures.minimize(mu(y)).status == "infeasible"


def test_numbers_with_two_factors(tmp_path):
    """A factor sqrt(2) times another is not 2: points were proven not to be there, in smaller cones (1, y),
    in a file [[1, 1], [1, 1]], through other packages x = 1 / a."""
    assert sd.minimize(y, [x.equals(1)], cone="dsos").status != "infeasible"
    path, text = tmp_path / "p.cbf", "VER\n1\n\nOBJSENSE\nMIN\n\nPSDVAR\n1\n2\n\nCON\n2 1\nL= 2\n\n"
    text += "OBJFCOORD\n2\n0 0 0 1.0\n0 1 1 1.0\n\nFCOORD\n2\n0 0 1 0 1.0\n1 0 1 0 3.0\n\n"
    path.write_text(text + "BCOORD\n2\n0 -2.0\n1 -6.0\n", encoding="utf-8")
    assert sd.solve(path).value == pytest.approx(2, abs=1e-6)
    cp, a = pytest.importorskip("cvxpy"), 1.75 - 2**-52
    t = cp.Variable()
    cone = cp.SOC(cp.Constant(0.0), cp.hstack([a * t - 1, 0 * t]))
    for constraint in (cone, cp.bmat([[0, a * t - 1], [a * t - 1, 1]]) >> 0):
        program = sd.from_cvxpy(cp.Problem(cp.Minimize(t), [a * t == 1, constraint]))
        assert sd.solve_conic(program).status != "infeasible"
