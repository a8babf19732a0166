"""The online mechanism with the published parameters, literally (Gupta, Roth and Ullman 2012, Algorithm 1,
Theorem 4.9).

b = 1000 sqrt(B(alpha)) ln(4/delta) / epsilon, T = 2 alpha; (3 alpha, beta)-accuracy once alpha is at least
b ln(k / beta). The constants 1000, 2 and 3 are recalled; privacy is proven for any constant from 10 on:
docs/proofs/cuts_paid_rounds.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive
from sosdp.privacy.inputs import integer
from sosdp.privacy.mechanisms.interaction.paid_rounds import PAPER_FACTOR

from .hypotheses import FriezeKannan, Hypothesis, MultiplicativeWeights
from .theory import published_updates


@dataclass(frozen=True)
class PublishedPlan:
    """alpha, B, noise scale b and threshold T of the published mechanism for one construction.

    Attributes:
        alpha: least one with alpha >= b(B(alpha)) ln(k / beta). updates: B(alpha). scale: b. construction:
        "mw" or "fk".
    """

    alpha: float
    updates: float
    scale: float
    construction: str
    n: int
    mass: float

    @property
    def threshold(self) -> float:
        """T = 2 alpha."""
        return 2.0 * self.alpha

    @property
    def accuracy(self) -> float:
        """3 alpha, promised for all queries with probability 1 - beta."""
        return 3.0 * self.alpha

    @property
    def says_something(self) -> bool:
        """Whether the promised error is below the number of edges; otherwise the mechanism never updates."""
        return self.accuracy < self.mass

    def hypothesis(self) -> Hypothesis:
        """The update rule with the published step and start."""
        if self.construction == "fk":
            return FriezeKannan(self.n, 0.0, step=self.alpha, box=False, refit=0)
        return MultiplicativeWeights(self.n, self.mass, step=self.alpha, refit=0)


def published_plan(
    n: int,
    mass: float,
    epsilon: float,
    delta: float,
    *,
    queries: int,
    beta: float = 0.05,
    construction: str = "mw",
) -> PublishedPlan:
    """Solve alpha = b(B(alpha)) ln(k / beta): both B have the form c / alpha^2, so alpha^2 = 1000 sqrt(c) L
    L' / eps.

    Args:
        n: vertices. mass: number of edges, taken as public, as in the paper. epsilon, delta: budget.
        queries: k. beta: failure probability. construction: "mw" or "fk".

    Raises:
        ValueError: numbers out of range, or an unknown construction.
    """
    n, queries = integer(n, "n", 2), integer(queries, "queries")
    mass, epsilon, delta = check_positive(mass, "mass"), check_epsilon(epsilon), check_delta(delta)
    if not 0.0 < beta < 1.0:
        raise ValueError(f"beta must lie in (0, 1), got {beta}")
    pairs = n * (n - 1) / 2.0
    potential = published_updates(mass, pairs, 1.0, construction)
    factor = PAPER_FACTOR * math.log(4.0 / delta) / epsilon
    alpha = math.sqrt(factor * math.sqrt(potential) * math.log(queries / beta))
    updates = potential / alpha**2
    return PublishedPlan(alpha, updates, factor * math.sqrt(updates), construction, n, mass)
