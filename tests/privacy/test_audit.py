"""The auditor finds known losses, and catches laws that break their claim."""

import math
from fractions import Fraction

import pytest

from sosdp.privacy.verification import audit
from tests.privacy.noise_laws import laplace_law
from tests.refusals import refusals


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
