"""The kernel program against an interior-point solver, its certificate, and the bounds of the proof page."""

import numpy as np
import pytest

from problems.gmm.model import SphericalMixture, cluster_matrix
from problems.gmm.theory import DirectBounds, dropped, dropped_bound, ramp, row_term
from sosdp.structured.clustering import kernel_program, membership
from tests.refusals import each, refuse


def reference(points, clusters, budget, cap, weight):
    cp = pytest.importorskip("cvxpy")
    n, d = points.shape
    y = points - points.mean(axis=0)
    w = cp.Variable((n, n), symmetric=True)
    spread = y.T @ (cp.diag(w @ np.ones(n)) - w) @ y
    limit = n**2 / clusters * budget
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(w - weight)),
        [w >= 0, w <= 1, w @ np.ones(n) <= cap, limit * np.eye(d) - (spread + spread.T) / 2 >> 0],
    )
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, w.value


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(
    ("n", "k", "d", "separation", "weight"),
    [(12, 2, 2, 8.0, 1.0), (16, 3, 2, 6.0, 1.0), (16, 2, 3, 4.0, 2.0), (14, 2, 1, 3.0, 1.0), (9, 3, 4, 8, 5)],
)
def test_it_agrees_with_clarabel(n, k, d, separation, weight):
    """1e-5 relative in value and 1e-4 in every entry of W."""
    points = SphericalMixture(k, d, separation).sample(n, 3).points
    value, matrix = reference(points, k, 1.4, n / k, weight)
    result = kernel_program(points, k, weight=weight, tolerance=1e-9)
    assert abs(result.value - value) <= 1e-5 * abs(value)
    assert np.abs(result.matrix - matrix).max() <= 1e-4
    assert -1e-8 * value <= result.gap <= 1e-7 * value
    missed = membership(points, result.matrix, k, budget=1.4, cap=n / k)
    assert max(missed[name] for name in ("box", "rows", "covariance")) < 1e-7


@pytest.mark.parametrize("separation", [0.0, 4.0, 10.0])
@pytest.mark.parametrize("outliers", [0.0, 0.3])
def test_the_gap_closes_on_hard_inputs(separation, outliers):
    points = SphericalMixture(3, 4, separation).sample(120, 1, outliers=outliers, reach=1e6).points
    result = kernel_program(points, 3, tolerance=1e-4)
    assert -1e-9 * result.value <= result.gap <= 1e-4 * 120
    assert membership(points, result.matrix, 3, budget=1.4, cap=40.0)["rows"] < 1e-9


def test_a_thousand_points():
    n = 1000
    points = SphericalMixture(3, 5, 10.0).sample(n, 0).points
    result = kernel_program(points, 3, tolerance=1e-3)
    assert 0.0 <= result.gap <= min(1e-4 * result.value, 1e-3 * n) and result.iterations < 30


def test_the_dual_is_a_bound_and_the_kernel_has_the_stated_form():
    points = SphericalMixture(2, 2, 6.0).sample(20, 0).points
    result = kernel_program(points, 2, tolerance=1e-10)
    away = points[:, None] - points[None]
    a = result.row_multipliers
    form = np.einsum("ija,ab,ijb->ij", away, result.metric, away)
    kernel = np.clip(1.0 - (a[:, None] + a[None]) / 4.0 - form / 4.0, 0.0, 1.0)
    assert np.abs(kernel - result.matrix).max() < 1e-5
    loose = kernel_program(points, 2, tolerance=10.0)
    assert loose.lower_bound <= result.value + 1e-9 and loose.value >= result.lower_bound - 1e-9


def test_arguments():
    points = np.eye(4)
    refuse(
        *each(
            lambda bad: kernel_program(points, **bad),
            ({"clusters": 0}, {"clusters": 2, "budget": 0.0}, {"clusters": 2, "weight": 0.1}),
        ),
        *each(
            lambda table: kernel_program(table, 2),
            (np.full((4, 2), np.nan), np.zeros(3), np.ones((5, 2))),
            "points",
        ),
    )


# ------------------------------------------------------------------------------------------------------------
# Stability: every neighbour pair below is held against every bound


def neighbour(points, index, generator, kind):
    """The same points with one replaced: fresh, on top of another, far away, or in the middle."""
    other = points.copy()
    spread = np.ptp(points, axis=0).max()
    other[index] = {
        "fresh": points.mean(axis=0) + spread * generator.normal(size=points.shape[1]),
        "copy": points[generator.integers(len(points))],
        "far": points.mean(axis=0) + 50.0 * spread * generator.normal(size=points.shape[1]),
        "middle": points.mean(axis=0),
    }[kind]
    return other


