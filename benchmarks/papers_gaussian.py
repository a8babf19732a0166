"""Rows of "Robustness implies privacy": means by sum-of-squares scores."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.papers_row import Row
from problems.gaussian import DyadicBoxes, PackingProblem, PackingScore
from sosdp.laboratory import fits
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.score import cube

PAPER = "robustness implies privacy"
REACH = 12


def records(n: int, d: int, wrong: float, seed: int) -> np.ndarray:
    """(n, d) standard normal records about 0, a fraction of them replaced by one point 8 away."""
    generator = np.random.default_rng([n, d, seed])
    table = generator.normal(size=(n, d))
    table[: round(wrong * n)] = 8.0 / np.sqrt(d)
    return np.clip(table, -REACH, REACH)


def means(quick: bool) -> list[Row]:
    """Means by the packing score of degree 2, against the count of records near a candidate."""
    cases = (
        [(1000, 2, 0.1)] if quick else [(1000, 2, 0.1), (10_000, 2, 0.1), (10_000, 2, 0.3), (1000, 3, 0.1)]
    )
    result = []
    for n, d, wrong in cases:
        problem = PackingProblem("identity", d, 0.7)
        score = PackingScore(problem, cube(Fraction(1, 1024), REACH, d), n)
        near = fits.location(n, dimension=d, tolerance=1, spacing=Fraction(1, 128), reach=REACH)
        errors, others, spent, kind = [], [], [], ""
        for seed in range(2 if quick else 5):
            table: Any = records(n, d, wrong, seed)
            start = time.process_time()
            release = pure_exponential(score, table, epsilon=1.0, sampler=DyadicBoxes())
            spent.append(time.process_time() - start)
            errors.append(float(np.linalg.norm(release.value)))
            kind = str(release.guarantee.kind)
            other = pure_exponential(near.score_function(), table, epsilon=1.0)
            others.append(float(np.linalg.norm(other.value)))
        error, best, cpu = float(np.mean(errors)), float(np.mean(others)), float(np.mean(spent))
        good = cpu < 60 and (quick or error <= 1.5 * best)
        size = f"d = {d}, n = {n}, {wrong:.0%} wrong, epsilon 1"
        said = "Theorems 4.1, 5.1: the exponential mechanism on a score of the mean"
        result.append(Row(PAPER, said, "packing score, exact draw", size, kind, error, best, cpu, good))
    return result


MEASURES = (means,)
