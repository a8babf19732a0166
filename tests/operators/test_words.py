"""The monoid of words against matrices: products and adjoints on all words to length 4."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.algebra import coefficients, monomials
from sosdp.algebra.confluence import consequences
from sosdp.algebra.operator import LETTERS
from sosdp.algebra.word_tables import Tables, distinct, multiply
from sosdp.algebra.words import MONOMIALS, ONE
from sosdp.relaxation.operators.classes import Classes
from sosdp.relaxation.operators.statement import read
from tests.operators.models import families, value

FAMILIES = families(np.random.default_rng(0))


def reduced_words(operators, length):
    letters = [next(iter(p.terms)) for p in operators]
    families_ = {LETTERS.letters[w[0]].family for w in letters}
    words, number = LETTERS.restricted(families_)
    back = {k: i for i, k in number.items()}
    level = {()}
    result = {()}
    for _ in range(length):
        level = {w for u in level for i in range(len(words.letters)) for w in words.normal((*u, i))}
        result |= level
    return words, back, sorted(result)


@pytest.mark.parametrize("name", FAMILIES)
def test_products_and_adjoints_of_all_words_agree_with_matrices(name):
    operators, model = FAMILIES[name]
    words, back, result = reduced_words(operators, 4)
    local = {k: model[i] for k, i in back.items()}
    tables = Tables(words)

    def matrix(word):
        m = np.eye(next(iter(local.values())).shape[0], dtype=complex)
        for i in word:
            m = m @ local[i]
        return m

    known = {w: matrix(w) for w in result}
    for word, m in known.items():  # every word times every letter, and its adjoint
        number, star = words.adjoint(word)
        image = words.normal(star)
        total = sum(complex(*map(float, c)) * matrix(w) for w, c in image.items())
        assert np.allclose(complex(*map(float, number)) * total, m.conj().T, atol=1e-9)
        for i in range(len(words.letters)):
            product = words.normal((*word, i))
            total = sum(complex(*map(float, c)) * matrix(w) for w, c in product.items())
            assert np.allclose(total, m @ local[i], atol=1e-9), (word, i)
    short = [w for w in result if len(w) <= 2]
    pairs = list(itertools.product(short, repeat=2))
    left, right = (tables.rows([p[k] for p in pairs]) for k in (0, 1))
    entries = tables.sandwich(left, np.zeros_like(left), right)
    got = [np.zeros_like(m) for _ in pairs]
    columns = entries.index, entries.rows[:, 0], entries.values
    for k, power, c, word in zip(*(v.tolist() for v in columns), tables.decoded(entries.rows), strict=True):
        got[k] = got[k] + 1j**power * float(c) * known[word]
    for (u, v), m in zip(pairs, got, strict=True):
        assert np.allclose(m, known[u].conj().T @ known[v], atol=1e-9), (u, v)


def test_monomials_as_arrays_and_as_words_are_one_monoid():
    ids = sd.variables("monoid_a monoid_b monoid_c")
    letters = [int(v.variable_ids[0]) for v in ids]
    result = [w for n in range(4) for w in itertools.combinations_with_replacement(letters, n)]
    rows = np.array([(0,) * (3 - len(w)) + w for w in result], dtype=np.int32)
    products = monomials.multiply_outer(rows, rows)
    one_by_one = [MONOMIALS.normal(u + v) for u, v in itertools.product(result, repeat=2)]
    assert [{tuple(filter(None, row)): ONE} for row in products.tolist()] == one_by_one
    assert [repr(sd.Polynomial.from_arrays(row[None], [1])) for row in rows] == [*map(MONOMIALS.show, result)]
    assert monomials.degrees(rows).tolist() == [len(w) for w in result]
    assert all(MONOMIALS.star_of({w: ONE}) == {w: ONE} for w in result)


@pytest.mark.parametrize("name", FAMILIES)
def test_built_in_families_are_confluent(name):
    words, _, _ = reduced_words(FAMILIES[name][0], 1)
    assert list(consequences(words)) == []


def test_bosons_are_confluent_and_commute_as_they_should():
    b = sd.bosons(2)
    assert b[0] * b[0].adjoint - b[0].adjoint * b[0] == 1
    assert b[0] * b[1].adjoint == b[1].adjoint * b[0]
    words, _ = LETTERS.restricted({LETTERS.letters[i].family for w in b[0].terms for i in w})
    assert list(consequences(words)) == []


def test_a_word_is_rewritten_in_more_steps_than_python_nests():
    x, y = sd.operators("x y")
    statement = read(y**34 * x**34, [sd.relation(x * y, y * x), x**2 <= 1, y**2 <= 1], "minimize")
    assert statement.target == {(0,) * 34 + (1,) * 34: ONE}


def test_norms_of_words_hold_in_the_models():
    for name in ("projectors", "observables", "unitaries", "paulis", "fermions"):
        operators, model = FAMILIES[name]
        for u, v in itertools.product(operators, repeat=2):
            for word in (u * v).terms:
                assert np.linalg.norm(value(sd.OperatorPolynomial({word: ONE}), model), 2) <= 1 + 1e-9
                assert all(LETTERS.letters[i].norm == 1.0 for i in word)


@pytest.mark.parametrize("power", [1, 30, 31, 39, 45, 62])
def test_products_of_numbers_are_exact(power):
    a, b = Fraction(2**power - 1), Fraction(2**power - 3)
    assert multiply(*map(coefficients.as_coefs, ([a, -b], [b, a]))).tolist() == [a * b, -a * b]


def test_distinct_rows_by_rank_where_the_radix_is_too_large():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2**20, size=(200, 7))
    rows[100:] = rows[:100]
    first, place = distinct(rows)
    assert first.size == 100 and (rows[first][place] == rows).all()


def test_polynomials_read_as_they_are_written():
    A, s = sd.observables("A", 2), sd.paulis(1)
    assert repr(A[0] * A[1] - 2 * A[0]) == "-2*A[0] + A[0]*A[1]"
    assert s[0].x * s[0].y == 1j * s[0].z and s[0].y.is_hermitian
    assert not (A[0] * A[1]).is_hermitian and (A[0] * A[1]).H == A[1] * A[0]
    x = sd.operators("x")
    (y,) = sd.operators("y")
    assert (x + y) ** 2 == x * x + x * y + y * x + y * y
    with pytest.raises(AttributeError):
        x.terms = {}


@pytest.mark.parametrize("name", ["spins", "involutions", "clock"])
def test_classes_know_every_rotation_of_words_that_are_not_reduced(name):
    A, (u, v) = sd.observables("A", 3), sd.unitaries("U", 2)
    operators, relations = {
        "spins": (FAMILIES["paulis"][0], []),
        "involutions": (A, [sd.relation(b * a, -a * b) for a, b in itertools.combinations(A, 2)]),
        "clock": ((u, v), [sd.relation(v * u, 1j * u * v)]),
    }[name]
    words = read(sum(p + p.H for p in operators), relations, "minimize", complete=6).algebra
    classes = Classes(Tables(words), True)
    for w in itertools.product(range(len(words.letters)), repeat=3):
        gap = classes.tables.combination(words.sum([(w, ONE), (w[1:] + w[:1], (Fraction(-1), ONE[1]))]))
        _, place, factor = classes.represented(gap.monos)
        total = np.zeros(place.size + 1, dtype=object)  # the last: what vanishes
        np.add.at(total, place, gap.coefs * factor)
        assert not total[:-1].any(), w


def test_traces_are_those_of_matrices():
    s, (u, v), x = sd.paulis(2), sd.unitaries("U", 2), sd.operators("x")
    for h, constraints, wanted in (
        (s[0].x * s[1].x + s[0].z + 2 * s[0].y * s[1].y + 3, [], 3),
        (u + u.H + u * v + (u * v).H, [sd.relation(v * u, 1j * u * v)], 0),
        (-x, [sd.relation(x * x, 2 * x), x * x <= 4], -2),  # no unitary: x x x* = 4 x
    ):
        r = sd.minimize(h, constraints, level=1, trace=True, complete=True)
        assert r.certified_bound <= wanted + 1e-12 and r.bound == pytest.approx(wanted, abs=1e-6)
        assert certificates.extract(r).exact().bound == pytest.approx(wanted, abs=1e-6)


def test_operators_meet_arrays_entry_by_entry_and_on_their_side():
    a, b = sd.operators("a b")
    both = np.array([a, b], dtype=object)
    assert (both * b).tolist() == [a * b, b * b] and (b * both).tolist() == [b * a, b * b]
    assert (both - np.uint8(1)).tolist() == [a - 1, b - 1] and (a - np.uint8(1)).terms == (a - 1).terms
    assert [repr(c) for c in (2 * a >= both)] == [repr(a >= 0), repr(2 * a >= b)]
