"""Composition rules against exact enumeration of small mechanisms, and what each refuses."""

import itertools
import json
import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from unittest.mock import ANY

import numpy as np
import pytest

from sosdp.privacy.guarantee import composition
from sosdp.privacy.guarantee.adjacency import (
    KNOWN,
    ONE_EDGE,
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    Adjacency,
)
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.loss import Part, PrivacyLoss
from sosdp.privacy.verification import audit
from tests.privacy.noise_laws import laplace_law
from tests.refusals import each, refusals, refuse


def pair(epsilon: float, delta: float = 0.0, adjacency: str = ONE_EDGE, **more) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=delta, adjacency=adjacency, **more)


def response(bit: int, epsilon: float, delta: float = 0.0) -> dict:
    """The worst (epsilon, delta) mechanism: the bit with probability delta, else randomised response."""
    truth = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    return {("shown", bit): delta, bit: truth, 1 - bit: 1 - delta - truth}


# -- adjacency


def test_adjacency_is_its_text():
    assert ONE_EDGE == "one edge" and json.dumps({"a": ONE_EDGE}) == '{"a": "one edge"}'
    assert (ONE_EDGE.unit, ONE_EDGE.relation, ONE_EDGE.size) == ("edge", "flip", 1)
    assert (ONE_RECORD_REPLACED.unit, ONE_RECORD_REPLACED.relation) == ("record", "replace")
    assert ONE_RECORD_ADDED.group(3) == "3 records (add or remove)"
    assert ONE_RECORD_ADDED.group(3).size == 3 and ONE_RECORD_ADDED.group(3).relation == "add or remove"
    assert Adjacency("one vertex").group(2) == "2 vertices" and Adjacency("2 vertices").unit == "vertex"
    assert Adjacency("whatever the paper says").relation == ""
    odd = ("one edge (rewire)", "one vertex (replace)", "one record (flip)", "2 users (rewire)", "one record")
    proven = (*KNOWN, "one edge (flip)", "one edge (replace)", "3 vertices", "2 users (add or remove)")
    assert not [text for text in odd if Adjacency(text).is_known]
    assert not [text for text in proven if not Adjacency(text).is_known]
    assert Guarantee(epsilon=1.0, delta=0.0, adjacency="one edge").adjacency.unit == "edge"  # type: ignore[union-attr]
    refuse(
        *each(Adjacency, ("", "0 edges"), r"named|at least one"),
        (lambda: Adjacency("whatever the paper says").group(2), "names no unit"),
    )


# -- groups


def test_group_privacy_is_attained_by_a_geometric_law():
    law = laplace_law(2.0, 80)
    inner = {k: p for k, p in law.items() if abs(k) < 60}
    moved = {k + 3: p for k, p in law.items() if abs(k) < 60}
    shared = inner.keys() & moved.keys()
    exact = audit.epsilon_between({k: inner[k] for k in shared}, {k: moved[k] for k in shared})
    assert pair(0.5).for_group(3).epsilon == pytest.approx(exact)
    assert pair(0.5).for_group(3).adjacency == "3 edges"


def test_group_delta_covers_a_chain():
    # D0 -> D1 -> D2, each step the worst (epsilon, delta) mechanism's shift of mass
    epsilon, delta = 0.3, 0.01
    assert pair(epsilon, delta).for_group(2).delta == pytest.approx(delta * (1 + math.exp(epsilon)))
    assert Guarantee(rho=0.1, adjacency=ONE_EDGE).for_group(3).rho == pytest.approx(0.9)
    replaced = composition.replaced_from_added(pair(0.5, 0.0, ONE_RECORD_ADDED))
    assert replaced.epsilon == 1.0 and replaced.adjacency == ONE_RECORD_REPLACED


# -- pieces


def test_pieces_cost_the_largest():
    whole = composition.parallel([pair(0.5, 1e-6), pair(1.0, 0.0)])
    assert (whole.epsilon, whole.delta) == (1.0, 1e-6)
    assert composition.parallel([pair(0.5, 0.0, ONE_RECORD_ADDED)] * 3, pieces="value").epsilon == 0.5
    assert composition.parallel([pair(0.5).insecure(), pair(0.5)]).kind == "none"


# -- random split


