"""The programs in the engine's language: against each other and the truth, and after a sample is dropped."""

import numpy as np
import pytest

from problems.gmm.estimators.mixture import PrivateGaussianMixture
from problems.gmm.model import cluster_matrix
from problems.gmm.program import linked_mean_excess, literal_program, pairwise_program
from problems.gmm.theory import (
    DirectBounds,
    direct_verdict,
    dropped,
    dropped_bound,
    paper_verdict,
    published_log10_n,
    ramp,
    row_term,
)
from sosdp.structured.clustering import kernel_program, membership
from tests.refusals import each, refuse

BUDGET = 2.0


def instance(n, seed=0, separation=6.0):
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    means = np.outer(labels, [separation, 0.0])
    return means + 0.8 * generator.normal(size=(n, 2)), labels


def solved(program, **options):
    result = program.solve(**options)
    assert result.expectation.status == "optimal"
    assert result.expectation.certified_bound <= result.expectation.bound + 1e-6
    return result


@pytest.fixture(scope="module")
def programs():
    points, labels = instance(8)
    make = {
        "pairs, plain rows": pairwise_program(points, 2, bounds={1: BUDGET}, rows="plain", diagonal=False),
        "pairs": pairwise_program(points, 2, bounds={1: BUDGET}),
        "triples": pairwise_program(points, 2, bounds={1: BUDGET}, triples=True),
        "pairs, t = 1, 2": pairwise_program(points, 2, bounds={1: BUDGET, 2: 16.0}),
        "literal": literal_program(points, 2, bound=BUDGET),
        "literal, labels merged": literal_program(points, 2, bound=BUDGET, symmetric=True),
        "literal, t = 2": literal_program(points, 2, order=2, bound=16.0),
    }
    result = {name: solved(program) for name, program in make.items()}
    return points, labels, result


def value(solved, name):
    return solved[name].expectation.bound


def test_values_are_ordered_as_the_constraints_are(programs):
    """kernel <= one matrix <= literal, triples <= the truth; labels merged changes nothing."""
    points, labels, result = programs
    truth = cluster_matrix(labels)
    best = float(np.sum((truth - 1.0) ** 2))
    kernel = kernel_program(points, 2, budget=BUDGET, tolerance=1e-7)
    order = [kernel.value, value(result, "pairs, plain rows"), value(result, "pairs")]
    assert order == sorted(order)
    for name in ("literal", "triples", "pairs, t = 1, 2"):
        assert value(result, "pairs") - 1e-5 <= value(result, name) <= best + 1e-5
    assert value(result, "literal, labels merged") == pytest.approx(value(result, "literal"), abs=1e-4)
    assert value(result, "triples") >= value(result, "pairs") + 0.1  # triples do say more
    for name, solution in result.items():
        assert np.sum((solution.matrix - truth) ** 2) < 0.1 * np.sum(truth**2), name
        missed = membership(points, solution.matrix, 2, budget=BUDGET, cap=4.0)
        assert max(missed["box"], missed["rows"], missed["psd"]) < 1e-4, name


def test_the_truth_is_feasible_in_every_program():
    points, labels = instance(8)
    missed = membership(points, cluster_matrix(labels), 2, budget=BUDGET, cap=4.0)
    assert max(missed.values()) < 1e-9
    indicators = np.zeros((8, 2))
    indicators[np.arange(8), labels] = 1.0
    for program in (
        literal_program(points, 2, bound=BUDGET),
        literal_program(points, 2, bound=16.0, order=2),
        literal_program(points, 2, bound=BUDGET, form="means"),
    ):
        variables = {str(z): z for z in program.system.variables}
        assignment = np.array(
            [
                indicators[int(name.split("_")[0][1:]), int(name.split("_")[1])]
                for name in map(str, program.system.variables)
            ]
        )
        assert len(variables) == 16
        assert float(np.max(program.system.violation(assignment[None, :]))) < 1e-9


@pytest.mark.slow
def test_higher_degrees_and_the_published_form_with_means():
    """Four points: degree 4 is nearly exact, labels may be merged there too; means need degree 4 at t = 1."""
    points, labels = instance(4)
    best = float(np.sum((cluster_matrix(labels) - 1.0) ** 2))
    low = solved(literal_program(points, 2, bound=BUDGET)).expectation.bound
    high = solved(literal_program(points, 2, bound=BUDGET, degree=4, symmetric=True))
    assert low < high.expectation.bound <= best + 1e-4
    assert np.sum((high.matrix - cluster_matrix(labels)) ** 2) < 1.0
    means = solved(literal_program(points, 2, bound=BUDGET, form="means"))
    assert means.expectation.bound <= best + 1e-4


def test_dropping_a_sample_breaks_the_form_with_means_and_no_other():
    """A full cluster at one far point: mu moves when a member is dropped, by (1 - h) h^2 |a|^2, h = k/n."""
    share = 2 / 20
    for distant, expected in ((10.0, 0.9), (20.0, 3.6), (100.0, 90.0)):
        points = np.zeros((20, 1))
        points[10:] = distant
        assert linked_mean_excess(points, range(10, 20), 2) == pytest.approx(0.0, abs=1e-9)
        result = linked_mean_excess(points, range(11, 20), 2)
        assert result == pytest.approx((1 - share) * share**2 * distant**2, rel=1e-9)
        assert result == pytest.approx(expected, rel=1e-9)
        matrix = cluster_matrix(np.arange(20) >= 10)
        for index in (0, 19):
            missed = membership(points, dropped(matrix, index), 2, budget=2.0, cap=10.0)
            assert max(missed.values()) < 1e-9