def solved(points, clusters, weight, tolerance=1e-7):
    return kernel_program(points, clusters, weight=weight, tolerance=tolerance)


def value_sensitivity(n, cap, weight):
    """D_c: bound on the change of min |W - cJ|^2 (Corollary), for c and s of at least 1."""
    mass = min(cap, n - 1.0)
    return 2.0 * (2.0 * weight * mass - mass**2 / (n - 1)) + max(2.0 * weight - 1.0, 0.0)


def check_pair(one, two, index, clusters, weight):
    """Ratios of measured to proven for one pair: exact minimisers are within the square root of the gap."""
    n = len(one.matrix)
    cap = n / clusters
    room = np.sqrt(max(one.gap, 0.0)) + np.sqrt(max(two.gap, 0.0))
    kept = np.linalg.norm(dropped(one.matrix, index) - dropped(two.matrix, index))
    terms = row_term(one.matrix, index, weight) + row_term(two.matrix, index, weight)
    slack = 2.0 * (abs(weight) + 1.0) * 2.0 * np.sqrt(n) * room  # u_i moves with W
    assert max(kept - room, 0.0) ** 2 <= terms + slack
    assert terms - slack <= dropped_bound(n, cap, weight)
    assert max(np.linalg.norm(one.matrix - two.matrix) - room, 0.0) ** 2 <= 4.0 * weight * cap  # Theorem S(b)
    moved = abs(one.value - two.value)
    assert moved - max(one.gap, two.gap, 0.0) <= value_sensitivity(n, cap, weight)
    bounds = DirectBounds(n, clusters, weight=weight)
    ramps = [ramp(w.matrix, 0.9, 1.0) for w in (one, two)]
    full = np.minimum(*(phi.sum(axis=1) for phi in ramps)) >= (1.0 - bounds.saturation) * cap
    for a in np.flatnonzero(full & (np.arange(n) != index))[:10]:
        rows = [phi[a] for phi in ramps]
        # the point that changed is one atom before and another after
        laws = [row / row.sum() for row in rows]
        difference = np.delete(np.abs(laws[0] - laws[1]), index).sum() + laws[0][index] + laws[1][index]
        change = float(np.linalg.norm(np.delete(one.matrix[a] - two.matrix[a], index)))
        slope = np.sqrt(2.0 * bounds.cap / bounds.low) / (bounds.high - bounds.low)
        most = (slope * (change + room) + 2.0) * bounds.high / ((1.0 - bounds.saturation) * bounds.cap)
        assert difference / 2.0 <= most
    assert abs(ramps[0].sum() - ramps[1].sum()) <= bounds.statistic_sensitivity
    return kept**2 / dropped_bound(n, cap, weight), moved / value_sensitivity(n, cap, weight)


def sweep(sizes, bases, each, seed, tolerance):
    """`each` neighbours of each of so many inputs."""
    generator = np.random.default_rng(seed)
    worst = np.zeros(2)
    for count in range(bases):
        k, d = int(generator.integers(2, 4)), int(generator.integers(1, 4))
        separation, n = float(generator.choice([2.0, 5.0, 8.0])), int(generator.choice(sizes))
        weight = (1.0, 2.0, 1.0, 5.0)[count % 4]
        mixture = SphericalMixture(k, max(d, k - 1), separation)
        points = mixture.sample(n, int(generator.integers(1 << 30))).points
        base = solved(points, k, weight, tolerance)
        for turn in range(each):
            index = int(generator.integers(n))
            other = neighbour(points, index, generator, ("fresh", "copy", "far", "middle")[turn % 4])
            result = solved(other, k, weight, tolerance)
            worst = np.maximum(worst, check_pair(base, result, index, k, weight))
    return worst


@pytest.mark.slow
def test_stability_of_small_inputs():
    """500 pairs at n = 12..16."""
    worst = sweep([12, 13, 14, 15, 16], 50, 10, 0, 1e-5)
    assert worst[0] > 0.01 and worst[1] > 0.1  # the measurement measures something


def test_stability_of_all_neighbours_of_a_tiny_input():
    base = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]])
    start = solved(base, 2, 1.0)
    for index in range(6):
        for value in (-100.0, 0.0, 0.15, 2.5, 5.05, 7.0, 1e5):
            other = base.copy()
            other[index] = value
            check_pair(start, solved(other, 2, 1.0), index, 2, 1.0)


def test_stability_of_fifty_larger_pairs():
    sweep([200, 300, 400], 10, 5, 2, 1e-4)


