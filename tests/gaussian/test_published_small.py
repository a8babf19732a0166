"""Spectral covariance and the mean in the largest coordinate, literally: all neighbours, controls."""

import math
from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian import PrivateCovariance, PrivateMean
from problems.gaussian.planning import NotOffered
from problems.gaussian.published import coordinates
from problems.gaussian.published.coordinates import CoordinateScore, Search, is_good
from problems.gaussian.published.line import Candidates, LineScore
from problems.gaussian.published.spectral import (
    SpectralScore,
    integer_directions,
    published_spectral_covariance,
)
from problems.gaussian.published.thresholds import semidefinite
from sosdp.conic.svec import svec
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_score import packing_score
from sosdp.privacy.scores.levels import rational_base
from tests.gaussian.laws import largest_loss
from tests.neighbours import neighbour_pairs
from tests.refusals import refusals


def spectral(n, d=2, lam=Fraction(5, 2), condition=3, spacing=Fraction(1, 2), **options):
    return SpectralScore(d, n, lam, condition=Fraction(condition), spacing=spacing, **options)


def test_one_column_is_the_score_of_a_line():
    records = np.array([0.5, -1.0, 2.0, 0.1])
    score = spectral(4, 1)
    line = LineScore(Candidates("variance"), 4, Fraction(5, 2)).on(records)
    for t in range(1, 7):
        assert score.on(records[:, None]).level((t,)) == line.level_at(Fraction(t, 2))


def test_it_is_at_most_the_packing_score_and_of_its_size():
    generator = np.random.default_rng(1)
    score = spectral(8)
    problem = PackingProblem("covariance", 2, 2.5, relative=True)
    points = [point for point in score.lattice.points() if score.admits(point)]
    ratio = []
    for _ in range(12):
        records = generator.normal(size=(8, 2)) * generator.choice([0.4, 1.0, 2.0], size=2)
        point = points[generator.integers(len(points))]
        result = packing_score(problem, records, svec(score.matrix(point).astype(float)), tolerance=1e-6)
        level = score.on(records).level(point)
        assert level <= math.ceil(result.high)
        ratio.append(level / max(1.0, math.ceil(result.low)))
    assert np.mean(ratio) > 0.6


def test_the_domain_is_that_of_the_eigenvalues():
    score = spectral(3, spacing=Fraction(1, 4))
    for point in score.lattice.points():
        values = np.linalg.eigvalsh(np.array(score.matrix(point), dtype=float))
        if min(abs(values[0] - 1 / 3), abs(values[-1] - 3)) > 1e-9:
            assert score.admits(point) == (values[0] > 1 / 3 and values[-1] < 3)
    cubic = spectral(3, 3, spacing=Fraction(1))
    for point in [(1, 0, 0, 1, 0, 1), (2, 1, 1, 2, 1, 2), (1, 1, 0, 1, 0, 1), (3, 0, 0, 3, 0, 3)]:
        values = np.linalg.eigvalsh(np.array(cubic.matrix(point), dtype=float))
        assert cubic.admits(point) == (values[0] > 0.33 and values[-1] < 3.01)
    minus = np.array(
        [[Fraction(-1), Fraction(0)], [Fraction(0), Fraction(-1)]]
    )  # its determinant is positive
    assert not semidefinite(minus)


ROWS = [(0.0, 0.0), (1.0, -2.0), (0.5, 0.5), (1e308, -1e308), (math.nan, 5e-324)]


class Summed(SpectralScore):
    """Control: the sum over the directions instead of the largest, declared as before."""

    def on(self, data):
        levels = super().on(data)
        lines = levels.lines

        def level(point):
            if not self.admits(point):
                return self.top + 1
            sigma = self.matrix(point)
            at = [sum(v[i] * v[j] * sigma[i][j] for i in (0, 1) for j in (0, 1)) for v in self.directions]
            return sum(line.level_at(u) for u, line in zip(at, lines, strict=True))

        levels.level = level
        return levels


@pytest.mark.parametrize(("kind", "keeps"), [(SpectralScore, True), (Summed, False)])
def test_exact_laws_of_all_neighbours(kind, keeps):
    score = kind(2, 3, Fraction(5, 2), condition=Fraction(2), spacing=Fraction(1, 2))
    worst = largest_loss(score, ROWS, 1.0, score.top if keeps else 10**6)
    assert (0.1 < worst <= 1.0) if keeps else worst > 1.0


def test_a_spectral_covariance_and_the_same_by_the_new_design():
    generator = np.random.default_rng(4)
    truth = np.array([[1.5, 0.5], [0.5, 0.75]])
    records = generator.multivariate_normal([0, 0], truth, size=1200)
    result = published_spectral_covariance(records[:80], 6.0)
    assert result.guarantee.kind == "exact" and result.guarantee.epsilon == 6.0
    root = np.linalg.inv(np.linalg.cholesky(truth))
    ours = PrivateCovariance(6.0, delta=1e-6, bounds=None, contamination=0.0).fit(records)
    for covariance, allowed in ((result.value, 1.2), (ours.covariance_, 0.35)):
        assert np.abs(np.linalg.eigvalsh(root @ covariance @ root.T) - 1).max() < allowed
    assert len(integer_directions(2)) == 8


