"""Which private clusterer to use, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from problems.gmm.estimators.mixture import PrivateGaussianMixture
from problems.gmm.planning import aggregate_plan
from sosdp.model.gathering import gathering

from .estimators.clusters import PrivateGaussianMixtureFit, PrivateKMeans
from .planning import tuple_plan


@dataclass(frozen=True)
class Recommendation:
    """A private clusterer that is expected to release, or the nearest to it.

    Attributes:
        estimator: not fitted yet.
        feasible: whether its plan expects a release.
        error: predicted largest error of a centre, in within-cluster standard deviations.
        reason: one sentence.
        others: (name, feasible, predicted error) of every clusterer that was considered.
    """

    estimator: Any
    feasible: bool
    error: float
    reason: str
    others: tuple[tuple[str, bool, float], ...]


@dataclass(frozen=True)
class Promises:
    """What is known publicly of the clusters; see `recommend`."""

    sigma: float | None = None
    separation: float | None = None
    least_weight: float | None = None
    elongation: float = 1.0


@gathering(Promises, "known")
def recommend(
    n: int, d: int, k: int, epsilon: float, delta: float, *, known: Promises, covariances: bool = False
) -> Recommendation:
    """The clusterer with the least predicted error among those that are expected to release.

    `PrivateGaussianMixture` needs sigma and separation and then the fewest records; `PrivateKMeans` needs
    neither; `PrivateGaussianMixtureFit` gives covariances and uses half of the records for each task.

    Args:
        n, d, k: records, coordinates, clusters; public.
        epsilon, delta: whole budget.
        known: the fields of `Promises`, as keywords:
        sigma, separation: within-cluster standard deviation and least distance of means in units of it.
        least_weight, elongation: promises, see `aggregate_plan`.
        covariances: whether covariances are wanted.

    Raises:
        ValueError: numbers out of range.
    """
    facts: dict[str, Any] = {name: getattr(known, name) for name in ("least_weight", "sigma", "separation")}
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    tried: list[tuple[Any, bool, float, str]] = []
    if covariances:
        plan = tuple_plan(max(n // 2, 1), d, k, epsilon, delta, **facts)
        made: Any = PrivateGaussianMixtureFit(k, **budget, **facts)
        tried.append((made, plan.feasible, plan.error, "it is the one that gives covariances"))
    else:
        plan = tuple_plan(n, d, k, epsilon, delta, **facts)
        made = PrivateKMeans(k, **budget, **facts)
        tried.append((made, plan.feasible, plan.error, "it needs neither sigma nor separation"))
        if known.sigma is not None and known.separation is not None:
            names = ("sigma", "least_weight", "elongation")
            promises: dict[str, Any] = {name: getattr(known, name) for name in names}
            aggregate = aggregate_plan(n, d, k, known.separation, epsilon, delta, **promises)
            made = PrivateGaussianMixture(k, separation=known.separation, **budget, **promises)
            tried.append((made, aggregate.feasible, aggregate.error, "sigma and separation are known"))
    best = min(tried, key=lambda one: (not one[1], one[2]))
    others = tuple((type(one[0]).__name__, one[1], one[2]) for one in tried)
    reason = f"{type(best[0]).__name__}: {best[3]}"
    return Recommendation(best[0], best[1], best[2], reason, others)
