"""The rational base is certified and tight; levels of bracketed scores charge the width."""

import itertools
import math
from fractions import Fraction

import pytest

from sosdp.privacy.scores.levels import (
    BITS,
    check_level_sensitivity,
    level_of,
    level_sensitivity,
    rational_base,
)
from tests.refusals import each, refusals


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1.0, 2.0, 8.0, 40.0])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_base_is_safe_and_within_one_unit(epsilon, step):
    base = rational_base(epsilon, step)
    assert Fraction(base.numerator, 1 << BITS) == base.ratio == 1 / base.inverse
    # the next smaller numerator would break the inequality: checked in decimal arithmetic
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    wanted = (Decimal(-epsilon) / (2 * step)).exp() * (1 << BITS)
    assert base.numerator >= wanted and base.numerator - 1 < wanted


def test_allowance_is_paid_for():
    plain, charged = rational_base(1.0), rational_base(1.0, allowance=Fraction(1, 10))
    assert charged.numerator > plain.numerator
    assert 2 * charged.rate <= 1.0 + math.log(0.9) + 1e-12


def test_level_step_covers_every_bracket():
    quarters = [Fraction(i, 4) for i in range(9)]
    for sensitivity, width, quantum in itertools.product(
        (Fraction(1), Fraction(1, 2)),
        (Fraction(0), Fraction(1, 4), Fraction(1)),
        (Fraction(1, 4), Fraction(1)),
    ):
        step = level_sensitivity(sensitivity, width, quantum)
        worst = 0
        for first, second in itertools.product(quarters, quarters):
            if abs(first - second) <= sensitivity:
                highs = [[s, s + width / 2, s + width] for s in (first, second)]
                for a, b in itertools.product(*highs):
                    worst = max(worst, level_of(a, quantum) - level_of(b, quantum))
        assert worst == step


test_refusals = refusals(
    *each(
        lambda arguments: rational_base(*arguments),
        [(0.0,), (1e-13,), (1.0, 0), (1.0, True), (0.01, 1, Fraction(2, 100)), (1.0, 1, Fraction(1))],
    ),
    *each(lambda bad: level_sensitivity(*(Fraction(b) for b in bad)), [(0, 0, 1), (1, -1, 1), (1, 0, 0)]),
    # type: ignore[arg-type]
    (lambda: check_level_sensitivity(1.0), None),
)
