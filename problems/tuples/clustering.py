"""Private k-means and mixtures: any clusterer on disjoint blocks, private averages of what it finds, and
steps on all records.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from problems.gmm.blocks import kmeans_blocks, mixture_blocks
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.composition import parallel
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.basic.clipped_moments import noisy_moments, refine
from sosdp.privacy.mechanisms.basic.histogram import as_shares
from sosdp.privacy.mechanisms.propose_test_release.block_vote import run_blocks, split_blocks
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import (
    TupleAverages,
    averages_guarantee,
    draw_averages,
)
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.terms import Terms

from .planning import LAST, TuplePlan

Array = npt.NDArray[np.float64]
Clusterer = Callable[[Array], Any]

CLUSTERERS = ("kmeans", "mixture")


def clusterer_of(name: str | Clusterer, clusters: int) -> Clusterer:
    """A function from (s, d) records to k points: the given one, or scikit-learn's with a fixed seed.

    Raises:
        ValueError: an unknown name.
    """
    if callable(name):
        return name
    if name not in CLUSTERERS:
        raise ValueError(f"clusterer must be a function or one of {', '.join(CLUSTERERS)}, got {name!r}")
    return kmeans_blocks(clusters) if name == "kmeans" else mixture_blocks(clusters)


@dataclass(frozen=True)
class _Drawn:
    """Averages; centres and noisy counts after two Lloyd steps; the clipping radius of records."""

    averages: TupleAverages
    clip: float
    centres: Array | None
    counts: Array


def _find(records: Array, plan: TuplePlan, clusterer: Clusterer, bits: RandomBits) -> _Drawn:
    """Tuples of disjoint blocks after a permutation that ignores the data, their averages, and two Lloyd
    steps: the first with room for the noise of the averages."""
    tuples = run_blocks(clusterer, records, split_blocks(len(records), plan.tuples, bits))
    drawn = draw_averages(tuples, plan.clusters, plan.dimension, plan.grid, plan.budget, bits)
    # the radius is released and the variance follows from it: what records are clipped at may depend on both
    clip = plan.clip_factor * drawn.radius
    noisy_clip = clip + math.sqrt(drawn.variance) * (math.sqrt(plan.dimension) + 2.0)
    centres, counts = drawn.centres, np.zeros(plan.clusters)
    if centres is not None:
        for reach, share in ((noisy_clip, 1.0 - LAST), (clip, LAST)):
            better = refine(records, centres, reach, share * plan.budget.rho_then * (1.0 - 1e-12), bits)
            centres, counts = better.centres, better.counts
    return _Drawn(drawn, clip, centres, counts)


def kmeans_guarantee(plan: TuplePlan, clusterer: Clusterer) -> Guarantee:
    """What one run promises: a function of public numbers, and of whose the clusterer is."""
    return averages_guarantee(plan.budget, clusterer, mechanism="tuples.kmeans")


def release_kmeans(
    records: Array, plan: TuplePlan, clusterer: Clusterer, *, insecure_seed: int | None = None
) -> Release:
    """k centres and weights of all records, or nothing.

    Args:
        records: (n, d) from `as_records`, of the plan's shape.
        plan: from `tuple_plan`.
        clusterer: from the (s, d) records of a block to k points; may raise, print or be wrong. That it uses
            no other block and no clock is a condition of the release where it is not the library's.

    Returns:
        Release of {"centers", "weights", "radius", "released"}.

    Raises:
        ValueError: a table of another shape than the plan's; never because of the entries.
    """
    _check_shape(records, plan)
    guarantee = kmeans_guarantee(plan, clusterer)
    terms = Terms(insecure_seed=insecure_seed)
    bits = terms.bits()
    result = _find(records, plan, clusterer, bits)
    centres = result.centres
    weights = None if centres is None else as_shares(result.counts)
    value = {
        "centers": None if centres is None else centres.tolist(),
        "weights": None if weights is None else weights.tolist(),
        "radius": result.averages.radius,
        "released": centres is not None,
    }
    private = {"disagreements": result.averages.disagreements}
    return terms.seal(value, guarantee, bits, public=_public(plan, centres), private=private)


def mixture_guarantee(plan: TuplePlan, rho_then: float, clusterer: Clusterer) -> Guarantee:
    """Tuples from the first half of the records, moments from the second: a record is in one of them."""
    first = averages_guarantee(plan.budget, clusterer, mechanism="tuples.mixture centres")
    terms = Terms(
        epsilon=plan.epsilon,
        delta=plan.delta,
        adjacency=ONE_RECORD_REPLACED,
        mechanism="tuples.mixture moments",
    )
    second = terms.guarantee(composition=(Guarantee(rho=rho_then, mechanism="clipped moments"),))
    return parallel([first, second], pieces="position", mechanism="tuples.mixture")


def release_mixture_fit(
    records: Array,
    plan: TuplePlan,
    clusterer: Clusterer,
    *,
    rho_then: float,
    insecure_seed: int | None = None,
) -> Release:
    """Weights, means and covariances of a mixture of well separated Gaussians, or nothing.

    Args:
        records: (n, d) from `as_records`; a random half gives the tuples, the other the moments.
        plan: from `tuple_plan` for floor(n / 2) records.
        clusterer: from a block to k points; the tuple is the means of the block's records nearest to each.
        rho_then: zCDP of the moments, implied by the whole (epsilon, delta).

    Returns:
        Release of {"centers", "weights", "covariances", "radius", "released"}.

    Raises:
        ValueError: another number of records than the plan's; never because of the entries.
    """
    _check_shape(records[: len(records) // 2], plan)
    guarantee = mixture_guarantee(plan, rho_then, clusterer)
    terms = Terms(insecure_seed=insecure_seed)
    bits = terms.bits()
    order = [i for part in split_blocks(len(records), 1, bits) for i in part]
    half = plan.n
    first, second = records[np.array(order[:half])], records[np.array(order[half:])]
    result = _find(first, plan, _means_of(clusterer, plan.clusters), bits)
    value: dict[str, Any] = {"centers": None, "weights": None, "covariances": None}
    centres = result.centres
    if centres is not None:
        moments = noisy_moments(second, centres, result.clip, rho_then, bits)
        value = {
            "centers": moments.means.tolist(),
            "weights": as_shares(moments.counts).tolist(),
            "covariances": moments.covariances.tolist(),
        }
    value |= {"radius": result.averages.radius, "released": centres is not None}
    private = {"disagreements": result.averages.disagreements}
    return terms.seal(value, guarantee, bits, public=_public(plan, centres), private=private)


def _means_of(clusterer: Clusterer, clusters: int) -> Clusterer:
    """The empirical means of a block's records, each labelled by the nearest point the clusterer found."""

    def solve(points: Array) -> Any:
        centres = np.asarray(clusterer(points), dtype=np.float64)
        if centres.shape != (clusters, points.shape[1]):
            return None
        nearest = np.argmin(np.linalg.norm(points[:, None, :] - centres[None, :, :], axis=2), axis=1)
        # an empty cluster gives NaN: the tuple then counts for nothing
        return [points[nearest == label].mean(axis=0) for label in range(clusters)]

    return solve


def _check_shape(records: Array, plan: TuplePlan) -> None:
    if records.shape != (plan.n, plan.dimension):
        raise ValueError(f"the plan is for a table of shape {(plan.n, plan.dimension)}, got {records.shape}")


def _public(plan: TuplePlan, centres: Array | None) -> dict[str, Any]:
    advice = {} if centres is not None else {"advice": after_refusal(plan)}
    return {
        "n": plan.n,
        "dimension": plan.dimension,
        "clusters": plan.clusters,
        "tuples": plan.tuples,
        "block_size": plan.block_size,
        **advice,
    }


def after_refusal(plan: TuplePlan) -> str:
    """What a refusal that was paid for says, from public facts alone."""
    needed = math.ceil(plan.separation)
    return (
        f"tuples of {plan.clusters} centres did not agree. Expected to agree are {plan.clusters} clusters, "
        f"none lighter than {plan.least_weight:.3g}, about {needed} standard deviations apart or more; with "
        "fresh budget try another number of clusters, more records, or another clusterer"
    )
