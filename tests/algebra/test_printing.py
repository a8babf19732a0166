"""Text that reads back exactly, and LaTeX."""

import random
from fractions import Fraction

import pytest
import sympy

from sosdp.algebra import PolynomialArray, polynomial, variables
from tests.algebra.test_polynomial import NAMES, random_polynomial
from tests.refusals import refuse

x, y, z = variables("x y z")


@pytest.mark.parametrize("kind", ["int", "fraction", "huge", "float"])
def test_text_reads_back_exactly_here_in_python_and_in_sympy(kind):
    rng = random.Random(f"print {kind}")
    scope = dict(zip(NAMES, variables(" ".join(NAMES))))
    for _ in range(60):
        p = random_polynomial(rng, kind)
        text = str(p)
        assert polynomial(text) == p.as_exact()
        assert polynomial(text).as_float() == p.as_float()
        if p.constant == 0 or kind not in ("fraction",):  # a constant 1/3 is a float to Python
            assert eval(text, {"__builtins__": {}}, scope) == p
        if p.is_exact:
            assert sympy.expand(sympy.sympify(text) - p.to_sympy()) == 0


def test_text_is_what_a_person_would_write():
    cases = {
        "0": x - x,
        "1": polynomial(1),
        "-1": polynomial(-1),
        "-x": -x,
        "x**2 - x*y + 2*y - 3": x**2 - x * y + 2 * y - 3,
        "2*x/3 - 1/2": 2 * x / 3 - Fraction(1, 2),
        "-x**2/3": -(x**2) / 3,
        "0.5*x + 1e+22": 0.5 * x + 1e22,
        "1.0*x": 1.0 * x,
    }
    for text, p in cases.items():
        assert str(p) == text == repr(p) and f"{p:>30}" == f"{text:>30}"

    third = 0.1 * (x - 0.2) ** 2  # its coefficients are no floats
    assert (
        repr(0.1 * x + 1e-20) == "0.1*x + 1e-20"
        and repr(third) == "0.1*x**2 - 0.04000000000000001*x + 0.004000000000000001"
    )
    assert str(0.1 * x) == "0.1000000000000000055511151231257827021181583404541015625*x"
    assert polynomial(str(third)) == third and polynomial(str(0.1 * x)) == 0.1 * x


def test_latex():
    w = variables("w", (1, 2))
    alpha, speed, theta1, x_y = variables("alpha speed theta1 x_y")
    cases = {
        r"x^{2} - 3 x y + \frac{1}{3}": x**2 - 3 * x * y + Fraction(1, 3),
        r"-\frac{1}{2} x": -x / 2,
        r"0.5 x": 0.5 * x,
        r"2 x": 2.0 * x,
        r"x": 1.0 * x,
        r"1.5 \cdot 10^{-9} x": 1.5e-9 * x,
        r"10^{-9} x": 1e-9 * x,
        r"w_{0,1}^{2}": w[0, 1] ** 2,
        r"\alpha \mathrm{speed} \theta_{1}": alpha * speed * theta1,
        r"\mathrm{x\_y}": x_y,
        "0": x - x,
    }
    for text, p in cases.items():
        assert p.latex() == text
    assert PolynomialArray([x, y]).latex() == r"\begin{bmatrix} x \\ y \end{bmatrix}"
    assert PolynomialArray([[x, 1]])._repr_latex_() == r"$\displaystyle \begin{bmatrix} x & 1 \end{bmatrix}$"
    assert (x <= 1).latex() == r"-x + 1 \ge 0" and (x == 1).latex() == "x - 1 = 0"
    assert x._repr_latex_() == r"$\displaystyle x$" and ((x + y) ** 300)._repr_latex_() is None
    refuse((lambda: variables("w", (1, 1, 1)).latex(),))
