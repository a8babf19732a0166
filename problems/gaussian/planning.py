"""What to expect from public facts: the error of a private mean or covariance before any data are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sosdp.privacy.calibrate import check_epsilon

from .estimators.base import groups
from .estimators.mean import GROUP
from .preconditioner import frame_share

_SQUARES = 2.0  # measured at n = 500, 2000 (d = 1, 2) and 4000 (d = 3), within 40 per cent


@dataclass(frozen=True)
class Plan:
    """Attributes: private_error (distance to the robust estimate without privacy, Euclidean or relative
    Frobenius), sampling_error (of the data themselves), total (both in quadrature), enough (whether the
    private part is at most the sampling part and the far region is priced out), advice (a sentence).
    """

    private_error: float
    sampling_error: float
    enough: bool
    advice: str

    @property
    def total(self) -> float:
        """Both errors in quadrature."""
        return math.hypot(self.private_error, self.sampling_error)


def plan(
    n: int,
    d: int,
    epsilon: float,
    *,
    what: Literal["mean", "covariance"] = "mean",
    radius: float = 100.0,
    condition: float = 10.0,
    contamination: float = 0.0,
    group: int = GROUP,
) -> Plan:
    """Predicted errors for n records of d coordinates with covariance I (a rule measured on such data).

    Private error of one draw of D coordinates: 1.9 tau sqrt(2 log(1/tau)) for means and 2 tau log(1/tau)
    for covariances, tau = 2 D / (n epsilon); groups share epsilon. The far region is priced out when
    epsilon (n/8) > 2 D log(R n), R the `radius` of a mean or the square of the `condition` bound of a
    covariance. Raises ValueError for numbers out of range.
    """
    check_epsilon(epsilon)
    if n < 2 or d < 1 or not radius > 0 or not condition >= 1 or not 0 <= contamination < 0.5:
        raise ValueError("plan needs n >= 2, d >= 1, radius > 0, condition >= 1, contamination in [0, 1/2)")
    if what not in ("mean", "covariance"):
        raise ValueError(f"what={what!r}: choose 'mean' or 'covariance'")
    reach = radius if what == "mean" else condition**2
    private, sampling, far = _errors(n, d, epsilon, what, reach, group)
    if contamination > 0:
        log = math.log(1.0 / contamination)
        private = math.hypot(private, 2.0 * contamination * (math.sqrt(2.0 * log) if what == "mean" else log))
    enough = far and private <= sampling
    if enough:
        return Plan(private, sampling, True, "the private error is at most that of the sample")
    advice = "n is too small for this epsilon and d"
    for larger in (n * 2**k for k in range(1, 21)):
        error, sample, priced = _errors(larger, d, epsilon, what, reach, group)
        if priced and error <= sample:
            advice += f": about {larger} honest records would do"
            break
    if not far:
        name = "radius" if what == "mean" else "condition bound"
        advice += f"; the answer may be far off (the {name} is not priced out)"
    return Plan(private, sampling, False, advice)


def _errors(
    n: int, d: int, epsilon: float, what: str, radius: float, group: int
) -> tuple[float, float, bool]:
    """Private and sampling error of honest records, and whether the far region is priced out."""
    if what == "mean":
        sizes, sampling = [len(g) for g in groups(d, group)], math.sqrt(d / n)
    else:
        sizes = [1] if d == 1 else [3] * math.comb(d, 2)
        sampling = math.sqrt(d * (d + 1) / n)
    spent = frame_share(n, epsilon) if what == "covariance" and d > 2 else 0.0
    each = epsilon * (1.0 - spent) / len(sizes)
    squares, far = 0.0, True
    for size in sizes:
        tau = min(0.3, 2.0 * size / (n * each))
        log = math.log(1.0 / tau)
        squares += (1.9 * tau * math.sqrt(2.0 * log) if what == "mean" else _SQUARES * tau * log) ** 2
        far = far and each * n / 8.0 > 2.0 * size * math.log(max(radius, 2.0) * n)
    return math.sqrt(squares), sampling, far
