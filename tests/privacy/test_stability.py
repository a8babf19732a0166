"""The stability release: exact worst-case law over all roundings, and the rules that must not be
simplified.
"""

import math
import warnings
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.mechanisms.propose_test_release.acceptance import AcceptRule, accept_rule, tail_margin
from sosdp.privacy.mechanisms.propose_test_release.stability import (
    StabilityRule,
    release_if_stable,
    stability_rule,
)
from sosdp.privacy.verification import audit
from tests.privacy.noise_laws import laplace_law
from tests.refusals import each, refuse

FAIL = "FAIL"

Pair = tuple[int, int, bool]  # integer statistics of the neighbours, and whether their answers agree


def decision_law(rule: AcceptRule, statistic: int, answer: str) -> dict:
    """Output law without the noisy statistic."""
    chance = rule.release_probability(statistic)
    return {answer: chance, FAIL: 1.0 - chance}


def joint_law(rule: AcceptRule, statistic: int, answer: str, reach: int) -> dict:
    """Output law of (noisy statistic, answer or FAIL)."""
    law: dict = {}
    for noise, probability in laplace_law(rule.units, reach).items():
        assert isinstance(noise, int)
        shown = answer if rule.accepts(statistic, noise) else FAIL
        law[statistic + noise, shown] = law.get((statistic + noise, shown), 0.0) + probability
    return law


def counts_of(f: Fraction, rule: StabilityRule) -> set[int]:
    """Integer statistics that an implementation within the error bound may see at the true value f."""
    low, high = rule.count(f - Fraction(rule.error)), rule.count(f + Fraction(rule.error))
    seen = set(range(low, high + 1)) if f > 0 else set()
    if f <= Fraction(rule.shift) + Fraction(rule.error):
        seen.add(0)  # settled: proven to be small
    return seen


def worst_pairs(rule: StabilityRule, counts=counts_of, top: int = 3) -> Iterator[Pair]:
    """All distinguishable neighbouring situations with f on a fine lattice in [0, top]."""
    step = min(Fraction(rule.grid), Fraction(rule.error) or Fraction(1)) / 2
    values = [i * step for i in range(int(top / step) + 1)]
    table = {f: counts(f, rule) for f in values}
    ahead = int(1 / step)
    seen: set[Pair] = set()
    for i, f in enumerate(values):
        for other in values[i : i + ahead + 1]:
            agree = max(f, other) > 1
            for first in table[f]:
                for second in table[other]:
                    seen.add((first, second, agree))
    yield from seen


def worst_delta(rule: StabilityRule, counts=counts_of, top: int = 3) -> float:
    worst = 0.0
    for first, second, agree in worst_pairs(rule, counts, top):
        laws = (
            decision_law(rule.accept, first, "x"),
            decision_law(rule.accept, second, "x" if agree else "other"),
        )
        worst = max(worst, float(audit.delta_between(*laws, rule.accept.epsilon)))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta", "error", "shift"),
    [
        (1.0, 0.05, 0.0, 0.0),
        (1.0, 0.05, 1 / 64, 1 / 64),
        (1.0, 0.05, 1 / 16, 1 / 16),
        (4.0, 0.01, 1 / 16, 1 / 8),
        (8.0, 1e-3, 1 / 32, 1 / 32),
        (0.5, 0.5, 1 / 16, 1 / 2),
        (1.0, 1e-6, 1 / 16, 1.0),
    ],
)
def test_worst_case_over_all_roundings(epsilon: float, delta: float, error: float, shift: float) -> None:
    rule = stability_rule(epsilon, delta, error=error, shift=shift, grid=1 / 64)
    worst = worst_delta(rule)
    assert worst <= delta * (1 + 1e-12)
    if shift <= error:
        # Nearly attained, so the threshold is not wasteful (one step of the margin is a factor e^{-eps/S}).
        assert worst > 0.9 * delta * math.exp(-epsilon / rule.accept.sensitivity)


