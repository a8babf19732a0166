"""Which method, which shares of the budget, what error: decided by public numbers before any record is read.

Source: docs/proofs/gaussian_frame.md, 4 (the shares add up; the errors are forecasts, measured in
docs/gaussian.md)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from scipy.special import ndtri

from sosdp.estimator.planner import least
from sosdp.privacy.ball_accounting import LARGEST_DIMENSION, largest_rate
from sosdp.privacy.calibrate import float_down, float_up, one_of
from sosdp.privacy.mechanisms.integer_queries import order_price, sum_deviation
from sosdp.show import short_repr
from sosdp.structured.packing_ellipsoid import MOST

from .budgets import Budget
from .frame import TOP, each_epsilon, location_nats

CUBE_REACH = 2.5  # records are folded at this many scales where noise is cubic
CELL_REACH = 4.0
INTERVAL = Fraction(1, 20)  # share of the budget for an interval
TRIMMED_NOISE = 0.75  # measured: the score's error against that of its cube
MOST_RECORDS = 10**12
METHODS = ("cube", "gaussian", "ball", "trimmed", "median", "packing")
PACKING_SECONDS = {1: 1.0, 2: 2.0, 3: 8.0, 4: 40.0}  # of one draw at 1000 records, about


class NotOffered(ValueError):
    """This budget and these columns have no method; nothing was read or spent."""


class TooFewRecords(NotOffered):
    """No method can keep its promise of accuracy at this n, d and budget; nothing was read or spent.

    `needed`: the number of records that would do.
    """

    def __init__(self, message: str, needed: int) -> None:
        super().__init__(message)
        self.needed = needed


@dataclass(frozen=True)
class Plan:
    """What a fit will do and how well, from public numbers alone.

    Attributes:
        method: "cube" (pure noise on folded records), "gaussian" (zCDP noise), "ball" (noise in a ball that
            takes what the other questions leave of epsilon and delta), "trimmed" (one draw of a trimmed-mean
            score), and, only when asked for, "median" (an order statistic a column) and "packing" (one draw
            of a sum-of-squares score), for means; "whitened" for covariances; "packing" for pure ones of few
            records.
        frame_epsilon: of each order statistic of the frame, 0 without one.
        spent: budget of the parts by name, exact; they add up to the budget (ball: the zCDP of all but the
            sum).
        private_error, sampling_error: predicted Euclidean errors of a mean in standard deviations of the
            columns, or Frobenius errors of a covariance relative to the truth; of Gaussian records.
        seconds: predicted time of a fit.
        widest_bounds: how many standard deviations of a column its bounds may be apart before the answer is
            off with a chance above some per cent; for the frame's methods, 10^6 and more.
        kappa: radius of the ball over the .8-quantile of the norms of records, where there is a ball.
        condition: of the correlation matrix, up to which the errors are forecast.
        least_private_error: the same as private_error for a table whose correlations are near 1 apart: what
            its whitening saves goes to the answer.
        steps: most steps of a whitening.
        noise: where all records count, the standard deviation of the noise of a mean in half-widths of its
            bounds or clip points.
    """

    method: str
    frame_epsilon: Fraction
    spent: dict[str, Fraction]
    private_error: float
    sampling_error: float
    seconds: float
    widest_bounds: float = 1e6
    kappa: float = 0.0
    condition: float = math.inf
    least_private_error: float = 0.0
    steps: int = 0
    noise: float = 0.0

    __repr__ = short_repr

    @property
    def advice(self) -> str:
        """What honesty about all records costs, and what costs less; empty otherwise."""
        if not self.noise:
            return ""
        return (
            f"every record counts: each mean has noise of standard deviation {self.noise:.2g} half-widths of "
            "its bounds; where these are far wider than the records, narrower bounds or contamination > 0 "
            "cost less"
        )

    @property
    def total_error(self) -> float:
        """Both errors in quadrature."""
        return math.hypot(self.private_error, self.sampling_error)


@dataclass(frozen=True)
class MeanTask:
    """Public facts of a mean: n records, d columns of which `tight` have literal bounds, and the rest.

    Attributes: n, d, tight (their number), bounded, contamination (0 to .2), interval (its level, 0: none),
    known (the number of columns with bounds).
    """

    n: int
    d: int
    tight: int
    bounded: bool
    contamination: float
    interval: float
    known: int = 0

    @property
    def robust(self) -> int:
        """Number of columns whose place and scale are learnt."""
        return self.d - self.tight


def plan_mean(task: MeanTask, budget: Budget, method: str = "auto") -> Plan:
    """The method with the least predicted error, or the one asked for.

    Raises:
        TooFewRecords: none is accurate here, with the n that would do. ValueError: an unknown method, or one
            that the budget or the bounds rule out.
    """
    one_of(method, "method", ("auto", *METHODS))
    noisy = _folded if task.contamination else _whole  # the mean of all records; by name there are others
    makers: dict[str, Any] = {name: partial(noisy, name) for name in ("cube", "gaussian", "ball")}
    makers |= {"trimmed": _trimmed} if task.contamination else {}
    if method != "auto":
        makers = {method: {"trimmed": _trimmed, "median": _median, "packing": _packing, **makers}[method]}
    handicap = {"trimmed": math.inf if task.interval else 1.15}  # it has no interval
    try:
        return least_error([partial(make, task, budget) for make in makers.values()], handicap)
    except TooFewRecords as few:
        cheaper = "" if task.bounded else " (half as many with bounds)"
        more = f"{cheaper}; or raise the budget, or project to fewer columns by a public map"
        needed = few.needed
    raise too_few(task.n, f"records of d = {task.d} columns", needed, more)


def too_few(n: int, of_what: str, needed: int, more: str = "") -> TooFewRecords:
    """The refusal of n records."""
    return TooFewRecords(
        f"n = {n} {of_what} are too few at this budget: about {needed} would do{more}", needed
    )


def least_error(makers: Sequence[Callable[[], Plan]], handicap: Mapping[str, float] | None = None) -> Plan:
    """The plan with the least predicted error, times the handicap of its method; where all refuse, the
    refusal that needs the fewest records, or all that they say."""
    plans, refusals = [], []
    for make in makers:
        try:
            plans.append(make())
        except ValueError as refusal:
            refusals.append(refusal)
    if plans:
        return min(plans, key=lambda plan: plan.total_error * (handicap or {}).get(plan.method, 1.0))
    few = [refusal for refusal in refusals if isinstance(refusal, TooFewRecords)]
    if few or len(refusals) == 1:
        raise min(few, key=lambda refusal: refusal.needed) if few else refusals[0]
    raise ValueError("; ".join(map(str, refusals)))


def enough(task: MeanTask, of_what: str, make: Callable[[MeanTask], Plan]) -> Plan:
    """The plan that is made; where that refuses too few records, the refusal with the least number (within 2
    %) that it accepts, or NotOffered where none is enough."""

    def accepts(n: int) -> bool:
        try:
            make(replace(task, n=n))
        except TooFewRecords:
            return False
        return True

    if accepts(task.n):
        return make(task)
    needed = least(accepts, 2 * task.n, MOST_RECORDS, 1.02)
    if needed is None:
        raise NotOffered("no number of records is enough at this budget: another delta is needed")
    raise too_few(task.n, of_what, needed)


def _require_noise(method: str, task: MeanTask, budget: Budget) -> None:
    """ValueError where there is no noise of this kind."""
    if method == "cube" and budget.epsilon is None:
        raise ValueError("cube noise is for budgets in epsilon")
    if method == "ball" and (None in (budget.epsilon, budget.rho) or task.d > LARGEST_DIMENSION):
        raise ValueError(f"ball noise needs epsilon and delta, and at most {LARGEST_DIMENSION} columns")
    if method == "gaussian" and budget.rho is None:
        raise ValueError("Gaussian noise needs delta > 0 or rho")


def last_deviation(budget: Budget, spent: dict[str, Fraction], d: int, shape: str = "ball") -> float:
    """Deviation of the noise of a coordinate of the last sum over the radius of its ball (or box, with pure
    noise), by the prices of a plan; 0 where nothing is left for a ball after them."""
    if "sum" in spent:
        return sum_deviation(d, float(spent["sum"]), pure=budget.pure or shape == "box", shape=shape)
    assert budget.epsilon is not None
    rate = largest_rate(budget.epsilon, budget.delta, sum(spent.values(), Fraction(0)), d)
    return sum_deviation(d, rate, pure=True) if rate else 0.0


def noise_tails(d: int, *, normal: bool, shape: str = "ball") -> float:
    """Factor of the variance of a coordinate of the last noise, in intervals at .975: 1 for normal noise,
    1.17 for each coordinate of a box, and about 1 + .34 / (d + 1) in a ball, 1.17 in one dimension."""
    return 1.17 if shape == "box" else 1.0 if normal else 1.0 + 0.34 / (d + 1)


NO_BALL = "this budget leaves nothing for noise in a ball: choose a larger delta"
FRAME = {"cube": 0.15, "gaussian": 0.08, "ball": 0.05}  # of the budget without the interval; ball: of zCDP
RADIUS = {"gaussian": Fraction(3, 100), "ball": Fraction(2, 100)}


def _folded(method: str, task: MeanTask, budget: Budget) -> Plan:
    """The mean of folded records: shares and noise."""
    _require_noise(method, task, budget)
    pure = method == "cube"
    total = Fraction(budget.epsilon if pure else budget.rho)  # type: ignore[arg-type]
    interval = total * INTERVAL if task.interval else Fraction(0)
    base = total if method == "ball" else total - interval
    frame, each = frame_share(task, base, FRAME[method], pure=pure)
    spent = {"frame": frame, "interval": interval}
    if not pure:
        spent["radius"] = _radius_price(task, base * RADIUS[method])
    if method != "ball":
        spent["sum"] = total - sum(spent.values(), Fraction(0))
    deviation = last_deviation(budget, spent, task.d, "box" if pure else "ball") / task.n
    kappa = 0.0 if pure else _kappa(task)
    if not deviation:
        raise ValueError(NO_BALL)
    # a tight column reaches one half-width of its bounds, a robust one so many scales
    length = math.sqrt(task.robust * CUBE_REACH**2 + task.tight) if pure else _reach(task, kappa)
    error = deviation * length * (1.0 if pure else math.sqrt(task.d))
    start, column = {"cube": (0.02, 2e-3), "gaussian": (0.02, 1e-3), "ball": (0.2, 1e-3)}[method]
    seconds = start + 4e-7 * task.n * task.d + column * task.d + order_seconds(task, each, 2 * task.robust)
    return Plan(method, each, spent, error, math.sqrt(task.d / task.n), seconds, kappa=kappa)


KNOWN = {"interval": Fraction(15, 100)}  # of the budget of a mean of all records; the rest is for the sum
LEARNT = {"clip": Fraction(25, 100), "count": Fraction(10, 100), "interval": Fraction(12, 100)}
LEARNT_FRAME = Fraction(6, 100)  # and this, or what its medians need, where columns are without bounds
MOST_FRAME = Fraction(3, 10)
BALL_BEFORE = {False: Fraction(4, 3), True: Fraction(3, 4)}  # times these shares of zCDP, before a ball
CLIP_NATS = 40.0  # twice the nats between a clip point and the empty end of its grid, of e^12 steps
MOST_CLIPPED = 8  # at most one over so many records beyond either clip point


def _whole(method: str, task: MeanTask, budget: Budget) -> Plan:
    """The mean of all records; clip points and counts of columns without bounds."""
    _require_noise(method, task, budget)
    return enough(task, "records", lambda more: _whole_plan(method, more, budget))


def _whole_plan(method: str, task: MeanTask, budget: Budget) -> Plan:
    """Shares and noise."""
    spent, each = _whole_shares(method, task, budget)
    cube = method == "cube"
    noise = last_deviation(budget, spent, task.d, "box" if cube else "ball") / task.n
    noise *= 1.0 if cube else math.sqrt(task.d)
    if not noise:
        raise ValueError(NO_BALL)
    learnt, z = task.d - task.known, 0.0
    if learnt:
        z = float(ndtri(1.0 - clip_rank(each_epsilon(spent["clip"], 2 * learnt, cube)) / task.n))
    private = noise * math.sqrt(task.known + learnt * z * z)
    seconds = 0.05 + 4e-7 * task.n * task.d + 1e-3 * task.d + order_seconds(task, each, 4 * learnt)
    return Plan(method, each, spent, private, math.sqrt(task.d / task.n), seconds, noise=noise)


def _whole_shares(method: str, task: MeanTask, budget: Budget) -> tuple[dict[str, Fraction], Fraction]:
    """Prices by name (those before the ball), and epsilon of the frame's questions."""
    pure, learnt = method == "cube", task.d - task.known
    total = Fraction(budget.epsilon if pure else budget.rho)  # type: ignore[arg-type]
    scale = BALL_BEFORE[learnt > 0] if method == "ball" else Fraction(1)
    spent = {name: scale * total * share for name, share in (LEARNT if learnt else KNOWN).items()}
    spent["interval"] *= bool(task.interval)
    spent["frame"], each = Fraction(0), Fraction(0)
    if learnt:
        least, most = (each_epsilon(total * share, 2 * learnt, pure) for share in (LEARNT_FRAME, MOST_FRAME))
        each = max(least, Fraction(4.0 * location_nats(0.0, False) / task.n))
        spent["frame"] = 2 * learnt * order_price(each, pure)
        if each > most or MOST_CLIPPED * clip_rank(each_epsilon(spent["clip"], 2 * learnt, pure)) >= task.n:
            raise too_few(task.n, "records", task.n + 1)
    if method != "ball":
        spent["sum"] = total - sum(spent.values(), Fraction(0))
    return spent, each


