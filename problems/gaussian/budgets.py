"""A checked public budget, pure or zCDP, and the questions that are paid from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive, zcdp_rho
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries


@dataclass(frozen=True)
class Budget:
    """A checked public budget: pure (`rho` None), or spent as zCDP."""

    epsilon: float | None
    delta: float
    rho: float | None

    @property
    def pure(self) -> bool:
        """Whether Gaussian noise is out of reach."""
        return self.rho is None

    def queries(
        self,
        n: int,
        seed: int | None,
        *,
        pure: bool = False,
        ball: Mapping[str, Fraction] | None = None,
        dimension: int | None = None,
    ) -> IntegerQueries:
        """Questions about n records, paid from it: without delta, or with a last sum in a ball of that
        dimension after parts of the given zCDP."""
        return IntegerQueries(
            n,
            epsilon=self.epsilon,
            delta=0.0 if pure else self.delta,
            rho=None if self.epsilon is not None else self.rho,
            before=None if ball is None else sum(ball.values(), Fraction(0)),
            dimension=None if ball is None else dimension,
            insecure_seed=seed,
        )

    @property
    def total(self) -> Fraction:
        """What questions are paid from."""
        return Fraction(self.epsilon if self.rho is None else self.rho)  # type: ignore[arg-type]


@lru_cache(maxsize=64, typed=True)  # True is no 1.0
def checked_budget(epsilon: float | None, delta: float, rho: float | None) -> Budget:
    """The budget of an estimator; ValueError unless epsilon (with or without delta) or rho is given."""
    if (epsilon is None) == (rho is None):
        raise ValueError("give either epsilon (with delta for approximate privacy) or rho")
    if rho is not None:
        if delta:
            raise ValueError("rho comes without delta: a zCDP guarantee is read at any delta afterwards")
        return Budget(None, 0.0, check_positive(rho, "rho"))
    epsilon = check_epsilon(epsilon)
    if delta == 0:
        return Budget(epsilon, 0.0, None)
    delta = check_delta(delta)
    return Budget(epsilon, delta, zcdp_rho(epsilon, delta))
