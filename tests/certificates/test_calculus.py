"""Rules of the calculus: what each step concludes, what it costs in degree, and what it must refuse."""

from dataclasses import replace
from fractions import Fraction

import pytest

import sosdp as sd
from certificates import extract, kernel
from certificates.derive import lemmas
from certificates.derive.calculus import (
    Derivation,
    NotDerived,
    Upper,
    assume,
    from_proof,
    in_kernel,
    square,
    sum_of_squares,
)
from tests.certificates.independent import proves
from tests.refusals import each, refuse

x, y, z = sd.variables("x y z")


def _valid(derivation, hypotheses=None):
    """The checker and the second opinion accept it, and the identity is what the fields say."""
    proof = derivation.proof()
    verdict = proof.verify()
    assert verdict, verdict.reason
    assert proves(proof.to_dict())
    assert derivation.degree <= derivation.bound
    total = sum(
        (
            sum((w * q * q for w, q in result), start=sd.Polynomial(0)) * _product([*index])
            for index, result in derivation.squares.items()
        ),
        start=sd.Polynomial(0),
    ) + sum((c * h for h, c in derivation.cofactors.items()), start=sd.Polynomial(0))
    assert total == derivation.conclusion
    if hypotheses is not None:
        assert len(derivation.equalities) + len(derivation.inequalities) == hypotheses
    return derivation


def _product(polynomials):
    out = sd.Polynomial(1)
    for p in polynomials:
        out = out * p
    return out


def test_sums_and_products_of_assumptions():
    a, b = assume(x), assume(1 - y)
    both = _valid(a + b, 2)
    assert both.conclusion == x + 1 - y and both.degree == 1 == both.bound
    product = _valid(a * b, 2)
    assert product.conclusion == x * (1 - y) and product.degree == 2 == product.bound
    assert sum([a, b]).conclusion == both.conclusion
    refuse((lambda: sum([a, b], start=1), None, TypeError))
    # a hypothesis twice is a square, once it is a hypothesis: nothing is counted double
    again = _valid(a * a * a, 1)
    assert again.conclusion == x**3 and again.degree == 3
    assert [len(index) for index in again.squares] == [1]


def test_equalities_take_any_multiplier_and_inequalities_none():
    h, g = assume(x * x - 1, equality=True), assume(y)
    scaled = _valid(h.times(x - y))
    assert scaled.equality and scaled.conclusion == (x * x - 1) * (x - y)
    assert _valid(h * -3).equality
    mixed = _valid(g * h)
    assert mixed.equality and mixed.conclusion == y * (x * x - 1)
    refuse(
        (lambda: g * -1, "negative"),
        (lambda: g * (x - 3), "not the polynomial"),
        (lambda: g.times(x), "any sign"),
        (lambda: square(x, -1), "weight"),
    )


def test_products_with_equalities_keep_the_identity():
    """(A + L)(B + M) with both ideal parts present."""
    a = assume(x) + assume(x * y - 1, equality=True).times(z)
    b = assume(y) + assume(x * y - 1, equality=True).times(x + 2) + square(z - 1, "1/3")
    assert _valid(a * b, 3).conclusion == a.conclusion * b.conclusion


def test_substitution_moves_hypotheses_too():
    result = _valid((assume(x) * assume(y)).substitute({x: z * z, y: z * z}), 1)
    assert result.conclusion == z**4
    swapped = _valid(lemmas.cauchy_schwarz([x, y], [1, z]).substitute({x: y, y: x, z: "1/2"}))
    assert swapped.conclusion == (x * x + y * y) * Fraction(5, 4) - (y + x / 2) ** 2
    assert result.degree <= result.bound


def test_chains_replace_hypotheses_by_what_derives_them():
    # x <= 2 from x^2 <= 4, and x^2 <= 4 from x^2 + y^2 <= 4
    bounded = lemmas.root(x, 2)
    ball = assume(4 - x * x - y * y) + square(y)
    chained = _valid(bounded.given(ball), 1)
    assert chained.conclusion == 2 - x
    assert chained.inequalities[0] == 4 - x * x - y * y
    assert chained.degree == 2 <= chained.bound == bounded.bound * ball.bound
    # hypotheses that no premise concludes stay
    kept = _valid((assume(x) + assume(y)).given(lemmas.nonnegative(x)), 2)
    assert kept.conclusion == x + y and kept.equalities[0] == x * x - x
    refuse((lambda: bounded.given(square(z)), "no hypothesis", NotDerived))
    # an equality gives the inequality
    zero = _valid(assume(x).given(assume(x, equality=True)))
    assert not zero.equality and zero.equalities and not zero.inequalities


