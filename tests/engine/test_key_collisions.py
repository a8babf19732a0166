"""Different monomials with one 64-bit key, at every place where monomials are told apart.

The weights of the keys are public, so such monomials can be constructed (see
``tests/algebra/test_products.py``). Here the weight of one variable is changed so that two products of four
have one key. Nothing may take one for the other.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.algebra import monomials as mono
from sosdp.algebra.polynomial import Polynomial, variable
from sosdp.algebra.products import Products
from sosdp.algebra.variables import variable_id
from sosdp.reduction.newton import prune
from sosdp.reduction.permutation import Action
from sosdp.reduction.quotient import NO_QUOTIENT, Quotient
from sosdp.relaxation.assemble.assemble import assemble
from sosdp.relaxation.assemble.chosen_basis import check_represented
from sosdp.relaxation.assemble.forall import interior_matrix
from sosdp.relaxation.assemble.identity import ONE, Block
from sosdp.relaxation.assemble.symmetry import with_symmetry
from sosdp.relaxation.atoms import _shift_rows
from sosdp.relaxation.solve.sos_cone.sample import _components
from tests.refusals import refuse

IDS = [variable_id(f"collides_{k}") for k in range(8)]
LEFT, RIGHT = tuple(IDS[:4]), tuple(IDS[4:])


@pytest.fixture(scope="module", autouse=True)
def pair():
    """The two monomials as rows."""
    rows = np.array([LEFT, RIGHT], dtype=mono.MONOMIAL)
    with pytest.MonkeyPatch.context() as patch:
        table = mono.keys.weights(max(IDS)).copy()
        table[IDS[-1:]] += mono.keys(rows[:1]) - mono.keys(rows[1:])
        patch.setattr(mono.keys, "table", table)
        assert mono.keys(rows)[0] == mono.keys(rows)[1]
        yield rows


@pytest.fixture
def quadratics(pair):
    """Rows a, b, c, d with one key for a*b and c*d."""
    return pair.reshape(4, 2)


def poly(*ids: int) -> Polynomial:
    return Polynomial.from_arrays(np.array([ids]), [1])


def test_rows_are_found_and_grouped_exactly(pair):
    broad = mono.pad(np.concatenate([pair[::-1], pair, pair[:1]]), 6)
    index = mono.Index(broad[:3])
    assert index.find(pair).tolist() == [1, 0] and index.find(pair[1:]).tolist() == [0]
    assert mono.Index(pair[:1]).find(broad).tolist() == [-1, 0, 0, -1, 0]
    assert mono.Index(broad[:1]).find(np.zeros((2, 9), dtype=np.int32)).tolist() == [-1, -1]
    assert mono.Index(broad[:0]).find(pair).tolist() == [-1, -1]
    first, inverse = mono.group(broad)
    assert first.size == 2 and (broad[first][inverse] == broad).all()
    assert mono.same(broad[:2], pair).tolist() == [False, False]
    assert mono.same(pair, broad[[1, 0]]).tolist() == mono.same(broad[[1, 0]], pair).tolist() == [True, True]
    longer = np.concatenate([np.full((2, 1), 3, dtype=mono.MONOMIAL), pair], axis=1)
    assert not mono.same(longer, pair).any()


@pytest.mark.parametrize("known", [True, False])
def test_products_are_told_apart(quadratics, known):
    i, j = np.triu_indices(4)
    terms = np.array([[0], [LEFT[0]]], dtype=mono.MONOMIAL)
    products = Products(np.sort([*LEFT, *RIGHT]) if known else None)
    products.add(quadratics, i, quadratics, j, terms)
    products.add(quadratics, i[:5], quadratics, j[:5], mono.constant(1))
    distinct, inverse = products.distinct()
    rows = mono.multiply_outer(mono.multiply(quadratics[i], quadratics[j]), terms)
    rows = np.concatenate([rows, mono.pad(rows[:10:2], 5)])
    assert mono.same(distinct[inverse], rows).all() and distinct.shape[0] == 20


def test_exact_keys_hold_every_exponent():
    x, y = sorted(int(v.variable_ids[0]) for v in sd.variables("x y"))
    left, right = (mono.basis(np.array([x, y]), d) for d in (1, 3))
    products = Products(np.array([x, y]))
    i, j = (k.reshape(-1) for k in np.indices((3, 10)))
    products.add(left, i, right, j, mono.basis(np.array([x, y]), 2))
    assert products.distinct()[0].shape[0] == 28  # all of degree at most 6


def test_no_moment_is_that_of_another_monomial(pair):
    (a, b, c, d), e = (variable(i) for i in RIGHT), variable(LEFT[0])
    pe = sd.minimize((a * b + c * d - 1) ** 2 + a**2 + b**2 + c**2 + d**2 + e**2)
    assert np.isfinite(pe(poly(*RIGHT)))
    refuse((lambda: pe(poly(*LEFT)), r"raise the degree|not a variable"))
    pytest.importorskip("cvxpy")
    moments = sd.Relaxation(sd.System(a**2 + b**2 + c**2 + d**2 <= 1, e**2 <= 1), 4).to_cvxpy()
    assert moments.E(poly(*RIGHT)).size == 1
    refuse((lambda: moments.E(poly(*LEFT)), "not part of this relaxation"))


def test_the_polygon_is_that_of_the_support(pair):
    (mask,) = prune([pair], np.repeat(pair[:1], 2, axis=1), NO_QUOTIENT.normal_form)
    assert mask.tolist() == [True, False]
    # x and y enter only by products that are not squares; one key is that of a vanishing product
    a, b, c, d = (
        np.sort(np.concatenate([p, q])) for p, q in np.repeat(pair.reshape(4, 2), 2, 0).reshape(4, 2, 2)
    )
    squares = np.stack([a, b, c, d, *pair])
    vanishing = Quotient({}, np.sort(np.concatenate([c, d]))[None, :], frozenset(), True)
    for order in (np.arange(6), np.array([2, 3, 0, 1, 4, 5])):
        basis = squares[order]
        support = np.repeat(np.stack([a, b, c, d]), 2, axis=1)
        assert prune([basis], support, vanishing.normal_form)[0].all()


def test_a_chosen_basis_must_have_the_monomial(quadratics, pair):
    check_represented(pair[1:], quadratics[2:], mono.constant(0), NO_QUOTIENT)
    refuse(
        (
            lambda: check_represented(pair[:1], quadratics[2:], mono.constant(0), NO_QUOTIENT),
            "is not a product of two elements",
        )
    )


def test_rules_rewrite_no_other_monomial(pair):
    coefs, _ = Quotient({}, pair[:1], frozenset(), True).normal_form(pair)
    assert coefs.tolist() == [0.0, 1.0]


def test_shifts_of_a_moment_matrix_are_its_own_rows(pair):
    pe = SimpleNamespace(identity=SimpleNamespace(quotient=NO_QUOTIENT))
    inner, single = pair[:1, :3], pair[:1, 3:]
    assert _shift_rows(pe, inner, single, mono.Index(pair[1:])) is None
    ((rows, _),) = _shift_rows(pe, inner, single, mono.Index(pair[::-1]))
    assert rows.tolist() == [1]


def test_orbits_are_those_of_the_group(quadratics):
    x, y = (int(v.variable_ids[0]) for v in sd.variables("swapped", 2))
    basis = np.concatenate([quadratics, mono.pad(np.array([[x], [y]], dtype=mono.MONOMIAL), 2)])
    identity = assemble([Block("sos", (), basis, ONE)], [], ONE, [])
    image = np.arange(max(*RIGHT, x, y) + 1)
    image[[x, y]] = [y, x]
    result = with_symmetry(identity, [Action(image, {})])
    assert identity.columns.shape[0] == 22  # 21 products and the constant
    assert result.symmetry.column.max() + 1 == 17  # those with x and with y make 5 pairs


def test_entries_of_matrices_are_kept_apart(quadratics):
    """The orbit of a site is that of its monomial and its entry."""
    matrix = np.array([[ONE, ONE], [ONE, ONE]], dtype=object)
    basis = np.repeat(quadratics[:2], 2, axis=0)
    identity = assemble([Block("psd", (0,), basis, matrix, np.array([0, 1, 0, 1]))], [], ONE, [])
    image = np.arange(max(RIGHT) + 1)
    result = with_symmetry(identity, [Action(image, {"psd": [0]})])
    assert result.symmetry.pair.tolist() == list(range(10))


def test_a_relaxation_is_one_piece(quadratics):
    identity = assemble([Block("sos", (), quadratics, ONE)], [], ONE, [])
    ((columns, blocks),) = _components(identity)
    assert columns.size == identity.columns.shape[0] == 11 and blocks == [0]


@pytest.mark.slow
def test_a_proof_has_products_of_one_key(quadratics):
    a, b, c, d = (poly(*row) for row in quadratics.tolist())
    answer = sd.prove_sos(a**2 + b**2 + c**2 + d**2 + a * b, basis=[a, b, c, d])
    assert answer.status == "proved" and certificates.extract(answer).exact().verdict


@pytest.mark.slow
def test_for_all_reads_each_coefficient(pair):
    """Fourth powers + x*P - y*Q is non-negative iff |x| <= 4 and |y| <= 4; P and Q have one key."""
    x, y = sd.variables("x y")
    powers = sum(variable(i) ** 4 for i in (*LEFT, *RIGHT))
    v = [variable(i) for i in (*LEFT, *RIGHT)]
    literal = sd.for_all(v, powers + x * poly(*LEFT) - y * poly(*RIGHT) >= 0)
    answer = sd.maximize(2 * x - y, sd.System(literal, x**2 <= 25, y**2 <= 25), 2)
    assert answer.bound == pytest.approx(12, abs=1e-4) and 12 <= answer.certified_bound <= 12.001


def test_a_positive_matrix_of_a_for_all_constraint_pairs_equal_monomials(pair):
    block = SimpleNamespace(
        basis=pair, entry=np.zeros(2, dtype=int), null=SimpleNamespace(basis=np.zeros((1, 1), np.int32))
    )
    assert interior_matrix(block).tolist() == [[1.0, 0.0], [0.0, 1.0]]