def test_integer_statistic_needs_no_rounding_allowance() -> None:
    rule = stability_rule(1.0, 0.05, grid=1.0)
    assert rule.accept.sensitivity == 1
    assert rule.count(3.0) == 3
    assert worst_delta(rule) <= 0.05


def test_an_error_that_is_no_float_is_charged() -> None:
    exact = Fraction(1, 2) + Fraction(1, 2**60)
    for error in (exact, Decimal("0.50000000000000000001"), np.longdouble(0.5) + np.longdouble(2) ** -60):
        rule = stability_rule(1.0, 1e-3, error=error, shift=1, grid=1)
        assert rule.accept.sensitivity == 3 and rule.error > 0.5
    assert stability_rule(1.0, 1e-3, error=0.25, shift=exact, grid=1).shift >= exact


def test_noisy_statistic_is_covered_by_the_same_budget() -> None:
    rule = stability_rule(1.0, 0.05, error=1 / 16, shift=1 / 16, grid=1 / 8)
    worst = 0.0
    for first, second, agree in worst_pairs(rule, top=3):
        laws = (
            joint_law(rule.accept, first, "x", 700),
            joint_law(rule.accept, second, "x" if agree else "other", 700),
        )
        worst = max(worst, float(audit.delta_between(*laws, 1.0)))
    assert 0.5 * 0.05 < worst <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize("units", [0.3, 1.0, 7.3, 1000.0, 2.0**33])
@pytest.mark.parametrize("probability", [0.5, 0.1, 1e-3, 1e-9, 1e-300])
def test_margin_is_the_least_valid_integer(units: float, probability: float) -> None:
    import flint

    j = tail_margin(units, probability)

    def tail(k: int) -> flint.arb:
        rate = 1 / flint.arb(units)
        return (-k * rate).exp() / (1 + (-rate).exp())

    with flint.ctx.workprec(400):
        assert tail(j) <= flint.arb(probability)
        assert j == 1 or tail(j - 1) > flint.arb(probability)


def test_tail_is_a_law() -> None:
    rule = accept_rule(0.7, 0.01, 3)
    law = laplace_law(rule.units, 400)
    for j in range(-20, 21):
        direct = sum(p for k, p in law.items() if isinstance(k, int) and k >= j)
        assert rule.tail(j) == pytest.approx(direct, rel=1e-12)
    assert rule.release_probability(0) == 0.0
    assert rule.release_probability(rule.threshold) == pytest.approx(rule.tail(0))


def test_planning_number() -> None:
    rule = stability_rule(1.0, 1e-6, error=1e-7, shift=1.0)
    needed = rule.statistic_needed(0.01)
    assert rule.release_probability(needed) >= 0.99
    assert rule.release_probability(needed - 2 * rule.grid) < 0.99 + 1e-9
    formula = 1.0 + 1.0 + math.log(1 / 2e-6) + math.log(1 / 0.02)
    assert needed == pytest.approx(formula, abs=1e-3)


def test_noise_matches_the_budget_exactly() -> None:
    for epsilon in (0.1, 1.0, 3.0, 50.0):
        rule = accept_rule(epsilon, 1e-6, 2**20 + 3)
        assert Fraction(rule.sensitivity) / Fraction(rule.units) <= Fraction(epsilon)


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 0.6},
        {"epsilon": 1.0, "delta": 1e-6, "error": 0.1, "shift": 0.05},
        {"epsilon": 1.0, "delta": 1e-6, "error": math.nan},
        {"epsilon": 1.0, "delta": 1e-6, "grid": 2.0},
        {"epsilon": 1e-9, "delta": 1e-6, "grid": 2.0**-30},
        {"epsilon": 1e-300, "delta": 1e-6, "grid": 1e-300},
    ],
)
def test_public_arguments_are_checked(arguments: dict) -> None:
    refuse((lambda: stability_rule(**arguments), r"[a-z]"))