def test_restating_modulo_equalities():
    w = assume(x * x - x, equality=True)
    squared = square(x) + w.times(0)
    assert _valid(squared.concluding(x)).conclusion == x
    assert _valid((square(x**3) + w.times(0)).reduced()).conclusion == x
    refuse(
        # the negative control: 2x is not x
        *each(
            lambda refused: refused(),
            (
                lambda: squared.concluding(y),
                # the negative control: 2x is not x
                lambda: squared.concluding(2 * x),
            ),
            "differs",
            NotDerived,
        )
    )


def test_rewriting_from_above():
    """(x + y)^2 <= 2 x^2 + 2 y^2 <= 4 on the unit bidisc, step by step."""
    chain = Upper((x + y) ** 2).use(lemmas.triangle([x, y])).use(assume(1 - x * x), times=2)
    chain = chain.use(assume(1 - y * y), times=2).to(4)
    assert _valid(chain.derivation, 2).conclusion == 4 - (x + y) ** 2
    refuse((lambda: Upper(x * x).use(assume(1 - x * x)).to(2 * x), None, NotDerived))
    assert (
        _valid(Upper(x**3).use(assume(x * x - x, equality=True).times(0)).to(x).derivation).conclusion
        == x - x**3
    )


def test_solved_relaxations_join_in():
    pe = sd.minimize(x**4 - 3 * x * y + y**4, sd.System(x**2 + y**2 <= 4), 4)
    proof = extract(pe).exact()
    result = _valid(from_proof(proof), 1)
    assert result.conclusion == x**4 - 3 * x * y + y**4 - sd.Polynomial(proof.bound)
    assert _valid(result + assume(x), 2).conclusion == result.conclusion + x
    with pytest.raises(ValueError, match="no such form|no certificate|matrix"):
        pmi = sd.minimize(x, sd.System(sd.PSD([[1, x], [x, 1]])), 2)
        from_proof(extract(pmi).exact())


def test_a_wrong_identity_is_seen_by_the_checker():
    good = square(x - y)
    for conclusion in (x * x + y * y, x * x - 2 * x * y + y * y + 1, -good.conclusion):
        with pytest.raises(NotDerived):
            Derivation(good.theorem, conclusion, squares=good.squares)
        proof = good.proof()
        assert not replace(proof, claim=replace(proof.claim, objectives=(conclusion,))).verify()
    # a true theorem with squares that are not those of its identity
    assert not replace(good, squares=square(x).squares).proof().verify()


def test_equalities_as_proofs_claim_both_signs():
    proof = assume(x - y, equality=True).times(z + 1).proof()
    assert proof.verify() and len(proof.claim.objectives) == 2
    empty = sum_of_squares([])
    assert empty.proof().verify() and not empty.equality
    assert "degree" in repr(empty)


def test_a_derivation_cannot_be_forged_by_filling_in_a_dataclass():
    real = square(x)
    refuse(
        *each(
            lambda change: replace(real, **change),
            (
                {"conclusion": -x * x},
                {"conclusion": x * x - 1},
                {"equality": True},
                {"theorem": None},
                {"theorem": kernel.square(in_kernel(y))},
                {"theorem": kernel.assume(">=", in_kernel(x * x))},
            ),
            None,
            NotDerived,
        )
    )
    refuse(
        (lambda: Derivation(real.theorem, sd.Polynomial(-1)), None, NotDerived),
        (lambda: replace(assume(x), inequalities=()), None, NotDerived),
        (lambda: assume(sd.polynomial("\u03bb")), "ASCII", NotDerived),
    )


def test_the_theorem_says_what_is_concluded():
    step = (square(x - y) + assume(x)) * assume(y)
    assert step.theorem.conclusion == in_kernel(step.conclusion)
    assert step.theorem.hypotheses == {(">=", in_kernel(x)), (">=", in_kernel(y))}
    swapped = step.substitute({x: y + 1})
    assert swapped.theorem.hypotheses == {(">=", in_kernel(y + 1)), (">=", in_kernel(y))}
