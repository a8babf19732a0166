"""Whitening: rows within their ball, functions of their records; correlations of any condition, or a flag."""

import math
from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian import PrivateCovariance, PrivateGaussian, whitening
from problems.gaussian.fold import norms, shortened, whole_rows
from problems.gaussian.whitening import Whitening, consistency, schedule, step_overhead
from tests.gaussian.test_pipelines import Transcript, loss


def correlated(n: int, d: int, condition: float, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Records (n, d) in units from 1e-3 to 1e3, and the inverse root of their covariance."""
    g = np.random.default_rng([run, n, d])
    frame = np.linalg.qr(g.standard_normal((d, d)))[0]
    root = 10.0 ** g.uniform(-3, 3, d)[:, None] * frame * np.sqrt(np.geomspace(1.0, 1.0 / condition, d))
    return g.standard_normal((n, d)) @ root.T + 10.0 * root[:, 0], np.linalg.inv(root)


def off(covariance: np.ndarray, inverse: np.ndarray) -> float:
    """Frobenius error relative to the truth."""
    return float(np.linalg.norm(inverse @ covariance @ inverse.T - np.eye(len(inverse))))


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_correlations_of_any_condition(condition):
    errors = []
    for run in range(3):
        X, inverse = correlated(20000, 6, condition, run)
        model = PrivateGaussian(1.0, delta=1e-6, bounds=None, contamination=0.0, insecure_seed=run).fit(X)
        assert model.within_plan_ and model.unseen_.shape == (0, 6) and model.plan_.condition > 1e6
        errors.append(off(model.covariance_, inverse))
        assert np.linalg.norm(inverse @ model.mean_ - inverse @ X.mean(axis=0)) < 0.15
    assert np.median(errors) < 1.25 * model.plan_.total_error
    assert model.error_ < 1.1 * model.plan_.total_error


def test_beyond_the_reach_it_says_so():
    for condition in (1e4, 1e8):
        for run in range(2):
            X, inverse = correlated(5000, 10, condition, run)
            model = PrivateCovariance(1.0, delta=1e-6, bounds=None, contamination=0.0).fit(X)
            assert model.plan_.condition < 1e3 and not model.within_plan_
            assert model.condition_ > model.plan_.condition or len(model.unseen_)


def test_far_rows_and_an_ill_conditioned_table_together():
    X, inverse = correlated(20000, 5, 1e4, 7)
    X[:600] = 1e5
    model = PrivateGaussian(1.0, delta=1e-6, bounds=None, contamination=0.03).fit(X)
    assert off(model.covariance_, inverse) < 0.25 and model.within_plan_


def test_rows_lie_in_the_ball():
    """|F|^2 + w^2 a^2 <= C^2 + a^2, at every length of a record."""
    g = np.random.default_rng(0)
    z = g.standard_normal((3000, 3)) * 10.0 ** g.uniform(-3, 3, (3000, 1))
    z[0] = math.inf
    for radius, a in ((2.0, 1.0), (0.3, 2.0), (5.0, 0.01)):
        with np.errstate(invalid="ignore"):
            rows, weights = whole_rows(z, norms(z), radius)
        lengths = (rows**2).sum(axis=1) + (weights * a) ** 2
        assert np.isfinite(rows).all() and lengths.max() <= (radius**2 + a**2) * (1.0 + 1e-12)
        assert lengths.max() > 0.99 * (radius**2 + a**2)
        with np.errstate(invalid="ignore"):
            longest = norms(shortened(z, norms(z), radius)).max()
        assert 0.99 * radius < longest <= radius * (1.0 + 1e-12)


def test_folding_leaves_the_covariance_of_a_gaussian():
    z = np.random.default_rng(1).standard_normal((200_000, 3))
    radius = math.sqrt(7.8147)  # the .95-quantile of chi^2_3
    rows, weights = whole_rows(z, norms(z), radius)
    assert (rows.T @ rows / (weights**2).sum() / consistency(3)) == pytest.approx(np.eye(3), abs=0.02)


LAWS = {
    "exponential": lambda g: 1000.0 * g.standard_exponential((20000, 2)),
    "uniform": lambda g: 1990.0 + np.floor(35.0 * g.random((20000, 2))),
    "heavy": lambda g: g.standard_t(5, (20000, 2)),
}


@pytest.mark.parametrize("law", LAWS)
def test_without_contamination_it_is_the_covariance_of_all_records(law):
    """What was .64, 1.04 and .84 of the variance without a flag; with contamination it says of what it is."""
    X = LAWS[law](np.random.default_rng(3))
    truth = X.var(axis=0)
    for options in ({}, {"delta": 1e-7}):
        model = PrivateGaussian(1.0, bounds=None, contamination=0.0, **options).fit(X)
        assert np.abs(np.diag(model.covariance_) / truth - 1.0).max() < 3.0 * model.error_ < 0.9
        assert np.abs(model.mean_ - X.mean(axis=0)).max() < 3.0 * model.error_ * math.sqrt(truth.max())
        assert "all rows" in model.estimates_ and model.clipped_share_ < 0.03
    folded = PrivateGaussian(1.0, delta=1e-7, bounds=None, contamination=0.05).fit(X)
    assert "normal columns" in folded.estimates_ and folded.clipped_share_ is None
    assert folded.skewed_.tolist() == [law == "exponential"] * 2


def test_every_row_is_a_function_of_its_record(monkeypatch):
    """The whole of a whitening with directions that are not seen, on all neighbours: within its budget."""
    monkeypatch.setattr(whitening, "NATS", 0.02)
    rho = Fraction(1, 2)
    entries = [[-3.0, -2.9], [0.0, 1e-6], [0.25, 0.25], [1e7, -1e7], [1.0, -1.0]]

    def run(table):
        queries = Transcript(3, rho=float(rho))
        result = Whitening(queries, np.array(table), 0.0, np.zeros(2, dtype=bool))
        result.coarse(rho * 3 / 4, 2)
        result.moments(rho - queries.spent - whitening.radius_price(3, False), 0.2)
        assert queries.spent == rho or Transcript.script is not None
        return Transcript.seen

    wanted, worst = set(), 0.0
    for i, j, k in ((0, 1, 2), (1, 1, 4), (3, 2, 2), (0, 3, 4)):
        table = [entries[i], entries[j], entries[k]]
        Transcript.script = None
        own = run(table)
        wanted.add(len(own))
        Transcript.script = own
        for place in range(3):
            for other in entries:
                neighbour = [other if r == place else table[r] for r in range(3)]
                worst = max(worst, loss(own, run(neighbour)))
    assert max(wanted) > 6, "directions were asked about"
    assert 0.01 < worst <= float(rho) * (1.0 + 1e-9)


def test_a_schedule_never_spends_more_than_it_has():
    for n, d, rho in ((500, 1, 0.02), (5000, 10, 0.01), (20000, 20, 0.5), (10**6, 5, 1e-4)):
        share = Fraction(rho)
        for pure in (False, True):
            steps, reach = schedule(n, d, share, pure)
            assert steps * step_overhead(n, d, pure) < share and (reach >= 1.0 or steps == 0)