HOSTILE = [None, math.nan, math.inf, -math.inf, -5.0, 0.0, 1e308, 5e-324, Fraction(1, 3), 7]


@pytest.mark.parametrize("statistic", HOSTILE)
@pytest.mark.parametrize("resolved", [True, False])
def test_nothing_but_the_decision_depends_on_the_data(statistic: object, resolved: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = release_if_stable(
            "secret",
            statistic,  # type: ignore[arg-type]
            resolved=resolved,
            epsilon=1.0,
            delta=1e-9,
            adjacency="one edge",
            error=1e-6,
            shift=0.5,
        )
    plain = release_if_stable("x", None, epsilon=1.0, delta=1e-9, adjacency="one edge", error=1e-6, shift=0.5)
    assert made.guarantee == plain.guarantee
    assert made.public == plain.public
    if statistic in (math.inf, 1e308) and resolved:
        assert made.value == "secret"
    else:
        assert made.value is None


def test_kinds_are_public() -> None:
    def kind(**more: object) -> str:
        return release_if_stable(
            "x",
            0.0,
            epsilon=1.0,
            delta=1e-6,
            adjacency="one edge",
            **more,  # type: ignore[arg-type]
        ).guarantee.kind

    assert kind() == "conditional"
    assert kind(search_complete=True) == "conditional"
    proven = {"search_complete": True, "proof": Fact("an example")}
    assert kind(**proven) == "exact"
    assert kind(**proven, error=1e-6, shift=1e-6) == "certified"
    assert kind(insecure_seed=3) == "none"
    made = release_if_stable("x", 0.0, epsilon=1.0, delta=1e-6, adjacency="one edge")
    assert any("outside the claim" in line for line in made.guarantee.assumptions)


def test_empirical_release_rate_follows_the_law() -> None:
    rule = stability_rule(1.0, 0.01, grid=1 / 8)
    statistic = rule.accept.threshold / 8
    expected = rule.release_probability(statistic)
    released = sum(
        release_if_stable(1, statistic, epsilon=1.0, delta=0.01, adjacency="one edge", grid=1 / 8).released
        for _ in range(400)
    )
    deviation = math.sqrt(400 * expected * (1 - expected))
    assert abs(released - 400 * expected) < 5.5 * deviation


def test_noisy_statistic_is_released_on_request() -> None:
    made = release_if_stable(
        "x", 40.0, epsilon=1.0, delta=1e-6, adjacency="one edge", noisy_statistic=True, insecure_seed=1
    )
    assert made.value == "x"
    assert 20.0 < made.public["noisy_statistic"] < 60.0
    assert "statistic" not in repr(made)


def test_the_coin_of_a_stability_release():
    """decision="coin": released surely far from instability, never at it, by the profile between."""
    from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile

    curve = accept_profile(0.5, 0.05)
    budget = {"epsilon": 0.5, "delta": 0.05, "adjacency": "one edge", "decision": "coin"}
    assert release_if_stable("x", float(curve.length + 2), **budget).value == "x"
    for statistic in (None, 0.0, 1.0, float("nan")):
        assert release_if_stable("x", statistic, **budget).value is None
    assert release_if_stable("x", 50.0, resolved=False, **budget).value is None
    runs = 400
    share = float(curve.probability(3))  # 3 < 3.5 <= 4
    released = sum(release_if_stable("x", 3.5, insecure_seed=s, **budget).released for s in range(runs))
    assert abs(released / runs - share) < 5.5 * (share * (1 - share) / runs) ** 0.5
    same = [release_if_stable("x", s, **budget).guarantee for s in (None, 3.5)]
    assert same[0] == same[1] and same[0].epsilon == 0.5 and same[0].delta == 0.05
    refuse(
        *each(
            lambda options: release_if_stable("x", 3.5, **{**budget, **options}),
            ({"decision": "dice"}, {"noisy_statistic": True}, {"epsilon": 1e-4}),
            "decision",
        )
    )