def split_law(edge: bool, p: float, first: tuple, second: tuple) -> dict:
    """One possible edge; the second output is labelled by what the first one said: it may use it."""
    law: dict = defaultdict(float)
    for chosen, weight in ((1, p), (0, 1 - p)):
        for z, probability in response(int(edge and chosen == 1), *first).items():
            for w, other in response(int(edge and chosen == 0), *second).items():
                law[z, (w, z == 1)] += weight * probability * other
    return dict(law)


@pytest.mark.parametrize("p", [0.5, 0.2])
@pytest.mark.parametrize(("first", "second"), [((2.0, 0.0), (0.5, 0.0)), ((1.0, 0.05), (0.3, 0.01))])
def test_random_split_is_enough_and_not_much_too_much(p, first, second):
    claim = composition.random_split(pair(*first), pair(*second), p)
    with_edge, without = (split_law(edge, p, first, second) for edge in (True, False))
    assert claim.epsilon is not None and claim.delta is not None
    assert audit.delta_between(with_edge, without, claim.epsilon) <= claim.delta + 1e-12
    if first[1] == 0.0:
        assert audit.epsilon_between(with_edge, without) == pytest.approx(claim.epsilon, abs=1e-9)
    # negative control: a promise with the smaller epsilon alone is broken
    assert audit.delta_between(with_edge, without, min(first[0], second[0])) > claim.delta + 1e-3


def test_random_split_known_value_and_refusals():
    assert composition.random_split(pair(2.0), pair(0.5), 0.5).epsilon == pytest.approx(1.5083, abs=1e-4)
    records = composition.random_split(
        pair(2.0, 0.1, ONE_RECORD_REPLACED), pair(0.5, 0.0, ONE_RECORD_REPLACED), 0.5
    )
    assert (records.epsilon, records.delta) == (2.0, 0.05)
    both = [Guarantee(rho=r, adjacency=ONE_EDGE) for r in (0.1, 0.3)]
    assert composition.random_split(*both, 0.5).rho == 0.3


# -- subsampling


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.7, 0.02)])
def test_poisson_sampling_is_exact_for_randomised_response(epsilon, delta):
    q = 0.25
    claim = composition.subsample(pair(epsilon, delta, ONE_RECORD_ADDED), q)
    absent = response(0, epsilon, delta)
    present = response(1, epsilon, delta)
    mixed = {k: q * present.get(k, 0.0) + (1 - q) * absent.get(k, 0.0) for k in {*present, *absent}}
    assert claim.epsilon is not None and claim.delta is not None
    assert audit.delta_between(mixed, absent, claim.epsilon) <= claim.delta + 1e-12
    assert audit.delta_between(mixed, absent, claim.epsilon - 0.01) > claim.delta + 1e-4
    assert claim.epsilon < epsilon


def test_splits_and_samples_refuse_what_is_not_proven():
    assert composition.subsample(pair(1.0), 1.0).epsilon == 1.0


# -- halting

CONDITION = "condition: the count is at least 3"


def halting_law(count: int, epsilon: float, beta_bad: float) -> dict:
    """A test on the count that passes 2 with probability beta_bad, then a step private from 3 on only."""
    passing = {1: 0.0, 2: beta_bad, 3: min(1.0, math.exp(epsilon) * beta_bad + 0.05), 4: 0.5}[count]
    law = {"HALT": 1 - passing}
    for output, probability in ({"tiny": 1.0} if count < 3 else response(count % 2, epsilon)).items():
        law[output] = passing * probability
    return law


def test_halting_charges_a_test_that_can_fail():
    epsilon, beta = 0.8, 0.02
    tests = [
        {"HALT": law["HALT"], "pass": 1 - law["HALT"]}
        for law in (halting_law(c, epsilon, beta) for c in (1, 2, 3, 4))
    ]
    test_delta = max(float(audit.delta_between(a, b, 1.0)) for a, b in itertools.pairwise(tests[1:]))
    test_delta = max(test_delta, float(audit.delta_between(tests[0], tests[1], 1.0)))
    then = pair(epsilon, 0.0, kind="conditional", assumptions=(CONDITION,))
    claim = composition.halting(pair(1.0, test_delta), then, condition=CONDITION, failure=beta)
    assert claim.kind == "certified" and CONDITION not in claim.assumptions
    assert claim.epsilon == pytest.approx(1.8) and claim.delta is not None
    assert claim.delta == pytest.approx(test_delta + (1 + math.e) * beta)
    for first, second in itertools.pairwise((1, 2, 3, 4)):
        laws = [halting_law(count, epsilon, beta) for count in (first, second)]
        assert audit.delta_between(*laws, 1.8) <= claim.delta
    free = composition.halting(pair(1.0, 0.0), then, condition=CONDITION)
    broken = [halting_law(count, epsilon, beta) for count in (2, 3)]
    assert audit.delta_between(*broken, 1.8) > (free.delta or 0.0)  # negative control: failure not charged


