"""Published estimators as whole systems at their smallest sizes, "for every v" taken literally."""

from itertools import product

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.functionals import violations

SAMPLES = (-1.0, -0.3, 0.2, 0.9)


def _mean_system(threshold: float, literal: bool) -> tuple[sd.System, sd.Polynomial]:
    """Hopkins, Kamath, Majid and Narayanan: all but ``threshold`` samples are kept, covariance at most 1."""
    w, moved, v = sd.variables("w", 4), sd.variables("xp", 4), sd.variables("v", 1)
    mean = sum(moved) * 0.25
    covariance = sum((p - mean) ** 2 for p in moved) * 0.25
    bounded = sd.for_all(v, (1 - covariance) * v[0] ** 2 >= 0) if literal else covariance <= 1
    system = sd.System(
        [a * a == a for a in w],
        [a * (p - y) == 0 for a, p, y in zip(w, moved, SAMPLES)],
        sum(w) - 4 + threshold >= 0,
        bounded,
        mean**2 <= 16,
    )
    return system, mean


@pytest.mark.few(1)
@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize(("candidate", "below", "above"), [(0.3, 0.97, 1.03), (3.0, 3.83, 3.89)])
def test_scores_of_candidate_means(candidate, below, above, literal):
    """How many of four samples must be given up for a candidate mean: 1.00 at 0.3, 3.86 at 3 (degree 4).

    Below that the relaxation is refuted; above it has moments, which no points need to have.
    """
    for threshold in (below, above):
        system, mean = _mean_system(threshold, literal)
        relaxation = sd.Relaxation(system, 4)
        result = relaxation.feasible(subject_to=relaxation.E(mean) == candidate)
        if threshold == below:
            assert result.status == "infeasible"
        else:
            assert result.status in ("optimal", "inaccurate") and violations(result).worst < 1e-9


POINTS = np.array([[0.0, 0.0], [1.0, 0.5], [4.0, 4.0], [5.0, 3.5]])


def test_clusters_with_certified_fourth_moments():
    """Two clusters of at most two of four points, pairwise fourth moments at most ``2 |v|^4`` for every
    v with a proof in v: the largest number of ordered pairs that share a cluster, against all labellings."""
    n, k, limit = POINTS.shape[0], 2, 2.0
    z, v = sd.variables("z", (n, k)), sd.variables("v", 2)
    gaps = [(i, j, POINTS[i] - POINTS[j]) for i in range(n) for j in range(n) if i != j]
    constraints = [zi * zi == zi for zi in z.reshape(-1)]
    constraints += [z[i, 0] * z[i, 1] == 0 for i in range(n)]
    for label in range(k):
        moment = sum(
            (0.0625 * z[i, label] * z[j, label] * (gap @ v) ** 4 for i, j, gap in gaps), sd.polynomial(0)
        )
        constraints += [sum(z[:, label]) <= n / k, sd.for_all(v, limit * (v @ v) ** 2 - moment >= 0)]
    together = sum(z[i, a] * z[j, a] for i in range(n) for j in range(n) for a in range(k))
    angle = np.linspace(0, np.pi, 4001)
    direction = np.stack([np.cos(angle), np.sin(angle)])
    best = 0.0
    for labels in product((-1, 0, 1), repeat=n):
        chosen = np.array(labels)
        sizes = [(chosen == a).sum() for a in range(k)]
        quartic = [
            sum(0.0625 * (gap @ direction) ** 4 for i, j, gap in gaps if chosen[i] == chosen[j] == a)
            for a in range(k)
        ]
        if max(sizes) <= n / k and all(np.max(q, initial=0.0) <= limit for q in quartic):
            best = max(best, float(sum(s * s for s in sizes)))
    answer = sd.maximize(together, sd.System(constraints), 4)
    assert best == 8.0
    assert answer.certified_bound >= best
    assert answer.certified_bound <= best + 1e-3
    # the pseudo-expectation knows which points belong together
    W = answer(np.array([[sum(z[i, a] * z[j, a] for a in range(k)) for j in range(n)] for i in range(n)]))
    assert np.abs(W - np.kron(np.eye(2), np.ones((2, 2)))).max() < 0.05
