"""The dual slack lambda(G, x) of released labels on large sparse graphs, as a statistic for a private test.

f = max(0, min(lambda / 2, D - largest degree)) moves by at most 1 with an edge; it is computed within a
public error, except with a probability that is charged to delta. Proof: docs/proofs/sparse_slack.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from sosdp.privacy import randomness as noise
from sosdp.privacy.guarantee.condition import Charged
from sosdp.privacy.guarantee.rounding import float_down
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_rule
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.structured.least_eigenvalue import (
    Starts,
    SymmetricOperator,
    bracket_least_eigenvalue,
    provable,
)
from sosdp.structured.residual_proof import OUTWARD, gamma

from .certificate import public_grid
from .edges import CanonicalEdges

ERROR = 0.125
"""Public bound on the error of the computed statistic, in edges; the test pays for 1 + 2 ERROR."""

GRID = 1 << 20
"""The statistic is handed to the test in units of 2^-20 of an edge."""

COUNT = 4
"""Independent starts: all of them have to be unlucky for a wrong lower bound."""

SPREAD = 1 << 30
"""Standard deviation of a start's entries, which are whole numbers."""

PIECE = 128

ARITHMETIC = Charged(
    "float64 rounds to nearest, and products of sparse matrices are conventional sums in any order"
)


@dataclass(frozen=True)
class SlackTest:
    """Public facts of one test: vertices, tau (a multiple of 2^-20), D, and the share of delta for bad luck.

    Raises ValueError where a graph with these public facts could not be settled in float64.
    """

    n: int
    tau: float
    degree_cap: int
    delta: float

    def __post_init__(self) -> None:
        hardest = SymmetricOperator(self.n, np.asarray, *self.bounds(self.degree_cap, self.n))
        if not provable(hardest, self.longest, self.component, 4 * ERROR):
            raise ValueError(
                f"the dual slack of {self.n} vertices, degrees up to {self.degree_cap}, cannot be proven in "
                "float64; test the least vote instead (exact_or_nothing=True)"
            )

    @property
    def unlucky(self) -> float:
        """d': the probability with which one start has too small a component; 2 d'^COUNT <= delta."""
        guess = (self.delta / 2) ** (1 / COUNT)
        while 2 * Fraction(guess) ** COUNT > Fraction(self.delta):
            guess = math.nextafter(guess * (1 - 2.0**-50), 0.0)
        return guess

    @property
    def component(self) -> float:
        """The component along a fixed unit vector that a start has except with probability `unlucky`.

        P(|N(0, 1)| < t) <= sqrt(2 / pi) t; rounding the entries to whole numbers moves it by sqrt(n) / 2.
        """
        size = 1.2533141 * self.unlucky * SPREAD - math.sqrt(self.n) / 2 * OUTWARD
        return size / OUTWARD

    @property
    def longest(self) -> float:
        """Starts longer than this are not used, whatever the graph."""
        return 2.0 * SPREAD * math.sqrt(self.n + 16)

    def bounds(self, largest_degree: int, skew: int) -> tuple[float, float]:
        """(bound on |K| and 2 lambda, bound on the rounding of K v) from the largest degree and |sum x|.

        lambda is at most the trace of M_x over n - 1.
        """
        norm = 2 * (largest_degree + abs(self.tau)) * self.n / (self.n - 1) + abs(self.tau) * (
            self.n + abs(skew)
        )
        bound = max(norm, 1.0) * OUTWARD
        levels = math.ceil(math.log(max(self.n, 2), PIECE)) + 1
        terms = max(largest_degree, PIECE * levels) + 12
        # a row has four terms: diagonal, neighbours, tau J, the shift of x; sums of at most `terms` products
        return bound, gamma(terms) * (2 * bound + 2 * largest_degree) * OUTWARD


