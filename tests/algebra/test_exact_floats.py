"""Arithmetic of floats and exact numbers against Fractions: random arrays, wild exponents, every kind."""

import pickle
import random
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.algebra import Polynomial, polynomial, variables
from sosdp.algebra.coefficients import from_whole, scale_of, whole
from tests.algebra.test_statements import added, product, random_exact, scaled, values
from tests.refusals import each, refuse

xs = variables("e", 3)
x, y, z = xs


def wild(rng: random.Random) -> float:
    """A float: of few digits or of all, of any size, subnormal ones among them."""
    return rng.choice(
        [
            rng.uniform(-3, 3),
            float(rng.randint(-5, 5)),
            rng.randint(-9, 9) / 8,
            rng.uniform(-1, 1) * 2.0 ** rng.randint(-60, 60),
            rng.uniform(-1, 1) * 2.0 ** rng.choice([-1060, -500, 500, 1000]),
            0.1,
            5e-324,
            1e16,
            float(2**53 - 1),
        ]
    )


def mixed(rng: random.Random) -> float | F:
    """A float, or a number that is none."""
    return rng.choice([wild, random_exact])(rng)


def short(rng: random.Random) -> float | F | int:
    """A number of few digits."""
    return rng.choice([1.0, 0.5, -3.0, 7, F(1, 3), 10**20])


def random_polynomial(rng: random.Random, number=wild, terms: int = 5) -> Polynomial:
    rows = np.array([[rng.randint(0, 3) for _ in range(2)] for _ in range(rng.randint(1, terms))])
    ids = np.array([0, *(int(v.variable_ids[0]) for v in xs)])
    return Polynomial.from_arrays(np.sort(ids[rows], axis=1), [number(rng) for _ in rows])


def power(p: dict, exponent: int) -> dict:
    result = {(): F(1)}
    for _ in range(exponent):
        result = product(result, p)
    return result


def substituted(p: dict, table: dict[str, dict]) -> dict:
    total: dict = {}
    for monomial, c in p.items():
        part = {(): c}
        for name, k in monomial:
            part = product(part, power(table[name], k) if name in table else {((name, k),): F(1)})
        total = added(total, part)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_every_operation_gives_the_numbers_that_fractions_give(seed):
    rng = random.Random(f"exact floats {seed}")
    for _ in range(60):
        kinds = [wild, random_exact, mixed, lambda r: r.uniform(-1, 1), short]
        p, q = (random_polynomial(rng, rng.choice(kinds)) for _ in range(2))
        a, b, c = values(p), values(q), mixed(rng)
        assert values(p + q) == added(a, b) and values(p - q) == added(a, scaled(b, F(-1)))
        assert values(p * q) == values(q * p) == product(a, b)
        assert values(p * c) == values(c * p) == scaled(a, F(c)) and values(p + c) == added(a, {(): F(c)})
        assert values(p**3) == power(a, 3) and values((p + q) ** 2 - p * p) == added(
            scaled(product(a, b), F(2)), product(b, b)
        )
        assert values((p >= q).polynomial) == values(p - q) == values((p == q).polynomial)
        assert values(pickle.loads(pickle.dumps(p + q))) == added(a, b)
        if c:
            assert values(p / c) == scaled(a, 1 / F(c))
        moved = {x: c * y + 1.5, y: q}
        assert values(p.subs(moved)) == substituted(a, {"e0": values(c * y + 1.5), "e1": b})
        single = {x: c, y: 0.5 * z, z: 0.3 * x * y}
        assert values(p.subs(single)) == substituted(
            a, {v.name: values(polynomial(r)) for v, r in single.items()}
        )
        slope = {
            tuple((n, k - (n == "e0")) for n, k in m if k > (n == "e0")): d * dict(m)["e0"]
            for m, d in a.items()
            if "e0" in dict(m)
        }
        assert values(p.diff(x)) == slope == values(p.gradient([x])[0])
        point = {v: F(rng.randint(-9, 9), rng.choice([1, 3, 4])) for v in xs}
        exact = p.as_exact()(point)
        assert exact == sum((substituted(a, {v.name: {(): F(t)} for v, t in point.items()})).values(), F(0))
        assert exact == p.subs(point).constant
        assert (
            polynomial(str(p)) == p
            and p.as_exact() == p
            and (p + q) - q == p
            and hash(p) == hash(p.as_exact())
        )


