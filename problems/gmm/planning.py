"""All parameters of the aggregate mode from public facts, and what to expect before any budget is spent.

The privacy of a release does not rest on anything here: a bad plan leads to refusals or to large errors. What
blocks will answer is forecast with made-up data (`forecast.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import sosdp.privacy.calibrate as calibrate
from sosdp.estimator.planner import best, least
from sosdp.model.gathering import gathering
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.rounding import float_down
from sosdp.privacy.mechanisms.propose_test_release.block_vote import AgreementRule, agreement_rule
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import MOST_TUPLES, mean_sensitivity
from sosdp.progress import shown

from .blocks import BlockSolver, hashed
from .forecast import PILOTS, Agreement, SolverRecord, agreements, before_trial, trial
from .model import Facts, expected_largest, least_favourable, light_share
from .plan import CONFIDENCE, FAILURE, AggregatePlan

GRID = 2.0**-14
"""Public grid of the blocks' points, in units of sigma."""

_TEST_SHARES = (0.25, 0.35, 0.45, 0.6)
_MEAN_SHARES = (0.1, 0.2, 0.35, 0.5)
_GROWTH = 1.25
LEAST_BLOCK = 8.0
"""Records a cluster in the smallest blocks."""

_LARGER = (1.0, 1.3, 1.7, 2.2)


@dataclass(frozen=True)
class _Search:
    """Everything a search for parameters depends on."""

    n: int
    facts: Facts
    epsilon: float
    delta: float
    scales: tuple[float, ...]
    block_size: int | None = None
    radius: float | None = None


@dataclass(frozen=True)
class _Choice:
    chance: float
    size: int
    agreement: Agreement
    plateau: int
    share: float
    reach: int


@dataclass(frozen=True)
class Promises:
    """What is known publicly of the clusters, in the units of the data and of sigma."""

    sigma: float | Sequence[float] = 1.0
    least_weight: float | None = None
    elongation: float = 1.0

    @property
    def scales(self) -> tuple[float, ...]:
        """The candidates for sigma."""
        return (float(self.sigma),) if isinstance(self.sigma, int | float) else tuple(self.sigma)


@dataclass(frozen=True)
class Fixed:
    """What of a plan is fixed by hand."""

    solver: str | BlockSolver = "auto"
    block_size: int | None = None
    radius: float | None = None
    tried: bool = True


@gathering(Promises, "promises")
@gathering(Fixed, "fixed")
def aggregate_plan(
    n: int,
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    *,
    promises: Promises,
    fixed: Fixed,
) -> AggregatePlan:
    """Choose block size, radii, budgets and refinement for the least expected error.

    Args:
        n, d, k: records, coordinates, clusters; public.
        separation: least distance of two means in units of sigma (of the largest sigma of a grid).
        epsilon, delta: whole budget.
        promises: the fields of `Promises`, as keywords:
        sigma: within-cluster standard deviation (smaller clusters do no harm), or a grid of candidates that
            shares the test's budget.
        least_weight: public promise: no cluster holds a smaller share of the records; 1 / (2 k) by default.
        elongation: public promise: a cluster's standard deviation is at most this many sigmas along one axis
            of its own, and at most sigma across it.
        fixed: the fields of `Fixed`, as keywords:
        solver: "auto", "sos", "kmeans", "mixture", or a function of a block of records.
        block_size, radius: fixed instead of chosen (radius in units of sigma).
        tried: False for a run that declines: arguments are checked, and nothing is searched or tried.

    Raises:
        ValueError: arguments out of range.

    Cost: a second or two, most of it spent on trying the solver on made-up blocks; results for the same
    arguments are kept.
    """
    search = _checked((n, d, k, separation, epsilon, delta), promises, fixed)
    with shown("plan of a mixture"):
        return (_planned if fixed.tried else _untried)(search, hashed(fixed.solver))


def _checked(facts: tuple[int, int, int, float, float, float], promises: Promises, fixed: Fixed) -> _Search:
    """What a search depends on, or ValueError for arguments out of range."""
    n, d, k, separation, epsilon, delta = facts
    n, d, k = integer(n, "n"), integer(d, "d"), integer(k, "k")
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    separation = calibrate.check_positive(separation, "separation")
    elongation = calibrate.check_positive(promises.elongation, "elongation")
    block_size, radius = fixed.block_size, fixed.radius
    light = max(light_share(k, promises.least_weight), float(k == 1))
    if elongation < 1.0:
        raise ValueError(f"elongation is at least one sigma, got {elongation}")
    scales = tuple(sorted(calibrate.check_positive(value, "sigma") for value in promises.scales))
    if not scales or len(set(scales)) < len(scales) or not 1e-12 <= scales[0] <= scales[-1] <= 1e12:
        raise ValueError("sigma must be one number, or different ones, between 1e-12 and 1e12")
    if block_size is not None:
        block_size = integer(block_size, "block_size", k)
    if radius is not None:
        radius = calibrate.check_positive(radius, "radius")
        if not 4 * GRID <= radius <= 2.0**20 * GRID / d:
            raise ValueError(f"radius must lie between {4 * GRID} and {2.0**20 * GRID / d} sigmas")
    known = Facts(d, k, separation, min(light, 1.0 / k), elongation)
    return _Search(n, known, epsilon, delta, scales, block_size, radius)


