"""Better centres from all records, given centres that are already public: one Lloyd step with noise.

Counts, clipped sums and, if wanted, second moments for each centre; integers from the record to the noise.
Sensitivity 2 in units of the clipping radius for sums and counts together, sqrt(6) with second moments.

Proof: docs/proofs/gmm_aggregate.md, Lemma 2
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

RESOLUTION = 1 << 20
"""Integer length of a vector that is as long as the clipping radius."""


@dataclass(frozen=True, eq=False)
class Refined:
    """(k, d) centres and (k,) noisy numbers of records (floats, may be negative), both released."""

    centres: Array
    counts: Array


def clipped_integers(records: Array, centres: Array, radius: float) -> tuple[Integers, Integers]:
    """Nearest centre of each record, and its offset from it as integers of Euclidean norm <= RESOLUTION.

    A function of each record and of public centres. Offsets longer than the radius are shortened to it; all
    are rounded towards zero. What rounding errors still leave too long becomes 0. O(n k d).
    """
    distances = np.stack([np.sum((records - centre) ** 2, axis=1) for centre in centres], axis=1)
    nearest = np.argmin(distances, axis=1)
    offsets = records - centres[nearest]
    norms = np.sqrt(np.sum(offsets**2, axis=1))
    factor = np.where(norms > radius, radius / np.maximum(norms, radius), 1.0)
    steps = offsets * factor[:, None] * (RESOLUTION / radius * (1.0 - 1e-12))
    steps[~np.isfinite(steps).all(axis=1)] = 0.0
    whole = np.trunc(np.clip(steps, -RESOLUTION, RESOLUTION)).astype(np.int64)
    whole[np.sum(whole**2, axis=1) > RESOLUTION**2] = 0
    return nearest.astype(np.int64), whole


def integer_totals(records: Array, centres: Array, radius: float) -> tuple[list[list[int]], list[int]]:
    """The statistic: k integer sums of offsets and k counts, exact."""
    nearest, whole = clipped_integers(records, centres, radius)
    sums, counts = [], []
    for label in range(len(centres)):
        mine = nearest == label
        sums.append([int(total) for total in whole[mine].sum(axis=0)])
        counts.append(int(mine.sum()))
    return sums, counts


def refine(records: Array, centres: Array, radius: float, rho: float, bits: RandomBits) -> Refined:
    """One round: rho-zCDP for one replaced record, for any fixed centres.

    Args:
        records: (n, d) from `as_records`.
        centres: (k, d) public.
        radius: public clipping radius.
        rho: budget.
        bits: randomness.

    Returns:
        Centres that moved by at most the radius. The variance is 2 / rho for counts and RESOLUTION^2 times
        that for sums.
    """
    share = Fraction(calibrate.check_positive(rho, "rho"))
    sums, counts = integer_totals(records, centres, radius)
    noisy_counts = [count + exact.discrete_gaussian(2 / share, bits) for count in counts]
    noisy_sums = [
        [total + exact.discrete_gaussian(2 * RESOLUTION**2 / share, bits) for total in row] for row in sums
    ]
    # from here on the noisy integers are processed: ordinary floats will do
    moves = np.array(noisy_sums, dtype=np.float64) * (radius / RESOLUTION)
    moves /= np.maximum(np.array(noisy_counts, dtype=np.float64), 1.0)[:, None]
    lengths = np.linalg.norm(moves, axis=1)
    moves *= np.minimum(1.0, radius / np.maximum(lengths, 1e-300))[:, None]
    return Refined(centres + moves, np.array(noisy_counts, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Moments:
    """(k, d) means, (k, d, d) covariances (positive semidefinite) and (k,) noisy counts, all released."""

    means: Array
    covariances: Array
    counts: Array


def integer_moments(
    records: Array, centres: Array, radius: float
) -> tuple[list[int], list[list[int]], list[list[list[int]]]]:
    """k counts, sums of offsets and upper triangles of sums of their products, exact integers."""
    nearest, whole = clipped_integers(records, centres, radius)
    d = records.shape[1]
    counts, sums, products = [], [], []
    for label in range(len(centres)):
        mine = whole[nearest == label].astype(object)  # products of 2^40 are added without a limit
        counts.append(len(mine))
        sums.append([int(total) for total in mine.sum(axis=0)] if len(mine) else [0] * d)
        square = mine.T @ mine if len(mine) else np.zeros((d, d), dtype=object)
        products.append([[int(square[i, j]) for j in range(i, d)] for i in range(d)])
    return counts, sums, products


def noisy_moments(records: Array, centres: Array, radius: float, rho: float, bits: RandomBits) -> Moments:
    """Counts, means and covariances of the records nearest to each centre: rho-zCDP for one replaced record.

    Args:
        records: (n, d) from `as_records`.
        centres: (k, d) public.
        radius: public clipping radius of offsets.
        rho: budget. Variances are 3 / rho for counts, RESOLUTION^2 times that for sums and RESOLUTION^4 for
            products: replaced within a cluster a record moves sums by 2 and products by sqrt(2) in
            normalised units, from one cluster to another counts, sums and products by sqrt(2) each.
    """
    share = Fraction(calibrate.check_positive(rho, "rho"))
    counts, sums, products = integer_moments(records, centres, radius)
    unit = 3 / share
    k, d = centres.shape
    noisy_counts = [count + exact.discrete_gaussian(unit, bits) for count in counts]
    noisy_sums = [[x + exact.discrete_gaussian(unit * RESOLUTION**2, bits) for x in row] for row in sums]
    noisy_products = [
        [[x + exact.discrete_gaussian(unit * RESOLUTION**4, bits) for x in row] for row in table]
        for table in products
    ]
    # from here on the noisy integers are processed: ordinary floats will do
    weights = np.maximum(np.array(noisy_counts, dtype=np.float64), 1.0)
    moves = np.array(noisy_sums, dtype=np.float64) / RESOLUTION / weights[:, None]
    lengths = np.linalg.norm(moves, axis=1)
    moves *= np.minimum(1.0, 1.0 / np.maximum(lengths, 1e-300))[:, None]
    covariances = np.zeros((k, d, d))
    for label, table in enumerate(noisy_products):
        for i, row in enumerate(table):
            for j, value in enumerate(row, start=i):
                covariances[label, i, j] = covariances[label, j, i] = float(value) / RESOLUTION**2
        covariances[label] = covariances[label] / weights[label] - np.outer(moves[label], moves[label])
        spectrum, vectors = np.linalg.eigh(covariances[label])
        # not singular: at least the square of the clipping radius over 2^20
        covariances[label] = (vectors * np.clip(spectrum, 2.0**-20, 1.0)) @ vectors.T
    return Moments(
        centres + radius * moves, radius**2 * covariances, np.array(noisy_counts, dtype=np.float64)
    )