@pytest.mark.parametrize("seed", range(4))
def test_sums_and_matrix_products_give_the_numbers_that_fractions_give(seed):
    rng = random.Random(f"exact arrays {seed}")
    for _ in range(25):
        ps = sd.PolynomialArray([random_polynomial(rng, rng.choice([wild, mixed])) for _ in range(4)])
        terms = [values(p) for p in ps]
        weights = np.array([[wild(rng) for _ in range(4)] for _ in range(3)])
        wanted = [added(*(scaled(t, F(float(w))) for t, w in zip(terms, row))) for row in weights]
        assert [values(p) for p in weights @ ps] == wanted == [values(p) for p in ps @ weights.T]
        assert [values(p) for p in ps @ sp.csr_array(weights.T)] == wanted
        assert values(ps.sum()) == values(sum(ps)) == added(*terms)
        assert values(ps @ ps) == added(*(product(t, t) for t in terms))
        numbers = [mixed(rng) for _ in ps]
        wanted = added(*(scaled(t, F(c)) for t, c in zip(terms, numbers)))
        assert (
            values(np.array(numbers, dtype=object) @ ps) == wanted == values(ps @ sd.PolynomialArray(numbers))
        )
        rows = np.array([[int(x.variable_ids[0])], [0], [0], [int(y.variable_ids[0])]])
        assert values(Polynomial.from_arrays(rows, numbers)) == added(
            *(scaled(m, F(c)) for m, c in zip(map(values, (x, x**0, x**0, y)), numbers))
        )
        number = rng.choice([np.float32(0.1), np.float16(0.1), np.longdouble(1) / 3, np.int64(2**62)])
        exact = F(int(number)) if isinstance(number, np.integer) else F(*number.as_integer_ratio())
        assert values(ps[0] * number) == scaled(terms[0], exact)


def test_large_products_give_the_numbers_that_fractions_give():
    """The three ways of ``multiply``: random floats need integers, floats of few digits need none."""
    rng = np.random.default_rng(3)
    for digits in (53, 12):
        factors = []
        for _ in range(2):
            basis = sd.monomials(xs, 12)
            c = rng.standard_normal(basis.size)
            factors.append(basis @ (c if digits == 53 else np.rint(c * 2**digits) / 2**digits))
        left, right = factors
        result = left * right
        assert (result.coefs.dtype == object) == (digits == 53)
        point = {x: 3, y: -2, z: 5}
        assert result.as_exact()(point) == left.as_exact()(point) * right.as_exact()(point)
        assert result.as_exact() == left.as_exact() * right.as_exact()


@pytest.mark.parametrize("seed", range(3))
def test_integers_of_floats_and_back(seed):
    rng = random.Random(f"grids {seed}")
    for _ in range(300):
        c = np.array([wild(rng) for _ in range(rng.randint(1, 20))])
        c = c[c != 0]
        scale = scale_of(c)
        k = whole(c, scale)
        assert [F(v) * F(2) ** scale.unit for v in k.tolist()] == [F(v) for v in c.tolist()]
        assert all(abs(v) <= 2**scale.bits for v in k.tolist())
        assert np.array_equal(from_whole(k, scale.unit), c) and from_whole(k, scale.unit).dtype == np.float64


@pytest.mark.parametrize(
    "bad", [float("nan"), float("inf"), -np.inf, np.float32("nan"), np.longdouble("inf")]
)
def test_numbers_that_are_not_finite_are_refused(bad):
    refuse(
        *each(
            lambda make: make(),
            (
                lambda: x * bad,
                lambda: x + bad,
                lambda: x / bad,
                lambda: x >= bad,
                lambda: polynomial(bad),
                lambda: x.subs({x: bad}),
                lambda: np.array([bad]) @ sd.PolynomialArray([x]),
                lambda: Polynomial.from_arrays(np.array([[1]]), [bad]),
                lambda: Polynomial.from_arrays(np.array([[1]]), np.array([bad])),
            ),
            "finite|NaN",
        )
    )


def test_shifted_polynomials_keep_their_minimum():
    p = 0.1 * (x - 800004.4) ** 2 * (x - 800003.7) ** 2
    assert p.as_exact()({x: F(800004.4)}) == p.as_exact()({x: F(800003.7)}) == 0
    assert p.subs({x: x + 800004.4}).constant == 0 and not p.is_exact and p == p.as_exact()
    q = 0.5 * (x - 2005.9) ** 2 * (x - 1994.7) ** 2 + 0.3 * x
    assert q.as_exact()({x: F(1994.7)}) == F(0.3) * F(1994.7)


def test_fractions_made_of_numpy_integers_become_whole_numbers():
    """Fraction(np.int64(3)) keeps numpy's integer, which wraps around."""
    x = sd.variables("x")
    broad = F(np.int64(2**62), 1)
    p = x * broad * 4 + broad
    assert all(
        type(part) is int for c in p.as_exact().coefs.tolist() for part in (c.numerator, c.denominator)
    )
    assert p(F(1)) == 2**64 + 2**62
