"""Private Frank-Wolfe: logistic regressions over an l1 ball whose every vertex is chosen privately.

Each step chooses a vertex of the ball by its noisy score, the gradient in its direction. Scores are exact
integers (`sosdp.structured.l1_logistic`): a replaced record moves each of them by at most 2 Q unit, Q the
largest residual. Groups of features: the group with a large gradient, then its direction with Gaussian noise;
both move by as much, and each gets half.

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy import randomness as noise
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import root_down
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.randomness.choice import softmax_rows
from sosdp.privacy.terms import Terms, on_terms
from sosdp.structured.directions import unit_rows
from sosdp.structured.l1_logistic import (
    LENGTH,
    Integers,
    Regressions,
    Select,
    Vertices,
    corners,
    frank_wolfe,
    largest_residual,
)


@dataclass(frozen=True)
class Selection:
    """How the vertices of one run are chosen; public.

    Attributes:
        law: "gumbel" (exponential mechanism), "laplace" (smallest score with discrete Laplace noise),
            "permute-and-flip", or "groups" (exponential mechanism, then Gaussian noise).
        sensitivity: integer bound on the change of a score when a record is replaced.
        each: epsilon of one selection, for a record that takes part before and after.
        selections: number of them in each regression, T - 1.
        overlap: regressions that a replaced record counts for, see `overlap`.
        rho: total zCDP; None with pure epsilon. group: features that are chosen together.
    """

    law: str
    sensitivity: int
    each: Fraction
    selections: int
    overlap: int
    rho: float | None
    group: int = 1

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on each entry of a chosen group: it costs as much as the choice."""
        return calibrate.root_up(Fraction(2 * self.sensitivity) ** 2 / self.each**2)

    @property
    def scale(self) -> Fraction:
        """b, the scale of the Gumbel or Laplace noise in integer units of the scores."""
        return 2 * self.sensitivity / self.each

    def select(self, bits: RandomBits) -> Select:
        """The private choice of one vertex for every regression."""
        if self.law == "groups":
            return lambda gradient: _noisy_direction(gradient, self, bits)
        if self.law == "laplace":
            return corners(lambda scores: _noisy_lowest(scores, self.scale, bits))
        if self.law == "gumbel":
            return corners(lambda scores: softmax_rows(scores, 1 / self.scale, source=bits))
        return corners(
            lambda scores: [noise.permute_and_flip(-row, 1 / self.scale, source=bits) for row in scores]
        )


def overlap(tables: Sequence[npt.NDArray[np.int8]]) -> int:
    """How many regressions' budgets one replaced record can spend: as many as a record takes part in at most.

    A regression that the record leaves or enters sees half the sensitivity, so that leaving some and entering
    others costs at most the mean of before and after. Source: proof page, Lemma 5.
    """
    return sum(int((table != 0).sum(axis=1).max()) for table in tables)


def plan_selection(
    data: Regressions,
    *,
    radius: float,
    iterations: int,
    rho: float | None = None,
    epsilon: float | None = None,
    calibration: str = "tight",
) -> Selection:
    """Noise of a run from public numbers: give rho (zCDP) or epsilon (pure).

    Raises:
        ValueError: numbers out of range, both budgets or neither, an unknown calibration.
    """
    if calibration not in ("tight", "paper"):
        raise ValueError(f'calibration must be "tight" or "paper", got {calibration!r}')
    if (rho is None) == (epsilon is None):
        raise ValueError("give either rho or epsilon")
    selections = integer(iterations, "iterations", 2) - 1
    radius = calibrate.check_positive(radius, "radius")
    moved = 2 * largest_residual(radius) * data.unit
    shared = overlap(data.tables)
    if data.group > 1 and (rho is None or calibration != "tight"):
        raise ValueError('groups of features need rho, or delta > 0, and calibration="tight"')
    if rho is None:
        each = Fraction(calibrate.check_epsilon(epsilon)) / (shared * selections)
        law = "permute-and-flip" if calibration == "tight" else "laplace"
    else:
        share = Fraction(calibrate.check_positive(rho, "rho")) / (shared * selections)
        # one selection costs each^2 / 8 with Gumbel noise (the range of its loss is `each`), each^2 / 2 with
        # Laplace noise (pure epsilon)
        law = "gumbel" if calibration == "tight" else "laplace"
        each = root_down((8 if calibration == "tight" else 2) * share)
    if data.group > 1:  # half of rho for the choice, half for the direction
        law, each = "groups", root_down(4 * share)
    return Selection(law, moved, each, selections, shared, rho, data.group)


@on_terms("frank-wolfe", needs="", takes="epsilon delta rho calibration", adjacency=ONE_RECORD_REPLACED)
def private_frank_wolfe(terms: Terms, data: Regressions, *, radius: float, iterations: int) -> Release:
    """Weights of all regressions together, under one budget; one record is replaced, n is public.

    Args:
        terms: rho, or epsilon, converted to zCDP when delta > 0, pure otherwise; calibration "tight": Gumbel
            noise (permute-and-flip for a pure budget); "paper": Laplace noise with the repaired constant.
        data: the records; its tables, columns, unit and number of records are public.
        radius: public radius of the l1 ball.
        iterations: public T; T - 1 vertices are chosen in each regression.

    Returns:
        Release of the (q, d) weights.

    Raises:
        ValueError: public arguments out of range; never because of the records.

    Source: Zhang, Kamath, Kulkarni and Wu 2020, Algorithm 1; Talwar, Thakurta and Zhang 2015.
    """
    pure = terms.rho is None and not terms.delta
    budget = None if pure else terms.concentrated
    plan = plan_selection(
        data,
        radius=radius,
        iterations=iterations,
        rho=budget,
        epsilon=terms.epsilon if pure else None,
        calibration=terms.calibration,
    )
    bits = terms.bits()
    weights = frank_wolfe(data, radius=float(radius), iterations=int(iterations), select=plan.select(bits))
    return terms.seal(
        weights,
        terms.guarantee(epsilon=terms.epsilon, delta=terms.delta, rho=budget),
        bits,
        public={
            "n": data.records,
            "regressions": data.size,
            "iterations": int(iterations),
            "radius": float(radius),
            "law": plan.law,
        },
    )


def _noisy_direction(gradient: Integers, plan: Selection, bits: RandomBits) -> Vertices:
    """Of every regression a group with a long gradient, and the opposite of that gradient with noise."""
    blocks = gradient.reshape(len(gradient), -1, plan.group)
    lengths = np.frompyfunc(math.isqrt, 1, 1)((blocks.astype(object) ** 2).sum(axis=2)).astype(np.int64)
    chosen = softmax_rows(-lengths, 1 / plan.scale, source=bits)
    picked = blocks[np.arange(len(blocks)), chosen]
    drawn = noise.gaussian(picked.shape, plan.sigma, 1, law="rounded", source=bits)
    entries = unit_rows(-noise.add(picked, drawn).astype(np.float64), LENGTH)
    return chosen[:, None] * plan.group + np.arange(plan.group), entries


def _noisy_lowest(scores: Integers, scale: Fraction, bits: RandomBits) -> npt.NDArray[np.intp]:
    return noise.add(scores, noise.laplace(scores.shape, scale, 1, source=bits)).argmin(axis=1)
