"""All parities of few coordinates at once: multiplicative weights, or points from an optimisation oracle.

Both choose badly answered parities by the exponential mechanism on integer errors; the first measures them.

Proof: docs/proofs/mrf_parities.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy import randomness as noise
from sosdp.privacy.arguments import finite, integer
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import root_down
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.randomness.choice import softmax_rows
from sosdp.privacy.rows import counted_width, numbers
from sosdp.privacy.terms import Terms, on_terms
from sosdp.structured.parities import gibbs, mask, walsh_hadamard
from sosdp.structured.parity_oracle import best_point

Signs = npt.NDArray[np.int8]
Oracle = Callable[[int, Mapping[int, float]], int]

STEEPEST = 8.0
"""Bound on the coefficients of a fitted distribution."""

SENSITIVITY = 2
"""A replaced record moves the sum of a parity over the records by at most this."""


@dataclass(frozen=True, eq=False)
class SyntheticSigns:
    """A distribution on {-1, 1}^p and what it was made of.

    Attributes:
        states: (m, p) distinct states. probabilities: (m,).
        measured: pairs (mask of a parity, noisy sum over the records), in the order of the rounds.
    """

    states: Signs
    probabilities: npt.NDArray[np.float64]
    measured: tuple[tuple[int, int], ...]

    def parity(self, monomial: tuple[int, ...]) -> float:
        """The expectation of z^I."""
        return float(self.states[:, list(monomial)].prod(axis=1) @ self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        """Lists of numbers, ready for json."""
        return {
            "states": self.states.tolist(),
            "probabilities": self.probabilities.tolist(),
            "measured": [list(pair) for pair in self.measured],
        }


@on_terms("parity-weights", needs="", takes="epsilon delta rho", adjacency=ONE_RECORD_REPLACED)
def parity_weights(
    terms: Terms,
    table: Any,
    order: int,
    *,
    rounds: int,
    rate: float = 1.0,
    refit: bool = True,
) -> Release:
    """A distribution close to the records on all parities of 1 to `order` coordinates, p <= 20.

    Each round chooses a parity that the distribution answers badly, measures its sum with discrete Gaussian
    noise, and multiplies the weights towards the measurement.

    Args:
        terms: rho; or epsilon, delta > 0, converted.
        table: (n, p) signs; n and p are public. What is no number below 0 counts as +1. Of lists, p is the
            length of more than half of them, on which the release is then conditional.
        order, rounds: public. rate: public step of the multiplicative update.
        refit: the distribution of largest entropy with the measured parities, which is free, instead of the
            average over the rounds.

    Returns:
        Release of `SyntheticSigns` on all states.

    Raises:
        ValueError: public arguments out of range; never because of the records.

    Source: Hardt, Ligett and McSherry 2012. Cost: rounds * p 2^p.
    """
    order, rounds = integer(order, "order"), integer(rounds, "rounds")
    step = float(finite(rate, "rate"))
    negative = _negative(table, order)
    n, p = negative.shape
    if p > 20:
        raise ValueError(f"all 2^p states are listed: p <= 20, got {p}; see `parity_points`")
    budget, bits = terms.concentrated, terms.bits()
    share = Fraction(budget) / (2 * rounds)
    choice = root_down(8 * share) / (2 * SENSITIVITY)
    variance = Fraction(SENSITIVITY**2) / (2 * share)
    masks = _masks(p, order)
    sums = _sums(negative, masks)
    log_weights, total = np.zeros(1 << p), np.zeros(1 << p)
    measured = []
    for _ in range(rounds):
        weights = gibbs(log_weights)
        total += weights
        guesses = np.rint(n * walsh_hadamard(weights)[masks]).astype(np.int64)
        chosen = int(softmax_rows(-np.abs(sums - guesses)[None], choice, source=bits)[0])
        noisy = int(sums[chosen]) + exact.discrete_gaussian(variance, bits)
        measured.append((int(masks[chosen]), noisy))
        spectrum = np.zeros(1 << p)
        bounded = min(max(noisy, -n), n)
        spectrum[masks[chosen]] = step * (bounded - int(guesses[chosen])) / (2.0 * n)
        log_weights += walsh_hadamard(spectrum)
    final = _refitted(p, n, measured) if refit else total / rounds
    value = SyntheticSigns(_states(np.arange(1 << p), p), final, tuple(measured))
    public = {"n": n, "dimension": p, "order": order, "rounds": rounds}
    promise = terms.assuming(*counted_width(table, p)).guarantee(
        epsilon=terms.epsilon, delta=terms.delta, rho=budget
    )
    return terms.seal(value, promise, bits, public=public)


@on_terms("parity-points", needs="", takes="epsilon delta rho", adjacency=ONE_RECORD_REPLACED)
def parity_points(
    terms: Terms,
    table: Any,
    order: int,
    *,
    rounds: int,
    points: int,
    perturbation: float,
    oracle: Oracle = best_point,
) -> Release:
    """Synthetic points for any p with an optimisation oracle: follow the perturbed leader on parities.

    A round draws `points` states, each the best for the parities chosen so far with Laplace noise on the
    coordinates, and chooses, by the exponential mechanism, a signed parity that they answer badly. Only
    these choices look at the records: the accuracy of the oracle does not matter for privacy.

    Args:
        terms, table, order, rounds: as for `parity_weights`.
        points: public, per round. perturbation: public scale of the Laplace noise.
        oracle: (p, weights by mask) -> code of a state.

    Returns:
        Release of `SyntheticSigns`: all points, equally likely.

    Source: Vietri, Tian, Bun, Steinke and Wu 2020 (sepFEM); Zhang et al. 2020, section 4.2.
    """
    order, rounds = integer(order, "order"), integer(rounds, "rounds")
    negative = _negative(table, order)
    n, p = negative.shape
    points = integer(points, "points")
    scale = calibrate.check_positive(perturbation, "perturbation")
    budget, bits = terms.concentrated, terms.bits()
    # scores are points * sum - n * (sum over the points): a replaced record moves them by 2 points
    choice = root_down(8 * Fraction(budget) / rounds) / (2 * SENSITIVITY * points)
    masks = _masks(p, order)
    sums = _sums(negative, masks)
    leader: dict[int, float] = {}
    codes: list[int] = []
    for _ in range(rounds):
        drawn = [oracle(p, _perturbed(leader, p, scale, bits)) for _ in range(points)]
        codes += drawn
        errors = points * sums - n * _sums(_states(np.array(drawn), p) < 0, masks)
        chosen = int(softmax_rows(-np.concatenate([errors, -errors])[None], choice, source=bits)[0])
        place, sign = int(masks[chosen % len(masks)]), 1.0 if chosen < len(masks) else -1.0
        leader[place] = leader.get(place, 0.0) + sign
    distinct, counts = np.unique(np.array(codes, dtype=np.int64), return_counts=True)
    value = SyntheticSigns(_states(distinct, p), counts / len(codes), ())
    public = {"n": n, "dimension": p, "order": order, "rounds": rounds, "points": points}
    promise = terms.assuming(*counted_width(table, p)).guarantee(
        epsilon=terms.epsilon, delta=terms.delta, rho=budget
    )
    return terms.seal(value, promise, bits, public=public)


def _refitted(p: int, n: int, measured: list[tuple[int, int]]) -> npt.NDArray[np.float64]:
    from sosdp.structured.maximum_entropy import maximum_entropy

    places = sorted({place for place, _ in measured})
    means = [float(np.mean([noisy for at, noisy in measured if at == place])) / n for place in places]
    return maximum_entropy(p, places, np.clip(means, -1.0, 1.0), bound=STEEPEST).probabilities


def _perturbed(leader: Mapping[int, float], p: int, scale: float, bits: RandomBits) -> dict[int, float]:
    grid = 2.0**-20 * scale
    drawn = noise.laplace(p, scale, grid, source=bits) * grid
    weights = dict(leader)
    for i in range(p):
        weights[1 << i] = weights.get(1 << i, 0.0) + float(drawn[i])
    return weights


def _negative(table: Any, order: int) -> npt.NDArray[np.bool_]:
    """(n, p): which entries are numbers below 0; ValueError for public facts."""
    signs = numbers(table)
    if signs.ndim != 2 or 0 in signs.shape or signs.shape[1] > 62:
        raise ValueError(f"table must be (n, p) with 1 <= p <= 62, got shape {signs.shape}")
    if order > signs.shape[1]:
        raise ValueError(f"order must be at most p = {signs.shape[1]}, got {order}")
    return signs < 0


def _masks(p: int, order: int) -> npt.NDArray[np.int64]:
    sets = [s for size in range(1, order + 1) for s in combinations(range(p), size)]
    return np.array([mask(s) for s in sets], dtype=np.int64)


def _states(codes: npt.NDArray[np.int64], p: int) -> Signs:
    return (1 - 2 * (codes[:, None] >> np.arange(p) & 1)).astype(np.int8)


def _sums(negative: npt.NDArray[np.bool_], masks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sums of the parities over the rows, exact integers."""
    out = np.empty(len(masks), dtype=np.int64)
    for k, place in enumerate(masks.tolist()):
        members = [i for i in range(negative.shape[1]) if place >> i & 1]
        odd = np.logical_xor.reduce(negative[:, members], axis=1)
        out[k] = len(odd) - 2 * int(odd.sum())
    return out