def test_shares_are_what_they_are():
    test = Guarantee(epsilon=1.0, delta=0.0, rho=0.5, adjacency=ONE_EDGE)
    later = Guarantee(epsilon=1.0, delta=0.0, rho=0.5, adjacency=ONE_EDGE, assumptions=(CONDITION,))
    for failure in (Fraction(1, 10**400), Decimal("1e-400"), np.longdouble("1e-400")):
        both = composition.halting(test, later, condition=CONDITION, failure=failure)
        assert both.delta > 0 and both.rho is None
    rates = [Decimal(k) / 1000 for k in range(1, 1000)]
    part = Guarantee(epsilon=1.0, delta=0.75, adjacency=ONE_EDGE)
    assert all(Fraction(composition.subsample(part, q).delta) >= Fraction(q) * 3 / 4 for q in rates)
    refuse((lambda: composition.subsample(part, np.complex128(0.01 + 0.9j)), "must be a number"))


def test_halting_refusals():
    then = pair(0.5, 0.0, kind="conditional", assumptions=(CONDITION, "condition: another"))
    kept = composition.halting(pair(1.0), then, condition=CONDITION)
    assert kept.kind == "conditional" and kept.assumptions == ("condition: another",)
    refuse(
        (lambda: composition.halting(pair(1.0), pair(0.5), condition=CONDITION), "does not rest"),
        (lambda: composition.halting(pair(1.0), then, condition=CONDITION, failure=1.0), "failure"),
        (lambda: composition.halting(pair(3.0), then, condition=CONDITION, failure=0.3), "reaches"),
    )
    rhos = [
        Guarantee(rho=0.1, adjacency=ONE_EDGE),
        Guarantee(rho=0.2, adjacency=ONE_EDGE, assumptions=(CONDITION,)),
    ]
    assert composition.halting(*rhos, condition=CONDITION).rho == pytest.approx(0.3)


# -- Rényi and numeric forms


def test_renyi_form_agrees_with_zcdp():
    orders = [1.5, 2.0, 4.0, 8.0, 10.0, 12.0, 14.0, 16.0, 64.0]
    part = Guarantee(renyi=[(a, 0.05 * a) for a in orders], adjacency=ONE_EDGE)
    both = compose([part, Guarantee(rho=0.05, adjacency=ONE_EDGE)], delta=1e-6)
    reference = Guarantee(rho=0.1, adjacency=ONE_EDGE).epsilon_at(1e-6)
    assert both.renyi == tuple((a, pytest.approx(0.1 * a)) for a in orders)
    assert reference <= both.epsilon <= reference * 1.05
    assert compose([part, part]).epsilon is None
    assert part.renyi_at(3.0) == 0.2 and part.renyi_at(65.0) == math.inf
    assert pair(1.0).renyi_at(2.0) == 1.0 and pair(0.1).renyi_at(2.0) == pytest.approx(0.01)


def test_numeric_loss_of_gaussians_is_the_analytic_one():
    from sosdp.privacy.calibrate import gaussian_delta

    loss = PrivacyLoss((Part("gaussian", (4.0, 1.0, 1.0), times=4),))
    exact = gaussian_delta(1.0, 2.0)
    assert exact <= loss.delta(1.0) <= exact * 1.01
    assert loss.epsilon(exact) == pytest.approx(1.0, abs=1e-3)
    sampled = PrivacyLoss((Part("gaussian", (2.0, 1.0, 0.1), times=10),))
    assert (
        sampled.epsilon(1e-5) < PrivacyLoss((Part("gaussian", (2.0, 1.0, 1.0), times=10),)).epsilon(1e-5) / 3
    )


