"""Laws of the array samplers, and the test that compares draws with them."""

import math

import numpy as np
from scipy import stats

from sosdp.privacy import randomness as noise
from sosdp.privacy.randomness import cells, tables
from sosdp.privacy.randomness.bits import InsecureBits

FLOOR = 1e-6  # operating-system randomness: a false alarm once in a million runs per test
FIXED = 1e-4  # fixed streams: they never flake
LAWS = ["rounded", "discrete", "laplace"]


def draw(law: str, count: int, units: float, **options: object) -> np.ndarray:
    if law == "laplace":
        return noise.laplace(count, units, 1, **options)
    return noise.gaussian(count, units, 1, law=law, **options)


def law_of(law: str, units: float, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Support and probabilities of a law of moderate scale."""
    support = np.arange(-reach, reach + 1)
    if law == "rounded":
        weights = np.diff(stats.norm.cdf(np.arange(-reach, reach + 2) - 0.5, scale=units))
    elif law == "discrete":
        weights = np.exp(-0.5 * (support / units) ** 2)
    else:
        weights = np.exp(-np.abs(support) / units)
    return support, weights / weights.sum()


def laplace_law(units: float, reach: int) -> dict:
    """P(k) = (1-a)/(1+a) a^|k| for |k| < reach, tails gathered in the atoms at +-reach; a = exp(-1/units)."""
    ratio = math.exp(-1.0 / units)
    law = {k: (1.0 - ratio) / (1.0 + ratio) * ratio ** abs(k) for k in range(-reach + 1, reach)}
    law[reach] = law[-reach] = ratio**reach / (1.0 + ratio)
    return law


def chi_square(drawn: np.ndarray, support: np.ndarray, law: np.ndarray) -> float:
    """p-value of counts on `support`, neighbouring atoms of small expectation gathered."""
    inside = drawn[(drawn >= support[0]) & (drawn <= support[-1])]
    observed = np.bincount(inside - support[0], minlength=support.size).astype(float)
    expected = law * drawn.size
    # Gather runs of atoms until each group expects at least 20.
    group = np.zeros(support.size, dtype=int)
    number, gathered = 0, 0.0
    for i, value in enumerate(expected):
        group[i] = number
        gathered += value
        if gathered >= 20.0:
            number, gathered = number + 1, 0.0
    group = np.minimum(group, number - 1)
    observed = np.bincount(group, observed)
    expected = np.bincount(group, expected)
    observed[0] += drawn.size - inside.size
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


# Starved designs: the rare branches become common, the law stays.
STARVED = [
    tables.Design(index_bits=6, compare_bits=3, tail=2, cover=2, margin=0.25),
    tables.Design(index_bits=6, compare_bits=4, table_bits=10, tail=3, cover=2, margin=0.1),
    tables.Design(index_bits=5, compare_bits=3, table_bits=9, tail=1, cover=3, margin=2.0),
]


def starved(law: str, units: float, design: tables.Design, count: int, seed: int) -> np.ndarray:
    drawn = np.empty(count, dtype=np.int64)
    cells.fill(drawn, cells.plan(law, units, design), InsecureBits(seed))
    return drawn
