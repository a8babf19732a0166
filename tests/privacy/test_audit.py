"""The auditor finds known losses, from laws and from runs; true claims stand, published wrong ones fall."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms import report_noisy_max
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.privacy.verification import audit
from sosdp.privacy.verification.audit_runs import audit_runs, clopper_pearson
from sosdp.privacy.verification.cases import CASES
from tests.privacy.noise_laws import laplace_law
from tests.refusals import each, refusals


def test_randomised_response() -> None:
    p = Fraction(3, 4)
    laws = {0: {0: p, 1: 1 - p}, 1: {0: 1 - p, 1: p}}
    assert audit.epsilon_between(laws[0], laws[1]) == pytest.approx(math.log(3))
    assert audit.delta_between(laws[0], laws[1], 0.0) == Fraction(1, 2)
    assert audit.audit(laws, [(0, 1)], math.log(3)).delta == pytest.approx(0.0, abs=1e-15)
    result = audit.audit(laws, [(0, 1)], 0.5)
    assert result.delta == pytest.approx(0.75 - math.exp(0.5) * 0.25)
    assert result.pair == (0, 1)
    assert result.pairs == 1


def test_direction_matters() -> None:
    first, second = {"a": 1.0}, {"a": 0.9, "b": 0.1}
    assert audit.hockey_stick(first, second, 1.0) == 0.0
    assert audit.hockey_stick(second, first, 1.0) == pytest.approx(0.1)
    assert audit.delta_between(first, second, 1.0) == pytest.approx(0.1)
    assert audit.epsilon_between(first, second) == math.inf
    assert audit.epsilon_between(first, second, 0.05) == math.inf
    assert audit.epsilon_between(first, second, 0.1) == pytest.approx(0.0, abs=1e-9)


def test_discrete_laplace_is_pure() -> None:
    law = laplace_law(2.0, 60)
    shifted = {k + 1: p for k, p in law.items()}
    # Compare away from the gathered ends.
    inner = {k: p for k, p in law.items() if abs(k) < 50}
    moved = {k: p for k, p in shifted.items() if k in inner}
    assert audit.epsilon_between(inner, moved) == pytest.approx(0.5)
    assert sum(law.values()) == pytest.approx(1.0)


test_laws_must_be_laws = refusals((lambda: audit.audit({0: {0: 0.5}}, [], 1.0), "sums to"))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_audit_tells_right_from_wrong(name):
    case = CASES[name]
    result = case.audit()
    assert result.refuted == (not case.private), result.statement()
    assert result.pair[0] in case.neighbours and case.source


def test_too_few_runs_show_nothing():
    """The number of runs is what decides: at a fiftieth of it the subtle variant passes."""
    assert not CASES["sparse vector 3"].audit(runs=4000).refuted
    assert {case.name for case in CASES.values() if case.private} == {"sparse vector 1", "sparse vector 2"}
    for case in CASES.values():
        gaps = [abs(a - b) for a, b in zip(*case.neighbours, strict=True)]
        assert all(gap <= 1.0 or gap != gap for gap in gaps)  # neighbours move an answer by at most 1


WORDS = InsecureBits(1)


def noisy_count(scale: float):
    return lambda data: sum(data) + exact.discrete_laplace(scale, WORDS)


PAIRS = [([0] * 5, [1, 0, 0, 0, 0])]


def test_true_claims_stand_and_false_ones_fall():
    right = audit.audit(noisy_count(1.0), PAIRS, 1.0, runs=3000)
    assert not right.refuted and right.epsilon_lower > 0.5
    wrong = audit.audit(noisy_count(0.4), PAIRS, 1.0, runs=3000)  # control: noise for epsilon = 2.5
    assert wrong.refuted and 1.0 < wrong.epsilon_lower <= 2.5
    assert "REFUTED" in wrong.statement() and "output" in wrong.event


def test_delta_is_taken_off():
    def shows(data):
        """Shows the data with probability 0.2."""
        return data[0] if exact.bernoulli(0.2, WORDS) else 7

    pairs = [([0], [1])]
    assert audit_runs(shows, pairs, 1.0, delta=0.0, runs=2000).refuted
    assert not audit_runs(shows, pairs, 0.0, delta=0.2, runs=2000).refuted
    assert audit_runs(shows, pairs, 1.0, delta=0.05, runs=2000).refuted


def test_vectors_and_outcomes():
    def noisy_vector(data):
        return np.array([value + 0.3 * exact.discrete_laplace(2.0, WORDS) for value in data])

    distant = [(np.zeros(3), np.ones(3))]
    vector = audit_runs(noisy_vector, distant, 0.5, runs=2000)
    assert vector.refuted and "projection" in vector.event

    def response(data):
        truth = exact.bernoulli_exp(0.2, WORDS)
        return ("yes", 1) if bool(data) == truth else ("no", 0)

    known = math.log(math.exp(-0.2) / (1 - math.exp(-0.2)))
    result = audit_runs(response, [(1, 0)], known, runs=4000)
    assert not result.refuted and known - 0.5 < result.epsilon_lower <= known
    assert audit_runs(response, [(1, 0)], known / 2, runs=4000).refuted
    assert "outcomes" in result.event


def test_releases_are_audited_by_value():
    seeds = iter(range(10**6))

    def mechanism(scores):
        return report_noisy_max(scores, sensitivity=1, epsilon=1.0, insecure_seed=next(seeds))

    result = audit.audit(mechanism, [([0, 0], [1, -1])], 1.0, runs=1000)
    assert not result.refuted and result.runs == 500
    # four steps away, not one
    assert audit.audit(mechanism, [([0, 0], [4, -4])], 1.0, runs=1000).refuted


def test_clopper_pearson_covers():
    from scipy.stats import binom

    for p in (0.02, 0.3, 0.9):
        law = binom.pmf(np.arange(41), 40, p)
        bounds = [clopper_pearson(k, 40, 0.05) for k in range(41)]
        assert sum(w for w, (low, _) in zip(law, bounds, strict=True) if low > p) <= 0.05
        assert sum(w for w, (_, high) in zip(law, bounds, strict=True) if high < p) <= 0.05
    assert clopper_pearson(0, 10, 0.1)[0] == 0.0 and clopper_pearson(10, 10, 0.1)[1] == 1.0


def test_the_event_is_tested_on_fresh_runs():
    """A mechanism that ignores its data is never refuted, however many events are tried."""
    for seed in range(8):
        bits = InsecureBits(seed)
        result = audit_runs(
            lambda data, w=bits: exact.random_below(50, w), [(0, 1)], 0.01, runs=200, failure=1e-3
        )
        assert not result.refuted


test_refusals = refusals(
    *each(
        lambda bad: audit_runs(lambda d: 0, PAIRS, 1.0, **bad),
        ({"runs": 10}, {"failure": 0.0}, {"delta": 1.0}),
        "audit needs",
    ),
    (lambda: audit_runs(lambda d: 0, [], 1.0), "no pair"),
    (
        lambda: audit.audit(lambda data: 0, [(0, 1)], 1.0, run=10),
        r"^audit\(\) got an unexpected keyword argument 'run'",
        TypeError,
    ),
)
