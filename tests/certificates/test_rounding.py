"""Rounding: hand-made float multipliers become exact identities, or say why they cannot."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import certificates
import sosdp as sd
from certificates.exact import Rules, monomials_of, multiply, polynomial_of, short_decimal, terms_of
from certificates.find.facial import Faces
from certificates.find.rounding import NotCertifiable, Rounder
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.monomials import padded
from tests.refusals import refuse

x, y, z = sd.variables("x y z")
ONE = sd.polynomial(1)


@dataclass
class Block:
    kind: str
    gram: np.ndarray
    basis: np.ndarray
    index: tuple = ()
    entry: np.ndarray | None = None


@dataclass
class Dual:
    blocks: list
    equality_multipliers: list = field(default_factory=list)


def monos(*polynomials):
    return padded([monomials_of(sd.polynomial(p).monos)[0] for p in polynomials])


def block(kind, gram, *basis, index=(), **more):
    return Block(kind, np.array(gram, dtype=float), monos(*basis), index, **more)


def claim(kind, objective=None, bound=None, equalities=(), inequalities=(), matrices=()):
    objectives = () if objective is None else (sd.polynomial(objective).as_exact(),)
    exact = None if bound is None else Fraction(bound)
    return Claim(kind, objectives, exact, tuple(equalities), tuple(inequalities), tuple(matrices))


def proved(statement, dual, bits=20):
    proof = Proof(statement, Rounder(statement, dual).multipliers(bits))
    assert proof.verify(), proof.verify()
    return proof


def wobble(gram, seed, size=1e-7):
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=np.shape(gram)) * size
    return np.array(gram, dtype=float) + noise + noise.T


def test_the_residual_of_noisy_multipliers_is_absorbed():
    objective = x**4 + x**2 * y**2 + y**4 + 1
    gram = wobble([[1, 0, 0, -0.2], [0, 1.3, -0.4, -0.1], [0, -0.4, 1.8, 0], [-0.2, -0.1, 0, 1]], 0)
    # basis 1, xy, ... chosen so that several entries share a monomial
    gram = wobble(np.diag([1.0, 0.5, 0.25, 0.5]), 1)
    basis = [ONE, x**2, x * y, y**2]
    gram[1, 1], gram[3, 3], gram[2, 2] = 1, 1, 0.5
    gram[1, 3] = gram[3, 1] = 0.25
    for bits in (12, 20, 34, 53):
        proved(claim("sos", objective), Dual([block("sos", gram, *basis)]), bits)


def test_an_exact_rational_objective_stays_exact():
    objective = (x - Fraction(1, 3)) ** 2 + Fraction(1, 7)
    statement = claim("lower_bound", objective, "1/8")
    proof = proved(
        statement, Dual([block("sos", wobble([[1 / 9 + 1 / 7 - 1 / 8, -1 / 3], [-1 / 3, 1]], 2), ONE, x)])
    )
    assert proof.bound == Fraction(1, 8)
    assert proof.claim.objective.coefficient(x) == Fraction(-2, 3)


def test_singular_matrices_round_when_their_entries_are_short():
    gram = [[1 + 1e-9, -1], [-1, 1 - 1e-9]]
    proved(claim("sos", x**2 + y**2 - 2 * x * y), Dual([block("sos", gram, x, y)]), 4)


def test_rewriting_cofactors_are_recovered():
    """x^2 = x, y^2 = 1, z^3 = 0 with a Gram matrix that knows only normal forms."""
    rules = (x**2 - x, 3 * y**2 - 3, z**3)
    basis = [ONE, x, y, z]
    target = 5 + 2 * x - 3 * x * y + z**2 + Fraction(1, 2) * y * z
    gram = np.eye(4)
    rest = np.array([1.0, 2, -3, 0.5])
    # <gram, b b'> in normal form: 1: g00 + g22, x: 2 g01 + g11, xy: 2 g12, z^2: g33, yz: 2 g23
    gram[0, 0], gram[2, 2], gram[1, 1] = 2.5, 2.5, 2.0
    gram[0, 1] = gram[1, 0] = 0.0
    gram[1, 2] = gram[2, 1] = rest[2] / 2
    gram[3, 3] = 1.0
    gram[2, 3] = gram[3, 2] = rest[3] / 2
    statement = claim("sos", target, equalities=rules)
    proof = proved(statement, Dual([block("sos", wobble(gram, 3), *basis)]))
    assert {m.index for m in proof.multipliers if m.kind == "equality"} == {(0,), (1,)}


def test_rules_of_equal_degree_and_vanishing_products():
    rules = Rules([terms_of(x * y - z**2), terms_of(2 * x * z), terms_of(x - 3)])
    cofactors: dict = {}
    start = terms_of(x**2 * y * z + x * y + 5 * y)
    rest = rules.divide(start, cofactors)
    total = dict(rest)
    for j, h in enumerate([x * y - z**2, 2 * x * z, x - 3]):
        for row, value in multiply(cofactors.get(j, {}), terms_of(h)).items():
            total[row] = total.get(row, 0) + value
    assert {k: v for k, v in total.items() if v} == start
    assert all(rules.find(row) is None for row in rest)
    factor, row = rules.normal(monomials_of((x**2 * y).monos)[0])
    assert factor and rules.find(row) is None


def test_general_equalities_use_the_float_multipliers():
    """x + y = 1 gives x^2 + y^2 >= 1/2: target = (x - y)^2 / 2 + lambda (x + y - 1)."""
    statement = claim("lower_bound", x**2 + y**2, "2/5", equalities=(x + y - 1,))
    # x^2 + y^2 - 2/5 = 1/10 + (x - y)^2/2 + ((x + y)/2 + 1/2) (x + y - 1)
    gram = wobble([[0.1, 0, 0], [0, 0.5, -0.5], [0, -0.5, 0.5]], 4) + 1e-4 * np.eye(3)
    multiplier = 0.5 * x + 0.5 * y + 0.5 + 1e-9 * x
    proved(statement, Dual([block("sos", gram, ONE, x, y)], [(0, multiplier.as_float())]))


def test_monomials_no_plain_block_reaches_are_solved_for_exactly():
    """lambda h has terms of degree 3 that no Gram entry reaches: they must cancel exactly."""
    statement = claim("infeasible", equalities=(x * y**2 + x - 1, 3 * x * y**2 + 3 * x + 1))
    # -1 = e + (1 + e) (3/4 h_0 - 1/4 h_1) for every e; perturbed floats leave x y^2 and x unmatched
    multipliers = [(0, sd.polynomial(0.75 * 1.001 + 1e-8)), (1, sd.polynomial(-0.25 * 1.001 + 3e-8))]
    dual = Dual([block("sos", [[1e-3]], ONE)], multipliers)
    refuse((lambda: Rounder(statement, dual).multipliers(34), "no plain square reaches", NotCertifiable))
    proof = Faces(statement, dual).prove()
    assert proof.verify() and len(proof.multipliers) == 3


def test_what_cannot_be_matched_is_refused_in_words():
    refuse(
        (
            lambda: Rounder(claim("sos", x**2 + x * y), Dual([block("sos", [[1]], x)])).multipliers(20),
            r"monomial x\*y",
            NotCertifiable,
        )
    )
    statement = claim("sos", x**2 + y, equalities=(x**3 * y - y - 1, x**3 * y - y + 1))
    dual = Dual([block("sos", [[1]], x)], [(0, sd.polynomial(0.5)), (1, sd.polynomial(-0.5))])
    refuse((lambda: Faces(statement, dual).prove(), "the identity has no exact solution", NotCertifiable))


def test_indefinite_and_broken_multipliers_are_refused():
    refuse(
        (
            lambda: Rounder(
                claim("sos", x**2 - y**2), Dual([block("sos", [[1, 0], [0, -1]], x, y)])
            ).multipliers(20),
            "not positive semidefinite",
            NotCertifiable,
        ),
        (lambda: Rounder(claim("sos", x**2), Dual([block("sos", [[np.nan]], x)])), "NaN", NotCertifiable),
        (lambda: Rounder(claim("sos", x**2), Dual([Block("sos", np.eye(2), monos(x))])), "shape", ValueError),
    )


def test_inequalities_products_and_several_blocks():
    """1 - xy = (1 - x) + x (1 - y) on the box, split over blocks, with noise."""
    g = (x, 1 - x, 1 - y)
    statement = claim("upper_bound", x * y, "1001/1000", inequalities=g)
    free = block("sos", [[1e-3]], ONE)
    first = block("inequality", [[1 + 1e-8]], ONE, index=(1,))
    second = block("product", [[1 - 1e-8]], ONE, index=(0, 2))
    odd = block("sos", 1e-4 * np.eye(2), x, y)
    cross = block("sos", 1e-5 * np.eye(3), ONE, x, y)
    cancel = [block("inequality", [[1e-4]], ONE, index=(k,)) for k in range(3)]
    # nothing but the Gram matrices reaches x^2 and y^2, so absorbing them leaves zeros on the diagonal
    refuse(
        (
            lambda: Rounder(statement, Dual([free, first, second, odd, cross, *cancel])).multipliers(20),
            None,
            NotCertifiable,
        )
    )
    box = (x * (1 - x), y * (1 - y), *g)
    statement = claim("upper_bound", x * y, "1001/1000", inequalities=box)
    # 1 - xy + 1e-4 (...): 1e-4 (x^2 + x (1 - x)) = 1e-4 x, and so on
    dual = Dual(
        [
            block("sos", [[1e-3 - 2e-4, 0, 0], [0, 1e-4, 0], [0, 0, 1e-4]], ONE, x, y),
            block("inequality", [[1e-4]], ONE, index=(0,)),
            block("inequality", [[1e-4]], ONE, index=(1,)),
            block("inequality", [[1 + 1e-4]], ONE, index=(3,)),
            block("inequality", [[1e-4]], ONE, index=(4,)),
            block("product", [[1.0]], ONE, index=(2, 4)),
        ]
    )
    proof = proved(statement, dual)
    assert "product" in {m.kind for m in proof.multipliers}


def test_matrix_inequalities():
    matrix = ((ONE, x), (x, ONE))
    statement = claim("lower_bound", x, "-1001/1000", matrices=(matrix,))
    gram = wobble([[0.5, 0.5], [0.5, 0.5]], 5, 1e-9) + 1e-5 * np.eye(2)
    dual = Dual(
        [
            block("sos", [[1e-3 - 2e-5]], ONE),
            block("psd", gram, ONE, ONE, index=(0,), entry=np.array([0, 1])),
        ]
    )
    # x is reached by the matrix block alone
    refuse((lambda: Rounder(statement, dual).multipliers(34), "reaches the monomial x", NotCertifiable))
    proof = Faces(statement, dual).prove()
    assert proof.verify() and proof.multipliers[-1].kind == "psd"


def test_zero_rows_are_left_out():
    proof = proved(claim("sos", x**2), Dual([block("sos", [[0, 0], [0, 1]], y, x), block("sos", [[0]], ONE)]))
    assert [len(m.basis) for m in proof.multipliers] == [1]


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (0.0, 1.0, "0"),
        (-1.0316285565, -1.031628505, "-103162851/100000000"),
        (-1e-7, -5e-8, "-5/100000000"),
        (-31.6000032, -31.6000016, "-31600002/1000000"),
        (-12.3456, -12.3, "-1231/100"),
        (123456.0, 123999.0, "123900"),
        (-0.2, 0.3, "0"),
        (-1e9 - 100, -1e9 - 50, "-1000000100"),
    ],
)
def test_short_decimals(low, high, expected):
    result = short_decimal(low, high)
    assert Fraction(low) <= result <= Fraction(high)
    assert result == Fraction(expected)


def test_claims_refuse_what_makes_no_statement():
    refuse(
        (lambda: Claim("sos", (sd.polynomial(0.5) * x,)), "exact"),
        (lambda: Claim("lower_bound", (x,)), "bound"),
        (lambda: Claim("sos", (x,), Fraction(1)), "bound"),
        (lambda: Claim("infeasible", (x,)), "objectives"),
        (lambda: Claim("upper", (x,)), "kind"),
    )


def test_squares_of_a_multiplier_add_up():
    multiplier = Multiplier(
        "sos", (), tuple(monomials_of(monos(ONE, x, y))), ((5, -1, 3), (-1, 6, 0), (3, 0, 2)), 2
    )
    total = sum((weight * polynomial**2 for weight, polynomial in multiplier.squares()), sd.polynomial(0))
    expected = polynomial_of({row: fmpq(0) for row in []})
    for i, p in enumerate(multiplier.basis):
        for j, q in enumerate(multiplier.basis):
            expected = expected + multiplier.matrix[i, j] * polynomial_of({(*p, *q): fmpq(1)})
    assert total.equals(expected)


@pytest.mark.parametrize("kind", ["inequality", "equality"])
def test_multipliers_near_the_largest_float_are_rounded(kind):
    """No binary place can be added to 1e300 as a float: as a Gram matrix, and as a cofactor."""
    if kind == "inequality":
        statement = claim("sos", 10**300 * x**2 + 1)
        proved(statement, Dual([block("sos", [[1, 0], [0, 1e300]], ONE, x)]), 60)
    else:
        statement = claim("lower_bound", x**2 + 10**300 * y, 0, equalities=(y - 1,))
        cofactor = [(0, sd.polynomial(1e300))]
        proved(statement, Dual([block("sos", [[1e300, 0], [0, 1]], ONE, x)], cofactor), 60)


def test_numbers_are_rounded_in_units_that_are_far_apart():
    x, y = sd.variables("x y")
    box = sd.System(x >= -1e6, x <= 1e6, y >= -1e-6, y <= 1e-6)
    proof = certificates.extract(sd.minimize(x * y, box, products="schmudgen")).exact()
    assert -1 - 1e-6 <= float(proof.bound) <= -1
