"""Private community recovery: error and exact-recovery tables of every method, with non-private spectral.

Graphs are drawn from fixed seeds and noise from seeded generators (insecure_seed), so the tables repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Table
from problems.sbm import (
    CertificateRecovery,
    ProjectionRecovery,
    RandomizedResponseRecovery,
    StochasticBlockModel,
    error_rate,
    predict_error,
)
from problems.sbm.labelling import canonical_signs, leading_eigenvector
from problems.sbm.program import centred_matrix

DELTA = 1e-6
WEAK = [(500, 100), (500, 200), (1000, 100), (1000, 200), (1000, 400)]
WEAK_QUICK = [(200, 80)]
EXACT = [(500, 50), (500, 100), (500, 200), (1000, 50), (1000, 100), (1000, 200), (1000, 400)]
EXACT_QUICK = [(200, 80)]
EPSILONS = (0.5, 1.0, 2.0)


def spectral(adjacency: Any, d: float, gamma: float) -> np.ndarray:
    """Signs of the leading eigenvector of A - (d/n) J: no privacy."""
    return canonical_signs(leading_eigenvector(centred_matrix(adjacency, d, gamma)))


def weak_recovery(sizes: list[tuple[int, int]], seeds: int) -> Table:
    """Mean fraction of wrong labels at gamma = 1/2."""
    gamma, rows = 0.5, []
    for n, d in sizes:
        samples = [StochasticBlockModel(n, d, gamma).sample(1000 + seed) for seed in range(seeds)]
        plain = np.mean([error_rate(spectral(s.adjacency, d, gamma), s.labels) for s in samples])
        for epsilon in EPSILONS:
            methods: list[Callable[..., Any]] = [
                partial(ProjectionRecovery, epsilon, DELTA, gamma, d),
                partial(ProjectionRecovery, epsilon, DELTA, gamma, d, calibration="paper"),
                partial(RandomizedResponseRecovery, epsilon, average_degree=d, rounds=0),
            ]
            errors = [
                np.mean(
                    [
                        error_rate(make(insecure_seed=seed).fit(s.adjacency).labels_, s.labels)
                        for seed, s in enumerate(samples)
                    ]
                )
                for make in methods
            ]
            predicted = predict_error(n, d, gamma, epsilon, DELTA)
            rows.append([n, d, epsilon, float(plain), *map(float, errors), predicted])
    return Table(
        f"Weak recovery, gamma = 0.5, delta = {DELTA:g}: mean fraction of wrong labels (0.5: no information)",
        (
            "n",
            "d",
            "epsilon",
            "spectral, no privacy",
            "projection",
            "paper constants",
            "edge flips",
            "predicted",
        ),
        rows,
        (f"{seeds} graphs a cell; edge flips with a spectral step and no polishing; predicted: lam = 0.75.",),
    )


def exact_recovery(sizes: list[tuple[int, int]], seeds: int) -> Table:
    """Fraction of runs with every label right at gamma = 0.8."""
    gamma, rows = 0.8, []
    for n, d in sizes:
        samples = [StochasticBlockModel(n, d, gamma).sample(77 + seed) for seed in range(seeds)]
        plain = np.mean([error_rate(spectral(s.adjacency, d, gamma), s.labels) == 0 for s in samples])
        for epsilon in EPSILONS:
            certificate, refused, wrong, flips = 0, 0, 0, 0
            for seed, sample in enumerate(samples):
                fitted = CertificateRecovery(epsilon, DELTA, insecure_seed=seed).fit(sample.adjacency)
                labels = fitted.labels_
                right = labels is not None and error_rate(labels, sample.labels) == 0
                certificate += right
                refused += not fitted.released_
                wrong += fitted.released_ and not right
                noisy = RandomizedResponseRecovery(epsilon, average_degree=d, insecure_seed=seed)
                voted = noisy.fit(sample.adjacency).labels_
                flips += voted is not None and error_rate(voted, sample.labels) == 0
            counts = [certificate, refused, wrong, flips]
            rows.append([n, d, epsilon, float(plain), *(count / seeds for count in counts)])
    return Table(
        f"Exact recovery, gamma = 0.8, delta = {DELTA:g}: fraction of runs",
        (
            "n",
            "d",
            "epsilon",
            "spectral, no privacy",
            "certificate",
            "refused",
            "wrong",
            "edge flips + voting",
        ),
        rows,
        (f"{seeds} graphs a cell; certificate: its defaults (tau = 1/2, tau0 = 1/4).",),
    )


def run(quick: bool) -> dict[str, Any]:
    """Both tables; `ok` is false if the certificate release ever published a wrong labelling."""
    weak = weak_recovery(WEAK_QUICK if quick else WEAK, 2)
    exact = exact_recovery(EXACT_QUICK if quick else EXACT, 2 if quick else 4)
    ok = all(row[6] == 0 for row in exact.rows)
    return {"tables": [weak.to_dict(), exact.to_dict()], "ok": ok, "missing": []}