def test_equalities_are_not_closed_under_dropping():
    """k W - J psd (from sum_l z_il = 1) is lost: least eigenvalue -2.25 at n = 4."""
    labels = np.array([0, 0, 1, 1])
    w = cluster_matrix(labels)
    assert np.linalg.eigvalsh(2 * w - 1)[0] == pytest.approx(0.0, abs=1e-9)
    assert np.linalg.eigvalsh(2 * dropped(w, 0) - 1)[0] == pytest.approx(-2.25, abs=0.01)


@pytest.mark.slow
def test_stability_with_the_eigenvalue_constraint():
    """Theorem S and the corollary on neighbours for the program with all options (R0 to R4), t = 1."""
    generator = np.random.default_rng(0)
    worst, most = 0.0, 2.0 * (2.0 * 5.0 - 5.0**2 / 9) + 1.0  # D_1 at n = 10, s = 5
    for count in range(4):
        points, _ = instance(10, seed=count)
        other = points.copy()
        other[0] = points.mean(axis=0) + generator.normal(size=2) * (1.0 if count % 2 else 30.0)
        one, two = (solved(pairwise_program(p, 2, bounds={1: BUDGET})) for p in (points, other))
        kept = np.sum((dropped(one.matrix, 0) - dropped(two.matrix, 0)) ** 2)
        assert kept <= row_term(one.matrix, 0) + row_term(two.matrix, 0) + 1e-3
        assert kept <= dropped_bound(10, 5.0)
        moved = abs(one.expectation.bound - two.expectation.bound)
        assert moved <= most + 1e-4
        missed = membership(other, dropped(one.matrix, 0), 2, budget=BUDGET, cap=5.0)
        assert max(missed.values()) < 1e-4  # (Z), psd and diagonal included
        worst = max(worst, moved / most)
    assert worst > 0.05


def test_rows_of_a_solution_have_small_variance():
    """Lemma 6.11: the weights of a saturated row, on solutions with all options."""
    points, _ = instance(12, separation=12.0)
    result = solved(pairwise_program(points, 2, bounds={1: BUDGET}))
    bounds = DirectBounds(12, 2, bound=BUDGET, saturation=0.5)
    phi = ramp(result.matrix, bounds.low, bounds.high)
    saturated = phi[phi.sum(axis=1) >= (1.0 - bounds.saturation) * bounds.cap / bounds.high]
    assert len(saturated) >= 6
    for weights in saturated / saturated.sum(axis=1)[:, None]:
        away = points - weights @ points
        assert np.linalg.eigvalsh((away * weights[:, None]).T @ away)[-1] <= bounds.moment


# ------------------------------------------------------------------------------------------------------------
# Modes that decline


def test_the_table_of_the_direct_mode():
    """k = 2, lo = .9, hi = 1, x = 1/4, zeta = .001, eta = .05, epsilon = .5, delta = 1e-6."""
    shifts, fractions = [], []
    for exponent in (4, 6, 8, 10):
        bounds = DirectBounds(10**exponent, 2)
        shifts.append(bounds.test_shift(0.5, 1e-6) / (bounds.n * bounds.cap))
        fractions.append(bounds.arbitrary_rows / bounds.n)
        assert bounds.movers == pytest.approx(3.2e5, rel=0.02)
    assert shifts == pytest.approx([5.09, 0.508, 0.0508, 0.00508], rel=0.01)
    assert fractions == pytest.approx([32.3, 0.324, 0.0112, 0.0080], rel=0.01)


def test_saturated_rows_of_a_nearly_integral_matrix():
    """phi(w) + lo/(1 - lo) w (1 - w) >= w^2 for hi = 1: rows with sum_j W_ij^2 >= (1 - x) s are saturated."""
    w = np.linspace(0.0, 1.0, 10001)
    for low in (0.81, 0.9, 0.99):
        assert np.min(ramp(w, low, 1.0) + low / (1.0 - low) * w * (1.0 - w) - w**2) >= -1e-12


@pytest.mark.slow
def test_published_constants_need_more_records_than_there_are():
    assert published_log10_n(2) == pytest.approx(517, abs=1) and published_log10_n(3) == pytest.approx(
        781, abs=1
    )
    assert not paper_verdict(10**9, 2).possible and "10^517" in paper_verdict(10, 2).reason
    assert not direct_verdict(10**9, 2, 1.0, 1e-6).possible
    assert 12.0 <= direct_verdict(10**9, 2, 1.0, 1e-6).log10_needed <= 13.5
    points, _ = instance(40)
    for mode in ("paper", "direct"):
        est = PrivateGaussianMixture(2, mode=mode).fit(points)
        assert not est.released_ and est.guarantee_.epsilon == 0.0 and "10^" in est.plan_.advice
    refuse(
        (lambda: PrivateGaussianMixture(2, mode="indirect").fit(points), "mode"),
        *each(lambda bad: DirectBounds(100, 2, **bad), ({"low": 0.7}, {"weight": 0.5}, {"movement": 1.0})),
    )
