"""Private Frank-Wolfe: integer sensitivity, exact laws of two selections, costs."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from problems.mrf import theory
from problems.mrf.model import diamond, grid
from problems.mrf.program import (
    SIGN_TABLE,
    ising_regressions,
    pairwise_regressions,
    symbol_pairs,
    t_wise_regressions,
)
from sosdp.privacy.calibrate import zcdp_rho
from sosdp.privacy.mechanisms import frank_wolfe as mechanism
from sosdp.privacy.mechanisms.frank_wolfe import overlap, plan_selection, private_frank_wolfe
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.structured.l1_logistic import (
    MARGINS,
    QUANTUM,
    Regressions,
    corners,
    frank_wolfe,
    integer_gradient,
    largest_residual,
    lowest,
    residual_table,
)


def logistic_loss(data, weights):
    """(q,) the objective at the weights (float64): sums over a regression's own records, divided by n."""
    margins = data.labels * (weights @ (data.points / data.unit))
    losses = np.logaddexp(0.0, -margins) * np.abs(data.labels)
    counts = np.ones(data.points.shape[1]) if data.counts is None else data.counts
    return np.asarray(losses @ counts / data.records, dtype=np.float64)


def duality_gap(data, weights, radius):
    """(q,) Frank-Wolfe gaps max_s <w - s, grad>: upper bounds on the excess of the objective (float64)."""
    points = data.points / data.unit
    margins = data.labels * (weights @ points)
    counts = np.ones(data.points.shape[1]) if data.counts is None else data.counts
    residuals = data.labels / (1.0 + np.exp(margins)) * counts
    gradient = -(residuals @ points.T) / data.records
    steepest = np.abs(np.take_along_axis(gradient, data.columns, axis=1)).max(axis=1)
    return (weights * gradient).sum(axis=1) + radius * steepest


def one(features, labels):
    """One regression on all features."""
    features = np.asarray(features)
    codes, columns = (np.asarray(labels) > 0).astype(int)[None], np.arange(features.shape[1])[None]
    return Regressions(features.T, codes, (SIGN_TABLE,), columns)


# ------------------------------------------------------------------------------------------------------------
# Scores


def margins_of(data, weights, t):
    return (weights @ data.points.astype(np.int64)) * data.labels


def test_residuals_are_bounded_whatever_the_margin():
    for radius in (0.1, 1.0, 5.0, 40.0, 2000.0):
        table, most = residual_table(radius), largest_residual(radius)
        assert table.min() >= 0 and table.max() <= most and (np.diff(table) <= 0).all()
        assert most == math.ceil(QUANTUM / (1 + math.exp(-radius))) and (table == np.rint(table)).all()
        exact = QUANTUM / (
            1 + np.exp(np.clip(radius * np.arange(-MARGINS, MARGINS + 1) / MARGINS, None, 700))
        )
        assert np.abs(table - exact).max() <= 0.51


@pytest.mark.parametrize("p", [2, 3, 5])
def test_sensitivity_over_all_pairs_of_records_and_it_is_attained(p):
    """Lemma 1, at random weights of the ball and at a corner, where it is attained up to rounding."""
    records = np.array(list(itertools.product((-1, 1), repeat=p)))
    radius = 1.7
    bound = 2 * largest_residual(radius)
    rng = np.random.default_rng(p)
    t, attained = 6, 0
    for trial in range(20):
        integers = np.zeros(p, dtype=np.int64)
        for k in range(1, t):  # a Frank-Wolfe path; the first trial goes to one corner
            integers[0 if trial == 0 else rng.integers(p)] += (
                2 * (k + 1) * (1 if trial == 0 else rng.choice((-1, 1)))
            )
        parts = []
        for x in records:
            for y in (-1, 1):
                data = one([x], [y])
                margins = margins_of(data, integers[None], t)
                parts.append(integer_gradient(data, margins, t * (t + 1), residual_table(radius))[0])
        parts = np.array(parts)
        moved = (parts.max(axis=0) - parts.min(axis=0)).max()
        assert moved <= bound
        attained = max(attained, moved)
    # margins of a path stop short of the radius by 2 / (t (t + 1))
    assert attained >= 2 * QUANTUM / (1 + math.exp(-radius * (1 - 2 / (t * (t + 1))))) - 16
    # in real units: the constant of the theory
    assert bound / QUANTUM * radius / 4 == pytest.approx(theory.gradient_sensitivity(radius, 4), rel=1e-5)


