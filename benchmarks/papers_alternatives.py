"""What is not built, measured with float noise against what is: the l_{2,1} ball for k symbols.

Nothing here is private: noise is in floats, and no page proves its scale to be enough. The rows say whether
the mechanism would be worth its proof.
"""

from __future__ import annotations

import math
import time

import numpy as np

from benchmarks.papers_row import Row
from problems.mrf import FrankWolfePairwise
from problems.mrf.model import alphabet_grid
from problems.mrf.planning import choose_iterations
from problems.mrf.program import pairwise_parameters, pairwise_regressions
from sosdp.privacy.calibrate import zcdp_rho
from sosdp.structured.l1_logistic import Regressions

Array = np.ndarray
NONE = "none, not offered"


def by_groups(data: Regressions, alphabet: int, radius: float, steps: int, rho: float, seed: int) -> Array:
    """Weights (q, d) by Frank-Wolfe over {sum over nodes of |w_j|_2 <= radius}, rho of float noise each.

    A step spends half on the node, by Gumbel noise on radius |g_j|_2, and half on the direction, by Gaussian
    noise on g_j: both move by at most 2 sigma(radius) / n with a record, as one entry of each node is 1.
    """
    generator, n = np.random.default_rng(seed), data.records
    points, labels = data.points.astype(float), data.labels.astype(float)
    moved, half = 2.0 / (1.0 + math.exp(-radius)) / n, rho / (steps - 1) / 2.0
    weights = np.zeros((data.size, len(points)))
    groups = np.arange(len(points)) // alphabet
    allowed = np.array([np.isin(np.arange(len(points)), columns) for columns in data.columns])
    for t in range(1, steps):
        gradient = -(labels / (1.0 + np.exp(labels * (weights @ points)))) @ points.T / n
        sizes = np.sqrt(np.array([np.bincount(groups, row) for row in gradient**2 * allowed]))
        noisy = radius * sizes + generator.gumbel(size=sizes.shape) * radius * moved / math.sqrt(8.0 * half)
        noisy[~np.array([np.bincount(groups, row) > 0 for row in allowed])] = -np.inf
        chosen = groups == noisy.argmax(axis=1)[:, None]
        slope = chosen * (gradient + generator.normal(size=gradient.shape) * moved / math.sqrt(2.0 * half))
        vertex = -radius * slope / np.maximum(np.linalg.norm(slope, axis=1), 1e-300)[:, None]
        weights += 2.0 / (t + 2.0) * (vertex - weights)
    return weights


def symbols(quick: bool) -> list[Row]:
    """Largest error of a table W_ij(a, b): groups of the l_{2,1} ball beside the l1 ball that is built."""
    result = []
    cases = ((2, 20_000), (4, 20_000), (4, 100_000), (6, 100_000))
    for k, n in cases[:1] if quick else cases:
        model = alphabet_grid(2, 3, k, 0.3, seed=1)
        p, rho = model.nodes, zcdp_rho(1.0, 1e-6) / (model.nodes * (k - 1))
        radius = 2.0 * model.width * math.sqrt(k)
        grouped, listed, spent = [], [], 0.0
        truth = model.centred().weights
        for seed in range(1 if quick else 3):
            table = model.sample(n, seed)
            start = time.process_time()
            data = pairwise_regressions(np.asarray(table), k)
            steps = choose_iterations(n, radius, rho, 2 * p)
            weights = pairwise_parameters(by_groups(data, k, radius, steps, rho, seed), p, k)[0]
            spent = time.process_time() - start
            grouped.append(float(np.abs(weights - truth).max()))
            fitted = FrankWolfePairwise(model.width, alphabet=k).fit(table)
            listed.append(float(np.abs(fitted.weights_ - truth).max()))
        said, runs = (
            "Section 4: the l_{2,1} ball",
            "float noise, half of rho for directions (best: the l1 ball)",
        )
        size = f"2 x 3 grid, k = {k}, largest weight {np.abs(truth).max():.2g}, n = {n}, (1, 1e-6)"
        errors = float(np.mean(grouped)), float(np.mean(listed))
        result.append(Row("Markov random fields", said, runs, size, NONE, *errors, spent, True))
    return result


MEASURES = (symbols,)
