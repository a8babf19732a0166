"""The public parameters of one run of the aggregate mode, and what a refusal under them says."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sosdp.privacy.mechanisms.propose_test_release.block_vote import AgreementRule, agreement_rule
from sosdp.show import short_repr

from .model import Facts

CONFIDENCE = 0.99
"""Pass probability a plan must reach to be called feasible."""

FAILURE = Fraction(1, 400)
"""Probability with which the test refuses tuples as alike as the plan expects."""


@dataclass(frozen=True)
class AggregatePlan:
    """Public parameters of one run of the aggregate mode. Lengths are in units of sigma.

    Attributes:
        n, dimension, clusters, separation, epsilon, delta: the facts it was made from.
        least_weight, elongation: promises about the clusters, see `aggregate_plan`.
        scales: sigma, or the grid of sigmas that are tried from the smallest on.
        solver: name of the block solver, or "given" for a function of the user.
        blocks, block_size: B and m = floor(n / B); the other n - B m records serve in the refinement only.
        radius, spread: two blocks are friends if each of the k points of one has one of the other's within
            `radius`, and the squares of these distances sum to at most spread * radius^2.
        plateau: h-scores (all but h blocks agree with all but h) up to this pass.
        epsilon_test, delta_test: budget of the test at each scale.
        epsilon_then, delta_then: budget of the noise; rho_mean, rho_refine (a round): what it buys in zCDP.
        rounds, refine_radius: of the refinement on all records.
        pass_probability: forecast for the least favourable data within the promises.
        rough_error, error: expected largest distance of a centre, before and after the refinement.
        feasible: whether it should be run at all.
        seconds: estimated time of the blocks on this machine.
        advice: what to change if not feasible, from public facts.
    """

    n: int
    dimension: int
    clusters: int
    separation: float
    epsilon: float
    delta: float
    least_weight: float
    elongation: float
    scales: tuple[float, ...]
    solver: str
    blocks: int
    block_size: int
    radius: float
    spread: float
    plateau: int
    epsilon_test: float
    delta_test: float
    epsilon_then: float
    delta_then: float
    rho_mean: float
    rho_refine: float
    rounds: int
    refine_radius: float
    pass_probability: float
    rough_error: float
    error: float
    feasible: bool
    seconds: float = field(default=0.0, compare=False)
    advice: str = ""

    __repr__ = short_repr

    def rule(self) -> AgreementRule:
        """The calibrated test of one scale."""
        return agreement_rule(self.epsilon_test, self.delta_test, FAILURE, self.plateau)

    @property
    def can_pass(self) -> bool:
        """Whether there are enough blocks for the test to pass at all."""
        return self.blocks >= 3 * self.rule().reach + 3

    @property
    def facts(self) -> Facts:
        """The promises about the mixture."""
        return Facts(self.dimension, self.clusters, self.separation, self.least_weight, self.elongation)


def after_refusal(plan: AggregatePlan) -> str:
    """What a refusal that was paid for says, from public facts alone: promises, and what to try next."""
    scales = ", ".join(f"{s:g}" for s in plan.scales)
    promises = (
        f"{plan.clusters} clusters, none with less than {plan.least_weight:.3g} of the records, means at "
        f"least {plan.separation:g} sigma apart, sigma = {scales}, no cluster longer than "
        f"{plan.elongation:g} sigma"
    )
    if plan.pass_probability < CONFIDENCE - 0.01:
        return f"a refusal was to be expected (forecast {plan.pass_probability:.2f}): {plan.advice}"
    return (
        f"for data as promised ({promises}) {plan.pass_probability:.0%} of runs pass: most likely a promise "
        "does not hold. With fresh budget try a larger sigma or a grid of them, a smaller least_weight, a "
        "larger elongation, or another number of clusters; PrivateKMeans needs fewer promises"
    )
