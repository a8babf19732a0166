"""Proofs as sympy equations: equal after expansion, squares visible before it."""

import pytest
import sympy

import sosdp as sd
from certificates import extract
from tests.refusals import refuse

x, y = sd.variables("x y")


@pytest.mark.parametrize(
    "make",
    [
        lambda: sd.minimize(x**2 * y - x, sd.System(x**2 + y**2 <= 1, y >= 0), 4),
        lambda: sd.minimize(x**2 + y, sd.System(x**2 + y**2 <= 2, (x - y).equals(0)), 2),
        lambda: sd.maximize(x + y, sd.System(x**2 + y**2 <= 1), 2),
        lambda: sd.feasible(sd.System(x**2 + y**2 <= 1, x + y >= 2), 2),
        lambda: sd.prove_sos(x**4 + y**4 - 2 * x**2 * y**2 + x**2 + 1),
    ],
)
def test_both_sides_are_equal_and_the_right_one_shows_squares(make):
    proof = extract(make()).exact()
    equation = proof.to_sympy()
    assert sympy.expand(equation.lhs - equation.rhs) == 0
    assert equation.rhs.atoms(sympy.Pow) and "**2" in str(equation.rhs)
    # negative control: another bound is another equation
    assert sympy.expand(equation.lhs - equation.rhs - sympy.Rational(1, 10**9)) != 0


def test_what_has_no_sympy_form_is_refused():
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    refuse((lambda: extract(relax.minimize((relax.E(x) - 2) ** 2)).exact().to_sympy(), "distributions"))
    proof = extract(sd.maximize(x, sd.System(x**2 <= 1), 2)).exact()
    refuse((lambda: proof.to_sympy(1), "no number 1"))
