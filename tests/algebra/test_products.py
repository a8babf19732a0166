"""Large products of polynomials, and monomials whose keys collide, against plain dictionaries."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sosdp.algebra import Polynomial, polynomial, variables
from sosdp.algebra import monomials as mono
from sosdp.algebra.build import coefficient
from tests.algebra.test_polynomial import check_invariants
from tests.refusals import each, refuse

# ---------------------------------------------------------------------- large products


def sample(rng: np.random.Generator, count: int, degree: int, terms: int, coefs) -> Polynomial:
    ids = np.array([v.variable_ids[0] for v in variables("t", count)])
    basis = mono.basis(ids, degree)
    return Polynomial.from_arrays(basis[rng.choice(len(basis), terms, replace=False)], coefs(terms))


def integers(rng, bits):
    return lambda n: [
        int(s) * (int.from_bytes(rng.bytes(bits // 8), "little") + 1) for s in rng.choice([-1, 1], n)
    ]


def direct_product(p: Polynomial, q: Polynomial) -> Counter:
    """The product by a dictionary, term by term."""
    result: Counter = Counter()
    right = [(c, tuple(row[row > 0].tolist())) for c, row in zip(q.coefs.tolist(), q.monos)]
    for c, row in zip(p.coefs.tolist(), p.monos):
        a = tuple(row[row > 0].tolist())
        for d, b in right:
            result[tuple(sorted(a + b))] += c * d
    return Counter({m: c for m, c in result.items() if c != 0})


def terms_of(p: Polynomial) -> dict:
    return {tuple(row[row > 0].tolist()): c for c, row in zip(p.coefs.tolist(), p.monos)}


@pytest.mark.parametrize(
    ("count", "degree", "bits"),
    [
        (2, 25, 8),
        (2, 25, 56),
        (3, 9, 16),
        (6, 4, 8),
        (6, 4, 24),
        (6, 4, 40),
        (6, 4, 80),
        (30, 2, 8),
        (30, 2, 64),
    ],
)
def test_large_products_are_exact_in_every_regime(count, degree, bits):
    rng = np.random.default_rng(count * 1000 + degree * 100 + bits)
    p = sample(rng, count, degree, 190, integers(rng, bits))
    q = sample(rng, count, degree, 205, integers(rng, bits))
    pairs = 4 * p.coefs.size * q.coefs.size
    left, right = p * variables("t0") ** 2 + p * variables("t1"), q + q * variables("t1") ** 3
    assert pairs > 2**17  # beyond what is done at once
    product = left * right
    check_invariants(product)
    assert terms_of(product) == direct_product(left, right)
    assert right * left == product


def test_large_products_of_fractions_clear_denominators():
    rng = np.random.default_rng(5)
    p = sample(rng, 6, 4, 200, lambda n: [Fraction(int(a), 12) for a in rng.integers(1, 99, n)])
    q = sample(rng, 6, 4, 200, lambda n: [Fraction(int(a), 35) for a in rng.integers(1, 99, n)])
    product = p * q
    check_invariants(product)
    assert terms_of(product) == direct_product(p, q)
    primes = [k for k in range(2, 1300) if all(k % d for d in range(2, k))]
    r = sample(rng, 6, 4, 200, lambda n: [Fraction(1, primes[k]) for k in range(n)])
    assert terms_of(r * q) == direct_product(r, q)
    records = variables("t", 30)
    spread = sum((v - sum(records) / 30) ** 2 for v in records)
    assert spread._ratio[1] == 30 and spread == sum(v * v for v in records) - sum(records) ** 2 / 30


def test_large_product_with_cancellation():
    t = variables("t", 8)
    p = (t.sum() + 1) ** 4
    q = (1 - t.sum()) ** 4
    assert p.coefs.size * q.coefs.size > 2**17
    product = p * q
    check_invariants(product)
    assert product == (1 - t.sum() ** 2) ** 4


def test_keys_that_share_a_slot_are_told_apart(monkeypatch):
    from sosdp.algebra import multiply

    monkeypatch.setattr(multiply, "_SLOT_BITS", 6)  # nearly every key meets another one
    monkeypatch.setattr(multiply, "_INTERVAL", 1 << 12)
    rng = np.random.default_rng(9)
    p = sample(rng, 30, 2, 400, integers(rng, 8))
    q = sample(rng, 30, 2, 400, integers(rng, 8))
    assert terms_of(p * q) == direct_product(p, q)


def test_a_collision_of_keys_is_noticed_where_terms_meet(monkeypatch):
    a, b = variables("collide_a collide_b")
    table = mono.keys.weights(int(b.variable_ids[0])).copy()
    table[b.variable_ids[0]] = table[a.variable_ids[0]]
    monkeypatch.setattr(mono.keys, "table", table)
    rows = np.concatenate([a.monos, b.monos])
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: Polynomial.from_arrays(rows, [1, -1]),
                lambda: Polynomial.from_arrays(rows[:1], [1]) - Polynomial.from_arrays(rows[1:], [1]),
            ),
            "same 64-bit key",
        )
    )


@pytest.fixture
def colliding(monkeypatch):
    """Two variables whose keys are equal, and a third."""
    a, b, c = variables("collide_a collide_b collide_c")
    table = mono.keys.weights(int(c.variable_ids[0])).copy()
    table[b.variable_ids[0]] = table[a.variable_ids[0]]
    monkeypatch.setattr(mono.keys, "table", table)
    return [Polynomial.from_arrays(v.monos, [1]) for v in (a, b)] + [c]


COLLIDE = pytest.raises(ArithmeticError, match="same 64-bit key")


def test_a_collision_is_noticed_in_products(colliding):
    a, b, c = colliding
    with COLLIDE:
        (a + c) * (b - c)
    with COLLIDE:
        (a + 0.5 * c) * (b - 0.5 * c)
    with COLLIDE:
        (10**30 * a + c) * (b - 10**30 * c)
    assert (a * b).coefs.size == 1 and ((a + c) * (c + 1)).coefs.size == 4


@pytest.mark.parametrize("way", ["slots", "sorted", "flint", "floats by flint"])
def test_a_collision_is_noticed_in_large_products(colliding, monkeypatch, way):
    from sosdp.algebra import multiply

    a, b, c = colliding
    monkeypatch.setattr(multiply, "_AT_ONCE", 0)
    monkeypatch.setattr(multiply, "_FLINT_GAIN", 0 if "flint" in way else 1 << 60)
    big = {"sorted": 10**30, "floats by flint": 0.5}.get(way, 1)
    powers = sum((c**k for k in range(1, 40)), polynomial(0))
    with COLLIDE:
        (big * a + powers + 1) * (b + powers)  # a*c and c*b
    assert ((c + big) * powers).coefs.size == 40


def test_a_collision_is_noticed_in_arrays_and_harmless_in_substitutions(colliding):
    from sosdp.algebra.linear import matmul

    a, b, c = colliding
    column = np.array([a, b], dtype=object)
    with COLLIDE:
        matmul(column, np.array([c, -c], dtype=object))
    with COLLIDE:
        matmul(np.array([[1, -1]]), column)
    assert (a + b * c).subs({"collide_a": c + 1, "collide_b": c - 1}) == c**2 + 1


def test_a_collision_is_no_coefficient(colliding):
    a, b, _ = colliding
    assert (3 * a).coefficient(b) == 0 and (3 * a).coefficient(a) == 3
    assert coefficient(3 * a, b, [a, b]) == 0 and coefficient(3 * a, a, [a, b]) == 3


def test_constructed_collisions_are_refused():
    """The first weights are public: lattice reduction finds two monomials of degree 12 with one key."""
    import flint

    v = variables("lattice", 40)
    ids = [int(w.variable_ids[0]) for w in v]
    weight = [int(w) for w in mono.keys.weights(max(ids))[ids]]
    scale = 1 << 40
    rows = [[int(i == j) for j in range(40)] + [weight[i] * scale] for i in range(40)]
    short = flint.fmpz_mat([*rows, [0] * 40 + [scale << 64]]).lll().tolist()
    result = min(
        ([int(c) for c in r[:40]] for r in short if r[40] == 0 and any(r)), key=lambda r: sum(map(abs, r))
    )
    plus = [v[i] for i, c in enumerate(result) for _ in range(max(c, 0))]
    minus = [v[i] for i, c in enumerate(result) for _ in range(max(-c, 0))]

    def times(factors: list) -> Polynomial:
        return math.prod(factors, start=polynomial(1))

    (p, q), (r, s) = ((times(f[: len(f) // 2]), times(f[len(f) // 2 :])) for f in (plus, minus))
    assert (p * q).keys == (r * s).keys and (p * q).coefficient(r * s) == 0
    for refused in (lambda: (p + r) * (q - s), lambda: p * q - r * s):
        with COLLIDE:
            refused()
    refuse((lambda: polynomial(f"({p} + {r})*({q} - {s})"), "same 64-bit key"))
