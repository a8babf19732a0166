"""The aggregate mechanism: any code in blocks, the blocks that agree averaged, and one look at all records.

Proof: docs/proofs/gmm_aggregate.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import sosdp.privacy.calibrate as calibrate
from sosdp.estimator.records import as_records
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.composition import halting
from sosdp.privacy.guarantee.condition import Condition, Kind, given
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.basic.clipped_moments import refine
from sosdp.privacy.mechanisms.basic.histogram import as_shares
from sosdp.privacy.mechanisms.propose_test_release.block_vote import run_blocks, split_blocks
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import Friendship, mean_of_friends
from sosdp.privacy.terms import Terms

from .blocks import BlockSolver, block_solver
from .plan import AggregatePlan, after_refusal
from .planning import GRID

CONDITION = Condition("the h-score of the blocks is at most the reach of the test")
OWN_BLOCK = "the block solver uses nothing but its block, public facts and randomness of its own"


def aggregate_guarantee(plan: AggregatePlan, solver: BlockSolver | None = None) -> Guarantee:
    """What one run of the plan promises: a function of public numbers, and of whose the block solver is.

    Raises:
        ValueError: a test's delta above 1 - exp(-epsilon) of it, for which several scales are not proven.
    """
    tests = [
        Guarantee(
            epsilon=plan.epsilon_test, delta=plan.delta_test, mechanism=f"h-score test, sigma {scale:g}"
        )
        for scale in plan.scales
    ]
    # (scales beyond the first rest on it: proof page, step 3)
    if plan.delta_test > -math.expm1(-plan.epsilon_test):
        raise ValueError("delta is too large for this epsilon: take delta well below epsilon")
    rhos = [plan.rho_mean] + [plan.rho_refine] * plan.rounds
    names = ["mean of friends"] + ["clipped sums"] * plan.rounds
    parts = tuple(Guarantee(rho=rho, mechanism=name) for rho, name in zip(rhos, names, strict=True))
    total = compose(parts)
    if calibrate.zcdp_epsilon(total.rho or 0.0, plan.delta_then) > plan.epsilon_then:
        raise ValueError("the plan's zCDP budgets exceed its epsilon_then: make it with aggregate_plan")
    terms = Terms(
        epsilon=plan.epsilon_then,
        delta=plan.delta_then,
        adjacency=ONE_RECORD_REPLACED,
        mechanism="gmm.aggregate release",
    )
    own = given(OWN_BLOCK, block_solver if solver is None else solver)
    then = terms.guarantee(CONDITION, own, composition=parts)
    return halting(compose(tests), then, condition=CONDITION, kind=Kind.EXACT, mechanism="gmm.aggregate")


def release_mixture(
    data: Any,
    plan: AggregatePlan,
    *,
    solver: BlockSolver | None = None,
    insecure_seed: int | None = None,
) -> Release:
    """Run the plan on n records.

    Args:
        data: (n, d) table; any entries (`sosdp.estimator.records.as_records`).
        plan: from `aggregate_plan` for these n and d.
        solver: from the (m, d) records of one block, in units of sigma, to k points; the plan's by default.
            It may raise, print or be wrong; that it uses no other block and no clock is a condition of the
            release where the solver is not the library's.

    Returns:
        Release of {"centers": (k, d) list, "weights": (k,) list, "sigma": number, "released": True}, or with
        None in their place and "released" False.

    Raises:
        ValueError: a table of another shape than the plan's, or a plan that does not add up; never because
            of the entries.

    Cost: B block solves, O(B^2 k^2 d) for the friends, O(n k d) for the rest; times the number of scales.
    """
    records = as_records(data)
    n, d = records.shape
    if (n, d) != (plan.n, plan.dimension):
        raise ValueError(f"the plan is for {(plan.n, plan.dimension)} records and coordinates, got {(n, d)}")
    guarantee = aggregate_guarantee(plan, solver)
    rule = plan.rule()
    solve = block_solver(plan.solver, plan.facts) if solver is None else solver
    friends = _friends(plan)
    terms = Terms(insecure_seed=insecure_seed)
    bits = terms.bits()
    parts = split_blocks(n, plan.blocks, bits)  # the same for every scale
    result: dict[str, Any] = {"centers": None, "weights": None, "sigma": None, "released": False}
    scores = []
    for scale in plan.scales:
        scaled = records / scale
        drawn = mean_of_friends(
            run_blocks(solve, scaled, parts),
            plan.clusters,
            d,
            friends=friends,
            rule=rule,
            rho=plan.rho_mean,
            bits=bits,
        )
        scores.append(drawn.disagreement)
        if drawn.value is None:
            continue
        centres, counts = drawn.value, np.zeros(plan.clusters)
        for _ in range(plan.rounds):
            better = refine(scaled, centres, plan.refine_radius, plan.rho_refine, bits)
            centres, counts = better.centres, better.counts
        result = {
            "centers": (centres * scale).tolist(),
            "weights": as_shares(counts).tolist(),
            "sigma": scale,
            "released": True,
        }
        break
    public = {
        **({} if result["released"] else {"advice": after_refusal(plan)}),
        "n": n,
        "dimension": d,
        "clusters": plan.clusters,
        "separation": plan.separation,
        "blocks": plan.blocks,
        "block_size": plan.block_size,
        "radius": plan.radius,
        "least_weight": plan.least_weight,
        "elongation": plan.elongation,
        "pass_probability": plan.pass_probability,
        "scales": list(plan.scales),
    }
    return terms.seal(result, guarantee, bits, public=public, private={"disagreements": scores})


def _friends(plan: AggregatePlan) -> Friendship:
    """Who are friends among the blocks, in units of sigma."""
    return Friendship(
        radius=Fraction(plan.radius),
        spread=Fraction(plan.spread),
        grid=Fraction(GRID),
        epsilon_test=plan.epsilon_test,
        delta_test=plan.delta_test,
    )