def clip_rank(epsilon: Fraction) -> int:
    """The rank of a clip point, from either end."""
    return math.ceil(CLIP_NATS / epsilon)


def _radius_price(task: MeanTask, rho: Fraction) -> Fraction:
    """rho where that finds the .8-quantile of norms; 0 where the frame alone decides (Gaussian lengths)."""
    result = 0.1 * task.n * math.sqrt(8.0 * float(rho)) >= TOP / 2.0
    return rho if task.robust and result else Fraction(0)


def _kappa(task: MeanTask) -> float:
    """Radius of the ball over the .8-quantile of norms: the .9-quantile of Gaussians."""
    if not task.robust:
        return 0.0
    from scipy.stats import chi2

    return math.sqrt(chi2.ppf(0.9, task.robust) / chi2.ppf(0.8, task.robust))


def _reach(task: MeanTask, kappa: float) -> float:
    """Predicted length of a row: of Gaussian robust columns, and of tight ones in half-widths, which are at
    most a few standard deviations."""
    from scipy.stats import chi2

    squared = kappa**2 * chi2.ppf(0.8, task.robust) if task.robust else 0.0
    return math.sqrt(squared + task.tight)


def order_seconds(task: MeanTask, epsilon: Fraction, count: int) -> float:
    """Predicted time of so many order statistics: each weighs its levels, at most n or 160 / epsilon."""
    if not (count and epsilon):  # nothing is asked
        return 0.0
    return count * (5e-4 + 1.2e-6 * min(task.n, 160.0 / float(epsilon)) + 3e-8 * task.n)


