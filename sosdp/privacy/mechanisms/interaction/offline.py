"""Offline construction: a private distinguisher finds a query on which the hypothesis is wrong, noise
answers it.

Every step is concentrated differentially private (zCDP), their sum is fixed beforehand; stopping early
refunds nothing.
Proof: docs/proofs/cuts_offline.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.calibrate import between, check_positive
from sosdp.privacy.guarantee.rounding import float_down, float_up, root_down
from sosdp.privacy.inputs import choose
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits

GRID = 64
"""Scores of a listed query are rounded to 1/64 of a unit before the exponential mechanism."""


@dataclass(frozen=True)
class DataAccess:
    """What a distinguisher may ask of the data: exact integers only.

    count: query -> its integer value; image: integer vector (n,) -> the adjacency matrix times it.
    """

    count: Callable[[Any], int]
    image: Callable[[np.ndarray], np.ndarray]


class Distinguisher(ABC):
    """Finds a query on which data and hypothesis differ, for a price in zCDP."""

    @abstractmethod
    def select(
        self,
        data: DataAccess,
        guess: Callable[[Any], float],
        belief: np.ndarray | None,
        rho: float,
        bits: RandomBits,
    ) -> Any:
        """A query, rho-zCDP. guess: the hypothesis' answer to a query; belief: its matrix (n, n), if any."""


class FiniteList(Distinguisher):
    """The exponential mechanism over a list of queries of sensitivity 1, scored by |q(D) - q(D_t)|.

    epsilon-DP with a loss of bounded range, so epsilon^2 / 8-zCDP. With multiplicative weights this is MWEM.
    """

    def __init__(self, queries: Sequence[Any]) -> None:
        self.queries = tuple(queries)
        if not self.queries or any(query.sensitivity > 1 for query in self.queries):
            raise ValueError("the list needs queries of sensitivity at most 1")

    def select(
        self,
        data: DataAccess,
        guess: Callable[[Any], float],
        belief: np.ndarray | None,
        rho: float,
        bits: RandomBits,
    ) -> Any:
        """See `Distinguisher`."""
        scores = [abs(data.count(q) - Fraction(guess(q))) for q in self.queries]
        # rounding to the grid lets neighbouring scores differ by one more grid unit
        levels = [-round(score * GRID) for score in scores]
        return self.queries[choose(levels, root_down(8 * positive(rho, "rho")) / (2 * (GRID + 1)), bits)]


class NoisySigns(Distinguisher):
    """Local search for signs x, y with a large x'(A - X)y: noisy sign iteration, discrete Gaussian noise.

    A times a sign vector moves by sqrt 2 in l2 when one edge changes, so a step with variance s^2 is
    1/s^2-zCDP.
    A local optimum only: no accuracy is proven, and below a sharp threshold it finds nothing.

    Args:
        n: vertices. steps: products with the private matrix. make: (x, y) -> query.
    """

    def __init__(self, n: int, make: Callable[[np.ndarray, np.ndarray], Any], steps: int = 5) -> None:
        self.n, self.make, self.steps = integer(n, "n", 2), make, integer(steps, "steps")

    def variance(self, rho: float) -> Fraction:
        """s^2 of each entry and step: steps / rho."""
        return self.steps / positive(rho, "rho")

    def select(
        self,
        data: DataAccess,
        guess: Callable[[Any], float],
        belief: np.ndarray | None,
        rho: float,
        bits: RandomBits,
    ) -> Any:
        """See `Distinguisher`."""
        variance = self.variance(rho)
        public = np.zeros((self.n, self.n)) if belief is None else belief
        y = np.array([1 if bits.integer(1) else -1 for _ in range(self.n)], dtype=np.int64)
        x = y
        for _ in range(self.steps):
            noise = np.array([exact.discrete_gaussian(variance, bits) for _ in range(self.n)])
            x, y = y, np.where(data.image(y) + noise - public @ y >= 0, 1, -1).astype(np.int64)
        return self.make(x, y)


SELECT_SHARE = 0.7
"""Part of a round's price that the selection gets; the rest is for the answer."""


@dataclass(frozen=True)
class OfflinePlan:
    """Rounds and prices: rounds * (select + answer) <= rho.

    Attributes:
        rounds: B. select, answer: zCDP of a selection and of an answer.
    """

    rounds: int
    select: float
    answer: float

    @property
    def rho(self) -> float:
        """What the whole run costs, rounded up."""
        return float_up(self.rounds * (Fraction(self.select) + Fraction(self.answer)))


def plan_offline(rho: float, rounds: int, share: float = SELECT_SHARE) -> OfflinePlan:
    """Split rho evenly over the rounds, `share` of it to the selections; rounded down.

    Raises:
        ValueError: numbers out of range.
    """
    rho, rounds = check_positive(rho, "rho"), integer(rounds, "rounds")
    each = Fraction(rho) / rounds
    select = float_down(each * between(share, "share", "(0, 1)"))
    return OfflinePlan(rounds, select, float_down(each - Fraction(select)))


@dataclass(frozen=True)
class PaperPlan:
    """The published parameters: eps0 = epsilon / (4 sqrt(B ln(1/delta))) for each of 2B purely private
    steps."""

    rounds: int
    epsilon: float
    delta: float

    @property
    def step(self) -> float:
        """eps0.

        Raises:
            ValueError: outside what is proven for these constants: epsilon <= 2 ln(1/delta) and eps0 <= 1.
        """
        result = self.epsilon / (4.0 * math.sqrt(self.rounds * math.log(1.0 / self.delta)))
        if self.epsilon > 2.0 * math.log(1.0 / self.delta) or result > 1.0:
            raise ValueError("the published constants are proven for epsilon <= 2 ln(1/delta) and eps0 <= 1")
        return result


def run_offline(
    plan: OfflinePlan,
    data: DataAccess,
    distinguisher: Distinguisher,
    guess: Callable[[Any], float],
    belief: Callable[[], np.ndarray | None],
    update: Callable[[Any, float, float], None],
    bits: RandomBits,
) -> None:
    """B rounds: select a query, answer it with noise, update the hypothesis (public from then on).

    update: (query, noisy answer in plain units, standard deviation of the noise).
    """
    for _ in range(plan.rounds):
        query = distinguisher.select(data, guess, belief(), plan.select, bits)
        variance = Fraction(max(1, query.sensitivity)) ** 2 / (2 * Fraction(plan.answer))
        answer = data.count(query) + exact.discrete_gaussian(variance, bits)
        update(query, float(answer * query.unit), math.sqrt(variance) * float(query.unit))