def test_a_halved_bound_would_be_refuted_by_the_optimal_value():
    """Control: the change of the optimal value comes close to its bound, so a third of it is wrong."""
    generator = np.random.default_rng(3)
    worst = 0.0
    for seed in range(10):
        points = SphericalMixture(2, 2, 8.0).sample(12, seed).points
        other = neighbour(points, 0, generator, "far")
        pair = solved(points, 2, 5.0), solved(other, 2, 5.0)
        worst = max(worst, check_pair(*pair, 0, 2, 5.0)[1])
    assert worst > 1.0 / 3.0


def test_a_dropped_sample_keeps_membership():
    generator = np.random.default_rng(4)
    for seed in range(20):
        sample = SphericalMixture(2, 2, 5.0).sample(14, seed)
        result = kernel_program(sample.points, 2, tolerance=1e-6)
        other = neighbour(sample.points, 3, generator, "far")
        missed = membership(other, dropped(result.matrix, 3), 2, budget=1.4, cap=7.0)
        assert max(missed[name] for name in ("box", "rows", "covariance")) < 1e-6


# ------------------------------------------------------------------------------------------------------------
# Utility


def balanced(n, k, d, separation, seed):
    sample = SphericalMixture(k, d, separation).sample(20 * n, seed)
    chosen = np.concatenate([np.flatnonzero(sample.labels == a)[: n // k] for a in range(k)])
    return sample.points[chosen], sample.labels[chosen]


@pytest.mark.parametrize(("n", "k", "d", "separation"), [(60, 2, 2, 8.0), (90, 3, 3, 8.0), (80, 4, 5, 10.0)])
@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_utility_bounds_on_planted_data(n, k, d, separation, weight):
    points, labels = balanced(n, k, d, separation, 0)
    truth = cluster_matrix(labels)
    budget = 1.6
    assert max(membership(points, truth, k, budget=budget, cap=n / k).values()) < 1e-9  # W* is feasible
    result = kernel_program(points, k, budget=budget, weight=weight, tolerance=1e-4)
    off = result.matrix[labels[:, None] != labels[None, :]].sum() * k / n**2
    distance = np.linalg.norm(result.matrix - truth) ** 2 * k / n**2
    assert distance <= 2.0 * off + 1e-6  # U1
    centred = [points[labels == a] - points[labels == a].mean(axis=0) for a in range(k)]
    means = np.array([points[labels == a].mean(axis=0) for a in range(k)])
    lines = [(means[a] - means[b]) for a in range(k) for b in range(k) if a != b]
    moment = max(np.mean((c @ (v / np.linalg.norm(v))) ** 2) for c in centred for v in lines)
    closest = min(np.linalg.norm(v) for v in lines)
    assert off <= (k - 1) * 3.0 / closest**2 * (2.0 * moment + k * budget)  # U2


def test_certified_integrality():
    """T <= |W|_F^2 at weight 2, from the optimal values at the weights 1 and 2; it moves little."""
    points, _ = balanced(60, 2, 2, 9.0, 1)

    def integral_mass(low, high):
        return 2.0 * (low - 60**2) - (high - 4.0 * 60**2)

    low, high = (kernel_program(points, 2, weight=c, tolerance=1e-6) for c in (1.0, 2.0))
    result = integral_mass(low.lower_bound, high.value)
    assert result <= np.linalg.norm(high.matrix) ** 2 + 1e-3
    assert result > 0.8 * 60**2 / 2
    other = points.copy()
    other[0] = 100.0
    moved = [kernel_program(other, 2, weight=c, tolerance=1e-6) for c in (1.0, 2.0)]
    change = abs(integral_mass(moved[0].lower_bound, moved[1].value) - result)
    assert change <= 2.0 * value_sensitivity(60, 30.0, 1.0) + value_sensitivity(60, 30.0, 2.0) + 1e-2


def test_adversarial_neighbours_do_not_beat_the_bound():
    """Climbs of base and neighbour against Theorem S(b); a tenth of the bound is refuted (control)."""
    from sosdp.privacy.verification.sensitivity import ReplaceOne, verify_sensitivity

    generator = np.random.default_rng(5)
    bases = [SphericalMixture(2, 1, 6.0, offset=0.0).sample(12, seed).points for seed in range(4)]
    candidates = [*np.linspace(-6.0, 6.0, 9)[:, None], np.array([1e3]), generator.normal(size=1)]
    bound = float(np.sqrt(4.0 * 6.0))

    def solve(points):
        result = kernel_program(points, 2, tolerance=1e-7)
        return result.matrix, float(np.sqrt(max(result.gap, 0.0)))

    search = {"neighbours": ReplaceOne(candidates), "with_error": True, "strategy": "adversarial"}
    report = verify_sensitivity(solve, bases, claimed=bound, searches=3, steps=15, **search)
    assert not report.refuted and report.largest > 0.2 * bound
    assert verify_sensitivity(solve, bases, claimed=bound / 10.0, searches=1, steps=10, **search).refuted
