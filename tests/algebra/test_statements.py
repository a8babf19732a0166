"""Nothing is rounded, whether floats or exact numbers are computed with: against Fractions, term by term."""

import decimal
import itertools
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
import sympy

import sosdp as sd
from sosdp.algebra import Polynomial, polynomial, variables
from sosdp.algebra.coefficients import plus, times
from tests.refusals import each, refuse

x, y, z = variables("x y z")
BIG = 10**17 - 1
F = Fraction
Terms = dict[tuple, Fraction]


def values(p: Polynomial) -> Terms:
    """The numbers that the coefficients are."""
    return {tuple(sorted(m.items())): F(c) for c, m in p.terms()}


def added(*summands: Terms) -> Terms:
    total: Terms = {}
    for summand in summands:
        for monomial, c in summand.items():
            total[monomial] = total.get(monomial, F(0)) + c
    return {m: c for m, c in total.items() if c}


def scaled(p: Terms, c: Fraction) -> Terms:
    return {m: v * c for m, v in p.items() if v * c}


def product(p: Terms, q: Terms) -> Terms:
    parts = []
    for a, c in p.items():
        for b, d in q.items():
            powers: dict[str, int] = {}
            for name, k in (*a, *b):
                powers[name] = powers.get(name, 0) + k
            parts.append({tuple(sorted(powers.items())): c * d})
    return added(*parts)


def random_float(rng: random.Random) -> float:
    return rng.choice(
        [
            rng.uniform(-3, 3),
            float(rng.randint(1, 9)),
            1e16,
            1e-17,
            rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 20),
        ]
    )


def random_exact(rng: random.Random) -> Fraction:
    """A number that is no float, or whose shortest decimal is another number."""
    return F(
        rng.choice(
            [
                F(rng.randint(1, 9), rng.choice([3, 7])) + F(1, 11),
                rng.randint(2**53, 2**70) | 1,
                -BIG,
                F(rng.randint(1, 9), 2**70),
                10**400,
                2**60,
            ]
        )
    )


def test_sums_and_products_of_floats_and_integers_are_exact():
    assert (x + 0.1 * x).coefs.tolist() == [1 + F(0.1)] and (3 * (0.1 * x)).coefs.tolist() == [3 * F(0.1)]
    assert not (0.1 * y + x / 2).is_exact and repr(0.1 * y + x / 2) == "0.5*x + 0.1*y"
    assert values(1e16 * x + x) == {(("x", 1),): F(10**16 + 1)}
    assert values(x - 2.0**53 * x) == {(("x", 1),): F(1 - 2**53)}
    assert values(sum([1e16 * x, y, x])) == added(values(y), {(("x", 1),): F(10**16 + 1)})
    assert values(np.array([1, 1]) @ sd.PolynomialArray([1e16 * x, x])) == {(("x", 1),): F(10**16 + 1)}
    assert values(sd.PolynomialArray([x, x]) @ sd.PolynomialArray([1e16 * y, y])) == {
        (("x", 1), ("y", 1)): F(10**16 + 1)
    }
    assert values((x + y).subs({x: 1e16 * z, y: z})) == {(("z", 1),): F(10**16 + 1)}
    assert not (1e20 * y + x).is_exact and (1e16 * x + 2 * x).coefs.tolist() == [1e16 + 2]
    assert (0.1 * x + 0.2 * x).coefs.tolist() == [F(0.1) + F(0.2)]
    assert values(0.1 * x + x / 2) == {(("x", 1),): F(0.1) + F(1, 2)}
    chain = sum((k * x**k for k in range(1, 90)), polynomial(0)) + 0.5 * y + BIG * y
    assert chain.coefficient(y) == BIG + F(1, 2)


def test_integers_from_2_to_53_on_are_not_rounded():
    big = 10**20
    assert values((big * y + 0.5) + (7 * y + 0.5)) == {(("y", 1),): F(big + 7), (): F(1)}
    assert values((big * x + 0.5) * (x + 0.5) - big * x**2) == {(("x", 1),): F(big + 1, 2), (): F(1, 4)}
    wanted = {(("x", 1),): F(big + 7), (("y", 1),): F(1, 2)}
    weights = np.array([big, 0.5, 7], dtype=object)
    assert values(weights @ sd.PolynomialArray([x, y, x])) == wanted
    assert values(sd.PolynomialArray([x, y, x]) @ weights) == wanted
    assert values(weights @ sd.PolynomialArray([x + 0.5, y, x])) == added(wanted, {(): F(big, 2)})
    assert values(np.array([2**53 - 1, 0.5, 2], dtype=object) @ sd.PolynomialArray([x, y, x])) == {
        (("x", 1),): F(2**53 + 1),
        (("y", 1),): F(1, 2),
    }
    rows = np.array([[1], [1], [2]])
    repeated = Polynomial.from_arrays(rows, [2**53 - 1, 2, 0.5])
    assert repeated == Polynomial.from_arrays(rows[1:], [2**53 + 1, 0.5]) and 2**53 + 1 in repeated.coefs
    assert F(10**16 + 1) in Polynomial.from_arrays(rows, [1e16, 1.0, 0.5]).coefs


