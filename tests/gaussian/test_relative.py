"""Covariance scores whose bound moves with the candidate: exact arithmetic, sensitivity, cuts, laws."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from problems.gaussian import theory
from sosdp.conic.svec import svec
from sosdp.laboratory.packing_problem import Cuts, PackingProblem, svec_of_outer
from sosdp.laboratory.packing_sampler import DyadicBoxes
from sosdp.laboratory.packing_score import PackingScore, packing_score
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import Lattice
from sosdp.structured.packing import solve, upper_bound
from sosdp.structured.packing_bound import Limit
from tests.gaussian.laws import largest_loss, law_inside
from tests.gaussian.test_scores import matrices
from tests.refusals import refuse


def whitened(records, matrix):
    values, vectors = np.linalg.eigh(matrix)
    return records @ (vectors / np.sqrt(values)) @ vectors.T


def test_a_right_side_that_is_not_definite_proves_nothing_and_raises_nothing():
    rows = np.random.default_rng(0).normal(size=(6, 2))
    for B in (np.array([[1.0, 3.0], [3.0, 1.0]]), np.zeros((2, 2)), np.full((2, 2), np.nan)):
        assert upper_bound(rows, B, np.ones(6)) == 6.0
        assert not Limit(B).multiple(rows, np.ones(6)) < np.inf


@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_is_the_score_of_whitened_records_at_the_identity(d):
    generator = np.random.default_rng(d)
    fixed, moving = PackingProblem("covariance", d, 2.3), PackingProblem("covariance", d, 2.3, relative=True)
    for _ in range(6):
        records, target = generator.normal(size=(25, d)), matrices(generator, d)
        plain = packing_score(fixed, whitened(records, target), svec(np.eye(d)))
        ours = packing_score(moving, records, svec(target))
        assert ours.low == pytest.approx(plain.low, abs=1e-4)
        assert ours.high == pytest.approx(plain.high, abs=1e-4)
        # the matrix of X -> T X T itself
        X = matrices(generator, d)
        times = moving.bound(1, svec(target)).entries[:-1, :-1] / 2.3
        assert times @ svec(X) == pytest.approx(svec(target @ X @ target), abs=1e-12)
    refuse(
        (lambda: packing_score(moving, records, svec(-np.eye(d))), "positive definite"),
        (lambda: PackingProblem("identity", d, 1.0, relative=True), "relative"),
    )


def test_two_candidates_cannot_both_score_low():
    """The separation bound, with the mean of both bounds in the direction between the candidates."""
    generator = np.random.default_rng(5)
    informative = 0
    for k in range(40):
        n, d, lam = int(generator.integers(3, 30)), 1 + k % 2, float(generator.uniform(0.5, 3.0))
        records = generator.normal(size=(n, d)) * (1.0 if k % 3 else 5.0)
        problem = PackingProblem("covariance", d, lam, relative=True)
        first, second = svec(matrices(generator, d)), svec(matrices(generator, d))
        u = float(np.linalg.norm(first - second))
        v = np.append((first - second) / u, 0.0)
        mean = sum(v @ problem.bound(1, t).entries @ v for t in (first, second)) / 2
        total = sum(packing_score(problem, records, t).high for t in (first, second))
        assert total >= theory.separation(u, n, float(mean)) - 1e-5
        informative += total < n
    assert informative > 10


@pytest.mark.parametrize("d", [1, 2])
def test_cuts_hold_at_points_and_over_boxes(d):
    generator = np.random.default_rng(30 + d)
    n, problem = 40, PackingProblem("covariance", d, 2.2, relative=True)
    records = generator.normal(size=(n, d))
    features = problem.records(records, Fraction(1, 2**30))
    cuts = Cuts(problem, features)
    for _ in range(8):
        theta = np.round(svec(matrices(generator, d)) * 2**20) / 2**20
        bound = problem.bound(n, theta)
        cuts.add(solve(problem.rows(features, theta), bound, tolerance=1e-6).factor, theta)
    assert cuts.constants.size == 8
    useful = 0
    for _ in range(60):
        target = matrices(generator, d)
        theta = svec(target)
        high = packing_score(problem, records, theta).high
        assert cuts.at(theta) <= high + 1e-9
        useful += cuts.at(theta) > 0.5 * high
        width = 0.3 * generator.uniform(size=theta.size)
        place = generator.uniform(size=theta.size)
        low = np.round((theta - place * width) * 2**20) / 2**20
        over = low + np.round(width * 2**20) / 2**20
        corners = np.array(list(product(*zip(low, over, strict=True))))
        assert cuts.box(low, over) <= cuts.over(corners).min() + 1e-9
        inside = low + generator.uniform(size=(200, theta.size)) * (over - low)
        assert (cuts.over(inside) >= cuts.box(low, over) - 1e-9).all()
    assert useful > 10


def _score(n, d, spacing=Fraction(1, 4), domain=(0.5, 2.0), lam=2.2):
    problem = PackingProblem("covariance", d, lam, relative=True)
    side = (math.ceil(Fraction(domain[0]) / spacing), math.floor(Fraction(domain[1]) / spacing))
    reach = math.floor(Fraction(math.sqrt(2) * domain[1]) / spacing)
    box = (side,) if d == 1 else (side, (-reach, reach), side)
    return PackingScore(problem, Lattice(spacing, problem.size, box), n, domain=domain)


def test_an_admitted_point_is_never_thrown_away_for_rounding():
    """A point on the lower edge of the domain whose other entries are ten orders larger."""
    corner = (473823201697337, -670087198005898, 473823201697337)
    high, less = 4 << 30, int(0.7 * (4 << 30))
    box = (
        (corner[0] - high + 1, corner[0] + high),
        (corner[1], corner[1]),
        (corner[2] - less + 1, corner[2] + less),
    )
    problem = PackingProblem("covariance", 2, 4.0, relative=True)
    score = PackingScore(problem, Lattice(Fraction(1, 2**30), 3, box), 2, domain=(1e-6, 1e6))
    point = np.array(corner) / 2**30
    assert not score.excludes(point, point)
    assert score.excludes(np.array([-9.0, 0.0, 1.0]), np.array([-8.0, 1.0, 2.0]))


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_exact_laws_of_neighbours_differ_by_at_most_epsilon(n):
    assert 0.1 < largest_loss(_score(n, 1), [[-1.3], [0.0], [0.7], [40.0]], 1.0) <= 1.0


@pytest.mark.slow
def test_the_two_by_two_laws_of_neighbours_too():
    epsilon, n = 1.0, 4
    score = _score(n, 2, Fraction(1, 2))
    base = rational_base(epsilon, score.sensitivity)
    generator = np.random.default_rng(9)
    worst = 0.0
    for k in range(6):
        data = generator.normal(size=(n, 2)) * (1.0 if k % 2 else 4.0)
        other = data.copy()
        other[0] = ([0.0, 0.0], [30.0, -30.0], [1.0, 1.0])[k % 3]
        first, second = (law_inside(score, x, base) for x in (data, other))
        worst = max(worst, *(abs(math.log(float(first[p] / second[p]))) for p in first))
    assert 0.05 < worst <= epsilon


def test_what_has_no_domain_is_refused_and_too_fine_a_lattice_too():
    problem = PackingProblem("covariance", 1, 2.0, relative=True)
    refuse(
        (lambda: PackingScore(problem, Lattice(Fraction(1, 4), 1, ((1, 8),)), 5), "domain"),
        (
            lambda: PackingScore(
                PackingProblem("identity", 1, 1.0), Lattice(Fraction(1, 2**40), 1, ((0, 2**52),)), 5
            ),
            "too fine",
        ),
    )
    release = pure_exponential(_score(30, 1), np.ones((30, 1)), epsilon=1.0, sampler=DyadicBoxes())
    assert release.guarantee.kind == "certified" and 0.5 <= float(release.value[0]) <= 2.0
    assert svec_of_outer(np.array([[2.0]])).tolist() == [[4.0]]
