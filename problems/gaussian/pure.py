"""Covariance of one or two columns of few records in pure privacy: scales first, then a draw of the packing
score.

Privacy: docs/proofs/gaussian_frame.md, 6 (shares and the frame), docs/proofs/gaussian_scores.md (the draw)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sosdp.conic.svec import smat, triangle
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_sampler import DyadicBoxes
from sosdp.laboratory.packing_score import PackingScore
from sosdp.privacy.calibrate import check_epsilon
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries
from sosdp.privacy.scores.score import Lattice
from sosdp.structured.packing_ellipsoid import MOST

from .columns import Columns
from .frame import Frame, frame_dict, release_frame
from .planning import MeanTask, NotOffered, Plan, draw_shares

PURE_COLUMNS = 2
# eigenvalues of the covariance in its frame, public: a truth outside makes the law a thin shell, which no
# partition into boxes covers soon; correlations up to .998 are inside
DOMAIN = (1.0 / 500.0, 30.0)
REACHED = 900.0  # condition of correlations of .9978
REACH = 2.0**10  # records in their frame are clipped here
FINEST = 30  # bits of the lattice: features are below 2^21, so that differences are exact floats


def plan_pure(task: MeanTask, epsilon: float) -> Plan:
    """Shares of a pure covariance of one or two columns.

    Raises TooFewRecords, or NotOffered for more records.
    """
    if task.n // 2 > MOST:
        raise NotOffered(f"a draw has at most {2 * MOST + 1} records, got {task.n}")
    epsilon = check_epsilon(epsilon)
    spent, each = draw_shares(task, Fraction(epsilon))
    size = task.d * (task.d + 1) // 2
    tau = min(0.3, 2.0 * size / (task.n / 2 * float(spent["draw"])))
    private = 2.0 * tau * math.log(1.0 / tau)
    sampling = math.sqrt(2 * task.d * (task.d + 1) / task.n)
    return Plan(
        "packing",
        each,
        spent,
        private,
        sampling,
        1.0 if task.d == 1 else 10.0,
        condition=REACHED,
    )


def pure_covariance(
    entries: np.ndarray, columns: Columns, task: MeanTask, plan: Plan, seed: int | None
) -> tuple[Frame, list[Release], np.ndarray]:
    """The frame, both releases, and the covariance in the frame."""
    queries = IntegerQueries(task.n, epsilon=float(plan.spent["frame"]), insecure_seed=seed)
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    first = queries.seal(frame_dict(frame), mechanism="gaussian.frame", public={})
    rows = pairs_of(np.clip(frame.into(entries), -REACH, REACH))
    n, d = rows.shape
    size = d * (d + 1) // 2
    lam = 2.0 * (1.0 + 1.5 * math.sqrt(size / n))  # covariance of svec(x x^T), x ~ N(0, I), with its sampling
    if task.contamination > 0:
        lam *= 1.0 + 3.0 * task.contamination * math.log(1.0 / task.contamination) ** 2
    fine = math.floor(math.log2(math.sqrt(lam) * DOMAIN[0] / (100.0 * n)))  # levels a point differ by < .01
    spacing = Fraction(2) ** max(fine, -FINEST)
    diagonal = (math.ceil(Fraction(DOMAIN[0]) / spacing), math.floor(Fraction(DOMAIN[1]) / spacing))
    reach = math.floor(Fraction(math.sqrt(2.0) * DOMAIN[1]) / spacing)
    i, j = triangle(d)
    box = tuple(diagonal if a == b else (-reach, reach) for a, b in zip(i.tolist(), j.tolist(), strict=True))
    problem = PackingProblem("covariance", d, lam, relative=True)
    second = pure_exponential(
        PackingScore(problem, Lattice(spacing, size, box), n, domain=DOMAIN),
        rows,
        epsilon=float(plan.spent["draw"]),
        sampler=DyadicBoxes(),
        mechanism="gaussian.covariance.draw",
        insecure_seed=None if seed is None else seed + 1,
    )
    return frame, [first, second], smat(np.asarray(second.value), d)


def pairs_of(rows: np.ndarray) -> np.ndarray:
    """(x_2i - x_(2i-1)) / sqrt 2 by position: mean 0, the same covariance; a record is in one pair."""
    half = rows.shape[0] // 2
    return (rows[1 : 2 * half : 2] - rows[0 : 2 * half : 2]) / math.sqrt(2.0)