def test_numbers_of_every_kind_keep_their_value():
    third = np.longdouble(1) / 3
    with mpmath.workprec(200):
        long = mpmath.mpf(1) / 3
        tiny = mpmath.mpf(2) ** -2000
    kinds = {
        np.float32(0.1): F(float(np.float32(0.1))),
        third: F(*third.as_integer_ratio()),
        np.longdouble("0.5"): F(1, 2),
        decimal.Decimal("0.1"): F(1, 10),
        decimal.Decimal("1e-400"): F(1, 10**400),
        sympy.Rational(1, 3): F(1, 3),
        sympy.Float("0.1"): F(0.1),
        tiny: F(1, 2**2000),
        np.uint64(2**64 - 1): F(2**64 - 1),
    }
    for given, value in kinds.items():
        for p in (
            x * given,
            given * x,
            polynomial(given) * x,
            sd.PolynomialArray([x])[0] * given,
            x / 3 + given * x - x / 3,
        ):
            assert values(polynomial(p)) == {(("x", 1),): value}, (given, p)
    assert abs(F((long * x).coefs[0]) - F(1, 3)) < F(1, 2**190)
    assert abs(F(polynomial(sympy.Float("0.1", 50)).constant) - F(1, 10)) < F(1, 10**50)
    assert values(sd.PolynomialArray([x, y]) @ (np.ones(2, dtype=np.longdouble) / 3)) == {
        (("x", 1),): kinds[third],
        (("y", 1),): kinds[third],
    }
    assert values((sd.PolynomialArray([x]) @ sp.csr_array(np.array([[2**64 - 1]], dtype=np.uint64)))[0]) == {
        (("x", 1),): F(2**64 - 1)
    }
    refuse(
        *each(lambda irrational: x * irrational, (sympy.sqrt(2), sympy.pi), "is not a polynomial"),
        *each(
            lambda bad: x * bad,
            (mpmath.inf, mpmath.nan, np.longdouble("inf"), sympy.Float("inf"), decimal.Decimal("nan")),
            "finite|not a polynomial",
        ),
    )


def test_text_and_sympy_keep_both_values():
    p = BIG * x**2 / 3 + 0.1 * y
    assert polynomial(str(p)) == p and Polynomial.from_sympy(p.to_sympy()) == p
    s = sympy.Symbol("x")
    e = Polynomial.from_sympy(sympy.Add(sympy.Float(0.1) * s, s / 3, evaluate=False))
    assert values(e) == {(("x", 1),): F(0.1) + F(1, 3)}
    assert values(sd.integrate(0.1 * x**2 * y, {x: (0, F(1, 3))})) == {(("y", 1),): F(0.1) / 81}
    assert values(sd.integrate(x**2 * y, {x: (0.1, F(1, 3))})) == {(("y", 1),): (F(1, 27) - F(0.1) ** 3) / 3}


def test_chebyshev_coefficients_keep_both_values():
    t = sd.chebyshev(x, 2)
    assert (t * BIG + 0.5 * t).terms == {next(iter(t.terms)): BIG + F(1, 2)}
    assert (t / 3 + 0.1 * t).terms == {next(iter(t.terms)): F(0.1) + F(1, 3)}
    assert (t * BIG * 0.1).terms == {next(iter(t.terms)): BIG * F(0.1)}
    assert (0.1 * t / 3).terms == {next(iter(t.terms)): F(0.1) / 3} and (t / F(1, 3)).terms == {
        next(iter(t.terms)): 3
    }
    rng = random.Random(5)
    for _ in range(300):
        c, d = random_float(rng), random_exact(rng)
        assert plus(c, d) == plus(d, c) == F(c) + d and times(c, d) == times(d, c) == F(c) * d
        n = rng.randint(-9, 9)
        assert times(c, n) == F(c) * n and plus(c, n) == F(c) + n
        assert isinstance(times(c, 2), float) and not isinstance(plus(d, 1), float)


