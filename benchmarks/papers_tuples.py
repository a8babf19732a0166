"""Rows of the paper on tuples: centres of private k-means in many dimensions."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import timed
from benchmarks.papers_row import Row
from problems.gmm import centre_error
from problems.tuples import PrivateKMeans


def centres(quick: bool) -> list[Row]:
    """Largest error of a centre against the means of the true clusters, which are not private."""
    result, k, n = [], 3, 20_000 if quick else 100_000
    for d in (4,) if quick else (4, 32):
        errors, best, spent = [], [], []
        for seed in range(1 if quick else 2):
            generator = np.random.default_rng([d, seed])
            truth = 64.0 * np.eye(k, d)
            labels = generator.integers(k, size=n)
            table = truth[labels] + generator.normal(size=(n, d))
            fitted, seconds = timed(PrivateKMeans(k, 1.0, 1e-6).fit, table)
            spent.append(seconds)
            means = np.array([table[labels == group].mean(axis=0) for group in range(k)])
            released = np.zeros_like(truth) if fitted.cluster_centers_ is None else fitted.cluster_centers_
            errors.append(centre_error(released, truth))
            best.append(centre_error(means, truth))
        said, runs = "Averages of tuples; k-means", "weighted mean of tuples (best: means, not private)"
        size, kind = f"k = {k}, d = {d}, n = {n}, separation 90, (1, 1e-6)", str(fitted.guarantee_.kind)
        error, cpu = float(np.mean(errors)), float(np.mean(spent))
        row = Row("k-tuples", said, runs, size, kind, error, float(np.mean(best)), cpu, error < 2.0)
        result.append(row)
    return result


MEASURES = (centres,)