@lru_cache(maxsize=256)
def _planned(search: _Search, solver: str | BlockSolver) -> AggregatePlan:
    """The plan at the whole budget, or at a part of it where that alone is expected to pass.

    A larger budget affords smaller blocks, which the first choice may cut too small to agree.
    """
    whole = _at_budget(search, solver)
    if whole.feasible:
        return whole
    for part in (0.7, 0.5, 0.35):
        less = _at_budget(replace(search, epsilon=search.epsilon * part), solver)
        if less.feasible:
            return less
    return whole


def _at_budget(search: _Search, solver: str | BlockSolver) -> AggregatePlan:
    facts = search.facts
    choice = _search(search, before_trial(facts))
    if choice is None:
        return _hopeless(search, solver)
    tried: list[tuple[AggregatePlan, SolverRecord]] = []
    for name in ("sos", "kmeans") if solver == "auto" else (solver,):
        for factor in _LARGER if search.block_size is None else (1.0,):
            size = round(choice.size * factor)
            if search.n // size < 8:
                break
            record = trial(name, facts, size)
            chosen = _search(replace(search, block_size=size), record)
            if chosen is not None:
                made = _finish(chosen, search, record, name if isinstance(name, str) else "given")
                chance = _forecast(made, record)
                passes = made.feasible and chance >= CONFIDENCE - 0.01
                tried.append((replace(made, pass_probability=chance, feasible=passes), record))
                if passes and record.failed <= 1.0 / PILOTS:
                    break
    if not tried:
        return _hopeless(search, solver)
    plan, record = max(
        tried, key=lambda one: (one[0].feasible, min(one[0].pass_probability, CONFIDENCE), -one[0].error)
    )
    return plan if plan.feasible else replace(plan, advice=_advice(search, record, plan))


def _forecast(plan: AggregatePlan, record: SolverRecord) -> float:
    """Pass probability of the finished plan, simulated with its own number of blocks."""
    blocks = min(plan.blocks, 800)
    simulated = agreements(plan.facts, plan.block_size, record, plan.radius, blocks, 8)
    nearest = min(simulated, key=lambda a: abs(a.spread - plan.spread))
    return _chance(plan.blocks, nearest, plan.plateau, _base(plan.epsilon_test, plan.delta_test))


@gathering(Promises, "promises")
def required_n(
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    *,
    promises: Promises,
    most: int = 10**8,
) -> int | None:
    """Least n, to 5 %, for which a plan is expected to be feasible; None if not even `most` records do.

    For an untried solver; `aggregate_plan` tries it.
    """
    search = _checked((1, d, k, separation, epsilon, delta), promises, Fixed())
    return _required(search, before_trial(search.facts), most)


@gathering(Promises, "promises")
def expected_error(
    n: int, d: int, k: int, separation: float, epsilon: float, delta: float, *, promises: Promises
) -> float:
    """Expected largest distance of a centre in sigmas (untried solver); infinite where a plan declines."""
    search = _checked((n, d, k, separation, epsilon, delta), promises, Fixed())
    record = before_trial(search.facts)
    choice = _search(search, record)
    made = None if choice is None else _finish(choice, search, record, "")
    return made.error if made is not None and made.feasible else math.inf


def fewest_records(k: int, epsilon: float, delta: float, scales: int = 1) -> int:
    """With fewer there are too few blocks, of the least size, for any test of this budget."""
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    base = _base(epsilon * _TEST_SHARES[-1] / scales, delta / 4.0 / scales)
    return round(LEAST_BLOCK * integer(k, "k")) * (3 * (base.reach + 1) + 3)


def _required(search: _Search, record: SolverRecord, most: int) -> int | None:
    return least(lambda n: _feasible(replace(search, n=n), record), 64, most, 1.05)


def _feasible(search: _Search, record: SolverRecord) -> bool:
    choice = _search(search, record)
    return choice is not None and choice.chance >= CONFIDENCE and _finish(choice, search, record, "").feasible