NUMBERS = [
    (0, 0), (-1, -1), (2**53 + 1, 2**53 + 1), (-(2**63) - 5, -(2**63) - 5), (np.int8(-128), -128),
    (np.uint64(2**64 - 1), 2**64 - 1), (np.int64(-(2**63)), -(2**63)),
    (np.float16(0.1), F(float(np.float16(0.1)))),
    (np.float32(0.1), F(float(np.float32(0.1)))), (0.1, F(0.1)), (1e300, F(1e300)), (5e-324, F(5e-324)),
    (np.longdouble(1) / 3, F(*(np.longdouble(1) / 3).as_integer_ratio())), (F(-1, 3), F(-1, 3)),
    (decimal.Decimal("1e-30"), F(1, 10**30)), (BIG, BIG),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["operators", "complex", "chebyshev"])
def test_combinations_of_words_round_nothing(kind):
    """Sums, products, powers, quotients and adjoints against pairs of Fractions by word."""
    a, b = {
        "operators": lambda: sd.operators("a b", hermitian=False, party="P"),
        "complex": lambda: sd.complex_variables("a b"),
        "chebyshev": lambda: (sd.chebyshev(x, 1), sd.chebyshev(y, 1)),
    }[kind]()
    real = kind == "chebyshev"  # T1(x) is x: their value is a polynomial's
    sort = tuple if kind == "operators" else sorted
    rng = random.Random(kind)

    def pairs(p):
        if real:
            return {m: (c, F(0)) for m, c in values(p.to_polynomial()).items()}
        return {w: (F(re), F(im)) for w, (re, im) in p.terms.items()}

    def times_of(p, q):
        parts = []
        for (u, (c, d)), (v, (e, f)) in itertools.product(p.items(), q.items()):
            word = next(iter(product({u: F(1)}, {v: F(1)}))) if real else tuple(sort(u + v))
            parts.append({word: (c * e - d * f, c * f + d * e)})
        return sum_of(*parts)

    def sum_of(*summands):
        total = {}
        for w, (c, d) in (item for p in summands for item in p.items()):
            e, f = total.get(w, (F(0), F(0)))
            total[w] = (c + e, d + f)
        return {w: c for w, c in total.items() if any(c)}

    def number():
        given, value = rng.choice(NUMBERS)
        if real or rng.random() < 0.6:
            return given, {(): (F(value), F(0))}
        other = rng.choice([0.1, -3.0, 2.0**60, 1e-300])
        return complex(0.7, other), {(): (F(0.7), F(other))}

    letters = [a, b] if real else [a, b, a.conj() if kind == "complex" else a.H]
    for _ in range(60):
        best, wanted = [], []
        for _ in range(2):
            p, q = letters[0] * 0, {}
            for letter in rng.choices(letters, k=3):
                c, exact = number()
                p, q = p + letter * c, sum_of(q, times_of(pairs(letter), exact))
            c, exact = number()
            best.append(p + c)
            wanted.append(sum_of(q, exact))
        (p, q), (u, v) = best, wanted
        assert pairs(p) == u
        minus = {w: (-c, -d) for w, (c, d) in v.items()}
        for result, truth in (
            (p - q, sum_of(u, minus)),
            (p * q, times_of(u, v)),
            (p**3, times_of(times_of(u, u), u)),
        ):
            assert pairs(result) == truth
        c, exact = number()
        ((e, f),) = exact.values()
        if e or f:
            inverse = {(): (e / (e * e + f * f), -f / (e * e + f * f))}
            assert pairs(p / c) == times_of(u, inverse)
        if not real:
            assert pairs((p * q).adjoint) == pairs(q.adjoint * p.adjoint)
            assert (p + p.adjoint).is_hermitian and pairs(p.adjoint.adjoint) == pairs(p)


def test_bounds_refer_to_what_was_stated():
    """Rounded, the first is certified as 0."""
    on = sd.System(x**2 == 1)
    assert -1.001 < sd.minimize(BIG * x**2 - (BIG + 1) + 0.5 * y**2, on, 2).certified_bound <= -1
    assert (
        sd.feasible(sd.System(x**2 == 1, (BIG + 2) * x**2 - (BIG + 1) - 1.0 * y >= 0, y >= 0.5), 2).status
        == "optimal"
    )
    u = variables("u")
    program = sd.SosProgram([u]).require(BIG * x**2 - (BIG + 1) + 0.5 * y**2 - u, on=on, degree=2)
    assert -1.001 < program.maximize(u).certified_bound <= -1
    relaxation = sd.Relaxation(sd.System(x**2 <= 1), 2)
    squares = relaxation.E(x) ** 2 * F(1, 3) * decimal.Decimal("0.1")
    assert squares.squares[0][0] == F(1, 30)