def test_records_that_take_no_part_contribute_nothing():
    table = np.array([[0, 1], [1, 0], [-1, -1]], dtype=np.int8)
    data = Regressions(np.ones((2, 1), int), np.array([[0]]), (table,), np.array([[0, 1], [0, 1]]))
    gradient = integer_gradient(data, np.zeros((2, 1), int), 2, residual_table(1.0))
    assert (gradient[0] == 0).all() and (gradient[1] != 0).all()


def test_hostile_records_are_clipped():
    data = Regressions(np.array([[10**6]]), np.array([[99]]), (SIGN_TABLE,), np.array([[0]]))
    assert data.points[0, 0] == 1 and data.labels[0, 0] == 1
    several = np.array([[1, 0, 0, -9], [1, 1, 0, 1], [1, 1, 1, 0]])
    columns = np.array([[0, 1, 2, 2, 1, 1], [0, 1, 2, 0, 2, 2]])
    grouped = Regressions(several, np.zeros((1, 4), int), (np.ones((1, 2), np.int8),), columns, group=3)
    for group in columns.reshape(-1, 3):
        assert ((grouped.points[group] != 0).sum(axis=0) <= 1).all()
    assert (grouped.points[0] == [1, 0, 0, -1]).all()
    with pytest.raises(ValueError):  # sums would not be exact; n is public
        Regressions(
            np.ones((1, 1), int), np.zeros((1, 1), int), (SIGN_TABLE,), np.zeros((1, 1), int), unit=2**34
        )


# ------------------------------------------------------------------------------------------------------------
# Exact law of all selections


def path_law(data, radius, iterations, rate):
    """Probability of every sequence of vertices, by running the iteration along each."""
    law = {}

    def walk(prefix, probability):
        seen = []

        def select(scores):
            seen.append(scores[0])
            return np.array([prefix[len(seen) - 1] if len(seen) <= len(prefix) else 0])

        frank_wolfe(data, radius=radius, iterations=len(prefix) + 2, select=corners(select))
        if len(prefix) == iterations - 1:
            law[prefix] = probability
            return
        scores = seen[len(prefix)].astype(float)
        weights = np.exp(-(scores - scores.min()) * rate)
        weights /= weights.sum()
        for index, weight in enumerate(weights):
            walk((*prefix, index), probability * weight)

    walk((), 1.0)
    return np.array([law[path] for path in sorted(law)])


def renyi(first, second, alpha):
    return np.log((first**alpha * second ** (1 - alpha)).sum()) / (alpha - 1)


def worst_divergence(radius, rho, scale_factor=1.0):
    """Largest D_alpha / (alpha rho) over neighbours: two selections, 3 records of {-1, 1}^2 x {-1, 1}."""
    iterations = 3
    every = list(itertools.product((-1, 1), repeat=3))
    laws = {}
    for database in itertools.combinations_with_replacement(every, 3):
        data = one([r[:2] for r in database], [r[2] for r in database])
        plan = plan_selection(data, radius=radius, iterations=iterations, rho=rho)
        laws[database] = path_law(data, radius, iterations, scale_factor / float(plan.scale))
    worst = 0.0
    for database in laws:
        for place, other in itertools.product(range(3), every):
            neighbour = tuple(sorted((*database[:place], *database[place + 1 :], other)))
            for alpha in (1.1, 2.0, 10.0):
                worst = max(worst, renyi(laws[database], laws[neighbour], alpha) / (alpha * rho))
    return worst, len(laws)


@pytest.mark.parametrize("radius, rho", [(0.5, 0.5), (2.0, 3.0), (6.0, 0.5)])
def test_two_selections_enumerated_stay_within_rho(radius, rho):
    worst, databases = worst_divergence(radius, rho)
    assert databases == 120
    assert 0.2 < worst <= 1.0
    mutated, _ = worst_divergence(radius, rho, scale_factor=4.0)  # a quarter of the noise
    assert mutated > 1.0


def follow(path):
    picks = iter(path)
    return corners(lambda scores: np.array([next(picks)]))


