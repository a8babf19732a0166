"""What blocks of records will answer, from public facts: simulated data go through the block solver itself.

A few dozen made-up blocks of the least favourable mixture that the promises allow give the solver's failure
rate and the size of its errors; with these, sets of tuples are simulated and their h-scores counted. Nothing
here touches private data, and nothing here matters for privacy.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sosdp.privacy.mechanisms.propose_test_release.block_vote import h_score, run_blocks
from sosdp.privacy.mechanisms.propose_test_release.tuple_geometry import SEPARATION
from sosdp.progress import stage

from .blocks import BlockSolver, block_solver
from .model import Facts, simulated_answers

Array = npt.NDArray[np.float64]

EFFICIENCY = 1.15
"""Variance of a block's points over that of cluster means, before a solver is tried (docs/gmm.md)."""

PILOTS = 48
"""Made-up blocks that the solver is tried on."""

QUANTILES = (0.95, 0.98, 0.99, 0.995, 0.999)
"""Shares of pairs that radii are chosen to keep."""

SIMULATED = 200
REPETITIONS = 3


@dataclass(frozen=True)
class SolverRecord:
    """How a solver did on made-up blocks.

    Attributes:
        failed: share of blocks without an answer near the truth.
        efficiency: (k,) variance of its points over that of the means of the true clusters.
        bias: largest distance of an average answer from the truth, in sigmas.
        seconds: for one block, on this machine.
    """

    failed: float
    efficiency: tuple[float, ...]
    bias: float
    seconds: float


def before_trial(facts: Facts) -> SolverRecord:
    """What is assumed of a solver that was not tried."""
    return SolverRecord(0.0, (EFFICIENCY,) * facts.clusters, 0.0, 0.01)


def try_solver(solver: BlockSolver, facts: Facts, size: int, *, blocks: int = PILOTS) -> SolverRecord:
    """Run the solver on made-up blocks. A solver may raise: that block counts as failed."""
    from scipy.optimize import linear_sum_assignment

    mixture = facts.mixture()
    sample = mixture.sample(blocks * size, 77)
    parts = [list(range(b * size, (b + 1) * size)) for b in range(blocks)]
    start = time.process_time()
    answers = run_blocks(solver, sample.points, parts)
    seconds = (time.process_time() - start) / blocks
    k, d = facts.clusters, facts.dimension
    share = np.array(mixture.weights)
    scale = np.sqrt((d - 1 + facts.elongation**2) / (size * share))
    errors = []
    for answer in answers:
        try:
            points = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):  # an answer that is no table: a failed block, of made-up data
            continue
        if points.shape != (k, d) or not np.isfinite(points).all():
            continue
        distances = np.linalg.norm(points[None, :, :] - sample.means[:, None, :], axis=2)
        order = linear_sum_assignment(distances)[1]
        error = points[order] - sample.means
        if (np.linalg.norm(error, axis=1) <= facts.separation / 4.0 + 4.0 * scale).all():
            errors.append(error)
    if len(errors) < max(3, blocks // 4):
        return SolverRecord(1.0, (EFFICIENCY,) * k, 0.0, seconds)
    table = np.array(errors)
    mean = table.mean(axis=0)
    spread = np.sum((table - mean) ** 2, axis=(0, 2)) / (len(errors) - 1)
    efficiency = tuple(float(max(e, 0.9)) for e in spread / scale**2)
    # few trials tell little about rare failures: half a failure is added
    failed = min(1.0, (blocks - len(errors) + 0.5) / blocks)
    return SolverRecord(failed, efficiency, float(np.linalg.norm(mean, axis=1).max()), seconds)


@lru_cache(maxsize=256)  # parts of a budget ask for the same sizes; a second trial has other seconds
def trial(solver: str | BlockSolver, facts: Facts, size: int) -> SolverRecord:
    """`try_solver` of a solver or of the name of one, once."""
    stage(f"made-up blocks of {size} records")
    return try_solver(block_solver(solver, facts), facts, size)


@dataclass(frozen=True)
class Agreement:
    """Expected agreement of answers at one radius (in sigmas).

    Attributes:
        radius: r, for each centre.
        spread: bound on the sum of squares, in r^2.
        share, deviation: mean of h / n, and its standard deviation for one set of tuples times sqrt(n).
    """

    radius: float
    spread: float
    share: float
    deviation: float


@lru_cache(maxsize=4096)
def agreements(
    facts: Facts,
    size: int,
    record: SolverRecord,
    radius: float | None,
    blocks: int = SIMULATED,
    repetitions: int = REPETITIONS,
) -> tuple[Agreement, ...]:
    """h-scores of simulated answers at radii that 95 to 99.9 % of pairs keep, or at the given one."""
    k = facts.clusters
    from scipy.spatial.distance import cdist

    mixture = facts.mixture()
    sets = []
    for seed in range(repetitions):
        answers, full = simulated_answers(mixture, size, blocks, seed, record.efficiency)
        # failed blocks are spread evenly, with a remainder that differs between the repetitions
        failures = math.floor(record.failed * blocks + (seed + 0.5) / repetitions)
        sound = full.copy()
        sound[: min(failures, blocks)] = False
        flat = [answers[:, i, :] for i in range(k)]
        squares = np.stack([cdist(table, table, "sqeuclidean") for table in flat], axis=0)
        gaps = np.min(
            [np.linalg.norm(flat[i] - flat[j], axis=1) for i in range(k) for j in range(i)]
            or [np.full(blocks, np.inf)],
            axis=0,
        )
        sets.append((np.sqrt(squares.max(axis=0)), np.sqrt(squares.sum(axis=0)), gaps, sound))
    upper = np.triu_indices(blocks, 1)
    largest = np.concatenate([one[0][upper] for one in sets])
    joint = np.concatenate([one[1][upper] for one in sets])
    result = []
    for single, both in zip(np.quantile(largest, QUANTILES), np.quantile(joint, QUANTILES), strict=True):
        r = float(single) if radius is None else radius
        s = min(float(k), max(1.0, (float(both) / r) ** 2))
        scores = []
        for big, total, gaps, sound in sets:
            valid = sound & (gaps > SEPARATION * r)
            matches = (big <= r) & (total**2 <= s * r * r) & valid[:, None] & valid[None, :]
            scores.append(h_score(matches) / blocks)
        result.append(Agreement(r, s, float(np.mean(scores)), float(np.std(scores)) * math.sqrt(blocks)))
    return tuple(result)