def test_numeric_loss_of_a_pair_is_its_hockey_stick():
    first, second = (0.5, 0.3, 0.2, 0.0), (0.2, 0.3, 0.4, 0.1)
    laws = [dict(enumerate(law)) for law in (first, second)]
    loss = PrivacyLoss((Part("pair", (first, second)),))
    for epsilon in (0.0, 0.3, 0.8):
        exact = float(audit.delta_between(*laws, epsilon))
        assert exact - 1e-12 <= loss.delta(epsilon) <= exact + 1e-3
    twice = [
        {(a, b): p * q for (a, p), (b, q) in itertools.product(enumerate(law), repeat=2)}
        for law in (first, second)
    ]
    exact = float(audit.delta_between(*twice, 0.5))
    assert exact - 1e-12 <= loss.compose([loss]).delta(0.5) <= exact + 1e-3
    for law, scale in (("discrete laplace", 2.0), ("laplace", 2.0), ("discrete gaussian", 2.0)):
        assert PrivacyLoss((Part(law, (scale, 1, 1)),)).epsilon(1e-3) < 2.0


def test_numeric_loss_composes_with_parameters_and_survives_json():
    noisy = Guarantee(loss=PrivacyLoss((Part("gaussian", (10.0, 1.0, 1.0)),)), adjacency=ONE_EDGE)
    whole = compose([noisy, noisy, pair(0.1)], delta=1e-6)
    assert whole.loss is not None and whole.loss.parts[0].times == 2
    assert whole.epsilon is not None and 0.1 < whole.epsilon < 1.2
    assert any("dp-accounting" in text for text in whole.assumptions)
    assert Guarantee.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole
    assert "numeric privacy loss" in whole.statement()
    assert whole.insecure().loss is None
    refuse((lambda: compose([noisy, Guarantee(rho=0.1, adjacency=ONE_EDGE)], delta=1e-6), "share no form"))


test_refusals = refusals(
    (lambda: pair(5.0, 0.1).for_group(3), "reaches"),
    (lambda: composition.replaced_from_added(pair(0.5)), "add or remove"),
    (lambda: composition.parallel([pair(0.5, 0.0, ONE_RECORD_REPLACED)], pieces="value"), "two pieces"),
    (lambda: composition.parallel([pair(0.5), Guarantee(rho=0.1, adjacency=ONE_EDGE)]), "share no form"),
    *each(
        lambda name: composition.random_split(pair(1.0, 0.0, name), pair(1.0, 0.0, name), 0.5),
        ("one vertex", "2 edges"),
        "one edge or record",
    ),
    # equal to every word
    (lambda: composition.random_split(pair(1.0), pair(1.0), 1.0), "probability"),
    (lambda: composition.random_split(pair(1.0), pair(1.0), math.inf), "probability"),
    (lambda: composition.subsample(pair(1.0, 0.0, ONE_RECORD_REPLACED), 0.1), "proven"),
    (lambda: composition.subsample(pair(1.0, 0.0, ONE_RECORD_ADDED), 0.1, scheme="fixed size"), "proven"),
    (lambda: composition.subsample(Guarantee(rho=0.1, adjacency=ONE_RECORD_ADDED), 0.1), "convert"),
    (lambda: composition.subsample(pair(1.0), 0.0), "rate"),
    (lambda: composition.subsample(pair(1.0), math.inf), "rate"),
    (lambda: composition.subsample(pair(1.0), 0.5, scheme=ANY), "scheme"),
    (lambda: Guarantee(renyi=[(1.0, 0.1)], adjacency=ONE_EDGE), "order"),
    (lambda: Guarantee(renyi=[(2.0, 0.1), (2.0, 0.2)], adjacency=ONE_EDGE), "twice"),
    *(
        (lambda law=law, numbers=numbers: Part(law, numbers), message)
        for law, numbers, message in [
            ("cauchy", (1.0,), "law"),
            (ANY, (1.0,), "law must be one of"),
            ("parameters", (10**400, 0.0), "beyond the range of float64"),
            ("gaussian", (1.0,), "needs"),
            ("gaussian", (0.0, 1.0, 1.0), "positive"),
            ("gaussian", (1.0, 1.0, 2.0), "sampling"),
            ("discrete gaussian", (1.0, 0.5, 1.0), "integer"),
            ("parameters", (1.0, 1.0), "delta"),
            ("parameters", (math.nan, 0.0), "finite"),
            ("pair", ((0.5, 0.5), (1.0,)), "same outputs"),
            # in a million runs an outcome that is left out has a probability of .0009, and nothing is said
            ("pair", ((0.5, 0.5 - 9e-10), (0.5, 0.5 - 9e-10)), "sum to one"),
        ]
    ),
)
