"""Polynomials in Chebyshev coefficients: arithmetic, text, bounds with their proofs, and what is refused."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import combination
from sosdp.algebra.chebyshev import from_polynomial
from sosdp.algebra.parse import ParseError
from sosdp.conic.program import ProblemTooLarge
from sosdp.relaxation.solve.sos_cone import chebyshev as exact
from sosdp.relaxation.solve.sos_cone.unit_box import bound_on_unit_box, loss_on_unit_box
from tests.refusals import each, refusals, refuse

Series = sd.ChebyshevPolynomial


def test_arithmetic_agrees_with_monomials():
    x, y = sd.variables("x y")
    p = 2 * sd.chebyshev(x, 3) - sd.chebyshev(x, 2) * sd.chebyshev(y, 1) / 3 + Fraction(1, 2)
    q = sd.chebyshev(y, 4) - x
    for left, right in [
        (p * q, p.to_polynomial() * q.to_polynomial()),
        (p - q, p.to_polynomial() - q.to_polynomial()),
        (q**3, q.to_polynomial() ** 3),
    ]:
        assert left.is_exact and left.to_polynomial() == right and from_polynomial(right) == left
    assert p(x=0.3, y=-0.7) == pytest.approx(float(p.to_polynomial()(x=0.3, y=-0.7)))
    assert sd.chebyshev(x, 1000)(x=np.cos(0.3)) == pytest.approx(np.cos(300.0))


def test_text_and_pickle_are_inverses():
    x, y = sd.variables("x y")
    for p in (
        -sd.chebyshev(x, 3) * sd.chebyshev(y, 2) / 7 + 1.5 * sd.chebyshev(y, 1) - 2,
        sd.chebyshev(x, 0),
        0 * sd.chebyshev(x, 2),
        Series.series(x, np.random.default_rng(0).standard_normal(40)),
    ):
        again = Series.parse(str(p))
        assert again.terms.keys() == p.terms.keys()
        assert all(float(again.terms[t]) == float(c) for t, c in p.terms.items())
        assert pickle.loads(pickle.dumps(p)) == p
    assert Series.parse("T2(x)*(T3(x) - 1)") == sd.chebyshev(x, 2) * (sd.chebyshev(x, 3) - 1)


@pytest.mark.parametrize("degree", [7, 40, 100])
def test_one_variable_to_the_eighth_digit(degree):
    x = sd.variables("x", 1)[0]
    c = np.random.default_rng(degree).standard_normal(degree + 1)
    answer = sd.minimize(Series.series(x, c), sd.System(1 - x**2 >= 0))
    angle = np.linspace(0, np.pi, 4000 * degree + 1)
    values = np.polynomial.chebyshev.chebval(np.cos(angle), c)
    k = int(values.argmin())
    # a parabola through the best three points: off by less than 1e-9
    a, b, d = values[max(k - 1, 0)], values[k], values[min(k + 1, values.size - 1)]
    best = b - (a - d) ** 2 / (8 * (a - 2 * b + d)) if 0 < k < values.size - 1 else b
    assert answer.status == "optimal"
    assert answer.certified_bound <= best + 1e-9
    assert best - answer.certified_bound <= 1e-8
    assert answer(Series.series(x, c)) == pytest.approx(answer.bound, abs=1e-6)
    assert answer(sd.chebyshev(x, 0)) == pytest.approx(1, abs=1e-8)


def test_two_variables_and_the_largest_value():
    x, y = sd.variables("x y")
    p = sd.chebyshev(x, 6) * sd.chebyshev(y, 4) + sd.chebyshev(x, 1) / 4
    system = sd.System(1 - x**2 >= 0, y >= -1, y <= 1)
    low, high = sd.minimize(p, system, 14), sd.maximize(p, system, 14)
    grid = np.cos(np.linspace(0, np.pi, 721))
    values = p(x=grid[:, None], y=grid[None, :])
    assert low.certified_bound <= values.min() and high.certified_bound >= values.max()
    assert low.certified_bound == pytest.approx(values.min(), abs=2e-2)
    assert high.certified_bound == pytest.approx(1.25, abs=1e-5)


def test_the_proof_does_not_need_good_multipliers():
    """Whatever the Gram matrices are, the bound minus the loss is below every value."""
    generator = np.random.default_rng(3)
    exponents = np.array([[0], [3], [5], [8]])
    c = [0.3, -1.0, 0.7, Fraction(1, 3)]
    right = bound_on_unit_box(exponents, c, 4)
    grid = np.cos(np.linspace(0, np.pi, 2001))
    series = np.zeros(9)
    series[exponents[:, 0]] = [float(v) for v in c]
    least = np.polynomial.chebyshev.chebval(grid, series).min()
    assert right.proven <= least <= right.proven + 1e-3
    for size in (0.0, 1e-9, 1e-3, 1.0):
        grams = []
        for g in right.grams:
            noise = generator.standard_normal(g.shape) * size
            grams.append(g + noise + noise.T)
        for bound in (right.value - 1.0, right.value + 1e-7, right.value + 0.5):
            assert (
                bound - loss_on_unit_box(exponents, c, bound, [np.arange(k)[:, None] for k in (5, 4)], grams)
                <= least + 1e-12
            )


def test_gram_series_is_exact():
    generator = np.random.default_rng(1)
    exponents = np.array([[0, 0], [1, 0], [0, 1], [2, 1], [1, 3]])
    matrix, scale = exact.dyadic(
        generator.standard_normal((5, 5)) * np.exp2(generator.integers(-30, 30, (5, 5)))
    )
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    result = exact.gram_series(exponents, matrix, scale)
    total = Series({})
    for i in range(5):
        for j in range(5):
            a = Series({tuple((v + 1, int(k)) for v, k in enumerate(exponents[i]) if k): 1})
            b = Series({tuple((v + 1, int(k)) for v, k in enumerate(exponents[j]) if k): 1})
            total = total + a * b * Fraction(float(matrix[i, j]))
    table = {}
    for name, value in result.terms.items():
        row = [name & 0xFFFF, name >> 16]
        table[tuple((v + 1, k) for v, k in enumerate(row) if k)] = Fraction(value, 2**result.scale)
    assert table == {t: Fraction(c) for t, c in total.terms.items()}


def test_names_hold_exponents_of_any_number_of_variables():
    generator = np.random.default_rng(2)
    for variables in (0, 1, 3, 4, 11):
        exponents = generator.integers(0, 2**15, (20, variables))
        result = exact.names(exponents)
        assert [[name >> 16 * j & 0xFFFF for j in range(variables)] for name in result] == exponents.tolist()


def test_a_product_of_series_is_exact():
    generator = np.random.default_rng(4)
    left = np.array([[0, 0], [3, 1], [0, 2], [1, 0]])
    right = np.array([[0, 0], [2, 0], [2, 3]])
    a, b = (generator.integers(-99, 99, e.shape[0]).tolist() for e in (left, right))
    series = [exact.Series(dict(zip(exact.names(e), v, strict=True)), 3) for e, v in ((left, a), (right, b))]
    result = exact.product(*series)
    parts = [
        sum(
            Series({tuple((v + 1, k) for v, k in enumerate(e) if k): c})
            for e, c in zip(rows, values, strict=True)
        )
        for rows, values in ((left.tolist(), a), (right.tolist(), b))
    ]
    wanted = parts[0] * parts[1]
    table = {
        tuple((v + 1, k) for v, k in enumerate([name & 0xFFFF, name >> 16]) if k): Fraction(
            c, 2**result.scale
        )
        for name, c in result.terms.items()
    }
    assert table == {t: Fraction(c) / 64 for t, c in wanted.terms.items()}


def test_conversion_from_monomials_is_exact():
    exponents = np.array([[0, 0], [3, 1], [2, 2], [0, 5]])
    values = [0.1, -1.75, 3.0, 0.3]
    middle, half = np.array([0.25, -0.5]), np.array([0.75, 0.3])
    result = exact.from_monomials(exponents, values, middle, half)
    t, u = sd.variables("conversion_t conversion_u")  # known to no other test: in this order
    lines = [
        Fraction(float(m)) + Fraction(float(h)) * v for m, h, v in zip(middle, half, (t, u), strict=True)
    ]
    p = sum(
        Fraction(c) * lines[0] ** int(a) * lines[1] ** int(b)
        for c, (a, b) in zip(values, exponents, strict=True)
    )
    wanted = from_polynomial(p)
    ids = wanted.variable_ids
    table = dict(zip(exact.names(wanted.exponents(ids)), wanted.terms.values(), strict=True))
    assert {k: Fraction(v, 2**result.scale) for k, v in result.terms.items()} == table


def test_other_sets_and_solvers_are_refused():
    x, y = sd.variables("x y")
    p = sd.chebyshev(x, 3)
    refuse(
        *each(
            lambda system: sd.minimize(p, system),
            (sd.System(), sd.System(4 - x**2 >= 0), sd.System(1 - x**2 >= 0, x >= 0)),
            "box",
        )
    )
    refuse(
        (lambda: sd.minimize(p, sd.System(1 - x**2 >= 0), solver="scs"), "sos_cone", ValueError),
        (lambda: sd.minimize(p, sd.System(1 - x**2 >= 0), 3), "even", ValueError),
        (lambda: sd.minimize(p, sd.System(1 - x**2 >= 0), sparsity="dense"), "sparsity", TypeError),
    )
    refuse(
        *each(lambda wrong: sd.chebyshev(x, wrong), (-1, 1.5, True), "degree"),
        (lambda: sd.chebyshev(x + y, 2), "variable"),
    )


def test_what_a_float_does_not_say_of_a_rational_is_charged():
    nothing = [np.zeros((1, 1))]
    basis = [np.zeros((1, 1), dtype=np.int64)]
    constant = np.zeros((1, 1), dtype=np.int64)
    assert loss_on_unit_box(constant, [Fraction(2**60 - 1)], 2.0**60, basis, nothing) >= 1
    assert loss_on_unit_box(constant, [1.0], 1.5, basis, nothing) >= 0.5
    assert loss_on_unit_box(constant, [1.0], 1.0, basis, [-np.ones((1, 1))]) >= 2


def test_the_bound_on_a_series_is_above_it():
    for value in (1, 3, 2**61 + 1, 2**200 - 1, 10**40 + 7):
        for scale in (0, 5, 90):
            size = exact.Series({0: -value}, scale).size()
            assert Fraction(size) >= Fraction(value, 2**scale)
            assert size <= float(Fraction(value, 2**scale)) * (1 + 1e-9)


def test_problem_files_and_the_command_line(tmp_path, capsys):
    import json

    from sosdp.cli import main

    c = np.random.default_rng(2).standard_normal(61)
    terms = [[float(v), {"x": k}] for k, v in enumerate(c)]
    data = {
        "format": "sosdp-problem/1",
        "variables": ["x"],
        "maximize": {"chebyshev": terms},
        "subject_to": ["1 - x**2 >= 0"],
    }
    problem = sd.load_problem(data)
    assert problem.chebyshev is not None and len(problem.chebyshev.terms) == 61
    problem.save(tmp_path / "p.sos.json")
    again = sd.load_problem(tmp_path / "p.sos.json")
    assert {t: float(v) for t, v in again.chebyshev.terms.items()} == {
        t: float(v) for t, v in problem.chebyshev.terms.items()
    }
    assert main(["solve", str(tmp_path / "p.sos.json"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    values = np.polynomial.chebyshev.chebval(np.cos(np.linspace(0, np.pi, 20001)), c)
    assert result["certified_bound"] == pytest.approx(values.max(), abs=1e-4)
    assert result["certified_bound"] >= values.max() and result["status"] == "optimal"
    refuse(
        *each(
            lambda wrong: sd.load_problem({**data, "maximize": wrong}),
            (
                {"chebyshev": 3},
                {"chebyshev": [[1, {"y": 2}]]},
                {"chebyshev": [[1, {"x": -1}]]},
                {"c": []},
            ),
            None,
            sd.ProblemFileError,
        )
    )


def test_powers_and_degrees_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(combination, "_MOST_PRODUCTS", 5000)
    x, y = sd.variables("x y")
    p, box = sd.chebyshev(x, 1) + sd.chebyshev(x, 2) - 2, sd.System(1 - x**2 >= 0)
    assert p**5 == p * p * p * p * p and (p - p) ** 3 == 0 and p**0 == 1
    refuse(
        (lambda: p**1_000_000, "a power of degree 2000000 is too large", ValueError),
        (lambda: p**300, "products of two terms", ValueError),
        (
            lambda: sd.minimize(sd.chebyshev(x, 3000), box, time_limit=1),
            "more than the time limit of 1 s",
            ProblemTooLarge,
        ),
    )
    refuse(
        *each(lambda wrong: sd.minimize(p, box, degree=wrong), (4.0, "a", True), "degree must be even"),
        (lambda: sd.minimize(p, box, tolerance="a"), "tolerance must be a number"),
    )
    high = sd.maximize(1e308 * sd.chebyshev(x, 3) + 1e308 * sd.chebyshev(x, 2), box)
    assert high.status == "failed" and high.certified_bound is None


test_refusals = refusals(
    *each(Series.parse, ("", "T3(x", "1 +", "3//2", "x + 1", "2/0", "1/T2(x)"), None, ParseError),
    (lambda: exact.names(np.array([[0, 2**15]])), "exponent", OverflowError),
)
