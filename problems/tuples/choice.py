"""Which private clusterer to use, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from problems.gmm.estimators.mixture import PrivateGaussianMixture
from sosdp.model.gathering import gathering

from .estimators.clusters import PrivateGaussianMixtureFit, PrivateKMeans


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
    tried: list[tuple[Any, str]] = [
        (PrivateKMeans(k, **budget, **facts), "it needs neither sigma nor separation")
    ]
    if known.sigma is not None and known.separation is not None:
        mixture = PrivateGaussianMixture(k, **budget, **facts, elongation=known.elongation)
        tried.append((mixture, "sigma and separation are known"))
    if covariances:
        tried = [(PrivateGaussianMixtureFit(k, **budget, **facts), "it is the one that gives covariances")]
    plans = [(made, made.plan(n, d), why) for made, why in tried]
    best, plan, why = min(plans, key=lambda one: (not one[1].feasible, one[1].error))
    others = tuple((type(made).__name__, own.feasible, own.error) for made, own, _ in plans)
    return Recommendation(best, plan.feasible, plan.error, f"{type(best).__name__}: {why}", others)