# ------------------------------------------------------------------------------------------------------------
# Appendix E


@pytest.fixture(scope="module")
def broad():
    """Four records in one column, cells four deviations apart: some tables are not good."""
    return CoordinateScore(Search(4, 1, 2, Fraction(4), 1, 2.0))


@pytest.fixture(scope="module")
def plane():
    """Three records in two columns."""
    return CoordinateScore(Search(3, 2, 1, Fraction(1), 1, 0.75), finer=2)


def rows_of(score, table):
    return score.search.cells[list(table)]


def test_the_estimator_ignores_a_far_record(broad):
    cells = broad.search.cells[:, 0].tolist()
    distant = tuple(cells.index(c) for c in (0, 0, 0, 8))
    assert not is_good(rows_of(broad, distant))
    tables, means = broad.estimates
    answers = dict(zip(map(tuple, tables.tolist()), means, strict=True))
    answer = answers[distant]
    assert abs(answer[0]) <= 1.0  # the mean would be 2
    split = tuple(cells.index(c) for c in (-8, -8, 8, 8))
    assert np.isnan(answers[split]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["broad", "plane"])
def test_levels_and_laws_of_all_tables_and_neighbours(name, request):
    score = request.getfixturevalue(name)
    epsilon, base = 1.0, rational_base(1.0, 1)
    tables = list(map(tuple, score.estimates[0].tolist()))
    points = list(score.lattice.points())
    levels = {
        table: np.array([coordinates.CoordinateLevels(score, table).level(p) for p in points])
        for table in tables
    }

    def largest(known):
        return max(
            float(np.abs(a - b).max()) for a, b in neighbour_pairs(known, range(len(score.search.cells)))
        )

    def loss(factor):
        rates = {t: -base.rate * factor * k for t, k in levels.items()}
        return largest({t: rate - np.log(np.exp(rate).sum()) for t, rate in rates.items()})

    # factor 4, the control: levels of sensitivity 4 declared as 1
    assert largest(levels) == 1 and 0.1 < loss(1) <= epsilon < loss(4)


def test_the_score_of_the_plain_mean_has_its_closed_form():
    """Without wrong records and with every table good it is the inverse sensitivity of the mean."""
    score = CoordinateScore(Search(3, 1, 1, Fraction(1), 0, 1.2), finer=4)
    assert np.isfinite(score.estimates[1]).all()
    slack = score.search.euclidean
    for table in map(tuple, score.estimates[0].tolist()):
        rows = np.sort(rows_of(score, table)[:, 0])
        levels = coordinates.CoordinateLevels(score, table)
        for point in score.lattice.points():
            theta = score.lattice.value(point)[0]
            spans = [
                (np.r_[rows[j:], np.ones(j)].mean(), np.r_[-np.ones(j), rows[: 3 - j]].mean())
                for j in range(4)
            ]
            closed = next(j for j, (up, down) in enumerate(spans) if down - slack <= theta <= up + slack)
            assert levels.level(point) == closed


def test_half_of_the_ball_is_within_alpha():
    generator = np.random.default_rng(0)
    for d in (1, 2, 5, 20, 100):
        points = generator.normal(size=(4000, d))
        points *= (generator.uniform(size=(4000, 1)) ** (1 / d)) / np.linalg.norm(points, axis=1)[:, None]
        inside = np.abs(points * coordinates.euclidean_radius(d, 1.0)).max(axis=1) <= 1.0
        assert inside.mean() >= 0.5


def test_a_coordinate_mean_and_the_same_by_the_new_design(plane):
    """At a large budget both are within alpha of the mean of every table looked at."""
    for table in map(tuple, plane.estimates[0][::97].tolist()):
        rows = rows_of(plane, table)
        result = coordinates.published_coordinate_mean(rows, 200.0, alpha=0.75)
        assert result.guarantee.kind == "exact"
        ours = PrivateMean(
            1e4, bounds=(-1.0, 1.0), tight=True, contamination=0.0, interval=None, method="cube"
        ).fit(rows)
        assert np.abs(ours.mean_ - rows.mean(axis=0)).max() < 0.01
        assert np.abs(result.value - ours.mean_).max() <= 0.75 + 0.01


def test_hostile_records_have_a_cell(plane):
    table = plane.table(np.array([[math.nan, math.inf], [1e308, -1e308], [-0.0, 5e-324]]))
    assert plane.search.cells[list(table)].tolist() == [[0, 0], [1, -1], [0, 0]]


test_refusals = refusals(
    (lambda: published_spectral_covariance(np.zeros((5, 4)), 1.0), "PrivateCovariance", NotOffered),
    (lambda: Search(9, 2, 1, Fraction(1), 1, 0.5), "PrivateMean", NotOffered),
    (lambda: Search(2, 1, 1, Fraction(1), 1, 0.0), "alpha"),
)
