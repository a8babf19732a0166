"""Rows of "Robustness implies privacy": means and covariances by sum-of-squares scores, and least records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.harness import timed
from benchmarks.papers_row import Row
from problems.gaussian import DyadicBoxes, PackingProblem, PackingScore, PrivateCovariance, PrivateMean
from problems.gaussian.published import truncated
from sosdp.laboratory import fits
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.score import cube

PAPER = "robustness implies privacy"
REACH = 12
SPACING = {2: 128, 3: 64, 4: 8}  # steps of the rival's lattice, which has at most 10^10 points
CASES = (  # n, d, share of wrong records, runs
    (1000, 2, 0.05, 5),
    (1000, 2, 0.1, 5),
    (10_000, 2, 0.1, 8),
    (10_000, 2, 0.3, 3),
    (1000, 3, 0.1, 3),
    (10_000, 3, 0.1, 1),
    (1000, 4, 0.1, 1),
    (100_000, 2, 0.1, 1),
)


def records(n: int, d: int, wrong: float, seed: int) -> np.ndarray:
    """(n, d) standard normal records about 0, a fraction of them replaced by one point 8 away."""
    generator = np.random.default_rng([n, d, seed])
    table = generator.normal(size=(n, d))
    table[: round(wrong * n)] = 8.0 / np.sqrt(d)
    return np.clip(table, -REACH, REACH)


def mean(n: int, d: int, wrong: float, runs: int) -> Row:
    """The packing score of degree 2 against the count of records near a candidate, and folded records."""
    problem = PackingProblem("identity", d, 0.75 * (1.0 - wrong))
    score = PackingScore(problem, cube(Fraction(1, 1024), REACH, d), n)
    near = fits.location(n, dimension=d, tolerance=1, spacing=Fraction(1, SPACING[d]), reach=REACH)
    errors, counted, folded, spent, kind = [], [], [], [], ""
    for seed in range(runs):
        table: Any = records(n, d, wrong, seed)
        release, seconds = timed(pure_exponential, score, table, epsilon=1.0, sampler=DyadicBoxes())
        spent.append(seconds)
        errors.append(float(np.linalg.norm(release.value)))
        kind = str(release.guarantee.kind)
        counted.append(
            float(np.linalg.norm(pure_exponential(near.score_function(), table, epsilon=1.0).value))
        )
        other = PrivateMean(1.0, bounds=(-REACH, REACH), contamination=min(wrong, 0.2)).fit(table)
        folded.append(float(np.linalg.norm(other.mean_)))
    error, cpu = float(np.mean(errors)), float(np.mean(spent))
    rivals = float(np.mean(counted)), float(np.mean(folded))
    good = error <= 1.5 * rivals[0] and (cpu < 60 or n > 10_000)
    runs_here = f"packing score, exact draw (count of near records {rivals[0]:.3g}, folded {rivals[1]:.3g})"
    size = f"d = {d}, n = {n}, {wrong:.0%} wrong, epsilon 1"
    said = "Theorems 4.1, 5.1: the exponential mechanism on a score of the mean"
    return Row(PAPER, said, runs_here, size, kind, error, min(rivals), cpu, good)


def means(quick: bool) -> list[Row]:
    """All cases, or one."""
    return [mean(*case) for case in (((1000, 2, 0.1, 2),) if quick else CASES)]


def covariances(quick: bool) -> list[Row]:
    """Two columns, pure, against noise at delta = 1e-6; errors relative to the truth, Frobenius."""
    result = []
    for n in (2000,) if quick else (2000, 10_000):
        errors: list[float] = []
        others: list[float] = []
        spent, kind = [], ""
        truth = np.array([[1.0, 0.6], [0.6, 1.0]])
        for seed in range(1 if quick else 3):
            table = np.random.default_rng([n, seed]).multivariate_normal([0, 0], truth, size=n)
            options: dict[str, Any] = {"bounds": (-20, 20), "contamination": 0.05}
            model, seconds = timed(PrivateCovariance(1.0, **options).fit, table)
            spent.append(seconds)
            kind = str(model.guarantee_.kind)
            other = PrivateCovariance(1.0, delta=1e-6, **options).fit(table)
            for made, into in ((model, errors), (other, others)):
                root = np.linalg.inv(np.linalg.cholesky(truth))
                into.append(float(np.linalg.norm(root @ made.covariance_ @ root.T - np.eye(2))))
        error, best, cpu = float(np.mean(errors)), float(np.mean(others)), float(np.mean(spent))
        said = "Theorems 6.1, 7.1: covariances in pure privacy"
        size = f"d = 2, n = {n}, epsilon 1"
        runs = "frame and noise of an exact law (best known: noise, with delta = 1e-6)"
        result.append(Row(PAPER, said, runs, size, kind, error, best, cpu, kind in ("exact", "certified")))
    return result


def least(quick: bool) -> list[Row]:
    """Theorem 4.2 in one column: the least number of records in the column of errors."""
    result = []
    tasks: tuple[tuple[truncated.Task, float, int], ...] = (("mean", 0.1, 5056), ("variance", 0.03, 16_768))
    for task, eta, before in tasks:
        records, spent = timed(truncated.least_records, task, 1.0, 1e-6, eta)
        size = f"one column, eta = {eta}, (1, 1e-6)"
        said = "Theorem 4.2: approximate privacy without bounds"
        runs = f"least number of records of a {task} (best known: by separation and slow growth alone)"
        result.append(Row(PAPER, said, runs, size, "conditional", records, before, spent, records < before))
    return result


MEASURES = (means, covariances, least)