def test_the_release_has_the_law_that_was_enumerated():
    rows = [(1, 1, 1), (1, -1, 1), (-1, 1, -1)]
    data = one([r[:2] for r in rows], [r[2] for r in rows])
    plan = plan_selection(data, radius=2.0, iterations=3, rho=3.0)
    law = path_law(data, 2.0, 3, 1 / float(plan.scale))
    wanted: dict[tuple[float, ...], float] = {}
    for path, probability in zip(itertools.product(range(4), repeat=2), law, strict=True):
        weights = frank_wolfe(data, radius=2.0, iterations=3, select=follow(path))
        key = tuple(weights[0].round(9))
        wanted[key] = wanted.get(key, 0.0) + probability
    runs = 1000
    result = dict.fromkeys(wanted, 0)
    for seed in range(runs):
        release = private_frank_wolfe(data, radius=2.0, iterations=3, rho=3.0, insecure_seed=seed)
        result[tuple(release.value[0].round(9))] += 1
    statistic = sum((result[key] - runs * p) ** 2 / (runs * p) for key, p in wanted.items())
    assert statistic < len(wanted) + 6 * math.sqrt(2 * len(wanted))


def group_gradients(database, radius):
    """(2, q, groups, 3): at the start and after one step to fixed vertices; two symbols of three."""
    seen = []

    def select(gradient):
        seen.append(gradient.reshape(len(gradient), -1, 3))
        return np.tile(np.arange(3), (len(gradient), 1)), np.tile([100, -200, 60], (len(gradient), 1))

    data = pairwise_regressions(np.array(database), 3, groups=True)
    frank_wolfe(data, radius=radius, iterations=3, select=select)
    return np.array(seen), data


def group_divergence(first, second, plan, alpha):
    """D_alpha of (the group, its noisy gradient) of all regressions together, for one step."""
    choice = []
    for blocks in (first, second):
        lengths = np.floor(np.sqrt((blocks.astype(float) ** 2).sum(axis=2)))
        weights = np.exp((lengths - lengths.max(axis=1, keepdims=True)) / float(plan.scale))
        choice.append(weights / weights.sum(axis=1, keepdims=True))
    shift = ((first - second).astype(float) ** 2).sum(axis=2) / (2 * plan.sigma**2)
    terms = choice[0] ** alpha * choice[1] ** (1 - alpha) * np.exp(alpha * (alpha - 1) * shift)
    return np.log(terms.sum(axis=1)).sum() / (alpha - 1)


@pytest.mark.parametrize("radius, rho", [(0.5, 0.3), (3.0, 2.0)])
def test_groups_enumerated_stay_within_rho(radius, rho):
    """All data sets of two records of two symbols of three, all neighbours, both of two steps."""
    records = list(itertools.product(range(3), repeat=2))
    gradients = {pair: group_gradients(pair, radius) for pair in itertools.product(records, repeat=2)}
    plan = plan_selection(gradients[records[0], records[0]][1], radius=radius, iterations=3, rho=rho)
    weak = replace(plan, each=4 * plan.each)  # control: a quarter of both noises
    worst, beyond = 0.0, 0.0
    for (_, kept), (seen, _) in gradients.items():
        for other in records:
            for first, second in zip(seen, gradients[other, kept][0], strict=True):
                for alpha in (1.1, 2.0, 10.0):
                    allowed = alpha * rho / plan.selections
                    worst = max(worst, group_divergence(first, second, plan, alpha) / allowed)
                    if alpha == 2.0:
                        beyond = max(beyond, group_divergence(first, second, weak, alpha) / allowed)
    assert 0.2 < worst <= 1.0 < beyond


def test_groups_are_drawn_with_the_noise_of_the_plan(monkeypatch):
    data = pairwise_regressions(np.array([[0, 1], [2, 1]]), 3, groups=True)
    plan = plan_selection(data, radius=2.0, iterations=5, rho=0.5)
    blocks = np.array([[3, -4, 0], [int(plan.scale), 0, 0]])
    seen = []
    monkeypatch.setattr(mechanism, "unit_rows", lambda values, length: seen.append(values) or values)
    places, _ = mechanism._noisy_direction(np.tile(blocks.ravel(), (4000, 1)), plan, InsecureBits(7))
    chosen = places[:, 0] // 3
    assert (places == chosen[:, None] * 3 + np.arange(3)).all()
    ratio = math.exp(-(5 - int(plan.scale)) / float(plan.scale))
    assert abs(chosen.mean() - ratio / (1 + ratio)) < 0.04
    noise = seen[0] + blocks[chosen]
    assert abs(noise.std() / plan.sigma - 1) < 0.04 and abs(noise.mean()) < 0.05 * plan.sigma
    step = plan.each**2 / 8 + Fraction(plan.sensitivity) ** 2 / (2 * Fraction(plan.sigma) ** 2)
    assert Fraction(0.5) * (1 - Fraction(1, 10**12)) < step * plan.selections * plan.overlap <= Fraction(0.5)
    for wrong in ({"epsilon": 1.0}, {"rho": 1.0, "calibration": "paper"}):
        with pytest.raises(ValueError, match="groups"):
            plan_selection(data, radius=2.0, iterations=5, **wrong)


