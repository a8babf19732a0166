"""The method at points on bounds whose values are known, against the borrowed solvers, and its rays."""

import numpy as np
import pytest

import certificates
import sosdp as sd


def bound(p, system, degree, **options):
    return sd.minimize(p, system, degree, solver="sos_cone", **options)


def box(xs):
    return sd.System(*[1 - x**2 >= 0 for x in xs])


@pytest.mark.parametrize(("n", "degree"), [(1, 10), (2, 6), (3, 4), (4, 4)])
def test_boxes_agree_with_a_borrowed_solver(n, degree):
    generator = np.random.default_rng(n)
    x = sd.variables("x", n)
    basis = sd.monomials(x, degree)
    p = generator.standard_normal(len(basis)) @ basis
    ours, theirs = bound(p, box(x), degree), sd.minimize(p, box(x), degree, solver="clarabel")
    assert ours.status == "optimal" and ours.solver == "sos_cone"
    assert ours.bound == pytest.approx(theirs.bound, abs=1e-5)
    assert theirs.certified_bound - 1e-5 <= ours.certified_bound <= ours.bound + 1e-6
    assert ours.bound - ours.certified_bound <= 1e-6
    assert ours(x[0] ** 2) == pytest.approx(theirs(x[0] ** 2), abs=1e-3)


def test_known_minima():
    x, y = sd.variables("x y")
    motzkin = 1 - 3 * x**2 * y**2 + x**2 * y**4 + x**4 * y**2
    ball = bound(motzkin, sd.System(x**2 + y**2 <= 2), 8)
    assert ball.bound == pytest.approx(0, abs=1e-6) and -1e-6 <= ball.certified_bound <= 1e-12
    plane = bound(x**4 + y**4 - 4 * x * y, sd.System(), 4)
    assert plane.bound == pytest.approx(-2, abs=1e-6) and -2 - 1e-6 <= plane.certified_bound <= -2 + 1e-12


def test_rewriting_rules_and_equations():
    x = sd.variables("x", 5)
    cycle = sum(x[i] * x[(i + 1) % 5] for i in range(5))
    cube = bound(cycle, sd.System(*[v**2 == 1 for v in x]), 4)
    assert cube.bound == pytest.approx(-3, abs=1e-6)
    stable = bound(-sum(x), sd.System(*[v**2 == v for v in x], *[x[i] * x[i - 1] == 0 for i in range(5)]), 4)
    assert stable.bound == pytest.approx(-2, abs=1e-6)
    weights = np.array([1.0, 2.0, 3.0, -1.5, 0.5])
    sphere = bound(weights @ x**2 + 0.0, sd.System(x @ x == 1), 2)
    assert sphere.bound == pytest.approx(-1.5, abs=1e-6) and sphere.certified_bound <= -1.5 + 1e-12


def test_points_outside_the_set_are_signed():
    x, y = sd.variables("x y")
    system = sd.System(x**2 + y**2 <= 4, x * y >= 1)
    ours, theirs = (sd.minimize(x**3 + y, system, 4, solver=s) for s in ("sos_cone", "clarabel"))
    assert ours.bound == pytest.approx(theirs.bound, abs=1e-6)


def test_rays_are_proven_statuses():
    x, y = sd.variables("x y")
    assert bound(x**6 + y**6 - 3 * x**5 * y, sd.System(), 6).status == "unbounded"
    assert bound(x + y, sd.System(x**2 + y**2 <= 1, x * y >= 1), 4).status == "infeasible"
    assert sd.feasible(sd.System(1 - x**2 >= 0, x - 2 >= 0), 4, solver="sos_cone").status == "infeasible"


def test_what_points_do_not_determine_is_refused():
    x, y = sd.variables("x y")
    for system, why in ((sd.System(x**2 == 0), "multiple"), (sd.System((x - y) ** 2 * 1.0 == 0), "variety")):
        result = bound(x + y**2, system, 4)
        assert result.status == "failed" and result.certified_bound is None and why in result.reason


def test_matrix_constraints_are_a_few_squares_a_point():
    x, y = sd.variables("x y")
    matrix = np.array([[1 - 4 * x * y, x], [x, 4 - x**2 - y**2]], dtype=object).view(sd.PolynomialArray)
    for degree in (2, 4, 6):
        result = bound(-(x**2) - y**2, sd.System(sd.PSD(matrix)), degree)
        assert result.status == "optimal" and result.bound == pytest.approx(-4, abs=1e-6)
        assert -4 - 1e-6 <= result.certified_bound <= -4 + 1e-12


