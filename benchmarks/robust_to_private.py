"""Private Gaussian mean, pure epsilon: the robust score on a lattice against Laplace, K-norm and diffprivlib.

Domain [-10, 10]^d, covariance the identity, mean uniform in [-5, 5]^d, median Euclidean error. The score is
the 10 %-trimmed mean in public integer directions, drawn by the integer samplers of a release (with seeds, so
that the table repeats). diffprivlib needs an older scikit-learn than this library: name a Python that has it
in the variable SOSDP_DIFFPRIVLIB_PYTHON.
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.diffprivlib_peer import diffprivlib, missing
from benchmarks.gaussian import sample
from benchmarks.gaussian_baselines import laplace
from benchmarks.harness import Table
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.location import directional, integer_directions, trimmed_weights
from sosdp.privacy.scores.score import cube

EPSILON = 1.0
RADIUS = 10.0
# a direction set close to uniform on the sphere in each dimension: 1, 16 and 49 directions
DIRECTIONS = {1: integer_directions(1), 2: integer_directions(2, 3), 3: integer_directions(3, 2)}


def ours(data: np.ndarray, seed: int) -> np.ndarray:
    """One release on the lattice of spacing 1/1000."""
    n, d = data.shape
    score = directional(trimmed_weights(n, n // 10), DIRECTIONS[d], cube(Fraction(1, 1000), 10, d))
    return pure_exponential(score, data, epsilon=EPSILON, insecure_seed=seed).value


def k_norm(data: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Clipped mean with noise of density exp(-epsilon |z|_2 / sensitivity) (continuous noise)."""
    n, d = data.shape
    direction = generator.normal(size=d)
    radius = generator.gamma(d, 2.0 * RADIUS * np.sqrt(d) / (EPSILON * n))
    return np.clip(data, -RADIUS, RADIUS).mean(axis=0) + radius * direction / np.linalg.norm(direction)


def errors(d: int, n: int, runs: int) -> dict[str, float]:
    """Median Euclidean error of every method over `runs` data sets."""
    samples = [sample(d, n, run, "none", 0.0) for run in range(runs)]
    data, centres = [s[0] for s in samples], np.array([s[1] for s in samples])
    generator = np.random.default_rng([d, n])
    jobs = int(os.environ.get("SOSDP_BENCHMARK_JOBS", "1"))
    released = Parallel(n_jobs=jobs)(delayed(ours)(x, run) for run, x in enumerate(data))
    estimates = {
        "not private": np.array([x.mean(axis=0) for x in data]),
        "ours": np.array(released),
        "Laplace": np.array([laplace(x, EPSILON, RADIUS, generator) for x in data]),
        "K-norm": np.array([k_norm(x, generator) for x in data]),
    }
    peer = diffprivlib("means", data, EPSILON, RADIUS)
    if peer is not None:
        estimates["diffprivlib"] = peer
    return {
        name: float(np.median(np.linalg.norm(result - centres, axis=1))) for name, result in estimates.items()
    }


def run(quick: bool) -> dict[str, Any]:
    """The error table; `ok` is false if ours is not the smallest private error for d >= 2 and n >= 200."""
    runs = 5 if quick else 200
    settings = [(2, 200)] if quick else [(d, n) for d in (1, 2, 3) for n in (200, 400, 800)]
    names = ["not private", "ours", "Laplace", "K-norm", "diffprivlib"]
    rows, fine = [], True
    for d, n in settings:
        result = errors(d, n, runs)
        rows.append([d, n, *(round(result[name], 4) if name in result else "" for name in names)])
        rivals = [result[name] for name in ("Laplace", "K-norm", "diffprivlib") if name in result]
        fine &= quick or d < 2 or result["ours"] < min(rivals)
    table = Table(
        f"Median l2 error of a private mean, epsilon = {EPSILON:g}, {runs} runs",
        ["d", "n", *names],
        rows,
        notes=(
            "ours: (epsilon^2/8)-zCDP as well, exact integers, output on the lattice of spacing 1/1000",
            "Laplace and K-norm: continuous noise in floating point, which no release may use; a lower bound",
        ),
    )
    return {"tables": [table.to_dict()], "ok": bool(fine), "missing": missing()}