def laplace_pair_loss(shift, gap):
    """log ratio of P(first lowest) for scores (gap, 0) moved apart by 2 shift, Laplace noise of scale 1."""

    def tail(x):  # P(L1 - L2 > x), x >= 0
        return math.exp(-x) * (2 + x) / 4

    return math.log(tail(gap - 2 * shift) / tail(gap))


def test_printed_laplace_noise_costs_more_than_the_paper_says():
    """The claim sqrt(rho / T) a selection fails; twice Delta / b, which `paper` is calibrated to, holds."""
    radius, n, iterations, rho = 4.0, 100, 50, 0.5
    printed = theory.noise_scale(radius, n, iterations, rho, "printed")
    shift = theory.gradient_sensitivity(radius, n) / printed
    loss = laplace_pair_loss(shift, 200.0)
    assert loss > 1.9 * math.sqrt(rho / iterations)
    assert loss <= 2 * shift
    repaired = theory.noise_scale(radius, n, iterations, rho, "paper")
    mine = laplace_pair_loss(theory.gradient_sensitivity(radius, n) / repaired, 200.0)
    assert (iterations - 1) * mine**2 / 2 <= rho
    assert (iterations - 1) * loss**2 / 2 > rho


# ------------------------------------------------------------------------------------------------------------
# Budgets


def test_calibrations_in_real_units():
    data = ising_regressions(diamond(5).sample(200, 1))
    for calibration, law in (("tight", "gumbel"), ("paper", "laplace")):
        plan = plan_selection(data, radius=1.2, iterations=30, rho=0.1, calibration=calibration)
        real = float(plan.scale) * 1.2 / QUANTUM / 200
        assert plan.law == law and plan.overlap == 5
        assert real == pytest.approx(theory.noise_scale(1.2, 200, 30, 0.1 / 5, calibration), rel=1e-5)
        cost = plan.each**2 / (8 if law == "gumbel" else 2) * plan.selections * plan.overlap
        assert Fraction(0.1) * (1 - Fraction(1, 10**12)) < cost <= Fraction(0.1)
        assert plan.sensitivity == 2 * largest_residual(1.2)
    pure = plan_selection(data, radius=1.2, iterations=30, epsilon=1.0)
    assert pure.law == "permute-and-flip" and pure.each * pure.selections * pure.overlap == 1


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_partial_parallel_composition(k):
    """A stub mechanism reports sensitivities: the costs of all pairs (a, a') stay within the budget."""
    p, rho, radius = 3, 0.7, 2.0
    rows = np.random.default_rng(k).integers(k, size=(6, p))
    share = Fraction(rho) / overlap(pairwise_regressions(rows, k).tables)
    assert overlap(pairwise_regressions(rows, k).tables) == p * (k - 1)
    full = 2 * largest_residual(radius)
    worst = Fraction(0)
    for a, other in itertools.product(range(k), repeat=2):
        # all nodes of the replaced record go from a to a'
        before, after = rows.copy(), rows.copy()
        before[0], after[0] = a, other
        parts = [pairwise_regressions(table[:1], k) for table in (before, after)]
        total = Fraction(0)
        for r in range(parts[0].size):
            active = [int(part.labels[r, 0] != 0) for part in parts]
            total += share * Fraction(sum(active), 2) ** 2
            moved = sum(active) * largest_residual(radius)
            assert moved <= full
        worst = max(worst, total)
    assert worst == Fraction(rho)


def test_the_sensitivity_of_a_regression_entered_or_left_is_half():
    k, radius, t = 3, 2.0, 4
    rng = np.random.default_rng(1)
    for _ in range(30):
        rows = rng.integers(k, size=(2, 2))
        data = [pairwise_regressions(row[None], k) for row in rows]
        weights = rng.integers(-3, 4, size=(data[0].size, data[0].points.shape[0]))
        parts = [
            integer_gradient(part, margins_of(part, weights, t), t * (t + 1) * 2, residual_table(radius))
            for part in data
        ]
        for r in range(len(symbol_pairs(k)) * 2):
            active = sum(int(part.labels[r, 0] != 0) for part in data)
            assert np.abs(parts[0][r] - parts[1][r]).max() <= active * largest_residual(radius)