def frame_share(
    task: MeanTask, total: Fraction, share: float, *, pure: bool = False
) -> tuple[Fraction, Fraction]:
    """Price of the frame, and epsilon of each order statistic; TooFewRecords where that is over half.

    A share of the budget, epsilon or zCDP, or what the medians need to find their columns.
    """
    count, whole = 2 * task.robust, float(total)
    if not count:
        return Fraction(0), Fraction(0)
    nats = location_nats(task.contamination, task.bounded)
    least = share * whole / count
    each = Fraction(max(least if pure else math.sqrt(8.0 * least), 4.0 * nats / task.n))
    price = count * order_price(each, pure)
    if price > total / 2 or task.n < 8:
        most = 8.0 * count * nats / whole if pure else 2.0 * nats * math.sqrt(count / whole)
        raise too_few(task.n, "records", max(8, math.floor(most) + 1))
    return price, each


def draw_shares(task: MeanTask, total: Fraction) -> tuple[dict[str, Fraction], Fraction]:
    """Pure prices of a frame and of one draw in it, and epsilon of each question of the frame.

    Both are floats, as releases of their own have them: that of the frame pays for all of its questions.
    """
    price, each = frame_share(task, total, FRAME["cube"], pure=True)
    frame = Fraction(float_up(price))
    return {"frame": frame, "draw": Fraction(float_down(total - frame))}, each


