"""Parameters of private k-means and mixtures through tuples, from public facts, and what they will need.

Privacy rests on nothing here: a bad plan leads to refusals or to large errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.stats import chi

import sosdp.privacy.calibrate as calibrate
from problems.gmm.model import expected_largest, least_favourable, light_share
from sosdp.model.gathering import gathering
from sosdp.privacy.arguments import integer
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import MOST_TUPLES, mean_sensitivity
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import (
    ALL_RADII,
    MARGIN,
    RadiusGrid,
    TupleBudget,
    check_grid,
    radius_losses,
    tuple_budget,
)
from sosdp.privacy.mechanisms.propose_test_release.tuple_geometry import SEPARATION
from sosdp.show import short_repr

THEN = 0.5
"""Share of the zCDP (after the test) for the step on all records."""

LAST = 0.6
"""Part of it for the second of two steps."""

_MULTIPLES = (10.0, 8.0, 6.0, 5.0, 4.0, 3.5)


@dataclass(frozen=True)
class TuplePlan:
    """Public parameters of one run.

    Attributes:
        n, dimension, clusters, epsilon, delta, least_weight: the facts it was made from.
        tuples, block_size: number of blocks and records in one.
        grid: radii to choose from.
        budget: of radius, test, mean and what follows.
        clip_factor: records are clipped at this many radii of the tuples from their centre.
        separation: about the least distance of two clusters, in within-cluster standard deviations, at which
            tuples are released.
        radius: expected radius of the tuples in these units.
        error: expected largest distance of a centre in these units, of clusters as light as promised.
        feasible: whether there are enough records for the tuples.
        advice: what to change if not, from public facts.
    """

    n: int
    dimension: int
    clusters: int
    epsilon: float
    delta: float
    least_weight: float
    tuples: int
    block_size: int
    grid: RadiusGrid
    budget: TupleBudget
    clip_factor: float
    separation: float
    radius: float
    error: float
    feasible: bool
    advice: str = ""

    __repr__ = short_repr

    def expected_error(self, variance: float) -> float:
        """Expected largest distance of a centre, in within-cluster standard deviations, where the sums of the
        n records have noise of this variance, in units of the clipping radius."""
        clip, weights = self.clip_factor * self.radius, least_favourable(self.clusters, self.least_weight)
        few, many = (
            math.hypot(math.sqrt(variance) * clip / (self.n * w), (self.n * w) ** -0.5) for w in weights
        )
        return expected_largest(few, many, self.dimension, self.clusters)


@dataclass(frozen=True)
class Known:
    """What is known publicly of the clusters, and what is fixed by hand: see `tuple_plan`."""

    least_weight: float | None = None
    sigma: float | None = None
    separation: float | None = None
    tuples: int | None = None
    grid: RadiusGrid = ALL_RADII
    plateau: int = 3
    failure: float = 0.01
    then: float = THEN

    @property
    def radii(self) -> RadiusGrid:
        """The public grid, narrowed by sigma."""
        check_grid(self.grid)
        if self.sigma is None:
            return self.grid
        return RadiusGrid(calibrate.check_positive(self.sigma, "sigma") * 2.0**-8, 25)


@gathering(Known, "known")
def tuple_plan(n: int, d: int, k: int, epsilon: float, delta: float, *, known: Known) -> TuplePlan:
    """Choose the number of tuples; the more, the less noise on their mean, and the more scatter in each.

    Args:
        n, d, k: records (that go into tuples), coordinates, clusters; public.
        epsilon, delta: budget of the tuples and of what follows.
        known: the fields of `Known`, as keywords:
        least_weight: public promise: no cluster is lighter; 1 / (2 k) by default.
        sigma: within-cluster standard deviation, if public: narrows the radii to 2^-8 to 2^5 sigma.
        separation: least distance of two clusters in within-cluster standard deviations, if public: a plan
            that needs more is not feasible.
        tuples: fixed instead of chosen.
        grid: public radii, if sigma is not given.
        plateau, failure: see `tuple_budget`.
        then: share of the zCDP for the step on all records.

    Raises:
        ValueError: numbers out of range.
    """
    n, d, k = integer(n, "n"), integer(d, "d"), integer(k, "k (n_clusters, n_components)")
    budget = tuple_budget(epsilon, delta, plateau=known.plateau, failure=known.failure, then=known.then)
    light, separation = light_share(k, known.least_weight), known.separation
    reach = budget.rule.reach
    fewest = 3 * reach + 3
    smallest = math.ceil(4.0 / light)
    if separation is not None:
        separation = calibrate.check_positive(separation, "separation")
    if known.tuples is None:
        wanted = [math.ceil(factor * reach) for factor in _MULTIPLES] + [fewest]
        roomy = [t for t in wanted if n // t >= 2 * smallest + d and t >= fewest]
        fitting = [
            t for t in roomy if separation is None or _needed(d, k, light, n // t, t, budget) <= separation
        ]
        count = max(fitting or roomy[-1:] or [fewest])
    else:
        count = integer(known.tuples, "tuples", fewest)
    count = min(count, MOST_TUPLES)
    size = n // count
    feasible = size >= smallest
    size = max(size, 1)
    needed = _needed(d, k, light, size, count, budget)
    radius = expected_radius(d, k, count, budget, known.radii.count) / math.sqrt(light * size)
    advice = ""
    if not feasible:
        advice = f"about {fewest * smallest} records are needed for {fewest} tuples of {k} clusters"
    elif separation is not None and k > 1 and separation < needed:
        feasible = False
        advice = (
            f"about {needed:.3g} standard deviations between clusters are needed, or "
            f"{math.ceil(n * (needed / separation) ** 2)} records; PrivateGaussianMixture needs less where "
            "sigma and separation are known"
        )
    made = TuplePlan(
        n=n,
        dimension=d,
        clusters=k,
        epsilon=float(epsilon),
        delta=float(delta),
        least_weight=light,
        tuples=count,
        block_size=size,
        grid=known.radii,
        budget=budget,
        clip_factor=0.75 * math.sqrt(light * size),
        separation=needed,
        radius=radius,
        error=0.0,
        feasible=feasible,
        advice=advice,
    )
    return replace(made, error=made.expected_error(2.0 / (LAST * budget.rho_then)))


def _needed(d: int, k: int, light: float, size: int, count: int, budget: TupleBudget) -> float:
    """Separation at which tuples fit, in within-cluster standard deviations.

    Two blocks' means of a light cluster differ by a Gaussian vector of variance 2 / (light size) a
    coordinate; the radius is at most 2^(3/2) times the one that most pairs keep.
    """
    scatter = math.sqrt(2.0 / max(light * size, 1.0)) * float(chi.ppf(0.98, d))
    used = 2.0**1.5 * scatter
    rough = (
        float(mean_sensitivity(count, budget.rule.reach))
        * math.sqrt(k)
        * used
        / math.sqrt(2.0 * budget.rho_mean)
        * (math.sqrt(d) + 2.0)
    )
    return max(SEPARATION * used + 2.0 * scatter, 4.0 * rough)


def expected_radius(d: int, k: int, count: int, budget: TupleBudget, radii: int) -> float:
    """Expected radius of tuples whose points are standard normal vectors about their centres.

    The choice is where h-scores cross half of their threshold (scores of 0 lose all of it), about where so
    many pairs have some point farther apart; radii of the grid are a factor sqrt(2) from each other.
    """
    share = 0.5 * max(radius_losses([0] * radii, count, budget)) / count
    pairs = math.sqrt(2.0) * float(chi.ppf((1.0 - share) ** (1.0 / k), d))
    return pairs * 2.0 ** (MARGIN / 2.0) * (math.sqrt(2.0) - 1.0) / math.log(math.sqrt(2.0))
