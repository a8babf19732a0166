"""Gaussian calibrations against published numbers, exact sums and their own proofs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy import calibrate
from sosdp.privacy import randomness as noise
from sosdp.privacy.grid_gaussian import grid_gaussian, smoothing_charge
from tests.privacy.noise_laws import law_of
from tests.refusals import each, refusals, refuse

TABLE = {  # epsilon: (tight, paper, zCDP) multipliers at delta = 1e-6
    0.25: (15.41, 21.55, None),
    0.5: (8.058, 10.77, 8.68),
    1.0: (4.225, 5.387, 4.53),
    2.0: (2.231, 2.693, 2.38),
    4.0: (1.194, 1.347, None),
}


@pytest.mark.parametrize("epsilon", sorted(TABLE))
def test_multipliers_reproduce_the_table(epsilon: float) -> None:
    tight, paper, concentrated = TABLE[epsilon]
    assert calibrate.gaussian_sigma_tight(epsilon, 1e-6) == pytest.approx(tight, rel=5e-4)
    assert calibrate.gaussian_sigma_paper(epsilon, 1e-6) == pytest.approx(paper, rel=5e-4)
    if concentrated is not None:
        rho = calibrate.zcdp_rho(epsilon, 1e-6)
        assert 1.0 / math.sqrt(2.0 * rho) == pytest.approx(concentrated, rel=2e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0.1, 1e-12), (1.0, 1e-6), (1.0, 0.999), (1e-9, 0.5), (20.0, 1e-10), (300.0, 1e-3), (5000.0, 1e-3)],
)
def test_tight_multiplier_is_proven_and_least(epsilon: float, delta: float) -> None:
    multiplier = calibrate.gaussian_sigma_tight(epsilon, delta)
    assert calibrate.delta_at_most(epsilon, 1 / Fraction(multiplier) ** 2, Fraction(delta))
    smaller = multiplier * (1.0 - 1e-6)
    assert not calibrate.delta_at_most(epsilon, 1 / Fraction(smaller) ** 2, Fraction(delta))


def test_float_delta_equals_delta_at_the_root() -> None:
    for epsilon, delta in itertools.product((0.1, 1.0, 5.0), (1e-9, 1e-4, 0.1)):
        multiplier = calibrate.gaussian_sigma_tight(epsilon, delta)
        assert calibrate.gaussian_delta(epsilon, multiplier) == pytest.approx(delta, rel=1e-9)


def test_tight_agrees_with_dp_accounting() -> None:
    import dp_accounting

    for epsilon, delta in ((0.5, 1e-6), (1.0, 1e-8), (4.0, 1e-5)):
        peer = dp_accounting.get_sigma_gaussian(epsilon, delta)
        assert calibrate.gaussian_sigma_tight(epsilon, delta) == pytest.approx(peer, rel=1e-4)


@pytest.mark.parametrize(
    ("delta", "last", "first_failure"),
    [(1e-3, 8.5, 8.54), (1e-5, 9.37, 9.41), (1e-6, 9.71, 9.75), (1e-8, 10.28, 10.32), (1e-10, 10.74, 10.78)],
)
def test_paper_formula_is_refused_where_it_is_not_private(
    delta: float, last: float, first_failure: float
) -> None:
    calibrate.gaussian_sigma_paper(last, delta)
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: calibrate.gaussian_sigma_paper(first_failure, delta),
                lambda: grid_gaussian(
                    sensitivity=1.0, count=10, epsilon=first_failure, delta=delta, calibration="paper"
                ),
            ),
            "tight",
        )
    )


def test_zcdp_conversion_is_below_the_simple_one_and_above_the_truth() -> None:
    for rho, delta in itertools.product((1e-4, 0.02, 0.5, 3.0), (1e-9, 1e-6, 1e-2)):
        converted = calibrate.zcdp_epsilon(rho, delta)
        assert converted <= rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta)) + 1e-12
        # A Gaussian with this rho is an instance, so no conversion may promise less than its exact epsilon.
        multiplier = 1.0 / math.sqrt(2.0 * rho)
        if converted > 0.0:
            assert calibrate.gaussian_delta(converted, multiplier) <= delta


def test_zcdp_rho_inverts_zcdp_epsilon() -> None:
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-9)):
        rho = calibrate.zcdp_rho(epsilon, delta)
        assert calibrate.zcdp_epsilon(rho, delta) <= epsilon
        assert calibrate.zcdp_epsilon(rho * (1 + 1e-9), delta) > epsilon * (1 - 1e-6)


def _discrete_gaussian_delta(epsilon: float, units: float, shift: int) -> float:
    """Exact delta of one integer plus discrete Gaussian noise at an integer sensitivity."""
    support, law = law_of("discrete", units, math.ceil(40.0 * units) + 2)
    cut = epsilon * units**2 / shift
    first = math.fsum(law[support > cut - shift / 2.0])
    return first - math.exp(epsilon) * math.fsum(law[support > cut + shift / 2.0])


def _grid_delta(epsilon, units, shift, count=1, smoothing=calibrate.SMALLEST_SMOOTHING) -> float:
    """Theorem 3 of docs/proofs/gaussian_release.md, for a given smoothing variance."""
    multiplier = math.sqrt(units**2 - smoothing) / shift
    return calibrate.gaussian_delta(epsilon, multiplier) + smoothing_charge(epsilon, count, smoothing)


def test_unit_shift_table_of_conversions() -> None:
    """epsilon at delta = 1e-6, unit shift: exact, through the smoothing bound, through zCDP."""
    rows = ((5.0, 0.83498, 0.88127, 0.89994), (20.0, 0.18921, 0.18983, 0.20590))
    for units, exact, smoothed, concentrated in rows:
        assert _discrete_gaussian_delta(exact, units, 1) == pytest.approx(1e-6, rel=2e-3)
        assert _grid_delta(smoothed, units, 1.0, smoothing=2.43) == pytest.approx(1e-6, rel=2e-3)
        assert calibrate.zcdp_epsilon(1.0 / (2.0 * units**2), 1e-6) == pytest.approx(concentrated, rel=1e-4)


def _exact_delta_of_shift(epsilon: float, units: float, shift: tuple[int, ...]) -> float:
    """Exact delta of adding discrete Gaussians to an integer vector that moves by `shift` (convolution)."""
    total, origin = np.ones(1), 0
    for step in shift:
        support, law = law_of("discrete", units, math.ceil(40.0 * units) + 2)
        spread = np.zeros(step * (support.size - 1) + 1)
        spread[::step] = law
        total = np.convolve(total, spread)
        origin += step * int(support[-1])
    values = np.arange(total.size) - origin
    square = sum(step * step for step in shift)
    cut = epsilon * units**2
    first = total[values > cut - square / 2.0].sum()
    second = total[values > cut + square / 2.0].sum()
    return float(first - math.exp(epsilon) * second)


SHIFTS = [(1,), (2,), (1, 1), (1, 1, 1, 1), (3, 1), (2, 1)]


@pytest.mark.parametrize("shift", SHIFTS)
def test_smoothing_bound_dominates_exact_sums(shift: tuple[int, ...]) -> None:
    length = math.sqrt(sum(step * step for step in shift))
    closest = 0.0
    for units, epsilon in itertools.product((2.0, 2.5, 4.0, 10.0, 25.0), (0.05, 0.2, 0.5, 1.0, 2.0, 3.0)):
        exact = _exact_delta_of_shift(epsilon, units, shift)
        if exact < 1e-14:
            continue
        bound = _grid_delta(epsilon, units, length, len(shift))
        assert exact <= bound
        closest = max(closest, exact / bound)
    assert closest > 0.9  # the bound is not vacuous


def _exact_rounded_delta(epsilon: float, units: float, shift: int) -> float:
    """Hockey-stick sum of round(N(0, units^2)) against its shift by an integer."""
    from scipy.stats import norm

    edges = np.arange(-math.ceil(40 * units), math.ceil(40 * units)) + 0.5
    # Differences of tails, from the side where they are small.
    law = np.where(
        edges[1:] < 0, np.diff(norm.cdf(edges, scale=units)), -np.diff(norm.sf(edges, scale=units))
    )
    padded = np.concatenate([np.zeros(shift), law]), np.concatenate([law, np.zeros(shift)])
    return float(np.maximum(padded[0] - math.exp(epsilon) * padded[1], 0.0).sum())


@pytest.mark.parametrize("law", ["rounded", "discrete"])
@pytest.mark.parametrize("calibration", ["tight", "paper"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-3), (3.0, 1e-9)])
def test_plan_on_a_coarse_grid_keeps_its_promise_exactly(
    epsilon: float, delta: float, calibration: str, law: str
) -> None:
    """A huge public box forces a grid coarse enough for the exact sum to be computed."""
    plan = grid_gaussian(
        sensitivity=3.0,
        count=1,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        largest=2.0**61,
        law=law,
    )
    assert plan.grid == 2.0
    assert plan.shift == Fraction(5, 2)
    if law == "discrete":
        exact = _discrete_gaussian_delta(epsilon, plan.units, 2)
    else:
        exact = _exact_rounded_delta(epsilon, plan.units, 2)
    assert exact <= delta


@pytest.mark.parametrize("count", [2, 3])
def test_coarse_plan_covers_every_integer_shift(count: int) -> None:
    """Rounding included: all integer shifts within the charged distance, exact law in several dimensions."""
    epsilon, delta = 1.0, 1e-4
    plan = grid_gaussian(
        sensitivity=3.0, count=count, epsilon=epsilon, delta=delta, largest=2.0**61, law="discrete"
    )
    reach = int(float(plan.shift))
    worst = 0.0
    for shift in itertools.combinations_with_replacement(range(reach + 1), count):
        if 0 < sum(step * step for step in shift) <= plan.shift**2:
            moved = tuple(step for step in shift if step)
            worst = max(worst, _exact_delta_of_shift(epsilon, plan.units, moved))
    assert 0.05 * delta < worst <= delta


def test_fine_grid_costs_nothing() -> None:
    plan = grid_gaussian(sensitivity=0.3, count=124_750, epsilon=1.0, delta=1e-6)
    ideal = 0.3 * calibrate.gaussian_sigma_tight(1.0, 1e-6)
    assert ideal < plan.scale < ideal * (1 + 1e-5)
    assert math.frexp(plan.grid)[0] == 0.5
    assert plan.charge < 1e-6 * 2.0**-20
    assert noise.noise_units(plan.scale, plan.grid) == plan.units


@pytest.mark.parametrize(
    ("law", "backend"), [("rounded", "cells"), ("discrete", "cells"), ("discrete", "opendp")]
)
def test_plan_satisfies_its_inequality_in_exact_arithmetic(law: str, backend: str) -> None:
    for epsilon, delta, count in ((0.1, 1e-9, 1), (1.0, 1e-6, 10**6), (30.0, 1e-12, 10**4)):
        plan = grid_gaussian(
            sensitivity=1.7, count=count, epsilon=epsilon, delta=delta, law=law, backend=backend
        )
        assert plan.shift**2 >= (Fraction(1.7) / Fraction(plan.grid)) ** 2 + count
        variance = Fraction(plan.units) ** 2 - Fraction(plan.smoothing)
        left = Fraction(delta) - Fraction(plan.charge)
        assert calibrate.delta_at_most(epsilon, plan.shift**2 / variance, left)
        exponent = 2.0 * math.pi**2 * plan.smoothing
        assert (plan.smoothing == 0.0) == (law == "rounded")
        each = 2.0 * math.exp(-exponent) if law == "discrete" else 0.0
        charged = (1.0 + math.exp(epsilon)) * count * each
        assert charged <= plan.charge <= charged * (1 + 1e-6)


def test_directed_rounding() -> None:
    generator = np.random.default_rng(1)
    numbers = [
        Fraction(2),
        Fraction(1, 3),
        Fraction(1, 10**500),
        Fraction(10**500),
        Fraction(4),
        Fraction(9, 16),
    ]
    numbers += [Fraction(int(a), int(b)) for a, b in generator.integers(1, 2**62, size=(200, 2))]
    for number in numbers:
        root = calibrate.root_up(number)
        assert Fraction(root) ** 2 >= number
        assert Fraction(math.nextafter(math.nextafter(root, 0.0), 0.0)) ** 2 < number
    assert calibrate.root_up(Fraction(9, 16)) == 0.75
    assert calibrate.root_up(Fraction(0)) == 0.0
    third = Fraction(1, 3)
    assert Fraction(calibrate.float_down(third)) < third < Fraction(calibrate.float_up(third))


def test_zcdp_plan_is_exact() -> None:
    plan = grid_gaussian(sensitivity=2.0, count=50, rho=0.125)
    assert plan.shift**2 / (2 * Fraction(plan.units) ** 2) <= Fraction(0.125)
    assert plan.scale == pytest.approx(4.0, rel=1e-5)


def test_rounded_law_costs_nothing_extra() -> None:
    plan = grid_gaussian(sensitivity=1.0, count=10, epsilon=95.0, delta=1e-9)
    assert plan.charge == plan.smoothing == 0.0


test_refusals = refusals(
    *each(calibrate.check_epsilon, [0, -1, math.inf, math.nan, "1", None, True], "epsilon"),
    *each(calibrate.check_delta, [0, 1, -0.1, 1.5, math.nan, "x", None], "delta"),
    (lambda: calibrate.root_up(Fraction(10**700)), "rescale"),
    (lambda: grid_gaussian(sensitivity=1.0, count=1, epsilon=1.0, delta=1e-9, backend="opendp"), "law"),
    *each(
        lambda arguments: grid_gaussian(**arguments),
        [
            {"sensitivity": 0.0, "count": 1, "epsilon": 1, "delta": 1e-6},
            {"sensitivity": math.nan, "count": 1, "epsilon": 1, "delta": 1e-6},
            {"sensitivity": 1.0, "count": 0, "epsilon": 1, "delta": 1e-6},
            {"sensitivity": 1.0, "count": 1, "epsilon": 1},
            {"sensitivity": 1.0, "count": 1},
            {"sensitivity": 1.0, "count": 1, "epsilon": 1, "delta": 1e-6, "rho": 1.0},
            {"sensitivity": 1.0, "count": 1, "epsilon": 1, "delta": 1e-6, "calibration": "loose"},
            {"sensitivity": 1e-320, "count": 1, "epsilon": 1, "delta": 1e-6},
            {"sensitivity": 1.0, "count": 10**9, "epsilon": 1e-9, "delta": 1e-12},
            {"sensitivity": 1.0, "count": 1, "rho": 0.0},
        ],
        r"[a-z]",
    ),
)