def _trimmed(task: MeanTask, budget: Budget) -> Plan:
    if budget.epsilon is None:
        raise ValueError("the trimmed score is for budgets in epsilon")
    if not task.bounded or task.tight:
        raise ValueError("the trimmed score needs bounds, and columns that are not tight")
    epsilon = float(budget.epsilon)
    if task.n * epsilon < 36 * task.d:
        raise too_few(task.n, "records", math.ceil(36 * task.d / epsilon))
    alpha = trimmed_share(task, epsilon)
    z = float(-ndtri(alpha))
    width = 2.0 * z / (1.0 - 2.0 * alpha)
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    inflation = (1.0 - 2.0 * alpha + 2.0 * alpha * z * z - 2.0 * z * density) / (1.0 - 2.0 * alpha) ** 2
    d, n = task.d, task.n
    noise = TRIMMED_NOISE * (2.0 * width / (n * epsilon)) ** 2 * d * (d + 1) * (d + 2) / 3.0
    error = math.sqrt(noise + (inflation - 1.0) * d / n)
    widest = math.exp(min(30.0, alpha * n * epsilon / (2.0 * d) - math.log(n * epsilon)))
    return Plan(
        "trimmed",
        Fraction(0),
        {"draw": Fraction(epsilon)},
        error,
        math.sqrt(d / n),
        0.1 + 6e-6 * n * d,
        widest,
    )


