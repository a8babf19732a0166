"""Evaluation, derivatives, substitution, and the way to sympy and back."""

import random
from fractions import Fraction

import numpy as np
import pytest
import sympy

from sosdp.algebra import Polynomial, PolynomialArray, polynomial, variables
from tests.algebra.test_polynomial import NAMES, check_invariants, random_polynomial
from tests.refusals import each, refusals, refuse

x, y, z = variables("x y z")
SYMBOLS = sympy.symbols(NAMES)


def test_values_agree_with_sympy_and_stay_exact():
    rng = random.Random("values")
    for kind in ("int", "fraction", "huge"):
        for _ in range(25):
            p = random_polynomial(rng, kind)
            point = {
                n: rng.choice([rng.randint(-4, 4), Fraction(rng.randint(-9, 9), 7), 10**12]) for n in NAMES
            }
            value = p.evaluate(point)
            assert isinstance(value, int | Fraction)
            expected = p.to_sympy().subs({s: sympy.Rational(point[s.name]) for s in SYMBOLS})
            assert sympy.Rational(value) == expected


def test_many_points_at_once():
    rng = np.random.default_rng(0)
    p = (x + 2 * y * z - 1) ** 3 * y + 0.5
    points = rng.normal(size=(1000, 3))
    direct = (points[:, 0] + 2 * points[:, 1] * points[:, 2] - 1) ** 3 * points[:, 1] + 0.5
    assert np.allclose(p(points), direct)
    assert p(points.reshape(10, 100, 3)).shape == (10, 100)
    assert np.allclose(p({"x": points[:, 0], y: points[:, 1], "z": points[:, 2]}), direct)
    grid = p(x=np.zeros((4, 1)), y=np.arange(3.0), z=1)
    assert grid.shape == (4, 3) and np.allclose(grid[0], (2 * np.arange(3) - 1) ** 3 * np.arange(3) + 0.5)
    assert isinstance(p(x=0.0, y=0.0, z=0.0), float) and p([0, 0, 0]) == 0.5
    assert (x**2)(3) == 9 and isinstance((x**2)(3), int)
    assert np.array_equal((x + y)(np.array([[1, 2], [3, 4]])), [3, 7])


def test_integer_points_do_not_overflow():
    p = x**5 + y
    assert p(x=10**6, y=np.array([1, 2])).tolist() == [10**30 + 1, 10**30 + 2]
    assert p(np.array([[10**6, 1]]))[0] == 10**30 + 1
    assert (x**40)(x=np.int64(3)) == 3**40


def test_one_point_and_many_points_agree():
    rng = random.Random("paths")
    for kind in ("int", "fraction", "float", "huge"):
        for _ in range(20):
            p = random_polynomial(rng, kind)
            exact = {n: rng.choice([rng.randint(-3, 3), Fraction(rng.randint(-9, 9), 4)]) for n in NAMES}
            for point in (exact, {n: float(v) for n, v in exact.items()}):
                one = p(point)
                many = p({n: [v, v] for n, v in point.items()})
                assert type(one) in (int, float, Fraction)
                assert isinstance(one, float) == (many.dtype == np.float64)
                assert (
                    one == pytest.approx(many[0], rel=1e-12, abs=1e-12)
                    if isinstance(one, float)
                    else one == many[0]
                )


def test_constants_and_missing_values():
    assert polynomial(3)() == 3 and polynomial(3)({}) == 3
    assert np.array_equal(polynomial(3)(x=np.zeros(4)), [3] * 4)
    assert np.array_equal((x - x)(x=np.zeros(4)), [0] * 4)
    assert (x + 1)({"x": 1, "unused": 5}) == 2
    assert np.isnan((x + 1)(x=float("nan")))


def test_derivatives_agree_with_sympy():
    rng = random.Random("diff")
    for _ in range(40):
        p = random_polynomial(rng, rng.choice(["int", "fraction", "huge"]), degree=6)
        for name, symbol in zip(NAMES, SYMBOLS):
            d = p.diff(name)
            check_invariants(d)
            assert sympy.expand(d.to_sympy() - p.to_sympy().diff(symbol)) == 0
        assert all(np.asarray(p.gradient(NAMES)) == [p.diff(name) for name in NAMES])
        assert p.diff("x", 3) == p.diff(x).diff(x).diff(x) and p.diff(x, 0) == p
    assert (x**2 * y).gradient().tolist() == [2 * x * y, x**2]
    assert type((x * y).gradient([x, y, z])) is PolynomialArray and (x * y).gradient(x).tolist() == [y]
    assert polynomial(1).gradient().shape == (0,) and (2.5 * x**2).diff(x) == 5.0 * x