def test_programs_with_several_unknowns():
    a, b, x = sd.variables("a b x")
    program = sd.SosProgram([a, b]).require(x**4 - a * x + b)
    program.require(3 - a + x**2, on=sd.System(1 - x**2 >= 0)).require(2 - b)
    ours, theirs = program.maximize(a - b, solver="sos_cone"), program.maximize(a - b, solver="clarabel")
    assert ours.status == "optimal" and ours.bound == pytest.approx(theirs.bound, abs=1e-6)
    assert ours.certified_bound == pytest.approx(ours.bound, abs=1e-6)


def test_sums_of_squares_are_proved_and_refuted():
    x, y = sd.variables("x y")
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
    assert sd.prove_sos(x**4 + y**4 - x * y + 1, solver="sos_cone").status == "proved"
    assert sd.prove_sos(motzkin, solver="sos_cone").status == "refuted"


def test_constraints_in_expectation():
    x, y = sd.variables("x y")
    relax = sd.Relaxation(box([x, y]), 4)
    both = [
        relax.minimize(x**3 + y - x * y, [relax.E(x) >= 0.2, relax.E(y) == 0.1], solver=s)
        for s in ("sos_cone", "clarabel")
    ]
    assert both[0].bound == pytest.approx(both[1].bound, abs=1e-6)
    assert both[0](y) == pytest.approx(0.1, abs=1e-6)
    none = relax.feasible([relax.E(x) >= 0.2, relax.E(x**2) <= 0.03], solver="sos_cone")
    assert none.status == "infeasible"


def test_permutation_symmetry_is_kept():
    x = sd.variables("x", 4)
    p = sum(x**4) - sum(x) ** 2 + sum(x) ** 3 / 10
    result = {}
    for symmetry in ("auto", "sign"):
        result[symmetry] = sd.minimize(p, box(x / 2), 6, symmetry=symmetry, solver="sos_cone")
        assert result[symmetry].status == "optimal"
        assert result[symmetry].bound - result[symmetry].certified_bound <= 1e-6 * abs(result[symmetry].bound)
    assert result["auto"].sizes["orbit_moments"] < result["sign"].sizes["moments"] / 3
    assert result["auto"].bound == pytest.approx(result["sign"].bound, rel=1e-6)
    assert certificates.extract(result["auto"]).exact().verdict


@pytest.mark.parametrize("n", [1, 2])
def test_the_tolerance_is_asked_for(n):
    x = sd.variables("x", n)
    basis = sd.monomials(x, 6)
    p = np.random.default_rng(7).standard_normal(len(basis)) @ basis
    rough, fine = (bound(p, box(x), 6, tolerance=t) for t in (1e-3, 1e-9))
    assert rough.iterations < fine.iterations
    assert abs(rough.bound - fine.bound) <= 1e-2 * max(1.0, abs(fine.bound))


def empty_sets():
    x, y = sd.variables("x y")
    return [
        (x, sd.System(1 - x**2 >= 0, x - 2 >= 0), 4),
        (x + y, sd.System(x**2 + y**2 <= 1, x + y >= 2), 4),
        (x * y, sd.System(x >= 1, y >= 1, x * y <= 0.5, x <= 3, y <= 3), 4),
    ]


def test_a_ray_of_the_gram_side_refutes_by_itself():
    for p, system, degree in empty_sets():
        result = bound(p, system, degree)
        assert result.status == "infeasible" and result.solver == "sos_cone"


def test_thin_sets_get_points_inside():
    x, y = sd.variables("x y")
    ring = sd.System(x**2 + y**2 <= 1, x**2 + y**2 >= 0.98, y >= x**2)
    ours, theirs = (sd.minimize(x + y, ring, 4, solver=s) for s in ("sos_cone", "clarabel"))
    assert ours.status == "optimal" and ours.bound == pytest.approx(theirs.bound, abs=1e-5)


def test_a_time_limit_ends_early_without_a_false_claim():
    x = sd.variables("x", 2)
    basis = sd.monomials(x, 10)
    p = np.random.default_rng(3).standard_normal(len(basis)) @ basis
    result = bound(p, box(x), 10, time_limit=1e-9)
    grid = np.linspace(-1, 1, 41)
    points = np.stack([g.ravel() for g in np.meshgrid(grid, grid)], axis=1)
    assert result.status in ("failed", "inaccurate")
    assert result.certified_bound is None or result.certified_bound <= p(points).min() + 1e-9