@lru_cache(maxsize=2048)
def _base(epsilon: float, delta: float) -> AgreementRule:
    return agreement_rule(epsilon, delta, FAILURE, 0)


def _test_budget(search: _Search, share: float) -> tuple[float, float]:
    count = len(search.scales)
    return search.epsilon * share / count, search.delta / 4.0 / count


@lru_cache(maxsize=2048)
def _search(search: _Search, record: SolverRecord) -> _Choice | None:
    """The block size, radii, plateau and share of the test with the least error among those that pass."""
    k = search.facts.clusters
    choices: list[_Choice] = []
    enough = math.inf
    sizes = _block_sizes(search.n, k) if search.block_size is None else [search.block_size]
    for size in sizes:
        blocks = search.n // size
        if blocks < 8 or size < 2 * k or blocks > MOST_TUPLES:
            continue
        if size > 2.5 * enough:
            break  # blocks that agree well need not grow further
        for agreement in agreements(search.facts, size, record, search.radius):
            expected = agreement.share * blocks
            plateau = math.ceil(expected + 2.6 * agreement.deviation * math.sqrt(blocks)) + 1
            for share in _TEST_SHARES:
                base = _base(*_test_budget(search, share))
                reach = plateau + base.reach
                if blocks < 3 * reach + 3:
                    continue
                chance = _chance(blocks, agreement, plateau, base)
                choices.append(_Choice(chance, size, agreement, plateau, share, reach))
                if chance >= CONFIDENCE and 10 * plateau < blocks:
                    enough = min(enough, size)
    if not choices:
        return None
    good = [choice for choice in choices if choice.chance >= CONFIDENCE]
    if not good:
        return max(choices, key=lambda c: c.chance)

    def moved(choice: _Choice) -> float:
        joint = math.sqrt(choice.agreement.spread) * choice.agreement.radius
        return joint * float(mean_sensitivity(search.n // choice.size, choice.reach))

    # the error depends on few of the choices: those that leave the most for the noise
    front = [
        choice
        for share in _TEST_SHARES
        for choice in sorted((c for c in good if c.share == share), key=moved)[:2]
    ]
    plans = [(_finish(choice, search, record, ""), choice) for choice in front]
    return min(plans, key=lambda pair: (not pair[0].feasible, pair[0].error, -pair[1].chance))[1]


def _block_sizes(n: int, k: int) -> list[int]:
    size, sizes = LEAST_BLOCK * k, []
    while size <= n / 8 and size <= 6000:
        sizes.append(round(size))
        size *= _GROWTH
    return sizes


_NODES = (-1.8, -1.1, -0.7, -0.35, 0.0, 0.35, 0.7, 1.1, 1.8)


def _chance(blocks: int, agreement: Agreement, plateau: int, base: AgreementRule) -> float:
    """Mean of the acceptance probability over a Gaussian h-score."""
    if blocks < 3 * (plateau + base.reach) + 3:
        return 0.0
    middle, width = agreement.share * blocks, agreement.deviation * math.sqrt(blocks)
    scores = [max(0, math.ceil(middle + node * width) - plateau) for node in _NODES]
    return sum(float(base.curve.probability(score)) for score in scores) / len(scores)


def _finish(choice: _Choice, search: _Search, record: SolverRecord, solver: str) -> AggregatePlan:
    """Split what the test leaves between mean and refinement, and predict the errors."""
    from scipy.stats import norm

    n, facts = search.n, search.facts
    d, k, separation = facts.dimension, facts.clusters, facts.separation
    count, blocks = len(search.scales), n // choice.size
    size = n // blocks
    budget = _test_budget(search, choice.share)
    tests = Fraction(budget[0]), Fraction(budget[1])
    then = [float_down(Fraction(a) - count * b) for a, b in zip((search.epsilon, search.delta), tests)]
    total = calibrate.zcdp_rho(then[0], then[1])
    trace = d - 1 + facts.elongation**2
    several = math.sqrt(2.0 * math.log(max(k, 2)))
    joint = math.sqrt(choice.agreement.spread) * choice.agreement.radius
    enough = blocks >= 3 * choice.reach + 3
    sensitivity = joint * float(mean_sensitivity(blocks, choice.reach)) if enough else math.inf
    light, counts = n * facts.least_weight, [n * w for w in least_favourable(k, facts.least_weight)]

    def split(part: float) -> tuple[float, float, float, int, float, float]:
        rho_mean = total * part
        noise = sensitivity / math.sqrt(2.0 * rho_mean) * (math.sqrt(d) + several)
        rough = noise + math.sqrt(trace / light) + record.bias
        rounds = 1 if rough <= separation / 8.0 or k == 1 else 2
        rho_refine = (total - rho_mean) * (1.0 - 1e-12) / rounds
        reach = math.sqrt(trace) + 3.0 * facts.elongation + 1.0 + min(rough, separation)
        # a coordinate of a centre: noise, and the mean of the records of its cluster
        few, many = (math.sqrt(2.0 / rho_refine * (reach / c) ** 2 + trace / d / c) for c in counts)
        error = expected_largest(few, many, d, k)
        if k > 1:
            missed = rough if rounds == 1 else min(rough, error)
            ratio = (1.0 - (k - 1) * facts.least_weight) / facts.least_weight
            outside = float(norm.sf((separation - missed) / 2.0 / facts.elongation))
            error += (k - 1) * separation * min(ratio, 10.0) * outside
        return error, rho_mean, rho_refine, rounds, reach, rough

    error, rho_mean, rho_refine, rounds, reach, rough = best(_MEAN_SHARES, split, lambda made: made[0])
    return AggregatePlan(
        n=n,
        dimension=d,
        clusters=k,
        separation=separation,
        epsilon=search.epsilon,
        delta=search.delta,
        least_weight=facts.least_weight,
        elongation=facts.elongation,
        scales=search.scales,
        solver=solver,
        blocks=blocks,
        block_size=size,
        radius=choice.agreement.radius,
        spread=choice.agreement.spread,
        plateau=choice.plateau,
        epsilon_test=budget[0],
        delta_test=budget[1],
        epsilon_then=then[0],
        delta_then=then[1],
        rho_mean=rho_mean,
        rho_refine=rho_refine,
        rounds=rounds,
        refine_radius=reach,
        pass_probability=choice.chance,
        rough_error=rough,
        error=error,
        feasible=choice.chance >= CONFIDENCE and (k == 1 or rough <= separation / 3.0),
        seconds=round(record.seconds * blocks * count + 4e-9 * (blocks * k) ** 2 * d, 2),
    )


def _untried(search: _Search, solver: str | BlockSolver) -> AggregatePlan:
    """The plan at the largest blocks that there are, which will decline."""
    facts = search.facts
    name = "given" if not isinstance(solver, str) else "sos" if solver == "auto" else solver
    size = max(1, min(search.n, search.block_size or max(1, search.n // 8)))
    radius = search.radius or max(4 * GRID, min(facts.separation / 8.0, 2.0**20 * GRID / facts.dimension))
    choice = _Choice(0.0, size, Agreement(radius, 1.0, 1.0, 0.0), 0, _TEST_SHARES[-1], search.n)
    made = _finish(choice, search, before_trial(facts), name)
    return replace(made, feasible=False, pass_probability=0.0)


def _hopeless(search: _Search, solver: str | BlockSolver) -> AggregatePlan:
    """A plan for data too few to make blocks of: it can be run where its test allows, and will decline."""
    made = _untried(search, solver)
    return replace(made, advice=_advice(search, before_trial(search.facts), made))


def _advice(search: _Search, record: SolverRecord, plan: AggregatePlan) -> str:
    """What would help, tried in turn on public facts."""
    facts = search.facts
    free = replace(search, block_size=None, radius=None)
    if free != search and _feasible(free, record):
        return "leave block_size and radius to the plan: then it is expected to pass"
    if record.failed > 0.1:
        kind = f"the block solver {plan.solver!r} fails on {record.failed:.0%} of made-up blocks like these"
        return f"expected to decline: {kind}; try another solver, or clusters further apart"

    ideas = [
        [
            (f"epsilon = {free.epsilon * factor:.3g}", replace(free, epsilon=free.epsilon * factor))
            for factor in (1.5, 2.0, 4.0, 8.0)
        ],
        [
            (
                f"a separation of {facts.separation * factor:.3g} sigma",
                replace(free, facts=replace(facts, separation=facts.separation * factor)),
            )
            for factor in (1.25, 1.5, 2.0, 3.0, 5.0)
        ],
    ]
    if facts.clusters > 1 and facts.least_weight < 0.99 / facts.clusters:
        equal = replace(free, facts=replace(facts, least_weight=1.0 / facts.clusters))
        ideas.append([("a promise that no cluster is lighter than the others (least_weight)", equal)])
    if len(search.scales) > 1:
        ideas.append([("one known sigma instead of a grid", replace(free, scales=search.scales[-1:]))])
    needed = _required(free, record, 10**8)
    helps = [] if needed is None else [f"about {needed} records"]
    for group in ideas:
        helps += [*islice((text for text, other in group if _feasible(other, record)), 1)]
    if not helps:
        return (
            "these public facts leave no room for blocks that agree: fewer clusters or coordinates are needed"
        )
    return "expected to decline; it would pass with " + ", or ".join(helps)