def test_substitution_agrees_with_sympy():
    rng = random.Random("subs")
    for _ in range(30):
        p = random_polynomial(rng, rng.choice(["int", "fraction"]))
        images = {n: random_polynomial(rng, "int", terms=3, degree=2) for n in rng.sample(NAMES, 3)}
        result = p.subs(images)
        check_invariants(result)
        expected = p.to_sympy().subs(
            {sympy.Symbol(n): q.to_sympy() for n, q in images.items()}, simultaneous=True
        )
        assert sympy.expand(result.to_sympy() - expected) == 0
    p = x**2 + 3 * x * y
    assert p.subs({x: y, y: x}) == y**2 + 3 * x * y
    assert p.subs({"x": 2}) == 4 + 6 * y and p.subs({x: 0.5}) == 0.25 + 1.5 * y
    assert p.subs({x: 1, y: Fraction(1, 3)}) == 2 and p.subs({z: 1}) is p and p.subs({}) is p
    assert (x**2 * y).subs({x: 2 * z**3, y: z}) == 4 * z**7 and p.subs({x: 0 * x}) == 0
    assert p.subs({x: 2.0 * y}) == 10.0 * y**2 and (10**30 * x).subs({x: 10**30 * y}) == 10**60 * y
    assert p.subs({x: -y}) == -2 * y**2 and (x - y).subs({x: y}) == 0
    refuse(
        (lambda: p.subs({x + y: 1}),),
        (lambda: p.subs({1: x}), None, TypeError),
    )


def test_sympy_round_trip():
    rng = random.Random("sympy")
    for kind in ("int", "fraction", "huge", "float"):
        for _ in range(20):
            p = random_polynomial(rng, kind)
            q = Polynomial.from_sympy(p.to_sympy())
            check_invariants(q)
            assert p.is_exact == q.is_exact or p == 0 or not p.is_exact
            if p.is_exact:
                assert p == q
            else:
                assert max(map(abs, (p - q).coefs.tolist()), default=0) < 1e-14
    a, b = sympy.symbols("x y")
    assert Polynomial.from_sympy((a + b) ** 3 / 7 - sympy.Rational(1, 3)) == (x + y) ** 3 / 7 - Fraction(1, 3)
    assert Polynomial.from_sympy(sympy.Poly(a**2 + b, a)) == x**2 + y
    assert polynomial(a * 2) == 2 * x and x + a == 2 * x and x * a == x**2 and Polynomial.from_sympy(3) == 3
    assert a * x == a**2 and sympy.sympify(x + 1) == a + 1
    deep = a
    for _ in range(3000):
        deep = sympy.Mul(2, sympy.Add(deep, 1, evaluate=False), evaluate=False)
    assert Polynomial.from_sympy(deep).degree == 1


def test_coefficients_with_unknowns_are_linear_expressions():
    import sosdp as sd

    c = sd.variables("c", 3)
    x, y = sd.variables("x y")
    p = c[0] + c[1] * x + c[2] * x**2 * y
    assert sd.coefficient(p, x) == c[1]
    assert sd.coefficient(p, x**2) == c[2] * y
    assert sd.coefficient(p, x**2, [x, y]) == 0
    assert sd.coefficient(p, x**2 * y) == c[2]
    assert sd.coefficient(p, 1, [x, y]) == c[0]
    refuse((lambda: sd.coefficient(p, 2 * x), "one monomial"))


def test_integrals_over_boxes_are_exact():
    import sosdp as sd

    (c,) = sd.variables("c", 1)
    x, y = sd.variables("x y")
    p = c * x**2 + 3 * x * y + 1
    assert sd.integrate(p, {x: (0, 1)}) == c / 3 + Fraction(3, 2) * y + 1
    assert sd.integrate(p, {x: (-1, 1), y: (0, 2)}) == c * Fraction(4, 3) + 4
    assert sd.integrate(x**3, {x: (-1, 1)}) == 0
    assert float(sd.integrate(0.5 * x, {x: (0.0, 2.0)}).constant) == pytest.approx(1.0)
    refuse((lambda: sd.integrate(p, {x: (0, y)}), "numbers"))


test_refusals = refusals(
    (lambda: (10**400 * x)(x=0.5), "too large"),
    (lambda: (x + y)(x=1), "no value is given for y"),
    (lambda: (x + y)([1, 2, 3]), "do not fit"),
    *each(
        lambda refused: refused(),
        (
            lambda: (x + y)(1, 2),
            lambda: (x + y)(x=1j, y=1),
            lambda: (x + y)(x="a", y=1),
        ),
        None,
        TypeError,
    ),
    *each(
        lambda refused: refused(),
        (
            lambda: x.diff(x, -1),
            lambda: x.diff(x * y),
        ),
    ),
    *each(
        lambda text: Polynomial.from_sympy(sympy.sympify(text)),
        ["sin(x)", "x**y", "1/x", "sqrt(x)", "x**(1/2)", "I*x", "pi*x", "oo", "x + nan"],
    ),
)
