"""The nearest correlation matrix: closed forms, other solvers, and the honesty of the certified distance."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.structured import StructuredMatrix, nearest_correlation
from sosdp.structured.correlation_gap import distance_certificate, normalised_rows
from sosdp.structured.correlation_newton import interior_point, semismooth_newton
from sosdp.structured.matrix_input import symmetrised
from sosdp.structured.spectrum import Decomposer
from tests.refusals import each, refusals, refuse


def random_symmetric(n, seed, scale=1.0):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(n, n)) * scale
    return (matrix + matrix.T) / 2


def planted(n, d, gamma, seed):
    generator = np.random.default_rng(seed)
    labels = np.repeat([1, -1], n // 2)
    chance = (1 + gamma * np.outer(labels, labels)) * d / n
    upper = np.triu(generator.random((n, n)) < chance, 1)
    return StructuredMatrix(sp.csr_array((upper | upper.T).astype(float)), n / (gamma * d), -1 / gamma)


def check_feasible(matrix):
    assert np.array_equal(matrix.diagonal(), np.ones(len(matrix)))
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * len(matrix)


@pytest.mark.parametrize("entry", [-3.0, -1.0, -0.4, 0.0, 0.7, 1.0, 5.0])
def test_two_by_two(entry):
    projection = nearest_correlation(np.array([[9.0, entry], [entry, -2.0]]), tolerance=1e-6)
    assert projection.certified
    assert abs(projection.matrix[0, 1] - np.clip(entry, -1, 1)) <= 1e-6


@pytest.mark.parametrize("n", [3, 10, 40])
@pytest.mark.parametrize("t", [1.0, 2.5, 30.0])
def test_positive_multiples_of_ones(n, t):
    tolerance = 1e-6 * n * np.sqrt(t)
    projection = nearest_correlation(t * np.ones((n, n)), tolerance=tolerance)
    assert projection.certified
    assert np.abs(projection.matrix - 1).max() <= tolerance


@pytest.mark.parametrize("n", [3, 10, 40])
@pytest.mark.parametrize("t", [0.5, 1.0, 7.0])
def test_negative_multiples_of_ones(n, t):
    # C_ij = -1/(n-1): the most negative exchangeable correlation matrix, optimal for t >= 1/(n-1).
    tolerance = 1e-6 * n * max(1.0, np.sqrt(t))
    projection = nearest_correlation(-t * np.ones((n, n)), tolerance=tolerance)
    assert projection.certified
    assert np.abs(projection.matrix[~np.eye(n, dtype=bool)] + 1 / (n - 1)).max() <= tolerance


def test_a_correlation_matrix_is_its_own_projection():
    rows = normalised_rows(np.random.default_rng(3).normal(size=(25, 40)))
    matrix = rows @ rows.T
    matrix = (matrix + matrix.T) / 2
    assert np.linalg.norm(nearest_correlation(matrix, tolerance=1e-7).matrix - matrix) <= 1e-7


@pytest.mark.parametrize("n", [1, 2, 3, 5, 17, 60, 160])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_certified_and_feasible_on_random_matrices(n, scale):
    matrix = random_symmetric(n, n, scale)
    tolerance = 1e-6 * max(1.0, scale) * n
    projection = nearest_correlation(matrix, tolerance=tolerance)
    assert projection.certified and projection.distance <= tolerance
    check_feasible(projection.matrix)


@pytest.mark.parametrize("seed", range(8))
def test_optimality_conditions(seed):
    matrix = random_symmetric(20, seed, 2.0)
    projection = nearest_correlation(matrix, tolerance=1e-8)
    slack = projection.matrix - matrix - np.diag(projection.dual)
    assert np.linalg.eigvalsh(slack)[0] > -1e-6
    assert abs(np.sum(slack * projection.matrix)) < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_certified_distance_covers_the_true_distance(seed):
    """Every iterate of either method, from good and bad starts: distance >= true distance, and not absurdly
    so.
    """
    n = [3, 6, 12, 25, 40, 60][seed]
    matrix = random_symmetric(n, 100 + seed, 3.0)
    exact = nearest_correlation(matrix, tolerance=1e-8)
    generator = np.random.default_rng(seed)
    starts = [1 - matrix.diagonal(), np.zeros(n), 5 * generator.normal(size=n)]
    spectra = [Decomposer(matrix)(start) for start in starts]
    spectra += list(semismooth_newton(Decomposer(matrix), starts[2], 8))
    spectra += list(interior_point(Decomposer(matrix), starts[0], 1e-6, 200))
    spectra += [
        Decomposer(matrix)(exact.dual + size * generator.normal(size=n))
        for size in 10.0 ** np.arange(-7.0, 2)
    ]
    ratios = []
    for spectrum in spectra:
        certificate = distance_certificate(matrix, spectrum)
        true = np.linalg.norm(certificate.factor @ certificate.factor.T - exact.matrix)
        assert true <= certificate.distance + exact.distance
        objective = 0.5 * np.linalg.norm(certificate.factor @ certificate.factor.T - matrix) ** 2
        minimum = 0.5 * np.linalg.norm(exact.matrix - matrix) ** 2
        assert objective - minimum <= certificate.gap + 1e-6
        ratios.append(true / certificate.distance)
    assert max(ratios) > 0.15  # the bound is of the right size somewhere, so the test has teeth


def test_a_fifth_of_the_distance_would_be_wrong():
    """Negative control: the certified distance divided by five is not a bound."""
    matrix = random_symmetric(12, 5, 3.0)
    exact = nearest_correlation(matrix, tolerance=1e-9)
    certificate = distance_certificate(matrix, Decomposer(matrix)(1 - matrix.diagonal()))
    true = np.linalg.norm(certificate.factor @ certificate.factor.T - exact.matrix)
    assert true > certificate.distance / 5


def test_structured_dense_and_sparse_inputs_agree():
    structured = planted(160, 30, 0.7, 0)
    answers = [
        nearest_correlation(matrix, tolerance=1e-5).matrix
        for matrix in (structured, structured.toarray(), sp.csr_array(structured.toarray()))
    ]
    assert np.linalg.norm(answers[0] - answers[1]) < 2e-5
    assert np.linalg.norm(answers[0] - answers[2]) < 2e-5


@pytest.mark.parametrize("warm_start", [True, False])
def test_planted_graph_to_a_thousandth_of_the_sensitivity(warm_start):
    matrix = planted(300, 40, 0.6, 2)
    sensitivity = 2 * np.sqrt(300 / (0.6 * 40))
    projection = nearest_correlation(matrix, tolerance=1e-3 * sensitivity, warm_start=warm_start)
    assert projection.certified
    assert projection.eigendecompositions <= 15
    check_feasible(projection.matrix)


def test_a_dual_vector_as_warm_start():
    matrix = planted(200, 40, 0.6, 2)
    first = nearest_correlation(matrix, tolerance=1e-4)
    again = nearest_correlation(matrix, tolerance=1e-4, warm_start=first.dual)
    assert again.certified and again.eigendecompositions == 1


def test_interior_point_takes_over_when_newton_is_starved():
    matrix = planted(60, 12, 0.7, 1)
    projection = nearest_correlation(matrix, tolerance=1e-3, warm_start=False, max_iterations=2)
    assert projection.certified
    assert projection.method == "interior-point"


def test_agrees_with_general_purpose_solvers():
    import cvxpy

    for n, seed in ((6, 0), (15, 1), (30, 2)):
        matrix = random_symmetric(n, seed, 1.5)
        variable = cvxpy.Variable((n, n), PSD=True)
        problem = cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum_squares(variable - matrix)), [cvxpy.diag(variable) == 1]
        )
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        ours = nearest_correlation(matrix, tolerance=1e-8).matrix
        assert np.abs(ours - variable.value).max() < 1e-5
        problem.solve(solver="SCS", eps=1e-8, max_iters=50000)
        assert np.abs(ours - variable.value).max() < 1e-5


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((5, 5)),
        np.full((5, 5), 1e12),
        -np.full((6, 6), 1e12),
        np.diag([1e15, -1e15, 0.0, 1.0]),
        np.array([[0.0, 1e-300], [1e-300, 0.0]]),
        np.full((4, 4), 1e200),
        np.array([[1e308, 1e308], [1e308, 1e308]]),
    ],
)
def test_extreme_values_never_raise(matrix):
    projection = nearest_correlation(matrix, tolerance=1e-6)
    check_feasible(projection.matrix)
    assert projection.certified == (projection.distance <= 1e-6)


def test_impossible_tolerance_is_reported_not_raised():
    projection = nearest_correlation(random_symmetric(6, 0), tolerance=1e-30)
    assert not projection.certified and projection.distance > 1e-30


def reference(matrix, weights, least):
    import cvxpy

    n = len(matrix)
    roots = np.sqrt(weights)
    variable = cvxpy.Variable((n, n), PSD=True)
    difference = cvxpy.multiply(np.outer(roots, roots), variable - matrix)
    constraints = [cvxpy.diag(variable) == 1, variable - least * np.eye(n) >> 0]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(difference)), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return variable.value


@pytest.mark.parametrize("n, seed, least", [(5, 0, 0.0), (8, 1, 0.2), (12, 2, 0.05), (12, 3, 0.0)])
def test_weights_and_smallest_eigenvalue_against_a_conic_solver(n, seed, least):
    matrix = random_symmetric(n, seed, 1.5)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, size=n)
    ours = nearest_correlation(matrix, tolerance=1e-5, weights=weights, smallest_eigenvalue=least)
    assert ours.certified and ours.distance <= 1e-5
    check_feasible(ours.matrix)
    assert np.linalg.eigvalsh(ours.matrix)[0] >= least - 1e-12
    other = reference(matrix, weights, least)
    assert np.abs(ours.matrix - other).max() < 1e-4
    roots = np.sqrt(weights)

    def objective(c):
        return np.linalg.norm(np.outer(roots, roots) * (c - matrix - np.diag(1 - matrix.diagonal())))

    assert objective(ours.matrix) <= objective(other) + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_weighted_certificate_covers_the_true_distance(seed):
    matrix = random_symmetric(15, 40 + seed, 3.0)
    generator = np.random.default_rng(seed)
    weights = generator.uniform(0.1, 5.0, size=15)
    roots = np.sqrt(weights)
    exact = nearest_correlation(matrix, tolerance=1e-5, weights=weights, smallest_eigenvalue=0.1)
    for scale in 10.0 ** np.arange(-5.0, 1):
        rough = nearest_correlation(
            matrix, tolerance=30 * scale, weights=weights, smallest_eigenvalue=0.1,
            warm_start=exact.dual + scale * generator.normal(size=15), max_iterations=1,
        )  # fmt: skip
        true = np.linalg.norm(np.outer(roots, roots) * (rough.matrix - exact.matrix))
        assert true <= rough.distance + exact.distance


def test_unit_weights_change_nothing():
    matrix = planted(200, 40, 0.6, 2)
    plain = nearest_correlation(matrix, tolerance=1e-4)
    weighted = nearest_correlation(matrix, tolerance=1e-4, weights=np.ones(200))
    assert np.linalg.norm(plain.matrix - weighted.matrix) <= 2e-4


def test_sparse_plus_rank_one_with_weights():
    generator = np.random.default_rng(0)
    direction = generator.normal(size=160)
    sparse = sp.random_array((160, 160), density=0.05, rng=generator)
    structured = StructuredMatrix(sparse + sparse.T, 3.0, 0.7, direction)
    assert np.allclose(
        structured.toarray(), 3 * (sparse + sparse.T).toarray() + 0.7 * np.outer(direction, direction)
    )
    block = generator.normal(size=(160, 3))
    assert np.allclose(structured @ block, structured.toarray() @ block)
    weights = generator.uniform(0.5, 2.0, size=160)
    options = {"tolerance": 1e-3, "weights": weights, "smallest_eigenvalue": 0.01}
    one = nearest_correlation(structured, **options)
    two = nearest_correlation(structured.toarray(), **options)
    assert one.certified and two.certified and np.linalg.norm(one.matrix - two.matrix) < 4e-3


def test_weight_errors():
    assert np.array_equal(
        nearest_correlation(np.zeros((3, 3)), tolerance=1e-6, smallest_eigenvalue=0.5).matrix, np.eye(3)
    )


@pytest.mark.parametrize("n", [3, 40])
def test_what_is_symmetric_up_to_rounding_is_projected(n):
    """The symmetric part is what counts, in exact arithmetic: what rounding moves is in the distance."""
    generator = np.random.default_rng(n)
    symmetric = np.corrcoef(generator.normal(size=(n, 2 * n))) * 1.5
    skew = np.triu(generator.integers(-2, 3, (n, n)) * 2.0**-52, 1)
    result = nearest_correlation(symmetric + skew - skew.T, tolerance=1e-5)
    same = nearest_correlation((symmetric + symmetric.T) / 2, tolerance=1e-5)
    assert result.certified and np.linalg.norm(result.matrix - same.matrix) <= result.distance + same.distance
    refuse((lambda: nearest_correlation(symmetric + 100 * (skew - skew.T), tolerance=1e-5), "symmetric"))


def test_the_rounding_of_a_symmetric_part_is_charged():
    matrix = np.array([[1.0, 1 + 2.0**-52, 0.1], [1.0, 1.0, 0.3], [0.1, 0.3, 1.0]])
    whole, moved = symmetrised(matrix)
    off = [
        abs((Fraction(a) + Fraction(b)) / 2 - Fraction(c))
        for a, b, c in zip(*(m.flat for m in (matrix, matrix.T, whole)))
    ]
    assert (whole == whole.T).all() and Fraction(moved) ** 2 >= sum(e * e for e in off) > 0
    assert symmetrised(whole)[1] == 0.0


def test_rounding_ends_the_iteration():
    """No step gets below what rounding alone takes of the distance."""
    result = nearest_correlation(random_symmetric(200, 5), tolerance=1e-9)
    assert not result.certified and result.distance < 1e-3 and result.eigendecompositions <= 10


def test_what_rounding_moves_is_part_of_the_distance():
    skew = np.array([[0.0, 2.0**-52], [-(2.0**-52), 0.0]])
    exact = np.array([[1.0, 0.5], [0.5, 1.0]])
    result, plain = (nearest_correlation(m, tolerance=1e-6) for m in (exact + skew, exact))
    moved = symmetrised(exact + skew)[1]
    assert moved > 0 and result.distance >= plain.distance + 0.5 * moved
    assert result.gap >= plain.gap


test_refusals = refusals(
    *(
        (lambda matrix=matrix: nearest_correlation(matrix, tolerance=1e-3), message)
        for matrix, message in [
            (np.zeros((0, 0)), "non-empty"),
            (np.zeros((2, 3)), "square"),
            (np.zeros(4), "square"),
            (np.array([[0.0, np.nan], [np.nan, 0.0]]), "not finite"),
            (np.array([[0.0, 1.0], [0.0, 0.0]]), "symmetric"),
        ]
    ),
    *each(
        lambda tolerance: nearest_correlation(np.eye(2), tolerance=tolerance),
        (0.0, -1.0, float("nan")),
        "tolerance",
    ),
    *(
        (lambda options=options: nearest_correlation(np.eye(2), tolerance=1e-3, **options), message)
        for options, message in [
            ({"weights": np.ones(3)}, "weights"),
            ({"weights": np.array([1.0, 0.0])}, "weights"),
            ({"weights": np.ones((2, 2))}, "single entries"),
            ({"smallest_eigenvalue": 1.0}, "smallest_eigenvalue"),
            ({"smallest_eigenvalue": -0.1}, "smallest_eigenvalue"),
        ]
    ),
    (lambda: StructuredMatrix(sp.eye_array(3), 1.0, 1.0, np.ones(2)), "direction"),
)
