"""Choices from public numbers: iterations, blocks, and which estimator to take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sosdp.privacy.calibrate import gaussian_sigma_tight, zcdp_rho
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile

from .structure import TREE_STEP
from .theory import balanced_iterations

MOST = 2000


def extreme(p: int) -> float:
    """The largest of p (p - 1) / 2 standard normal errors, about."""
    return math.sqrt(2.0 * math.log(max(p * (p - 1), 3)))


def tree_margin(n: int, p: int, smallest: float) -> float:
    """Expected margin of a Chow-Liu tree whose smallest weight is this."""
    mean = math.tanh(smallest)
    return n * mean * (1.0 - mean) - extreme(p) * math.sqrt(2.0 * n * (1.0 - mean))


def choose_iterations(n: int, radius: float, rho: float, candidates: int, part: int = 10) -> int:
    """T of `iterations="auto"`: a tenth (one in `part`) of the balanced number, between 20 and 2000.

    The balance is that of a worst case; measured, the optimisation error is a hundred times below its bound.
    """
    return min(max(balanced_iterations(radius, n, rho, candidates) // part, 200 // part), MOST)


@dataclass(frozen=True)
class Forecast:
    """What an estimator is expected to reach.

    Attributes:
        estimator: name of the class.
        error: expected largest error of a weight (0 for structure alone); infinite if it will not answer.
        edges: whether all edges should be right at half the smallest weight.
    """

    estimator: str
    error: float
    edges: bool


def recommend(
    n: int, p: int, *, width: float, smallest: float, epsilon: float, delta: float, tree: bool = False
) -> tuple[Forecast, ...]:
    """Estimators of an Ising model by expected error, the best first; from public facts alone.

    Args:
        n, p: records and nodes. width, smallest: bound on a node's interactions, least weight of an edge.
        tree: the graph is known to be a tree without field.

    Rules of thumb fitted to the tables of docs/mrf.md (within a factor of 1.5 there, 8 to 200 nodes), not
    bounds: the largest of p (p - 1) / 2 errors, each sampling plus the noise that the estimator adds. An
    error forecast above `smallest` means that nothing is learned.
    """
    rho = zcdp_rho(epsilon, delta)
    largest = extreme(p)
    gaussian = gaussian_sigma_tight(epsilon, delta)
    sampling = 1.0 / n
    moments = largest * math.sqrt(sampling + (gaussian * (p + 1) / n) ** 2)
    sigma = 1.0 / (1.0 + math.exp(-2.0 * width))
    # 60 steps of noise, averaged over half of them at a curvature near 1/4
    steps = 2.0 * p * sigma * gaussian * math.sqrt(60.0) / n
    gradient = largest * math.sqrt(sampling + (steps * 4.0 / math.sqrt(30.0) / 2.0 / math.sqrt(2.0)) ** 2)
    frank_wolfe = 1.33 * p**0.2 / math.sqrt(n * math.sqrt(rho / p))
    errors = {"MomentsIsing": moments, "GradientIsing": gradient, "FrankWolfeIsing": frank_wolfe}
    ordered = sorted(
        (Forecast(name, error, error < smallest / 2.0) for name, error in errors.items()),
        key=lambda forecast: forecast.error,
    )
    if not tree:
        return tuple(ordered)
    released = tree_margin(n, p, smallest) >= TREE_STEP * accept_profile(epsilon, delta).reach(0.95)
    return (Forecast("ChowLiuTree", 0.0 if released else math.inf, released), *ordered)