def total(values: np.ndarray) -> np.ndarray:
    """Sums of the columns of (n, r), in pieces of 128 at a time: few roundings an entry. Returns (r,)."""
    while len(values) > 1:
        padded = np.zeros((-(-len(values) // PIECE) * PIECE, values.shape[1]))
        padded[: len(values)] = values
        values = padded.reshape(-1, PIECE, values.shape[1]).sum(axis=1)
    return values[0]


def slack_operator(
    test: SlackTest, adjacency: sp.csr_array, labels: np.ndarray, largest_degree: int
) -> SymmetricOperator:
    """K = M_x + kappa x x^T with kappa n >= |M_x|: its least eigenvalue is lambda(G, x)."""
    x = np.asarray(labels, dtype=np.float64)
    skew = int(np.asarray(labels, dtype=np.int64).sum())
    bound, rounding = test.bounds(largest_degree, skew)
    diagonal = x * (adjacency @ x) - test.tau * skew * x  # exact: multiples of 2^-20
    kappa, n = bound * OUTWARD / test.n, test.n

    def apply(v: np.ndarray) -> np.ndarray:
        image = diagonal[:, None] * v - adjacency @ v
        image += test.tau * total(v)
        image += x[:, None] * (kappa * total(x[:, None] * v))
        return image

    return SymmetricOperator(n, apply, bound * OUTWARD**2, rounding * OUTWARD**2)


def draw_starts(test: SlackTest, bits: RandomBits) -> Starts | None:
    """COUNT rounded Gaussian starts, fresh given the graph and the labels; None if one is far too long."""
    drawn = noise.gaussian((test.n, COUNT), SPREAD, 1, law="rounded", source=bits).astype(np.float64)
    starts = Starts(drawn, test.component)
    return starts if starts.longest <= test.longest else None


def slack_statistic(edges: CanonicalEdges, labels: np.ndarray, test: SlackTest, bits: RandomBits) -> int:
    """f(G, x) less its error, in units of 2^-20, rounded down: within twice ERROR below f; 0 stays 0.

    edges: unweighted. Private: hand it to `rounds.passes` with the unit `SENSITIVITY`.
    """
    starts = draw_starts(test, bits)
    degrees = np.bincount(edges.first, minlength=test.n) + np.bincount(edges.second, minlength=test.n)
    largest = int(degrees.max(initial=0))
    if starts is None or largest >= test.degree_cap:
        return reported(0.0)
    operator = slack_operator(test, edges.adjacency(), labels, largest)
    low, high = bracket_least_eigenvalue(operator, starts, 4 * ERROR * (1 - 2.0**-20))
    if high <= 0 or not math.isfinite(low):
        return reported(0.0)
    return reported(min(max((low + high) / 4, 0.0), float(test.degree_cap - largest)))


def reported(statistic: float) -> int:
    """Counts of the grid for a statistic known within ERROR: at most f, so f <= 0 gives at most 0."""
    return math.floor(Fraction(statistic - ERROR) * GRID)


SENSITIVITY = math.ceil((1 + 2 * Fraction(ERROR)) * GRID)
"""What an edge moves the reported counts by, at most."""


def plan_slack_test(n: int, average_degree: float, delta: float) -> SlackTest:
    """The test for graphs with this public mean degree: tau = d / n, D = 2 d + 4 sqrt(d ln n) + 64."""
    degree = float(average_degree)
    cap = min(n + math.ceil(degree), math.ceil(2 * degree + 4 * math.sqrt(degree * math.log(n))) + 64)
    return SlackTest(n, public_grid(min(degree / n, 1.0), n), cap, float_down(Fraction(delta)))


def slack_needed(epsilon: float, false_pass: float, failure: float = 0.01) -> float:
    """The dual slack lambda that passes the test with probability at least 1 - failure: for planning."""
    rule = accept_rule(epsilon, false_pass, SENSITIVITY)
    return 2 * ((rule.statistic_needed(failure) - rule.sensitivity) / GRID + 2 * ERROR)