def _median(task: MeanTask, budget: Budget) -> Plan:
    if task.tight:
        raise ValueError("medians are for columns that are not tight")
    total = budget.total
    frame, each = frame_share(task, total, 0.3 if budget.pure else 0.2, pure=budget.pure)
    last = each_epsilon(total - frame, task.d, budget.pure)
    # a level k is drawn with odds e^(-epsilon k / 2) on either side, at n / sqrt(2 pi) records a deviation
    private = math.sqrt(2.0 * task.d) * 2.0 / float(last) * math.sqrt(2.0 * math.pi) / task.n
    sampling = math.sqrt(math.pi / 2.0 * task.d / task.n)
    seconds = 0.02 + 2e-7 * task.n * task.d + order_seconds(task, each, 3 * task.d)
    spent = {"frame": frame, "medians": total - frame}
    return Plan("median", each, spent, private, sampling, seconds)


def _packing(task: MeanTask, budget: Budget) -> Plan:
    if not budget.pure or task.tight or task.d not in PACKING_SECONDS:
        raise ValueError("the packing score is for epsilon alone and at most 4 columns, none tight")
    if task.n > MOST:
        raise ValueError(f"the packing score is for at most {MOST} records, got {task.n}")
    spent, each = draw_shares(task, budget.total)
    private = 0.9 * task.d / math.sqrt(task.n * float(spent["draw"]))  # measured
    seconds = PACKING_SECONDS[task.d] * max(1.0, math.sqrt(task.n / 1000.0))
    return Plan("packing", each, spent, private, math.sqrt(task.d / task.n), seconds)


def trimmed_share(task: MeanTask, epsilon: float) -> float:
    """Share of records trimmed a side."""
    return min(0.25, max(0.05, 1.5 * task.contamination, 9.0 * task.d / (task.n * epsilon)))
