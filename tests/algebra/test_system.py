"""Constraints and systems."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from sosdp.algebra import PSD, Equality, Inequality, PolynomialArray, polynomial, variables
from sosdp.model.system import System
from tests.refusals import each, refusals, refuse

x, y, z = variables("x y z")


def test_comparisons_store_one_polynomial():
    for constraint, g in (
        (x <= 1, 1 - x),
        (x >= 1, x - 1),
        (1 <= x, x - 1),
        (1 >= x, 1 - x),
        (np.float64(0.5) <= x, x - 0.5),
        (Fraction(1, 2) >= x * y, Fraction(1, 2) - x * y),
        (x <= y, y - x),
    ):
        assert isinstance(constraint, Inequality) and constraint.polynomial == g
        assert constraint.polynomial.is_exact == g.is_exact
    for constraint in (x == y, x.equals(y), x - y == 0):
        assert isinstance(constraint, Equality) and constraint.polynomial == x - y
    assert (1 == x).polynomial == x - 1


def test_chained_comparisons_are_caught():
    with pytest.raises(TypeError, match="truth value"):
        if PSD([[1, x], [x, 1]]):
            pass


def test_truth_of_an_equality_is_identity():
    assert x + y == y + x and not (x == y) and (x != y) is True
    assert bool((x + 1) ** 2 == x**2 + 2 * x + 1)


def test_collecting():
    xs = variables("x", 3)
    s = System(
        x**2 + y**2 <= 1, [z**2 == z, (xs >= 0, xs**2 == xs)], (v <= 2 for v in xs), PSD([[1, x], [x, 1]])
    )
    assert len(s.equalities) == 4 and len(s.inequalities) == 7 and len(s.matrices) == 1 and len(s) == 12
    assert s.inequalities[0] == 1 - x**2 - y**2 and s.equalities[0] == z**2 - z
    assert s.degree == 2 and set(s.variables) == {x, y, z, *xs.tolist()} and s.is_exact
    both = System(x <= 1) & System(y <= 1) & (z == 0)
    assert both.inequalities == (1 - x, 1 - y) and both.equalities == (z,)
    assert System(both, both).inequalities == (1 - x, 1 - y, 1 - x, 1 - y)
    assert both == System(both) and hash(both) == hash(System(both)) and both != s
    assert System().degree == 0 and len(System()) == 0 and bool(System())
    with pytest.raises(AttributeError):
        both.equalities = ()


def test_trivial_constraints():
    zero = x - x
    assert System(zero >= 0, zero == 0, zero + 1 >= 0, polynomial(0) <= 2) == System()
    false = System(zero - 1 >= 0, zero + 1 == 0)
    assert false.inequalities == (polynomial(-1),) and false.equalities == (polynomial(1),)
    assert System(PSD([[x]])).inequalities == (x,)


def test_matrix_inequalities_must_be_square_and_symmetric():
    matrix = PolynomialArray([[1, x], [x, 1]])
    constraint = PSD(matrix)
    matrix[0, 0] = 5
    assert constraint.matrix[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        constraint.matrix[0, 0] = 2


def test_violations():
    s = System(x**2 + y**2 <= 1, x == y, PSD([[1, x], [x, 1]]))
    inside = s.violation({"x": 0.5, "y": 0.5})
    assert inside.shape == (3,) and np.all(inside == 0)
    points = np.array([[0.0, 0.0], [2.0, 1.0]])
    assert np.allclose(s.violation(points), [1, 4, 1])  # equality, inequality, matrix
    assert np.allclose(s.violation({x: [0, 2], y: [0, 1]}), [1, 4, 1])
    assert System(polynomial(-1) >= 0).violation({}).tolist() == [1.0]
    refuse(
        (lambda: s.violation({"x": 1}), "no value"),
        (lambda: s.violation(np.zeros((4, 3))), "do not fit"),
    )


def test_exact_forms_and_parts():
    s = System(0.1 * x <= 1, PSD([[0.5, x], [x, 1]]))
    exact = s.as_exact()
    assert not s.is_exact and exact.is_exact and exact.inequalities == (1 - Fraction(0.1) * x,)
    assert System.from_parts(exact.equalities, exact.inequalities, exact.matrices) == exact


def test_text_and_pickle():
    s = System(x**2 <= 1, x == y, PSD([[1, x], [x, 1]]))
    assert repr(s) == "System(x - y == 0, -x**2 + 1 >= 0, PSD([[1, x], [x, 1]]))"
    assert s.latex() == (
        r"\begin{aligned} x - y &= 0 \\ -x^{2} + 1 &\ge 0 \\ "
        r"\begin{bmatrix} 1 & x \\ x & 1 \end{bmatrix} &\succeq 0 \end{aligned}"
    )
    assert pickle.loads(pickle.dumps(s)) == s
    assert "30 constraints" in repr(System([x <= k for k in range(1, 31)]))
    assert repr(x <= 1) == "-x + 1 >= 0" and repr(x == y) == "x - y == 0"


test_refusals = refusals(
    (lambda: 0 <= x <= 1, "two constraints", TypeError),
    (lambda: bool(x <= 1), "truth value", TypeError),
    (lambda: x > 0, "margin", TypeError),
    (lambda: System((x == 1) or (y == 1)), "'or' between", TypeError),
    (lambda: System((x == 1) and (y == 1)), "asked for before", TypeError),
    *each(
        System,
        [True, np.bool_(False), x, PolynomialArray([x]), 3, "x <= 1", None, np.array([x <= 1, 5])],
        None,
        TypeError,
    ),
    *each(PSD, ([[1, 2, 3]], [1, 2], [[[1]]], np.zeros((0, 0))), "square"),
    (lambda: PSD([[1, x], [y, 1]]), r"entries \(0, 1\) and \(1, 0\)"),
)