def test_guarantees():
    data, short = ising_regressions(diamond(4).sample(50, 1)), {"radius": 1.0, "iterations": 3}
    guarantee = private_frank_wolfe(data, **short, epsilon=1.0, delta=1e-6).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (1.0, 1e-6, "exact")
    assert guarantee.rho == zcdp_rho(1.0, 1e-6) and guarantee.epsilon_at(1e-6) <= 1.0
    pure = private_frank_wolfe(data, **short, epsilon=1.0).guarantee
    assert pure.delta == 0.0 and pure.rho is None
    assert not private_frank_wolfe(data, **short, rho=1.0, insecure_seed=1).guarantee.is_private
    paper = private_frank_wolfe(data, **short, rho=1.0, calibration="paper")
    assert paper.guarantee.calibration == "paper"
    refused = [{"rho": 1.0, "epsilon": 1.0}, {}, {"rho": -1.0}, {"rho": 1.0, "calibration": "x"}]
    for wrong in (*refused, {"rho": 1.0, "radius": 0.0}, {"rho": 1.0, "iterations": 1}):
        with pytest.raises(ValueError):
            private_frank_wolfe(data, **{**short, **wrong})


# ------------------------------------------------------------------------------------------------------------
# The iteration


def raw(table):
    """`ising_regressions` without grouping."""
    grouped = ising_regressions(table)
    signs = table.T
    features = np.concatenate([signs, np.ones((1, len(table)), np.int8)])
    return replace(grouped, features=features, codes=(signs > 0).astype(int), counts=None)


def noisy(seed):
    rng = np.random.default_rng(seed)
    return corners(lambda scores: (scores + rng.integers(-(10**6), 10**6, size=scores.shape)).argmin(axis=1))


def test_grouped_permuted_and_looped_are_the_same_bitwise():
    table = grid(3, 3).sample(9000, 4)  # more than one block of the matrix products
    grouped = ising_regressions(table)
    assert grouped.features.shape[1] < 9000 and grouped.records == 9000
    options = {"radius": 1.6, "iterations": 12}
    reference = frank_wolfe(grouped, select=noisy(3), **options)
    assert (frank_wolfe(raw(table), select=noisy(3), **options) == reference).all()
    shuffled = table[np.random.default_rng(1).permutation(len(table))]
    assert (frank_wolfe(raw(shuffled), select=noisy(3), **options) == reference).all()
    alone = frank_wolfe(grouped, select=lowest, **options)
    for i in range(9):
        single = replace(
            grouped, codes=grouped.codes[i : i + 1], tables=(SIGN_TABLE,), columns=grouped.columns[[i]]
        )
        assert (frank_wolfe(single, select=lowest, **options) == alone[i]).all()


def test_weights_stay_in_the_ball_and_off_the_masked_column():
    data = ising_regressions(diamond(6).sample(300, 2))
    weights = frank_wolfe(data, radius=1.6, iterations=25, select=noisy(0))
    assert (np.abs(weights).sum(axis=1) <= 1.6).all()
    assert (np.diagonal(weights[:, :6]) == 0).all()


@pytest.mark.parametrize("iterations", [10, 50, 200])
def test_without_noise_it_converges_as_proven(iterations):
    data = ising_regressions(diamond(8).sample(5000, 3))
    radius = 2.6
    weights = frank_wolfe(data, radius=radius, iterations=iterations, select=lowest)
    optimum = []
    for i in range(8):
        model = LogisticRegression(C=1e6, max_iter=2000, tol=1e-10)
        model.fit(np.delete(data.points[:8], i, axis=0).T, data.labels[i], sample_weight=data.counts)
        full = np.insert(np.append(model.coef_[0], model.intercept_), i, 0.0)
        assert np.abs(full).sum() <= radius  # the ball does not bind: the optimum is that of the ball
        optimum.append(logistic_loss(data, np.tile(full, (8, 1)))[i])
    gap = logistic_loss(data, weights) - np.array(optimum)
    assert (gap >= -1e-6).all()
    assert (gap <= theory.utility_bound(radius, iterations, 0.0, 16, 0.05)).all()
    assert (gap <= duality_gap(data, weights, radius) + 1e-5).all()


def test_t_wise_features_of_size_one_are_pairwise():
    table = diamond(5).sample(400, 1)
    pairwise, monomials = t_wise_regressions(table, 2)
    assert monomials[0] == () and len(monomials) == 6
    ising = ising_regressions(table)
    first = frank_wolfe(ising, radius=1.0, iterations=15, select=lowest)
    second = frank_wolfe(pairwise, radius=1.0, iterations=15, select=lowest)
    np.testing.assert_allclose(logistic_loss(ising, first), logistic_loss(pairwise, second), atol=1e-3)
